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

static struct libsdp_rules rules;
static int possible = LIBSDP_SDP;

static void complain(const char *sentence)
{
	libsdp_log(&rules, LIBSDP_LOG_ERROR, "%s", sentence);
}

/*
 * Without a file all is SDP, as it has always been. A file that was asked for
 * and is not there is an error, and so is one that cannot be read: nothing
 * may be SDP that the user wanted otherwise, hence TCP then.
 */
static __attribute__((constructor)) void read_rules(void)
{
	const char *file = secure_getenv(LIBSDP_CONFIG_ENV);
	bool asked = file && *file;

	if (!asked)
		file = LIBSDP_CONFIG;
	if (libsdp_rules_read(&rules, file, program_invocation_short_name,
			      complain)) {
		possible = libsdp_rules_possible(&rules);
	} else if (asked || errno != ENOENT) {
		libsdp_log(&rules, LIBSDP_LOG_ERROR,
			   "%s: %m; all sockets remain TCP", file);
		possible = LIBSDP_TCP;
	}
}

bool libsdp_may_be_tcp(void)
{
	return possible != LIBSDP_SDP;
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
	if (!is_tcp(want) || possible == LIBSDP_TCP)
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

	return libsdp_rules_match(&rules, role, addr, &rule);
}

void libsdp_tell(enum libsdp_role role, const struct sockaddr *addr)
{
	const char *what = role == LIBSDP_CLIENT ? "connect" : "listen";
	const struct libsdp_rule *rule;
	char text[LIBSDP_ADDR_TEXT];
	enum libsdp_use use;

	if (!libsdp_logs(&rules, LIBSDP_LOG_DECISION))
		return;
	use = libsdp_rules_match(&rules, role, addr, &rule);
	libsdp_addr_text(addr, text);
	if (rule)
		libsdp_log(&rules, LIBSDP_LOG_DECISION, "%s %s: %s (%s:%d)",
			   what, text, libsdp_use_name(use), rules.file,
			   rule->line);
	else
		libsdp_log(&rules, LIBSDP_LOG_DECISION,
			   "%s %s: %s (no rule fits)", what, text,
			   libsdp_use_name(use));
}

void libsdp_tell_end(const struct sockaddr *addr, bool sdp)
{
	char text[LIBSDP_ADDR_TEXT];

	if (!libsdp_logs(&rules, LIBSDP_LOG_DECISION))
		return;
	libsdp_addr_text(addr, text);
	libsdp_log(&rules, LIBSDP_LOG_DECISION, "connected to %s over %s", text,
		   sdp ? "SDP" : "TCP");
}
