// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Filter streams, plan: one statement a line. A mistake ends the program with
 * the file, the line and a sentence.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs_plan.h"

/**
 * fs_die() - end the program with a sentence
 * @status: exit status
 * @fmt: as of printf()
 */
void fs_die(int status, const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("fs-node: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(status);
}

static void bad(const struct fs_plan *p, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 2, 3)));

static void bad(const struct fs_plan *p, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fs_die(FS_INPUT, "%s:%u: %s", p->file, p->line, text);
}

/**
 * fs_arg_text() - value of an argument
 * @args: "name=value name=value"
 * @name: which one
 * @buf: where the value goes
 * @size: bytes of @buf; a longer value counts as absent
 *
 * Return: @buf, or NULL if there is no such argument.
 */
const char *fs_arg_text(const char *args, const char *name, char *buf,
			size_t size)
{
	size_t len = strlen(name), n;

	for (const char *s = args; *s; s += n) {
		s += strspn(s, " ");
		n = strcspn(s, " ");
		if (n > len && !strncmp(s, name, len) && s[len] == '=') {
			n -= len + 1;
			if (n >= size)
				return NULL;
			memcpy(buf, s + len + 1, n);
			buf[n] = '\0';
			return buf;
		}
	}
	return NULL;
}

/**
 * fs_arg() - number of an argument
 * @args: "name=value name=value"
 * @name: which one
 * @dflt: value if it is absent or no number
 *
 * Return: the value; K and M after it stand for 1024 and its square.
 */
long fs_arg(const char *args, const char *name, long dflt)
{
	char buf[32], *end;
	long val;

	if (!fs_arg_text(args, name, buf, sizeof(buf)))
		return dflt;
	errno = 0;
	val = strtol(buf, &end, 10);
	if (errno || end == buf)
		return dflt;
	if (*end == 'K' && labs(val) < LONG_MAX >> 10)
		val *= 1L << 10, end++;
	else if (*end == 'M' && labs(val) < LONG_MAX >> 20)
		val *= 1L << 20, end++;
	return *end ? dflt : val;
}

/* A number of the plan itself has to be one, and within its bounds. */
static unsigned int number(const struct fs_plan *p, const char *args,
			   const char *name, unsigned int dflt, long min,
			   long max)
{
	char buf[FS_ARGS];
	long val;

	if (!fs_arg_text(args, name, buf, sizeof(buf)))
		return dflt;
	val = fs_arg(args, name, LONG_MIN);
	if (val < min || val > max)
		bad(p, "%s=%s: a number from %ld to %ld belongs here", name,
		    buf, min, max);
	return val;
}

static char *word(struct fs_plan *p, char **rest, const char *what)
{
	char *s = strsep(rest, " ");

	if (!s || !*s)
		bad(p, "%s is missing", what);
	return s;
}

static void copy_name(const struct fs_plan *p, char *to, const char *name)
{
	if (strlen(name) >= FS_NAME || strpbrk(name, "\"\\="))
		bad(p, "%s: no good name, at most %d letters", name,
		    FS_NAME - 1);
	strcpy(to, name);
}

static void only_args(const struct fs_plan *p, const char *args,
		      const char *known)
{
	char name[FS_NAME + 2];
	size_t n, eq;

	for (const char *s = args; *s; s += n) {
		s += strspn(s, " ");
		n = strcspn(s, " ");
		if (!n)
			break;
		eq = strcspn(s, "=");
		if (eq >= n || eq > FS_NAME - 2)
			bad(p, "%.*s: NAME=VALUE belongs here", (int)n, s);
		snprintf(name, sizeof(name), " %.*s ", (int)eq, s);
		if (known && !strstr(known, name))
			bad(p, "%.*s is unknown here; known:%s", (int)eq, s,
			    known);
	}
}

static const char *args_of(char *rest)
{
	return rest ? rest : "";
}

/**
 * fs_plan_node() - find a node by its name
 * @p: plan
 * @name: name
 *
 * Return: its index, or -1.
 */
