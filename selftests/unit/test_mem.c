// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Unit tests: registered memory, hyb_mem.c as it is. Which STags, ranges and rights are
 * granted, for all small ranges about the ends of a region; where the bytes are; the life
 * of a region, with each allocation failing in turn.
 */
#include <stdlib.h>

#include "mem_kernel.h"
#include "iwarp_hybrid/hyb_mem.h"
#include "unit.h"

#define PAGES 6
#define GUARD 0xee
#define ALL                                               \
	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
	 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)

static u8 *bytes; /* of all pages, that neighbours are seen */
static struct page page[PAGES];
static struct hyb_dev dev;
static struct ib_pd pd = { .device = &dev.ibdev },
		    other_pd = { .device = &dev.ibdev };
static u32 random_numbers[64];

/* Order of the pages: 2 and 3 stand together, as do 4 and 5 */
static const u8 order[PAGES] = { 5, 3, 0, 1, 2, 4 };

static void reset(void)
{
	u32 i;

	memset(&env, 0, sizeof(env));
	memset(&dev, 0, sizeof(dev));
	memset(bytes, GUARD, PAGES * PAGE_SIZE);
	for (i = 0; i < PAGES; i++)
		page[i].mem = bytes + order[i] * PAGE_SIZE;
	for (i = 0; i < ARRAY_LEN(random_numbers) - 1; i++)
		random_numbers[i] = 0x7000000 + 0x12345 * (i + 1);
	env.random = random_numbers;
	env.umem.page = page;
	env.umem.nr = PAGES;
	env.writable = true;
}

/* Nothing is left */
static void check_end(void)
{
	u32 i;

	CHECK(!env.objects && !env.umems && !env.rcu && !env.preempt &&
	      !dev.num_mr);
	for (i = 0; i < ARRAY_LEN(dev.mems.slot); i++)
		CHECK(!dev.mems.slot[i].entry);
}

/* ---- regions ---- */

static struct siw_ureq_reg_mr ureq = { .stag_key = 0x5a };
static struct siw_uresp_reg_mr uresp;
static struct ib_udata udata = { sizeof(ureq), sizeof(uresp), &ureq, &uresp };

static struct ib_mr *user_mr(u64 va, u64 len, int access)
{
	return hyb_mem_ops.reg_user_mr(&pd, 0, len, va, access, &udata);
}

static struct hyb_mem *mem_of(struct ib_mr *mr)
{
	return hyb_mr_of(mr)->mem;
}

static void dereg(struct ib_mr *mr)
{
	CHECK_EQ(hyb_mem_ops.dereg_mr(mr, NULL), 0);
}

static struct ib_mr *fast_mr(u32 pages)
{
	return hyb_mem_ops.alloc_mr(&pd, IB_MR_TYPE_MEM_REG, pages);
}

/* Open a region for fast registration with this key */
static enum hyb_mem_err fast_reg(struct ib_mr *mr, u32 rkey, u64 va, int access)
{
	struct hyb_qp qp = { .ibqp.pd = &pd, .dev = &dev };
	struct siw_sqe sqe = { .rkey = rkey, .raddr = va, .access = access };

	(void)mr;
	return hyb_mem_reg(&qp, &sqe);
}

/* Result of a look-up */
static enum hyb_mem_err get(struct ib_pd *of, u32 stag, u64 to, u64 len,
			    int access)
{
	enum hyb_mem_err err = 77;
	struct hyb_mem *mem = hyb_mem_get(of, stag, to, len, access, &err);

	CHECK_EQ(!mem, err != HYB_MEM_OK);
	if (mem) {
		CHECK_EQ(mem->ref, 2);
		hyb_mem_put(mem);
		CHECK_EQ(mem->ref, 1);
	}
	return err;
}

/* ---- checks ---- */

static enum hyb_mem_err range(u64 va, u64 size, u64 to, u64 len)
{
	if (len && to + (len - 1) < to)
		return HYB_MEM_WRAP;
	if (to >= va && to - va <= size && size - (to - va) >= len)
		return HYB_MEM_OK;
	return HYB_MEM_BOUNDS;
}

/* All ways to ask agree */
static void check_ways(struct ib_mr *mr, u64 to, u64 len, int access,
		       enum hyb_mem_err wanted)
{
	struct hyb_mem *mem = mem_of(mr);
	u32 n = len;
	void *p = NULL;

	CHECK_EQ(get(&pd, mr->rkey, to, len, access), wanted);
	CHECK_EQ(hyb_mem_check(mem, mr->rkey, to, len, access), wanted);
	if (hyb_mem_hold(mem, mr->rkey, to, len, access) == HYB_MEM_OK) {
		CHECK(mem->users == 1 && env.preempt == 1 && !wanted);
		hyb_mem_unuse(mem);
	} else {
		CHECK(wanted != HYB_MEM_OK);
	}
	CHECK_EQ(hyb_mem_hold_for(mem, &pd, mr->rkey, to, len, access), wanted);
	if (!wanted)
		hyb_mem_unuse(mem);
	CHECK_EQ(hyb_mem_use(mem, mr->rkey, to, &n, access, &p), wanted);
	if (!wanted)
		hyb_mem_unuse(mem);
	CHECK(!mem->users && !env.preempt && mem->ref == 1);
}

