// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Attacks on zero copy of SDP: a peer of "sdp-zcopy serve" that
 * breaks the rules of SrcAvail and SinkAvail, as the side that reads or writes and
 * as the one to whom that is done. Each attack is a script, one letter for a
 * step, see the functions of that name.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hostile_sdp.h"
#include "peer_verbs.h"
#include "zcopy_lib.h"

#define STAG 0x11223300u /* of memory that we advertise */
#define VA 0x700000000000ull
#define PIECE 1400
#define TAGGED_HEAD 14
#define REQ_PIPE 0x04
#define WRITTEN 1000 /* bytes that we write at a time */
#define MEMORY (9u << 20) /* over verbs, what we advertise */
#define LARGEST (4u << 20) /* memory advertised by offset begins below that */

static struct {
	uint32_t stag, left, seq,
		got; /* the server's advertisement, and its data */
	uint64_t va;
	uint32_t stag_before; /* its earlier advertisement */
	uint64_t va_before;
	uint32_t sink_stag, want; /* memory that it wants to read */
	uint64_t sink_va, src_va, src_base;
	uint32_t counted, sent; /* messages with payload that it has sent, we */
	uint32_t written, acks; /* bytes by Write, SinkCancelAck */
	uint32_t offer, offer_len, offer_before; /* SinkAvail of it */
	uint64_t offer_va;
	unsigned char flags;
	uint32_t gate; /* its reader waits for it */
	uint32_t part; /* the gate after a part */
	uint32_t split; /* bytes of the next message that come first */
	enum verbs_key kind; /* of our keys, over verbs */
} at;

static unsigned char msg[2048];
static uint32_t receives; /* their length, 0: long enough */

/* A message, in two FPDUs if that is wanted */
static void send_message(struct peer *p, size_t len)
{
	static unsigned char u[sizeof(msg) + SDP_HEAD];
	uint32_t first = at.split;

	at.split = 0;
	if (!first) {
		peer_send_message(p, msg, len);
		return;
	}
	peer_send_fpdu(p, u,
		       ulpdu_untagged(u, DDP_UNTAGGED & ~DDP_NOT_LAST, OP_SEND,
				      0, 0, p->msn, 0, msg, first),
		       NULL);
	peer_send_fpdu(p, u,
		       ulpdu_untagged(u, DDP_UNTAGGED, OP_SEND, 0, 0, p->msn++,
				      first, msg + first, len - first),
		       NULL);
}

static void say(struct peer *p, enum message what, uint32_t ack,
		const void *ext, size_t ext_len, size_t payload)
{
	size_t len = BSDH + ext_len + payload;

	memset(msg, 0, BSDH);
	msg[0] = what;
	msg[1] = at.flags;
	msg[3] = CREDITS;
	put_be32(msg + 4, len);
	put_be32(msg + 8, p->mseq++);
	put_be32(msg + 12, ack);
	memcpy(msg + BSDH, ext, ext_len);
	memset(msg + BSDH + ext_len, 'z', payload);
	if (what == MID_DATA)
		at.sent++;
	send_message(p, len);
}

static void say32(struct peer *p, enum message what, uint32_t ack, uint32_t val)
{
	unsigned char ext[4];

	put_be32(ext, val);
	say(p, what, ack, ext, 4, 0);
}

/* Let a waiting reader of the peer go on. */
static void open_gate(void)
{
	char path[64];

	if (!at.gate)
		return;
	snprintf(path, sizeof(path), GATE_PATH, at.gate);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	at.gate = 0;
}

/*
 * How long we take for what follows must not matter to a reader that reads "not at once":
 * it waits for step '!', or for the end of the connection. The next number is for the
 * second part of a reader that takes two.
 */
static uint32_t new_gate(void)
{
	static uint32_t gates;

	if (!gates)
		atexit(open_gate);
	gates += 2;
	return getpid() * 1000 + gates;
}

static void request(struct peer *p, const char *mode, uint32_t bytes, bool gate)
{
	struct request r = { .bytes = bytes, .size = 1 << 20 };

	if (gate)
		at.gate = new_gate();
	r.gate = at.gate;
	memcpy(r.mode, mode, strlen(mode));
	say(p, MID_DATA, p->mseq_ack, &r, sizeof(r), 0);
	at.got = 0;
}

