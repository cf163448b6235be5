// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Probes of what few programs do: control messages, half of a vector that is not
 * there, signals by F_SETSIG, ends without a close.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "probe.h"

#ifndef TCP_INQ
#define TCP_INQ 36
#endif

/* The descriptor is still open, but data that arrives cannot be read. */
static void probe_shut_both(void)
{
	int c, a;

	new_pair(&c, &a);
	shutdown(c, SHUT_RDWR);
	wait_events(a, POLLRDHUP);
	row("peer has shut both: send", "%s", do_send(a, "x", 0));
	row("peer has shut both: poll after send", "%s",
	    poll_settled(a, POLLERR | POLLHUP));
	row("peer has shut both: SO_ERROR", "%s",
	    res_errno(get_int(a, SOL_SOCKET, SO_ERROR)));
	row("peer has shut both: send again", "%s", do_send(a, "x", 0));
	row("own shutdown of both: poll", "%s", poll_settled(c, POLLHUP));
	row("own shutdown of both: recv", "%s", do_recv(c, 1, 0));
	row("own shutdown of both: send", "%s", do_send(c, "x", 0));
	close(c);
	close(a);
}

static const char *send_control(int fd, int level, int type)
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

	cm->cmsg_level = level;
	cm->cmsg_type = type;
	cm->cmsg_len = CMSG_LEN(sizeof(int));
	return res_num(sendmsg(fd, &msg, MSG_NOSIGNAL));
}

/* A control message that says how much is left */
static void recv_inq(int fd)
{
	char buf[2], ctl[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = ctl,
		.msg_controllen = sizeof(ctl),
	};
	struct cmsghdr *cm;
	ssize_t n = recvmsg(fd, &msg, 0);
	int left = -1;

	cm = CMSG_FIRSTHDR(&msg);
	if (cm)
		memcpy(&left, CMSG_DATA(cm), sizeof(left));
	row("recvmsg with TCP_INQ", "%s, level %d type %d left %d", res_num(n),
	    cm ? cm->cmsg_level : -1, cm ? cm->cmsg_type : -1, left);
}

static void probe_control(void)
{
	int c, a;

	new_pair(&c, &a);
	row("control message of SOL_SOCKET, unknown", "%s",
	    send_control(c, SOL_SOCKET, 999));
	row("control message of an unknown level", "%s",
	    send_control(c, 999, 1));
	row("control message SCM_RIGHTS", "%s",
	    send_control(c, SOL_SOCKET, SCM_RIGHTS));
	set_int(a, IPPROTO_TCP, TCP_INQ, 1);
	drain(a, 2);
	do_send(c, "abcde", 0);
	wait_readable(a, 5);
	recv_inq(a);
	recv_inq(a);
	do_send(c, "f", 0);
	shutdown(c, SHUT_WR);
	wait_events(a, POLLRDHUP);
	recv_inq(a);
	recv_inq(a);
	close(c);
	close(a);
}

/* A vector whose second part begins at a page that is not there */
static void probe_fault(void)
{
	struct iovec iov[2] = { { NULL, 65536 }, { (void *)8, 4 } };
	char *mem = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec part = { mem, 65536 };
	size_t sent, got;
	int c, a;

	if (mem == MAP_FAILED)
		setup_failed("mmap");
	iov[0].iov_base = mem;
	new_pair(&c, &a);
	sent = writev(c, iov, 2);
	row("writev, second part not there: a count", "%s",
	    (ssize_t)sent > 0 && sent <= 65536 ? "yes" : "no");
	shutdown(c, SHUT_WR);
	for (got = 0; got < sent;) {
		ssize_t n = readv(a, &part, 1);

		if (n <= 0)
			break;
		got += n;
	}
	row("writev, second part not there: so much arrives", "%s",
	    got == sent && !readv(a, &part, 1) ? "yes" : "no");
	close(c);
	close(a);
	new_pair(&c, &a);
	memset(mem, 'd', 65536);
	iov[0].iov_len = 3;
	do_send(a, "abcde", 0);
	wait_readable(c, 5);
	got = readv(c, iov, 2);
	row("readv, second part not there", "%s, then %s", res_num(got),
	    do_recv(c, 9, MSG_DONTWAIT));
	close(c);
	close(a);
	munmap(mem, 65536);
}