static void test_bounds(void)
{
	static const u64 vas[] = {
		0, 7, 1000, 0x7fffffffffffffff, U64_MAX - 30, U64_MAX - 19
	};
	struct ib_mr *mr;
	unsigned int i;
	u64 size, len;
	int at;

	for (i = 0; i < ARRAY_LEN(vas); i++)
		for (size = 1; size <= 20; size += 19) {
			reset();
			mr = user_mr(vas[i], size, ALL);
			for (at = -3; at < 24; at++)
				for (len = 0; len < 24; len++)
					check_ways(mr, vas[i] + at, len, 0,
						   range(vas[i], size,
							 vas[i] + at, len));
			dereg(mr);
			check_end();
		}
}

/* Lengths that only a look-up can have, and the end of the numbers */
static void test_wrap(void)
{
	struct ib_mr *mr;

	reset();
	mr = user_mr(0x1000, 0x2000, 0);
	CHECK_EQ(get(&pd, mr->rkey, 0x1000, U64_MAX, 0), HYB_MEM_WRAP);
	CHECK_EQ(get(&pd, mr->rkey, 0x1000, 0x100000001000, 0), HYB_MEM_BOUNDS);
	CHECK_EQ(get(&pd, mr->rkey, U64_MAX, 1, 0), HYB_MEM_BOUNDS);
	CHECK_EQ(get(&pd, mr->rkey, U64_MAX, 2, 0), HYB_MEM_WRAP);
	CHECK_EQ(get(&pd, mr->rkey, U64_MAX - 3, 4, 0), HYB_MEM_BOUNDS);
	CHECK_EQ(get(&pd, mr->rkey, U64_MAX - 3, 5, 0), HYB_MEM_WRAP);
	dereg(mr);
	check_end();
}

static void test_access(void)
{
	int granted, wanted;
	struct ib_mr *mr;

	for (granted = 0; granted <= ALL; granted++)
		for (wanted = 0; wanted <= ALL; wanted++) {
			reset();
			/* and others, that mean nothing here */
			mr = user_mr(500, 100,
				     granted | IB_ACCESS_MW_BIND |
					     IB_ACCESS_ON_DEMAND);
			CHECK_EQ(mem_of(mr)->access, granted);
			check_ways(mr, 500, 100, wanted,
				   wanted & ~granted ? HYB_MEM_ACCESS :
						       HYB_MEM_OK);
			/* the right counts first */
			CHECK_EQ(get(&pd, mr->rkey, 499, 1, wanted),
				 wanted & ~granted ? HYB_MEM_ACCESS :
						     HYB_MEM_BOUNDS);
			dereg(mr);
			check_end();
		}
}

static void test_stag(void)
{
	struct hyb_mem *mem;
	struct ib_mr *mr;
	u32 stag;
	int i;

	reset();
	mr = user_mr(500, 100, ALL);
	mem = mem_of(mr);
	stag = mr->rkey;
	CHECK(mr->lkey == stag && uresp.stag == stag && mem->stag == stag &&
	      mem->live == stag);
	CHECK_EQ(stag & 0xff, ureq.stag_key);
	CHECK_EQ(stag >> 8, random_numbers[0] & 0xffffff);
	for (i = 0; i < 32; i++)
		CHECK_EQ(get(&pd, stag ^ 1u << i, 500, 1, 0), HYB_MEM_STAG);
	CHECK_EQ(get(&pd, 0, 500, 1, 0), HYB_MEM_STAG);
	CHECK_EQ(get(&other_pd, stag, 500, 1, 0), HYB_MEM_PD);
	CHECK_EQ(get(&other_pd, stag ^ 1, 500, 1, 0), HYB_MEM_STAG);
	CHECK_EQ(hyb_mem_hold_for(mem, &other_pd, stag, 500, 1, 0), HYB_MEM_PD);
	CHECK_EQ(hyb_mem_hold_for(mem, &other_pd, stag ^ 1, 500, 1, 0),
		 HYB_MEM_STAG);
	CHECK_EQ(hyb_mem_hold(mem, stag ^ 1, 500, 1, 0), HYB_MEM_STAG);
	CHECK_EQ(hyb_mem_write(mem, stag ^ 1, 500, "x", 1), HYB_MEM_STAG);
	CHECK(!mem->users && !env.preempt);
	/* one that is not valid now has no name, not even 0 */
	mem->live = 0;
	CHECK_EQ(get(&pd, stag, 500, 1, 0), HYB_MEM_STAG);
	CHECK_EQ(hyb_mem_check(mem, 0, 500, 1, 0), HYB_MEM_STAG);
	CHECK_EQ(get(&other_pd, stag, 500, 1, 0), HYB_MEM_STAG);
	/* its last reference is about to go */
	mem->live = stag;
	mem->ref = 0;
	CHECK_EQ(get(&pd, stag, 500, 1, 0), HYB_MEM_STAG);
	mem->ref = 1;
	dereg(mr);
	CHECK_EQ(get(&pd, stag, 500, 1, 0), HYB_MEM_STAG);
	check_end();
}

