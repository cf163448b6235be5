// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Socket options of AF_SDP. Most rows do the same to a TCP socket and want the
 * same errno and the same value back; the others say what they want.
 *
 *	sdp-sockopt [ADDRESS]	ADDRESS: of an RDMA device of this machine, for
 *				the rows that need a connection
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <linux/sdp.h>
#include <linux/tcp.h>

#ifndef SOL_TCP
#define SOL_TCP 6
#endif
#ifndef IPV6_MTU_DISCOVER
#define IPV6_MTU_DISCOVER 23
#endif
#define PORT 7300
#define CLIENTS 36

static unsigned int ran, failed;

static void result(bool ok, const char *what, const char *got, const char *want)
{
	printf("%sok %u - %s\n", ok ? "" : "not ", ++ran, what);
	if (ok)
		return;
	failed++;
	printf("# got:    %s\n# wanted: %s\n", got, want);
}

/* ---- rows about one socket ---- */

enum how {
	SET, /* set an int, then get it */
	SET_SHORT, /* set with a length of 1 */
	SET_NULL, /* set from a bad pointer */
	SET_STR, /* set the string */
	GET, /* get an int */
	GET_POSITIVE, /* get an int, only its sign is compared */
	GET_LEN, /* get with plenty of room, show the length */
	GET_NULL, /* get to a bad pointer */
	GET_NEG, /* get with a negative length */
	BIND_SET, /* bind before SET */
};

struct row {
	const char *name;
	int level;
	int opt;
	enum how how;
	int val;
	const char *want; /* NULL: what TCP does */
	const char *str;
};

#define R(level, opt, how, ...)                                        \
	{                                                              \
#level " " #opt " " #how, level, opt, how, __VA_ARGS__ \
	}
#define S(opt, val)                                                 \
	{                                                           \
#opt " = " #val, SOL_TCP, opt, SET, val, NULL, NULL \
	}
#define I(opt, val)                                                \
	{                                                          \
#opt " = " #val, SOL_IP, opt, SET, val, NULL, NULL \
	}
#define V(opt, val)                                                  \
	{                                                            \
#opt " = " #val, SOL_IPV6, opt, SET, val, NULL, NULL \
	}
#define K(opt, val)                                                    \
	{                                                              \
#opt " = " #val, SOL_SOCKET, opt, SET, val, NULL, NULL \
	}
#define X(name, level, opt, how, val, want)            \
	{                                              \
		name, level, opt, how, val, want, NULL \
	}

