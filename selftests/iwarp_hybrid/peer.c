// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * An iWARP peer on a plain TCP socket, see peer.h.
 */
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "peer.h"

static const char key_req[] = "MPA ID Req Frame";
static const char key_rep[] = "MPA ID Rep Frame";

uint32_t peer_interval;
uint32_t peer_isn;
bool peer_ext;
bool peer_above;
const struct peer_ops *peer_over;

uint32_t get_be32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
}

uint64_t get_be64(const unsigned char *p)
{
	return (uint64_t)get_be32(p) << 32 | get_be32(p + 4);
}

void put_be32(unsigned char *p, uint32_t v)
{
	p[0] = v >> 24;
	p[1] = v >> 16;
	p[2] = v >> 8;
	p[3] = v;
}

void put_be64(unsigned char *p, uint64_t v)
{
	put_be32(p, v >> 32);
	put_be32(p + 4, v);
}

static void crc32c_add(uint32_t *reg, const void *data, size_t len)
{
	const unsigned char *p = data;
	static uint32_t table[256];
	uint32_t i, k, v;

	if (!table[1]) {
		for (i = 0; i < 256; i++) {
			for (v = i, k = 0; k < 8; k++)
				v = v >> 1 ^ (v & 1 ? 0x82f63b78u : 0);
			table[i] = v;
		}
	}
	for (v = *reg; len--; p++)
		v = table[(v ^ *p) & 255] ^ v >> 8;
	*reg = v;
}

uint32_t peer_crc32c(const void *data, size_t len)
{
	uint32_t reg = ~0u;

	crc32c_add(&reg, data, len);
	return ~reg;
}

int peer_adopt(struct peer *p, int fd)
{
	int one = 1;

	memset(p, 0, sizeof(*p));
	p->fd = fd;
	p->crc = true;
	p->msn = 1;
	p->ulpdu = malloc(PEER_ULPDU_MAX + 16);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return p->ulpdu ? 0 : -1;
}

/* A socket that is closed takes its first sequence number in repair mode */
static int set_isn(int fd)
{
	int on = TCP_REPAIR_ON, off = TCP_REPAIR_OFF_NO_WP;
	int queue = TCP_SEND_QUEUE;

	if (setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_REPAIR_QUEUE, &queue,
		       sizeof(queue)) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_QUEUE_SEQ, &peer_isn,
		       sizeof(peer_isn)))
		return -1;
	return setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &off, sizeof(off));
}

int peer_connect(struct peer *p, const struct sockaddr *sa, socklen_t len)
{
	int fd;

	memset(p, 0, sizeof(*p));
	p->fd = -1;
	p->ops = peer_over;
	if (p->ops)
		return p->ops->connect(p, sa, len);
	fd = socket(sa->sa_family, SOCK_STREAM, 0);
	if (fd < 0)
		return -1;
	if ((peer_isn && set_isn(fd)) || connect(fd, sa, len)) {
		close(fd);
		return -1;
	}
	return peer_adopt(p, fd);
}

int peer_listen(const struct sockaddr *sa, socklen_t len)
{
	int fd;

	if (peer_over)
		return peer_over->listen(sa, len);
	fd = socket(sa->sa_family, SOCK_STREAM, 0);
	return net_listen(fd, sa, len, 16) ? -1 : fd;
}

int peer_accept(struct peer *p, int listener, int timeout_ms)
{
	if (!net_wait(listener, POLLIN, timeout_ms))
		return -1;
	if (!peer_over)
		return peer_adopt(p, accept(listener, NULL, NULL));
	memset(p, 0, sizeof(*p));
	p->fd = -1;
	p->ops = peer_over;
	return p->ops->accept(p);
}

void peer_close(struct peer *p)
{
	if (p->ops)
		p->ops->close(p);
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
	free(p->ulpdu);
	free(p->sent);
	p->ulpdu = NULL;
	p->sent = NULL;
}

void peer_reset(struct peer *p)
{
	struct linger lin = { 1, 0 };

	p->gone = true;
	if (p->ops) {
		p->ops->reset(p);
		return;
	}
	setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &lin, sizeof(lin));
	close(p->fd);
	p->fd = -1;
}

void peer_hang_up(struct peer *p)
{
	if (p->ops)
		p->ops->hang_up(p);
	else
		shutdown(p->fd, SHUT_WR);
}

int peer_patience(int ms)
{
	static int slow = -1;

	if (slow < 0)
		slow = !access("/proc/lockdep", F_OK);
	return slow ? 6 * ms : ms;
}

