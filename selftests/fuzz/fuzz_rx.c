// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Fuzz target: the receive engine of the driver (hyb_rx.c, hyb_fast.c) as it is, on a
 * shared link or under verbs. A stream of messages comes in packets of many shapes:
 * a fragment for each FPDU, many FPDUs in one piece, cuts anywhere, in a frag_list,
 * again what was there. FPDUs are bad now and then. The upper layer pauses, or has no
 * receive. Fragments may be in the memory of a device, which is not mapped here: the
 * engine ends the connection there, without a look at them.
 *
 * Each input runs twice: with hyb_rx_fast(), hyb_rx_bulk(), hyb_rx_bulk_piece(),
 * hyb_rx_flat(), hyb_fast_rx() and hyb_fast_there(), and with hyb_rx_fpdu() alone, which
 * a queue pair with ranges placed out of order has for all, and which then walks each
 * FPDU. Both have to deliver the same bytes and messages, find the same error, and count
 * the same.
 */
#include "iwarp_hybrid/hyb_ext.h"
#include "iwarp_hybrid/hyb_fpdu.h"
#include "iwarp_hybrid/hyb_fast.h"
#include "iwarp_hybrid/hyb_rx.h"
#include "iwarp_hybrid/hyb_shared.h"
#include "pick.h"
#include "rx_memory.h"
#include "unit.h"
#include <sys/mman.h>

#define STREAM (192u * 1024) /* no message begins after that */
#define ROOM (STREAM + (64u << 10))
#define FPDUS 1024
#define PACKETS 1024
#define PIECES 4096
#define ENDS 1024 /* of messages */
#define READS 8 /* that wait for a response */
#define KERNEL 65536u /* bytes of memory that is not registered */
#define COMPLETIONS 2048
#define PIECE_MAX 32768u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A contiguous part of a packet. Its page may be that of the one before it. */
struct piece {
	u32 off, len; /* in the stream */
	bool part; /* first of a packet of the frag_list */
	bool head; /* before the fragments of its part */
	bool joins; /* follows the one before in its page */
	bool away; /* in the memory of a device, as all fragments of its part */
	u8 *place; /* memory of a region that it is placed in, or NULL */
};

struct packet {
	u32 first, nr; /* pieces */
	u32 seq;
	u32 extra; /* memory beyond its bytes */
	bool checked;
	bool waits; /* the engine runs when it is there */
};

/* The input: the same for both runs */
static struct {
	u32 ivl, first;
	bool crc, nic, verify, faults, verbs, place;
	u32 receives; /* posted at once */
	u32 pause; /* after so many bytes, 0: never */
	u32 sleeps; /* a shared link sleeps now and then; 2: without memory when it wakes */
	u32 budget;
	u32 len; /* of the stream */
	u32 readable; /* bytes of it before the first packet that is not */
	u32 fpdus, packets, pieces;
	u32 fpdu[FPDUS + 1];
	struct { /* of an FPDU with payload for a region; len 0: none */
		u32 stag, len;
		u64 to;
	} placed[FPDUS];
	struct packet packet[PACKETS];
	struct piece piece[PIECES];
	u8 stream[ROOM];
} in;

/* The outcome, which has to be the same */
static struct out {
	u32 len, truesize, calls;
	u32 ends; /* of messages: place, and if it was solicited */
	u32 end[ENDS];
	u32 pos, msn, mo, read;
	u32 err, hdr_len, ulpdu;
	u8 hdr[RDMAP_HDR_MAX];
	u32 events;
	unsigned long counted[HYB_ST_SAME];
	u32 completions;
	u64 completion[COMPLETIONS];
	u32 reads, read_left;
	u8 memory[REGIONS][sizeof(regions[0].bytes)];
	u8 kernel[KERNEL];
	u8 bytes[ROOM];
} outs[2], *out;

unsigned long counted[HYB_ST_OTHERS];

static struct {
	struct hyb_qp qp;
	struct hyb_off off;
	struct hyb_ooo ooo;
	struct hyb_dev dev;
	struct hyb_cep cep;
	struct tcp_sock tp;
	struct socket socket;
	u32 next; /* packet that comes */
	u32 paused; /* at so many bytes */
	u32 begun; /* bytes before the message */
	struct sk_buff *last;
	u32 posted, taken; /* receives */
	struct hyb_orq_entry orq[READS];
	u8 kernel[KERNEL];
} k;

