/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A stream of FPDUs laid out as the transmit engine does it, from decisions that
 * come as bytes: of a random generator (test_layout.c) or of a fuzzer.
 */
#ifndef SELFTESTS_UNIT_LAYOUT_H
#define SELFTESTS_UNIT_LAYOUT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define LAYOUT_STREAM (256 * 1024) /* bytes of a stream, at most */
#define LAYOUT_FPDUS 512

/* Decisions; when they are used up the rest are zeroes */
struct layout_source {
	const uint8_t *p;
	size_t len;
};

struct layout_fpdu {
	uint32_t off; /* in the stream */
	uint32_t ulpdu_len;
	uint32_t ulpdu_off; /* in the input */
};

/**
 * struct layout - a stream and what went into it
 * @ivl: marker interval
 * @pos: position of its first byte
 * @nr: FPDUs
 * @len: bytes of the stream
 * @fpdu: where they are
 * @stream: what goes out
 * @input_len: bytes of all ULPDUs
 * @input: ULPDUs
 */
struct layout {
	uint32_t ivl;
	uint64_t pos;
	uint32_t nr;
	uint32_t len;
	struct layout_fpdu fpdu[LAYOUT_FPDUS];
	uint8_t stream[LAYOUT_STREAM];
	uint32_t input_len;
	uint8_t input[LAYOUT_STREAM];
};

/*
 * Reserve, fill and seal messages. NULL, or what is wrong: an FPDU that is
 * longer than promised or than the segment, or shorter than need be.
 */
const char *layout_make(struct layout *l, struct layout_source *src);

/* Parse the stream back, in pieces that the source decides. NULL, or a fault */
const char *layout_check(const struct layout *l, struct layout_source *src);

/* As a record for "wire.py streams" */
void layout_write(const struct layout *l, FILE *f);

#endif /* SELFTESTS_UNIT_LAYOUT_H */
