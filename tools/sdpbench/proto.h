/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The protocol of sdpbench. It runs on the connection that is measured:
 *
 *   client                           server
 *   request HELLO, size = largest -> allocates, or refuses
 *                                 <- reply
 *   request STREAM, size, count   ->
 *   count messages of size bytes -> reads them
 *                                 <- reply, when it has all of them
 *   request PING, size, count     ->
 *   message of size bytes        -> count times:
 *                                 <- the same number of bytes back
 *                                 <- reply, after the last
 *   request BYE                   -> closes
 *
 * Integers are big endian. A reply carries 0 or the errno that refuses the
 * request, and the processor time which the server used since the request.
 */
#ifndef SDPBENCH_PROTO_H
#define SDPBENCH_PROTO_H

#include <stdint.h>

#include "sdpbench.h"

#define PROTO_MAGIC 0x53445042 /* "SDPB" */
#define PROTO_VERSION 1

enum proto_op {
	PROTO_HELLO = 1,
	PROTO_STREAM = 2,
	PROTO_PING = 3,
	PROTO_BYE = 4,
};

struct proto_msg {
	uint16_t op; /* a reply repeats the request's */
	uint32_t size; /* a reply: 0 or errno */
	uint64_t count; /* a reply: processor time, ns */
};

#define PROTO_MSG_LEN 24

/**
 * struct conn - a connection
 * @xp: its transport
 * @fd: descriptor within @xp
 */
struct conn {
	const struct xport *xp;
	int fd;
};

int conn_send(const struct conn *c, const void *buf, size_t len);
int conn_recv(const struct conn *c, void *buf, size_t len);
int proto_send(const struct conn *c, const struct proto_msg *msg);
int proto_recv(const struct conn *c, struct proto_msg *msg);
uint64_t proto_cpu_ns(void);

#endif /* SDPBENCH_PROTO_H */
