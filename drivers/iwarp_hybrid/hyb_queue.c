// SPDX-License-Identifier: GPL-2.0
/*
 * Send and receive queues: posting, taking, completion in order, flush.
 *
 * Rings have the layout of siw-abi.h. Those of users are hostile: an entry is
 * copied to private memory once, then checked, then used; indices and what is
 * needed for completion are kept where users cannot write.
 *
 * Calls hyb_cq.c and hyb_obj.c; kicks the engines through hyb_sched.c when work was
 * posted. hyb_sched.c also calls hyb_qp_flush_again() later, by a pointer.
 */
#include "hyb_sched.h"
#include "hybrid.h"

#define HYB_FLUSH_BATCH		64	/* entries flushed with a lock held */

/* Of hyb_qp_flush_again() */
#define HYB_FLUSH_AGAIN		1024	/* entries of a queue in a run */
#define HYB_FLUSH_STEP		msecs_to_jiffies(10)
#define HYB_FLUSH_RUNS		10	/* the time until the next run grows to so many steps */
#define HYB_FLUSH_EMPTY		15	/* runs that find nothing, which take a second */

/* -------------------------------------------------------------- completions */

static void hyb_qp_complete(struct hyb_qp *qp, struct hyb_cq *cq,
			    struct siw_cqe *cqe, bool solicited)
{
	if (READ_ONCE(qp->dead))
		return;
	cqe->flags |= SIW_WQE_VALID;
	if (cq->umap)
		cqe->qp_id = qp->ibqp.qp_num;
	else
		cqe->base_qp = &qp->ibqp;
	if (cqe->status == SIW_WC_WR_FLUSH_ERR)
		hyb_stats_inc(qp->dev, HYB_ST_FLUSHED);
	if (!hyb_cq_push(cq, cqe, solicited))
		hyb_qp_fault(qp);
}

static void hyb_sq_emit(struct hyb_qp *qp, const struct hyb_sq_slot *slot)
{
	struct siw_cqe cqe = {
		.id = slot->id,
		.opcode = slot->opcode,
		.status = slot->status,
		.bytes = slot->bytes,
	};

	if (slot->signalled || slot->status != SIW_WC_SUCCESS)
		hyb_qp_complete(qp, qp->scq, &cqe,
				slot->status != SIW_WC_SUCCESS);
}

/**
 * hyb_rq_complete - a receive is finished
 * @qp: queue pair
 * @rqe: the receive, from hyb_rq_get()
 * @bytes: length of the message
 * @inval_stag: STag that the peer invalidated, 0 for none
 * @solicited: the peer asked for an event
 * @status: result
 *
 * hyb_qp_notify() must follow.
 *
 * Context: any.
 */
void hyb_rq_complete(struct hyb_qp *qp, const struct siw_rqe *rqe, u32 bytes,
		     u32 inval_stag, bool solicited, enum siw_wc_status status)
{
	struct siw_cqe cqe = {
		.id = rqe->id,
		.opcode = SIW_OP_RECEIVE,
		.status = status,
		.bytes = bytes,
	};

	if (inval_stag) {
		cqe.flags = SIW_WQE_REM_INVAL;
		cqe.inval_stag = inval_stag;
	}
	if (solicited)
		cqe.flags |= SIW_WQE_SOLICITED;
	hyb_qp_complete(qp, qp->rcq, &cqe,
			solicited || status != SIW_WC_SUCCESS);
}

/**
 * hyb_rq_complete_imm - a receive is finished, with immediate data
 * @qp: queue pair
 * @rqe: the receive, from hyb_rq_get()
 * @bytes: length of the message, or of the Write
 * @imm: immediate data
 * @rdma: the receive was taken by a Write, and nothing is in it
 * @solicited: the peer asked for an event
 *
 * Programs, whose format has no name for it, see a receive; the flag and the
 * data are there all the same. hyb_qp_notify() must follow.
 *
 * Context: any.
 */
void hyb_rq_complete_imm(struct hyb_qp *qp, const struct siw_rqe *rqe,
			 u32 bytes, u32 imm, bool rdma, bool solicited)
{
	struct siw_cqe cqe = {
		.id = rqe->id,
		.opcode = rdma && !qp->rcq->umap ? HYB_OP_RECV_IMM :
						   SIW_OP_RECEIVE,
		.status = SIW_WC_SUCCESS,
		.bytes = bytes,
		.flags = HYB_WQE_IMM,
		.imm_data = imm,
	};

	if (solicited)
		cqe.flags |= SIW_WQE_SOLICITED;
	hyb_qp_complete(qp, qp->rcq, &cqe, solicited);
}

/**
 * hyb_qp_notify - tell consumers about completions
 * @qp: queue pair
 *
 * To be called once after a batch of completions.
 *
 * Context: any, but without hyb_sq.lock and hyb_rq.lock held: completion handlers
 * may post.
 * Return: how many were woken; engines count them for the queue pair.
 */
