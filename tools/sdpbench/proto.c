// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpbench, protocol layer: requests and replies. Calls conn.c.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "proto.h"

/* Magic number, version and operation: messages of each version begin with them */
#define PROTO_HEAD_LEN 8

static _Thread_local uint16_t peer_version;

/**
 * proto_peer_version() - that of the last message of another version
 *
 * Return: the version.
 */
uint16_t proto_peer_version(void)
{
	return peer_version;
}

/**
 * proto_send() - send a request or a reply
 * @c: connection
 * @msg: message to send
 *
 * Return: 0, or -1 with errno set.
 */
int proto_send(struct conn *c, const struct proto_msg *msg)
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
	for (int i = 0; i < PROTO_ARGS; i++) {
		const uint64_t arg = htobe64(msg->arg[i]);

		memcpy(wire + 24 + i * sizeof(arg), &arg, sizeof(arg));
	}
	return conn_send(c, wire, sizeof(wire));
}

static int check_head(const unsigned char *wire)
{
	uint16_t version;
	uint32_t magic;

	memcpy(&magic, wire, sizeof(magic));
	memcpy(&version, wire + 4, sizeof(version));
	if (be32toh(magic) != PROTO_MAGIC) {
		errno = EPROTO;
		return -1;
	}
	if (be16toh(version) != PROTO_VERSION) {
		peer_version = be16toh(version);
		errno = EPROTONOSUPPORT;
		return -1;
	}
	return 0;
}

/**
 * proto_recv() - receive a request or a reply
 * @c: connection
 * @msg: filled in
 *
 * Return: 0, or -1 with errno set: EPROTO if the peer is no sdpbench,
 * EPROTONOSUPPORT if it is one of another version, whose message may be shorter.
 */
int proto_recv(struct conn *c, struct proto_msg *msg)
{
	unsigned char wire[PROTO_MSG_LEN];
	uint16_t op;
	uint32_t size;
	uint64_t count;

	if (conn_recv(c, wire, PROTO_HEAD_LEN) || check_head(wire) ||
	    conn_recv(c, wire + PROTO_HEAD_LEN, sizeof(wire) - PROTO_HEAD_LEN))
		return -1;

	memcpy(&op, wire + 6, sizeof(op));
	memcpy(&size, wire + 8, sizeof(size));
	memcpy(&count, wire + 16, sizeof(count));
	msg->op = be16toh(op);
	msg->size = be32toh(size);
	msg->count = be64toh(count);
	for (int i = 0; i < PROTO_ARGS; i++) {
		memcpy(&msg->arg[i], wire + 24 + i * sizeof(*msg->arg),
		       sizeof(*msg->arg));
		msg->arg[i] = be64toh(msg->arg[i]);
	}
	return 0;
}