static struct ib_pd *const pd = (struct ib_pd *)&k;

static struct sock *const sk = &k.tp.icsk.sk;

/* ---- the stream ---- */

/* Change one of the @n bytes at @p, near the begin or the end */
static void damage(u8 *p, u32 n)
{
	u32 i = pick(2) ? pick(min(n, 64u)) : n - 1 - pick(8);

	p[i] ^= 1u << pick(8);
}

/*
 * An FPDU with that header and payload up to @len bytes. Returns true if it is damaged,
 * before or after its CRC is computed.
 */
static bool add_fpdu(const u8 *hdr, u32 hdr_len, u32 len)
{
	static u8 ulpdu[65536];
	u8 *p = in.stream + in.len;
	bool damaged, sent;
	struct mpa_build b;
	u32 i, n;

	memcpy(ulpdu, hdr, hdr_len);
	for (i = hdr_len; i < len; i++)
		ulpdu[i] = (in.len + i) * 7 + (i >> 8);
	mpa_build_begin(&b, p, in.len, len, in.ivl);
	mpa_build_put(&b, ulpdu, len);
	n = mpa_build_end(&b);
	damaged = in.faults && one_in(64);
	sent = damaged && one_in(2);
	if (sent)
		damage(p, n);
	if (in.crc)
		mpa_put_crc(p + n, unit_crc32c(~0u, p, n));
	else
		memset(p + n, 0, MPA_CRC_SIZE);
	n += MPA_CRC_SIZE;
	if (damaged && !sent)
		damage(p, n);
	in.placed[in.fpdus].len = 0;
	in.fpdu[in.fpdus++] = in.len;
	in.len += n;
	in.fpdu[in.fpdus] = in.len;
	return damaged;
}

/**
 * struct message - what is sent
 * @op: operation
 * @msn: number, of a Send
 * @stag: else where it goes
 * @to: same
 * @len: bytes, 0: any number
 * @done: bytes so far
 */
struct message {
	u8 op;
	u32 msn;
	u32 stag;
	u64 to;
	u32 len;
	u32 done;
};

static u32 header_len(const struct message *m)
{
	return m->op == RDMAP_WRITE || m->op == RDMAP_READ_RESP ?
		       DDP_TAGGED_LEN :
		       DDP_UNTAGGED_LEN;
}

/* Its next segment, of a ULPDU of @len bytes; something is wrong with few */
static void add_segment(struct message *m, u32 len, bool last)
{
	u8 hdr[DDP_HDR_MAX], op = m->op;
	bool bad = in.faults && one_in(64);
	u32 hdr_len = header_len(m);

	if (bad && one_in(2))
		op = pick(16);
	if (hdr_len == DDP_TAGGED_LEN)
		ddp_put_tagged(hdr, last, RDMAP_CTRL(op),
			       m->stag + (bad && one_in(4)),
			       m->to + m->done + (bad && one_in(4)));
	else
		ddp_put_untagged(hdr, last, RDMAP_CTRL(op),
				 op == RDMAP_SEND_INV ? REGION_STAG : 0,
				 bad && one_in(4) ? pick(4) : DDP_QN_SEND,
				 m->msn + (bad && one_in(4)),
				 m->done + (bad && one_in(4)));
	if (bad && one_in(8))
		hdr[0] ^= 1u << pick(8);
	bad |= add_fpdu(hdr, hdr_len, len);
	/* a NIC places what its header says */
	if (!bad && hdr_len == DDP_TAGGED_LEN &&
	    !hyb_mem_check(&regions[m->stag - REGION_STAG].mem, m->stag,
			   m->to + m->done, len - hdr_len, 0)) {
		in.placed[in.fpdus - 1].stag = m->stag;
		in.placed[in.fpdus - 1].to = m->to + m->done;
		in.placed[in.fpdus - 1].len = len - hdr_len;
	}
	m->done += len - hdr_len;
}

