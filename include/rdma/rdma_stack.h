/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Location of the protocol components under a queue pair, and send and receive
 * buffers that an upper layer shares with its provider.
 *
 * A protocol over RDMA (ULP) calls rdma_stack_query() for any device. It gets
 * the table that the provider registered, or the known properties of the driver.
 * A provider that also registers struct rdma_stack_link lets the ULP write
 * straight into outgoing pages, and gives it references to received pages.
 *
 * Vocabulary: a position counts the bytes of the outgoing TCP stream since
 * the queue pair entered full operation, headers and markers included.
 */
#ifndef _RDMA_RDMA_STACK_H
#define _RDMA_RDMA_STACK_H

#include <linux/bits.h>
#include <linux/limits.h>
#include <linux/types.h>

struct ib_cqe;
struct ib_device;
struct ib_qp;
struct ib_sge;
struct page;
struct sock;

/* ---------------------------------------------------------- components */

/* Components of a reliable stream with RDMA on top */
enum rdma_stack_comp {
	RDMA_STACK_CRC,			/* end-to-end checksum, both ways */
	RDMA_STACK_DEMUX,		/* packet to connection and CPU */
	RDMA_STACK_MARKERS,		/* MPA markers in sent data */
	RDMA_STACK_FLOW_CONTROL,	/* a full receiver stops the sender */
	RDMA_STACK_BUFFERING,		/* keeps data until acknowledged */
	RDMA_STACK_ORDERING,
	RDMA_STACK_RELIABILITY,
	RDMA_STACK_COALESCING,		/* small sends share a message */
	RDMA_STACK_COMPS
};

enum rdma_stack_place {
	RDMA_STACK_UNKNOWN,
	RDMA_STACK_ABSENT,
	RDMA_STACK_HOST,
	RDMA_STACK_NIC,
};

/**
 * struct rdma_stack_map - answer of rdma_stack_query()
 * @place: enum rdma_stack_place of each enum rdma_stack_comp
 * @link: the device offers struct rdma_stack_link, for this queue pair
 * @immediate: Write with immediate data; for a queue pair: its peer takes it. Only for iWARP,
 *	       where not all drivers support it; false on InfiniBand and RoCE, where all do
 * @registered: the table is one that a provider registered, not a fact about the driver
 */
struct rdma_stack_map {
	u8 place[RDMA_STACK_COMPS];
	bool link;
	bool immediate;
	bool registered;
};

/* --------------------------------------------------------- shared link */

/* Bytes of one gap in payload */
#define RDMA_STACK_GAP		4

/**
 * struct rdma_stack_gaps - gaps in payload in one piece of memory
 * @head: bytes before the first gap, 0: there is no gap
 * @step: bytes between two gaps, not 0 if @head is not
 *
 * A provider leaves the marks of its stream in place, RDMA_STACK_GAP bytes each.
 * Only payload is counted here.
 */
struct rdma_stack_gaps {
	u16 head;
	u16 step;
};

/**
 * rdma_stack_gaps_off - offset in memory of a byte of the payload
 * @g: gaps
 * @n: bytes of payload before it
 *
 * Return: bytes of memory before it.
 */
static inline u32 rdma_stack_gaps_off(const struct rdma_stack_gaps *g, u32 n)
{
	if (!g->head || n < g->head)
		return n;
	return n + RDMA_STACK_GAP * (1 + (n - g->head) / g->step);
}

/**
 * rdma_stack_gaps_span - contiguous bytes of payload
 * @g: gaps
 * @n: bytes of payload before the first of them
 *
 * Return: bytes up to the next gap, which may be past the payload.
 */
static inline u32 rdma_stack_gaps_span(const struct rdma_stack_gaps *g, u32 n)
{
	if (!g->head)
		return U32_MAX;
	if (n < g->head)
		return g->head - n;
	return g->step - (n - g->head) % g->step;
}

/**
 * struct rdma_stack_run - received payload in one piece of memory
 * @data: first byte; valid during the call
 * @page: page that contains it, or NULL if it may not be referenced
 * @off: offset of @data in @page, may exceed PAGE_SIZE in a compound page
 * @len: bytes of payload, not 0
 * @gaps: gaps between them
 */
struct rdma_stack_run {
	const void *data;
	struct page *page;
	u32 off;
	u32 len;
	struct rdma_stack_gaps gaps;
};

#define RDMA_STACK_RUNS		32	/* in one call, at most */

