// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * ulp-uverbs: the verbs that programs use, one by one, on two devices of the
 * same network namespace. Calls that the installed provider library lacks go to the
 * kernel directly. Prints TAP. The profile of a probe "rx_run" of the kernel, if there
 * is one, tells how often the receive engine has run.
 *
 *   ulp-uverbs [-h ADDRESS] [-p PORT] [-w FILE]
 *
 * With -w there is one case only, in which a right goes once that file is there.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include "../lib/rereg.h"

#define DEPTH 64
#define BUF 65536
#define WAIT_MS 20000
#define MAX_INLINE 80
#define REMOTE                                              \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
	 IBV_ACCESS_REMOTE_READ)

static const char *host = "10.0.0.2";
static const char *port = "7850";
static const char *go_file;
static int tests, failures;
static struct rdma_cm_id *listener;

/* One end; the completion queues are those of librdmacm, with channels */
struct end {
	struct rdma_cm_id *id;
	struct ibv_srq *srq;
	unsigned char *buf;
	struct ibv_mr *mr;
};

static struct end a, b; /* a connects, b accepts */

static bool result(bool ok, const char *what)
{
	failures += !ok;
	printf("%sok %d - %s\n", ok ? "" : "not ", ++tests, what);
	fflush(stdout);
	return ok;
}

/* ------------------------------------------------------------- connections */

static bool prepare(struct end *e)
{
	e->buf = aligned_alloc(4096, BUF);
	if (!e->buf)
		return false;
	memset(e->buf, 0, BUF);
	e->mr = ibv_reg_mr(e->id->pd, e->buf, BUF, REMOTE);
	return e->mr;
}

static void *accept_one(void *arg)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = DEPTH,
			 .max_recv_wr = DEPTH,
			 .max_send_sge = 4,
			 .max_recv_sge = 4 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	struct ibv_srq_init_attr sattr = {
		.attr = { .max_wr = DEPTH, .max_sge = 1 },
	};
	bool srq = arg;

	if (rdma_get_request(listener, &b.id))
		return NULL;
	if (srq && rdma_create_srq(b.id, NULL, &sattr))
		goto reject;
	b.srq = b.id->srq;
	attr.srq = b.srq;
	if (!rdma_create_qp(b.id, NULL, &attr) && prepare(&b) &&
	    !rdma_accept(b.id, NULL))
		return &b;
reject:
	perror("accept");
	rdma_reject(b.id, NULL, 0);
	return NULL;
}

static bool connect_both(bool srq)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *res;
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = DEPTH,
			 .max_recv_wr = DEPTH,
			 .max_send_sge = 4,
			 .max_recv_sge = 4,
			 .max_inline_data = MAX_INLINE },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	struct rdma_conn_param param = { .responder_resources = 4,
					 .initiator_depth = 4 };
	pthread_t thread;
	void *accepted;
	int err;

	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	if (rdma_getaddrinfo(host, port, &hints, &res) ||
	    rdma_create_ep(&a.id, res, NULL, &attr) || !prepare(&a) ||
	    pthread_create(&thread, NULL, accept_one, srq ? &b : NULL))
		return false;
	rdma_freeaddrinfo(res);
	err = rdma_connect(a.id, &param);
	if (err)
		pthread_cancel(thread);
	pthread_join(thread, &accepted);
	return !err && accepted;
}

static void let_go(struct end *e)
{
	if (!e->id)
		return;
	/* rdma_disconnect() would wait for the other end, which is ours, too */
	if (e->id->qp)
		rdma_destroy_qp(e->id);
	if (e->srq)
		rdma_destroy_srq(e->id);
	if (e->mr)
		ibv_dereg_mr(e->mr);
	free(e->buf);
	rdma_destroy_id(e->id);
}

static bool start_listening(void)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP,
				       .ai_flags = RAI_PASSIVE },
			     *res;

	if (rdma_getaddrinfo(host, port, &hints, &res) ||
	    rdma_create_ep(&listener, res, NULL, NULL) ||
	    rdma_listen(listener, 4))
		return false;
	rdma_freeaddrinfo(res);
	return true;
}

