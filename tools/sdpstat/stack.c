// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* sdpstat stack: which component of the protocol stack is where. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <linux/rdma_stack_netlink.h>

#include "sdpstat.h"

#define COMPS_MAX 16

struct stack_dev {
	int cmd;
	uint32_t index;
	bool has_qpn;
	uint32_t qpn;
	char name[64];
	char driver[64];
	uint32_t source;
	bool link;
	unsigned int n;
	struct {
		char name[24];
		uint32_t place;
	} comp[COMPS_MAX];
};

struct stack_options {
	bool json;
	bool monitor;
	const char *dev;
	const char *qpn;
	unsigned long count; /* of changes, 0: for ever */
	unsigned long shown;
};

static const char *const place_names[] = {
	[RDMA_STACK_PLACE_UNKNOWN] = "unknown",
	[RDMA_STACK_PLACE_ABSENT] = "absent",
	[RDMA_STACK_PLACE_HOST] = "host",
	[RDMA_STACK_PLACE_NIC] = "nic",
};

static const char *const source_names[] = {
	[RDMA_STACK_SOURCE_NONE] = "none",
	[RDMA_STACK_SOURCE_DRIVER] = "driver",
	[RDMA_STACK_SOURCE_PROVIDER] = "provider",
};

static const struct option long_options[] = {
	{ "json", no_argument, NULL, 'j' },
	{ "monitor", no_argument, NULL, 'm' },
	{ "count", required_argument, NULL, 'c' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static void stack_usage(FILE *f)
{
	fputs("Usage: sdpstat stack [OPTION]... [DEV [QPN]]\n"
	      "Shows for RDMA devices, or for one queue pair, which component of the protocol\n"
	      "stack is where: on the host, on the NIC, or absent.\n"
	      "\n"
	      "  -j, --json      JSON, one object per line\n"
	      "  -m, --monitor   then show changes as they come\n"
	      "  -c, --count=N   no more than N changes\n"
	      "  -h, --help      this text\n"
	      "\n"
	      "Source says where the answer comes from: the provider itself, or what is known\n"
	      "of its driver. See sdpstat(8).\n",
	      f);
}

/* ---- messages ---- */

static const char *name_of(const char *const *names, size_t n, uint32_t v)
{
	return v < n ? names[v] : "?";
}

static void get_string(char *dst, size_t len, const struct nlattr *attr)
{
	if (mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) >= 0)
		snprintf(dst, len, "%s", mnl_attr_get_str(attr));
}

static uint32_t get_u32(const struct nlattr *attr)
{
	if (mnl_attr_validate(attr, MNL_TYPE_U32) < 0)
		return 0;
	return mnl_attr_get_u32(attr);
}

static int comp_attr(const struct nlattr *attr, void *arg)
{
	struct stack_dev *d = arg;

	switch (mnl_attr_get_type(attr)) {
	case RDMA_STACK_A_COMPONENT_NAME:
		get_string(d->comp[d->n].name, sizeof(d->comp[d->n].name),
			   attr);
		break;
	case RDMA_STACK_A_COMPONENT_PLACE:
		d->comp[d->n].place = get_u32(attr);
		break;
	}
	return MNL_CB_OK;
}

static int dev_attr(const struct nlattr *attr, void *arg)
{
	struct stack_dev *d = arg;

	switch (mnl_attr_get_type(attr)) {
	case RDMA_STACK_A_DEV_INDEX:
		d->index = get_u32(attr);
		break;
	case RDMA_STACK_A_DEV_NAME:
		get_string(d->name, sizeof(d->name), attr);
		break;
	case RDMA_STACK_A_QPN:
		d->has_qpn = true;
		d->qpn = get_u32(attr);
		break;
	case RDMA_STACK_A_DRIVER:
		get_string(d->driver, sizeof(d->driver), attr);
		break;
	case RDMA_STACK_A_SOURCE:
		d->source = get_u32(attr);
		break;
	case RDMA_STACK_A_SHARED_LINK:
		d->link = true;
		break;
	case RDMA_STACK_A_COMPONENT:
		if (d->n == COMPS_MAX ||
		    mnl_attr_validate(attr, MNL_TYPE_NESTED) < 0)
			break;
		mnl_attr_parse_nested(attr, comp_attr, d);
		d->n++;
		break;
	}
	return MNL_CB_OK;
}

/* ---- output ---- */

static void print_head(const struct stack_dev *d)
{
	unsigned int i;

	printf("%-12s %-14s %-9s %-6s", "Device", "Driver", "Source", "Link");
	for (i = 0; i < d->n; i++)
		printf(" %-*s", (int)strlen(d->comp[i].name), d->comp[i].name);
	putchar('\n');
}

static void print_dev(const struct stack_dev *d)
{
	unsigned int i;
	char name[96];

	snprintf(name, sizeof(name), d->has_qpn ? "%s/%u" : "%s", d->name,
		 d->qpn);
	printf("%-12s %-14s %-9s %-6s", name, d->driver[0] ? d->driver : "-",
	       name_of(source_names, ARRAY_SIZE(source_names), d->source),
	       d->link ? "shared" : "verbs");
	for (i = 0; i < d->n; i++)
		printf(" %-*s", (int)strlen(d->comp[i].name),
		       name_of(place_names, ARRAY_SIZE(place_names),
			       d->comp[i].place));
	putchar('\n');
}

static const char *event_name(int cmd)
{
	switch (cmd) {
	case RDMA_STACK_CMD_DEV_CHANGE_NTF:
		return "change";
	case RDMA_STACK_CMD_DEV_DEL_NTF:
		return "gone";
	default:
		return NULL;
	}
}

static void json_dev(const struct stack_dev *d)
{
	unsigned int i;
	struct json j;

	json_start(&j, stdout);
	if (event_name(d->cmd))
		json_str(&j, "event", event_name(d->cmd));
	json_u64(&j, "index", d->index);
	json_str(&j, "device", d->name);
	if (d->has_qpn)
		json_u64(&j, "qpn", d->qpn);
	if (d->cmd != RDMA_STACK_CMD_DEV_DEL_NTF) {
		json_str(&j, "driver", d->driver);
		json_str(&j, "source",
			 name_of(source_names, ARRAY_SIZE(source_names),
				 d->source));
		json_bool(&j, "shared_link", d->link);
		json_open(&j, "components", '{');
		for (i = 0; i < d->n; i++)
			json_str(&j, d->comp[i].name,
				 name_of(place_names, ARRAY_SIZE(place_names),
					 d->comp[i].place));
		json_close(&j, '}');
	}
	json_end(&j);
}

static void show_dev(const struct stack_dev *d, struct stack_options *o)
{
	if (o->json) {
		json_dev(d);
	} else if (d->cmd == RDMA_STACK_CMD_DEV_DEL_NTF) {
		printf("%-12s gone\n", d->name);
	} else {
		if (!o->shown)
			print_head(d);
		print_dev(d);
	}
	o->shown++;
	flush_output();
}

static int stack_message(const struct nlmsghdr *nlh, void *arg)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);
	struct stack_options *o = arg;
	struct stack_dev d = { .cmd = genl->cmd };

	mnl_attr_parse(nlh, sizeof(*genl), dev_attr, &d);
	if (!event_name(d.cmd) || !o->dev || !strcmp(o->dev, d.name))
		show_dev(&d, o);
	return MNL_CB_OK;
}

