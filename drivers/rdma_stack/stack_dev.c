// SPDX-License-Identifier: GPL-2.0
/*
 * Providers, devices, and notification of their changes. Calls stack_known.c
 * for devices without a provider. stack_sysfs.c and stack_netlink.c follow
 * devices through stack_dev_watch().
 *
 * Two tables, with different lifetimes:
 *
 * - Registrations of providers, from rdma_stack_register() until
 *   rdma_stack_unregister(), which may begin before and end after the device is
 *   known to the core. Readers are in an SRCU section, as query() may sleep;
 *   unregistering waits for them.
 * - Devices that the core has, for dumps of all of them. An entry is there
 *   between the calls of add and remove of the ib_client; a user of an entry also
 *   takes a reference of the device, under the lock, so that the removal of the
 *   device waits for that user.
 */
#include <linux/export.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/slab.h>
#include <linux/srcu.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "stack.h"
#include "stack_trace.h"

struct stack_provider {
	struct list_head node;
	struct ib_device *dev;
	const struct rdma_stack_provider *p;
};

static LIST_HEAD(stack_providers);
static DEFINE_MUTEX(stack_providers_lock);	/* writers */
DEFINE_STATIC_SRCU(stack_srcu);			/* readers */

static DEFINE_XARRAY(stack_devs);		/* by ib_device.index */
static DEFINE_MUTEX(stack_devs_lock);

/* Events of a device: ADDED is the first and REMOVED the last. Taken before stack_devs_lock. */
static DEFINE_MUTEX(stack_notify_lock);

/* No lock: all watchers register before the first device appears, and none unregisters */
static RAW_NOTIFIER_HEAD(stack_watchers);

/* -------------------------------------------------------------- providers */

/* Valid as long as the reader's section or the writers' lock lasts */
static struct stack_provider *stack_provider_find(const struct ib_device *dev)
{
	struct stack_provider *s;

	list_for_each_entry_srcu(s, &stack_providers, node,
				 srcu_read_lock_held(&stack_srcu) ||
				 lockdep_is_held(&stack_providers_lock))
		if (s->dev == dev)
			return s;
	return NULL;
}

static int stack_provider_add(struct stack_provider *s)
{
	int err = -EEXIST;

	mutex_lock(&stack_providers_lock);
	if (!stack_provider_find(s->dev)) {
		list_add_tail_rcu(&s->node, &stack_providers);
		err = 0;
	}
	mutex_unlock(&stack_providers_lock);
	return err;
}

/**
 * rdma_stack_register() - a provider announces its components
 * @dev: its device; best called before ib_register_device(), so that the device
 *	 is never visible without its components
 * @p: must stay until rdma_stack_unregister() has returned
 *
 * Context: process, may sleep.
 * Return: 0, -EEXIST, -ENOMEM, or -EINVAL without a query function.
 */
int rdma_stack_register(struct ib_device *dev,
			const struct rdma_stack_provider *p)
{
	struct stack_provider *s;
	int err;

	if (!p->query)
		return -EINVAL;
	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		return -ENOMEM;
	s->dev = dev;
	s->p = p;
	err = stack_provider_add(s);
	if (err)
		kfree(s);
	else
		rdma_stack_changed(dev);
	return err;
}
EXPORT_SYMBOL_GPL(rdma_stack_register);

/**
 * rdma_stack_unregister() - undo rdma_stack_register(), if it was done
 * @dev: the device
 *
 * No query of the provider runs after return. This does not wait for operations
 * of a shared link. The ULP closes the link before it releases the device. So a
 * provider with a shared link calls this after the device has left the core
 * (ib_device_ops.dealloc_driver).
 *
 * Context: process, may sleep; not inside query().
 */
void rdma_stack_unregister(struct ib_device *dev)
{
	struct stack_provider *s;

	mutex_lock(&stack_providers_lock);
	s = stack_provider_find(dev);
	if (s)
		list_del_rcu(&s->node);
	mutex_unlock(&stack_providers_lock);
	if (!s)
		return;
	synchronize_srcu(&stack_srcu);
	kfree(s);
	rdma_stack_changed(dev);
}
EXPORT_SYMBOL_GPL(rdma_stack_unregister);

