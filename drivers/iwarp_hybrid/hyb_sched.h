/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The socket of a queue pair and the rule for its engines: the holder of the
 * socket's spinlock runs them. While a task owns the socket (lock_sock) the engines
 * wait; release_cb runs them.
 */
#ifndef HYB_SCHED_H
#define HYB_SCHED_H

#include <linux/types.h>

struct hyb_qp;
struct rdma_stack_ip;
struct sock;

/**
 * struct hyb_engine_ops - the engines of a queue pair
 * @rx: walks over what has come in
 * @ooo: looks at the out-of-order queue
 * @tx: transmits what can be transmitted
 * @flush: flushes what was posted to the queues after the engines had stopped
 *
 * The transport layer registers them. Context: spinlock of the socket held, but not for
 * @flush, which the work item calls without a lock.
 */
struct hyb_engine_ops {
	void (*rx)(struct hyb_qp *qp);
	void (*ooo)(struct hyb_qp *qp);
	void (*tx)(struct hyb_qp *qp);
	void (*flush)(struct hyb_qp *qp);
};

/* Called for a new queue pair */
void hyb_sched_init_qp(struct hyb_qp *qp);

/* Called for one that is destroyed, without a connection */
void hyb_sched_fini_qp(struct hyb_qp *qp);

/**
 * hyb_sched_here - the consumer is running
 * @qp: queue pair
 *
 * Notes its CPU, for RFS, filters and NICs. TCP does this in recvmsg() and sendmsg(),
 * which are not called here.
 *
 * Context: any; only calls of tasks count, and not those of work items.
 */
void hyb_sched_here(struct hyb_qp *qp);

/**
 * hyb_sched_kick - run an engine now, or leave that to the socket's holder or a work item
 * @qp: queue pair; nothing happens unless it is connected
 * @todo: HYB_TODO_*
 *
 * Context: any.
 */
void hyb_sched_kick(struct hyb_qp *qp, int todo);

/* Run an engine again after @delay jiffies. Context: any. */
void hyb_sched_retry(struct hyb_qp *qp, int todo, unsigned long delay);

/**
 * hyb_sched_enter - take the spinlock of the socket
 * @qp: queue pair
 *
 * Not for callers from inside of an engine.
 *
 * Context: process or softirq, interrupts enabled.
 * Return: the socket; NULL if the queue pair was never connected; -EAGAIN if
 * an engine runs on this CPU: locks of two sockets are not nested.
 */
struct sock *hyb_sched_enter(struct hyb_qp *qp);

/* Release it; before, if @run, transmit what can be transmitted */
void hyb_sched_leave(struct hyb_qp *qp, struct sock *sk, bool run);

/* Run an engine, between the two above; a task that owns the socket does so when it releases it */
void hyb_sched_run_todo(struct hyb_qp *qp, int todo);

/*
 * Look at the out-of-order queue, or leave that to the socket's holder. Called
 * from within TCP, hence no other engine is run.
 */
void hyb_sched_look(struct sock *sk, struct hyb_qp *qp);

/**
 * hyb_sched_kick_tx - transmit what the queues of a QP hold
 * @qp: queue pair; nothing happens when it is not connected
 *
 * Context: any. Transmits at once when the socket is free, else the holder
 * of the socket does. The caller must not hold a lock that is also taken
 * under a TCP lock (by completion handlers).
 */
void hyb_sched_kick_tx(struct hyb_qp *qp);

/**
 * hyb_sched_kick_rx - a receive was posted: go on if reception waited for it
 * @qp: queue pair
 *
 * Context: any; the rules of hyb_sched_kick_tx().
 */
void hyb_sched_kick_rx(struct hyb_qp *qp);

/* Called by hyb_tcp with the socket held; hyb_sched_run() needs its spinlock */
void hyb_sched_run(struct hyb_qp *qp);
void hyb_sched_callback(struct sock *sk, struct hyb_qp *qp, int todo);

/* IP options of packets; see <rdma/rdma_stack.h> */
void hyb_sched_use_ip(struct hyb_qp *qp, struct sock *sk);
void hyb_sched_set_ip(struct hyb_qp *qp, const struct rdma_stack_ip *ip);

/* See rdma_stack_link.tx_wait */
void hyb_sched_wait(struct hyb_qp *qp);

int hyb_sched_init(const struct hyb_engine_ops *engines);
void hyb_sched_exit(void);

#endif
