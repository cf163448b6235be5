// SPDX-License-Identifier: GPL-2.0
/*
 * Registered memory: STags, checks, copies.
 *
 * An STag is a random 24-bit index and an 8-bit key. Peers may try any, hence
 * indices are not predictable, and each access is checked for validity,
 * protection domain, access right and bounds, with a result of its own.
 *
 * Revocation: a copy announces itself in hyb_mem.users and then looks whether
 * the STag is live; invalidation clears the STag and then waits until no copy
 * is in progress, and until NICs that place payload have forgotten the region. When
 * it returns, packets in flight can do no harm, even if references are left.
 *
 * hyb_off_place watches regions that NICs place payload in (struct hyb_mem_watch).
 * Calls nothing else of the driver. Registration by a verb sleeps, by a work request it does
 * not; copies run in any context.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <rdma/rdma_netlink.h>
#include <rdma/restrack.h>

#include "hyb_mem.h"
#include "hybrid.h"

static const struct hyb_mem_watch *hyb_mem_watcher __ro_after_init;

#define HYB_STAG_INDEX(stag)	((stag) >> 8)
#define HYB_STAG_MAX_INDEX	0xffffffU
#define HYB_ACCESS_MASK		(IB_ACCESS_LOCAL_WRITE |		\
				 HYB_ACCESS_REMOTE)
#define HYB_ACCESS_REMOTE	(IB_ACCESS_REMOTE_WRITE |		\
				 IB_ACCESS_REMOTE_READ |		\
				 IB_ACCESS_REMOTE_ATOMIC)

/* --------------------------------------------------------------- life cycle */

/* Chooses an unused index at random; with 2^20 regions at most few tries */
static int hyb_mem_insert(struct hyb_mem *mem)
{
	unsigned int tries = 16;
	int err = -EBUSY;
	u32 index;

	while (tries-- && err == -EBUSY) {
		index = get_random_u32() & HYB_STAG_MAX_INDEX;
		if (!index)
			continue;
		mem->stag = index << 8;
		err = xa_insert(&mem->dev->mems, index, mem, GFP_KERNEL);
	}
	return err == -EBUSY ? -ENOMEM : err;
}

static void hyb_mem_free_pages(struct hyb_mem *mem)
{
	ib_umem_release(mem->umem);
	kvfree(mem->page);
}

