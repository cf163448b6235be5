// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * DDP protocol elements, freestanding. See ddp.h.
 */
#include "ddp.h"

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
EXPORT_SYMBOL_GPL(ddp_parse);

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
EXPORT_SYMBOL_GPL(ddp_check_untagged);
