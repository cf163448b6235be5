// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * DDP protocol elements, freestanding. See ddp.h.
 */
#include "ddp.h"

#define DDP_T		0x80
#define DDP_L		0x40
#define DDP_DV_MASK	0x03
#define DDP_DV		0x01

u32 ddp_parse(const u8 *p, u32 ulpdu_len, struct ddp_hdr *h)
{
	if (ulpdu_len < 2)
		return TERM_DDP_LOCAL;
	h->tagged = p[0] & DDP_T;
	h->last = p[0] & DDP_L;
	h->rdmap = p[1];
	if ((p[0] & DDP_DV_MASK) != DDP_DV)
		return h->tagged ? TERM_TAG_VERSION : TERM_UNT_VERSION;

	h->hdr_len = h->tagged ? DDP_TAGGED_LEN : DDP_UNTAGGED_LEN;
	if (ulpdu_len < h->hdr_len)
		return TERM_DDP_LOCAL;
	h->payload = ulpdu_len - h->hdr_len;
	if (h->tagged) {
		h->stag = proto_get32(p + 2);
		h->to = proto_get64(p + 6);
		return 0;
	}
	h->inval = proto_get32(p + 2);
	h->qn = proto_get32(p + 6);
	h->msn = proto_get32(p + 10);
	h->mo = proto_get32(p + 14);
	return 0;
}

u32 ddp_check_untagged(const struct ddp_hdr *h, u32 msn, u32 mo, u32 room)
{
	if (h->msn != msn)
		return TERM_UNT_MSN;
	if (h->mo != mo)
		return TERM_UNT_MO;
	if (mo > room || h->payload > room - mo)
		return TERM_UNT_LEN;
	return 0;
}

void ddp_put_tagged(u8 *p, bool last, u8 rdmap, u32 stag, u64 to)
{
	p[0] = DDP_T | (last ? DDP_L : 0) | DDP_DV;
	p[1] = rdmap;
	proto_put32(p + 2, stag);
	proto_put64(p + 6, to);
}

void ddp_put_untagged(u8 *p, bool last, u8 rdmap, u32 inval, u32 qn, u32 msn,
		      u32 mo)
{
	p[0] = (last ? DDP_L : 0) | DDP_DV;
	p[1] = rdmap;
	proto_put32(p + 2, inval);
	proto_put32(p + 6, qn);
	proto_put32(p + 10, msn);
	proto_put32(p + 14, mo);
}
