/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Payload by reference: pieces of the outgoing stream that lie elsewhere than
 * in the stream's own pages, where their places stay empty. For NICs that
 * gather headers, payload and markers (IWARP_OFFLOAD_TX_SG), and for TCP where
 * the host finishes the FPDU and does not copy.
 *
 * All of it is protected by the spinlock of the TCP socket.
 */
#ifndef HYB_SG_H
#define HYB_SG_H

#include <linux/types.h>

#include "hyb_types.h"

struct hyb_off;
struct hyb_qp;
struct page;

#ifdef CONFIG_RDMA_IWARP_HYBRID_RESEARCH
bool hyb_sg_begin(struct hyb_sg *sg, struct hyb_off *off);
bool hyb_sg_begin_host(struct hyb_sg *sg);
void hyb_sg_drop(struct hyb_sg *sg);
bool hyb_sg_add(struct hyb_sg *sg, u64 pos, const void *p, u32 len);
void hyb_sg_record(struct hyb_qp *qp, struct hyb_sg *sg, u64 pos,
		   struct page *page, u32 off, u32 len);
u32 hyb_sg_crc(const struct hyb_sg *sg, bool kernel, u64 pos, const u8 *start,
	       u32 len);
void hyb_sg_keep(struct hyb_sg *sg);
void hyb_sg_find(struct hyb_sg *sg, u64 pos, struct page **page, u32 *off,
		 u32 *len);
bool hyb_sg_given(struct hyb_sg *sg, u64 pos);
void hyb_sg_trim(struct hyb_sg *sg);
u32 hyb_sg_memory(const struct hyb_sg *sg);
void hyb_sg_free(struct hyb_sg *sg);
#else
/* No payload is given by reference: hyb_sg_any() is false. */
static inline bool hyb_sg_begin(struct hyb_sg *sg, struct hyb_off *off)
{
	return false;
}

static inline bool hyb_sg_begin_host(struct hyb_sg *sg)
{
	return false;
}

static inline bool hyb_sg_add(struct hyb_sg *sg, u64 pos, const void *p, u32 len)
{
	return false;
}

static inline void hyb_sg_record(struct hyb_qp *qp, struct hyb_sg *sg, u64 pos,
				 struct page *page, u32 off, u32 len)
{
}

static inline u32 hyb_sg_crc(const struct hyb_sg *sg, bool kernel, u64 pos,
			     const u8 *start, u32 len)
{
	return 0;
}

static inline void hyb_sg_find(struct hyb_sg *sg, u64 pos, struct page **page,
			       u32 *off, u32 *len)
{
}

static inline bool hyb_sg_given(struct hyb_sg *sg, u64 pos)
{
	return false;
}

static inline u32 hyb_sg_memory(const struct hyb_sg *sg)
{
	return 0;
}

static inline void hyb_sg_drop(struct hyb_sg *sg) { }
static inline void hyb_sg_keep(struct hyb_sg *sg) { }
static inline void hyb_sg_trim(struct hyb_sg *sg) { }
static inline void hyb_sg_free(struct hyb_sg *sg) { }
#endif

#endif
