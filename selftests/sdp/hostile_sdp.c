// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Attacks on SDP, over iWARP or what the peer goes over instead: the Hello in the
 * private data of the connecting side, then messages. Of struct attack the message attacks
 * use: ddp the MID, rdmap the flags, len the bytes after the BSDH, msn added to
 * MSeq, mo added to MSeqAck, qn the credits announced, to added to the length field,
 * inval the first word after the BSDH, region the MID of the answer.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "hostile_sdp.h"

#define HELLO_LEN 92
#define SHORT_LEN 32
#define RCVSZ 32768

bool sdp_shared;
unsigned int sdp_ext;
uint32_t sdp_rcvsz;
bool sdp_silent;

static unsigned char msg[40000];

size_t sdp_hello(const struct peer *p, unsigned char *h)
{
	size_t len = p->short_hello ? SHORT_LEN : HELLO_LEN;

	memset(h, 0, 256);
	h[3] = CREDITS;
	h[7] = len;
	h[BSDH] = 0x22;
	h[BSDH + 1] = 0x40;
	h[BSDH + 3] = 1;
	put_be32(h + BSDH + 4, RCVSZ);
	put_be32(h + BSDH + 8, sdp_rcvsz ? sdp_rcvsz : RCVSZ);
	put_be32(h + BSDH + 12, 40000u << 16);
	if (sdp_shared)
		sdp_ext = 1;
	if (sdp_ext)
		h[BSDH + 14] = 0xd5;
	h[BSDH + 15] = sdp_ext;
	if (p->short_hello)
		return len;
	memcpy(h + BSDH + 28, "\x0a\0\0\1", 4);
	memcpy(h + BSDH + 44, "\x0a\0\0\2", 4);
	return len;
}

/* In msg, where its payload is already */
static void build(struct peer *p, const struct attack *a, size_t len)
{
	uint32_t claim = BSDH + len + (uint32_t)a->to;

	msg[0] = a->ddp;
	msg[1] = a->rdmap;
	msg[2] = a->qn >> 8;
	msg[3] = a->qn;
	put_be32(msg + 4, claim);
	put_be32(msg + 8, p->mseq + a->msn);
	put_be32(msg + 12, p->mseq_ack + a->mo);
	p->mseq++;
}

static void put_message(struct peer *p, const struct attack *a, size_t len)
{
	build(p, a, len);
	peer_send_message(p, msg, BSDH + len);
}

const unsigned char *sdp_build(struct peer *p, const struct attack *a,
			       const void *payload, size_t len, size_t *all)
{
	memcpy(msg + BSDH, payload, len);
	build(p, a, len);
	*all = BSDH + len;
	return msg;
}

static void send_data(struct peer *p, const char *text)
{
	const struct attack a = { .ddp = 0xff, .qn = CREDITS };

	memcpy(msg + BSDH, text, strlen(text));
	put_message(p, &a, strlen(text));
}

/* ---- with a ring; see Documentation/wire.rst ---- */

#define RING_SIZE 65536
#define RING_STAG 0x01020304

/* Our ring, the place of theirs, bytes written to both */
static unsigned char ring[RING_SIZE];
static uint32_t ring_stag, ring_got, ring_put;
static uint64_t ring_va;
static uint32_t ring_key = RING_STAG;
static uint64_t ring_at; /* their view of ours */
static bool ring_untold; /* an attack announces ours itself */

static void send_ext(struct peer *p, unsigned int mid, uint32_t a, uint32_t b,
		     uint64_t va, size_t len)
{
	const struct attack h = { .ddp = mid, .qn = CREDITS };

	put_be32(msg + BSDH, a);
	put_be32(msg + BSDH + 4, b);
	put_be32(msg + BSDH + 8, va >> 32);
	put_be32(msg + BSDH + 12, va);
	put_message(p, &h, len);
}

/* Bytes that came with a Ring message go to where they would be written */
static bool ring_along(const struct peer *p)
{
	size_t n = p->ulpdu_len - 18 - BSDH;

	if (n < 8 || (n > 8 && n - 8 != get_be32(p->ulpdu + 18 + BSDH)) ||
	    n - 8 > RING_SIZE - ring_got)
		return false;
	memcpy(ring + ring_got, p->ulpdu + 18 + BSDH + 8, n - 8);
	return true;
}

/*
 * Immediate data of a Write are made the Ring message that they stand for; they
 * have come with messages that are larger than what goes along.
 */
static bool ring_imm_recv(struct peer *p)
{
	uint32_t imm = get_be32(p->ulpdu + 18), len = imm & 0xffff;

	if (!(sdp_ext & SDP_IMM) || !peer_ext || p->ulpdu_len != 18 + 8 ||
	    (uint16_t)(p->mseq - 1 - (imm >> 16)) > CREDITS || len < 265 ||
	    get_be32(p->ulpdu + 22) != len)
		return false;
	p->mseq_ack++;
	put_be32(p->ulpdu + 18 + BSDH, len);
	return true;
}

/* The next message, what is written on the way goes to the ring; -1: none */
static int ring_recv(struct peer *p, int timeout_ms)
{
	uint64_t to;

	while (peer_recv_fpdu(p, timeout_ms) == 1) {
		if (p->ulpdu[0] == DDP_UNTAGGED) {
			if (p->ulpdu[1] == OP_IMM)
				return ring_imm_recv(p) ? MID_RING : -1;
			if (p->ulpdu_len < 18 + BSDH || p->ulpdu[1] != OP_SEND)
				return -1;
			p->mseq_ack = get_be32(p->ulpdu + 18 + 8);
			if (p->ulpdu[18] == MID_RING && !ring_along(p))
				return -1;
			return p->ulpdu[18];
		}
		to = get_be64(p->ulpdu + 6);
		if (p->ulpdu_len < 14 || get_be32(p->ulpdu + 2) != RING_STAG ||
		    to > RING_SIZE || p->ulpdu_len - 14 > RING_SIZE - to)
			return -1;
		memcpy(ring + to, p->ulpdu + 14, p->ulpdu_len - 14);
	}
	return -1;
}

static int ring_open(struct peer *p)
{
	ring_put = 0;
	ring_got = 0;
	if (p->ops)
		p->ops->share(p, ring, RING_SIZE, &ring_key, &ring_at);
	if (!ring_untold)
		send_ext(p, MID_RING_AVAIL, RING_SIZE, ring_key, ring_at, 16);
	if (ring_recv(p, peer_patience(10000)) != MID_RING_AVAIL)
		return -1;
	ring_stag = get_be32(p->ulpdu + 18 + BSDH + 4);
	ring_va = get_be64(p->ulpdu + 18 + BSDH + 8);
	return 0;
}

/*
 * A Write of len bytes, and immediate data that say: to bytes, and mo messages
 * more acknowledged than there were.
 */
static enum peer_end ring_imm(struct peer *p, const struct target_memory *m,
			      const struct attack *a)
{
	(void)m;
	memset(msg, 'i', 512);
	peer_write_imm(p, ring_stag, ring_va + ring_put, msg, a->len,
		       (p->mseq_ack + a->mo) << 16 | (uint32_t)a->to);
	ring_put += a->len;
	p->mseq++;
	return END_NONE;
}

static bool ring_echoes(struct peer *p, const char *text, size_t len, long end)
{
	peer_write(p, ring_stag, ring_va + ring_put, text, len);
	ring_put += len;
	send_ext(p, MID_RING, len, ring_got, 0, 8);
	while (net_ms() < end) {
		if (ring_recv(p, end - net_ms()) != MID_RING)
			return false;
		ring_got += get_be32(p->ulpdu + 18 + BSDH);
		if (ring_got >= len && ring_got <= RING_SIZE &&
		    !memcmp(ring + ring_got - len, text, len))
			return true;
	}
	return false;
}

/* The next message; returns the length of its payload, or -1. */
static int recv_message(struct peer *p, int timeout_ms)
{
	if (peer_recv_fpdu(p, timeout_ms) != 1)
		return -1;
	if (p->ulpdu_len < 18 + BSDH || p->ulpdu[1] != OP_SEND)
		return p->ulpdu[1] == 0x45 ? 0 : -1;
	p->mseq_ack = get_be32(p->ulpdu + 18 + 8);
	return p->ulpdu_len - 18 - BSDH;
}

#define ACK_LEN 196

size_t sdp_hello_ack(unsigned char *h)
{
	memset(h, 0, 256);
	h[0] = 1;
	h[3] = CREDITS;
	h[7] = ACK_LEN;
	h[BSDH] = 0x22;
	h[BSDH + 3] = 1;
	put_be32(h + BSDH + 4, RCVSZ);
	if (sdp_shared)
		sdp_ext = 1;
	if (sdp_ext)
		h[BSDH + 8] = 0xd5;
	h[BSDH + 9] = sdp_ext;
	return ACK_LEN;
}

/* The connecting side sends first, where it must */
static int first_message(struct peer *p)
{
	p->mseq = 1;
	p->mseq_ack = 0;
	if (p->short_hello)
		return 0;
	return recv_message(p, peer_patience(10000)) < 0 ? -1 : 0;
}

int sdp_answer(struct peer *p)
{
	unsigned char h[256];

	if (peer_answer(p, h, sdp_hello_ack(h)) || p->private_data[0] != 0)
		return -1;
	if (sdp_ext && !(p->private_data[BSDH + 15] & sdp_ext))
		return -1;
	if (sdp_silent)
		return 0;
	if (first_message(p))
		return -1;
	return sdp_ext & SDP_RING ? ring_open(p) : 0;
}

int sdp_open(struct peer *p)
{
	unsigned char h[256];

	if (peer_open(p, h, sdp_hello(p, h)) || p->private_len < 24 ||
	    p->private_data[0] != 1)
		return -1;
	if (sdp_ext && (p->private_len < 26 || p->private_data[24] != 0xd5 ||
			p->private_data[25] != sdp_ext))
		return -1;
	p->mseq = 1;
	p->mseq_ack = 0;
	/* the peer must not send before our first message */
	if (!sdp_silent)
		send_data(p, "");
	return sdp_ext & SDP_RING ? ring_open(p) : 0;
}

