// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Filter streams, transport "verbs": Send and Receive of a reliable connection.
 *
 * Each end has SLOTS receives posted, and as many buffers to send from. A message may be
 * sent for each receive that the peer has posted: a word in front of each message says
 * how many have been posted again. One of them is kept for messages that say nothing else,
 * so that both ends can always tell.
 *
 * A descriptor here is that of the event channel of a connection. It is used by one
 * thread at a time.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs_verbs.h"

#define SLOTS 8
#define WORD 4 /* in front of each message: receives posted again */
#define FDS 65536
#define SLOT_MAX (256 << 10)

/**
 * struct con - connection, or what becomes one
 * @id: of librdmacm
 * @addr: where a listener is bound
 * @memory: slots to receive, then slots to send
 * @credits: messages that may be sent
 * @owed: receives that were posted again, of which the peer does not know
 * @sending: slots in use to send
 * @next: slot to send from
 * @ready: slots that have data, in order
 * @length: of the data of each slot to receive, without the word
 * @first: oldest of @ready, @count of them
 * @used: bytes read of the oldest
 * @dead: the connection has ended
 */
struct con {
	struct rdma_cm_id *id;
	struct sockaddr_storage addr;
	uint8_t *memory;
	struct ibv_mr *mr;
	unsigned int credits, owed, sending, next;
	unsigned int ready[SLOTS], length[SLOTS];
	unsigned int first, count;
	size_t used;
	bool dead;
};

static struct con *table[FDS];
static size_t slot = 65536;

/**
 * fs_verbs_slot() - choose the size of messages
 * @bytes: largest frame that will be sent in one
 */
void fs_verbs_slot(size_t bytes)
{
	slot = bytes < SLOT_MAX ? bytes : SLOT_MAX;
	slot = (slot + WORD + 63) & ~(size_t)63;
}

static struct con *con_of(int fd)
{
	return fd < 0 || fd >= FDS ? NULL : table[fd];
}

static int fail(int err)
{
	errno = err;
	return -1;
}

static int post_recv(struct con *c, unsigned int i)
{
	return rdma_post_recv(c->id, (void *)(uintptr_t)i, c->memory + i * slot,
			      slot, c->mr);
}

/* Queue pair and memory of a connection that is about to be made. */
static int prepare(struct con *c)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = SLOTS,
			 .max_recv_wr = SLOTS,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};

	if (rdma_create_qp(c->id, NULL, &attr))
		return -1;
	c->memory = aligned_alloc(64, 2 * SLOTS * slot);
	if (!c->memory)
		return fail(ENOMEM);
	memset(c->memory, 0, 2 * SLOTS * slot);
	c->mr = rdma_reg_msgs(c->id, c->memory, 2 * SLOTS * slot);
	if (!c->mr)
		return -1;
	for (unsigned int i = 0; i < SLOTS; i++) {
		if (post_recv(c, i))
			return -1;
	}
	c->credits = SLOTS;
	return 0;
}

static void unblock(int fd)
{
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

/* From now on its descriptors are polled. */
static int enter(struct con *c)
{
	int fd = c->id->channel->fd;

	if (fd >= FDS)
		return fail(EMFILE);
	unblock(fd);
	unblock(c->id->recv_cq_channel->fd);
	unblock(c->id->send_cq_channel->fd);
	table[fd] = c;
	return fd;
}

static void destroy(struct con *c)
{
	if (c->id && c->id->qp) {
		rdma_disconnect(c->id);
		if (c->mr)
			rdma_dereg_mr(c->mr);
		rdma_destroy_qp(c->id);
	}
	if (c->id)
		rdma_destroy_ep(c->id);
	free(c->memory);
	free(c);
}

/* Closes a connection that failed, keeps errno. */
static int give_up(struct con *c)
{
	int err = errno;

	destroy(c);
	return fail(err);
}

/**
 * fs_verbs_socket() - as socket(): a descriptor to bind or to connect
 */
int fs_verbs_socket(int family, int type, int protocol)
{
	/* a place holder, which the event channel replaces under the same number */
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)family;
	(void)type;
	(void)protocol;
	if (fd < 0)
		return -1;
	if (fd >= FDS) {
		close(fd);
		return fail(EMFILE);
	}
	table[fd] = calloc(1, sizeof(*table[fd]));
	if (!table[fd]) {
		close(fd);
		return fail(ENOMEM);
	}
	return fd;
}

/* The event channel of a connection takes the place of @fd. */
static int take_place(struct con *c, int fd)
{
	struct rdma_event_channel *ch = c->id->channel;

	if (dup3(ch->fd, fd, O_CLOEXEC) < 0)
		return -1;
	close(ch->fd);
	ch->fd = fd;
	return 0;
}

/**
 * fs_verbs_bind() - as bind()
 */
