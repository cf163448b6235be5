/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Transmit engine: work requests become FPDUs, laid out at their places in
 * the TCP stream, in pages which are handed to TCP by reference.
 *
 * May call the queue and memory functions of hybrid.h, proto/ and TCP.
 * Everything here runs with the TCP socket held (see hyb_tcp.h).
 */
#ifndef HYB_TX_H
#define HYB_TX_H

#include <linux/types.h>
#include <rdma/siw-abi.h>

struct hyb_qp;
struct hyb_mem;
struct page;

#define HYB_TX_PAGES	8	/* recycled pages of a QP */
#define HYB_TX_ORDER	3	/* 32 KB each, less when memory is short */

/* A page of the outgoing stream. TCP takes references of its own. */
struct hyb_tx_page {
	struct page *page;
	u32 size;
};

/**
 * struct hyb_orq_entry - an RDMA Read that waits for its response
 * @slot: send queue slot to complete
 * @mem: the sink region, referenced
 * @stag: sink STag
 * @inval: local STag is to be invalidated on completion
 * @to: sink tagged offset of the next expected octet
 * @left: octets still expected
 * @len: octets asked for
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
};

/**
 * struct hyb_irq_entry - an RDMA Read Request of the peer to be answered
 * @mem: source region, referenced; NULL for zero length
 */
struct hyb_irq_entry {
	struct hyb_mem *mem;
	u64 src_to;
	u64 sink_to;
	u32 src_stag;
	u32 sink_stag;
	u32 left;
	u32 done;
};

/* What the engine is in the middle of */
enum hyb_tx_msg {
	HYB_TX_NONE,
	HYB_TX_SQE,		/* a message of the send queue */
	HYB_TX_RRESP,		/* a Read Response */
};

/**
 * struct hyb_tx - transmit state of a QP
 * @page: ring of pages; @cur is the one being filled at @fill
 * @send: offset in the current page of the first octet TCP has not taken
 * @pos: octets of the stream laid out so far (place for markers)
 * @ivl: marker interval, 0 for none
 * @mulpdu: largest ULPDU that fits the current segment size
 * @crc: checksum is generated (else the field is zero)
 * @fenced: responder that has not seen the initiator's first FPDU
 * @stopped: Terminate is out or the stream is broken
 * @msn: next message number per untagged queue
 * @sqe: private copy of the request in progress
 * @mem: regions of @sqe, referenced
 * @sent: payload octets of @sqe laid out
 * @len: payload octets of @sqe
 */
struct hyb_tx {
	struct hyb_tx_page page[HYB_TX_PAGES];
	unsigned int cur;
	u32 fill;
	u32 send;
	u64 pos;
	u32 ivl;
	u32 mulpdu;
	u32 mss;
	bool crc;
	bool fenced;
	bool stopped;
	bool eor;
	u32 msn[4];

	enum hyb_tx_msg busy;
	struct siw_sqe sqe;
	struct hyb_mem *mem[SIW_MAX_SGE];
	u32 slot;
	u32 len;
	u32 sent;
	unsigned int sge;
	u32 sge_off;

	struct hyb_orq_entry *orq;
	u32 orq_size;		/* ORD of the connection */
	u32 orq_get;
	u32 orq_put;

	struct hyb_irq_entry *irq;
	u32 irq_size;		/* IRD of the connection */
	u32 irq_get;
	u32 irq_put;

	u8 *term;		/* Terminate ULPDU to send */
	u32 term_len;
};

/**
 * hyb_tx_kick - transmit what the queues of a QP hold
 * @qp: queue pair; nothing happens when it is not connected
 *
 * Context: any. Transmits at once when the socket is free, else the holder
 * of the socket does. The caller must not hold a lock that is also taken
 * under a TCP lock (completion handlers).
 */
void hyb_tx_kick(struct hyb_qp *qp);

/* Body, with the socket held */
void hyb_tx_run(struct hyb_qp *qp);

#endif
