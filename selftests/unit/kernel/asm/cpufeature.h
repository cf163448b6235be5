/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The kernel's interface for lib/iwarp/crc.c, in user space */
#ifndef SELFTESTS_UNIT_CPUFEATURE_H
#define SELFTESTS_UNIT_CPUFEATURE_H

#define X86_FEATURE_XMM4_2 "sse4.2"
#define X86_FEATURE_AVX2 "avx2"
#define X86_FEATURE_VPCLMULQDQ "vpclmulqdq"
#define boot_cpu_has(feature) __builtin_cpu_supports(feature)

#endif /* SELFTESTS_UNIT_CPUFEATURE_H */
