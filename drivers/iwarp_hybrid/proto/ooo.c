// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Out-of-order placement, freestanding. See ooo.h.
 */
#include "ooo.h"

bool ooo_mark_start(u64 mark, const u8 *p, u32 ivl, u64 *start)
{
	u32 back = proto_get16(p + 2) & ~3U;
	u64 head;

	if (!back) {
		*start = mark;
		return true;
	}
	if (back > mark)
		return false;
	head = mark - back;
	/* a place of markers is never that of a header */
	if (!mpa_to_mark(head, ivl))
		return false;
	*start = head;
	if (head >= MPA_MARK_SIZE && !mpa_to_mark(head - MPA_MARK_SIZE, ivl))
		*start -= MPA_MARK_SIZE;
	return true;
}

u32 ooo_find(const struct ooo_table *t, u64 pos)
{
	u32 low = 0, high = t->nr, mid;
	const struct ooo_range *r;

	while (low < high) {
		mid = low + (high - low) / 2;
		r = &t->range[t->first + mid];
		if (r->pos + r->len > pos)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

/* Do both belong to one message, @b behind @a, or to one piece of memory? */
static bool ooo_same(const struct ooo_range *a, const struct ooo_range *b)
{
	struct ddp_hdr x, y;

	if (ddp_parse(a->hdr, a->ulpdu, &x) || ddp_parse(b->hdr, b->ulpdu, &y))
		return false;
	if (x.tagged != y.tagged || x.rdmap != y.rdmap)
		return false;
	if (a->last && RDMAP_OP(x.rdmap) != RDMAP_WRITE)
		return false;
	if (x.tagged)
		return x.stag == y.stag && x.to + a->payload == y.to;
	return x.qn == y.qn && x.msn == y.msn && x.inval == y.inval &&
	       (u64)x.mo + a->payload == y.mo;
}

/* Append @r to the range in front of it, if both can be one */
static bool ooo_join(struct ooo_range *a, const struct ooo_range *r)
{
	if (a->pos + a->len != r->pos || a->placed != r->placed)
		return false;
	if (a->len + r->len < a->len || (a->placed && !ooo_same(a, r)))
		return false;
	a->len += r->len;
	a->fpdus += r->fpdus;
	a->payload += r->payload;
	a->edge = r->edge;
	a->last = r->last;
	return true;
}

bool ooo_add(struct ooo_table *t, const struct ooo_range *r)
{
	u32 i = ooo_find(t, r->pos);
	struct ooo_range *at;

	if (i && ooo_join(ooo_at(t, i - 1), r))
		return true;
	if (t->nr == OOO_RANGES)
		return false;
	if (t->first + t->nr == OOO_RANGES) {
		memmove(t->range, t->range + t->first,
			t->nr * sizeof(t->range[0]));
		t->first = 0;
	}
	at = &t->range[t->first + i];
	memmove(at + 1, at, (t->nr - i) * sizeof(*at));
	*at = *r;
	t->nr++;
	return true;
}

void ooo_advance(struct ooo_table *t, u32 len)
{
	struct ooo_range *r = ooo_at(t, 0);

	r->pos += len;
	r->len -= len;
	if (r->len)
		return;
	t->first++;
	t->nr--;
	if (!t->nr)
		t->first = 0;
}
