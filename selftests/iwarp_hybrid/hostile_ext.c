// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Attacks with the messages of RFC 7306: Immediate Data, atomic operations.
 * Of struct attack they use what hostile_fpdu.c does; inval is the operation
 * code of an Atomic Request.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "hostile.h"

#define OP_IMM 0x48
#define OP_IMM_SE 0x49
#define OP_ATOMIC_REQ 0x4a
#define OP_ATOMIC_RESP 0x4b
#define OP_SEND_SE 0x45
#define OP_FLAG_IMM 0x10
#define AREQ_LEN 52

static unsigned char big[4096];

/* Any untagged segment of zeroes. */
static enum peer_end segment(struct peer *p, const struct target_memory *m,
			     const struct attack *a)
{
	size_t n;

	(void)m;
	memset(big, 0, sizeof(big));
	n = ulpdu_untagged(big, a->ddp, a->rdmap, a->inval, a->qn, a->msn,
			   a->mo, NULL, 0) +
	    a->len;
	peer_send_fpdu(p, big, n, NULL);
	if (a->ends[0] == E_ALIVE)
		p->msn++;
	return END_NONE;
}

/* In the middle of a Send, as a segment of which it could pass. */
static enum peer_end inside(struct peer *p, const struct target_memory *m,
			    const struct attack *a)
{
	size_t n = ulpdu_untagged(big, 0x01, OP_SEND, 0, 0, 1, 0, "0123456789",
				  a->len);

	peer_send_fpdu(p, big, n, NULL);
	(void)m;
	n = ulpdu_untagged(big, DDP_UNTAGGED, OP_IMM, 0, 0, 1, a->mo,
			   "12345678", 8);
	peer_send_fpdu(p, big, n, NULL);
	return END_NONE;
}

static void write_segment(struct peer *p, const struct target_memory *m,
			  unsigned int ddp, uint32_t len)
{
	size_t n = ulpdu_tagged(big, ddp, OP_WRITE, m->stag[REGION_RW],
				m->addr[REGION_RW], NULL, 0) +
		   len;

	peer_send_fpdu(p, big, n, NULL);
}

/*
 * Immediate Data after a Write of 100 that say how long that was; mo: bytes of
 * one segment more before it, ddp: of the same Write, or of another.
 */
static enum peer_end claim(struct peer *p, const struct target_memory *m,
			   const struct attack *a)
{
	unsigned char imm[8] = { 0 };
	size_t n;

	if (a->mo)
		write_segment(p, m, a->ddp, a->mo);
	write_segment(p, m, DDP_TAGGED, 100);
	put_be32(imm + 4, a->len);
	n = ulpdu_untagged(big, DDP_UNTAGGED, OP_IMM, 0, 0, 1, 0, imm, 8);
	peer_send_fpdu(p, big, n, NULL);
	p->msn++;
	return END_NONE;
}

static size_t atomic_ulpdu(unsigned char *out, const struct target_memory *m,
			   const struct attack *a, uint32_t msn)
{
	unsigned char r[AREQ_LEN] = { 0 };

	put_be32(r, a->inval);
	put_be32(r + 4, msn);
	put_be32(r + 8, a->region < 0 ? 0xdead5500u : m->stag[a->region]);
	put_be64(r + 12, (a->region < 0 ? 0 : m->addr[a->region]) + a->to);
	put_be64(r + 20, 1);
	memset(r + 44, 0xff, 8);
	return ulpdu_untagged(out, DDP_UNTAGGED, OP_ATOMIC_REQ, 0, a->qn, msn,
			      0, r, sizeof(r));
}

static enum peer_end atomic_request(struct peer *p,
				    const struct target_memory *m,
				    const struct attack *a)
{
	size_t n = atomic_ulpdu(big, m, a, a->msn);

	/* may be less */
	peer_send_fpdu(p, big, n + (int)a->len, NULL);
	return END_NONE;
}

/* The device's answer, with identifier and number. */
static bool answered(struct peer *p, uint32_t msn, uint64_t value)
{
	return peer_recv_fpdu(p, peer_patience(5000)) == 1 &&
	       p->ulpdu_len == 30 && p->ulpdu[1] == OP_ATOMIC_RESP &&
	       get_be32(p->ulpdu + 6) == 3 && get_be32(p->ulpdu + 10) == msn &&
	       get_be32(p->ulpdu + 18) == msn &&
	       get_be64(p->ulpdu + 22) == value;
}

