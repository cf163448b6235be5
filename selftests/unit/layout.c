// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Streams of FPDUs, see layout.h. The places of payload are computed first and
 * filled, then the gaps are closed around it, as on a shared link; the parser
 * at the other end goes through the stream word by word and asks for each
 * whether a marker is due, and so does not know the arithmetic of the former.
 */
#include <stdlib.h>
#include <string.h>

#include "iwarp/mpa.h"
#include "iwarp/mpa_contig.h"
#include "layout.h"
#include "unit.h"

#define HDR 18 /* untagged DDP header */
#define SEG_MIN 256 /* as in the engine */
#define UNTOUCHED 0xee

static const uint32_t intervals[] = { 0,    64,	  128,	256,  512,  512,
				      1024, 2048, 4096, 8192, 16384 };

static uint32_t take(struct layout_source *src, int bytes)
{
	uint32_t v = 0;

	for (; bytes; bytes--) {
		v <<= 8;
		if (src->len) {
			v |= *src->p++;
			src->len--;
		}
	}
	return v;
}

/* One end of a segment, in bytes; 0: segments are not known */
struct segment {
	uint32_t mss;
	uint32_t room;
};

static void new_mss(struct segment *seg, struct layout_source *src)
{
	static const uint32_t usual[] = { 536,	1228, 1440, 1448,
					  1460, 8948, 9000, 65483 };
	uint32_t n = take(src, 2);

	seg->mss = n & 1 ? usual[n / 2 % ARRAY_LEN(usual)] :
			   SEG_MIN + n % 16384;
	/* FPDUs cannot fill segments whose length is no multiple of 4 */
	seg->room = seg->mss & 3 ? 0 : seg->mss;
}

static uint32_t room_of(const struct segment *seg)
{
	return seg->room ? seg->room : seg->mss & ~3u;
}

static void use_room(struct segment *seg, uint32_t len)
{
	if (seg->room)
		seg->room = seg->room > len ? seg->room - len : seg->mss;
}

/* Put payload where it will be in the stream, before anything else is there */
static void lend(struct layout *l, uint64_t pos, const uint8_t *payload,
		 uint32_t len)
{
	uint8_t *base = l->stream + l->len;
	uint32_t body = MPA_LEN_SIZE + HDR, n;

	for (; len; len -= n) {
		n = mpa_body_run(pos, body, l->ivl);
		n = n < len ? n : len;
		memcpy(base + mpa_body_off(pos, body, l->ivl), payload, n);
		payload += n;
		body += n;
	}
}

/* Everything around it. Returns bytes of the FPDU. */
static uint32_t seal(struct layout *l, uint64_t pos, const uint8_t *ulpdu,
		     uint32_t len)
{
	uint8_t *base = l->stream + l->len;
	uint32_t left = len - HDR, n;
	struct mpa_build b;

	mpa_build_begin(&b, base, pos, len, l->ivl);
	mpa_build_put(&b, ulpdu, HDR);
	for (; left; left -= n) {
		n = mpa_build_room(&b, left);
		mpa_build_advance(&b, n);
	}
	n = mpa_build_end(&b);
	mpa_put_crc(b.p, unit_crc32c(~0u, b.start, n));
	return n + MPA_CRC_SIZE;
}

/* The next FPDU, of at most @want bytes of payload. NULL or what is wrong */
static const char *add(struct layout *l, struct segment *seg, uint32_t want,
		       uint32_t *done)
{
	uint64_t pos = l->pos + l->len;
	uint32_t room = room_of(seg), len, total;
	uint8_t *ulpdu = l->input + l->input_len;

	*done = 0;
	len = HDR + want;
	if (mpa_fpdu_len(pos, len, l->ivl) > room) {
		len = mpa_ulpdu_fit(pos, room, l->ivl);
		if (len <= HDR)
			return NULL;
		if (len > HDR + want)
			return "more fits than does not fit";
		if (len < MPA_ULPDU_MAX &&
		    mpa_fpdu_len(pos, len + 1, l->ivl) <= room)
			return "a byte more would have fitted";
	}
	total = mpa_fpdu_len(pos, len, l->ivl);
	if (total > room)
		return "longer than the segment";
	memset(l->stream + l->len, UNTOUCHED, total + 8);
	lend(l, pos, ulpdu + HDR, len - HDR);
	if (seal(l, pos, ulpdu, len) != total)
		return "not as long as promised";
	if (l->stream[l->len + total] != UNTOUCHED)
		return "written past its end";
	l->fpdu[l->nr].off = l->len;
	l->fpdu[l->nr].ulpdu_len = len;
	l->fpdu[l->nr].ulpdu_off = l->input_len;
	l->nr++;
	l->len += total;
	l->input_len += len;
	use_room(seg, total);
	*done = len - HDR;
	return NULL;
}