/* clang-format off */
static const struct row rows4[] = {
	R(SOL_TCP, TCP_NODELAY, GET, 0, NULL, NULL),
	S(TCP_NODELAY, 1), S(TCP_NODELAY, 0), S(TCP_NODELAY, 5),
	S(TCP_CORK, 1), S(TCP_CORK, 0), S(TCP_CORK, 7),
	R(SOL_TCP, TCP_MAXSEG, GET_POSITIVE, 0, NULL, NULL),
	S(TCP_MAXSEG, 10), S(TCP_MAXSEG, 87), S(TCP_MAXSEG, 88),
	S(TCP_MAXSEG, 1000), S(TCP_MAXSEG, 32768),
	R(SOL_TCP, TCP_KEEPIDLE, GET, 0, NULL, NULL),
	R(SOL_TCP, TCP_KEEPINTVL, GET, 0, NULL, NULL),
	R(SOL_TCP, TCP_KEEPCNT, GET, 0, NULL, NULL),
	R(SOL_TCP, TCP_SYNCNT, GET, 0, NULL, NULL),
	R(SOL_TCP, TCP_LINGER2, GET, 0, NULL, NULL),
	R(SOL_TCP, TCP_USER_TIMEOUT, GET, 0, NULL, NULL),
	R(SOL_TCP, TCP_DEFER_ACCEPT, GET, 0, NULL, NULL),
	R(SOL_TCP, TCP_QUICKACK, GET, 0, NULL, NULL),
	R(SOL_TCP, TCP_WINDOW_CLAMP, GET, 0, NULL, NULL),
	S(TCP_KEEPIDLE, -1), S(TCP_KEEPIDLE, 0), S(TCP_KEEPIDLE, 1),
	S(TCP_KEEPIDLE, 32767), S(TCP_KEEPIDLE, 32768),
	S(TCP_KEEPINTVL, 0), S(TCP_KEEPINTVL, 1), S(TCP_KEEPINTVL, 32767),
	S(TCP_KEEPINTVL, 32768),
	S(TCP_KEEPCNT, 0), S(TCP_KEEPCNT, 1), S(TCP_KEEPCNT, 127),
	S(TCP_KEEPCNT, 128),
	S(TCP_SYNCNT, 0), S(TCP_SYNCNT, 1), S(TCP_SYNCNT, 127),
	S(TCP_SYNCNT, 128),
	S(TCP_LINGER2, -5), S(TCP_LINGER2, 0), S(TCP_LINGER2, 5),
	S(TCP_LINGER2, 120), S(TCP_LINGER2, 100000),
	S(TCP_DEFER_ACCEPT, 0), S(TCP_DEFER_ACCEPT, 1), S(TCP_DEFER_ACCEPT, 3),
	S(TCP_USER_TIMEOUT, -1), S(TCP_USER_TIMEOUT, 0),
	S(TCP_USER_TIMEOUT, 30000),
	S(TCP_WINDOW_CLAMP, 1), S(TCP_WINDOW_CLAMP, 100000),
	S(TCP_WINDOW_CLAMP, 0),
	S(TCP_QUICKACK, 0), S(TCP_QUICKACK, 1),
	S(TCP_NOTSENT_LOWAT, 16384), S(TCP_NOTSENT_LOWAT, 0),
	S(TCP_INQ, 1), S(TCP_INQ, 2), S(TCP_INQ, -1), S(TCP_INQ, 0),
	S(TCP_FASTOPEN, -1), S(TCP_FASTOPEN, 5), S(TCP_FASTOPEN, 0),
	S(TCP_FASTOPEN_CONNECT, 2), S(TCP_FASTOPEN_CONNECT, 0),
	X("TCP_FASTOPEN_CONNECT = 1", SOL_TCP, TCP_FASTOPEN_CONNECT, SET, 1,
	  "EOPNOTSUPP"),
	S(TCP_FASTOPEN_NO_COOKIE, 1), S(TCP_FASTOPEN_NO_COOKIE, 2),
	S(TCP_THIN_LINEAR_TIMEOUTS, 1), S(TCP_THIN_LINEAR_TIMEOUTS, 2),
	S(TCP_THIN_DUPACK, 1), S(TCP_THIN_DUPACK, 2),
	S(TCP_SAVE_SYN, 1), S(TCP_SAVE_SYN, 2), S(TCP_SAVE_SYN, 3),
	R(SOL_TCP, TCP_SAVED_SYN, GET_LEN, 0, NULL, NULL),
	R(SOL_TCP, TCP_ULP, GET_LEN, 0, NULL, NULL),
	R(SOL_TCP, TCP_INFO, GET_LEN, 0, NULL, NULL),
	R(SOL_TCP, TCP_INFO, GET_NEG, 0, NULL, NULL),
	R(SOL_TCP, TCP_INFO, GET_NULL, 0, NULL, NULL),
	R(SOL_TCP, TCP_CONGESTION, GET_LEN, 0, NULL, NULL),
	R(SOL_TCP, TCP_CC_INFO, GET_LEN, 0, NULL, NULL),
	R(SOL_TCP, TCP_CONGESTION, SET_STR, 0, NULL, "nosuch"),
	R(SOL_TCP, TCP_CONGESTION, SET_STR, 0, NULL, ""),
	R(SOL_TCP, TCP_CONGESTION, SET_STR, 0, "0", "sdp"),
	R(SOL_TCP, TCP_ULP, SET_STR, 0, NULL, "nosuch"),
	R(SOL_TCP, TCP_ULP, SET_STR, 0, NULL, ""),
	R(SOL_TCP, TCP_ULP, SET_STR, 0, "ENOENT", "tls"),
	X("TCP_REPAIR = 1", SOL_TCP, TCP_REPAIR, SET, 1, "EPERM"),
	S(TCP_REPAIR_QUEUE, 1), S(TCP_QUEUE_SEQ, 1), S(TCP_REPAIR_OPTIONS, 1),
	S(TCP_REPAIR_WINDOW, 1),
	X("TCP_TIMESTAMP = 1", SOL_TCP, TCP_TIMESTAMP, SET, 1, "EPERM"),
	X("TCP_MD5SIG = 1", SOL_TCP, TCP_MD5SIG, SET, 1, "ENOPROTOOPT"),
	X("TCP_TX_DELAY = 1", SOL_TCP, TCP_TX_DELAY, SET, 1, "ENOPROTOOPT"),
	R(SOL_TCP, TCP_ZEROCOPY_RECEIVE, GET, 0, NULL, NULL),
	X("SDP_ZEROCOPY_RECEIVE, short", SOL_SDP, SDP_ZEROCOPY_RECEIVE, GET, 0,
	  "EINVAL"),
	R(SOL_TCP, 999, SET, 1, NULL, NULL),
	R(SOL_TCP, 999, GET, 1, NULL, NULL),
	R(SOL_TCP, TCP_NODELAY, SET_SHORT, 1, NULL, NULL),
	R(SOL_TCP, TCP_NODELAY, SET_NULL, 1, NULL, NULL),
	R(SOL_TCP, TCP_NODELAY, GET_NULL, 1, NULL, NULL),
	R(SOL_TCP, TCP_NODELAY, GET_NEG, 1, NULL, NULL),

	R(SOL_IP, IP_TOS, GET, 0, NULL, NULL),
	R(SOL_IP, IP_TTL, GET, 0, NULL, NULL),
	R(SOL_IP, IP_MTU_DISCOVER, GET, 0, NULL, NULL),
	R(SOL_IP, IP_MTU, GET, 0, NULL, NULL),
	I(IP_TOS, 0x10), I(IP_TOS, 0xff), I(IP_TOS, 0),
	R(SOL_IP, IP_TOS, SET_SHORT, 8, NULL, NULL),
	R(SOL_IP, IP_TOS, SET_NULL, 8, NULL, NULL),
	I(IP_TTL, 0), I(IP_TTL, 64), I(IP_TTL, 256), I(IP_TTL, -1),
	I(IP_MTU_DISCOVER, 0), I(IP_MTU_DISCOVER, 5), I(IP_MTU_DISCOVER, 9),
	I(IP_RECVERR, 1), I(IP_FREEBIND, 1), I(IP_TRANSPARENT, 1),
	I(IP_BIND_ADDRESS_NO_PORT, 1), I(IP_RECVTOS, 1), I(IP_PKTINFO, 1),
	I(IP_RECVTTL, 1), I(IP_MINTTL, 300), I(IP_MINTTL, 0),
	X("IP_MINTTL = 1", SOL_IP, IP_MINTTL, SET, 1, "EOPNOTSUPP"),
	I(IP_MULTICAST_TTL, 3), I(IP_HDRINCL, 1), I(250, 1),
	R(SOL_IP, IP_ADD_MEMBERSHIP, SET_STR, 0, NULL, "12345678901"),
	R(SOL_IP, 250, GET, 0, NULL, NULL),
	R(SOL_IP, 80, GET_LEN, 0, NULL, NULL),	/* SO_ORIGINAL_DST */
	R(SOL_IPV6, IPV6_V6ONLY, SET, 1, NULL, NULL),
	R(SOL_IPV6, IPV6_V6ONLY, GET, 1, NULL, NULL),
	R(4711, 1, SET, 1, NULL, NULL),
	R(4711, 1, GET, 1, NULL, NULL),

	R(SOL_SOCKET, SO_TYPE, GET, 0, NULL, NULL),
	R(SOL_SOCKET, SO_ACCEPTCONN, GET, 0, NULL, NULL),
	R(SOL_SOCKET, SO_ERROR, GET, 0, NULL, NULL),
	X("SO_DOMAIN", SOL_SOCKET, SO_DOMAIN, GET, 0, "0 27"),
	X("SO_PROTOCOL", SOL_SOCKET, SO_PROTOCOL, GET, 0, "0 0"),
	K(SO_TYPE, 1), K(SO_ERROR, 1), K(SO_SNDLOWAT, 1),
	K(SO_SNDBUF, 10000), K(SO_SNDBUF, 1), K(SO_RCVBUF, 10000),
	K(SO_RCVBUF, 1), K(SO_SNDBUFFORCE, 500000),
	K(SO_RCVLOWAT, 0), K(SO_RCVLOWAT, 4), K(SO_KEEPALIVE, 1),
	K(SO_OOBINLINE, 1), K(SO_REUSEADDR, 1), K(SO_BROADCAST, 1),
	K(SO_DONTROUTE, 1), K(SO_PRIORITY, 6), K(SO_PRIORITY, 7),
	K(SO_MARK, 5), K(SO_DEBUG, 1), K(SO_TIMESTAMP, 1), K(SO_NO_CHECK, 1),
	K(SO_MAX_PACING_RATE, 1000000), K(SO_INCOMING_CPU, 0), K(9999, 1),
	R(SOL_SOCKET, SO_LINGER, GET_LEN, 0, NULL, NULL),
	R(SOL_SOCKET, SO_PEERCRED, GET_LEN, 0, NULL, NULL),
	R(SOL_SOCKET, SO_BINDTODEVICE, SET_STR, 0, NULL, "nosuchdev"),
	R(SOL_SOCKET, SO_BINDTODEVICE, SET_STR, 0, NULL, "lo"),
	R(SOL_SOCKET, SO_KEEPALIVE, SET_SHORT, 1, NULL, NULL),
	R(SOL_SOCKET, SO_COOKIE, GET_LEN, 0, NULL, NULL),
	R(SOL_SOCKET, SO_MEMINFO, GET_LEN, 0, NULL, NULL),

	X("SDP_REUSEPORT = 1", SOL_SDP, SDP_REUSEPORT, SET, 1, "0 1"),
	X("SDP_REUSEPORT = 0", SOL_SDP, SDP_REUSEPORT, SET, 0, "0 0"),
	X("SDP_REUSEPORT, short", SOL_SDP, SDP_REUSEPORT, SET_SHORT, 0, "EINVAL"),
	X("SDP_LAST_CREDITS, none", SOL_SDP, SDP_LAST_CREDITS, GET, 0, "0 0"),
	X("SDP_DEVICE, none", SOL_SDP, SDP_DEVICE, GET_LEN, 0, "ENOTCONN"),
	X("SDP_DEVICE = 1", SOL_SDP, SDP_DEVICE, SET, 1, "ENOPROTOOPT"),
	X("SOL_SDP 99", SOL_SDP, 99, GET, 0, "ENOPROTOOPT"),
};

