// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpstat: the TCP connections below SDP sockets, of iWARP devices in software and of
 * sockets that have become TCP's. inet_diag lists them, as it does for ss(8); addresses
 * and ports of the device tell which is whose.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <libmnl/libmnl.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>

#include "sdpstat.h"

struct ends {
	uint8_t src[16]; /* an address of IPv4 in its mapped form */
	uint8_t dst[16];
	uint16_t sport;
	uint16_t dport;
};

struct tcp_conn {
	struct ends ends;
	struct tcp_info info;
	struct tcp_timer timer;
};

struct tcp_list {
	struct tcp_conn *v;
	size_t n;
	size_t room;
};

static void map_address(uint8_t out[16], int family, const void *addr)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	if (family == AF_INET6) {
		memcpy(out, addr, 16);
		return;
	}
	memcpy(out, prefix, sizeof(prefix));
	memcpy(out + sizeof(prefix), addr, 4);
}

static int by_ends(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct ends));
}

static int info_attr(const struct nlattr *attr, void *arg)
{
	size_t len = mnl_attr_get_payload_len(attr);
	struct tcp_info *info = arg;

	if (mnl_attr_get_type(attr) != INET_DIAG_INFO)
		return MNL_CB_OK;
	/* an older kernel has less, a newer one more */
	memcpy(info, mnl_attr_get_payload(attr),
	       len < sizeof(*info) ? len : sizeof(*info));
	return MNL_CB_OK;
}

static int conn_message(const struct nlmsghdr *nlh, void *arg)
{
	const struct inet_diag_msg *m = mnl_nlmsg_get_payload(nlh);
	struct tcp_list *list = arg;
	struct tcp_conn *c;

	if (nlh->nlmsg_len < mnl_nlmsg_size(sizeof(*m)))
		return MNL_CB_OK;
	if (list->n == list->room) {
		list->room = list->room ? 2 * list->room : 64;
		list->v = xrealloc(list->v, list->room, sizeof(*list->v));
	}
	c = &list->v[list->n++];
	memset(c, 0, sizeof(*c));
	map_address(c->ends.src, m->idiag_family, m->id.idiag_src);
	map_address(c->ends.dst, m->idiag_family, m->id.idiag_dst);
	c->ends.sport = ntohs(m->id.idiag_sport);
	c->ends.dport = ntohs(m->id.idiag_dport);
	c->timer = (struct tcp_timer){ .what = m->idiag_timer,
				       .expires_ms = m->idiag_expires,
				       .retrans = m->idiag_retrans };
	mnl_attr_parse(nlh, sizeof(*m), info_attr, &c->info);
	return MNL_CB_OK;
}

static void list_family(struct tcp_list *list, int family)
{
	struct mnl_socket *nl = netlink_open(NETLINK_SOCK_DIAG);
	struct query q = { .cb = conn_message, .arg = list };
	char buf[256];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct inet_diag_req_v2 *req;
	int err;

	nlh->nlmsg_type = SOCK_DIAG_BY_FAMILY;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	nlh->nlmsg_seq = time(NULL);
	req = mnl_nlmsg_put_extra_header(nlh, sizeof(*req));
	memset(req, 0, sizeof(*req));
	req->sdiag_family = family;
	req->sdiag_protocol = IPPROTO_TCP;
	req->idiag_ext = 1 << (INET_DIAG_INFO - 1);
	req->idiag_states = STATES_DEFAULT;

	err = query_run(nl, nlh, &q);
	mnl_socket_close(nl);
	if (err)
		die("the kernel refused to list TCP sockets: %s (is there a module tcp_diag?)",
		    query_reason(&q, err));
}

static const struct tcp_conn *find(const struct tcp_list *list,
				   const struct sock_info *s, int sport,
				   int dport)
{
	struct ends e = { .sport = sport, .dport = dport };

	map_address(e.src, s->family, s->src);
	map_address(e.dst, s->family, s->dst);
	return bsearch(&e, list->v, list->n, sizeof(*list->v), by_ends);
}

/* The TCP connection below @s: the end that listened has the device's port, not the program's */
static void find_below(struct sock_info *s, const struct tcp_list *list)
{
	const struct tcp_conn *c;

	if (s->tcp_reason[0])
		c = find(list, s, s->sport, s->dport);
	else
		c = find(list, s, device_port(s->sport, NULL), s->dport);
	if (!c && !s->tcp_reason[0])
		c = find(list, s, s->sport, device_port(s->dport, NULL));
	s->has_tcp = c;
	if (!c)
		return;
	s->tcp = c->info;
	s->timer = c->timer;
}

void tcp_get(struct sock_list *list)
{
	struct tcp_list all = { 0 };
	size_t i;

	list_family(&all, AF_INET);
	list_family(&all, AF_INET6);
	qsort(all.v, all.n, sizeof(*all.v), by_ends);
	for (i = 0; i < list->n; i++)
		find_below(&list->v[i], &all);
	free(all.v);
}
