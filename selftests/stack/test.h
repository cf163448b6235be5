/* SPDX-License-Identifier: GPL-2.0 */
/*
 * stack_test.ko: tests of rdma_stack and of implementations of the shared
 * link. From top to bottom:
 *
 *	test_main.c	the tests by name
 *	test_registry.c	providers and NIC drivers come and go
 *	test_veil.c	a device without one of its components
 *	test_engines.c	a NIC whose engines do nothing
 *	test_link.c	the contract of struct rdma_stack_link, on any pair
 *	test_bulk.c	random load on a pair
 *	test_mock.c	pairs of stack_mock
 *	test_hybrid.c	pairs of an iWARP device, by rdma_cm
 *	test_end.c	one end: messages that are checked when they arrive
 *	ktest.c		debugfs, results, steps of connecting
 */
#ifndef _STACK_TEST_H
#define _STACK_TEST_H

#include <linux/spinlock.h>
#include <linux/wait.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_stack.h>

#include "../lib/ktest.h"

#define ST_REFS		64
#define ST_SEGMENT_MAX	9000		/* the largest path MTU of the tests */
#define ST_APPEND	BIT(31)		/* flag of st_commit() */

/* Header of the messages that are sent */
struct st_hdr {
	__be32 magic;
	__be32 seq;
	__be32 len;
	__be64 off;
} __packed;

/* One end of a connection */
struct st_end {
	const struct rdma_stack_link *link;	/* under test */
	struct ib_qp *qp;
	spinlock_t lock;	/* fields of rx_begin(), rx(), idle(); fault. Innermost. */
	wait_queue_head_t wait;
	bool late;		/* the case opens this end itself */

	/* sender: of one thread */
	u32 tx_seq;
	u64 tx_off;
	u32 msg_len;		/* of the last message */
	u64 msg_off;
	u64 tx_end;
	u32 aborts, appends, again;

	/* receiver */
	u32 rx_seq;
	u64 rx_off;
	u8 hdr[sizeof(struct st_hdr)];
	u32 got;		/* bytes of the message at hand */
	u32 want;		/* bytes of its payload */
	u32 max_msg;		/* payload of the longest message */
	u32 calls, batches, solicited, runs, gaps, refs_none;
	bool begun;		/* rx_begin has found memory */
	u32 no_mem;		/* calls of rx_begin that find none */
	u32 idles;
	bool pause;		/* answer the next call with RDMA_STACK_RX_PAUSE */
	bool paused;
	bool part;		/* the last call may have been part of a segment */
	u32 rests;		/* calls in a pause, with the rest of such a segment */
	u32 rest;		/* bytes of that rest */
	bool stall;		/* stay in the callback until released */
	bool inside;
	int refuse;		/* error to answer with */
	char fault[128];	/* the first fault */

	/* pages held to see whether they change */
	bool hold;
	u32 nr_refs;
	struct {
		struct page *page;
		u32 off, len, sum;
		struct rdma_stack_gaps gaps;
	} ref[ST_REFS];

	u32 spaces, closes;
	int err;		/* argument of closed() */
};

/**
 * struct st_pair - two ends of a connection
 * @env: kind of pair
 * @end: the two; the first one has connected
 * @early: result of a reservation before full operation
 * @priv: data of the kind
 */
struct st_pair {
	const struct st_env *env;
	struct st_end end[2];
	int early;
	void *priv;
};

/**
 * struct st_env - a kind of pairs; all functions in process context
 * @name: for the results
 * @up: connect, open both ends except late ones, wait for full operation
 * @down: end the connection
 * @free: undo @up; closes the ends that are open
 * @path: set the path MTU to the @n-th of a list, which repeats; may be NULL
 * @post: post a work request without payload at the first end; may be NULL
 * @posted: wait until it is complete
 * @recv: post a receive for one message at the second end; may be NULL
 * @received: wait until it is complete
 * @remove: remove the device of the first end; may be NULL
 */
struct st_env {
	const char *name;
	int (*up)(struct st_pair *pair);
	void (*down)(struct st_pair *pair);
	void (*free)(struct st_pair *pair);
	void (*path)(struct st_pair *pair, unsigned int n);
	int (*post)(struct st_pair *pair);
	int (*posted)(struct st_pair *pair);
	int (*recv)(struct st_pair *pair);
	int (*received)(struct st_pair *pair);
	void (*remove)(struct st_pair *pair);
};

/* test_end.c */
extern const struct rdma_stack_ulp st_ulp;

void st_end_init(struct st_end *e);
void st_end_fini(struct st_end *e);
int st_open(struct st_end *e);
void st_close(struct st_end *e);
int st_reserve(struct st_end *e, u32 want, struct rdma_stack_tx *tx);
int st_append(struct st_end *e, u32 want, u32 max, struct rdma_stack_tx *tx);
void st_fill(struct st_end *e, const struct rdma_stack_tx *tx);
void st_commit(struct st_end *e, struct rdma_stack_tx *tx, u32 used,
	       unsigned int flags);
int st_send(struct st_end *e, u32 len, unsigned int flags);
void st_pause(struct st_end *e);
void st_resume(struct st_end *e);
bool st_arrived(struct st_end *from, struct st_end *to);
bool st_same(struct st_end *from, struct st_end *to, const char *what);

/* tests */
bool st_link_case(const struct st_env *env, const char *name,
		  void (*run)(struct st_pair *p));
void st_link_tests(const struct st_env *env);
void st_path_test(const struct st_env *env);
void st_bulk_test(const struct st_env *env, u32 total);
void st_registry_tests(void);
int st_veil(const char *args);
void st_veil_exit(void);
int st_engines(const char *args);
void st_engines_exit(void);
void st_mock_tests(u32 total);
int st_listen(const char *args);
int st_hybrid_tests(const char *args);
int st_reset_tests(const char *args);
int st_program_tests(const char *args);
void st_hybrid_exit(void);

#endif
