// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * CRC32c as the driver computes it, against a table of 256 entries: every length
 * and alignment, in one piece and in two. The headers of the kernel that it asks
 * for are in kernel/.
 */
#include <stdio.h>
#include <sys/mman.h>

#include <asm/cpufeature.h>
#include <linux/cache.h>

#include "iwarp/crc.h"
#include "unit.h"

#define SHORT 4096 /* every length up to here */
#define LONG 20000 /* some up to here: more than twice three long runs */
#define AREA 20480 /* pages */

static u8 *area; /* what is after it cannot be read */
static u32 want[LONG + 1]; /* register after so many bytes */

static void expect(const u8 *p)
{
	size_t i;

	want[0] = 0x5044;
	for (i = 0; i < LONG; i++)
		want[i + 1] = unit_crc32c(want[i], p + i, 1);
}

static size_t next(size_t len)
{
	return len < SHORT ? len + 1 : len + 1 + unit_below(60);
}

static void whole(void)
{
	enum iwarp_crc_how how = iwarp_crc_begin(false, AREA);
	size_t align, len;

	for (align = 0; align < 8; align++) {
		expect(area + align);
		for (len = 0; len <= LONG; len = next(len)) {
			CHECK_EQ(iwarp_crc32c(want[0], area + align, len),
				 want[len]);
			CHECK_EQ(iwarp_crc32c_by(how, want[0], area + align,
						 len),
				 want[len]);
		}
	}
	iwarp_crc_end(how);
}

static void pieces(void)
{
	size_t align, len, cut;

	for (align = 0; align < 8; align++) {
		expect(area + align);
		for (len = 1; len <= LONG; len = next(len)) {
			cut = unit_below(len);
			CHECK_EQ(iwarp_crc32c(want[cut], area + align + cut,
					      len - cut),
				 want[len]);
			/* few bytes, before and after */
			cut = unit_below(len < 16 ? len : 16);
			CHECK_EQ(iwarp_crc32c(want[cut], area + align + cut,
					      len - cut),
				 want[len]);
			CHECK_EQ(iwarp_crc32c(want[len - cut],
					      area + align + len - cut, cut),
				 want[len]);
		}
	}
}

/* Instructions that sanitizers do not see read nothing before or after the buffer */
static void edges(void)
{
	enum iwarp_crc_how how = iwarp_crc_begin(false, AREA);
	size_t len;
	u8 *p;

	for (len = 0; len <= LONG; len = next(len)) {
		p = area + AREA - len;
		CHECK_EQ(iwarp_crc32c(~0U, p, len), unit_crc32c(~0U, p, len));
		CHECK_EQ(iwarp_crc32c(~0U, area, len),
			 unit_crc32c(~0U, area, len));
		CHECK_EQ(iwarp_crc32c_by(how, ~0U, p, len),
			 unit_crc32c(~0U, p, len));
	}
	iwarp_crc_end(how);
}

/* The driver leaves a routine alone that is wrong: then the above tests nothing */
static void used(void)
{
#ifdef CONFIG_X86_64
	CHECK(!boot_cpu_has(X86_FEATURE_XMM4_2) ||
	      !strcmp(iwarp_crc_driver(), "crc32q"));
	CHECK(!boot_cpu_has(X86_FEATURE_AVX2) ||
	      !boot_cpu_has(X86_FEATURE_VPCLMULQDQ) ||
	      iwarp_crc_begin(false, AREA) == IWARP_CRC_VECTOR);
#endif
}

int main(void)
{
	static const struct unit_test tests[] = {
		{ "the processor's instructions compute it, where there are any",
		  used },
		{ "every length and alignment", whole },
		{ "in two pieces", pieces },
		{ "nothing but the bytes is read", edges },
	};

	area = mmap(NULL, AREA + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	if (area == MAP_FAILED)
		return 1;
	area += 4096;
	if (mprotect(area, AREA, PROT_READ | PROT_WRITE))
		return 1;
	unit_random_bytes(area, AREA);
	iwarp_crc_init();
	printf("# computed by %s\n", iwarp_crc_driver());
	return unit_main("crc", tests, ARRAY_LEN(tests));
}
