/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The outgoing stream: where FPDUs stand in TCP segments and in the pages that
 * TCP gets by reference.
 *
 * FPDUs are laid out one after the other; none crosses the end of a page.
 * TCP cuts its queue into segments every MSS bytes; the stream knows where in
 * a segment it is and sizes FPDUs so that they end with the segment: a long
 * message fills segments completely, the next message continues in what is
 * left of the last segment. Only when very little is left, or a short message
 * does not fit, the segment ends early. FPDUs are multiples of 4, hence the
 * MSS of the socket is rounded down, too. If TCP segments differently, nothing is
 * aligned, and FPDUs are just as long as a segment; receivers must not depend on
 * alignment.
 *
 * All of it is protected by the spinlock of the TCP socket.
 */
#ifndef HYB_STREAM_H
#define HYB_STREAM_H

#include <linux/mm.h>
#include <linux/types.h>

#include "hyb_types.h"

struct mem_cgroup;
struct sock;

static inline struct hyb_tx_page *hyb_stream_page(struct hyb_stream *s, u32 i)
{
	return &s->ring[i & s->mask];
}

/* The page being filled */
static inline struct hyb_tx_page *hyb_stream_cur(struct hyb_stream *s)
{
	return hyb_stream_page(s, s->cur);
}

/* Has TCP taken all that is laid out? */
static inline bool hyb_stream_empty(const struct hyb_stream *s)
{
	return s->given == s->pos;
}

/* Bytes laid out that TCP has not taken */
static inline u32 hyb_stream_waiting(const struct hyb_stream *s)
{
	return s->pos - s->given;
}

/* Do as many pages wait for TCP as there may be? */
static inline bool hyb_stream_full(const struct hyb_stream *s)
{
	return s->cur - s->out >= HYB_TX_PAGES_MAX - 1;
}

/* The longest FPDU to lay out: it fills a whole segment */
static inline u32 hyb_stream_max(const struct hyb_stream *s)
{
	return max_t(u32, s->mss & ~3U, HYB_SEG_MIN);
}

/**
 * hyb_stream_fit - how much of a ULPDU to put into the next FPDU
 * @s: stream
 * @want: bytes of ULPDU there are
 * @least: 0: all of them or nothing. Otherwise less will do, but a segment that has less room
 *	   than this must end
 *
 * Return: bytes, or 0 if the page or the segment must end before.
 */
static inline u32 hyb_stream_fit(struct hyb_stream *s, u32 want, u32 least)
{
	const struct hyb_tx_page *p = hyb_stream_cur(s);
	u32 space = p->size - p->fill;
	u32 room = s->room ? s->room : hyb_stream_max(s);

	if (want < min(room, space) &&
	    mpa_fpdu_len(s->pos, want, s->ivl) <= min(room, space))
		return want;
	if (!least)
		return 0;
	if (space < room) {
		if (p->fill)
			return 0;
		room = space;
	}
	if (s->room && room < least)
		return 0;
	return mpa_ulpdu_fit(s->pos, room, s->ivl);
}

/*
 * ULPDU of an FPDU that fills the rest of the segment, up to @want bytes; 0:
 * ask hyb_stream_fit()
 */
static inline u32 hyb_stream_fill(struct hyb_stream *s, u32 want)
{
	const struct hyb_tx_page *p = hyb_stream_cur(s);
	u32 ulpdu;

	if (s->room < HYB_SEG_MIN || s->room & 3 ||
	    s->room > p->size - p->fill)
		return 0;
	ulpdu = mpa_ulpdu_full(s->pos, s->room, s->ivl, s->ivl_log);
	return ulpdu <= want ? ulpdu : 0;
}

/* An FPDU of @len bytes belongs to the stream from now on */
static inline void hyb_stream_add(struct hyb_stream *s, u32 len)
{
	hyb_stream_cur(s)->fill += len;
	s->pos += len;
	if (s->room) {
		/* an FPDU that did not fit any segment may be longer */
		s->room = s->room > len ? s->room - len : s->mss;
	}
}

void hyb_stream_init(struct hyb_stream *s, u32 ivl, struct mem_cgroup *memcg);
void hyb_stream_free(struct hyb_stream *s);
void hyb_stream_pass(struct hyb_stream *s);
int hyb_stream_next_page(struct hyb_stream *s);
bool hyb_stream_extend(struct hyb_stream *s);
int hyb_stream_next(struct hyb_stream *s, struct sock *sk);
void hyb_stream_attach(struct hyb_stream *s, struct sock *sk);
void hyb_stream_look(struct hyb_stream *s, struct sock *sk);
void hyb_stream_rewind(struct hyb_stream *s);
void hyb_stream_cool(struct hyb_stream *s);
void hyb_stream_ease(struct hyb_stream *s);
bool hyb_stream_reclaim(struct hyb_stream *s);
void hyb_stream_trim(struct hyb_stream *s);
u32 hyb_stream_pages(const struct hyb_stream *s);
void *hyb_stream_stage(struct hyb_stream *s, struct hyb_tx_page *p, u32 off);

#endif
