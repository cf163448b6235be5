// SPDX-License-Identifier: GPL-2.0
/*
 * stack_test.ko, lifetimes of registrations: a device is removed while it is queried,
 * a provider or a NIC driver unregisters while it is called or held.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/kernel.h>
#include <linux/netdevice.h>
#include <linux/workqueue.h>
#include <rdma/iwarp_offload.h>

#include "mock.h"
#include "test.h"

/* A call in another thread */
struct st_call {
	struct work_struct work;
	void (*fn)(void *arg);
	void *arg;
	struct completion done;
};

static void st_call_work(struct work_struct *work)
{
	struct st_call *c = container_of(work, struct st_call, work);

	c->fn(c->arg);
	complete(&c->done);
}

static void st_call_start(struct st_call *c, void (*fn)(void *arg), void *arg)
{
	c->fn = fn;
	c->arg = arg;
	init_completion(&c->done);
	INIT_WORK_ONSTACK(&c->work, st_call_work);
	queue_work(system_unbound_wq, &c->work);
}

static bool st_call_end(struct st_call *c)
{
	bool res = wait_for_completion_timeout(&c->done, KT_WAIT);

	flush_work(&c->work);
	destroy_work_on_stack(&c->work);
	return res;
}

/* -------------------------------------------------------------------- providers */

static void st_gate_init(struct mock_gate *gate)
{
	init_completion(&gate->entered);
	init_completion(&gate->open);
	gate->left = false;
}

static void st_query(void *dev)
{
	struct rdma_stack_map map;

	rdma_stack_query(dev, NULL, &map);
}

static void st_unregister(void *dev)
{
	rdma_stack_unregister(dev);
}

static void st_change(void *dev)
{
	rdma_stack_changed(dev);
}

static void st_del(void *dev)
{
	mock_del(dev);
}

/* registry.sh checks which notifications programs get of these changes */
static void st_registered(struct ib_device *dev)
{
	struct rdma_stack_map map;
	struct ib_qp qp = { .device = NULL };
	int err;

	err = rdma_stack_query(dev, NULL, &map);
	kt_ok(err == -ENODATA && !map.registered && !map.link && !map.place[0],
	      "nothing is known of a new device: %d", err);
	kt_ok(!rdma_stack_get_link(dev), "a new device has no shared link");
	kt_ok(!mock_register(dev), "the driver is registered");
	kt_ok(mock_register(dev) == -EEXIST, "a second registration is refused");
	mock_set_place(dev, RDMA_STACK_CRC, RDMA_STACK_NIC);
	err = rdma_stack_query(dev, NULL, &map);
	kt_ok(!err && map.registered && map.link &&
	      map.place[RDMA_STACK_CRC] == RDMA_STACK_NIC,
	      "a query returns what the driver registered");
	kt_ok(rdma_stack_get_link(dev) == &mock_link,
	      "the shared link is the one the driver registered");
	kt_ok(rdma_stack_query(dev, &qp, &map) == -EINVAL,
	      "a queue pair of another device is refused");
	rdma_stack_unregister(dev);
	rdma_stack_unregister(dev);
	kt_ok(rdma_stack_query(dev, NULL, &map) == -ENODATA &&
	      !rdma_stack_get_link(dev), "nothing is known after unregistration");
}

/* The provider unregisters during a query */
static void st_leave_queried(struct ib_device *dev)
{
	struct st_call query, leave;
	struct mock_gate gate;

	st_gate_init(&gate);
	mock_register(dev);
	mock_set_gate(dev, &gate);
	st_call_start(&query, st_query, dev);
	wait_for_completion(&gate.entered);
	st_call_start(&leave, st_unregister, dev);
	msleep(50);
	kt_ok(!completion_done(&leave.done), "unregistering waits for a query");
	complete_all(&gate.open);
	kt_ok(st_call_end(&leave) && gate.left, "unregistering ends after the query");
	st_call_end(&query);
	mock_set_gate(dev, NULL);
}

/* The device is removed while programs are notified of its change, which takes a query */
static void st_remove_queried(struct ib_device *dev)
{
	struct st_call change, del;
	struct mock_gate gate;

	st_gate_init(&gate);
	mock_set_gate(dev, &gate);
	st_call_start(&change, st_change, dev);
	wait_for_completion(&gate.entered);
	mock_set_gate(dev, NULL);
	st_call_start(&del, st_del, dev);
	msleep(50);
	kt_ok(!completion_done(&del.done), "a device waits for users that look at it");
	complete_all(&gate.open);
	kt_ok(st_call_end(&change) && gate.left, "the change was reported");
	kt_ok(st_call_end(&del), "the device goes then");
	/* dev is freed; only the value of the pointer is used */
	rdma_stack_changed(dev);
	kt_ok(true, "changes of a removed device are ignored");
}

