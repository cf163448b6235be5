/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Flow control: the interface of the four policies, and the choice of one.
 */
#ifndef _SDP_FC_H
#define _SDP_FC_H

#include <linux/types.h>

struct sdp_conn;
struct sdp_msg;
struct sdp_rx_ctx;
struct sdp_sock;
struct sdp_tx_msg;
struct sdp_tx_slot;

#define SDP_FC_DATA		3	/* no payload with fewer credits */
#define SDP_FC_FLOW		4	/* advertised; with fewer, data waits for the reader */
#define SDP_FC_SPARE		1	/* receives that are not advertised */

/**
 * struct sdp_fc_ops - a flow control policy
 * @name: as diag shows it
 * @credits: messages that may be sent before the peer says more; 0 without credits
 * @may_send: whether one more may leave, with bytes of the stream or without
 * @update_due: whether new receives, or space of a ring, should be announced now
 * @bufs: value of Bufs for a message that leaves now with this MSeqAck
 * @overrun: whether the peer had no right to send this message
 * @peer: take over Bufs and MSeqAck of a message of the peer
 * @room: of a message with so much payload, bytes that may leave now, if
 *	  @may_send lets it. NULL: all
 * @rx: act on a message that only this policy has; 0 or the SDP_MIB_BAD_ number.
 *	Sets m.payload_len to the bytes that a message of @mid has brought, which
 *	the caller queues. NULL: there is no such message. Context: sdp->lock.
 * @imm: whether a payload is announced by immediate data instead of a message.
 *	 NULL: never
 * @header: fill in the header of a message that only this policy has, with so much
 *	    payload. NULL: there is no such message
 * @post: post a message, or with @imm a payload that immediate data announces; all
 *	  headers are in the slot. 0 or the error of the provider. NULL: as
 *	  sdp_qp_send()
 * @want_space: a writer waits for room. NULL: nothing to do. Context: no spinlock
 * @mid: MID of messages with payload
 * @flow: value of SDP_FLOW_CONTROL that asks for it
 * @held: messages wait in the transport for a slow reader
 * @zcopy: large sends may go without copies
 *
 * Context: @overrun: reception; @peer: the same, or the handler of Hello or HelloAck, with
 * tx_lock; @credits: any; others, where nothing else is said: tx_lock.
 */
struct sdp_fc_ops {
	const char *name;
	u8 mid;
	u8 flow;
	bool held;
	bool zcopy;
	u32 (*credits)(const struct sdp_conn *conn);
	bool (*may_send)(const struct sdp_conn *conn, bool payload);
	bool (*update_due)(const struct sdp_conn *conn);
	u16 (*bufs)(struct sdp_conn *conn, u32 ack);
	bool (*overrun)(const struct sdp_conn *conn, u32 mseq);
	void (*peer)(struct sdp_conn *conn, u16 bufs, u32 ack);
	u32 (*room)(const struct sdp_conn *conn, u32 len);
	int (*rx)(struct sdp_sock *sdp, struct sdp_rx_ctx *c);
	bool (*imm)(const struct sdp_conn *conn, const struct sdp_tx_msg *m);
	void (*header)(struct sdp_conn *conn, struct sdp_msg *msg, u32 bytes);
	int (*post)(struct sdp_conn *conn, struct sdp_tx_slot *slot,
		    const struct sdp_tx_msg *m, const struct sdp_msg *imm,
		    u32 hdr_len, bool signal);
	void (*want_space)(struct sdp_conn *conn);
};

extern const struct sdp_fc_ops sdp_fc_credit, sdp_fc_transport;
extern const struct sdp_fc_ops sdp_fc_rdma, sdp_fc_vwin;

/* sdp_fc_policy.c */
void sdp_fc_choose(struct sdp_conn *conn);
int sdp_fc_use(struct sdp_conn *conn, u8 ext);
u8 sdp_fc_agree(const struct sdp_conn *conn);
void sdp_fc_start(struct sdp_conn *conn);
void sdp_fc_verify(struct sdp_conn *conn);

/* sdp_fc_credit.c; the rules for messages hold with a ring, too */
void sdp_fc_set_first(struct sdp_conn *conn);
u32 sdp_fc_credits(const struct sdp_conn *conn);
bool sdp_fc_may_send(const struct sdp_conn *conn, bool payload);
bool sdp_fc_update_due(const struct sdp_conn *conn);
u16 sdp_fc_bufs(struct sdp_conn *conn, u32 ack);
bool sdp_fc_overrun(const struct sdp_conn *conn, u32 mseq);
void sdp_fc_peer(struct sdp_conn *conn, u16 bufs, u32 ack);

#endif /* _SDP_FC_H */
