// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * hyb-hostile: a plain TCP program that speaks iWARP and breaks its rules.
 *
 *   hyb-hostile -h ADDRESS [-p PORT] [-s COMMAND] start|ready|fpdu|ext|ends|slow
 *        attacks a listening hyb-target
 *   hyb-hostile -h ADDRESS [-p PORT] [-s COMMAND] fence
 *        the same with "hyb-target -g"
 *   hyb-hostile -h ADDRESS [-p PORT] [-s COMMAND] refuse
 *        the same with "hyb-target -r"
 *   hyb-hostile -h ADDRESS [-p PORT] [-s COMMAND] hello|short|credits|sdp|shared|...
 *        attacks a listening SDP socket, a server that echoes; on a shared
 *        link, with payload in rings, without credits in the last cases
 *   hyb-hostile -v -h ADDRESS [-p PORT] [-s COMMAND] verbs|verbs-ring
 *        the same, with what takes a device
 *   hyb-hostile -v -h ADDRESS [-p PORT] [-s COMMAND] verbs-zcopy
 *        the same, to a listening "sdp-zcopy serve"
 *   hyb-hostile -h ADDRESS [-p PORT] [-s COMMAND] overrun
 *        attacks a listening socket that no program reads from
 *   hyb-hostile -h ADDRESS [-p PORT] [-s COMMAND] frozen|frozen-ring|...
 *        is what frozen.py sends to, and gives it no credits back, no room in
 *        its ring, or does not read
 *   hyb-hostile -h ADDRESS [-p PORT] -n COUNT [-r SEED] walk|walk-shared|...
 *        COUNT connections to that server with random steps, most of them valid
 *   hyb-hostile -h ADDRESS [-p PORT] [-s COMMAND] zcopy|held
 *        attacks a listening "sdp-zcopy serve"; while test_hold.ko holds it up
 *   hyb-hostile -h ADDRESS [-p PORT] [-s COMMAND] wire
 *        attacks below SDP on a shared link: those of fpdu that need no target
 *   hyb-hostile -h ADDRESS [-p PORT] [-s COMMAND] -x COMMAND reply
 *        listens itself; COMMAND makes a client connect to it
 *   hyb-hostile -h ADDRESS [-p PORT] [-s COMMAND] -x COMMAND rtr
 *        the same with "hyb-target -c -n 2"
 *   hyb-hostile -h ADDRESS [-p PORT] [-s COMMAND] -x COMMAND answer
 *        the same with a client that asks for an atomic operation
 *   hyb-hostile -h ADDRESS [-p PORT] [-s COMMAND] -x COMMAND ack|sdp|talk|...
 *        the same with a client of SDP that returns what it receives: its
 *        Hello is answered with mistakes, or then the attacks follow that a
 *        server would meet
 *   hyb-hostile -v -h ADDRESS [-p PORT] [-s COMMAND] -x COMMAND verbs
 *        the same with what takes a device
 *
 * -v: what attacks SDP goes over verbs, of any device.
 * -i INTERVAL: proposes markers of that interval, both ways. -w: its sequence
 * numbers wrap soon after the start-up. -o TEXT: only attacks with it in their
 * name. -s: a command that prints "name value" pairs of the attacked device's
 * counters. One TAP line per attack: the connection ended as it has to, and the
 * counter of that mistake has risen.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../sdp/peer_verbs.h"
#include "../sdp/hostile_sdp.h"

static struct {
	struct sockaddr_in sa;
	const char *stats;
	const char *client;
	const char *only;
	int timeout_ms;
	int listener;
	unsigned int number, failed;
	unsigned int count;
	uint32_t seed;
	bool sdp;
} opt = { .timeout_ms = 20000, .count = 100 };

long long attack_counter(const char *name)
{
	char line[8192], *at;
	size_t len = name ? strlen(name) : 0;
	long long val = -1;
	FILE *f;

	if (!name || !opt.stats)
		return -1;
	f = popen(opt.stats, "r");
	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f)) {
		for (at = line; (at = strstr(at, name)); at += len) {
			if ((at == line || at[-1] == ' ') && at[len] == ' ')
				val = (val < 0 ? 0 : val) + atoll(at + len);
		}
	}
	pclose(f);
	return val;
}

static void read_offer(struct peer *p, struct target_memory *m)
{
	int i;

	memset(m, 0, sizeof(*m));
	if (opt.sdp)
		return;
	for (i = 0; i < REGIONS && p->private_len >= 12 * REGIONS; i++) {
		m->stag[i] = get_be32(p->private_data + 12 * i);
		m->addr[i] = get_be64(p->private_data + 12 * i + 4);
	}
}

