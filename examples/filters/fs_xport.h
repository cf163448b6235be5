/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Filter streams: transports, as calls that look like those of sockets.
 */
#ifndef FS_XPORT_H
#define FS_XPORT_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

/**
 * struct fs_xport - transport
 * @name: name in plans
 * @family: of its sockets
 * @finish: deliver what was sent before the process ends; NULL if the kernel does
 */
struct fs_xport {
	const char *name;
	int family;
	int (*socket)(int family, int type, int protocol);
	int (*bind)(int fd, const struct sockaddr *addr, socklen_t len);
	int (*listen)(int fd, int backlog);
	int (*accept)(int fd, struct sockaddr *addr, socklen_t *len);
	int (*connect)(int fd, const struct sockaddr *addr, socklen_t len);
	ssize_t (*send)(int fd, const void *buf, size_t len, int flags);
	ssize_t (*recv)(int fd, void *buf, size_t len, int flags);
	int (*poll)(struct pollfd *fds, nfds_t n, int timeout);
	int (*setsockopt)(int fd, int level, int name, const void *val,
			  socklen_t len);
	int (*close)(int fd);
	void (*finish)(void);
};

extern const struct fs_xport fs_verbs;

uint64_t fs_xport_ms(void);
const struct fs_xport *fs_xport_get(const char *name);
int fs_xport_listen(const struct fs_xport *xp, const char *host, uint16_t port);
int fs_xport_connect(const struct fs_xport *xp, const char *host,
		     uint16_t port);
int fs_xport_accept(const struct fs_xport *xp, int fd);

#endif /* FS_XPORT_H */
