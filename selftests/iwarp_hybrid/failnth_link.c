// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * hyb-failnth: devices. This thread itself sends the requests of the programs rdma
 * and ip, since it is the one whose allocations fail.
 */
#include <errno.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <rdma/rdma_netlink.h>

#include "failnth.h"

#define NLDEV(op) RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_##op)
#define PEER_ATTR 1 /* of hnic as of veth: struct ifinfomsg, attributes */
#define WAIT_MS 20000 /* for what goes in the background */

/* ------------------------------------------------------------------ netlink */

struct request {
	struct nlmsghdr h;
	unsigned char body[512];
};

static void begin(struct request *r, int type, int flags)
{
	memset(r, 0, sizeof(*r));
	r->h.nlmsg_len = NLMSG_HDRLEN;
	r->h.nlmsg_type = type;
	r->h.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
}

static void *add(struct request *r, const void *data, size_t len)
{
	void *p = (unsigned char *)r + r->h.nlmsg_len;

	if (data)
		memcpy(p, data, len);
	r->h.nlmsg_len += NLMSG_ALIGN(len);
	return p;
}

static struct nlattr *attr(struct request *r, int type, const void *data,
			   size_t len)
{
	struct nlattr a = { NLA_HDRLEN + len, type };
	struct nlattr *p = add(r, &a, sizeof(a));

	add(r, data, len);
	return p;
}

static void text(struct request *r, int type, const char *s)
{
	attr(r, type, s, strlen(s) + 1);
}

static void end(struct request *r, struct nlattr *nest)
{
	nest->nla_len =
		(unsigned char *)r + r->h.nlmsg_len - (unsigned char *)nest;
}

/* Attribute @type of a message of the RDMA stack */
static const void *find(const struct nlmsghdr *h, int type)
{
	const char *end = (const char *)h + h->nlmsg_len, *p = NLMSG_DATA(h);
	const struct nlattr *a;

	for (; p + NLA_HDRLEN <= end; p += NLA_ALIGN(a->nla_len)) {
		a = (const struct nlattr *)p;
		if (a->nla_type == type)
			return a + 1;
		if (a->nla_len < NLA_HDRLEN)
			break;
	}
	return NULL;
}

/* Devices in an answer: is one of them called @name? Its index. */
static bool find_device(const struct nlmsghdr *h, size_t len, const char *name,
			uint32_t *index)
{
	const char *found;

	for (; NLMSG_OK(h, len); h = NLMSG_NEXT(h, len)) {
		if (h->nlmsg_type != NLDEV(GET))
			continue;
		found = find(h, RDMA_NLDEV_ATTR_DEV_NAME);
		if (!found || strcmp(found, name) ||
		    !find(h, RDMA_NLDEV_ATTR_DEV_INDEX))
			continue;
		memcpy(index, find(h, RDMA_NLDEV_ATTR_DEV_INDEX),
		       sizeof(*index));
		return true;
	}
	return false;
}

static int ask_socket(int family, const struct request *r)
{
	struct timeval patience = { .tv_sec = 5 };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, family);

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (send(fd, r, r->h.nlmsg_len, 0) == (ssize_t)r->h.nlmsg_len)
		return fd;
	close(fd);
	return -1;
}

/*
 * Returns 0 or an errno. The answer itself may be lost as memory is short: the result
 * shows elsewhere.
 */
static int ask(int family, const struct request *r)
{
	int fd = ask_socket(family, r), err = 0;
	struct {
		struct nlmsghdr h;
		struct nlmsgerr e;
		char text[1024];
	} in;

	if (fd < 0)
		return errno;
	if (recv(fd, &in, sizeof(in), 0) < 0)
		err = errno;
	else if (in.h.nlmsg_type == NLMSG_ERROR)
		err = -in.e.error;
	close(fd);
	return err;
}

/* ------------------------------------------------------------- RDMA devices */

static bool rdma_is(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s", name);
	return !access(path, F_OK);
}

static int rdma_add(const char *name, const char *netdev)
{
	struct request r;

	begin(&r, NLDEV(NEWLINK), 0);
	text(&r, RDMA_NLDEV_ATTR_DEV_NAME, name);
	text(&r, RDMA_NLDEV_ATTR_LINK_TYPE, "hybrid");
	text(&r, RDMA_NLDEV_ATTR_NDEV_NAME, netdev);
	return ask(NETLINK_RDMA, &r);
}

