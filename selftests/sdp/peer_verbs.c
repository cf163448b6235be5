// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A peer of SDP over verbs, for any device: librdmacm and libibverbs in place of
 * the TCP socket of peer.c. There is one completion queue, polled by every wait.
 * Receives are posted again at once, what came is kept.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>

#include "peer_verbs.h"

#define SLOT 40960 /* the longest message, and what is after it */
#define SENDS 64
#define RECVS 128
#define WAIT_MS 20000
#define ANSWER_MS 2000 /* for an answer after the end, which need not come */
#define RECV_ID 0x10000 /* wr_id of a receive, its number added */
#define HEAD 18 /* of an untagged ULPDU */
#define MRS 16
#define RIGHTS                                              \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
	 IBV_ACCESS_REMOTE_READ)

struct arrived {
	struct arrived *next;
	size_t len;
	unsigned char ulpdu[];
};

struct verbs {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_cq *cq;
	struct ibv_mr *out, *in;
	struct ibv_mr *shared[MRS];
	unsigned int nshared;
	unsigned int posted, done; /* of what we send */
	struct arrived *first, **last;
	int cm_event, cm_status; /* the last one, -1: none yet */
	bool ib;
	bool established;
	bool ended; /* the other end has hung up, or has let go */
	bool failed; /* the queue pair takes nothing any more */
	bool fatal; /* iWARP: a Terminate came */
	enum ibv_wc_status refused;
};

static unsigned char *out, *in;

/* ---- what has happened ---- */

static void keep(struct verbs *v, unsigned int op, const void *data, size_t len)
{
	struct arrived *a = malloc(sizeof(*a) + HEAD + len);

	if (!a)
		abort();
	a->next = NULL;
	a->len = ulpdu_untagged(a->ulpdu, DDP_UNTAGGED, op, 0, 0, 0, 0, data,
				len);
	*v->last = a;
	v->last = &a->next;
}

static void post_recv(struct verbs *v, unsigned int i)
{
	struct ibv_sge sge = { .addr = (uintptr_t)(in + i * SLOT),
			       .length = SLOT,
			       .lkey = v->in->lkey };
	struct ibv_recv_wr wr = { .wr_id = RECV_ID + i,
				  .sg_list = &sge,
				  .num_sge = 1 },
			   *bad;

	ibv_post_recv(v->id->qp, &wr, &bad);
}

static void received(struct verbs *v, const struct ibv_wc *wc)
{
	unsigned int i = wc->wr_id - RECV_ID;
	unsigned char imm[8];

	if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
		put_be32(imm, ntohl(wc->imm_data));
		put_be32(imm + 4, wc->byte_len);
		keep(v, OP_IMM, imm, sizeof(imm));
	} else {
		keep(v, OP_SEND, in + i * SLOT, wc->byte_len);
	}
	post_recv(v, i);
}

static void completed(struct verbs *v, const struct ibv_wc *wc)
{
	if (wc->wr_id < RECV_ID)
		v->done++;
	if (wc->status == IBV_WC_SUCCESS) {
		if (wc->wr_id >= RECV_ID)
			received(v, wc);
		return;
	}
	v->failed = true;
	if (wc->status == IBV_WC_REM_INV_REQ_ERR ||
	    wc->status == IBV_WC_REM_ACCESS_ERR ||
	    wc->status == IBV_WC_REM_OP_ERR)
		v->refused = wc->status;
}

static bool readable(int fd)
{
	return net_wait(fd, POLLIN, 0);
}

static void keep_private(struct peer *p, const struct rdma_cm_event *ev)
{
	/* of 8 bits, there is room */
	size_t len = ev->param.conn.private_data_len;

	if (!len)
		return;
	p->private_len = len;
	memcpy(p->private_data, ev->param.conn.private_data, len);
}

