/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters of a device, one set per CPU, shown by "rdma statistic show link".
 *
 * The layer below everything: calls nobody.
 */
#ifndef HYB_STATS_H
#define HYB_STATS_H

#include <linux/percpu.h>
#include <linux/types.h>

/*
 * One line per counter: identifier, name shown to users. Every copy, checksum
 * pass, FPDU, TCP call and wake-up of the driver is in here, so that tests can
 * assert what a transfer cost.
 */
#define HYB_STATS(X)							\
	/* transmit: FPDUs, octets of the stream, work done for them */	\
	X(TX_FPDUS, "tx_fpdus")						\
	X(TX_BYTES, "tx_bytes")						\
	X(TX_TCP_CALLS, "tx_tcp_calls")					\
	X(TX_COPIES, "tx_copies")					\
	X(TX_COPY_BYTES, "tx_copy_bytes")				\
	X(TX_CRC_BYTES, "tx_crc_bytes")					\
	X(TX_DEFERRED, "tx_deferred")					\
	X(TX_NOSPACE, "tx_nospace")					\
	X(TX_TERM, "tx_terminates")					\
	/* receive */							\
	X(RX_FPDUS, "rx_fpdus")						\
	X(RX_BYTES, "rx_bytes")						\
	X(RX_WALKS, "rx_walks")						\
	X(RX_COPIES, "rx_copies")					\
	X(RX_COPY_BYTES, "rx_copy_bytes")				\
	X(RX_CRC_BYTES, "rx_crc_bytes")					\
	X(RX_PAUSED, "rx_paused")					\
	X(RX_DEFERRED, "rx_deferred")					\
	X(RX_TERM, "rx_terminates")					\
	/* queues */							\
	X(POST_SEND, "post_sends")					\
	X(POST_RECV, "post_recvs")					\
	X(DOORBELL, "doorbells")					\
	X(CQE, "completions")						\
	X(CQ_EVENT, "completion_events")				\
	X(FLUSHED, "flushed")						\
	X(CQ_OVERFLOW, "err_cq_overflow")				\
	/* memory */							\
	X(MR_FAST_REG, "fast_regs")					\
	X(MR_LOCAL_INV, "local_invalidates")				\
	X(MR_REMOTE_INV, "remote_invalidates")				\
	/* connections */						\
	X(CM_CONNECT, "cm_connects")					\
	X(CM_ACCEPT, "cm_accepts")					\
	X(CM_REJECT, "cm_rejects")					\
	X(CM_CLOSE, "cm_closes")					\
	X(CM_ABORT, "cm_aborts")					\
	X(CM_TIMEOUT, "cm_timeouts")					\
	/* errors by class, each ends a connection */			\
	X(ERR_MPA_REQ, "err_mpa_request")				\
	X(ERR_MPA_REP, "err_mpa_reply")					\
	X(ERR_MPA_TIMEOUT, "err_mpa_timeout")				\
	X(ERR_CRC, "err_crc")						\
	X(ERR_MARKER, "err_marker")					\
	X(ERR_LENGTH, "err_length")					\
	X(ERR_DDP_VERSION, "err_ddp_version")				\
	X(ERR_DDP_QN, "err_ddp_queue")					\
	X(ERR_DDP_MSN, "err_ddp_msn")					\
	X(ERR_DDP_MO, "err_ddp_offset")					\
	X(ERR_DDP_BUF, "err_ddp_buffer")				\
	X(ERR_RDMAP_VERSION, "err_rdmap_version")			\
	X(ERR_RDMAP_OPCODE, "err_rdmap_opcode")				\
	X(ERR_STAG, "err_stag")						\
	X(ERR_PD, "err_pd")						\
	X(ERR_BOUNDS, "err_bounds")					\
	X(ERR_ACCESS, "err_access")					\
	X(ERR_READ_RESP, "err_read_response")				\
	X(ERR_IRD, "err_ird")						\
	X(ERR_INVAL, "err_invalidate")					\
	X(ERR_LOCAL, "err_local")

#define HYB_STAT_ID(id, name)	HYB_ST_##id,
enum hyb_stat {
	HYB_STATS(HYB_STAT_ID)
	HYB_ST_COUNT
};
#undef HYB_STAT_ID

struct hyb_stats {
	u64 value[HYB_ST_COUNT];
};

#endif
