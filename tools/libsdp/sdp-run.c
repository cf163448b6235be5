// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdp-run: starts a program with libsdp.so preloaded, or supervised. User of
 * the kernel and of the dynamic linker's LD_PRELOAD; reads the rules to report
 * errors, and to choose the sockets of a supervised program.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <glob.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/sdp.h>

#include "log.h"
#include "program.h"
#include "rules.h"
#include "say.h"
#include "supervise.h"
#include "unit.h"

#define LIBRARY "libsdp.so"

#ifndef SDP_LIBDIR
#define SDP_LIBDIR "/usr/lib/sdp"
#endif
#ifndef SDP_TRUSTDIR
#define SDP_TRUSTDIR "/usr/lib64"
#endif
#ifndef SDP_VERSION
#define SDP_VERSION "unknown"
#endif

/* As the shell and env(1) have it. */
enum {
	EXIT_USAGE = 125,
	EXIT_CANNOT_RUN = 126,
	EXIT_NOT_FOUND = 127,
};

static void usage(FILE *out)
{
	fputs("Usage: sdp-run [-sv] [-o | -c FILE] [--] PROGRAM [ARGUMENT]...\n"
	      "       sdp-run [-o | -c FILE] -w server|client PROGRAM ADDRESS:PORT\n"
	      "       sdp-run [-v] [-o | -c FILE] enable UNIT\n"
	      "       sdp-run disable UNIT\n"
	      "Run PROGRAM with its TCP sockets opened as SDP sockets, which continue with\n"
	      "TCP where SDP is not available. With enable, do so with a service of systemd\n"
	      "from its next start on.\n"
	      "\n"
	      "  -c, --config FILE  rules instead of those in " LIBSDP_CONFIG
	      "\n"
	      "  -o, --only         SDP or nothing, without rules and without TCP; sockets\n"
	      "                     out of its reach remain TCP, see sdp-run(1)\n"
	      "  -s, --supervise    for programs that call the kernel themselves:\n"
	      "                     static ones, those written in Go\n"
	      "  -v, --verbose      say what is done, what is in the way, and what each\n"
	      "                     connection became\n"
	      "  -w, --which        only say what the rules have for an address\n"
	      "  -h, --help         show this text\n"
	      "  -V, --version      show the version\n"
	      "\n"
	      "The exit status is that of PROGRAM; 125 for an error of sdp-run\n"
	      "itself, 126 if PROGRAM cannot be run, 127 if it is not found.\n",
	      out);
}

/*
 * Look next to this program (a build directory), in ../lib/sdp (an installed
 * tree, wherever it was moved to), then where it was configured to be.
 */
static bool find_library(char *path, size_t size)
{
	static const char *const places[] = {
		"%s/" LIBRARY,
		"%s/../lib/sdp/" LIBRARY,
	};
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (n > 0) {
		self[n] = '\0';
		slash = strrchr(self, '/');
		*slash = '\0';
		for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
			n = snprintf(path, size, places[i], self);
			if ((size_t)n < size && !access(path, R_OK))
				return true;
		}
	}
	n = snprintf(path, size, "%s", SDP_LIBDIR "/" LIBRARY);
	return (size_t)n < size && !access(path, R_OK);
}

static bool get_library(char *path, size_t size)
{
	if (find_library(path, size))
		return true;
	say("%s not found next to sdp-run or in %s", LIBRARY, SDP_LIBDIR);
	return false;
}

/*
 * After "sdpctl trust on" the dynamic linker finds the same file by its name, and takes it
 * for programs with privileges, too.
 */
static bool is_trusted(const char *library)
{
	struct stat own, st;

	return !stat(SDP_TRUSTDIR "/" LIBRARY, &st) && (st.st_mode & S_ISUID) &&
	       !stat(library, &own) && own.st_dev == st.st_dev &&
	       own.st_ino == st.st_ino;
}

/*
 * Ours comes last: it calls the kernel, so a library that was there already, and wraps
 * bind() or connect(), would not be called after it. Such a library passes its calls on.
 *
 * A trusted one has both its name, for programs with privileges, and its path: the dynamic
 * linker of musl finds no name in the directories of glibc, and says nothing. That of glibc
 * takes two names of one file as one library.
 */
