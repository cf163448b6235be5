/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sdpbench, streams: connections that one repetition sends on at the same time.
 */
#ifndef SDPBENCH_STREAMS_H
#define SDPBENCH_STREAMS_H

#include "client.h"

/**
 * struct stream - a connection, and the messages that a repetition sends on it
 * @cl: client
 * @job: the work
 * @conn: the connection
 * @sent: bytes so far; the thread of the intervals reads it
 * @reply: of the server
 */
struct stream {
	struct client *cl;
	struct job *job;
	struct conn *conn;
	uint64_t sent;
	struct proto_msg reply;
};

void streams_run(struct client *cl, struct job *job,
		 void (*send)(struct stream *s));

#endif /* SDPBENCH_STREAMS_H */
