// SPDX-License-Identifier: GPL-2.0
/*
 * Module, devices, events of the net devices under them.
 *
 * A device is made by "rdma link add NAME type hybrid netdev DEV". It is removed by
 * "rdma link delete", with its net device (or when that leaves its network
 * namespace), or with the module.
 *
 * hyb_cm ends the connections of a device that is removed. Top layer: calls all others.
 */
#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <linux/wait.h>
#include <net/addrconf.h>
#include <rdma/iw_cm.h>
#include <rdma/iwarp_offload.h>
#include <rdma/rdma_netlink.h>
#include <rdma/rdma_stack.h>

#include "hyb_attr.h"
#include "hyb_cm.h"
#include "hyb_idle.h"
#include "hyb_offload.h"
#include "hyb_place.h"
#include "hyb_shared.h"
#include "hyb_tcp.h"
#include "hybrid.h"

MODULE_DESCRIPTION("Hybrid iWARP: RDMA over TCP on any Ethernet device");
MODULE_AUTHOR("Seed bba8b324 maintainers");
MODULE_VERSION("0.1.0");
MODULE_LICENSE("GPL");
MODULE_ALIAS_RDMA_LINK("hybrid");

/*
 * All devices. The core's own table cannot be used: it finds devices by
 * driver_id, which is shared with siw, as user space demands. An entry is
 * valid until hyb_dev_free() has removed it. Use without the lock needs ib_device_try_get() or
 * hyb_cm_dev_hold().
 */
static LIST_HEAD(hyb_devs);
static DEFINE_MUTEX(hyb_devs_lock);
static DECLARE_WAIT_QUEUE_HEAD(hyb_devs_gone);

/* -------------------------------------------------------------------- devices */

static void hyb_dev_set_gid(struct hyb_dev *dev)
{
	const struct net_device *netdev = dev->netdev;

	/*
	 * Without an address of its own (tunnels, lo) the port still needs a
	 * unique name; a GID of zeroes is taken for an empty table entry.
	 */
	if (netdev->addr_len == ETH_ALEN &&
	    !is_zero_ether_addr(netdev->dev_addr))
		ether_addr_copy(dev->gid, netdev->dev_addr);
	else
		eth_random_addr(dev->gid);
	addrconf_addr_eui48((u8 *)&dev->ibdev.node_guid, dev->gid);
}

static struct lock_class_key hyb_mems_key;

/* @ibdev is not registered any more, or never was. The caller frees it. */
static void hyb_dev_free(struct ib_device *ibdev)
{
	struct hyb_dev *dev = hyb_dev_of(ibdev);

	if (dev->registered)
		pr_info_ratelimited("iwarp_hybrid: device %s is gone\n",
				    dev_name(&ibdev->dev));
	rdma_stack_unregister(ibdev);
	hyb_idle_stop(dev);
	hyb_cm_dev_down(dev);
	hyb_cm_dev_exit(dev);
	hyb_attr_dev_del(dev);
	WARN_ON(!xa_empty(&dev->qps));
	WARN_ON(!xa_empty(&dev->mems));
	xa_destroy(&dev->qps);
	xa_destroy(&dev->mems);
	netdev_put(dev->netdev, &dev->tracker);
	hyb_off_dev_exit(dev);
	free_percpu(dev->stats);

	mutex_lock(&hyb_devs_lock);
	list_del(&dev->node);
	wake_up(&hyb_devs_gone);
	mutex_unlock(&hyb_devs_lock);
}

static const struct ib_device_ops hyb_main_ops = {
	.dealloc_driver = hyb_dev_free,
};

static void hyb_dev_init(struct hyb_dev *dev, struct net_device *netdev)
{
	static atomic_t next_id = ATOMIC_INIT(0);
	struct ib_device *ibdev = &dev->ibdev;

	dev->netdev = netdev;
	dev->part_id = atomic_inc_return(&next_id);
	hyb_attr_dev_init(dev);
	xa_init_flags(&dev->qps, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_IRQ);
	xa_init(&dev->mems);
	/*
	 * The inline initialiser makes both locks one class. That of @qps is
	 * taken under locks of the IW CM, this one with interrupts enabled.
	 */
	lockdep_set_class(&dev->mems.xa_lock, &hyb_mems_key);
	hyb_idle_init(dev);
	hyb_cm_dev_init(dev);
	hyb_dev_set_gid(dev);

	ibdev->node_type = RDMA_NODE_RNIC;
	ibdev->phys_port_cnt = 1;
	ibdev->num_comp_vectors = num_possible_cpus();
	/* Users ring the doorbell of their send queue with it */
	ibdev->uverbs_cmd_mask |= BIT_ULL(IB_USER_VERBS_CMD_POST_SEND);
	/* An SGE with this key holds a kernel address, see hyb_mem_get() */
	ibdev->local_dma_lkey = 0;
	ibdev->iw_driver_flags = IW_F_NO_PORT_MAP;
	strscpy(ibdev->iw_ifname, netdev->name, sizeof(ibdev->iw_ifname));
	snprintf(ibdev->node_desc, sizeof(ibdev->node_desc),
		 "Hybrid iWARP on %s", netdev->name);
	ib_set_device_ops(ibdev, &hyb_main_ops);
	ib_set_device_ops(ibdev, &hyb_dev_ops);
	ib_set_device_ops(ibdev, &hyb_qp_ops);
	ib_set_device_ops(ibdev, &hyb_queue_ops);
	ib_set_device_ops(ibdev, &hyb_srq_ops);
	ib_set_device_ops(ibdev, &hyb_cq_ops);
	ib_set_device_ops(ibdev, &hyb_mem_ops);
	ib_set_device_ops(ibdev, &hyb_stats_ops);
}