void sdp_send(struct peer *p, const struct attack *a, const void *payload,
	      size_t len)
{
	memcpy(msg + BSDH, payload, len);
	put_message(p, a, len);
}

void sdp_send_ring(struct peer *p, const void *data, size_t len, bool along)
{
	struct attack h = { .ddp = MID_RING, .qn = CREDITS };

	put_be32(msg + BSDH, len);
	put_be32(msg + BSDH + 4, ring_got);
	if (along)
		memcpy(msg + BSDH + 8, data, len);
	else
		peer_write(p, ring_stag, ring_va + ring_put, data, len);
	ring_put += len;
	put_message(p, &h, 8 + (along ? len : 0));
}

int sdp_recv_any(struct peer *p, int timeout_ms)
{
	int mid;

	if (sdp_ext & SDP_RING) {
		mid = ring_recv(p, timeout_ms);
		if (mid == MID_RING)
			ring_got += get_be32(p->ulpdu + 18 + BSDH);
		return mid;
	}
	if (peer_recv_fpdu(p, timeout_ms) != 1)
		return -1;
	/* a message may come in pieces; only the first one has a BSDH */
	if (p->ulpdu_len < 18 + BSDH || p->ulpdu[1] != OP_SEND ||
	    get_be32(p->ulpdu + 14))
		return SDP_NO_MID;
	p->mseq_ack = get_be32(p->ulpdu + 18 + 8);
	return p->ulpdu[18];
}

/* The last bytes of what the peer sends, however it cuts that into messages */
static void keep_last(struct peer *p, char *last, size_t len)
{
	bool first = !get_be32(p->ulpdu + 14); /* MO: begins a message */
	size_t head = 18 + (first ? BSDH : 0), n;

	if (p->ulpdu_len < head || p->ulpdu[1] != OP_SEND)
		return;
	if (first)
		p->mseq_ack = get_be32(p->ulpdu + 18 + 8);
	n = p->ulpdu_len - head;
	if (n < len)
		memmove(last, last + n, len - n);
	if (n > len) {
		head += n - len;
		n = len;
	}
	memcpy(last + len - n, p->ulpdu + head, n);
}

bool sdp_echoes(struct peer *p, int timeout_ms)
{
	static const char text[] = "Echo of a connection that lives";
	const size_t len = sizeof(text) - 1;
	long end = net_ms() + timeout_ms;
	char last[sizeof(text)] = "";

	if (sdp_ext & SDP_RING)
		return ring_echoes(p, text, len, end);
	send_data(p, text);
	while (net_ms() < end) {
		if (peer_recv_fpdu(p, timeout_ms) != 1)
			return false;
		if (p->ulpdu_len >= 18)
			keep_last(p, last, len);
		/* earlier data may come back before it */
		if (!memcmp(last, text, len))
			return true;
	}
	return false;
}

static enum peer_end one(struct peer *p, const struct target_memory *m,
			 const struct attack *a)
{
	(void)m;
	memset(msg, 0, 512);
	put_be32(msg + BSDH, a->inval);
	put_message(p, a, a->len);
	return END_NONE;
}

/* One message that has to be answered by one with this MID. */
static enum peer_end answered(struct peer *p, const struct target_memory *m,
			      const struct attack *a)
{
	one(p, m, a);
	while (recv_message(p, 5000) >= 0)
		if (p->ulpdu[18] == a->region)
			return END_NONE;
	return END_FIN;
}

/* The end as it ought to be: DisConn both ways, then FIN of the first side. */
static enum peer_end graceful(struct peer *p, const struct target_memory *m,
			      const struct attack *a)
{
	if (answered(p, m, a) != END_NONE)
		return END_NO_FRAME;
	peer_hang_up(p);
	return END_NONE;
}

static enum peer_end twice(struct peer *p, const struct target_memory *m,
			   const struct attack *a)
{
	one(p, m, a);
	return one(p, m, a);
}

static enum peer_end same_number(struct peer *p, const struct target_memory *m,
				 const struct attack *a)
{
	send_data(p, "-");
	p->mseq--;
	return one(p, m, a);
}

/* DisConn, and then something all the same. */
static enum peer_end after_discon(struct peer *p, const struct target_memory *m,
				  const struct attack *a)
{
	const struct attack discon = { .ddp = 2, .qn = CREDITS };

	put_message(p, &discon, 0);
	return one(p, m, a);
}

/* DisConn, the peer's as well, and then something all the same */
static enum peer_end after_both(struct peer *p, const struct target_memory *m,
				const struct attack *a)
{
	const struct attack discon = { .ddp = 2, .qn = CREDITS, .region = 2 };

	if (answered(p, m, &discon) != END_NONE)
		return END_NO_FRAME;
	return one(p, m, a);
}

/* ModeChange to buffered mode, and then something that it does not allow */
static enum peer_end buffered(struct peer *p, const struct target_memory *m,
			      const struct attack *a)
{
	const struct attack change = { .ddp = 7, .qn = CREDITS, .len = 4 };

	one(p, m, &change);
	return one(p, m, a);
}

static enum peer_end short_message(struct peer *p,
				   const struct target_memory *m,
				   const struct attack *a)
{
	(void)m;
	memset(msg, 0xff, 64);
	peer_send_message(p, msg, a->len);
	return END_NONE;
}

/*
 * The last FPDU is the first one that does not fit: the answer to anything after
 * it could be a RST of TCP, which takes away a Terminate that was not read yet.
 */
static enum peer_end too_long(struct peer *p, const struct target_memory *m,
			      const struct attack *a)
{
	const uint32_t receive = 32768;
	unsigned char u[1500];
	uint32_t mo;
	size_t n;

	(void)m;
	(void)a;
	if (p->ops) {
		memset(msg, 'x', receive + 1400);
		peer_send_message(p, msg, receive + 1400);
		return END_NONE;
	}
	for (mo = 0; mo < receive; mo += 1400) {
		n = ulpdu_untagged(u, DDP_UNTAGGED & ~DDP_NOT_LAST, OP_SEND, 0,
				   0, p->msn, mo, NULL, 0);
		memset(u + n, 'x', 1400);
		peer_send_fpdu(p, u, n + 1400, NULL);
	}
	return END_NONE;
}

/* len messages, more than there are credits for */
static enum peer_end overrun(struct peer *p, const struct target_memory *m,
			     const struct attack *a)
{
	unsigned int i;

	(void)m;
	for (i = 0; i < a->len; i++)
		send_data(p, "x");
	return END_NONE;
}

static enum peer_end no_discon(struct peer *p, const struct target_memory *m,
			       const struct attack *a)
{
	(void)m;
	(void)a;
	peer_hang_up(p);
	return END_NONE;
}

static enum peer_end rst(struct peer *p, const struct target_memory *m,
			 const struct attack *a)
{
	(void)m;
	(void)a;
	peer_reset(p);
	return END_RST;
}

static enum peer_end random_messages(struct peer *p,
				     const struct target_memory *m,
				     const struct attack *a)
{
	static const unsigned char mids[] = { 2,  3,	4,    5,   6,  7,
					      8,  9,	10,   11,  12, 13,
					      14, 0xfd, 0xfe, 0xff };
	static uint32_t x = 362436069;
	struct attack r = { .qn = CREDITS };
	size_t i, k;

	(void)m;
	(void)a;
	for (k = 0; k < 30; k++) {
		for (i = 0; i < 64; i++) {
			x ^= x << 13;
			x ^= x >> 17;
			x ^= x << 5;
			msg[BSDH + i] = x;
		}
		r.ddp = mids[x & 15];
		r.rdmap = x & 0x700 ? 0 : x >> 16 & 7;
		r.qn = x & 0x3000 ? CREDITS : x >> 20;
		put_message(p, &r, x >> 24 & 63);
	}
	peer_hang_up(p);
	return END_NONE;
}

/* a message with nothing wrong in what is not named */
#define MSG(m, ...) .ddp = m, .qn = CREDITS, ##__VA_ARGS__
/* By AbortConn; on a shared link it is the stack that gives up */
#define ABORT ENDS(E_CLOSED, E_TERM(0, 2, 7))

