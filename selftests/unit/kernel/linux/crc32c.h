/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The kernel's interface for lib/iwarp/crc.c, in user space */
#ifndef SELFTESTS_UNIT_CRC32C_H
#define SELFTESTS_UNIT_CRC32C_H

#include "unit.h"

#define crc32c(crc, p, len) unit_crc32c(crc, p, len)

#endif /* SELFTESTS_UNIT_CRC32C_H */
