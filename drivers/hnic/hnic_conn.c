// SPDX-License-Identifier: GPL-2.0
#include "hnic.h"

int hnic_conn_init(struct hnic_dev *hd) { return 0; }
void hnic_conn_exit(struct hnic_dev *hd) { }
bool hnic_conn_tx(struct hnic_dev *hd, struct hnic_pkt *p, bool marked) { return true; }
int hnic_conn_rx(struct hnic_dev *hd, struct hnic_pkt *p) { return -1; }
static void hnic_caps(struct net_device *netdev, struct iwarp_offload_caps *caps) { }
static int hnic_conn_add(struct iwarp_offload_conn *conn) { return -EOPNOTSUPP; }
static void hnic_conn_del(struct iwarp_offload_conn *conn) { }
static void hnic_rx_resync(struct iwarp_offload_conn *conn, u32 seq, u64 pos) { }
const struct iwarp_offload_ops hnic_offload_ops = {
	.caps = hnic_caps, .conn_add = hnic_conn_add, .conn_del = hnic_conn_del, .rx_resync = hnic_rx_resync,
};
