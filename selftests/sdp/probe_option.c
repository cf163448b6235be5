// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Probes of options, ioctls, signals, descriptors and bad arguments.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/sockios.h>

#include "probe.h"

#ifndef TCP_INQ
#define TCP_INQ 36
#endif

static volatile sig_atomic_t caught;

static void on_signal(int sig)
{
	(void)sig;
	caught = caught + 1;
}

static void catch_signal(int sig, int flags)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = flags };

	caught = 0;
	sigaction(sig, &sa, NULL);
}

static void wait_caught(void)
{
	unsigned int ms;

	for (ms = 0; ms < PROBE_WAIT_MS && !caught; ms += 10)
		sleep_ms(10);
}

void probe_signals(void)
{
	int c, a;

	new_pair(&c, &a);
	catch_signal(SIGURG, 0);
	fcntl(c, F_SETOWN, getpid());
	row("F_GETOWN", "%s", fcntl(c, F_GETOWN) == getpid() ? "own" : "other");
	do_send(a, "!", MSG_OOB);
	wait_caught();
	row("SIGURG", "%d", caught);
	close(c);
	close(a);
	new_pair(&c, &a);
	catch_signal(SIGIO, 0);
	fcntl(c, F_SETOWN, getpid());
	row("O_ASYNC", "%s", res_ok(fcntl(c, F_SETFL, O_ASYNC | O_NONBLOCK)));
	do_send(a, "x", 0);
	wait_caught();
	row("SIGIO on data", "%s", caught ? "yes" : "no");
	do_recv(c, 9, 0);
	caught = 0;
	close(a);
	wait_caught();
	row("SIGIO on close", "%s", caught ? "yes" : "no");
	close(c);
	new_pair(&c, &a);
	shutdown(c, SHUT_WR);
	catch_signal(SIGPIPE, 0);
	row("EPIPE", "%s", res_num(send(c, "x", 1, 0)));
	row("SIGPIPE raised", "%d", caught);
	row("write(2) after SHUT_WR", "%s", res_num(write(c, "x", 1)));
	row("SIGPIPE raised by write", "%d", caught);
	row("EPIPE NOSIGNAL", "%s", res_num(send(c, "x", 1, MSG_NOSIGNAL)));
	row("SIGPIPE with NOSIGNAL", "%d", caught);
	close(c);
	close(a);
	new_pair(&c, &a);
	reset_close(a);
	wait_events(c, POLLERR);
	caught = 0;
	row("send after RST without NOSIGNAL", "%s",
	    res_num(send(c, "x", 1, 0)));
	row("SIGPIPE with ECONNRESET", "%d", caught);
	signal(SIGPIPE, SIG_IGN);
	close(c);
}

/* A child sends SIGALRM when the parent sleeps, then a byte if asked. */
static pid_t interrupter(int fd, bool then_send)
{
	pid_t parent = getpid(), child = fork();

	if (child)
		return child;
	sleep_ms(150);
	kill(parent, SIGALRM);
	if (then_send) {
		sleep_ms(150);
		do_send(fd, "r", 0);
	}
	_exit(0);
}

static const char *interrupted(int fd, int peer, bool then_send)
{
	pid_t child = interrupter(peer, then_send);
	const char *text = do_recv(fd, 1, 0);

	waitpid(child, NULL, 0);
	return text;
}

/* As send_when_full(): if room came during the wait, once more. */
static const char *interrupted_send(int fd)
{
	const char *text;
	int tries = 20;
	pid_t child;

	do {
		fill(fd);
		net_nonblock(fd, false);
		child = interrupter(fd, false);
		text = do_send(fd, "x", 0);
		waitpid(child, NULL, 0);
	} while (--tries && !strcmp(text, "1"));
	return text;
}

