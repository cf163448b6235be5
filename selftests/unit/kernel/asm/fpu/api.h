/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The kernel's interface for lib/iwarp/crc.c, in user space */
#ifndef SELFTESTS_UNIT_FPU_API_H
#define SELFTESTS_UNIT_FPU_API_H

#define irq_fpu_usable() 1
#define kernel_fpu_begin() ((void)0)
#define kernel_fpu_end() ((void)0)
#define cpu_has_xfeatures(mask, name) 1

#endif /* SELFTESTS_UNIT_FPU_API_H */
