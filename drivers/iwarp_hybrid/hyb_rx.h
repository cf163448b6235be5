/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Receive engine: walks TCP's receive queue, checks whole FPDUs, places and
 * delivers them. Runs from data_ready with the TCP socket held.
 *
 * May call the queue and memory functions of hybrid.h, proto/ and TCP; what
 * it wants to send it leaves in the transmit state.
 */
#ifndef HYB_RX_H
#define HYB_RX_H

#include <linux/types.h>
#include <rdma/siw-abi.h>

struct hyb_qp;
struct hyb_mem;

/**
 * struct hyb_rx - receive state of a QP
 * @need: stream octets up to the end of the FPDU being awaited, 0: unknown
 * @pos: octets of the stream consumed (place for markers)
 * @ivl: marker interval of the incoming stream, 0 for none
 * @crc: checksum is verified
 * @paused: the next Send found no receive; resumed by hyb_rx_kick()
 * @stopped: an error was found, the peer's stream is no longer looked at
 * @first: no FPDU has arrived yet
 * @msn: expected message number per untagged queue
 * @active: @rqe is the buffer of the message being received
 * @rqe: private copy of the receive in use
 * @mem: regions of @rqe, referenced; taken when first touched
 * @room: octets @rqe can take
 * @done: payload octets placed
 */
struct hyb_rx {
	u32 need;
	u64 pos;
	u32 ivl;
	bool crc;
	bool paused;
	bool stopped;
	bool first;
	bool active;
	u32 msn[4];

	struct siw_rqe rqe;
	struct hyb_mem *mem[SIW_MAX_SGE];
	u32 room;
	u32 done;
	unsigned int sge;
	u32 sge_off;

	/* region of the tagged message in progress, to look up only once */
	struct hyb_mem *tmem;
	u32 tstag;
};

/**
 * hyb_rx_kick - a receive was posted: go on if reception waited for it
 * @qp: queue pair
 *
 * Context: any; the rules of hyb_tx_kick().
 */
void hyb_rx_kick(struct hyb_qp *qp);

/* Body, with the socket held */
void hyb_rx_run(struct hyb_qp *qp);

#endif
