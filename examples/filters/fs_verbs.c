// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Filter streams, transport "verbs": calls that look like those of sockets, over Sends
 * of an RDMA device. Each end keeps receives posted and says in each message how many
 * it has posted again; a Send that finds no receive would end the connection.
 *
 * A descriptor is an epoll instance that is readable when the device or the connection
 * manager has news, so that it can be polled beside others.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "fs_xport.h"

#define DATA 8 /* messages with data that the peer has room for */
#define HALF (DATA / 2) /* taken before the peer learns of it */
#define SLOTS (DATA + 2) /* two more for messages that only tell it */
#define HEAD 8
#define SLOT (16 << 10)
#define MAX_FD 4096
#define RESOLVE_MS 2000
#define LINGER_MS 1000

struct head {
	uint32_t credits; /* receives that were posted again */
	uint32_t len;
};

/**
 * struct conn - a connection, or a listening identifier
 * @lock: protects the rest; the thread that ends the node looks at all connections
 * @credits: messages that the peer has room for
 * @owed: receives posted again since the peer learned of them
 * @posted: Sends posted so far, of which @sent are complete
 * @slot: receives with data that was not read, oldest first: @first, @count
 * @len: bytes of data in each receive
 * @pos: bytes read of the oldest
 * @tx: memory of the Sends
 * @rx: memory of the receives
 * @mr: region of both
 * @up: it was made; until then calls of its manager wait
 * @dead: nothing more will come
 */
struct conn {
	pthread_mutex_t lock;
	struct rdma_cm_id *id;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t (*tx)[SLOT], (*rx)[SLOT];
	unsigned int credits, owed, posted, sent;
	unsigned int slot[SLOTS], first, count;
	uint32_t len[SLOTS], pos;
	int fd;
	bool up, dead;
};

static struct conn *conns[MAX_FD];

static struct conn *conn_of(int fd)
{
	return fd < 0 || fd >= MAX_FD ?
		       NULL :
		       __atomic_load_n(&conns[fd], __ATOMIC_ACQUIRE);
}

/* The result of a call for a descriptor that is no connection. */
static int no_conn(void)
{
	errno = EBADF;
	return -1;
}

static int watch(struct conn *c, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };

	return epoll_ctl(c->fd, EPOLL_CTL_ADD, fd, &ev);
}

/* @id is given away, also if there is no connection. */
static struct conn *conn_new(struct rdma_cm_id *id)
{
	struct conn *c = calloc(1, sizeof(*c));

	if (c) {
		c->fd = epoll_create1(EPOLL_CLOEXEC);
		if (c->fd >= 0 && c->fd < MAX_FD &&
		    !watch(c, id->channel->fd)) {
			pthread_mutex_init(&c->lock, NULL);
			c->id = id;
			__atomic_store_n(&conns[c->fd], c, __ATOMIC_RELEASE);
			return c;
		}
		if (c->fd >= 0)
			close(c->fd);
		free(c);
	}
	rdma_destroy_id(id);
	errno = EMFILE;
	return NULL;
}

