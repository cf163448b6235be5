// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Unit tests: SDP messages.
 */
#include "sdp/sdp_wire.h"
#include "unit.h"

static enum sdp_wire_err parse(const unsigned char *p, size_t len,
			       struct sdp_msg *m)
{
	unsigned char *copy = unit_copy(p, len);
	enum sdp_wire_err err = sdp_parse_msg(copy, len, len, m);

	free(copy);
	return err;
}

static enum sdp_wire_err hello(const unsigned char *p, size_t len,
			       bool short_ok, struct sdp_hello *h)
{
	unsigned char *copy = unit_copy(p, len);
	enum sdp_wire_err err = sdp_parse_hello(copy, len, short_ok, h);

	free(copy);
	return err;
}

static enum sdp_wire_err hello_ack(const unsigned char *p, size_t len,
				   struct sdp_hello *h)
{
	unsigned char *copy = unit_copy(p, len);
	enum sdp_wire_err err = sdp_parse_hello_ack(copy, len, h);

	free(copy);
	return err;
}

static void round_trip(const char *name, struct sdp_msg *m)
{
	const struct vector *v = unit_vector(name);
	unsigned char buf[SDP_BSDH_LEN + 20];
	uint32_t n;

	if (!CHECK_EQ(parse(v->data, v->len, m), SDP_WIRE_OK))
		return;
	CHECK_EQ(m->payload + m->payload_len, v->len);
	n = sdp_build_msg(buf, m);
	CHECK_EQ(n, m->payload);
	CHECK_EQ(n, sdp_msg_hdr_len(v->data));
	CHECK_EQ(sdp_msg_claim(v->data), v->len);
	CHECK(!memcmp(buf, v->data, n));
}

static void test_messages(void)
{
	struct sdp_msg m;

	round_trip("sdp_data", &m);
	CHECK(m.h.mseq == 7 && m.h.mseq_ack == 3 && m.h.bufs == 10);
	CHECK(m.h.flags == (SDP_OOB_PRES | SDP_OOB_PEND) && m.payload_len == 5);
	round_trip("sdp_data_empty", &m);
	CHECK(m.payload_len == 0 && m.h.mseq == 8);
	round_trip("sdp_first", &m);
	CHECK(m.payload_len == 0 && m.h.mseq == 1 && m.h.mseq_ack == 0);
	round_trip("sdp_discon", &m);
	CHECK_EQ(m.h.mid, SDP_MID_DISCON);
	round_trip("sdp_srcavail", &m);
	CHECK(m.ext.avail.len == 65536 && m.ext.avail.rkey == 0xc0ffee &&
	      m.ext.avail.va == 0x2000 && m.payload_len == 5);
	round_trip("sdp_sinkavail", &m);
	CHECK_EQ(m.ext.avail.non_discards, 12);
	round_trip("sdp_rdcompl", &m);
	CHECK_EQ(m.ext.len, 4096);
	round_trip("sdp_modechange", &m);
	CHECK(m.ext.mch.send_half && m.ext.mch.mode == SDP_MODE_COMBINED);
	round_trip("sdp_chrcvbuf", &m);
	CHECK_EQ(m.ext.size, 65536);
	round_trip("sdp_suspend", &m);
	CHECK_EQ(m.ext.service_id, 0x10999);
	round_trip("sdp_ringavail", &m);
	CHECK(m.ext.avail.len == 262144 && m.ext.avail.rkey == 0x12345678 &&
	      m.ext.avail.va == 0x123456000);
	round_trip("sdp_ring", &m);
	CHECK(m.ext.ring.len == 100 && m.ext.ring.freed == 4096);
}

