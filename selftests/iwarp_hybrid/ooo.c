// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * hyb-ooo: tests a device with FPDUs that come out of order.
 *
 *   hyb-ooo -i IFINDEX -m MAC -f ADDRESS -h TARGET [-p PORT] -s COMMAND [-o TEXT]
 *	     [-q | -b | -n]
 *
 * The target is hyb-target, its device wants markers (with -n, it may). COMMAND
 * prints the counters of its device. ADDRESS is used by no host, and the target's
 * host knows it to be behind MAC. -o: only cases with this in their name. -q: those for a
 * target with a shared receive queue; -b: those for one whose TCP has little
 * memory to receive (net.ipv4.tcp_rmem); -n: for one behind a NIC that places, and
 * then COMMAND prints the counters of that, too.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ooo_tcp.h"
#include "peer.h"
#include "target.h"

#define FRAME 20 /* bytes of the MPA Request, where the stream begins */
#define FPDUS 512
#define OP_IMM 0x48
#define OP_ATOMIC_REQ 0x4a
#define OP_ATOMIC_RESP 0x4b
#define SETTLE 60 /* ms that the device gets to do something */

/* Kind of the target */
enum kind { PLAIN, SHARED, LITTLE, NIC };

static struct {
	const char *stats, *only;
	unsigned int number, failed;
	uint16_t port;
	enum kind kind;
} opt;

/**
 * struct stream - what is to be sent, on one connection
 * @raw: TCP
 * @enc: encodes FPDUs into @pipe
 * @buf: the stream, from the start of TCP on
 * @nr: FPDUs in it
 * @at: where they begin; after the last
 * @payload: of all of them
 */
struct stream {
	struct raw raw;
	struct peer enc;
	int pipe;
	unsigned char buf[RAW_STREAM];
	size_t len;
	unsigned int nr;
	size_t at[FPDUS + 1];
	size_t payload;
	uint32_t stag[REGIONS];
	uint64_t addr[REGIONS];
	size_t in_pos; /* in raw.in */
	unsigned char memory[TARGET_REGION]; /* as REGION_RW should be */
};

static struct stream s;
static bool good;

static void check(bool ok, const char *what)
{
	if (!ok)
		printf("# %s\n", what);
	good &= ok;
}

/* -------------------------------------------------------------- counters */

static const char *const names[] = {
	"rx_ooo_fpdus",
	"rx_ooo_bytes",
	"rx_ooo_wait_marker",
	"rx_ooo_wait_stag",
	"rx_ooo_wait_recv",
	"rx_ooo_wait_order",
	"rx_ooo_wait_partial",
	"rx_ooo_wait_bad",
	"rx_ooo_wait_limit",
	"rx_copy_bytes",
	"rx_crc_bytes",
	"rx_ooo_done_bytes",
	"err_crc",
	"rx_fpdus",
	"rx_nic_bytes",
	"rx_nic_placed",
	"rx_engine_placed_bytes",
	"rx_immediates",
	"rx_terminates",
	"completions",
};

enum {
	EARLY,
	BYTES,
	W_MARKER,
	W_STAG,
	W_RECV,
	W_ORDER,
	W_PARTIAL,
	W_BAD,
	W_LIMIT,
	COPIED,
	SUMMED,
	DONE,
	ERR_CRC,
	RX_FPDUS,
	TRUSTED, /* bytes that the NIC has checked */
	PLACED, /* bytes that the host found in their place */
	ENGINE, /* bytes that the NIC has written */
	IMMS,
	TERMS,
	CQES,
	COUNTERS
};

static long long before[COUNTERS], now[COUNTERS];
static bool stale; /* something was sent since they were read */

static void read_counters(long long *val)
{
	char line[16384], *at;
	size_t len;
	FILE *f;
	int i;

	usleep(20000); /* the kernel remembers counters for 10 ms */
	memset(val, 0, COUNTERS * sizeof(*val));
	f = popen(opt.stats, "r");
	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		for (i = 0; i < COUNTERS; i++) {
			len = strlen(names[i]);
			for (at = line; (at = strstr(at, names[i])); at += len)
				if (at > line && at[-1] == ' ' &&
				    at[len] == ' ')
					val[i] += atoll(at + len);
		}
	}
	pclose(f);
}

/* Since the case began */
static long long risen(int which)
{
	if (stale)
		read_counters(now);
	stale = false;
	return now[which] - before[which];
}

/* ---------------------------------------------------------------- stream */

/* Append an FPDU to the stream */
static void add(const unsigned char *ulpdu, size_t len,
		const struct fpdu_options *o)
{
	ssize_t n;

	peer_send_fpdu(&s.enc, ulpdu, len, o);
	n = recv(s.pipe, s.buf + s.len, sizeof(s.buf) - s.len, MSG_DONTWAIT);
	if (n <= 0)
		abort();
	s.len += n;
	s.at[++s.nr] = s.len;
}

static unsigned char fill = 1;

/*
 * A Write of @len bytes to offset @off of a region. For a NIC, without markers,
 * more of the message follows: the device's short way is for such.
 */
static void add_write(int region, uint32_t off, uint32_t len,
		      const struct fpdu_options *o)
{
	unsigned char data[TARGET_REGION], u[TARGET_REGION + 64];
	bool more = opt.kind == NIC && !s.enc.tx_ivl;
	uint32_t i;

	for (i = 0; i < len; i++)
		data[i] = fill++;
	if (region == REGION_RW)
		memcpy(s.memory + off, data, len);
	s.payload += len;
	add(u,
	    ulpdu_tagged(u, more ? DDP_TAGGED & ~DDP_NOT_LAST : DDP_TAGGED,
			 OP_WRITE, s.stag[region], s.addr[region] + off, data,
			 len),
	    o);
}

