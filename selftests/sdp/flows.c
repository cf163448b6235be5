// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdp-flows: typical use of a connection, under one flow control: echo,
 * bulk, slow readers and writers, both ways at once, low water marks, signals,
 * urgent data, half close, abort, keepalive. Both ends check every byte.
 *
 *	sdp-flows [-n NAMESPACE] [-B BUFFERS] [-F FLOW] [-w WAY] -p PORT ADDRESS
 *
 * FLOW is a value of SDP_FLOW_CONTROL for the end that connects. The other end
 * is a child of this program, in the network namespace NAMESPACE. One TAP line
 * for each way; all of them if none is named.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/sdp.h>
#include <linux/sockios.h>

#include "../lib/net.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define MANY 1000000 /* bytes, more than any buffers have */
#define SOME 300000
#define LONG_S 200 /* nothing takes that long */
#define SOON_MS 20000

/* Messages between the two ends beside the connection */
static struct shared {
	_Atomic int step;
	_Atomic uint64_t sent;
	_Atomic int listens;
	char why[128]; /* of the child */
} * shm;

static struct sockaddr_in address;
static const char *netns;
static int flow, buffers = 65536;
static char why[128];
static unsigned char buf[65536];
static volatile sig_atomic_t urgent, room, there;

/* One end of a connection */
struct end {
	int fd;
	bool client;
	uint64_t sent, got;
};

static int bad(const char *what)
{
	snprintf(why, sizeof(why), "%s: %s", what,
		 errno ? strerror(errno) : "wrong");
	return -1;
}

static unsigned char byte_at(uint64_t pos, bool client)
{
	return net_byte(pos) + client;
}

static void next_bytes(const struct end *e, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		buf[i] = byte_at(e->sent + i, e->client);
}

/* Returns bytes taken, 0 if none were now, -1 */
static ssize_t send_some(struct end *e, size_t len, int flags)
{
	ssize_t n;

	next_bytes(e, len);
	n = send(e->fd, buf, len, flags | MSG_NOSIGNAL);
	if (n < 0 && errno != EAGAIN)
		return bad("send");
	e->sent += n > 0 ? n : 0;
	return n > 0 ? n : 0;
}

static int send_all(struct end *e, uint64_t upto, size_t piece, int pause_us)
{
	while (e->sent < upto) {
		size_t n = upto - e->sent < piece ? upto - e->sent : piece;

		if (send_some(e, n, 0) < 0)
			return -1;
		if (pause_us)
			usleep(pause_us);
	}
	return 0;
}

/* Returns bytes read, 0 at the end, -1 */
static ssize_t recv_some(struct end *e, size_t len, int flags)
{
	ssize_t n = recv(e->fd, buf, len, flags), i;

	if (n < 0)
		return bad("recv");
	for (i = 0; i < n; i++) {
		errno = 0;
		if (buf[i] != byte_at(e->got + i, !e->client))
			return bad("a byte");
	}
	e->got += n;
	return n;
}

/* Up to the end of the stream, which is after @upto bytes */
static int recv_all(struct end *e, uint64_t upto, size_t piece, int pause_us)
{
	ssize_t n;

	while ((n = recv_some(e, piece, 0)) > 0)
		if (pause_us)
			usleep(pause_us);
	errno = 0;
	if (!n && e->got != upto)
		return bad("bytes received");
	return n;
}

static int finish(struct end *e)
{
	return shutdown(e->fd, SHUT_WR) ? bad("shutdown") : 0;
}

static void step_to(int step)
{
	atomic_store(&shm->step, step);
}

/* Not by the connection, which is what is looked at */
static int step_wait(int step)
{
	while (atomic_load(&shm->step) < step)
		usleep(1000);
	return 0;
}

/* Until the receiver is full: what was written does not leave any more */
static int fill(struct end *e)
{
	int before = -1, now = 0, same = 0;

	while (same < 100) {
		if (now < buffers / 4 && send_some(e, 500, MSG_DONTWAIT) < 0)
			return -1;
		if (ioctl(e->fd, SIOCOUTQNSD, &now))
			return bad("SIOCOUTQNSD");
		if (now < buffers / 4)
			continue;
		same = now == before ? same + 1 : 0;
		before = now;
		usleep(2000);
	}
	atomic_store(&shm->sent, e->sent);
	return 0;
}

/* ---- the ways; the end that connects, then the other ---- */

