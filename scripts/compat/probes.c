// SPDX-License-Identifier: GPL-2.0
/*
 * Compile probes, see probe.sh: each asks for one interface that not all supported
 * kernels have, most of them new, some dropped, in the shape in which the drivers use
 * it. Nothing here is linked or run.
 */
#include <linux/bpf-cgroup.h>
#include <linux/crc32.h>
#include <linux/crc32c.h>
#include <linux/ethtool.h>
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/device.h>
#include <linux/net.h>
#include <linux/nsproxy.h>
#include <linux/skbuff.h>
#include <linux/sysctl.h>
#include <linux/timer.h>
#include <linux/uio.h>
#include <linux/workqueue.h>
#include <net/inet_sock.h>
#include <net/ip.h>
#include <net/rtnetlink.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>

/* PROBE: ALWAYS */
static int always(struct sock *sk)
{
	return sk->sk_err;
}

/* PROBE: NEVER */
static int never(struct sock *sk)
{
	return sk->no_kernel_has_this;
}

/* PROBE: HAVE_CRC32C_LE */
static u32 crc_tables(const void *p, size_t len)
{
	return __crc32c_le(~0, p, len);
}

/* PROBE: HAVE_UNALIGNED_H */
#if !__has_include("linux/unaligned.h")
#error asm/unaligned.h
#endif

/* PROBE: HAVE_NETDEV_LOCK_H */
#if !__has_include("net/netdev_lock.h")
#error netdevice.h
#endif

/* PROBE: HAVE_NET_RPS_H */
#if !__has_include("net/rps.h")
#error net/sock.h
#endif

/* PROBE: HAVE_REGISTER_NET_SYSCTL_SZ */
static void *register_net_sysctl_sz_(struct net *net, struct ctl_table *t)
{
	return register_net_sysctl_sz(net, "net/x", t, 1);
}

/* PROBE: HAVE_PROTO_IOCTL_KARG */
static int proto_ioctl(struct sock *sk, int cmd, int *karg);
static struct proto proto_ioctl_ = { .ioctl = proto_ioctl };

/* PROBE: HAVE_PROTO_PINFO_OFFSET */
static struct proto proto_pinfo_ = { .ipv6_pinfo_offset = 8 };

/* PROBE: HAVE_PROTO_MEMORY_H */
#if !__has_include("net/proto_memory.h")
#error net/sock.h
#endif

/* PROBE: HAVE_SK_BYPASS_PROT_MEM */
static bool sk_bypass(const struct sock *sk)
{
	return sk->sk_bypass_prot_mem;
}

/* PROBE: HAVE_PROTO_ACCEPT_ARG */
static int accept_arg(struct socket *sock, struct socket *newsock,
		      struct proto_accept_arg *arg);
static const struct proto_ops accept_arg_ = { .accept = accept_arg };

/* PROBE: HAVE_SOCKADDR_UNSIZED */
static int bind_unsized(struct socket *sock, struct sockaddr_unsized *addr,
			int len);
static const struct proto_ops bind_unsized_ = { .bind = bind_unsized };

/* PROBE: HAVE_TIMER_CONTAINER_OF */
#ifndef timer_container_of
#error from_timer
#endif

/* PROBE: HAVE_CTL_TABLE_CONST */
static int ctl_const(const struct ctl_table *t, int write, void *buffer,
		     size_t *lenp, loff_t *ppos);
static proc_handler *ctl_const_ = ctl_const;

/* PROBE: HAVE_WQ_PERCPU */
static unsigned int wq_percpu = WQ_PERCPU;

/* PROBE: HAVE_SK_UID */
static kuid_t sk_uid_(const struct sock *sk)
{
	return sk_uid(sk);
}

/* PROBE: HAVE_TCP_SENDPAGE_LOCKED */
static int tcp_sendpage_locked_(struct sock *sk, struct page *page)
{
	return tcp_sendpage_locked(sk, page, 0, 1, 0);
}

/* PROBE: HAVE_INET_FLAGS */
static bool inet_flags(struct sock *sk)
{
	return inet_test_bit(RECVERR, sk);
}

/* PROBE: HAVE_CREATE_CQ_ATTRS */
static int create_cq_attrs(struct ib_cq *cq, const struct ib_cq_init_attr *attr,
			   struct uverbs_attr_bundle *attrs);
static const struct ib_device_ops create_cq_attrs_ = { .create_cq = create_cq_attrs };

/* PROBE: HAVE_REG_USER_MR_DMAH */
static struct ib_mr *reg_user_mr_dmah(struct ib_pd *pd, u64 start, u64 length,
				      u64 virt_addr, int access,
				      struct ib_dmah *dmah,
				      struct ib_udata *udata);
static const struct ib_device_ops reg_user_mr_dmah_ = {
	.reg_user_mr = reg_user_mr_dmah,
};

/* PROBE: HAVE_IB_UMEM_GET_VA */
static void *ib_umem_get_va_(struct ib_device *dev)
{
	return ib_umem_get_va(dev, 0, 1, 0);
}