/* clang-format off */
const struct attack sdp_attacks[] = {
	CASE("SDP: nothing wrong", NULL, ENDS(E_ALIVE), one, MSG(0xff, .len = 1)),
	CASE("SDP: empty Data", NULL, ENDS(E_ALIVE), one, MSG(0xff)),
	CASE("SDP: two bytes", "bad_len", ABORT, short_message, .len = 2),
	CASE("SDP: nothing at all", "bad_len", ABORT, short_message, .len = 0),
	CASE("SDP: 15 bytes", "bad_len", ABORT, short_message, .len = 15),
	CASE("SDP: length field one more", "bad_len", ABORT,
	     one, MSG(0xff, .len = 8, .to = 1)),
	CASE("SDP: length field one less", "bad_len", ABORT,
	     one, MSG(0xff, .len = 8, .to = -1ull)),
	CASE("SDP: length field huge", "bad_len", ABORT,
	     one, MSG(0xff, .len = 8, .to = 0x80000000)),
	CASE("SDP: length field 0", "bad_len", ABORT,
	     one, MSG(0xff, .len = 8, .to = -24ull)),
	CASE("SDP: MSeq jumps", "bad_mseq", ABORT, one, MSG(0xff, .len = 1, .msn = 1)),
	CASE("SDP: MSeq repeated", "bad_mseq", ABORT, same_number, MSG(0xff, .len = 1)),
	CASE("SDP: MSeq far away", "bad_mseq", ABORT,
	     one, MSG(0xff, .len = 1, .msn = 0x80000000)),
	CASE("SDP: MSeqAck of what was never sent", "bad_ack", ABORT,
	     one, MSG(0xff, .len = 1, .mo = 1000)),
	CASE("SDP: MSeqAck far away", "bad_ack", ABORT,
	     one, MSG(0xff, .len = 1, .mo = 0x80000000)),
	CASE("SDP: 65535 credits", NULL, ENDS(E_ALIVE, E_ANY),
	     one, .ddp = 0xff, .qn = 65535, .len = 1),
	CASE("SDP: unknown message 0f", "bad_mid", ABORT, one, MSG(0x0f)),
	CASE("SDP: unknown message 40", "bad_mid", ABORT, one, MSG(0x40)),
	CASE("SDP: unknown message fc", "bad_mid", ABORT, one, MSG(0xfc, .len = 20)),
	CASE("SDP: RingAvail without a ring", "bad_state", ABORT,
	     one, MSG(0x48, .len = 16, .inval = 65536)),
	CASE("SDP: Ring without a ring", "bad_state", ABORT, one, MSG(0x49, .len = 8)),
	CASE("SDP: Hello again", "bad_mid", ABORT, one, MSG(0x00, .len = 76)),
	CASE("SDP: HelloAck", "bad_mid", ABORT, one, MSG(0x01, .len = 180)),
	CASE("SDP: reserved flag", "bad_flags", ABORT,
	     one, MSG(0xff, .len = 1, .rdmap = 0x80)),
	CASE("SDP: urgent without payload", "bad_flags", ABORT,
	     one, MSG(0xff, .rdmap = 1)),
	CASE("SDP: urgent on a control message", "bad_flags", ABORT,
	     one, MSG(0x0b, .len = 4, .inval = 65536, .rdmap = 1)),
	CASE("SDP: urgent pending, never sent", NULL, ENDS(E_ALIVE),
	     one, MSG(0xff, .len = 1, .rdmap = 2)),
	CASE("SDP: payload on DisConn", "bad_len", ABORT, one, MSG(0x02, .len = 4)),
	CASE("SDP: ChRcvBuf without size", "bad_len", ABORT, one, MSG(0x0b)),
	CASE("SDP: ChRcvBuf", NULL, ENDS(E_ALIVE),
	     answered, MSG(0x0b, .len = 4, .inval = 65536, .region = 0x0c)),
	CASE("SDP: ChRcvBuf 0", NULL, ENDS(E_ALIVE, E_CLOSED),
	     one, MSG(0x0b, .len = 4)),
	CASE("SDP: ChRcvBuf 4 GB", NULL, ENDS(E_ALIVE, E_CLOSED),
	     one, MSG(0x0b, .len = 4, .inval = 0xffffffff)),
	CASE("SDP: ChRcvBufAck without a request", "bad_state", ABORT,
	     one, MSG(0x0c, .len = 4, .inval = 17)),
	CASE("SDP: ModeChange to the same mode", "bad_state", ABORT,
	     one, MSG(0x07, .len = 4, .inval = 0x10000000)),
	CASE("SDP: ModeChange to mode 7", "bad_rdma", ABORT,
	     one, MSG(0x07, .len = 4, .inval = 0x70000000)),
	CASE("SDP: ModeChange of our other half", "bad_state", ABORT,
	     one, MSG(0x07, .len = 4, .inval = 0x80000000)),
	CASE("SDP: ModeChange of our other half, pipelined", "bad_state", ABORT,
	     one, MSG(0x07, .len = 4, .inval = 0xa0000000)),
	CASE("SDP: Data in buffered mode", NULL, ENDS(E_ALIVE),
	     buffered, MSG(0xff, .len = 1)),
	CASE("SDP: SrcAvail in buffered mode", "bad_state", ABORT,
	     buffered, MSG(0xfe, .len = 116, .inval = 4096)),
	CASE("SDP: ModeChange by the source, out of buffered mode", "bad_state", ABORT,
	     buffered, MSG(0x07, .len = 4, .inval = 0x10000000)),
	CASE("SDP: ModeChange cut", "bad_len", ABORT, one, MSG(0x07, .len = 1)),
	CASE("SDP: SinkAvail in combined mode", "bad_rdma", ABORT,
	     one, MSG(0xfd, .len = 20, .inval = 4096)),
	CASE("SDP: SinkAvail cut", "bad_len", ABORT, one, MSG(0xfd, .len = 16, .inval = 4096)),
	CASE("SDP: SrcAvail cut", "bad_len", ABORT, one, MSG(0xfe, .len = 12, .inval = 4096)),
	CASE("SDP: SrcAvail of nothing", "bad_rdma", ABORT, one, MSG(0xfe, .len = 20)),
	CASE("SDP: SrcAvail with nothing inline", "bad_rdma", ABORT,
	     one, MSG(0xfe, .len = 16, .inval = 4096)),
	CASE("SDP: SrcAvail shorter than what is inline", "bad_rdma", ABORT,
	     one, MSG(0xfe, .len = 16 + 100, .inval = 50)),
	CASE("SDP: SrcAvail is answered by SendSm", NULL, ENDS(E_ALIVE),
	     answered, MSG(0xfe, .len = 16 + 100, .inval = 4096, .region = 0x04)),
	CASE("SDP: RdmaRdCompl without SrcAvail", "bad_rdma", ABORT,
	     one, MSG(0x06, .len = 4, .inval = 4096)),
	CASE("SDP: RdmaWrCompl without SinkAvail", "bad_rdma", ABORT,
	     one, MSG(0x05, .len = 4, .inval = 4096)),
	CASE("SDP: SendSm without SrcAvail", "bad_state", ABORT,
	     one, MSG(0x04)),
	CASE("SDP: SrcAvailCancel without SrcAvail", NULL, ENDS(E_ALIVE), one, MSG(0x08)),
	CASE("SDP: SinkAvailCancel without SinkAvail", "bad_state", ABORT, one, MSG(0x09)),
	CASE("SDP: SinkCancelAck without a cancel", "bad_state", ABORT, one, MSG(0x0a)),
	CASE("SDP: SuspComm", "bad_state", ABORT, one, MSG(0x0d, .len = 8)),
	CASE("SDP: SuspCommAck", "bad_state", ABORT, one, MSG(0x0e)),
	CASE("SDP: DisConn", NULL, ENDS(E_CLOSED), graceful, MSG(0x02, .region = 0x02)),
	CASE("SDP: DisConn twice", "bad_state", ABORT, twice, MSG(0x02)),
	CASE("SDP: Data after DisConn", "bad_state", ABORT, after_discon, MSG(0xff, .len = 3)),
	CASE("SDP: SrcAvail after DisConn", "bad_state", ABORT,
	     after_discon, MSG(0xfe, .len = 116, .inval = 4096)),
	CASE("SDP: AbortConn after DisConn", "aborts_rcvd", ABORT, after_discon, MSG(0x03)),
	CASE("SDP: Data after both DisConn", NULL, ABORT,
	     after_both, MSG(0xff, .len = 3)),
	CASE("SDP: SrcAvail after both DisConn", NULL, ABORT,
	     after_both, MSG(0xfe, .len = 116, .inval = 4096)),
	CASE("SDP: DisConn after both DisConn", NULL, ABORT, after_both, MSG(0x02)),
	CASE("SDP: unknown message after both DisConn", NULL, ABORT,
	     after_both, MSG(0x40)),
	CASE("SDP: AbortConn", "aborts_rcvd", ABORT, one, MSG(0x03)),
	CASE("SDP: FIN without DisConn", NULL, ABORT, no_discon),
	CASE("SDP: RST", NULL, ENDS(E_CLOSED), rst),
	CASE("SDP: random messages", NULL, ENDS(E_ANY), random_messages),
	CASE("SDP: random messages", NULL, ENDS(E_ANY), random_messages),
	CASE("SDP: random messages", NULL, ENDS(E_ANY), random_messages),
	CASE("SDP: random messages", NULL, ENDS(E_ANY), random_messages),
	CASE("SDP: random messages", NULL, ENDS(E_ANY), random_messages),
};
/* clang-format on */

const unsigned int sdp_attack_count = COUNT(sdp_attacks);

/*
 * A message in pieces, each an FPDU: of the bytes that follow the BSDH, len;
 * qn in each piece, the last one with what is left; to is added to the length
 * field; msn: milliseconds between the first piece and the next.
 */
static enum peer_end pieces(struct peer *p, const struct target_memory *m,
			    const struct attack *a)
{
	uint32_t total = BSDH + a->len, mo, n, left;
	unsigned char u[1500];
	size_t head;

	(void)m;
	memset(msg, 0, BSDH);
	memset(msg + BSDH, 'p', a->len);
	put_be32(msg + BSDH, a->inval);
	msg[0] = a->ddp;
	msg[1] = a->rdmap;
	put_be32(msg + 4, total + (uint32_t)a->to);
	put_be32(msg + 8, p->mseq++);
	put_be32(msg + 12, p->mseq_ack);
	for (mo = 0; mo < total; mo += n) {
		left = total - mo;
		n = left < a->qn ? left : a->qn;
		head = ulpdu_untagged(u,
				      n == left ? DDP_UNTAGGED :
						  DDP_UNTAGGED & ~DDP_NOT_LAST,
				      OP_SEND, 0, 0, p->msn, mo, NULL, 0);
		memcpy(u + head, msg + mo, n);
		peer_send_fpdu(p, u, head + n, NULL);
		if (!mo)
			poll(NULL, 0, a->msn);
	}
	p->msn++;
	return END_NONE;
}

/* Bytes of the FPDU at @pos with a ULPDU of @len bytes */
static size_t fpdu_len(uint64_t pos, uint32_t ivl, size_t len)
{
	size_t words = (2 + len + 3) / 4, i;
	uint64_t at = pos;

	/* a marker may be before each word, and of the CRC */
	for (i = 0; i <= words; i++)
		at += ivl && at % ivl == 0 ? 8 : 4;
	return at - pos;
}

#define BULK_SEGMENTS 12
#define BULK_LAST 100

/*
 * Payload of the segments of a long message whose FPDUs fill the segments of TCP;
 * the last is short. Returns the sum.
 */
static uint32_t bulk_plan(const struct peer *p, uint32_t n[BULK_SEGMENTS])
{
	socklen_t size = sizeof(int);
	uint64_t pos = p->tx_pos;
	uint32_t i, sum = 0;
	int mss = 0, len;

	getsockopt(p->fd, IPPROTO_TCP, TCP_MAXSEG, &mss, &size);
	for (i = 0; i < BULK_SEGMENTS; i++) {
		len = (mss & ~3) - 6;
		while (fpdu_len(pos, p->tx_ivl, len) > (size_t)mss)
			len -= 4;
		if (i == BULK_SEGMENTS - 1)
			len = 18 + BULK_LAST;
		pos += fpdu_len(pos, p->tx_ivl, len);
		n[i] = len - 18;
		sum += n[i];
	}
	return sum;
}

