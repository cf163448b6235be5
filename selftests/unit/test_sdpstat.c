// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* sdpstat: names that hold anything, counters that fall, filters, the table. */
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../tools/sdpstat/sdpstat.h"
#include "unit.h"

static char *text;

static struct json begin(void)
{
	static size_t len;
	struct json j;

	json_start(&j, open_memstream(&text, &len));
	return j;
}

static void is(struct json *j, const char *what)
{
	json_end(j);
	fclose(j->f);
	if (!CHECK(!strcmp(text, what)))
		printf("# got %s# not %s", text, what);
	free(text);
}

static void name_is(const char *name, const char *what)
{
	struct json j = begin();
	char want[64];

	json_str(&j, "n", name);
	snprintf(want, sizeof(want), "{\"n\":\"%s\"}\n", what);
	is(&j, want);
}

static void test_names(void)
{
	name_is("plain", "plain");
	name_is("\"\\\n\x7f", "\\\"\\\\\\u000a\\u007f");
	name_is("gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f");
	name_is("\xe2\x82\xac\xf0\x9f\x98\x80", "\xe2\x82\xac\xf0\x9f\x98\x80");
}

static void test_broken_names(void)
{
	name_is("cut\xc3", "cut\\ufffd");
	name_is("\xe2\x82", "\\ufffd\\ufffd");
	name_is("a\xffz", "a\\ufffdz");
	name_is("\xc0\x80", "\\ufffd\\ufffd"); /* longer than need be */
	name_is("\xe0\x9f\xbf", "\\ufffd\\ufffd\\ufffd");
	name_is("\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd"); /* a surrogate */
	name_is("\xf4\x90\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd");
	name_is("\xc3(", "\\ufffd(");
}

static void test_change(void)
{
	static const uint64_t old[SDP_MIB_PAD + 4] = {
		[SDP_MIB_PAD + 1] = 5,
		[SDP_MIB_PAD + 2] = 5,
		[SDP_MIB_PAD + 3] = 5,
	};
	static const uint64_t now[SDP_MIB_PAD + 4] = {
		[SDP_MIB_PAD + 1] = 7,
		[SDP_MIB_PAD + 2] = 2,
		[SDP_MIB_PAD + 3] = 5,
	};
	char name[3][32], want[300];
	char *patterns[2] = {};
	const struct options o = { .patterns = patterns };
	struct json j = begin();
	int n;

	for (int i = 0; i < 3; i++)
		snprintf(name[i], sizeof(name[i]), "%s",
			 counter_name(SDP_MIB_PAD + 1 + i, want, sizeof(want)));
	counters_json(&j, now, old, SDP_MIB_PAD + 4, &o);
	n = snprintf(want, sizeof(want),
		     "{\"counters\":{\"%s\":7,\"%s\":2,\"%s\":5},", name[0],
		     name[1], name[2]);
	snprintf(want + n, sizeof(want) - n,
		 "\"change\":{\"%s\":2,\"%s\":-3,\"%s\":0}}\n", name[0],
		 name[1], name[2]);
	is(&j, want);

	patterns[0] = name[1];
	j = begin();
	counters_json(&j, now, old, SDP_MIB_PAD + 4, &o);
	snprintf(want, sizeof(want),
		 "{\"counters\":{\"%s\":2},\"change\":{\"%s\":-3}}\n", name[1],
		 name[1]);
	is(&j, want);
}

struct captured {
	int file;
	int saved;
};

/* The file gets what is printed from now on */
static struct captured capture_begin(void)
{
	struct captured c = { .file = memfd_create("table", 0) };

	fflush(stdout);
	c.saved = dup(STDOUT_FILENO);
	dup2(c.file, STDOUT_FILENO);
	return c;
}

/* @out gets what is in the file, with a zero after it */
static void capture_end(const struct captured *c, char *out, size_t room)
{
	ssize_t n;

	fflush(stdout);
	dup2(c->saved, STDOUT_FILENO);
	n = pread(c->file, out, room - 1, 0);
	out[n > 0 ? n : 0] = '\0';
	close(c->saved);
	close(c->file);
}

/* The table */
static void capture(const struct sock_list *list, const struct sock_list *old,
		    const struct options *o, char *out, size_t room)
{
	struct captured c = capture_begin();

	sockets_print(list, old, 1, o);
	capture_end(&c, out, room);
}

/* with this socket in it */
static void table_of(uint32_t inode, char *out, size_t room)
{
	struct sock_info s = { .family = AF_INET, .inode = inode };
	const struct sock_list list = { .v = &s, .n = 1 };
	const struct options o = { .processes = true };

	processes_scan(false);
	capture(&list, NULL, &o, out, room);
}

