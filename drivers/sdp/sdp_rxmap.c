// SPDX-License-Identifier: GPL-2.0
/*
 * SDP_ZEROCOPY_RECEIVE: received pages are mapped to the program, in a mapping of
 * the socket, instead of being copied. Called by the system calls (af_sdp.c,
 * sdp_sockopt.c); calls sdp_rx.c to copy the rest, the receive queue, sdp_qp.c for
 * the number of buffers, and zero copy to decline what the peer advertises.
 *
 * A page is mapped if the payload of this stream fills it and nothing writes to it again:
 * on a verbs link with private buffers. Such a buffer counts against the credits until
 * it is read. As its pages are still in use then, it gets other pages or is dropped
 * (see sdp_qp_rx_renew()).
 *
 * A page is in use while a page table entry or a pin references it. Programs
 * give pages back in many ways, and the kernel reports few of them, so uses are not
 * counted. Instead struct sdp_rxmap holds one reference to each buffer of which pages
 * were mapped: when it is the last one, all pages of the buffer are back.
 *
 * Mappings stay read-only: VM_MAYWRITE is cleared. lock_sock is the outer lock, and the
 * mmap lock is only tried under it (sdp_rxmap_lock()).
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <net/sock.h>

#include "compat.h"
#include "sdp.h"
#include "sdp_mib.h"
#include "sdp_rx.h"
#include "sdp_verbs.h"

#define SDP_BUF_PAGES	BIT(SDP_BUF_ORDER)

/**
 * struct sdp_rxmap - buffers of which pages are, or were, mapped
 * @work: drops the references to those that have come back
 * @sk: its socket; the work holds a reference while it is queued
 * @page: first pages of the buffers, which are compound, each with a reference;
 *	  sdp_sock.nmapped of them
 *
 * Made when first needed, lives as long as the socket. Context: lock_sock held.
 */
struct sdp_rxmap {
	struct work_struct work;
	struct sock *sk;
	struct page *page[SDP_MAX_RX_BUFS];
};

/* ---- mapped buffers ---- */

/*
 * Drop the buffers that have come back: ours is the last reference. Context: lock_sock
 * held.
 */
static void sdp_rxmap_reap(struct sock *sk)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	struct sdp_rxmap *map = sdp->rxmap;
	u32 i = 0, n = sdp->nmapped;

	sock_owned_by_me(sk);
	while (i < n) {
		struct page *page = map->page[i];

		if (page_count(page) > 1) {
			i++;
			continue;
		}
		put_page(page);
		map->page[i] = map->page[--n];
	}
	WRITE_ONCE(sdp->nmapped, n);
}

static void sdp_rxmap_work(struct work_struct *work)
{
	struct sock *sk = container_of(work, struct sdp_rxmap, work)->sk;

	lock_sock(sk);
	sdp_rxmap_reap(sk);
	release_sock(sk);
	sock_put(sk);
}

/*
 * The socket's struct sdp_rxmap, made if needed; NULL without memory. Context: lock_sock
 * held.
 */
static struct sdp_rxmap *sdp_rxmap_get(struct sock *sk)
{
	struct sdp_rxmap *map = sdp_sk(sk)->rxmap;

	if (map)
		return map;
	map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	if (!map)
		return NULL;
	map->sk = sk;
	INIT_WORK(&map->work, sdp_rxmap_work);
	/* sdp_rxmap_close() looks without a lock */
	smp_store_release(&sdp_sk(sk)->rxmap, map);
	return map;
}

/*
 * Pages of the buffer that begins with @page are about to be mapped: keep a reference.
 * False if there is no memory for that, or if as much is mapped as may be.
 */
static bool sdp_rxmap_note(struct sock *sk, struct page *page)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	struct sdp_rxmap *map = sdp_rxmap_get(sk);
	u32 i;

	if (!map)
		return false;
	for (i = sdp->nmapped; i; i--)
		if (map->page[i - 1] == page)
			return true;
	if (sdp->nmapped >= sdp_qp_rx_mappable(sk)) {
		SDP_INC_STATS(sock_net(sk), RX_MAP_FULL);
		return false;
	}
	get_page(page);
	map->page[sdp->nmapped] = page;
	WRITE_ONCE(sdp->nmapped, sdp->nmapped + 1);
	return true;
}

/**
 * sdp_rxmap_free - a socket is about to be freed
 * @sdp: socket that is not in use
 */