static void add_send(const void *data, size_t len)
{
	unsigned char u[512];

	s.payload += len;
	add(u,
	    ulpdu_untagged(u, DDP_UNTAGGED, OP_SEND, 0, 0, s.enc.msn++, 0, data,
			   len),
	    NULL);
}

static void add_read(uint32_t msn, uint32_t off, uint32_t len)
{
	unsigned char u[64];

	add(u,
	    ulpdu_read_request(u, msn, 0x77, 0, len, s.stag[REGION_RW],
			       s.addr[REGION_RW] + off),
	    NULL);
}

#define GAP 3000 /* where the Write of gap() goes */

/*
 * A Write after which the stream has @off bytes up to a marker: FPDUs that
 * are small are found only if there is one among them. Returns its length.
 */
static uint32_t gap(uint32_t off)
{
	uint32_t pos = s.at[s.nr] - FRAME, end, len, words;

	for (len = 4;; len += 4) {
		/* words of length, header and payload, and the CRC */
		for (end = pos, words = 4 + len / 4; words; words--)
			end += end % 512 ? 4 : 8;
		end += end % 512 ? 4 : 8;
		if ((end + off) % 512 == 0)
			break;
	}
	add_write(REGION_RW, GAP, len, NULL);
	return len;
}

/* Send the FPDUs [@from, @to) in as many segments as it takes */
static void go(unsigned int from, unsigned int to)
{
	raw_send(&s.raw, s.at[from], s.buf + s.at[from], s.at[to] - s.at[from]);
}

static void settle(void)
{
	stale = true;
	raw_wait(&s.raw, SIZE_MAX, SETTLE);
}

/* The counter has risen by that much; a busy machine takes its time */
static void expect(int which, long long want)
{
	long end = net_ms() + 5000;
	long long got = risen(which);

	while (got < want && net_ms() < end) {
		settle();
		got = risen(which);
	}
	if (got != want) {
		printf("# %s: %lld, not %lld\n", names[which], got, want);
		good = false;
	}
}

/* Next FPDU of the device: its ULPDU, or NULL */
static const unsigned char *reply(size_t *len, int timeout_ms)
{
	const unsigned char *p = s.raw.in + s.in_pos;
	size_t total;

	stale = true;
	raw_wait(&s.raw, s.in_pos + 2, timeout_ms);
	if (s.raw.in_len < s.in_pos + 2)
		return NULL;
	*len = p[0] << 8 | p[1];
	total = ((2 + *len + 3) & ~3ul) + 4;
	raw_wait(&s.raw, s.in_pos + total, timeout_ms);
	if (s.raw.in_len < s.in_pos + total)
		return NULL;
	s.in_pos += total;
	return p + 2;
}

static bool silent(void)
{
	size_t len;

	return !reply(&len, SETTLE) && !s.raw.fin && !s.raw.rst;
}

/* The next FPDU is a Terminate with this error */
static void terminated(unsigned int layer, unsigned int type, unsigned int code)
{
	const unsigned char *u;
	uint32_t word;
	size_t len;

	do {
		u = reply(&len, 10000);
	} while (u && (u[1] & 15) != 7);
	word = u && len >= 22 ? get_be32(u + 18) : 0;
	if (word >> 16 != TERM_ERR(layer, type, code)) {
		printf("# ended by %x, not %x\n", word >> 16,
		       TERM_ERR(layer, type, code));
		good = false;
	}
}

/* Read the region by RDMA; @msn: Read Requests before, and one */
static void compare(uint32_t msn)
{
	unsigned char got[TARGET_REGION];
	const unsigned char *u;
	size_t len, n = 0;

	add_read(msn, 0, TARGET_REGION);
	go(s.nr - 1, s.nr);
	while (n < sizeof(got)) {
		u = reply(&len, 10000);
		if (!u || (u[1] & 15) != 2 || len < 14 ||
		    len - 14 > sizeof(got) - n) {
			check(false, "no Read Response");
			return;
		}
		memcpy(got + n, u + 14, len - 14);
		n += len - 14;
	}
	check(!memcmp(got, s.memory, sizeof(got)), "the memory differs");
}

/* Every byte was summed up once, every one of the payload copied once */
static void once(void)
{
	expect(COPIED, s.payload);
	expect(SUMMED, s.at[s.nr] - s.at[0] - 4 * s.nr);
}

static int begin(void)
{
	unsigned char frame[64];
	int pair[2], i;
	size_t n;

	s.len = 0;
	s.nr = 0;
	s.payload = 0;
	memset(s.memory, 'a' + REGION_RW, sizeof(s.memory));
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) ||
	    peer_adopt(&s.enc, pair[0]))
		return -1;
	s.pipe = pair[1];
	if (raw_connect(&s.raw, opt.port++))
		return -1;
	n = peer_start_frame(frame, false, MPA_C, 1, 0, NULL, 0);
	memcpy(s.buf, frame, n);
	s.len = n;
	s.at[0] = n;
	raw_send(&s.raw, 0, s.buf, n);
	raw_wait(&s.raw, 20 + 12 * REGIONS, 20000);
	if (s.raw.in_len < 20 + 12 * REGIONS)
		return -1;
	s.enc.tx_ivl = s.raw.in[16] & MPA_M ? 512 : 0;
	if (!s.enc.tx_ivl && opt.kind != NIC)
		return -1;
	for (i = 0; i < REGIONS; i++) {
		s.stag[i] = get_be32(s.raw.in + 20 + 12 * i);
		s.addr[i] = get_be64(s.raw.in + 24 + 12 * i);
	}
	s.in_pos = 20 + 12 * REGIONS;
	/* the first FPDU opens the connection of the target */
	add_send("x", 1);
	go(0, 1);
	settle();
	s.at[0] = s.at[1];
	s.nr = 0;
	s.payload = 0;
	read_counters(before);
	stale = true;
	return 0;
}

