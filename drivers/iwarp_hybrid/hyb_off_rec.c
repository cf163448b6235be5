// SPDX-License-Identifier: GPL-2.0
/*
 * Records of FPDUs that the engine does not finish itself: where each
 * lies until it is acknowledged, and what it looks like on the wire.
 *
 * FPDUs that follow each other in memory share a record: where each of them
 * begins is found by a walk along their ULPDU_Length, which are in place. An
 * FPDU in several pieces has one record per piece.
 *
 * Records are kept in blocks, sorted by sequence number; adding one allocates
 * only when a block is full, and finding one walks over the blocks and searches in one.
 * FPDUs that were finished before they were handed to TCP have none, so there may be gaps.
 *
 * Calls lib/iwarp/.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "hyb_off_priv.h"
#include "hybrid.h"
#include "iwarp/crc.h"
#include "iwarp/mpa_contig.h"

/* The allocator gives as much for one: see hyb_off_ring_memory() */
static_assert(sizeof(struct hyb_off_blk) <= HYB_OFF_BLK_SIZE &&
	      sizeof(struct hyb_off_blk) > HYB_OFF_BLK_SIZE / 2);

/**
 * struct hyb_off_fpdu - a recorded FPDU
 * @rec: its pieces, or the record that it shares
 * @off: where it begins in @rec
 * @pos: its position modulo 2^32, which is enough to find the markers
 * @seq: sequence number of its first byte
 * @len: bytes on the wire
 * @ivl: marker interval to move by, 0 if it stands as on the wire
 */
struct hyb_off_fpdu {
	const struct hyb_off_rec *rec;
	u32 off;
	u32 pos;
	u32 seq;
	u32 len;
	u32 ivl;
};

/* A place in the ring */
struct hyb_off_at {
	struct hyb_off_blk *blk;
	u32 i;
};

/* --------------------------------------------------------------- ring */

void hyb_off_ring_init(struct hyb_off_ring *r)
{
	spin_lock_init(&r->lock);
	INIT_LIST_HEAD(&r->blks);
}

static struct hyb_off_blk *hyb_off_head(struct hyb_off_ring *r)
{
	return list_first_entry_or_null(&r->blks, struct hyb_off_blk, node);
}

static struct hyb_off_blk *hyb_off_tail(struct hyb_off_ring *r)
{
	if (list_empty(&r->blks))
		return NULL;
	return list_last_entry(&r->blks, struct hyb_off_blk, node);
}

/**
 * hyb_off_ring_room - make sure that an FPDU can be recorded
 * @r: ring
 * @pieces: of memory
 *
 * Context: TCP socket held.
 * Return: whether there is room.
 */
bool hyb_off_ring_room(struct hyb_off_ring *r, unsigned int pieces)
{
	const struct hyb_off_blk *blk = hyb_off_tail(r);

	if (blk && blk->nr + pieces <= HYB_OFF_BLK_RECS)
		return true;
	if (!r->spare && r->nblks < HYB_OFF_BLKS_MAX)
		r->spare = kmalloc(sizeof(*r->spare), GFP_ATOMIC | __GFP_NOWARN);
	return r->spare;
}

/**
 * hyb_off_ring_add - record an FPDU; hyb_off_ring_room() said yes
 * @r: ring
 * @seq: its first sequence number, after all that are recorded
 * @layout: enum iwarp_layout
 * @piece: where it lies
 * @nr: how many pieces; 1 may hold several FPDUs, one after the other
 *
 * Context: TCP socket held.
 */
void hyb_off_ring_add(struct hyb_off_ring *r, u32 seq, u8 layout,
		      const struct hyb_off_piece *piece, unsigned int nr)
{
	struct hyb_off_blk *blk = hyb_off_tail(r);
	struct page *last = NULL;
	struct hyb_off_rec *rec;
	unsigned int i;

	spin_lock_bh(&r->lock);
	if (blk && r->nr)
		last = blk->rec[blk->nr - 1].page;
	if (!blk || blk->nr + nr > HYB_OFF_BLK_RECS) {
		blk = r->spare;
		r->spare = NULL;
		blk->nr = 0;
		if (!r->nr)
			r->first = 0;
		list_add_tail(&blk->node, &r->blks);
		r->nblks++;
	}
	for (i = 0; i < nr; i++, seq += piece++->len) {
		rec = &blk->rec[blk->nr++];
		rec->page = piece->page;
		rec->off = piece->off;
		rec->len = piece->len;
		rec->seq = seq;
		rec->idx = i;
		rec->nr = nr;
		rec->layout = layout;
		if (rec->page != last)
			get_page(rec->page);
		last = rec->page;
	}
	WRITE_ONCE(r->nr, r->nr + nr);
	spin_unlock_bh(&r->lock);
}

