// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Wire formats of SDP. Lowest layer: calls nothing. All fields are big-endian
 * and may be unaligned.
 */
#include "sdp_wire.h"

#ifdef __KERNEL__
#include <linux/string.h>
#else
#include <string.h>
#endif

/* Receive buffers below this hold no useful message. */
#define SDP_MIN_RCVSZ		(SDP_BSDH_LEN + 64)
/*
 * With fewer receives at one end, the other end could never send data: see Credits in
 * Documentation/wire.rst.
 */
#define SDP_MIN_BUFS		3

/* Offsets in HH and HAH, from the start of the message */
enum {
	HH_VERSION	= SDP_BSDH_LEN,
	HH_IPV_CAP	= SDP_BSDH_LEN + 1,
	HH_ADVERTS	= SDP_BSDH_LEN + 3,
	HH_DESIRED	= SDP_BSDH_LEN + 4,
	HH_RCVSZ	= SDP_BSDH_LEN + 8,
	HH_PORT		= SDP_BSDH_LEN + 12,
	HH_EXT		= SDP_BSDH_LEN + 14,
	HH_SRC		= SDP_BSDH_LEN + 16,
	HH_DST		= SDP_BSDH_LEN + 32,
	HAH_VERSION	= SDP_BSDH_LEN,
	HAH_CAP		= SDP_BSDH_LEN + 1,
	HAH_ADVERTS	= SDP_BSDH_LEN + 3,
	HAH_RCVSZ	= SDP_BSDH_LEN + 4,
	HAH_EXT		= SDP_BSDH_LEN + 8,
};

static void put16(u8 *p, u16 v)
{
	p[0] = v >> 8;
	p[1] = v;
}

static void put32(u8 *p, u32 v)
{
	put16(p, v >> 16);
	put16(p + 2, v);
}

static void put64(u8 *p, u64 v)
{
	put32(p, v >> 32);
	put32(p + 4, v);
}

static u16 get16(const u8 *p)
{
	return (u16)(p[0] << 8 | p[1]);
}

static u32 get32(const u8 *p)
{
	return (u32)get16(p) << 16 | get16(p + 2);
}

static u64 get64(const u8 *p)
{
	return (u64)get32(p) << 32 | get32(p + 4);
}

/**
 * sdp_put_bsdh - write the header that starts every message
 * @p: room for SDP_BSDH_LEN bytes
 * @h: its fields
 */
void sdp_put_bsdh(u8 *p, const struct sdp_bsdh *h)
{
	p[0] = h->mid;
	p[1] = h->flags;
	put16(p + 2, h->bufs);
	put32(p + 4, h->len);
	put32(p + 8, h->mseq);
	put32(p + 12, h->mseq_ack);
}

/* Read the header that starts every message, SDP_BSDH_LEN bytes */
static void sdp_get_bsdh(const u8 *p, struct sdp_bsdh *h)
{
	h->mid = p[0];
	h->flags = p[1];
	h->bufs = get16(p + 2);
	h->len = get32(p + 4);
	h->mseq = get32(p + 8);
	h->mseq_ack = get32(p + 12);
}

/**
 * sdp_ext_len - bytes of the extended header of a message
 * @mid: enum sdp_mid, not Hello or HelloAck
 *
 * Return: its length, 0 for messages without one.
 */
u32 sdp_ext_len(u8 mid)
{
	switch (mid) {
	case SDP_MID_RDMA_WR_COMPL:
	case SDP_MID_RDMA_RD_COMPL:
	case SDP_MID_MODE_CHANGE:
	case SDP_MID_CHRCVBUF:
	case SDP_MID_CHRCVBUF_ACK:
		return 4;
	case SDP_MID_SUSPEND:
	case SDP_MID_RING:
		return 8;
	case SDP_MID_SRC_AVAIL:
	case SDP_MID_RING_AVAIL:
		return 16;
	case SDP_MID_SINK_AVAIL:
		return 20;
	default:
		return 0;
	}
}

