/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Zero copy on a verbs link: large sends are not copied into messages. The
 * source advertises its memory (SrcAvail), the sink reads it with RDMA Read
 * straight into the memory of the reader. Or the sink advertises that of a
 * reader that waits (SinkAvail), and the source writes to it with RDMA Write.
 * Shared by the files of zero copy and of the verbs link.
 *
 * Each direction has one of SDP's modes, which its source chooses (ModeChange).
 * Combined: SrcAvail carries the first bytes of its data. Pipelined: SrcAvail has no
 * payload, and SinkAvail may come. Buffered: nothing is advertised.
 *
 * sdp->lock protects states and numbers. States that let the transmit engine
 * continue change with tx_lock held as well, so the engine may read them with
 * tx_lock alone. sdp_zc_crossed() is an exception: it takes back a SrcAvail of
 * pipelined mode, after which nothing is queued. Reception looks at a send of ours only
 * once SrcAvail has left, so sdp_zc_tx_begin() fills the send in with tx_lock alone.
 * A region belongs to the process that has claimed the state.
 */
#ifndef _SDP_ZCOPY_H
#define _SDP_ZCOPY_H

#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/mmu_notifier.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#define SDP_ZC_MIN	4096	/* bytes below which it is never tried */
#define SDP_ZC_HEAD	64	/* bytes that go along with SrcAvail, combined */
/* of one advertisement: 1 MB, wherever it is */
#define SDP_ZC_PAGES	(SZ_1M / PAGE_SIZE + 1)
#define SDP_ZC_PAGES_MIN	16	/* a device with fewer is not worth it */
/* bytes of an RDMA Read, except over iWARP: after a lost packet all of it is repeated */
#define SDP_ZC_READ	262144
/* work requests at a time: each way at most register, Read or Write, and invalidate */
#define SDP_ZC_WRS	8
/* a send waits for this many times net.sdp.zcopy_wait, if only the transport progresses */
#define SDP_ZC_LOOKS	64
#define SDP_ZC_SKIP_MAX	6	/* at most 2^6 transfers are copied after failures */
#define SDP_ZC_SEEN_BITS	3	/* 2^3 addresses of sends are remembered */
#define SDP_ZC_ANSWER	(3 * HZ) /* for the peer, at least: lost packets are sent again */
#define SDP_ZC_SPARE	2	/* registrations without memory, of a connection */

struct msghdr;
struct sock;
struct sdp_conn;
struct sdp_msg;
struct sdp_rx_ctx;
struct sdp_sock;

/**
 * struct sdp_zc_region - memory of a process that the device may use
 * @cqe: completion of the last work request for it, which invalidates @mr
 * @conn: connection
 * @mr: its registration, for as many pages as are possible; NULL before @bound
 * @page: the pages, pinned while @nr is not 0
 * @sg: @page for the device
 * @addr: user address where the memory begins
 * @nr: pages
 * @len: bytes
 * @write: the device writes to it
 * @bound: mapped for the device, and one of sdp_zc.regions
 * @posted: a work request for it has not completed
 * @dirty: the device may have written to it: the pages are marked dirty when they are
 *	   released or kept
 * @mmp: charge to the user (RLIMIT_MEMLOCK)
 * @node: on sdp_zc.kept
 * @lru: on one of the lists of struct sdp_zc_cache, if it is kept or stale
 * @used: jiffies when it was last used
 * @watched: the mapping is watched for changes
 * @stale: it has changed; with the lock of the cache
 * @mm: mm of the mapping, which @mni keeps from being freed
 * @mni: notifier for changes of the mapping
 * @seq: sequence number of @mni when the pages were about to be pinned
 */
struct sdp_zc_region {
	struct ib_cqe cqe;
	struct sdp_conn *conn;
	struct ib_mr *mr;
	struct page **page;
	struct scatterlist *sg;
	unsigned long addr;
	u32 nr;
	u32 len;
	bool write;
	bool bound;
	bool posted;
	bool dirty;
	struct mmpin mmp;
	struct list_head node;
	struct list_head lru;
	unsigned long used;
	bool watched;
	bool stale;
	struct mm_struct *mm;
#ifdef CONFIG_MMU_NOTIFIER
	struct mmu_interval_notifier mni;
	unsigned long seq;
#endif
};