static void test_hello_vectors(void)
{
	unsigned char buf[SDP_HELLO_ACK_LEN];
	const struct vector *v = unit_vector("sdp_hello");
	struct sdp_hello h;

	CHECK_EQ(hello(v->data, v->len, false, &h), SDP_WIRE_OK);
	CHECK(h.bufs == 8 && h.version == 0x22 && h.ipv == 4 &&
	      h.max_adverts == 1 && h.rcvsz == 32784 && h.port == 40000);
	CHECK(h.has_addrs && h.src[12] == 10 && h.src[15] == 1 &&
	      h.dst[15] == 2);
	CHECK_EQ(sdp_build_hello(buf, &h, false), v->len);
	CHECK(!memcmp(buf, v->data, v->len));
	v = unit_vector("sdp_hello_v6");
	CHECK_EQ(hello(v->data, v->len, false, &h), SDP_WIRE_OK);
	CHECK(h.ipv == 6 && h.src[0] == 0xfd && h.src[15] == 1);
	v = unit_vector("sdp_hello_short");
	CHECK_EQ(hello(v->data, v->len, false, &h), SDP_WIRE_LEN);
	CHECK_EQ(hello(v->data, v->len, true, &h), SDP_WIRE_OK);
	CHECK(!h.has_addrs);
	CHECK_EQ(sdp_build_hello(buf, &h, true), v->len);
	CHECK(!memcmp(buf, v->data, v->len));
	v = unit_vector("sdp_hello_ack");
	CHECK_EQ(hello_ack(v->data, v->len, &h), SDP_WIRE_OK);
	CHECK(h.rcvsz == 32784 && h.bufs == 8);
	CHECK_EQ(sdp_build_hello_ack(buf, &h), v->len);
	CHECK(!memcmp(buf, v->data, v->len));
}

static void test_extensions(void)
{
	static const unsigned char bytes[][3] = {
		/* bytes of the Hello, and what they mean */
		{ 0xd5, 0x01, SDP_EXT_SHARED },
		{ 0xd5, 0x06, SDP_EXT_RING | SDP_EXT_HOLD },
		{ 0xd5, 0x0a, SDP_EXT_RING | SDP_EXT_IMM },
		{ 0xd5, 0xff,
		  SDP_EXT_SHARED | SDP_EXT_RING | SDP_EXT_HOLD | SDP_EXT_IMM },
		{ 0xd5, 0xf0, 0 },
		{ 0xd5, 0x00, 0 },
		{ 0x00, 0x01, 0 },
		{ 0xff, 0xff, 0 },
		{ 0x55, 0x01, 0 },
	};
	const struct vector *v = unit_vector("sdp_hello_shared");
	unsigned char buf[SDP_HELLO_ACK_LEN], *copy;
	struct sdp_hello h;
	size_t i;

	CHECK_EQ(hello(v->data, v->len, false, &h), SDP_WIRE_OK);
	CHECK_EQ(h.ext, SDP_EXT_SHARED);
	CHECK_EQ(sdp_build_hello(buf, &h, false), v->len);
	CHECK(!memcmp(buf, v->data, v->len));
	for (i = 0; i < ARRAY_LEN(bytes); i++) {
		copy = unit_copy(v->data, v->len);
		copy[30] = bytes[i][0];
		copy[31] = bytes[i][1];
		CHECK_EQ(hello(copy, v->len, false, &h), SDP_WIRE_OK);
		CHECK_EQ(h.ext, bytes[i][2]);
		free(copy);
	}
	v = unit_vector("sdp_hello_ack_shared");
	CHECK_EQ(hello_ack(v->data, v->len, &h), SDP_WIRE_OK);
	CHECK_EQ(h.ext, SDP_EXT_SHARED);
	CHECK_EQ(sdp_build_hello_ack(buf, &h), v->len);
	CHECK(!memcmp(buf, v->data, v->len));
	/* a HelloAck that ends before them does not have them */
	for (i = 24; i < 27; i++) {
		copy = unit_copy(v->data, v->len);
		copy[7] = i;
		CHECK_EQ(hello_ack(copy, v->len, &h), SDP_WIRE_OK);
		CHECK_EQ(h.ext, i < 26 ? 0 : SDP_EXT_SHARED);
		free(copy);
	}
	v = unit_vector("sdp_hello");
	CHECK_EQ(hello(v->data, v->len, false, &h), SDP_WIRE_OK);
	CHECK_EQ(h.ext, 0);
}

