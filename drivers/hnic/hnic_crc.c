// SPDX-License-Identifier: GPL-2.0
/*
 * CRC32c, as in iwarp_hybrid. The modules do not depend on each other.
 */
#include "../iwarp_hybrid/hyb_crc.c"
