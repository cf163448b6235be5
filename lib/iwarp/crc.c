// SPDX-License-Identifier: GPL-2.0
/*
 * CRC32c for FPDUs. See crc.h.
 *
 * The CRC32 instruction takes 8 bytes, has a latency of three cycles and can
 * start every cycle: three independent runs start one in each cycle.
 * Their registers are joined by multiplying with x^(8 * length of a run), which
 * is linear, hence four table look-ups. There are two lengths: three runs are
 * most of an FPDU at an MTU of 1500, or of 9000.
 *
 * Carry-less multiplication of vectors takes as many bytes in a cycle, by another
 * unit of the processor. So where there is VPCLMULQDQ, half of a block goes that way
 * while three runs go over the other half.
 */
#include <linux/build_bug.h>
#include <linux/cache.h>
#include <linux/crc32c.h>
#ifdef __KERNEL__
#include <linux/crc32.h>
#include <linux/init.h>

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
#include <asm/fpu/api.h>

/* Bytes of a run, and how many of them at a time, multiples of 8 */
#define CRC_SHORT	472
#define CRC_SHORT_STEP	472
#define CRC_LONG	2944
#define CRC_LONG_STEP	368

/**
 * struct iwarp_crc_shift - table to join runs
 * @t: register after a run of zero bytes, for each value of each of its four bytes
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

static u32 iwarp_crc_x86(u32 crc, const void *from, size_t len)
{
	const u8 *p = from;
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

/* Steps of a block; in one, three vectors of 32 bytes, and 32 bytes of each run */
#define CRC_VEC_STEPS	7
#define CRC_VEC_STEP	96
#define CRC_VEC_FRONT	(CRC_VEC_STEP * (CRC_VEC_STEPS + 1))
#define CRC_VEC_RUN	(32 * CRC_VEC_STEPS)
#define CRC_VEC_BLOCK	(CRC_VEC_FRONT + 3 * CRC_VEC_RUN)

/*
 * From this number of bytes on it is worth saving the vector registers of a task. To save
 * and restore them takes 175 ns on a processor that is 13 ns per KB faster with them.
 */
#define CRC_VEC_LEAST	16384

/**
 * struct iwarp_crc_fold - factors that move 16 bytes to where they are added
 * @step: past a step, for both halves of the 16 bytes
 * @vector: past a vector
 * @half: past half of a vector
 */
struct iwarp_crc_fold {
	u64 step[2];
	u64 vector[2];
	u64 half[2];
};

static struct iwarp_crc_fold iwarp_crc_fold __ro_after_init;
static struct iwarp_crc_shift iwarp_crc_vec_run __ro_after_init;
static bool iwarp_crc_vec_works __ro_after_init;

/* The kernel's compiler does not know these registers */
#ifdef __SSE__
#define CRC_VEC_CLOBBERS "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "memory"
#else
#define CRC_VEC_CLOBBERS "memory"
#endif

/* Multiply ymm@i by the constants in ymm3, add the product to what is at @to */
#define CRC_VEC_FOLD(i, to)						\
	"vpclmulqdq $0x00, %%ymm3, %%ymm" #i ", %%ymm4\n\t"		\
	"vpclmulqdq $0x11, %%ymm3, %%ymm" #i ", %%ymm" #i "\n\t"	\
	"vpxor " to ", %%ymm4, %%ymm4\n\t"				\
	"vpxor %%ymm4, %%ymm" #i ", %%ymm" #i "\n\t"

/* One word of each run */
#define CRC_VEC_WORD(off)						\
	"crc32q " #off "(%[run]), %[a]\n\t"				\
	"crc32q " #off "+%c[len](%[run]), %[b]\n\t"			\
	"crc32q " #off "+2*%c[len](%[run]), %[c]\n\t"

