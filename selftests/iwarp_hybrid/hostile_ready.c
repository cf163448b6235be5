// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Attacks on what RFC 6581 adds to the start-up: IRD and ORD, the ready-to-receive
 * message and other first FPDUs, the answer to one that is a Read; and Requests
 * that are rejected.
 *
 * Of struct attack, inval is the words of our frame (IRD, ORD and flags), and to
 * those of the peer's frame. The rest depends on the function:
 * - first(): rdmap, region, len, msn and mo of the FPDU; of a Terminate, mo is the
 *   error;
 * - plain(), refused(): qn is the flags, msn the revision, mo the bytes of private
 *   data;
 * - rtr_comes(): rdmap of the ready-to-receive message; with region -1 we send an
 *   FPDU before it;
 * - responses(): mo Read Responses of len bytes, with qn parts of one; msn is XORed
 *   into the STag;
 * - terminates(): mo is the error.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "hostile.h"

#define STAG_UNKNOWN 0xdead5500u
#define WORDS 4 /* bytes of private data that are IRD and ORD */
#define TAGGED 14 /* bytes of headers */
#define UNTAGGED 18

static unsigned char frame[1024];

static void send_words(struct peer *p, bool reply, uint32_t what)
{
	unsigned char words[WORDS];
	size_t n;

	put_be32(words, what);
	n = peer_start_frame(frame, reply, MPA_C | MPA_S, 2, WORDS, words,
			     WORDS);
	peer_send(p, frame, n);
}

/* Frame of the peer, of revision 2: all of its words count */
static bool has_words(struct peer *p, uint32_t want)
{
	return peer_read_start(p, peer_patience(10000)) == 1 &&
	       p->reply_rev == 2 &&
	       (p->reply_flags & (MPA_S | MPA_R)) == MPA_S &&
	       p->private_len >= WORDS && get_be32(p->private_data) == want;
}

static bool comes(struct peer *p, unsigned int op, size_t len)
{
	return peer_recv_fpdu(p, peer_patience(10000)) == 1 &&
	       p->ulpdu[1] == op && p->ulpdu_len == len;
}

/* An FPDU to the memory that the Reply announced */
static void send_first(struct peer *p, const struct attack *a)
{
	const unsigned char *m = p->private_data + WORDS + 12 * a->region;
	uint32_t stag = a->region < 0 ? STAG_UNKNOWN : get_be32(m);
	uint64_t addr = a->region < 0 ? 0 : get_be64(m + 4);
	unsigned char u[512] = "";
	size_t n;

	if (a->rdmap == OP_WRITE)
		n = a->len +
		    ulpdu_tagged(u, DDP_TAGGED, OP_WRITE, stag, addr, NULL, 0);
	else if (a->rdmap == OP_READ_REQ)
		n = ulpdu_read_request(u, 1, 0x1234, 0, a->len, stag, addr);
	else if (a->rdmap == OP_TERMINATE)
		n = a->len + ulpdu_untagged(u, DDP_UNTAGGED, OP_TERMINATE, 0, 2,
					    1, 0, NULL, 0);
	else
		n = a->len + ulpdu_untagged(u, DDP_UNTAGGED, OP_SEND, 0, 0,
					    a->msn, a->mo, NULL, 0);
	if (a->rdmap == OP_TERMINATE)
		put_be32(u + UNTAGGED, a->mo);
	else if (a->rdmap == OP_SEND)
		u[UNTAGGED] = TARGET_ECHO;
	peer_send_fpdu(p, u, n, NULL);
}

/* Send this as the first FPDU, in place of the ready-to-receive message */
static enum peer_end first(struct peer *p, const struct target_memory *m,
			   const struct attack *a)
{
	(void)m;
	send_words(p, false, a->inval);
	if (!has_words(p, a->to))
		return END_NO_FRAME;
	send_first(p, a);
	if (a->ends[0] != E_ALIVE)
		return END_NONE;
	if (a->rdmap == OP_SEND) {
		p->msn++;
		return comes(p, OP_SEND, UNTAGGED + a->len) ? END_NONE :
							      END_NO_FRAME;
	}
	if (a->rdmap == OP_READ_REQ && !comes(p, OP_READ_RESP, TAGGED + a->len))
		return END_NO_FRAME;
	return END_NONE;
}

