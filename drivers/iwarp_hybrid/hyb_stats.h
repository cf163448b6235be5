/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters of a device, one set per CPU, shown by "rdma statistic show link", and
 * some of them for each queue pair, shown in sysfs.
 *
 * Types and inline functions only; hyb_stats.c calls nothing of the driver.
 */
#ifndef HYB_STATS_H
#define HYB_STATS_H

#include <linux/percpu.h>
#include <linux/types.h>

/*
 * Every copy, checksum pass, FPDU, TCP call and wake-up of the driver is in
 * here, so that tests can assert what a transfer cost.
 */
enum hyb_stat {
	/*
	 * Counted per queue pair as well, see hyb_qp_count(). Transmit: FPDUs;
	 * bytes of the stream; segments passed to IP, retransmissions included;
	 * the work for them.
	 */
	HYB_ST_TX_FPDUS,
	HYB_ST_TX_BYTES,
	HYB_ST_TX_SEGMENTS,
	HYB_ST_TX_TCP_CALLS,
	HYB_ST_TX_COPIES,
	HYB_ST_TX_COPY_BYTES,
	HYB_ST_TX_CRC_BYTES,

	/*
	 * Receive: FPDUs; bytes of the stream; segments; the work for them. A
	 * segment counts as soon as TCP gets it, even a duplicate. The counter is
	 * updated when the next packet leaves.
	 */
	HYB_ST_RX_FPDUS,
	HYB_ST_RX_BYTES,
	HYB_ST_RX_SEGMENTS,
	HYB_ST_RX_COPIES,
	HYB_ST_RX_COPY_BYTES,
	HYB_ST_RX_CRC_BYTES,
	HYB_ST_OOO_SEGMENTS,		/* that came out of order */
	HYB_ST_OOO_FPDUS,		/* placed out of order */
	HYB_ST_CQ_EVENT,		/* wake-ups */
	HYB_ST_QP_COUNT,

	/* transmit */
	HYB_ST_TX_REF_BYTES = HYB_ST_QP_COUNT,
	HYB_ST_TX_REF_COPIED,		/* of these, copied on their way */
	HYB_ST_TX_DEFERRED,
	HYB_ST_TX_NOSPACE,
	HYB_ST_TX_TERM,
	HYB_ST_TX_IMM,
	HYB_ST_TX_ATOMICS,

	/* transmit on a shared link */
	HYB_ST_TX_SHARED_MSGS,		/* messages begun */
	HYB_ST_TX_SHARED_BYTES,		/* payload that the ULP put in */
	HYB_ST_TX_APPENDED,		/* sends that joined a message */
	HYB_ST_TX_APPENDED_BYTES,	/* their payload */
	HYB_ST_TX_SAVED_BYTES,		/* headers not sent because of that */
	HYB_ST_TX_ABORTED,		/* reservations given back */
	HYB_ST_TX_REFUSED,		/* reservations refused for now */
	HYB_ST_TX_MSS_CHANGED,		/* during a reservation */

	/* receive */
	HYB_ST_RX_WALKS,
	HYB_ST_RX_NIC_PLACED,		/* bytes that the NIC had already placed */
	HYB_ST_RX_PAUSED,
	HYB_ST_RX_DEFERRED,
	HYB_ST_RX_BUDGET,		/* rounds that left bytes to the next */
	HYB_ST_RX_TERM,
	HYB_ST_RX_IMM,
	HYB_ST_RX_ATOMICS,

	/* out-of-order placement */
	HYB_ST_OOO_LOOKS,		/* times segments were examined */
	HYB_ST_OOO_BYTES,		/* payload placed early */
	HYB_ST_OOO_DONE,		/* bytes delivered without a touch */
	HYB_ST_OOO_WAIT_MARK,		/* runs of bytes without a marker */
	HYB_ST_OOO_WAIT_STAG,		/* FPDUs: no region for the STag at that time */
	HYB_ST_OOO_WAIT_RECV,		/* no receive */
	HYB_ST_OOO_WAIT_ORDER,		/* operations that go in order */
	HYB_ST_OOO_WAIT_PARTIAL,	/* not all of it was there */
	HYB_ST_OOO_WAIT_BAD,		/* CRC or header not right */
	HYB_ST_OOO_WAIT_LIMIT,		/* no room to remember more */