/* Caller: the vector registers are saved, see iwarp_crc_begin() */
static u32 iwarp_crc_vec(u32 crc, const u8 *p)
{
	const u8 *run = p + CRC_VEC_FRONT;
	u64 a = 0, b = 0, c = 0, n = CRC_VEC_STEPS, sum = crc, high;

	asm volatile("vmovd %k[sum], %%xmm0\n\t"
		     "vpxor (%[p]), %%ymm0, %%ymm0\n\t"
		     "vmovdqu 32(%[p]), %%ymm1\n\t"
		     "vmovdqu 64(%[p]), %%ymm2\n\t"
		     "vbroadcasti128 (%[fold]), %%ymm3\n"
		     "1:\n\t"
		     "add %[step], %[p]\n\t"
		     CRC_VEC_FOLD(0, "(%[p])")
		     CRC_VEC_WORD(0)
		     CRC_VEC_FOLD(1, "32(%[p])")
		     CRC_VEC_WORD(8)
		     CRC_VEC_FOLD(2, "64(%[p])")
		     CRC_VEC_WORD(16)
		     CRC_VEC_WORD(24)
		     "add $32, %[run]\n\t"
		     "dec %[n]\n\t"
		     "jnz 1b\n\t"
		     "vbroadcasti128 16(%[fold]), %%ymm3\n\t"
		     CRC_VEC_FOLD(0, "%%ymm1")
		     CRC_VEC_FOLD(0, "%%ymm2")
		     "vmovdqu 32(%[fold]), %%xmm3\n\t"
		     "vextracti128 $1, %%ymm0, %%xmm1\n\t"
		     CRC_VEC_FOLD(0, "%%ymm1")
		     "vmovq %%xmm0, %[n]\n\t"
		     "vpextrq $1, %%xmm0, %[high]\n\t"
		     "xor %k[sum], %k[sum]\n\t"
		     "crc32q %[n], %[sum]\n\t"
		     "crc32q %[high], %[sum]\n\t"
		     "vzeroupper"
		     : [p] "+r" (p), [run] "+r" (run), [n] "+r" (n),
		       [a] "+r" (a), [b] "+r" (b), [c] "+r" (c),
		       [sum] "+r" (sum), [high] "=&r" (high)
		     : [fold] "r" (&iwarp_crc_fold), [step] "i" (CRC_VEC_STEP),
		       [len] "i" (CRC_VEC_RUN)
		     : CRC_VEC_CLOBBERS);
	crc = iwarp_crc_skip(&iwarp_crc_vec_run, sum) ^ (u32)a;
	crc = iwarp_crc_skip(&iwarp_crc_vec_run, crc) ^ (u32)b;
	return iwarp_crc_skip(&iwarp_crc_vec_run, crc) ^ (u32)c;
}

u32 iwarp_crc32c_vector(u32 crc, const void *p, size_t len)
{
	for (; len >= CRC_VEC_BLOCK; len -= CRC_VEC_BLOCK) {
		crc = iwarp_crc_vec(crc, p);
		p += CRC_VEC_BLOCK;
	}
	return iwarp_crc_x86(crc, p, len);
}
EXPORT_SYMBOL_GPL(iwarp_crc32c_vector);

enum iwarp_crc_how iwarp_crc_begin(bool kernel, size_t len)
{
	if (kernel)
		return IWARP_CRC_KERNEL;
	if (!iwarp_crc_vec_works || len < CRC_VEC_LEAST || !irq_fpu_usable())
		return IWARP_CRC_OWN;
	kernel_fpu_begin();
	return IWARP_CRC_VECTOR;
}
EXPORT_SYMBOL_GPL(iwarp_crc_begin);

void iwarp_crc_end(enum iwarp_crc_how how)
{
	if (how == IWARP_CRC_VECTOR)
		kernel_fpu_end();
}
EXPORT_SYMBOL_GPL(iwarp_crc_end);

