// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Fuzz target: the transmit engine of the driver (hyb_tx.c, hyb_fast.c, hyb_fpdu.c,
 * hyb_stream.c) as it is, of a queue pair under verbs. Sends, Writes and Reads are
 * posted, the peer reads, TCP takes, sends and acknowledges as much as it likes, the
 * path changes, pages cannot be allocated, a NIC computes CRCs or has no room. Regions go
 * away now and then.
 *
 * Each input runs twice: with hyb_fast_tx() and hyb_fast_rresp(), and with both refused,
 * so that hyb_tx_send() and hyb_tx_rresp() lay out all of it. TCP has to get the same
 * bytes in the same packets, and the requests have to end alike.
 */
#include "iwarp_hybrid/hyb_fpdu.h"
#include "iwarp_hybrid/hyb_mem.h"
#include "iwarp_hybrid/hyb_tx.h"
#include "pick.h"
#include "rx_memory.h"
#include "shared_tcp.h"

#define QUEUE \
	64 /* requests, and Reads of the peer, that wait: a power of two */
#define RECORDS 4096
#define COMPLETIONS 4096
#define KERNEL 32768u /* bytes of memory that is not registered */
#define STEPS 1024
#define MOST (2u << 20) /* nothing is posted after that */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
	bool faults;
} in;

/* The outcome, which has to be the same */
static struct out {
	u32 given;
	u64 begins;
	u32 completions, records;
	u64 completion[COMPLETIONS];
	u64 record[RECORDS];
	u32 events;
	u32 msn[DDP_QN_COUNT];
	u32 irq_get, orq_put, term_len;
	unsigned long counted[HYB_ST_OTHERS];
	u8 term[RDMAP_TERM_MAX];
	u8 bytes[STREAM_MAX];
} outs[2], *out;

unsigned long counted[HYB_ST_OTHERS];

static struct {
	struct hyb_qp qp;
	struct hyb_off off;
	struct hyb_dev dev;
	bool fast;
	struct siw_sqe queue[QUEUE];
	u32 posted, taken;
	struct hyb_orq_entry orq[QUEUE];
	struct hyb_irq_entry irq[QUEUE];
	u8 kernel[KERNEL];
} k;

static struct ib_pd *const pd = (struct ib_pd *)&k;

/* ---- the two ways ---- */

u32 __real_hyb_fast_tx(struct hyb_qp *qp, u64 end);
u32 __wrap_hyb_fast_tx(struct hyb_qp *qp, u64 end);
u32 __real_hyb_fast_rresp(struct hyb_qp *qp, u64 end);
u32 __wrap_hyb_fast_rresp(struct hyb_qp *qp, u64 end);

u32 __wrap_hyb_fast_tx(struct hyb_qp *qp, u64 end)
{
	return k.fast ? __real_hyb_fast_tx(qp, end) : 0;
}

u32 __wrap_hyb_fast_rresp(struct hyb_qp *qp, u64 end)
{
	return k.fast ? __real_hyb_fast_rresp(qp, end) : 0;
}

/* ---- the rest of the driver ---- */

void event(int what)
{
	out->events |= BIT(what);
}

enum hyb_lay hyb_ext_tx_imm(struct hyb_qp *qp)
{
	abort();
}

enum hyb_lay hyb_ext_tx_request(struct hyb_qp *qp)
{
	abort();
}

enum hyb_lay hyb_ext_tx_response(struct hyb_qp *qp)
{
	abort();
}

bool hyb_sq_pending(const struct hyb_qp *qp)
{
	return k.taken != k.posted;
}

int hyb_sq_next(struct hyb_qp *qp, struct siw_sqe *sqe, u32 *slot)
{
	if (k.taken == k.posted)
		return 0;
	*slot = k.taken++;
	*sqe = k.queue[*slot % QUEUE];
	return 1;
}

void hyb_sq_complete(struct hyb_qp *qp, u32 slot, u32 bytes,
		     enum siw_wc_status status)
{
	check(out->completions < COMPLETIONS);
	out->completion[out->completions++] = (u64)bytes << 32 | slot << 8 |
					      status;
}

enum hyb_mem_err hyb_mem_reg(struct hyb_qp *qp, const struct siw_sqe *sqe)
{
	abort();
}

void hyb_off_sealed(struct hyb_qp *qp, u64 pos, u32 len, struct page *page,
		    u32 off, u8 layout)
{
	check(page->refs > 0 && off + len <= page->size);
	check(out->records < RECORDS);
	out->record[out->records++] = pos << 32 | len << 2 | layout;
	tcp_record(pos, len, layout);
}

void hyb_sched_retry(struct hyb_qp *qp, int todo, unsigned long delay)
{
}

