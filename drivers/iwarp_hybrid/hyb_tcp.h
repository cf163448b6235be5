/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Transport layer: the TCP socket under a QP.
 *
 * Owns the socket's callbacks, its private sk_prot (for release_cb) and the
 * rule who may run the transmit and receive engines: whoever holds the
 * spinlock of the socket. While a task owns the socket (lock_sock) the engines
 * wait; release_cb runs them.
 *
 * May call hyb_tx, hyb_rx, TCP; tells hyb_cm by hyb_cep_event().
 */
#ifndef HYB_TCP_H
#define HYB_TCP_H

#include <linux/types.h>
#include <linux/spinlock.h>
#include <linux/interrupt.h>
#include <linux/workqueue.h>
#include <net/sock.h>
#include <rdma/rdma_stack.h>

struct hyb_cep;
struct hyb_qp;
struct mpa_result;
struct net;
struct socket;

/* Bits of hyb_tcp.todo: work left for whoever holds the socket */
enum {
	HYB_TODO_TX,		/* transmit engine */
	HYB_TODO_RX,		/* receive engine */
	HYB_TODO_OOO,		/* a look at the out-of-order queue */
};

/**
 * struct hyb_tcp - a QP's hold on its TCP socket
 * @sk: the socket; set once at attach and referenced until hyb_data_fini(),
 *	so that callers of ib_post_send may lock it at any time
 * @attached: the engines may run; changes only under the socket's spinlock
 * @todo: HYB_TODO_*
 * @later: HYB_TODO_* that @work adds to @todo when it runs
 * @work: runs the engines for callers with interrupts disabled, for callers
 *	  that run inside the engine of another QP, and as a retry timer
 * @batch: runs the receive engine behind the packets that come in at a time
 * @lock: protects hyb_qp.cep; a leaf
 * @cpu: where the consumer ran last
 * @ip: what packets have, if @ip_set; by the rules of rdma_stack_link.set_ip
 * @ip_set: somebody has said so
 */
struct hyb_tcp {
	struct sock *sk;
	bool attached;
	unsigned long todo;
	unsigned long later;
	struct delayed_work work;
	struct tasklet_struct batch;
	spinlock_t lock;	/* hyb_qp.cep */
	int cpu;
	bool ip_set;
	struct rdma_stack_ip ip;
};

/* What says "TCP socket held": by its spinlock, or by the task that owns it */
static inline void hyb_tcp_assert_held(const struct hyb_tcp *t)
{
	lockdep_assert(lockdep_sock_is_held(t->sk));
}

/* Called by the verbs layer: create_qp, and after the last reference */
void hyb_data_init(struct hyb_qp *qp);
void hyb_data_fini(struct hyb_qp *qp);

/**
 * hyb_tcp_here - the consumer is running
 * @qp: queue pair
 *
 * Notes where, for those who bring packets to a CPU: RFS, filters, NICs. TCP would
 * by recvmsg() and sendmsg(), which nobody calls.
 *
 * Context: any; only calls of tasks count, and not those of work items.
 */
void hyb_tcp_here(struct hyb_qp *qp);

/**
 * hyb_tcp_kick - run an engine now, or leave that to the socket's holder
 * @qp: queue pair; nothing happens unless it is connected
 * @todo: HYB_TODO_*
 *
 * Context: any.
 */
void hyb_tcp_kick(struct hyb_qp *qp, int todo);

/* Run an engine again after @delay jiffies. Context: any. */
void hyb_tcp_retry(struct hyb_qp *qp, int todo, unsigned long delay);

/**
 * hyb_tcp_enter - take the spinlock of the socket
 * @qp: queue pair
 *
 * Not for callers from inside of an engine.
 *
 * Context: process or softirq, interrupts enabled.
 * Return: the socket; NULL if the queue pair was never connected; -EAGAIN if
 * an engine runs on this CPU: locks of two sockets are not nested.
 */
struct sock *hyb_tcp_enter(struct hyb_qp *qp);

/* Release it; before, if @run, transmit what can be transmitted */
void hyb_tcp_leave(struct hyb_qp *qp, struct sock *sk, bool run);

/* Run an engine; between the above, unless a task owns the socket */
void hyb_tcp_run_todo(struct hyb_qp *qp, int todo);

/*
 * Look at the out-of-order queue, or leave that to the socket's holder. Called
 * from within TCP, hence no other engine is run.
 */
void hyb_tcp_look(struct sock *sk, struct hyb_qp *qp);

/* Packets that wait for a device which does not send are not waited for longer */
#define HYB_TCP_RECALL	(2 * HZ)

/* Called by the connection manager, in process context */
int hyb_tcp_create(struct net *net, int family, struct socket **res);
void hyb_tcp_adopt(struct hyb_cep *cep, struct socket *sock);
void hyb_tcp_use_ip(struct hyb_qp *qp, struct sock *sk);
void hyb_tcp_set_ip(struct hyb_qp *qp, const struct rdma_stack_ip *ip);
int hyb_tcp_attach(struct hyb_cep *cep, struct hyb_qp *qp,
		   const struct mpa_result *res, const u8 *frame, size_t len);
void hyb_tcp_drain(struct hyb_cep *cep, struct hyb_qp *qp);
void hyb_tcp_detach(struct hyb_cep *cep, struct hyb_qp *qp);
void hyb_tcp_release(struct hyb_cep *cep, bool reset);
void hyb_tcp_recall(struct hyb_cep *cep, struct hyb_qp *qp);

int hyb_tcp_init(void);
void hyb_tcp_exit(void);

#endif
