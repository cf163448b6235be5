/* SPDX-License-Identifier: GPL-2.0 */
/*
 * NIC offload, the provider's half of <rdma/iwarp_offload.h>: connections at a NIC,
 * records of FPDUs that it finishes, its verdict on received packets, buffers that
 * it places payload in, steering by filters of ordinary NICs. Implemented by
 * hyb_off_conn, hyb_off_place, hyb_off_rec, hyb_off_steer and hyb_off_sw.
 */
#ifndef HYB_OFFLOAD_H
#define HYB_OFFLOAD_H

#include <linux/skbuff.h>
#include <linux/types.h>
#include <net/tcp.h>
#include <rdma/iwarp_offload.h>

#include "hyb_place.h"
#include "hyb_types.h"

struct hyb_mem;
struct hyb_qp;
struct page;

/* Limit of hyb_dev.ntuple_filters; of a larger table of a NIC only so many places are used */
#define HYB_OFF_FILTERS_MAX	8192

#if IS_ENABLED(CONFIG_SOCK_VALIDATE_XMIT)

/**
 * hyb_off_attach - let NICs take part in a connection
 * @qp: queue pair that enters full operation; positions are 0 now
 * @sk: its TCP socket
 *
 * Context: process, the caller owns the TCP socket (lock_sock).
 * Return: 0; -ENOMEM, or -EBUSY if the socket has a ULP: then software does it all.
 */
int hyb_off_attach(struct hyb_qp *qp, struct sock *sk);

/**
 * hyb_off_detach - the engines stop for good
 * @qp: queue pair
 *
 * Data that TCP still has to send is finished all the same: the records for it are freed
 * with the socket.
 *
 * Context: process, the caller owns the TCP socket.
 */
void hyb_off_detach(struct hyb_qp *qp);

/**
 * hyb_off_leaves - TCP passes a packet of a connection to IP
 * @sk: TCP socket
 * @skb: packet, beginning with its TCP header
 *
 * Context: TCP socket held.
 * Return: the packet, a finished copy of it, or NULL: it was dropped.
 */
struct sk_buff *hyb_off_leaves(struct sock *sk, struct sk_buff *skb);

/**
 * hyb_off_update - follow a change of the queue pair's placement
 * @qp: queue pair, attached or not
 *
 * Takes effect between two FPDUs.
 *
 * Context: process, the caller owns the TCP socket.
 */
void hyb_off_update(struct hyb_qp *qp);

bool hyb_off_room(struct hyb_off *off, unsigned int pieces);
void hyb_off_record(struct hyb_qp *qp, u64 pos, u8 layout,
		    const struct hyb_off_piece *piece, unsigned int nr);
void hyb_off_free_acked(struct hyb_qp *qp);
bool hyb_off_many_records(const struct hyb_off *off);
u32 hyb_off_memory(struct hyb_qp *qp);
void hyb_off_trim(struct hyb_qp *qp);
void hyb_off_answer(struct hyb_qp *qp, u32 seq, u64 pos);

/**
 * hyb_off_mismatch - an FPDU that the NIC said was good has a bad CRC
 * @qp: queue pair
 *
 * Counts it; the NIC's verdict is not used on this connection any more.
 * Context: TCP socket held.
 */
void hyb_off_mismatch(struct hyb_qp *qp);

/**
 * hyb_off_show - how the NIC takes part, one line per property
 * @qp: queue pair
 * @buf: a page
 *
 * Context: process.
 * Return: bytes written.
 */
int hyb_off_show(struct hyb_qp *qp, char *buf);

/**
 * hyb_off_dev_show - engines of a net device, and their limits
 * @netdev: device
 * @buf: a page
 *
 * Context: process.
 * Return: bytes written.
 */
int hyb_off_dev_show(struct net_device *netdev, char *buf);

/* Engines that are switched on at a net device, BIT(IWARP_OFFLOAD_*) */
u32 hyb_off_dev_nic(struct net_device *netdev);

void hyb_off_place(struct hyb_qp *qp, struct hyb_mem *mem, u32 stag, u64 to,
		   u64 len, enum iwarp_place what);
void hyb_off_read_done(struct hyb_qp *qp, struct hyb_mem *mem);
void hyb_off_place_stop(struct hyb_off *off);
void hyb_off_no_writes(struct hyb_qp *qp);
void hyb_off_came(struct hyb_off *off, u32 seq);

/* Where packets of the connection come in: CPU, queue; -1 if unknown */
int hyb_off_cpu(struct hyb_qp *qp);
int hyb_off_queue(struct hyb_qp *qp);