static volatile sig_atomic_t caught, codes, descriptor;

static void on_signal(int sig, siginfo_t *info, void *ctx)
{
	(void)sig;
	(void)ctx;
	caught = caught + 1;
	if (info->si_code >= POLL_IN && info->si_code <= POLL_HUP)
		codes = codes | 1 << info->si_code;
	descriptor = info->si_fd;
}

static void catch_signal(int sig)
{
	struct sigaction sa = { .sa_sigaction = on_signal,
				.sa_flags = SA_SIGINFO };

	caught = 0;
	sigaction(sig, &sa, NULL);
}

/* The codes that came with the signals of F_SETSIG, when no more come */
static const char *signal_codes(int fd, int wanted)
{
	unsigned int ms;
	int seen;

	for (ms = 0; ms < PROBE_WAIT_MS && !(codes & 1 << wanted); ms += 10)
		sleep_ms(10);
	sleep_ms(50);
	seen = codes;
	codes = 0;
	if (caught && descriptor != fd)
		return "of another descriptor";
	return res_num(seen);
}

static int watched(int *peer, int sig)
{
	int fd;

	new_pair(&fd, peer);
	fcntl(fd, F_SETOWN, getpid());
	fcntl(fd, F_SETSIG, sig);
	fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK);
	codes = 0;
	return fd;
}

static void probe_signal_codes(void)
{
	int c, a, sig = SIGRTMIN + 1;

	catch_signal(sig);
	c = watched(&a, sig);
	do_send(a, "x", 0);
	row("F_SETSIG: codes of data", "%s", signal_codes(c, POLL_IN));
	do_send(a, "!", MSG_OOB);
	row("F_SETSIG: codes of urgent data", "%s", signal_codes(c, POLL_IN));
	shutdown(a, SHUT_WR);
	row("F_SETSIG: codes of the peer's end", "%s",
	    signal_codes(c, POLL_IN));
	shutdown(c, SHUT_WR);
	row("F_SETSIG: codes of the own end, then", "%s",
	    signal_codes(c, POLL_HUP));
	close(c);
	close(a);
	c = watched(&a, sig);
	shutdown(c, SHUT_WR);
	row("F_SETSIG: codes of the own end", "%s", signal_codes(c, POLL_HUP));
	shutdown(a, SHUT_WR);
	row("F_SETSIG: codes of the peer's end, then", "%s",
	    signal_codes(c, POLL_HUP));
	close(c);
	close(a);
	c = watched(&a, sig);
	reset_close(a);
	row("F_SETSIG: codes of a reset", "%s", signal_codes(c, POLL_ERR));
	close(c);
	signal(sig, SIG_IGN);
}

/* SIGPIPE, or not, of all that can send */
static void probe_pipe(void)
{
	struct iovec iov = { "x", 1 };
	int c, a, f, p[2];
	off_t off = 0;

	new_pair(&c, &a);
	shutdown(c, SHUT_WR);
	f = memfd_create("probe", 0);
	if (f < 0 || write(f, "file", 4) != 4 || pipe(p) ||
	    write(p[1], "pipe", 4) != 4)
		setup_failed("a file and a pipe");
	catch_signal(SIGPIPE);
	row("EPIPE of writev", "%s", res_num(writev(c, &iov, 1)));
	row("SIGPIPE of writev", "%d", caught);
	row("EPIPE of sendfile", "%s", res_num(sendfile(c, f, &off, 4)));
	row("SIGPIPE of sendfile", "%d", caught);
	row("EPIPE of splice", "%s",
	    res_num(splice(p[0], NULL, c, NULL, 4, 0)));
	row("SIGPIPE of splice", "%d", caught);
	signal(SIGPIPE, SIG_IGN);
	close(p[0]);
	close(p[1]);
	close(f);
	close(c);
	close(a);
}

