// SPDX-License-Identifier: GPL-2.0
/*
 * SDP counters: allocation and reading. Leaf layer, see sdp_mib.h.
 */
#include <linux/percpu.h>
#include <net/net_namespace.h>

#include "sdp.h"
#include "sdp_mib.h"

unsigned int sdp_net_id __read_mostly;
EXPORT_SYMBOL_GPL(sdp_net_id);

/**
 * sdp_mib_init_net() - allocate the counters of a namespace, all zero
 * @net: new network namespace
 *
 * Context: pernet init, may sleep.
 * Return: 0 or -ENOMEM.
 */
int __net_init sdp_mib_init_net(struct net *net)
{
	struct sdp_net *sn = sdp_pernet(net);

	sn->mib = alloc_percpu(struct sdp_mib);
	return sn->mib ? 0 : -ENOMEM;
}

/**
 * sdp_mib_exit_net() - free the counters of a namespace
 * @net: network namespace that goes away; no SDP socket is left in it
 *
 * Context: pernet exit.
 */
void __net_exit sdp_mib_exit_net(struct net *net)
{
	free_percpu(sdp_pernet(net)->mib);
}

/**
 * sdp_mib_read() - read one counter
 * @net: network namespace
 * @id: one of SDP_MIB_*
 *
 * Context: any. The sum over the CPUs is no snapshot.
 * Return: the counter; 0 for an unknown @id.
 */
u64 sdp_mib_read(struct net *net, unsigned int id)
{
	struct sdp_net *sn = sdp_pernet(net);
	u64 sum = 0;
	int cpu;

	if (id >= ARRAY_SIZE(sn->mib->mibs))
		return 0;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(sn->mib, cpu)->mibs[id]);
	return sum;
}