/**
 * sdp_mid_name - name of a message, for logs and traces
 * @mid: enum sdp_mid, or any byte from the wire
 *
 * Return: its name in the specification or in Documentation/wire.rst, or "unknown".
 */
const char *sdp_mid_name(u8 mid)
{
	static const char * const low[] = {
		"Hello", "HelloAck", "DisConn", "AbortConn", "SendSm",
		"RdmaWrCompl", "RdmaRdCompl", "ModeChange", "SrcAvailCancel",
		"SinkAvailCancel", "SinkCancelAck", "ChRcvBuf", "ChRcvBufAck",
		"SuspComm", "SuspCommAck",
	};

	switch (mid) {
	case SDP_MID_DATA:
		return "Data";
	case SDP_MID_SRC_AVAIL:
		return "SrcAvail";
	case SDP_MID_SINK_AVAIL:
		return "SinkAvail";
	case SDP_MID_RING_AVAIL:
		return "RingAvail";
	case SDP_MID_RING:
		return "Ring";
	default:
		return mid <= SDP_MID_SUSPEND_ACK ? low[mid] : "unknown";
	}
}

static bool sdp_mid_known(u8 mid)
{
	return (mid >= SDP_MID_DISCON && mid <= SDP_MID_SUSPEND_ACK) ||
	       mid == SDP_MID_RING_AVAIL || mid == SDP_MID_RING ||
	       mid >= SDP_MID_SINK_AVAIL;
}

static bool sdp_mid_has_payload(u8 mid)
{
	return mid >= SDP_MID_SINK_AVAIL || mid == SDP_MID_RING;
}

static enum sdp_wire_err sdp_parse_ext(const u8 *p, struct sdp_msg *m)
{
	switch (m->h.mid) {
	case SDP_MID_RDMA_WR_COMPL:
	case SDP_MID_RDMA_RD_COMPL:
		m->ext.len = get32(p);
		return SDP_WIRE_OK;
	case SDP_MID_CHRCVBUF:
	case SDP_MID_CHRCVBUF_ACK:
		m->ext.size = get32(p);
		return SDP_WIRE_OK;
	case SDP_MID_MODE_CHANGE:
		m->ext.mch.send_half = p[0] & 0x80;
		m->ext.mch.mode = p[0] >> 4 & 7;
		if (m->ext.mch.mode > SDP_MODE_PIPELINED)
			return SDP_WIRE_FIELD;
		return SDP_WIRE_OK;
	case SDP_MID_SUSPEND:
		m->ext.service_id = get64(p);
		return SDP_WIRE_OK;
	case SDP_MID_RING:
		m->ext.ring.len = get32(p);
		m->ext.ring.freed = get32(p + 4);
		/* its bytes are all here, or all in the ring */
		if (m->payload_len && m->payload_len != m->ext.ring.len)
			return SDP_WIRE_LEN;
		return SDP_WIRE_OK;
	case SDP_MID_SINK_AVAIL:
	case SDP_MID_SRC_AVAIL:
	case SDP_MID_RING_AVAIL:
		m->ext.avail.len = get32(p);
		m->ext.avail.rkey = get32(p + 4);
		m->ext.avail.va = get64(p + 8);
		if (m->h.mid == SDP_MID_SINK_AVAIL)
			m->ext.avail.non_discards = get32(p + 16);
		/* a buffer may not be empty, nor wrap */
		if (!m->ext.avail.len ||
		    m->ext.avail.va + m->ext.avail.len < m->ext.avail.va)
			return SDP_WIRE_FIELD;
		return SDP_WIRE_OK;
	default:
		return SDP_WIRE_OK;
	}
}

/* An urgent byte is the last one of Data or Ring with payload. */
static enum sdp_wire_err sdp_check_urgent(const struct sdp_msg *m,
					  enum sdp_wire_err err)
{
	if (err || !(m->h.flags & SDP_OOB_PRES))
		return err;
	if (m->h.mid == SDP_MID_RING)
		return m->ext.ring.len ? SDP_WIRE_OK : SDP_WIRE_FLAGS;
	return m->h.mid == SDP_MID_DATA && m->payload_len ? SDP_WIRE_OK :
							    SDP_WIRE_FLAGS;
}