static const struct row rows6[] = {
	R(SOL_IPV6, IPV6_V6ONLY, GET, 0, NULL, NULL),
	R(SOL_IPV6, IPV6_UNICAST_HOPS, GET, 0, NULL, NULL),
	R(SOL_IPV6, IPV6_TCLASS, GET, 0, NULL, NULL),
	R(SOL_IPV6, IPV6_MTU_DISCOVER, GET, 0, NULL, NULL),
	R(SOL_IPV6, IPV6_MTU, GET, 0, NULL, NULL),
	V(IPV6_V6ONLY, 1), V(IPV6_V6ONLY, 0), V(IPV6_V6ONLY, 3),
	R(SOL_IPV6, IPV6_V6ONLY, BIND_SET, 1, NULL, NULL),
	R(SOL_IPV6, IPV6_V6ONLY, SET_SHORT, 1, NULL, NULL),
	R(SOL_IPV6, IPV6_V6ONLY, SET_NULL, 1, NULL, NULL),
	V(IPV6_UNICAST_HOPS, -2), V(IPV6_UNICAST_HOPS, -1),
	V(IPV6_UNICAST_HOPS, 0), V(IPV6_UNICAST_HOPS, 255),
	V(IPV6_UNICAST_HOPS, 256),
	V(IPV6_TCLASS, -1), V(IPV6_TCLASS, 0x20), V(IPV6_TCLASS, 256),
	V(IPV6_MTU_DISCOVER, 0), V(IPV6_MTU_DISCOVER, 5),
	V(IPV6_MTU_DISCOVER, 9),
	V(IPV6_RECVPKTINFO, 1), V(IPV6_RECVHOPLIMIT, 1), V(IPV6_RECVERR, 1),
	V(IPV6_RECVTCLASS, 1), V(IPV6_FREEBIND, 1), V(IPV6_TRANSPARENT, 1),
	V(IPV6_MINHOPCOUNT, 256), V(IPV6_MINHOPCOUNT, 0),
	X("IPV6_MINHOPCOUNT = 1", SOL_IPV6, IPV6_MINHOPCOUNT, SET, 1,
	  "EOPNOTSUPP"),
	V(IPV6_DONTFRAG, 1), V(IPV6_AUTOFLOWLABEL, 1),
	V(IPV6_MULTICAST_HOPS, 3), V(250, 1),
	R(SOL_IPV6, IPV6_ADD_MEMBERSHIP, SET_STR, 0, NULL, "1234567890123456789"),
	R(SOL_IPV6, IPV6_ADD_MEMBERSHIP, SET_STR, 0, NULL, "12345678901234567890"),
	R(SOL_IPV6, 250, GET, 0, NULL, NULL),
	I(IP_TOS, 0x10), I(IP_TTL, 64), S(TCP_NODELAY, 1),
	R(4711, 1, SET, 1, NULL, NULL),
	R(4711, 1, GET, 1, NULL, NULL),
};
/* clang-format on */

