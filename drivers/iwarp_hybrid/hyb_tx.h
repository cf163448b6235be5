/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Transmit engine: work requests become FPDUs, laid out at their places in
 * the TCP stream, in pages which are handed to TCP by reference.
 *
 * May call the queue and memory functions of hybrid.h, hyb_stream, hyb_shared,
 * lib/iwarp/ and TCP.
 * Everything here runs with the TCP socket held (see hyb_tcp.h).
 */
#ifndef HYB_TX_H
#define HYB_TX_H

#include <linux/types.h>
#include <rdma/siw-abi.h>

#include "iwarp/crc.h"
#include "hyb_sg.h"
#include "hyb_stream.h"
#include "iwarp/mpa.h"
#include "iwarp/rdmap.h"

struct hyb_lend;
struct hyb_mem;
struct hyb_qp;
struct page;
struct sock;

/**
 * struct hyb_orq_entry - a Read or atomic operation that waits for its response
 * @mem: the sink region, referenced; NULL for kernel addresses and length 0
 * @to: sink tagged offset of the next expected octet
 * @stag: sink STag
 * @left: octets still expected
 * @len: octets asked for
 * @slot: send queue slot to complete
 * @inval: invalidate @stag on completion
 * @rtr: the ready-to-receive message, nothing to complete
 * @atomic: an atomic operation
 * @id: by which its response names it
 */
struct hyb_orq_entry {
	struct hyb_mem *mem;
	u64 to;
	u32 stag;
	u32 left;
	u32 len;
	u32 slot;
	bool inval;
	bool rtr;
	bool atomic;
	u32 id;
};

/**
 * struct hyb_irq_entry - a Read or Atomic Request of the peer to be answered
 * @mem: source region, referenced; NULL for length 0
 * @req: the request
 * @msn: its message number
 * @done: octets answered
 * @atomic: an Atomic Request, which was carried out
 * @id: its identifier
 * @old: its result
 */
struct hyb_irq_entry {
	struct hyb_mem *mem;
	struct rdmap_rreq req;
	u32 msn;
	u32 done;
	bool atomic;
	u32 id;
	u64 old;
};

/* What a step of the engine came to */
enum hyb_step {
	HYB_STEP_LAID,		/* one FPDU was laid out */
	HYB_STEP_IDLE,		/* nothing to do now */
	HYB_STEP_TURN,		/* the page or the segment must end first */
};

/* What the engine is in the middle of */
enum hyb_tx_msg {
	HYB_TX_NONE,
	HYB_TX_SEND,		/* send queue: Send or Write */
	HYB_TX_IMM,		/* send queue: Immediate Data behind a Write */
	HYB_TX_READ,		/* send queue: Read Request */
	HYB_TX_ATOMIC,		/* send queue: Atomic Request */
	HYB_TX_RRESP,		/* a Read Response or Atomic Response */
};

/**
 * struct hyb_tx_left - FPDUs that are left to the NIC and not recorded yet
 * @page: where they stand, one behind the other
 * @off: offset of the first
 * @len: octets, 0: none
 * @pos: position of the first
 * @layout: enum iwarp_layout of all
 */
struct hyb_tx_left {
	struct page *page;
	u32 off;
	u32 len;
	u64 pos;
	u8 layout;
};

/**
 * struct hyb_tx - transmit state of a QP
 * @s: the stream
 * @end: position where TCP's room ends, of a batch
 * @left: see struct hyb_tx_left
 * @crc: checksum is generated, else the field is zero
 * @ext: the peer knows RFC 7306, and Sends with immediate data
 * @fenced: responder that has not seen the initiator's first FPDU
 * @stopped: the Terminate is out, or the stream is broken
 * @drain: report when all is sent
 * @calling: inside a call of TCP
 * @sg: payload given by reference
 * @refer: payload is given by reference, of a batch; where no NIC gathers it
 * @lent: TCP has memory of the request in progress
 * @follow: packets are seen on their way to IP
 * @lend: packets with memory of requests, from the first of them on
 * @contig: the FPDU being laid out has its markers behind the PAD
 * @turn: Read Responses and send queue take turns
 * @rtr: ready-to-receive message to send first
 * @msn: next message number per untagged queue
 * @busy: message in progress
 * @held: @sqe is taken from the queue but cannot start yet (fence, ORD)
 * @sqe: private copy of the request in progress
 * @slot: its place in the queue
 * @mem: regions of its scatter list, referenced
 * @len: payload octets of the message in progress
 * @done: payload octets laid out
 * @sge: where in the scatter list @done is
 * @sge_off: offset in that entry
 * @orq: own reads that are outstanding, a ring; never without room for one
 * @orq_mask: its size - 1, a power of two; grows up to above @ord
 * @orq_first: the ring while nothing needs more
 * @orq_get: oldest
 * @orq_put: next free
 * @ord: how many there may be
 * @irq: the peer's reads to be answered, a ring
 * @irq_mask: its size - 1, a power of two; grows up to above @ird
 * @irq_first: as @orq_first
 * @irq_get: oldest
 * @irq_put: next free
 * @ird: how many there may be
 * @term_len: octets of @term, 0 if there is none
 * @term: ULPDU of a Terminate to send
 * @fpdus: counted here and added to the counters per batch
 * @copies: same
 * @copied: same, octets
 * @referred: same, octets
 * @summed: same, octets
 * @nic: same, octets
 */
