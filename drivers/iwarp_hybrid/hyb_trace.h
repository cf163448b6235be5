/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints iwarp_hybrid:*. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM iwarp_hybrid

#if !defined(_HYB_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _HYB_TRACE_H

#include <linux/string.h>
#include <linux/tracepoint.h>

#include "hybrid.h"
#include "iwarp/rdmap.h"

/* For programs that decode the binary format: values of the names below */
TRACE_DEFINE_ENUM(HYB_QP_IDLE);
TRACE_DEFINE_ENUM(HYB_QP_RTR);
TRACE_DEFINE_ENUM(HYB_QP_RTS);
TRACE_DEFINE_ENUM(HYB_QP_CLOSING);
TRACE_DEFINE_ENUM(HYB_QP_TERMINATE);
TRACE_DEFINE_ENUM(HYB_QP_ERROR);

#define hyb_trace_qp_state(state)			\
	__print_symbolic(state,				\
			 { HYB_QP_IDLE, "IDLE" },	\
			 { HYB_QP_RTR, "RTR" },		\
			 { HYB_QP_RTS, "RTS" },		\
			 { HYB_QP_CLOSING, "CLOSING" },	\
			 { HYB_QP_TERMINATE, "TERMINATE" }, \
			 { HYB_QP_ERROR, "ERROR" })

TRACE_DEFINE_ENUM(HYB_CEP_IDLE);
TRACE_DEFINE_ENUM(HYB_CEP_CONNECT);
TRACE_DEFINE_ENUM(HYB_CEP_WAIT_REP);
TRACE_DEFINE_ENUM(HYB_CEP_WAIT_REQ);
TRACE_DEFINE_ENUM(HYB_CEP_REQUEST);
TRACE_DEFINE_ENUM(HYB_CEP_RDMA);
TRACE_DEFINE_ENUM(HYB_CEP_DRAIN);
TRACE_DEFINE_ENUM(HYB_CEP_RECALL);
TRACE_DEFINE_ENUM(HYB_CEP_LINGER);
TRACE_DEFINE_ENUM(HYB_CEP_DEAD);

#define hyb_trace_cep_state(state)			\
	__print_symbolic(state,				\
			 { HYB_CEP_IDLE, "IDLE" },	\
			 { HYB_CEP_CONNECT, "CONNECT" },	\
			 { HYB_CEP_WAIT_REP, "WAIT_REP" },	\
			 { HYB_CEP_WAIT_REQ, "WAIT_REQ" },	\
			 { HYB_CEP_REQUEST, "REQUEST" },	\
			 { HYB_CEP_RDMA, "RDMA" },	\
			 { HYB_CEP_DRAIN, "DRAIN" },	\
			 { HYB_CEP_RECALL, "RECALL" },	\
			 { HYB_CEP_LINGER, "LINGER" },	\
			 { HYB_CEP_DEAD, "DEAD" })

TRACE_DEFINE_ENUM(HYB_EV_SOCK);
TRACE_DEFINE_ENUM(HYB_EV_TIMER);
TRACE_DEFINE_ENUM(HYB_EV_EOF);
TRACE_DEFINE_ENUM(HYB_EV_LOST);
TRACE_DEFINE_ENUM(HYB_EV_GRACEFUL);
TRACE_DEFINE_ENUM(HYB_EV_ABORT);
TRACE_DEFINE_ENUM(HYB_EV_RESET);
TRACE_DEFINE_ENUM(HYB_EV_ERROR);
TRACE_DEFINE_ENUM(HYB_EV_TERM);
TRACE_DEFINE_ENUM(HYB_EV_DRAINED);
TRACE_DEFINE_ENUM(HYB_EV_EVICT);
TRACE_DEFINE_ENUM(HYB_EV_RECALLED);

#define hyb_trace_event(ev)				\
	__print_symbolic(ev,				\
			 { HYB_EV_SOCK, "SOCK" },	\
			 { HYB_EV_TIMER, "TIMER" },	\
			 { HYB_EV_EOF, "EOF" },		\
			 { HYB_EV_LOST, "LOST" },	\
			 { HYB_EV_GRACEFUL, "GRACEFUL" },	\
			 { HYB_EV_ABORT, "ABORT" },	\
			 { HYB_EV_RESET, "RESET" },	\
			 { HYB_EV_ERROR, "ERROR" },	\
			 { HYB_EV_TERM, "TERM" },	\
			 { HYB_EV_DRAINED, "DRAINED" },	\
			 { HYB_EV_EVICT, "EVICT" },	\
			 { HYB_EV_RECALLED, "RECALLED" })

