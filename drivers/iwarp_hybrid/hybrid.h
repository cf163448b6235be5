/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Objects of the driver and the functions its files offer each other.
 *
 * Files, each of which calls only those in lines below its own:
 *
 *	hyb_main	module, rdma link, net device events
 *	hyb_verbs	device, PD, user context
 *	hyb_cm, hyb_qp	connection management; queue pairs
 *	hyb_listen	listening cm_ids and their sockets
 *	hyb_cep		connection end points, the state machine
 *	hyb_tcp		TCP socket of a connection, its callbacks
 *	hyb_idle	memory of queue pairs that do nothing
 *	hyb_rx, hyb_tx	the engines
 *	hyb_ext, hyb_fast, hyb_shared	parts of both engines
 *	hyb_xmit	packets between TCP and IP
 *	hyb_fpdu	FPDUs in the outgoing stream
 *	hyb_attr, hyb_recv, hyb_sg	sysfs; receives; payload by reference
 *	hyb_off_conn, hyb_ooo, hyb_srq	NIC offload; out-of-order placement; shared
 *			receive queues
 *	hyb_off_place, hyb_off_sw, hyb_queue	NIC offload; work queues
 *	hyb_cq, hyb_lend, hyb_off_rec, hyb_off_steer, hyb_place	completions; lent memory;
 *			NIC offload; placement of components
 *	hyb_mem, hyb_sched	registered memory; scheduler of the engines
 *	hyb_obj, hyb_rdq, hyb_stats, hyb_stream	objects, queues of Reads, counters, pages
 *	hyb_trace	tracepoints
 *
 * Locks, outermost first: hyb_cep.lock; TCP socket of a QP; hyb_tcp.lock;
 * hyb_sq.lock; hyb_rq.lock; hyb_cq.lock. hyb_qp.state_lock is a leaf. All from
 * hyb_tcp.lock on disable interrupts, because work may be posted from any
 * context.
 */
#ifndef HYBRID_H
#define HYBRID_H

#include <linux/atomic.h>
#include <linux/hrtimer.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/pid.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/siw-abi.h>

#include "compat_rdma.h"
#include "hyb_conn.h"
#include "hyb_stats.h"
#include "hyb_types.h"

struct hyb_attr_dev;
struct hyb_attr_qp;
struct hyb_off;
struct hyb_ooo;
struct hyb_shared;

#define HYB_VENDOR_ID		0x485942	/* "HYB", no OUI */
#define HYB_MAX_QP		65536
#define HYB_MAX_QP_WR		32768
#define HYB_MAX_CQ		65536
#define HYB_MAX_CQE		BIT(20)
#define HYB_MAX_MR		BIT(20)
#define HYB_MAX_PD		65536
#define HYB_MAX_SRQ		65536
#define HYB_MAX_SRQ_WR		(HYB_MAX_QP_WR * 2)
#define HYB_MAX_RD_ATOM		128		/* IRD and ORD of a QP */
#define HYB_MAX_FRWR_PAGES	512
/* a table of the pages is no larger than kvmalloc() makes it */
#define HYB_MAX_MR_SIZE		((u64)(INT_MAX / sizeof(void *)) << PAGE_SHIFT)
#define HYB_MAX_MSG		0x7fffffffU	/* bytes of one message */

/* ---------------------------------------------------------- placement */

/* The side that puts markers into the stream, and the way it does */
enum hyb_mark_mode {
	HYB_MARK_COPY,		/* host: payload is copied into place once more */
	HYB_MARK_INPLACE,	/* host: gaps are left where payload is written */
	HYB_MARK_SG,		/* NIC: gathers payload and markers */
	HYB_MARK_CONTIG,	/* NIC: moves payload to open the gaps */
	HYB_MARK_MODES
};

/* How payload of Sends and Writes gets to TCP */
enum hyb_pay_mode {
	HYB_PAY_COPY,
	HYB_PAY_REF,
	HYB_PAY_MODES
};

/**
 * struct hyb_place - where the components are that can be on the NIC
 * @crc: RDMA_STACK_HOST or RDMA_STACK_NIC
 * @demux: RDMA_STACK_HOST or RDMA_STACK_NIC
 * @markers: enum hyb_mark_mode
 * @payload: enum hyb_pay_mode; no component, hence not part of a profile
 */
