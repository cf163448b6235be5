// SPDX-License-Identifier: GPL-2.0
/*
 * SDP tunables: the files below /proc/sys/net/sdp, one set for each network
 * namespace. Calls only the sysctl core.
 */
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "compat.h"
#include "sdp.h"
#include "sdp_sysctl.h"

static int recv_size_min = SDP_RECV_SIZE_MIN;
static int recv_size_max = SDP_RECV_SIZE_MAX;
static int recv_buffers_min = SDP_RECV_BUFS_MIN;
static int recv_buffers_max = SDP_RECV_BUFS_MAX;
static int wmem_min = SOCK_MIN_SNDBUF;
static int rmem_min = SOCK_MIN_RCVBUF;
static int mem_max = INT_MAX / 2;
static int timeout_max = SDP_TIMEOUT_MAX;
static int keepalive_max = SDP_KEEPALIVE_MAX;
static int keepcnt_max = SDP_KEEPCNT_MAX;

#define SDP_SYSCTL(name, min, max) {					\
	.procname	= #name,					\
	.data		= (void *)offsetof(struct sdp_tunables, name),	\
	.maxlen		= sizeof(int),					\
	.mode		= 0644,						\
	.proc_handler	= proc_dointvec_minmax,				\
	.extra1		= (min),					\
	.extra2		= (max),					\
}

/* .data is an offset here; a namespace's copy of the table has the address. */
static const struct ctl_table sdp_sysctl_table[] = {
	SDP_SYSCTL(wmem, &wmem_min, &mem_max),
	SDP_SYSCTL(rmem, &rmem_min, &mem_max),
	SDP_SYSCTL(recv_size, &recv_size_min, &recv_size_max),
	SDP_SYSCTL(recv_buffers, &recv_buffers_min, &recv_buffers_max),
	SDP_SYSCTL(connect_timeout, SYSCTL_ONE, &timeout_max),
	SDP_SYSCTL(fin_timeout, SYSCTL_ONE, &timeout_max),
	SDP_SYSCTL(keepalive_time, SYSCTL_ONE, &keepalive_max),
	SDP_SYSCTL(keepalive_intvl, SYSCTL_ONE, &keepalive_max),
	SDP_SYSCTL(keepalive_probes, SYSCTL_ONE, &keepcnt_max),
};

static const struct sdp_tunables sdp_tunables_default = {
	.wmem			= SDP_WMEM_DEF,
	.rmem			= SDP_RMEM_DEF,
	.recv_size		= SDP_RECV_SIZE_DEF,
	.recv_buffers		= SDP_RECV_BUFS_DEF,
	.connect_timeout	= SDP_CONNECT_TIMEOUT_DEF,
	.fin_timeout		= SDP_FIN_TIMEOUT_DEF,
	.keepalive_time		= SDP_KEEPIDLE_DEF,
	.keepalive_intvl	= SDP_KEEPINTVL_DEF,
	.keepalive_probes	= SDP_KEEPCNT_DEF,
};

/**
 * sdp_sysctl_net_init() - create net.sdp.* with the default values
 * @net: new network namespace
 *
 * Context: pernet init, may sleep.
 * Return: 0 or -ENOMEM.
 */
int __net_init sdp_sysctl_net_init(struct net *net)
{
	struct sdp_net *sn = sdp_pernet(net);
	struct ctl_table *table;
	size_t i;

	sn->sysctl = sdp_tunables_default;

	/* Zeroed, with one entry more: older kernels look for an empty one. */
	table = kcalloc(ARRAY_SIZE(sdp_sysctl_table) + 1, sizeof(*table),
			GFP_KERNEL);
	if (!table)
		return -ENOMEM;

	memcpy(table, sdp_sysctl_table, sizeof(sdp_sysctl_table));
	for (i = 0; i < ARRAY_SIZE(sdp_sysctl_table); i++)
		table[i].data = (void *)&sn->sysctl + (size_t)table[i].data;

	sn->sysctl_table = table;
	sn->sysctl_hdr = register_net_sysctl_sz(net, "net/sdp", table,
						ARRAY_SIZE(sdp_sysctl_table));
	if (!sn->sysctl_hdr) {
		kfree(table);
		return -ENOMEM;
	}
	return 0;
}

/**
 * sdp_sysctl_net_exit() - remove net.sdp.* of a namespace
 * @net: network namespace that goes away
 *
 * Context: pernet exit, may sleep: waits for readers and writers.
 */
void __net_exit sdp_sysctl_net_exit(struct net *net)
{
	struct sdp_net *sn = sdp_pernet(net);

	unregister_net_sysctl_table(sn->sysctl_hdr);
	kfree(sn->sysctl_table);
}
