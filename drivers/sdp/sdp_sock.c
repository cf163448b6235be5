// SPDX-License-Identifier: GPL-2.0
/*
 * The socket as an object: state, addresses, urgent mark, timer, the privilege for its
 * port. Used by all layers above; calls nothing of SDP but counters, tracepoints and
 * sdp_netlink.c.
 */
#include <linux/cred.h>
#include <linux/export.h>
#include <linux/ipv6.h>
#include <linux/user_namespace.h>
#include <linux/workqueue.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <rdma/rdma_stack_addr.h>

#include "sdp.h"
#include "sdp_mib.h"
#include "sdp_netlink.h"
#include "sdp_rx.h"
#include "sdp_trace.h"

/* ---- the tables of sockets ---- */

/*
 * The connections of a server may be thousands at one port. They must not slow down the
 * lookup of other ports, nor that of a socket with SO_REUSEADDR at the same port. So the
 * bucket has only one socket of each kind for a port. The kind tells whether they share
 * the port with any that has SO_REUSEADDR. As with TCP, it does not change with the
 * option while a socket is bound.
 */
static void sdp_bound_add(struct sdp_sock *sdp, struct sdp_bucket *bucket)
{
	struct sdp_sock *first;

	lockdep_assert_held(&bucket->lock);
	sdp->bind_shares = sdp->inet.sk.sk_reuse &&
			   sdp->inet.sk.sk_state != TCP_LISTEN;
	hlist_for_each_entry(first, &bucket->socks, bind_node) {
		if (first->inet.inet_num == sdp->inet.inet_num &&
		    first->bind_shares == sdp->bind_shares) {
			list_add_tail(&sdp->bind_same, &first->bind_same);
			return;
		}
	}
	hlist_add_head(&sdp->bind_node, &bucket->socks);
}

static void sdp_bound_del(struct sdp_sock *sdp, struct sdp_bucket *bucket)
{
	struct sdp_sock *next = list_next_entry(sdp, bind_same);

	lockdep_assert_held(&bucket->lock);
	list_del_init(&sdp->bind_same);
	if (hlist_unhashed(&sdp->bind_node))
		return;
	if (next != sdp)
		hlist_add_behind(&next->bind_node, &sdp->bind_node);
	hlist_del_init(&sdp->bind_node);
}

/* The bucket of a port in the table of bound sockets; NULL for port 0, which has none */
static struct sdp_bucket *sdp_bound_bucket(const struct sock *sk, u16 port)
{
	if (!port)
		return NULL;
	return &sdp_pernet(sock_net(sk))->bound[sdp_bind_bucket(port)];
}

/**
 * sdp_sock_hash - add a socket to the list of all
 * @sdp: new socket
 *
 * Context: process.
 */
void sdp_sock_hash(struct sdp_sock *sdp)
{
	struct sock *sk = &sdp->inet.sk;
	struct sdp_bucket *bucket;

	bucket = &sdp_pernet(sock_net(sk))->socks[sdp_sock_bucket(sk)];
	spin_lock_bh(&bucket->lock);
	hlist_add_head(&sdp->net_node, &bucket->socks);
	spin_unlock_bh(&bucket->lock);
}

/**
 * sdp_sock_unhash - take a socket off the list of all and that of bound ones
 * @sdp: socket without references
 *
 * Context: any but hard interrupts.
 */
void sdp_sock_unhash(struct sdp_sock *sdp)
{
	struct sock *sk = &sdp->inet.sk;
	struct sdp_bucket *bucket;

	bucket = &sdp_pernet(sock_net(sk))->socks[sdp_sock_bucket(sk)];
	spin_lock_bh(&bucket->lock);
	hlist_del(&sdp->net_node);
	spin_unlock_bh(&bucket->lock);
	bucket = sdp_bound_bucket(sk, sdp->inet.inet_num);
	if (!bucket)
		return;
	spin_lock_bh(&bucket->lock);
	sdp_bound_del(sdp, bucket);
	spin_unlock_bh(&bucket->lock);
}

/* ---- state and addresses ---- */

/* A listener does not share its port with sockets that bind later */
static void sdp_sock_now_listens(struct sock *sk)
{
	struct sdp_bucket *bucket;

	bucket = sdp_bound_bucket(sk, inet_sk(sk)->inet_num);
	if (!bucket)
		return;
	spin_lock(&bucket->lock);
	sdp_bound_del(sdp_sk(sk), bucket);
	sdp_bound_add(sdp_sk(sk), bucket);
	spin_unlock(&bucket->lock);
}

