// SPDX-License-Identifier: GPL-2.0
/*
 * FPDUs in the outgoing stream, and what TCP gets of it. See hyb_fpdu.h. Calls
 * hyb_off_conn.c, hyb_off_place.c, hyb_sg.c, hyb_mem.c, hyb_queue.c and hyb_sched.c.
 */
#include <linux/mm.h>
#include <net/tcp.h>

#include "compat.h"
#include "compat_rdma.h"
#include "hyb_fpdu.h"
#include "hyb_mem.h"
#include "hyb_offload.h"
#include "hyb_sched.h"
#include "hyb_sg.h"
#include "hyb_stream.h"
#include "hyb_trace.h"
#include "hybrid.h"

/**
 * hyb_fpdu_record - record what was left to the NIC
 * @qp: queue pair
 *
 * To be called before TCP gets any byte of it, and before another record.
 *
 * Context: TCP socket held.
 */
void hyb_fpdu_record(struct hyb_qp *qp)
{
	struct hyb_tx_left *left = &qp->tx.left;

	if (!left->len)
		return;
	hyb_off_sealed(qp, left->pos, left->len, left->page, left->off,
		       left->layout);
	left->len = 0;
}

/**
 * hyb_fpdu_leave - leave FPDUs to the NIC
 * @qp: queue pair
 * @page: where they stand, one after the other
 * @off: offset of the first
 * @len: bytes
 * @pos: position of the first
 * @layout: enum iwarp_layout
 *
 * Context: TCP socket held.
 * Return: false if there is no room for the record.
 */
bool hyb_fpdu_leave(struct hyb_qp *qp, struct page *page, u32 off, u32 len,
		    u64 pos, u8 layout)
{
	struct hyb_tx_left *left = &qp->tx.left;

	if (left->len && left->page == page && left->off + left->len == off &&
	    left->layout == layout) {
		left->len += len;
		return true;
	}
	hyb_fpdu_record(qp);
	if (!hyb_off_room(qp->off, 1))
		return false;
	left->page = page;
	left->off = off;
	left->len = len;
	left->pos = pos;
	left->layout = layout;
	return true;
}

/* An FPDU with payload elsewhere that no NIC gathers */
static void hyb_fpdu_seal_pieces(struct hyb_qp *qp, u8 *start, u32 len, u64 pos)
{
	struct hyb_tx *tx = &qp->tx;

	memset(start + len, 0, MPA_CRC_SIZE);
	if (tx->crc) {
		mpa_put_crc(start + len,
			    hyb_sg_crc(&tx->sg, tx->crc_kernel, pos, start, len));
		tx->summed += len;
	}
	hyb_sg_keep(&tx->sg);
}

/**
 * hyb_fpdu_seal - checksum of an FPDU that is complete but for it
 * @qp: queue pair
 * @p: page it lies in
 * @start: its first byte
 * @len: bytes, without the checksum
 * @pos: its position
 * @who: enum hyb_tx_who; if payload is by reference, hyb_sg.nic counts instead
 *
 * FPDUs are sealed in the order of the stream, except those that the host finishes.
 *
 * Context: TCP socket held.
 */
void hyb_fpdu_seal(struct hyb_qp *qp, struct hyb_tx_page *p, u8 *start, u32 len,
		   u64 pos, enum hyb_tx_who who)
{
	u32 whole = len + MPA_CRC_SIZE;
	struct hyb_tx *tx = &qp->tx;

	tx->fpdus++;
	hyb_trace_sealed(qp, start, pos, whole, 1, who == HYB_TX_NIC_CONTIG);
	if (hyb_sg_any(&tx->sg) && !tx->sg.nic) {
		hyb_fpdu_seal_pieces(qp, start, len, pos);
		return;
	}
	if (hyb_sg_any(&tx->sg)) {
		hyb_fpdu_record(qp);
		hyb_sg_record(qp, &tx->sg, pos, p->page, start - p->base,
			      whole);
		tx->nic += len;
	} else if (who != HYB_TX_HOST &&
		   hyb_fpdu_leave(qp, p->page, start - p->base, whole, pos,
				  who == HYB_TX_NIC_CONTIG ?
				  IWARP_LAYOUT_CONTIG : IWARP_LAYOUT_FINAL)) {
		tx->nic += len;
	} else {
		hyb_fpdu_sum(tx, start, len);
		return;
	}
	memset(start + len, 0, MPA_CRC_SIZE);
}

/* One FPDU of a control message, or HYB_LAY_FULL */
enum hyb_lay hyb_fpdu_whole(struct hyb_qp *qp, const u8 *ulpdu, u32 len)
{
	struct hyb_tx *tx = &qp->tx;
	struct mpa_build b;

