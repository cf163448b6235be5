/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Structures of the data path: the state of the engines of a queue pair.
 *
 * Only types and functions that need nothing else: all layers include it. The engines
 * hold the TCP socket (its spinlock, or as the task that owns it). That protects all of
 * it, except where a member says otherwise.
 */
#ifndef HYB_TYPES_H
#define HYB_TYPES_H

#include <linux/sizes.h>
#include <linux/types.h>
#include <rdma/rdma_stack.h>
#include <rdma/siw-abi.h>

#include "iwarp/ddp.h"
#include "iwarp/mpa.h"
#include "iwarp/ooo.h"
#include "iwarp/rdmap.h"

struct hyb_lend;
struct hyb_mem;
struct page;
struct sk_buff;
struct sock;

/* ----------------------------------------------------- outgoing stream */

#define HYB_TX_PAGES	2	/* pages there is always room for, a power of two */
#define HYB_TX_PAGES_MAX 512	/* limit when many wait for TCP, a power of two */
#define HYB_TX_ORDER	get_order(SZ_32K) /* of each; less with little traffic or memory */
#define HYB_TX_POOL	128	/* pages kept to be used again, at most; a power of two */

/*
 * A segment with less room than this is ended rather than filled: with data of
 * verbs it is filled down to HYB_SEG_DATA_MIN. One more FPDU costs less than
 * sending the rest in a packet of its own.
 */
#define HYB_SEG_MIN		256
#define HYB_SEG_DATA_MIN	64

/**
 * struct hyb_tx_page - a page of the outgoing stream
 * @page: compound page with one reference of ours, the others are TCP's
 * @base: its first byte
 * @size: bytes
 * @fill: bytes that are laid out
 * @sent: bytes that TCP has taken
 * @stage_fill: bytes in use of @stage
 * @stage: memory of the same size, private to us, where the upper layer leaves
 *	   payload that is put in its place later; or NULL
 */
struct hyb_tx_page {
	struct page *page;
	u8 *base;
	u32 size;
	u32 fill;
	u32 sent;
	u32 stage_fill;
	struct page *stage;
};

/**
 * struct hyb_tx_kept - a page of the outgoing stream that TCP has all of
 * @page: as in &struct hyb_tx_page, of the usual size
 * @stage: as in &struct hyb_tx_page
 */
struct hyb_tx_kept {
	struct page *page;
	struct page *stage;
};

/**
 * struct hyb_tx_pool - pages of the outgoing stream that are kept to be used again
 * @idle: pages that TCP has let go of, the one that it let go of last at the end;
 *	  NULL without pages
 * @busy: ring of the others, in the order in which TCP got them
 * @nr_idle: pages in @idle; those in @busy and these are HYB_TX_POOL at most
 * @get: index of the oldest page in @busy, counts on
 * @put: index after the newest one
 */
struct hyb_tx_pool {
	struct hyb_tx_kept *idle;
	struct hyb_tx_kept *busy;
	u32 nr_idle;
	u32 get;
	u32 put;
};

/**
 * struct hyb_stream - the outgoing stream, laid out in pages
 * @ring: ring of pages, from @out to @cur; after @cur those of a message that was cut
 * @mask: its size - 1
 * @cur: index of the page being filled, counts on
 * @out: index of the oldest page with bytes that TCP has not taken
 * @wait_max: pages that may wait after @out
 * @pos: position in the stream after what is laid out
 * @given: position after what TCP has taken
 * @seq: TCP's sequence number of position 0
 * @ivl: marker interval, 0 for none
 * @ivl_log: its logarithm
 * @clamp: largest segment that the peer takes, as TCP keeps it
 * @mtu: of the path that @mss is for
 * @mss: payload of a TCP segment, looked up for each batch
 * @room: bytes up to the end of the current segment; 0: not aligned
 * @limited: @memcg may have a limit: pages must not exceed it
 * @quiet: TCP has no byte of the stream, and no page was taken since
 * @lacks: there was no page; cleared by hyb_stream_reclaim() without lock
 * @memcg: control group that is charged for the pages, or NULL; that of the queue pair
 * @pool: pages that were before @out
 * @first: the ring as long as it need not grow
 */
