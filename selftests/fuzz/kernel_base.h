/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The kernel's language, locks and memory for files of the drivers that run in user
 * space: one thread, and memory that is counted (memory.c).
 */
#ifndef SELFTESTS_FUZZ_KERNEL_BASE_H
#define SELFTESTS_FUZZ_KERNEL_BASE_H

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

#include "iwarp/types.h"

/* ---- the language ---- */

typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;

#define gfp_t unsigned int
#define U16_MAX UINT16_MAX
#define U32_MAX UINT32_MAX
#define BIT(n) (1UL << (n))

/*
 * The general way alone: what is likely is not taken, where the driver has to come to
 * the same result without it
 */
extern bool general;
#define likely(x) (!general && (x))
#define unlikely(x) __builtin_expect(!!(x), 0)
#define noinline __attribute__((noinline))
#define IS_ENABLED(CONFIG_option) 0 /* none of those that expressions ask for */
#define READ_ONCE(x) (x)
#define WRITE_ONCE(x, v) ((x) = (v))
#define static_assert(cond) _Static_assert(cond, #cond)
#define BUILD_BUG_ON(cond) _Static_assert(!(cond), #cond)
#define container_of(p, type, member) \
	((type *)((char *)(p)-offsetof(type, member)))
#define ilog2(n) ((u32)(31 - __builtin_clz(n)))
#define one_of(type, op, a, b)      \
	({                          \
		type _a = (a);      \
		type _b = (b);      \
		_a op _b ? _a : _b; \
	})
#define min_t(type, a, b) one_of(type, <, a, b)
#define max_t(type, a, b) one_of(type, >, a, b)
#define min(a, b) one_of(__auto_type, <, a, b)
#define max(a, b) one_of(__auto_type, >, a, b)
#define max3(a, b, c) max(max(a, b), c)
#define clamp_t(type, v, low, high) min_t(type, max_t(type, v, low), high)
#define ERR_PTR(err) ((void *)(long)(err))
#define IS_ERR(p) ((unsigned long)(p) >= -4095UL)
#define IS_ERR_OR_NULL(p) ((unsigned long)(p)-1 >= -4096UL)
/* there is nothing that a caller may do to see one */
#define WARN_ON_ONCE(cond) (!!(cond) && (abort(), 1))

static inline void set_bit(int nr, unsigned long *p)
{
	*p |= BIT(nr);
}

/* ---- one thread ---- */

static inline void cmpxchg(u32 *p, u32 from, u32 to)
{
	if (*p == from)
		*p = to;
}

#define spinlock_t int
#define smp_load_acquire(p) (*(p)) /* no other CPU */
#define smp_rmb() /* same */
#define smp_mb__before_atomic() ((void)0) /* same */
#define smp_mb__after_atomic() ((void)0) /* same */
#define lockdep_assert_held(lock) ((void)(lock))
#define hyb_tcp_assert_held(tcp) ((void)(tcp))
#define spin_lock(lock) ((void)(lock))
#define spin_unlock(lock) ((void)(lock))
#define spin_lock_irqsave(lock, irq) ((void)(lock), (irq) = 0)
#define spin_unlock_irqrestore(lock, irq) ((void)(lock), (void)(irq))
/* receives of verbs, which a shared link has none of */
#define hyb_rq_memory NULL
#define hyb_rq_again NULL
#define spin_lock_bh(lock) ((void)(lock))
#define spin_unlock_bh(lock) ((void)(lock))

/* ---- memory ---- */

#ifndef PAGE_SIZE
#define PAGE_SIZE 4096u
#endif
#define PAGE_SHIFT __builtin_ctz(PAGE_SIZE)
#define SZ_32K 0x8000
#define GFP_ATOMIC 1u
#define GFP_KERNEL 2u
#define GFP_NOIO 2u
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define GFP_NOWAIT 4u
#define GFP_KERNEL_ACCOUNT GFP_KERNEL
#define __GFP_NOWARN 0u
#define __GFP_COMP 0u
#define __GFP_NORETRY 0u
#define __GFP_ACCOUNT 0u

struct mem_cgroup;

static inline struct mem_cgroup *set_active_memcg(struct mem_cgroup *memcg)
{
	(void)memcg;
	return NULL;
}

struct page {
	int refs;
	u32 size;
	u8 *mem;
};

struct page *alloc_pages(gfp_t gfp, int order);
#define alloc_page(gfp) alloc_pages(gfp, 0)
#define __free_page(page) put_page(page)
void put_page(struct page *page);

static inline void get_page(struct page *page)
{
	page->refs++;
}

static inline int page_count(const struct page *page)
{
	return page->refs;
}

static inline u32 page_size(const struct page *page)
{
	return page->size;
}

static inline void *page_address(const struct page *page)
{
	return page->mem;
}

static inline int get_order(u32 size)
{
	return size > PAGE_SIZE ? 32 - __builtin_clz((size - 1) / PAGE_SIZE) :
				  0;
}

void *kcalloc(size_t n, size_t size, gfp_t gfp);
void kfree(const void *p);
#define kmalloc_array kcalloc
#define kmalloc(size, gfp) kcalloc(1, size, gfp)
#define kzalloc(size, gfp) kcalloc(1, size, gfp)
#define __ro_after_init /* as hosts have no such memory */
#define kmalloc_size_roundup(size) (size)
#define array_size(n, size) ((size_t)(n) * (size))

/**
 * struct memory - what was allocated
 * @pages: not freed
 * @objects: same
 * @order_max: larger pages cannot be allocated; negative: none can
 * @no_objects: nothing else can
 */
struct memory {
	int pages;
	int objects;
	int order_max;
	bool no_objects;
};

extern struct memory memory;

/* Ends the program unless @ok */
void check(bool ok);

#endif /* SELFTESTS_FUZZ_KERNEL_BASE_H */
