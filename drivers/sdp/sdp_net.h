/* SPDX-License-Identifier: GPL-2.0 */
/* State of a network namespace. */
#ifndef _SDP_NET_H
#define _SDP_NET_H

#include <linux/atomic.h>
#include <linux/hash.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/seqlock.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "zcopy/zcopy.h"

struct ctl_table_header;
struct sdp_mib;

#define SDP_SOCK_BITS		8
#define SDP_SOCK_BUCKETS	BIT(SDP_SOCK_BITS)
#define SDP_BIND_BUCKETS	1024
#define SDP_PORT_LOCKS		64	/* divides SDP_BIND_BUCKETS */

/* An IPv4 or IPv6 address; IPv4-mapped ones are kept as IPv4. */
union sdp_addr {
	struct sockaddr sa;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

#define SDP_RECENT	64	/* a table without chains: the last one wins */

/* No padding: it is compared and hashed as memory */
struct sdp_recent_key {
	union sdp_addr dst;	/* as of sdp_addr_copy(), the rest is zero */
	int bound;		/* SO_BINDTODEVICE */
};

static_assert(sizeof(struct sdp_recent_key) ==
	      sizeof(union sdp_addr) + sizeof(int));

/* A destination where SDP failed and TCP did not */
struct sdp_recent {
	struct sdp_recent_key key;
	u64 since;		/* jiffies */
};

/*
 * struct sdp_bucket - a bucket of a table of sockets
 * @lock: (BH) protects @socks, and what its table says; innermost. No task holds two
 * @socks: the sockets
 */
struct sdp_bucket {
	spinlock_t lock;		/* see above */
	struct hlist_head socks;
};

/*
 * struct sdp_net - what a network namespace holds
 * @mib: per-CPU counters (sdp_mib.c)
 * @sysctl_hdr: table under net/sdp (sdp_sysctl.c)
 * @socks: every socket of the namespace, linked by sdp_sock.net_node, by its address in
 *	memory: it stays in its bucket
 * @bound: those with a port, by its number: the first of each port and kind is linked by
 *	sdp_sock.bind_node, the others of the kind to that one, see sdp_bound_add(). The
 *	lock of a bucket protects sdp_sock.local, inet_num, .bind_same and .bind_shares of
 *	its sockets as well. A socket that gets another port is in no bucket for a moment.
 *	A search looks at one bucket only, so it cannot tell.
 * @ports: rdma_cm's side of their ports (sdp_port.c), by number
 * @port_mutex: protects membership in @ports, by number, see sdp_port_mutex(); below
 *	lock_sock, no handler takes one
 * @nconns: connections that have memory, whatever their state
 * @norphans: sockets that outlive close(), until they are freed
 * @groups_lock: protects @sysctl_group_range, as both numbers go together
 *
 * The sysctl_ fields are written by sdp_sysctl.c after validation and read
 * with READ_ONCE(), most when a socket or a connection is made.
 */
struct sdp_net {
	struct sdp_mib __percpu *mib;
	struct ctl_table_header *sysctl_hdr;
	struct sdp_bucket *socks;	/* SDP_SOCK_BUCKETS */
	struct sdp_bucket *bound;	/* SDP_BIND_BUCKETS */
	struct hlist_head *ports;	/* SDP_BIND_BUCKETS */
	struct mutex port_mutex[SDP_PORT_LOCKS];	/* see above */
	atomic_t nconns;
	atomic_t norphans;
	struct sdp_zc_cache zc_cache;
	/*
	 * a queue for each namespace: work that waits for a lock of a stopped
	 * process must not block other namespaces
	 */
	struct workqueue_struct *wq;
	/* set-up, which may wait for memory of a control group */
	struct workqueue_struct *setup_wq;
	/* teardown, which waits for the peer and the device */
	struct workqueue_struct *down_wq;
	struct list_head dials;		/* sdp_dial.node */
	u32 ndials;
	struct xarray dial_users;	/* how many of dials a user has, by uid */
	spinlock_t dial_lock;		/* dials, dial_users, sdp_cm_state.dial_*; irq */

