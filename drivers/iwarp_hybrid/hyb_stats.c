// SPDX-License-Identifier: GPL-2.0
/*
 * Counters: sums the per-CPU sets for "rdma statistic show link".
 *
 * The layer below everything: calls nobody.
 */
#include "hybrid.h"

#define HYB_STAT_DESC(id, text)	[HYB_ST_##id].name = text,
static const struct rdma_stat_desc hyb_stat_descs[HYB_ST_COUNT] = {
	HYB_STATS(HYB_STAT_DESC)
};

/**
 * hyb_alloc_port_stats - ib_device_ops.alloc_hw_port_stats
 * @ibdev: device
 * @port: port, there is one
 *
 * Return: description of the counters, freed by the core.
 */
struct rdma_hw_stats *hyb_alloc_port_stats(struct ib_device *ibdev, u32 port)
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
 * Return: number of counters filled in.
 */
int hyb_get_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
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