static void errno_text(char *buf, size_t len)
{
	snprintf(buf, len, "%s", strerrorname_np(errno));
}

static void get_int(char *buf, size_t len, int fd, const struct row *r)
{
	int v = 0x55555555;
	socklen_t n = sizeof(v);

	if (getsockopt(fd, r->level, r->opt, &v, &n))
		errno_text(buf, len);
	else if (r->how == GET_POSITIVE)
		snprintf(buf, len, v > 0 ? "positive" : "not positive");
	else
		snprintf(buf, len, "0 %d", v);
}

static void do_get(char *buf, size_t len, int fd, const struct row *r)
{
	char room[1024];
	socklen_t n = sizeof(room);
	void *where = room;

	if (r->how == GET || r->how == GET_POSITIVE) {
		get_int(buf, len, fd, r);
		return;
	}
	if (r->how == GET_NULL)
		where = NULL;
	if (r->how == GET_NEG)
		n = (socklen_t)-1;
	if (getsockopt(fd, r->level, r->opt, where, &n))
		errno_text(buf, len);
	else
		snprintf(buf, len, "0 length %u", n);
}

static void do_set(char *buf, size_t len, int fd, const struct row *r)
{
	const void *where = &r->val;
	socklen_t n = sizeof(r->val);

	if (r->how == SET_STR) {
		where = r->str;
		n = strlen(r->str);
	} else if (r->how == SET_SHORT) {
		n = 1;
	} else if (r->how == SET_NULL) {
		where = (const void *)1;
	}

	if (setsockopt(fd, r->level, r->opt, where, n))
		errno_text(buf, len);
	else if (r->how == SET || r->how == BIND_SET)
		get_int(buf, len, fd, r);
	else
		snprintf(buf, len, "0");
}

