// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Filter streams, transports: kernel sockets of a family, rsockets of librdmacm, verbs.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <rdma/rsocket.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <linux/sdp.h>

#include "fs_plan.h"
#include "fs_xport.h"

#define SOCKET_CALLS                                                        \
	.socket = socket, .bind = bind, .listen = listen, .accept = accept, \
	.connect = connect, .send = send, .recv = recv, .poll = poll,       \
	.setsockopt = setsockopt, .close = close

/**
 * fs_xport_ms() - time for what waits
 *
 * Return: milliseconds of a clock that only goes forward.
 */
uint64_t fs_xport_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

/* rpoll() takes no negative descriptors, of which poll() thinks nothing. */
static int rsocket_look(struct pollfd *fds, struct pollfd *some, nfds_t n)
{
	nfds_t m = 0;
	int rc;

	for (nfds_t i = 0; i < n; i++) {
		fds[i].revents = 0;
		if (fds[i].fd >= 0)
			some[m++] = fds[i];
	}
	rc = rpoll(some, m, 0);
	for (nfds_t i = 0, k = 0; rc > 0 && i < n; i++) {
		if (fds[i].fd >= 0)
			fds[i].revents = some[k++].revents;
	}
	return rc;
}

/*
 * Threads that wait in rpoll() may yield to each other forever (librdmacm 44), so none
 * waits there: it looks, at intervals that grow from 20 us to 1 ms.
 */
static int rsocket_poll(struct pollfd *fds, nfds_t n, int timeout)
{
	struct pollfd *some = calloc(n + 1, sizeof(*some));
	uint64_t end = fs_xport_ms() + timeout;
	struct timespec ts = { .tv_nsec = 20000 };
	int rc;

	if (!some) {
		errno = ENOMEM;
		return -1;
	}
	while (!(rc = rsocket_look(fds, some, n)) && fs_xport_ms() < end) {
		nanosleep(&ts, NULL);
		if (ts.tv_nsec < 1000000)
			ts.tv_nsec += ts.tv_nsec / 4;
	}
	free(some);
	return rc;
}

static const struct fs_xport sockets[] = {
	{ .name = "tcp", .family = AF_UNSPEC, SOCKET_CALLS },
	/* the same; the name says that sdp-run may make something else of it */
	{ .name = "plain", .family = AF_UNSPEC, SOCKET_CALLS },
	{ .name = "sdp", .family = AF_SDP, SOCKET_CALLS },
	{
		.name = "rsocket",
		.family = AF_UNSPEC,
		.socket = rsocket,
		.bind = rbind,
		.listen = rlisten,
		.accept = raccept,
		.connect = rconnect,
		.send = rsend,
		.recv = rrecv,
		.poll = rsocket_poll,
		.setsockopt = rsetsockopt,
		.close = rclose,
	},
};

/**
 * fs_xport_get() - transport by name
 * @name: as in the plan, which has checked it
 *
 * Return: the transport.
 */
const struct fs_xport *fs_xport_get(const char *name)
{
	if (!strcmp(name, fs_verbs.name))
		return &fs_verbs;
	for (size_t i = 0; i < sizeof(sockets) / sizeof(*sockets); i++) {
		if (!strcmp(name, sockets[i].name))
			return &sockets[i];
	}
	fs_die(FS_INPUT, "this fs-node has no transport %s", name);
}

static struct addrinfo *resolve(const char *host, uint16_t port)
{
	const struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICSERV,
	};
	struct addrinfo *list;
	char service[8];
	int err;

	snprintf(service, sizeof(service), "%u", port);
	err = getaddrinfo(host, service, &hints, &list);
	if (err)
		fs_die(FS_INPUT, "%s: %s", host, gai_strerror(err));
	return list;
}

static int open_for(const struct fs_xport *xp, const struct addrinfo *ai)
{
	int family = xp->family, protocol = 0;
	int fd;

	if (family == AF_SDP)
		protocol = ai->ai_family == AF_INET6 ? SDPPROTO_SDP6 :
						       SDPPROTO_SDP;
	else
		family = ai->ai_family;
	fd = xp->socket(family, SOCK_STREAM, protocol);
	if (fd < 0 && errno == EAFNOSUPPORT && family == AF_SDP)
		fs_die(FS_INPUT,
		       "the kernel has no SDP sockets: run `modprobe sdp` as root");
	if (fd < 0 && errno == ENODEV)
		fs_die(FS_INPUT,
		       "%s: this host has no RDMA device: add one by `sdpctl setup` or `rdma link add`",
		       xp->name);
	if (fd < 0)
		fs_die(FS_INPUT, "%s: socket: %s", xp->name, strerror(errno));
	return fd;
}

/* Frames leave at once; a host that is switched off is noticed within seconds. */
static void set_options(const struct fs_xport *xp, int fd)
{
	const struct {
		int level, name, value;
	} options[] = {
		{ IPPROTO_TCP, TCP_NODELAY, 1 },
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, 1 },
		{ IPPROTO_TCP, TCP_KEEPINTVL, 1 },
		{ IPPROTO_TCP, TCP_KEEPCNT, 3 },
	};

	/* a transport that has no such option does without */
	for (unsigned int i = 0; i < sizeof(options) / sizeof(*options); i++)
		xp->setsockopt(fd, options[i].level, options[i].name,
			       &options[i].value, sizeof(int));
}

/**
 * fs_xport_listen() - open a listening socket
 * @xp: transport
 * @host: local address
 * @port: local port
 *
 * Return: descriptor. Does not return on errors.
 */
int fs_xport_listen(const struct fs_xport *xp, const char *host, uint16_t port)
{
	struct addrinfo *ai = resolve(host, port);
	int fd = open_for(xp, ai);
	int one = 1;

	xp->setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (xp->bind(fd, ai->ai_addr, ai->ai_addrlen))
		fs_die(FS_INPUT, "%s: bind to %s port %u: %s", xp->name, host,
		       port, strerror(errno));
	if (xp->listen(fd, 1024))
		fs_die(FS_INPUT, "%s: listen on %s port %u: %s", xp->name, host,
		       port, strerror(errno));
	freeaddrinfo(ai);
	return fd;
}

/**
 * fs_xport_connect() - connect to a node
 * @xp: transport
 * @host: its address
 * @port: its port
 *
 * Return: descriptor, or a negative error.
 */
int fs_xport_connect(const struct fs_xport *xp, const char *host, uint16_t port)
{
	struct addrinfo *ai = resolve(host, port);
	int fd = open_for(xp, ai);
	int err = 0;

	if (xp->connect(fd, ai->ai_addr, ai->ai_addrlen)) {
		err = -errno;
		xp->close(fd);
	} else {
		set_options(xp, fd);
	}
	freeaddrinfo(ai);
	return err ? err : fd;
}

/**
 * fs_xport_accept() - take a connection
 * @xp: transport
 * @fd: listening socket
 *
 * Return: descriptor, or a negative error.
 */
int fs_xport_accept(const struct fs_xport *xp, int fd)
{
	int con = xp->accept(fd, NULL, NULL);

	if (con < 0)
		return -errno;
	set_options(xp, con);
	return con;
}
