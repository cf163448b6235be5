// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Filter streams, links: frames over connections that never block, and queues
 * between threads. Calls transports only.
 *
 * Frames are checked here and nowhere else: a peer can write anything.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs_link.h"

#define MAGIC 0x4653 /* "FS" */
#define VERSION 1

/* Contiguous bytes: magic 2, version, type, stream 2, from, to, then words */
struct wire {
	uint16_t magic;
	uint8_t version;
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
_Static_assert(sizeof(struct wire) == FS_HEAD, "a frame's header has no holes");

/**
 * fs_frame_put() - write a header
 * @p: FS_HEAD bytes
 * @fr: its contents
 */
void fs_frame_put(uint8_t *p, const struct fs_frame *fr)
{
	const struct wire w = {
		.magic = htobe16(MAGIC),
		.version = VERSION,
		.type = fr->type,
		.stream = htobe16(fr->stream),
		.from = fr->from,
		.to = fr->to,
		.uow = htobe32(fr->uow),
		.seq = htobe32(fr->seq),
		.tag = htobe32(fr->tag),
		.len = htobe32(fr->len),
		.time = htobe64(fr->time),
	};

	memcpy(p, &w, sizeof(w));
}

/**
 * fs_frame_get() - read a header
 * @p: FS_HEAD bytes
 * @fr: its contents, filled in
 *
 * Return: 0, or -EPROTO if it is none.
 */
int fs_frame_get(const uint8_t *p, struct fs_frame *fr)
{
	struct wire w;

	memcpy(&w, p, sizeof(w));
	if (w.magic != htobe16(MAGIC) || w.version != VERSION || !w.type ||
	    w.type >= FS_TYPES)
		return -EPROTO;
	*fr = (struct fs_frame){
		.type = w.type,
		.stream = be16toh(w.stream),
		.from = w.from,
		.to = w.to,
		.uow = be32toh(w.uow),
		.seq = be32toh(w.seq),
		.tag = be32toh(w.tag),
		.len = be32toh(w.len),
		.time = be64toh(w.time),
	};
	return 0;
}

/**
 * fs_buf_new() - a buffer
 * @room: bytes of payload that it takes
 *
 * Return: the buffer, or NULL without memory.
 */
struct fs_buf *fs_buf_new(uint32_t room)
{
	struct fs_buf *b =
		aligned_alloc(16, (sizeof(*b) + room + 15) & ~(size_t)15);

	if (b) {
		memset(b, 0, sizeof(*b));
		b->room = room;
	}
	return b;
}

/**
 * fs_release() - give a buffer back
 * @b: buffer, or NULL
 */
void fs_release(struct fs_buf *b)
{
	free(b);
}

/* -------------------------------------------------------- within a node */

static void wake(int fd)
{
	const uint64_t one = 1;

	/* it can only fail where a wake-up is on its way already */
	if (write(fd, &one, sizeof(one)) < 0)
		return;
}

/**
 * fs_queue_new() - a queue between two threads
 * @size: buffers that it takes
 * @wake_from: eventfd of the producer
 * @wake_to: eventfd of the consumer
 *
 * Return: the queue, or NULL without memory.
 */
struct fs_queue *fs_queue_new(unsigned int size, int wake_from, int wake_to)
{
	struct fs_queue *q = calloc(1, sizeof(*q) + size * sizeof(q->ring[0]));

	if (q) {
		pthread_mutex_init(&q->lock, NULL);
		q->size = size;
		q->wake_from = wake_from;
		q->wake_to = wake_to;
	}
	return q;
}

static int queue_put(struct fs_queue *q, struct fs_buf *b)
{
	int done = 0;

	pthread_mutex_lock(&q->lock);
	if (q->count < q->size) {
		q->ring[(q->first + q->count++) % q->size] = b;
		done = 1;
	}
	pthread_mutex_unlock(&q->lock);
	if (done)
		wake(q->wake_to);
	return done;
}

static struct fs_buf *queue_get(struct fs_queue *q)
{
	struct fs_buf *b = NULL;

