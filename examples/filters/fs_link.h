/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Filter streams: links. A link joins a copy of a producer and a copy of a
 * consumer, or a node and the client. Between nodes it is a connection, between
 * threads of a node a bounded queue of pointers.
 */
#ifndef FS_LINK_H
#define FS_LINK_H

#include <pthread.h>

#include "fs.h"
#include "fs_xport.h"

enum fs_type {
	FS_OPEN =
		1, /* first on a connection: names the link; tag: hash of the plan */
	FS_DATA,
	FS_END, /* of a unit of work */
	FS_ACK, /* seq: buffers taken so far */
	FS_UOW, /* client to node: a unit of work begins */
	FS_DONE, /* node to client: it is done; FS_READY: all links are there */
	FS_BYE, /* there is no more */
	FS_ABORT, /* tag: exit status; payload: why */
	FS_TYPES
};

#define FS_CONTROL 0xffff /* stream of the links between nodes and client */
#define FS_READY 0xffffffffU

/**
 * struct fs_frame - header of a frame, see README.rst
 */
struct fs_frame {
	uint8_t type;
	uint16_t stream;
	uint8_t from;
	uint8_t to;
	uint32_t uow;
	uint32_t seq;
	uint32_t tag;
	uint32_t len;
	uint64_t time;
};

void fs_frame_put(uint8_t *p, const struct fs_frame *fr);
int fs_frame_get(const uint8_t *p, struct fs_frame *fr);

struct fs_buf *fs_buf_new(uint32_t room);

/**
 * struct fs_queue - link within a node
 * @lock: protects the rest
 * @first: index of the oldest buffer
 * @count: buffers in it
 * @taken: buffers taken so far
 * @wake_to: eventfd of the consumer
 * @wake_from: eventfd of the producer
 */
struct fs_queue {
	pthread_mutex_t lock;
	unsigned int size, first, count;
	uint32_t taken;
	int wake_to, wake_from;
	struct fs_buf *ring[];
};

struct fs_queue *fs_queue_new(unsigned int size, int wake_from, int wake_to);

/**
 * struct fs_link - one end of a link
 * @xp: transport, with @fd
 * @queue: NULL for a connection
 * @stream: index in the plan, or FS_CONTROL
 * @from: copy of the producer
 * @to: copy of the consumer
 * @peer: node at the other end
 * @room: most payload that may come
 * @head: buffer that has come and is not taken
 * @in: buffer that is being received
 * @in_got: bytes of it, with the header
 * @in_seq: number of the next buffer to come
 * @readable: poll() said so, or it is not known
 * @ended: the end of the unit of work has come
 * @out: buffer that is being sent
 * @out_sent: bytes of it, with the header
 * @out_seq: number of the next buffer to go
 * @sent: buffers sent, of which the consumer took @acked
 * @taken: buffers that the consumer here took, of which it told @told
 * @ack: frame that says so, of which @ack_left bytes are not sent
 * @want_ack: the stream is demand driven
 */
struct fs_link {
	const struct fs_xport *xp;
	struct fs_queue *queue;
	int fd;
	unsigned int stream, from, to, peer;
	uint32_t room;
	struct fs_buf *head, *in;
	uint32_t in_got, in_seq;
	bool readable, ended;
	struct fs_buf *out;
	uint32_t out_sent, out_seq;
	uint32_t sent, acked;
	uint32_t taken, told;
	uint32_t ack_left;
	bool want_ack;
	uint8_t in_head[FS_HEAD];
	uint8_t ack[FS_HEAD];
};

int fs_link_put(struct fs_link *l, struct fs_buf *b);
int fs_link_recv(struct fs_link *l);
struct fs_buf *fs_link_take(struct fs_link *l);
int fs_link_ack(struct fs_link *l);
int fs_link_acks(struct fs_link *l);
int fs_link_send(struct fs_link *l, const struct fs_frame *fr,
		 const void *payload);
void fs_link_close(struct fs_link *l);

#endif /* FS_LINK_H */
