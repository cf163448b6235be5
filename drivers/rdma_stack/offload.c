// SPDX-License-Identifier: GPL-2.0
/*
 * Registry of net devices with engines for iWARP, see rdma/iwarp_offload.h. Called
 * by NIC drivers and by iWARP providers; calls them only through the ops and the
 * notifier.
 *
 * An entry exists from iwarp_offload_register() until the end of
 * iwarp_offload_unregister(), and holds the net device. It counts its users:
 * the driver, and each iwarp_offload_get(). When the driver leaves, no new
 * users are accepted. IWARP_OFFLOAD_GONE makes providers take their connections
 * back, and the driver waits for the last user.
 */
#include <linux/completion.h>
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/notifier.h>
#include <linux/rculist.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <rdma/iwarp_offload.h>

#include "stack_trace.h"

/**
 * struct offload_entry - a net device whose driver has registered
 * @node: in offload_entries
 * @netdev: the device, with a reference
 * @tracker: of that reference
 * @ops: the driver's operations
 * @leaving: iwarp_offload_unregister() was called; written under offload_lock
 * @users: the driver, and calls of iwarp_offload_get() that were not undone
 * @unused: the last of @users is gone
 * @rcu: freed after readers
 */
struct offload_entry {
	struct list_head node;
	struct net_device *netdev;
	netdevice_tracker tracker;
	const struct iwarp_offload_ops *ops;
	bool leaving;			/* offload_lock */
	refcount_t users;
	struct completion unused;
	struct rcu_head rcu;
};

/*
 * Writers hold the lock; readers are in an RCU section, and use an entry only
 * if its count has not reached zero.
 */
static LIST_HEAD(offload_entries);
static DEFINE_MUTEX(offload_lock);

static BLOCKING_NOTIFIER_HEAD(offload_chain);

static struct offload_entry *offload_find(const struct net_device *netdev)
{
	struct offload_entry *e;

	list_for_each_entry_rcu(e, &offload_entries, node,
				lockdep_is_held(&offload_lock))
		if (e->netdev == netdev)
			return e;
	return NULL;
}

static void offload_entry_put(struct offload_entry *e)
{
	if (refcount_dec_and_test(&e->users))
		complete(&e->unused);
}

static int offload_entry_add(struct offload_entry *e)
{
	int err = -EEXIST;

	mutex_lock(&offload_lock);
	if (!offload_find(e->netdev)) {
		netdev_hold(e->netdev, &e->tracker, GFP_KERNEL);
		list_add_tail_rcu(&e->node, &offload_entries);
		err = 0;
	}
	mutex_unlock(&offload_lock);
	return err;
}

/* Are the operations there that the features of the device need? */
static bool offload_complete(struct net_device *netdev,
			     const struct iwarp_offload_ops *ops)
{
	struct iwarp_offload_caps caps = {};

	if (!ops->caps || !ops->conn_add || !ops->conn_del)
		return false;
	ops->caps(netdev, &caps);
	return !(caps.supported & BIT(IWARP_OFFLOAD_RX_PLACE)) ||
	       (ops->place_add && ops->place_del && ops->rx_passed);
}

/**
 * iwarp_offload_register() - a driver announces a device with engines
 * @netdev: the device; it cannot go before iwarp_offload_unregister()
 * @ops: must stay as long
 *
 * Providers are notified by IWARP_OFFLOAD_CHANGED. @ops->caps() is asked at once: it
 * says which operations are needed.
 *
 * Context: process, may sleep; RTNL may be held, but no lock that the driver's operations
 * take.
 * Return: 0, -EEXIST, -ENOMEM, or -EINVAL if an operation is missing.
 */
int iwarp_offload_register(struct net_device *netdev,
			   const struct iwarp_offload_ops *ops)
{
	struct offload_entry *e;
	int err;

	if (!offload_complete(netdev, ops))
		return -EINVAL;
	e = kzalloc(sizeof(*e), GFP_KERNEL);
	if (!e)
		return -ENOMEM;
	e->netdev = netdev;
	e->ops = ops;
	refcount_set(&e->users, 1);
	init_completion(&e->unused);
	err = offload_entry_add(e);
	if (err)
		kfree(e);
	else
		iwarp_offload_changed(netdev);
	return err;
}
EXPORT_SYMBOL_GPL(iwarp_offload_register);

/* No provider gets the operations from now on */
static struct offload_entry *offload_leave(const struct net_device *netdev)
{
	struct offload_entry *e;

