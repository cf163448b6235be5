// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Unit tests: MPA start-up frames and what the two ends conclude from them.
 */
#include "iwarp/mpa.h"
#include "unit.h"

static int parse(const void *data, size_t len, bool reply, struct mpa_start *s)
{
	unsigned char *copy = unit_copy(data, len);
	int ret = mpa_start_parse(copy, len, reply, s);

	free(copy);
	return ret;
}

/* Parsing a vector and building it again gives the same bytes. */
static void round_trip(const char *name, bool reply)
{
	const struct vector *v = unit_vector(name);
	unsigned char buf[MPA_START_MAX];
	struct mpa_start s;

	if (!CHECK_EQ(parse(v->data, v->len, reply, &s), v->len))
		return;
	CHECK_EQ(s.pd_off + s.pd_len, v->len);
	CHECK_EQ(mpa_start_build(buf, reply, &s, v->data + s.pd_off), v->len);
	CHECK(!memcmp(buf, v->data, v->len));
}

static void test_vectors(void)
{
	struct mpa_start s;
	const struct vector *v = unit_vector("mpa_req_v2");

	round_trip("mpa_req_v1", false);
	round_trip("mpa_rep_v1", true);
	round_trip("mpa_rep_v1_reject", true);
	round_trip("mpa_req_v1_markers", false);
	round_trip("mpa_rep_v1_markers", true);
	round_trip("mpa_req_v2", false);
	round_trip("mpa_rep_v2", true);
	round_trip("mpa_req_v2_auto", false);
	round_trip("mpa_rep_v2_auto", true);
	round_trip("mpa_req_v1_on", false);

	parse(v->data, v->len, false, &s);
	CHECK(s.rev == 2 && s.crc && !s.markers && s.enhanced && s.p2p);
	CHECK(s.rtr_send && s.rtr_write && s.rtr_read);
	CHECK(s.ird == 16 && s.ord == 8 && s.pd_len == 4 && s.pd_off == 24);
	v = unit_vector("mpa_rep_v1_reject");
	parse(v->data, v->len, true, &s);
	CHECK(s.rev == 1 && s.reject && !s.enhanced);
}

/* A frame that is not complete asks for more, byte by byte. */
static void test_truncated(void)
{
	static const char *const names[] = { "mpa_req_v1", "mpa_req_v2",
					     "mpa_req_v1_markers" };
	const struct vector *v;
	struct mpa_start s;
	size_t i, len;

	for (i = 0; i < ARRAY_LEN(names); i++) {
		v = unit_vector(names[i]);
		for (len = 0; len < v->len; len++)
			CHECK_EQ(parse(v->data, len, false, &s),
				 MPA_START_MORE);
	}
}

static void test_bad_key(void)
{
	const struct vector *v = unit_vector("mpa_req_v2");
	struct mpa_start s;
	unsigned char *bad;
	size_t i, bit;

	for (i = 0; i < MPA_KEY_LEN; i++) {
		for (bit = 0; bit < 8; bit++) {
			bad = unit_copy(v->data, v->len);
			bad[i] ^= 1 << bit;
			CHECK_EQ(parse(bad, v->len, false, &s),
				 MPA_START_BAD_KEY);
			/* known at once, a peer cannot make us wait */
			CHECK_EQ(parse(bad, i + 1, false, &s),
				 MPA_START_BAD_KEY);
			free(bad);
		}
	}
	CHECK_EQ(parse(v->data, v->len, true, &s), MPA_START_BAD_KEY);
	v = unit_vector("mpa_rep_v1");
	CHECK_EQ(parse(v->data, v->len, false, &s), MPA_START_BAD_KEY);
}

static void test_bad_revision(void)
{
	const struct vector *v = unit_vector("mpa_req_v1");
	struct mpa_start s;
	unsigned char *copy;
	int rev, ret;

	for (rev = 0; rev < 256; rev++) {
		copy = unit_copy(v->data, v->len);
		copy[17] = rev;
		ret = parse(copy, v->len, false, &s);
		CHECK_EQ(ret, rev == 1 || rev == 2 ? (int)v->len :
						     MPA_START_BAD_REV);
		free(copy);
	}
}