/* ---------------------------------------------------------------- requests */

static int completion(struct ibv_cq *cq, struct ibv_wc *wc)
{
	int i;

	for (i = 0; i < WAIT_MS; i++) {
		if (ibv_poll_cq(cq, 1, wc) > 0)
			return wc->status;
		usleep(1000);
	}
	return -1;
}

static bool receive(uint64_t id)
{
	struct ibv_sge sge = { .addr = (uintptr_t)b.buf,
			       .length = BUF,
			       .lkey = b.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	return !(b.srq ? ibv_post_srq_recv(b.srq, &wr, &bad) :
			 ibv_post_recv(b.id->qp, &wr, &bad));
}

static int post(enum ibv_wr_opcode op, unsigned int flags, void *from,
		uint32_t len, void *to, uint32_t rkey)
{
	struct ibv_sge sge = { .addr = (uintptr_t)from,
			       .length = len,
			       .lkey = a.mr->lkey };
	struct ibv_send_wr wr = {
		.opcode = op, .send_flags = flags, .sg_list = &sge, .num_sge = 1
	};
	struct ibv_send_wr *bad;

	wr.wr.rdma.remote_addr = (uintptr_t)to;
	wr.wr.rdma.rkey = rkey;
	return ibv_post_send(a.id->qp, &wr, &bad);
}

static int perform(enum ibv_wr_opcode op, uint32_t len, void *to, uint32_t rkey)
{
	struct ibv_wc wc;

	return post(op, 0, a.buf, len, to, rkey) ?:
						   completion(a.id->send_cq, &wc);
}

/* A message of one byte, received */
static bool sync_ends(unsigned int flags)
{
	struct ibv_wc wc;

	return receive(1) && !post(IBV_WR_SEND, flags, a.buf, 1, NULL, 0) &&
	       !completion(a.id->send_cq, &wc) &&
	       !completion(b.id->recv_cq, &wc);
}

static bool readable(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) == 1;
}

/* Takes the events of a device until one of that kind comes */
static bool async_event(struct ibv_context *verbs, enum ibv_event_type type)
{
	struct ibv_async_event event;
	bool found = false;

	while (!found && readable(verbs->async_fd, WAIT_MS)) {
		if (ibv_get_async_event(verbs, &event))
			return false;
		found = event.event_type == type;
		ibv_ack_async_event(&event);
	}
	return found;
}

/* ------------------------------------------------------- commands of uverbs */

static int moderate(struct ibv_cq *cq, unsigned int count, unsigned int usecs)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_ex_cmd_hdr ex;
		struct ib_uverbs_ex_modify_cq cmd;
	} req = {
		.hdr = { .command = IB_USER_VERBS_EX_CMD_MODIFY_CQ |
				    IB_USER_VERBS_CMD_FLAG_EXTENDED,
			 .in_words = sizeof(req.cmd) / 8 },
		.cmd = { .cq_handle = cq->handle,
			 .attr_mask = 1, /* moderation */
			 .attr = { .cq_count = count, .cq_period = usecs } },
	};

	return write(cq->context->cmd_fd, &req, sizeof(req)) < 0 ? -1 : 0;
}

/* ------------------------------------------------------------------- cases */

static void case_inline(void)
{
	unsigned char data[MAX_INLINE + 1];
	struct ibv_wc wc;

	memset(data, 0x5a, sizeof(data));
	if (!result(receive(1) && !post(IBV_WR_SEND, IBV_SEND_INLINE, data,
					MAX_INLINE, NULL, 0),
		    "post inline"))
		return;
	memset(data, 0, sizeof(data));
	result(!completion(b.id->recv_cq, &wc) && wc.byte_len == MAX_INLINE &&
		       b.buf[0] == 0x5a && b.buf[MAX_INLINE - 1] == 0x5a,
	       "inline data were taken at once");
	result(post(IBV_WR_SEND, IBV_SEND_INLINE, data, MAX_INLINE + 1, NULL,
		    0),
	       "81 bytes are refused");
}

