/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ulp_load.ko: many connections, and much over one of them, by verbs of the
 * kernel over any device. From top to bottom:
 *
 *	load_main.c	module, tests
 *	load_flow.c	what goes over a connection
 *	load_side.c	whose work is it?
 *	load_conn.c	connections
 *	load_tcp.c	connections of TCP, to compare with
 */
#ifndef _ULP_LOAD_H
#define _ULP_LOAD_H

#include <linux/completion.h>
#include <linux/scatterlist.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "../lib/ktest.h"

#define UL_BUF		(1024 * 1024)
#define UL_DEPTH	16	/* requests under way */

/**
 * struct ul_side - what all connections of one end share
 * @pd: protection domain
 * @cq: completion queue
 * @buf: UL_BUF bytes
 * @dma: their address for the device
 */
struct ul_side {
	struct ib_pd *pd;
	struct ib_cq *cq;
	void *buf;
	u64 dma;
};

/**
 * struct ul_end - one end of a connection
 * @id: of the connection manager, with its queue pair
 * @side: which one
 * @step: the step of connection set-up at hand
 */
struct ul_end {
	struct rdma_cm_id *id;
	struct ul_side *side;
	struct kt_step step;
};

struct ul_conn {
	struct ul_end a;	/* connects */
	struct ul_end b;	/* accepts */
};

/* load_conn.c */
extern struct ul_conn *ul_conns;
extern u32 ul_count;

int ul_listen(const char *args);
void ul_unlisten(void);
int ul_open(struct sockaddr_in *peer, u32 count);
void ul_close(void);

/* load_main.c */
extern bool ul_marks;
extern bool ul_side_marks;

/* Of which end of the connection */
enum ul_whose { UL_NOBODY, UL_A, UL_B };

/* load_side.c */
void ul_work_of(enum ul_whose whose);
int ul_sides_up(void);
void ul_sides_down(void);

/* load_flow.c */
int ul_touch(struct ul_conn *c);
int ul_flow(struct ul_conn *c, const char *what, u32 size, u32 count,
	    u64 *nsecs);

/* load_tcp.c */
int ul_tcp(struct sockaddr_in *addr, u32 count);

#endif
