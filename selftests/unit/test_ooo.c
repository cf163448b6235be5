// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Unit tests: where FPDUs begin in bytes after a gap, and the table of those that were
 * placed out of order.
 */
#include <stdio.h>

#include "iwarp/ooo.h"
#include "layout.h"
#include "unit.h"

static struct layout l;

static void make_stream(void)
{
	unsigned char seed[512];
	struct layout_source src = { seed, sizeof(seed) };
	const char *fault;

	memset(&l, 0, sizeof(l));
	unit_random_bytes(seed, sizeof(seed));
	fault = layout_make(&l, &src);
	if (fault)
		printf("# %s\n", fault);
	CHECK(!fault);
}

/* Every marker of a stream names the FPDU that it is in, and no other. */
static void test_markers(void)
{
	uint32_t i, mark, fpdu, seen = 0;
	u64 start;

	for (i = 0; i < 300; i++) {
		make_stream();
		/* no FPDU begins after a marker that is another's */
		if (!l.ivl || (l.pos - 4) % l.ivl == 0)
			continue;
		mark = mpa_to_mark(l.pos, l.ivl);
		for (fpdu = 0; mark + 4 <= l.len; mark += l.ivl) {
			while (fpdu + 1 < l.nr && l.fpdu[fpdu + 1].off <= mark)
				fpdu++;
			if (!CHECK(ooo_mark_start(l.pos + mark, l.stream + mark,
						  l.ivl, &start)) ||
			    !CHECK_EQ(start, l.pos + l.fpdu[fpdu].off))
				return;
			seen++;
		}
	}
	CHECK(seen > 1000);
}

/* Impossible ranges: before the stream, or where markers are. */
static void test_bad_markers(void)
{
	unsigned char m[4] = { 0, 0, 0, 0 };
	u64 start;
	uint32_t i;

	for (i = 0; i < 65536; i++) {
		m[2] = i >> 8;
		m[3] = i;
		if (!ooo_mark_start(4096, m, 512, &start)) {
			CHECK((i & ~3u) > 4096 || (i & ~3u) % 512 == 0);
			continue;
		}
		/* at a place of markers only with the one that is its own */
		CHECK(start <= 4096 && start % 4 == 0);
		CHECK(start % 512 || start + 4 + (i & ~3u) == 4096 ||
		      (!(i & ~3u) && start == 4096));
	}
}

#define PIECES 700

struct piece {
	struct ooo_range r;
	bool in;
};

static struct piece piece[PIECES];

/* FPDUs of several messages, some of which cannot be placed. */
static void make_pieces(uint64_t pos)
{
	uint32_t msn = 1, mo = 0, i, len;
	uint64_t to = 4096;

	for (i = 0; i < PIECES; i++) {
		struct ooo_range *r = &piece[i].r;

		memset(&piece[i], 0, sizeof(piece[i]));
		len = 1 + unit_below(60);
		r->pos = pos;
		r->len = 32 + 4 * unit_below(20);
		r->fpdus = 1;
		r->payload = len;
		r->placed = unit_below(8);
		r->edge = r->placed || unit_below(2);
		r->last = !unit_below(4);
		if (unit_below(2)) {
			to += unit_below(10) ? 0 : 8;
			ddp_put_tagged(r->hdr, r->last, RDMAP_CTRL(RDMAP_WRITE),
				       unit_below(20) ? 0x100 : 0x200, to);
			r->ulpdu = DDP_TAGGED_LEN + len;
			to += len;
		} else {
			ddp_put_untagged(r->hdr, r->last,
					 RDMAP_CTRL(RDMAP_SEND), 0, 0, msn, mo);
			r->ulpdu = DDP_UNTAGGED_LEN + len;
			mo = r->last ? 0 : mo + len;
			msn += r->last;
		}
		pos += r->len;
	}
}

