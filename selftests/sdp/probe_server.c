// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Probes of the passive side: listen, bind, backlog, accept, and threads
 * that block in a call while another one shuts the socket down.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>
#include <linux/sockios.h>

#include "probe.h"

static const char *bind_to(int fd, const struct probe_addr *addr)
{
	return res_ok(bind(fd, (const struct sockaddr *)&addr->sa, addr->len));
}

void probe_listen(void)
{
	struct probe_addr dead;
	int l = new_listener(16);

	dead_address(&dead);
	row("listen twice", "%s", res_ok(listen(l, 5)));
	row("SO_ACCEPTCONN listening", "%d",
	    get_int(l, SOL_SOCKET, SO_ACCEPTCONN));
	row("connect on listener", "%s", res_ok(connect_to(l, &dead)));
	row("recv on listener", "%s", do_recv(l, 1, 0));
	row("send on listener", "%s", do_send(l, "x", 0));
	row("FIONREAD on listener", "%s", res_errno(-queue_size(l, FIONREAD)));
	row("SIOCOUTQ on listener", "%s", res_errno(-queue_size(l, SIOCOUTQ)));
	net_nonblock(l, true);
	row("nonblock accept empty", "%s", do_accept(l));
	row("shutdown WR listener", "%s", res_ok(shutdown(l, SHUT_WR)));
	row("accept after shutdown WR", "%s", do_accept(l));
	row("shutdown RD listener", "%s", res_ok(shutdown(l, SHUT_RD)));
	row("accept after shutdown", "%s", do_accept(l));
	row("poll after shutdown listener", "%s", poll_settled(l, POLLHUP));
	row("listen again after shutdown", "%s", res_ok(listen(l, 5)));
	row("accept after listening again", "%s", do_accept(l));
	close(l);
}

static void probe_reuseport(void)
{
	struct probe_addr addr;
	int a, b;

	a = new_socket();
	row("SO_REUSEPORT", "%s", set_int(a, SOL_SOCKET, SO_REUSEPORT, 1));
	if (bind(a, (struct sockaddr *)&target.host.sa, target.host.len) ||
	    listen(a, 4))
		setup_failed("bind with SO_REUSEPORT");
	bound_to(a, &addr);
	b = new_socket();
	set_int(b, SOL_SOCKET, SO_REUSEPORT, 1);
	row("REUSEPORT bind", "%s", bind_to(b, &addr));
	row("REUSEPORT listen", "%s", res_ok(listen(b, 4)));
	close(b);
	b = new_socket();
	row("bind without REUSEPORT", "%s", bind_to(b, &addr));
	close(b);
	close(a);
}

static void probe_time_wait(void)
{
	struct probe_addr addr;
	int l, c, a, s;

	l = new_listener(4);
	bound_to(l, &addr);
	c = new_socket();
	if (connect_to(c, &addr))
		setup_failed("connect");
	a = accept(l, NULL, NULL);
	close(l);
	s = new_socket();
	row("bind with a connected child", "%s", bind_to(s, &addr));
	set_int(s, SOL_SOCKET, SO_REUSEADDR, 1);
	row("bind with a connected child, REUSEADDR on one", "%s",
	    bind_to(s, &addr));
	close(s);
	shutdown(a, SHUT_WR);
	wait_events(c, POLLRDHUP);
	close(c);
	wait_events(a, POLLHUP);
	close(a);
	s = new_socket();
	set_int(s, SOL_SOCKET, SO_REUSEADDR, 1);
	row("restart of a server, REUSEADDR: bind", "%s", bind_to(s, &addr));
	row("restart of a server, REUSEADDR: listen", "%s",
	    res_ok(listen(s, 4)));
	close(s);
}

void probe_bind(void)
{
	struct probe_addr addr;
	int l, s;

	l = new_listener(16);
	bound_to(l, &addr);
	s = new_socket();
	row("bind same addr", "%s", bind_to(s, &addr));
	set_int(s, SOL_SOCKET, SO_REUSEADDR, 1);
	row("bind same addr REUSEADDR vs listener", "%s", bind_to(s, &addr));
	close(s);
	close(l);
	s = new_socket();
	row("bind", "%s", bind_to(s, &target.host));
	bound_to(s, &addr);
	row("bind to port 0 shows a port", "%s",
	    ((struct sockaddr_in *)&addr.sa)->sin_port ? "yes" : "no");
	row("bind twice", "%s", bind_to(s, &target.host));
	row("listen after bind", "%s", res_ok(listen(s, 1)));
	close(s);
	s = new_socket();
	addr = target.host;
	if (addr.sa.ss_family == AF_INET6)
		inet_pton(AF_INET6, "2001:db8::1",
			  &((struct sockaddr_in6 *)&addr.sa)->sin6_addr);
	else
		inet_pton(AF_INET, "192.0.2.1",
			  &((struct sockaddr_in *)&addr.sa)->sin_addr);
	row("bind foreign address", "%s", bind_to(s, &addr));
	addr = target.host;
	addr.len = 6;
	row("bind short address", "%s", bind_to(s, &addr));
	addr = target.host;
	addr.sa.ss_family = AF_UNIX;
	row("bind wrong family", "%s", bind_to(s, &addr));
	row("bind NULL", "%s", res_ok(bind(s, NULL, 16)));
	row("listen unbound", "%s", res_ok(listen(s, 1)));
	bound_to(s, &addr);
	row("listen unbound takes a port", "%s",
	    ((struct sockaddr_in *)&addr.sa)->sin_port ? "yes" : "no");
	close(s);
	probe_reuseport();
	probe_time_wait();
}

