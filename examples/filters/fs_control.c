// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Filter streams, control: the client hands out units of work, learns when the
 * sinks have ended them, and decides which node was the first to go.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "fs_node.h"
#include "sdpbench/mark.h"

#define CONTROL_ROOM 256
#define SECOND 1000000000ULL

/**
 * struct client - what the client knows
 * @fds: stop, poke, then one for each node
 * @bye: nodes that have ended their work
 * @ready: nodes whose links are there
 * @sinks: copies that have to end each unit of work
 * @left: of each unit of work, those that have not
 * @begun: when each began
 * @issued: units of work that have begun
 * @ended: that have ended
 */
struct client {
	struct fs_node *n;
	struct pollfd *fds;
	bool bye[FS_NODES], ready[FS_NODES];
	unsigned int sinks;
	unsigned int *left;
	uint64_t *begun;
	uint64_t start;
	uint32_t issued, ended;
	bool closing;
};

static const char *name_of(const struct fs_node *n, unsigned int node)
{
	return n->plan->node[node].name;
}

/* The text of a peer may contain anything. */
static void fail_with(struct fs_node *n, const struct fs_buf *b)
{
	char text[CONTROL_ROOM + 1];
	uint32_t len = b->len < CONTROL_ROOM ? b->len : CONTROL_ROOM;

	for (uint32_t i = 0; i < len; i++)
		text[i] = b->data[i] < ' ' || b->data[i] > '~' ? '?' :
								 b->data[i];
	text[len] = '\0';
	fs_node_fail(n, b->tag == FS_INPUT ? FS_INPUT : FS_LOST, "%s", text);
}

/* A connection may be accepted while the client looks. */
static int fd_of(const struct fs_link *l)
{
	return __atomic_load_n(&l->fd, __ATOMIC_ACQUIRE);
}

static void send_abort(struct fs_node *n, struct fs_link *l)
{
	const struct fs_frame fr = {
		.type = FS_ABORT,
		.tag = n->status,
		.len = strlen(n->why),
	};

	if (fd_of(l) >= 0)
		fs_link_send(l, &fr, n->why);
}

static void drain_poke(struct fs_node *n)
{
	eventfd_t count;

	eventfd_read(n->poke, &count);
}

/* Returns 1 with a frame, 0 without; a link that fails ends the node. */
static int frame(struct fs_node *n, struct fs_link *l, struct fs_buf **b)
{
	int rc;

	l->readable = true;
	rc = fs_link_recv(l);
	if (rc < 0)
		fs_node_fail(n, FS_LOST,
			     rc == -EPROTO ?
				     "node %s sent something that is no frame" :
				     "node %s is gone",
			     name_of(n, l->peer));
	*b = rc > 0 ? l->head : NULL;
	l->head = NULL;
	return rc > 0;
}

static void add_uow(struct fs_node *n, const struct fs_uow *u)
{
	pthread_mutex_lock(&n->lock);
	n->uow[n->uows++] = *u;
	pthread_cond_broadcast(&n->changed);
	pthread_mutex_unlock(&n->lock);
}

static void set_quit(struct fs_node *n)
{
	pthread_mutex_lock(&n->lock);
	n->quit = true;
	pthread_cond_broadcast(&n->changed);
	pthread_mutex_unlock(&n->lock);
}

static bool copies_ended(struct fs_node *n)
{
	bool yes;

	pthread_mutex_lock(&n->lock);
	yes = n->ready && !n->running;
	pthread_mutex_unlock(&n->lock);
	return yes;
}

/* The next unit of work that a sink here has ended. */
static bool next_done(struct fs_node *n, uint32_t *uow)
{
	bool there;

	pthread_mutex_lock(&n->lock);
	there = n->dones_sent < n->dones;
	if (there)
		*uow = n->done[n->dones_sent++];
	pthread_mutex_unlock(&n->lock);
	return there;
}

/* ------------------------------------------------------------- the client */

static void ended(struct client *cl, uint32_t uow)
{
	struct fs_node *n = cl->n;
	const struct fs_plan *p = n->plan;
	double us = 1000.0 * p->dilate;
	uint64_t now = fs_now();

	if (uow >= cl->issued || !cl->left[uow] || --cl->left[uow])
		return;
	if (++cl->ended == p->uows)
		bench_mark_stop();
	fprintf(n->out,
		"{\"type\":\"uow\",\"uow\":%u,\"what\":\"%s\",\"begin_us\":%.3f,\"latency_us\":%.3f}\n",
		uow, p->uow[uow].uow.text, (cl->begun[uow] - cl->start) / us,
		(now - cl->begun[uow]) / us);
	if (cl->ended == p->uows)
		fprintf(n->out,
			"{\"type\":\"run\",\"uows\":%u,\"elapsed_us\":%.3f,\"dilation\":%u}\n",
			p->uows, (now - cl->start) / us, p->dilate);
	fflush(n->out);
}