/* The required result of a Hello with one changed byte. */
static void test_bad_hello(void)
{
	static const struct {
		int at;
		unsigned char value;
		enum sdp_wire_err want;
	} bad[] = {
		{ 0, 0x01, SDP_WIRE_MID },	{ 0, 0xff, SDP_WIRE_MID },
		{ 1, 0x01, SDP_WIRE_FLAGS },	{ 3, 0, SDP_WIRE_CREDITS },
		{ 3, 2, SDP_WIRE_CREDITS },	{ 4, 1, SDP_WIRE_LEN },
		{ 7, 93, SDP_WIRE_LEN },	{ 7, 16, SDP_WIRE_LEN },
		{ 11, 1, SDP_WIRE_SEQ },	{ 15, 1, SDP_WIRE_SEQ },
		{ 16, 0x12, SDP_WIRE_VERSION }, { 16, 0x32, SDP_WIRE_VERSION },
		{ 16, 0, SDP_WIRE_VERSION },	{ 16, 0x2f, SDP_WIRE_OK },
		{ 17, 0x00, SDP_WIRE_IPV },	{ 17, 0x50, SDP_WIRE_IPV },
		{ 17, 0xf0, SDP_WIRE_IPV },	{ 19, 0, SDP_WIRE_ADVERTS },
		{ 19, 255, SDP_WIRE_OK },	{ 26, 0, SDP_WIRE_BUFSIZE },
		{ 18, 0xff, SDP_WIRE_OK },
	};
	const struct vector *v = unit_vector("sdp_hello");
	unsigned char *copy;
	struct sdp_hello h;
	size_t i, len;

	for (i = 0; i < ARRAY_LEN(bad); i++) {
		copy = unit_copy(v->data, v->len);
		copy[bad[i].at] = bad[i].value;
		CHECK_EQ(hello(copy, v->len, false, &h), bad[i].want);
		free(copy);
	}
	for (len = 0; len < v->len; len++)
		CHECK_EQ(hello(v->data, len, false, &h), SDP_WIRE_LEN);
	v = unit_vector("sdp_hello_ack");
	for (len = 0; len < v->len; len++)
		CHECK_EQ(hello_ack(v->data, len, &h), SDP_WIRE_LEN);
	copy = unit_copy(v->data, v->len);
	copy[19] = 0;
	CHECK_EQ(hello_ack(copy, v->len, &h), SDP_WIRE_ADVERTS);
	free(copy);
	/* a transport pads private data with zeros */
	v = unit_vector("sdp_hello");
	copy = calloc(1, 256);
	memcpy(copy, v->data, v->len);
	CHECK_EQ(hello(copy, 256, false, &h), SDP_WIRE_OK);
	free(copy);
}

static void test_bad_messages(void)
{
	const struct vector *v = unit_vector("sdp_data");
	struct sdp_msg m;
	unsigned char *copy;
	unsigned int mid;
	size_t len;

	for (len = 0; len < v->len; len++)
		CHECK_EQ(parse(v->data, len, &m), SDP_WIRE_LEN);
	copy = unit_copy(v->data, v->len);
	copy[1] = 0;
	for (mid = 0; mid < 256; mid++) {
		copy[0] = mid;
		if (mid < 2 || (mid > 0x0e && mid < SDP_MID_RING_AVAIL) ||
		    (mid > SDP_MID_RING && mid < 0xfd))
			CHECK_EQ(parse(copy, v->len, &m), SDP_WIRE_MID);
		/* payload where none may be, or not as much as it says */
		else if (mid != SDP_MID_DATA)
			CHECK_EQ(parse(copy, v->len, &m), SDP_WIRE_LEN);
	}
	copy[0] = SDP_MID_DATA;
	for (mid = 8; mid < 256; mid += 8) {
		copy[1] = mid;
		CHECK_EQ(parse(copy, v->len, &m), SDP_WIRE_FLAGS);
	}
	copy[1] = 0;
	copy[7]++;
	CHECK_EQ(parse(copy, v->len, &m), SDP_WIRE_LEN);
	copy[7] -= 2;
	CHECK_EQ(parse(copy, v->len, &m), SDP_WIRE_LEN);
	copy[4] = 0xff;
	CHECK_EQ(parse(copy, v->len, &m), SDP_WIRE_LEN);
	free(copy);
	v = unit_vector("sdp_data_empty");
	copy = unit_copy(v->data, v->len);
	copy[1] = SDP_OOB_PRES;
	CHECK_EQ(parse(copy, v->len, &m), SDP_WIRE_FLAGS);
	free(copy);
}