void sdp_rxmap_free(struct sdp_sock *sdp)
{
	while (sdp->nmapped)
		put_page(sdp->rxmap->page[--sdp->nmapped]);
	kfree(sdp->rxmap);
}

/* ---- the mapping ---- */

/*
 * A mapping, or a part of it, is gone, and its page table entries with it: have buffers
 * that have come back dropped. In any process; lock_sock comes before the mmap lock, so
 * only the work item can take it.
 */
static void sdp_rxmap_close(struct vm_area_struct *vma)
{
	/* the file may be that of a TCP socket by now; the inode stays ours */
	struct sock *sk = SOCKET_I(file_inode(vma->vm_file))->sk;
	/* pairs with sdp_rxmap_get() */
	struct sdp_rxmap *map = smp_load_acquire(&sdp_sk(sk)->rxmap);

	if (!map || !READ_ONCE(sdp_sk(sk)->nmapped))
		return;
	sock_hold(sk);
	if (!queue_work(sdp_wq(sk), &map->work))
		sock_put(sk);
}

static const struct vm_operations_struct sdp_rxmap_vm_ops = {
	.close	= sdp_rxmap_close,
};

/**
 * sdp_rxmap_mmap - mmap of a socket: a place to map pages at
 * @file: its file
 * @sock: socket
 * @vma: the mapping, which is empty at first
 *
 * Context: process, mmap lock.
 *
 * Return: 0, or -EPERM if the program wants it writable or executable.
 */
int sdp_rxmap_mmap(struct file *file, struct socket *sock,
		   struct vm_area_struct *vma)
{
	if (vma->vm_flags & (VM_WRITE | VM_EXEC))
		return -EPERM;
	/* VM_MIXEDMAP: vm_insert_pages() may be called with the lock for reading */
	vm_flags_mod(vma, VM_MIXEDMAP, VM_MAYWRITE | VM_MAYEXEC);
	vma->vm_ops = &sdp_rxmap_vm_ops;
	return 0;
}

/* ---- mapping ---- */

/*
 * The mapping of @file that contains address @at, NULL if there is none. *@room, at
 * least a page, becomes no more than the mapping has from there on. Pages that were
 * mapped there are given back: in all processes, if they share the mapping.
 */
static struct vm_area_struct *sdp_rxmap_window(struct file *file,
					       unsigned long at, u32 *room)
{
	struct vm_area_struct *vma;
	loff_t off;

	lockdep_assert_held(&current->mm->mmap_lock);
	vma = vma_lookup(current->mm, at);
	if (!vma || vma->vm_ops != &sdp_rxmap_vm_ops || vma->vm_file != file)
		return NULL;
	*room = min_t(unsigned long, *room, vma->vm_end - at) & PAGE_MASK;
	off = ((loff_t)vma->vm_pgoff << PAGE_SHIFT) + (at - vma->vm_start);
	unmap_mapping_range(file->f_mapping, off, *room, 1);
	return vma;
}

/*
 * Map the whole pages at the front of @run, @room bytes at most, at address @at.
 * Returns bytes mapped. lock_sock and the mmap lock.
 */
static u32 sdp_rxmap_run(struct sock *sk, const struct sdp_rx_run *run,
			 struct vm_area_struct *vma, unsigned long at, u32 room)
{
	unsigned long nr = min(run->len, room) >> PAGE_SHIFT, left = nr, i;
	struct page *pages[SDP_BUF_PAGES];

	if (offset_in_page(run->off) || !nr || !sdp_rxmap_note(sk, run->page))
		return 0;
	for (i = 0; i < nr; i++)
		pages[i] = run->page + (run->off >> PAGE_SHIFT) + i;
	vm_insert_pages(vma, at, pages, &left);
	return (nr - left) << PAGE_SHIFT;
}

/* Bytes of @run before its first whole page, all of them if it has none */
static u32 sdp_rxmap_skip(const struct sdp_rx_run *run)
{
	u32 start = PAGE_ALIGN(run->off);
	u32 end = (run->off + run->len) & PAGE_MASK;

	return start < end ? start - run->off : run->len;
}

/*
 * Map what lies at the front of the queue, of which @have bytes may be read, up to
 * @room bytes from address @at on. The queue is left as it is. *@skip becomes the bytes
 * after those mapped that must be read in another way before more can be mapped, 0 if
 * there are none. Returns bytes mapped. lock_sock and the mmap lock.
 */