u32 hyb_qp_notify(struct hyb_qp *qp)
{
	u32 woken = hyb_cq_notify(qp->scq);

	if (qp->rcq != qp->scq)
		woken += hyb_cq_notify(qp->rcq);
	return woken;
}

/* --------------------------------------------------- send queue, engine side */

static bool hyb_sqe_has_sges(const struct siw_sqe *sqe)
{
	return sqe->opcode == SIW_OP_WRITE || sqe->opcode == SIW_OP_SEND ||
	       sqe->opcode == SIW_OP_SEND_REMOTE_INV;
}

/* Checks a private copy of what a user wrote; lengths may be anything */
static bool hyb_sqe_valid(const struct siw_sqe *sqe)
{
	u64 len = 0;
	int i;

	if (sqe->opcode == SIW_OP_READ)
		return sqe->num_sge <= 1 && !(sqe->flags & SIW_WQE_INLINE) &&
		       (!sqe->num_sge || sqe->sge[0].length <= HYB_MAX_MSG);
	if (!hyb_sqe_has_sges(sqe))
		return false;
	if (sqe->flags & SIW_WQE_INLINE)
		return sqe->sge[0].length <= SIW_MAX_INLINE;
	for (i = 0; i < sqe->num_sge; i++)
		len += sqe->sge[i].length;
	return len <= HYB_MAX_MSG;
}

/*
 * Copies an entry. Returns false, with the number of SGEs made harmless, if
 * that is out of range.
 */
static bool hyb_sqe_copy(struct siw_sqe *sqe, const struct siw_sqe *from)
{
	unsigned int n;

	memcpy(sqe, from, offsetof(struct siw_sqe, sge));
	barrier();	/* from here on only the copy counts */
	/* However many pieces there were: a user's library puts them together */
	if (sqe->flags & SIW_WQE_INLINE)
		sqe->num_sge = 1;
	n = sqe->num_sge;
	if (n > SIW_MAX_SGE) {
		sqe->num_sge = 0;
		return false;
	}
	if ((sqe->flags & SIW_WQE_INLINE) || hyb_sqe_is_atomic(sqe))
		n = SIW_MAX_SGE;
	else if (!n)
		n = 1;		/* access rights, or a sink without length */
	memcpy(sqe->sge, from->sge, n * sizeof(sqe->sge[0]));
	barrier();
	return true;
}

/**
 * hyb_sq_pending - is there a request not yet started?
 * @qp: queue pair
 *
 * Context: TCP socket held; or hyb_sq.lock held after the engines have stopped.
 */
bool hyb_sq_pending(const struct hyb_qp *qp)
{
	const struct hyb_sq *sq = &qp->sq;

	if (sq->tx - sq->get > sq->mask)
		return false;
	/* The flag comes first, then what the producer wrote before it */
	return smp_load_acquire(&sq->ring[sq->tx & sq->mask].flags) &
	       SIW_WQE_VALID;
}

/**
 * hyb_sq_next - take the next request
 * @qp: queue pair
 * @sqe: private copy of it
 * @slot: its free-running index, for hyb_sq_complete(); a resize of the queue keeps it
 *	  valid
 *
 * Context: as hyb_sq_pending().
 * Return: 1; 0 if there is none; -EINVAL if the entry, which a user wrote,
 * makes no sense: it is to be completed with SIW_WC_LOC_QP_OP_ERR.
 */
int hyb_sq_next(struct hyb_qp *qp, struct siw_sqe *sqe, u32 *slot)
{
	struct hyb_sq *sq = &qp->sq;
	struct hyb_sq_slot *s;
	struct siw_sqe *e;
	bool valid;

	if (!hyb_sq_pending(qp))
		return 0;
	*slot = sq->tx++;
	e = &sq->ring[*slot & sq->mask];
	valid = hyb_sqe_copy(sqe, e);
	if (qp->user) {
		sqe->flags &= ~HYB_WQE_IMM;
		valid = valid && hyb_sqe_valid(sqe);
	}

	s = hyb_sq_slot(sq, *slot);
	s->id = sqe->id;
	s->opcode = sqe->opcode;
	if (qp->user && sqe->opcode >= SIW_NUM_OPCODES)
		s->opcode = SIW_OP_SEND;
	s->signalled = sq->sig_all || (sqe->flags & SIW_WQE_SIGNALLED);
	s->done = false;
	s->lent = false;
	/* The ring entry may be filled again */
	smp_store_release(&e->flags, 0);
	if (qp->user) {
		/*
		 * A user's library hands over an entry, then looks at this one,
		 * and rings the doorbell only if it has been taken. So it must
		 * be seen as taken before we look for the next. Producers in
		 * the kernel always kick the engine.
		 */
		smp_mb();
	}
	return valid ? 1 : -EINVAL;
}