int fs_plan_node(const struct fs_plan *p, const char *name)
{
	for (unsigned int i = 0; i < p->nodes; i++) {
		if (!strcmp(p->node[i].name, name))
			return i;
	}
	return -1;
}

static int find_filter(const struct fs_plan *p, const char *name)
{
	for (unsigned int i = 0; i < p->filters; i++) {
		if (!strcmp(p->filter[i].name, name))
			return i;
	}
	return -1;
}

static const struct fs_filter *find_kind(const char *name)
{
	const struct fs_filter *tables[] = { fs_synth, fs_scope, fs_iso };

	for (unsigned int i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		for (const struct fs_filter *k = tables[i]; k->name; k++) {
			if (!strcmp(k->name, name))
				return k;
		}
	}
	return NULL;
}

static void read_node(struct fs_plan *p, char *rest)
{
	const char *name = word(p, &rest, "the node's name");
	const char *address = word(p, &rest, "the node's address");
	struct fs_plan_node *n = &p->node[p->nodes];

	if (p->nodes == FS_NODES)
		bad(p, "more than %d nodes", FS_NODES);
	if (fs_plan_node(p, name) >= 0)
		bad(p, "there is a node %s already", name);
	if (strlen(address) >= sizeof(n->address))
		bad(p, "%s: no address", address);
	copy_name(p, n->name, name);
	strcpy(n->address, address);
	only_args(p, args_of(rest), " slow ");
	n->slow = number(p, args_of(rest), "slow", 1, 1, 1000);
	p->nodes++;
}

static void read_filter(struct fs_plan *p, char *rest)
{
	struct fs_plan_filter *f = &p->filter[p->filters];
	const char *name = word(p, &rest, "the filter's name");
	const char *kind = word(p, &rest, "the kind of filter");

	if (p->filters == FS_FILTERS)
		bad(p, "more than %d filters", FS_FILTERS);
	if (find_filter(p, name) >= 0)
		bad(p, "there is a filter %s already", name);
	copy_name(p, f->name, name);
	f->kind = find_kind(kind);
	if (!f->kind)
		bad(p, "there is no kind of filter %s; fs-node -l lists them",
		    kind);
	if (strcmp(word(p, &rest, "\"on NODE...\""), "on"))
		bad(p, "\"on NODE...\" belongs after the kind of filter");
	while (rest && !memchr(rest, '=', strcspn(rest, " "))) {
		const char *s = strsep(&rest, " ");
		int node = fs_plan_node(p, s);

		if (node < 0)
			bad(p, "there is no node %s above", s);
		if (f->copies == FS_COPIES)
			bad(p, "more than %d copies", FS_COPIES);
		f->node[f->copies++] = node;
	}
	if (!f->copies)
		bad(p, "filter %s is on no node", name);
	only_args(p, args_of(rest), NULL);
	snprintf(f->args, sizeof(f->args), "%s", args_of(rest));
	p->filters++;
}

static bool leads(const struct fs_plan *p, unsigned int from, unsigned int to)
{
	if (from == to)
		return true;
	for (unsigned int i = 0; i < p->streams; i++) {
		if (p->stream[i].from == from && leads(p, p->stream[i].to, to))
			return true;
	}
	return false;
}

static unsigned int filter_word(struct fs_plan *p, char **rest)
{
	const char *name = word(p, rest, "the name of a filter");
	int i = find_filter(p, name);

	if (i < 0)
		bad(p, "there is no filter %s above", name);
	return i;
}

