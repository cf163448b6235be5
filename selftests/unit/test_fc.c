// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Unit tests: the flow controls of a verbs link and of a shared one, sdp_fc_*.c as they
 * are. Each rule of Documentation/wire.rst (Credits, RING, HOLD) is computed here in its
 * own words, for all small differences between the counters, before and after they wrap.
 * Then two ends talk to each other until all has arrived.
 */
#include "fc_kernel.h"
#include "sdp/sdp_fc.h"
#include "unit.h"

#define RING 4096
#define RANGE 24 /* of differences */

static const u32 bases[] = { 0, 1000, 0x7fffffff - RANGE / 2, 0u - RANGE / 2 };

static struct {
	struct sdp_conn conn;
	struct sdp_verbs verbs;
	struct sdp_ring_conn ring;
	struct sdp_ring mem;
	struct ib_mr mr;
	struct sdp_sock sdp;
	u32 unadvertised;
	u32 hdr_len, imm; /* of the last post */
	const void *slot, *msg;
	bool signal;
	unsigned int wanted;
} k;

static void reset(void)
{
	memset(&k, 0, sizeof(k));
	k.conn.verbs = &k.verbs;
	k.conn.ring = &k.ring;
	k.ring.mem = &k.mem;
	k.ring.mr = &k.mr;
	k.mem.size = RING;
}

/* ---- what sdp_ring.c and sdp_wire.c do ---- */

u32 sdp_ring_unadvertised(const struct sdp_conn *conn)
{
	(void)conn;
	return k.unadvertised;
}

u32 sdp_ring_advertise(struct sdp_conn *conn)
{
	conn->ring->advertised = 77;
	return 77;
}

bool sdp_ring_by_imm(const struct sdp_conn *conn, const struct sdp_tx_msg *m)
{
	(void)m;
	return conn->ring;
}

u32 sdp_build_imm(const struct sdp_msg *m)
{
	return m->h.mseq_ack;
}

static void posted(struct sdp_tx_slot *slot, const struct sdp_tx_msg *m,
		   bool signal)
{
	k.slot = slot;
	k.msg = m;
	k.signal = signal;
}

int sdp_ring_send_imm(struct sdp_conn *conn, struct sdp_tx_slot *slot,
		      const struct sdp_tx_msg *m, u32 imm, bool signal)
{
	(void)conn;
	posted(slot, m, signal);
	k.imm = imm;
	return -EIO;
}

int sdp_ring_post(struct sdp_conn *conn, struct sdp_tx_slot *slot,
		  const struct sdp_tx_msg *m, u32 hdr_len, bool signal)
{
	(void)conn;
	posted(slot, m, signal);
	k.hdr_len = hdr_len;
	return -ENOMEM;
}

void sdp_ring_wanted(struct sdp_conn *conn)
{
	(void)conn;
	k.wanted++;
}

/* ---- credit ---- */

static int max0(int n)
{
	return n > 0 ? n : 0;
}

/* All but the two last are for data; the last is for a message that brings more */
static void check_may_send(int left, bool news)
{
	/* the count wraps, too */
	k.verbs.rx_adv_total = U32_MAX;
	k.verbs.rx_posted_total = k.verbs.rx_adv_total + news;
	CHECK_EQ(sdp_fc_may_send(&k.conn, true), left >= 3);
	CHECK_EQ(sdp_fc_may_send(&k.conn, false),
		 left >= 2 || (left == 1 && news));
}

static void test_credits(void)
{
	unsigned int i;
	int left;

	for (i = 0; i < ARRAY_LEN(bases); i++)
		for (left = -RANGE; left <= RANGE; left++) {
			reset();
			k.conn.tx_mseq = bases[i];
			k.conn.peer_total = bases[i] + left;
			CHECK_EQ(sdp_fc_credits(&k.conn), max0(left));
			check_may_send(left, false);
			check_may_send(left, true);
		}
}