static bool set_preload(const char *library, bool by_name)
{
	const char *old = getenv("LD_PRELOAD");
	char *all;
	int ret;

	if (strpbrk(library, " :")) {
		say("%s: the dynamic linker accepts no path with a space or a colon",
		    library);
		return false;
	}
	if (asprintf(&all, "%s%s%s%s", old ? old : "", old && *old ? ":" : "",
		     by_name ? LIBRARY ":" : "", library) < 0)
		return false;
	ret = setenv("LD_PRELOAD", all, 1);
	free(all);
	return !ret;
}

static struct libsdp_rules rules;
static bool verbose;
static bool trusted; /* the library, see is_trusted() */

static void complain(const struct libsdp_rules *so_far, const char *sentence)
{
	(void)so_far;
	say("%s", sentence);
}

/*
 * The library leaves out what it does not understand; better to say so before
 * anything has begun. @file: the file that the user named, or NULL.
 */
static bool check_rules(const char *file, const char *program)
{
	const char *base = program;

	if (rules.only) {
		if (verbose)
			say("SDP or nothing (-o)");
		return true;
	}
	if (program && strrchr(program, '/'))
		base = strrchr(program, '/') + 1;
	if (!libsdp_rules_read(&rules, file ? file : LIBSDP_CONFIG, base,
			       complain)) {
		if (!file && errno == ENOENT) {
			if (verbose)
				say("no rules: SDP where it is available, else TCP");
			return true;
		}
		say("%s: %s", file ? file : LIBSDP_CONFIG, strerror(errno));
		return false;
	}
	if (verbose)
		say("%s has %d rules for %s", rules.file, rules.n, base);
	return !rules.errors;
}

/*
 * Makes the file, if it is not there. A user that did not choose the rules
 * (@file is NULL) cannot choose another place either, and the program runs
 * without a log.
 */
static bool check_log(const char *file)
{
	const char *why;

	if (rules.log != LIBSDP_LOG_FILE ||
	    libsdp_log_check(rules.log_file, &why))
		return true;
	say("%s: the log %s is not written: %s", rules.file, rules.log_file,
	    why);
	return !file;
}

/* ADDRESS:PORT, the address of IPv6 in brackets */
static bool parse_where(const char *text, struct sockaddr_storage *ss)
{
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ss;
	struct sockaddr_in *v4 = (struct sockaddr_in *)ss;
	const char *colon = strrchr(text, ':');
	char addr[INET6_ADDRSTRLEN + 2];
	size_t len;
	int port;

	memset(ss, 0, sizeof(*ss));
	if (!colon || (size_t)(colon - text) >= sizeof(addr) ||
	    !libsdp_number(colon + 1, UINT16_MAX, &port))
		return false;
	snprintf(addr, sizeof(addr), "%.*s", (int)(colon - text), text);
	v4->sin_port = htons(port);
	len = strlen(addr);
	if (len > 2 && addr[0] == '[' && addr[len - 1] == ']') {
		addr[len - 1] = '\0';
		ss->ss_family = AF_INET6;
		return inet_pton(AF_INET6, addr + 1, &v6->sin6_addr) == 1;
	}
	ss->ss_family = AF_INET;
	return inet_pton(AF_INET, addr, &v4->sin_addr) == 1;
}

/* After the last output. Return: the exit status. */
static int printed(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	say("cannot write: %s", strerror(errno));
	return EXIT_USAGE;
}

/* sdp-run -w ROLE PROGRAM ADDRESS:PORT */
static int which(const char *file, char **arg)
{
	const struct libsdp_rule *rule;
	struct sockaddr_storage ss;
	enum libsdp_role role;
	enum libsdp_use use;

	if (!strcmp(arg[0], "server")) {
		role = LIBSDP_SERVER;
	} else if (!strcmp(arg[0], "client")) {
		role = LIBSDP_CLIENT;
	} else {
		say("\"%s\" is not a role: use server or client", arg[0]);
		return EXIT_USAGE;
	}
	if (!parse_where(arg[2], &ss)) {
		say("\"%s\" is not ADDRESS:PORT, in numbers", arg[2]);
		return EXIT_USAGE;
	}
	if (!check_rules(file, arg[1]))
		return EXIT_USAGE;
	use = libsdp_rules_match(&rules, role, (struct sockaddr *)&ss, &rule);
	if (rule)
		printf("%s %s:%d\n", libsdp_use_name(use), rules.file,
		       rule->line);
	else
		printf("%s default\n", libsdp_use_name(use));
	return printed();
}

