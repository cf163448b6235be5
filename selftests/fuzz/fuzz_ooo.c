// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Fuzz target: bytes of a stream arrive in runs, in any order. Each run is
 * walked: FPDUs are found by markers or after another one, and remembered as
 * placed or as deferred. Then the stream is consumed in order, with the same FPDUs
 * or others.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "iwarp/ooo.h"

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
	struct ooo_walk walk;
	const uint8_t *p; /* byte at @base */
	uint64_t base;
};

static struct run *run_of(struct ooo_walk *w)
{
	return (struct run *)((char *)w - offsetof(struct run, walk));
}

/* No byte but those of the run is asked for */
static bool copy(struct ooo_walk *w, u64 pos, u8 *dst, u32 len)
{
	const struct run *run = run_of(w);

	check(pos >= run->base && pos + len <= w->end);
	memcpy(dst, run->p + (pos - run->base), len);
	return true;
}

/* The driver's answer depends on much else: any answer is possible */
static enum ooo_why take(struct ooo_walk *w, const struct ooo_fpdu *f)
{
	static const enum ooo_why why[] = {
		OOO_NOW,  OOO_NOW,  OOO_NOW,   OOO_NOW,
		OOO_STAG, OOO_RECV, OOO_ORDER, OOO_BAD,
	};
	const struct run *run = run_of(w);

	check(f->total > MPA_CRC_SIZE && f->pos + f->total <= w->end);
	check(f->h.payload <= f->total);
	/* by the last byte of what should be its CRC */
	return why[run->p[f->pos + f->total - 1 - run->base] & 7];
}

static void defer(struct ooo_walk *w, enum ooo_why why, u64 pos)
{
	check(why != OOO_NOW && why <= OOO_LIMIT && pos < w->end);
}

static const struct ooo_ops ops = { copy, take, defer };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t ivls[] = { 64, 64, 256, 512 };
	struct run run = { .walk = { .ops = &ops, .table = &table } };
	uint64_t from, to;
	uint8_t *bytes;
	size_t ops, i;

	if (size < 12)
		return 0;
	ops = 1 + data[1] % 8;
	run.walk.ivl = ivls[data[0] & 3];
	run.base = 64 + 4 * (uint64_t)data[2];
	if (size < 2 + 2 * ops + 8)
		return 0;
	memset(&table, 0, sizeof(table));
	for (i = 0; i < ops; i++) {
		const uint8_t *op = data + 3 + 2 * i;
		size_t len = size - 3 - 2 * ops;

		from = op[0] * 16u % len & ~3u;
		to = from + 1 + op[1] * 16u % (len - from);
		/* no byte after the run is there */
		bytes = malloc(to);
		check(bytes);
		memcpy(bytes, data + 3 + 2 * ops, to);
		run.p = bytes;
		run.walk.end = run.base + to;
		ooo_walk_run(&run.walk, run.base + from);
		check_table();
		free(bytes);
		if (op[0] & 1 && table.nr) {
			ooo_advance(&table, 1 + op[1] % ooo_at(&table, 0)->len);
			check_table();
		}
	}
	return 0;
}
