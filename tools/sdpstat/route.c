// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpstat check: asks the routing table for a network device, and the RDMA
 * subsystem for the RDMA device on it, both by netlink; sysfs for one that is
 * shared.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if_arp.h>
#include <string.h>
#include <time.h>

#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <rdma/rdma_netlink.h>

#include "check.h"
#include "sdpstat.h"

#define PORT_ACTIVE 4 /* enum ib_port_state */
#define DEVICES_MAX 256

/* ---- route ---- */

static size_t addr_of(const struct sockaddr_storage *ss, const void **addr)
{
	if (ss->ss_family == AF_INET) {
		*addr = &((const struct sockaddr_in *)ss)->sin_addr;
		return 4;
	}
	*addr = &((const struct sockaddr_in6 *)ss)->sin6_addr;
	return 16;
}

static bool is_loopback(const struct sockaddr_storage *ss)
{
	const struct sockaddr_in6 *v6 = (const void *)ss;
	const struct sockaddr_in *v4 = (const void *)ss;

	if (ss->ss_family == AF_INET)
		return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

struct route_answer {
	int type;
	int oif;
	size_t src_len;
	uint8_t src[16];
};

static int route_attr(const struct nlattr *attr, void *arg)
{
	struct route_answer *a = arg;
	size_t len = mnl_attr_get_payload_len(attr);

	switch (mnl_attr_get_type(attr)) {
	case RTA_OIF:
		if (len == sizeof(uint32_t))
			a->oif = mnl_attr_get_u32(attr);
		break;
	case RTA_PREFSRC:
		if (len == 4 || len == 16) {
			a->src_len = len;
			memcpy(a->src, mnl_attr_get_payload(attr), len);
		}
		break;
	}
	return MNL_CB_OK;
}

static int route_message(const struct nlmsghdr *nlh, void *arg)
{
	const struct rtmsg *rtm = mnl_nlmsg_get_payload(nlh);
	struct route_answer *a = arg;

	if (nlh->nlmsg_type != RTM_NEWROUTE)
		return MNL_CB_OK;
	a->type = rtm->rtm_type;
	mnl_attr_parse(nlh, sizeof(*rtm), route_attr, a);
	return MNL_CB_OK;
}

static int ask_route(const struct sockaddr_storage *to, struct route_answer *a)
{
	const struct sockaddr_in6 *v6 = (const void *)to;
	struct query q = { .cb = route_message, .arg = a };
	struct mnl_socket *nl = netlink_open(NETLINK_ROUTE);
	struct nlmsghdr *nlh;
	struct rtmsg *rtm;
	const void *addr;
	char buf[256];
	size_t len;
	int err;

	len = addr_of(to, &addr);
	nlh = mnl_nlmsg_put_header(buf);
	nlh->nlmsg_type = RTM_GETROUTE;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	nlh->nlmsg_seq = time(NULL);
	rtm = mnl_nlmsg_put_extra_header(nlh, sizeof(*rtm));
	rtm->rtm_family = to->ss_family;
	rtm->rtm_dst_len = len * 8;
	mnl_attr_put(nlh, RTA_DST, len, addr);
	if (to->ss_family == AF_INET6 && v6->sin6_scope_id)
		mnl_attr_put_u32(nlh, RTA_OIF, v6->sin6_scope_id);
	err = query_run(nl, nlh, &q);
	mnl_socket_close(nl);
	if (err)
		return err;
	/* IPv6 answers with a route of a type that refuses; IPv4 returns an error */
	if (a->type != RTN_UNICAST && a->type != RTN_LOCAL)
		return a->type == RTN_PROHIBIT ? EACCES : ENETUNREACH;
	return 0;
}

/*
 * For an address of this machine the route says "lo", but RDMA connection management
 * takes the network device that has it.
 */
static void find_owner(const struct sockaddr_storage *to, struct check_route *r)
{
	struct ifaddrs *all, *i;
	const void *a, *b;
	size_t len = addr_of(to, &a);

	if (getifaddrs(&all))
		return;
	for (i = all; i; i = i->ifa_next) {
		if (!i->ifa_addr || i->ifa_addr->sa_family != to->ss_family)
			continue;
		addr_of((const void *)i->ifa_addr, &b);
		if (memcmp(a, b, len))
			continue;
		snprintf(r->netdev, sizeof(r->netdev), "%s", i->ifa_name);
		break;
	}
	freeifaddrs(all);
}

int check_route_get(const struct sockaddr_storage *to, struct check_route *r)
{
	struct route_answer a = { 0 };
	int err = ask_route(to, &a);

	memset(r, 0, sizeof(*r));
	if (err)
		return err;
	if (!if_indextoname(a.oif, r->dev))
		return errno;
	memcpy(r->netdev, r->dev, sizeof(r->netdev));
	r->local = a.type == RTN_LOCAL;
	r->loopback = is_loopback(to);
	if (r->local)
		find_owner(to, r);
	r->ifindex = if_nametoindex(r->netdev);
	r->has_src = a.src_len;
	r->src.ss_family = to->ss_family;
	if (a.src_len == 4)
		memcpy(&((struct sockaddr_in *)&r->src)->sin_addr, a.src, 4);
	else if (a.src_len == 16)
		memcpy(&((struct sockaddr_in6 *)&r->src)->sin6_addr, a.src, 16);
	return 0;
}

/* ---- RDMA device ---- */

struct rdma_dev {
	uint32_t index;
	uint32_t port;
	uint32_t ifindex;
	int state;
	char name[64];
	char protocol[16];
};

struct rdma_list {
	struct rdma_dev dev[DEVICES_MAX];
	unsigned int n;
};

static void copy_string(char *dst, size_t len, const struct nlattr *attr)
{
	if (mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) >= 0)
		snprintf(dst, len, "%s", mnl_attr_get_str(attr));
}

