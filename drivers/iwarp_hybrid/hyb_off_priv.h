/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the files of NIC offload: hyb_off_conn (life cycle of a connection
 * at a NIC), hyb_off_rec (records), hyb_off_sw (packets that software
 * finishes), hyb_off_steer (filters of ordinary NICs), hyb_off_place (tagged
 * buffers). See hyb_offload.h.
 *
 * hyb_off_conn is on top of the others; hyb_off_steer reports to it by a callback.
 */
#ifndef HYB_OFF_PRIV_H
#define HYB_OFF_PRIV_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "hyb_offload.h"
#include "hyb_stats.h"

struct hyb_dev;

/* Engines that fill in what was handed to TCP */
#define HYB_OFF_TX	(BIT(IWARP_OFFLOAD_TX_CRC) | \
			 BIT(IWARP_OFFLOAD_TX_CONTIG) | \
			 BIT(IWARP_OFFLOAD_TX_SG))

/* ------------------------------------------------------------- records */

/**
 * struct hyb_off_rec - one piece of a recorded FPDU, or FPDUs one after the
 *			other
 * @page: where it lies. Consecutive records in the same page share one
 *	  reference, which is that of the last of them.
 * @off: offset in the page
 * @len: bytes
 * @seq: sequence number of its first byte; for IWARP_LAYOUT_CONTIG as if it
 *	 were sent as it stands in memory
 * @idx: number of the piece in its FPDU
 * @nr: pieces of the FPDU; if 1, there may be more than one FPDU
 * @layout: enum iwarp_layout
 */
struct hyb_off_rec {
	struct page *page;
	u32 off;
	u32 len;
	u32 seq;
	u8 idx;
	u8 nr;
	u8 layout;
};

#define HYB_OFF_BLK_SIZE	4096
#define HYB_OFF_BLK_RECS \
	((HYB_OFF_BLK_SIZE - sizeof(struct list_head) - sizeof(u64)) / \
	 sizeof(struct hyb_off_rec))
#define HYB_OFF_BLKS_MAX	1024	/* of a connection: 4 MB */

/* The pieces of an FPDU are in the same block */
struct hyb_off_blk {
	struct list_head node;
	u32 nr;
	struct hyb_off_rec rec[HYB_OFF_BLK_RECS];
};

/**
 * struct hyb_off_ring - records of unacknowledged FPDUs, oldest first
 * @lock: protects all of it. A leaf, bottom halves disabled. Records are added
 *	  and freed with the TCP socket held, too; a holder of that may read
 *	  without the lock, and allocate or free @spare.
 * @blks: blocks, the last one is being filled
 * @spare: empty block, or NULL
 * @first: oldest record in the first block
 * @nblks: blocks there are, without @spare
 * @nr: records there are; READ_ONCE() without the lock tells if there are any
 * @tx_seq: sequence number of position 0
 * @una: bytes before it have been acknowledged; records that end before it are freed. Also
 *	 read without the lock
 * @ivl: marker interval, 0 for none
 * @crc: the CRC is in use
 */
struct hyb_off_ring {
	spinlock_t lock;	/* see above */
	struct list_head blks;
	struct hyb_off_blk *spare;
	u32 first;
	u32 nblks;
	u32 nr;
	u32 tx_seq;
	u32 una;
	u32 ivl;
	bool crc;
};

/**
 * struct hyb_off_sink - where final bytes go
 * @dst: memory, or NULL
 * @skb: packet that holds the bytes as they were handed to TCP
 * @off: offset of the first byte in @skb
 * @seq: sequence number of the first byte
 * @len: bytes wanted
 */
struct hyb_off_sink {
	u8 *dst;
	struct sk_buff *skb;
	u32 off;
	u32 seq;
	u32 len;
};

void hyb_off_ring_init(struct hyb_off_ring *r);
void hyb_off_ring_free(struct hyb_off_ring *r);
bool hyb_off_ring_room(struct hyb_off_ring *r, unsigned int pieces);
void hyb_off_ring_add(struct hyb_off_ring *r, u32 seq, u8 layout,
		      const struct hyb_off_piece *piece, unsigned int nr);
void hyb_off_ring_acked(struct hyb_off_ring *r, u32 una);
void hyb_off_ring_trim(struct hyb_off_ring *r);
u32 hyb_off_ring_memory(const struct hyb_off_ring *r);

/* Context of these: hyb_off_ring.lock held */
u32 hyb_off_ring_write(struct hyb_off_ring *r, const struct hyb_off_sink *sink);
bool hyb_off_ring_covers(struct hyb_off_ring *r, u32 seq, u32 len);
const u8 *hyb_off_ring_contig(struct hyb_off_ring *r, u32 seq, u32 len,
			      u32 *off);
bool hyb_off_ring_fpdu(struct hyb_off_ring *r, u32 seq, u32 *start, u32 *len,
		       u8 *layout);
