// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Fuzz target: the bytes are the limits of this side and a start-up frame of
 * the peer. A parsed frame builds the same again; the responder has an answer
 * that an initiator of ours understands alike.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "iwarp/mpa.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static bool ivl_good(uint32_t ivl)
{
	return !ivl || mpa_ivl_valid(ivl);
}

static void limits(const uint8_t *data, struct mpa_limits *lim)
{
	lim->ird = data[0] & 127;
	lim->ord = data[1] & 127;
	lim->markers = data[2] % 3;
	lim->crc = data[2] & 4;
	lim->ivl = 256u << (data[2] >> 3) % 7;
}

static void request(const struct mpa_start *req, const struct mpa_limits *lim)
{
	struct mpa_result us, them;
	struct mpa_start rep;
	int err;

	mpa_respond(req, lim, &rep, &us);
	check(ivl_good(us.tx_ivl) && ivl_good(us.rx_ivl));
	check(!req->markers || us.tx_ivl);
	check(us.crc == (req->crc || lim->crc));
	err = mpa_finish(req, &rep, lim, &them);
	check(!err || err == MPA_ERR_IRD || err == MPA_ERR_RTR);
	check(them.tx_ivl == us.rx_ivl && them.rx_ivl == us.tx_ivl);
	check(them.ext == us.ext);
}

static void reply(const struct mpa_start *rep, const struct mpa_limits *lim)
{
	struct mpa_start req;
	struct mpa_result res;

	mpa_request(rep->rev, lim, &req);
	if (rep->reject || rep->enhanced != req.enhanced)
		return;
	mpa_finish(&req, rep, lim, &res);
	check(ivl_good(res.tx_ivl) && ivl_good(res.rx_ivl));
	check(!res.tx_ivl == !rep->markers);
	check(!req.markers || res.rx_ivl);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t again[MPA_START_MAX];
	struct mpa_limits lim;
	struct mpa_start s;
	bool is_reply;
	uint8_t *copy;
	int n;

	if (size < 4)
		return 0;
	limits(data, &lim);
	is_reply = data[3] & 1;
	size -= 4;
	copy = malloc(size ? size : 1);
	check(copy);
	memcpy(copy, data + 4, size);
	n = mpa_start_parse(copy, size, is_reply, &s);
	check(n <= (int)size);
	if (n > 0) {
		check(s.pd_off + s.pd_len == n);
		check((int)mpa_start_build(again, is_reply, &s,
					   copy + s.pd_off) == n);
		check(!memcmp(again, copy, 16));
		if (is_reply)
			reply(&s, &lim);
		else
			request(&s, &lim);
	}
	free(copy);
	return 0;
}
