/* SPDX-License-Identifier: GPL-2.0 */
/*
 * iWARP components on a NIC: the contract between an iWARP provider and an
 * Ethernet driver, in the manner of TLS device offload.
 *
 * TCP stays on the host. The NIC may fill fields of outgoing packets, and report
 * its checks of incoming ones. It never reorders packets for this, and drops only
 * those that it cannot finish. It never changes the length of the stream. Software
 * does everything that the NIC does not do, or not for a certain packet.
 *
 * Transmit. The provider leaves the CRC field of an FPDU zero, or in
 * IWARP_LAYOUT_CONTIG the marker bytes after the payload, and keeps a record
 * of every such FPDU until it is acknowledged. The driver finishes a packet by
 * its connection: the common case is a packet of whole FPDUs in the expected
 * sequence, which it can do alone; for any other (retransmission, split or
 * collapsed segment) tx_fill() gives the final bytes. Packets to be finished
 * are marked with skb->decrypted. Others are final; software has finished those
 * that leave by another device, or after the engine was switched off
 * (sk_validate_xmit_skb). A copy that was made on the way there is neither: for
 * unmarked packets tx_fill() does what is missing. A marked packet that the driver
 * cannot read, or of a connection that it does not know (any more), must be dropped.
 *
 * Receive. The driver looks up the connection, follows the FPDUs of the
 * in-sequence stream and sets skb->decrypted on a packet that consists of
 * whole FPDUs whose CRCs and markers are all good. Packets with and without it
 * are not merged by GRO and TCP. Without it software checks.
 *
 * Placement. The provider passes tagged buffers to the driver. The NIC writes
 * payload of tagged segments of such packets into them, and gives the host a
 * packet whose fragments are, for these bytes, the pages of the buffer. So the
 * stream stays as it was on the wire, and the provider, which checks everything
 * as before, finds nothing left to copy. See place_add.
 */
#ifndef _RDMA_IWARP_OFFLOAD_H
#define _RDMA_IWARP_OFFLOAD_H

#include <linux/bits.h>
#include <linux/in6.h>
#include <linux/list.h>
#include <linux/notifier.h>
#include <linux/types.h>

struct net_device;
struct sk_buff;
struct sock;

/* Engines of a NIC; bit numbers of masks */
enum iwarp_offload_feature {
	IWARP_OFFLOAD_TX_CRC,		/* fills the CRC field */
	IWARP_OFFLOAD_RX_CRC,		/* verdict per packet */
	IWARP_OFFLOAD_RX_DEMUX,		/* 4-tuple to connection, queue, CPU */
	IWARP_OFFLOAD_TX_CONTIG,	/* moves payload to open marker gaps */
	IWARP_OFFLOAD_TX_SG,		/* gathers marker fragments */
	IWARP_OFFLOAD_RX_PLACE,		/* payload to tagged buffers; with RX_CRC */
	IWARP_OFFLOAD_FEATURES
};

/**
 * struct iwarp_offload_caps - capabilities of a NIC
 * @supported: features it has, BIT(enum iwarp_offload_feature)
 * @enabled: features that are switched on
 * @max_conns: connections it can hold
 * @max_frags: pieces of an FPDU that it can gather; more are never made
 * @max_fpdu: longest FPDU it can check or fill by itself; longer ones get no
 *	      verdict. A connection with longer segments leaves no sent FPDU to
 *	      the NIC; if they become longer later, tx_fill finishes them.
 * @max_bufs: tagged buffers it can hold for each connection
 */
struct iwarp_offload_caps {
	u32 supported;
	u32 enabled;
	u32 max_conns;
	u32 max_frags;
	u32 max_fpdu;
	u32 max_bufs;
};

/* Layout of the bytes of an FPDU in the packets of the host */
enum iwarp_layout {
	IWARP_LAYOUT_FINAL,	/* as on the wire, except for the CRC field */
	IWARP_LAYOUT_CONTIG,	/* header, ULPDU, PAD; then all its markers
				 * (without a leading one, which is in place),
				 * then the CRC field
				 */
};

/**
 * struct iwarp_offload_conn - one connection, shared by provider and driver
 * @netdev: device that the connection was added to
 * @sk: its TCP socket, only for comparison; NULL when that is gone
 * @family: AF_INET or AF_INET6 of the addresses
 * @saddr: local address; IPv4 in the first four bytes
 * @daddr: remote address
 * @sport: local port
 * @dport: remote port
 * @features: engines to be used, a subset of the enabled ones
 * @tx_seq: sequence number of position 0 of the outgoing stream
 * @rx_seq: sequence number of position 0 of the incoming stream
 * @tx_ivl: marker interval of sent data, 0 for none
 * @rx_ivl: marker interval of received data, 0 for none
 * @tx_layout: enum iwarp_layout of FPDUs from now on
 * @cpu: CPU that the provider prefers for its packets, or -1
 * @queue: receive queue the driver chose, or -1; set by conn_add
 * @drv: for the driver
 * @ops: the provider's, see struct iwarp_offload_host_ops
 */
struct iwarp_offload_conn {
	struct net_device *netdev;
	struct sock *sk;
	u16 family;
	__be16 sport;
	__be16 dport;
	struct in6_addr saddr;
	struct in6_addr daddr;
	u32 features;
	u32 tx_seq;
	u32 rx_seq;
	u32 tx_ivl;
	u32 rx_ivl;
	u8 tx_layout;
	int cpu;
	int queue;
	void *drv;
	const struct iwarp_offload_host_ops *ops;
};

