/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hnic: a simulated NIC, shared declarations.
 *
 * Two network devices, joined by a wire. Two kernel threads of each device, the
 * engines, do the work that a NIC would do in hardware:
 *
 *	ndo_start_xmit -> TX ring -> TX engine -> link -> wire of the peer
 *	wire -> RX engine -> RX ring -> NAPI -> GRO
 *
 * Files, each of which calls only those below it:
 *	hnic_main.c	module, links, devices: open, stop, transmit
 *	hnic_ethtool.c, hnic_sysfs.c	settings and counters
 *	hnic_tx.c	TX engine: fetches, segments, computes checksums
 *	hnic_rx.c	RX engine, NAPI
 *	hnic_conn.c	connections offloaded by an iWARP provider
 *	hnic_place.c	payload placed into tagged buffers
 *	hnic_link.c	the link between two devices: delay, loss, ...
 *	hnic_dma.c	time that DMA takes
 *	hnic_filter.c	ntuple filters
 *	hnic_engine.c	threads
 *	hnic_pkt.c	packets in the memory of the NIC
 *	hnic_trace.c	tracepoints
 *
 * Lifetime: both devices of a pair are unregistered together, and none is
 * freed before both are closed. So while a device is open its engines may use
 * the peer; hnic_wire.up shows whether that one is open.
 */
#ifndef HNIC_H
#define HNIC_H

#include <linux/hrtimer.h>
#include <linux/netdevice.h>
#include <linux/rhashtable.h>
#include <linux/sched/isolation.h>
#include <linux/sizes.h>
#include <linux/smp.h>
#include <linux/u64_stats_sync.h>

#include "compat.h"
#include "rdma/iwarp_offload.h"

#define HNIC_QUEUES	16	/* at most, of each kind */
#define HNIC_RING	512	/* slots of a ring, a power of two */
#define HNIC_BATCH	64	/* packets of one run of an engine */
#define HNIC_PATHS	8
#define HNIC_LANES	(HNIC_PATHS + 1)	/* and one for reordering */
#define HNIC_MTU_MAX	9600
#define HNIC_HDR_MAX	256	/* longest headers of a packet to be cut */
#define HNIC_COPYBREAK	256	/* shorter packets are copied by the host */
#define HNIC_POOL_PAGES	128
#define HNIC_POOL_ORDER	get_order(SZ_32K)	/* of each */
#define HNIC_WIRE_MAX	4096	/* packets under way; then the sender waits */
#define HNIC_WIRE_SIZE	(8U << 20)	/* bytes of memory of the packets on it */
#define HNIC_CONNS	1024	/* of a device; default of HNIC_MAX_CONNS */
#define HNIC_FILTERS	64	/* of a device */
#define HNIC_BUFS	256	/* of a connection; default of HNIC_MAX_BUFS */

struct hnic_dev;

/* -------------------------------------------------------------- packets */

/**
 * struct hnic_piece - bytes of a packet that lie together
 * @page: where; referenced, the first piece by the packet
 * @off: offset in it
 * @len: how many
 */
struct hnic_piece {
	struct page *page;
	u32 off;
	u32 len;
};

/**
 * struct hnic_placed - a packet with payload that was placed
 * @nr: pieces
 * @piece: the fragments that the host gets; the first one has all headers of the packet
 */
struct hnic_placed {
	u32 nr;
	struct hnic_piece piece[MAX_SKB_FRAGS];
};

/**
 * struct hnic_pkt - a packet, and before it what the NIC knows of it
 * @next: in struct hnic_list
 * @due: ns: when its DMA is over; on a wire, when it arrives; 0: at once
 * @placed: where its bytes are, if some of them were placed
 * @page: compound page that the packet is in; a reference
 * @off: where in @page the Ethernet header is
 * @len: bytes from there
 * @size: bytes of memory taken
 * @queue: receive queue that the RX engine has chosen
 * @hash: of addresses and ports
 * @l3: offset of the IP header, or 0 if there is none
 * @l4: offset of the TCP or UDP header, or 0
 * @pay: offset of the payload of TCP, or 0
 * @ipv6: IPv6, else IPv4
 * @proto: IPPROTO_TCP, IPPROTO_UDP or 0
 * @csum_ok: the checksum is good
 * @verdict: all FPDUs in it are good
 */
