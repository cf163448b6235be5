// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Attacks on the start-up: Requests to a listener, Replies to an initiator.
 * Of struct attack they use: msn the revision, qn the flags, len the length to
 * announce, mo the length that is sent.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "hostile.h"

static unsigned char frame[70000];

/* Longest time a device may wait for a start-up frame, and some more. */
#define START_MS 45000

static enum peer_end request(struct peer *p, const struct target_memory *m,
			     const struct attack *a)
{
	static unsigned char pd[512];
	size_t n;

	(void)m;
	n = peer_start_frame(frame, false, a->qn, a->msn, a->len, pd, a->mo);
	peer_send(p, frame, n);
	return END_NONE;
}

/* A Request that has to be answered; then the connection must work. */
static enum peer_end good_request(struct peer *p, const struct target_memory *m,
				  const struct attack *a)
{
	request(p, m, a);
	return peer_read_start(p, peer_patience(10000)) == 1 ? END_NONE :
							       END_FIN;
}

/* The first message, without content */
static void first_message(struct peer *p, unsigned int op)
{
	unsigned char u[64];
	size_t n;

	if (op == OP_SEND)
		n = ulpdu_untagged(u, DDP_UNTAGGED, OP_SEND, 0, 0, p->msn++, 0,
				   NULL, 0);
	else if (op == OP_WRITE)
		n = ulpdu_tagged(u, DDP_TAGGED, OP_WRITE, 0, 0, NULL, 0);
	else
		n = ulpdu_read_request(u, 1, 0, 0, 0, 0, 0);
	peer_send_fpdu(p, u, n, NULL);
}

/* Peer-to-peer: the words that the Reply must have */
static bool peer_to_peer(struct peer *p, const struct attack *a)
{
	unsigned char words[4];
	size_t n;

	put_be32(words, a->inval);
	n = peer_start_frame(frame, false, MPA_C | MPA_S, 2, 4, words, 4);
	peer_send(p, frame, n);
	return peer_read_start(p, peer_patience(10000)) == 1 &&
	       (p->reply_flags & MPA_S) &&
	       (get_be32(p->private_data) & 0xc000c000) == a->mo;
}

/* Then a first message */
static enum peer_end ready(struct peer *p, const struct target_memory *m,
			   const struct attack *a)
{
	(void)m;
	if (!peer_to_peer(p, a))
		return END_NO_FRAME;
	first_message(p, a->rdmap);
	if (a->rdmap == OP_READ_REQ &&
	    (peer_recv_fpdu(p, peer_patience(5000)) != 1 || p->ulpdu_len != 14))
		return END_NO_FRAME;
	return END_NONE;
}

/* The next FPDU is a Send that begins like this */
static bool says(struct peer *p, unsigned char what)
{
	return peer_recv_fpdu(p, peer_patience(10000)) == 1 &&
	       p->ulpdu[1] == OP_SEND && p->ulpdu_len > 18 &&
	       p->ulpdu[18] == what;
}

/*
 * The target has something to say, and waits with it for our first FPDU (RFC 5044
 * section 7.1.2). If that is a Send which says no more than that, its program
 * hears nothing of it; of a Send instead of something else it does, and answers.
 */
static enum peer_end fenced(struct peer *p, const struct target_memory *m,
			    const struct attack *a)
{
	unsigned char byte;

	(void)m;
	if (a->msn == 1 ?
		    request(p, m, a) ||
			    peer_read_start(p, peer_patience(10000)) != 1 :
		    !peer_to_peer(p, a))
		return END_NO_FRAME;
	if (peer_recv(p, &byte, 1, 500) != -2)
		return END_NO_FRAME;
	if (a->msn == 1)
		peer_send_message(p, "-", 1);
	else
		first_message(p, a->rdmap);
	if (a->rdmap == OP_READ_REQ &&
	    (peer_recv_fpdu(p, peer_patience(10000)) != 1 ||
	     p->ulpdu[1] != OP_READ_RESP))
		return END_NO_FRAME;
	if (!says(p, TARGET_GREETING))
		return END_NO_FRAME;
	if (a->to && !says(p, a->to))
		return END_NO_FRAME;
	peer_send_message(p, "E", 1);
	return says(p, TARGET_ECHO) ? END_NONE : END_NO_FRAME;
}

