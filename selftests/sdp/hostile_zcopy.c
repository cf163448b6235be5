// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Attacks on zero copy of SDP over iWARP: a peer of "sdp-zcopy serve" that
 * breaks the rules of SrcAvail, as the one who reads and as the one who is
 * read. Each attack is a script, one letter for a step, see steps[].
 */
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "../iwarp_hybrid/hostile.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define BSDH 16
#define CREDITS 64
#define HEAD 18 /* of an untagged ULPDU */
#define STAG 0x11223300u /* of memory that we advertise */
#define VA 0x700000000000ull
#define INLINE 100
#define PIECE 1400

enum message {
	MID_DISCON = 0x02,
	MID_SENDSM = 0x04,
	MID_RD_COMPL = 0x06,
	MID_MODE_CHANGE = 0x07,
	MID_SRC_CANCEL = 0x08,
	MID_SRC_AVAIL = 0xfe,
	MID_DATA = 0xff,
};

/* As in zcopy.c */
struct request {
	uint64_t bytes;
	uint32_t size;
	uint32_t offset;
	uint32_t sleep_ms;
	char mode[12];
};

static struct {
	uint32_t stag, left, seq,
		got; /* what the server advertises, has sent */
	uint64_t va;
	uint32_t sink_stag, want; /* what it wants to read */
	uint64_t sink_va, src_va;
} at;

static unsigned char msg[2048];

static void say(struct peer *p, enum message what, uint32_t ack,
		const void *ext, size_t ext_len, size_t payload)
{
	size_t len = BSDH + ext_len + payload;

	memset(msg, 0, BSDH);
	msg[0] = what;
	msg[3] = CREDITS;
	put_be32(msg + 4, len);
	put_be32(msg + 8, p->mseq++);
	put_be32(msg + 12, ack);
	memcpy(msg + BSDH, ext, ext_len);
	memset(msg + BSDH + ext_len, 'z', payload);
	peer_send_message(p, msg, len);
}

static void say32(struct peer *p, enum message what, uint32_t ack, uint32_t val)
{
	unsigned char ext[4];

	put_be32(ext, val);
	say(p, what, ack, ext, 4, 0);
}

static void request(struct peer *p, const char *mode, uint32_t bytes)
{
	struct request r = { .bytes = bytes, .size = 1 << 20 };

	memcpy(r.mode, mode, strlen(mode));
	say(p, MID_DATA, p->mseq_ack, &r, sizeof(r), 0);
	at.got = 0;
}

static int take_message(struct peer *p, const unsigned char *u)
{
	p->mseq_ack = get_be32(u + 8);
	at.got -= BSDH;
	if (u[0] == MID_SRC_AVAIL) {
		at.seq = p->mseq_ack;
		at.got -= 16;
		at.stag = get_be32(u + BSDH + 4);
		at.va = get_be64(u + BSDH + 8);
		at.left = get_be32(u + BSDH) - at.got;
	}
	if (u[0] == MID_RD_COMPL)
		at.got -= 4;
	return u[0];
}

/* The FPDU that has come: a MID, OP_READ_REQ, 0 if a message goes on, or -1 */
static int take(struct peer *p)
{
	const unsigned char *u = p->ulpdu;

	if (p->ulpdu_len == HEAD + 28 && u[1] == OP_READ_REQ) {
		at.sink_stag = get_be32(u + HEAD);
		at.sink_va = get_be64(u + HEAD + 4);
		at.want = get_be32(u + HEAD + 12);
		at.src_va = get_be64(u + HEAD + 20);
		return get_be32(u + HEAD + 16) == STAG ? OP_READ_REQ : -1;
	}
	if (p->ulpdu_len < HEAD || u[1] != OP_SEND)
		return -1;
	at.got += p->ulpdu_len - HEAD;
	if (get_be32(u + 14))
		return 0;
	return p->ulpdu_len < HEAD + BSDH ? -1 : take_message(p, u + HEAD);
}

static bool hear(struct peer *p, int what)
{
	int mid;

	do {
		mid = peer_recv_fpdu(p, 10000) == 1 ? take(p) : -1;
		/* credits, what came before, or it cannot wait */
	} while (mid == MID_DATA || !mid ||
		 (mid == MID_SRC_CANCEL && what != mid));
	return mid == what;
}

/* All that was not read comes in messages. */
static bool hear_data(struct peer *p)
{
	uint32_t end = at.got + at.left;

	while (at.got < end)
		if (peer_recv_fpdu(p, 10000) != 1 || take(p) < 0)
			return false;
	return at.got == end;
}

static void avail(struct peer *p, uint32_t len)
{
	unsigned char ext[16];

	put_be32(ext, len);
	put_be32(ext + 4, STAG);
	put_be64(ext + 8, VA);
	say(p, MID_SRC_AVAIL, p->mseq_ack, ext, 16, INLINE);
}

/* The octets that were asked for, or some of them, or elsewhere */
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

	peer_send_fpdu(p, u,
		       ulpdu_read_request(u, 1, STAG, VA, len, at.stag, va),
		       NULL);
}

static void write_to_sink(struct peer *p)
{
	unsigned char u[128];
	size_t n = ulpdu_tagged(u, DDP_TAGGED, OP_WRITE, at.sink_stag,
				at.sink_va, "late", 4);

	peer_send_fpdu(p, u, n, NULL);
}