TRACE_DEFINE_ENUM(RDMAP_WRITE);
TRACE_DEFINE_ENUM(RDMAP_READ_REQ);
TRACE_DEFINE_ENUM(RDMAP_READ_RESP);
TRACE_DEFINE_ENUM(RDMAP_SEND);
TRACE_DEFINE_ENUM(RDMAP_SEND_INV);
TRACE_DEFINE_ENUM(RDMAP_SEND_SE);
TRACE_DEFINE_ENUM(RDMAP_SEND_SE_INV);
TRACE_DEFINE_ENUM(RDMAP_TERM);
TRACE_DEFINE_ENUM(RDMAP_IMM);
TRACE_DEFINE_ENUM(RDMAP_IMM_SE);
TRACE_DEFINE_ENUM(RDMAP_ATOMIC_REQ);
TRACE_DEFINE_ENUM(RDMAP_ATOMIC_RESP);

#define hyb_trace_op(op)				\
	__print_symbolic(op,				\
			 { RDMAP_WRITE, "Write" },	\
			 { RDMAP_READ_REQ, "Read Request" },	\
			 { RDMAP_READ_RESP, "Read Response" },	\
			 { RDMAP_SEND, "Send" },	\
			 { RDMAP_SEND_INV, "Send with Invalidate" },	\
			 { RDMAP_SEND_SE, "Send with SE" },	\
			 { RDMAP_SEND_SE_INV, "Send with SE and Invalidate" }, \
			 { RDMAP_TERM, "Terminate" },	\
			 { RDMAP_IMM, "Immediate Data" },	\
			 { RDMAP_IMM_SE, "Immediate Data with SE" },	\
			 { RDMAP_ATOMIC_REQ, "Atomic Request" },	\
			 { RDMAP_ATOMIC_RESP, "Atomic Response" })

TRACE_DEFINE_ENUM(RDMA_STACK_HOST);
TRACE_DEFINE_ENUM(RDMA_STACK_NIC);
TRACE_DEFINE_ENUM(HYB_MARK_COPY);
TRACE_DEFINE_ENUM(HYB_MARK_INPLACE);
TRACE_DEFINE_ENUM(HYB_MARK_SG);
TRACE_DEFINE_ENUM(HYB_MARK_CONTIG);
TRACE_DEFINE_ENUM(HYB_PAY_COPY);
TRACE_DEFINE_ENUM(HYB_PAY_REF);

#define hyb_trace_side(side)				\
	__print_symbolic(side,				\
			 { RDMA_STACK_HOST, "host" },	\
			 { RDMA_STACK_NIC, "nic" })

#define hyb_trace_marks(mode)				\
	__print_symbolic(mode,				\
			 { HYB_MARK_COPY, "copy" },	\
			 { HYB_MARK_INPLACE, "inplace" },	\
			 { HYB_MARK_SG, "sg" },		\
			 { HYB_MARK_CONTIG, "contig" })

#define hyb_trace_pay(mode)				\
	__print_symbolic(mode,				\
			 { HYB_PAY_COPY, "copy" },	\
			 { HYB_PAY_REF, "reference" })

/* Layers, as RFC 5040 section 4.8 numbers them */
#define hyb_trace_layer(layer)				\
	__print_symbolic(layer,				\
			 { 0, "RDMAP" },		\
			 { 1, "DDP" },			\
			 { 2, "MPA" })

TRACE_EVENT(hyb_qp_state,
	TP_PROTO(const struct hyb_qp *qp, int from, int to),
	TP_ARGS(qp, from, to),
	TP_STRUCT__entry(
		__array(char, dev, IB_DEVICE_NAME_MAX)
		__field(u32, qpn)
		__field(int, from)
		__field(int, to)
	),
	TP_fast_assign(
		strscpy(__entry->dev, qp->dev->ibdev.name,
			IB_DEVICE_NAME_MAX);
		__entry->qpn = qp->ibqp.qp_num;
		__entry->from = from;
		__entry->to = to;
	),
	TP_printk("dev=%s qp=%u %s -> %s", __entry->dev, __entry->qpn,
		  hyb_trace_qp_state(__entry->from),
		  hyb_trace_qp_state(__entry->to))
);

