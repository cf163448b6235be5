// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * hyb-target: an honest RDMA program to be attacked, see target.h.
 *
 *   hyb-target -h ADDRESS [-p PORT]          server, a thread per connection
 *   hyb-target -c -h ADDRESS [-p PORT] [-n COUNT]   client: echoes, one every
 *         20 ms, COUNT of them or until a signal; fails if one is not right
 *   hyb-target -c -1 ...                     client: connect only, say what came
 *   hyb-target -c -f ...                     client: at a signal send something,
 *         and say how that has ended; nothing more until another signal
 *   hyb-target -q ...                        with a shared receive queue
 *   hyb-target -g ...                        server: greets, see target.h
 *   hyb-target -r ...                        server: rejects all
 *   hyb-target -d ...                        server: decides at a signal
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>

#include "../lib/rereg.h"
#include "target.h"

static volatile sig_atomic_t stop; /* signals that have come */
static bool shared_queue, flush, greets, rejects, decides_late;

struct conn {
	struct rdma_cm_id *id;
	struct ibv_pd *pd, *foreign_pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_mr *mr[REGIONS], *recv_mr, *send_mr, *large_mr;
	unsigned char *memory, *large;
	unsigned char end; /* what REGION_RW has to be full of from now on */
	unsigned char recv[TARGET_RECEIVES][TARGET_MESSAGE];
	unsigned char send[TARGET_RECEIVES + 1][TARGET_MESSAGE];
	bool gone;
};

static void put_be(unsigned char *p, uint64_t v, int bytes)
{
	while (bytes--) {
		p[bytes] = v;
		v >>= 8;
	}
}

static uint64_t get_be(const unsigned char *p, int bytes)
{
	uint64_t v = 0;

	while (bytes--)
		v = v << 8 | *p++;
	return v;
}

static int conn_memory(struct conn *c)
{
	static const int access[REGIONS] = {
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ,
		IBV_ACCESS_LOCAL_WRITE,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
	};
	int i;

	c->memory = mmap(NULL, REGIONS * TARGET_REGION, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (c->memory == MAP_FAILED)
		return -1;
	for (i = 0; i < REGIONS; i++) {
		memset(c->memory + i * TARGET_REGION, 'a' + i, TARGET_REGION);
		c->mr[i] =
			ibv_reg_mr(i == REGION_FOREIGN ? c->foreign_pd : c->pd,
				   c->memory + i * TARGET_REGION, TARGET_REGION,
				   access[i]);
		if (!c->mr[i])
			return -1;
	}
	c->recv_mr = ibv_reg_mr(c->pd, c->recv, sizeof(c->recv),
				IBV_ACCESS_LOCAL_WRITE);
	c->send_mr = ibv_reg_mr(c->pd, c->send, sizeof(c->send),
				IBV_ACCESS_LOCAL_WRITE);
	return c->recv_mr && c->send_mr ? 0 : -1;
}

static int post_recv(struct conn *c, uint64_t slot)
{
	uint32_t first = slot ? TARGET_MESSAGE : TARGET_SPLIT;
	uintptr_t buf = (uintptr_t)c->recv[slot];
	struct ibv_sge sge[2] = {
		{ buf, first, c->recv_mr->lkey },
		{ buf + first, TARGET_MESSAGE - first, c->recv_mr->lkey },
	};
	struct ibv_recv_wr wr = { .wr_id = slot,
				  .sg_list = sge,
				  .num_sge = slot ? 1 : 2 },
			   *bad;

	if (c->srq)
		return ibv_post_srq_recv(c->srq, &wr, &bad);
	return ibv_post_recv(c->id->qp, &wr, &bad);
}

static int post_send_from(struct conn *c, uint64_t wr_id, const void *from,
			  uint32_t len, uint32_t lkey)
{
	struct ibv_sge sge = { (uintptr_t)from, len, lkey };
	struct ibv_send_wr wr = { .wr_id = wr_id,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	return ibv_post_send(c->id->qp, &wr, &bad);
}

static int post_send(struct conn *c, uint64_t slot, uint32_t len)
{
	return post_send_from(c, 100 + slot, c->send[slot], len,
			      c->send_mr->lkey);
}

static int post_read(struct conn *c, const unsigned char *args)
{
	uint32_t len = get_be(args + 12, 4);
	struct ibv_sge sge = { (uintptr_t)c->memory,
			       len < TARGET_REGION ? len : TARGET_REGION,
			       c->mr[REGION_RW]->lkey };
	struct ibv_send_wr wr = { .wr_id = 200,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_READ,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	wr.wr.rdma.rkey = get_be(args, 4);
	wr.wr.rdma.remote_addr = get_be(args + 4, 8);
	return ibv_post_send(c->id->qp, &wr, &bad);
}

static int conn_srq(struct conn *c)
{
	struct ibv_srq_init_attr attr = {
		.attr = { .max_wr = 2 * TARGET_RECEIVES, .max_sge = 2 },
	};

	c->srq = ibv_create_srq(c->pd, &attr);
	return c->srq ? 0 : -1;
}

static int conn_setup(struct conn *c)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 32,
			 .max_recv_wr = 2 * TARGET_RECEIVES,
			 .max_send_sge = 1,
			 .max_recv_sge = 2 },
		.qp_type = IBV_QPT_RC,
	};
	uint64_t i;

	c->pd = ibv_alloc_pd(c->id->verbs);
	c->foreign_pd = ibv_alloc_pd(c->id->verbs);
	c->channel = ibv_create_comp_channel(c->id->verbs);
	if (!c->pd || !c->foreign_pd || !c->channel)
		return -1;
	c->cq = ibv_create_cq(c->id->verbs, 128, NULL, c->channel, 0);
	if (!c->cq || conn_memory(c))
		return -1;
	if (shared_queue && conn_srq(c))
		return -1;
	attr.send_cq = c->cq;
	attr.recv_cq = c->cq;
	attr.srq = c->srq;
	if (rdma_create_qp(c->id, c->pd, &attr))
		return -1;
	ibv_req_notify_cq(c->cq, 0);
	for (i = 0; i < TARGET_RECEIVES; i++)
		if (post_recv(c, i))
			return -1;
	return 0;
}

