// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpbench, connections: ways to send, to receive and to wait for data. Calls
 * the transport.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <linux/errqueue.h>
#include <linux/sdp.h>

#include "conn.h"

/* Room for the pages mapped at a time */
#define WINDOW_SIZE (512U << 10)
#define WINDOW_PAGE 4096U
/* MSG_ZEROCOPY: sends under way, for which no notification has come, at most */
#define ZC_MOST 64
#define BUSY_POLL_US 50 /* SO_BUSY_POLL */

/**
 * conn_init() - a connection with the ordinary ways
 * @c: filled in
 * @xp: transport
 * @fd: descriptor
 */
void conn_init(struct conn *c, const struct xport *xp, int fd)
{
	*c = (struct conn){ .xp = xp, .fd = fd, .epoll = -1 };
}

/**
 * conn_set_wait() - choose how data is waited for
 * @c: connection
 * @way: how
 *
 * Return: 0, or -1 with errno set.
 */
int conn_set_wait(struct conn *c, enum wait_way way)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int us = BUSY_POLL_US;

	if (way > WAIT_BUSY || (way == WAIT_EPOLL && !c->xp->kernel)) {
		errno = EOPNOTSUPP;
		return -1;
	}
	/* polls a device that can be polled; recv_busy() asks again and again anyway */
	if (way == WAIT_BUSY)
		c->xp->setsockopt(c->fd, SOL_SOCKET, SO_BUSY_POLL, &us,
				  sizeof(us));
	if (way == WAIT_EPOLL && c->epoll < 0) {
		c->epoll = epoll_create1(EPOLL_CLOEXEC);
		if (c->epoll < 0 ||
		    epoll_ctl(c->epoll, EPOLL_CTL_ADD, c->fd, &ev))
			return -1;
	}
	c->wait_way = way;
	return 0;
}

/**
 * conn_set_map() - receive mapped pages
 * @c: connection
 *
 * Return: 0, or -1 with errno set.
 */
int conn_set_map(struct conn *c)
{
	void *p;

	if (c->xp->family != AF_SDP) {
		errno = EOPNOTSUPP;
		return -1;
	}
	p = mmap(NULL, WINDOW_SIZE, PROT_READ, MAP_SHARED, c->fd, 0);
	if (p == MAP_FAILED)
		return -1;
	c->window = p;
	return 0;
}

/**
 * conn_set_zerocopy() - send messages with MSG_ZEROCOPY
 * @c: connection
 *
 * Return: 0, or -1 with errno set.
 */
int conn_set_zerocopy(struct conn *c)
{
	int one = 1, err;

	if (!c->xp->kernel) {
		errno = EOPNOTSUPP;
		return -1;
	}
	if (c->xp->family == AF_SDP)
		err = setsockopt(c->fd, SOL_SDP, SDP_ZEROCOPY, &one,
				 sizeof(one));
	else
		err = setsockopt(c->fd, SOL_SOCKET, SO_ZEROCOPY, &one,
				 sizeof(one));
	c->zerocopy = !err;
	return err;
}

/**
 * conn_close() - end a connection
 * @c: connection
 */
void conn_close(struct conn *c)
{
	if (c->window)
		munmap(c->window, WINDOW_SIZE);
	if (c->epoll >= 0)
		close(c->epoll);
	c->xp->close(c->fd);
}

/*
 * Takes one notification, if there is any. Return: was there one?
 * ee_info and ee_data are the first and the last send of a range. Ranges may come out
 * of order, as those of TCP do when it sends something again.
 */
