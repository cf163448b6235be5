// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdp-uring: both ends of a connection driven by io_uring, without its library.
 * Prints what comes back, for a comparison of transports.
 *
 *	sdp-uring serve ADDRESS PORT	takes two connections, one after the other,
 *					echoes until their ends
 *	sdp-uring ADDRESS PORT
 *	sdp-uring usage ADDRESS PORT	whether memory was copied
 */
#include <errno.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../lib/net.h"

#ifndef IORING_NOTIF_USAGE_ZC_COPIED
#define IORING_SEND_ZC_REPORT_USAGE (1U << 3)
#define IORING_NOTIF_USAGE_ZC_COPIED (1U << 31)
#endif

#define ENTRIES 8
#define PIECE 20000
#define GROUP 7 /* of buffers that receives choose from */
#define BUFFERS 4
#define BUFFER 1000

static struct {
	int fd;
	_Atomic unsigned int *sq_tail, *cq_head, *cq_tail;
	unsigned int *sq_array, sq_mask, cq_mask;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe *cqe;
} ring;

/* A completion */
struct done {
	uint64_t user_data;
	int res;
	unsigned int flags;
};

static unsigned char out[PIECE], in[PIECE];

static void *map(size_t len, off_t off)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_POPULATE, ring.fd, off);

	if (p == MAP_FAILED)
		net_fail("mmap");
	return p;
}

static void open_ring(void)
{
	struct io_uring_params p = { 0 };
	char *sq, *cq;

	ring.fd = syscall(SYS_io_uring_setup, ENTRIES, &p);
	if (ring.fd < 0)
		net_fail("io_uring_setup");
	sq = map(p.sq_off.array + p.sq_entries * 4, IORING_OFF_SQ_RING);
	cq = map(p.cq_off.cqes + p.cq_entries * sizeof(*ring.cqe),
		 IORING_OFF_CQ_RING);
	ring.sqe = map(p.sq_entries * sizeof(*ring.sqe), IORING_OFF_SQES);
	ring.sq_tail = (void *)(sq + p.sq_off.tail);
	ring.sq_mask = *(unsigned int *)(sq + p.sq_off.ring_mask);
	ring.sq_array = (void *)(sq + p.sq_off.array);
	ring.cq_head = (void *)(cq + p.cq_off.head);
	ring.cq_tail = (void *)(cq + p.cq_off.tail);
	ring.cq_mask = *(unsigned int *)(cq + p.cq_off.ring_mask);
	ring.cqe = (void *)(cq + p.cq_off.cqes);
}

static void submit(const struct io_uring_sqe *sqe)
{
	unsigned int tail = atomic_load(ring.sq_tail), i = tail & ring.sq_mask;

	ring.sqe[i] = *sqe;
	ring.sq_array[i] = i;
	atomic_store(ring.sq_tail, tail + 1);
	if (syscall(SYS_io_uring_enter, ring.fd, 1, 0, 0, NULL, 0) != 1)
		net_fail("io_uring_enter");
}

static struct done reap(void)
{
	unsigned int head = atomic_load(ring.cq_head);
	const struct io_uring_cqe *cqe;
	struct done done;

	while (head == atomic_load(ring.cq_tail))
		if (syscall(SYS_io_uring_enter, ring.fd, 0, 1,
			    IORING_ENTER_GETEVENTS, NULL, 0) < 0 &&
		    errno != EINTR)
			net_fail("io_uring_enter");
	cqe = &ring.cqe[head & ring.cq_mask];
	done = (struct done){ cqe->user_data, cqe->res, cqe->flags };
	atomic_store(ring.cq_head, head + 1);
	return done;
}

static struct io_uring_sqe request(int op, int fd, const void *buf,
				   uint32_t len)
{
	return (struct io_uring_sqe){ .opcode = op,
				      .fd = fd,
				      .addr = (uintptr_t)buf,
				      .len = len,
				      .user_data = op };
}

