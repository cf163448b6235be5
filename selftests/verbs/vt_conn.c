// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_test.ko, connections: two queue pairs of this module, connected by rdma_cm,
 * whose devices are in different network namespaces; requests, and waiting for
 * them. See vt.h.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <rdma/ib_cm.h>

#include "vt.h"

static struct rdma_cm_id *vt_listener;
static struct vt_conn *vt_expected;	/* connection of the next request */
static struct sockaddr_in vt_peer;
static u8 vt_private = 64;		/* bytes of private data */
static bool vt_rejects;			/* reject requests */
static struct vt_reads vt_reads_a = { VT_READS, VT_READS };
static struct vt_reads vt_reads_b = { VT_READS, VT_READS };

/* ------------------------------------------------------------------ requests */

static void vt_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct vt_wr *w = container_of(wc->wr_cqe, struct vt_wr, cqe);
	struct vt_side *s = cq->cq_context;

	w->wc = *wc;
	w->nr = s->completed++;
	w->done = true;
}

/* An unused entry: entries live as long as the queues do */
static struct vt_wr *vt_new(struct vt_side *s)
{
	struct vt_wr *w = &s->wr[s->used++ % VT_REQUESTS];

	WARN_ON_ONCE(s->used > VT_REQUESTS);
	memset(w, 0, sizeof(*w));
	w->cqe.done = vt_done;
	return w;
}

/**
 * vt_addr() - address of a byte of the region, for requests
 * @s: side
 * @off: byte
 *
 * Return: the address, local or remote.
 */
u64 vt_addr(const struct vt_side *s, u32 off)
{
	return s->mr->iova + off;
}

static struct ib_sge vt_sge(const struct vt_side *s, u32 off, u32 len)
{
	if (!len)
		return (struct ib_sge) {};
	return (struct ib_sge) {
		.addr = vt_addr(s, off),
		.length = len,
		.lkey = s->mr->lkey,
	};
}

/**
 * vt_recv() - post a receive
 * @s: side
 * @off: buffer in the region
 * @len: its length
 *
 * Return: entry that gets the completion, or has the error of posting.
 */
struct vt_wr *vt_recv(struct vt_side *s, u32 off, u32 len)
{
	struct ib_sge sge = vt_sge(s, off, len);
	struct vt_wr *w = vt_new(s);
	struct ib_recv_wr wr = {
		.wr_cqe = &w->cqe,
		.sg_list = &sge,
		.num_sge = len ? 1 : 0,
	};

	w->err = s->srq ? ib_post_srq_recv(s->srq, &wr, NULL) :
			  ib_post_recv(s->id->qp, &wr, NULL);
	return w;
}

/**
 * vt_post() - post a request, with completion
 * @s: side
 * @wr: request; its scatter list is filled in
 * @off: buffer in the region
 * @len: its length
 *
 * Return: entry that gets the completion, or has the error of posting.
 */
struct vt_wr *vt_post(struct vt_side *s, struct ib_send_wr *wr, u32 off,
		      u32 len)
{
	struct ib_sge sge = vt_sge(s, off, len);
	struct vt_wr *w = vt_new(s);

	wr->wr_cqe = &w->cqe;
	wr->send_flags |= IB_SEND_SIGNALED;
	wr->sg_list = &sge;
	wr->num_sge = len ? 1 : 0;
	w->err = ib_post_send(s->id->qp, wr, NULL);
	return w;
}

/**
 * vt_wait() - wait for a completion
 * @s: side
 * @w: request or receive
 *
 * Return: whether it came; false at once if posting failed.
 */
bool vt_wait(struct vt_side *s, struct vt_wr *w)
{
	unsigned long end = jiffies + KT_WAIT;

	while (!w->err) {
		ib_process_cq_direct(s->cq, -1);
		if (w->done || time_after(jiffies, end))
			return w->done;
		usleep_range(500, 1000);
	}
	return false;
}

/**
 * vt_end() - wait for the end of the connection
 * @s: side
 * Return: true if rdma_cm reported it.
 */
bool vt_end(struct vt_side *s)
{
	return wait_for_completion_timeout(&s->ended, KT_WAIT);
}

/**
 * vt_good() - wait for a completion without error
 * @s: side
 * @w: request or receive
 * @opcode: opcode that the completion has to have
 *
 * Return: whether it came, without an error, with @opcode and for the queue pair of @s.
 */
bool vt_good(struct vt_side *s, struct vt_wr *w, enum ib_wc_opcode opcode)
{
	return vt_wait(s, w) && w->wc.status == IB_WC_SUCCESS &&
	       w->wc.opcode == opcode && w->wc.qp == s->id->qp;
}

/* --------------------------------------------------------------- connections */

static void vt_cq_event(struct ib_cq *cq, void *context)
{
	struct vt_side *s = context;

	atomic_inc(&s->events);
}

