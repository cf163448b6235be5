/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Sockets and peers of the test programs: addresses, listeners, exact reads and
 * writes, waiting with a time limit, the clock, and a stream each of whose bytes is a
 * function of its position. Linked into each program that includes it; it knows no
 * protocol, and no other file of the tests.
 */
#ifndef _SELFTESTS_NET_H
#define _SELFTESTS_NET_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/*
 * Both print a line on standard output, and end the program with status 1: net_fail()
 * "WHAT: text of errno", net_check(), if @good is false, "wrong: WHAT". Tests that move
 * data look for the word "wrong".
 */
void net_fail(const char *what) __attribute__((noreturn));
void net_check(bool good, const char *what);

/* A numeric address of IPv4 or IPv6. Return: its length, 0 if @host is none */
socklen_t net_address(struct sockaddr_storage *ss, const char *host, int port);

/*
 * For programs with IPv4 alone. They end with status 2 if @host is no address, and
 * with status 1 if a call fails. net_listen4() prints "listening".
 */
void net_address4(struct sockaddr_in *sin, const char *host, const char *port);
int net_socket(int family);
void net_listen4(int fd, const struct sockaddr_in *sin, int backlog);
int net_accept(int fd);
void net_connect4(int fd, const struct sockaddr_in *sin);

/* Reuse the address, bind and listen. Return: 0, or -1 and errno */
int net_listen(int fd, const void *sa, socklen_t len, int backlog);

/*
 * A detached thread for each connection; its argument is the descriptor, @stack the
 * size of its stack if not 0. Passes over errors of accept() that the next call may
 * not have, such as no memory. Returns with errno after any other.
 */
void net_serve(int fd, size_t stack, void *(*serve_one)(void *arg));

/* poll() for one descriptor. Return: events that are there; 0 after @ms, or if poll() fails */
int net_wait(int fd, int events, int ms);
void net_nonblock(int fd, bool on);

/* All of the bytes. Return: false and errno (0 for the end of the stream) */
bool net_send_all(int fd, const void *p, size_t len, int flags);
bool net_recv_all(int fd, void *p, size_t len);

/* Monotonic clock */
long net_ms(void);
uint64_t net_ns(void);

/* The byte of a stream at @pos; net_fill() writes @len of them, net_good() compares. */
unsigned char net_byte(uint64_t pos);
void net_fill(unsigned char *p, size_t len, uint64_t pos);
bool net_good(const unsigned char *p, size_t len, uint64_t pos);

#endif
