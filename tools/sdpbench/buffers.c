// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpbench, the memory that messages are sent from: one buffer, N in turn, or one
 * for a part of the messages and others for the rest. Calls say.c.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "buffers.h"

#define BUF_PAGE 4096
/* Size of all buffers of --reuse that are used once, before the first is used again */
#define FRESH_BYTES (256U << 20)
/* Taken as the size of the last cache where the C library does not know it */
#define CACHE_BYTES (32U << 20)
#define COLD_TIMES 4

static uint32_t cold_buffers(size_t step)
{
	long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
	size_t n;

	if (cache <= 0)
		cache = CACHE_BYTES;
	n = COLD_TIMES * (size_t)cache / step + 1;
	return n < BENCH_MAX_BUFFERS ? n : BENCH_MAX_BUFFERS;
}

/**
 * buffers_small_pages() - pages of one size, however much memory there is
 * @mem: memory, not touched yet
 * @len: its length
 *
 * The kernel has huge pages for large areas only: many buffers would be less work to
 * register and to send than one of them. A kernel without huge pages refuses, and needs
 * nothing.
 */
void buffers_small_pages(void *mem, size_t len)
{
	uintptr_t start = ((uintptr_t)mem + BUF_PAGE - 1) &
			  -(uintptr_t)BUF_PAGE;
	uintptr_t end = ((uintptr_t)mem + len) & -(uintptr_t)BUF_PAGE;

	if (end > start)
		madvise((void *)start, end - start, MADV_NOHUGEPAGE);
}

static void buffers_map(struct buffers *b)
{
	b->mem = mmap(NULL, b->len, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (b->mem == MAP_FAILED)
		bench_die("no memory for %u buffers, %zu bytes: %s", b->n,
			  b->len, strerror(errno));
	buffers_small_pages(b->mem, b->len);
	memset(b->mem, 'x', b->len);
}

/**
 * buffers_open() - memory for messages
 * @b: filled in
 * @opts: command line
 * @size: bytes of a message
 *
 * Does not return on errors.
 */
void buffers_open(struct buffers *b, const struct bench_opts *opts,
		  uint32_t size)
{
	*b = (struct buffers){ .reuse = opts->reuse };
	/* each with pages, and with lines of a cache, of its own */
	b->step = ((size_t)size + BUF_PAGE - 1) & ~(size_t)(BUF_PAGE - 1);
	b->n = opts->buffers ? opts->buffers : 1;
	if (opts->cold)
		b->n = cold_buffers(b->step);
	else if (opts->reuse >= 0)
		b->n = FRESH_BYTES / b->step + 1;
	b->len = b->n * b->step;
	buffers_map(b);
}

/**
 * buffers_renew() - with --reuse, replace all buffers by fresh ones
 * @b: buffers
 */
void buffers_renew(struct buffers *b)
{
	if (b->reuse < 0)
		return;
	buffers_close(b);
	buffers_map(b);
	b->next = 0;
}

/**
 * buffers_next() - where the next message is
 * @b: buffers
 *
 * Return: its memory.
 */
char *buffers_next(struct buffers *b)
{
	uint32_t i;

	if (b->n == 1)
		return b->mem;
	if (b->reuse >= 0) {
		b->sum += b->reuse;
		if (b->sum >= 100) {
			b->sum -= 100;
			return b->mem;
		}
		/* the first is the one that is used again */
		b->next = b->next % (b->n - 1) + 1;
		return b->mem + b->next * b->step;
	}
	i = b->next;
	b->next = (i + 1) % b->n;
	return b->mem + i * b->step;
}

/**
 * buffers_close() - give the memory back
 * @b: buffers
 */
void buffers_close(struct buffers *b)
{
	munmap(b->mem, b->len);
}
