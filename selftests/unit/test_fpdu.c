// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Unit tests: FPDUs with and without markers. The oracle is wire.py, which
 * wrote the vectors and the file of random cases named on the command line.
 */
#include <stdio.h>

#include "iwarp/mpa.h"
#include "unit.h"

static const char *case_file;

static uint32_t crc_of(const unsigned char *p, size_t len)
{
	return unit_crc32c(~0u, p, len);
}

/* Build as a transmitter does, in memory of exactly the promised size. */
static unsigned char *build(const unsigned char *ulpdu, uint32_t len,
			    uint64_t pos, uint32_t ivl, uint32_t *total)
{
	struct mpa_build b;
	unsigned char *buf;
	uint32_t n, done = 0, covered;

	*total = mpa_fpdu_len(pos, len, ivl);
	buf = malloc(*total);
	if (!buf)
		abort();
	mpa_build_begin(&b, buf, pos, len, ivl);
	while (done < len) {
		n = 1 + unit_below(len - done);
		if (unit_below(2)) {
			mpa_build_put(&b, ulpdu + done, n);
		} else {
			n = mpa_build_room(&b, n);
			memcpy(b.p, ulpdu + done, n);
			mpa_build_advance(&b, n);
		}
		done += n;
	}
	covered = mpa_build_end(&b);
	CHECK_EQ(covered + MPA_CRC_SIZE, *total);
	mpa_put_crc(b.p, crc_of(b.start, covered));
	return buf;
}

enum verdict { GOOD, INCOMPLETE, BAD_LENGTH, BAD_CRC, BAD_MARKER };

/* The same bytes come out in pieces of any length */
static void take_again(const unsigned char *p, uint32_t to_mark, uint32_t ivl,
		       const unsigned char *body, uint32_t len)
{
	unsigned char *piece;
	uint32_t n;

	for (; len; len -= n, body += n) {
		n = 1 + unit_below(len);
		piece = malloc(n);
		if (!piece)
			abort();
		mpa_take(piece, &p, n, &to_mark, ivl);
		CHECK(!memcmp(piece, body, n));
		free(piece);
	}
}

/*
 * Take apart as a receiver does: length, completeness, CRC, markers. The
 * bytes come in random pieces. ulpdu has room for 65535 bytes.
 */
static enum verdict take_apart(const unsigned char *p, size_t have,
			       uint64_t pos, uint32_t ivl, unsigned char *ulpdu,
			       uint32_t *ulpdu_len)
{
	uint32_t lead = mpa_lead_len(pos, ivl), total, n, used, got = 0;
	unsigned char body[65535 + 8];
	const unsigned char *data;
	struct mpa_walk w;
	uint32_t at = 0;

	if (have < lead + MPA_LEN_SIZE)
		return INCOMPLETE;
	*ulpdu_len = p[lead] << 8 | p[lead + 1];
	total = mpa_fpdu_len(pos, *ulpdu_len, ivl);
	if (have < total)
		return INCOMPLETE;
	if (have > total)
		return BAD_LENGTH;
	if (crc_of(p, total - MPA_CRC_SIZE) !=
	    mpa_get_crc(p + total - MPA_CRC_SIZE))
		return BAD_CRC;
	mpa_walk_begin(&w, pos, ivl);
	while (at < total - MPA_CRC_SIZE) {
		n = 1 + unit_below(total - MPA_CRC_SIZE - at);
		used = mpa_walk_next(&w, p + at, n, &data, &n);
		if (!CHECK(used >= 1 && used <= total - MPA_CRC_SIZE - at) ||
		    !CHECK(got + n <= sizeof(body)))
			return BAD_LENGTH;
		if (n)
			memcpy(body + got, data, n);
		got += n;
		at += used;
	}
	CHECK_EQ(got, mpa_body_len(*ulpdu_len));
	take_again(p + lead, mpa_body_run(pos, 0, ivl), ivl, body, got);
	memcpy(ulpdu, body + MPA_LEN_SIZE, *ulpdu_len);
	return w.bad ? BAD_MARKER : GOOD;
}

static void both_ways(const unsigned char *ulpdu, uint32_t len, uint64_t pos,
		      uint32_t ivl, const unsigned char *fpdu, uint32_t total)
{
	static unsigned char got[65536];
	unsigned char *copy, *mine;
	uint32_t n;

	mine = build(ulpdu, len, pos, ivl, &n);
	if (CHECK_EQ(n, total))
		CHECK(!memcmp(mine, fpdu, n));
	free(mine);
	copy = unit_copy(fpdu, total);
	if (CHECK_EQ(take_apart(copy, total, pos, ivl, got, &n), GOOD) &&
	    CHECK_EQ(n, len))
		CHECK(!memcmp(got, ulpdu, len));
	free(copy);
}