/* A reference keeps the structure, not the memory */
static void test_reference(void)
{
	enum hyb_mem_err err;
	struct hyb_mem *mem;
	struct ib_mr *mr;
	u32 stag;

	reset();
	mr = user_mr(500, 100, ALL);
	stag = mr->rkey;
	mem = hyb_mem_get(&pd, stag, 500, 1, 0, &err);
	dereg(mr);
	CHECK(env.objects == 1 && !env.umems && !dev.num_mr);
	CHECK_EQ(hyb_mem_hold(mem, stag, 500, 1, 0), HYB_MEM_STAG);
	CHECK_EQ(hyb_mem_write(mem, stag, 500, "x", 1), HYB_MEM_STAG);
	hyb_mem_put(mem);
	check_end();
}

/* ---- where the bytes are ---- */

/* Byte @n of the region's pages */
static u8 *byte(u32 n)
{
	return (u8 *)page[n / PAGE_SIZE].mem + n % PAGE_SIZE;
}

/* From byte @n on, how many of @len stand together */
static u32 together(u32 n, u32 len)
{
	u32 i;

	for (i = 1; i < len && byte(n + i) == byte(n) + i; i++)
		;
	return len ? i : 0;
}

static void check_use(struct ib_mr *mr, u64 va, u32 offset, u32 n, u32 len)
{
	struct hyb_mem *mem = mem_of(mr);
	u32 run = len, room;
	void *p;

	CHECK_EQ(hyb_mem_use(mem, mr->rkey, va + n, &run, 0, &p), HYB_MEM_OK);
	CHECK(p == byte(offset + n));
	CHECK_EQ(run, together(offset + n, len));
	/* a page at a time, if not all of them are neighbours */
	run = len;
	CHECK(hyb_mem_at(mem, va + n, &run) == byte(offset + n));
	room = PAGE_SIZE - (offset + n) % PAGE_SIZE;
	CHECK_EQ(run, mem->base || len < room ? len : room);
	hyb_mem_unuse(mem);
}

static void test_places(void)
{
	static const u32 offsets[] = { 0, 1, 40, PAGE_SIZE - 1 };
	const u64 va = 0x123456789;
	u32 n, len, size, i;
	struct ib_mr *mr;

	for (i = 0; i < ARRAY_LEN(offsets); i++) {
		reset();
		env.umem_offset = offsets[i];
		size = PAGES * PAGE_SIZE - offsets[i];
		mr = user_mr(va, size, ALL);
		CHECK(!mem_of(mr)->base);
		for (n = 0; n < size; n += 509)
			for (len = 1; len <= size - n;
			     len += len < 3 ? 1 : 2039)
				check_use(mr, va, offsets[i], n, len);
		for (n = PAGE_SIZE - 2; n < PAGE_SIZE + 2; n++)
			check_use(mr, va, offsets[i],
				  2 * PAGE_SIZE - offsets[i], n + PAGE_SIZE);
		dereg(mr);
		check_end();
	}
}

/* Pages that all are neighbours, and a region of one page */
static void test_contiguous(void)
{
	struct ib_mr *mr;
	u32 i, nr;

	for (nr = 1; nr <= PAGES; nr++) {
		reset();
		env.umem.nr = nr;
		env.umem_offset = 100;
		for (i = 0; i < nr; i++)
			page[i].mem = bytes + i * PAGE_SIZE;
		mr = user_mr(7000, nr * PAGE_SIZE - 100, ALL);
		CHECK(mem_of(mr)->base == bytes + 100);
		check_use(mr, 7000, 100, 0, nr * PAGE_SIZE - 100);
		check_use(mr, 7000, 100, 50, 10);
		dereg(mr);
		/* but for the last one */
		if (nr == 1)
			continue;
		page[nr - 1].mem -= nr == 2 ? -(long)PAGE_SIZE : PAGE_SIZE;
		mr = user_mr(7000, nr * PAGE_SIZE - 100, ALL);
		CHECK(!mem_of(mr)->base);
		dereg(mr);
		check_end();
	}
}

static void check_write(struct ib_mr *mr, u32 offset, u32 at, u32 len)
{
	u8 *data = malloc(len + 1);
	u32 i;

	unit_random_bytes(data, len);
	memset(bytes, GUARD, PAGES * PAGE_SIZE);
	CHECK_EQ(hyb_mem_write(mem_of(mr), mr->rkey, 900 + at, data, len),
		 HYB_MEM_OK);
	for (i = 0; i < PAGES * PAGE_SIZE; i++)
		if (*byte(i) !=
		    (i - offset - at < len ? data[i - offset - at] : GUARD))
			break;
	CHECK_EQ(i, PAGES * PAGE_SIZE);
	CHECK(!mem_of(mr)->users && !env.preempt);
	free(data);
}

