// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A TCP peer in user space, see ooo_tcp.h.
 */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ooo_tcp.h"
#include "peer.h"

struct packet {
	struct iphdr ip;
	struct tcphdr tcp;
	unsigned char data[RAW_MSS + 64];
} __attribute__((packed));

static uint32_t sum(uint32_t start, const void *data, size_t len)
{
	const unsigned char *p = data;
	size_t i;

	for (i = 0; i < len; i++)
		start += i & 1 ? p[i] : (uint32_t)p[i] << 8;
	return start;
}

static uint16_t fold(uint32_t s)
{
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return htons(~s);
}

/* Options are @opt bytes before the data in @p->data */
static void emit(struct raw *r, struct packet *p, uint32_t seq, size_t opt,
		 size_t len)
{
	size_t tcp = sizeof(p->tcp) + opt + len;

	p->ip = (struct iphdr){ .version = 4,
				.ihl = 5,
				.tot_len = htons(sizeof(p->ip) + tcp),
				.ttl = 64,
				.protocol = IPPROTO_TCP,
				.saddr = r->saddr,
				.daddr = r->daddr };
	p->ip.check = fold(sum(0, &p->ip, sizeof(p->ip)));
	p->tcp.source = htons(r->sport);
	p->tcp.dest = htons(r->dport);
	p->tcp.seq = htonl(seq);
	p->tcp.ack_seq = htonl(r->rcv_nxt);
	p->tcp.doff = 5 + opt / 4;
	p->tcp.window = htons(65535);
	p->tcp.check = 0;
	p->tcp.check = fold(
		sum(sum(IPPROTO_TCP + tcp, &p->ip.saddr, 8), &p->tcp, tcp));
	sendto(r->fd, p, sizeof(p->ip) + tcp, 0, (struct sockaddr *)&r->to,
	       sizeof(r->to));
}

static void send_ack(struct raw *r, uint32_t seq)
{
	struct packet p = { .tcp = { .ack = 1 } };

	emit(r, &p, seq, 0, 0);
}

void raw_send(struct raw *r, size_t off, const void *data, size_t len)
{
	struct packet p;
	size_t n;

	for (; len; len -= n, off += n, data = (const char *)data + n) {
		n = len < RAW_MSS ? len : RAW_MSS;
		memset(&p, 0, sizeof(p.ip) + sizeof(p.tcp));
		p.tcp.ack = 1;
		memcpy(p.data, data, n);
		emit(r, &p, r->isn + off, 0, n);
	}
}

void raw_reset(struct raw *r)
{
	struct packet p = { .tcp = { .rst = 1, .ack = 1 } };

	emit(r, &p, r->isn + r->acked, 0, 0);
	r->rst = true;
}

/* Bytes of all SACK blocks */
static uint32_t sack_len(const unsigned char *opt, size_t len)
{
	uint32_t n = 0;
	size_t i = 0, k;

	while (i + 1 < len && opt[i]) {
		if (opt[i] == 1) {
			i++;
			continue;
		}
		if (opt[i + 1] < 2 || i + opt[i + 1] > len)
			break;
		for (k = 2; opt[i] == 5 && k + 8 <= opt[i + 1]; k += 8)
			n += get_be32(opt + i + k + 4) - get_be32(opt + i + k);
		i += opt[i + 1];
	}
	return n;
}

static void segment(struct raw *r, const struct tcphdr *t, size_t len)
{
	const unsigned char *data = (const unsigned char *)t + 4 * t->doff;
	uint32_t seq = ntohl(t->seq), skip;

	len -= 4 * t->doff;
	if (t->rst)
		r->rst = true;
	if (t->ack && (int32_t)(ntohl(t->ack_seq) - r->isn - r->acked) > 0)
		r->acked = ntohl(t->ack_seq) - r->isn;
	r->sacked = sack_len((const unsigned char *)(t + 1),
			     4 * t->doff - sizeof(*t));
	skip = r->rcv_nxt - seq;
	if (skip <= len && len - skip <= sizeof(r->in) - r->in_len) {
		memcpy(r->in + r->in_len, data + skip, len - skip);
		r->in_len += len - skip;
		r->rcv_nxt += len - skip;
		if (t->fin && !r->fin) {
			r->fin = true;
			r->rcv_nxt++;
		}
	}
	if (len || t->fin)
		send_ack(r, r->isn + r->acked);
}

/* One packet of this connection; its TCP header, length in @len; or NULL */
static const struct tcphdr *receive(struct raw *r, int timeout_ms, size_t *len)
{
	static unsigned char buf[70000];
	const struct iphdr *ip = (void *)buf;
	struct pollfd pfd = { .fd = r->fd, .events = POLLIN };
	const struct tcphdr *t;
	ssize_t n;

	if (poll(&pfd, 1, timeout_ms) <= 0)
		return NULL;
	n = recv(r->fd, buf, sizeof(buf), MSG_DONTWAIT);
	if (n < 40 || ip->protocol != IPPROTO_TCP || ip->daddr != r->saddr)
		return NULL;
	t = (const struct tcphdr *)(buf + 4 * ip->ihl);
	*len = ntohs(ip->tot_len) - 4 * ip->ihl;
	if (ntohs(t->dest) != r->sport || *len < 4u * t->doff ||
	    4 * ip->ihl + *len > (size_t)n)
		return NULL;
	return t;
}

void raw_wait(struct raw *r, size_t until, int timeout_ms)
{
	long end = net_ms() + timeout_ms, left;
	const struct tcphdr *t;
	size_t len;

	while (r->in_len < until && !r->rst) {
		left = end - net_ms();
		if (left <= 0)
			break;
		t = receive(r, left, &len);
		if (t)
			segment(r, t, len);
	}
}

int raw_init(struct raw *r, int ifindex, const unsigned char *mac,
	     uint32_t from, uint32_t to, uint16_t dport)
{
	struct sockaddr_ll sll = { .sll_family = AF_PACKET,
				   .sll_protocol = htons(ETH_P_IP),
				   .sll_ifindex = ifindex,
				   .sll_halen = 6 };
	int size = 1 << 20;

	memset(r, 0, sizeof(*r));
	memcpy(sll.sll_addr, mac, 6);
	r->to = sll;
	r->saddr = from;
	r->daddr = to;
	r->dport = dport;
	r->fd = socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_IP));
	if (r->fd < 0)
		return -1;
	setsockopt(r->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	return bind(r->fd, (struct sockaddr *)&sll, sizeof(sll));
}

int raw_connect(struct raw *r, uint16_t sport)
{
	static const unsigned char opt[] = {
		2, 4, RAW_MSS >> 8, RAW_MSS & 0xff, 4, 2, 1, 1
	};
	struct packet p = { .tcp = { .syn = 1 } };
	long end = net_ms() + 20000;
	const struct tcphdr *t;
	size_t len;

	r->sport = sport;
	r->isn = sport * 65537u;
	r->acked = 0;
	r->in_len = 0;
	r->rcv_nxt = 0;
	r->fin = false;
	r->rst = false;
	memcpy(p.data, opt, sizeof(opt));
	emit(r, &p, r->isn - 1, sizeof(opt), 0);
	while (net_ms() < end) {
		t = receive(r, 200, &len);
		if (!t || !t->syn || !t->ack)
			continue;
		r->rcv_nxt = ntohl(t->seq) + 1;
		send_ack(r, r->isn);
		return 0;
	}
	return -1;
}