/* Gives the oldest slot back to the producer, then tells the consumer */
static void hyb_sq_retire(struct hyb_qp *qp)
{
	struct hyb_sq *sq = &qp->sq;
	u32 idx = sq->get & sq->mask;
	struct hyb_sq_slot slot = sq->slot[idx];

	/* Gives the slot back to producers of the kernel */
	smp_store_release(&sq->get, sq->get + 1);
	hyb_sq_emit(qp, &slot);
}

static void hyb_sq_retire_done(struct hyb_qp *qp)
{
	struct hyb_sq *sq = &qp->sq;

	while (sq->get != sq->tx && hyb_sq_slot(sq, sq->get)->done)
		hyb_sq_retire(qp);
}

/**
 * hyb_sq_complete - a request is finished
 * @qp: queue pair
 * @slot: from hyb_sq_next()
 * @bytes: length of the message
 * @status: result
 *
 * Requests complete in the order they were posted in: this one waits until
 * those before it are finished. hyb_qp_notify() must follow.
 *
 * Context: holder of the TCP socket.
 */
void hyb_sq_complete(struct hyb_qp *qp, u32 slot, u32 bytes,
		     enum siw_wc_status status)
{
	struct hyb_sq_slot *s = hyb_sq_slot(&qp->sq, slot);

	s->bytes = bytes;
	s->status = status;
	s->done = true;
	hyb_sq_retire_done(qp);
}

/**
 * hyb_sq_lend - a request is transmitted, but TCP needs its memory
 * @qp: queue pair
 * @slot: from hyb_sq_next()
 * @bytes: length of the message
 * @status: result
 * @end: position after it
 *
 * It is finished when its memory is not in use any more, see hyb_sq_unlent().
 *
 * Context: holder of the TCP socket.
 */
void hyb_sq_lend(struct hyb_qp *qp, u32 slot, u32 bytes,
		 enum siw_wc_status status, u64 end)
{
	struct hyb_sq_slot *s = hyb_sq_slot(&qp->sq, slot);

	s->bytes = bytes;
	s->status = status;
	s->end = end;
	s->lent = true;
	if (!qp->sq.nlent++)
		qp->sq.lent = slot;
}

/**
 * hyb_sq_unlent - finish requests whose memory is not needed any more
 * @qp: queue pair
 * @pos: position up to which that is so
 *
 * hyb_qp_notify() must follow. Context: holder of the TCP socket.
 */
void hyb_sq_unlent(struct hyb_qp *qp, u64 pos)
{
	struct hyb_sq *sq = &qp->sq;
	struct hyb_sq_slot *s;
	u32 i;

	/* do not stop at a Read: requests after it may not get another acknowledgment */
	for (i = sq->lent; sq->nlent && i != sq->tx; i++) {
		s = hyb_sq_slot(sq, i);
		if (!s->lent)
			continue;
		/* later requests have higher positions */
		if (s->end > pos)
			break;
		s->lent = false;
		s->done = true;
		sq->nlent--;
	}
	sq->lent = i;
	hyb_sq_retire_done(qp);
}

/* ------------------------------------------------ receive queue, engine side */

/* Is the limit event of a shared queue due? If so, disarms it; the caller raises the event. */
static bool hyb_srq_low(struct hyb_srq *srq)
{
	const struct hyb_rq *rq = &srq->rq;
	const struct siw_rqe *last;

	if (!srq->limit)
		return false;
	last = &rq->ring[(rq->get + srq->limit - 1) & rq->mask];
	if (READ_ONCE(last->flags) & SIW_WQE_VALID)
		return false;
	srq->limit = 0;
	return true;
}

static void hyb_srq_limit_event(struct hyb_srq *srq)
{
	struct ib_event event = {
		.event = IB_EVENT_SRQ_LIMIT_REACHED,
		.device = srq->ibsrq.device,
		.element.srq = &srq->ibsrq,
	};

	if (srq->ibsrq.event_handler)
		srq->ibsrq.event_handler(&event, srq->ibsrq.srq_context);
}

/* Takes an entry; a number of SGEs out of range leaves a buffer without room */
static bool hyb_rq_take(struct hyb_rq *rq, struct siw_rqe *rqe)
{
	struct siw_rqe *e;

	lockdep_assert_held(&rq->lock);

	if (!rq->ring)
		return false;
	e = &rq->ring[rq->get & rq->mask];
	/* The flag comes first, then what the producer wrote before it */
	if (!(smp_load_acquire(&e->flags) & SIW_WQE_VALID))
		return false;
	memcpy(rqe, e, offsetof(struct siw_rqe, sge));
	barrier();	/* from here on only the copy counts */
	if (rqe->num_sge > SIW_MAX_SGE)
		rqe->num_sge = 0;
	memcpy(rqe->sge, e->sge, rqe->num_sge * sizeof(e->sge[0]));
	/* The copy is made: producers may fill the slot */
	smp_store_release(&e->flags, 0);
	rq->get++;
	return true;
}

