// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * hyb-again: a queue pair whose connection could not begin is connected again.
 *
 *   hyb-again -s -h ADDRESS [-p PORT]
 *   hyb-again -h ADDRESS [-p PORT]
 *
 * The server is a plain TCP socket. It answers the first TRIES Requests, and ends
 * the connection in the packet that has the Reply, so that the device finds that
 * there is nothing to begin. The last one works: it gets a Send and sends it back.
 * The client does all of it with one queue pair, each time by a cm_id of its own.
 * Prints TAP.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include "peer.h"

#define TRIES 3
#define MESSAGE 64
#define PATIENCE 20000 /* ms */

static const char *host = "10.0.0.2", *port = "7950";
static int tests, failures;

static void result(bool ok, const char *what)
{
	failures += !ok;
	printf("%sok %d - %s\n", ok ? "" : "not ", ++tests, what);
	fflush(stdout);
}

/* ------------------------------------------------------------------- server */

static int listening(void)
{
	struct addrinfo hints = { .ai_flags = AI_PASSIVE | AI_NUMERICHOST,
				  .ai_socktype = SOCK_STREAM },
			*ai;
	int fd;

	if (getaddrinfo(host, port, &hints, &ai))
		return -1;
	fd = socket(ai->ai_family, SOCK_STREAM, 0);
	if (fd >= 0 && net_listen(fd, ai->ai_addr, ai->ai_addrlen, 8)) {
		close(fd);
		fd = -1;
	}
	freeaddrinfo(ai);
	return fd;
}

/* The Reply and the end, in one packet: the device receives both at once */
static int answer_and_end(struct peer *p)
{
	unsigned char frame[64], words[4];
	size_t n;

	if (peer_read_start(p, PATIENCE) != 1 || p->private_len < 4)
		return -1;
	setsockopt(p->fd, IPPROTO_TCP, TCP_CORK, &(int){ 1 }, sizeof(int));
	/* it gets the depths that it wants, and says by a Write that it is ready */
	put_be32(words, (get_be32(p->private_data) & 0x3fff3fff) | 0x80008000);
	n = peer_start_frame(frame, true, MPA_C | MPA_S, 2, 4, words, 4);
	peer_send(p, frame, n);
	shutdown(p->fd, SHUT_WR);
	peer_wait_end(p, PATIENCE);
	return 0;
}

static int answer_and_echo(struct peer *p)
{
	if (peer_answer(p, NULL, 0) || peer_recv_fpdu(p, PATIENCE) != 1 ||
	    p->ulpdu[1] != OP_SEND || p->ulpdu_len != 18 + MESSAGE)
		return -1;
	peer_send_message(p, p->ulpdu + 18, MESSAGE);
	peer_wait_end(p, PATIENCE);
	return 0;
}

static int serve(void)
{
	int fd = listening(), i, ret = 0;
	struct peer p;

	if (fd < 0) {
		perror("hyb-again: listen");
		return 1;
	}
	puts("listening");
	fflush(stdout);
	for (i = 0; i <= TRIES && !ret; i++) {
		ret = peer_adopt(&p, accept(fd, NULL, NULL));
		if (!ret)
			ret = i < TRIES ? answer_and_end(&p) :
					  answer_and_echo(&p);
		peer_close(&p);
	}
	puts(ret ? "a mistake" : "all of it");
	fflush(stdout);
	return ret ? 1 : 0;
}

/* ------------------------------------------------------------------- client */

static unsigned char buf[2][MESSAGE];

struct queues {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
};

static struct rdma_cm_id *open_id(void)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *res;
	struct rdma_cm_id *id;
	int err;

	if (rdma_getaddrinfo(host, port, &hints, &res))
		return NULL;
	err = rdma_create_ep(&id, res, NULL, NULL);
	rdma_freeaddrinfo(res);
	return err ? NULL : id;
}

