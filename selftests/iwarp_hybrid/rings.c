// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * hyb-rings: a program that writes what it likes into the rings which it shares
 * with the driver, below its verbs library. Connects to hyb-target.
 *
 *   hyb-rings -h ADDRESS [-p PORT] [-n ROUNDS] [-r SEED]
 *   hyb-rings -h ADDRESS [-p PORT] -q COUNT
 *   hyb-rings -h ADDRESS [-p PORT] -l
 *
 * First requests with one thing wrong each, which must complete with the right
 * error; then inline data as the library posts them, a process that wants to
 * connect another one's queue pair, posts to a queue pair that fails, calls that it
 * should not make (rings_calls.c), and ROUNDS connections whose rings are filled at
 * random. Prints TAP.
 *
 * Or as many queue pairs with long queues, kept until the standard input ends.
 *
 * Or a connection whose peer sends a message; there is a receive for it only after a
 * line of the standard input, and an end when that ends.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_verbs.h>

#include "rings.h"
#include "target.h"

/* Of those that are only kept */
#define LONG_WR 4096
#define MAX_KEPT 16

#define KERNEL_ADDRESS 0xffff888000100000ULL

/* Posts while a queue pair fails; the completion queue takes all that are outstanding */
#define FLUSH_CQE 16384
#define FLUSH_OUTSTANDING 8192
#define FLUSH_ROUNDS 20

/* More pieces than a request has elements */
#define MAX_PIECES 7
#define PIECE 5

static const char *host = "10.0.0.2";
static const char *port = "7900";
static int tests, failures;

void result(bool ok, const char *what)
{
	failures += !ok;
	printf("%sok %d - %s\n", ok ? "" : "not ", ++tests, what);
	fflush(stdout);
}

void skipped(const char *what, const char *why)
{
	printf("ok %d - %s # SKIP %s\n", ++tests, what, why);
	fflush(stdout);
}

/* The driver's mappings, by their size in pages; the last one of a size counts */
static void find_rings(struct conn *c)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end, pages;
	char line[512];

	memset(c->ring, 0, sizeof(c->ring));
	while (maps && fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "/uverbs") ||
		    sscanf(line, "%lx-%lx", &start, &end) != 2)
			continue;
		pages = (end - start) / getpagesize();
		if (pages < MAX_PAGES)
			c->ring[pages] = (unsigned char *)start;
	}
	if (maps)
		fclose(maps);
}

void disconnect(struct conn *c)
{
	if (c->mr)
		rdma_dereg_mr(c->mr);
	if (c->id)
		rdma_destroy_ep(c->id);
	memset(c, 0, sizeof(*c));
}

const struct rdma_conn_param conn_param = {
	.responder_resources = 4,
	.initiator_depth = 4,
};

struct rdma_cm_id *open_id(struct ibv_qp_init_attr *attr)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *res;
	struct rdma_cm_id *id;
	int err;

	if (rdma_getaddrinfo(host, port, &hints, &res))
		return NULL;
	err = rdma_create_ep(&id, res, NULL, attr);
	rdma_freeaddrinfo(res);
	return err ? NULL : id;
}

static struct rdma_cm_id *open_qp(unsigned int send_wr, unsigned int recv_wr)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = send_wr,
			 .max_recv_wr = recv_wr,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};

	return open_id(&attr);
}

int open_conn(struct conn *c)
{
	memset(c, 0, sizeof(*c));
	c->id = open_qp(SEND_WR, RECV_WR);
	return c->id ? 0 : -1;
}

int connect_to_target(struct conn *c)
{
	struct rdma_conn_param param = conn_param;

	if (open_conn(c))
		return -1;
	c->mr = rdma_reg_msgs(c->id, c->buf, sizeof(c->buf));
	if (!c->mr || rdma_connect(c->id, &param)) {
		disconnect(c);
		return -1;
	}
	find_rings(c);
	if (c->ring[SQ_PAGES] && c->ring[RQ_PAGES] && c->ring[SEND_CQ_PAGES] &&
	    c->ring[RECV_CQ_PAGES])
		return 0;
	disconnect(c);
	return -1;
}

