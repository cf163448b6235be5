// SPDX-License-Identifier: GPL-2.0
/*
 * Scheduling of the engines of a queue pair. See hyb_sched.h.
 *
 * In steady state no task owns the socket: TCP's softirq and the callers of
 * ib_post_send() take its spinlock for a short time. Set-up, tear-down and changes
 * of settings use lock_sock(). An engine hence runs
 *  - in data_ready, write_space or queue_xmit, called by TCP with the spinlock held,
 *  - in hyb_sched_kick(), between hyb_sched_enter() and hyb_sched_leave(), in
 *    hyb_tcp_detach(), in the work item and in the tasklet of the queue pair, which
 *    take the spinlock,
 *  - in release_cb, if the socket was owned when there was something to do.
 * An engine may call completion handlers, and these may post work. Posting to
 * the same QP finds @hyb_sched_running set and leaves the work to the running loop.
 * Posting to another QP is deferred: the locks of two sockets are not nested.
 *
 * Uses hyb_wq of hyb_obj.c; calls the engines by pointers (struct hyb_engine_ops).
 */
#include <linux/indirect_call_wrapper.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <net/inet_ecn.h>
#include <net/tcp.h>

#include "compat.h"
#ifdef HAVE_NET_RPS_H
#include <net/rps.h>
#endif
#include "hyb_idle.h"
#include "hyb_ooo.h"
#include "hyb_rx.h"
#include "hyb_sched.h"
#include "hyb_stream.h"
#include "hyb_tx.h"
#include "hybrid.h"

/* Between two attempts to reclaim memory for a stream, jiffies */
#define HYB_RECLAIM_MIN		(HZ / 50 + 1)
#define HYB_RECLAIM_MAX		HZ

/* QP whose engine runs on this CPU, bottom halves being disabled */
static DEFINE_PER_CPU(struct hyb_qp *, hyb_sched_running);

static struct workqueue_struct *hyb_sched_wq;
static struct workqueue_struct *hyb_reclaim_wq;
static const struct hyb_engine_ops *hyb_sched_engines __ro_after_init;

/* The names in INDIRECT_CALL_1() are hints: the call is direct if the pointer is that one */
static void hyb_sched_rx(struct hyb_qp *qp)
{
	INDIRECT_CALL_1(hyb_sched_engines->rx, hyb_rx_run, qp);
}

static void hyb_sched_ooo(struct hyb_qp *qp)
{
	INDIRECT_CALL_1(hyb_sched_engines->ooo, hyb_ooo_look, qp);
}

static void hyb_sched_tx(struct hyb_qp *qp)
{
	INDIRECT_CALL_1(hyb_sched_engines->tx, hyb_tx_run, qp);
}

/* Put the queue pair on the list that hyb_idle visits. Context: spinlock of the socket held. */
static void hyb_sched_busy(struct hyb_qp *qp)
{
	struct hyb_dev *dev = qp->dev;

	spin_lock(&dev->busy_lock);
	if (list_empty(&dev->busy))
		queue_delayed_work(hyb_wq, &dev->idle, HYB_IDLE_PERIOD);
	list_add_tail(&qp->busy_node, &dev->busy);
	qp->busy = true;
	spin_unlock(&dev->busy_lock);
}

/**
 * hyb_sched_run - run the engines until there is nothing left to do
 * @qp: queue pair, not running on this CPU
 *
 * The receive engine may take less in a round than has arrived; then it has left
 * the rest to the work item.
 *
 * Context: spinlock of the socket held, hence bottom halves disabled.
 */
void hyb_sched_run(struct hyb_qp *qp)
{
	struct hyb_tcp *t = &qp->tcp;

	lockdep_assert_held(&t->sk->sk_lock.slock);
	__this_cpu_write(hyb_sched_running, qp);
	qp->rx.budget = HYB_RX_BUDGET;
	if (unlikely(!qp->busy))
		hyb_sched_busy(qp);
	while (READ_ONCE(t->todo)) {
		if (test_and_clear_bit(HYB_TODO_RX, &t->todo) && t->attached)
			hyb_sched_rx(qp);
		if (test_and_clear_bit(HYB_TODO_OOO, &t->todo) &&
		    t->attached && qp->ooo)
			hyb_sched_ooo(qp);
		if (test_and_clear_bit(HYB_TODO_TX, &t->todo) && t->attached)
			hyb_sched_tx(qp);
	}
	__this_cpu_write(hyb_sched_running, NULL);
}

