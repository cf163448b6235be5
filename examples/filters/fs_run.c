// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Filter streams, copies: threads that go through units of work, and what their
 * filters call.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "fs_node.h"

/**
 * fs_poke() - have the main thread look
 * @n: node
 */
void fs_poke(struct fs_node *n)
{
	eventfd_write(n->poke, 1);
}

/**
 * fs_node_fail() - end this node, and with it all others
 * @n: node
 * @status: exit status
 * @fmt: why; only the first reason counts
 */
void fs_node_fail(struct fs_node *n, int status, const char *fmt, ...)
{
	va_list ap;

	pthread_mutex_lock(&n->lock);
	if (!n->status) {
		va_start(ap, fmt);
		vsnprintf(n->why, sizeof(n->why), fmt, ap);
		va_end(ap);
		__atomic_store_n(&n->status, status, __ATOMIC_RELAXED);
		eventfd_write(n->stop, 1);
		pthread_cond_broadcast(&n->changed);
	}
	pthread_mutex_unlock(&n->lock);
	fs_poke(n);
}

static const struct fs_plan_filter *filter_of(const struct fs_copy *c)
{
	return &c->node->plan->filter[c->index];
}

/**
 * fs_error() - a filter cannot go on
 * @f: copy of the filter
 * @fmt: one sentence that says what to do
 *
 * Return: -1, for the filter to return.
 */
int fs_error(struct fs *f, const char *fmt, ...)
{
	struct fs_copy *c = f->run;
	struct fs_node *n = c->node;
	char text[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fs_node_fail(n, FS_INPUT, "%s on %s: %s", filter_of(c)->name,
		     n->plan->node[n->self].name, text);
	return -1;
}

/**
 * fs_emit() - print a line of results
 * @f: copy of a filter
 * @fmt: members of a JSON object: "\"hash\":\"...\""
 */
void fs_emit(struct fs *f, const char *fmt, ...)
{
	struct fs_copy *c = f->run;
	FILE *out = c->node->out;
	va_list ap;

	flockfile(out);
	fprintf(out,
		"{\"type\":\"result\",\"filter\":\"%s\",\"copy\":%u,\"uow\":%u,",
		filter_of(c)->name, f->copy, f->uow->n);
	va_start(ap, fmt);
	vfprintf(out, fmt, ap);
	va_end(ap);
	fputs("}\n", out);
	fflush(out);
	funlockfile(out);
}

/**
 * fs_hash() - hash of results, FNV-1a
 * @h: hash so far, FS_HASH at first
 * @data: bytes to add
 * @len: its length
 *
 * Return: the hash.
 */
uint64_t fs_hash(uint64_t h, const void *data, size_t len)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * 0x100000001b3ULL;
	return h;
}

/**
 * fs_param_text() - parameter of the filter, or of the plan
 * @f: copy of the filter
 * @name: its name
 * @buf: where the value goes
 * @size: bytes of @buf
 *
 * Return: @buf, or NULL if there is none.
 */
const char *fs_param_text(struct fs *f, const char *name, char *buf,
			  size_t size)
{
	struct fs_copy *c = f->run;
	const char *s = fs_arg_text(filter_of(c)->args, name, buf, size);

	return s ? s : fs_arg_text(c->node->plan->args, name, buf, size);
}

/**
 * fs_param() - the same for a number
 * @f: copy of the filter
 * @name: its name
 * @dflt: its value if there is none
 *
 * Return: the value.
 */
long fs_param(struct fs *f, const char *name, long dflt)
{
	struct fs_copy *c = f->run;

	return fs_arg(filter_of(c)->args, name,
		      fs_arg(c->node->plan->args, name, dflt));
}

/**
 * fs_uow_is() - is a unit of work of this kind?
 * @u: unit of work
 * @kind: kind
 *
 * Return: whether it is.
 */
bool fs_uow_is(const struct fs_uow *u, const char *kind)
{
	size_t len = strlen(kind);

	return !strncmp(u->text, kind, len) && strchr(" ", u->text[len]);
}

/**
 * fs_uow_arg() - argument of a unit of work
 * @u: unit of work
 * @name: its name
 * @dflt: its value if it is absent
 *
 * Return: the value.
 */
long fs_uow_arg(const struct fs_uow *u, const char *name, long dflt)
{
	return fs_arg(u->text, name, dflt);
}

