// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory of the drivers' files in user space, counted. See kernel_base.h.
 */
#include "kernel_base.h"

struct memory memory;
bool general;

void check(bool ok)
{
	if (!ok)
		abort();
}

struct page *alloc_pages(gfp_t gfp, int order)
{
	struct page *page;

	(void)gfp;
	if (order > memory.order_max)
		return NULL;
	page = malloc(sizeof(*page));
	check(page);
	page->refs = 1;
	page->size = PAGE_SIZE << order;
	page->mem = malloc(page->size);
	check(page->mem);
	memset(page->mem, 0xa5, page->size);
	memory.pages++;
	return page;
}

void put_page(struct page *page)
{
	check(page->refs > 0);
	if (--page->refs)
		return;
	free(page->mem);
	free(page);
	memory.pages--;
}

void *kcalloc(size_t n, size_t size, gfp_t gfp)
{
	void *p;

	(void)gfp;
	if (memory.no_objects)
		return NULL;
	p = calloc(n, size);
	check(p);
	memory.objects++;
	return p;
}

void kfree(const void *p)
{
	if (!p)
		return;
	free((void *)(uintptr_t)p);
	memory.objects--;
}
