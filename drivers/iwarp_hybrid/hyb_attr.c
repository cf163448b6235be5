// SPDX-License-Identifier: GPL-2.0
/*
 * Attributes, profiles, placement of components. See hyb_attr.h.
 *
 * An attribute requests a placement and shows the one in effect: the host does
 * the work of a component that the NIC does not serve. Profiles and the payload mode are
 * shown as requested.
 *
 * Calls hyb_off_conn.c, hyb_place.c, hyb_stats.c and hyb_obj.c.
 */
#include <linux/kobject.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <rdma/iwarp_offload.h>
#include <rdma/rdma_stack.h>

#include "compat.h"
#include "hyb_attr.h"
#include "hyb_offload.h"
#include "hyb_place.h"
#include "hybrid.h"
#include "iwarp/crc.h"

#define HYB_ATTR_DELAY	20	/* ms until a queue pair has its directory */

/* ---------------------------------------------------------- placement */

struct hyb_profile {
	const char *name;
	struct hyb_place place;
};

/* The combinations of the papers, see profile in Documentation/knobs.rst */
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

static const char *const hyb_pay_names[HYB_PAY_MODES] = {
	[HYB_PAY_COPY] = "copy",
	[HYB_PAY_REF] = "reference",
};

/* Parse exactly one of these words: kstrtobool() ignores what follows the first letters */
static int hyb_bool_parse(const char *buf, bool *val)
{
	static const char *const words[] = { "0", "1", "n", "y", "off", "on" };
	int word = sysfs_match_string(words, buf);

	if (word < 0)
		return word;
	*val = word & 1;
	return 0;
}

static const char *const hyb_want_names[] = {
	[MPA_WANT_OFF] = "off",
	[MPA_WANT_AUTO] = "auto",
	[MPA_WANT_ON] = "on",
};

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
			u8 payload = place->payload;

			*place = hyb_profiles[i].place;
			place->payload = payload;
			return 0;
		}
	}
	return -EINVAL;
}

static const char *hyb_side_name(u8 side)
{
	return side == RDMA_STACK_NIC ? "nic" : "host";
}

static int hyb_side_parse(const char *buf, u8 *side)
{
	if (sysfs_streq(buf, "host"))
		*side = RDMA_STACK_HOST;
	else if (sysfs_streq(buf, "nic"))
		*side = RDMA_STACK_NIC;
	else
		return -EINVAL;
	return 0;
}

/* The attributes that choose a placement, alike for devices and queue pairs */
enum hyb_place_attr {
	HYB_PLACE_PROFILE,
	HYB_PLACE_CRC,
	HYB_PLACE_DEMUX,
	HYB_PLACE_MARKERS,
	HYB_PLACE_PAYLOAD,
};

/* Words that hyb_place_parse() refuses without the variants in Documentation/knobs.rst */
#if IS_ENABLED(CONFIG_RDMA_IWARP_HYBRID_RESEARCH)
#define HYB_RESEARCH_WORDS(words)	words
#else
#define HYB_RESEARCH_WORDS(words)	""
#endif

static const struct {
	const char *name;
	const char *values;
} hyb_place_names[] = {
	[HYB_PLACE_PROFILE] = { "profile",
		"host, assisted, "
		HYB_RESEARCH_WORDS("offload-contig, offload-sg, ") "hybrid" },
	[HYB_PLACE_CRC] = { "crc", "host, nic; of a device also 0, 1" },
	[HYB_PLACE_DEMUX] = { "demux", "host, nic" },
	[HYB_PLACE_MARKERS] = { "marker_placement",
		"copy, inplace" HYB_RESEARCH_WORDS(", sg, contig") },
	[HYB_PLACE_PAYLOAD] = { "tx_payload",
		"copy" HYB_RESEARCH_WORDS(", reference") },
};

static int hyb_place_word(enum hyb_place_attr what, const char *buf,
			  struct hyb_place *place)
{
	int mode;

	switch (what) {
	case HYB_PLACE_PROFILE:
		return hyb_profile_parse(buf, place);
	case HYB_PLACE_CRC:
		return hyb_side_parse(buf, &place->crc);
	case HYB_PLACE_DEMUX:
		return hyb_side_parse(buf, &place->demux);
	case HYB_PLACE_PAYLOAD:
		mode = sysfs_match_string(hyb_pay_names, buf);
		if (mode < 0)
			return -EINVAL;
		place->payload = mode;
		return 0;
	default:
		mode = sysfs_match_string(hyb_mark_names, buf);
		if (mode < 0)
			return -EINVAL;
		place->markers = mode;
		return 0;
	}
}