/* A link has failed. The client knows better which node was the first to go. */
static int lost(struct fs_copy *c, const struct fs_link *l, int err)
{
	struct fs_node *n = c->node;
	const char *peer = n->plan->node[l->peer].name;
	struct pollfd p = { .fd = n->stop, .events = POLLIN };

	if (err == -EPROTO)
		fs_node_fail(
			n, FS_LOST,
			"node %s sent something that is no frame of stream %s -> %s",
			peer,
			n->plan->filter[n->plan->stream[l->stream].from].name,
			n->plan->filter[n->plan->stream[l->stream].to].name);
	else if (err == -ENOMEM)
		fs_node_fail(n, FS_INPUT, "node %s has no memory left",
			     n->plan->node[n->self].name);
	else if (poll(&p, 1, 2000) == 0)
		fs_node_fail(n, FS_LOST, "node %s is gone", peer);
	return -ECANCELED;
}

static bool ack_waits(const struct fs_link *l)
{
	return l->want_ack && !l->queue && (l->ack_left || l->told != l->taken);
}

/* Set the events to poll for a link; its place in the array identifies it. */
static void watch(struct pollfd *p, const struct fs_link *l, short events)
{
	p->fd = l->queue || !events ? -1 : l->fd;
	p->events = events;
}

static unsigned int watch_all(struct fs_copy *c, struct fs_link *out,
			      const struct fs_port *in)
{
	struct pollfd *p = c->fds;

	*p++ = (struct pollfd){ .fd = c->node->stop, .events = POLLIN };
	*p++ = (struct pollfd){ .fd = c->wake, .events = POLLIN };
	for (unsigned int i = 0; i < c->f.inputs; i++) {
		for (unsigned int k = 0; k < c->in[i].n; k++) {
			struct fs_link *l = &c->in[i].links[k];
			bool wanted = &c->in[i] == in && !l->ended && !l->head;

			watch(p++, l,
			      (wanted ? POLLIN : 0) |
				      (ack_waits(l) ? POLLOUT : 0));
		}
	}
	for (unsigned int i = 0; i < c->f.outputs; i++) {
		for (unsigned int k = 0; k < c->out[i].n; k++) {
			struct fs_link *l = &c->out[i].links[k];

			watch(p++, l, POLLIN | (l == out ? POLLOUT : 0));
		}
	}
	return p - c->fds;
}

static int look(struct fs_copy *c, struct fs_link *l, const struct pollfd *p,
		bool output)
{
	int rc;

	if (p->fd < 0 || !p->revents)
		return 0;
	if (p->revents & ~POLLOUT)
		l->readable = true;
	rc = output ? fs_link_acks(l) : fs_link_ack(l);
	return rc < 0 ? lost(c, l, rc) : 0;
}

/**
 * fs_wait() - wait until something may go on
 * @c: copy
 * @out: link that has something to send, or NULL
 * @in: input that waits for a buffer, or NULL
 *
 * Takes what acknowledgments have come and sends those that are due.
 *
 * Return: 0, or a negative error if the node has to end.
 */
int fs_wait(struct fs_copy *c, struct fs_link *out, const struct fs_port *in)
{
	unsigned int n = watch_all(c, out, in);
	struct pollfd *p = c->fds + 2;
	eventfd_t count;
	int rc = 0;

	if (c->node->xp->poll(c->fds, n, 1000) < 0)
		return errno == EINTR ? 0 : -errno;
	if (c->fds[0].revents)
		return -ECANCELED;
	if (c->fds[1].revents)
		eventfd_read(c->wake, &count);
	for (unsigned int i = 0; i < c->f.inputs; i++) {
		for (unsigned int k = 0; !rc && k < c->in[i].n; k++)
			rc = look(c, &c->in[i].links[k], p++, false);
	}
	for (unsigned int i = 0; i < c->f.outputs; i++) {
		for (unsigned int k = 0; !rc && k < c->out[i].n; k++)
			rc = look(c, &c->out[i].links[k], p++, true);
	}
	return rc;
}

/* A link whose head may be taken; where curves are imposed, what came first. */
static int pick(struct fs_copy *c, struct fs_port *p, struct fs_link **best)
{
	bool by_time = c->node->plan->curves;

	*best = NULL;
	for (unsigned int i = 0; i < p->n; i++) {
		unsigned int k = (p->next + i) % p->n;
		struct fs_link *l = &p->links[k];
		int rc = 0;

		if (l->ended)
			continue;
		/* the one whose turn it is: the others may never run dry */
		if (!l->head && (!i || by_time || l->queue || l->readable))
			rc = fs_link_recv(l);
		if (rc < 0)
			return lost(c, l, rc);
		if (!l->head || (*best && l->head->time >= (*best)->head->time))
			continue;
		*best = l;
		if (!by_time) {
			p->next = (k + 1) % p->n;
			break;
		}
	}
	return 0;
}