static void tell_all(struct client *cl, const struct fs_frame *fr,
		     const void *payload)
{
	struct fs_node *n = cl->n;

	for (unsigned int i = 0; i < n->plan->nodes; i++) {
		if (i == n->self || !fs_link_send(&n->control[i], fr, payload))
			continue;
		fs_node_fail(n, FS_LOST, "node %s is gone", name_of(n, i));
	}
}

static void issue(struct client *cl)
{
	const struct fs_uow *u = &cl->n->plan->uow[cl->issued].uow;
	struct fs_frame fr = {
		.type = FS_UOW,
		.uow = u->n,
		.len = strlen(u->text),
	};

	cl->left[u->n] = cl->sinks;
	cl->begun[u->n] = fs_now();
	cl->issued++;
	fr.time = cl->begun[u->n] + fs_imposed_wire(cl->n, fr.len);
	tell_all(cl, &fr, u->text);
	add_uow(cl->n, u);
}

static bool all_of(const struct client *cl, const bool *flags, bool self)
{
	for (unsigned int i = 0; i < cl->n->plan->nodes; i++) {
		if (i != cl->n->self && !flags[i])
			return false;
	}
	return self;
}

/* Begins what can begin; nanoseconds until the next one can, or a second. */
static uint64_t issue_due(struct client *cl)
{
	const struct fs_plan *p = cl->n->plan;

	if (!cl->start) {
		bool self;

		pthread_mutex_lock(&cl->n->lock);
		self = cl->n->ready;
		pthread_mutex_unlock(&cl->n->lock);
		if (!all_of(cl, cl->ready, self))
			return SECOND;
		cl->start = fs_now();
		bench_mark_start();
	}
	while (cl->issued < p->uows && cl->issued - cl->ended < p->depth) {
		uint64_t at =
			cl->start + p->uow[cl->issued].at * 1000 * p->dilate;
		uint64_t now = fs_now();

		if (at > now)
			return at - now;
		issue(cl);
	}
	return SECOND;
}

static void client_frame(struct client *cl, struct fs_link *l, struct fs_buf *b)
{
	switch (b->type) {
	case FS_DONE:
		if (b->uow == FS_READY)
			cl->ready[l->peer] = true;
		else
			ended(cl, b->uow);
		break;
	case FS_BYE:
		cl->bye[l->peer] = true;
		break;
	case FS_ABORT:
		fail_with(cl->n, b);
		break;
	default:
		fs_node_fail(cl->n, FS_LOST,
			     "node %s sent something that is no frame",
			     name_of(cl->n, l->peer));
	}
}

static void client_poll(struct client *cl, uint64_t wait)
{
	struct fs_node *n = cl->n;
	struct fs_buf *b;

	if (wait < SECOND / 1000)
		fs_sleep_until(n, fs_now() + wait);
	cl->fds[0] = (struct pollfd){ .fd = n->poke, .events = POLLIN };
	for (unsigned int i = 0; i < n->plan->nodes; i++)
		cl->fds[1 + i] = (struct pollfd){
			.fd = i == n->self ? -1 : fd_of(&n->control[i]),
			.events = POLLIN,
		};
	n->xp->poll(cl->fds, 1 + n->plan->nodes, wait / (SECOND / 1000));
	if (cl->fds[0].revents)
		drain_poke(n);
	for (unsigned int i = 0; i < n->plan->nodes; i++) {
		if (!cl->fds[1 + i].revents)
			continue;
		while (!n->status && frame(n, &n->control[i], &b)) {
			client_frame(cl, &n->control[i], b);
			fs_release(b);
		}
	}
}

/* Tell all others and give them a second to hear it. */
static void client_abort(struct client *cl)
{
	struct fs_node *n = cl->n;
	uint64_t end = fs_now() + SECOND;
	char rest[64];

	for (unsigned int i = 0; i < n->plan->nodes; i++) {
		if (i != n->self)
			send_abort(n, &n->control[i]);
	}
	for (unsigned int i = 0; i < n->plan->nodes; i++) {
		struct fs_link *l = &n->control[i];
		struct pollfd p = { .fd = fd_of(l), .events = POLLIN };

		while (i != n->self && p.fd >= 0 && fs_now() < end) {
			if (l->xp->poll(&p, 1, 100) > 0 &&
			    l->xp->recv(l->fd, rest, sizeof(rest),
					MSG_DONTWAIT) <= 0)
				break;
		}
	}
}

static unsigned int count_sinks(const struct fs_plan *p)
{
	unsigned int sinks = 0;

	for (unsigned int i = 0; i < p->filters; i++) {
		bool sink = true;

		for (unsigned int k = 0; k < p->streams; k++)
			sink = sink && p->stream[k].from != i;
		sinks += sink ? p->filter[i].copies : 0;
	}
	return sinks;
}

static void client_close(struct client *cl)
{
	const struct fs_frame bye = { .type = FS_BYE };

	tell_all(cl, &bye, NULL);
	set_quit(cl->n);
	cl->closing = true;
}