struct hnic_pkt {
	struct hnic_pkt *next;
	u64 due;
	struct hnic_placed *placed;
	struct page *page;
	u32 off;
	u32 hash;
	u16 len;
	u16 size;
	u16 queue;
	u16 l3;
	u16 l4;
	u16 pay;
	u8 proto;
	u8 ipv6:1;
	u8 csum_ok:1;
	u8 verdict:1;
};

/* Where a thread for @cpu may run; -1: as those of the kernel, not on isolated CPUs */
static inline const struct cpumask *hnic_cpus(int cpu)
{
	return cpu < 0 ? housekeeping_cpumask(HK_TYPE_KTHREAD) : cpumask_of(cpu);
}

static inline u8 *hnic_pkt_data(const struct hnic_pkt *p)
{
	return (u8 *)(p + 1) + NET_IP_ALIGN;
}

/*
 * skb->decrypted, see rdma/iwarp_offload.h. In a packet to send: the provider
 * leaves it to the NIC to finish the FPDUs. In a received one: this NIC found
 * all FPDUs good.
 */
#ifdef HAVE_SKB_DECRYPTED
#define hnic_skb_decrypted(skb)		((skb)->decrypted)
#define hnic_skb_set_decrypted(skb, val)	((skb)->decrypted = (val))
#else
#define hnic_skb_decrypted(skb)		false
#define hnic_skb_set_decrypted(skb, val)	((void)(val))
#endif

struct hnic_list {
	struct hnic_pkt *head;
	struct hnic_pkt **tail;
	u32 count;
	u32 size;	/* bytes of memory */
};

/**
 * struct hnic_pool - memory for packets, of one TX engine
 * @memcg: control group of the device's creator, charged for the pages; or NULL
 * @page: pages in use, used again when all packets in them are gone
 * @cur: the one that packets are taken from
 * @fill: bytes of it that are taken
 * @size: its size
 */
struct hnic_pool {
	struct mem_cgroup *memcg;
	struct page *page[HNIC_POOL_PAGES];
	u32 cur;
	u32 fill;
	u32 size;
};

void hnic_list_init(struct hnic_list *l);
void hnic_list_add(struct hnic_list *l, struct hnic_pkt *p);
struct hnic_pkt *hnic_list_pop(struct hnic_list *l);
void hnic_list_splice(struct hnic_list *to, struct hnic_list *from);
void hnic_list_purge(struct hnic_list *l);

struct hnic_pkt *hnic_pkt_alloc(struct hnic_pool *pool, u32 len);
void hnic_pkt_free(struct hnic_pkt *p);
void hnic_pool_free(struct hnic_pool *pool);

void hnic_pkt_parse(struct hnic_pkt *p);
u32 hnic_pkt_seq(const struct hnic_pkt *p);
u32 hnic_pkt_pay_len(const struct hnic_pkt *p);
void hnic_pkt_tuple(const struct hnic_pkt *p, struct in6_addr *saddr,
		    struct in6_addr *daddr, __be16 *sport, __be16 *dport);
void hnic_pkt_set_len(struct hnic_pkt *p, u32 len);
void hnic_pkt_csum(struct hnic_pkt *p);
bool hnic_pkt_csum_good(const struct hnic_pkt *p);
bool hnic_pkt_plain(const struct hnic_pkt *p, u32 *ack, u32 *ts, u8 *doff);
bool hnic_pkt_from(const struct hnic_pkt *p, const u8 *addr);
bool hnic_pkt_to(const struct hnic_pkt *p, const u8 *addr);

/* ------------------------------------------------------------- counters */