static int take_message(struct peer *p, const unsigned char *u)
{
	p->mseq_ack = get_be32(u + 8);
	at.got -= BSDH;
	if (u[0] == MID_DATA && get_be32(u + 4) > BSDH)
		at.counted++;
	if (u[0] == MID_SRC_AVAIL) {
		at.seq = p->mseq_ack;
		at.got -= 16;
		at.stag_before = at.stag;
		at.va_before = at.va;
		at.stag = get_be32(u + BSDH + 4);
		at.va = get_be64(u + BSDH + 8);
		at.left = get_be32(u + BSDH) - at.got;
		if (at.va >= LARGEST)
			return -1;
	}
	if (u[0] == MID_RD_COMPL || u[0] == MID_WR_COMPL ||
	    u[0] == MID_MODE_CHANGE || u[0] == MID_CHRCVBUF_ACK)
		at.got -= 4;
	if (u[0] == MID_WR_COMPL && p->ops)
		at.written += get_be32(u + BSDH);
	if (u[0] == MID_SINK_ACK)
		at.acks++;
	if (u[0] == MID_SINK_AVAIL) {
		at.got -= 20;
		at.offer_before = at.offer;
		at.offer_len = get_be32(u + BSDH);
		at.offer = get_be32(u + BSDH + 4);
		at.offer_va = get_be64(u + BSDH + 8);
		if (get_be32(u + BSDH + 16) != at.sent ||
		    at.offer_va >= LARGEST)
			return -1;
	}
	return u[0];
}

/* The FPDU that has come: a MID, OP_READ_REQ, 0 if a message goes on, or -1 */
static int take(struct peer *p)
{
	const unsigned char *u = p->ulpdu;

	if (p->ulpdu_len == SDP_HEAD + 28 && u[1] == OP_READ_REQ) {
		at.sink_stag = get_be32(u + SDP_HEAD);
		at.sink_va = get_be64(u + SDP_HEAD + 4);
		at.want = get_be32(u + SDP_HEAD + 12);
		at.src_va = get_be64(u + SDP_HEAD + 20);
		return get_be32(u + SDP_HEAD + 16) == STAG &&
				       at.sink_va < LARGEST ?
			       OP_READ_REQ :
			       -1;
	}
	/* by which a device finds out what is complete */
	if (p->ulpdu_len == TAGGED_HEAD && u[0] & 0x80 && u[1] == OP_WRITE)
		return 0;
	if (p->ulpdu_len > TAGGED_HEAD && u[0] & 0x80 && u[1] == OP_WRITE &&
	    get_be32(u + 2) == STAG) {
		at.written += p->ulpdu_len - TAGGED_HEAD;
		return 0;
	}
	if (p->ulpdu_len < SDP_HEAD || u[1] != OP_SEND)
		return -1;
	at.got += p->ulpdu_len - SDP_HEAD;
	if (get_be32(u + 14))
		return 0;
	return p->ulpdu_len < SDP_HEAD + BSDH ? -1 :
						take_message(p, u + SDP_HEAD);
}

static bool hear(struct peer *p, int what)
{
	int mid, ret;

	do {
		ret = peer_recv_fpdu(p, peer_patience(10000));
		mid = ret == 1 ? take(p) : -1;
		/* credits, what came before, or it cannot wait */
	} while (mid == MID_DATA || !mid ||
		 (mid == MID_SRC_CANCEL && what != mid));
	if (mid == what)
		return true;
	if (ret == 1)
		printf("# message %d came in place of %d\n", mid, what);
	else
		printf("# no message %d came: %d\n", what, ret);
	return false;
}

/* Nothing is advertised: all of @len bytes comes in messages that fit. */
static bool hear_copies(struct peer *p, uint32_t len)
{
	uint32_t heard = 0;
	int mid;

	while (at.got < len) {
		mid = peer_recv_fpdu(p, peer_patience(10000)) == 1 ? take(p) :
								     -1;
		if (!mid)
			continue;
		if (mid != MID_DATA || p->ulpdu_len - SDP_HEAD > receives)
			return false;
		/* there are as many of our credits again */
		if (++heard % (CREDITS / 2) == 0)
			say(p, MID_DATA, p->mseq_ack, "", 0, 0);
	}
	return at.got == len;
}

/* All that was not read comes in messages. */
static bool hear_data(struct peer *p)
{
	uint32_t end = at.got + at.left;

	while (at.got < end)
		if (peer_recv_fpdu(p, peer_patience(10000)) != 1 || take(p) < 0)
			return false;
	return at.got == end;
}

/* Describe the memory that we advertise in @ext */
static void describe(struct peer *p, unsigned char *ext, uint32_t len,
		     bool writes)
{
	static unsigned char *memory;

	put_be32(ext, len);
	put_be32(ext + 4, STAG);
	put_be64(ext + 8, VA);
	if (!p->ops)
		return;
	if (!memory)
		memory = aligned_alloc(4096, MEMORY);
	put_be32(ext + 4, verbs_key(p, at.kind, memory, len, writes));
	put_be64(ext + 8, (uintptr_t)memory);
}

static void avail(struct peer *p, uint32_t len, uint32_t along)
{
	unsigned char ext[16];

	describe(p, ext, len, false);
	at.src_base = VA + along;
	at.sent += !!along;
	say(p, MID_SRC_AVAIL, p->mseq_ack, ext, 16, along);
}