static void case_solicited(void)
{
	int fd = b.id->recv_cq_channel->fd;

	ibv_req_notify_cq(b.id->recv_cq, 1);
	result(sync_ends(0) && !readable(fd, 300),
	       "no event by a message that does not ask for it");
	result(sync_ends(IBV_SEND_SOLICITED) && readable(fd, WAIT_MS),
	       "an event by one that does");
}

/* Events while 32 messages come one after the other, each of which is awaited */
static int count_events(void)
{
	int fd = b.id->recv_cq_channel->fd, i, n = 0;
	struct ibv_cq *cq;
	void *context;

	for (i = 0; i < 32; i++) {
		ibv_req_notify_cq(b.id->recv_cq, 0);
		if (!sync_ends(0))
			return -1;
		if (!readable(fd, 0))
			continue;
		if (ibv_get_cq_event(b.id->recv_cq_channel, &cq, &context))
			return -1;
		ibv_ack_cq_events(cq, 1);
		n++;
	}
	return n;
}

static void case_moderation(void)
{
	int n;

	result(!moderate(b.id->recv_cq, 1000, 65535), "moderation is set");
	n = count_events();
	printf("# %d events for 32 completions\n", n);
	result(n >= 0 && n < 32, "fewer events than completions");
	ibv_req_notify_cq(b.id->recv_cq, 0);
	result(sync_ends(0) && readable(b.id->recv_cq_channel->fd, WAIT_MS),
	       "one for few completions comes in the end");
	result(!moderate(b.id->recv_cq, 0, 0), "moderation is off");
}

static void case_srq(void)
{
	struct ibv_srq_attr attr = { .srq_limit = 2 };
	struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };
	struct ibv_wc wc;
	int i;

	for (i = 0; i < 4; i++)
		result(receive(i), "post to the shared queue");
	result(!ibv_modify_srq(b.srq, &attr, IBV_SRQ_LIMIT), "limit of 2");
	for (i = 0; i < 3; i++)
		result(!perform(IBV_WR_SEND, 1, NULL, 0) &&
			       !completion(b.id->recv_cq, &wc) &&
			       wc.wr_id == (uint64_t)i,
		       "message");
	result(async_event(b.id->verbs, IBV_EVENT_SRQ_LIMIT_REACHED),
	       "event: below the limit");
	result(!ibv_modify_qp(b.id->qp, &error, IBV_QP_STATE) &&
		       async_event(b.id->verbs, IBV_EVENT_QP_LAST_WQE_REACHED),
	       "event: the queue pair takes no more");
}

/* Times that the receive engine has run, -1 without a probe */
static long engine_runs(void)
{
	FILE *f = fopen("/sys/kernel/tracing/kprobe_profile", "r");
	char name[64];
	long hits, runs = -1;

	while (f && fscanf(f, "%63s %ld %*d", name, &hits) == 2)
		if (!strcmp(name, "rx_run"))
			runs = hits;
	if (f)
		fclose(f);
	return runs;
}

/* A message comes, and the receive for it much later */
static void case_srq_late(void)
{
	struct ibv_wc wc;
	long runs;

	result(!perform(IBV_WR_SEND, 1, NULL, 0), "message without a receive");
	usleep(200000);
	runs = engine_runs();
	usleep(1000000);
	if (runs < 0)
		printf("ok %d - engine runs # SKIP no probe\n", ++tests);
	else
		result(engine_runs() == runs,
		       "a queue pair that waits is not looked at");
	result(receive(7) && !completion(b.id->recv_cq, &wc) && wc.wr_id == 7,
	       "the receive is noticed");
}

