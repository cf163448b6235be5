// SPDX-License-Identifier: GPL-2.0
/*
 * CRC32c for FPDUs. See crc.h.
 *
 * The CRC32 instruction takes 8 bytes, has a latency of three cycles and can
 * start every cycle: three independent runs are as fast as the machine goes.
 * Their registers are joined by multiplying with x^(8 * length of a run), which
 * is linear, hence four table look-ups. There are two lengths: three runs are
 * most of an FPDU at an MTU of 1500, or of 9000.
 */
#include <linux/build_bug.h>
#include <linux/cache.h>
#include <linux/crc32c.h>
#ifdef __KERNEL__
#include <linux/crc32.h>

#include "compat.h"
#endif
#include "crc.h"

u32 iwarp_crc32c_kernel(u32 crc, const void *p, size_t len)
{
#ifdef HAVE_CRC32C_LE
	return __crc32c_le(crc, p, len);
#else
	return crc32c(crc, p, len);
#endif
}
EXPORT_SYMBOL_GPL(iwarp_crc32c_kernel);

#ifdef CONFIG_X86_64
#include <asm/cpufeature.h>

/* Bytes of a run, and how many of them at a time, multiples of 8 */
#define CRC_SHORT	472
#define CRC_SHORT_STEP	472
#define CRC_LONG	2944
#define CRC_LONG_STEP	368

/**
 * struct iwarp_crc_shift - what joins runs
 * @t: register after that many bytes of zero, for each of its bytes
 */
struct iwarp_crc_shift {
	u32 t[4][256];
};

static struct iwarp_crc_shift iwarp_crc_short __ro_after_init;
static struct iwarp_crc_shift iwarp_crc_long __ro_after_init;
static bool iwarp_crc_works __ro_after_init;

static __always_inline u64 iwarp_crc_u64(u64 crc, const u8 *p)
{
	asm("crc32q %1, %0" : "+r" (crc) : "m" (*(const u64 *)p));
	return crc;
}

static __always_inline u32 iwarp_crc_u32(u32 crc, const u8 *p)
{
	asm("crc32l %1, %0" : "+r" (crc) : "m" (*(const u32 *)p));
	return crc;
}

static __always_inline u32 iwarp_crc_u8(u32 crc, const u8 *p)
{
	asm("crc32b %1, %0" : "+r" (crc) : "m" (*p));
	return crc;
}

/* One cache line, as one dependency chain */
static __always_inline u64 iwarp_crc_line(u64 crc, const u8 *p)
{
	crc = iwarp_crc_u64(crc, p);
	crc = iwarp_crc_u64(crc, p + 8);
	crc = iwarp_crc_u64(crc, p + 16);
	crc = iwarp_crc_u64(crc, p + 24);
	crc = iwarp_crc_u64(crc, p + 32);
	crc = iwarp_crc_u64(crc, p + 40);
	crc = iwarp_crc_u64(crc, p + 48);
	return iwarp_crc_u64(crc, p + 56);
}

static __always_inline u32 iwarp_crc_skip(const struct iwarp_crc_shift *s, u32 crc)
{
	return s->t[0][crc & 0xff] ^ s->t[1][crc >> 8 & 0xff] ^
	       s->t[2][crc >> 16 & 0xff] ^ s->t[3][crc >> 24];
}

/* One word of each of three runs */
static __always_inline void iwarp_crc_words(u64 *reg, const u8 *p, u32 run)
{
	reg[0] = iwarp_crc_u64(reg[0], p);
	reg[1] = iwarp_crc_u64(reg[1], p + run);
	reg[2] = iwarp_crc_u64(reg[2], p + 2 * run);
}

/* Three runs of @run bytes side by side, @step of each at a time */
static __always_inline u32 iwarp_crc_3runs(const struct iwarp_crc_shift *s, u32 crc,
					   const u8 *p, u32 run, u32 step)
{
	u64 reg[3] = { crc };
	const u8 *end = p + run;
	u32 i;

	do {
#pragma GCC unroll 59
		for (i = 0; i < step; i += 8)
			iwarp_crc_words(reg, p + i, run);
		p += step;
	} while (p != end);
	crc = iwarp_crc_skip(s, reg[0]) ^ (u32)reg[1];
	return iwarp_crc_skip(s, crc) ^ (u32)reg[2];
}