/* Receives that are to be known of: all but one, for data or for control */
static int goal(int left)
{
	if (left - 1 >= 4)
		return left - 1;
	return left - 1 < 2 ? left - 1 : 2;
}

/* Whether an update is due, of @left receives, of which @known are known */
static bool due(int left, int known, int rule, bool mere)
{
	int give = goal(left);

	if (give <= known)
		return false;
	if (give <=
	    2) /* for control: not in answer to a mere update, but in need */
		return known <= 0 || !mere;
	if (known < 3) /* the peer cannot send data */
		return true;
	switch (rule) {
	case SDP_UPDATE_HALF:
		return give >= 2 * known;
	case SDP_UPDATE_EACH:
		return !mere;
	default: /* more than half as many again */
		return 2 * (give - known) > known;
	}
}

static void receives(u32 ack, int left, int known)
{
	k.conn.rx_mseq = ack;
	k.verbs.rx_posted_total = ack + left;
	k.verbs.rx_adv_total = ack + known;
}

static void check_update_due(u32 ack, int left, int known)
{
	int rule, mere;

	for (rule = 0; rule < 3; rule++)
		for (mere = 0; mere < 2; mere++) {
			reset();
			receives(ack, left, known);
			k.verbs.update_rule = rule;
			k.conn.rx_update = mere;
			CHECK_EQ(sdp_fc_update_due(&k.conn),
				 due(left, known, rule, mere));
		}
}

static void test_update_due(void)
{
	unsigned int i;
	int left, known;

	for (i = 0; i < ARRAY_LEN(bases); i++)
		for (left = 0; left <= RANGE; left++)
			for (known = -2; known <= RANGE; known++)
				check_update_due(bases[i], left, known);
}

static int bufs(int left, int known, int credits)
{
	int n = goal(left) > known ? goal(left) : known;

	/* the last credit brings a new one */
	if (n == known && credits == 1 && left != known)
		n++;
	n = max0(n);
	return n < 65535 ? n : 65535;
}

static void check_bufs(u32 ack, int left, int known, int credits)
{
	reset();
	receives(ack, left, known);
	k.conn.tx_mseq = 5;
	k.conn.peer_total = 5 + credits;
	CHECK_EQ(sdp_fc_bufs(&k.conn, ack), bufs(left, known, credits));
	CHECK_EQ(k.verbs.rx_adv_total, ack + bufs(left, known, credits));
}

static void test_bufs(void)
{
	int left, known, credits;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(bases); i++) {
		for (left = 0; left <= RANGE; left++)
			for (known = -2; known <= RANGE; known++)
				for (credits = 0; credits < 4; credits++)
					check_bufs(bases[i], left, known,
						   credits);
		for (left = 65530; left < 65545; left++)
			check_bufs(bases[i], left, 3, 9);
	}
}

static void test_first(void)
{
	unsigned int posts, start;

	for (posts = 4; posts < 20; posts++)
		for (start = 4; start < 20; start++) {
			reset();
			k.conn.rx_max = posts;
			k.conn.rx_start = start;
			sdp_fc_set_first(&k.conn);
			CHECK_EQ(k.verbs.rx_adv_total,
				 (posts < start ? posts : start) - 1);
		}
}

/* Payload takes a credit, and two have to be left */
static void test_overrun(void)
{
	unsigned int i;
	int left;

	for (i = 0; i < ARRAY_LEN(bases); i++)
		for (left = -RANGE; left <= RANGE; left++) {
			reset();
			k.verbs.rx_adv_total = bases[i] + left;
			CHECK_EQ(sdp_fc_overrun(&k.conn, bases[i]), left < 2);
			CHECK(!sdp_fc_vwin.overrun(&k.conn, bases[i]));
			CHECK(!sdp_fc_transport.overrun(&k.conn, bases[i]));
		}
}