static void cm_event(struct peer *p, struct verbs *v)
{
	struct rdma_cm_event *ev;

	if (rdma_get_cm_event(v->channel, &ev))
		return;
	v->cm_event = ev->event;
	v->cm_status = ev->status;
	if (ev->event == RDMA_CM_EVENT_ESTABLISHED) {
		v->established = true;
		keep_private(p, ev);
	}
	/* with a status there was no answer */
	if (ev->event == RDMA_CM_EVENT_DISCONNECTED && !ev->status)
		v->ended = true;
	/* a peer that ends before our answer to its answer is reported as a rejection */
	if (ev->event == RDMA_CM_EVENT_REJECTED && v->established)
		v->ended = true;
	rdma_ack_cm_event(ev);
}

static void progress(struct peer *p)
{
	struct verbs *v = p->over;
	struct ibv_async_event ev;
	struct ibv_wc wc;

	while (v->cq && ibv_poll_cq(v->cq, 1, &wc) > 0)
		completed(v, &wc);
	while (v->id && v->id->verbs && readable(v->id->verbs->async_fd) &&
	       !ibv_get_async_event(v->id->verbs, &ev)) {
		if (ev.event_type == IBV_EVENT_QP_FATAL && !v->ib)
			v->fatal = true;
		ibv_ack_async_event(&ev);
	}
	while (v->channel && readable(v->channel->fd))
		cm_event(p, v);
}

typedef bool (*condition)(const struct verbs *v);

static bool wait_until(struct peer *p, condition is, int timeout_ms)
{
	long end = net_ms() + timeout_ms;

	progress(p);
	while (!is(p->over)) {
		if (net_ms() >= end)
			return false;
		poll(NULL, 0, 1);
		progress(p);
	}
	return true;
}

/* ---- set-up ---- */

static bool has_event(const struct verbs *v)
{
	return v->cm_event >= 0;
}

static int next_event(struct peer *p)
{
	struct verbs *v = p->over;

	if (!wait_until(p, has_event, WAIT_MS))
		return -1;
	return v->cm_event;
}

static int resolve(struct peer *p, const struct sockaddr *sa)
{
	struct verbs *v = p->over;

	v->cm_event = -1;
	if (rdma_resolve_addr(v->id, NULL, (struct sockaddr *)sa, 2000) ||
	    next_event(p) != RDMA_CM_EVENT_ADDR_RESOLVED)
		return -1;
	v->cm_event = -1;
	if (rdma_resolve_route(v->id, 2000) ||
	    next_event(p) != RDMA_CM_EVENT_ROUTE_RESOLVED)
		return -1;
	return 0;
}

static int make_qp(struct verbs *v)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = SENDS,
			 .max_recv_wr = RECVS,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	unsigned int i;

	if (!out)
		out = aligned_alloc(4096, SENDS * SLOT);
	if (!in)
		in = aligned_alloc(4096, (RECVS + 1) * SLOT);
	v->cq = ibv_create_cq(v->id->verbs, SENDS + RECVS, NULL, NULL, 0);
	attr.send_cq = v->cq;
	attr.recv_cq = v->cq;
	if (!out || !in || !v->cq || rdma_create_qp(v->id, NULL, &attr))
		return -1;
	v->out = ibv_reg_mr(v->id->pd, out, SENDS * SLOT, 0);
	/* the last one is for what we read */
	v->in = ibv_reg_mr(v->id->pd, in, (RECVS + 1) * SLOT,
			   IBV_ACCESS_LOCAL_WRITE);
	if (!v->out || !v->in)
		return -1;
	for (i = 0; i < RECVS; i++)
		post_recv(v, i);
	return 0;
}

/* Destroys the queue pair and all else at once; the RDMA CM ends the connection */
static void verbs_reset(struct peer *p)
{
	struct verbs *v = p->over;

	if (v->id && v->id->qp)
		rdma_destroy_qp(v->id);
	verbs_forget(p);
	if (v->out)
		ibv_dereg_mr(v->out);
	if (v->in)
		ibv_dereg_mr(v->in);
	if (v->cq)
		ibv_destroy_cq(v->cq);
	if (v->id)
		rdma_destroy_id(v->id);
	v->out = NULL;
	v->in = NULL;
	v->cq = NULL;
	v->id = NULL;
	v->ended = true;
}