/* Memory that is not registered any more must not be written to */
static void check_end(const struct conn *c)
{
	int i;

	for (i = 0; c->end && i < TARGET_REGION; i++) {
		if (c->memory[i] != c->end) {
			printf("hyb-target: byte %d was written after the end\n",
			       i);
			fflush(stdout);
			return;
		}
	}
}

static void conn_free(struct conn *c)
{
	int i;

	check_end(c);
	if (c->id->qp)
		rdma_destroy_qp(c->id);
	for (i = 0; i < REGIONS; i++)
		if (c->mr[i])
			ibv_dereg_mr(c->mr[i]);
	if (c->recv_mr)
		ibv_dereg_mr(c->recv_mr);
	if (c->send_mr)
		ibv_dereg_mr(c->send_mr);
	if (c->large_mr)
		ibv_dereg_mr(c->large_mr);
	if (c->srq)
		ibv_destroy_srq(c->srq);
	if (c->cq)
		ibv_destroy_cq(c->cq);
	if (c->channel)
		ibv_destroy_comp_channel(c->channel);
	if (c->pd)
		ibv_dealloc_pd(c->pd);
	if (c->foreign_pd)
		ibv_dealloc_pd(c->foreign_pd);
	if (c->memory && c->memory != MAP_FAILED)
		munmap(c->memory, REGIONS * TARGET_REGION);
	free(c->large);
	rdma_destroy_id(c->id);
	free(c);
}

/* A message of one byte */
static void say(struct conn *c, unsigned char what)
{
	c->send[TARGET_RECEIVES][0] = what;
	post_send(c, TARGET_RECEIVES, 1);
}