void doorbell(struct conn *c)
{
	struct ib_uverbs_post_send_resp resp;
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_post_send cmd;
	} req = {
		.hdr = { .command = IB_USER_VERBS_CMD_POST_SEND,
			 .in_words = sizeof(req) / 4,
			 .out_words = sizeof(resp) / 4 },
		.cmd = { .response = (uintptr_t)&resp,
			 .qp_handle = c->id->qp->handle,
			 .wqe_size = sizeof(struct ib_uverbs_send_wr) },
	};

	if (write(c->id->verbs->cmd_fd, &req, sizeof(req)) < 0)
		return;
}

/* Status of the first completion within three seconds, -1 if there is none */
static int completion(struct conn *c)
{
	struct timespec ms = { .tv_nsec = 1000000 };
	struct ibv_wc wc;
	int i;

	for (i = 0; i < 3000; i++) {
		if (ibv_poll_cq(c->id->send_cq, 1, &wc) > 0)
			return wc.status;
		nanosleep(&ms, NULL);
	}
	return -1;
}

struct bad_request {
	const char *what;
	enum ibv_wc_status status;
	uint8_t opcode, num_sge;
	uint16_t flags;
	uint64_t laddr; /* 0: a good one */
	uint32_t length, lkey; /* lkey 1: a good one */
};

#define SEND SIW_OP_SEND
#define OP_ERR IBV_WC_LOC_QP_OP_ERR
#define PROT IBV_WC_LOC_PROT_ERR
static const struct bad_request bad_requests[] = {
	{ "a good request succeeds", IBV_WC_SUCCESS, SEND, 1, 0, 0, 8, 1 },
	{ "kernel address, key 0", PROT, SEND, 1, 0, KERNEL_ADDRESS, 64, 0 },
	{ "own address, key 0", PROT, SEND, 1, 0, 0, 64, 0 },
	{ "unknown key", PROT, SEND, 1, 0, 0, 64, 0x12345678 },
	{ "kernel address, own key", PROT, SEND, 1, 0, KERNEL_ADDRESS, 64, 1 },
	{ "longer than the region", PROT, SEND, 1, 0, 0, MESSAGE + 1, 1 },
	{ "longer than a message can be", OP_ERR, SEND, 1, 0, 0, ~0U, 1 },
	{ "255 scatter elements", OP_ERR, SEND, 255, 0, 0, 8, 1 },
	{ "inline, 4 GB", OP_ERR, SEND, 1, SIW_WQE_INLINE, 0, ~0U, 1 },
	{ "inline, number of elements does not matter", IBV_WC_SUCCESS, SEND,
	  255, SIW_WQE_INLINE, 0, 8, 1 },
	{ "Read into a kernel address", PROT, SIW_OP_READ, 1, 0, KERNEL_ADDRESS,
	  64, 0 },
	{ "Read into two elements", OP_ERR, SIW_OP_READ, 2, 0, 0, 8, 1 },
	{ "Read Response", OP_ERR, SIW_OP_READ_RESPONSE, 1, 0, 0, 8, 1 },
	{ "registration", OP_ERR, SIW_OP_REG_MR, 0, 0, 0, 0, 1 },
	{ "invalidation", OP_ERR, SIW_OP_INVAL_STAG, 0, 0, 0, 0, 1 },
	{ "Receive as request", OP_ERR, SIW_OP_RECEIVE, 1, 0, 0, 8, 1 },
	{ "opcode 255", OP_ERR, 255, 1, 0, 0, 8, 1 },
};

static void try_bad_request(const struct bad_request *b)
{
	struct siw_sqe *sqe;
	struct conn c;
	int status;

	if (connect_to_target(&c)) {
		result(false, b->what);
		printf("# no connection\n");
		return;
	}
	sqe = (struct siw_sqe *)c.ring[SQ_PAGES];
	sqe->id = 1;
	sqe->opcode = b->opcode;
	sqe->num_sge = b->num_sge;
	sqe->rkey = c.mr->rkey;
	sqe->raddr = (uintptr_t)c.buf;
	sqe->sge[0].laddr = b->laddr ? b->laddr : (uintptr_t)c.buf;
	sqe->sge[0].length = b->length;
	sqe->sge[0].lkey = b->lkey == 1 ? c.mr->lkey : b->lkey;
	__atomic_store_n(&sqe->flags,
			 b->flags | SIW_WQE_VALID | SIW_WQE_SIGNALLED,
			 __ATOMIC_SEQ_CST);
	doorbell(&c);
	status = completion(&c);
	result(status == (int)b->status, b->what);
	if (status != (int)b->status)
		printf("# status %d instead of %d\n", status, b->status);
	disconnect(&c);
}