/* A connection is named by its address, hashed: the same in all events. */
TRACE_EVENT(hyb_cep_event,
	TP_PROTO(const struct hyb_cep *cep, int event),
	TP_ARGS(cep, event),
	TP_STRUCT__entry(
		__array(char, dev, IB_DEVICE_NAME_MAX)
		__field(const void *, cep)
		__field(int, state)
		__field(int, event)
	),
	TP_fast_assign(
		strscpy(__entry->dev, cep->dev->ibdev.name,
			IB_DEVICE_NAME_MAX);
		__entry->cep = cep;
		__entry->state = READ_ONCE(cep->state);
		__entry->event = event;
	),
	TP_printk("dev=%s cep=%p state=%s event=%s", __entry->dev, __entry->cep,
		  hyb_trace_cep_state(__entry->state),
		  hyb_trace_event(__entry->event))
);

/*
 * One FPDU, or FPDUs that follow each other: @nr of them, @len bytes, the first one
 * at position @pos of the stream. @hdr is the DDP header of one of them. @stag and
 * @to are those of tagged segments, @qn, @msn and @mo of untagged ones.
 */
DECLARE_EVENT_CLASS(hyb_fpdu,
	TP_PROTO(const struct hyb_qp *qp, u64 pos, u32 len, u32 nr, const u8 *hdr),
	TP_ARGS(qp, pos, len, nr, hdr),
	TP_STRUCT__entry(
		__array(char, dev, IB_DEVICE_NAME_MAX)
		__field(u32, qpn)
		__field(u64, pos)
		__field(u32, len)
		__field(u32, nr)
		__field(u8, op)
		__field(bool, last)
		__field(u32, stag)
		__field(u64, to)
		__field(u32, qn)
		__field(u32, msn)
		__field(u32, mo)
	),
	TP_fast_assign(
		bool tagged = hdr[0] & DDP_T;

		strscpy(__entry->dev, qp->dev->ibdev.name,
			IB_DEVICE_NAME_MAX);
		__entry->qpn = qp->ibqp.qp_num;
		__entry->pos = pos;
		__entry->len = len;
		__entry->nr = nr;
		__entry->op = RDMAP_OP(hdr[1]);
		__entry->last = hdr[0] & DDP_L;
		__entry->stag = tagged ? proto_get32(hdr + 2) : 0;
		__entry->to = tagged ? proto_get64(hdr + 6) : 0;
		__entry->qn = tagged ? 0 : proto_get32(hdr + 6);
		__entry->msn = tagged ? 0 : proto_get32(hdr + 10);
		__entry->mo = tagged ? 0 : proto_get32(hdr + 14);
	),
	TP_printk("dev=%s qp=%u pos=%llu len=%u nr=%u op=\"%s\"%s stag=%#x to=%#llx qn=%u msn=%u mo=%u",
		  __entry->dev, __entry->qpn, __entry->pos, __entry->len,
		  __entry->nr, hyb_trace_op(__entry->op),
		  __entry->last ? " last" : "", __entry->stag, __entry->to,
		  __entry->qn, __entry->msn, __entry->mo)
);

DEFINE_EVENT(hyb_fpdu, hyb_fpdu_tx,
	TP_PROTO(const struct hyb_qp *qp, u64 pos, u32 len, u32 nr, const u8 *hdr),
	TP_ARGS(qp, pos, len, nr, hdr));

DEFINE_EVENT(hyb_fpdu, hyb_fpdu_rx,
	TP_PROTO(const struct hyb_qp *qp, u64 pos, u32 len, u32 nr, const u8 *hdr),
	TP_ARGS(qp, pos, len, nr, hdr));