struct hyb_place {
	u8 crc;
	u8 demux;
	u8 markers;
	u8 payload;
};

/* ------------------------------------------------------------- device */

/**
 * struct hyb_dev - one RDMA device, on one net device
 * @ibdev: the RDMA core's object; first member
 * @netdev: the net device, referenced until the device is freed
 * @tracker: of that reference
 * @node: entry of the module's list of devices
 * @dying: @netdev is going away; protected by the list's mutex
 * @registered: the device was registered, so its removal is logged
 * @gid: the port's address: hardware address of @netdev, or random
 * @part_id: number that tells devices apart for user space
 * @stats: counters
 * @qps: queue pairs by number
 * @mems: regions by STag index (STag >> 8); looked up under RCU
 * @next_qpn: where the search for a free QP number begins
 * @num_qp: queue pairs alive
 * @num_cq: completion queues alive
 * @num_mr: memory regions alive
 * @num_pd: protection domains alive
 * @num_srq: shared receive queues alive
 * @cm: connection manager's part
 * @attr: sysfs attributes
 * @attr_lock: protects @place; serialises writers of the attributes that also apply to queue
 *	       pairs that exist
 * @news: reports that components have moved; hyb_place's
 * @place: placement for new queue pairs
 * @verify: software also checks FPDUs that the NIC has checked
 * @placement: enum rdma_stack_place: the side that places payload of tagged segments
 * @ntuple_filters: filters of an ordinary NIC that all connections together may use
 * @filters: connections that have such a filter, see hyb_off_steer.c
 * @place_lock: protects the lists of tagged buffers, see hyb_off_place.c
 * @crc: ask for CRC in MPA start-up (it is on if either side asks)
 * @crc_kernel: new connections compute CRCs by the kernel's code, attribute crc_driver
 * @markers: enum mpa_want
 * @mpa_rev: MPA revision that an active open begins with
 * @marker_ivl: marker interval that an active open proposes
 * @ooo: place FPDUs that arrive out of order, before the gap is filled
 * @idle: looks for queue pairs that do nothing; hyb_idle's
 * @busy: queue pairs that are not idle, linked by hyb_qp.busy_node
 * @busy_lock: (BH) protects @busy; a leaf
 */
struct hyb_dev {
	struct ib_device ibdev;
	struct net_device *netdev;
	netdevice_tracker tracker;
	struct list_head node;
	bool dying;
	bool registered;
	u8 gid[ETH_ALEN];
	u32 part_id;
	struct hyb_stats __percpu *stats;

	struct xarray qps;
	struct xarray mems;
	u32 next_qpn;

	atomic_t num_qp;
	atomic_t num_cq;
	atomic_t num_mr;
	atomic_t num_pd;
	atomic_t num_srq;

	struct hyb_cm_dev cm;

	struct hyb_attr_dev *attr;
	struct mutex attr_lock;		/* see above */
	struct delayed_work news;
	struct hyb_place place;
	bool verify;
	u8 placement;
	u32 ntuple_filters;
	struct hyb_off_table *filters;
	spinlock_t place_lock;		/* see above; a leaf but for the NIC's */
	bool crc;
	bool crc_kernel;
	u8 markers;
	u8 mpa_rev;
	u32 marker_ivl;
	bool ooo;
	struct delayed_work idle;
	struct list_head busy;
	spinlock_t busy_lock;		/* see above */
};

struct hyb_pd {
	struct ib_pd ibpd;
};

struct hyb_ucontext {
	struct ib_ucontext ibctx;
};

/**
 * struct hyb_umap - ring memory a user may map
 * @entry: the core's bookkeeping, referenced by the owner of the ring and by
 *	   an mmap() in progress; the last reference frees the ring
 * @addr: the ring, from __vmalloc()
 *
 * Pages that are still mapped when the ring is freed live until unmapped.
 */
struct hyb_umap {
	struct rdma_user_mmap_entry entry;
	void *addr;
};

/* -------------------------------------------------------- completion */

