/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CRC32c for FPDUs. Lowest layer: calls the kernel's library only.
 */
#ifndef LIB_IWARP_CRC_H
#define LIB_IWARP_CRC_H

#include "types.h"

/**
 * iwarp_crc32c - extend a CRC32c register
 * @crc: register, all ones at the start
 * @p: bytes
 * @len: how many
 *
 * The same as crc32c() of the kernel. Before 6.14 that one goes through the
 * crypto API and the FPU, which for one FPDU costs as much as the checksum.
 *
 * Context: any.
 * Return: the register.
 */
u32 iwarp_crc32c(u32 crc, const void *p, size_t len);

/**
 * iwarp_crc32c_kernel - the same, without the instruction
 * @crc: register
 * @p: bytes
 * @len: how many
 *
 * For measurements: by the kernel's tables, or, in kernels that do not export
 * those, by its library, which may know the instruction.
 *
 * Context: any.
 * Return: the register.
 */
u32 iwarp_crc32c_kernel(u32 crc, const void *p, size_t len);

static inline u32 iwarp_crc32c_by(bool kernel, u32 crc, const void *p, size_t len)
{
	return kernel ? iwarp_crc32c_kernel(crc, p, len) :
			iwarp_crc32c(crc, p, len);
}

const char *iwarp_crc_driver(void);
void iwarp_crc_init(void);

#endif
