// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_test.ko, /sys/kernel/debug/verbs_test/: a line written to "run" is a
 * test, which has ended when the write returns; "results" has a line for each
 * check. "clear" is one, too.
 *
 *	clear
 *	listen ADDR PORT	in the network namespace of the writer
 *	peer ADDR PORT		where that is
 *	imm			immediate data
 *	atomic			atomic operations
 *	close			ends of connections
 *	stranger a|b		that side's peer knows neither
 *	private			private data, as long as rdma_cm takes
 */
#include <linux/debugfs.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "vt.h"

MODULE_DESCRIPTION("Tests of verbs that programs cannot ask for");
MODULE_LICENSE("GPL");

#define VT_RESULTS	65536

static DEFINE_MUTEX(vt_lock);		/* one test at a time, and the results */
static char *vt_results;
static size_t vt_len;
static struct dentry *vt_dir;

bool vt_ok(bool ok, const char *fmt, ...)
{
	va_list ap;

	lockdep_assert_held(&vt_lock);
	vt_len += scnprintf(vt_results + vt_len, VT_RESULTS - vt_len, "%s",
			    ok ? "ok " : "not ok ");
	va_start(ap, fmt);
	vt_len += vscnprintf(vt_results + vt_len, VT_RESULTS - vt_len, fmt, ap);
	va_end(ap);
	vt_len += scnprintf(vt_results + vt_len, VT_RESULTS - vt_len, "\n");
	return ok;
}

static int vt_run(const char *test, const char *args)
{
	if (!strcmp(test, "clear")) {
		vt_len = 0;
		vt_results[0] = '\0';
		return 0;
	}
	if (!strcmp(test, "listen"))
		return vt_listen(args);
	if (!strcmp(test, "peer"))
		return vt_set_peer(args);
	if (!strcmp(test, "imm"))
		vt_imm_tests();
	else if (!strcmp(test, "atomic"))
		vt_atomic_tests();
	else if (!strcmp(test, "close"))
		vt_close_tests();
	else if (!strcmp(test, "stranger"))
		vt_stranger_tests(args);
	else if (!strcmp(test, "private"))
		vt_private_tests();
	else
		return -EINVAL;
	return 0;
}

static ssize_t vt_write(struct file *file, const char __user *ubuf, size_t len,
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
	mutex_lock(&vt_lock);
	err = vt_run(strim(buf), args ?: "");
	mutex_unlock(&vt_lock);
	kfree(buf);
	return err ?: len;
}

static const struct file_operations vt_run_fops = {
	.owner = THIS_MODULE,
	.write = vt_write,
};

static int vt_results_show(struct seq_file *m, void *v)
{
	mutex_lock(&vt_lock);
	seq_puts(m, vt_results);
	mutex_unlock(&vt_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(vt_results);

static int __init vt_init(void)
{
	vt_results = kvzalloc(VT_RESULTS, GFP_KERNEL);
	if (!vt_results)
		return -ENOMEM;
	vt_dir = debugfs_create_dir("verbs_test", NULL);
	debugfs_create_file("run", 0200, vt_dir, NULL, &vt_run_fops);
	debugfs_create_file("results", 0400, vt_dir, NULL, &vt_results_fops);
	return 0;
}

static void __exit vt_exit(void)
{
	debugfs_remove(vt_dir);
	vt_unlisten();
	kvfree(vt_results);
}

module_init(vt_init);
module_exit(vt_exit);
