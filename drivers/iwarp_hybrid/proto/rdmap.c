// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * RDMAP protocol elements, freestanding. See rdmap.h.
 */
#include "rdmap.h"

#define RDMAP_RV_MASK	0xc0
#define RDMAP_RV	0x40

#define TERM_HDRCT_M	0x8000U
#define TERM_HDRCT_D	0x4000U
#define TERM_HDRCT_R	0x2000U

static u32 rdmap_check_single(const struct ddp_hdr *h, u32 qn)
{
	if (h->qn != qn)
		return TERM_UNT_QN;
	if (h->mo)
		return TERM_UNT_MO;
	if (!h->last)
		return TERM_UNT_LEN;
	return 0;
}

u32 rdmap_check(const struct ddp_hdr *h)
{
	u32 op = RDMAP_OP(h->rdmap);
	u32 err;

	if ((h->rdmap & RDMAP_RV_MASK) != RDMAP_RV)
		return TERM_OP_VERSION;

	switch (op) {
	case RDMAP_WRITE:
	case RDMAP_READ_RESP:
		return h->tagged ? 0 : TERM_OP_OPCODE;
	case RDMAP_SEND:
	case RDMAP_SEND_INV:
	case RDMAP_SEND_SE:
	case RDMAP_SEND_SE_INV:
		if (h->tagged)
			return TERM_OP_OPCODE;
		return h->qn == DDP_QN_SEND ? 0 : TERM_UNT_QN;
	case RDMAP_READ_REQ:
		if (h->tagged)
			return TERM_OP_OPCODE;
		err = rdmap_check_single(h, DDP_QN_READ);
		if (!err && h->payload != RDMAP_RREQ_LEN)
			err = TERM_UNT_LEN;
		return err;
	case RDMAP_TERM:
		if (h->tagged)
			return TERM_OP_OPCODE;
		return rdmap_check_single(h, DDP_QN_TERM);
	default:
		return TERM_OP_OPCODE;
	}
}

void rdmap_rreq_parse(const u8 *p, struct rdmap_rreq *r)
{
	r->sink_stag = proto_get32(p);
	r->sink_to = proto_get64(p + 4);
	r->size = proto_get32(p + 12);
	r->src_stag = proto_get32(p + 16);
	r->src_to = proto_get64(p + 20);
}

void rdmap_rreq_put(u8 *p, const struct rdmap_rreq *r)
{
	proto_put32(p, r->sink_stag);
	proto_put64(p + 4, r->sink_to);
	proto_put32(p + 12, r->size);
	proto_put32(p + 16, r->src_stag);
	proto_put64(p + 20, r->src_to);
}

/* Which copies the error wants: RFC 5040 section 4.8, table of HdrCt */
static u32 rdmap_term_hdrct(u32 err, const u8 *hdr, u32 hdr_len)
{
	u32 ddp_len;
	u32 hdrct;

	if (!hdr || hdr_len < 2 || TERM_LAYER(err) > 1)
		return 0;
	if (TERM_TYPE(err) == 0)
		return 0;
	ddp_len = hdr[0] & DDP_T ? DDP_TAGGED_LEN : DDP_UNTAGGED_LEN;
	if (hdr_len < ddp_len)
		return 0;

	hdrct = TERM_HDRCT_M | TERM_HDRCT_D;
	if (TERM_LAYER(err) == 0 && TERM_TYPE(err) == 1 &&
	    ddp_len == DDP_UNTAGGED_LEN &&
	    RDMAP_OP(hdr[1]) == RDMAP_READ_REQ &&
	    hdr_len >= ddp_len + RDMAP_RREQ_LEN)
		hdrct |= TERM_HDRCT_R;
	return hdrct;
}

u32 rdmap_term_build(u8 *p, u32 err, const u8 *hdr, u32 hdr_len, u32 seg_len)
{
	u32 hdrct = rdmap_term_hdrct(err, hdr, hdr_len);
	u32 len = DDP_UNTAGGED_LEN;
	u32 ddp_len;

	ddp_put_untagged(p, true, RDMAP_CTRL(RDMAP_TERM), 0, DDP_QN_TERM, 1, 0);
	proto_put32(p + len, TERM_LAYER(err) << 28 | TERM_TYPE(err) << 24 |
			     TERM_CODE(err) << 16 | hdrct);
	len += 4;
	if (!hdrct)
		return len;

	proto_put16(p + len, (u16)seg_len);
	len += 2;
	ddp_len = hdr[0] & DDP_T ? DDP_TAGGED_LEN : DDP_UNTAGGED_LEN;
	memcpy(p + len, hdr, ddp_len);
	len += ddp_len;
	if (hdrct & TERM_HDRCT_R) {
		memcpy(p + len, hdr + ddp_len, RDMAP_RREQ_LEN);
		len += RDMAP_RREQ_LEN;
	}
	return len;
}

u32 rdmap_term_parse(const u8 *p, u32 len)
{
	u32 word;

	if (len < 4)
		return 0;
	word = proto_get32(p);
	return TERM(word >> 28, word >> 24 & 0xf, word >> 16 & 0xff);
}
