// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Unit tests: DDP and RDMAP headers, checks, Terminate messages.
 */
#include <stdio.h>

#include "iwarp/rdmap.h"
#include "unit.h"

/* The ULPDU inside a vector that is an FPDU without markers. */
static const unsigned char *ulpdu_of(const char *name, uint32_t *len)
{
	const struct vector *v = unit_vector(name);

	*len = v->data[0] << 8 | v->data[1];
	return v->data + 2;
}

static uint32_t parse(const unsigned char *p, uint32_t len, struct ddp_hdr *h)
{
	unsigned char *copy;
	uint32_t err;

	/* no more than the header is readable */
	copy = unit_copy(p, len < DDP_HDR_MAX ? len : DDP_HDR_MAX);
	err = ddp_parse(copy, len, h);
	free(copy);
	return err;
}

static void parse_vector(const char *name, struct ddp_hdr *h)
{
	const unsigned char *p;
	uint32_t len;

	p = ulpdu_of(name, &len);
	CHECK_EQ(parse(p, len, h), 0);
	CHECK_EQ(h->hdr_len + h->payload, len);
}

static void test_vectors(void)
{
	struct ddp_hdr h;

	parse_vector("send_nomark", &h);
	CHECK(!h.tagged && h.last && !h.qn && h.msn == 1 && !h.mo);
	CHECK(h.payload == 29 && RDMAP_OP(h.rdmap) == RDMAP_SEND);
	CHECK_EQ(rdmap_check(&h), 0);
	parse_vector("write_nomark", &h);
	CHECK(h.tagged && h.last && h.stag == 0xc0ffee && h.payload == 29);
	CHECK_EQ(h.to, 0x1122334455667788ull);
	CHECK_EQ(rdmap_check(&h), 0);
	parse_vector("readreq_nomark", &h);
	CHECK(!h.tagged && h.qn == DDP_QN_READ && h.payload == RDMAP_RREQ_LEN);
	CHECK_EQ(rdmap_check(&h), 0);
	parse_vector("readresp_nomark", &h);
	CHECK(h.tagged && h.stag == 0x0a0b0c0d && h.to == 0x1000);
	CHECK_EQ(rdmap_check(&h), 0);
	parse_vector("sendinv_nomark", &h);
	CHECK(h.inval == 0xc0ffee && h.msn == 2 && h.payload == 4);
	CHECK(rdmap_send_invalidates(RDMAP_OP(h.rdmap)));
	CHECK(rdmap_send_solicited(RDMAP_OP(h.rdmap)));
	CHECK_EQ(rdmap_check(&h), 0);
	parse_vector("rtr_zero_write", &h);
	CHECK(h.tagged && !h.payload && !rdmap_check(&h));
	parse_vector("rtr_zero_send", &h);
	CHECK(!h.tagged && !h.payload && !rdmap_check(&h));
	parse_vector("term_mpa_crc", &h);
	CHECK(h.qn == DDP_QN_TERM && !rdmap_check(&h));
	parse_vector("imm_nomark", &h);
	CHECK(h.qn == DDP_QN_SEND && h.msn == 3 && !rdmap_check(&h));
	parse_vector("imm_write", &h);
	CHECK(RDMAP_OP(h.rdmap) == RDMAP_IMM_SE && !rdmap_check(&h));
	parse_vector("send_imm", &h);
	CHECK(h.rdmap == (RDMAP_CTRL(RDMAP_SEND) | RDMAP_SEND_IMM));
	CHECK(h.inval == 0x01020304 && !rdmap_check(&h));
	parse_vector("atomic_req_fa", &h);
	CHECK(h.qn == DDP_QN_READ && h.msn == 2 && !rdmap_check(&h));
	parse_vector("atomic_resp", &h);
	CHECK(h.qn == DDP_QN_ATOMIC && h.msn == 1 && !rdmap_check(&h));
}