static int echo_client(struct end *e)
{
	unsigned int i, len;
	uint64_t upto;

	for (i = 0; i < 300; i++) {
		len = 1 + i * i * 37 % 9000;
		upto = e->sent + len;
		if (send_all(e, upto, len, 0))
			return -1;
		while (e->got < upto)
			if (recv_some(e, upto - e->got, 0) <= 0)
				return why[0] ? -1 : bad("early end");
	}
	return finish(e) || recv_all(e, e->sent, 1000, 0);
}

static int echo_server(struct end *e)
{
	ssize_t n;

	/* it answers with its own bytes, as many */
	while ((n = recv_some(e, sizeof(buf), 0)) > 0)
		if (send_all(e, e->got, sizeof(buf), 0))
			return -1;
	return n;
}

static int bulk_client(struct end *e)
{
	return send_all(e, 3 * MANY, sizeof(buf), 0) || finish(e) ||
	       recv_all(e, 0, 1, 0);
}

static int bulk_server(struct end *e)
{
	return recv_all(e, 3 * MANY, sizeof(buf), 0);
}

static int slow_reader_client(struct end *e)
{
	return send_all(e, MANY, 777, 0) || finish(e) || recv_all(e, 0, 1, 0);
}

static int slow_reader_server(struct end *e)
{
	return recv_all(e, MANY, 10000, 3000);
}

static int slow_writer_client(struct end *e)
{
	return send_all(e, SOME, 3000, 3000) || finish(e) ||
	       recv_all(e, 0, 1, 0);
}

static int slow_writer_server(struct end *e)
{
	return recv_all(e, SOME, sizeof(buf), 0);
}

static int both_ways(struct end *e)
{
	struct pollfd p = { .fd = e->fd };
	bool open = true;
	ssize_t n;

	while (open || e->sent < MANY) {
		p.events = POLLIN * open | (e->sent < MANY ? POLLOUT : 0);
		if (poll(&p, 1, -1) < 0)
			return bad("poll");
		if (p.revents & POLLOUT && e->sent < MANY) {
			n = MANY - e->sent < 4000 ? MANY - e->sent : 4000;
			if (send_some(e, n, MSG_DONTWAIT) < 0)
				return -1;
			if (e->sent == MANY && finish(e))
				return -1;
		}
		if (p.revents & POLLIN && open) {
			n = recv_some(e, 5000, MSG_DONTWAIT);
			if (n < 0)
				return -1;
			open = n;
		}
	}
	errno = 0;
	return e->got == MANY ? 0 : bad("bytes received");
}

static int watermark_client(struct end *e)
{
	return send_all(e, 3 * MANY, 3000, 0) || finish(e) ||
	       recv_all(e, 0, 1, 0);
}

/* Read all that there is when told, with a low-water mark of @lowat bytes */
static int read_above(struct end *e, int lowat, size_t total)
{
	struct pollfd p = { .fd = e->fd, .events = POLLIN };
	ssize_t n;

	if (setsockopt(e->fd, SOL_SOCKET, SO_RCVLOWAT, &lowat, sizeof(lowat)))
		return bad("SO_RCVLOWAT");
	do {
		if (poll(&p, 1, -1) < 0)
			return bad("poll");
		n = recv_some(e, sizeof(buf), MSG_DONTWAIT);
	} while (n > 0);
	errno = 0;
	return n || e->got == total ? n : bad("bytes received");
}

/* A reader that waits for more than can come must see what has arrived */
static int watermark_server(struct end *e)
{
	return read_above(e, 1 << 30, 3 * MANY);
}

/* Messages that need a receive each, of which there are not enough for the mark */
static int few_receives_client(struct end *e)
{
	return send_all(e, 20 * 17000, 17000, 0) || finish(e) ||
	       recv_all(e, 0, 1, 0);
}

static int few_receives_server(struct end *e)
{
	return read_above(e, 128 << 10, 20 * 17000);
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
	(void)context;
	if (sig == SIGIO && info->si_code == POLL_OUT)
		room++;
	if (sig == SIGIO && info->si_code == POLL_IN)
		there++;
}

/* SIGIO, which tells why */
static int want_signal(int fd)
{
	struct sigaction act = { .sa_sigaction = on_signal,
				 .sa_flags = SA_SIGINFO | SA_RESTART };

	if (sigaction(SIGIO, &act, NULL) || fcntl(fd, F_SETOWN, getpid()) ||
	    fcntl(fd, F_SETSIG, SIGIO) ||
	    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC))
		return bad("O_ASYNC");
	return 0;
}

