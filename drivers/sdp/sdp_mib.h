/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SDP counters: one set per network namespace, per CPU. Leaf layer: it calls
 * nothing of SDP and may be used from every other file, in any context.
 *
 * The counters and their meaning are listed in uapi/linux/sdp_netlink.h: the
 * number of a counter is the number of its netlink attribute.
 */
#ifndef _SDP_MIB_H
#define _SDP_MIB_H

#include <linux/bitops.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/types.h>
#include <linux/sdp_netlink.h>

struct net;

/* 64 bits everywhere; on 32-bit machines a reader may see a torn value. */
struct sdp_mib {
	u64	mibs[__SDP_MIB_MAX];
};

/*
 * @net is the namespace of the socket, @id one of SDP_MIB_* without the prefix:
 * SDP_INC_STATS(sock_net(sk), TX_MSGS).
 */
#define SDP_ADD_STATS(net, id, n) \
	this_cpu_add(sdp_pernet(net)->mib->mibs[SDP_MIB_##id], (n))
#define SDP_INC_STATS(net, id)	SDP_ADD_STATS(net, id, 1)
#define SDP_DEC_STATS(net, id)	SDP_ADD_STATS(net, id, -1)

/*
 * The same. Context: bottom halves disabled, no hard interrupt. With PREEMPT_RT other
 * tasks run on the processor then, too.
 */
#ifdef CONFIG_PREEMPT_RT
#define __sdp_mib_add(count, n)	this_cpu_add(count, n)
#else
#define __sdp_mib_add(count, n)	__this_cpu_add(count, n)
#endif
#define __SDP_ADD_STATS(net, id, n) \
	__sdp_mib_add(sdp_pernet(net)->mib->mibs[SDP_MIB_##id], (n))
#define __SDP_INC_STATS(net, id)	__SDP_ADD_STATS(net, id, 1)

/* Place of a size in a histogram: up to 64, 256, 1K, 4K, 16K, 64K, and more */
static inline unsigned int sdp_mib_size(u32 len)
{
	int bits = fls(len - 1);

	return clamp((bits - 5) / 2, 0, SDP_MIB_TX_SENDS_MORE - SDP_MIB_TX_SENDS_64);
}

/* @id: the first one of the histogram */
#define SDP_INC_SIZE(net, id, len) \
	this_cpu_inc(sdp_pernet(net)->mib->mibs[SDP_MIB_##id + sdp_mib_size(len)])
#define __SDP_INC_SIZE(net, id, len) \
	__sdp_mib_add(sdp_pernet(net)->mib->mibs[SDP_MIB_##id + sdp_mib_size(len)], 1)

u64 sdp_mib_read(struct net *net, unsigned int id);

#endif /* _SDP_MIB_H */