/* A user chooses the number of pages, so a failure must not fill the log */
static void **hyb_mem_alloc_pages(size_t pages)
{
	return kvmalloc_array(pages, sizeof(void *),
			      GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
}

/* Returns an MR with an STag which is not live yet */
static struct hyb_mr *hyb_mr_create(struct ib_pd *pd, u32 pages)
{
	struct hyb_dev *dev = hyb_dev_of(pd->device);
	struct hyb_mem *mem;
	struct hyb_mr *mr;

	if (!atomic_add_unless(&dev->num_mr, 1, HYB_MAX_MR))
		return NULL;
	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	mem = kzalloc(sizeof(*mem), GFP_KERNEL);
	if (!mr || !mem)
		goto err;
	if (pages) {
		mem->page = hyb_mem_alloc_pages(pages);
		if (!mem->page)
			goto err;
	}
	refcount_set(&mem->ref, 1);
	INIT_LIST_HEAD(&mem->bufs);
	mem->maxpages = pages;
	mem->pd = pd;
	mem->dev = dev;
	if (hyb_mem_insert(mem))
		goto err;
	mr->mem = mem;
	mr->ibmr.lkey = mem->stag;
	mr->ibmr.rkey = mem->stag;
	return mr;

err:
	if (mem)
		kvfree(mem->page);
	kfree(mem);
	kfree(mr);
	atomic_dec(&dev->num_mr);
	return NULL;
}

/**
 * hyb_mem_set_watch - NICs may write to registered memory
 * @watch: how they learn of changes
 *
 * Context: module init.
 */
void __init hyb_mem_set_watch(const struct hyb_mem_watch *watch)
{
	hyb_mem_watcher = watch;
}

/* Waits for copies in progress, which do not sleep; then NICs forget the region */
static void hyb_mem_wait_users(struct hyb_mem *mem)
{
	/* pairs with those in hyb_mem_begin() and hyb_off_add_buf() */
	smp_mb();
	while (atomic_read(&mem->users))
		cpu_relax();
	if (!list_empty(&mem->bufs))
		hyb_mem_watcher->revoke(mem);
}

static void hyb_mem_revoke(struct hyb_mem *mem)
{
	WRITE_ONCE(mem->live, 0);
	hyb_mem_wait_users(mem);
}

static void hyb_mr_destroy(struct hyb_mr *mr)
{
	struct hyb_mem *mem = mr->mem;
	struct hyb_dev *dev = mem->dev;

	hyb_mem_revoke(mem);
	xa_erase(&dev->mems, HYB_STAG_INDEX(mem->stag));
	hyb_mem_free_pages(mem);
	hyb_mem_put(mem);
	kfree(mr);
	atomic_dec(&dev->num_mr);
}

/**
 * hyb_mem_free - last reference is gone
 * @mem: region; its pages were given back at deregistration
 *
 * Context: any. Lookups run under RCU.
 */
void hyb_mem_free(struct hyb_mem *mem)
{
	kfree_rcu(mem, rcu);
}

/* -------------------------------------------------------------------- checks */

/* Is @stag the current STag of the region? 0 never is: it marks a region without one. */
static bool hyb_mem_is(const struct hyb_mem *mem, u32 stag)
{
	/* Acquire: the description of the region is that of this registration */
	return smp_load_acquire(&mem->live) == stag && stag;
}

static enum hyb_mem_err hyb_mem_bounds(const struct hyb_mem *mem, u64 to,
				       u64 len)
{
	if (len && to + len - 1 < to)
		return HYB_MEM_WRAP;
	if (to < mem->va || to - mem->va > mem->len ||
	    len > mem->len - (to - mem->va))
		return HYB_MEM_BOUNDS;
	return HYB_MEM_OK;
}

/**
 * hyb_mem_check - may this range be accessed?
 * @mem: region, referenced
 * @stag: STag by which it is named, key included
 * @to: tagged offset
 * @len: bytes
 * @access: IB_ACCESS_* needed; 0 for a local read, which is always granted
 *
 * Context: any. The answer may be outdated when used; copies check again.
 * Return: HYB_MEM_OK or what is wrong. hyb_mem_get() checks the domain.
 */
enum hyb_mem_err hyb_mem_check(const struct hyb_mem *mem, u32 stag, u64 to,
			       u64 len, int access)
{
	if (!hyb_mem_is(mem, stag))
		return HYB_MEM_STAG;
	if ((mem->access & access) != access)
		return HYB_MEM_ACCESS;
	return hyb_mem_bounds(mem, to, len);
}

static struct hyb_mem *hyb_mem_lookup(struct hyb_dev *dev, u32 stag)
{
	struct hyb_mem *mem;

	rcu_read_lock();
	mem = xa_load(&dev->mems, HYB_STAG_INDEX(stag));
	if (mem && !refcount_inc_not_zero(&mem->ref))
		mem = NULL;
	rcu_read_unlock();
	return mem;
}

/**
 * hyb_mem_get - find registered memory and check an access to it
 * @pd: protection domain of the queue pair
 * @stag: STag by which it is named
 * @to: tagged offset
 * @len: bytes
 * @access: IB_ACCESS_* needed; 0 for a local read
 * @err: the error, when NULL is returned
 *
 * Context: any.
 * Return: the region; to be given back with hyb_mem_put(). Holding it does
 * not keep the memory accessible.
 */
struct hyb_mem *hyb_mem_get(struct ib_pd *pd, u32 stag, u64 to, u64 len,
			    int access, enum hyb_mem_err *err)
{
	struct hyb_mem *mem = hyb_mem_lookup(hyb_dev_of(pd->device), stag);

	*err = HYB_MEM_STAG;
	if (!mem)
		return NULL;
	*err = hyb_mem_check(mem, stag, to, len, access);
	/* check the domain last: a region that has become live in between may be in another one */
	if (*err != HYB_MEM_STAG && READ_ONCE(mem->pd) != pd)
		*err = HYB_MEM_PD;
	if (*err == HYB_MEM_OK)
		return mem;
	hyb_mem_put(mem);
	return NULL;
}

/* -------------------------------------------------------------------- copies */

/*
 * Until hyb_mem_end() the memory stays as it is, if this returns OK. There are only
 * 256 keys: @stag may name another registration now than the one that was looked
 * up, hence the right is checked again.
 */
static enum hyb_mem_err hyb_mem_begin(struct hyb_mem *mem, u32 stag, u64 to,
				      u32 len, int access)
{
	preempt_disable();	/* another task may spin until we are done */
	atomic_inc(&mem->users);
	smp_mb__after_atomic();	/* pairs with hyb_mem_wait_users() */
	if (!hyb_mem_is(mem, stag))
		return HYB_MEM_STAG;
	if ((mem->access & access) != access)
		return HYB_MEM_ACCESS;
	return hyb_mem_bounds(mem, to, len);
}

static void hyb_mem_end(struct hyb_mem *mem)
{
	smp_mb__before_atomic();	/* the copy is over by then */
	atomic_dec(&mem->users);
	preempt_enable();
}

/* Address of offset @off of the region, and in @run how far it is contiguous */
static void *hyb_mem_addr(const struct hyb_mem *mem, u64 off, u32 *run)
{
	u32 size = 1U << mem->shift;
	u32 first, idx, in, n;

	off += mem->offset;
	first = off >> mem->shift;
	in = off & (size - 1);
	n = size - in;
	for (idx = first; n < *run && idx + 1 < mem->npages; idx++) {
		if (mem->page[idx + 1] != mem->page[idx] + size)
			break;
		n += size;
	}
	*run = min(*run, n);
	return mem->page[first] + in;
}

/* Start of the range when it is contiguous as a whole, as most regions are */
static void *hyb_mem_contig(const struct hyb_mem *mem, u64 to)
{
	if (mem->dma)
		return (void *)(uintptr_t)to;
	return mem->base ? mem->base + (to - mem->va) : NULL;
}

/* A NIC may have placed it already */
static void hyb_mem_copy(void *dst, const void *src, u32 len)
{
	if (dst != src)
		memcpy(dst, src, len);
}

/**
 * hyb_mem_write - copy into registered memory
 * @mem: region, referenced
 * @stag: STag by which it is named
 * @to: tagged offset
 * @src: data
 * @len: bytes
 *
 * It requires the local right to write, for every caller.
 *
 * Context: any.
 * Return: HYB_MEM_OK; or, nothing being copied, HYB_MEM_STAG if the region has
 * been invalidated, HYB_MEM_ACCESS, HYB_MEM_BOUNDS or HYB_MEM_WRAP.
 */
enum hyb_mem_err hyb_mem_write(struct hyb_mem *mem, u32 stag, u64 to,
			       const void *src, u32 len)
{
	enum hyb_mem_err err = hyb_mem_begin(mem, stag, to, len,
					     IB_ACCESS_LOCAL_WRITE);
	void *dst;
	u32 n;

	if (err)
		goto out;
	dst = hyb_mem_contig(mem, to);
	if (dst) {
		hyb_mem_copy(dst, src, len);
		goto out;
	}
	for (; len; len -= n, to += n, src += n) {
		n = len;
		dst = hyb_mem_addr(mem, to - mem->va, &n);
		hyb_mem_copy(dst, src, n);
	}
out:
	hyb_mem_end(mem);
	return err;
}

/**
 * hyb_mem_hold - keep bytes of a region where they are
 * @mem: region, referenced
 * @stag: STag it was looked up with
 * @to: first byte
 * @len: bytes
 * @access: IB_ACCESS_* needed; 0 for a local read
 *
 * If this returns HYB_MEM_OK, the pages stay until hyb_mem_unuse(), which must follow without
 * sleeping in between. hyb_mem_at() returns their addresses.
 *
 * Context: any.
 * Return: HYB_MEM_OK; HYB_MEM_STAG if the region has been invalidated,
 * HYB_MEM_ACCESS, HYB_MEM_BOUNDS or HYB_MEM_WRAP.
 */
enum hyb_mem_err hyb_mem_hold(struct hyb_mem *mem, u32 stag, u64 to, u32 len,
			      int access)
{
	enum hyb_mem_err err = hyb_mem_begin(mem, stag, to, len, access);

	if (err)
		hyb_mem_end(mem);
	return err;
}

/**
 * hyb_mem_hold_for - keep bytes where they are that the peer names
 * @mem: region, referenced
 * @pd: protection domain of the queue pair
 * @stag: STag by which it is named
 * @to: tagged offset
 * @len: bytes
 * @access: IB_ACCESS_* needed
 *
 * As hyb_mem_hold(), but the domain is checked, too: it is that of @stag as long
 * as the region is held.
 *
 * Context: any.
 * Return: HYB_MEM_OK or what is wrong.
 */
enum hyb_mem_err hyb_mem_hold_for(struct hyb_mem *mem, struct ib_pd *pd,
				  u32 stag, u64 to, u32 len, int access)
{
	enum hyb_mem_err err = hyb_mem_begin(mem, stag, to, len, access);

	if (!err && mem->pd != pd)
		err = HYB_MEM_PD;
	if (err)
		hyb_mem_end(mem);
	return err;
}

/**
 * hyb_mem_use - address bytes of a region
 * @mem: region, referenced
 * @stag: STag it was looked up with
 * @to: first byte
 * @len: bytes; set to how many of them are contiguous
 * @access: IB_ACCESS_* needed; 0 for a local read
 * @p: set to the address
 *
 * As hyb_mem_hold(), with the address of the first contiguous run. Here, too, hyb_mem_unuse()
 * must follow.
 *
 * Context: any.
 * Return: as hyb_mem_hold().
 */
enum hyb_mem_err hyb_mem_use(struct hyb_mem *mem, u32 stag, u64 to, u32 *len,
			     int access, void **p)
{
	enum hyb_mem_err err = hyb_mem_hold(mem, stag, to, *len, access);

	if (err)
		return err;
	*p = hyb_mem_contig(mem, to);
	if (!*p)
		*p = hyb_mem_addr(mem, to - mem->va, len);
	return HYB_MEM_OK;
}

void hyb_mem_unuse(struct hyb_mem *mem)
{
	hyb_mem_end(mem);
}

/* ---------------------------------------- registration by work request, STags */

/**
 * hyb_mem_invalidate - make an STag invalid
 * @pd: protection domain of the queue pair
 * @stag: STag
 * @remote: asked for by the peer
 *
 * Only regions for fast registration can be invalidated. One that is invalid
 * already is no error. When this returns no access is in progress.
 *
 * Context: process or softirq, interrupts enabled.
 * Return: HYB_MEM_OK; HYB_MEM_STAG, HYB_MEM_PD; HYB_MEM_ACCESS if the region
 * cannot be invalidated.
 */
enum hyb_mem_err hyb_mem_invalidate(struct ib_pd *pd, u32 stag, bool remote)
{
	struct hyb_dev *dev = hyb_dev_of(pd->device);
	struct hyb_mem *mem = hyb_mem_lookup(dev, stag);
	enum hyb_mem_err err = HYB_MEM_OK;

	if (!mem)
		return HYB_MEM_STAG;
	if (mem->pd != pd)
		err = HYB_MEM_PD;
	else if (!mem->fast)
		err = HYB_MEM_ACCESS;
	else if (READ_ONCE(mem->stag) != stag)
		err = HYB_MEM_STAG;
	if (!err) {
		/* Must not hit a registration with another key */
		cmpxchg(&mem->live, stag, 0);
		hyb_mem_wait_users(mem);
		hyb_stats_inc(dev, remote ? HYB_ST_MR_REMOTE_INV :
					    HYB_ST_MR_LOCAL_INV);
	}
	hyb_mem_put(mem);
	return err;
}

/**
 * hyb_mem_reg - carry out a fast registration request
 * @qp: queue pair of the kernel
 * @sqe: request made by hyb_post_send(): @rkey is the STag with its new key,
 *	 @raddr the tagged offset wanted, @access the rights
 *
 * Context: TCP socket held.
 * Return: HYB_MEM_OK; HYB_MEM_STAG if there is no such region, it is valid, or no memory was
 * mapped into it; HYB_MEM_PD; HYB_MEM_ACCESS if it is of another kind.
 */
enum hyb_mem_err hyb_mem_reg(struct hyb_qp *qp, const struct siw_sqe *sqe)
{
	struct hyb_mem *mem = hyb_mem_lookup(qp->dev, sqe->rkey);
	enum hyb_mem_err err = HYB_MEM_OK;

	if (!mem)
		return HYB_MEM_STAG;
	if (mem->pd != qp->ibqp.pd)
		err = HYB_MEM_PD;
	else if (!mem->fast)
		err = HYB_MEM_ACCESS;
	else if (READ_ONCE(mem->live) || !mem->npages)
		err = HYB_MEM_STAG;
	if (!err) {
		mem->va = sqe->raddr;
		mem->access = sqe->access & HYB_ACCESS_MASK;
		WRITE_ONCE(mem->stag, sqe->rkey);
		/* Opens the region as it was described before */
		smp_store_release(&mem->live, sqe->rkey);
		hyb_stats_inc(qp->dev, HYB_ST_MR_FAST_REG);
		if (hyb_mem_watcher && mem->access & IB_ACCESS_REMOTE_WRITE)
			hyb_mem_watcher->opened(qp, mem, sqe->rkey);
	}
	hyb_mem_put(mem);
	return err;
}

/* --------------------------------------------------------------------- verbs */

static void hyb_mem_open(struct hyb_mem *mem)
{
	/* The stores before describe the region */
	smp_store_release(&mem->live, mem->stag);
}

/* Set @base when the pages are contiguous */
static void hyb_mem_find_base(struct hyb_mem *mem)
{
	u32 i;

	mem->base = NULL;
	for (i = 1; i < mem->npages; i++)
		if (mem->page[i] != mem->page[i - 1] + (1UL << mem->shift))
			return;
	mem->base = mem->page[0] + mem->offset;
}

/**
 * hyb_get_dma_mr - ib_device_ops.get_dma_mr
 * @pd: protection domain of the kernel
 * @access: rights; remote ones are refused, they would open all memory
 *
 * Return: region of all kernel addresses, or error pointer.
 */
static struct ib_mr *hyb_get_dma_mr(struct ib_pd *pd, int access)
{
	struct hyb_mr *mr;

	if (access & HYB_ACCESS_REMOTE)
		return ERR_PTR(-EOPNOTSUPP);
	mr = hyb_mr_create(pd, 0);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->mem->dma = true;
	mr->mem->len = U64_MAX;
	mr->mem->access = access & HYB_ACCESS_MASK;
	hyb_mem_open(mr->mem);
	return &mr->ibmr;
}

static void hyb_mem_set_umem(struct hyb_mem *mem, struct ib_umem *umem)
{
	struct sg_page_iter iter;

	for_each_sgtable_page(&umem->sgt_append.sgt, &iter, 0) {
		if (mem->npages == mem->maxpages)
			break;
		mem->page[mem->npages++] =
			page_address(sg_page_iter_page(&iter));
	}
	mem->shift = PAGE_SHIFT;
	mem->offset = ib_umem_offset(umem);
	hyb_mem_find_base(mem);
}

/* The user chooses the key and gets the STag */
static int hyb_mr_copy_resp(struct hyb_mr *mr, struct ib_udata *udata)
{
	struct siw_uresp_reg_mr resp = {};
	struct siw_ureq_reg_mr req = {};
	int err;

	if (udata->inlen < sizeof(req) || udata->outlen < sizeof(resp))
		return -EINVAL;
	err = ib_copy_from_udata(&req, udata, sizeof(req));
	if (err)
		return err;
	mr->mem->stag |= req.stag_key;
	mr->ibmr.lkey = mr->mem->stag;
	mr->ibmr.rkey = mr->mem->stag;
	resp.stag = mr->mem->stag;
	return ib_copy_to_udata(udata, &resp, sizeof(resp));
}

/* Check the size before memory is pinned */
static bool hyb_mem_range_valid(u64 len, u64 va)
{
	return len && len <= HYB_MAX_MR_SIZE && va + len - 1 >= va;
}

/**
 * hyb_reg_user_mr - ib_device_ops.reg_user_mr
 * @pd: protection domain
 * @start: address in the caller's memory
 * @len: bytes
 * @va: tagged offset of the first byte
 * @access: rights
 * @COMPAT_REG_USER_MR_ARGS: user's part of the request
 *
 * Pins the memory; the core's functions charge it to RLIMIT_MEMLOCK.
 *
 * Return: region, or error pointer.
 */
static struct ib_mr *hyb_reg_user_mr(struct ib_pd *pd, u64 start, u64 len,
				     u64 va, int access,
				     COMPAT_REG_USER_MR_ARGS)
{
	struct ib_umem *umem;
	struct hyb_mr *mr;
	int err;

	if (compat_reg_user_mr_dmah)
		return ERR_PTR(-EOPNOTSUPP);
	if (!hyb_mem_range_valid(len, va))
		return ERR_PTR(-EINVAL);
	umem = ib_umem_get_va(pd->device, start, len, access);
	if (IS_ERR(umem))
		return ERR_CAST(umem);
	mr = hyb_mr_create(pd, ib_umem_num_pages(umem));
	if (!mr) {
		ib_umem_release(umem);
		return ERR_PTR(-ENOMEM);
	}
	mr->mem->umem = umem;
	mr->mem->va = va;
	mr->mem->len = len;
	mr->mem->access = access & HYB_ACCESS_MASK;
	hyb_mem_set_umem(mr->mem, umem);
	err = hyb_mr_copy_resp(mr, udata);
	if (err) {
		hyb_mr_destroy(mr);
		return ERR_PTR(err);
	}
	hyb_mem_open(mr->mem);
	return &mr->ibmr;
}

/* Other memory for a region that is not live; its former memory is freed */
static int hyb_mem_replace(struct hyb_mem *mem, u64 start, u64 len, u64 va,
			   int access)
{
	struct ib_umem *umem;
	size_t pages;
	void **page;

	if (!hyb_mem_range_valid(len, va))
		return -EINVAL;
	umem = ib_umem_get_va(&mem->dev->ibdev, start, len, access);
	if (IS_ERR(umem))
		return PTR_ERR(umem);
	pages = ib_umem_num_pages(umem);
	page = hyb_mem_alloc_pages(pages);
	if (!page) {
		ib_umem_release(umem);
		return -ENOMEM;
	}
	hyb_mem_free_pages(mem);
	mem->umem = umem;
	mem->page = page;
	mem->maxpages = pages;
	mem->npages = 0;
	mem->va = va;
	mem->len = len;
	hyb_mem_set_umem(mem, umem);
	return 0;
}

/*
 * Another index for a region that is not live. With a new key alone, a Read of another
 * domain that is being answered could match again, as there are only 256 keys. No STag
 * with the new index has been looked up yet.
 */
static int hyb_mem_rename(struct hyb_mem *mem)
{
	u32 old = mem->stag;
	int err = hyb_mem_insert(mem);

	if (err)
		mem->stag = old;
	else
		xa_erase(&mem->dev->mems, HYB_STAG_INDEX(old));
	return err;
}

/**
 * hyb_rereg_user_mr - ib_device_ops.rereg_user_mr
 * @ibmr: region of a user
 * @flags: IB_MR_REREG_*: the properties to change
 * @start: address in the caller's memory
 * @len: bytes
 * @va: tagged offset of the first byte
 * @access: rights
 * @pd: protection domain
 * @udata: user's part of the request
 *
 * The region gets another key, which invalidates earlier look-ups with other
 * rights. After an error the region is unchanged, unless the new range is no good or cannot be
 * pinned, or memory or a new index cannot be allocated: then it is invalid.
 *
 * Return: NULL, the region stays the same object; or error pointer.
 */
static struct ib_mr *hyb_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				       u64 len, u64 va, int access,
				       struct ib_pd *pd, struct ib_udata *udata)
{
	struct hyb_mem *mem = hyb_mr_of(ibmr)->mem;
	bool trans = flags & IB_MR_REREG_TRANS;
	int err;