static void offer_large(struct conn *c, uint64_t slot)
{
	unsigned char *m = c->send[slot];

	if (!c->large)
		c->large = calloc(1, TARGET_LARGE_LEN);
	if (!c->large)
		abort();
	if (!c->large_mr)
		c->large_mr = ibv_reg_mr(c->pd, c->large, TARGET_LARGE_LEN,
					 IBV_ACCESS_LOCAL_WRITE |
						 IBV_ACCESS_REMOTE_READ);
	if (!c->large_mr)
		abort();
	m[0] = TARGET_LARGE;
	put_be(m + 1, c->large_mr->rkey, 4);
	put_be(m + 5, (uintptr_t)c->large, 8);
	post_send(c, slot, 13);
}

static void dereg(struct ibv_mr **mr)
{
	ibv_dereg_mr(*mr);
	*mr = NULL;
}

static void no_more_writes(struct conn *c)
{
	c->end = 'e';
	memset(c->memory, c->end, TARGET_REGION);
}

/* Each registration has the next key, and there are 256 */
static void take_rights(struct conn *c)
{
	uint32_t key = c->mr[REGION_RW]->rkey;
	int i;

	for (i = 0; i < 256; i++)
		if (rereg(c->mr[REGION_RW], REREG_ACCESS, NULL, 0, 0))
			perror("hyb-target: reregister");
	if (c->mr[REGION_RW]->rkey != key)
		printf("hyb-target: the key is another one\n");
	no_more_writes(c);
}

static void received(struct conn *c, uint64_t slot, uint32_t len)
{
	unsigned char *m = c->recv[slot];

	if (!len && greets) {
		say(c, TARGET_EMPTY);
	} else if (len && m[0] == TARGET_ECHO) {
		memcpy(c->send[slot], m, len);
		post_send(c, slot, len);
	} else if (len >= 17 && m[0] == TARGET_READ) {
		post_read(c, m + 1);
	} else if (len && m[0] == TARGET_LARGE) {
		offer_large(c, slot);
	} else if (len && m[0] == TARGET_SEND && c->large_mr) {
		post_send_from(c, 201, c->large, TARGET_LARGE_LEN,
			       c->large_mr->lkey);
	} else if (len && m[0] == TARGET_BAD_KEY) {
		post_send_from(c, 202, c->memory, 8, 0xdead5500);
	} else if (len && m[0] == TARGET_CLOSE) {
		rdma_disconnect(c->id);
	} else if (len && m[0] == TARGET_DEREG && c->large_mr) {
		dereg(&c->large_mr);
	} else if (len && m[0] == TARGET_DEREG && c->mr[REGION_RW]) {
		dereg(&c->mr[REGION_RW]);
		no_more_writes(c);
	} else if (len && m[0] == TARGET_RIGHTS && c->mr[REGION_RW]) {
		take_rights(c);
	} else if (len > 1 && m[0] == TARGET_FILL) {
		memset(c->memory, m[1], TARGET_REGION);
	}
	post_recv(c, slot);
}

/* Returns false when the queue pair has failed or been flushed. */
static bool poll_completions(struct conn *c)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(c->cq, 1, &wc) == 1) {
		if (wc.status != IBV_WC_SUCCESS)
			return false;
		if (wc.opcode == IBV_WC_RECV)
			received(c, wc.wr_id, wc.byte_len);
	}
	return true;
}

