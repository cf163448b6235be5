/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Filter streams: RDMA verbs with calls that look like those of sockets.
 */
#ifndef FS_VERBS_H
#define FS_VERBS_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

void fs_verbs_slot(size_t bytes);
int fs_verbs_socket(int family, int type, int protocol);
int fs_verbs_bind(int fd, const struct sockaddr *addr, socklen_t len);
int fs_verbs_listen(int fd, int backlog);
int fs_verbs_accept(int fd, struct sockaddr *addr, socklen_t *len);
int fs_verbs_connect(int fd, const struct sockaddr *addr, socklen_t len);
ssize_t fs_verbs_send(int fd, const void *buf, size_t len, int flags);
ssize_t fs_verbs_recv(int fd, void *buf, size_t len, int flags);
int fs_verbs_poll(struct pollfd *fds, nfds_t n, int timeout);
int fs_verbs_setsockopt(int fd, int level, int name, const void *val,
			socklen_t len);
int fs_verbs_close(int fd);

#endif /* FS_VERBS_H */
