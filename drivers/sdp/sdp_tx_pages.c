// SPDX-License-Identifier: GPL-2.0
/*
 * Messages over a verbs link whose payload stays where it is: in the memory of
 * a program that wants to know when it may change it (MSG_ZEROCOPY, io_uring),
 * or in pages of a file or a pipe (sendfile, splice). Takes references, maps
 * them for the device, lets them go. Calls the verbs and the core's zero copy;
 * used by sdp_verbs_tx.c.
 *
 * An skb holds the pages, as in TCP: the same functions fill it, charge it to
 * the socket, and notify the program when it is freed. That is when the device
 * has completed the message: it does not need the memory any more, not even to
 * send it again. siw would be an exception, which completes memory that it has
 * passed to TCP; but it copies messages that ask for a completion, and all of
 * these do.
 */
#include <linux/mm.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <net/sock.h>

#include "compat.h"
#include "sdp.h"
#include "sdp_iter.h"
#include "sdp_verbs.h"

/**
 * struct sdp_ref - pages that messages send from
 * @chunk: without a page of its own; used is their payload
 * @skb: holds them
 * @nr: pieces that the device knows of
 * @piece: these, in the order of the stream; pieces that could not be mapped
 *	are missing
 */
struct sdp_ref {
	struct sdp_chunk chunk;
	struct sk_buff *skb;
	u32 nr;
	struct ib_sge piece[SDP_TX_PIECES];
};

static struct sdp_ref *sdp_ref(const struct sdp_chunk *c)
{
	return container_of(c, struct sdp_ref, chunk);
}

/**
 * sdp_ref_alloc - nothing yet, to be filled
 * @conn: connection
 *
 * Context: lock_sock.
 *
 * Return: a chunk without a reference, or NULL.
 */
struct sdp_chunk *sdp_ref_alloc(struct sdp_conn *conn)
{
	struct sock *sk = conn->sk;
	struct sdp_ref *ref;

	ref = kzalloc(sizeof(*ref), sk->sk_allocation | __GFP_ACCOUNT);
	if (!ref)
		return NULL;
	ref->skb = sock_wmalloc(sk, 0, 1, sk->sk_allocation);
	if (ref->skb)
		return &ref->chunk;
	kfree(ref);
	return NULL;
}

static void sdp_ref_unmap(struct sdp_conn *conn, struct sdp_ref *ref, u32 from)
{
	while (ref->nr > from) {
		const struct ib_sge *s = &ref->piece[--ref->nr];

		ib_dma_unmap_page(conn->dev, s->addr, s->length, DMA_TO_DEVICE);
	}
}

/**
 * sdp_ref_free - release the pages; notify a program that waits for that
 * @conn: connection it was allocated for
 * @c: chunk, no longer referenced by any message
 *
 * Context: any.
 */
void sdp_ref_free(struct sdp_conn *conn, struct sdp_chunk *c)
{
	struct sdp_ref *ref = sdp_ref(c);

	sdp_ref_unmap(conn, ref, 0);
	consume_skb(ref->skb);
	kfree(ref);
}

/* Tell the device of bytes @from and on, which have just come. */
static bool sdp_ref_map(struct sdp_conn *conn, struct sdp_ref *ref, u32 from)
{
	const struct skb_shared_info *sh = skb_shinfo(ref->skb);
	u32 i, nr = ref->nr;

	for (i = 0; i < sh->nr_frags; i++) {
		const skb_frag_t *f = &sh->frags[i];
		u32 size = skb_frag_size(f);
		struct ib_sge *s = &ref->piece[ref->nr];

		if (from >= size) {
			from -= size;
			continue;
		}
		if (ref->nr >= conn->tx_pieces)
			goto undo;
		s->length = size - from;
		s->lkey = conn->pd->local_dma_lkey;
		s->addr = ib_dma_map_page(conn->dev, skb_frag_page(f),
					  skb_frag_off(f) + from, s->length,
					  DMA_TO_DEVICE);
		if (ib_dma_mapping_error(conn->dev, s->addr))
			goto undo;
		from = 0;
		ref->nr++;
	}
	return true;
undo:
	sdp_ref_unmap(conn, ref, nr);
	return false;
}

/* Pages of slabs have no references that would keep them. */
static bool sdp_ref_bvec_ok(const struct iov_iter *iter, u32 len)
{
	size_t at = iter->bvec->bv_offset + iter->iov_offset;
	size_t i = at / PAGE_SIZE, last = (at + len - 1) / PAGE_SIZE;

	for (; i <= last; i++)
		if (!sendpage_ok(iter->bvec->bv_page + i))
			return false;
	return true;
}

