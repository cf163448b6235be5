// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* sdpstat: asks the kernel, by sock_diag for sockets and by generic netlink
 * for counters.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <linux/sdp.h>
#include <linux/sock_diag.h>

#include "sdpstat.h"

#define BUF_SIZE 32768

static void query_message(struct query *q, const struct nlmsghdr *nlh,
			  size_t skip)
{
	const struct nlattr *attr;

	if (!(nlh->nlmsg_flags & NLM_F_ACK_TLVS))
		return;

	mnl_attr_for_each(attr, nlh, skip)
		if (mnl_attr_get_type(attr) == NLMSGERR_ATTR_MSG &&
		    mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) >= 0)
			snprintf(q->message, sizeof(q->message), "%s",
				 mnl_attr_get_str(attr));
}

static int on_data(const struct nlmsghdr *nlh, void *arg)
{
	struct query *q = arg;

	return q->cb ? q->cb(nlh, q->arg) : MNL_CB_OK;
}

static int on_error(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlmsgerr *err = mnl_nlmsg_get_payload(nlh);
	size_t skip = sizeof(*err);

	if (nlh->nlmsg_len < mnl_nlmsg_size(sizeof(*err))) {
		errno = EBADMSG;
		return MNL_CB_ERROR;
	}
	if (!(nlh->nlmsg_flags & NLM_F_CAPPED) &&
	    err->msg.nlmsg_len > sizeof(err->msg))
		skip += MNL_ALIGN(err->msg.nlmsg_len - sizeof(err->msg));
	query_message(arg, nlh, skip);
	if (!err->error)
		return MNL_CB_STOP;
	errno = -err->error;
	return MNL_CB_ERROR;
}

/* The end of a dump can carry an error, too. */
static int on_done(const struct nlmsghdr *nlh, void *arg)
{
	int err = 0;

	if (nlh->nlmsg_len >= mnl_nlmsg_size(sizeof(err)))
		memcpy(&err, mnl_nlmsg_get_payload(nlh), sizeof(err));
	if (err >= 0)
		return MNL_CB_STOP;
	query_message(arg, nlh, sizeof(err));
	errno = -err;
	return MNL_CB_ERROR;
}

static int on_noop(const struct nlmsghdr *nlh, void *arg)
{
	(void)nlh;
	(void)arg;
	return MNL_CB_OK;
}

static mnl_cb_t control_cb[NLMSG_MIN_TYPE] = {
	[NLMSG_NOOP] = on_noop,
	[NLMSG_ERROR] = on_error,
	[NLMSG_DONE] = on_done,
	[NLMSG_OVERRUN] = on_noop,
};

/* Sends one request and has every answer handled. Returns 0 or an errno. */
int query_run(struct mnl_socket *nl, struct nlmsghdr *nlh, struct query *q)
{
	unsigned int seq = nlh->nlmsg_seq, port = mnl_socket_get_portid(nl);
	static char buf[BUF_SIZE];
	ssize_t len;
	int rc;

	q->message[0] = '\0';
	if (mnl_socket_sendto(nl, nlh, nlh->nlmsg_len) < 0)
		return errno;

	do {
		len = mnl_socket_recvfrom(nl, buf, sizeof(buf));
		if (len < 0)
			return errno;
		rc = mnl_cb_run2(buf, len, seq, port, on_data, q, control_cb,
				 ARRAY_SIZE(control_cb));
	} while (rc > MNL_CB_STOP);

	return rc < 0 ? errno : 0;
}

struct mnl_socket *netlink_open(int bus)
{
	struct mnl_socket *nl = mnl_socket_open2(bus, SOCK_CLOEXEC);
	int on = 1;

	if (!nl || mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) < 0)
		die("cannot open a netlink socket: %s", strerror(errno));

	/* better messages and checks where the kernel has them */
	mnl_socket_setsockopt(nl, NETLINK_EXT_ACK, &on, sizeof(on));
	mnl_socket_setsockopt(nl, NETLINK_GET_STRICT_CHK, &on, sizeof(on));
	return nl;
}

const char *query_reason(const struct query *q, int err)
{
	return q->message[0] ? q->message : strerror(err);
}

/* ---- families of generic netlink ---- */

struct nlmsghdr *genl_request(char *buf, int type, int cmd, int version)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct genlmsghdr *genl;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	nlh->nlmsg_seq = time(NULL);
	genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));
	genl->cmd = cmd;
	genl->version = version;
	return nlh;
}

