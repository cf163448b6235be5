/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Registered memory beneath fuzz_rx.c: regions in one piece and in pages, as hyb_mem.c
 * has them, and a count of their holders.
 */
#ifndef SELFTESTS_FUZZ_RX_MEMORY_H
#define SELFTESTS_FUZZ_RX_MEMORY_H

#include "iwarp_hybrid/hyb_mem.h"

#define REGIONS 4
#define REGION 16384u /* bytes */
#define REGION_PAGE 512u
#define REGION_STAG 0x4200u /* of the first */

struct region {
	struct hyb_mem mem;
	struct page all; /* of @bytes */
	u8 *page[REGION / REGION_PAGE + 1];
	u8 bytes[REGION + 2 * REGION_PAGE];
};

extern struct region regions[REGIONS];

/*
 * Even ones are in one piece, odd ones in pages that are not in order. @nic: a NIC
 * knows all of them.
 */
void regions_begin(struct ib_pd *pd, bool nic);
void regions_end(void); /* no reference or user may be left */

/* The page of a byte of a region */
struct page *region_page(const u8 *p);

#endif /* SELFTESTS_FUZZ_RX_MEMORY_H */