/* ----------------------------------------------------------------- cases */

static void writes(void)
{
	add_write(REGION_RW, 0, 100, NULL);
	add_write(REGION_RW, 100, 900, NULL);
	add_write(REGION_RW, 1000, 900, NULL);
	add_write(REGION_RW, 3000, 900, NULL);
	add_write(REGION_RW, 1900, 300, NULL);
	go(1, 5);
	settle();
	expect(EARLY, 4);
	expect(BYTES, 3000);
	expect(DONE, 0);
	expect(RX_FPDUS, 0);
	go(0, 1);
	settle();
	expect(RX_FPDUS, 5);
	expect(DONE, s.at[5] - s.at[1]);
	once();
	compare(1);
}

static void sends(void)
{
	const unsigned char *u;
	char text[3] = "E0";
	size_t len;
	int i;

	gap(0);
	for (i = 0; i < 6; i++) {
		text[1] = '0' + i;
		add_send(text, 2);
	}
	/* no marker, then one before them */
	go(2, 7);
	settle();
	expect(EARLY, 0);
	expect(W_MARKER, 1);
	go(1, 2);
	check(silent(), "delivered out of order");
	expect(EARLY, 6);
	go(0, 1);
	for (i = 0; i < 6; i++) {
		u = reply(&len, 10000);
		check(u && len == 20 && u[18] == 'E' && u[19] == '0' + i,
		      "an echo is missing, or not in order");
	}
	once();
}

/* A message of three segments, the last one first; then the next message */
static void long_send(void)
{
	unsigned char data[240], u[512];
	const unsigned char *r;
	size_t len;
	int i;

	for (i = 0; i < 240; i++)
		data[i] = i ? i : 'E';
	gap(208);
	for (i = 0; i < 3; i++)
		add(u,
		    ulpdu_untagged(u,
				   i < 2 ? DDP_UNTAGGED & ~DDP_NOT_LAST :
					   DDP_UNTAGGED,
				   OP_SEND, 0, 0, s.enc.msn, 80 * i,
				   data + 80 * i, 80),
		    NULL);
	s.enc.msn++;
	s.payload += 240;
	add_send("Enext", 5);
	go(3, 5);
	check(silent(), "delivered out of order");
	expect(EARLY, 2);
	/* the rest of the message, without and then with what is placed */
	go(0, 1);
	go(1, 2);
	check(silent(), "delivered out of order");
	go(2, 3);
	r = reply(&len, 10000);
	check(r && len == 258 && !memcmp(r + 18, data, 240), "the message");
	r = reply(&len, 10000);
	check(r && len == 23 && !memcmp(r + 18, "Enext", 5), "the next one");
	once();
}

/* More messages than there are receives: those wait */
static void no_receive(void)
{
	int i;

	gap(0);
	for (i = 0; i < TARGET_RECEIVES + 3; i++)
		add_send("-", 1);
	go(1, s.nr);
	settle();
	expect(EARLY, TARGET_RECEIVES);
	expect(W_RECV, 3);
	go(0, 1);
	settle();
	raw_wait(&s.raw, SIZE_MAX, 500);
	expect(RX_FPDUS, TARGET_RECEIVES + 4);
	expect(COPIED, s.payload);
	compare(1);
}

static void read_response(void)
{
	unsigned char msg[17] = { TARGET_READ }, u[1500], data[2000];
	uint32_t stag, i;
	const unsigned char *r;
	uint64_t to;
	size_t len;

	put_be32(msg + 1, 0x1234);
	put_be32(msg + 13, sizeof(data));
	add_send(msg, sizeof(msg));
	go(0, 1);
	r = reply(&len, 10000);
	if (!r || len != 46 || (r[1] & 15) != 1) {
		check(false, "no Read Request");
		return;
	}
	stag = get_be32(r + 18);
	to = get_be64(r + 22);
	for (i = 0; i < sizeof(data); i++)
		data[i] = i * 7 + 1;
	memcpy(s.memory, data, sizeof(data));
	for (i = 0; i < 4; i++)
		add(u,
		    ulpdu_tagged(
			    u, i < 3 ? DDP_TAGGED & ~DDP_NOT_LAST : DDP_TAGGED,
			    OP_READ_RESP, stag, to + 500 * i, data + 500 * i,
			    500),
		    NULL);
	s.payload += sizeof(data);
	go(3, 5);
	settle();
	go(2, 3);
	settle();
	expect(EARLY, 3);
	/* that of the message; the Read is complete when all of it is */
	expect(CQES, 1);
	go(1, 2);
	settle();
	expect(CQES, 2);
	once();
	compare(1);
}

/* A response without a request, and one that is too long */
static void bad_response(void)
{
	unsigned char u[64] = { 0 };

	gap(0);
	add(u,
	    ulpdu_tagged(u, DDP_TAGGED, OP_READ_RESP, s.stag[REGION_RW],
			 s.addr[REGION_RW], "mischief", 8),
	    NULL);
	go(1, 2);
	check(silent(), "reported out of order");
	expect(W_STAG, 1);
	expect(EARLY, 0);
	go(0, 1);
	terminated(0, 2, 6);
}

static void read_request(void)
{
	const unsigned char *u;
	size_t len;

	gap(0);
	add_read(1, GAP, 16);
	go(1, 2);
	check(silent(), "answered out of order");
	expect(W_ORDER, 1);
	go(0, 1);
	u = reply(&len, 10000);
	check(u && len == 30 && !memcmp(u + 14, s.memory + GAP, 16),
	      "the answer");
	once();
}