/* 0.0.0.0 or ::, any port */
static int bind_any(int fd, bool v6)
{
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in sin = { .sin_family = AF_INET };

	if (v6)
		return bind(fd, (struct sockaddr *)&sin6, sizeof(sin6));
	return bind(fd, (struct sockaddr *)&sin, sizeof(sin));
}

static void do_row(char *buf, size_t len, bool sdp, bool v6,
		   const struct row *r)
{
	int fd;

	if (sdp)
		fd = socket(AF_SDP, SOCK_STREAM, v6 ? SDPPROTO_SDP6 : 0);
	else
		fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
	if (fd < 0) {
		snprintf(buf, len, "socket: %s", strerror(errno));
		return;
	}

	if (r->how == BIND_SET && bind_any(fd, v6))
		snprintf(buf, len, "bind: %s", strerror(errno));
	else if (r->how >= GET && r->how <= GET_NEG)
		do_get(buf, len, fd, r);
	else
		do_set(buf, len, fd, r);
	close(fd);
}

static void run_rows(const struct row *r, size_t n, bool v6)
{
	char got[128], want[128], name[128];

	for (; n; n--, r++) {
		do_row(got, sizeof(got), true, v6, r);
		if (r->want)
			snprintf(want, sizeof(want), "%s", r->want);
		else
			do_row(want, sizeof(want), false, v6, r);
		snprintf(name, sizeof(name), "%s%s", v6 ? "IPv6: " : "",
			 r->name);
		result(!strcmp(got, want), name, got, want);
	}
}

/* How much SO_RCVLOWAT takes of, and makes of, a buffer with SO_RCVBUF or without */
static void low_water(char *buf, size_t len, bool sdp, int rcvbuf, int low)
{
	int fd = socket(sdp ? AF_SDP : AF_INET, SOCK_STREAM, 0);
	int got = -1, size = -1;
	socklen_t n = sizeof(int);

	if (rcvbuf)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof(rcvbuf));
	setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &low, sizeof(low));
	getsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &got, &n);
	getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, &n);
	close(fd);
	snprintf(buf, len, "%d, buffer %s", got,
		 size >= 2 * got ? "twice that" : "less than twice that");
}

static void refused(const char *name, int type, int protocol, const char *want)
{
	int fd = socket(AF_SDP, type, protocol);
	char got[32] = "a socket";

	if (fd < 0)
		errno_text(got, sizeof(got));
	else
		close(fd);
	result(!strcmp(got, want), name, got, want);
}

