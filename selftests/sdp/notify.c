// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdp-notify: a client that sends with MSG_ZEROCOPY, written for TCP, against an
 * echo server. Prints what it finds, for a comparison of transports.
 *
 *	sdp-notify ADDRESS PORT		an ordinary TCP socket
 *	sdp-notify -n ADDRESS PORT	AF_SDP: what was copied, and SDP_INFO
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <linux/errqueue.h>
#include <linux/sdp.h>

#include "../lib/net.h"

#define PIECE 10000
#define LONG_MS 30000

static unsigned char out[PIECE], in[PIECE];
static uint32_t next_id; /* of the next notification */
static bool native, copied;
static int fd;

static const char *said(long ret)
{
	return ret < 0 ? strerror(errno) : "ok";
}

static void fill(unsigned char seed)
{
	for (size_t i = 0; i < sizeof(out); i++)
		out[i] = seed + i * 7;
}

/* One message of the error queue. Return: ids up to here, 0 if there is none. */
static uint32_t notification(bool print)
{
	char control[256];
	struct msghdr msg = { .msg_control = control,
			      .msg_controllen = sizeof(control) };
	const struct sock_extended_err *e;
	const struct cmsghdr *c;

	if (recvmsg(fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
		return 0;
	c = CMSG_FIRSTHDR(&msg);
	if (!c || !(msg.msg_flags & MSG_ERRQUEUE))
		net_fail("no control message");
	e = (const void *)CMSG_DATA(c);
	if (e->ee_info != next_id)
		net_fail("a number is missing");
	next_id = e->ee_data + 1;
	copied = e->ee_code & SO_EE_CODE_ZEROCOPY_COPIED;
	if (print)
		printf("level %d type %d errno %u origin %u\n", c->cmsg_level,
		       c->cmsg_type, e->ee_errno, e->ee_origin);
	return next_id;
}

/* Until all sends before @id are over */
static void await(uint32_t id, bool print)
{
	while (next_id < id) {
		if (!(net_wait(fd, 0, LONG_MS) & POLLERR))
			net_fail("no POLLERR");
		if (!notification(print))
			net_fail("POLLERR without a notification");
	}
	printf("notified of %u\n", next_id);
}

static void echoed(size_t len)
{
	if (!net_recv_all(fd, in, len))
		net_fail("recv");
}

/* The memory is ours again: it is written to before the echo is read */
static void reuse(uint32_t id)
{
	unsigned char copy[PIECE];

	fill(id);
	memcpy(copy, out, PIECE);
	if (send(fd, out, PIECE, MSG_ZEROCOPY) != PIECE)
		net_fail("send");
	await(id + 1, false);
	memset(out, 0xee, PIECE);
	echoed(PIECE);
	printf("echo %s\n", memcmp(in, copy, PIECE) ? "differs" : "is right");
	if (native)
		printf("copied %d\n", copied);
}

static void switches(void)
{
	int one = 1, two = 2, val = 0;
	socklen_t len = sizeof(val);

	printf("get %s",
	       said(getsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &val, &len)));
	printf(" %d\n", val);
	printf("2: %s\n", said(setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &two,
					  sizeof(two))));
	printf("1: %s\n", said(setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &one,
					  sizeof(one))));
	getsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &val, &len);
	printf("get %d\n", val);
}

static void program(void)
{
	int zero = 0;

	/* not asked for yet */
	if (send(fd, out, 100, MSG_ZEROCOPY) != 100)
		net_fail("send");
	echoed(100);
	printf("nothing: %s\n", notification(false) ? "something" : said(-1));
	if (native) {
		int one = 1;

		if (setsockopt(fd, SOL_SDP, SDP_ZEROCOPY, &one, sizeof(one)))
			net_fail("SDP_ZEROCOPY");
	} else {
		switches();
	}
	if (send(fd, out, 100, 0) != 100)
		net_fail("send");
	echoed(100);
	printf("without the flag: %s\n",
	       notification(false) ? "something" : said(-1));
	reuse(0);
	reuse(1);
	printf("bad memory: %s\n",
	       said(send(fd, (void *)8, 4096, MSG_ZEROCOPY)));
	printf("nothing to send: %s\n", said(send(fd, out, 0, MSG_ZEROCOPY)));
	for (int i = 0; i < 3; i++) {
		if (send(fd, out, 1000, MSG_ZEROCOPY) != 1000)
			net_fail("send");
		echoed(1000);
	}
	await(5, true);
	if (native)
		printf("copied %d\n", copied);
	if (setsockopt(fd, native ? SOL_SDP : SOL_SOCKET,
		       native ? SDP_ZEROCOPY : SO_ZEROCOPY, &zero,
		       sizeof(zero)))
		net_fail("switch it off");
	if (send(fd, out, 100, MSG_ZEROCOPY) != 100)
		net_fail("send");
	echoed(100);
	printf("off: %s\n", notification(false) ? "something" : said(-1));
}

/* As many bytes of SDP_INFO as asked for, and what they say */
static void info(uint64_t bytes)
{
	struct sdp_info i, part;
	socklen_t len = sizeof(i);

	memset(&i, 0xff, sizeof(i));
	if (getsockopt(fd, SOL_SDP, SDP_INFO, &i, &len) || len != sizeof(i))
		net_fail("SDP_INFO");
	printf("version %u size %s state %u device %s link %u %u flow %u %u zcopy %u\n",
	       i.version, i.size == sizeof(i) ? "right" : "wrong", i.state,
	       i.device, i.link, i.link_reason, i.flow_control, i.flow_reason,
	       i.zcopy_reason);
	printf("bytes %s messages %s queues %u %u %u\n",
	       i.tx_bytes == bytes && i.rx_bytes == bytes ? "right" : "wrong",
	       i.tx_msgs && i.rx_msgs ? "some" : "none", i.rx_queue, i.tx_queue,
	       i.tx_unsent);
	for (len = 0; len < sizeof(part); len += 4) {
		socklen_t got = len;

		memset(&part, 0xff, sizeof(part));
		if (getsockopt(fd, SOL_SDP, SDP_INFO, &part, &got) ||
		    got != len)
			net_fail("part of SDP_INFO");
		if (memcmp(&part, &i, len < 8 ? len : 8) ||
		    ((unsigned char *)&part)[len] != 0xff)
			net_fail("more, or other bytes than asked for");
	}
	if (!setsockopt(fd, SOL_SDP, SDP_INFO, &i, sizeof(i)))
		net_fail("SDP_INFO can be set");
	printf("set: %s\n", strerror(errno));
}

int main(int argc, char **argv)
{
	struct sockaddr_in a;

	native = argc == 4 && !strcmp(argv[1], "-n");
	if (argc != 3 + native)
		return 2;
	argv += native;
	net_address4(&a, argv[1], argv[2]);
	fd = net_socket(native ? AF_SDP : AF_INET);
	net_connect4(fd, &a);
	fill(1);
	program();
	if (native)
		info(100 * 3 + PIECE * 2 + 3000);
	return 0;
}
