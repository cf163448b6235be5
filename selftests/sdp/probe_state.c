// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Probes of connection states: poll masks, resets, close, connect.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include "probe.h"

void probe_poll_states(void)
{
	struct probe_addr addr;
	int l, c, a;

	c = new_socket();
	row("poll fresh socket", "%s", res_poll(poll_now(c)));
	close(c);
	l = new_listener(16);
	bound_to(l, &addr);
	row("poll listener empty", "%s", res_poll(poll_now(l)));
	c = new_socket();
	if (connect_to(c, &addr))
		setup_failed("connect");
	row("poll listener pending", "%s", poll_settled(l, POLLIN));
	a = accept(l, NULL, NULL);
	row("poll established idle", "%s", poll_settled(c, POLLOUT));
	do_send(a, "d", 0);
	row("poll readable", "%s", poll_settled(c, POLLIN));
	do_recv(c, 9, 0);
	shutdown(a, SHUT_WR);
	row("poll peer half-closed", "%s", poll_settled(c, POLLRDHUP));
	row("recv after peer shutdown", "%s", do_recv(c, 9, 0));
	row("recv after peer shutdown, again", "%s", do_recv(c, 9, 0));
	row("send after peer shutdown", "%s", do_send(c, "x", 0));
	wait_readable(a, 1);
	row("half-closed peer receives", "%s", do_recv(a, 9, 0));
	shutdown(c, SHUT_WR);
	row("poll both shut", "%s", poll_settled(c, POLLHUP));
	row("poll active closer", "%s", poll_settled(a, POLLHUP));
	close(c);
	close(a);
	close(l);
}

static void probe_own_shutdown(void)
{
	int c, a;

	new_pair(&c, &a);
	shutdown(c, SHUT_RD);
	row("poll after own SHUT_RD", "%s", res_poll(poll_now(c)));
	row("recv after own SHUT_RD", "%s", do_recv(c, 9, 0));
	do_send(a, "zz", 0);
	wait_readable(c, 2);
	row("recv data arriving after SHUT_RD", "%s", do_recv(c, 9, 0));
	row("send after own SHUT_RD", "%s", do_send(c, "x", 0));
	close(c);
	close(a);
	new_pair(&c, &a);
	shutdown(c, SHUT_WR);
	row("poll after own SHUT_WR", "%s", res_poll(poll_now(c)));
	row("send after own SHUT_WR", "%s", do_send(c, "x", 0));
	do_send(a, "back", 0);
	wait_readable(c, 4);
	row("recv after own SHUT_WR", "%s", do_recv(c, 9, 0));
	row("shutdown repeated", "%s", res_ok(shutdown(c, SHUT_WR)));
	row("shutdown bad how", "%s", res_ok(shutdown(c, 7)));
	shutdown(c, SHUT_RDWR);
	row("getpeername after SHUT_RDWR, peer open", "%s",
	    res_ok(getpeername(c, &(struct sockaddr){ 0 },
			       &(socklen_t){ sizeof(struct sockaddr) })));
	close(c);
	close(a);
	new_pair(&c, &a);
	row("fill accepts data", "%s", fill(c) > 0 ? "yes" : "no");
	row("poll send buffer full", "%s", res_poll(poll_now(c)));
	row("send when full", "%s", send_when_full(c, true, 0));
	close(c);
	close(a);
}

static const char *peer_name(int fd)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);

	return res_ok(getpeername(fd, (struct sockaddr *)&sa, &len));
}

static void reset_pair(int *c)
{
	int a;

	new_pair(c, &a);
	reset_close(a);
	wait_events(*c, POLLERR | POLLHUP);
}

void probe_reset(void)
{
	int c, a;

	probe_own_shutdown();
	reset_pair(&c);
	row("poll after RST", "%s", poll_settled(c, POLLERR));
	row("SO_ERROR after RST 1st", "%s",
	    res_errno(get_int(c, SOL_SOCKET, SO_ERROR)));
	row("SO_ERROR 2nd", "%s", res_errno(get_int(c, SOL_SOCKET, SO_ERROR)));
	row("recv after RST, error consumed", "%s", do_recv(c, 1, 0));
	row("send after RST, error consumed", "%s", do_send(c, "x", 0));
	row("poll after error consumed", "%s", poll_settled(c, POLLHUP));
	close(c);
	reset_pair(&c);
	row("recv after RST", "%s", do_recv(c, 1, 0));
	row("recv after RST, again", "%s", do_recv(c, 1, 0));
	row("getpeername after RST", "%s", peer_name(c));
	row("shutdown after RST", "%s", res_ok(shutdown(c, SHUT_RDWR)));
	close(c);
	reset_pair(&c);
	row("send after RST", "%s", do_send(c, "x", 0));
	row("send after RST, again", "%s", do_send(c, "x", 0));
	close(c);
	new_pair(&c, &a);
	do_send(a, "abc", 0);
	wait_readable(c, 3);
	reset_close(a);
	wait_events(c, POLLHUP);
	row("unread data then RST: recv", "%s", do_recv(c, 9, 0));
	row("unread data then RST: recv again", "%s", do_recv(c, 9, 0));
	close(c);
	new_pair(&c, &a);
	shutdown(a, SHUT_WR);
	wait_events(c, POLLRDHUP);
	reset_close(a);
	wait_events(c, POLLERR);
	row("FIN then RST: SO_ERROR", "%s",
	    res_errno(get_int(c, SOL_SOCKET, SO_ERROR)));
	close(c);
}