static int take(struct fs_copy *c, struct fs_port *p, struct fs_link *l,
		struct fs_buf **b)
{
	int rc;

	*b = fs_link_take(l);
	if ((*b)->uow != c->f.uow->n || (*b)->type == FS_ACK)
		return lost(c, l, -EPROTO);
	if ((*b)->type == FS_END) {
		l->ended = true;
		p->ended++;
		fs_release(*b);
		*b = NULL;
		return 0;
	}
	rc = fs_link_ack(l);
	if (rc < 0)
		return lost(c, l, rc);
	c->stat.in_bytes += (*b)->len;
	c->stat.in_bufs++;
	return fs_impose_recv(c->node, *b);
}

/**
 * fs_read() - next buffer of an input
 * @f: copy of the filter
 * @in: input, by the order of streams in the plan
 * @b: the buffer; fs_release() it or pass it on by fs_write()
 *
 * Return: 1, 0 at the end of the unit of work, or a negative error, with which the
 * filter has to return.
 */
int fs_read(struct fs *f, unsigned int in, struct fs_buf **b)
{
	struct fs_copy *c = f->run;
	struct fs_port *p = &c->in[in];
	uint64_t begin = fs_now();
	struct fs_link *l;
	int rc = 0;

	*b = NULL;
	while (!rc && !*b && p->ended < p->n) {
		rc = pick(c, p, &l);
		if (rc)
			break;
		rc = l ? take(c, p, l, b) : fs_wait(c, NULL, p);
	}
	c->stat.wait_in += fs_now() - begin;
	if (rc) {
		fs_release(*b);
		*b = NULL;
		return rc;
	}
	return !!*b;
}

static int put(struct fs_copy *c, struct fs_link *l, struct fs_buf *b)
{
	int rc;

	while (!(rc = fs_link_put(l, b))) {
		rc = fs_wait(c, l, NULL);
		if (rc)
			return rc;
	}
	return rc < 0 ? lost(c, l, rc) : 0;
}

static int choose(struct fs_copy *c, struct fs_port *p, struct fs_link **l)
{
	int rc;

	for (;;) {
		for (unsigned int i = 0; i < p->n; i++) {
			rc = fs_link_acks(&p->links[i]);
			if (rc < 0)
				return lost(c, &p->links[i], rc);
		}
		*l = fs_sched(p);
		if (*l)
			return 0;
		rc = fs_wait(c, NULL, NULL);
		if (rc)
			return rc;
	}
}

/* A buffer of another stream may be passed on: the peer takes no more than a block. */
static int refuse(struct fs *f, const struct fs_plan_stream *s,
		  struct fs_buf *b)
{
	const struct fs_plan_filter *filter = f->run->node->plan->filter;
	uint32_t len = b->len;

	fs_release(b);
	return fs_error(
		f, "%u bytes are no block of stream %s -> %s: give it block=%u",
		len, filter[s->from].name, filter[s->to].name, len);
}

/**
 * fs_write() - write a buffer to an output
 * @f: copy of the filter
 * @out: output, by the order of streams in the plan
 * @b: buffer, given away; no longer than a block of the stream
 *
 * Return: 0, or a negative error, with which the filter has to return.
 */
int fs_write(struct fs *f, unsigned int out, struct fs_buf *b)
{
	struct fs_copy *c = f->run;
	struct fs_port *p = &c->out[out];
	uint64_t begin = fs_now();
	uint32_t len = b->len;
	struct fs_link *l;
	int rc;

	if (len > p->stream->block)
		return refuse(f, p->stream, b);
	b->type = FS_DATA;
	b->uow = f->uow->n;
	b->time = 0;
	rc = choose(c, p, &l);
	if (!rc) {
		p->bufs[l - p->links]++;
		c->stat.out_bytes += len;
		c->stat.out_bufs++;
		if (!l->queue)
			rc = fs_impose_send(c->node, b);
	}
	if (!rc)
		rc = put(c, l, b);
	c->stat.wait_out += fs_now() - begin;
	return rc;
}

/**
 * fs_alloc() - a buffer for an output
 * @f: copy of the filter
 * @out: output
 *
 * Return: a buffer with room for a block of the stream. Does not return without
 * memory.
 */