/* A child that dies leaves nothing to wait for, whatever SO_LINGER says. */
static void probe_killed(int sig, const char *name)
{
	struct linger lin = { .l_onoff = 1, .l_linger = 30 };
	struct timespec t0, t1;
	int c, a, p[2];
	pid_t child;
	char byte;

	new_pair(&c, &a);
	if (pipe(p))
		setup_failed("pipe");
	child = fork();
	if (!child) {
		close(a);
		setsockopt(c, SOL_SOCKET, SO_LINGER, &lin, sizeof(lin));
		fill(c);
		if (write(p[1], "r", 1) != 1)
			_exit(1);
		if (!sig)
			_exit(0);
		sleep_ms(PROBE_WAIT_MS * 10);
		_exit(0);
	}
	close(c);
	if (read(p[0], &byte, 1) != 1)
		setup_failed("a child");
	clock_gettime(CLOCK_MONOTONIC, &t0);
	if (sig)
		kill(child, sig);
	waitpid(child, NULL, 0);
	clock_gettime(CLOCK_MONOTONIC, &t1);
	row("linger 30, the program ends", "%s, waits %s", name,
	    t1.tv_sec - t0.tv_sec < 20 ? "no" : "yes");
	close(p[0]);
	close(p[1]);
	close(a);
}

/* Without the right to: privileged ports. By another name: any address. */
static void probe_bind_corners(void)
{
	struct probe_addr low = target.host;
	struct sockaddr_in any = { .sin_family = AF_UNSPEC };
	struct sockaddr_storage zero = {};
	int s = new_socket();

	((struct sockaddr_in *)&low.sa)->sin_port = htons(99);
	if (seteuid(1))
		setup_failed("seteuid");
	row("bind to port 99, no root", "%s",
	    res_ok(bind(s, (struct sockaddr *)&low.sa, low.len)));
	if (seteuid(0))
		setup_failed("seteuid");
	row("bind to port 99, root", "%s",
	    res_ok(bind(s, (struct sockaddr *)&low.sa, low.len)));
	close(s);
	s = new_socket();
	any.sin_addr.s_addr = htonl(0x0a000001);
	row("bind AF_UNSPEC to an address", "%s",
	    res_ok(bind(s, (struct sockaddr *)&any, sizeof(any))));
	any.sin_addr.s_addr = 0;
	row("bind AF_UNSPEC to any address", "%s",
	    res_ok(bind(s, (struct sockaddr *)&any, sizeof(any))));
	close(s);
	s = new_socket();
	row("bind AF_UNSPEC with the longest address", "%s",
	    res_ok(bind(s, (struct sockaddr *)&zero, sizeof(zero))));
	close(s);
}

static const char *accept_interrupted(int fd)
{
	pid_t parent = getpid(), child = fork();
	const char *text;

	if (!child) {
		sleep_ms(150);
		kill(parent, SIGALRM);
		_exit(0);
	}
	text = do_accept(fd);
	waitpid(child, NULL, 0);
	return text;
}

static void probe_accept_timeout(void)
{
	struct sigaction sa = { .sa_sigaction = on_signal,
				.sa_flags = SA_SIGINFO | SA_RESTART };
	struct timeval tv = { 20, 0 };
	int l = new_listener(1);

	sigaction(SIGALRM, &sa, NULL);
	setsockopt(l, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	row("accept with RCVTIMEO interrupted, SA_RESTART", "%s",
	    accept_interrupted(l));
	close(l);
}

void probe_corners(void)
{
	probe_shut_both();
	probe_control();
	probe_fault();
	probe_signal_codes();
	probe_pipe();
	probe_killed(SIGKILL, "killed");
	probe_killed(0, "exit");
	probe_bind_corners();
	probe_accept_timeout();
}
