// SPDX-License-Identifier: GPL-2.0
/*
 * ulp_load.ko, the tests (see ../lib/ktest.h):
 *
 *	listen ADDR PORT	in the namespace of the passive end
 *	open ADDR PORT N	N connections to there, which stay
 *	touch			a Send of one byte over each of them
 *	close			end them
 *	tcp ADDR PORT N		as many of TCP, both ends in one namespace
 *	cq softirq|poll|event	how completions are noticed, of what is opened then
 *	send|write|read|ping SIZE N [OPTION]...	over the first one; "ping" there and back
 *	write-ping SIZE N	Writes there and back, noticed by looking at memory
 *	chain SIZE N		N Writes, posted by one call
 *
 * Options: window=Q, buffers=N, reuse=PERCENT, spin=NS, both; see struct ul_opts.
 *
 * How long the last one took is in the parameter "nsecs".
 */
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "load.h"

MODULE_DESCRIPTION("Load for RDMA devices, by verbs of the kernel");
MODULE_LICENSE("GPL");

static unsigned long nsecs;
module_param(nsecs, ulong, 0444);
MODULE_PARM_DESC(nsecs, "how long the last test took");

bool ul_marks;
module_param_named(marks, ul_marks, bool, 0644);
MODULE_PARM_DESC(marks, "mark what is measured, for bench/profile.sh");

bool ul_side_marks;
module_param_named(sides, ul_side_marks, bool, 0444);
MODULE_PARM_DESC(sides, "mark which end works, for bench/sides");

static int ul_run_open(const char *test, const char *args)
{
	u64 start = ktime_get_ns();
	struct sockaddr_in addr;
	u32 count = 1;
	int err;

	err = kt_parse_addr(args, &addr, &count);
	if (err)
		return err;
	err = strcmp(test, "tcp") ? ul_open(&addr, count) :
				    ul_tcp(&addr, count);
	nsecs = ktime_get_ns() - start;
	kt_ok(!err, "%s: %u connections (%d)", test, count, err);
	return 0;
}

static int ul_run_touch(void)
{
	u32 i, good = 0;

	for (i = 0; i < ul_count; i++)
		good += !ul_touch(&ul_conns[i]);
	kt_ok(good == ul_count, "%u of %u connections work", good, ul_count);
	return 0;
}

static int ul_parse_option(char *arg, struct ul_opts *o)
{
	char *val = strchr(arg, '=');
	u32 n;

	if (!strcmp(arg, "both")) {
		o->both = true;
		return 0;
	}
	if (!val || kstrtou32(val + 1, 10, &n))
		return -EINVAL;
	*val = '\0';
	if (!strcmp(arg, "window") && n && n <= UL_WINDOW)
		o->window = n;
	else if (!strcmp(arg, "buffers") && n && n <= UL_BUFS)
		o->bufs = n;
	else if (!strcmp(arg, "reuse") && n <= 100)
		o->reuse = n;
	else if (!strcmp(arg, "spin") && n <= NSEC_PER_MSEC)
		o->spin = n;
	else
		return -EINVAL;
	return 0;
}

static int ul_parse(const char *args, struct ul_opts *o)
{
	char *copy = kstrdup(args, GFP_KERNEL), *rest, *arg;
	int n = 0, err = 0;

	*o = (struct ul_opts) { .bufs = 1, .reuse = -1 };
	if (!copy)
		return -ENOMEM;
	if (sscanf(copy, "%u %u%n", &o->size, &o->count, &n) != 2 || !o->size ||
	    o->size > UL_BUF || !o->count)
		err = -EINVAL;
	rest = copy + n;
	while (!err && (arg = strsep(&rest, " ")))
		if (*arg)
			err = ul_parse_option(arg, o);
	/* those that rest are as many as are under way, and two */
	if (o->reuse >= 0 && (o->bufs > 1 || o->window > UL_BUFS - 2))
		err = -EINVAL;
	kfree(copy);
	return err;
}

static int ul_run_flow(const char *test, const char *args)
{
	struct ul_opts o;
	u64 took = 0;
	int err;

	/* both ends are connected, or one of them was never made */
	if (!ul_count || !ul_conns[0].b.id)
		return -ENOTCONN;
	err = ul_parse(args, &o);
	if (err)
		return err;
	err = strcmp(test, "write-ping") ?
	      ul_flow(&ul_conns[0], test, &o, &took) :
	      ul_write_ping(&ul_conns[0], &o, &took);
	nsecs = took;
	if (err != -EINVAL)
		kt_ok(!err, "%s: %s (%d)", test, args, err);
	return err == -EINVAL ? err : 0;
}

static void ul_run_close(void)
{
	u64 start = ktime_get_ns();

	ul_close();
	nsecs = ktime_get_ns() - start;
}

static int ul_run(const char *test, const char *args)
{
	if (!strcmp(test, "listen"))
		return ul_listen(args);
	if (!strcmp(test, "open") || !strcmp(test, "tcp"))
		return ul_run_open(test, args);
	if (!strcmp(test, "touch"))
		return ul_run_touch();
	if (!strcmp(test, "cq"))
		return ul_poll_by(args);
	if (strcmp(test, "close"))
		return ul_run_flow(test, args);
	ul_run_close();
	return 0;
}

static int __init ul_init(void)
{
	int err = ul_side_marks ? ul_sides_up() : 0;

	if (err)
		return err;
	err = kt_init("ulp_load", ul_run);
	if (err && ul_side_marks)
		ul_sides_down();
	return err;
}

static void __exit ul_exit(void)
{
	kt_exit();
	if (ul_side_marks)
		ul_sides_down();
	ul_close();
	ul_unlisten();
}

module_init(ul_init);
module_exit(ul_exit);