int tcp_sendpage_locked(struct sock *sk, struct page *page, u32 off, size_t len,
			int flags)
{
	int room = sk_stream_wspace(sk);

	if (room <= 0)
		return -EAGAIN;
	len = min_t(size_t, len, room);
	return tcp_take(page, off, len) ? (int)len : -EAGAIN;
}

/* ---- requests ---- */

static u32 pick_len(u32 most)
{
	u32 len = pick(3) ? most * (1 + pick(256)) / 256 : pick(256);

	return min(len, most);
}

/* Some bytes of a region or of the kernel's memory */
static void pick_sge(struct siw_sge *sge)
{
	const struct hyb_mem *mem = &regions[pick(REGIONS)].mem;
	u32 at = pick(256) * 17;

	sge->length = pick_len(REGION - at);
	if (one_in(4)) {
		sge->lkey = 0;
		sge->laddr = (uintptr_t)(k.kernel + at);
	} else {
		sge->lkey = mem->stag;
		sge->laddr = mem->va + at;
	}
}

static void post_inline(struct siw_sqe *sqe)
{
	u32 i;

	sqe->flags |= SIW_WQE_INLINE;
	sqe->num_sge = 1;
	sqe->sge[0].length = pick(SIW_MAX_INLINE + 1);
	for (i = 0; i < sqe->sge[0].length; i++)
		((u8 *)&sqe->sge[1])[i] = i * 3;
}

static void post(void)
{
	struct siw_sqe *sqe = &k.queue[k.posted % QUEUE];
	static const u8 ops[] = { SIW_OP_SEND,	SIW_OP_WRITE,
				  SIW_OP_SEND,	SIW_OP_SEND_REMOTE_INV,
				  SIW_OP_WRITE, SIW_OP_READ };
	u32 i;

	if (k.posted - k.taken == QUEUE)
		return;
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = ops[pick(sizeof(ops))];
	sqe->rkey = 0x777700 + pick(256);
	sqe->raddr = 0xffffffff00ull * pick(2) + pick(256) * 7;
	if (one_in(4))
		sqe->flags |= SIW_WQE_SOLICITED;
	if (sqe->opcode == SIW_OP_SEND && one_in(8))
		sqe->flags |= HYB_WQE_IMM;
	if (sqe->opcode == SIW_OP_READ) {
		sqe->num_sge = 1;
		pick_sge(&sqe->sge[0]);
	} else if (one_in(8)) {
		post_inline(sqe);
	} else {
		sqe->num_sge = pick(3) ? 1 : pick(SIW_MAX_SGE + 1);
		for (i = 0; i < sqe->num_sge; i++)
			pick_sge(&sqe->sge[i]);
	}
	k.posted++;
}

/* A Read Request of the peer, as hyb_rx.c takes it */
static void peer_reads(void)
{
	struct hyb_tx *tx = &k.qp.tx;
	struct hyb_irq_entry *irq = &tx->irq[tx->irq_put & tx->irq_mask];
	u32 region = pick(REGIONS), at = pick(256) * 17;
	struct hyb_mem *mem = &regions[region].mem;
	enum hyb_mem_err err;

	if (tx->irq_put - tx->irq_get == QUEUE)
		return;
	memset(irq, 0, sizeof(*irq));
	irq->msn = tx->irq_put + 1;
	irq->req = (struct rdmap_rreq){ .sink_stag = 0x9900 + pick(256),
					.sink_to = pick(256) << 24,
					.size = pick_len(REGION - at),
					.src_stag = mem->stag,
					.src_to = mem->va + at };
	if (irq->req.size) {
		irq->mem = hyb_mem_get(pd, mem->stag, irq->req.src_to,
				       irq->req.size, IB_ACCESS_REMOTE_READ,
				       &err);
		if (!irq->mem)
			return;
	}
	tx->irq_put++;
}

/* ---- from the beginning to the end ---- */

