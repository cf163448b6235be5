// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* sdpstat -E: sockets as they change their state. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <libmnl/libmnl.h>
#include <linux/genetlink.h>

#include "sdpstat.h"

struct event {
	struct sock_info s;
	unsigned int old;
};

static void get_address(const struct nlattr *attr, struct sock_info *s,
			uint8_t addr[16], uint16_t *port)
{
	const struct sockaddr_in6 *v6 = mnl_attr_get_payload(attr);
	const struct sockaddr_in *v4 = mnl_attr_get_payload(attr);
	size_t len = mnl_attr_get_payload_len(attr);

	if (len < sizeof(*v4))
		return;
	s->family = v4->sin_family;
	*port = ntohs(v4->sin_port);
	if (s->family == AF_INET)
		memcpy(addr, &v4->sin_addr, sizeof(v4->sin_addr));
	else if (len >= sizeof(*v6))
		memcpy(addr, &v6->sin6_addr, sizeof(v6->sin6_addr));
}

static int event_attr(const struct nlattr *attr, void *arg)
{
	unsigned int type = mnl_attr_get_type(attr);
	size_t len = mnl_attr_get_payload_len(attr);
	struct event *e = arg;

	if (type == SDP_STATE_LOCAL)
		get_address(attr, &e->s, e->s.src, &e->s.sport);
	else if (type == SDP_STATE_PEER)
		get_address(attr, &e->s, e->s.dst, &e->s.dport);
	else if (type == SDP_STATE_COOKIE && len == sizeof(uint64_t))
		e->s.cookie = mnl_attr_get_u64(attr);
	else if (type == SDP_STATE_DEVICE &&
		 mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) >= 0)
		snprintf(e->s.device, sizeof(e->s.device), "%s",
			 mnl_attr_get_str(attr));
	else if (len != sizeof(uint32_t))
		return MNL_CB_OK;
	else if (type == SDP_STATE_OLD)
		e->old = mnl_attr_get_u32(attr);
	else if (type == SDP_STATE_NEW)
		e->s.state = mnl_attr_get_u32(attr);
	else if (type == SDP_STATE_UID)
		e->s.uid = mnl_attr_get_u32(attr);
	return MNL_CB_OK;
}

/* Ignores other messages: a process with CAP_NET_ADMIN may send to the port of the socket. */
static int event_message(const struct nlmsghdr *nlh, void *arg)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);
	struct event e = { .s.family = AF_INET };
	struct options *o = arg;

	if (nlh->nlmsg_len < mnl_nlmsg_size(sizeof(*genl)) ||
	    genl->cmd != SDP_CMD_STATE_NTF)
		return MNL_CB_OK;
	mnl_attr_parse(nlh, sizeof(*genl), event_attr, &e);
	if (!(o->states & 1u << (e.s.state & 31)) ||
	    (o->family && e.s.family != o->family) ||
	    !filter_fits(o->filter, &e.s))
		return MNL_CB_OK;
	event_print(&e.s, e.old, o);
	flush_output();
	if (o->count && !--o->count)
		exit(0);
	return MNL_CB_OK;
}

void events_show(struct options *o)
{
	struct mnl_socket *nl = netlink_open(NETLINK_GENERIC);
	uint32_t group = 0;
	static char buf[32768];
	ssize_t len;

	if (!family_id(nl, SDP_FAMILY_NAME, SDP_MCGRP_STATES, &group))
		die("the kernel has no SDP: load it with 'modprobe sdp' as root");
	/* in a new socket there is no answer to this request between the events */
	mnl_socket_close(nl);
	nl = netlink_open(NETLINK_GENERIC);
	if (mnl_socket_setsockopt(nl, NETLINK_ADD_MEMBERSHIP, &group,
				  sizeof(group)) < 0)
		die("cannot listen to changes: %s", strerror(errno));
	for (;;) {
		len = mnl_socket_recvfrom(nl, buf, sizeof(buf));
		if (len < 0 && errno == ENOBUFS) {
			fputs("sdpstat: changes were lost\n", stderr);
			continue;
		}
		if (len < 0)
			die("cannot read changes: %s", strerror(errno));
		mnl_cb_run(buf, len, 0, 0, event_message, o);
	}
}
