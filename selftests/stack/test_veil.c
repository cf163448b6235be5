// SPDX-License-Identifier: GPL-2.0
/*
 * stack_test.ko: a device of another driver with a table of ours, in which one
 * component is not there. Its shared link stays what it is.
 */
#include <linux/string.h>

#include "test.h"

static enum rdma_stack_comp st_absent;
static char st_veiled[16];
static bool st_asked;
static struct rdma_stack_provider st_veil_provider;

static void st_veil_query(struct ib_device *dev, struct ib_qp *qp,
			  struct rdma_stack_map *map)
{
	st_asked = true;
	memset(map->place, RDMA_STACK_HOST, sizeof(map->place));
	map->place[st_absent] = RDMA_STACK_ABSENT;
	map->link = true;
}

static int st_veil_set(struct ib_device *dev)
{
	const struct rdma_stack_link *link = rdma_stack_get_link(dev);

	if (!link)
		return -ENODATA;
	rdma_stack_unregister(dev);
	st_veil_provider.query = st_veil_query;
	st_veil_provider.link = link;
	return rdma_stack_register(dev, &st_veil_provider);
}

/**
 * st_veil() - change the table of a device, until that goes, or this module
 * @args: its name, and the number of the component; one device at a time
 *
 * Return: 0 or a negative errno.
 */
int st_veil(const char *args)
{
	struct ib_device *dev;
	unsigned int comp;
	int err;

	if (sscanf(args, "%15s %u", st_veiled, &comp) != 2 ||
	    comp >= RDMA_STACK_COMPS)
		return -EINVAL;
	dev = ib_device_get_by_name(st_veiled, RDMA_DRIVER_UNKNOWN);
	if (!dev)
		return -ENODEV;
	st_absent = comp;
	err = st_veil_set(dev);
	ib_device_put(dev);
	return err;
}

/**
 * st_veil_exit() - no device has a table of ours any more
 */
void st_veil_exit(void)
{
	struct rdma_stack_map map;
	struct ib_device *dev;

	dev = ib_device_get_by_name(st_veiled, RDMA_DRIVER_UNKNOWN);
	if (!dev)
		return;
	/* it may be another one of that name */
	st_asked = false;
	rdma_stack_query(dev, NULL, &map);
	if (st_asked)
		rdma_stack_unregister(dev);
	ib_device_put(dev);
}