void probe_backlog(void)
{
	struct probe_addr addr;
	int l, c[6], a, i;

	l = new_listener(1);
	bound_to(l, &addr);
	for (i = 0; i < 6; i++) {
		c[i] = new_socket();
		net_nonblock(c[i], true);
		if (connect_to(c[i], &addr) && errno != EINPROGRESS)
			setup_failed("connect");
		if (i < 2)
			wait_events(c[i], POLLOUT);
	}
	sleep_ms(300);
	for (i = 0; i < 6; i++)
		row("backlog 1: poll of a connection", "%d %s", i + 1,
		    res_poll(poll_now(c[i])));
	a = accept(l, NULL, NULL);
	row("backlog 1: accept", "%s", res_ok(a));
	close(a);
	a = accept(l, NULL, NULL);
	row("backlog 1: accept 2nd", "%s", res_ok(a));
	close(a);
	for (i = 0; i < 6; i++)
		close(c[i]);
	close(l);
}

static void probe_accept_reset(void)
{
	struct probe_addr addr;
	int l, c, a;

	l = new_listener(16);
	bound_to(l, &addr);
	c = new_socket();
	if (connect_to(c, &addr))
		setup_failed("connect");
	wait_events(l, POLLIN);
	reset_close(c);
	sleep_ms(50);
	row("client reset before accept: poll listener", "%s",
	    poll_settled(l, POLLIN));
	net_nonblock(l, true);
	a = accept(l, NULL, NULL);
	row("client reset before accept: accept", "%s", res_ok(a));
	if (a >= 0) {
		wait_events(a, POLLERR);
		row("client reset before accept: recv", "%s",
		    do_recv(a, 1, MSG_DONTWAIT));
		close(a);
	}
	c = new_socket();
	if (connect_to(c, &addr))
		setup_failed("connect");
	close(l);
	wait_events(c, POLLERR);
	row("listener closed with pending conn: client recv", "%s",
	    do_recv(c, 1, MSG_DONTWAIT));
	close(c);
}

