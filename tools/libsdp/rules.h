/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The rules that say which connections are SDP ones: the file, and what it
 * means for an address. Knows nothing of sockets that exist.
 */
#ifndef LIBSDP_RULES_H
#define LIBSDP_RULES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define LIBSDP_CONFIG "/etc/libsdp.conf"
#define LIBSDP_CONFIG_ENV "LIBSDP_CONFIG_FILE"
/* Set by sdp-run -o and -v */
#define LIBSDP_ONLY_ENV "LIBSDP_ONLY"
#define LIBSDP_VERBOSE_ENV "LIBSDP_VERBOSE"

/* There if the module is loaded */
#define LIBSDP_SYSCTLS "/proc/sys/net/sdp"

#define LIBSDP_RULES_MAX 256

enum libsdp_role {
	LIBSDP_CLIENT,
	LIBSDP_SERVER,
};

/*
 * Bits, so that several possible results of the rules can be returned at once.
 */
enum libsdp_use {
	LIBSDP_SDP = 1,
	LIBSDP_TCP = 2,
	LIBSDP_BOTH = 4,
};

/*
 * Levels of messages. One is written if min-level of the file is not above its level, an error
 * always.
 */
enum {
	LIBSDP_LOG_DECISION = 7,
	LIBSDP_LOG_ERROR = 9,
};

enum libsdp_log {
	LIBSDP_LOG_NONE,
	LIBSDP_LOG_STDERR,
	LIBSDP_LOG_SYSLOG,
	LIBSDP_LOG_FILE,
};

/**
 * struct libsdp_rule - one line that begins with "use"
 * @use: protocols to use
 * @role: for connect(), or for listen()
 * @any: any address; else @family, @addr and @prefix say which
 * @family: AF_INET or AF_INET6
 * @prefix: leading bits of @addr that count
 * @addr: address
 * @port_lo: lowest port
 * @port_hi: highest port
 * @line: where it stands in the file
 */
struct libsdp_rule {
	enum libsdp_use use;
	enum libsdp_role role;
	bool any;
	int family;
	int prefix;
	uint8_t addr[16];
	uint16_t port_lo;
	uint16_t port_hi;
	int line;
};

/**
 * struct libsdp_rules - the contents of a file for one program
 * @file: its name; empty: there is none
 * @only: without a file: SDP or nothing, else SDP where it is available
 * @n: rules
 * @rule: those for the program, in the order of the file
 * @log: where messages are written to; LIBSDP_LOG_NONE: errors to standard error, others
 *	 nowhere
 * @log_level: the lowest level that is written
 * @log_file: for LIBSDP_LOG_FILE
 * @errors: lines that were not understood, and left out
 */
struct libsdp_rules {
	char file[256];
	bool only;
	int n;
	struct libsdp_rule rule[LIBSDP_RULES_MAX];
	enum libsdp_log log;
	int log_level;
	char log_file[256];
	int errors;
};

/* Called with a sentence for each error; @rules: the rules before it. */
typedef void libsdp_complain(const struct libsdp_rules *rules,
			     const char *sentence);

/**
 * libsdp_rules_read() - read a file
 * @rules: filled in
 * @file: name
 * @program: rules of other programs are left out; NULL: none are
 * @complain: called for each error
 *
 * Return: false if the file could not be read; errno says why.
 */
bool libsdp_rules_read(struct libsdp_rules *rules, const char *file,
		       const char *program, libsdp_complain *complain);

/**
 * libsdp_rules_match() - the first rule that fits
 * @rules: rules
 * @role: client or server
 * @addr: where to, or the own address
 * @rule: set to the rule, NULL if none fits
 *
 * Callable from signal handlers.
 *
 * Return: the protocols to use.
 */
enum libsdp_use libsdp_rules_match(const struct libsdp_rules *rules,
				   enum libsdp_role role,
				   const struct sockaddr *addr,
				   const struct libsdp_rule **rule);

/**
 * libsdp_rules_possible() - find all results that any address may have
 * @rules: rules
 *
 * Return: bits of enum libsdp_use.
 */
int libsdp_rules_possible(const struct libsdp_rules *rules);

const char *libsdp_use_name(enum libsdp_use use);

/**
 * libsdp_number() - a decimal number and nothing else
 * @s: text
 * @max: the largest
 * @n: set to the number
 *
 * Return: whether it is one.
 */
bool libsdp_number(const char *s, int max, int *n);

#endif /* LIBSDP_RULES_H */