/* Immediate Data of a Write, after a gap that it is in */
static void immediate(void)
{
	unsigned char imm[8] = { 1, 2, 3, 4 }, u[64];

	put_be32(imm + 4, gap(0));
	add(u,
	    ulpdu_untagged(u, DDP_UNTAGGED, OP_IMM, 0, 0, s.enc.msn++, 0, imm,
			   sizeof(imm)),
	    NULL);
	go(1, 2);
	check(silent(), "reported out of order");
	expect(W_ORDER, 1);
	expect(EARLY, 0);
	expect(IMMS, 0);
	expect(CQES, 0);
	go(0, 1);
	settle();
	expect(IMMS, 1);
	expect(CQES, 1);
	compare(1);
}

/* An addition of 1 */
static void atomic(void)
{
	unsigned char r[52] = { 0 }, u[128];
	const unsigned char *p;
	uint64_t old, new;
	size_t len;

	memcpy(&old, s.memory + 8, sizeof(old));
	new = old + 1;
	memcpy(s.memory + 8, &new, sizeof(new));
	gap(0);
	put_be32(r + 4, 1);
	put_be32(r + 8, s.stag[REGION_RW]);
	put_be64(r + 12, s.addr[REGION_RW] + 8);
	put_be64(r + 20, 1);
	memset(r + 44, 0xff, 8);
	add(u,
	    ulpdu_untagged(u, DDP_UNTAGGED, OP_ATOMIC_REQ, 0, 1, 1, 0, r,
			   sizeof(r)),
	    NULL);
	go(1, 2);
	check(silent(), "answered out of order");
	expect(W_ORDER, 1);
	expect(EARLY, 0);
	go(0, 1);
	p = reply(&len, 10000);
	check(p && len == 30 && p[1] == OP_ATOMIC_RESP &&
		      get_be64(p + 22) == old,
	      "the answer");
	compare(2);
}

/* The end of the connection has to wait, too */
static void terminate(void)
{
	unsigned char why[4] = { 0 }, u[64];

	gap(0);
	add(u,
	    ulpdu_untagged(u, DDP_UNTAGGED, OP_TERMINATE, 0, 2, 1, 0, why,
			   sizeof(why)),
	    NULL);
	go(1, 2);
	check(silent(), "ended out of order");
	expect(W_ORDER, 1);
	expect(TERMS, 0);
	go(0, 1);
	settle();
	expect(TERMS, 1);
	raw_wait(&s.raw, SIZE_MAX, 500);
	check(s.raw.fin || s.raw.rst, "the connection goes on");
}

/* A Send is placed, what it invalidates is looked for when it is delivered */
static void invalidate(void)
{
	unsigned char u[64];

	gap(0);
	add(u,
	    ulpdu_untagged(u, DDP_UNTAGGED, OP_SEND_INV, 0x5a5a5a00, 0,
			   s.enc.msn++, 0, "-", 1),
	    NULL);
	go(1, 2);
	check(silent(), "reported out of order");
	expect(EARLY, 1);
	expect(CQES, 0);
	go(0, 1);
	terminated(0, 1, 9);
}

static void bad_crc(void)
{
	struct fpdu_options o = { .length = -1, .bad_crc = true };

	add_write(REGION_RW, 0, 8, NULL);
	add_write(REGION_RW, 8, 600, &o);
	go(1, 2);
	check(silent(), "reported out of order");
	expect(W_BAD, 1);
	expect(EARLY, 0);
	expect(ERR_CRC, 0);
	go(0, 1);
	terminated(2, 0, 2);
	expect(ERR_CRC, 1);
}

/* Damaged out of order, right when its turn comes */
static void repaired(void)
{
	unsigned char keep;
	size_t at;

	add_write(REGION_RW, 0, 8, NULL);
	add_write(REGION_RW, 8, 600, NULL);
	at = s.at[1] + 40;
	keep = s.buf[at];
	s.buf[at] ^= 0xff;
	go(1, 2);
	settle();
	expect(W_BAD, 1);
	s.buf[at] = keep;
	go(0, 2);
	settle();
	expect(ERR_CRC, 0);
	expect(RX_FPDUS, 2);
	compare(1);
}

/* Good out of order, and something else when its turn comes */
static void replaced(void)
{
	size_t i;

	add_write(REGION_RW, 0, 8, NULL);
	add_write(REGION_RW, 8, 600, NULL);
	add_write(REGION_RW, 608, 600, NULL);
	go(1, 3);
	settle();
	expect(EARLY, 2);
	for (i = s.at[1]; i < s.at[3]; i++)
		s.buf[i] ^= 0x5a;
	go(0, 2);
	settle();
	expect(RX_FPDUS, 3);
	expect(ERR_CRC, 0);
	once();
	compare(1);
}

static void unknown_stag(void)
{
	gap(0);
	s.stag[REGION_LOCAL] ^= 0x5a5a5a00;
	add_write(REGION_LOCAL, 0, 8, NULL);
	go(1, 2);
	check(silent(), "reported out of order");
	expect(W_STAG, 1);
	go(0, 1);
	terminated(1, 1, 0);
}

static void no_access(void)
{
	gap(0);
	add_write(REGION_RO, 0, 8, NULL);
	add_write(REGION_FOREIGN, 0, 8, NULL);
	add_write(REGION_RW, TARGET_REGION - 4, 4, NULL);
	s.addr[REGION_RW]++;
	add_write(REGION_RW, TARGET_REGION - 4, 4, NULL);
	go(1, 5);
	check(silent(), "reported out of order");
	expect(W_STAG, 3);
	expect(EARLY, 1);
	go(0, 1);
	terminated(0, 1, 2);
}

/* The region goes between placement and the FPDU's turn */
static void gone(void)
{
	add_send("D", 1);
	gap(0);
	add_write(REGION_RW, 8, 8, NULL);
	go(2, 3);
	settle();
	expect(EARLY, 1);
	go(0, 1);
	settle();
	raw_wait(&s.raw, SIZE_MAX, 1000);
	go(1, 2);
	terminated(1, 1, 0);
}