/* Adds memory to the next entry if @len bytes need it; true if there is none to add */
static bool hyb_rq_lacks(struct hyb_rq *rq, u32 len)
{
	struct ib_sge sge;
	struct siw_rqe *e;

	lockdep_assert_held(&rq->lock);

	if (likely(!rq->fill))
		return false;
	e = &rq->ring[rq->get & rq->mask];
	/* written under the same lock, as no user's queue has @fill */
	if (!(e->flags & SIW_WQE_VALID) || e->num_sge != 1 ||
	    len <= e->sge[0].length)
		return false;
	if (!rq->fill((struct ib_cqe *)(uintptr_t)e->id, &sge))
		return true;
	e->sge[1] = (struct siw_sge) {
		.laddr = sge.addr,
		.length = sge.length,
		.lkey = sge.lkey,
	};
	e->num_sge = 2;
	return false;
}

/**
 * hyb_rq_get - take the next receive
 * @qp: queue pair
 * @rqe: private copy of it
 * @len: bytes that the message has, U32_MAX: not known
 *
 * Context: any.
 * Return: 1, or 0 if there is none, or no memory for it.
 */
int hyb_rq_get(struct hyb_qp *qp, struct siw_rqe *rqe, u32 len)
{
	struct hyb_srq *srq = qp->srq;
	struct hyb_rq *rq = srq ? &srq->rq : &qp->rq;
	unsigned long flags;
	bool got, low;

	spin_lock_irqsave(&rq->lock, flags);
	got = !hyb_rq_lacks(rq, len) && hyb_rq_take(rq, rqe);
	low = got && srq && hyb_srq_low(srq);
	spin_unlock_irqrestore(&rq->lock, flags);

	if (low)
		hyb_srq_limit_event(srq);
	return got;
}

/**
 * hyb_rq_ready - is there a receive?
 * @qp: queue pair
 *
 * The caller sets hyb_rx.paused first. A post of the kernel that this function does
 * not see takes the lock later, finds hyb_rx.paused set and kicks the engine.
 *
 * Context: any.
 * Return: true if there is one.
 */
bool hyb_rq_ready(struct hyb_qp *qp)
{
	struct hyb_rq *rq = qp->srq ? &qp->srq->rq : &qp->rq;
	unsigned long flags;
	bool ready;

	spin_lock_irqsave(&rq->lock, flags);
	ready = rq->ring &&
		READ_ONCE(rq->ring[rq->get & rq->mask].flags) & SIW_WQE_VALID;
	spin_unlock_irqrestore(&rq->lock, flags);
	return ready;
}

/**
 * hyb_rq_memory - rdma_stack_link.rx_memory
 * @ibqp: queue pair of the kernel, nothing posted
 * @fill: adds memory to a receive
 *
 * Context: any.
 */
void hyb_rq_memory(struct ib_qp *ibqp,
		   bool (*fill)(struct ib_cqe *cqe, struct ib_sge *sge))
{
	struct hyb_rq *rq = &hyb_qp_of(ibqp)->rq;
	unsigned long flags;

	spin_lock_irqsave(&rq->lock, flags);
	rq->fill = fill;
	spin_unlock_irqrestore(&rq->lock, flags);
}

/**
 * hyb_rq_again - rdma_stack_link.rx_again
 * @ibqp: queue pair of the kernel
 *
 * Context: any.
 */
void hyb_rq_again(struct ib_qp *ibqp)
{
	hyb_sched_kick_rx(hyb_qp_of(ibqp));
}

/* ---------------------------------------------------------------------- flush */

/* Flushes the oldest request; false if there is none */
static bool hyb_sq_flush_one(struct hyb_qp *qp)
{
	struct hyb_sq *sq = &qp->sq;
	struct hyb_sq_slot *s;
	struct siw_sqe sqe;
	u32 slot;

	lockdep_assert_held(&sq->lock);

	if (sq->get == sq->tx && !hyb_sq_next(qp, &sqe, &slot))
		return false;
	s = &sq->slot[sq->get & sq->mask];
	/* a request that failed by itself keeps its status */
	if (!s->done && (!s->lent || s->status == SIW_WC_SUCCESS)) {
		s->status = SIW_WC_WR_FLUSH_ERR;
		s->bytes = 0;
	}
	hyb_sq_retire(qp);
	return true;
}

/*
 * A user can post as fast as this flushes. So flush two rounds of the ring at most: the
 * requests that were taken, and one round of others. Nor does it flush more than @max.
 * Entries may be left then, for which a user rings no doorbell: it does so only if the
 * entry before a new one has been taken. hyb_qp_flush_again() finds them. Queues of the
 * kernel are flushed completely. Returns how many were flushed.
 */
static u32 hyb_sq_flush(struct hyb_qp *qp, u32 max)
{
	struct hyb_sq *sq = &qp->sq;
	u32 n, limit, done = 0;
	unsigned long flags;
	bool more = true;

	while (more) {
		spin_lock_irqsave(&sq->lock, flags);
		/* in state ERROR the size does not change any more */
		limit = min(max, 2 * (sq->mask + 1));
		for (n = 0; n < HYB_FLUSH_BATCH && more; n++) {
			more = (!qp->user || done < limit) &&
			       hyb_sq_flush_one(qp);
			done += more;
		}
		sq->flushed = !more;
		spin_unlock_irqrestore(&sq->lock, flags);
	}
	return done;
}

