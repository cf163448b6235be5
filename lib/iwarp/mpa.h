/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * MPA: start-up frames and their negotiation (RFC 5044 section 7.1, RFC 6581),
 * FPDUs with and without markers (RFC 5044 section 4).
 *
 * Freestanding, see types.h. Calls nothing.
 */
#ifndef LIB_IWARP_MPA_H
#define LIB_IWARP_MPA_H

#include "types.h"

/* ------------------------------------------------------------ start-up */

#define MPA_KEY_LEN	16
#define MPA_HDR_LEN	20	/* key, flags, revision, length */
#define MPA_ENH_LEN	4	/* IRD/ORD words of RFC 6581 */
#define MPA_PD_MAX	512	/* private data, enhanced words included */
#define MPA_START_MAX	(MPA_HDR_LEN + MPA_PD_MAX)

#define MPA_REV_1	1
#define MPA_REV_2	2

#define MPA_IRD_ULP	0x3fff	/* "not negotiated here, the ULP does it" */

/**
 * struct mpa_start - decoded Request or Reply
 * @rev: revision, 1 or 2
 * @markers: M, the sender of this frame wants to receive markers
 * @code: MPA_CODE_*, an extension in bits that the standard reserves
 * @crc: C
 * @reject: R, only in a Reply
 * @enhanced: S, the frame has the fields from @p2p to @ord; only with revision 2
 * @p2p: A, a ready-to-receive message is wanted
 * @rtr_send: B, by zero-length Send
 * @rtr_write: C, by zero-length RDMA Write
 * @rtr_read: D, by zero-length RDMA Read
 * @ird: inbound reads the sender takes
 * @ord: outbound reads the sender wants to issue
 * @pd_len: private data without the enhanced words
 * @pd_off: where it begins in the frame
 */
struct mpa_start {
	u8 rev;
	u8 code;
	bool markers;
	bool crc;
	bool reject;
	bool enhanced;
	bool p2p;
	bool rtr_send;
	bool rtr_write;
	bool rtr_read;
	u16 ird;
	u16 ord;
	u16 pd_len;
	u16 pd_off;
};

/*
 * The code, four bits. In a Request: 0 and 8 say nothing (another driver sets
 * 8); 1 to 7 propose markers 128 << code bytes apart, both ways; 9 proposes no
 * markers. All but 0 and 8 offer the extensions, which are those of RFC 7306 and
 * Sends with immediate data. A Reply agrees to the markers by M and the same
 * interval. It agrees to the extensions, with or without markers, by the code of
 * the Request with MPA_CODE_EXT inverted. See mpa_respond().
 */
#define MPA_CODE_MASK	0x0f
#define MPA_CODE_IVL	0x07	/* the interval */
#define MPA_CODE_EXT	0x08
#define MPA_CODE_PLAIN	0x09	/* extensions, no markers */

/* Results of mpa_start_parse() that are not a length */
enum {
	MPA_START_MORE = 0,		/* valid so far, incomplete */
	MPA_START_BAD_KEY = -1,
	MPA_START_BAD_REV = -2,
	MPA_START_BAD_LEN = -3,		/* PD_Length over 512, or no room for S */
};

/**
 * mpa_start_parse - decode a start-up frame
 * @buf: bytes from the peer, from the first of the stream on
 * @len: how many there are
 * @reply: a Reply is expected, else a Request
 * @s: result, valid when the return value is positive
 *
 * A wrong key is reported from the first wrong byte on, without waiting for
 * the rest. S is ignored in revision 1.
 *
 * Return: total bytes of the frame, or MPA_START_*.
 */
int mpa_start_parse(const u8 *buf, size_t len, bool reply,
		    struct mpa_start *s);

/**
 * mpa_start_build - encode a start-up frame
 * @buf: room for MPA_START_MAX bytes
 * @reply: build a Reply
 * @s: contents; @s->pd_len is the length of @pd, @s->pd_off is ignored
 * @pd: private data, may be NULL when there is none
 *
 * Return: bytes written, or 0 when @s cannot be expressed.
 */
size_t mpa_start_build(u8 *buf, bool reply, const struct mpa_start *s,
		       const u8 *pd);

