// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Attacks on SDP that take a device: requests which are not messages, or not plain
 * ones, keys that are no good, connections that are let go. Of struct attack: ddp the
 * operation, rdmap its flags, len its bytes, inval the key, region what a key is.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "hostile_sdp.h"
#include "peer_verbs.h"

#define RING 65536
#define BEYOND (1u << 20) /* any address past that memory */

static unsigned char memory[RING] __attribute__((aligned(4096)));

/* A message with nothing wrong in it, by this kind of Send */
static enum peer_end message_by(struct peer *p, const struct target_memory *m,
				const struct attack *a)
{
	const struct attack data = { .ddp = MID_DATA, .qn = CREDITS };
	size_t len;
	const unsigned char *msg = sdp_build(p, &data, "bytes", 6, &len);

	(void)m;
	verbs_post(p, a->ddp, a->rdmap, a->inval, 0, msg, len, 0x01020304);
	return END_NONE;
}

static void request(struct peer *p, const struct attack *a, uint32_t key)
{
	verbs_post(p, a->ddp, a->rdmap, key, (uintptr_t)memory, memory, a->len,
		   0);
}

/* Memory that was never announced to us */
static enum peer_end to_key(struct peer *p, const struct target_memory *m,
			    const struct attack *a)
{
	(void)m;
	request(p, a, a->inval);
	return END_NONE;
}

/* Our own key, which means nothing there */
static enum peer_end to_own_key(struct peer *p, const struct target_memory *m,
				const struct attack *a)
{
	(void)m;
	request(p, a, verbs_key(p, KEY_GOOD, memory, RING, true));
	return END_NONE;
}

/*
 * More than fits into its receive queue; no credits. They are taken as it gets to
 * them, then there are credits again.
 */
static enum peer_end empty_messages(struct peer *p,
				    const struct target_memory *m,
				    const struct attack *a)
{
	const struct attack data = { .ddp = MID_DATA, .qn = CREDITS };
	const unsigned char *got = p->ulpdu + SDP_HEAD;
	uint32_t told = 0;
	unsigned int i;

	(void)m;
	for (i = 0; i < a->len; i++)
		sdp_send(p, &data, "", 0);
	while ((int32_t)(told - p->mseq) < 3) {
		if (sdp_recv_any(p, peer_patience(20000)) < 0)
			return END_NO_FRAME;
		told = get_be32(got + 12) + (got[2] << 8 | got[3]);
	}
	return END_NONE;
}

/*
 * Messages, the last of which has this MID if it is not 0; then nothing is waited for.
 * region: the program hangs up, or else its end is that of the queue pair.
 */
static enum peer_end leaves(struct peer *p, const struct target_memory *m,
			    const struct attack *a)
{
	const struct attack data = { .ddp = MID_DATA, .qn = CREDITS };
	const struct attack last = { .ddp = a->ddp, .qn = CREDITS };
	unsigned int i;

	(void)m;
	for (i = 0; i < a->len; i++)
		sdp_send(p, &data, "bytes", 6);
	if (a->ddp)
		sdp_send(p, &last, "", 0);
	if (a->region) {
		peer_hang_up(p);
		return END_NONE;
	}
	peer_reset(p);
	return END_RST;
}

/* It answers, and we are gone */
static enum peer_end half_open(struct peer *p, const struct target_memory *m,
			       const struct attack *a)
{
	unsigned char h[256];
	int err;

	(void)m;
	(void)a;
	err = verbs_ask(p, h, sdp_hello(p, h));
	peer_reset(p);
	return err ? END_NO_FRAME : END_RST;
}

/*
 * It takes our answer for what it says, and we are gone before its reply arrives. Not at
 * once: ib_cm works on either processor, and drops a reject that comes before the answer.
 */
static enum peer_end ack_and_gone(struct peer *p, const struct target_memory *m,
				  const struct attack *a)
{
	unsigned char h[256];
	int err;

	(void)m;
	(void)a;
	err = verbs_tell(p, h, sdp_hello_ack(h));
	poll(NULL, 0, 100);
	peer_reset(p);
	return err ? END_NO_FRAME : END_RST;
}

#define ABORT ENDS(E_CLOSED, E_ANY_TERM)
#define WRITES .ddp = IBV_WR_RDMA_WRITE
#define READS .ddp = IBV_WR_RDMA_READ
/* By the peer's device: on iWARP the writer is not notified */
#define WRITE_FAILS .iwarp = "estab_resets"
#define WRITE_REFUSED ENDS(E_TERM(1, 1, 0))
#define READ_REFUSED ENDS(E_TERM(0, 1, 0))