/**
 * struct sdp_zc_cache - memory kept for transfers to come, of a namespace
 * @lock: for all of it, and for sdp_zc.kept of its connections; taken in process context
 *	  only, memory reclaim included
 * @lru: regions that may be used again, oldest first
 * @bytes: their size
 * @stale: regions that may not, and wait for @work
 * @work: frees regions that are stale or have not been used for long
 */
struct sdp_zc_cache {
	spinlock_t lock;		/* see above */
	struct list_head lru;
	u64 bytes;
	struct list_head stale;
	struct delayed_work work;
};

/* Our send, sdp_zc.tx_state */
enum sdp_zc_tx {
	SDP_ZC_TX_IDLE,
	SDP_ZC_TX_QUEUED,	/* waits for its turn, and for a credit */
	SDP_ZC_TX_SENT,		/* SrcAvail is with the peer */
	SDP_ZC_TX_CANCEL,	/* SrcAvailCancel wanted, or sent */
	SDP_ZC_TX_WRITING,	/* RDMA Write, RdmaWrCompl after it */
	SDP_ZC_TX_OVER,		/* all is moved, or the rest is copied */
};

/* SrcAvail of the peer, sdp_zc.rx_state */
enum sdp_zc_rx {
	SDP_ZC_RX_IDLE,
	SDP_ZC_RX_PENDING,	/* waits for a reader */
	SDP_ZC_RX_READING,
};

/* Our SinkAvail, sdp_zc.sink_state; sdp_zc_sink_out() depends on the order */
enum sdp_zc_sink {
	SDP_ZC_SINK_IDLE,
	SDP_ZC_SINK_QUEUED,	/* waits for a credit */
	SDP_ZC_SINK_SENT,
	SDP_ZC_SINK_CANCEL,	/* SinkAvailCancel waits for a credit */
	SDP_ZC_SINK_CANCELLED,	/* SinkAvailCancel has left */
	SDP_ZC_SINK_OVER,	/* filled, or void; its reader has to end it */
};

/* Memory that the peer has advertised. */
struct sdp_zc_advert {
	u64 va;
	u32 rkey;
	u32 len;
};

/**
 * struct sdp_zc_adverts - advertisements of the peer, oldest first
 * @slot: room for as many as Hello has allowed
 * @first: place of the oldest
 * @n: how many there are
 */
struct sdp_zc_adverts {
	struct sdp_zc_advert *slot;
	u16 first;
	u16 n;
};

