/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Attacks on SDP: common code.
 */
#ifndef SELFTESTS_SDP_HOSTILE_SDP_H
#define SELFTESTS_SDP_HOSTILE_SDP_H

#include "../iwarp_hybrid/hostile.h"

#define BSDH 16 /* bytes of a header */
#define SDP_HEAD 18 /* before it in p->ulpdu */
#define CREDITS 64 /* that we announce */
#define INLINE 100 /* bytes that go with SrcAvail */

enum message {
	MID_DISCON = 0x02,
	MID_SENDSM = 0x04,
	MID_WR_COMPL = 0x05,
	MID_RD_COMPL = 0x06,
	MID_MODE_CHANGE = 0x07,
	MID_SRC_CANCEL = 0x08,
	MID_SINK_CANCEL = 0x09,
	MID_SINK_ACK = 0x0a,
	MID_CHRCVBUF = 0x0b,
	MID_CHRCVBUF_ACK = 0x0c,
	MID_RING_AVAIL = 0x48,
	MID_RING = 0x49,
	MID_SINK_AVAIL = 0xfd,
	MID_SRC_AVAIL = 0xfe,
	MID_DATA = 0xff,
};

/* Start-up as a well-behaved peer does it; an echo that must come back */
int sdp_open(struct peer *p);
int sdp_answer(struct peer *p); /* to a peer that has connected */
extern bool sdp_silent; /* sends no message at the start */
extern uint32_t sdp_rcvsz; /* LocalRcvSz of our Hello, 0: the usual one */
extern bool sdp_shared; /* offers the shared link, and insists on it */
extern unsigned int sdp_ext; /* extension of the Hello offered, and insisted on */
#define SDP_RING 2
#define SDP_HOLD 4
#define SDP_IMM 8
bool sdp_echoes(struct peer *p, int timeout_ms);
/* A message, as put together from an attack, see hostile_sdp.c */
void sdp_send(struct peer *p, const struct attack *a, const void *payload,
	      size_t len);
/* The same, but not sent: returns the message, and its length in @all */
const unsigned char *sdp_build(struct peer *p, const struct attack *a,
			       const void *payload, size_t len, size_t *all);
/* A Hello, a HelloAck, in 256 bytes; both return the length */
size_t sdp_hello(const struct peer *p, unsigned char *h);
size_t sdp_hello_ack(unsigned char *h);
/* Payload for the peer's ring, with its message or before it */
void sdp_send_ring(struct peer *p, const void *data, size_t len, bool along);
/* Write and announce that many bytes; announce a ring; the peer's ring */
void sdp_write_ring(struct peer *p, size_t len);
void sdp_tell_ring(struct peer *p, uint32_t len, uint32_t key, uint64_t va);
uint32_t sdp_ring_of_peer(uint64_t *va);
/* MID of the next message, which is in p->ulpdu; -1: none, or the end */
#define SDP_NO_MID 0x100 /* something else, or more of a message */
int sdp_recv_any(struct peer *p, int timeout_ms);

/*
 * A random walk on a connection to a server that echoes: steps that the rules of SDP
 * allow, and now and then one that they do not
 */
struct walk {
	bool wrong; /* something was not as it should be */
	bool over; /* the connection has ended */
};

void sdp_walk(struct peer *p, uint32_t seed, struct walk *w, int timeout_ms);

#endif /* SELFTESTS_SDP_HOSTILE_SDP_H */
