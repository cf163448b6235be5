// SPDX-License-Identifier: GPL-2.0
/*
 * Counters: sums the per-CPU sets for "rdma statistic show link", shows those of a
 * queue pair.
 *
 * The lowest layer: calls nothing of the driver.
 */
#include <linux/sysfs.h>

#include "hybrid.h"

static const struct rdma_stat_desc hyb_stat_descs[HYB_ST_COUNT] = {
	[HYB_ST_TX_FPDUS].name = "tx_fpdus",
	[HYB_ST_TX_BYTES].name = "tx_bytes",
	[HYB_ST_TX_SEGMENTS].name = "tx_segments",
	[HYB_ST_TX_TCP_CALLS].name = "tx_tcp_calls",
	[HYB_ST_TX_COPIES].name = "tx_copies",
	[HYB_ST_TX_COPY_BYTES].name = "tx_copy_bytes",
	[HYB_ST_TX_REF_BYTES].name = "tx_ref_bytes",
	[HYB_ST_TX_REF_COPIED].name = "tx_ref_copied_bytes",
	[HYB_ST_TX_CRC_BYTES].name = "tx_crc_bytes",
	[HYB_ST_TX_DEFERRED].name = "tx_deferred",
	[HYB_ST_TX_NOSPACE].name = "tx_nospace",
	[HYB_ST_TX_TERM].name = "tx_terminates",
	[HYB_ST_TX_IMM].name = "tx_immediates",
	[HYB_ST_TX_ATOMICS].name = "tx_atomics",
	[HYB_ST_TX_SHARED_MSGS].name = "tx_shared_msgs",
	[HYB_ST_TX_SHARED_BYTES].name = "tx_shared_bytes",
	[HYB_ST_TX_APPENDED].name = "tx_appended",
	[HYB_ST_TX_APPENDED_BYTES].name = "tx_appended_bytes",
	[HYB_ST_TX_SAVED_BYTES].name = "tx_saved_bytes",
	[HYB_ST_TX_ABORTED].name = "tx_aborted",
	[HYB_ST_TX_REFUSED].name = "tx_refused",
	[HYB_ST_TX_MSS_CHANGED].name = "tx_mss_changed",
	[HYB_ST_RX_FPDUS].name = "rx_fpdus",
	[HYB_ST_RX_BYTES].name = "rx_bytes",
	[HYB_ST_RX_SEGMENTS].name = "rx_segments",
	[HYB_ST_RX_WALKS].name = "rx_walks",
	[HYB_ST_RX_COPIES].name = "rx_copies",
	[HYB_ST_RX_COPY_BYTES].name = "rx_copy_bytes",
	[HYB_ST_RX_CRC_BYTES].name = "rx_crc_bytes",
	[HYB_ST_RX_NIC_PLACED].name = "rx_nic_placed",
	[HYB_ST_RX_PAUSED].name = "rx_paused",
	[HYB_ST_RX_DEFERRED].name = "rx_deferred",
	[HYB_ST_RX_BUDGET].name = "rx_budget",
	[HYB_ST_RX_TERM].name = "rx_terminates",
	[HYB_ST_RX_IMM].name = "rx_immediates",
	[HYB_ST_RX_ATOMICS].name = "rx_atomics",
	[HYB_ST_OOO_SEGMENTS].name = "rx_ooo_segments",
	[HYB_ST_OOO_LOOKS].name = "rx_ooo_looks",
	[HYB_ST_OOO_FPDUS].name = "rx_ooo_fpdus",
	[HYB_ST_OOO_BYTES].name = "rx_ooo_bytes",
	[HYB_ST_OOO_DONE].name = "rx_ooo_done_bytes",
	[HYB_ST_OOO_WAIT_MARK].name = "rx_ooo_wait_marker",
	[HYB_ST_OOO_WAIT_STAG].name = "rx_ooo_wait_stag",
	[HYB_ST_OOO_WAIT_RECV].name = "rx_ooo_wait_recv",
	[HYB_ST_OOO_WAIT_ORDER].name = "rx_ooo_wait_order",
	[HYB_ST_OOO_WAIT_PARTIAL].name = "rx_ooo_wait_partial",
	[HYB_ST_OOO_WAIT_BAD].name = "rx_ooo_wait_bad",
	[HYB_ST_OOO_WAIT_LIMIT].name = "rx_ooo_wait_limit",
	[HYB_ST_RX_SHARED_BYTES].name = "rx_shared_bytes",
	[HYB_ST_RX_SHARED_RUNS].name = "rx_shared_runs",
	[HYB_ST_RX_SHARED_CALLS].name = "rx_shared_calls",
	[HYB_ST_RX_SHARED_PAUSED].name = "rx_shared_paused",
	[HYB_ST_TX_NIC_BYTES].name = "tx_nic_bytes",
	[HYB_ST_RX_NIC_BYTES].name = "rx_nic_bytes",
	[HYB_ST_OFF_CONNS].name = "nic_conns",
	[HYB_ST_OFF_REFUSED].name = "nic_refused",
	[HYB_ST_OFF_NO_ROOM].name = "nic_no_record",
	[HYB_ST_OFF_FILLS].name = "nic_fills",
	[HYB_ST_OFF_FILL_BYTES].name = "nic_fill_bytes",
	[HYB_ST_OFF_SW_PACKETS].name = "nic_sw_packets",
	[HYB_ST_OFF_SW_BYTES].name = "nic_sw_bytes",
	[HYB_ST_OFF_SW_DROPS].name = "nic_sw_drops",
	[HYB_ST_OFF_RX_LOST].name = "nic_rx_lost",
	[HYB_ST_OFF_RX_RESYNC].name = "nic_rx_resync",
	[HYB_ST_OFF_RX_MISMATCH].name = "nic_rx_mismatch",
	[HYB_ST_OFF_FILTERS].name = "nic_filters",
	[HYB_ST_OFF_BUFS].name = "nic_buffers",
	[HYB_ST_OFF_NO_BUF].name = "nic_no_buffer",
	[HYB_ST_POST_SEND].name = "post_sends",
	[HYB_ST_POST_RECV].name = "post_recvs",
	[HYB_ST_DOORBELL].name = "doorbells",
	[HYB_ST_CQE].name = "completions",
	[HYB_ST_CQ_EVENT].name = "completion_events",
	[HYB_ST_FLUSHED].name = "flushed",
	[HYB_ST_CQ_OVERFLOW].name = "err_cq_overflow",
	[HYB_ST_MR_FAST_REG].name = "fast_regs",
	[HYB_ST_MR_LOCAL_INV].name = "local_invalidates",
	[HYB_ST_MR_REMOTE_INV].name = "remote_invalidates",
	[HYB_ST_CM_CONNECT].name = "cm_connects",
	[HYB_ST_CM_ACCEPT].name = "cm_accepts",
	[HYB_ST_CM_REJECT].name = "cm_rejects",
	[HYB_ST_CM_CLOSE].name = "cm_closes",
	[HYB_ST_CM_ABORT].name = "cm_aborts",
	[HYB_ST_CM_TIMEOUT].name = "cm_timeouts",
	[HYB_ST_ERR_MPA_REQ].name = "err_mpa_request",
	[HYB_ST_ERR_MPA_REP].name = "err_mpa_reply",
	[HYB_ST_ERR_MPA_TIMEOUT].name = "err_mpa_timeout",
	[HYB_ST_ERR_CRC].name = "err_crc",
	[HYB_ST_ERR_MARKER].name = "err_marker",
	[HYB_ST_ERR_LENGTH].name = "err_length",
	[HYB_ST_ERR_DDP_VERSION].name = "err_ddp_version",
	[HYB_ST_ERR_DDP_QN].name = "err_ddp_queue",
	[HYB_ST_ERR_DDP_MSN].name = "err_ddp_msn",
	[HYB_ST_ERR_DDP_MO].name = "err_ddp_offset",
	[HYB_ST_ERR_DDP_BUF].name = "err_ddp_buffer",
	[HYB_ST_ERR_RDMAP_VERSION].name = "err_rdmap_version",
	[HYB_ST_ERR_RDMAP_OPCODE].name = "err_rdmap_opcode",
	[HYB_ST_ERR_STAG].name = "err_stag",
	[HYB_ST_ERR_PD].name = "err_pd",
	[HYB_ST_ERR_BOUNDS].name = "err_bounds",
	[HYB_ST_ERR_ACCESS].name = "err_access",
	[HYB_ST_ERR_READ_RESP].name = "err_read_response",
	[HYB_ST_ERR_IRD].name = "err_ird",
	[HYB_ST_ERR_INVAL].name = "err_invalidate",
	[HYB_ST_ERR_ATOMIC].name = "err_atomic",
	[HYB_ST_ERR_LOCAL].name = "err_local",
};

