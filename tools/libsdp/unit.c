// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdp-run enable, disable: a drop-in file below /etc/systemd/system has the manager
 * start a service with libsdp.so preloaded. The unit itself, which belongs to a package,
 * stays as it is. Used by sdp-run; calls program.c, systemctl(1) and the C library.
 *
 * Restrictions of the unit stay as well. The library only has to be mapped: ExecPaths=
 * allows this where NoExecPaths= forbids it, and has no effect elsewhere. The service also
 * starts when the library has been removed: that is the "-" in ExecPaths=.
 * The library does without the families that RestrictAddressFamilies= forbids.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"
#include "rules.h"
#include "say.h"
#include "unit.h"

#define UNITS "/etc/systemd/system"
#define LISTED "`systemctl list-unit-files --type=service` lists the names"
#define DROPIN "50-sdp.conf"
/* There if systemd is the machine's init */
#define RUNNING "/run/systemd/system"
#define NAME_CHARS \
	"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ:-_.\\@"
#define NAME_MAX_LEN 200

struct unit {
	char name[NAME_MAX_LEN + sizeof(".service")];
	char dir[sizeof(UNITS) + NAME_MAX_LEN + 16];
	char file[sizeof(UNITS) + NAME_MAX_LEN + 64];
};

/*
 * Runs systemctl with these arguments, and gives the beginning of its output. Returns
 * its exit status, or -1 if there is no systemctl, or it was ended by a signal.
 */
static int systemctl(char *out, size_t size, const char *verb, const char *arg,
		     const char *unit)
{
	const char *const argv[] = { "systemctl", verb, arg ? arg : unit,
				     arg ? unit : NULL, NULL };
	int fd[2], status;
	size_t got = 0;
	ssize_t n;
	pid_t pid;

	*out = '\0';
	if (pipe2(fd, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid) {
		dup2(fd[1], STDOUT_FILENO);
		dup2(fd[1], STDERR_FILENO);
		execvp(argv[0], (char **)argv);
		_exit(127);
	}
	close(fd[1]);
	while (pid > 0 && (n = read(fd[0], out + got, size - 1 - got)) > 0)
		got += n;
	close(fd[0]);
	out[got] = '\0';
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
	    WEXITSTATUS(status) == 127)
		return -1;
	return WEXITSTATUS(status);
}

static bool parse_name(struct unit *u, const char *name)
{
	static const char suffix[] = ".service";
	size_t len = strlen(name);
	bool whole = len > strlen(suffix) &&
		     !strcmp(name + len - strlen(suffix), suffix);

	if (!len || len > NAME_MAX_LEN || strspn(name, NAME_CHARS) != len ||
	    *name == '-' || *name == '.') {
		say("\"%s\" is not the name of a unit: " LISTED, name);
		return false;
	}
	if (strrchr(name, '.') && !whole &&
	    (!strcmp(strrchr(name, '.'), ".socket") ||
	     !strcmp(strrchr(name, '.'), ".target"))) {
		say("%s is not a service: sockets that systemd opens stay TCP",
		    name);
		return false;
	}
	snprintf(u->name, sizeof(u->name), "%s%s", name, whole ? "" : suffix);
	snprintf(u->dir, sizeof(u->dir), UNITS "/%s.d", u->name);
	snprintf(u->file, sizeof(u->file), "%s/" DROPIN, u->dir);
	return true;
}

/* Is there a file of that unit, or of its template? */
static bool has_unit(const struct unit *u)
{
	static const char *const dirs[] = {
		UNITS,
		RUNNING,
		"/run/systemd/generator",
		"/run/systemd/generator.late",
		"/usr/local/lib/systemd/system",
		"/usr/lib/systemd/system",
		"/lib/systemd/system",
	};
	const char *at = strchr(u->name, '@');
	char path[512];

	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
		snprintf(path, sizeof(path), "%s/%s", dirs[i], u->name);
		if (!access(path, F_OK))
			return true;
		if (!at)
			continue;
		snprintf(path, sizeof(path), "%s/%.*s@.service", dirs[i],
			 (int)(at - u->name), u->name);
		if (!access(path, F_OK))
			return true;
	}
	return false;
}

/* Value of a property, "NAME=VALUE", or an empty string */
static void property(const struct unit *u, const char *option, char *out,
		     size_t size)
{
	if (access(RUNNING, F_OK) ||
	    systemctl(out, size, "show", option, u->name))
		*out = '\0';
}

/*
 * The end of a word as systemctl has it: in quotes, where a backslash is before some
 * characters, if there is a space or another such character in it. Removes the backslashes.
 */
