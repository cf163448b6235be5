/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * FPDUs in the payload of one packet: length, markers, gaps. Called by hnic_conn.c
 * and hnic_place.c.
 *
 * Freestanding, as lib/iwarp/types.h; selftests/unit/test_hnic.c tests it in user
 * space. The bytes of a packet may be anything: the length that they give is
 * checked before the bytes after it are touched.
 *
 * Positions and intervals are those of iwarp/mpa.h: bytes of the stream, here
 * modulo 2^32, which every marker interval divides; an interval of 0 is no markers.
 */
#ifndef HNIC_FPDU_H
#define HNIC_FPDU_H

#include "iwarp/mpa.h"

/* Room for the markers of an FPDU of HNIC_MTU_MAX bytes at MPA_MARK_IVL_MIN */
#define HNIC_MARKS	152

/**
 * hnic_fpdu_len() - bytes of an FPDU
 * @p: its first bytes
 * @room: how many there are
 * @pos: its position
 * @ivl: marker interval
 *
 * Return: its bytes, maybe more than @room; 0 if that is unknown.
 */
static inline u32 hnic_fpdu_len(const u8 *p, u32 room, u32 pos, u32 ivl)
{
	u32 lead = mpa_lead_len(pos, ivl);

	if (pos & 3 || room < lead + MPA_LEN_SIZE)
		return 0;
	return mpa_fpdu_len(pos, proto_get16(p + lead), ivl);
}

/**
 * hnic_fpdu_walk() - where the FPDUs of a packet end
 * @p: payload, at the first byte of an FPDU
 * @len: its bytes
 * @pos: its position
 * @ivl: marker interval
 *
 * Return: @len if FPDUs fill the packet, more if the last one continues in the
 * next packet, 0 if that is unknown.
 */
static inline u32 hnic_fpdu_walk(const u8 *p, u32 len, u32 pos, u32 ivl)
{
	u32 at = 0, n;

	while (at < len) {
		n = hnic_fpdu_len(p + at, len - at, pos + at, ivl);
		if (!n)
			return 0;
		at += n;
	}
	return at;
}

/**
 * hnic_fpdu_marks_good() - do all markers of an FPDU point at its header?
 * @p: FPDU, all of it
 * @len: result of hnic_fpdu_len(), not 0
 * @pos: its position
 * @ivl: marker interval
 *
 * The last two bytes of a marker say how many bytes before it ULPDU_Length
 * begins; the low two bits do not count (RFC 5044 section 4.3). A marker directly
 * before ULPDU_Length says 0.
 */
static inline bool hnic_fpdu_marks_good(const u8 *p, u32 len, u32 pos, u32 ivl)
{
	u32 lead = mpa_lead_len(pos, ivl);
	u32 at;

	if (!ivl)
		return true;
	for (at = mpa_to_mark(pos, ivl); at < len - MPA_CRC_SIZE; at += ivl) {
		u32 ptr = proto_get16(p + at + 2) & ~3U;

		if (ptr != (at ? (u16)(at - lead) : 0))
			return false;
	}
	return true;
}

/**
 * hnic_fpdu_open() - open the gaps of the markers
 * @p: FPDU. On entry in IWARP_LAYOUT_CONTIG (rdma/iwarp_offload.h), with the
 *     markers after the PAD. On return final except for the CRC.
 * @len: its bytes
 * @pos: its position
 * @ivl: marker interval
 * @moved: bytes that were moved: each read once and written once
 *
 * From the last gap to the first, so that nothing is overwritten; the markers
 * are put aside before.
 *
 * Return: false if @ivl is 0, @len is not what the header says, or there are more
 * markers than HNIC_MARKS; nothing was done.
 */
static inline bool hnic_fpdu_open(u8 *p, u32 len, u32 pos, u32 ivl, u32 *moved)
{
	u32 lead = mpa_lead_len(pos, ivl);
	u8 marks[HNIC_MARKS * MPA_MARK_SIZE];
	u32 first, body, start, end, k, n;
	u8 *from = p + lead;

	*moved = 0;
	if (!ivl || len < lead + MPA_LEN_SIZE ||
	    hnic_fpdu_len(p, len, pos, ivl) != len)
		return false;
	body = mpa_body_len(proto_get16(from));
	n = (len - lead - body - MPA_CRC_SIZE) / MPA_MARK_SIZE;
	if (n > HNIC_MARKS)
		return false;
	if (!n)
		return true;
	memcpy(marks, from + body, n * MPA_MARK_SIZE);
	first = mpa_to_mark(pos + lead, ivl);
	end = body;
	for (k = n; k; k--) {
		start = first + (k - 1) * (ivl - MPA_MARK_SIZE);
		memmove(from + start + k * MPA_MARK_SIZE, from + start,
			end - start);
		memcpy(from + start + (k - 1) * MPA_MARK_SIZE,
		       marks + (k - 1) * MPA_MARK_SIZE, MPA_MARK_SIZE);
		end = start;
	}
	*moved = body - first + n * MPA_MARK_SIZE;
	return true;
}

#endif
