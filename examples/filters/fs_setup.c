// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Filter streams, set-up: copies of this node, their links, and all connections
 * before the first unit of work.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "fs_node.h"

#define SECOND 1000000000ULL
#define OPEN_MS 2000 /* for a connection to name its link */

/**
 * fs_is_local() - does a link join two threads of this node?
 * @n: node
 * @l: link
 *
 * Return: whether it does.
 */
bool fs_is_local(const struct fs_node *n, const struct fs_link *l)
{
	return l->peer == n->self;
}

static void *zalloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p)
		fs_die(FS_INPUT, "no memory for the links");
	return p;
}

/* Links of a port: @filter is at the other end of its stream. */
static void build_port(struct fs_copy *c, struct fs_port *port,
		       unsigned int stream, bool output)
{
	struct fs_node *n = c->node;
	const struct fs_plan_stream *s = &n->plan->stream[stream];
	const struct fs_plan_filter *other =
		&n->plan->filter[output ? s->to : s->from];

	port->stream = s;
	port->n = other->copies;
	/* not all producers begin with the same consumer */
	port->next = c->f.copy % port->n;
	port->links = zalloc(port->n, sizeof(*port->links));
	for (unsigned int i = 0; i < port->n; i++) {
		port->links[i] = (struct fs_link){
			.xp = n->xp,
			.fd = -1,
			.stream = stream,
			.from = output ? c->f.copy : i,
			.to = output ? i : c->f.copy,
			.peer = other->node[i],
			.room = output ? 0 : s->block,
			.readable = true,
			.want_ack = s->policy == FS_DD,
		};
	}
}

static void build_copy(struct fs_copy *c)
{
	const struct fs_plan *p = c->node->plan;
	unsigned int fds = 2;

	for (unsigned int i = 0; i < p->streams; i++) {
		c->f.inputs += p->stream[i].to == c->index;
		c->f.outputs += p->stream[i].from == c->index;
	}
	c->in = zalloc(c->f.inputs, sizeof(*c->in));
	c->out = zalloc(c->f.outputs, sizeof(*c->out));
	for (unsigned int i = 0, in = 0, out = 0; i < p->streams; i++) {
		if (p->stream[i].to == c->index) {
			build_port(c, &c->in[in], i, false);
			fds += c->in[in++].n;
		}
		if (p->stream[i].from == c->index) {
			build_port(c, &c->out[out], i, true);
			fds += c->out[out++].n;
		}
	}
	c->fds = zalloc(fds, sizeof(*c->fds));
	c->sink = !c->f.outputs;
	c->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (c->wake < 0)
		fs_die(FS_INPUT, "eventfd: %s", strerror(errno));
}

/* The consumer's end of a link on this node, or NULL. */
static struct fs_link *find_input(struct fs_node *n, unsigned int stream,
				  unsigned int from, unsigned int to,
				  struct fs_copy **copy)
{
	for (unsigned int i = 0; i < n->copies; i++) {
		struct fs_copy *c = &n->copy[i];

		for (unsigned int k = 0; k < c->f.inputs; k++) {
			struct fs_port *p = &c->in[k];

			if (p->stream == &n->plan->stream[stream] &&
			    c->f.copy == to && from < p->n) {
				*copy = c;
				return &p->links[from];
			}
		}
	}
	return NULL;
}

static void join_local(struct fs_node *n, struct fs_copy *c, struct fs_link *l)
{
	struct fs_copy *other;
	struct fs_link *end = find_input(n, l->stream, l->from, l->to, &other);

	/* the end of a unit of work needs room as well */
	l->queue = fs_queue_new(n->plan->stream[l->stream].window + 1, c->wake,
				other->wake);
	if (!l->queue)
		fs_die(FS_INPUT, "no memory for the links");
	end->queue = l->queue;
}

/* Calls @fn for each output link of the node. */
static void each_output(struct fs_node *n,
			void (*fn)(struct fs_node *n, struct fs_copy *c,
				   struct fs_link *l))
{
	for (unsigned int i = 0; i < n->copies; i++) {
		struct fs_copy *c = &n->copy[i];

		for (unsigned int k = 0; k < c->f.outputs; k++) {
			for (unsigned int j = 0; j < c->out[k].n; j++)
				fn(n, c, &c->out[k].links[j]);
		}
	}
}