/* Local policy for markers */
enum mpa_want {
	MPA_WANT_OFF,		/* only those that the peer insists on */
	MPA_WANT_AUTO,		/* both ways if the peer agrees */
	MPA_WANT_ON,		/* the peer must send them */
};

/**
 * struct mpa_limits - limits and wishes of the local side
 * @ird: inbound reads it can take; a responder sets it to the number that the ULP requests
 *	 before mpa_respond()
 * @ord: outbound reads it wants
 * @markers: markers
 * @ivl: marker interval that an initiator proposes, see mpa_ivl_valid()
 * @crc: wants CRC
 */
struct mpa_limits {
	u16 ird;
	u16 ord;
	enum mpa_want markers;
	u32 ivl;
	bool crc;
};

/* Ready-to-receive message to send as the first FPDU */
enum mpa_rtr {
	MPA_RTR_NONE,
	MPA_RTR_WRITE,
	MPA_RTR_READ,
	MPA_RTR_SEND,
};

/**
 * struct mpa_result - what both frames together mean for one side
 * @ird: inbound reads to be prepared for
 * @ord: outbound reads allowed
 * @tx_ivl: marker interval of what is sent, 0 for none
 * @rx_ivl: marker interval of what is received, 0 for none
 * @crc: CRC in use, in both directions
 * @ext: both sides know RFC 7306, and Sends with immediate data
 * @fenced: (responder) wait for the first FPDU before sending
 * @rtr_send: (responder) that may be an empty Send, which takes no receive
 * @rtr: (initiator) first FPDU to send
 */
struct mpa_result {
	u16 ird;
	u16 ord;
	u32 tx_ivl;
	u32 rx_ivl;
	bool crc;
	bool ext;
	bool fenced;
	bool rtr_send;
	enum mpa_rtr rtr;
};

/* Errors of mpa_finish(): MPA error codes of RFC 6581 section 8 */
#define MPA_ERR_LOCAL	5
#define MPA_ERR_IRD	6
#define MPA_ERR_RTR	7

/**
 * mpa_respond - the responder's answer to a Request
 * @req: the peer's frame
 * @lim: local limits
 * @rep: the Reply to send; private data is the caller's
 * @res: result for the responder
 *
 * Never fails: a responder which cannot take @req->ord reads sends its own
 * limit; mpa_finish() of the initiator lowers its ORD to that.
 *
 * Markers: M asks for them in what its sender receives, with the standard's
 * interval. A Request may also name an interval, with or without M; a Reply
 * with M and the same one agrees to it for both directions. A peer that does not
 * know intervals sends no M, or not the same interval, even if it reflects
 * the bits that it does not know. For the same reason the extensions are agreed
 * to by a bit that differs from the Request's.
 */
void mpa_respond(const struct mpa_start *req, const struct mpa_limits *lim,
		 struct mpa_start *rep, struct mpa_result *res);

/**
 * mpa_request - the initiator's Request
 * @rev: MPA_REV_1 or MPA_REV_2; 2 offers peer-to-peer with Write, Read and Send
 * @lim: local limits
 * @req: the Request to send; private data is the caller's
 */
void mpa_request(u8 rev, const struct mpa_limits *lim, struct mpa_start *req);

/**
 * mpa_finish - the initiator's conclusion from a Reply that does not reject
 * @req: the Request that was sent
 * @rep: the Reply; same revision and same S as @req
 * @lim: local limits; ird is a hard limit, ord is lowered to what is offered
 * @res: result for the initiator. After an error only tx_ivl and rx_ivl are valid, for the
 *	 Terminate.
 *
 * Return: 0 or MPA_ERR_* for the Terminate.
 */
int mpa_finish(const struct mpa_start *req, const struct mpa_start *rep,
	       const struct mpa_limits *lim, struct mpa_result *res);

/* ---------------------------------------------------------------- FPDU */

