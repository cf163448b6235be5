// SPDX-License-Identifier: GPL-2.0
/*
 * ulp_verbs.ko, the tests (see ../lib/ktest.h):
 *
 *	all ADDR PORT	where one end listens
 *	adaptive ADDR PORT
 *			the same for what the core does where moderation is adaptive
 *	refer ADDR PORT	the same for those where payload is given by reference
 */
#include <linux/module.h>
#include <linux/string.h>

#include "verbs.h"

MODULE_DESCRIPTION("Tests of the verbs that kernel users need");
MODULE_LICENSE("GPL");

static const struct uv_test {
	const char *name;
	void (*run)(void);
} uv_tests[] = {
	{ "all", uv_cases },
	{ "adaptive", uv_adaptive_cases },
	{ "refer", uv_refer_cases },
};

static int uv_run(const char *test, const char *args)
{
	const struct uv_test *t = uv_tests;
	int err;

	while (t < uv_tests + ARRAY_SIZE(uv_tests) && strcmp(test, t->name))
		t++;
	if (t == uv_tests + ARRAY_SIZE(uv_tests))
		return -EINVAL;
	err = uv_listen(args);
	if (err)
		return err;
	t->run();
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