static void read_stream(struct fs_plan *p, char *rest)
{
	struct fs_plan_stream *s = &p->stream[p->streams];
	const char *args;
	char policy[8];

	if (p->streams == FS_STREAMS)
		bad(p, "more than %d streams", FS_STREAMS);
	s->from = filter_word(p, &rest);
	if (strcmp(word(p, &rest, "\"->\""), "->"))
		bad(p, "\"stream A -> B\" belongs here");
	s->to = filter_word(p, &rest);
	if (leads(p, s->to, s->from))
		bad(p, "stream %s -> %s closes a cycle",
		    p->filter[s->from].name, p->filter[s->to].name);
	args = args_of(rest);
	only_args(p, args, " block policy window ");
	s->block = number(p, args, "block", 8192, 64, FS_BLOCK_MAX);
	s->window = number(p, args, "window", 4, 1, 1024);
	if (!fs_arg_text(args, "policy", policy, sizeof(policy)))
		strcpy(policy, strstr(args, "policy=") ? "" : "rr");
	if (strcmp(policy, "rr") && strcmp(policy, "dd"))
		bad(p, "policy is rr or dd");
	s->policy = policy[0] == 'd' ? FS_DD : FS_RR;
	p->streams++;
}

static void read_compute(struct fs_plan *p, char *rest)
{
	char ns[32];
	const char *how;

	snprintf(ns, sizeof(ns), "ns=%s", word(p, &rest, "nanoseconds a byte"));
	p->compute = number(p, ns, "ns", 0, 0, 1000000);
	how = word(p, &rest, "\"sleep\" or \"spin\"");
	if (strcmp(how, "sleep") && strcmp(how, "spin"))
		bad(p, "%s: \"sleep\" or \"spin\" belongs here", how);
	p->spin = !strcmp(how, "spin");
}

static void read_transport(struct fs_plan *p, char *rest)
{
	static const char known[] = " tcp plain sdp rsocket verbs ";
	const char *name = word(p, &rest, "the transport");
	char padded[20];

	snprintf(padded, sizeof(padded), " %s ", name);
	if (!strstr(known, padded))
		bad(p, "there is no transport %s; known:%s", name, known);
	snprintf(p->transport, sizeof(p->transport), "%s", name);
}

static void read_impose(struct fs_plan *p, char *rest)
{
	(void)rest;
	bad(p, "fs-run turns this statement into those of the curve");
}

/* "curve BYTES O_S O_R WIRE", in microseconds, by ascending sizes */
static void read_curve(struct fs_plan *p, char *rest)
{
	struct fs_plan_curve *c = &p->curve[p->curves];
	int end = 0;

	if (p->curves == FS_CURVE)
		bad(p, "more than %d sizes of the curve", FS_CURVE);
	if (sscanf(args_of(rest), "%u %lf %lf %lf%n", &c->bytes, &c->o_s,
		   &c->o_r, &c->wire, &end) != 4 ||
	    rest[end] || !(c->o_s >= 0 && c->o_r >= 0 && c->wire >= 0))
		bad(p, "\"curve BYTES O_S O_R WIRE\" belongs here");
	if (p->curves && c->bytes <= c[-1].bytes)
		bad(p, "the sizes of a curve ascend");
	p->curves++;
}

/* It appears in results, as a string of JSON */
static void check_text(const struct fs_plan *p, const char *s)
{
	for (; *s; s++) {
		if ((unsigned char)*s < ' ' || strchr("\"\\\x7f", *s))
			bad(p,
			    "a unit of work has neither quotes nor backslashes nor control characters");
	}
}

static void read_uow(struct fs_plan *p, char *rest)
{
	const char *args = args_of(rest);
	unsigned int repeat = number(p, args, "repeat", 1, 1, 100000);
	unsigned int at = number(p, args, "at", 0, 0, INT_MAX);
	unsigned int every = number(p, args, "every", 0, 0, INT_MAX);

	if (!*args || strlen(args) >= FS_UOW_TEXT)
		bad(p, "a unit of work has a kind and at most %d letters",
		    FS_UOW_TEXT - 1);
	check_text(p, args);
	p->uow = realloc(p->uow, (p->uows + repeat) * sizeof(*p->uow));
	if (!p->uow)
		fs_die(FS_INPUT, "no memory for %u units of work", repeat);
	for (unsigned int i = 0; i < repeat; i++) {
		struct fs_plan_uow *u = &p->uow[p->uows];

		u->at = at + (uint64_t)i * every;
		u->uow.n = p->uows++;
		strcpy(u->uow.text, args);
	}
}

