// SPDX-License-Identifier: GPL-2.0
/*
 * rdma_stack.ko: location of the components of the protocol stack, for any RDMA
 * device, and registry of the NIC drivers that can take components over.
 *
 * Depends neither on the protocols above nor on the providers below, which
 * depend on it. Top layer of the module, see stack.h. Calls stack_dev.c,
 * stack_netlink.c and stack_sysfs.c.
 */
#include <linux/module.h>

#include "stack.h"

MODULE_DESCRIPTION("Registry of protocol components on hosts and NICs");
MODULE_AUTHOR("Seed bba8b324 maintainers");
MODULE_VERSION("0.1.0");
MODULE_LICENSE("GPL");

static int __init stack_init(void)
{
	int err;

	/*
	 * In this order the attribute is there before a message names the
	 * device. No device is known before stack_dev_init().
	 */
	stack_sysfs_init();
	err = stack_nl_init();
	if (err)
		goto err_sysfs;
	err = stack_dev_init();
	if (err)
		goto err_nl;
	return 0;

err_nl:
	stack_nl_exit();
err_sysfs:
	/* remove the attribute from devices that were added before the error */
	stack_sysfs_exit();
	return err;
}

static void __exit stack_exit(void)
{
	/*
	 * First the notifications of devices end, so that stack_sysfs.c does not
	 * register its class interface after stack_sysfs_exit(). Requests and
	 * attributes may call stack_dev.c until they are gone, too: its tables
	 * are empty, but valid.
	 */
	stack_dev_exit();
	stack_sysfs_exit();
	stack_nl_exit();
}

module_init(stack_init);
module_exit(stack_exit);