/* A multicast group: an element of CTRL_ATTR_MCAST_GROUPS */
struct group {
	const char *name; /* wanted */
	uint32_t id;
	bool match;
};

struct family {
	uint16_t id;
	struct group group;
};

static int group_attr(const struct nlattr *attr, void *arg)
{
	struct group *g = arg;

	switch (mnl_attr_get_type(attr)) {
	case CTRL_ATTR_MCAST_GRP_NAME:
		if (mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) >= 0)
			g->match = !strcmp(mnl_attr_get_str(attr), g->name);
		break;
	case CTRL_ATTR_MCAST_GRP_ID:
		if (mnl_attr_validate(attr, MNL_TYPE_U32) >= 0)
			g->id = mnl_attr_get_u32(attr);
		break;
	}
	return MNL_CB_OK;
}

static void family_groups(const struct nlattr *groups, struct group *wanted)
{
	struct group g = { .name = wanted->name };
	const struct nlattr *attr;

	if (!wanted->name)
		return;
	mnl_attr_for_each_nested(attr, groups) {
		mnl_attr_parse_nested(attr, group_attr, &g);
		if (g.match)
			wanted->id = g.id;
	}
}

static int family_attr(const struct nlattr *attr, void *arg)
{
	struct family *f = arg;

	switch (mnl_attr_get_type(attr)) {
	case CTRL_ATTR_FAMILY_ID:
		if (mnl_attr_validate(attr, MNL_TYPE_U16) >= 0)
			f->id = mnl_attr_get_u16(attr);
		break;
	case CTRL_ATTR_MCAST_GROUPS:
		if (mnl_attr_validate(attr, MNL_TYPE_NESTED) >= 0)
			family_groups(attr, &f->group);
		break;
	}
	return MNL_CB_OK;
}

static int family_message(const struct nlmsghdr *nlh, void *arg)
{
	mnl_attr_parse(nlh, sizeof(struct genlmsghdr), family_attr, arg);
	return MNL_CB_OK;
}

/* Returns 0 if the kernel has no such family. Sets @group_id, if @group is given. */
uint16_t family_id(struct mnl_socket *nl, const char *name, const char *group,
		   uint32_t *group_id)
{
	struct family f = { .group.name = group };
	struct query q = { .cb = family_message, .arg = &f };
	struct nlmsghdr *nlh;
	char buf[256];
	int err;

	nlh = genl_request(buf, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1);
	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, name);
	err = query_run(nl, nlh, &q);
	if (err == ENOENT)
		return 0;
	if (err || !f.id || (group && !f.group.id))
		die("cannot find the netlink family %s: %s", name,
		    query_reason(&q, err ? err : EBADMSG));
	if (group)
		*group_id = f.group.id;
	return f.id;
}

/* ---- sockets ---- */

static void put_string(char *dst, size_t len, const struct nlattr *attr)
{
	if (mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) >= 0)
		snprintf(dst, len, "%s", mnl_attr_get_str(attr));
}

static int sock_stats(const struct nlattr *attr, void *arg)
{
	unsigned int type = mnl_attr_get_type(attr);
	struct sock_info *s = arg;

	if (type > SDP_DIAG_STATS_PAD && type <= SDP_DIAG_STATS_MAX &&
	    mnl_attr_validate(attr, MNL_TYPE_U64) >= 0)
		s->stats[type] = mnl_attr_get_u64(attr);
	return MNL_CB_OK;
}

static void sock_meminfo(struct sock_info *s, const struct nlattr *attr)
{
	size_t len = mnl_attr_get_payload_len(attr);

	if (len > sizeof(s->mem))
		len = sizeof(s->mem);
	memcpy(s->mem, mnl_attr_get_payload(attr), len);
	s->nmem = len / sizeof(s->mem[0]);
}

/* The member of a string attribute, SOCK_STRING bytes; NULL: it is no such attribute */
static char *sock_string(struct sock_info *s, unsigned int type)
{
	switch (type) {
	case SDP_DIAG_DEVICE:
		return s->device;
	case SDP_DIAG_FLOW_CONTROL:
		return s->flow_control;
	case SDP_DIAG_LINK:
		return s->link;
	case SDP_DIAG_LINK_REASON:
		return s->link_reason;
	case SDP_DIAG_FC_REASON:
		return s->fc_reason;
	case SDP_DIAG_ZCOPY_REASON:
		return s->zcopy_reason;
	case SDP_DIAG_TCP_REASON:
		return s->tcp_reason;
	}
	return NULL;
}