/**
 * sdp_parse_msg - check and take apart a message after connection set-up
 * @p: start of the message
 * @hdr_len: bytes that may be read at @p, the payload can be elsewhere
 * @msg_len: bytes that the transport delivered
 * @m: result, complete when %SDP_WIRE_OK is returned; @m->h whenever the
 *	message has a BSDH at all
 *
 * MSeq, MSeqAck and Bufs are returned, but only the connection can check them.
 *
 * Return: %SDP_WIRE_OK, or what is wrong.
 */
enum sdp_wire_err sdp_parse_msg(const u8 *p, u32 hdr_len, u32 msg_len,
				struct sdp_msg *m)
{
	u32 ext;

	memset(m, 0, sizeof(*m));
	if (msg_len < SDP_BSDH_LEN || hdr_len < SDP_BSDH_LEN)
		return SDP_WIRE_LEN;
	sdp_get_bsdh(p, &m->h);
	if (m->h.len != msg_len)
		return SDP_WIRE_LEN;
	if (!sdp_mid_known(m->h.mid))
		return SDP_WIRE_MID;
	if (m->h.flags & ~SDP_FLAGS)
		return SDP_WIRE_FLAGS;

	ext = sdp_ext_len(m->h.mid);
	if (msg_len - SDP_BSDH_LEN < ext || hdr_len - SDP_BSDH_LEN < ext)
		return SDP_WIRE_LEN;
	m->payload = SDP_BSDH_LEN + ext;
	m->payload_len = msg_len - m->payload;
	if (m->payload_len && !sdp_mid_has_payload(m->h.mid))
		return SDP_WIRE_LEN;
	return sdp_check_urgent(m, sdp_parse_ext(p + SDP_BSDH_LEN, m));
}

/**
 * sdp_msg_hdr_len - bytes of a message before its payload
 * @p: its first byte
 *
 * Return: BSDH and extended header.
 */
u32 sdp_msg_hdr_len(const u8 *p)
{
	return SDP_BSDH_LEN + sdp_ext_len(p[0]);
}

/**
 * sdp_msg_claim - length that a message says it has
 * @p: SDP_BSDH_LEN bytes
 */
u32 sdp_msg_claim(const u8 *p)
{
	return get32(p + 4);
}

/**
 * sdp_build_msg - write BSDH and extended header
 * @p: room for SDP_MSG_HDR_MAX bytes
 * @m: fields; @m->h.len is computed from @m->payload_len
 *
 * Return: bytes written; the payload follows them.
 */
u32 sdp_build_msg(u8 *p, const struct sdp_msg *m)
{
	u32 ext = sdp_ext_len(m->h.mid);
	struct sdp_bsdh h = m->h;
	u8 *e = p + SDP_BSDH_LEN;

	h.len = SDP_BSDH_LEN + ext + m->payload_len;
	sdp_put_bsdh(p, &h);
	switch (h.mid) {
	case SDP_MID_RDMA_WR_COMPL:
	case SDP_MID_RDMA_RD_COMPL:
		put32(e, m->ext.len);
		break;
	case SDP_MID_CHRCVBUF:
	case SDP_MID_CHRCVBUF_ACK:
		put32(e, m->ext.size);
		break;
	case SDP_MID_MODE_CHANGE:
		put32(e, (u32)((m->ext.mch.send_half ? 0x80 : 0) |
			       m->ext.mch.mode << 4) << 24);
		break;
	case SDP_MID_SUSPEND:
		put64(e, m->ext.service_id);
		break;
	case SDP_MID_RING:
		put32(e, m->ext.ring.len);
		put32(e + 4, m->ext.ring.freed);
		break;
	case SDP_MID_SINK_AVAIL:
	case SDP_MID_SRC_AVAIL:
	case SDP_MID_RING_AVAIL:
		put32(e, m->ext.avail.len);
		put32(e + 4, m->ext.avail.rkey);
		put64(e + 8, m->ext.avail.va);
		if (h.mid == SDP_MID_SINK_AVAIL)
			put32(e + 16, m->ext.avail.non_discards);
		break;
	default:
		break;
	}
	return SDP_BSDH_LEN + ext;
}