int fs_verbs_bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	struct con *c = con_of(fd);

	if (!c || len > sizeof(c->addr))
		return fail(EINVAL);
	memcpy(&c->addr, addr, len);
	return 0;
}

/* An id whose calls wait, as rdma_create_ep() makes them. */
static int make_id(struct con *c, const struct sockaddr *src,
		   const struct sockaddr *dst, socklen_t len)
{
	struct rdma_addrinfo ai = {
		.ai_flags = src ? RAI_PASSIVE : 0,
		.ai_family = (src ? src : dst)->sa_family,
		.ai_qp_type = IBV_QPT_RC,
		.ai_port_space = RDMA_PS_TCP,
		.ai_src_len = src ? len : 0,
		.ai_dst_len = dst ? len : 0,
		.ai_src_addr = (struct sockaddr *)src,
		.ai_dst_addr = (struct sockaddr *)dst,
	};

	return rdma_create_ep(&c->id, &ai, NULL, NULL);
}

/**
 * fs_verbs_listen() - as listen()
 */
int fs_verbs_listen(int fd, int backlog)
{
	struct con *c = con_of(fd);

	if (!c)
		return fail(EBADF);
	if (make_id(c, (struct sockaddr *)&c->addr, NULL,
		    c->addr.ss_family == AF_INET6 ?
			    sizeof(struct sockaddr_in6) :
			    sizeof(struct sockaddr_in)) ||
	    take_place(c, fd))
		return -1;
	return rdma_listen(c->id, backlog);
}

/**
 * fs_verbs_accept() - as accept()
 */
int fs_verbs_accept(int fd, struct sockaddr *addr, socklen_t *len)
{
	struct con *l = con_of(fd), *c = calloc(1, sizeof(*c));
	struct rdma_conn_param param = { .rnr_retry_count = 7,
					 .retry_count = 7 };

	(void)addr;
	(void)len;
	if (!l || !c) {
		free(c);
		return fail(l ? ENOMEM : EBADF);
	}
	if (rdma_get_request(l->id, &c->id) || prepare(c) ||
	    rdma_accept(c->id, &param))
		return give_up(c);
	fd = enter(c);
	return fd < 0 ? give_up(c) : fd;
}

/**
 * fs_verbs_connect() - as connect()
 */
int fs_verbs_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	struct con *c = con_of(fd);
	struct rdma_conn_param param = { .rnr_retry_count = 7,
					 .retry_count = 7 };

	if (!c)
		return fail(EBADF);
	if (make_id(c, NULL, addr, len) || take_place(c, fd) || prepare(c) ||
	    rdma_connect(c->id, &param))
		return -1;
	return enter(c) < 0 ? -1 : 0;
}

/* Take what has been completed. */
static void reap(struct con *c)
{
	struct ibv_wc wc;
	uint32_t word;

	while (ibv_poll_cq(c->id->send_cq, 1, &wc) > 0) {
		c->sending--;
		c->dead |= wc.status != IBV_WC_SUCCESS;
	}
	/* what came before the end of the connection counts */
	while (ibv_poll_cq(c->id->recv_cq, 1, &wc) > 0) {
		unsigned int i = wc.wr_id;

		if (wc.status != IBV_WC_SUCCESS || wc.byte_len < WORD ||
		    c->count == SLOTS) {
			c->dead = true;
			break;
		}
		memcpy(&word, c->memory + i * slot, sizeof(word));
		c->credits += be32toh(word) <= SLOTS ? be32toh(word) : 0;
		if (c->credits > SLOTS)
			c->credits = SLOTS;
		c->length[i] = wc.byte_len - WORD;
		if (c->length[i])
			c->ready[(c->first + c->count++) % SLOTS] = i;
		else if (!post_recv(c, i))
			c->owed++;
	}
}

static int post_send(struct con *c, const void *buf, size_t len)
{
	uint8_t *p = c->memory + (SLOTS + c->next) * slot;
	uint32_t word = htobe32(c->owed);

	memcpy(p, &word, sizeof(word));
	if (len)
		memcpy(p + WORD, buf, len);
	if (rdma_post_send(c->id, NULL, p, WORD + len, c->mr, 0)) {
		c->dead = true;
		return fail(ECONNRESET);
	}
	c->next = (c->next + 1) % SLOTS;
	c->sending++;
	c->credits--;
	c->owed = 0;
	return 0;
}

/* The last receive of the peer is kept for this. */
static void tell(struct con *c)
{
	if (c->owed >= SLOTS / 2 && c->credits && c->sending < SLOTS)
		post_send(c, NULL, 0);
}

/**
 * fs_verbs_send() - as send() with MSG_DONTWAIT: a message, or as much as fits in one
 */
