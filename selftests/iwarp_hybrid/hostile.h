/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Attacks on an iWARP device: the data to send, and the required end of the
 * connection.
 */
#ifndef SELFTESTS_IWARP_HOSTILE_H
#define SELFTESTS_IWARP_HOSTILE_H

#include "peer.h"
#include "target.h"

/* Acceptable ends: a Terminate (TERM_ERR) or one of these. */
#define E_NOTHING 0
#define E_TERM(l, t, c) (0x1000000u | TERM_ERR(l, t, c))
#define E_ANY_TERM 0x2000000u
#define E_CLOSED 0x3000000u /* FIN or RST, no Terminate */
#define E_ALIVE 0x4000000u /* goes on and still echoes */
#define E_ANY 0x5000000u /* whatever, but the target lives */
#define E_MAX 4

struct target_memory {
	uint32_t stag[REGIONS];
	uint64_t addr[REGIONS];
};

struct attack {
	const char *name;
	/* sends; returns the end when it knows already, else END_NONE */
	enum peer_end (*run)(struct peer *p, const struct target_memory *m,
			     const struct attack *a);
	const char *counter; /* has to rise, NULL: none in particular */
	const char *iwarp; /* in its place over verbs, if the device is iWARP */
	uint32_t ends[E_MAX];
	/* for the functions that several attacks share */
	unsigned int ddp, rdmap;
	int region; /* -1: an STag that does not exist */
	uint64_t to; /* added to the region's address */
	uint32_t len;
	uint32_t qn, msn, mo, inval;
	uint32_t rcvsz; /* LocalRcvSz of our Hello, 0: the usual one */
};

/* For tables of them */
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
/* clang-format off */
#define ENDS(...) { __VA_ARGS__ }
#define CASE(n, c, e, ...) { .name = n, .counter = c, .ends = e, .run = __VA_ARGS__ }
/* clang-format on */

/* After a regular start-up */
extern const struct attack fpdu_attacks[];
extern const unsigned int fpdu_attack_count;
bool attack_on_wire(const struct attack *a);
/* The same, for which the device's timers have to run out */
extern const struct attack end_attacks[];
extern const unsigned int end_attack_count;
extern const struct attack slow_attacks[];
extern const unsigned int slow_attack_count;
/* The same, messages of RFC 7306; the device takes us for one of its kind */
extern const struct attack ext_attacks[];
extern const unsigned int ext_attack_count;
/* On the bare TCP connection, to a listener */
extern const struct attack start_attacks[];
extern const unsigned int start_attack_count;
extern const struct attack ready_attacks[];
extern const unsigned int ready_attack_count;
/* The same, to one that rejects */
extern const struct attack refuse_attacks[];
extern const unsigned int refuse_attack_count;
/* The same, to one that greets */
extern const struct attack fence_attacks[];
extern const unsigned int fence_attack_count;
/* After a regular start-up, to an initiator that asks for an atomic operation */
extern const struct attack answer_attacks[];
extern const unsigned int answer_attack_count;
/* On the bare TCP connection, to an initiator */
extern const struct attack reply_attacks[];
extern const unsigned int reply_attack_count;
/* The same, to one that wants two messages back */
extern const struct attack rtr_attacks[];
extern const unsigned int rtr_attack_count;
/* On the bare TCP connection, to an SDP listener */
extern const struct attack hello_attacks[];
extern const unsigned int hello_attack_count;
extern const struct attack short_attacks[];
extern const unsigned int short_attack_count;
/* On the bare TCP connection, to an SDP socket that connects */
extern const struct attack ack_attacks[];
extern const unsigned int ack_attack_count;
/* On an SDP connection, made by either end */
extern const struct attack sdp_attacks[];
extern const unsigned int sdp_attack_count;
/* where there are receives, and where there are none */
extern const struct attack verbs_attacks[];
extern const struct attack talk_attacks[];
extern const unsigned int talk_attack_count;
extern const unsigned int verbs_attack_count;
extern const struct attack bulk_attacks[];
extern const unsigned int bulk_attack_count;
extern const struct attack shared_attacks[];
extern const unsigned int shared_attack_count;
/* payload by rings; attacks that announce theirs, and those that do not yet */
extern const struct attack ring_attacks[];
extern const unsigned int ring_attack_count;
extern const struct attack imm_attacks[]; /* with immediate data */
extern const unsigned int imm_attack_count;
extern const struct attack not_below_attacks[]; /* SDP alone has agreed to them */
extern const unsigned int not_below_attack_count;
extern const struct attack untold_attacks[];
extern const unsigned int untold_attack_count;
void sdp_ring_told(bool told);
/* no credits: the device holds messages back */
extern const struct attack hold_attacks[];
extern const unsigned int hold_attack_count;
/* On the bare TCP connection, to an SDP listener that echoes: credits of the peer */
/* To a server that does not read and has as many receives as it began with */
extern const struct attack overrun_attacks[];
extern const unsigned int overrun_attack_count;
extern const struct attack credit_attacks[];
extern const unsigned int credit_attack_count;
/* The same, to frozen.py: a peer that gives no credit back */
extern const struct attack frozen_attacks[];
extern const unsigned int frozen_attack_count;
/* with a ring, and where the transport queues unread data */
extern const struct attack frozen_ring_attacks[];
extern const unsigned int frozen_ring_attack_count;
extern const struct attack frozen_held_attacks[];
extern const unsigned int frozen_held_attack_count;
/* On an SDP connection to "sdp-zcopy serve" */
extern const struct attack zcopy_attacks[];
extern const unsigned int zcopy_attack_count;
/* The same, while test_hold.ko holds it up */
extern const struct attack held_attacks[];
extern const unsigned int held_attack_count;

/* Over verbs only: on an SDP connection, on what becomes one */
extern const struct attack request_attacks[];
extern const unsigned int request_attack_count;
extern const struct attack half_attacks[];
extern const unsigned int half_attack_count;
/* to an SDP socket that connects */
extern const struct attack gone_attacks[];
extern const unsigned int gone_attack_count;
/* with rings; attacks that announce theirs, and those that do not yet */
extern const struct attack ring_key_attacks[];
extern const unsigned int ring_key_attack_count;
extern const struct attack ring_told_attacks[];
extern const unsigned int ring_told_attack_count;
/* On an SDP connection to "sdp-zcopy serve" */
extern const struct attack zcopy_key_attacks[];
extern const unsigned int zcopy_key_attack_count;

/* Why it cannot be made by a peer that goes over something else; NULL: it can */
const char *attack_unfit(const struct peer *p, const struct attack *a);
const char *sdp_unfit(const struct peer *p, const struct attack *a);
const char *zcopy_unfit(const struct peer *p, const struct attack *a);

/* Value of a counter of the device, -1 if there is none of that name */
long long attack_counter(const char *name);

/* To an initiator that tries again: its next connection instead of this one */
int attack_next(struct peer *p, int timeout_ms);

#endif /* SELFTESTS_IWARP_HOSTILE_H */