/*
 * It is sent in one go: a NIC that cuts it makes a packet of each FPDU, and they are
 * put together again on their way up. One in the middle has a mistake: qn in its
 * markers, inval in its CRC.
 */
static enum peer_end bulk(struct peer *p, const struct target_memory *m,
			  const struct attack *a)
{
	struct fpdu_options opt = {
		.length = -1,
		.mark = a->qn,
		.bad_crc = a->inval,
	};
	uint32_t n[BULK_SEGMENTS], total = bulk_plan(p, n), mo = 0, i;
	unsigned int ddp = DDP_UNTAGGED & ~DDP_NOT_LAST;
	int cork = 1;

	(void)m;
	setsockopt(p->fd, IPPROTO_TCP, TCP_CORK, &cork, sizeof(cork));
	for (i = 0; i < BULK_SEGMENTS; mo += n[i++]) {
		if (i == BULK_SEGMENTS - 1)
			ddp = DDP_UNTAGGED;
		ulpdu_untagged(msg, ddp, OP_SEND, 0, 0, p->msn, mo, NULL, 0);
		memset(msg + 18, 'p', n[i]);
		if (!i) {
			memset(msg + 18, 0, BSDH);
			msg[18] = 0xff;
			put_be32(msg + 18 + 4, total);
			put_be32(msg + 18 + 8, p->mseq++);
			put_be32(msg + 18 + 12, p->mseq_ack);
		}
		peer_send_fpdu(p, msg, 18 + n[i],
			       i == BULK_SEGMENTS / 2 ? &opt : NULL);
	}
	p->msn++;
	cork = 0;
	setsockopt(p->fd, IPPROTO_TCP, TCP_CORK, &cork, sizeof(cork));
	return END_NONE;
}

#define OP_ATOMIC_REQ 0x4a
#define AREQ_LEN 52
#define DDP_QN_READ 1

/* An Atomic Request (RFC 7306, 5.2.1) for a tagged offset that is no multiple of 8 */
static enum peer_end unaligned_atomic(struct peer *p,
				      const struct target_memory *m,
				      const struct attack *a)
{
	unsigned char r[AREQ_LEN] = { 0 };
	size_t n;

	(void)m;
	(void)a;
	put_be64(r + 12, 1);
	n = ulpdu_untagged(msg, DDP_UNTAGGED, OP_ATOMIC_REQ, 0, DDP_QN_READ, 1,
			   0, r, sizeof(r));
	peer_send_fpdu(p, msg, n, NULL);
	return END_NONE;
}

static enum peer_end pieces_answered(struct peer *p,
				     const struct target_memory *m,
				     const struct attack *a)
{
	pieces(p, m, a);
	while (recv_message(p, 5000) >= 0)
		if (p->ulpdu[18] == a->region)
			return END_NONE;
	return END_FIN;
}

/* The answer acknowledges the message, of which all has come. */
static enum peer_end pieces_acked(struct peer *p, const struct target_memory *m,
				  const struct attack *a)
{
	if (pieces_answered(p, m, a) != END_NONE)
		return END_FIN;
	return get_be32(p->ulpdu + 18 + 12) == p->mseq - 1 ? END_NONE : END_FIN;
}

#define TALK_MS 100

/* Bytes that have come do not count */
static bool reset_within(const struct peer *p, int timeout_ms)
{
	return net_wait(p->fd, 0, timeout_ms);
}

/* A minute of messages without payload; no byte is taken. */
static enum peer_end talk(struct peer *p, const struct target_memory *m,
			  const struct attack *a)
{
	int i;

	(void)m;
	(void)a;
	for (i = 0; i < 60000 / TALK_MS; i++) {
		send_data(p, "");
		if (reset_within(p, TALK_MS))
			return END_RST;
	}
	return END_NO_FRAME;
}

/* clang-format off */
const struct attack talk_attacks[] = {
	CASE("SDP: messages all the time", NULL, ENDS(E_CLOSED), talk),
};

/* of a shared link, below SDP */
const struct attack bulk_attacks[] = {
	CASE("SDP: full segments", NULL, ENDS(E_ALIVE), bulk),
	CASE("SDP: full segments, bad CRC", "err_crc", ENDS(E_TERM(2, 0, 2)),
	     bulk, .inval = 1),
	CASE("SDP: full segments, markers point elsewhere", "err_marker",
	     ENDS(E_TERM(2, 0, 3)), bulk, .qn = MARK_ELSEWHERE),
	CASE("SDP: full segments, markers point to nothing", "err_marker",
	     ENDS(E_TERM(2, 0, 3)), bulk, .qn = MARK_ZERO),
	CASE("SDP: an atomic operation that is not aligned", "err_atomic",
	     ENDS(E_TERM(0, 2, 7)), unaligned_atomic),
};

const struct attack verbs_attacks[] = {
	CASE("SDP: more messages than credits", "bad_credit", ENDS(E_CLOSED),
	     overrun, .len = 3000),
	CASE("SDP: message longer than the receive", "bad_len", ENDS(E_TERM(1, 2, 5)),
	     too_long),
	CASE("SDP: immediate data without a ring", "bad_state", ABORT, ring_imm),
	CASE("SDP: immediate data that announce bytes", "bad_state", ABORT,
	     ring_imm, .to = 100),
};

const struct attack shared_attacks[] = {
	/* there are none, the window of TCP is what counts */
	CASE("SDP: more messages than credits", NULL, ENDS(E_ALIVE),
	     overrun, .len = 3000),
	CASE("SDP: Data in pieces", NULL, ENDS(E_ALIVE),
	     pieces, .ddp = 0xff, .len = 5000, .qn = 1000),
	CASE("SDP: header in pieces", NULL, ENDS(E_ALIVE),
	     pieces, .ddp = 0xff, .len = 100, .qn = 5),
	CASE("SDP: pieces of one byte", NULL, ENDS(E_ALIVE),
	     pieces, .ddp = 0xff, .len = 30, .qn = 1),
	CASE("SDP: control message in pieces", NULL, ENDS(E_ALIVE),
	     pieces_answered, .ddp = 0x0b, .len = 4, .inval = 65536, .qn = 3,
	     .region = 0x0c),
	CASE("SDP: SrcAvail in pieces is answered after the last one", NULL, ENDS(E_ALIVE),
	     pieces_acked, .ddp = 0xfe, .len = 16 + 100, .inval = 4096, .qn = 40,
	     .msn = 300, .region = 0x04),
	CASE("SDP: Data ends early", "bad_len", ABORT,
	     pieces, .ddp = 0xff, .len = 5000, .qn = 1000, .to = 1),
	CASE("SDP: Data does not end", "bad_len", ABORT,
	     pieces, .ddp = 0xff, .len = 5000, .qn = 1000, .to = -1000ull),
	CASE("SDP: Data longer than allowed", "bad_len", ABORT,
	     pieces, .ddp = 0xff, .len = 5000, .qn = 1000, .to = 1 << 20),
	CASE("SDP: header that does not end", "bad_len", ABORT,
	     pieces, .ddp = 0x0b, .len = 2, .inval = 1, .qn = 9),
	CASE("SDP: long DisConn", "bad_len", ABORT,
	     pieces, .ddp = 2, .len = 4000, .qn = 1000),
	CASE("SDP: DisConn that goes on", "bad_len", ABORT,
	     pieces, .ddp = 2, .len = 4000, .qn = 16, .to = -4000ull),
	CASE("SDP: urgent byte in the last piece", NULL, ENDS(E_ALIVE),
	     pieces, .ddp = 0xff, .rdmap = 3, .len = 101, .qn = 50),
	CASE("SDP: reserved flag, in pieces", "bad_flags", ABORT,
	     pieces, .ddp = 0xff, .rdmap = 0x40, .len = 100, .qn = 10),
};
/* clang-format on */

const unsigned int talk_attack_count = COUNT(talk_attacks);
const unsigned int bulk_attack_count = COUNT(bulk_attacks);
const unsigned int verbs_attack_count = COUNT(verbs_attacks);
const unsigned int shared_attack_count = COUNT(shared_attacks);

#define NO_BYTE 0xffff

/*
 * A Hello with one byte changed: qn says which, msn to what; len is the length
 * of the private data, 0 that of the Hello. It is refused: R in the Reply, or the
 * connection ends.
 */
static enum peer_end bad_hello(struct peer *p, const struct target_memory *m,
			       const struct attack *a)
{
	unsigned char h[256];
	size_t len = sdp_hello(p, h);

	(void)m;
	if (a->len)
		len = a->len == NO_BYTE ? 0 : a->len;
	h[a->qn] = a->msn;
	return peer_open(p, h, len) ? END_FIN : END_NO_FRAME;
}

static enum peer_end good_hello(struct peer *p, const struct target_memory *m,
				const struct attack *a)
{
	if (bad_hello(p, m, a) != END_NO_FRAME)
		return END_FIN;
	p->mseq = 1;
	send_data(p, "");
	return END_NONE;
}

/* A peer that goes away where the listener waits for it. */
static enum peer_end hello_then_rst(struct peer *p,
				    const struct target_memory *m,
				    const struct attack *a)
{
	bad_hello(p, m, a);
	peer_reset(p);
	return END_RST;
}

#define REFUSED ENDS(E_CLOSED)
#define BYTE(o, v) bad_hello, .qn = o, .msn = v
/* of the long form, which some peers have no room for */
#define LONG_FORM .ddp = 1

