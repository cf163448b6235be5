// SPDX-License-Identifier: GPL-2.0
/*
 * Messages over a verbs link whose payload stays where it is: in the memory of
 * a program that wants to know when it may change it (MSG_ZEROCOPY, io_uring),
 * or in pages of a file or a pipe (sendfile, splice). Takes references to the
 * pages, maps them for the device, and releases them. Calls the verbs and the
 * core's zero copy; used by sdp_verbs_tx.c, sdp_verbs_txq.c and sdp_qp.c.
 *
 * An skb holds the pages, as in TCP: the same functions fill it, charge it to the
 * socket, and notify the program when it is freed. The skb is freed when the
 * device has completed the message: then the device does not need the memory any
 * more, even for retransmissions. The siw driver completes messages whose memory
 * is still in TCP's queue, but it copies the payload of messages that ask for a
 * completion. All of these do, see sdp_verbs_signal().
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
 * @chunk: the send buffer as messages see it, without a page of its own; @chunk.used
 *	counts their payload, sdp_txq_commit() sets it
 * @skb: holds the pages
 * @nr: entries of @piece
 * @piece: the payload as it is mapped for the device, in the order of the stream.
 *	@skb may hold more pages: some that could not be mapped
 *
 * Owned by lock_sock while it is filled. tx_lock protects sdp_chunk.refs; the last
 * reference frees it.
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
 * sdp_ref_alloc - make an empty chunk for sdp_ref_fill()
 * @conn: connection
 *
 * Context: lock_sock.
 *
 * Return: a chunk whose refs is 0: no message has it yet; or NULL.
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

/* Unmap the pieces from number @from on. */
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

/*
 * Map the bytes of the skb from @from on, which have just been added, for the device.
 * False if that is not possible: then none of them are, but the skb keeps their pages.
 */
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

/* Are the next @len bytes outside of slab pages, which references would not keep? */
static bool sdp_ref_bvec_ok(const struct iov_iter *iter, u32 len)
{
	size_t at = iter->bvec->bv_offset + iter->iov_offset;
	size_t i = at / PAGE_SIZE, last = (at + len - 1) / PAGE_SIZE;

	for (; i <= last; i++)
		if (!sendpage_ok(iter->bvec->bv_page + i))
			return false;
	return true;
}

/*
 * Bytes at the front of @msg that are in one piece and in no more than @pages pages; 0
 * if they may not be referenced
 */
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

/*
 * Add the @n bytes at the front of @from, which are user memory in one piece, to @skb,
 * which has no pages but those of this send.
 *
 * No task waits for a page with lock_sock, nor for the mmap lock, whose holder may wait for
 * anything. Hence only pages that are available without that lock are taken. The bytes
 * after them are copied; if they are absent, that fails as well, and is tried again when
 * they are present (sdp_conn_fault_in()).
 */
static void sdp_ref_user(struct sk_buff *skb, struct iov_iter *from, u32 n)
{
	struct bio_vec bvec[SDP_TX_PIECES];
	struct page *page[SDP_TX_PIECES];
	u32 before = skb->len, off;
	struct iov_iter iter;
	unsigned long at;
	int i, nr;

	if (!sdp_iter_segment(from, &at))
		return;
	off = offset_in_page(at);
	nr = get_user_pages_fast_only(at, DIV_ROUND_UP(off + n, PAGE_SIZE), 0,
				      page);
	if (nr <= 0)
		return;
	for (i = 0; i < nr; i++)
		bvec[i] = (struct bio_vec) {
			.bv_page = page[i],
			.bv_len = PAGE_SIZE,
		};
	n = min_t(u32, n, nr * PAGE_SIZE - off);
	iov_iter_bvec(&iter, ITER_SOURCE, bvec, nr, off + n);
	iov_iter_advance(&iter, off);
	__zerocopy_sg_from_iter(NULL, NULL, skb, &iter, n, NULL);
	iov_iter_advance(from, skb->len - before);
	/* the skb has references of its own */
	for (i = 0; i < nr; i++)
		put_page(page[i]);
}

/* Take one more piece, @max bytes at most. Returns bytes, 0 if these have to be copied. */
static u32 sdp_ref_add(struct sdp_conn *conn, struct sdp_ref *ref,
		       struct msghdr *msg, u32 max)
{
	u32 before = ref->skb->len, n;

	n = min(sdp_ref_piece(msg, conn->tx_pieces - ref->nr), max);
	/* a registered buffer of io_uring is one piece, whatever its pages */
	if (n < SDP_TX_SPLIT_MIN &&
	    !(msg->msg_ubuf && iov_iter_is_bvec(&msg->msg_iter)))
		return 0;
	if (iov_iter_is_bvec(&msg->msg_iter))
		__zerocopy_sg_from_iter(msg, NULL, ref->skb, &msg->msg_iter, n,
					NULL);
	else
		sdp_ref_user(ref->skb, &msg->msg_iter, n);
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
 * sdp_ref_fill - take references to the memory at the front of a send
 * @conn: connection
 * @c: chunk of no message yet, or of one that is marked busy, so that the engine does
 *     not send it meanwhile
 * @msg: the send; its iterator advances
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

	/* the iterator has no valid memory past its end */
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
 * sdp_ref_room - whether bytes of a send may be added to a chunk
 * @conn: connection
 * @c: chunk
 * @msg: the send
 *
 * Only if the chunk has bytes of the same notification (msg_ubuf): an skb notifies one.
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
 * sdp_ref_sge - where the payload of a message is, for the device
 * @m: message, or a part of one; it has a reference to its chunk
 * @sge: filled in, SDP_TX_PIECES at most
 *
 * Context: tx_lock.
 *
 * Return: entries of @sge filled in.
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