/* Bytes at the front, in one piece, that so many pages hold */
static u32 sdp_ref_piece(const struct msghdr *msg, u32 pages)
{
	const struct iov_iter *iter = &msg->msg_iter;
	size_t n = iov_iter_single_seg_count(iter);
	unsigned long at = 0;

	if (iov_iter_is_bvec(iter))
		at = iter->bvec->bv_offset + iter->iov_offset;
	else if (!msg->msg_ubuf || !sdp_iter_segment(iter, &at))
		return 0;
	n = min_t(size_t, n, pages * PAGE_SIZE - offset_in_page(at));
	if (n && iov_iter_is_bvec(iter) && !sdp_ref_bvec_ok(iter, n))
		return 0;
	return n;
}

/* One piece more. Returns bytes, 0 if these have to be copied. */
static u32 sdp_ref_add(struct sdp_conn *conn, struct sdp_ref *ref,
		       struct msghdr *msg, u32 max)
{
	u32 before = ref->skb->len, n;

	n = min(sdp_ref_piece(msg, conn->tx_pieces - ref->nr), max);
	/* a registered buffer of io_uring is one piece, whatever its pages */
	if (n < SDP_TX_SPLIT_MIN &&
	    !(msg->msg_ubuf && iov_iter_is_bvec(&msg->msg_iter)))
		return 0;
	/*
	 * No task waits for a page with lock_sock: an absent page fails the
	 * copy, too, and it is tried again when the page is present
	 * (sdp_conn_fault_in()). Pages in front of an error are used.
	 */
	msg->msg_iter.nofault = true;
	__zerocopy_sg_from_iter(msg, NULL, ref->skb, &msg->msg_iter, n, NULL);
	msg->msg_iter.nofault = false;
	n = ref->skb->len - before;
	if (!n)
		return 0;
	skb_zcopy_set(ref->skb, msg->msg_ubuf, NULL);
	if (sdp_ref_map(conn, ref, before))
		return n;
	iov_iter_revert(&msg->msg_iter, n);
	return 0;
}

/**
 * sdp_ref_fill - take the memory at the front of a message
 * @conn: connection
 * @c: chunk that no message has, or whose only one does not leave meanwhile
 * @msg: where from; advances
 * @max: bytes at most
 *
 * Context: lock_sock, process that owns the memory.
 *
 * Return: bytes taken, 0 if they have to be copied.
 */
u32 sdp_ref_fill(struct sdp_conn *conn, struct sdp_chunk *c,
		 struct msghdr *msg, u32 max)
{
	struct sdp_ref *ref = sdp_ref(c);
	u32 done = 0, n;

	/* there is no memory to look at behind the end */
	max = min_t(size_t, max, msg_data_left(msg));
	while (done < max && ref->nr < conn->tx_pieces) {
		n = sdp_ref_add(conn, ref, msg, max - done);
		if (!n)
			break;
		done += n;
	}
	return done;
}

/**
 * sdp_ref_room - whether more of a send may be added
 * @conn: connection
 * @c: chunk
 * @msg: the send: one notification is all that a chunk can bring
 *
 * Context: lock_sock.
 */
bool sdp_ref_room(const struct sdp_conn *conn, const struct sdp_chunk *c,
		  const struct msghdr *msg)
{
	const struct sdp_ref *ref = sdp_ref(c);

	return ref->nr < conn->tx_pieces && skb_zcopy(ref->skb) == msg->msg_ubuf;
}

/**
 * sdp_ref_sge - where the payload of a message is
 * @m: message, or a part of one
 * @sge: filled in, SDP_TX_PIECES at most
 *
 * Context: tx_lock.
 *
 * Return: pieces.
 */
int sdp_ref_sge(const struct sdp_tx_msg *m, struct ib_sge *sge)
{
	const struct ib_sge *s = sdp_ref(m->chunk)->piece;
	u32 off = m->off, left = m->len;
	int n = 0;

	for (; left; s++) {
		if (off >= s->length) {
			off -= s->length;
			continue;
		}
		sge[n] = *s;
		sge[n].addr += off;
		sge[n].length = min(left, s->length - off);
		left -= sge[n++].length;
		off = 0;
	}
	return n;
}