/* An inline Send of that many pieces: the target sends it back, if it has any */
static bool inline_echo(struct conn *c, int pieces)
{
	unsigned char text[MAX_PIECES][PIECE], *got = c->buf;
	struct ibv_sge sge[MAX_PIECES];
	struct ibv_send_wr wr = { .sg_list = sge,
				  .num_sge = pieces,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_INLINE },
			   *bad;
	struct ibv_wc wc;
	int i;

	for (i = 0; i < pieces; i++) {
		memset(text[i], TARGET_ECHO + i, PIECE);
		sge[i] = (struct ibv_sge){ (uintptr_t)text[i], PIECE, 0 };
	}
	if (rdma_post_recv(c->id, NULL, got, MESSAGE, c->mr) ||
	    ibv_post_send(c->id->qp, &wr, &bad) || completion(c))
		return false;
	if (!pieces)
		return true;
	return rdma_get_recv_comp(c->id, &wc) == 1 &&
	       wc.byte_len == (uint32_t)pieces * PIECE &&
	       !memcmp(got, text, wc.byte_len);
}

static void try_inline(void)
{
	static const int pieces[] = { 1, 2, MAX_PIECES, 0 };
	struct conn c;
	unsigned int i;
	char what[64];

	if (connect_to_target(&c)) {
		result(false, "inline data of the library");
		return;
	}
	for (i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		snprintf(what, sizeof(what), "inline, %d pieces", pieces[i]);
		result(inline_echo(&c, pieces[i]), what);
	}
	disconnect(&c);
}

/* Connects the queue pair whose number it reads, and tells what came of it */
static void thief(int in, int out)
{
	struct rdma_conn_param param = conn_param;
	struct rdma_cm_id *id;
	uint32_t qpn;
	int err;

	if (read(in, &qpn, sizeof(qpn)) != sizeof(qpn))
		_exit(1);
	id = open_id(NULL);
	param.qp_num = qpn;
	err = !id ? -1 : rdma_connect(id, &param) ? errno : 0;
	if (write(out, &err, sizeof(err)) != sizeof(err))
		_exit(1);
	if (read(in, &qpn, sizeof(qpn)))
		_exit(1);
	_exit(0);
}

/* Result of a theft of a queue pair that is not connected yet */
static void try_theft(int out, int in)
{
	struct rdma_conn_param param = conn_param;
	struct conn c;
	int err = -1;

	if (!open_conn(&c) && write(out, &c.id->qp->qp_num, 4) == 4 &&
	    read(in, &err, sizeof(err)) == sizeof(err))
		printf("# error of the other process: %d\n", err);
	result(err == EINVAL, "a queue pair of another process");
	result(c.id && !rdma_connect(c.id, &param),
	       "the owner of a queue pair connects it");
	disconnect(&c);
}

/* ------------------------------------------------ posts to a queue pair that fails */

struct flood {
	struct conn c;
	struct ibv_cq *cq;
	unsigned int posted, completed, doorbells;
	bool stop;
};

static int open_flood(struct flood *f)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = SEND_WR,
			 .max_recv_wr = RECV_WR,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	struct rdma_conn_param param = conn_param;

	memset(f, 0, sizeof(*f));
	f->c.id = open_id(NULL);
	if (!f->c.id)
		return -1;
	f->cq = ibv_create_cq(f->c.id->verbs, FLUSH_CQE, NULL, NULL, 0);
	attr.send_cq = f->cq;
	attr.recv_cq = f->cq;
	if (!f->cq || rdma_create_qp(f->c.id, NULL, &attr) ||
	    rdma_connect(f->c.id, &param))
		return -1;
	find_rings(&f->c);
	return f->c.ring[SQ_PAGES] && f->c.ring[RQ_PAGES] ? 0 : -1;
}

static void close_flood(struct flood *f)
{
	if (f->c.id)
		rdma_destroy_ep(f->c.id);
	if (f->cq)
		ibv_destroy_cq(f->cq);
}

