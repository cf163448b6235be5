// SPDX-License-Identifier: GPL-2.0
/*
 * Attributes, profiles, placement of components. See hyb_attr.h.
 *
 * A wish is what somebody wrote; what is in effect is shown: a component that
 * the NIC does not serve is the host's.
 */
#include <linux/sysfs.h>
#include <net/net_namespace.h>
#include <rdma/iwarp_offload.h>
#include <rdma/rdma_stack.h>

#include "hyb_attr.h"
#include "hybrid.h"

/* ---------------------------------------------------------- placement */

struct hyb_profile {
	const char *name;
	struct hyb_place place;
};

/* The combinations that the literature has names for */
static const struct hyb_profile hyb_profiles[] = {
	{ "host", { RDMA_STACK_HOST, RDMA_STACK_HOST, HYB_MARK_COPY } },
	{ "assisted", { RDMA_STACK_NIC, RDMA_STACK_NIC, HYB_MARK_COPY } },
	{ "offload-contig",
	  { RDMA_STACK_NIC, RDMA_STACK_NIC, HYB_MARK_CONTIG } },
	{ "offload-sg", { RDMA_STACK_NIC, RDMA_STACK_NIC, HYB_MARK_SG } },
	{ "hybrid", { RDMA_STACK_NIC, RDMA_STACK_NIC, HYB_MARK_INPLACE } },
};

static const char *const hyb_mark_names[HYB_MARK_MODES] = {
	[HYB_MARK_COPY] = "copy",
	[HYB_MARK_INPLACE] = "inplace",
	[HYB_MARK_SG] = "sg",
	[HYB_MARK_CONTIG] = "contig",
};

static const char *const hyb_want_names[] = {
	[MPA_WANT_OFF] = "off",
	[MPA_WANT_AUTO] = "auto",
	[MPA_WANT_ON] = "on",
};

static bool hyb_place_same(const struct hyb_place *a, const struct hyb_place *b)
{
	return a->crc == b->crc && a->demux == b->demux &&
	       a->markers == b->markers;
}

static const char *hyb_profile_name(const struct hyb_place *place)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(hyb_profiles); i++)
		if (hyb_place_same(&hyb_profiles[i].place, place))
			return hyb_profiles[i].name;
	return "custom";
}

static int hyb_profile_parse(const char *buf, struct hyb_place *place)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(hyb_profiles); i++) {
		if (sysfs_streq(buf, hyb_profiles[i].name)) {
			*place = hyb_profiles[i].place;
			return 0;
		}
	}
	return -EINVAL;
}

/* Which part of @wish can be had with these engines of a NIC */
static struct hyb_place hyb_place_resolve(const struct hyb_place *wish, u32 nic)
{
	const u32 crc = BIT(IWARP_OFFLOAD_TX_CRC) | BIT(IWARP_OFFLOAD_RX_CRC);
	struct hyb_place res = *wish;

	if ((nic & crc) != crc)
		res.crc = RDMA_STACK_HOST;
	if (!(nic & BIT(IWARP_OFFLOAD_RX_DEMUX)))
		res.demux = RDMA_STACK_HOST;
	if ((res.markers == HYB_MARK_SG &&
	     !(nic & BIT(IWARP_OFFLOAD_TX_SG))) ||
	    (res.markers == HYB_MARK_CONTIG &&
	     !(nic & BIT(IWARP_OFFLOAD_TX_CONTIG))))
		res.markers = HYB_MARK_INPLACE;
	return res;
}

void hyb_place_init(struct hyb_qp *qp)
{
	struct hyb_dev *dev = qp->dev;

	mutex_lock(&dev->attr_lock);
	qp->wish = dev->place;
	mutex_unlock(&dev->attr_lock);
	hyb_place_update(qp, 0);
}

void hyb_place_update(struct hyb_qp *qp, u32 nic)
{
	struct hyb_place place = hyb_place_resolve(&qp->wish, nic);

	WRITE_ONCE(qp->place.crc, place.crc);
	WRITE_ONCE(qp->place.demux, place.demux);
	WRITE_ONCE(qp->place.markers, place.markers);
}