static char *word_end(char *word, bool quoted)
{
	char *to = word;

	if (!quoted)
		return word + strcspn(word, " ");
	while (*word && *word != '"') {
		word += *word == '\\' && word[1];
		*to++ = *word++;
	}
	if (to != word)
		*to = '\0';
	return word;
}

/* The rest, with a NUL after it, of the word of @list that begins with @name; or NULL */
static char *value_of(char *list, const char *name)
{
	char *word, *end;
	bool quoted;

	for (word = list; *word; word = *end ? end + 1 : end) {
		quoted = *word == '"';
		word += quoted;
		end = word_end(word, quoted);
		if (!strncmp(word, name, strlen(name))) {
			*end = '\0';
			return word + strlen(name);
		}
	}
	return NULL;
}

/* A libsdp.so of another directory counts as ours: it would be called before ours */
static bool is_libsdp(const char *path, const char *library)
{
	const char *slash = strrchr(path, '/');

	return !strcmp(path, library) ||
	       !strcmp(slash ? slash + 1 : path, "libsdp.so");
}

/* Escaped, as in the value of a variable of a unit, with a colon after it */
static void put_path(FILE *f, const char *path)
{
	for (; *path; path++) {
		if (strchr("%\\\"", *path))
			fputc(*path == '%' ? '%' : '\\', f);
		fputc(*path, f);
	}
	fputc(':', f);
}

/* Libraries that the unit preloads already, without ours, each with a colon after it */
static void put_preloaded(FILE *f, const struct unit *u, const char *library)
{
	static char text[1 << 17];
	char *at, *save, *word;

	property(u, "--property=Environment", text, sizeof(text));
	text[strcspn(text, "\n")] = '\0';
	at = strchr(text, '=');
	at = at ? value_of(at + 1, "LD_PRELOAD=") : NULL;
	if (!at)
		return;
	for (word = strtok_r(at, ": ", &save); word;
	     word = strtok_r(NULL, ": ", &save))
		if (!is_libsdp(word, library))
			put_path(f, word);
}

static bool write_dropin(FILE *f, const struct unit *u,
			 const struct unit_settings *set)
{
	char dir[1024];

	snprintf(dir, sizeof(dir), "%.*s",
		 (int)(strrchr(set->library, '/') - set->library),
		 set->library);
	fprintf(f,
		"# Written by sdp-run enable; \"sdp-run disable %s\" removes it\n"
		"[Service]\n"
		"Environment=\"LD_PRELOAD=",
		u->name);
	put_preloaded(f, u, set->library);
	fprintf(f, "%s\"\nExecPaths=-%s\n", set->library, dir);
	if (set->config)
		fprintf(f, "Environment=\"" LIBSDP_CONFIG_ENV "=%s\"\n",
			set->config);
	if (set->only)
		fputs("Environment=" LIBSDP_ONLY_ENV "=1\n", f);
	if (set->verbose)
		fputs("Environment=" LIBSDP_VERBOSE_ENV "=1\n", f);
	return !ferror(f);
}

/* In its place at once, or not at all */
static bool make_dropin(const struct unit *u, const struct unit_settings *set)
{
	char tmp[sizeof(u->file) + 8];
	bool ok;
	FILE *f;

	if (mkdir(u->dir, 0755) && errno != EEXIST)
		return false;
	snprintf(tmp, sizeof(tmp), "%s.new", u->file);
	f = fopen(tmp, "we");
	if (!f)
		return false;
	ok = write_dropin(f, u, set);
	ok = !fclose(f) && ok && !chmod(tmp, 0644) && !rename(tmp, u->file);
	if (!ok)
		unlink(tmp);
	return ok;
}

/* Return: true, after a message, if the drop-in does not reach a program of the unit */
static bool is_unreached(const struct unit *u, const char *library)
{
	char start[1024];

	property(u, "--property=ExecStart", start, sizeof(start));
	if (strstr(start, "path=/bin/true ") ||
	    strstr(start, "path=/usr/bin/true ")) {
		say("%s starts no program", u->name);
		say("enable the unit that does, such as postgresql@17-main");
	} else if (strstr(start, "/pg_ctlcluster ")) {
		say("pg_ctlcluster drops this environment");
		say("add LD_PRELOAD = '%s' to the cluster's file environment in /etc/postgresql",
		    library);
	} else {
		return false;
	}
	return true;
}

