// SPDX-License-Identifier: GPL-2.0
/*
 * NIC offload: tagged buffers that a NIC may place payload in. See
 * hyb_offload.h.
 *
 * A NIC knows the sinks of Reads while these are outstanding, and regions that
 * the peer may write to: those registered by a work request from then on, others
 * from the first Write that comes for them. A buffer is removed before the invalidation of its
 * STag returns, its Read completes or the receive engine stops. The NIC writes nothing there
 * afterwards.
 *
 * The engine does not rely on placement. It checks all payload, and copies it unless the packet
 * refers to the memory of the destination.
 *
 * Locks: a region and a connection both have a list of their buffers, under
 * hyb_dev.place_lock, within which the driver is called. Buffers are added with
 * the TCP socket held, too.
 *
 * Calls hyb_mem.c and hyb_off_rec.c.
 */
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/slab.h>

#include "hyb_mem.h"
#include "hyb_off_priv.h"
#include "hybrid.h"

#if IS_ENABLED(CONFIG_SOCK_VALIDATE_XMIT)

/**
 * struct hyb_off_buf - a buffer that a NIC knows
 * @nic: the driver's view
 * @o: connection
 * @of_conn: entry of its list, the oldest first
 * @of_mem: entry of the list of the region
 */
struct hyb_off_buf {
	struct iwarp_offload_buf nic;
	struct hyb_off_conn *o;
	struct list_head of_conn;
	struct list_head of_mem;
};

/* Can all of this memory be part of a packet? */
static bool hyb_off_ordinary(const void *p, u32 len)
{
	const void *end = p + len;

	for (; p < end; p += PAGE_SIZE)
		if (is_vmalloc_addr(p) || !virt_addr_valid(p) ||
		    !sendpage_ok(virt_to_page(p)))
			return false;
	return true;
}

/*
 * May a NIC place payload in it? Memory of users always allows that; for memory of the
 * kernel it is found out once per registration.
 */
static bool hyb_off_placeable(struct hyb_mem *mem)
{
	u32 i;

	if (mem->dma)
		return false;
	if (mem->umem || mem->placeable)
		return true;
	for (i = 0; i < mem->npages; i++)
		if (!hyb_off_ordinary(mem->page[i], 1U << mem->shift))
			return false;
	mem->placeable = true;
	return true;
}

/* The bytes [@to, @to + @len) of a region; all of it if @len is 0 */
static void hyb_off_describe(struct iwarp_offload_buf *buf,
			     const struct hyb_mem *mem, u64 to, u64 len)
{
	u64 off = len ? to - mem->va + mem->offset : mem->offset;

	buf->page = mem->page + (off >> mem->shift);
	buf->off = off & ((1ULL << mem->shift) - 1);
	buf->shift = mem->shift;
	buf->to = len ? to : mem->va;
	buf->len = len ? len : mem->len;
}

static void hyb_off_unplace(struct hyb_off_buf *b)
{
	struct hyb_off_conn *o = b->o;

	lockdep_assert_held(&o->dev->place_lock);
	o->ops->place_del(&o->nic, &b->nic);
	list_del(&b->of_conn);
	list_del(&b->of_mem);
	kfree(b);
	/* last access to @o: at 0, hyb_off_place_end() takes no lock */
	smp_store_release(&o->nbufs, o->nbufs - 1);
}

/*
 * Is the STag still valid, for a region in which these bytes may be written? This
 * may be another registration than the one that was looked up, see
 * hyb_mem_begin().
 */
static bool hyb_off_open(const struct hyb_off_buf *b, const struct hyb_mem *mem,
			 u64 to, u64 len)
{
	int access = b->nic.what == IWARP_PLACE_WRITE ? IB_ACCESS_REMOTE_WRITE :
							IB_ACCESS_LOCAL_WRITE;

	return !hyb_mem_check(mem, b->nic.stag, len ? to : mem->va, len, access);
}

/* Add the buffer at the NIC if the STag is valid. Context: hyb_dev.place_lock held. */
static bool hyb_off_add_buf(struct hyb_off_buf *b, struct hyb_mem *mem, u64 to,
			    u64 len)
{
	struct hyb_off_conn *o = b->o;

	lockdep_assert_held(&mem->dev->place_lock);
	list_add_tail(&b->of_mem, &mem->bufs);
	smp_mb();	/* pairs with the one in hyb_mem_wait_users() */
	if (hyb_off_open(b, mem, to, len) && hyb_off_placeable(mem)) {
		hyb_off_describe(&b->nic, mem, to, len);
		if (!o->ops->place_add(&o->nic, &b->nic)) {
			list_add_tail(&b->of_conn, &o->bufs);
			o->nbufs++;
			return true;
		}
	}
	list_del(&b->of_mem);
	return false;
}

static void hyb_off_add(struct hyb_off_conn *o, struct hyb_mem *mem, u32 stag,
			u64 to, u64 len, enum iwarp_place what)
{
	struct hyb_off_buf *b = NULL;
	bool added = false;

	if (o->nbufs < o->max_bufs)
		b = kmalloc(sizeof(*b), GFP_ATOMIC | __GFP_NOWARN);
	if (b) {
		b->o = o;
		b->nic.stag = stag;
		b->nic.what = what;
		spin_lock_bh(&mem->dev->place_lock);
		added = hyb_off_add_buf(b, mem, to, len);
		spin_unlock_bh(&mem->dev->place_lock);
	}
	if (!added)
		kfree(b);
	hyb_off_count(o, added ? HYB_ST_OFF_BUFS : HYB_ST_OFF_NO_BUF, 1);
}

