/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A peer over verbs, see struct peer_ops: what can be asked of it beyond that.
 */
#ifndef SELFTESTS_SDP_PEER_VERBS_H
#define SELFTESTS_SDP_PEER_VERBS_H

#include <infiniband/verbs.h>

#include "../iwarp_hybrid/peer.h"

extern const struct peer_ops peer_verbs;

/* A request of this kind, with its key or its immediate data */
void verbs_post(struct peer *p, enum ibv_wr_opcode op, unsigned int flags,
		uint32_t key, uint64_t va, const void *data, size_t len,
		uint32_t imm);

/* Keys of our memory that may be announced to the other end */
enum verbs_key {
	KEY_GOOD,
	KEY_NEVER, /* there was none like that */
	KEY_GONE, /* there was, it is deregistered */
	KEY_DENIED, /* there is, without the rights that it needs */
	KEY_SHORT, /* a page of it only */
};

/* One of them, of @len bytes at @mem, which the other end reads or writes */
uint32_t verbs_key(struct peer *p, enum verbs_key kind, void *mem, size_t len,
		   bool writes);
/* Deregisters all memory that was announced to the peer */
void verbs_forget(struct peer *p);

/* Connects as far as the other end's answer, which is not taken */
int verbs_ask(struct peer *p, const void *private_data, size_t len);
/* Accepts, and does not wait for more */
int verbs_tell(struct peer *p, const void *private_data, size_t len);

/* Not iWARP: InfiniBand or RoCE */
bool verbs_is_ib(const struct peer *p);

#endif /* SELFTESTS_SDP_PEER_VERBS_H */