/* Does the connection still do what it is for? */
static bool echoes(struct peer *p)
{
	static const char text[] = "Echo of a connection that lives";
	int patience = peer_patience(opt.timeout_ms);
	long end = net_ms() + patience;

	if (p->gone)
		return false;
	if (opt.sdp)
		return sdp_echoes(p, patience);
	peer_send_message(p, text, sizeof(text));
	while (net_ms() < end && peer_recv_fpdu(p, patience) == 1) {
		if (p->ulpdu_len == 18 + sizeof(text) &&
		    !memcmp(p->ulpdu + 18, text, sizeof(text)))
			return true;
	}
	return false;
}

/* The error that was wanted? */
static bool terminated(const struct peer *p, uint32_t wanted)
{
	if (wanted >> 24 != 1)
		return false;
	return p->ops ? p->ops->refused(p, wanted & 0xffffff) :
			wanted == (0x1000000u | p->term);
}

static bool acceptable(const struct peer *p, const struct attack *a,
		       enum peer_end end)
{
	int i;

	for (i = 0; i < E_MAX && a->ends[i]; i++) {
		if (a->ends[i] == E_ANY)
			return true;
		if (a->ends[i] == E_ANY_TERM && end == END_TERMINATE)
			return true;
		if (a->ends[i] == E_CLOSED &&
		    (end == END_FIN || end == END_RST))
			return true;
		if (end == END_TERMINATE && terminated(p, a->ends[i]))
			return true;
	}
	return false;
}

static bool expects(const struct attack *a, uint32_t what)
{
	int i;

	for (i = 0; i < E_MAX; i++)
		if (a->ends[i] == what)
			return true;
	return false;
}

/* rxe refuses a message that is too long, but does not report the length as the reason */
static const char *counter_of(const struct peer *p, const struct attack *a)
{
	if (p->ops && !p->short_hello && a->iwarp)
		return a->iwarp;
	return p->short_hello && expects(a, E_TERM(1, 2, 5)) ?
		       "transport_errors" :
		       a->counter;
}

static const char *rising(const char *name, long long before)
{
	static char text[128];
	long end = net_ms() + peer_patience(5000);
	long long now;

	if (!name || !opt.stats)
		return NULL;
	if (before < 0) {
		snprintf(text, sizeof(text), "no counter %s", name);
		return text;
	}
	do {
		now = attack_counter(name);
		if (now > before)
			return NULL;
		poll(NULL, 0, 50);
	} while (net_ms() < end);
	snprintf(text, sizeof(text), "%s did not rise (%lld)", name, now);
	return text;
}

static void result(const struct attack *a, bool ok, const char *what,
		   const char *more)
{
	opt.number++;
	opt.failed += !ok || more;
	printf("%s %u - %s: %s%s%s\n", ok && !more ? "ok" : "not ok",
	       opt.number, a->name, what, more ? ", " : "", more ? more : "");
	fflush(stdout);
}

/* How long the end of the connection may take, or how long there must be none */
static int end_ms(const struct attack *a)
{
	if (expects(a, E_ANY))
		return 2000;
	if (a->counter && strstr(a->counter, "timeout"))
		return peer_patience(60000);
	return expects(a, E_ALIVE) ? opt.timeout_ms :
				     peer_patience(opt.timeout_ms);
}

/*
 * The attack itself, on a connection that is as far as it has to be. Of one that has only
 * been made the target soon loses patience, so that its counter was read @before; or -2.
 */
static void strike(struct peer *p, const struct attack *a,
		   const struct target_memory *m, long long before)
{
	const char *counter = counter_of(p, a);
	const char *what;
	enum peer_end end;
	bool ok;

	if (before == -2)
		before = attack_counter(counter);
	p->refusal = a->ends[0] >> 24 == E_TERM(0, 0, 0) >> 24;
	end = a->run(p, m, a);
	if (end == END_NONE && a->ends[0] == E_ALIVE) {
		ok = echoes(p);
		what = ok ? "goes on" : "does not echo any more";
		result(a, ok, what, rising(counter, before));
		return;
	}
	if (end == END_NONE)
		end = peer_wait_end(p, end_ms(a));
	if (end == END_TERMINATE && p->term_bad) {
		result(a, false, peer_end_text(end, p->term), p->term_bad);
		return;
	}
	ok = acceptable(p, a, end);
	if (!ok && end == END_NONE && expects(a, E_ALIVE)) {
		ok = echoes(p);
		result(a, ok, ok ? "goes on" : "hangs",
		       rising(counter, before));
		return;
	}
	what = p->ops && end == END_TERMINATE ? "refused by the device" :
						peer_end_text(end, p->term);
	result(a, ok, what, rising(counter, before));
}

