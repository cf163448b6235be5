// SPDX-License-Identifier: GPL-2.0
/*
 * ulp_verbs.ko: loading it runs the tests; results go to the kernel's log and
 * into the parameter "results", in TAP. See verbs.h.
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "verbs.h"

MODULE_DESCRIPTION("Tests of the verbs that kernel users need");
MODULE_LICENSE("GPL");

#define UV_RESULTS	4096

char *uv_addr = "10.0.0.2";
module_param_named(addr, uv_addr, charp, 0444);
MODULE_PARM_DESC(addr, "Address of the listening end");

ushort uv_port = 7800;
module_param_named(port, uv_port, ushort, 0444);
MODULE_PARM_DESC(port, "Its port");

static char *uv_results;
static size_t uv_len;
static unsigned int uv_count;

static int uv_results_get(char *buf, const struct kernel_param *kp)
{
	return uv_results ? scnprintf(buf, PAGE_SIZE, "%s", uv_results) : 0;
}

static const struct kernel_param_ops uv_results_ops = {
	.get = uv_results_get,
};
module_param_cb(results, &uv_results_ops, NULL, 0444);
MODULE_PARM_DESC(results, "What came out");

/**
 * uv_ok() - one check
 * @ok: result
 * @fmt: what was checked
 *
 * Context: module initialisation, the only thread there is.
 * Return: @ok
 */
bool uv_ok(bool ok, const char *fmt, ...)
{
	size_t from = uv_len;
	va_list ap;

	uv_len += scnprintf(uv_results + uv_len, UV_RESULTS - uv_len,
			    "%sok %u - ", ok ? "" : "not ", ++uv_count);
	va_start(ap, fmt);
	uv_len += vscnprintf(uv_results + uv_len, UV_RESULTS - uv_len, fmt, ap);
	va_end(ap);
	uv_len += scnprintf(uv_results + uv_len, UV_RESULTS - uv_len, "\n");
	pr_info("ulp_verbs: %s", uv_results + from);
	return ok;
}

static int __init uv_init(void)
{
	uv_results = kzalloc(UV_RESULTS, GFP_KERNEL);
	if (!uv_results)
		return -ENOMEM;
	if (uv_ok(!uv_listen(), "listen")) {
		uv_cases();
		uv_unlisten();
	}
	return 0;
}

static void __exit uv_exit(void)
{
	kfree(uv_results);
}

module_init(uv_init);
module_exit(uv_exit);
