/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sdpbench, the memory that messages are sent from.
 */
#ifndef SDPBENCH_BUFFERS_H
#define SDPBENCH_BUFFERS_H

#include "sdpbench.h"

/**
 * struct buffers - memory of messages of one size
 * @mem: all of it
 * @len: its size
 * @step: distance between two buffers
 * @n: number of buffers
 * @reuse: per cent of the messages that are sent from the first buffer; -1: all buffers
 *	   in turn
 * @next: number of the next buffer in turn
 * @sum: accumulator that spreads the @reuse per cent evenly; 0 to 99
 */
struct buffers {
	char *mem;
	size_t len;
	size_t step;
	uint32_t n;
	int reuse;
	uint32_t next;
	unsigned int sum;
};

void buffers_small_pages(void *mem, size_t len);
void buffers_open(struct buffers *b, const struct bench_opts *opts,
		  uint32_t size);
void buffers_renew(struct buffers *b);
char *buffers_next(struct buffers *b);
void buffers_close(struct buffers *b);

#endif /* SDPBENCH_BUFFERS_H */
