// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A random walk through the states of an SDP connection: each step is
 * one that the rules allow, with the right numbers and credits, but one of twenty
 * is spoilt. The same seed walks the same way, as far as the peer answers in time.
 */
#include <string.h>

#include "hostile_sdp.h"

#define STEPS 30
#define SPOILT 20 /* one of so many */
#define PAYLOAD 1000 /* bytes of one step at most: a ring is not used up */
#define ALONG 264

static struct {
	struct peer *p;
	struct walk *w;
	uint32_t x; /* state of the random numbers */
	uint32_t total; /* number of the last message that there is a credit for */
	int timeout_ms;
} k;

static unsigned char data[PAYLOAD];

static uint32_t next(uint32_t below)
{
	uint32_t z = k.x += 0x9e3779b9u;

	z = (z ^ z >> 16) * 0x85ebca6bu;
	z = (z ^ z >> 13) * 0xc2b2ae35u;
	return (z ^ z >> 16) % below;
}

static bool credits_count(void)
{
	return !sdp_shared && sdp_ext != SDP_HOLD;
}

/* A message of the peer, if one comes in that time; -1: none */
static int take(int timeout_ms)
{
	const unsigned char *m;
	uint32_t total;
	int mid;

	if (k.w->over || !peer_ready(k.p, timeout_ms))
		return -1;
	mid = sdp_recv_any(k.p, k.timeout_ms);
	if (mid < 0) {
		k.w->over = true;
		return -1;
	}
	if (mid == SDP_NO_MID)
		return mid;
	m = k.p->ulpdu + SDP_HEAD;
	total = (m[2] << 8 | m[3]) + get_be32(m + 12);
	if ((int32_t)(total - k.total) > 0)
		k.total = total;
	return mid;
}

/* Until a message with @mid comes */
static bool await(int mid)
{
	long end = net_ms() + k.timeout_ms;

	while (!k.w->over && net_ms() < end)
		if (take(end - net_ms()) == mid)
			return true;
	return false;
}

/* Credits for @n messages */
static bool may_send(int n)
{
	long end = net_ms() + k.timeout_ms;

	while (take(0) >= 0)
		;
	while (credits_count() && !k.w->over && net_ms() < end &&
	       (int32_t)(k.total - (k.p->mseq - 1)) < n)
		take(end - net_ms());
	return !k.w->over;
}

/* One field that is not what it should be */
static void spoil(struct attack *a)
{
	k.w->wrong = true;
	switch (next(7)) {
	case 0:
		a->ddp ^= 1u << next(8);
		break;
	case 1:
		a->rdmap ^= 1u << next(8);
		break;
	case 2:
		a->qn = next(65536);
		break;
	case 3:
		a->to += next(2) ? -1ull : 1ull << next(31);
		break;
	case 4:
		a->msn += 1u << next(32);
		break;
	case 5:
		a->mo += 1u << next(32);
		break;
	default:
		data[next(8)] ^= 1u << next(8);
		break;
	}
}

static void message(unsigned int mid, unsigned int flags, size_t len)
{
	struct attack a = { .ddp = mid, .rdmap = flags, .qn = CREDITS };

	if (!next(SPOILT))
		spoil(&a);
	sdp_send(k.p, &a, data, len);
}

static void payload(void)
{
	size_t len = 1 + next(PAYLOAD);
	bool along = next(2);

	memset(data, 'w', sizeof(data));
	if (sdp_ext != SDP_RING) {
		/* urgent, or announced as urgent, now and then */
		message(MID_DATA, next(8) ? 0 : 1 + next(3), len);
		return;
	}
	if (along && len > ALONG)
		len = ALONG;
	sdp_send_ring(k.p, data, len, along);
}

/* Control messages */
static void control(void)
{
	switch (next(3)) {
	case 0:
		put_be32(data, 2048 + next(65536));
		message(MID_CHRCVBUF, 0, 4);
		if (!k.w->wrong && !await(MID_CHRCVBUF_ACK))
			k.w->over = true;
		break;
	case 1:
		/* of nothing: the answer has been on its way */
		if (!sdp_shared && sdp_ext != SDP_RING)
			message(MID_SRC_CANCEL, 0, 0);
		break;
	default:
		if (sdp_ext == SDP_RING)
			sdp_send_ring(k.p, data, 0, true);
		else
			message(MID_DATA, 0, 0);
		break;
	}
}

/* Memory that we advertise: for so little the echo wants messages */
static void advertise(void)
{
	memset(data, 'a', sizeof(data));
	put_be32(data, INLINE + 1 + next(3000));
	memset(data + 4, 0x11, 12);
	message(MID_SRC_AVAIL, 0, 16 + INLINE);
	if (!k.w->wrong && !await(MID_SENDSM))
		k.w->over = true;
}

/*
 * sdp_walk - take steps until there were enough, or the connection has ended
 * @p: connection, open
 * @seed: which steps
 * @w: for the outcome
 * @timeout_ms: how long to wait for what has to come
 */
void sdp_walk(struct peer *p, uint32_t seed, struct walk *w, int timeout_ms)
{
	int i;

	k.p = p;
	k.w = w;
	k.x = seed * 2654435761u;
	k.timeout_ms = timeout_ms;
	k.total = p->private_data[2] << 8 | p->private_data[3];
	for (i = 0; i < STEPS && may_send(3); i++) {
		uint32_t what = next(10);

		if (what < 7)
			payload();
		else if (what < 9 || sdp_shared || sdp_ext == SDP_RING)
			control();
		else
			advertise();
	}
}