/* clang-format off */
const struct attack request_attacks[] = {
	CASE("Verbs: Send with solicited event", NULL, ENDS(E_ALIVE),
	     message_by, .ddp = IBV_WR_SEND, .rdmap = IBV_SEND_SOLICITED),
	CASE("Verbs: Send with immediate data", NULL, ENDS(E_ALIVE),
	     message_by, .ddp = IBV_WR_SEND_WITH_IMM),
	CASE("Verbs: Send with Invalidate, no such key", NULL, ABORT,
	     message_by, .ddp = IBV_WR_SEND_WITH_INV, .inval = 0x5a5a5a00),
	CASE("Verbs: Send with Invalidate, key 0", NULL, ABORT,
	     message_by, .ddp = IBV_WR_SEND_WITH_INV),
	CASE("Verbs: Write of nothing, no key", NULL, ENDS(E_ALIVE), to_key, WRITES),
	CASE("Verbs: Read of nothing, no key", NULL, ENDS(E_ALIVE), to_key, READS),
	CASE("Verbs: Write, key 0", NULL, WRITE_REFUSED, to_key, WRITES, .len = 100),
	CASE("Verbs: Write, key 1", NULL, WRITE_REFUSED, to_key, WRITES, .len = 100, .inval = 1),
	CASE("Verbs: Write, no such key", NULL, WRITE_REFUSED,
	     to_key, WRITES, .len = 20000, .inval = 0x5a5a5a00),
	CASE("Verbs: Write, last key", NULL, WRITE_REFUSED,
	     to_key, WRITES, .len = 100, .inval = 0xffffffff),
	CASE("Verbs: Write, our own key", NULL, WRITE_REFUSED, to_own_key, WRITES, .len = 100),
	CASE("Verbs: Read, key 0", NULL, READ_REFUSED, to_key, READS, .len = 100),
	CASE("Verbs: Read, no such key", NULL, READ_REFUSED,
	     to_key, READS, .len = 20000, .inval = 0x5a5a5a00),
	CASE("Verbs: Read, our own key", NULL, READ_REFUSED, to_own_key, READS, .len = 100),
	CASE("Verbs: atomic, no such key", NULL, ENDS(E_TERM(1, 1, 0), E_TERM(1, 2, 0)),
	     to_key, .ddp = IBV_WR_ATOMIC_FETCH_AND_ADD, .len = 8, .inval = 0x5a5a5a00),
	CASE("Verbs: Write with immediate data, no such key", NULL, WRITE_REFUSED,
	     to_key, .ddp = IBV_WR_RDMA_WRITE_WITH_IMM, .len = 100, .inval = 0x5a5a5a00),
	CASE("Verbs: no credits, no payload", NULL, ENDS(E_ALIVE), empty_messages, .len = 40),
	CASE("Verbs: hangs up", NULL, ENDS(E_CLOSED), leaves, .region = 1),
	CASE("Verbs: hangs up after messages", NULL, ENDS(E_CLOSED),
	     leaves, .len = 3, .region = 1),
	CASE("Verbs: hangs up after DisConn", NULL, ENDS(E_CLOSED),
	     leaves, .ddp = MID_DISCON, .len = 3, .region = 1),
	CASE("Verbs: goes", NULL, ENDS(E_CLOSED), leaves),
	CASE("Verbs: goes after messages", NULL, ENDS(E_CLOSED), leaves, .len = 3),
	CASE("Verbs: goes after DisConn", NULL, ENDS(E_CLOSED),
	     leaves, .ddp = MID_DISCON, .len = 3),
	CASE("Verbs: goes in the middle of too many messages", NULL, ENDS(E_CLOSED),
	     leaves, .len = 60),
};

/* The connection is not there yet */
const struct attack half_attacks[] = {
	CASE("Verbs: goes when it is answered", NULL, ENDS(E_CLOSED), half_open),
	CASE("Verbs: goes when it is answered", NULL, ENDS(E_CLOSED), half_open),
};

const struct attack gone_attacks[] = {
	CASE("HelloAck: gone at once", NULL, ENDS(E_CLOSED), ack_and_gone),
};
/* clang-format on */

const unsigned int gone_attack_count = COUNT(gone_attacks);
const unsigned int request_attack_count = COUNT(request_attacks);
const unsigned int half_attack_count = COUNT(half_attacks);

