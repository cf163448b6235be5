// SPDX-License-Identifier: GPL-2.0
/*
 * stack_test.ko, the tests (see ../lib/ktest.h):
 *
 *	registry		lifetimes of devices, providers and NIC drivers
 *	mock BYTES		all cases on the mock, and so many bytes of random load
 *	listen ADDR PORT	in the network namespace of the writer
 *	link ADDR PORT [BYTES]	connect to it: random load, or without a number all
 *				cases of the shared link
 *	veil DEVICE COMPONENT	the device reports this component as absent from now on
 *	engines NETDEV MASK	the net device has these engines, which do nothing;
 *				report the calls since the last report
 *	reset ADDR PORT		reset queue pairs that are not connected; the listener
 *				there does not answer
 *	program QPN		open the link on a queue pair of a program, of the
 *				device that listens
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/string.h>

#include "test.h"

MODULE_DESCRIPTION("Tests of rdma_stack and of shared links");
MODULE_LICENSE("GPL");

static int st_run(const char *test, const char *args)
{
	u32 total = 0;

	if (!strcmp(test, "registry")) {
		st_registry_tests();
		return 0;
	}
	if (!strcmp(test, "mock")) {
		if (kstrtou32(args, 0, &total))
			return -EINVAL;
		st_mock_tests(total);
		return 0;
	}
	if (!strcmp(test, "listen"))
		return st_listen(args);
	if (!strcmp(test, "link"))
		return st_hybrid_tests(args);
	if (!strcmp(test, "veil"))
		return st_veil(args);
	if (!strcmp(test, "engines"))
		return st_engines(args);
	if (!strcmp(test, "reset"))
		return st_reset_tests(args);
	if (!strcmp(test, "program"))
		return st_program_tests(args);
	return -EINVAL;
}

static int __init st_init(void)
{
	return kt_init("stack_test", st_run);
}

static void __exit st_exit(void)
{
	kt_exit();
	st_engines_exit();
	st_veil_exit();
	st_hybrid_exit();
}

module_init(st_init);
module_exit(st_exit);