static bool zc_reap(struct conn *c)
{
	char control[256];
	struct msghdr msg = { .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct sock_extended_err err;
	struct cmsghdr *cm;

	if (recvmsg(c->fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
		return false;
	cm = CMSG_FIRSTHDR(&msg);
	if (!cm)
		return false;
	memcpy(&err, CMSG_DATA(cm), sizeof(err));
	if (err.ee_origin == SO_EE_ORIGIN_ZEROCOPY)
		c->zc_done += err.ee_data - err.ee_info + 1;
	return true;
}

/* Waits until notifications are missing for @most sends at most */
static int zc_wait(struct conn *c, uint32_t most)
{
	/* POLLERR, for which poll() need not be asked: there is a notification */
	struct pollfd p = { .fd = c->fd };

	while (c->zc_sent - c->zc_done > most) {
		if (zc_reap(c))
			continue;
		if (poll(&p, 1, -1) < 0 && errno != EINTR)
			return -1;
		if (p.revents & POLLHUP) {
			errno = ECONNRESET;
			return -1;
		}
	}
	return 0;
}

/**
 * conn_settle() - wait until the kernel has done with all that was sent
 * @c: connection
 *
 * Return: 0, or -1 with errno set.
 */
int conn_settle(struct conn *c)
{
	return zc_wait(c, 0);
}

static int send_all(struct conn *c, const char *p, size_t len, int flags)
{
	while (len) {
		ssize_t n = c->xp->send(c->fd, p, len, flags);

		if (n < 0 && errno == EINTR)
			continue;
		/* no memory for notifications: those that have come make room */
		if (n < 0 && errno == ENOBUFS && c->zc_sent != c->zc_done) {
			if (zc_wait(c, c->zc_sent - c->zc_done - 1))
				return -1;
			continue;
		}
		if (n < 0)
			return -1;
		c->zc_sent += !!(flags & MSG_ZEROCOPY);
		p += n;
		len -= n;
	}
	return 0;
}

/**
 * conn_send() - send all of a buffer, with a copy
 * @c: connection
 * @buf: bytes
 * @len: their number
 *
 * Return: 0, or -1 with errno set.
 */
int conn_send(struct conn *c, const void *buf, size_t len)
{
	return send_all(c, buf, len, MSG_NOSIGNAL);
}

/**
 * conn_send_message() - send a message in the way asked for
 * @c: connection
 * @buf: bytes
 * @len: their number
 *
 * Return: 0, or -1 with errno set.
 */
int conn_send_message(struct conn *c, const void *buf, size_t len)
{
	if (!c->zerocopy)
		return conn_send(c, buf, len);
	if (zc_wait(c, ZC_MOST - 1))
		return -1;
	return send_all(c, buf, len, MSG_NOSIGNAL | MSG_ZEROCOPY);
}

/*
 * Maps whole pages and has the kernel copy what is no whole page, or reads what
 * can only be read. Return: as recv()
 */
static ssize_t recv_mapped(struct conn *c, void *buf, size_t len)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };

	for (;;) {
		struct sdp_zerocopy_receive z = {
			.address = (uintptr_t)c->window,
			.length = len < WINDOW_SIZE ? len & ~(WINDOW_PAGE - 1) :
						      WINDOW_SIZE,
			/* all that waits is copied if there is room for it */
			.copybuf_address = (uintptr_t)buf,
			.copybuf_len = len < WINDOW_PAGE ? len : WINDOW_PAGE,
		};
		socklen_t z_len = sizeof(z);

		if (poll(&p, 1, -1) < 0 && errno != EINTR)
			return -1;
		if (getsockopt(c->fd, SOL_SDP, SDP_ZEROCOPY_RECEIVE, &z,
			       &z_len))
			return -1;
		if (z.length || z.copybuf_len > 0)
			return (ssize_t)z.length + z.copybuf_len;
		if (z.recv_skip_hint && z.recv_skip_hint < len)
			len = z.recv_skip_hint;
		if (z.recv_skip_hint || !z.inq)
			return c->xp->recv(c->fd, buf, len, 0);
	}
}

static ssize_t recv_epoll(struct conn *c, void *buf, size_t len)
{
	struct epoll_event ev;

	if (epoll_wait(c->epoll, &ev, 1, -1) < 0)
		return -1;
	return c->xp->recv(c->fd, buf, len, MSG_DONTWAIT);
}

/* Let a peer run that has only this processor, too: otherwise it would never send */
static void busy_yield(void)
{
	static int processors;

	if (!processors)
		processors = sysconf(_SC_NPROCESSORS_ONLN);
	if (processors == 1)
		sched_yield();
}

static ssize_t recv_busy(struct conn *c, void *buf, size_t len)
{
	ssize_t n;

	for (;;) {
		n = c->xp->recv(c->fd, buf, len, MSG_DONTWAIT);
		if (n >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK))
			return n;
		busy_yield();
	}
}