/* As hyb_sched_run(), for callbacks: a task that owns the socket runs it later */
void hyb_sched_callback(struct sock *sk, struct hyb_qp *qp, int todo)
{
	struct hyb_qp *running;

	set_bit(todo, &qp->tcp.todo);
	if (sock_owned_by_user(sk))
		return;
	running = __this_cpu_read(hyb_sched_running);
	if (!running)
		hyb_sched_run(qp);
	else if (running != qp)
		hyb_sched_retry(qp, todo, 0);
}

void hyb_sched_look(struct sock *sk, struct hyb_qp *qp)
{
	struct hyb_qp *running;

	set_bit(HYB_TODO_OOO, &qp->tcp.todo);
	if (sock_owned_by_user(sk))
		return;
	running = __this_cpu_read(hyb_sched_running);
	if (running == qp)
		return;
	clear_bit(HYB_TODO_OOO, &qp->tcp.todo);
	if (running) {
		hyb_sched_retry(qp, HYB_TODO_OOO, 0);
		return;
	}
	__this_cpu_write(hyb_sched_running, qp);
	if (unlikely(!qp->busy))
		hyb_sched_busy(qp);
	if (qp->tcp.attached)
		hyb_sched_ooo(qp);
	__this_cpu_write(hyb_sched_running, NULL);
}

static void hyb_sched_lock_and_run(struct hyb_qp *qp, struct sock *sk)
{
	bh_lock_sock(sk);
	/* an owner sees todo in release_cb: it was set before we got here */
	if (!sock_owned_by_user(sk))
		hyb_sched_run(qp);
	bh_unlock_sock(sk);
}

void hyb_sched_retry(struct hyb_qp *qp, int todo, unsigned long delay)
{
	struct delayed_work *work = &qp->tcp.work;

	/* not in todo: a running engine would handle it at once, in an endless loop */
	set_bit(todo, &qp->tcp.later);
	if (delay && queue_delayed_work(hyb_sched_wq, work, delay))
		return;
	/* the work may be queued already for a poll of receives that is due much later */
	if (!delay || (timer_pending(&work->timer) &&
		       time_after(READ_ONCE(work->timer.expires), jiffies + delay)))
		mod_delayed_work(hyb_sched_wq, work, delay);
}

void hyb_sched_here(struct hyb_qp *qp)
{
	/* pairs with hyb_tcp_start() */
	struct sock *sk = smp_load_acquire(&qp->tcp.sk);
	int cpu = raw_smp_processor_id();

	/*
	 * work items mostly run on the CPU that received the packets, so they say nothing about
	 * the consumer
	 */
	if (!in_task() || current->flags & PF_WQ_WORKER)
		return;
	if (READ_ONCE(qp->tcp.cpu) != cpu)
		WRITE_ONCE(qp->tcp.cpu, cpu);
	if (sk)
		sock_rps_record_flow(sk);
}

void hyb_sched_kick(struct hyb_qp *qp, int todo)
{
	/* pairs with hyb_tcp_start(): the engines' state is set up */
	struct sock *sk = smp_load_acquire(&qp->tcp.sk);
	struct hyb_qp *running;

	hyb_sched_here(qp);
	if (!sk)
		return;
	if (irqs_disabled() || in_hardirq()) {
		hyb_stats_inc(qp->dev, todo == HYB_TODO_TX ?
			      HYB_ST_TX_DEFERRED : HYB_ST_RX_DEFERRED);
		hyb_sched_retry(qp, todo, 0);
		return;
	}

	local_bh_disable();
	running = __this_cpu_read(hyb_sched_running);
	if (!running) {
		set_bit(todo, &qp->tcp.todo);
		hyb_sched_lock_and_run(qp, sk);
	} else if (running == qp) {
		set_bit(todo, &qp->tcp.todo);
	} else {
		hyb_stats_inc(qp->dev, todo == HYB_TODO_TX ?
			      HYB_ST_TX_DEFERRED : HYB_ST_RX_DEFERRED);
		hyb_sched_retry(qp, todo, 0);
	}
	local_bh_enable();
}

struct sock *hyb_sched_enter(struct hyb_qp *qp)
{
	/* pairs with hyb_tcp_start() */
	struct sock *sk = smp_load_acquire(&qp->tcp.sk);

	if (!sk)
		return NULL;
	local_bh_disable();
	if (unlikely(__this_cpu_read(hyb_sched_running))) {
		local_bh_enable();
		return ERR_PTR(-EAGAIN);
	}
	bh_lock_sock(sk);
	/* sparse cannot track a lock that is held conditionally */
	__release(&sk->sk_lock.slock);
	return sk;
}