static int hyb_place_parse(enum hyb_place_attr what, const char *buf,
			   struct hyb_place *place)
{
	struct hyb_place want = *place;
	int err = hyb_place_word(what, buf, &want);

	if (err)
		return err;
	if (!IS_ENABLED(CONFIG_RDMA_IWARP_HYBRID_RESEARCH) &&
	    (want.markers == HYB_MARK_SG || want.markers == HYB_MARK_CONTIG ||
	     want.payload == HYB_PAY_REF))
		return -EOPNOTSUPP;
	*place = want;
	return 0;
}

/* Show a profile and the payload mode as requested, and other attributes as in effect */
static ssize_t hyb_place_emit(enum hyb_place_attr what, char *buf,
			      const struct hyb_place *requested,
			      const struct hyb_place *place)
{
	switch (what) {
	case HYB_PLACE_PROFILE:
		return sysfs_emit(buf, "%s\n", hyb_profile_name(requested));
	case HYB_PLACE_CRC:
		return sysfs_emit(buf, "%s\n", hyb_side_name(place->crc));
	case HYB_PLACE_DEMUX:
		return sysfs_emit(buf, "%s\n", hyb_side_name(place->demux));
	case HYB_PLACE_PAYLOAD:
		return sysfs_emit(buf, "%s\n", hyb_pay_names[requested->payload]);
	default:
		return sysfs_emit(buf, "%s\n", hyb_mark_names[place->markers]);
	}
}

static enum rdma_stack_place hyb_mark_place(u8 mode)
{
	return mode == HYB_MARK_SG || mode == HYB_MARK_CONTIG ?
	       RDMA_STACK_NIC : RDMA_STACK_HOST;
}

static void hyb_query_qp_place(struct hyb_qp *qp, u8 *place)
{
	/* the negotiated values are known in full operation only */
	bool known = hyb_qp_state(qp) >= HYB_QP_RTS;

	place[RDMA_STACK_CRC] = READ_ONCE(qp->place.crc);
	place[RDMA_STACK_DEMUX] = READ_ONCE(qp->place.demux);
	place[RDMA_STACK_MARKERS] = hyb_mark_place(READ_ONCE(qp->place.markers));
	if (known && !READ_ONCE(qp->tx.crc))
		place[RDMA_STACK_CRC] = RDMA_STACK_ABSENT;
	if (known && !READ_ONCE(qp->tx.s.ivl))
		place[RDMA_STACK_MARKERS] = RDMA_STACK_ABSENT;
}

/* Requested placement of a queue pair created now, and the one it would get */
static void hyb_dev_place(struct hyb_dev *dev, struct hyb_place *requested,
			  struct hyb_place *place)
{
	mutex_lock(&dev->attr_lock);
	*requested = dev->place;
	mutex_unlock(&dev->attr_lock);
	*place = hyb_place_resolve(requested, hyb_off_dev_nic(dev->netdev));
}