static enum rdma_stack_place hyb_mark_place(u8 mode)
{
	return mode == HYB_MARK_SG || mode == HYB_MARK_CONTIG ?
	       RDMA_STACK_NIC : RDMA_STACK_HOST;
}

static void hyb_query_qp_place(struct hyb_qp *qp, u8 *place)
{
	/* what was negotiated is known in full operation only */
	bool known = hyb_qp_state(qp) >= HYB_QP_RTS;

	place[RDMA_STACK_CRC] = READ_ONCE(qp->place.crc);
	place[RDMA_STACK_DEMUX] = READ_ONCE(qp->place.demux);
	place[RDMA_STACK_MARKERS] = hyb_mark_place(READ_ONCE(qp->place.markers));
	if (known && !READ_ONCE(qp->tx.crc))
		place[RDMA_STACK_CRC] = RDMA_STACK_ABSENT;
	if (known && !READ_ONCE(qp->tx.s.ivl))
		place[RDMA_STACK_MARKERS] = RDMA_STACK_ABSENT;
}

static void hyb_query_dev_place(struct hyb_dev *dev, u8 *place)
{
	struct hyb_place res;

	mutex_lock(&dev->attr_lock);
	res = hyb_place_resolve(&dev->place, 0);
	mutex_unlock(&dev->attr_lock);
	place[RDMA_STACK_CRC] = res.crc;
	place[RDMA_STACK_DEMUX] = res.demux;
	place[RDMA_STACK_MARKERS] = hyb_mark_place(res.markers);
	if (READ_ONCE(dev->markers) == MPA_WANT_OFF)
		place[RDMA_STACK_MARKERS] = RDMA_STACK_ABSENT;
}

/**
 * hyb_attr_query - struct rdma_stack_provider.query
 * @ibdev: device
 * @ibqp: queue pair, or NULL for new ones
 * @map: to be filled in
 *
 * TCP stays on the host, and what it does with it.
 */
void hyb_attr_query(struct ib_device *ibdev, struct ib_qp *ibqp,
		    struct rdma_stack_map *map)
{
	if (ibqp)
		hyb_query_qp_place(hyb_qp_of(ibqp), map->place);
	else
		hyb_query_dev_place(hyb_dev_of(ibdev), map->place);
	map->place[RDMA_STACK_FLOW_CONTROL] = RDMA_STACK_HOST;
	map->place[RDMA_STACK_BUFFERING] = RDMA_STACK_HOST;
	map->place[RDMA_STACK_ORDERING] = RDMA_STACK_HOST;
	map->place[RDMA_STACK_RELIABILITY] = RDMA_STACK_HOST;
	map->place[RDMA_STACK_COALESCING] = map->link ? RDMA_STACK_HOST :
							RDMA_STACK_ABSENT;
}

/* ------------------------------------------------- attributes: device */

static struct hyb_dev *hyb_attr_dev(struct device *d)
{
	return rdma_device_to_drv_device(d, struct hyb_dev, ibdev);
}

static bool hyb_attr_allowed(const struct hyb_dev *dev)
{
	return ns_capable(dev_net(dev->netdev)->user_ns, CAP_NET_ADMIN);
}

static ssize_t crc_show(struct device *d, struct device_attribute *attr,
			char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(hyb_attr_dev(d)->crc));
}

static ssize_t crc_store(struct device *d, struct device_attribute *attr,
			 const char *buf, size_t len)
{
	struct hyb_dev *dev = hyb_attr_dev(d);
	bool on;
	int err;

	if (!hyb_attr_allowed(dev))
		return -EPERM;
	err = kstrtobool(buf, &on);
	if (err)
		return err;
	WRITE_ONCE(dev->crc, on);
	return len;
}
static DEVICE_ATTR_RW(crc);

