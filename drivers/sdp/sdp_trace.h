/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints sdp:*. Each event has the socket's cookie, which sdpstat -e shows, too, and
 * the addresses in the fields of trace/events/sock.h and tcp.h.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM sdp

#if !defined(_SDP_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _SDP_TRACE_H

#include <linux/sock_diag.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <net/sock.h>
#include <rdma/ib_cm.h>
#include <trace/misc/rdma.h>

#include "sdp.h"

/* For programs that decode the binary format: values of the names below */
TRACE_DEFINE_ENUM(SDP_MID_HELLO);
TRACE_DEFINE_ENUM(SDP_MID_HELLO_ACK);
TRACE_DEFINE_ENUM(SDP_MID_DISCON);
TRACE_DEFINE_ENUM(SDP_MID_ABORT);
TRACE_DEFINE_ENUM(SDP_MID_SENDSM);
TRACE_DEFINE_ENUM(SDP_MID_RDMA_WR_COMPL);
TRACE_DEFINE_ENUM(SDP_MID_RDMA_RD_COMPL);
TRACE_DEFINE_ENUM(SDP_MID_MODE_CHANGE);
TRACE_DEFINE_ENUM(SDP_MID_SRC_CANCEL);
TRACE_DEFINE_ENUM(SDP_MID_SINK_CANCEL);
TRACE_DEFINE_ENUM(SDP_MID_SINK_CANCEL_ACK);
TRACE_DEFINE_ENUM(SDP_MID_CHRCVBUF);
TRACE_DEFINE_ENUM(SDP_MID_CHRCVBUF_ACK);
TRACE_DEFINE_ENUM(SDP_MID_SUSPEND);
TRACE_DEFINE_ENUM(SDP_MID_SUSPEND_ACK);
TRACE_DEFINE_ENUM(SDP_MID_RING_AVAIL);
TRACE_DEFINE_ENUM(SDP_MID_RING);
TRACE_DEFINE_ENUM(SDP_MID_SINK_AVAIL);
TRACE_DEFINE_ENUM(SDP_MID_SRC_AVAIL);
TRACE_DEFINE_ENUM(SDP_MID_DATA);

/* Names as those of sdp_mid_name() */
#define sdp_trace_mid(mid)						\
	__print_symbolic(mid,						\
			 { SDP_MID_HELLO, "Hello" },			\
			 { SDP_MID_HELLO_ACK, "HelloAck" },		\
			 { SDP_MID_DISCON, "DisConn" },			\
			 { SDP_MID_ABORT, "AbortConn" },		\
			 { SDP_MID_SENDSM, "SendSm" },			\
			 { SDP_MID_RDMA_WR_COMPL, "RdmaWrCompl" },	\
			 { SDP_MID_RDMA_RD_COMPL, "RdmaRdCompl" },	\
			 { SDP_MID_MODE_CHANGE, "ModeChange" },		\
			 { SDP_MID_SRC_CANCEL, "SrcAvailCancel" },	\
			 { SDP_MID_SINK_CANCEL, "SinkAvailCancel" },	\
			 { SDP_MID_SINK_CANCEL_ACK, "SinkCancelAck" },	\
			 { SDP_MID_CHRCVBUF, "ChRcvBuf" },		\
			 { SDP_MID_CHRCVBUF_ACK, "ChRcvBufAck" },	\
			 { SDP_MID_SUSPEND, "SuspComm" },		\
			 { SDP_MID_SUSPEND_ACK, "SuspCommAck" },	\
			 { SDP_MID_RING_AVAIL, "RingAvail" },		\
			 { SDP_MID_RING, "Ring" },			\
			 { SDP_MID_SINK_AVAIL, "SinkAvail" },		\
			 { SDP_MID_SRC_AVAIL, "SrcAvail" },		\
			 { SDP_MID_DATA, "Data" })

#define sdp_trace_msg_flags(flags)					\
	__print_flags(flags, "|",					\
			 { SDP_OOB_PRES, "OOB_PRES" },			\
			 { SDP_OOB_PEND, "OOB_PEND" },			\
			 { SDP_REQ_PIPE, "REQ_PIPE" })

TRACE_DEFINE_ENUM(TCP_ESTABLISHED);
TRACE_DEFINE_ENUM(TCP_SYN_SENT);
TRACE_DEFINE_ENUM(TCP_SYN_RECV);
TRACE_DEFINE_ENUM(TCP_FIN_WAIT1);
TRACE_DEFINE_ENUM(TCP_FIN_WAIT2);
TRACE_DEFINE_ENUM(TCP_TIME_WAIT);
TRACE_DEFINE_ENUM(TCP_CLOSE);
TRACE_DEFINE_ENUM(TCP_CLOSE_WAIT);
TRACE_DEFINE_ENUM(TCP_LAST_ACK);
TRACE_DEFINE_ENUM(TCP_LISTEN);
TRACE_DEFINE_ENUM(TCP_CLOSING);