static void hyb_query_dev_place(struct hyb_dev *dev, u8 *place)
{
	struct hyb_place requested, res;

	hyb_dev_place(dev, &requested, &res);
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
 * TCP stays on the host, and with it what TCP does. Messages are coalesced on
 * a shared link.
 */
void hyb_attr_query(struct ib_device *ibdev, struct ib_qp *ibqp,
		    struct rdma_stack_map *map)
{
	if (ibqp)
		hyb_query_qp_place(hyb_qp_of(ibqp), map->place);
	else
		hyb_query_dev_place(hyb_dev_of(ibdev), map->place);
	map->link = true;
	/* as agreed to, see MPA_CODE_EXT */
	map->immediate = !ibqp || READ_ONCE(hyb_qp_of(ibqp)->tx.ext);
	map->place[RDMA_STACK_FLOW_CONTROL] = RDMA_STACK_HOST;
	map->place[RDMA_STACK_BUFFERING] = RDMA_STACK_HOST;
	map->place[RDMA_STACK_ORDERING] = RDMA_STACK_HOST;
	map->place[RDMA_STACK_RELIABILITY] = RDMA_STACK_HOST;
	map->place[RDMA_STACK_COALESCING] = RDMA_STACK_HOST;
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

/*
 * Log the valid values, as an administrator sees only EINVAL. The owner of a user namespace
 * cannot read the log.
 */
static int hyb_attr_refused(struct hyb_dev *dev, const char *name,
			    const char *values)
{
	if (capable(CAP_NET_ADMIN))
		ibdev_info_ratelimited(&dev->ibdev, "%s takes: %s\n", name,
				       values);
	return -EINVAL;
}

static int hyb_place_refused(struct hyb_dev *dev, enum hyb_place_attr what)
{
	return hyb_attr_refused(dev, hyb_place_names[what].name,
				hyb_place_names[what].values);
}

static ssize_t hyb_dev_place_show(struct hyb_dev *dev, enum hyb_place_attr what,
				  char *buf)
{
	struct hyb_place requested, place;

	hyb_dev_place(dev, &requested, &place);
	return hyb_place_emit(what, buf, &requested, &place);
}

static ssize_t hyb_dev_place_store(struct hyb_dev *dev,
				   enum hyb_place_attr what, const char *buf,
				   size_t len)
{
	int err;

	if (!hyb_attr_allowed(dev))
		return -EPERM;
	mutex_lock(&dev->attr_lock);
	err = hyb_place_parse(what, buf, &dev->place);
	mutex_unlock(&dev->attr_lock);
	if (err == -EINVAL)
		return hyb_place_refused(dev, what);
	if (err)
		return err;
	rdma_stack_changed(&dev->ibdev);
	return len;
}

#define HYB_DEV_PLACE_ATTR(_name, _what)				\
static const enum hyb_place_attr _name##_place = (_what);		\
static ssize_t _name##_show(struct device *d,				\
			    struct device_attribute *attr, char *buf)	\
{									\
	return hyb_dev_place_show(hyb_attr_dev(d), _name##_place, buf);	\
}									\
static ssize_t _name##_store(struct device *d,				\
			     struct device_attribute *attr,		\
			     const char *buf, size_t len)		\
{									\
	return hyb_dev_place_store(hyb_attr_dev(d), _name##_place, buf,	\
				   len);				\
}									\
static DEVICE_ATTR_RW(_name)

HYB_DEV_PLACE_ATTR(profile, HYB_PLACE_PROFILE);
HYB_DEV_PLACE_ATTR(demux, HYB_PLACE_DEMUX);
HYB_DEV_PLACE_ATTR(marker_placement, HYB_PLACE_MARKERS);
HYB_DEV_PLACE_ATTR(tx_payload, HYB_PLACE_PAYLOAD);

/*
 * Accepts 0 or 1, whether this side asks for CRC, or a placement, which implies 1. Shows
 * 0 or the placement in effect.
 */
static ssize_t crc_show(struct device *d, struct device_attribute *attr,
			char *buf)
{
	struct hyb_dev *dev = hyb_attr_dev(d);

	if (!READ_ONCE(dev->crc))
		return sysfs_emit(buf, "0\n");
	return hyb_dev_place_show(dev, HYB_PLACE_CRC, buf);
}

static ssize_t crc_store(struct device *d, struct device_attribute *attr,
			 const char *buf, size_t len)
{
	struct hyb_dev *dev = hyb_attr_dev(d);
	ssize_t ret = len;
	bool on = true;

	if (!hyb_attr_allowed(dev))
		return -EPERM;
	if (hyb_bool_parse(buf, &on))
		ret = hyb_dev_place_store(dev, HYB_PLACE_CRC, buf, len);
	if (ret >= 0)
		WRITE_ONCE(dev->crc, on);
	return ret;
}
static DEVICE_ATTR_RW(crc);

static ssize_t markers_show(struct device *d, struct device_attribute *attr,
			    char *buf)
{
	u8 want = READ_ONCE(hyb_attr_dev(d)->markers);

	return sysfs_emit(buf, "%s\n", hyb_want_names[want]);
}

/* auto, on or off; also 1 and 0, as in earlier versions */
static ssize_t markers_store(struct device *d, struct device_attribute *attr,
			     const char *buf, size_t len)
{
	struct hyb_dev *dev = hyb_attr_dev(d);
	int want = sysfs_match_string(hyb_want_names, buf);
	bool on;

	if (!hyb_attr_allowed(dev))
		return -EPERM;
	if (want < 0) {
		if (hyb_bool_parse(buf, &on))
			return hyb_attr_refused(dev, attr->attr.name,
						"auto, on, off");
		want = on ? MPA_WANT_ON : MPA_WANT_OFF;
	}
	WRITE_ONCE(dev->markers, want);
	rdma_stack_changed(&dev->ibdev);
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

	if (!hyb_attr_allowed(dev))
		return -EPERM;
	if (kstrtou32(buf, 0, &ivl) || !mpa_ivl_valid(ivl))
		return hyb_attr_refused(dev, attr->attr.name,
					"a power of two from 256 to 16384");
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

	if (!hyb_attr_allowed(dev))
		return -EPERM;
	if (kstrtou8(buf, 0, &rev) || rev < MPA_REV_1 || rev > MPA_REV_2)
		return hyb_attr_refused(dev, attr->attr.name, "1, 2");
	WRITE_ONCE(dev->mpa_rev, rev);
	return len;
}
static DEVICE_ATTR_RW(mpa_rev);

/* Apply a change of the device to all connected queue pairs */
static void hyb_dev_follow(struct hyb_dev *dev)
{
	struct hyb_qp *qp;
	unsigned long qpn;
	struct sock *sk;

	xa_for_each(&dev->qps, qpn, qp) {
		/* look up again to get a reference: the queue pair may be gone already */
		qp = hyb_qp_lookup(dev, qpn);
		if (!qp)
			continue;
		spin_lock_irq(&qp->tcp.lock);
		sk = qp->tcp.sk;
		qp->attr_behind |= !sk;
		spin_unlock_irq(&qp->tcp.lock);
		if (sk) {
			lock_sock(sk);
			hyb_off_update(qp);
			release_sock(sk);
		}
		hyb_qp_put(qp);
	}
}

static ssize_t verify_show(struct device *d, struct device_attribute *attr,
			   char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(hyb_attr_dev(d)->verify));
}