static void case_rereg(void)
{
	unsigned char *other = aligned_alloc(4096, 8192);
	uint32_t old = b.mr->rkey;

	memset(other, 0, 8192);
	memset(a.buf, 7, 64);
	result(!rereg(b.mr, REREG_ACCESS, NULL, 0, REMOTE),
	       "reregister: rights");
	result(b.mr->rkey != old, "the key is another one");
	result(!perform(IBV_WR_RDMA_WRITE, 64, b.buf + BUF - 64, b.mr->rkey) &&
		       sync_ends(0) && b.buf[BUF - 1] == 7,
	       "Write to it");
	result(!rereg(b.mr, REREG_TRANS, other, 8192, 0),
	       "reregister: other memory");
	result(!perform(IBV_WR_RDMA_WRITE, 64, other + 8192 - 64, b.mr->rkey) &&
		       !perform(IBV_WR_RDMA_READ, 64, other + 8192 - 64,
				b.mr->rkey) &&
		       other[8191] == 7,
	       "Write to it, Read");
	result(rereg(b.mr, REREG_TRANS, (void *)4096, 8192, 0),
	       "memory that is not there");
	perform(IBV_WR_RDMA_WRITE, 64, other, b.mr->rkey);
	result(async_event(a.id->verbs, IBV_EVENT_QP_FATAL) && !other[0],
	       "memory that is invalid then cannot be written");
	ibv_dereg_mr(b.mr);
	b.mr = NULL;
	free(other);
}

/* Refused for its size, before the kernel finds that there is nothing at the address */
static void case_too_large(void)
{
	struct ibv_device_attr attr;
	void *nowhere = (void *)4096;
	size_t size;

	if (!result(!ibv_query_device(b.id->verbs, &attr), "limits"))
		return;
	size = attr.max_mr_size + 1;
	errno = 0;
	result(!ibv_reg_mr(b.id->pd, nowhere, size, REMOTE) && errno == EINVAL,
	       "a region larger than max_mr_size");
	result(rereg(b.mr, REREG_TRANS, nowhere, size, 0) && errno == EINVAL,
	       "reregister: larger than max_mr_size");
}

static void case_rereg_rights(void)
{
	void *ro =
		mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr =
		ibv_reg_mr(b.id->pd, ro, 4096, IBV_ACCESS_REMOTE_READ);

	if (!result(mr, "memory for reading"))
		return;
	result(rereg(mr, REREG_ACCESS, NULL, 0, REMOTE),
	       "does not become writable");
	ibv_dereg_mr(mr);
	munmap(ro, 4096);
	memset(a.buf, 1, 64);
	result(!rereg(b.mr, REREG_ACCESS, NULL, 0, IBV_ACCESS_REMOTE_READ),
	       "reregister: no right to write");
	perform(IBV_WR_RDMA_WRITE, 64, b.buf, b.mr->rkey);
	result(async_event(a.id->verbs, IBV_EVENT_QP_FATAL) && !b.buf[0],
	       "a Write is refused");
}

static void case_rereg_domain(void)
{
	struct ibv_pd *other = ibv_alloc_pd(b.id->verbs);

	if (!result(other, "another protection domain"))
		return;
	b.mr->pd = other;
	result(!rereg(b.mr, REREG_PD, NULL, 0, 0),
	       "reregister: for another protection domain");
	memset(a.buf, 1, 64);
	perform(IBV_WR_RDMA_WRITE, 64, b.buf, b.mr->rkey);
	result(async_event(a.id->verbs, IBV_EVENT_QP_FATAL) && !b.buf[0],
	       "a Write over a queue pair of the former one is refused");
	ibv_dereg_mr(b.mr);
	b.mr = NULL;
	result(!ibv_dealloc_pd(other), "the protection domain goes");
}

/* Rights of the queue pair that the peer's requests come by */
static bool grant(int access)
{
	struct ibv_qp_attr attr = { .qp_access_flags = access };

	return !ibv_modify_qp(b.id->qp, &attr, IBV_QP_ACCESS_FLAGS);
}

/* As many bytes, and so often, that a NIC knows the region and places them itself */
static void write_often(void)
{
	int i;

	memset(a.buf, 1, 1024);
	/* the peer's NIC takes part when the peer has sent something */
	for (i = 0; i < 4; i++)
		if (perform(IBV_WR_RDMA_WRITE, 1024, b.buf, b.mr->rkey) ||
		    perform(IBV_WR_RDMA_READ, 64, b.buf + 2048, b.mr->rkey))
			break;
	result(i == 4 && sync_ends(0) && b.buf[1023] == 1,
	       "Writes over a queue pair as it is made");
}

