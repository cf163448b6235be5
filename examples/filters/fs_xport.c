// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Filter streams, transports: kernel sockets of a family, and rsockets of
 * librdmacm. The library is opened only when rsockets are asked for, so that the
 * program runs where it is not installed.
 */
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <linux/sdp.h>

#include "fs_plan.h"
#include "fs_xport.h"

#define RDMACM "librdmacm.so.1"

#define SOCKET_CALLS                                                        \
	.socket = socket, .bind = bind, .listen = listen, .accept = accept, \
	.connect = connect, .send = send, .recv = recv, .poll = poll,       \
	.setsockopt = setsockopt, .close = close

static const struct fs_xport kernel[] = {
	{ .name = "tcp", .family = AF_UNSPEC, SOCKET_CALLS },
	/* the same; the name says that sdp-run may make something else of it */
	{ .name = "plain", .family = AF_UNSPEC, SOCKET_CALLS },
	{ .name = "sdp", .family = AF_SDP, SOCKET_CALLS },
};

static struct fs_xport rsockets = { .name = "rsocket", .family = AF_UNSPEC };

static void *rsymbol(void *lib, const char *name)
{
	void *sym = dlsym(lib, name);

	if (!sym)
		fs_die(FS_INPUT, "%s has no %s()", RDMACM, name);
	return sym;
}

static const struct fs_xport *load_rsockets(void)
{
	struct fs_xport *xp = &rsockets;
	void *lib = dlopen(RDMACM, RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		fs_die(FS_INPUT, "rsockets need the package librdmacm1: %s",
		       dlerror());
	xp->socket = rsymbol(lib, "rsocket");
	xp->bind = rsymbol(lib, "rbind");
	xp->listen = rsymbol(lib, "rlisten");
	xp->accept = rsymbol(lib, "raccept");
	xp->connect = rsymbol(lib, "rconnect");
	xp->send = rsymbol(lib, "rsend");
	xp->recv = rsymbol(lib, "rrecv");
	xp->poll = rsymbol(lib, "rpoll");
	xp->setsockopt = rsymbol(lib, "rsetsockopt");
	xp->close = rsymbol(lib, "rclose");
	return xp;
}

/**
 * fs_xport_get() - transport by name
 * @name: as in the plan, which has checked it
 *
 * Return: the transport. Does not return if it cannot be used here.
 */
const struct fs_xport *fs_xport_get(const char *name)
{
	for (unsigned int i = 0; i < sizeof(kernel) / sizeof(*kernel); i++) {
		if (!strcmp(name, kernel[i].name))
			return &kernel[i];
	}
	if (!strcmp(name, rsockets.name))
		return load_rsockets();
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
	fd = xp->socket(family, SOCK_STREAM | SOCK_CLOEXEC, protocol);
	if (fd < 0 && errno == EINVAL)
		fd = xp->socket(family, SOCK_STREAM, protocol);
	if (fd < 0 && errno == EAFNOSUPPORT && family == AF_SDP)
		fs_die(FS_INPUT,
		       "the kernel has no SDP sockets: run `modprobe sdp` as root");
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