/* Sockets that AF_SDP does not have, and a send that would connect */
static void check_refused(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_port = htons(PORT) };
	int fd = socket(AF_SDP, SOCK_STREAM, 0);
	char got[32] = "sent";

	refused("AF_SDP, SOCK_DGRAM", SOCK_DGRAM, 0, "ESOCKTNOSUPPORT");
	refused("AF_SDP, SOCK_SEQPACKET", SOCK_SEQPACKET, 0, "ESOCKTNOSUPPORT");
	refused("AF_SDP, protocol 2000", SOCK_STREAM, 2000, "EPROTONOSUPPORT");
	refused("AF_SDP, protocol 6", SOCK_STREAM, IPPROTO_TCP,
		"EPROTONOSUPPORT");
	if (sendto(fd, "x", 1, MSG_FASTOPEN, (struct sockaddr *)&addr,
		   sizeof(addr)) < 0)
		errno_text(got, sizeof(got));
	result(!strcmp(got, "EOPNOTSUPP"), "MSG_FASTOPEN", got, "EOPNOTSUPP");
	close(fd);
}

static void check_low_water(void)
{
	static const int rows[][2] = {
		{ 0, 4 },	  { 0, 1000000 },      { 10000, 100000 },
		{ 10000, 10000 }, { 200000, 1000000 },
	};
	char got[64], want[64], name[64];
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(name, sizeof(name), "SO_RCVBUF %d, SO_RCVLOWAT %d",
			 rows[i][0], rows[i][1]);
		low_water(got, sizeof(got), true, rows[i][0], rows[i][1]);
		low_water(want, sizeof(want), false, rows[i][0], rows[i][1]);
		result(!strcmp(got, want), name, got, want);
	}
}

/* ---- rows about a connection ---- */

struct pair {
	int listener;
	int client;
	int child;
};

static void fail_now(const char *what)
{
	result(false, what, strerror(errno), "success");
}

/* Options that a child must inherit from its listener. */
static const struct row inherited[] = {
	S(TCP_NODELAY, 1),   S(TCP_KEEPIDLE, 100),	 S(TCP_KEEPINTVL, 10),
	S(TCP_KEEPCNT, 3),   S(TCP_USER_TIMEOUT, 12345), S(TCP_LINGER2, 7),
	S(TCP_INQ, 1),	     S(TCP_NOTSENT_LOWAT, 4096), K(SO_KEEPALIVE, 1),
	K(SO_OOBINLINE, 1),  K(SO_RCVLOWAT, 3),		 K(SO_SNDBUF, 60000),
	K(SO_RCVBUF, 70000), K(SO_PRIORITY, 5),		 K(SO_MARK, 9),
	I(IP_TOS, 0x10),
};

static int listen_on(struct sockaddr_in *addr)
{
	struct timeval tv = { .tv_sec = 5 };
	struct linger linger = { .l_onoff = 1, .l_linger = 4 };
	int fd, on = 1;
	size_t i;

	fd = socket(AF_SDP, SOCK_STREAM, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	for (i = 0; i < sizeof(inherited) / sizeof(inherited[0]); i++)
		if (setsockopt(fd, inherited[i].level, inherited[i].opt,
			       &inherited[i].val, sizeof(int)))
			return -1;
	if (bind(fd, (struct sockaddr *)addr, sizeof(*addr)) || listen(fd, 5))
		return -1;
	return fd;
}

static bool connect_pair(struct pair *p, const char *address)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_port = htons(PORT) };

	inet_pton(AF_INET, address, &addr.sin_addr);
	p->listener = listen_on(&addr);
	if (p->listener < 0) {
		fail_now("listen");
		return false;
	}
	p->client = socket(AF_SDP, SOCK_STREAM, 0);
	if (connect(p->client, (struct sockaddr *)&addr, sizeof(addr))) {
		fail_now("connect");
		return false;
	}
	p->child = accept(p->listener, NULL, NULL);
	if (p->child < 0) {
		fail_now("accept");
		return false;
	}
	return true;
}

static void check_inherited(const struct pair *p)
{
	char got[128], want[128], name[128];
	struct linger linger = { 0 };
	socklen_t len = sizeof(linger);
	size_t i;

	for (i = 0; i < sizeof(inherited) / sizeof(inherited[0]); i++) {
		snprintf(name, sizeof(name), "a child inherits %s",
			 inherited[i].name);
		get_int(got, sizeof(got), p->child, &inherited[i]);
		get_int(want, sizeof(want), p->listener, &inherited[i]);
		result(!strcmp(got, want), name, got, want);
	}
	getsockopt(p->child, SOL_SOCKET, SO_LINGER, &linger, &len);
	snprintf(got, sizeof(got), "%d %d", linger.l_onoff, linger.l_linger);
	result(!strcmp(got, "1 4"), "a child inherits SO_LINGER", got, "1 4");
}