/* Ring with bytes that go along: as many as it says */
static void test_ring_payload(const struct vector *v)
{
	unsigned char buf[24 + 101] = { 0 };
	struct sdp_msg m;
	size_t n;

	memcpy(buf, v->data, v->len);
	for (n = 1; n <= 101; n++) {
		buf[7] = 24 + n;
		CHECK_EQ(sdp_parse_msg(buf, 24, 24 + n, &m),
			 n == 100 ? SDP_WIRE_OK : SDP_WIRE_LEN);
		if (n == 100)
			CHECK(m.payload == 24 && m.payload_len == 100);
	}
	memset(buf + 16, 0, 4);
	buf[7] = 25;
	CHECK_EQ(sdp_parse_msg(buf, 24, 25, &m), SDP_WIRE_LEN);
}

static void test_bad_extensions(void)
{
	static const char *const names[] = {
		"sdp_srcavail",	  "sdp_sinkavail", "sdp_rdcompl",
		"sdp_modechange", "sdp_chrcvbuf",  "sdp_suspend",
		"sdp_ringavail",  "sdp_ring",
	};
	const struct vector *v;
	unsigned char *copy;
	struct sdp_msg m;
	size_t i, len;

	/* the message says itself that it is shorter */
	for (i = 0; i < ARRAY_LEN(names); i++) {
		v = unit_vector(names[i]);
		for (len = 16; len < 16 + sdp_ext_len(v->data[0]); len++) {
			copy = unit_copy(v->data, len);
			copy[7] = len;
			CHECK_EQ(sdp_parse_msg(copy, len, len, &m),
				 SDP_WIRE_LEN);
			free(copy);
		}
	}
	v = unit_vector("sdp_modechange");
	copy = unit_copy(v->data, v->len);
	for (i = 3; i < 8; i++) {
		copy[16] = i << 4;
		CHECK_EQ(parse(copy, v->len, &m), SDP_WIRE_FIELD);
	}
	free(copy);
	v = unit_vector("sdp_srcavail");
	copy = unit_copy(v->data, v->len);
	memset(copy + 16, 0, 4);
	CHECK_EQ(parse(copy, v->len, &m), SDP_WIRE_FIELD);
	memset(copy + 16, 0xff, 16);
	CHECK_EQ(parse(copy, v->len, &m), SDP_WIRE_FIELD);
	free(copy);
	/* nothing is written, nothing can be urgent */
	v = unit_vector("sdp_ring");
	copy = unit_copy(v->data, v->len);
	copy[1] = SDP_OOB_PRES;
	CHECK_EQ(parse(copy, v->len, &m), SDP_WIRE_OK);
	memset(copy + 16, 0, 4);
	CHECK_EQ(parse(copy, v->len, &m), SDP_WIRE_FLAGS);
	free(copy);
	test_ring_payload(v);
}

static void test_garbage(void)
{
	unsigned char buf[220];
	struct sdp_hello h;
	struct sdp_msg m;
	size_t len;
	int n;

	for (n = 0; n < 200000; n++) {
		len = unit_below(sizeof(buf));
		unit_random_bytes(buf, sizeof(buf));
		if (unit_below(4)) {
			buf[0] = unit_below(2) ? unit_below(16) :
						 0xfd + unit_below(3);
			buf[1] &= 7;
			memset(buf + 4, 0, 3);
			buf[7] = len;
		}
		if (parse(buf, len, &m) == SDP_WIRE_OK) {
			CHECK_EQ(m.payload + m.payload_len, len);
			CHECK_EQ(m.h.len, len);
		}
		hello(buf, len, n & 1, &h);
		hello_ack(buf, len, &h);
	}
}

static uint32_t number(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
}