/* Writing the headers of the vectors again gives the same bytes. */
static void test_build(void)
{
	static const char *const names[] = {
		"send_nomark",	   "write_nomark",   "readreq_nomark",
		"readresp_nomark", "sendinv_nomark", "rtr_zero_send",
		"rtr_zero_write",  "rtr_zero_read",  "term_mpa_crc",
		"imm_nomark",	   "imm_write",	     "send_imm",
		"atomic_req_fa",   "atomic_req_cs",  "atomic_resp",
	};
	unsigned char buf[RDMAP_HDR_MAX];
	const unsigned char *p;
	struct rdmap_areq a;
	struct rdmap_rreq r;
	struct ddp_hdr h;
	uint32_t len;
	size_t i;

	for (i = 0; i < ARRAY_LEN(names); i++) {
		p = ulpdu_of(names[i], &len);
		parse(p, len, &h);
		if (h.tagged)
			ddp_put_tagged(buf, h.last, h.rdmap, h.stag, h.to);
		else
			ddp_put_untagged(buf, h.last, h.rdmap, h.inval, h.qn,
					 h.msn, h.mo);
		CHECK(!memcmp(buf, p, h.hdr_len));
	}
	p = ulpdu_of("readreq_nomark", &len);
	rdmap_rreq_parse(p + DDP_UNTAGGED_LEN, &r);
	CHECK(r.sink_stag == 0x0a0b0c0d && r.sink_to == 0x1000 &&
	      r.size == 4096 && r.src_stag == 0xc0ffee && r.src_to == 0x2000);
	rdmap_rreq_put(buf, &r);
	CHECK(!memcmp(buf, p + DDP_UNTAGGED_LEN, RDMAP_RREQ_LEN));
	p = ulpdu_of("atomic_req_cs", &len);
	rdmap_areq_parse(p + DDP_UNTAGGED_LEN, &a);
	CHECK(a.op == RDMAP_CMP_SWAP && a.id == 0x78 && a.stag == 0xc0ffee &&
	      a.to == 0x2008 && a.data == 6 && a.data_mask == 0xffffffff &&
	      a.compare == 5 && a.compare_mask == 0xffffffff);
	rdmap_areq_put(buf, &a);
	CHECK(!memcmp(buf, p + DDP_UNTAGGED_LEN, RDMAP_AREQ_LEN));
}

/* Fields one by one, the slow way. */
static uint64_t add_fields(uint64_t a, uint64_t b, uint64_t top)
{
	uint64_t sum = 0, carry = 0, bit;
	int i;

	for (i = 0; i < 64; i++) {
		bit = (a >> i & 1) + (b >> i & 1) + carry;
		sum |= (bit & 1) << i;
		carry = top >> i & 1 ? 0 : bit >> 1;
	}
	return sum;
}

static void test_atomic(void)
{
	struct rdmap_areq r = { .op = RDMAP_FETCH_ADD, .data = 1 };
	uint64_t old, want;
	__u64 new;
	int n;

	CHECK(!rdmap_atomic(&r, ~0ull, &new) && !new);
	for (n = 0; n < 20000; n++) {
		unit_random_bytes((unsigned char *)&r, sizeof(r));
		unit_random_bytes((unsigned char *)&old, sizeof(old));
		r.op = RDMAP_FETCH_ADD;
		if (n & 1)
			r.data_mask &= r.compare & r.compare_mask;
		CHECK(!rdmap_atomic(&r, old, &new));
		CHECK_EQ(new, add_fields(old, r.data, r.data_mask));
		r.op = RDMAP_CMP_SWAP;
		if (n & 1)
			r.compare = old ^ (r.compare & ~r.compare_mask);
		want = (old & r.compare_mask) == (r.compare & r.compare_mask) ?
			       (old & ~r.data_mask) | (r.data & r.data_mask) :
			       old;
		CHECK(!rdmap_atomic(&r, old, &new));
		CHECK_EQ(new, want);
	}
	for (r.op = 0; r.op < 16; r.op++)
		CHECK_EQ(rdmap_atomic(&r, 0, &new),
			 r.op == RDMAP_FETCH_ADD || r.op == RDMAP_CMP_SWAP ?
				 0 :
				 TERM_OP_OPCODE);
}

static void test_truncated(void)
{
	static const char *const names[] = { "send_nomark", "write_nomark" };
	const unsigned char *p;
	struct ddp_hdr h;
	uint32_t len, cut, err;
	size_t i;

	for (i = 0; i < ARRAY_LEN(names); i++) {
		p = ulpdu_of(names[i], &len);
		for (cut = 0; cut < len; cut++) {
			err = parse(p, cut, &h);
			CHECK_EQ(err != 0,
				 cut < (p[0] & 0x80 ? DDP_TAGGED_LEN :
						      DDP_UNTAGGED_LEN));
			CHECK(err || h.payload == cut - h.hdr_len);
		}
	}
}

static void test_versions(void)
{
	unsigned char seg[46] = { 0 };
	struct ddp_hdr h;
	unsigned int i, err;

	for (i = 0; i < 256; i++) {
		seg[0] = i;
		seg[1] = 0x43;
		err = parse(seg, sizeof(seg), &h);
		if ((i & 3) == 1)
			CHECK_EQ(err, 0);
		else
			CHECK_EQ(err, i & 0x80 ? TERM_TAG_VERSION :
						 TERM_UNT_VERSION);
	}
	/* reserved bits are not looked at, RDMAP versions are */
	for (i = 0; i < 256; i++) {
		seg[0] = 0x41 | 0x3c;
		seg[1] = i;
		CHECK_EQ(parse(seg, sizeof(seg), &h), 0);
		if ((i & 0xc0) != 0x40)
			CHECK_EQ(rdmap_check(&h), TERM_OP_VERSION);
	}
}