struct hyb_stream {
	struct hyb_tx_page *ring;
	u32 mask;
	u32 cur;
	u32 out;
	u32 wait_max;
	u64 pos;
	u64 given;
	u32 seq;
	u32 ivl;
	u32 ivl_log;
	u16 clamp;
	u32 mtu;
	u32 mss;
	u32 room;
	bool limited;
	bool quiet;
	bool lacks;
	struct mem_cgroup *memcg;
	struct hyb_tx_pool pool;
	struct hyb_tx_page first[HYB_TX_PAGES];
};

/* ------------------------------------------------ payload by reference */

/* Pieces that wait to be handed over, at most; a power of two */
#define HYB_SG_PIECES	1024

/* Pieces of an FPDU that the host finishes; only TCP has to gather them */
#define HYB_SG_HOST	33

/* Markers in an FPDU that TCP can put into one packet, payload by reference */
#define HYB_SG_MARKS	6

/**
 * struct hyb_sg_piece - bytes of the stream that lie elsewhere
 * @pos: position of the first of them
 * @end: position after the FPDU, once that is complete; 0 if a packet may have
 *	 others after it
 * @page: page that holds them; referenced until the FPDU is recorded, then the
 *	  record has a reference
 * @off: offset in @page
 * @len: bytes
 * @held: it has no record, the reference is ours until TCP has its own
 */
struct hyb_sg_piece {
	u64 pos;
	u64 end;
	struct page *page;
	u32 off;
	u32 len : 31;
	u32 held : 1;
};

/**
 * struct hyb_sg - pieces between layout and hand-over
 * @ring: HYB_SG_PIECES, from the first use on
 * @get: oldest that TCP has not taken
 * @begin: first of the FPDU being laid out
 * @put: next free
 * @max: pieces that this FPDU may have, those in the stream's page included
 * @fpdu: position after the FPDU that TCP is getting pieces of, or 0
 * @nic: a NIC finishes the FPDU being laid out
 */
struct hyb_sg {
	struct hyb_sg_piece *ring;
	u64 fpdu;
	u32 get;
	u32 begin;
	u32 put;
	u32 max;
	bool nic;
};

/* Is payload of the FPDU being laid out elsewhere? */
static inline bool hyb_sg_any(const struct hyb_sg *sg)
{
#ifdef CONFIG_RDMA_IWARP_HYBRID_RESEARCH
	return sg->begin != sg->put;
#else
	return false;
#endif
}

/* ------------------------------------------------------------ transmit */

/**
 * struct hyb_orq_entry - a Read or atomic operation that waits for its response
 * @mem: the sink region, referenced; NULL for kernel addresses and length 0
 * @to: sink tagged offset of the next expected byte
 * @stag: sink STag
 * @left: bytes still expected
 * @len: bytes asked for
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
 * @done: bytes answered
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

/* Result of laying out the next FPDU */
enum hyb_lay {
	HYB_LAY_DONE,		/* FPDUs were laid out, or the request failed: ask again */
	HYB_LAY_IDLE,		/* nothing to do now */
	HYB_LAY_FULL,		/* the page or the segment must end first */
};

/* Message in progress */
enum hyb_tx_msg {
	HYB_TX_NONE,
	HYB_TX_SEND,		/* send queue: Send or Write */
	HYB_TX_IMM,		/* send queue: Immediate Data after a Write */
	HYB_TX_READ,		/* send queue: Read Request */
	HYB_TX_ATOMIC,		/* send queue: Atomic Request */
	HYB_TX_RRESP,		/* a Read Response or Atomic Response */
};

