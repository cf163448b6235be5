// SPDX-License-Identifier: GPL-2.0
/*
 * Generic netlink family "rdma_stack": reports where each component is, and
 * when that changes. Calls stack_dev.c. Described in
 * Documentation/netlink/specs/rdma_stack.yaml.
 *
 * Reading needs no privilege; a network namespace gets the devices that it sees.
 *
 * Context of all: process, may sleep. Requests run in parallel (parallel_ops):
 * references to the device and the queue pair protect them.
 */
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/rdma_stack_netlink.h>
#include <linux/rtnetlink.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>

#include "stack.h"

#define STACK_NL_CHANGES	0	/* index of the multicast group */

static struct genl_family stack_family;

static const struct nla_policy stack_nl_policy[RDMA_STACK_A_QPN + 1] = {
	[RDMA_STACK_A_DEV_INDEX] = { .type = NLA_U32 },
	[RDMA_STACK_A_DEV_NAME] = { .type = NLA_NUL_STRING,
				    .len = IB_DEVICE_NAME_MAX - 1 },
	[RDMA_STACK_A_QPN] = { .type = NLA_U32 },
};

/* The values in a message are those of the kernel */
static u32 stack_nl_place(u8 place)
{
	BUILD_BUG_ON((int)RDMA_STACK_PLACE_NIC != (int)RDMA_STACK_NIC);
	BUILD_BUG_ON((int)RDMA_STACK_PLACE_HOST != (int)RDMA_STACK_HOST);
	BUILD_BUG_ON((int)RDMA_STACK_PLACE_ABSENT != (int)RDMA_STACK_ABSENT);
	return place;
}

static u32 stack_nl_source(enum stack_source source)
{
	BUILD_BUG_ON((int)RDMA_STACK_SOURCE_PROVIDER !=
		     (int)STACK_SOURCE_PROVIDER);
	BUILD_BUG_ON((int)RDMA_STACK_SOURCE_DRIVER !=
		     (int)STACK_SOURCE_DRIVER);
	return source;
}

static int stack_nl_put_comps(struct sk_buff *skb,
			      const struct rdma_stack_map *map)
{
	struct nlattr *nest;
	int i;

	for (i = 0; i < RDMA_STACK_COMPS; i++) {
		nest = nla_nest_start(skb, RDMA_STACK_A_COMPONENT);
		if (!nest ||
		    nla_put_string(skb, RDMA_STACK_A_COMPONENT_NAME,
				   rdma_stack_comp_name(i)) ||
		    nla_put_u32(skb, RDMA_STACK_A_COMPONENT_PLACE,
				stack_nl_place(map->place[i])))
			return -EMSGSIZE;
		nla_nest_end(skb, nest);
	}
	return 0;
}

/*
 * The name of a device that may be renamed meanwhile. A rename frees the string of
 * dev_name(), while this array stays. If the copy mixes old and new name, the notification of
 * RENAMED follows and corrects it.
 */
static const char *stack_nl_name(const struct ib_device *dev, char *buf)
{
	strscpy(buf, dev->name, IB_DEVICE_NAME_MAX);
	return buf;
}

static int stack_nl_put_dev(struct sk_buff *skb, struct ib_device *dev)
{
	char name[IB_DEVICE_NAME_MAX];

	if (nla_put_u32(skb, RDMA_STACK_A_DEV_INDEX, dev->index) ||
	    nla_put_string(skb, RDMA_STACK_A_DEV_NAME,
			   stack_nl_name(dev, name)))
		return -EMSGSIZE;
	return 0;
}

static int stack_nl_put_map(struct sk_buff *skb, struct ib_device *dev,
			    struct ib_qp *qp)
{
	struct rdma_stack_map map;
	int err;

	err = rdma_stack_query(dev, qp, &map);
	if (qp && nla_put_u32(skb, RDMA_STACK_A_QPN, qp->qp_num))
		return -EMSGSIZE;
	if (dev->ops.owner &&
	    nla_put_string(skb, RDMA_STACK_A_DRIVER,
			   module_name(dev->ops.owner)))
		return -EMSGSIZE;
	if (nla_put_u32(skb, RDMA_STACK_A_SOURCE,
			stack_nl_source(stack_source(err, &map))))
		return -EMSGSIZE;
	if (map.link && nla_put_flag(skb, RDMA_STACK_A_SHARED_LINK))
		return -EMSGSIZE;
	return stack_nl_put_comps(skb, &map);
}

