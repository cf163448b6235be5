// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdp-any.so: preloaded to programs that reach their own machine by connecting to
 * a loopback address, or to the wildcard, which stands for one. They connect to
 * ANY_V4 or ANY_V6 of the environment instead.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static int is_own_v4(const struct sockaddr_in *sa)
{
	return !sa->sin_addr.s_addr || ntohl(sa->sin_addr.s_addr) >> 24 == 127;
}

static int is_own_v6(const struct sockaddr_in6 *sa)
{
	return IN6_IS_ADDR_UNSPECIFIED(&sa->sin6_addr) ||
	       IN6_IS_ADDR_LOOPBACK(&sa->sin6_addr);
}

int connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	int (*real)(int fd, const struct sockaddr *addr, socklen_t len) =
		dlsym(RTLD_NEXT, "connect");
	struct sockaddr_storage to = { 0 };
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&to;
	struct sockaddr_in *v4 = (struct sockaddr_in *)&to;

	memcpy(&to, addr, len < sizeof(to) ? len : sizeof(to));
	if (to.ss_family == AF_INET && is_own_v4(v4))
		inet_pton(AF_INET, getenv("ANY_V4"), &v4->sin_addr);
	if (to.ss_family == AF_INET6 && is_own_v6(v6))
		inet_pton(AF_INET6, getenv("ANY_V6"), &v6->sin6_addr);
	return real(fd, (struct sockaddr *)&to, len);
}