static bool can_open(int domain, int protocol)
{
	int fd = socket(domain, SOCK_STREAM | SOCK_CLOEXEC, protocol), err;

	err = errno;
	if (fd >= 0)
		close(fd);
	errno = err;
	return fd >= 0;
}

/* The same calls the library is going to make. They also load the module. */
static void check_kernel(void)
{
	const char *rest = rules.only ? "" : "; sockets remain TCP";

	if (can_open(AF_SDP, SDPPROTO_SDP)) {
		if (verbose)
			say("the kernel has SDP sockets");
	} else if (errno != EAFNOSUPPORT && errno != EPERM && errno != EACCES) {
		say("the kernel refuses SDP sockets: %s%s", strerror(errno),
		    rest);
	} else if (can_open(AF_INET, IPPROTO_SDP)) {
		if (verbose)
			say("a filter forbids AF_SDP here: using IPPROTO_SDP instead");
	} else if (errno == EACCES && !access(LIBSDP_SYSCTLS, F_OK)) {
		say("%s%s",
		    "net.sdp.group_range has no group of this user, or a filter (AppArmor, SELinux) forbids SDP sockets here",
		    rest);
	} else if (!access(LIBSDP_SYSCTLS, F_OK)) {
		say("a filter (seccomp, systemd) forbids SDP sockets here%s",
		    rest);
	} else {
		say("the kernel has no SDP sockets: run `modprobe sdp` as root%s",
		    rest);
	}
}

/* Is there an iWARP device (node type 4)? Its listeners are TCP listeners as well. */
static bool has_iwarp(void)
{
	char line[16];
	bool found = false;
	glob_t g;

	if (glob("/sys/class/infiniband/*/node_type", 0, NULL, &g))
		return false;
	for (size_t i = 0; i < g.gl_pathc && !found; i++) {
		FILE *f = fopen(g.gl_pathv[i], "re");

		found = f && fgets(line, sizeof(line), f) && *line == '4';
		if (f)
			fclose(f);
	}
	globfree(&g);
	return found;
}

/* Warn that listeners of both would be TCP listeners only. */
static void check_ports(void)
{
	FILE *f;

	if (!(libsdp_rules_possible(&rules) & LIBSDP_BOTH))
		return;
	f = fopen(LIBSDP_SYSCTLS "/port_offset", "re");
	if (!f)
		return;
	if (fgetc(f) == '0' && has_iwarp())
		say("net.sdp.port_offset is 0: over iWARP, %s",
		    "servers hear TCP only; set it to the same number at both ends");
	fclose(f);
}

/* Find PROGRAM as execvp() is going to, to have a look at it. */
static bool find_program(const char *name, char *path, size_t size)
{
	const char *dir = getenv("PATH"), *end;

	if (strchr(name, '/'))
		return (size_t)snprintf(path, size, "%s", name) < size;

	for (dir = dir ? dir : "/bin:/usr/bin"; *dir;
	     dir = *end ? end + 1 : end) {
		int len;

		end = strchrnul(dir, ':');
		len = end - dir;
		if ((size_t)snprintf(path, size, "%.*s/%s", len ? len : 1,
				     len ? dir : ".", name) < size &&
		    !access(path, X_OK))
			return true;
	}
	return false;
}

/* Say what becomes of the sockets of a program that has privileges, for the reason @what */
static void check_privileges(const char *path, const char *what)
{
	if (!trusted)
		say("%s %s: %s", path, what,
		    "the dynamic linker ignores LD_PRELOAD, its sockets remain TCP; `sdpctl trust on` as root changes that");
	else if (verbose || getenv(LIBSDP_ONLY_ENV) ||
		 getenv(LIBSDP_CONFIG_ENV))
		say("%s %s: %s", path, what,
		    "it has the rules of " LIBSDP_CONFIG
		    ", not those of -c and -o, and is silent");
}