/* A queue that only vt_wait() polls */
static int vt_make_cq(struct vt_side *s)
{
	struct ib_cq_init_attr attr = { .cqe = 4 * VT_DEPTH };

	s->cq = ib_create_cq(s->id->device, vt_cq_event, NULL, s, &attr);
	if (IS_ERR(s->cq))
		return PTR_ERR(s->cq);
	/* for ib_drain_qp(); ib_alloc_cq() would set it, but takes no event handler */
	s->cq->poll_ctx = IB_POLL_DIRECT;
	return 0;
}

static int vt_make_srq(struct vt_side *s)
{
	struct ib_srq_init_attr attr = {
		.srq_type = IB_SRQT_BASIC,
		.attr = { .max_wr = VT_DEPTH, .max_sge = 1 },
	};

	s->srq = ib_create_srq(s->pd, &attr);
	return PTR_ERR_OR_ZERO(s->srq);
}

static void vt_close(struct work_struct *work)
{
	struct vt_side *s = container_of(work, struct vt_side, close);
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	ib_modify_qp(s->id->qp, &attr, IB_QP_STATE);
	complete(&s->closed);
}

/* A hasty side has its queue pair closed by a work item, and waits up to 2 s for that */
static void vt_qp_event(struct ib_event *event, void *context)
{
	struct vt_side *s = context;
	int i;

	set_bit(event->event, &s->qp_events);
	if (!s->hasty)
		return;
	s->hasty = false;
	queue_work(system_unbound_wq, &s->close);
	for (i = 0; i < 400000 && !completion_done(&s->closed); i++)
		udelay(5);
	s->closed_first = completion_done(&s->closed);
}

/* The queues of a side, and its protection domain, or those of its lender */
static int vt_make_queues(struct vt_side *s, bool use_srq)
{
	int err;

	if (s->lender) {
		s->pd = s->lender->pd;
		s->cq = s->lender->cq;
		s->srq = s->lender->srq;
		return 0;
	}
	s->pd = ib_alloc_pd(s->id->device, 0);
	if (IS_ERR(s->pd))
		return PTR_ERR(s->pd);
	err = vt_make_cq(s);
	if (!err && use_srq)
		err = vt_make_srq(s);
	return err;
}

static int vt_make_qp(struct vt_side *s, bool use_srq)
{
	struct ib_qp_init_attr attr = {
		.event_handler = vt_qp_event,
		.qp_context = s,
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.cap = {
			.max_send_wr = VT_DEPTH,
			.max_recv_wr = VT_DEPTH,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};
	int err;

	/* pages, of which TCP can take references */
	s->buf = alloc_pages_exact(VT_BUF, GFP_KERNEL | __GFP_ZERO);
	if (!s->buf)
		return -ENOMEM;
	err = vt_make_queues(s, use_srq);
	if (err)
		return err;
	attr.send_cq = s->cq;
	attr.recv_cq = s->cq;
	attr.srq = s->srq;
	return rdma_create_qp(s->id, s->pd, &attr);
}

/* Register the region by a request, which takes a connection that is up */
static int vt_register_mr(struct vt_side *s, int access)
{
	struct ib_reg_wr reg = { .wr.opcode = IB_WR_REG_MR };
	struct scatterlist sg;

	sg_init_one(&sg, s->buf, VT_BUF);
	if (ib_dma_map_sg(s->id->device, &sg, 1, DMA_BIDIRECTIONAL) != 1)
		return -EIO;
	if (ib_map_mr_sg(s->mr, &sg, 1, NULL, PAGE_SIZE) != 1)
		return -EIO;
	reg.mr = s->mr;
	reg.key = s->mr->rkey;
	reg.access = access;
	return vt_good(s, vt_post(s, &reg.wr, 0, 0), IB_WC_REG_MR) ? 0 : -EIO;
}

static int vt_register(struct vt_side *s, int access)
{
	s->mr = ib_alloc_mr(s->pd, IB_MR_TYPE_MEM_REG, VT_BUF / PAGE_SIZE + 1);
	if (IS_ERR(s->mr))
		return PTR_ERR(s->mr);
	return vt_register_mr(s, access);
}

/**
 * vt_reregister() - give the region a new key, after its old one was invalidated
 * @s: side
 * @access: rights
 *
 * Return: 0 or a negative errno.
 */
int vt_reregister(struct vt_side *s, int access)
{
	ib_update_fast_reg_key(s->mr, ib_inc_rkey(s->mr->rkey));
	return vt_register_mr(s, access);
}

/* The listening side must not send before it has received a message, RFC 5044 */
static int vt_hello(struct vt_conn *c)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	struct vt_wr *r = vt_recv(&c->b, 0, 0);
	struct vt_wr *w = vt_post(&c->a, &wr, 0, 0);

	return vt_good(&c->b, r, IB_WC_RECV) &&
	       vt_good(&c->a, w, IB_WC_SEND) ? 0 : -EIO;
}