/**
 * sdp_sock_set_state - change sk_state
 * @sk: socket
 * @state: TCP_*
 *
 * Context: sdp->lock.
 */
void sdp_sock_set_state(struct sock *sk, int state)
{
	lockdep_assert_held(&sdp_sk(sk)->lock);
	if (sk->sk_state == state)
		return;
	trace_sdp_state(sk, sk->sk_state, state);
	sdp_netlink_state(sk, state);
	/* pairs with inet_sk_state_load() in poll */
	smp_store_release(&sk->sk_state, state);
	if (state == TCP_LISTEN)
		sdp_sock_now_listens(sk);
}

/**
 * sdp_sock_set_closed - sk_state becomes TCP_CLOSE
 * @sk: socket
 *
 * Context: any; takes sdp->lock.
 */
void sdp_sock_set_closed(struct sock *sk)
{
	spin_lock_bh(&sdp_sk(sk)->lock);
	sdp_sock_set_state(sk, TCP_CLOSE);
	spin_unlock_bh(&sdp_sk(sk)->lock);
}

/**
 * sdp_addr_copy - copy an address; IPv4-mapped ones become IPv4
 * @to: where to
 * @sa: AF_INET or AF_INET6
 *
 * Context: any.
 */
void sdp_addr_copy(union sdp_addr *to, const struct sockaddr *sa)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)sa;

	memset(to, 0, sizeof(*to));
	if (sa->sa_family == AF_INET6 && ipv6_addr_v4mapped(&v6->sin6_addr)) {
		to->v4.sin_family = AF_INET;
		to->v4.sin_port = v6->sin6_port;
		to->v4.sin_addr.s_addr = v6->sin6_addr.s6_addr32[3];
	} else if (sa->sa_family == AF_INET6) {
		to->v6 = *v6;
		to->v6.sin6_flowinfo = 0;
	} else {
		to->v4.sin_family = AF_INET;
		to->v4.sin_port = ((const struct sockaddr_in *)sa)->sin_port;
		to->v4.sin_addr = ((const struct sockaddr_in *)sa)->sin_addr;
	}
}

/**
 * sdp_addr_to_v6 - an address as IPv6, the wildcard included
 * @a: address
 * @v6: filled in
 *
 * Context: any.
 */
void sdp_addr_to_v6(const union sdp_addr *a, struct in6_addr *v6)
{
	if (a->sa.sa_family == AF_INET6)
		*v6 = a->v6.sin6_addr;
	else if (a->v4.sin_addr.s_addr)
		ipv6_addr_set_v4mapped(a->v4.sin_addr.s_addr, v6);
	else
		*v6 = in6addr_any;
}

/**
 * sdp_addr_any - is it the wildcard address?
 * @a: address
 *
 * Context: any.
 */
bool sdp_addr_any(const union sdp_addr *a)
{
	if (a->sa.sa_family == AF_INET)
		return !a->v4.sin_addr.s_addr;
	return ipv6_addr_any(&a->v6.sin6_addr);
}

/**
 * sdp_addr_loopback - is it a loopback address?
 * @addr: address
 *
 * rdma_cm treats a loopback address as the wildcard, see rdma_stack_flip().
 *
 * Context: any.
 */
bool sdp_addr_loopback(const union sdp_addr *addr)
{
	return rdma_stack_loopback(&addr->sa);
}

/**
 * sdp_addr_of_cm - an address as rdma_cm has it
 * @addr: address of a cm_id
 * @a: filled in; with the loopback address if @addr is the alias of one
 */
void sdp_addr_of_cm(const struct sockaddr_storage *addr, union sdp_addr *a)
{
	memcpy(a, addr, sizeof(*a));
	rdma_stack_flip(&a->sa);
	if (!sdp_addr_loopback(a))
		rdma_stack_flip(&a->sa);
}

static void sdp_sock_copy_local(struct sdp_sock *sdp, const struct sockaddr *sa)
{
	sdp_addr_copy(&sdp->local, sa);
	sdp->inet.inet_sport = sdp->local.v4.sin_port;
	WRITE_ONCE(sdp->inet.inet_num, ntohs(sdp->inet.inet_sport));
}