static void test_write(void)
{
	struct ib_mr *mr;
	u32 len, at;

	reset();
	env.umem_offset = 30;
	mr = user_mr(900, 5 * PAGE_SIZE, ALL);
	for (at = 0; at < 2 * PAGE_SIZE; at += 1013)
		for (len = 0; len < 3 * PAGE_SIZE; len += 1500)
			check_write(mr, 30, at, len);
	CHECK_EQ(hyb_mem_write(mem_of(mr), mr->rkey, 899, "xyz", 3),
		 HYB_MEM_BOUNDS);
	/* what a NIC has placed is there */
	CHECK_EQ(hyb_mem_write(mem_of(mr), mr->rkey, 900, byte(30), 10),
		 HYB_MEM_OK);
	dereg(mr);
	env.umem.nr = 1;
	mr = user_mr(900, 1000, ALL);
	check_write(mr, 30, 10, 700);
	CHECK_EQ(hyb_mem_write(mem_of(mr), mr->rkey, 900, byte(30), 10),
		 HYB_MEM_OK);
	dereg(mr);
	/* it takes the local right, and no other one */
	mr = user_mr(900, 1000, ALL & ~IB_ACCESS_LOCAL_WRITE);
	CHECK_EQ(hyb_mem_write(mem_of(mr), mr->rkey, 900, "x", 1),
		 HYB_MEM_ACCESS);
	dereg(mr);
	mr = user_mr(900, 1000, IB_ACCESS_LOCAL_WRITE);
	check_write(mr, 30, 3, 4);
	dereg(mr);
	check_end();
}

static void test_dma(void)
{
	struct ib_mr *mr;
	int access;
	void *p;
	u32 n;

	reset();
	for (access = 0; access < 64; access++) {
		mr = hyb_mem_ops.get_dma_mr(&pd, access);
		if (access & ALL & ~IB_ACCESS_LOCAL_WRITE) {
			CHECK_EQ((long)mr, -EOPNOTSUPP);
			continue;
		}
		CHECK_EQ(mem_of(mr)->access, access & IB_ACCESS_LOCAL_WRITE);
		CHECK(mem_of(mr)->dma && mem_of(mr)->live == mr->lkey);
		n = 5000;
		CHECK_EQ(hyb_mem_use(mem_of(mr), mr->lkey, (u64)bytes + 3, &n,
				     0, &p),
			 HYB_MEM_OK);
		CHECK(p == bytes + 3 && n == 5000);
		CHECK(hyb_mem_at(mem_of(mr), (u64)bytes + 9, &n) == bytes + 9);
		hyb_mem_unuse(mem_of(mr));
		CHECK_EQ(get(&pd, mr->lkey, 0, U64_MAX, 0), HYB_MEM_OK);
		dereg(mr);
	}
	env.fail = 1;
	CHECK_EQ((long)hyb_mem_ops.get_dma_mr(&pd, 1), -ENOMEM);
	check_end();
}

/* ---- life cycle ---- */

static void test_limit(void)
{
	struct ib_mr *mr[HYB_MAX_MR];
	unsigned int i;

	reset();
	for (i = 0; i < HYB_MAX_MR; i++) {
		mr[i] = user_mr(0, 1, 0);
		CHECK_EQ(dev.num_mr, i + 1);
	}
	CHECK_EQ((long)user_mr(0, 1, 0), -ENOMEM);
	CHECK_EQ((long)fast_mr(1), -ENOMEM);
	CHECK_EQ(dev.num_mr, HYB_MAX_MR);
	dereg(mr[0]);
	mr[0] = fast_mr(1);
	CHECK(!IS_ERR(mr[0]));
	for (i = 0; i < HYB_MAX_MR; i++)
		dereg(mr[i]);
	check_end();
}

static void test_nomem(void)
{
	struct ib_mr *mr;
	int fail;

	for (fail = 1;; fail++) {
		reset();
		env.fail = fail;
		mr = user_mr(0, 1, 0);
		if (!IS_ERR(mr))
			break;
		CHECK_EQ((long)mr, -ENOMEM);
		check_end();
	}
	/* the region twice, its pages, its place in the table */
	CHECK_EQ(fail, 5);
	dereg(mr);
	check_end();
}

/* Indices are random; 0 and those in use are not for a region */
static void test_index(void)
{
	static u32 numbers[40];
	struct ib_mr *mr, *more;
	unsigned int i, tries;

	for (tries = 0; tries < 18; tries++) {
		reset();
		numbers[0] = 0xff000005;
		for (i = 1; i <= tries; i++)
			numbers[i] = i % 3 ? 0xab000005 : 0xcd000000;
		numbers[i] = 0x77654321;
		numbers[i + 1] = 0;
		env.random = numbers;
		mr = user_mr(0, 1, 0);
		CHECK_EQ(mr->rkey >> 8, 5);
		more = user_mr(0, 1, 0);
		if (tries < 16) {
			CHECK_EQ(more->rkey >> 8, 0x654321);
			CHECK_EQ(get(&pd, more->rkey, 0, 1, 0), HYB_MEM_OK);
			dereg(more);
		} else {
			CHECK_EQ((long)more, -ENOMEM);
		}
		dereg(mr);
		check_end();
	}
}

