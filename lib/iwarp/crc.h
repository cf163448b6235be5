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
 * iwarp_crc32c_kernel - extend a CRC32c register, by the kernel's code
 * @crc: register
 * @p: bytes
 * @len: how many
 *
 * For measurements. Uses the kernel's table code where it is exported. Elsewhere it
 * uses crc32c(), which may use the CPU's CRC32 instruction.
 *
 * Context: any.
 * Return: the register.
 */
u32 iwarp_crc32c_kernel(u32 crc, const void *p, size_t len);

/**
 * enum iwarp_crc_how - code that computes a CRC
 * @IWARP_CRC_OWN: iwarp_crc32c()
 * @IWARP_CRC_KERNEL: iwarp_crc32c_kernel()
 * @IWARP_CRC_VECTOR: iwarp_crc32c_vector()
 *
 * The first two values equal false and true, so a bool "use the kernel's code" can be
 * passed instead.
 */
enum iwarp_crc_how {
	IWARP_CRC_OWN = false,
	IWARP_CRC_KERNEL = true,
	IWARP_CRC_VECTOR,
};

/**
 * iwarp_crc_begin - several checksums follow
 * @kernel: use the kernel's code
 * @len: expected total number of bytes
 *
 * Saves the vector registers once, if that pays off. The caller must not sleep until
 * iwarp_crc_end(). If the function returns IWARP_CRC_VECTOR, preemption is disabled as
 * well.
 *
 * Context: any.
 * Return: how to compute them.
 */
enum iwarp_crc_how iwarp_crc_begin(bool kernel, size_t len);

/**
 * iwarp_crc_end - all checksums since iwarp_crc_begin() are computed
 * @how: returned by iwarp_crc_begin()
 *
 * Context: as iwarp_crc_begin().
 */
void iwarp_crc_end(enum iwarp_crc_how how);

/**
 * iwarp_crc32c_vector - the same as iwarp_crc32c(), by the vector registers
 * @crc: register
 * @p: bytes
 * @len: how many
 *
 * Context: after iwarp_crc_begin() has returned IWARP_CRC_VECTOR.
 * Return: the register.
 */
u32 iwarp_crc32c_vector(u32 crc, const void *p, size_t len);

static inline u32 iwarp_crc32c_by(enum iwarp_crc_how how, u32 crc, const void *p,
				  size_t len)
{
	switch (how) {
	case IWARP_CRC_VECTOR:
		return iwarp_crc32c_vector(crc, p, len);
	case IWARP_CRC_KERNEL:
		return iwarp_crc32c_kernel(crc, p, len);
	default:
		return iwarp_crc32c(crc, p, len);
	}
}

/* Name of the implementation; context: any */
const char *iwarp_crc_driver(void);

/* Choose an implementation, and compute its tables; context: module init */
void iwarp_crc_init(void);

#endif