/* Of the TX engine; ethtool -S has the names, Documentation/hnic.rst more */
struct hnic_tx_stats {
	u64 packets;
	u64 bytes;
	u64 tso;
	u64 no_memory;
	u64 too_long;
	u64 no_link;
	u64 fpdus;
	u64 crc_filled;
	u64 crc_fallback;
	u64 crc_unknown;
	u64 crc_stale;
	u64 crc_dropped;
	u64 contig_fpdus;
	u64 dma_ops;
	u64 dma_hdr_ops;
	u64 dma_marker_ops;
	u64 dma_bytes;
	u64 move_read_bytes;
	u64 move_write_bytes;
	u64 crc_bytes;
	u64 send_bytes;
	u64 dma_wait_ns;
	u64 ns;
};

/* Written by the RX engine alone, read with hnic_engine.sync */
struct hnic_rx_stats {
	u64 packets;
	u64 bytes;
	u64 csum_good;
	u64 csum_bad;
	u64 missed;
	u64 paused;
	u64 fpdus;
	u64 crc_good;
	u64 crc_bad;
	u64 verdicts;
	u64 no_verdict;
	u64 resync_lost;
	u64 resync_host;
	u64 resync_self;
	u64 placed_fpdus;
	u64 placed_bytes;
	u64 place_missed;
	u64 place_refused;
	u64 place_lost;
	u64 steered_conn;
	u64 steered_ntuple;
	u64 dropped_ntuple;
	u64 dma_ops;
	u64 dma_bytes;
	u64 crc_bytes;
	u64 dma_wait_ns;
	u64 ns;
};

/* Of the link at a device */
struct hnic_link_stats {
	u64 lost;
	u64 reordered;
	u64 split;
	u64 coalesced;
	u64 corrupted;
	u64 ns;
};

/* -------------------------------------------------------------- engines */

#define HNIC_ENGINE_KICKED	0	/* bit of hnic_engine.flags */

/**
 * struct hnic_engine - one kernel thread
 * @dev: its device
 * @run: works for a while, with bottom halves disabled, in an RCU section.
 *	 Returns 0 if there is more to do, a time (ns) to be called again at,
 *	 or KTIME_MAX: not before a kick
 * @after: the host's part of a run: interrupts. Context as of @run
 * @ns: where the time of @run is added
 * @sync: for all counters which the engine writes
 * @lock: protects @task against being stopped
 * @task: the thread, NULL while the device is down
 * @flags: HNIC_ENGINE_*
 * @cpu: processor that it is to run on, or -1; written under hnic_dev.lock
 */
struct hnic_engine {
	struct hnic_dev *dev;
	u64 (*run)(struct hnic_dev *dev, u64 now);
	void (*after)(struct hnic_dev *dev);
	u64 *ns;
	struct u64_stats_sync sync;
	spinlock_t lock;	/* task */
	struct task_struct *task;
	unsigned long flags;
	int cpu;
};

void hnic_engine_init(struct hnic_engine *e, struct hnic_dev *dev);
int hnic_engine_start(struct hnic_engine *e, const char *name);
void hnic_engine_stop(struct hnic_engine *e);
void hnic_engine_kick(struct hnic_engine *e);
int hnic_engine_pin(struct hnic_engine *e, int cpu);

/* --------------------------------------------------------------- queues */

struct hnic_tx_slot {
	struct sk_buff *skb;
	u32 len;
};

/**
 * struct hnic_txq - TX ring
 * @head: next free slot; written by ndo_start_xmit under the queue's lock
 * @done: up to here the engine has fetched; written by the engine
 * @clean: up to here the host has freed; written by NAPI
 * @done_bytes: bytes up to @done
 * @clean_bytes: bytes up to @clean
 * @slot: the ring
 */
struct hnic_txq {
	u32 head;
	u32 done ____cacheline_aligned_in_smp;
	u32 done_bytes;
	u32 clean ____cacheline_aligned_in_smp;
	u32 clean_bytes;
	struct hnic_tx_slot slot[HNIC_RING];
};

