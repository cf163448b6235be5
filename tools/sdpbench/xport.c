// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpbench, transport layer: kernel sockets of a family, and rsockets of
 * librdmacm. The library is opened only when rsockets are asked for, so that
 * the program runs where it is not installed. Calls smc.c, host.c and say.c.
 */
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <linux/sdp.h>

#include "smc.h"

/* of SMC, which has no header of its own for them */
#define SMCPROTO_SMC 0
#define SMCPROTO_SMC6 1

#define RDMACM "librdmacm.so.1"

#define SOCKET_CALLS                                                        \
	.socket = socket, .bind = bind, .listen = listen, .accept = accept, \
	.connect = connect, .send = send, .recv = recv,                     \
	.setsockopt = setsockopt, .poll = poll, .close = close, .kernel = true

static const struct xport tcp = {
	.name = "tcp",
	.family = AF_UNSPEC,
	.place = 1,
	SOCKET_CALLS,
};

static const struct xport sdp = {
	.name = "sdp",
	.family = AF_SDP,
	SOCKET_CALLS,
};

static struct xport rsockets = {
	.name = "rsocket",
	.family = AF_UNSPEC,
	.place = 2,
};

static const struct xport smc = {
	.name = "smc",
	.family = AF_SMC,
	.place = 3,
	SOCKET_CALLS,
};

static void *rsymbol(void *lib, const char *name)
{
	void *sym = dlsym(lib, name);

	if (!sym)
		bench_die("%s has no %s()", RDMACM, name);
	return sym;
}

