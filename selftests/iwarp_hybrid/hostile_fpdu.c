// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Attacks in full operation: FPDUs, DDP segments, RDMAP messages.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "hostile.h"

#define STAG_UNKNOWN 0xdead5500u

static unsigned char big[PEER_ULPDU_MAX + 64];

static uint32_t stag_of(const struct target_memory *m, const struct attack *a)
{
	return a->region < 0 ? STAG_UNKNOWN : m->stag[a->region];
}

static uint64_t to_of(const struct target_memory *m, const struct attack *a)
{
	return (a->region < 0 ? 0 : m->addr[a->region]) + a->to;
}

static enum peer_end tagged(struct peer *p, const struct target_memory *m,
			    const struct attack *a)
{
	size_t n = ulpdu_tagged(big, a->ddp, a->rdmap, stag_of(m, a),
				to_of(m, a), NULL, 0) +
		   a->len;

	peer_send_fpdu(p, big, n, NULL);
	return END_NONE;
}

static enum peer_end absolute(struct peer *p, const struct target_memory *m,
			      const struct attack *a)
{
	size_t n = ulpdu_tagged(big, a->ddp, a->rdmap, stag_of(m, a), a->to,
				NULL, 0) +
		   a->len;

	peer_send_fpdu(p, big, n, NULL);
	return END_NONE;
}

static enum peer_end untagged(struct peer *p, const struct target_memory *m,
			      const struct attack *a)
{
	size_t n;

	(void)m;
	memset(big, 'x', 512);
	n = ulpdu_untagged(big, a->ddp, a->rdmap, a->inval, a->qn, a->msn,
			   a->mo, NULL, 0) +
	    a->len;
	peer_send_fpdu(p, big, n, NULL);
	if (a->rdmap == OP_SEND && a->ends[0] == E_ALIVE)
		p->msn++;
	return END_NONE;
}

static enum peer_end read_request(struct peer *p, const struct target_memory *m,
				  const struct attack *a)
{
	size_t n = ulpdu_read_request(big, a->msn, 0x1234, 0, a->len,
				      stag_of(m, a), to_of(m, a));

	peer_send_fpdu(p, big, n, NULL);
	return END_NONE;
}

static enum peer_end read_wraps(struct peer *p, const struct target_memory *m,
				const struct attack *a)
{
	size_t n = ulpdu_read_request(big, 1, 0x1234, 0, a->len, stag_of(m, a),
				      a->to);

	peer_send_fpdu(p, big, n, NULL);
	return END_NONE;
}

/* A claim for ULPDU_Length, with as many bytes as there are. */
static enum peer_end length(struct peer *p, const struct target_memory *m,
			    const struct attack *a)
{
	(void)m;
	memset(big, 0, a->len);
	ulpdu_untagged(big, DDP_UNTAGGED, OP_SEND, 0, 0, 1, 0, NULL, 0);
	peer_send_fpdu(p, big, a->len, NULL);
	return END_NONE;
}

/* 65535 announced, few bytes sent, then nothing more. */
static enum peer_end length_only(struct peer *p, const struct target_memory *m,
				 const struct attack *a)
{
	struct fpdu_options opt = { .length = 65535 };

	(void)m;
	(void)a;
	ulpdu_untagged(big, DDP_UNTAGGED, OP_SEND, 0, 0, 1, 0, NULL, 0);
	peer_send_fpdu(p, big, 100, &opt);
	poll(NULL, 0, 300);
	shutdown(p->fd, SHUT_WR);
	return END_NONE;
}

static enum peer_end bad_crc(struct peer *p, const struct target_memory *m,
			     const struct attack *a)
{
	struct fpdu_options opt = { .length = -1, .bad_crc = true };
	size_t n =
		ulpdu_untagged(big, DDP_UNTAGGED, OP_SEND, 0, 0, 1, 0, "Ex", 2);

	(void)m;
	(void)a;
	peer_send_fpdu(p, big, n, &opt);
	return END_NONE;
}

/* A command that is carried out when this returns true */
static bool obeyed(struct peer *p, unsigned char word)
{
	peer_send_message(p, &word, 1);
	word = TARGET_ECHO;
	peer_send_message(p, &word, 1);
	return peer_recv_fpdu(p, peer_patience(10000)) == 1;
}

/* Not the last segments of a Write, as long as a device likes them */
static void good_segments(struct peer *p, const struct target_memory *m)
{
	size_t i, n = ulpdu_tagged(big, DDP_TAGGED & ~DDP_NOT_LAST, OP_WRITE,
				   m->stag[REGION_RW], m->addr[REGION_RW], NULL,
				   0) +
		      600;

	for (i = 0; i < 3 && m->addr[REGION_RW]; i++)
		peer_send_fpdu(p, big, n, NULL);
}

/* One more, with a mistake: in the markers, in the CRC, where it goes */
static void one_more(struct peer *p, const struct attack *a, uint32_t stag,
		     uint64_t to)
{
	struct fpdu_options opt = {
		.length = -1,
		.mark = a->qn,
		.bad_crc = a->inval,
	};
	size_t n;

	n = ulpdu_tagged(big, DDP_TAGGED & ~DDP_NOT_LAST, OP_WRITE, stag, to,
			 NULL, 0) +
	    a->len;
	peer_send_fpdu(p, big, n, &opt);
}

static enum peer_end behind_good(struct peer *p, const struct target_memory *m,
				 const struct attack *a)
{
	good_segments(p, m);
	one_more(p, a, stag_of(m, a), to_of(m, a));
	return END_NONE;
}

/*
 * The memory goes while it is written to; msn: the peer names it by STag 0, which
 * is none, then.
 */