static bool taken(const struct siw_sqe *sqe)
{
	return !(__atomic_load_n(&sqe->flags, __ATOMIC_SEQ_CST) &
		 SIW_WQE_VALID);
}

static struct siw_sqe *flood_entry(struct flood *f, unsigned int i)
{
	return (struct siw_sqe *)f->c.ring[SQ_PAGES] + i % SEND_WR;
}

static void post_one(struct flood *f)
{
	struct siw_sqe *sqe = flood_entry(f, f->posted++);

	sqe->opcode = SIW_OP_SEND;
	sqe->num_sge = 1;
	sqe->sge[0].length = 1;
	__atomic_store_n(&sqe->flags, SIW_WQE_VALID | SIW_WQE_INLINE,
			 __ATOMIC_SEQ_CST);
}

/*
 * Keeps the queue full, and posts as the verbs library does: without a doorbell if the
 * entry before has not been taken
 */
static void *post_flood(void *arg)
{
	struct flood *f = arg;
	unsigned int completed;

	while (!__atomic_load_n(&f->stop, __ATOMIC_SEQ_CST)) {
		completed = __atomic_load_n(&f->completed, __ATOMIC_SEQ_CST);
		if (f->posted - completed >= FLUSH_OUTSTANDING ||
		    !taken(flood_entry(f, f->posted)))
			continue;
		post_one(f);
		if (!taken(flood_entry(f, f->posted - 2)))
			continue;
		f->doorbells++;
		doorbell(&f->c);
	}
	return NULL;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* Takes completions for that long, or until there are @enough; true then */
static bool take_flood(struct flood *f, int ms, unsigned int enough)
{
	int64_t end = now_ms() + ms;
	struct ibv_wc wc[64];
	int n;

	do {
		n = ibv_poll_cq(f->cq, 64, wc);
		if (n > 0)
			__atomic_fetch_add(&f->completed, n, __ATOMIC_SEQ_CST);
		if (f->completed == enough)
			return true;
	} while (now_ms() < end);
	return false;
}

/* A receive for which there is no doorbell */
static void post_receive(struct flood *f)
{
	struct siw_rqe *rqe = (struct siw_rqe *)f->c.ring[RQ_PAGES];

	rqe->num_sge = 0;
	__atomic_store_n(&rqe->flags, SIW_WQE_VALID, __ATOMIC_SEQ_CST);
	f->posted++;
}

/* False if what the program has posted does not complete */
static bool flood(struct flood *f, bool *receive)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct timespec nap = { .tv_nsec = 50000000 };
	pthread_t poster;
	bool ok;

	while (f->posted < SEND_WR)
		post_one(f);
	if (pthread_create(&poster, NULL, post_flood, f))
		return false;
	nanosleep(&nap, NULL);
	ok = !ibv_modify_qp(f->c.id->qp, &attr, IBV_QP_STATE);
	/* the other processor is for the flush */
	nanosleep(&nap, NULL);
	take_flood(f, 100, -1U);
	__atomic_store_n(&f->stop, true, __ATOMIC_SEQ_CST);
	pthread_join(poster, NULL);
	ok = take_flood(f, 3000, f->posted) && ok;
	if (!ok)
		return false;
	post_receive(f);
	*receive = take_flood(f, 3000, f->posted) && *receive;
	return true;
}

static void try_flood(void)
{
	bool ok = true, receive = true;
	struct flood f;
	int i;

	for (i = 0; i < FLUSH_ROUNDS && ok; i++) {
		ok = !open_flood(&f) && flood(&f, &receive);
		printf("# %u posted, %u completed, %u doorbells\n", f.posted,
		       f.completed, f.doorbells);
		close_flood(&f);
	}
	result(ok,
	       "all requests complete that are posted while a queue pair fails");
	result(ok && receive, "a receive posted after that completes");
}

/* Random bytes, but with much that passes the first checks */
static void fill(unsigned char *p, size_t n, const struct conn *c)
{
	const struct siw_sge sge = { (uintptr_t)c->buf, 16, c->mr->lkey };
	struct siw_sqe *sqe = (struct siw_sqe *)p;
	size_t i;

	for (i = 0; i < n; i++)
		p[i] = random() >> 8;
	for (i = 0; i < n / sizeof(*sqe); i++, sqe++) {
		if (random() & 1)
			sqe->flags |= SIW_WQE_VALID;
		if (random() & 3)
			sqe->opcode %= SIW_NUM_OPCODES;
		if (random() & 3)
			sqe->num_sge %= SIW_MAX_SGE + 2;
		if (random() & 1)
			sqe->sge[0] = sge;
	}
}