#define MPA_LEN_SIZE	2	/* ULPDU_Length */
#define MPA_CRC_SIZE	4
#define MPA_MARK_SIZE	4
#define MPA_MARK_IVL	512	/* the standard's interval */
#define MPA_MARK_IVL_MIN 64	/* that the functions below can handle */
#define MPA_WANT_IVL_MIN 256	/* that can be proposed to a peer */
#define MPA_WANT_IVL_MAX 16384
#define MPA_ULPDU_MAX	64768	/* RFC 5044: DDP posts no more */

/*
 * Positions count bytes since the start of full operation in one direction;
 * FPDUs begin at multiples of 4. An interval is 0 (no markers) or a power of
 * two, at least MPA_MARK_IVL_MIN.
 */

#define MPA_NO_MARK	0xffffffffU

/* Can this marker interval be proposed to a peer? */
static inline bool mpa_ivl_valid(u32 ivl)
{
	return ivl >= MPA_WANT_IVL_MIN && ivl <= MPA_WANT_IVL_MAX &&
	       !(ivl & (ivl - 1));
}

/* Bytes up to the next place of a marker, 0 when @pos is one */
static inline u32 mpa_to_mark(u64 pos, u32 ivl)
{
	return (u32)-pos & (ivl - 1);
}

/* Bytes of ULPDU_Length, ULPDU and PAD */
static inline u32 mpa_body_len(u32 ulpdu_len)
{
	return (MPA_LEN_SIZE + ulpdu_len + 3) & ~3U;
}

/**
 * mpa_fpdu_len - bytes of the stream an FPDU takes, markers included
 * @pos: position of its first byte
 * @ulpdu_len: at most 65535
 * @ivl: marker interval
 *
 * Return: bytes.
 */
static inline u32 mpa_fpdu_len(u64 pos, u32 ulpdu_len, u32 ivl)
{
	u32 n = mpa_body_len(ulpdu_len);
	u32 marks = 0;
	u32 first;

	if (ivl) {
		/*
		 * A marker is due after `first` bytes of the body and then
		 * after every (ivl - 4) of them, also right before the CRC.
		 */
		first = mpa_to_mark(pos, ivl);
		if (n >= first)
			marks = 1 + (n - first) / (ivl - MPA_MARK_SIZE);
	}
	return n + marks * MPA_MARK_SIZE + MPA_CRC_SIZE;
}

/**
 * mpa_lead_len - bytes before ULPDU_Length: 4 if a marker is due
 * @pos: position of the FPDU's first byte
 * @ivl: marker interval
 *
 * Return: bytes.
 */
static inline u32 mpa_lead_len(u64 pos, u32 ivl)
{
	return ivl && !mpa_to_mark(pos, ivl) ? MPA_MARK_SIZE : 0;
}

/**
 * mpa_body_off - where in an FPDU a byte of its body is
 * @pos: position of the FPDU's first byte
 * @body: bytes of ULPDU_Length, ULPDU and PAD before it
 * @ivl: marker interval
 *
 * Return: bytes from the start of the FPDU, markers included.
 */
static inline u32 mpa_body_off(u64 pos, u32 body, u32 ivl)
{
	u32 first;

	if (!ivl)
		return body;
	first = mpa_to_mark(pos, ivl);
	if (body < first)
		return body;
	return body + MPA_MARK_SIZE *
		      (1 + (body - first) / (ivl - MPA_MARK_SIZE));
}

/**
 * mpa_body_run - bytes of the body that stand together
 * @pos: position of the FPDU's first byte
 * @body: bytes of ULPDU_Length, ULPDU and PAD before the first of them
 * @ivl: marker interval
 *
 * Return: bytes up to the next marker, which may be beyond the FPDU.
 */
static inline u32 mpa_body_run(u64 pos, u32 body, u32 ivl)
{
	u32 first;

	if (!ivl)
		return MPA_NO_MARK;
	first = mpa_to_mark(pos, ivl);
	if (body < first)
		return first - body;
	return (ivl - MPA_MARK_SIZE) -
	       (body - first) % (ivl - MPA_MARK_SIZE);
}

/**
 * mpa_body_place - mpa_body_off() and mpa_body_run() in one
 * @pos: position of the FPDU's first byte
 * @body: bytes of ULPDU_Length, ULPDU and PAD before the first of them
 * @ivl: marker interval
 * @run: set to the bytes up to the next marker
 *
 * Return: bytes from the start of the FPDU, markers included.
 */
