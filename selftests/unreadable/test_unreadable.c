// SPDX-License-Identifier: GPL-2.0
/*
 * test_unreadable.ko: marks packets as if a NIC had put their payload into the memory of a
 * device.
 *
 *	modprobe test_unreadable port=PORT
 *
 * After 1 was written to /sys/module/test_unreadable/parameters/on, received packets of TCP
 * over IPv4 to that port are marked if they have fragments. "marked" counts them. The payload
 * stays where it is, so code that ignores the mark can read it.
 */
#include <linux/ip.h>
#include <linux/module.h>
#include <linux/netfilter_ipv4.h>
#include <linux/tcp.h>
#include <net/ip.h>
#include <net/net_namespace.h>

static ushort port;
module_param(port, ushort, 0444);
MODULE_PARM_DESC(port, "where packets are marked");

static bool on;
module_param(on, bool, 0644);
MODULE_PARM_DESC(on, "mark packets");

static uint marked;
module_param(marked, uint, 0444);
MODULE_PARM_DESC(marked, "packets marked so far");

static unsigned int unreadable_hook(void *priv, struct sk_buff *skb,
				    const struct nf_hook_state *state)
{
	const struct iphdr *ip = ip_hdr(skb);
	const struct tcphdr *tcp;
	struct tcphdr copy;

	if (!READ_ONCE(on) || !skb_is_nonlinear(skb) || ip->protocol != IPPROTO_TCP)
		return NF_ACCEPT;
	tcp = skb_header_pointer(skb, ip_hdrlen(skb), sizeof(copy), &copy);
	if (!tcp || ntohs(tcp->dest) != port)
		return NF_ACCEPT;
	skb->unreadable = true;
	WRITE_ONCE(marked, marked + 1);
	return NF_ACCEPT;
}

static const struct nf_hook_ops unreadable_ops = {
	.hook		= unreadable_hook,
	.pf		= NFPROTO_IPV4,
	.hooknum	= NF_INET_LOCAL_IN,
	.priority	= INT_MAX,
};

static int __net_init unreadable_init_net(struct net *net)
{
	return nf_register_net_hook(net, &unreadable_ops);
}

static void __net_exit unreadable_exit_net(struct net *net)
{
	nf_unregister_net_hook(net, &unreadable_ops);
}

static struct pernet_operations unreadable_net_ops = {
	.init	= unreadable_init_net,
	.exit	= unreadable_exit_net,
};

static int __init unreadable_init(void)
{
	return register_pernet_subsys(&unreadable_net_ops);
}

static void __exit unreadable_exit(void)
{
	unregister_pernet_subsys(&unreadable_net_ops);
}

module_init(unreadable_init);
module_exit(unreadable_exit);
MODULE_DESCRIPTION("Packets that cannot be read");
MODULE_LICENSE("GPL");