/**
 * struct sdp_zc - zero copy of a connection with a verbs link
 * @conn: the connection
 * @able: the device supports it, and memory for @rx_src and @tx_sink was there; fixed
 * @pipe: pipelined mode may be used: net.sdp.zcopy_pipelined; fixed
 * @max: SrcAvail that the peer may have open at a time, and SinkAvail; fixed
 * @drained: the queue pair is dead, and the device does not access memory any more
 * @users: processes between sdp_zc_enter() and sdp_zc_leave()
 * @tx_state: enum sdp_zc_tx
 * @tx_fails: attempts that failed, in a row
 * @tx_skip: sends to be copied before the next attempt
 * @tx_copy: the rest of the present sendmsg is copied
 * @tx_seen: addresses of memory that was sent before, by their hash
 * @tx_stop: the rest of @tx is not advertised any more, because it was cancelled
 * @tx_pipe: the peer would like pipelined mode (REQ_PIPE)
 * @tx_piped: our sending half has been in pipelined mode
 * @tx_mode: mode of our sending half, enum sdp_mode
 * @tx_want: mode it changes to as soon as ModeChange can leave; lock_sock, and tx_lock
 *	     to change
 * @tx_mseq: MSeq of our SrcAvail
 * @tx_len: bytes of @tx
 * @tx_head: those that go along with SrcAvail, 0 in pipelined mode
 * @tx_left: bytes of @tx after @tx_head that the peer has not got yet
 * @tx_written: bytes of the RDMA Write under way; tx_lock
 * @tx_data: messages with payload sent; tx_lock, once @tx_piped is set sdp->lock as well
 * @tx_void: those of them that made a SinkAvail void: the peer does not count these
 * @tx_piped_data: @tx_data when the mode was changed last
 * @tx_sink: SinkAvail of the peer that are not void
 * @tx_unavail: the peer has cancelled those of @tx_sink, if there are any
 * @write_cqe: completion of RDMA Writes
 * @rx_state: enum sdp_zc_rx
 * @rx_taking: a reader is pinning memory, without lock_sock; changes with it
 * @rx_cancel: SrcAvailCancel came while we were reading
 * @rx_ack: MSeqAck as long as @rx_cancel is set: of the message before it
 * @rx_left: bytes of the peer's memory not read
 * @rx_rkey: key to that memory
 * @rx_va: address of the @rx_left bytes
 * @rx_done: bytes read that no RdmaRdCompl has reported yet
 * @rx_src: SrcAvail after that one, in pipelined mode
 * @rx_asked: SendSm has left, and the peer may not know of it yet
 * @rx_asked_mseq: MSeq of it
 * @rx_fails: SinkAvail in a row that failed
 * @rx_skip: receives to be copied before the next SinkAvail
 * @rx_data: messages with payload received that SinkAvail counts
 * @sink_state: enum sdp_zc_sink
 * @sink_lost: a message with payload came instead
 * @sink_data: @rx_data as the SinkAvail has it
 * @sink_done: bytes that the peer has written
 * @tx: our memory, as long as @tx_state is not idle
 * @rx: memory of the reader; there is one at a time, of @rx_state or of @sink_state
 * @mem_lock: for @regions, @spare and @nspare; process context only
 * @regions: how many are bound
 * @spare: registrations without memory
 * @nspare: how many these are
 * @kept: those that may be used again, latest first; with the cache's lock
 * @nkept: how many these are
 * @kept_bytes: their share of the cache; READ_ONCE() without its lock
 *
 * The sender owns @tx_fails, @tx_skip, @tx_copy and @tx_seen: with lock_sock, or as the
 * process whose send @tx_state is. A reader owns @rx_fails and @rx_skip likewise.
 */
struct sdp_zc {
	struct sdp_conn *conn;
	bool able;
	bool pipe;
	bool drained;
	u8 max;
	u16 users;
	u8 tx_state;
	u8 tx_fails;
	u16 tx_skip;
	bool tx_copy;
	unsigned long tx_seen[1 << SDP_ZC_SEEN_BITS];
	bool tx_stop;
	bool tx_pipe;
	bool tx_piped;
	u8 tx_mode;
	u8 tx_want;
	u32 tx_mseq;
	u32 tx_len;
	u32 tx_head;
	u32 tx_left;
	u32 tx_written;
	u32 tx_data;
	u32 tx_void;
	u32 tx_piped_data;
	struct sdp_zc_adverts tx_sink;
	bool tx_unavail;
	struct ib_cqe write_cqe;
	u8 rx_state;
	bool rx_taking;
	bool rx_cancel;
	u32 rx_ack;
	u32 rx_left;
	u32 rx_rkey;
	u64 rx_va;
	u32 rx_done;
	struct sdp_zc_adverts rx_src;
	bool rx_asked;
	u32 rx_asked_mseq;
	u8 rx_fails;
	u16 rx_skip;
	u32 rx_data;
	u8 sink_state;
	bool sink_lost;
	u32 sink_data;
	u32 sink_done;
	struct sdp_zc_region *tx;
	struct sdp_zc_region *rx;
	spinlock_t mem_lock;		/* see above */
	u32 regions;
	struct ib_mr *spare[SDP_ZC_SPARE];
	u32 nspare;
	struct list_head kept;
	u32 nkept;
	u32 kept_bytes;
};

/**
 * struct sdp_zc_ops - what the transmit half asks zero copy
 * @send: as sdp_zc_send()
 * @sent: a sendmsg is over. Context: lock_sock.
 * @ack: MSeqAck for a message that leaves now, @ack without zero copy
 * @header: a message with that many bytes of payload is leaving: complete its
 *	    flags, and count it
 * @held: data have to wait for a SrcAvail or an RDMA Write of ours
 * @busy: there is a send whose data are not messages yet
 * @next: as sdp_zc_next(). NULL: there is no pipelined mode
 * @write: as sdp_zc_write(), with @next
 *
 * conn->zco points to them as soon as either end wants zero copy (sdp_zc_on()). Before,
 * it is NULL, and the transmit half skips zero copy.
 *
 * Context: tx_lock, where nothing else is said.
 */