/* Sorted, apart from each other, and each the sum of what was put in. */
static void check_table(struct ooo_table *t)
{
	const struct ooo_range *r;
	uint32_t i, k = 0, fpdus, payload;
	uint64_t end = 0, at;

	for (i = 0; (r = ooo_at(t, i)); i++) {
		CHECK(r->pos >= end && r->len);
		end = r->pos + r->len;
		CHECK_EQ(ooo_find(t, r->pos), i);
		CHECK_EQ(ooo_find(t, end - 1), i);
		CHECK_EQ(ooo_find(t, end), i + 1);
		for (; k < PIECES && piece[k].r.pos < r->pos; k++)
			CHECK(!piece[k].in);
		fpdus = payload = 0;
		CHECK(!memcmp(r->hdr, piece[k].r.hdr, sizeof(r->hdr)));
		for (at = r->pos; at < end && k < PIECES; k++) {
			CHECK(piece[k].in && piece[k].r.placed == r->placed);
			fpdus += piece[k].r.fpdus;
			payload += piece[k].r.payload;
			at += piece[k].r.len;
		}
		CHECK(at == end && fpdus == r->fpdus && payload == r->payload);
		CHECK(piece[k - 1].r.last == r->last &&
		      piece[k - 1].r.edge == r->edge);
	}
	for (; k < PIECES; k++)
		CHECK(!piece[k].in);
}

static void test_table(void)
{
	struct ooo_table *t = calloc(1, sizeof(*t));
	uint32_t round, i, n, k;

	if (!t)
		abort();
	for (round = 0; round < 40; round++) {
		make_pieces(unit_random());
		memset(t, 0xa5, sizeof(*t));
		t->first = 0;
		t->nr = 0;
		for (i = 0; i < PIECES; i++) {
			k = round & 1 ? i : unit_below(PIECES);
			if (piece[k].in)
				continue;
			piece[k].in = ooo_add(t, &piece[k].r);
			CHECK(piece[k].in || t->nr == OOO_RANGES);
			if (!(i % 64))
				check_table(t);
			/* from the front it is drained meanwhile */
			if (round % 4 == 1 && t->nr > 200) {
				n = ooo_at(t, 0)->fpdus;
				ooo_advance(t, ooo_at(t, 0)->len);
				for (k = 0; n; k++) {
					n -= piece[k].in;
					piece[k].in = false;
				}
			}
		}
		check_table(t);
		while (t->nr) {
			n = 1 + unit_below(ooo_at(t, 0)->len);
			ooo_advance(t, n);
		}
		CHECK_EQ(t->first, 0);
	}
	free(t);
}

/* Ranges that join, and ranges that do not. */
static void test_join(void)
{
	struct ooo_range a = { .pos = 100,
			       .len = 40,
			       .fpdus = 1,
			       .payload = 8,
			       .ulpdu = DDP_TAGGED_LEN + 8,
			       .placed = true,
			       .edge = true,
			       .last = true },
			 b;
	struct ooo_table *t = calloc(1, sizeof(*t));
	uint32_t i;

	if (!t)
		abort();
	for (i = 0; i < 5; i++) {
		b = a;
		b.pos = 140;
		ddp_put_tagged(a.hdr, true,
			       RDMAP_CTRL(i == 4 ? RDMAP_READ_RESP :
						   RDMAP_WRITE),
			       7, 1000);
		ddp_put_tagged(b.hdr, true,
			       RDMAP_CTRL(i == 1 ? RDMAP_READ_RESP :
					  i == 4 ? RDMAP_READ_RESP :
						   RDMAP_WRITE),
			       i == 2 ? 8 : 7, i == 3 ? 1009 : 1008);
		t->nr = 0;
		t->first = 0;
		CHECK(ooo_add(t, &a) && ooo_add(t, &b));
		CHECK_EQ(t->nr, i ? 2 : 1);
	}
	free(t);
}

static const struct unit_test tests[] = {
	{ "markers of streams", test_markers },
	{ "markers that cannot be", test_bad_markers },
	{ "ranges", test_table },
	{ "ranges that continue each other", test_join },
};

int main(void)
{
	return unit_main("out of order", tests, ARRAY_LEN(tests));
}
