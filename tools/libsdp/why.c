// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * libsdp, reasons: finds a socket in the kernel's list of SDP sockets by its inode,
 * which it keeps when TCP takes over. For the log only: it takes a walk through all
 * sockets of the namespace. Calls the kernel.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/netlink.h>
#include <linux/sdp.h>
#include <linux/sdp_diag.h>
#include <linux/sock_diag.h>

#include "why.h"

/* The longest answer of the kernel to a dump: of a longer one the rest would be lost */
#define ANSWER 32768

static bool ask(int nl)
{
	struct {
		struct nlmsghdr head;
		struct sdp_diag_req diag;
	} req = {
		.head = { .nlmsg_len = sizeof(req),
			  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.diag = { .sdiag_family = AF_SDP, .states = ~0U },
	};

	return send(nl, &req, sizeof(req), 0) == sizeof(req);
}

/* Takes the reason out of the attributes of a socket. */
static bool find_reason(const struct nlmsghdr *h, char *word, size_t size)
{
	const size_t head = NLMSG_LENGTH(sizeof(struct sdp_diag_msg));
	const char *p = (const char *)h + NLMSG_ALIGN(head);
	const char *end = (const char *)h + h->nlmsg_len;
	struct nlattr a;
	size_t len;

	while (end - p > (ptrdiff_t)sizeof(a)) {
		memcpy(&a, p, sizeof(a));
		if (a.nla_len < sizeof(a) || a.nla_len > end - p)
			break;
		if (a.nla_type == SDP_DIAG_TCP_REASON) {
			len = a.nla_len - sizeof(a);
			if (!len || len > size)
				break;
			memcpy(word, p + sizeof(a), len);
			word[len - 1] = '\0';
			return true;
		}
		p += NLA_ALIGN(a.nla_len);
	}
	return false;
}

/*
 * One answer of the kernel. Returns 1: found, 0: read the next one, -1: the end, or the socket
 * has no reason.
 */
static int look(const char *buf, size_t len, ino_t inode, char *word,
		size_t size)
{
	const struct nlmsghdr *h = (const void *)buf;
	const struct sdp_diag_msg *m;

	for (; NLMSG_OK(h, len); h = NLMSG_NEXT(h, len)) {
		if (h->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
		    h->nlmsg_len < NLMSG_LENGTH(sizeof(*m)))
			return -1;
		m = NLMSG_DATA(h);
		if (m->diag_inode == inode)
			return find_reason(h, word, size) ? 1 : -1;
	}
	return 0;
}

/* Goes through all answers. */
static bool search(int nl, ino_t inode, char *buf, char *word, size_t size)
{
	int found = 0;
	ssize_t n;

	while (!found && (n = recv(nl, buf, ANSWER, 0)) > 0)
		found = look(buf, n, inode, word, size);
	return found == 1;
}

bool libsdp_why(int fd, char *word, size_t size)
{
	bool found = false;
	struct stat st;
	char *buf;
	int nl;

	nl = syscall(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
		     NETLINK_SOCK_DIAG);
	if (nl < 0)
		return false;
	/* too large for small stacks, and a signal handler may not call malloc() */
	buf = mmap(NULL, ANSWER, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (buf != MAP_FAILED) {
		found = !fstat(fd, &st) && ask(nl) &&
			search(nl, st.st_ino, buf, word, size);
		munmap(buf, ANSWER);
	}
	close(nl);
	return found;
}
