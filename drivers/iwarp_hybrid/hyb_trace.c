// SPDX-License-Identifier: GPL-2.0
/*
 * Tracepoints of the driver. Calls no other file of it.
 */
#define CREATE_TRACE_POINTS
#include "hyb_trace.h"

/* See hyb_trace_sealed() */
void hyb_trace_tx(const struct hyb_qp *qp, const u8 *start, u64 pos, u32 len,
		  u32 nr, bool contig)
{
	u32 ivl = qp->tx.s.ivl;
	u32 to_mark = contig ? MPA_NO_MARK : mpa_body_run(pos, 0, ivl);
	const u8 *p = start + mpa_lead_len(pos, ivl);
	u8 head[MPA_LEN_SIZE + DDP_UNTAGGED_LEN];

	/* of a tagged segment, payload follows its header */
	mpa_take(head, &p, sizeof(head), &to_mark, ivl);
	trace_hyb_fpdu_tx(qp, pos, len, nr, head + MPA_LEN_SIZE);
}