void probe_interrupt(void)
{
	struct timeval tv = { 20, 0 };
	const char *text;
	pid_t child;
	int c, a, l;

	new_pair(&c, &a);
	catch_signal(SIGALRM, 0);
	row("recv interrupted, no SA_RESTART", "%s", interrupted(c, a, false));
	catch_signal(SIGALRM, SA_RESTART);
	row("recv interrupted, SA_RESTART", "%s", interrupted(c, a, true));
	setsockopt(c, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	row("recv with RCVTIMEO interrupted, SA_RESTART", "%s",
	    interrupted(c, a, false));
	do_send(a, "12", 0);
	wait_readable(c, 2);
	child = interrupter(a, false);
	row("WAITALL interrupted after some data", "%s",
	    do_recv(c, 5, MSG_WAITALL));
	waitpid(child, NULL, 0);
	catch_signal(SIGALRM, 0);
	row("send interrupted when full", "%s", interrupted_send(c));
	close(c);
	close(a);
	l = new_listener(4);
	child = interrupter(l, false);
	text = do_accept(l);
	waitpid(child, NULL, 0);
	row("accept interrupted", "%s", text);
	close(l);
}

struct option_probe {
	const char *name;
	int opt;
	int val;
};

static void show_gets(int fd, int level, const struct option_probe *p, int n)
{
	int i, val;

	for (i = 0; i < n; i++) {
		val = get_int(fd, level, p[i].opt);
		row(p[i].name, "%s",
		    res_num(val < 0 && val > -4096 ? (errno = -val, -1) : val));
	}
}

static void show_sets(int fd, int level, const struct option_probe *p, int n)
{
	int i;

	for (i = 0; i < n; i++)
		row(p[i].name, "%s", set_int(fd, level, p[i].opt, p[i].val));
}

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

void probe_socket_options(void)
{
	static const struct option_probe gets[] = {
		{ "get SO_TYPE", SO_TYPE, 0 },
		{ "get SO_DOMAIN", SO_DOMAIN, 0 },
		{ "get SO_PROTOCOL", SO_PROTOCOL, 0 },
		{ "get SO_ACCEPTCONN", SO_ACCEPTCONN, 0 },
		{ "get SO_SNDLOWAT", SO_SNDLOWAT, 0 },
		{ "get SO_RCVLOWAT", SO_RCVLOWAT, 0 },
		{ "get SO_KEEPALIVE", SO_KEEPALIVE, 0 },
		{ "get SO_REUSEADDR", SO_REUSEADDR, 0 },
		{ "get SO_BROADCAST", SO_BROADCAST, 0 },
		{ "get SO_OOBINLINE", SO_OOBINLINE, 0 },
		{ "get SO_PRIORITY", SO_PRIORITY, 0 },
		{ "get SO_ERROR", SO_ERROR, 0 },
	};
	static const struct option_probe sets[] = {
		{ "set SO_TYPE", SO_TYPE, 1 },
		{ "set SO_ERROR", SO_ERROR, 1 },
		{ "set SO_SNDLOWAT", SO_SNDLOWAT, 1 },
		{ "set SO_KEEPALIVE", SO_KEEPALIVE, 1 },
		{ "set SO_PRIORITY", SO_PRIORITY, 3 },
		{ "set SO_ZEROCOPY", SO_ZEROCOPY, 1 },
		{ "set SO_TIMESTAMP", SO_TIMESTAMP, 1 },
		{ "set SO_INCOMING_CPU", SO_INCOMING_CPU, 0 },
		{ "set SO_BUSY_POLL", SO_BUSY_POLL, 0 },
		{ "set SOL_SOCKET unknown", 9999, 1 },
	};
	struct linger lin = { 1, 5 };
	struct timeval tv = { 0, 1000000 };
	socklen_t len = sizeof(lin);
	struct ucred cred;
	int c, a;

	new_pair(&c, &a);
	show_gets(c, SOL_SOCKET, gets, COUNT(gets));
	show_sets(c, SOL_SOCKET, sets, COUNT(sets));
	row("SO_KEEPALIVE set shows", "%d",
	    get_int(c, SOL_SOCKET, SO_KEEPALIVE));
	setsockopt(c, SOL_SOCKET, SO_LINGER, &lin, len);
	memset(&lin, 0, sizeof(lin));
	getsockopt(c, SOL_SOCKET, SO_LINGER, &lin, &len);
	row("SO_LINGER get", "%d %d", lin.l_onoff, lin.l_linger);
	row("SO_RCVTIMEO bad microseconds", "%s",
	    res_ok(setsockopt(c, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv))));
	row("set one byte of SO_KEEPALIVE", "%s",
	    res_ok(setsockopt(c, SOL_SOCKET, SO_KEEPALIVE, "", 1)));
	row("SO_BINDTODEVICE unknown", "%s",
	    res_ok(setsockopt(c, SOL_SOCKET, SO_BINDTODEVICE, "nodev0", 7)));
	len = sizeof(cred);
	row("SO_PEERCRED", "%s",
	    res_ok(getsockopt(c, SOL_SOCKET, SO_PEERCRED, &cred, &len)));
	close(c);
	close(a);
}