/**
 * rdma_stack_query() - find out where each component is
 * @dev: any RDMA device. The caller must keep it registered: from an ib_client
 *	 before remove(), or through a queue pair or a reference.
 * @qp: queue pair of it, or NULL for the answer for new ones
 * @map: filled in, with RDMA_STACK_UNKNOWN if nothing is known
 *
 * Context: process, may sleep.
 * Return: 0, or -ENODATA if nothing is known; -EINVAL if @qp is not of @dev.
 */
int rdma_stack_query(struct ib_device *dev, struct ib_qp *qp,
		     struct rdma_stack_map *map)
{
	struct stack_provider *s;
	int idx, err = 0;

	memset(map, 0, sizeof(*map));
	if (qp && qp->device != dev)
		return -EINVAL;

	idx = srcu_read_lock(&stack_srcu);
	s = stack_provider_find(dev);
	if (s) {
		s->p->query(dev, qp, map);
		map->registered = true;
		map->link = map->link && s->p->link;
	} else {
		err = stack_known_query(dev, map);
	}
	srcu_read_unlock(&stack_srcu, idx);
	return err;
}
EXPORT_SYMBOL_GPL(rdma_stack_query);

/**
 * rdma_stack_get_link() - the shared link of a device
 * @dev: as for rdma_stack_query()
 *
 * Context: any but hardware interrupt.
 * Return: operations, valid as long as the caller keeps @dev; NULL if there is
 *	   none. A queue pair may have no link all the same, see rdma_stack_map.link.
 */
const struct rdma_stack_link *rdma_stack_get_link(struct ib_device *dev)
{
	const struct rdma_stack_link *link = NULL;
	struct stack_provider *s;
	int idx;

	idx = srcu_read_lock(&stack_srcu);
	s = stack_provider_find(dev);
	if (s)
		link = s->p->link;
	srcu_read_unlock(&stack_srcu, idx);
	return link;
}
EXPORT_SYMBOL_GPL(rdma_stack_get_link);

/* ----------------------------------------------------------------- changes */

static void stack_notify(struct ib_device *dev, enum stack_event event)
{
	lockdep_assert_held(&stack_notify_lock);
	trace_rdma_stack_device(dev, event);
	raw_notifier_call_chain(&stack_watchers, event, dev);
}

/*
 * Is @dev registered with the core? If so, takes a reference. The pointer is only
 * compared, because the device may be gone.
 */
static bool stack_dev_known(struct ib_device *dev)
{
	struct ib_device *d;
	unsigned long index;
	bool res = false;

	mutex_lock(&stack_devs_lock);
	xa_for_each(&stack_devs, index, d)
		if (d == dev)
			res = ib_device_try_get(dev);
	mutex_unlock(&stack_devs_lock);
	return res;
}

/**
 * rdma_stack_changed() - components of a device have moved, for new or existing queue pairs
 * @dev: device; nothing happens if the core does not have it
 *
 * The provider calls it after the change, so that a query finds it.
 *
 * Context: process, may sleep; no lock that query() takes.
 */
void rdma_stack_changed(struct ib_device *dev)
{
	if (!stack_dev_known(dev))
		return;
	mutex_lock(&stack_notify_lock);
	if (xa_load(&stack_devs, dev->index) == dev)
		stack_notify(dev, STACK_CHANGED);
	mutex_unlock(&stack_notify_lock);
	ib_device_put(dev);
}
EXPORT_SYMBOL_GPL(rdma_stack_changed);

/* ------------------------------------------------------------------- names */

static const char *const stack_comp_names[] = {
	[RDMA_STACK_CRC]		= "crc",
	[RDMA_STACK_DEMUX]		= "demux",
	[RDMA_STACK_MARKERS]		= "markers",
	[RDMA_STACK_FLOW_CONTROL]	= "flow_control",
	[RDMA_STACK_BUFFERING]		= "buffering",
	[RDMA_STACK_ORDERING]		= "ordering",
	[RDMA_STACK_RELIABILITY]	= "reliability",
	[RDMA_STACK_COALESCING]		= "coalescing",
};

static const char *const stack_place_names[] = {
	[RDMA_STACK_UNKNOWN]	= "unknown",
	[RDMA_STACK_ABSENT]	= "absent",
	[RDMA_STACK_HOST]	= "host",
	[RDMA_STACK_NIC]	= "nic",
};

/**
 * rdma_stack_comp_name() - name of a component, for users
 * @comp: component
 *
 * Context: any.
 * Return: a constant string, never NULL.
 */