/* As hyb_sq_flush(), one round of the ring */
static u32 hyb_rq_flush(struct hyb_qp *qp, u32 max)
{
	struct hyb_rq *rq = &qp->rq;
	u32 n, limit, done = 0;
	struct siw_rqe rqe;
	unsigned long flags;
	bool more = true;

	while (more) {
		spin_lock_irqsave(&rq->lock, flags);
		limit = min(max, rq->mask + 1);
		for (n = 0; n < HYB_FLUSH_BATCH && more; n++) {
			more = (!qp->user || done < limit) &&
			       hyb_rq_take(rq, &rqe);
			if (!more)
				break;
			hyb_rq_complete(qp, &rqe, 0, 0, false,
					SIW_WC_WR_FLUSH_ERR);
			done++;
		}
		rq->flushed = !more;
		spin_unlock_irqrestore(&rq->lock, flags);
	}
	return done;
}

/* Have hyb_qp_flush_again() look at the rings of a user */
static void hyb_flush_soon(struct hyb_qp *qp)
{
	u8 runs = READ_ONCE(qp->flush_runs);

	if (!qp->user || READ_ONCE(qp->dead) ||
	    READ_ONCE(qp->flush_empty) >= HYB_FLUSH_EMPTY)
		return;
	WRITE_ONCE(qp->flush_runs, min(runs + 1, HYB_FLUSH_RUNS));
	hyb_sched_retry(qp, HYB_TODO_FLUSH,
			HYB_FLUSH_STEP * READ_ONCE(qp->flush_runs));
}

/* Receives of a shared queue stay there: the queue pair only raises the last event */
static void hyb_srq_last(struct hyb_qp *qp)
{
	unsigned long flags;
	bool first;

	spin_lock_irqsave(&qp->rq.lock, flags);
	first = !qp->rq.flushed;
	qp->rq.flushed = true;
	spin_unlock_irqrestore(&qp->rq.lock, flags);
	if (first)
		hyb_qp_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
}

/**
 * hyb_qp_flush - complete all that is in the queues with an error
 * @qp: queue pair in state ERROR whose engines have stopped, with no receive
 *	or request in their hands
 *
 * From now on requests complete as soon as they are posted; those of a user that come
 * without a doorbell a little later. Consumers are notified. May be repeated.
 *
 * Context: any, but without hyb_sq.lock and hyb_rq.lock held.
 */
void hyb_qp_flush(struct hyb_qp *qp)
{
	hyb_sq_flush(qp, U32_MAX);
	if (qp->srq)
		hyb_srq_last(qp);
	else
		hyb_rq_flush(qp, U32_MAX);
	hyb_qp_notify(qp);
	WRITE_ONCE(qp->flush_runs, 0);
	WRITE_ONCE(qp->flush_empty, 0);
	hyb_flush_soon(qp);
}

/**
 * hyb_qp_flush_again - complete what a user has posted without a doorbell
 * @qp: queue pair after hyb_qp_flush()
 *
 * Looks again until it has found nothing for a second. A user can keep it busy for ever
 * without a system call. So it flushes little at a time, and soon looks ten times a second
 * only: about two milliseconds of a processor in a second.
 *
 * Context: as hyb_qp_flush().
 */
void hyb_qp_flush_again(struct hyb_qp *qp)
{
	u32 done = hyb_sq_flush(qp, HYB_FLUSH_AGAIN);

	if (!qp->srq)
		done += hyb_rq_flush(qp, HYB_FLUSH_AGAIN);
	if (done)
		hyb_qp_notify(qp);
	WRITE_ONCE(qp->flush_empty, done ? 0 : qp->flush_empty + 1);
	hyb_flush_soon(qp);
}

/**
 * hyb_qp_abort - to ERROR from any state
 * @qp: queue pair
 * @how: HYB_CLOSE_ABORT or HYB_CLOSE_RESET
 *
 * The queues get flushed, now or soon.
 *
 * Context: any, but without the QP's TCP socket, hyb_tcp.lock, hyb_sq.lock and
 * hyb_rq.lock held; see hyb_qp_fault().
 */
void hyb_qp_abort(struct hyb_qp *qp, enum hyb_close how)
{
	bool idle = hyb_qp_set_error(qp);

	/* Also ends a connection attempt under way */
	hyb_qp_close(qp, how);
	if (idle || READ_ONCE(qp->sq.flushed))
		hyb_qp_flush(qp);
}

/* -------------------------------------------------------------------- posting */