/**
 * struct hyb_tx_left - FPDUs that are left to the NIC and not recorded yet
 * @page: where they stand, one after the other
 * @off: offset of the first
 * @len: bytes, 0: none
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
 * @crc_kernel: by the kernel's code, see hyb_dev.crc_kernel
 * @ext: the peer knows RFC 7306, and Sends with immediate data
 * @fenced: responder that has not seen the initiator's first FPDU
 * @stopped: nothing more is laid out: a Terminate was laid out or received, TCP has ended, or
 *	     the queue pair is in ERROR
 * @why: negative errno with which TCP has ended, 0: not known
 * @drain: report when all is sent
 * @calling: inside a call of TCP
 * @sg: payload given by reference
 * @refer: payload is given by reference, of a batch; where no NIC gathers it
 * @lent: TCP has memory of the request in progress
 * @tracked: packets are seen on their way to IP
 * @lend: packets with memory of requests, from the first of them on
 * @contig: the FPDU being laid out has its markers after the PAD
 * @rresp_first: Read Responses go before the send queue; alternates
 * @rtr: ready-to-receive message to send first
 * @msn: next message number per untagged queue
 * @busy: message in progress
 * @held: @sqe is taken from the queue but cannot start yet (fence, ORD, no memory for @orq)
 * @sqe: private copy of the request in progress
 * @slot: its place in the queue
 * @mem: regions of its scatter list, referenced
 * @len: payload bytes of the message in progress
 * @done: payload bytes laid out
 * @sge: where in the scatter list @done is
 * @sge_off: offset in that entry
 * @orq: own reads that are outstanding, a ring; never without room for one
 * @orq_mask: its size - 1; the size is a power of two, and grows until it is at least @ord
 * @orq_first: the ring while nothing needs more
 * @orq_get: oldest
 * @orq_put: next free
 * @ord: how many there may be
 * @irq: the peer's reads to be answered, a ring
 * @irq_mask: its size - 1; the size is a power of two, and grows until it is at least @ird
 * @irq_first: as @orq_first
 * @irq_get: oldest
 * @irq_put: next free
 * @ird: how many there may be
 * @term_len: bytes of @term, 0 if there is none
 * @term: ULPDU of a Terminate to send
 * @fpdus: counted here and added to the counters per run of the engine, as the next five
 * @copies: of payload
 * @copied: bytes of payload copied
 * @referred: bytes of payload that TCP got by reference
 * @summed: bytes that CRCs were computed over
 * @nic: bytes whose CRC is left to the NIC
 */
