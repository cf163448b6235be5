// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * libsdp, rules: reads the file, finds the rule for an address. Calls the C
 * library only. Used by libsdp.so, and by sdp-run, which reports errors before
 * a program begins.
 *
 *   # comment
 *   log [destination stderr|syslog|file PATH] [min-level 1...9]
 *   use sdp|tcp|both server|client PROGRAM ADDRESS[/PREFIX]:PORT[-PORT]
 *
 * PROGRAM may have wildcards; ADDRESS and PORT may be "*", an IPv6 address
 * stands in brackets.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fnmatch.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rules.h"

#define MAX_WORDS 8

struct parser {
	struct libsdp_rules *rules;
	const char *program;
	libsdp_complain *complain;
	int line;
};

#define __printf(f, a) __attribute__((format(printf, f, a)))

static void __printf(2, 3) bad(struct parser *p, const char *fmt, ...)
{
	char what[160], sentence[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	snprintf(sentence, sizeof(sentence), "%s:%d: %s", p->rules->file,
		 p->line, what);
	p->rules->errors++;
	p->complain(p->rules, sentence);
}

const char *libsdp_use_name(enum libsdp_use use)
{
	return use == LIBSDP_SDP ? "sdp" : use == LIBSDP_TCP ? "tcp" : "both";
}

/* Not by strtol(): glibc 2.38 has another symbol for it, which musl lacks */
bool libsdp_number(const char *s, int max, int *n)
{
	int v = 0;

	if (!*s)
		return false;
	for (; *s >= '0' && *s <= '9' && v <= max; s++)
		v = v * 10 + *s - '0';
	*n = v;
	return !*s && v <= max;
}

static bool parse_ports(struct parser *p, char *s, struct libsdp_rule *r)
{
	char *dash = strchr(s, '-');
	int lo, hi;

	if (!strcmp(s, "*")) {
		r->port_lo = 0;
		r->port_hi = UINT16_MAX;
		return true;
	}
	if (dash)
		*dash++ = '\0';
	if (!libsdp_number(s, UINT16_MAX, &lo) ||
	    !libsdp_number(dash ? dash : s, UINT16_MAX, &hi)) {
		bad(p,
		    "\"%s%s%s\" is no port: a number up to 65535, two of them with a dash, or * are",
		    s, dash ? "-" : "", dash ? dash : "");
		return false;
	}
	if (lo > hi) {
		bad(p, "the ports %d-%d end before they begin", lo, hi);
		return false;
	}
	r->port_lo = lo;
	r->port_hi = hi;
	return true;
}

/* An IPv4-mapped address becomes one of IPv4, as plain_address() does with that of a socket */
static void unmap(struct libsdp_rule *r)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (r->family != AF_INET6 || r->prefix < 96 ||
	    memcmp(r->addr, mapped, sizeof(mapped)))
		return;
	r->family = AF_INET;
	r->prefix -= 96;
	memmove(r->addr, r->addr + 12, 4);
}

static bool parse_address(struct parser *p, char *s, struct libsdp_rule *r)
{
	char *slash = strchr(s, '/');
	int bits;

	r->any = !strcmp(s, "*");
	if (r->any)
		return true;
	if (slash)
		*slash++ = '\0';
	r->family = strchr(s, ':') ? AF_INET6 : AF_INET;
	if (inet_pton(r->family, s, r->addr) != 1) {
		bad(p,
		    "\"%s\" is no address: names are not looked up, an IPv6 address wants brackets",
		    s);
		return false;
	}
	bits = r->family == AF_INET6 ? 128 : 32;
	r->prefix = bits;
	if (slash && !libsdp_number(slash, bits, &r->prefix)) {
		bad(p,
		    "\"/%s\" is no length of a prefix: this address has %d bits",
		    slash, bits);
		return false;
	}
	unmap(r);
	return true;
}

