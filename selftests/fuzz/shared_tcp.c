// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * TCP and a NIC beneath the drivers' files. See shared_tcp.h.
 */
#include "shared_tcp.h"
#include "unit.h"
#include "iwarp/crc.h"

#define FRAGS 8192
#define PACKET 65535 /* bytes of a packet before it is cut into segments */

struct tcp tcp;

/* ---- TCP ---- */

struct frag {
	struct page *page;
	u32 off, len;
	u32 pos; /* of its first byte */
};

/* FPDUs left to the NIC, @layout: enum iwarp_layout */
struct record {
	u32 pos, len;
	u8 layout;
};

/* Unacknowledged fragments; packets that have not left, of which some are empty */
static struct frag frags[FRAGS];
static u32 frag_get, frag_put;
static struct sk_buff packets[FRAGS];
static u32 packet_get, packet_put;
static struct record records[FRAGS];
static u32 record_get, record_put;

struct sk_buff *tcp_write_queue_tail(const struct sock *sk)
{
	(void)sk;
	return packet_get == packet_put ? NULL :
					  &packets[(packet_put - 1) % FRAGS];
}

u32 tcp_packets_in_flight(const struct tcp_sock *tp)
{
	return (tp->snd_nxt - tp->snd_una + tp->mss_cache - 1) / tp->mss_cache;
}

int sk_stream_wspace(const struct sock *sk)
{
	(void)sk;
	return (int)(tcp.sndbuf - (tcp.tp.write_seq - tcp.tp.snd_una));
}

/* As tcp_sync_mss() */
static u32 sync_mss(struct sock *sk, u32 mtu)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 mss = mtu - 40;

	if (!tcp.uneven && mss > tp->rx_opt.mss_clamp)
		mss = tp->rx_opt.mss_clamp;
	mss -= tp->tcp_header_len - sizeof(struct tcphdr);
	tp->icsk.icsk_pmtu_cookie = mtu;
	tp->mss_cache = mss;
	return mss;
}

void tcp_begin(u32 first)
{
	struct tcp_sock *tp = &tcp.tp;

	memset(&tcp, 0, offsetof(struct tcp, bytes));
	frag_get = frag_put = 0;
	packet_get = packet_put = 0;
	record_get = record_put = 0;
	tcp.first = first;
	tcp.sndbuf = 1u << 20;
	tcp.frag_room = INT_MAX;
	tp->icsk.sk.sk_socket = &tcp.socket;
	tp->icsk.sk.dst.mtu = 1500;
	tp->icsk.icsk_sync_mss = sync_mss;
	tp->tcp_header_len = 32;
	tp->rx_opt.mss_clamp = 65535;
	tp->write_seq = first;
	tp->snd_nxt = first;
	tp->snd_una = first;
	tp->snd_wnd = 1u << 20;
	tp->snd_cwnd = 10;
	sync_mss(&tp->icsk.sk, 1500);
}

void tcp_send(u32 n)
{
	struct tcp_sock *tp = &tcp.tp;
	struct sk_buff *skb;
	u32 len;

	while (n && packet_get != packet_put) {
		skb = &packets[packet_get % FRAGS];
		len = min(min(skb->len, tp->mss_cache), n);
		skb->len -= len;
		tp->snd_nxt += len;
		n -= len;
		if (!skb->len)
			packet_get++;
	}
}

void tcp_ack(u32 n)
{
	struct tcp_sock *tp = &tcp.tp;
	struct frag *f;

	tp->snd_una += min(n, tp->snd_nxt - tp->snd_una);
	for (; frag_get != frag_put; frag_get++) {
		f = &frags[frag_get % FRAGS];
		if (f->pos + f->len > tp->snd_una - tcp.first)
			break;
		check(!memcmp(f->page->mem + f->off, tcp.bytes + f->pos,
			      f->len));
		put_page(f->page);
	}
}

void tcp_end(void)
{
	tcp_send(UINT32_MAX);
	tcp_ack(UINT32_MAX);
	check(frag_get == frag_put);
}

bool tcp_take(struct page *page, u32 off, u32 len)
{
	struct sk_buff *skb = tcp_write_queue_tail(NULL);

	if (frag_put - frag_get == FRAGS || packet_put - packet_get == FRAGS)
		return false;
	frags[frag_put++ % FRAGS] = (struct frag){ page, off, len, tcp.given };
	get_page(page);
	if (!skb || skb->cb.eor || skb->len + len > PACKET) {
		skb = &packets[packet_put++ % FRAGS];
		memset(skb, 0, sizeof(*skb));
		tcp.begins = (tcp.begins ^ tcp.given) * 0x100000001b3u;
	}
	skb->len += len;
	check(tcp.given + len <= STREAM_MAX);
	memcpy(tcp.bytes + tcp.given, page->mem + off, len);
	tcp.given += len;
	tcp.tp.write_seq += len;
	return true;
}

/* ---- the NIC's records ---- */

bool hyb_off_room(struct hyb_off *off, unsigned int pieces)
{
	(void)off;
	return record_put - record_get + pieces <= tcp.nic_room;
}

/* They are kept as long as tcp_finish() may be called */
void hyb_off_acked(struct hyb_qp *qp, struct hyb_off *off)
{
	const struct record *r;

	(void)qp;
	(void)off;
	for (; record_get != record_put; record_get++) {
		r = &records[record_get % FRAGS];
		if (r->pos + r->len > tcp.tp.snd_una - tcp.first)
			break;
	}
}

enum finish tcp_finish(u32 pos)
{
	const struct record *r;
	u32 i;

	for (i = record_put; i && i + FRAGS != record_put; i--) {
		r = &records[(i - 1) % FRAGS];
		if (pos - r->pos < r->len)
			return r->layout == IWARP_LAYOUT_CONTIG ?
				       BY_NIC_CONTIG :
				       BY_NIC;
	}
	return BY_HOST;
}

/* In the order of the stream, before TCP gets any of it */
void tcp_record(u32 pos, u32 len, u8 layout)
{
	const struct record *last = &records[(record_put - 1) % FRAGS];

	check(pos >= tcp.given);
	check(!record_put || pos >= last->pos + last->len);
	records[record_put++ % FRAGS] = (struct record){ pos, len, layout };
}

/* ---- CRCs ---- */

u32 iwarp_crc32c(u32 crc, const void *p, size_t len)
{
	return unit_crc32c(crc, p, len);
}

u32 iwarp_crc32c_kernel(u32 crc, const void *p, size_t len)
{
	return unit_crc32c(crc, p, len);
}

u32 iwarp_crc32c_vector(u32 crc, const void *p, size_t len)
{
	return unit_crc32c(crc, p, len);
}

enum iwarp_crc_how iwarp_crc_begin(bool kernel, size_t len)
{
	(void)len;
	return kernel ? IWARP_CRC_KERNEL : IWARP_CRC_VECTOR;
}

void iwarp_crc_end(enum iwarp_crc_how how)
{
	(void)how;
}