/* Set the own address. If the port stays, a search of its bucket finds the socket at any time. */
static void sdp_bound_move(struct sdp_sock *sdp, const struct sockaddr *sa)
{
	u16 port = ntohs(((const struct sockaddr_in *)sa)->sin_port);
	struct sdp_bucket *from, *to;

	from = sdp_bound_bucket(&sdp->inet.sk, sdp->inet.inet_num);
	to = sdp_bound_bucket(&sdp->inet.sk, port);
	if (from && from != to) {
		spin_lock(&from->lock);
		sdp_bound_del(sdp, from);
		spin_unlock(&from->lock);
	}
	if (!to) {
		sdp_sock_copy_local(sdp, sa);
		return;
	}
	spin_lock(&to->lock);
	sdp_bound_del(sdp, to);
	sdp_sock_copy_local(sdp, sa);
	sdp_bound_add(sdp, to);
	spin_unlock(&to->lock);
}

/**
 * sdp_sock_set_local - set the own address, also where generic code looks for it
 * @sk: socket
 * @sa: address
 *
 * Context: sdp->lock.
 */
void sdp_sock_set_local(struct sock *sk, const struct sockaddr *sa)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	struct inet_sock *inet = inet_sk(sk);

	lockdep_assert_held(&sdp->lock);
	sdp_bound_move(sdp, sa);
	if (sdp->local.sa.sa_family == AF_INET) {
		inet->inet_saddr = sdp->local.v4.sin_addr.s_addr;
		inet->inet_rcv_saddr = inet->inet_saddr;
	}
#if IS_ENABLED(CONFIG_IPV6)
	sdp_addr_to_v6(&sdp->local, &sk->sk_v6_rcv_saddr);
	sdp->inet6.saddr = sk->sk_v6_rcv_saddr;
#endif
}

/**
 * sdp_sock_set_peer - set the address of the other side
 * @sk: socket
 * @sa: address
 *
 * Context: sdp->lock.
 */
void sdp_sock_set_peer(struct sock *sk, const struct sockaddr *sa)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	struct inet_sock *inet = inet_sk(sk);

	sdp_addr_copy(&sdp->peer, sa);
	inet->inet_dport = sdp->peer.v4.sin_port;
	if (sdp->peer.sa.sa_family == AF_INET)
		inet->inet_daddr = sdp->peer.v4.sin_addr.s_addr;
#if IS_ENABLED(CONFIG_IPV6)
	sdp_addr_to_v6(&sdp->peer, &sk->sk_v6_daddr);
#endif
}

/**
 * sdp_sock_clear_local - reset the own address to the wildcard, without a port
 * @sk: socket
 *
 * Context: lock_sock; takes sdp->lock.
 */
void sdp_sock_clear_local(struct sock *sk)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	struct sdp_sock *sdp = sdp_sk(sk);

	spin_lock_bh(&sdp->lock);
	sdp_sock_set_local(sk, (struct sockaddr *)&any);
	spin_unlock_bh(&sdp->lock);
}

/**
 * sdp_sock_device_name - RDMA device of a connection
 * @sk: socket, locked
 *
 * Return: its name, which may change meanwhile, or "".
 */
const char *sdp_sock_device_name(const struct sock *sk)
{
	const struct sdp_conn *conn = sdp_sk(sk)->conn;

	/* dev_name() is freed when the device is renamed */
	return conn && conn->dev ? conn->dev->name : "";
}
EXPORT_SYMBOL_GPL(sdp_sock_device_name);

/* ---- receive queue ---- */

/**
 * sdp_sock_read_seq - where in the stream the reader stands
 * @sdp: socket
 *
 * That is copied_seq, or the end of the urgent bytes from there on that are not to be
 * read any more.
 *
 * Context: any; the answer may be stale at once without sdp->lock.
 */
u32 sdp_sock_read_seq(const struct sdp_sock *sdp)
{
	u32 seq = READ_ONCE(sdp->copied_seq), to;

	if (likely(!READ_ONCE(sdp->urg_skips)))
		return seq;
	to = READ_ONCE(sdp->urg_skip_to);
	return sdp_seq_after(to, seq) ? to : seq;
}

