/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The protocol of sdpbench. It runs on the connection that is measured:
 *
 *   client                           server
 *   request HELLO                 -> allocates, or refuses
 *                                 <- reply
 *   request STREAM                ->
 *   count messages of size bytes  -> reads them
 *                                 <- with a window Q: a byte for each Q/2
 *                                 <- reply, when it has all of them
 *   request PING                  ->
 *   message of size bytes         -> count times:
 *                                 <- an answer of PING_ANSWER bytes
 *                                 <- reply, after the last
 *   request EXCHANGE              ->
 *   count messages of size bytes <-> as many, both at once; EXCHANGE_ROUNDS times
 *                                 <- reply
 *   request PROGRESS              ->
 *   a burst of messages           -> count times:
 *                                 <- a burst of messages, then it computes
 *                                 <- reply
 *   request BYE                   -> closes
 *
 * Integers are big endian. A reply carries 0 or the errno that refuses the
 * request, and what the server used of its processors since the request.
 */
#ifndef SDPBENCH_PROTO_H
#define SDPBENCH_PROTO_H

#include "conn.h"

#define PROTO_MAGIC 0x53445042 /* "SDPB" */
#define PROTO_VERSION 2

enum proto_op {
	PROTO_HELLO = 1,
	PROTO_STREAM = 2,
	PROTO_PING = 3,
	PROTO_BYE = 4,
	PROTO_EXCHANGE = 5,
	PROTO_PROGRESS = 6,
};

/* SAMPLE_FIRST: at a real-time priority, because the sender has one */
enum sample { SAMPLE_NONE, SAMPLE_TURN, SAMPLE_FIRST };

/* Arguments of a request, and what a reply tells */
enum {
	/* HELLO: size is that of the largest message */
	HELLO_WAIT = 0, /* enum wait_way */
	HELLO_MAP,
	HELLO_BUFFERS, /* to receive into, in turn; 0 for large pieces */
	HELLO_ZEROCOPY,
	/* STREAM */
	STREAM_WINDOW = 0,
	STREAM_SAMPLE, /* enum sample: look at the use of the receive buffers */
	/* PING */
	PING_ANSWER = 0, /* bytes of an answer */
	/* EXCHANGE */
	EXCHANGE_ROUNDS = 0,
	/* PROGRESS */
	PROGRESS_BURST = 0,
	PROGRESS_WAY, /* enum compute_way */
	PROGRESS_NS,
	/* a reply */
	REPLY_BUSY = 0, /* struct host_time */
	REPLY_SOFTIRQ,
	REPLY_SAMPLES,
	REPLY_UTIL, /* mean of the samples, millionths */
	PROTO_ARGS = 4
};

struct proto_msg {
	uint16_t op; /* a reply repeats the request's */
	uint32_t size; /* a reply: 0 or errno */
	uint64_t count; /* a reply: processor time of the server, ns */
	uint64_t arg[PROTO_ARGS];
};

#define PROTO_MSG_LEN 56

int proto_send(struct conn *c, const struct proto_msg *msg);
int proto_recv(struct conn *c, struct proto_msg *msg);
uint16_t proto_peer_version(void);

#endif /* SDPBENCH_PROTO_H */
