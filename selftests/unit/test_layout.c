// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Unit tests: streams of FPDUs with random MSS, positions, sizes and marker
 * intervals, laid out in place and parsed back. The file named second on the
 * command line gets streams for "wire.py streams", the other parser.
 */
#include "iwarp/mpa.h"
#include "layout.h"
#include "unit.h"

static struct layout l;
static const char *stream_file;

static bool stream_ok(const uint8_t *p, size_t len)
{
	struct layout_source src = { p, len };
	const char *fault = layout_make(&l, &src);

	if (!fault)
		fault = layout_check(&l, &src);
	if (!fault)
		return true;
	printf("# interval %u, position %llx, FPDU %u at %u: %s\n", l.ivl,
	       (unsigned long long)l.pos, l.nr, l.len, fault);
	return false;
}

static void test_random(void)
{
	unsigned char decisions[600];
	int n;

	for (n = 0; n < 2000; n++) {
		unit_random_bytes(decisions, sizeof(decisions));
		if (!CHECK(stream_ok(decisions, sizeof(decisions))))
			break;
	}
}

/* Streams for the parser that shares nothing with this code. */
static void test_other_parser(void)
{
	unsigned char decisions[200];
	FILE *f;
	int n;

	f = stream_file ? fopen(stream_file, "wb") : NULL;
	if (!CHECK(f))
		return;
	for (n = 0; n < 60; n++) {
		unit_random_bytes(decisions, sizeof(decisions));
		/* each interval, each kind of position */
		decisions[0] = (decisions[0] & 0xc0) | n % 11;
		CHECK(stream_ok(decisions, sizeof(decisions)));
		layout_write(&l, f);
	}
	CHECK(!fclose(f));
}

/* Every place in an interval, for one ULPDU after the other. */
static void test_places(void)
{
	static const uint32_t ivls[] = { 64, 128, 256, 512, 1024, 16384 };
	uint32_t i, len, room, fit;
	uint64_t pos;

	for (i = 0; i < ARRAY_LEN(ivls); i++) {
		for (pos = 0; pos < 2 * ivls[i]; pos += 4) {
			for (len = 0; len < 140; len++) {
				room = mpa_fpdu_len(pos, len, ivls[i]);
				fit = mpa_ulpdu_fit(pos, room, ivls[i]);
				/* PAD is room for up to three bytes more */
				CHECK(len < 2 || (fit >= len && fit < len + 4));
				CHECK(len < 2 || mpa_ulpdu_fit(pos, room - 4,
							       ivls[i]) < len);
			}
		}
	}
}

/* The short cut for FPDUs that take exactly their place. */
static void test_full(void)
{
	static const uint32_t logs[] = { 6, 8, 9, 12, 14 };
	uint32_t i, ivl, room, full;
	uint64_t pos;

	for (i = 0; i < ARRAY_LEN(logs); i++) {
		ivl = 1U << logs[i];
		for (pos = 0; pos < 2 * ivl; pos += ivl < 512 ? 4 : 36) {
			for (room = 256; room < 9000; room += 68) {
				full = mpa_ulpdu_full(pos, room, ivl, logs[i]);
				if (!full) {
					CHECK_EQ((pos + room - 4) % ivl, 0);
					continue;
				}
				CHECK_EQ(mpa_fpdu_len(pos, full, ivl), room);
				CHECK_EQ(mpa_ulpdu_fit(pos, room, ivl), full);
			}
		}
	}
	CHECK_EQ(mpa_ulpdu_full(4, 1448, 0, 0), 1442);
}

/* Where bytes of the body are, against counting them one by one. */
static void test_body(void)
{
	static const uint32_t ivls[] = { 0, 64, 512, 4096 };
	uint32_t i, body, off, run;
	uint64_t pos;

	for (i = 0; i < ARRAY_LEN(ivls); i++) {
		for (pos = 0; pos < 1100; pos += 52) {
			for (body = off = 0; body < 3000; body++, off++) {
				if (ivls[i] && (pos + off) % ivls[i] == 0)
					off += 4;
				CHECK_EQ(mpa_body_off(pos, body, ivls[i]), off);
				CHECK_EQ(mpa_body_place(pos, body, ivls[i],
							&run),
					 off);
				CHECK_EQ(mpa_body_run(pos, body, ivls[i]), run);
				run = ivls[i] ?
					      ivls[i] - (pos + off) % ivls[i] :
					      MPA_NO_MARK;
				CHECK_EQ(mpa_body_run(pos, body, ivls[i]), run);
			}
		}
	}
}

static void check_head(uint64_t pos, uint32_t head, uint32_t ivl)
{
	uint32_t off = mpa_body_off(pos, 0, ivl), lead = ~0u, run = ~0u;
	uint64_t behind = pos + off + head;
	bool whole = mpa_body_off(pos, head - 1, ivl) == off + head - 1 &&
		     !(ivl && behind % ivl == 0);

	CHECK_EQ(mpa_head_place(pos, head, ivl, &lead, &run), whole);
	if (!whole)
		return;
	CHECK_EQ(lead, off);
	CHECK_EQ(run, mpa_body_run(pos, head, ivl));
}

/* Where a header is that no marker is in, nor right after */
static void test_head(void)
{
	static const uint32_t ivls[] = { 0, 64, 256, 512, 4096 };
	static const uint32_t heads[] = { 16, 18, 20, 36 };
	uint32_t i, h;
	uint64_t pos;

	for (i = 0; i < ARRAY_LEN(ivls); i++)
		for (h = 0; h < ARRAY_LEN(heads); h++)
			for (pos = 0; pos < 3 * 4096; pos += 4)
				check_head(pos, heads[h], ivls[i]);
}

static const struct unit_test tests[] = {
	{ "every place and length", test_places },
	{ "FPDUs that fill their place", test_full },
	{ "places of bytes", test_body },
	{ "headers without a marker", test_head },
	{ "random streams", test_random },
	{ "streams for the other parser", test_other_parser },
};

int main(int argc, char **argv)
{
	stream_file = argc > 2 ? argv[2] : NULL;
	return unit_main("mpa layout", tests, ARRAY_LEN(tests));
}