/**
 * struct hyb_cq - completion queue
 * @ibcq: the RDMA core's object
 * @dev: device
 * @ring: entries in the layout of siw-abi.h; a user maps them if @umap is set
 * @ctrl: after the ring; consumers arm the queue here
 * @mask: number of entries - 1, entries are a power of two
 * @id: number for users
 * @put: free running producer index
 * @get: free running consumer index. That of a user is unknown: a slot is free
 *	 when its flags are zero.
 * @events: SIW_NOTIFY_* bits of completions without an event yet
 * @overflow: an entry was lost, reported once
 * @umap: user mapping of @ring, or NULL for a kernel queue
 * @mod_count: moderation: this many completions make an event; 0: each does
 * @mod_usecs: after this time fewer do
 * @notified: @put at the last event; moderation only, may be outdated
 * @waiting: bit 0: @timer will look after the events
 * @timer: ends the wait for more completions
 * @lock: protects @put, @get, @ring, @overflow against concurrent use by the kernel
 */
struct hyb_cq {
	struct ib_cq ibcq;
	struct hyb_dev *dev;
	struct siw_cqe *ring;
	struct siw_cq_ctrl *ctrl;
	u32 mask;
	u32 id;
	struct hyb_umap *umap;
	u16 mod_count;
	u16 mod_usecs;
	u32 notified;
	unsigned long waiting;
	struct hrtimer timer;

	spinlock_t lock ____cacheline_aligned_in_smp;
	u32 put;
	u32 get;
	u32 events;
	bool overflow;
};

/* ------------------------------------------------------- queue pairs */

/*
 * States and how the RDMA core names them: IDLE is RESET and INIT, CLOSING is
 * SQD, TERMINATE is SQE.
 */
enum hyb_qp_state {
	HYB_QP_IDLE,
	HYB_QP_RTR,		/* MPA start-up may run */
	HYB_QP_RTS,		/* full operation */
	HYB_QP_CLOSING,		/* graceful close under way */
	HYB_QP_TERMINATE,	/* Terminate sent or received */
	HYB_QP_ERROR,		/* final */
	HYB_QP_STATES
};

/*
 * Values that siw-abi.h has no name for, in requests and completions of the kernel;
 * programs cannot use them. The flag is one of siw_sqe and siw_cqe: immediate
 * data, in a request for Send or Write, and in the completion of a receive.
 */
#define HYB_WQE_IMM		BIT(7)

enum hyb_opcode {
	HYB_OP_MASKED_FETCH_ADD = SIW_NUM_OPCODES,
	HYB_OP_MASKED_COMP_SWAP,
	HYB_OP_RECV_IMM,	/* completion: a receive taken by a Write */
	HYB_NUM_OPCODES
};

/* Operands of an atomic request, in @laddr of these SGEs */
enum {
	HYB_SGE_COMPARE_ADD = 1,
	HYB_SGE_SWAP,
	HYB_SGE_COMPARE_MASK,
	HYB_SGE_SWAP_MASK,
};

static inline bool hyb_sqe_is_atomic(const struct siw_sqe *sqe)
{
	return sqe->opcode == SIW_OP_FETCH_AND_ADD ||
	       sqe->opcode == SIW_OP_COMP_AND_SWAP ||
	       sqe->opcode == HYB_OP_MASKED_FETCH_ADD ||
	       sqe->opcode == HYB_OP_MASKED_COMP_SWAP;
}

/*
 * The kernel's copy of fields of a request whose ring entry a user can rewrite.
 * @imm, immediate data of a Write, is set by the producer before it hands over
 * the entry.
 */
struct hyb_sq_slot {
	u64 id;
	u32 imm;
	u32 bytes;
	u16 status;
	u8 opcode;
	bool signalled;
	bool done;
	bool lent;		/* done when memory up to position @end is free */
	u64 end;
};

/**
 * struct hyb_sq - send queue
 * @lock: serialises producers, and protects @put and @flushed
 * @ring: entries in the layout of siw-abi.h. User space posts by setting
 *	  SIW_WQE_VALID, which is cleared when the entry is taken.
 * @slot: per entry, not visible to users
 * @umap: user mapping of @ring, or NULL
 * @mask: number of entries - 1, entries are a power of two
 * @max_sge: scatter list entries of a request
 * @sig_all: every request reports its completion
 * @put: next entry to fill; unused for user queues
 * @tx: next entry to transmit
 * @get: next entry to complete; entries complete in order
 * @nlent: requests that are sent, but the network has their memory
 * @lent: the first of these, if there are any
 * @flushed: the QP failed and the queue is empty: complete at once. That of a user may
 *	     have entries already, see hyb_qp_flush_again()
 *
 * @tx, @get, @nlent, @lent and @slot belong to the holder of the TCP socket; once the QP
 * is in ERROR and its engines have stopped they belong to @lock.
 */
