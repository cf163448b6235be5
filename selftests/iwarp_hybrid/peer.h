/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * An iWARP peer on a plain TCP socket that may break every rule: MPA start-up
 * frames, FPDUs, DDP and RDMAP headers with any content. Attacks that do not depend
 * on these can go over something else instead, see struct peer_ops.
 */
#ifndef SELFTESTS_IWARP_PEER_H
#define SELFTESTS_IWARP_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "../lib/net.h"

#define PEER_ULPDU_MAX 65535

/* MPA flags */
#define MPA_M 0x80
#define MPA_C 0x40
#define MPA_R 0x20
#define MPA_S 0x10

/* First two bytes of a ULPDU: DDP control, RDMAP control */
#define DDP_TAGGED 0xc1
#define DDP_UNTAGGED 0x41
#define DDP_NOT_LAST 0x40 /* to be removed */
#define OP_WRITE 0x40
#define OP_READ_REQ 0x41
#define OP_READ_RESP 0x42
#define OP_SEND 0x43
#define OP_SEND_INV 0x44
#define OP_TERMINATE 0x47
#define OP_IMM 0x48

/* How a connection ended. */
enum peer_end {
	END_NONE, /* it did not, in the time given */
	END_FIN,
	END_RST,
	END_TERMINATE, /* peer.term says which */
	END_NO_FRAME, /* bytes that are no FPDU */
	END_OTHERWISE, /* a step of a script had another result */
};

#define TERM_ERR(layer, type, code) ((layer) << 12 | (type) << 8 | (code))

/* The part of a ULPDU that a Terminate may return: length and headers */
#define PEER_HEAD 46

struct peer_sent {
	size_t len;
	unsigned char head[PEER_HEAD];
};

struct peer;

/*
 * Operations in place of those of the TCP socket. Functions of that name, with the
 * prefix peer_, do the same for either.
 */
struct peer_ops {
	int (*connect)(struct peer *p, const struct sockaddr *sa,
		       socklen_t len);
	int (*open)(struct peer *p, const void *private_data, size_t len);
	/* returns a descriptor that can be read when a peer connects */
	int (*listen)(const struct sockaddr *sa, socklen_t len);
	int (*accept)(struct peer *p);
	int (*answer)(struct peer *p, const void *private_data, size_t len);
	void (*send_message)(struct peer *p, const void *data, size_t len);
	void (*write)(struct peer *p, uint32_t key, uint64_t to,
		      const void *data, size_t len);
	void (*write_imm)(struct peer *p, uint32_t key, uint64_t to,
			  const void *data, size_t len, uint32_t imm);
	void (*read)(struct peer *p, uint32_t key, uint64_t from, size_t len);
	/* memory that the other end may write to */
	void (*share)(struct peer *p, void *mem, size_t len, uint32_t *key,
		      uint64_t *va);
	/* as peer_recv_fpdu(): what has come is made the ULPDU that it would be */
	int (*recv)(struct peer *p, int timeout_ms);
	bool (*ready)(struct peer *p, int timeout_ms);
	void (*hang_up)(struct peer *p);
	void (*reset)(struct peer *p);
	/* from now on not even the device answers; no end is reported */
	void (*die)(struct peer *p);
	enum peer_end (*wait_end)(struct peer *p, int timeout_ms);
	/* is it how a Terminate with this error shows? */
	bool (*refused)(const struct peer *p, unsigned int term);
	void (*close)(struct peer *p);
};

struct peer {
	const struct peer_ops *ops; /* NULL: TCP */
	void *over; /* of ops */
	bool gone; /* there is nothing to send by any more */
	bool hasty; /* after the Reply the first FPDU is not waited for */
	bool short_hello; /* private data have no room for the long one */
	bool has_imm; /* a program can send and receive immediate data */
	bool refusal; /* the device has to refuse a request */
	int fd;
	bool crc;
	/* markers, 0 for none; places count from the start of full operation */
	uint32_t tx_ivl, rx_ivl;
	uint64_t tx_pos, rx_pos;
	uint32_t msn; /* of the next Send */
	/* what came back */
	unsigned char reply_flags;
	unsigned char reply_rev;
	unsigned char private_data[512];
	size_t private_len;
	unsigned int term;
	const char *term_bad; /* what is wrong with its headers */
	/* SDP above: numbers of the next message and of the last one received */
	uint32_t mseq, mseq_ack;
	unsigned char *ulpdu; /* of the last FPDU received */
	size_t ulpdu_len;
	struct peer_sent *sent;
	size_t sent_count;
};

uint32_t peer_crc32c(const void *p, size_t len);