#define sdp_trace_state(state)						\
	__print_symbolic(state,						\
			 { TCP_ESTABLISHED, "TCP_ESTABLISHED" },	\
			 { TCP_SYN_SENT, "TCP_SYN_SENT" },		\
			 { TCP_SYN_RECV, "TCP_SYN_RECV" },		\
			 { TCP_FIN_WAIT1, "TCP_FIN_WAIT1" },		\
			 { TCP_FIN_WAIT2, "TCP_FIN_WAIT2" },		\
			 { TCP_TIME_WAIT, "TCP_TIME_WAIT" },		\
			 { TCP_CLOSE, "TCP_CLOSE" },			\
			 { TCP_CLOSE_WAIT, "TCP_CLOSE_WAIT" },		\
			 { TCP_LAST_ACK, "TCP_LAST_ACK" },		\
			 { TCP_LISTEN, "TCP_LISTEN" },			\
			 { TCP_CLOSING, "TCP_CLOSING" })

TRACE_DEFINE_ENUM(SDP_CONN_IWARP);
TRACE_DEFINE_ENUM(SDP_CONN_ACTIVE);
TRACE_DEFINE_ENUM(SDP_CONN_GROWS);
TRACE_DEFINE_ENUM(SDP_CONN_LEAN);
TRACE_DEFINE_ENUM(SDP_CONN_READY);
TRACE_DEFINE_ENUM(SDP_CONN_UP);
TRACE_DEFINE_ENUM(SDP_CONN_DOWN);
TRACE_DEFINE_ENUM(SDP_CONN_DOWN_DUE);
TRACE_DEFINE_ENUM(SDP_CONN_DOWN_QUEUED);
TRACE_DEFINE_ENUM(SDP_CONN_FENCED);
TRACE_DEFINE_ENUM(SDP_CONN_GRACEFUL);
TRACE_DEFINE_ENUM(SDP_CONN_CM_CONNECTED);
TRACE_DEFINE_ENUM(SDP_CONN_ESTAB_COUNTED);
TRACE_DEFINE_ENUM(SDP_CONN_SHARED);
TRACE_DEFINE_ENUM(SDP_CONN_ABORT);
TRACE_DEFINE_ENUM(SDP_CONN_BAD);
TRACE_DEFINE_ENUM(SDP_CONN_FLUSHED);
TRACE_DEFINE_ENUM(SDP_CONN_CLOSED);

#define sdp_trace_conn_flags(flags)					\
	__print_flags(flags, "|",					\
			 { BIT(SDP_CONN_IWARP), "IWARP" },		\
			 { BIT(SDP_CONN_ACTIVE), "ACTIVE" },		\
			 { BIT(SDP_CONN_GROWS), "GROWS" },		\
			 { BIT(SDP_CONN_LEAN), "LEAN" },		\
			 { BIT(SDP_CONN_READY), "READY" },		\
			 { BIT(SDP_CONN_UP), "UP" },			\
			 { BIT(SDP_CONN_DOWN), "DOWN" },		\
			 { BIT(SDP_CONN_DOWN_DUE), "DOWN_DUE" },	\
			 { BIT(SDP_CONN_DOWN_QUEUED), "DOWN_QUEUED" },	\
			 { BIT(SDP_CONN_FENCED), "FENCED" },		\
			 { BIT(SDP_CONN_GRACEFUL), "GRACEFUL" },	\
			 { BIT(SDP_CONN_CM_CONNECTED), "CM_CONNECTED" },	\
			 { BIT(SDP_CONN_ESTAB_COUNTED), "ESTAB_COUNTED" },	\
			 { BIT(SDP_CONN_SHARED), "SHARED" },		\
			 { BIT(SDP_CONN_ABORT), "ABORT" },		\
			 { BIT(SDP_CONN_BAD), "BAD" },			\
			 { BIT(SDP_CONN_FLUSHED), "FLUSHED" },		\
			 { BIT(SDP_CONN_CLOSED), "CLOSED" })

#define sdp_trace_family(family)					\
	__print_symbolic(family,					\
			 { AF_INET, "AF_INET" },			\
			 { AF_INET6, "AF_INET6" })