static bool st_stop;

static void st_hammer(void *arg)
{
	struct ib_device *dev = arg;
	struct rdma_stack_map map;

	while (!READ_ONCE(st_stop)) {
		rdma_stack_query(dev, NULL, &map);
		rdma_stack_get_link(dev);
		rdma_stack_changed(dev);
		cond_resched();
	}
}

static void st_provider_race(struct ib_device *dev)
{
	struct st_call call[2];
	int i, err = 0;

	WRITE_ONCE(st_stop, false);
	for (i = 0; i < 2; i++)
		st_call_start(&call[i], st_hammer, dev);
	for (i = 0; i < 20 && !err; i++) {
		err = mock_register(dev);
		rdma_stack_unregister(dev);
	}
	WRITE_ONCE(st_stop, true);
	for (i = 0; i < 2; i++)
		st_call_end(&call[i]);
	kt_ok(!err, "providers come and go under queries: %d", err);
}

static void st_providers(void)
{
	struct ib_device *dev = mock_add("mock%d");

	if (!kt_ok(!IS_ERR(dev), "the device is added: %d", PTR_ERR_OR_ZERO(dev)))
		return;
	st_registered(dev);
	st_leave_queried(dev);
	st_provider_race(dev);
	mock_register(dev);
	st_remove_queried(dev);
}

/* ------------------------------------------------------------------ NIC drivers */

static struct {
	struct net_device *netdev;
	const struct iwarp_offload_ops *held;
	bool keep;		/* the notifier does not give up @held */
	u32 supported;
	unsigned int changed, gone;
	struct completion told;
} st_nic;

static void st_caps(struct net_device *netdev, struct iwarp_offload_caps *caps)
{
	memset(caps, 0, sizeof(*caps));
	caps->supported = st_nic.supported;
}

static int st_conn_add(struct iwarp_offload_conn *conn)
{
	return -EOPNOTSUPP;
}

static void st_conn_del(struct iwarp_offload_conn *conn)
{
}

static const struct iwarp_offload_ops st_ops = {
	.caps = st_caps,
	.conn_add = st_conn_add,
	.conn_del = st_conn_del,
};

static const struct iwarp_offload_ops st_bad_ops = {
	.caps = st_caps,
};

static void st_rx_passed(struct iwarp_offload_conn *conn, u32 seq)
{
}

static int st_place_add(struct iwarp_offload_conn *conn,
			struct iwarp_offload_buf *buf)
{
	return -ENOSPC;
}

static void st_place_del(struct iwarp_offload_conn *conn,
			 struct iwarp_offload_buf *buf)
{
}

static int st_offload_notified(struct notifier_block *nb, unsigned long action,
			       void *data)
{
	if (data != st_nic.netdev)
		return NOTIFY_DONE;
	if (action == IWARP_OFFLOAD_CHANGED)
		st_nic.changed++;
	if (action != IWARP_OFFLOAD_GONE)
		return NOTIFY_OK;
	st_nic.gone++;
	complete(&st_nic.told);
	if (st_nic.held && !READ_ONCE(st_nic.keep)) {
		st_nic.held = NULL;
		iwarp_offload_put(data);
	}
	return NOTIFY_OK;
}

static struct notifier_block st_offload_nb = {
	.notifier_call = st_offload_notified,
};

static void st_offload_leave(void *netdev)
{
	iwarp_offload_unregister(netdev);
}

static void st_offload_basic(struct net_device *netdev)
{
	kt_ok(!iwarp_offload_get(netdev), "a net device has no engines at first");
	iwarp_offload_unregister(netdev);
	iwarp_offload_changed(netdev);
	kt_ok(!st_nic.changed && !st_nic.gone, "no notification without a change");
	kt_ok(iwarp_offload_register(netdev, &st_bad_ops) == -EINVAL,
	      "a driver without required operations is refused");
	kt_ok(!iwarp_offload_register(netdev, &st_ops), "the driver is registered");
	kt_ok(iwarp_offload_register(netdev, &st_ops) == -EEXIST,
	      "a second registration is refused");
	kt_ok(st_nic.changed == 1, "the notifier is called once: %u", st_nic.changed);
	st_nic.held = iwarp_offload_get(netdev);
	kt_ok(st_nic.held == &st_ops, "the provider gets the operations of the driver");
	iwarp_offload_changed(netdev);
	kt_ok(st_nic.changed == 2, "a change is reported: %u", st_nic.changed);
	iwarp_offload_unregister(netdev);
	kt_ok(st_nic.gone && !st_nic.held, "providers let go when notified");
	kt_ok(!iwarp_offload_get(netdev), "the net device has no engines any more");
}

