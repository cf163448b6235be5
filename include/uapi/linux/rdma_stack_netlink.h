/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Generic netlink family "rdma_stack": which component of the protocol stack
 * of an RDMA device (checksums, ordering, reliability and so on) is done by
 * the NIC, and which by the host.
 * Documentation/netlink/specs/rdma_stack.yaml describes the same in YNL.
 */
#ifndef _UAPI_LINUX_RDMA_STACK_NETLINK_H
#define _UAPI_LINUX_RDMA_STACK_NETLINK_H

#define RDMA_STACK_FAMILY_NAME		"rdma_stack"
#define RDMA_STACK_FAMILY_VERSION	1

/* Multicast: RDMA_STACK_CMD_DEV_CHANGE_NTF and RDMA_STACK_CMD_DEV_DEL_NTF */
#define RDMA_STACK_MCGRP_CHANGES	"changes"

enum {
	/*
	 * do: one device, by index or name. The answer is for new queue pairs
	 * or, with RDMA_STACK_A_QPN, for that one. dump: all devices that the
	 * network namespace sees, for new queue pairs
	 */
	RDMA_STACK_CMD_DEV_GET = 1,
	RDMA_STACK_CMD_DEV_CHANGE_NTF,	/* a new device, or one that changed; as DEV_GET */
	RDMA_STACK_CMD_DEV_DEL_NTF,	/* index and name of one that is gone */

	__RDMA_STACK_CMD_MAX,
	RDMA_STACK_CMD_MAX = (__RDMA_STACK_CMD_MAX - 1)
};

enum {
	RDMA_STACK_A_UNSPEC,
	RDMA_STACK_A_DEV_INDEX,		/* u32, as "rdma dev" shows it */
	RDMA_STACK_A_DEV_NAME,		/* string */
	RDMA_STACK_A_QPN,		/* u32, number of a queue pair */
	RDMA_STACK_A_DRIVER,		/* string, module of the driver; absent if built in */
	RDMA_STACK_A_SOURCE,		/* u32, RDMA_STACK_SOURCE_* */
	RDMA_STACK_A_SHARED_LINK,	/* flag, the driver can share its send and receive
					 * buffers with the layer above (SDP)
					 */
	RDMA_STACK_A_COMPONENT,		/* nest of RDMA_STACK_A_COMPONENT_*, one for each */

	__RDMA_STACK_A_MAX,
	RDMA_STACK_A_MAX = (__RDMA_STACK_A_MAX - 1)
};

enum {
	RDMA_STACK_A_COMPONENT_UNSPEC,
	RDMA_STACK_A_COMPONENT_NAME,	/* string: crc, demux, markers, flow_control,
					 * buffering, ordering, reliability, coalescing;
					 * others may be added
					 */
	RDMA_STACK_A_COMPONENT_PLACE,	/* u32, RDMA_STACK_PLACE_* */

	__RDMA_STACK_A_COMPONENT_MAX,
	RDMA_STACK_A_COMPONENT_MAX = (__RDMA_STACK_A_COMPONENT_MAX - 1)
};

/* Where the answer comes from */
enum {
	RDMA_STACK_SOURCE_NONE,		/* nothing is known of the driver */
	RDMA_STACK_SOURCE_DRIVER,	/* known properties of the driver */
	RDMA_STACK_SOURCE_PROVIDER,	/* the driver itself */
};

/* Where a component is */
enum {
	RDMA_STACK_PLACE_UNKNOWN,
	RDMA_STACK_PLACE_ABSENT,	/* nothing does it */
	RDMA_STACK_PLACE_HOST,		/* software */
	RDMA_STACK_PLACE_NIC,
};

#endif /* _UAPI_LINUX_RDMA_STACK_NETLINK_H */
