/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Zero copy on a verbs link: large sends are not copied into messages. The
 * source advertises its memory (SrcAvail), the sink reads it with RDMA Read
 * straight into the memory of the reader. Between the files of the verbs link.
 *
 * States and numbers belong to sdp->lock. What lets the transmit engine go on
 * changes with tx_lock held as well, so that the engine may look with tx_lock
 * alone. A region belongs to the process that has claimed the state.
 */
#ifndef _SDP_ZCOPY_H
#define _SDP_ZCOPY_H

#include <linux/mm_types.h>
#include <linux/scatterlist.h>
#include <linux/skbuff.h>
#include <rdma/ib_verbs.h>

#define SDP_ZC_MIN	4096	/* octets below which it is never tried */
#define SDP_ZC_HEAD	64	/* octets that go along with SrcAvail */
#define SDP_ZC_PAGES	257	/* of one advertisement: 1 MB, wherever it is */
#define SDP_ZC_PAGES_MIN	16	/* a device with fewer is not worth it */
/* octets of a read where a lost packet costs all of it: not on iWARP */
#define SDP_ZC_READ	262144
#define SDP_ZC_WRS	8	/* registering, reading, invalidating, twice */
#define SDP_ZC_SKIP_MAX	6	/* 2^6 sends are copied after failures */

struct msghdr;
struct sock;
struct sdp_conn;
struct sdp_msg;
struct sdp_rx_ctx;
struct sdp_sock;

/**
 * struct sdp_zc_region - memory of a process that the device may use
 * @cqe: completion of the last work request for it
 * @mr: its registration, made when first needed, kept
 * @page: the pages, pinned while @nr is not 0
 * @sg: the same for the device
 * @nr: pages
 * @len: octets
 * @write: the device writes to it
 * @posted: a work request for it has not completed
 * @mmp: what was charged to the user
 */
struct sdp_zc_region {
	struct ib_cqe cqe;
	struct ib_mr *mr;
	struct page **page;
	struct scatterlist *sg;
	u32 nr;
	u32 len;
	bool write;
	bool posted;
	struct mmpin mmp;
};

/* Our SrcAvail, sdp_zc.tx_state */
enum sdp_zc_tx {
	SDP_ZC_TX_IDLE,
	SDP_ZC_TX_QUEUED,	/* the message waits for a credit */
	SDP_ZC_TX_SENT,
	SDP_ZC_TX_CANCEL,	/* SrcAvailCancel wanted, or sent */
	SDP_ZC_TX_OVER,		/* read, or the peer wants messages */
};

/* SrcAvail of the peer, sdp_zc.rx_state */
enum sdp_zc_rx {
	SDP_ZC_RX_IDLE,
	SDP_ZC_RX_PENDING,	/* waits for a reader */
	SDP_ZC_RX_READING,
};

/**
 * struct sdp_zc - zero copy of a connection
 * @able: the device can
 * @drained: the queue pair is dead, and nothing reaches memory any more
 * @users: processes that wait for a region of theirs
 * @tx_state: enum sdp_zc_tx
 * @tx_fails: attempts that failed, in a row
 * @tx_skip: sends to be copied before the next attempt
 * @tx_copy: the present send is copied
 * @tx_mseq: MSeq of our SrcAvail
 * @tx_len: octets advertised, those that go along included
 * @tx_left: octets that the peer has not said it has read
 * @rx_state: enum sdp_zc_rx
 * @rx_cancel: SrcAvailCancel came while we were reading
 * @rx_ack: MSeqAck until that has been dealt with
 * @rx_left: octets of the peer's memory not read
 * @rx_rkey: key to it
 * @rx_va: where they begin
 * @rx_done: octets read that the peer does not know of
 * @tx: our memory
 * @rx: memory of a reader
 */
struct sdp_zc {
	bool able;
	bool drained;
	u16 users;
	u8 tx_state;
	u8 tx_fails;
	u16 tx_skip;
	bool tx_copy;
	u32 tx_mseq;
	u32 tx_len;
	u32 tx_left;
	u8 rx_state;
	bool rx_cancel;
	u32 rx_ack;
	u32 rx_left;
	u32 rx_rkey;
	u64 rx_va;
	u32 rx_done;
	struct sdp_zc_region tx;
	struct sdp_zc_region rx;
};

/* sdp_zcopy.c */
void sdp_zc_init(struct sdp_conn *conn);
void sdp_zc_free(struct sdp_conn *conn);
void sdp_zc_drained(struct sdp_conn *conn);
u32 sdp_zc_threshold(const struct sock *sk);
u32 sdp_zc_segment(const struct iov_iter *iter, unsigned long *addr);
int sdp_zc_pin(struct sdp_conn *conn, struct sdp_zc_region *r,
	       unsigned long addr, u32 len, bool write);
void sdp_zc_unpin(struct sdp_conn *conn, struct sdp_zc_region *r);
void sdp_zc_reg_wr(struct sdp_zc_region *r, struct ib_reg_wr *wr, int access);
void sdp_zc_inv_wr(struct sdp_zc_region *r, struct ib_send_wr *wr);
bool sdp_zc_post(struct sdp_conn *conn, struct sdp_zc_region *r,
		 const struct ib_send_wr *wr);
void sdp_zc_enter(struct sdp_conn *conn);
void sdp_zc_patience(struct sdp_conn *conn,
		     bool (*over)(const struct sdp_conn *conn));
bool sdp_zc_leave(struct sdp_conn *conn, struct sdp_zc_region *r);

/* sdp_zcopy_tx.c */
int sdp_zc_send(struct sock *sk, struct msghdr *msg, int flags);
void sdp_zc_src_avail(struct sdp_conn *conn, struct sdp_msg *m);
void sdp_zc_sent(struct sdp_conn *conn);
bool sdp_zc_tx_held(const struct sdp_conn *conn);
int sdp_zc_rd_compl(struct sdp_sock *sdp, struct sdp_rx_ctx *c);
int sdp_zc_sendsm(struct sdp_sock *sdp, struct sdp_rx_ctx *c);

/* sdp_zcopy_rx.c */
int sdp_zc_recv(struct sock *sk, struct msghdr *msg, size_t len, int flags,
		bool wait);
void sdp_zc_decline(struct sock *sk);
bool sdp_zc_accept(struct sdp_sock *sdp, struct sdp_rx_ctx *c);
int sdp_zc_src_cancel(struct sdp_sock *sdp, struct sdp_rx_ctx *c);
void sdp_zc_read_done(struct sdp_conn *conn, struct sdp_msg *m);
u32 sdp_zc_ack(const struct sdp_conn *conn);

#endif /* _SDP_ZCOPY_H */