struct hyb_sq {
	spinlock_t lock;		/* see above */
	bool sig_all;
	bool flushed;
	struct siw_sqe *ring;
	struct hyb_sq_slot *slot;
	struct hyb_umap *umap;
	u32 mask;
	u32 max_sge;
	u32 nlent;
	u32 lent;
	u32 put;
	u32 tx;
	u32 get;
};

/* The slot of the entry with this free running index */
static inline struct hyb_sq_slot *hyb_sq_slot(struct hyb_sq *sq, u32 idx)
{
	return &sq->slot[idx & sq->mask];
}

/**
 * struct hyb_rq - receive queue of a QP, or of a shared receive queue
 * @lock: serialises producers and consumers, protects all of it
 * @flushed: as in struct hyb_sq
 * @ring: entries in the layout of siw-abi.h, NULL if the queue has size 0
 * @umap: as in struct hyb_sq
 * @mask: as in struct hyb_sq
 * @max_sge: as in struct hyb_sq
 * @put: next entry to fill
 * @get: next entry to take
 * @fill: adds a piece of memory to entries of one piece, see rdma_stack_link.rx_memory;
 *	  NULL: they are complete
 */
struct hyb_rq {
	spinlock_t lock;		/* see above */
	bool flushed;
	struct siw_rqe *ring;
	struct hyb_umap *umap;
	u32 mask;
	u32 max_sge;
	u32 put;
	u32 get;
	bool (*fill)(struct ib_cqe *cqe, struct ib_sge *sge);
};

/**
 * struct hyb_srq - shared receive queue
 * @ibsrq: the RDMA core's object
 * @rq: the queue
 * @limit: raise an event when fewer entries are left, 0: not armed; under
 *	   the lock of @rq
 * @starved_lock: protects @starved, changes of @since
 * @starved: queue pairs that have found it empty, linked by hyb_qp.srq_node
 * @since: jiffies, when the last one of them did
 * @kick: kicks their receive engines after a post
 * @poll: the same for a user's queue, whose posts are not seen: looks at the ring by timer
 */
struct hyb_srq {
	struct ib_srq ibsrq;
	struct hyb_rq rq;
	u32 limit;
	spinlock_t starved_lock;	/* see above */
	struct list_head starved;
	unsigned long since;
	struct work_struct kick;
	struct delayed_work poll;
};

/**
 * struct hyb_qp - queue pair
 * @ibqp: the RDMA core's object
 * @dev: device
 * @ref: destroy waits until all references are gone: the connection's, the IW CM's, those
 *	 of lookups by number, and those of work items: @fault, reclaim of memory, and the
 *	 ones of the device and of the shared receive queue while they look at it
 * @scq: completion queue of requests
 * @rcq: completion queue of receives
 * @srq: shared receive queue, used instead of @rq, or NULL
 * @srq_node: entry of hyb_srq.starved
 * @owner: process that made it and maps its rings, or NULL: the kernel's
 * @memcg: control group that it was made in, with a reference, or NULL
 * @uid: user that made it
 * @user: there is an owner
 * @dead: being destroyed, nothing completes and no event is raised any more
 * @state_lock: protects changes of @state
 * @state: HYB_QP_*
 * @access: IB_ACCESS_* of modify_qp, for query_qp
 * @refuses: IB_ACCESS_REMOTE_* that the peer does not get, whatever a region grants
 * @fault: aborts the connection from a context that must not do so itself
 * @faulted: @fault has raised IB_EVENT_QP_FATAL, which happens only once
 * @sq: send queue
 * @rq: receive queue
 * @tcp: transport layer's part
 * @tx: transmit engine's part
 * @rx: receive engine's part
 * @cep: connection, while there is one; under hyb_tcp.lock
 * @attr: sysfs attributes, or NULL
 * @attr_fresh: among those of the device that have none yet
 * @attr_behind: an attribute was written when there was no TCP socket; under
 *		 hyb_tcp.lock
 * @requested: where components should be; changes under the TCP socket's lock once
 *	  connected, under hyb_tcp.lock before
 * @place: where they are, see hyb_place_update(); locked as @requested
 * @flush_runs: runs of hyb_qp_flush_again() since hyb_qp_flush(), up to a limit
 * @flush_empty: the last so many of them found nothing
 * @shared: link shared with the upper layer, or NULL; hyb_shared's
 * @off: NIC offload of the connection, or NULL; set once at attach; hyb_offload's
 * @ooo: out-of-order placement, or NULL; set once at attach; hyb_ooo's
 * @stats: counters
 * @busy_node: entry of hyb_dev.busy, if @busy
 * @idle_pos: sum of positions at the last look of hyb_idle
 * @busy: there may be memory that hyb_idle can free; under the TCP socket's spinlock
 *
 * The RDMA core allocates it by kzalloc(). Keep it within 2048 bytes where no debugging is
 * configured: the next size is 4096.
 */