static bool open_queues(struct queues *q, struct ibv_context *verbs)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 4,
			 .max_recv_wr = 4,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};

	q->pd = ibv_alloc_pd(verbs);
	q->cq = ibv_create_cq(verbs, 8, NULL, NULL, 0);
	if (!q->pd || !q->cq)
		return false;
	attr.send_cq = q->cq;
	attr.recv_cq = q->cq;
	q->mr = ibv_reg_mr(q->pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE);
	q->qp = ibv_create_qp(q->pd, &attr);
	return q->mr && q->qp;
}

static void close_queues(struct queues *q)
{
	if (q->qp)
		ibv_destroy_qp(q->qp);
	if (q->mr)
		ibv_dereg_mr(q->mr);
	if (q->cq)
		ibv_destroy_cq(q->cq);
	if (q->pd)
		ibv_dealloc_pd(q->pd);
}

/* 0 or what rdma_connect() says: the cm_id is synchronous */
static int connect_to(struct rdma_cm_id *id, const struct queues *q)
{
	struct rdma_conn_param param = { .responder_resources = 4,
					 .initiator_depth = 4,
					 .qp_num = q->qp->qp_num };

	return rdma_connect(id, &param) ? errno : 0;
}

static bool completed(struct ibv_cq *cq)
{
	long end = net_ms() + PATIENCE;
	struct ibv_wc wc;

	while (net_ms() < end) {
		if (ibv_poll_cq(cq, 1, &wc) > 0)
			return wc.status == IBV_WC_SUCCESS;
		poll(NULL, 0, 1);
	}
	return false;
}

/* Sent data comes back */
static bool echoed(struct queues *q)
{
	struct ibv_sge out = { (uintptr_t)buf[0], MESSAGE, q->mr->lkey };
	struct ibv_sge in = { (uintptr_t)buf[1], MESSAGE, q->mr->lkey };
	struct ibv_recv_wr rwr = { .sg_list = &in, .num_sge = 1 }, *rbad;
	struct ibv_send_wr swr = { .sg_list = &out,
				   .num_sge = 1,
				   .opcode = IBV_WR_SEND },
			   *sbad;

	memset(buf[0], 'a', MESSAGE);
	return !ibv_post_recv(q->qp, &rwr, &rbad) &&
	       !ibv_post_send(q->qp, &swr, &sbad) && completed(q->cq) &&
	       completed(q->cq) && !memcmp(buf[0], buf[1], MESSAGE);
}

static void try_all(struct queues *q)
{
	struct rdma_cm_id *id;
	int i, err;

	for (i = 0; i <= TRIES; i++) {
		id = open_id();
		if (!id) {
			result(false, "a route");
			return;
		}
		err = connect_to(id, q);
		printf("# connection %d: %s\n", i, strerror(err));
		if (i < TRIES) {
			/* it has accepted, so this is no refusal */
			result(err == ECONNABORTED,
			       "the peer is gone when the connection begins");
		} else {
			result(!err, "the same queue pair is connected again");
			result(!err && echoed(q),
			       "the queue pair connected again sends and receives");
		}
		if (!err)
			rdma_disconnect(id);
		rdma_destroy_id(id);
	}
}

static int client(void)
{
	struct rdma_cm_id *id = open_id();
	struct queues q = {};

	if (id && open_queues(&q, id->verbs))
		try_all(&q);
	else
		result(false, "a queue pair");
	close_queues(&q);
	if (id)
		rdma_destroy_id(id);
	printf("1..%d\n", tests);
	return failures != 0;
}

int main(int argc, char **argv)
{
	bool server = false;
	int c;

	while ((c = getopt(argc, argv, "sh:p:")) != -1) {
		switch (c) {
		case 's':
			server = true;
			break;
		case 'h':
			host = optarg;
			break;
		case 'p':
			port = optarg;
			break;
		default:
			fputs("usage: hyb-again [-s] [-h ADDRESS] [-p PORT]\n",
			      stderr);
			return 2;
		}
	}
	return server ? serve() : client();
}
