// SPDX-License-Identifier: GPL-2.0
/*
 * ulp_verbs.ko, the tests (see ../lib/ktest.h):
 *
 *	all ADDR PORT	where one end listens
 *	refer ADDR PORT	the same for those where payload is given by reference
 */
#include <linux/module.h>
#include <linux/string.h>

#include "verbs.h"

MODULE_DESCRIPTION("Tests of the verbs that kernel users need");
MODULE_LICENSE("GPL");

static int uv_run(const char *test, const char *args)
{
	bool refer = !strcmp(test, "refer");
	int err;

	if (!refer && strcmp(test, "all"))
		return -EINVAL;
	err = uv_listen(args);
	if (err)
		return err;
	if (refer)
		uv_refer_cases();
	else
		uv_cases();
	uv_unlisten();
	return 0;
}

static int __init uv_init(void)
{
	return kt_init("ulp_verbs", uv_run);
}

static void __exit uv_exit(void)
{
	kt_exit();
}

module_init(uv_init);
module_exit(uv_exit);