static ssize_t verify_store(struct device *d, struct device_attribute *attr,
			    const char *buf, size_t len)
{
	struct hyb_dev *dev = hyb_attr_dev(d);
	bool on;

	if (!hyb_attr_allowed(dev))
		return -EPERM;
	if (hyb_bool_parse(buf, &on))
		return hyb_attr_refused(dev, attr->attr.name, "0, 1");
	mutex_lock(&dev->attr_lock);
	WRITE_ONCE(dev->verify, on);
	hyb_dev_follow(dev);
	mutex_unlock(&dev->attr_lock);
	return len;
}
static DEVICE_ATTR_RW(verify);

/* Filters of the NIC's table are the administrator's; connections may use this many */
static ssize_t ntuple_filters_show(struct device *d,
				   struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n",
			  READ_ONCE(hyb_attr_dev(d)->ntuple_filters));
}

static ssize_t ntuple_filters_store(struct device *d,
				    struct device_attribute *attr,
				    const char *buf, size_t len)
{
	struct hyb_dev *dev = hyb_attr_dev(d);
	u32 max;

	if (!hyb_attr_allowed(dev))
		return -EPERM;
	if (kstrtou32(buf, 0, &max) || max > HYB_OFF_FILTERS_MAX)
		return hyb_attr_refused(dev, attr->attr.name,
					"a number from 0 to 8192");
	mutex_lock(&dev->attr_lock);
	WRITE_ONCE(dev->ntuple_filters, max);
	hyb_dev_follow(dev);
	mutex_unlock(&dev->attr_lock);
	return len;
}
static DEVICE_ATTR_RW(ntuple_filters);

/* Shows the placement in effect, as other attributes do: the NIC may not support it */
static ssize_t placement_show(struct device *d, struct device_attribute *attr,
			      char *buf)
{
	struct hyb_dev *dev = hyb_attr_dev(d);
	u8 side = READ_ONCE(dev->placement);

	if (!(hyb_off_dev_nic(dev->netdev) & BIT(IWARP_OFFLOAD_RX_PLACE)))
		side = RDMA_STACK_HOST;
	return sysfs_emit(buf, "%s\n", hyb_side_name(side));
}

static ssize_t placement_store(struct device *d, struct device_attribute *attr,
			       const char *buf, size_t len)
{
	struct hyb_dev *dev = hyb_attr_dev(d);
	u8 side;

	if (!hyb_attr_allowed(dev))
		return -EPERM;
	if (hyb_side_parse(buf, &side))
		return hyb_attr_refused(dev, attr->attr.name,
					"host, nic");
	mutex_lock(&dev->attr_lock);
	WRITE_ONCE(dev->placement, side);
	hyb_dev_follow(dev);
	mutex_unlock(&dev->attr_lock);
	return len;
}
static DEVICE_ATTR_RW(placement);

/* on or off: do new connections place FPDUs that arrive out of order? */
static ssize_t ooo_show(struct device *d, struct device_attribute *attr,
			char *buf)
{
	return sysfs_emit(buf, "%s\n", READ_ONCE(hyb_attr_dev(d)->ooo) ?
			  "on" : "off");
}