/* We are a reader that waits, and has got so many messages. */
static void sink_avail(struct peer *p, uint32_t len, uint32_t counted)
{
	unsigned char ext[20];

	describe(p, ext, len, true);
	put_be32(ext + 16, counted);
	at.written = 0;
	say(p, MID_SINK_AVAIL, p->mseq_ack, ext, 20, 0);
}

/* The bytes that were asked for, or some of them, or elsewhere */
static void response(struct peer *p, uint32_t len, uint32_t stag)
{
	static unsigned char u[PIECE + 32], data[PIECE];
	uint32_t pos, n;
	size_t size;

	memset(data, 'r', sizeof(data));
	for (pos = 0; pos < len; pos += n) {
		n = len - pos < PIECE ? len - pos : PIECE;
		size = ulpdu_tagged(u,
				    pos + n == at.want ?
					    DDP_TAGGED :
					    DDP_TAGGED & ~DDP_NOT_LAST,
				    OP_READ_RESP, stag, at.sink_va + pos, data,
				    n);
		peer_send_fpdu(p, u, size, NULL);
	}
}

static void read_from(struct peer *p, uint64_t va, uint32_t len)
{
	unsigned char u[64];

	if (p->ops) {
		p->ops->read(p, at.stag, va, len);
		return;
	}
	peer_send_fpdu(p, u,
		       ulpdu_read_request(u, 1, STAG, VA, len, at.stag, va),
		       NULL);
}

static void write_to(struct peer *p, uint32_t stag, uint64_t va, uint32_t len)
{
	static unsigned char data[WRITTEN];

	memset(data, 'w', sizeof(data));
	peer_write(p, stag, va, data, len);
}

/* Steps against the server as the source */
static bool source_step(struct peer *p, char step)
{
	uint32_t n = at.left < 1000 ? at.left : 1000;

	switch (step) {
	case 'Q': /* ask for bytes: it has to advertise them */
		request(p, "source", 200000, false);
		return true;
	case '9': /* more than it can advertise at a time */
		request(p, "source", 1500000, false);
		return true;
	case 'A':
		return hear(p, MID_SRC_AVAIL) && at.got && at.left &&
		       (!receives || p->ulpdu_len - SDP_HEAD <= receives);
	case 'U':
		return hear_copies(p, 200000);
	case 'C':
		return hear(p, MID_SRC_CANCEL);
	case 'D':
		return hear_data(p);
	case 'R': /* read it all, says RdmaRdCompl */
		say32(p, MID_RD_COMPL, at.seq, at.left);
		at.left = 0;
		return true;
	case 'r': /* some of it */
		say32(p, MID_RD_COMPL, at.seq, n);
		at.left -= n;
		return true;
	case 'o': /* one too many */
		say32(p, MID_RD_COMPL, at.seq, at.left + 1);
		return true;
	case 'g':
		say32(p, MID_RD_COMPL, at.seq, 0xffffffff);
		return true;
	case 'b': /* before it can have seen SrcAvail */
		say32(p, MID_RD_COMPL, at.seq - 1, 1000);
		return true;
	case 'S':
		say(p, MID_SENDSM, p->mseq_ack, "", 0, 0);
		return true;
	case 's':
		say(p, MID_SENDSM, at.seq - 1, "", 0, 0);
		return true;
	case 'B': /* past the end of the memory */
		read_from(p, at.va + 200000 - 100, 4096);
		return true;
	case 'E': /* memory that is not ours any more */
		read_from(p, at.va, 4096);
		return true;
	case '7': /* memory that it keeps for another time */
		at.stag = at.stag_before;
		read_from(p, at.va_before, 4096);
		return true;
	}
	return false;
}

/* Steps against the server as the reader */
static bool sink_step(struct peer *p, char step)
{
	switch (step) {
	case 'N': /* have it read 1 MB */
		request(p, "waitall", 1 << 20, false);
		return true;
	case '$': /* or less, which takes us less time to send */
		request(p, "waitall", 200000, false);
		return true;
	case 'V':
		avail(p, 200000 + INLINE, INLINE);
		return true;
	case 'W': /* more than it can read at a time */
		avail(p, (8 << 20) + INLINE, INLINE);
		return true;
	case '%': /* the next message in two FPDUs, in the middle of its headers */
		at.split = BSDH + 4;
		return true;
	case '&': /* or of its payload */
		at.split = BSDH + 16 + INLINE / 2;
		return true;
	case 'q': /* a device answers by itself */
		return p->ops || (hear(p, OP_READ_REQ) && at.want &&
				  at.src_va >= at.src_base);
	case 'p':
		if (!p->ops)
			response(p, at.want, at.sink_stag);
		return true;
	case 'h': /* half of it, and then nothing */
		response(p, at.want / 2, at.sink_stag);
		return true;
	case 'w': /* to another place */
		response(p, at.want, at.sink_stag ^ 0x100);
		return true;
	case 'k':
		return hear(p, MID_RD_COMPL);
	case 'm':
		return hear(p, MID_SENDSM);
	case 'c':
		say(p, MID_SRC_CANCEL, p->mseq_ack, "", 0, 0);
		return true;
	case 'd':
		say(p, MID_DATA, p->mseq_ack, "", 0, 100);
		return true;
	case 'f':
		say(p, MID_DISCON, p->mseq_ack, "", 0, 0);
		return true;
	case 'M': /* pipelined mode from now on */
		say32(p, MID_MODE_CHANGE, p->mseq_ack, 0x20000000);
		return true;
	case 'T':
		write_to(p, at.sink_stag, at.sink_va, 4);
		return true;
	}
	return false;
}