static int client_run(struct fs_node *n)
{
	const struct fs_frame bye = { .type = FS_BYE };
	const struct fs_plan *p = n->plan;
	struct client cl = { .n = n, .sinks = count_sinks(p) };
	uint32_t uow;

	cl.fds = calloc(p->nodes + 1, sizeof(*cl.fds));
	cl.left = calloc(p->uows, sizeof(*cl.left));
	cl.begun = calloc(p->uows, sizeof(*cl.begun));
	if (!cl.fds || !cl.left || !cl.begun)
		fs_die(FS_INPUT, "no memory for %u units of work", p->uows);
	while (!n->status) {
		uint64_t wait;

		while (next_done(n, &uow))
			ended(&cl, uow);
		if (cl.ended == p->uows && !cl.closing)
			client_close(&cl);
		if (cl.closing && all_of(&cl, cl.bye, copies_ended(n)))
			break;
		wait = issue_due(&cl);
		client_poll(&cl, wait);
	}
	if (n->status)
		client_abort(&cl);
	else
		tell_all(&cl, &bye, NULL);
	return n->status;
}

/* -------------------------------------------------------------- other nodes */

/* @closed: nothing more will come from the client, and it needs no further message */
static void node_frame(struct fs_node *n, struct fs_buf *b, bool *closed)
{
	struct fs_uow u = { .n = b->uow };

	switch (b->type) {
	case FS_UOW:
		if (b->len >= FS_UOW_TEXT || b->uow != n->uows ||
		    n->uows == n->plan->uows)
			break;
		memcpy(u.text, b->data, b->len);
		if (!fs_sleep_until(n, n->plan->curves ? b->time : 0))
			add_uow(n, &u);
		return;
	case FS_BYE:
		*closed = n->quit;
		set_quit(n);
		return;
	case FS_ABORT:
		*closed = true;
		fail_with(n, b);
		return;
	default:
		break;
	}
	fs_node_fail(n, FS_LOST, "node %s sent something that is no frame",
		     name_of(n, n->plan->client));
}

static int tell(struct fs_node *n, uint8_t type, uint32_t uow)
{
	const struct fs_frame fr = { .type = type, .uow = uow };
	int rc = fs_link_send(n->control, &fr, NULL);

	if (rc)
		fs_node_fail(n, FS_LOST, "node %s is gone",
			     name_of(n, n->plan->client));
	return rc;
}

/* The client has the last word on what happened first. */
static void node_abort(struct fs_node *n)
{
	struct pollfd p = { .fd = n->control->fd, .events = POLLIN };
	uint64_t end = fs_now() + 2 * SECOND;
	struct fs_link *l = n->control;

	send_abort(n, l);
	while (l->fd >= 0 && fs_now() < end) {
		int rc;

		if (l->xp->poll(&p, 1, 100) <= 0)
			continue;
		rc = fs_link_recv(l);
		if (rc < 0)
			return;
		if (rc && l->head->type == FS_ABORT) {
			n->status = 0;
			fail_with(n, l->head);
			return;
		}
		if (rc) {
			fs_release(l->head);
			l->head = NULL;
		}
	}
}

/* Say what has changed here: ready, unit of work done, ended. */
static void node_tell(struct fs_node *n, bool *was_ready, bool *was_ended)
{
	uint32_t uow;
	bool ready;

	pthread_mutex_lock(&n->lock);
	ready = n->ready;
	pthread_mutex_unlock(&n->lock);
	if (ready && !*was_ready)
		tell(n, FS_DONE, FS_READY);
	*was_ready = ready;
	while (next_done(n, &uow)) {
		if (tell(n, FS_DONE, uow))
			return;
	}
	if (copies_ended(n) && !*was_ended) {
		*was_ended = true;
		tell(n, FS_BYE, 0);
	}
}

static int node_run(struct fs_node *n)
{
	bool ready = false, copies = false, closed = false;
	struct fs_buf *b;

	while (!n->status && !closed) {
		struct pollfd p[] = {
			{ .fd = n->poke, .events = POLLIN },
			{ .fd = n->control->fd, .events = POLLIN },
		};

		n->xp->poll(p, 2, 1000);
		if (p[0].revents)
			drain_poke(n);
		while (!n->status && !closed && p[1].revents &&
		       frame(n, n->control, &b)) {
			node_frame(n, b, &closed);
			fs_release(b);
		}
		if (!n->status)
			node_tell(n, &ready, &copies);
	}
	if (n->status && !closed)
		node_abort(n);
	return n->status;
}

/**
 * fs_control_run() - drive the node to its end
 * @n: node whose connections are being made
 *
 * Return: exit status.
 */
int fs_control_run(struct fs_node *n)
{
	if (n->self == n->plan->client)
		return client_run(n);
	if (fs_control_connect(n))
		return n->status ? n->status : FS_LOST;
	return node_run(n);
}