bool peer_ready(struct peer *p, int timeout_ms)
{
	struct pollfd pfd = { .fd = p->fd, .events = POLLIN };

	if (p->ops)
		return p->ops->ready(p, timeout_ms);
	return poll(&pfd, 1, timeout_ms) == 1;
}

void peer_send(struct peer *p, const void *data, size_t len)
{
	const char *at = data;
	ssize_t n;

	while (len) {
		n = send(p->fd, at, len, MSG_NOSIGNAL);
		if (n <= 0)
			return;
		at += n;
		len -= n;
	}
}

int peer_recv(struct peer *p, void *data, size_t len, int timeout_ms)
{
	struct pollfd pfd = { .fd = p->fd, .events = POLLIN };
	long end = net_ms() + timeout_ms, left;
	char *at = data;
	ssize_t n;

	while (len) {
		left = end - net_ms();
		if (poll(&pfd, 1, left > 0 ? left : 0) <= 0)
			return -2;
		n = recv(p->fd, at, len, 0);
		if (!n)
			return 0;
		if (n < 0)
			return -1;
		at += n;
		len -= n;
	}
	return 1;
}

size_t peer_start_frame(unsigned char *out, bool reply, unsigned int flags,
			unsigned int rev, unsigned int pd_len,
			const void *private_data, size_t len)
{
	memcpy(out, reply ? key_rep : key_req, 16);
	out[16] = flags;
	out[17] = rev;
	out[18] = pd_len >> 8;
	out[19] = pd_len;
	if (len)
		memcpy(out + 20, private_data, len);
	return 20 + len;
}

int peer_read_start(struct peer *p, int timeout_ms)
{
	unsigned char head[20];
	int ret;

	ret = peer_recv(p, head, sizeof(head), timeout_ms);
	if (ret != 1)
		return ret;
	p->reply_flags = head[16];
	p->reply_rev = head[17];
	p->private_len = head[18] << 8 | head[19];
	if (p->private_len > sizeof(p->private_data))
		return -3;
	ret = peer_recv(p, p->private_data, p->private_len, timeout_ms);
	if (ret != 1)
		return ret;
	p->crc = true;
	p->tx_ivl = p->reply_flags & MPA_M ? 512 : 0;
	return memcmp(head, key_rep, 16) && memcmp(head, key_req, 16) ? -3 : 1;
}

/* Code of the interval to propose, in the low bits of the flags */
static unsigned int interval_code(void)
{
	unsigned int code = 0;

	if (peer_ext && !peer_interval)
		return 9;
	while (peer_interval > 128u << code)
		code++;
	return code;
}

/* The whole start-up, as a well-behaved initiator does it. */
int peer_open(struct peer *p, const void *private_data, size_t len)
{
	unsigned char frame[20 + 512];
	size_t n;

	if (p->ops)
		return p->ops->open(p, private_data, len);
	n = peer_start_frame(frame, false, MPA_C | interval_code(), 1, len,
			     private_data, len);
	peer_send(p, frame, n);
	if (peer_read_start(p, peer_patience(20000)) != 1)
		return -1;
	if (peer_interval && p->reply_flags & MPA_M &&
	    (p->reply_flags & 7) == interval_code()) {
		p->tx_ivl = peer_interval;
		p->rx_ivl = peer_interval;
	}
	if (peer_ext && (p->reply_flags & 15) != (interval_code() ^ 8))
		return -1;
	return p->reply_flags & MPA_R ? -1 : 0;
}

/*
 * The whole start-up, as a well-behaved responder does it. private_data holds the
 * initiator's private data, without IRD and ORD.
 */
int peer_answer(struct peer *p, const void *private_data, size_t len)
{
	unsigned char frame[20 + 512], pd[512];
	unsigned int flags = MPA_C;
	bool ready = false;
	size_t skip = 0;
	uint32_t ask;

	if (p->ops)
		return p->ops->answer(p, private_data, len);
	if (len > sizeof(pd) - 4 ||
	    peer_read_start(p, peer_patience(20000)) != 1)
		return -1;
	if (peer_ext)
		flags |= (p->reply_flags & 15) ^ 8;
	if (p->reply_flags & MPA_S && p->private_len >= 4) {
		ask = get_be32(p->private_data);
		/* it says by a Write of nothing that it is ready, if it asks */
		ready = ask & 0x80000000;
		put_be32(pd, (ask & 0x3fff3fff) | (ready ? 0x80008000 : 0));
		flags |= MPA_S;
		skip = 4;
		p->private_len -= 4;
		memmove(p->private_data, p->private_data + 4, p->private_len);
	}
	memcpy(pd + skip, private_data, len);
	len += skip;
	peer_send(p, frame,
		  peer_start_frame(frame, true, flags, p->reply_rev, len, pd,
				   len));
	ready = ready && !p->hasty;
	return ready && peer_recv_fpdu(p, peer_patience(10000)) != 1 ? -1 : 0;
}

