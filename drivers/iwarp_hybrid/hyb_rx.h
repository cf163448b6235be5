/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Receive engine: walks TCP's receive queue, checks whole FPDUs, places and
 * delivers them. Runs from data_ready with the TCP socket held.
 *
 * May call the queue and memory functions of hybrid.h, lib/iwarp/ and TCP; what
 * it wants to send it leaves in the transmit state.
 */
#ifndef HYB_RX_H
#define HYB_RX_H

#include <linux/types.h>
#include <rdma/siw-abi.h>

#include "iwarp/mpa.h"
#include "iwarp/ddp.h"

struct hyb_mem;
struct hyb_qp;
struct sk_buff;
struct sock;

/**
 * struct hyb_cur - a place in TCP's receive queue
 * @sk: socket
 * @skb: packet of the queue
 * @part: @skb or one of its frag_list, NULL behind the last
 * @frag: next fragment of @part
 * @seq: sequence number of @p
 * @p: contiguous octets
 * @n: how many
 * @placed: fragments may be memory that a NIC has placed in: each is a piece
 *
 * Valid while the socket is held and nothing is consumed.
 */
struct hyb_cur {
	struct sock *sk;
	struct sk_buff *skb;
	struct sk_buff *part;
	unsigned int frag;
	u32 seq;
	const u8 *p;
	u32 n;
	bool placed;
};

/*
 * Octets of the stream that a round of the engine looks at: bottom halves are
 * disabled, and others wait. More than the largest FPDU.
 */
#define HYB_RX_BUDGET	(1024 * 1024)

/**
 * struct hyb_rx - receive state of a QP
 * @budget: what is left of HYB_RX_BUDGET; the transport layer begins a round
 * @need: octets up to the end of the FPDU being awaited, 0: not known
 * @pos: octets of the stream consumed
 * @ivl: marker interval of the incoming stream, 0 for none
 * @ivl_log: its logarithm
 * @crc: checksum is verified
 * @paused: the next Send found no receive; resumed by hyb_rx_kick()
 * @starved: for want of a receive: nothing is looked at before there is one
 * @stopped: an error was found, the peer's stream is no longer looked at
 * @eof: end of stream was reported
 * @waiting: nothing was taken since the pause began
 * @since: when that was
 * @msn: expected message number per untagged queue
 * @rtr_send: an empty Send at the start of the stream is no message
 * @written: payload octets of the last Write; 0 behind its Immediate Data
 * @write_ended: all of that has come, what comes next is another
 * @sink: region that the last Write went to, referenced, or NULL
 * @active: @rqe is the buffer of the message being received
 * @rqe: private copy of the receive in use
 * @mem: regions of @rqe, referenced; NULL for kernel addresses
 * @room: octets @rqe can take
 * @done: payload octets placed
 * @sge: where in the scatter list @done is
 * @sge_off: offset in that entry
 * @segs: tcp_sock.data_segs_in as far as it was counted
 * @fpdus: counted here and added to the counters per batch
 * @copies: same
 * @copied: same, octets
 * @summed: same, octets
 * @trusted: same, octets that the NIC has checked
 * @there: same, octets that the NIC has placed
 */
struct hyb_rx {
	u32 budget;
	u32 need;
	u64 pos;
	u32 ivl;
	u32 ivl_log;
	bool crc;
	bool paused;
	bool starved;
	bool waiting;
	bool stopped;
	bool eof;
	bool rtr_send;
	bool active;
	bool write_ended;
	unsigned long since;
	u32 msn[DDP_QN_COUNT];
	u64 written;
	struct hyb_mem *sink;

	struct siw_rqe rqe;
	struct hyb_mem *mem[SIW_MAX_SGE];
	u32 room;
	u32 done;
	u32 sge;
	u32 sge_off;

	u32 segs;
	u32 fpdus;
	u32 copies;
	u32 copied;
	u32 summed;
	u32 trusted;
	u32 there;
};

/* A segment of a Write has come */
static inline void hyb_rx_wrote(struct hyb_rx *rx, u32 len, bool last)
{
	rx->written = (rx->write_ended ? 0 : rx->written) + len;
	rx->write_ended = last;
}

/**
 * hyb_rx_kick - a receive was posted: go on if reception waited for it
 * @qp: queue pair
 *
 * Context: any; the rules of hyb_tx_kick().
 */
void hyb_rx_kick(struct hyb_qp *qp);

/* Of RFC 7306 */
struct hyb_orq_entry;
u32 hyb_rx_start_recv(struct hyb_qp *qp);
bool hyb_rx_irq_room(struct hyb_qp *qp);
void hyb_rx_end_imm(struct hyb_qp *qp, u32 imm, bool rdma, bool solicited);
u32 hyb_rx_read_done(struct hyb_qp *qp, struct hyb_orq_entry *orq);
u32 hyb_rx_read_error(int err);

/* Of the transport layer: set up, run, and take down the engine */
void hyb_rx_init(struct hyb_qp *qp, const struct mpa_result *res);
void hyb_rx_run(struct hyb_qp *qp);
void hyb_rx_abandon(struct hyb_qp *qp);

#endif