/* One connection; its end is what it is, the kernel must not mind */
static bool try_random(void)
{
	size_t page = getpagesize();
	struct conn c;
	int i;

	if (connect_to_target(&c))
		return false;
	for (i = 0; i < 8; i++) {
		fill(c.ring[SQ_PAGES], SQ_PAGES * page, &c);
		fill(c.ring[RQ_PAGES], RQ_PAGES * page, &c);
		if (random() & 1)
			fill(c.ring[SEND_CQ_PAGES], SEND_CQ_PAGES * page, &c);
		if (random() & 1)
			fill(c.ring[RECV_CQ_PAGES], page, &c);
		doorbell(&c);
	}
	disconnect(&c);
	return true;
}

/* Queue pairs without a connection, until they have been looked at */
static int keep(unsigned int count)
{
	struct rdma_cm_id *id[MAX_KEPT];
	unsigned int i;
	char c;

	for (i = 0; i < count && i < MAX_KEPT; i++) {
		id[i] = open_qp(LONG_WR, LONG_WR);
		if (!id[i]) {
			perror("rdma_create_ep");
			return 1;
		}
	}
	puts("kept");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	while (i)
		rdma_destroy_ep(id[--i]);
	return 0;
}

/* The target's answer comes long before there is a receive for it */
static int receive_late(void)
{
	struct conn c;
	struct ibv_wc wc;
	char line;

	if (connect_to_target(&c))
		return 1;
	memset(c.buf, TARGET_ECHO, sizeof(c.buf));
	if (rdma_post_send(c.id, NULL, c.buf, sizeof(c.buf), c.mr, 0) ||
	    completion(&c) != IBV_WC_SUCCESS)
		return 1;
	memset(c.buf, 0, sizeof(c.buf));
	printf("waits %u\n", c.id->qp->qp_num);
	fflush(stdout);
	if (read(STDIN_FILENO, &line, 1) != 1 ||
	    rdma_post_recv(c.id, NULL, c.buf, sizeof(c.buf), c.mr) ||
	    rdma_get_recv_comp(c.id, &wc) != 1)
		return 1;
	if (wc.status == IBV_WC_SUCCESS && wc.byte_len == sizeof(c.buf) &&
	    c.buf[sizeof(c.buf) - 1] == TARGET_ECHO)
		puts("received");
	fflush(stdout);
	while (read(STDIN_FILENO, &line, 1) > 0)
		;
	disconnect(&c);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned int i, rounds = 50, seed = time(NULL), connected = 0, kept = 0;
	int opt, to[2], from[2];
	bool late = false;

	while ((opt = getopt(argc, argv, "h:ln:p:q:r:")) != -1) {
		switch (opt) {
		case 'l':
			late = true;
			break;
		case 'h':
			host = optarg;
			break;
		case 'p':
			port = optarg;
			break;
		case 'n':
			rounds = atoi(optarg);
			break;
		case 'q':
			kept = atoi(optarg);
			break;
		case 'r':
			seed = atoi(optarg);
			break;
		default:
			return 2;
		}
	}
	if (kept)
		return keep(kept);
	if (late)
		return receive_late();
	printf("TAP version 13\n# seed %u\n", seed);
	fflush(stdout);
	srandom(seed);
	/* before the libraries have files open */
	if (pipe(to) || pipe(from))
		return 2;
	if (!fork()) {
		close(to[1]);
		thief(to[0], from[1]);
	}
	for (i = 0; i < sizeof(bad_requests) / sizeof(bad_requests[0]); i++)
		try_bad_request(&bad_requests[i]);
	try_inline();
	try_theft(to[1], from[0]);
	close(to[1]);
	wait(NULL);
	try_flood();
	calls_tests();
	for (i = 0; i < rounds; i++)
		connected += try_random();
	result(connected == rounds, "rings filled at random");
	if (connected != rounds)
		printf("# %u of %u connections\n", connected, rounds);
	printf("1..%d\n", tests);
	return failures != 0;
}
