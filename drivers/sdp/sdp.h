/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SDP sockets: shared definitions. Objects and layers have headers of their
 * own.
 *
 * A file calls only files below it:
 *   sdp_diag.c          sock_diag, a module of its own
 *   af_sdp.c            proto_ops: the system calls
 *   sdp_sockopt.c       socket options
 *   sdp_timer.c         connect(), orphans, keepalive, TCP_USER_TIMEOUT
 *   sdp_cm.c            connections: rdma_cm events, set-up, teardown
 *   sdp_rxmap.c         received pages in a mapping of the socket
 *   sdp_rx.c sdp_tx.c   recvmsg and sendmsg, over any link
 *   sdp_verbs.c         makes and destroys a verbs link
 *   sdp_shared_tx.c sdp_shared_rx.c sdp_rx_pages.c
 *                       shared link: buffers of the provider
 *   sdp_verbs_rx.c      verbs link: messages arrive in private buffers
 *   sdp_rx_msg.c        what a received message means
 *   sdp_fc_policy.c     which flow control a connection has, and why
 *   sdp_verbs_tx.c      verbs link: messages leave as credits allow
 *   zcopy/              large sends and receives without copies
 *   sdp_verbs_txq.c     messages that wait to be sent
 *   sdp_fc_rdma.c sdp_fc_vwin.c sdp_fc_transport.c
 *                       flow control: a ring that the sender manages,
 *                       messages that the device holds, the transport's own
 *   sdp_ring.c          that ring: its memory, and the receive queue in it
 *   sdp_fc_credit.c     flow control: credits
 *   sdp_qp.c            queue pair, buffers, posting
 *   sdp_info.c          reports
 *   sdp_fallback.c      TCP beside SDP: the kernel's TCP sockets
 *   sdp_port.c          addresses, ports, and their cm_ids
 *   sdp_dial.c          threads that call rdma_connect()
 *   sdp_conn.c          the connection as an object
 *   sdp_cgroup.c        BPF programs of control groups
 *   sdp_tx_pages.c sdp_errq.c sdp_inherit.c sdp_inet.c sdp_route.c sdp_sysctl.c
 *                       pages that are sent, notifications, options of a child,
 *                       registration, the IP route, settings
 *   sdp_sock.c          the socket as an object
 *   sdp_latency.c       how long sends take
 *   sdp_netlink.c       counters and states for user space
 *   sdp_mem.c           account of the buffers of verbs links
 *   sdp_mib.c sdp_trace.c
 *                       counters, tracepoints
 *   sdp_wire.c          message formats
 *
 * Locks, outermost first:
 *   lock_sock(sk)    serialises system calls on a socket. CM handlers never
 *                    take it, so rdma_cm calls below it cannot deadlock
 *                    with a handler. The teardown takes it, so its holder
 *                    waits for no page when it copies from or to user memory,
 *                    and pins nothing.
 *   conn->tx_lock    (BH) the transmit half, credits, posting to the QP. The
 *                    provider takes its TCP lock below it.
 *   sdp->lock        (BH) socket state, receive queue, accept queue. One at a time.
 *                    A provider may call SDP under its own locks, so nothing is
 *                    posted under it, and of struct rdma_stack_link only the plain
 *                    reads are called. Under it tasks are woken and get signals,
 *                    work is queued or cancelled, sdp_conn_down() begins a teardown,
 *                    netlink notifies, and memory is allocated without waiting.
 *
 * Innermost ones, of which no task holds two:
 *   sdp_bucket.lock  (BH) a bucket of the list of sockets, or of the table of ports
 *                    with the addresses of its sockets
 *   sdp_port.lock    (BH) the sockets at a port that they share, and its listeners; CM
 *                    handlers take it
 *   sdp_verbs.rx_lock (irq) spare pages for receives; callbacks of a provider take it
 *   sdp_net.dial_lock (irq) threads that connect, and how many each user has. A thread
 *                    gets its signal under it
 *   sdp_net.recent_lock (irq) destinations where SDP failed; taken when TCP wakes tasks
 *   sdp_net.groups_lock (seqlock) groups that may open sockets; process context
 *   sdp_zc_cache.lock, sdp_zc.mem_lock
 *                    memory that zero copy keeps, of a namespace and of a connection;
 *                    process context, changes of mappings included, so never taken under
 *                    one of the spinlocks above
 * Mutexes: sdp_net.port_mutex, by the number of a port, for joining and leaving it, is
 * taken under lock_sock; rdma_cm is called with it. The mmap lock is only tried under
 * lock_sock, see sdp_rxmap.c.
 *
 * Callbacks of a shared link run under the provider's TCP lock: of these locks they take
 * sdp->lock and innermost ones only. They leave sending to a work item.
 */