#define sdp_trace_link(link)						\
	__print_symbolic(link,						\
			 { SDP_LINK_NONE, "none" },			\
			 { SDP_LINK_VERBS, "verbs" },			\
			 { SDP_LINK_SHARED, "shared" })

/* Words as those of sdp_fallback_reason_name() */
#define sdp_trace_tcp_reason(reason)					\
	__print_symbolic(reason,					\
			 { SDP_TCP_NO_DEVICE, "no_device" },		\
			 { SDP_TCP_NO_ROUTE, "no_route" },		\
			 { SDP_TCP_REFUSED, "refused" },		\
			 { SDP_TCP_TIMEOUT, "timeout" },		\
			 { SDP_TCP_LIMIT, "limit" },			\
			 { SDP_TCP_PORT, "port" },			\
			 { SDP_TCP_RESET, "reset" },			\
			 { SDP_TCP_OTHER, "other" },			\
			 { SDP_TCP_RECENT, "recent" },			\
			 { SDP_TCP_REQUESTED, "requested" })

#define sdp_trace_error(error)						\
	__print_symbolic(error,						\
			 { 0, "none" },					\
			 { EINTR, "EINTR" },				\
			 { EAGAIN, "EAGAIN" },				\
			 { ENOMEM, "ENOMEM" },				\
			 { EACCES, "EACCES" },				\
			 { ENODEV, "ENODEV" },				\
			 { EINVAL, "EINVAL" },				\
			 { EPROTO, "EPROTO" },				\
			 { EADDRINUSE, "EADDRINUSE" },			\
			 { EADDRNOTAVAIL, "EADDRNOTAVAIL" },		\
			 { ENETDOWN, "ENETDOWN" },			\
			 { ENETUNREACH, "ENETUNREACH" },		\
			 { ENETRESET, "ENETRESET" },			\
			 { ECONNABORTED, "ECONNABORTED" },		\
			 { ECONNRESET, "ECONNRESET" },			\
			 { ENOBUFS, "ENOBUFS" },			\
			 { ETIMEDOUT, "ETIMEDOUT" },			\
			 { ECONNREFUSED, "ECONNREFUSED" },		\
			 { EHOSTUNREACH, "EHOSTUNREACH" },		\
			 { EALREADY, "EALREADY" })

#ifndef TRACE_HEADER_MULTI_READ

static inline u64 sdp_trace_cookie(struct sock *sk)
{
	u32 cookie[2];

	sock_diag_save_cookie(sk, cookie);
	return (u64)cookie[1] << 32 | cookie[0];
}

static inline u8 sdp_trace_link_of(const struct sdp_conn *conn)
{
	if (READ_ONCE(conn->link)->shared)
		return SDP_LINK_SHARED;
	return READ_ONCE(conn->verbs) ? SDP_LINK_VERBS : SDP_LINK_NONE;
}

#endif /* TRACE_HEADER_MULTI_READ */

/* TP_STRUCT__entry, sdp_trace_sock() in TP_fast_assign, and TP_printk of all events */
#define SDP_TRACE_ENTRY(fields...)		\
	TP_STRUCT__entry(			\
		__field(u64, sock_cookie)	\
		__field(u16, family)		\
		__field(u16, sport)		\
		__field(u16, dport)		\
		__array(u8, saddr, 4)		\
		__array(u8, daddr, 4)		\
		__array(u8, saddr_v6, 16)	\
		__array(u8, daddr_v6, 16)	\
		fields)

#define sdp_trace_sock(socket)						\
	do {								\
		struct sock *sk_ = (socket);				\
		const struct inet_sock *inet_ = inet_sk(sk_);		\
									\
		__entry->sock_cookie = sdp_trace_cookie(sk_);		\
		__entry->family = sdp_sk(sk_)->v6 ? AF_INET6 : AF_INET;	\
		__entry->sport = ntohs(inet_->inet_sport);		\
		__entry->dport = ntohs(inet_->inet_dport);		\
		memcpy(__entry->saddr, &inet_->inet_saddr, 4);		\
		memcpy(__entry->daddr, &inet_->inet_daddr, 4);		\
		memcpy(__entry->saddr_v6, &sk_->sk_v6_rcv_saddr, 16);	\
		memcpy(__entry->daddr_v6, &sk_->sk_v6_daddr, 16);	\
	} while (0)

#define SDP_TRACE_SOCK	"sock_cookie=%llx family=%s sport=%hu dport=%hu saddr=%pI4 daddr=%pI4 saddrv6=%pI6c daddrv6=%pI6c "
#define SDP_TRACE_PRINTK(fmt, args...)					\
	TP_printk(SDP_TRACE_SOCK fmt,					\
		  __entry->sock_cookie, sdp_trace_family(__entry->family), \
		  __entry->sport, __entry->dport, __entry->saddr,	\
		  __entry->daddr, __entry->saddr_v6, __entry->daddr_v6, \
		  args)