/**
 * hyb_off_place - the NIC may place into this buffer
 * @qp: queue pair
 * @mem: region, referenced
 * @stag: STag, which is or was valid
 * @to: first byte
 * @len: bytes, within the region; 0 for all of it
 * @what: enum iwarp_place
 *
 * It may do so until the region is revoked or hyb_off_stop() is called; into the sink of a Read
 * until hyb_off_read_done().
 *
 * Context: TCP socket held.
 */
void hyb_off_place(struct hyb_qp *qp, struct hyb_mem *mem, u32 stag, u64 to,
		   u64 len, enum iwarp_place what)
{
	if (hyb_off_places(qp->off))
		hyb_off_add(container_of(qp->off, struct hyb_off_conn, pub),
			    mem, stag, to, len, what);
}

/**
 * hyb_off_read_done - the oldest Read is about to complete
 * @qp: queue pair
 * @mem: region of its sink, or NULL
 *
 * On return nothing is written there any more. Reads complete in order. If this
 * one has no buffer, the oldest may be that of a later Read with the same region: it is removed,
 * and the NIC does not place payload of that Read.
 *
 * Context: TCP socket held.
 */
void hyb_off_read_done(struct hyb_qp *qp, struct hyb_mem *mem)
{
	struct hyb_off_conn *o;
	struct hyb_off_buf *b;

	if (!mem || !hyb_off_places(qp->off))
		return;
	o = container_of(qp->off, struct hyb_off_conn, pub);
	spin_lock_bh(&mem->dev->place_lock);
	list_for_each_entry(b, &mem->bufs, of_mem) {
		if (b->o == o && b->nic.what == IWARP_PLACE_READ) {
			hyb_off_unplace(b);
			break;
		}
	}
	spin_unlock_bh(&mem->dev->place_lock);
}

static void hyb_off_opened(struct hyb_qp *qp, struct hyb_mem *mem, u32 stag)
{
	if (hyb_qp_grants(qp, IB_ACCESS_REMOTE_WRITE))
		hyb_off_place(qp, mem, stag, 0, 0, IWARP_PLACE_WRITE);
}

static void hyb_off_revoke(struct hyb_mem *mem)
{
	struct hyb_off_buf *b, *next;

	spin_lock_bh(&mem->dev->place_lock);
	list_for_each_entry_safe(b, next, &mem->bufs, of_mem)
		hyb_off_unplace(b);
	spin_unlock_bh(&mem->dev->place_lock);
}

static const struct hyb_mem_watch hyb_off_mem_watch = {
	.opened = hyb_off_opened,
	.revoke = hyb_off_revoke,
};

void __init hyb_off_place_init(void)
{
	hyb_mem_set_watch(&hyb_off_mem_watch);
}

/**
 * hyb_off_place_end - the NIC forgets all buffers of a connection
 * @o: connection
 *
 * Context: TCP socket held, or owned by the caller, or without users.
 */
void hyb_off_place_end(struct hyb_off_conn *o)
{
	struct hyb_off_buf *b, *next;

	o->pub.place = false;
	/* without buffers @o->dev may be gone; pairs with hyb_off_unplace() */
	if (!smp_load_acquire(&o->nbufs))
		return;
	spin_lock_bh(&o->dev->place_lock);
	list_for_each_entry_safe(b, next, &o->bufs, of_conn)
		hyb_off_unplace(b);
	spin_unlock_bh(&o->dev->place_lock);
}

/**
 * hyb_off_place_stop - see hyb_off_stop()
 * @off: connection
 */
void hyb_off_place_stop(struct hyb_off *off)
{
	hyb_off_place_end(container_of(off, struct hyb_off_conn, pub));
}

/**
 * hyb_off_no_writes - the NIC forgets the buffers that the peer might write to
 * @qp: queue pair
 *
 * A task may own the socket meanwhile, and detach the connection from its device.
 *
 * Context: TCP socket held; @qp grants no Writes any more.
 */
void hyb_off_no_writes(struct hyb_qp *qp)
{
	struct hyb_off_buf *b, *next;
	struct hyb_off_conn *o;

	if (!qp->off)
		return;
	o = container_of(qp->off, struct hyb_off_conn, pub);
	/*
	 * Not by @o->dev, which goes at any time when there is no buffer. Buffers remain for
	 * a moment when placing has ended.
	 */
	spin_lock_bh(&qp->dev->place_lock);
	list_for_each_entry_safe(b, next, &o->bufs, of_conn)
		if (b->nic.what == IWARP_PLACE_WRITE)
			hyb_off_unplace(b);
	spin_unlock_bh(&qp->dev->place_lock);
}

/**
 * hyb_off_came - see hyb_off_passed()
 * @off: connection
 * @seq: sequence number
 */
void hyb_off_came(struct hyb_off *off, u32 seq)
{
	struct hyb_off_conn *o = container_of(off, struct hyb_off_conn, pub);

	o->ops->rx_passed(&o->nic, seq);
}

#endif