static void read_client(struct fs_plan *p, char *rest)
{
	const char *name = word(p, &rest, "the node of the client");
	int i = fs_plan_node(p, name);

	if (i < 0)
		bad(p, "there is no node %s above", name);
	p->client = i;
}

static void read_param(struct fs_plan *p, char *rest)
{
	size_t len = strlen(p->args);

	only_args(p, args_of(rest), NULL);
	if (len + strlen(args_of(rest)) + 2 > sizeof(p->args))
		bad(p, "more than %d letters of parameters", FS_ARGS - 1);
	snprintf(p->args + len, sizeof(p->args) - len, " %s", args_of(rest));
}

static void read_set(struct fs_plan *p, char *rest)
{
	only_args(p, args_of(rest), " depth dilate port start ");
	p->dilate = number(p, args_of(rest), "dilate", p->dilate, 1, 1000);
	p->depth = number(p, args_of(rest), "depth", p->depth, 1, 64);
	p->port =
		number(p, args_of(rest), "port", p->port, 1, 65535 - FS_NODES);
	p->start = number(p, args_of(rest), "start", p->start, 1, 600);
}

static void statement(struct fs_plan *p, char *line)
{
	static const struct {
		const char *name;
		void (*read)(struct fs_plan *p, char *rest);
	} known[] = {
		{ "node", read_node },
		{ "filter", read_filter },
		{ "stream", read_stream },
		{ "compute", read_compute },
		{ "transport", read_transport },
		{ "impose", read_impose },
		{ "uow", read_uow },
		{ "client", read_client },
		{ "param", read_param },
		{ "set", read_set },
		{ "curve", read_curve },
	};
	char *rest = line;
	const char *name = strsep(&rest, " ");

	if (!*name)
		return;
	for (unsigned int i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (!strcmp(known[i].name, name)) {
			known[i].read(p, rest);
			return;
		}
	}
	bad(p, "%s: no statement of plans", name);
}

/* One space between words, none at the ends, nothing from "#" on. */
static void tidy(char *line)
{
	char *to = line;

	line[strcspn(line, "#\r\n")] = '\0';
	for (char *s = line; *s; s++) {
		char c = *s == '\t' ? ' ' : *s;

		if (c != ' ' || (to > line && to[-1] != ' '))
			*to++ = c;
	}
	if (to > line && to[-1] == ' ')
		to--;
	*to = '\0';
}

static void check(struct fs_plan *p)
{
	if (!p->filters)
		bad(p, "the plan has no filter");
	if (!p->uows)
		bad(p, "the plan has no unit of work: \"uow KIND\"");
}

/**
 * fs_plan_read() - read a plan
 * @file: its name
 *
 * Return: the plan. Does not return if there is a mistake in it.
 */
struct fs_plan *fs_plan_read(const char *file)
{
	struct fs_plan *p = calloc(1, sizeof(*p));
	FILE *in = fopen(file, "r");
	char line[1024];

	if (!in || !p)
		fs_die(FS_INPUT, "%s: %s", file, strerror(errno));
	p->file = file;
	p->depth = 2;
	p->port = 7700;
	p->start = 20;
	p->dilate = 1;
	p->client = UINT_MAX;
	p->hash = (uint32_t)FS_HASH;
	strcpy(p->transport, "tcp");
	while (fgets(line, sizeof(line), in)) {
		p->line++;
		if (!strchr(line, '\n') && !feof(in))
			bad(p, "the line is too long");
		tidy(line);
		p->hash = fs_hash(p->hash, line, strlen(line));
		statement(p, line);
	}
	if (ferror(in))
		fs_die(FS_INPUT, "%s: %s", file, strerror(errno));
	fclose(in);
	check(p);
	/* the node that gets the result asks for it */
	if (p->client == UINT_MAX)
		p->client = p->filter[p->filters - 1].node[0];
	return p;
}

/**
 * fs_plan_free() - release a plan
 * @p: plan
 */
void fs_plan_free(struct fs_plan *p)
{
	free(p->uow);
	free(p);
}