static ssize_t recv_once(struct conn *c, void *buf, size_t len)
{
	if (c->window && len >= WINDOW_PAGE)
		return recv_mapped(c, buf, len);
	switch (c->wait_way) {
	case WAIT_EPOLL:
		return recv_epoll(c, buf, len);
	case WAIT_BUSY:
		return recv_busy(c, buf, len);
	default:
		return c->xp->recv(c->fd, buf, len, 0);
	}
}

/**
 * conn_recv_some() - receive what is there, at least one byte
 * @c: connection
 * @buf: buffer
 * @len: its size
 *
 * Return: number of bytes, or -1 with errno set; an end of the stream is
 * ECONNRESET, as the protocol never lets one side leave while the other waits.
 */
ssize_t conn_recv_some(struct conn *c, void *buf, size_t len)
{
	for (;;) {
		ssize_t n = recv_once(c, buf, len);

		if (n > 0)
			return n;
		if (n == 0)
			errno = ECONNRESET;
		if (n == 0 ||
		    (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK))
			return -1;
	}
}

/**
 * conn_recv() - receive until a buffer is full
 * @c: connection
 * @buf: buffer
 * @len: its size
 *
 * Return: 0, or -1 with errno set.
 */
int conn_recv(struct conn *c, void *buf, size_t len)
{
	char *p = buf;

	while (len) {
		ssize_t n = conn_recv_some(c, p, len);

		if (n < 0)
			return -1;
		p += n;
		len -= n;
	}
	return 0;
}

/* Return: bytes, 0 if nothing can be done at once, -1 with errno set */
static ssize_t at_once(ssize_t n)
{
	if (n == 0)
		errno = ECONNRESET;
	if (n > 0)
		return n;
	return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK ||
			 errno == EINTR) ?
		       0 :
		       -1;
}

/* Return: 1 for progress, 0 for none, -1 with errno set */
static int exchange_step(struct conn *c, const struct exchange *x,
			 uint64_t *out, uint64_t *in)
{
	ssize_t sent = 0, got = 0;

	if (*out) {
		uint32_t at = (x->size - *out % x->size) % x->size;

		sent = at_once(c->xp->send(c->fd, x->out + at, x->size - at,
					   MSG_DONTWAIT | MSG_NOSIGNAL));
		if (sent < 0)
			return -1;
	}
	if (*in) {
		got = at_once(c->xp->recv(c->fd, x->in,
					  *in < x->in_len ? *in : x->in_len,
					  MSG_DONTWAIT));
		if (got < 0)
			return -1;
	}
	*out -= sent;
	*in -= got;
	return sent || got;
}

/**
 * conn_exchange() - send and receive the same number of messages at the same time
 * @c: connection
 * @x: the transfer
 *
 * Waits by poll(), or not at all with WAIT_BUSY.
 *
 * Return: 0, or -1 with errno set.
 */
int conn_exchange(struct conn *c, const struct exchange *x)
{
	uint64_t out = x->count * x->size, in = out;

	while (out || in) {
		struct pollfd p = { .fd = c->fd };
		int ret = exchange_step(c, x, &out, &in);

		if (ret < 0)
			return -1;
		if (ret || !(out || in))
			continue;
		if (c->wait_way == WAIT_BUSY) {
			busy_yield();
			continue;
		}
		p.events = (out ? POLLOUT : 0) | (in ? POLLIN : 0);
		if (c->xp->poll(&p, 1, -1) < 0 && errno != EINTR)
			return -1;
	}
	return 0;
}