static void probe_levels(int fd)
{
	char name[16] = "";
	socklen_t len = sizeof(name);
	struct tcp_info info;

	row("set unknown level", "%s", set_int(fd, 9999, 1, 1));
	row("get unknown level", "%s", res_errno(-get_int(fd, 9998, 1)));
	row("set IP_TOS", "%s", set_int(fd, IPPROTO_IP, IP_TOS, 16));
	row("get IP_TOS", "%d", get_int(fd, IPPROTO_IP, IP_TOS));
	row("set IP_TTL", "%s", set_int(fd, IPPROTO_IP, IP_TTL, 32));
	row("set IP_TTL 256", "%s", set_int(fd, IPPROTO_IP, IP_TTL, 256));
	row("get TCP_CONGESTION works", "%s",
	    res_ok(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len)));
	row("set TCP_CONGESTION unknown", "%s",
	    res_ok(setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "nosuch", 6)));
	len = sizeof(info);
	row("get TCP_INFO", "%s",
	    res_ok(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len)));
	row("TCP_INFO state, more than 100 bytes", "%u %s", info.tcpi_state,
	    len > 100 ? "yes" : "no");
	len = 8;
	row("TCP_INFO of 8 bytes", "%s length %u",
	    res_ok(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len)), len);
	row("set TCP_NODELAY bad pointer", "%s",
	    res_ok(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, (void *)8, 4)));
	row("set TCP_NODELAY one byte", "%s",
	    res_ok(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, "", 1)));
}

void probe_tcp_options(void)
{
	static const struct option_probe gets[] = {
		{ "get TCP_NODELAY", TCP_NODELAY, 0 },
		{ "get TCP_CORK", TCP_CORK, 0 },
		{ "get TCP_KEEPIDLE", TCP_KEEPIDLE, 0 },
		{ "get TCP_KEEPINTVL", TCP_KEEPINTVL, 0 },
		{ "get TCP_KEEPCNT", TCP_KEEPCNT, 0 },
		{ "get TCP_SYNCNT", TCP_SYNCNT, 0 },
		{ "get TCP_LINGER2", TCP_LINGER2, 0 },
		{ "get TCP_DEFER_ACCEPT", TCP_DEFER_ACCEPT, 0 },
		{ "get TCP_QUICKACK", TCP_QUICKACK, 0 },
		{ "get TCP_USER_TIMEOUT", TCP_USER_TIMEOUT, 0 },
		{ "get TCP_FASTOPEN", TCP_FASTOPEN, 0 },
		{ "get TCP_NOTSENT_LOWAT", TCP_NOTSENT_LOWAT, 0 },
		{ "get TCP_INQ", TCP_INQ, 0 },
	};
	static const struct option_probe sets[] = {
		{ "set TCP_NODELAY", TCP_NODELAY, 1 },
		{ "set TCP_KEEPIDLE 0", TCP_KEEPIDLE, 0 },
		{ "set TCP_KEEPIDLE 40000", TCP_KEEPIDLE, 40000 },
		{ "set TCP_KEEPIDLE 100", TCP_KEEPIDLE, 100 },
		{ "set TCP_KEEPINTVL 0", TCP_KEEPINTVL, 0 },
		{ "set TCP_KEEPCNT 200", TCP_KEEPCNT, 200 },
		{ "set TCP_SYNCNT 0", TCP_SYNCNT, 0 },
		{ "set TCP_USER_TIMEOUT -1", TCP_USER_TIMEOUT, -1 },
		{ "set TCP_USER_TIMEOUT 5000", TCP_USER_TIMEOUT, 5000 },
		{ "set TCP_QUICKACK", TCP_QUICKACK, 1 },
		{ "set TCP_CORK 1", TCP_CORK, 1 },
		{ "set TCP_CORK 0", TCP_CORK, 0 },
		{ "set TCP_MAXSEG 10", TCP_MAXSEG, 10 },
		{ "set TCP_DEFER_ACCEPT", TCP_DEFER_ACCEPT, 1 },
		{ "set TCP_WINDOW_CLAMP", TCP_WINDOW_CLAMP, 65536 },
		{ "set TCP_NOTSENT_LOWAT", TCP_NOTSENT_LOWAT, 65536 },
		{ "set TCP_LINGER2", TCP_LINGER2, 10 },
		{ "set TCP unknown", 999, 1 },
		{ "set TCP_INQ 2", TCP_INQ, 2 },
		{ "set TCP_INQ 1", TCP_INQ, 1 },
		{ "set TCP_ULP", TCP_ULP, 1 },
		{ "set TCP_REPAIR 7", TCP_REPAIR, 7 },
	};
	int c, a;

	new_pair(&c, &a);
	show_gets(c, IPPROTO_TCP, gets, COUNT(gets));
	row("TCP_MAXSEG above 0", "%s",
	    get_int(c, IPPROTO_TCP, TCP_MAXSEG) > 0 ? "yes" : "no");
	show_sets(c, IPPROTO_TCP, sets, COUNT(sets));
	row("TCP_NODELAY set shows", "%d",
	    get_int(c, IPPROTO_TCP, TCP_NODELAY));
	row("TCP_KEEPIDLE set shows", "%d",
	    get_int(c, IPPROTO_TCP, TCP_KEEPIDLE));
	row("TCP_USER_TIMEOUT set shows", "%d",
	    get_int(c, IPPROTO_TCP, TCP_USER_TIMEOUT));
	probe_levels(c);
	close(c);
	close(a);
}

