/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * FPDUs whose markers stand together after the PAD until a NIC moves them to
 * their places:
 *
 *	in memory:	[marker] ULPDU_Length ULPDU PAD | markers | CRC
 *	on the wire:	[marker] ULPDU_Length ULP marker DU ... PAD [marker] CRC
 *
 * A marker before ULPDU_Length is in its place in either case. Markers are in
 * the order of the stream, with the values they have there.
 *
 * Freestanding, see types.h. Calls mpa.h, which defines position and interval.
 */
#ifndef LIB_IWARP_MPA_CONTIG_H
#define LIB_IWARP_MPA_CONTIG_H

#include "mpa.h"

/* Offset in the FPDU of the first marker that is not in its place; @ivl is not 0 */
static inline u32 mpa_contig_first(u64 pos, u32 ivl)
{
	u32 first = mpa_to_mark(pos, ivl);

	return first ? first : ivl;
}

/**
 * mpa_contig_marks - how many markers stand after the PAD
 * @pos: position of the FPDU
 * @len: its bytes on the wire, CRC included
 * @ivl: marker interval, not 0
 */
static inline u32 mpa_contig_marks(u64 pos, u32 len, u32 ivl)
{
	u32 first = mpa_contig_first(pos, ivl);
	u32 crc = len - MPA_CRC_SIZE;

	return first < crc ? 1 + (crc - 1 - first) / ivl : 0;
}

/**
 * mpa_contig_map - where a byte of the wire is in memory
 * @pos: position of the FPDU
 * @len: its bytes, CRC included
 * @ivl: marker interval, 0 for none
 * @x: offset on the wire, less than @len
 * @run: set to how many bytes, from @x on, are contiguous in memory, too
 *
 * Return: offset in memory.
 */
static inline u32 mpa_contig_map(u64 pos, u32 len, u32 ivl, u32 x, u32 *run)
{
	u32 crc = len - MPA_CRC_SIZE;
	u32 first, k, in;

	*run = len - x;
	if (!ivl || x >= crc)
		return x;
	first = mpa_contig_first(pos, ivl);
	if (x < first) {
		*run = (first < crc ? first : crc) - x;
		return x;
	}
	k = (x - first) / ivl;
	in = (x - first) % ivl;
	if (in < MPA_MARK_SIZE) {
		*run = MPA_MARK_SIZE - in;
		return crc - MPA_MARK_SIZE * (mpa_contig_marks(pos, len, ivl) -
					      k) + in;
	}
	*run = (crc - x < ivl - in) ? crc - x : ivl - in;
	return x - MPA_MARK_SIZE * (k + 1);
}

/**
 * mpa_contig_put_marks - write the markers after the PAD
 * @p: where they begin in memory; each has the value of its place on the wire
 * @pos: position of the FPDU
 * @len: its bytes, CRC included
 * @ivl: marker interval, not 0
 *
 * Return: bytes written.
 */
static inline u32 mpa_contig_put_marks(u8 *p, u64 pos, u32 len, u32 ivl)
{
	u32 at = mpa_contig_first(pos, ivl) - mpa_lead_len(pos, ivl);
	u32 n = mpa_contig_marks(pos, len, ivl);
	u32 i;

	for (i = 0; i < n; i++, at += ivl, p += MPA_MARK_SIZE) {
		proto_put16(p, 0);
		proto_put16(p + 2, (u16)at);
	}
	return n * MPA_MARK_SIZE;
}

/**
 * mpa_contig_begin - begin an FPDU whose markers will stand after the PAD
 * @b: state. No markers interrupt the body, so mpa_build_room() always returns what is
 *     asked for.
 * @buf: room for mpa_fpdu_len(@pos, @ulpdu_len, @ivl) bytes
 * @pos: position of the FPDU
 * @ulpdu_len: length of the ULPDU, which the caller must put completely
 * @ivl: marker interval, not 0
 */
static inline void mpa_contig_begin(struct mpa_build *b, u8 *buf, u64 pos,
				    u32 ulpdu_len, u32 ivl)
{
	u32 lead = mpa_lead_len(pos, ivl);

	/* the leading marker; without one, ULPDU_Length overwrites these bytes */
	proto_put16(buf, 0);
	proto_put16(buf + 2, 0);
	mpa_build_begin(b, buf + lead, pos, ulpdu_len, 0);
	b->start = buf;
}

/**
 * mpa_contig_end - write PAD and markers
 * @b: state
 * @pos: position of the FPDU
 * @ivl: marker interval, not 0
 *
 * Return: bytes before the CRC; that goes to @b->p.
 */
static inline u32 mpa_contig_end(struct mpa_build *b, u64 pos, u32 ivl)
{
	u32 body = mpa_build_end(b) - mpa_lead_len(pos, ivl);

	b->p += mpa_contig_put_marks(b->p, pos,
				     mpa_fpdu_len(pos, body - MPA_LEN_SIZE,
						  ivl), ivl);
	return (u32)(b->p - b->start);
}

/**
 * mpa_contig_open - open the gaps for the markers: move the body to its place on the wire
 * @p: the FPDU
 * @pos: its position
 * @len: its bytes, CRC included
 * @ivl: marker interval, not 0
 *
 * For FPDUs whose markers are not written yet: it neither writes nor moves them. A NIC
 * moves markers that stand after the PAD as well, see hnic_fpdu_open() in drivers/hnic.
 *
 * Return: bytes moved.
 */
static inline u32 mpa_contig_open(u8 *p, u64 pos, u32 len, u32 ivl)
{
	u32 first = mpa_contig_first(pos, ivl);
	u32 end = len - MPA_CRC_SIZE;
	u32 k = mpa_contig_marks(pos, len, ivl);
	u32 done = 0;
	u32 to;

	for (; k; k--) {
		to = first + (k - 1) * ivl + MPA_MARK_SIZE;
		memmove(p + to, p + to - k * MPA_MARK_SIZE, end - to);
		done += end - to;
		end = to - MPA_MARK_SIZE;
	}
	return done;
}

#endif