static int run(int op, int fd, const void *buf, uint32_t len, uint64_t off)
{
	struct io_uring_sqe sqe = request(op, fd, buf, len);

	sqe.off = off;
	submit(&sqe);
	return reap().res;
}

static void echo(int fd)
{
	int n, k;

	while ((n = run(IORING_OP_RECV, fd, in, sizeof(in), 0)) > 0) {
		for (int done = 0; done < n; done += k) {
			k = run(IORING_OP_SEND, fd, in + done, n - done, 0);
			if (k <= 0)
				exit(1);
		}
	}
	printf("end %d\n", n);
	close(fd);
}

static void serve(int fd, const struct sockaddr_in *a)
{
	struct io_uring_sqe sqe = request(IORING_OP_ACCEPT, fd, NULL, 0);
	struct done cqe;

	net_listen4(fd, a, 5);
	sqe.ioprio = IORING_ACCEPT_MULTISHOT;
	submit(&sqe);
	for (int i = 0; i < 2; i++) {
		cqe = reap();
		printf("accept %s more %d\n",
		       cqe.res < 0 ? strerror(-cqe.res) : "ok",
		       !!(cqe.flags & IORING_CQE_F_MORE));
		echo(cqe.res);
	}
	printf("over\n");
}

static void cancel_receive(void)
{
	struct io_uring_sqe sqe = request(IORING_OP_ASYNC_CANCEL, -1, NULL, 0);
	struct done cqe;

	sqe.addr = IORING_OP_RECV;
	submit(&sqe);
	for (int i = 0; i < 2; i++) {
		cqe = reap();
		printf("%s %d more %d\n",
		       cqe.user_data == IORING_OP_RECV ? "recv" : "cancel",
		       cqe.res, !!(cqe.flags & IORING_CQE_F_MORE));
	}
}

/* All of an echo: whole, though it comes in pieces */
static void echoed(int fd)
{
	struct io_uring_sqe sqe = request(IORING_OP_RECV, fd, in, PIECE);
	int n;

	sqe.msg_flags = MSG_WAITALL;
	memset(in, 0, PIECE);
	submit(&sqe);
	n = reap().res;
	printf("recv %d %s\n", n,
	       memcmp(in, out, PIECE) ? "differs" : "is right");
}

