/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The drivers are written for today's kernel interfaces; this file provides
 * them on older kernels. Lowest layer: includes kernel headers only.
 *
 * HAVE_* come from scripts/compat/probes.c, which is compiled against the
 * kernel at hand. Never compare version numbers: distributions backport.
 *
 * Where a callback's prototype differs, a driver writes the arguments as a
 * COMPAT_* macro which names the ones that it may use.
 */
#ifndef _COMPAT_H
#define _COMPAT_H

#include <linux/bpf-cgroup.h>
#include <linux/device.h>
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/sysctl.h>
#include <linux/timer.h>
#include <linux/uio.h>
#include <linux/workqueue.h>
#include <net/inet_sock.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "generated/compat_probes.h"

#ifdef HAVE_UNALIGNED_H
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

/* netdev_lockdep_set_classes(), before in linux/netdevice.h */
#ifdef HAVE_NETDEV_LOCK_H
#include <net/netdev_lock.h>
#endif

/* From 6.14 on; earlier RTNL protects the same, or it does not change */
#ifndef HAVE_NETDEV_LOCK
static inline void netdev_lock(struct net_device *dev)
{
}

static inline void netdev_unlock(struct net_device *dev)
{
}
#endif

/* Before 6.6 a table ends with an empty entry, which callers provide. */
#ifndef HAVE_REGISTER_NET_SYSCTL_SZ
#define register_net_sysctl_sz(net, path, table, size) \
	register_net_sysctl(net, path, table)
#endif

/* From 6.11 on a proc_handler must not change the table. */
#ifdef HAVE_CTL_TABLE_CONST
#define CTL_TABLE_CONST		const
#else
#define CTL_TABLE_CONST
#endif

#ifndef HAVE_TIMER_CONTAINER_OF
#define timer_container_of(var, timer, field) \
	from_timer(var, timer, field)
#endif

/* The pieces of an iterator over user memory; before 6.4 a field of it. */
#ifndef HAVE_ITER_IOV
#define iter_iov(iter)		((iter)->iov)
#endif

/* Flags of a mapping; before 6.3 a field that is written directly */
#ifndef HAVE_VM_FLAGS_MOD
static inline void vm_flags_mod(struct vm_area_struct *vma, unsigned long set,
				unsigned long clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}
#endif

/* From 6.19 on an address that may be longer than struct sockaddr has a type of its own. */
#ifndef HAVE_SOCKADDR_UNSIZED
#define sockaddr_unsized	sockaddr
#endif

/* From 6.17 on every work queue needs WQ_PERCPU or WQ_UNBOUND; before, this is the default. */
#ifndef HAVE_WQ_PERCPU
#define WQ_PERCPU		0
#endif

#ifndef HAVE_SK_UID
#define sk_uid(sk)		READ_ONCE((sk)->sk_uid)
#endif

/*
 * The account of a struct proto. Before 6.9 its inline functions are in net/sock.h, and some
 * of these kernels do not export what they need.
 */
#ifdef HAVE_PROTO_MEMORY_H
#include <net/proto_memory.h>
#else
static inline void compat_memory_allocated_add(const struct sock *sk, int val)
{
	struct proto *proto = sk->sk_prot;

	val = this_cpu_add_return(*proto->per_cpu_fw_alloc, val);
	if (unlikely(abs(val) >= SK_MEMORY_PCPU_RESERVE)) {
		val = this_cpu_xchg(*proto->per_cpu_fw_alloc, 0);
		atomic_long_add(val, proto->memory_allocated);
	}
}

#define sk_memory_allocated_add(sk, val)	compat_memory_allocated_add(sk, val)
#define sk_memory_allocated_sub(sk, val)	compat_memory_allocated_add(sk, -(val))
#endif

/* Flags of inet_sock, bit fields before 6.6; those which are used here */
#ifndef HAVE_INET_FLAGS
#define COMPAT_INET_FREEBIND(sk)	(inet_sk(sk)->freebind)
#define COMPAT_INET_TRANSPARENT(sk)	(inet_sk(sk)->transparent)
#define COMPAT_INET_RECVERR(sk)		(inet_sk(sk)->recverr)
#define COMPAT_INET_BIND_ADDRESS_NO_PORT(sk) \
	(inet_sk(sk)->bind_address_no_port)
