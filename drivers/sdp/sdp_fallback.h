/* SPDX-License-Identifier: GPL-2.0 */
/*
 * TCP beside SDP, see sdp_fallback.c.
 */
#ifndef _SDP_FALLBACK_H
#define _SDP_FALLBACK_H

#include "sdp_sock.h"

/* sdp_fallback.c */
int sdp_fallback_prepare(struct sock *sk);
int sdp_fallback_hold(struct sock *sk);
void sdp_fallback_let_go(struct sock *sk);
int sdp_fallback_turn(struct sock *sk, bool connect, int error);
bool sdp_fallback_recent(struct sock *sk, const union sdp_addr *dst);
const char *sdp_fallback_reason_name(const struct sock *sk);
bool sdp_fallback_instead(struct sock *sk, int error);
int sdp_fallback_listen(struct sock *sk, int backlog);
bool sdp_fallback_only(struct sock *sk, int error);
void sdp_fallback_stop(struct sock *sk);
bool sdp_fallback_waiting(const struct sock *sk);
int sdp_fallback_accept(struct sock *sk, struct socket *newsock);
void sdp_fallback_release(struct sock *sk, struct socket *sock);

/* The TCP socket, if the program's file is given to it; no lock. */
static inline struct socket *sdp_fallback_on(const struct sock *sk)
{
	/* pairs with sdp_fallback_take_over() */
	return smp_load_acquire(&sdp_sk(sk)->tcp_on) ? sdp_sk(sk)->tcp : NULL;
}

/*
 * As sdp_fallback_on(), for a call that has slept. @dis is sk_disconnects from
 * before it slept: returns NULL if the socket was disconnected since, as the call
 * must not continue on a new connection.
 */
static inline struct socket *sdp_fallback_goes_on(const struct sock *sk, int dis)
{
	return READ_ONCE(sk->sk_disconnects) == dis ? sdp_fallback_on(sk) : NULL;
}

#endif /* _SDP_FALLBACK_H */