/* Neither the sum nor MSeqAck goes back */
static void test_peer(void)
{
	unsigned int i;
	int more, ack;

	for (i = 0; i < ARRAY_LEN(bases); i++)
		for (more = -RANGE; more <= RANGE; more++)
			for (ack = -3; ack <= 3; ack++) {
				reset();
				k.conn.peer_total = bases[i];
				k.conn.peer_ack = bases[i] - 40;
				sdp_fc_peer(&k.conn, 40 + more - ack,
					    bases[i] - 40 + ack);
				CHECK_EQ(k.conn.peer_total,
					 bases[i] + max0(more));
				CHECK_EQ(k.conn.peer_ack,
					 bases[i] - 40 + max0(ack));
			}
}

/* ---- two ends with credits ---- */

#define MESSAGES 300
#define LEAST 8 /* receives, SDP_MIN_RX_BUFS */

struct message {
	u32 mseq, ack;
	u16 bufs;
	bool payload;
};

/**
 * struct end - one of two
 * @conn: its connection
 * @verbs: of @conn
 * @held: messages that its program has not read
 * @left: messages with payload to send
 * @updates: messages without payload sent
 * @q: under way to it
 * @head: where @q is filled
 * @tail: where @q is read
 */
struct end {
	struct sdp_conn conn;
	struct sdp_verbs verbs;
	u32 held, left, updates;
	struct message q[64];
	u32 head, tail;
};

static void end_init(struct end *e, u32 bufs, u8 rule)
{
	memset(e, 0, sizeof(*e));
	e->conn.verbs = &e->verbs;
	e->verbs.update_rule = rule;
	e->verbs.rx_posted_total = bufs;
	e->conn.rx_start = bufs;
	e->conn.rx_max = bufs;
	e->left = MESSAGES;
	sdp_fc_set_first(&e->conn);
}

static bool end_send(struct end *e, struct end *to)
{
	bool payload = e->left && sdp_fc_may_send(&e->conn, true);
	struct message *m = &to->q[to->head % ARRAY_LEN(to->q)];

	if (!payload &&
	    !(sdp_fc_update_due(&e->conn) && sdp_fc_may_send(&e->conn, false)))
		return false;
	m->ack = e->conn.rx_mseq;
	m->bufs = sdp_fc_bufs(&e->conn, m->ack);
	m->mseq = ++e->conn.tx_mseq;
	m->payload = payload;
	e->left -= payload;
	e->updates += !payload;
	CHECK(++to->head - to->tail <= ARRAY_LEN(to->q));
	return true;
}

static bool end_receive(struct end *e)
{
	const struct message *m = &e->q[e->tail % ARRAY_LEN(e->q)];

	if (e->head == e->tail)
		return false;
	e->tail++;
	/* there is a receive for it, and it may use that */
	CHECK(m->mseq <= e->verbs.rx_posted_total);
	CHECK(!m->payload || !sdp_fc_overrun(&e->conn, m->mseq));
	e->conn.rx_mseq = m->mseq;
	e->conn.rx_update = !m->payload;
	sdp_fc_peer(&e->conn, m->bufs, m->ack);
	if (m->payload)
		e->held++;
	else
		e->verbs.rx_posted_total++;
	return true;
}

static bool end_read(struct end *e)
{
	if (!e->held)
		return false;
	e->held--;
	e->verbs.rx_posted_total++;
	return true;
}

static bool end_step(struct end *e, struct end *peer, unsigned int what)
{
	switch (what % 3) {
	case 0:
		return end_send(e, peer);
	case 1:
		return end_receive(e);
	default:
		return end_read(e);
	}
}

/* One of the steps that are possible; false if there is none */
static bool step(struct end e[2])
{
	unsigned int what = unit_below(6), n;

	for (n = what; n < what + 6; n++)
		if (end_step(&e[n % 2], &e[(n + 1) % 2], n / 2))
			return true;
	return false;
}

