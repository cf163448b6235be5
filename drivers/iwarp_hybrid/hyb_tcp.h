/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Transport layer: the TCP socket under a QP.
 *
 * Owns the socket's callbacks, its private sk_prot (for release_cb) and the
 * rule who may run the transmit and receive engines: whoever holds the
 * socket, that is its spinlock while nobody owns it, or its ownership.
 * May call hyb_tx, hyb_rx and hyb_cm (upcalls on loss of the connection).
 */
#ifndef HYB_TCP_H
#define HYB_TCP_H

#include <linux/types.h>
#include <linux/workqueue.h>
#include <net/sock.h>

struct hyb_qp;
struct hyb_cep;

/* Bits of hyb_tcp.todo: work left for whoever releases the socket */
enum {
	HYB_TODO_TX,		/* transmit engine */
	HYB_TODO_RX,		/* receive engine (a receive was posted) */
};

/**
 * struct hyb_tcp - a QP's hold on its TCP socket
 * @sk: the socket; set once at attach and referenced until hyb_data_fini(),
 *	so that callers of ib_post_send may lock it at any time
 * @todo: HYB_TODO_*; drained by release_cb or by @work
 * @work: runs @todo for callers with interrupts disabled, or who already hold
 *	  the lock of another connection
 * @holder: CPU that runs an engine under the socket's spinlock, else -1
 */
struct hyb_tcp {
	struct sock *sk;
	unsigned long todo;
	struct work_struct work;
	int holder;
};

/* Called by the verbs layer */
void hyb_data_init(struct hyb_qp *qp);
void hyb_data_fini(struct hyb_qp *qp);

/* Called by the connection manager */
int hyb_tcp_create(struct net *net, int family, struct socket **res);
void hyb_tcp_adopt(struct socket *sock, struct hyb_cep *cep);
int hyb_tcp_attach(struct hyb_cep *cep, struct hyb_qp *qp);
void hyb_tcp_release(struct hyb_cep *cep);

/* Run the engines named in @todo now, or leave them to the lock's holder */
void hyb_tcp_kick(struct hyb_qp *qp, int todo);

int hyb_tcp_init(void);
void hyb_tcp_exit(void);

#endif