void probe_close(void)
{
	int c, a, d;

	new_pair(&c, &a);
	do_send(c, "abc", 0);
	wait_readable(a, 3);
	close(a);
	wait_events(c, POLLERR);
	row("peer closed with unread data: recv", "%s", do_recv(c, 9, 0));
	close(c);
	new_pair(&c, &a);
	close(a);
	wait_events(c, POLLRDHUP);
	row("peer closed: 1st send", "%s", do_send(c, "x", 0));
	wait_events(c, POLLHUP);
	row("peer closed: poll after 1st send", "%s", poll_settled(c, POLLHUP));
	row("peer closed: 2nd send", "%s", do_send(c, "x", 0));
	row("peer closed: recv afterwards", "%s", do_recv(c, 1, 0));
	close(c);
	new_pair(&c, &a);
	do_send(a, "last", 0);
	close(a);
	wait_events(c, POLLRDHUP);
	row("data before close: recv", "%s", do_recv(c, 9, 0));
	row("data before close: recv again", "%s", do_recv(c, 9, 0));
	close(c);
	new_pair(&c, &a);
	d = dup(c);
	close(c);
	row("dup keeps connection", "%s", poll_settled(a, POLLOUT));
	do_send(d, "k", 0);
	row("peer via dup", "%s", do_recv(a, 9, 0));
	close(d);
	row("last close sends FIN", "%s", poll_settled(a, POLLRDHUP));
	close(a);
}

static const char *connect_res(int fd, const struct probe_addr *addr)
{
	return res_ok(connect_to(fd, addr));
}

static void probe_refused(void)
{
	struct probe_addr dead, addr;
	int s, l;

	dead_address(&dead);
	s = new_socket();
	net_nonblock(s, true);
	row("nonblock connect refused, 1st", "%s", connect_res(s, &dead));
	row("poll after refused", "%s", poll_settled(s, POLLERR));
	row("SO_ERROR refused", "%s",
	    res_errno(get_int(s, SOL_SOCKET, SO_ERROR)));
	row("poll after SO_ERROR", "%s", poll_settled(s, POLLHUP));
	row("recv after refused", "%s", do_recv(s, 1, 0));
	row("reconnect after refused", "%s", connect_res(s, &dead));
	close(s);
	s = new_socket();
	row("blocking connect refused", "%s", connect_res(s, &dead));
	l = new_listener(16);
	bound_to(l, &addr);
	row("connect again after refused", "%s", connect_res(s, &addr));
	row("connect when connected", "%s", connect_res(s, &addr));
	row("listen when connected", "%s", res_ok(listen(s, 1)));
	row("bind when connected", "%s",
	    res_ok(bind(s, (struct sockaddr *)&target.host.sa,
			target.host.len)));
	close(s);
	close(l);
}

void probe_connect(void)
{
	struct probe_addr addr;
	int l, s;

	probe_refused();
	l = new_listener(16);
	bound_to(l, &addr);
	s = new_socket();
	net_nonblock(s, true);
	row("nonblock connect ok", "%s", connect_res(s, &addr));
	row("poll after connect", "%s", poll_settled(s, POLLOUT));
	row("SO_ERROR after connect", "%s",
	    res_errno(get_int(s, SOL_SOCKET, SO_ERROR)));
	row("2nd connect call after completion", "%s", connect_res(s, &addr));
	row("3rd connect call", "%s", connect_res(s, &addr));
	close(s);
	close(l);
}

