// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpbench, protocol layer: requests and replies. Calls the transport.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "proto.h"

/**
 * conn_send() - send all of a buffer
 * @c: connection
 * @buf: bytes
 * @len: their number
 *
 * Return: 0, or -1 with errno set.
 */
int conn_send(const struct conn *c, const void *buf, size_t len)
{
	const char *p = buf;

	while (len) {
		ssize_t n = c->xp->send(c->fd, p, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		p += n;
		len -= n;
	}
	return 0;
}

/**
 * conn_recv() - receive until a buffer is full
 * @c: connection
 * @buf: buffer
 * @len: its size
 *
 * Return: 0, or -1 with errno set; an end of the stream is ECONNRESET, as the
 * protocol never lets one side leave while the other waits.
 */
int conn_recv(const struct conn *c, void *buf, size_t len)
{
	char *p = buf;

	while (len) {
		ssize_t n = c->xp->recv(c->fd, p, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			errno = ECONNRESET;
		if (n <= 0)
			return -1;
		p += n;
		len -= n;
	}
	return 0;
}

/**
 * proto_send() - send a request or a reply
 * @c: connection
 * @msg: what to send
 *
 * Return: 0, or -1 with errno set.
 */
int proto_send(const struct conn *c, const struct proto_msg *msg)
{
	unsigned char wire[PROTO_MSG_LEN] = { 0 };
	const uint32_t magic = htobe32(PROTO_MAGIC);
	const uint16_t version = htobe16(PROTO_VERSION);
	const uint16_t op = htobe16(msg->op);
	const uint32_t size = htobe32(msg->size);
	const uint64_t count = htobe64(msg->count);

	memcpy(wire, &magic, sizeof(magic));
	memcpy(wire + 4, &version, sizeof(version));
	memcpy(wire + 6, &op, sizeof(op));
	memcpy(wire + 8, &size, sizeof(size));
	memcpy(wire + 16, &count, sizeof(count));
	return conn_send(c, wire, sizeof(wire));
}

/**
 * proto_recv() - receive a request or a reply
 * @c: connection
 * @msg: filled in
 *
 * Return: 0, or -1 with errno set: EPROTO if the peer is no sdpbench,
 * EPROTONOSUPPORT if it is one of another version.
 */
int proto_recv(const struct conn *c, struct proto_msg *msg)
{
	unsigned char wire[PROTO_MSG_LEN];
	uint16_t version, op;
	uint32_t magic, size;
	uint64_t count;

	if (conn_recv(c, wire, sizeof(wire)))
		return -1;

	memcpy(&magic, wire, sizeof(magic));
	memcpy(&version, wire + 4, sizeof(version));
	memcpy(&op, wire + 6, sizeof(op));
	memcpy(&size, wire + 8, sizeof(size));
	memcpy(&count, wire + 16, sizeof(count));

	if (be32toh(magic) != PROTO_MAGIC) {
		errno = EPROTO;
		return -1;
	}
	if (be16toh(version) != PROTO_VERSION) {
		errno = EPROTONOSUPPORT;
		return -1;
	}
	msg->op = be16toh(op);
	msg->size = be32toh(size);
	msg->count = be64toh(count);
	return 0;
}

/**
 * proto_cpu_ns() - processor time of this process until now
 *
 * Return: nanoseconds.
 */
uint64_t proto_cpu_ns(void)
{
	struct timespec ts;

	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts))
		return 0;
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}
