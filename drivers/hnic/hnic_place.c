// SPDX-License-Identifier: GPL-2.0
/*
 * Placement: payload of tagged segments goes to the buffers that the provider
 * has added, and the host gets a packet whose fragments are the pages of the
 * buffer. See hnic_place.h. Calls hnic_pkt.c and the provider.
 *
 * Whether a packet is the one that TCP expects is decided as in a NIC: by the packets
 * received so far, not by the socket. Each byte of the stream is placed when it is
 * seen for the first time, or never. Every byte that the NIC has seen reaches the
 * host later, and the provider reports bytes that arrived on another path. Old or
 * forged packets can therefore never overwrite memory that the host has processed.
 */
#include <linux/etherdevice.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "hnic_fpdu.h"
#include "hnic_place.h"
#include "hnic_trace.h"
#include "iwarp/ddp.h"
#include "iwarp/rdmap.h"

/* Shorter payload stays in the packet, since a copy costs no more than another fragment */
#define HNIC_PLACE_MIN	64

/* Look-ups for one packet, which has no more pieces. Each may walk all buffers. */
#define HNIC_PLACE_TRIES	MAX_SKB_FRAGS

#define HNIC_TAG_HEAD	(MPA_LEN_SIZE + DDP_TAGGED_LEN)

/* ------------------------------------------------------------- in sequence */

void hnic_place_init(struct hnic_place *pl, u32 rx_seq)
{
	INIT_LIST_HEAD(&pl->bufs);
	pl->seen = rx_seq;
	pl->run = rx_seq;
}

/* The TX engine sends this packet. Context: TX engine. */
void hnic_place_sent(struct hnic_place *pl, const struct hnic_pkt *p)
{
	u32 end = hnic_pkt_seq(p) + hnic_pkt_pay_len(p);

	if (READ_ONCE(pl->sent_known) && (s32)(end - pl->sent) <= 0)
		return;
	WRITE_ONCE(pl->sent, end);
	/* pairs with hnic_place_sure(), which reads sent after it */
	smp_store_release(&pl->sent_known, true);
}

/**
 * hnic_place_track() - follow the sequence of received packets; call it for each one
 * @pl: placement
 * @seq: sequence number of its first byte
 * @len: bytes, may be 0
 *
 * Context: hnic_conn.rx_lock held.
 *
 * Return: whether it continues what came so far, and nothing of it was here before.
 */
bool hnic_place_track(struct hnic_place *pl, u32 seq, u32 len)
{
	u32 end = seq + len;

	if (!len)
		return false;
	if (seq == pl->seen) {
		pl->seen = end;
		return true;
	}
	if ((s32)(seq - pl->seen) > 0) {
		pl->run = seq;
		pl->seen = end;
		pl->sync = false;
	} else if ((s32)(end - pl->seen) > 0) {
		pl->seen = end;
	}
	return false;
}

/**
 * hnic_place_passed() - the provider has come to this place of the stream
 * @pl: placement
 * @seq: sequence number up to which nothing is missing
 *
 * Context: hnic_conn.rx_lock held.
 */
void hnic_place_passed(struct hnic_place *pl, u32 seq)
{
	pl->asked = false;
	if ((s32)(seq - pl->seen) > 0) {
		pl->seen = seq;
		pl->run = seq;
	}
	if ((s32)(seq - pl->run) >= 0)
		pl->sync = true;
}

/*
 * Is TCP certain to accept this packet, which is in sequence? A forged packet must not be
 * placed. The test also rejects some unusual packets that TCP would accept.
 */
static bool hnic_place_sure(struct hnic_place *pl, const struct hnic_pkt *p)
{
	u32 ack, ts;
	bool sure;
	u8 doff;

	if (!hnic_pkt_plain(p, &ack, &ts, &doff))
		return false;
	/* pairs with hnic_place_sent() */
	if (!smp_load_acquire(&pl->sent_known) ||
	    (s32)(READ_ONCE(pl->sent) - ack) < 0)
		return false;
	sure = pl->known && doff == pl->doff && (s32)(ack - pl->ack) >= 0 &&
	       (s32)(ts - pl->ts) >= 0;
	if (!sure && pl->known && doff == pl->doff)
		return false;
	pl->known = true;
	pl->doff = doff;
	pl->ack = ack;
	pl->ts = ts;
	return sure;
}

/* ------------------------------------------------------------------ pieces */

/**
 * struct hnic_plan - where the bytes of a packet will be
 * @p: packet
 * @out: pieces, up to @at
 * @at: bytes of the packet that have a piece
 */