/**
 * sdp_parse_imm - check and take apart the immediate data of an RDMA Write
 * @imm: as a number
 * @written: bytes that the device has written
 * @mseq: MSeq of the message, which the immediate data does not carry
 * @acked: MSeqAck of the previous message, which the new one exceeds by 65535 at most
 * @m: result, a Ring message without Bufs and Freed
 *
 * MSeqAck can only be checked by the connection.
 *
 * Return: %SDP_WIRE_OK, or what is wrong.
 */
enum sdp_wire_err sdp_parse_imm(u32 imm, u32 written, u32 mseq, u32 acked,
				struct sdp_msg *m)
{
	memset(m, 0, sizeof(*m));
	m->h.mid = SDP_MID_RING;
	m->h.mseq = mseq;
	m->h.mseq_ack = acked + (u16)((imm >> 16) - acked);
	m->ext.ring.len = imm & SDP_IMM_MAX;
	if (!m->ext.ring.len || m->ext.ring.len != written)
		return SDP_WIRE_LEN;
	return SDP_WIRE_OK;
}

/**
 * sdp_build_imm - immediate data that stand for a Ring message
 * @m: that message, of 1 to SDP_IMM_MAX bytes
 *
 * Return: the number.
 */
u32 sdp_build_imm(const struct sdp_msg *m)
{
	return m->h.mseq_ack << 16 | m->ext.ring.len;
}

/* Left zero, as the standard wants it, if there is nothing to say. */
static void sdp_put_ext(u8 *p, u8 ext)
{
	if (!ext)
		return;
	p[0] = SDP_EXT_SIGN;
	p[1] = ext;
}

static u8 sdp_get_ext(const u8 *p)
{
	return p[0] == SDP_EXT_SIGN ? p[1] & SDP_EXT_KNOWN : 0;
}

static void sdp_put_hello_bsdh(u8 *p, u8 mid, u16 bufs, u32 len)
{
	struct sdp_bsdh h = { .mid = mid, .bufs = bufs, .len = len };

	sdp_put_bsdh(p, &h);
}

/**
 * sdp_build_hello - write a Hello
 * @p: room for SDP_HELLO_LEN bytes
 * @h: fields; @h->has_addrs is not looked at
 * @short_form: leave out the addresses, for transports whose connection
 *	manager has carried them already and has no room
 *
 * Return: bytes written.
 */
u32 sdp_build_hello(u8 *p, const struct sdp_hello *h, bool short_form)
{
	u32 len = short_form ? SDP_HELLO_SHORT : SDP_HELLO_LEN;

	memset(p, 0, len);
	sdp_put_hello_bsdh(p, SDP_MID_HELLO, h->bufs, len);
	p[HH_VERSION] = h->version;
	p[HH_IPV_CAP] = (u8)(h->ipv << 4) | (h->cap & 0x0f);
	p[HH_ADVERTS] = h->max_adverts;
	put32(p + HH_DESIRED, h->desired);
	put32(p + HH_RCVSZ, h->rcvsz);
	put16(p + HH_PORT, h->port);
	sdp_put_ext(p + HH_EXT, h->ext);
	if (!short_form) {
		memcpy(p + HH_SRC, h->src, 16);
		memcpy(p + HH_DST, h->dst, 16);
	}
	return len;
}

/* Check the common part of Hello and HelloAck; @len bytes are readable. */
static enum sdp_wire_err sdp_check_hello(const u8 *p, u32 len, u8 mid, u32 min,
					 struct sdp_hello *h,
					 struct sdp_bsdh *b)
{
	memset(h, 0, sizeof(*h));
	if (len < min)
		return SDP_WIRE_LEN;
	sdp_get_bsdh(p, b);
	if (b->mid != mid)
		return SDP_WIRE_MID;
	/* the transport may pad private data, never cut it */
	if (b->len < min || b->len > len)
		return SDP_WIRE_LEN;
	if (b->flags)
		return SDP_WIRE_FLAGS;
	if (b->mseq || b->mseq_ack)
		return SDP_WIRE_SEQ;
	if (b->bufs < SDP_MIN_BUFS)
		return SDP_WIRE_CREDITS;
	h->bufs = b->bufs;
	h->version = p[HH_VERSION];
	if (h->version >> 4 != SDP_VERSION >> 4)
		return SDP_WIRE_VERSION;
	h->max_adverts = p[HH_ADVERTS];
	if (!h->max_adverts)
		return SDP_WIRE_ADVERTS;
	return SDP_WIRE_OK;
}

