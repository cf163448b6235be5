// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * hyb-failnth: does something again and again, and each time another allocation
 * of the kernel on its behalf fails: the first, the second, and so on, until
 * all have had their turn. It may fail, with an errno, or succeed; it must not
 * hang, and work when nothing fails. Prints TAP. Leftovers and warnings are checked
 * elsewhere.
 *
 *   hyb-failnth verbs ADDRESS PORT	connection, Sends, Write, Read, teardown
 *   hyb-failnth accept ADDRESS PORT	the same, for the listening side
 *   hyb-failnth sdp ADDRESS PORT	the same with a socket, to an echo server
 *   hyb-failnth zcopy ADDRESS PORT	the same without copies, to "sdp-zcopy serve"
 *   hyb-failnth calls ADDRESS PORT	a listener and its client, at any port
 *   hyb-failnth refer|rxmap ADDRESS PORT	pages sent by reference, or mapped
 *   hyb-failnth fallback ADDRESS PORT	to an echo server of TCP
 *   hyb-failnth add NAME NETDEV	a hybrid device is made and goes
 *   hyb-failnth pair NAME PEER	so does a pair of net devices of kind hnic
 *   hyb-failnth under NAME NETDEV	a pair goes, with a hybrid device on it
 *
 * With a number after that, as many times, and nothing fails on its behalf; with a
 * number N after a slash, every N-th allocation fails, from one by chance on.
 * Copies from and to user space fail, too, if the kernel is made for it.
 *
 * Exit status 4: this kernel cannot let allocations fail.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <linux/sdp.h>

#include "../lib/net.h"
#include "failnth.h"

#define SIZE 20000
#define HANGS 60 /* seconds */
#define LIMIT 30000 /* allocations; there are never that many */

static const char *host, *port;
static int tests, failures;

static void result(bool ok, const char *what)
{
	failures += !ok;
	printf("%sok %d - %s\n", ok ? "" : "not ", ++tests, what);
	fflush(stdout);
}

/* ---------------------------------------------------------------- injection */

static int nth_fd = -1;

static int nth_open(void)
{
	nth_fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	return nth_fd;
}

void nth_set(int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", n);

	/* the copy of this text may have been the one to fail */
	if (pwrite(nth_fd, text, len, 0) != len &&
	    pwrite(nth_fd, text, len, 0) != len)
		abort();
}

/* 0: it has failed; to tell is a copy that can fail, when 1 is left */
int nth_get(void)
{
	char text[16] = "";

	return pread(nth_fd, text, sizeof(text) - 1, 0) < 1 ? 1 : atoi(text);
}

/* -------------------------------------------------------------------- socket */

static int echo(int fd)
{
	static char out[SIZE], in[SIZE];
	ssize_t n, got;

	memset(out, 'e', sizeof(out));
	for (got = 0; got < SIZE; got += n) {
		n = send(fd, out + got, SIZE - got, MSG_NOSIGNAL);
		if (n <= 0)
			return errno;
	}
	for (got = 0; got < SIZE; got += n) {
		n = recv(fd, in + got, SIZE - got, 0);
		if (n <= 0)
			return n ? errno : ECONNRESET;
	}
	return memcmp(in, out, SIZE) ? WRONG : 0;
}

/*
 * connect() has ENOBUFS for a lack of memory. Where the socket continues with TCP, the error
 * is that of TCP's connect(), which has ENOMEM if the table of its ports finds none.
 */
static int connect_error(int fd)
{
	int err = errno, protocol = 0;
	socklen_t len = sizeof(protocol);

	getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len);
	if (err != ENOMEM || protocol == IPPROTO_TCP)
		return err;
	printf("# connect() says ENOMEM\n");
	return WRONG;
}

static int fallback; /* of the sockets */

/* Connects, and has @talk do the rest; returns 0, an errno, or WRONG */
static int with_socket(int nth, int (*talk)(int fd))
{
	struct sockaddr_in sa;
	struct timeval patience = { .tv_sec = HANGS / 2 };
	int fd, err;

	net_address4(&sa, host, port);
	nth_set(nth);
	fd = socket(AF_SDP, SOCK_STREAM, 0);
	if (fd < 0)
		return errno;
	setsockopt(fd, SOL_SDP, SDP_FALLBACK, &fallback, sizeof(fallback));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)))
		err = connect_error(fd);
	else
		err = talk(fd);
	close(fd);
	return err;
}

static int do_sdp(int nth)
{
	return with_socket(nth, echo);
}

static int do_zcopy(int nth)
{
	zcopy_ready();
	return with_socket(nth, zcopy_talk);
}

static int do_refer(int nth)
{
	sock_ready();
	return with_socket(nth, refer_talk);
}

static int do_rxmap(int nth)
{
	sock_ready();
	return with_socket(nth, rxmap_talk);
}

static int do_fallback(int nth)
{
	fallback = SDP_FALLBACK_TCP;
	return with_socket(nth, echo);
}

static int do_calls(int nth)
{
	return calls_run(host, nth);
}

/* --------------------------------------------------------------------- verbs */