static struct hyb_dev *hyb_dev_find(const struct net_device *netdev)
{
	struct hyb_dev *dev;

	lockdep_assert_held(&hyb_devs_lock);

	list_for_each_entry(dev, &hyb_devs, node)
		if (dev->netdev == netdev)
			return dev;
	return NULL;
}

static bool hyb_dev_suits(const struct net_device *netdev)
{
	return netdev->type == ARPHRD_ETHER || netdev->type == ARPHRD_NONE ||
	       netdev->type == ARPHRD_LOOPBACK;
}

/* One device per net device. The list has it before the core has. */
static int hyb_dev_create(struct net_device *netdev, struct hyb_dev **res)
{
	struct hyb_dev *dev;
	int err = -ENOMEM;

	dev = ib_alloc_device(hyb_dev, ibdev);
	if (!dev)
		return -ENOMEM;
	dev->stats = alloc_percpu(struct hyb_stats);
	if (!dev->stats)
		goto err_dev;
	err = hyb_off_dev_init(dev);
	if (err)
		goto err_stats;

	mutex_lock(&hyb_devs_lock);
	if (hyb_dev_find(netdev)) {
		mutex_unlock(&hyb_devs_lock);
		err = -EEXIST;
		goto err_off;
	}
	netdev_hold(netdev, &dev->tracker, GFP_KERNEL);
	hyb_dev_init(dev, netdev);
	list_add_tail(&dev->node, &hyb_devs);
	mutex_unlock(&hyb_devs_lock);
	*res = dev;
	return 0;

err_off:
	hyb_off_dev_exit(dev);
err_stats:
	free_percpu(dev->stats);
err_dev:
	/* Without ops, hence without hyb_dev_free() */
	ib_dealloc_device(&dev->ibdev);
	return err;
}

/*
 * The core has the device. The net device may have gone while the core did not yet know
 * of @dev. Or it goes now and @dev has been freed: so look for it in the list before
 * using it. Returns true, with a reference, if the caller has to unregister it.
 */
static bool hyb_dev_added(const struct net_device *netdev, struct hyb_dev *dev)
{
	bool dying = false;

	mutex_lock(&hyb_devs_lock);
	if (hyb_dev_find(netdev) == dev) {
		hyb_cm_dev_added(dev);
		dying = (dev->dying ||
			 netdev->reg_state != NETREG_REGISTERED) &&
			ib_device_try_get(&dev->ibdev);
	}
	mutex_unlock(&hyb_devs_lock);
	return dying;
}

static const struct rdma_stack_provider hyb_provider = {
	.query = hyb_attr_query,
	.link = &hyb_link,
};

static int hyb_newlink(const char *name, struct net_device *netdev)
{
	struct hyb_dev *dev;
	int err;

	if (!hyb_dev_suits(netdev))
		return -EINVAL;
	err = hyb_dev_create(netdev, &dev);
	if (err)
		return err;
	ib_mark_name_assigned_by_user(&dev->ibdev);
	/* another task may remove the device as soon as the core has it */
	dev->registered = true;
	err = rdma_stack_register(&dev->ibdev, &hyb_provider);
	if (!err)
		err = ib_register_device(&dev->ibdev, name, NULL);
	if (err) {
		dev->registered = false;
		ib_dealloc_device(&dev->ibdev);
		return err;
	}
	pr_info_ratelimited("iwarp_hybrid: new device %s on %s\n", name,
			    netdev->name);
	if (hyb_dev_added(netdev, dev)) {
		ib_unregister_device_and_put(&dev->ibdev);
		return -ENODEV;
	}
	return 0;
}

static struct rdma_link_ops hyb_link_ops = {
	.type = "hybrid",
	.newlink = hyb_newlink,
};

/* ---------------------------------------------------------- net device events */

static void hyb_port_event(struct hyb_dev *dev, enum ib_event_type type)
{
	struct ib_event event = {
		.event = type,
		.device = &dev->ibdev,
		.element.port_num = 1,
	};

	ib_dispatch_event(&event);
}

static void hyb_dev_event(struct hyb_dev *dev, unsigned long event)
{
	struct net_device *netdev = dev->netdev;
	bool up = ib_get_curr_port_state(netdev) == IB_PORT_ACTIVE;

	switch (event) {
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		hyb_port_event(dev, up ? IB_EVENT_PORT_ACTIVE :
					 IB_EVENT_PORT_ERR);
		break;
	case NETDEV_CHANGEADDR:
		hyb_dev_set_gid(dev);
		hyb_port_event(dev, IB_EVENT_GID_CHANGE);
		break;
	case NETDEV_CHANGENAME:
		strscpy(dev->ibdev.iw_ifname, netdev->name,
			sizeof(dev->ibdev.iw_ifname));
		break;
	case NETDEV_UNREGISTER:
		ib_unregister_device_queued(&dev->ibdev);
		break;
	}
}

