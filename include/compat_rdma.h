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

/* ib_device_ops.reg_user_mr: arguments after access, from 6.17 with hints */
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

/* Earlier kernels do not tell udev rules whether a user has named the device. */
#ifndef HAVE_IB_MARK_NAME_ASSIGNED_BY_USER
static inline void ib_mark_name_assigned_by_user(struct ib_device *dev)
{
}
#endif

#endif /* _COMPAT_RDMA_H */
