/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * RDMAP: operations, Read Requests and Terminate messages (RFC 5040), atomics
 * and immediate data (RFC 7306).
 *
 * Freestanding, see types.h. Calls ddp.
 */
#ifndef LIB_IWARP_RDMAP_H
#define LIB_IWARP_RDMAP_H

#include "ddp.h"

/* INV: with Invalidate; SE: with Solicited Event; IMM: Immediate Data */
enum rdmap_op {
	RDMAP_WRITE		= 0x0,
	RDMAP_READ_REQ		= 0x1,
	RDMAP_READ_RESP		= 0x2,
	RDMAP_SEND		= 0x3,
	RDMAP_SEND_INV		= 0x4,
	RDMAP_SEND_SE		= 0x5,
	RDMAP_SEND_SE_INV	= 0x6,
	RDMAP_TERM		= 0x7,
	RDMAP_IMM		= 0x8,
	RDMAP_IMM_SE		= 0x9,
	RDMAP_ATOMIC_REQ	= 0xa,
	RDMAP_ATOMIC_RESP	= 0xb,
};

/* Control field: version (1) in the two upper bits, operation in the lower four */
#define RDMAP_OP(ctrl)		((ctrl) & 0x0f)
#define RDMAP_CTRL(op)		(0x40 | (op))

/*
 * Not of the standard, which reserves this bit of the control field: in a Send
 * without Invalidate, the word for an STag to invalidate is immediate data.
 * Only between peers that have agreed to it, see MPA_CODE_EXT.
 */
#define RDMAP_SEND_IMM		0x10

#define RDMAP_RREQ_LEN		28	/* after the DDP header */
#define RDMAP_RREQ_ULPDU	(DDP_UNTAGGED_LEN + RDMAP_RREQ_LEN)
#define RDMAP_IMM_LEN		8
#define RDMAP_IMM_ULPDU		(DDP_UNTAGGED_LEN + RDMAP_IMM_LEN)
#define RDMAP_AREQ_LEN		52
#define RDMAP_AREQ_ULPDU	(DDP_UNTAGGED_LEN + RDMAP_AREQ_LEN)
#define RDMAP_ARESP_LEN		12
#define RDMAP_ARESP_ULPDU	(DDP_UNTAGGED_LEN + RDMAP_ARESP_LEN)
#define RDMAP_HDR_MAX		RDMAP_AREQ_ULPDU	/* of all operations */

/* Is @op one of the four Sends? Does it invalidate, does it ask for an event? */
static inline bool rdmap_is_send(u32 op)
{
	return op >= RDMAP_SEND && op <= RDMAP_SEND_SE_INV;
}

static inline bool rdmap_send_invalidates(u32 op)
{
	return op == RDMAP_SEND_INV || op == RDMAP_SEND_SE_INV;
}

static inline bool rdmap_send_solicited(u32 op)
{
	return op == RDMAP_SEND_SE || op == RDMAP_SEND_SE_INV;
}

/* The Send opcode with these properties */
static inline u8 rdmap_send_op(bool solicited, bool invalidate)
{
	return (u8)(RDMAP_SEND + (invalidate ? 1 : 0) + (solicited ? 2 : 0));
}

/**
 * rdmap_check - may this operation come in a segment with this header?
 * @h: result of ddp_parse()
 *
 * Checks version, opcode, tagged or not, and queue number. Read Requests,
 * Terminates and all operations of RFC 7306 must be one segment with message
 * offset 0; except for Terminate their length is checked, too.
 *
 * Return: 0 or an error.
 */
u32 rdmap_check(const struct ddp_hdr *h);

/**
 * struct rdmap_rreq - Read Request
 * @sink_stag: STag of the memory that the response goes to
 * @sink_to: tagged offset there
 * @size: bytes to read
 * @src_stag: STag of the memory that they are in
 * @src_to: tagged offset there
 */
struct rdmap_rreq {
	u32 sink_stag;
	u64 sink_to;
	u32 size;
	u32 src_stag;
	u64 src_to;
};

/* Decode from, encode to, the RDMAP_RREQ_LEN bytes after the DDP header */
void rdmap_rreq_parse(const u8 *p, struct rdmap_rreq *r);
void rdmap_rreq_put(u8 *p, const struct rdmap_rreq *r);

enum rdmap_atomic_op {
	RDMAP_FETCH_ADD		= 0,
	RDMAP_CMP_SWAP		= 2,
};

/**
 * struct rdmap_areq - Atomic Request
 * @op: enum rdmap_atomic_op, not checked
 * @id: chosen by the requester, comes back in the response
 * @stag: STag of the memory that the 64 bits are in
 * @to: tagged offset there
 * @data: to add, or to swap in
 * @data_mask: of an addition: the top bits of independent fields; of a swap:
 *	       the bits that are replaced
 * @compare: value to compare the old one with
 * @compare_mask: bits that are compared
 */
struct rdmap_areq {
	u32 op;
	u32 id;
	u32 stag;
	u64 to;
	u64 data;
	u64 data_mask;
	u64 compare;
	u64 compare_mask;
};

/* Decode from, encode to, the RDMAP_AREQ_LEN bytes after the DDP header */
void rdmap_areq_parse(const u8 *p, struct rdmap_areq *r);
void rdmap_areq_put(u8 *p, const struct rdmap_areq *r);

/**
 * rdmap_atomic - the new value of an atomic operation
 * @r: Atomic Request
 * @old: value before
 * @new: value after, @old if a comparison failed
 *
 * RFC 7306 section 5.
 *
 * Return: 0, or an error if there is no such operation.
 */
u32 rdmap_atomic(const struct rdmap_areq *r, u64 old, u64 *new);

/* DDP header, control word, length, copied DDP and Read Request headers */
#define RDMAP_TERM_MAX (DDP_UNTAGGED_LEN + 4 + 2 + DDP_HDR_MAX + RDMAP_RREQ_LEN)

/**
 * rdmap_term_build - ULPDU of a Terminate message
 * @p: room for RDMAP_TERM_MAX bytes
 * @err: TERM(layer, type, code)
 * @hdr: first bytes of the ULPDU that was refused, or NULL
 * @hdr_len: how many there are
 * @seg_len: length of that ULPDU
 *
 * Includes the headers where RFC 5040 section 4.8 wants them, as far as they
 * are there.
 *
 * Return: bytes written.
 */
u32 rdmap_term_build(u8 *p, u32 err, const u8 *hdr, u32 hdr_len, u32 seg_len);

/* Bytes of a Terminate, after its DDP header, that the two functions below read */
#define RDMAP_TERM_LOOK	(4 + 2 + DDP_UNTAGGED_LEN)

/**
 * rdmap_term_parse - decode a Terminate message
 * @p: bytes after the DDP header
 * @len: how many
 *
 * Return: TERM(layer, type, code), or 0 if it is too short to tell.
 */
u32 rdmap_term_parse(const u8 *p, u32 len);

/**
 * rdmap_term_request - which Read or Atomic Request a Terminate refuses
 * @p: bytes after the DDP header
 * @len: how many
 * @msn: result: its message number, as in the peer's copy of the header
 *
 * Return: false if it does not say, refuses something else, or reports no error of RDMAP.
 */
bool rdmap_term_request(const u8 *p, u32 len, u32 *msn);

#endif