/* The first block is used up */
static void hyb_off_ring_shift(struct hyb_off_ring *r, struct hyb_off_blk *blk)
{
	list_del(&blk->node);
	r->nblks--;
	r->first = 0;
	if (r->spare)
		kfree(blk);
	else
		r->spare = blk;
}

/* Free the oldest record */
static void hyb_off_ring_pop(struct hyb_off_ring *r)
{
	struct hyb_off_blk *blk = hyb_off_head(r);
	struct page *page = blk->rec[r->first].page;

	WRITE_ONCE(r->nr, r->nr - 1);
	if (++r->first == blk->nr) {
		hyb_off_ring_shift(r, blk);
		blk = hyb_off_head(r);
	}
	if (!r->nr || blk->rec[r->first].page != page)
		put_page(page);
}

/**
 * hyb_off_ring_acked - free what is acknowledged
 * @r: ring
 * @una: first sequence number that is not
 *
 * A record stays until all of it is.
 *
 * Context: TCP socket held.
 */
void hyb_off_ring_acked(struct hyb_off_ring *r, u32 una)
{
	const struct hyb_off_rec *rec;
	u32 i, n;

	spin_lock_bh(&r->lock);
	WRITE_ONCE(r->una, una);
	while (r->nr) {
		rec = &hyb_off_head(r)->rec[r->first];
		n = rec->nr;
		if (after(rec[n - 1].seq + rec[n - 1].len, una))
			break;
		for (i = 0; i < n; i++)
			hyb_off_ring_pop(r);
	}
	spin_unlock_bh(&r->lock);
}

/**
 * hyb_off_ring_free - free all records and blocks
 * @r: ring, to which nothing is added any more
 */
void hyb_off_ring_free(struct hyb_off_ring *r)
{
	struct hyb_off_blk *blk, *next;

	spin_lock_bh(&r->lock);
	while (r->nr)
		hyb_off_ring_pop(r);
	list_for_each_entry_safe(blk, next, &r->blks, node) {
		list_del(&blk->node);
		kfree(blk);
	}
	r->nblks = 0;
	kfree(r->spare);
	r->spare = NULL;
	spin_unlock_bh(&r->lock);
}

/**
 * hyb_off_ring_trim - free what no record is in
 * @r: ring
 *
 * Context: TCP socket held.
 */
void hyb_off_ring_trim(struct hyb_off_ring *r)
{
	kfree(r->spare);
	r->spare = NULL;
}

/**
 * hyb_off_ring_memory - memory of the blocks
 * @r: ring
 *
 * Context: TCP socket held.
 * Return: bytes.
 */
u32 hyb_off_ring_memory(const struct hyb_off_ring *r)
{
	return (r->nblks + !!r->spare) * HYB_OFF_BLK_SIZE;
}

/* ------------------------------------------------------------- search */

static bool hyb_off_ends_before(const struct hyb_off_rec *rec, u32 seq)
{
	return !after(rec->seq + rec->len, seq);
}

