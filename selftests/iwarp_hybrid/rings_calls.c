// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * hyb-rings: a program that calls uverbs and the connection manager when it should
 * not, or for what is not its own.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/userfaultfd.h>
#include <rdma/ib_user_verbs.h>

#include "rings.h"

#define PORT 7911
#define DOORBELLS 8
#define WAIT_MS 20000
/* for what must not come */
#define QUIET_MS 500

static bool readable(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) == 1;
}

/* ------------------------------------------------- a port of another port space */

static struct rdma_cm_id *listener(struct rdma_event_channel *channel,
				   enum rdma_port_space ps,
				   struct sockaddr *addr, int *err)
{
	struct rdma_cm_id *id;

	*err = 0;
	if (rdma_create_id(channel, &id, NULL, ps) ||
	    rdma_bind_addr(id, addr) || rdma_listen(id, 4))
		*err = errno;
	return id;
}

/*
 * The connection manager knows the ports of InfiniBand apart from those of TCP, but
 * both are ports of TCP in the end. A listener for IPv4 alone would be preferred.
 */
static void try_ports(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_in6 any6 = { .sin6_family = AF_INET6,
				     .sin6_port = htobe16(PORT) };
	struct sockaddr_in any4 = { .sin_family = AF_INET,
				    .sin_port = htobe16(PORT) };
	struct rdma_cm_id *own, *thief;
	int err, theft;

	own = listener(channel, RDMA_PS_TCP, (struct sockaddr *)&any6, &err);
	thief = listener(channel, RDMA_PS_IB, (struct sockaddr *)&any4, &theft);
	printf("# listen: %s, in the other port space: %s\n", strerror(err),
	       strerror(theft));
	result(!err && theft == EADDRINUSE,
	       "a port that another port space listens on");
	rdma_destroy_id(thief);
	rdma_destroy_id(own);
	rdma_destroy_event_channel(channel);
}

/* iWARP has no datagrams: a listener for them, as that of udaddy, would wait for ever. */
static void try_datagrams(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_in own;
	struct rdma_cm_id *id;
	struct conn c;
	int err;

	if (open_conn(&c)) {
		result(false, "a connection, for its address");
		return;
	}
	memcpy(&own, rdma_get_local_addr(c.id), sizeof(own));
	own.sin_port = htobe16(PORT);
	id = listener(channel, RDMA_PS_UDP, (struct sockaddr *)&own, &err);
	printf("# listen: %s\n", strerror(err));
	result(err == EPROTONOSUPPORT, "nothing listens for datagrams");
	rdma_destroy_id(id);
	rdma_destroy_event_channel(channel);
	disconnect(&c);
}

/* -------------------------------------------------- a queue pair that is no more */

static void try_error_state(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct rdma_conn_param param = conn_param;
	struct conn c;
	int err = 0;

	if (!open_conn(&c) && !ibv_modify_qp(c.id->qp, &attr, IBV_QP_STATE) &&
	    rdma_connect(c.id, &param))
		err = errno;
	printf("# %s\n", strerror(err));
	result(err == EINVAL, "a queue pair in state ERR is not connected");
	disconnect(&c);
}

/* --------------------------------------------- a queue pair that is half made */

/* The answer of the driver has a page of its own, which is not there */
struct half {
	struct conn other; /* whose queues it gets, and its number */
	struct rdma_cm_id *id; /* that it is connected by meanwhile */
	unsigned char *page;
	int uffd;
	int err;
	bool connected;
	int done[2];
};

static void *half_make(void *arg)
{
	struct half *h = arg;
	struct rdma_cm_id *id = h->other.id;
	size_t core = sizeof(struct ib_uverbs_create_qp_resp);
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_create_qp cmd;
	} req = {
		.hdr = { .command = IB_USER_VERBS_CMD_CREATE_QP,
			 .in_words = sizeof(req) / 4,
			 .out_words =
				 (core + sizeof(struct siw_uresp_create_qp)) /
				 4 },
		.cmd = { .response = (uintptr_t)h->page - core,
			 .pd_handle = id->pd->handle,
			 .send_cq_handle = id->send_cq->handle,
			 .recv_cq_handle = id->recv_cq->handle,
			 .max_send_wr = 1,
			 .max_recv_wr = 1,
			 .max_send_sge = 1,
			 .max_recv_sge = 1,
			 .qp_type = IBV_QPT_RC },
	};

	h->err = write(id->verbs->cmd_fd, &req, sizeof(req)) < 0 ? errno : 0;
	if (write(h->done[1], "", 1) != 1)
		perror("pipe");
	return NULL;
}

