/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Common code of test modules: /sys/kernel/debug/MODULE/, where a line
 * written to "run" is a test, which has ended when the write returns, and
 * "results" has a line for each check; connections of rdma_cm. A module has a
 * source file that includes ktest.c. All in process context, may sleep.
 */
#ifndef _KTEST_H
#define _KTEST_H

#include <linux/completion.h>
#include <linux/in.h>
#include <linux/types.h>
#include <rdma/rdma_cm.h>

#define KT_WAIT		(30 * HZ)	/* for what should come at once */

/* A step of connecting, which ends in a callback of rdma_cm */
struct kt_step {
	struct completion done;
	int err;
};

int kt_init(const char *name, int (*run)(const char *test, const char *args));
void kt_exit(void);
bool kt_ok(bool ok, const char *fmt, ...) __printf(2, 3);

void kt_step_end(struct kt_step *s, int err);
int kt_step_wait(struct kt_step *s, int err);
int kt_parse_addr(const char *args, struct sockaddr_in *addr, u32 *number);
struct rdma_cm_id *kt_listen(const char *args, rdma_cm_event_handler handler);
int kt_resolve(struct rdma_cm_id **id, struct sockaddr_in *peer,
	       rdma_cm_event_handler handler, void *context,
	       struct kt_step *step);

#endif