/* ADDRESS:PORT, with the address in brackets or without */
static bool parse_where(struct parser *p, char *s, struct libsdp_rule *r)
{
	char *addr = s, *colon = strrchr(s, ':'), *close;

	if (*s == '[') {
		addr = s + 1;
		close = strchr(s, ']');
		if (!close) {
			bad(p, "the bracket in \"%s\" is not closed", s);
			return false;
		}
		/* the prefix stands after the bracket, or inside */
		memmove(close, close + 1, strlen(close));
		colon = NULL;
		if (*close == ':' || *close == '/')
			colon = strchr(close, ':');
	}
	if (!colon) {
		bad(p,
		    "\"%s\" has no port: ADDRESS:PORT is wanted, with * for any",
		    s);
		return false;
	}
	*colon++ = '\0';
	return parse_address(p, addr, r) && parse_ports(p, colon, r);
}

static void parse_use(struct parser *p, char **word, int n)
{
	struct libsdp_rules *rules = p->rules;
	struct libsdp_rule r = { .line = p->line };

	if (n != 5) {
		bad(p,
		    "a rule has five words: use sdp|tcp|both server|client PROGRAM ADDRESS:PORT");
		return;
	}
	if (!strcmp(word[1], "sdp")) {
		r.use = LIBSDP_SDP;
	} else if (!strcmp(word[1], "tcp")) {
		r.use = LIBSDP_TCP;
	} else if (!strcmp(word[1], "both")) {
		r.use = LIBSDP_BOTH;
	} else {
		bad(p, "\"%s\" is not sdp, tcp or both", word[1]);
		return;
	}
	if (!strcmp(word[2], "server") || !strcmp(word[2], "listen")) {
		r.role = LIBSDP_SERVER;
	} else if (!strcmp(word[2], "client") || !strcmp(word[2], "connect")) {
		r.role = LIBSDP_CLIENT;
	} else {
		bad(p, "\"%s\" is not a role: use server or client", word[2]);
		return;
	}
	if (!parse_where(p, word[4], &r))
		return;
	if (p->program && fnmatch(word[3], p->program, 0))
		return;
	if (rules->n == LIBSDP_RULES_MAX) {
		bad(p, "more than %d rules for one program", LIBSDP_RULES_MAX);
		return;
	}
	rules->rule[rules->n++] = r;
}

/* The place of a log; words used, 0 on error. */
static int parse_destination(struct parser *p, char **word, int n)
{
	struct libsdp_rules *rules = p->rules;

	if (n && !strcmp(word[0], "stderr")) {
		rules->log = LIBSDP_LOG_STDERR;
		return 1;
	}
	if (n && !strcmp(word[0], "syslog")) {
		rules->log = LIBSDP_LOG_SYSLOG;
		return 1;
	}
	if (n < 2 || strcmp(word[0], "file")) {
		bad(p, "a log goes to stderr, syslog, or file PATH");
		return 0;
	}
	if (word[1][0] != '/' || strlen(word[1]) >= sizeof(rules->log_file)) {
		bad(p,
		    "the path of a log begins with a slash and has less than %zu characters",
		    sizeof(rules->log_file));
		return 0;
	}
	rules->log = LIBSDP_LOG_FILE;
	strcpy(rules->log_file, word[1]);
	return 2;
}

static void parse_log(struct parser *p, char **word, int n)
{
	struct libsdp_rules *rules = p->rules;
	int i = 1, used;

	while (i < n) {
		if (!strcmp(word[i], "destination")) {
			used = parse_destination(p, word + i + 1, n - i - 1);
			if (!used)
				return;
			i += used + 1;
		} else if (!strcmp(word[i], "min-level")) {
			if (i + 1 == n ||
			    !libsdp_number(word[i + 1], LIBSDP_LOG_ERROR,
					   &rules->log_level) ||
			    !rules->log_level) {
				bad(p, "min-level is a number from 1 to 9");
				rules->log_level = LIBSDP_LOG_ERROR;
				return;
			}
			i += 2;
		} else {
			bad(p,
			    "\"%s\" says nothing about a log: destination and min-level do",
			    word[i]);
			return;
		}
	}
}

static void parse_line(struct parser *p, char *text)
{
	char *word[MAX_WORDS], *save, *w;
	int n = 0;

	text[strcspn(text, "#")] = '\0';
	for (w = strtok_r(text, " \t\r\n", &save); w && n < MAX_WORDS;
	     w = strtok_r(NULL, " \t\r\n", &save))
		word[n++] = w;
	if (!n)
		return;
	if (!strcmp(word[0], "use"))
		parse_use(p, word, n);
	else if (!strcmp(word[0], "log"))
		parse_log(p, word, n);
	else
		bad(p, "\"%s\" begins no line: use and log do", word[0]);
}