/* In order an FPDU reaches into one that was found out of order */
static void crossing(void)
{
	uint32_t len = gap(0);

	add_write(REGION_RW, 8, 40, NULL);
	add_write(REGION_RW, 48, 600, NULL);
	go(1, 3);
	settle();
	expect(EARLY, 2);
	/* once more from the start, with another length */
	s.nr = 0;
	s.enc.tx_pos -= s.len - s.at[0];
	s.len = s.at[0];
	add_write(REGION_RW, GAP, len + 12, NULL);
	go(0, 1);
	terminated(2, 0, 3);
}

/* FPDUs before the first marker of a run, and a run without one */
static void no_marker(void)
{
	int i;

	for (i = 0; i < 30; i++)
		add_write(REGION_RW, 64 * i, 64, NULL);
	for (i = 2;
	     (s.at[i] - FRAME) % 512 < 4 || (s.at[i] - FRAME) % 512 > 400;)
		i++;
	raw_send(&s.raw, s.at[i], s.buf + s.at[i], 90);
	settle();
	expect(W_MARKER, 1);
	expect(EARLY, 0);
	go(i + 1, 30);
	settle();
	check(risen(EARLY) > 10, "found by a later marker");
	go(0, 30);
	settle();
	expect(RX_FPDUS, 30);
	once();
	compare(1);
}

/* More ranges than are remembered */
static void limit(void)
{
	int i;

	add_write(REGION_RW, 0, 512, NULL);
	for (i = 0; i < 400; i++)
		add_write(REGION_RW, 512 + 8 * i, 4, NULL);
	go(1, s.nr);
	settle();
	expect(EARLY, 256);
	check(risen(W_LIMIT) > 0, "the limit is noticed");
	go(0, 1);
	settle();
	expect(RX_FPDUS, 401);
	once();
	compare(1);
}

static unsigned int seed = 1;

static unsigned int below(unsigned int n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 8) % n;
}

#define MESSAGES 6 /* as many as there are receives for, and some left */

/* Message number @i, to be echoed; returns its length */
static size_t message(unsigned char *m, unsigned int i)
{
	size_t k, len = 2 + (97 * i + 30) % 190;

	for (k = 0; k < len; k++)
		m[k] = k * 5 + i;
	m[0] = TARGET_ECHO;
	return len;
}

/* All come back, in order */
static void echoes(unsigned int n)
{
	unsigned char m[TARGET_MESSAGE];
	const unsigned char *u;
	size_t len, want;
	unsigned int i;

	for (i = 0; i < n; i++) {
		want = message(m, i);
		u = reply(&len, 10000);
		check(u && len == 18 + want && !memcmp(u + 18, m, want),
		      "an echo is missing, or not in order");
	}
}

/* Any FPDUs, cut anywhere, in any order, some twice */
static void shuffle(void)
{
	unsigned char m[TARGET_MESSAGE];
	size_t cut[600], n, at, k, a, b;
	unsigned int i, j, sent = 0;
	uint32_t off = 0, len;

	while (off < TARGET_REGION) {
		if (sent < MESSAGES && !below(5)) {
			add_send(m, message(m, sent));
			sent++;
		}
		len = 1 + below(below(4) ? 60 : 900);
		if (len > TARGET_REGION - off)
			len = TARGET_REGION - off;
		add_write(REGION_RW, off, len, NULL);
		off += len;
	}
	for (n = 0, at = s.at[0]; at < s.len; n++) {
		cut[n] = at;
		at += 1 + below(below(2) ? 200 : 1300);
	}
	cut[n] = s.len;
	for (i = 0; i < 2 * n; i++) {
		j = below(n);
		a = cut[j];
		b = cut[j + 1];
		/* some reach over into the next ones */
		k = below(3) ? 0 : below(100);
		b = b + k < s.len ? b + k : s.len;
		raw_send(&s.raw, a, s.buf + a, b - a);
		raw_wait(&s.raw, SIZE_MAX, 1);
	}
	for (j = n; j--;)
		raw_send(&s.raw, cut[j], s.buf + cut[j], cut[j + 1] - cut[j]);
	settle();
	expect(RX_FPDUS, s.nr);
	expect(ERR_CRC, 0);
	expect(W_BAD, 0);
	once();
	echoes(sent);
	compare(1);
}

/* The peer goes while things are placed and receives are taken */
static void reset(void)
{
	gap(0);
	add_send("E1", 2);
	add_send("E2", 2);
	add_write(REGION_RW, 8, 8, NULL);
	go(1, 4);
	settle();
	expect(EARLY, 3);
	raw_reset(&s.raw);
	settle();
}

/* -------------------------------------------------- a shared receive queue */

/* No receive is taken from it out of order; FPDUs that need none are placed */
static void shared_queue(void)
{
	const unsigned char *u;
	size_t len;
	int i;

	gap(0);
	add_send("E0", 2);
	add_write(REGION_RW, 0, 60, NULL);
	add_send("E1", 2);
	go(1, 4);
	settle();
	expect(EARLY, 1);
	expect(W_RECV, 2);
	check(silent(), "delivered out of order");
	go(0, 1);
	for (i = 0; i < 2; i++) {
		u = reply(&len, 10000);
		check(u && len == 20 && u[18] == 'E' && u[19] == '0' + i,
		      "an echo is missing, or not in order");
	}
	expect(RX_FPDUS, 4);
	once();
	compare(1);
}