static u32 iwarp_crc_long_one(u32 crc, const void *p, size_t len)
{
	enum iwarp_crc_how how = iwarp_crc_begin(false, len);

	if (how == IWARP_CRC_VECTOR)
		crc = iwarp_crc32c_vector(crc, p, len);
	else
		crc = iwarp_crc_x86(crc, p, len);
	iwarp_crc_end(how);
	return crc;
}

u32 iwarp_crc32c(u32 crc, const void *p, size_t len)
{
	if (likely(iwarp_crc_works))
		return len < CRC_VEC_LEAST ? iwarp_crc_x86(crc, p, len) :
					     iwarp_crc_long_one(crc, p, len);
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

/* Does @sum agree with the kernel's library, for all paths and alignments? */
static bool __init iwarp_crc_check(u32 (*sum)(u32 crc, const void *p, size_t len))
{
	static u8 buf[12000] __initdata;
	u32 i, len;

	for (i = 0; i < sizeof(buf); i++)
		buf[i] = i * 167 + (i >> 8);
	for (len = 0; len <= sizeof(buf) - 8; len += len < 200 ? 1 : 37) {
		const u8 *p = buf + len % 8;

		if (sum(~len, p, len) != crc32c(~len, p, len))
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

/* The register x^@n, reflected: its bit 31 is x^0 */
static u32 __init iwarp_crc_power(u32 n)
{
	u32 reg = 1U << 31;

	for (; n; n--)
		reg = reg >> 1 ^ (reg & 1 ? 0x82f63b78 : 0);
	return reg;
}

/*
 * Factors that move 16 bytes on by @len bytes. The product of two reflected words is
 * x times too large.
 */
static void __init iwarp_crc_fold_init(u64 *k, u32 len)
{
	k[0] = (u64)iwarp_crc_power(8 * len + 63) << 32;
	k[1] = (u64)iwarp_crc_power(8 * len - 1) << 32;
}

static bool __init iwarp_crc_vec_there(void)
{
#ifndef CONFIG_UML
	if (!cpu_has_xfeatures(XFEATURE_MASK_SSE | XFEATURE_MASK_YMM, NULL))
		return false;
#endif
	return boot_cpu_has(X86_FEATURE_AVX2) &&
	       boot_cpu_has(X86_FEATURE_VPCLMULQDQ);
}

static u32 __init iwarp_crc_vec_one(u32 crc, const void *p, size_t len)
{
	kernel_fpu_begin();
	crc = iwarp_crc32c_vector(crc, p, len);
	kernel_fpu_end();
	return crc;
}

static void __init iwarp_crc_vec_init(void)
{
	if (!iwarp_crc_vec_there())
		return;
	iwarp_crc_shift_init(&iwarp_crc_vec_run, CRC_VEC_RUN);
	iwarp_crc_fold_init(iwarp_crc_fold.step, CRC_VEC_STEP);
	iwarp_crc_fold_init(iwarp_crc_fold.vector, 32);
	iwarp_crc_fold_init(iwarp_crc_fold.half, 16);
	iwarp_crc_vec_works = iwarp_crc_check(iwarp_crc_vec_one);
	if (!iwarp_crc_vec_works)
		pr_warn("libiwarp: VPCLMULQDQ not usable\n");
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
	iwarp_crc_works = iwarp_crc_check(iwarp_crc_x86);
	if (iwarp_crc_works)
		iwarp_crc_vec_init();
	else
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

u32 iwarp_crc32c_vector(u32 crc, const void *p, size_t len)
{
	return crc32c(crc, p, len);
}
EXPORT_SYMBOL_GPL(iwarp_crc32c_vector);

enum iwarp_crc_how iwarp_crc_begin(bool kernel, size_t len)
{
	return kernel ? IWARP_CRC_KERNEL : IWARP_CRC_OWN;
}
EXPORT_SYMBOL_GPL(iwarp_crc_begin);

void iwarp_crc_end(enum iwarp_crc_how how)
{
}
EXPORT_SYMBOL_GPL(iwarp_crc_end);

void __init iwarp_crc_init(void)
{
}

#endif
