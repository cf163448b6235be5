// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * libsdp, decision layer: turns the arguments of socket() into those of an
 * SDP socket, and asks the rules about addresses. Calls the rules and the log.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/sdp.h>

#include "choose.h"
#include "log.h"
#include "rules.h"
#include "why.h"

/**
 * struct known - what the rules are
 * @rules: rules
 * @possible: bits of enum libsdp_use that may come out
 */
struct known {
	struct libsdp_rules rules;
	int possible;
};

/* NULL until they have been read; atomic */
static const struct known *known;

static void complain(const struct libsdp_rules *rules, const char *sentence)
{
	libsdp_log(rules, LIBSDP_LOG_ERROR, "%s", sentence);
}

static bool is_set(const char *name)
{
	const char *value = secure_getenv(name);

	return value && *value;
}

/*
 * Without a file a socket is SDP where that is available, and TCP elsewhere. A file
 * that was asked for and is not there is an error, and so is one that cannot be
 * read: nothing may be SDP that the user wanted otherwise, hence TCP then.
 */
static void read_file(struct known *k)
{
	const char *file = secure_getenv(LIBSDP_CONFIG_ENV);
	bool asked = file && *file;

	if (!asked)
		file = LIBSDP_CONFIG;
	k->possible = libsdp_rules_possible(&k->rules);
	if (libsdp_rules_read(&k->rules, file, program_invocation_short_name,
			      complain)) {
		k->possible = libsdp_rules_possible(&k->rules);
	} else if (asked || errno != ENOENT) {
		libsdp_log(&k->rules, LIBSDP_LOG_ERROR,
			   "%s: %m; all sockets remain TCP", file);
		k->possible = LIBSDP_TCP;
	}
}

static void read_rules(struct known *k)
{
	k->rules.only = is_set(LIBSDP_ONLY_ENV);
	if (k->rules.only)
		k->possible = LIBSDP_SDP;
	else
		read_file(k);
	if (is_set(LIBSDP_VERBOSE_ENV) && k->rules.log == LIBSDP_LOG_NONE) {
		k->rules.log = LIBSDP_LOG_STDERR;
		k->rules.log_level = LIBSDP_LOG_DECISION;
	}
}

/*
 * Other libraries open sockets before our constructor runs, and nothing says
 * that they do so in one thread. Each thread reads the rules; the first result
 * is used, and no thread waits.
 */
static const struct known *first_use(void)
{
	static const struct known nothing = { .possible = LIBSDP_TCP };
	const struct known *other = NULL;
	struct known *k;

	k = calloc(1, sizeof(*k));
	if (!k)
		return &nothing;
	read_rules(k);
	if (__atomic_compare_exchange_n(&known, &other, k, false,
					__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return k;
	free(k);
	return other;
}

/* Leaves errno alone. */
static const struct known *know(void)
{
	const struct known *k = __atomic_load_n(&known, __ATOMIC_ACQUIRE);
	int saved = errno;

	if (k)
		return k;
	k = first_use();
	errno = saved;
	return k;
}

/* Before there are threads and signal handlers, as a rule */
static __attribute__((constructor)) void know_early(void)
{
	know();
}

bool libsdp_may_be_tcp(void)
{
	return know()->possible != LIBSDP_SDP;
}

bool libsdp_asks(void)
{
	const struct known *k = know();

	return (k->possible & (k->possible - 1)) ||
	       libsdp_logs(&k->rules, LIBSDP_LOG_DECISION);
}

static bool is_tcp(const struct libsdp_choice *want)
{
	/* SOCK_NONBLOCK and SOCK_CLOEXEC share the argument with the type */
	if ((want->type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) != SOCK_STREAM)
		return false;
	return want->protocol == 0 || want->protocol == IPPROTO_TCP;
}

bool libsdp_choose(const struct libsdp_choice *want, struct libsdp_choice *use)
{
	if (!is_tcp(want) || know()->possible == LIBSDP_TCP)
		return false;

	switch (want->domain) {
	case AF_INET:
		use->protocol = SDPPROTO_SDP;
		break;
	case AF_INET6:
		use->protocol = SDPPROTO_SDP6;
		break;
	default:
		return false;
	}
	use->domain = AF_SDP;
	use->type = want->type;
	return true;
}

enum libsdp_use libsdp_decide(enum libsdp_role role,
			      const struct sockaddr *addr)
{
	const struct libsdp_rule *rule;

	return libsdp_rules_match(&know()->rules, role, addr, &rule);
}

void libsdp_tell(enum libsdp_role role, const struct sockaddr *addr)
{
	const struct libsdp_rules *rules = &know()->rules;
	const char *what = role == LIBSDP_CLIENT ? "connect" : "listen";
	const struct libsdp_rule *rule;
	char text[LIBSDP_ADDR_TEXT];
	enum libsdp_use use;

	if (!libsdp_logs(rules, LIBSDP_LOG_DECISION))
		return;
	use = libsdp_rules_match(rules, role, addr, &rule);
	libsdp_addr_text(addr, text);
	if (rule)
		libsdp_log(rules, LIBSDP_LOG_DECISION, "%s %s: %s (%s:%d)",
			   what, text, libsdp_use_name(use), rules->file,
			   rule->line);
	else
		libsdp_log(rules, LIBSDP_LOG_DECISION, "%s %s: %s (%s)", what,
			   text, libsdp_use_name(use),
			   rules->file[0] ? "no rule fits" : "no rules");
}

void libsdp_tell_end(enum libsdp_role role, const struct sockaddr *addr, int fd,
		     bool sdp)
{
	const struct libsdp_rules *rules = &know()->rules;
	char text[LIBSDP_ADDR_TEXT], why[32] = "";
	int saved = errno;

	if (!libsdp_logs(rules, LIBSDP_LOG_DECISION) ||
	    (sdp && role == LIBSDP_SERVER))
		return;
	if (!sdp && !libsdp_why(fd, why, sizeof(why)))
		why[0] = '\0';
	libsdp_addr_text(addr, text);
	libsdp_log(rules, LIBSDP_LOG_DECISION, "%s %s %s%s%s",
		   role == LIBSDP_CLIENT ? "connected to" : "listening on",
		   text, sdp ? "over SDP" : "over TCP", *why ? ": " : "", why);
	errno = saved;
}

#define NO_GROUP \
	"net.sdp.group_range has none of this program's groups, or AppArmor or SELinux forbids them"

void libsdp_tell_none(int err)
{
	const char *why =
		"a filter (seccomp, RestrictAddressFamilies) forbids them";
	static int told;

	if (__atomic_exchange_n(&told, err, __ATOMIC_RELAXED) == err)
		return;
	if (access(LIBSDP_SYSCTLS, F_OK))
		why = "the kernel has no module sdp";
	else if (err == EACCES)
		why = NO_GROUP;
	libsdp_log(&know()->rules, LIBSDP_LOG_DECISION,
		   "no SDP sockets: %s; this program continues with TCP", why);
}
