// SPDX-License-Identifier: GPL-2.0
/*
 * Payload by reference. See hyb_sg.h. Calls hyb_off_conn.c.
 */
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/slab.h>

#include "hyb_offload.h"
#include "hyb_sg.h"
#include "hybrid.h"
#include "iwarp/crc.h"

static struct hyb_sg_piece *hyb_sg_at(const struct hyb_sg *sg, u32 i)
{
	return &sg->ring[i & (HYB_SG_PIECES - 1)];
}

/* Drop the pieces from @put on, which belong to the FPDU being laid out */
static void hyb_sg_cut(struct hyb_sg *sg, u32 put)
{
	while (sg->put != put)
		put_page(hyb_sg_at(sg, --sg->put)->page);
}

/* Drop all pieces of the FPDU being laid out */
void hyb_sg_drop(struct hyb_sg *sg)
{
	hyb_sg_cut(sg, sg->begin);
}

static bool hyb_sg_room(struct hyb_sg *sg)
{
	if (!sg->ring)
		sg->ring = kmalloc_array(HYB_SG_PIECES, sizeof(*sg->ring),
					 GFP_ATOMIC | __GFP_NOWARN);
	return sg->ring && sg->put - sg->get + sg->max <= HYB_SG_PIECES;
}

/**
 * hyb_sg_begin - may payload of the next FPDU be given by reference to a NIC?
 * @sg: pieces
 * @off: offload state of the queue pair, may be NULL
 *
 * Return: true if so: there is room for as many pieces as an FPDU has, and for its
 * record.
 */
bool hyb_sg_begin(struct hyb_sg *sg, struct hyb_off *off)
{
	hyb_sg_drop(sg);
	if (!hyb_off_tx_sg(off))
		return false;
	sg->max = off->max_pieces;
	sg->nic = true;
	return hyb_sg_room(sg);
}

/**
 * hyb_sg_begin_host - the same for an FPDU that the host finishes
 * @sg: pieces
 */
bool hyb_sg_begin_host(struct hyb_sg *sg)
{
	hyb_sg_drop(sg);
	sg->max = HYB_SG_HOST;
	sg->nic = false;
	return hyb_sg_room(sg);
}

/*
 * Page of an address; NULL for those that have none, such as those of modules. At
 * *@off in it there are *@len bytes, or less than were asked for.
 */
static struct page *hyb_sg_page(const void *p, u32 *off, u32 *len)
{
	struct page *page, *head;

	*off = offset_in_page(p);
	if (is_vmalloc_addr(p)) {
		page = vmalloc_to_page(p);
		*len = min_t(u32, *len, PAGE_SIZE - *off);
		return page;
	}
	if (!virt_addr_valid(p))
		return NULL;
	page = virt_to_page(p);
	head = compound_head(page);
	/* not by address: pages of the kernel image have a second address */
	*off += (page_to_pfn(page) - page_to_pfn(head)) << PAGE_SHIFT;
	*len = min_t(u32, *len, page_size(head) - *off);
	return head;
}

/**
 * hyb_sg_add - take bytes of the FPDU being laid out by reference
 * @sg: pieces; hyb_sg_begin() or hyb_sg_begin_host() returned true for this FPDU
 * @pos: position of the first byte
 * @p: kernel address of memory that does not change until it is acknowledged
 * @len: bytes, not 0
 *
 * Return: false if they have to be copied to their place, all of them: TCP does
 * not take such memory by reference, or these are too many pieces.
 */
bool hyb_sg_add(struct hyb_sg *sg, u64 pos, const void *p, u32 len)
{
	struct hyb_sg_piece *piece;
	u32 put = sg->put;
	struct page *page;
	u32 off, n;

	/* a piece in the stream's page may follow each of them, and precedes the first */
	n = (offset_in_page(p) + len - 1) / PAGE_SIZE + 1;
	if (2 * (sg->put - sg->begin + n) + 1 > sg->max)
		return false;
	for (; len; len -= n, pos += n, p += n) {
		n = len;
		page = hyb_sg_page(p, &off, &n);
		if (!page || !sendpage_ok(page)) {
			hyb_sg_cut(sg, put);
			return false;
		}
		get_page(page);
		piece = hyb_sg_at(sg, sg->put++);
		piece->pos = pos;
		piece->page = page;
		piece->off = off;
		piece->len = n;
		piece->held = false;
	}
	return true;
}

/**
 * hyb_sg_record - record the FPDU that was laid out
 * @qp: queue pair
 * @sg: pieces, with hyb_sg_any()
 * @pos: position of the FPDU
 * @page: page of the stream
 * @off: where the FPDU is in it
 * @len: bytes, CRC included
 */
void hyb_sg_record(struct hyb_qp *qp, struct hyb_sg *sg, u64 pos,
		   struct page *page, u32 off, u32 len)
{
	struct hyb_off_piece list[HYB_OFF_PIECES];
	struct hyb_sg_piece *piece;
	unsigned int nr = 0;
	u32 x = 0, to, i;