	mutex_lock(&offload_lock);
	e = offload_find(netdev);
	if (e && !e->leaving)
		WRITE_ONCE(e->leaving, true);
	else
		e = NULL;
	mutex_unlock(&offload_lock);
	return e;
}

/**
 * iwarp_offload_unregister() - undo iwarp_offload_register(), if it was done
 * @netdev: the device
 *
 * On return no provider holds the operations. Until then providers may call them,
 * conn_del above all.
 *
 * Context: process, may sleep; RTNL may be held, but no lock that the
 * driver's operations take.
 */
void iwarp_offload_unregister(struct net_device *netdev)
{
	struct offload_entry *e = offload_leave(netdev);

	if (!e)
		return;
	offload_entry_put(e);
	/* repeat every second until the last user is gone */
	do {
		trace_rdma_stack_offload(netdev, IWARP_OFFLOAD_GONE);
		blocking_notifier_call_chain(&offload_chain, IWARP_OFFLOAD_GONE,
					     netdev);
	} while (!wait_for_completion_timeout(&e->unused, HZ));

	mutex_lock(&offload_lock);
	list_del_rcu(&e->node);
	mutex_unlock(&offload_lock);
	netdev_put(netdev, &e->tracker);
	kfree_rcu(e, rcu);
}
EXPORT_SYMBOL_GPL(iwarp_offload_unregister);

/**
 * iwarp_offload_changed() - features were switched
 * @netdev: device that is registered; nothing happens if it is not
 *
 * Context: process, may sleep; RTNL may be held, but no lock that the
 * driver's operations take: providers call them before this returns.
 */
void iwarp_offload_changed(struct net_device *netdev)
{
	if (!iwarp_offload_get(netdev))
		return;
	trace_rdma_stack_offload(netdev, IWARP_OFFLOAD_CHANGED);
	blocking_notifier_call_chain(&offload_chain, IWARP_OFFLOAD_CHANGED,
				     netdev);
	iwarp_offload_put(netdev);
}
EXPORT_SYMBOL_GPL(iwarp_offload_changed);

/**
 * iwarp_offload_get() - use the engines of a net device
 * @netdev: any net device, held by the caller
 *
 * A provider holds one lock while it calls this function and conn_add(), and
 * notes that it did. Its notifier takes the same lock. So on IWARP_OFFLOAD_GONE
 * the provider finds all its connections, and this function returns NULL
 * afterwards.
 *
 * Context: any but hardware interrupt.
 * Return: operations, valid until iwarp_offload_put(); NULL if there are none.
 */
const struct iwarp_offload_ops *iwarp_offload_get(struct net_device *netdev)
{
	const struct iwarp_offload_ops *ops = NULL;
	struct offload_entry *e;

	rcu_read_lock();
	e = offload_find(netdev);
	if (e && !READ_ONCE(e->leaving) && refcount_inc_not_zero(&e->users))
		ops = e->ops;
	rcu_read_unlock();
	return ops;
}
EXPORT_SYMBOL_GPL(iwarp_offload_get);

/**
 * iwarp_offload_put() - undo one iwarp_offload_get() that gave operations
 * @netdev: the device
 *
 * Context: any but hardware interrupt.
 */
void iwarp_offload_put(struct net_device *netdev)
{
	struct offload_entry *e;

	rcu_read_lock();
	e = offload_find(netdev);
	if (!WARN_ON_ONCE(!e))
		offload_entry_put(e);
	rcu_read_unlock();
}
EXPORT_SYMBOL_GPL(iwarp_offload_put);

/**
 * iwarp_offload_register_notifier() - learn of features that change, drivers that leave
 * @nb: called with IWARP_OFFLOAD_CHANGED or IWARP_OFFLOAD_GONE and the net
 *	device, perhaps under RTNL, perhaps more than once
 *
 * Context: process, may sleep; so is the notifier's.
 * Return: 0 or -EEXIST.
 */
int iwarp_offload_register_notifier(struct notifier_block *nb)
{
	return blocking_notifier_chain_register(&offload_chain, nb);
}
EXPORT_SYMBOL_GPL(iwarp_offload_register_notifier);

/**
 * iwarp_offload_unregister_notifier() - undo iwarp_offload_register_notifier()
 * @nb: no call runs after return
 *
 * Context: process, may sleep; not inside the notifier.
 */
void iwarp_offload_unregister_notifier(struct notifier_block *nb)
{
	blocking_notifier_chain_unregister(&offload_chain, nb);
}
EXPORT_SYMBOL_GPL(iwarp_offload_unregister_notifier);
