/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The socket as an object, see sdp_sock.c.
 */
#ifndef _SDP_SOCK_H
#define _SDP_SOCK_H

#include <linux/sched/mm.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/inet_sock.h>
#include <net/sock.h>
#include <net/tcp_states.h>

#include "compat.h"
#include "sdp_net.h"
#include "sdp_shared.h"

struct sdp_conn;
struct sdp_rxmap;
struct sdp_port;
struct sdp_ring;
struct sdp_rxq_ops;

/* How the result of TCP's connect() changes sdp_net.recent; sdp->tcp_learn */
enum sdp_learn {
	SDP_LEARN_NOT,
	SDP_LEARN_SUCCESS,	/* SDP failed: if TCP succeeds, begin with TCP next time */
	SDP_LEARN_FAILURE,	/* SDP was not tried: if TCP fails, try SDP next time */
};

/* Urgent byte, as seen by the reader; sdp->urg_state. */
enum sdp_urg {
	SDP_URG_NONE,
	SDP_URG_NOTYET,		/* announced by OOB_PEND */
	SDP_URG_VALID,		/* there, not read */
	SDP_URG_READ,		/* read by MSG_OOB, still in the stream */
};

/*
 * struct sdp_sock - an SDP socket
 *
 * sk_family and sk_protocol are the arguments of socket(). sk_state
 * takes TCP_* values. The inet_sock fields (ports, addresses, tos, ttl) are
 * kept valid for options and diag.
 */
struct sdp_sock {
	struct inet_sock inet;		/* must be first */

	spinlock_t lock;		/* "sdp->lock"; see the top of sdp.h */
	struct hlist_node net_node;	/* sdp_net.socks; lock of the bucket */
	struct hlist_node bind_node;	/* sdp_net.bound; lock of the bucket */
	struct list_head bind_same;	/* others of the port and kind, without
					 * a head; lock of the bucket
					 */
	bool bind_shares;		/* the kind; lock of the bucket */
	struct sdp_conn *conn;		/* see struct sdp_conn */
	struct sdp_port *port;		/* cm_ids; changed under lock_sock and
					 * sdp_port_mutex()
					 */
	struct list_head port_node;	/* sdp_port.socks or .listeners;
					 * sdp_port.lock
					 */
	union sdp_addr local;		/* port 0: not bound; written under
					 * lock, and that of the bucket in
					 * sdp_net.bound
					 */
	union sdp_addr peer;
	bool v6;			/* made for IPv6 */
	bool user_bound;		/* bind() gave address or port */
	bool bound_later;		/* it left the port to connect() */

	const struct cred *cred;	/* of the task that called connect(), see
					 * sdp_sock_port_cred(); lock_sock
					 */

	/* TCP beside SDP, sdp_fallback.c */
	u8 fallback;			/* SDP_FALLBACK; lock_sock */
	u8 tcp_reason;			/* enum sdp_tcp_reason; lock_sock */
	u8 tcp_learn;			/* enum sdp_learn */
	struct sdp_recent_key tcp_key;	/* destination of connect() */
	bool tcp_on;			/* the file is that of tcp */
	bool tcp_next;			/* the next accept() asks TCP first */
	struct socket *tcp;		/* set once, until release */
	struct sock *tcp_sk;		/* of tcp, with a reference, to the end */
	wait_queue_entry_t tcp_bridge;	/* from its queue to ours */

	/* listener; lock */
	struct list_head accept_q;	/* sdp_sock.accept_node of children */
	struct list_head held;		/* sdp_cm_state.held_node, above backlog */
	u32 nheld;
	struct list_head unconfirmed;	/* sdp_cm_state.held_node, oldest first */
	u32 nending;			/* connections with sdp_cm_state.makes_room */
	struct work_struct hold_work;
	struct list_head accept_node;
	struct work_struct unbind_work;	/* the device of port went away */