static void check_refused(long err, u64 va, u64 len, size_t in, size_t out)
{
	struct ib_udata u = { in, out, &ureq, &uresp };

	CHECK_EQ((long)hyb_mem_ops.reg_user_mr(&pd, 0, len, va, ALL, &u), err);
	check_end();
}

static void test_user_refused(void)
{
	size_t in = sizeof(ureq), out = sizeof(uresp);

	reset();
	check_refused(-EINVAL, 100, 0, in, out);
	check_refused(-EINVAL, U64_MAX - 9, 11, in, out);
	check_refused(-EINVAL, 0, HYB_MAX_MR_SIZE + 1, in, out);
	check_refused(-EINVAL, 100, 10, in - 1, out);
	check_refused(-EINVAL, 100, 10, in, out - 1);
	env.dmah = true;
	check_refused(-EOPNOTSUPP, 100, 10, in, out);
	env.dmah = false;
	env.umem_fail = -EPERM;
	check_refused(-EPERM, 100, 10, in, out);
	env.umem_fail = 0;
	env.fault_in = true;
	check_refused(-EFAULT, 100, 10, in, out);
	env.fault_in = false;
	env.fault_out = true;
	check_refused(-EFAULT, 100, 10, in, out);
	env.fault_out = false;
	dereg(user_mr(U64_MAX - 9, 10, 0));
	check_end();
}

/* ---- copies in progress ---- */

static struct hyb_mem *busy;
static u32 live_then;

static void relax(void)
{
	live_then = busy->live;
	if (env.relaxed == 3)
		busy->users = 0;
}

static unsigned int revoked, opened;
static struct hyb_mem *told;

static void watch_opened(struct hyb_qp *qp, struct hyb_mem *mem, u32 stag)
{
	(void)qp;
	opened++;
	told = mem;
	CHECK_EQ(mem->live, stag);
}

static void watch_revoke(struct hyb_mem *mem)
{
	revoked++;
	told = mem;
	CHECK(!mem->users);
	INIT_LIST_HEAD(&mem->bufs);
}

static const struct hyb_mem_watch watch = { watch_opened, watch_revoke };

static void use_by_others(struct ib_mr *mr)
{
	static struct list_head node;

	busy = mem_of(mr);
	busy->users = 1;
	busy->bufs.next = &node;
	live_then = 77;
	revoked = 0;
	env.relaxed = 0;
	env.relax = relax;
}

/* The name was void first, then no copy was left, and NICs have forgotten it */
static void check_waited(void)
{
	CHECK_EQ(env.relaxed, 3);
	CHECK_EQ(live_then, 0);
	CHECK_EQ(revoked, 1);
}

static void test_waits(void)
{
	struct scatterlist sg = { bytes, 100 };
	unsigned int offset = 0;
	struct ib_mr *mr;

	reset();
	hyb_mem_set_watch(&watch);
	mr = user_mr(0, 100, ALL);
	use_by_others(mr);
	CHECK(!hyb_mem_ops.rereg_user_mr(mr, IB_MR_REREG_ACCESS, 0, 0, 0, ALL,
					 NULL, NULL));
	check_waited();
	use_by_others(mr);
	dereg(mr);
	check_waited();
	mr = fast_mr(4);
	mr->page_size = PAGE_SIZE;
	mem_of(mr)->live = mr->rkey;
	use_by_others(mr);
	CHECK_EQ(hyb_mem_invalidate(&pd, mr->rkey, false), HYB_MEM_OK);
	check_waited();
	mem_of(mr)->live = mr->rkey;
	use_by_others(mr);
	CHECK_EQ(hyb_mem_ops.map_mr_sg(mr, &sg, 1, &offset), 1);
	check_waited();
	dereg(mr);
	hyb_mem_set_watch(NULL);
	check_end();
}

/* ---- fast registration ---- */

static void test_alloc(void)
{
	struct ib_mr *mr;
	u32 n;

	reset();
	CHECK_EQ((long)fast_mr(0), -EINVAL);
	CHECK_EQ((long)fast_mr(HYB_MAX_FRWR_PAGES + 1), -EINVAL);
	CHECK_EQ((long)hyb_mem_ops.alloc_mr(&pd, IB_MR_TYPE_SG_GAPS, 1),
		 -EOPNOTSUPP);
	for (n = 1; n <= HYB_MAX_FRWR_PAGES; n++) {
		mr = fast_mr(n);
		CHECK(mem_of(mr)->fast && !mem_of(mr)->live &&
		      mem_of(mr)->maxpages == n);
		CHECK_EQ(get(&pd, mr->rkey, 0, 0, 0), HYB_MEM_STAG);
		dereg(mr);
	}
	env.fail = 3;
	CHECK_EQ((long)fast_mr(4), -ENOMEM);
	check_end();
}