/* clang-format off */
const struct attack hello_attacks[] = {
	CASE("Hello: nothing wrong", NULL, ENDS(E_ALIVE),
	     good_hello, .qn = 18),
	CASE("Hello: minor version 15", NULL, ENDS(E_ALIVE),
	     good_hello, .qn = 16, .msn = 0x2f),
	CASE("Hello: padded", NULL, ENDS(E_ALIVE), good_hello, .len = 200, .qn = 18, LONG_FORM),
	CASE("Hello: no private data", "hello_bad", REFUSED, bad_hello, .len = NO_BYTE),
	CASE("Hello: 16 bytes", "hello_bad", REFUSED, bad_hello, .len = 16, .qn = 7, .msn = 16),
	CASE("Hello: 63 bytes", "hello_bad", REFUSED,
	     bad_hello, .len = 63, .qn = 7, .msn = 63, LONG_FORM),
	CASE("Hello: cut", "hello_bad", REFUSED, bad_hello, .len = 80, .qn = 18, LONG_FORM),
	CASE("Hello: another message", "hello_bad", REFUSED, BYTE(0, 0xff)),
	CASE("Hello: HelloAck", "hello_bad", REFUSED, BYTE(0, 1)),
	CASE("Hello: flags", "hello_bad", REFUSED, BYTE(1, 1)),
	CASE("Hello: no credits", "hello_bad", REFUSED, BYTE(3, 0)),
	CASE("Hello: two credits", "hello_bad", REFUSED, BYTE(3, 2)),
	CASE("Hello: length field huge", "hello_bad", REFUSED, BYTE(4, 0x80)),
	CASE("Hello: length field small", "hello_bad", REFUSED, BYTE(7, 17)),
	CASE("Hello: MSeq not 0", "hello_bad", REFUSED, BYTE(11, 1)),
	CASE("Hello: version 1", "bad_version", REFUSED, BYTE(16, 0x11)),
	CASE("Hello: version 3", "bad_version", REFUSED, BYTE(16, 0x30)),
	CASE("Hello: IP version 0", "hello_bad", REFUSED, BYTE(17, 0)),
	CASE("Hello: IP version 6 on an IPv4 connection", "hello_bad", REFUSED, BYTE(17, 0x60)),
	CASE("Hello: zero adverts", "bad_adverts", REFUSED, BYTE(19, 0)),
	CASE("Hello: receive buffers of 0 bytes", "hello_bad", REFUSED, BYTE(26, 0)),
	CASE("Hello: the peer resets", NULL, ENDS(E_CLOSED), hello_then_rst, .qn = 18),
	CASE("Hello: the peer resets", NULL, ENDS(E_CLOSED), hello_then_rst, .qn = 18),
};
/* clang-format on */

const unsigned int hello_attack_count = COUNT(hello_attacks);

/* clang-format off */
/* Of the short form, where 56 bytes of private data arrive, however many are sent */
const struct attack short_attacks[] = {
	CASE("Short Hello: the longest", NULL, ENDS(E_ALIVE), good_hello, .qn = 7, .msn = 56),
	CASE("Short Hello: 31 bytes", "hello_bad", REFUSED, BYTE(7, 31)),
	CASE("Short Hello: longer than what there is", "hello_bad", REFUSED, BYTE(7, 57)),
	CASE("Short Hello: length of the long one", "hello_bad", REFUSED, BYTE(7, HELLO_LEN)),
	CASE("Short Hello: IP version 5", "hello_bad", REFUSED, BYTE(17, 0x50)),
	CASE("Short Hello: MSeqAck not 0", "hello_bad", REFUSED, BYTE(15, 1)),
};
/* clang-format on */

const unsigned int short_attack_count = COUNT(short_attacks);

/* ---- to a connecting peer ---- */

/*
 * A HelloAck with one byte changed: qn says which, msn to what; len is the length
 * of the private data. The connection has to end.
 */
static enum peer_end bad_ack(struct peer *p, const struct target_memory *m,
			     const struct attack *a)
{
	unsigned char h[256];

	(void)m;
	sdp_hello_ack(h);
	h[a->qn] = a->msn;
	peer_answer(p, h, a->len);
	return END_NONE;
}

static enum peer_end good_ack(struct peer *p, const struct target_memory *m,
			      const struct attack *a)
{
	bad_ack(p, m, a);
	return first_message(p) ? END_NO_FRAME : END_NONE;
}

/* Extensions: the Hello must have qn, and the answer has msn */
static enum peer_end ext_ack(struct peer *p, const struct target_memory *m,
			     const struct attack *a)
{
	unsigned char h[256];

	(void)m;
	sdp_hello_ack(h);
	h[BSDH + 8] = a->mo ? a->mo : 0xd5;
	h[BSDH + 9] = a->msn;
	peer_answer(p, h, ACK_LEN);
	return p->private_data[BSDH + 15] == a->qn ? END_NONE : END_NO_FRAME;
}

static enum peer_end no_ext(struct peer *p, const struct target_memory *m,
			    const struct attack *a)
{
	if (ext_ack(p, m, a) != END_NONE || first_message(p))
		return END_NO_FRAME;
	return END_NONE;
}

/* Data before the message by which the connecting side permits it */
static enum peer_end ack_and_data(struct peer *p, const struct target_memory *m,
				  const struct attack *a)
{
	bad_ack(p, m, a);
	p->mseq = 1;
	p->mseq_ack = 0;
	send_data(p, "early");
	return END_NONE;
}

static enum peer_end ack_then_rst(struct peer *p, const struct target_memory *m,
				  const struct attack *a)
{
	p->hasty = true;
	bad_ack(p, m, a);
	peer_reset(p);
	return END_RST;
}

static enum peer_end ack_then_fin(struct peer *p, const struct target_memory *m,
				  const struct attack *a)
{
	bad_ack(p, m, a);
	return no_discon(p, m, a);
}

/* clang-format off */
#define ACKBYTE(o, v) bad_ack, .len = ACK_LEN, .qn = o, .msn = v

const struct attack ack_attacks[] = {
	CASE("HelloAck: nothing wrong", NULL, ENDS(E_ALIVE),
	     good_ack, .len = ACK_LEN, .qn = 18),
	CASE("HelloAck: minor version 15", NULL, ENDS(E_ALIVE),
	     good_ack, .len = ACK_LEN, .qn = 16, .msn = 0x2f),
	CASE("HelloAck: padded", NULL, ENDS(E_ALIVE), good_ack, .len = 240, .qn = 18, LONG_FORM),
	CASE("HelloAck: 24 bytes", NULL, ENDS(E_ALIVE),
	     good_ack, .len = 24, .qn = 7, .msn = 24),
	CASE("HelloAck: receive buffers of 4 GB", NULL, ENDS(E_ALIVE),
	     good_ack, .len = ACK_LEN, .qn = 20, .msn = 0xff),
	CASE("HelloAck: receive buffers of 256 bytes", NULL, ENDS(E_ALIVE),
	     good_ack, .len = ACK_LEN, .qn = 22, .msn = 1),
	CASE("HelloAck: 65344 credits", NULL, ENDS(E_ALIVE),
	     good_ack, .len = ACK_LEN, .qn = 2, .msn = 0xff),
	CASE("HelloAck: 255 adverts", NULL, ENDS(E_ALIVE),
	     good_ack, .len = ACK_LEN, .qn = 19, .msn = 0xff),
	CASE("HelloAck: no private data", "hello_bad", REFUSED, bad_ack, .len = 0),
	CASE("HelloAck: 16 bytes", "hello_bad", REFUSED, bad_ack, .len = 16, .qn = 7, .msn = 16),
	CASE("HelloAck: 23 bytes", "hello_bad", REFUSED, bad_ack, .len = 23, .qn = 7, .msn = 23),
	CASE("HelloAck: cut", "hello_bad", REFUSED, bad_ack, .len = 100, .qn = 18, LONG_FORM),
	CASE("HelloAck: another message", "hello_bad", REFUSED, ACKBYTE(0, 0xff)),
	CASE("HelloAck: Hello", "hello_bad", REFUSED, ACKBYTE(0, 0)),
	CASE("HelloAck: flags", "hello_bad", REFUSED, ACKBYTE(1, 1)),
	CASE("HelloAck: no credits", "hello_bad", REFUSED, ACKBYTE(3, 0)),
	CASE("HelloAck: two credits", "hello_bad", REFUSED, ACKBYTE(3, 2)),
	CASE("HelloAck: length field huge", "hello_bad", REFUSED, ACKBYTE(4, 0x80)),
	CASE("HelloAck: length field small", "hello_bad", REFUSED, ACKBYTE(7, 17)),
	CASE("HelloAck: MSeq not 0", "hello_bad", REFUSED, ACKBYTE(11, 1)),
	CASE("HelloAck: MSeqAck not 0", "hello_bad", REFUSED, ACKBYTE(15, 1)),
	CASE("HelloAck: version 1", "bad_version", REFUSED, ACKBYTE(16, 0x11)),
	CASE("HelloAck: version 3", "bad_version", REFUSED, ACKBYTE(16, 0x30)),
	CASE("HelloAck: zero adverts", "bad_adverts", REFUSED, ACKBYTE(19, 0)),
	CASE("HelloAck: receive buffers of 0 bytes", "hello_bad", REFUSED, ACKBYTE(22, 0)),
	CASE("HelloAck: another extension than offered", "hello_bad", REFUSED,
	     ext_ack, .qn = 1, .msn = 4),
	CASE("HelloAck: two extensions", "hello_bad", REFUSED, ext_ack, .qn = 1, .msn = 3),
	CASE("HelloAck: unknown extension", NULL, ENDS(E_ALIVE),
	     no_ext, .qn = 1, .msn = 0x80),
	CASE("HelloAck: extension without its sign", NULL, ENDS(E_ALIVE),
	     no_ext, .qn = 1, .msn = 1, .mo = 0xd4),
	CASE("HelloAck: then Data, too early", NULL, ENDS(E_ALIVE),
	     ack_and_data, .len = ACK_LEN, .qn = 18),
	CASE("HelloAck: the peer resets", NULL, ENDS(E_CLOSED),
	     ack_then_rst, .len = ACK_LEN, .qn = 18),
	CASE("HelloAck: FIN without DisConn", NULL, ABORT,
	     ack_then_fin, .len = ACK_LEN, .qn = 18),
};
/* clang-format on */

const unsigned int ack_attack_count = COUNT(ack_attacks);

/* ---- with a ring ---- */

/* A Ring message: to bytes written, mo bytes read, len bytes after BSDH */
static enum peer_end ring_says(struct peer *p, const struct target_memory *m,
			       const struct attack *a)
{
	(void)m;
	memset(msg, 0, 512);
	ring_put += a->len == 8 ? a->to : 0;
	send_ext(p, MID_RING, a->to, a->mo, 0, a->len);
	return END_NONE;
}

