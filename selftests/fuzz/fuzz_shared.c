// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Fuzz target: hyb_shared.c and hyb_stream.c of the driver as they are, over a TCP of
 * our own. An upper layer reserves, appends, commits, gives up; segments leave and are
 * acknowledged, at any byte; the path, windows, memory, what a NIC does change on the
 * way. All that was committed has to come out in order and once, nothing else, with
 * good markers and CRCs; a refused caller is asked to try again; memory is given back.
 */
#include "iwarp_hybrid/hyb_fpdu.h"
#include "iwarp_hybrid/hyb_shared.h"
#include "iwarp/mpa_contig.h"
#include "shared_tcp.h"
#include "unit.h"

#define ITEMS 2048
#define OTHER 28 /* bytes of another sender's ULPDU */
#define SEND 0x43 /* RDMAP control of a message */
#define SEND_SE 0x45

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/**
 * struct item - what the peer has to see next
 * @at: position of its first byte
 * @start: number of the first byte of payload, of all that is sent
 * @len: bytes of payload
 * @hdr_len: of header, 0: no message of the shared link
 * @hdr: header
 * @solicited: by Send with Solicited Event
 * @closed: nothing may join it
 */
struct item {
	u64 at;
	u32 start;
	u32 len;
	u32 hdr_len;
	u8 hdr[RDMA_STACK_TX_HDR];
	bool solicited;
	bool closed;
};

static struct item items[ITEMS];

static struct {
	struct hyb_qp qp;
	struct hyb_off off;
	u32 nr; /* items */
	u32 payload; /* bytes of all */
	u64 end; /* position after all */
	u32 others; /* that wait */
	bool owed; /* a call of tx_space */
	bool full; /* as tx_full says, until tx_space */
	bool noted; /* same, with the acknowledgment of @note */
	u64 note;
	bool busy; /* the engine of another queue pair runs here, once */
	/* the peer */
	u32 pos, item, mo, msn;
} k;

/* The FPDUs that the peer has seen, as they are when a NIC has done its part */
static u8 wire[STREAM_MAX];

static struct hyb_stream *const s = &k.qp.tx.s;
static struct sock *const sk = &tcp.tp.icsk.sk;

/* Byte @n of payload */
static u8 byte(u32 n)
{
	n *= 0x9e3779b1u;
	return n >> 24 ^ n >> 11;
}

/* ---- the peer ---- */

/* The CRC, after @len bytes; a NIC that has room decides whether the host does it */
static void see_crc(const u8 *p, u32 len)
{
	memcpy(wire + k.pos, p, len);
	memset(wire + k.pos + len, 0, MPA_CRC_SIZE);
	if (k.qp.tx.crc && tcp_finish(k.pos) == BY_HOST)
		check(mpa_get_crc(p + len) == unit_crc32c(~0u, p, len));
	else
		check(!proto_get32(p + len));
}

/* The ULPDU of an FPDU of @len bytes without CRC; markers and PAD are good */
static void see_fpdu(const u8 *p, u32 len, u8 *ulpdu, u32 ulpdu_len)
{
	u32 lead = mpa_lead_len(k.pos, s->ivl), n = 0, i;
	static u8 body[65536 + 8];

	for (i = 0; i < len; i++) {
		if (s->ivl && !((k.pos + i) % s->ivl)) {
			check(proto_get32(p + i) == (i ? i - lead : 0));
			i += MPA_MARK_SIZE - 1;
			continue;
		}
		body[n++] = p[i];
	}
	check(n == mpa_body_len(ulpdu_len) && proto_get16(body) == ulpdu_len);
	for (i = MPA_LEN_SIZE + ulpdu_len; i < n; i++)
		check(!body[i]);
	memcpy(ulpdu, body + MPA_LEN_SIZE, ulpdu_len);
}

/* An FPDU of another sender, see lay_other() */
static void see_other(const u8 *ulpdu, u32 len)
{
	u32 i;

	check(len == OTHER && !k.mo);
	for (i = 0; i < len; i++)
		check(ulpdu[i] == (u8)(k.item + i));
	k.item++;
}

/* A byte after the headers of DDP */
static u8 byte_at(const struct item *it, u32 mo)
{
	return mo < it->hdr_len ? it->hdr[mo] :
				  byte(it->start + mo - it->hdr_len);
}