static void join_if_local(struct fs_node *n, struct fs_copy *c,
			  struct fs_link *l)
{
	if (fs_is_local(n, l))
		join_local(n, c, l);
}

/**
 * fs_node_build() - copies and links of a node, not connected yet
 * @n: node
 *
 * Return: 0. Does not return on errors.
 */
int fs_node_build(struct fs_node *n)
{
	const struct fs_plan *p = n->plan;
	unsigned int copies = 0;

	for (unsigned int i = 0; i < p->filters; i++) {
		for (unsigned int k = 0; k < p->filter[i].copies; k++)
			copies += p->filter[i].node[k] == n->self;
	}
	n->copy = zalloc(copies, sizeof(*n->copy));
	for (unsigned int i = 0; i < p->filters; i++) {
		for (unsigned int k = 0; k < p->filter[i].copies; k++) {
			struct fs_copy *c = &n->copy[n->copies];

			if (p->filter[i].node[k] != n->self)
				continue;
			c->node = n;
			c->index = i;
			c->f.run = c;
			c->f.copy = k;
			c->f.copies = p->filter[i].copies;
			c->f.slow = p->node[n->self].slow;
			build_copy(c);
			n->copies++;
		}
	}
	each_output(n, join_if_local);
	n->uow = zalloc(p->uows, sizeof(*n->uow));
	n->done = zalloc((size_t)p->uows * (copies + 1), sizeof(*n->done));
	return 0;
}

/* ------------------------------------------------------------- connections */

static struct fs_link *link_of(struct fs_node *n, const struct fs_frame *fr)
{
	const struct fs_plan *p = n->plan;
	struct fs_copy *c;

	if (fr->stream == FS_CONTROL)
		return n->self == p->client && fr->from < p->nodes &&
				       fr->from != n->self ?
			       &n->control[fr->from] :
			       NULL;
	if (fr->stream >= p->streams)
		return NULL;
	return find_input(n, fr->stream, fr->from, fr->to, &c);
}

/* Take a connection for the link that it says it is for; 0 or an error. */
static int admit(struct fs_node *n, const struct fs_xport *xp, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint8_t head[FS_HEAD];
	struct fs_frame fr;
	struct fs_link *l;
	size_t got = 0;

	while (got < FS_HEAD) {
		ssize_t len;

		if (xp->poll(&p, 1, OPEN_MS) <= 0)
			return -ETIMEDOUT;
		len = xp->recv(fd, head + got, FS_HEAD - got, 0);
		if (len <= 0)
			return -ECONNRESET;
		got += len;
	}
	if (fs_frame_get(head, &fr) || fr.type != FS_OPEN || fr.len)
		return -EPROTO;
	l = link_of(n, &fr);
	if (!l || l->queue || l->fd >= 0 || l->xp != xp)
		return -EPROTO;
	if (fr.tag != n->plan->hash) {
		fs_node_fail(n, FS_INPUT,
			     "nodes %s and %s have different plans",
			     n->plan->node[n->self].name,
			     n->plan->node[l->peer].name);
		return -EPROTO;
	}
	pthread_mutex_lock(&n->lock);
	/* the client looks at it already */
	__atomic_store_n(&l->fd, fd, __ATOMIC_RELEASE);
	n->linked++;
	pthread_cond_broadcast(&n->changed);
	pthread_mutex_unlock(&n->lock);
	fs_poke(n);
	return 0;
}

static unsigned int expected(struct fs_node *n)
{
	const struct fs_plan *p = n->plan;
	unsigned int count = n->self == p->client ? p->nodes - 1 : 0;

	for (unsigned int i = 0; i < n->copies; i++) {
		struct fs_copy *c = &n->copy[i];

		for (unsigned int k = 0; k < c->f.inputs; k++) {
			for (unsigned int j = 0; j < c->in[k].n; j++)
				count += !fs_is_local(n, &c->in[k].links[j]);
		}
	}
	return count;
}

static bool all_linked(struct fs_node *n)
{
	bool yes;

	pthread_mutex_lock(&n->lock);
	yes = n->status || n->linked == expected(n);
	pthread_mutex_unlock(&n->lock);
	return yes;
}

struct acceptor {
	struct fs_node *n;
	const struct fs_xport *xp;
	int fd;
};