/**
 * struct hnic_rxq - RX ring
 * @head: next free slot; written by the engine
 * @tail: next packet for the host; written by NAPI
 * @stalled: the engine waits for room
 * @slot: the ring
 */
struct hnic_rxq {
	u32 head;
	u32 tail ____cacheline_aligned_in_smp;
	bool stalled;
	struct hnic_pkt *slot[HNIC_RING];
};

/**
 * struct hnic_queue - a TX ring, an RX ring and their interrupt
 * @dev: device
 * @index: number of the queue
 * @cpu: CPU that it interrupts, or -1
 * @tx_ring: the TX engine has fetched something in this run
 * @rx_ring: the RX engine has put something there in this run
 * @csd: interrupts another CPU
 * @csd_busy: it is under way
 * @napi: the handler
 * @tx: ring
 * @rx: ring
 * @sync: for the counters; written by NAPI
 * @rx_packets: given to the host
 * @rx_bytes: given to the host
 * @tx_packets: fetched, and freed by the host
 * @tx_bytes: fetched, and freed by the host
 * @polls: runs of the handler
 */
struct hnic_queue {
	struct hnic_dev *dev;
	int index;
	int cpu;
	bool tx_ring;
	bool rx_ring;
	call_single_data_t csd;
	unsigned long csd_busy;
	struct napi_struct napi;
	struct hnic_txq *tx;
	struct hnic_rxq *rx;
	struct u64_stats_sync sync;
	u64 rx_packets;
	u64 rx_bytes;
	u64 tx_packets;
	u64 tx_bytes;
	u64 polls;
};

/* ----------------------------------------------------------------- link */

/**
 * struct hnic_wire - packets on their way to a device
 * @lock: protects all of this; taken by the peer's TX engine, the RX engine, open and
 *	  stop. The peer's TX engine reads @count and @size, and sets @full, without it
 * @lane: one for each path, in the order of arrival
 * @count: packets in all of them
 * @size: their memory
 * @timed: packets may have to wait in more than the first lane
 * @up: the device is open
 * @full: the peer waits for room
 */
struct hnic_wire {
	spinlock_t lock;	/* all of this */
	struct hnic_list lane[HNIC_LANES];
	u32 count;
	u32 size;
	bool timed;
	bool up;
	bool full;
};

/*
 * Settings of a device and of its link: sysfs, Documentation/hnic.rst.
 * ppm: parts per million of the packets that it concerns.
 */
enum hnic_knob {
	HNIC_RATE,		/* Mbit/s; 0: no limit */
	HNIC_DELAY,		/* us */
	HNIC_NPATHS,		/* parallel paths */
	HNIC_LOSS,		/* ppm */
	HNIC_REORDER,		/* ppm */
	HNIC_REORDER_DELAY,	/* us */
	HNIC_SPLIT,		/* ppm */
	HNIC_COALESCE,		/* ppm */
	HNIC_FAULT_CORRUPT,	/* ppm */
	HNIC_FAULT_VERDICT,	/* ppm */
	HNIC_FAULT_RESYNC,	/* ppm */
	HNIC_SEED,		/* state of both generators */
	HNIC_MAX_CONNS,		/* to HNIC_MAX_BUFS: limits, struct iwarp_offload_caps */
	HNIC_MAX_FRAGS,
	HNIC_MAX_FPDU,		/* bytes */
	HNIC_MAX_BUFS,
	HNIC_DMA_NS,		/* ns of an operation */
	HNIC_DMA_RATE,		/* Mbit/s */
	HNIC_MEM_RATE,		/* Mbit/s of accesses to memory of the NIC */
	HNIC_CRC_ON_THE_FLY,	/* bool */
	HNIC_KNOBS
};