static inline u32 mpa_body_place(u64 pos, u32 body, u32 ivl, u32 *run)
{
	u32 first, in;

	*run = MPA_NO_MARK;
	if (!ivl)
		return body;
	first = mpa_to_mark(pos, ivl);
	if (body < first) {
		*run = first - body;
		return body;
	}
	in = body - first;
	if (in < ivl - MPA_MARK_SIZE) {
		*run = ivl - MPA_MARK_SIZE - in;
		return body + MPA_MARK_SIZE;
	}
	*run = mpa_body_run(pos, body, ivl);
	return mpa_body_off(pos, body, ivl);
}

/**
 * mpa_head_place - mpa_body_place() where no marker is in the header
 * @pos: position of the FPDU's first byte
 * @head: bytes of ULPDU_Length and headers, less than MPA_MARK_IVL_MIN - 4
 * @ivl: marker interval
 * @lead: set to the bytes before ULPDU_Length
 * @run: set to the bytes from the end of the header to the next marker
 *
 * Return: false if a marker is in the header or right after it: then @lead and
 * @run are not valid.
 */
static inline bool mpa_head_place(u64 pos, u32 head, u32 ivl, u32 *lead,
				  u32 *run)
{
	u32 first;

	*lead = 0;
	*run = MPA_NO_MARK;
	if (!ivl)
		return true;
	first = mpa_to_mark(pos, ivl);
	*run = first - head;
	if (first > head)
		return true;
	*lead = MPA_MARK_SIZE;
	*run = ivl - MPA_MARK_SIZE - head;
	return !first;
}

/**
 * mpa_ulpdu_full - ULPDU of an FPDU that is exactly @len bytes long
 * @pos: position of the FPDU's first byte
 * @len: bytes there are for it, a multiple of 4 and at least MPA_MARK_IVL_MIN
 * @ivl: marker interval
 * @log: its logarithm to base 2
 *
 * Return: bytes, 0 if there is none, as a marker is due where the CRC would be.
 */
static inline u32 mpa_ulpdu_full(u64 pos, u32 len, u32 ivl, u32 log)
{
	u32 at = (u32)pos & (ivl - 1);
	u32 ulpdu = len - MPA_CRC_SIZE - MPA_LEN_SIZE;
	u32 crc = at + len - MPA_CRC_SIZE;

	if (!ivl)
		return ulpdu;
	if (!(crc & (ivl - 1)))
		return 0;
	/* one where it begins, and those before the CRC */
	return ulpdu - MPA_MARK_SIZE * (!at + ((crc - 1) >> log));
}

/**
 * mpa_ulpdu_fit - largest ULPDU whose FPDU fits this place
 * @pos: position of the FPDU's first byte
 * @room: bytes there are for it
 * @ivl: marker interval
 *
 * May exceed the MULPDU of RFC 5044 section 4.5, which holds for every position.
 *
 * Return: bytes, 0 when not even an empty FPDU fits.
 */
u32 mpa_ulpdu_fit(u64 pos, u32 room, u32 ivl);

/**
 * struct mpa_build - an FPDU being laid out in contiguous memory
 * @p: next byte to write
 * @start: first byte of the FPDU
 * @head: its ULPDU_Length
 * @to_mark: bytes up to the next marker, MPA_NO_MARK without markers
 * @ivl: marker interval
 * @pad: PAD bytes at the end
 */
struct mpa_build {
	u8 *p;
	u8 *start;
	u8 *head;
	u32 to_mark;
	u32 ivl;
	u32 pad;
};

/*
 * Write a marker at @b->p: it points back to ULPDU_Length. For a leading one
 * @b->head is @b->p, so it says 0. Not for callers of the functions below.
 */
static inline void mpa_build_mark(struct mpa_build *b)
{
	proto_put32(b->p, (u16)(b->p - b->head));
	b->p += MPA_MARK_SIZE;
	b->to_mark = b->ivl - MPA_MARK_SIZE;
}

