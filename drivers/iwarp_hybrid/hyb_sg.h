/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Payload by reference: pieces of the outgoing stream that lie elsewhere than
 * in the stream's own pages, where their places stay empty. For NICs that
 * gather headers, payload and markers (IWARP_OFFLOAD_TX_SG), and for TCP where
 * the host finishes the FPDU and does not copy.
 *
 * Used by hyb_tx and hyb_shared; calls hyb_offload. All of it is protected by
 * the spinlock of the TCP socket.
 */
#ifndef HYB_SG_H
#define HYB_SG_H

#include <linux/types.h>

struct hyb_off;
struct hyb_qp;
struct page;

/* Pieces that wait to be handed over, at most; a power of two */
#define HYB_SG_PIECES	1024

/* Pieces of an FPDU that the host finishes; TCP has to gather them, nobody else */
#define HYB_SG_HOST	33

/* Markers in an FPDU: what TCP can put into one packet, payload by reference */
#define HYB_SG_MARKS	6

/**
 * struct hyb_sg_piece - octets of the stream that lie elsewhere
 * @pos: position of the first of them
 * @end: position behind the FPDU, once that is complete; 0 if a packet may have
 *	 others behind it
 * @page: where they are; referenced until the FPDU is recorded, then the record
 *	  has a reference
 * @off: offset in @page
 * @len: octets
 * @held: nobody records it, the reference is ours until TCP has its own
 */
struct hyb_sg_piece {
	u64 pos;
	u64 end;
	struct page *page;
	u32 off;
	u32 len : 31;
	u32 held : 1;
};

/**
 * struct hyb_sg - pieces between layout and hand-over
 * @ring: HYB_SG_PIECES, from the first use on
 * @get: oldest that TCP has not taken
 * @begin: first of the FPDU being laid out
 * @put: next free
 * @max: pieces that this FPDU may have, those in the stream's page included
 * @fpdu: position behind the FPDU that TCP is getting pieces of, or 0
 * @nic: a NIC finishes the FPDU being laid out
 */
struct hyb_sg {
	struct hyb_sg_piece *ring;
	u64 fpdu;
	u32 get;
	u32 begin;
	u32 put;
	u32 max;
	bool nic;
};

/* Is payload of the FPDU being laid out elsewhere? */
static inline bool hyb_sg_any(const struct hyb_sg *sg)
{
	return sg->begin != sg->put;
}

bool hyb_sg_begin(struct hyb_sg *sg, struct hyb_off *off);
bool hyb_sg_begin_host(struct hyb_sg *sg);
void hyb_sg_drop(struct hyb_sg *sg);
bool hyb_sg_add(struct hyb_sg *sg, u64 pos, const void *p, u32 len);
void hyb_sg_record(struct hyb_qp *qp, struct hyb_sg *sg, u64 pos,
		   struct page *page, u32 off, u32 len);
u32 hyb_sg_crc(const struct hyb_sg *sg, u64 pos, const u8 *start, u32 len);
void hyb_sg_keep(struct hyb_sg *sg);
void hyb_sg_find(struct hyb_sg *sg, u64 pos, struct page **page, u32 *off,
		 u32 *len);
bool hyb_sg_given(struct hyb_sg *sg, u64 pos);
void hyb_sg_trim(struct hyb_sg *sg);
u32 hyb_sg_memory(const struct hyb_sg *sg);
void hyb_sg_free(struct hyb_sg *sg);

#endif
