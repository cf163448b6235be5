// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * libsdp, interposed calls: preloaded into a program, makes its TCP sockets
 * SDP sockets, or sockets that find out, see SDP_FALLBACK. May call the
 * decision layer (choose.h) and the kernel.
 *
 * An SDP socket is a socket of the kernel, so everything that a program does
 * with a descriptor (dup, fork, exec, passing it on, epoll, sendfile) works
 * without help. The library only opens the socket in the other family, and
 * answers the few questions whose true answer would confuse a program that does
 * not know that family. Which descriptors are meant is asked from the kernel
 * every time; a table of our own could be out of date.
 *
 * The kernel is entered by syscall(): no symbol lookup, so no state, no
 * initialisation order, and safe in signal handlers and between fork and exec.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/sdp.h>

#include "choose.h"

#ifndef SIN6_LEN_RFC2133
#define SIN6_LEN_RFC2133 24
#endif

#define LIBSDP_API __attribute__((visibility("default")))

static int sys_getsockopt(int fd, int level, int name, void *val,
			  socklen_t *len)
{
	return syscall(SYS_getsockopt, fd, level, name, val, len);
}

static int sys_setsockopt(int fd, int level, int name, const void *val,
			  socklen_t len)
{
	return syscall(SYS_setsockopt, fd, level, name, val, len);
}

/* Leaves errno alone, as the caller may have a result to return already. */
static int socket_says(int fd, int name)
{
	int val = -1, saved = errno;
	socklen_t len = sizeof(val);

	if (sys_getsockopt(fd, SOL_SOCKET, name, &val, &len))
		val = -1;
	errno = saved;
	return val;
}

/* Of its own family, or a protocol of an Internet one, see open_sdp() */
static bool is_sdp(int fd)
{
	int domain = socket_says(fd, SO_DOMAIN);

	if (domain != AF_INET && domain != AF_INET6)
		return domain == AF_SDP;
	return socket_says(fd, SO_PROTOCOL) == IPPROTO_SDP;
}

/* SDP sockets report addresses of the family the program asked for. */
static int address_family(int fd)
{
	struct sockaddr_storage addr = { .ss_family = AF_INET };
	socklen_t len = sizeof(addr);
	int saved = errno;

	if (syscall(SYS_getsockname, fd, &addr, &len))
		addr.ss_family = AF_INET;
	errno = saved;
	return addr.ss_family;
}

/* The kernel filled *len bytes of val just now, so both can be used. */
static int answered(const void *val, const socklen_t *len)
{
	int was = 0;

	memcpy(&was, val, *len < sizeof(was) ? *len : sizeof(was));
	return was;
}

static void replace_int(void *val, const socklen_t *len, int now)
{
	memcpy(val, &now, *len < sizeof(now) ? *len : sizeof(now));
}

/*
 * Is @protocol that of an SDP socket? The socket may have fallen back to TCP meanwhile,
 * so the family is checked as well. No other stream protocol of the Internet families
 * has such a low number.
 */
static bool was_sdp_protocol(int fd, int protocol)
{
	int domain;

	if (protocol == IPPROTO_SDP)
		return true;
	if ((protocol != SDPPROTO_SDP && protocol != SDPPROTO_SDP6) ||
	    socket_says(fd, SO_TYPE) != SOCK_STREAM)
		return false;
	domain = socket_says(fd, SO_DOMAIN);
	return domain == AF_SDP || domain == AF_INET || domain == AF_INET6;
}

/*
 * Returns 0, or an errno; errno itself stays as it is. EPERM: net.sdp.fallback is 0, so
 * it is SDP or nothing, and a socket that is bound does not become one of TCP.
 */
static int set_fallback(int fd, enum libsdp_use use)
{
	int saved = errno, err = 0, val = SDP_FALLBACK_NONE;

	if (use == LIBSDP_BOTH)
		val = SDP_FALLBACK_TCP;
	else if (use == LIBSDP_TCP)
		val = SDP_FALLBACK_ONLY;
	if (sys_setsockopt(fd, SOL_SDP, SDP_FALLBACK, &val, sizeof(val)))
		err = errno;
	errno = saved;
	return err;
}

