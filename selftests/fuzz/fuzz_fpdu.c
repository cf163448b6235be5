// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Fuzz target: the bytes are an incoming stream with a marker interval and a
 * position of their choice. It is walked as the receive engine does, without
 * regard to CRCs so that the code after them is reached: the segments go through
 * the checks of DDP and RDMAP.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "iwarp/ddp.h"
#include "iwarp/mpa.h"
#include "iwarp/rdmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void segment(const uint8_t *ulpdu, uint32_t len)
{
	uint8_t term[RDMAP_TERM_MAX];
	/* no byte more than there are */
	uint8_t *copy = malloc(len ? len : 1);
	struct rdmap_rreq req;
	struct rdmap_areq areq;
	struct ddp_hdr h;
	uint32_t err, n, op;
	__u64 value = len;

	check(copy);
	memcpy(copy, ulpdu, len);
	err = ddp_parse(copy, len, &h);
	if (!err) {
		check(h.hdr_len + h.payload == len);
		err = rdmap_check(&h);
	}
	if (!err && !h.tagged) {
		op = RDMAP_OP(h.rdmap);
		err = ddp_check_untagged(&h, 1, 0, 4096);
		if (op == RDMAP_READ_REQ)
			rdmap_rreq_parse(copy + h.hdr_len, &req);
		if (op == RDMAP_ATOMIC_REQ) {
			rdmap_areq_parse(copy + h.hdr_len, &areq);
			rdmap_atomic(&areq, areq.compare, &value);
		}
		if (op == RDMAP_TERM) {
			rdmap_term_parse(copy + h.hdr_len, h.payload);
			rdmap_term_request(copy + h.hdr_len, h.payload, &n);
		}
	}
	if (err) {
		n = rdmap_term_build(term, err, copy,
				     len < RDMAP_HDR_MAX ? len : RDMAP_HDR_MAX,
				     len);
		check(n && n <= sizeof(term));
	}
	free(copy);
}

/* Bytes of the FPDU, 0: it is not complete */
static uint32_t fpdu(const uint8_t *p, size_t len, uint64_t pos, uint32_t ivl,
		     uint32_t step)
{
	uint32_t lead = mpa_lead_len(pos, ivl), ulpdu, total, n, used;
	uint32_t at = 0, got = 0;
	static uint8_t body[65535 + 8];
	const uint8_t *run;
	struct mpa_walk w;

	if (len < lead + MPA_LEN_SIZE)
		return 0;
	ulpdu = proto_get16(p + lead);
	total = mpa_fpdu_len(pos, ulpdu, ivl);
	check(total > ulpdu);
	if (len < total)
		return 0;
	mpa_walk_begin(&w, pos, ivl);
	while (at < total - MPA_CRC_SIZE) {
		n = total - MPA_CRC_SIZE - at;
		used = mpa_walk_next(&w, p + at, n < step ? n : step, &run, &n);
		check(used && used <= total - MPA_CRC_SIZE - at);
		check(got + n <= mpa_body_len(ulpdu));
		if (n)
			memcpy(body + got, run, n);
		got += n;
		at += used;
	}
	check(got == mpa_body_len(ulpdu));
	segment(body + MPA_LEN_SIZE, ulpdu);
	return total;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t ivls[] = {
		0, 64, 256, 512, 512, 1024, 4096, 16384
	};
	uint32_t ivl, step, n;
	uint64_t pos;

	if (size < 4)
		return 0;
	ivl = ivls[data[0] & 7];
	step = 1 + data[1];
	pos = (data[0] & 8 ? 0xfffffe00ull : 0) + 4 * (data[2] << 8 | data[3]);
	data += 4;
	size -= 4;
	while ((n = fpdu(data, size, pos, ivl, step))) {
		data += n;
		size -= n;
		pos += n;
	}
	return 0;
}