/**
 * struct rdma_stack_rx - payload of one Send message, or a part of it
 * @run: @nr runs of bytes
 * @nr: 0 only for the end of a message
 * @len: their sum
 * @truesize: memory that references to all of it hold
 * @msg_off: bytes of the message that came before
 * @last: the message ends with these bytes
 * @solicited: the sender asked for an event; only with @last
 */
struct rdma_stack_rx {
	const struct rdma_stack_run *run;
	u32 nr;
	u32 len;
	u32 truesize;
	u32 msg_off;
	bool last;
	bool solicited;
};

/* Results of rdma_stack_ulp.rx that are not an error */
enum rdma_stack_rx_verdict {
	RDMA_STACK_RX_MORE,	/* consumed, continue */
	RDMA_STACK_RX_PAUSE,	/* consumed; stop until rx_resume(). Exceptions:
				 * the rest of a segment with more than
				 * RDMA_STACK_RUNS runs, and everything left
				 * after the peer closed.
				 */
};

/**
 * struct rdma_stack_ulp - callbacks of the provider to the ULP
 * @rx: payload arrived, its checksum and headers are good. References to
 *	pages must be taken (get_page()) before return; the memory may be
 *	shared with a sender on this machine, so copy it before parsing. An
 *	error ends the connection as a remote operation error.
 * @rx_begin: something has arrived, the first since the link was opened, or since @idle:
 *	      get memory for a call of @rx. False: there is none; the provider asks
 *	      again until it is true, and does not call @rx before. Once the connection
 *	      ends it stops asking, at the peer's end of stream after a few seconds, and
 *	      @closed has an error. @idle may follow without @rx. NULL: @rx gets what it
 *	      needs
 * @rx_done: after one or more calls of @rx: the batch is over, wake readers
 * @tx_space: the position that tx_notify asked for has been acknowledged, or
 *	      a call that returned -EAGAIN may be tried again, or there is room
 *	      again after @tx_full
 * @tx_full: within tx_commit: the next message would be refused with -EAGAIN.
 *	     NULL: the ULP finds out
 * @rx_held: bytes of memory that references to pages hold. The provider charges
 *	     its transport for them. NULL: unknown
 * @idle: nothing has been sent or delivered for a while: give back memory that is kept
 *	  for the next time. May come again, and before the first @rx_begin. NULL:
 *	  nothing is kept
 * @closed: nothing more will be sent or delivered; once. The error is 0 if the
 *	    peer has ended its direction; if the transport got no answer -ETIMEDOUT
 *	    or what ICMP said; else -ECONNRESET. Events of the queue pair and of
 *	    the connection manager come as without a shared link.
 *
 * Context of all: bottom halves disabled and the provider's transport lock
 * held. They must not sleep, nor post to this queue pair, nor call rdma_stack_link, but
 * for tx_acked, tx_sent and tx_path, and may take only locks that are never held around
 * calls that are forbidden here.
 */
struct rdma_stack_ulp {
	bool (*rx_begin)(void *ctx);
	int (*rx)(void *ctx, const struct rdma_stack_rx *rx);
	void (*rx_done)(void *ctx);
	void (*tx_space)(void *ctx);
	void (*tx_full)(void *ctx);
	u32 (*rx_held)(void *ctx);
	void (*idle)(void *ctx);
	void (*closed)(void *ctx, int err);
};

#define RDMA_STACK_TX_SEGS	96	/* of one reservation */
#define RDMA_STACK_TX_HDR	64	/* longest header of a ULP */

/**
 * struct rdma_stack_seg - room for payload in one piece of memory
 * @data: first byte
 * @len: bytes of payload, not 0
 * @gaps: gaps between them. They are still empty, and the ULP may write there.
 */
struct rdma_stack_seg {
	void *data;
	u32 len;
	struct rdma_stack_gaps gaps;
};

/**
 * struct rdma_stack_tx - room in the outgoing stream
 * @seg: segments for payload, in order; owned by the provider, valid until
 *	 tx_commit or tx_abort
 * @nr: number of segments
 * @len: their sum, at most the requested length
 * @msg_len: payload that the message had before (tx_append), else 0
 * @end: filled in by tx_commit: position after the message. An append moves
 *	 the end of its message.
 */
struct rdma_stack_tx {
	const struct rdma_stack_seg *seg;
	u32 nr;
	u32 len;
	u32 msg_len;
	u64 end;
};

