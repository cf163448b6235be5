// SPDX-License-Identifier: GPL-2.0
/*
 * Placement of the components of a queue pair, as requested and as the NIC serves it.
 * See hyb_place.h. Calls hyb_obj.c.
 */
#include <linux/workqueue.h>
#include <rdma/iwarp_offload.h>
#include <rdma/rdma_stack.h>

#include "hyb_place.h"
#include "hyb_trace.h"
#include "hybrid.h"

#define HYB_NEWS_DELAY	20	/* ms until a change is reported, with others */

bool hyb_place_same(const struct hyb_place *a, const struct hyb_place *b)
{
	return a->crc == b->crc && a->demux == b->demux &&
	       a->markers == b->markers;
}

/* The part of @requested that these engines of a NIC provide */
struct hyb_place hyb_place_resolve(const struct hyb_place *requested, u32 nic)
{
	const u32 crc = BIT(IWARP_OFFLOAD_TX_CRC) | BIT(IWARP_OFFLOAD_RX_CRC);
	struct hyb_place res = *requested;

	if ((nic & crc) != crc)
		res.crc = RDMA_STACK_HOST;
	if (!(nic & BIT(IWARP_OFFLOAD_RX_DEMUX)))
		res.demux = RDMA_STACK_HOST;
	if ((res.markers == HYB_MARK_SG &&
	     !(nic & BIT(IWARP_OFFLOAD_TX_SG))) ||
	    (res.markers == HYB_MARK_CONTIG &&
	     !(nic & BIT(IWARP_OFFLOAD_TX_CONTIG))))
		res.markers = HYB_MARK_INPLACE;
	return res;
}

void hyb_place_init(struct hyb_qp *qp)
{
	struct hyb_dev *dev = qp->dev;

	mutex_lock(&dev->attr_lock);
	qp->requested = dev->place;
	mutex_unlock(&dev->attr_lock);
	hyb_place_update(qp, 0);
}

static void hyb_place_news_work(struct work_struct *work)
{
	struct hyb_dev *dev = container_of(to_delayed_work(work),
					   struct hyb_dev, news);

	rdma_stack_changed(&dev->ibdev);
}

void hyb_place_dev_init(struct hyb_dev *dev)
{
	INIT_DELAYED_WORK(&dev->news, hyb_place_news_work);
}

void hyb_place_changed(struct hyb_dev *dev)
{
	queue_delayed_work(hyb_wq, &dev->news, msecs_to_jiffies(HYB_NEWS_DELAY));
}

void hyb_place_update(struct hyb_qp *qp, u32 nic)
{
	struct hyb_place place = hyb_place_resolve(&qp->requested, nic);

	/* no event for the first and last placement of a connection */
	if (qp->tcp.attached && !hyb_place_same(&qp->place, &place))
		hyb_place_changed(qp->dev);
	trace_hyb_place(qp, &place);
	WRITE_ONCE(qp->place.crc, place.crc);
	WRITE_ONCE(qp->place.demux, place.demux);
	WRITE_ONCE(qp->place.markers, place.markers);
	WRITE_ONCE(qp->place.payload, place.payload);
}