/*
 * May the call continue after set_fallback() failed with @err? EISCONN means that a
 * connection was started earlier.
 */
static bool goes_on(int err, enum libsdp_use use)
{
	return !err || err == EISCONN || (err == EPERM && use != LIBSDP_TCP);
}

/*
 * Can an int at @p be read? The kernel reads the value of an option before it finds that
 * it does not know the option. A program's sandbox may forbid any other call.
 */
static bool readable(int fd, const void *p)
{
	int saved = errno;
	bool ok = !sys_setsockopt(fd, SOL_SOCKET, -1, p, sizeof(int)) ||
		  errno != EFAULT;

	errno = saved;
	return ok;
}

/* Can a rule apply to this address? The kernel reports bad addresses. */
static bool has_rules(int fd, const struct sockaddr *addr, socklen_t len)
{
	const char *p = (const char *)addr;

	if (!libsdp_asks() || !addr || len < sizeof(struct sockaddr_in) ||
	    !is_sdp(fd))
		return false;
	/* no more of it is read, so it lies on two pages at most */
	if (len > sizeof(struct sockaddr_in6))
		len = sizeof(struct sockaddr_in6);
	if (!readable(fd, p) || !readable(fd, p + len - sizeof(int)))
		return false;
	return addr->sa_family == AF_INET ||
	       (addr->sa_family == AF_INET6 && len >= SIN6_LEN_RFC2133);
}

/*
 * The kernel has no SDP. Remembered because each socket() would make it start modprobe
 * again. Only used when the rules allow TCP instead.
 */
static bool absent;

/*
 * A sandbox that allows Internet families does not know ours, but checks no protocol:
 * there the library opens an Internet socket with IPPROTO_SDP. The error is that of the
 * first attempt, for programs that get no other socket; @why: that of the last one.
 */
static int open_sdp(const struct libsdp_choice *want,
		    const struct libsdp_choice *use, int *why)
{
	int fd = syscall(SYS_socket, use->domain, use->type, use->protocol);
	int err = errno;

	*why = err;
	if (fd >= 0 || (err != EAFNOSUPPORT && err != EPERM && err != EACCES))
		return fd;
	fd = syscall(SYS_socket, want->domain, want->type, IPPROTO_SDP);
	if (fd >= 0)
		return fd;
	*why = errno;
	errno = err;
	return -1;
}

/*
 * Only EPROTONOSUPPORT is remembered for the life of the program: other errors may end when
 * it gets other groups.
 */
static void remember(int why)
{
	if (why == EPROTONOSUPPORT)
		__atomic_store_n(&absent, true, __ATOMIC_RELAXED);
	if (why == EPROTONOSUPPORT || why == EAFNOSUPPORT || why == EPERM ||
	    why == EACCES)
		libsdp_tell_none(why);
}

/*
 * The rules are about addresses, which are not known yet: a socket that may
 * become either begins as an SDP one. If the program cannot have an SDP socket, it
 * gets a TCP socket.
 */
LIBSDP_API int socket(int domain, int type, int protocol)
{
	const struct libsdp_choice want = { domain, type, protocol };
	struct libsdp_choice use = want;
	int fd, why;

	if (!libsdp_choose(&want, &use))
		return syscall(SYS_socket, domain, type, protocol);
	if (!libsdp_may_be_tcp())
		return open_sdp(&want, &use, &why);
	if (__atomic_load_n(&absent, __ATOMIC_RELAXED))
		return syscall(SYS_socket, domain, type, protocol);
	fd = open_sdp(&want, &use, &why);
	if (fd >= 0) {
		set_fallback(fd, LIBSDP_BOTH);
		return fd;
	}
	fd = syscall(SYS_socket, domain, type, protocol);
	/* where TCP fails as well, as without IPv6, there is nothing to log */
	if (fd >= 0)
		remember(why);
	return fd;
}