/**
 * sdp_sock_urg_skip - another urgent byte comes: skip the one that the reader stands at
 * @sdp: socket
 *
 * As in TCP, it leaves the stream, whether MSG_OOB has read it or not. A reader may be at
 * work on the queue, and is the only one that removes bytes: it skips this one, at the
 * latest with its next call.
 *
 * Context: sdp->lock.
 */
void sdp_sock_urg_skip(struct sdp_sock *sdp)
{
	lockdep_assert_held(&sdp->lock);
	if (sdp->urg_state < SDP_URG_VALID ||
	    sock_flag(&sdp->inet.sk, SOCK_URGINLINE) ||
	    sdp->urg_seq != sdp_sock_read_seq(sdp))
		return;
	WRITE_ONCE(sdp->urg_skip_to, sdp->urg_seq + 1);
	WRITE_ONCE(sdp->urg_skips, true);
}

/**
 * sdp_sock_read_all - the receive queue was purged: all of it counts as read
 * @sdp: socket
 *
 * Context: sdp->lock.
 */
void sdp_sock_read_all(struct sdp_sock *sdp)
{
	lockdep_assert_held(&sdp->lock);
	WRITE_ONCE(sdp->copied_seq, sdp->rx_seq);
	WRITE_ONCE(sdp->urg_state, SDP_URG_NONE);
	sdp->urg_skips = false;
}

/**
 * sdp_sock_oob_pres - the last byte of a message is urgent
 * @sdp: socket
 * @c: the message
 * @seq: sequence number of that byte
 * @byte: that byte
 *
 * Before rx_seq covers the byte: a reader that finds the byte must find the mark as well,
 * or it would read past it.
 *
 * An urgent byte that was there before stays in the stream as an ordinary byte, even if
 * MSG_OOB has read it, unless the reader stands at it.
 *
 * Context: sdp->lock.
 */
void sdp_sock_oob_pres(struct sdp_sock *sdp, struct sdp_rx_ctx *c, u32 seq,
		       u8 byte)
{
	lockdep_assert_held(&sdp->lock);
	if (!(c->m.h.flags & SDP_OOB_PEND) &&
	    sdp->urg_state != SDP_URG_NOTYET)
		c->urgent = true;
	sdp_sock_urg_skip(sdp);
	WRITE_ONCE(sdp->urg_seq, seq);
	sdp->urg_byte = byte;
	WRITE_ONCE(sdp->urg_state, SDP_URG_VALID);
	SDP_INC_STATS(sock_net(c->sk), RX_OOB);
}

/**
 * sdp_sock_readable - bytes that recv would return now
 * @sk: socket
 *
 * Unless SO_OOBINLINE is set, the count ends at the urgent mark. At the mark it leaves
 * out the urgent byte.
 *
 * Context: any; the answer may be stale at once.
 */
int sdp_sock_readable(const struct sock *sk)
{
	const struct sdp_sock *sdp = sdp_sk(sk);
	u32 copied = sdp_sock_read_seq(sdp);
	/* pairs with the release in the queueing code: the mark has been set */
	u32 n = smp_load_acquire(&sdp->rx_seq) - copied;
	u8 urg = READ_ONCE(sdp->urg_state);
	u32 seq = READ_ONCE(sdp->urg_seq);

	if (!sock_flag(sk, SOCK_URGINLINE) && urg >= SDP_URG_VALID &&
	    n && sdp_seq_after(seq, copied))
		n = min(n, seq - copied);
	else if (!sock_flag(sk, SOCK_URGINLINE) && urg >= SDP_URG_VALID && n)
		n--;
	return n;
}
EXPORT_SYMBOL_GPL(sdp_sock_readable);

/**
 * sdp_sock_at_mark - whether the next byte to read is the urgent one
 * @sk: socket
 *
 * Context: any; the answer may be stale at once.
 */
bool sdp_sock_at_mark(const struct sock *sk)
{
	const struct sdp_sock *sdp = sdp_sk(sk);

	return READ_ONCE(sdp->urg_state) >= SDP_URG_VALID &&
	       READ_ONCE(sdp->urg_seq) == sdp_sock_read_seq(sdp);
}

/* ---- timer ---- */

/**
 * sdp_sock_start_timer - have the timer run after some time
 * @sk: socket
 * @delay: jiffies
 *
 * While it is pending it holds a reference of the socket, which sdp_timer_work() or
 * sdp_sock_stop_timer() puts.
 *
 * Context: any.
 */
