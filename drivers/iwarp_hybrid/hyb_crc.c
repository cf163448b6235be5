// SPDX-License-Identifier: GPL-2.0
/*
 * CRC32c for FPDUs. See hyb_crc.h.
 *
 * The CRC32 instruction takes 8 octets, has a latency of three cycles and can
 * start every cycle: three independent runs are as fast as the machine goes.
 * Their registers are joined by multiplying with x^(8 * HYB_CRC_RUN), which is
 * linear, hence four table look-ups. Three runs are most of an FPDU at the
 * usual MTU.
 */
#include <linux/cache.h>
#include <linux/crc32c.h>

#include "hyb_crc.h"

#ifdef CONFIG_X86_64
#include <asm/cpufeature.h>

#define HYB_CRC_RUN	448	/* octets, a multiple of 64 */

static u32 hyb_crc_shift[4][256] __ro_after_init;
static bool hyb_crc_works __ro_after_init;

static __always_inline u64 hyb_crc_u64(u64 crc, const u8 *p)
{
	asm("crc32q %1, %0" : "+r" (crc) : "m" (*(const u64 *)p));
	return crc;
}

static __always_inline u32 hyb_crc_u32(u32 crc, const u8 *p)
{
	asm("crc32l %1, %0" : "+r" (crc) : "m" (*(const u32 *)p));
	return crc;
}

static __always_inline u32 hyb_crc_u8(u32 crc, const u8 *p)
{
	asm("crc32b %1, %0" : "+r" (crc) : "m" (*p));
	return crc;
}

/* One cache line, as one dependency chain */
static __always_inline u64 hyb_crc_line(u64 crc, const u8 *p)
{
	crc = hyb_crc_u64(crc, p);
	crc = hyb_crc_u64(crc, p + 8);
	crc = hyb_crc_u64(crc, p + 16);
	crc = hyb_crc_u64(crc, p + 24);
	crc = hyb_crc_u64(crc, p + 32);
	crc = hyb_crc_u64(crc, p + 40);
	crc = hyb_crc_u64(crc, p + 48);
	return hyb_crc_u64(crc, p + 56);
}

/* The register after HYB_CRC_RUN octets of zero */
static u32 hyb_crc_skip(u32 crc)
{
	return hyb_crc_shift[0][crc & 0xff] ^
	       hyb_crc_shift[1][crc >> 8 & 0xff] ^
	       hyb_crc_shift[2][crc >> 16 & 0xff] ^
	       hyb_crc_shift[3][crc >> 24];
}

/* Three runs side by side */
static u32 hyb_crc_3runs(u32 crc, const u8 *p)
{
	const u8 *end = p + HYB_CRC_RUN;
	u64 a = crc, b = 0, c = 0;

	do {
		a = hyb_crc_line(a, p);
		b = hyb_crc_line(b, p + HYB_CRC_RUN);
		c = hyb_crc_line(c, p + 2 * HYB_CRC_RUN);
		p += 64;
	} while (p != end);
	return hyb_crc_skip(hyb_crc_skip(a) ^ (u32)b) ^ (u32)c;
}

static u32 hyb_crc_x86(u32 crc, const u8 *p, size_t len)
{
	u64 reg;

	for (; len >= 3 * HYB_CRC_RUN; len -= 3 * HYB_CRC_RUN) {
		crc = hyb_crc_3runs(crc, p);
		p += 3 * HYB_CRC_RUN;
	}
	reg = crc;
	for (; len >= 64; len -= 64, p += 64)
		reg = hyb_crc_line(reg, p);
	if (len & 32) {
		reg = hyb_crc_u64(reg, p);
		reg = hyb_crc_u64(reg, p + 8);
		reg = hyb_crc_u64(reg, p + 16);
		reg = hyb_crc_u64(reg, p + 24);
		p += 32;
	}
	if (len & 16) {
		reg = hyb_crc_u64(reg, p);
		reg = hyb_crc_u64(reg, p + 8);
		p += 16;
	}
	if (len & 8) {
		reg = hyb_crc_u64(reg, p);
		p += 8;
	}
	crc = reg;
	if (len & 4) {
		crc = hyb_crc_u32(crc, p);
		p += 4;
	}
	for (len &= 3; len; len--, p++)
		crc = hyb_crc_u8(crc, p);
	return crc;
}

u32 hyb_crc32c(u32 crc, const void *p, size_t len)
{
	if (likely(hyb_crc_works))
		return hyb_crc_x86(crc, p, len);
	return crc32c(crc, p, len);
}

/**
 * hyb_crc_driver - who computes
 *
 * Return: "crc32q" for the instruction, "kernel" for the kernel's library.
 */
const char *hyb_crc_driver(void)
{
	return hyb_crc_works ? "crc32q" : "kernel";
}

/* Does the above agree with the library, for all paths and alignments? */
static bool __init hyb_crc_check(void)
{
	static u8 buf[3000] __initdata;
	u32 i, len;

	for (i = 0; i < sizeof(buf); i++)
		buf[i] = i * 167 + (i >> 8);
	for (len = 0; len <= sizeof(buf) - 8; len += len < 200 ? 1 : 37) {
		const u8 *p = buf + len % 8;

		if (hyb_crc_x86(~len, p, len) != crc32c(~len, p, len))
			return false;
	}
	return true;
}

/**
 * hyb_crc_init - compute the tables
 */
void __init hyb_crc_init(void)
{
	static const u8 zero[64] __initconst;
	u32 i, k, n;
	u64 crc;

	if (!boot_cpu_has(X86_FEATURE_XMM4_2))
		return;
	for (k = 0; k < 4; k++) {
		for (i = 0; i < 256; i++) {
			crc = i << 8 * k;
			for (n = 0; n < HYB_CRC_RUN; n += sizeof(zero))
				crc = hyb_crc_line(crc, zero);
			hyb_crc_shift[k][i] = crc;
		}
	}
	hyb_crc_works = hyb_crc_check();
	if (!hyb_crc_works)
		pr_warn("iwarp_hybrid: CRC32 instruction not usable\n");
}

#else

const char *hyb_crc_driver(void)
{
	return "kernel";
}

u32 hyb_crc32c(u32 crc, const void *p, size_t len)
{
	return crc32c(crc, p, len);
}

void __init hyb_crc_init(void)
{
}

#endif