struct hyb_tx {
	struct hyb_stream s;
	u64 end;
	struct hyb_tx_left left;
	bool crc;
	bool crc_kernel;
	bool ext;
	bool fenced;
	bool stopped;
	bool drain;
	bool calling;
	bool contig;
	bool refer;
	bool lent;
	bool tracked;
	int why;
	struct hyb_lend *lend;
	struct hyb_sg sg;
	bool held;
	bool rresp_first;
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

/* The side that finishes an FPDU */
enum hyb_tx_who {
	HYB_TX_HOST,
	HYB_TX_NIC,		/* if there is room for the record */
	HYB_TX_NIC_CONTIG,	/* hyb_off_tx_contig() said yes */
};

/* ------------------------------------------------------------- receive */

/**
 * struct hyb_cur - a place in TCP's receive queue
 * @sk: socket
 * @skb: packet of the queue
 * @part: @skb or one of its frag_list, NULL after the last
 * @frag: next fragment of @part
 * @seq: sequence number of @p
 * @p: contiguous bytes
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
 * Bytes of the stream that a round of the engine handles: bottom halves are
 * disabled, and others wait. More than the largest FPDU.
 */
#define HYB_RX_BUDGET	(1024 * 1024)

/* Pause of the receive engine, hyb_rx.wait */
enum hyb_rx_wait {
	HYB_RX_WAIT_NONE,
	HYB_RX_WAIT_RECV,	/* for a receive, or for the upper layer */
	HYB_RX_WAIT_FIN,	/* as before, and the peer's FIN has arrived */
};

/**
 * struct hyb_rx - receive state of a QP
 * @budget: rest of HYB_RX_BUDGET; hyb_sched begins a round
 * @need: bytes that have to be there for the next step: up to the end of the FPDU being awaited,
 *	  or of its length field; 0: not known
 * @pos: bytes of the stream consumed
 * @ivl: marker interval of the incoming stream, 0 for none
 * @ivl_log: its logarithm
 * @crc: checksum is verified
 * @crc_kernel: by the kernel's code, see hyb_dev.crc_kernel
 * @paused: the next FPDU waits for a receive or for memory; resumed by hyb_sched_kick_rx() or a
 *	    retry
 * @starved: paused without a receive: nothing is processed before there is one. Or
 *	     without memory for a shared link, see hyb_shared.run
 * @stopped: an error was found, a Terminate was received, or the wait for a receive after FIN
 *	     has timed out: the peer's stream is no longer processed
 * @eof: end of stream was reported
 * @wait: enum hyb_rx_wait: a pause in which no byte of the stream was consumed
 * @since: jiffies when @wait became what it is
 * @msn: expected message number per untagged queue
 * @rtr_send: an empty Send at the start of the stream is no message
 * @written: payload bytes of the last Write; 0 after its Immediate Data
 * @write_ended: all of it has come, the next segment of a Write begins another one
 * @sink: region that the last Write went to, referenced, or NULL
 * @active: @rqe is the buffer of the message being received
 * @rqe: private copy of the receive in use
 * @mem: regions of @rqe, referenced; NULL for kernel addresses
 * @room: bytes @rqe can take
 * @done: payload bytes placed
 * @sge: where in the scatter list @done is
 * @sge_off: offset in that entry
 * @segs: tcp_sock.data_segs_in as far as it was counted
 * @fpdus: counted here and added to the counters per run of the engine, as the next five
 * @copies: of payload
 * @copied: bytes of payload copied
 * @summed: bytes that CRCs were checked over
 * @trusted: bytes that the NIC has checked
 * @there: bytes that the NIC has placed
 */
struct hyb_rx {
	u32 budget;
	u32 need;
	u64 pos;
	u32 ivl;
	u32 ivl_log;
	bool crc;
	bool crc_kernel;
	bool paused;
	bool starved;
	u8 wait;
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

/* A segment of a Write was received */
static inline void hyb_rx_wrote(struct hyb_rx *rx, u32 len, bool last)
{
	rx->written = (rx->write_ended ? 0 : rx->written) + len;
	rx->write_ended = last;
}

/* ---------------------------------------------- out-of-order placement */

/* Receives that are taken from the queue out of order, at most */
#define HYB_OOO_RECVS	32

/**
 * struct hyb_ooo - what a QP knows of its out-of-order queue
 * @tab: ranges that were examined, NULL while there are none
 * @rqe: receives taken early, a ring; NULL until one was
 * @rqe_get: oldest of them
 * @rqe_put: next free
 * @seen: tcp_sock.rcv_ooopack at the last look
 * @partial: where the last FPDU was that ended past its run, for counting
 * @no_mark: where the last run began without a usable marker, for counting
 */
struct hyb_ooo {
	struct ooo_table *tab;
	struct siw_rqe *rqe;
	u32 rqe_get;
	u32 rqe_put;
	u32 seen;
	u64 partial;
	u64 no_mark;
};

/* --------------------------------------------------------- shared link */

#define HYB_MSGS	4	/* entries of the ring of messages at first, a power of two */

/**
 * struct hyb_fpos - place of an FPDU
 * @pos: in the stream
 * @page: index in hyb_stream.ring
 * @off: in that page
 */
struct hyb_fpos {
	u64 pos;
	u32 page;
	u32 off;
};

/**
 * struct hyb_msg - a message that is not completely sealed
 * @first: its first FPDU
 * @last: its last FPDU
 * @len: bytes after the DDP headers: header of the upper layer and payload
 * @msn: message number
 * @hdr_len: bytes of @hdr
 * @solicited: the peer is to get an event
 * @hdr: header of the upper layer
 */
struct hyb_msg {
	struct hyb_fpos first;
	struct hyb_fpos last;
	u32 len;
	u32 msn;
	u8 hdr_len;
	bool solicited;
	u8 hdr[RDMA_STACK_TX_HDR];
};

/**
 * struct hyb_tx_tables - what a shared link needs to lay out messages
 * @seg: where the upper layer writes
 * @first: the ring of messages as long as it need not grow
 */
struct hyb_tx_tables {
	struct rdma_stack_seg seg[RDMA_STACK_TX_SEGS];
	struct hyb_msg first[HYB_MSGS];
};

/* The reservation that is open, hyb_shared.reserved */
enum hyb_reserved {
	HYB_RESERVED_NONE,
	HYB_RESERVED_NEW,	/* for a message */
	HYB_RESERVED_APPEND,	/* for more of the last message */
};

/**
 * struct hyb_shared - shared link of a queue pair
 * @ulp: upper layer's functions, NULL when it has closed the link; changes
 *	 under hyb_tcp.lock while there is no socket, then under the socket's spinlock
 * @ctx: for them
 * @tables: NULL while nothing is sent
 * @msg: ring of open messages, NULL without @tables
 * @mask: its size - 1: U32_MAX without @tables
 * @get: oldest of the messages
 * @put: next free
 * @seal: next FPDU to be sealed, if @begun
 * @begun: message @get is partly sealed
 * @open: the last message may be appended to; read without lock
 * @reserved: enum hyb_reserved: while one is open, the engine does nothing; read without
 *	      lock
 * @pending: there is something to do when the reservation is over
 * @eor: a segment ends before the next FPDU
 * @lent: bytes of the reservation
 * @was: hyb_msg.len before it
 * @nr: entries of hyb_tx_tables.seg in use
 * @room: bytes up to the end of the segment that TCP is at
 * @want: call tx_space when there is room; also set without lock
 * @notify: call tx_space when @notify_pos is acknowledged
 * @notify_pos: see @notify
 * @window: receive window wanted, 0: TCP's own choice; WRITE_ONCE() under hyb_tcp.lock, while
 *	    others read it under the socket's spinlock
 * @window_now: in effect, if @window is not 0
 * @space: receive buffer of TCP for it
 * @held: the upper layer has paused reception; also cleared without lock
 * @called: rx was called in this walk
 * @rx_off: bytes of the message that were delivered
 * @rx: next pieces to deliver
 * @run: its pieces, RDMA_STACK_RUNS at most; NULL while nothing comes, with
 *	 hyb_rx.starved, so that hyb_shared_wake() is called first
 * @charged: bytes that the upper layer holds, for which TCP's socket is charged
 * @skb_seq: first sequence number of the packet whose memory was last reported in @rx
 * @skb_size: how much of its memory was reported
 */
struct hyb_shared {
	const struct rdma_stack_ulp *ulp;
	void *ctx;