static void test_crc(void)
{
	static const struct {
		unsigned char fill;
		uint32_t wire;
	} known[] = { { 0, 0xaa36918a }, { 0xff, 0x43aba862 } };
	unsigned char buf[32], crc[4];
	size_t i;

	for (i = 0; i < ARRAY_LEN(known); i++) {
		memset(buf, known[i].fill, sizeof(buf));
		mpa_put_crc(crc, crc_of(buf, sizeof(buf)));
		CHECK_EQ(proto_get32(crc), known[i].wire);
		CHECK_EQ(mpa_get_crc(crc), crc_of(buf, sizeof(buf)));
	}
	mpa_put_crc(crc, crc_of((const unsigned char *)"123456789", 9));
	CHECK_EQ(proto_get32(crc), 0x839206e3);
}

static void test_vectors(void)
{
	static const struct {
		const char *name;
		uint64_t pos;
	} marked[] = {
		{ "send_mark_off0", 0 },       { "send_mark_off492", 492 },
		{ "send_mark_hdr508", 508 },   { "send_mark_precrc", 460 },
		{ "send_mark_atcrcend", 456 },
	};
	const struct vector *plain = unit_vector("send_nomark"), *v;
	const unsigned char *ulpdu = plain->data + 2;
	unsigned char fig[42] = {
		0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1
	};
	size_t i;

	both_ways(ulpdu, 47, 0, 0, plain->data, plain->len);
	for (i = 0; i < ARRAY_LEN(marked); i++) {
		v = unit_vector(marked[i].name);
		both_ways(ulpdu, 47, marked[i].pos, 512, v->data, v->len);
		/* the place counts modulo the interval only */
		both_ways(ulpdu, 47, marked[i].pos + (1ull << 33), 512, v->data,
			  v->len);
	}
	v = unit_vector("rfc5044_fig5");
	both_ways(fig, 42, 0, 512, v->data, v->len);
	v = unit_vector("rfc5044_fig6");
	fig[13] = 2;
	both_ways(fig, 42, 0x1ec, 512, v->data, v->len);
}

static uint32_t le32(FILE *f)
{
	unsigned char b[4] = { 0 };

	CHECK_EQ(fread(b, 1, 4, f), 4);
	return b[0] | b[1] << 8 | b[2] << 16 | (uint32_t)b[3] << 24;
}

/* Random ULPDUs, places and intervals against the independent encoder. */
static void test_cases(void)
{
	uint32_t n, ivl, len, total;
	unsigned char *ulpdu, *fpdu;
	uint64_t pos;
	FILE *f;

	f = case_file ? fopen(case_file, "rb") : NULL;
	if (!CHECK(f))
		return;
	for (n = le32(f); n; n--) {
		ivl = le32(f);
		pos = le32(f);
		pos |= (uint64_t)le32(f) << 32;
		len = le32(f);
		total = le32(f);
		ulpdu = malloc(len + 1);
		fpdu = malloc(total);
		CHECK_EQ(fread(ulpdu, 1, len, f), len);
		CHECK_EQ(fread(fpdu, 1, total, f), total);
		both_ways(ulpdu, len, pos, ivl, fpdu, total);
		free(ulpdu);
		free(fpdu);
	}
	fclose(f);
}

/* A stream of FPDUs one after the other, taken apart again in order. */
static void test_stream(void)
{
	static const uint32_t intervals[] = { 0, 64, 128, 512, 1024 };
	static unsigned char ulpdu[4096], got[65536];
	unsigned char *fpdu;
	uint32_t total, n, len;
	uint64_t pos;
	size_t i, k;

	for (i = 0; i < ARRAY_LEN(intervals); i++) {
		pos = 0xffffff00; /* 32-bit sequence numbers wrap soon */
		for (k = 0; k < 3000; k++) {
			len = unit_below(k % 16 ? 200 : sizeof(ulpdu));
			unit_random_bytes(ulpdu, len);
			fpdu = build(ulpdu, len, pos, intervals[i], &total);
			CHECK_EQ(total % 4, 0);
			CHECK_EQ(take_apart(fpdu, total, pos, intervals[i], got,
					    &n),
				 GOOD);
			CHECK(n == len && !memcmp(got, ulpdu, len));
			free(fpdu);
			pos += total;
		}
	}
}

/* RFC 5044 section 4.5: the largest ULPDU whose FPDU fits a segment at any position */
static uint32_t mulpdu(uint32_t emss, uint32_t ivl)
{
	return emss - (6 + 4 * (ivl ? (emss + ivl - 1) / ivl : 0) + (emss & 3));
}