/* The same, in two parts and with RECVMSG */
static void echoed_message(int fd)
{
	struct iovec iov[2] = { { in, 9 }, { in + 9, PIECE - 9 } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	struct io_uring_sqe sqe = request(IORING_OP_RECVMSG, fd, &msg, 1);
	int n;

	sqe.msg_flags = MSG_WAITALL;
	memset(in, 0, PIECE);
	submit(&sqe);
	n = reap().res;
	printf("recvmsg %d %s flags %d\n", n,
	       memcmp(in, out, PIECE) ? "differs" : "is right", msg.msg_flags);
}

/* A receive that goes on, each time into another buffer, until it is cancelled */
static void receive_on(int fd)
{
	struct io_uring_sqe sqe =
		request(IORING_OP_PROVIDE_BUFFERS, BUFFERS, in, BUFFER);
	struct done cqe;

	sqe.buf_group = GROUP;
	submit(&sqe);
	printf("buffers %d\n", reap().res);
	sqe = request(IORING_OP_RECV, fd, NULL, 0);
	sqe.ioprio = IORING_RECV_MULTISHOT;
	sqe.flags = IOSQE_BUFFER_SELECT;
	sqe.buf_group = GROUP;
	submit(&sqe);
	for (int i = 1; i < BUFFERS; i++) {
		const unsigned char *buf;

		printf("send %d\n", run(IORING_OP_SEND, fd, out, 10 * i, 0));
		cqe = reap();
		buf = in + BUFFER * (cqe.flags >> IORING_CQE_BUFFER_SHIFT);
		printf("recv %d more %d %s\n", cqe.res,
		       !!(cqe.flags & IORING_CQE_F_MORE),
		       cqe.res != 10 * i || memcmp(buf, out, 10 * i) ?
			       "differs" :
			       "is right");
	}
	cancel_receive();
}

/* The result, and after it the notification, F_MORE promises it */
static void send_zc(int fd)
{
	struct io_uring_sqe sqe = request(IORING_OP_SEND_ZC, fd, out, PIECE);
	struct done cqe;

	sqe.msg_flags = MSG_WAITALL;
	submit(&sqe);
	cqe = reap();
	printf("send_zc %d more %d\n", cqe.res,
	       !!(cqe.flags & IORING_CQE_F_MORE));
	if (!(cqe.flags & IORING_CQE_F_MORE))
		return;
	cqe = reap();
	printf("notified %d\n", !!(cqe.flags & IORING_CQE_F_NOTIF));
}

/* The report of the notification about copies */
static void usage_of(int fd, const char *memory, int flags)
{
	struct io_uring_sqe sqe = request(IORING_OP_SEND_ZC, fd, out, PIECE);
	struct done cqe;

	sqe.ioprio = IORING_SEND_ZC_REPORT_USAGE | flags;
	sqe.msg_flags = MSG_WAITALL;
	submit(&sqe);
	cqe = reap();
	if (cqe.res != PIECE || !(cqe.flags & IORING_CQE_F_MORE)) {
		printf("send_zc %d more 0\n", cqe.res);
		exit(1);
	}
	cqe = reap();
	printf("%s: copied %d\n", memory,
	       !!((unsigned int)cqe.res & IORING_NOTIF_USAGE_ZC_COPIED));
	echoed(fd);
}

static void usage(int fd, const struct sockaddr_in *a)
{
	struct iovec iov = { out, PIECE };

	for (int i = 0; i < PIECE; i++)
		out[i] = i * 11;
	if (connect(fd, (const struct sockaddr *)a, sizeof(*a)))
		net_fail("connect");
	usage_of(fd, "own", 0);
	if (syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_BUFFERS,
		    &iov, 1))
		net_fail("register");
	usage_of(fd, "registered", IORING_RECVSEND_FIXED_BUF);
}

/* Has nothing come back though there was time for it? */
static bool silent(void)
{
	usleep(50000);
	return atomic_load(ring.cq_head) == atomic_load(ring.cq_tail);
}

static void poll_add(int fd, int events)
{
	struct io_uring_sqe sqe = request(IORING_OP_POLL_ADD, fd, NULL, 0);

	sqe.poll32_events = events;
	submit(&sqe);
}

/* A poll that waits for SO_RCVLOWAT: echoes of 4 bytes, then of one more */
static void low_water(int fd)
{
	int low = 5, have = 0;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &low, sizeof(low)) ||
	    send(fd, out, 4, 0) != 4)
		net_fail("SO_RCVLOWAT");
	poll_add(fd, POLLIN);
	while (have < 4)
		if (ioctl(fd, FIONREAD, &have))
			net_fail("FIONREAD");
	printf("4 of 5: %s\n", silent() ? "waits" : "ready");
	if (send(fd, out, 1, 0) != 1)
		net_fail("send");
	printf("5 of 5: poll %d\n", reap().res & POLLIN);
	low = 1;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &low, sizeof(low)) ||
	    recv(fd, in, 5, MSG_WAITALL) != 5)
		net_fail("recv");
}

/* After a receive: may the next one be tried at once? */
static void more_to_come(int fd)
{
	static const int sizes[] = { 4, 6 };
	struct io_uring_sqe sqe;
	struct done cqe;
	int have = 0;

	if (send(fd, out, 10, 0) != 10)
		net_fail("send");
	while (have < 10)
		if (ioctl(fd, FIONREAD, &have))
			net_fail("FIONREAD");
	for (int i = 0; i < 2; i++) {
		sqe = request(IORING_OP_RECV, fd, in, sizes[i]);
		submit(&sqe);
		cqe = reap();
		printf("recv %d: %s\n", cqe.res,
		       cqe.flags & IORING_CQE_F_SOCK_NONEMPTY ?
			       "there is more" :
			       "that was all");
	}
}