void probe_connect_states(void)
{
	struct sockaddr unspec = { .sa_family = AF_UNSPEC };
	struct probe_addr addr;
	int s, c, a;

	s = new_socket();
	row("recv unconnected", "%s", do_recv(s, 1, 0));
	row("send unconnected", "%s", do_send(s, "x", 0));
	row("getpeername unconnected", "%s", peer_name(s));
	row("shutdown unconnected", "%s", res_ok(shutdown(s, SHUT_RDWR)));
	close(s);
	s = new_socket();
	row("accept not listening", "%s", do_accept(s));
	bound_to(s, &addr);
	row("port of an unbound socket", "%d",
	    ntohs(((struct sockaddr_in *)&addr.sa)->sin_port));
	row("family of an unbound socket", "%d", addr.sa.ss_family);
	row("connect AF_UNSPEC unconnected", "%s",
	    res_ok(connect(s, &unspec, sizeof(unspec))));
	close(s);
	new_pair(&c, &a);
	row("connect AF_UNSPEC", "%s",
	    res_ok(connect(c, &unspec, sizeof(unspec))));
	wait_events(a, POLLERR);
	row("after AF_UNSPEC: recv", "%s", do_recv(c, 1, 0));
	row("after AF_UNSPEC: getpeername", "%s", peer_name(c));
	row("after AF_UNSPEC: poll", "%s", poll_settled(c, 0));
	row("peer of AF_UNSPEC: recv", "%s", do_recv(a, 1, 0));
	close(a);
	a = new_listener(4);
	bound_to(a, &addr);
	row("connect again after AF_UNSPEC", "%s", connect_res(c, &addr));
	close(c);
	close(a);
}

/* An address of the target's kind with another host part. */
static void other_host(struct probe_addr *addr, const char *v4, const char *v6)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&addr->sa;
	struct sockaddr_in *in = (struct sockaddr_in *)&addr->sa;

	*addr = target.host;
	if (addr->sa.ss_family == AF_INET6)
		inet_pton(AF_INET6, v6, &in6->sin6_addr);
	else
		inet_pton(AF_INET, v4, &in->sin_addr);
	in->sin_port = htons(9);
}

static const char *connect_fresh(const struct probe_addr *addr)
{
	const char *text;
	int s = new_socket();

	text = connect_res(s, addr);
	close(s);
	return text;
}

void probe_connect_errors(void)
{
	struct probe_addr addr;
	int s = new_socket();

	other_host(&addr, "198.51.100.1", "2001:db8::1");
	row("connect without a route", "%s", connect_res(s, &addr));
	row("poll after no route", "%s", poll_settled(s, 0));
	dead_address(&addr);
	row("connect after no route", "%s", connect_res(s, &addr));
	close(s);
	other_host(&addr, "224.0.0.5", "ff02::5");
	row("connect to multicast fails", "%s",
	    connect_fresh(&addr)[0] == 'o' ? "no" : "yes");
	other_host(&addr, "255.255.255.255", "ff02::1");
	row("connect to broadcast fails", "%s",
	    connect_fresh(&addr)[0] == 'o' ? "no" : "yes");
	addr = target.host;
	addr.len = 6;
	row("connect short address", "%s", connect_fresh(&addr));
	addr.len = 1;
	row("connect address of one byte", "%s", connect_fresh(&addr));
	addr = target.host;
	addr.sa.ss_family = AF_UNIX;
	row("connect wrong family", "%s", connect_fresh(&addr));
	s = new_socket();
	row("connect NULL address", "%s", res_ok(connect(s, NULL, 16)));
	row("connect oversized address", "%s",
	    res_ok(connect(s, (struct sockaddr *)&addr.sa, 4096)));
	close(s);
}

static long linger_close(int fd, int seconds)
{
	struct linger lin = { .l_onoff = 1, .l_linger = seconds };
	struct timespec t0, t1;
	int ret;

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &lin, sizeof(lin));
	clock_gettime(CLOCK_MONOTONIC, &t0);
	ret = close(fd);
	clock_gettime(CLOCK_MONOTONIC, &t1);
	if (ret)
		return -1;
	return (t1.tv_sec - t0.tv_sec) * 1000 +
	       (t1.tv_nsec - t0.tv_nsec) / 1000000;
}

void probe_linger(void)
{
	int c, a;
	long ms;

	new_pair(&c, &a);
	ms = linger_close(c, 20);
	row("linger 20, peer acknowledges: closes early", "%s",
	    ms >= 0 && ms < 15000 ? "yes" : "no");
	row("linger: peer sees EOF", "%s", do_recv(a, 1, 0));
	close(a);
	new_pair(&c, &a);
	fill(c);
	ms = linger_close(c, 1);
	row("linger 1, peer does not read: waits", "%s",
	    ms >= 900 ? "yes" : "no");
	close(a);
	new_pair(&c, &a);
	fill(c);
	ms = linger_close(c, 0);
	row("linger 0 does not wait", "%s", ms >= 0 && ms < 900 ? "yes" : "no");
	wait_events(a, POLLHUP);
	row("linger 0: peer is reset", "%s",
	    poll_now(a) & POLLHUP ? "yes" : "no");
	close(a);
}
