/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ulp_load.ko: many connections, and much over one of them, by verbs of the
 * kernel over any device. From top to bottom:
 *
 *	load_main.c	module, tests
 *	load_flow.c	requests that go over a connection
 *	load_ping.c	Writes to and fro, noticed by looking at memory
 *	load_mem.c	buffers and regions of requests
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
#define UL_WINDOW	128	/* most of them, over a connection alone */
#define UL_BUFS		64	/* buffers in turn */
/* each may be in a new region: invalidate, register, send */
#define UL_QUEUE	(3 * UL_WINDOW)

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

/**
 * struct ul_opts - how a test is run
 * @size: bytes of a request
 * @count: number of requests
 * @window: requests under way at most; half of them are posted when half of them
 *	    have completed. 0: UL_DEPTH, one for one
 * @bufs: buffers of each end in turn
 * @reuse: per cent of the requests that are in the first buffer, the others are in
 *	   new regions; -1: all
 * @spin: ns of computation before each request
 * @both: both ends are active
 */
struct ul_opts {
	u32 size;
	u32 count;
	u32 window;
	u32 bufs;
	int reuse;
	u32 spin;
	bool both;
};

/**
 * struct ul_buf - a buffer
 * @mem: its memory
 * @dma: address for the device
 * @mr: region of it, or NULL
 */
struct ul_buf {
	void *mem;
	u64 dma;
	struct ib_mr *mr;
};

#define UL_REGION	1
#define UL_OWN		2

/**
 * struct ul_bufs - buffers of one end
 * @e: the end
 * @flags: UL_REGION, UL_OWN
 * @size: bytes of each, whole pages
 * @n: number of them
 * @next: in turn
 * @sum: per cent of reuse, added up
 * @buf: the buffers
 */
struct ul_bufs {
	struct ul_end *e;
	unsigned int flags;
	u32 size;
	u32 n;
	u32 next;
	u32 sum;
	struct ul_buf buf[UL_BUFS];
};

/* A request that a task waits for */
struct ul_wait {
	struct ib_cqe cqe;
	struct completion done;
	enum ib_wc_status status;
};

/* load_conn.c */
extern struct ul_conn *ul_conns;
extern u32 ul_count;
extern enum ib_poll_context ul_poll;

int ul_poll_by(const char *name);
u32 ul_depth(void);
void ul_pump(void);
bool ul_completed(struct completion *done, unsigned long timeout);
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

/* load_mem.c */
int ul_bufs_make(struct ul_bufs *b, struct ul_end *e, u32 n, u32 size,
		 unsigned int flags);
void ul_bufs_free(struct ul_bufs *b);
struct ul_buf *ul_bufs_next(struct ul_bufs *b);
int ul_buf_renew(struct ul_bufs *b, struct ul_buf *buf, struct ib_send_wr *inv,
		 struct ib_reg_wr *reg);

/* load_flow.c */
void ul_wait_init(struct ul_wait *w);
int ul_wait(struct ul_wait *w);
void ul_mark(bool start);
int ul_touch(struct ul_conn *c);
int ul_flow(struct ul_conn *c, const char *what, const struct ul_opts *opts,
	    u64 *nsecs);

/* load_ping.c */
int ul_write_ping(struct ul_conn *c, const struct ul_opts *opts, u64 *nsecs);

/* load_tcp.c */
int ul_tcp(struct sockaddr_in *addr, u32 count);

#endif