void hyb_sched_run_todo(struct hyb_qp *qp, int todo)
{
	set_bit(todo, &qp->tcp.todo);
	/* an owner sees it in release_cb */
	if (!sock_owned_by_user(qp->tcp.sk))
		hyb_sched_run(qp);
}

void hyb_sched_leave(struct hyb_qp *qp, struct sock *sk, bool run)
{
	__acquire(&sk->sk_lock.slock);	/* by hyb_sched_enter() */
	if (run)
		hyb_sched_run_todo(qp, HYB_TODO_TX);
	bh_unlock_sock(sk);
	local_bh_enable();
}

/* An attempt to reclaim memory; has a reference of the queue pair */
struct hyb_reclaim {
	struct work_struct work;
	struct hyb_qp *qp;
};

static void hyb_sched_reclaim(struct work_struct *work)
{
	struct hyb_reclaim *r = container_of(work, struct hyb_reclaim, work);
	struct hyb_tcp *t = &r->qp->tcp;
	u32 wait = HYB_RECLAIM_MIN;

	if (!hyb_stream_reclaim(&r->qp->tx.s))
		wait = clamp_t(u32, 2 * t->reclaim_wait, HYB_RECLAIM_MIN,
			       HYB_RECLAIM_MAX);
	t->reclaim_wait = wait;
	t->reclaim_from = jiffies;
	smp_store_release(&t->reclaims, false);	/* pairs with hyb_sched_lacks() */
	hyb_qp_put(r->qp);
	kfree(r);
}

/*
 * The stream had no page. To reclaim memory takes time, and sleeps where the control group is
 * above memory.high. So it has work items of its own, of normal priority, and they come less
 * often as long as there is nothing to reclaim.
 */
static void hyb_sched_lacks(struct hyb_qp *qp)
{
	struct hyb_tcp *t = &qp->tcp;
	struct hyb_reclaim *r;

	/* pairs with hyb_sched_reclaim() */
	if (smp_load_acquire(&t->reclaims) ||
	    (u32)jiffies - t->reclaim_from < t->reclaim_wait)
		return;
	r = kmalloc(sizeof(*r), GFP_NOWAIT | __GFP_NOWARN);
	if (!r)
		return;
	if (!kref_get_unless_zero(&qp->ref)) {
		kfree(r);
		return;
	}
	INIT_WORK(&r->work, hyb_sched_reclaim);
	r->qp = qp;
	t->reclaims = true;
	queue_work(hyb_reclaim_wq, &r->work);
}

static void hyb_sched_work(struct work_struct *work)
{
	struct hyb_tcp *t = container_of(to_delayed_work(work),
					 struct hyb_tcp, work);
	struct hyb_qp *qp = container_of(t, struct hyb_qp, tcp);

	/* also of a queue pair that was never connected */
	if (test_and_clear_bit(HYB_TODO_FLUSH, &t->later))
		hyb_sched_engines->flush(qp);
	if (!t->sk)
		return;
	if (unlikely(READ_ONCE(qp->tx.s.lacks)))
		hyb_sched_lacks(qp);
	if (test_and_clear_bit(HYB_TODO_RX, &t->later))
		set_bit(HYB_TODO_RX, &t->todo);
	if (test_and_clear_bit(HYB_TODO_TX, &t->later))
		set_bit(HYB_TODO_TX, &t->todo);
	if (test_and_clear_bit(HYB_TODO_OOO, &t->later))
		set_bit(HYB_TODO_OOO, &t->todo);
	local_bh_disable();
	hyb_sched_lock_and_run(qp, t->sk);
	local_bh_enable();
}

static void hyb_sched_batch(struct tasklet_struct *batch)
{
	struct hyb_qp *qp = container_of(batch, struct hyb_qp, tcp.batch);

	set_bit(HYB_TODO_RX, &qp->tcp.todo);
	hyb_sched_lock_and_run(qp, qp->tcp.sk);
}

/**
 * hyb_sched_init_qp - initialise what the data path keeps in a QP
 * @qp: zeroed queue pair
 */
void hyb_sched_init_qp(struct hyb_qp *qp)
{
	spin_lock_init(&qp->tcp.lock);
	INIT_LIST_HEAD(&qp->busy_node);
	qp->tcp.cpu = raw_smp_processor_id();
	INIT_DELAYED_WORK(&qp->tcp.work, hyb_sched_work);
	tasklet_setup(&qp->tcp.batch, hyb_sched_batch);
}