struct hyb_tx {
	struct hyb_stream s;
	u64 end;
	struct hyb_tx_left left;
	bool crc;
	bool ext;
	bool fenced;
	bool stopped;
	bool drain;
	bool calling;
	bool contig;
	bool refer;
	bool lent;
	bool follow;
	struct hyb_lend *lend;
	struct hyb_sg sg;
	bool held;
	bool turn;
	enum mpa_rtr rtr;
	u32 msn[DDP_QN_COUNT];

	enum hyb_tx_msg busy;
	struct siw_sqe sqe;
	u32 slot;
	struct hyb_mem *mem[SIW_MAX_SGE];
	u32 len;
	u32 done;
	u32 sge;
	u32 sge_off;

	struct hyb_orq_entry *orq;
	struct hyb_orq_entry orq_first;
	u32 orq_mask;
	u32 orq_get;
	u32 orq_put;
	u32 ord;

	struct hyb_irq_entry *irq;
	struct hyb_irq_entry irq_first;
	u32 irq_mask;
	u32 irq_get;
	u32 irq_put;
	u32 ird;

	u32 term_len;
	u8 term[RDMAP_TERM_MAX];

	u32 fpdus;
	u32 copies;
	u32 copied;
	u32 referred;
	u32 summed;
	u32 nic;
};

/**
 * hyb_tx_kick - transmit what the queues of a QP hold
 * @qp: queue pair; nothing happens when it is not connected
 *
 * Context: any. Transmits at once when the socket is free, else the holder
 * of the socket does. The caller must not hold a lock that is also taken
 * under a TCP lock (by completion handlers).
 */
void hyb_tx_kick(struct hyb_qp *qp);

/* Who finishes an FPDU */
enum hyb_tx_who {
	HYB_TX_HOST,
	HYB_TX_NIC,		/* if there is room for the record */
	HYB_TX_NIC_CONTIG,	/* hyb_off_tx_contig() said yes */
};

/* CRC of an FPDU by the host, if there is one: of @len octets at @start */
static inline void hyb_tx_sum(struct hyb_tx *tx, u8 *start, u32 len)
{
	if (tx->crc) {
		mpa_put_crc(start + len, iwarp_crc32c(~0, start, len));
		tx->summed += len;
	} else {
		memset(start + len, 0, MPA_CRC_SIZE);
	}
}

/* Of the short way */
void hyb_tx_put_hdr(const struct hyb_tx *tx, u8 *hdr, u32 len, bool last);

/* Of the shared link */
void hyb_tx_record(struct hyb_qp *qp);
bool hyb_tx_leave(struct hyb_qp *qp, struct page *page, u32 off, u32 len,
		  u64 pos, u8 layout);
void hyb_tx_seal(struct hyb_qp *qp, struct hyb_tx_page *p, u8 *start, u32 len,
		 u64 pos, enum hyb_tx_who who);
bool hyb_tx_give(struct hyb_qp *qp, struct sock *sk, struct hyb_tx_page *p,
		 u32 end, bool more);
u32 hyb_tx_frag_room(struct sock *sk, u32 mss);
bool hyb_tx_queued(const struct hyb_qp *qp);

/* Of RFC 7306: one FPDU of a control message; the request in progress is done */
enum hyb_step hyb_tx_whole(struct hyb_qp *qp, const u8 *ulpdu, u32 len);
void hyb_tx_done(struct hyb_qp *qp);

/* Of the transport layer: set up, run, and take down the engine */
void hyb_tx_init(struct hyb_qp *qp, const struct mpa_result *res);
void hyb_tx_run(struct hyb_qp *qp);
bool hyb_tx_lends(const struct hyb_qp *qp);
void hyb_tx_abandon(struct hyb_qp *qp);
void hyb_tx_free(struct hyb_qp *qp);

/**
 * hyb_tx_terminate - queue a Terminate message
 * @qp: queue pair
 * @err: TERM(layer, type, code)
 * @hdr: first octets of the refused ULPDU, or NULL
 * @hdr_len: how many
 * @seg_len: length of that ULPDU
 *
 * The first one counts. The connection ends when it is sent.
 * Context: TCP socket held.
 */
void hyb_tx_terminate(struct hyb_qp *qp, u32 err, const u8 *hdr, u32 hdr_len,
		      u32 seg_len);

#endif
