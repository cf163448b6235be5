// SPDX-License-Identifier: GPL-2.0
/*
 * Time from send() until all of it is acknowledged or complete, where net.sdp.tx_latency
 * asks for it: one send of a connection at a time, into a histogram of the namespace.
 * Calls sdp_mib.c and, by its operations, the link. As long as no namespace asks for it,
 * a send passes no more than a branch that is patched out.
 */
#include <linux/bitops.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <net/sock.h>

#include "sdp.h"
#include "sdp_latency.h"
#include "sdp_mib.h"

/*
 * The key is turned off one second late. Otherwise a namespace that toggles the sysctl
 * could keep all processors busy with code patching.
 */
DEFINE_STATIC_KEY_DEFERRED_FALSE(sdp_latency_key, HZ);

/* Place in the histogram: up to 16, 64, 256 us, 1, 4, 16, 64 ms, and more */
static unsigned int sdp_latency_place(u64 ns)
{
	u32 us = min_t(u64, div_u64(ns, NSEC_PER_USEC), U32_MAX);

	if (us <= 16)
		return 0;
	return min((fls(us - 1) - 3) / 2, SDP_MIB_TX_LATENCY_MORE - SDP_MIB_TX_LATENCY_16US);
}

static void sdp_latency_count(struct sdp_conn *conn, u64 begin)
{
	unsigned int place = sdp_latency_place(ktime_get_ns() - begin);
	struct sdp_net *sn = sdp_pernet(sock_net(conn->sk));

	this_cpu_inc(sn->mib->mibs[SDP_MIB_TX_LATENCY_16US + place]);
}

/* See sdp_latency_begin() */
u64 __sdp_latency_begin(struct sock *sk)
{
	const struct sdp_conn *conn = sdp_sk(sk)->conn;

	if (!READ_ONCE(sdp_pernet(sock_net(sk))->sysctl_tx_latency) ||
	    !conn || READ_ONCE(conn->timed.begin))
		return 0;
	return ktime_get_ns();
}

/* See sdp_latency_sent() */
void __sdp_latency_sent(struct sdp_conn *conn, u64 begin)
{
	struct sdp_sock *sdp = sdp_sk(conn->sk);
	u32 left;

	/* which of the two protects tx_queued depends on the link */
	spin_lock_bh(&conn->tx_lock);
	spin_lock(&sdp->lock);
	left = conn->tx_queued;
	conn->timed.left = left;
	WRITE_ONCE(conn->timed.begin, left ? begin : 0);
	spin_unlock(&sdp->lock);
	spin_unlock_bh(&conn->tx_lock);
	if (left)
		conn->link->notice(conn);
	else
		sdp_latency_count(conn, begin);
}

/* See sdp_latency_acked() */
void __sdp_latency_acked(struct sdp_conn *conn, s32 n)
{
	if (!conn->timed.begin)
		return;
	if (n < (s32)conn->timed.left) {
		conn->timed.left -= n;
		return;
	}
	sdp_latency_count(conn, conn->timed.begin);
	WRITE_ONCE(conn->timed.begin, 0);
}

/**
 * sdp_latency_set() - turn the measurement on or off for a namespace
 * @on: the present state; set to @value
 * @value: 0 or 1
 *
 * Context: process, sysctl_lock or no other user of the namespace.
 */
void sdp_latency_set(int *on, int value)
{
	if (value && !*on)
		static_branch_deferred_inc(&sdp_latency_key);
	else if (!value && *on)
		static_branch_slow_dec_deferred(&sdp_latency_key);
	WRITE_ONCE(*on, value);
}

/**
 * sdp_latency_exit() - wait until the static key is off
 *
 * Context: module exit, all namespaces are gone.
 */
void sdp_latency_exit(void)
{
	static_key_deferred_flush(&sdp_latency_key);
}
