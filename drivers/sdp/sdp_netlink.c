// SPDX-License-Identifier: GPL-2.0
/*
 * Generic netlink family "sdp": hands out the counters of the caller's network
 * namespace, and notifies of the states of its sockets. Calls sdp_mib.c. Described in
 * Documentation/netlink/specs/sdp.yaml.
 */
#include <linux/module.h>
#include <linux/sdp_netlink.h>
#include <linux/sock_diag.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>

#include "compat.h"
#include "sdp.h"
#include "sdp_mib.h"
#include "sdp_netlink.h"
#include "sdp_sock.h"

/* One notification with all attributes */
#define SDP_NL_STATE_SIZE	(2 * nla_total_size(sizeof(struct sockaddr_in6)) + \
				 3 * nla_total_size(sizeof(u32)) + \
				 nla_total_size_64bit(sizeof(u64)) + \
				 nla_total_size(IB_DEVICE_NAME_MAX))

enum { SDP_NL_STATES };

static struct genl_family sdp_genl_family;

/* A request has no attributes; any attribute is refused. */
static const struct nla_policy sdp_nl_stats_policy[SDP_MIB_PAD + 1] = {
	[SDP_MIB_PAD]	= { .type = NLA_REJECT },
};

static int sdp_nl_put_stats(struct sk_buff *skb, struct net *net)
{
	unsigned int id;

	for (id = SDP_MIB_PAD + 1; id <= SDP_MIB_MAX; id++)
		if (nla_put_u64_64bit(skb, id, sdp_mib_read(net, id),
				      SDP_MIB_PAD))
			return -EMSGSIZE;
	return 0;
}

/* Reading counters needs no privilege, as with /proc/net/snmp. */
static int sdp_nl_stats_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	size_t size = SDP_MIB_MAX * nla_total_size_64bit(sizeof(u64));
	struct sk_buff *reply;
	void *hdr;

	reply = genlmsg_new(size, GFP_KERNEL);
	if (!reply)
		return -ENOMEM;

	hdr = genlmsg_put_reply(reply, info, &sdp_genl_family, 0,
				SDP_CMD_STATS_GET);
	if (!hdr || sdp_nl_put_stats(reply, genl_info_net(info))) {
		GENL_SET_ERR_MSG(info, "no room for the counters");
		nlmsg_free(reply);
		return -EMSGSIZE;
	}

	genlmsg_end(reply, hdr);
	return genlmsg_reply(reply, info);
}

/* ---- states ---- */

static int sdp_nl_put_addr(struct sk_buff *skb, int attr, const union sdp_addr *addr)
{
	switch (addr->sa.sa_family) {
	case AF_INET:
		return nla_put(skb, attr, sizeof(addr->v4), &addr->v4);
	case AF_INET6:
		return nla_put(skb, attr, sizeof(addr->v6), &addr->v6);
	default:
		return 0;
	}
}

static int sdp_nl_put_state(struct sk_buff *skb, struct sock *sk, int state)
{
	const struct sdp_sock *sdp = sdp_sk(sk);
	const struct sdp_conn *conn = sdp->conn;
	char device[IB_DEVICE_NAME_MAX];
	u32 cookie[2];

	sock_diag_save_cookie(sk, cookie);
	if (nla_put_u32(skb, SDP_STATE_OLD, sk->sk_state) ||
	    nla_put_u32(skb, SDP_STATE_NEW, state) ||
	    nla_put_u64_64bit(skb, SDP_STATE_COOKIE, (u64)cookie[1] << 32 | cookie[0],
			      SDP_STATE_PAD) ||
	    sdp_nl_put_addr(skb, SDP_STATE_LOCAL, &sdp->local) ||
	    sdp_nl_put_addr(skb, SDP_STATE_PEER, &sdp->peer) ||
	    nla_put_u32(skb, SDP_STATE_UID,
			from_kuid_munged(sock_net(sk)->user_ns, sk_uid(sk))))
		return -EMSGSIZE;
	if (!conn || !conn->dev)
		return 0;
	/* it may be renamed meanwhile */
	strscpy(device, conn->dev->name, sizeof(device));
	return nla_put_string(skb, SDP_STATE_DEVICE, device);
}

/**
 * sdp_netlink_state() - notify listeners that a socket changes its state
 * @sk: socket
 * @state: its new state, TCP_*
 *
 * Without memory no notification is sent.
 *
 * Context: sdp->lock.
 */
void sdp_netlink_state(struct sock *sk, int state)
{
	struct net *net = sock_net(sk);
	struct sk_buff *skb;
	void *hdr;

	lockdep_assert_held(&sdp_sk(sk)->lock);
	if (likely(!genl_has_listeners(&sdp_genl_family, net, SDP_NL_STATES)))
		return;
	skb = genlmsg_new(SDP_NL_STATE_SIZE, GFP_ATOMIC);
	if (!skb)
		return;
	hdr = genlmsg_put(skb, 0, 0, &sdp_genl_family, 0, SDP_CMD_STATE_NTF);
	if (!hdr || sdp_nl_put_state(skb, sk, state)) {
		nlmsg_free(skb);
		return;
	}
	genlmsg_end(skb, hdr);
	genlmsg_multicast_netns(&sdp_genl_family, net, skb, 0, SDP_NL_STATES,
				GFP_ATOMIC);
}

static const struct genl_multicast_group sdp_genl_groups[] = {
	[SDP_NL_STATES] = { .name = SDP_MCGRP_STATES },
};

static const struct genl_ops sdp_genl_ops[] = {
	{
		.cmd		= SDP_CMD_STATS_GET,
		.doit		= sdp_nl_stats_get_doit,
		.policy		= sdp_nl_stats_policy,
		.maxattr	= SDP_MIB_PAD,
	},
};

static struct genl_family sdp_genl_family __ro_after_init = {
	.name		= SDP_FAMILY_NAME,
	.version	= SDP_FAMILY_VERSION,
	.netnsok	= true,
	.parallel_ops	= true,
	.module		= THIS_MODULE,
	.ops		= sdp_genl_ops,
	.n_ops		= ARRAY_SIZE(sdp_genl_ops),
	.mcgrps		= sdp_genl_groups,
	.n_mcgrps	= ARRAY_SIZE(sdp_genl_groups),
	.resv_start_op	= SDP_CMD_MAX + 1,
};

/**
 * sdp_netlink_init() - register the family, with its counters and states
 *
 * Context: module init, after the pernet part is registered.
 * Return: 0 or a negative errno.
 */
int __init sdp_netlink_init(void)
{
	return genl_register_family(&sdp_genl_family);
}

/**
 * sdp_netlink_exit() - undo sdp_netlink_init()
 *
 * Context: module exit, before the pernet part goes. Waits for readers.
 */
void sdp_netlink_exit(void)
{
	genl_unregister_family(&sdp_genl_family);
}

MODULE_ALIAS_GENL_FAMILY(SDP_FAMILY_NAME);
