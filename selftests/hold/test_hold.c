// SPDX-License-Identifier: GPL-2.0
/*
 * test_hold.ko: holds a task up where it calls a function, so that a test has time for
 * something that otherwise has to happen at a precise moment.
 *
 *	modprobe test_hold symbol=FUNCTION comm=TASK [ms=MOST] [times=0] [behind=1] [asleep=1]
 *		[also=FUNCTION [null=1]] [ret=VALUE [late=1]]
 *
 * Tasks whose name begins with TASK stop before FUNCTION or, with "behind", after it. They
 * stop until "go" is written, but at most MOST milliseconds. "times" limits how many calls
 * stop (1), and "hits" counts them. All parameters are in /sys/module/test_hold/parameters,
 * where "times" and "hits" may be written, too.
 *
 * The tasks spin, because a probe must not sleep. Meanwhile RCU grace periods do not end, and
 * that CPU runs neither timers nor work. With "asleep" the tasks sleep instead. FUNCTION
 * then must be allowed to sleep, and take at most six arguments. The same applies to "also",
 * whose callers, tasks of any name, sleep as well until "go" is written, at most MOST
 * milliseconds; "hits" does not count them. With "null", calls of "also" do not sleep, but
 * after the first hit appear to return NULL.
 *
 * With "asleep" and "ret", which is not 0, a held task does not call FUNCTION: it appears to
 * return VALUE at once or, with "late", after the sleep.
 */
#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/nmi.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/wait.h>

#include "test_hold.h"

static char *symbol = "";
module_param(symbol, charp, 0444);
MODULE_PARM_DESC(symbol, "function");

static char *comm = "";
module_param(comm, charp, 0444);
MODULE_PARM_DESC(comm, "name of the tasks");

static char *also = "";
module_param(also, charp, 0444);
MODULE_PARM_DESC(also, "function that waits for go, too");

static unsigned int ms = 3000;
module_param(ms, uint, 0444);
MODULE_PARM_DESC(ms, "milliseconds, at most");

static int times = 1;
module_param(times, int, 0644);
MODULE_PARM_DESC(times, "how many calls to hold up");

static bool behind;
module_param(behind, bool, 0444);
MODULE_PARM_DESC(behind, "when it returns");

static bool asleep;
module_param(asleep, bool, 0444);
MODULE_PARM_DESC(asleep, "sleep, where that is possible");

static int ret;
module_param(ret, int, 0444);
MODULE_PARM_DESC(ret, "value returned to a held task, instead of a call of the function");

static bool late;
module_param(late, bool, 0444);
MODULE_PARM_DESC(late, "sleep before that value is returned");

static bool null;
module_param(null, bool, 0444);
MODULE_PARM_DESC(null, "the other function returns NULL after a hit, instead of waiting");

static DECLARE_WAIT_QUEUE_HEAD(go_wait);
static bool go;

static void hold_go(void)
{
	WRITE_ONCE(go, true);
	wake_up_all(&go_wait);
}

static int hold_set_go(const char *val, const struct kernel_param *kp)
{
	int err = param_set_bool(val, kp);

	wake_up_all(&go_wait);
	return err;
}

static const struct kernel_param_ops hold_go_ops = {
	.set	= hold_set_go,
	.get	= param_get_bool,
};
module_param_cb(go, &hold_go_ops, &go, 0644);
MODULE_PARM_DESC(go, "let them go on");

static unsigned int hits;
module_param(hits, uint, 0644);
MODULE_PARM_DESC(hits, "calls held up so far");

/**
 * test_hold_hit() - has a task been held up?
 *
 * Context: any.
 *
 * Return: true from the time on when the first one stops.
 */
bool test_hold_hit(void)
{
	return READ_ONCE(hits);
}
EXPORT_SYMBOL_GPL(test_hold_hit);

/*
 * A probe may run in an NMI, as far as lockdep knows, so lockdep does not track this
 * lock. Its holder hits no probe.
 */
static arch_spinlock_t count_lock = __ARCH_SPIN_LOCK_UNLOCKED;

static unsigned long count_begin(void)
{
	unsigned long flags;

	local_irq_save(flags);
	arch_spin_lock(&count_lock);
	return flags;
}

static void count_end(unsigned long flags)
{
	arch_spin_unlock(&count_lock);
	local_irq_restore(flags);
}

static bool hold_this(void)
{
	unsigned long flags;
	bool mine;

	if (strncmp(current->comm, comm, strlen(comm)))
		return false;
	flags = count_begin();
	mine = READ_ONCE(times) > 0;
	if (mine) {
		WRITE_ONCE(times, times - 1);
		WRITE_ONCE(hits, hits + 1);
	}
	count_end(flags);
	return mine;
}

static void hold(void)
{
	unsigned int i;

	if (!hold_this())
		return;
	for (i = 0; i < ms && !READ_ONCE(go); i++) {
		mdelay(1);
		/* the delay is intended, and much longer on a debug kernel */
		touch_nmi_watchdog();
	}
}