struct fs_buf *fs_alloc(struct fs *f, unsigned int out)
{
	struct fs_buf *b = fs_buf_new(f->run->out[out].stream->block);

	if (!b)
		fs_die(FS_INPUT, "no memory for a block");
	return b;
}

/* Drop data that the filter left unread: it is not part of the next unit. */
static int drain(struct fs_copy *c)
{
	struct fs_buf *b;
	int rc = 0;

	for (unsigned int i = 0; !rc && i < c->f.inputs; i++) {
		while ((rc = fs_read(&c->f, i, &b)) > 0)
			fs_release(b);
	}
	return rc;
}

static int end_streams(struct fs_copy *c)
{
	int rc = 0;

	for (unsigned int i = 0; i < c->f.outputs; i++) {
		for (unsigned int k = 0; !rc && k < c->out[i].n; k++) {
			struct fs_buf *b = fs_buf_new(0);

			if (!b)
				return -ENOMEM;
			b->type = FS_END;
			b->uow = c->f.uow->n;
			rc = put(c, &c->out[i].links[k], b);
		}
	}
	return rc;
}

static void begin_uow(struct fs_copy *c, const struct fs_uow *u)
{
	c->f.uow = u;
	for (unsigned int i = 0; i < c->f.inputs; i++) {
		c->in[i].ended = 0;
		for (unsigned int k = 0; k < c->in[i].n; k++)
			c->in[i].links[k].ended = false;
	}
}

static void report_done(struct fs_copy *c)
{
	struct fs_node *n = c->node;

	if (!c->sink)
		return;
	pthread_mutex_lock(&n->lock);
	n->done[n->dones++] = c->f.uow->n;
	pthread_mutex_unlock(&n->lock);
	fs_poke(n);
}

static int one_uow(struct fs_copy *c, const struct fs_uow *u)
{
	const struct fs_filter *kind = filter_of(c)->kind;
	int rc;

	begin_uow(c, u);
	rc = kind->init(&c->f, u);
	if (!rc)
		rc = kind->process(&c->f);
	if (!rc)
		rc = drain(c);
	if (!rc)
		rc = end_streams(c);
	if (rc) {
		fs_node_fail(c->node, FS_INPUT, "filter %s failed: %s",
			     filter_of(c)->name, strerror(-rc));
		return rc;
	}
	kind->finalize(&c->f);
	report_done(c);
	return 0;
}

static const struct fs_uow *next_uow(struct fs_copy *c, uint32_t i)
{
	struct fs_node *n = c->node;
	uint64_t begin = fs_now();
	const struct fs_uow *u;

	pthread_mutex_lock(&n->lock);
	while (!n->status && !n->quit && i >= n->uows)
		pthread_cond_wait(&n->changed, &n->lock);
	u = n->status || i >= n->uows ? NULL : &n->uow[i];
	pthread_mutex_unlock(&n->lock);
	if (i && u)
		c->stat.idle += fs_now() - begin;
	return u;
}

static void *copy_main(void *arg)
{
	struct fs_copy *c = arg;
	const struct fs_filter *kind = filter_of(c)->kind;
	const struct fs_uow *u;
	uint64_t begin = 0;

	/* sleeps are of microseconds, timers of 50 */
	prctl(PR_SET_TIMERSLACK, 1UL);
	for (uint32_t i = 0; (u = next_uow(c, i)); i++) {
		if (!i)
			begin = fs_now();
		if (one_uow(c, u))
			break;
		c->stat.total = fs_now() - begin;
	}
	if (kind->end)
		kind->end(&c->f);
	pthread_mutex_lock(&c->node->lock);
	c->node->running--;
	pthread_mutex_unlock(&c->node->lock);
	fs_poke(c->node);
	return NULL;
}

/**
 * fs_node_start() - begin with the units of work
 * @n: node whose links are all there
 *
 * Return: 0, or -1.
 */
int fs_node_start(struct fs_node *n)
{
	n->running = n->copies;
	for (unsigned int i = 0; i < n->copies; i++) {
		if (pthread_create(&n->copy[i].thread, NULL, copy_main,
				   &n->copy[i])) {
			fs_node_fail(n, FS_INPUT,
				     "node %s cannot have %u threads",
				     n->plan->node[n->self].name, n->copies);
			return -1;
		}
		pthread_detach(n->copy[i].thread);
	}
	return 0;
}
