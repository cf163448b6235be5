// SPDX-License-Identifier: GPL-2.0
/*
 * iproute2: "ip link add A type hnic peer name B". Found as link_hnic.so in
 * the directory of ip's modules, or in $IP_LIB_DIR.
 *
 * iproute2 has no header for its modules, so the functions that are used are declared here.
 * Without this module the link can be created as well, without a peer name:
 * "ip link add A type hnic".
 */
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>

#include <linux/hnic.h>

struct iplink_req;

/* ip/ip_common.h, since 4.9 */
struct link_util {
	struct link_util *next;
	const char *id;
	int maxattr;
	int (*parse_opt)(struct link_util *lu, int argc, char **argv,
			 struct nlmsghdr *n);
	void (*print_opt)(struct link_util *lu, FILE *f, struct rtattr *tb[]);
	void (*print_xstats)(struct link_util *lu, FILE *f, struct rtattr *x);
	void (*print_help)(struct link_util *lu, int argc, char **argv,
			   FILE *f);
	int (*parse_ifla_xstats)(struct link_util *lu, int argc, char **argv);
	int (*print_ifla_xstats)(struct nlmsghdr *n, void *arg);
};

/* Parses the options of a link, as of "ip link add"; returns how many words it used */
extern int iplink_parse(int argc, char **argv, struct iplink_req *req,
			char **type);
extern int addattr_l(struct nlmsghdr *n, int maxlen, int type, const void *data,
		     int alen);

extern struct link_util hnic_link_util;

/* ip has this much room for attributes in a request */
#define REQ_LEN 1024

static void hnic_help(struct link_util *lu, int argc, char **argv, FILE *f)
{
	(void)lu;
	(void)argc;
	(void)argv;
	fprintf(f, "Usage: ip link <options> type hnic [ peer <options> ]\n"
		   "See 'ip link add help' for <options>\n");
}

/*
 * The options of the peer become attributes in HNIC_INFO_PEER, as those of the
 * link become attributes of the request. Before them is a struct ifinfomsg, with
 * the options that are no attributes. Returns how many words are left, or -1.
 */
static int hnic_parse(struct link_util *lu, int argc, char **argv,
		      struct nlmsghdr *n)
{
	struct ifinfomsg *req = NLMSG_DATA(n);
	struct ifinfomsg own = *req;
	struct rtattr *peer;
	char *type = NULL;
	int used;

	if (strcmp(argv[0], "peer")) {
		hnic_help(lu, argc, argv, stderr);
		return -1;
	}
	req->ifi_flags = 0;
	req->ifi_change = 0;
	req->ifi_index = 0;
	peer = (struct rtattr *)((char *)n + NLMSG_ALIGN(n->nlmsg_len));
	addattr_l(n, REQ_LEN, HNIC_INFO_PEER, req, sizeof(*req));
	used = iplink_parse(argc - 1, argv + 1, (struct iplink_req *)n, &type);
	if (used < 0)
		return used;
	if (type) {
		fprintf(stderr, "hnic: the peer is of the same type\n");
		return -1;
	}
	memcpy(RTA_DATA(peer), req, sizeof(*req));
	*req = own;
	peer->rta_len = (char *)n + NLMSG_ALIGN(n->nlmsg_len) - (char *)peer;
	return argc - 1 - used;
}

struct link_util hnic_link_util = {
	.id = "hnic",
	.maxattr = HNIC_INFO_MAX,
	.parse_opt = hnic_parse,
	.print_help = hnic_help,
};