/* Random steps until nothing is left to do, which is when all has been read */
static void talk(u32 bufs_a, u32 bufs_b, u8 rule)
{
	struct end e[2];
	unsigned int i;

	end_init(&e[0], bufs_a, rule);
	end_init(&e[1], bufs_b, rule);
	e[0].conn.peer_total = e[1].verbs.rx_adv_total;
	e[1].conn.peer_total = e[0].verbs.rx_adv_total;
	for (i = 0; step(e);)
		if (!CHECK(++i < 40 * MESSAGES))
			return;
	for (i = 0; i < 2; i++) {
		CHECK_EQ(e[i].left, 0);
		CHECK_EQ(e[i].held, 0);
		CHECK(sdp_fc_credits(&e[i].conn) >= 3);
		/* not one for each message */
		CHECK(e[i].updates < MESSAGES);
	}
}

static void test_talk(void)
{
	unsigned int a, b, i;
	u8 rule;

	for (rule = 0; rule < 3; rule++)
		for (a = LEAST; a < LEAST + 10; a++)
			for (b = LEAST; b < LEAST + 10; b += 3)
				for (i = 0; i < 3; i++)
					talk(a, b, rule);
}

/* ---- vwin ---- */

static void test_vwin(void)
{
	const struct sdp_fc_ops *fc = &sdp_fc_vwin;
	int sent, done, ack, ended;
	unsigned int i;

	reset();
	k.conn.verbs = NULL;
	CHECK_EQ(fc->credits(&k.conn), 0);
	for (i = 0; i < ARRAY_LEN(bases); i++)
		for (sent = 0; sent < RANGE; sent++)
			for (done = 0; done <= sent; done++)
				for (ack = 0; ack <= sent; ack++) {
					reset();
					k.verbs.vwin_posted = 5;
					k.conn.tx_mseq = bases[i] + sent;
					k.verbs.tx_done = bases[i] + done;
					k.conn.peer_ack = bases[i] + ack;
					ended = done > ack ? done : ack;
					CHECK_EQ(fc->credits(&k.conn),
						 max0(5 - (sent - ended)));
					CHECK_EQ(fc->may_send(&k.conn, true),
						 sent - ended < 5);
					CHECK(fc->may_send(&k.conn, false));
				}
}

static void test_vwin_receives(void)
{
	const struct sdp_fc_ops *fc = &sdp_fc_vwin;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(bases); i++) {
		reset();
		receives(bases[i], 17, 3);
		CHECK_EQ(fc->bufs(&k.conn, bases[i]), 17);
		CHECK_EQ(fc->bufs(&k.conn, bases[i] + 1), 16);
		CHECK_EQ(k.verbs.rx_adv_total, bases[i] + 3);
		CHECK(!fc->update_due(&k.conn));
		fc->peer(&k.conn, 9, bases[i] + 2);
		CHECK_EQ(k.conn.peer_ack, bases[i] + 2);
		CHECK_EQ(k.conn.peer_total, 0);
		CHECK_EQ(k.verbs.rx_adv_total, bases[i] + 17);
		receives(bases[i], 65536, 3);
		CHECK_EQ(fc->bufs(&k.conn, bases[i]), 65535);
	}
}

/* ---- transport ---- */

static void test_transport(void)
{
	const struct sdp_fc_ops *fc = &sdp_fc_transport;

	reset();
	receives(100, 17, 3);
	k.conn.tx_mseq = 1000;
	CHECK_EQ(fc->credits(&k.conn), 0);
	CHECK(fc->may_send(&k.conn, true) && fc->may_send(&k.conn, false));
	CHECK(!fc->update_due(&k.conn));
	CHECK_EQ(fc->bufs(&k.conn, 100), 0);
	fc->peer(&k.conn, 9, 200);
	CHECK_EQ(k.conn.peer_ack, 200);
	CHECK_EQ(k.conn.peer_total, 0);
	CHECK_EQ(k.verbs.rx_adv_total, 103);
}

/* ---- rdma ---- */