static void test_length(void)
{
	unsigned char frame[MPA_START_MAX + 16];
	struct mpa_start s;
	unsigned int pd;
	int ret;

	memset(frame, 0x55, sizeof(frame));
	memcpy(frame, unit_vector("mpa_req_v1")->data, MPA_HDR_LEN);
	for (pd = 0; pd <= 0xffff; pd += pd < 600 ? 1 : 997) {
		frame[18] = pd >> 8;
		frame[19] = pd;
		ret = parse(frame, MPA_START_MAX, false, &s);
		CHECK_EQ(ret, pd > 512 ? MPA_START_BAD_LEN :
					 (int)(MPA_HDR_LEN + pd));
		CHECK(ret <= 0 || s.pd_len == pd);
	}
	/* no room for the words that S announces */
	frame[16] |= 0x10;
	frame[17] = 2;
	for (pd = 0; pd < 8; pd++) {
		frame[18] = 0;
		frame[19] = pd;
		ret = parse(frame, MPA_START_MAX, false, &s);
		CHECK_EQ(ret,
			 pd < 4 ? MPA_START_BAD_LEN : (int)(MPA_HDR_LEN + pd));
	}
}

/* Any bytes at all: no access outside, no length beyond what there is. */
static void test_garbage(void)
{
	unsigned char frame[80];
	struct mpa_start s;
	size_t len, i;
	int ret, n;

	for (n = 0; n < 100000; n++) {
		len = unit_below(sizeof(frame) + 1);
		unit_random_bytes(frame, sizeof(frame));
		memcpy(frame, unit_vector("mpa_req_v1")->data, 16);
		frame[17] &= 3;
		frame[18] = 0;
		for (i = unit_below(3); i; i--)
			frame[unit_below(20)] ^= 1 << unit_below(8);
		ret = parse(frame, len, n & 1, &s);
		CHECK(ret <= (int)len);
		CHECK(ret <= 0 || s.pd_off + s.pd_len == ret);
		CHECK(ret >= MPA_START_BAD_LEN);
	}
}

static void test_build_limits(void)
{
	unsigned char *buf = malloc(MPA_START_MAX);
	unsigned char pd[600] = { 0 };
	struct mpa_start s = { .rev = 2, .crc = true, .enhanced = true };

	s.pd_len = 508;
	CHECK_EQ(mpa_start_build(buf, false, &s, pd), MPA_START_MAX);
	s.pd_len = 509;
	CHECK_EQ(mpa_start_build(buf, false, &s, pd), 0);
	s.enhanced = false;
	s.pd_len = 512;
	CHECK_EQ(mpa_start_build(buf, false, &s, pd), MPA_START_MAX);
	s.pd_len = 513;
	CHECK_EQ(mpa_start_build(buf, false, &s, pd), 0);
	free(buf);
}

/* The frames of two ends that want markers, to the byte. */
static void test_auto_frames(void)
{
	const struct vector *v = unit_vector("mpa_req_v2_auto");
	struct mpa_limits lim = {
		.ird = 16,
		.ord = 8,
		.crc = true,
		.markers = MPA_WANT_AUTO,
		.ivl = 512,
	};
	unsigned char buf[MPA_START_MAX];
	struct mpa_start req, rep;
	struct mpa_result res;

	mpa_request(2, &lim, &req);
	CHECK_EQ(mpa_start_build(buf, false, &req, NULL), v->len);
	CHECK(!memcmp(buf, v->data, v->len));
	v = unit_vector("mpa_rep_v2_auto");
	lim.ird = 8;
	lim.ord = 16;
	lim.ivl = 4096; /* the initiator's counts */
	mpa_respond(&req, &lim, &rep, &res);
	CHECK_EQ(mpa_start_build(buf, true, &rep, NULL), v->len);
	CHECK(!memcmp(buf, v->data, v->len));
	CHECK(res.tx_ivl == 512 && res.rx_ivl == 512);

	v = unit_vector("mpa_req_v1_plain");
	lim.markers = MPA_WANT_OFF;
	mpa_request(1, &lim, &req);
	CHECK_EQ(mpa_start_build(buf, false, &req, NULL), v->len);
	CHECK(!memcmp(buf, v->data, v->len));
	v = unit_vector("mpa_rep_v1_plain");
	mpa_respond(&req, &lim, &rep, &res);
	CHECK_EQ(mpa_start_build(buf, true, &rep, NULL), v->len);
	CHECK(!memcmp(buf, v->data, v->len));

	v = unit_vector("mpa_req_v1_on");
	lim.markers = MPA_WANT_ON;
	mpa_request(1, &lim, &req);
	CHECK_EQ(mpa_start_build(buf, false, &req, NULL), v->len);
	CHECK(!memcmp(buf, v->data, v->len));
}