void probe_buffers(void)
{
	int c, a;

	new_pair(&c, &a);
	set_int(c, SOL_SOCKET, SO_SNDBUF, 10000);
	row("SNDBUF doubles", "%d", get_int(c, SOL_SOCKET, SO_SNDBUF));
	set_int(c, SOL_SOCKET, SO_RCVBUF, 10000);
	row("RCVBUF doubles", "%d", get_int(c, SOL_SOCKET, SO_RCVBUF));
	set_int(c, SOL_SOCKET, SO_SNDBUF, 1);
	row("SNDBUF floor", "%d", get_int(c, SOL_SOCKET, SO_SNDBUF));
	set_int(c, SOL_SOCKET, SO_RCVBUF, 1);
	row("RCVBUF floor", "%d", get_int(c, SOL_SOCKET, SO_RCVBUF));
	row("send with the smallest buffer", "%s", do_send(c, "small", 0));
	wait_readable(a, 5);
	row("recv from the smallest buffer", "%s", do_recv(a, 9, 0));
	close(c);
	close(a);
}

void probe_inherit(void)
{
	struct linger lin = { 1, 7 };
	socklen_t len = sizeof(lin);
	struct probe_addr addr;
	int l, c, a;

	l = new_listener(4);
	bound_to(l, &addr);
	set_int(l, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_int(l, SOL_SOCKET, SO_SNDBUF, 30000);
	set_int(l, SOL_SOCKET, SO_RCVLOWAT, 3);
	set_int(l, SOL_SOCKET, SO_OOBINLINE, 1);
	set_int(l, IPPROTO_TCP, TCP_NODELAY, 1);
	set_int(l, IPPROTO_TCP, TCP_KEEPIDLE, 77);
	setsockopt(l, SOL_SOCKET, SO_LINGER, &lin, sizeof(lin));
	c = new_socket();
	if (connect_to(c, &addr))
		setup_failed("connect");
	a = accept(l, NULL, NULL);
	row("inherited SO_KEEPALIVE", "%d",
	    get_int(a, SOL_SOCKET, SO_KEEPALIVE));
	row("inherited SO_SNDBUF", "%d", get_int(a, SOL_SOCKET, SO_SNDBUF));
	row("inherited SO_RCVLOWAT", "%d", get_int(a, SOL_SOCKET, SO_RCVLOWAT));
	row("inherited SO_OOBINLINE", "%d",
	    get_int(a, SOL_SOCKET, SO_OOBINLINE));
	row("inherited TCP_NODELAY", "%d",
	    get_int(a, IPPROTO_TCP, TCP_NODELAY));
	row("inherited TCP_KEEPIDLE", "%d",
	    get_int(a, IPPROTO_TCP, TCP_KEEPIDLE));
	memset(&lin, 0, sizeof(lin));
	getsockopt(a, SOL_SOCKET, SO_LINGER, &lin, &len);
	row("inherited SO_LINGER", "%d %d", lin.l_onoff, lin.l_linger);
	close(c);
	close(a);
	close(l);
}

void probe_ioctl(void)
{
	char req[64] = "";
	int c, a, on = 1;
	size_t n;

	new_pair(&c, &a);
	row("FIONREAD nothing", "%d", queue_size(c, FIONREAD));
	row("SIOCOUTQ nothing", "%d", queue_size(c, SIOCOUTQ));
	row("SIOCOUTQNSD nothing", "%d", queue_size(c, SIOCOUTQNSD));
	n = fill(c);
	row("SIOCOUTQ above 0 when full", "%s",
	    queue_size(c, SIOCOUTQ) > 0 ? "yes" : "no");
	wait_readable(a, 1);
	row("FIONREAD above 0 at the peer", "%s",
	    queue_size(a, FIONREAD) > 0 ? "yes" : "no");
	drain(a, n);
	wait_events(c, POLLOUT);
	for (n = 0; n < PROBE_WAIT_MS && queue_size(c, SIOCOUTQ); n += 10)
		sleep_ms(10);
	row("SIOCOUTQ once all is read", "%d", queue_size(c, SIOCOUTQ));
	shutdown(c, SHUT_WR);
	wait_events(a, POLLRDHUP);
	row("FIONREAD after FIN", "%d", queue_size(a, FIONREAD));
	row("ioctl unknown", "%s", res_ok(ioctl(c, 0x89ff, req)));
	row("ioctl FIONBIO", "%s", res_ok(ioctl(c, FIONBIO, &on)));
	row("FIONBIO took effect", "%s", do_recv(c, 1, 0));
	row("ioctl SIOCGSTAMP", "%s", res_ok(ioctl(c, 0x8906, req)));
	row("ioctl bad pointer", "%s", res_ok(ioctl(c, FIONREAD, (void *)8)));
	row("ioctl SIOCGIFADDR", "%s",
	    res_ok(ioctl(c, SIOCGIFADDR, memcpy(req, "lo", 3))));
	row("ioctl SIOCGIFFLAGS unknown device", "%s",
	    res_ok(ioctl(c, SIOCGIFFLAGS, memcpy(req, "nodev0", 7))));
	close(c);
	close(a);
}

static void pass_descriptor(int via, int fd)
{
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(sizeof(int))];
	} ctl = { 0 };
	struct iovec iov = { "x", 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = ctl.buf,
		.msg_controllen = sizeof(ctl.buf),
	};
	struct cmsghdr *cm = CMSG_FIRSTHDR(&msg);

	cm->cmsg_level = SOL_SOCKET;
	cm->cmsg_type = SCM_RIGHTS;
	cm->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cm), &fd, sizeof(fd));
	if (sendmsg(via, &msg, 0) != 1)
		setup_failed("sendmsg SCM_RIGHTS");
}