/**
 * struct rdma_stack_ip - IP-level properties of a connection's packets
 * @mark: as SO_MARK: for routes and firewall rules
 * @priority: as SO_PRIORITY
 * @tos: as IP_TOS, or IPV6_TCLASS; its ECN bits are the transport's
 * @ttl: as IP_TTL, or IPV6_UNICAST_HOPS; -1: that of the route
 */
struct rdma_stack_ip {
	u32 mark;
	u32 priority;
	u8 tos;
	s16 ttl;
};

/* Flags of tx_commit */
#define RDMA_STACK_TX_MORE	BIT(0)	/* more follows at once: may wait */
#define RDMA_STACK_TX_SOLICITED	BIT(1)	/* Send with Solicited Event */
#define RDMA_STACK_TX_CLOSE	BIT(2)	/* nothing may be appended to it */

/**
 * struct rdma_stack_link - operations on buffers shared with the ULP
 * @open: use the shared link on a queue pair from now on. Sends that arrive
 *	  are delivered by @ulp and need no receives. Allowed before full
 *	  operation, and in it as long as no Send has been delivered, and no
 *	  receive taken for a later one. May sleep. Return 0; -EBUSY if that
 *	  has happened, or the link of this queue pair was opened before;
 *	  -ENOTCONN if the connection has ended; -EOPNOTSUPP if the queue pair
 *	  belongs to a program; -ENOMEM.
 * @close: no callback runs after return, and no data is delivered. Committed
 *	   data is still sent. Needed before the queue pair is destroyed. May
 *	   sleep.
 * @reset: end the connection at once, the peer sees it broken; unsent data of
 *	   the transport is dropped. Events follow as after rdma_disconnect().
 *	   NULL: use rdma_disconnect(). Context: process.
 * @tx_reserve: begin a message: room for up to @want bytes of payload after
 *		a header of @hdr_len bytes, 1 to RDMA_STACK_TX_HDR
 * @tx_append: continue the last message if none of it has been passed to the
 *	       transport, if it was not closed, and if its payload stays within
 *	       @max; -ENOENT otherwise
 * @tx_commit: the first @used bytes of the reservation are filled in; send
 *	       them after @hdr (of the length given to tx_reserve; for an
 *	       append it replaces the header of the message). With @used 0 a
 *	       message of the header alone is sent.
 * @tx_abort: cancel the reservation
 * @tx_wait: after -EINPROGRESS: wait for that task. Context: process; sleeps
 * @tx_acked: position that the peer's transport has acknowledged; a plain
 *	      read, allowed in callbacks, after the connection has ended, and
 *	      for a queue pair without a shared link
 * @tx_sent: position up to which bytes have left for the first time, for
 *	     TCP_NOTSENT_LOWAT and SIOCOUTQNSD; as @tx_acked. NULL: unknown
 * @tx_path: bytes that the path holds, its rate times its shortest round-trip
 *	     time; 0 as long as it has not been measured. A ULP's large buffer
 *	     for sending needs no more than twice as much. As @tx_acked. NULL:
 *	     unknown
 * @tx_notify: call tx_space once when @pos is acknowledged. False, without a
 *	       call, if it already is. One request is pending at a time, the
 *	       last one counts.
 * @rx_resume: continue after RDMA_STACK_RX_PAUSE
 * @rx_buffer: bytes of unread data that the ULP's user grants (SO_RCVBUF);
 *	       the transport advertises no more than that in addition to
 *	       delivered data; 0: the transport's own choice
 * @set_ip: properties of packets from now on. Before rdma_connect() or
 *	    rdma_accept(): from the first packet of the queue pair's own on. Not
 *	    allowed between that call and the event that the connection is
 *	    established. Also for a queue pair without a shared link. NULL: not
 *	    supported. Context: process, one call at a time; may sleep.
 * @set_owner: sockets that are made for the queue pair belong to the control group
 *	       of @owner, which stays until the queue pair is destroyed. A resource of the
 *	       device that users share counts for the user of @owner.
 *	       Before rdma_connect() or rdma_accept(). Without this call, and where it is
 *	       NULL, the group and the user are those of the task. Context: any.
 * @rx_memory: from now on a receive of one piece of memory is not complete: when a
 *	       message that is longer takes it, @fill adds a second piece. So memory
 *	       for messages that may come is allocated when they do. If there is none
 *	       (false), the message waits in the transport, as without a receive; @fill
 *	       is called again when more packets come, or by @rx_again. Before the first
 *	       receive is posted, and not for a shared receive queue. NULL: not
 *	       supported. @fill is called with interrupts disabled and locks held: it
 *	       must not sleep, and takes only locks that are never held around a call of
 *	       a verb.
 * @rx_again: there is memory for @fill. Context: as ib_post_recv().
 *
 * One reservation can be open per queue pair. It blocks all other messages of
 * the queue pair, so the holder copies without sleeping (page faults disabled)
 * and commits or aborts. Between tx_reserve and tx_commit the path MTU may
 * change: the layout is kept.
 *
 * The queue pair may be created with few work requests. If the peer does not
 * agree to a shared link, ib_modify_qp() with IB_QP_CAP resizes its queues. The ULP may also
 * do so later, while requests are posted: -EBUSY if it is not possible now.
 *
 * tx_reserve and tx_append return 0 or::
 *
 *	-EAGAIN	no room now; tx_space follows
 *	-EBUSY	a reservation is open; tx_space does not follow, its holder
 *		checks for work after it commits
 *	-EINPROGRESS a task has the transport, to change or to end it;
 *		tx_space follows
 *	-ENOTCONN not in full operation: not yet, or the connection is about to end.
 *		tx_space does not follow, but the event that it is established, or @closed
 *	-EPIPE	the connection has ended; @closed may still be under way.
 *		If the transport got no answer it is another error instead:
 *		-ETIMEDOUT, or what ICMP said
 *	-ENOMEM	no pages now; tx_space follows
 *	-EINVAL	@hdr_len is 0 or exceeds RDMA_STACK_TX_HDR (tx_reserve only)
 *
 * A tx_append with @want 0 and a commit with @used 0 change the header only;
 * without RDMA_STACK_TX_MORE that sends data that an earlier commit delayed.
 *
 * Context of @open and @close: process. Context of the others, where nothing else is said:
 * process or softirq, interrupts enabled, not inside a callback of struct rdma_stack_ulp.
 */