/*
 * Warn of a program that nothing can be preloaded into, or that loses its privileges under
 * supervision. It runs all the same.
 */
static void check_program(const char *name, bool supervised)
{
	bool gets_none = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
	char path[PATH_MAX];
	const char *what;

	if (!find_program(name, path, sizeof(path)))
		return;
	what = program_privileges(path, getuid(), getgid());
	if (what && !supervised && !gets_none) {
		check_privileges(path, what);
	} else if (what && supervised && gets_none) {
		say("%s %s: %s", path, what,
		    "supervised by an ordinary user, it gets no privileges");
	} else if (!supervised && program_is_static(path)) {
		say("%s is statically linked: %s", path,
		    "nothing can be preloaded, its sockets remain TCP without -s");
	}
}

/* The peer is not known when a socket is opened, so rules by address cannot be kept. */
static bool start_supervised(void)
{
	int use = libsdp_rules_possible(&rules);
	const char *why;

	switch (use) {
	case LIBSDP_TCP:
		if (verbose)
			say("%s: all sockets remain TCP", rules.file);
		return true;
	case LIBSDP_SDP:
	case LIBSDP_BOTH:
		break;
	default:
		say("%s has rules by address, which -s cannot keep: %s",
		    rules.file, "take one rule for all, with -c");
		return false;
	}
	if (!supervise(use == LIBSDP_BOTH, &why)) {
		say("-s: %s%s%s", why, errno ? ": " : "",
		    errno ? strerror(errno) : "");
		return false;
	}
	if (verbose)
		say("supervising socket()");
	return true;
}

static bool preload(void)
{
	char library[PATH_MAX];

	if (!get_library(library, sizeof(library)))
		return false;
	trusted = is_trusted(library);
	if (!set_preload(library, trusted) ||
	    (rules.only && setenv(LIBSDP_ONLY_ENV, "1", 1)) ||
	    (verbose && setenv(LIBSDP_VERBOSE_ENV, "1", 1)))
		return false;
	if (verbose)
		say("preloading %s", library);
	return true;
}

/* By an absolute path: the program may change its directory before the library reads it. */
static bool pass_config(const char *config, bool supervised)
{
	char path[PATH_MAX];
	struct stat st;

	if (!supervised && !stat(config, &st) && S_ISFIFO(st.st_mode)) {
		say("%s: programs read the rules again: give a file, not a pipe",
		    config);
		return false;
	}
	if (*config != '/')
		config = realpath(config, path) ? path : config;
	if (*config == '/' && !setenv(LIBSDP_CONFIG_ENV, config, 1))
		return true;
	say("%s: %s", config, strerror(errno));
	return false;
}

static bool is_verb(const char *word)
{
	return !strcmp(word, "enable") || !strcmp(word, "disable");
}

/* sdp-run enable UNIT, sdp-run disable UNIT */
static int change_unit(char **argv, const char *config)
{
	struct unit_settings set = { .only = rules.only, .verbose = verbose };
	char found[PATH_MAX], library[PATH_MAX], rules_file[PATH_MAX];

	if (!argv[1]) {
		say("%s needs the name of a unit; to run a program of that name, give ./%s",
		    argv[0], argv[0]);
		return EXIT_USAGE;
	}
	if (argv[2]) {
		say(*argv[1] == '-' ?
			    "options stand before %s: see 'sdp-run --help'" :
			    "%s takes one unit: call it for each",
		    argv[0]);
		return EXIT_USAGE;
	}
	if (*argv[0] == 'd')
		return unit_disable(argv[1]) ? 0 : EXIT_USAGE;
	if (config) {
		if (!check_rules(config, NULL))
			return EXIT_USAGE;
		set.config = realpath(config, rules_file);
	}
	if (!get_library(found, sizeof(found)))
		return EXIT_USAGE;
	set.library = realpath(found, library);
	return unit_enable(argv[1], &set) ? 0 : EXIT_USAGE;
}

