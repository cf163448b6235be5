/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Transport layer: the TCP socket under a QP.
 *
 * Owns the socket's callbacks and its private sk_prot (for release_cb), attaches
 * the engines to the socket and detaches them. hyb_sched runs them. Notifies the
 * connection manager by hyb_cep_event().
 */
#ifndef HYB_TCP_H
#define HYB_TCP_H

#include <linux/types.h>

struct hyb_cep;
struct hyb_qp;
struct mpa_result;
struct net;
struct sock;
struct socket;

/* Called by the verbs layer, after the last reference */
void hyb_tcp_fini_qp(struct hyb_qp *qp);

/* Called by the connection manager, in process context; with @cep its lock is held */
int hyb_tcp_create(struct net *net, int family, struct socket **res);
int hyb_tcp_adopt(struct hyb_cep *cep, struct socket *sock);
int hyb_tcp_send_frame(struct sock *sk, const u8 *frame, size_t len);
int hyb_tcp_attach(struct hyb_cep *cep, struct hyb_qp *qp,
		   const struct mpa_result *res, const u8 *frame, size_t len);
void hyb_tcp_drain(struct hyb_cep *cep, struct hyb_qp *qp);
void hyb_tcp_detach(struct hyb_cep *cep, struct hyb_qp *qp);
void hyb_tcp_release(struct hyb_cep *cep, bool reset);
bool hyb_tcp_recall(struct hyb_cep *cep, struct hyb_qp *qp);
void hyb_tcp_recall_wait(struct hyb_qp *qp, unsigned long end);

int hyb_tcp_init(void);
void hyb_tcp_exit(void);

#endif