/* As many bytes with the message as it announces */
static enum peer_end ring_brings(struct peer *p, const struct target_memory *m,
				 const struct attack *a)
{
	(void)m;
	memset(msg, 'r', 512);
	ring_put += a->len;
	send_ext(p, MID_RING, a->len, 0, 0, 8 + a->len);
	return END_NONE;
}

/* RingAvail once more, or for the first time, with these values */
static enum peer_end ring_is(struct peer *p, const struct target_memory *m,
			     const struct attack *a)
{
	(void)m;
	memset(msg, 0, 512);
	send_ext(p, MID_RING_AVAIL, a->inval, ring_key, a->to ? a->to : ring_at,
		 a->len);
	return END_NONE;
}

/* An RDMA Write of 100 bytes that begins there */
static enum peer_end ring_writes(struct peer *p, const struct target_memory *m,
				 const struct attack *a)
{
	(void)m;
	peer_write(p, ring_stag + a->inval, ring_va + a->to, msg, 100);
	return END_NONE;
}

/* Announces 30000 bytes len times, more than the ring has room for */
static enum peer_end ring_floods(struct peer *p, const struct target_memory *m,
				 const struct attack *a)
{
	unsigned int i;

	(void)m;
	for (i = 0; i < a->len; i++)
		send_ext(p, MID_RING, 30000, 0, 0, 8);
	return END_NONE;
}

/* As many bytes, written and announced by a message */
static enum peer_end ring_tells(struct peer *p, const struct target_memory *m,
				const struct attack *a)
{
	(void)m;
	memset(msg, 't', 512);
	peer_write(p, ring_stag, ring_va + ring_put, msg, a->len);
	ring_put += a->len;
	send_ext(p, MID_RING, a->len, 0, 0, 8);
	return END_NONE;
}

void sdp_write_ring(struct peer *p, size_t len)
{
	const struct attack a = { .len = len };

	ring_tells(p, NULL, &a);
}

void sdp_tell_ring(struct peer *p, uint32_t len, uint32_t key, uint64_t va)
{
	send_ext(p, MID_RING_AVAIL, len, key, va, 16);
}

uint32_t sdp_ring_of_peer(uint64_t *va)
{
	*va = ring_va;
	return ring_stag;
}

/* One that there is nothing wrong with, msn times, after a message without payload */
static enum peer_end ring_imms(struct peer *p, const struct target_memory *m,
			       const struct attack *a)
{
	unsigned int i;

	if (a->ddp)
		send_ext(p, a->ddp, 0, 0, 0, 0);
	for (i = 0; i < a->msn; i++) {
		ring_put %= RING_SIZE / 2;
		ring_imm(p, m, a);
	}
	return END_NONE;
}

/* clang-format off */
const struct attack ring_attacks[] = {
	CASE("Ring: nothing wrong", NULL, ENDS(E_ALIVE), ring_says, .len = 8),
	CASE("Ring: announced, not written", NULL, ENDS(E_ALIVE),
	     ring_says, .len = 8, .to = 100),
	CASE("Ring: more than there is room for", "bad_credit", ABORT,
	     ring_says, .len = 8, .to = 1 << 22),
	CASE("Ring: 4 GB", "bad_credit", ABORT, ring_says, .len = 8, .to = 0xffffffff),
	CASE("Ring: again and again", "bad_credit", ABORT, ring_floods, .len = 3000),
	CASE("Ring: freed what was never written", "bad_rdma", ABORT,
	     ring_says, .len = 8, .mo = 1),
	CASE("Ring: freed less than nothing", "bad_rdma", ABORT,
	     ring_says, .len = 8, .mo = 0xffffffff),
	CASE("Ring: freed half of all numbers", "bad_rdma", ABORT,
	     ring_says, .len = 8, .mo = 0x80000000),
	CASE("Ring: cut", "bad_len", ABORT, ring_says, .len = 7),
	CASE("Ring: a byte goes along", NULL, ENDS(E_ALIVE), ring_brings, .len = 1),
	CASE("Ring: 264 bytes go along", NULL, ENDS(E_ALIVE), ring_brings, .len = 264),
	CASE("Ring: 265 bytes go along", "bad_len", ENDS(E_TERM(1, 2, 5)),
	     ring_brings, .len = 265),
	CASE("Ring: more goes along than it says", "bad_len", ABORT,
	     ring_says, .len = 10, .to = 1),
	CASE("Ring: less goes along than it says", "bad_len", ABORT,
	     ring_says, .len = 9, .to = 2),
	CASE("Ring: payload of nothing", "bad_len", ABORT, ring_says, .len = 9),
	CASE("Ring: urgent, but empty", "bad_flags", ABORT, one, MSG(0x49, .len = 8, .rdmap = 1)),
	CASE("Ring: message longer than the receive", "bad_len", ENDS(E_TERM(1, 2, 5)),
	     one, MSG(0xff, .len = 400)),
	CASE("Ring: Data with payload", "bad_state", ABORT, one, MSG(0xff, .len = 8)),
	CASE("Ring: SrcAvail", "bad_state", ABORT, one, MSG(0xfe, .len = 20, .inval = 4096)),
	CASE("RingAvail: twice", "bad_state", ABORT,
	     ring_is, .len = 16, .inval = RING_SIZE),
	CASE("RingAvail: cut", "bad_len", ABORT, ring_is, .len = 15, .inval = RING_SIZE),
	CASE("RingAvail: with payload", "bad_len", ABORT,
	     ring_is, .len = 17, .inval = RING_SIZE),
	CASE("Ring: Write past the end", NULL, ENDS(E_TERM(1, 1, 1)),
	     ring_writes, .to = 1 << 22),
	CASE("Ring: Write before the ring", NULL, ENDS(E_TERM(1, 1, 3)),
	     ring_writes, .to = -50ull),
	CASE("Ring: Write to another STag", NULL, ENDS(E_TERM(1, 1, 0)),
	     ring_writes, .inval = 0x100),
	CASE("Ring: immediate data that were not agreed to", "bad_state", ABORT,
	     ring_imm, .len = 100, .to = 100),
	CASE("Ring: DisConn", NULL, ENDS(E_CLOSED), graceful, MSG(0x02, .region = 0x02)),
	CASE("Ring: random messages", NULL, ENDS(E_ANY), random_messages),
	CASE("Ring: random messages", NULL, ENDS(E_ANY), random_messages),
};

/* Immediate data have been agreed to */
const struct attack imm_attacks[] = {
	CASE("Immediate data: nothing wrong", "rx_immediates", ENDS(E_ALIVE),
	     ring_imm, .len = 100, .to = 100),
	CASE("Immediate data: and they come back", "tx_immediates", ENDS(E_ALIVE),
	     ring_imm, .len = 300, .to = 300),
	CASE("Immediate data: of nothing", "bad_len", ABORT, ring_imm),
	CASE("Immediate data: of what was not written", "bad_len", ABORT,
	     ring_imm, .to = 100),
	CASE("Immediate data: one byte more", "bad_len", ABORT,
	     ring_imm, .len = 100, .to = 101),
	CASE("Immediate data: one byte less", "bad_len", ABORT,
	     ring_imm, .len = 100, .to = 99),
	CASE("Immediate data: 65535 bytes", "bad_len", ABORT,
	     ring_imm, .len = 100, .to = 65535),
	CASE("Immediate data: none, but written", "bad_len", ABORT, ring_imm, .len = 100),
	CASE("Immediate data: MSeqAck one too far", "bad_ack", ABORT,
	     ring_imm, .len = 100, .to = 100, .mo = 1),
	CASE("Immediate data: MSeqAck half of all too far", "bad_ack", ABORT,
	     ring_imm, .len = 100, .to = 100, .mo = 0x8000),
	/* nothing has been acknowledged before: one less is not wrong */
	CASE("Immediate data: MSeqAck goes back", "bad_ack", ABORT,
	     ring_imm, .len = 100, .to = 100, .mo = 0xfffe),
	CASE("Immediate data: again and again", "bad_credit", ABORT,
	     ring_imms, .len = 100, .to = 100, .msn = 3000),
	CASE("Immediate data: after DisConn", "bad_state", ABORT,
	     ring_imms, .ddp = 0x02, .len = 100, .to = 100, .msn = 1),
};

/* By SDP only: MPA has not agreed to what they are sent by */
const struct attack not_below_attacks[] = {
	CASE("Immediate data: not without MPA", NULL, ENDS(E_ALIVE), ring_tells, .len = 300),
	CASE("Immediate data: without MPA", "bad_len", ABORT,
	     ring_imm, .len = 100, .to = 100),
};

/* No ring has been announced to the peer */
const struct attack untold_attacks[] = {
	CASE("RingAvail: 0 bytes", "bad_rdma", ABORT, ring_is, .len = 16),
	CASE("RingAvail: 1 byte", "bad_rdma", ABORT, ring_is, .len = 16, .inval = 1),
	CASE("RingAvail: no power of two", "bad_rdma", ABORT,
	     ring_is, .len = 16, .inval = RING_SIZE + 4096),
	CASE("RingAvail: 2 GB", "bad_rdma", ABORT,
	     ring_is, .len = 16, .inval = 0x80000000),
	CASE("RingAvail: wraps", "bad_rdma", ABORT,
	     ring_is, .len = 16, .inval = RING_SIZE, .to = -4096ull),
	CASE("RingAvail: at last", NULL, ENDS(E_ALIVE),
	     ring_is, .len = 16, .inval = RING_SIZE),
};

