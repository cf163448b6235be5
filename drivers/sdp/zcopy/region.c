// SPDX-License-Identifier: GPL-2.0
/*
 * Zero copy: memory of processes for the device. Mapped, described to a
 * registration, released. Calls the verbs and the memory management; used by
 * pool.c, which says when, and by xfer.c.
 *
 * A region is in use, by one process, or kept by the pool; the one that has
 * taken it out of a list owns it. Teardown waits until none is left.
 * Registrations without memory are spare, so that the next transfer need not
 * make one.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <net/sock.h>

#include "sdp.h"
#include "sdp_mib.h"
#include "sdp_verbs.h"

/**
 * sdp_zc_max_pages - pages that a registration of a connection can have
 * @conn: connection
 *
 * Context: any.
 */
u32 sdp_zc_max_pages(const struct sdp_conn *conn)
{
	return min_t(u32, conn->dev->attrs.max_fast_reg_page_list_len,
		     SDP_ZC_PAGES);
}

/**
 * sdp_zc_sync - hand memory to a device that is not coherent, or to the processor
 * @r: region with memory
 * @device: it is the device's turn
 *
 * Context: any.
 */
void sdp_zc_sync(struct sdp_zc_region *r, bool device)
{
	enum dma_data_direction dir = sdp_zc_dir(r);
	struct ib_device *dev = r->conn->dev;
	struct scatterlist *sg;
	u32 i;

	if (ib_uses_virt_dma(dev))
		return;
	/* there may be fewer for the device */
	for_each_sg(r->sg, sg, r->nr, i) {
		if (!sg_dma_len(sg))
			break;
		if (device)
			ib_dma_sync_single_for_device(dev, sg_dma_address(sg),
						      sg_dma_len(sg), dir);
		else
			ib_dma_sync_single_for_cpu(dev, sg_dma_address(sg),
						   sg_dma_len(sg), dir);
	}
}

/**
 * sdp_zc_unwatch - the memory is about to be released
 * @r: region in no list
 *
 * Context: as sdp_zc_unbind(): waits for changes under way.
 */
void sdp_zc_unwatch(struct sdp_zc_region *r)
{
#ifdef CONFIG_MMU_NOTIFIER
	if (r->watched)
		mmu_interval_notifier_remove(&r->mni);
#endif
	r->watched = false;
}

/*
 * The process has had what the device wrote since the transfer was over, and
 * may have written something else there: that stays.
 */
static void sdp_zc_unmap(struct sdp_zc_region *r)
{
	ib_dma_unmap_sg_attrs(r->conn->dev, r->sg, r->nr, sdp_zc_dir(r),
			      DMA_ATTR_SKIP_CPU_SYNC);
}

/* Keep a registration for the next region if there is room. */
static void sdp_zc_mr_put(struct sdp_zc *zc, struct ib_mr *mr)
{
	spin_lock(&zc->mem_lock);
	if (zc->nspare < SDP_ZC_SPARE) {
		zc->spare[zc->nspare++] = mr;
		mr = NULL;
	}
	spin_unlock(&zc->mem_lock);
	if (mr)
		ib_dereg_mr(mr);
}

/**
 * sdp_zc_unbind - the device forgets the memory of a region
 * @r: region, in no list; nothing is posted for it, or the queue pair is dead
 * @spare: its registration may be of use again. A dead queue pair may have left it valid:
 *	   then it goes first.
 *
 * The pages stay until sdp_zc_region_end().
 *
 * Context: process, no spinlock held, nor a lock that a change of mappings waits for. The
 * connection may go afterwards.
 */
void sdp_zc_unbind(struct sdp_zc_region *r, bool spare)
{
	struct sdp_conn *conn = r->conn;
	struct sdp_zc *zc = conn->zc;

	if (r->mr && !spare)
		ib_dereg_mr(r->mr);
	if (r->nr)
		sdp_zc_unwatch(r);
	if (r->nr && r->bound)
		sdp_zc_unmap(r);
	if (r->mr && spare)
		sdp_zc_mr_put(zc, r->mr);
	r->mr = NULL;
	if (!r->bound)
		return;
	r->bound = false;
	spin_lock(&zc->mem_lock);
	zc->regions--;
	/* inside: sdp_zc_mem_exit() takes the lock when it has seen the number */
	wake_up_all(&conn->wait);
	spin_unlock(&zc->mem_lock);
}