/* Steered by "nic", "ntuple" (a filter of an ordinary NIC) or "host" */
const char *hyb_off_steering_name(struct hyb_qp *qp);

/* The part of offload that a device has; hyb_off_dev_exit() undoes it */
int hyb_off_dev_init(struct hyb_dev *dev);
void hyb_off_dev_exit(struct hyb_dev *dev);

int hyb_off_init(void);
void hyb_off_exit(void);

#else

static inline int hyb_off_attach(struct hyb_qp *qp, struct sock *sk)
{
	return 0;
}

static inline void hyb_off_detach(struct hyb_qp *qp) { }

static inline struct sk_buff *hyb_off_leaves(struct sock *sk,
					     struct sk_buff *skb)
{
	return skb;
}

static inline void hyb_off_update(struct hyb_qp *qp)
{
	hyb_place_update(qp, 0);
}

static inline bool hyb_off_room(struct hyb_off *off, unsigned int pieces)
{
	return false;
}

static inline void hyb_off_record(struct hyb_qp *qp, u64 pos, u8 layout,
				  const struct hyb_off_piece *piece,
				  unsigned int nr)
{
}

static inline void hyb_off_free_acked(struct hyb_qp *qp) { }

static inline u32 hyb_off_memory(struct hyb_qp *qp) { return 0; }

static inline void hyb_off_trim(struct hyb_qp *qp) { }

static inline bool hyb_off_many_records(const struct hyb_off *off)
{
	return false;
}

static inline void hyb_off_answer(struct hyb_qp *qp, u32 seq, u64 pos) { }
static inline void hyb_off_mismatch(struct hyb_qp *qp) { }
static inline int hyb_off_show(struct hyb_qp *qp, char *buf) { return 0; }
static inline u32 hyb_off_dev_nic(struct net_device *netdev) { return 0; }

static inline int hyb_off_dev_show(struct net_device *netdev, char *buf)
{
	return sysfs_emit(buf, "none\n");
}

static inline void hyb_off_place(struct hyb_qp *qp, struct hyb_mem *mem,
				 u32 stag, u64 to, u64 len,
				 enum iwarp_place what)
{
}

static inline void hyb_off_read_done(struct hyb_qp *qp, struct hyb_mem *mem) { }
static inline void hyb_off_place_stop(struct hyb_off *off) { }
static inline void hyb_off_no_writes(struct hyb_qp *qp) { }
static inline void hyb_off_came(struct hyb_off *off, u32 seq) { }
static inline int hyb_off_cpu(struct hyb_qp *qp) { return -1; }
static inline int hyb_off_queue(struct hyb_qp *qp) { return -1; }
static inline const char *hyb_off_steering_name(struct hyb_qp *qp) { return "host"; }
static inline int hyb_off_dev_init(struct hyb_dev *dev) { return 0; }
static inline void hyb_off_dev_exit(struct hyb_dev *dev) { }
static inline int hyb_off_init(void) { return 0; }
static inline void hyb_off_exit(void) { }

#endif

/* May CRCs of FPDUs be left to the NIC? @off may be NULL. */
static inline bool hyb_off_tx_crc(const struct hyb_off *off)
{
	return off && off->tx_crc;
}

/**
 * hyb_off_tx_contig - may the NIC put the markers of the next FPDU in place?
 * @off: of the queue pair, may be NULL
 *
 * Yes means that there is room for the record, beside one for the FPDUs before
 * it; hyb_off_sealed() follows. A recorded FPDU is always finished, by the
 * NIC or by software.
 *
 * Context: TCP socket held.
 */
static inline bool hyb_off_tx_contig(struct hyb_off *off)
{
#ifdef CONFIG_RDMA_IWARP_HYBRID_RESEARCH
	return off && off->tx_contig && hyb_off_room(off, 2);
#else
	return false;
#endif
}

/**
 * hyb_off_tx_sg - does the NIC gather the pieces of the next FPDU?
 * @off: of the queue pair, may be NULL
 *
 * As hyb_off_tx_contig(), for an FPDU of up to HYB_OFF_PIECES pieces. Packets that
 * leave by a device without the engine are copied.
 *
 * Context: TCP socket held.
 */
static inline bool hyb_off_tx_sg(struct hyb_off *off)
{
	return off && off->tx_sg && hyb_off_room(off, HYB_OFF_PIECES + 1);
}