/* Legal: three additions, each sees the one before. */
static enum peer_end additions(struct peer *p, const struct target_memory *m,
			       const struct attack *a)
{
	uint64_t value = 0x6161616161616161ull; /* as the region is filled */
	uint32_t msn;
	size_t n;

	for (msn = 1; msn <= 3; msn++) {
		n = atomic_ulpdu(big, m, a, msn);
		peer_send_fpdu(p, big, n, NULL);
		if (!answered(p, msn, value++))
			return END_NO_FRAME;
	}
	return END_NONE;
}

/* More than the device promised to take, in few packets. */
static enum peer_end many_atomics(struct peer *p, const struct target_memory *m,
				  const struct attack *a)
{
	int on = 1, off = 0;
	uint32_t msn;
	size_t n;

	setsockopt(p->fd, IPPROTO_TCP, TCP_CORK, &on, sizeof(on));
	for (msn = 1; msn <= 400; msn++) {
		n = atomic_ulpdu(big, m, a, msn);
		peer_send_fpdu(p, big, n, NULL);
	}
	setsockopt(p->fd, IPPROTO_TCP, TCP_CORK, &off, sizeof(off));
	return END_NONE;
}

/* An Atomic Response to a Read Request of the target. */
static enum peer_end response_to_read(struct peer *p,
				      const struct target_memory *m,
				      const struct attack *a)
{
	unsigned char cmd[17] = { TARGET_READ }, r[12] = { 0 };
	size_t n;

	(void)m;
	(void)a;
	put_be32(cmd + 1, 0x7777);
	put_be32(cmd + 13, 8);
	peer_send_message(p, cmd, sizeof(cmd));
	if (peer_recv_fpdu(p, peer_patience(10000)) != 1 ||
	    p->ulpdu[1] != OP_READ_REQ)
		return END_NO_FRAME;
	put_be32(r, 1);
	n = ulpdu_untagged(big, DDP_UNTAGGED, OP_ATOMIC_RESP, 0, 3, 1, 0, r,
			   sizeof(r));
	peer_send_fpdu(p, big, n, NULL);
	return END_NONE;
}

/* The Atomic Request of the initiator */
static bool asked(struct peer *p)
{
	return peer_recv_fpdu(p, peer_patience(10000)) == 1 &&
	       p->ulpdu[1] == OP_ATOMIC_REQ && p->ulpdu_len == 18 + AREQ_LEN;
}

/* An answer to it, or more than one in a packet; @inval is added to the identifier */
static enum peer_end answer(struct peer *p, const struct target_memory *m,
			    const struct attack *a)
{
	int on = 1, off = 0, i;
	unsigned char r[12];
	size_t n;

	(void)m;
	if (!asked(p))
		return END_NO_FRAME;
	memset(r, 0x11, sizeof(r));
	put_be32(r, get_be32(p->ulpdu + 22) + a->inval);
	setsockopt(p->fd, IPPROTO_TCP, TCP_CORK, &on, sizeof(on));
	for (i = 0; i <= a->region; i++) {
		n = ulpdu_untagged(big, a->ddp, OP_ATOMIC_RESP, 0, a->qn,
				   a->msn + i, a->mo, r, sizeof(r));
		peer_send_fpdu(p, big, n + (int)a->len, NULL);
	}
	setsockopt(p->fd, IPPROTO_TCP, TCP_CORK, &off, sizeof(off));
	return END_NONE;
}

/* A Read Response instead */
static enum peer_end answer_read(struct peer *p, const struct target_memory *m,
				 const struct attack *a)
{
	size_t n;

	(void)m;
	if (!asked(p))
		return END_NO_FRAME;
	n = ulpdu_tagged(big, a->ddp, OP_READ_RESP, 1, 0, "12345678", a->len);
	peer_send_fpdu(p, big, n, NULL);
	return END_NONE;
}

/* clang-format off */
#define IMM segment, .ddp = DDP_UNTAGGED, .rdmap = OP_IMM
#define ATOMIC atomic_request, .qn = 1, .msn = 1
#define OTHER segment, .ddp = DDP_UNTAGGED