/* The next part of a message */
static void see_message(const struct item *it, const u8 *ulpdu, u32 len)
{
	u32 whole = it->hdr_len + it->len, i;
	struct ddp_hdr h;

	check(!ddp_parse(ulpdu, len, &h));
	check(!h.tagged && h.qn == DDP_QN_SEND && h.msn == k.msn);
	check(h.mo == k.mo && h.rdmap == (it->solicited ? SEND_SE : SEND));
	ulpdu += DDP_UNTAGGED_LEN;
	len -= DDP_UNTAGGED_LEN;
	check(len && len <= whole - k.mo);
	check(h.last == (k.mo + len == whole));
	for (i = 0; i < len; i++, k.mo++)
		check(ulpdu[i] == byte_at(it, k.mo));
	if (!h.last)
		return;
	k.mo = 0;
	k.msn++;
	k.item++;
}

/* As the NIC moves them */
static const u8 *see_contig(const u8 *p, u32 len)
{
	static u8 moved[65536 * 2];
	u32 x, at, run;

	for (x = 0; x < len; x += run) {
		at = mpa_contig_map(k.pos, len, s->ivl, x, &run);
		check(run && x + run <= len && at + run <= len);
		memcpy(moved + x, p + at, run);
	}
	return moved;
}

/* All FPDUs that TCP has got */
static void see(void)
{
	static u8 ulpdu[65536];
	const struct item *it;
	u32 lead, len, n;
	const u8 *p;

	for (; k.pos < tcp.given; k.pos += len) {
		p = tcp.bytes + k.pos;
		lead = mpa_lead_len(k.pos, s->ivl);
		if (tcp.given - k.pos < lead + MPA_LEN_SIZE)
			return;
		n = proto_get16(p + lead);
		len = mpa_fpdu_len(k.pos, n, s->ivl);
		if (tcp.given - k.pos < len)
			return;
		if (tcp_finish(k.pos) == BY_NIC_CONTIG)
			p = see_contig(p, len);
		see_crc(p, len - MPA_CRC_SIZE);
		see_fpdu(p, len - MPA_CRC_SIZE, ulpdu, n);
		check(k.item < k.nr);
		it = &items[k.item];
		if (it->hdr_len)
			see_message(it, ulpdu, n);
		else
			see_other(ulpdu, n);
	}
}

/* ---- the engine, as hyb_tx_run() has it ---- */

bool hyb_fpdu_queued(const struct hyb_qp *qp)
{
	(void)qp;
	return k.others;
}

int hyb_fpdu_why(const struct hyb_qp *qp)
{
	(void)qp;
	return -ECONNRESET;
}

/* Something that is no message of the shared link; false: no place for it here */
static bool lay_other(void)
{
	struct hyb_tx_page *p = hyb_stream_cur(s);
	struct mpa_build b;
	u8 ulpdu[OTHER];
	u32 len, i;

	if (!hyb_stream_fit(s, OTHER, false))
		return false;
	for (i = 0; i < OTHER; i++)
		ulpdu[i] = k.nr + i;
	mpa_build_begin(&b, p->base + p->fill, s->pos, OTHER, s->ivl);
	mpa_build_put(&b, ulpdu, OTHER);
	len = mpa_build_end(&b);
	hyb_fpdu_seal(&k.qp, p, b.start, len, s->pos, HYB_TX_HOST);
	hyb_stream_add(s, len + MPA_CRC_SIZE);
	k.end = s->pos;
	memset(&items[k.nr++], 0, sizeof(items[0]));
	k.others--;
	return true;
}

static void lay_others(void)
{
	u32 turns = 0;

	s->wait_max = HYB_TX_PAGES_MAX;
	while (k.others && sk_stream_wspace(sk) > (int)hyb_stream_waiting(s)) {
		hyb_stream_look(s, sk);
		if (lay_other() || hyb_stream_extend(s))
			continue;
		hyb_shared_flush(&k.qp, sk);
		if (hyb_stream_next(s, sk))
			return;
		check(++turns < 100);
	}
	hyb_shared_flush(&k.qp, sk);
}

static void engine(void)
{
	if (hyb_shared_hold(&k.qp))
		return;
	hyb_off_acked(&k.qp, k.qp.off);
	hyb_stream_rewind(s);
	hyb_shared_flush(&k.qp, sk);
	if (k.others)
		lay_others();
	hyb_shared_tx_done(&k.qp, sk);
	see();
}

struct sock *hyb_sched_enter(struct hyb_qp *qp)
{
	if (k.busy && qp->tcp.sk) {
		k.busy = false;
		return ERR_PTR(-EAGAIN);
	}
	return qp->tcp.sk;
}

void hyb_sched_run_todo(struct hyb_qp *qp, int todo)
{
	(void)qp;
	(void)todo;
	/* an owner runs it on release, see change() */
	if (!sock_owned_by_user(sk))
		engine();
}

