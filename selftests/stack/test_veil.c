// SPDX-License-Identifier: GPL-2.0
/*
 * stack_test.ko: this module takes the place of the provider of a device, and reports
 * one component as absent. The shared link of the device stays the same.
 */
#include <linux/string.h>

#include "test.h"

static enum rdma_stack_comp st_absent;
static char st_veiled[16];
static bool st_veiling;
static struct ib_device *st_dev;	/* the device, while it is changed */
static struct rdma_stack_provider st_veil_provider;

static void st_veil_query(struct ib_device *dev, struct ib_qp *qp,
			  struct rdma_stack_map *map)
{
	memset(map->place, RDMA_STACK_HOST, sizeof(map->place));
	map->place[st_absent] = RDMA_STACK_ABSENT;
	map->link = true;
}

/* Called for each device, also for later ones, when st_veiling is false */
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

/* The device or this module is removed */
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
 * st_veil_exit() - end the change of a device
 */
void st_veil_exit(void)
{
	if (st_veiled[0])
		ib_unregister_client(&st_veil_client);
	st_veiled[0] = 0;
}

/**
 * st_veil() - report a component as absent, until the device or this module is removed
 * @args: name of the device, and number of the component; one device at a time
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
