// SPDX-License-Identifier: GPL-2.0
/*
 * ulp_load.ko: assign instructions to the ends of a connection. Both ends share a processor,
 * so marks notify the emulator (bench/insn_count.c) when the processor begins to work for
 * another end:
 *
 * - a packet is received or sent: the end in whose network namespace that happens;
 * - a callback of a completion begins: the end that owns the completion queue;
 * - a softirq begins: neither end, until one of the events above; it ends: the end before it;
 * - another thread runs: the end that woke it, or its own end before it was preempted.
 *
 * Programs can be distinguished, too: "a" or "b" written to the parameter "end" makes the
 * writer's network namespace that end. Packets and threads of programs then belong to
 * the end of their network namespace. Threads of a simulated NIC belong to neither end.
 */
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/skbuff.h>
#include <linux/tracepoint.h>

#include "load.h"

/* Threads whose side is known; there are few */
#define UL_TASKS	256

struct ul_task {
	pid_t pid;
	enum ul_whose whose;
};

/* Of the one processor. An interrupt in the middle of a probe misleads for a short time only. */
static struct ul_task ul_tasks[UL_TASKS];
static enum ul_whose ul_now;
static enum ul_whose ul_before;		/* the softirq */

/* Namespaces that are an end, compared only */
static struct net *ul_end_nets[2];

static int ul_end_set(const char *val, const struct kernel_param *kp)
{
	int i = sysfs_streq(val, "a") ? 0 : 1;

	if (i && !sysfs_streq(val, "b"))
		return -EINVAL;
	WRITE_ONCE(ul_end_nets[i], current->nsproxy->net_ns);
	return 0;
}

static const struct kernel_param_ops ul_end_ops = { .set = ul_end_set };
module_param_cb(end, &ul_end_ops, NULL, 0200);
MODULE_PARM_DESC(end, "the writer's network namespace is that end, a or b");

static enum ul_whose ul_whose_net(const struct net *net)
{
	if (net == ul_end_nets[0])
		return UL_A;
	return net == ul_end_nets[1] ? UL_B : UL_NOBODY;
}

static void ul_side_mark(enum ul_whose whose)
{
	ul_now = whose;
#ifdef CONFIG_X86_64
	switch (whose) {
	case UL_NOBODY:
		asm volatile(".byte 0x0f, 0x1f, 0x84, 0, 0x53, 0x44, 0x50, 3");
		break;
	case UL_A:
		asm volatile(".byte 0x0f, 0x1f, 0x84, 0, 0x53, 0x44, 0x50, 4");
		break;
	case UL_B:
		asm volatile(".byte 0x0f, 0x1f, 0x84, 0, 0x53, 0x44, 0x50, 5");
		break;
	}
#endif
}

/**
 * ul_work_of() - from here on it is the work of one end
 * @whose: which
 */
void ul_work_of(enum ul_whose whose)
{
	if (ul_side_marks && whose != ul_now)
		ul_side_mark(whose);
}

/* Packets that are not of the connection belong to neither end */
static void ul_side_skb(struct sk_buff *skb)
{
	const struct net *net = dev_net(skb->dev);
	const struct ul_conn *c = ul_conns;

	if (ul_end_nets[0] && ul_end_nets[1]) {
		ul_work_of(ul_whose_net(net));
		return;
	}
	if (!c || !c->a.id || !c->b.id)
		return;
	if (net == c->a.id->route.addr.dev_addr.net)
		ul_work_of(UL_A);
	else if (net == c->b.id->route.addr.dev_addr.net)
		ul_work_of(UL_B);
	else
		ul_work_of(UL_NOBODY);
}

static void ul_on_packet(void *data, struct sk_buff *skb)
{
	ul_side_skb(skb);
}

static void ul_on_softirq(void *data, unsigned int vec)
{
	ul_before = ul_now;
	ul_work_of(UL_NOBODY);
}

static void ul_on_softirq_end(void *data, unsigned int vec)
{
	ul_work_of(ul_before);
}

static struct ul_task *ul_task(const struct task_struct *p)
{
	struct ul_task *t = &ul_tasks[p->pid % UL_TASKS];

	if (t->pid != p->pid)
		*t = (struct ul_task){ .pid = p->pid, .whose = UL_NOBODY };
	return t;
}

static void ul_on_waking(void *data, struct task_struct *p)
{
	ul_task(p)->whose = ul_now;
}

/* napi/DEVICE-N polls a device of that name */
static enum ul_whose ul_whose_napi(const char *comm)
{
	char name[TASK_COMM_LEN];
	int i;

	strscpy(name, comm, sizeof(name));
	name[strcspn(name, "-")] = '\0';
	for (i = 0; i < 2; i++) {
		struct net *net = ul_end_nets[i];

		if (net && dev_get_by_name_rcu(net, name))
			return ul_whose_net(net);
	}
	return UL_NOBODY;
}

/* Of a thread that is about to run. No other processor is there that could change it. */
static enum ul_whose ul_whose_task(const struct task_struct *p)
{
	enum ul_whose whose = UL_NOBODY;

	if (!p->pid || !strncmp(p->comm, "hnic-", 5))
		return UL_NOBODY;
	if (!(p->flags & PF_KTHREAD) && p->nsproxy)
		whose = ul_whose_net(p->nsproxy->net_ns);
	else if (!strncmp(p->comm, "napi/", 5))
		whose = ul_whose_napi(p->comm + 5);
	return whose != UL_NOBODY ? whose : ul_task(p)->whose;
}

static void ul_on_switch(void *data, bool preempt, struct task_struct *prev,
			 struct task_struct *next, unsigned int state)
{
	ul_task(prev)->whose = ul_now;
	ul_work_of(ul_whose_task(next));
}

static struct {
	const char *name;
	void *probe;
	struct tracepoint *tp;
} ul_probes[] = {
	{ "netif_receive_skb", ul_on_packet },
	{ "net_dev_queue", ul_on_packet },
	{ "softirq_entry", ul_on_softirq },
	{ "softirq_exit", ul_on_softirq_end },
	{ "sched_waking", ul_on_waking },
	{ "sched_switch", ul_on_switch },
};

/* They are not exported, and need not be */
static void ul_probe_find(struct tracepoint *tp, void *data)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(ul_probes); i++)
		if (!strcmp(tp->name, ul_probes[i].name))
			ul_probes[i].tp = tp;
}

/**
 * ul_sides_down() - no more marks
 */
void ul_sides_down(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(ul_probes); i++)
		if (ul_probes[i].tp)
			tracepoint_probe_unregister(ul_probes[i].tp,
						    ul_probes[i].probe, NULL);
	tracepoint_synchronize_unregister();
	ul_work_of(UL_NOBODY);
}

/**
 * ul_sides_up() - marks whenever the work becomes that of the other end
 *
 * Return: 0 or a negative errno.
 */
int ul_sides_up(void)
{
	int i, err = num_online_cpus() == 1 ? 0 : -EINVAL;

	for_each_kernel_tracepoint(ul_probe_find, NULL);
	for (i = 0; i < ARRAY_SIZE(ul_probes) && !err; i++) {
		if (ul_probes[i].tp)
			err = tracepoint_probe_register(ul_probes[i].tp,
							ul_probes[i].probe,
							NULL);
		else
			err = -ENOENT;
	}
	if (err)
		ul_sides_down();
	return err;
}