/* The first record in @blk, from @lo on, that ends after @seq: there is one */
static u32 hyb_off_search(const struct hyb_off_blk *blk, u32 lo, u32 seq)
{
	u32 hi = blk->nr - 1;
	u32 mid;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (hyb_off_ends_before(&blk->rec[mid], seq))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Bytes of the FPDU at offset @off of a record that is one piece */
static u32 hyb_off_fpdu_len(const struct hyb_off_ring *r,
			    const struct hyb_off_rec *rec, u32 off)
{
	u32 pos = rec->seq + off - r->tx_seq;
	const u8 *p = page_address(rec->page) + rec->off + off;
	u32 ulpdu = proto_get16(p + mpa_lead_len(pos, r->ivl));

	return min(mpa_fpdu_len(pos, ulpdu, r->ivl), rec->len - off);
}

/* The FPDU at offset @off of the record at @at */
static void hyb_off_fpdu_at(const struct hyb_off_ring *r,
			    const struct hyb_off_at *at, u32 off,
			    struct hyb_off_fpdu *f)
{
	const struct hyb_off_rec *rec = &at->blk->rec[at->i];
	const struct hyb_off_rec *end = &rec[rec->nr - 1];

	f->rec = rec;
	f->off = off;
	f->seq = rec->seq + off;
	f->pos = f->seq - r->tx_seq;
	if (rec == end)
		f->len = hyb_off_fpdu_len(r, rec, off);
	else
		f->len = end->seq + end->len - rec->seq;
	f->ivl = rec->layout == IWARP_LAYOUT_CONTIG ? r->ivl : 0;
}

static bool hyb_off_next(struct hyb_off_ring *r, struct hyb_off_at *at,
			 struct hyb_off_fpdu *f)
{
	u32 off = f->off + f->len;

	if (f->rec->nr == 1 && off < f->rec->len) {
		hyb_off_fpdu_at(r, at, off, f);
		return true;
	}
	at->i += f->rec->nr;
	if (at->i == at->blk->nr) {
		if (list_is_last(&at->blk->node, &r->blks))
			return false;
		at->blk = list_next_entry(at->blk, node);
		at->i = 0;
	}
	hyb_off_fpdu_at(r, at, 0, f);
	return true;
}

/* The first FPDU that ends after @seq, if there is one */
static bool hyb_off_find(struct hyb_off_ring *r, u32 seq,
			 struct hyb_off_at *at, struct hyb_off_fpdu *f)
{
	struct hyb_off_blk *blk;
	u32 lo = r->first;

	lockdep_assert_held(&r->lock);
	if (!r->nr)
		return false;
	list_for_each_entry(blk, &r->blks, node) {
		if (!hyb_off_ends_before(&blk->rec[blk->nr - 1], seq)) {
			at->blk = blk;
			at->i = hyb_off_search(blk, lo, seq);
			at->i -= blk->rec[at->i].idx;
			hyb_off_fpdu_at(r, at, 0, f);
			while (!after(f->seq + f->len, seq))
				hyb_off_next(r, at, f);
			return true;
		}
		lo = 0;
	}
	return false;
}

/* Is there anything to be finished in [@seq, @seq + @len)? */
bool hyb_off_ring_covers(struct hyb_off_ring *r, u32 seq, u32 len)
{
	struct hyb_off_fpdu f;
	struct hyb_off_at at;

	return hyb_off_find(r, seq, &at, &f) && before(f.seq, seq + len);
}

/**
 * hyb_off_ring_contig - is there an FPDU whose payload is to be moved?
 * @r: ring, its lock held
 * @seq: first sequence number of a range
 * @len: bytes of it
 * @off: set to the offset in the range of the first byte of such FPDUs
 *
 * Return: where that byte lies, or NULL.
 */
const u8 *hyb_off_ring_contig(struct hyb_off_ring *r, u32 seq, u32 len, u32 *off)
{
	const struct hyb_off_rec *rec;
	struct hyb_off_fpdu f;
	struct hyb_off_at at;
	bool more;

	more = hyb_off_find(r, seq, &at, &f);
	while (more && before(f.seq, seq + len)) {
		rec = f.rec;
		*off = before(f.seq, seq) ? 0 : f.seq - seq;
		/* which is a single piece */
		if (rec->layout == IWARP_LAYOUT_CONTIG)
			return (u8 *)page_address(rec->page) + rec->off +
			       (seq + *off - rec->seq);
		more = hyb_off_next(r, &at, &f);
	}
	return NULL;
}

/* The FPDU that contains @seq */
bool hyb_off_ring_fpdu(struct hyb_off_ring *r, u32 seq, u32 *start, u32 *len,
		       u8 *layout)
{
	struct hyb_off_fpdu f;
	struct hyb_off_at at;

	if (!hyb_off_find(r, seq, &at, &f) || after(f.seq, seq))
		return false;
	*start = f.seq;
	*len = f.len;
	*layout = f.rec->layout;
	return true;
}

/*
 * The error for a range, beginning at @seq, of which not all is recorded: -ENOENT, the
 * rest is final; -ESTALE if some of the range is acknowledged, so that there may have
 * been a record.
 */
int hyb_off_ring_miss(const struct hyb_off_ring *r, u32 seq)
{
	lockdep_assert_held(&r->lock);
	return before(seq, READ_ONCE(r->una)) ? -ESTALE : -ENOENT;
}

/* ------------------------------------------------------------- bytes */

/* Bytes from @x on, as on the wire, that are contiguous in memory */
static const u8 *hyb_off_span(const struct hyb_off_fpdu *f, u32 x, u32 want,
			      u32 *n)
{
	const struct hyb_off_rec *rec = f->rec;
	u32 run;
	u32 mem = f->off + mpa_contig_map(f->pos, f->len, f->ivl, x, &run);

	while (mem >= rec->len)
		mem -= rec++->len;
	*n = min3(want, run, rec->len - mem);
	return (u8 *)page_address(rec->page) + rec->off + mem;
}

static u32 hyb_off_crc(const struct hyb_off_fpdu *f)
{
	u32 end = f->len - MPA_CRC_SIZE;
	u32 crc = ~0;
	const u8 *p;
	u32 x, n;

	for (x = 0; x < end; x += n) {
		p = hyb_off_span(f, x, end - x, &n);
		crc = iwarp_crc32c(crc, p, n);
	}
	return crc;
}

/* Write bytes to the sink, at offset @at */
static void hyb_off_emit(const struct hyb_off_sink *sink, u32 at, const u8 *p,
			 u32 n)
{
	if (sink->dst)
		memcpy(sink->dst + at, p, n);
	else
		skb_store_bits(sink->skb, sink->off + at, p, n);
}

/* Bytes [@x, @end) of an FPDU; @at is where the first of them goes */
static void hyb_off_write(const struct hyb_off_ring *r,
			  const struct hyb_off_sink *sink,
			  const struct hyb_off_fpdu *f, u32 x, u32 end, u32 at)
{
	u32 body = r->crc ? f->len - MPA_CRC_SIZE : f->len;
	u8 field[MPA_CRC_SIZE];
	const u8 *p;
	u32 n;

	/* a packet has bytes of IWARP_LAYOUT_FINAL in place already */
	if (sink->skb && f->rec->layout == IWARP_LAYOUT_FINAL && x < body) {
		n = min(body, end) - x;
		x += n;
		at += n;
	}
	for (; x < end && x < body; x += n, at += n) {
		p = hyb_off_span(f, x, min(end, body) - x, &n);
		hyb_off_emit(sink, at, p, n);
	}
	if (x < end) {
		mpa_put_crc(field, hyb_off_crc(f));
		hyb_off_emit(sink, at, field + x - body, end - x);
	}
}

/**
 * hyb_off_ring_write - final bytes of a range of the stream
 * @r: ring, its lock held
 * @sink: the bytes, and their destination
 *
 * Bytes without a record are not written: they are final already, or acknowledged.
 *
 * Return: bytes that are recorded.
 */
u32 hyb_off_ring_write(struct hyb_off_ring *r, const struct hyb_off_sink *sink)
{
	u32 stop = sink->seq + sink->len;
	struct hyb_off_fpdu f;
	struct hyb_off_at at;
	u32 from, to;
	u32 done = 0;
	bool more;

	more = hyb_off_find(r, sink->seq, &at, &f);
	while (more && before(f.seq, stop)) {
		from = before(f.seq, sink->seq) ? sink->seq : f.seq;
		to = before(stop, f.seq + f.len) ? stop : f.seq + f.len;
		hyb_off_write(r, sink, &f, from - f.seq, to - f.seq,
			      from - sink->seq);
		done += to - from;
		more = hyb_off_next(r, &at, &f);
	}
	return done;
}

/**
 * hyb_off_count - add to a counter of the device
 * @o: connection; nothing is counted once it is detached
 * @stat: counter
 * @n: how many
 *
 * Context: TCP socket or ring lock held.
 */
void hyb_off_count(struct hyb_off_conn *o, enum hyb_stat stat, u64 n)
{
	if (o->dev)
		hyb_stats_add(o->dev, stat, n);
}
