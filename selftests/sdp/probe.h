/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Helpers of the socket semantics probe: sockets of the family under test,
 * waiting for a state without fixed sleeps, and one "name: result" line per
 * observation. Everything that takes a socket works on any stream family.
 * sockprobe.sh runs the probe over TCP and over SDP. A row that differs is a failure,
 * unless sockprobe.expected-diff lists it.
 */
#ifndef SELFTESTS_SDP_PROBE_H
#define SELFTESTS_SDP_PROBE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "../lib/net.h"

/* Longest time that a state may take to become visible, milliseconds. */
#define PROBE_WAIT_MS 5000

struct probe_addr {
	struct sockaddr_storage sa;
	socklen_t len;
};

/* The probed sockets; set once by main(). */
struct probe_target {
	int family;
	int protocol;
	struct probe_addr host; /* port 0 */
};

extern struct probe_target target;

/* One observation. */
void row(const char *name, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Results as text, in a small ring of buffers (valid for 16 more calls).
 * All of them take errno when the call failed.
 */
const char *res_ok(long ret); /* "ok" or errno name */
const char *res_num(long ret); /* number or errno name */
const char *res_data(long ret, const void *buf); /* 'text' or errno name */
const char *res_errno(int err); /* errno name, "0" for 0 */
const char *res_poll(unsigned int mask);
const char *res_epoll(int epfd, int timeout_ms);

/* Sockets. A failure of these ends the section with a row that says so. */
int new_socket(void);
int new_listener(int backlog);
void new_pair(int *client, int *server);
void bound_to(int fd, struct probe_addr *addr);
void dead_address(struct probe_addr *addr);
void setup_failed(const char *what) __attribute__((noreturn));
int connect_to(int fd, const struct probe_addr *addr);
void reset_close(int fd);
size_t fill(int fd);
void drain(int fd, size_t bytes);

/* Results of single calls, as text. */
const char *do_recv(int fd, size_t len, int flags);
const char *do_send(int fd, const char *text, int flags);
const char *send_when_full(int fd, bool nonblock, int flags);
const char *do_accept(int fd);
int get_int(int fd, int level, int opt);
const char *set_int(int fd, int level, int opt, int val);
int queue_size(int fd, unsigned long request);

/* Waiting. They return quietly when time is up: the next row shows it. */
void sleep_ms(unsigned int ms);
unsigned int poll_now(int fd);
const char *poll_settled(int fd, unsigned int bits);
void wait_events(int fd, unsigned int bits);
void wait_readable(int fd, int bytes);

/* A helper thread that makes one blocking call. */
struct blocked {
	pthread_t thread;
	pid_t tid;
	int fd;
	const char *(*call)(int fd);
	char result[128];
	bool done;
};

void blocked_start(struct blocked *b, int fd, const char *(*call)(int fd));
bool blocked_finished(struct blocked *b, unsigned int ms);

/* Sections. Each runs in a process of its own. */
void probe_poll_states(void);
void probe_reset(void);
void probe_close(void);
void probe_connect(void);
void probe_connect_states(void);
void probe_connect_errors(void);
void probe_listen(void);
void probe_bind(void);
void probe_backlog(void);
void probe_accept(void);
void probe_threads(void);
void probe_recv_flags(void);
void probe_recv_wait(void);
void probe_send(void);
void probe_oob(void);
void probe_oob_again(void);
void probe_oob_inline(void);
void probe_signals(void);
void probe_interrupt(void);
void probe_socket_options(void);
void probe_tcp_options(void);
void probe_buffers(void);
void probe_inherit(void);
void probe_ioctl(void);
void probe_splice(void);
void probe_epoll(void);
void probe_descriptors(void);
void probe_addresses(void);
void probe_bad_arguments(void);
void probe_messages(void);
void probe_linger(void);
void probe_connecting(void);
void probe_connect_signals(void);
void probe_corners(void);

#endif /* SELFTESTS_SDP_PROBE_H */