#define OP(opcode)	(1 + (opcode))	/* 0: there is none */
static const u8 hyb_sq_opcode[] = {
	[IB_WR_RDMA_WRITE] = OP(SIW_OP_WRITE),
	[IB_WR_RDMA_WRITE_WITH_IMM] = OP(SIW_OP_WRITE),
	[IB_WR_SEND] = OP(SIW_OP_SEND),
	[IB_WR_SEND_WITH_IMM] = OP(SIW_OP_SEND),
	[IB_WR_RDMA_READ] = OP(SIW_OP_READ),
	[IB_WR_ATOMIC_CMP_AND_SWP] = OP(SIW_OP_COMP_AND_SWAP),
	[IB_WR_ATOMIC_FETCH_AND_ADD] = OP(SIW_OP_FETCH_AND_ADD),
	[IB_WR_MASKED_ATOMIC_CMP_AND_SWP] = OP(HYB_OP_MASKED_COMP_SWAP),
	[IB_WR_MASKED_ATOMIC_FETCH_AND_ADD] = OP(HYB_OP_MASKED_FETCH_ADD),
	[IB_WR_SEND_WITH_INV] = OP(SIW_OP_SEND_REMOTE_INV),
	[IB_WR_RDMA_READ_WITH_INV] = OP(SIW_OP_READ_LOCAL_INV),
	[IB_WR_LOCAL_INV] = OP(SIW_OP_INVAL_STAG),
	[IB_WR_REG_MR] = OP(SIW_OP_REG_MR),
};

#undef OP

static int hyb_sq_opcode_of(const struct ib_send_wr *wr)
{
	if (wr->opcode >= ARRAY_SIZE(hyb_sq_opcode) ||
	    !hyb_sq_opcode[wr->opcode])
		return -EINVAL;
	return hyb_sq_opcode[wr->opcode] - 1;
}

/* Requests that the peer must have agreed to, see MPA_CODE_EXT */
static bool hyb_sq_needs_ext(const struct ib_send_wr *wr)
{
	switch (wr->opcode) {
	case IB_WR_RDMA_WRITE_WITH_IMM:
	case IB_WR_SEND_WITH_IMM:
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
	case IB_WR_MASKED_ATOMIC_CMP_AND_SWP:
	case IB_WR_MASKED_ATOMIC_FETCH_AND_ADD:
		return true;
	default:
		return false;
	}
}

/* Inline data lie where the second and later SGEs would be */
static int hyb_sqe_inline(struct siw_sqe *sqe, const struct ib_send_wr *wr)
{
	u8 *to = (u8 *)&sqe->sge[1];
	u32 len = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		const struct ib_sge *sge = &wr->sg_list[i];

		if (sge->length > SIW_MAX_INLINE - len)
			return -EINVAL;
		memcpy(to + len, (void *)(uintptr_t)sge->addr, sge->length);
		len += sge->length;
	}
	sqe->sge[0] = (struct siw_sge) { .length = len };
	sqe->num_sge = 1;
	sqe->flags |= SIW_WQE_INLINE;
	return 0;
}

static int hyb_sqe_sges(struct siw_sqe *sqe, const struct ib_send_wr *wr,
			int max)
{
	u64 len = 0;
	int i;

	if (wr->num_sge > max)
		return -EINVAL;
	for (i = 0; i < wr->num_sge; i++) {
		len += wr->sg_list[i].length;
		sqe->sge[i] = (struct siw_sge) {
			.laddr = wr->sg_list[i].addr,
			.length = wr->sg_list[i].length,
			.lkey = wr->sg_list[i].lkey,
		};
	}
	sqe->num_sge = wr->num_sge;
	return len > HYB_MAX_MSG ? -EINVAL : 0;
}

static int hyb_sqe_data(struct siw_sqe *sqe, const struct ib_send_wr *wr,
			int max)
{
	if (wr->send_flags & IB_SEND_SOLICITED)
		sqe->flags |= SIW_WQE_SOLICITED;
	if (wr->send_flags & IB_SEND_INLINE)
		return hyb_sqe_inline(sqe, wr);
	return hyb_sqe_sges(sqe, wr, max);
}

static int hyb_sqe_write(struct siw_sqe *sqe, const struct ib_send_wr *wr,
			 int max)
{
	sqe->raddr = rdma_wr(wr)->remote_addr;
	sqe->rkey = rdma_wr(wr)->rkey;
	return hyb_sqe_data(sqe, wr, max);
}

static int hyb_sqe_atomic(struct siw_sqe *sqe, const struct ib_send_wr *wr)
{
	const struct ib_atomic_wr *awr = atomic_wr(wr);

	if (wr->num_sge != 1 || wr->sg_list[0].length != sizeof(u64) ||
	    (wr->send_flags & IB_SEND_INLINE))
		return -EINVAL;
	sqe->raddr = awr->remote_addr;
	sqe->rkey = awr->rkey;
	sqe->sge[HYB_SGE_COMPARE_ADD].laddr = awr->compare_add;
	sqe->sge[HYB_SGE_SWAP].laddr = awr->swap;
	sqe->sge[HYB_SGE_COMPARE_MASK].laddr = awr->compare_add_mask;
	sqe->sge[HYB_SGE_SWAP_MASK].laddr = awr->swap_mask;
	return hyb_sqe_sges(sqe, wr, 1);
}