/* As source in pipelined mode: we are, or are not, a reader that waits */
static bool piped_source_step(struct peer *p, char step)
{
	switch (step) {
	case 'P': /* ask for that mode */
		at.flags = REQ_PIPE;
		return true;
	case 'G':
		return hear(p, MID_MODE_CHANGE);
	case 'a':
		return hear(p, MID_SRC_AVAIL) && !at.got && at.left;
	case 'i':
		sink_avail(p, 200000, at.counted);
		return true;
	case 'I': /* for half of what is sent */
		sink_avail(p, 100000, at.counted);
		return true;
	case 'n': /* a message has crossed it */
		sink_avail(p, 200000, --at.counted);
		return true;
	case '=': /* ask for it no more */
		at.flags = 0;
		return true;
	case '^': /* Data, ModeChange and SrcAvail with payload have crossed it */
		sink_avail(p, 200000, at.counted - 1);
		return true;
	case 'j':
		sink_avail(p, 200000, at.counted + 1);
		return true;
	case 'l':
		sink_avail(p, 100, at.counted);
		return true;
	case 'v':
		return hear(p, MID_WR_COMPL) && at.written >= 100000;
	case 'y':
		say(p, MID_SINK_CANCEL, p->mseq_ack, "", 0, 0);
		return true;
	case 'z':
		return hear(p, MID_SINK_ACK);
	case 'Z':
		return !at.acks;
	}
	return false;
}

/* It answers ChRcvBuf when it has seen all that is before that. */
static bool let_read(struct peer *p)
{
	say32(p, MID_CHRCVBUF, p->mseq_ack, 65536);
	if (!hear(p, MID_CHRCVBUF_ACK))
		return false;
	open_gate();
	return true;
}

/* As sink in pipelined mode: how its program reads, and the modes */
static bool piped_sink_step(struct peer *p, char step)
{
	switch (step) {
	case '2': /* have it read 1 MB, 20 ms at a time */
		request(p, "timeout", 1 << 20, false);
		return true;
	case '4': /* not at once */
		request(p, "waitall", 1 << 20, true);
		return true;
	case ',': /* not at once, and half of what we advertise */
		request(p, "parts", 100000, true);
		at.part = at.gate + 1;
		return true;
	case '_': /* and all that follows */
		at.gate = at.part;
		open_gate();
		return true;
	case '8': /* two threads do, not at once */
		request(p, "threads", 1 << 20, true);
		return true;
	case '!': /* now */
		return let_read(p);
	case '1': /* so that the one which does not read looks around */
		poll(NULL, 0, 500);
		return true;
	case '3':
		avail(p, 200000, 0);
		return true;
	case '5': /* combined mode from now on */
		say32(p, MID_MODE_CHANGE, p->mseq_ack, 0x10000000);
		return true;
	case '6': /* buffered mode */
		say32(p, MID_MODE_CHANGE, p->mseq_ack, 0);
		return true;
	}
	return false;
}

/* As sink in pipelined mode: its reader waits for a Write */
static bool piped_write_step(struct peer *p, char step)
{
	switch (step) {
	case 'H':
		return hear(p, MID_SINK_AVAIL) && at.offer_len > WRITTEN;
	case 'x':
		write_to(p, at.offer, at.offer_va, WRITTEN);
		return true;
	case 'L': /* past the end */
		write_to(p, at.offer, at.offer_va + at.offer_len - 4, WRITTEN);
		return true;
	case 'J': /* memory that is the reader's own again */
		write_to(p, at.offer_before, at.offer_va, 4);
		return true;
	case 'e': /* it may be written only */
		at.stag = at.offer;
		read_from(p, at.offer_va, 1000);
		return true;
	case 'F':
	case 't':
		say32(p, MID_WR_COMPL, p->mseq_ack, WRITTEN);
		return true;
	case 'O':
		say32(p, MID_WR_COMPL, p->mseq_ack, at.offer_len + 1);
		return true;
	case '0':
		say32(p, MID_WR_COMPL, p->mseq_ack, 0);
		return true;
	case 'Y':
		return hear(p, MID_SINK_CANCEL);
	case 'u':
		say(p, MID_SINK_ACK, p->mseq_ack, "", 0, 0);
		return true;
	}
	return false;
}