/* One message. The segment may end early, the MSS change on the way. */
static const char *message(struct layout *l, struct segment *seg,
			   struct layout_source *src)
{
	uint32_t left = take(src, 2), done, how = take(src, 1);
	const char *fault;
	int stuck = 0;

	/* mostly short */
	if (how & 3)
		left &= how & 1 ? 0x3f : 0x7ff;
	do {
		if (l->nr == LAYOUT_FPDUS ||
		    l->len + left + 70000 > LAYOUT_STREAM)
			return NULL;
		if (how & 4 && !(take(src, 1) & 7))
			new_mss(seg, src);
		if (seg->room && seg->room < SEG_MIN &&
		    mpa_fpdu_len(l->pos + l->len, HDR + left, l->ivl) >
			    seg->room)
			seg->room = seg->mss;
		fault = add(l, seg, left, &done);
		if (fault)
			return fault;
		if (!done && left) {
			seg->room = seg->mss & 3 ? 0 : seg->mss;
			if (stuck++)
				return "nothing fits a fresh segment";
			continue;
		}
		stuck = 0;
		left -= done;
	} while (left);
	return NULL;
}

const char *layout_make(struct layout *l, struct layout_source *src)
{
	uint32_t i, n, start = take(src, 1);
	struct segment seg;
	const char *fault;

	l->ivl = intervals[start % ARRAY_LEN(intervals)];
	n = take(src, 4) & ~3u;
	l->pos = n;
	if (start & 64)
		l->pos = 0xffffffff - 3 - n % 0x20000; /* wraps soon */
	else if (start & 128)
		l->pos = (uint64_t)n << 14;
	l->nr = 0;
	l->len = 0;
	l->input_len = 0;
	for (i = 0; i < LAYOUT_STREAM; i++)
		l->input[i] = (uint8_t)(i * 2654435761u >> 13);
	new_mss(&seg, src);
	n = 1 + take(src, 1) % 32;
	for (i = 0; i < n; i++) {
		fault = message(l, &seg, src);
		if (fault)
			return fault;
	}
	return NULL;
}

/* ------------------------------------------------------------- the parser */

/* Word by word; the body goes to @body. NULL or a fault */
static const char *by_words(const struct layout *l, const struct layout_fpdu *f,
			    uint32_t total, uint8_t *body, uint32_t *len)
{
	const uint8_t *p = l->stream + f->off;
	uint64_t pos = l->pos + f->off;
	uint32_t at, head = MPA_NO_MARK;

	*len = 0;
	for (at = 0; at + MPA_CRC_SIZE < total; at += 4) {
		if (l->ivl && (pos + at) % l->ivl == 0) {
			if (proto_get16(p + at))
				return "reserved bits of a marker";
			if (proto_get16(p + at + 2) !=
			    (uint16_t)(head == MPA_NO_MARK ? 0 : at - head))
				return "a marker points elsewhere";
			continue;
		}
		if (head == MPA_NO_MARK)
			head = at;
		memcpy(body + *len, p + at, 4);
		*len += 4;
	}
	return NULL;
}

/* As the receive engine does: runs between markers, in pieces of any length */
static const char *by_walk(const struct layout *l, const struct layout_fpdu *f,
			   uint32_t total, const uint8_t *body, uint32_t len,
			   struct layout_source *src)
{
	const uint8_t *p = l->stream + f->off, *data;
	uint32_t left = total - MPA_CRC_SIZE, used, n, at = 0;
	struct mpa_walk w;

	mpa_walk_begin(&w, l->pos + f->off, l->ivl);
	while (left) {
		n = 1 + take(src, 2) % left;
		used = mpa_walk_next(&w, p, n, &data, &n);
		if (!used || used > left || at + n > len)
			return "walked too far";
		if (n && memcmp(body + at, data, n))
			return "the walk finds other bytes";
		at += n;
		p += used;
		left -= used;
	}
	if (w.bad)
		return "the walk finds a bad marker";
	return at == len ? NULL : "the walk ends early";
}

/*
 * The same FPDU with its markers after the PAD, as for a NIC that moves them:
 * byte by byte where the map says, and opened by moving.
 */