/* The marker before the word at @at, @head bytes after the FPDU's begin */
static uint32_t marker(enum peer_mark mark, bool front, uint64_t head,
		       uint64_t at)
{
	uint32_t back = front ? 0 : at - head;

	switch (mark) {
	case MARK_ELSEWHERE:
		return (back + 8) & 0xffff;
	case MARK_NEARER:
		return (back - 4) & 0xffff;
	case MARK_FIRST:
		return front ? 16 : back;
	case MARK_ZERO:
		return 0;
	case MARK_BEYOND:
		return 0xfffc;
	case MARK_LOW_BITS:
		return back | 3;
	case MARK_RESERVED:
		return back | 0xa5c30000;
	default:
		return back;
	}
}

/* One word of the stream, after the marker that may be due before it. */
static size_t put_word(struct peer *p, unsigned char *out, uint64_t *head,
		       enum peer_mark mark, const unsigned char *word)
{
	bool due = p->tx_ivl && p->tx_pos % p->tx_ivl == 0;
	bool front = *head == UINT64_MAX;
	size_t n = 0;

	if (due && mark != MARK_MISSING && mark != MARK_LATE) {
		put_be32(out, marker(mark, front, *head, p->tx_pos));
		p->tx_pos += 4;
		n = 4;
	}
	if (front)
		*head = p->tx_pos;
	if (word) {
		memcpy(out + n, word, 4);
		p->tx_pos += 4;
		n += 4;
	}
	if (due && mark == MARK_LATE) {
		put_be32(out + n, marker(mark, front, *head, p->tx_pos));
		p->tx_pos += 4;
		n += 4;
	}
	return n;
}

void peer_remember(struct peer *p, const unsigned char *ulpdu, size_t len)
{
	struct peer_sent *s;

	p->sent = realloc(p->sent, (p->sent_count + 1) * sizeof(*s));
	if (!p->sent)
		abort();
	s = &p->sent[p->sent_count++];
	memset(s, 0, sizeof(*s));
	s->len = len;
	if (len)
		memcpy(s->head, ulpdu, len < PEER_HEAD ? len : PEER_HEAD);
}

void peer_send_fpdu(struct peer *p, const unsigned char *ulpdu, size_t len,
		    const struct fpdu_options *opt)
{
	static const struct fpdu_options plain = { .length = -1 };
	unsigned int claim = len;
	uint64_t head = UINT64_MAX;
	unsigned char *body, *out;
	size_t total, n = 0, i;
	uint32_t crc;

	opt = opt ? opt : &plain;
	if (opt->length >= 0)
		claim = opt->length;
	peer_remember(p, ulpdu, len);
	total = (2 + len + 3) & ~3ul;
	body = calloc(1, total);
	out = malloc(total + total / 8 + 32);
	if (!body || !out)
		abort();
	body[0] = claim >> 8;
	body[1] = claim;
	if (len)
		memcpy(body + 2, ulpdu, len);
	for (i = 0; i < total; i += 4)
		n += put_word(p, out + n, &head, opt->mark, body + i);
	n += put_word(p, out + n, &head, opt->mark, NULL);
	crc = peer_crc32c(out, n) ^ (opt->bad_crc ? 0x100 : 0);
	for (i = 0; i < 4; i++)
		out[n++] = crc >> 8 * i;
	p->tx_pos += 4;
	peer_send(p, out, n > opt->cut ? n - opt->cut : 0);
	free(body);
	free(out);
}

