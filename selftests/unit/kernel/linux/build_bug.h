/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The kernel's interface for lib/iwarp/crc.c, in user space */
#ifndef SELFTESTS_UNIT_BUILD_BUG_H
#define SELFTESTS_UNIT_BUILD_BUG_H

#define BUILD_BUG_ON(cond) _Static_assert(!(cond), #cond)

#endif /* SELFTESTS_UNIT_BUILD_BUG_H */