static void probe_accept_flags(void)
{
	struct probe_addr addr;
	int l, c, a;

	l = new_listener(16);
	bound_to(l, &addr);
	net_nonblock(l, true);
	c = new_socket();
	if (connect_to(c, &addr))
		setup_failed("connect");
	wait_events(l, POLLIN);
	row("accept4 bad flags", "%s", res_ok(accept4(l, NULL, NULL, 0x4)));
	a = accept4(l, NULL, NULL, 0);
	row("accept does not inherit O_NONBLOCK", "%s",
	    fcntl(a, F_GETFL) & O_NONBLOCK ? "no" : "yes");
	close(a);
	close(c);
	c = new_socket();
	if (connect_to(c, &addr))
		setup_failed("connect");
	wait_events(l, POLLIN);
	a = accept4(l, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	row("accept4 SOCK_NONBLOCK", "%s",
	    fcntl(a, F_GETFL) & O_NONBLOCK ? "yes" : "no");
	row("accept4 SOCK_CLOEXEC", "%s",
	    fcntl(a, F_GETFD) & FD_CLOEXEC ? "yes" : "no");
	close(a);
	close(c);
	close(l);
}

static void probe_accept_timeout(void)
{
	struct timeval tv = { 0, 100000 };
	int l = new_listener(4);

	setsockopt(l, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	row("accept with RCVTIMEO", "%s", do_accept(l));
	close(l);
}

void probe_accept(void)
{
	probe_accept_reset();
	probe_accept_flags();
	probe_accept_timeout();
}

static const char *blocking_recv(int fd)
{
	return do_recv(fd, 1, 0);
}

static const char *blocking_waitall(int fd)
{
	return do_recv(fd, 100, MSG_WAITALL);
}

static const char *blocking_send(int fd)
{
	static char block[4 << 20];

	/* with a count or with EPIPE, as it had found room before or not */
	send(fd, block, sizeof(block), MSG_NOSIGNAL);
	return "returns";
}

static const char *blocking_poll(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return res_num(poll(&p, 1, PROBE_WAIT_MS * 2));
}

static void woken_by_shutdown(const char *name, int fd,
			      const char *(*call)(int fd))
{
	struct blocked b;

	blocked_start(&b, fd, call);
	shutdown(fd, SHUT_RDWR);
	row(name, "%s",
	    blocked_finished(&b, PROBE_WAIT_MS) ? b.result : "blocked");
}

/* How often it had to sleep for that */
static const char *accept_counting(int fd)
{
	struct rusage before, after;
	int s;

	getrusage(RUSAGE_THREAD, &before);
	s = accept(fd, NULL, NULL);
	getrusage(RUSAGE_THREAD, &after);
	if (s < 0)
		return res_num(s);
	close(s);
	return res_num(after.ru_nvcsw - before.ru_nvcsw);
}

/* A connection wakes one of two waiting tasks: the other one sleeps on */
static void probe_accepters(void)
{
	struct probe_addr addr;
	struct blocked b[2];
	int l, c[2], i;

	l = new_listener(4);
	bound_to(l, &addr);
	for (i = 0; i < 2; i++)
		blocked_start(&b[i], l, accept_counting);
	for (i = 0; i < 2; i++) {
		c[i] = new_socket();
		if (connect_to(c[i], &addr))
			setup_failed("connect");
		row(i ? "second of two accepters: sleeps" :
			"first of two accepters: sleeps",
		    "%s",
		    blocked_finished(&b[i], PROBE_WAIT_MS) ? b[i].result :
							     "blocked");
	}
	close(c[0]);
	close(c[1]);
	close(l);
}

void probe_threads(void)
{
	struct blocked b;
	int l, c, a;

	probe_accepters();
	l = new_listener(4);
	woken_by_shutdown("accept woken by shutdown", l, do_accept);
	close(l);
	new_pair(&c, &a);
	do_send(a, "xy", 0);
	wait_readable(c, 2);
	woken_by_shutdown("WAITALL woken by shutdown", c, blocking_waitall);
	close(c);
	close(a);
	new_pair(&c, &a);
	woken_by_shutdown("recv woken by shutdown", c, blocking_recv);
	close(c);
	close(a);
	new_pair(&c, &a);
	woken_by_shutdown("poll woken by shutdown", c, blocking_poll);
	close(c);
	close(a);
	new_pair(&c, &a);
	fill(c);
	net_nonblock(c, false);
	woken_by_shutdown("send woken by shutdown", c, blocking_send);
	close(c);
	close(a);
	new_pair(&c, &a);
	blocked_start(&b, c, blocking_recv);
	close(c);
	row("recv in other thread after close(fd)", "%s",
	    blocked_finished(&b, 300) ? b.result : "still blocked");
	row("peer while a reader holds the file", "%s", poll_settled(a, 0));
	do_send(a, "q", 0);
	row("reader then gets", "%s",
	    blocked_finished(&b, PROBE_WAIT_MS) ? b.result : "blocked");
	row("peer after the reader has left", "%s", poll_settled(a, POLLRDHUP));
	close(a);
}

static void show_address(const char *name, struct probe_addr *addr, int ret)
{
	char text[64] = "?";

	if (ret) {
		row(name, "%s", res_ok(ret));
		return;
	}
	if (addr->sa.ss_family == AF_INET6)
		inet_ntop(AF_INET6,
			  &((struct sockaddr_in6 *)&addr->sa)->sin6_addr, text,
			  sizeof(text));
	else if (addr->sa.ss_family == AF_INET)
		inet_ntop(AF_INET, &((struct sockaddr_in *)&addr->sa)->sin_addr,
			  text, sizeof(text));
	row(name, "family %d %s port %s length %u", addr->sa.ss_family, text,
	    ((struct sockaddr_in *)&addr->sa)->sin_port ? "set" : "0",
	    addr->len);
}

void probe_addresses(void)
{
	struct probe_addr addr, got;
	struct sockaddr_storage small;
	socklen_t len = 4;
	int l, c, a, ret;

	l = new_listener(4);
	bound_to(l, &addr);
	show_address("getsockname listener", &addr, 0);
	c = new_socket();
	if (connect_to(c, &addr))
		setup_failed("connect");
	got.len = sizeof(got.sa);
	a = accept(l, (struct sockaddr *)&got.sa, &got.len);
	show_address("accept peer address", &got, a < 0);
	bound_to(c, &got);
	show_address("getsockname client", &got, 0);
	got.len = sizeof(got.sa);
	ret = getpeername(c, (struct sockaddr *)&got.sa, &got.len);
	show_address("getpeername client", &got, ret);
	row("getpeername is the listener", "%s",
	    memcmp(&got.sa, &addr.sa, 8) ? "no" : "yes");
	bound_to(a, &got);
	show_address("getsockname accepted", &got, 0);
	row("accepted socket has the listener's port", "%s",
	    memcmp(&got.sa, &addr.sa, 4) ? "no" : "yes");
	ret = getsockname(c, (struct sockaddr *)&small, &len);
	row("getsockname length 4", "%s length %u", res_ok(ret), len);
	len = -1;
	row("getsockname negative length", "%s",
	    res_ok(getsockname(c, (struct sockaddr *)&small, &len)));
	len = sizeof(small);
	row("getsockname NULL", "%s", res_ok(getsockname(c, NULL, &len)));
	row("getsockname NULL length", "%s",
	    res_ok(getsockname(c, (struct sockaddr *)&small, NULL)));
	close(c);
	close(a);
	close(l);
}
