// SPDX-License-Identifier: GPL-2.0
/* Built once for each module that has it */
#include "../lib/ktest.c"