static uint32_t copy_u32(const struct nlattr *attr)
{
	if (mnl_attr_validate(attr, MNL_TYPE_U32) < 0)
		return 0;
	return mnl_attr_get_u32(attr);
}

static int rdma_attr(const struct nlattr *attr, void *arg)
{
	struct rdma_dev *d = arg;

	switch (mnl_attr_get_type(attr)) {
	case RDMA_NLDEV_ATTR_DEV_INDEX:
		d->index = copy_u32(attr);
		break;
	case RDMA_NLDEV_ATTR_PORT_INDEX:
		d->port = copy_u32(attr);
		break;
	case RDMA_NLDEV_ATTR_DEV_NAME:
		copy_string(d->name, sizeof(d->name), attr);
		break;
	case RDMA_NLDEV_ATTR_DEV_PROTOCOL:
		copy_string(d->protocol, sizeof(d->protocol), attr);
		break;
	case RDMA_NLDEV_ATTR_NDEV_INDEX:
		d->ifindex = copy_u32(attr);
		break;
	case RDMA_NLDEV_ATTR_PORT_STATE:
		if (mnl_attr_validate(attr, MNL_TYPE_U8) >= 0)
			d->state = mnl_attr_get_u8(attr);
		break;
	}
	return MNL_CB_OK;
}

static int rdma_message(const struct nlmsghdr *nlh, void *arg)
{
	struct rdma_list *list = arg;

	if (list->n == DEVICES_MAX)
		return MNL_CB_OK;
	memset(&list->dev[list->n], 0, sizeof(list->dev[0]));
	mnl_attr_parse(nlh, 0, rdma_attr, &list->dev[list->n]);
	list->n++;
	return MNL_CB_OK;
}

/* All devices, or the ports of one. */
static int rdma_ask(struct mnl_socket *nl, const struct rdma_dev *of,
		    struct rdma_list *list)
{
	struct query q = { .cb = rdma_message, .arg = list };
	int cmd = of ? RDMA_NLDEV_CMD_PORT_GET : RDMA_NLDEV_CMD_GET;
	struct nlmsghdr *nlh;
	char buf[256];

	list->n = 0;
	nlh = mnl_nlmsg_put_header(buf);
	nlh->nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, cmd);
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	nlh->nlmsg_seq = time(NULL);
	if (of)
		mnl_attr_put_u32(nlh, RDMA_NLDEV_ATTR_DEV_INDEX, of->index);
	return query_run(nl, nlh, &q);
}

/* The GIDs of a VLAN are those of the device below it, and no port names one of IPoIB. */
static bool may_share(const char *netdev)
{
	char path[64];
	struct dirent *e;
	bool found = false;
	int type = 0;
	FILE *f;
	DIR *d;

	snprintf(path, sizeof(path), "/sys/class/net/%s/type", netdev);
	f = fopen(path, "re");
	if (f && fscanf(f, "%d", &type) != 1)
		type = 0;
	if (f)
		fclose(f);
	*strrchr(path, '/') = '\0';
	d = opendir(path);
	while (d && !found && (e = readdir(d)))
		found = !strncmp(e->d_name, "lower_", strlen("lower_"));
	if (d)
		closedir(d);
	return found || type == ARPHRD_INFINIBAND;
}

int check_device_find(const struct check_route *r, struct check_device *d)
{
	static struct rdma_list devs, ports;
	struct mnl_socket *nl = netlink_open(NETLINK_RDMA);
	unsigned int i, k;
	int err;

	memset(d, 0, sizeof(*d));
	err = rdma_ask(nl, NULL, &devs);
	for (i = 0; i < devs.n && !err && !d->name[0]; i++) {
		if (rdma_ask(nl, &devs.dev[i], &ports))
			continue; /* gone meanwhile */
		for (k = 0; k < ports.n; k++)
			if ((int)ports.dev[k].ifindex == r->ifindex)
				break;
		if (k == ports.n) {
			d->others++;
			continue;
		}
		memcpy(d->name, devs.dev[i].name, sizeof(d->name));
		memcpy(d->protocol, devs.dev[i].protocol, sizeof(d->protocol));
		d->active = ports.dev[k].state == PORT_ACTIVE;
	}
	d->may_share = !d->name[0] && d->others && may_share(r->netdev);
	mnl_socket_close(nl);
	return err;
}