struct hnic_plan {
	struct hnic_pkt *p;
	struct hnic_placed *out;
	u32 at;
};

static bool hnic_plan_add(struct hnic_plan *plan, struct page *page, u32 off,
			  u32 len)
{
	struct hnic_placed *out = plan->out;
	struct hnic_piece *piece;

	if (out->nr == ARRAY_SIZE(out->piece))
		return false;
	piece = &out->piece[out->nr++];
	piece->page = page;
	piece->off = off;
	piece->len = len;
	plan->at += len;
	return true;
}

/* Leave the bytes up to @to in the packet */
static bool hnic_plan_stay(struct hnic_plan *plan, u32 to)
{
	return to == plan->at ||
	       hnic_plan_add(plan, plan->p->page, plan->p->off + plan->at,
			     to - plan->at);
}

/* Direct the next @len bytes to offset @off of @buf */
static bool hnic_plan_go(struct hnic_plan *plan,
			 const struct iwarp_offload_buf *buf, u64 off, u32 len)
{
	u32 size = 1U << buf->shift, in, n;
	void *addr;

	for (off += buf->off; len; off += n, len -= n) {
		in = off & (size - 1);
		addr = buf->page[off >> buf->shift] + in;
		/* the next piece may be elsewhere, and the packet holds one page */
		n = min_t(u32, size - in, PAGE_SIZE - offset_in_page(addr));
		n = min(n, len);
		if (!hnic_plan_add(plan, virt_to_page(addr),
				   offset_in_page(addr), n))
			return false;
	}
	return true;
}

/* The NIC's DMA: from piece @from on, which is for byte @at of the packet */
static void hnic_plan_copy(const struct hnic_plan *plan, u32 from, u32 at)
{
	const struct hnic_piece *piece = &plan->out->piece[from];
	const u8 *data = hnic_pkt_data(plan->p);

	for (; from < plan->out->nr; from++, at += piece->len, piece++)
		if (piece->page != plan->p->page)
			memcpy(page_address(piece->page) + piece->off,
			       data + at, piece->len);
}

/* ------------------------------------------------------------------- FPDUs */

/**
 * struct hnic_seg - a tagged segment
 * @off: where its FPDU begins in the packet
 * @pos: position of that in the stream
 * @ivl: marker interval
 * @stag: STag
 * @to: tagged offset
 * @len: bytes of payload
 * @what: enum iwarp_place
 */
struct hnic_seg {
	u32 off;
	u32 pos;
	u32 ivl;
	u32 stag;
	u64 to;
	u32 len;
	u8 what;
};

/* Is the FPDU at @s->off, which is whole and good, one with payload to place? Fills in @s. */
static bool hnic_seg_parse(const struct hnic_pkt *p, struct hnic_seg *s)
{
	const u8 *src = hnic_pkt_data(p) + s->off + mpa_lead_len(s->pos, s->ivl);
	u32 run = mpa_body_run(s->pos, 0, s->ivl);
	u32 ulpdu = proto_get16(src);
	u8 h[HNIC_TAG_HEAD];

	if (ulpdu < DDP_TAGGED_LEN + HNIC_PLACE_MIN)
		return false;
	mpa_take(h, &src, sizeof(h), &run, s->ivl);
	if ((h[2] & ~DDP_L) != (DDP_T | DDP_DV))
		return false;
	if (h[3] == RDMAP_CTRL(RDMAP_WRITE))
		s->what = IWARP_PLACE_WRITE;
	else if (h[3] == RDMAP_CTRL(RDMAP_READ_RESP))
		s->what = IWARP_PLACE_READ;
	else
		return false;
	s->stag = proto_get32(h + 4);
	s->to = proto_get64(h + 8);
	s->len = ulpdu - DDP_TAGGED_LEN;
	return true;
}

static struct iwarp_offload_buf *hnic_place_find(struct hnic_place *pl,
						 const struct hnic_seg *s)
{
	struct iwarp_offload_buf *buf;

	list_for_each_entry(buf, &pl->bufs, node) {
		if (buf->stag != s->stag || buf->what != s->what ||
		    s->to < buf->to || s->to - buf->to > buf->len ||
		    s->len > buf->len - (s->to - buf->to))
			continue;
		list_move(&buf->node, &pl->bufs);
		return buf;
	}
	return NULL;
}