/**
 * sdp_parse_hello - check and read a Hello
 * @p: private data of the connection request
 * @len: its length, padding included
 * @short_ok: the transport is one that uses the short form
 * @h: result
 *
 * The caller compares @h->ipv with the address family of the connection.
 *
 * Return: %SDP_WIRE_OK, or why the request must be refused.
 */
enum sdp_wire_err sdp_parse_hello(const u8 *p, u32 len, bool short_ok,
				  struct sdp_hello *h)
{
	u32 min = short_ok ? SDP_HELLO_SHORT : SDP_HELLO_MIN;
	enum sdp_wire_err err;
	struct sdp_bsdh b;

	err = sdp_check_hello(p, len, SDP_MID_HELLO, min, h, &b);
	if (err)
		return err;
	h->ipv = p[HH_IPV_CAP] >> 4;
	h->cap = p[HH_IPV_CAP] & 0x0f;
	if (h->ipv != 4 && h->ipv != 6)
		return SDP_WIRE_IPV;
	h->desired = get32(p + HH_DESIRED);
	h->rcvsz = get32(p + HH_RCVSZ);
	if (h->rcvsz < SDP_MIN_RCVSZ)
		return SDP_WIRE_BUFSIZE;
	h->port = get16(p + HH_PORT);
	h->ext = sdp_get_ext(p + HH_EXT);
	if (b.len >= SDP_HELLO_MIN) {
		h->has_addrs = true;
		memcpy(h->src, p + HH_SRC, 16);
		memcpy(h->dst, p + HH_DST, 16);
	}
	return SDP_WIRE_OK;
}

/**
 * sdp_build_hello_ack - write a HelloAck
 * @p: room for SDP_HELLO_ACK_LEN bytes
 * @h: fields
 *
 * Return: bytes written.
 */
u32 sdp_build_hello_ack(u8 *p, const struct sdp_hello *h)
{
	memset(p, 0, SDP_HELLO_ACK_LEN);
	sdp_put_hello_bsdh(p, SDP_MID_HELLO_ACK, h->bufs, SDP_HELLO_ACK_LEN);
	p[HAH_VERSION] = h->version;
	p[HAH_CAP] = h->cap & 0x0f;
	p[HAH_ADVERTS] = h->max_adverts;
	put32(p + HAH_RCVSZ, h->rcvsz);
	sdp_put_ext(p + HAH_EXT, h->ext);
	return SDP_HELLO_ACK_LEN;
}

/**
 * sdp_parse_hello_ack - check and read a HelloAck
 * @p: private data of the reply
 * @len: its length, padding included
 * @h: result
 *
 * Return: %SDP_WIRE_OK, or why the connection must be given up.
 */
enum sdp_wire_err sdp_parse_hello_ack(const u8 *p, u32 len,
				      struct sdp_hello *h)
{
	enum sdp_wire_err err;
	struct sdp_bsdh b;

	err = sdp_check_hello(p, len, SDP_MID_HELLO_ACK, SDP_HELLO_ACK_MIN,
			      h, &b);
	if (err)
		return err;
	h->cap = p[HAH_CAP] & 0x0f;
	h->rcvsz = get32(p + HAH_RCVSZ);
	if (h->rcvsz < SDP_MIN_RCVSZ)
		return SDP_WIRE_BUFSIZE;
	if (b.len >= HAH_EXT + 2)
		h->ext = sdp_get_ext(p + HAH_EXT);
	return SDP_WIRE_OK;
}