/* ---- requests ---- */

static uint32_t parse_qpn(const char *arg)
{
	unsigned long v;
	char *end;

	errno = 0;
	v = strtoul(arg, &end, 0);
	if (errno || end == arg || *end || *arg == '-' || v > UINT32_MAX) {
		fprintf(stderr, "sdpstat: '%s' is not a queue pair number\n",
			arg);
		exit(2);
	}
	return v;
}

static void stack_get(struct mnl_socket *nl, uint16_t family,
		      struct stack_options *o)
{
	struct query q = { .cb = stack_message, .arg = o };
	struct nlmsghdr *nlh;
	char buf[512];
	int err;

	nlh = genl_request(buf, family, RDMA_STACK_CMD_DEV_GET,
			   RDMA_STACK_FAMILY_VERSION);
	if (!o->dev) {
		nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	} else {
		if (strlen(o->dev) > 63)
			die("%s: no such device", o->dev);
		mnl_attr_put_strz(nlh, RDMA_STACK_A_DEV_NAME, o->dev);
		if (o->qpn)
			mnl_attr_put_u32(nlh, RDMA_STACK_A_QPN,
					 parse_qpn(o->qpn));
	}
	err = query_run(nl, nlh, &q);
	if (err && o->dev)
		die("%s: %s", o->dev, query_reason(&q, err));
	if (err)
		die("the kernel refused to list RDMA devices: %s",
		    query_reason(&q, err));
}