	for (i = sg->begin; ; i++) {
		piece = hyb_sg_at(sg, i);
		to = i == sg->put ? len : (u32)(piece->pos - pos);
		if (to > x) {
			list[nr].page = page;
			list[nr].off = off + x;
			list[nr++].len = to - x;
		}
		if (i == sg->put)
			break;
		list[nr].page = piece->page;
		list[nr].off = piece->off;
		list[nr++].len = piece->len;
		x = to + piece->len;
		piece->end = pos + len;
	}
	hyb_off_record(qp, pos, IWARP_LAYOUT_FINAL, list, nr);
	for (; sg->begin != sg->put; sg->begin++)
		put_page(hyb_sg_at(sg, sg->begin)->page);
}

/**
 * hyb_sg_crc - checksum of the FPDU that was laid out
 * @sg: pieces, with hyb_sg_any()
 * @kernel: by the kernel's code
 * @pos: position of the FPDU
 * @start: where it is in the page of the stream
 * @len: bytes, without the CRC
 *
 * Memory that its owner changes before it is acknowledged ends the connection:
 * the peer finds a bad CRC.
 */
u32 hyb_sg_crc(const struct hyb_sg *sg, bool kernel, u64 pos, const u8 *start,
	       u32 len)
{
	const struct hyb_sg_piece *piece;
	u32 crc = ~0, x = 0, to, i;

	for (i = sg->begin; i != sg->put; i++) {
		piece = hyb_sg_at(sg, i);
		to = piece->pos - pos;
		crc = iwarp_crc32c_by(kernel, crc, start + x, to - x);
		crc = iwarp_crc32c_by(kernel, crc, page_address(piece->page) +
				      piece->off, piece->len);
		x = to + piece->len;
	}
	return iwarp_crc32c_by(kernel, crc, start + x, len - x);
}

/**
 * hyb_sg_keep - the FPDU that was laid out gets no record
 * @sg: pieces
 */
void hyb_sg_keep(struct hyb_sg *sg)
{
	struct hyb_sg_piece *piece;

	for (; sg->begin != sg->put; sg->begin++) {
		piece = hyb_sg_at(sg, sg->begin);
		piece->end = 0;
		piece->held = true;
	}
}

/* TCP has taken the oldest piece, or never will */
static void hyb_sg_pop(struct hyb_sg *sg)
{
	const struct hyb_sg_piece *piece = hyb_sg_at(sg, sg->get++);

	if (piece->held)
		put_page(piece->page);
}

/**
 * hyb_sg_find - where the next bytes of the stream are
 * @sg: pieces
 * @pos: position after what TCP has taken
 * @page: in: page of the stream; out: where they are
 * @off: in and out: offset in @page
 * @len: in: bytes wanted; out: how many are contiguous
 */
void hyb_sg_find(struct hyb_sg *sg, u64 pos, struct page **page, u32 *off,
		 u32 *len)
{
	const struct hyb_sg_piece *piece;
	u32 skip;

	/* the rest of an FPDU in the page of the stream */
	if (sg->fpdu)
		*len = min_t(u64, *len, sg->fpdu - pos);
	if (sg->get == sg->put)
		return;
	piece = hyb_sg_at(sg, sg->get);
	if (pos < piece->pos) {
		*len = min_t(u64, *len, piece->pos - pos);
		return;
	}
	skip = pos - piece->pos;
	sg->fpdu = piece->end;
	*page = piece->page;
	*off = piece->off + skip;
	*len = min_t(u32, *len, piece->len - skip);
}

/**
 * hyb_sg_given - TCP has taken what hyb_sg_find() found, or a part of it
 * @sg: pieces
 * @pos: position after it
 *
 * Return: an FPDU with pieces ends here. TCP should begin a new packet, which
 * has room for the fragments of another one.
 */
bool hyb_sg_given(struct hyb_sg *sg, u64 pos)
{
	const struct hyb_sg_piece *piece;

	while (sg->get != sg->put) {
		piece = hyb_sg_at(sg, sg->get);
		if (pos < piece->pos + piece->len)
			break;
		hyb_sg_pop(sg);
	}
	if (!sg->fpdu || pos < sg->fpdu)
		return false;
	sg->fpdu = 0;
	return true;
}

/* No FPDU is being laid out, TCP has all: the ring is not needed for now */
void hyb_sg_trim(struct hyb_sg *sg)
{
	if (sg->get != sg->put || sg->begin != sg->put)
		return;
	kfree(sg->ring);
	sg->ring = NULL;
}

/* Bytes of the ring */
u32 hyb_sg_memory(const struct hyb_sg *sg)
{
	return sg->ring ? kmalloc_size_roundup(HYB_SG_PIECES *
					       sizeof(*sg->ring)) : 0;
}

/* The engine has stopped for good */
void hyb_sg_free(struct hyb_sg *sg)
{
	hyb_sg_drop(sg);
	while (sg->get != sg->put)
		hyb_sg_pop(sg);
	kfree(sg->ring);
	memset(sg, 0, sizeof(*sg));
}