/* A region is looked up when its turn comes, by its STag */
static void hyb_sqe_reg(struct siw_sqe *sqe, const struct ib_reg_wr *wr)
{
	sqe->rkey = wr->key;
	sqe->raddr = wr->mr->iova;
	sqe->access = wr->access;
	sqe->num_sge = 0;
}

/* Fills an entry; all but the VALID flag, which hands it over */
static int hyb_sqe_fill(struct hyb_sq *sq, struct siw_sqe *sqe,
			const struct ib_send_wr *wr)
{
	struct hyb_sq_slot *slot = &sq->slot[sq->put & sq->mask];
	int opcode = hyb_sq_opcode_of(wr);

	if (opcode < 0)
		return opcode;
	sqe->id = wr->wr_id;
	sqe->opcode = opcode;
	sqe->num_sge = 0;
	sqe->flags = 0;
	if (wr->send_flags & IB_SEND_SIGNALED)
		sqe->flags |= SIW_WQE_SIGNALLED;
	if (wr->send_flags & IB_SEND_FENCE)
		sqe->flags |= SIW_WQE_READ_FENCE;

	switch (wr->opcode) {
	case IB_WR_SEND_WITH_INV:
		sqe->rkey = wr->ex.invalidate_rkey;
		fallthrough;
	case IB_WR_SEND:
		return hyb_sqe_data(sqe, wr, sq->max_sge);
	case IB_WR_SEND_WITH_IMM:
		sqe->flags |= HYB_WQE_IMM;
		sqe->rkey = be32_to_cpu(wr->ex.imm_data);
		return hyb_sqe_data(sqe, wr, sq->max_sge);
	case IB_WR_RDMA_WRITE_WITH_IMM:
		sqe->flags |= HYB_WQE_IMM;
		slot->imm = be32_to_cpu(wr->ex.imm_data);
		fallthrough;
	case IB_WR_RDMA_WRITE:
		return hyb_sqe_write(sqe, wr, sq->max_sge);
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
	case IB_WR_MASKED_ATOMIC_CMP_AND_SWP:
	case IB_WR_MASKED_ATOMIC_FETCH_AND_ADD:
		return hyb_sqe_atomic(sqe, wr);
	case IB_WR_RDMA_READ:
	case IB_WR_RDMA_READ_WITH_INV:
		sqe->raddr = rdma_wr(wr)->remote_addr;
		sqe->rkey = rdma_wr(wr)->rkey;
		sqe->sge[0] = (struct siw_sge) {};
		return hyb_sqe_sges(sqe, wr, 1);
	case IB_WR_LOCAL_INV:
		sqe->rkey = wr->ex.invalidate_rkey;
		return 0;
	case IB_WR_REG_MR:
		hyb_sqe_reg(sqe, reg_wr(wr));
		return 0;
	default:
		return -EINVAL;
	}
}

static int hyb_sq_post_one(struct hyb_sq *sq, const struct ib_send_wr *wr,
			   bool ext)
{
	struct siw_sqe *sqe = &sq->ring[sq->put & sq->mask];
	u16 flags;
	int err;

	lockdep_assert_held(&sq->lock);

	/* Pairs with hyb_sq_retire() */
	if (sq->put - smp_load_acquire(&sq->get) > sq->mask)
		return -ENOMEM;
	if (!ext && hyb_sq_needs_ext(wr))
		return -EOPNOTSUPP;
	err = hyb_sqe_fill(sq, sqe, wr);
	flags = sqe->flags;
	if (err) {
		WRITE_ONCE(sqe->flags, 0);
		return err;
	}
	/* Hands the entry over to the engine */
	smp_store_release(&sqe->flags, flags | SIW_WQE_VALID);
	sq->put++;
	return 0;
}

/* The QP has failed and its queue is empty */
static int hyb_sq_post_flushed(struct hyb_qp *qp, const struct ib_send_wr *wr)
{
	int opcode = hyb_sq_opcode_of(wr);
	struct hyb_sq_slot slot = {
		.id = wr->wr_id,
		.opcode = opcode,
		.status = SIW_WC_WR_FLUSH_ERR,
	};

	if (opcode < 0)
		return opcode;
	hyb_sq_emit(qp, &slot);
	return 0;
}

static int hyb_sq_post(struct hyb_qp *qp, const struct ib_send_wr *wr,
		       const struct ib_send_wr **bad)
{
	struct hyb_sq *sq = &qp->sq;
	unsigned long flags;
	u32 posted = 0;
	bool flushed;
	int err = 0;

	spin_lock_irqsave(&sq->lock, flags);
	if (hyb_qp_state(qp) < HYB_QP_RTS)
		err = -ENOTCONN;
	flushed = sq->flushed;
	for (; wr && !err; wr = err ? wr : wr->next) {
		err = flushed ? hyb_sq_post_flushed(qp, wr) :
				hyb_sq_post_one(sq, wr, qp->tx.ext);
		posted += !err;
	}
	spin_unlock_irqrestore(&sq->lock, flags);

	hyb_stats_add(qp->dev, HYB_ST_POST_SEND, posted);
	if (err && bad)
		*bad = wr;
	if (flushed)
		hyb_qp_notify(qp);
	else if (posted)
		hyb_sched_kick_tx(qp);
	return err;
}

