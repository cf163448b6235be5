/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Beyond rx_kernel.h, for hyb_tx.c, hyb_fast.c and hyb_fpdu.c: a TCP that takes pages
 * by reference, and the parts of the driver that transmission calls. A NIC may compute
 * CRCs. Payload is copied, no link is shared, and the peer knows no RFC 7306.
 */
#ifndef SELFTESTS_FUZZ_TX_KERNEL_H
#define SELFTESTS_FUZZ_TX_KERNEL_H

#define HYB_SHARED_H
#define HYB_LEND_H
#define HYB_SG_H

#include "rx_kernel.h"

/* ---- TCP ---- */

/* As before 6.5: the other way leads to the same tcp_take() */
#define HAVE_TCP_SENDPAGE_LOCKED
#define MSG_DONTWAIT 0
#define MSG_NOSIGNAL 0
#define MSG_NO_SHARED_FRAGS 0
#define MSG_SENDPAGE_NOTLAST 0
#define MAX_SKB_FRAGS MAX_FRAGS
#define NETIF_F_SG 1
#define PageHighMem(page) ((void)(page), false)
#define ITER_SOURCE 1

struct kvec {
	void *iov_base;
	size_t iov_len;
};

struct msghdr {
	int msg_flags;
	int msg_iter;
};

#define iov_iter_kvec(iter, dir, iov, nr, len) ((void)(iter))
#define tcp_sendmsg_locked(sk, msg, len) (abort(), 0)

int tcp_sendpage_locked(struct sock *sk, struct page *page, u32 off, size_t len,
			int flags);

/* ---- the rest of the driver ---- */

enum { HYB_EV_ERROR = 2, HYB_EV_LOST, HYB_EV_DRAINED };
enum { HYB_PAY_COPY, HYB_PAY_REF };
enum { IWARP_PLACE_READ = 1 };

#define HYB_WQE_IMM BIT(7)
#define HYB_OP_MASKED_FETCH_ADD SIW_NUM_OPCODES
#define HYB_OP_MASKED_COMP_SWAP (SIW_NUM_OPCODES + 1)
#define hyb_sqe_is_atomic(sqe) ((void)(sqe), false)

#undef hyb_sq_pending
bool hyb_sq_pending(const struct hyb_qp *qp);
int hyb_sq_next(struct hyb_qp *qp, struct siw_sqe *sqe, u32 *slot);
#define hyb_sq_lend(qp, slot, bytes, status, pos) abort()
#define hyb_sq_unlent(qp, pos) ((void)(pos), abort())
#define hyb_lend_una(qp, una) (una)
#define hyb_rdq_orq_room(tx) ((void)(tx), true)
#define hyb_off_many(off) ((void)(off), false)
#define trace_hyb_terminate_tx(qp, err) ((void)(err))

void hyb_off_sealed(struct hyb_qp *qp, u64 pos, u32 len, struct page *page,
		    u32 off, u8 layout);

#define hyb_shared_hold(qp) ((void)(qp), false)
#define hyb_shared_flush(qp, sk) (abort(), false)
#define hyb_shared_tx_done(qp, sk) abort()

/* No payload is given by reference */
#define hyb_sg_begin(sg, off) ((void)(sg), false)
#define hyb_sg_begin_host(sg) ((void)(sg), false)
#define hyb_sg_add(sg, pos, p, len) ((void)(p), false)
#define hyb_sg_drop(sg) ((void)(sg))
#define hyb_sg_record(qp, sg, pos, page, off, len) abort()
#define hyb_sg_crc(sg, kernel, pos, start, len) (abort(), 0u)
#define hyb_sg_keep(sg) abort()
#define hyb_sg_find(sg, pos, page, off, len) ((void)(sg))
#define hyb_sg_given(sg, pos) ((void)(sg), false)
#define hyb_sg_free(sg) ((void)(sg))

#endif /* SELFTESTS_FUZZ_TX_KERNEL_H */