static int sock_attr(const struct nlattr *attr, void *arg)
{
	unsigned int type = mnl_attr_get_type(attr);
	struct sock_info *s = arg;
	char *string = sock_string(s, type);

	if (string) {
		put_string(string, SOCK_STRING, attr);
		return MNL_CB_OK;
	}
	switch (type) {
	case SDP_DIAG_MEMINFO:
		sock_meminfo(s, attr);
		break;
	case SDP_DIAG_STATS:
		s->has_stats = true;
		mnl_attr_parse_nested(attr, sock_stats, s);
		break;
	case SDP_DIAG_MARK:
		s->has_mark = mnl_attr_validate(attr, MNL_TYPE_U32) >= 0;
		if (s->has_mark)
			s->mark = mnl_attr_get_u32(attr);
		break;
	case SDP_DIAG_TOS:
		s->has_tos = mnl_attr_validate(attr, MNL_TYPE_U8) >= 0;
		if (s->has_tos)
			s->tos = mnl_attr_get_u8(attr);
		break;
	case SDP_DIAG_TCLASS:
		s->has_tclass = mnl_attr_validate(attr, MNL_TYPE_U8) >= 0;
		if (s->has_tclass)
			s->tclass = mnl_attr_get_u8(attr);
		break;
	case SDP_DIAG_CGROUP_ID:
		if (mnl_attr_validate(attr, MNL_TYPE_U64) >= 0)
			s->cgroup = mnl_attr_get_u64(attr);
		break;
	case SDP_DIAG_TX_CREDITS:
		s->has_conn = true;
		/* fall through */
	default:
		if (type <= SDP_DIAG_MAX &&
		    mnl_attr_validate(attr, MNL_TYPE_U32) >= 0)
			s->conn[type] = mnl_attr_get_u32(attr);
	}
	return MNL_CB_OK;
}

static int sock_message(const struct nlmsghdr *nlh, void *arg)
{
	const struct sdp_diag_msg *m = mnl_nlmsg_get_payload(nlh);
	struct sock_list *list = arg;
	struct sock_info *s;

	if (nlh->nlmsg_len < mnl_nlmsg_size(sizeof(*m)))
		return MNL_CB_OK;

	if (list->n == list->room) {
		list->room = list->room ? 2 * list->room : 64;
		list->v = xrealloc(list->v, list->room, sizeof(*list->v));
	}
	s = &list->v[list->n++];
	memset(s, 0, sizeof(*s));

	s->family = m->diag_family;
	s->state = m->diag_state;
	s->shutdown = m->diag_shutdown;
	s->sport = ntohs(m->id.idiag_sport);
	s->dport = ntohs(m->id.idiag_dport);
	memcpy(s->src, m->id.idiag_src, sizeof(s->src));
	memcpy(s->dst, m->id.idiag_dst, sizeof(s->dst));
	s->ifindex = m->id.idiag_if;
	s->cookie = (uint64_t)m->id.idiag_cookie[1] << 32 |
		    m->id.idiag_cookie[0];
	s->rqueue = m->diag_rqueue;
	s->wqueue = m->diag_wqueue;
	s->uid = m->diag_uid;
	s->inode = m->diag_inode;
	mnl_attr_parse(nlh, sizeof(*m), sock_attr, s);
	return MNL_CB_OK;
}

static struct sdp_diag_req *diag_request(struct nlmsghdr *nlh)
{
	struct sdp_diag_req *req;

	req = mnl_nlmsg_put_extra_header(nlh, sizeof(*req));
	memset(req, 0, sizeof(*req));
	req->sdiag_family = AF_SDP;
	req->cookie[0] = INET_DIAG_NOCOOKIE;
	req->cookie[1] = INET_DIAG_NOCOOKIE;
	nlh->nlmsg_seq = time(NULL);
	return req;
}

/* @what: it was to do with SDP sockets */
static void diag_fail(const struct query *q, int err, const char *what)
{
	if (err == ENOENT && access("/sys/module/sdp", F_OK))
		die("the kernel has no SDP: load it with 'modprobe sdp' as root");
	if (err == ENOENT)
		die("sockets cannot be listed: load the module with 'modprobe sdp_diag' as root");
	if (err == EPERM || err == EACCES)
		die("no permission: run as root (CAP_NET_ADMIN is needed)");
	die("the kernel refused to %s SDP sockets: %s", what,
	    query_reason(q, err));
}