int peer_connect(struct peer *p, const struct sockaddr *sa, socklen_t len);
int peer_adopt(struct peer *p, int fd);
/* A descriptor that listens, or -1; a peer that has connected meanwhile to it */
int peer_listen(const struct sockaddr *sa, socklen_t len);
int peer_accept(struct peer *p, int listener, int timeout_ms);
void peer_close(struct peer *p);
void peer_reset(struct peer *p);

/* Of the peers that connect, or are connected to; NULL: TCP */
extern const struct peer_ops *peer_over;

/* How long to wait for what has to come within @ms: a debug kernel takes longer */
int peer_patience(int ms);

/* Nothing more will be sent */
void peer_hang_up(struct peer *p);
/* Has something come, if only the end? */
bool peer_ready(struct peer *p, int timeout_ms);

/* Raw bytes. Errors of sending are not errors of a test. */
void peer_send(struct peer *p, const void *data, size_t len);
/* 1 when all came, 0 at FIN, -1 at RST, -2 when time is up */
int peer_recv(struct peer *p, void *data, size_t len, int timeout_ms);

/*
 * Marker interval that peer_open() proposes for both directions, 0 for none. The
 * peer that is connected to sends markers as it is asked to in any case.
 */
extern uint32_t peer_interval;

/*
 * An upper layer gets data that has arrived between two FPDUs, too: a mistake
 * found then has no headers to be returned.
 */
extern bool peer_above;

/* peer_open() and peer_answer() say that they know the messages of RFC 7306 */
extern bool peer_ext;

/* First sequence number of peer_connect(), 0: the system's choice */
extern uint32_t peer_isn;

/* MPA */
size_t peer_start_frame(unsigned char *out, bool reply, unsigned int flags,
			unsigned int rev, unsigned int pd_len,
			const void *private_data, size_t len);
int peer_read_start(struct peer *p, int timeout_ms);
int peer_open(struct peer *p, const void *private_data, size_t len);
int peer_answer(struct peer *p, const void *private_data, size_t len);

/* Errors in the markers of an FPDU; the CRC is that of the bytes sent */
enum peer_mark {
	MARK_GOOD,
	MARK_ELSEWHERE, /* points 8 bytes further back */
	MARK_NEARER, /* 4 bytes less */
	MARK_FIRST, /* the leading one points somewhere, the others are right */
	MARK_ZERO, /* all but the leading one: nowhere */
	MARK_BEYOND, /* before the stream */
	MARK_LOW_BITS, /* the two bits that do not count */
	MARK_RESERVED, /* the half that is reserved is not 0 */
	MARK_MISSING,
	MARK_LATE, /* after the word that it should stand before */
};

/* FPDU: encoded as the stream demands, or with a mistake in it */
struct fpdu_options {
	int length; /* ULPDU_Length to claim, -1: the real one */
	bool bad_crc;
	enum peer_mark mark;
	size_t cut; /* send this many bytes less */
};

void peer_send_fpdu(struct peer *p, const unsigned char *ulpdu, size_t len,
		    const struct fpdu_options *opt);
int peer_recv_fpdu(struct peer *p, int timeout_ms);
/* As if it had been sent: a Terminate may return these headers */
void peer_remember(struct peer *p, const unsigned char *ulpdu, size_t len);
/* Is the FPDU that was received last a Terminate? p->term, p->term_bad say more */
bool peer_is_terminate(struct peer *p);

/* ULPDUs */
size_t ulpdu_tagged(unsigned char *out, unsigned int ddp, unsigned int rdmap,
		    uint32_t stag, uint64_t to, const void *data, size_t len);
size_t ulpdu_untagged(unsigned char *out, unsigned int ddp, unsigned int rdmap,
		      uint32_t inval, uint32_t qn, uint32_t msn, uint32_t mo,
		      const void *data, size_t len);
size_t ulpdu_read_request(unsigned char *out, uint32_t msn, uint32_t sink_stag,
			  uint64_t sink_to, uint32_t size, uint32_t src_stag,
			  uint64_t src_to);
void peer_send_message(struct peer *p, const void *data, size_t len);
/* RDMA Write of one segment; with immediate data, as RFC 7306 and wire.rst say */
void peer_write(struct peer *p, uint32_t stag, uint64_t to, const void *data,
		size_t len);
void peer_write_imm(struct peer *p, uint32_t stag, uint64_t to,
		    const void *data, size_t len, uint32_t imm);

uint32_t get_be32(const unsigned char *p);
uint64_t get_be64(const unsigned char *p);
void put_be32(unsigned char *p, uint32_t v);
void put_be64(unsigned char *p, uint64_t v);

/* Read until the connection ends; FPDUs that come meanwhile are dropped. */
enum peer_end peer_wait_end(struct peer *p, int timeout_ms);
const char *peer_end_text(enum peer_end end, unsigned int term);

#endif /* SELFTESTS_IWARP_PEER_H */
