// SPDX-License-Identifier: GPL-2.0
/*
 * Verbs of the device itself: attributes, port, protection domains, user
 * contexts and the rings that users map.
 *
 * The application binary interface to user space is that of siw-abi.h, so
 * that the provider library already installed drives this device.
 *
 * Calls hyb_attr.c. The table of operations also has the verbs of hyb_cm.c and
 * hyb_listen.c.
 */
#include <linux/etherdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/vmalloc.h>
#include <net/addrconf.h>
#include <rdma/ib_mad.h>
#include <rdma/uverbs_ioctl.h>

#include "compat.h"
#include "hyb_attr.h"
#include "hyb_cm.h"
#include "hyb_listen.h"
#include "hybrid.h"

#define hyb_umap_of(ptr)	container_of(ptr, struct hyb_umap, entry)

static int hyb_query_device(struct ib_device *ibdev,
			    struct ib_device_attr *attr, struct ib_udata *udata)
{
	struct hyb_dev *dev = hyb_dev_of(ibdev);

	/* NULL when the core asks for its own use, since Linux 7.2 */
	if (udata && (udata->inlen || udata->outlen))
		return -EINVAL;

	*attr = (struct ib_device_attr) {
		.device_cap_flags = IB_DEVICE_MEM_MGT_EXTENSIONS,
		.kernel_cap_flags = IBK_LOCAL_DMA_LKEY | IBK_ALLOW_USER_UNREG,
		.vendor_id = HYB_VENDOR_ID,
		.vendor_part_id = dev->part_id,
		.page_size_cap = PAGE_SIZE,
		.max_mr_size = HYB_MAX_MR_SIZE,
		.max_mr = HYB_MAX_MR,
		.max_pd = HYB_MAX_PD,
		.max_qp = HYB_MAX_QP,
		.max_qp_wr = HYB_MAX_QP_WR,
		.max_send_sge = SIW_MAX_SGE,
		.max_recv_sge = SIW_MAX_SGE,
		.max_sge_rd = 1,	/* a response carries one sink STag */
		.max_cq = HYB_MAX_CQ,
		.max_cqe = HYB_MAX_CQE,
		.max_srq = HYB_MAX_SRQ,
		.max_srq_wr = HYB_MAX_SRQ_WR,
		.max_srq_sge = SIW_MAX_SGE,
		.max_qp_rd_atom = HYB_MAX_RD_ATOM,
		.max_qp_init_rd_atom = HYB_MAX_RD_ATOM,
		.max_res_rd_atom = HYB_MAX_QP * HYB_MAX_RD_ATOM,
		.max_fast_reg_page_list_len = HYB_MAX_FRWR_PAGES,
		/*
		 * Programs cannot use atomics: their format of work requests has
		 * no room for the operands. For the kernel: hyb_enable_driver().
		 */
		.atomic_cap = IB_ATOMIC_NONE,
	};
	addrconf_addr_eui48((u8 *)&attr->sys_image_guid, dev->gid);
	return 0;
}

/*
 * Upper layers in the kernel read the attributes that the core has kept, which this
 * changes. Programs that ask for attributes get those of hyb_query_device().
 */
static int hyb_enable_driver(struct ib_device *ibdev)
{
	/* the core adds the device to its clients next, among them the RDMA CM */
	hyb_cm_dev_adding(hyb_dev_of(ibdev));
	ibdev->attrs.atomic_cap = IB_ATOMIC_GLOB;
	ibdev->attrs.masked_atomic_cap = IB_ATOMIC_GLOB;
	return hyb_attr_dev_add(ibdev);
}

static int hyb_query_port(struct ib_device *ibdev, u32 port,
			  struct ib_port_attr *attr)
{
	struct net_device *netdev = hyb_dev_of(ibdev)->netdev;

	memset(attr, 0, sizeof(*attr));
	attr->state = ib_get_curr_port_state(netdev);
	attr->phys_state = attr->state == IB_PORT_ACTIVE ?
			   IB_PORT_PHYS_STATE_LINK_UP :
			   IB_PORT_PHYS_STATE_DISABLED;
	attr->max_mtu = ib_mtu_int_to_enum(netdev->mtu);
	attr->active_mtu = attr->max_mtu;
	attr->max_msg_sz = HYB_MAX_MSG;
	attr->gid_tbl_len = 1;
	attr->port_cap_flags = IB_PORT_CM_SUP | IB_PORT_DEVICE_MGMT_SUP;

	/* Fails only while the net device goes away; then it does not matter */
	if (ib_get_eth_speed(ibdev, port, &attr->active_speed,
			     &attr->active_width)) {
		attr->active_speed = IB_SPEED_SDR;
		attr->active_width = IB_WIDTH_1X;
	}
	return 0;
}