/* An empty message by a Send with Invalidate */
static void invalidate(struct peer *p, uint32_t key)
{
	const struct attack data = { .ddp = MID_DATA, .qn = CREDITS };
	const unsigned char *m;
	size_t len;

	m = sdp_build(p, &data, "", 0, &len);
	verbs_post(p, IBV_WR_SEND_WITH_INV, 0, key, 0, m, len, 0);
}

/* Steps that need a device */
static bool device_step(struct peer *p, char step)
{
	switch (step) {
	case '*': /* our memory is deregistered */
		verbs_forget(p);
		return true;
	case '#': /* we invalidate its advertisement */
		invalidate(p, at.stag);
		return true;
	case '~':
		invalidate(p, at.offer);
		return true;
	}
	return false;
}

#define HOLD "/sys/module/test_hold/parameters/"

/* One digit of test_hold.ko, see there; -1 without it */
static int hold_read(const char *path)
{
	int fd = open(path, O_RDONLY);
	char c = 0;

	if (fd < 0)
		return -1;
	if (read(fd, &c, 1) != 1)
		c = 0;
	close(fd);
	return c - '0';
}

static bool hold_write(const char *path, char digit)
{
	int fd = open(path, O_WRONLY);
	bool ok;

	if (fd < 0)
		return false;
	ok = write(fd, &digit, 1) == 1;
	close(fd);
	return ok;
}

/* It is held up in the middle of what it does */
static bool held_step(struct peer *p, char step)
{
	long end = net_ms() + 20000;

	(void)p;
	switch (step) {
	case '<': /* the next one who wants memory */
		return hold_write(HOLD "hits", '0') &&
		       hold_write(HOLD "go", '0') &&
		       hold_write(HOLD "times", '1');
	case '-': /* there it is */
		while (!hold_read(HOLD "hits") && net_ms() < end)
			poll(NULL, 0, 10);
		return hold_read(HOLD "hits") == 1;
	case '>':
		return hold_write(HOLD "go", '1');
	case '+': /* two heads and a message are read */
		return at.sink_va % 4096 == 3 * INLINE;
	}
	return false;
}

static enum peer_end script(struct peer *p, const struct target_memory *m,
			    const struct attack *a)
{
	const char *s = strchr(a->name, '(') + 1;

	(void)m;
	open_gate();
	memset(&at, 0, sizeof(at));
	receives = a->rcvsz;
	at.kind = a->qn;
	for (; *s != ')'; s++) {
		if (*s == '.') /* all is as it should be */
			return END_FIN;
		if (*s == 'X') {
			peer_hang_up(p);
		} else if (*s == 'K') {
			peer_reset(p);
		} else if (!source_step(p, *s) && !sink_step(p, *s) &&
			   !piped_source_step(p, *s) &&
			   !piped_sink_step(p, *s) &&
			   !piped_write_step(p, *s) && !held_step(p, *s) &&
			   !(p->ops && device_step(p, *s))) {
			printf("# not as it should be: %s\n", s);
			return END_OTHERWISE;
		}
		if (*s == 'K')
			return END_RST;
	}
	return END_NONE;
}

#define ABORT ENDS(E_CLOSED, E_ANY_TERM)
#define GOOD ENDS(E_CLOSED)

/* clang-format off */
#define SCRIPT(n, c, e, s) \
	{ .name = "zcopy: " n " (" s ")", .counter = c, .ends = e, .run = script }
/* Receives of that length; SrcAvail is of 96 bytes, SinkAvail of 36 */
#define SHORT(len, n, s) \
	{ .name = "zcopy: receives of " #len " bytes: " n " (" s ")", \
	  .ends = GOOD, .run = script, .rcvsz = len }

