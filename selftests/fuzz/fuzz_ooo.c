// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Fuzz target: octets of a stream arrive in runs, in any order. Each run is
 * walked as the driver does it: FPDUs are found by markers or behind another
 * one, and remembered as placed or as waiting, whatever their CRC. Then the
 * stream is consumed in order, with the same FPDUs or others.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "iwarp_hybrid/proto/ooo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct ooo_table table;

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void check_table(void)
{
	const struct ooo_range *r;
	uint64_t end = 0;
	uint32_t i;

	check(table.nr <= OOO_RANGES && table.first + table.nr <= OOO_RANGES);
	for (i = 0; (r = ooo_at(&table, i)); i++) {
		check(r->len && r->pos >= end);
		end = r->pos + r->len;
		check(ooo_find(&table, r->pos) == i);
		check(ooo_find(&table, end) == i + 1);
	}
}

struct run {
	const uint8_t *p; /* octet at @base */
	uint64_t base, end;
	uint32_t ivl;
};

static bool find(const struct run *run, uint64_t pos, uint64_t limit,
		 u64 *start)
{
	uint64_t mark = pos + mpa_to_mark(pos, run->ivl);

	for (; mark + MPA_MARK_SIZE <= limit; mark += run->ivl) {
		if (!ooo_mark_start(mark, run->p + (mark - run->base), run->ivl,
				    start))
			continue;
		check(*start <= mark);
		if (*start >= pos)
			return *start < limit;
	}
	return false;
}

/* Where to go on, 0: the end */
static uint64_t fpdu(const struct run *run, uint64_t pos, uint64_t limit)
{
	uint32_t lead = mpa_lead_len(pos, run->ivl);
	const uint8_t *p = run->p + (pos - run->base);
	struct ooo_range r = { .pos = pos, .edge = true, .fpdus = 1 };
	uint32_t total = lead + MPA_LEN_SIZE, i;
	struct ddp_hdr h;

	if (pos + total > limit)
		return 0;
	r.ulpdu = proto_get16(p + lead);
	total = mpa_fpdu_len(pos, r.ulpdu, run->ivl);
	if (r.ulpdu < DDP_TAGGED_LEN || pos + total > limit) {
		if (r.ulpdu >= DDP_TAGGED_LEN && pos + total > run->end)
			return 0;
		r.len = limit - pos;
		r.edge = false;
		return ooo_add(&table, &r) ? limit : 0;
	}
	for (i = 0; i < DDP_HDR_MAX && i < r.ulpdu; i++)
		r.hdr[i] = p[mpa_body_off(pos, MPA_LEN_SIZE + i, run->ivl)];
	r.len = total;
	r.placed = !ddp_parse(r.hdr, r.ulpdu, &h) && !rdmap_check(&h);
	if (r.placed) {
		r.payload = h.payload;
		r.last = h.last;
	}
	return ooo_add(&table, &r) ? pos + total : 0;
}

static void walk(const struct run *run, u64 pos)
{
	const struct ooo_range *r;
	bool edge = false;
	u64 limit;

	while (pos && pos < run->end && table.nr < OOO_RANGES) {
		r = ooo_at(&table, ooo_find(&table, pos));
		if (r && r->pos <= pos) {
			pos = r->pos + r->len;
			edge = r->edge;
			continue;
		}
		limit = r && r->pos < run->end ? r->pos : run->end;
		if (edge)
			pos = fpdu(run, pos, limit);
		else if (find(run, pos, limit, &pos))
			edge = true;
		else
			pos = limit;
	}
	check_table();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t ivls[] = { 64, 64, 256, 512 };
	uint64_t from, to;
	struct run run;
	uint8_t *copy;
	size_t ops, i;

	if (size < 12)
		return 0;
	ops = 1 + data[1] % 8;
	run.ivl = ivls[data[0] & 3];
	run.base = 64 + 4 * (uint64_t)data[2];
	if (size < 2 + 2 * ops + 8)
		return 0;
	memset(&table, 0, sizeof(table));
	for (i = 0; i < ops; i++) {
		const uint8_t *op = data + 3 + 2 * i;
		size_t len = size - 3 - 2 * ops;

		from = op[0] * 16u % len & ~3u;
		to = from + 1 + op[1] * 16u % (len - from);
		/* no octet behind the run is there */
		copy = malloc(to);
		check(copy);
		memcpy(copy, data + 3 + 2 * ops, to);
		run.p = copy;
		run.end = run.base + to;
		walk(&run, run.base + from);
		free(copy);
		if (op[0] & 1 && table.nr) {
			ooo_advance(&table, 1 + op[1] % ooo_at(&table, 0)->len);
			check_table();
		}
	}
	return 0;
}
