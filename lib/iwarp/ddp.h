/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * DDP: segment headers and the checks before placement (RFC 5041).
 *
 * Freestanding, see types.h. Calls nothing.
 */
#ifndef LIB_IWARP_DDP_H
#define LIB_IWARP_DDP_H

#include "types.h"

/*
 * Errors of all layers, as a Terminate message names them: layer, type, code.
 * 0 means no error; TERM_SET tells "no error" from layer 0, type 0, code 0.
 */
#define TERM_SET		0x10000U
#define TERM(layer, type, code)	(TERM_SET | (layer) << 12 | (type) << 8 | (code))
#define TERM_LAYER(err)		((err) >> 12 & 0xf)
#define TERM_TYPE(err)		((err) >> 8 & 0xf)
#define TERM_CODE(err)		((err) & 0xff)

/*
 * RDMAP, RFC 5040 section 4.8. TERM_OP_STREAM: error local to the stream; also used for a
 * misaligned atomic operation
 */
#define TERM_RDMAP_LOCAL	TERM(0U, 0U, 0x00U)
#define TERM_PROT_STAG		TERM(0U, 1U, 0x00U)
#define TERM_PROT_BOUNDS	TERM(0U, 1U, 0x01U)
#define TERM_PROT_ACCESS	TERM(0U, 1U, 0x02U)
#define TERM_PROT_STREAM	TERM(0U, 1U, 0x03U)
#define TERM_PROT_WRAP		TERM(0U, 1U, 0x04U)
#define TERM_PROT_INVAL		TERM(0U, 1U, 0x09U)
#define TERM_OP_VERSION		TERM(0U, 2U, 0x05U)
#define TERM_OP_OPCODE		TERM(0U, 2U, 0x06U)
#define TERM_OP_STREAM		TERM(0U, 2U, 0x07U)
#define TERM_OP_UNSPEC		TERM(0U, 2U, 0xffU)
/* DDP, RFC 5041 section 7 */
#define TERM_DDP_LOCAL		TERM(1U, 0U, 0x00U)
#define TERM_TAG_STAG		TERM(1U, 1U, 0x00U)
#define TERM_TAG_BOUNDS		TERM(1U, 1U, 0x01U)
#define TERM_TAG_STREAM		TERM(1U, 1U, 0x02U)
#define TERM_TAG_WRAP		TERM(1U, 1U, 0x03U)
#define TERM_TAG_VERSION	TERM(1U, 1U, 0x04U)
#define TERM_UNT_QN		TERM(1U, 2U, 0x01U)
#define TERM_UNT_NOBUF		TERM(1U, 2U, 0x02U)
#define TERM_UNT_MSN		TERM(1U, 2U, 0x03U)
#define TERM_UNT_MO		TERM(1U, 2U, 0x04U)
#define TERM_UNT_LEN		TERM(1U, 2U, 0x05U)
#define TERM_UNT_VERSION	TERM(1U, 2U, 0x06U)
/* MPA, RFC 5044 section 8, RFC 6581 section 8 */
#define TERM_MPA(code)		TERM(2U, 0U, (unsigned int)(code))
#define TERM_MPA_CRC		TERM_MPA(2)
#define TERM_MPA_MARKER		TERM_MPA(3)
#define TERM_MPA_LOCAL		TERM_MPA(5)

/* DDP control field: Tagged, Last, reserved bits, version */
#define DDP_T			0x80
#define DDP_L			0x40
#define DDP_DV_MASK		0x03
#define DDP_DV			0x01

#define DDP_TAGGED_LEN		14
#define DDP_UNTAGGED_LEN	18
#define DDP_HDR_MAX		DDP_UNTAGGED_LEN

#define DDP_QN_SEND		0	/* Sends, Immediate Data */
#define DDP_QN_READ		1	/* Read Requests, Atomic Requests */
#define DDP_QN_TERM		2
#define DDP_QN_ATOMIC		3	/* Atomic Responses */
#define DDP_QN_COUNT		4

