/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The environment of the protocol files: fixed-size types, memcpy and
 * EXPORT_SYMBOL_GPL. They build in the kernel and, unchanged, in user space,
 * there with -D'EXPORT_SYMBOL_GPL(name)='.
 *
 * Rules for this directory, except for crc.c (it has tables, and calls the kernel) and
 * main.c: pure functions over (pointer, length), unsigned arithmetic that cannot wrap, no
 * allocation, no global state, no calls to other code except through function pointers
 * that are passed in.
 */
#ifndef LIB_IWARP_TYPES_H
#define LIB_IWARP_TYPES_H

#ifdef __KERNEL__
#include <linux/export.h>
#include <linux/string.h>
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <linux/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
#endif

/* Numbers in network byte order, at any alignment */
static inline u16 proto_get16(const u8 *p)
{
	return (u16)(p[0] << 8 | p[1]);
}

static inline u32 proto_get32(const u8 *p)
{
	return (u32)p[0] << 24 | (u32)p[1] << 16 | (u32)p[2] << 8 | p[3];
}

static inline u64 proto_get64(const u8 *p)
{
	return (u64)proto_get32(p) << 32 | proto_get32(p + 4);
}

static inline void proto_put16(u8 *p, u16 v)
{
	p[0] = (u8)(v >> 8);
	p[1] = (u8)v;
}

static inline void proto_put32(u8 *p, u32 v)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	v = __builtin_bswap32(v);
#endif
	memcpy(p, &v, sizeof(v));
}

static inline void proto_put64(u8 *p, u64 v)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	v = __builtin_bswap64(v);
#endif
	memcpy(p, &v, sizeof(v));
}

#endif