static void vt_side_init(struct vt_side *s)
{
	init_completion(&s->step.done);
	init_completion(&s->ended);
	init_completion(&s->closed);
	INIT_WORK(&s->close, vt_close);
}

static void vt_side_free(struct vt_side *s)
{
	if (!s->id)
		return;
	if (s->id->qp) {
		flush_work(&s->close);
		rdma_disconnect(s->id);
		ib_drain_qp(s->id->qp);
		rdma_destroy_qp(s->id);
	}
	if (!IS_ERR_OR_NULL(s->mr))
		ib_dereg_mr(s->mr);
	if (s->lender)
		goto id;
	if (!IS_ERR_OR_NULL(s->srq))
		ib_destroy_srq(s->srq);
	if (!IS_ERR_OR_NULL(s->cq))
		ib_destroy_cq(s->cq);
	if (!IS_ERR_OR_NULL(s->pd))
		ib_dealloc_pd(s->pd);
id:
	rdma_destroy_id(s->id);
	if (s->buf)
		free_pages_exact(s->buf, VT_BUF);
}

static void vt_keep_private(struct vt_side *s, const struct rdma_cm_event *ev)
{
	const struct rdma_conn_param *p = &ev->param.conn;

	s->pdata_len = p->private_data_len;
	if (p->private_data)
		memcpy(s->pdata, p->private_data, s->pdata_len);
}

static struct vt_reads vt_reads_of(const struct rdma_cm_event *event)
{
	return (struct vt_reads) {
		.initiator = event->param.conn.initiator_depth,
		.responder = event->param.conn.responder_resources,
	};
}

static int vt_cm_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct vt_side *s = id->context;
	u8 len;

	switch (event->event) {
	case RDMA_CM_EVENT_REJECTED:
		s->rejected = rdma_consumer_reject_data(id, event, &len);
		vt_keep_private(s, event);
		kt_step_end(&s->step, event->status);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		s->agreed = vt_reads_of(event);
		/* the listening side has got its private data with the request */
		if (!s->pdata_len)
			vt_keep_private(s, event);
		fallthrough;
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		kt_step_end(&s->step, 0);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		complete(&s->ended);
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	default:
		kt_step_end(&s->step, event->status ?: -EIO);
		break;
	}
	return 0;
}

static struct rdma_conn_param vt_param(u8 *pdata, const struct vt_reads *reads)
{
	int i;

	for (i = 0; i < vt_private; i++)
		pdata[i] = i ^ 0x5a;
	return (struct rdma_conn_param) {
		.private_data = pdata,
		.private_data_len = vt_private,
		.responder_resources = reads->responder,
		.initiator_depth = reads->initiator,
	};
}

static int vt_accept(struct vt_conn *c, struct rdma_cm_id *id,
		     struct rdma_cm_event *event)
{
	struct rdma_conn_param param;
	struct vt_side *s = &c->b;
	u8 pdata[U8_MAX];
	int err;

	s->id = id;
	id->context = s;
	vt_keep_private(s, event);
	s->asked = vt_reads_of(event);
	param = vt_param(pdata, &vt_reads_b);
	err = vt_make_qp(s, c->use_srq);
	return err ?: rdma_accept(id, &param);
}

/*
 * Return: an error, so that rdma_cm destroys the id. Without rdma_reject() the peer would get no
 * private data.
 */
static int vt_reject(struct rdma_cm_id *id)
{
	struct rdma_conn_param param;
	u8 pdata[U8_MAX];

	param = vt_param(pdata, &vt_reads_b);
	rdma_reject(id, pdata, param.private_data_len,
		    IB_CM_REJ_CONSUMER_DEFINED);
	return -ECONNREFUSED;
}

static int vt_listen_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct vt_conn *c = vt_expected;
	int err;

	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return id->context ? vt_cm_event(id, event) : 0;
	if (vt_rejects)
		return vt_reject(id);
	if (!c)
		return -ECONNREFUSED;
	vt_expected = NULL;
	err = vt_accept(c, id, event);
	if (err)
		kt_step_end(&c->b.step, err);
	return 0;
}

static int vt_dial(struct vt_side *s)
{
	struct rdma_conn_param param;
	u8 pdata[U8_MAX];
	int err;

	err = kt_resolve(&s->id, &vt_peer, vt_cm_event, s, &s->step);
	if (err)
		return err;
	err = vt_make_qp(s, false);
	if (err)
		return err;
	param = vt_param(pdata, &vt_reads_a);
	return kt_step_wait(&s->step, rdma_connect(s->id, &param));
}