	pthread_mutex_lock(&q->lock);
	if (q->count) {
		b = q->ring[q->first];
		q->first = (q->first + 1) % q->size;
		q->count--;
	}
	pthread_mutex_unlock(&q->lock);
	return b;
}

/* ------------------------------------------------------- over connections */

/* Bytes sent, 0 if none can be sent now, or an error. */
static ssize_t send_some(struct fs_link *l, const void *p, size_t len)
{
	ssize_t n = l->xp->send(l->fd, p, len, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0 &&
	    (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		return 0;
	return n < 0 ? -errno : n;
}

/* The same to receive; the end of the connection is an error. */
static ssize_t recv_some(struct fs_link *l, void *p, size_t len)
{
	ssize_t n = l->xp->recv(l->fd, p, len, MSG_DONTWAIT);

	if (n < 0 &&
	    (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		return 0;
	if (!n)
		return -ECONNRESET;
	return n < 0 ? -errno : n;
}

static void put_head(struct fs_link *l, struct fs_buf *b)
{
	const struct fs_frame fr = {
		.type = b->type,
		.stream = l->stream,
		.from = l->from,
		.to = l->to,
		.uow = b->uow,
		.seq = b->seq,
		.tag = b->tag,
		.len = b->len,
		.time = b->time,
	};

	fs_frame_put(b->head, &fr);
}

/**
 * fs_link_put() - send a buffer; call it again with the same one while it
 *		   returns 0
 * @l: link
 * @b: buffer, FS_DATA or FS_END; given away
 *
 * Return: 1, 0 if it is not all sent yet, or a negative error.
 */
int fs_link_put(struct fs_link *l, struct fs_buf *b)
{
	bool data = b->type == FS_DATA;
	ssize_t n;

	if (l->out != b) {
		b->seq = l->out_seq++;
		l->out = b;
		l->out_sent = 0;
		if (!l->queue)
			put_head(l, b);
	}
	if (l->queue) {
		if (!queue_put(l->queue, b))
			return 0;
	} else {
		n = send_some(l, b->head + l->out_sent,
			      FS_HEAD + b->len - l->out_sent);
		if (n < 0)
			return n;
		l->out_sent += n;
		if (l->out_sent < FS_HEAD + b->len)
			return 0;
	}
	/* an entry of a queue may be gone by now */
	l->sent += data;
	l->out = NULL;
	if (!l->queue)
		fs_release(b);
	return 1;
}

/* Is this what may come on this link now? */
static int check(const struct fs_link *l, const struct fs_frame *fr)
{
	if (fr->stream != l->stream || fr->from != l->from || fr->to != l->to ||
	    fr->len > l->room)
		return -EPROTO;
	switch (fr->type) {
	case FS_OPEN:
		return -EPROTO;
	case FS_DATA:
	case FS_END:
		if (l->stream == FS_CONTROL || fr->seq != l->in_seq ||
		    (fr->type == FS_END && fr->len))
			return -EPROTO;
		return 0;
	case FS_ACK:
		return fr->len || fr->seq - l->acked > l->sent - l->acked ?
			       -EPROTO :
			       0;
	default:
		return l->stream == FS_CONTROL ? 0 : -EPROTO;
	}
}

static int begin(struct fs_link *l)
{
	struct fs_frame fr;
	int err = fs_frame_get(l->in_head, &fr);

	if (!err)
		err = check(l, &fr);
	if (err)
		return err;
	l->in = fs_buf_new(l->room);
	if (!l->in)
		return -ENOMEM;
	l->in->type = fr.type;
	l->in->uow = fr.uow;
	l->in->seq = fr.seq;
	l->in->tag = fr.tag;
	l->in->len = fr.len;
	l->in->time = fr.time;
	l->in_seq += fr.type == FS_DATA || fr.type == FS_END;
	return 0;
}

/**
 * fs_link_recv() - go on receiving
 * @l: link
 *
 * Return: 1 if a buffer is at the head of the link, 0 if none is there yet, or a
 * negative error: -ECONNRESET if the peer is gone, -EPROTO if it sent something
 * that may not come.
 */
int fs_link_recv(struct fs_link *l)
{
	ssize_t n;
	int err;

	if (!l->head && l->queue)
		l->head = queue_get(l->queue);
	if (l->head || l->queue)
		return !!l->head;
	if (l->in_got < FS_HEAD) {
		n = recv_some(l, l->in_head + l->in_got, FS_HEAD - l->in_got);
		if (n <= 0)
			goto none;
		l->in_got += n;
		if (l->in_got < FS_HEAD)
			return 0;
		err = begin(l);
		if (err)
			return err;
	}
	if (l->in_got < FS_HEAD + l->in->len) {
		n = recv_some(l, l->in->data + l->in_got - FS_HEAD,
			      FS_HEAD + l->in->len - l->in_got);
		if (n <= 0)
			goto none;
		l->in_got += n;
		if (l->in_got < FS_HEAD + l->in->len)
			return 0;
	}
	l->head = l->in;
	l->in = NULL;
	l->in_got = 0;
	return 1;
none:
	l->readable = false;
	return n;
}

/**
 * fs_link_take() - take the buffer at the head
 * @l: link of which fs_link_recv() returned 1
 *
 * Return: the buffer.
 */
struct fs_buf *fs_link_take(struct fs_link *l)
{
	struct fs_buf *b = l->head;

	l->head = NULL;
	if (b->type != FS_DATA)
		return b;
	l->taken++;
	if (l->queue) {
		__atomic_store_n(&l->queue->taken, l->taken, __ATOMIC_RELEASE);
		wake(l->queue->wake_from);
	}
	return b;
}

/**
 * fs_link_ack() - tell the producer what was taken, as far as it can be sent now
 * @l: link of a consumer
 *
 * One frame stands for all that was taken before it, so that none is sent while an
 * earlier one waits.
 *
 * Return: 1 if there is nothing more to tell, 0 if there is, or a negative error.
 */
int fs_link_ack(struct fs_link *l)
{
	ssize_t n;

	if (l->queue || !l->want_ack)
		return 1;
	if (!l->ack_left) {
		const struct fs_frame fr = {
			.type = FS_ACK,
			.stream = l->stream,
			.from = l->from,
			.to = l->to,
			.seq = l->taken,
		};

		if (l->told == l->taken)
			return 1;
		l->told = l->taken;
		fs_frame_put(l->ack, &fr);
		l->ack_left = FS_HEAD;
	}
	n = send_some(l, l->ack + FS_HEAD - l->ack_left, l->ack_left);
	if (n < 0)
		return n;
	l->ack_left -= n;
	return !l->ack_left && l->told == l->taken;
}

/**
 * fs_link_acks() - see what the consumer took
 * @l: link of a producer
 *
 * Return: 0, or a negative error.
 */
int fs_link_acks(struct fs_link *l)
{
	struct fs_buf *b;
	int rc;

	if (l->queue) {
		l->acked = __atomic_load_n(&l->queue->taken, __ATOMIC_ACQUIRE);
		return 0;
	}
	if (!l->readable && (!l->want_ack || l->sent == l->acked))
		return 0;
	while ((rc = fs_link_recv(l)) > 0) {
		b = l->head;
		l->head = NULL;
		rc = b->type == FS_ACK ? 0 : -EPROTO;
		l->acked = b->seq;
		fs_release(b);
		if (rc)
			break;
	}
	return rc;
}

/**
 * fs_link_send() - send a short frame to its end
 * @l: link over a connection
 * @fr: frame, but for what the link knows
 * @payload: its payload
 *
 * Return: 0, or a negative error: -ETIMEDOUT if it cannot be sent for a second.
 */
int fs_link_send(struct fs_link *l, const struct fs_frame *fr,
		 const void *payload)
{
	struct pollfd p = { .fd = l->fd, .events = POLLOUT };
	struct fs_frame full = *fr;
	uint8_t buf[FS_HEAD + 512];
	size_t sent = 0, len;
	ssize_t n;

	full.stream = l->stream;
	full.from = l->from;
	full.to = l->to;
	if (full.len > sizeof(buf) - FS_HEAD)
		full.len = sizeof(buf) - FS_HEAD;
	fs_frame_put(buf, &full);
	if (full.len)
		memcpy(buf + FS_HEAD, payload, full.len);
	len = FS_HEAD + full.len;
	while (sent < len) {
		n = send_some(l, buf + sent, len - sent);
		if (n < 0)
			return n;
		sent += n;
		if (!n && l->xp->poll(&p, 1, 1000) == 0)
			return -ETIMEDOUT;
	}
	return 0;
}

/**
 * fs_link_close() - close it
 * @l: link
 */
void fs_link_close(struct fs_link *l)
{
	if (!l->queue && l->fd >= 0)
		l->xp->close(l->fd);
	l->fd = -1;
	fs_release(l->in);
	fs_release(l->head);
	l->in = NULL;
	l->head = NULL;
}