const char *rdma_stack_comp_name(enum rdma_stack_comp comp)
{
	if ((unsigned int)comp >= ARRAY_SIZE(stack_comp_names))
		return "?";
	return stack_comp_names[comp];
}
EXPORT_SYMBOL_GPL(rdma_stack_comp_name);

/**
 * rdma_stack_place_name() - name of a place, for users
 * @place: place
 *
 * Context: any.
 * Return: a constant string, never NULL.
 */
const char *rdma_stack_place_name(enum rdma_stack_place place)
{
	if ((unsigned int)place >= ARRAY_SIZE(stack_place_names))
		return "?";
	return stack_place_names[place];
}
EXPORT_SYMBOL_GPL(rdma_stack_place_name);

/**
 * stack_source() - where an answer comes from
 * @err: result of rdma_stack_query()
 * @map: its result
 *
 * Context: any.
 * Return: enum stack_source.
 */
enum stack_source stack_source(int err, const struct rdma_stack_map *map)
{
	if (err)
		return STACK_SOURCE_NONE;
	return map->registered ? STACK_SOURCE_PROVIDER : STACK_SOURCE_DRIVER;
}

/* ----------------------------------------------------------------- devices */

/**
 * stack_dev_watch() - follow devices
 * @nb: called with enum stack_event and a device that stays during the call, in
 *	the order of the calls of this function
 *
 * Context: module init, before stack_dev_init(). The calls: process, may sleep.
 */
void __init stack_dev_watch(struct notifier_block *nb)
{
	raw_notifier_chain_register(&stack_watchers, nb);
}

/**
 * stack_dev_get() - device by number
 * @net: only what is visible in this namespace
 * @index: of the device
 *
 * Context: process, may sleep.
 * Return: device to be released by ib_device_put(), or NULL.
 */
struct ib_device *stack_dev_get(const struct net *net, u32 index)
{
	unsigned long i = index;
	struct ib_device *dev = stack_dev_next(net, &i);

	if (dev && i == index)
		return dev;
	if (dev)
		ib_device_put(dev);
	return NULL;
}

/**
 * stack_dev_next() - device with this number or the next higher one
 * @net: only what is visible in this namespace
 * @index: where to start; set to that of the device
 *
 * Context: process, may sleep.
 * Return: device to be released by ib_device_put(), or NULL.
 */
struct ib_device *stack_dev_next(const struct net *net, unsigned long *index)
{
	struct ib_device *dev;

	mutex_lock(&stack_devs_lock);
	xa_for_each_start(&stack_devs, *index, dev, *index)
		if (rdma_dev_access_netns(dev, net) && ib_device_try_get(dev))
			break;
	mutex_unlock(&stack_devs_lock);
	return dev;
}

static int stack_add(struct ib_device *dev)
{
	int err;

	mutex_lock(&stack_notify_lock);
	mutex_lock(&stack_devs_lock);
	err = xa_err(xa_store(&stack_devs, dev->index, dev, GFP_KERNEL));
	mutex_unlock(&stack_devs_lock);
	if (!err)
		stack_notify(dev, STACK_ADDED);
	mutex_unlock(&stack_notify_lock);
	return err;
}

static void stack_remove(struct ib_device *dev, void *client_data)
{
	mutex_lock(&stack_devs_lock);
	xa_erase(&stack_devs, dev->index);
	mutex_unlock(&stack_devs_lock);
	mutex_lock(&stack_notify_lock);
	stack_notify(dev, STACK_REMOVED);
	mutex_unlock(&stack_notify_lock);
}

static void stack_rename(struct ib_device *dev, void *client_data)
{
	mutex_lock(&stack_notify_lock);
	stack_notify(dev, STACK_RENAMED);
	mutex_unlock(&stack_notify_lock);
}

static struct ib_client stack_client = {
	.name = "rdma_stack",
	.add = stack_add,
	.remove = stack_remove,
	.rename = stack_rename,
	/* Also devices for user space only */
	.no_kverbs_req = true,
};

/**
 * stack_dev_init() - learn of devices
 *
 * Context: module init.
 * Return: 0 or a negative errno.
 */
int __init stack_dev_init(void)
{
	return ib_register_client(&stack_client);
}

/**
 * stack_dev_exit() - undo stack_dev_init()
 *
 * Context: module exit. No provider is left: a registered provider holds a reference to
 * the module.
 */
void stack_dev_exit(void)
{
	ib_unregister_client(&stack_client);
	WARN_ON(!list_empty(&stack_providers));
	xa_destroy(&stack_devs);
}
