// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Registered memory beneath fuzz_rx.c. See rx_memory.h. */
#include "rx_memory.h"

struct region regions[REGIONS];

void regions_begin(struct ib_pd *pd, bool nic)
{
	u32 i, j;

	for (i = 0; i < REGIONS; i++) {
		struct region *r = &regions[i];
		struct hyb_mem *mem = &r->mem;

		memset(r, 0, sizeof(*r));
		memset(r->bytes, 'a' + i, sizeof(r->bytes));
		mem->ref = 1;
		mem->live = REGION_STAG + i;
		mem->stag = mem->live;
		mem->pd = pd;
		mem->va = 0x7f0000001000ull * i + 40;
		mem->len = REGION;
		mem->access = IB_ACCESS_LOCAL_WRITE |
			      (i < 2 ? IB_ACCESS_REMOTE_WRITE : 0);
		mem->bufs.next = nic ? NULL : &mem->bufs;
		r->all = (struct page){ 1, sizeof(r->bytes), r->bytes };
		if (!(i & 1)) {
			mem->base = r->bytes;
			continue;
		}
		mem->shift = ilog2(REGION_PAGE);
		mem->offset = 40;
		mem->page = (void **)r->page;
		/* from the last to the first */
		for (j = 0; j < ARRAY_SIZE(r->page); j++)
			r->page[j] = r->bytes + sizeof(r->bytes) -
				     (j + 1) * REGION_PAGE;
	}
}

void regions_end(void)
{
	u32 i;

	for (i = 0; i < REGIONS; i++)
		check(regions[i].mem.ref == 1 && !regions[i].mem.users &&
		      regions[i].all.refs == 1);
}

struct page *region_page(const u8 *p)
{
	struct region *r = regions;

	while (p < r->bytes || p >= r->bytes + sizeof(r->bytes))
		check(++r < regions + REGIONS);
	return &r->all;
}

struct hyb_mem *hyb_mem_get(struct ib_pd *pd, u32 stag, u64 to, u64 len,
			    int access, enum hyb_mem_err *err)
{
	struct hyb_mem *mem;

	*err = HYB_MEM_STAG;
	if (stag - REGION_STAG >= REGIONS)
		return NULL;
	mem = &regions[stag - REGION_STAG].mem;
	*err = mem->pd == pd ? hyb_mem_check(mem, stag, to, len, access) :
			       HYB_MEM_PD;
	if (*err)
		return NULL;
	mem->ref++;
	return mem;
}

enum hyb_mem_err hyb_mem_check(const struct hyb_mem *mem, u32 stag, u64 to,
			       u64 len, int access)
{
	u64 off = to - mem->va;

	if (mem->live != stag)
		return HYB_MEM_STAG;
	if (access & ~mem->access)
		return HYB_MEM_ACCESS;
	if (off > mem->len || len > mem->len - off)
		return HYB_MEM_BOUNDS;
	return HYB_MEM_OK;
}

enum hyb_mem_err hyb_mem_hold(struct hyb_mem *mem, u32 stag, u64 to, u32 len,
			      int access)
{
	enum hyb_mem_err err = hyb_mem_check(mem, stag, to, len, access);

	mem->users += !err;
	return err;
}

enum hyb_mem_err hyb_mem_hold_for(struct hyb_mem *mem, struct ib_pd *pd,
				  u32 stag, u64 to, u32 len, int access)
{
	return mem->pd == pd ? hyb_mem_hold(mem, stag, to, len, access) :
			       HYB_MEM_PD;
}

enum hyb_mem_err hyb_mem_use(struct hyb_mem *mem, u32 stag, u64 to, u32 *len,
			     int access, void **p)
{
	enum hyb_mem_err err = hyb_mem_hold(mem, stag, to, *len, access);

	if (!err)
		*p = hyb_mem_at(mem, to, len);
	return err;
}

void hyb_mem_unuse(struct hyb_mem *mem)
{
	check(mem->users > 0);
	mem->users--;
}

enum hyb_mem_err hyb_mem_invalidate(struct ib_pd *pd, u32 stag, bool remote)
{
	struct hyb_mem *mem;

	(void)pd;
	(void)remote;
	if (stag - REGION_STAG >= REGIONS)
		return HYB_MEM_STAG;
	mem = &regions[stag - REGION_STAG].mem;
	if (mem->live != stag)
		return HYB_MEM_STAG;
	/* the driver would wait for them */
	check(!mem->users);
	mem->live = 0;
	return HYB_MEM_OK;
}

void hyb_mem_free(struct hyb_mem *mem)
{
	(void)mem;
	abort();
}