	u32 get;
	u32 put;
	struct hyb_fpos seal;
	bool begun;
	bool open;
	u8 reserved;
	bool pending;
	bool eor;
	bool want;
	bool notify;
	u32 lent;
	u32 was;
	u32 nr;
	u32 room;
	u64 notify_pos;

	u32 window;
	u32 window_now;
	u32 space;
	bool held;
	bool called;
	u32 rx_off;
	u32 charged;
	u32 skb_seq;
	u32 skb_size;
	struct rdma_stack_rx rx;

	struct rdma_stack_run *run;

	struct hyb_tx_tables *tables;
	struct hyb_msg *msg;
	u32 mask;
};

/* Is a reservation open? Then the transmit engine must wait. */
static inline bool hyb_shared_reserved(const struct hyb_shared *s)
{
	return s && s->reserved != HYB_RESERVED_NONE;
}

/* Is there an FPDU whose header, markers and CRC are still missing? */
static inline bool hyb_shared_unsealed(const struct hyb_shared *s)
{
	return s && s->get != s->put;
}

/* ----------------------------------------------------------------- NIC */

/* Pieces of memory of one FPDU, at most */
#define HYB_OFF_PIECES	16

/**
 * struct hyb_off_piece - a part of an FPDU as it was handed to TCP
 * @page: its page, in the kernel's direct mapping
 * @off: offset in the page, may exceed PAGE_SIZE in a compound page
 * @len: bytes
 */
struct hyb_off_piece {
	struct page *page;
	u32 off;
	u32 len;
};

/**
 * struct hyb_off - offload state that the engines read for each FPDU; first
 *		    member of the private structure
 * @tx_crc: the CRC of FPDUs handed over from now on may be left to the NIC
 * @tx_contig: markers may stand after the payload, IWARP_LAYOUT_CONTIG
 * @tx_sg: payload may be given by reference, the NIC gathers it
 * @rx_crc: the NIC's verdict is taken for a CRC
 * @word: the NIC's verdict is, or was, taken: packets on their way may have it
 * @place: the NIC places payload of tagged segments
 * @verify: check in any case
 * @max_pieces: of an FPDU whose payload the NIC gathers
 * @ask: the NIC waits for hyb_off_rx_at()
 * @in_run: @run is valid
 * @run: sequence number of the last verified packet that began with an FPDU
 *
 * All but the last three change while a task owns the TCP socket, hence between
 * FPDUs. The receive engine clears @place when it stops, and in hyb_off_mismatch() @rx_crc,
 * @word and @place. It owns the last two.
 */
struct hyb_off {
	bool tx_crc;
	bool tx_contig;
	bool tx_sg;
	bool rx_crc;
	bool word;
	bool place;
	bool verify;
	u8 max_pieces;
	bool ask;
	bool in_run;
	u32 run;
};

/* Verdict on an FPDU */
enum hyb_off_verdict {
	HYB_OFF_NONE,		/* software checks */
	HYB_OFF_GOOD,		/* checked by the NIC, software need not */
	HYB_OFF_DOUBLE,		/* checked by the NIC, software does as well */
};

#endif