/* ---- rings ---- */

/* Its ring, by another request than what it is for */
static enum peer_end at_ring(struct peer *p, const struct target_memory *m,
			     const struct attack *a)
{
	uint64_t va;
	uint32_t key = sdp_ring_of_peer(&va);

	(void)m;
	verbs_post(p, a->ddp, 0, key, va, memory, a->len, 0);
	return END_NONE;
}

/* It lets only the peer take the ring away from itself */
static enum peer_end ring_invalidated(struct peer *p,
				      const struct target_memory *m,
				      const struct attack *a)
{
	const struct attack nothing = { .ddp = MID_RING, .qn = CREDITS };
	static const unsigned char ext[8];
	const unsigned char *msg;
	uint64_t va;
	uint32_t key = sdp_ring_of_peer(&va);
	size_t len;

	(void)m;
	msg = sdp_build(p, &nothing, ext, sizeof(ext), &len);
	verbs_post(p, IBV_WR_SEND_WITH_INV, 0, key, 0, msg, len, 0);
	verbs_post(p, IBV_WR_RDMA_WRITE, 0, key, va, memory, a->len, 0);
	return END_NONE;
}

/* The announced ring goes away, and then the peer has to write there */
static enum peer_end ring_gone(struct peer *p, const struct target_memory *m,
			       const struct attack *a)
{
	(void)m;
	verbs_forget(p);
	sdp_write_ring(p, a->len);
	return END_NONE;
}

/* Announce a ring, with a key that is wrong as region says; the peer has to write there */
static enum peer_end ring_told(struct peer *p, const struct target_memory *m,
			       const struct attack *a)
{
	uint32_t key = verbs_key(p, a->region, memory, RING, true);

	(void)m;
	sdp_tell_ring(p, RING, key, (uintptr_t)memory + a->to);
	sdp_write_ring(p, a->len);
	return END_NONE;
}

/* clang-format off */
const struct attack ring_key_attacks[] = {
	CASE("Ring: Read of it", NULL, READ_REFUSED, at_ring, READS, .len = 100),
	CASE("Ring: atomic", NULL, ENDS(E_TERM(1, 1, 0), E_TERM(1, 2, 0)),
	     at_ring, .ddp = IBV_WR_ATOMIC_FETCH_AND_ADD, .len = 8),
	CASE("Ring: Write when it is invalidated", NULL, WRITE_REFUSED,
	     ring_invalidated, .len = 100),
	CASE("Ring: ours is deregistered", "transport_errors", ABORT, ring_gone, .len = 300,
	     WRITE_FAILS),
};

/* Ours has not been announced to the peer */
const struct attack ring_told_attacks[] = {
	CASE("RingAvail: no such key", "transport_errors", ABORT,
	     ring_told, .region = KEY_NEVER, .len = 300, WRITE_FAILS),
	CASE("RingAvail: deregistered", "transport_errors", ABORT,
	     ring_told, .region = KEY_GONE, .len = 300, WRITE_FAILS),
	CASE("RingAvail: not to be written", "transport_errors", ABORT,
	     ring_told, .region = KEY_DENIED, .len = 300, WRITE_FAILS),
	CASE("RingAvail: longer than what there is", "transport_errors", ABORT,
	     ring_told, .region = KEY_SHORT, .len = 5000, WRITE_FAILS),
	CASE("RingAvail: another address", "transport_errors", ABORT,
	     ring_told, .region = KEY_GOOD, .to = BEYOND, .len = 300, WRITE_FAILS),
};
/* clang-format on */

const unsigned int ring_key_attack_count = COUNT(ring_key_attacks);
const unsigned int ring_told_attack_count = COUNT(ring_told_attacks);

/* ---- what a device, or its library, has not ---- */

const char *attack_unfit(const struct peer *p, const struct attack *a)
{
	const char *why = sdp_unfit(p, a);

	if (!why)
		why = zcopy_unfit(p, a);
	if (why || verbs_is_ib(p))
		return why;
	if (a->run != message_by && a->run != to_key && a->run != at_ring)
		return NULL;
	if (a->ddp == IBV_WR_SEND_WITH_IMM ||
	    a->ddp == IBV_WR_RDMA_WRITE_WITH_IMM ||
	    a->ddp == IBV_WR_ATOMIC_FETCH_AND_ADD)
		return "libsiw has no such request";
	return NULL;
}