static void test_process_names(void)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	char was[17] = "", out[1000];
	struct stat st;

	prctl(PR_GET_NAME, was);
	prctl(PR_SET_NAME, "a\033[J\",\xc2\x9b\xff\xc3\xbc");
	fstat(fd, &st);
	table_of(st.st_ino, out, sizeof(out));
	prctl(PR_SET_NAME, was);
	if (!CHECK(strstr(out, " users:((\"a?[J?,??\xc3\xbc\",pid=")))
		printf("# got %s", out);
	close(fd);
}

/* Whether the words, with spaces between them, fit a socket */
static bool fits(const char *words, const struct sock_info *s)
{
	struct options o = { .states = STATES_DEFAULT };
	char text[200], *argv[20], *save, *w;
	int argc = 0;
	bool fit;

	snprintf(text, sizeof(text), "%s", words);
	for (w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	filter_parse(&o, argc, argv);
	fit = filter_fits(o.filter, s) && (o.states & 1u << s->state);
	filter_free(o.filter);
	return fit;
}

static const struct sock_info filtered = {
	.family = AF_INET,
	.state = STATE_ESTABLISHED,
	.src = { 10, 0, 0, 1 },
	.dst = { 10, 0, 1, 2 },
	.sport = 40000,
	.dport = 6379,
	.device = "hyb_eth0",
	.mark = 0x1f,
};

/* Filters that this socket fits, and that it does not */
static const char *const fitting[] = {
	"",
	"state established",
	"state all",
	"state listening state established",
	"exclude listening",
	"state big",
	"dport = :6379",
	"dport 6379",
	"dport = 6379 sport = :40000",
	"dport=:6379",
	"( dport = :1 or dport = :6379 )",
	"(dport=:1|dport=:6379)",
	"not dport = :1",
	"! ( dport = :1 )",
	"dport != :1",
	"sport > :1024 and sport lt 50000",
	"dst 10.0.1.0/24",
	"dst 10.0.1.2:6379",
	"dst = 10.0.1.2",
	"dst *:6379",
	"src != 10.0.0.2",
	"device hyb_eth0",
	"dev = hyb_eth0",
	"fwmark = 0x1f",
	"fwmark 31",
	"fwmark = 0x10/0xf0",
	"fwmark != 0x1e",
	"state connected dport = :1 or src 10.0.0.1",
};

static const struct sock_info filtered6 = {
	.family = AF_INET6,
	.state = STATE_ESTABLISHED,
	.dst = { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 },
	.dport = 6379,
};

static const char *const fitting6[] = {
	"dst [2001:db8::1]:6379",   "dst [2001:db8::]/32:6379",
	"dst [2001:db8::/32]:6379", "dst [2001:db8::]/32",
	"dst [2001:db8::]/32:*",    "dst [2001:db8::1]",
	"dst 2001:db8::/32",	    "dst [::]/0:6379",
};

static const char *const others6[] = {
	"dst [2001:db8::1]:80",	     "dst [2001:db8::]/32:80",
	"dst [2001:db8::]/128:6379", "dst [2001:db9::]/32:6379",
	"dst [2001:db8::/64]:80",
};

static const char *const others[] = {
	"state listening",
	"exclude established",
	"state bucket",
	"dport = :6380",
	"dport = :6379 sport = :1",
	"not ( dport = :6379 or sport = :1 )",
	"dst 10.0.2.0/24",
	"dst 10.0.1.2:1",
	"dst 2001:db8::1",
	"src [::1]:40000",
	"device != hyb_eth0",
	"fwmark = 0xf",
	"fwmark = 0x1f/0xf",
	"not fwmark = 0xf/0x0f",
	"dport = :6379 and ( sport = :1 or sport = :2 )",
};

static void test_filters(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(fitting); i++)
		if (!CHECK(fits(fitting[i], &filtered)))
			printf("# \"%s\" does not fit\n", fitting[i]);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (!CHECK(!fits(others[i], &filtered)))
			printf("# \"%s\" fits\n", others[i]);
	for (size_t i = 0; i < ARRAY_SIZE(fitting6); i++)
		if (!CHECK(fits(fitting6[i], &filtered6)))
			printf("# \"%s\" does not fit\n", fitting6[i]);
	for (size_t i = 0; i < ARRAY_SIZE(others6); i++)
		if (!CHECK(!fits(others6[i], &filtered6)))
			printf("# \"%s\" fits\n", others6[i]);
}

