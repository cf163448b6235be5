// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Probes of a socket that is connecting, and stays so: the listener's backlog is
 * full.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/sockios.h>

#include "probe.h"

/* A listener that takes two connections, both there, and its address */
struct full {
	int listener;
	int client[2];
	struct probe_addr addr;
};

static void full_open(struct full *f)
{
	int i;

	f->listener = new_listener(1);
	bound_to(f->listener, &f->addr);
	for (i = 0; i < 2; i++) {
		f->client[i] = new_socket();
		if (connect_to(f->client[i], &f->addr))
			setup_failed("connect");
	}
	wait_events(f->listener, POLLIN);
}

/* Room for others, who get in with their next attempt */
static void full_accept(const struct full *f)
{
	int i;

	for (i = 0; i < 2; i++)
		close(accept(f->listener, NULL, NULL));
}

static void full_close(const struct full *f)
{
	close(f->client[0]);
	close(f->client[1]);
	close(f->listener);
}

/* TCP tries again after 1, 3 and 7 seconds */
static void wait_connected(int fd)
{
	wait_events(fd, POLLOUT);
	wait_events(fd, POLLOUT);
}

static const char *connect_res(int fd, const struct probe_addr *addr)
{
	return res_ok(connect_to(fd, addr));
}

static int connecting(const struct full *f)
{
	int fd = new_socket();

	net_nonblock(fd, true);
	if (!connect_to(fd, &f->addr) || errno != EINPROGRESS)
		setup_failed("connect");
	return fd;
}

static void probe_calls(const struct full *f)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);
	struct probe_addr own;
	int s = new_socket();

	net_nonblock(s, true);
	row("connecting: connect", "%s", connect_res(s, &f->addr));
	row("connecting: connect again", "%s", connect_res(s, &f->addr));
	row("connecting: connect elsewhere", "%s",
	    connect_res(s, &target.host));
	row("connecting: poll", "%s", poll_settled(s, 0));
	row("connecting: SO_ERROR", "%s",
	    res_errno(get_int(s, SOL_SOCKET, SO_ERROR)));
	row("connecting: send", "%s", do_send(s, "x", 0));
	row("connecting: send OOB", "%s", do_send(s, "x", MSG_OOB));
	row("connecting: recv", "%s", do_recv(s, 1, 0));
	row("connecting: recv OOB", "%s", do_recv(s, 1, MSG_OOB));
	row("connecting: listen", "%s", res_ok(listen(s, 1)));
	row("connecting: accept", "%s", do_accept(s));
	row("connecting: bind", "%s",
	    res_ok(bind(s, (struct sockaddr *)&target.host.sa,
			target.host.len)));
	row("connecting: FIONREAD", "%d", queue_size(s, FIONREAD));
	row("connecting: SIOCOUTQ", "%d", queue_size(s, SIOCOUTQ));
	row("connecting: SIOCOUTQNSD", "%d", queue_size(s, SIOCOUTQNSD));
	row("connecting: SIOCATMARK", "%d", queue_size(s, SIOCATMARK));
	row("connecting: getpeername", "%s",
	    res_ok(getpeername(s, (struct sockaddr *)&sa, &len)));
	bound_to(s, &own);
	row("connecting: has a port", "%s",
	    ((struct sockaddr_in *)&own.sa)->sin_port ? "yes" : "no");
	row("connecting: close", "%s", res_ok(close(s)));
}

static void probe_shutdown(const struct full *f, int how, const char *name)
{
	struct probe_addr dead;
	int s = connecting(f);

	dead_address(&dead);
	row("connecting: shutdown", "%s %s", name, res_ok(shutdown(s, how)));
	row("connecting: poll after shutdown", "%s %s", name,
	    poll_settled(s, 0));
	row("connecting: SO_ERROR after shutdown", "%s %s", name,
	    res_errno(get_int(s, SOL_SOCKET, SO_ERROR)));
	row("connecting: send after shutdown", "%s %s", name,
	    do_send(s, "x", 0));
	net_nonblock(s, false);
	row("connecting: connect after shutdown", "%s %s", name,
	    connect_res(s, &dead));
	close(s);
}

static void probe_unspec(const struct full *f)
{
	struct sockaddr unspec = { .sa_family = AF_UNSPEC };
	int s = connecting(f);

	row("connecting: AF_UNSPEC", "%s",
	    res_ok(connect(s, &unspec, sizeof(unspec))));
	row("connecting: poll after AF_UNSPEC", "%s", poll_settled(s, POLLHUP));
	close(s);
}

