// SPDX-License-Identifier: GPL-2.0
/*
 * Threads of the engines. Calls the kernel only.
 *
 * A thread sleeps until it is kicked and works in runs. The time of each run is
 * added to what the device calls NIC time. Bottom halves are disabled
 * meanwhile, so the thread is neither preempted nor does it run softirqs there;
 * only interrupt handlers, which are short, can interrupt it.
 */
#include <linux/kthread.h>
#include <linux/sched.h>

#include "hnic.h"

/* One run; returns as hnic_engine.run() */
static u64 hnic_engine_once(struct hnic_engine *e)
{
	u64 start, next;

	local_bh_disable();
	rcu_read_lock();
	start = ktime_get_ns();
	u64_stats_update_begin(&e->sync);
	next = e->run(e->dev, start);
	*e->ns += ktime_get_ns() - start;
	u64_stats_update_end(&e->sync);
	e->after(e->dev);
	rcu_read_unlock();
	local_bh_enable();
	return next;
}

static void hnic_engine_sleep(struct hnic_engine *e, u64 until)
{
	ktime_t expires = ns_to_ktime(until);

	set_current_state(TASK_INTERRUPTIBLE);
	if (test_bit(HNIC_ENGINE_KICKED, &e->flags) || kthread_should_stop()) {
		__set_current_state(TASK_RUNNING);
		return;
	}
	if (until == KTIME_MAX)
		schedule();
	else
		schedule_hrtimeout_range(&expires, 0, HRTIMER_MODE_ABS);
}

/*
 * Linux 7 lets a new thread run anywhere, whatever its creator has set, so the thread pins
 * itself; again if hnic_engine_pin() has chosen another CPU meanwhile.
 */
static void hnic_engine_begin(const struct hnic_engine *e)
{
	int cpu, set = -1;

	while ((cpu = READ_ONCE(e->cpu)) != set) {
		set_cpus_allowed_ptr(current, hnic_cpus(cpu));
		set = cpu;
	}
}

static int hnic_engine_fn(void *arg)
{
	struct hnic_engine *e = arg;
	u64 next;

	hnic_engine_begin(e);
	while (!kthread_should_stop()) {
		clear_bit(HNIC_ENGINE_KICKED, &e->flags);
		/* pairs with the bit being set in hnic_engine_kick() */
		smp_mb__after_atomic();
		next = hnic_engine_once(e);
		if (next)
			hnic_engine_sleep(e, next);
		else
			cond_resched();
	}
	return 0;
}

void hnic_engine_init(struct hnic_engine *e, struct hnic_dev *dev)
{
	e->dev = dev;
	e->cpu = -1;
	spin_lock_init(&e->lock);
	u64_stats_init(&e->sync);
}

/**
 * hnic_engine_start() - create the thread
 * @e: engine
 * @name: of the thread
 *
 * Context: process, hnic_dev.lock held.
 * Return: 0 or a negative error.
 */
int hnic_engine_start(struct hnic_engine *e, const char *name)
{
	struct task_struct *task;

	lockdep_assert_held(&e->dev->lock);
	task = kthread_create(hnic_engine_fn, e, "%s", name);
	if (IS_ERR(task))
		return PTR_ERR(task);
	spin_lock_irq(&e->lock);
	e->task = task;
	spin_unlock_irq(&e->lock);
	wake_up_process(task);
	return 0;
}

/* Context: process, hnic_dev.lock held */
void hnic_engine_stop(struct hnic_engine *e)
{
	struct task_struct *task;

	lockdep_assert_held(&e->dev->lock);
	spin_lock_irq(&e->lock);
	task = e->task;
	e->task = NULL;
	spin_unlock_irq(&e->lock);
	if (task)
		kthread_stop(task);
}

/**
 * hnic_engine_kick() - there is something to do
 * @e: engine, which may be stopped
 *
 * Context: any.
 */
void hnic_engine_kick(struct hnic_engine *e)
{
	unsigned long flags;

	/* Full barrier: new work is seen before or after this */
	if (test_and_set_bit(HNIC_ENGINE_KICKED, &e->flags))
		return;
	spin_lock_irqsave(&e->lock, flags);
	if (e->task)
		wake_up_process(e->task);
	spin_unlock_irqrestore(&e->lock, flags);
}

/**
 * hnic_engine_pin() - choose the CPU of an engine
 * @e: engine
 * @cpu: online CPU, or -1 for any
 *
 * Context: process, hnic_dev.lock held.
 * Return: 0 or a negative error.
 */
int hnic_engine_pin(struct hnic_engine *e, int cpu)
{
	int was = e->cpu, ret = 0;

	lockdep_assert_held(&e->dev->lock);
	/* before pinning, see hnic_engine_begin() */
	WRITE_ONCE(e->cpu, cpu);
	if (e->task)
		ret = set_cpus_allowed_ptr(e->task, hnic_cpus(cpu));
	if (ret)
		WRITE_ONCE(e->cpu, was);
	return ret;
}
