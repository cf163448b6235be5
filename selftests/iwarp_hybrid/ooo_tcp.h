/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A TCP peer that decides about every segment: which bytes of its stream go
 * out, in what order, how often, with what content. No kernel socket: packets
 * of an address that no other host has.
 */
#ifndef SELFTESTS_IWARP_OOO_TCP_H
#define SELFTESTS_IWARP_OOO_TCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/if_packet.h>

#define RAW_STREAM (256 * 1024) /* bytes each way, at most */
#define RAW_MSS 1400

struct raw {
	int fd;
	struct sockaddr_ll to;
	uint32_t saddr, daddr; /* network order */
	uint16_t sport, dport;
	uint32_t isn; /* number of the first byte of the stream */
	uint32_t acked; /* of the stream */
	uint32_t rcv_nxt;
	uint32_t sacked; /* bytes named by the last SACK blocks */
	bool fin, rst;
	unsigned char in[RAW_STREAM]; /* what came */
	size_t in_len;
};

/* @from: local address, @mac: of the other side, on @ifindex */
int raw_init(struct raw *r, int ifindex, const unsigned char *mac,
	     uint32_t from, uint32_t to, uint16_t dport);
int raw_connect(struct raw *r, uint16_t sport);
/* @len bytes @data, which are those from byte @off of the stream on */
void raw_send(struct raw *r, size_t off, const void *data, size_t len);
void raw_reset(struct raw *r);
/* Take what comes in that time; less if @until bytes of the stream are here */
void raw_wait(struct raw *r, size_t until, int timeout_ms);

#endif /* SELFTESTS_IWARP_OOO_TCP_H */