static ssize_t ooo_store(struct device *d, struct device_attribute *attr,
			 const char *buf, size_t len)
{
	struct hyb_dev *dev = hyb_attr_dev(d);
	bool on;

	if (!hyb_attr_allowed(dev))
		return -EPERM;
	if (hyb_bool_parse(buf, &on))
		return hyb_attr_refused(dev, attr->attr.name, "on, off");
	WRITE_ONCE(dev->ooo, on);
	return len;
}
static DEVICE_ATTR_RW(ooo);

/* crc32q or kernel: code that computes the CRCs of new connections on the host */
static ssize_t crc_driver_show(struct device *d, struct device_attribute *attr,
			       char *buf)
{
	return sysfs_emit(buf, "%s\n", READ_ONCE(hyb_attr_dev(d)->crc_kernel) ?
			  "kernel" : iwarp_crc_driver());
}

static ssize_t crc_driver_store(struct device *d, struct device_attribute *attr,
				const char *buf, size_t len)
{
	struct hyb_dev *dev = hyb_attr_dev(d);
	bool kernel = sysfs_streq(buf, "kernel");

	if (!hyb_attr_allowed(dev))
		return -EPERM;
	if (!kernel && !sysfs_streq(buf, "crc32q"))
		return hyb_attr_refused(dev, attr->attr.name,
					"crc32q, kernel");
	if (!kernel && strcmp(iwarp_crc_driver(), "crc32q"))
		return -EOPNOTSUPP;
	WRITE_ONCE(dev->crc_kernel, kernel);
	return len;
}
static DEVICE_ATTR_RW(crc_driver);

static ssize_t offload_show(struct device *d, struct device_attribute *attr,
			    char *buf)
{
	return hyb_off_dev_show(hyb_attr_dev(d)->netdev, buf);
}
static DEVICE_ATTR_RO(offload);

static struct attribute *hyb_attrs[] = {
	&dev_attr_crc.attr,
	&dev_attr_crc_driver.attr,
	&dev_attr_demux.attr,
	&dev_attr_marker_interval.attr,
	&dev_attr_marker_placement.attr,
	&dev_attr_markers.attr,
	&dev_attr_mpa_rev.attr,
	&dev_attr_ntuple_filters.attr,
	&dev_attr_offload.attr,
	&dev_attr_ooo.attr,
	&dev_attr_placement.attr,
	&dev_attr_profile.attr,
	&dev_attr_tx_payload.attr,
	&dev_attr_verify.attr,
	NULL
};

/*
 * Effective for new queue pairs and connections; ntuple_filters, placement and verify also
 * for existing ones. rdma_stack adds the attribute components.
 */
const struct attribute_group hyb_attr_group = {
	.name = "hybrid",
	.attrs = hyb_attrs,
};

/* --------------------------------------------- attributes: queue pair */

/**
 * struct hyb_attr_dev - directory of the queue pairs of a device
 * @kobj: DEV/hybrid_qp, which DEV/hybrid/qp is a link to: an attribute group
 *	  cannot have directories
 * @dev: device; valid as long as the directory exists
 * @lock: protects @fresh, and hyb_qp.attr of its queue pairs; not held while waiting for
 *	  users of attributes
 * @fresh: queue pairs that have no directory yet, by hyb_qp.attr_fresh
 * @show: creates their directories
 */
struct hyb_attr_dev {
	struct kobject kobj;
	struct hyb_dev *dev;
	struct mutex lock;		/* see above */
	struct list_head fresh;
	struct delayed_work show;
};

/**
 * struct hyb_attr_qp - directory of a queue pair, by its number
 * @kobj: the directory
 * @qp: queue pair; valid as long as the directory exists
 */
struct hyb_attr_qp {
	struct kobject kobj;
	struct hyb_qp *qp;
};

static struct hyb_qp *hyb_attr_qp(struct kobject *kobj)
{
	return container_of(kobj, struct hyb_attr_qp, kobj)->qp;
}

static ssize_t hyb_qp_place_show(struct hyb_qp *qp, enum hyb_place_attr what,
				 char *buf)
{
	struct hyb_place requested, place;

	mutex_lock(&qp->dev->attr_lock);
	requested = qp->requested;
	place = qp->place;
	mutex_unlock(&qp->dev->attr_lock);
	return hyb_place_emit(what, buf, &requested, &place);
}