	if (!hyb_stream_fit(&tx->s, len, 0))
		return HYB_LAY_FULL;
	hyb_fpdu_begin(qp, &b, len);
	mpa_build_put(&b, ulpdu, len);
	hyb_fpdu_commit(qp, &b);
	return HYB_LAY_DONE;
}

void hyb_fpdu_put_mem(struct hyb_tx *tx)
{
	int i;

	for (i = 0; i < SIW_MAX_SGE; i++) {
		if (tx->mem[i])
			hyb_mem_put(tx->mem[i]);
		tx->mem[i] = NULL;
	}
}

void hyb_fpdu_terminate(struct hyb_qp *qp, u32 err, const u8 *hdr, u32 hdr_len,
			u32 seg_len)
{
	struct hyb_tx *tx = &qp->tx;

	if (tx->stopped || tx->term_len)
		return;
	trace_hyb_terminate_tx(qp, err);
	tx->term_len = rdmap_term_build(tx->term, err, hdr, hdr_len, seg_len);
	qp->rx.stopped = true;
	hyb_off_stop(qp->off);
	hyb_qp_set_state(qp, HYB_QP_TERMINATE);
	set_bit(HYB_TODO_TX, &qp->tcp.todo);
	hyb_cep_event(qp->cep, HYB_EV_ERROR);
}

/* The request in progress is over, but for what TCP has of its memory */
void hyb_fpdu_end(struct hyb_qp *qp, u32 bytes, enum siw_wc_status status)
{
	struct hyb_tx *tx = &qp->tx;

	hyb_fpdu_put_mem(tx);
	tx->busy = HYB_TX_NONE;
	if (tx->lent)
		hyb_sq_lend(qp, tx->slot, bytes, status, tx->s.pos);
	else
		hyb_sq_complete(qp, tx->slot, bytes, status);
	tx->lent = false;
}

void hyb_fpdu_done(struct hyb_qp *qp)
{
	hyb_fpdu_end(qp, qp->tx.len, SIW_WC_SUCCESS);
}

/**
 * hyb_fpdu_put_hdr - header of the next segment of a Send or Write
 * @tx: transmit engine
 * @hdr: where to
 * @len: DDP_TAGGED_LEN for a Write, DDP_UNTAGGED_LEN for a Send
 * @last: last segment of the message
 *
 * Context: TCP socket held.
 */
void hyb_fpdu_put_hdr(const struct hyb_tx *tx, u8 *hdr, u32 len, bool last)
{
	const struct siw_sqe *sqe = &tx->sqe;
	bool inval = sqe->opcode == SIW_OP_SEND_REMOTE_INV;
	bool imm = sqe->flags & HYB_WQE_IMM;
	u8 op;

	if (len == DDP_TAGGED_LEN) {
		ddp_put_tagged(hdr, last, RDMAP_CTRL(RDMAP_WRITE), sqe->rkey,
			       sqe->raddr + tx->done);
	} else {
		op = rdmap_send_op(sqe->flags & SIW_WQE_SOLICITED, inval);
		ddp_put_untagged(hdr, last,
				 RDMAP_CTRL(op) | (imm ? RDMAP_SEND_IMM : 0),
				 inval || imm ? sqe->rkey : 0, DDP_QN_SEND,
				 tx->msn[DDP_QN_SEND], tx->done);
	}
}

/*
 * The one place that calls TCP to transmit: by reference, without waiting.
 * With @more, TCP need not send yet: the next call follows at once.
 */
#ifdef HAVE_TCP_SENDPAGE_LOCKED
/* Before 6.5: there TCP ignores MSG_SPLICE_PAGES even where it is defined */
static int hyb_fpdu_sendpage(struct sock *sk, struct page *page, u32 off, u32 len,
			     bool more)
{
	int flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_NO_SHARED_FRAGS;
	struct msghdr msg = {};
	struct kvec iov;

	if (more)
		flags |= MSG_SENDPAGE_NOTLAST;
	if (likely(sk->sk_route_caps & NETIF_F_SG) || PageHighMem(page))
		return tcp_sendpage_locked(sk, page, off, len, flags);
	/* tcp_sendpage_locked() would copy as well, but may sleep to map the page */
	msg.msg_flags = flags;
	iov.iov_base = page_address(page) + off;
	iov.iov_len = len;
	iov_iter_kvec(&msg.msg_iter, ITER_SOURCE, &iov, 1, len);
	return tcp_sendmsg_locked(sk, &msg, len);
}
#else
static int hyb_fpdu_sendpage(struct sock *sk, struct page *page, u32 off, u32 len,
			     bool more)
{
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL |
			     MSG_NO_SHARED_FRAGS | MSG_SPLICE_PAGES,
	};
	struct bio_vec bvec;

	if (more)
		msg.msg_flags |= MSG_MORE;
	bvec_set_page(&bvec, page, len, off);
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, &bvec, 1, len);
	return tcp_sendmsg_locked(sk, &msg, len);
}
#endif