static void conn_free(struct conn *c)
{
	__atomic_store_n(&conns[c->fd], NULL, __ATOMIC_RELEASE);
	if (c->id->qp)
		rdma_destroy_qp(c->id);
	if (c->mr)
		ibv_dereg_mr(c->mr);
	if (c->cq)
		ibv_destroy_cq(c->cq);
	if (c->channel)
		ibv_destroy_comp_channel(c->channel);
	close(c->fd);
	rdma_destroy_id(c->id);
	free(c->tx);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static int post_recv(struct conn *c, unsigned int slot)
{
	return rdma_post_recv(c->id, (void *)(uintptr_t)slot, c->rx[slot], SLOT,
			      c->mr);
}

static int no_blocking(int fd)
{
	return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static int make_cq(struct conn *c)
{
	c->channel = ibv_create_comp_channel(c->id->verbs);
	if (!c->channel || no_blocking(c->channel->fd) ||
	    watch(c, c->channel->fd))
		return -1;
	c->cq = ibv_create_cq(c->id->verbs, 2 * SLOTS, NULL, c->channel, 0);
	return c->cq ? ibv_req_notify_cq(c->cq, 0) : -1;
}

/* The queue pair of a connection that is being made, and its receives; 0 or -1. */
static int make_qp(struct conn *c)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = SLOTS,
			 .max_recv_wr = SLOTS,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};

	if (make_cq(c))
		return -1;
	attr.send_cq = c->cq;
	attr.recv_cq = c->cq;
	c->tx = aligned_alloc(4096, 2 * SLOTS * SLOT);
	if (!c->tx || rdma_create_qp(c->id, NULL, &attr))
		return -1;
	c->rx = c->tx + SLOTS;
	c->mr = rdma_reg_msgs(c->id, c->tx, 2 * SLOTS * SLOT);
	if (!c->mr)
		return -1;
	for (unsigned int i = 0; i < SLOTS; i++) {
		if (post_recv(c, i))
			return -1;
	}
	c->credits = DATA;
	return 0;
}

static const struct rdma_conn_param param = {
	.responder_resources = 1,
	.initiator_depth = 1,
	.retry_count = 7,
	.rnr_retry_count = 7,
};

/* ------------------------------------------------------------- progress */

/* Post a message of @len bytes of data, which are in its slot already. */
static void post(struct conn *c, uint32_t len)
{
	uint8_t *slot = c->tx[c->posted % SLOTS];
	const struct head h = {
		.credits = htobe32(c->owed),
		.len = htobe32(len),
	};

	memcpy(slot, &h, sizeof(h));
	c->owed = 0;
	c->posted++;
	if (rdma_post_send(c->id, NULL, slot, HEAD + len, c->mr, 0))
		c->dead = true;
}

static void post_again(struct conn *c, unsigned int slot)
{
	if (post_recv(c, slot))
		c->dead = true;
}

/* A message has come. It is checked, as a peer can write anything. */
static void came(struct conn *c, const struct ibv_wc *wc)
{
	unsigned int slot = wc->wr_id;
	uint32_t credits, len;
	struct head h;

	memcpy(&h, c->rx[slot], sizeof(h));
	credits = be32toh(h.credits);
	len = be32toh(h.len);
	if (wc->byte_len < HEAD || len != wc->byte_len - HEAD ||
	    credits > DATA - c->credits || (len && c->count == DATA)) {
		c->dead = true;
		return;
	}
	c->credits += credits;
	if (!len) {
		post_again(c, slot);
		return;
	}
	c->len[slot] = len;
	c->slot[(c->first + c->count++) % SLOTS] = slot;
}

static bool room(const struct conn *c)
{
	return c->credits && c->posted - c->sent < DATA;
}

/* News of the connection manager: all that may come is that the connection is gone. */
static void manager(struct conn *c)
{
	struct rdma_cm_event *ev;

	while (!rdma_get_cm_event(c->id->channel, &ev)) {
		c->dead |= ev->event != RDMA_CM_EVENT_ESTABLISHED;
		rdma_ack_cm_event(ev);
	}
}

static void reap(struct conn *c)
{
	struct ibv_wc wc[2 * SLOTS];
	int n = ibv_poll_cq(c->cq, 2 * SLOTS, wc);

	if (n < 0)
		c->dead = true;
	for (int i = 0; i < n; i++) {
		if (wc[i].status != IBV_WC_SUCCESS)
			c->dead = true;
		else if (wc[i].opcode & IBV_WC_RECV)
			came(c, &wc[i]);
		else
			c->sent++;
	}
	if (c->owed >= HALF && !c->dead && c->posted - c->sent < SLOTS)
		post(c, 0);
}

/* Take what has come, and have the descriptor be readable when more comes. */
static void progress(struct conn *c)
{
	struct ibv_cq *cq;
	void *context;

	/* completions before the end are in the queue when the end is seen */
	manager(c);
	while (!ibv_get_cq_event(c->channel, &cq, &context))
		ibv_ack_cq_events(cq, 1);
	if (ibv_req_notify_cq(c->cq, 0))
		c->dead = true;
	reap(c);
}