/* As many columns as a terminal has at least */
static void test_width(void)
{
	struct sock_info s = {
		.family = AF_INET,
		.state = STATE_ESTABLISHED,
		.src = { 192, 168, 100, 100 },
		.dst = { 192, 168, 100, 101 },
		.sport = 40000,
		.dport = 6379,
		.device = "hyb0",
		.flow_control = "transport",
		.has_conn = true,
	};
	const struct sock_list list = { .v = &s, .n = 1 };
	const struct options o = { 0 };
	char out[1000];

	capture(&list, NULL, &o, out, sizeof(out));
	for (char *line = strtok(out, "\n"); line; line = strtok(NULL, "\n"))
		if (!CHECK(strlen(line) <= 80))
			printf("# %zu: %s\n", strlen(line), line);
}

/* On a terminal only, and as many ends as beginnings */
static void test_colours(void)
{
	struct sock_info now[] = {
		{ .family = AF_INET, .cookie = 1, .device = "hyb0" },
		{ .family = AF_INET, .cookie = 2, .tcp_reason = "refused" },
		{ .family = AF_INET, .cookie = 3, .device = "hyb1" },
	};
	struct sock_info before[] = { { .cookie = 1 }, { .cookie = 3 } };
	const struct sock_list list = { .v = now, .n = ARRAY_SIZE(now) };
	const struct sock_list old = { .v = before, .n = ARRAY_SIZE(before) };
	struct options o = { .colours = true };
	char out[1000];

	now[0].stats[SDP_DIAG_STATS_TX_BYTES] = 5000;
	capture(&list, &old, &o, out, sizeof(out));
	CHECK(!strncmp(out, "\033[1mState", 9));
	CHECK(strstr(out, "Recv/s\033[0m\n\033[32m"));
	CHECK(strstr(out, "\033[0m\n\033[33m"));
	CHECK(strstr(out, "\033[0m\nUNKNOWN"));
	CHECK(!strcmp(out + strlen(out) - 5, "\033[0m\n"));
	o.colours = false;
	capture(&list, &old, &o, out, sizeof(out));
	CHECK(!strchr(out, '\033'));
}

/* Lines that a terminal of 80 columns shows of it, without colours and tabs */
static unsigned int terminal_lines(char *out)
{
	unsigned int lines = 0;

	for (char *line = strtok(out, "\n"); line; line = strtok(NULL, "\n"))
		lines += (strlen(line) + 79) / 80;
	return lines;
}

/* Rows with rates are wider than the terminal: the headings stay, and the busiest first */
static void test_screen(void)
{
	struct sock_info now[40];
	const struct sock_list list = { .v = now, .n = ARRAY_SIZE(now) };
	const struct sock_list old = { 0 };
	struct options o = { .watch = true, .lines = 23, .line_columns = 80 };
	char out[10000];

	for (size_t i = 0; i < ARRAY_SIZE(now); i++) {
		now[i] = (struct sock_info){
			.family = AF_INET,
			.state = STATE_ESTABLISHED,
			.src = { 192, 168, 100, 100 },
			.dst = { 192, 168, 100, 101 },
			.sport = 40000 + i,
			.dport = 50000 + i,
			.device = "hyb_eth0",
			.flow_control = "transport",
		};
		now[i].stats[SDP_DIAG_STATS_TX_BYTES] = 1000 * i;
	}
	capture(&list, &old, &o, out, sizeof(out));
	CHECK(!strncmp(out, "State", 5));
	CHECK(strstr(out, ":40039 ") && !strstr(out, ":40000 "));
	CHECK(terminal_lines(out) == 22);
	/* now each row takes one line */
	o.line_columns = 160;
	capture(&list, &old, &o, out, sizeof(out));
	CHECK(strstr(out, ":40018 ") && !strstr(out, ":40017 "));
	o.lines = 1;
	capture(&list, &old, &o, out, sizeof(out));
	CHECK(strstr(out, ":40039 ") && !strstr(out, ":40038 "));
	o.lines = 0;
	capture(&list, &old, &o, out, sizeof(out));
	CHECK(strstr(out, ":40000 "));
}

/* That of an address has as many letters as there may be */
int getnameinfo(const struct sockaddr *sa, socklen_t len, char *host,
		socklen_t hostlen, char *serv, socklen_t servlen, int flags)
{
	(void)sa;
	(void)len;
	(void)serv;
	(void)servlen;
	(void)flags;
	memset(host, 'n', hostlen - 1);
	host[hostlen - 1] = '\0';
	return 0;
}