#define inet_test_bit(nr, sk)	COMPAT_INET_##nr(sk)
#endif

/* proto_ops.accept, from 6.10 with all in one structure */
#ifdef HAVE_PROTO_ACCEPT_ARG
#define COMPAT_ACCEPT_ARGS	struct proto_accept_arg *arg
#define compat_accept_flags	(arg->flags)
#define compat_accept_kern	(arg->kern)
#else
#define COMPAT_ACCEPT_ARGS	int accept_flags, bool accept_kern
#define compat_accept_flags	(accept_flags)
#define compat_accept_kern	(accept_kern)
#endif

/* class_interface.add_dev and remove_dev, from 6.4 with the device alone */
#ifdef HAVE_CLASS_INTERFACE_DEV
#define COMPAT_CLASS_INTF_ARGS	struct device *class_dev
#else
#define COMPAT_CLASS_INTF_ARGS	struct device *class_dev, \
				struct class_interface *class_intf
#endif
#define compat_class_dev	(class_dev)

/* kobj_type.get_ownership, from 6.2 on */
#ifdef HAVE_KOBJ_CONST_OWNERSHIP
#define COMPAT_KOBJ_CONST	const
#else
#define COMPAT_KOBJ_CONST
#endif

#ifndef HAVE_HRTIMER_SETUP
static inline void
hrtimer_setup(struct hrtimer *timer,
	      enum hrtimer_restart (*fn)(struct hrtimer *timer),
	      clockid_t clock_id, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock_id, mode);
	timer->function = fn;
}
#endif

/* From 6.7 on a BPF program may change the length of the address, if that is a Unix address. */
#ifndef HAVE_CGROUP_SOCKADDR_LEN
#define __cgroup_bpf_run_filter_sock_addr(sk, uaddr, len, type, ctx, flags) \
	__cgroup_bpf_run_filter_sock_addr(sk, uaddr, type, ctx, flags)
#endif

/* From 6.16 on both have one more argument at the end, for device memory. */
#ifndef HAVE_MSG_ZEROCOPY_DEVMEM
#define msg_zerocopy_realloc(sk, size, uarg, devmem) \
	msg_zerocopy_realloc(sk, size, uarg)
#define __zerocopy_sg_from_iter(msg, sk, skb, from, len, binding) \
	__zerocopy_sg_from_iter(msg, sk, skb, from, len)
#endif

/* Functions of struct ubuf_info; before 6.10 it has a member callback instead. */
#ifndef HAVE_UBUF_INFO_OPS
struct ubuf_info_ops {
	void (*complete)(struct sk_buff *skb, struct ubuf_info *ubuf,
			 bool zerocopy);
};
#endif

/* Before 6.12 packets have no fragments without an address (memory of a device). */
#ifndef HAVE_SKB_FRAGS_READABLE
static inline bool skb_frags_readable(const struct sk_buff *skb)
{
	return true;
}
#endif

/* NAPI of a device in threads; before there were several modes, a bool */
#ifndef HAVE_NETIF_THREADED_ENABLE
#define netif_threaded_enable(dev)	dev_set_threaded(dev, true)
#endif

/* Of sendfile and splice: before 6.5 there is proto_ops.sendpage instead */
#ifndef MSG_SPLICE_PAGES
#define MSG_SPLICE_PAGES	0x8000000
#endif

/* Members of a proto_ops: sendpage; splice_eof, which stable releases of 6.1 have as well */
#ifdef HAVE_PROTO_OPS_SENDPAGE
#define COMPAT_OPS_SENDPAGE(fn)		.sendpage = (fn),
#else
#define COMPAT_OPS_SENDPAGE(fn)
#endif
#ifdef HAVE_PROTO_OPS_SPLICE_EOF
#define COMPAT_OPS_SPLICE_EOF(fn)	.splice_eof = (fn),
#else
#define COMPAT_OPS_SPLICE_EOF(fn)
#endif

/*
 * A socket's own range of ports, from 6.3 on and in stable releases of 6.1. @low and @high are
 * those of all sockets.
 */
#ifndef HAVE_LOCAL_PORT_RANGE
static inline void inet_sk_get_local_port_range(const struct sock *sk,
						int *low, int *high)
{
}
#endif

#endif /* _COMPAT_H */