/*
 * False: a flush is under way, or still to come. It takes the caller's entry, or leaves it
 * to hyb_qp_flush_again().
 */
static bool hyb_sq_flushed(struct hyb_sq *sq)
{
	unsigned long flags;
	bool flushed;

	spin_lock_irqsave(&sq->lock, flags);
	flushed = sq->flushed;
	spin_unlock_irqrestore(&sq->lock, flags);
	return flushed;
}

/* A user has put entries into the ring and rings the doorbell */
static int hyb_doorbell(struct hyb_qp *qp)
{
	enum hyb_qp_state state = hyb_qp_state(qp);

	hyb_stats_inc(qp->dev, HYB_ST_DOORBELL);
	if (state < HYB_QP_RTS)
		return -ENOTCONN;
	if (state == HYB_QP_ERROR && hyb_sq_flushed(&qp->sq)) {
		hyb_qp_flush(qp);
		return 0;
	}
	hyb_sched_kick_tx(qp);
	return 0;
}

/**
 * hyb_post_send - ib_device_ops.post_send
 * @ibqp: queue pair
 * @wr: requests; NULL from a user, whose requests are in the ring
 * @bad: first request that was not taken, on error
 *
 * Transmits in the caller's context when the connection is free.
 *
 * Context: any.
 * Return: 0; -ENOTCONN before the connection is set up, -ENOMEM if the queue
 * is full, -EOPNOTSUPP for what needs a peer that knows RFC 7306, -EINVAL.
 */
static int hyb_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
			 const struct ib_send_wr **bad)
{
	struct hyb_qp *qp = hyb_qp_of(ibqp);

	if (!qp->user)
		return hyb_sq_post(qp, wr, bad);
	if (!wr)
		return hyb_doorbell(qp);
	*bad = wr;
	return -EINVAL;
}

/**
 * hyb_rq_post_one - add a receive
 * @rq: receive queue of the kernel
 * @wr: receive
 *
 * Context: any, with the queue's lock held.
 * Return: 0; -ENOMEM if the queue is full, -EINVAL.
 */
int hyb_rq_post_one(struct hyb_rq *rq, const struct ib_recv_wr *wr)
{
	struct siw_rqe *rqe = &rq->ring[rq->put & rq->mask];
	int i;

	lockdep_assert_held(&rq->lock);

	if (rqe->flags)
		return -ENOMEM;
	if (wr->num_sge > rq->max_sge)
		return -EINVAL;
	rqe->id = wr->wr_id;
	rqe->num_sge = wr->num_sge;
	for (i = 0; i < wr->num_sge; i++) {
		rqe->sge[i] = (struct siw_sge) {
			.laddr = wr->sg_list[i].addr,
			.length = wr->sg_list[i].length,
			.lkey = wr->sg_list[i].lkey,
		};
	}
	rqe->flags = SIW_WQE_VALID;
	rq->put++;
	return 0;
}

/**
 * hyb_post_recv - ib_device_ops.post_recv
 * @ibqp: queue pair of the kernel; users write to the ring
 * @wr: receives
 * @bad: first one that was not taken, on error
 *
 * Context: any.
 * Return: 0; -ENOMEM if the queue is full, -EINVAL.
 */
static int hyb_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
			 const struct ib_recv_wr **bad)
{
	struct hyb_qp *qp = hyb_qp_of(ibqp);
	struct hyb_rq *rq = &qp->rq;
	unsigned long flags;
	u32 posted = 0;
	bool flushed;
	int err = 0;

	if (qp->user || qp->srq)
		err = -EINVAL;

	spin_lock_irqsave(&rq->lock, flags);
	flushed = rq->flushed;
	for (; wr && !err; wr = err ? wr : wr->next) {
		struct siw_rqe rqe = { .id = wr->wr_id };

		if (flushed)
			hyb_rq_complete(qp, &rqe, 0, 0, false,
					SIW_WC_WR_FLUSH_ERR);
		else
			err = rq->ring ? hyb_rq_post_one(rq, wr) : -ENOMEM;
		posted += !err;
	}
	spin_unlock_irqrestore(&rq->lock, flags);

	hyb_stats_add(qp->dev, HYB_ST_POST_RECV, posted);
	if (err && bad)
		*bad = wr;
	if (flushed)
		hyb_qp_notify(qp);
	else if (posted)
		hyb_sched_kick_rx(qp);
	return err;
}

const struct ib_device_ops hyb_queue_ops = {
	.post_recv = hyb_post_recv,
	.post_send = hyb_post_send,
};