/* One end; its buffer has room for the data received after the data sent */
struct end {
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	char *buf;
};

static struct rdma_cm_id *listener;

static struct ibv_qp_init_attr attributes(void)
{
	return (struct ibv_qp_init_attr){
		.cap = { .max_send_wr = 8,
			 .max_recv_wr = 8,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
}

static int end_up(struct end *e)
{
	e->buf = calloc(2, SIZE);
	if (!e->buf)
		return errno;
	e->mr = ibv_reg_mr(e->id->pd, e->buf, 2 * SIZE,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ);
	if (!e->mr || rdma_post_recv(e->id, NULL, e->buf + SIZE, SIZE, e->mr))
		return errno;
	return 0;
}

static void end_down(struct end *e)
{
	if (e->id->qp)
		rdma_destroy_qp(e->id);
	if (e->mr)
		ibv_dereg_mr(e->mr);
	rdma_destroy_id(e->id);
	free(e->buf);
}

/* The next completion, which must be good */
static int done(struct ibv_cq *cq)
{
	int i, err = ETIMEDOUT;
	struct ibv_wc wc;

	for (i = 0; i < 10000 && err == ETIMEDOUT; i++) {
		if (ibv_poll_cq(cq, 1, &wc) > 0)
			err = wc.status ? EIO : 0;
		else
			usleep(1000);
	}
	return err;
}

/* Contents of a Send: where the sender's memory is */
struct where {
	uint64_t addr;
	uint32_t rkey;
};

static int tell(struct end *e)
{
	struct where w = { (uintptr_t)e->buf, e->mr->rkey };

	memcpy(e->buf, &w, sizeof(w));
	if (rdma_post_send(e->id, NULL, e->buf, SIZE, e->mr, 0))
		return errno;
	return done(e->id->send_cq);
}

static int write_and_read(struct end *e)
{
	struct where w;
	int err;

	memcpy(&w, e->buf + SIZE, sizeof(w));
	memset(e->buf, 'w', SIZE);
	if (rdma_post_write(e->id, NULL, e->buf, SIZE, e->mr, 0, w.addr,
			    w.rkey))
		return errno;
	err = done(e->id->send_cq);
	if (err)
		return err;
	if (rdma_post_read(e->id, NULL, e->buf + SIZE, SIZE, e->mr, 0, w.addr,
			   w.rkey))
		return errno;
	err = done(e->id->send_cq);
	if (err)
		return err;
	return memcmp(e->buf, e->buf + SIZE, SIZE) ? WRONG : 0;
}

/* Connects, Send, Write, Read; @over, if there is one, is set when it has all data */
static int as_client(int nth, int *over)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *res;
	struct rdma_conn_param param = { .responder_resources = 1,
					 .initiator_depth = 1 };
	struct ibv_qp_init_attr attr = attributes();
	struct end e = {};
	int err;

	if (rdma_getaddrinfo(host, port, &hints, &res))
		return errno;
	if (nth)
		nth_set(nth);
	err = rdma_create_ep(&e.id, res, NULL, &attr) ? errno : 0;
	rdma_freeaddrinfo(res);
	if (err)
		return err;
	err = end_up(&e);
	if (!err && rdma_connect(e.id, &param))
		err = errno;
	if (!err)
		err = tell(&e);
	if (!err)
		err = done(e.id->recv_cq);
	if (!err)
		err = write_and_read(&e);
	if (over && (!err || err == WRONG))
		__atomic_store_n(over, err ? WRONG : 1, __ATOMIC_RELEASE);
	end_down(&e);
	return err;
}

static int do_verbs(int nth)
{
	return as_client(nth, NULL);
}

static int serve_on(struct end *e)
{
	int err;

	if (rdma_accept(e->id, NULL))
		return errno;
	err = done(e->id->recv_cq);
	if (err)
		return err;
	if (rdma_post_recv(e->id, NULL, e->buf + SIZE, SIZE, e->mr))
		return errno;
	return tell(e);
}

/* The peer: nothing fails here, as a rule, but for what the other end does */
static int serve(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = attributes();
	struct end e = { .id = id };
	int err;

	if (rdma_create_qp(id, NULL, &attr) || end_up(&e)) {
		err = errno;
		rdma_reject(id, NULL, 0);
	} else {
		err = serve_on(&e);
		if (!err)
			done(id->recv_cq); /* the end, an error */
	}
	end_down(&e);
	return err;
}

static int serve_next(void)
{
	struct rdma_cm_id *id;

	return rdma_get_request(listener, &id) ? errno : serve(id);
}

/* Connects until it is served; @arg: for the server to know that by */
static void *client(void *arg)
{
	int *over = arg;

	while (as_client(0, over) && !*over)
		;
	return arg;
}

/* The client is served in the end, when nothing fails any more */
static int do_accept(int nth)
{
	int over = 0, err, left;
	pthread_t thread;

	if (pthread_create(&thread, NULL, client, &over))
		return errno;
	nth_set(nth);
	err = serve_next();
	left = nth_get();
	nth_set(0);
	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE))
		serve_next();
	pthread_join(thread, NULL);
	nth_set(left);
	return over == WRONG ? WRONG : err;
}

