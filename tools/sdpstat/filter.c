// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpstat: which sockets to show, in the words of ss(8):
 *
 *   [state STATE]... [exclude STATE]... [EXPRESSION]
 *   EXPRESSION: src|dst [OP] ADDRESS[/PREFIX][:PORT], sport|dport [OP] [:]PORT,
 *               device|dev [OP] NAME, cgroup [OP] PATH, fwmark [OP] MARK[/MASK]; with and, or,
 *               not and parentheses
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "sdpstat.h"

enum op { OP_EQ, OP_NE, OP_LT, OP_GT, OP_LE, OP_GE };

enum kind { AND, OR, NOT, ADDRESS, PORT, DEVICE, CGROUP, MARK };

#define NO_TEST \
	"no command (advise, check, stack) and no test of a filter (src, dst, sport, dport, device, cgroup, fwmark)"
#define NO_STATE \
	"no state: established, listening, connected, all and those of ss are"

struct filter {
	enum kind kind;
	struct filter *left;
	struct filter *right;

	bool peer; /* of ADDRESS and PORT: dst, dport */
	enum op op;
	int family; /* 0: any address */
	uint8_t addr[16];
	unsigned int prefix;
	bool has_port;
	uint16_t port;
	char *name;
	uint64_t cgroup;
	uint32_t mark;
	uint32_t mask;
};

/* Words that are left; the first begins after what has been taken of it */
struct words {
	char **word;
	int n;
	char text[256]; /* the present token; empty: the end */
};

static void next(struct words *w)
{
	static const char special[] = "()!&|=<>";
	const char *s;
	size_t len;

	w->text[0] = '\0';
	while (w->n && !*(s = *w->word + strspn(*w->word, " \t"))) {
		w->word++;
		w->n--;
	}
	if (!w->n)
		return;
	if (strchr("()", *s))
		len = 1;
	else if (strchr(special, *s))
		len = strspn(s, special + 2);
	else
		len = strcspn(s, " \t()!&|=<>");
	if (len >= sizeof(w->text))
		bad_use(s, "too long for a word of a filter");
	memcpy(w->text, s, len);
	w->text[len] = '\0';
	*w->word = (char *)s + len;
}

void filter_free(struct filter *f)
{
	if (!f)
		return;
	filter_free(f->left);
	filter_free(f->right);
	free(f->name);
	free(f);
}

static bool take(struct words *w, const char *a, const char *b, const char *c)
{
	if (strcmp(w->text, a) && (!b || strcmp(w->text, b)) &&
	    (!c || strcmp(w->text, c)))
		return false;
	next(w);
	return true;
}

static struct filter *new_filter(enum kind kind)
{
	struct filter *f = xrealloc(NULL, 1, sizeof(*f));

	memset(f, 0, sizeof(*f));
	f->kind = kind;
	return f;
}

static struct filter *join(enum kind kind, struct filter *left,
			   struct filter *right)
{
	struct filter *f = new_filter(kind);

	f->left = left;
	f->right = right;
	return f;
}

static enum op parse_op(struct words *w)
{
	enum op op = OP_EQ;

	if (take(w, "!=", "ne", "neq"))
		return OP_NE;
	if (take(w, "<", "lt", NULL))
		return OP_LT;
	if (take(w, ">", "gt", NULL))
		return OP_GT;
	if (take(w, "<=", "le", "leq"))
		return OP_LE;
	if (take(w, ">=", "ge", "geq"))
		return OP_GE;
	/* it may be left out */
	take(w, "=", "==", "eq");
	return op;
}

static uint16_t parse_port(const char *s)
{
	struct servent *service;
	char *end;
	unsigned long v = strtoul(s, &end, 10);

	if (*s >= '0' && *s <= '9' && !*end && v <= 65535)
		return v;
	service = getservbyname(s, "tcp");
	if (!service)
		bad_use(s, "no port and no name of a service");
	return ntohs(service->s_port);
}

static unsigned int parse_prefix(const char *s, unsigned int bits)
{
	char *end;
	unsigned long v = strtoul(s, &end, 10);

	if (*s < '0' || *s > '9' || *end || v > bits)
		bad_use(s, "no length of a prefix");
	return v;
}

/* ADDRESS[/PREFIX][:PORT]; an address of IPv6 with a port stands in brackets */
static void parse_address(struct filter *f, char *s)
{
	char *colon = strrchr(s, ':'), *slash, *end;
	unsigned int bits;

	if (*s == '[') {
		end = strchr(s, ']');
		if (!end)
			bad_use(s, "an address without its bracket");
		if (end[1] && !strchr(":/", end[1]))
			bad_use(s,
				"an address with more than /PREFIX and :PORT after its bracket");
		/* the prefix stands after the bracket, or inside */
		memmove(end, end + 1, strlen(end));
		colon = strchr(end, ':');
		s++;
	} else if (colon && strchr(s, ':') != colon) {
		colon = NULL;
	}
	if (colon) {
		*colon++ = '\0';
		f->has_port = *colon && strcmp(colon, "*");
		if (f->has_port)
			f->port = parse_port(colon);
	}
	if (!*s || !strcmp(s, "*"))
		return;
	slash = strchr(s, '/');
	if (slash)
		*slash++ = '\0';
	f->family = strchr(s, ':') ? AF_INET6 : AF_INET;
	if (inet_pton(f->family, s, f->addr) != 1)
		bad_use(s, "no address (names are not looked up)");
	bits = f->family == AF_INET6 ? 128 : 32;
	f->prefix = slash ? parse_prefix(slash, bits) : bits;
}

