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
	if (h->tagged)
		return TERM_OP_OPCODE;
	if (h->qn != qn)
		return TERM_UNT_QN;
	if (h->mo)
		return TERM_UNT_MO;
	if (!h->last)
		return TERM_UNT_LEN;
	return 0;
}

static u32 rdmap_check_sized(const struct ddp_hdr *h, u32 qn, u32 len)
{
	u32 err = rdmap_check_single(h, qn);

	if (!err && h->payload != len)
		err = TERM_UNT_LEN;
	return err;
}

u32 rdmap_check(const struct ddp_hdr *h)
{
	u32 op = RDMAP_OP(h->rdmap);

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
		return rdmap_check_sized(h, DDP_QN_READ, RDMAP_RREQ_LEN);
	case RDMAP_TERM:
		return rdmap_check_single(h, DDP_QN_TERM);
	case RDMAP_IMM:
	case RDMAP_IMM_SE:
		return rdmap_check_sized(h, DDP_QN_SEND, RDMAP_IMM_LEN);
	case RDMAP_ATOMIC_REQ:
		return rdmap_check_sized(h, DDP_QN_READ, RDMAP_AREQ_LEN);
	case RDMAP_ATOMIC_RESP:
		return rdmap_check_sized(h, DDP_QN_ATOMIC, RDMAP_ARESP_LEN);
	default:
		return TERM_OP_OPCODE;
	}
}
EXPORT_SYMBOL_GPL(rdmap_check);

void rdmap_rreq_parse(const u8 *p, struct rdmap_rreq *r)
{
	r->sink_stag = proto_get32(p);
	r->sink_to = proto_get64(p + 4);
	r->size = proto_get32(p + 12);
	r->src_stag = proto_get32(p + 16);
	r->src_to = proto_get64(p + 20);
}
EXPORT_SYMBOL_GPL(rdmap_rreq_parse);

void rdmap_rreq_put(u8 *p, const struct rdmap_rreq *r)
{
	proto_put32(p, r->sink_stag);
	proto_put64(p + 4, r->sink_to);
	proto_put32(p + 12, r->size);
	proto_put32(p + 16, r->src_stag);
	proto_put64(p + 20, r->src_to);
}
EXPORT_SYMBOL_GPL(rdmap_rreq_put);

void rdmap_areq_parse(const u8 *p, struct rdmap_areq *r)
{
	r->op = proto_get32(p) & 0xf;
	r->id = proto_get32(p + 4);
	r->stag = proto_get32(p + 8);
	r->to = proto_get64(p + 12);
	r->data = proto_get64(p + 20);
	r->data_mask = proto_get64(p + 28);
	r->compare = proto_get64(p + 36);
	r->compare_mask = proto_get64(p + 44);
}
EXPORT_SYMBOL_GPL(rdmap_areq_parse);

void rdmap_areq_put(u8 *p, const struct rdmap_areq *r)
{
	proto_put32(p, r->op & 0xf);
	proto_put32(p + 4, r->id);
	proto_put32(p + 8, r->stag);
	proto_put64(p + 12, r->to);
	proto_put64(p + 20, r->data);
	proto_put64(p + 28, r->data_mask);
	proto_put64(p + 36, r->compare);
	proto_put64(p + 44, r->compare_mask);
}
EXPORT_SYMBOL_GPL(rdmap_areq_put);

/*
 * Add fields of which @top has the highest bits: all bits below them in one
 * addition, which cannot leave a field, then the top bits without carry.
 */
static u64 rdmap_add_fields(u64 a, u64 b, u64 top)
{
	return ((a & ~top) + (b & ~top)) ^ ((a ^ b) & top);
}

u32 rdmap_atomic(const struct rdmap_areq *r, u64 old, u64 *new)
{
	switch (r->op) {
	case RDMAP_FETCH_ADD:
		*new = rdmap_add_fields(old, r->data, r->data_mask);
		return 0;
	case RDMAP_CMP_SWAP:
		*new = old;
		if (!((old ^ r->compare) & r->compare_mask))
			*new = (old & ~r->data_mask) | (r->data & r->data_mask);
		return 0;
	default:
		return TERM_OP_OPCODE;
	}
}
EXPORT_SYMBOL_GPL(rdmap_atomic);

/* Headers to copy for an error, as far as they are there: table of HdrCt, RFC 5040 section 4.8 */
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
EXPORT_SYMBOL_GPL(rdmap_term_build);

u32 rdmap_term_parse(const u8 *p, u32 len)
{
	u32 word;

	if (len < 4)
		return 0;
	word = proto_get32(p);
	return TERM(word >> 28, word >> 24 & 0xf, word >> 16 & 0xff);
}
EXPORT_SYMBOL_GPL(rdmap_term_parse);

bool rdmap_term_request(const u8 *p, u32 len, u32 *msn)
{
	const u8 *ddp = p + 4 + 2;

	if (len < RDMAP_TERM_LOOK || !(proto_get32(p) & TERM_HDRCT_D))
		return false;
	if (TERM_LAYER(rdmap_term_parse(p, len)) || ddp[0] & DDP_T ||
	    proto_get32(ddp + 6) != DDP_QN_READ)
		return false;
	*msn = proto_get32(ddp + 10);
	return true;
}
EXPORT_SYMBOL_GPL(rdmap_term_request);