/* A message that has begun has its receive; the one after it has none */
static void shared_begun(void)
{
	unsigned char data[240], u[512];
	const unsigned char *r;
	size_t len;
	int i;

	for (i = 0; i < 240; i++)
		data[i] = i ? i : 'E';
	gap(208);
	for (i = 0; i < 3; i++)
		add(u,
		    ulpdu_untagged(u,
				   i < 2 ? DDP_UNTAGGED & ~DDP_NOT_LAST :
					   DDP_UNTAGGED,
				   OP_SEND, 0, 0, s.enc.msn, 80 * i,
				   data + 80 * i, 80),
		    NULL);
	s.enc.msn++;
	s.payload += 240;
	add_send("Enext", 5);
	go(0, 2);
	settle();
	go(3, 5);
	check(silent(), "delivered out of order");
	expect(EARLY, 1);
	expect(W_RECV, 1);
	go(2, 3);
	r = reply(&len, 10000);
	check(r && len == 258 && !memcmp(r + 18, data, 240), "the message");
	r = reply(&len, 10000);
	check(r && len == 23 && !memcmp(r + 18, "Enext", 5), "the next one");
	once();
}

/* --------------------------------------------- TCP has not enough memory */

#define SMALL 224 /* about two of these from one marker to the next */
#define SMALLS 56

/* Writes all over the region; what they write twice is the same */
static void add_smalls(void)
{
	unsigned char u[SMALL + 64];
	size_t i, off;

	for (i = 0; i < sizeof(s.memory); i++)
		s.memory[i] = i * 7 + i / 256;
	for (i = 0; i < SMALLS; i++) {
		off = i * SMALL % (sizeof(s.memory) - SMALL);
		s.payload += SMALL;
		add(u,
		    ulpdu_tagged(u, DDP_TAGGED, OP_WRITE, s.stag[REGION_RW],
				 s.addr[REGION_RW] + off, s.memory + off,
				 SMALL),
		    NULL);
	}
	/* the end of the region, so that all of it was written */
	s.payload += SMALL;
	off = sizeof(s.memory) - SMALL;
	add(u,
	    ulpdu_tagged(u, DDP_TAGGED, OP_WRITE, s.stag[REGION_RW],
			 s.addr[REGION_RW] + off, s.memory + off, SMALL),
	    NULL);
}

/* Is there a marker among the bytes of FPDU @i, but not before it? */
static bool has_marker(unsigned int i)
{
	return (s.at[i] - FRAME) / 512 != (s.at[i + 1] - FRAME - 1) / 512;
}

/* Send data that TCP has not received, or has discarded, again and again */
static void send_rest(void)
{
	long end = net_ms() + 20000;
	size_t from, len;

	stale = true;
	while (s.raw.acked < s.len && !s.raw.rst && net_ms() < end) {
		from = s.raw.acked < s.at[0] ? s.at[0] : s.raw.acked;
		len = s.len - from < RAW_MSS ? s.len - from : RAW_MSS;
		raw_send(&s.raw, from, s.buf + from, len);
		raw_wait(&s.raw, SIZE_MAX, 5);
	}
}

static void after_all(void)
{
	check(risen(EARLY) > 3, "FPDUs were placed");
	send_rest();
	settle();
	expect(RX_FPDUS, s.nr);
	expect(ERR_CRC, 0);
	once();
	compare(1);
}

/* Packets with nothing between them: TCP gives some up that it has confirmed */
static void pruned(void)
{
	int i;

	add_smalls();
	for (i = SMALLS - 1; i > 0; i--) {
		if (!has_marker(i))
			continue;
		go(i, i + 1);
		raw_wait(&s.raw, SIZE_MAX, 2);
	}
	settle();
	after_all();
}

/* Many small ones in a row: TCP copies them together */
static void collapsed(void)
{
	size_t at, n;

	add_smalls();
	for (at = s.at[1]; at < s.len; at += n) {
		n = s.len - at < 60 ? s.len - at : 60;
		raw_send(&s.raw, at, s.buf + at, n);
		raw_wait(&s.raw, SIZE_MAX, 1);
	}
	settle();
	after_all();
}

/* -------------------------------------------------------- a NIC that places */

/* FPDUs of this length are no short packets */
#define NIC_LEN 600

static void one(void)
{
	go(s.nr - 1, s.nr);
	settle();
}

static void one_write(uint32_t off)
{
	add_write(REGION_RW, off, NIC_LEN, NULL);
	one();
}

/* Run until the NIC has the region, and is in step */
static void warm(void)
{
	int tries = 100;

	do {
		one_write(0);
	} while (risen(ENGINE) < NIC_LEN && --tries);
	check(tries, "the NIC does not place");
	check(risen(TRUSTED) <= (long long)(s.at[s.nr] - s.at[0]),
	      "checked twice");
	expect(ENGINE, NIC_LEN);
	expect(PLACED, NIC_LEN);
	read_counters(before);
	stale = true;
}

/* The program writes to the region, and is done with it on return */
static void program_writes(unsigned char v)
{
	unsigned char msg[2] = { TARGET_FILL, v };
	const unsigned char *u;
	size_t len;

	add_send(msg, 2);
	one();
	add_send("E", 1);
	go(s.nr - 1, s.nr);
	u = reply(&len, 10000);
	check(u && len == 19 && u[18] == 'E', "no echo");
	memset(s.memory, v, sizeof(s.memory));
}

static void nic_in_order(void)
{
	int i;

	warm();
	for (i = 0; i < 6; i++)
		one_write(NIC_LEN * i);
	expect(ENGINE, 6 * NIC_LEN);
	expect(PLACED, 6 * NIC_LEN);
	expect(COPIED, 0);
	compare(1);
}