void hyb_sched_leave(struct hyb_qp *qp, struct sock *with, bool run)
{
	(void)with;
	if (run)
		hyb_sched_run_todo(qp, HYB_TODO_TX);
}

/* At some time, see drain() */
void hyb_sched_retry(struct hyb_qp *qp, int todo, unsigned long delay)
{
	(void)qp;
	(void)todo;
	(void)delay;
}

/* ---- the upper layer ---- */

static void space(void *ctx)
{
	check(ctx == &k);
	k.owed = false;
	k.full = false;
	if (k.noted && hyb_link.tx_acked(&k.qp.ibqp) >= k.note)
		k.noted = false;
}

static void full(void *ctx)
{
	check(ctx == &k);
	k.full = true;
}

static const struct rdma_stack_ulp ulp = { .tx_space = space, .tx_full = full };

/* May there be no room? */
static bool no_room(bool busy)
{
	return busy || k.full || k.others || memory.no_objects ||
	       memory.order_max < 3 || hyb_stream_full(s);
}

/* The next payload; the gaps are written to as well */
static void fill(const struct rdma_stack_tx *tx, u32 used)
{
	u32 sum = 0, v, i;

	check(tx->nr <= RDMA_STACK_TX_SEGS);
	for (v = 0; v < tx->nr; v++) {
		const struct rdma_stack_seg *seg = &tx->seg[v];
		u8 *to = seg->data;

		check(seg->len);
		memset(to, 0x5a,
		       rdma_stack_gaps_off(&seg->gaps, seg->len - 1) + 1);
		for (i = 0; i < seg->len && sum + i < used; i++)
			to[rdma_stack_gaps_off(&seg->gaps, i)] =
				byte(k.payload + sum + i);
		sum += seg->len;
	}
	check(sum == tx->len);
}

/* Kind of a step, in its first byte; the lower bits are the number */
#define KINDS 8
#define F_ABORT 0x08
#define F_PART 0x10 /* not all of the reservation is used */
#define F_MORE 0x20
#define F_CLOSE 0x40
#define F_SOLICITED 0x80

static void change(u8 what, u8 how);

/* The reservation of @it, which is the next one or the last */
static void use(struct item *it, struct rdma_stack_tx *tx, const u8 *op)
{
	u32 used = op[0] & F_PART ? (u64)tx->len * op[2] / 256 : tx->len;
	unsigned int flags = 0;
	u32 i;

	/* others do something meanwhile */
	if (op[2] & 1)
		change(op[1], op[2]);
	fill(tx, used);
	k.busy = false;
	if (op[0] & F_ABORT) {
		hyb_link.tx_abort(&k.qp.ibqp, tx);
		return;
	}
	if (op[0] & F_MORE)
		flags |= RDMA_STACK_TX_MORE;
	if (op[0] & F_CLOSE)
		flags |= RDMA_STACK_TX_CLOSE;
	if (op[0] & F_SOLICITED)
		flags |= RDMA_STACK_TX_SOLICITED;
	it->len += used;
	it->closed = op[0] & F_CLOSE;
	it->solicited |= !!(op[0] & F_SOLICITED);
	for (i = 0; i < it->hdr_len; i++)
		it->hdr[i] = op[1] + op[2] + i;
	k.payload += used;
	if (it == &items[k.nr])
		k.nr++;
	hyb_link.tx_commit(&k.qp.ibqp, tx, used, it->hdr, flags);
	check(tx->end == s->pos);
	k.end = tx->end;
}

/* Few values, but small and large ones */
static u32 amount(u8 v)
{
	return (v & 31) << (v >> 5) * 2;
}

/* A caller that is notified of room tries again at once, and then there is room */
static int reserve(u32 want, u32 hdr_len, struct rdma_stack_tx *tx)
{
	bool may, owned;
	u32 turns = 0;
	int err;

	do {
		k.owed = true;
		may = no_room(k.busy);
		owned = sk->owned;
		err = hyb_link.tx_reserve(&k.qp.ibqp, want, hdr_len, tx);
		check(++turns < 4);
	} while (err == -EAGAIN && !k.owed);
	if (!err)
		k.owed = false;
	check(!err || (err == -EAGAIN && may) ||
	      (err == -EINPROGRESS && owned) || err == -ENOMEM);
	return err;
}

