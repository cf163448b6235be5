// SPDX-License-Identifier: GPL-2.0
/*
 * Zero copy: memory of processes, taken for a transfer and given back. Memory that
 * is used again and again need not be pinned, mapped and described to a
 * registration each time: a transfer that is over leaves its region here, the next
 * one of the same memory takes it out. Calls region.c, the verbs and the memory
 * management.
 *
 * Kept are pages, their charge, their mapping for the device and the page list.
 * The peer's access ends with each transfer, as without a cache: the next
 * contents of that memory may be meant for another peer.
 *
 * The pages are those of the process as long as its mapping does not change. A
 * notifier of the memory management is called before it does; it only marks the
 * region stale, and waits for nothing. A work item frees it, or the transfer
 * that uses it, when that is over. The same work item frees regions that have
 * not been used for a while, so an idle connection holds no memory.
 *
 * Kept regions of a namespace are in one list, oldest first, which bounds their
 * bytes; those of a connection in another, where they are looked for, which
 * bounds their number: a device has only so many registrations. Stale ones are
 * in neither, in a list of their own.
 *
 * A page can take arbitrarily long to come (userfaultfd, FUSE), and so can the
 * lock of the process's mappings. So a process waits for them without
 * lock_sock, and without a mapping of the device: teardown does not wait for
 * it.
 */
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/pagemap.h>
#include <linux/uaccess.h>
#include <net/sock.h>

#include "sdp.h"
#include "sdp_mib.h"

#define SDP_ZC_CACHE_IDLE	(5 * HZ)
/* size of a region apart from the pages: arrays, registration */
#define SDP_ZC_CACHE_EACH	16384

static struct sdp_net *sdp_zc_net(const struct sdp_conn *conn)
{
	return sdp_pernet(sock_net(conn->sk));
}

static struct sdp_zc_cache *sdp_zc_cache_of(const struct sdp_conn *conn)
{
	return &sdp_zc_net(conn)->zc_cache;
}

/* Bytes; less than 2 MB */
static int sdp_zc_cost(const struct sdp_zc_region *r)
{
	return r->nr * PAGE_SIZE + SDP_ZC_CACHE_EACH;
}

static void sdp_zc_account(struct sdp_zc_cache *cache, struct sdp_zc *zc,
			   int regions, int bytes)
{
	lockdep_assert_held(&cache->lock);
	cache->bytes += bytes;
	zc->nkept += regions;
	WRITE_ONCE(zc->kept_bytes, zc->kept_bytes + bytes);
}

/* From here on it belongs to the caller. */
static void sdp_zc_take_out(struct sdp_zc_cache *cache,
			    struct sdp_zc_region *r)
{
	lockdep_assert_held(&cache->lock);
	list_del_init(&r->lru);
	list_del_init(&r->node);
	sdp_zc_account(cache, r->conn->zc, -1, -sdp_zc_cost(r));
}

static void sdp_zc_free_all(struct list_head *doomed)
{
	struct sdp_zc_region *r, *tmp;

	list_for_each_entry_safe(r, tmp, doomed, lru) {
		list_del_init(&r->lru);
		sdp_zc_region_free(r);
	}
}

#ifdef CONFIG_MMU_NOTIFIER
/*
 * A mapping is about to change. Any context that may change one, including
 * memory reclaim.
 */
static bool sdp_zc_invalidate(struct mmu_interval_notifier *mni,
			      const struct mmu_notifier_range *range,
			      unsigned long seq)
{
	struct sdp_zc_region *r = container_of(mni, struct sdp_zc_region, mni);
	struct sdp_zc_cache *cache = sdp_zc_cache_of(r->conn);
	bool kept;

	spin_lock(&cache->lock);
	mmu_interval_set_seq(mni, seq);
	if (!r->stale)
		SDP_INC_STATS(sock_net(r->conn->sk), ZCOPY_CACHE_STALE);
	r->stale = true;
	kept = !list_empty(&r->node);
	if (kept) {
		sdp_zc_take_out(cache, r);
		list_add_tail(&r->lru, &cache->stale);
		mod_delayed_work(system_unbound_wq, &cache->work, 0);
	}
	spin_unlock(&cache->lock);
	return true;
}

static const struct mmu_interval_notifier_ops sdp_zc_mni_ops = {
	.invalidate = sdp_zc_invalidate,
};

/**
 * sdp_zc_watch - watch the mapping for changes, before the pages are pinned
 * @r: region without memory, its address and length known
 *
 * If that is not possible it will not be kept.
 *
 * Context: process that owns the memory, as sdp_zc_region_free().
 */