static struct kprobe probe;
static struct kprobe also_probe;

/* Tasks that come back to the text of this module */
static atomic_t inside = ATOMIC_INIT(0);

static void hold_sleep(void)
{
	/* the task may have begun to wait for something else: it checks that again */
	__set_current_state(TASK_RUNNING);
	wait_event_timeout(go_wait, READ_ONCE(go), msecs_to_jiffies(ms));
}

/*
 * As many arguments as registers can hold: a function ignores those that it does not
 * take. The result of a void function is ignored.
 */
typedef unsigned long (*hold_function)(unsigned long a, unsigned long b,
				       unsigned long c, unsigned long d,
				       unsigned long e, unsigned long f);

/* A task on its way to the function, whose probe it must pass; under count_lock */
struct hold_pass {
	struct list_head node;
	const struct task_struct *task;
};

static LIST_HEAD(passes);

static bool hold_passes(void)
{
	struct hold_pass *p;
	unsigned long flags;
	bool found = false;

	flags = count_begin();
	list_for_each_entry(p, &passes, node) {
		found = p->task == current;
		if (found) {
			list_del(&p->node);
			break;
		}
	}
	count_end(flags);
	return found;
}

/* Its probe lets this task pass */
static unsigned long hold_call(unsigned long a, unsigned long b,
			       unsigned long c, unsigned long d,
			       unsigned long e, unsigned long f)
{
	struct hold_pass pass = { .task = current };
	unsigned long flags;

	flags = count_begin();
	list_add(&pass.node, &passes);
	count_end(flags);
	return ((hold_function)probe.addr)(a, b, c, d, e, f);
}

/* Called in the place of the function, which it calls before or after the sleep */
static unsigned long hold_asleep(unsigned long a, unsigned long b,
				 unsigned long c, unsigned long d,
				 unsigned long e, unsigned long f)
{
	unsigned long result = ret;

	if (ret && !late)
		return ret;
	atomic_inc(&inside);
	if (!ret && behind)
		result = hold_call(a, b, c, d, e, f);
	hold_sleep();
	if (!ret && !behind)
		result = hold_call(a, b, c, d, e, f);
	atomic_dec(&inside);
	return result;
}

static unsigned long hold_also(unsigned long a, unsigned long b,
			       unsigned long c, unsigned long d,
			       unsigned long e, unsigned long f)
{
	unsigned long result;

	if (null)
		return 0;
	atomic_inc(&inside);
	hold_sleep();
	/* or it would sleep again */
	hold_go();
	result = ((hold_function)also_probe.addr)(a, b, c, d, e, f);
	atomic_dec(&inside);
	return result;
}

static int hold_pre(struct kprobe *p, struct pt_regs *regs)
{
	if (!asleep) {
		hold();
		return 0;
	}
	/* a softirq has the name of the task that it interrupts; the probe may count as an NMI */
	if (in_serving_softirq() || hold_passes() || !hold_this())
		return 0;
	instruction_pointer_set(regs, (unsigned long)hold_asleep);
	return 1;
}

static int hold_also_pre(struct kprobe *p, struct pt_regs *regs)
{
	if (null ? !READ_ONCE(hits) : READ_ONCE(go))
		return 0;
	instruction_pointer_set(regs, (unsigned long)hold_also);
	return 1;
}

/*
 * A probe with a post handler is not optimised to a jump. With a jump the function would
 * go on after the probe, whatever the pre handler returns.
 */
static void hold_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

static int hold_ret(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	hold();
	return 0;
}

static struct kretprobe ret_probe = { .handler = hold_ret };

static int __init hold_init(void)
{
	int err;

	probe.symbol_name = symbol;
	probe.pre_handler = hold_pre;
	probe.post_handler = asleep ? hold_post : NULL;
	ret_probe.kp.symbol_name = symbol;
	also_probe.symbol_name = also;
	also_probe.pre_handler = hold_also_pre;
	also_probe.post_handler = hold_post;
	if (*also) {
		err = register_kprobe(&also_probe);
		if (err)
			return err;
	}
	err = behind && !asleep ? register_kretprobe(&ret_probe) :
				  register_kprobe(&probe);
	if (err && *also)
		unregister_kprobe(&also_probe);
	return err;
}

static void __exit hold_exit(void)
{
	WRITE_ONCE(times, 0);
	hold_go();
	/* a task that is not counted may have been preempted in the text of this module */
	do {
		while (atomic_read(&inside))
			usleep_range(1000, 2000);
		synchronize_rcu_tasks();
	} while (atomic_read(&inside));
	if (*also)
		unregister_kprobe(&also_probe);
	if (behind && !asleep)
		unregister_kretprobe(&ret_probe);
	else
		unregister_kprobe(&probe);
}

module_init(hold_init);
module_exit(hold_exit);
MODULE_DESCRIPTION("Test: hold a task up");
MODULE_LICENSE("GPL");