/* Without credits: attacks about credits, and the commonest mistakes */
const struct attack hold_attacks[] = {
	CASE("Held: nothing wrong", NULL, ENDS(E_ALIVE), one, MSG(0xff, .len = 1)),
	CASE("Held: no credits at all", NULL, ENDS(E_ALIVE), one, .ddp = 0xff, .len = 1),
	CASE("Held: 65535 credits", NULL, ENDS(E_ALIVE),
	     one, .ddp = 0xff, .qn = 65535, .len = 1),
	CASE("Held: more messages than receives", NULL, ENDS(E_ALIVE),
	     overrun, .len = 300),
	CASE("Held: message longer than the receive", "bad_len",
	     ENDS(E_TERM(1, 2, 5)), too_long),
	CASE("Held: length field one more", "bad_len", ABORT, one, MSG(0xff, .len = 1, .to = 1)),
	CASE("Held: MSeq jumps", "bad_mseq", ABORT, one, MSG(0xff, .len = 1, .msn = 1)),
	CASE("Held: MSeqAck of what was never sent", "bad_ack", ABORT,
	     one, MSG(0xff, .len = 1, .mo = 100)),
	CASE("Held: SrcAvail is answered by SendSm", NULL, ENDS(E_ALIVE),
	     answered, MSG(0xfe, .len = 16 + 100, .inval = 4096, .region = 0x04)),
	CASE("Held: Ring without a ring", "bad_state", ABORT, one, MSG(0x49, .len = 8)),
	CASE("Held: DisConn", NULL, ENDS(E_CLOSED), graceful, MSG(0x02, .region = 0x02)),
	CASE("Held: FIN without DisConn", NULL, ABORT, no_discon),
	CASE("Held: RST", NULL, ENDS(E_CLOSED), rst),
	CASE("Held: random messages", NULL, ENDS(E_ANY), random_messages),
};
/* clang-format on */

const unsigned int hold_attack_count = COUNT(hold_attacks);

const unsigned int ring_attack_count = COUNT(ring_attacks);

const unsigned int imm_attack_count = COUNT(imm_attacks);

const unsigned int not_below_attack_count = COUNT(not_below_attacks);

const unsigned int untold_attack_count = COUNT(untold_attacks);

void sdp_ring_told(bool told)
{
	ring_untold = !told;
}

/* ---- what the peer may send: its credits, the length of our receives ---- */

#define ECHOED 8000 /* bytes that come back, as far as they may */
#define QUIET_MS 500 /* for what must not come */
#define SOON_MS 10000 /* for what must come */
#define PRESSED 1000 /* payload of a message that uses up credits */

/* Credits granted to the peer, and by the peer: numbers of the last message */
static uint32_t granted, told;
/* Received so far: bytes, messages with payload, the answer to ChRcvBuf */
static uint32_t got, payloads, resized;
/* Bytes that may come, and how the connection has ended meanwhile */
static uint32_t expected;
static enum peer_end ended;
static bool dead; /* not even its device answers */

static enum peer_end against(const char *what)
{
	printf("# %s\n", what);
	return END_NO_FRAME;
}

static void credit_say(struct peer *p, unsigned int mid, size_t len)
{
	const struct attack a = { .ddp = mid, .qn = granted - p->mseq_ack };

	put_message(p, &a, len);
}

/* Is it the next piece of what we have sent? */
static bool next_bytes(const unsigned char *data, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (data[i] != (unsigned char)((got + i) * 7))
			return false;
	got += len;
	payloads += !!len;
	return got <= expected;
}

/* The rules of what has come as message number @mseq, with @len bytes of payload */
static const char *credit_rules(const unsigned char *m, uint32_t mseq,
				uint32_t len)
{
	uint32_t total = get_be32(m + 12) + (m[2] << 8 | m[3]);
	int credits = granted + 1 - mseq;

	if (credits < 1)
		return "a message without a credit";
	if (len && credits < 3)
		return "payload with less than three credits";
	if (credits == 1 && (int)(total - told) <= 0)
		return "the last credit brought no new ones";
	if ((int)(total - told) > 0)
		told = total;
	return NULL;
}

/*
 * A sender's probe for complete messages, or for a live peer: a
 * Write of nothing, a Read of nothing, which is answered as a device does it.
 */
static bool probe(struct peer *p)
{
	const unsigned char *u = p->ulpdu;
	unsigned char r[64];
	size_t len;

	if (p->ulpdu_len == 14 && u[0] == DDP_TAGGED && u[1] == OP_WRITE)
		return true;
	if (p->ulpdu_len != 18 + 28 || u[1] != OP_READ_REQ ||
	    get_be32(u + 18 + 12))
		return false;
	len = ulpdu_tagged(r, DDP_TAGGED, OP_READ_RESP, get_be32(u + 18),
			   get_be64(u + 18 + 4), NULL, 0);
	if (!dead)
		peer_send_fpdu(p, r, len, NULL);
	return true;
}

static enum peer_end credit_end(struct peer *p, int ret)
{
	if (ret == 1)
		return peer_is_terminate(p) ? END_TERMINATE : END_NONE;
	return ret == 0 ? END_FIN : ret == -1 ? END_RST : END_NONE;
}

/* A whole message, of one FPDU or more; its length, 0: none, -1: something else */
static int credit_message(struct peer *p, unsigned char *m, size_t room,
			  int timeout_ms)
{
	size_t len = 0, n;
	int ret;

	do {
		do
			ret = peer_recv_fpdu(p, len ? 10000 : timeout_ms);
		while (ret == 1 && probe(p));
		if (ret == -2 && !len)
			return 0;
		ended = credit_end(p, ret);
		if (ret != 1 || ended != END_NONE || p->ulpdu_len < 18 ||
		    get_be32(p->ulpdu + 14) != len)
			return -1;
		n = p->ulpdu_len - 18;
		if (n > room - len)
			return -1;
		memcpy(m + len, p->ulpdu + 18, n);
		len += n;
	} while (p->ulpdu[0] != DDP_UNTAGGED);
	return len < BSDH ? -1 : (int)len;
}

/* 1: a message has come; 0: none; -1: one that is against the rules */
static int credit_hear(struct peer *p, uint32_t rcvsz, int timeout_ms)
{
	unsigned char m[RCVSZ];
	const char *wrong;
	uint32_t len;
	int ret;

	ret = credit_message(p, m, sizeof(m), timeout_ms);
	if (!ret)
		return 0;
	if (ret < 0) {
		if (ended == END_NONE)
			against("no message");
		return -1;
	}
	len = ret - BSDH;
	resized += m[0] == 0x0c;
	if (m[0] != 0xff)
		len = 0;
	wrong = credit_rules(m, p->mseq_ack + 1, len);
	if (get_be32(m + 8) != ++p->mseq_ack)
		wrong = "a wrong number";
	if ((uint32_t)ret > rcvsz)
		wrong = "longer than the receives";
	if (!next_bytes(m + BSDH, len))
		wrong = "other bytes than were sent";
	if (wrong)
		against(wrong);
	return wrong ? -1 : 1;
}

/*
 * Until so many messages with payload and answers have come on the connection, and then
 * nothing comes any more
 */
static bool credit_quiet(struct peer *p, uint32_t rcvsz, uint32_t want)
{
	int ret;

	do {
		ret = credit_hear(p, rcvsz,
				  payloads + resized < want ?
					  peer_patience(SOON_MS) :
					  QUIET_MS);
	} while (ret > 0);
	return !ret;
}

/* A connection with three credits, on which so many bytes may come */
static bool credit_hello(struct peer *p, uint32_t bytes)
{
	unsigned char h[256];
	size_t n = sdp_hello(p, h);

	granted = 3;
	got = 0;
	payloads = 0;
	resized = 0;
	expected = bytes;
	h[3] = granted;
	if (peer_open(p, h, n) || p->private_len < 24 ||
	    p->private_data[0] != 1)
		return false;
	told = p->private_data[2] << 8 | p->private_data[3];
	p->mseq = 1;
	p->mseq_ack = 0;
	return true;
}

/* One message of what has to come back */
static bool credit_open(struct peer *p, const struct attack *a)
{
	size_t i;

	if (!credit_hello(p, ECHOED))
		return false;
	for (i = 0; i < ECHOED; i++)
		msg[BSDH + i] = i * 7;
	credit_say(p, 0xff, ECHOED);
	return credit_quiet(p, a->rcvsz, 1);
}

/* ChRcvBuf, to which there may be an answer */
static bool credit_ask(struct peer *p, const struct attack *a, bool answer)
{
	put_be32(msg + BSDH, 65536);
	credit_say(p, 0x0b, 4);
	return credit_quiet(p, a->rcvsz, answer ? payloads + resized + 1 : 0);
}

/* Messages that use up its receives, until it announces new ones */
static bool credit_press(struct peer *p, const struct attack *a)
{
	uint32_t before = p->mseq_ack;
	int ret = 0;

	while (!ret && p->mseq_ack == before && (int)(told - p->mseq) >= 2) {
		credit_say(p, 0xff, 0);
		ret = credit_hear(p, a->rcvsz, 20);
	}
	if (!ret && p->mseq_ack == before)
		ret = credit_hear(p, a->rcvsz, peer_patience(SOON_MS));
	return ret >= 0 && p->mseq_ack != before &&
	       credit_quiet(p, a->rcvsz, 0);
}

/* Messages that the other end must not answer */
static bool credit_silence(struct peer *p, const struct attack *a)
{
	uint32_t before = p->mseq_ack;
	int i;

	for (i = 0; i < 5; i++)
		if (!credit_ask(p, a, false) || p->mseq_ack != before)
			return false;
	return true;
}

/* Grants more credits: all data that was kept back arrives */
static bool credit_more(struct peer *p, const struct attack *a)
{
	granted += 64;
	credit_say(p, 0xff, 0);
	while (got < ECHOED)
		if (credit_hear(p, a->rcvsz, peer_patience(SOON_MS)) != 1)
			return false;
	return credit_quiet(p, a->rcvsz, 0);
}

/* Three credits, then two, one, none: qn are left. Then many. */
static enum peer_end credits(struct peer *p, const struct target_memory *m,
			     const struct attack *a)
{
	uint32_t left;

	(void)m;
	if (!credit_open(p, a) || payloads != 1)
		return against("not one message with three credits");
	if (a->qn < 2 && (!credit_ask(p, a, true) || resized != 1))
		return against("no answer with two credits");
	if (a->qn < 1 && !credit_press(p, a))
		return against("a mistake with one credit");
	left = granted - p->mseq_ack;
	if (left != a->qn || payloads != 1)
		return against("other credits are left");
	if (!left && !credit_silence(p, a))
		return against("not silent without credits");
	return credit_more(p, a) ? END_NONE : against("does not go on");
}