DECLARE_EVENT_CLASS(sdp_msg,
	TP_PROTO(const struct sdp_conn *conn, const struct sdp_bsdh *h, u32 payload),
	TP_ARGS(conn, h, payload),
	SDP_TRACE_ENTRY(
		__field(u8, link)
		__field(u8, mid)
		__field(u8, flags)
		__field(u16, bufs)
		__field(u32, mseq)
		__field(u32, ack)
		__field(u32, payload)
	),
	TP_fast_assign(
		sdp_trace_sock(conn->sk);
		__entry->link = sdp_trace_link_of(conn);
		__entry->mid = h->mid;
		__entry->flags = h->flags;
		__entry->bufs = h->bufs;
		__entry->mseq = h->mseq;
		__entry->ack = h->mseq_ack;
		__entry->payload = payload;
	),
	SDP_TRACE_PRINTK("link=%s mid=%s flags=%s bufs=%u mseq=%u ack=%u payload=%u",
			 sdp_trace_link(__entry->link),
			 sdp_trace_mid(__entry->mid),
			 sdp_trace_msg_flags(__entry->flags), __entry->bufs,
			 __entry->mseq, __entry->ack, __entry->payload)
);

DEFINE_EVENT(sdp_msg, sdp_msg_tx,
	TP_PROTO(const struct sdp_conn *conn, const struct sdp_bsdh *h, u32 payload),
	TP_ARGS(conn, h, payload));

DEFINE_EVENT(sdp_msg, sdp_msg_rx,
	TP_PROTO(const struct sdp_conn *conn, const struct sdp_bsdh *h, u32 payload),
	TP_ARGS(conn, h, payload));

TRACE_EVENT(sdp_state,
	TP_PROTO(struct sock *sk, int from, int to),
	TP_ARGS(sk, from, to),
	SDP_TRACE_ENTRY(
		__field(int, oldstate)
		__field(int, newstate)
	),
	TP_fast_assign(
		sdp_trace_sock(sk);
		__entry->oldstate = from;
		__entry->newstate = to;
	),
	SDP_TRACE_PRINTK("oldstate=%s newstate=%s",
			 sdp_trace_state(__entry->oldstate),
			 sdp_trace_state(__entry->newstate))
);

TRACE_EVENT(sdp_cm_event,
	TP_PROTO(struct sock *sk, int event, int status),
	TP_ARGS(sk, event, status),
	SDP_TRACE_ENTRY(
		__field(int, event)
		__field(int, status)
	),
	TP_fast_assign(
		sdp_trace_sock(sk);
		__entry->event = event;
		__entry->status = status;
	),
	SDP_TRACE_PRINTK("event=%s status=%d",
			 rdma_show_cm_event(__entry->event), __entry->status)
);

/* The teardown of a connection begins. @error is 0 if it is a graceful one. */
TRACE_EVENT(sdp_down,
	TP_PROTO(const struct sdp_conn *conn, int error),
	TP_ARGS(conn, error),
	SDP_TRACE_ENTRY(
		__field(u8, link)
		__field(unsigned long, flags)
		__field(int, error)
	),
	TP_fast_assign(
		sdp_trace_sock(conn->sk);
		__entry->link = sdp_trace_link_of(conn);
		__entry->flags = READ_ONCE(conn->flags);
		__entry->error = sdp_conn_graceful(conn, error) ? 0 : error;
	),
	SDP_TRACE_PRINTK("link=%s flags=%s error=%s",
			 sdp_trace_link(__entry->link),
			 sdp_trace_conn_flags(__entry->flags),
			 sdp_trace_error(__entry->error))
);

/* TCP takes over a socket with SDP_FALLBACK. @error is an errno of either sign. */
TRACE_EVENT(sdp_tcp,
	TP_PROTO(struct sock *sk, int reason, int error),
	TP_ARGS(sk, reason, error),
	SDP_TRACE_ENTRY(
		__field(int, reason)
		__field(int, error)
	),
	TP_fast_assign(
		sdp_trace_sock(sk);
		__entry->reason = reason;
		__entry->error = abs(error);
	),
	SDP_TRACE_PRINTK("reason=%s error=%s",
			 sdp_trace_tcp_reason(__entry->reason),
			 sdp_trace_error(__entry->error))
);

#endif /* _SDP_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE sdp_trace
#include <trace/define_trace.h>
