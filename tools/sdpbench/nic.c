// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpbench, time of the NIC: counters of a simulated NIC that say how long its
 * engines have worked, as shown by `ethtool -S`. The devices may be in other
 * network namespaces, as the peer's is. Calls say.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sdpbench.h"

#define NIC_MAX 4
#define NIC_COUNTERS "nic_ns"

struct nic {
	int fd; /* a socket in the device's namespace */
	char name[IFNAMSIZ];
	uint32_t n;
	bool *wanted; /* of the @n counters */
	struct ethtool_stats *stats;
};

static struct nic nics[NIC_MAX];
static unsigned int n_nics;

static void nic_ioctl(const struct nic *nic, void *data)
{
	struct ifreq req = { .ifr_data = data };

	memcpy(req.ifr_name, nic->name, sizeof(req.ifr_name));
	if (ioctl(nic->fd, SIOCETHTOOL, &req))
		bench_die("%s: ethtool: %s", nic->name, strerror(errno));
}

static void *nic_alloc(size_t len)
{
	void *p = calloc(1, len);

	if (!p)
		bench_die("no memory for the counters of a NIC");
	return p;
}

static void nic_names(struct nic *nic, const char *pattern)
{
	struct {
		struct ethtool_sset_info info;
		uint32_t count;
	} set = { .info = { .cmd = ETHTOOL_GSSET_INFO,
			    .sset_mask = 1ULL << ETH_SS_STATS } };
	struct ethtool_gstrings *names;
	bool any = false;

	nic_ioctl(nic, &set);
	nic->n = set.info.sset_mask ? set.count : 0;
	names = nic_alloc(sizeof(*names) + (size_t)nic->n * ETH_GSTRING_LEN);
	names->cmd = ETHTOOL_GSTRINGS;
	names->string_set = ETH_SS_STATS;
	names->len = nic->n;
	nic_ioctl(nic, names);

	nic->wanted = nic_alloc(nic->n + 1);
	for (uint32_t i = 0; i < nic->n; i++) {
		char name[ETH_GSTRING_LEN + 1] = { 0 };

		memcpy(name, names->data + (size_t)i * ETH_GSTRING_LEN,
		       ETH_GSTRING_LEN);
		nic->wanted[i] = !fnmatch(pattern, name, 0);
		any |= nic->wanted[i];
	}
	free(names);
	if (!any)
		bench_die("%s has no counter %s", nic->name, pattern);
	nic->stats = nic_alloc(sizeof(*nic->stats) +
			       (size_t)nic->n * sizeof(uint64_t));
}

static int open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		bench_die("%s: %s", path, strerror(errno));
	return fd;
}

/* A socket in the namespace of that name, or in this one if it is empty */
static int socket_in(const char *netns)
{
	char path[64];
	int here = -1, there, fd;

	if (*netns) {
		snprintf(path, sizeof(path), "/run/netns/%s", netns);
		here = open_file("/proc/self/ns/net");
		there = open_file(path);
		if (setns(there, CLONE_NEWNET))
			bench_die("%s: %s", path, strerror(errno));
		close(there);
	}
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		bench_die("socket: %s", strerror(errno));
	if (*netns) {
		if (setns(here, CLONE_NEWNET))
			bench_die("leaving %s: %s", path, strerror(errno));
		close(here);
	}
	return fd;
}

/**
 * nic_add() - count the time of a NIC, too
 * @spec: [NETNS/]DEVICE[:COUNTERS], the last a shell pattern
 *
 * Does not return on errors.
 */
void nic_add(const char *spec)
{
	const char *pattern = NIC_COUNTERS;
	char netns[32] = "", name[32] = "";
	const char *slash = strchr(spec, '/');
	const char *colon = strchr(spec, ':');
	const char *dev = slash ? slash + 1 : spec;
	struct nic *nic = &nics[n_nics];

	if (slash)
		snprintf(netns, sizeof(netns), "%.*s", (int)(slash - spec),
			 spec);
	if (colon)
		pattern = colon + 1;
	snprintf(name, sizeof(name), "%.*s",
		 colon ? (int)(colon - dev) : (int)strlen(dev), dev);
	if (n_nics == NIC_MAX || strlen(name) >= IFNAMSIZ)
		bench_die("NIC %s: too many, or a bad name", spec);

	memcpy(nic->name, name, sizeof(nic->name));
	nic->fd = socket_in(netns);
	nic_names(nic, pattern);
	n_nics++;
}

/**
 * nic_ns() - time that the NICs have worked
 *
 * Return: nanoseconds, the sum over all NICs and counters; 0 without a NIC.
 */
uint64_t nic_ns(void)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < n_nics; i++) {
		struct nic *nic = &nics[i];

		nic->stats->cmd = ETHTOOL_GSTATS;
		nic->stats->n_stats = nic->n;
		nic_ioctl(nic, nic->stats);
		for (uint32_t k = 0; k < nic->n; k++)
			sum += nic->wanted[k] ? nic->stats->data[k] : 0;
	}
	return sum;
}
