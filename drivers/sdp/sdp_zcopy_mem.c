// SPDX-License-Identifier: GPL-2.0
/*
 * Zero copy: memory of processes for the device. Pinned, charged to the user,
 * mapped, described to a registration; what may be used again is left to
 * sdp_zcopy_cache.c. Calls that, the verbs and the memory management; used by
 * the other files of zero copy.
 *
 * A region is in use, by one process, or kept by the cache; whoever has taken it
 * out of a list owns it. Teardown waits until none is left. Registrations without
 * memory are spare, so that the next transfer need not make one.
 *
 * A page can take as long to come as somebody likes (userfaultfd, FUSE), and so can
 * the lock of the process's mappings. So a process waits for them without lock_sock,
 * and with nothing that the device knows of: teardown does not wait for it.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <net/sock.h>

#include "sdp.h"
#include "sdp_mib.h"

static u32 sdp_zc_max_pages(const struct sdp_conn *conn)
{
	return min_t(u32, conn->dev->attrs.max_fast_reg_page_list_len,
		     SDP_ZC_PAGES);
}

/**
 * sdp_zc_sync - a device that does not see what the processor writes, or the reverse
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

/*
 * The process has had what the device wrote since the transfer was over, and
 * may have written something else there: that stays.
 */
static void sdp_zc_unmap(struct sdp_zc_region *r)
{
	ib_dma_unmap_sg_attrs(r->conn->dev, r->sg, r->nr, sdp_zc_dir(r),
			      DMA_ATTR_SKIP_CPU_SYNC);
}

/**
 * sdp_zc_release - let go of the memory of a region
 * @r: region that the device cannot use, in no list
 *
 * Context: process, no spinlock held, nor a lock that a change of mappings
 * waits for.
 */
void sdp_zc_release(struct sdp_zc_region *r)
{
	if (!r->nr)
		return;
	sdp_zc_unwatch(r);
	if (r->bound)
		sdp_zc_unmap(r);
	unpin_user_pages_dirty_lock(r->page, r->nr, r->dirty);
	mm_unaccount_pinned_pages(&r->mmp);
	r->nr = 0;
}

/**
 * sdp_zc_region_free - free a region, with its memory
 * @r: region, in no list; nothing is posted for it, or the queue pair is dead
 *
 * The registration goes first: a dead queue pair may have left it valid.
 *
 * Context: as sdp_zc_release(). The connection may go afterwards.
 */
void sdp_zc_region_free(struct sdp_zc_region *r)
{
	struct sdp_conn *conn = r->conn;
	struct sdp_zc *zc = &conn->zc;
	bool bound;

	if (r->mr)
		ib_dereg_mr(r->mr);
	sdp_zc_release(r);
	bound = r->bound;
	kvfree(r->page);
	kvfree(r->sg);
	kfree(r);
	if (!bound)
		return;
	spin_lock(&zc->mem_lock);
	zc->regions--;
	/* inside: sdp_zc_mem_exit() takes the lock when it has seen the number */
	wake_up_all(&conn->cm_wait);
	spin_unlock(&zc->mem_lock);
}

/* Without memory. A negative errno if there is none. */
static struct ib_mr *sdp_zc_mr_get(struct sdp_conn *conn)
{
	struct sdp_zc *zc = &conn->zc;
	struct ib_mr *mr = NULL;

	spin_lock(&zc->mem_lock);
	if (zc->nspare)
		mr = zc->spare[--zc->nspare];
	spin_unlock(&zc->mem_lock);
	return mr ?: ib_alloc_mr(conn->pd, IB_MR_TYPE_MEM_REG,
				 sdp_zc_max_pages(conn));
}

/* Its registration, if there is room for it, is spared. */
static void sdp_zc_region_put(struct sdp_zc_region *r)
{
	struct sdp_zc *zc = &r->conn->zc;

	sdp_zc_release(r);
	spin_lock(&zc->mem_lock);
	if (r->mr && zc->nspare < SDP_ZC_SPARE) {
		zc->spare[zc->nspare++] = r->mr;
		r->mr = NULL;
	}
	spin_unlock(&zc->mem_lock);
	sdp_zc_region_free(r);
}

/* Tell device and registration of the pages. */
static int sdp_zc_map(struct sdp_zc_region *r)
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

/* What is only kept must not stand in the way of what is needed. */
static int sdp_zc_charge(struct sdp_zc_region *r)
{
	int err;

	memset(&r->mmp, 0, sizeof(r->mmp));
	do {
		err = mm_account_pinned_pages(&r->mmp, r->len);
	} while (err && sdp_zc_cache_relieve(r->conn));
	return err;
}

/*
 * The pages may be held for as long as the peer likes, so they are moved to
 * where that does no harm, and the user is charged for them.
 */
static int sdp_zc_pin(struct sdp_zc_region *r, u32 n)
{
	int err, got;

	err = sdp_zc_charge(r);
	if (err)
		return err;
	got = pin_user_pages_fast(r->addr & PAGE_MASK, n, FOLL_LONGTERM |
				  (r->write ? FOLL_WRITE : 0), r->page);
	if (got == (int)n) {
		r->nr = n;
		return 0;
	}
	if (got > 0)
		unpin_user_pages(r->page, got);
	mm_unaccount_pinned_pages(&r->mmp);
	return -EFAULT;
}

