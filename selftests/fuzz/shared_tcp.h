/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Beneath the drivers' files: a TCP that keeps references to the bytes that it is given
 * until they are acknowledged, and checks that they do not change; records of what is
 * left to a NIC.
 */
#ifndef SELFTESTS_FUZZ_SHARED_TCP_H
#define SELFTESTS_FUZZ_SHARED_TCP_H

#include "kernel.h"

#define STREAM_MAX (4u << 20) /* bytes of a stream */

/**
 * struct tcp - a connection
 * @tp: what the driver looks at
 * @socket: same
 * @first: sequence number of position 0
 * @sndbuf: bytes that may be unacknowledged
 * @uneven: segments are as long as the path says, not multiples of 4
 * @frag_room: result of hyb_fpdu_frag_room()
 * @nic_room: records that there is room for
 * @begins: hash of the positions where packets begin
 * @given: bytes that it was given
 * @bytes: these, as they were then
 */
struct tcp {
	struct tcp_sock tp;
	struct socket socket;
	u32 first;
	u32 sndbuf;
	bool uneven;
	u32 frag_room;
	u32 nic_room;
	u64 begins;
	u32 given;
	u8 bytes[STREAM_MAX];
};

extern struct tcp tcp;

void tcp_begin(u32 first);
void tcp_send(u32 n); /* up to so many bytes leave */
void tcp_ack(u32 n); /* up to so many of these are acknowledged */
void tcp_end(void); /* it lets go of what it has */

/* It is given bytes of a page, and keeps a reference; false if it has no room for it */
bool tcp_take(struct page *page, u32 off, u32 len);

/* A NIC finishes the FPDUs of @len bytes at @pos; @layout: enum iwarp_layout */
void tcp_record(u32 pos, u32 len, u8 layout);

/* Who finishes the FPDU at that position, which TCP was given? */
enum finish { BY_HOST, BY_NIC, BY_NIC_CONTIG };
enum finish tcp_finish(u32 pos);

#endif /* SELFTESTS_FUZZ_SHARED_TCP_H */