/* Which operation may come in which kind of segment. */
static void test_opcodes(void)
{
	uint32_t want, err, op, tagged, qn;
	struct ddp_hdr h = { 0 };

	for (op = 0; op < 16; op++) {
		if (op >= RDMAP_IMM && op <= RDMAP_ATOMIC_RESP)
			continue; /* test_sized() */
		for (tagged = 0; tagged < 2; tagged++) {
			for (qn = 0; qn < 6; qn++) {
				h.tagged = tagged;
				h.qn = qn;
				h.last = true;
				h.rdmap = RDMAP_CTRL(op);
				h.payload = RDMAP_RREQ_LEN;
				err = rdmap_check(&h);
				want = op > RDMAP_TERM;
				if (op == RDMAP_WRITE || op == RDMAP_READ_RESP)
					want = !tagged;
				else if (rdmap_is_send(op))
					want = tagged || qn != DDP_QN_SEND;
				else if (op == RDMAP_READ_REQ)
					want = tagged || qn != DDP_QN_READ;
				else if (op == RDMAP_TERM)
					want = tagged || qn != DDP_QN_TERM;
				CHECK_EQ(err != 0, want);
				if (op > RDMAP_TERM)
					CHECK_EQ(err, TERM_OP_OPCODE);
			}
		}
	}
	h = (struct ddp_hdr){ .qn = 1,
			      .last = true,
			      .rdmap = RDMAP_CTRL(RDMAP_READ_REQ) };
	CHECK(rdmap_check(&h)); /* without its header */
	h.payload = RDMAP_RREQ_LEN + 4;
	CHECK(rdmap_check(&h)); /* too long */
	h.payload = RDMAP_RREQ_LEN;
	CHECK_EQ(rdmap_check(&h), 0);
	h.mo = 4;
	CHECK_EQ(rdmap_check(&h), TERM_UNT_MO);
	h.mo = 0;
	h.last = false;
	CHECK(rdmap_check(&h));
}

/* Operations that consist of a header: its place and length are fixed. */
static void test_sized(void)
{
	static const struct {
		uint32_t op, qn, len;
	} ops[] = {
		{ RDMAP_READ_REQ, DDP_QN_READ, RDMAP_RREQ_LEN },
		{ RDMAP_IMM, DDP_QN_SEND, RDMAP_IMM_LEN },
		{ RDMAP_IMM_SE, DDP_QN_SEND, RDMAP_IMM_LEN },
		{ RDMAP_ATOMIC_REQ, DDP_QN_READ, RDMAP_AREQ_LEN },
		{ RDMAP_ATOMIC_RESP, DDP_QN_ATOMIC, RDMAP_ARESP_LEN },
	};
	struct ddp_hdr h;
	uint32_t qn, len;
	size_t i;

	for (i = 0; i < ARRAY_LEN(ops); i++) {
		h = (struct ddp_hdr){ .last = true,
				      .rdmap = RDMAP_CTRL(ops[i].op) };
		for (qn = 0; qn < 6; qn++) {
			for (len = 0; len < 100; len++) {
				h.qn = qn;
				h.payload = len;
				CHECK_EQ(rdmap_check(&h),
					 qn != ops[i].qn   ? TERM_UNT_QN :
					 len != ops[i].len ? TERM_UNT_LEN :
							     0);
			}
		}
		h.qn = ops[i].qn;
		h.payload = ops[i].len;
		h.mo = 4;
		CHECK_EQ(rdmap_check(&h), TERM_UNT_MO);
		h.mo = 0;
		h.last = false;
		CHECK_EQ(rdmap_check(&h), TERM_UNT_LEN);
		h.last = true;
		h.tagged = true;
		CHECK_EQ(rdmap_check(&h), TERM_OP_OPCODE);
	}
}