/* All of the payload, or nothing if there would be too many pieces */
static bool hnic_place_seg(struct hnic_plan *plan, const struct hnic_seg *s,
			   const struct iwarp_offload_buf *buf)
{
	u32 nr = plan->out->nr, at = plan->at, done = 0, where, n;
	bool ok = true;

	for (; ok && done < s->len; done += n) {
		where = mpa_body_place(s->pos, HNIC_TAG_HEAD + done, s->ivl, &n);
		n = min(n, s->len - done);
		ok = hnic_plan_stay(plan, s->off + where) &&
		     hnic_plan_go(plan, buf, s->to - buf->to + done, n);
	}
	/* leave a piece for the bytes after it, which include the CRC */
	if (ok && plan->out->nr < ARRAY_SIZE(plan->out->piece)) {
		hnic_plan_copy(plan, nr, at);
		return true;
	}
	plan->out->nr = nr;
	plan->at = at;
	return false;
}

/*
 * The packet holds a reference to the page of each piece. The first piece is in the
 * packet's own page.
 */
static void hnic_place_commit(struct hnic_plan *plan)
{
	struct hnic_placed *out = plan->out;
	u32 i;

	hnic_plan_stay(plan, plan->p->len);
	for (i = 1; i < out->nr; i++)
		get_page(out->piece[i].page);
	plan->p->placed = out;
}

static void hnic_place_fpdus(struct hnic_dev *hd, struct hnic_place *pl,
			     struct hnic_plan *plan,
			     const struct iwarp_offload_conn *conn)
{
	struct hnic_pkt *p = plan->p;
	u32 end = p->pay + hnic_pkt_pay_len(p);
	struct hnic_seg s = {
		.off = p->pay,
		.pos = hnic_pkt_seq(p) - conn->rx_seq,
		.ivl = conn->rx_ivl,
	};
	struct iwarp_offload_buf *buf;
	u32 tries = HNIC_PLACE_TRIES;
	bool placed;
	u32 n;

	for (; s.off < end; s.off += n, s.pos += n) {
		n = hnic_fpdu_len(hnic_pkt_data(p) + s.off, end - s.off, s.pos,
				  s.ivl);
		if (!n || n > end - s.off)
			break;
		if (!hnic_seg_parse(p, &s))
			continue;
		buf = tries ? hnic_place_find(pl, &s) : NULL;
		tries -= !!tries;
		placed = buf && hnic_place_seg(plan, &s, buf);
		trace_hnic_place(conn, s.stag, s.to, s.len, placed);
		if (!placed) {
			hd->rx_stats.place_missed++;
			continue;
		}
		hd->rx_stats.placed_fpdus++;
		hd->rx_stats.placed_bytes += s.len;
	}
}

/**
 * hnic_place_rx() - place what can be placed of a packet
 * @hd: device
 * @pl: placement of its connection
 * @conn: connection, hnic_conn.rx_lock held
 * @p: packet with a good checksum
 * @next: result of hnic_place_track()
 * @good: it consists of whole FPDUs, all of them good
 *
 * Context: RX engine.
 */
void hnic_place_rx(struct hnic_dev *hd, struct hnic_place *pl,
		   struct iwarp_offload_conn *conn, struct hnic_pkt *p,
		   bool next, bool good)
{
	bool sure = next && hnic_place_sure(pl, p);
	struct hnic_plan plan = { .p = p };

	if (!pl->sync && !pl->asked) {
		pl->asked = true;
		hd->rx_stats.place_lost++;
		trace_hnic_rx_lost(conn, hnic_pkt_seq(p));
		conn->ops->rx_lost(conn);
	}
	/* a short packet is copied by the host anyway */
	if (!good || list_empty(&pl->bufs) || p->len <= HNIC_COPYBREAK)
		return;
	if (!sure || !pl->sync) {
		hd->rx_stats.place_refused++;
		return;
	}
	plan.out = kmalloc(sizeof(*plan.out), GFP_ATOMIC | __GFP_NOWARN);
	if (!plan.out)
		return;
	plan.out->nr = 0;
	hnic_place_fpdus(hd, pl, &plan, conn);
	if (plan.out->nr)
		hnic_place_commit(&plan);
	else
		kfree(plan.out);
}

/* ----------------------------------------------------------------- buffers */

int hnic_place_add(struct hnic_place *pl, struct iwarp_offload_buf *buf,
		   u32 max)
{
	if (pl->nbufs >= max)
		return -ENOSPC;
	list_add(&buf->node, &pl->bufs);
	pl->nbufs++;
	return 0;
}

void hnic_place_del(struct hnic_place *pl, struct iwarp_offload_buf *buf)
{
	list_del(&buf->node);
	pl->nbufs--;
}