static void test_ring_update(void)
{
	const struct sdp_fc_ops *fc = &sdp_fc_rdma;

	reset();
	receives(7, 9, 8);
	for (k.unadvertised = RING / 2 - 2; k.unadvertised < RING / 2 + 2;
	     k.unadvertised++)
		CHECK_EQ(fc->update_due(&k.conn), k.unadvertised >= RING / 2);
	/* or for its receives */
	k.unadvertised = 0;
	receives(7, 9, 0);
	CHECK(fc->update_due(&k.conn));
}

/* Bytes that may leave, of @len, with @used in the peer's ring, at @at of it */
static u32 room(u32 len, u32 used, u32 at)
{
	u32 n = len < RING - used ? len : RING - used;

	if (n < len && RING - used < RING / 4)
		return 0;
	return n < RING - at ? n : RING - at;
}

static void test_ring_room(void)
{
	static const u32 lens[] = { 0,	  1,	100,  1023, 1024,
				    1025, 3000, 4096, 9000 };
	u32 used, at, i, n;

	for (i = 0; i < ARRAY_LEN(lens); i++)
		for (used = 0; used <= RING;
		     used += used < RING - 1030 ? 151 : 1)
			for (n = 0; n < 3; n++)
				for (at = 0; at < RING; at += 819) {
					reset();
					k.ring.peer_len = RING;
					k.ring.put = (0u - RING) * n + at;
					k.ring.freed = k.ring.put - used;
					CHECK_EQ(sdp_fc_rdma.room(&k.conn,
								  lens[i]),
						 room(lens[i], used, at));
				}
}

/* None until the ring is known, or while the program has to be there */
static void test_ring_room_none(void)
{
	const struct sdp_fc_ops *fc = &sdp_fc_rdma;

	reset();
	CHECK_EQ(fc->room(&k.conn, 100), 0);
	k.ring.peer_len = RING;
	CHECK_EQ(fc->room(&k.conn, 100), 100);
	k.ring.progress = SDP_RING_APP;
	CHECK_EQ(fc->room(&k.conn, 100), 100);
	k.ring.progress = SDP_RING_APP_AWAY;
	CHECK_EQ(fc->room(&k.conn, 100), 0);
	k.conn.tx_fin = SDP_FIN_WANTED;
	CHECK_EQ(fc->room(&k.conn, 100), 100);
}

static int avail(u32 len, u32 before)
{
	struct sdp_rx_ctx c = { .conn = &k.conn,
				.m.h.mid = SDP_MID_RING_AVAIL };
	int ret;

	reset();
	k.ring.peer_len = before;
	c.m.ext.avail.len = len;
	c.m.ext.avail.rkey = 0xabcd;
	c.m.ext.avail.va = 0x123456789a;
	ret = sdp_fc_rdma.rx(&k.sdp, &c);
	if (!ret) {
		CHECK_EQ(k.ring.peer_len, len);
		CHECK_EQ(k.ring.peer_rkey, 0xabcd);
		CHECK_EQ(k.ring.peer_va, 0x123456789a);
	} else {
		CHECK_EQ(k.ring.peer_len, before);
		CHECK(!k.ring.peer_rkey && !k.ring.peer_va);
	}
	return ret;
}

static void test_ring_avail(void)
{
	u32 i;

	for (i = 12; i < 31; i++) {
		CHECK_EQ(avail(1u << i, 0), 0);
		CHECK_EQ(avail((1u << i) - 1, 0), SDP_MIB_BAD_RDMA);
		CHECK_EQ(avail((1u << i) + 1, 0), SDP_MIB_BAD_RDMA);
		CHECK_EQ(avail(1u << i, 4096), SDP_MIB_BAD_STATE);
	}
	CHECK_EQ(avail(0, 0), SDP_MIB_BAD_RDMA);
	CHECK_EQ(avail(2048, 0), SDP_MIB_BAD_RDMA);
	CHECK_EQ(avail(0x80000000, 0), SDP_MIB_BAD_RDMA);
}

