/* SPDX-License-Identifier: GPL-2.0 */
/*
 * compat.h for RDMA providers: kept apart as it includes <rdma/...>.
 */
#ifndef _COMPAT_RDMA_H
#define _COMPAT_RDMA_H

#include <linux/bvec.h>
#include <linux/uio.h>
#include <net/tcp.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "compat.h"

/*
 * ib_device_ops.create_cq: the last argument, and the udata in it, NULL for a
 * CQ of the kernel.
 */
#ifdef HAVE_CREATE_CQ_ATTRS
#define COMPAT_CREATE_CQ_ARG	struct uverbs_attr_bundle *cq_attrs
#define compat_create_cq_udata	(cq_attrs ? &cq_attrs->driver_udata : NULL)
#else
#define COMPAT_CREATE_CQ_ARG	struct ib_udata *cq_udata
#define compat_create_cq_udata	(cq_udata)
#endif

/* ib_device_ops.reg_user_mr: arguments behind access, from 6.17 with hints */
#ifdef HAVE_REG_USER_MR_DMAH
#define COMPAT_REG_USER_MR_ARGS	struct ib_dmah *dmah, struct ib_udata *udata
#define compat_reg_user_mr_dmah	(dmah)
#else
#define COMPAT_REG_USER_MR_ARGS	struct ib_udata *udata
#define compat_reg_user_mr_dmah	((void *)NULL)
#endif

#ifndef HAVE_IB_UMEM_GET_VA
#define ib_umem_get_va		ib_umem_get
#endif

/* Providers without DMA: the address given to them is a pointer. */
#ifndef HAVE_IB_VIRT_DMA_TO_PTR
static inline void *ib_virt_dma_to_ptr(u64 dma_addr)
{
	return (void *)(uintptr_t)dma_addr;
}
#endif

#ifndef HAVE_IB_GET_CURR_PORT_STATE
static inline enum ib_port_state ib_get_curr_port_state(struct net_device *dev)
{
	return netif_running(dev) && netif_carrier_ok(dev) ? IB_PORT_ACTIVE :
							     IB_PORT_DOWN;
}
#endif

/**
 * compat_tcp_sendpage_locked() - give TCP a part of a page by reference
 * @sk: TCP socket, held by the caller
 * @page: page, of any order, that is not slab memory
 * @off: first byte
 * @len: bytes; may go beyond the first page of a compound one
 * @flags: MSG_*
 *
 * TCP before 6.5 ignores MSG_SPLICE_PAGES even where it is defined, but has
 * a function for this. Where the device cannot gather, TCP copies.
 *
 * Context: with MSG_DONTWAIT and GFP_ATOMIC in sk_allocation, any.
 * Return: bytes taken, or a negative error.
 */
static inline int compat_tcp_sendpage_locked(struct sock *sk, struct page *page,
					     u32 off, u32 len, int flags)
{
#ifdef HAVE_TCP_SENDPAGE_LOCKED
	struct msghdr msg = { .msg_flags = flags };
	struct kvec iov;

	if (likely(sk->sk_route_caps & NETIF_F_SG) || PageHighMem(page))
		return tcp_sendpage_locked(sk, page, off, len, flags);
	/* it would copy, too, but calls what may sleep to map the page */
	iov.iov_base = page_address(page) + off;
	iov.iov_len = len;
	iov_iter_kvec(&msg.msg_iter, ITER_SOURCE, &iov, 1, len);
	return tcp_sendmsg_locked(sk, &msg, len);
#else
	struct msghdr msg = { .msg_flags = flags | MSG_SPLICE_PAGES };
	struct bio_vec bvec;

	bvec_set_page(&bvec, page, len, off);
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, &bvec, 1, len);
	return tcp_sendmsg_locked(sk, &msg, len);
#endif
}

/* Then TCP makes a fragment of each page of a compound one */
#ifdef HAVE_TCP_SENDPAGE_LOCKED
#define COMPAT_TCP_FRAG_PAGES	0
#else
#define COMPAT_TCP_FRAG_PAGES	1
#endif

/* Before, no udev rule renamed a device that a user had named. */
#ifndef HAVE_IB_MARK_NAME_ASSIGNED_BY_USER
static inline void ib_mark_name_assigned_by_user(struct ib_device *dev)
{
}
#endif

#endif /* _COMPAT_RDMA_H */