void sdp_sock_start_timer(struct sock *sk, unsigned long delay)
{
	sock_hold(sk);
	if (mod_delayed_work(sdp_wq(sk), &sdp_sk(sk)->timer_work, delay))
		sock_put(sk);
}

/**
 * sdp_sock_stop_timer - cancel the timer
 * @sk: socket; the caller has another reference
 *
 * Context: any. On return the timer may still be running.
 */
void sdp_sock_stop_timer(struct sock *sk)
{
	if (cancel_delayed_work(&sdp_sk(sk)->timer_work))
		sock_put(sk);
}

/**
 * sdp_sock_start_deadline - have the timer end the present operation of a socket
 * @sk: socket, locked; in connect(), or an orphan
 * @delay: jiffies
 *
 * A run that was due before, for another reason, does nothing.
 */
void sdp_sock_start_deadline(struct sock *sk, unsigned long delay)
{
	sock_owned_by_me(sk);
	sdp_sk(sk)->deadline = jiffies + delay;
	sdp_sock_start_timer(sk, delay);
}

/* ---- options ---- */

/**
 * sdp_sock_user_limit - TCP_USER_TIMEOUT
 * @sk: socket
 *
 * Context: any; may be stale at once.
 *
 * Return: jiffies; 0: none.
 */
unsigned long sdp_sock_user_limit(const struct sock *sk)
{
	return msecs_to_jiffies(READ_ONCE(sdp_sk(sk)->user_timeout));
}

/**
 * sdp_sock_zcopy_threshold - bytes from which zero copy is tried
 * @sk: socket
 *
 * Context: any; may be stale at once.
 *
 * Return: bytes, 0 for never.
 */
u32 sdp_sock_zcopy_threshold(const struct sock *sk)
{
	u32 n = READ_ONCE(sdp_sk(sk)->zcopy_threshold);

	return n ? max_t(u32, n, SDP_ZC_MIN) : 0;
}
EXPORT_SYMBOL_GPL(sdp_sock_zcopy_threshold);

/* ---- privileged ports ---- */

static bool sdp_sock_port_privileged(struct net *net, __be16 port)
{
	u16 num = ntohs(port);

	/* rdma_cm does not know net.ipv4.ip_unprivileged_port_start */
	return num && (num < PROT_SOCK ||
		       inet_port_requires_bind_service(net, num));
}

/**
 * sdp_sock_port_cred - credentials of the caller for a port that is the socket's already
 * @sk: SDP socket
 * @port: port of the program that bind() has checked, or that the kernel chose; or 0
 *
 * rdma_cm, devices and TCP check the privilege when they get the port. That may be after
 * bind(), and the program may have given up the privilege by then. rdma_cm wants it in the
 * first user namespace. The rest of the credentials is the caller's, for BPF programs and
 * the owner of a new socket. Capabilities of another user namespace would count in the
 * first one, so they are left out.
 *
 * Context: process.
 *
 * Return: credentials, with a reference. Without memory they lack the privilege.
 */
const struct cred *sdp_sock_port_cred(const struct sock *sk, __be16 port)
{
	struct cred *new;

	if (!sdp_sock_port_privileged(sock_net(sk), port))
		return get_current_cred();
	new = prepare_creds();
	if (!new)
		return get_current_cred();
	if (new->user_ns != &init_user_ns) {
		put_user_ns(new->user_ns);
		new->user_ns = get_user_ns(&init_user_ns);
		cap_clear(new->cap_effective);
	}
	cap_raise(new->cap_effective, CAP_NET_BIND_SERVICE);
	return new;
}

/**
 * sdp_sock_use_port - begin to use sdp_sock_port_cred(), for one call
 * @sk: SDP socket
 * @port: as there
 *
 * Context: process.
 *
 * Return: the former credentials, for sdp_sock_used_port().
 */
const struct cred *sdp_sock_use_port(const struct sock *sk, __be16 port)
{
	return override_creds(sdp_sock_port_cred(sk, port));
}

/**
 * sdp_sock_used_port - restore the former credentials
 * @old: result of sdp_sock_use_port()
 */
void sdp_sock_used_port(const struct cred *old)
{
	const struct cred *used = current_cred();

	revert_creds(old);
	put_cred(used);
}