/* A Request without IRD and ORD, whatever its flags say; so is the Reply */
static enum peer_end plain(struct peer *p, const struct target_memory *m,
			   const struct attack *a)
{
	unsigned char pd[WORDS] = { 0x80, 4, 0x80, 4 };

	(void)m;
	peer_send(p, frame,
		  peer_start_frame(frame, false, a->qn, a->msn, a->mo, pd,
				   a->mo));
	return peer_read_start(p, peer_patience(10000)) == 1 &&
			       p->reply_rev == a->msn &&
			       !(p->reply_flags & (MPA_S | MPA_R)) &&
			       p->private_len == 12 * REGIONS ?
		       END_NONE :
		       END_NO_FRAME;
}

/* The Reply rejects, with S only if a Request of revision 2 had it, and has the target's data */
static enum peer_end refused(struct peer *p, const struct target_memory *m,
			     const struct attack *a)
{
	unsigned int want = MPA_R | (a->msn == 2 ? a->qn & MPA_S : 0);
	size_t skip = want & MPA_S ? WORDS : 0, i;
	unsigned char pd[WORDS];

	(void)m;
	put_be32(pd, a->inval);
	peer_send(p, frame,
		  peer_start_frame(frame, false, a->qn, a->msn, a->mo, pd,
				   a->mo));
	if (peer_read_start(p, peer_patience(10000)) != 1 ||
	    p->reply_rev != a->msn ||
	    (p->reply_flags & (MPA_R | MPA_S)) != want ||
	    p->private_len != TARGET_REASON + skip)
		return END_NO_FRAME;
	for (i = 0; i < TARGET_REASON; i++)
		if (p->private_data[skip + i] != (unsigned char)(i ^ 0x5a))
			return END_NO_FRAME;
	return END_NONE;
}

/* clang-format off */
#define TERM "rx_terminates"
#define READ_WORDS .inval = 0x80044004, .to = 0x80044004
#define WRITE_WORDS .inval = 0x80048004, .to = 0x80048004
#define SEND_WORDS .inval = 0xc0040004, .to = 0xc0040004

