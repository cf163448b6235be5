/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Decisions of a fuzz target: those of the input, and when that is used up of a
 * generator that began with it.
 */
#ifndef SELFTESTS_FUZZ_PICK_H
#define SELFTESTS_FUZZ_PICK_H

#include "kernel_base.h"

struct pick {
	const uint8_t *data;
	size_t left;
	u32 random;
};

static struct pick from;

static inline void pick_begin(const uint8_t *data, size_t size)
{
	from = (struct pick){ data, size, 0x811c9dc5u };
}

/* A number below @below */
static inline u32 pick(u32 below)
{
	if (from.left) {
		from.left--;
		from.random = (from.random ^ *from.data) * 0x01000193u;
		return *from.data++ % below;
	}
	from.random = from.random * 1664525u + 1013904223u;
	return (from.random >> 8) % below;
}

static inline bool one_in(u32 n)
{
	return pick(256) < 256 / n;
}

#endif /* SELFTESTS_FUZZ_PICK_H */