DECLARE_EVENT_CLASS(hyb_terminate,
	TP_PROTO(const struct hyb_qp *qp, u32 err),
	TP_ARGS(qp, err),
	TP_STRUCT__entry(
		__array(char, dev, IB_DEVICE_NAME_MAX)
		__field(u32, qpn)
		__field(u8, layer)
		__field(u8, type)
		__field(u8, code)
	),
	TP_fast_assign(
		strscpy(__entry->dev, qp->dev->ibdev.name,
			IB_DEVICE_NAME_MAX);
		__entry->qpn = qp->ibqp.qp_num;
		__entry->layer = TERM_LAYER(err);
		__entry->type = TERM_TYPE(err);
		__entry->code = TERM_CODE(err);
	),
	TP_printk("dev=%s qp=%u layer=%s type=%u code=%u", __entry->dev,
		  __entry->qpn, hyb_trace_layer(__entry->layer), __entry->type,
		  __entry->code)
);

DEFINE_EVENT(hyb_terminate, hyb_terminate_tx,
	TP_PROTO(const struct hyb_qp *qp, u32 err),
	TP_ARGS(qp, err));

DEFINE_EVENT(hyb_terminate, hyb_terminate_rx,
	TP_PROTO(const struct hyb_qp *qp, u32 err),
	TP_ARGS(qp, err));

/* The new placement of the components of a queue pair */
TRACE_EVENT(hyb_place,
	TP_PROTO(const struct hyb_qp *qp, const struct hyb_place *place),
	TP_ARGS(qp, place),
	TP_STRUCT__entry(
		__array(char, dev, IB_DEVICE_NAME_MAX)
		__field(u32, qpn)
		__field(u8, crc)
		__field(u8, demux)
		__field(u8, markers)
		__field(u8, payload)
	),
	TP_fast_assign(
		strscpy(__entry->dev, qp->dev->ibdev.name,
			IB_DEVICE_NAME_MAX);
		__entry->qpn = qp->ibqp.qp_num;
		__entry->crc = place->crc;
		__entry->demux = place->demux;
		__entry->markers = place->markers;
		__entry->payload = place->payload;
	),
	TP_printk("dev=%s qp=%u crc=%s demux=%s markers=%s payload=%s",
		  __entry->dev, __entry->qpn, hyb_trace_side(__entry->crc),
		  hyb_trace_side(__entry->demux),
		  hyb_trace_marks(__entry->markers),
		  hyb_trace_pay(__entry->payload))
);

/*
 * The NIC has lost its position in the stream (rx_lost). This driver answers the NIC's driver:
 * an FPDU begins at sequence number @seq, stream position @pos.
 */
TRACE_EVENT(hyb_off_resync,
	TP_PROTO(const struct hyb_qp *qp, u32 seq, u64 pos),
	TP_ARGS(qp, seq, pos),
	TP_STRUCT__entry(
		__array(char, dev, IB_DEVICE_NAME_MAX)
		__field(u32, qpn)
		__field(u32, seq)
		__field(u64, pos)
	),
	TP_fast_assign(
		strscpy(__entry->dev, qp->dev->ibdev.name,
			IB_DEVICE_NAME_MAX);
		__entry->qpn = qp->ibqp.qp_num;
		__entry->seq = seq;
		__entry->pos = pos;
	),
	TP_printk("dev=%s qp=%u seq=%u pos=%llu", __entry->dev, __entry->qpn,
		  __entry->seq, __entry->pos)
);

#ifndef TRACE_HEADER_MULTI_READ

/* Reads the header, which may have a marker in it */
void hyb_trace_tx(const struct hyb_qp *qp, const u8 *start, u64 pos, u32 len,
		  u32 nr, bool contig);

/**
 * hyb_trace_sealed - trace FPDUs that are complete
 * @qp: queue pair
 * @start: the first one
 * @pos: its position in the stream
 * @len: bytes of all
 * @nr: how many
 * @contig: whether their markers stand after the PAD (IWARP_LAYOUT_CONTIG)
 *
 * Context: TCP socket held.
 */
static inline void hyb_trace_sealed(const struct hyb_qp *qp, const u8 *start,
				    u64 pos, u32 len, u32 nr, bool contig)
{
	if (trace_hyb_fpdu_tx_enabled())
		hyb_trace_tx(qp, start, pos, len, nr, contig);
}

#endif /* TRACE_HEADER_MULTI_READ */

#endif /* _HYB_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE hyb_trace
#include <trace/define_trace.h>