static void *server(void *arg)
{
	struct rdma_cm_id *id;

	while (!rdma_get_request(listener, &id))
		serve(id);
	perror("hyb-failnth: server");
	return arg;
}

static bool listens(void)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP,
				       .ai_flags = RAI_PASSIVE },
			     *res;
	bool ok;

	if (rdma_getaddrinfo(host, port, &hints, &res))
		return false;
	ok = !rdma_create_ep(&listener, res, NULL, NULL);
	rdma_freeaddrinfo(res);
	if (ok && rdma_listen(listener, 16)) {
		rdma_destroy_ep(listener);
		ok = false;
	}
	return ok;
}

/* Allocations may fail at random here already; @serves: not by do_accept() */
static bool start_server(bool serves)
{
	pthread_t thread;
	int tries;

	for (tries = 0; tries < 20; tries++)
		if (listens())
			return !serves ||
			       !pthread_create(&thread, NULL, server, NULL);
	return false;
}

/* Is there a listener where it is needed? */
static bool ready(const char *what)
{
	if (!strcmp(what, "verbs") || !strcmp(what, "accept"))
		return start_server(what[0] == 'v');
	return true;
}

/* ---------------------------------------------------------------------- main */

static int do_add(int nth)
{
	return link_add(host, port, nth);
}

static int do_pair(int nth)
{
	return link_pair(host, port, nth);
}

static int do_under(int nth)
{
	return link_under(host, port, nth);
}

static const struct {
	const char *name;
	int (*run)(int nth);
} things[] = {
	{ "verbs", do_verbs }, { "accept", do_accept },
	{ "sdp", do_sdp },     { "zcopy", do_zcopy },
	{ "refer", do_refer }, { "rxmap", do_rxmap },
	{ "add", do_add },     { "fallback", do_fallback },
	{ "pair", do_pair },   { "under", do_under },
	{ "calls", do_calls },
};

static int (*thing)(int nth);

static bool find_thing(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(things) / sizeof(things[0]); i++)
		if (!strcmp(name, things[i].name))
			thing = things[i].run;
	return thing;
}

static int run_once(int *nth)
{
	int err;

	alarm(HANGS);
	err = thing(*nth);
	*nth = nth_get();
	nth_set(0);
	alarm(0);
	return err;
}

/* Each of the allocations fails once, or one of @step */
static void each(int step)
{
	int n, nth, err, runs = 0, failed = 0, wrong = 0;
	char text[200];

	for (n = 1 + getpid() % step; n < LIMIT; n += step, runs++) {
		nth = n;
		err = run_once(&nth);
		if (nth)
			break;
		failed += !!err;
		wrong += err == WRONG;
		if (err == WRONG)
			printf("# wrong when allocation %d fails\n", n);
		if (!(runs % 100))
			printf("# allocation %d\n", n);
		fflush(stdout);
	}
	snprintf(
		text, sizeof(text),
		"%d of %d allocations failed once, %d times what they were for",
		runs, n - step, failed);
	result(runs && n < LIMIT, text);
	result(!wrong, "no data were wrong, nothing was left");
}

/* Another program makes some fail */
static void repeat(int count)
{
	int i, nth, err, last = 0, failed = 0, wrong = 0;
	char text[200];

	for (i = 0; i < count; i++) {
		nth = 0;
		err = run_once(&nth);
		failed += !!err;
		wrong += err == WRONG;
		if (err && err != WRONG)
			last = err;
	}
	if (last)
		printf("# the last error: %s\n", strerror(last));
	snprintf(text, sizeof(text), "%d of %d times it was successful",
		 count - failed, count);
	result(failed < count, text);
	result(!wrong, "no data were wrong");
}

static void hangs(int sig)
{
	static const char text[] = "not ok 1 - it hangs\n";

	(void)sig;
	_exit(write(1, text, sizeof(text) - 1) < 0 ? 3 : 1);
}

int main(int argc, char **argv)
{
	int nth = 0;

	if (argc == 5 && atoi(argv[4] + (argv[4][0] == '/')) < 1)
		return 2;
	if (nth_open() < 0) {
		puts("1..0 # SKIP allocations cannot fail here");
		return 4;
	}
	if (argc < 4 || argc > 5 || !find_thing(argv[1])) {
		fputs("usage: hyb-failnth verbs|accept|sdp|zcopy|calls ADDRESS PORT\n"
		      "                   [TIMES | /STEP]\n"
		      "       hyb-failnth add|pair|under NAME NAME [TIMES | /STEP]\n",
		      stderr);
		return 2;
	}
	signal(SIGALRM, hangs);
	host = argv[2];
	port = argv[3];
	if (!ready(argv[1])) {
		perror("hyb-failnth: listen");
		return 2;
	}
	if (argc == 5 && argv[4][0] != '/') {
		repeat(atoi(argv[4]));
	} else {
		result(!run_once(&nth), "works before");
		each(argc == 5 ? atoi(argv[4] + 1) : 1);
		result(!run_once(&nth), "works afterwards");
	}
	printf("1..%d\n", tests);
	return failures != 0;
}