struct hyb_qp {
	struct ib_qp ibqp;
	struct hyb_dev *dev;
	struct kref ref;
	enum hyb_qp_state state;
	struct hyb_cq *scq;
	struct hyb_cq *rcq;
	struct hyb_srq *srq;
	struct list_head srq_node;
	struct work_struct fault;
	struct pid *owner;
	struct mem_cgroup *memcg;
	kuid_t uid;
	spinlock_t state_lock;		/* see above */
	int access;
	u8 refuses;
	bool user;
	bool dead;
	bool faulted;
	u32 idle_pos;
	bool busy;
	bool attr_behind;
	u8 flush_runs;
	u8 flush_empty;
	struct hyb_place requested;
	struct hyb_place place;

	struct hyb_sq sq;
	struct hyb_rq rq;

	struct hyb_tcp tcp;
	struct hyb_tx tx;
	struct hyb_rx rx;
	struct hyb_cep *cep;

	struct hyb_attr_qp *attr;
	struct list_head attr_fresh;
	struct hyb_shared *shared;
	struct hyb_off *off;
	struct hyb_ooo *ooo;
	struct hyb_qp_stats stats;
	struct list_head busy_node;
};

#define hyb_dev_of(ptr)	container_of(ptr, struct hyb_dev, ibdev)
#define hyb_qp_of(ptr)	container_of(ptr, struct hyb_qp, ibqp)
#define hyb_cq_of(ptr)	container_of(ptr, struct hyb_cq, ibcq)
#define hyb_mr_of(ptr)	container_of(ptr, struct hyb_mr, ibmr)
#define hyb_srq_of(ptr)	container_of(ptr, struct hyb_srq, ibsrq)

/* May the peer do that, IB_ACCESS_REMOTE_*, where a region grants it? */
static inline bool hyb_qp_grants(const struct hyb_qp *qp, int access)
{
	return likely(!(READ_ONCE(qp->refuses) & access));
}

/* Verbs, by the files that implement them */
extern const struct ib_device_ops hyb_dev_ops;
extern const struct ib_device_ops hyb_qp_ops;
extern const struct ib_device_ops hyb_queue_ops;
extern const struct ib_device_ops hyb_srq_ops;
extern const struct ib_device_ops hyb_cq_ops;
extern const struct ib_device_ops hyb_mem_ops;
extern const struct ib_device_ops hyb_stats_ops;

/* ------------------------------------------------------------- hyb_stats */

static inline void hyb_stats_add(struct hyb_dev *dev, enum hyb_stat id, u64 n)
{
	this_cpu_add(dev->stats->value[id], n);
}

static inline void hyb_stats_inc(struct hyb_dev *dev, enum hyb_stat id)
{
	this_cpu_inc(dev->stats->value[id]);
}

/*
 * hyb_stats_add() for the data path. Context: bottom halves disabled, no hard
 * interrupt. With PREEMPT_RT other tasks run on the processor then, too.
 */
static inline void __hyb_stats_add(struct hyb_dev *dev, enum hyb_stat id, u64 n)
{
#ifdef CONFIG_PREEMPT_RT
	this_cpu_add(dev->stats->value[id], n);
#else
	__this_cpu_add(dev->stats->value[id], n);
#endif
}