static uint64_t parse_cgroup(const char *s)
{
	uint64_t id = cgroup_of(s);

	if (!id)
		bad_use(s, "no control group of cgroup2");
	return id;
}

/* MARK[/MASK], numbers as in C */
static void parse_mark(struct filter *f, const char *s)
{
	static const char what[] = "no mark: 0x1 or 0x1/0xff are";
	unsigned long long mark, mask = UINT32_MAX;
	char *end;

	mark = strtoull(s, &end, 0);
	if (*end == '/' && end[1] >= '0' && end[1] <= '9')
		mask = strtoull(end + 1, &end, 0);
	if (*s < '0' || *s > '9' || *end || mark > UINT32_MAX ||
	    mask > UINT32_MAX)
		bad_use(s, what);
	f->mark = mark;
	f->mask = mask;
}

static void __attribute__((noreturn)) unfinished(void)
{
	fputs("sdpstat: the filter is incomplete: see 'sdpstat --help'\n",
	      stderr);
	exit(2);
}

static bool is_state(const char *s, uint32_t *states);

/* A command has to be the first word, where main() looks for it */
static void refuse_command(const char *s)
{
	static const struct {
		const char *name;
		const char *use;
	} commands[] = {
		{ "advise", "[-j]" },
		{ "check", "[OPTION]... HOST:PORT" },
		{ "stack", "[OPTION]... [DEV [QPN]]" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(s, commands[i].name))
			continue;
		fprintf(stderr,
			"sdpstat: '%s' stands before its options: sdpstat %s %s\n",
			s, s, commands[i].use);
		exit(2);
	}
}

/* Refuses a word that begins no test, and says what was probably meant */
static void __attribute__((noreturn)) no_test(const char *s)
{
	uint8_t addr[16];
	uint32_t states;

	refuse_command(s);
	if (is_state(s, &states))
		bad_use(s, "a state: put 'state' before it");
	/* of IPv4 perhaps with a prefix or a port */
	if (inet_pton(AF_INET6, s, addr) == 1 ||
	    (*s >= '0' && *s <= '9' && strchr(s, '.')))
		bad_use(s, "an address: put 'src' or 'dst' before it");
	s += *s == ':';
	if (*s && !s[strspn(s, "0123456789")])
		bad_use(s,
			"a number: put 'sport =' or 'dport =' before a port");
	bad_use(s, NO_TEST);
}

static struct filter *parse_or(struct words *w);

static void parse_value(struct filter *f, char *s)
{
	switch (f->kind) {
	case ADDRESS:
		parse_address(f, s);
		break;
	case PORT:
		f->port = parse_port(s + (*s == ':'));
		break;
	case CGROUP:
		f->cgroup = parse_cgroup(s);
		break;
	case MARK:
		parse_mark(f, s);
		break;
	default:
		f->name = strdup(s);
	}
}

static struct filter *parse_test(struct words *w)
{
	struct filter *f = NULL;
	char *s = w->text;

	if (!strcmp(s, "src") || !strcmp(s, "dst"))
		f = new_filter(ADDRESS);
	else if (!strcmp(s, "sport") || !strcmp(s, "dport"))
		f = new_filter(PORT);
	else if (!strcmp(s, "device") || !strcmp(s, "dev"))
		f = new_filter(DEVICE);
	else if (!strcmp(s, "cgroup"))
		f = new_filter(CGROUP);
	else if (!strcmp(s, "fwmark"))
		f = new_filter(MARK);
	else if (*s)
		no_test(s);
	else
		unfinished();
	f->peer = *s == 'd';
	next(w);
	f->op = parse_op(w);
	if (!*w->text)
		unfinished();
	parse_value(f, s);
	if (f->kind != PORT && f->op > OP_NE)
		bad_use(s, "neither larger nor smaller: = and != compare it");
	next(w);
	return f;
}

static struct filter *parse_unary(struct words *w)
{
	struct filter *f;

	if (take(w, "!", "not", NULL))
		return join(NOT, parse_unary(w), NULL);
	if (!take(w, "(", NULL, NULL))
		return parse_test(w);
	f = parse_or(w);
	if (*w->text && *w->text != ')')
		bad_use(w->text, "where a parenthesis is missing");
	if (!take(w, ")", NULL, NULL))
		unfinished();
	return f;
}

/* Tests without a word between them are joined by "and", as with ss */
static struct filter *parse_and(struct words *w)
{
	struct filter *f = parse_unary(w);

	while (take(w, "and", "&", "&&") ||
	       (*w->text && *w->text != ')' && *w->text != '|' &&
		strcmp(w->text, "or")))
		f = join(AND, f, parse_unary(w));
	return f;
}