static void verbs_close(struct peer *p)
{
	struct verbs *v = p->over;
	struct arrived *a;

	if (!v)
		return;
	verbs_reset(p);
	p->over = NULL;
	p->ops = NULL;
	if (v->channel)
		rdma_destroy_event_channel(v->channel);
	while ((a = v->first)) {
		v->first = a->next;
		free(a);
	}
	free(v);
}

static struct verbs *make(struct peer *p)
{
	struct verbs *v = calloc(1, sizeof(*v));

	p->ulpdu = malloc(PEER_ULPDU_MAX + 16);
	if (!v || !p->ulpdu)
		abort();
	p->over = v;
	v->last = &v->first;
	v->channel = rdma_create_event_channel();
	if (!v->channel)
		abort();
	return v;
}

/* The device is known */
static int prepare(struct peer *p)
{
	struct verbs *v = p->over;

	if (make_qp(v)) {
		perror("# verbs");
		verbs_close(p);
		return -1;
	}
	v->ib = v->id->verbs->device->transport_type == IBV_TRANSPORT_IB;
	p->short_hello = v->ib;
	/* libsiw has none */
	p->has_imm = v->ib;
	fcntl(v->id->verbs->async_fd, F_SETFL, O_NONBLOCK);
	return 0;
}

static int verbs_connect(struct peer *p, const struct sockaddr *sa,
			 socklen_t len)
{
	struct verbs *v = make(p);

	(void)len;
	if (rdma_create_id(v->channel, &v->id, NULL, RDMA_PS_TCP) ||
	    resolve(p, sa)) {
		perror("# verbs");
		verbs_close(p);
		return -1;
	}
	return prepare(p);
}

static struct rdma_event_channel *listening;

