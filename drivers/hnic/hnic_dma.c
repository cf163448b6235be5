// SPDX-License-Identifier: GPL-2.0
/*
 * Time that DMA and accesses to memory of the NIC take. Calls the kernel only.
 *
 * An engine's DMA is one operation after the other; a packet may go on when those for
 * it are over. Waiting for them does not count as time of the engines.
 */
#include "hnic.h"

/**
 * hnic_dma_timed() - does DMA of the device take time?
 * @hd: device
 *
 * Context: any; may be stale at once.
 *
 * Return: true if so.
 */
bool hnic_dma_timed(const struct hnic_dev *hd)
{
	const u32 *knob = hd->link.knob;

	return READ_ONCE(knob[HNIC_DMA_NS]) || READ_ONCE(knob[HNIC_DMA_RATE]) ||
	       READ_ONCE(knob[HNIC_MEM_RATE]);
}

/* ns that @bytes take at @rate Mbit/s; a rate of 0 means no limit */
static u64 hnic_dma_bytes(u64 bytes, u32 rate)
{
	return rate ? div_u64(bytes * 8000, rate) : 0;
}

/**
 * hnic_dma_done() - when the operations for a packet are over
 * @hd: device
 * @d: of the engine that calls
 * @work: of that engine so far
 * @now: time, ns
 *
 * Context: that engine.
 * Return: the time, ns; @now if nothing of it takes time.
 */
u64 hnic_dma_done(struct hnic_dev *hd, struct hnic_dma_time *d,
		  const struct hnic_dma_work *work, u64 now)
{
	const u32 *knob = hd->link.knob;
	u64 mem = work->mem - d->done.mem;
	u64 cost;

	if (!READ_ONCE(knob[HNIC_CRC_ON_THE_FLY]))
		mem += work->crc - d->done.crc;
	cost = (work->ops - d->done.ops) * READ_ONCE(knob[HNIC_DMA_NS]) +
	       hnic_dma_bytes(work->bytes - d->done.bytes,
			      READ_ONCE(knob[HNIC_DMA_RATE])) +
	       hnic_dma_bytes(mem, READ_ONCE(knob[HNIC_MEM_RATE]));
	d->done = *work;
	if (!cost)
		return now;
	*d->wait_ns += cost;
	d->free_at = max(d->free_at, now) + cost;
	return d->free_at;
}
