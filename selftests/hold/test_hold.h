/* SPDX-License-Identifier: GPL-2.0 */
/*
 * test_hold.ko: functions for other test modules. They call symbol_get(), since a kernel
 * without probes does not have this module.
 */
#ifndef _TEST_HOLD_H
#define _TEST_HOLD_H

#include <linux/types.h>

bool test_hold_hit(void);

#endif