static void send_timeout(int fd, long msec)
{
	struct timeval tv = { msec / 1000, msec % 1000 * 1000 };

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
}

/* The time is up, the attempt goes on. */
static void probe_timeout(void)
{
	struct full f;
	int s;

	full_open(&f);
	s = new_socket();
	send_timeout(s, 100);
	row("connect with SNDTIMEO", "%s", connect_res(s, &f.addr));
	row("connect with SNDTIMEO, again", "%s", connect_res(s, &f.addr));
	row("send with SNDTIMEO, connecting", "%s", do_send(s, "x", 0));
	full_accept(&f);
	wait_connected(s);
	row("connect with SNDTIMEO: poll at last", "%s",
	    poll_settled(s, POLLOUT));
	row("connect with SNDTIMEO, at last", "%s", connect_res(s, &f.addr));
	row("connect with SNDTIMEO, once more", "%s", connect_res(s, &f.addr));
	row("connect with SNDTIMEO: send", "%s", do_send(s, "x", 0));
	close(s);
	full_close(&f);
}

/* One attempt more than the first, which is given up after three seconds */
static void probe_attempts(const struct full *f)
{
	int s = new_socket();

	set_int(s, IPPROTO_TCP, TCP_SYNCNT, 1);
	send_timeout(s, 10000);
	row("connect with TCP_SYNCNT 1", "%s", connect_res(s, &f->addr));
	close(s);
}

static void on_alarm(int sig)
{
	(void)sig;
}

static void catch_alarm(int flags)
{
	struct sigaction sa = { .sa_handler = on_alarm, .sa_flags = flags };

	sigaction(SIGALRM, &sa, NULL);
}

/* Result of a connect() that a signal interrupts; then there is room */
static const char *interrupted(const struct full *f, int fd)
{
	pid_t parent = getpid(), child = fork();
	const char *text;

	if (!child) {
		sleep_ms(150);
		kill(parent, SIGALRM);
		sleep_ms(150);
		full_accept(f);
		_exit(0);
	}
	text = connect_res(fd, &f->addr);
	waitpid(child, NULL, 0);
	return text;
}

static void probe_signal(int flags, bool timeout, const char *name)
{
	struct full f;
	int s;

	catch_alarm(flags);
	full_open(&f);
	s = new_socket();
	if (timeout)
		send_timeout(s, 20000);
	row("connect interrupted", "%s: %s", name, interrupted(&f, s));
	wait_connected(s);
	row("connect interrupted: poll at last", "%s: %s", name,
	    poll_settled(s, POLLOUT));
	row("connect interrupted: connect again", "%s: %s", name,
	    connect_res(s, &f.addr));
	close(s);
	full_close(&f);
}

static struct probe_addr waited_for;

static const char *blocking_connect(int fd)
{
	return connect_res(fd, &waited_for);
}

static void probe_threads_connect(void)
{
	struct blocked b;
	struct full f;
	int s;

	full_open(&f);
	waited_for = f.addr;
	s = new_socket();
	blocked_start(&b, s, blocking_connect);
	shutdown(s, SHUT_RDWR);
	row("connect woken by shutdown", "%s",
	    blocked_finished(&b, PROBE_WAIT_MS) ? b.result : "blocked");
	close(s);
	s = new_socket();
	blocked_start(&b, s, blocking_connect);
	close(s);
	row("connect in other thread after close(fd)", "%s",
	    blocked_finished(&b, 300) ? b.result : "still blocked");
	full_accept(&f);
	row("connect in other thread, when there is room", "%s",
	    blocked_finished(&b, 2 * PROBE_WAIT_MS) ? b.result : "blocked");
	full_close(&f);
}

void probe_connecting(void)
{
	struct full f;

	full_open(&f);
	probe_calls(&f);
	probe_shutdown(&f, SHUT_RD, "RD");
	probe_shutdown(&f, SHUT_WR, "WR");
	probe_shutdown(&f, SHUT_RDWR, "RDWR");
	probe_attempts(&f);
	probe_unspec(&f);
	full_close(&f);
	probe_timeout();
}

void probe_connect_signals(void)
{
	probe_signal(0, false, "no SA_RESTART");
	probe_signal(SA_RESTART, false, "SA_RESTART");
	probe_signal(SA_RESTART, true, "SNDTIMEO, SA_RESTART");
	probe_threads_connect();
}