/**
 * hyb_sched_fini_qp - no engine runs any more
 * @qp: queue pair that is being destroyed
 *
 * Context: process, sleeps.
 */
void hyb_sched_fini_qp(struct hyb_qp *qp)
{
	struct hyb_dev *dev = qp->dev;

	cancel_delayed_work_sync(&qp->tcp.work);
	tasklet_kill(&qp->tcp.batch);
	spin_lock_bh(&dev->busy_lock);
	list_del_init(&qp->busy_node);
	spin_unlock_bh(&dev->busy_lock);
}

static u8 *hyb_sched_tos(struct sock *sk)
{
	return sk->sk_family == AF_INET6 ? &inet6_sk(sk)->tclass :
					   &inet_sk(sk)->tos;
}

/**
 * hyb_sched_use_ip - apply the IP options that hyb_sched_set_ip() has stored
 * @qp: queue pair
 * @sk: its socket, owned
 */
void hyb_sched_use_ip(struct hyb_qp *qp, struct sock *sk)
{
	const struct rdma_stack_ip *ip = &qp->tcp.ip;
	u8 *tos = hyb_sched_tos(sk);
	u8 val;

	sock_owned_by_me(sk);
	if (!qp->tcp.ip_set)
		return;
	WRITE_ONCE(sk->sk_priority, ip->priority);
	if (sk->sk_family == AF_INET6)
		inet6_sk(sk)->hop_limit = ip->ttl;
	else
		WRITE_ONCE(inet_sk(sk)->uc_ttl, ip->ttl);
	val = (ip->tos & ~INET_ECN_MASK) | (*tos & INET_ECN_MASK);
	if (sk->sk_mark == ip->mark && *tos == val)
		return;
	WRITE_ONCE(sk->sk_mark, ip->mark);
	WRITE_ONCE(*tos, val);
	/* policy routing may depend on these */
	sk_dst_reset(sk);
}

/**
 * hyb_sched_set_ip - set IP options of packets
 * @qp: queue pair
 * @ip: the options
 *
 * hyb_cep_set_sock() and hyb_tcp_attach() apply them to a socket that comes later.
 *
 * Context: process; see rdma_stack_link.set_ip.
 */
void hyb_sched_set_ip(struct hyb_qp *qp, const struct rdma_stack_ip *ip)
{
	/* pairs with hyb_tcp_start() */
	struct sock *sk = smp_load_acquire(&qp->tcp.sk);

	qp->tcp.ip = *ip;
	qp->tcp.ip_set = true;
	if (!sk)
		return;
	lock_sock(sk);
	hyb_sched_use_ip(qp, sk);
	release_sock(sk);
}

/**
 * hyb_sched_wait - wait until no task owns the socket
 * @qp: queue pair
 *
 * Context: process, sleeps.
 */
void hyb_sched_wait(struct hyb_qp *qp)
{
	/* pairs with hyb_tcp_start(); referenced until hyb_tcp_fini_qp() */
	struct sock *sk = smp_load_acquire(&qp->tcp.sk);

	if (!sk)
		return;
	lock_sock(sk);
	release_sock(sk);
}

void hyb_sched_kick_rx(struct hyb_qp *qp)
{
	hyb_sched_here(qp);
	if (READ_ONCE(qp->rx.paused))
		hyb_sched_kick(qp, HYB_TODO_RX);
}

void hyb_sched_kick_tx(struct hyb_qp *qp)
{
	hyb_sched_kick(qp, HYB_TODO_TX);
}

/**
 * hyb_sched_init - before the first queue pair
 * @engines: to be run
 *
 * Return: 0 or -ENOMEM.
 */
int __init hyb_sched_init(const struct hyb_engine_ops *engines)
{
	hyb_sched_engines = engines;
	hyb_reclaim_wq = alloc_workqueue("hyb_reclaim", WQ_UNBOUND, 0);
	if (!hyb_reclaim_wq)
		return -ENOMEM;
	hyb_sched_wq = alloc_workqueue("hyb_tcp", WQ_PERCPU | WQ_HIGHPRI |
				       WQ_MEM_RECLAIM, 0);
	if (hyb_sched_wq)
		return 0;
	destroy_workqueue(hyb_reclaim_wq);
	return -ENOMEM;
}

void hyb_sched_exit(void)
{
	destroy_workqueue(hyb_sched_wq);
	destroy_workqueue(hyb_reclaim_wq);
}