/* Listeners first, as users expect; otherwise the kernel's order. */
static void sockets_sort(struct sock_list *list)
{
	struct sock_info *others = xrealloc(NULL, list->n + 1, sizeof(*others));
	size_t i, n = 0, listeners = 0;

	for (i = 0; i < list->n; i++)
		if (list->v[i].state == STATE_LISTEN)
			list->v[listeners++] = list->v[i];
		else
			others[n++] = list->v[i];
	if (n)
		memcpy(list->v + listeners, others, n * sizeof(*others));
	free(others);
}

static int sockets_query(struct sock_list *list, const struct options *o,
			 struct query *q)
{
	struct mnl_socket *nl = netlink_open(NETLINK_SOCK_DIAG);
	char buf[256];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct sdp_diag_req *req;
	int err;

	list->n = 0;
	nlh->nlmsg_type = SOCK_DIAG_BY_FAMILY;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	req = diag_request(nlh);
	req->states = o->states;
	req->show = SDP_DIAG_SHOW_CONN;
	if (o->extended || o->json)
		req->show |= SDP_DIAG_SHOW_MEMINFO | SDP_DIAG_SHOW_STATS;
	if (o->interval > 0)
		req->show |= SDP_DIAG_SHOW_STATS;

	err = query_run(nl, nlh, q);
	mnl_socket_close(nl);
	sockets_sort(list);
	return err;
}

void sockets_get(struct sock_list *list, const struct options *o)
{
	struct query q = { .cb = sock_message, .arg = list };
	int err = sockets_query(list, o, &q);

	if (err)
		diag_fail(&q, err, "list");
}

bool sockets_try(struct sock_list *list, const struct options *o)
{
	struct query q = { .cb = sock_message, .arg = list };

	return !sockets_query(list, o, &q);
}

/* Returns 0, or an errno; ENOENT: there was no such socket */
int socket_destroy(uint64_t cookie, struct query *q)
{
	struct mnl_socket *nl = netlink_open(NETLINK_SOCK_DIAG);
	char buf[256];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct sdp_diag_req *req;
	int err;

	nlh->nlmsg_type = SOCK_DESTROY;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	req = diag_request(nlh);
	req->cookie[0] = (uint32_t)cookie;
	req->cookie[1] = cookie >> 32;

	err = query_run(nl, nlh, q);
	mnl_socket_close(nl);
	return err;
}

void destroy_fail(const struct query *q, int err)
{
	if (err == ENOENT && !access("/sys/module/sdp_diag", F_OK))
		return;
	diag_fail(q, err, "end");
}

/* ---- counters ---- */

struct counters {
	uint64_t *v;
	unsigned int n;
};

static int counter_attr(const struct nlattr *attr, void *arg)
{
	unsigned int type = mnl_attr_get_type(attr);
	struct counters *c = arg;

	if (type <= SDP_MIB_PAD || type >= COUNTERS_MAX ||
	    mnl_attr_validate(attr, MNL_TYPE_U64) < 0)
		return MNL_CB_OK;
	c->v[type] = mnl_attr_get_u64(attr);
	if (c->n <= type)
		c->n = type + 1;
	return MNL_CB_OK;
}

static int counters_message(const struct nlmsghdr *nlh, void *arg)
{
	mnl_attr_parse(nlh, sizeof(struct genlmsghdr), counter_attr, arg);
	return MNL_CB_OK;
}

unsigned int counters_get(uint64_t v[COUNTERS_MAX])
{
	struct mnl_socket *nl = netlink_open(NETLINK_GENERIC);
	struct counters c = { .v = v };
	struct query q = { .cb = counters_message, .arg = &c };
	struct nlmsghdr *nlh;
	char buf[256];
	uint16_t id;
	int err;

	memset(v, 0, COUNTERS_MAX * sizeof(*v));
	id = family_id(nl, SDP_FAMILY_NAME, NULL, NULL);
	if (!id)
		die("the kernel has no SDP: load it with 'modprobe sdp' as root");
	nlh = genl_request(buf, id, SDP_CMD_STATS_GET, SDP_FAMILY_VERSION);
	nlh->nlmsg_seq++;
	err = query_run(nl, nlh, &q);
	if (err)
		die("the kernel refused to give the counters of SDP: %s",
		    query_reason(&q, err));
	mnl_socket_close(nl);
	return c.n;
}