/**
 * sdp_zc_region_end - free a region and its pages
 * @r: region after sdp_zc_unbind(), whose connection may be gone
 *
 * If the device has written to pages that are not dirty yet, it waits for their locks,
 * which a file system may hold for an unlimited time. Nothing may wait for the caller.
 *
 * Context: as sdp_zc_unbind().
 */
void sdp_zc_region_end(struct sdp_zc_region *r)
{
	if (r->nr) {
		unpin_user_pages_dirty_lock(r->page, r->nr, r->dirty);
		mm_unaccount_pinned_pages(&r->mmp);
	}
	kvfree(r->page);
	kvfree(r->sg);
	kfree(r);
}

/**
 * sdp_zc_region_free - free a region, with its memory
 * @r: as sdp_zc_unbind()
 *
 * Context: as sdp_zc_unbind(), and sdp_zc_region_end().
 */
void sdp_zc_region_free(struct sdp_zc_region *r)
{
	sdp_zc_unbind(r, false);
	sdp_zc_region_end(r);
}

/**
 * sdp_zc_mr_get - a registration without memory
 * @conn: connection
 *
 * Return: the registration, or a negative errno.
 */
struct ib_mr *sdp_zc_mr_get(struct sdp_conn *conn)
{
	struct sdp_zc *zc = conn->zc;
	struct ib_mr *mr = NULL;

	spin_lock(&zc->mem_lock);
	if (zc->nspare)
		mr = zc->spare[--zc->nspare];
	spin_unlock(&zc->mem_lock);
	return mr ?: ib_alloc_mr(conn->pd, IB_MR_TYPE_MEM_REG,
				 sdp_zc_max_pages(conn));
}

/**
 * sdp_zc_map - map the pages for the device and the registration
 * @r: region with pages and a registration
 *
 * Return: 0 or a negative errno.
 */
int sdp_zc_map(struct sdp_zc_region *r)
{
	u32 off = offset_in_page(r->addr), left = r->len, i, n;
	struct ib_device *dev = r->conn->dev;
	int nents;

	sg_init_table(r->sg, r->nr);
	for (i = 0; i < r->nr; i++) {
		n = min_t(u32, left, PAGE_SIZE - off);
		sg_set_page(&r->sg[i], r->page[i], n, off);
		left -= n;
		off = 0;
	}
	nents = ib_dma_map_sg(dev, r->sg, r->nr, sdp_zc_dir(r));
	if (!nents)
		return -ENOMEM;
	if (ib_map_mr_sg(r->mr, r->sg, nents, NULL, PAGE_SIZE) == nents &&
	    r->mr->length == r->len) {
		sdp_mr_rename(r->mr);
		return 0;
	}
	sdp_zc_unmap(r);
	return -EINVAL;
}

/*
 * Completion of the work requests for a region: only the last one is signalled, which
 * invalidates the registration. Context: softirq.
 */
static void sdp_zc_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct sdp_zc_region *r = container_of(wc->wr_cqe,
					       struct sdp_zc_region, cqe);
	struct sdp_conn *conn = r->conn;

	if (sdp_conn_wc_bad(conn, wc))
		return;
	/* pairs with the acquire of sdp_zc_idle() */
	smp_store_release(&r->posted, false);
	wake_up_all(&conn->wait);
}

/**
 * sdp_zc_region_new - a region without pages
 * @conn: connection
 * @addr: where the memory begins
 * @len: bytes
 * @write: the device is going to write to it
 *
 * Return: the region, or NULL without memory.
 */
struct sdp_zc_region *sdp_zc_region_new(struct sdp_conn *conn,
					unsigned long addr, u32 len,
					bool write)
{
	u32 n = DIV_ROUND_UP(offset_in_page(addr) + len, PAGE_SIZE);
	struct sdp_zc_region *r;

	r = kzalloc(sizeof(*r), GFP_KERNEL_ACCOUNT);
	if (!r)
		return NULL;
	r->cqe.done = sdp_zc_done;
	r->conn = conn;
	r->addr = addr;
	r->len = len;
	r->write = write;
	INIT_LIST_HEAD(&r->node);
	INIT_LIST_HEAD(&r->lru);
	r->page = kvcalloc(n, sizeof(*r->page), GFP_KERNEL_ACCOUNT);
	r->sg = kvcalloc(n, sizeof(*r->sg), GFP_KERNEL_ACCOUNT);
	if (r->page && r->sg)
		return r;
	sdp_zc_region_free(r);
	return NULL;
}
