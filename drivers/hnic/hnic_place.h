/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Placement: payload of tagged segments goes to the buffers that the provider
 * has added. Used by hnic_conn.c, which has the locks.
 */
#ifndef HNIC_PLACE_H
#define HNIC_PLACE_H

#include "hnic.h"

/**
 * struct hnic_place - placement of one connection
 * @bufs: tagged buffers, the one used last first
 * @nbufs: entries of @bufs
 * @seen: end of what came in so far
 * @run: where the bytes up to @seen begin that came without a gap
 * @sync: nothing before @run is missing, so @seen is what TCP waits for
 * @asked: the provider was asked where it is, and has not answered
 * @known: the following three are from a packet that was in sequence
 * @doff: its data offset: TCP options, or none
 * @ack: its acknowledgment
 * @ts: its timestamp
 * @sent_known: @sent is valid
 * @sent: end of what this side has sent; the TX engine's
 *
 * hnic_conn.rx_lock protects all members except @sent_known and @sent, which the TX
 * engine writes under hnic_conn.tx_lock.
 */
struct hnic_place {
	struct list_head bufs;
	u32 nbufs;
	u32 seen;
	u32 run;
	bool sync;
	bool asked;
	bool known;
	u8 doff;
	u32 ack;
	u32 ts;
	bool sent_known;
	u32 sent;
};

void hnic_place_init(struct hnic_place *pl, u32 rx_seq);
void hnic_place_sent(struct hnic_place *pl, const struct hnic_pkt *p);
bool hnic_place_track(struct hnic_place *pl, u32 seq, u32 len);
void hnic_place_passed(struct hnic_place *pl, u32 seq);
void hnic_place_rx(struct hnic_dev *hd, struct hnic_place *pl,
		   struct iwarp_offload_conn *conn, struct hnic_pkt *p,
		   bool next, bool good);
int hnic_place_add(struct hnic_place *pl, struct iwarp_offload_buf *buf,
		   u32 max);
void hnic_place_del(struct hnic_place *pl, struct iwarp_offload_buf *buf);

#endif
