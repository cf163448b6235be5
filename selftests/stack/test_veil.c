// SPDX-License-Identifier: GPL-2.0
/*
 * stack_test.ko: a device of another driver with a table of ours, in which one
 * component is not there. Its shared link stays what it is.
 */
#include <linux/string.h>

#include "test.h"

static enum rdma_stack_comp st_absent;
static char st_veiled[16];
static bool st_veiling;
static struct ib_device *st_dev;	/* that has our table */
static struct rdma_stack_provider st_veil_provider;

static void st_veil_query(struct ib_device *dev, struct ib_qp *qp,
			  struct rdma_stack_map *map)
{
	memset(map->place, RDMA_STACK_HOST, sizeof(map->place));
	map->place[st_absent] = RDMA_STACK_ABSENT;
	map->link = true;
}

/* Of each device that there is, and that comes later */
static int st_veil_add(struct ib_device *dev)
{
	const struct rdma_stack_link *link = rdma_stack_get_link(dev);

	if (!st_veiling || !link || strcmp(dev_name(&dev->dev), st_veiled))
		return -EOPNOTSUPP;
	rdma_stack_unregister(dev);
	st_veil_provider.query = st_veil_query;
	st_veil_provider.link = link;
	if (rdma_stack_register(dev, &st_veil_provider))
		return -EOPNOTSUPP;
	st_dev = dev;
	return 0;
}

/* It goes, or we do */
static void st_veil_remove(struct ib_device *dev, void *data)
{
	rdma_stack_unregister(dev);
	st_dev = NULL;
}

static struct ib_client st_veil_client = {
	.name = "stack_test",
	.add = st_veil_add,
	.remove = st_veil_remove,
};

/**
 * st_veil_exit() - no device has a table of ours any more
 */
void st_veil_exit(void)
{
	if (st_veiled[0])
		ib_unregister_client(&st_veil_client);
	st_veiled[0] = 0;
}

/**
 * st_veil() - change the table of a device, until that goes, or this module
 * @args: its name, and the number of the component; one device at a time
 *
 * Return: 0 or a negative errno.
 */
int st_veil(const char *args)
{
	unsigned int comp;
	char name[16];
	int err;

	if (sscanf(args, "%15s %u", name, &comp) != 2 ||
	    comp >= RDMA_STACK_COMPS)
		return -EINVAL;
	st_absent = comp;
	if (st_dev && !strcmp(name, st_veiled))
		return 0;
	st_veil_exit();
	strscpy(st_veiled, name, sizeof(st_veiled));
	st_veiling = true;
	err = ib_register_client(&st_veil_client);
	st_veiling = false;
	if (err)
		st_veiled[0] = 0;
	else if (!st_dev)
		err = -ENODEV;
	return err;
}