static u32 sdp_rxmap_front(struct sock *sk, struct vm_area_struct *vma,
			   unsigned long at, u32 room, u32 have, u32 *skip)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	struct sdp_rx_run run;
	u32 done = 0, n, got;

	*skip = 0;
	while (done < room && done < have) {
		n = sdp->rxq->find(sk, sdp->copied_seq + done, &run);
		run.len = min(n, have - done);
		got = sdp_rxmap_run(sk, &run, vma, at + done, room - done);
		done += got;
		if (got == run.len)
			continue;
		run.off += got;
		run.len -= got;
		*skip = min(sdp_rxmap_skip(&run), room - done);
		break;
	}
	if (done == room)
		*skip = 0;
	/* a whole page is there but was not mapped, see sdp_rxmap_note(): the program reads it */
	else if (!done && !*skip)
		*skip = min(run.len, room);
	return done;
}

/*
 * Bytes that may be mapped or copied now, up to an urgent byte. sdp_rx_limit() returns 0
 * when it has removed one from the front of the queue: look again.
 */
static u32 sdp_rxmap_have(struct sock *sk)
{
	struct sdp_sock *sdp = sdp_sk(sk);
	u32 have, n;

	do {
		/* pairs with the release in the queueing code */
		have = smp_load_acquire(&sdp->rx_seq) - sdp->copied_seq;
		n = have ? sdp_rx_limit(sk, have) : 0;
	} while (have && !n);
	return n;
}

/*
 * Get the mmap lock for reading, when no other task is in the middle of a read. Another
 * task may hold it arbitrarily long (FUSE), so lock_sock is released while it is waited
 * for. Returns 0, with both locks held, or an error, with lock_sock only: -EPIPE if the
 * socket was disconnected meanwhile, since it may have another connection then.
 */
static int sdp_rxmap_lock(struct sock *sk)
{
	struct mm_struct *mm = current->mm;
	int dis = sk->sk_disconnects;
	long timeo = MAX_SCHEDULE_TIMEOUT;	/* a signal restarts the call */
	int err;

	for (;;) {
		err = sdp_rx_turn(sk, &timeo);
		if (sk->sk_disconnects != dis)
			err = -EPIPE;
		if (err || mmap_read_trylock(mm))
			return err;
		release_sock(sk);
		err = mmap_read_lock_killable(mm);
		if (!err)
			mmap_read_unlock(mm);
		lock_sock(sk);
		if (err)
			return err;
	}
}

/*
 * Map, and take off the queue what was mapped. Sets zc->length and zc->recv_skip_hint. 0
 * or -errno. lock_sock, which may be released at the beginning.
 */
static int sdp_rxmap_some(struct sock *sk, struct file *file,
			  struct sdp_zerocopy_receive *zc)
{
	u32 room = zc->length & PAGE_MASK, asked = zc->length, have;
	unsigned long at = zc->address;
	struct vm_area_struct *vma;
	int err;

	err = room ? sdp_rxmap_lock(sk) : 0;
	if (err)
		return err;
	have = sdp_rxmap_have(sk);
	zc->length = 0;
	/* programs read that many bytes into a buffer of @length bytes */
	zc->recv_skip_hint = min(have, asked ?: have);
	if (!room)
		return 0;
	vma = sdp_rxmap_window(file, at, &room);
	if (!vma) {
		mmap_read_unlock(current->mm);
		return -EINVAL;
	}
	if (sdp_sk(sk)->nmapped)
		sdp_rxmap_reap(sk);
	if (have > (u32)zc->copybuf_len && sdp_sk(sk)->rxq->mappable)
		zc->length = sdp_rxmap_front(sk, vma, at, room, have,
					     &zc->recv_skip_hint);
	mmap_read_unlock(current->mm);
	if (!zc->length)
		return 0;
	sdp_rx_take(sk, zc->length);
	WRITE_ONCE(sdp_sk(sk)->rx_mapped_bytes,
		   sdp_sk(sk)->rx_mapped_bytes + zc->length);
	SDP_ADD_STATS(sock_net(sk), RX_MAPPED_BYTES, zc->length);
	return 0;
}

/*
 * Copy data that cannot be mapped, as far as the program gives room (copybuf). 0 or
 * -errno.
 */