struct sdp_zc_ops {
	int (*send)(struct sock *sk, struct msghdr *msg, int flags);
	void (*sent)(struct sdp_conn *conn);
	u32 (*ack)(const struct sdp_conn *conn, u32 ack);
	void (*header)(struct sdp_conn *conn, struct sdp_msg *m, u32 bytes);
	bool (*held)(const struct sdp_conn *conn);
	bool (*busy)(const struct sdp_conn *conn);
	u8 (*next)(struct sdp_conn *conn);
	int (*write)(struct sdp_conn *conn);
};

/*
 * Both directions, for bounce buffers: the bytes that the device does not write
 * keep their values when the buffer is copied back.
 */
static inline enum dma_data_direction
sdp_zc_dir(const struct sdp_zc_region *r)
{
	return r->write ? DMA_BIDIRECTIONAL : DMA_TO_DEVICE;
}

/* zcopy/region.c */
u32 sdp_zc_max_pages(const struct sdp_conn *conn);
struct ib_mr *sdp_zc_mr_get(struct sdp_conn *conn);
int sdp_zc_map(struct sdp_zc_region *r);
struct sdp_zc_region *sdp_zc_region_new(struct sdp_conn *conn,
					unsigned long addr, u32 len,
					bool write);
void sdp_zc_sync(struct sdp_zc_region *r, bool device);
void sdp_zc_unbind(struct sdp_zc_region *r, bool spare);
void sdp_zc_region_end(struct sdp_zc_region *r);
void sdp_zc_region_free(struct sdp_zc_region *r);
void sdp_zc_unwatch(struct sdp_zc_region *r);

/* zcopy/pool.c */
void sdp_zc_cache_init_net(struct sdp_zc_cache *cache);
void sdp_zc_cache_exit_net(struct sdp_zc_cache *cache);
struct sdp_zc_region *sdp_zc_get(struct sdp_conn *conn, unsigned long addr,
				 u32 len, bool write);
bool sdp_zc_put(struct sdp_zc_region *r);
void sdp_zc_give_back(struct sdp_zc_region *r);
void sdp_zc_mem_init(struct sdp_zc *zc);
void sdp_zc_mem_exit(struct sdp_conn *conn);

/* zcopy/xfer.c */
u32 sdp_zc_segment(const struct iov_iter *iter, unsigned long *addr);
void sdp_zc_reg_wr(struct sdp_zc_region *r, struct ib_reg_wr *wr, int access);
void sdp_zc_inv_wr(struct sdp_zc_region *r, struct ib_send_wr *wr);
bool sdp_zc_post(struct sdp_conn *conn, struct sdp_zc_region *r,
		 const struct ib_send_wr *wr);
void sdp_zc_enter(struct sdp_conn *conn);
long sdp_zc_timeout(const struct sdp_conn *conn, bool reads);
void sdp_zc_wait_peer(struct sdp_conn *conn, bool reads,
		      bool (*over)(const struct sdp_conn *conn));
bool sdp_zc_leave(struct sdp_conn *conn, struct sdp_zc_region *r);
bool sdp_zc_push(const struct sdp_zc *zc, struct sdp_zc_adverts *q,
		 const struct sdp_msg *m);
bool sdp_zc_pop(const struct sdp_zc *zc, struct sdp_zc_adverts *q,
		struct sdp_zc_advert *a);
bool sdp_zc_asks_pipe(const struct sdp_conn *conn);
bool sdp_zc_sink_out(const struct sdp_zc *zc);
void sdp_zc_sink_end(struct sdp_conn *conn);

/* zcopy/src_read.c */
void sdp_zc_tx_payload(struct sdp_conn *conn);
int sdp_zc_send(struct sock *sk, struct msghdr *msg, int flags);
void sdp_zc_src_avail(struct sdp_conn *conn, struct sdp_msg *m);
void sdp_zc_sent(struct sdp_conn *conn);
bool sdp_zc_tx_held(const struct sdp_conn *conn);
bool sdp_zc_tx_busy(const struct sdp_conn *conn);
int sdp_zc_rd_compl(struct sdp_sock *sdp, struct sdp_rx_ctx *c);
int sdp_zc_sendsm(struct sdp_sock *sdp, struct sdp_rx_ctx *c);