static enum peer_end wrong_key(struct peer *p, const struct target_memory *m,
			       const struct attack *a)
{
	size_t n = peer_start_frame(frame, a->qn, MPA_C, 1, 0, NULL, 0);

	(void)m;
	if (!a->qn)
		frame[a->len] ^= 0x20;
	peer_send(p, frame, n);
	return END_NONE;
}

static enum peer_end http(struct peer *p, const struct target_memory *m,
			  const struct attack *a)
{
	static const char text[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

	(void)m;
	(void)a;
	peer_send(p, text, sizeof(text) - 1);
	return END_NONE;
}

static enum peer_end part(struct peer *p, const struct target_memory *m,
			  const struct attack *a)
{
	static unsigned char pd[512];

	(void)m;
	peer_start_frame(frame, false, MPA_C, 1, 100, pd, 100);
	peer_send(p, frame, a->mo);
	if (a->qn == 1)
		shutdown(p->fd, SHUT_WR);
	if (a->qn == 2) {
		peer_reset(p);
		return END_RST;
	}
	return END_NONE;
}

/* A byte now and then is no reason to wait for ever. */
static enum peer_end drip(struct peer *p, const struct target_memory *m,
			  const struct attack *a)
{
	static unsigned char pd[512];
	long end = net_ms() + START_MS;
	size_t i = 0;

	(void)m;
	(void)a;
	peer_start_frame(frame, false, MPA_C, 1, 512, pd, 512);
	while (net_ms() < end) {
		if (send(p->fd, frame + i, 1, MSG_NOSIGNAL) != 1)
			return END_RST;
		i += i < 500;
		if (peer_recv(p, frame + 1000, 1, 500) >= -1)
			return END_FIN;
	}
	return END_NONE;
}

/* FPDUs right after the Request, before there is a Reply. */
static enum peer_end early(struct peer *p, const struct target_memory *m,
			   const struct attack *a)
{
	unsigned char u[64];
	size_t n;

	(void)m;
	(void)a;
	n = peer_start_frame(frame, false, MPA_C, 1, 0, NULL, 0);
	peer_send(p, frame, n);
	n = ulpdu_untagged(u, DDP_UNTAGGED, OP_SEND, 0, 0, 1, 0, "-", 1);
	peer_send_fpdu(p, u, n, NULL);
	return END_NONE;
}

static enum peer_end then_fin(struct peer *p, const struct target_memory *m,
			      const struct attack *a)
{
	request(p, m, a);
	shutdown(p->fd, SHUT_WR);
	return END_NONE;
}

static enum peer_end then_rst(struct peer *p, const struct target_memory *m,
			      const struct attack *a)
{
	request(p, m, a);
	peer_reset(p);
	return END_RST;
}

static enum peer_end endless(struct peer *p, const struct target_memory *m,
			     const struct attack *a)
{
	(void)m;
	(void)a;
	memset(frame, 'M', sizeof(frame));
	peer_send(p, frame, sizeof(frame));
	return END_NONE;
}

static enum peer_end silent(struct peer *p, const struct target_memory *m,
			    const struct attack *a)
{
	(void)p;
	(void)m;
	(void)a;
	return END_NONE;
}

/* clang-format off */
#define REQ "err_mpa_request"
#define REP "err_mpa_reply"

const struct attack start_attacks[] = {
	CASE("revision 1", NULL, ENDS(E_ALIVE), good_request, .qn = MPA_C, .msn = 1),
	CASE("revision 1, reserved flag", NULL, ENDS(E_ALIVE),
	     good_request, .qn = MPA_C | 0x08, .msn = 1),
	CASE("revision 1, R in a Request", NULL, ENDS(E_ALIVE),
	     good_request, .qn = MPA_C | MPA_R, .msn = 1),
	CASE("revision 1, no CRC wanted", NULL, ENDS(E_ALIVE), good_request, .msn = 1),
	CASE("revision 1, 200 bytes of private data", NULL, ENDS(E_ALIVE),
	     good_request, .qn = MPA_C, .msn = 1, .len = 200, .mo = 200),
	CASE("512 bytes of private data", REQ, ENDS(E_CLOSED),
	     request, .qn = MPA_C, .msn = 1, .len = 512, .mo = 512),
	CASE("key wrong in the first byte", REQ, ENDS(E_CLOSED), wrong_key, .len = 0),
	CASE("key wrong in the last byte", REQ, ENDS(E_CLOSED), wrong_key, .len = 15),
	CASE("Reply instead of a Request", REQ, ENDS(E_CLOSED), wrong_key, .qn = 1),
	CASE("HTTP", REQ, ENDS(E_CLOSED), http),
	CASE("70000 times M", REQ, ENDS(E_CLOSED), endless),
	CASE("revision 0", REQ, ENDS(E_CLOSED), request, .qn = MPA_C, .msn = 0),
	CASE("revision 3", REQ, ENDS(E_CLOSED), request, .qn = MPA_C, .msn = 3),
	CASE("revision 255", REQ, ENDS(E_CLOSED), request, .qn = MPA_C, .msn = 255),
	CASE("513 bytes announced", REQ, ENDS(E_CLOSED),
	     request, .qn = MPA_C, .msn = 1, .len = 513, .mo = 512),
	CASE("65535 bytes announced", REQ, ENDS(E_CLOSED),
	     request, .qn = MPA_C, .msn = 1, .len = 65535),
	CASE("S with 0 bytes", REQ, ENDS(E_CLOSED),
	     request, .qn = MPA_C | MPA_S, .msn = 2),
	CASE("S with 3 bytes", REQ, ENDS(E_CLOSED),
	     request, .qn = MPA_C | MPA_S, .msn = 2, .len = 3, .mo = 3),
	CASE("revision 2, all zero", NULL, ENDS(E_ALIVE),
	     good_request, .qn = MPA_C | MPA_S, .msn = 2, .len = 4, .mo = 4),
	CASE("ready to receive: Send", NULL, ENDS(E_ALIVE),
	     ready, .inval = 0xc0040004, .mo = 0xc0000000, .rdmap = OP_SEND),
	CASE("ready to receive: Write", NULL, ENDS(E_ALIVE),
	     ready, .inval = 0x80048004, .mo = 0x80008000, .rdmap = OP_WRITE),
	CASE("ready to receive: Read", NULL, ENDS(E_ALIVE),
	     ready, .inval = 0x80044004, .mo = 0x80004000, .rdmap = OP_READ_REQ),
	CASE("ready to receive: Read, no other Reads", NULL, ENDS(E_ALIVE),
	     ready, .inval = 0x80044000, .mo = 0x80004000, .rdmap = OP_READ_REQ),
	CASE("ready to receive: Send, of three", NULL, ENDS(E_ALIVE),
	     ready, .inval = 0xc004c004, .mo = 0xc000c000, .rdmap = OP_SEND),
	CASE("ready to receive: nothing offered", NULL, ENDS(E_ALIVE),
	     ready, .inval = 0x80040004, .mo = 0x80008000, .rdmap = OP_WRITE),
	CASE("no ready to receive: flags are ignored", NULL, ENDS(E_ALIVE),
	     ready, .inval = 0x4004c004, .mo = 0, .rdmap = OP_WRITE),
	CASE("255 bytes of private data", NULL, ENDS(E_ALIVE),
	     good_request, .qn = MPA_C, .msn = 1, .len = 255, .mo = 255),
	CASE("256 bytes of private data", REQ, ENDS(E_CLOSED),
	     request, .qn = MPA_C, .msn = 1, .len = 256, .mo = 256),
	CASE("259 bytes with IRD and ORD", NULL, ENDS(E_ALIVE),
	     good_request, .qn = MPA_C | MPA_S, .msn = 2, .len = 259, .mo = 259),
	CASE("FIN at once", NULL, ENDS(E_CLOSED), part, .qn = 1, .mo = 0),
	CASE("FIN inside the key", NULL, ENDS(E_CLOSED), part, .qn = 1, .mo = 7),
	CASE("FIN inside private data", NULL, ENDS(E_CLOSED), part, .qn = 1, .mo = 60),
	CASE("RST at once", NULL, ENDS(E_CLOSED), part, .qn = 2, .mo = 0),
	CASE("RST inside the Request", NULL, ENDS(E_CLOSED), part, .qn = 2, .mo = 30),
	CASE("FIN after the Request", NULL, ENDS(E_ANY),
	     then_fin, .qn = MPA_C, .msn = 1),
	CASE("RST after the Request", NULL, ENDS(E_CLOSED),
	     then_rst, .qn = MPA_C, .msn = 1),
	CASE("FPDU before the Reply", NULL, ENDS(E_ANY), early),
	CASE("Request that never ends", "err_mpa_timeout", ENDS(E_CLOSED), part, .mo = 60),
	CASE("a byte every half second", "err_mpa_timeout", ENDS(E_CLOSED), drip),
	CASE("silence", "err_mpa_timeout", ENDS(E_CLOSED), silent),
};
/* clang-format on */

const unsigned int start_attack_count = COUNT(start_attacks);

/* clang-format off */
const struct attack fence_attacks[] = {
	CASE("fence: revision 1", "doorbells", ENDS(E_ALIVE), fenced, .qn = MPA_C, .msn = 1),
	CASE("fence: client and server", "doorbells", ENDS(E_ALIVE),
	     fenced, .inval = 0x00040004, .mo = 0, .rdmap = OP_WRITE),
	CASE("fence: ready to receive by Send", "doorbells", ENDS(E_ALIVE),
	     fenced, .inval = 0xc0040004, .mo = 0xc0000000, .rdmap = OP_SEND),
	CASE("fence: Send instead of Write", "doorbells", ENDS(E_ALIVE),
	     fenced, .inval = 0x80048004, .mo = 0x80008000, .rdmap = OP_SEND,
	     .to = TARGET_EMPTY),
	CASE("fence: ready to receive by Write", "doorbells", ENDS(E_ALIVE),
	     fenced, .inval = 0x80048004, .mo = 0x80008000, .rdmap = OP_WRITE),
	CASE("fence: ready to receive by Read", "doorbells", ENDS(E_ALIVE),
	     fenced, .inval = 0x80044004, .mo = 0x80004000, .rdmap = OP_READ_REQ),
};
/* clang-format on */

const unsigned int fence_attack_count = COUNT(fence_attacks);

/* The server's side: wait for the Request, then answer it. */
static enum peer_end reply(struct peer *p, const struct target_memory *m,
			   const struct attack *a)
{
	static unsigned char pd[512];
	size_t n;

	(void)m;
	if (peer_read_start(p, peer_patience(10000)) != 1)
		return END_NO_FRAME;
	memset(pd, 0, sizeof(pd));
	put_be32(pd, a->inval);
	n = peer_start_frame(frame, true, a->qn, a->msn, a->len, pd, a->mo);
	peer_send(p, frame, n);
	return END_NONE;
}

/* With it in one packet, so that the initiator finds both, or right after it */
static enum peer_end reply_end(struct peer *p, const struct target_memory *m,
			       const struct attack *a)
{
	int on = 1;

	setsockopt(p->fd, IPPROTO_TCP, TCP_CORK, &on, sizeof(on));
	if (reply(p, m, a))
		return END_NO_FRAME;
	if (!a->to) {
		shutdown(p->fd, SHUT_WR);
		return END_NONE;
	}
	on = 0;
	setsockopt(p->fd, IPPROTO_TCP, TCP_CORK, &on, sizeof(on));
	peer_reset(p);
	return END_RST;
}

static enum peer_end reply_key(struct peer *p, const struct target_memory *m,
			       const struct attack *a)
{
	size_t n;

	(void)m;
	if (peer_read_start(p, peer_patience(10000)) != 1)
		return END_NO_FRAME;
	n = peer_start_frame(frame, !a->qn, MPA_C | MPA_S, 2, 4, "\0\0\0\0", 4);
	if (!a->qn)
		frame[a->len] ^= 0x20;
	peer_send(p, frame, n);
	return END_NONE;
}

static enum peer_end reply_part(struct peer *p, const struct target_memory *m,
				const struct attack *a)
{
	static unsigned char pd[512];

	(void)m;
	if (peer_read_start(p, peer_patience(10000)) != 1)
		return END_NO_FRAME;
	peer_start_frame(frame, true, MPA_C | MPA_S, 2, 100, pd, 100);
	peer_send(p, frame, a->mo);
	if (a->qn == 1)
		shutdown(p->fd, SHUT_WR);
	if (a->qn == 2) {
		peer_reset(p);
		return END_RST;
	}
	return END_NONE;
}

/* Which ready-to-receive message comes when only that one is granted? */
static enum peer_end reply_ready(struct peer *p, const struct target_memory *m,
				 const struct attack *a)
{
	unsigned char u[64];

	reply(p, m, a);
	if (peer_recv_fpdu(p, peer_patience(5000)) != 1 ||
	    p->ulpdu[1] != a->rdmap || p->ulpdu_len != a->to)
		return END_NO_FRAME;
	if (a->rdmap == OP_READ_REQ)
		peer_send_fpdu(p, u,
			       ulpdu_tagged(u, DDP_TAGGED, OP_READ_RESP,
					    get_be32(p->ulpdu + 18),
					    get_be64(p->ulpdu + 22), NULL, 0),
			       NULL);
	return END_NONE;
}

/*
 * A peer of revision 1: it closes, or answers without IRD and ORD (revision and flags
 * msn and qn), and is asked again in its own way. It may know better then.
 */
static enum peer_end fall_back(struct peer *p, const struct target_memory *m,
			       const struct attack *a)
{
	(void)m;
	if (peer_read_start(p, peer_patience(10000)) != 1 || p->reply_rev != 2)
		return END_NO_FRAME;
	if (a->msn) {
		size_t n = peer_start_frame(frame, true, a->qn, a->msn, a->mo,
					    "\x80\4\x80\4", a->mo);

		peer_send(p, frame, n);
	}
	if (attack_next(p, peer_patience(10000)) ||
	    peer_read_start(p, peer_patience(10000)) != 1 ||
	    p->reply_rev != 1 || p->reply_flags & MPA_S)
		return END_NO_FRAME;
	if (a->to)
		peer_send(p, frame,
			  peer_start_frame(frame, true, MPA_C | MPA_S, 2, 4,
					   "\x80\4\x80\4", 4));
	else
		peer_send(p, frame,
			  peer_start_frame(frame, true, MPA_C, 1, 0, NULL, 0));
	return END_NONE;
}

#define ENH (MPA_C | MPA_S)

/* clang-format off */
const struct attack reply_attacks[] = {
	CASE("Reply: refused", NULL, ENDS(E_CLOSED),
	     reply, .qn = ENH | MPA_R, .msn = 2, .len = 4, .mo = 4),
	CASE("Reply: key wrong in the first byte", REP, ENDS(E_CLOSED), reply_key, .len = 0),
	CASE("Reply: key wrong in the last byte", REP, ENDS(E_CLOSED), reply_key, .len = 15),
	CASE("Reply: a Request", REP, ENDS(E_CLOSED), reply_key, .qn = 1),
	CASE("Reply: revision 0", REP, ENDS(E_CLOSED), reply, .qn = MPA_C, .msn = 0),
	CASE("Reply: revision 3", REP, ENDS(E_CLOSED), reply, .qn = MPA_C, .msn = 3),
	CASE("Reply: 513 bytes announced", REP, ENDS(E_CLOSED),
	     reply, .qn = ENH, .msn = 2, .len = 513, .mo = 512),
	CASE("Reply: 65535 bytes announced", REP, ENDS(E_CLOSED),
	     reply, .qn = ENH, .msn = 2, .len = 65535),
	CASE("Reply: S with 0 bytes", REP, ENDS(E_CLOSED), reply, .qn = ENH, .msn = 2),
	CASE("Reply: peer-to-peer refused", NULL, ENDS(E_ANY),
	     reply, .qn = ENH, .msn = 2, .len = 4, .mo = 4),
	CASE("Reply: wants more reads than offered", REP, ENDS(E_TERM(2, 0, 6)),
	     reply, .qn = ENH, .msn = 2, .len = 4, .mo = 4, .inval = 0x8010fffe),
	CASE("Reply: no ready to receive granted", REP, ENDS(E_TERM(2, 0, 7)),
	     reply, .qn = ENH, .msn = 2, .len = 4, .mo = 4, .inval = 0x80040000),
	CASE("Reply: ready to receive by Send", NULL, ENDS(E_CLOSED), reply_ready,
	     .qn = ENH, .msn = 2, .len = 4, .mo = 4, .inval = 0xc0040000,
	     .rdmap = OP_SEND, .to = 18),
	CASE("Reply: ready to receive by Write", NULL, ENDS(E_CLOSED), reply_ready,
	     .qn = ENH, .msn = 2, .len = 4, .mo = 4, .inval = 0x80048000,
	     .rdmap = OP_WRITE, .to = 14),
	CASE("Reply: ready to receive by Read", NULL, ENDS(E_CLOSED), reply_ready,
	     .qn = ENH, .msn = 2, .len = 4, .mo = 4, .inval = 0x80044000,
	     .rdmap = OP_READ_REQ, .to = 46),
	CASE("Reply: FIN with it", NULL, ENDS(E_TERM(2, 0, 5)), reply_end,
	     .qn = ENH, .msn = 2, .len = 4, .mo = 4, .inval = 0x80048000),
	CASE("Reply: RST after it", NULL, ENDS(E_CLOSED), reply_end,
	     .qn = ENH, .msn = 2, .len = 4, .mo = 4, .inval = 0x80048000, .to = 1),
	CASE("Reply: 512 bytes of private data", REP, ENDS(E_CLOSED),
	     reply, .qn = ENH, .msn = 2, .len = 512, .mo = 512),
	CASE("Reply: none, then revision 1", NULL, ENDS(E_CLOSED), fall_back),
	CASE("Reply: revision 1, then revision 1", NULL, ENDS(E_CLOSED),
	     fall_back, .qn = MPA_C, .msn = 1),
	CASE("Reply: revision 1 with S, then revision 1", NULL, ENDS(E_CLOSED),
	     fall_back, .qn = ENH, .msn = 1, .mo = 4),
	CASE("Reply: revision 2 without S, then revision 1", NULL, ENDS(E_CLOSED),
	     fall_back, .qn = MPA_C, .msn = 2),
	CASE("Reply: revision 1, then revision 2", REP, ENDS(E_CLOSED),
	     fall_back, .qn = MPA_C, .msn = 1, .to = 1),
	CASE("Reply: FIN inside", NULL, ENDS(E_CLOSED), reply_part, .qn = 1, .mo = 50),
	CASE("Reply: RST inside", NULL, ENDS(E_CLOSED), reply_part, .qn = 2, .mo = 50),
	CASE("Reply: FIN instead", NULL, ENDS(E_CLOSED), reply_part, .qn = 1, .mo = 0),
	CASE("Reply: RST instead", NULL, ENDS(E_CLOSED), reply_part, .qn = 2, .mo = 0),
	CASE("Reply: never ends", "err_mpa_timeout", ENDS(E_CLOSED), reply_part, .mo = 50),
	CASE("Reply: none", "err_mpa_timeout", ENDS(E_CLOSED), reply_part, .mo = 0),
};
/* clang-format on */

const unsigned int reply_attack_count = COUNT(reply_attacks);
