// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Fuzz target: the bytes are an SDP message, a Hello, a HelloAck, or immediate data
 * with what is known of their connection.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sdp/sdp_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
	if (!ok)
		abort();
}

#define IMM_WORDS 4

static void fuzz_imm(const uint8_t *data)
{
	uint32_t w[IMM_WORDS];
	struct sdp_msg m;

	memcpy(w, data, sizeof(w));
	if (sdp_parse_imm(w[0], w[1], w[2], w[3], &m))
		return;
	check(m.ext.ring.len && m.ext.ring.len == w[1] && !m.payload_len);
	check(m.h.mseq_ack - w[3] <= UINT16_MAX);
	check(sdp_build_imm(&m) == w[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sdp_hello hello;
	struct sdp_msg m;
	uint8_t *copy, kind;

	if (!size)
		return 0;
	kind = *data++;
	size--;
	copy = malloc(size ? size : 1);
	check(copy);
	memcpy(copy, data, size);
	if (kind & 1)
		sdp_parse_hello(copy, size, kind & 2, &hello);
	else if (kind & 2)
		sdp_parse_hello_ack(copy, size, &hello);
	else if (kind & 4 && size >= IMM_WORDS * 4)
		fuzz_imm(copy);
	else if (!sdp_parse_msg(copy, size, size, &m))
		check(m.payload <= size && m.payload_len <= size - m.payload);
	free(copy);
	return 0;
}