static void hyb_attr_request(struct hyb_qp *qp, const struct hyb_place *requested)
{
	struct sock *sk;

	spin_lock_irq(&qp->tcp.lock);
	sk = qp->tcp.sk;
	if (!sk) {
		qp->requested = *requested;
		qp->attr_behind = true;
		/* the host does it all until a connection finds which engines its NIC has */
		hyb_place_update(qp, 0);
	}
	spin_unlock_irq(&qp->tcp.lock);
	if (!sk)
		return;
	lock_sock(sk);
	qp->requested = *requested;
	hyb_off_update(qp);
	release_sock(sk);
}

static ssize_t hyb_qp_place_store(struct hyb_qp *qp, enum hyb_place_attr what,
				  const char *buf, size_t len)
{
	struct hyb_dev *dev = qp->dev;
	struct hyb_place requested;
	int err;

	if (!hyb_attr_allowed(dev))
		return -EPERM;
	mutex_lock(&dev->attr_lock);
	requested = qp->requested;
	err = hyb_place_parse(what, buf, &requested);
	if (!err)
		hyb_attr_request(qp, &requested);
	mutex_unlock(&dev->attr_lock);
	if (err == -EINVAL)
		return hyb_place_refused(dev, what);
	if (err)
		return err;
	hyb_place_changed(dev);
	return len;
}

#define HYB_QP_PLACE_ATTR(_name, _what)					\
static const enum hyb_place_attr qp_##_name##_place = (_what);		\
static ssize_t qp_##_name##_show(struct kobject *kobj,			\
				 struct kobj_attribute *attr, char *buf) \
{									\
	return hyb_qp_place_show(hyb_attr_qp(kobj), qp_##_name##_place,	\
				 buf);					\
}									\
static ssize_t qp_##_name##_store(struct kobject *kobj,			\
				  struct kobj_attribute *attr,		\
				  const char *buf, size_t len)		\
{									\
	return hyb_qp_place_store(hyb_attr_qp(kobj), qp_##_name##_place, \
				  buf, len);				\
}									\
static struct kobj_attribute hyb_qp_attr_##_name =			\
	__ATTR(_name, 0644, qp_##_name##_show, qp_##_name##_store)

#define HYB_QP_ATTR_RO(_name)						\
static struct kobj_attribute hyb_qp_attr_##_name =			\
	__ATTR(_name, 0444, qp_##_name##_show, NULL)

HYB_QP_PLACE_ATTR(profile, HYB_PLACE_PROFILE);
HYB_QP_PLACE_ATTR(crc, HYB_PLACE_CRC);
HYB_QP_PLACE_ATTR(demux, HYB_PLACE_DEMUX);
HYB_QP_PLACE_ATTR(marker_placement, HYB_PLACE_MARKERS);
HYB_QP_PLACE_ATTR(tx_payload, HYB_PLACE_PAYLOAD);

static ssize_t qp_components_show(struct kobject *kobj,
				  struct kobj_attribute *attr, char *buf)
{
	struct hyb_qp *qp = hyb_attr_qp(kobj);
	struct rdma_stack_map map = {};
	int comp, len = 0;

	hyb_attr_query(&qp->dev->ibdev, &qp->ibqp, &map);
	for (comp = 0; comp < RDMA_STACK_COMPS; comp++)
		len += sysfs_emit_at(buf, len, "%s %s\n",
				     rdma_stack_comp_name(comp),
				     rdma_stack_place_name(map.place[comp]));
	return len;
}
HYB_QP_ATTR_RO(components);

static ssize_t qp_marker_interval_show(struct kobject *kobj,
				       struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(hyb_attr_qp(kobj)->tx.s.ivl));
}
HYB_QP_ATTR_RO(marker_interval);

static ssize_t qp_rx_marker_interval_show(struct kobject *kobj,
					  struct kobj_attribute *attr,
					  char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(hyb_attr_qp(kobj)->rx.ivl));
}
HYB_QP_ATTR_RO(rx_marker_interval);

/* The CPU on which TCP last received a packet; -1: not connected, or none has arrived */
static ssize_t qp_cpu_show(struct kobject *kobj, struct kobj_attribute *attr,
			   char *buf)
{
	struct hyb_qp *qp = hyb_attr_qp(kobj);
	/* the socket is referenced until the directory is gone */
	struct sock *sk = smp_load_acquire(&qp->tcp.sk);
	int cpu = hyb_off_cpu(qp);

	if (cpu < 0 && sk)
		cpu = READ_ONCE(sk->sk_incoming_cpu);
	return sysfs_emit(buf, "%d\n", cpu);
}
HYB_QP_ATTR_RO(cpu);

