// SPDX-License-Identifier: GPL-2.0
/*
 * ulp_load.ko: buffers and regions of requests. See load.h.
 */
#include <linux/gfp.h>
#include <linux/mm.h>

#include "load.h"

static int ul_map_region(struct ul_bufs *b, struct ul_buf *buf, u32 size)
{
	struct scatterlist sg;

	sg_init_one(&sg, buf->mem, size);
	ib_dma_map_sg(b->e->id->device, &sg, 1, DMA_BIDIRECTIONAL);
	return ib_map_mr_sg(buf->mr, &sg, 1, NULL, PAGE_SIZE) == 1 ? 0 : -EINVAL;
}

static void ul_fill_reg(struct ib_reg_wr *wr, struct ib_mr *mr)
{
	*wr = (struct ib_reg_wr) {
		.wr.opcode = IB_WR_REG_MR,
		.mr = mr,
		.key = mr->rkey,
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |
			  IB_ACCESS_REMOTE_READ,
	};
}

static int ul_buf_reg(struct ul_bufs *b, struct ul_buf *buf, u32 size)
{
	struct ul_end *e = b->e;
	struct ib_reg_wr wr;
	struct ul_wait w;
	struct ib_mr *mr;
	int err;

	mr = ib_alloc_mr(e->side->pd, IB_MR_TYPE_MEM_REG, UL_BUF / PAGE_SIZE);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	buf->mr = mr;
	err = ul_map_region(b, buf, size);
	ul_wait_init(&w);
	ul_fill_reg(&wr, mr);
	wr.wr.wr_cqe = &w.cqe;
	wr.wr.send_flags = IB_SEND_SIGNALED;
	err = err ?: ib_post_send(e->id->qp, &wr.wr, NULL);
	if (err)
		return err;
	err = ul_wait(&w);
	/* the request refers to the stack */
	if (err)
		ib_drain_qp(e->id->qp);
	return err;
}

static int ul_buf_make(struct ul_bufs *b, struct ul_buf *buf, u32 size)
{
	struct ul_side *s = b->e->side;

	*buf = (struct ul_buf) { .mem = s->buf, .dma = s->dma };
	if (!(b->flags & UL_OWN))
		return 0;
	buf->mem = (void *)__get_free_pages(GFP_KERNEL | __GFP_ZERO | __GFP_COMP,
					    get_order(size));
	if (!buf->mem)
		return -ENOMEM;
	buf->dma = ib_dma_map_single(b->e->id->device, buf->mem, size,
				     DMA_BIDIRECTIONAL);
	return 0;
}

/**
 * ul_bufs_make() - buffers of one end
 * @b: filled in; ul_bufs_free() has to follow, whatever is returned
 * @e: the end
 * @n: how many
 * @size: bytes of each
 * @flags: UL_REGION: each is a region; UL_OWN: not the memory of the end
 *
 * Return: 0 or a negative errno.
 */
int ul_bufs_make(struct ul_bufs *b, struct ul_end *e, u32 n, u32 size,
		 unsigned int flags)
{
	int err = 0;

	b->e = e;
	b->size = PAGE_ALIGN(size);
	b->flags = flags;
	for (b->n = 0; b->n < n && !err; b->n++) {
		struct ul_buf *buf = &b->buf[b->n];

		err = ul_buf_make(b, buf, b->size);
		if (!err && flags & UL_REGION)
			err = ul_buf_reg(b, buf, b->size);
	}
	return err;
}

/**
 * ul_bufs_free() - give buffers back
 * @b: buffers, no request of which is under way
 */
void ul_bufs_free(struct ul_bufs *b)
{
	u32 i;

	for (i = 0; i < b->n; i++) {
		struct ul_buf *buf = &b->buf[i];

		if (buf->mr)
			ib_dereg_mr(buf->mr);
		if (!(b->flags & UL_OWN) || !buf->mem)
			continue;
		ib_dma_unmap_single(b->e->id->device, buf->dma, b->size,
				    DMA_BIDIRECTIONAL);
		free_pages((unsigned long)buf->mem, get_order(b->size));
	}
	b->n = 0;
}

/**
 * ul_bufs_next() - the buffer of the next request
 * @b: buffers
 *
 * Return: the buffer.
 */
struct ul_buf *ul_bufs_next(struct ul_bufs *b)
{
	struct ul_buf *buf = &b->buf[b->next];

	b->next = b->next + 1 < b->n ? b->next + 1 : 0;
	return buf;
}

/**
 * ul_buf_renew() - requests for a new region of a buffer
 * @b: buffers
 * @buf: one of them
 * @inv: filled in: the old region is no more
 * @reg: filled in, after @inv: there is a new one
 *
 * Return: 0 or a negative errno.
 */
int ul_buf_renew(struct ul_bufs *b, struct ul_buf *buf, struct ib_send_wr *inv,
		 struct ib_reg_wr *reg)
{
	*inv = (struct ib_send_wr) {
		.next = &reg->wr,
		.opcode = IB_WR_LOCAL_INV,
		.ex.invalidate_rkey = buf->mr->rkey,
	};
	ib_update_fast_reg_key(buf->mr, ib_inc_rkey(buf->mr->rkey));
	ul_fill_reg(reg, buf->mr);
	return ul_map_region(b, buf, b->size);
}