static bool rdma_index(const char *name, uint32_t *index)
{
	union {
		struct nlmsghdr h;
		char c[16384];
	} in;
	struct request r;
	bool ok = false;
	ssize_t n;
	int fd;

	begin(&r, NLDEV(GET), NLM_F_DUMP);
	fd = ask_socket(NETLINK_RDMA, &r);
	while (fd >= 0 && !ok) {
		n = recv(fd, &in, sizeof(in), 0);
		if (n <= 0 || in.h.nlmsg_type == NLMSG_DONE)
			break;
		ok = find_device(&in.h, n, name, index);
	}
	if (fd >= 0)
		close(fd);
	return ok;
}

static int rdma_del(uint32_t index)
{
	struct request r;

	begin(&r, NLDEV(DELLINK), 0);
	attr(&r, RDMA_NLDEV_ATTR_DEV_INDEX, &index, sizeof(index));
	return ask(NETLINK_RDMA, &r);
}

/* Nothing fails meanwhile: the index, then what was to fail goes on */
static bool undisturbed_index(const char *name, uint32_t *index)
{
	int left = nth_get();
	bool ok;

	nth_set(0);
	ok = rdma_index(name, index);
	nth_set(left);
	return ok;
}

int link_add(const char *name, const char *netdev, int nth)
{
	uint32_t index;
	int err, left;

	nth_set(nth);
	err = rdma_add(name, netdev);
	if (undisturbed_index(name, &index) && !err)
		err = rdma_del(index);
	left = nth_get();
	nth_set(0);
	/* what is left can be taken away, and there is room for another */
	if (rdma_index(name, &index) && rdma_del(index))
		return WRONG;
	if (rdma_is(name))
		return WRONG;
	nth_set(left);
	return err;
}

/* -------------------------------------------------------------- net devices */

static int pair_add(const char *name, const char *peer)
{
	struct ifinfomsg ifi = { .ifi_family = AF_UNSPEC };
	struct nlattr *info, *data, *other;
	struct request r;

	begin(&r, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
	add(&r, &ifi, sizeof(ifi));
	text(&r, IFLA_IFNAME, name);
	info = attr(&r, IFLA_LINKINFO, NULL, 0);
	text(&r, IFLA_INFO_KIND, "hnic");
	data = attr(&r, IFLA_INFO_DATA, NULL, 0);
	other = attr(&r, PEER_ATTR, &ifi, sizeof(ifi));
	text(&r, IFLA_IFNAME, peer);
	end(&r, other);
	end(&r, data);
	end(&r, info);
	return ask(NETLINK_ROUTE, &r);
}

static int pair_do(const char *name, int type, unsigned int flags)
{
	struct ifinfomsg ifi = {
		.ifi_index = if_nametoindex(name),
		.ifi_flags = flags,
		.ifi_change = IFF_UP,
	};
	struct request r;

	if (!ifi.ifi_index)
		return errno;
	begin(&r, type, 0);
	add(&r, &ifi, sizeof(ifi));
	return ask(NETLINK_ROUTE, &r);
}

static int pair_up(const char *name, const char *peer)
{
	int err = pair_do(name, RTM_NEWLINK, IFF_UP);

	return err ? err : pair_do(peer, RTM_NEWLINK, IFF_UP);
}

/* Nothing fails any more: both go if one is asked to */
static bool pair_gone(const char *name, const char *peer)
{
	if (if_nametoindex(name) && pair_do(name, RTM_DELLINK, 0))
		return false;
	return !if_nametoindex(name) && !if_nametoindex(peer);
}

int link_pair(const char *name, const char *peer, int nth)
{
	int err, left;

	nth_set(nth);
	err = pair_add(name, peer);
	if (!err)
		err = pair_up(name, peer);
	if (!err)
		err = pair_do(name, RTM_DELLINK, 0);
	left = nth_get();
	nth_set(0);
	if (!pair_gone(name, peer))
		return WRONG;
	nth_set(left);
	return err;
}

/* ------------------------------------------------------------ one on another */

static bool wait_gone(const char *name)
{
	int ms;

	for (ms = 0; rdma_is(name) && ms < WAIT_MS; ms += 10)
		usleep(10000);
	return !rdma_is(name);
}

int link_under(const char *name, const char *netdev, int nth)
{
	char peer[IFNAMSIZ];
	int err, left;

	snprintf(peer, sizeof(peer), "%.12s-p", netdev);
	if (pair_add(netdev, peer) || pair_up(netdev, peer) ||
	    rdma_add(name, netdev))
		return WRONG;
	nth_set(nth);
	err = pair_do(netdev, RTM_DELLINK, 0);
	left = nth_get();
	nth_set(0);
	if (!pair_gone(netdev, peer) || !wait_gone(name))
		return WRONG;
	nth_set(left);
	return err;
}
