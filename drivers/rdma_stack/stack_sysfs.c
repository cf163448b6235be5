// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/class/infiniband/DEV/hybrid/components: where each component is, see
 * Documentation/rdma_stack.rst. Calls rdma_stack_query(). stack_dev.c and the
 * class notify it of devices.
 *
 * A device has one directory in each network namespace that sees it, and only
 * the class reports all of them, hence the class interface. The core does not
 * export its class, but a device points to it: so the first device that comes
 * registers the interface.
 *
 * Context of all: process, may sleep. stack_intf_lock is outside of
 * stack_dirs_lock.
 */
#include <linux/device.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <rdma/ib_verbs.h>

#include "compat.h"
#include "stack.h"

static const char *const stack_source_names[] = {
	[STACK_SOURCE_NONE]	= "none",
	[STACK_SOURCE_DRIVER]	= "driver",
	[STACK_SOURCE_PROVIDER]	= "provider",
};

static ssize_t components_show(struct device *d, struct device_attribute *attr,
			       char *buf)
{
	struct rdma_stack_map map;
	ssize_t len = 0;
	int i, err;

	err = rdma_stack_query(rdma_device_to_ibdev(d), NULL, &map);
	for (i = 0; i < RDMA_STACK_COMPS; i++)
		len += sysfs_emit_at(buf, len, "%s %s\n",
				     rdma_stack_comp_name(i),
				     rdma_stack_place_name(map.place[i]));
	len += sysfs_emit_at(buf, len, "shared_link %s\n",
			     map.link ? "yes" : "no");
	len += sysfs_emit_at(buf, len, "source %s\n",
			     stack_source_names[stack_source(err, &map)]);
	return len;
}
static DEVICE_ATTR_RO(components);

static struct attribute *stack_attrs[] = {
	&dev_attr_components.attr,
	NULL
};

static const struct attribute_group stack_group = {
	.name = "hybrid",
	.attrs = stack_attrs,
};

/* Does the driver have a directory "hybrid"? Then the attribute is added to that one. */
static bool stack_sysfs_merge(struct device *d)
{
	const struct attribute_group *group =
		rdma_device_to_ibdev(d)->ops.device_group;

	return group && group->name && !strcmp(group->name, stack_group.name);
}

/* A directory that has the attribute; the class removes it before @d goes */
struct stack_dir {
	struct list_head node;
	struct device *d;
};

static LIST_HEAD(stack_dirs);
static DEFINE_MUTEX(stack_dirs_lock);	/* the list; entries are freed under it */

/* add_dev of the class: there is a new device */
static int stack_class_add(COMPAT_CLASS_INTF_ARGS)
{
	struct device *d = compat_class_dev;
	struct stack_dir *dir;
	int err;

	dir = kzalloc(sizeof(*dir), GFP_KERNEL);
	if (!dir)
		return -ENOMEM;
	dir->d = d;
	if (stack_sysfs_merge(d))
		err = sysfs_merge_group(&d->kobj, &stack_group);
	else
		err = sysfs_create_group(&d->kobj, &stack_group);
	if (err) {
		kfree(dir);
		return err;
	}
	mutex_lock(&stack_dirs_lock);
	list_add_tail(&dir->node, &stack_dirs);
	mutex_unlock(&stack_dirs_lock);
	return 0;
}

/*
 * Remove @d from the list, so that stack_sysfs_changed() no longer uses it. Returns false
 * if @d has no attribute.
 */
static bool stack_dir_forget(struct device *d)
{
	struct stack_dir *dir;
	bool found = false;

	mutex_lock(&stack_dirs_lock);
	list_for_each_entry(dir, &stack_dirs, node) {
		if (dir->d == d) {
			list_del(&dir->node);
			kfree(dir);
			found = true;
			break;
		}
	}
	mutex_unlock(&stack_dirs_lock);
	return found;
}

static void stack_class_remove(COMPAT_CLASS_INTF_ARGS)
{
	struct device *d = compat_class_dev;

	if (!stack_dir_forget(d))
		return;
	if (stack_sysfs_merge(d))
		sysfs_unmerge_group(&d->kobj, &stack_group);
	else
		sysfs_remove_group(&d->kobj, &stack_group);
}

static struct class_interface stack_intf = {
	.add_dev = stack_class_add,
	.remove_dev = stack_class_remove,
};

static DEFINE_MUTEX(stack_intf_lock);	/* stack_intf.class */

/*
 * The first device registers the interface. If that fails, the next one tries
 * again; devices work without the attribute.
 */
static void stack_sysfs_added(struct ib_device *dev)
{
	mutex_lock(&stack_intf_lock);
	if (!stack_intf.class) {
		stack_intf.class = dev->dev.class;
		if (class_interface_register(&stack_intf))
			stack_intf.class = NULL;
	}
	mutex_unlock(&stack_intf_lock);
}

/* Wake up pollers of the attribute, in any namespace that sees the device */
static void stack_sysfs_changed(struct ib_device *dev)
{
	struct stack_dir *dir;

	mutex_lock(&stack_dirs_lock);
	list_for_each_entry(dir, &stack_dirs, node)
		if (rdma_device_to_ibdev(dir->d) == dev)
			sysfs_notify(&dir->d->kobj, stack_group.name,
				     dev_attr_components.attr.name);
	mutex_unlock(&stack_dirs_lock);
}

static int stack_sysfs_event(struct notifier_block *nb, unsigned long event,
			     void *dev)
{
	if (event == STACK_ADDED)
		stack_sysfs_added(dev);
	else if (event == STACK_CHANGED)
		stack_sysfs_changed(dev);
	return NOTIFY_OK;
}

static struct notifier_block stack_sysfs_nb = {
	.notifier_call = stack_sysfs_event,
};

/**
 * stack_sysfs_init() - add the attribute to all devices that come
 *
 * Context: module init.
 */
void __init stack_sysfs_init(void)
{
	stack_dev_watch(&stack_sysfs_nb);
}

/**
 * stack_sysfs_exit() - remove the attribute from all devices
 *
 * Context: module exit, may sleep.
 */
void stack_sysfs_exit(void)
{
	if (stack_intf.class)
		class_interface_unregister(&stack_intf);
}