/* What the server gets as the one who is read */
static bool source_step(struct peer *p, char step)
{
	uint32_t n = at.left < 1000 ? at.left : 1000;

	switch (step) {
	case 'Q': /* ask for octets: it has to advertise them */
		request(p, "source", 200000);
		return true;
	case 'A':
		return hear(p, MID_SRC_AVAIL) && at.got && at.left;
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
	case 'B': /* behind the end of the memory */
		read_from(p, at.va + 200000 - 100, 4096);
		return true;
	case 'E': /* memory that is not ours any more */
		read_from(p, at.va, 4096);
		return true;
	}
	return false;
}

/* What it gets as the one who reads */
static bool sink_step(struct peer *p, char step)
{
	switch (step) {
	case 'N': /* have it read 1 MB */
		request(p, "waitall", 1 << 20);
		return true;
	case 'V':
		avail(p, 200000 + INLINE);
		return true;
	case 'W': /* more than it can read at a time */
		avail(p, (8 << 20) + INLINE);
		return true;
	case 'q':
		return hear(p, OP_READ_REQ) && at.want &&
		       at.src_va >= VA + INLINE;
	case 'p':
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
		write_to_sink(p);
		return true;
	}
	return false;
}

static enum peer_end script(struct peer *p, const struct target_memory *m,
			    const struct attack *a)
{
	const char *s = strchr(a->name, '(') + 1;

	(void)m;
	memset(&at, 0, sizeof(at));
	for (; *s != ')'; s++) {
		if (*s == '.') /* all is as it should be */
			return END_FIN;
		if (*s == 'X')
			shutdown(p->fd, SHUT_WR);
		else if (*s == 'K')
			peer_reset(p);
		else if (!source_step(p, *s) && !sink_step(p, *s))
			return END_NO_FRAME;
		if (*s == 'K')
			return END_RST;
	}
	return END_NONE;
}

#define ENDS(...)           \
	{                   \
		__VA_ARGS__ \
	}
#define ABORT ENDS(E_CLOSED, E_ANY_TERM)
#define GOOD ENDS(E_CLOSED)

/* clang-format off */
#define CASE(n, c, e, s) \
	{ .name = "zcopy: " n " (" s ")", .counter = c, .ends = e, .run = script }

const struct attack zcopy_attacks[] = {
	CASE("read", NULL, GOOD, "QARQAR."),
	CASE("read in two parts", NULL, GOOD, "QArRQA."),
	CASE("SendSm", NULL, GOOD, "QASD."),
	CASE("read in part, SendSm", NULL, GOOD, "QArSD."),
	CASE("cancelled", NULL, GOOD, "QACSD."),
	CASE("cancelled, read in part", NULL, GOOD, "QACrSD."),
	CASE("cancelled, but read", NULL, GOOD, "QACRQD."),
	CASE("nothing read, says RdmaRdCompl", NULL, ABORT, "QAX"),
	CASE("RdmaRdCompl of one too many", "bad_rdma", ABORT, "QAo"),
	CASE("RdmaRdCompl of 4 GB", "bad_rdma", ABORT, "QAg"),
	CASE("RdmaRdCompl of one too many after a cancel", "bad_rdma", ABORT, "QACo"),
	CASE("RdmaRdCompl in front of SrcAvail", "bad_rdma", ABORT, "QAb"),
	CASE("RdmaRdCompl after the last", "bad_rdma", ABORT, "QARr"),
	CASE("RdmaRdCompl after SendSm", "bad_rdma", ABORT, "QASr"),
	CASE("SendSm in front of SrcAvail", "bad_state", ABORT, "QAs"),
	CASE("SendSm after the last RdmaRdCompl", "bad_state", ABORT, "QARS"),
	CASE("SendSm twice", "bad_state", ABORT, "QASS"),
	CASE("SendSm for nothing", "bad_state", ABORT, "S"),
	CASE("cancel never answered", "timeouts", ABORT, "QAC"),
	CASE("FIN while advertised", NULL, ABORT, "QAX"),
	CASE("RST while advertised", NULL, GOOD, "QAK"),
	CASE("FIN while cancelled", NULL, ABORT, "QACX"),
	CASE("Read behind the end", NULL, ENDS(E_ANY_TERM), "QAB"),
	CASE("Read after SendSm", NULL, ENDS(E_ANY_TERM), "QASDE"),
	CASE("it reads", NULL, GOOD, "NVqpkdVqpk."),
	CASE("it reads, cancelled too late", NULL, GOOD, "NVqpkcdVqpk."),
	CASE("it reads, cancelled meanwhile", NULL, GOOD, "NVqcpkd."),
	CASE("it reads a part, cancelled", NULL, GOOD, "NWqcpkmd."),
	CASE("response to another STag", NULL, ENDS(E_ANY_TERM), "NVqw"),
	CASE("half a response", "timeouts", ABORT, "NVqh"),
	CASE("no response", "timeouts", ABORT, "NVq"),
	CASE("Data while it reads", "bad_state", ABORT, "NVqd"),
	CASE("SrcAvail while it reads", "bad_state", ABORT, "NVqV"),
	CASE("DisConn while it reads", "bad_state", ABORT, "NVqf"),
	CASE("ModeChange while it reads", "bad_state", ABORT, "NVqM"),
	CASE("cancelled twice", "bad_state", ABORT, "NVqcc"),
	CASE("Data before the cancel is answered", "bad_state", ABORT, "NVqcd"),
	CASE("FIN while it reads", NULL, ABORT, "NVqX"),
	CASE("RST while it reads", NULL, GOOD, "NVqK"),
	CASE("Write when it has read", NULL, ENDS(E_ANY_TERM), "NVqpkT"),
};
/* clang-format on */

const unsigned int zcopy_attack_count = COUNT(zcopy_attacks);