/* Segments of one length, and a last one of another */
static void add_message(struct message *m)
{
	static const u32 sizes[] = { 64,  128,	252,  256,  260,
				     512, 1024, 1448, 2048, 4096 };
	u32 size = sizes[pick(ARRAY_SIZE(sizes))] + 4 * pick(8);
	u32 nr = pick(4) ? pick(8) : pick(64);
	u32 ivl_log = in.ivl ? ilog2(in.ivl) : 0;
	u32 hdr = header_len(m), len;

	while (nr-- && in.len < STREAM && in.fpdus < FPDUS - 2) {
		len = mpa_ulpdu_full(in.len, size, in.ivl, ivl_log);
		if (len <= hdr || one_in(32))
			len = hdr + 1 + pick(250);
		if (m->len && len - hdr >= m->len - m->done)
			break;
		add_segment(m, len, false);
	}
	if (m->op == RDMAP_SEND && one_in(8))
		m->op = one_in(2) ? RDMAP_SEND_SE : RDMAP_SEND_INV;
	len = pick(250) * (1 + pick(8));
	if (m->op == RDMAP_READ_RESP)
		len = m->len - m->done;
	else if (m->len)
		len = min(len, m->len - m->done);
	add_segment(m, hdr + len, true);
}

/* Bytes of buffer @i of receive @n, as a rule many */
static u32 receive_len(u32 n, u32 i)
{
	u32 len = (n * 977 + i * 4001) % (REGION / 2);

	return n % 16 == 15 ? len % 64 : max(len, 1500u);
}

static u32 receive_room(u32 n)
{
	u32 room = 0, i;

	for (i = 0; i < 1 + n % 3; i++)
		room += receive_len(n, i);
	return room;
}

static void make_stream(void)
{
	struct message m = {};
	u32 msn = 1, reads = 0, region;

	in.len = 0;
	in.fpdus = 0;
	while (in.len < STREAM && in.fpdus < FPDUS - 2 && msn < ENDS &&
	       (from.left || msn < 6)) {
		m = (struct message){ .op = RDMAP_SEND, .msn = msn };
		if (in.verbs && pick(2)) {
			region = pick(2);
			m = (struct message){
				.op = RDMAP_WRITE,
				.stag = REGION_STAG + region,
				.len = REGION - pick(256) * 16,
			};
			m.to = regions[region].mem.va + REGION - m.len;
			/* over its end, which is near */
			if (in.faults && one_in(8)) {
				m.to = regions[region].mem.va + REGION -
				       pick(256) * 16;
				m.len = REGION / 2;
			}
		} else if (in.verbs && reads < READS && pick(2)) {
			m = (struct message){
				.op = RDMAP_READ_RESP,
				.stag = k.orq[reads].stag,
				.to = k.orq[reads].to,
				.len = k.orq[reads].len,
			};
			reads++;
		} else {
			if (in.verbs && !one_in(64))
				m.len = 1 +
					pick(256) * receive_room(msn - 1) / 256;
			msn++;
		}
		add_message(&m);
	}
	/* what is not complete */
	if (one_in(4))
		in.len -= pick(min(in.len - in.fpdu[in.fpdus - 1], 255u));
}

/* ---- packets ---- */

enum shape { EACH, MANY, ANY };

/* Bytes of the next piece at @off: up to FPDU @fpdu, or not */
static u32 piece_len(enum shape shape, u32 off, u32 *fpdu)
{
	u32 n;

	if (shape == ANY)
		return 1 + pick(256) * (1 + pick(16));
	n = shape == EACH ? 1 : 1 + pick(40);
	while (n-- && *fpdu < in.fpdus && in.fpdu[*fpdu + 1] - off <= PIECE_MAX)
		(*fpdu)++;
	return in.fpdu[*fpdu] - off;
}

static struct piece *add_piece(struct packet *pk, u32 off, u32 len)
{
	struct piece *pc = &in.piece[in.pieces++];

	*pc = (struct piece){ .off = off, .len = len };
	pk->nr++;
	return pc;
}

/*
 * As a NIC has an FPDU that it placed: header, payload in the memory that it belongs in,
 * and the rest, after which the next header may stand
 */