#ifndef _SDP_H
#define _SDP_H

#include <linux/net.h>
#include <linux/sockptr.h>
#include <linux/workqueue.h>
#include <net/sock.h>
#include <linux/sdp.h>

#include "sdp_conn.h"
#include "sdp_sock.h"
#include "sdp_wire.h"

struct iov_iter;
struct pipe_inode_info;
struct ubuf_info;

/**
 * struct sdp_link_ops - the transmit half over one kind of link
 * @name: as diag shows it
 * @shared: sends and receives in buffers of the provider
 * @send: take a piece of user data. Bytes taken, 0 without room, -ENOMEM,
 *	  -EFAULT, -EINTR; -ERESTART: lock_sock was released, look again. Context:
 *	  lock_sock.
 * @sent: a sendmsg is over; an incomplete message may wait if @cork.
 *	  Context: lock_sock.
 * @push: release what @sent or a corked @send delayed. Context: no spinlock.
 * @run: send control messages, and whatever else may go now; an error ends
 *	 the connection. Context: tx_lock.
 * @want_space: a writer waits: ensure that sk_write_space is called. Context:
 *	 no spinlock; the caller has a reference.
 * @full: writers have to wait even if sk_sndbuf has room. Context: any.
 * @outq: bytes written and not acknowledged. Context: lock_sock.
 * @settle: start to find out what is acknowledged; true if that takes time.
 *	 NULL: known at any time. Context: lock_sock.
 * @notice: report acknowledgments as they arrive, to time a send. Context: lock_sock.
 * @unproven: data may be unacknowledged although @outq does not count it; starts a
 *	      probe to find out. NULL: never. Context: lock_sock.
 * @unsent: bytes written and not sent. Context: any; not under sdp->lock.
 * @progress: a number that changes while payload leaves. Context: lock_sock.
 * @probed: a probe is complete, and with it all messages up to @mseq. Context:
 *	 softirq.
 */
struct sdp_link_ops {
	const char *name;
	bool shared;
	int (*send)(struct sock *sk, struct msghdr *msg, int flags);
	void (*sent)(struct sdp_conn *conn, bool cork);
	void (*push)(struct sdp_conn *conn);
	int (*run)(struct sdp_conn *conn);
	void (*want_space)(struct sdp_conn *conn);
	bool (*full)(const struct sdp_conn *conn);
	u32 (*outq)(struct sdp_conn *conn);
	bool (*settle)(struct sdp_conn *conn);
	void (*notice)(struct sdp_conn *conn);
	bool (*unproven)(struct sdp_conn *conn);
	u32 (*unsent)(const struct sdp_conn *conn);
	u32 (*progress)(const struct sdp_conn *conn);
	void (*probed)(struct sdp_conn *conn, u32 mseq);
};

extern const struct sdp_link_ops sdp_link_verbs, sdp_link_shared;

/* Received bytes in one piece. */
struct sdp_rx_run {
	struct page *page;
	u32 off;		/* in @page, which may be a compound one */
	u32 len;
};

/**
 * struct sdp_rxq_ops - the receive queue of one kind of link
 * @queue: take in the payload of a message, more than 0 bytes. NULL: it is there
 *	   already. Context: sdp->lock.
 * @find: set @run to the bytes from stream position @seq on, which the queue has, as
 *	  far as they are in one piece. Returns their number.
 * @copy: copy @len bytes from stream position @seq on, which the queue has,
 *	  to the user. Bytes copied, may be fewer; 0 is a fault.
 * @consume: drop bytes at the front, which the queue has
 * @purge: drop all
 * @orphan: the connection is about to be freed, the data stays
 * @own: the pages may not be given away: they are written again once consumed
 * @mappable: pages that a run fills hold nothing else, and nothing writes to them
 *	  while another reference exists: they may be mapped into a program
 *
 * Context: lock_sock, which keeps other readers away; @purge also when the
 * socket is no longer in use.
 */
struct sdp_rxq_ops {
	void (*queue)(struct sdp_sock *sdp, struct sdp_rx_ctx *c);
	u32 (*find)(struct sock *sk, u32 seq, struct sdp_rx_run *run);
	u32 (*copy)(struct sock *sk, u32 seq, u32 len, struct iov_iter *to);
	void (*consume)(struct sock *sk, u32 len);
	void (*purge)(struct sock *sk);
	void (*orphan)(struct sock *sk, struct sdp_conn *conn);
	bool own;
	bool mappable;
};

