/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ulp_verbs.ko: the verbs that upper layers of the kernel use, one by one, on
 * two devices in the initial network namespace. From top to bottom:
 *
 *	verbs_main.c	module
 *	verbs_cases.c	the cases
 *	verbs_conn.c	two ends and a connection, requests
 *	ktest.c		debugfs, results, steps of connecting
 */
#ifndef _ULP_VERBS_H
#define _ULP_VERBS_H

#include <linux/completion.h>
#include <linux/dim.h>
#include <linux/scatterlist.h>
#include <rdma/ib_verbs.h>
#include <rdma/rw.h>

#include "../lib/ktest.h"

#define UV_BUF		(64 * 1024)
#define UV_SGES		6
#define UV_DEPTH	128
#define UV_BURST	64

/**
 * struct uv_end - one end of a connection
 * @id: of the connection manager, with its queue pair
 * @pd: protection domain
 * @cq: for requests and receives
 * @pooled: @cq is from the core's pool
 * @srq: shared receive queue, or NULL
 * @buf: UV_BUF bytes
 * @dma: their address for the device
 * @step: of connecting, at hand
 * @use_srq: give it a shared receive queue
 * @events: of the queue pair and the shared queue, bits of enum ib_event_type
 * @event: one of them has come
 */
struct uv_end {
	struct rdma_cm_id *id;
	struct ib_pd *pd;
	struct ib_cq *cq;
	bool pooled;
	struct ib_srq *srq;
	void *buf;
	u64 dma;
	struct kt_step step;
	bool use_srq;
	unsigned long events;
	struct completion event;
};

struct uv_conn {
	struct uv_end a;	/* connects */
	struct uv_end b;	/* accepts */
};

/* A request or receive that a task waits for */
struct uv_wait {
	struct ib_cqe cqe;
	struct completion done;
	struct ib_wc wc;
};

/**
 * struct uv_mr - a fast registration region over pages that are not contiguous
 * @mr: the region
 * @sgt: its pages
 * @n: how many
 * @end: whose
 */
struct uv_mr {
	struct ib_mr *mr;
	struct sg_table sgt;
	unsigned int n;
	struct uv_end *end;
};

/* verbs_conn.c */
int uv_listen(const char *args);
void uv_unlisten(void);
int uv_up(struct uv_conn *c, bool srq);
void uv_down(struct uv_conn *c);
bool uv_event(struct uv_end *e, enum ib_event_type type);

int uv_post(struct uv_end *e, struct ib_send_wr *wr, struct uv_wait *w);
int uv_post_recv(struct uv_end *e, u64 addr, u32 len, struct uv_wait *w);
int uv_wait(struct uv_wait *w);
int uv_do(struct uv_end *e, struct ib_send_wr *wr);
int uv_rdma(struct uv_end *e, enum ib_wr_opcode op, u64 addr, u32 lkey, u32 len,
	    u64 raddr, u32 rkey);

int uv_mr_alloc(struct uv_mr *m, struct uv_end *e, unsigned int pages);
int uv_mr_reg(struct uv_mr *m, int access);
int uv_mr_inv(struct uv_mr *m);
void uv_mr_free(struct uv_mr *m);
void uv_mr_fill(struct uv_mr *m, u32 seed);
bool uv_mr_check(struct uv_mr *m, u32 seed);
void uv_fill(void *p, size_t len, u64 off, u32 seed);
bool uv_check(const void *p, size_t len, u64 off, u32 seed);

/* verbs_cases.c */
void uv_cases(void);
void uv_adaptive_cases(void);
void uv_refer_cases(void);

#endif