static ssize_t qp_queue_show(struct kobject *kobj, struct kobj_attribute *attr,
			     char *buf)
{
	return sysfs_emit(buf, "%d\n", hyb_off_queue(hyb_attr_qp(kobj)));
}
HYB_QP_ATTR_RO(queue);

static ssize_t qp_steering_show(struct kobject *kobj,
				struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", hyb_off_steering_name(hyb_attr_qp(kobj)));
}
HYB_QP_ATTR_RO(steering);

static ssize_t qp_offload_show(struct kobject *kobj,
			       struct kobj_attribute *attr, char *buf)
{
	return hyb_off_show(hyb_attr_qp(kobj), buf);
}
HYB_QP_ATTR_RO(offload);

/* the result of the device's attribute for this connection */
static ssize_t qp_ooo_show(struct kobject *kobj, struct kobj_attribute *attr,
			   char *buf)
{
	return sysfs_emit(buf, "%s\n", READ_ONCE(hyb_attr_qp(kobj)->ooo) ?
			  "on" : "off");
}
HYB_QP_ATTR_RO(ooo);

static ssize_t qp_counters_show(struct kobject *kobj,
				struct kobj_attribute *attr, char *buf)
{
	return hyb_stats_show(hyb_attr_qp(kobj), buf);
}
HYB_QP_ATTR_RO(counters);

static struct attribute *hyb_qp_attrs[] = {
	&hyb_qp_attr_components.attr,
	&hyb_qp_attr_counters.attr,
	&hyb_qp_attr_cpu.attr,
	&hyb_qp_attr_crc.attr,
	&hyb_qp_attr_demux.attr,
	&hyb_qp_attr_marker_interval.attr,
	&hyb_qp_attr_marker_placement.attr,
	&hyb_qp_attr_offload.attr,
	&hyb_qp_attr_ooo.attr,
	&hyb_qp_attr_profile.attr,
	&hyb_qp_attr_queue.attr,
	&hyb_qp_attr_rx_marker_interval.attr,
	&hyb_qp_attr_steering.attr,
	&hyb_qp_attr_tx_payload.attr,
	NULL
};
ATTRIBUTE_GROUPS(hyb_qp);

/* -------------------------------------------------------- directories */

static void hyb_attr_qp_release(struct kobject *kobj)
{
	kfree(container_of(kobj, struct hyb_attr_qp, kobj));
}

static void hyb_attr_dev_release(struct kobject *kobj)
{
	kfree(container_of(kobj, struct hyb_attr_dev, kobj));
}

/* Belongs to root of the user namespace of the net device */
static void hyb_attr_owner(COMPAT_KOBJ_CONST struct kobject *kobj, kuid_t *uid,
			   kgid_t *gid)
{
	const struct hyb_attr_dev *dir =
		container_of(kobj->parent, struct hyb_attr_dev, kobj);

	net_ns_get_ownership(dev_net(dir->dev->netdev), uid, gid);
}

static const struct kobj_type hyb_attr_qp_type = {
	.sysfs_ops = &kobj_sysfs_ops,
	.release = hyb_attr_qp_release,
	.default_groups = hyb_qp_groups,
	.get_ownership = hyb_attr_owner,
};

static const struct kobj_type hyb_attr_dev_type = {
	.sysfs_ops = &kobj_sysfs_ops,
	.release = hyb_attr_dev_release,
};

static int hyb_attr_qp_show(struct hyb_attr_dev *dir, struct hyb_qp *qp)
{
	struct hyb_attr_qp *attr;
	int err;

	lockdep_assert_held(&dir->lock);
	attr = kzalloc(sizeof(*attr), GFP_KERNEL);
	if (!attr)
		return -ENOMEM;
	attr->qp = qp;
	err = kobject_init_and_add(&attr->kobj, &hyb_attr_qp_type, &dir->kobj,
				   "%u", qp->ibqp.qp_num);
	if (err) {
		kobject_put(&attr->kobj);
		return err;
	}
	qp->attr = attr;
	return 0;
}

static void hyb_attr_show_work(struct work_struct *work)
{
	struct hyb_attr_dev *dir = container_of(to_delayed_work(work),
						struct hyb_attr_dev, show);
	struct hyb_qp *qp, *next;
	int err;

	mutex_lock(&dir->lock);
	list_for_each_entry_safe(qp, next, &dir->fresh, attr_fresh) {
		list_del_init(&qp->attr_fresh);
		err = hyb_attr_qp_show(dir, qp);
		if (err)
			ibdev_warn_ratelimited(&dir->dev->ibdev,
					       "QP%u is not in sysfs: %d\n",
					       qp->ibqp.qp_num, err);
	}
	mutex_unlock(&dir->lock);
}