#define LINE_CHARS 510
#define LINE_LONG "the line has more than 510 characters"

/*
 * Reads a line, without its line feed, into @text. Of a line that is too long, or has a
 * character 0, it is only a part, and @wrong says what is wrong. Returns false at the end
 * of the file.
 */
static bool next_line(FILE *f, char *text, size_t size, const char **wrong)
{
	size_t n = 0;
	int c;

	*wrong = NULL;
	while ((c = getc(f)) != EOF && c != '\n') {
		if (!c)
			*wrong = "the line has a character 0";
		else if (n + 1 == size)
			*wrong = LINE_LONG;
		else
			text[n++] = c;
	}
	text[n] = '\0';
	return c != EOF || n || *wrong;
}

bool libsdp_rules_read(struct libsdp_rules *rules, const char *file,
		       const char *program, libsdp_complain *complain)
{
	struct parser p = { rules, program, complain, 0 };
	const char *wrong;
	char text[LINE_CHARS + 1];
	FILE *f;

	f = fopen(file, "re");
	if (!f)
		return false;
	memset(rules, 0, sizeof(*rules));
	rules->log_level = LIBSDP_LOG_ERROR;
	snprintf(rules->file, sizeof(rules->file), "%s", file);
	while (next_line(f, text, sizeof(text), &wrong)) {
		p.line++;
		if (wrong)
			bad(&p, "%s", wrong);
		else
			parse_line(&p, text);
	}
	if (ferror(f)) {
		int err = errno;

		fclose(f);
		errno = err;
		return false;
	}
	fclose(f);
	return true;
}

/* IPv4-mapped addresses are taken as IPv4. */
static const uint8_t *plain_address(const struct sockaddr *sa, int *family)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)sa;

	*family = sa->sa_family;
	if (sa->sa_family == AF_INET)
		return (void *)&((const struct sockaddr_in *)sa)->sin_addr;
	if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
		*family = AF_INET;
		return v6->sin6_addr.s6_addr + 12;
	}
	return v6->sin6_addr.s6_addr;
}

static bool same_prefix(const uint8_t *a, const uint8_t *b, int bits)
{
	int rest = bits % 8;

	if (memcmp(a, b, bits / 8))
		return false;
	return !rest || !((a[bits / 8] ^ b[bits / 8]) >> (8 - rest));
}

static bool fits(const struct libsdp_rule *r, const struct sockaddr *sa)
{
	uint16_t port = ntohs(((const struct sockaddr_in *)sa)->sin_port);
	const uint8_t *addr;
	int family;

	if (port < r->port_lo || port > r->port_hi)
		return false;
	if (r->any)
		return true;
	addr = plain_address(sa, &family);
	return family == r->family && same_prefix(addr, r->addr, r->prefix);
}

enum libsdp_use libsdp_rules_match(const struct libsdp_rules *rules,
				   enum libsdp_role role,
				   const struct sockaddr *addr,
				   const struct libsdp_rule **rule)
{
	*rule = NULL;
	if (!rules->file[0])
		return rules->only ? LIBSDP_SDP : LIBSDP_BOTH;
	for (int i = 0; i < rules->n; i++) {
		if (rules->rule[i].role != role || !fits(&rules->rule[i], addr))
			continue;
		*rule = &rules->rule[i];
		return rules->rule[i].use;
	}
	return LIBSDP_BOTH;
}

static int possible(const struct libsdp_rules *rules, enum libsdp_role role)
{
	int bits = 0;

	for (int i = 0; i < rules->n; i++) {
		const struct libsdp_rule *r = &rules->rule[i];

		if (r->role != role)
			continue;
		bits |= r->use;
		if (r->any && !r->port_lo && r->port_hi == UINT16_MAX)
			return bits;
	}
	return bits | LIBSDP_BOTH;
}

int libsdp_rules_possible(const struct libsdp_rules *rules)
{
	if (!rules->file[0])
		return rules->only ? LIBSDP_SDP : LIBSDP_BOTH;
	return possible(rules, LIBSDP_CLIENT) | possible(rules, LIBSDP_SERVER);
}
