/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The outgoing stream: where FPDUs stand in TCP segments and in the pages that
 * TCP gets by reference.
 *
 * FPDUs are laid out one behind the other; none crosses the end of a page.
 * TCP cuts its queue into segments every MSS octets; the stream knows where in
 * a segment it is and sizes FPDUs so that they end with the segment: a long
 * message fills segments completely, the next message continues in what is
 * left of the last segment. Only when very little is left, or a short message
 * does not fit, the segment ends early. FPDUs are multiples of 4, hence TCP is
 * told to make segments of such a length, too. If it does not, nothing is aligned,
 * and FPDUs are just as long as a segment; receivers must not depend on alignment.
 *
 * Used by hyb_tx and hyb_shared, calls lib/iwarp/ only. All of it is protected by
 * the spinlock of the TCP socket.
 */
#ifndef HYB_STREAM_H
#define HYB_STREAM_H

#include <linux/mm.h>
#include <linux/types.h>

#include "iwarp/mpa.h"

struct sock;

#define HYB_TX_PAGES	2	/* pages there is always room for, a power of two */
#define HYB_TX_PAGES_KEEP 256	/* when many are in flight: above tcp_wmem, same */
#define HYB_TX_PAGES_MAX 512	/* when many wait for TCP, same */
#define HYB_TX_ORDER	3	/* 32 KB each, less when memory is short */

/*
 * A segment with less room than this is ended rather than filled: with data of
 * verbs it is filled down to HYB_SEG_DATA_MIN. An FPDU more costs less than what
 * follows in a packet of its own.
 */
#define HYB_SEG_MIN		256
#define HYB_SEG_DATA_MIN	64

/**
 * struct hyb_tx_page - a page of the outgoing stream
 * @page: compound page with one reference of ours, the others are TCP's
 * @base: its first octet
 * @size: octets
 * @fill: octets that are laid out
 * @sent: octets that TCP has taken
 * @stage_fill: octets in use of @stage
 * @stage: memory of the same size, private to us, where the upper layer leaves
 *	   payload that is put in its place later; or NULL
 */
struct hyb_tx_page {
	struct page *page;
	u8 *base;
	u32 size;
	u32 fill;
	u32 sent;
	u32 stage_fill;
	struct page *stage;
};

/**
 * struct hyb_stream - the outgoing stream, laid out in pages
 * @ring: ring of pages, used again when TCP has let go of them
 * @mask: its size - 1
 * @cur: index of the page being filled, counts on
 * @out: index of the oldest page with octets that TCP has not taken
 * @wait_max: pages that may wait behind @out
 * @pos: position in the stream behind what is laid out
 * @given: position behind what TCP has taken
 * @seq: TCP's sequence number of position 0
 * @ivl: marker interval, 0 for none
 * @ivl_log: its logarithm
 * @clamp: largest segment that the peer takes, as TCP keeps it
 * @mtu: of the path that @mss is for
 * @mss: payload of a TCP segment, looked up for each batch
 * @room: octets up to the end of the current segment; 0: not aligned
 * @first: the ring as long as it need not grow
 */
struct hyb_stream {
	struct hyb_tx_page *ring;
	u32 mask;
	u32 cur;
	u32 out;
	u32 wait_max;
	u64 pos;
	u64 given;
	u32 seq;
	u32 ivl;
	u32 ivl_log;
	u16 clamp;
	u32 mtu;
	u32 mss;
	u32 room;
	struct hyb_tx_page first[HYB_TX_PAGES];
};

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

/* Octets laid out that TCP has not taken */
static inline u32 hyb_stream_waiting(const struct hyb_stream *s)
{
	return s->pos - s->given;
}

/* Do as many pages wait for TCP as there may be? */
static inline bool hyb_stream_full(const struct hyb_stream *s)
{
	return s->cur - s->out >= HYB_TX_PAGES_MAX - 1;
}

/* The longest FPDU there should be, at a fresh page and segment */
static inline u32 hyb_stream_max(const struct hyb_stream *s)
{
	return max_t(u32, s->mss & ~3U, HYB_SEG_MIN);
}

/**
 * hyb_stream_fit - how much of a ULPDU to put into the next FPDU
 * @s: stream
 * @want: octets there are
 * @least: less will do, it is data: room of a segment that is still filled; or 0
 *
 * Return: octets, or 0 if the page or the segment must end before.
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
 * ULPDU of an FPDU that fills the rest of the segment, up to @want octets; 0:
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

/* An FPDU of @len octets belongs to the stream from now on */
static inline void hyb_stream_add(struct hyb_stream *s, u32 len)
{
	hyb_stream_cur(s)->fill += len;
	s->pos += len;
	if (s->room) {
		/* an FPDU that did not fit any segment may be longer */
		s->room = s->room > len ? s->room - len : s->mss;
	}
}

void hyb_stream_init(struct hyb_stream *s, u32 ivl);
void hyb_stream_free(struct hyb_stream *s);
int hyb_stream_next_page(struct hyb_stream *s);
bool hyb_stream_extend(struct hyb_stream *s);
int hyb_stream_turn(struct hyb_stream *s, struct sock *sk);
void hyb_stream_attach(struct hyb_stream *s, struct sock *sk);
void hyb_stream_look(struct hyb_stream *s, struct sock *sk);
void hyb_stream_rewind(struct hyb_stream *s);
void hyb_stream_trim(struct hyb_stream *s);
u32 hyb_stream_pages(const struct hyb_stream *s);
void *hyb_stream_stage(struct hyb_tx_page *p, u32 off);

#endif