int hyb_off_ring_miss(const struct hyb_off_ring *r, u32 seq);

/* ------------------------------------------------------------ steering */

struct hyb_off_conn;

/**
 * struct hyb_off_table - connections of an RDMA device with a filter
 * @ref: one for the device, one for each connection, which may outlive the device
 * @conns: linked by hyb_off_steer.node
 * @nr: how many
 * @users: how many of them each user has, by uid
 * @free: bitmap of places in the NIC's table that had no filter when the driver was
 *	  asked, and that no connection has taken since; NULL: unknown
 * @size: bits of @free
 * @asked: when the driver was asked, in jiffies
 * @err: negative errno if it did not tell then
 *
 * RTNL protects all but @ref.
 */
struct hyb_off_table {
	struct kref ref;
	struct list_head conns;
	u32 nr;
	struct xarray users;
	unsigned long *free;
	u32 size;
	unsigned long asked;
	int err;
};

/**
 * struct hyb_off_steer - a filter of an ordinary NIC
 * @done: called with the socket owned after each run of @work; @added: the filter is new
 * @work: inserts or removes it; holds a reference of the socket while queued
 * @table: of the RDMA device, referenced
 * @user: the user that the filter counts for
 * @node: entry of hyb_off_table.conns, if @have
 * @max: filters that connections of the device may have; 0: this one gets none.
 *	 Written with the socket owned.
 * @lost: the filter was removed for one of another connection; until @max is set again
 * @have: there is one
 * @loc: its place in the NIC's table
 * @queue: receive queue that it chooses
 *
 * RTNL protects @node, @have, @loc and @queue.
 */
struct hyb_off_steer {
	void (*done)(struct hyb_off_conn *o, bool added);
	struct work_struct work;
	struct hyb_off_table *table;
	kuid_t user;
	struct list_head node;
	u32 max;
	bool lost;
	bool have;
	u32 loc;
	u32 queue;
};

/* --------------------------------------------------------- connections */

/**
 * struct hyb_off_conn - NIC offload of one connection
 * @pub: the view of the engines
 * @nic: the view of the NIC's driver
 * @ops: the driver's, held; NULL if the NIC does not know the connection.
 *	 Changes while a task owns the socket; once the socket has no users any more, under
 *	 hyb_off_end_lock.
 * @asked: @ops was not NULL once, so this is freed by @end, which takes that lock
 * @netdev: the device, held until the connection is detached and has no filter; then NULL
 * @tracker: of that reference
 * @finisher: device whose driver finishes packets; others get them finished
 * @want: engines from now on; @nic.features has those that are still in use,
 *	  too, for what was handed to TCP before
 * @qp: queue pair, NULL once detached; changes while a task owns the socket
 * @dev: for counters, NULL once detached; under ring.lock
 * @sk: socket; this structure goes with it
 * @destruct: the socket's original destructor
 * @node: entry of the list of all
 * @ring: records
 * @steer: filter
 * @end: removes the connection from the NIC when the socket is gone
 * @mismatch: the NIC's verdict was wrong once
 * @bufs: tagged buffers that the NIC knows, the oldest first; under
 *	  hyb_dev.place_lock
 * @nbufs: how many, at most @max_bufs
 * @max_bufs: limit of the NIC
 */
struct hyb_off_conn {
	struct hyb_off pub;
	struct iwarp_offload_conn nic;
	const struct iwarp_offload_ops *ops;
	bool asked;
	struct net_device *netdev;
	netdevice_tracker tracker;
	struct net_device *finisher;
	u32 want;
	struct hyb_qp *qp;
	struct hyb_dev *dev;
	struct sock *sk;
	void (*destruct)(struct sock *sk);
	struct list_head node;
	struct hyb_off_ring ring;
	struct hyb_off_steer steer;
	struct work_struct end;
	bool mismatch;
	struct list_head bufs;
	u32 nbufs;
	u32 max_bufs;
};

/* Does IP wrap packets of the socket, by IPsec or in a tunnel without a device? Context: any. */
bool hyb_off_wraps(struct sock *sk);

/* The hook of the socket; see hyb_off_sw.c */
struct sk_buff *hyb_off_validate(struct sock *sk, struct net_device *dev,
				 struct sk_buff *skb);

void hyb_off_steer_init(struct hyb_off_conn *o, struct hyb_off_table *table,
			kuid_t user,
			void (*done)(struct hyb_off_conn *o, bool added));
void hyb_off_steer_end(struct hyb_off_conn *o);
void hyb_off_steer_set(struct hyb_off_conn *o, u32 max);
bool hyb_off_steer_can(const struct net_device *netdev);

void hyb_off_place_init(void);
void hyb_off_place_end(struct hyb_off_conn *o);

void hyb_off_count(struct hyb_off_conn *o, enum hyb_stat stat, u64 n);

extern struct workqueue_struct *hyb_off_wq;

#endif