static const struct xport *load_rsockets(void)
{
	struct xport *xp = &rsockets;
	void *lib = dlopen(RDMACM, RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		bench_die("rsockets need the package librdmacm1: %s",
			  dlerror());
	xp->socket = rsymbol(lib, "rsocket");
	xp->bind = rsymbol(lib, "rbind");
	xp->listen = rsymbol(lib, "rlisten");
	xp->accept = rsymbol(lib, "raccept");
	xp->connect = rsymbol(lib, "rconnect");
	xp->send = rsymbol(lib, "rsend");
	xp->recv = rsymbol(lib, "rrecv");
	xp->setsockopt = rsymbol(lib, "rsetsockopt");
	xp->poll = rsymbol(lib, "rpoll");
	xp->close = rsymbol(lib, "rclose");
	return xp;
}

/**
 * xport_get() - transport by name
 * @name: "sdp", "tcp", "rsocket" or "smc"
 *
 * Return: the transport, ready for use, or NULL if there is none of that name.
 * Does not return if it is known but cannot be used here.
 */
const struct xport *xport_get(const char *name)
{
	if (!strcmp(name, sdp.name))
		return &sdp;
	if (!strcmp(name, tcp.name))
		return &tcp;
	if (!strcmp(name, rsockets.name))
		return load_rsockets();
	if (!strcmp(name, smc.name))
		return &smc;
	return NULL;
}

/* The protocol of its family that takes addresses of @family */
static int protocol_for(const struct xport *xp, int family)
{
	bool v6 = family == AF_INET6;

	if (xp->family == AF_SDP)
		return v6 ? SDPPROTO_SDP6 : SDPPROTO_SDP;
	if (xp->family == AF_SMC)
		return v6 ? SMCPROTO_SMC6 : SMCPROTO_SMC;
	return 0;
}

static int open_for(const struct xport *xp, const struct addrinfo *ai)
{
	int fd =
		xp->socket(xp->family == AF_UNSPEC ? ai->ai_family : xp->family,
			   SOCK_STREAM, protocol_for(xp, ai->ai_family));

	if (fd < 0 && errno == EAFNOSUPPORT && xp->family == AF_SDP)
		bench_die(
			"the kernel has no SDP sockets: run `modprobe sdp` as root");
	if (fd < 0 && errno == EAFNOSUPPORT && xp->family == AF_SMC)
		bench_die(
			"the kernel has no SMC sockets: run `modprobe smc` as root, if it was built with CONFIG_SMC");
	if (fd < 0)
		bench_die("%s: socket: %s%s", xp->name, strerror(errno),
			  errno == ENODEV ?
				  ": there is no RDMA device, see sdpctl(8)" :
				  "");
	return fd;
}

/* The likely reason why the name service does not find a host */
static const char *no_host(const char *host, int err)
{
	const char *colon = host ? strchr(host, ':') : NULL;

	if (err == EAI_ADDRFAMILY)
		return " (is -4 or -6 for the other kind of address?)";
	if (colon && !strchr(colon + 1, ':'))
		return " (the port is given with -p)";
	return "";
}

static struct addrinfo *resolve(const char *host, uint16_t port, int family,
				int flags)
{
	const struct addrinfo hints = {
		.ai_family = family,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = flags | AI_NUMERICSERV,
	};
	struct addrinfo *list;
	char service[8];
	int err;

	snprintf(service, sizeof(service), "%u", port);
	err = getaddrinfo(host, service, &hints, &list);
	if (err)
		bench_die("%s: %s%s", host ? host : "any address",
			  gai_strerror(err), no_host(host, err));
	return list;
}

/**
 * xport_nodelay() - send every message at once
 * @xp: transport
 * @fd: connection
 *
 * Failure is no error: a transport without the option does not delay.
 */
void xport_nodelay(const struct xport *xp, int fd)
{
	int one = 1;

	xp->setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

/* A port is not available: say what to do */
static noreturn void bind_fail(const struct xport *xp, uint16_t port, int err)
{
	const char *hint = "";

	if (err == EADDRINUSE)
		hint = " (-p takes another port)";
	else if (err == EADDRNOTAVAIL)
		hint = " (-b takes an address of this host, `ip addr` lists them)";
	else if (err == EACCES)
		hint = " (ports below 1024 need root)";
	bench_die("%s: bind to port %u: %s%s", xp->name, port, strerror(err),
		  hint);
}

/**
 * xport_listen() - open a listening socket
 * @xp: transport
 * @host: local address, or NULL for all
 * @port: local port
 * @family: AF_INET, AF_INET6 or AF_UNSPEC
 *
 * Return: descriptor. Does not return on errors.
 */
int xport_listen(const struct xport *xp, const char *host, uint16_t port,
		 int family)
{
	/* no address: the wildcard of IPv4, which every transport takes */
	struct addrinfo *ai = resolve(
		host, port, !host && family == AF_UNSPEC ? AF_INET : family,
		AI_PASSIVE);
	int one = 1;
	int fd = open_for(xp, ai);

	xp->setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (xp->bind(fd, ai->ai_addr, ai->ai_addrlen))
		bind_fail(xp, port, errno);
	if (xp->listen(fd, 64))
		bench_die("%s: listen: %s", xp->name, strerror(errno));
	freeaddrinfo(ai);
	return fd;
}

/* The server may still be starting; any other error is reported at once. */
static bool worth_retry(int err)
{
	return err == ECONNREFUSED || err == ECONNRESET || err == ENETUNREACH;
}

/* An attempt to connect has failed: say what to do */
static noreturn void connect_fail(const struct xport *xp, const char *host,
				  uint16_t port, int err)
{
	char hint[128] = "";

	if (err == ECONNREFUSED && xp->place)
		snprintf(
			hint, sizeof(hint),
			" (does sdpbench -s -t %s run there? A server of several transports has it at its port + %d)",
			xp->name, xp->place);
	else if (err == ECONNREFUSED)
		snprintf(hint, sizeof(hint),
			 " (does sdpbench -s -t %s run there?)", xp->name);
	else if (xp->family == AF_SDP)
		snprintf(hint, sizeof(hint),
			 " (`sdpstat check HOST:%u` finds what is missing)",
			 port);
	bench_die("%s: connect to %s port %u: %s%s", xp->name, host, port,
		  strerror(err), hint);
}

/**
 * xport_connect() - connect to a server
 * @xp: transport
 * @host: its name or address
 * @port: its port
 * @family: AF_INET, AF_INET6 or AF_UNSPEC
 * @wait: seconds to go on trying without a listener
 *
 * Return: descriptor. Does not return on errors.
 */
int xport_connect(const struct xport *xp, const char *host, uint16_t port,
		  int family, double wait)
{
	const struct timespec pause = { .tv_nsec = 50 * 1000 * 1000 };
	struct addrinfo *list = resolve(host, port, family, 0);
	double end = bench_now() + wait;
	int err = 0;

	for (;;) {
		for (struct addrinfo *ai = list; ai; ai = ai->ai_next) {
			int fd = open_for(xp, ai);

			if (!xp->connect(fd, ai->ai_addr, ai->ai_addrlen)) {
				if (xp->family == AF_SMC)
					smc_check(fd);
				freeaddrinfo(list);
				return fd;
			}
			err = errno;
			xp->close(fd);
		}
		if (!worth_retry(err) || bench_now() >= end)
			connect_fail(xp, host, port, err);
		nanosleep(&pause, NULL);
	}
}
