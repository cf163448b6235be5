// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdp-run: starts a program with libsdp.so preloaded, or supervised. User of
 * the kernel and of the dynamic linker's LD_PRELOAD; reads the rules to tell of
 * errors, and for what they say of a supervised program.
 */
#include <arpa/inet.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdarg.h>
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
#include "rules.h"
#include "supervise.h"

#define LIBRARY "libsdp.so"

#ifndef SDP_LIBDIR
#define SDP_LIBDIR "/usr/lib/sdp"
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

#define __printf(f, a) __attribute__((format(printf, f, a)))

static void __printf(1, 2) say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("sdp-run: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
}

static void usage(FILE *out)
{
	fputs("Usage: sdp-run [-sv] [-c FILE] [--] PROGRAM [ARGUMENT]...\n"
	      "       sdp-run [-c FILE] -w server|client PROGRAM ADDRESS:PORT\n"
	      "Run PROGRAM with its TCP sockets opened as SDP sockets.\n"
	      "\n"
	      "  -c, --config FILE  rules instead of those in " LIBSDP_CONFIG
	      "\n"
	      "  -s, --supervise    for programs that call the kernel themselves:\n"
	      "                     static ones, those written in Go\n"
	      "  -v, --verbose      say what is done and what is in the way\n"
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

/* Ours comes first, as a library that was there already may wrap socket(). */
static bool set_preload(const char *library)
{
	const char *old = getenv("LD_PRELOAD");
	char *all;
	int ret;

	if (strpbrk(library, " :")) {
		say("%s: the dynamic linker takes no path with a space or a colon",
		    library);
		return false;
	}
	if (!old || !*old)
		return !setenv("LD_PRELOAD", library, 1);

	if (asprintf(&all, "%s:%s", library, old) < 0)
		return false;
	ret = setenv("LD_PRELOAD", all, 1);
	free(all);
	return !ret;
}

static struct libsdp_rules rules;

static void complain(const struct libsdp_rules *so_far, const char *sentence)
{
	(void)so_far;
	say("%s", sentence);
}

/*
 * The library leaves out what it does not understand; better to say so before
 * anything has begun. @file: what the user asked for, or NULL.
 */
static bool check_rules(const char *file, const char *program, bool verbose)
{
	const char *base = program;

	if (program && strrchr(program, '/'))
		base = strrchr(program, '/') + 1;
	if (!libsdp_rules_read(&rules, file ? file : LIBSDP_CONFIG, base,
			       complain)) {
		if (!file && errno == ENOENT) {
			if (verbose)
				say("no rules: all sockets become SDP sockets");
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
 * Makes the file, if it is not there. Who did not choose the rules (@file is NULL)
 * cannot choose another place either, and has the program without a log.
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
		say("\"%s\" is no role: server and client are", arg[0]);
		return EXIT_USAGE;
	}
	if (!parse_where(arg[2], &ss)) {
		say("\"%s\" is not ADDRESS:PORT", arg[2]);
		return EXIT_USAGE;
	}
	if (!check_rules(file, arg[1], false))
		return EXIT_USAGE;
	use = libsdp_rules_match(&rules, role, (struct sockaddr *)&ss, &rule);
	if (rule)
		printf("%s %s:%d\n", libsdp_use_name(use), rules.file,
		       rule->line);
	else
		printf("%s default\n", libsdp_use_name(use));
	return 0;
}

/* The same call the library is going to make. It also loads the module. */
static bool check_kernel(bool verbose)
{
	int fd = socket(AF_SDP, SOCK_STREAM | SOCK_CLOEXEC, SDPPROTO_SDP);

	if (fd >= 0) {
		close(fd);
		if (verbose)
			say("the kernel has SDP sockets");
		return true;
	}
	if (errno == EAFNOSUPPORT)
		say("the kernel has no SDP sockets: run `modprobe sdp` as root");
	else
		say("the kernel refuses SDP sockets: %s", strerror(errno));
	return false;
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

/* True if @path is certainly an ELF program without a dynamic linker. */
static bool is_static(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool interp = false, ok = false;
	Elf64_Ehdr eh;
	Elf64_Phdr ph;

	if (fd < 0)
		return false;
	if (pread(fd, &eh, sizeof(eh), 0) != sizeof(eh) ||
	    memcmp(eh.e_ident, ELFMAG, SELFMAG) ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_phentsize != sizeof(ph))
		goto out;

	for (int i = 0; i < eh.e_phnum && !interp; i++) {
		if (pread(fd, &ph, sizeof(ph), eh.e_phoff + i * sizeof(ph)) !=
		    sizeof(ph))
			goto out;
		interp = ph.p_type == PT_INTERP;
	}
	ok = true;
out:
	close(fd);
	return ok && !interp;
}

/* A program which the dynamic linker gives no library to: tell, go on. */
static void check_program(const char *name, bool supervised)
{
	char path[PATH_MAX];
	struct stat st;

	if (!find_program(name, path, sizeof(path)))
		return;
	if (!stat(path, &st) && (st.st_mode & (S_ISUID | S_ISGID))) {
		if (!supervised)
			say("%s is set-user-ID or set-group-ID: %s", path,
			    "the dynamic linker ignores LD_PRELOAD, its sockets remain TCP");
		else if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
			say("%s is set-user-ID or set-group-ID: %s", path,
			    "supervised by an ordinary user, it gets no privileges");
	} else if (!supervised && is_static(path)) {
		say("%s is statically linked: %s", path,
		    "nothing can be preloaded, its sockets remain TCP without -s");
	}
}

/* Where it goes is not known when a socket is opened. */
static bool start_supervised(bool verbose)
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

static bool preload(bool verbose)
{
	char library[PATH_MAX];

	if (!find_library(library, sizeof(library))) {
		say("%s not found next to sdp-run or in %s", LIBRARY,
		    SDP_LIBDIR);
		return false;
	}
	if (!set_preload(library))
		return false;
	if (verbose)
		say("preloading %s", library);
	return true;
}

/* For the library, in a program that may go to another directory first. */
static bool pass_config(const char *config, bool supervised)
{
	char path[PATH_MAX];
	struct stat st;

	if (!supervised && !stat(config, &st) && S_ISFIFO(st.st_mode)) {
		say("%s: programs read the rules again, which takes a file, not a pipe",
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

static int run(char **argv, const char *config, bool supervised, bool verbose)
{
	int err;

	if (!check_rules(config, argv[0], verbose) || !check_log(config) ||
	    (config && !pass_config(config, supervised)))
		return EXIT_USAGE;
	check_kernel(verbose);
	if (!(supervised ? start_supervised(verbose) : preload(verbose)))
		return EXIT_USAGE;
	check_program(argv[0], supervised);

	execvp(argv[0], argv);
	err = errno;
	say("%s: %s", argv[0], strerror(err));
	return err == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "supervise", no_argument, NULL, 's' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "which", no_argument, NULL, 'w' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{}
	};
	const char *config = getenv(LIBSDP_CONFIG_ENV);
	bool verbose = false, ask = false, supervised = false;
	int opt;

	/* '+': options behind PROGRAM are its own */
	while ((opt = getopt_long(argc, argv, "+c:svwhV", options, NULL)) !=
	       -1) {
		switch (opt) {
		case 'c':
			config = optarg;
			break;
		case 's':
			supervised = true;
			break;
		case 'v':
			verbose = true;
			break;
		case 'w':
			ask = true;
			break;
		case 'h':
			usage(stdout);
			return 0;
		case 'V':
			puts("sdp-run " SDP_VERSION);
			return 0;
		default:
			usage(stderr);
			return EXIT_USAGE;
		}
	}
	if (config && !*config)
		config = NULL;
	if (ask && argc - optind == 3)
		return which(config, argv + optind);
	if (optind == argc || ask) {
		say(ask ? "-w takes a role, a program and ADDRESS:PORT" :
			  "no program given");
		usage(stderr);
		return EXIT_USAGE;
	}
	return run(argv + optind, config, supervised, verbose);
}