const struct attack ext_attacks[] = {
	CASE("Immediate Data", "rx_immediates", ENDS(E_ALIVE), IMM, .msn = 1, .len = 8),
	CASE("Immediate Data with SE", "rx_immediates", ENDS(E_ALIVE),
	     OTHER, .rdmap = OP_IMM_SE, .msn = 1, .len = 8),
	CASE("Send with immediate data", NULL, ENDS(E_ALIVE), OTHER,
	     .rdmap = OP_SEND | OP_FLAG_IMM, .inval = 0x12345678, .msn = 1, .len = 5),
	CASE("Send with SE and immediate data", NULL, ENDS(E_ALIVE), OTHER,
	     .rdmap = OP_SEND_SE | OP_FLAG_IMM, .inval = 0xffffffff, .msn = 1, .len = 5),
	CASE("Send with Invalidate and immediate data", "err_invalidate",
	     ENDS(E_TERM(0, 1, 9)), OTHER, .rdmap = OP_SEND_INV | OP_FLAG_IMM,
	     .inval = 0x12345678, .msn = 1, .len = 5),
	CASE("Immediate Data without content", "err_ddp_buffer", ENDS(E_TERM(1, 2, 5)),
	     IMM, .msn = 1),
	CASE("Immediate Data, 7 bytes", "err_ddp_buffer", ENDS(E_TERM(1, 2, 5)),
	     IMM, .msn = 1, .len = 7),
	CASE("Immediate Data, 9 bytes", "err_ddp_buffer", ENDS(E_TERM(1, 2, 5)),
	     IMM, .msn = 1, .len = 9),
	CASE("Immediate Data on queue 1", "err_ddp_queue", ENDS(E_TERM(1, 2, 1)),
	     IMM, .qn = 1, .msn = 1, .len = 8),
	CASE("Immediate Data, message number 2 first", "err_ddp_msn",
	     ENDS(E_TERM(1, 2, 3)), IMM, .msn = 2, .len = 8),
	CASE("Immediate Data, offset 4", "err_ddp_offset", ENDS(E_TERM(1, 2, 4)),
	     IMM, .msn = 1, .mo = 4, .len = 8),
	CASE("Immediate Data, not the last segment", "err_ddp_buffer", ENDS(E_TERM(1, 2, 5)),
	     segment, .ddp = 1, .rdmap = OP_IMM, .msn = 1, .len = 8),
	CASE("Immediate Data, tagged", "err_rdmap_opcode", ENDS(E_TERM(0, 2, 6)),
	     segment, .ddp = DDP_TAGGED, .rdmap = OP_IMM, .len = 8),
	CASE("Immediate Data inside a Send", "err_ddp_offset", ENDS(E_TERM(1, 2, 4)),
	     inside, .len = 10),
	CASE("Immediate Data inside a Send, where it goes on", "err_ddp_offset",
	     ENDS(E_TERM(1, 2, 4)), inside, .len = 10, .mo = 10),
	CASE("Immediate Data inside a Send without content", "err_ddp_offset",
	     ENDS(E_TERM(1, 2, 4)), inside),
	CASE("Immediate Data claim the Write that there was", NULL, ENDS(E_ALIVE),
	     claim, .len = 100),
	CASE("Immediate Data claim a longer Write", "err_ddp_buffer",
	     ENDS(E_TERM(1, 2, 5)), claim, .len = 101),
	CASE("Immediate Data claim a Write of two segments", NULL, ENDS(E_ALIVE),
	     claim, .ddp = DDP_TAGGED & ~DDP_NOT_LAST, .mo = 1000, .len = 1100),
	CASE("Immediate Data claim the last of two Writes", NULL, ENDS(E_ALIVE),
	     claim, .ddp = DDP_TAGGED, .mo = 1000, .len = 100),
	CASE("Immediate Data claim two Writes", "err_ddp_buffer",
	     ENDS(E_TERM(1, 2, 5)), claim, .ddp = DDP_TAGGED, .mo = 1000,
	     .len = 1100),
	CASE("Immediate Data claim 4 GB", "err_ddp_buffer", ENDS(E_TERM(1, 2, 5)),
	     claim, .len = 0xffffffff),
	CASE("Atomic: three additions", "rx_atomics", ENDS(E_ALIVE),
	     additions, .qn = 1),
	CASE("Atomic: at the end", NULL, ENDS(E_ALIVE),
	     ATOMIC, .to = TARGET_REGION - 8),
	CASE("Atomic: operation 1", "err_rdmap_opcode", ENDS(E_TERM(0, 2, 6)),
	     ATOMIC, .inval = 1),
	CASE("Atomic: operation 15", "err_rdmap_opcode", ENDS(E_TERM(0, 2, 6)),
	     ATOMIC, .inval = 15),
	CASE("Atomic: reserved bits are ignored", NULL, ENDS(E_ALIVE),
	     ATOMIC, .inval = 0xfffffff0),
	CASE("Atomic: not aligned", "err_atomic", ENDS(E_TERM(0, 2, 7)),
	     ATOMIC, .to = 4),
	CASE("Atomic: unknown STag", "err_stag", ENDS(E_TERM(0, 1, 0)),
	     ATOMIC, .region = -1),
	CASE("Atomic: past the end", "err_bounds", ENDS(E_TERM(0, 1, 1)),
	     ATOMIC, .to = TARGET_REGION),
	CASE("Atomic: before the region", "err_bounds", ENDS(E_TERM(0, 1, 1)),
	     ATOMIC, .to = -8ull),
	CASE("Atomic: no right to it", "err_access", ENDS(E_TERM(0, 1, 2)),
	     ATOMIC, .region = REGION_RO),
	CASE("Atomic: foreign protection domain", "err_pd", ENDS(E_TERM(0, 1, 3)),
	     ATOMIC, .region = REGION_FOREIGN),
	CASE("Atomic: message number 2 first", "err_ddp_msn", ENDS(E_TERM(1, 2, 3)),
	     atomic_request, .qn = 1, .msn = 2),
	CASE("Atomic Request on queue 0", "err_ddp_queue", ENDS(E_TERM(1, 2, 1)),
	     atomic_request, .msn = 1),
	CASE("Atomic Request on queue 3", "err_ddp_queue", ENDS(E_TERM(1, 2, 1)),
	     atomic_request, .qn = 3, .msn = 1),
	CASE("Atomic Request, 4 bytes short", "err_ddp_buffer", ENDS(E_TERM(1, 2, 5)),
	     ATOMIC, .len = -4),
	CASE("Atomic Request, 4 bytes more", "err_ddp_buffer", ENDS(E_TERM(1, 2, 5)),
	     ATOMIC, .len = 4),
	CASE("Atomic Request, tagged", "err_rdmap_opcode", ENDS(E_TERM(0, 2, 6)),
	     segment, .ddp = DDP_TAGGED, .rdmap = OP_ATOMIC_REQ, .len = 52),
	CASE("400 Atomic Requests at once", "err_ird", ENDS(E_TERM(1, 2, 2), E_CLOSED),
	     many_atomics, .qn = 1),
	CASE("Atomic Response without a request", "err_rdmap_opcode",
	     ENDS(E_TERM(0, 2, 6)), OTHER, .rdmap = OP_ATOMIC_RESP, .qn = 3,
	     .msn = 1, .len = 12),
	CASE("Atomic Response to a Read Request", "err_rdmap_opcode",
	     ENDS(E_TERM(0, 2, 6)), response_to_read),
	CASE("Atomic Response, 8 bytes", "err_ddp_buffer", ENDS(E_TERM(1, 2, 5)),
	     OTHER, .rdmap = OP_ATOMIC_RESP, .qn = 3, .msn = 1, .len = 8),
	CASE("Atomic Response on queue 1", "err_ddp_queue", ENDS(E_TERM(1, 2, 1)),
	     OTHER, .rdmap = OP_ATOMIC_RESP, .qn = 1, .msn = 1, .len = 12),
};
/* clang-format on */