static void *accept_main(void *arg)
{
	struct acceptor *a = arg;
	struct pollfd p = { .fd = a->fd, .events = POLLIN };

	while (!all_linked(a->n)) {
		int fd;

		if (a->xp->poll(&p, 1, 100) <= 0)
			continue;
		fd = fs_xport_accept(a->xp, a->fd);
		if (fd >= 0 && admit(a->n, a->xp, fd))
			a->xp->close(fd);
	}
	a->xp->close(a->fd);
	free(a);
	return NULL;
}

static void start_acceptor(struct fs_node *n, const struct fs_xport *xp, int fd)
{
	struct acceptor *a = zalloc(1, sizeof(*a));
	pthread_t thread;

	*a = (struct acceptor){ .n = n, .xp = xp, .fd = fd };
	if (pthread_create(&thread, NULL, accept_main, a))
		fs_die(FS_INPUT, "no thread for connections");
	pthread_detach(thread);
}

/* Connect a link and name it; tries again while the node may be starting. */
static int connect_link(struct fs_node *n, struct fs_link *l, uint64_t end)
{
	const struct fs_plan_node *peer = &n->plan->node[l->peer];
	const struct fs_frame fr = { .type = FS_OPEN, .tag = n->plan->hash };
	uint16_t port = n->plan->port + l->peer;
	int fd;

	while ((fd = fs_xport_connect(l->xp, peer->address, port)) < 0) {
		if (fs_now() >= end) {
			fs_node_fail(
				n, FS_LOST,
				"node %s does not answer at %s port %u: %s",
				peer->name, peer->address, port, strerror(-fd));
			return -1;
		}
		if (fs_sleep_until(n, fs_now() + SECOND / 20))
			return -1;
	}
	l->fd = fd;
	return fs_link_send(l, &fr, NULL);
}

static uint64_t deadline(const struct fs_node *n)
{
	return fs_now() + n->plan->start * SECOND;
}

static void connect_if_remote(struct fs_node *n, struct fs_copy *c,
			      struct fs_link *l)
{
	(void)c;
	if (fs_is_local(n, l) || n->status)
		return;
	if (connect_link(n, l, deadline(n)))
		fs_node_fail(n, FS_LOST, "node %s is gone",
			     n->plan->node[l->peer].name);
}

static const char *missing(struct fs_node *n)
{
	for (unsigned int i = 0; n->control && i < n->plan->nodes; i++) {
		if (i != n->self && n->control[i].fd < 0)
			return n->plan->node[i].name;
	}
	for (unsigned int i = 0; i < n->copies; i++) {
		struct fs_copy *c = &n->copy[i];

		for (unsigned int k = 0; k < c->f.inputs; k++) {
			for (unsigned int j = 0; j < c->in[k].n; j++) {
				struct fs_link *l = &c->in[k].links[j];

				if (!l->queue && l->fd < 0)
					return n->plan->node[l->peer].name;
			}
		}
	}
	return "?";
}

static void *setup_main(void *arg)
{
	struct fs_node *n = arg;
	struct timespec ts;
	int rc = 0;

	each_output(n, connect_if_remote);
	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec += n->plan->start;
	pthread_mutex_lock(&n->lock);
	while (!rc && !n->status && n->linked < expected(n))
		rc = pthread_cond_timedwait(&n->changed, &n->lock, &ts);
	pthread_mutex_unlock(&n->lock);
	if (rc)
		fs_node_fail(n, FS_LOST, "node %s has not connected to node %s",
			     missing(n), n->plan->node[n->self].name);
	if (n->status || fs_node_start(n))
		return NULL;
	pthread_mutex_lock(&n->lock);
	n->ready = true;
	pthread_mutex_unlock(&n->lock);
	fs_poke(n);
	return NULL;
}

/**
 * fs_control_connect() - connect to the client
 * @n: another node
 *
 * Return: 0, or -1 if the node has to end.
 */
int fs_control_connect(struct fs_node *n)
{
	return connect_link(n, n->control, deadline(n));
}

/**
 * fs_setup_start() - begin to connect and to accept
 * @n: node, built; @ready when all is done
 *
 * Return: 0. Does not return on errors.
 */
int fs_setup_start(struct fs_node *n)
{
	const char *address = n->plan->node[n->self].address;
	pthread_t thread;
	int fd;

	fd = fs_xport_listen(n->xp, address, n->plan->port + n->self);
	start_acceptor(n, n->xp, fd);
	if (pthread_create(&thread, NULL, setup_main, n))
		fs_die(FS_INPUT, "no thread to connect");
	pthread_detach(thread);
	return 0;
}