/*
 * A poll that waits for TCP_NOTSENT_LOWAT, since the peer does not read while its
 * echo is not read
 */
static void not_sent(int fd)
{
	size_t sent = 0, got = 0;
	int mark = 16384, quiet = 0;
	ssize_t n;

	if (setsockopt(fd, SOL_TCP, TCP_NOTSENT_LOWAT, &mark, sizeof(mark)))
		net_fail("TCP_NOTSENT_LOWAT");
	while (quiet < 100) {
		n = send(fd, out, 5000, MSG_DONTWAIT);
		sent += n > 0 ? n : 0;
		quiet = n > 0 ? 0 : quiet + 1;
		if (n < 0)
			usleep(2000);
	}
	poll_add(fd, POLLOUT);
	printf("not sent: %s\n", silent() ? "waits" : "ready");
	while (got < sent) {
		n = recv(fd, in, sizeof(in), 0);
		if (n <= 0)
			net_fail("recv");
		got += n;
	}
	printf("sent: poll %d\n", reap().res & POLLOUT);
}

static void client(int fd, const struct sockaddr_in *a)
{
	struct iovec iov[2] = { { out, 7 }, { out + 7, PIECE - 7 } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	struct io_uring_sqe sqe;
	struct done cqe;

	for (int i = 0; i < PIECE; i++)
		out[i] = i * 11;
	printf("connect %d\n", run(IORING_OP_CONNECT, fd, a, 0, sizeof(*a)));
	printf("send %d\n", run(IORING_OP_SEND, fd, out, PIECE, 0));
	echoed(fd);
	printf("sendmsg %d\n", run(IORING_OP_SENDMSG, fd, &msg, 1, 0));
	echoed_message(fd);
	send_zc(fd);
	echoed(fd);
	/* a poll and a receive that wait, until there is something */
	poll_add(fd, POLLIN);
	printf("send %d\n", run(IORING_OP_SEND, fd, out, 1, 0));
	cqe = reap();
	printf("poll %d\n", cqe.res & POLLIN);
	printf("read %d\n", run(IORING_OP_READ, fd, in, PIECE, -1ull));
	low_water(fd);
	more_to_come(fd);
	not_sent(fd);
	sqe = request(IORING_OP_RECV, fd, in, PIECE);
	submit(&sqe);
	cancel_receive();
	receive_on(fd);
	printf("shutdown %d\n", run(IORING_OP_SHUTDOWN, fd, NULL, SHUT_WR, 0));
	printf("recv %d\n", run(IORING_OP_RECV, fd, in, PIECE, 0));
	printf("close %d\n", run(IORING_OP_CLOSE, fd, NULL, 0, 0));
}

/* Once more, to the listener whose accept goes on */
static void client_again(int fd, const struct sockaddr_in *a)
{
	printf("connect %d\n", run(IORING_OP_CONNECT, fd, a, 0, sizeof(*a)));
	printf("send %d\n", run(IORING_OP_SEND, fd, out, PIECE, 0));
	echoed(fd);
	close(fd);
}

int main(int argc, char **argv)
{
	struct sockaddr_in a;
	int server = argc == 4 && !strcmp(argv[1], "serve");
	int asks = argc == 4 && !strcmp(argv[1], "usage");
	int fd;

	if (argc != 3 + server + asks)
		return 2;
	argv += server + asks;
	net_address4(&a, argv[1], argv[2]);
	open_ring();
	fd = net_socket(AF_INET);
	if (server) {
		serve(fd, &a);
	} else if (asks) {
		usage(fd, &a);
	} else {
		client(fd, &a);
		client_again(net_socket(AF_INET), &a);
	}
	return 0;
}