/* A run of bytes between markers; the marker before it is read and checked */
static int recv_run(struct peer *p, unsigned char *buf, size_t *n, bool *front,
		    uint64_t *head, uint32_t *crc, int timeout_ms)
{
	bool mark_read = false;
	unsigned char mark[4];
	int ret;

	if (p->rx_ivl && p->rx_pos % p->rx_ivl == 0) {
		ret = peer_recv(p, mark, 4, timeout_ms);
		if (ret != 1)
			return ret;
		if (get_be32(mark) != (*front ? 0 : p->rx_pos - *head))
			return -3;
		crc32c_add(crc, mark, 4);
		p->rx_pos += 4;
		mark_read = true;
	}
	if (*front)
		*head = p->rx_pos;
	*front = false;
	if (p->rx_ivl && *n > p->rx_ivl - p->rx_pos % p->rx_ivl)
		*n = p->rx_ivl - p->rx_pos % p->rx_ivl;
	/* after the marker the rest comes, too */
	ret = peer_recv(p, buf, *n,
			mark_read ? peer_patience(10000) : timeout_ms);
	if (ret == 1) {
		crc32c_add(crc, buf, *n);
		p->rx_pos += *n;
	}
	return ret;
}

/* 1: in p->ulpdu; 0: FIN; -1: RST; -2: time is up; -3: not an FPDU */
int peer_recv_fpdu(struct peer *p, int timeout_ms)
{
	size_t body = 4, got = 0, n;
	uint32_t crc = ~0u, word;
	unsigned char *buf;
	bool front = true;
	uint64_t head = 0;
	int ret = 1;

	if (p->ops)
		return p->ops->recv(p, timeout_ms);
	buf = malloc(PEER_ULPDU_MAX + 16);
	if (!buf)
		abort();
	/* the first word, then what it says, then the CRC's marker */
	while (got < body) {
		n = body - got;
		ret = recv_run(p, buf + got, &n, &front, &head, &crc,
			       timeout_ms);
		if (ret != 1)
			goto out;
		got += n;
		timeout_ms = peer_patience(10000);
		p->ulpdu_len = buf[0] << 8 | buf[1];
		body = (2 + p->ulpdu_len + 3) & ~3ul;
	}
	n = 0;
	ret = recv_run(p, buf + got, &n, &front, &head, &crc, timeout_ms);
	if (ret == 1)
		ret = peer_recv(p, buf + got, 4, timeout_ms);
	if (ret != 1)
		goto out;
	p->rx_pos += 4;
	word = (uint32_t)buf[got + 3] << 24 | buf[got + 2] << 16 |
	       buf[got + 1] << 8 | buf[got];
	if (p->crc && ~crc != word) {
		ret = -3;
		goto out;
	}
	memcpy(p->ulpdu, buf + 2, p->ulpdu_len);
out:
	free(buf);
	return ret;
}

size_t ulpdu_tagged(unsigned char *out, unsigned int ddp, unsigned int rdmap,
		    uint32_t stag, uint64_t to, const void *data, size_t len)
{
	out[0] = ddp;
	out[1] = rdmap;
	put_be32(out + 2, stag);
	put_be64(out + 6, to);
	if (len)
		memcpy(out + 14, data, len);
	return 14 + len;
}

size_t ulpdu_untagged(unsigned char *out, unsigned int ddp, unsigned int rdmap,
		      uint32_t inval, uint32_t qn, uint32_t msn, uint32_t mo,
		      const void *data, size_t len)
{
	out[0] = ddp;
	out[1] = rdmap;
	put_be32(out + 2, inval);
	put_be32(out + 6, qn);
	put_be32(out + 10, msn);
	put_be32(out + 14, mo);
	if (len)
		memcpy(out + 18, data, len);
	return 18 + len;
}

size_t ulpdu_read_request(unsigned char *out, uint32_t msn, uint32_t sink_stag,
			  uint64_t sink_to, uint32_t size, uint32_t src_stag,
			  uint64_t src_to)
{
	unsigned char r[28];

	put_be32(r, sink_stag);
	put_be64(r + 4, sink_to);
	put_be32(r + 12, size);
	put_be32(r + 16, src_stag);
	put_be64(r + 20, src_to);
	return ulpdu_untagged(out, DDP_UNTAGGED, OP_READ_REQ, 0, 1, msn, 0, r,
			      sizeof(r));
}

/* A correct Send of one segment. */
void peer_send_message(struct peer *p, const void *data, size_t len)
{
	unsigned char *u;

	if (p->ops) {
		p->ops->send_message(p, data, len);
		return;
	}
	u = malloc(18 + len);
	if (!u)
		abort();
	len = ulpdu_untagged(u, DDP_UNTAGGED, OP_SEND, 0, 0, p->msn++, 0, data,
			     len);
	peer_send_fpdu(p, u, len, NULL);
	free(u);
}