/* Counts for a queue pair what was counted for the device. Context: TCP socket held. */
static inline void hyb_qp_count_own(struct hyb_qp *qp, enum hyb_stat id, u64 n)
{
	u64 *value = &qp->stats.value[id];

	/* read by hyb_stats_show(), without a lock */
	WRITE_ONCE(*value, *value + n);
}

/* Counts for a queue pair and its device. Context: spinlock of the TCP socket held. */
static inline void hyb_qp_count(struct hyb_qp *qp, enum hyb_stat id, u64 n)
{
	hyb_qp_count_own(qp, id, n);
	__hyb_stats_add(qp->dev, id, n);
}

ssize_t hyb_stats_show(const struct hyb_qp *qp, char *buf);

/* -------------------------------------------------- hyb_obj: queue pairs */

/* State of a QP; may change at any time: writers hold state_lock only */
static inline enum hyb_qp_state hyb_qp_state(const struct hyb_qp *qp)
{
	return READ_ONCE(qp->state);
}

bool hyb_qp_set_state(struct hyb_qp *qp, enum hyb_qp_state state);
bool hyb_qp_set_error(struct hyb_qp *qp);
void hyb_qp_fault(struct hyb_qp *qp);
void hyb_qp_event(struct hyb_qp *qp, enum ib_event_type type);

struct hyb_qp *hyb_qp_lookup(struct hyb_dev *dev, u32 qpn);
void hyb_qp_release(struct kref *ref);

static inline void hyb_qp_get(struct hyb_qp *qp)
{
	kref_get(&qp->ref);
}

static inline void hyb_qp_put(struct hyb_qp *qp)
{
	kref_put(&qp->ref, hyb_qp_release);
}

/* ------------------------------------------------------------- hyb_queue */

void hyb_qp_flush(struct hyb_qp *qp);
void hyb_qp_flush_again(struct hyb_qp *qp);
void hyb_qp_abort(struct hyb_qp *qp, enum hyb_close how);
u32 hyb_qp_notify(struct hyb_qp *qp);
int hyb_sq_next(struct hyb_qp *qp, struct siw_sqe *sqe, u32 *slot);
bool hyb_sq_pending(const struct hyb_qp *qp);
void hyb_sq_complete(struct hyb_qp *qp, u32 slot, u32 bytes,
		     enum siw_wc_status status);
void hyb_sq_lend(struct hyb_qp *qp, u32 slot, u32 bytes,
		 enum siw_wc_status status, u64 end);
void hyb_sq_unlent(struct hyb_qp *qp, u64 pos);
int hyb_rq_get(struct hyb_qp *qp, struct siw_rqe *rqe, u32 len);
void hyb_rq_memory(struct ib_qp *ibqp,
		   bool (*fill)(struct ib_cqe *cqe, struct ib_sge *sge));
void hyb_rq_again(struct ib_qp *ibqp);
bool hyb_rq_ready(struct hyb_qp *qp);
void hyb_rq_complete(struct hyb_qp *qp, const struct siw_rqe *rqe, u32 bytes,
		     u32 inval_stag, bool solicited,
		     enum siw_wc_status status);
void hyb_rq_complete_imm(struct hyb_qp *qp, const struct siw_rqe *rqe,
			 u32 bytes, u32 imm, bool rdma, bool solicited);

/* Adds one entry; with the queue's lock held */
int hyb_rq_post_one(struct hyb_rq *rq, const struct ib_recv_wr *wr);

/* --------------------------------------------------------------- hyb_srq */

void hyb_srq_leave(struct hyb_qp *qp);
void hyb_srq_wait(struct hyb_qp *qp);

/* ---------------------------------------------------------------- hyb_cq */

bool hyb_cq_push(struct hyb_cq *cq, const struct siw_cqe *cqe, bool solicited);
bool hyb_cq_notify(struct hyb_cq *cq);
void hyb_cq_clean(struct hyb_cq *cq, const struct hyb_qp *qp);

/* --------------------------------------------------------------- hyb_obj */

void *hyb_ring_alloc(struct ib_udata *udata, size_t size,
		     struct hyb_umap **umap, u64 *key);
void hyb_ring_free(void *ring, struct hyb_umap *umap);

extern struct workqueue_struct *hyb_wq;

#endif
