/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Checksummed transfer: both ends know from a seed what every byte of a stream
 * has to be, so the receiver compares bytes, not sums.
 */
#ifndef SELFTESTS_SDP_XFER_H
#define SELFTESTS_SDP_XFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XFER_MAGIC 0x58464552u
#define XFER_BLOCK (256 * 1024)
/* More than buffers hold; a side that has not stalled when the other one reads writes on */
#define XFER_STALL_MAX (8u << 20)

/* Request of a client to the server, first bytes of the connection. */
struct xfer_request {
	uint32_t magic;
	uint32_t mode;
	uint64_t up; /* bytes from the client */
	uint64_t down; /* bytes from the server */
	uint64_t seed;
	uint32_t send_size; /* largest send(), 0: random */
	uint32_t recv_size; /* largest recv(), 0: random */
	uint32_t flags;
	uint32_t stall_ms;
};

enum xfer_mode {
	XFER_POLL, /* nonblocking, both directions at once in one thread */
	XFER_BLOCK_IO, /* blocking calls, a thread for each direction */
	XFER_MUTUAL, /* both write everything (blocking), then both read */
	XFER_STALL, /* both write until nothing moves, then both read */
};

enum xfer_flags {
	XFER_EOF = 1, /* the client half-closes after its data */
	XFER_SENDFILE = 2, /* the client sends out of a file */
	XFER_IOV = 4, /* several pieces per call */
	XFER_PEEK = 8, /* peek at what is going to be read */
};

/* The server's last bytes. */
struct xfer_verdict {
	uint32_t magic;
	uint32_t bad;
	uint64_t got;
};

/* One direction of one connection. */
struct xfer_stream {
	uint64_t seed;
	uint64_t pos;
	uint64_t end; /* UINT64_MAX: until it stalls or EOF */
	uint32_t size;
	uint32_t flags;
	uint32_t random;
	bool eof; /* receiving: the peer half-closed */
	unsigned char *buf;
};

/* One end of one connection. */
struct xfer_conn {
	int fd;
	const char *error;
	int err;
	struct xfer_stream tx, rx;
};

/*
 * xfer_data.c: 0, or -1, with conn->error set where there is a conn.
 * xfer_send_some() and xfer_recv_some() return 1 if the call would block.
 */
int xfer_stream_init(struct xfer_stream *s, uint64_t seed, uint64_t bytes,
		     uint32_t size, uint32_t flags);
void xfer_stream_free(struct xfer_stream *s);
int xfer_fail(struct xfer_conn *conn, const char *what);
int xfer_send_some(struct xfer_conn *conn);
int xfer_recv_some(struct xfer_conn *conn);
int xfer_send_file(struct xfer_conn *conn);
int xfer_run(struct xfer_conn *conn, const struct xfer_request *req,
	     bool client);
int xfer_put(struct xfer_conn *conn, const void *data, size_t len);
int xfer_get(struct xfer_conn *conn, void *data, size_t len);
int xfer_expect_eof(struct xfer_conn *conn);

#endif /* SELFTESTS_SDP_XFER_H */
