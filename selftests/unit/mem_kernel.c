// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The kernel beneath test_mem.c, see mem_kernel.h. */
#include <stdlib.h>

#include "mem_kernel.h"

struct env env;

void cpu_relax(void)
{
	env.relaxed++;
	if (!env.relax)
		abort(); /* nothing would end it */
	env.relax();
}

void *kcalloc(size_t n, size_t size, gfp_t gfp)
{
	(void)gfp;
	if (env.fail && !--env.fail)
		return NULL;
	env.objects++;
	return calloc(n, size);
}

void kfree(const void *p)
{
	env.objects -= !!p;
	free((void *)p);
}

/* ---- arrays ---- */

int xa_insert(struct xarray *xa, unsigned long index, void *entry, gfp_t gfp)
{
	u32 i, at = 0;

	(void)gfp;
	for (i = 0; i < 8; i++) {
		if (xa->slot[i].entry && xa->slot[i].index == index)
			return -EBUSY;
		if (!xa->slot[i].entry)
			at = i;
	}
	if (env.fail && !--env.fail)
		return -ENOMEM;
	xa->slot[at].index = index;
	xa->slot[at].entry = entry;
	return 0;
}

void *xa_load(struct xarray *xa, unsigned long index)
{
	u32 i;

	if (!env.rcu)
		abort();
	for (i = 0; i < 8; i++)
		if (xa->slot[i].entry && xa->slot[i].index == index)
			return xa->slot[i].entry;
	return NULL;
}

void xa_erase(struct xarray *xa, unsigned long index)
{
	u32 i;

	for (i = 0; i < 8; i++)
		if (xa->slot[i].index == index)
			xa->slot[i].entry = NULL;
}

u32 get_random_u32(void)
{
	u32 n = env.random[0];

	if (env.random[1])
		env.random++;
	return n;
}

/* ---- user memory ---- */

int ib_copy_from_udata(void *to, struct ib_udata *udata, size_t len)
{
	if (env.fault_in)
		return -EFAULT;
	memcpy(to, udata->in, len);
	return 0;
}

int ib_copy_to_udata(struct ib_udata *udata, const void *from, size_t len)
{
	if (env.fault_out)
		return -EFAULT;
	memcpy(udata->out, from, len);
	return 0;
}

struct ib_umem *ib_umem_get_va(struct ib_device *dev, u64 start, u64 len,
			       int access)
{
	struct ib_umem *umem;

	(void)dev;
	(void)start;
	(void)len;
	if (env.umem_fail)
		return ERR_PTR(env.umem_fail);
	umem = calloc(1, sizeof(*umem));
	umem->sgt_append.sgt = env.umem;
	umem->offset = env.umem_offset;
	umem->writable = env.writable && ib_access_writable(access);
	env.umems++;
	return umem;
}

void ib_umem_release(struct ib_umem *umem)
{
	env.umems -= !!umem;
	free(umem);
}

size_t ib_umem_num_pages(struct ib_umem *umem)
{
	return umem->sgt_append.sgt.nr;
}

/* Each entry is in whole pages, after @offset into the first */
int ib_sg_to_pages(struct ib_mr *mr, struct scatterlist *sg, int nents,
		   unsigned int *offset, int (*set)(struct ib_mr *mr, u64 addr))
{
	u64 mask = mr->page_size - 1, p, end;
	int i;

	mr->length = 0;
	for (i = 0; i < nents; i++) {
		p = (u64)sg[i].addr + *offset;
		end = (u64)sg[i].addr + sg[i].len;
		*offset = 0;
		if (!i)
			mr->iova = p;
		mr->length += end - p;
		for (p &= ~mask; p < end; p += mr->page_size)
			if (set(mr, p) < 0)
				return i;
	}
	return i;
}

/* ---- netlink ---- */

struct nlattr *nla_nest_start(struct sk_buff *msg, int type)
{
	(void)msg;
	(void)type;
	if (!env.nl_room)
		return NULL;
	env.nl_room--;
	env.nl_open++;
	return (struct nlattr *)&env;
}

void nla_nest_end(struct sk_buff *msg, struct nlattr *table)
{
	(void)msg;
	env.nl_open -= !!table;
}

void nla_nest_cancel(struct sk_buff *msg, struct nlattr *table)
{
	nla_nest_end(msg, table);
	env.nl_nr = 0;
}

int rdma_nl_put_driver_u32(struct sk_buff *msg, const char *name, u32 value)
{
	(void)msg;
	if (!env.nl_room)
		return -EMSGSIZE;
	env.nl_room--;
	env.nl_name[env.nl_nr] = name;
	env.nl_value[env.nl_nr++] = value;
	return 0;
}