struct agreement {
	enum mpa_want initiator, responder;
	uint32_t to_responder, to_initiator;
};

/* Requests of both sides, and the result; intervals 1024 against 4096. */
static void test_markers(void)
{
	static const struct agreement table[] = {
		{ MPA_WANT_OFF, MPA_WANT_OFF, 0, 0 },
		{ MPA_WANT_OFF, MPA_WANT_AUTO, 0, 0 },
		{ MPA_WANT_OFF, MPA_WANT_ON, 512, 0 },
		{ MPA_WANT_AUTO, MPA_WANT_OFF, 0, 0 },
		{ MPA_WANT_AUTO, MPA_WANT_AUTO, 1024, 1024 },
		{ MPA_WANT_AUTO, MPA_WANT_ON, 1024, 1024 },
		{ MPA_WANT_ON, MPA_WANT_OFF, 0, 512 },
		{ MPA_WANT_ON, MPA_WANT_AUTO, 1024, 1024 },
		{ MPA_WANT_ON, MPA_WANT_ON, 1024, 1024 },
	};
	struct mpa_limits a = { .ivl = 1024 }, b = { .ivl = 4096 };
	struct mpa_start req, rep;
	struct mpa_result res;
	size_t i;

	for (i = 0; i < ARRAY_LEN(table); i++) {
		a.markers = table[i].initiator;
		b.markers = table[i].responder;
		mpa_request(1, &a, &req);
		mpa_respond(&req, &b, &rep, &res);
		CHECK_EQ(res.rx_ivl, table[i].to_responder);
		CHECK_EQ(res.tx_ivl, table[i].to_initiator);
		CHECK_EQ(mpa_finish(&req, &rep, &a, &res), 0);
		CHECK_EQ(res.tx_ivl, table[i].to_responder);
		CHECK_EQ(res.rx_ivl, table[i].to_initiator);
	}
}

/* Peers that know the standard only: what we conclude is what they do. */
static void test_markers_stranger(void)
{
	struct mpa_limits lim = { .ivl = 2048 };
	struct mpa_start req, rep = { .rev = 1 };
	struct mpa_result res;
	int want, theirs;

	for (want = MPA_WANT_OFF; want <= MPA_WANT_ON; want++) {
		lim.markers = want;
		for (theirs = 0; theirs < 2; theirs++) {
			/* a responder; reserved bits as sent, or reflected */
			mpa_request(1, &lim, &req);
			rep.markers = theirs;
			rep.code = theirs ? 0 : req.code;
			mpa_finish(&req, &rep, &lim, &res);
			CHECK(!res.ext);
			CHECK_EQ(res.tx_ivl, theirs ? 512 : 0);
			CHECK_EQ(res.rx_ivl, want == MPA_WANT_ON ? 512 : 0);
			/* an initiator */
			memset(&req, 0, sizeof(req));
			req.rev = 1;
			req.markers = theirs;
			mpa_respond(&req, &lim, &rep, &res);
			CHECK_EQ(rep.code, 0);
			CHECK(!res.ext);
			CHECK_EQ(res.tx_ivl, theirs ? 512 : 0);
			CHECK_EQ(res.rx_ivl,
				 want == MPA_WANT_ON ||
						 (want == MPA_WANT_AUTO &&
						  theirs) ?
					 512 :
					 0);
		}
	}
}

/* Every interval that can be proposed has its code, others have none. */
static void test_intervals(void)
{
	struct mpa_limits lim = { .markers = MPA_WANT_AUTO };
	struct mpa_start req;
	uint32_t ivl, n = 0;

	for (ivl = 0; ivl < 70000; ivl++) {
		if (!mpa_ivl_valid(ivl))
			continue;
		lim.ivl = ivl;
		mpa_request(2, &lim, &req);
		CHECK_EQ(128u << req.code, ivl);
		n++;
	}
	CHECK_EQ(n, 7);
}

static uint16_t random_reads(void)
{
	static const uint16_t some[] = { 0, 1, 2, 16, 128, 0x3ffe, 0x3fff };

	return unit_below(2) ? some[unit_below(ARRAY_LEN(some))] :
			       unit_below(0x4000);
}

static void random_request(struct mpa_start *req)
{
	memset(req, 0, sizeof(*req));
	req->rev = 1 + unit_below(2);
	req->markers = unit_below(2);
	req->code = unit_below(16);
	req->crc = unit_below(2);
	if (req->rev == 1)
		return;
	req->enhanced = unit_below(4);
	if (!req->enhanced)
		return;
	req->ird = random_reads();
	req->ord = random_reads();
	req->p2p = unit_below(2);
	if (!req->p2p)
		return;
	req->rtr_send = unit_below(2);
	req->rtr_write = unit_below(2);
	req->rtr_read = unit_below(2);
}