	/* receive queue; lock. Only a reader (lock_sock) removes the head. */
	const struct sdp_rxq_ops *rxq;
	struct list_head rx_queue;	/* verbs link */
	struct sdp_rx_pages rx_pages;	/* shared link */
	struct sdp_ring *rx_ring;	/* flow control "rdma" */
	u32 ring_calls;			/* see sdp_ring_enter(); lock_sock */
	u32 rx_tight;			/* quarter of the ring, 0 without one */
	atomic_t tx_mem;		/* bytes of send buffers that are charged,
					 * as sk_rmem_alloc for those that receive;
					 * sdp_mem.c
					 */
	u32 rx_seq;			/* stream bytes received */
	u32 copied_seq;			/* stream bytes read; lock_sock */
	const void *rx_away;		/* a reader that fetches its memory, see
					 * sdp_rx_turn(); lock_sock, readable without
					 */
	u32 rx_waiters;			/* others that wait for it; lock_sock */
	u32 urg_seq;			/* of the urgent byte; lock, readable without */
	u32 urg_skip_to;		/* lock; see sdp_sock_urg_skip() */
	struct sdp_rxmap *rxmap;	/* lock_sock; sdp_rxmap.c */
	u32 nmapped;			/* receive buffers that rxmap holds; lock_sock */
	bool rx_done;			/* the peer has finished; SOCK_DONE
					 * would race with setsockopt()
					 */
	u8 urg_state;			/* enum sdp_urg; lock, readable without */
	u8 urg_byte;
	bool urg_skips;			/* urg_skip_to counts; lock */

	struct delayed_work timer_work;	/* sdp_timer.c */
	unsigned long last_rx;		/* jiffies */
	unsigned long deadline;		/* jiffies; timer of connect(), of
					 * an orphan: lock_sock; of a request:
					 * written once, by setup_work
					 */
	u8 orphan_state;		/* sk_state that deadline is for */
	bool orphan;			/* in sdp_net.norphans */
	unsigned long orphan_end;	/* jiffies: no later, even if data still leaves */
	u32 last_progress;		/* timer: progress when it last looked */
	unsigned long user_since;	/* jiffies of the last progress seen */
	bool user_watched;		/* the timer looks after user_timeout;
					 * lock_sock
					 */
	unsigned long ka_sent;		/* jiffies, last probe */
	u8 ka_probes;			/* without an answer */

	/* options; lock_sock to change, READ_ONCE to read. sdp_sockopt.c */
	u8 nodelay;			/* TCP_NODELAY */
	u8 cork;			/* TCP_CORK */
	u8 quickack;			/* TCP_QUICKACK, starts at 1 */
	u8 recvmsg_inq;			/* TCP_INQ */
	u8 shared_link;			/* SDP_SHARED_LINK */
	u8 flow_control;		/* SDP_FLOW_CONTROL */
	int zcopy_threshold;		/* SDP_ZCOPY; 0: never */
	u8 syn_retries;			/* TCP_SYNCNT, 0: default */
	u8 keepcnt;			/* 0: per-namespace default */
	u16 user_mss;			/* TCP_MAXSEG */
	int keepidle;			/* seconds; 0: default */
	int keepintvl;
	int linger2;			/* seconds; 0: default, < 0: none */
	int defer_accept;		/* seconds */
	u32 user_timeout;		/* ms */
	u32 notsent_lowat;		/* 0: none */
	u32 window_clamp;
	u32 fastopen_qlen;
	u32 opt_bits;			/* switches that are only stored */
	u32 ip6_bits;			/* switches of SOL_IPV6 that are only stored */
	u32 ip6_set;			/* bits of ip6_bits that the program has set */
	s16 ip6_hops;			/* IPV6_UNICAST_HOPS, -1: default */
	u8 ip6_tclass;			/* IPV6_TCLASS */
	u8 ip6_pmtudisc;		/* IPV6_MTU_DISCOVER */

