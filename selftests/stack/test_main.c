// SPDX-License-Identifier: GPL-2.0
/*
 * stack_test.ko, /sys/kernel/debug/stack_test/: a line written to "run" is a
 * test, which has ended when the write returns; "results" has a line for each
 * check. "clear" is one, too.
 *
 *	clear
 *	registry
 *	mock OCTETS		of random load
 *	listen ADDR PORT	in the network namespace of the writer
 *	link ADDR PORT OCTETS	connect to it, all cases of the shared link
 */
#include <linux/debugfs.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "test.h"

MODULE_DESCRIPTION("Tests of rdma_stack and of shared links");
MODULE_LICENSE("GPL");

#define ST_RESULTS	65536

static DEFINE_MUTEX(st_lock);		/* one test at a time */
static DEFINE_MUTEX(st_results_lock);
static char *st_results;
static size_t st_len;
static struct dentry *st_dir;

/**
 * st_ok() - one check
 * @ok: result
 * @fmt: what was checked
 *
 * Context: process, may sleep.
 * Return: @ok
 */
bool st_ok(bool ok, const char *fmt, ...)
{
	va_list ap;

	mutex_lock(&st_results_lock);
	st_len += scnprintf(st_results + st_len, ST_RESULTS - st_len, "%s",
			    ok ? "ok " : "not ok ");
	va_start(ap, fmt);
	st_len += vscnprintf(st_results + st_len, ST_RESULTS - st_len, fmt, ap);
	va_end(ap);
	st_len += scnprintf(st_results + st_len, ST_RESULTS - st_len, "\n");
	mutex_unlock(&st_results_lock);
	return ok;
}

static int st_run(const char *test, const char *args)
{
	u32 total = 0;

	if (!strcmp(test, "clear")) {
		st_len = 0;
		st_results[0] = '\0';
		return 0;
	}
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
	return -EINVAL;
}

static ssize_t st_write(struct file *file, const char __user *ubuf, size_t len,
			loff_t *pos)
{
	char *buf, *args;
	int err;

	if (len > 256)
		return -EINVAL;
	buf = memdup_user_nul(ubuf, len);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	args = strim(buf);
	strsep(&args, " ");
	mutex_lock(&st_lock);
	err = st_run(strim(buf), args ?: "");
	mutex_unlock(&st_lock);
	kfree(buf);
	return err ?: len;
}

static const struct file_operations st_run_fops = {
	.owner = THIS_MODULE,
	.write = st_write,
};

static int st_results_show(struct seq_file *m, void *v)
{
	mutex_lock(&st_results_lock);
	seq_puts(m, st_results);
	mutex_unlock(&st_results_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(st_results);

static int __init st_init(void)
{
	st_results = kvzalloc(ST_RESULTS, GFP_KERNEL);
	if (!st_results)
		return -ENOMEM;
	st_dir = debugfs_create_dir("stack_test", NULL);
	debugfs_create_file("run", 0200, st_dir, NULL, &st_run_fops);
	debugfs_create_file("results", 0400, st_dir, NULL, &st_results_fops);
	return 0;
}

static void __exit st_exit(void)
{
	debugfs_remove(st_dir);
	st_hybrid_exit();
	kvfree(st_results);
}

module_init(st_init);
module_exit(st_exit);