static void begin(bool fast)
{
	static const u32 ivls[] = { 0, 512, 256, 1024 };
	struct mpa_result res = { .crc = pick(8),
				  .tx_ivl = ivls[pick(4)],
				  .ord = 1 + pick(8),
				  .ird = QUEUE };
	struct hyb_qp *qp = &k.qp;
	u32 i, j;

	memset(&k, 0, sizeof(k));
	memset(counted, 0, sizeof(counted));
	memset(out, 0, offsetof(struct out, bytes));
	memory.order_max = 3;
	memory.no_objects = false;
	k.fast = fast;
	for (i = 0; i < KERNEL; i++)
		k.kernel[i] = i * 5 + (i >> 8);
	regions_begin(pd, false);
	for (i = 0; i < REGIONS; i++) {
		regions[i].mem.access |= IB_ACCESS_REMOTE_READ;
		for (j = 0; j < sizeof(regions[i].bytes); j++)
			regions[i].bytes[j] = i * 31 + j * 7 + (j >> 8);
	}
	in.faults = one_in(4);
	tcp_begin(0u - pick(256) * 256);
	tcp.uneven = one_in(8);
	tcp.nic_room = pick(2) ? 1 << 20 : pick(64);
	tcp.tp.icsk.sk.sk_route_caps = NETIF_F_SG;
	tcp.sndbuf = 4096 + pick(256) * 1024;
	if (one_in(4))
		tcp.tp.icsk.sk.dst.mtu = 9000;
	qp->ibqp.device = &k.dev;
	qp->ibqp.pd = pd;
	k.off.tx_crc = true;
	if (!pick(3))
		qp->off = &k.off;
	hyb_tx_init(qp, &res);
	qp->tx.orq = k.orq;
	qp->tx.orq_mask = QUEUE - 1;
	qp->tx.irq = k.irq;
	qp->tx.irq_mask = QUEUE - 1;
	qp->tcp.sk = &tcp.tp.icsk.sk;
	qp->tcp.attached = true;
	hyb_stream_attach(&qp->tx.s, qp->tcp.sk);
}

static void step(void)
{
	static const u32 mtus[] = { 1500, 9000, 1400, 576, 4000 };

	switch (pick(8)) {
	case 0:
	case 1:
		post();
		break;
	case 2:
		peer_reads();
		break;
	case 3:
		/* responses to Reads of ours */
		if (k.qp.tx.orq_get != k.qp.tx.orq_put) {
			struct hyb_tx *tx = &k.qp.tx;
			struct hyb_orq_entry *orq =
				&tx->orq[tx->orq_get++ & tx->orq_mask];

			if (orq->mem)
				hyb_mem_put(orq->mem);
		}
		break;
	case 4:
		tcp_send(pick(256) * 512);
		break;
	case 5:
		tcp_send(pick(256) * 512);
		tcp_ack(pick(256) * 512);
		break;
	case 6:
		if (one_in(8))
			tcp.tp.icsk.sk.dst.mtu = mtus[pick(5)];
		if (one_in(16))
			memory.order_max = (int)pick(5) - 1;
		break;
	default:
		if (in.faults && one_in(8))
			hyb_mem_invalidate(pd, REGION_STAG + pick(REGIONS),
					   false);
	}
	if (pick(2))
		hyb_tx_run(&k.qp);
}

/* TCP takes all that there is */
static void drain(void)
{
	u32 turns = 0, before;

	memory.order_max = 3;
	tcp.nic_room = 1 << 20;
	do {
		before = tcp.given;
		tcp_send(UINT32_MAX);
		tcp_ack(UINT32_MAX);
		for (; k.qp.tx.orq_get != k.qp.tx.orq_put; k.qp.tx.orq_get++)
			if (k.orq[k.qp.tx.orq_get % QUEUE].mem)
				hyb_mem_put(k.orq[k.qp.tx.orq_get % QUEUE].mem);
		hyb_tx_run(&k.qp);
		check(++turns < STEPS * 4);
	} while (tcp.given != before);
}

static void result(void)
{
	const struct hyb_tx *tx = &k.qp.tx;

	check(hyb_stream_empty(&tx->s));
	check(tx->term_len ||
	      (k.taken == k.posted && tx->irq_get == tx->irq_put &&
	       tx->busy == HYB_TX_NONE));
	out->given = tcp.given;
	out->begins = tcp.begins;
	memcpy(out->bytes, tcp.bytes, tcp.given);
	memcpy(out->msn, tx->msn, sizeof(out->msn));
	out->irq_get = tx->irq_get;
	out->orq_put = tx->orq_put;
	out->term_len = tx->term_len;
	memcpy(out->term, tx->term, tx->term_len);
	memcpy(out->counted, counted, sizeof(counted));
}

static void run(bool fast)
{
	u32 steps;

	begin(fast);
	for (steps = 0; steps < STEPS && tcp.given < MOST; steps++) {
		if (!from.left && steps >= 64)
			break;
		step();
	}
	drain();
	result();
	hyb_tx_abandon(&k.qp);
	k.qp.tx.orq = &k.qp.tx.orq_first;
	k.qp.tx.irq = &k.qp.tx.irq_first;
	hyb_tx_free(&k.qp);
	tcp_end();
	regions_end();
	check(!memory.pages && !memory.objects);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		pick_begin(data, size);
		out = &outs[i];
		run(!i);
	}
	check(!memcmp(&outs[0], &outs[1], offsetof(struct out, bytes)));
	check(!memcmp(outs[0].bytes, outs[1].bytes, outs[0].given));
	return 0;
}