struct rdma_stack_link {
	int (*open)(struct ib_qp *qp, const struct rdma_stack_ulp *ulp,
		    void *ctx);
	void (*close)(struct ib_qp *qp);
	void (*reset)(struct ib_qp *qp);
	int (*tx_reserve)(struct ib_qp *qp, u32 want, u32 hdr_len,
			  struct rdma_stack_tx *tx);
	int (*tx_append)(struct ib_qp *qp, u32 want, u32 max,
			 struct rdma_stack_tx *tx);
	void (*tx_commit)(struct ib_qp *qp, struct rdma_stack_tx *tx, u32 used,
			  const void *hdr, unsigned int flags);
	void (*tx_abort)(struct ib_qp *qp, struct rdma_stack_tx *tx);
	void (*tx_wait)(struct ib_qp *qp);
	u64 (*tx_acked)(struct ib_qp *qp);
	u64 (*tx_sent)(struct ib_qp *qp);
	u32 (*tx_path)(struct ib_qp *qp);
	bool (*tx_notify)(struct ib_qp *qp, u64 pos);
	void (*rx_resume)(struct ib_qp *qp);
	void (*rx_buffer)(struct ib_qp *qp, u32 bytes);
	void (*set_ip)(struct ib_qp *qp, const struct rdma_stack_ip *ip);
	void (*set_owner)(struct ib_qp *qp, const struct sock *owner);
	void (*rx_memory)(struct ib_qp *qp,
			  bool (*fill)(struct ib_cqe *cqe, struct ib_sge *sge));
	void (*rx_again)(struct ib_qp *qp);
};

/* ------------------------------------------------------------ registry */

/**
 * struct rdma_stack_provider - registration of a provider for a device
 * @query: fill @map->place, @map->link and @map->immediate for a queue pair, or for new
 *	   ones if @qp is NULL. Context: process.
 * @link: shared link, or NULL
 */
struct rdma_stack_provider {
	void (*query)(struct ib_device *dev, struct ib_qp *qp,
		      struct rdma_stack_map *map);
	const struct rdma_stack_link *link;
};

int rdma_stack_register(struct ib_device *dev,
			const struct rdma_stack_provider *p);
void rdma_stack_unregister(struct ib_device *dev);

int rdma_stack_query(struct ib_device *dev, struct ib_qp *qp,
		     struct rdma_stack_map *map);
const struct rdma_stack_link *rdma_stack_get_link(struct ib_device *dev);

void rdma_stack_changed(struct ib_device *dev);

const char *rdma_stack_comp_name(enum rdma_stack_comp comp);
const char *rdma_stack_place_name(enum rdma_stack_place place);

#endif