/* ------------------------------------------------------- calls of sockets */

static int verbs_socket(int family, int type, int protocol)
{
	struct rdma_cm_id *id;
	struct conn *c;

	(void)family;
	(void)type;
	(void)protocol;
	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP))
		return -1;
	c = conn_new(id);
	return c ? c->fd : -1;
}

static int verbs_bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	struct conn *c = conn_of(fd);

	(void)len;
	return c ? rdma_bind_addr(c->id, (struct sockaddr *)addr) : no_conn();
}

static int verbs_listen(int fd, int backlog)
{
	struct conn *c = conn_of(fd);

	if (!c)
		return no_conn();
	/* a peer may be gone before it is accepted */
	if (rdma_listen(c->id, backlog))
		return -1;
	return no_blocking(c->id->channel->fd);
}

static int up(struct conn *c)
{
	c->up = true;
	return no_blocking(c->id->channel->fd);
}

static int verbs_accept(int fd, struct sockaddr *addr, socklen_t *len)
{
	struct conn *l = conn_of(fd), *c;
	struct rdma_conn_param with = param;
	struct rdma_cm_id *id;

	(void)addr;
	(void)len;
	if (!l)
		return no_conn();
	if (rdma_get_request(l->id, &id))
		return -1;
	c = conn_new(id);
	if (!c)
		return -1;
	if (!make_qp(c) && !rdma_accept(id, &with) && !up(c))
		return c->fd;
	conn_free(c);
	errno = ECONNABORTED;
	return -1;
}

static int verbs_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	struct rdma_conn_param with = param;
	struct conn *c = conn_of(fd);

	(void)len;
	if (!c)
		return no_conn();
	if (rdma_resolve_addr(c->id, NULL, (struct sockaddr *)addr,
			      RESOLVE_MS) ||
	    rdma_resolve_route(c->id, RESOLVE_MS) || make_qp(c) ||
	    rdma_connect(c->id, &with))
		return -1;
	return up(c);
}

static ssize_t verbs_send(int fd, const void *buf, size_t len, int flags)
{
	struct conn *c = conn_of(fd);
	size_t done = 0;

	(void)flags;
	if (!c)
		return no_conn();
	pthread_mutex_lock(&c->lock);
	reap(c);
	while (done < len && !c->dead && room(c)) {
		size_t n = len - done < SLOT - HEAD ? len - done : SLOT - HEAD;

		memcpy(c->tx[c->posted % SLOTS] + HEAD,
		       (const uint8_t *)buf + done, n);
		c->credits--;
		post(c, n);
		done += n;
	}
	errno = c->dead ? EPIPE : EAGAIN;
	pthread_mutex_unlock(&c->lock);
	return done ? (ssize_t)done : -1;
}

/* Take bytes of the oldest message. */
static size_t take(struct conn *c, uint8_t *buf, size_t room_left)
{
	unsigned int slot = c->slot[c->first];
	size_t n = c->len[slot] - c->pos;

	if (n > room_left)
		n = room_left;
	memcpy(buf, c->rx[slot] + HEAD + c->pos, n);
	c->pos += n;
	if (c->pos < c->len[slot])
		return n;
	c->pos = 0;
	c->first = (c->first + 1) % SLOTS;
	c->count--;
	c->owed++;
	post_again(c, slot);
	return n;
}

static ssize_t verbs_recv(int fd, void *buf, size_t len, int flags)
{
	struct conn *c = conn_of(fd);
	size_t done = 0;
	bool dead;

	(void)flags;
	if (!c)
		return no_conn();
	pthread_mutex_lock(&c->lock);
	reap(c);
	dead = c->dead;
	while (done < len && c->count)
		done += take(c, (uint8_t *)buf + done, len - done);
	if (done)
		reap(c);
	pthread_mutex_unlock(&c->lock);
	if (done || dead)
		return done;
	errno = EAGAIN;
	return -1;
}