/* Answers and actions of a responder, for all requests. */
static void test_respond(void)
{
	struct mpa_limits lim;
	struct mpa_start req, rep;
	struct mpa_result res;
	int n;

	for (n = 0; n < 50000; n++) {
		random_request(&req);
		lim.ird = unit_below(129);
		lim.ord = unit_below(129);
		lim.markers = unit_below(3);
		lim.crc = unit_below(2);
		mpa_respond(&req, &lim, &rep, &res);
		CHECK_EQ(rep.rev, req.rev);
		CHECK_EQ(rep.enhanced, req.enhanced);
		CHECK_EQ(rep.p2p, req.p2p);
		CHECK_EQ(res.crc, req.crc || lim.crc);
		CHECK(res.tx_ivl || !req.markers);
		CHECK_EQ(!!res.rx_ivl, rep.markers);
		CHECK(res.fenced);
		CHECK(res.ord <= lim.ord || req.ird == MPA_IRD_ULP);
		CHECK(!req.enhanced || req.ird == MPA_IRD_ULP ||
		      res.ord <= req.ird);
		/* the promise in the Reply is what is prepared for */
		CHECK(!req.enhanced || req.ord == MPA_IRD_ULP ||
		      rep.ird == res.ird);
		CHECK(!rep.p2p || rep.rtr_send || rep.rtr_write ||
		      rep.rtr_read);
		CHECK(rep.p2p ||
		      (!rep.rtr_send && !rep.rtr_write && !rep.rtr_read));
	}
}

/* Two of our own ends agree with each other, always. */
static void test_agree(void)
{
	struct mpa_limits a, b;
	struct mpa_start req, rep;
	struct mpa_result ra, rb;
	int n;

	for (n = 0; n < 50000; n++) {
		a.ird = unit_below(129);
		a.ord = unit_below(129);
		b.ird = unit_below(129);
		b.ord = unit_below(129);
		a.markers = unit_below(3);
		b.markers = unit_below(3);
		a.ivl = 256U << unit_below(7);
		b.ivl = 256U << unit_below(7);
		a.crc = unit_below(2);
		b.crc = unit_below(2);
		mpa_request(1 + unit_below(2), &a, &req);
		mpa_respond(&req, &b, &rep, &rb);
		CHECK_EQ(mpa_finish(&req, &rep, &a, &ra), 0);
		CHECK(ra.ext && rb.ext);
		CHECK_EQ(ra.crc, rb.crc);
		CHECK_EQ(ra.tx_ivl, rb.rx_ivl);
		CHECK_EQ(ra.rx_ivl, rb.tx_ivl);
		if (req.rev == 2) {
			CHECK(ra.ord <= rb.ird);
			CHECK(rb.ord <= ra.ird);
			CHECK(ra.ord <= a.ord && rb.ord <= b.ord);
			CHECK(ra.rtr != MPA_RTR_NONE);
		}
	}
}

/* An initiator refuses what it cannot live with. */
static void test_finish_errors(void)
{
	struct mpa_limits lim = { .ird = 8, .ord = 8, .crc = true };
	struct mpa_start req, rep;
	struct mpa_result res;

	mpa_request(2, &lim, &req);
	mpa_respond(&req, &lim, &rep, &res);
	rep.ord = 9;
	CHECK_EQ(mpa_finish(&req, &rep, &lim, &res), MPA_ERR_IRD);
	rep.ord = MPA_IRD_ULP;
	rep.ird = MPA_IRD_ULP;
	CHECK_EQ(mpa_finish(&req, &rep, &lim, &res), 0);
	CHECK(res.ird == 8 && res.ord == 8);
	rep.rtr_write = false;
	rep.rtr_read = false;
	rep.rtr_send = true;
	CHECK_EQ(mpa_finish(&req, &rep, &lim, &res), 0);
	CHECK_EQ(res.rtr, MPA_RTR_SEND);
	rep.rtr_send = false;
	CHECK_EQ(mpa_finish(&req, &rep, &lim, &res), MPA_ERR_RTR);
	/* what was not offered is not sent */
	rep.rtr_send = true;
	req.rtr_send = false;
	CHECK_EQ(mpa_finish(&req, &rep, &lim, &res), MPA_ERR_RTR);
}