/**
 * hyb_alloc_port_stats - ib_device_ops.alloc_hw_port_stats
 * @ibdev: device
 * @port: port, there is one
 *
 * Return: description of the counters, freed by the core.
 */
static struct rdma_hw_stats *hyb_alloc_port_stats(struct ib_device *ibdev,
						  u32 port)
{
	return rdma_alloc_hw_stats_struct(hyb_stat_descs, HYB_ST_COUNT,
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

/**
 * hyb_get_stats - ib_device_ops.get_hw_stats
 * @ibdev: device
 * @stats: values to fill in
 * @port: 0 for the device, which has no counters of its own
 * @index: counter wanted; all are filled in
 *
 * Return: number of counters filled in, -EINVAL if @port is 0.
 */
static int hyb_get_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
			 u32 port, int index)
{
	struct hyb_dev *dev = hyb_dev_of(ibdev);
	int cpu, i;

	if (!port)
		return -EINVAL;

	memset(stats->value, 0, sizeof(stats->value[0]) * HYB_ST_COUNT);
	for_each_possible_cpu(cpu) {
		const struct hyb_stats *s = per_cpu_ptr(dev->stats, cpu);

		for (i = 0; i < HYB_ST_COUNT; i++)
			stats->value[i] += READ_ONCE(s->value[i]);
	}
	return HYB_ST_COUNT;
}

/**
 * hyb_stats_show - the counters of a queue pair, by the names of the port's
 * @qp: queue pair
 * @buf: page to fill in
 *
 * Return: bytes.
 */
ssize_t hyb_stats_show(const struct hyb_qp *qp, char *buf)
{
	ssize_t len = 0;
	int i;

	for (i = 0; i < HYB_ST_QP_COUNT; i++)
		len += sysfs_emit_at(buf, len, "%s %llu\n",
				     hyb_stat_descs[i].name,
				     READ_ONCE(qp->stats.value[i]));
	return len;
}

const struct ib_device_ops hyb_stats_ops = {
	.alloc_hw_port_stats = hyb_alloc_port_stats,
	.get_hw_stats = hyb_get_stats,
};
