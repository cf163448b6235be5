/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* sdpbench, SMC: see smc.c */
#ifndef SDPBENCH_SMC_H
#define SDPBENCH_SMC_H

#include "sdpbench.h"

void smc_check(int fd);

#endif