static void add_placed(struct packet *pk, u32 *off, u32 fpdu, bool join)
{
	const u32 head = MPA_LEN_SIZE + DDP_TAGGED_LEN;
	u32 left = in.placed[fpdu].len, n;
	u64 to = in.placed[fpdu].to;
	struct piece *pc;
	u8 *at;

	if (join)
		in.piece[in.pieces - 1].len += head;
	else
		add_piece(pk, *off, head);
	*off += head;
	for (; left; left -= n, to += n, *off += n) {
		n = left;
		pc = add_piece(pk, *off, 0);
		at = hyb_mem_at(
			&regions[in.placed[fpdu].stag - REGION_STAG].mem, to,
			&n);
		/* a NIC may leave a part to the host */
		pc->place = one_in(16) ? NULL : at;
		pc->len = n;
	}
	add_piece(pk, *off, in.fpdu[fpdu + 1] - *off);
	*off = in.fpdu[fpdu + 1];
}

/* FPDUs that the NIC has placed, as many as follow; false if this is none */
static bool add_all_placed(struct packet *pk, u32 *off, u32 *fpdu)
{
	u32 first = *fpdu, len;

	for (; *fpdu < in.fpdus && in.fpdu[*fpdu] == *off; (*fpdu)++) {
		len = in.placed[*fpdu].len;
		if (!len || in.fpdu[*fpdu + 1] > in.len ||
		    pk->nr + len / REGION_PAGE + 4 > MAX_FRAGS)
			break;
		add_placed(pk, off, *fpdu, *fpdu > first && pick(2));
	}
	return *fpdu > first;
}

static void add_packet(u32 *off, u32 *fpdu)
{
	struct packet *pk = &in.packet[in.packets++];
	u32 most = 1 + pick(2 * MAX_FRAGS), frags = 0, n;
	enum shape shape = pick(3);
	struct piece *pc;

	*pk = (struct packet){ .first = in.pieces,
			       .seq = *off,
			       .extra = pick(4096),
			       .checked = in.nic && pick(4),
			       .waits = pick(4) };
	if (in.place && pk->checked && add_all_placed(pk, off, fpdu))
		return;
	/* some of it was there before */
	if (*off && one_in(16))
		pk->seq -= 1 + pick(min(*off, 200u));
	while (pk->nr < most && *off < in.len && in.pieces < PIECES) {
		pc = &in.piece[in.pieces];
		memset(pc, 0, sizeof(*pc));
		pc->part = pk->nr && (frags == MAX_FRAGS || one_in(16));
		pc->head = (!pk->nr || pc->part) && one_in(4);
		pc->off = pk->nr ? *off : pk->seq;
		if (shape != ANY && in.fpdu[*fpdu] < *off)
			shape = ANY;
		n = piece_len(shape, *off, fpdu);
		/* less the 200 bytes that come again, and 63 of offset */
		n = min(min(n, PIECE_MAX - 263), in.len - *off);
		if (!n)
			break;
		pc->len = *off + n - pc->off;
		pc->joins = frags && !pc->part && !pc->head && pick(2);
		frags = pc->part || pc->head ? !pc->head : frags + 1;
		*off += n;
		/* where FPDUs begin again */
		while (*fpdu < in.fpdus && in.fpdu[*fpdu] < *off)
			(*fpdu)++;
		pk->nr++;
		in.pieces++;
	}
}

static void make_packets(void)
{
	u32 off = 0, fpdu = 0;

	in.packets = 0;
	in.pieces = 0;
	while (off < in.len && in.packets < PACKETS &&
	       in.pieces < PIECES - 2 * MAX_FRAGS)
		add_packet(&off, &fpdu);
	in.len = off;
}

/* The fragments of the part that piece @i is in, if there are any */
static void part_away(const struct packet *pk, u32 i)
{
	u32 end = pk->first + pk->nr, begin;

	while (i > pk->first && !in.piece[i].part)
		i--;
	/* what came again is not new */
	begin = i ? in.piece[i - 1].off + in.piece[i - 1].len : 0;
	do {
		if (in.piece[i].head)
			continue;
		in.piece[i].away = true;
		in.readable = min(in.readable, begin);
	} while (++i < end && !in.piece[i].part);
}