/* Ignores other messages: a process with CAP_NET_ADMIN may send to the port of the socket. */
static int monitor_message(const struct nlmsghdr *nlh, void *arg)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);

	if (nlh->nlmsg_len < mnl_nlmsg_size(sizeof(*genl)) ||
	    !event_name(genl->cmd))
		return MNL_CB_OK;
	return stack_message(nlh, arg);
}

static void stack_monitor(struct mnl_socket *nl, struct stack_options *o)
{
	unsigned long first = o->shown;
	static char buf[32768];
	ssize_t len;

	while (!o->count || o->shown - first < o->count) {
		len = mnl_socket_recvfrom(nl, buf, sizeof(buf));
		if (len < 0 && errno == ENOBUFS) {
			fputs("sdpstat: changes were lost\n", stderr);
			continue;
		}
		if (len < 0)
			die("cannot read changes: %s", strerror(errno));
		mnl_cb_run(buf, len, 0, 0, monitor_message, o);
	}
}

static void stack_parse(struct stack_options *o, int argc, char **argv)
{
	int c;

	while ((c = getopt_long(argc, argv, "jmc:h", long_options, NULL)) !=
	       -1) {
		switch (c) {
		case 'j':
			o->json = true;
			break;
		case 'm':
			o->monitor = true;
			break;
		case 'c':
			o->count = parse_number(optarg, 10,
						"no number of changes");
			break;
		case 'h':
			stack_usage(stdout);
			flush_output();
			exit(0);
		default:
			fputs("See 'sdpstat stack --help'.\n", stderr);
			exit(2);
		}
	}
	if (argc - optind > 2) {
		bad_use(argv[optind + 2],
			"too much: DEV and QPN are all that stack takes");
	}
	o->dev = argv[optind];
	o->qpn = o->dev ? argv[optind + 1] : NULL;
}

int stack_main(int argc, char **argv)
{
	struct mnl_socket *nl, *events = NULL;
	struct stack_options o = { 0 };
	uint32_t group = 0;
	uint16_t family;

	stack_parse(&o, argc, argv);
	nl = netlink_open(NETLINK_GENERIC);
	family = family_id(nl, RDMA_STACK_FAMILY_NAME, RDMA_STACK_MCGRP_CHANGES,
			   &group);
	if (!family)
		die("components are not known: load the module with 'modprobe rdma_stack' as root");
	/* First listen, then ask, so that nothing is missed */
	if (o.monitor) {
		events = netlink_open(NETLINK_GENERIC);
		if (mnl_socket_setsockopt(events, NETLINK_ADD_MEMBERSHIP,
					  &group, sizeof(group)) < 0)
			die("cannot listen to changes: %s", strerror(errno));
	}
	stack_get(nl, family, &o);
	if (events)
		stack_monitor(events, &o);
	flush_output();
	return 0;
}