/*
 * @hdr: message just begun, NULL if it found no room; completed, or cancelled if there is
 * no room for the rest
 */
static int stack_nl_fill(struct sk_buff *skb, void *hdr, struct ib_device *dev,
			 struct ib_qp *qp)
{
	if (!hdr)
		return -EMSGSIZE;
	if (stack_nl_put_dev(skb, dev) || stack_nl_put_map(skb, dev, qp)) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return 0;
}

/* -------------------------------------------------------------------- requests */

static struct ib_device *stack_nl_find_name(const struct net *net,
					    const struct nlattr *name)
{
	char buf[IB_DEVICE_NAME_MAX];
	unsigned long index = 0;
	struct ib_device *dev;

	while ((dev = stack_dev_next(net, &index))) {
		if (!nla_strcmp(name, stack_nl_name(dev, buf)))
			return dev;
		ib_device_put(dev);
		index++;
	}
	return NULL;
}

static struct ib_device *stack_nl_find(struct genl_info *info)
{
	struct nlattr *index = info->attrs[RDMA_STACK_A_DEV_INDEX];
	struct nlattr *name = info->attrs[RDMA_STACK_A_DEV_NAME];
	struct ib_device *dev;

	if (!index == !name) {
		GENL_SET_ERR_MSG(info, "either index or name of a device is needed");
		return ERR_PTR(-EINVAL);
	}
	if (index)
		dev = stack_dev_get(genl_info_net(info), nla_get_u32(index));
	else
		dev = stack_nl_find_name(genl_info_net(info), name);
	if (!dev) {
		NL_SET_ERR_MSG_ATTR(info->extack, index ?: name,
				    "no such device in this network namespace");
		return ERR_PTR(-ENODEV);
	}
	return dev;
}

/* A reference that keeps the queue pair, NULL if none is asked for */
static struct rdma_restrack_entry *stack_nl_find_qp(struct ib_device *dev,
						    struct genl_info *info)
{
	struct nlattr *qpn = info->attrs[RDMA_STACK_A_QPN];
	struct rdma_restrack_entry *res;

	if (!qpn)
		return NULL;
	res = rdma_restrack_get_byid(dev, RDMA_RESTRACK_QP, nla_get_u32(qpn));
	if (IS_ERR(res)) {
		NL_SET_ERR_MSG_ATTR(info->extack, qpn,
				    "the device has no such queue pair");
		return ERR_PTR(-ENOENT);
	}
	return res;
}

static int stack_nl_reply(struct ib_device *dev, struct ib_qp *qp,
			  struct genl_info *info)
{
	struct sk_buff *skb;
	int err;

	skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!skb)
		return -ENOMEM;
	err = stack_nl_fill(skb, genlmsg_put_reply(skb, info, &stack_family, 0,
						   RDMA_STACK_CMD_DEV_GET),
			    dev, qp);
	if (err) {
		nlmsg_free(skb);
		return err;
	}
	return genlmsg_reply(skb, info);
}

static int stack_nl_get_doit(struct sk_buff *req, struct genl_info *info)
{
	struct rdma_restrack_entry *res;
	struct ib_device *dev;
	int err;

	dev = stack_nl_find(info);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	res = stack_nl_find_qp(dev, info);
	if (IS_ERR(res)) {
		err = PTR_ERR(res);
	} else if (res) {
		err = stack_nl_reply(dev, container_of(res, struct ib_qp, res),
				     info);
		rdma_restrack_put(res);
	} else {
		err = stack_nl_reply(dev, NULL, info);
	}
	ib_device_put(dev);
	return err;
}

static int stack_nl_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	unsigned long index = cb->args[0];
	struct ib_device *dev;
	void *hdr;
	int err;

	while ((dev = stack_dev_next(sock_net(skb->sk), &index))) {
		hdr = genlmsg_put(skb, NETLINK_CB(cb->skb).portid,
				  cb->nlh->nlmsg_seq, &stack_family,
				  NLM_F_MULTI, RDMA_STACK_CMD_DEV_GET);
		err = stack_nl_fill(skb, hdr, dev, NULL);
		ib_device_put(dev);
		if (err)
			break;
		index++;
	}
	cb->args[0] = index;
	return skb->len;
}