static int hyb_port_immutable(struct ib_device *ibdev, u32 port,
			      struct ib_port_immutable *immutable)
{
	immutable->gid_tbl_len = 1;
	immutable->core_cap_flags = RDMA_CORE_PORT_IWARP;
	return 0;
}

static int hyb_query_gid(struct ib_device *ibdev, u32 port, int index,
			 union ib_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	memcpy(gid->raw, hyb_dev_of(ibdev)->gid, ETH_ALEN);
	return 0;
}

/*
 * Return the net device here instead of entering it into the core's table: siw
 * has the same driver_id, looks up that table in its net device notifier, and
 * would take devices of this driver for its own.
 */
static struct net_device *hyb_get_netdev(struct ib_device *ibdev, u32 port)
{
	struct net_device *netdev = hyb_dev_of(ibdev)->netdev;

	dev_hold(netdev);
	return netdev;
}

static int hyb_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct hyb_dev *dev = hyb_dev_of(ibpd->device);

	if (!atomic_add_unless(&dev->num_pd, 1, HYB_MAX_PD))
		return -ENOMEM;
	return 0;
}

static int hyb_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	atomic_dec(&hyb_dev_of(ibpd->device)->num_pd);
	return 0;
}

static int hyb_alloc_ucontext(struct ib_ucontext *ibctx,
			      struct ib_udata *udata)
{
	struct siw_uresp_alloc_ctx resp = {
		.dev_id = hyb_dev_of(ibctx->device)->part_id,
	};

	if (udata->outlen < sizeof(resp))
		return -EINVAL;
	return ib_copy_to_udata(udata, &resp, sizeof(resp));
}

static void hyb_dealloc_ucontext(struct ib_ucontext *ibctx)
{
}

/*
 * Nothing to do: the rings are ordinary pages, which live as long as they are
 * mapped. The core needs the callback to remove the device while programs have it
 * open, and to move it between network namespaces.
 */
static void hyb_disassociate_ucontext(struct ib_ucontext *ibctx)
{
}

static void hyb_mmap_free(struct rdma_user_mmap_entry *entry)
{
	struct hyb_umap *map = hyb_umap_of(entry);

	vfree(map->addr);
	kfree(map);
}

/*
 * remap_vmalloc_range() accepts only memory from vmalloc_user(), which is not
 * charged to a control group. The core has checked that the mapping is as long as
 * the ring.
 */
static int hyb_umap_insert(struct vm_area_struct *vma, const void *ring)
{
	unsigned long offset, size = vma->vm_end - vma->vm_start;
	int err = 0;

	vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTDUMP, 0);
	for (offset = 0; !err && offset < size; offset += PAGE_SIZE)
		err = vm_insert_page(vma, vma->vm_start + offset,
				     vmalloc_to_page(ring + offset));
	return err;
}

static int hyb_mmap(struct ib_ucontext *ibctx, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry;
	int err;

	entry = rdma_user_mmap_entry_get(ibctx, vma);
	if (!entry)
		return -EINVAL;
	err = hyb_umap_insert(vma, hyb_umap_of(entry)->addr);
	rdma_user_mmap_entry_put(entry);
	return err;
}

const struct ib_device_ops hyb_dev_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_SIW,
	.uverbs_abi_ver = SIW_ABI_VERSION,
	.device_group = &hyb_attr_group,

	.alloc_pd = hyb_alloc_pd,
	.alloc_ucontext = hyb_alloc_ucontext,
	.dealloc_pd = hyb_dealloc_pd,
	.dealloc_ucontext = hyb_dealloc_ucontext,
	.disassociate_ucontext = hyb_disassociate_ucontext,
	.enable_driver = hyb_enable_driver,
	.get_netdev = hyb_get_netdev,
	.get_port_immutable = hyb_port_immutable,
	.iw_accept = hyb_accept,
	.iw_add_ref = hyb_iw_add_ref,
	.iw_connect = hyb_connect,
	.iw_create_listen = hyb_create_listen,
	.iw_destroy_listen = hyb_destroy_listen,
	.iw_get_qp = hyb_iw_get_qp,
	.iw_reject = hyb_reject,
	.iw_rem_ref = hyb_iw_rem_ref,
	.mmap = hyb_mmap,
	.mmap_free = hyb_mmap_free,
	.query_device = hyb_query_device,
	.query_gid = hyb_query_gid,
	.query_port = hyb_query_port,

	INIT_RDMA_OBJ_SIZE(ib_pd, hyb_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, hyb_ucontext, ibctx),
};