	int sysctl_rmem[3];		/* min, default, max bytes */
	int sysctl_wmem[3];
	int sysctl_rx_bufs_min;		/* receives a connection starts with */
	int sysctl_rx_bufs_max;		/* and may grow to, by rcvbuf */
	int sysctl_rx_buf_size;		/* bytes of a receive buffer in use */
	int sysctl_rx_merge;		/* payloads up to this are copied together; -1: none */
	int sysctl_shared_link;		/* use shared buffers where possible */
	int sysctl_flow_control;	/* SDP_FLOW_*, never SDP_FLOW_DEFAULT */
	int sysctl_credit_join;		/* sends without credit join a message */
	int sysctl_credit_update;	/* enum sdp_update */
	int sysctl_vwin_posted;		/* messages that the device has */
	int sysctl_rdma_progress;	/* enum sdp_progress */
	int sysctl_rdma_immediate;	/* rings: Write with immediate data */
	int sysctl_zcopy_threshold;	/* bytes of a send; 0: never */
	int sysctl_zcopy_floor;		/* bytes of one that always pays */
	int sysctl_zcopy_wait;		/* us without progress */
	int sysctl_zcopy_cache;		/* bytes kept pinned; 0: none */
	int sysctl_zcopy_entries;	/* pieces, of one connection */
	int sysctl_zcopy_pipelined;	/* pipelined mode where both ends can */
	int sysctl_signal_every;	/* signalled send at least every n */
	int sysctl_fin_timeout;		/* seconds, after close() */
	int sysctl_resolve_timeout;	/* ms, address and route */
	int sysctl_connect_timeout;	/* seconds, whole connect */
	int sysctl_confirm_timeout;	/* seconds, from our answer to a request */
	int sysctl_hold_max;		/* requests held above the backlog */
	int sysctl_max_connections;	/* 0: no limit */
	int sysctl_max_orphans;		/* more are reset */
	int sysctl_port_offset;		/* from a port to that of the device */
	int sysctl_fallback;		/* whether SDP_FALLBACK_TCP is allowed */
	int sysctl_fallback_timeout;	/* seconds, until TCP is tried */
	int sysctl_fallback_memory;	/* seconds, that TCP is tried at once */
	int sysctl_tx_latency;		/* histogram of the latency of sends */
	int sysctl_max_adverts;		/* announced in Hello */
	kgid_t sysctl_group_range[2];	/* groups that may open sockets */
	seqlock_t groups_lock;		/* see above */
	int sysctl_keepalive_time;	/* seconds */
	int sysctl_keepalive_intvl;
	int sysctl_keepalive_probes;

	spinlock_t recent_lock;		/* recent; interrupts disabled, for wake-ups */
	struct sdp_recent recent[SDP_RECENT];
};

/* net.sdp.credit_update: when to advertise receives that are free again */
enum sdp_update {
	SDP_UPDATE_THIRD,		/* the peer has used a third of its credits */
	SDP_UPDATE_HALF,
	SDP_UPDATE_EACH,		/* at once */
};

/*
 * net.sdp.rdma_progress: the context that sends data when the ring has room
 * again
 */
enum sdp_progress {
	SDP_PROGRESS_KERNEL,		/* any context that learns of it */
	SDP_PROGRESS_APP,		/* the next system call on the socket */
};

extern unsigned int sdp_net_id;

static inline struct sdp_net *sdp_pernet(struct net *net)
{
	return net_generic(net, sdp_net_id);
}

/* Index in sdp_net.bound and sdp_net.ports */
static inline unsigned int sdp_bind_bucket(u16 port)
{
	return port % SDP_BIND_BUCKETS;
}

/* Index in sdp_net.socks */
static inline unsigned int sdp_sock_bucket(const struct sock *sk)
{
	return hash_ptr(sk, SDP_SOCK_BITS);
}

/* sdp_mib.c */
int sdp_mib_init_net(struct net *net);
void sdp_mib_exit_net(struct net *net);

#endif /* _SDP_NET_H */
