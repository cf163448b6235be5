/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between the files of rdma_stack.ko. From top to bottom:
 *
 *	stack_main.c	module
 *	stack_sysfs.c	the attribute "components" of every RDMA device
 *	stack_netlink.c	the generic netlink family "rdma_stack"
 *	stack_dev.c	registry of providers and devices, changes
 *	stack_known.c	facts about drivers that register nothing
 *	offload.c	registry of NIC drivers, uses stack_trace.c only
 *	stack_trace.c	tracepoints
 */
#ifndef _STACK_H
#define _STACK_H

#include <rdma/rdma_stack.h>

struct ib_device;
struct net;

/* Where an answer comes from */
enum stack_source {
	STACK_SOURCE_NONE,	/* nothing is known */
	STACK_SOURCE_DRIVER,	/* the driver: its driver_id, module and protocol */
	STACK_SOURCE_PROVIDER,	/* the table that it registered */
};

/* stack_known.c */
int stack_known_query(const struct ib_device *dev, struct rdma_stack_map *map);

/* Events of a device that the core has */
enum stack_event {
	STACK_ADDED,
	STACK_CHANGED,		/* rdma_stack_changed() was called */
	STACK_RENAMED,
	STACK_REMOVED,		/* about to go, the core still has it */
};

struct notifier_block;

/* stack_dev.c */
void stack_dev_watch(struct notifier_block *nb);
struct ib_device *stack_dev_get(const struct net *net, u32 index);
struct ib_device *stack_dev_next(const struct net *net, unsigned long *index);
enum stack_source stack_source(int err, const struct rdma_stack_map *map);
int stack_dev_init(void);
void stack_dev_exit(void);

/* stack_sysfs.c */
void stack_sysfs_init(void);
void stack_sysfs_exit(void);

/* stack_netlink.c */
int stack_nl_init(void);
void stack_nl_exit(void);

#endif
