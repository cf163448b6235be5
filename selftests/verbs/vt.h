/* SPDX-License-Identifier: GPL-2.0 */
/*
 * verbs_test.ko: a consumer of the verbs in the kernel, both ends of it. Most of the
 * tests are of operations that programs cannot request, because siw's format of
 * requests has no room for them. From top to bottom:
 *
 *	vt_main.c	the tests by name
 *	vt_agree.c	private data and Reads that both sides agree upon; a rejection
 *	vt_imm.c	immediate data
 *	vt_atomic.c	atomic operations
 *	vt_inval.c	keys that are invalidated
 *	vt_close.c	ends of connections
 *	vt_resize.c	queues that change their sizes
 *	vt_flush.c	requests posted while a queue is flushed
 *	vt_flood.c	a lot of data that waits for a receive; buffers used again
 *	vt_scale.c	costs beside many queue pairs
 *	vt_conn.c	two queue pairs, connected by rdma_cm; requests
 *	ktest.c		debugfs, results, steps of connecting
 */
#ifndef _VERBS_TEST_H
#define _VERBS_TEST_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "../lib/ktest.h"

#define VT_BUF		16384	/* bytes of the region of a side */
#define VT_DEPTH	128	/* entries of a queue */
#define VT_REQUESTS	512	/* of a side, in all its life */
#define VT_READS	4	/* IRD and ORD */

/* A request or receive, and a copy of its completion */
struct vt_wr {
	struct ib_cqe cqe;
	struct ib_wc wc;
	int err;		/* of posting it */
	bool done;
	u32 nr;			/* its place among the completions */
};

/* How many Reads and atomic operations may be under way: own ones, the peer's */
struct vt_reads {
	u8 initiator;
	u8 responder;
};

/* One end */
struct vt_side {
	struct rdma_cm_id *id;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_srq *srq;
	struct vt_side *lender;		/* of pd, cq and srq, or NULL */
	struct ib_mr *mr;
	u8 *buf;
	struct kt_step step;		/* of connecting, the present one */
	struct completion ended;	/* of the connection */
	struct vt_wr wr[VT_REQUESTS];	/* an entry is used once, see vt_new() */
	u32 used;
	u32 completed;
	atomic_t events;		/* calls of the handler of @cq */
	unsigned long qp_events;	/* bits: IB_EVENT_* of the queue pair */
	bool hasty;			/* close at the first event of the queue pair */
	struct work_struct close;
	struct completion closed;
	bool closed_first;		/* closed before the event handler returned */
	u8 pdata[256];			/* private data of the peer */
	u32 pdata_len;
	struct vt_reads asked;		/* of the listening side: the peer's request */
	struct vt_reads agreed;		/* reported when the connection is established */
	bool rejected;			/* by the peer's consumer */
};

/**
 * struct vt_conn - two ends of a connection
 * @a: connecting end
 * @b: listening end
 * @use_srq: @b takes receives from a shared queue
 * @access: rights to the region of @b
 */
struct vt_conn {
	struct vt_side a;
	struct vt_side b;
	bool use_srq;
	int access;
};

/* vt_conn.c; all in process context, may sleep */
int vt_listen(const char *args);
void vt_unlisten(void);
int vt_set_peer(const char *args);
struct vt_conn *vt_up(bool use_srq, int access);
struct vt_conn *vt_up_beside(struct vt_side *lender, int access);
struct vt_conn *vt_up_to(const char *args);
void vt_down(struct vt_conn *c);
struct vt_conn *vt_up_rejected(int *err);
void vt_set_private(u8 len);
void vt_set_reads(struct vt_reads a, struct vt_reads b);
struct vt_wr *vt_recv(struct vt_side *s, u32 off, u32 len);
struct vt_wr *vt_post(struct vt_side *s, struct ib_send_wr *wr, u32 off,
		      u32 len);
int vt_reregister(struct vt_side *s, int access);
bool vt_end(struct vt_side *s);
bool vt_wait(struct vt_side *s, struct vt_wr *w);
bool vt_good(struct vt_side *s, struct vt_wr *w, enum ib_wc_opcode opcode);
u64 vt_addr(const struct vt_side *s, u32 off);

/* tests */
void vt_imm_tests(void);
void vt_atomic_tests(void);
void vt_withdraw_test(void);
void vt_inval_tests(void);
void vt_close_tests(void);
void vt_resize_tests(void);
void vt_flush_tests(void);
void vt_stranger_tests(const char *args);
int vt_fetch_test(const char *args);
void vt_agree_tests(void);
void vt_reject_tests(void);
void vt_flood_tests(bool receive);
void vt_flood_end(void);
void vt_reuse_tests(void);
void vt_scale_tests(void);

#endif