/* Until there is such a signal */
static int wait_signal(const volatile sig_atomic_t *seen)
{
	int n;

	for (n = 0; !*seen && n < SOON_MS; n++)
		usleep(1000);
	errno = 0;
	return *seen ? 0 : bad("SIGIO");
}

/* The mark is reached by the second piece only */
static int below_mark_client(struct end *e)
{
	if (send_all(e, 1000, 1000, 0))
		return -1;
	step_wait(1);
	return send_all(e, 5000, 1000, 0) || finish(e) || recv_all(e, 0, 1, 0);
}

static int below_mark_server(struct end *e)
{
	struct pollfd p = { .fd = e->fd, .events = POLLIN };
	int lowat = 5000, have = 0;

	if (setsockopt(e->fd, SOL_SOCKET, SO_RCVLOWAT, &lowat, sizeof(lowat)))
		return bad("SO_RCVLOWAT");
	there = 0;
	if (want_signal(e->fd))
		return -1;
	while (have < 1000)
		if (ioctl(e->fd, FIONREAD, &have))
			return bad("FIONREAD");
	errno = 0;
	if (poll(&p, 1, 100) || there)
		return bad("poll or SIGIO below the mark");
	step_to(1);
	if (wait_signal(&there))
		return -1;
	if (poll(&p, 1, 0) != 1 || ioctl(e->fd, FIONREAD, &have))
		return bad("poll after SIGIO");
	errno = 0;
	return have >= lowat ? recv_all(e, 5000, sizeof(buf), 0) :
			       bad("bytes there");
}

/* ---- not more than MARK bytes that have not left */

#define MARK 16384
#define MARK_PIECE 500

static int unsent(struct end *e)
{
	int n;

	return ioctl(e->fd, SIOCOUTQNSD, &n) ? bad("SIOCOUTQNSD") : n;
}

/*
 * Write until poll(), if @ask, or send() says no, and goes on to: what waits may
 * still leave for a while. Returns what has not left
 */
static int write_until_no(struct end *e, bool ask)
{
	int quiet = 0;
	ssize_t n;

	while (quiet < 100) {
		n = 0;
		if (!ask || net_wait(e->fd, POLLOUT, 0))
			n = send_some(e, MARK_PIECE, MSG_DONTWAIT);
		if (n < 0)
			return -1;
		quiet = n ? 0 : quiet + 1;
		if (!n)
			usleep(2000);
	}
	return unsent(e);
}

/* As much as a program does that asks before it writes */
static int send_polled(struct end *e, uint64_t upto)
{
	while (e->sent < upto) {
		errno = 0;
		if (!net_wait(e->fd, POLLOUT, SOON_MS) && errno != EINTR)
			return bad("poll with room");
		if (send_some(e, MARK_PIECE, MSG_DONTWAIT) < 0)
			return -1;
	}
	return 0;
}

static int unsent_mark_client(struct end *e)
{
	int mark = MARK, n;

	if (setsockopt(e->fd, SOL_TCP, TCP_NOTSENT_LOWAT, &mark, sizeof(mark)))
		return bad("TCP_NOTSENT_LOWAT");
	/* poll() wants half of it */
	n = write_until_no(e, true);
	errno = 0;
	if (n < MARK / 2 || n >= MARK / 2 + MARK_PIECE)
		return n < 0 ? -1 : bad("unsent when poll is silent");
	/* a late request gets no signal */
	if (want_signal(e->fd))
		return -1;
	n = write_until_no(e, false);
	errno = 0;
	if (n < MARK || n >= MARK + MARK_PIECE)
		return n < 0 ? -1 : bad("unsent when send would wait");
	room = 0;
	step_to(1);
	/* no task polls */
	if (wait_signal(&room))
		return -1;
	if (send_polled(e, e->sent + SOME))
		return -1;
	atomic_store(&shm->sent, e->sent);
	return finish(e) || recv_all(e, 0, 1, 0);
}

static int unsent_mark_server(struct end *e)
{
	ssize_t n;

	step_wait(1);
	while ((n = recv_some(e, 10000, 0)) > 0)
		usleep(1000);
	errno = 0;
	if (!n && e->got != atomic_load(&shm->sent))
		return bad("bytes received");
	return n;
}