/* Less than what was wanted is laid out only where something is used up */
static bool all_of_it(const struct rdma_stack_tx *tx, u32 want)
{
	return tx->len == want || tx->nr == RDMA_STACK_TX_SEGS ||
	       memory.order_max < 0 || memory.no_objects || hyb_stream_full(s);
}

static void message(const u8 *op)
{
	u32 want = amount(op[1]), hdr_len = 1 + op[2] % RDMA_STACK_TX_HDR;
	struct rdma_stack_tx tx;
	struct item *it;

	if (reserve(want, hdr_len, &tx))
		return;
	k.busy = false;
	check(!tx.msg_len && tx.len <= want && all_of_it(&tx, want));
	check(hyb_link.tx_reserve(&k.qp.ibqp, 1, 1, &tx) == -EBUSY);
	/* others have gone before it */
	it = &items[k.nr];
	memset(it, 0, sizeof(*it));
	it->at = k.end;
	it->start = k.payload;
	it->hdr_len = hdr_len;
	use(it, &tx, op);
}

/* Why may a message not be appended to? */
static bool no_append(const struct item *it, u32 want, u32 max)
{
	return !k.qp.shared->open || !it->hdr_len || sk->owned || k.others ||
	       (want && it->len >= max) || memory.order_max < 0 ||
	       memory.no_objects || hyb_stream_full(s);
}

static void append(const u8 *op)
{
	u32 want = amount(op[1]), max = amount(op[2]);
	struct item *it = &items[k.nr ? k.nr - 1 : 0];
	struct rdma_stack_tx tx;
	bool busy = k.busy;
	int err;

	err = hyb_link.tx_append(&k.qp.ibqp, want, max, &tx);
	k.busy = false;
	if (err) {
		check(err == -ENOENT && (busy || no_append(it, want, max)));
		return;
	}
	check(k.nr && it->hdr_len && !it->closed && tcp.given <= it->at);
	check(tx.msg_len == it->len);
	if (want)
		want = min(want, max - it->len);
	check(tx.len <= want && all_of_it(&tx, want));
	check(hyb_link.tx_append(&k.qp.ibqp, 1, max, &tx) == -EBUSY);
	use(it, &tx, op);
}

/* Short messages, none of which joins another */
static void many(u32 n)
{
	static const u8 op[] = { F_CLOSE | F_MORE, 1, 2 };

	while (n-- && k.nr + 1 < ITEMS)
		message(op);
}

static void note(u64 pos)
{
	k.busy = false;
	k.noted = hyb_link.tx_notify(&k.qp.ibqp, pos);
	k.note = pos;
	check(k.noted == (hyb_link.tx_acked(&k.qp.ibqp) < pos));
}

/* ---- what changes beside ---- */

static void leave(u32 n, u32 acked)
{
	tcp_send(n);
	tcp_ack(acked);
	check(hyb_link.tx_sent(&k.qp.ibqp) == tcp.tp.snd_nxt - tcp.first);
	check(hyb_link.tx_acked(&k.qp.ibqp) == tcp.tp.snd_una - tcp.first);
	/* a path of 100 us */
	check(!hyb_link.tx_path(&k.qp.ibqp));
	tcp.tp.rate_delivered = n & 0xfff;
	tcp.tp.rate_interval_us = 200;
	tcp.tp.rtt_us = 100;
	check(hyb_link.tx_path(&k.qp.ibqp) ==
	      (n & 0xfff) * tcp.tp.mss_cache / 2);
	tcp.tp.rate_interval_us = 0;
	if (hyb_shared_writeable(&k.qp, sk) && !sk->owned)
		engine();
}

static void change_nic(u8 how)
{
	k.off.tx_crc = how & 1;
	k.off.tx_contig = how & 2;
	k.off.tx_sg = (how & 6) == 4;
	tcp.nic_room = how >> 3;
	k.qp.place.markers = (how & 6) == 6 ? HYB_MARK_COPY : HYB_MARK_INPLACE;
}

static void change(u8 what, u8 how)
{
	switch (what & 7) {
	case 0:
		sk->dst.mtu = 296 + 37 * how;
		/* it is TCP that has found out */
		if (how & 1)
			tcp.tp.icsk.icsk_sync_mss(sk, sk->dst.mtu);
		break;
	case 1:
		tcp.tp.snd_wnd = amount(how);
		break;
	case 2:
		tcp.tp.snd_cwnd = 1 + how;
		tcp.tp.gso_segs = how >> 2;
		break;
	case 3:
		tcp.sndbuf = amount(how);
		tcp.frag_room = how & 1 ? PAGE_SIZE * (1 + how / 16) : INT_MAX;
		break;
	case 4:
		memory.order_max = (how & 7) - 1;
		memory.no_objects = how & 8;
		break;
	case 5:
		change_nic(how);
		break;
	case 6:
		tcp.uneven = how & 2;
		k.busy = how & 4;
		if (sk->owned && !(how & 1))
			engine();
		sk->owned = how & 1;
		break;
	default:
		leave(amount(how), amount(what));
		break;
	}
}