/* --------------------------------------------------------------- notifications */

static bool stack_nl_has_listeners(const struct ib_device *dev, struct net *net)
{
	return rdma_dev_access_netns(dev, net) &&
	       genl_has_listeners(&stack_family, net, STACK_NL_CHANGES);
}

static void stack_nl_multicast(struct ib_device *dev, struct sk_buff *skb)
{
	struct sk_buff *copy;
	struct net *net;

	down_read(&net_rwsem);
	for_each_net(net) {
		if (!stack_nl_has_listeners(dev, net))
			continue;
		copy = skb_clone(skb, GFP_KERNEL);
		if (copy)
			genlmsg_multicast_netns(&stack_family, net, copy, 0,
						STACK_NL_CHANGES, GFP_KERNEL);
	}
	up_read(&net_rwsem);
}

/* A device is new or has changed. If memory is short, no message is sent. */
static void stack_nl_changed(struct ib_device *dev)
{
	struct sk_buff *skb;

	skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!skb)
		return;
	if (!stack_nl_fill(skb, genlmsg_put(skb, 0, 0, &stack_family, 0,
					    RDMA_STACK_CMD_DEV_CHANGE_NTF),
			   dev, NULL))
		stack_nl_multicast(dev, skb);
	nlmsg_free(skb);
}

static void stack_nl_gone(struct ib_device *dev)
{
	struct sk_buff *skb;
	void *hdr;

	skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!skb)
		return;
	hdr = genlmsg_put(skb, 0, 0, &stack_family, 0,
			  RDMA_STACK_CMD_DEV_DEL_NTF);
	if (hdr && !stack_nl_put_dev(skb, dev)) {
		genlmsg_end(skb, hdr);
		stack_nl_multicast(dev, skb);
	}
	nlmsg_free(skb);
}

static int stack_nl_event(struct notifier_block *nb, unsigned long event,
			  void *dev)
{
	if (event == STACK_REMOVED)
		stack_nl_gone(dev);
	else
		stack_nl_changed(dev);
	return NOTIFY_OK;
}

static struct notifier_block stack_nl_nb = {
	.notifier_call = stack_nl_event,
};

/* ---------------------------------------------------------------------- family */

static const struct genl_ops stack_nl_ops[] = {
	{
		.cmd		= RDMA_STACK_CMD_DEV_GET,
		.doit		= stack_nl_get_doit,
		.dumpit		= stack_nl_get_dumpit,
		.policy		= stack_nl_policy,
		.maxattr	= ARRAY_SIZE(stack_nl_policy) - 1,
	},
};

static const struct genl_multicast_group stack_nl_groups[] = {
	[STACK_NL_CHANGES] = { .name = RDMA_STACK_MCGRP_CHANGES },
};

static struct genl_family stack_family __ro_after_init = {
	.name		= RDMA_STACK_FAMILY_NAME,
	.version	= RDMA_STACK_FAMILY_VERSION,
	.netnsok	= true,
	.parallel_ops	= true,
	.module		= THIS_MODULE,
	.ops		= stack_nl_ops,
	.n_ops		= ARRAY_SIZE(stack_nl_ops),
	.mcgrps		= stack_nl_groups,
	.n_mcgrps	= ARRAY_SIZE(stack_nl_groups),
	.resv_start_op	= RDMA_STACK_CMD_MAX + 1,
};

/**
 * stack_nl_init() - register the family and follow devices
 *
 * Context: module init.
 * Return: 0 or a negative errno.
 */
int __init stack_nl_init(void)
{
	stack_dev_watch(&stack_nl_nb);
	return genl_register_family(&stack_family);
}

/**
 * stack_nl_exit() - undo stack_nl_init()
 *
 * Context: module exit. Waits for requests.
 */
void stack_nl_exit(void)
{
	genl_unregister_family(&stack_family);
}

MODULE_ALIAS_GENL_FAMILY(RDMA_STACK_FAMILY_NAME);
