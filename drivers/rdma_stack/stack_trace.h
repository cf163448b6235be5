/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints rdma_stack:*, of stack_dev.c (device) and offload.c (offload). */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rdma_stack

#if !defined(_STACK_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _STACK_TRACE_H

#include <linux/netdevice.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <rdma/ib_verbs.h>
#include <rdma/iwarp_offload.h>

#include "stack.h"

/* For programs that decode the binary format: values of the names below */
TRACE_DEFINE_ENUM(STACK_ADDED);
TRACE_DEFINE_ENUM(STACK_CHANGED);
TRACE_DEFINE_ENUM(STACK_RENAMED);
TRACE_DEFINE_ENUM(STACK_REMOVED);

/* An event of an RDMA device, before stack_sysfs.c and stack_netlink.c are notified */
TRACE_EVENT(rdma_stack_device,
	TP_PROTO(const struct ib_device *dev, int event),
	TP_ARGS(dev, event),
	TP_STRUCT__entry(
		__array(char, dev, IB_DEVICE_NAME_MAX)
		__field(u32, index)
		__field(int, event)
	),
	TP_fast_assign(
		/* dev_name() would be freed if the device is renamed meanwhile */
		strscpy(__entry->dev, dev->name, IB_DEVICE_NAME_MAX);
		__entry->index = dev->index;
		__entry->event = event;
	),
	TP_printk("dev=%s index=%u event=%s", __entry->dev, __entry->index,
		  __print_symbolic(__entry->event,
				   { STACK_ADDED, "ADDED" },
				   { STACK_CHANGED, "CHANGED" },
				   { STACK_RENAMED, "RENAMED" },
				   { STACK_REMOVED, "REMOVED" }))
);

/* iWARP features of a net device change or go, before the providers are notified */
TRACE_EVENT(rdma_stack_offload,
	TP_PROTO(const struct net_device *netdev, int event),
	TP_ARGS(netdev, event),
	TP_STRUCT__entry(
		__array(char, netdev, IFNAMSIZ)
		__field(int, ifindex)
		__field(int, event)
	),
	TP_fast_assign(
		strscpy(__entry->netdev, netdev->name, IFNAMSIZ);
		__entry->ifindex = netdev->ifindex;
		__entry->event = event;
	),
	TP_printk("netdev=%s ifindex=%d event=%s", __entry->netdev,
		  __entry->ifindex,
		  __print_symbolic(__entry->event,
				   { IWARP_OFFLOAD_CHANGED, "CHANGED" },
				   { IWARP_OFFLOAD_GONE, "GONE" }))
);

#endif /* _STACK_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE stack_trace
#include <trace/define_trace.h>