const struct attack ready_attacks[] = {
	CASE("revision 2 without S", NULL, ENDS(E_ALIVE), plain, .qn = MPA_C, .msn = 2),
	CASE("revision 1 with S", NULL, ENDS(E_ALIVE),
	     plain, .qn = MPA_C | MPA_S, .msn = 1, .mo = WORDS),
	CASE("IRD and ORD: less than asked for", NULL, ENDS(E_ALIVE),
	     first, .inval = 0x00020009, .to = 0x00040002, .rdmap = OP_WRITE),
	CASE("IRD and ORD: left to the ULP", NULL, ENDS(E_ALIVE),
	     first, .inval = 0x3fff3fff, .to = 0x3fff3fff, .rdmap = OP_WRITE),
	CASE("IRD left to the ULP", NULL, ENDS(E_ALIVE),
	     first, .inval = 0x3fff0001, .to = 0x00013fff, .rdmap = OP_WRITE),
	CASE("IRD and ORD with all flags", NULL, ENDS(E_ALIVE),
	     first, .inval = 0xc002c009, .to = 0xc004c002, .rdmap = OP_WRITE),
	CASE("IRD and ORD left to the ULP, with all flags", NULL, ENDS(E_ALIVE),
	     first, .inval = 0xffffffff, .to = 0xffffffff, .rdmap = OP_WRITE),
	CASE("first FPDU: Read instead of Write", NULL, ENDS(E_ALIVE),
	     first, WRITE_WORDS, .rdmap = OP_READ_REQ, .region = -1),
	CASE("first FPDU: Write instead of Read", NULL, ENDS(E_ALIVE),
	     first, READ_WORDS, .rdmap = OP_WRITE, .region = -1),
	CASE("first FPDU: Write instead of Send", NULL, ENDS(E_ALIVE),
	     first, SEND_WORDS, .rdmap = OP_WRITE, .region = -1),
	CASE("first FPDU: Send that is a message", NULL, ENDS(E_ALIVE),
	     first, SEND_WORDS, .rdmap = OP_SEND, .msn = 1, .len = 5),
	CASE("first FPDU: Write with payload", NULL, ENDS(E_ALIVE),
	     first, WRITE_WORDS, .rdmap = OP_WRITE, .region = REGION_RW, .len = 8),
	CASE("first FPDU: Write with payload, unknown STag", "err_stag",
	     ENDS(E_TERM(1, 1, 0)), first, WRITE_WORDS, .rdmap = OP_WRITE,
	     .region = -1, .len = 8),
	CASE("first FPDU: Read of 8 bytes", NULL, ENDS(E_ALIVE),
	     first, READ_WORDS, .rdmap = OP_READ_REQ, .region = REGION_RW, .len = 8),
	CASE("first FPDU: Read of 8 bytes, unknown STag", "err_stag",
	     ENDS(E_TERM(0, 1, 0)), first, READ_WORDS, .rdmap = OP_READ_REQ,
	     .region = -1, .len = 8),
	CASE("first FPDU: Send, message number 2", "err_ddp_msn", ENDS(E_TERM(1, 2, 3)),
	     first, SEND_WORDS, .rdmap = OP_SEND, .msn = 2),
	CASE("first FPDU: Send, offset 4", "err_ddp_offset", ENDS(E_TERM(1, 2, 4)),
	     first, SEND_WORDS, .rdmap = OP_SEND, .msn = 1, .mo = 4),
	CASE("first FPDU: Send, too long", "err_ddp_buffer", ENDS(E_TERM(1, 2, 5)),
	     first, SEND_WORDS, .rdmap = OP_SEND, .msn = 1, .len = TARGET_MESSAGE + 1),
	CASE("first FPDU: Terminate, MPA error 5", TERM, ENDS(E_CLOSED),
	     first, WRITE_WORDS, .rdmap = OP_TERMINATE, .len = 4, .mo = 0x20050000),
	CASE("first FPDU: Terminate, MPA error 6", TERM, ENDS(E_CLOSED),
	     first, READ_WORDS, .rdmap = OP_TERMINATE, .len = 4, .mo = 0x20060000),
	CASE("first FPDU: Terminate, MPA error 7", TERM, ENDS(E_CLOSED),
	     first, SEND_WORDS, .rdmap = OP_TERMINATE, .len = 4, .mo = 0x20070000),
};

const unsigned int ready_attack_count = COUNT(ready_attacks);

const struct attack refuse_attacks[] = {
	CASE("rejected: revision 1", "cm_rejects", ENDS(E_CLOSED),
	     refused, .qn = MPA_C, .msn = 1),
	CASE("rejected: revision 2", "cm_rejects", ENDS(E_CLOSED),
	     refused, .qn = MPA_C | MPA_S, .msn = 2, .mo = WORDS, .inval = 0x80048004),
	CASE("rejected: revision 2, client and server", "cm_rejects", ENDS(E_CLOSED),
	     refused, .qn = MPA_C | MPA_S, .msn = 2, .mo = WORDS, .inval = 0x00040004),
	CASE("rejected: revision 2 without S", "cm_rejects", ENDS(E_CLOSED),
	     refused, .qn = MPA_C, .msn = 2),
};
/* clang-format on */

const unsigned int refuse_attack_count = COUNT(refuse_attacks);

/*
 * The peer is an initiator that sends messages and waits for their echo. Is the
 * ready-to-receive message its first FPDU, even if ours came before (region < 0)?
 */
static bool rtr_comes(struct peer *p, const struct attack *a)
{
	bool early = a->region < 0;
	unsigned char u[64];
	int on = 1;

	if (!has_words(p, a->to))
		return false;
	setsockopt(p->fd, IPPROTO_TCP, TCP_CORK, &on, sizeof(on));
	send_words(p, true, a->inval);
	if (early)
		peer_send_fpdu(p, u, ulpdu_read_request(u, 1, 0, 0, 0, 0, 0),
			       NULL);
	on = 0;
	setsockopt(p->fd, IPPROTO_TCP, TCP_CORK, &on, sizeof(on));
	if (!comes(p, a->rdmap, a->rdmap == OP_READ_REQ ? 46 : TAGGED))
		return false;
	return !early || comes(p, OP_READ_RESP, TAGGED);
}