/* A few parts of packets go to the memory of a device */
static void make_unreadable(void)
{
	const struct packet *pk;
	u32 n = pick(4);

	in.readable = in.len;
	for (; in.packets && n; n--) {
		pk = &in.packet[(pick(256) << 8 | pick(256)) % in.packets];
		part_away(pk, pk->first + pick(256) % pk->nr);
	}
}

/* ---- TCP ---- */

static struct sk_buff *new_part(void)
{
	struct sk_buff *skb = kzalloc(sizeof(*skb), GFP_KERNEL);

	skb->info = kzalloc(sizeof(*skb->info), GFP_KERNEL);
	return skb;
}

static void put_head(struct sk_buff *part, const struct piece *pc)
{
	part->head = kzalloc(pc->len, GFP_KERNEL);
	part->data = part->head;
	part->headlen = pc->len;
	memcpy(part->head, in.stream + pc->off, pc->len);
}

/* Memory that is not mapped: a look at it ends the program */
static struct page *device_page(void)
{
	static struct page page = { 1, PIECE_MAX, NULL };

	if (!page.mem)
		page.mem = mmap(NULL, PIECE_MAX, PROT_NONE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(page.mem != MAP_FAILED);
	return &page;
}

static void put_away(struct sk_buff *part, const struct piece *pc)
{
	skb_frag_t *frag = &part->info->frags[part->info->nr_frags++];

	check(part->info->nr_frags <= MAX_FRAGS);
	part->unreadable = true;
	frag->len = pc->len;
	frag->page = device_page();
	get_page(frag->page);
}

static void put_frag(struct sk_buff *part, const struct piece *pc)
{
	struct skb_shared_info *info = part->info;
	skb_frag_t *was = info->nr_frags ? &info->frags[info->nr_frags - 1] :
					   NULL;
	skb_frag_t *frag = &info->frags[info->nr_frags++];

	check(info->nr_frags <= MAX_FRAGS);
	frag->len = pc->len;
	if (pc->place) {
		frag->page = region_page(pc->place);
		frag->off = pc->place - frag->page->mem;
		get_page(frag->page);
	} else if (pc->joins && was &&
		   was->off + was->len + pc->len <= was->page->size) {
		frag->page = was->page;
		frag->off = was->off + was->len;
		get_page(frag->page);
	} else {
		frag->page = alloc_pages(GFP_KERNEL, get_order(PIECE_MAX));
		frag->off = pc->off % 64;
	}
	memcpy(frag->page->mem + frag->off, in.stream + pc->off, pc->len);
}

/* The next packet, after all in the queue */
static void arrive(const struct packet *pk)
{
	struct sk_buff *skb = new_part(), *part = skb, **list;
	const struct piece *pc;
	u32 i;

	list = &skb->info->frag_list;
	for (i = 0; i < pk->nr; i++) {
		pc = &in.piece[pk->first + i];
		if (pc->part) {
			part = new_part();
			*list = part;
			list = &part->next;
		}
		if (pc->head)
			put_head(part, pc);
		else if (pc->away)
			put_away(part, pc);
		else
			put_frag(part, pc);
		skb->len += pc->len;
	}
	skb->cb.seq = in.first + pk->seq;
	skb->truesize = skb->len + pk->extra;
	skb->checked = pk->checked;
	if (k.last)
		k.last->behind = skb;
	else
		sk->sk_receive_queue.first = skb;
	k.last = skb;
	sk->inq = skb->cb.seq + skb->len - k.tp.copied_seq;
}

static void free_packet(struct sk_buff *skb)
{
	struct sk_buff *part = skb, *next = skb->info->frag_list;
	u32 i;

	while (part) {
		for (i = 0; i < part->info->nr_frags; i++)
			put_page(part->info->frags[i].page);
		kfree(part->head);
		kfree(part->info);
		kfree(part);
		part = next;
		next = part ? part->next : NULL;
	}
}

struct sk_buff *last_packet(void)
{
	return k.last;
}

struct sk_buff *tcp_recv_skb(struct sock *s, u32 seq, u32 *off)
{
	struct sk_buff *skb = s->sk_receive_queue.first;

