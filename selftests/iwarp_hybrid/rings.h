/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * hyb-rings: shared declarations.
 *
 *	rings.c		the rings that it shares with the driver
 *	rings_calls.c	calls of uverbs and of the connection manager
 */
#ifndef SELFTESTS_IWARP_RINGS_H
#define SELFTESTS_IWARP_RINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <rdma/rdma_cma.h>
#include <rdma/siw-abi.h>

/* Sizes for which every ring has a number of pages of its own */
#define SEND_WR 256
#define RECV_WR 64
#define SQ_PAGES 8
#define SEND_CQ_PAGES 3
#define RQ_PAGES 2
#define RECV_CQ_PAGES 1
#define MAX_PAGES 9

#define MESSAGE 256

struct conn {
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	unsigned char buf[MESSAGE];
	unsigned char *ring[MAX_PAGES];
};

extern const struct rdma_conn_param conn_param;

void result(bool ok, const char *what);
void skipped(const char *what, const char *why);

/* A route to the target, and a queue pair if it is wanted */
struct rdma_cm_id *open_id(struct ibv_qp_init_attr *attr);
int open_conn(struct conn *c);
int connect_to_target(struct conn *c);
void disconnect(struct conn *c);
/* The call of the verbs library after it has written to the send queue */
void doorbell(struct conn *c);

/* rings_calls.c */
void calls_tests(void);

#endif /* SELFTESTS_IWARP_RINGS_H */