/* After the ready-to-receive message: two messages there and back */
static enum peer_end talk(struct peer *p)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (!comes(p, OP_SEND, UNTAGGED + TARGET_MESSAGE))
			return END_NO_FRAME;
		peer_send_message(p, p->ulpdu + UNTAGGED, TARGET_MESSAGE);
	}
	return END_NONE;
}

/* Read Responses: mo of them, or parts of one */
static enum peer_end responses(struct peer *p, const struct target_memory *m,
			       const struct attack *a)
{
	unsigned char u[64] = "";
	uint32_t stag = 0, i;
	uint64_t to = 0;
	size_t n;

	(void)m;
	if (!rtr_comes(p, a))
		return END_NO_FRAME;
	if (a->rdmap == OP_READ_REQ) {
		stag = get_be32(p->ulpdu + UNTAGGED);
		to = get_be64(p->ulpdu + UNTAGGED + 4);
	}
	for (i = 0; i < a->mo; i++) {
		n = ulpdu_tagged(u,
				 i + 1 < a->mo && a->qn ?
					 DDP_TAGGED & ~DDP_NOT_LAST :
					 DDP_TAGGED,
				 OP_READ_RESP, stag ^ a->msn, to, NULL, 0);
		peer_send_fpdu(p, u, n + a->len, NULL);
	}
	return a->counter ? END_NONE : talk(p);
}

static enum peer_end terminates(struct peer *p, const struct target_memory *m,
				const struct attack *a)
{
	unsigned char u[64] = "";
	size_t n;

	(void)m;
	if (!rtr_comes(p, a))
		return END_NO_FRAME;
	n = ulpdu_untagged(u, DDP_UNTAGGED, OP_TERMINATE, 0, 2, 1, 0, NULL, 0);
	put_be32(u + n, a->mo);
	peer_send_fpdu(p, u, n + 4, NULL);
	return END_NONE;
}

/* clang-format off */
#define READ_RTR .inval = 0x80044004, .to = 0xc004c004, .rdmap = OP_READ_REQ
#define WRITE_RTR .inval = 0x80048004, .to = 0xc004c004, .rdmap = OP_WRITE
#define RESP "err_read_response"

const struct attack rtr_attacks[] = {
	CASE("ready by Write", NULL, ENDS(E_CLOSED), responses, WRITE_RTR),
	CASE("ready by Write, but we begin", NULL, ENDS(E_CLOSED),
	     responses, WRITE_RTR, .region = -1),
	CASE("ready by Write: a Read Response", RESP, ENDS(E_TERM(0, 2, 6)),
	     responses, WRITE_RTR, .mo = 1),
	CASE("ready by Read", NULL, ENDS(E_CLOSED), responses, READ_RTR, .mo = 1),
	CASE("ready by Read, but we begin", NULL, ENDS(E_CLOSED),
	     responses, READ_RTR, .region = -1),
	CASE("ready by Read: no answer", NULL, ENDS(E_CLOSED), responses, READ_RTR),
	CASE("ready by Read: another STag", NULL, ENDS(E_CLOSED),
	     responses, READ_RTR, .mo = 1, .msn = 0x100),
	CASE("ready by Read: answer in two parts", NULL, ENDS(E_CLOSED),
	     responses, READ_RTR, .mo = 2, .qn = 1),
	CASE("ready by Read: two answers", RESP, ENDS(E_TERM(0, 2, 6)),
	     responses, READ_RTR, .mo = 2),
	CASE("ready by Read: an answer with payload", RESP, ENDS(E_TERM(1, 1, 1)),
	     responses, READ_RTR, .mo = 1, .len = 8),
	CASE("Terminate, MPA error 5", TERM, ENDS(E_CLOSED),
	     terminates, WRITE_RTR, .mo = 0x20050000),
	CASE("Terminate, MPA error 6", TERM, ENDS(E_CLOSED),
	     terminates, READ_RTR, .mo = 0x20060000),
	CASE("Terminate, MPA error 7", TERM, ENDS(E_CLOSED),
	     terminates, WRITE_RTR, .mo = 0x20070000),
};
/* clang-format on */

const unsigned int rtr_attack_count = COUNT(rtr_attacks);