const unsigned int ext_attack_count = COUNT(ext_attacks);

#define ANSWER answer, .ddp = DDP_UNTAGGED, .qn = 3

/* clang-format off */
const struct attack answer_attacks[] = {
	CASE("answer: as it should be", NULL, ENDS(E_CLOSED), ANSWER, .msn = 1),
	CASE("answer: message number 2 first", "err_ddp_msn", ENDS(E_TERM(1, 2, 3)),
	     ANSWER, .msn = 2),
	CASE("answer: offset 4", "err_ddp_offset", ENDS(E_TERM(1, 2, 4)),
	     ANSWER, .msn = 1, .mo = 4),
	CASE("answer: to another request", "err_atomic", ENDS(E_TERM(0, 2, 0xff)),
	     ANSWER, .msn = 1, .inval = 1),
	CASE("answer: 4 bytes short", "err_ddp_buffer", ENDS(E_TERM(1, 2, 5)),
	     ANSWER, .msn = 1, .len = -4),
	CASE("answer: 4 bytes more", "err_ddp_buffer", ENDS(E_TERM(1, 2, 5)),
	     ANSWER, .msn = 1, .len = 4),
	CASE("answer: on queue 0", "err_ddp_queue", ENDS(E_TERM(1, 2, 1)),
	     answer, .ddp = DDP_UNTAGGED, .msn = 1),
	CASE("answer: two", "err_rdmap_opcode", ENDS(E_TERM(0, 2, 6)),
	     ANSWER, .msn = 1, .region = 1),
	CASE("answer: a Read Response", "err_read_response", ENDS(E_TERM(0, 2, 6)),
	     answer_read, .ddp = DDP_TAGGED, .len = 8),
	CASE("answer: a Read Response of nothing", "err_read_response",
	     ENDS(E_TERM(0, 2, 6)), answer_read, .ddp = DDP_TAGGED),
};
/* clang-format on */

const unsigned int answer_attack_count = COUNT(answer_attacks);