/*
 * bind() does not tell a server from a client. Unless the rules demand SDP, keep the
 * possibility to fall back to TCP.
 */
LIBSDP_API int bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	if (has_rules(fd, addr, len))
		set_fallback(fd,
			     libsdp_decide(LIBSDP_SERVER, addr) == LIBSDP_SDP ?
				     LIBSDP_SDP :
				     LIBSDP_BOTH);
	return syscall(SYS_bind, fd, addr, len);
}

LIBSDP_API int listen(int fd, int backlog)
{
	struct sockaddr_storage own;
	struct sockaddr *sa = (struct sockaddr *)&own;
	socklen_t len = sizeof(own);
	enum libsdp_use use;
	int err, ret;

	if (!libsdp_asks() || !is_sdp(fd) ||
	    syscall(SYS_getsockname, fd, sa, &len))
		return syscall(SYS_listen, fd, backlog);
	use = libsdp_decide(LIBSDP_SERVER, sa);
	err = set_fallback(fd, use);
	if (!err)
		libsdp_tell(LIBSDP_SERVER, sa);
	if (!goes_on(err, use)) {
		errno = err;
		return -1;
	}
	ret = syscall(SYS_listen, fd, backlog);
	if (!ret && !err && use == LIBSDP_BOTH)
		libsdp_tell_end(LIBSDP_SERVER, sa, fd, is_sdp(fd));
	return ret;
}

/*
 * glibc's connect() is a cancellation point. The symbol is weak, because other C
 * libraries do not have it and the program would fail to start.
 */
int __connect(int fd, const struct sockaddr *addr, socklen_t len)
	__attribute__((weak));

static int do_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	if (__connect)
		return __connect(fd, addr, len);
	return syscall(SYS_connect, fd, addr, len);
}

LIBSDP_API int connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	enum libsdp_use use;
	int err, ret;

	if (!has_rules(fd, addr, len))
		return do_connect(fd, addr, len);
	use = libsdp_decide(LIBSDP_CLIENT, addr);
	err = set_fallback(fd, use);
	if (!err)
		libsdp_tell(LIBSDP_CLIENT, addr);
	if (!goes_on(err, use)) {
		errno = err;
		return -1;
	}
	ret = do_connect(fd, addr, len);
	if (!ret)
		libsdp_tell_end(LIBSDP_CLIENT, addr, fd, is_sdp(fd));
	return ret;
}

LIBSDP_API int getsockopt(int fd, int level, int name, void *val,
			  socklen_t *len)
{
	int ret = sys_getsockopt(fd, level, name, val, len);

	if (ret || level != SOL_SOCKET)
		return ret;

	switch (name) {
	/* the answer counts: by now it may be a socket of TCP */
	case SO_DOMAIN:
		if (answered(val, len) == AF_SDP)
			replace_int(val, len, address_family(fd));
		break;
	case SO_PROTOCOL:
		if (was_sdp_protocol(fd, answered(val, len)))
			replace_int(val, len, IPPROTO_TCP);
		break;
	case SO_REUSEPORT:
		if (is_sdp(fd))
			ret = sys_getsockopt(fd, SOL_SDP, SDP_REUSEPORT, val,
					     len);
		break;
	}
	return ret;
}

/*
 * The core of kernels before 6.7 refuses SO_REUSEPORT and SO_ZEROCOPY at SOL_SOCKET for
 * every family but the Internet ones.
 */
LIBSDP_API int setsockopt(int fd, int level, int name, const void *val,
			  socklen_t len)
{
	if (level == SOL_SOCKET && name == SO_REUSEPORT && is_sdp(fd))
		return sys_setsockopt(fd, SOL_SDP, SDP_REUSEPORT, val, len);
	if (level == SOL_SOCKET && name == SO_ZEROCOPY && is_sdp(fd))
		return sys_setsockopt(fd, SOL_SDP, SDP_ZEROCOPY, val, len);
	return sys_setsockopt(fd, level, name, val, len);
}
