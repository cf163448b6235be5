/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints sdp:*. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM sdp

#if !defined(_SDP_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _SDP_TRACE_H

#include <linux/tracepoint.h>
#include <net/sock.h>

struct sdp_bsdh;

/* The socket is named by its address, hashed: the same in all events. */
DECLARE_EVENT_CLASS(sdp_msg,
	TP_PROTO(const struct sock *sk, const struct sdp_bsdh *h, u32 payload),
	TP_ARGS(sk, h, payload),
	TP_STRUCT__entry(
		__field(const void *, sk)
		__field(u8, mid)
		__field(u8, flags)
		__field(u16, bufs)
		__field(u32, mseq)
		__field(u32, ack)
		__field(u32, payload)
	),
	TP_fast_assign(
		__entry->sk = sk;
		__entry->mid = h->mid;
		__entry->flags = h->flags;
		__entry->bufs = h->bufs;
		__entry->mseq = h->mseq;
		__entry->ack = h->mseq_ack;
		__entry->payload = payload;
	),
	TP_printk("sk=%p mid=%#x flags=%#x bufs=%u mseq=%u ack=%u payload=%u",
		  __entry->sk, __entry->mid, __entry->flags, __entry->bufs,
		  __entry->mseq, __entry->ack, __entry->payload)
);

DEFINE_EVENT(sdp_msg, sdp_msg_tx,
	TP_PROTO(const struct sock *sk, const struct sdp_bsdh *h, u32 payload),
	TP_ARGS(sk, h, payload));

DEFINE_EVENT(sdp_msg, sdp_msg_rx,
	TP_PROTO(const struct sock *sk, const struct sdp_bsdh *h, u32 payload),
	TP_ARGS(sk, h, payload));

TRACE_EVENT(sdp_state,
	TP_PROTO(const struct sock *sk, int from, int to),
	TP_ARGS(sk, from, to),
	TP_STRUCT__entry(
		__field(const void *, sk)
		__field(int, from)
		__field(int, to)
	),
	TP_fast_assign(
		__entry->sk = sk;
		__entry->from = from;
		__entry->to = to;
	),
	TP_printk("sk=%p %d -> %d", __entry->sk, __entry->from, __entry->to)
);

TRACE_EVENT(sdp_cm_event,
	TP_PROTO(const struct sock *sk, int event, int status),
	TP_ARGS(sk, event, status),
	TP_STRUCT__entry(
		__field(const void *, sk)
		__field(int, event)
		__field(int, status)
	),
	TP_fast_assign(
		__entry->sk = sk;
		__entry->event = event;
		__entry->status = status;
	),
	TP_printk("sk=%p event=%d status=%d", __entry->sk, __entry->event,
		  __entry->status)
);

TRACE_EVENT(sdp_down,
	TP_PROTO(const struct sock *sk, unsigned long flags, int error),
	TP_ARGS(sk, flags, error),
	TP_STRUCT__entry(
		__field(const void *, sk)
		__field(unsigned long, flags)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->sk = sk;
		__entry->flags = flags;
		__entry->error = error;
	),
	TP_printk("sk=%p flags=%#lx error=%d", __entry->sk, __entry->flags,
		  __entry->error)
);

TRACE_EVENT(sdp_tcp,
	TP_PROTO(const struct sock *sk, int reason, int error),
	TP_ARGS(sk, reason, error),
	TP_STRUCT__entry(
		__field(const void *, sk)
		__field(int, reason)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->sk = sk;
		__entry->reason = reason;
		__entry->error = error;
	),
	TP_printk("sk=%p reason=%d error=%d", __entry->sk, __entry->reason,
		  __entry->error)
);

#endif /* _SDP_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE sdp_trace
#include <trace/define_trace.h>