static int take_descriptor(int via)
{
	char buf[CMSG_SPACE(sizeof(int))], byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = buf,
		.msg_controllen = sizeof(buf),
	};
	int fd = -1;

	if (recvmsg(via, &msg, 0) != 1 || !CMSG_FIRSTHDR(&msg))
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

static void probe_fork(void)
{
	int c, a, status = 0;
	pid_t child;

	new_pair(&c, &a);
	child = fork();
	if (!child) {
		close(a);
		do_send(c, "child", 0);
		_exit(do_recv(c, 9, 0)[1] == 'p' ? 0 : 1);
	}
	close(c);
	wait_readable(a, 5);
	row("fork: data of the child", "%s", do_recv(a, 9, 0));
	do_send(a, "parent", 0);
	waitpid(child, &status, 0);
	row("fork: child reads", "%s", status ? "no" : "yes");
	row("fork: FIN when the child ends", "%s", poll_settled(a, POLLRDHUP));
	close(a);
	new_pair(&c, &a);
	child = fork();
	if (!child) {
		close(a);
		sleep_ms(PROBE_WAIT_MS * 10);
		_exit(0);
	}
	close(c);
	row("connection held by the child", "%s", poll_settled(a, 0));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	row("FIN when the child is killed", "%s", poll_settled(a, POLLRDHUP));
	close(a);
}