/* Nothing has moved for a while: nothing but the link itself is kept */
static void idle(void)
{
	hyb_stream_trim(s);
	hyb_shared_sleep(&k.qp);
	check(k.busy || (!k.qp.shared->tables && memory.objects == 1));
}

static void step(const u8 *op)
{
	switch (op[0] % KINDS) {
	case 0:
	case 1:
		message(op);
		break;
	case 2:
	case 3:
		append(op);
		break;
	case 4:
		leave(amount(op[1]), amount(op[2]));
		break;
	case 5:
		change(op[1], op[2]);
		break;
	case 6:
		if (!sk->owned)
			engine();
		k.qp.tx.fenced = false;
		break;
	default:
		if (op[1] & 1)
			k.others++;
		else if (op[1] & 2)
			note(s->pos);
		else if (op[1] & 4)
			many(op[2]);
		else if (hyb_stream_empty(s))
			idle();
		break;
	}
}

/* ---- from the beginning to the end ---- */

static void begin(u8 a, u8 b)
{
	static const u32 ivls[] = { 0, 256, 512, 1024 };
	struct hyb_qp *qp = &k.qp;

	/* the stream is in pieces of 32 KB, or in larger pages, one by one */
	check(PAGE_SIZE << HYB_TX_ORDER == max_t(u32, PAGE_SIZE, SZ_32K));
	memset(&k, 0, sizeof(k));
	memory.order_max = 3;
	memory.no_objects = false;
	tcp_begin(0u - amount(b));
	k.msn = 1;
	qp->tx.msn[DDP_QN_SEND] = 1;
	qp->tx.crc = a & 4;
	qp->tx.fenced = a & 8;
	if (a & 16)
		qp->off = &k.off;
	change_nic(a >> 5 | 0xf8);
	check(!hyb_link.open(&qp->ibqp, &ulp, &k));
	hyb_stream_init(s, ivls[a & 3], NULL);
	hyb_stream_attach(s, sk);
	qp->tcp.sk = sk;
	qp->tcp.attached = true;
}

/* All of it leaves, and a waiting task is notified */
static void drain(void)
{
	u32 turns = 0;

	memory.order_max = 3;
	memory.no_objects = false;
	sk->owned = false;
	k.busy = false;
	tcp.sndbuf = INT_MAX;
	tcp.tp.snd_wnd = 1u << 20;
	tcp.tp.snd_cwnd = 1u << 16;
	k.qp.tx.fenced = false;
	do {
		engine();
		leave(UINT32_MAX, UINT32_MAX);
		check(++turns < 1000);
	} while (tcp.tp.snd_una - tcp.first != s->pos || k.others);
	engine();
	check(tcp.given == s->pos && k.pos == tcp.given);
	check(k.item == k.nr && !k.mo);
	check(!k.owed);
	check(!k.noted);
}

static void run(const uint8_t *data, size_t size)
{
	begin(data[0], data[1]);
	data += 2;
	size -= 2;
	for (; size >= 3; data += 3, size -= 3) {
		/* there is room for the largest message, and for what waits */
		if (s->pos > STREAM_MAX - (1u << 20) ||
		    k.nr + k.others + UINT8_MAX > ITEMS)
			break;
		step(data);
		see();
	}
	/* or else there is an end to it in the middle of something */
	if (size != 1)
		drain();
	hyb_link.close(&k.qp.ibqp);
	hyb_shared_free(&k.qp);
	hyb_stream_free(s);
	tcp_end();
	check(!memory.pages && !memory.objects);
}

/*
 * By hyb_shared_lay_bulk(), hyb_shared_seal_bulk() and mpa_head_place(), then without
 * them: the peer gets the same FPDUs, in the same packets
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static u8 seen[STREAM_MAX];
	u32 given, pos;
	u64 begins;

	if (size < 2)
		return 0;
	general = false;
	run(data, size);
	given = tcp.given;
	begins = tcp.begins;
	pos = k.pos;
	memcpy(seen, wire, pos);
	general = true;
	run(data, size);
	check(tcp.given == given && tcp.begins == begins);
	check(k.pos == pos && !memcmp(seen, wire, pos));
	return 0;
}