/* The events of those asked for that a connection is ready for. */
static short ready(struct conn *c, short events)
{
	short now = 0;

	pthread_mutex_lock(&c->lock);
	progress(c);
	if (c->dead)
		now = POLLIN | POLLOUT;
	if (c->count)
		now |= POLLIN;
	if (room(c))
		now |= POLLOUT;
	now = (now & events) | (c->dead ? POLLHUP : 0);
	pthread_mutex_unlock(&c->lock);
	return now;
}

/* The connection of a descriptor; one that listens is as ready as its descriptor. */
static struct conn *polled(int fd)
{
	struct conn *c = conn_of(fd);

	return c && c->up ? c : NULL;
}

/* News of a connection need not be what the caller waits for, so this looks again. */
static int verbs_poll(struct pollfd *fds, nfds_t n, int timeout)
{
	uint64_t end = fs_xport_ms() + timeout, now;
	struct pollfd *real = calloc(n + 1, sizeof(*real));
	int found, rc;

	if (!real) {
		errno = ENOMEM;
		return -1;
	}
	memcpy(real, fds, n * sizeof(*real));
	for (nfds_t i = 0; i < n; i++)
		real[i].events = polled(fds[i].fd) ? POLLIN : fds[i].events;
	do {
		found = 0;
		for (nfds_t i = 0; i < n; i++) {
			struct conn *c = polled(fds[i].fd);

			fds[i].revents = c ? ready(c, fds[i].events) : 0;
			found += !!fds[i].revents;
		}
		now = fs_xport_ms();
		rc = poll(real, n, found || now >= end ? 0 : end - now);
		for (nfds_t i = 0; rc > 0 && i < n; i++) {
			if (polled(fds[i].fd))
				continue;
			fds[i].revents = real[i].revents;
			found += !!fds[i].revents;
		}
	} while (rc >= 0 && !found && now < end);
	free(real);
	return rc < 0 ? -1 : found;
}

static int verbs_setsockopt(int fd, int level, int name, const void *val,
			    socklen_t len)
{
	struct conn *c = conn_of(fd);

	if (!c)
		return no_conn();
	if (level == SOL_SOCKET && name == SO_REUSEADDR)
		return rdma_set_option(c->id, RDMA_OPTION_ID,
				       RDMA_OPTION_ID_REUSEADDR, (void *)val,
				       len);
	errno = ENOPROTOOPT;
	return -1;
}

/* A queue pair that is destroyed takes along what it has not sent. */
static void linger(struct conn *c, uint64_t end)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	bool done;

	do {
		pthread_mutex_lock(&c->lock);
		progress(c);
		done = c->dead || c->posted == c->sent;
		pthread_mutex_unlock(&c->lock);
	} while (!done && fs_xport_ms() < end && !nanosleep(&ms, NULL));
	rdma_disconnect(c->id);
}

static int verbs_close(int fd)
{
	struct conn *c = conn_of(fd);

	if (!c)
		return no_conn();
	if (c->up)
		linger(c, fs_xport_ms() + LINGER_MS);
	conn_free(c);
	return 0;
}

static void verbs_finish(void)
{
	uint64_t end = fs_xport_ms() + LINGER_MS;

	for (int fd = 0; fd < MAX_FD; fd++) {
		struct conn *c = conn_of(fd);

		if (c && c->up)
			linger(c, end);
	}
}

const struct fs_xport fs_verbs = {
	.name = "verbs",
	.family = AF_UNSPEC,
	.socket = verbs_socket,
	.bind = verbs_bind,
	.listen = verbs_listen,
	.accept = verbs_accept,
	.connect = verbs_connect,
	.send = verbs_send,
	.recv = verbs_recv,
	.poll = verbs_poll,
	.setsockopt = verbs_setsockopt,
	.close = verbs_close,
	.finish = verbs_finish,
};