/* One more credit, one more message */
static enum peer_end credit_by_credit(struct peer *p,
				      const struct target_memory *m,
				      const struct attack *a)
{
	uint32_t i;

	(void)m;
	if (!credit_open(p, a))
		return END_NO_FRAME;
	for (i = 2; got < ECHOED; i++) {
		granted = p->mseq_ack + 3;
		credit_say(p, 0xff, 0);
		if (!credit_quiet(p, a->rcvsz, i))
			return END_NO_FRAME;
		if (payloads != i)
			return against("not one message for a credit");
	}
	return END_NONE;
}

static enum peer_end small_receives(struct peer *p,
				    const struct target_memory *m,
				    const struct attack *a)
{
	(void)m;
	if (!credit_open(p, a) || !credit_more(p, a))
		return END_NO_FRAME;
	return payloads == (ECHOED + a->rcvsz - BSDH - 1) / (a->rcvsz - BSDH) ?
		       END_NONE :
		       against("messages are shorter than they could be");
}

/*
 * To a server that does not read, and whose receives do not grow: as many messages with
 * payload as it has credits for, and one more. The answer to ChRcvBuf brings the latest
 * credits, which are for control then.
 */
static enum peer_end one_too_many(struct peer *p, const struct target_memory *m,
				  const struct attack *a)
{
	uint32_t before, sent = 0;

	(void)m;
	(void)a;
	if (!credit_hello(p, UINT32_MAX))
		return END_NO_FRAME;
	do {
		/* a message takes three credits, its own among them */
		for (; (int)(told - p->mseq) >= 2; sent++)
			credit_say(p, 0xff, PRESSED);
		before = resized;
		granted = p->mseq_ack + 64;
		put_be32(msg + BSDH, 65536);
		credit_say(p, 0x0b, 4);
		while (resized == before)
			if (credit_hear(p, RCVSZ, peer_patience(SOON_MS)) != 1)
				return against("no answer to ChRcvBuf");
	} while ((int)(told - p->mseq) >= 2);
	printf("# %u messages, then with %d credits\n", sent,
	       (int)(told - p->mseq) + 1);
	credit_say(p, 0xff, PRESSED);
	return END_NONE;
}

const struct attack overrun_attacks[] = {
	CASE("Credits: one message more than they are for", "bad_credit",
	     ENDS(E_CLOSED), one_too_many),
};

const unsigned int overrun_attack_count = COUNT(overrun_attacks);

/* clang-format off */
const struct attack credit_attacks[] = {
	CASE("Credits: three are one message with payload", NULL, ENDS(E_ALIVE),
	     credits, .rcvsz = 1000, .qn = 2),
	CASE("Credits: two are an answer", NULL, ENDS(E_ALIVE),
	     credits, .rcvsz = 1000, .qn = 1),
	CASE("Credits: the last one brings new ones", NULL, ENDS(E_ALIVE),
	     credits, .rcvsz = 1000, .qn = 0),
	CASE("Credits: one by one", NULL, ENDS(E_ALIVE), credit_by_credit, .rcvsz = 1000),
	CASE("Credits: receives of 200 bytes", NULL, ENDS(E_ALIVE),
	     small_receives, .rcvsz = 200),
	CASE("Credits: receives of 1001 bytes", NULL, ENDS(E_ALIVE),
	     small_receives, .rcvsz = 1001),
};
/* clang-format on */

const unsigned int credit_attack_count = COUNT(credit_attacks);

/* ---- MSeqAck does not move: no credit comes back ---- */

#define FROZEN_MS 400

/* A device that answers by itself has to go: once it has brought what is looked at */
static void die(struct peer *p)
{
	if (p->ops)
		p->ops->die(p);
}

/* Something is said, as far as there is room for it, but nothing acknowledged */
static void frozen_say(struct peer *p)
{
	const struct attack a = { .ddp = 0xff,
				  .qn = granted,
				  .mo = -p->mseq_ack };

	if ((int)(told - p->mseq) >= 0)
		put_message(p, &a, 0);
}

/*
 * The server is asked for bytes in the way that inval says. Of all that comes, until
 * it gives us up, nothing may be against the rules: a message with payload is what
 * the three credits are good for. We are silent, or (qn) are not; our device answers,
 * or (msn) does not.
 */
static enum peer_end frozen(struct peer *p, const struct target_memory *m,
			    const struct attack *a)
{
	long end = net_ms() + peer_patience(60000);
	bool none;
	int ret;

	(void)m;
	if (!credit_hello(p, UINT32_MAX))
		return END_NO_FRAME;
	msg[BSDH] = a->inval;
	credit_say(p, 0xff, 1);
	dead = a->msn;
	do {
		if (dead && payloads)
			die(p);
		/* not before, or an answer to that takes the credit for it */
		if (a->qn && payloads)
			frozen_say(p);
		ret = credit_hear(p, RCVSZ, FROZEN_MS);
	} while (ret >= 0 && net_ms() < end);
	dead = false;
	/* where a task sends it later (rxe), a close for no time may come before */
	none = p->short_hello && a->inval == '0';
	if (payloads > 1 || (!payloads && !none))
		return against("not one message with three credits");
	return ret < 0 && ended != END_NONE ? ended : END_NO_FRAME;
}

/*
 * The same with a ring: neither messages are acknowledged, nor is room in it freed. All
 * that comes is taken.
 */
static enum peer_end frozen_ring(struct peer *p, const struct target_memory *m,
				 const struct attack *a)
{
	long end = net_ms() + peer_patience(60000);
	char how = a->inval;
	int ret, said = 0;

	(void)m;
	sdp_send_ring(p, &how, 1, true);
	dead = a->msn;
	do {
		ret = peer_recv_fpdu(p, FROZEN_MS);
		if (dead && ret == 1)
			die(p);
		if (ret == 1 && peer_is_terminate(p))
			break;
		if (ret == 1)
			probe(p);
		/* there are credits for so many */
		else if (ret == -2 && a->qn && said++ < 3)
			sdp_send_ring(p, NULL, 0, true);
	} while ((ret == 1 || ret == -2) && net_ms() < end);
	dead = false;
	return credit_end(p, ret);
}

/*
 * Where the transport holds data back, nothing is taken out of it until a timer has
 * run out, or we are reset. Then all is, until the end.
 */
static enum peer_end frozen_held(struct peer *p, const struct target_memory *m,
				 const struct attack *a)
{
	const struct attack data = { .ddp = 0xff, .qn = CREDITS };
	long long before = attack_counter("timeouts");
	long end = net_ms() + peer_patience(60000);

	(void)m;
	msg[BSDH] = a->inval;
	put_message(p, &data, 1);
	while (net_ms() < end && attack_counter("timeouts") <= before)
		if (reset_within(p, 100))
			break;
	return END_NONE;
}

/* clang-format off */
const struct attack frozen_ring_attacks[] = {
	CASE("Frozen ring: user timeout, silent", "timeouts", ABORT, frozen_ring, .inval = 'u'),
	CASE("Frozen ring: user timeout", "timeouts", ABORT, frozen_ring, .inval = 'u', .qn = 1),
	CASE("Frozen ring: keepalive", "timeouts", ABORT, frozen_ring, .inval = 'k', .msn = 1),
	CASE("Frozen ring: close, silent", "timeouts", ABORT, frozen_ring, .inval = 'c'),
	CASE("Frozen ring: close", "timeouts", ABORT, frozen_ring, .inval = 'c', .qn = 1),
	CASE("Frozen ring: lingering close", "timeouts", ABORT, frozen_ring, .inval = 'l',
	     .qn = 1),
	CASE("Frozen ring: lingering close for no time", NULL, ABORT, frozen_ring,
	     .inval = '0', .qn = 1),
};

const unsigned int frozen_ring_attack_count = COUNT(frozen_ring_attacks);

const struct attack frozen_held_attacks[] = {
	CASE("Frozen: user timeout", "timeouts", ABORT, frozen_held, .inval = 'u'),
	CASE("Frozen: close", "timeouts", ABORT, frozen_held, .inval = 'c'),
	CASE("Frozen: lingering close", "timeouts", ABORT, frozen_held, .inval = 'l'),
	CASE("Frozen: lingering close for no time", NULL, ABORT, frozen_held, .inval = '0'),
};

const unsigned int frozen_held_attack_count = COUNT(frozen_held_attacks);

const struct attack frozen_attacks[] = {
	CASE("Frozen: user timeout, silent", "timeouts", ABORT, frozen, .inval = 'u'),
	CASE("Frozen: user timeout", "timeouts", ABORT, frozen, .inval = 'u', .qn = 1),
	CASE("Frozen: keepalive", "timeouts", ABORT, frozen, .inval = 'k', .msn = 1),
	CASE("Frozen: close, silent", "timeouts", ABORT, frozen, .inval = 'c'),
	CASE("Frozen: close", "timeouts", ABORT, frozen, .inval = 'c', .qn = 1),
	CASE("Frozen: lingering close", "timeouts", ABORT, frozen, .inval = 'l', .qn = 1),
	CASE("Frozen: lingering close for no time", NULL, ABORT, frozen, .inval = '0', .qn = 1),
};
/* clang-format on */

const unsigned int frozen_attack_count = COUNT(frozen_attacks);

/* ---- over something else than MPA and DDP ---- */

const char *sdp_unfit(const struct peer *p, const struct attack *a)
{
	if ((a->run == bad_hello || a->run == good_hello) && a->ddp &&
	    p->short_hello)
		return "of the long Hello";
	if ((a->run == bad_ack || a->run == good_ack) && a->ddp &&
	    p->short_hello)
		return "HelloAck always arrives with its full length";
	if ((a->run == ext_ack || a->run == no_ext) && p->short_hello)
		return "there is no shared link to offer";
	if ((a->run == frozen || a->run == frozen_ring) && a->msn &&
	    !p->short_hello)
		return "TCP reports a queue pair that ends";
	if ((a->run == ring_imm || a->run == ring_imms) && !p->has_imm)
		return "the library has no immediate data";
	return NULL;
}
