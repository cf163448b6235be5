// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Out-of-order placement, freestanding. See ooo.h. Calls ddp.c and rdmap.c.
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
	/* a header never begins at the position of a marker */
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

/* Do both belong to one message, @b after @a, or to one piece of memory? */
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

/* Append @r to the range before it, if both can be one */
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
EXPORT_SYMBOL_GPL(ooo_advance);

/* ---------------------------------------------------------------- walks */

/* Record that the bytes up to @end stay unplaced until they are in order */
static bool ooo_defer(struct ooo_walk *w, u64 pos, u64 end, bool edge,
		      enum ooo_why why)
{
	struct ooo_range r = { .pos = pos, .len = end - pos, .edge = edge };

	w->ops->defer(w, why, pos);
	return ooo_add(w->table, &r);
}

static bool ooo_placed(struct ooo_walk *w, const struct ooo_fpdu *f)
{
	struct ooo_range r = {
		.pos = f->pos,
		.len = f->total,
		.fpdus = 1,
		.payload = f->h.payload,
		.ulpdu = f->ulpdu,
		.placed = true,
		.edge = true,
		.last = f->h.last,
	};

	memcpy(r.hdr, f->hdr + MPA_LEN_SIZE, sizeof(r.hdr));
	return ooo_add(w->table, &r);
}

/* Length and headers, a private copy without markers; false if nonsense */
static bool ooo_headers(struct ooo_walk *w, struct ooo_fpdu *f)
{
	u32 body = MPA_LEN_SIZE + (f->ulpdu < DDP_HDR_MAX ? f->ulpdu :
							    DDP_HDR_MAX);
	u32 at, n;

	for (at = 0; at < body; at += n) {
		n = mpa_body_run(f->pos, at, w->ivl);
		if (n > body - at)
			n = body - at;
		if (!w->ops->copy(w, f->pos + mpa_body_off(f->pos, at, w->ivl),
				  f->hdr + at, n))
			return false;
	}
	return !ddp_parse(f->hdr + MPA_LEN_SIZE, f->ulpdu, &f->h) &&
	       !rdmap_check(&f->h);
}

/*
 * Handle the FPDU that begins at @pos. Nothing up to @limit has been examined. Returns
 * the position to continue at, or 0 to stop.
 */
static u64 ooo_one(struct ooo_walk *w, u64 pos, u64 limit)
{
	struct ooo_fpdu f = { .pos = pos };
	u32 lead = mpa_lead_len(pos, w->ivl);
	u8 len[MPA_LEN_SIZE];
	enum ooo_why why;

	f.total = lead + MPA_LEN_SIZE;
	if (pos + f.total <= limit) {
		if (!w->ops->copy(w, pos + lead, len, sizeof(len)))
			return 0;
		f.ulpdu = proto_get16(len);
		f.total = mpa_fpdu_len(pos, f.ulpdu, w->ivl);
		if (f.ulpdu > MPA_ULPDU_MAX || f.ulpdu < DDP_TAGGED_LEN)
			goto bad;
	}
	if (pos + f.total > w->end) {
		w->ops->defer(w, OOO_PARTIAL, pos);
		return 0;
	}
	if (pos + f.total > limit)	/* the next FPDU contradicts this length */
		goto bad;
	why = ooo_headers(w, &f) ? w->ops->take(w, &f) : OOO_BAD;
	if (why == OOO_BAD)
		goto bad;
	if (why == OOO_NOW ? !ooo_placed(w, &f) :
			     !ooo_defer(w, pos, pos + f.total, true, why))
		return 0;
	return pos + f.total;

bad:	/* the start of the next FPDU is unknown */
	return ooo_defer(w, pos, limit, false, OOO_BAD) ? limit : 0;
}

/*
 * Find the first FPDU that begins in [@pos, @limit), by the markers there. An FPDU that
 * began before @pos reaches no further after it than the longest FPDU. The first marker
 * after that belongs to a later one, so the search ends there.
 */
static bool ooo_first(struct ooo_walk *w, u64 pos, u64 limit, u64 *start)
{
	u64 mark = pos + mpa_to_mark(pos, w->ivl);
	u64 max = pos + mpa_fpdu_len(0, MPA_ULPDU_MAX, w->ivl) + w->ivl;
	u8 p[MPA_MARK_SIZE];

	for (; mark < max && mark + sizeof(p) <= limit; mark += w->ivl) {
		if (!w->ops->copy(w, mark, p, sizeof(p)))
			return false;
		if (ooo_mark_start(mark, p, w->ivl, start) && *start >= pos)
			return *start < limit;
	}
	return false;
}

void ooo_walk_run(struct ooo_walk *w, u64 pos)
{
	const struct ooo_range *r;
	u64 limit, from = pos;
	bool edge = false;

	while (pos && pos < w->end) {
		r = ooo_at(w->table, ooo_find(w->table, pos));
		if (r && r->pos <= pos) {
			pos = r->pos + r->len;
			edge = r->edge;
			continue;
		}
		if (w->table->nr == OOO_RANGES) {
			w->ops->defer(w, OOO_LIMIT, pos);
			break;
		}
		limit = r && r->pos < w->end ? r->pos : w->end;
		if (edge) {
			pos = ooo_one(w, pos, limit);
		} else if (ooo_first(w, pos, limit, &pos)) {
			edge = true;
		} else {
			if (limit == w->end)
				w->ops->defer(w, OOO_MARK, from);
			pos = limit;
		}
	}
}
EXPORT_SYMBOL_GPL(ooo_walk_run);