/**
 * struct ddp_hdr - decoded segment header
 * @tagged: T
 * @last: L
 * @rdmap: byte reserved for the ULP, the RDMAP control field
 * @hdr_len: bytes of the header
 * @payload: bytes after it
 * @stag: tagged: sink STag
 * @to: tagged: sink tagged offset
 * @inval: untagged: word reserved for the ULP, STag to invalidate
 * @qn: untagged: queue
 * @msn: untagged: message number
 * @mo: untagged: message offset
 */
struct ddp_hdr {
	bool tagged;
	bool last;
	u8 rdmap;
	u8 hdr_len;
	u32 payload;
	u32 stag;
	u64 to;
	u32 inval;
	u32 qn;
	u32 msn;
	u32 mo;
};

/**
 * ddp_parse - decode the header of a segment
 * @p: first bytes of the ULPDU; min(@ulpdu_len, DDP_HDR_MAX) are readable
 * @ulpdu_len: length of the ULPDU
 * @h: result
 *
 * Return: 0 or an error: version, or a ULPDU too short for its header.
 */
u32 ddp_parse(const u8 *p, u32 ulpdu_len, struct ddp_hdr *h);

/**
 * ddp_check_untagged - is this the segment that is due on its queue?
 * @h: header of an untagged segment
 * @msn: message number due
 * @mo: offset due, 0 at the start of a message
 * @room: bytes the message's buffer holds in all
 *
 * Segments of a message must be in order. All known senders transmit them in order,
 * and TCP keeps the order.
 *
 * Return: 0 or an error.
 */
u32 ddp_check_untagged(const struct ddp_hdr *h, u32 msn, u32 mo, u32 room);

/* Is a byte of the @len from offset @to on beyond 2^64 - 1? */
static inline bool ddp_to_wraps(u64 to, u64 len)
{
	return len && to + (len - 1) < to;
}

/**
 * ddp_put_tagged - encode a tagged header
 * @p: room for DDP_TAGGED_LEN bytes
 * @last: L
 * @rdmap: RDMAP control field
 * @stag: sink STag
 * @to: sink tagged offset
 */
static inline void ddp_put_tagged(u8 *p, bool last, u8 rdmap, u32 stag, u64 to)
{
	p[0] = DDP_T | (last ? DDP_L : 0) | DDP_DV;
	p[1] = rdmap;
	proto_put32(p + 2, stag);
	proto_put64(p + 6, to);
}

/**
 * ddp_put_untagged - encode an untagged header
 * @p: room for DDP_UNTAGGED_LEN bytes
 * @last: L
 * @rdmap: RDMAP control field
 * @inval: STag to invalidate, or 0
 * @qn: queue
 * @msn: message number
 * @mo: message offset
 */
static inline void ddp_put_untagged(u8 *p, bool last, u8 rdmap, u32 inval,
				    u32 qn, u32 msn, u32 mo)
{
	p[0] = (last ? DDP_L : 0) | DDP_DV;
	p[1] = rdmap;
	proto_put32(p + 2, inval);
	proto_put32(p + 6, qn);
	proto_put32(p + 10, msn);
	proto_put32(p + 14, mo);
}

/**
 * ddp_next_tagged - header of another segment of a message
 * @p: room for DDP_TAGGED_LEN bytes
 * @hdr: header of the first one, without L: neither of the two is the last
 * @to: sink tagged offset
 */
static inline void ddp_next_tagged(u8 *p, const u8 *hdr, u64 to)
{
	memcpy(p, hdr, 6);
	proto_put64(p + 6, to);
}

/**
 * ddp_next_untagged - header of another segment of a message
 * @p: room for DDP_UNTAGGED_LEN bytes
 * @hdr: header of the first one, without L: neither of the two is the last
 * @mo: message offset
 */
static inline void ddp_next_untagged(u8 *p, const u8 *hdr, u32 mo)
{
	memcpy(p, hdr, 14);
	proto_put32(p + 14, mo);
}

#endif