extern const struct sdp_rxq_ops sdp_rxq_verbs, sdp_rxq_shared, sdp_rxq_ring;

/* sdp_timer.c */
void sdp_timer_set_keepalive(struct sock *sk, int on);
bool sdp_timer_start_orphan(struct sock *sk);
bool sdp_timer_unwanted(const struct sock *sk);
void sdp_timer_work(struct work_struct *work);

/* sdp_inet.c */
int sdp_inet_init(struct proto *prot, const struct proto_ops *ops,
		  const struct proto_ops *ops6);
void sdp_inet_exit(void);
void sdp_inet_lock_class(struct sock *sk);

/* sdp_cm.c */
void sdp_cm_init(struct sock *(*child)(struct sock *listener));
int sdp_cm_bind(struct sock *sk, const union sdp_addr *addr);
int sdp_cm_connect(struct sock *sk, const union sdp_addr *dst, long *timeo);
void sdp_cm_stop_listen(struct sock *sk);
void sdp_cm_abort(struct sock *sk);
void sdp_cm_expired(struct sock *sk);
void sdp_cm_hold_work(struct work_struct *work);
void sdp_cm_unbind_work(struct work_struct *work);
void sdp_cm_accept_next(struct sock *sk);
unsigned long sdp_cm_make_room(struct sock *sk);

/* sdp_rxmap.c */
int sdp_rxmap_mmap(struct file *file, struct socket *sock,
		   struct vm_area_struct *vma);
int sdp_rxmap_getsockopt(struct socket *sock, char __user *optval,
			 int __user *optlen);
void sdp_rxmap_free(struct sdp_sock *sdp);

/* sdp_tx.c */
int sdp_sendmsg(struct socket *sock, struct msghdr *msg, size_t len);
void sdp_splice_eof(struct socket *sock);
ssize_t sdp_sendpage(struct socket *sock, struct page *page, int offset,
		     size_t size, int flags);
void sdp_tx_settle(struct sock *sk);
void sdp_write_space(struct sock *sk);
bool sdp_stream_memory_free(const struct sock *sk, int wake);

#define SDP_TX_OVER	2048	/* bytes a send may go over sk_sndbuf */
#define SDP_TX_CORK_TIME	(HZ / 5)	/* as TCP: no longer than this */

/* sdp_rx.c */
int sdp_recvmsg(struct socket *sock, struct msghdr *msg, size_t len,
		int flags);
ssize_t sdp_splice_read(struct socket *sock, loff_t *ppos,
			struct pipe_inode_info *pipe, size_t len,
			unsigned int flags);
void sdp_rx_purge(struct sock *sk);

/* sdp_sockopt.c */
int sdp_setsockopt(struct socket *sock, int level, int optname,
		   sockptr_t optval, unsigned int optlen);
int sdp_getsockopt(struct socket *sock, int level, int optname,
		   char __user *optval, int __user *optlen);
void sdp_sockopt_init(struct sock *sk);

/* sdp_info.c */
void sdp_info_fill(struct sock *sk, struct sdp_info *info);
const char *sdp_info_reason(enum sdp_reason why);
const char *sdp_info_fc_reason(const struct sdp_conn *conn);
u32 sdp_info_rx_reserved(const struct sock *sk);
u32 sdp_info_credits(const struct sock *sk);

/* sdp_errq.c */
bool sdp_errq_wanted(const struct sock *sk, struct msghdr *msg);
struct ubuf_info *sdp_errq_begin(struct sock *sk, struct msghdr *msg);
void sdp_errq_end(struct sock *sk, struct ubuf_info *uarg, int sent,
		  u64 direct);

/* sdp_sysctl.c; sdp_sysctl_init_net() sets the default values as well */
int sdp_sysctl_init_net(struct net *net);
bool sdp_sysctl_may_open(struct net *net);
void sdp_sysctl_exit_net(struct net *net);

/* sdp_inherit.c */
void sdp_inherit_sock(struct sock *sk, const struct sock *parent);
void sdp_inherit_child(struct sock *sk, const struct sock *parent);
int sdp_inherit_ip6_bit(int optname);
void sdp_inherit_ip6(const struct sock *sk, struct socket *tcp);

#endif /* _SDP_H */