/**
 * hyb_off_sealed - record FPDUs whose CRCs are left to the NIC
 * @qp: queue pair
 * @pos: position of the first byte
 * @len: bytes of the stream, CRCs included
 * @page: where they stand, one after the other
 * @poff: offset in @page
 * @layout: enum iwarp_layout
 *
 * hyb_off_room() said yes, and the CRC fields are cleared (CRC in use or not).
 * The bytes must not change until they are acknowledged; the record has a
 * reference of the page until hyb_off_acked(). For several pieces see
 * hyb_off_record().
 *
 * Context: TCP socket held.
 */
static inline void hyb_off_sealed(struct hyb_qp *qp, u64 pos, u32 len,
				  struct page *page, u32 poff, u8 layout)
{
	struct hyb_off_piece piece = { .page = page, .off = poff, .len = len };

	hyb_off_record(qp, pos, layout, &piece, 1);
}

/**
 * hyb_off_acked - free records that are acknowledged
 * @qp: queue pair
 * @off: of the queue pair, may be NULL
 *
 * To be called before the engine looks whether a page can be used again.
 * Context: TCP socket held.
 */
static inline void hyb_off_acked(struct hyb_qp *qp, struct hyb_off *off)
{
	if (off)
		hyb_off_free_acked(qp);
}

/**
 * hyb_off_many - are there records that must not wait for the next message?
 * @off: of the queue pair, may be NULL
 *
 * If so, the engine must run when they are acknowledged. A few records, up to a block (see
 * hyb_off_priv.h), may stay until the next message is sent.
 *
 * Context: TCP socket held.
 */
static inline bool hyb_off_many(const struct hyb_off *off)
{
	return off && hyb_off_many_records(off);
}

/**
 * hyb_off_rx_ok - did the NIC check this FPDU?
 * @off: of the queue pair, may be NULL
 * @skb: packet of TCP's receive queue that holds its first byte
 * @seq: sequence number of that byte
 * @len: bytes of the FPDU
 *
 * The NIC's verdict is for packets of whole FPDUs, and TCP may have put several
 * such packets together. It counts only where such a run begins at a boundary
 * of our own walk: the NIC might have followed payload that imitates FPDUs. To be called
 * for each FPDU, in order. The verdict covers CRC and markers.
 *
 * Context: TCP socket held.
 */
static inline enum hyb_off_verdict hyb_off_rx_ok(struct hyb_off *off,
						 const struct sk_buff *skb,
						 u32 seq, u32 len)
{
#ifdef CONFIG_TLS_DEVICE
	if (off && off->word && skb->decrypted) {
		u32 start = TCP_SKB_CB(skb)->seq;

		if (seq == start) {
			off->run = start;
			off->in_run = true;
		}
		if (!off->in_run || off->run != start ||
		    seq - start + len > skb->len)
			return HYB_OFF_NONE;
		return off->verify ? HYB_OFF_DOUBLE : HYB_OFF_GOOD;
	}
#endif
	return HYB_OFF_NONE;
}

/**
 * hyb_off_rx_at - an FPDU begins here
 * @qp: queue pair
 * @off: of the queue pair, may be NULL
 * @seq: sequence number of its first byte
 * @pos: its position
 *
 * To be called for each FPDU. Context: TCP socket held.
 */
static inline void hyb_off_rx_at(struct hyb_qp *qp, struct hyb_off *off,
				 u32 seq, u64 pos)
{
	if (off && unlikely(READ_ONCE(off->ask)))
		hyb_off_answer(qp, seq, pos);
}

/* Does the NIC place payload? @off may be NULL. */
static inline bool hyb_off_places(const struct hyb_off *off)
{
	return off && off->place;
}

/**
 * hyb_off_stop - the receive engine stops for good
 * @off: of the queue pair, may be NULL
 *
 * On return the NIC places nothing. Context: TCP socket held.
 */
static inline void hyb_off_stop(struct hyb_off *off)
{
	if (hyb_off_places(off))
		hyb_off_place_stop(off);
}

/**
 * hyb_off_passed - bytes are about to be processed
 * @off: of the queue pair, may be NULL
 * @seq: sequence number after them
 * @nic: the verdict of the NIC
 *
 * The NIC may not have seen bytes without a verdict. It must not place, later, an
 * old packet with the same bytes. Context: TCP socket held.
 */
static inline void hyb_off_passed(struct hyb_off *off, u32 seq,
				  enum hyb_off_verdict nic)
{
	if (hyb_off_places(off) && nic == HYB_OFF_NONE)
		hyb_off_came(off, seq);
}

#endif
