/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Registered memory: look-up by STag, checks, access.
 */
#ifndef HYB_MEM_H
#define HYB_MEM_H

#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct hyb_dev;
struct hyb_qp;
struct siw_sqe;

/* Result of a check of registered memory; each has its own wire error */
enum hyb_mem_err {
	HYB_MEM_OK,
	HYB_MEM_STAG,		/* STag unknown, or not valid now */
	HYB_MEM_PD,		/* STag belongs to another protection domain */
	HYB_MEM_ACCESS,		/* access right missing */
	HYB_MEM_BOUNDS,		/* outside of the region */
	HYB_MEM_WRAP,		/* offset plus length exceeds 64 bits */
};

/**
 * struct hyb_mem - registered memory as the engines see it
 * @ref: one for the memory region, one for each lookup; the last put frees
 *	 this structure only, the pages go at deregistration
 * @live: STag while accessible, else 0
 * @stag: STag with the current key
 * @users: copies in progress. A task that clears @live waits until they are over,
 *	   hence pages are never touched after invalidation.
 * @pd: protection domain
 * @dev: device
 * @access: IB_ACCESS_* granted
 * @fast: fast registration region: may be invalidated and registered again
 * @dma: addresses are kernel virtual addresses (no page list)
 * @va: tagged offset of the first byte
 * @len: length in bytes
 * @base: first byte, when all pages are contiguous
 * @offset: of the first byte in @page[0]
 * @shift: log2 of the page size of @page
 * @page: kernel virtual addresses of pages
 * @npages: entries of @page in use
 * @maxpages: entries of @page there are
 * @umem: pinned user memory, or NULL
 * @placeable: packets may refer to its pages, which are the kernel's; determined on demand
 * @bufs: where NICs may place something of it, see hyb_off_place.c
 * @rcu: lookups run under RCU
 */
struct hyb_mem {
	refcount_t ref;
	atomic_t users;
	u32 live;
	u32 stag;
	struct ib_pd *pd;
	struct hyb_dev *dev;
	u64 va;
	u64 len;
	void *base;
	int access;
	bool fast;
	bool dma;
	u8 shift;
	u32 offset;
	u32 npages;
	u32 maxpages;
	void **page;
	struct ib_umem *umem;
	bool placeable;
	struct list_head bufs;
	struct rcu_head rcu;
};

/**
 * struct hyb_mem_watch - for NICs that write to registered memory
 * @opened: a remote peer may write to a region from now on. Context: TCP socket of
 *	    the queue pair held.
 * @revoke: the STag is not valid any more; on return no NIC writes there. Called
 *	    if the region has entries in hyb_mem.bufs. Context: process or softirq.
 */
struct hyb_mem_watch {
	void (*opened)(struct hyb_qp *qp, struct hyb_mem *mem, u32 stag);
	void (*revoke)(struct hyb_mem *mem);
};

struct hyb_mr {
	struct ib_mr ibmr;
	struct hyb_mem *mem;
};

struct hyb_mem *hyb_mem_get(struct ib_pd *pd, u32 stag, u64 to, u64 len,
			    int access, enum hyb_mem_err *err);
enum hyb_mem_err hyb_mem_check(const struct hyb_mem *mem, u32 stag, u64 to,
			       u64 len, int access);
enum hyb_mem_err hyb_mem_write(struct hyb_mem *mem, u32 stag, u64 to,
			       const void *src, u32 len);
enum hyb_mem_err hyb_mem_hold(struct hyb_mem *mem, u32 stag, u64 to, u32 len,
			      int access);
enum hyb_mem_err hyb_mem_hold_for(struct hyb_mem *mem, struct ib_pd *pd,
				  u32 stag, u64 to, u32 len, int access);
enum hyb_mem_err hyb_mem_use(struct hyb_mem *mem, u32 stag, u64 to, u32 *len,
			     int access, void **p);
void hyb_mem_unuse(struct hyb_mem *mem);
enum hyb_mem_err hyb_mem_invalidate(struct ib_pd *pd, u32 stag, bool remote);
enum hyb_mem_err hyb_mem_reg(struct hyb_qp *qp, const struct siw_sqe *sqe);
void hyb_mem_free(struct hyb_mem *mem);
void hyb_mem_set_watch(const struct hyb_mem_watch *watch);

/**
 * hyb_mem_at - where bytes are that hyb_mem_hold() holds
 * @mem: region
 * @to: first byte
 * @len: bytes wanted, not more than are held; set to those that stand together
 *
 * Pages are taken one by one: to find out that two are neighbours costs more
 * than another copy.
 *
 * Context: as hyb_mem_hold() says.
 * Return: the address.
 */
static inline void *hyb_mem_at(const struct hyb_mem *mem, u64 to, u32 *len)
{
	u64 off = to - mem->va;
	u32 in, room;

	if (mem->dma)
		return (void *)(uintptr_t)to;
	if (mem->base)
		return mem->base + off;
	off += mem->offset;
	in = off & ((1U << mem->shift) - 1);
	room = (1U << mem->shift) - in;
	if (*len > room)
		*len = room;
	return mem->page[off >> mem->shift] + in;
}

/* Drops a reference of hyb_mem_get(). Context: any. */
static inline void hyb_mem_put(struct hyb_mem *mem)
{
	if (refcount_dec_and_test(&mem->ref))
		hyb_mem_free(mem);
}

#endif