static ssize_t markers_show(struct device *d, struct device_attribute *attr,
			    char *buf)
{
	u8 want = READ_ONCE(hyb_attr_dev(d)->markers);

	return sysfs_emit(buf, "%s\n", hyb_want_names[want]);
}

static ssize_t markers_store(struct device *d, struct device_attribute *attr,
			     const char *buf, size_t len)
{
	struct hyb_dev *dev = hyb_attr_dev(d);
	int want;
	bool on;

	if (!hyb_attr_allowed(dev))
		return -EPERM;
	want = sysfs_match_string(hyb_want_names, buf);
	if (want < 0) {
		want = kstrtobool(buf, &on);
		if (want)
			return want;
		want = on ? MPA_WANT_ON : MPA_WANT_OFF;
	}
	WRITE_ONCE(dev->markers, want);
	return len;
}
static DEVICE_ATTR_RW(markers);

static ssize_t marker_interval_show(struct device *d,
				    struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(hyb_attr_dev(d)->marker_ivl));
}

static ssize_t marker_interval_store(struct device *d,
				     struct device_attribute *attr,
				     const char *buf, size_t len)
{
	struct hyb_dev *dev = hyb_attr_dev(d);
	u32 ivl;
	int err;

	if (!hyb_attr_allowed(dev))
		return -EPERM;
	err = kstrtou32(buf, 0, &ivl);
	if (err)
		return err;
	if (!mpa_ivl_valid(ivl))
		return -EINVAL;
	WRITE_ONCE(dev->marker_ivl, ivl);
	return len;
}
static DEVICE_ATTR_RW(marker_interval);

static ssize_t mpa_rev_show(struct device *d, struct device_attribute *attr,
			    char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(hyb_attr_dev(d)->mpa_rev));
}

static ssize_t mpa_rev_store(struct device *d, struct device_attribute *attr,
			     const char *buf, size_t len)
{
	struct hyb_dev *dev = hyb_attr_dev(d);
	u8 rev;
	int err;

	if (!hyb_attr_allowed(dev))
		return -EPERM;
	err = kstrtou8(buf, 0, &rev);
	if (err)
		return err;
	if (rev < MPA_REV_1 || rev > MPA_REV_2)
		return -EINVAL;
	WRITE_ONCE(dev->mpa_rev, rev);
	return len;
}
static DEVICE_ATTR_RW(mpa_rev);

static ssize_t profile_show(struct device *d, struct device_attribute *attr,
			    char *buf)
{
	struct hyb_dev *dev = hyb_attr_dev(d);
	const char *name;

	mutex_lock(&dev->attr_lock);
	name = hyb_profile_name(&dev->place);
	mutex_unlock(&dev->attr_lock);
	return sysfs_emit(buf, "%s\n", name);
}

static ssize_t profile_store(struct device *d, struct device_attribute *attr,
			     const char *buf, size_t len)
{
	struct hyb_dev *dev = hyb_attr_dev(d);
	struct hyb_place place;
	int err;

	if (!hyb_attr_allowed(dev))
		return -EPERM;
	err = hyb_profile_parse(buf, &place);
	if (err)
		return err;
	mutex_lock(&dev->attr_lock);
	dev->place = place;
	mutex_unlock(&dev->attr_lock);
	return len;
}
static DEVICE_ATTR_RW(profile);

static struct attribute *hyb_attrs[] = {
	&dev_attr_crc.attr,
	&dev_attr_marker_interval.attr,
	&dev_attr_markers.attr,
	&dev_attr_mpa_rev.attr,
	&dev_attr_profile.attr,
	NULL
};

/* Effective for new connections */
const struct attribute_group hyb_attr_group = {
	.name = "hybrid",
	.attrs = hyb_attrs,
};

void hyb_attr_dev_init(struct hyb_dev *dev)
{
	mutex_init(&dev->attr_lock);
	hyb_profile_parse("hybrid", &dev->place);
	dev->crc = true;
	dev->markers = MPA_WANT_OFF;
	dev->marker_ivl = MPA_MARK_IVL;
	dev->mpa_rev = MPA_REV_2;
}
