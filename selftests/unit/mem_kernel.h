/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The kernel's and the driver's functions that hyb_mem.c calls, in user space. It comes
 * first, and the kernel headers that hyb_mem.c includes are empty then. The functions are
 * in mem_kernel.c, where a test also sets what fails.
 */
#ifndef SELFTESTS_UNIT_MEM_KERNEL_H
#define SELFTESTS_UNIT_MEM_KERNEL_H

#include <rdma/siw-abi.h>

#include "fuzz/kernel_base.h"

#define HYBRID_H
#define __init
#define __ro_after_init
#define RDMA_NLDEV_ATTR_DRIVER 1
#define kvfree kfree
#define kvmalloc_array kcalloc
#define PTR_ERR(p) ((long)(p))
#define ERR_CAST(p) ((void *)(p))

#define U64_MAX UINT64_MAX
#define HYB_MAX_MR 4
#define HYB_MAX_FRWR_PAGES 16
#define HYB_MAX_MR_SIZE (1ULL << 40)

/* ---- atomic operations of one thread ---- */

typedef int refcount_t, atomic_t;

#define refcount_set(r, n) (*(r) = (n))
#define atomic_read(a) (*(a))
#define atomic_inc(a) ((void)++*(a))
#define atomic_dec(a) ((void)--*(a))
#define smp_store_release(p, v) (*(p) = (v)) /* no other CPU */
#define smp_mb() ((void)0) /* same */
#define rcu_read_lock() ((void)env.rcu++)
#define rcu_read_unlock() ((void)env.rcu--)
#define preempt_disable() ((void)env.preempt++)
#define preempt_enable() ((void)env.preempt--)
#define kfree_rcu(p, head) kfree(p)

static inline bool refcount_inc_not_zero(refcount_t *r)
{
	return *r && ++*r;
}

static inline bool refcount_dec_and_test(refcount_t *r)
{
	return !--*r;
}

static inline bool atomic_add_unless(atomic_t *a, int n, int limit)
{
	if (*a == limit)
		return false;
	*a += n;
	return true;
}

struct rcu_head {
	void *next;
};

void cpu_relax(void);

static inline bool is_power_of_2(unsigned long n)
{
	return n && !(n & (n - 1));
}

/* ---- lists and arrays ---- */

struct list_head {
	struct list_head *next, *prev;
};

static inline void INIT_LIST_HEAD(struct list_head *list)
{
	list->next = list;
	list->prev = list;
}

static inline bool list_empty(const struct list_head *list)
{
	return list->next == list;
}

struct xarray {
	struct {
		unsigned long index;
		void *entry;
	} slot[8];
};

int xa_insert(struct xarray *xa, unsigned long index, void *entry, gfp_t gfp);
void *xa_load(struct xarray *xa, unsigned long index);
void xa_erase(struct xarray *xa, unsigned long index);
u32 get_random_u32(void);

/* ---- verbs ---- */

enum ib_access_flags {
	IB_ACCESS_LOCAL_WRITE = 1,
	IB_ACCESS_REMOTE_WRITE = 2,
	IB_ACCESS_REMOTE_READ = 4,
	IB_ACCESS_REMOTE_ATOMIC = 8,
	IB_ACCESS_MW_BIND = 16,
	IB_ACCESS_ON_DEMAND = 64,
};

enum ib_mr_type { IB_MR_TYPE_MEM_REG, IB_MR_TYPE_SG_GAPS };
enum { IB_MR_REREG_TRANS = 1, IB_MR_REREG_PD = 2, IB_MR_REREG_ACCESS = 4 };
#define IB_MR_REREG_SUPPORTED 7

#define ib_access_writable(access)                                    \
	((access) & (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
		     IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_MW_BIND))

static inline u32 ib_inc_rkey(u32 rkey)
{
	return ((rkey + 1) & 0xff) | (rkey & ~0xffu);
}

struct ib_device {
	int registered;
};

struct ib_pd {
	struct ib_device *device;
};

struct ib_mr {
	u32 lkey, rkey, page_size;
	u64 length, iova;
};

struct ib_qp {
	struct ib_pd *pd;
};

struct ib_udata {
	size_t inlen, outlen;
	const void *in;
	void *out;
};

int ib_copy_from_udata(void *to, struct ib_udata *udata, size_t len);
int ib_copy_to_udata(struct ib_udata *udata, const void *from, size_t len);

struct scatterlist {
	u8 *addr;
	u32 len;
};

struct sg_table {
	struct page *page;
	u32 nr;
};

struct sg_page_iter {
	const struct sg_table *table;
	u32 i;
};

static inline struct sg_page_iter *
sg_page_iter_begin(struct sg_page_iter *iter, const struct sg_table *table,
		   u32 i)
{
	iter->table = table;
	iter->i = i;
	return iter;
}