/* The likely meaning of a name that cannot be run */
static const char *meant(const char *name, int err)
{
	size_t len = strlen(name);
	char path[PATH_MAX];
	struct stat st;

	if (err == EACCES && !stat(name, &st) && S_ISDIR(st.st_mode))
		return ": it is a directory";
	if (err != ENOENT)
		return "";
	if (find_program(name, path, sizeof(path)) && !access(path, X_OK))
		return ": the interpreter that it names is not there";
	if (len > 8 && !strcmp(name + len - 8, ".service"))
		return ": services are for sdp-run enable";
	if (strchr(name, '='))
		return ": variables stand before sdp-run";
	return "";
}

static int run(char **argv, const char *config, bool supervised)
{
	int err;

	if (!check_rules(config, argv[0]) || !check_log(config) ||
	    (config && !pass_config(config, supervised)))
		return EXIT_USAGE;
	check_kernel();
	check_ports();
	if (!(supervised ? start_supervised() : preload()))
		return EXIT_USAGE;
	check_program(argv[0], supervised);

	execvp(argv[0], argv);
	err = errno;
	say("%s: %s%s", argv[0], strerror(err), meant(argv[0], err));
	return err == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}

/*
 * Settings of an outer sdp-run apply to this program as well, unless there are
 * options here.
 */
static const char *inherited(const char *config)
{
	const char *only = getenv(LIBSDP_ONLY_ENV);

	if (config) {
		unsetenv(LIBSDP_ONLY_ENV);
		/* an empty name is for the usual rules */
		unsetenv(LIBSDP_CONFIG_ENV);
		return *config ? config : NULL;
	}
	rules.only = only && *only;
	config = getenv(LIBSDP_CONFIG_ENV);
	return !rules.only && config && *config ? config : NULL;
}

/**
 * struct use - the command line
 * @config: rules, or NULL
 * @ask: -w
 * @supervised: -s
 */
struct use {
	const char *config;
	bool ask;
	bool supervised;
};

/* -o and -v set variables of this file. Leaves optind at PROGRAM; some options exit. */
static void parse(struct use *use, int argc, char **argv)
{
	static const struct option options[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "only", no_argument, NULL, 'o' },
		{ "supervise", no_argument, NULL, 's' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "which", no_argument, NULL, 'w' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{}
	};
	int opt;

	/* '+': options after PROGRAM are its own */
	while ((opt = getopt_long(argc, argv, "+c:osvwhV", options, NULL)) !=
	       -1) {
		switch (opt) {
		case 'c':
			use->config = optarg;
			break;
		case 'o':
			rules.only = true;
			break;
		case 's':
			use->supervised = true;
			break;
		case 'v':
			verbose = true;
			break;
		case 'w':
			use->ask = true;
			break;
		case 'h':
			usage(stdout);
			exit(printed());
		case 'V':
			puts("sdp-run " SDP_VERSION);
			exit(printed());
		default:
			fputs("See 'sdp-run --help'.\n", stderr);
			exit(EXIT_USAGE);
		}
	}
}

int main(int argc, char **argv)
{
	struct use use = {};

	parse(&use, argc, argv);
	argc -= optind;
	argv += optind;
	if (use.config && rules.only) {
		say("-o uses no rules: leave out -c");
		return EXIT_USAGE;
	}
	if (!rules.only)
		use.config = inherited(use.config);
	if (use.ask && argc == 3)
		return which(use.config, argv);
	if (!argc || !*argv[0] || use.ask) {
		say(use.ask ?
			    "-w takes a role, a program and ADDRESS:PORT: see 'sdp-run --help'" :
			    "no program given: see 'sdp-run --help'");
		return EXIT_USAGE;
	}
	if (use.supervised && is_verb(argv[0]) && argc == 2) {
		say("-s is not for units: put sdp-run -s into ExecStart= of the unit");
		return EXIT_USAGE;
	}
	if (!use.supervised && is_verb(argv[0]))
		return change_unit(argv, use.config);
	return run(argv, use.config, use.supervised);
}