/* Placement is refused without all of its operations */
static void st_offload_place(struct net_device *netdev)
{
	struct iwarp_offload_ops ops = {
		.caps = st_caps,
		.conn_add = st_conn_add,
		.conn_del = st_conn_del,
		.rx_passed = st_rx_passed,
		.place_add = st_place_add,
	};

	st_nic.supported = BIT(IWARP_OFFLOAD_RX_PLACE);
	kt_ok(iwarp_offload_register(netdev, &st_ops) == -EINVAL,
	      "placement without its operations is refused");
	kt_ok(iwarp_offload_register(netdev, &ops) == -EINVAL,
	      "placement without one of its operations is refused");
	ops.place_del = st_place_del;
	kt_ok(!iwarp_offload_register(netdev, &ops),
	      "placement with all of its operations is accepted");
	iwarp_offload_unregister(netdev);
	st_nic.supported = 0;
}

/* The driver unregisters while a provider holds it */
static void st_offload_held(struct net_device *netdev)
{
	struct st_call leave;

	kt_ok(!iwarp_offload_register(netdev, &st_ops), "the driver is registered again");
	st_nic.held = iwarp_offload_get(netdev);
	WRITE_ONCE(st_nic.keep, true);
	reinit_completion(&st_nic.told);
	st_call_start(&leave, st_offload_leave, netdev);
	wait_for_completion(&st_nic.told);
	msleep(50);
	kt_ok(!completion_done(&leave.done), "a driver waits for providers");
	kt_ok(!iwarp_offload_get(netdev), "later callers get nothing");
	kt_ok(iwarp_offload_register(netdev, &st_ops) == -EEXIST,
	      "a driver cannot come back before it has left");
	st_nic.held->caps(netdev, &(struct iwarp_offload_caps){});
	st_nic.held = NULL;
	iwarp_offload_put(netdev);
	kt_ok(st_call_end(&leave), "a driver leaves when the last provider has let go");
	WRITE_ONCE(st_nic.keep, false);
}

static void st_offload_hammer(void *arg)
{
	while (!READ_ONCE(st_stop)) {
		if (iwarp_offload_get(arg))
			iwarp_offload_put(arg);
		iwarp_offload_changed(arg);
		cond_resched();
	}
}

static void st_offload_race(struct net_device *netdev)
{
	struct st_call call[2];
	int i, err = 0;

	WRITE_ONCE(st_stop, false);
	for (i = 0; i < 2; i++)
		st_call_start(&call[i], st_offload_hammer, netdev);
	for (i = 0; i < 200 && !err; i++) {
		err = iwarp_offload_register(netdev, &st_ops);
		iwarp_offload_unregister(netdev);
	}
	WRITE_ONCE(st_stop, true);
	for (i = 0; i < 2; i++)
		st_call_end(&call[i]);
	kt_ok(!err, "drivers come and go under providers: %d", err);
}

static netdev_tx_t st_xmit(struct sk_buff *skb, struct net_device *netdev)
{
	kfree_skb(skb);
	return NETDEV_TX_OK;
}

static const struct net_device_ops st_netdev_ops = {
	.ndo_start_xmit = st_xmit,
};

static void st_nic_setup(struct net_device *netdev)
{
	ether_setup(netdev);
	netdev->netdev_ops = &st_netdev_ops;
	eth_hw_addr_random(netdev);
}

static void st_offloads(void)
{
	struct net_device *netdev;
	int err;

	netdev = alloc_netdev(0, "stnic%d", NET_NAME_UNKNOWN, st_nic_setup);
	if (!kt_ok(netdev, "there is memory for a net device"))
		return;
	err = register_netdev(netdev);
	if (!kt_ok(!err, "the net device is registered: %d", err)) {
		free_netdev(netdev);
		return;
	}
	memset(&st_nic, 0, sizeof(st_nic));
	init_completion(&st_nic.told);
	st_nic.netdev = netdev;
	kt_ok(!iwarp_offload_register_notifier(&st_offload_nb), "the notifier is registered");
	st_offload_basic(netdev);
	st_offload_held(netdev);
	st_offload_race(netdev);
	st_offload_place(netdev);
	iwarp_offload_unregister_notifier(&st_offload_nb);
	unregister_netdev(netdev);
	free_netdev(netdev);
	kt_ok(true, "the net device goes");
}

/**
 * st_registry_tests() - lifetimes of devices, providers and NIC drivers
 */
void st_registry_tests(void)
{
	st_providers();
	st_offloads();
}