static void test_untagged(void)
{
	struct ddp_hdr h = { .msn = 7, .mo = 100, .payload = 50 };

	CHECK_EQ(ddp_check_untagged(&h, 7, 100, 150), 0);
	CHECK_EQ(ddp_check_untagged(&h, 7, 100, 149), TERM_UNT_LEN);
	CHECK_EQ(ddp_check_untagged(&h, 8, 100, 150), TERM_UNT_MSN);
	CHECK_EQ(ddp_check_untagged(&h, 6, 100, 150), TERM_UNT_MSN);
	CHECK_EQ(ddp_check_untagged(&h, 7, 0, 150), TERM_UNT_MO);
	CHECK_EQ(ddp_check_untagged(&h, 7, 100, 99), TERM_UNT_LEN);
	h.mo = 0xfffffff0;
	CHECK(ddp_check_untagged(&h, 7, 0xfffffff0, 100));
	CHECK(ddp_check_untagged(&h, 7, 0xfffffff0, 0xffffffff));
	h.payload = 0xffffffff;
	h.mo = 1;
	CHECK_EQ(ddp_check_untagged(&h, 7, 1, 0xffffffff), TERM_UNT_LEN);
	CHECK(ddp_to_wraps(~0ull, 2) && !ddp_to_wraps(~0ull, 1));
	CHECK(!ddp_to_wraps(~0ull, 0) && !ddp_to_wraps(0, ~0ull));
	CHECK(ddp_to_wraps(~0ull - 0xffff, 0x10001));
}

/* Terminate: the vectors, and whatever was refused is quoted in bounds. */
static void test_terminate(void)
{
	unsigned char *out = malloc(RDMAP_TERM_MAX), *hdr;
	const unsigned char *seg, *want;
	uint32_t len, want_len, n, err, cut, msn;

	seg = ulpdu_of("write_nomark", &len);
	want = ulpdu_of("term_ddp_bounds", &want_len);
	n = rdmap_term_build(out, TERM_TAG_BOUNDS, seg, len, len);
	CHECK(n == want_len && !memcmp(out, want, n));
	CHECK_EQ(rdmap_term_parse(want + 18, want_len - 18), TERM_TAG_BOUNDS);
	CHECK(!rdmap_term_request(want + 18, want_len - 18, &msn));
	seg = ulpdu_of("readreq_nomark", &len);
	want = ulpdu_of("term_rdmap_access", &want_len);
	n = rdmap_term_build(out, TERM_PROT_ACCESS, seg, len, len);
	CHECK(n == want_len && !memcmp(out, want, n));
	CHECK_EQ(rdmap_term_parse(want + 18, want_len - 18), TERM_PROT_ACCESS);
	CHECK(rdmap_term_request(want + 18, want_len - 18, &msn));
	CHECK_EQ(msn, proto_get32(want + 18 + 6 + 10));
	CHECK(!rdmap_term_request(want + 18, 6 + 17, &msn));
	/* whatever the length of the segment */
	memcpy(out, want + 18, want_len - 18);
	out[5] = 0xff;
	CHECK(rdmap_term_request(out, want_len - 18, &msn));
	want = ulpdu_of("term_mpa_crc", &want_len);
	n = rdmap_term_build(out, TERM_MPA_CRC, NULL, 0, 0);
	CHECK(n == want_len && !memcmp(out, want, n));
	CHECK_EQ(rdmap_term_parse(want + 18, want_len - 18), TERM_MPA_CRC);
	CHECK(!rdmap_term_request(want + 18, want_len - 18, &msn));
	for (cut = 0; cut < 4; cut++) {
		hdr = unit_copy(want + 18, cut);
		CHECK_EQ(rdmap_term_parse(hdr, cut), 0);
		free(hdr);
	}
	for (cut = 0; cut <= len; cut++) {
		hdr = unit_copy(seg, cut);
		for (err = 0; err < 0x3000; err += 0x55) {
			n = rdmap_term_build(out, TERM_SET | err, hdr, cut,
					     65535);
			CHECK(n >= 22 && n <= RDMAP_TERM_MAX);
			CHECK_EQ(rdmap_term_parse(out + 18, n - 18),
				 TERM_SET | err);
		}
		free(hdr);
	}
	free(out);
}

static void test_garbage(void)
{
	unsigned char seg[64];
	struct ddp_hdr h;
	uint32_t len;
	int n;

	for (n = 0; n < 200000; n++) {
		len = unit_below(sizeof(seg));
		unit_random_bytes(seg, sizeof(seg));
		if (unit_below(2))
			seg[0] = unit_below(2) ? 0x41 : 0xc1;
		if (!parse(seg, len, &h)) {
			CHECK_EQ(h.hdr_len + h.payload, len);
			rdmap_check(&h);
		}
	}
}

static const struct unit_test tests[] = {
	{ "vectors", test_vectors },
	{ "headers written again", test_build },
	{ "truncated headers", test_truncated },
	{ "versions and reserved bits", test_versions },
	{ "opcodes", test_opcodes },
	{ "operations of fixed length", test_sized },
	{ "atomic operations", test_atomic },
	{ "message numbers, offsets, lengths", test_untagged },
	{ "terminate", test_terminate },
	{ "garbage", test_garbage },
};

int main(void)
{
	return unit_main("ddp and rdmap", tests, ARRAY_LEN(tests));
}
