/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The kernel's and SDP's functions that sdp_rx_pages.c and sdp_gaps.h call, in user
 * space. It comes first, and the kernel headers that they include are empty then.
 */
#ifndef SELFTESTS_FUZZ_SDP_KERNEL_H
#define SELFTESTS_FUZZ_SDP_KERNEL_H

#include "kernel_base.h"

struct sdp_conn;

/* ---- lists ---- */

struct list_head {
	struct list_head *next, *prev;
};

static inline void INIT_LIST_HEAD(struct list_head *list)
{
	list->next = list;
	list->prev = list;
}

static inline void list_add_tail(struct list_head *node, struct list_head *list)
{
	node->next = list;
	node->prev = list->prev;
	list->prev->next = node;
	list->prev = node;
}

static inline void list_del(struct list_head *node)
{
	node->next->prev = node->prev;
	node->prev->next = node->next;
}

static inline bool list_empty(const struct list_head *list)
{
	return list->next == list;
}

static inline bool list_is_singular(const struct list_head *list)
{
	return !list_empty(list) && list->next == list->prev;
}

/* The node is what such an entry begins with */
#define list_first_entry(list, type, member) ((type *)(list)->next)
#define list_next_entry(p, member) list_next(p)

static inline void *list_next(const void *entry)
{
	const struct list_head *node = entry;

	return node->next;
}

struct list_iter {
	const struct list_head *list;
	struct list_head *next;
};

static inline struct list_iter list_begin(const struct list_head *list)
{
	return (struct list_iter){ list, list->next };
}

/* The next entry into the pointer @p; the last one may have been removed */
static inline bool list_step(struct list_iter *i, void *p)
{
	struct list_head *node = i->next;

	if (node == i->list)
		return false;
	i->next = node->next;
	memcpy(p, &node, sizeof(node));
	return true;
}

#define list_for_each_entry(p, list, member) \
	for (struct list_iter _i = list_begin(list); list_step(&_i, &(p));)
#define list_for_each_entry_safe(p, tmp, list, member)              \
	for (struct list_iter _i = ((void)(tmp), list_begin(list)); \
	     list_step(&_i, &(p));)

/* ---- memory ---- */

#define min3(a, b, c) min(min(a, b), c)
#define div_u64(a, b) ((u64)(a) / (u32)(b))

extern u64 clock_ns;
#define ktime_get_ns() clock_ns

/* Such a page cannot be referenced; here it is one of an odd reserve */
bool page_is_high(const struct page *page);
#define PageHighMem(page) page_is_high(page)

/* ---- user memory, which has no faults here ---- */

#define __user
#define __force
#define might_fault() ((void)0)
#define instrument_copy_to_user(to, from, n) ((void)(to), (void)(from))
#define instrument_copy_from_user_before(to, from, n) ((void)(to), (void)(from))
#define instrument_copy_from_user_after(to, from, n, left) ((void)(left))
#define stac() ((void)0)
#define clac() ((void)0)
#define _ASM_EXTABLE_UA(from, to) ""
#define X86_FEATURE_REP_GOOD 0
#define cpu_feature_enabled(feature) (!general)

#ifdef __x86_64__
#define CONFIG_X86_64 1
#endif

static inline u32 raw_copy_to_user(void *to, const void *from, u32 n)
{
	memcpy(to, from, n);
	return 0;
}

/**
 * struct iov_iter - where a reader wants bytes
 * @p: the next byte
 * @count: bytes there are
 * @user: they are in one piece of user memory
 * @kernel: they are in one piece of the kernel's memory
 * @max: of one copy; what exceeds it is a fault
 */
struct iov_iter {
	u8 *p;
	size_t count;
	bool user;
	bool kernel;
	size_t max;
};

static inline void iov_iter_advance(struct iov_iter *i, size_t n)
{
	i->p += n;
	i->count -= n;
}

static inline u32 copy_to_iter(const void *from, u32 n, struct iov_iter *i)
{
	n = min_t(u32, n, i->max);
	memcpy(i->p, from, n);
	iov_iter_advance(i, n);
	i->max -= n;
	return n;
}

#define _SDP_ITER_H

static inline void *sdp_iter_user(const struct iov_iter *i, size_t want)
{
	return !general && i->user && i->count >= want ? i->p : NULL;
}

static inline void *sdp_iter_kernel(const struct iov_iter *i, size_t want)
{
	return !general && i->kernel && i->count >= want ? i->p : NULL;
}

/* ---- the rest of SDP ---- */

#define SOCK_RCVBUF_LOCK 2
#define SDP_CONN_SHARED 0
#define test_bit(nr, p) (!!(*(p)&BIT(nr)))

struct net {
	u32 sysctl_rmem[3];
	unsigned long merged, merged_bytes, pauses, no_mem;
};

struct sock {
	struct net *net;
	u32 sk_rcvbuf;
	int sk_userlocks;
	u32 charged;
};

#define PAGE_ALIGN(n) (((n) + PAGE_SIZE - 1) & ~(PAGE_SIZE - 1))
#define sock_owned_by_me(sk) ((void)(sk))
#define __sk_mem_schedule(sk, size, kind) true
#define sk_mem_charge(sk, size) ((sk)->charged += (size))
#define sk_mem_uncharge(sk, size) ((sk)->charged -= (size))

#define sock_net(sk) ((sk)->net)
#define sdp_pernet(net) (net)
#define sdp_sock_charge(sk) ((void)(sk), (struct mem_cgroup *)NULL)

#define _SDP_MIB_H
#define SDP_MIB_RX_MERGED merged
#define SDP_MIB_RX_MERGED_BYTES merged_bytes
#define SDP_MIB_RX_PAUSES pauses
#define SDP_MIB_RX_NO_MEM no_mem
#define SDP_ADD_STATS(net, id, n) ((net)->SDP_MIB_##id += (n))
#define SDP_INC_STATS(net, id) SDP_ADD_STATS(net, id, 1)
#define __SDP_INC_STATS SDP_INC_STATS

/* sdp_shared.h has the types of the queue, from here on */
struct sdp_rx_run {
	struct page *page;
	u32 off;
	u32 len;
};

struct sdp_rxq_ops {
	u32 (*find)(struct sock *sk, u32 seq, struct sdp_rx_run *run);
	u32 (*copy)(struct sock *sk, u32 seq, u32 len, struct iov_iter *to);
	void (*consume)(struct sock *sk, u32 len);
	void (*purge)(struct sock *sk);
	void (*orphan)(struct sock *sk, struct sdp_conn *conn);
};

extern const struct sdp_rxq_ops sdp_rxq_verbs, sdp_rxq_shared;

#define _SDP_H
#include "sdp/sdp_shared.h"

struct link_ops {
	void (*rx_buffer)(void *qp, u32 size);
	void (*rx_resume)(void *qp);
};

struct sdp_conn {
	struct sock *sk;
	const struct link_ops *stack;
	void *qp;
	unsigned long flags;
};

struct sdp_sock {
	struct {
		struct sock sk;
	} inet;
	spinlock_t lock; /* none */
	struct sdp_conn *conn;
	const struct sdp_rxq_ops *rxq;
	struct sdp_rx_pages rx_pages;
	u32 copied_seq, rx_seq;
	bool urg_skips;
};

#define sdp_sk(p) container_of(p, struct sdp_sock, inet.sk)

static inline void sdp_sock_read_all(struct sdp_sock *sdp)
{
	sdp->copied_seq = sdp->rx_seq;
	sdp->urg_skips = false;
}

#endif /* SELFTESTS_FUZZ_SDP_KERNEL_H */