/* Tagged segments that may be placed into a buffer */
enum iwarp_place {
	IWARP_PLACE_WRITE,	/* RDMA Writes: the peer may write to it */
	IWARP_PLACE_READ,	/* Read Responses: it is the sink of a Read */
};

/**
 * struct iwarp_offload_buf - a tagged buffer
 * @node: for the driver
 * @page: kernel addresses, in the direct mapping, of pieces of 1 << @shift
 *	  bytes. Ordinary pages: references may be taken.
 * @to: tagged offset of its first byte
 * @len: bytes
 * @off: offset of its first byte in the first of @page
 * @stag: STag
 * @shift: see @page
 * @what: enum iwarp_place
 *
 * It belongs to the provider, unchanged from place_add to place_del.
 */
struct iwarp_offload_buf {
	struct list_head node;
	void *const *page;
	u64 to;
	u64 len;
	u32 off;
	u32 stag;
	u8 shift;
	u8 what;
};

/**
 * struct iwarp_offload_ops - implemented by a NIC driver
 * @caps: fill in the capabilities. Context: any.
 * @conn_add: take a connection over, from @conn->tx_seq and @conn->rx_seq on.
 *	      May set @conn->drv and @conn->queue, and clear bits of
 *	      @conn->features that it cannot serve. Return 0; or -ENOSPC (table
 *	      full), -EOPNOTSUPP or another error: then software does all of
 *	      the work. May sleep. Context: process.
 * @conn_del: release it; the driver does not touch @conn after return.
 *	      Context: process, may sleep.
 * @conn_update: optional: @conn->features or @conn->tx_layout have changed.
 *		 Features can be added and removed, TX ones are removed only
 *		 when all data left to them is acknowledged. Context: process,
 *		 may sleep.
 * @rx_resync: optional: an FPDU begins at sequence number @seq, which is position @pos:
 *	       the answer to @rx_lost. The provider has processed everything in
 *	       front of it. Context: bottom halves disabled, the TCP socket held.
 * @rx_passed: with RX_PLACE, the provider is about to process bytes, up to
 *	       sequence number @seq, that came without a verdict, perhaps by
 *	       another device. After return nothing before @seq is
 *	       placed. Context: bottom halves disabled, the TCP socket held.
 * @place_add: with RX_PLACE, payload may be placed into @buf from now on. The
 *	       NIC does so only for the packet that is exactly the next one of
 *	       the stream, no byte of which it has seen before, when all of its
 *	       FPDUs are complete and good, and TCP is sure to accept it. All
 *	       others are left to the host. So placed data is never written to
 *	       again once the host has processed it. Return 0 or
 *	       -ENOSPC. Context: bottom halves disabled, the TCP socket held.
 * @place_del: nothing is written to @buf after return, even if packets that
 *	       refer to its pages still exist. It is called for each buffer
 *	       before conn_del and before RX_PLACE is removed. Context: bottom
 *	       halves disabled.
 */
struct iwarp_offload_ops {
	void (*caps)(struct net_device *netdev,
		     struct iwarp_offload_caps *caps);
	int (*conn_add)(struct iwarp_offload_conn *conn);
	void (*conn_del)(struct iwarp_offload_conn *conn);
	void (*conn_update)(struct iwarp_offload_conn *conn);
	void (*rx_resync)(struct iwarp_offload_conn *conn, u32 seq, u64 pos);
	void (*rx_passed)(struct iwarp_offload_conn *conn, u32 seq);
	int (*place_add)(struct iwarp_offload_conn *conn,
			 struct iwarp_offload_buf *buf);
	void (*place_del)(struct iwarp_offload_conn *conn,
			  struct iwarp_offload_buf *buf);
};

/**
 * struct iwarp_offload_host_ops - implemented by a provider
 * @tx_fill: @dst holds the bytes [@seq, @seq + @len) of the stream as they were handed to
 *	     TCP: overwrite those that are not final, CRCs included. Return 0 if there were any;
 *	     -ENOENT if all bytes are final: they are sent as they are; -ESTALE if the first of
 *	     them are acknowledged and their record is gone: such a packet is dropped, and TCP
 *	     sends its unacknowledged part again. Context: any except hardware interrupt.
 * @tx_fpdu: the FPDU that contains @seq: its first sequence number, bytes and
 *	     enum iwarp_layout; -ENOENT and -ESTALE as above. Context: as @tx_fill.
 * @rx_lost: the driver cannot follow the stream any more (loss, reordering)
 *	     and asks for rx_resync. Context: as @tx_fill.
 */
struct iwarp_offload_host_ops {
	int (*tx_fill)(struct iwarp_offload_conn *conn, u32 seq, void *dst,
		       u32 len);
	int (*tx_fpdu)(struct iwarp_offload_conn *conn, u32 seq, u32 *start,
		       u32 *len, u8 *layout);
	void (*rx_lost)(struct iwarp_offload_conn *conn);
};

/* A driver announces its devices; both in process context */
int iwarp_offload_register(struct net_device *netdev,
			   const struct iwarp_offload_ops *ops);
void iwarp_offload_unregister(struct net_device *netdev);

/* Features were switched; connections follow at once. Context: process. */
void iwarp_offload_changed(struct net_device *netdev);

/* Of providers */
const struct iwarp_offload_ops *iwarp_offload_get(struct net_device *netdev);
void iwarp_offload_put(struct net_device *netdev);

/* Notifier: the actions below, data struct net_device */
#define IWARP_OFFLOAD_CHANGED	1
#define IWARP_OFFLOAD_GONE	2
int iwarp_offload_register_notifier(struct notifier_block *nb);
void iwarp_offload_unregister_notifier(struct notifier_block *nb);

#endif
