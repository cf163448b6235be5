// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * xfer: data of a stream and the ways to move it. The byte at each position
 * follows from seed and position alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../lib/net.h"
#include "xfer.h"

static uint64_t word_at(uint64_t seed, uint64_t index)
{
	uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static void generate(unsigned char *buf, size_t len, uint64_t seed,
		     uint64_t pos)
{
	uint64_t word;
	size_t skip, n;

	while (len) {
		/* as a rule whole words, of which each transfer has millions */
		for (; len >= 8 && pos % 8 == 0; buf += 8, pos += 8, len -= 8) {
			word = word_at(seed, pos / 8);
			memcpy(buf, &word, 8);
		}
		if (!len)
			break;
		word = word_at(seed, pos / 8);
		skip = pos % 8;
		n = 8 - skip < len ? 8 - skip : len;
		memcpy(buf, (unsigned char *)&word + skip, n);
		buf += n;
		pos += n;
		len -= n;
	}
}

static int compare(const unsigned char *buf, size_t len, uint64_t seed,
		   uint64_t pos)
{
	unsigned char want[4096];
	size_t n;

	while (len) {
		n = len < sizeof(want) ? len : sizeof(want);
		generate(want, n, seed, pos);
		if (memcmp(want, buf, n))
			return -1;
		buf += n;
		pos += n;
		len -= n;
	}
	return 0;
}

int xfer_fail(struct xfer_conn *conn, const char *what)
{
	if (!conn->error) {
		conn->err = errno;
		conn->error = what;
	}
	return -1;
}

int xfer_stream_init(struct xfer_stream *s, uint64_t seed, uint64_t bytes,
		     uint32_t size, uint32_t flags)
{
	memset(s, 0, sizeof(*s));
	s->seed = seed;
	s->end = bytes;
	s->size = size > XFER_BLOCK ? XFER_BLOCK : size;
	s->flags = flags;
	s->random = (uint32_t)seed | 1;
	s->buf = malloc(XFER_BLOCK);
	return s->buf ? 0 : -1;
}

void xfer_stream_free(struct xfer_stream *s)
{
	free(s->buf);
	s->buf = NULL;
}

/* Length of the next call: small ones are as likely as large ones. */
static size_t next_size(struct xfer_stream *s)
{
	uint64_t left = s->end - s->pos;
	size_t size = s->size;

	if (!size) {
		s->random = s->random * 1103515245u + 12345u;
		size = 1 + (s->random >> 8) % (1u << (s->random >> 8) % 19);
	}
	return left < size ? left : size;
}

static ssize_t send_call(int fd, unsigned char *buf, size_t len, int flags)
{
	struct iovec iov[3] = {
		{ buf, len / 3 },
		{ buf + len / 3, len / 3 },
		{ buf + len / 3 * 2, len - len / 3 * 2 },
	};
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 3 };

	if (flags & XFER_IOV)
		return sendmsg(fd, &msg, MSG_NOSIGNAL);
	return send(fd, buf, len, MSG_NOSIGNAL);
}

/* One call. Returns 1 if it would block. */
int xfer_send_some(struct xfer_conn *conn)
{
	struct xfer_stream *s = &conn->tx;
	size_t len = next_size(s);
	ssize_t n;

	generate(s->buf, len, s->seed, s->pos);
	n = send_call(conn->fd, s->buf, len, s->flags);
	if (n < 0 && errno == EAGAIN)
		return 1;
	if (n <= 0)
		return xfer_fail(conn, "send");
	s->pos += n;
	return 0;
}

static int peek(struct xfer_conn *conn, size_t len)
{
	struct xfer_stream *s = &conn->rx;
	ssize_t n = recv(conn->fd, s->buf, len, MSG_PEEK);

	if (n > 0 && compare(s->buf, n, s->seed, s->pos))
		return xfer_fail(conn, "peeked data differ");
	return 0;
}

/* One call. Returns 1 if it would block; sets rx.eof at the end. */
int xfer_recv_some(struct xfer_conn *conn)
{
	struct xfer_stream *s = &conn->rx;
	size_t len = next_size(s);
	ssize_t n;

	if (s->flags & XFER_PEEK && peek(conn, len))
		return -1;
	n = recv(conn->fd, s->buf, len, 0);
	if (n < 0 && errno == EAGAIN)
		return 1;
	if (n < 0)
		return xfer_fail(conn, "recv");
	if (!n) {
		s->eof = true;
		errno = 0;
		return s->end == UINT64_MAX ? 0 : xfer_fail(conn, "early EOF");
	}
	errno = 0;
	if (compare(s->buf, n, s->seed, s->pos))
		return xfer_fail(conn, "data differ");
	s->pos += n;
	return 0;
}

int xfer_put(struct xfer_conn *conn, const void *data, size_t len)
{
	const char *p = data;
	ssize_t n;

	while (len) {
		n = send(conn->fd, p, len, MSG_NOSIGNAL);
		if (n <= 0)
			return xfer_fail(conn, "send of control data");
		p += n;
		len -= n;
	}
	return 0;
}

int xfer_get(struct xfer_conn *conn, void *data, size_t len)
{
	ssize_t n = recv(conn->fd, data, len, MSG_WAITALL);

	if (n == (ssize_t)len)
		return 0;
	if (n >= 0)
		errno = 0;
	return xfer_fail(conn,
			 n > 0 ? "short control data" : "no control data");
}