static void skip(const struct attack *a, const char *why)
{
	opt.number++;
	printf("ok %u - %s # SKIP %s\n", opt.number, a->name, why);
}

static void attack_listener(const struct attack *a, bool open)
{
	bool early = !open && !peer_over;
	long long before = early ? attack_counter(a->counter) : -2;
	struct target_memory m = { 0 };
	const char *unfit;
	struct peer p;

	if (peer_connect(&p, (struct sockaddr *)&opt.sa, sizeof(opt.sa))) {
		result(a, false, "no TCP connection", NULL);
		return;
	}
	unfit = p.ops ? attack_unfit(&p, a) : NULL;
	if (unfit) {
		skip(a, unfit);
		peer_close(&p);
		return;
	}
	sdp_rcvsz = a->rcvsz;
	if (open && (opt.sdp ? sdp_open(&p) : peer_open(&p, NULL, 0))) {
		result(a, false, "start-up failed", NULL);
		peer_close(&p);
		return;
	}
	read_offer(&p, &m);
	if (open && strstr(a->name, "marker") && !p.tx_ivl)
		skip(a, "the target does not ask for markers");
	else
		strike(&p, a, &m, before);
	peer_close(&p);
}

/* One walk; returns what was wrong, or NULL. */
static const char *walk_once(uint32_t seed, struct walk *w)
{
	const char *what = NULL;
	struct peer p;

	memset(w, 0, sizeof(*w));
	if (peer_connect(&p, (struct sockaddr *)&opt.sa, sizeof(opt.sa)))
		return "no TCP connection";
	if (sdp_open(&p))
		what = "start-up failed";
	if (!what)
		sdp_walk(&p, seed, w, opt.timeout_ms);
	/* a valid connection continues; one that was not ends, or does */
	if (!what && !w->wrong && w->over)
		what = "ended without a reason";
	else if (!what && !w->wrong &&
		 !sdp_echoes(&p, peer_patience(opt.timeout_ms)))
		what = "does not echo";
	else if (!what && w->wrong && !w->over)
		peer_hang_up(&p);
	if (!what && w->wrong &&
	    peer_wait_end(&p, peer_patience(opt.timeout_ms)) == END_NONE)
		what = "hangs";
	peer_close(&p);
	return what;
}

/* @suite: "walk" and, after it, the kind of connection */
static bool run_walks(const char *suite)
{
	unsigned int i, wrong = 0;
	struct walk w;

	if (!strcmp(suite, "walk-shared"))
		sdp_shared = true;
	else if (!strcmp(suite, "walk-ring"))
		sdp_ext = SDP_RING;
	else if (!strcmp(suite, "walk-hold"))
		sdp_ext = SDP_HOLD;
	else if (strcmp(suite, "walk"))
		return false;
	opt.sdp = true;
	printf("# seed %u\n", opt.seed);
	for (i = 0; i < opt.count; i++) {
		const char *what = walk_once(opt.seed + i, &w);

		wrong += w.wrong;
		if (!what)
			continue;
		opt.failed++;
		printf("# %s, -n 1 -r %u: %s\n", suite, opt.seed + i, what);
	}
	opt.number++;
	printf("%s 1 - %s: %u connections, %u with mistakes\n",
	       opt.failed ? "not ok" : "ok", suite, i, wrong);
	return true;
}

int attack_next(struct peer *p, int timeout_ms)
{
	peer_close(p);
	if (!net_wait(opt.listener, POLLIN, timeout_ms))
		return -1;
	return peer_adopt(p, accept(opt.listener, NULL, NULL));
}

#define NOTICE_MS 120000 /* that a client may take */

/* A peer that connects too late */
static bool turned_away(int timeout_ms)
{
	struct peer p;

	if (peer_accept(&p, opt.listener, timeout_ms))
		return false;
	peer_close(&p);
	return true;
}

/* On a connection that a client has made */
static void answer_client(struct peer *p, const struct attack *a, bool open)
{
	const char *unfit = p->ops ? attack_unfit(p, a) : NULL;
	struct target_memory m = { 0 };

	if (unfit)
		skip(a, unfit);
	else if (open && (opt.sdp ? sdp_answer(p) : peer_answer(p, NULL, 0)))
		result(a, false, "start-up failed", NULL);
	else
		strike(p, a, &m, -2);
	peer_close(p);
}