/**
 * mpa_build_begin - write the leading marker and ULPDU_Length
 * @b: state
 * @buf: room for mpa_fpdu_len(@pos, @ulpdu_len, @ivl) bytes
 * @pos: position of the FPDU in the stream
 * @ulpdu_len: length of the ULPDU, which the caller must put completely
 * @ivl: marker interval
 */
static inline void mpa_build_begin(struct mpa_build *b, u8 *buf, u64 pos,
				   u32 ulpdu_len, u32 ivl)
{
	b->start = buf;
	b->head = buf;
	b->p = buf;
	b->ivl = ivl;
	b->pad = mpa_body_len(ulpdu_len) - MPA_LEN_SIZE - ulpdu_len;
	b->to_mark = MPA_NO_MARK;
	if (ivl) {
		b->to_mark = mpa_to_mark(pos, ivl);
		if (!b->to_mark)
			mpa_build_mark(b);
	}
	b->head = b->p;
	proto_put16(b->p, (u16)ulpdu_len);
	b->p += MPA_LEN_SIZE;
	b->to_mark -= MPA_LEN_SIZE;
}

/**
 * mpa_build_room - where the next bytes of the ULPDU go
 * @b: state
 * @want: bytes to be put, not 0
 *
 * Writes a marker when one is due.
 *
 * Return: how many of @want may be written at @b->p before the next call. The caller
 * passes the number written to mpa_build_advance().
 */
static inline u32 mpa_build_room(struct mpa_build *b, u32 want)
{
	if (!b->to_mark)
		mpa_build_mark(b);
	return want < b->to_mark ? want : b->to_mark;
}

/* @n bytes were written at @b->p, at most what mpa_build_room() returned */
static inline void mpa_build_advance(struct mpa_build *b, u32 n)
{
	b->p += n;
	b->to_mark -= n;
}

/* Put @len bytes from @src */
static inline void mpa_build_put(struct mpa_build *b, const void *src, u32 len)
{
	const u8 *s = src;
	u32 n;

	while (len > b->to_mark) {
		n = b->to_mark;
		memcpy(b->p, s, n);
		b->p += n;
		s += n;
		len -= n;
		mpa_build_mark(b);
	}
	memcpy(b->p, s, len);
	mpa_build_advance(b, len);
}

/**
 * mpa_build_end - write PAD, and a marker before the CRC if one is due
 * @b: state
 *
 * Return: bytes the CRC covers, from @b->start on; the CRC goes to @b->p.
 */
static inline u32 mpa_build_end(struct mpa_build *b)
{
	/* no marker is due inside PAD: the body ends at a multiple of 4 */
	for (; b->pad; b->pad--) {
		*b->p++ = 0;
		b->to_mark--;
	}
	if (!b->to_mark)
		mpa_build_mark(b);
	return (u32)(b->p - b->start);
}

/**
 * mpa_put_marked - put bytes of the ULPDU, and markers where they are due
 * @p: where to
 * @head: ULPDU_Length
 * @src: the bytes
 * @len: how many
 * @to_mark: bytes up to the first marker
 * @ivl: marker interval, not 0
 *
 * Does the work of mpa_build_put() and mpa_build_end(), if these are the last bytes
 * and there is no PAD.
 *
 * Return: where the CRC goes.
 */
static inline u8 *mpa_put_marked(u8 *p, const u8 *head, const u8 *src, u32 len,
				 u32 to_mark, u32 ivl)
{
	while (len >= to_mark) {
		memcpy(p, src, to_mark);
		p += to_mark;
		src += to_mark;
		len -= to_mark;
		proto_put32(p, (u16)(p - head));
		p += MPA_MARK_SIZE;
		to_mark = ivl - MPA_MARK_SIZE;
	}
	memcpy(p, src, len);
	return p + len;
}

/* Store a CRC register (preset to all ones, not yet inverted) */
static inline void mpa_put_crc(u8 *p, u32 crc)
{
	/* it is little-endian, all others are not */
	proto_put32(p, __builtin_bswap32(~crc));
}