static void test_long_name(void)
{
	struct sock_info s = { .family = AF_INET, .dst = { 1 }, .dport = 80 };
	const struct sock_list list = { .v = &s, .n = 1 };
	const struct options o = { .resolve = true };
	char out[1000];

	capture(&list, NULL, &o, out, sizeof(out));
	if (!CHECK(strstr(out, "nnnnnnnn:80 ")))
		printf("# got %s", out);
}

/* Of an event, too, if names are asked for; a wildcard has none */
static void test_event_name(void)
{
	const struct sock_info s = { .family = AF_INET,
				     .dst = { 1 },
				     .dport = 80 };
	struct options o = { .json = true, .resolve = true };
	struct captured c = capture_begin();
	char out[1000];

	event_print(&s, 0, &o);
	capture_end(&c, out, sizeof(out));
	if (!CHECK(strstr(out,
			  "\"peer\":{\"address\":\"1.0.0.0\",\"port\":80,\"name\":\"nnnnnnnn") &&
		   strstr(out,
			  "\"local\":{\"address\":\"0.0.0.0\",\"port\":0}")))
		printf("# got %s", out);
	o.resolve = false;
	c = capture_begin();
	event_print(&s, 0, &o);
	capture_end(&c, out, sizeof(out));
	CHECK(strstr(out, "\"peer\"") && !strstr(out, "\"name\""));
}

/* The rates of sockets that the kernel lists in another order than before */
static void test_rates(void)
{
	struct sock_info now[] = {
		{ .family = AF_INET, .cookie = 1, .sport = 1 },
		{ .family = AF_INET, .cookie = 2, .sport = 2 },
		{ .family = AF_INET, .cookie = 3, .sport = 3 },
		{ .family = AF_INET, .cookie = 4, .sport = 4 },
	};
	struct sock_info before[] = { { .cookie = 3 },
				      { .cookie = 1 },
				      { .cookie = 4 } };
	const struct sock_list list = { .v = now, .n = ARRAY_SIZE(now) };
	struct sock_list old = { .v = before, .n = ARRAY_SIZE(before) };
	const struct options o = { 0 };
	char out[1000];

	for (int i = 0; i < 4; i++)
		now[i].stats[SDP_DIAG_STATS_TX_BYTES] = 5000 + i;
	before[0].stats[SDP_DIAG_STATS_TX_BYTES] = 4000;
	before[1].stats[SDP_DIAG_STATS_TX_BYTES] = 2000;
	/* its counter has begun again, as TCP has taken over since then */
	before[2].stats[SDP_DIAG_STATS_TX_BYTES] = 9000;
	sockets_keep(&old);
	capture(&list, &old, &o, out, sizeof(out));
	if (!CHECK(strstr(out, " 3000  ") && strstr(out, " 5001  ") &&
		   strstr(out, " 1002  ") && strstr(out, " 5003  ")))
		printf("# got %s", out);
}

static unsigned int sentences(const uint64_t *v)
{
	struct json j = begin();
	unsigned int n;

	json_open(&j, "advice", '[');
	n = advise(&j, v);
	json_close(&j, ']');
	json_end(&j);
	fclose(j.f);
	free(text);
	return n;
}

static void test_advice(void)
{
	uint64_t v[COUNTERS_MAX] = { 0 };

	CHECK(sentences(v) == 0);
	v[SDP_MIB_TX_DATA_MSGS] = 1000;
	v[SDP_MIB_TX_BYTES] = 1 << 20;
	v[SDP_MIB_TX_NO_CREDIT] = 99;
	CHECK(sentences(v) == 0);
	v[SDP_MIB_TX_NO_CREDIT] = 100;
	CHECK(sentences(v) == 1);
	v[SDP_MIB_TCP_LISTENS] = 1;
	CHECK(sentences(v) == 2);
}

static const struct unit_test tests[] = {
	{ "names", test_names },
	{ "filters", test_filters },
	{ "width of the table", test_width },
	{ "colours", test_colours },
	{ "a terminal with less room than sockets", test_screen },
	{ "names that are too long", test_long_name },
	{ "names in an event, as JSON", test_event_name },
	{ "rates: another order, a counter that begins again", test_rates },
	{ "advice", test_advice },
	{ "names that are no text", test_broken_names },
	{ "counters that rise and fall", test_change },
	{ "names of processes in a table", test_process_names },
};

int main(void)
{
	return unit_main("sdpstat", tests, ARRAY_LEN(tests));
}