/* Pages of 512 bytes, from the last to the first */
static void map(struct ib_mr *mr, struct scatterlist *sg, u32 nr,
		unsigned int offset, int wanted)
{
	u32 i;

	for (i = 0; i < nr; i++)
		sg[i] = (struct scatterlist){ bytes + (nr - 1 - i) * 512, 512 };
	mr->page_size = 512;
	CHECK_EQ(hyb_mem_ops.map_mr_sg(mr, sg, nr, &offset), wanted);
}

static void test_map(void)
{
	struct scatterlist sg[8];
	struct hyb_mem *mem;
	struct ib_mr *mr;
	void *p;
	u32 n;

	reset();
	mr = fast_mr(5);
	mem = mem_of(mr);
	mem->placeable = true;
	map(mr, sg, 5, 30, 5);
	CHECK(mem->npages == 5 && mem->len == 5 * 512 - 30 && mem->shift == 9 &&
	      mem->offset == 30);
	CHECK(!mem->base && !mem->placeable && !mem->live);
	CHECK_EQ(fast_reg(mr, mr->rkey, 4000, ALL), HYB_MEM_OK);
	n = 600;
	CHECK_EQ(hyb_mem_use(mem, mr->rkey, 4000 + 512, &n, 0, &p), HYB_MEM_OK);
	CHECK(p == bytes + 3 * 512 + 30 && n == 482);
	hyb_mem_unuse(mem);
	/* it is void as soon as it is mapped again */
	map(mr, sg, 1, 0, 1);
	CHECK(!mem->live && mem->base == bytes && mem->npages == 1 &&
	      mem->len == 512);
	/* of what does not fit, what fits; an entry of more pages than there are: nothing */
	map(mr, sg, 6, 0, 5);
	CHECK_EQ(mem->npages, 5);
	sg[0] = (struct scatterlist){ bytes, 6 * 512 };
	n = 0;
	CHECK_EQ(hyb_mem_ops.map_mr_sg(mr, sg, 1, &n), 0);
	CHECK_EQ(mem->npages, 0);
	CHECK_EQ(fast_reg(mr, mr->rkey, 4000, ALL), HYB_MEM_STAG);
	mr->page_size = 513;
	CHECK_EQ(hyb_mem_ops.map_mr_sg(mr, sg, 1, &n), -EINVAL);
	dereg(mr);
	mr = user_mr(0, 10, 0);
	mr->page_size = 512;
	CHECK_EQ(hyb_mem_ops.map_mr_sg(mr, sg, 1, &n), -EINVAL);
	dereg(mr);
	check_end();
}

static void test_reg(void)
{
	struct hyb_qp qp = { .ibqp.pd = &other_pd, .dev = &dev };
	struct siw_sqe sqe = { .raddr = 1 };
	struct scatterlist sg[4];
	struct hyb_mem *mem;
	struct ib_mr *mr;
	u32 key;

	reset();
	mr = fast_mr(4);
	mem = mem_of(mr);
	key = mr->rkey + 9;
	CHECK_EQ(fast_reg(mr, key, 100, ALL), HYB_MEM_STAG);
	map(mr, sg, 4, 0, 4);
	sqe.rkey = key;
	CHECK_EQ(hyb_mem_reg(&qp, &sqe), HYB_MEM_PD);
	CHECK_EQ(fast_reg(mr, key ^ 0x100, 100, ALL), HYB_MEM_STAG);
	CHECK(!mem->live && mem->ref == 1);
	CHECK_EQ(fast_reg(mr, key, 100, ALL | IB_ACCESS_MW_BIND), HYB_MEM_OK);
	CHECK(mem->live == key && mem->stag == key && mem->va == 100 &&
	      mem->access == ALL);
	CHECK_EQ(get(&pd, key, 100, 2048, ALL), HYB_MEM_OK);
	CHECK_EQ(get(&pd, key, 100, 2049, ALL), HYB_MEM_BOUNDS);
	/* one that is valid is not registered again */
	CHECK_EQ(fast_reg(mr, key + 1, 200, ALL), HYB_MEM_STAG);
	CHECK(mem->live == key && mem->va == 100 && mem->ref == 1);
	CHECK_EQ(dev.stats[HYB_ST_MR_FAST_REG], 1);
	dereg(mr);
	/* nor one of a user */
	mr = user_mr(0, 10, 0);
	CHECK_EQ(fast_reg(mr, mr->rkey, 100, ALL), HYB_MEM_ACCESS);
	CHECK_EQ(mem_of(mr)->ref, 1);
	dereg(mr);
	check_end();
}

/* NICs learn of what a peer may write to */
static void test_watch(void)
{
	struct scatterlist sg[4];
	struct ib_mr *mr;
	int access;

	reset();
	hyb_mem_set_watch(&watch);
	mr = fast_mr(4);
	for (access = 0; access <= ALL; access++) {
		map(mr, sg, 4, 0, 4);
		opened = 0;
		CHECK_EQ(fast_reg(mr, mr->rkey, 100, access), HYB_MEM_OK);
		CHECK_EQ(opened, !!(access & IB_ACCESS_REMOTE_WRITE));
		CHECK(!opened || told == mem_of(mr));
	}
	/* there is nothing to revoke */
	revoked = 0;
	dereg(mr);
	CHECK_EQ(revoked, 0);
	hyb_mem_set_watch(NULL);
	check_end();
}

