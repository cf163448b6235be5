// SPDX-License-Identifier: GPL-2.0
/*
 * Settings and times in /sys/class/net/DEV/hnic/. Calls hnic_link.c,
 * hnic_engine.c, hnic_rx.c.
 *
 * Context of all: process. Stores take hnic_dev.lock; queue_cpus_store() takes
 * the lock of the net device before it. None takes RTNL: open and stop take
 * these locks under RTNL, and the removal of a device waits, with RTNL held, for
 * tasks that run here.
 */
#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/stringify.h>
#include <linux/sysfs.h>

#include "hnic.h"

static struct hnic_dev *hnic_of(struct device *dev)
{
	return netdev_priv(to_net_dev(dev));
}

/* The same privilege as for other settings of a network device */
static bool hnic_allowed(struct device *dev)
{
	return ns_capable(dev_net(to_net_dev(dev))->user_ns, CAP_NET_ADMIN);
}

/* As for rps_cpus: the owner of a user namespace may not choose the CPUs of kernel threads */
static bool hnic_cpus_allowed(void)
{
	return capable(CAP_NET_ADMIN);
}

/*
 * Log the valid range, as an administrator sees only EINVAL. The owner of a user namespace
 * cannot read the log, and would use up the rate limit that all namespaces share.
 */
static int hnic_refused(struct device *dev, const char *name, const char *what,
			u32 min, u32 max)
{
	if (capable(CAP_NET_ADMIN) && net_ratelimit())
		netdev_info(to_net_dev(dev), "%s takes %s from %u to %u\n",
			    name, what, min, max);
	return -EINVAL;
}

/* ---------------------------------------------------------------- knobs */

/**
 * struct hnic_attr - a number that can be set
 * @attr: the file
 * @knob: which
 * @min: smallest value
 * @max: largest value
 */
struct hnic_attr {
	struct device_attribute attr;
	enum hnic_knob knob;
	u32 min;
	u32 max;
};

static ssize_t hnic_knob_show(struct device *dev, struct device_attribute *attr,
			      char *buf)
{
	struct hnic_attr *a = container_of(attr, struct hnic_attr, attr);

	return sysfs_emit(buf, "%u\n",
			  READ_ONCE(hnic_of(dev)->link.knob[a->knob]));
}

static ssize_t hnic_knob_store(struct device *dev,
			       struct device_attribute *attr, const char *buf,
			       size_t len)
{
	struct hnic_attr *a = container_of(attr, struct hnic_attr, attr);
	struct hnic_dev *hd = hnic_of(dev);
	u32 val;

	if (!hnic_allowed(dev))
		return -EPERM;
	if (kstrtou32(buf, 0, &val) || val < a->min || val > a->max)
		return hnic_refused(dev, attr->attr.name, "a number", a->min,
				    a->max);
	mutex_lock(&hd->lock);
	WRITE_ONCE(hd->link.knob[a->knob], val);
	if (a->knob == HNIC_SEED) {
		WRITE_ONCE(hd->link.random, val);
		WRITE_ONCE(hd->rx_random, val);
	}
	hnic_link_update(hd);
	mutex_unlock(&hd->lock);
	return len;
}

#define HNIC_ATTR(_name, _knob, _min, _max)				\
	static struct hnic_attr hnic_attr_##_name = {			\
		.attr = __ATTR(_name, 0644, hnic_knob_show,		\
			       hnic_knob_store),			\
		.knob = _knob,						\
		.min = _min,						\
		.max = _max,						\
	}

#define HNIC_PPM	1000000
#define HNIC_DELAY_MAX	1000000

HNIC_ATTR(rate, HNIC_RATE, 0, 400000);
HNIC_ATTR(delay, HNIC_DELAY, 0, HNIC_DELAY_MAX);
HNIC_ATTR(paths, HNIC_NPATHS, 1, HNIC_PATHS);
HNIC_ATTR(loss, HNIC_LOSS, 0, HNIC_PPM);
HNIC_ATTR(reorder, HNIC_REORDER, 0, HNIC_PPM);
HNIC_ATTR(reorder_delay, HNIC_REORDER_DELAY, 1, HNIC_DELAY_MAX);
HNIC_ATTR(split, HNIC_SPLIT, 0, HNIC_PPM);
HNIC_ATTR(coalesce, HNIC_COALESCE, 0, HNIC_PPM);
HNIC_ATTR(fault_corrupt, HNIC_FAULT_CORRUPT, 0, HNIC_PPM);
HNIC_ATTR(fault_verdict, HNIC_FAULT_VERDICT, 0, HNIC_PPM);
HNIC_ATTR(fault_resync, HNIC_FAULT_RESYNC, 0, HNIC_PPM);
HNIC_ATTR(seed, HNIC_SEED, 1, U32_MAX);
HNIC_ATTR(max_conns, HNIC_MAX_CONNS, 0, 65536);
HNIC_ATTR(max_frags, HNIC_MAX_FRAGS, 1, MAX_SKB_FRAGS);
HNIC_ATTR(max_fpdu, HNIC_MAX_FPDU, 64, HNIC_MTU_MAX);
HNIC_ATTR(max_bufs, HNIC_MAX_BUFS, 0, 4096);
HNIC_ATTR(dma_ns, HNIC_DMA_NS, 0, 1000000);
HNIC_ATTR(dma_rate, HNIC_DMA_RATE, 0, 400000);
HNIC_ATTR(mem_rate, HNIC_MEM_RATE, 0, 400000);
HNIC_ATTR(crc_on_the_fly, HNIC_CRC_ON_THE_FLY, 0, 1);

