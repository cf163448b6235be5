/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Wire formats of SDP: pure functions over (pointer, length), no state, no
 * kernel calls. Everything from the peer passes through here before any
 * field of it is used. Builds in user space too, for unit tests.
 */
#ifndef _SDP_WIRE_H
#define _SDP_WIRE_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/stddef.h>
#else
#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
#endif

#define SDP_BSDH_LEN		16
#define SDP_VERSION		0x22	/* major 2, minor 2 */

/* Message lengths, BSDH included */
#define SDP_HELLO_LEN		92	/* iWARP, InfiniBand without rdma_cm */
#define SDP_HELLO_MIN		68	/* with the addresses and ExtMaxAdverts */
#define SDP_HELLO_SHORT		32	/* where rdma_cm leaves 56 bytes */
#define SDP_HELLO_ACK_LEN	196
#define SDP_HELLO_ACK_MIN	24
#define SDP_MSG_HDR_MAX		36	/* BSDH and the longest extended header */

enum sdp_mid {
	SDP_MID_HELLO		= 0x00,
	SDP_MID_HELLO_ACK	= 0x01,
	SDP_MID_DISCON		= 0x02,
	SDP_MID_ABORT		= 0x03,
	SDP_MID_SENDSM		= 0x04,
	SDP_MID_RDMA_WR_COMPL	= 0x05,
	SDP_MID_RDMA_RD_COMPL	= 0x06,
	SDP_MID_MODE_CHANGE	= 0x07,
	SDP_MID_SRC_CANCEL	= 0x08,
	SDP_MID_SINK_CANCEL	= 0x09,
	SDP_MID_SINK_CANCEL_ACK	= 0x0a,
	SDP_MID_CHRCVBUF	= 0x0b,
	SDP_MID_CHRCVBUF_ACK	= 0x0c,
	SDP_MID_SUSPEND		= 0x0d,
	SDP_MID_SUSPEND_ACK	= 0x0e,
	SDP_MID_RING_AVAIL	= 0x48,	/* ours, extension RING */
	SDP_MID_RING		= 0x49,	/* ours, extension RING */
	SDP_MID_SINK_AVAIL	= 0xfd,
	SDP_MID_SRC_AVAIL	= 0xfe,
	SDP_MID_DATA		= 0xff,
};

#define SDP_OOB_PRES		0x01	/* last payload byte is urgent */
#define SDP_OOB_PEND		0x02	/* an urgent byte is on its way */
#define SDP_REQ_PIPE		0x04	/* sink would like pipelined mode */
#define SDP_FLAGS		(SDP_OOB_PRES | SDP_OOB_PEND | SDP_REQ_PIPE)

/*
 * Extensions of ours, in two bytes of Hello and HelloAck which the standard
 * reserves: SDP_EXT_SIGN, then the bits SDP_EXT_*. See Documentation/wire.rst.
 */
#define SDP_EXT_SIGN		0xd5
#define SDP_EXT_SHARED		0x01	/* no credits: the transport's flow control */
#define SDP_EXT_RING		0x02	/* payload goes to rings, by RDMA Write */
#define SDP_EXT_HOLD		0x04	/* the devices hold messages back */
#define SDP_EXT_IMM		0x08	/* with RING: announced by immediate data */
#define SDP_EXT_KNOWN		(SDP_EXT_SHARED | SDP_EXT_RING | SDP_EXT_HOLD | \
				 SDP_EXT_IMM)
#define SDP_IMM_MAX		0xffff	/* bytes that immediate data can announce */
#define SDP_RING_LEN_MIN	4096	/* bytes of a ring; RingAvail of less is an error */

/* Payload of a message where no receive buffers limit it */
#define SDP_SHARED_PAYLOAD	(1024U * 1024)

enum sdp_mode {
	SDP_MODE_BUFFERED,
	SDP_MODE_COMBINED,
	SDP_MODE_PIPELINED,
};