static u32 iwarp_crc_x86(u32 crc, const u8 *p, size_t len)
{
	u64 reg;

	BUILD_BUG_ON(CRC_SHORT % CRC_SHORT_STEP ||
		     CRC_LONG % CRC_LONG_STEP);

	for (; len >= 3 * CRC_LONG; len -= 3 * CRC_LONG) {
		crc = iwarp_crc_3runs(&iwarp_crc_long, crc, p, CRC_LONG,
				      CRC_LONG_STEP);
		p += 3 * CRC_LONG;
	}
	for (; len >= 3 * CRC_SHORT; len -= 3 * CRC_SHORT) {
		crc = iwarp_crc_3runs(&iwarp_crc_short, crc, p, CRC_SHORT,
				      CRC_SHORT_STEP);
		p += 3 * CRC_SHORT;
	}
	reg = crc;
	for (; len >= 64; len -= 64, p += 64)
		reg = iwarp_crc_line(reg, p);
	if (len & 32) {
		reg = iwarp_crc_u64(reg, p);
		reg = iwarp_crc_u64(reg, p + 8);
		reg = iwarp_crc_u64(reg, p + 16);
		reg = iwarp_crc_u64(reg, p + 24);
		p += 32;
	}
	if (len & 16) {
		reg = iwarp_crc_u64(reg, p);
		reg = iwarp_crc_u64(reg, p + 8);
		p += 16;
	}
	if (len & 8) {
		reg = iwarp_crc_u64(reg, p);
		p += 8;
	}
	crc = reg;
	if (len & 4) {
		crc = iwarp_crc_u32(crc, p);
		p += 4;
	}
	for (len &= 3; len; len--, p++)
		crc = iwarp_crc_u8(crc, p);
	return crc;
}

u32 iwarp_crc32c(u32 crc, const void *p, size_t len)
{
	if (likely(iwarp_crc_works))
		return iwarp_crc_x86(crc, p, len);
	return crc32c(crc, p, len);
}
EXPORT_SYMBOL_GPL(iwarp_crc32c);

/**
 * iwarp_crc_driver - name of the implementation
 *
 * Return: "crc32q" for the instruction, "kernel" for the kernel's library.
 */
const char *iwarp_crc_driver(void)
{
	return iwarp_crc_works ? "crc32q" : "kernel";
}
EXPORT_SYMBOL_GPL(iwarp_crc_driver);

/* Does the above agree with the library, for all paths and alignments? */
static bool __init iwarp_crc_check(void)
{
	static u8 buf[12000] __initdata;
	u32 i, len;

	for (i = 0; i < sizeof(buf); i++)
		buf[i] = i * 167 + (i >> 8);
	for (len = 0; len <= sizeof(buf) - 8; len += len < 200 ? 1 : 37) {
		const u8 *p = buf + len % 8;

		if (iwarp_crc_x86(~len, p, len) != crc32c(~len, p, len))
			return false;
	}
	return true;
}

static void __init iwarp_crc_shift_init(struct iwarp_crc_shift *s, u32 run)
{
	static const u8 zero[8] __initconst;
	u32 i, k, n;
	u64 crc;

	for (k = 0; k < 4; k++) {
		for (i = 0; i < 256; i++) {
			crc = i << 8 * k;
			for (n = 0; n < run; n += sizeof(zero))
				crc = iwarp_crc_u64(crc, zero);
			s->t[k][i] = crc;
		}
	}
}

/**
 * iwarp_crc_init - compute the tables
 */
void __init iwarp_crc_init(void)
{
	if (!boot_cpu_has(X86_FEATURE_XMM4_2))
		return;
	iwarp_crc_shift_init(&iwarp_crc_short, CRC_SHORT);
	iwarp_crc_shift_init(&iwarp_crc_long, CRC_LONG);
	iwarp_crc_works = iwarp_crc_check();
	if (!iwarp_crc_works)
		pr_warn("libiwarp: CRC32 instruction not usable\n");
}

#else

const char *iwarp_crc_driver(void)
{
	return "kernel";
}
EXPORT_SYMBOL_GPL(iwarp_crc_driver);

u32 iwarp_crc32c(u32 crc, const void *p, size_t len)
{
	return crc32c(crc, p, len);
}
EXPORT_SYMBOL_GPL(iwarp_crc32c);

void __init iwarp_crc_init(void)
{
}

#endif