void probe_descriptors(void)
{
	int c, a, d, via[2];
	struct stat st;
	fd_set rd;

	new_pair(&c, &a);
	row("fstat says socket", "%s",
	    !fstat(c, &st) && S_ISSOCK(st.st_mode) ? "yes" : "no");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, via))
		setup_failed("socketpair");
	pass_descriptor(via[0], c);
	close(c);
	d = take_descriptor(via[1]);
	row("SCM_RIGHTS", "%s", d >= 0 ? "ok" : "failed");
	do_send(d, "passed", 0);
	wait_readable(a, 6);
	row("data by the passed descriptor", "%s", do_recv(a, 9, 0));
	FD_ZERO(&rd);
	FD_SET(a, &rd);
	row("select nothing", "%s",
	    res_num(select(a + 1, &rd, NULL, NULL, &(struct timeval){ 0 })));
	do_send(d, "x", 0);
	wait_readable(a, 1);
	FD_SET(a, &rd);
	row("select readable", "%s",
	    res_num(select(a + 1, &rd, NULL, NULL, &(struct timeval){ 0 })));
	dup2(a, d);
	row("dup2 over the socket: FIN", "%s", do_recv(d, 9, 0));
	row("EOF after dup2", "%s", poll_settled(a, POLLRDHUP));
	close(d);
	close(a);
	close(via[0]);
	close(via[1]);
	c = socket(target.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
		   target.protocol);
	row("socket flags", "%s %s",
	    fcntl(c, F_GETFL) & O_NONBLOCK ? "nonblock" : "-",
	    fcntl(c, F_GETFD) & FD_CLOEXEC ? "cloexec" : "-");
	close(c);
	probe_fork();
}

void probe_bad_arguments(void)
{
	int p[2], c, a, fd = new_socket();
	char byte;

	close(fd);
	row("connect closed fd", "%s", res_ok(connect_to(fd, &target.host)));
	row("recv closed fd", "%s", do_recv(fd, 1, 0));
	row("send closed fd", "%s", do_send(fd, "x", 0));
	row("close twice", "%s", res_ok(close(fd)));
	if (pipe(p))
		setup_failed("pipe");
	row("recv on a pipe", "%s", do_recv(p[0], 1, 0));
	row("socket type out of range", "%s",
	    res_ok(socket(target.family, 77, 0)));
	row("socket type RDM", "%s",
	    res_ok(socket(target.family, SOCK_RDM, target.protocol)));
	row("socket protocol out of range", "%s",
	    res_ok(socket(target.family, SOCK_STREAM, 2000)));
	row("socketpair", "%s",
	    res_ok(socketpair(target.family, SOCK_STREAM, target.protocol, p)));
	new_pair(&c, &a);
	do_send(a, "x", 0);
	wait_readable(c, 1);
	row("recv bad buffer", "%s", res_num(recv(c, (void *)8, 4, 0)));
	row("data survives a bad buffer", "%s", do_recv(c, 9, MSG_DONTWAIT));
	row("recvmsg NULL", "%s", res_num(recvmsg(c, NULL, 0)));
	row("accept bad length pointer", "%s",
	    res_ok(accept(c, (struct sockaddr *)&target.host.sa, NULL)));
	row("read 0 bytes", "%s", res_num(read(c, &byte, 0)));
	close(c);
	close(a);
}