static int verbs_listen(const struct sockaddr *sa, socklen_t len)
{
	struct rdma_cm_id *id;

	(void)len;
	listening = rdma_create_event_channel();
	if (!listening || rdma_create_id(listening, &id, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(id, (struct sockaddr *)sa) || rdma_listen(id, 16))
		return -1;
	return listening->fd;
}

static int verbs_accept(struct peer *p)
{
	struct rdma_cm_event *ev;
	struct verbs *v;

	if (rdma_get_cm_event(listening, &ev))
		return -1;
	if (ev->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
		rdma_ack_cm_event(ev);
		return -1;
	}
	v = make(p);
	v->id = ev->id;
	keep_private(p, ev);
	rdma_ack_cm_event(ev);
	if (rdma_migrate_id(v->id, v->channel)) {
		verbs_close(p);
		return -1;
	}
	return prepare(p);
}

static struct rdma_conn_param parameters(const void *private_data, size_t len)
{
	return (struct rdma_conn_param){
		.private_data = private_data,
		.private_data_len = len,
		.responder_resources = 4,
		.initiator_depth = 4,
		.retry_count = 7,
		.rnr_retry_count = 7, /* for ever */
	};
}

static int ask(struct verbs *v, const void *private_data, size_t len)
{
	struct rdma_conn_param param = parameters(private_data, len);

	v->cm_event = -1;
	return rdma_connect(v->id, &param);
}

int verbs_tell(struct peer *p, const void *private_data, size_t len)
{
	struct rdma_conn_param param = parameters(private_data, len);
	struct verbs *v = p->over;

	v->cm_event = -1;
	return rdma_accept(v->id, &param);
}

static int verbs_answer(struct peer *p, const void *private_data, size_t len)
{
	if (verbs_tell(p, private_data, len))
		return -1;
	return next_event(p) == RDMA_CM_EVENT_ESTABLISHED ? 0 : -1;
}

int verbs_ask(struct peer *p, const void *private_data, size_t len)
{
	struct verbs *v = p->over;

	if (ask(v, private_data, len))
		return -1;
	/* to take the event would be to go on */
	return net_wait(v->channel->fd, POLLIN, WAIT_MS) ? 0 : -1;
}

static int verbs_open(struct peer *p, const void *private_data, size_t len)
{
	if (ask(p->over, private_data, len))
		return -1;
	return next_event(p) == RDMA_CM_EVENT_ESTABLISHED ? 0 : -1;
}

/* ---- to the other end ---- */

static bool has_slot(const struct verbs *v)
{
	return v->posted - v->done < SENDS || v->failed || v->ended;
}

void verbs_post(struct peer *p, enum ibv_wr_opcode op, unsigned int flags,
		uint32_t key, uint64_t va, const void *data, size_t len,
		uint32_t imm)
{
	struct verbs *v = p->over;
	unsigned char *slot;
	struct ibv_sge sge = { .length = len };
	struct ibv_send_wr wr = { .opcode = op,
				  .send_flags = flags,
				  .sg_list = &sge,
				  .num_sge = 1 },
			   *bad;

	if (!v->id || !v->id->qp || len > SLOT ||
	    !wait_until(p, has_slot, WAIT_MS) || v->failed || v->ended)
		return;
	slot = out + v->posted % SENDS * SLOT;
	if (data && len)
		memcpy(slot, data, len);
	sge.addr = (uintptr_t)slot;
	sge.lkey = v->out->lkey;
	if (op == IBV_WR_RDMA_READ || op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		sge.addr = (uintptr_t)in + RECVS * SLOT;
		sge.lkey = v->in->lkey;
	}
	wr.wr_id = v->posted % SENDS;
	wr.wr.rdma.rkey = key;
	wr.wr.rdma.remote_addr = va;
	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.rkey = key;
		wr.wr.atomic.compare_add = 1;
	}
	if (op == IBV_WR_SEND_WITH_INV)
		wr.invalidate_rkey = key;
	else
		wr.imm_data = htonl(imm);
	if (!ibv_post_send(v->id->qp, &wr, &bad))
		v->posted++;
	else if (!v->failed)
		printf("# not posted: request %d\n", op);
}

static void verbs_send(struct peer *p, const void *data, size_t len)
{
	verbs_post(p, IBV_WR_SEND, 0, 0, 0, data, len, 0);
}

static void verbs_write(struct peer *p, uint32_t key, uint64_t to,
			const void *data, size_t len)
{
	verbs_post(p, IBV_WR_RDMA_WRITE, 0, key, to, data, len, 0);
}

static void verbs_write_imm(struct peer *p, uint32_t key, uint64_t to,
			    const void *data, size_t len, uint32_t imm)
{
	verbs_post(p, IBV_WR_RDMA_WRITE_WITH_IMM, 0, key, to, data, len, imm);
}

static void verbs_read(struct peer *p, uint32_t key, uint64_t from, size_t len)
{
	verbs_post(p, IBV_WR_RDMA_READ, 0, key, from, NULL, len, 0);
}

/* ---- memory ---- */

static struct ibv_mr *share(struct verbs *v, void *mem, size_t len, int rights)
{
	struct ibv_mr *mr = NULL;

	if (v->nshared < MRS)
		mr = ibv_reg_mr(v->id->pd, mem, len, rights);
	if (!mr)
		abort();
	v->shared[v->nshared++] = mr;
	return mr;
}

void verbs_forget(struct peer *p)
{
	struct verbs *v = p->over;

	while (v->nshared)
		ibv_dereg_mr(v->shared[--v->nshared]);
}

static void verbs_share(struct peer *p, void *mem, size_t len, uint32_t *key,
			uint64_t *va)
{
	*key = share(p->over, mem, len, RIGHTS)->rkey;
	*va = (uintptr_t)mem;
}