	for (; skb; skb = skb->behind) {
		*off = seq - skb->cb.seq;
		if (*off < skb->len)
			return skb;
	}
	return NULL;
}

void tcp_read_done(struct sock *s, size_t len)
{
	struct sk_buff *skb;

	check(len <= s->inq);
	k.tp.copied_seq += len;
	s->inq -= len;
	while ((skb = s->sk_receive_queue.first) &&
	       (s32)(k.tp.copied_seq - skb->cb.seq - skb->len) >= 0) {
		s->sk_receive_queue.first = skb->behind;
		if (skb == k.last)
			k.last = NULL;
		free_packet(skb);
	}
}

/* ---- the rest of the driver ---- */

void event(int what)
{
	out->events |= BIT(what);
}

u32 hyb_ext_rx(struct hyb_qp *qp, const struct ddp_hdr *h, const u8 *p)
{
	return TERM_OP_OPCODE;
}

void hyb_fpdu_terminate(struct hyb_qp *qp, u32 err, const u8 *hdr, u32 hdr_len,
			u32 seg_len)
{
	check(!out->err);
	out->err = err;
	out->hdr_len = hdr_len;
	out->ulpdu = seg_len;
	memcpy(out->hdr, hdr, hdr_len);
}

bool hyb_fpdu_queued(const struct hyb_qp *qp)
{
	return false;
}

int hyb_fpdu_why(const struct hyb_qp *qp)
{
	return -ECONNRESET;
}

static void complete(u32 what, u32 bytes, u32 more)
{
	check(out->completions < COMPLETIONS);
	out->completion[out->completions++] = (u64)what << 60 |
					      (u64)bytes << 32 | more;
}

/* The next receive: registered memory, or the kernel's */
int hyb_rq_get(struct hyb_qp *qp, struct siw_rqe *rqe, u32 len)
{
	u32 i, n = k.taken, at;

	if (k.taken == k.posted)
		return 0;
	k.taken++;
	memset(rqe, 0, sizeof(*rqe));
	rqe->id = n;
	rqe->num_sge = 1 + n % 3;
	for (i = 0; i < rqe->num_sge; i++) {
		struct siw_sge *sge = &rqe->sge[i];
		const struct hyb_mem *mem = &regions[2 + (n + i) % 2].mem;

		sge->length = receive_len(n, i);
		at = (n * 331 + i * 1200) % (REGION / 2);
		if ((n + i) % 5) {
			sge->lkey = mem->stag;
			sge->laddr = mem->va + at;
		} else {
			sge->laddr = (uintptr_t)(k.kernel + at);
		}
	}
	return 1;
}

bool hyb_rq_ready(struct hyb_qp *qp)
{
	return k.taken != k.posted;
}

void hyb_rq_complete(struct hyb_qp *qp, const struct siw_rqe *rqe, u32 bytes,
		     u32 inval, bool solicited, enum siw_wc_status status)
{
	complete(1 + solicited, bytes, rqe->id << 16 | (u8)inval << 8 | status);
}

void hyb_sq_complete(struct hyb_qp *qp, u32 slot, u32 bytes,
		     enum siw_wc_status status)
{
	complete(3, bytes, slot << 8 | status);
}

void hyb_fpdu_put_hdr(const struct hyb_tx *tx, u8 *hdr, u32 len, bool last)
{
	abort();
}

static void engine(void)
{
	u32 before;

	do {
		before = k.tp.copied_seq;
		k.qp.rx.budget = in.budget;
		hyb_rx_run(&k.qp);
	} while (k.tp.copied_seq != before);
}

struct sock *hyb_sched_enter(struct hyb_qp *qp)
{
	return qp->tcp.sk;
}

void hyb_sched_run_todo(struct hyb_qp *qp, int todo)
{
	engine();
}

void hyb_sched_leave(struct hyb_qp *qp, struct sock *with, bool run)
{
}

void hyb_sched_retry(struct hyb_qp *qp, int todo, unsigned long delay)
{
}

/* ---- the upper layer ---- */

static int receive(void *ctx, const struct rdma_stack_rx *rx)
{
	const struct rdma_stack_run *run;
	u32 sum = 0, i, j;
	const u8 *from;

	check(rx->nr <= RDMA_STACK_RUNS);
	for (i = 0; i < rx->nr; i++) {
		run = &rx->run[i];
		check(run->len && out->len + sum + run->len <= ROOM);
		from = run->data;
		check(!run->page || run->page->mem + run->off == from);
		for (j = 0; j < run->len; j++)
			out->bytes[out->len + sum + j] =
				from[rdma_stack_gaps_off(&run->gaps, j)];
		sum += run->len;
	}
	check(sum == rx->len);
	check(rx->msg_off == out->len - k.begun);
	out->len += sum;
	out->truesize += rx->truesize;
	out->calls++;
	if (rx->last) {
		check(out->ends < ENDS);
		out->end[out->ends++] = out->len << 1 | rx->solicited;
		k.begun = out->len;
	}
	if (!in.pause || out->len - k.paused < in.pause)
		return RDMA_STACK_RX_MORE;
	k.paused = out->len;
	return RDMA_STACK_RX_PAUSE;
}

static void received(void *ctx)
{
}

static const struct rdma_stack_ulp ulp = {
	.rx = receive,
	.rx_done = received,
};

/* ---- from the beginning to the end ---- */

/* Reads of ours: into registered memory, or the kernel's */
static void begin_reads(void)
{
	u32 i;

	regions_begin(pd, in.place);
	for (i = 0; i < READS; i++) {
		struct hyb_orq_entry *orq = &k.orq[i];
		struct hyb_mem *mem = &regions[i % REGIONS].mem;

		orq->len = 100 + 1900 * i;
		orq->left = orq->len;
		orq->slot = i;
		orq->stag = mem->stag;
		orq->to = mem->va + 10 * i;
		if (i % 3) {
			orq->mem = mem;
			mem->ref++;
		} else {
			orq->to = (uintptr_t)k.kernel + 10 * i;
		}
	}
	k.qp.tx.orq = k.orq;
	k.qp.tx.orq_mask = READS - 1;
	k.qp.tx.orq_put = READS;
}

static void end_reads(void)
{
	u32 i;

	hyb_rx_abandon(&k.qp);
	for (i = k.qp.tx.orq_get; i != READS; i++)
		if (k.orq[i].mem)
			hyb_mem_put(k.orq[i].mem);
	regions_end();
}

static void begin(bool fast)
{
	static struct ooo_table *const tab = (struct ooo_table *)&k;
	struct mpa_result res = { .crc = in.crc, .rx_ivl = in.ivl };
	struct hyb_qp *qp = &k.qp;

	memset(&k, 0, sizeof(k));
	memset(counted, 0, sizeof(counted));
	memset(out, 0, offsetof(struct out, bytes));
	memory.order_max = 3;
	memory.no_objects = false;
	qp->ibqp.device = &k.dev;
	qp->ibqp.pd = pd;
	qp->dev = &k.dev;
	k.off.rx_crc = in.nic;
	k.off.verify = in.verify;
	k.off.place = in.place;
	if (in.nic)
		qp->off = &k.off;
	k.ooo.tab = tab;
	general = !fast;
	if (!fast)
		qp->ooo = &k.ooo;
	begin_reads();
	k.tp.copied_seq = in.first;
	k.tp.window_clamp = INT_MAX;
	sk->sk_socket = &k.socket;
	sk->sk_user_data = &k.cep;
	k.cep.live = qp;
	sk->net.ipv4.sysctl_tcp_rmem[2] = 6 << 20;
	sk->sk_rcvbuf = 1 << 20;
	hyb_rx_init(qp, &res);
	check(in.verbs || !hyb_link.open(&qp->ibqp, &ulp, &k));
	qp->tcp.sk = sk;
	qp->tcp.attached = true;
}

/* The upper layer goes on */
static bool resume(void)
{
	if (in.verbs) {
		if (!k.qp.rx.starved)
			return false;
		k.posted += in.receives;
	} else {
		if (!k.qp.shared->held)
			return false;
		hyb_link.rx_resume(&k.qp.ibqp);
	}
	engine();
	return true;
}

/* Nothing has come for a while */
static void sleep_once(void)
{
	bool sleeps = !k.qp.shared->held && !k.qp.rx.paused;

	hyb_shared_sleep(&k.qp);
	check(!sleeps || (!k.qp.shared->run && k.qp.rx.starved));
}

static void come(void)
{
	for (; k.next < in.packets; k.next++) {
		arrive(&in.packet[k.next]);
		if (!in.packet[k.next].waits)
			continue;
		memory.no_objects = in.sleeps == 2 && k.next & 1;
		engine();
		memory.no_objects = false;
		resume();
		if (in.sleeps && !in.verbs)
			sleep_once();
	}
}

/* Bytes of the stream up to the end of the FPDU that the first unreadable byte is in */
static u32 end_of_unread(void)
{
	u32 i = 0;

	while (i < in.fpdus && in.fpdu[i] <= in.readable)
		i++;
	return in.fpdu[i];
}

/*
 * The engine has stopped where it could not read, and did not go on. It needs neither PAD
 * nor the CRC of an FPDU if there are no CRCs, or a NIC checks them.
 */
static void check_readable(const struct hyb_qp *qp)
{
	const u32 tail = 3 + MPA_CRC_SIZE + (in.ivl ? MPA_MARK_SIZE : 0);
	bool fault = out->events & BIT(HYB_FAULT);

	check(qp->rx.pos <= in.readable + tail);
	/* the peer did nothing wrong: no Terminate */
	check(!fault || (qp->rx.stopped && in.readable < in.len && !out->err));
	if (in.readable < in.len && end_of_unread() <= in.len && !in.faults)
		check(out->err || qp->rx.stopped);
}

/* State and memory at the end */
static void result(void)
{
	const struct hyb_qp *qp = &k.qp;
	u32 i;

	out->pos = qp->rx.pos;
	out->msn = qp->rx.msn[DDP_QN_SEND];
	out->mo = in.verbs ? qp->rx.done : qp->shared->rx_off;
	out->read = k.tp.copied_seq;
	out->reads = qp->tx.orq_get;
	out->read_left = k.orq[qp->tx.orq_get % READS].left;
	memcpy(out->counted, counted, sizeof(out->counted));
	for (i = 0; i < REGIONS; i++)
		memcpy(out->memory[i], regions[i].bytes,
		       sizeof(out->memory[i]));
	memcpy(out->kernel, k.kernel, sizeof(out->kernel));
	check_readable(qp);
	/* all that is complete was consumed; without a CRC a length may be wrong */
	check(out->err || in.faults || qp->rx.stopped ||
	      out->pos == in.fpdu[in.fpdus] || in.len < in.fpdu[in.fpdus]);
}

static void run(bool fast)
{
	u32 turns = 0;

	begin(fast);
	come();
	engine();
	while (resume())
		check(++turns < ROOM);
	sk->sk_shutdown = RCV_SHUTDOWN;
	engine();
	result();
	tcp_read_done(sk, sk->inq);
	check(!k.last);
	end_reads();
	if (!in.verbs)
		hyb_link.close(&k.qp.ibqp);
	hyb_shared_free(&k.qp);
	check(!memory.pages && !memory.objects && device_page()->refs == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const u32 ivls[] = { 0, 256, 512, 1024 };

	pick_begin(data, size);
	in.ivl = ivls[pick(4)];
	in.crc = pick(8);
	in.nic = !pick(3);
	in.verify = in.nic && one_in(8);
	in.faults = pick(2);
	in.first = 0u - pick(256) * 256;
	in.pause = pick(2) ? 0 : 1 + pick(256) * 64;
	in.verbs = pick(2);
	in.place = in.verbs && !pick(4);
	if (in.place) {
		in.ivl = 0;
		in.nic = true;
	}
	in.receives = 1 + pick(8);
	in.budget = pick(4) ? HYB_RX_BUDGET : 65536 + pick(64) * 64;
	begin_reads();
	make_stream();
	make_packets();
	make_unreadable();
	in.sleeps = pick(3);
	out = &outs[0];
	run(true);
	out = &outs[1];
	run(false);
	outs[0].calls = outs[1].calls;
	check(!memcmp(&outs[0], &outs[1], offsetof(struct out, bytes)));
	check(!memcmp(outs[0].bytes, outs[1].bytes, outs[0].len));
	return 0;
}