static struct filter *parse_or(struct words *w)
{
	struct filter *f = parse_and(w);

	while (take(w, "or", "|", "||"))
		f = join(OR, f, parse_and(w));
	return f;
}

#define STATE(n) (1u << (n))
#define STATES_CONNECTED \
	(((1u << (STATE_MAX + 1)) - 2) & ~(STATES_LISTEN | STATE(STATE_CLOSE)))

static bool is_state(const char *s, uint32_t *states)
{
	static const struct {
		const char *name;
		uint32_t states;
	} names[] = {
		{ "all", STATES_ALL },
		{ "connected", STATES_CONNECTED },
		{ "synchronized", STATES_CONNECTED & ~STATE(2) },
		{ "bucket", STATE(3) | STATE(6) },
		{ "big", STATES_ALL & ~(STATE(3) | STATE(6)) },
		{ "established", STATE(STATE_ESTABLISHED) },
		{ "syn-sent", STATE(2) },
		{ "syn-recv", STATE(3) },
		{ "fin-wait-1", STATE(4) },
		{ "fin-wait-2", STATE(5) },
		{ "time-wait", STATE(6) },
		{ "closed", STATE(STATE_CLOSE) },
		{ "close-wait", STATE(8) },
		{ "last-ack", STATE(9) },
		{ "listening", STATES_LISTEN },
		{ "listen", STATES_LISTEN },
		{ "closing", STATE(11) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(s, names[i].name)) {
			*states = names[i].states;
			return true;
		}
	return false;
}

static uint32_t parse_state(const char *s)
{
	uint32_t states;

	if (!is_state(s, &states))
		bad_use(s, NO_STATE);
	return states;
}

void filter_parse(struct options *o, int argc, char **argv)
{
	struct words w = { argv, argc, "" };
	bool chosen = false;

	next(&w);
	for (;;) {
		if (take(&w, "state", NULL, NULL)) {
			o->states = (chosen ? o->states : 0) |
				    parse_state(w.text);
			chosen = true;
		} else if (take(&w, "exclude", NULL, NULL)) {
			o->states = (chosen ? o->states : STATES_ALL) &
				    ~parse_state(w.text);
			chosen = true;
		} else {
			break;
		}
		next(&w);
	}
	o->states_given |= chosen;
	if (!*w.text)
		return;
	o->filter = parse_or(&w);
	if (*w.text)
		bad_use(w.text, "not what may follow in a filter");
}

void filter_file(struct options *o, const char *path)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "re") : stdin;
	char text[4096], *word = text;
	size_t n;

	if (!f)
		die("%s: %s", path, strerror(errno));
	n = fread(text, 1, sizeof(text) - 1, f);
	if (n == sizeof(text) - 1 || ferror(f))
		die("%s: it cannot be read, or is too long for a filter", path);
	if (f != stdin)
		fclose(f);
	text[n] = '\0';
	for (size_t i = 0; i < n; i++)
		if (text[i] == '\n')
			text[i] = ' ';
	filter_parse(o, 1, &word);
}

static bool compare(unsigned int a, unsigned int b, enum op op)
{
	switch (op) {
	case OP_EQ:
		return a == b;
	case OP_NE:
		return a != b;
	case OP_LT:
		return a < b;
	case OP_GT:
		return a > b;
	case OP_LE:
		return a <= b;
	default:
		return a >= b;
	}
}

static bool address_fits(const struct filter *f, const struct sock_info *s)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	const uint8_t *addr = f->peer ? s->dst : s->src;
	unsigned int rest = f->prefix % 8, bytes = f->prefix / 8;
	int family = s->family;

	if (f->has_port && f->port != (f->peer ? s->dport : s->sport))
		return false;
	if (!f->family)
		return true;
	if (family == AF_INET6 && f->family == AF_INET &&
	    !memcmp(addr, mapped, sizeof(mapped))) {
		addr += sizeof(mapped);
		family = AF_INET;
	}
	if (family != f->family || memcmp(addr, f->addr, bytes))
		return false;
	return !rest || !((addr[bytes] ^ f->addr[bytes]) >> (8 - rest));
}

bool filter_of_events(const struct filter *f)
{
	return !f || (f->kind != CGROUP && f->kind != MARK &&
		      filter_of_events(f->left) && filter_of_events(f->right));
}

bool filter_fits(const struct filter *f, const struct sock_info *s)
{
	if (!f)
		return true;
	switch (f->kind) {
	case AND:
		return filter_fits(f->left, s) && filter_fits(f->right, s);
	case OR:
		return filter_fits(f->left, s) || filter_fits(f->right, s);
	case NOT:
		return !filter_fits(f->left, s);
	case ADDRESS:
		return address_fits(f, s) == (f->op == OP_EQ);
	case PORT:
		return compare(f->peer ? s->dport : s->sport, f->port, f->op);
	case CGROUP:
		return (s->cgroup == f->cgroup) == (f->op == OP_EQ);
	case MARK:
		return ((s->mark & f->mask) == f->mark) == (f->op == OP_EQ);
	default:
		return !strcmp(s->device, f->name) == (f->op == OP_EQ);
	}
}