/*
 * Parse at most @n numbers from @min to @max, separated by blanks. Return their
 * number, at least one, or an error.
 */
static int hnic_parse_list(const char *buf, int *val, int n, int min, int max)
{
	char *copy = kstrdup(buf, GFP_KERNEL), *rest = copy, *word;
	int count = 0, err = copy ? 0 : -ENOMEM;

	while (!err && (word = strsep(&rest, "\n "))) {
		if (!*word)
			continue;
		if (count == n || kstrtoint(word, 0, &val[count]) ||
		    val[count] < min || val[count] > max)
			err = -EINVAL;
		count++;
	}
	kfree(copy);
	return err ?: count ?: -EINVAL;
}

static ssize_t path_delay_show(struct device *dev,
			       struct device_attribute *attr, char *buf)
{
	struct hnic_dev *hd = hnic_of(dev);
	int i, n = 0;

	for (i = 0; i < READ_ONCE(hd->link.knob[HNIC_NPATHS]); i++)
		n += sysfs_emit_at(buf, n, "%s%u", i ? " " : "",
				   READ_ONCE(hd->link.path_delay[i]));
	return n + sysfs_emit_at(buf, n, "\n");
}

/* One number for each path, from the first on; 0 for the rest */
static ssize_t path_delay_store(struct device *dev,
				struct device_attribute *attr,
				const char *buf, size_t len)
{
	struct hnic_dev *hd = hnic_of(dev);
	int val[HNIC_PATHS] = {};
	int i, n;

	if (!hnic_allowed(dev))
		return -EPERM;
	n = hnic_parse_list(buf, val, HNIC_PATHS, 0, HNIC_DELAY_MAX);
	if (n == -EINVAL)
		return hnic_refused(dev, attr->attr.name,
				    "up to " __stringify(HNIC_PATHS) " numbers",
				    0, HNIC_DELAY_MAX);
	if (n < 0)
		return n;
	mutex_lock(&hd->lock);
	for (i = 0; i < HNIC_PATHS; i++)
		WRITE_ONCE(hd->link.path_delay[i], val[i]);
	hnic_link_update(hd);
	mutex_unlock(&hd->lock);
	return len;
}
static DEVICE_ATTR_RW(path_delay);

/* ----------------------------------------------------------------- CPUs */

/* Result in @cpu: an online one, or -1 for any */
static int hnic_parse_cpu(int val, int *cpu)
{
	if (val < -1 || val >= (int)nr_cpu_ids ||
	    (val >= 0 && !cpu_online(val)))
		return -EINVAL;
	*cpu = val;
	return 0;
}

static ssize_t hnic_engine_cpu_store(struct hnic_engine *e,
				     struct device_attribute *attr,
				     const char *buf, size_t len)
{
	struct device *dev = &e->dev->netdev->dev;
	int val, err;

	if (!hnic_cpus_allowed())
		return -EPERM;
	if (kstrtoint(buf, 0, &val) || hnic_parse_cpu(val, &val))
		return hnic_refused(dev, attr->attr.name,
				    "-1 for any, or an online CPU", 0,
				    nr_cpu_ids - 1);
	mutex_lock(&e->dev->lock);
	err = hnic_engine_pin(e, val);
	mutex_unlock(&e->dev->lock);
	return err ?: len;
}

static ssize_t tx_cpu_show(struct device *dev, struct device_attribute *attr,
			   char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(hnic_of(dev)->tx.cpu));
}

static ssize_t tx_cpu_store(struct device *dev, struct device_attribute *attr,
			    const char *buf, size_t len)
{
	return hnic_engine_cpu_store(&hnic_of(dev)->tx, attr, buf, len);
}
static DEVICE_ATTR_RW(tx_cpu);

static ssize_t rx_cpu_show(struct device *dev, struct device_attribute *attr,
			   char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(hnic_of(dev)->rx.cpu));
}

static ssize_t rx_cpu_store(struct device *dev, struct device_attribute *attr,
			    const char *buf, size_t len)
{
	return hnic_engine_cpu_store(&hnic_of(dev)->rx, attr, buf, len);
}
static DEVICE_ATTR_RW(rx_cpu);

static ssize_t queue_cpus_show(struct device *dev,
			       struct device_attribute *attr, char *buf)
{
	struct hnic_dev *hd = hnic_of(dev);
	int i, n = 0;

	for (i = 0; i < hd->nqueues; i++)
		n += sysfs_emit_at(buf, n, "%s%d", i ? " " : "",
				   READ_ONCE(hd->queue[i].cpu));
	return n + sysfs_emit_at(buf, n, "\n");
}

