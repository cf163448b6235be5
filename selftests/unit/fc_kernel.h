/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The connection as the files of flow control, sdp_fc_*.c, see it, in user space. It
 * comes first, and the headers of SDP that they include are empty then.
 */
#ifndef SELFTESTS_UNIT_FC_KERNEL_H
#define SELFTESTS_UNIT_FC_KERNEL_H

#include <linux/sdp.h>
#include <linux/sdp_netlink.h>

#include "fuzz/kernel_base.h"
#include "sdp/sdp_wire.h"

#define _SDP_H
#define _SDP_MIB_H
#define _SDP_RING_H
#define _SDP_RX_H
#define _SDP_VERBS_H

#define clamp(v, low, high) min(max(v, low), high)
#define smp_store_release(p, v) (*(p) = (v)) /* no other CPU */

static inline bool is_power_of_2(unsigned long n)
{
	return n && !(n & (n - 1));
}

/* Values as in the drivers; the test compares what they mean */
enum { SDP_UPDATE_THIRD, SDP_UPDATE_HALF, SDP_UPDATE_EACH };
enum { SDP_FIN_NONE, SDP_FIN_WANTED };
enum { SDP_RING_ANY, SDP_RING_APP, SDP_RING_APP_AWAY };

#define SDP_RING_INLINE 264

static inline bool sdp_ring_along(u32 bytes)
{
	return bytes <= SDP_RING_INLINE;
}

struct sdp_verbs {
	u32 rx_posted_total, rx_adv_total;
	u32 tx_done;
	u8 update_rule;
	u32 vwin_posted;
};

struct sdp_ring {
	u32 base, size;
};

struct ib_mr {
	u32 rkey;
	u64 iova;
};

struct sdp_ring_conn {
	struct sdp_ring *mem;
	struct ib_mr *mr;
	u32 peer_len, peer_rkey;
	u64 peer_va;
	u32 freed, put, advertised;
	u8 progress;
};

struct sdp_conn {
	struct sdp_verbs *verbs;
	struct sdp_ring_conn *ring;
	spinlock_t tx_lock; /* none */
	u32 tx_mseq, rx_mseq, rx_start, rx_max;
	u32 peer_total, peer_ack;
	bool rx_update;
	u8 tx_fin;
};

struct sdp_sock {
	u32 rx_seq;
};

struct sdp_rx_ctx {
	struct sdp_conn *conn;
	struct sdp_msg m;
	u32 along;
};

/* The test has these of sdp_ring.c */
struct sdp_tx_msg;
struct sdp_tx_slot;

u32 sdp_ring_unadvertised(const struct sdp_conn *conn);
u32 sdp_ring_advertise(struct sdp_conn *conn);
bool sdp_ring_by_imm(const struct sdp_conn *conn, const struct sdp_tx_msg *m);
int sdp_ring_send_imm(struct sdp_conn *conn, struct sdp_tx_slot *slot,
		      const struct sdp_tx_msg *m, u32 imm, bool signal);
int sdp_ring_post(struct sdp_conn *conn, struct sdp_tx_slot *slot,
		  const struct sdp_tx_msg *m, u32 hdr_len, bool signal);
void sdp_ring_wanted(struct sdp_conn *conn);

#endif /* SELFTESTS_UNIT_FC_KERNEL_H */