static enum peer_end behind_end(struct peer *p, const struct target_memory *m,
				const struct attack *a)
{
	good_segments(p, m);
	if (!obeyed(p, TARGET_DEREG))
		return END_NO_FRAME;
	if (!a->msn)
		good_segments(p, m);
	one_more(p, a, a->msn ? 0 : stag_of(m, a), to_of(m, a));
	return END_NONE;
}

/*
 * A Write with a mistake in its markers; the first FPDU begins with one. Where
 * that is missing or late, a length of 0 stands after it.
 */
static enum peer_end marker(struct peer *p, const struct target_memory *m,
			    const struct attack *a)
{
	struct fpdu_options opt = { .length = -1, .mark = a->qn };
	size_t n = ulpdu_tagged(big, DDP_TAGGED, OP_WRITE, m->stag[REGION_RW],
				m->addr[REGION_RW], NULL, 0) +
		   a->len;

	/* a Send, where there is nothing to write to, or an STag would be a length */
	if (!m->addr[REGION_RW] || a->qn == MARK_MISSING)
		n = ulpdu_untagged(big, DDP_UNTAGGED, OP_SEND, 0, 0, 1, 0, NULL,
				   0) +
		    a->len;
	peer_send_fpdu(p, big, n, &opt);
	return END_NONE;
}

/* FPDUs of any length with right markers, so that they stand everywhere */
static enum peer_end markers_everywhere(struct peer *p,
					const struct target_memory *m,
					const struct attack *a)
{
	uint32_t len;
	size_t n;

	for (len = 0; len < a->len; len++) {
		n = ulpdu_tagged(big, DDP_TAGGED, OP_WRITE, m->stag[REGION_RW],
				 m->addr[REGION_RW], NULL, 0) +
		    len;
		peer_send_fpdu(p, big, n, NULL);
	}
	return END_NONE;
}

static enum peer_end overflow_in_parts(struct peer *p,
				       const struct target_memory *m,
				       const struct attack *a)
{
	uint32_t mo;
	size_t n;

	(void)m;
	(void)a;
	for (mo = 0; mo < 4 * TARGET_MESSAGE; mo += 100) {
		n = ulpdu_untagged(big, DDP_UNTAGGED & ~DDP_NOT_LAST, OP_SEND,
				   0, 0, 1, mo, NULL, 0) +
		    100;
		peer_send_fpdu(p, big, n, NULL);
	}
	return END_NONE;
}

/*
 * Segments that fill the receive exactly, then one more. The receive before it,
 * that of the first message, had two buffers: the second must be forgotten.
 */
static enum peer_end behind_full(struct peer *p, const struct target_memory *m,
				 const struct attack *a)
{
	unsigned char word = TARGET_ECHO;
	size_t n;

	(void)m;
	peer_send_message(p, &word, 1);
	if (peer_recv_fpdu(p, peer_patience(10000)) != 1)
		return END_NO_FRAME;
	n = ulpdu_untagged(big, DDP_UNTAGGED & ~DDP_NOT_LAST, OP_SEND, 0, 0,
			   p->msn, 0, NULL, 0);
	peer_send_fpdu(p, big, n + TARGET_MESSAGE, NULL);
	n = ulpdu_untagged(big, DDP_UNTAGGED & ~DDP_NOT_LAST, OP_SEND, 0, 0,
			   p->msn, TARGET_MESSAGE, NULL, 0);
	peer_send_fpdu(p, big, n + a->len, NULL);
	return END_NONE;
}

static enum peer_end first_part(struct peer *p, uint32_t msn)
{
	size_t n = ulpdu_untagged(big, DDP_UNTAGGED & ~DDP_NOT_LAST, OP_SEND, 0,
				  0, msn, 0, "E23456789", 10);

	peer_send_fpdu(p, big, n, NULL);
	return END_NONE;
}

/* A message begins in the middle of another, on the same queue. */
static enum peer_end interleaved(struct peer *p, const struct target_memory *m,
				 const struct attack *a)
{
	(void)m;
	(void)a;
	first_part(p, 1);
	return first_part(p, 2);
}

/* The second segment claims another operation than the first. */
static enum peer_end changed_op(struct peer *p, const struct target_memory *m,
				const struct attack *a)
{
	size_t n;

	(void)m;
	first_part(p, 1);
	n = ulpdu_untagged(big, DDP_UNTAGGED, a->rdmap, 0, 0, 1, 10, "x", 1);
	peer_send_fpdu(p, big, n, NULL);
	return END_NONE;
}

/* Legal: a Write between the segments of a Send. */
static enum peer_end write_between(struct peer *p,
				   const struct target_memory *m,
				   const struct attack *a)
{
	size_t n;

	(void)a;
	first_part(p, 1);
	n = ulpdu_tagged(big, DDP_TAGGED, OP_WRITE, m->stag[REGION_RW],
			 m->addr[REGION_RW], "w", 1);
	peer_send_fpdu(p, big, n, NULL);
	n = ulpdu_untagged(big, DDP_UNTAGGED, OP_SEND, 0, 0, 1, 10, "x", 1);
	peer_send_fpdu(p, big, n, NULL);
	p->msn = 2;
	return peer_recv_fpdu(p, peer_patience(5000)) == 1 ? END_NONE : END_FIN;
}

/* Legal: more messages than receives; they wait for their turn. */
static enum peer_end many_messages(struct peer *p,
				   const struct target_memory *m,
				   const struct attack *a)
{
	int i;

	(void)m;
	(void)a;
	for (i = 0; i < 10 * TARGET_RECEIVES; i++)
		peer_send_message(p, "-", 1);
	return END_NONE;
}