/**
 * struct hnic_link - what happens to packets that a device sends
 * @knob: enum hnic_knob; READ_ONCE, written by sysfs
 * @path_delay: us, of each path, added to HNIC_DELAY
 * @active: anything is set; otherwise packets just arrive
 * @random: state of the generator, the TX engine's; sysfs seeds it meanwhile
 * @next_path: path of the next packet
 * @free_at: when the last byte has left, at HNIC_RATE
 * @last: latest arrival on each lane; a path never reorders
 * @held: a segment that the next one may be joined to
 * @stats: counters
 */
struct hnic_link {
	u32 knob[HNIC_KNOBS];
	u32 path_delay[HNIC_PATHS];
	bool active;
	u32 random;
	u32 next_path;
	u64 free_at;
	u64 last[HNIC_LANES];
	struct hnic_pkt *held;
	struct hnic_link_stats stats;
};

void hnic_link_update(struct hnic_dev *hd);
void hnic_link_reset(struct hnic_dev *hd);
bool hnic_link_chance(u32 *random, u32 ppm);
u64 hnic_link_busy(struct hnic_dev *hd, u64 now);
void hnic_link_send(struct hnic_dev *hd, struct hnic_list *pkts, u64 now);
void hnic_wire_up(struct hnic_wire *w, bool up);
u64 hnic_wire_take(struct hnic_dev *hd, struct hnic_list *to, u64 now);

/* ------------------------------------------------------------------ DMA */

/* An engine waits when it is this far ahead of its DMA */
#define HNIC_DMA_AHEAD	(200 * NSEC_PER_USEC)

/**
 * struct hnic_dma_work - what an engine has done so far
 * @ops: operations of DMA
 * @bytes: bytes of them
 * @mem: bytes read from and written to memory of the NIC, but for CRCs
 * @crc: bytes read for CRCs
 */
struct hnic_dma_work {
	u64 ops;
	u64 bytes;
	u64 mem;
	u64 crc;
};

/**
 * struct hnic_dma_time - time of the DMA of an engine
 * @free_at: when its last operation is over
 * @done: work that @free_at has in it
 * @wait_ns: counter, the time of all of it
 */
struct hnic_dma_time {
	u64 free_at;
	struct hnic_dma_work done;
	u64 *wait_ns;
};

bool hnic_dma_timed(const struct hnic_dev *hd);
u64 hnic_dma_done(struct hnic_dev *hd, struct hnic_dma_time *d,
		  const struct hnic_dma_work *work, u64 now);

/* -------------------------------------------------------------- filters */

struct hnic_filters;

/* Results of hnic_filter_match() besides the number of a queue */
#define HNIC_FILTER_NONE	(-1)
#define HNIC_FILTER_DROP	(-2)

struct ethtool_rxnfc;
int hnic_filter_match(struct hnic_dev *hd, const struct hnic_pkt *p);
int hnic_filter_set(struct hnic_dev *hd, struct ethtool_rxnfc *nfc);
int hnic_filter_get(struct hnic_dev *hd, struct ethtool_rxnfc *nfc,
		    u32 *locs);
void hnic_filter_purge(struct hnic_dev *hd);

/* ---------------------------------------------------------- connections */

int hnic_conn_init(struct hnic_dev *hd);
void hnic_conn_exit(struct hnic_dev *hd);
/* Result of hnic_conn_tx() for a packet */
enum hnic_tx {
	HNIC_TX_PLAIN,		/* it is as it was */
	HNIC_TX_TOUCHED,	/* needs a new checksum */
	HNIC_TX_DROP,		/* cannot be sent */
};

enum hnic_tx hnic_conn_tx(struct hnic_dev *hd, struct hnic_pkt *p,
			  const struct sk_buff *skb);
int hnic_conn_rx(struct hnic_dev *hd, struct hnic_pkt *p);
extern const struct iwarp_offload_ops hnic_offload_ops;

/* --------------------------------------------------------------- device */