/* zcopy/src_write.c: SinkAvail, at the source; only with CONFIG_SDP_RESEARCH */
u8 sdp_zc_next(struct sdp_conn *conn);
int sdp_zc_write(struct sdp_conn *conn);
void sdp_zc_written(struct ib_cq *cq, struct ib_wc *wc);
int sdp_zc_sink_avail(struct sdp_sock *sdp, struct sdp_rx_ctx *c);
int sdp_zc_sink_unavail(struct sdp_sock *sdp, struct sdp_rx_ctx *c);

/* zcopy/sink_offer.c: SinkAvail, at the sink; only with CONFIG_SDP_RESEARCH */
int sdp_zc_wr_compl(struct sdp_sock *sdp, struct sdp_rx_ctx *c);
int sdp_zc_sink_ack(struct sdp_sock *sdp, struct sdp_rx_ctx *c);

#if IS_ENABLED(CONFIG_SDP_RESEARCH)
void sdp_zc_tx_mode(struct sdp_conn *conn, u8 mode);
void sdp_zc_mode_changed(struct sdp_conn *conn, struct sdp_msg *m);
bool sdp_zc_sink_ack_due(struct sdp_conn *conn);
int sdp_zc_offer(struct sock *sk, struct msghdr *msg, size_t len, int flags,
		 long *timeo);
bool sdp_zc_sink_due(struct sdp_conn *conn);
bool sdp_zc_sink_cancel_due(struct sdp_conn *conn);
void sdp_zc_sink_fill(struct sdp_conn *conn, struct sdp_msg *m);
#else
/* Without pipelined mode: we never ask for it, so the peer may not offer memory. */
static inline void sdp_zc_tx_mode(struct sdp_conn *conn, u8 mode) { }
static inline void sdp_zc_mode_changed(struct sdp_conn *conn, struct sdp_msg *m) { }
static inline void sdp_zc_sink_fill(struct sdp_conn *conn, struct sdp_msg *m) { }

static inline bool sdp_zc_sink_ack_due(struct sdp_conn *conn)
{
	return false;
}

static inline bool sdp_zc_sink_due(struct sdp_conn *conn)
{
	return false;
}

static inline bool sdp_zc_sink_cancel_due(struct sdp_conn *conn)
{
	return false;
}

static inline int sdp_zc_offer(struct sock *sk, struct msghdr *msg, size_t len,
			       int flags, long *timeo)
{
	return 0;
}
#endif

/* How a reader finds an advertisement */
enum sdp_zc_reader {
	SDP_ZC_POLLS,	/* may not wait */
	SDP_ZC_WAITS,
	SDP_ZC_RETURNS,	/* may wait, but has read enough already */
};

/* zcopy/sink_read.c */
void sdp_zc_rx_payload(struct sdp_sock *sdp, struct sdp_rx_ctx *c);
struct sdp_zc_region *sdp_zc_rx_get(struct sdp_conn *conn, unsigned long addr,
				    u32 len);
int sdp_zc_recv(struct sock *sk, struct msghdr *msg, size_t len, int flags,
		enum sdp_zc_reader who, u32 seq);
void sdp_zc_decline(struct sock *sk);
int sdp_zc_accept(struct sdp_sock *sdp, struct sdp_rx_ctx *c);
bool sdp_zc_pending(const struct sock *sk);
void sdp_zc_poll(struct sock *sk, u32 seq);
void sdp_zc_asked(struct sdp_conn *conn);
int sdp_zc_rx_mode(struct sdp_rx_ctx *c);
int sdp_zc_src_cancel(struct sdp_sock *sdp, struct sdp_rx_ctx *c);
void sdp_zc_fill_rd_compl(struct sdp_conn *conn, struct sdp_msg *m);
u32 sdp_zc_ack(const struct sdp_conn *conn, u32 ack);

/* zcopy/conn.c */
int sdp_zc_init(struct sdp_conn *conn);
void sdp_zc_free(struct sdp_conn *conn);
void sdp_zc_drained(struct sdp_conn *conn);
bool sdp_zc_ctl_due(struct sdp_conn *conn, unsigned int bit);
void sdp_zc_on(struct sdp_conn *conn);

#endif /* _SDP_ZCOPY_H */
