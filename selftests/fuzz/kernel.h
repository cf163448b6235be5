/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The kernel's and the driver's functions that hyb_shared.c and hyb_stream.c call, in
 * user space. It comes first, and the kernel headers that they include are empty
 * then. Memory, TCP and a NIC are in shared_tcp.c.
 */
#ifndef SELFTESTS_FUZZ_KERNEL_H
#define SELFTESTS_FUZZ_KERNEL_H

#include "kernel_base.h"
#include "iwarp/ddp.h"

/* ---- TCP, as far as it is looked at ---- */

#define SOCK_NOSPACE 2
#define HZ 1000
#define tcp_rtx_and_write_queues_empty(sk) (!tcp_write_queue_tail(sk))
#define SOCK_RCVBUF_LOCK 2

struct tcp_skb_cb {
	u32 seq;
	u8 eor;
};

/* Of received ones alone: the members after @truesize */
struct sk_buff {
	struct tcp_skb_cb cb;
	u32 len;
	u32 truesize;
	u32 headlen;
	u8 *data;
	u8 *head;
	bool head_frag;
	bool checked; /* by a NIC */
	bool unreadable; /* fragments are in the memory of a device */
	struct sk_buff *next; /* in a frag_list */
	struct sk_buff *behind; /* in the receive queue */
	struct skb_shared_info *info;
};

struct sk_buff_head {
	struct sk_buff *first;
};

struct net {
	struct {
		int sysctl_tcp_rmem[3];
	} ipv4;
};

#define TCP_SKB_CB(skb) (&(skb)->cb)

struct socket {
	unsigned long flags;
};

struct dst_entry {
	u32 mtu;
};

struct sock {
	struct {
		int slock;
	} sk_lock;
	struct socket *sk_socket;
	int sk_userlocks;
	u32 sk_rcvbuf;
	struct dst_entry dst;
	bool owned;
	struct sk_buff_head sk_receive_queue;
	u32 inq; /* bytes there */
	u8 sk_shutdown, sk_state;
	void *sk_user_data;
	u32 sk_route_caps;
	struct net net;
};

struct inet_connection_sock {
	struct sock sk;
	u32 icsk_pmtu_cookie;
	u32 icsk_ext_hdr_len;
	u32 (*icsk_sync_mss)(struct sock *sk, u32 mtu);
};

struct tcphdr {
	u8 bytes[20];
};

struct tcp_sock {
	struct inet_connection_sock icsk;
	u32 copied_seq;
	u32 write_seq, snd_nxt, snd_una, snd_wnd, snd_cwnd;
	u32 mss_cache, gso_segs, tcp_header_len;
	u32 rate_delivered, rate_interval_us, rtt_us;
	u32 window_clamp, rcv_ssthresh;
	struct {
		u16 mss_clamp;
	} rx_opt;
};

#define inet_csk(sk) ((struct inet_connection_sock *)(sk))
#define tcp_sk(sk) ((struct tcp_sock *)(sk))
#define __sk_dst_get(sk) (&(sk)->dst)
#define dst_mtu(dst) ((dst)->mtu)
#define sock_owned_by_user(sk) ((sk)->owned)
#define tcp_snd_cwnd(tp) ((tp)->snd_cwnd)
#define tcp_min_rtt(tp) ((tp)->rtt_us)
#define div_u64(a, b) ((u64)(a) / (u32)(b))

static inline u32 tcp_inq(const struct sock *sk)
{
	return sk->inq + (sk->owned ? 1 : 0);
}

static inline u32 tcp_wnd_end(const struct tcp_sock *tp)
{
	return tp->snd_una + tp->snd_wnd;
}

struct sk_buff *tcp_write_queue_tail(const struct sock *sk);
u32 tcp_packets_in_flight(const struct tcp_sock *tp);
int sk_stream_wspace(const struct sock *sk);
#define sk_stream_is_writeable(sk) (sk_stream_wspace(sk) > 0)

#define tcp_receive_window(tp) ((tp)->window_clamp)
#define tcp_win_from_space(sk, space) ((sk)->owned ? 0 : (space))

/* ---- the rest of the driver: its own headers where they need no more ---- */

struct notifier_block;

struct ib_pd;

struct ib_qp {
	u32 qp_num;
	void *device;
	struct ib_pd *pd;
};

#define HYB_SCHED_H
#define HYB_STATS_H
#define _HYB_TRACE_H
#define HYB_OFFLOAD_H
#define HYBRID_H

#include "iwarp_hybrid/hyb_types.h"

enum hyb_todo { HYB_TODO_TX, HYB_TODO_RX };
enum hyb_qp_state { HYB_QP_RTS };
enum hyb_close { HYB_CLOSE_RESET };
enum hyb_mark_mode { HYB_MARK_COPY, HYB_MARK_INPLACE };
enum iwarp_layout { IWARP_LAYOUT_FINAL, IWARP_LAYOUT_CONTIG };

struct hyb_qp {
	struct ib_qp ibqp;
	void *dev;
	struct {
		struct sock *sk;
		bool attached;
		unsigned long todo;
		spinlock_t lock; /* none */
		const struct sock *owner; /* none */
	} tcp;
	struct hyb_tx tx;
	struct hyb_rx rx;
	struct {
		u8 markers, payload;
	} place;
	struct {
		u32 nlent; /* none */
	} sq;
	struct mem_cgroup *memcg;
	struct hyb_shared *shared;
	struct hyb_off *off;
	struct hyb_ooo *ooo;
	struct hyb_cep *cep;
	void *srq; /* none */
	int refuses;
	bool user;
};

#define hyb_qp_grants(qp, access) (!((qp)->refuses & (access)))
#define hyb_qp_of(ptr) container_of(ptr, struct hyb_qp, ibqp)
#define hyb_qp_state(qp) ((void)(qp), HYB_QP_RTS)
#define hyb_qp_abort(qp, how) ((void)(qp), (void)(how))
#ifndef hyb_stats_add
#define hyb_stats_add(dev, id, n) ((void)(dev), (void)(n))
#define hyb_stats_inc(dev, id) ((void)(dev))
#define __hyb_stats_add(dev, id, n) hyb_stats_add(dev, id, n)
#endif

struct sock *hyb_sched_enter(struct hyb_qp *qp);
void hyb_sched_leave(struct hyb_qp *qp, struct sock *sk, bool run);
void hyb_sched_run_todo(struct hyb_qp *qp, int todo);
void hyb_sched_retry(struct hyb_qp *qp, int todo, unsigned long delay);
#define hyb_trace_sealed(qp, start, pos, len, nr, contig) ((void)(qp))
#define hyb_sched_here(qp) ((void)(qp))
#define hyb_sched_kick(qp, todo) ((void)(qp))
#define hyb_sched_set_ip(qp, ip) ((void)(qp), (void)(ip))
#define hyb_sched_wait(qp) ((void)(qp))

bool hyb_off_room(struct hyb_off *off, unsigned int pieces);
void hyb_off_acked(struct hyb_qp *qp, struct hyb_off *off);

static inline bool hyb_off_tx_crc(const struct hyb_off *off)
{
	return off && off->tx_crc;
}

static inline bool hyb_off_tx_contig(struct hyb_off *off)
{
	return off && off->tx_contig && hyb_off_room(off, 2);
}

#endif /* SELFTESTS_FUZZ_KERNEL_H */