static void on_urgent(int sig)
{
	urgent = sig;
}

/* An urgent byte after what the receiver has no room for */
static int urgent_client(struct end *e)
{
	if (fill(e))
		return -1;
	if (send_some(e, 1, MSG_OOB) != 1)
		return bad("MSG_OOB");
	atomic_store(&shm->sent, e->sent);
	step_to(1);
	return send_all(e, e->sent + SOME, 5000, 0) || finish(e) ||
	       recv_all(e, 0, 1, 0);
}

static int urgent_server(struct end *e)
{
	bool credits = flow == SDP_FLOW_RDMA || flow == SDP_FLOW_CREDIT;
	int mark = 0, i;
	ssize_t n;
	char c;

	urgent = 0;
	signal(SIGURG, on_urgent);
	if (fcntl(e->fd, F_SETOWN, getpid()))
		return bad("F_SETOWN");
	step_wait(1);
	/* messages without payload go, except where they stand in a row */
	for (i = 0; i < 10000 && !urgent; i++)
		if (credits)
			usleep(1000);
	errno = 0;
	if (!urgent && credits)
		return bad("SIGURG");
	/* it is announced, and there is no room for it here */
	if (credits && (recv(e->fd, &c, 1, MSG_OOB) != -1 || errno != EAGAIN))
		return bad("MSG_OOB, too early");
	while (!mark) {
		n = recv_some(e, 10000, 0);
		if (n <= 0 || ioctl(e->fd, SIOCATMARK, &mark))
			return n < 0 ? -1 : bad("mark");
	}
	errno = 0;
	if (e->got != atomic_load(&shm->sent) - 1)
		return bad("place of the mark");
	if (!urgent || recv_some(e, 1, MSG_OOB) != 1)
		return why[0] ? -1 : bad("urgent byte");
	return recv_all(e, e->got + SOME, 10000, 0);
}

static int half_client(struct end *e)
{
	return send_all(e, SOME, 3000, 0) || finish(e) ||
	       recv_all(e, SOME, 2000, 1000);
}

static int half_server(struct end *e)
{
	return recv_all(e, SOME, 7000, 0) || send_all(e, SOME, 1000, 0) ||
	       finish(e);
}

/* A reader that does not read has to learn of it as well */
static int abort_client(struct end *e)
{
	struct linger l = { .l_onoff = 1 };

	if (fill(e))
		return -1;
	if (setsockopt(e->fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l)))
		return bad("SO_LINGER");
	close(e->fd);
	e->fd = -1;
	step_to(1);
	return 0;
}

static int abort_server(struct end *e)
{
	ssize_t n;

	step_wait(1);
	errno = 0;
	if (!net_wait(e->fd, 0, 20000))
		return bad("poll does not see it");
	do {
		n = recv(e->fd, buf, sizeof(buf), 0);
	} while (n > 0);
	return n < 0 && errno == ECONNRESET ? 0 : bad("not reset");
}

/* No probe passes data that wait: that is no reason to end */
static int keepalive_client(struct end *e)
{
	static const int names[] = { TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT };
	int one = 1, values[] = { 1, 1, 3 };
	unsigned int i;

	if (fill(e))
		return -1;
	if (setsockopt(e->fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one)))
		return bad("SO_KEEPALIVE");
	for (i = 0; i < COUNT(names); i++)
		if (setsockopt(e->fd, SOL_TCP, names[i], &values[i],
			       sizeof(int)))
			return bad("TCP_KEEP");
	sleep(6);
	step_to(1);
	return finish(e) || recv_all(e, 0, 1, 0);
}

static int keepalive_server(struct end *e)
{
	step_wait(1);
	return recv_all(e, atomic_load(&shm->sent), 10000, 0);
}

#define WAY(n, c, s, ...)                                          \
	{                                                          \
		.name = n, .client = c, .server = s, ##__VA_ARGS__ \
	}

