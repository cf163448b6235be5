// SPDX-License-Identifier: GPL-2.0
/*
 * See ktest.h. "clear", written to "run", empties the results.
 */
#include <linux/debugfs.h>
#include <linux/inet.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>

#include "ktest.h"

#define KT_RESULTS	65536

static DEFINE_MUTEX(kt_lock);		/* one test at a time */
static DEFINE_MUTEX(kt_results_lock);	/* what a test writes, of any thread */
static char *kt_results;
static size_t kt_len;
static struct dentry *kt_dir;
static int (*kt_test)(const char *test, const char *args);

/**
 * kt_ok() - record the result of a check
 * @ok: result
 * @fmt: what was checked
 *
 * Return: @ok
 */
bool kt_ok(bool ok, const char *fmt, ...)
{
	va_list ap;

	mutex_lock(&kt_results_lock);
	kt_len += scnprintf(kt_results + kt_len, KT_RESULTS - kt_len, "%s",
			    ok ? "ok " : "not ok ");
	va_start(ap, fmt);
	kt_len += vscnprintf(kt_results + kt_len, KT_RESULTS - kt_len, fmt, ap);
	va_end(ap);
	kt_len += scnprintf(kt_results + kt_len, KT_RESULTS - kt_len, "\n");
	mutex_unlock(&kt_results_lock);
	return ok;
}

static int kt_clear(void)
{
	mutex_lock(&kt_results_lock);
	kt_len = 0;
	kt_results[0] = '\0';
	mutex_unlock(&kt_results_lock);
	return 0;
}

static ssize_t kt_write(struct file *file, const char __user *ubuf, size_t len,
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
	mutex_lock(&kt_lock);
	if (!strcmp(strim(buf), "clear"))
		err = kt_clear();
	else
		err = kt_test(strim(buf), args ?: "");
	mutex_unlock(&kt_lock);
	kfree(buf);
	return err ?: len;
}

static const struct file_operations kt_run_fops = {
	.owner = THIS_MODULE,
	.write = kt_write,
};

static int kt_results_show(struct seq_file *m, void *v)
{
	mutex_lock(&kt_results_lock);
	seq_puts(m, kt_results);
	mutex_unlock(&kt_results_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(kt_results);

/**
 * kt_init() - make the debugfs files of the module
 * @name: name of their directory
 * @run: runs a test; -EINVAL if none has that name
 *
 * Return: 0 or -ENOMEM.
 */
int kt_init(const char *name, int (*run)(const char *test, const char *args))
{
	kt_results = kvzalloc(KT_RESULTS, GFP_KERNEL);
	if (!kt_results)
		return -ENOMEM;
	kt_test = run;
	kt_dir = debugfs_create_dir(name, NULL);
	debugfs_create_file("run", 0200, kt_dir, NULL, &kt_run_fops);
	debugfs_create_file("results", 0400, kt_dir, NULL, &kt_results_fops);
	return 0;
}

/**
 * kt_exit() - undo kt_init()
 */
void kt_exit(void)
{
	debugfs_remove(kt_dir);
	kvfree(kt_results);
}

/* --------------------------------------------------------------- connections */

/**
 * kt_step_end() - report from a callback how a step ended
 * @s: step
 * @err: 0 or a negative errno
 */
void kt_step_end(struct kt_step *s, int err)
{
	s->err = err;
	complete(&s->done);
}

/**
 * kt_step_wait() - wait for the end of a step
 * @s: step
 * @err: result of the call that began it; if not 0 it is returned at once
 *
 * Return: 0, -ETIMEDOUT after KT_WAIT, or another negative errno.
 */
int kt_step_wait(struct kt_step *s, int err)
{
	if (err)
		return err;
	if (!wait_for_completion_timeout(&s->done, KT_WAIT))
		return -ETIMEDOUT;
	return s->err;
}

/**
 * kt_parse_addr() - "ADDR PORT [NUMBER]", the arguments of tests
 * @args: text
 * @addr: IPv4 address and port
 * @number: unchanged if the text has none
 *
 * Return: 0 or -EINVAL.
 */
int kt_parse_addr(const char *args, struct sockaddr_in *addr, u32 *number)
{
	char host[32];
	u16 port;

	if (sscanf(args, "%31s %hu %u", host, &port, number) < 2)
		return -EINVAL;
	memset(addr, 0, sizeof(*addr));
	addr->sin_family = AF_INET;
	addr->sin_addr.s_addr = in_aton(host);
	addr->sin_port = htons(port);
	return 0;
}

/**
 * kt_listen() - listen in the network namespace of the caller
 * @args: address and port
 * @handler: gets the requests
 *
 * Return: the listener, which rdma_destroy_id() ends, or an ERR_PTR.
 */
struct rdma_cm_id *kt_listen(const char *args, rdma_cm_event_handler handler)
{
	struct sockaddr_in addr;
	struct rdma_cm_id *id;
	u32 unused;
	int err;

	err = kt_parse_addr(args, &addr, &unused);
	if (err)
		return ERR_PTR(err);
	id = rdma_create_id(current->nsproxy->net_ns, handler, NULL,
			    RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return id;
	err = rdma_bind_addr(id, (struct sockaddr *)&addr);
	err = err ?: rdma_listen(id, 4);
	if (!err)
		return id;
	rdma_destroy_id(id);
	return ERR_PTR(err);
}

/**
 * kt_resolve() - first half of connecting: find device and route
 * @id: the new id; unchanged if none was created. The caller destroys it, also after
 *	an error
 * @peer: address to connect to
 * @handler: calls kt_step_end() for ADDR_RESOLVED, ROUTE_RESOLVED, and errors
 * @context: of @handler
 * @step: step that @handler ends
 *
 * Return: 0 or a negative errno.
 */
int kt_resolve(struct rdma_cm_id **id, struct sockaddr_in *peer,
	       rdma_cm_event_handler handler, void *context,
	       struct kt_step *step)
{
	struct rdma_cm_id *new;
	int err;

	new = rdma_create_id(current->nsproxy->net_ns, handler, context,
			     RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(new))
		return PTR_ERR(new);
	*id = new;
	err = rdma_resolve_addr(new, NULL, (struct sockaddr *)peer, 2000);
	err = kt_step_wait(step, err);
	return err ?: kt_step_wait(step, rdma_resolve_route(new, 2000));
}