	if (flags & ~IB_MR_REREG_SUPPORTED)
		return ERR_PTR(-EOPNOTSUPP);
	if (!mem->umem)
		return ERR_PTR(-EINVAL);
	if (!(flags & IB_MR_REREG_ACCESS))
		access = mem->access;
	/* Pages that are pinned for reading must not be written to */
	if (!trans && ib_access_writable(access) && !mem->umem->writable)
		return ERR_PTR(-EPERM);

	hyb_mem_revoke(mem);
	if (trans) {
		err = hyb_mem_replace(mem, start, len, va, access);
		if (err)
			return ERR_PTR(err);
	}
	if (flags & IB_MR_REREG_PD) {
		err = hyb_mem_rename(mem);
		if (err)
			return ERR_PTR(err);
		mem->pd = pd;
	}
	mem->access = access & HYB_ACCESS_MASK;
	WRITE_ONCE(mem->stag, ib_inc_rkey(mem->stag));
	ibmr->lkey = mem->stag;
	ibmr->rkey = mem->stag;
	hyb_mem_open(mem);
	return NULL;
}

/**
 * hyb_alloc_mr - ib_device_ops.alloc_mr
 * @pd: protection domain of the kernel
 * @type: only IB_MR_TYPE_MEM_REG
 * @max_sg: pages it can hold
 *
 * Return: region for fast registration, invalid; or error pointer.
 */
