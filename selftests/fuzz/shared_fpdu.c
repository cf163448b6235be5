// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The parts of the driver that hyb_shared.c calls: what hyb_fpdu.c does, but for
 * payload by reference and counters, over the TCP of shared_tcp.h.
 */
#include "iwarp_hybrid/hyb_fpdu.h"
#include "shared_tcp.h"

void hyb_fpdu_record(struct hyb_qp *qp)
{
	struct hyb_tx_left *left = &qp->tx.left;

	if (!left->len)
		return;
	check(hyb_off_room(qp->off, 1));
	tcp_record(left->pos, left->len, left->layout);
	left->len = 0;
}

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
	*left = (struct hyb_tx_left){ page, off, len, pos, layout };
	return true;
}

void hyb_fpdu_seal(struct hyb_qp *qp, struct hyb_tx_page *p, u8 *start, u32 len,
		   u64 pos, enum hyb_tx_who who)
{
	u8 layout = who == HYB_TX_NIC_CONTIG ? IWARP_LAYOUT_CONTIG :
					       IWARP_LAYOUT_FINAL;
	bool nic = who != HYB_TX_HOST &&
		   hyb_fpdu_leave(qp, p->page, start - p->base,
				  len + MPA_CRC_SIZE, pos, layout);

	/* it was asked for the room, see hyb_off_tx_contig() */
	check(nic || who != HYB_TX_NIC_CONTIG);
	if (!nic && qp->tx.crc)
		mpa_put_crc(start + len, iwarp_crc32c(~0, start, len));
	else
		memset(start + len, 0, MPA_CRC_SIZE);
}

bool hyb_fpdu_give(struct hyb_qp *qp, struct sock *sk, struct hyb_tx_page *p,
		   u32 end, bool more)
{
	int room = sk_stream_wspace(sk);
	u32 len;

	(void)more;
	check(p->sent < end && end <= p->fill);
	hyb_fpdu_record(qp);
	len = min_t(s64, end - p->sent, max(room, 0));
	if (len && !tcp_take(p->page, p->sent, len))
		len = 0;
	p->sent += len;
	qp->tx.s.given += len;
	return p->sent == end;
}

u32 hyb_fpdu_frag_room(struct sock *sk, u32 mss)
{
	(void)sk;
	(void)mss;
	return tcp.frag_room;
}

bool hyb_sg_begin(struct hyb_sg *sg, struct hyb_off *off)
{
	(void)sg;
	(void)off;
	return false;
}

bool hyb_sg_add(struct hyb_sg *sg, u64 pos, const void *p, u32 len)
{
	(void)sg;
	(void)pos;
	(void)p;
	(void)len;
	return false;
}

bool hyb_ooo_early(const struct hyb_qp *qp)
{
	(void)qp;
	return false;
}