static void sdp_zc_watch(struct sdp_zc_region *r)
{
	unsigned long start = r->addr & PAGE_MASK;
	unsigned long len = PAGE_ALIGN(offset_in_page(r->addr) + r->len);

	r->stale = false;
	if (!READ_ONCE(sdp_zc_net(r->conn)->sysctl_zcopy_cache))
		return;
	SDP_INC_STATS(sock_net(r->conn->sk), ZCOPY_CACHE_MISSES);
	r->watched = !mmu_interval_notifier_insert(&r->mni, current->mm, start,
						   len, &sdp_zc_mni_ops);
	if (r->watched)
		r->seq = mmu_interval_read_begin(&r->mni);
	r->mm = current->mm;
}

/**
 * sdp_zc_watched - the pages are pinned: did the mapping change meanwhile?
 * @r: region
 *
 * If it did, the region is used once and not kept: the order of both is unknown.
 *
 * Context: process.
 */
static void sdp_zc_watched(struct sdp_zc_region *r)
{
	struct sdp_zc_cache *cache = sdp_zc_cache_of(r->conn);

	if (!r->watched)
		return;
	spin_lock(&cache->lock);
	if (mmu_interval_read_retry(&r->mni, r->seq))
		r->stale = true;
	spin_unlock(&cache->lock);
}
#else
static void sdp_zc_watch(struct sdp_zc_region *r)
{
}

static void sdp_zc_watched(struct sdp_zc_region *r)
{
}
#endif

/*
 * Data that the device has written must reach a file, or swap. False if a page is locked:
 * that may take any time, and the connection cannot go meanwhile.
 */
static bool sdp_zc_dirty(struct sdp_zc_region *r)
{
	struct folio *folio;
	u32 i;

	for (i = 0; r->dirty && i < r->nr; i++) {
		folio = page_folio(r->page[i]);
		if (folio_test_dirty(folio))
			continue;
		if (!folio_trylock(folio))
			return false;
		folio_mark_dirty(folio);
		folio_unlock(folio);
	}
	r->dirty = false;
	return true;
}

/**
 * sdp_zc_cache_find - memory that has been used before
 * @conn: connection
 * @addr: where it begins
 * @len: bytes
 * @write: the device is going to write to it
 *
 * Exactly this memory: the peer can reach all memory of a registration.
 *
 * Context: lock_sock, process that owns the memory.
 *
 * Return: region, or NULL.
 */
static struct sdp_zc_region *sdp_zc_cache_find(struct sdp_conn *conn,
					       unsigned long addr, u32 len,
					       bool write)
{
	struct sdp_zc_cache *cache = sdp_zc_cache_of(conn);
	struct sdp_zc_region *r, *found = NULL;

	spin_lock(&cache->lock);
	list_for_each_entry(r, &conn->zc->kept, node) {
		if (r->addr != addr || r->len != len || r->write != write ||
		    r->mm != current->mm)
			continue;
		sdp_zc_take_out(cache, r);
		found = r;
		break;
	}
	spin_unlock(&cache->lock);
	if (!found)
		return NULL;
	found->dirty = write;
	sdp_zc_sync(found, true);
	SDP_INC_STATS(sock_net(conn->sk), ZCOPY_CACHE_HITS);
	return found;
}

/* The region that has to go to make room for another one; NULL if there is room. */
static struct sdp_zc_region *sdp_zc_excess(struct sdp_zc_cache *cache,
					   struct sdp_conn *conn, u32 cost)
{
	struct sdp_net *sn = sdp_zc_net(conn);
	struct sdp_zc *zc = conn->zc;

	lockdep_assert_held(&cache->lock);
	if (zc->nkept &&
	    zc->nkept >= (u32)READ_ONCE(sn->sysctl_zcopy_entries))
		return list_last_entry(&zc->kept, struct sdp_zc_region, node);
	if (cache->bytes + cost > (u32)READ_ONCE(sn->sysctl_zcopy_cache))
		return list_first_entry_or_null(&cache->lru,
						struct sdp_zc_region, lru);
	return NULL;
}

/**
 * sdp_zc_cache_keep - leave a region for the next transfer
 * @r: region, its transfer is over
 *
 * Context: process, as sdp_zc_region_free().
 *
 * Return: false if the caller must release it.
 */
