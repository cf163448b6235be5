/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Out-of-order placement: find FPDUs in a run of bytes that follows a gap (RFC 5044
 * section 4.3), and remember which of them have been placed.
 *
 * Freestanding, see types.h. Calls mpa, ddp and rdmap.
 */
#ifndef LIB_IWARP_OOO_H
#define LIB_IWARP_OOO_H

#include "ddp.h"
#include "mpa.h"
#include "rdmap.h"

/* Ranges that are remembered, at most */
#define OOO_RANGES	256

/**
 * ooo_mark_start - where the FPDU begins that a marker belongs to
 * @mark: position of the marker
 * @p: its MPA_MARK_SIZE bytes
 * @ivl: marker interval, not 0
 * @start: result: first byte that the CRC covers, which is the marker before
 *	   ULPDU_Length if there is one
 *
 * A wrong marker gives a wrong answer: only a good CRC shows that an FPDU begins there.
 * For ooo.c and its tests, as ooo_find() and ooo_add(): they are not exported.
 *
 * Return: false if no FPDU can begin where the marker points to.
 */
bool ooo_mark_start(u64 mark, const u8 *p, u32 ivl, u64 *start);

/**
 * struct ooo_range - bytes after a gap that have been examined
 * @pos: position of the first one that is not accounted for
 * @len: bytes from there on
 * @fpdus: how many FPDUs these are
 * @payload: bytes of payload in all, from the first FPDU on
 * @ulpdu: length of the ULPDU of the first FPDU
 * @hdr: its header
 * @placed: their CRC was good and their payload is where it belongs. If not, they
 *	    are deferred until the gap is filled, and not examined again before.
 * @edge: an FPDU ends where this ends
 * @last: the last FPDU has the L flag
 *
 * Several placed FPDUs are one range if they continue one message; Writes also if
 * they continue one piece of memory. Adjacent deferred bytes are one range in any case.
 */
struct ooo_range {
	u64 pos;
	u32 len;
	u32 fpdus : 29;
	u32 placed : 1;
	u32 edge : 1;
	u32 last : 1;
	u32 payload;
	u16 ulpdu;
	u8 hdr[DDP_HDR_MAX];
};

/**
 * struct ooo_table - ranges of a stream, sorted, none overlaps another
 * @first: index of the first one
 * @nr: number of ranges
 * @range: the ranges
 */
struct ooo_table {
	u32 first;
	u32 nr;
	struct ooo_range range[OOO_RANGES];
};

/* Range number @i of @t, NULL after the last */
static inline struct ooo_range *ooo_at(struct ooo_table *t, u32 i)
{
	return i < t->nr ? &t->range[t->first + i] : NULL;
}

/**
 * ooo_find - look for a position
 * @t: table
 * @pos: position
 *
 * Return: number of the first range that ends after @pos.
 */
u32 ooo_find(const struct ooo_table *t, u64 pos);

/**
 * ooo_add - remember a range
 * @t: table
 * @r: range that overlaps none of the table
 *
 * Return: false if there is no room.
 */
bool ooo_add(struct ooo_table *t, const struct ooo_range *r);

/**
 * ooo_advance - the first bytes of the first range are accounted for
 * @t: table, not empty
 * @len: bytes, at most all of the range, which then leaves the table
 */
void ooo_advance(struct ooo_table *t, u32 len);

/* ---------------------------------------------------------------- walks */

/* Why an FPDU, or what may be one, is deferred until the gap is filled */
enum ooo_why {
	OOO_NOW,	/* it is not: placed now */
	OOO_MARK,	/* no marker tells where one begins */
	OOO_STAG,	/* no region for its STag at this time */
	OOO_RECV,	/* its receive is not known */
	OOO_ORDER,	/* its operation is carried out in order */
	OOO_PARTIAL,	/* not all of it is there */
	OOO_BAD,	/* something is wrong with it */
	OOO_LIMIT,	/* the table is full */
};

/**
 * struct ooo_fpdu - an FPDU out of order
 * @pos: position of its first byte
 * @total: bytes of the stream
 * @ulpdu: length of the ULPDU
 * @hdr: length and header, a private copy
 * @h: decoded header
 */
struct ooo_fpdu {
	u64 pos;
	u32 total;
	u32 ulpdu;
	u8 hdr[MPA_LEN_SIZE + DDP_HDR_MAX];
	struct ddp_hdr h;
};

struct ooo_walk;

/**
 * struct ooo_ops - what a walk asks for
 * @copy: copy bytes of the run, none of them at or after @end of the walk; false if they
 *	  are not all there
 * @take: check and place a complete FPDU with a header that makes sense. Returns
 *	  OOO_NOW if it was placed, OOO_BAD, or the reason to defer it
 * @defer: the FPDU at this position is deferred until the gap is filled; another walk
 *	  may report it again
 */
struct ooo_ops {
	bool (*copy)(struct ooo_walk *w, u64 pos, u8 *dst, u32 len);
	enum ooo_why (*take)(struct ooo_walk *w, const struct ooo_fpdu *f);
	void (*defer)(struct ooo_walk *w, enum ooo_why why, u64 pos);
};

/**
 * struct ooo_walk - a search in a run of bytes that follows a gap
 * @ops: see there
 * @table: known ranges of the stream
 * @ivl: marker interval, not 0
 * @end: position after the run
 */
struct ooo_walk {
	const struct ooo_ops *ops;
	struct ooo_table *table;
	u32 ivl;
	u64 end;
};

/**
 * ooo_walk_run - find the FPDUs of a run, and remember what became of them
 * @w: walk
 * @pos: position of the first byte of the run, not 0
 *
 * Skips what the table has. Ends early when the table is full or bytes are missing.
 */
void ooo_walk_run(struct ooo_walk *w, u64 pos);

#endif