/* More Read Requests than the device promised to take, none is waited for. */
static enum peer_end many_reads(struct peer *p, const struct target_memory *m,
				const struct attack *a)
{
	uint32_t msn;
	size_t n;

	for (msn = 1; msn <= a->len; msn++) {
		n = ulpdu_read_request(big, msn, 1, 0, TARGET_REGION,
				       m->stag[REGION_RW], m->addr[REGION_RW]);
		peer_send_fpdu(p, big, n, NULL);
	}
	return END_NONE;
}

/* Bytes that wait to be read */
static int waiting(const struct peer *p)
{
	int n = 0;

	ioctl(p->fd, FIONREAD, &n);
	return n;
}

/* Until TCP reports the end, whatever is there to be read */
static enum peer_end hears_reset(struct peer *p)
{
	return net_wait(p->fd, 0, 60000) ? END_RST : END_OTHERWISE;
}

/*
 * The peer reads nothing: answers stay with the target when the window is shut, and
 * then so does the Terminate for having asked for too much. It does not wait long.
 */
static enum peer_end shut_window(struct peer *p, const struct target_memory *m,
				 const struct attack *a)
{
	int size = 4096, still = 0, had = 0;
	uint32_t msn;
	size_t n;

	(void)a;
	setsockopt(p->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	/* silent for so long that there are more than it takes in any case */
	for (msn = 1; still < 100; msn++) {
		n = ulpdu_read_request(big, msn, 1, 0, TARGET_REGION,
				       m->stag[REGION_RW], m->addr[REGION_RW]);
		peer_send_fpdu(p, big, n, NULL);
		poll(NULL, 0, 20);
		still = waiting(p) == had ? still + 1 : 0;
		had = waiting(p);
	}
	return hears_reset(p);
}

/*
 * The target has closed, the peer does not. It is not reset, which would discard what its
 * program has not read. Later the target has let go, and resets what comes.
 */
static enum peer_end stays_open(struct peer *p, const struct target_memory *m,
				const struct attack *a)
{
	struct fpdu_options o = { .length = -1, .bad_crc = true };
	int tries;

	(void)m;
	(void)a;
	peer_send_fpdu(p, big,
		       ulpdu_untagged(big, DDP_UNTAGGED, OP_SEND, 0, 0, 1, 0,
				      "-", 1),
		       &o);
	if (peer_wait_end(p, peer_patience(10000)) != END_TERMINATE)
		return END_NO_FRAME;
	if (net_wait(p->fd, 0, 25000))
		return END_OTHERWISE;
	for (tries = 0; tries < 60 && !net_wait(p->fd, 0, 1000); tries++)
		send(p->fd, "-", 1, MSG_NOSIGNAL);
	return tries < 60 ? END_RST : END_OTHERWISE;
}

/* The same in one packet: the device answers none before it has seen them all */
static enum peer_end reads_at_once(struct peer *p,
				   const struct target_memory *m,
				   const struct attack *a)
{
	int on = 1, off = 0;

	setsockopt(p->fd, IPPROTO_TCP, TCP_CORK, &on, sizeof(on));
	many_reads(p, m, a);
	setsockopt(p->fd, IPPROTO_TCP, TCP_CORK, &off, sizeof(off));
	return END_NONE;
}

/* Legal: nothing to read, so the source may be anything. */
static enum peer_end read_nothing(struct peer *p, const struct target_memory *m,
				  const struct attack *a)
{
	read_request(p, m, a);
	return peer_recv_fpdu(p, peer_patience(5000)) == 1 &&
			       p->ulpdu_len == 14 ?
		       END_NONE :
		       END_FIN;
}

/*
 * Make the target read; answer with length, STag and offset changed, inval: when
 * its memory has the same STag, but not the right to write any more.
 */
static enum peer_end read_response(struct peer *p,
				   const struct target_memory *m,
				   const struct attack *a)
{
	unsigned char cmd[17] = { TARGET_READ };
	uint32_t stag, size;
	uint64_t to;
	size_t n;

	(void)m;
	put_be32(cmd + 1, 0x7777);
	put_be64(cmd + 5, 0x1000);
	put_be32(cmd + 13, 512);
	peer_send_message(p, cmd, sizeof(cmd));
	if (peer_recv_fpdu(p, peer_patience(10000)) != 1 ||
	    p->ulpdu_len != 46 || p->ulpdu[1] != OP_READ_REQ)
		return END_NO_FRAME;
	stag = get_be32(p->ulpdu + 18);
	to = get_be64(p->ulpdu + 22);
	size = get_be32(p->ulpdu + 30);
	if (a->inval && !obeyed(p, TARGET_RIGHTS))
		return END_NO_FRAME;
	n = ulpdu_tagged(big, a->ddp, OP_READ_RESP, stag ^ a->qn, to + a->to,
			 NULL, 0) +
	    (a->len ? a->len : size);
	peer_send_fpdu(p, big, n, NULL);
	return END_NONE;
}

/* The right answer, then a second one. */
static enum peer_end response_twice(struct peer *p,
				    const struct target_memory *m,
				    const struct attack *a)
{
	size_t n;

	read_response(p, m, a);
	n = ulpdu_tagged(big, DDP_TAGGED, OP_READ_RESP, m->stag[REGION_RW],
			 m->addr[REGION_RW], NULL, 0) +
	    512;
	peer_send_fpdu(p, big, n, NULL);
	return END_NONE;
}

/* Programs must not invalidate, nor may the peer for them. */
static enum peer_end invalidate(struct peer *p, const struct target_memory *m,
				const struct attack *a)
{
	size_t n = ulpdu_untagged(big, DDP_UNTAGGED, OP_SEND_INV, stag_of(m, a),
				  0, 1, 0, "-", 1);

	peer_send_fpdu(p, big, n, NULL);
	return END_NONE;
}

static enum peer_end terminate(struct peer *p, const struct target_memory *m,
			       const struct attack *a)
{
	size_t n;

	(void)m;
	memset(big, 0, 512);
	n = ulpdu_untagged(big, DDP_UNTAGGED, OP_TERMINATE, 0, 2, 1, 0, NULL,
			   0);
	put_be32(big + n, a->inval);
	peer_send_fpdu(p, big, n + a->len, NULL);
	return END_NONE;
}

static void command(struct peer *p, unsigned char word)
{
	peer_send_message(p, &word, 1);
}

static int large(struct peer *p, uint32_t *stag, uint64_t *addr)
{
	command(p, TARGET_LARGE);
	if (peer_recv_fpdu(p, peer_patience(10000)) != 1 ||
	    p->ulpdu_len != 18 + 13 || p->ulpdu[18] != TARGET_LARGE)
		return -1;
	*stag = get_be32(p->ulpdu + 19);
	*addr = get_be64(p->ulpdu + 23);
	return 0;
}

/* The FPDU that was received is a Terminate, and then the connection ends. */
static enum peer_end terminated(struct peer *p)
{
	if (!peer_is_terminate(p))
		return END_NO_FRAME;
	return peer_wait_end(p, peer_patience(10000)) == END_FIN ?
		       END_TERMINATE :
		       END_NO_FRAME;
}

/*
 * The target takes back what it sends in answer to a Read Request. The Terminate
 * has the request as it would be for the rest.
 */
static enum peer_end read_fails(struct peer *p, const struct target_memory *m,
				const struct attack *a)
{
	uint32_t stag, got = 0, msn = 0;
	uint64_t addr;
	size_t n;

	(void)m;
	(void)a;
	do { /* again, if all of it had left before */
		if (large(p, &stag, &addr))
			return END_NO_FRAME;
		n = ulpdu_read_request(big, ++msn, 0x1234, 0x1000,
				       TARGET_LARGE_LEN, stag, addr);
		peer_send_fpdu(p, big, n, NULL);
		command(p, TARGET_DEREG);
		poll(NULL, 0, 100);
		for (got = 0; got < TARGET_LARGE_LEN;
		     got += p->ulpdu_len - 14) {
			if (peer_recv_fpdu(p, peer_patience(10000)) != 1)
				return END_NO_FRAME;
			if (p->ulpdu[1] != OP_READ_RESP)
				break;
			if (get_be64(p->ulpdu + 6) != 0x1000 + got)
				return END_NO_FRAME;
		}
	} while (got == TARGET_LARGE_LEN && msn < 10);
	n = ulpdu_read_request(big, msn, 0x1234, 0x1000 + got,
			       TARGET_LARGE_LEN - got, stag, addr + got);
	peer_remember(p, big, n);
	return got ? terminated(p) : END_NO_FRAME;
}

/*
 * A mistake, while the target sends: its message is whole before it says so, even if the
 * peer rests after each FPDU, for as many milliseconds as the mistake has bytes of payload.
 */
static enum peer_end while_sending(struct peer *p,
				   const struct target_memory *m,
				   const struct attack *a)
{
	long long before = attack_counter(a->counter);
	long end = net_ms() + 10000;
	uint32_t stag, got;
	uint64_t addr;

	if (large(p, &stag, &addr))
		return END_NO_FRAME;
	command(p, TARGET_SEND);
	if (peer_recv_fpdu(p, peer_patience(10000)) != 1)
		return END_NO_FRAME;
	untagged(p, m, a);
	while (attack_counter(a->counter) == before && net_ms() < end)
		poll(NULL, 0, 20);
	for (got = 0; p->ulpdu[1] == OP_SEND;) {
		if (get_be32(p->ulpdu + 14) != got)
			return END_NO_FRAME;
		got += p->ulpdu_len - 18;
		poll(NULL, 0, a->len);
		if (peer_recv_fpdu(p, peer_patience(10000)) != 1)
			return END_NO_FRAME;
	}
	return got == TARGET_LARGE_LEN ? terminated(p) : END_NO_FRAME;
}

/* The target itself makes a mistake. */
static enum peer_end own_failure(struct peer *p, const struct target_memory *m,
				 const struct attack *a)
{
	(void)m;
	(void)a;
	command(p, TARGET_BAD_KEY);
	return END_NONE;
}

static enum peer_end fin_inside(struct peer *p, const struct target_memory *m,
				const struct attack *a)
{
	struct fpdu_options opt = { .length = -1, .cut = a->len };
	size_t n = ulpdu_untagged(big, DDP_UNTAGGED, OP_SEND, 0, 0, 1, 0, NULL,
				  0) +
		   100;

	(void)m;
	peer_send_fpdu(p, big, n, &opt);
	shutdown(p->fd, SHUT_WR);
	return END_NONE;
}

static enum peer_end rst_inside(struct peer *p, const struct target_memory *m,
				const struct attack *a)
{
	fin_inside(p, m, a);
	peer_reset(p);
	return END_RST;
}

static enum peer_end noise(struct peer *p, const struct target_memory *m,
			   const struct attack *a)
{
	uint32_t x = 2463534242u;
	size_t i;

	(void)m;
	for (i = 0; i < a->len; i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		big[i] = x;
	}
	peer_send(p, big, a->len);
	shutdown(p->fd, SHUT_WR);
	return END_NONE;
}

/* Segments with good CRC and random headers, until the target gives up. */
static enum peer_end random_headers(struct peer *p,
				    const struct target_memory *m,
				    const struct attack *a)
{
	static uint32_t x = 88172645;
	size_t i, k, n;

	(void)a;
	for (k = 0; k < 40; k++) {
		for (i = 0; i < 64; i++) {
			x ^= x << 13;
			x ^= x >> 17;
			x ^= x << 5;
			big[i] = x;
		}
		/* often nearly right */
		big[0] = x & 64 ? (x & 128 ? 0xc1 : 0x41) : big[0];
		big[1] = x & 256 ? 0x40 | (x >> 9 & 15) : big[1];
		if (x & 1024) {
			memset(big + 2, 0, 16);
			big[9] = x >> 14 & 3;
			big[13] = k + 1;
		}
		if (x & 2048)
			put_be32(big + 2, m->stag[x >> 12 & 3]);
		n = x >> 20 & 63;
		peer_send_fpdu(p, big, n < 2 ? 2 : n, NULL);
	}
	shutdown(p->fd, SHUT_WR);
	return END_NONE;
}

#define WRITE tagged, .ddp = DDP_TAGGED, .rdmap = OP_WRITE
#define SEND untagged, .ddp = DDP_UNTAGGED, .rdmap = OP_SEND
#define RESP read_response, .ddp = DDP_TAGGED

/* clang-format off */
const struct attack fpdu_attacks[] = {
	CASE("nothing wrong", NULL, ENDS(E_ALIVE), SEND, .msn = 1, .len = 5),
	/* lengths */
	CASE("ULPDU length 0", "err_length", ENDS(E_TERM(2, 0, 3)), length, .len = 0),
	CASE("ULPDU length 1", "err_length", ENDS(E_TERM(2, 0, 3)), length, .len = 1),
	CASE("markers: ULPDU length 65535", "err_length", ENDS(E_TERM(2, 0, 3)),
	     length, .len = 65535),
	CASE("markers: ULPDU length 64769", "err_length", ENDS(E_TERM(2, 0, 3)),
	     length, .len = 64769),
	CASE("markers: ULPDU length 65535 announced, then FIN", "err_length",
	     ENDS(E_TERM(2, 0, 3)), length_only),
	/* without markers: a Send too long for the receive, or no message of SDP; half an FPDU */
	CASE("long ULPDU", NULL, ENDS(E_TERM(2, 0, 3), E_TERM(1, 2, 5), E_TERM(0, 2, 7)),
	     length, .len = 65535),
	CASE("long ULPDU announced, then FIN", NULL, ENDS(E_TERM(2, 0, 3), E_CLOSED),
	     length_only),
	CASE("tagged header cut", "err_length", ENDS(E_TERM(2, 0, 3)), length, .len = 13),
	CASE("untagged header cut", "err_length", ENDS(E_TERM(1, 0, 0)),
	     length, .len = 17),
	/* MPA */
	CASE("bad CRC", "err_crc", ENDS(E_TERM(2, 0, 2)), bad_crc),
	CASE("markers point elsewhere", "err_marker", ENDS(E_TERM(2, 0, 3)),
	     marker, .qn = MARK_ELSEWHERE, .len = 1000),
	CASE("markers point past the begin of the FPDU", "err_marker",
	     ENDS(E_TERM(2, 0, 3)), marker, .qn = MARK_NEARER, .len = 1000),
	CASE("the first marker points somewhere", "err_marker", ENDS(E_TERM(2, 0, 3)),
	     marker, .qn = MARK_FIRST, .len = 8),
	CASE("markers inside point nowhere", "err_marker", ENDS(E_TERM(2, 0, 3)),
	     marker, .qn = MARK_ZERO, .len = 1000),
	CASE("markers point before the stream", "err_marker", ENDS(E_TERM(2, 0, 3)),
	     marker, .qn = MARK_BEYOND, .len = 1000),
	CASE("markers: the bits that do not count", NULL, ENDS(E_ALIVE),
	     marker, .qn = MARK_LOW_BITS, .len = 1000),
	CASE("markers: the reserved half", NULL, ENDS(E_ALIVE),
	     marker, .qn = MARK_RESERVED, .len = 1000),
	CASE("no markers though asked for", "err_length", ENDS(E_TERM(2, 0, 3)),
	     marker, .qn = MARK_MISSING, .len = 1000),
	CASE("markers a word late", "err_length", ENDS(E_TERM(2, 0, 3)),
	     marker, .qn = MARK_LATE, .len = 1000),
	/* in the middle of a long message */
	CASE("after others: nothing wrong", NULL, ENDS(E_ALIVE),
	     behind_good, .region = REGION_RW, .len = 1000),
	CASE("after others: bad CRC", "err_crc", ENDS(E_TERM(2, 0, 2)),
	     behind_good, .region = REGION_RW, .len = 1000, .inval = 1),
	CASE("after others: unknown STag", "err_stag", ENDS(E_TERM(1, 1, 0)),
	     behind_good, .region = -1, .len = 1000),
	CASE("after others: one byte too far", "err_bounds", ENDS(E_TERM(1, 1, 1)),
	     behind_good, .region = REGION_RW, .to = TARGET_REGION - 999, .len = 1000),
	CASE("after others: no right to write", "err_access", ENDS(E_TERM(0, 1, 2)),
	     behind_good, .region = REGION_RO, .len = 1000),
	CASE("after others: foreign protection domain", "err_pd", ENDS(E_TERM(1, 1, 2)),
	     behind_good, .region = REGION_FOREIGN, .len = 1000),
	CASE("after others: markers point elsewhere", "err_marker", ENDS(E_TERM(2, 0, 3)),
	     behind_good, .region = REGION_RW, .qn = MARK_ELSEWHERE, .len = 1000),
	CASE("after others: registration has ended", "err_stag", ENDS(E_TERM(1, 1, 0)),
	     behind_end, .region = REGION_RW, .len = 1000),
	CASE("after others: registration has ended, STag 0", "err_stag",
	     ENDS(E_TERM(1, 1, 0)), behind_end, .region = REGION_RW, .len = 1000,
	     .msn = 1),
	CASE("markers everywhere", NULL, ENDS(E_ALIVE), markers_everywhere, .len = 700),
	/* versions, reserved bits, operations */
	CASE("DDP version 0, untagged", "err_ddp_version", ENDS(E_TERM(1, 2, 6)),
	     untagged, .ddp = 0x40, .rdmap = OP_SEND, .msn = 1),
	CASE("DDP version 3, tagged", "err_ddp_version", ENDS(E_TERM(1, 1, 4)),
	     tagged, .ddp = 0xc3, .rdmap = OP_WRITE, .region = REGION_RW),
	CASE("RDMAP version 0", "err_rdmap_version", ENDS(E_TERM(0, 2, 5)),
	     untagged, .ddp = DDP_UNTAGGED, .rdmap = 0x03, .msn = 1),
	CASE("RDMAP version 3", "err_rdmap_version", ENDS(E_TERM(0, 2, 5)),
	     untagged, .ddp = DDP_UNTAGGED, .rdmap = 0xc3, .msn = 1),
	CASE("reserved DDP bits are ignored", NULL, ENDS(E_ALIVE),
	     tagged, .ddp = 0xfd, .rdmap = OP_WRITE, .region = REGION_RW, .len = 8),
	CASE("reserved RDMAP bits are ignored", NULL, ENDS(E_ALIVE),
	     tagged, .ddp = DDP_TAGGED, .rdmap = 0x70, .region = REGION_RW, .len = 8),
	CASE("opcode c", "err_rdmap_opcode", ENDS(E_TERM(0, 2, 6)),
	     untagged, .ddp = DDP_UNTAGGED, .rdmap = 0x4c, .msn = 1),
	CASE("opcode f", "err_rdmap_opcode", ENDS(E_TERM(0, 2, 6)),
	     untagged, .ddp = DDP_UNTAGGED, .rdmap = 0x4f, .msn = 1),
	CASE("opcode f, tagged", "err_rdmap_opcode", ENDS(E_TERM(0, 2, 6)),
	     tagged, .ddp = DDP_TAGGED, .rdmap = 0x4f, .region = REGION_RW),
	CASE("atomic request, cut", "err_ddp_buffer", ENDS(E_TERM(1, 2, 5)),
	     untagged, .ddp = DDP_UNTAGGED, .rdmap = 0x4a, .qn = 1, .msn = 1, .len = 20),
	CASE("tagged Send", "err_rdmap_opcode", ENDS(E_TERM(0, 2, 6)),
	     tagged, .ddp = DDP_TAGGED, .rdmap = OP_SEND, .region = REGION_RW),
	CASE("untagged Write", "err_rdmap_opcode", ENDS(E_TERM(0, 2, 6)),
	     untagged, .ddp = DDP_UNTAGGED, .rdmap = OP_WRITE, .msn = 1),
	CASE("tagged Read Request", "err_rdmap_opcode", ENDS(E_TERM(0, 2, 6)),
	     tagged, .ddp = DDP_TAGGED, .rdmap = OP_READ_REQ, .region = REGION_RW, .len = 32),
	/* untagged buffers */
	CASE("Send on queue 1", "err_ddp_queue", ENDS(E_TERM(1, 2, 1)),
	     SEND, .qn = 1, .msn = 1),
	CASE("queue 4", "err_ddp_queue", ENDS(E_TERM(1, 2, 1)), SEND, .qn = 4, .msn = 1),
	CASE("queue 0xffffffff", "err_ddp_queue", ENDS(E_TERM(1, 2, 1)),
	     SEND, .qn = 0xffffffff, .msn = 1),
	CASE("message number 0", "err_ddp_msn", ENDS(E_TERM(1, 2, 3)), SEND, .msn = 0),
	CASE("message number too high", "err_ddp_msn", ENDS(E_TERM(1, 2, 3)),
	     SEND, .msn = 2),
	CASE("message number 0xffffffff", "err_ddp_msn", ENDS(E_TERM(1, 2, 3)),
	     SEND, .msn = 0xffffffff),
	CASE("first offset not 0", "err_ddp_offset", ENDS(E_TERM(1, 2, 4)),
	     SEND, .msn = 1, .mo = 4, .len = 4),
	CASE("offset 0xfffffff0", "err_ddp_offset", ENDS(E_TERM(1, 2, 4)),
	     SEND, .msn = 1, .mo = 0xfffffff0, .len = 100),
	CASE("message longer than the receive", "err_ddp_buffer", ENDS(E_TERM(1, 2, 5)),
	     SEND, .msn = 1, .len = TARGET_MESSAGE + 1),
	CASE("message longer than the receive, in parts", "err_ddp_buffer",
	     ENDS(E_TERM(1, 2, 5)), overflow_in_parts),
	CASE("message goes on after a full receive", "err_ddp_buffer",
	     ENDS(E_TERM(1, 2, 5)), behind_full, .len = TARGET_MESSAGE - TARGET_SPLIT - 8),
	CASE("message goes on after a full receive, with one byte", "err_ddp_buffer",
	     ENDS(E_TERM(1, 2, 5)), behind_full, .len = 1),
	CASE("message inside another", "err_ddp_msn", ENDS(E_TERM(1, 2, 3)), interleaved),
	CASE("operation changes inside a message", "err_invalidate",
	     ENDS(E_TERM(0, 1, 9)), changed_op, .rdmap = OP_SEND_INV),
	CASE("Write between parts of a Send", NULL, ENDS(E_ALIVE), write_between),
	CASE("more messages than receives", NULL, ENDS(E_ALIVE), many_messages),
	/* tagged buffers */
	CASE("Write: unknown STag", "err_stag", ENDS(E_TERM(1, 1, 0)),
	     WRITE, .region = -1, .len = 8),
	CASE("Write: STag 0", "err_stag", ENDS(E_TERM(1, 1, 0)),
	     untagged, .ddp = DDP_TAGGED, .rdmap = OP_WRITE, .len = 20),
	CASE("Write: nothing, to an unknown STag", NULL, ENDS(E_ALIVE),
	     WRITE, .region = -1, .len = 0),
	CASE("Write: to the last byte", NULL, ENDS(E_ALIVE),
	     WRITE, .region = REGION_RW, .to = TARGET_REGION - 8, .len = 8),
	CASE("Write: one byte too far", "err_bounds", ENDS(E_TERM(1, 1, 1)),
	     WRITE, .region = REGION_RW, .to = TARGET_REGION - 8, .len = 9),
	CASE("Write: one byte before the region", "err_bounds", ENDS(E_TERM(1, 1, 1)),
	     WRITE, .region = REGION_RW, .to = -1ull, .len = 8),
	CASE("Write: offset wraps", "err_bounds", ENDS(E_TERM(1, 1, 3)),
	     absolute, .ddp = DDP_TAGGED, .rdmap = OP_WRITE, .region = REGION_RW,
	     .to = -4ull, .len = 8),
	CASE("Write: no right to write", "err_access", ENDS(E_TERM(0, 1, 2)),
	     WRITE, .region = REGION_RO, .len = 8),
	CASE("Write: no remote access at all", "err_access", ENDS(E_TERM(0, 1, 2)),
	     WRITE, .region = REGION_LOCAL, .len = 8),
	CASE("Write: foreign protection domain", "err_pd", ENDS(E_TERM(1, 1, 2)),
	     WRITE, .region = REGION_FOREIGN, .len = 8),
	/* Read Requests */
	CASE("Read: unknown STag", "err_stag", ENDS(E_TERM(0, 1, 0)),
	     read_request, .msn = 1, .region = -1, .len = 8),
	CASE("Read: too long", "err_bounds", ENDS(E_TERM(0, 1, 1)),
	     read_request, .msn = 1, .region = REGION_RW, .len = TARGET_REGION + 1),
	CASE("Read: 4 GB", "err_bounds", ENDS(E_TERM(0, 1, 1)),
	     read_request, .msn = 1, .region = REGION_RW, .len = 0xffffffff),
	CASE("Read: offset wraps", "err_bounds", ENDS(E_TERM(0, 1, 4)),
	     read_wraps, .region = REGION_RW, .to = -4ull, .len = 8),
	CASE("Read: no right to read", "err_access", ENDS(E_TERM(0, 1, 2)),
	     read_request, .msn = 1, .region = REGION_LOCAL, .len = 8),
	CASE("Read: foreign protection domain", "err_pd", ENDS(E_TERM(0, 1, 3)),
	     read_request, .msn = 1, .region = REGION_FOREIGN, .len = 8),
	CASE("Read: nothing, from an unknown STag", NULL, ENDS(E_ALIVE),
	     read_nothing, .msn = 1, .region = -1, .len = 0),
	CASE("Read: message number 2 first", "err_ddp_msn", ENDS(E_TERM(1, 2, 3)),
	     read_request, .msn = 2, .region = REGION_RW, .len = 8),
	CASE("Read Request on queue 0", "err_ddp_queue", ENDS(E_TERM(1, 2, 1)),
	     untagged, .ddp = DDP_UNTAGGED, .rdmap = OP_READ_REQ, .msn = 1, .len = 28),
	CASE("Read Request, 4 bytes short", "err_ddp_buffer", ENDS(E_TERM(1, 2, 5)),
	     untagged, .ddp = DDP_UNTAGGED, .rdmap = OP_READ_REQ, .qn = 1, .msn = 1, .len = 24),
	CASE("Read Request, 4 bytes more", "err_ddp_buffer", ENDS(E_TERM(1, 2, 5)),
	     untagged, .ddp = DDP_UNTAGGED, .rdmap = OP_READ_REQ, .qn = 1, .msn = 1, .len = 32),
	CASE("Read Request, not the last segment", "err_ddp_buffer", ENDS(E_TERM(1, 2, 5)),
	     untagged, .ddp = 1, .rdmap = OP_READ_REQ, .qn = 1, .msn = 1, .len = 28),
	CASE("20 Read Requests in one packet", "err_ird", ENDS(E_TERM(1, 2, 2)),
	     reads_at_once, .len = 20),
	/* what comes after the mistake may be answered by a RST */
	CASE("400 Read Requests, one by one", "err_ird", ENDS(E_TERM(1, 2, 2), E_CLOSED),
	     many_reads, .len = 400),
	/* Read Responses */
	CASE("Read Response without a request", "err_read_response", ENDS(E_TERM(0, 2, 6)),
	     tagged, .ddp = DDP_TAGGED, .rdmap = OP_READ_RESP, .region = REGION_RW, .len = 8),
	CASE("Read Response as asked", NULL, ENDS(E_ALIVE), RESP),
	CASE("Read Response longer than asked", "err_read_response", ENDS(E_TERM(1, 1, 1)),
	     RESP, .len = 1024),
	CASE("Read Response shorter than asked", "err_read_response", ENDS(E_TERM(1, 1, 1)),
	     RESP, .len = 100),
	CASE("Read Response to another STag", "err_read_response", ENDS(E_TERM(1, 1, 0)),
	     RESP, .qn = 0x100),
	CASE("Read Response to another offset", "err_read_response", ENDS(E_TERM(1, 1, 1)),
	     RESP, .to = 8),
	CASE("Read Response, the right to write is gone", "err_read_response",
	     ENDS(E_ANY_TERM), RESP, .inval = 1),
	CASE("Read Response in parts, the right to write is gone", "err_read_response",
	     ENDS(E_ANY_TERM), read_response, .ddp = DDP_TAGGED & ~DDP_NOT_LAST,
	     .len = 400, .inval = 1),
	CASE("Read Response twice", "err_read_response", ENDS(E_TERM(0, 2, 6)),
	     response_twice, .ddp = DDP_TAGGED),
	/* invalidation */
	CASE("Send with Invalidate: unknown STag", "err_invalidate", ENDS(E_TERM(0, 1, 9)),
	     untagged, .ddp = DDP_UNTAGGED, .rdmap = OP_SEND_INV, .msn = 1,
	     .inval = STAG_UNKNOWN),
	CASE("Send with Invalidate: memory of a program", "err_invalidate",
	     ENDS(E_TERM(0, 1, 9)), invalidate, .region = REGION_RW),
	CASE("Send with Invalidate: foreign protection domain", "err_invalidate",
	     ENDS(E_TERM(0, 1, 9)), invalidate, .region = REGION_FOREIGN),
	/* Terminate messages of the device */
	CASE("a Read fails in the middle of its response", "err_stag",
	     ENDS(E_TERM(0, 1, 0)), read_fails),
	CASE("opcode f while the device sends", "err_rdmap_opcode",
	     ENDS(E_TERM(0, 2, 6)), while_sending, .ddp = DDP_UNTAGGED,
	     .rdmap = 0x4f, .msn = 3),
	CASE("a Send of the device fails", "err_local", ENDS(E_TERM(0, 0, 0)), own_failure),
	/* and those to the device */
	CASE("Terminate", "rx_terminates", ENDS(E_CLOSED), terminate, .len = 4),
	CASE("Terminate without content", "rx_terminates", ENDS(E_CLOSED),
	     terminate, .len = 0),
	CASE("Terminate cut", "rx_terminates", ENDS(E_CLOSED), terminate, .len = 3),
	CASE("Terminate with headers that are not there", "rx_terminates",
	     ENDS(E_CLOSED), terminate, .len = 4, .inval = 0x1101e000),
	CASE("Terminate with 400 bytes", "rx_terminates", ENDS(E_CLOSED),
	     terminate, .len = 400, .inval = 0x1101e000),
	CASE("Terminate on queue 0", "err_ddp_queue", ENDS(E_TERM(1, 2, 1)),
	     untagged, .ddp = DDP_UNTAGGED, .rdmap = OP_TERMINATE, .msn = 1, .len = 4),
	/* ends */
	CASE("FIN inside an FPDU", NULL, ENDS(E_CLOSED), fin_inside, .len = 20),
	CASE("FIN before the CRC", NULL, ENDS(E_CLOSED), fin_inside, .len = 4),
	CASE("RST inside an FPDU", NULL, ENDS(E_CLOSED), rst_inside, .len = 20),
	CASE("noise", NULL, ENDS(E_ANY_TERM, E_CLOSED), noise, .len = 5000),
	CASE("much noise", NULL, ENDS(E_ANY_TERM, E_CLOSED), noise, .len = 65000),
	CASE("random headers", NULL, ENDS(E_ANY), random_headers),
	CASE("random headers", NULL, ENDS(E_ANY), random_headers),
	CASE("random headers", NULL, ENDS(E_ANY), random_headers),
	CASE("random headers", NULL, ENDS(E_ANY), random_headers),
	CASE("random headers", NULL, ENDS(E_ANY), random_headers),
};
/* clang-format on */

const unsigned int fpdu_attack_count = COUNT(fpdu_attacks);

/* clang-format off */
const struct attack end_attacks[] = {
	CASE("the window is shut", "tx_nospace", ENDS(E_CLOSED), shut_window),
	CASE("no FIN follows the target's", "err_crc", ENDS(E_CLOSED), stays_open),
};
/* clang-format on */

const unsigned int end_attack_count = COUNT(end_attacks);

/* clang-format off */
const struct attack slow_attacks[] = {
	CASE("opcode f while the device sends, to a peer that reads slowly", "err_rdmap_opcode",
	     ENDS(E_TERM(0, 2, 6)), while_sending, .ddp = DDP_UNTAGGED,
	     .rdmap = 0x4f, .msn = 3, .len = 8),
};
/* clang-format on */

const unsigned int slow_attack_count = COUNT(slow_attacks);

/* Is it an attack on any QP, one without registered memory and receives too? */
bool attack_on_wire(const struct attack *a)
{
	__typeof__(a->run) run[] = {
		length,	    length_only, bad_crc,	 marker,
		untagged,   terminate,	 interleaved,	 fin_inside,
		rst_inside, noise,	 random_headers,
	};
	size_t i;

	if (a->ends[0] == E_ALIVE ||
	    (a->rdmap == OP_SEND && a->len > TARGET_MESSAGE))
		return false;
	for (i = 0; i < COUNT(run); i++)
		if (a->run == run[i])
			return true;
	return false;
}