/* Errors of a message. */
enum sdp_wire_err {
	SDP_WIRE_OK,
	SDP_WIRE_LEN,		/* too short, or Len differs from what came */
	SDP_WIRE_MID,		/* unknown message */
	SDP_WIRE_FLAGS,		/* reserved flag, or not for this message */
	SDP_WIRE_VERSION,	/* major version */
	SDP_WIRE_IPV,		/* not the address family of the connection */
	SDP_WIRE_ADVERTS,	/* no advertisement allowed */
	SDP_WIRE_BUFSIZE,	/* receive buffers too small */
	SDP_WIRE_CREDITS,	/* too few receive buffers */
	SDP_WIRE_SEQ,		/* MSeq or MSeqAck of a Hello is not 0 */
	SDP_WIRE_FIELD,		/* a field of the extended header */
};

struct sdp_bsdh {
	u8 mid;
	u8 flags;
	u16 bufs;
	u32 len;
	u32 mseq;
	u32 mseq_ack;
};

/**
 * struct sdp_hello - Hello and HelloAck
 * @bufs: receive buffers posted (BSDH)
 * @version: major in the upper, minor in the lower half
 * @ipv: 4 or 6 (Hello)
 * @cap: capability bits
 * @max_adverts: advertisements accepted at a time
 * @desired: DesRemRcvSz (Hello)
 * @rcvsz: size of the receive buffers, BSDH included
 * @port: port of the active side (Hello)
 * @ext: extensions offered (Hello) or agreed to (HelloAck), SDP_EXT_*
 * @has_addrs: @src and @dst are there, false in a short Hello
 * @src: address of the active side, IPv4 in the last 4 bytes
 * @dst: address of the passive side
 */
struct sdp_hello {
	u16 bufs;
	u8 version;
	u8 ipv;
	u8 cap;
	u8 max_adverts;
	u32 desired;
	u32 rcvsz;
	u16 port;
	u8 ext;
	bool has_addrs;
	u8 src[16];
	u8 dst[16];
};

/**
 * struct sdp_msg - a parsed message
 * @h: its BSDH
 * @payload: offset of the payload
 * @payload_len: bytes of it
 * @ext: the extended header of @h.mid, if it has one
 */
struct sdp_msg {
	struct sdp_bsdh h;
	u32 payload;
	u32 payload_len;
	union {
		u32 len;		/* RdmaWrCompl, RdmaRdCompl */
		u32 size;		/* ChRcvBuf, ChRcvBufAck */
		u64 service_id;		/* SuspComm */
		struct {
			u8 mode;	/* enum sdp_mode */
			bool send_half;	/* of the receiver of the message */
		} mch;
		struct {
			u32 len;
			u32 rkey;
			u64 va;
			u32 non_discards;	/* SinkAvail only */
		} avail;		/* RingAvail, too */
		struct {
			u32 len;	/* bytes written to the ring,
					 * or that go along
					 */
			u32 freed;	/* bytes read of the other one */
		} ring;
	} ext;
};

void sdp_put_bsdh(u8 *p, const struct sdp_bsdh *h);
u32 sdp_ext_len(u8 mid);
u32 sdp_msg_hdr_len(const u8 *p);
u32 sdp_msg_claim(const u8 *p);
const char *sdp_mid_name(u8 mid);

enum sdp_wire_err sdp_parse_msg(const u8 *p, u32 hdr_len, u32 msg_len,
				struct sdp_msg *m);
u32 sdp_build_msg(u8 *p, const struct sdp_msg *m);
enum sdp_wire_err sdp_parse_imm(u32 imm, u32 written, u32 mseq, u32 acked,
				struct sdp_msg *m);
u32 sdp_build_imm(const struct sdp_msg *m);

u32 sdp_build_hello(u8 *p, const struct sdp_hello *h, bool short_form);
enum sdp_wire_err sdp_parse_hello(const u8 *p, u32 len, bool short_ok,
				  struct sdp_hello *h);
u32 sdp_build_hello_ack(u8 *p, const struct sdp_hello *h);
enum sdp_wire_err sdp_parse_hello_ack(const u8 *p, u32 len,
				      struct sdp_hello *h);

/* Sequence numbers wrap; a is after b. */
static inline bool sdp_seq_after(u32 a, u32 b)
{
	return (int)(b - a) < 0;
}

#endif /* _SDP_WIRE_H */
