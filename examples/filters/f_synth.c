// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Filters: the synthetic server of visualisation. An image of "image" bytes is cut
 * into blocks, which are spread over the copies of the source.
 *
 *   uow complete           all blocks
 *   uow partial [blocks=N] what a small move needs: one block, or N
 *   uow zoom               four blocks
 *
 * Stages and sink compute on each byte, as the plan says ("nocompute=1": not).
 */
#include <string.h>

#include "fs.h"

#define IMAGE (16L << 20)
/* Tags are places in words of 8 bytes: each stream may have a block of its own */
#define WORD ((long)sizeof(uint64_t))
#define IMAGE_MAX (WORD << 32)

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 31)) * 0x7fb5d329728ea185ULL;
	return x ^ (x >> 27);
}

/* Bytes of the image from a place on: any function of it that is no constant. */
static void fill(uint8_t *p, uint32_t len, uint64_t place)
{
	for (uint32_t i = 0; i < len; i += sizeof(uint64_t)) {
		uint64_t word = mix(place + i + 1);

		memcpy(p + i, &word,
		       len - i < sizeof(word) ? len - i : sizeof(word));
	}
}

/* Does not depend on how the image is cut: a sum over words with their places. */
static uint64_t hash(const uint8_t *p, uint32_t len, uint64_t place)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < len; i += sizeof(uint64_t)) {
		uint64_t word = 0;

		memcpy(&word, p + i,
		       len - i < sizeof(word) ? len - i : sizeof(word));
		sum += mix(word + 3 * (place + i));
	}
	return sum;
}

static long blocks_of(struct fs *f, long image, long room)
{
	const struct fs_uow *u = f->uow;
	long all = (image + room - 1) / room;
	long wanted = all;

	if (fs_uow_is(u, "partial"))
		wanted = fs_uow_arg(u, "blocks", 1);
	else if (fs_uow_is(u, "zoom"))
		wanted = 4;
	else if (!fs_uow_is(u, "complete"))
		return fs_error(f,
				"%s: the queries are complete, partial, zoom",
				u->text);
	return wanted < all ? wanted : all;
}

static int nothing(struct fs *f, const struct fs_uow *u)
{
	(void)f;
	(void)u;
	return 0;
}

static void no_end(struct fs *f)
{
	(void)f;
}

static int source(struct fs *f)
{
	long image = fs_param(f, "image", IMAGE);
	struct fs_buf *b = fs_alloc(f, 0);
	long room = b->room & -WORD, blocks;
	int rc = 0;

	fs_release(b);
	if (image < 1 || image > IMAGE_MAX)
		return fs_error(
			f, "image=%ld: a size, 1 byte to 32 GB, belongs here",
			image);
	blocks = blocks_of(f, image, room);
	if (blocks < 0)
		return blocks;
	for (long i = f->copy; !rc && i < blocks; i += f->copies) {
		long left = image - i * room;

		b = fs_alloc(f, 0);
		b->tag = i * (room / WORD);
		b->len = left < room ? left : room;
		fill(b->data, b->len, i * room);
		rc = fs_write(f, 0, b);
	}
	return rc;
}

static int work(struct fs *f, const struct fs_buf *b)
{
	return fs_param(f, "nocompute", 0) ? 0 : fs_compute(f, b->len);
}

static int stage(struct fs *f)
{
	struct fs_buf *b;
	int rc;

	while ((rc = fs_read(f, 0, &b)) > 0) {
		rc = work(f, b);
		if (!rc)
			rc = fs_write(f, 0, b);
		if (rc)
			break;
	}
	return rc;
}

static int sink(struct fs *f)
{
	unsigned long long bytes = 0, blocks = 0;
	uint64_t sum = 0;
	struct fs_buf *b;
	int rc;

	while ((rc = fs_read(f, 0, &b)) > 0) {
		rc = work(f, b);
		sum += hash(b->data, b->len, (uint64_t)b->tag * WORD);
		bytes += b->len;
		blocks++;
		fs_release(b);
		if (rc)
			return rc;
	}
	if (!rc)
		fs_emit(f,
			"\"bytes\":%llu,\"blocks\":%llu,\"hash\":\"%016llx\"",
			bytes, blocks, (unsigned long long)sum);
	return rc;
}

const struct fs_filter fs_synth[] = {
	{ "source", nothing, source, no_end, NULL },
	{ "stage", nothing, stage, no_end, NULL },
	{ "sink", nothing, sink, no_end, NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};