void peer_write(struct peer *p, uint32_t stag, uint64_t to, const void *data,
		size_t len)
{
	unsigned char u[1500];

	if (p->ops) {
		p->ops->write(p, stag, to, data, len);
		return;
	}
	len = ulpdu_tagged(u, DDP_TAGGED, OP_WRITE, stag, to, data, len);
	peer_send_fpdu(p, u, len, NULL);
}

void peer_write_imm(struct peer *p, uint32_t stag, uint64_t to,
		    const void *data, size_t len, uint32_t imm)
{
	unsigned char imm_data[8], u[64];
	size_t n;

	if (p->ops) {
		p->ops->write_imm(p, stag, to, data, len, imm);
		return;
	}
	if (len)
		peer_write(p, stag, to, data, len);
	put_be32(imm_data, imm);
	put_be32(imm_data + 4, len);
	n = ulpdu_untagged(u, DDP_UNTAGGED, OP_IMM, 0, 0, p->msn++, 0, imm_data,
			   sizeof(imm_data));
	peer_send_fpdu(p, u, n, NULL);
}

/* Are these the headers that a Terminate has to return for that ULPDU? */
static bool returns(const struct peer_sent *s, uint32_t word,
		    const unsigned char *copy, size_t len)
{
	bool tagged = s->head[0] & 0x80;
	bool request = word >> 24 == 0x01 && !tagged && s->len >= 46 &&
		       (s->head[1] & 15) == 1;
	size_t n = (tagged ? 14 : 18) + (request ? 28 : 0);

	return (word & 0xe000) == (request ? 0xe000u : 0xc000u) &&
	       s->len >= n && len == 2 + n &&
	       (size_t)(copy[0] << 8 | copy[1]) == s->len &&
	       !memcmp(copy + 2, s->head, n);
}

/* The error of the Terminate, RFC 5040 section 4.8; NULL: none */
static const char *term_bad(const struct peer *p)
{
	uint32_t word = get_be32(p->ulpdu + 18);
	size_t i, len = p->ulpdu_len - 22;

	if (p->ulpdu[0] != DDP_UNTAGGED || get_be32(p->ulpdu + 6) != 2 ||
	    get_be32(p->ulpdu + 10) != 1 || get_be32(p->ulpdu + 14))
		return "not the first message of its queue";
	if (word & 0x1fff)
		return "reserved bits are set";
	/* errors of MPA and those of the device itself concern no message */
	if (word >> 28 > 1 || !(word >> 24 & 15) ||
	    (peer_above && !len && p->term == TERM_ERR(0, 2, 7)))
		return word & 0xe000 || len ? "it returns headers" : NULL;
	for (i = p->sent_count; i--;)
		if (returns(&p->sent[i], word, p->ulpdu + 22, len))
			return NULL;
	return "it returns other headers than were sent";
}

bool peer_is_terminate(struct peer *p)
{
	uint32_t word;

	if (p->ulpdu_len < 22 || p->ulpdu[0] & 0x80 || (p->ulpdu[1] & 15) != 7)
		return false;
	word = get_be32(p->ulpdu + 18);
	p->term = TERM_ERR(word >> 28, word >> 24 & 15, word >> 16 & 255);
	p->term_bad = term_bad(p);
	return true;
}

enum peer_end peer_wait_end(struct peer *p, int timeout_ms)
{
	long end = net_ms() + timeout_ms, left;
	bool term = false;
	int ret;

	if (p->ops)
		return p->ops->wait_end(p, timeout_ms);
	do {
		left = end - net_ms();
		ret = peer_recv_fpdu(p, left > 0 ? left : 0);
		if (ret == 1)
			term |= peer_is_terminate(p);
	} while (ret == 1);
	if (term) /* and the connection has to end all the same */
		return ret == -2 ? END_NONE : END_TERMINATE;
	if (ret == -2)
		return END_NONE;
	if (ret == -3)
		return END_NO_FRAME;
	return ret ? END_RST : END_FIN;
}

const char *peer_end_text(enum peer_end end, unsigned int term)
{
	static char text[64];

	switch (end) {
	case END_NONE:
		return "still open";
	case END_FIN:
		return "closed";
	case END_RST:
		return "reset";
	case END_NO_FRAME:
		return "bytes that are no FPDU";
	case END_OTHERWISE:
		return "a step had another result";
	case END_TERMINATE:
		snprintf(text, sizeof(text), "Terminate %u/%u/%02x", term >> 12,
			 term >> 8 & 15, term & 255);
		return text;
	}
	return "?";
}