static bool sdp_zc_cache_keep(struct sdp_zc_region *r)
{
	struct sdp_zc_cache *cache = sdp_zc_cache_of(r->conn);
	struct sdp_net *sn = sdp_zc_net(r->conn);
	struct sdp_zc_region *old;
	u32 cost = sdp_zc_cost(r);
	LIST_HEAD(doomed);

	if (!r->watched || cost > (u32)READ_ONCE(sn->sysctl_zcopy_cache))
		return false;
	if (!sdp_zc_dirty(r))
		return false;
	spin_lock(&cache->lock);
	if (r->stale) {
		spin_unlock(&cache->lock);
		return false;
	}
	while ((old = sdp_zc_excess(cache, r->conn, cost))) {
		sdp_zc_take_out(cache, old);
		list_add(&old->lru, &doomed);
		SDP_INC_STATS(sock_net(r->conn->sk), ZCOPY_CACHE_EVICTED);
	}
	r->used = jiffies;
	list_add_tail(&r->lru, &cache->lru);
	list_add(&r->node, &r->conn->zc->kept);
	sdp_zc_account(cache, r->conn->zc, 1, cost);
	queue_delayed_work(system_unbound_wq, &cache->work, SDP_ZC_CACHE_IDLE);
	spin_unlock(&cache->lock);
	sdp_zc_free_all(&doomed);
	return true;
}

/**
 * sdp_zc_cache_recycle - take out a region of a connection that may not keep more
 * @conn: connection
 *
 * Saves making a registration, and freeing one afterwards.
 *
 * Context: process.
 *
 * Return: the oldest region of the connection, if the limits of the cache leave no room for
 * another one, or NULL.
 */
static struct sdp_zc_region *sdp_zc_cache_recycle(struct sdp_conn *conn)
{
	struct sdp_zc_cache *cache = sdp_zc_cache_of(conn);
	struct sdp_zc_region *r = NULL;

	spin_lock(&cache->lock);
	if (conn->zc->nkept && sdp_zc_excess(cache, conn, SDP_ZC_CACHE_EACH)) {
		r = list_last_entry(&conn->zc->kept, struct sdp_zc_region, node);
		sdp_zc_take_out(cache, r);
		SDP_INC_STATS(sock_net(conn->sk), ZCOPY_CACHE_EVICTED);
	}
	spin_unlock(&cache->lock);
	return r;
}

static bool sdp_zc_charged(const struct sdp_zc_region *r)
{
	return r->mmp.user && r->mmp.user == current_user();
}

/**
 * sdp_zc_cache_relieve - the user may not lock more memory: release some
 * @conn: connection of a transfer that needs it
 *
 * Context: as sdp_zc_region_free().
 *
 * Return: false if nothing is kept that is charged to the user.
 */
static bool sdp_zc_cache_relieve(struct sdp_conn *conn)
{
	struct sdp_zc_cache *cache = sdp_zc_cache_of(conn);
	struct sdp_zc_region *r;
	LIST_HEAD(doomed);

	spin_lock(&cache->lock);
	list_for_each_entry(r, &cache->stale, lru) {
		if (sdp_zc_charged(r)) {
			list_move(&r->lru, &doomed);
			goto unlock;
		}
	}
	list_for_each_entry(r, &cache->lru, lru) {
		if (sdp_zc_charged(r)) {
			sdp_zc_take_out(cache, r);
			list_add(&r->lru, &doomed);
			SDP_INC_STATS(sock_net(conn->sk),
				      ZCOPY_CACHE_EVICTED);
			goto unlock;
		}
	}
unlock:
	spin_unlock(&cache->lock);
	if (list_empty(&doomed))
		return false;
	sdp_zc_free_all(&doomed);
	return true;
}

/**
 * sdp_zc_cache_drop - the connection goes: nothing of it is kept
 * @conn: connection
 *
 * Stale ones may still be about to be freed by the work item.
 *
 * Context: as sdp_zc_region_free(); the connection is not in use.
 */
static void sdp_zc_cache_drop(struct sdp_conn *conn)
{
	struct sdp_zc_cache *cache = sdp_zc_cache_of(conn);
	struct sdp_zc_region *r, *tmp;
	LIST_HEAD(doomed);

	spin_lock(&cache->lock);
	list_for_each_entry_safe(r, tmp, &conn->zc->kept, node) {
		sdp_zc_take_out(cache, r);
		list_add(&r->lru, &doomed);
	}
	spin_unlock(&cache->lock);
	sdp_zc_free_all(&doomed);
}

/* All that are stale, or have not been used for long. */
static void sdp_zc_overdue(struct sdp_zc_cache *cache, struct list_head *doomed)
{
	struct sdp_zc_region *r, *tmp;

	spin_lock(&cache->lock);
	list_splice_init(&cache->stale, doomed);
	list_for_each_entry_safe(r, tmp, &cache->lru, lru) {
		if (time_before(jiffies, r->used + SDP_ZC_CACHE_IDLE))
			break;
		sdp_zc_take_out(cache, r);
		list_add(&r->lru, doomed);
		SDP_INC_STATS(sock_net(r->conn->sk), ZCOPY_CACHE_IDLE);
	}
	if (!list_empty(&cache->lru))
		queue_delayed_work(system_unbound_wq, &cache->work,
				   SDP_ZC_CACHE_IDLE);
	spin_unlock(&cache->lock);
}

