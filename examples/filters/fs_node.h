/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Filter streams: a node, which is a process, and the copies of filters on it,
 * which are threads.
 */
#ifndef FS_NODE_H
#define FS_NODE_H

#include <pthread.h>
#include <stdio.h>

#include "fs_link.h"
#include "fs_plan.h"

/**
 * struct fs_res - something that one message or computation uses at a time
 * @free: when it is free again
 */
struct fs_res {
	pthread_mutex_t lock;
	uint64_t free;
};

/**
 * struct fs_stat - what a copy did, in nanoseconds
 * @idle: waiting for a unit of work
 * @wait_in: waiting in fs_read()
 * @wait_out: waiting in fs_write()
 * @compute: in fs_compute()
 * @total: from the first unit of work to the end of the last
 */
struct fs_stat {
	uint64_t idle, wait_in, wait_out, compute, total;
	uint64_t in_bytes, in_bufs, out_bytes, out_bufs;
};

/**
 * struct fs_port - input or output of a copy: its links of a stream
 * @links: one for each copy at the other end
 * @n: number of links
 * @next: link that is next
 * @ended: links whose unit of work has ended
 * @bufs: buffers that went to each (outputs)
 */
struct fs_port {
	const struct fs_plan_stream *stream;
	struct fs_link *links;
	unsigned int n, next, ended;
	uint64_t bufs[FS_COPIES];
};

/**
 * struct fs_copy - copy of a filter, as the runtime sees it
 * @wake: eventfd that its queues write
 */
struct fs_copy {
	struct fs f;
	struct fs_node *node;
	unsigned int index; /* of the filter in the plan */
	struct fs_port *in, *out;
	struct pollfd *fds;
	int wake;
	bool sink;
	pthread_t thread;
	struct fs_stat stat;
};

/**
 * struct fs_node - this process
 * @plan: the plan
 * @self: index of this node
 * @copy: the copies on it
 * @control: links to the client; on the client, to each node
 * @lock: protects what follows
 * @changed: something of it has changed
 * @uow: units of work that have begun
 * @done: units of work that sinks have ended, in the order of their ending
 * @linked: connections that have been accepted
 * @running: copies that have not ended
 * @ready: all links are there
 * @quit: there are no more units of work
 * @status: exit status; not 0: the end has come, and @why
 * @poke: eventfd for the main thread
 * @stop: eventfd that is readable from the moment @status is not 0
 */
struct fs_node {
	struct fs_plan *plan;
	unsigned int self;
	struct fs_copy *copy;
	unsigned int copies;
	const struct fs_xport *xp;
	struct fs_link *control;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct fs_uow *uow;
	uint32_t uows;
	uint32_t *done;
	uint32_t dones, dones_sent;
	unsigned int linked, running;
	bool ready, quit;
	int status;
	char why[256];
	int poke, stop;
	struct fs_res cpu, tx, rx;
	FILE *out;
};

/* fs_run.c */
int fs_node_build(struct fs_node *n);
int fs_node_start(struct fs_node *n);
void fs_node_fail(struct fs_node *n, int status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int fs_wait(struct fs_copy *c, struct fs_link *out, const struct fs_port *in);

/* fs_sched.c */
struct fs_link *fs_sched(struct fs_port *p);

/* fs_setup.c */
int fs_setup_start(struct fs_node *n);
bool fs_is_local(const struct fs_node *n, const struct fs_link *l);

/* fs_control.c */
int fs_control_run(struct fs_node *n);
int fs_control_connect(struct fs_node *n);
void fs_poke(struct fs_node *n);

/* fs_time.c */
uint64_t fs_now(void);
int fs_sleep_until(struct fs_node *n, uint64_t t);
uint64_t fs_imposed_wire(const struct fs_node *n, uint32_t bytes);
int fs_impose_send(struct fs_node *n, struct fs_buf *b);
int fs_impose_recv(struct fs_node *n, const struct fs_buf *b);

/* fs_stat.c */
void fs_stat_print(struct fs_node *n);

#endif /* FS_NODE_H */
