// SPDX-License-Identifier: GPL-2.0
/*
 * BPF programs of control groups that look at bind(), connect() and names.
 *
 * They may call functions that take each stream socket of an Internet family for one of
 * TCP, as bpf_bind() does. So a program gets a TCP socket that lives as long as the call,
 * in the control group of the SDP socket, with its mark, priority and device. An address
 * that the program changes is used, a change to the socket is not. Of SDP it calls only
 * sdp_sock.c, to convert addresses.
 */
#include <linux/bpf-cgroup.h>
#include <linux/err.h>
#include <linux/net.h>
#include <net/inet_common.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <rdma/rdma_stack_sock.h>

#include "compat.h"
#include "sdp.h"
#include "sdp_cgroup.h"

/* Does any group have a program of this kind? The keys need a constant. */
#define SDP_CGROUP_ON(kind) \
	(cgroup_bpf_enabled(CGROUP_INET4_##kind) || \
	 cgroup_bpf_enabled(CGROUP_INET6_##kind))

#define SDP_CGROUP_TYPE(sk, kind) \
	(sdp_sk(sk)->v6 ? CGROUP_INET6_##kind : CGROUP_INET4_##kind)

static struct socket *sdp_cgroup_tcp(const struct sock *sk)
{
	struct socket *tcp;
	int err;

	err = sock_create_kern(sock_net(sk),
			       sdp_sk(sk)->v6 ? AF_INET6 : AF_INET,
			       SOCK_STREAM, IPPROTO_TCP, &tcp);
	if (err)
		return ERR_PTR(err);
	tcp->sk->sk_mark = READ_ONCE(sk->sk_mark);
	tcp->sk->sk_priority = READ_ONCE(sk->sk_priority);
	tcp->sk->sk_bound_dev_if = READ_ONCE(sk->sk_bound_dev_if);
	rdma_stack_sock_cgroup(tcp->sk, sk);
	return tcp;
}

static int sdp_cgroup_run(const struct sock *sk, struct sockaddr *sa, int len,
			  enum cgroup_bpf_attach_type type, u32 *flags)
{
	struct socket *tcp = sdp_cgroup_tcp(sk);
	int err;

	if (IS_ERR(tcp))
		return PTR_ERR(tcp);
	lock_sock(tcp->sk);
	err = __cgroup_bpf_run_filter_sock_addr(tcp->sk,
						(struct sockaddr_unsized *)sa,
						&len, type, NULL, flags);
	release_sock(tcp->sk);
	sock_release(tcp);
	return err;
}

/**
 * sdp_cgroup_bind - run the programs for bind()
 * @sk: socket
 * @sa: address of the family of the socket, which the programs may change
 * @len: its length, checked
 * @flags: BIND_NO_CAP_NET_BIND_SERVICE is added if a program wants it
 *
 * Context: process; the socket may be locked.
 *
 * Return: 0; a negative errno, -EPERM by default, if a program refuses; or the error of
 * making the TCP socket.
 */
int sdp_cgroup_bind(struct sock *sk, struct sockaddr *sa, int len, u32 *flags)
{
	u32 ret = 0;
	int err;

	if (!SDP_CGROUP_ON(BIND))
		return 0;
	err = sdp_cgroup_run(sk, sa, len, SDP_CGROUP_TYPE(sk, BIND), &ret);
	if (ret & BPF_RET_BIND_NO_CAP_NET_BIND_SERVICE)
		*flags |= BIND_NO_CAP_NET_BIND_SERVICE;
	return err;
}

/**
 * sdp_cgroup_post_bind - run the programs that look at a bound socket
 * @sk: socket, locked, with an address and a port
 *
 * Context: process.
 *
 * Return: 0; a negative errno if a program refuses; or the error of making the TCP socket.
 */
int sdp_cgroup_post_bind(struct sock *sk)
{
	const union sdp_addr *local = &sdp_sk(sk)->local;
	struct socket *tcp;
	struct sock *tsk;
	int err;

	sock_owned_by_me(sk);
	if (!SDP_CGROUP_ON(POST_BIND))
		return 0;
	tcp = sdp_cgroup_tcp(sk);
	if (IS_ERR(tcp))
		return PTR_ERR(tcp);
	tsk = tcp->sk;
	lock_sock(tsk);
	inet_sk(tsk)->inet_num = ntohs(local->v4.sin_port);
	if (local->sa.sa_family == AF_INET)
		inet_sk(tsk)->inet_rcv_saddr = local->v4.sin_addr.s_addr;
#if IS_ENABLED(CONFIG_IPV6)
	if (sdp_sk(sk)->v6)
		sdp_addr_to_v6(local, &tsk->sk_v6_rcv_saddr);
#endif
	err = sdp_sk(sk)->v6 ? BPF_CGROUP_RUN_PROG_INET6_POST_BIND(tsk) :
			       BPF_CGROUP_RUN_PROG_INET4_POST_BIND(tsk);
	/* it has no port of its own to give back */
	inet_sk(tsk)->inet_num = 0;
	release_sock(tsk);
	sock_release(tcp);
	return err;
}

/**
 * sdp_cgroup_connect - run the programs for connect()
 * @sk: socket
 * @sa: address of the family of the socket, which the programs may change
 * @len: its length, checked
 *
 * If TCP takes over, its own connect() runs them again, with the address that they
 * have chosen.
 *
 * Context: process; the socket may be locked.
 *
 * Return: as sdp_cgroup_bind().
 */
int sdp_cgroup_connect(struct sock *sk, struct sockaddr *sa, int len)
{
	if (!SDP_CGROUP_ON(CONNECT))
		return 0;
	return sdp_cgroup_run(sk, sa, len, SDP_CGROUP_TYPE(sk, CONNECT), NULL);
}

/**
 * sdp_cgroup_name - run the programs for getsockname() or getpeername()
 * @sk: socket
 * @sa: the name, which the programs may change
 * @len: its length
 * @peer: of the peer
 *
 * Context: process; the socket may be locked.
 */
void sdp_cgroup_name(struct sock *sk, struct sockaddr *sa, int len, bool peer)
{
	/* these programs cannot refuse; without memory the name is the socket's */
	if (peer && SDP_CGROUP_ON(GETPEERNAME))
		sdp_cgroup_run(sk, sa, len, SDP_CGROUP_TYPE(sk, GETPEERNAME),
			       NULL);
	else if (!peer && SDP_CGROUP_ON(GETSOCKNAME))
		sdp_cgroup_run(sk, sa, len, SDP_CGROUP_TYPE(sk, GETSOCKNAME),
			       NULL);
}