ssize_t fs_verbs_send(int fd, const void *buf, size_t len, int flags)
{
	struct con *c = con_of(fd);

	(void)flags;
	if (!c)
		return fail(EBADF);
	reap(c);
	if (c->dead)
		return fail(ECONNRESET);
	if (c->credits < 2 || c->sending == SLOTS)
		return fail(EAGAIN);
	if (len > slot - WORD)
		len = slot - WORD;
	return post_send(c, buf, len) ? -1 : (ssize_t)len;
}

/**
 * fs_verbs_recv() - as recv() with MSG_DONTWAIT
 */
ssize_t fs_verbs_recv(int fd, void *buf, size_t len, int flags)
{
	struct con *c = con_of(fd);
	unsigned int i;

	(void)flags;
	if (!c)
		return fail(EBADF);
	reap(c);
	if (!c->count)
		return c->dead ? 0 : fail(EAGAIN);
	i = c->ready[c->first];
	if (len > c->length[i] - c->used)
		len = c->length[i] - c->used;
	memcpy(buf, c->memory + i * slot + WORD + c->used, len);
	c->used += len;
	if (c->used == c->length[i]) {
		c->used = 0;
		c->first = (c->first + 1) % SLOTS;
		c->count--;
		if (post_recv(c, i))
			c->dead = true;
		else
			c->owed++;
		tell(c);
	}
	return len;
}

static short state_of(struct con *c, short events)
{
	short now = 0;

	reap(c);
	tell(c);
	if (c->count || c->dead)
		now |= POLLIN;
	if (c->dead || (c->credits >= 2 && c->sending < SLOTS))
		now |= POLLOUT;
	return now & events;
}

static void drain(struct ibv_comp_channel *ch)
{
	struct ibv_cq *cq;
	void *context;

	while (!ibv_get_cq_event(ch, &cq, &context))
		ibv_ack_cq_events(cq, 1);
}

/* A listener has no queue pair: its channel says when there is a request. */
static bool is_con(const struct con *c)
{
	return c && c->id && c->id->qp;
}

static int look(struct pollfd *fds, nfds_t n)
{
	int ready = 0;

	for (nfds_t i = 0; i < n; i++) {
		struct con *c = con_of(fds[i].fd);

		fds[i].revents = is_con(c) ? state_of(c, fds[i].events) : 0;
		ready += !!fds[i].revents;
	}
	return ready;
}

/* Ask for events of what comes next; three descriptors for each connection. */
static void arm(const struct pollfd *fds, nfds_t n, struct pollfd *real)
{
	for (nfds_t i = 0; i < n; i++, real += 3) {
		struct con *c = con_of(fds[i].fd);

		real[0] = fds[i];
		real[1].fd = -1;
		real[2].fd = -1;
		if (!is_con(c))
			continue;
		drain(c->id->recv_cq_channel);
		drain(c->id->send_cq_channel);
		ibv_req_notify_cq(c->id->recv_cq, 0);
		ibv_req_notify_cq(c->id->send_cq, 0);
		real[0].events = POLLIN;
		real[1] = (struct pollfd){ .fd = c->id->recv_cq_channel->fd,
					   .events = POLLIN };
		real[2] = (struct pollfd){ .fd = c->id->send_cq_channel->fd,
					   .events = POLLIN };
	}
}

/* Collect the results of plain descriptors; an event of a connection's channel is its end. */
static int gather(struct pollfd *fds, nfds_t n, const struct pollfd *real)
{
	int ready = 0;

	for (nfds_t i = 0; i < n; i++, real += 3) {
		struct con *c = con_of(fds[i].fd);

		if (is_con(c)) {
			c->dead |= !!real[0].revents;
			fds[i].revents = state_of(c, fds[i].events);
		} else {
			fds[i].revents = real[0].revents;
		}
		ready += !!fds[i].revents;
	}
	return ready;
}

/**
 * fs_verbs_poll() - as poll(), with other descriptors among those of connections
 */
int fs_verbs_poll(struct pollfd *fds, nfds_t n, int timeout)
{
	struct pollfd *real = calloc(n ? n : 1, 3 * sizeof(*real));
	int rc;

	if (!real)
		return fail(ENOMEM);
	/* what comes between is seen by the second look or makes an event */
	arm(fds, n, real);
	rc = poll(real, 3 * n, look(fds, n) ? 0 : timeout);
	if (rc >= 0)
		rc = gather(fds, n, real);
	free(real);
	return rc;
}

/**
 * fs_verbs_setsockopt() - there are no options
 */
int fs_verbs_setsockopt(int fd, int level, int name, const void *val,
			socklen_t len)
{
	(void)fd;
	(void)level;
	(void)name;
	(void)val;
	(void)len;
	return fail(ENOPROTOOPT);
}

/**
 * fs_verbs_close() - as close()
 */
int fs_verbs_close(int fd)
{
	struct con *c = con_of(fd);

	if (!c)
		return fail(EBADF);
	table[fd] = NULL;
	if (!c->id)
		close(fd);
	destroy(c);
	return 0;
}
