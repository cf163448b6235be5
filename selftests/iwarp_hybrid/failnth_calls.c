// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * hyb-failnth: the calls of a program that listens, and of its client, in one task:
 * bind, listen, connect, accept, options, names, ioctl, poll, urgent data, splice,
 * shutdown.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include <linux/sockios.h>

#include <linux/sdp.h>

#include "../lib/net.h"
#include "failnth.h"

enum { LISTENER, CLIENT, SERVER, EPOLL, PIPE, PIPE_IN, FDS };

struct ends {
	int fd[FDS];
	struct sockaddr_in addr;
};

static int try(long ret)
{
	return ret < 0 ? errno : 0;
}

static int set(int fd, int level, int name, int value)
{
	return try(setsockopt(fd, level, name, &value, sizeof(value)));
}

static int opens(int *fd)
{
	struct timeval patience = { .tv_sec = 10 };

	*fd = socket(AF_INET, SOCK_STREAM, IPPROTO_SDP);
	if (*fd < 0)
		return errno;
	return try(setsockopt(*fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience))) ?:
		       try(setsockopt(*fd, SOL_SOCKET, SO_SNDTIMEO, &patience,
				      sizeof(patience)));
}

static int listens(struct ends *e)
{
	socklen_t len = sizeof(e->addr);

	return opens(&e->fd[LISTENER])					 ?:
		       set(e->fd[LISTENER], SOL_SOCKET, SO_REUSEADDR, 1) ?:
		       set(e->fd[LISTENER], SOL_SOCKET, SO_REUSEPORT, 1) ?:
		       set(e->fd[LISTENER], SOL_SDP, SDP_FALLBACK, SDP_FALLBACK_TCP) ?:
		       try(bind(e->fd[LISTENER], (struct sockaddr *)&e->addr, sizeof(e->addr))) ?:
		       try(listen(e->fd[LISTENER], 4)) ?:
		       try(listen(e->fd[LISTENER], 8)) ?:
		       try(getsockname(e->fd[LISTENER],
				       (struct sockaddr *)&e->addr, &len));
}

static int connects(struct ends *e)
{
	struct sockaddr_in from = { .sin_family = AF_INET,
				    .sin_addr = e->addr.sin_addr };

	return opens(&e->fd[CLIENT])					  ?:
		       set(e->fd[CLIENT], SOL_SOCKET, SO_KEEPALIVE, 1)	  ?:
		       set(e->fd[CLIENT], SOL_SOCKET, SO_SNDBUF, 1 << 18) ?:
		       set(e->fd[CLIENT], SOL_IP, IP_TOS, 0x10)		  ?:
		       set(e->fd[CLIENT], SOL_TCP, TCP_NODELAY, 1)	  ?:
		       try(bind(e->fd[CLIENT], (struct sockaddr *)&from, sizeof(from))) ?:
		       try(connect(e->fd[CLIENT], (struct sockaddr *)&e->addr,
				   sizeof(e->addr)));
}

static int accepts(struct ends *e)
{
	struct epoll_event ev = { .events = EPOLLIN };
	struct sockaddr_in sin;
	socklen_t len = sizeof(sin);

	if (!net_wait(e->fd[LISTENER], POLLIN, 10000)) {
		errno = ETIMEDOUT;
		return errno;
	}
	e->fd[SERVER] = accept(e->fd[LISTENER], (struct sockaddr *)&sin, &len);
	if (e->fd[SERVER] < 0)
		return errno;
	e->fd[EPOLL] = epoll_create1(0);
	return try(e->fd[EPOLL]) ?:
		       try(epoll_ctl(e->fd[EPOLL], EPOLL_CTL_ADD, e->fd[SERVER], &ev)) ?:
		       try(getpeername(e->fd[SERVER], (struct sockaddr *)&sin,
				       &len));
}

/* These bytes, which were sent, come to @to */
static int comes(int to, const char *data, size_t len)
{
	char in[64] = "";

	if (!net_recv_all(to, in, len))
		return errno ?: ECONNRESET;
	return memcmp(in, data, len) ? WRONG : 0;
}

static int talks(struct ends *e)
{
	struct epoll_event ev;
	char byte = 0;

	return try(send(e->fd[CLIENT], "abc", 3, MSG_NOSIGNAL | MSG_MORE)) ?:
		       try(send(e->fd[CLIENT], "def", 3, MSG_NOSIGNAL))	   ?:
		       (epoll_wait(e->fd[EPOLL], &ev, 1, 10000) == 1 ? 0 : ETIMEDOUT) ?:
		       comes(e->fd[SERVER], "abcdef", 6) ?:
		       try(send(e->fd[SERVER], "u", 1, MSG_NOSIGNAL | MSG_OOB)) ?:
		       (net_wait(e->fd[CLIENT], POLLPRI, 10000) > 0 ? 0 : ETIMEDOUT) ?:
		       try(recv(e->fd[CLIENT], &byte, 1, MSG_OOB)) ?:
		       (byte == 'u' ? 0 : WRONG);
}

static int asks(struct ends *e)
{
	struct sdp_info info;
	socklen_t len = sizeof(info);
	struct tcp_info tcp;
	socklen_t tcp_len = sizeof(tcp);
	int n;

	return try(getsockopt(e->fd[CLIENT], SOL_SDP, SDP_INFO, &info, &len)) ?:
		       try(getsockopt(e->fd[CLIENT], SOL_TCP, TCP_INFO, &tcp, &tcp_len)) ?:
		       try(ioctl(e->fd[CLIENT], SIOCINQ, &n)) ?:
		       try(ioctl(e->fd[CLIENT], SIOCOUTQ, &n));
}

static int splices(struct ends *e)
{
	ssize_t n;

	if (pipe2(&e->fd[PIPE], O_CLOEXEC) ||
	    write(e->fd[PIPE_IN], "ghi", 3) != 3)
		return errno;
	n = splice(e->fd[PIPE], NULL, e->fd[SERVER], NULL, 3, 0);
	if (n != 3)
		return n < 0 ? errno : WRONG;
	n = splice(e->fd[CLIENT], NULL, e->fd[PIPE_IN], NULL, 3, 0);
	/* as much as has come */
	return n < 0 ? errno : n && n <= 3 ? 0 : WRONG;
}

static int ends(struct ends *e)
{
	char byte;

	if (shutdown(e->fd[CLIENT], SHUT_WR))
		return errno;
	return recv(e->fd[SERVER], &byte, 1, 0) ? errno ?: WRONG : 0;
}

int calls_run(const char *host, int nth)
{
	static int (*const steps[])(struct ends *) = {
		listens, connects, accepts, talks, asks, splices, ends,
	};
	struct ends e = { .fd = { -1, -1, -1, -1, -1, -1 } };
	size_t i;
	int err = 0;

	net_address4(&e.addr, host, "0");
	nth_set(nth);
	for (i = 0; !err && i < sizeof(steps) / sizeof(steps[0]); i++) {
		errno = 0;
		err = steps[i](&e);
	}
	for (i = 0; i < FDS; i++)
		if (e.fd[i] >= 0)
			close(e.fd[i]);
	return err;
}