	/* receive on a shared link */
	HYB_ST_RX_SHARED_BYTES,		/* payload given by reference */
	HYB_ST_RX_SHARED_RUNS,		/* pieces of it */
	HYB_ST_RX_SHARED_CALLS,		/* calls of the ULP */
	HYB_ST_RX_SHARED_PAUSED,	/* times the ULP wanted no more */

	/* on the NIC */
	HYB_ST_TX_NIC_BYTES,		/* CRC left to it */
	HYB_ST_RX_NIC_BYTES,		/* its verdict was taken */
	HYB_ST_OFF_CONNS,		/* connections added to it */
	HYB_ST_OFF_REFUSED,		/* conn_add failed */
	HYB_ST_OFF_NO_ROOM,		/* FPDUs not left to it: no record */
	HYB_ST_OFF_FILLS,		/* ranges it asked us to finish */
	HYB_ST_OFF_FILL_BYTES,
	HYB_ST_OFF_SW_PACKETS,		/* finished on their way to a device */
	HYB_ST_OFF_SW_BYTES,
	HYB_ST_OFF_SW_DROPS,		/* could not be finished, or no memory */
	HYB_ST_OFF_RX_LOST,		/* it could not follow the stream */
	HYB_ST_OFF_RX_RESYNC,		/* and got its position */
	HYB_ST_OFF_RX_MISMATCH,	/* it called a CRC good, software found it bad */
	HYB_ST_OFF_FILTERS,		/* flows steered by a filter */
	HYB_ST_OFF_BUFS,		/* tagged buffers given to it */
	HYB_ST_OFF_NO_BUF,		/* not given: no room, STag or memory not suitable */

	/* queues */
	HYB_ST_POST_SEND,
	HYB_ST_POST_RECV,
	HYB_ST_DOORBELL,
	HYB_ST_CQE,
	HYB_ST_FLUSHED,
	HYB_ST_CQ_OVERFLOW,

	/* memory */
	HYB_ST_MR_FAST_REG,
	HYB_ST_MR_LOCAL_INV,
	HYB_ST_MR_REMOTE_INV,

	/* connections */
	HYB_ST_CM_CONNECT,
	HYB_ST_CM_ACCEPT,
	HYB_ST_CM_REJECT,
	HYB_ST_CM_CLOSE,
	HYB_ST_CM_ABORT,
	HYB_ST_CM_TIMEOUT,

	/* errors by class, each ends a connection */
	HYB_ST_ERR_MPA_REQ,
	HYB_ST_ERR_MPA_REP,
	HYB_ST_ERR_MPA_TIMEOUT,
	HYB_ST_ERR_CRC,
	HYB_ST_ERR_MARKER,
	HYB_ST_ERR_LENGTH,
	HYB_ST_ERR_DDP_VERSION,
	HYB_ST_ERR_DDP_QN,
	HYB_ST_ERR_DDP_MSN,
	HYB_ST_ERR_DDP_MO,
	HYB_ST_ERR_DDP_BUF,
	HYB_ST_ERR_RDMAP_VERSION,
	HYB_ST_ERR_RDMAP_OPCODE,
	HYB_ST_ERR_STAG,
	HYB_ST_ERR_PD,
	HYB_ST_ERR_BOUNDS,
	HYB_ST_ERR_ACCESS,
	HYB_ST_ERR_READ_RESP,
	HYB_ST_ERR_IRD,
	HYB_ST_ERR_INVAL,
	HYB_ST_ERR_ATOMIC,
	HYB_ST_ERR_LOCAL,

	HYB_ST_COUNT
};

struct hyb_stats {
	u64 value[HYB_ST_COUNT];
};

/* Of a queue pair; changes under the lock of its TCP socket */
struct hyb_qp_stats {
	u64 value[HYB_ST_QP_COUNT];
};

#endif
