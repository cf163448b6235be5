// SPDX-License-Identifier: GPL-2.0
/*
 * Generic netlink family "sdp": hands out the counters of the caller's network
 * namespace. Calls sdp_mib.c. Described in Documentation/netlink/specs/sdp.yaml.
 */
#include <linux/module.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <linux/sdp_netlink.h>

#include "sdp.h"
#include "sdp_mib.h"

static struct genl_family sdp_genl_family;

/* A request has no attributes; any attribute is reported as unknown. */
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
	.resv_start_op	= SDP_CMD_MAX + 1,
};

/**
 * sdp_netlink_init() - make the counters readable
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