static struct sdp_zc_region *sdp_zc_region_new(struct sdp_conn *conn,
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

/*
 * Memory that the device does not know of yet, but whoever may have to hear that it
 * is another. Not under lock_sock; the connection may be gone.
 */
static struct sdp_zc_region *sdp_zc_fill(struct sdp_conn *conn,
					 unsigned long addr, u32 len,
					 bool write)
{
	struct sdp_zc_region *r;
	int err;

	/* who may not keep more gives its registration to the next */
	r = READ_ONCE(conn->zc.nspare) ? NULL : sdp_zc_cache_recycle(conn);
	if (r)
		sdp_zc_region_put(r);
	r = sdp_zc_region_new(conn, addr, len, write);
	if (!r)
		return ERR_PTR(-ENOMEM);
	sdp_zc_watch(r);
	err = sdp_zc_pin(r, DIV_ROUND_UP(offset_in_page(addr) + len, PAGE_SIZE));
	if (!err) {
		sdp_zc_watched(r);
		return r;
	}
	sdp_zc_unwatch(r);
	sdp_zc_region_free(r);
	return ERR_PTR(err);
}

/* Tell the device of it, if the socket still has the connection. lock_sock. */
static int sdp_zc_bind(struct sdp_zc_region *r)
{
	struct sdp_conn *conn = r->conn;
	int err;

	sock_owned_by_me(conn->sk);
	if (sdp_sk(conn->sk)->conn != conn)
		return -ERESTART;
	r->mr = sdp_zc_mr_get(conn);
	if (IS_ERR(r->mr)) {
		r->mr = NULL;
		return -ENOMEM;
	}
	err = sdp_zc_map(r);
	if (err)
		return err;
	r->dirty = r->write;
	r->bound = true;
	spin_lock(&conn->zc.mem_lock);
	conn->zc.regions++;
	spin_unlock(&conn->zc.mem_lock);
	return 0;
}

/* Without the lock, but, as a sender, before all others that send */
static void sdp_zc_away(struct sdp_conn *conn, bool write)
{
	if (write)
		release_sock(conn->sk);
	else
		sdp_tx_leave(conn);
}

static void sdp_zc_back(struct sdp_conn *conn, bool write)
{
	if (write)
		lock_sock(conn->sk);
	else
		sdp_tx_return(conn);
}

static struct sdp_zc_region *sdp_zc_get_new(struct sdp_conn *conn,
					    unsigned long addr, u32 len,
					    bool write)
{
	struct sdp_zc_region *r;
	int err;

	/* the socket may lose the connection meanwhile */
	refcount_inc(&conn->refs);
	sdp_zc_away(conn, write);
	r = sdp_zc_fill(conn, addr, len, write);
	sdp_zc_back(conn, write);
	err = IS_ERR(r) ? PTR_ERR(r) : sdp_zc_bind(r);
	if (err && !IS_ERR(r)) {
		sdp_zc_away(conn, write);
		sdp_zc_region_free(r);
		sdp_zc_back(conn, write);
	}
	if (err && sdp_sk(conn->sk)->conn != conn)
		err = -ERESTART;
	sdp_conn_put(conn);
	return err ? ERR_PTR(err) : r;
}

/**
 * sdp_zc_get - take hold of user memory
 * @conn: connection
 * @addr: where it begins
 * @len: octets wanted
 * @write: the device is going to write to it
 *
 * Each transfer has a key of its own: one that the peer knows of an earlier
 * transfer opens nothing.
 *
 * Context: lock_sock, which is released while memory is pinned; process that owns
 * it. The caller looks again at what the socket has become.
 *
 * Return: region, whose length may be less than @len; -ERESTART if the socket does
 * not have the connection any more; or another negative errno: the data have to be
 * copied.
 */
struct sdp_zc_region *sdp_zc_get(struct sdp_conn *conn, unsigned long addr,
				 u32 len, bool write)
{
	struct sdp_zc_region *r;

	sock_owned_by_me(conn->sk);
	len = min_t(u32, len, sdp_zc_max_pages(conn) * PAGE_SIZE -
		    offset_in_page(addr));
	r = sdp_zc_cache_find(conn, addr, len, write);
	if (!r)
		r = sdp_zc_get_new(conn, addr, len, write);
	if (!IS_ERR(r))
		ib_update_fast_reg_key(r->mr, ib_inc_rkey(r->mr->rkey));
	return r;
}

/**
 * sdp_zc_put - a transfer is over
 * @r: region that the device cannot use any more
 *
 * Context: process, as sdp_zc_release().
 */
void sdp_zc_put(struct sdp_zc_region *r)
{
	/* once: from here on it is the process that writes there */
	sdp_zc_sync(r, false);
	if (r->posted) {
		sdp_zc_region_free(r);
		return;
	}
	if (!sdp_zc_cache_keep(r))
		sdp_zc_region_put(r);
}

/**
 * sdp_zc_give_back - a transfer has not begun after all
 * @r: region as sdp_zc_get() has returned it
 *
 * Context: lock_sock: as the device has written nothing, no page is waited for.
 */
void sdp_zc_give_back(struct sdp_zc_region *r)
{
	sock_owned_by_me(r->conn->sk);
	r->dirty = false;
	sdp_zc_put(r);
}

/**
 * sdp_zc_mem_init - no regions yet
 * @conn: connection
 */
void sdp_zc_mem_init(struct sdp_conn *conn)
{
	spin_lock_init(&conn->zc.mem_lock);
	INIT_LIST_HEAD(&conn->zc.kept);
}

/**
 * sdp_zc_mem_exit - free the regions
 * @conn: connection without a queue pair
 *
 * Context: process, nobody else uses the connection.
 */
void sdp_zc_mem_exit(struct sdp_conn *conn)
{
	struct sdp_zc *zc = &conn->zc;

	sdp_zc_cache_drop(conn);
	wait_event(conn->cm_wait, !READ_ONCE(zc->regions));
	/* who has made it 0 may still be about to wake us */
	spin_lock(&zc->mem_lock);
	spin_unlock(&zc->mem_lock);
	while (zc->nspare)
		ib_dereg_mr(zc->spare[--zc->nspare]);
}