static const struct way {
	const char *name;
	int (*client)(struct end *e);
	int (*server)(struct end *e);
	bool named; /* only if it is asked for */
} ways[] = {
	WAY("echo", echo_client, echo_server),
	WAY("bulk", bulk_client, bulk_server),
	WAY("slow-reader", slow_reader_client, slow_reader_server),
	WAY("slow-writer", slow_writer_client, slow_writer_server),
	WAY("both-ways", both_ways, both_ways),
	WAY("watermark", watermark_client, watermark_server),
	WAY("below-mark", below_mark_client, below_mark_server),
	WAY("unsent-mark", unsent_mark_client, unsent_mark_server),
	WAY("few-receives", few_receives_client, few_receives_server,
	    .named = true),
	WAY("urgent", urgent_client, urgent_server),
	WAY("half-close", half_client, half_server),
	WAY("abort", abort_client, abort_server),
	WAY("keepalive", keepalive_client, keepalive_server, .named = true),
};

/* ---- connections ---- */

static int new_socket(void)
{
	int fd = socket(AF_SDP, SOCK_STREAM, SDPPROTO_SDP), one = 1;

	/* the last connection may not have ended quite yet */
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)))
		return bad("socket");
	if (buffers && (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &buffers,
				   sizeof(buffers)) ||
			setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffers,
				   sizeof(buffers))))
		return bad("buffers");
	return fd;
}

static void enter(const char *name)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY);
	if (fd < 0 || setns(fd, CLONE_NEWNET)) {
		perror(path);
		_exit(2);
	}
	close(fd);
}

/* The child: accepts one connection */
static int serve(const struct way *w)
{
	struct end e = { .fd = -1 };
	int fd;

	if (netns)
		enter(netns);
	fd = new_socket();
	if (fd < 0)
		return -1;
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(fd, 1))
		return bad("listen");
	atomic_store(&shm->listens, 1);
	e.fd = accept(fd, NULL, NULL);
	if (e.fd < 0)
		return bad("accept");
	close(fd);
	if (w->server(&e))
		return -1;
	return close(e.fd) ? bad("close") : 0;
}

static int client(const struct way *w, pid_t child)
{
	struct end e = { .client = true };
	siginfo_t info = { 0 };

	while (!atomic_load(&shm->listens)) {
		errno = 0;
		waitid(P_PID, child, &info, WEXITED | WNOHANG | WNOWAIT);
		if (info.si_pid)
			return bad("no listener");
		usleep(1000);
	}
	e.fd = new_socket();
	if (e.fd < 0)
		return -1;
	if (setsockopt(e.fd, SOL_SDP, SDP_FLOW_CONTROL, &flow, sizeof(flow)))
		return bad("SDP_FLOW_CONTROL");
	if (connect(e.fd, (struct sockaddr *)&address, sizeof(address)))
		return bad("connect");
	if (w->client(&e))
		return -1;
	return e.fd >= 0 && close(e.fd) ? bad("close") : 0;
}

static bool run(const struct way *w, int nr)
{
	int err, status;
	pid_t child;

	memset(shm, 0, sizeof(*shm));
	why[0] = '\0';
	fflush(stdout);
	child = fork();
	if (!child) {
		alarm(LONG_S);
		err = serve(w);
		memcpy(shm->why, why, sizeof(why));
		_exit(!!err);
	}
	err = client(w, child);
	if (err)
		kill(child, SIGTERM);
	waitpid(child, &status, 0);
	if (!err && !status) {
		printf("ok %d - %s\n", nr, w->name);
		return true;
	}
	printf("not ok %d - %s\n# connecting end: %s; the other one: %s (%x)\n",
	       nr, w->name, err ? why : "fine", shm->why[0] ? shm->why : "fine",
	       status);
	return false;
}

int main(int argc, char **argv)
{
	const char *only = NULL;
	bool good = true;
	unsigned int i;
	int c, nr = 0;

	while ((c = getopt(argc, argv, "n:B:F:w:p:")) > 0) {
		if (c == 'n')
			netns = optarg;
		else if (c == 'B')
			buffers = atoi(optarg);
		else if (c == 'F')
			flow = atoi(optarg);
		else if (c == 'w')
			only = optarg;
		else if (c == 'p')
			address.sin_port = htons(atoi(optarg));
		else
			return 2;
	}
	if (argc - optind != 1 ||
	    inet_pton(AF_INET, argv[optind], &address.sin_addr) != 1)
		return 2;
	address.sin_family = AF_INET;
	shm = mmap(NULL, sizeof(*shm), PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shm == MAP_FAILED)
		return 2;
	for (i = 0; i < COUNT(ways); i++) {
		if (only ? strcmp(only, ways[i].name) : ways[i].named)
			continue;
		alarm(LONG_S);
		good &= run(&ways[i], ++nr);
	}
	return !good;
}