/**
 * struct hnic_dev - private part of a network device
 * @netdev: the device
 * @peer: the other end; RTNL to change, and see "Lifetime" above
 * @lock: settings in sysfs against open and stop. Innermost of RTNL, the lock of
 *	  the net device and this
 * @queue: queues; as many as the larger of both numbers of the device
 * @nqueues: allocated ones
 * @tx: TX engine
 * @rx: RX engine
 * @pool: memory of the TX engine
 * @tx_stats: counters of the TX engine
 * @rx_stats: counters of the RX engine
 * @tx_turn: queue that the TX engine looks at next
 * @todo: packets that the RX engine took from the wire
 * @rx_random: as hnic_link.random, for faults of the RX engine
 * @landing: packets whose DMA to the host is under way, in order
 * @held: a packet of @landing that found its ring full; all others wait for it
 * @tx_dma: DMA of the TX engine
 * @rx_dma: DMA of the RX engine
 * @tx_now: time of the run of the TX engine
 * @wire: packets on their way to this device
 * @link: the link for packets that this device sends
 * @tx_timer: interrupts for TX rings that were fetched a while ago
 * @tx_usecs: delay of @tx_timer, ethtool -C
 * @tx_frames: how many fetched packets make the device interrupt at once
 * @rx_timer: interrupts for packets that arrived a while ago
 * @rx_usecs: delay of @rx_timer, ethtool -C; 0: none
 * @rx_frames: how many waiting packets make the device interrupt at once
 * @pause: a full ring stops the peer; else packets are dropped
 * @offload: BIT(enum iwarp_offload_feature) switched on
 * @offload_on: iwarp_offload_register() succeeded and has not been undone; RTNL
 * @conns: connections taken over
 * @nconns: how many
 * @conn_lock: serialises changes of @conns and @nconns
 * @filters: ntuple filters; RTNL to change, RCU to read
 */
struct hnic_dev {
	struct net_device *netdev;
	struct net_device __rcu *peer;
	struct mutex lock;		/* settings, engine threads */
	struct hnic_queue *queue;
	int nqueues;
	struct hnic_engine tx;
	struct hnic_engine rx;
	struct hnic_pool pool;
	struct hnic_tx_stats tx_stats;
	struct hnic_rx_stats rx_stats;
	u32 tx_turn;
	struct hnic_list todo;
	u32 rx_random;
	struct hnic_list landing;
	struct hnic_pkt *held;
	struct hnic_dma_time tx_dma;
	struct hnic_dma_time rx_dma;
	u64 tx_now;
	struct hnic_wire wire;
	struct hnic_link link;
	struct hrtimer tx_timer;
	u32 tx_usecs;
	u32 tx_frames;
	struct hrtimer rx_timer;
	u32 rx_usecs;
	u32 rx_frames;
	bool pause;
	u32 offload;
	bool offload_on;
	struct rhashtable conns;
	u32 nconns;
	struct mutex conn_lock;		/* changes of conns */
	struct hnic_filters __rcu *filters;
};

/* The peer of an open device */
static inline struct hnic_dev *hnic_peer(struct hnic_dev *hd)
{
	struct net_device *peer = rcu_dereference_check(hd->peer, true);

	return peer ? netdev_priv(peer) : NULL;
}

u64 hnic_tx_run(struct hnic_dev *hd, u64 now);
void hnic_tx_after(struct hnic_dev *hd);
void hnic_tx_flush(struct hnic_dev *hd);
enum hrtimer_restart hnic_tx_timeout(struct hrtimer *timer);

u64 hnic_rx_run(struct hnic_dev *hd, u64 now);
void hnic_rx_after(struct hnic_dev *hd);
void hnic_rx_flush(struct hnic_dev *hd);
enum hrtimer_restart hnic_rx_timeout(struct hrtimer *timer);
void hnic_interrupt(struct hnic_queue *q);
void hnic_queue_init(struct hnic_dev *hd, int index);
int hnic_queue_pin(struct hnic_queue *q, int cpu);
int hnic_poll(struct napi_struct *napi, int budget);

extern const struct ethtool_ops hnic_ethtool_ops;
extern const struct attribute_group hnic_sysfs_group;

#endif