const struct attack zcopy_attacks[] = {
	SCRIPT("read", NULL, GOOD, "QARQAR."),
	SCRIPT("read in two parts", NULL, GOOD, "QArRQA."),
	SCRIPT("SendSm", NULL, GOOD, "QASD."),
	SCRIPT("read in part, SendSm", NULL, GOOD, "QArSD."),
	SHORT(96, "read", "QARQA."),
	SHORT(95, "not advertised", "QUQU."),
	SHORT(80, "not advertised", "QU."),
	SHORT(95, "not advertised in pipelined mode", "PQUQU."),
	SHORT(80, "its reader waits: written", "MNHxFHxF."),
	SCRIPT("cancelled", NULL, GOOD, "QACSD."),
	SCRIPT("cancelled, read in part", NULL, GOOD, "QACrSD."),
	SCRIPT("cancelled, but read", NULL, GOOD, "QACRQD."),
	SCRIPT("nothing read, says RdmaRdCompl", NULL, ABORT, "QAX"),
	SCRIPT("RdmaRdCompl of one too many", "bad_rdma", ABORT, "QAo"),
	SCRIPT("RdmaRdCompl of 4 GB", "bad_rdma", ABORT, "QAg"),
	SCRIPT("RdmaRdCompl of one too many after a cancel", "bad_rdma", ABORT, "QACo"),
	SCRIPT("RdmaRdCompl before SrcAvail", "bad_rdma", ABORT, "QAb"),
	SCRIPT("RdmaRdCompl after the last", "bad_rdma", ABORT, "QARr"),
	SCRIPT("RdmaRdCompl after SendSm", "bad_rdma", ABORT, "QASr"),
	SCRIPT("SendSm before SrcAvail", "bad_state", ABORT, "QAs"),
	SCRIPT("SendSm after the last RdmaRdCompl", "bad_state", ABORT, "QARS"),
	SCRIPT("SendSm twice", "bad_state", ABORT, "QASS"),
	SCRIPT("SendSm for nothing", "bad_state", ABORT, "S"),
	SCRIPT("cancel never answered", "timeouts", ABORT, "QAC"),
	SCRIPT("FIN while advertised", NULL, ABORT, "QAX"),
	SCRIPT("RST while advertised", NULL, GOOD, "QAK"),
	SCRIPT("FIN while cancelled", NULL, ABORT, "QACX"),
	SCRIPT("Read past the end", NULL, ENDS(E_TERM(0, 1, 1)), "QAB"),
	SCRIPT("Read after SendSm", NULL, ENDS(E_TERM(0, 1, 0)), "QASDE"),
	SCRIPT("Read of all, and again", NULL, ENDS(E_TERM(0, 1, 0)), "9ARA7"),
	SCRIPT("it reads", NULL, GOOD, "NVqpkdVqpk."),
	SCRIPT("SrcAvail in two pieces", NULL, GOOD, "N%Vqpkd&Vqpkd."),
	SCRIPT("it reads, cancelled too late", NULL, GOOD, "NVqpkcdVqpk."),
	SCRIPT("it reads, cancelled meanwhile", NULL, GOOD, "NVqcpkd."),
	SCRIPT("it reads a part, cancelled", NULL, GOOD, "$Wqcpkmd."),
	SCRIPT("response to another STag", NULL, ENDS(E_TERM(1, 1, 0)), "NVqw"),
	SCRIPT("half a response", "timeouts", ABORT, "NVqh"),
	SCRIPT("no response", "timeouts", ABORT, "NVq"),
	SCRIPT("Data while it reads", "bad_state", ABORT, "NVqd"),
	SCRIPT("SrcAvail while it reads", "bad_state", ABORT, "NVqV"),
	SCRIPT("DisConn while it reads", "bad_state", ABORT, "NVqf"),
	SCRIPT("ModeChange while it reads", "bad_state", ABORT, "NVqM"),
	SCRIPT("cancelled twice", "bad_state", ABORT, "NVqcc"),
	SCRIPT("Data before the cancel is answered", "bad_state", ABORT, "NVqcd"),
	SCRIPT("FIN while it reads", NULL, ABORT, "NVqX"),
	SCRIPT("RST while it reads", NULL, GOOD, "NVqK"),
	SCRIPT("Write when it has read", NULL, ENDS(E_TERM(1, 1, 0)), "NVqpkT"),

	SCRIPT("pipelined: read", NULL, GOOD, "PQGaRQaR."),
	SCRIPT("pipelined: SendSm", NULL, GOOD, "PQGaSD."),
	SCRIPT("pipelined: read in part, SendSm", NULL, GOOD, "PQGarSD."),
	SCRIPT("pipelined: cancelled", NULL, GOOD, "PQGaCSD."),
	SCRIPT("SinkAvail crosses SrcAvail: written", "srcavail_crossed", GOOD, "PQGaiv."),
	SCRIPT("SinkAvail crosses SrcAvailCancel", "srcavail_crossed", GOOD, "PQGaCiD."),
	SCRIPT("SinkAvail before the send: written", "tx_zcopy_writes", GOOD, "PQGaRiQvQaR."),
	SCRIPT("two SinkAvail", "tx_zcopy_writes", GOOD, "PQGaRiiQvQv."),
	SCRIPT("SinkAvail for a part", "tx_zcopy_writes", GOOD, "PQGaIvaR."),
	SCRIPT("SinkAvail cancelled", NULL, GOOD, "PQGaRiyzQaR."),
	SCRIPT("two SinkAvail cancelled", NULL, GOOD, "PQGaRiiyzQaR."),
	SCRIPT("SinkAvail used, cancelled", NULL, GOOD, "PQGaivyQaRZ."),
	SCRIPT("nothing to cancel", NULL, GOOD, "PQGaRyQaRZ."),
	SCRIPT("SinkAvail that Data has crossed", "sinkavail_stale", GOOD, "PQGaSDniyz."),
	SCRIPT("SinkAvail that Data and ModeChange have crossed", "srcavail_crossed", GOOD,
	       "PQGaSDQDQD=QGA^RPQGaiv."),
	SCRIPT("SinkAvail that ModeChange has crossed", "srcavail_crossed", GOOD,
	       "PQGaR=QGAiRPQGajv."),
	SCRIPT("SinkAvail answered by Data", NULL, GOOD, "PQGaSDiQDyQDZ."),
	SCRIPT("SinkAvail in combined mode", "bad_rdma", ABORT, "QAi"),
	SCRIPT("SinkAvail for nothing", "bad_rdma", ABORT, "i"),
	SCRIPT("SinkAvail of 100 bytes", "bad_rdma", ABORT, "PQGaRl"),
	SCRIPT("SinkAvail that counts too many", "bad_rdma", ABORT, "PQGaRj"),
	SCRIPT("more SinkAvail than allowed", "bad_state", ABORT, "PQGaRiii"),
	SCRIPT("RdmaRdCompl for a SrcAvail that was crossed", "bad_rdma", ABORT, "PQGaivR"),
	SCRIPT("SendSm for a SrcAvail that was crossed", "bad_state", ABORT, "PQGaivS"),
	SCRIPT("SinkAvailCancel in combined mode", "bad_state", ABORT, "y"),
	SCRIPT("SinkCancelAck for nothing", "bad_state", ABORT, "u"),
	SCRIPT("RdmaWrCompl for nothing", "bad_rdma", ABORT, "t"),
	SCRIPT("FIN while a SinkAvail waits", NULL, ABORT, "PQGaRiX"),
	SCRIPT("RST while it writes", NULL, GOOD, "PQGaRiQK"),
	SCRIPT("its reader waits: written", "rx_zcopy_writes", GOOD, "MNHxFHxFHxF."),
	SCRIPT("its reader waits: Data", NULL, GOOD, "MNHdddd."),
	SCRIPT("its reader waits: SrcAvail crosses", NULL, GOOD, "MNH3xFH."),
	SCRIPT("its reader waits: combined mode", NULL, GOOD, "MNH5Vqpk."),
	SCRIPT("its reader waits: DisConn", NULL, GOOD, "MNHf."),
	SCRIPT("its reader waits no more", NULL, GOOD, "M2HYuHYuH."),
	SCRIPT("its reader waits no more, written", "rx_zcopy_writes", GOOD, "M2HYxF."),
	SCRIPT("its reader waits no more, Data", NULL, GOOD, "M2HYd."),
	SCRIPT("its reader waits no more, SrcAvail crosses", NULL, GOOD, "M2HY3uH."),
	SCRIPT("SinkAvailCancel never answered", "timeouts", ABORT, "M2HY"),
	SCRIPT("SinkCancelAck after Data", "bad_state", ABORT, "M2HYdu"),
	SCRIPT("SinkCancelAck before the cancel", "bad_state", ABORT, "MNHu"),
	SCRIPT("RdmaWrCompl of one too many", "bad_rdma", ABORT, "MNHO"),
	SCRIPT("RdmaWrCompl of nothing", "bad_rdma", ABORT, "MNH0"),
	SCRIPT("Write past the end", NULL, ENDS(E_TERM(1, 1, 1)), "MNHL"),
	SCRIPT("Write after SinkCancelAck", NULL, ENDS(E_TERM(1, 1, 0)), "M2HYuHJ"),
	SCRIPT("Write after RdmaWrCompl", NULL, ENDS(E_TERM(1, 1, 0)), "MNHxFHJ"),
	SCRIPT("Read from its reader's memory", NULL, ENDS(E_TERM(0, 1, 2)), "MNHe"),
	SCRIPT("FIN while its reader waits", NULL, ABORT, "MNHX"),
	SCRIPT("RST while its reader waits", NULL, GOOD, "MNHK"),
	SCRIPT("pipelined: it reads", NULL, GOOD, "M43!qpk."),
	SCRIPT("pipelined: it reads two", NULL, GOOD, "M433!qpkqpk."),
	SCRIPT("pipelined: cancelled", NULL, GOOD, "M43cmd!."),
	SCRIPT("pipelined: two cancelled", NULL, GOOD, "M433cmd!."),
	SCRIPT("pipelined: one of two read, cancelled", NULL, GOOD, "M433!qcpkmd."),
	SCRIPT("pipelined: void by combined mode", NULL, GOOD, "M435V!qpk."),
	SCRIPT("pipelined: void by combined mode, slowly", NULL, GOOD, "M4135V!qpk."),
	SCRIPT("pipelined: read in part, void by combined mode", NULL, GOOD, "M,3!qpk5V_qpk."),
	SCRIPT("pipelined: more SrcAvail than allowed", "bad_state", ABORT, "M4333"),
	SCRIPT("pipelined: SrcAvail with payload", "bad_rdma", ABORT, "MV"),
	SCRIPT("pipelined: Data after SrcAvail", "bad_state", ABORT, "M43d"),
	SCRIPT("pipelined: one reads, another one waits", NULL, GOOD, "M83!q1pkH."),
	SCRIPT("pipelined: DisConn after SrcAvail", "bad_state", ABORT, "M43f"),
	SCRIPT("combined mode while it reads", "bad_state", ABORT, "M43!q5"),
	SCRIPT("pipelined mode twice", "bad_state", ABORT, "MM"),
	SCRIPT("combined mode twice", "bad_state", ABORT, "5"),
	SCRIPT("buffered mode from pipelined", "bad_state", ABORT, "M6"),
};
/* clang-format on */