/* MSeqAck comes back whole, however far numbers have gone */
static void test_immediate(void)
{
	static const uint32_t acked[] = { 0,	      1,	 0xfffe,
					  0xffff,     0x10000,	 0x7fffffff,
					  0xffffff00, 0xffffffff };
	static const uint32_t more[] = { 0, 1, 2, 0x7fff, 0x8000, 0xffff };
	const struct vector *v = unit_vector("sdp_imm");
	struct sdp_msg m, again;
	size_t i, k;

	CHECK_EQ(sdp_parse_imm(number(v->data), 300, 9, 1, &m), SDP_WIRE_OK);
	CHECK(m.h.mid == SDP_MID_RING && m.h.mseq == 9 && m.h.mseq_ack == 2);
	CHECK(!m.h.flags && !m.h.bufs && !m.payload_len);
	CHECK_EQ(m.ext.ring.len, 300);
	CHECK_EQ(sdp_build_imm(&m), number(v->data));
	CHECK_EQ(sdp_parse_imm(number(v->data), 299, 9, 1, &m), SDP_WIRE_LEN);
	CHECK_EQ(sdp_parse_imm(number(v->data), 301, 9, 1, &m), SDP_WIRE_LEN);
	CHECK_EQ(sdp_parse_imm(number(v->data), 0, 9, 1, &m), SDP_WIRE_LEN);
	CHECK_EQ(sdp_parse_imm(0x20000, 0, 9, 1, &m), SDP_WIRE_LEN);
	CHECK_EQ(sdp_parse_imm(0x20000, 65536, 9, 1, &m), SDP_WIRE_LEN);
	for (i = 0; i < ARRAY_LEN(acked); i++) {
		for (k = 0; k < ARRAY_LEN(more); k++) {
			m.h.mseq_ack = acked[i] + more[k];
			m.ext.ring.len = SDP_IMM_MAX;
			CHECK_EQ(sdp_parse_imm(sdp_build_imm(&m), SDP_IMM_MAX,
					       1, acked[i], &again),
				 SDP_WIRE_OK);
			CHECK_EQ(again.h.mseq_ack, m.h.mseq_ack);
			CHECK_EQ(again.ext.ring.len, SDP_IMM_MAX);
		}
	}
}

/* As the table of messages in wire.rst has them */
static void test_names(void)
{
	static const char *const names[256] = {
		"Hello",
		"HelloAck",
		"DisConn",
		"AbortConn",
		"SendSm",
		"RdmaWrCompl",
		"RdmaRdCompl",
		"ModeChange",
		"SrcAvailCancel",
		"SinkAvailCancel",
		"SinkCancelAck",
		"ChRcvBuf",
		"ChRcvBufAck",
		"SuspComm",
		"SuspCommAck",
		[0x48] = "RingAvail",
		[0x49] = "Ring",
		[0xfd] = "SinkAvail",
		[0xfe] = "SrcAvail",
		[0xff] = "Data",
	};
	unsigned int mid;

	for (mid = 0; mid < ARRAY_LEN(names); mid++)
		CHECK(!strcmp(sdp_mid_name(mid),
			      names[mid] ? names[mid] : "unknown"));
}

static void test_sequence(void)
{
	CHECK(sdp_seq_after(1, 0) && !sdp_seq_after(0, 1));
	CHECK(!sdp_seq_after(5, 5));
	CHECK(sdp_seq_after(0, 0xffffffff) && sdp_seq_after(5, 0xfffffff0));
	CHECK(!sdp_seq_after(0xffffffff, 0));
}

static const struct unit_test tests[] = {
	{ "messages", test_messages },
	{ "Hello and HelloAck", test_hello_vectors },
	{ "extensions in Hello and HelloAck", test_extensions },
	{ "bad Hello", test_bad_hello },
	{ "bad messages", test_bad_messages },
	{ "bad extended headers", test_bad_extensions },
	{ "immediate data", test_immediate },
	{ "garbage", test_garbage },
	{ "sequence numbers", test_sequence },
	{ "names of messages", test_names },
};

int main(void)
{
	return unit_main("sdp wire", tests, ARRAY_LEN(tests));
}
