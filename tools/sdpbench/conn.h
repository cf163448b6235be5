/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sdpbench, a connection and the ways to send, to receive and to wait on it.
 */
#ifndef SDPBENCH_CONN_H
#define SDPBENCH_CONN_H

#include "sdpbench.h"

/**
 * struct conn - a connection
 * @xp: its transport
 * @fd: descriptor within @xp
 * @wait_way: how data is waited for
 * @epoll: descriptor of epoll, -1 without
 * @window: where SDP_ZEROCOPY_RECEIVE maps, NULL without
 * @zerocopy: send with MSG_ZEROCOPY
 * @zc_sent: number of such sends
 * @zc_done: number of those that the kernel has done with
 */
struct conn {
	const struct xport *xp;
	int fd;
	enum wait_way wait_way;
	int epoll;
	char *window;
	bool zerocopy;
	uint32_t zc_sent;
	uint32_t zc_done;
};

void conn_init(struct conn *c, const struct xport *xp, int fd);
int conn_set_wait(struct conn *c, enum wait_way way);
int conn_set_map(struct conn *c);
int conn_set_zerocopy(struct conn *c);
void conn_close(struct conn *c);
int conn_send(struct conn *c, const void *buf, size_t len);
int conn_send_message(struct conn *c, const void *buf, size_t len);
int conn_settle(struct conn *c);
int conn_recv(struct conn *c, void *buf, size_t len);
ssize_t conn_recv_some(struct conn *c, void *buf, size_t len);

/**
 * struct exchange - messages that go both ways at once
 * @out: memory of a message to send
 * @in: memory to receive into
 * @in_len: its size
 * @size: bytes of a message
 * @count: messages each way
 */
struct exchange {
	const char *out;
	char *in;
	size_t in_len;
	uint32_t size;
	uint64_t count;
};

int conn_exchange(struct conn *c, const struct exchange *x);

#endif /* SDPBENCH_CONN_H */