static void test_invalidate(void)
{
	struct scatterlist sg[4];
	struct hyb_mem *mem;
	struct ib_mr *mr;
	u32 key;

	reset();
	mr = fast_mr(4);
	mem = mem_of(mr);
	map(mr, sg, 4, 0, 4);
	key = mr->rkey + 3;
	fast_reg(mr, key, 100, ALL);
	CHECK_EQ(hyb_mem_invalidate(&pd, key ^ 0x100, true), HYB_MEM_STAG);
	CHECK_EQ(hyb_mem_invalidate(&other_pd, key, true), HYB_MEM_PD);
	CHECK_EQ(hyb_mem_invalidate(&pd, key + 1, true), HYB_MEM_STAG);
	CHECK(mem->live == key && mem->ref == 1);
	CHECK(!dev.stats[HYB_ST_MR_REMOTE_INV] &&
	      !dev.stats[HYB_ST_MR_LOCAL_INV]);
	CHECK_EQ(hyb_mem_invalidate(&pd, key, true), HYB_MEM_OK);
	CHECK(!mem->live && mem->ref == 1);
	CHECK_EQ(dev.stats[HYB_ST_MR_REMOTE_INV], 1);
	/* no error the second time */
	CHECK_EQ(hyb_mem_invalidate(&pd, key, false), HYB_MEM_OK);
	CHECK_EQ(dev.stats[HYB_ST_MR_LOCAL_INV], 1);
	/* another registration meanwhile */
	mem->live = key + 1;
	CHECK_EQ(hyb_mem_invalidate(&pd, key, false), HYB_MEM_OK);
	CHECK_EQ(mem->live, key + 1);
	dereg(mr);
	mr = user_mr(0, 10, 0);
	CHECK_EQ(hyb_mem_invalidate(&pd, mr->rkey, true), HYB_MEM_ACCESS);
	CHECK(mem_of(mr)->live == mr->rkey && mem_of(mr)->ref == 1);
	dereg(mr);
	check_end();
}

/* ---- registered again ---- */

static long rereg(struct ib_mr *mr, int flags, u64 va, u64 len, int access,
		  struct ib_pd *to)
{
	return (long)hyb_mem_ops.rereg_user_mr(mr, flags, 0, len, va, access,
					       to, &udata);
}

static void test_rereg(void)
{
	struct hyb_mem *mem;
	struct ib_mr *mr;
	u32 random[2] = {};
	u32 key, i;

	reset();
	mr = user_mr(500, 100, IB_ACCESS_LOCAL_WRITE);
	mem = mem_of(mr);
	key = mr->rkey;
	CHECK_EQ(rereg(mr, 8, 0, 0, 0, NULL), -EOPNOTSUPP);
	CHECK_EQ(mem->live, key);
	/* rights */
	CHECK_EQ(rereg(mr, IB_MR_REREG_ACCESS, 1, 1, ALL | IB_ACCESS_MW_BIND,
		       &other_pd),
		 0);
	CHECK(mem->access == ALL && mem->va == 500 && mem->len == 100 &&
	      mem->pd == &pd);
	CHECK(mr->rkey == ib_inc_rkey(key) && mr->lkey == mr->rkey &&
	      mem->stag == mr->rkey);
	CHECK_EQ(get(&pd, key, 500, 1, 0), HYB_MEM_STAG);
	CHECK_EQ(get(&pd, mr->rkey, 500, 100, ALL), HYB_MEM_OK);
	/* domain */
	CHECK_EQ(rereg(mr, IB_MR_REREG_PD, 1, 1, 0, &other_pd), 0);
	CHECK(mem->access == ALL && mem->va == 500);
	CHECK_EQ(get(&other_pd, mr->rkey, 500, 100, ALL), HYB_MEM_OK);
	CHECK_EQ(get(&pd, mr->rkey, 500, 100, 0), HYB_MEM_PD);
	/* and what another domain has looked up stays void, however often it changes */
	key = mr->rkey;
	env.random = random;
	for (i = 0; i < 300; i++) {
		random[0] = 0x8000001 + i;
		CHECK_EQ(rereg(mr, IB_MR_REREG_PD, 1, 1, 0,
			       i & 1 ? &other_pd : &pd),
			 0);
		CHECK_EQ(hyb_mem_hold(mem, key, 500, 1, 0), HYB_MEM_STAG);
	}
	/* memory */
	env.umem.nr = 2;
	env.umem_offset = 60;
	CHECK_EQ(rereg(mr, IB_MR_REREG_TRANS, 9000, 5000, 0, NULL), 0);
	CHECK(mem->va == 9000 && mem->len == 5000 && mem->access == ALL &&
	      mem->npages == 2);
	CHECK(mem->maxpages == 2 && mem->offset == 60 &&
	      mem->page[1] == page[1].mem);
	CHECK_EQ(env.umems, 1);
	CHECK_EQ(get(&other_pd, mr->rkey, 9000, 5000, ALL), HYB_MEM_OK);
	dereg(mr);
	check_end();
}