/* Every set of ready-to-receive messages offered, and of those granted. */
static void test_ready_to_receive(void)
{
	struct mpa_limits lim = { .ird = 0, .ord = 0 };
	struct mpa_start req, rep;
	struct mpa_result us, them;
	int offer, grant;

	for (offer = 0; offer < 8; offer++) {
		mpa_request(2, &lim, &req);
		req.rtr_send = offer & 1;
		req.rtr_write = offer & 2;
		req.rtr_read = offer & 4;
		mpa_respond(&req, &lim, &rep, &us);
		CHECK_EQ(us.rtr_send, offer & 1);
		CHECK_EQ(us.ird, offer & 4 ? 1 : 0);
		req.ord = MPA_IRD_ULP;
		mpa_respond(&req, &lim, &rep, &us);
		CHECK_EQ(us.ird, offer & 4 ? 1 : 0);
		CHECK_EQ(rep.ird, MPA_IRD_ULP);
		if (!offer) {
			CHECK(rep.rtr_write && !rep.rtr_read && !rep.rtr_send);
			CHECK_EQ(mpa_finish(&req, &rep, &lim, &them),
				 MPA_ERR_RTR);
		}
		for (grant = 0; grant < 8; grant++) {
			rep.rtr_send = grant & 1;
			rep.rtr_write = grant & 2;
			rep.rtr_read = grant & 4;
			if (!(offer & grant)) {
				CHECK_EQ(mpa_finish(&req, &rep, &lim, &them),
					 MPA_ERR_RTR);
				continue;
			}
			CHECK_EQ(mpa_finish(&req, &rep, &lim, &them), 0);
			CHECK_EQ(them.rtr, offer & grant & 2 ? MPA_RTR_WRITE :
					   offer & grant & 4 ? MPA_RTR_READ :
							       MPA_RTR_SEND);
		}
	}
}

/* A peer of revision 1 may begin with a Read, whatever the program takes. */
static void test_read_first(void)
{
	struct mpa_limits lim = { .ird = 0, .ord = 0 };
	struct mpa_start req, rep;
	struct mpa_result us;

	mpa_request(1, &lim, &req);
	mpa_respond(&req, &lim, &rep, &us);
	CHECK_EQ(us.ird, 1);
	CHECK_EQ(us.ord, 0);
	lim.ird = 5;
	mpa_respond(&req, &lim, &rep, &us);
	CHECK_EQ(us.ird, 5);
}

/* Extensions: offered by a code, agreed to by one that no peer reflects. */
static void test_extensions(void)
{
	struct mpa_limits lim = { .ivl = 1024 };
	struct mpa_start req, rep;
	struct mpa_result us, them;
	unsigned int code, answer;

	for (code = 0; code < 16; code++) {
		for (lim.markers = MPA_WANT_OFF; lim.markers <= MPA_WANT_ON;
		     lim.markers++) {
			mpa_request(1, &lim, &req);
			CHECK((req.code & 7) && req.code <= MPA_CODE_PLAIN);
			req.code = code;
			mpa_respond(&req, &lim, &rep, &us);
			CHECK_EQ(us.ext, code & 7 ? 1 : 0);
			mpa_finish(&req, &rep, &lim, &them);
			CHECK_EQ(us.ext, them.ext);
			for (answer = 0; answer < 16; answer++) {
				rep.code = answer;
				mpa_finish(&req, &rep, &lim, &them);
				CHECK_EQ(them.ext,
					 us.ext && answer == (code ^ 8));
			}
		}
	}
}

static const struct unit_test tests[] = {
	{ "vectors", test_vectors },
	{ "truncated frames", test_truncated },
	{ "bad keys", test_bad_key },
	{ "bad revisions", test_bad_revision },
	{ "private data lengths", test_length },
	{ "garbage", test_garbage },
	{ "limits of the builder", test_build_limits },
	{ "frames that propose markers", test_auto_frames },
	{ "markers as each end wants them", test_markers },
	{ "markers and peers of the standard", test_markers_stranger },
	{ "marker intervals", test_intervals },
	{ "responder", test_respond },
	{ "two ends agree", test_agree },
	{ "initiator's refusals", test_finish_errors },
	{ "ready-to-receive messages", test_ready_to_receive },
	{ "a Read comes first in revision 1", test_read_first },
	{ "extensions", test_extensions },
};

int main(void)
{
	return unit_main("mpa start-up", tests, ARRAY_LEN(tests));
}
