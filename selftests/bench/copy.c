// SPDX-License-Identifier: GPL-2.0
/*
 * sdp-copy cold|hot: copies with a known traffic between cache and memory, to try
 * cache_model.c on. "cold" copies 16 MB to another 16 MB, "hot" the same amount in
 * copies of the same 64 KB. Marks surround each of three rounds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/sdpbench/mark.h"

#define TOTAL (16U << 20)
#define HOT (64U << 10)

int main(int argc, char **argv)
{
	size_t size;
	char *from, *to;

	if (argc != 2 || (strcmp(argv[1], "cold") && strcmp(argv[1], "hot"))) {
		fprintf(stderr, "usage: sdp-copy cold|hot\n");
		return 2;
	}
	size = !strcmp(argv[1], "cold") ? TOTAL : HOT;
	from = malloc(size);
	to = malloc(size);
	if (!from || !to) {
		perror("malloc");
		return 1;
	}
	/* not the page of zeroes */
	memset(from, 1, size);
	memset(to, 2, size);
	for (int round = 0; round < 3; round++) {
		bench_mark_start();
		for (size_t done = 0; done < TOTAL; done += size) {
			memcpy(to, from, size);
			/* the compiler must not see that it is all the same */
			__asm__ volatile("" : : "r"(to), "r"(from) : "memory");
		}
		bench_mark_stop();
	}
	free(from);
	free(to);
	return 0;
}