/*
 * The sockets must be gone before the namespace is. The core may know nothing of the
 * device: not yet, or not any more while connections wait for their peers.
 */
static void hyb_dev_leaves(const struct net_device *netdev)
{
	struct hyb_dev *dev;

	mutex_lock(&hyb_devs_lock);
	dev = hyb_dev_find(netdev);
	if (dev) {
		dev->dying = true;
		if (!hyb_cm_dev_hold(dev))
			dev = NULL;
	}
	mutex_unlock(&hyb_devs_lock);
	if (!dev)
		return;
	hyb_cm_dev_down(dev);
	hyb_cm_dev_release(dev);
}

static int hyb_netdev_event(struct notifier_block *nb, unsigned long event,
			    void *arg)
{
	struct net_device *netdev = netdev_notifier_info_to_dev(arg);
	struct hyb_dev *dev;

	if (event == NETDEV_UNREGISTER)
		hyb_dev_leaves(netdev);
	mutex_lock(&hyb_devs_lock);
	dev = hyb_dev_find(netdev);
	if (dev && !ib_device_try_get(&dev->ibdev))
		dev = NULL;
	mutex_unlock(&hyb_devs_lock);

	if (dev) {
		hyb_dev_event(dev, event);
		ib_device_put(&dev->ibdev);
	}
	return NOTIFY_DONE;
}

static struct notifier_block hyb_netdev_nb = {
	.notifier_call = hyb_netdev_event,
};

/*
 * Engines were switched, or a NIC's driver has registered or unregisters. Called after the
 * notifier of hyb_off_conn, which has updated the connections.
 */
static int hyb_nic_event(struct notifier_block *nb, unsigned long event,
			 void *arg)
{
	struct hyb_dev *dev;

	mutex_lock(&hyb_devs_lock);
	dev = hyb_dev_find(arg);
	/* not while the device is being freed, when the work item has been cancelled */
	if (dev && ib_device_try_get(&dev->ibdev)) {
		hyb_place_changed(dev);
		ib_device_put(&dev->ibdev);
	}
	mutex_unlock(&hyb_devs_lock);
	return NOTIFY_DONE;
}

static struct notifier_block hyb_nic_nb = {
	.notifier_call = hyb_nic_event,
};

/* --------------------------------------------------------------------- module */

static struct hyb_dev *hyb_dev_any(void)
{
	struct hyb_dev *dev, *res = NULL;

	mutex_lock(&hyb_devs_lock);
	list_for_each_entry(dev, &hyb_devs, node) {
		if (ib_device_try_get(&dev->ibdev)) {
			res = dev;
			break;
		}
	}
	mutex_unlock(&hyb_devs_lock);
	return res;
}

static int __init hyb_init(void)
{
	int err;

	hyb_wq = alloc_workqueue("iwarp_hybrid", WQ_UNBOUND, 0);
	if (!hyb_wq)
		return -ENOMEM;
	err = hyb_off_init();
	if (err)
		goto err_wq;
	err = hyb_tcp_init();
	if (err)
		goto err_off;
	err = hyb_cm_init();
	if (err)
		goto err_tcp;
	err = register_netdevice_notifier(&hyb_netdev_nb);
	if (err)
		goto err_cm;
	err = iwarp_offload_register_notifier(&hyb_nic_nb);
	if (err)
		goto err_netdev;
	rdma_link_register(&hyb_link_ops);
	return 0;

err_netdev:
	unregister_netdevice_notifier(&hyb_netdev_nb);
err_cm:
	hyb_cm_exit();
err_tcp:
	hyb_tcp_exit();
err_off:
	hyb_off_exit();
err_wq:
	destroy_workqueue(hyb_wq);
	return err;
}

static void __exit hyb_exit(void)
{
	struct hyb_dev *dev;

	rdma_link_unregister(&hyb_link_ops);
	iwarp_offload_unregister_notifier(&hyb_nic_nb);
	unregister_netdevice_notifier(&hyb_netdev_nb);
	/*
	 * Not ib_unregister_driver(), which would take siw's devices with ours.
	 * Wait for those that another task is unregistering.
	 */
	while ((dev = hyb_dev_any()))
		ib_unregister_device_and_put(&dev->ibdev);
	wait_event(hyb_devs_gone, list_empty(&hyb_devs));
	/* The last hyb_dev_free() may still hold the lock, and does nothing after it */
	mutex_lock(&hyb_devs_lock);
	mutex_unlock(&hyb_devs_lock);

	hyb_cm_exit();
	hyb_off_exit();
	hyb_tcp_exit();
	destroy_workqueue(hyb_wq);
}

module_init(hyb_init);
module_exit(hyb_exit);