static struct ib_mr *hyb_alloc_mr(struct ib_pd *pd, enum ib_mr_type type,
				  u32 max_sg)
{
	struct hyb_mr *mr;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_sg || max_sg > HYB_MAX_FRWR_PAGES)
		return ERR_PTR(-EINVAL);
	mr = hyb_mr_create(pd, max_sg);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->mem->fast = true;
	return &mr->ibmr;
}

static int hyb_set_page(struct ib_mr *ibmr, u64 addr)
{
	struct hyb_mem *mem = hyb_mr_of(ibmr)->mem;

	if (mem->npages == mem->maxpages)
		return -ENOMEM;
	mem->page[mem->npages++] = ib_virt_dma_to_ptr(addr);
	return 0;
}

/**
 * hyb_map_mr_sg - ib_device_ops.map_mr_sg
 * @ibmr: region for fast registration
 * @sg: memory; the device has no DMA of its own, hence kernel addresses
 * @nents: entries of @sg
 * @offset: into the first entry, updated
 *
 * The memory becomes accessible by the request that follows.
 *
 * Return: number of entries mapped, or negative errno.
 */
static int hyb_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents,
			 unsigned int *offset)
{
	struct hyb_mem *mem = hyb_mr_of(ibmr)->mem;
	int n;

	if (!mem->fast || !is_power_of_2(ibmr->page_size))
		return -EINVAL;
	/* Normally done long ago, by a work request */
	hyb_mem_revoke(mem);
	mem->npages = 0;
	mem->placeable = false;
	n = ib_sg_to_pages(ibmr, sg, nents, offset, hyb_set_page);
	if (n <= 0 || !mem->npages) {
		mem->npages = 0;	/* of the first entry some may fit */
		return n;
	}
	mem->len = ibmr->length;
	mem->shift = ilog2(ibmr->page_size);
	mem->offset = ibmr->iova & (ibmr->page_size - 1);
	hyb_mem_find_base(mem);
	return n;
}