uint32_t verbs_key(struct peer *p, enum verbs_key kind, void *mem, size_t len,
		   bool writes)
{
	struct verbs *v = p->over;
	int rights = RIGHTS;
	uint32_t key;

	if (kind == KEY_DENIED)
		rights &= ~(writes ? IBV_ACCESS_REMOTE_WRITE :
				     IBV_ACCESS_REMOTE_READ);
	if (kind == KEY_SHORT)
		len = 4096;
	key = share(v, mem, len, rights)->rkey;
	if (kind == KEY_GONE)
		ibv_dereg_mr(v->shared[--v->nshared]);
	return kind == KEY_NEVER ? key ^ 0x5a5a5a00 : key;
}

/* ---- from the other end ---- */

static bool has_more(const struct verbs *v)
{
	return v->first || v->ended;
}

static int verbs_recv(struct peer *p, int timeout_ms)
{
	struct verbs *v = p->over;
	struct arrived *a;

	if (!wait_until(p, has_more, timeout_ms))
		return -2;
	a = v->first;
	if (!a)
		return 0;
	v->first = a->next;
	if (!v->first)
		v->last = &v->first;
	memcpy(p->ulpdu, a->ulpdu, a->len);
	p->ulpdu_len = a->len;
	free(a);
	return 1;
}

static bool verbs_ready(struct peer *p, int timeout_ms)
{
	return wait_until(p, has_more, timeout_ms);
}

/* ---- the end ---- */

static bool has_sent(const struct verbs *v)
{
	return v->posted == v->done || v->failed || v->ended;
}

/* As a FIN: after what was sent */
static void verbs_hang_up(struct peer *p)
{
	struct verbs *v = p->over;

	wait_until(p, has_sent, WAIT_MS);
	if (!v->ended)
		rdma_disconnect(v->id);
}

static void verbs_die(struct peer *p)
{
	struct verbs *v = p->over;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (!v->ended)
		ibv_modify_qp(v->id->qp, &attr, IBV_QP_STATE);
}

static bool has_ended(const struct verbs *v)
{
	return v->ended;
}

static bool has_answers(const struct verbs *v)
{
	return v->posted == v->done || v->failed;
}

static enum peer_end verbs_wait_end(struct peer *p, int timeout_ms)
{
	struct verbs *v = p->over;

	if (!wait_until(p, has_ended, timeout_ms))
		return END_NONE;
	/* the message of the connection manager may overtake the answer of the device */
	if (v->ib)
		wait_until(p, has_answers, p->refusal ? timeout_ms : ANSWER_MS);
	progress(p);
	return v->refused || v->fatal ? END_TERMINATE : END_FIN;
}

/* InfiniBand has two answers; iWARP tells the program of no reason */
static bool verbs_refused(const struct peer *p, unsigned int term)
{
	const struct verbs *v = p->over;

	/* what the layer above has found shows otherwise */
	if (term >> 8 == 0x02)
		return false;
	if (!v->ib)
		return v->fatal;
	/* too long a message is an operation that failed, to rxe */
	if (term >> 8 == 0x12)
		return v->refused == IBV_WC_REM_INV_REQ_ERR ||
		       v->refused == IBV_WC_REM_OP_ERR;
	return v->refused == IBV_WC_REM_ACCESS_ERR;
}

bool verbs_is_ib(const struct peer *p)
{
	const struct verbs *v = p->over;

	return v->ib;
}

const struct peer_ops peer_verbs = {
	.connect = verbs_connect,
	.open = verbs_open,
	.listen = verbs_listen,
	.accept = verbs_accept,
	.answer = verbs_answer,
	.send_message = verbs_send,
	.write = verbs_write,
	.write_imm = verbs_write_imm,
	.read = verbs_read,
	.share = verbs_share,
	.recv = verbs_recv,
	.ready = verbs_ready,
	.hang_up = verbs_hang_up,
	.reset = verbs_reset,
	.die = verbs_die,
	.wait_end = verbs_wait_end,
	.refused = verbs_refused,
	.close = verbs_close,
};