/* A message that says @len bytes were written, and @freed in all were freed */
static int ring(u32 len, u32 freed, struct sdp_rx_ctx *c)
{
	*c = (struct sdp_rx_ctx){ .conn = &k.conn, .m.h.mid = SDP_MID_RING };
	c->m.payload_len = 33;
	c->m.ext.ring.len = len;
	c->m.ext.ring.freed = freed;
	return sdp_fc_rdma.rx(&k.sdp, c);
}

static void check_ring(u32 base, u32 used, u32 len, u32 under_way, u32 freed)
{
	struct sdp_rx_ctx c;
	int ret;

	reset();
	k.mem.base = base * 3;
	k.ring.advertised = base;
	k.sdp.rx_seq = k.mem.base + base + used;
	k.ring.freed = base;
	k.ring.put = base + under_way;
	ret = ring(len, base + freed, &c);
	if (freed > under_way) {
		CHECK_EQ(ret, SDP_MIB_BAD_RDMA);
	} else if (used + len > RING) {
		CHECK_EQ(ret, SDP_MIB_BAD_CREDIT);
	} else {
		CHECK_EQ(ret, 0);
		CHECK_EQ(k.ring.freed, base + freed);
		CHECK_EQ(c.m.payload_len, len);
		CHECK_EQ(c.along, 33);
		return;
	}
	CHECK_EQ(k.ring.freed, base);
	CHECK_EQ(c.m.payload_len, 33);
}

static void test_ring_rx(void)
{
	static const u32 sizes[] = { 0, 1, 100, RING - 1, RING, RING + 1 };
	struct sdp_rx_ctx c = { .conn = &k.conn, .m.h.mid = SDP_MID_DATA };
	unsigned int i, a, b, x, y;

	for (i = 0; i < ARRAY_LEN(bases); i++)
		for (a = 0; a < 5; a++)
			for (b = 0; b < 6; b++)
				for (x = 0; x < 5; x++)
					for (y = 0; y < 6; y++)
						check_ring(bases[i], sizes[a],
							   sizes[b], sizes[x],
							   sizes[y]);
	check_ring(5, 0, 10, 10, 0u - 1);
	check_ring(5, 0, 0xffffffff, 10, 1);
	reset();
	CHECK_EQ(sdp_fc_rdma.rx(&k.sdp, &c), SDP_MIB_BAD_STATE);
}

static void test_ring_header(void)
{
	struct sdp_msg m = { .h.mid = SDP_MID_RING_AVAIL };
	u32 n;

	reset();
	k.mr.rkey = 0x55aa;
	k.mr.iova = 0x7700000001;
	sdp_fc_rdma.header(&k.conn, &m, 0);
	CHECK_EQ(m.ext.avail.len, RING);
	CHECK_EQ(m.ext.avail.rkey, 0x55aa);
	CHECK_EQ(m.ext.avail.va, 0x7700000001);
	CHECK_EQ(k.ring.advertised, 0);
	for (n = SDP_RING_INLINE - 2; n < SDP_RING_INLINE + 2; n++) {
		m = (struct sdp_msg){ .h.mid = SDP_MID_RING };
		sdp_fc_rdma.header(&k.conn, &m, n);
		CHECK_EQ(m.ext.ring.len, n);
		CHECK_EQ(m.payload_len, n <= SDP_RING_INLINE ? n : 0);
		CHECK_EQ(m.ext.ring.freed, 77);
		CHECK_EQ(k.ring.advertised, 77);
	}
}

