// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Fuzz target: the bytes decide marker interval, position, MSS and messages of
 * a stream, which is laid out in place and has to be parsed back to what went in.
 */
#include <stdlib.h>

#include "layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct layout l;
	struct layout_source src = { data, size };
	const char *fault = layout_make(&l, &src);

	if (!fault)
		fault = layout_check(&l, &src);
	if (fault) {
		fprintf(stderr, "interval %u, position %llx, FPDU %u: %s\n",
			l.ivl, (unsigned long long)l.pos, l.nr, fault);
		abort();
	}
	return 0;
}
