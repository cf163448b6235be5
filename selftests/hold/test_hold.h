/* SPDX-License-Identifier: GPL-2.0 */
/*
 * test_hold.ko: what other test modules ask of it, by symbol_get(): a kernel without
 * probes does not have it.
 */
#ifndef _TEST_HOLD_H
#define _TEST_HOLD_H

#include <linux/types.h>

bool test_hold_hit(void);

#endif