static int sdp_rxmap_copy(struct sock *sk, struct sdp_zerocopy_receive *zc)
{
	u32 len = min_t(u32, zc->copybuf_len, zc->recv_skip_hint);
	void __user *to = u64_to_user_ptr(zc->copybuf_address);
	struct msghdr msg = {};
	int n;

	zc->copybuf_len = 0;
	if (!len)
		return 0;
	n = -EFAULT;
	if ((unsigned long)to == zc->copybuf_address && access_ok(to, len)) {
		iov_iter_ubuf(&msg.msg_iter, ITER_DEST, to, len);
		n = sdp_recvmsg_locked(sk, &msg, len, MSG_DONTWAIT);
	}
	/* no error after pages were mapped: the program must learn of these */
	if (n < 0)
		return zc->length ? 0 : n;
	zc->copybuf_len = n;
	zc->recv_skip_hint -= n;
	SDP_ADD_STATS(sock_net(sk), RX_MAPPED_COPIED, n);
	return 0;
}

static int sdp_rxmap_locked(struct sock *sk, struct file *file,
			    struct sdp_zerocopy_receive *zc)
{
	int err;

	if (sk->sk_state == TCP_LISTEN)
		return -ENOTCONN;
	/* data that the peer advertises (zero copy) cannot be mapped: ask for messages */
	sdp_zc_decline(sk);
	err = sdp_rxmap_some(sk, file, zc);
	if (!err)
		err = sdp_rxmap_copy(sk, zc);
	if (err)
		return err;
	zc->inq = sdp_rx_inq(sk);
	if (!zc->length && !zc->copybuf_len && !zc->recv_skip_hint &&
	    READ_ONCE(sdp_sk(sk)->rx_done))
		return -EIO;
	return 0;
}

/* Read and check the program's request. Returns its bytes, or -errno. */
static int sdp_rxmap_ask(struct sdp_zerocopy_receive *zc, char __user *optval,
			 int __user *optlen)
{
	int len, err;

	if (get_user(len, optlen))
		return -EFAULT;
	if (len < (int)offsetofend(struct sdp_zerocopy_receive, length))
		return -EINVAL;
	memset(zc, 0, sizeof(*zc));
	err = copy_struct_from_user(zc, sizeof(*zc), optval, len);
	if (err)
		return err == -E2BIG ? -EINVAL : err;
	if (zc->address != (unsigned long)zc->address ||
	    offset_in_page(zc->address) || zc->copybuf_len < 0 ||
	    zc->flags & ~TCP_RECEIVE_ZEROCOPY_FLAG_TLB_CLEAN_HINT ||
	    zc->reserved)
		return -EINVAL;
	len = min_t(int, len, sizeof(*zc));
	/* fail before data are taken if the result cannot be written */
	if (put_user(len, optlen) || copy_to_user(optval, zc, len))
		return -EFAULT;
	return len;
}

/**
 * sdp_rxmap_getsockopt - SDP_ZEROCOPY_RECEIVE, TCP_ZEROCOPY_RECEIVE
 * @sock: socket
 * @optval: struct sdp_zerocopy_receive, or the front of it
 * @optlen: bytes of it
 *
 * Context: process; takes lock_sock and the mmap lock.
 *
 * Return: 0 or a negative errno.
 */
int sdp_rxmap_getsockopt(struct socket *sock, char __user *optval,
			 int __user *optlen)
{
	struct sdp_zerocopy_receive zc;
	struct sock *sk = sock->sk;
	int len, err;

	/* programs written for TCP use the same */
	BUILD_BUG_ON(sizeof(zc) != sizeof(struct tcp_zerocopy_receive));
	BUILD_BUG_ON(offsetof(struct sdp_zerocopy_receive, copybuf_len) !=
		     offsetof(struct tcp_zerocopy_receive, copybuf_len));
	len = sdp_rxmap_ask(&zc, optval, optlen);
	if (len < 0)
		return len;
	lock_sock(sk);
	err = sdp_rxmap_locked(sk, sock->file, &zc);
	release_sock(sk);
	if (err)
		return err;
	zc.msg_flags = 0;
	if (len >= offsetofend(struct sdp_zerocopy_receive, err))
		zc.err = sock_error(sk);
	return copy_to_user(optval, &zc, len) ? -EFAULT : 0;
}