/* The following bytes go into a new packet */
static void hyb_fpdu_end_packet(struct sock *sk)
{
	struct sk_buff *tail = tcp_write_queue_tail(sk);

	if (tail)
		TCP_SKB_CB(tail)->eor = 1;
}

/**
 * hyb_fpdu_give - hand over bytes of a page
 * @qp: queue pair
 * @sk: its TCP socket
 * @p: page at hyb_stream.out, the oldest with bytes that TCP has not taken
 * @end: offset in it up to which to hand over
 * @more: TCP need not send yet
 *
 * Context: TCP socket held.
 * Return: false if TCP did not take all of it. The engine runs again when TCP
 * has room, unless TCP has ended the connection (hyb_tx.stopped).
 */
bool hyb_fpdu_give(struct hyb_qp *qp, struct sock *sk, struct hyb_tx_page *p,
		   u32 end, bool more)
{
	struct hyb_tx *tx = &qp->tx;
	struct page *page;
	u32 off, len;
	int ret;

	hyb_fpdu_record(qp);
	while (p->sent < end) {
		page = p->page;
		off = p->sent;
		len = end - off;
		hyb_sg_find(&tx->sg, tx->s.given, &page, &off, &len);
		tx->calling = true;
		ret = hyb_fpdu_sendpage(sk, page, off, len,
					more || len < end - p->sent);
		tx->calling = false;
		hyb_qp_count(qp, HYB_ST_TX_TCP_CALLS, 1);
		if (ret > 0) {
			hyb_qp_count(qp, HYB_ST_TX_BYTES, ret);
			p->sent += ret;
			WRITE_ONCE(tx->s.given, tx->s.given + ret);
			if (hyb_sg_given(&tx->sg, tx->s.given))
				hyb_fpdu_end_packet(sk);
			continue;
		}
		if (ret == -EAGAIN || ret == -ENOMEM) {
			/* retry by timer: no ACK will come, which would call write_space */
			if (tcp_rtx_and_write_queues_empty(sk))
				hyb_sched_retry(qp, HYB_TODO_TX, HYB_FPDU_RETRY);
		} else {
			tx->stopped = true;
			/* TCP reports it only once */
			WRITE_ONCE(tx->why, ret);
			hyb_cep_event(qp->cep, HYB_EV_LOST);
		}
		return false;
	}
	return true;
}

/**
 * hyb_fpdu_frag_room - bytes that TCP takes before it runs out of fragments
 * @sk: TCP socket
 * @mss: bytes of a segment, by which the caller may exceed the result
 *
 * TCP makes a fragment of every page, and would run out of them within an FPDU.
 * The FPDUs after it would not be aligned. A packet that is half full of fragments
 * ends here.
 *
 * Context: TCP socket held.
 * Return: bytes, at least a page.
 */
u32 hyb_fpdu_frag_room(struct sock *sk, u32 mss)
{
#ifdef HAVE_TCP_SENDPAGE_LOCKED
	return INT_MAX;		/* a fragment may be of several pages */
#else
	struct sk_buff *tail = tcp_write_queue_tail(sk);
	int left = MAX_SKB_FRAGS - 2 - mss / PAGE_SIZE;

	if (tail && skb_shinfo(tail)->nr_frags <= MAX_SKB_FRAGS / 2)
		left -= skb_shinfo(tail)->nr_frags;
	else if (tail)
		TCP_SKB_CB(tail)->eor = 1;
	return max(left, 1) * PAGE_SIZE;
#endif
}

/**
 * hyb_fpdu_queued - does anything have to be sent before a new message?
 * @qp: queue pair
 *
 * That is a message under way, and everything that was posted before.
 * Context: TCP socket held.
 */
bool hyb_fpdu_queued(const struct hyb_qp *qp)
{
	const struct hyb_tx *tx = &qp->tx;

	return tx->busy != HYB_TX_NONE || tx->held || tx->rtr || tx->term_len ||
	       hyb_sq_pending(qp);
}

/**
 * hyb_fpdu_why - how the connection has ended
 * @qp: queue pair
 *
 * Context: any.
 * Return: the error of TCP, for example -ETIMEDOUT or one from ICMP if it got no answer
 * (tcp_write_err()); -ECONNRESET if there is none, or it says no more than that the
 * connection has ended.
 */
int hyb_fpdu_why(const struct hyb_qp *qp)
{
	int why = READ_ONCE(qp->tx.why);

	return why && why != -EPIPE ? why : -ECONNRESET;
}

/**
 * hyb_fpdu_lends - does TCP have memory of requests?
 * @qp: queue pair, not flushed yet
 *
 * Context: TCP socket held, or the queue pair is detached.
 * Return: whether it does, for the request in progress or for earlier ones.
 */
bool hyb_fpdu_lends(const struct hyb_qp *qp)
{
	return qp->sq.nlent || qp->tx.lent;
}
