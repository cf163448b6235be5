/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The kernel's interface for lib/iwarp/crc.c, in user space */
#ifndef SELFTESTS_UNIT_CACHE_H
#define SELFTESTS_UNIT_CACHE_H

#include <stdio.h>

#define __init
#define __initdata
#define __ro_after_init
#define likely(x) __builtin_expect(!!(x), 1)
#define pr_warn(...) printf("# " __VA_ARGS__)

#ifdef __x86_64__
#define CONFIG_X86_64 1
#endif

#endif /* SELFTESTS_UNIT_CACHE_H */