static void attack_client(const struct attack *a, bool open)
{
	struct peer p;
	pid_t child;
	int status;
	long end;

	child = fork();
	if (!child) {
		execl("/bin/sh", "sh", "-c", opt.client, NULL);
		_exit(127);
	}
	if (peer_accept(&p, opt.listener, peer_patience(opt.timeout_ms))) {
		result(a, false, "the client does not connect", NULL);
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
		return;
	}
	answer_client(&p, a, open);
	/* the client must notice, whatever it was; it may try in another way */
	end = net_ms() + NOTICE_MS;
	while (waitpid(child, &status, WNOHANG) == 0) {
		turned_away(20);
		if (net_ms() < end)
			continue;
		result(a, false, "the client does not notice", NULL);
		kill(child, SIGKILL);
		end += NOTICE_MS;
	}
	while (turned_away(0))
		;
}

static int listen_here(void)
{
	int fd = peer_listen((struct sockaddr *)&opt.sa, sizeof(opt.sa));

	if (fd < 0) {
		perror("hyb-hostile: listen");
		exit(2);
	}
	return fd;
}

/* @open: after a regular start-up */
static void run(const struct attack *list, unsigned int count, bool open)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		if (opt.sdp && list == fpdu_attacks &&
		    !attack_on_wire(&list[i]))
			continue;
		if (opt.only && !strstr(list[i].name, opt.only))
			continue;
		if (opt.client)
			attack_client(&list[i], open);
		else
			attack_listener(&list[i], open);
	}
}

/* The attacks of that name below SDP */
static bool run_below(const char *suite)
{
	if (!strcmp(suite, "start")) {
		run(start_attacks, start_attack_count, false);
	} else if (!strcmp(suite, "ready")) {
		run(ready_attacks, ready_attack_count, false);
	} else if (!strcmp(suite, "refuse")) {
		run(refuse_attacks, refuse_attack_count, false);
	} else if (!strcmp(suite, "rtr")) {
		run(rtr_attacks, rtr_attack_count, false);
	} else if (!strcmp(suite, "fpdu")) {
		run(fpdu_attacks, fpdu_attack_count, true);
	} else if (!strcmp(suite, "ext")) {
		peer_ext = true;
		run(ext_attacks, ext_attack_count, true);
	} else if (!strcmp(suite, "ends")) {
		run(end_attacks, end_attack_count, true);
	} else if (!strcmp(suite, "slow")) {
		run(slow_attacks, slow_attack_count, true);
	} else if (!strcmp(suite, "fence")) {
		run(fence_attacks, fence_attack_count, false);
	} else if (!strcmp(suite, "answer")) {
		peer_ext = true;
		run(answer_attacks, answer_attack_count, true);
	} else if (!strcmp(suite, "reply")) {
		run(reply_attacks, reply_attack_count, false);
	} else {
		return false;
	}
	return true;
}

/* "frozen-" and a kind of connection */
static bool run_frozen(const char *kind)
{
	opt.sdp = true;
	sdp_shared = !strcmp(kind, "shared");
	if (!strcmp(kind, "ring")) {
		sdp_ext = SDP_RING;
		run(frozen_ring_attacks, frozen_ring_attack_count, true);
		return true;
	}
	if (!strcmp(kind, "hold"))
		sdp_ext = SDP_HOLD;
	else if (!sdp_shared)
		return false;
	run(frozen_held_attacks, frozen_held_attack_count, true);
	return true;
}

/* Extensions of a verbs link */
static bool run_verbs(const char *suite)
{
	if (!strcmp(suite, "ring")) {
		opt.sdp = true;
		sdp_ext = SDP_RING;
		run(ring_attacks, ring_attack_count, true);
		sdp_ring_told(false);
		run(untold_attacks, untold_attack_count, true);
	} else if (!strcmp(suite, "immediate")) {
		opt.sdp = true;
		peer_ext = true;
		sdp_ext = SDP_RING | SDP_IMM;
		run(imm_attacks, imm_attack_count, true);
		if (peer_over)
			return true;
		peer_ext = false;
		run(not_below_attacks, not_below_attack_count, true);
	} else if (!strcmp(suite, "hold")) {
		opt.sdp = true;
		sdp_ext = SDP_HOLD;
		run(hold_attacks, hold_attack_count, true);
	} else {
		return false;
	}
	return true;
}