int xfer_expect_eof(struct xfer_conn *conn)
{
	char byte;
	ssize_t n = recv(conn->fd, &byte, 1, 0);

	if (!n)
		return 0;
	if (n > 0)
		errno = 0;
	return xfer_fail(conn,
			 n > 0 ? "data after the end" : "error instead of EOF");
}

int xfer_send_file(struct xfer_conn *conn)
{
	struct xfer_stream *s = &conn->tx;
	int fd = memfd_create("xfer", 0);
	int ret = -1;
	off_t off = 0;
	ssize_t n;

	while (s->pos < s->end) {
		n = s->end - s->pos < XFER_BLOCK ? s->end - s->pos : XFER_BLOCK;
		generate(s->buf, n, s->seed, s->pos);
		if (write(fd, s->buf, n) != n) {
			xfer_fail(conn, "write to file");
			goto out;
		}
		s->pos += n;
	}
	while ((uint64_t)off < s->end) {
		n = sendfile(conn->fd, fd, &off, s->end - off);
		if (n <= 0) {
			xfer_fail(conn, "sendfile");
			goto out;
		}
	}
	ret = 0;
out:
	close(fd);
	return ret;
}

static bool tx_done(struct xfer_conn *conn)
{
	return conn->tx.pos >= conn->tx.end;
}

static bool rx_done(struct xfer_conn *conn)
{
	return conn->rx.pos >= conn->rx.end || conn->rx.eof;
}

static int send_all(struct xfer_conn *conn)
{
	if (conn->tx.flags & XFER_SENDFILE)
		return xfer_send_file(conn);
	while (!tx_done(conn))
		if (xfer_send_some(conn))
			return xfer_fail(conn, "blocking send");
	return 0;
}

static int recv_all(struct xfer_conn *conn)
{
	while (!rx_done(conn))
		if (xfer_recv_some(conn))
			return xfer_fail(conn, "blocking recv");
	return 0;
}

static void half_close(struct xfer_conn *conn, bool wanted)
{
	if (wanted && shutdown(conn->fd, SHUT_WR))
		xfer_fail(conn, "shutdown");
}

static int run_poll(struct xfer_conn *conn, bool eof)
{
	struct pollfd p = { .fd = conn->fd };
	bool closed = false;

	net_nonblock(conn->fd, true);
	while (!tx_done(conn) || !rx_done(conn)) {
		p.events = (tx_done(conn) ? 0 : POLLOUT) |
			   (rx_done(conn) ? 0 : POLLIN);
		if (poll(&p, 1, -1) < 0)
			return xfer_fail(conn, "poll");
		if (p.revents & (POLLOUT | POLLERR) && !tx_done(conn) &&
		    xfer_send_some(conn) < 0)
			return -1;
		if (p.revents & (POLLIN | POLLERR | POLLHUP) &&
		    !rx_done(conn) && xfer_recv_some(conn) < 0)
			return -1;
		if (tx_done(conn) && !closed)
			half_close(conn, eof);
		closed = tx_done(conn);
	}
	if (!closed)
		half_close(conn, eof);
	net_nonblock(conn->fd, false);
	return conn->error ? -1 : 0;
}

static void *sender_main(void *arg)
{
	send_all(arg);
	return NULL;
}

static int run_blocking(struct xfer_conn *conn, bool eof)
{
	struct xfer_conn sender = *conn;
	pthread_t thread;

	if (pthread_create(&thread, NULL, sender_main, &sender))
		return xfer_fail(conn, "pthread_create");
	recv_all(conn);
	pthread_join(thread, NULL);
	conn->tx.pos = sender.tx.pos;
	if (sender.error) {
		errno = sender.err;
		return xfer_fail(conn, sender.error);
	}
	half_close(conn, eof);
	return conn->error ? -1 : 0;
}

static int run_mutual(struct xfer_conn *conn, bool eof)
{
	if (send_all(conn))
		return -1;
	half_close(conn, eof);
	return recv_all(conn);
}

/*
 * Write until nothing has moved for a while; wait as long again, so that the
 * other end has stalled as well; then read what is there.
 */
static int run_stall(struct xfer_conn *conn, unsigned int stall_ms)
{
	struct pollfd p = { .fd = conn->fd, .events = POLLOUT };
	int ret;

	net_nonblock(conn->fd, true);
	while (conn->tx.pos < XFER_STALL_MAX) {
		ret = xfer_send_some(conn);
		if (ret < 0)
			return -1;
		if (ret && poll(&p, 1, stall_ms) == 0)
			break;
	}
	poll(NULL, 0, stall_ms);
	net_nonblock(conn->fd, false);
	conn->tx.end = conn->tx.pos;
	half_close(conn, true);
	return recv_all(conn);
}

/* The whole transfer as seen from one end, without request and verdict. */
int xfer_run(struct xfer_conn *conn, const struct xfer_request *req,
	     bool client)
{
	bool eof = client && req->flags & XFER_EOF;

	switch (req->mode) {
	case XFER_POLL:
		return run_poll(conn, eof);
	case XFER_BLOCK_IO:
		return run_blocking(conn, eof);
	case XFER_MUTUAL:
		return run_mutual(conn, eof);
	case XFER_STALL:
		return run_stall(conn, req->stall_ms);
	}
	errno = EPROTO;
	return xfer_fail(conn, "mode");
}