static void check_info(const struct pair *p)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);
	char got[128], data[1000] = "";

	if (send(p->client, data, sizeof(data), 0) != sizeof(data) ||
	    recv(p->child, data, sizeof(data), MSG_WAITALL) != sizeof(data)) {
		fail_now("1000 bytes");
		return;
	}

	memset(&info, 0, sizeof(info));
	getsockopt(p->client, SOL_TCP, TCP_INFO, &info, &len);
	snprintf(got, sizeof(got), "state %u sent %llu mss %d", info.tcpi_state,
		 (unsigned long long)info.tcpi_bytes_sent,
		 info.tcpi_snd_mss > 1000);
	result(!strcmp(got, "state 1 sent 1000 mss 1"), "TCP_INFO of a sender",
	       got, "state 1 sent 1000 mss 1");

	len = sizeof(info);
	memset(&info, 0, sizeof(info));
	getsockopt(p->child, SOL_TCP, TCP_INFO, &info, &len);
	snprintf(got, sizeof(got), "state %u received %llu", info.tcpi_state,
		 (unsigned long long)info.tcpi_bytes_received);
	result(!strcmp(got, "state 1 received 1000"), "TCP_INFO of a receiver",
	       got, "state 1 received 1000");
}

/* Connections of this namespace leave flow control to the transport */
static bool shared_link(void)
{
	FILE *f = fopen("/proc/sys/net/sdp/shared_link", "r");
	int v = 0;

	if (!f)
		return false;
	if (fscanf(f, "%d", &v) != 1)
		v = 0;
	fclose(f);
	return v;
}

static void check_connection(const struct pair *p)
{
	char name[64] = "", got[64];
	socklen_t len = sizeof(name);
	int v = 0;

	result(!getsockopt(p->client, SOL_SDP, SDP_DEVICE, name, &len) &&
		       len == strlen(name) + 1 && len > 1,
	       "SDP_DEVICE names the device", name, "a name");

	len = sizeof(v);
	getsockopt(p->client, SOL_SDP, SDP_LAST_CREDITS, &v, &len);
	snprintf(got, sizeof(got), "%d", v);
	if (shared_link())
		result(!v, "SDP_LAST_CREDITS of a shared link", got, "0");
	else
		result(v > 0, "SDP_LAST_CREDITS of a connection", got,
		       "more than 0");

	len = sizeof(v);
	getsockopt(p->client, SOL_TCP, TCP_MAXSEG, &v, &len);
	snprintf(got, sizeof(got), "%d", v);
	result(v > 1000 && v <= 65495, "TCP_MAXSEG of a connection", got,
	       "more than 1000, less than an IP datagram");

	v = 1;
	result(setsockopt(p->client, SOL_TCP, TCP_FASTOPEN, &v, sizeof(v)) &&
		       errno == EINVAL,
	       "TCP_FASTOPEN of a connection: EINVAL", strerror(errno),
	       "EINVAL");
	v = 0;
	result(setsockopt(p->client, SOL_TCP, TCP_WINDOW_CLAMP, &v,
			  sizeof(v)) &&
		       errno == EINVAL,
	       "TCP_WINDOW_CLAMP = 0 of a connection: EINVAL", strerror(errno),
	       "EINVAL");
}

/* Held data leaves when TCP_CORK is cleared, and by itself after a while. */
static void check_cork(const struct pair *p)
{
	char got[128], data[100] = "";
	int on = 1, off = 0, first, second, third;

	setsockopt(p->client, SOL_TCP, TCP_CORK, &on, sizeof(on));
	first = send(p->client, data, 60, 0);
	setsockopt(p->client, SOL_TCP, TCP_CORK, &off, sizeof(off));
	first += recv(p->child, data, 60, MSG_WAITALL);
	setsockopt(p->client, SOL_TCP, TCP_CORK, &on, sizeof(on));
	second = send(p->client, data, 70, 0);
	second += recv(p->child, data, 70, MSG_WAITALL);
	setsockopt(p->client, SOL_TCP, TCP_CORK, &off, sizeof(off));
	third = send(p->client, data, 80, MSG_MORE);
	third += recv(p->child, data, 80, MSG_WAITALL);
	snprintf(got, sizeof(got), "%d %d %d", first, second, third);
	result(!strcmp(got, "120 140 160"),
	       "TCP_CORK and MSG_MORE hold data, not for ever", got,
	       "120 140 160");
}