/**
 * hyb_dereg_mr - ib_device_ops.dereg_mr
 * @ibmr: region
 * @udata: user's part of the request, or NULL
 *
 * When this returns the memory is not accessed any more, whatever the peer
 * does.
 *
 * Return: 0.
 */
static int hyb_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	hyb_mr_destroy(hyb_mr_of(ibmr));
	return 0;
}

/**
 * hyb_fill_res_mr - ib_device_ops.fill_res_mr_entry
 * @msg: netlink message
 * @ibmr: region
 *
 * For "rdma resource show mr -dd".
 *
 * Return: 0 or -EMSGSIZE.
 */
static int hyb_fill_res_mr(struct sk_buff *msg, struct ib_mr *ibmr)
{
	const struct hyb_mem *mem = hyb_mr_of(ibmr)->mem;
	struct nlattr *table;

	table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	if (!table)
		return -EMSGSIZE;
	if (rdma_nl_put_driver_u32(msg, "valid", !!READ_ONCE(mem->live)) ||
	    rdma_nl_put_driver_u32(msg, "fast", mem->fast) ||
	    rdma_nl_put_driver_u32_hex(msg, "access", READ_ONCE(mem->access)) ||
	    rdma_nl_put_driver_u32(msg, "pages", READ_ONCE(mem->npages)) ||
	    rdma_nl_put_driver_u32(msg, "max_pages",
				   READ_ONCE(mem->maxpages))) {
		nla_nest_cancel(msg, table);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, table);
	return 0;
}

const struct ib_device_ops hyb_mem_ops = {
	.alloc_mr = hyb_alloc_mr,
	.dereg_mr = hyb_dereg_mr,
	.fill_res_mr_entry = hyb_fill_res_mr,
	.get_dma_mr = hyb_get_dma_mr,
	.map_mr_sg = hyb_map_mr_sg,
	.reg_user_mr = hyb_reg_user_mr,
	.rereg_user_mr = hyb_rereg_user_mr,
};