static void *conn_main(void *arg)
{
	struct conn *c = arg;
	struct pollfd pfd = { .fd = c->channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	bool alive = true;
	void *ctx;

	while (alive && !__atomic_load_n(&c->gone, __ATOMIC_ACQUIRE)) {
		if (poll(&pfd, 1, 50) == 1 &&
		    !ibv_get_cq_event(c->channel, &cq, &ctx)) {
			ibv_ack_cq_events(cq, 1);
			ibv_req_notify_cq(cq, 0);
		}
		alive = poll_completions(c);
	}
	rdma_disconnect(c->id);
	/* the event loop sets it when it has nothing more to say of this id */
	while (!__atomic_load_n(&c->gone, __ATOMIC_ACQUIRE))
		usleep(10000);
	conn_free(c);
	return NULL;
}

static void offer(struct conn *c, unsigned char *pd)
{
	int i;

	for (i = 0; i < REGIONS; i++) {
		put_be(pd + 12 * i, c->mr[i]->rkey, 4);
		put_be(pd + 12 * i + 4, (uintptr_t)c->mr[i]->addr, 8);
	}
}

static void reject(struct rdma_cm_id *id)
{
	unsigned char pd[TARGET_REASON];
	unsigned int i;

	for (i = 0; i < sizeof(pd); i++)
		pd[i] = i ^ 0x5a;
	if (rdma_reject(id, pd, sizeof(pd)))
		perror("hyb-target: rdma_reject");
	rdma_destroy_id(id);
}

static void wait_for_signal(void)
{
	printf("hyb-target: asked\n");
	fflush(stdout);
	while (!stop)
		usleep(1000);
	stop = 0;
}

static void on_request(struct rdma_cm_event *ev)
{
	struct conn *c = calloc(1, sizeof(*c));
	unsigned char pd[12 * REGIONS];
	struct rdma_conn_param param = { .private_data = pd,
					 .private_data_len = sizeof(pd),
					 .responder_resources = TARGET_IRD,
					 .initiator_depth = TARGET_IRD };

	if (!c)
		abort();
	c->id = ev->id;
	ev->id->context = c;
	if (conn_setup(c)) {
		perror("hyb-target: set-up of a connection");
		rdma_reject(c->id, NULL, 0);
		conn_free(c);
		return;
	}
	offer(c, pd);
	if (decides_late)
		wait_for_signal();
	if (rdma_accept(c->id, &param)) {
		perror("hyb-target: rdma_accept");
		conn_free(c);
	}
}

static void on_established(struct conn *c)
{
	pthread_t thread;

	if (greets)
		say(c, TARGET_GREETING);
	if (pthread_create(&thread, NULL, conn_main, c))
		abort();
	pthread_detach(thread);
}

static void server_event(struct rdma_cm_event *ev, struct conn **gone,
			 struct conn **dead)
{
	struct conn *c = ev->id->context;

	switch (ev->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		if (rejects)
			reject(ev->id);
		else
			on_request(ev);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		on_established(c);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		if (decides_late)
			printf("hyb-target: gone\n");
		fflush(stdout);
		*gone = c;
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		*dead = c;
		break;
	default:
		break;
	}
}

static int server(struct rdma_event_channel *ch, struct rdma_cm_id *id)
{
	struct rdma_cm_event *ev;
	struct conn *gone, *dead;

	if (rdma_listen(id, 128)) {
		perror("hyb-target: rdma_listen");
		return 2;
	}
	printf("hyb-target: listening\n");
	fflush(stdout);
	while (!rdma_get_cm_event(ch, &ev)) {
		gone = NULL;
		dead = NULL;
		server_event(ev, &gone, &dead);
		rdma_ack_cm_event(ev);
		/* the ids may go only when their events are acknowledged */
		if (gone)
			__atomic_store_n(&gone->gone, true, __ATOMIC_RELEASE);
		if (dead)
			conn_free(dead);
	}
	return 1;
}

static int await(struct rdma_event_channel *ch, enum rdma_cm_event_type want)
{
	struct rdma_cm_event *ev;
	int ret;

	if (rdma_get_cm_event(ch, &ev))
		return -1;
	ret = ev->event == want ? 0 : -1;
	if (ret)
		printf("hyb-target: %s, status %d\n", rdma_event_str(ev->event),
		       ev->status);
	rdma_ack_cm_event(ev);
	return ret;
}

/* One message there and back, compared. */
static int echo(struct conn *c, unsigned int n)
{
	uint64_t slot = n % TARGET_RECEIVES;
	struct ibv_wc wc;
	int done = 0, i, tries = 0;

	c->send[slot][0] = TARGET_ECHO;
	for (i = 1; i < TARGET_MESSAGE; i++)
		c->send[slot][i] = n * 7 + i;
	if (post_send(c, slot, TARGET_MESSAGE))
		return -1;
	while (done < 2 && tries < 10000) {
		if (ibv_poll_cq(c->cq, 1, &wc) != 1) {
			usleep(2000);
			tries++;
			continue;
		}
		if (wc.status != IBV_WC_SUCCESS)
			return -1;
		done++;
		if (wc.opcode != IBV_WC_RECV)
			continue;
		if (wc.byte_len != TARGET_MESSAGE ||
		    memcmp(c->recv[wc.wr_id], c->send[slot], TARGET_MESSAGE))
			return -1;
		post_recv(c, wc.wr_id);
	}
	return done == 2 ? 0 : -1;
}

static void on_signal(int sig)
{
	(void)sig;
	stop++;
}

/* One message, of which only the end is of interest */
static void flushed(struct conn *c)
{
	struct ibv_wc wc = { .status = IBV_WC_GENERAL_ERR };

	while (!stop)
		usleep(1000);
	memset(c->send[0], TARGET_ECHO, TARGET_MESSAGE);
	if (post_send(c, 0, TARGET_MESSAGE)) {
		printf("hyb-target: not sent\n");
		return;
	}
	printf("hyb-target: sent\n");
	fflush(stdout);
	do {
		while (ibv_poll_cq(c->cq, 1, &wc) != 1)
			usleep(1000);
	} while (wc.wr_id != 100);
	printf("hyb-target: %s\n", ibv_wc_status_str(wc.status));
	fflush(stdout);
	while (stop < 2)
		usleep(1000);
}

static int client(struct rdma_event_channel *ch, struct rdma_cm_id *id,
		  struct sockaddr *sa, int count, bool once)
{
	struct rdma_conn_param param = { .responder_resources = TARGET_IRD,
					 .initiator_depth = TARGET_IRD };
	struct conn *c = calloc(1, sizeof(*c));
	int n;

	c->id = id;
	if (rdma_resolve_addr(id, NULL, sa, 5000) ||
	    await(ch, RDMA_CM_EVENT_ADDR_RESOLVED) ||
	    rdma_resolve_route(id, 5000) ||
	    await(ch, RDMA_CM_EVENT_ROUTE_RESOLVED) || conn_setup(c) ||
	    rdma_connect(id, &param) || await(ch, RDMA_CM_EVENT_ESTABLISHED)) {
		printf("hyb-target: not connected\n");
		conn_free(c);
		return 1;
	}
	printf("hyb-target: connected\n");
	fflush(stdout);
	if (flush)
		flushed(c);
	for (n = 0; !once && !stop && (!count || n < count); n++) {
		if (echo(c, n)) {
			printf("hyb-target: echo %d failed\n", n);
			return 1;
		}
		usleep(20000);
	}
	printf("hyb-target: %d echoes\n", n);
	rdma_disconnect(id);
	conn_free(c);
	return 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	bool is_client = false, once = false;
	struct rdma_event_channel *ch;
	struct rdma_cm_id *id;
	int opt, port = 7900, count = 0;

	while ((opt = getopt(argc, argv, "c1dfgqrh:p:n:")) != -1) {
		if (opt == 'c')
			is_client = true;
		else if (opt == '1')
			once = true;
		else if (opt == 'f')
			flush = true;
		else if (opt == 'g')
			greets = true;
		else if (opt == 'q')
			shared_queue = true;
		else if (opt == 'r')
			rejects = true;
		else if (opt == 'd')
			decides_late = true;
		else if (opt == 'p')
			port = atoi(optarg);
		else if (opt == 'n')
			count = atoi(optarg);
		else if (opt != 'h' ||
			 inet_pton(AF_INET, optarg, &sin.sin_addr) != 1)
			return 2;
	}
	sin.sin_port = htons(port);
	signal(SIGTERM, on_signal);
	signal(SIGPIPE, SIG_IGN);
	ch = rdma_create_event_channel();
	if (!ch || rdma_create_id(ch, &id, NULL, RDMA_PS_TCP)) {
		perror("hyb-target: rdma_create_id");
		return 2;
	}
	if (is_client)
		return client(ch, id, (struct sockaddr *)&sin, count, once);
	if (rdma_bind_addr(id, (struct sockaddr *)&sin)) {
		perror("hyb-target: rdma_bind_addr");
		return 2;
	}
	return server(ch, id);
}