/* Memory that cannot be allocated: the region is void, but whole */
static void test_rereg_fails(void)
{
	static const struct {
		u64 va, len;
		int umem, fail;
		long err;
	} cases[] = {
		{ 0, 0, 0, 0, -EINVAL },
		{ U64_MAX - 3, 5, 0, 0, -EINVAL },
		{ 0, 5, -EPERM, 0, -EPERM },
		{ 0, 5, 0, 1, -ENOMEM },
		{ U64_MAX - 3, 4, 0, 0, 0 },
		{ 0, HYB_MAX_MR_SIZE + 1, 0, 0, -EINVAL },
	};
	struct ib_mr *mr;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(cases); i++) {
		reset();
		mr = user_mr(500, 100, ALL);
		env.umem_fail = cases[i].umem;
		env.fail = cases[i].fail;
		CHECK_EQ(rereg(mr, IB_MR_REREG_TRANS, cases[i].va, cases[i].len,
			       0, NULL),
			 cases[i].err);
		CHECK_EQ(!mem_of(mr)->live, cases[i].err != 0);
		CHECK(env.umems == 1 && mem_of(mr)->umem);
		dereg(mr);
		check_end();
	}
}

/* Pages that are pinned for reading are not written to, but others may be */
static void test_rereg_readonly(void)
{
	struct ib_mr *mr;
	int access;

	for (access = 0; access <= ALL; access++) {
		reset();
		mr = user_mr(500, 100, 0);
		CHECK_EQ(rereg(mr, IB_MR_REREG_ACCESS, 0, 0, access, NULL),
			 ib_access_writable(access) ? -EPERM : 0);
		CHECK_EQ(mem_of(mr)->access,
			 ib_access_writable(access) ? 0 : access);
		CHECK_EQ(mem_of(mr)->live, mr->rkey);
		CHECK_EQ(rereg(mr, IB_MR_REREG_ACCESS | IB_MR_REREG_TRANS, 0, 9,
			       access, NULL),
			 0);
		CHECK_EQ(mem_of(mr)->access, access);
		CHECK_EQ(mem_of(mr)->umem->writable,
			 !!ib_access_writable(access));
		dereg(mr);
		mr = fast_mr(4);
		CHECK_EQ(rereg(mr, IB_MR_REREG_ACCESS, 0, 0, access, NULL),
			 -EINVAL);
		dereg(mr);
		check_end();
	}
}

/* ---- what rdma(8) shows ---- */

static void test_report(void)
{
	static const char *const names[] = { "valid", "fast", "access", "pages",
					     "max_pages" };
	const u32 values[] = { 1, 0, ALL, PAGES, PAGES };
	struct ib_mr *mr;
	int room, i;

	for (room = 0; room < 8; room++) {
		reset();
		mr = user_mr(0, 100, ALL);
		env.nl_room = room;
		CHECK_EQ((long)hyb_mem_ops.fill_res_mr_entry(NULL, mr),
			 room < 6 ? -EMSGSIZE : 0);
		CHECK(!env.nl_open && env.nl_nr == (room < 6 ? 0 : 5));
		for (i = 0; i < env.nl_nr; i++)
			CHECK(!strcmp(env.nl_name[i], names[i]) &&
			      env.nl_value[i] == values[i]);
		dereg(mr);
	}
	mr = fast_mr(3);
	env.nl_nr = 0;
	env.nl_room = 9;
	hyb_mem_ops.fill_res_mr_entry(NULL, mr);
	CHECK(env.nl_value[0] == 0 && env.nl_value[1] == 1 &&
	      env.nl_value[3] == 0 && env.nl_value[4] == 3);
	dereg(mr);
	check_end();
}

int main(void)
{
	static const struct unit_test tests[] = {
		{ "bounds", test_bounds },
		{ "the end of the numbers", test_wrap },
		{ "rights", test_access },
		{ "STags and domains", test_stag },
		{ "a reference keeps the structure only", test_reference },
		{ "places of bytes", test_places },
		{ "pages that are neighbours", test_contiguous },
		{ "writing", test_write },
		{ "all memory of the kernel", test_dma },
		{ "limit of regions", test_limit },
		{ "allocations that fail", test_nomem },
		{ "indices", test_index },
		{ "registrations that a user is refused", test_user_refused },
		{ "copies in progress are waited for", test_waits },
		{ "regions for fast registration", test_alloc },
		{ "mapped pages", test_map },
		{ "fast registration", test_reg },
		{ "NICs learn of a region", test_watch },
		{ "invalidation", test_invalidate },
		{ "registered again", test_rereg },
		{ "registered again, without memory", test_rereg_fails },
		{ "registered again, pinned for reading", test_rereg_readonly },
		{ "reports", test_report },
	};
	int rc;

	bytes = aligned_alloc(PAGE_SIZE, PAGES * PAGE_SIZE);
	rc = unit_main("mem", tests, ARRAY_LEN(tests));
	free(bytes);
	return rc;
}
