// SPDX-License-Identifier: GPL-2.0
/*
 * stack_mock.ko, devices: the least that the RDMA core accepts as one. They have
 * no verbs, so the core offers them only to clients that need none.
 */
#include <linux/module.h>

#include "mock.h"

MODULE_DESCRIPTION("Test provider of the shared link");
MODULE_LICENSE("GPL");

struct mock_dev {
	struct ib_device ibdev;
	u8 place[RDMA_STACK_COMPS];
	struct mock_gate *gate;
};

static int mock_query_device(struct ib_device *dev, struct ib_device_attr *attr,
			     struct ib_udata *udata)
{
	memset(attr, 0, sizeof(*attr));
	return 0;
}

static int mock_query_port(struct ib_device *dev, u32 port,
			   struct ib_port_attr *attr)
{
	attr->state = IB_PORT_ACTIVE;
	attr->gid_tbl_len = 1;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = IB_MTU_4096;
	return 0;
}

static int mock_query_gid(struct ib_device *dev, u32 port, int index,
			  union ib_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	gid->raw[0] = 0x02;
	gid->raw[5] = dev->index;
	return 0;
}

static int mock_port_immutable(struct ib_device *dev, u32 port,
			       struct ib_port_immutable *imm)
{
	imm->gid_tbl_len = 1;
	imm->core_cap_flags = RDMA_CORE_CAP_PROT_RAW_PACKET;
	return 0;
}

static enum rdma_link_layer mock_link_layer(struct ib_device *dev, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

static const struct ib_device_ops mock_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_UNKNOWN,
	.query_device = mock_query_device,
	.query_port = mock_query_port,
	.query_gid = mock_query_gid,
	.get_port_immutable = mock_port_immutable,
	.get_link_layer = mock_link_layer,
};

static void mock_query(struct ib_device *ibdev, struct ib_qp *qp,
		       struct rdma_stack_map *map)
{
	struct mock_dev *dev = container_of(ibdev, struct mock_dev, ibdev);
	struct mock_gate *gate = READ_ONCE(dev->gate);

	if (gate) {
		complete(&gate->entered);
		wait_for_completion(&gate->open);
		WRITE_ONCE(gate->left, true);
	}
	memcpy(map->place, dev->place, sizeof(map->place));
	map->link = true;
}

static const struct rdma_stack_provider mock_provider = {
	.query = mock_query,
	.link = &mock_link,
};

/**
 * mock_register() - give a device its table
 * @dev: device from mock_add()
 *
 * Return: result of rdma_stack_register().
 */
int mock_register(struct ib_device *dev)
{
	return rdma_stack_register(dev, &mock_provider);
}
EXPORT_SYMBOL_GPL(mock_register);

/**
 * mock_add() - make a device, without a table
 * @name: of the device
 *
 * Return: device or error pointer.
 */
struct ib_device *mock_add(const char *name)
{
	struct mock_dev *dev;
	int err;

	dev = ib_alloc_device(mock_dev, ibdev);
	if (!dev)
		return ERR_PTR(-ENOMEM);
	dev->ibdev.node_type = RDMA_NODE_UNSPECIFIED;
	dev->ibdev.phys_port_cnt = 1;
	dev->ibdev.num_comp_vectors = 1;
	ib_set_device_ops(&dev->ibdev, &mock_ops);
	err = ib_register_device(&dev->ibdev, name, NULL);
	if (err) {
		ib_dealloc_device(&dev->ibdev);
		return ERR_PTR(err);
	}
	return &dev->ibdev;
}
EXPORT_SYMBOL_GPL(mock_add);

/**
 * mock_del() - undo mock_add(), and mock_register() if it was done
 * @dev: device
 */
void mock_del(struct ib_device *dev)
{
	ib_unregister_device(dev);
	rdma_stack_unregister(dev);
	ib_dealloc_device(dev);
}
EXPORT_SYMBOL_GPL(mock_del);

/**
 * mock_set_place() - change the place of a component, and report it
 * @dev: device
 * @comp: component
 * @place: its place from now on
 */
void mock_set_place(struct ib_device *dev, enum rdma_stack_comp comp,
		    enum rdma_stack_place place)
{
	container_of(dev, struct mock_dev, ibdev)->place[comp] = place;
	rdma_stack_changed(dev);
}
EXPORT_SYMBOL_GPL(mock_set_place);

/**
 * mock_set_gate() - hold up queries from now on
 * @dev: device
 * @gate: gate, or NULL: no longer
 */
void mock_set_gate(struct ib_device *dev, struct mock_gate *gate)
{
	WRITE_ONCE(container_of(dev, struct mock_dev, ibdev)->gate, gate);
}
EXPORT_SYMBOL_GPL(mock_set_gate);