static inline bool sg_page_iter_more(const struct sg_page_iter *iter)
{
	return iter->i < iter->table->nr;
}

static inline struct page *sg_page_iter_page(const struct sg_page_iter *iter)
{
	return &iter->table->page[iter->i];
}

#define for_each_sgtable_page(t, iter, from)                  \
	for (struct sg_page_iter *_i =                        \
		     sg_page_iter_begin((iter), (t), (from)); \
	     sg_page_iter_more(_i); _i->i++)

struct ib_umem {
	struct {
		struct sg_table sgt;
	} sgt_append;
	u32 offset;
	bool writable;
};

struct ib_umem *ib_umem_get_va(struct ib_device *dev, u64 start, u64 len,
			       int access);
void ib_umem_release(struct ib_umem *umem);
size_t ib_umem_num_pages(struct ib_umem *umem);
#define ib_umem_offset(umem) ((umem)->offset)
#define ib_virt_dma_to_ptr(addr) ((void *)(addr))
int ib_sg_to_pages(struct ib_mr *mr, struct scatterlist *sg, int nents,
		   unsigned int *offset,
		   int (*set)(struct ib_mr *mr, u64 addr));

#define COMPAT_REG_USER_MR_ARGS struct ib_udata *udata
#define compat_reg_user_mr_dmah env.dmah

struct sk_buff;

struct ib_device_ops {
	struct ib_mr *(*alloc_mr)(struct ib_pd *pd, enum ib_mr_type type,
				  u32 sg);
	int (*dereg_mr)(struct ib_mr *mr, struct ib_udata *udata);
	int (*fill_res_mr_entry)(struct sk_buff *msg, struct ib_mr *mr);
	struct ib_mr *(*get_dma_mr)(struct ib_pd *pd, int access);
	int (*map_mr_sg)(struct ib_mr *mr, struct scatterlist *sg, int nents,
			 unsigned int *offset);
	struct ib_mr *(*reg_user_mr)(struct ib_pd *pd, u64 start, u64 len,
				     u64 va, int access,
				     struct ib_udata *udata);
	struct ib_mr *(*rereg_user_mr)(struct ib_mr *mr, int flags, u64 start,
				       u64 len, u64 va, int access,
				       struct ib_pd *pd,
				       struct ib_udata *udata);
};

extern const struct ib_device_ops hyb_mem_ops;

/* ---- netlink: names and numbers ---- */

struct nlattr;

struct nlattr *nla_nest_start(struct sk_buff *msg, int type);
void nla_nest_end(struct sk_buff *msg, struct nlattr *table);
void nla_nest_cancel(struct sk_buff *msg, struct nlattr *table);
int rdma_nl_put_driver_u32(struct sk_buff *msg, const char *name, u32 value);
#define rdma_nl_put_driver_u32_hex rdma_nl_put_driver_u32

/* ---- the driver ---- */

enum hyb_stat {
	HYB_ST_MR_FAST_REG,
	HYB_ST_MR_LOCAL_INV,
	HYB_ST_MR_REMOTE_INV,
	HYB_ST_NR
};

struct hyb_dev {
	struct ib_device ibdev;
	struct xarray mems;
	atomic_t num_mr;
	int stats[HYB_ST_NR];
};

struct hyb_qp {
	struct ib_qp ibqp;
	struct hyb_dev *dev;
};

#define hyb_dev_of(device) container_of(device, struct hyb_dev, ibdev)
#define hyb_mr_of(mr) container_of(mr, struct hyb_mr, ibmr)
#define hyb_stats_inc(dev, id) ((dev)->stats[id]++)

/**
 * struct env - what a test sets, and what it looks at
 * @objects: allocated, of kmalloc() and its like
 * @umems: user memory that is pinned
 * @fail: this allocation fails, counted from 1; 0: none
 * @umem_fail: error of ib_umem_get_va()
 * @umem: pages that it finds
 * @writable: they are
 * @dmah: the core asks for what is not supported
 * @fault_in: user memory cannot be read
 * @fault_out: or written
 * @random: the next random numbers, the last one again and again
 * @rcu: depth of read sections
 * @preempt: same
 * @relaxed: calls of cpu_relax()
 * @relax: what another processor does then
 * @nl_room: attributes that fit, with the nest
 * @nl_nr: attributes that are there
 * @nl_name: of each
 * @nl_value: same
 * @nl_open: nests that have not ended
 */
struct env {
	int objects, umems, fail, umem_fail;
	struct sg_table umem;
	u32 umem_offset;
	bool writable, dmah, fault_in, fault_out;
	const u32 *random;
	int rcu, preempt, relaxed;
	void (*relax)(void);
	int nl_room, nl_nr, nl_open;
	const char *nl_name[8];
	u32 nl_value[8];
};

extern struct env env;

#endif /* SELFTESTS_UNIT_MEM_KERNEL_H */
