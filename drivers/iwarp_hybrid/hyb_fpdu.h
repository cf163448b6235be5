/* SPDX-License-Identifier: GPL-2.0 */
/*
 * FPDUs in the outgoing stream: laying one out, its checksum or the record for
 * the NIC, handing bytes over to TCP; Terminate.
 *
 * Used by the transmit engine and its parts (hyb_fast, hyb_shared, hyb_ext); the receive
 * engine queues its Terminate here. Context: TCP socket held, unless a function says
 * otherwise.
 */
#ifndef HYB_FPDU_H
#define HYB_FPDU_H

#include <linux/types.h>

#include "hyb_offload.h"
#include "hyb_sg.h"
#include "hyb_stream.h"
#include "hybrid.h"
#include "iwarp/crc.h"
#include "iwarp/mpa_contig.h"

/* Retry when the system is short of memory */
#define HYB_FPDU_RETRY	(HZ / 50 + 1)

/* CRC of an FPDU by the host, if there is one: of @len bytes at @start */
static inline void hyb_fpdu_sum(struct hyb_tx *tx, u8 *start, u32 len)
{
	if (tx->crc) {
		mpa_put_crc(start + len,
			    iwarp_crc32c_by(tx->crc_kernel, ~0, start, len));
		tx->summed += len;
	} else {
		memset(start + len, 0, MPA_CRC_SIZE);
	}
}

/* For hyb_tx and the fast path */
void hyb_fpdu_put_hdr(const struct hyb_tx *tx, u8 *hdr, u32 len, bool last);

/* For hyb_tx, the fast path and the shared link */
void hyb_fpdu_record(struct hyb_qp *qp);
bool hyb_fpdu_leave(struct hyb_qp *qp, struct page *page, u32 off, u32 len,
		    u64 pos, u8 layout);
void hyb_fpdu_seal(struct hyb_qp *qp, struct hyb_tx_page *p, u8 *start, u32 len,
		   u64 pos, enum hyb_tx_who who);
bool hyb_fpdu_give(struct hyb_qp *qp, struct sock *sk, struct hyb_tx_page *p,
		   u32 end, bool more);
u32 hyb_fpdu_frag_room(struct sock *sk, u32 mss);
bool hyb_fpdu_queued(const struct hyb_qp *qp);

/*
 * For hyb_tx and hyb_ext: one FPDU of a control message, HYB_LAY_DONE or HYB_LAY_FULL; the
 * request in progress is done
 */
enum hyb_lay hyb_fpdu_whole(struct hyb_qp *qp, const u8 *ulpdu, u32 len);
void hyb_fpdu_done(struct hyb_qp *qp);

/* For the end of a connection */
bool hyb_fpdu_lends(const struct hyb_qp *qp);
int hyb_fpdu_why(const struct hyb_qp *qp);

/* For hyb_tx; hyb_fpdu_put_mem() also when the engine has stopped */
void hyb_fpdu_put_mem(struct hyb_tx *tx);
void hyb_fpdu_end(struct hyb_qp *qp, u32 bytes, enum siw_wc_status status);

/**
 * hyb_fpdu_terminate - queue a Terminate message
 * @qp: queue pair
 * @err: TERM(layer, type, code)
 * @hdr: first bytes of the refused ULPDU, or NULL
 * @hdr_len: how many
 * @seg_len: length of that ULPDU
 *
 * Only the first one counts. The connection ends when it is sent.
 * Context: TCP socket held.
 */
void hyb_fpdu_terminate(struct hyb_qp *qp, u32 err, const u8 *hdr, u32 hdr_len,
			u32 seg_len);

/*
 * Engines of the NIC for an FPDU that is laid out and sealed at once. Records are in
 * the order of the stream: none while earlier FPDUs of a shared link are not sealed.
 */
static inline struct hyb_off *hyb_fpdu_off(const struct hyb_qp *qp)
{
	return hyb_shared_unsealed(qp->shared) ? NULL : qp->off;
}

static inline void hyb_fpdu_begin(struct hyb_qp *qp, struct mpa_build *b, u32 ulpdu)
{
	struct hyb_stream *s = &qp->tx.s;
	struct hyb_tx_page *p = hyb_stream_cur(s);

	qp->tx.contig = hyb_off_tx_contig(hyb_fpdu_off(qp));
	if (qp->tx.contig)
		mpa_contig_begin(b, p->base + p->fill, s->pos, ulpdu, s->ivl);
	else
		mpa_build_begin(b, p->base + p->fill, s->pos, ulpdu, s->ivl);
}

/* The ULPDU is complete: checksum it, it belongs to the stream */
static inline void hyb_fpdu_commit(struct hyb_qp *qp, struct mpa_build *b)
{
	bool nic = hyb_off_tx_crc(hyb_fpdu_off(qp));
	enum hyb_tx_who who = nic ? HYB_TX_NIC : HYB_TX_HOST;
	struct hyb_stream *s = &qp->tx.s;
	u32 len;

	if (qp->tx.contig) {
		len = mpa_contig_end(b, s->pos, s->ivl);
		who = HYB_TX_NIC_CONTIG;
	} else {
		len = mpa_build_end(b);
	}
	hyb_fpdu_seal(qp, hyb_stream_cur(s), b->start, len, s->pos, who);
	hyb_stream_add(s, len + MPA_CRC_SIZE);
}

#endif
