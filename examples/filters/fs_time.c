// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Filter streams, time: computation, and curves that are imposed.
 *
 * An imposed curve says how long a message of a size keeps the processor of the
 * sender, both NICs and the processor of the receiver. A node has one of each, and
 * each does one thing at a time. The clock is that of the machine, so all nodes
 * have to be on one.
 */
#include <time.h>

#include "fs_node.h"

#define NSEC 1000000000ULL

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * NSEC + ts.tv_nsec;
}

/**
 * fs_now() - monotonic time
 *
 * Return: nanoseconds.
 */
uint64_t fs_now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static bool stopped(const struct fs_node *n)
{
	return __atomic_load_n(&n->status, __ATOMIC_RELAXED);
}

/**
 * fs_sleep_until() - sleep, but not longer than the node lives
 * @n: node
 * @t: monotonic time
 *
 * Return: 0, or -1 if the node has to end.
 */
int fs_sleep_until(struct fs_node *n, uint64_t t)
{
	uint64_t now;

	while (!stopped(n) && (now = fs_now()) < t) {
		uint64_t end = t < now + NSEC / 5 ? t : now + NSEC / 5;
		const struct timespec ts = { .tv_sec = end / NSEC,
					     .tv_nsec = end % NSEC };

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
	}
	return stopped(n) ? -1 : 0;
}

/* Use it for some time, not before a moment; return when that has ended. */
static uint64_t hold(struct fs_res *r, uint64_t from, uint64_t ns)
{
	uint64_t end;

	if (!ns)
		return from;
	pthread_mutex_lock(&r->lock);
	end = (r->free > from ? r->free : from) + ns;
	r->free = end;
	pthread_mutex_unlock(&r->lock);
	return end;
}

enum part { O_S, O_R, WIRE };

static double part_of(const struct fs_plan_curve *c, enum part part)
{
	return part == O_S ? c->o_s : part == O_R ? c->o_r : c->wire;
}

/* Linear between sizes; beyond the last by the last slope. */
static uint64_t imposed(const struct fs_node *n, enum part part, uint32_t bytes)
{
	const struct fs_plan *p = n->plan;
	const struct fs_plan_curve *c = p->curve;
	double us = part_of(c, part), slope = 0;
	unsigned int i = 1;

	while (i + 1 < p->curves && c[i].bytes < bytes)
		i++;
	if (i < p->curves) {
		us = part_of(&c[i - 1], part);
		slope = (part_of(&c[i], part) - us) /
			(c[i].bytes - c[i - 1].bytes);
		us += slope * ((double)bytes - c[i - 1].bytes);
	}
	return us > 0 ? us * 1000 * p->dilate : 0;
}

/**
 * fs_imposed_wire() - how long a message takes between two NICs
 * @n: node
 * @bytes: payload
 *
 * Return: nanoseconds, 0 where no curve is imposed.
 */
uint64_t fs_imposed_wire(const struct fs_node *n, uint32_t bytes)
{
	return n->plan->curves ? imposed(n, WIRE, bytes) : 0;
}

/**
 * fs_impose_send() - apply a curve before a message is sent
 * @n: node
 * @b: message; learns when it arrives
 *
 * The NIC takes one message while it sends another: the sender waits until its own
 * begins to leave.
 *
 * Return: 0, or -1 if the node has to end.
 */
int fs_impose_send(struct fs_node *n, struct fs_buf *b)
{
	uint64_t wire, ready;

	if (!n->plan->curves || b->type != FS_DATA)
		return 0;
	wire = imposed(n, WIRE, b->len);
	ready = hold(&n->cpu, fs_now(), imposed(n, O_S, b->len));
	b->time = hold(&n->tx, ready, wire);
	return fs_sleep_until(n, b->time - wire);
}

/**
 * fs_impose_recv() - wait before a message is given to the program, for the times of a curve
 * @n: node
 * @b: message
 *
 * Return: 0, or -1 if the node has to end.
 */
int fs_impose_recv(struct fs_node *n, const struct fs_buf *b)
{
	uint64_t wire, here;

	if (!n->plan->curves || b->type != FS_DATA || !b->time)
		return 0;
	wire = imposed(n, WIRE, b->len);
	here = hold(&n->rx, b->time - wire, wire);
	return fs_sleep_until(n, hold(&n->cpu, here, imposed(n, O_R, b->len)));
}

static void spin(uint64_t ns)
{
	uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

/**
 * fs_compute() - the computation that the plan wants
 * @f: copy of a filter
 * @bytes: bytes that it works on
 *
 * Return: 0, or -1 if the node has to end.
 */
int fs_compute(struct fs *f, size_t bytes)
{
	struct fs_node *n = f->run->node;
	const struct fs_plan *p = n->plan;
	uint64_t ns = (uint64_t)p->compute * bytes * f->slow * p->dilate;
	uint64_t begin = fs_now();
	int rc = 0;

	if (p->spin)
		spin(ns);
	else if (p->curves)
		rc = fs_sleep_until(n, hold(&n->cpu, begin, ns));
	else if (ns)
		rc = fs_sleep_until(n, begin + ns);
	f->run->stat.compute += fs_now() - begin;
	return rc;
}