/**
 * hyb_attr_qp_add - create the directory of a queue pair, after a delay
 * @qp: queue pair that has its number
 *
 * Creating the files takes about as long as setting up and ending a connection.
 * So a short connection gets none.
 */
void hyb_attr_qp_add(struct hyb_qp *qp)
{
	struct hyb_attr_dev *dir = qp->dev->attr;

	INIT_LIST_HEAD(&qp->attr_fresh);
	if (!dir)
		return;
	mutex_lock(&dir->lock);
	list_add_tail(&qp->attr_fresh, &dir->fresh);
	mutex_unlock(&dir->lock);
	queue_delayed_work(hyb_wq, &dir->show,
			   msecs_to_jiffies(HYB_ATTR_DELAY));
}

/**
 * hyb_attr_qp_del - remove the directory of a queue pair
 * @qp: queue pair
 *
 * Waits for readers and writers; afterwards no attribute uses @qp.
 */
void hyb_attr_qp_del(struct hyb_qp *qp)
{
	struct hyb_attr_dev *dir = qp->dev->attr;
	struct hyb_attr_qp *attr;

	if (!dir)
		return;
	mutex_lock(&dir->lock);
	list_del_init(&qp->attr_fresh);
	attr = qp->attr;
	qp->attr = NULL;
	mutex_unlock(&dir->lock);
	if (!attr)
		return;
	kobject_del(&attr->kobj);
	kobject_put(&attr->kobj);
}

/* Give the attributes to root of the user namespace of the net device, which may write them */
static int hyb_attr_chown(struct hyb_dev *dev)
{
	kuid_t uid = GLOBAL_ROOT_UID;
	kgid_t gid = GLOBAL_ROOT_GID;

	net_ns_get_ownership(dev_net(dev->netdev), &uid, &gid);
	return sysfs_group_change_owner(&dev->ibdev.dev.kobj, &hyb_attr_group,
					uid, gid);
}

/**
 * hyb_attr_dev_add - ib_device_ops.enable_driver
 * @ibdev: device, in sysfs but not yet in use; again after it has moved to
 *	   another namespace of the RDMA core
 *
 * Return: 0 or negative errno.
 */
int hyb_attr_dev_add(struct ib_device *ibdev)
{
	struct kobject *parent = &ibdev->dev.kobj;
	struct hyb_dev *dev = hyb_dev_of(ibdev);
	struct hyb_attr_dev *attr;
	int err;

	if (dev->attr)
		return 0;
	err = hyb_attr_chown(dev);
	if (err)
		return err;
	attr = kzalloc(sizeof(*attr), GFP_KERNEL);
	if (!attr)
		return -ENOMEM;
	attr->dev = dev;
	mutex_init(&attr->lock);
	INIT_LIST_HEAD(&attr->fresh);
	INIT_DELAYED_WORK(&attr->show, hyb_attr_show_work);
	err = kobject_init_and_add(&attr->kobj, &hyb_attr_dev_type, parent,
				   "hybrid_qp");
	if (err)
		goto err_put;
	err = sysfs_add_link_to_group(parent, hyb_attr_group.name, &attr->kobj,
				      "qp");
	if (err)
		goto err_put;
	dev->attr = attr;
	return 0;

err_put:
	kobject_put(&attr->kobj);
	return err;
}

/* Called for a device that has no queue pairs any more, and is not in sysfs */
void hyb_attr_dev_del(struct hyb_dev *dev)
{
	struct hyb_attr_dev *attr = dev->attr;

	cancel_delayed_work_sync(&dev->news);
	if (!attr)
		return;
	dev->attr = NULL;
	cancel_delayed_work_sync(&attr->show);
	kobject_del(&attr->kobj);
	kobject_put(&attr->kobj);
}

void hyb_attr_dev_init(struct hyb_dev *dev)
{
	mutex_init(&dev->attr_lock);
	hyb_place_dev_init(dev);
	spin_lock_init(&dev->place_lock);
	dev->placement = RDMA_STACK_HOST;
	hyb_profile_parse("hybrid", &dev->place);
	dev->crc = true;
	dev->markers = MPA_WANT_AUTO;
	dev->marker_ivl = MPA_MARK_IVL;
	dev->mpa_rev = MPA_REV_2;
}