/* PROBE: HAVE_IB_VIRT_DMA_TO_PTR */
static void *ib_virt_dma_to_ptr_(u64 addr)
{
	return ib_virt_dma_to_ptr(addr);
}

/* PROBE: HAVE_IB_GET_CURR_PORT_STATE */
static int ib_get_curr_port_state_(struct net_device *dev)
{
	return ib_get_curr_port_state(dev);
}

/* PROBE: HAVE_IB_MARK_NAME_ASSIGNED_BY_USER */
static void ib_mark_name_(struct ib_device *dev)
{
	ib_mark_name_assigned_by_user(dev);
}

/* PROBE: HAVE_CLASS_INTERFACE_DEV */
static int class_interface_dev(struct device *dev);
static const struct class_interface class_interface_dev_ = {
	.add_dev = class_interface_dev,
};

/* PROBE: HAVE_KOBJ_CONST_OWNERSHIP */
static void kobj_ownership(const struct kobject *kobj, kuid_t *uid, kgid_t *gid);
static const struct kobj_type kobj_ownership_ = {
	.get_ownership = kobj_ownership,
};

/* PROBE: HAVE_SKB_DECRYPTED */
static bool skb_decrypted(const struct sk_buff *skb)
{
	return skb->decrypted;
}

/* PROBE: HAVE_RTNL_NEWLINK_PARAMS */
static struct net *newlink_params(struct rtnl_newlink_params *params)
{
	return rtnl_newlink_peer_net(params);
}

/* PROBE: HAVE_HRTIMER_SETUP */
static void hrtimer_setup_(struct hrtimer *timer)
{
	hrtimer_setup(timer, NULL, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
}

/* PROBE: HAVE_NETIF_THREADED_ENABLE */
static void netif_threaded_enable_(struct net_device *dev)
{
	netif_threaded_enable(dev);
}

/* PROBE: HAVE_NETDEV_LOCK */
static void netdev_lock_(struct net_device *dev)
{
	netdev_lock(dev);
	netdev_unlock(dev);
}

/* PROBE: HAVE_NETDEV_LOCK_OPS */
#if !__has_include("net/netdev_lock.h")
#error no lock of its own
#endif

/* PROBE: HAVE_ITER_IOV */
static const struct iovec *iter_iov_(const struct iov_iter *iter)
{
	return iter_iov(iter);
}

/* PROBE: HAVE_CUSTOM_SOCKOPT */
static void custom_sockopt(struct socket *sock)
{
	set_bit(SOCK_CUSTOM_SOCKOPT, &sock->flags);
}

/* PROBE: HAVE_VM_FLAGS_MOD */
static void vm_flags_mod_(struct vm_area_struct *vma)
{
	vm_flags_mod(vma, 0, VM_MAYWRITE);
}

/* PROBE: HAVE_CGROUP_SOCKADDR_LEN */
#ifdef CONFIG_CGROUP_BPF
static int cgroup_sockaddr_len(struct sock *sk, int *len)
{
	return __cgroup_bpf_run_filter_sock_addr(sk, NULL, len, 0, NULL, NULL);
}
#endif

/* PROBE: HAVE_MSG_ZEROCOPY_DEVMEM */
static struct ubuf_info *msg_zerocopy_(struct sock *sk)
{
	return msg_zerocopy_realloc(sk, 1, NULL, false);
}

/* PROBE: HAVE_GET_RX_RING_COUNT */
static u32 rx_ring_count(struct net_device *dev);
static const struct ethtool_ops rx_ring_count_ = {
	.get_rx_ring_count = rx_ring_count,
};

/* PROBE: HAVE_UBUF_INFO_OPS */
static void ubuf_complete(struct sk_buff *skb, struct ubuf_info *ubuf, bool ok);
static const struct ubuf_info_ops ubuf_ops = { .complete = ubuf_complete };

/* PROBE: HAVE_SKB_FRAGS_READABLE */
static bool frags_readable(const struct sk_buff *skb)
{
	return skb_frags_readable(skb);
}

/* PROBE: HAVE_PROTO_OPS_SENDPAGE */
static ssize_t sendpage(struct socket *sock, struct page *page, int offset,
			size_t size, int flags);
static const struct proto_ops sendpage_ = { .sendpage = sendpage };

/* PROBE: HAVE_PROTO_OPS_SPLICE_EOF */
static void splice_eof(struct socket *sock);
static const struct proto_ops splice_eof_ = { .splice_eof = splice_eof };

/* PROBE: HAVE_LOCAL_PORT_RANGE */
static void local_port_range(const struct sock *sk, int *low, int *high)
{
	inet_sk_get_local_port_range(sk, low, high);
}

/* PROBE: HAVE_RCVPRIORITY */
static bool rcvpriority(const struct sock *sk)
{
	return sock_flag(sk, SOCK_RCVPRIORITY);
}

/* PROBE: HAVE_NSPROXY_REFCOUNT */
static int nsproxy_refs(const struct nsproxy *ns)
{
	return refcount_read(&ns->count);
}
