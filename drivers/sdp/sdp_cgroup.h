/* SPDX-License-Identifier: GPL-2.0 */
/*
 * BPF programs of control groups, see sdp_cgroup.c.
 */
#ifndef _SDP_CGROUP_H
#define _SDP_CGROUP_H

#include <linux/types.h>

struct sock;
struct sockaddr;

#ifdef CONFIG_CGROUP_BPF
int sdp_cgroup_bind(struct sock *sk, struct sockaddr *sa, int len, u32 *flags);
int sdp_cgroup_post_bind(struct sock *sk);
int sdp_cgroup_connect(struct sock *sk, struct sockaddr *sa, int len);
void sdp_cgroup_name(struct sock *sk, struct sockaddr *sa, int len, bool peer);
#else
static inline int sdp_cgroup_bind(struct sock *sk, struct sockaddr *sa,
				  int len, u32 *flags)
{
	return 0;
}

static inline int sdp_cgroup_post_bind(struct sock *sk)
{
	return 0;
}

static inline int sdp_cgroup_connect(struct sock *sk, struct sockaddr *sa,
				     int len)
{
	return 0;
}

static inline void sdp_cgroup_name(struct sock *sk, struct sockaddr *sa,
				   int len, bool peer)
{
}
#endif

#endif /* _SDP_CGROUP_H */