/* The user and the group of a service: root's, or those that User= names */
static void unit_user(const struct unit *u, uid_t *uid, gid_t *gid)
{
	const struct passwd *pw;
	char user[256], *name, *end;

	*uid = 0;
	*gid = 0;
	property(u, "--property=User", user, sizeof(user));
	user[strcspn(user, "\n")] = '\0';
	name = strchr(user, '=');
	if (!name || !*++name)
		return;
	pw = getpwnam(name);
	*uid = pw ? pw->pw_uid : strtoul(name, &end, 10);
	*gid = pw ? pw->pw_gid : (gid_t)-1;
	/* a user that exists only as long as the service does is not root */
	if (!pw && *end)
		*uid = (uid_t)-1;
}

/* Does systemd keep privileges of files from the service? */
static bool unit_gets_none(const struct unit *u)
{
	char text[64];

	property(u, "--property=NoNewPrivileges", text, sizeof(text));
	return strstr(text, "=yes");
}

/* Return: true, after a message, if the dynamic linker preloads nothing into a program */
static bool is_closed(const struct unit *u, const char *path)
{
	const char *what;
	uid_t uid;
	gid_t gid;

	if (program_is_static(path)) {
		say("%s starts %s, which is statically linked: nothing can be preloaded",
		    u->name, path);
		say("put sdp-run -s into ExecStart= of the unit");
		return true;
	}
	unit_user(u, &uid, &gid);
	what = program_privileges(path, uid, gid);
	if (!what || unit_gets_none(u))
		return false;
	say("%s starts %s, which %s: %s", u->name, path, what,
	    "the dynamic linker ignores LD_PRELOAD, its sockets remain TCP");
	return true;
}

/* The same for all programs of the unit */
static bool has_closed(const struct unit *u)
{
	static const char path_is[] = "{ path=";
	char start[1 << 14], path[PATH_MAX];
	bool closed = false;
	size_t len;

	property(u, "--property=ExecStart", start, sizeof(start));
	for (char *at = strstr(start, path_is); at && !closed;
	     at = strstr(at, path_is)) {
		at += strlen(path_is);
		len = strcspn(at, " ;\n");
		if (len >= sizeof(path))
			continue;
		memcpy(path, at, len);
		path[len] = '\0';
		closed = is_closed(u, path);
	}
	return closed;
}

/* Units that open sockets for the service */
static void tell_sockets(const struct unit *u)
{
	char text[4096], *save;
	const char *word;
	size_t len;

	property(u, "--property=TriggeredBy", text, sizeof(text));
	for (word = strtok_r(text, "=\n ", &save); word;
	     word = strtok_r(NULL, "=\n ", &save)) {
		len = strlen(word);
		if (len > 7 && !strcmp(word + len - 7, ".socket"))
			say("sockets that systemd opens for it, those of %s, stay TCP",
			    word);
	}
}

static void explain(const char *file)
{
	say("%s: %s%s", file, strerror(errno),
	    errno == EACCES || errno == EPERM ? "; run this as root" : "");
}

/* Make systemd read its files again, if it runs */
static bool reload(void)
{
	char out[512];
	int rc;

	if (access(RUNNING, F_OK))
		return true;
	rc = systemctl(out, sizeof(out), "daemon-reload", NULL, NULL);
	if (rc)
		say("`systemctl daemon-reload` fails: %s", out);
	return !rc;
}

bool unit_enable(const char *name, const struct unit_settings *set)
{
	const char *bad = NULL;
	struct unit u;

	if (!parse_name(&u, name))
		return false;
	if (set->library[strcspn(set->library, " \":%")])
		bad = set->library;
	else if (set->config && set->config[strcspn(set->config, " \"%")])
		bad = set->config;
	if (bad) {
		say("%s: systemd accepts no path with a space, a quote, a colon or a per cent sign",
		    bad);
		return false;
	}
	if (!has_unit(&u)) {
		say("there is no %s: " LISTED, u.name);
		return false;
	}
	if (!make_dropin(&u, set)) {
		explain(u.file);
		return false;
	}
	if (!reload())
		return false;
	if (is_unreached(&u, set->library) || has_closed(&u))
		return true;
	say("%s gets SDP sockets when it starts: `systemctl restart %s`",
	    u.name, u.name);
	tell_sockets(&u);
	return true;
}

bool unit_disable(const char *name)
{
	struct unit u;

	if (!parse_name(&u, name))
		return false;
	if (unlink(u.file)) {
		if (errno == ENOENT || errno == ENOTDIR)
			say("%s is not enabled: there is no %s", u.name,
			    u.file);
		else
			explain(u.file);
		return false;
	}
	/* others may have files there */
	rmdir(u.dir);
	if (!reload())
		return false;
	say("%s gets TCP sockets when it starts: `systemctl restart %s`",
	    u.name, u.name);
	return true;
}
