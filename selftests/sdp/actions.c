// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Does things with one AF_SDP socket, in the order of its arguments, so that a
 * test can look at the socket from outside:
 *
 *	sdp-actions [-6] ACTION [ARGUMENT...]...
 *
 *	bind ADDR PORT | listen ADDR PORT BACKLOG | connect ADDR PORT | accept
 *	send N | recv N | peek N | shut | opt LEVEL NAME VALUE
 *	many N		N more sockets, bound to any port
 *	sleep MS | pause (prints "ready", then waits for a signal)
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/sdp.h>

#include "../lib/net.h"

static bool v6;
static int fd = -1;
static char **next;

static void __attribute__((noreturn)) fail(const char *what)
{
	fprintf(stderr, "sdp-actions: %s: %s\n", what, strerror(errno));
	exit(1);
}

static const char *arg(void)
{
	if (!*next) {
		fprintf(stderr, "sdp-actions: an argument is missing\n");
		exit(2);
	}
	return *next++;
}

static int number(void)
{
	return atoi(arg());
}

static int new_socket(void)
{
	int s = socket(AF_SDP, SOCK_STREAM, v6 ? SDPPROTO_SDP6 : SDPPROTO_SDP);

	if (s < 0)
		fail("socket");
	return s;
}

static socklen_t address(struct sockaddr_storage *ss)
{
	const char *text = arg();
	socklen_t len = net_address(ss, text, number());

	if (!len)
		fail(text);
	return len;
}

static void do_bind(void)
{
	struct sockaddr_storage ss;
	socklen_t len = address(&ss);
	int on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&ss, len))
		fail("bind");
}

static void do_listen(void)
{
	do_bind();
	if (listen(fd, number()))
		fail("listen");
}

static void do_connect(void)
{
	struct sockaddr_storage ss;
	socklen_t len = address(&ss);

	if (connect(fd, (struct sockaddr *)&ss, len))
		fail("connect");
}

/* The listener stays open. */
static void do_accept(void)
{
	int child = accept(fd, NULL, NULL);

	if (child < 0)
		fail("accept");
	fd = child;
}

static void do_transfer(bool out, int flags)
{
	size_t left = number(), n;
	static char buf[65536];
	ssize_t rc;

	while (left) {
		n = left < sizeof(buf) ? left : sizeof(buf);
		rc = out ? send(fd, buf, n, flags) : recv(fd, buf, n, flags);
		if (rc <= 0)
			fail(out ? "send" : "recv");
		left -= flags & MSG_PEEK ? left : (size_t)rc;
	}
}

static void do_opt(void)
{
	int level = number(), name = number(), value = number();

	if (setsockopt(fd, level, name, &value, sizeof(value)))
		fail("setsockopt");
}

static void do_many(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	int n = number(), s;

	while (n-- > 0) {
		s = new_socket();
		if (bind(s, (struct sockaddr *)&sin, sizeof(sin)))
			fail("bind");
	}
}

static void do_pause(void)
{
	puts("ready");
	fflush(stdout);
	pause();
}

static void act(const char *what)
{
	if (!strcmp(what, "bind"))
		do_bind();
	else if (!strcmp(what, "listen"))
		do_listen();
	else if (!strcmp(what, "connect"))
		do_connect();
	else if (!strcmp(what, "accept"))
		do_accept();
	else if (!strcmp(what, "send"))
		do_transfer(true, 0);
	else if (!strcmp(what, "recv"))
		do_transfer(false, 0);
	else if (!strcmp(what, "peek"))
		do_transfer(false, MSG_PEEK);
	else if (!strcmp(what, "shut"))
		shutdown(fd, SHUT_WR);
	else if (!strcmp(what, "opt"))
		do_opt();
	else if (!strcmp(what, "many"))
		do_many();
	else if (!strcmp(what, "sleep"))
		usleep(number() * 1000);
	else if (!strcmp(what, "pause"))
		do_pause();
	else
		fail(what);
}

int main(int argc, char **argv)
{
	next = argv + 1;
	if (argc > 1 && !strcmp(*next, "-6")) {
		v6 = true;
		next++;
	}
	fd = new_socket();
	while (*next)
		act(*next++);
	return 0;
}