/* Two pages, and an access to the second waits for us */
static bool half_page(struct half *h)
{
	size_t page = getpagesize();
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	unsigned char *p;

	p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	h->uffd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (p == MAP_FAILED || h->uffd < 0 || ioctl(h->uffd, UFFDIO_API, &api))
		return false;
	h->page = p + page;
	reg.range.start = (uintptr_t)h->page;
	reg.range.len = page;
	return !ioctl(h->uffd, UFFDIO_REGISTER, &reg);
}

/* The driver waits for the page: connect what it makes, then there is none */
static bool half_connect(struct half *h)
{
	struct rdma_conn_param param = conn_param;
	size_t page = getpagesize();
	struct uffdio_range range = { (uintptr_t)h->page, page };

	if (!readable(h->uffd, WAIT_MS))
		return false;
	param.qp_num = h->other.id->qp->qp_num + 1;
	h->id = open_id(NULL);
	h->connected = h->id && !rdma_connect(h->id, &param);
	return !munmap(h->page, page) && !ioctl(h->uffd, UFFDIO_WAKE, &range);
}

static void half_end(struct half *h)
{
	disconnect(&h->other);
	if (h->uffd >= 0)
		close(h->uffd);
	close(h->done[0]);
	close(h->done[1]);
}

static void try_half_made(void)
{
	struct half h = { .uffd = -1 };
	pthread_t thread;

	if (open_conn(&h.other) || pipe(h.done)) {
		result(false, "a queue pair that is half made");
		return;
	}
	if (!half_page(&h)) {
		/* a kernel without userfaultfd() */
		skipped("a queue pair that is half made", strerror(errno));
		half_end(&h);
		return;
	}
	pthread_create(&thread, NULL, half_make, &h);
	result(half_connect(&h) && h.connected,
	       "a queue pair that is half made can be connected");
	result(readable(h.done[0], WAIT_MS),
	       "the failure to make it does not wait for the connection");
	/* if it did: until now */
	if (h.id)
		rdma_destroy_ep(h.id);
	pthread_join(thread, NULL);
	result(h.err == EFAULT, "the failure to make it is EFAULT");
	half_end(&h);
}

/* ------------------------------------------------------------ more and more events */

/* Events of that kind, until there are none for a while or more than one */
static int count_events(struct ibv_context *verbs, enum ibv_event_type type,
			int ms)
{
	struct ibv_async_event event;
	int n = 0;

	while (n < 2 && readable(verbs->async_fd, ms)) {
		if (ibv_get_async_event(verbs, &event))
			break;
		n += event.event_type == type;
		ibv_ack_async_event(&event);
	}
	return n;
}

static void post_nonsense(struct conn *c, unsigned int i)
{
	struct siw_sqe *sqe = (struct siw_sqe *)c->ring[SQ_PAGES] + i;

	sqe->opcode = 255;
	__atomic_store_n(&sqe->flags, SIW_WQE_VALID, __ATOMIC_SEQ_CST);
	doorbell(c);
}

/* The core keeps events that are not read: there must be an end of them */
static void try_many_events(void)
{
	struct conn c;
	unsigned int i;
	int first, more;

	if (connect_to_target(&c)) {
		result(false, "a connection for events");
		return;
	}
	/* no room for a completion, and there never will be */
	memset(c.ring[SEND_CQ_PAGES], 0xff, 2 * getpagesize());
	post_nonsense(&c, 0);
	first = count_events(c.id->verbs, IBV_EVENT_QP_FATAL, WAIT_MS / 4);
	for (i = 1; i <= DOORBELLS; i++)
		post_nonsense(&c, i);
	more = count_events(c.id->verbs, IBV_EVENT_QP_FATAL, QUIET_MS);
	printf("# events: %d, then %d\n", first, more);
	result(first == 1, "a completion that is lost is an event");
	result(!more, "more lost completions of a queue pair are no events");
	disconnect(&c);
}

void calls_tests(void)
{
	try_ports();
	try_datagrams();
	try_error_state();
	try_half_made();
	try_many_events();
}
