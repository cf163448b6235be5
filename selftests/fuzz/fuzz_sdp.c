// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Fuzz target: the octets are an SDP message, a Hello or a HelloAck.
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
	else if (!sdp_parse_msg(copy, size, size, &m))
		check(m.payload <= size && m.payload_len <= size - m.payload);
	free(copy);
	return 0;
}