	/* for SDP_INFO and diag: READ_ONCE; written under tx_lock, lock or lock_sock */
	u64 tx_bytes;			/* payload bytes sent */
	u64 tx_msgs;			/* messages sent, all kinds */
	u64 tx_no_credit;		/* times that data waited for credits */
	u64 tx_zcopy_bytes;		/* sent without a copy */
	u64 tx_zcopy_fails;		/* attempts that ended in copying */
	u64 tx_ref_bytes;		/* queued without a copy */
	u64 rx_bytes;
	u64 rx_msgs;
	u64 rx_zcopy_bytes;
	u64 rx_mapped_bytes;		/* mapped to the program */

	struct ipv6_pinfo inet6;	/* inet.pinet6 of an IPv6 socket; must be
					 * last, see sdp_inet_init()
					 */
};

static inline struct sdp_sock *sdp_sk(const struct sock *sk)
{
	return (struct sdp_sock *)sk;
}

/* Where work for this socket is queued */
static inline struct workqueue_struct *sdp_wq(const struct sock *sk)
{
	return sdp_pernet(sock_net(sk))->wq;
}

/* Has the program attached a packet filter? It would see no packet, so all would pass. */
static inline bool sdp_sock_filtered(const struct sock *sk)
{
	return rcu_access_pointer(sk->sk_filter);
}

/* Refuse packet filters from now on. On later kernels sdp_setsockopt() refuses them. */
static inline void sdp_sock_no_filter(struct sock *sk)
{
#ifndef HAVE_CUSTOM_SOCKOPT
	sock_set_flag(sk, SOCK_FILTER_LOCKED);
#endif
}

/*
 * Work for a socket is charged to its control group. Returns the argument of
 * set_active_memcg() that ends this.
 */
static inline struct mem_cgroup *sdp_sock_charge(const struct sock *sk)
{
#ifdef CONFIG_MEMCG
	return set_active_memcg(sk->sk_memcg);
#else
	return NULL;
#endif
}

/* sdp_sock.c */
void sdp_sock_hash(struct sdp_sock *sdp);
void sdp_sock_unhash(struct sdp_sock *sdp);
void sdp_sock_set_state(struct sock *sk, int state);
void sdp_sock_set_closed(struct sock *sk);
void sdp_addr_copy(union sdp_addr *to, const struct sockaddr *sa);
void sdp_addr_to_v6(const union sdp_addr *a, struct in6_addr *v6);
void sdp_sock_set_local(struct sock *sk, const struct sockaddr *sa);
void sdp_sock_set_peer(struct sock *sk, const struct sockaddr *sa);
void sdp_sock_clear_local(struct sock *sk);
const char *sdp_sock_device_name(const struct sock *sk);
int sdp_sock_readable(const struct sock *sk);
bool sdp_sock_at_mark(const struct sock *sk);
void sdp_sock_urg_skip(struct sdp_sock *sdp);
void sdp_sock_oob_pres(struct sdp_sock *sdp, struct sdp_rx_ctx *c, u32 seq,
		       u8 byte);
u32 sdp_sock_read_seq(const struct sdp_sock *sdp);
void sdp_sock_read_all(struct sdp_sock *sdp);
void sdp_sock_start_timer(struct sock *sk, unsigned long delay);
void sdp_sock_stop_timer(struct sock *sk);
void sdp_sock_start_deadline(struct sock *sk, unsigned long delay);
unsigned long sdp_sock_user_limit(const struct sock *sk);
u32 sdp_sock_zcopy_threshold(const struct sock *sk);
const struct cred *sdp_sock_port_cred(const struct sock *sk, __be16 port);
const struct cred *sdp_sock_use_port(const struct sock *sk, __be16 port);
void sdp_sock_used_port(const struct cred *old);
bool sdp_addr_any(const union sdp_addr *a);
bool sdp_addr_loopback(const union sdp_addr *addr);
void sdp_addr_of_cm(const struct sockaddr_storage *addr, union sdp_addr *a);

/* sdp_route.c */
bool sdp_route_known(struct sock *sk, const union sdp_addr *dst,
		     union sdp_addr *src);

#endif /* _SDP_SOCK_H */