/* Processed data comes again, alone, and beside a gap, and all of it */
static void nic_old(void)
{
	unsigned int first, gap;

	warm();
	first = s.nr;
	one_write(0);
	program_writes(0x33);
	go(first, first + 1);
	settle();
	gap = s.nr;
	add_write(REGION_RW, 1000, NIC_LEN, NULL);
	add_write(REGION_RW, 1000 + NIC_LEN, NIC_LEN, NULL);
	go(gap + 1, gap + 2);
	go(first, first + 1);
	settle();
	go(gap, gap + 1);
	settle();
	go(gap, gap + 2);
	go(first, first + 1);
	settle();
	expect(ENGINE, NIC_LEN);
	compare(1);
	/* in step again, but for new bytes only */
	one_write(2500);
	one_write(2500);
	one_write(2500);
	check(risen(ENGINE) > NIC_LEN, "not in step again");
	program_writes(0x44);
	read_counters(before);
	go(0, s.nr);
	settle();
	expect(ENGINE, 0);
	compare(2);
}

/* Out of order nothing is placed; TCP may throw it away */
static void nic_gap(void)
{
	unsigned int gap;

	warm();
	gap = s.nr;
	add_write(REGION_RW, 0, NIC_LEN, NULL);
	add_write(REGION_RW, 1000, NIC_LEN, NULL);
	add_write(REGION_RW, 2000, NIC_LEN, NULL);
	go(gap + 1, gap + 3);
	settle();
	expect(ENGINE, 0);
	go(gap, gap + 1);
	settle();
	expect(ENGINE, 0);
	expect(COPIED, 3 * NIC_LEN);
	compare(1);
}

/* Another FPDU of the same place of the stream is sent later */
static void take_back(void)
{
	s.enc.tx_pos -= s.at[s.nr] - s.at[s.nr - 1];
	s.len = s.at[--s.nr];
}

/* In sequence and good, but TCP drops it: what is acknowledged was never sent */
static void nic_forged(void)
{
	unsigned char keep[TARGET_REGION];

	warm();
	memcpy(keep, s.memory, sizeof(keep));
	s.raw.rcv_nxt += 1 << 20;
	one_write(2000);
	s.raw.rcv_nxt -= 1 << 20;
	take_back();
	memcpy(s.memory, keep, sizeof(keep));
	expect(ENGINE, 0);
	expect(RX_FPDUS, 0);
	one_write(1000);
	expect(RX_FPDUS, 1);
	expect(ENGINE, 0);
	compare(1);
}

/* Far ahead: no more than that the NIC waits for it */
static void nic_far(void)
{
	warm();
	add_write(REGION_RW, 3000, NIC_LEN, NULL);
	raw_send(&s.raw, s.at[s.nr - 1] + (1u << 29), s.buf + s.at[s.nr - 1],
		 s.at[s.nr] - s.at[s.nr - 1]);
	settle();
	expect(ENGINE, 0);
	one();
	one_write(1000);
	expect(RX_FPDUS, 2);
	compare(1);
}

static void nic_bad_crc(void)
{
	struct fpdu_options o = { .length = -1, .bad_crc = true };

	warm();
	add_write(REGION_RW, 1000, NIC_LEN, &o);
	go(s.nr - 1, s.nr);
	terminated(2, 0, 2);
	expect(ENGINE, 0);
}

static void nic_no_right(void)
{
	warm();
	add_write(REGION_RO, 0, NIC_LEN, NULL);
	go(s.nr - 1, s.nr);
	terminated(0, 1, 2);
	expect(ENGINE, 0);
}

static void nic_bounds(void)
{
	warm();
	s.addr[REGION_RW] += TARGET_REGION - NIC_LEN + 1;
	add_write(REGION_RW, 0, NIC_LEN, NULL);
	go(s.nr - 1, s.nr);
	terminated(1, 1, 1);
	expect(ENGINE, 0);
}

/* The program ends its registration; what is on its way then is refused */
static void nic_gone(void)
{
	unsigned char msg = TARGET_DEREG;

	warm();
	add_send(&msg, 1);
	one();
	raw_wait(&s.raw, SIZE_MAX, 1000);
	add_write(REGION_RW, 1000, NIC_LEN, NULL);
	go(s.nr - 1, s.nr);
	terminated(1, 1, 0);
	expect(ENGINE, 0);
}

/* The program reads @size bytes: their sink; false if it does not */
static bool reads(uint32_t size, uint32_t *stag, uint64_t *to)
{
	unsigned char msg[17] = { TARGET_READ };
	const unsigned char *r;
	size_t len;

	put_be32(msg + 1, 0x1234);
	put_be32(msg + 13, size);
	add_send(msg, sizeof(msg));
	go(s.nr - 1, s.nr);
	r = reply(&len, 10000);
	if (!r || len != 46 || (r[1] & 15) != 1) {
		check(false, "no Read Request");
		return false;
	}
	*stag = get_be32(r + 18);
	*to = get_be64(r + 22);
	return true;
}

/* Read Responses: while there is a Read, within its sink */
static void nic_read(void)
{
	unsigned char u[1500], data[4 * NIC_LEN];
	unsigned int first, i;
	uint32_t stag;
	uint64_t to;

	warm();
	if (!reads(sizeof(data), &stag, &to))
		return;
	for (i = 0; i < sizeof(data); i++)
		data[i] = i * 7 + 1;
	memcpy(s.memory, data, sizeof(data));
	first = s.nr;
	for (i = 0; i < 4; i++) {
		add(u,
		    ulpdu_tagged(
			    u, i < 3 ? DDP_TAGGED & ~DDP_NOT_LAST : DDP_TAGGED,
			    OP_READ_RESP, stag, to + NIC_LEN * i,
			    data + NIC_LEN * i, NIC_LEN),
		    NULL);
		one();
	}
	expect(ENGINE, sizeof(data));
	expect(PLACED, sizeof(data));
	expect(COPIED, 17); /* what told the program to read */
	program_writes(0x55);
	go(first, s.nr);
	settle();
	compare(1);
	/* and a response to nothing */
	add(u,
	    ulpdu_tagged(u, DDP_TAGGED, OP_READ_RESP, stag, to, data, NIC_LEN),
	    NULL);
	go(s.nr - 1, s.nr);
	terminated(0, 2, 6);
	expect(ENGINE, sizeof(data));
}

