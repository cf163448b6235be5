// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The iWARP engines of hnic: what the sender's opens is what the standard asks
 * for, and the receiver's finds it again.
 */
#include "hnic/hnic_fpdu.h"
#include "iwarp/mpa_contig.h"
#include "unit.h"

static const u32 ivls[] = { 0, 64, 256, 512, 1024, 16384 };

/* An FPDU of random contents as the standard wants it, without CRC */
static u32 fpdu(u8 *buf, u32 pos, u32 ulpdu_len, u32 ivl)
{
	struct mpa_build b;
	u8 data[20000];
	u32 i, n;

	for (i = 0; i < ulpdu_len; i++)
		data[i] = unit_random();
	mpa_build_begin(&b, buf, pos, ulpdu_len, ivl);
	mpa_build_put(&b, data, ulpdu_len);
	n = mpa_build_end(&b);
	memset(b.p, 0xcc, MPA_CRC_SIZE);
	return n + MPA_CRC_SIZE;
}

static u32 random_pos(void)
{
	/* also around the end of the numbers */
	return (unit_random() % 2 ? unit_random() % 20000 :
				    (u32) - (unit_random() % 20000)) &
	       ~3U;
}

static void open_gaps(void)
{
	u32 i, x, run, len, moved, pos, ivl;
	u8 wire[16000], *mem;

	for (i = 0; i < 20000; i++) {
		ivl = ivls[1 + unit_random() % (ARRAY_LEN(ivls) - 1)];
		pos = random_pos();
		len = fpdu(wire, pos, unit_random() % (ivl > 64 ? 9000 : 500),
			   ivl);
		mem = malloc(len);
		for (x = 0; x < len; x++)
			mem[mpa_contig_map(pos, len, ivl, x, &run)] = wire[x];
		CHECK(hnic_fpdu_open(mem, len, pos, ivl, &moved));
		CHECK(moved <= len);
		CHECK(!memcmp(mem, wire, len));
		free(mem);
	}
}

static void open_garbage(void)
{
	u32 i, x, len, moved, ivl;
	u8 *mem;

	for (i = 0; i < 50000; i++) {
		ivl = ivls[unit_random() % ARRAY_LEN(ivls)];
		len = unit_random() % 200;
		mem = malloc(len);
		for (x = 0; x < len; x++)
			mem[x] = x < 6 ? 0 : unit_random();
		if (len > 5)
			mem[unit_random() % 2 ? 1 : 5] = unit_random();
		hnic_fpdu_open(mem, len, unit_random(), ivl, &moved);
		CHECK(moved <= len);
		hnic_fpdu_walk(mem, len, unit_random(), ivl);
		free(mem);
	}
}

static void walk(void)
{
	u32 i, k, n, len, pos, ivl, last;
	u8 buf[60000], *mem;

	for (i = 0; i < 3000; i++) {
		ivl = ivls[unit_random() % ARRAY_LEN(ivls)];
		pos = random_pos();
		len = 0;
		last = 0;
		n = 1 + unit_random() % 5;
		for (k = 0; k < n; k++) {
			last = fpdu(buf + len, pos + len, unit_random() % 1500,
				    ivl);
			CHECK(hnic_fpdu_marks_good(buf + len, last, pos + len,
						   ivl));
			len += last;
		}
		mem = malloc(len);
		memcpy(mem, buf, len);
		CHECK_EQ(hnic_fpdu_walk(mem, len, pos, ivl), len);
		free(mem);
		/* the last one is cut */
		k = len - 1 - unit_random() % (last - 1);
		mem = malloc(k);
		memcpy(mem, buf, k);
		n = hnic_fpdu_walk(mem, k, pos, ivl);
		CHECK(n == len || (!n && k - (len - last) < 6));
		free(mem);
	}
}

static void marks(void)
{
	u32 i, at, len, pos, ivl;
	u8 buf[24000];

	for (i = 0; i < 5000; i++) {
		ivl = ivls[1 + unit_random() % (ARRAY_LEN(ivls) - 1)];
		pos = random_pos();
		len = fpdu(buf, pos, ivl + unit_random() % 3000, ivl);
		at = mpa_to_mark(pos, ivl);
		at += ivl * (unit_random() % ((len - 5 - at) / ivl + 1));
		buf[at + 2 + unit_random() % 2] ^= 1 << (2 + unit_random() % 6);
		CHECK(!hnic_fpdu_marks_good(buf, len, pos, ivl));
	}
}

int main(void)
{
	static const struct unit_test tests[] = {
		{ "gaps are opened", open_gaps },
		{ "garbage is refused or harmless", open_garbage },
		{ "FPDUs of a packet are followed", walk },
		{ "a wrong marker is seen", marks },
	};

	return unit_main("hnic", tests, ARRAY_LEN(tests));
}