/* An FPDU fills a segment with at least the standard's MULPDU, wherever it begins. */
static void test_mulpdu(void)
{
	static const uint32_t emss[] = { 200,  536,   1220,  1228,  1440, 1448,
					 1460, 1461,  1462,  1463,  4052, 8948,
					 8960, 16344, 32741, 65483, 65495 };
	static const uint32_t intervals[] = { 0, 256, 512, 1024 };
	uint32_t m, fit, pos;
	size_t i, k;

	for (i = 0; i < ARRAY_LEN(emss); i++) {
		for (k = 0; k < ARRAY_LEN(intervals); k++) {
			m = mulpdu(emss[i], intervals[k]);
			if (m > MPA_ULPDU_MAX)
				m = MPA_ULPDU_MAX;
			for (pos = 0; pos < 1024; pos += 4) {
				fit = mpa_ulpdu_fit(pos, emss[i], intervals[k]);
				CHECK(fit >= m);
				CHECK(mpa_fpdu_len(pos, fit, intervals[k]) <=
				      emss[i]);
			}
		}
	}
	CHECK_EQ(mpa_ulpdu_fit(0, 1460, 0), 1454);
	CHECK_EQ(mpa_ulpdu_fit(0, 1460, 512), 1442);
	CHECK_EQ(mpa_ulpdu_fit(4, 1460, 512), 1446);
}

/* Shortened or with one bit flipped, no frame passes. */
static void test_damage(void)
{
	static unsigned char ulpdu[700], got[65536];
	static const uint32_t intervals[] = { 0, 64, 512 };
	unsigned char *fpdu, *copy;
	uint32_t total, n, len, cut, bit, k;
	uint64_t pos;

	for (k = 0; k < 120; k++) {
		len = unit_below(sizeof(ulpdu));
		pos = 4 * unit_below(1024);
		unit_random_bytes(ulpdu, len);
		fpdu = build(ulpdu, len, pos, intervals[k % 3], &total);
		for (cut = 0; cut < total; cut++) {
			copy = unit_copy(fpdu, cut);
			CHECK_EQ(take_apart(copy, cut, pos, intervals[k % 3],
					    got, &n),
				 INCOMPLETE);
			free(copy);
		}
		copy = unit_copy(fpdu, total);
		for (bit = 0; bit < total * 8; bit++) {
			copy[bit / 8] ^= 1 << bit % 8;
			CHECK(take_apart(copy, total, pos, intervals[k % 3],
					 got, &n) != GOOD);
			copy[bit / 8] ^= 1 << bit % 8;
		}
		free(copy);
		free(fpdu);
	}
}

/* A marker that points elsewhere is noticed when the CRC is right. */
static void test_wrong_marker(void)
{
	static unsigned char ulpdu[2000], got[65536];
	unsigned char *fpdu;
	uint32_t total, n, at, k;
	uint64_t pos;

	for (k = 0; k < 2000; k++) {
		pos = 4 * unit_below(4096);
		fpdu = build(ulpdu, sizeof(ulpdu), pos, 512, &total);
		at = mpa_to_mark(pos, 512) + 512 * unit_below(3);
		fpdu[at + 2] ^= 1 << unit_below(8);
		mpa_put_crc(fpdu + total - 4, crc_of(fpdu, total - 4));
		CHECK_EQ(take_apart(fpdu, total, pos, 512, got, &n),
			 BAD_MARKER);
		/* the low two bits do not count */
		fpdu[at + 2] = 0;
		fpdu[at + 3] = 0;
		free(fpdu);
		fpdu = build(ulpdu, sizeof(ulpdu), pos, 512, &total);
		fpdu[at + 3] |= 3;
		mpa_put_crc(fpdu + total - 4, crc_of(fpdu, total - 4));
		CHECK_EQ(take_apart(fpdu, total, pos, 512, got, &n), GOOD);
		free(fpdu);
	}
}

/* Any length field, any bytes after it. */
static void test_garbage(void)
{
	static unsigned char got[65536];
	unsigned char *p;
	uint32_t len, n, k;

	for (k = 0; k < 30000; k++) {
		len = unit_below(300);
		p = malloc(len ? len : 1);
		unit_random_bytes(p, len);
		if (len > 6 && unit_below(4)) {
			p[0] = 0;
			p[4] = 0;
		}
		CHECK(take_apart(p, len, 4 * unit_below(300),
				 unit_below(2) ? 64 : 512, got, &n) != GOOD);
		free(p);
	}
}

static const struct unit_test tests[] = {
	{ "CRC check values", test_crc },
	{ "vectors", test_vectors },
	{ "random cases of the independent encoder", test_cases },
	{ "streams", test_stream },
	{ "MULPDU", test_mulpdu },
	{ "every truncation and bit flip", test_damage },
	{ "wrong markers", test_wrong_marker },
	{ "garbage", test_garbage },
};

int main(int argc, char **argv)
{
	case_file = argc > 1 ? argv[1] : NULL;
	return unit_main("mpa fpdu", tests, ARRAY_LEN(tests));
}