static int listen_shared(const struct sockaddr_in *addr)
{
	int fd = socket(AF_SDP, SOCK_STREAM | SOCK_NONBLOCK, 0), on = 1;

	if (setsockopt(fd, SOL_SDP, SDP_REUSEPORT, &on, sizeof(on)) ||
	    bind(fd, (const struct sockaddr *)addr, sizeof(*addr)) ||
	    listen(fd, CLIENTS)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Accept @want connections from both together; n: how many from each. */
static void accept_shared(const int *fd, int want, int *n)
{
	struct pollfd p[2] = { { fd[0], POLLIN, 0 }, { fd[1], POLLIN, 0 } };
	int i, child;

	while (want > 0 && poll(p, 2, 20000) > 0) {
		for (i = 0; i < 2; i++) {
			child = p[i].revents ? accept(fd[i], NULL, NULL) : -1;
			if (child < 0)
				continue;
			close(child);
			n[i]++;
			want--;
		}
	}
}

static int connect_some(int *client, int n, const struct sockaddr_in *addr)
{
	int i, failures = 0;

	for (i = 0; i < n; i++) {
		client[i] = socket(AF_SDP, SOCK_STREAM, 0);
		failures += !!connect(client[i], (const struct sockaddr *)addr,
				      sizeof(*addr));
	}
	return failures;
}

/* Two listeners share the connections; one that is left gets all of them. */
static void check_reuseport(const char *address)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_port = htons(PORT + 1) };
	int fd[2], client[CLIENTS], n[2] = { 0 }, i, failures;
	char got[128];

	inet_pton(AF_INET, address, &addr.sin_addr);
	fd[0] = listen_shared(&addr);
	fd[1] = listen_shared(&addr);
	seteuid(1);
	i = listen_shared(&addr);
	seteuid(0);
	result(i < 0, "SDP_REUSEPORT: not with other users", "listening",
	       "EADDRINUSE");
	failures = connect_some(client, CLIENTS - 4, &addr);
	accept_shared(fd, CLIENTS - 4, n);
	close(fd[0]);
	fd[0] = -1;
	failures += connect_some(client + CLIENTS - 4, 4, &addr);
	snprintf(got, sizeof(got), "%d and %d, %d failures", n[0], n[1],
		 failures);
	result(n[0] && n[1] && n[0] + n[1] == CLIENTS - 4,
	       "SDP_REUSEPORT: listeners share connections", got, "all");
	n[1] = 0;
	accept_shared(fd, 4, n);
	snprintf(got, sizeof(got), "%d, %d failures", n[1], failures);
	result(n[1] == 4 && !failures,
	       "SDP_REUSEPORT: the one that is left gets all", got, "4, 0");
	close(fd[1]);
	for (i = 0; i < CLIENTS; i++)
		close(client[i]);
}

/* One attempt more than the first: over after three seconds, as with TCP */
static void check_attempts(const char *address)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_port = htons(PORT + 2) };
	struct timeval tv = { .tv_sec = 10 };
	int fd = socket(AF_SDP, SOCK_STREAM, 0), client[2], one = 1;
	char got[32] = "connected";

	inet_pton(AF_INET, address, &addr.sin_addr);
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) || listen(fd, 0) ||
	    connect_some(client, 1, &addr)) {
		fail_now("a listener without room");
		return;
	}
	client[1] = socket(AF_SDP, SOCK_STREAM, 0);
	setsockopt(client[1], SOL_TCP, TCP_SYNCNT, &one, sizeof(one));
	setsockopt(client[1], SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	if (connect(client[1], (struct sockaddr *)&addr, sizeof(addr)))
		errno_text(got, sizeof(got));
	result(!strcmp(got, "ETIMEDOUT"), "TCP_SYNCNT ends connect()", got,
	       "ETIMEDOUT");
	close(client[0]);
	close(client[1]);
	close(fd);
}

int main(int argc, char **argv)
{
	struct pair p;

	puts("TAP version 13");
	run_rows(rows4, sizeof(rows4) / sizeof(rows4[0]), false);
	run_rows(rows6, sizeof(rows6) / sizeof(rows6[0]), true);
	check_refused();
	check_low_water();
	if (argc > 1 && connect_pair(&p, argv[1])) {
		check_connection(&p);
		check_info(&p);
		check_inherited(&p);
		check_cork(&p);
		check_reuseport(argv[1]);
		check_attempts(argv[1]);
	}
	printf("1..%u\n# totals: pass:%u fail:%u skip:0\n", ran, ran - failed,
	       failed);
	return failed ? 1 : 0;
}