/* One number for each queue, from the first on; the rest stay */
static ssize_t queue_cpus_store(struct device *dev,
				struct device_attribute *attr,
				const char *buf, size_t len)
{
	struct hnic_dev *hd = hnic_of(dev);
	int cpu[HNIC_QUEUES];
	int i, n, err = 0;

	if (!hnic_cpus_allowed())
		return -EPERM;
	n = hnic_parse_list(buf, cpu, min(hd->nqueues, HNIC_QUEUES), -1,
			    nr_cpu_ids - 1);
	for (i = 0; i < n; i++)
		if (hnic_parse_cpu(cpu[i], &cpu[i]))
			n = -EINVAL;
	if (n == -EINVAL)
		return hnic_refused(dev, attr->attr.name,
				    "for each queue -1 for any, or an online CPU",
				    0, nr_cpu_ids - 1);
	if (n < 0)
		return n;
	netdev_lock(hd->netdev);
	mutex_lock(&hd->lock);
	for (i = 0; i < n && !err; i++)
		err = hnic_queue_pin(&hd->queue[i], cpu[i]);
	mutex_unlock(&hd->lock);
	netdev_unlock(hd->netdev);
	return err ?: len;
}
static DEVICE_ATTR_RW(queue_cpus);

/* ---------------------------------------------------------------- times */

static u64 hnic_read_ns(struct hnic_engine *e, const u64 *ns)
{
	unsigned int start;
	u64 val;

	do {
		start = u64_stats_fetch_begin(&e->sync);
		val = READ_ONCE(*ns);
	} while (u64_stats_fetch_retry(&e->sync, start));
	return val;
}

/* Without the link: the TX engine simulates it, but it is not part of a NIC */
static u64 hnic_tx_ns(struct hnic_dev *hd)
{
	u64 link = hnic_read_ns(&hd->tx, &hd->link.stats.ns);
	u64 all = hnic_read_ns(&hd->tx, &hd->tx_stats.ns);

	return all - min(all, link);
}

static ssize_t tx_ns_show(struct device *dev, struct device_attribute *attr,
			  char *buf)
{
	return sysfs_emit(buf, "%llu\n", hnic_tx_ns(hnic_of(dev)));
}
static DEVICE_ATTR_RO(tx_ns);

static ssize_t rx_ns_show(struct device *dev, struct device_attribute *attr,
			  char *buf)
{
	struct hnic_dev *hd = hnic_of(dev);

	return sysfs_emit(buf, "%llu\n",
			  hnic_read_ns(&hd->rx, &hd->rx_stats.ns));
}
static DEVICE_ATTR_RO(rx_ns);

static ssize_t link_ns_show(struct device *dev, struct device_attribute *attr,
			    char *buf)
{
	struct hnic_dev *hd = hnic_of(dev);

	return sysfs_emit(buf, "%llu\n",
			  hnic_read_ns(&hd->tx, &hd->link.stats.ns));
}
static DEVICE_ATTR_RO(link_ns);

static ssize_t nic_ns_show(struct device *dev, struct device_attribute *attr,
			   char *buf)
{
	struct hnic_dev *hd = hnic_of(dev);

	return sysfs_emit(buf, "%llu\n", hnic_tx_ns(hd) +
			  hnic_read_ns(&hd->rx, &hd->rx_stats.ns));
}
static DEVICE_ATTR_RO(nic_ns);

static ssize_t connections_show(struct device *dev,
				struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(hnic_of(dev)->nconns));
}
static DEVICE_ATTR_RO(connections);

static struct attribute *hnic_attrs[] = {
	&hnic_attr_rate.attr.attr,
	&hnic_attr_delay.attr.attr,
	&hnic_attr_paths.attr.attr,
	&hnic_attr_loss.attr.attr,
	&hnic_attr_reorder.attr.attr,
	&hnic_attr_reorder_delay.attr.attr,
	&hnic_attr_dma_ns.attr.attr,
	&hnic_attr_dma_rate.attr.attr,
	&hnic_attr_mem_rate.attr.attr,
	&hnic_attr_crc_on_the_fly.attr.attr,
	&hnic_attr_split.attr.attr,
	&hnic_attr_coalesce.attr.attr,
	&hnic_attr_fault_corrupt.attr.attr,
	&hnic_attr_fault_verdict.attr.attr,
	&hnic_attr_fault_resync.attr.attr,
	&hnic_attr_seed.attr.attr,
	&hnic_attr_max_conns.attr.attr,
	&hnic_attr_max_frags.attr.attr,
	&hnic_attr_max_fpdu.attr.attr,
	&hnic_attr_max_bufs.attr.attr,
	&dev_attr_path_delay.attr,
	&dev_attr_tx_cpu.attr,
	&dev_attr_rx_cpu.attr,
	&dev_attr_queue_cpus.attr,
	&dev_attr_tx_ns.attr,
	&dev_attr_rx_ns.attr,
	&dev_attr_link_ns.attr,
	&dev_attr_nic_ns.attr,
	&dev_attr_connections.attr,
	NULL
};

const struct attribute_group hnic_sysfs_group = {
	.name = "hnic",
	.attrs = hnic_attrs,
};