/* Those that take a device */
static bool run_device(const char *suite)
{
	if (!peer_over || strncmp(suite, "verbs", 5))
		return false;
	opt.sdp = true;
	if (opt.client) {
		run(gone_attacks, gone_attack_count, false);
	} else if (!strcmp(suite, "verbs")) {
		run(half_attacks, half_attack_count, false);
		run(request_attacks, request_attack_count, true);
	} else if (!strcmp(suite, "verbs-ring")) {
		sdp_ext = SDP_RING;
		run(ring_key_attacks, ring_key_attack_count, true);
		sdp_ring_told(false);
		run(ring_told_attacks, ring_told_attack_count, true);
	} else if (!strcmp(suite, "verbs-zcopy")) {
		run(zcopy_key_attacks, zcopy_key_attack_count, true);
	} else {
		return false;
	}
	return true;
}

/* The attacks of that name */
static bool run_suite(const char *suite)
{
	if (opt.client)
		opt.listener = listen_here();
	if (run_below(suite))
		return true;
	if (!strcmp(suite, "hello")) {
		opt.sdp = true;
		run(hello_attacks, hello_attack_count, false);
	} else if (!strcmp(suite, "short")) {
		opt.sdp = true;
		run(short_attacks, short_attack_count, false);
	} else if (!strcmp(suite, "credits")) {
		opt.sdp = true;
		run(credit_attacks, credit_attack_count, false);
	} else if (!strcmp(suite, "overrun")) {
		opt.sdp = true;
		run(overrun_attacks, overrun_attack_count, false);
	} else if (!strcmp(suite, "frozen")) {
		opt.sdp = true;
		run(frozen_attacks, frozen_attack_count, false);
	} else if (!strncmp(suite, "frozen-", 7)) {
		return run_frozen(suite + 7);
	} else if (!strcmp(suite, "sdp")) {
		opt.sdp = true;
		run(sdp_attacks, sdp_attack_count, true);
		run(verbs_attacks, verbs_attack_count, true);
	} else if (!strcmp(suite, "talk")) {
		opt.sdp = true;
		run(talk_attacks, talk_attack_count, true);
	} else if (!strcmp(suite, "shared")) {
		opt.sdp = true;
		sdp_shared = true;
		peer_above = true;
		run(sdp_attacks, sdp_attack_count, true);
		run(shared_attacks, shared_attack_count, true);
	} else if (run_verbs(suite) || run_device(suite)) {
		return true;
	} else if (!strcmp(suite, "zcopy")) {
		opt.sdp = true;
		run(zcopy_attacks, zcopy_attack_count, true);
	} else if (!strcmp(suite, "held")) {
		opt.sdp = true;
		run(held_attacks, held_attack_count, true);
	} else if (!strcmp(suite, "wire")) {
		opt.sdp = true;
		sdp_shared = true;
		sdp_silent = true;
		run(fpdu_attacks, fpdu_attack_count, true);
		sdp_silent = false;
		run(bulk_attacks, bulk_attack_count, true);
	} else if (!strcmp(suite, "ack")) {
		opt.sdp = true;
		run(ack_attacks, ack_attack_count, false);
	} else {
		return run_walks(suite);
	}
	return true;
}

int main(int argc, char **argv)
{
	int c;

	opt.sa.sin_family = AF_INET;
	opt.sa.sin_port = htons(7900);
	opt.seed = time(NULL);
	while ((c = getopt(argc, argv, "h:i:n:p:r:s:x:o:t:vw")) != -1) {
		if (c == 'h' && inet_pton(AF_INET, optarg, &opt.sa.sin_addr))
			continue;
		if (c == 'p')
			opt.sa.sin_port = htons(atoi(optarg));
		else if (c == 'i')
			peer_interval = atoi(optarg);
		else if (c == 'n')
			opt.count = atoi(optarg);
		else if (c == 'r')
			opt.seed = strtoul(optarg, NULL, 0);
		else if (c == 'w')
			peer_isn = 0xffffff00;
		else if (c == 'v')
			peer_over = &peer_verbs;
		else if (c == 's')
			opt.stats = optarg;
		else if (c == 'x')
			opt.client = optarg;
		else if (c == 'o')
			opt.only = optarg;
		else if (c == 't')
			opt.timeout_ms = atoi(optarg) * 1000;
		else
			return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	printf("TAP version 13\n");
	if (!run_suite(optind < argc ? argv[optind] : ""))
		return 2;
	printf("1..%u\n", opt.number);
	return opt.failed ? 1 : 0;
}