/* A Read Response into a region that is not read into */
static void nic_read_stag(void)
{
	unsigned char u[1500], data[NIC_LEN] = { 0 };
	uint32_t stag;
	uint64_t to;

	warm();
	if (!reads(2 * sizeof(data), &stag, &to))
		return;
	add(u,
	    ulpdu_tagged(u, DDP_TAGGED & ~DDP_NOT_LAST, OP_READ_RESP,
			 s.stag[REGION_RO], s.addr[REGION_RO], data,
			 sizeof(data)),
	    NULL);
	go(s.nr - 1, s.nr);
	terminated(1, 1, 0);
	expect(ENGINE, 0);
	expect(PLACED, 0);
}

static const struct {
	const char *name;
	void (*run)(void);
	int times;
	enum kind kind;
} cases[] = {
	{ "Writes after a gap are placed", writes, 1, PLAIN },
	{ "Sends are placed, delivered in order", sends, 1, PLAIN },
	{ "a Send of several segments, from its end on", long_send, 1, PLAIN },
	{ "a Send without a receive waits", no_receive, 1, PLAIN },
	{ "a Read Response from its end on", read_response, 1, PLAIN },
	{ "a Read Response without a request", bad_response, 1, PLAIN },
	{ "a Read Request has to wait", read_request, 1, PLAIN },
	{ "Immediate Data have to wait", immediate, 1, PLAIN },
	{ "an atomic operation has to wait", atomic, 1, PLAIN },
	{ "a Terminate has to wait", terminate, 1, PLAIN },
	{ "a Send with Invalidate is placed, and has to wait", invalidate, 1,
	  PLAIN },
	{ "bad CRC, reported in its turn", bad_crc, 1, PLAIN },
	{ "bad CRC, but good in its turn", repaired, 1, PLAIN },
	{ "other data in its turn", replaced, 1, PLAIN },
	{ "unknown STag, reported in its turn", unknown_stag, 1, PLAIN },
	{ "no access, reported in order", no_access, 1, PLAIN },
	{ "the region is gone in its turn", gone, 1, PLAIN },
	{ "an FPDU that reaches into a placed one", crossing, 1, PLAIN },
	{ "bytes without a marker", no_marker, 1, PLAIN },
	{ "more ranges than are remembered", limit, 1, PLAIN },
	{ "cut and shuffled", shuffle, 6, PLAIN },
	{ "reset with placed FPDUs", reset, 1, PLAIN },
	{ "shared queue: Sends wait, Writes do not", shared_queue, 1, SHARED },
	{ "shared queue: a Send that has begun", shared_begun, 1, SHARED },
	{ "little memory: packets are given up", pruned, 3, LITTLE },
	{ "little memory: packets are copied together", collapsed, 3, LITTLE },
	{ "NIC: Writes in order", nic_in_order, 1, NIC },
	{ "NIC: old packets do not change memory", nic_old, 1, NIC },
	{ "NIC: nothing out of order", nic_gap, 1, NIC },
	{ "NIC: not what TCP does not take", nic_forged, 1, NIC },
	{ "NIC: far ahead", nic_far, 1, NIC },
	{ "NIC: bad CRC", nic_bad_crc, 1, NIC },
	{ "NIC: no right to write", nic_no_right, 1, NIC },
	{ "NIC: outside of the region", nic_bounds, 1, NIC },
	{ "NIC: the region is gone", nic_gone, 1, NIC },
	{ "NIC: a Read", nic_read, 1, NIC },
	{ "NIC: a Read Response for another STag", nic_read_stag, 1, NIC },
};

static void run(const char *name, void (*fn)(void))
{
	good = true;
	if (begin()) {
		check(false, "not connected");
	} else {
		fn();
		if (!s.raw.rst)
			raw_reset(&s.raw);
	}
	peer_close(&s.enc);
	close(s.pipe);
	opt.number++;
	opt.failed += !good;
	printf("%s %u - %s\n", good ? "ok" : "not ok", opt.number, name);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	unsigned char mac[6] = { 0 };
	struct in_addr from, to;
	int o, ifindex = 0, port = 7900, n;
	unsigned int i;

	while ((o = getopt(argc, argv, "i:m:f:h:p:s:o:qbn")) != -1) {
		if (o == 'i')
			ifindex = atoi(optarg);
		else if (o == 'm' &&
			 sscanf(optarg, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", mac,
				mac + 1, mac + 2, mac + 3, mac + 4,
				mac + 5) != 6)
			return 2;
		else if (o == 'f' && inet_pton(AF_INET, optarg, &from) != 1)
			return 2;
		else if (o == 'h' && inet_pton(AF_INET, optarg, &to) != 1)
			return 2;
		else if (o == 'p')
			port = atoi(optarg);
		else if (o == 's')
			opt.stats = optarg;
		else if (o == 'o')
			opt.only = optarg;
		else if (o == 'q')
			opt.kind = SHARED;
		else if (o == 'b')
			opt.kind = LITTLE;
		else if (o == 'n')
			opt.kind = NIC;
	}
	opt.port = 20000;
	if (!opt.stats || !ifindex ||
	    raw_init(&s.raw, ifindex, mac, from.s_addr, to.s_addr, port)) {
		perror("hyb-ooo");
		return 2;
	}
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (cases[i].kind != opt.kind)
			continue;
		if (opt.only && !strstr(cases[i].name, opt.only))
			continue;
		for (n = 0; n < cases[i].times; n++)
			run(cases[i].name, cases[i].run);
	}
	printf("1..%u\n", opt.number);
	return opt.failed ? 1 : 0;
}
