// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpbench, SMC: does a connection use RDMA, or has SMC fallen back to TCP? SMC does
 * so without telling the program. The kernel's socket diagnostics know.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/smc_diag.h>
#include <linux/sock_diag.h>

#include "smc.h"

/* As the kernel fills the parts of a dump */
#define DUMP_BUFFER 32768
#define ANSWER_SECONDS 10

/* Our socket, and its entry in a dump */
struct found {
	ino_t inode;
	bool seen;
	uint8_t mode;
	uint32_t reason; /* of the fallback */
};

static int ask(int nl)
{
	struct {
		struct nlmsghdr head;
		struct smc_diag_req req;
	} msg = {
		.head.nlmsg_len = sizeof(msg),
		.head.nlmsg_type = SOCK_DIAG_BY_FAMILY,
		.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		.req.diag_family = AF_SMC,
		.req.diag_ext = 1 << (SMC_DIAG_FALLBACK - 1),
	};

	return send(nl, &msg, sizeof(msg), 0) == sizeof(msg) ? 0 : -1;
}

static void take(const struct nlmsghdr *head, struct found *found)
{
	const struct smc_diag_msg *msg = NLMSG_DATA(head);
	int len = (int)head->nlmsg_len - (int)NLMSG_LENGTH(sizeof(*msg));
	const struct rtattr *attr = (const void *)(msg + 1);

	if (len < 0 || msg->diag_inode != found->inode)
		return;
	found->seen = true;
	found->mode = msg->diag_mode;
	for (; RTA_OK(attr, len); attr = RTA_NEXT(attr, len)) {
		const struct smc_diag_fallback *fallback = RTA_DATA(attr);

		if (attr->rta_type == SMC_DIAG_FALLBACK &&
		    RTA_PAYLOAD(attr) >= sizeof(*fallback))
			found->reason = fallback->reason;
	}
}

/* Return: 1 if there is more, 0 at the end, -1 with errno set */
static int part(int nl, struct found *found)
{
	union {
		struct nlmsghdr head;
		char bytes[DUMP_BUFFER];
	} buf;
	const struct nlmsghdr *head = &buf.head;
	ssize_t n = recv(nl, &buf, sizeof(buf), 0);
	int len = (int)n;

	if (n < 0)
		return -1;
	for (; NLMSG_OK(head, (unsigned int)len);
	     head = NLMSG_NEXT(head, len)) {
		if (head->nlmsg_type == NLMSG_DONE)
			return 0;
		if (head->nlmsg_type == NLMSG_ERROR) {
			errno = EOPNOTSUPP;
			return -1;
		}
		take(head, found);
	}
	return 1;
}

/* Return: 0, or -1 with errno set */
static int look(int fd, struct found *found)
{
	const struct timeval limit = { .tv_sec = ANSWER_SECONDS };
	int nl = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	struct stat st;
	int more = -1;

	if (nl < 0)
		return -1;
	if (!fstat(fd, &st) &&
	    !setsockopt(nl, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) &&
	    !ask(nl)) {
		found->inode = st.st_ino;
		do {
			more = part(nl, found);
		} while (more > 0);
	}
	close(nl);
	return more;
}

/**
 * smc_check() - end the program if an SMC connection has fallen back to TCP
 * @fd: connected socket
 *
 * Does not return either if that cannot be found out.
 */
void smc_check(int fd)
{
	struct found found = { 0 };

	if (look(fd, &found))
		bench_die(
			"smc: cannot ask whether this is RDMA: %s (run `modprobe smc_diag` as root)",
			strerror(errno));
	if (!found.seen)
		bench_die("smc: the kernel does not list the connection");
	if (found.mode == SMC_DIAG_MODE_FALLBACK_TCP)
		bench_die(
			"smc: the connection fell back to TCP, reason 0x%08x (RDMA needs a device at both ends, and a pnetid or an EID in common)",
			found.reason);
}
