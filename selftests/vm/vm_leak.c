// SPDX-License-Identifier: GPL-2.0
/*
 * vm_leak.ko: loses memory, which its exit frees, to test that the runner finds leaks of
 * other modules.
 */
#include <linux/module.h>
#include <linux/slab.h>

#define LEAK_SIZE	100

/* Address of the memory, in a form that kmemleak does not take for a pointer */
static unsigned long hidden;

/* Not __init: kmemleak shall name the function after it has run */
static noinline int vm_leak_lose(void)
{
	void *p = kmalloc(LEAK_SIZE, GFP_KERNEL);

	if (!p)
		return -ENOMEM;
	memset(p, 0x5a, LEAK_SIZE);
	hidden = ~(unsigned long)p;
	return 0;
}

static int __init vm_leak_init(void)
{
	return vm_leak_lose();
}

static void __exit vm_leak_exit(void)
{
	kfree((void *)~hidden);
}

module_init(vm_leak_init);
module_exit(vm_leak_exit);
MODULE_DESCRIPTION("Test of the leak check");
MODULE_LICENSE("GPL");