static struct vt_conn *vt_connect(bool use_srq, struct vt_side *lender,
				  int access)
{
	struct vt_conn *c = kvzalloc(sizeof(*c), GFP_KERNEL);
	int err = -ENOMEM;

	if (!c)
		goto out;
	c->use_srq = use_srq;
	c->access = access;
	vt_side_init(&c->a);
	vt_side_init(&c->b);
	c->b.lender = lender;
	vt_expected = c;
	err = vt_dial(&c->a);
	err = err ?: kt_step_wait(&c->b.step, 0);
	/* siw misses a first message that comes early */
	if (!err)
		msleep(50);
	err = err ?: vt_register(&c->a, IB_ACCESS_LOCAL_WRITE |
					IB_ACCESS_REMOTE_WRITE |
					IB_ACCESS_REMOTE_READ);
	err = err ?: vt_hello(c);
	err = err ?: vt_register(&c->b, access);
out:
	if (!err)
		return c;
	kt_ok(false, "a connection is set up: %d", err);
	if (c)
		vt_down(c);
	return NULL;
}

/**
 * vt_up() - connect two sides, with a registered region each
 * @use_srq: the listening side has a shared receive queue
 * @access: rights to its region; those to the other side's are LOCAL_WRITE, REMOTE_WRITE and
 *	REMOTE_READ
 *
 * Return: the connection, or NULL after a failed check.
 */
struct vt_conn *vt_up(bool use_srq, int access)
{
	return vt_connect(use_srq, NULL, access);
}

/**
 * vt_up_beside() - vt_up() with the queues of another connection
 * @lender: listening side of that connection, which must end later; has a shared receive queue
 * @access: rights to the region of the listening side
 *
 * Return: the connection, or NULL after a failed check.
 */
struct vt_conn *vt_up_beside(struct vt_side *lender, int access)
{
	return vt_connect(true, lender, access);
}

/**
 * vt_up_to() - connect one side to another peer, with a registered region
 * @args: address and port, which vt_up() uses as well from now on
 *
 * Return: the connection, or NULL after a failed check.
 */
struct vt_conn *vt_up_to(const char *args)
{
	struct vt_conn *c = kvzalloc(sizeof(*c), GFP_KERNEL);
	int err = -ENOMEM;
	u32 unused;

	if (!c)
		goto out;
	vt_side_init(&c->a);
	err = kt_parse_addr(args, &vt_peer, &unused);
	err = err ?: vt_dial(&c->a);
	err = err ?: vt_register(&c->a, IB_ACCESS_LOCAL_WRITE);
out:
	if (!err)
		return c;
	kt_ok(false, "a connection is set up: %d", err);
	if (c)
		vt_down(c);
	return NULL;
}

/**
 * vt_up_rejected() - connect to the listener while it rejects
 * @err: result of connecting
 *
 * Return: the connection, of which only the connecting side exists, or NULL after a failed
 * check.
 */
struct vt_conn *vt_up_rejected(int *err)
{
	struct vt_conn *c = kvzalloc(sizeof(*c), GFP_KERNEL);

	if (!c) {
		kt_ok(false, "there is memory for a connection");
		return NULL;
	}
	vt_side_init(&c->a);
	vt_rejects = true;
	*err = vt_dial(&c->a);
	vt_rejects = false;
	return c;
}

/**
 * vt_set_reads() - choose how many Reads both sides ask for
 * @a: numbers of the connecting side
 * @b: numbers of the listening side
 */
void vt_set_reads(struct vt_reads a, struct vt_reads b)
{
	vt_reads_a = a;
	vt_reads_b = b;
}

/**
 * vt_set_private() - choose how much private data both sides send
 * @len: bytes
 */
void vt_set_private(u8 len)
{
	vt_private = len;
}

/**
 * vt_down() - undo vt_up(), and its variants
 * @c: connection
 */
void vt_down(struct vt_conn *c)
{
	vt_expected = NULL;
	vt_side_free(&c->a);
	vt_side_free(&c->b);
	kvfree(c);
}

/**
 * vt_set_peer() - choose the address that vt_up() connects to
 * @args: address and port
 *
 * Return: 0, or -EINVAL, also without a listener.
 */
int vt_set_peer(const char *args)
{
	u32 unused;

	return vt_listener ? kt_parse_addr(args, &vt_peer, &unused) : -EINVAL;
}

/**
 * vt_listen() - listen for connections, until vt_unlisten()
 * @args: address and port
 *
 * Return: 0 or a negative errno.
 */
int vt_listen(const char *args)
{
	struct rdma_cm_id *id;

	vt_unlisten();
	id = kt_listen(args, vt_listen_event);
	if (IS_ERR(id))
		return PTR_ERR(id);
	vt_listener = id;
	return 0;
}

/**
 * vt_unlisten() - stop listening
 */
void vt_unlisten(void)
{
	if (vt_listener)
		rdma_destroy_id(vt_listener);
	vt_listener = NULL;
}