static void test_ring_post(void)
{
	struct sdp_msg imm = { .h.mseq_ack = 99 };
	void *slot = &k.conn, *msg = &k.mem;

	reset();
	CHECK(sdp_fc_rdma.imm(&k.conn, msg));
	CHECK_EQ(sdp_fc_rdma.post(&k.conn, slot, msg, NULL, 24, true), -ENOMEM);
	CHECK(k.slot == slot && k.msg == msg && k.hdr_len == 24 && k.signal &&
	      !k.imm);
	reset();
	CHECK_EQ(sdp_fc_rdma.post(&k.conn, slot, msg, &imm, 24, false), -EIO);
	CHECK(k.slot == slot && k.msg == msg && !k.hdr_len && !k.signal &&
	      k.imm == 99);
	sdp_fc_rdma.want_space(&k.conn);
	CHECK_EQ(k.wanted, 1);
}

/* ---- what each is ---- */

static void test_ops(void)
{
	static const struct {
		const struct sdp_fc_ops *fc;
		const char *name;
		int mid, flow;
		bool held, zcopy, ring, credits;
	} wanted[] = {
		{ &sdp_fc_credit, "credit", SDP_MID_DATA, SDP_FLOW_CREDIT, 0, 1,
		  0, 1 },
		{ &sdp_fc_rdma, "rdma", SDP_MID_RING, SDP_FLOW_RDMA, 0, 0, 1,
		  1 },
		{ &sdp_fc_vwin, "vwin", SDP_MID_DATA, SDP_FLOW_VWIN, 1, 0, 0,
		  0 },
		{ &sdp_fc_transport, "transport", SDP_MID_DATA,
		  SDP_FLOW_TRANSPORT, 1, 0, 0, 0 },
	};
	const struct sdp_fc_ops *fc;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(wanted); i++) {
		fc = wanted[i].fc;
		CHECK(!strcmp(fc->name, wanted[i].name));
		CHECK_EQ(fc->mid, wanted[i].mid);
		CHECK_EQ(fc->flow, wanted[i].flow);
		CHECK_EQ(fc->held, wanted[i].held);
		CHECK_EQ(fc->zcopy, wanted[i].zcopy);
		CHECK_EQ(fc->credits == sdp_fc_credits, wanted[i].credits);
		CHECK_EQ(fc->may_send == sdp_fc_may_send, wanted[i].credits);
		CHECK_EQ(fc->bufs == sdp_fc_bufs, wanted[i].credits);
		CHECK_EQ(fc->overrun == sdp_fc_overrun, wanted[i].credits);
		CHECK_EQ(fc->peer == sdp_fc_peer, wanted[i].credits);
		CHECK_EQ(!!fc->room, wanted[i].ring);
		CHECK_EQ(!!fc->rx, wanted[i].ring);
		CHECK_EQ(!!fc->imm, wanted[i].ring);
		CHECK_EQ(!!fc->header, wanted[i].ring);
		CHECK_EQ(!!fc->post, wanted[i].ring);
		CHECK_EQ(!!fc->want_space, wanted[i].ring);
		CHECK(fc->update_due && fc->peer && fc->overrun && fc->bufs);
	}
	CHECK(sdp_fc_credit.update_due == sdp_fc_update_due);
}

int main(void)
{
	static const struct unit_test tests[] = {
		{ "credits, and what they are for", test_credits },
		{ "an update is due", test_update_due },
		{ "Bufs", test_bufs },
		{ "the first receives", test_first },
		{ "payload without credits", test_overrun },
		{ "credits of the peer do not go back", test_peer },
		{ "two ends with credits come to an end", test_talk },
		{ "vwin: places of the device", test_vwin },
		{ "vwin: receives", test_vwin_receives },
		{ "transport counts nothing", test_transport },
		{ "rdma: an update is due", test_ring_update },
		{ "rdma: room in the peer's ring", test_ring_room },
		{ "rdma: no room", test_ring_room_none },
		{ "rdma: RingAvail", test_ring_avail },
		{ "rdma: Ring", test_ring_rx },
		{ "rdma: headers", test_ring_header },
		{ "rdma: a message or immediate data", test_ring_post },
		{ "the four flow controls", test_ops },
	};

	return unit_main("fc", tests, ARRAY_LEN(tests));
}
