// SPDX-License-Identifier: GPL-2.0
/*
 * stack_test.ko, a driver of a NIC that has all engines except placement, which do
 * nothing: it counts the calls of a provider about connections on which nothing is sent.
 */
#include <linux/kernel.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <rdma/iwarp_offload.h>

#include "test.h"

#define ST_ENGINES	(BIT(IWARP_OFFLOAD_TX_CRC) | \
			 BIT(IWARP_OFFLOAD_RX_CRC) | \
			 BIT(IWARP_OFFLOAD_RX_DEMUX) | \
			 BIT(IWARP_OFFLOAD_TX_CONTIG) | \
			 BIT(IWARP_OFFLOAD_TX_SG))

/* Calls since the last report; changed while a task owns a TCP socket */
static struct {
	struct net_device *netdev;	/* registered, which holds it */
	u32 enabled;
	unsigned int adds, updates, dels;
	unsigned int layouts;		/* calls whose layout does not fit the features */
} st_eng;

static void st_eng_caps(struct net_device *netdev,
			struct iwarp_offload_caps *caps)
{
	caps->supported = ST_ENGINES;
	caps->enabled = READ_ONCE(st_eng.enabled);
	caps->max_conns = 16;
	caps->max_frags = 16;
	caps->max_fpdu = 65536;
	caps->max_bufs = 0;
}

/* A driver that does not inspect each packet relies on the layout that the call announces */
static void st_eng_layout(const struct iwarp_offload_conn *conn)
{
	bool contig = conn->features & BIT(IWARP_OFFLOAD_TX_CONTIG);

	if (conn->tx_layout != (contig ? IWARP_LAYOUT_CONTIG :
					 IWARP_LAYOUT_FINAL))
		st_eng.layouts++;
}

static int st_eng_add(struct iwarp_offload_conn *conn)
{
	st_eng.adds++;
	st_eng_layout(conn);
	return 0;
}

static void st_eng_update(struct iwarp_offload_conn *conn)
{
	st_eng.updates++;
	st_eng_layout(conn);
}

static void st_eng_del(struct iwarp_offload_conn *conn)
{
	st_eng.dels++;
}

static const struct iwarp_offload_ops st_eng_ops = {
	.caps = st_eng_caps,
	.conn_add = st_eng_add,
	.conn_del = st_eng_del,
	.conn_update = st_eng_update,
};

static int st_eng_take(const char *name)
{
	struct net_device *netdev;
	int err;

	netdev = dev_get_by_name(current->nsproxy->net_ns, name);
	if (!netdev)
		return -ENODEV;
	err = iwarp_offload_register(netdev, &st_eng_ops);
	if (!err)
		st_eng.netdev = netdev;
	dev_put(netdev);
	return err;
}

/**
 * st_engines_exit() - unregister the driver
 */
void st_engines_exit(void)
{
	if (!st_eng.netdev)
		return;
	iwarp_offload_unregister(st_eng.netdev);
	st_eng.netdev = NULL;
}

/**
 * st_engines() - switch the engines of a net device, and report the calls since the last
 *		  report
 * @args: name of the net device, and a mask of engines; the first call registers a driver
 *
 * Return: 0 or a negative errno.
 */
int st_engines(const char *args)
{
	char name[IFNAMSIZ];
	u32 mask;
	int err;

	if (sscanf(args, "%15s %x", name, &mask) != 2)
		return -EINVAL;
	if (!st_eng.netdev) {
		err = st_eng_take(name);
		if (err)
			return err;
	}
	WRITE_ONCE(st_eng.enabled, mask);
	iwarp_offload_changed(st_eng.netdev);
	kt_ok(true, "%u added, %u updates, %u deleted", st_eng.adds,
	      st_eng.updates, st_eng.dels);
	kt_ok(!st_eng.layouts, "%u calls with another layout than it will be",
	      st_eng.layouts);
	st_eng.adds = 0;
	st_eng.updates = 0;
	st_eng.dels = 0;
	st_eng.layouts = 0;
	return 0;
}