static void sdp_zc_cache_work(struct work_struct *work)
{
	struct sdp_zc_cache *cache = container_of(to_delayed_work(work),
						  struct sdp_zc_cache, work);
	LIST_HEAD(doomed);

	sdp_zc_overdue(cache, &doomed);
	sdp_zc_free_all(&doomed);
}

/**
 * sdp_zc_cache_init_net - nothing is kept in a new namespace
 * @cache: its cache
 */
void sdp_zc_cache_init_net(struct sdp_zc_cache *cache)
{
	spin_lock_init(&cache->lock);
	INIT_LIST_HEAD(&cache->lru);
	INIT_LIST_HEAD(&cache->stale);
	INIT_DELAYED_WORK(&cache->work, sdp_zc_cache_work);
}

/**
 * sdp_zc_cache_exit_net - the namespace goes, it has no connections any more
 * @cache: its cache
 *
 * Context: process.
 */
void sdp_zc_cache_exit_net(struct sdp_zc_cache *cache)
{
	cancel_delayed_work_sync(&cache->work);
	WARN_ON_ONCE(!list_empty(&cache->lru) || !list_empty(&cache->stale));
}

/* Kept memory must give way to needed memory. */
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
 * The peer decides how long the pages are held. So FOLL_LONGTERM moves them to where that
 * does no harm, and the user is charged for them.
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

/*
 * Memory without a mapping of the device yet, but with the notifier for
 * changes. Not under lock_sock; the socket may have lost the connection.
 */
static struct sdp_zc_region *sdp_zc_fill(struct sdp_conn *conn,
					 unsigned long addr, u32 len,
					 bool write)
{
	struct sdp_zc_region *r;
	int err;

	/* at the limit of the cache, reuse the registration of a kept region */
	r = READ_ONCE(conn->zc->nspare) ? NULL : sdp_zc_cache_recycle(conn);
	if (r) {
		sdp_zc_unbind(r, true);
		sdp_zc_region_end(r);
	}
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

/*
 * Tell the device of it, if the socket still has the connection. Context: lock_sock
 * held.
 */
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
	if (err) {
		/* with the lock: the teardown does not wait for a region that is not counted */
		ib_dereg_mr(r->mr);
		r->mr = NULL;
		return err;
	}
	r->dirty = r->write;
	r->bound = true;
	spin_lock(&conn->zc->mem_lock);
	conn->zc->regions++;
	spin_unlock(&conn->zc->mem_lock);
	return 0;
}

/* Release lock_sock; a sender still goes before all others that send. */
static void sdp_zc_away(struct sdp_conn *conn, bool write)
{
	if (write)
		release_sock(conn->sk);
	else
		sdp_conn_leave(conn);
}

static void sdp_zc_back(struct sdp_conn *conn, bool write)
{
	if (write)
		lock_sock(conn->sk);
	else
		sdp_conn_return(conn);
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
 * @len: bytes wanted
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
	/* the notifier and the cache compare addresses, whatever the tags of pointers are */
	addr = untagged_addr(addr);
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
 * Context: process, as sdp_zc_unbind().
 *
 * Return: true if the caller calls sdp_zc_region_end() when nothing waits for it; false if
 * the region is kept for the next transfer.
 */
bool sdp_zc_put(struct sdp_zc_region *r)
{
	/* once: from here on it is the process that writes there */
	sdp_zc_sync(r, false);
	if (!r->posted && sdp_zc_cache_keep(r))
		return false;
	sdp_zc_unbind(r, !r->posted);
	return true;
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
	if (sdp_zc_put(r))
		sdp_zc_region_end(r);
}

/**
 * sdp_zc_mem_init - no regions yet
 * @zc: zero copy of a connection
 */
void sdp_zc_mem_init(struct sdp_zc *zc)
{
	spin_lock_init(&zc->mem_lock);
	INIT_LIST_HEAD(&zc->kept);
}

/**
 * sdp_zc_mem_exit - free the regions
 * @conn: connection without a queue pair
 *
 * Context: process, the connection is not in use.
 */
void sdp_zc_mem_exit(struct sdp_conn *conn)
{
	struct sdp_zc *zc = conn->zc;

	sdp_zc_cache_drop(conn);
	/* soon: as in sdp_zc_drained() */
	wait_event(conn->wait, !READ_ONCE(zc->regions));
	/* the task that has made it 0 may still be about to wake us */
	spin_lock(&zc->mem_lock);
	spin_unlock(&zc->mem_lock);
	while (zc->nspare)
		ib_dereg_mr(zc->spare[--zc->nspare]);
}