static const char *by_contig(const struct layout *l,
			     const struct layout_fpdu *f, uint32_t total)
{
	static uint8_t mem[80000];
	const uint8_t *p = l->stream + f->off;
	uint64_t pos = l->pos + f->off;
	uint32_t end = total - MPA_CRC_SIZE, x, run, at;
	struct mpa_build b;

	memset(mem, UNTOUCHED, total);
	mpa_contig_begin(&b, mem, pos, f->ulpdu_len, l->ivl);
	mpa_build_put(&b, l->input + f->ulpdu_off, f->ulpdu_len);
	if (mpa_contig_end(&b, pos, l->ivl) != end)
		return "contig: another length";
	for (x = 0; x < end; x += run) {
		at = mpa_contig_map(pos, total, l->ivl, x, &run);
		if (!run || run > total - x || at + run > total)
			return "contig: the map leads outside";
		run = run < end - x ? run : end - x;
		if (memcmp(p + x, mem + at, run))
			return "contig: the map leads elsewhere";
	}
	mpa_contig_open(mem, pos, total, l->ivl);
	mpa_marks_put(mem, end, pos, l->ivl);
	if (memcmp(mem, p, end))
		return "contig: opened to something else";
	if (!mpa_marks_good(mem, end, pos, l->ivl))
		return "good markers are not good";
	for (at = mpa_to_mark(pos, l->ivl); at < end; at += l->ivl) {
		mem[at + 2] ^= 1;
		if (mpa_marks_good(mem, end, pos, l->ivl))
			return "a bad marker is good";
		mem[at + 2] ^= 1;
	}
	return NULL;
}

/* As the short way of the transmit engine does, if there is no PAD */
static const char *by_marked(const struct layout *l,
			     const struct layout_fpdu *f, uint32_t total,
			     struct layout_source *src)
{
	static uint8_t mem[80000];
	const uint8_t *in = l->input + f->ulpdu_off;
	uint64_t pos = l->pos + f->off;
	uint32_t to_mark = mpa_to_mark(pos, l->ivl), front, room;
	uint8_t *end;

	if (!l->ivl || to_mark <= MPA_LEN_SIZE ||
	    mpa_body_len(f->ulpdu_len) != MPA_LEN_SIZE + f->ulpdu_len)
		return NULL;
	room = to_mark - MPA_LEN_SIZE;
	room = room < f->ulpdu_len ? room : f->ulpdu_len;
	front = take(src, 2) % (room + 1);
	memset(mem, UNTOUCHED, total);
	proto_put16(mem, f->ulpdu_len);
	memcpy(mem + MPA_LEN_SIZE, in, front);
	end = mpa_put_marked(mem + MPA_LEN_SIZE + front, mem, in + front,
			     f->ulpdu_len - front,
			     to_mark - MPA_LEN_SIZE - front, l->ivl);
	if (end - mem != total - MPA_CRC_SIZE)
		return "marked: another length";
	if (memcmp(mem, l->stream + f->off, end - mem))
		return "marked: other bytes";
	return *end == UNTOUCHED ? NULL : "marked: too many bytes";
}

static const char *check_fpdu(const struct layout *l,
			      const struct layout_fpdu *f, uint32_t *at,
			      struct layout_source *src)
{
	static uint8_t body[65535 + 8];
	const uint8_t *p = l->stream + f->off;
	uint64_t pos = l->pos + f->off;
	uint32_t lead = mpa_lead_len(pos, l->ivl), len, total;
	const char *fault;

	if (f->off != *at)
		return "not where the one before ends";
	if (proto_get16(p + lead) != f->ulpdu_len)
		return "ULPDU_Length";
	total = mpa_fpdu_len(pos, f->ulpdu_len, l->ivl);
	*at += total;
	if (total % 4)
		return "length is no multiple of 4";
	if (unit_crc32c(~0u, p, total - MPA_CRC_SIZE) !=
	    mpa_get_crc(p + total - MPA_CRC_SIZE))
		return "CRC";
	fault = by_words(l, f, total, body, &len);
	if (fault)
		return fault;
	if (len != mpa_body_len(f->ulpdu_len))
		return "bytes lost or too many";
	if (memcmp(body + MPA_LEN_SIZE, l->input + f->ulpdu_off, f->ulpdu_len))
		return "other bytes than went in";
	fault = l->ivl ? by_contig(l, f, total) : NULL;
	if (!fault)
		fault = by_marked(l, f, total, src);
	return fault ? fault : by_walk(l, f, total, body, len, src);
}

const char *layout_check(const struct layout *l, struct layout_source *src)
{
	uint32_t at = 0, i;
	const char *fault;

	for (i = 0; i < l->nr; i++) {
		fault = check_fpdu(l, &l->fpdu[i], &at, src);
		if (fault)
			return fault;
	}
	return at == l->len ? NULL : "bytes after the last FPDU";
}

static void write_le(FILE *f, uint64_t v, int bytes)
{
	for (; bytes; bytes--, v >>= 8)
		fputc((int)(v & 255), f);
}

void layout_write(const struct layout *l, FILE *f)
{
	uint32_t i;

	write_le(f, l->ivl, 4);
	write_le(f, l->pos, 8);
	write_le(f, l->nr, 4);
	write_le(f, l->len, 4);
	fwrite(l->stream, 1, l->len, f);
	for (i = 0; i < l->nr; i++) {
		write_le(f, l->fpdu[i].ulpdu_len, 4);
		fwrite(l->input + l->fpdu[i].ulpdu_off, 1, l->fpdu[i].ulpdu_len,
		       f);
	}
}