/* clang-format off */
const struct attack held_attacks[] = {
	SCRIPT("cancelled before it reads, Data, another one", NULL, GOOD, "N<V-cmdV>q+pk."),
	SCRIPT("cancelled before it reads, Data, a shorter one", NULL, GOOD, "N<W-cmdV>q+pk."),
};
/* clang-format on */

const unsigned int held_attack_count = COUNT(held_attacks);
const unsigned int zcopy_attack_count = COUNT(zcopy_attacks);

/* clang-format off */
/* Errors in our keys, or in the peer's, caused by us */
#define KEY(n, c, e, k, s) \
	{ .name = "zcopy: " n " (" s ")", .counter = c, .ends = e, .run = script, .qn = k }
/* A Write to it fails: on iWARP the writer is not notified */
#define SINK(n, k, s) \
	{ .name = "zcopy: SinkAvail: " n " (" s ")", .counter = "transport_errors", \
	  .iwarp = "estab_resets", .ends = ABORT, .run = script, .qn = k }

const struct attack zcopy_key_attacks[] = {
	KEY("it reads", NULL, GOOD, KEY_GOOD, "NVqpk."),
	KEY("SrcAvail: no such key", "transport_errors", ABORT, KEY_NEVER, "NV"),
	KEY("SrcAvail: deregistered", "transport_errors", ABORT, KEY_GONE, "NV"),
	KEY("SrcAvail: not to be read", "transport_errors", ABORT, KEY_DENIED, "NV"),
	KEY("SrcAvail: longer than what there is", "transport_errors", ABORT, KEY_SHORT, "NV"),
	KEY("pipelined: no such key", "transport_errors", ABORT, KEY_NEVER, "M43!"),
	KEY("pipelined: deregistered, and then read", "transport_errors", ABORT, KEY_GOOD, "M43*!"),
	KEY("pipelined: deregistered, cancelled", NULL, GOOD, KEY_GOOD, "M43*cmd!."),
	KEY("written", "tx_zcopy_writes", GOOD, KEY_GOOD, "PQGaRiQvQaR."),
	SINK("no such key", KEY_NEVER, "PQGaRiQ"),
	SINK("deregistered", KEY_GONE, "PQGaRiQ"),
	SINK("not to be written", KEY_DENIED, "PQGaRiQ"),
	SINK("longer than what there is", KEY_SHORT, "PQGaRiQ"),
	SINK("deregistered, and then written", KEY_GOOD, "PQGaRi*Q"),
	KEY("SinkAvail: deregistered, cancelled", NULL, GOOD, KEY_GOOD, "PQGaRi*yzQaR."),
	KEY("Read when we have invalidated it", NULL, ENDS(E_TERM(0, 1, 0)), KEY_GOOD, "QA#E"),
	KEY("invalidated, SendSm", NULL, GOOD, KEY_GOOD, "QA#SD."),
	KEY("invalidated, read at last", NULL, GOOD, KEY_GOOD, "QA#RQARQA."),
	KEY("Write when we have invalidated it", NULL, ENDS(E_TERM(1, 1, 0)), KEY_GOOD, "MNH~x"),
	KEY("its reader waits, invalidated: Data", NULL, GOOD, KEY_GOOD, "MNH~dddd."),
	KEY("invalidated twice", NULL, ABORT, KEY_GOOD, "QA##"),
};
/* clang-format on */

const unsigned int zcopy_key_attack_count = COUNT(zcopy_key_attacks);

const char *zcopy_unfit(const struct peer *p, const struct attack *a)
{
	const char *s = strrchr(a->name, '('), *q;

	(void)p;
	if (a->run != script)
		return NULL;
	/* a device would answer, a Send is one request */
	if (strpbrk(s + 1, "%&hwT<>"))
		return "takes pieces of messages, or of responses";
	for (q = s; (q = strchr(q, 'q')); q++)
		if (q[1] != 'p')
			return "the device answers a Read at once";
	return NULL;
}