/* The CRC register value that the field at @p stands for */
static inline u32 mpa_get_crc(const u8 *p)
{
	return ~(p[0] | (u32)p[1] << 8 | (u32)p[2] << 16 | (u32)p[3] << 24);
}

/**
 * struct mpa_walk - takes the markers out of an incoming FPDU
 * @to_mark: bytes up to the next marker, MPA_NO_MARK without markers
 * @ivl: marker interval
 * @have: bytes of the current marker seen
 * @since: stream bytes since ULPDU_Length began, markers included
 * @mark: the current marker
 * @in_head: ULPDU_Length has not been reached: a marker now is before it
 * @bad: a marker pointed elsewhere; an error if the CRC was good
 */
struct mpa_walk {
	u32 to_mark;
	u32 ivl;
	u32 have;
	u32 since;
	u8 mark[MPA_MARK_SIZE];
	bool in_head;
	bool bad;
};

/**
 * mpa_take - copy bytes of the body, which is contiguous but for markers
 * @dst: where to
 * @src: the first of them or, if it is due, the marker before it; moves on
 * @len: how many
 * @to_mark: bytes up to the next marker, MPA_NO_MARK without markers; moves on
 * @ivl: marker interval
 *
 * Always inline: otherwise @src and @to_mark are variables in memory, not in
 * registers, for each FPDU.
 */
static __always_inline void mpa_take(u8 *dst, const u8 **src, u32 len,
				     u32 *to_mark, u32 ivl)
{
	const u8 *p = *src;
	u32 run = *to_mark;

	while (len > run) {
		memcpy(dst, p, run);
		dst += run;
		p += run + MPA_MARK_SIZE;
		len -= run;
		run = ivl - MPA_MARK_SIZE;
	}
	memcpy(dst, p, len);
	*src = p + len;
	*to_mark = run - len;
}

/**
 * mpa_marks_good - do the markers of an FPDU point to its ULPDU_Length?
 * @p: the FPDU, contiguous
 * @len: bytes, without the CRC
 * @pos: position of its first byte
 * @ivl: marker interval, not 0
 *
 * Return: true if all of them do.
 */
static inline bool mpa_marks_good(const u8 *p, u32 len, u64 pos, u32 ivl)
{
	u32 back = mpa_to_mark(pos, ivl);
	u32 bad = 0;

	if (!back) {
		bad = proto_get32(p);
		back = ivl - MPA_MARK_SIZE;
		p += MPA_MARK_SIZE;
		len -= MPA_MARK_SIZE;
	}
	/* all sizes are multiples of 4: a marker that begins in @len ends in it */
	for (; back < len; back += ivl)
		bad |= proto_get32(p + back) ^ back;
	/* the low two bits of the pointer do not count (RFC 5044 section 4.3) */
	return !(bad & 0xfffc);
}

/**
 * mpa_marks_put - write the markers of an FPDU into their places
 * @p: the FPDU, contiguous
 * @len: bytes, without the CRC
 * @pos: position of its first byte
 * @ivl: marker interval, not 0
 */
static inline void mpa_marks_put(u8 *p, u32 len, u64 pos, u32 ivl)
{
	u32 at = mpa_to_mark(pos, ivl);
	u8 *end = p + len;
	u32 back = at;

	if (!at) {
		proto_put32(p, 0);
		at = ivl;
		back = ivl - MPA_MARK_SIZE;
	}
	/* all sizes are multiples of 4: a marker that begins in @len ends in it */
	for (p += at; p < end; p += ivl, back += ivl)
		proto_put32(p, (u16)back);
}

/* Start at the first byte of an FPDU, at @pos of the stream */
void mpa_walk_begin(struct mpa_walk *w, u64 pos, u32 ivl);

/**
 * mpa_walk_next - next run of bytes that are not marker
 * @w: state
 * @raw: contiguous bytes of the stream, next in order
 * @len: how many, not 0
 * @data: set to the run
 * @n: set to its length, may be 0
 *
 * Return: bytes of @raw consumed, at least 1: marker bytes before the run, and
 * the run.
 */
u32 mpa_walk_next(struct mpa_walk *w, const u8 *raw, u32 len, const u8 **data,
		  u32 *n);

#endif