static void case_read_only(void)
{
	write_often();
	result(grant(IBV_ACCESS_REMOTE_READ) &&
		       !perform(IBV_WR_RDMA_READ, 64, b.buf, b.mr->rkey),
	       "Read over a queue pair that grants no Write");
	memset(a.buf, 2, 1024);
	perform(IBV_WR_RDMA_WRITE, 1024, b.buf, b.mr->rkey);
	result(async_event(a.id->verbs, IBV_EVENT_QP_FATAL) && b.buf[1023] == 1,
	       "a Write over it is refused");
}

/* The same while the queue pair's NIC leaves, which begins when the file is there */
static void case_withdrawn(void)
{
	int ms;

	write_often();
	printf("# waits for %s\n", go_file);
	fflush(stdout);
	for (ms = 0; ms < WAIT_MS && access(go_file, F_OK); ms += 10)
		usleep(10000);
	result(grant(IBV_ACCESS_REMOTE_READ), "no Write is granted any more");
	memset(a.buf, 2, 1024);
	result(!post(IBV_WR_RDMA_WRITE, 0, a.buf, 1024, b.buf, b.mr->rkey),
	       "a Write is posted");
	/* much longer than it takes to come */
	sleep(2);
	result(b.buf[1023] == 1, "it changes nothing");
	printf("# has looked\n");
	fflush(stdout);
}

static void case_write_only(void)
{
	memset(a.buf, 1, 64);
	result(grant(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE) &&
		       !perform(IBV_WR_RDMA_WRITE, 64, b.buf, b.mr->rkey) &&
		       sync_ends(0) && b.buf[63] == 1,
	       "Write over a queue pair that grants no Read");
	memset(a.buf, 2, 64);
	result(perform(IBV_WR_RDMA_READ, 64, b.buf, b.mr->rkey) > 0 &&
		       a.buf[0] == 2,
	       "a Read over it is refused");
}

/* Read past the end: the peer's error, reported by Terminate, and a flush */
static void case_bounds(void)
{
	struct ibv_wc wc;

	result(receive(1), "a receive");
	result(perform(IBV_WR_RDMA_READ, 64, b.buf + BUF - 32, b.mr->rkey) > 0,
	       "Read past the end fails");
	result(completion(b.id->recv_cq, &wc) == IBV_WC_WR_FLUSH_ERR,
	       "the receive is flushed");
	result(perform(IBV_WR_RDMA_READ, 64, b.buf, b.mr->rkey) ==
		       IBV_WC_WR_FLUSH_ERR,
	       "and what is posted then");
}

static void one_case(const char *name, void (*run)(void), bool srq)
{
	printf("# %s\n", name);
	if (result(connect_both(srq), name))
		run();
	let_go(&a);
	let_go(&b);
}

static void all_cases(void)
{
	one_case("inline", case_inline, false);
	one_case("solicited events", case_solicited, false);
	one_case("moderation", case_moderation, false);
	one_case("shared receive queue", case_srq, true);
	one_case("a shared receive queue without receives", case_srq_late,
		 true);
	one_case("other memory", case_rereg, false);
	one_case("a region that is too large", case_too_large, false);
	one_case("other rights", case_rereg_rights, false);
	one_case("other domain", case_rereg_domain, false);
	one_case("no Write", case_read_only, false);
	one_case("no Read", case_write_only, false);
	one_case("bounds", case_bounds, false);
}

int main(int argc, char **argv)
{
	int opt;

	while ((opt = getopt(argc, argv, "h:p:w:")) != -1) {
		if (opt == 'h')
			host = optarg;
		else if (opt == 'p')
			port = optarg;
		else if (opt == 'w')
			go_file = optarg;
		else
			return 2;
	}
	printf("TAP version 13\n");
	if (result(start_listening(), "listen")) {
		if (go_file)
			one_case("a right goes", case_withdrawn, false);
		else
			all_cases();
		rdma_destroy_ep(listener);
	}
	printf("1..%d\n", tests);
	return failures != 0;
}
