// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * libsdp, log. Calls the C library and the kernel only.
 *
 * The library lives in programs that close descriptors which they have not
 * opened, and that run as root: nothing is kept open, and a file is written to
 * only if no other user can have replaced it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "log.h"

#define LOG_LINE 512

bool libsdp_logs(const struct libsdp_rules *rules, int level)
{
	if (level >= LIBSDP_LOG_ERROR)
		return true;
	return rules->log != LIBSDP_LOG_NONE && level >= rules->log_level;
}

static bool mine(const struct stat *st)
{
	return st->st_uid == geteuid() || !st->st_uid;
}

/* A descriptor of the log, or -1 and why not. */
static int open_log(const char *path, const char **why)
{
	const char *name = strrchr(path, '/') + 1;
	struct stat st;
	char dir[256];
	int at, fd;

	snprintf(dir, sizeof(dir), "%.*s", (int)(name - path), path);
	at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	*why = "its directory cannot be opened";
	if (at < 0 || fstat(at, &st))
		goto out;
	*why = "its directory can be written by others";
	if ((st.st_mode & 022) || !mine(&st))
		goto out;
	*why = "it cannot be opened for writing";
	fd = openat(at, name,
		    O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC |
			    O_NONBLOCK | O_NOCTTY,
		    0600);
	if (fd < 0)
		goto out;
	*why = "it is not an ordinary file of this user";
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_nlink != 1 ||
	    !mine(&st)) {
		close(fd);
		goto out;
	}
	close(at);
	return fd;
out:
	if (at >= 0)
		close(at);
	return -1;
}

bool libsdp_log_check(const char *path, const char **why)
{
	int fd = open_log(path, why);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

static struct stat first_stderr; /* st_mode is 0 if there was none */

/* Constructors of other libraries may cause messages before this one runs */
static __attribute__((constructor)) void see_stderr(void)
{
	static bool seen;

	if (!seen && fstat(STDERR_FILENO, &first_stderr))
		first_stderr.st_mode = 0;
	seen = true;
}

/*
 * Daemons close standard error, or give it another file for messages. A connection, or a
 * file of data, may have its number then.
 */
static bool is_stderr(void)
{
	struct stat st;

	see_stderr();
	if (fstat(STDERR_FILENO, &st))
		return false;
	if (first_stderr.st_mode && st.st_dev == first_stderr.st_dev &&
	    st.st_ino == first_stderr.st_ino)
		return true;
	return !S_ISSOCK(st.st_mode) &&
	       (!S_ISREG(st.st_mode) ||
		(fcntl(STDERR_FILENO, F_GETFL) & O_APPEND));
}

/*
 * The name from argv[0] is not trusted: a line of its own, or a control sequence for a
 * terminal, must not come from it.
 */
static void hide_controls(char *line, int n)
{
	for (int i = 0; i < n; i++)
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = '?';
}

/* If there is no place for it, the message is lost. */
static void put(int fd, const char *line, size_t len)
{
	ssize_t n = write(fd, line, len);

	(void)n;
}

static void to_file(const char *path, const char *line, size_t len)
{
	const char *why;
	int fd = open_log(path, &why);

	if (fd < 0)
		return;
	put(fd, line, len);
	close(fd);
}

static void to_syslog(const char *line, size_t len)
{
	const struct sockaddr_un sa = { AF_UNIX, "/dev/log" };
	char text[LOG_LINE + 8];
	int fd, n;

	/* user.notice; without the line feed */
	n = snprintf(text, sizeof(text), "<13>%.*s", (int)len - 1, line);
	fd = syscall(SYS_socket, AF_UNIX,
		     SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	sendto(fd, text, n, MSG_NOSIGNAL, (const struct sockaddr *)&sa,
	       sizeof(sa));
	close(fd);
}

void libsdp_log(const struct libsdp_rules *rules, int level, const char *fmt,
		...)
{
	int saved = errno, n, m;
	char line[LOG_LINE];
	va_list ap;

	if (!libsdp_logs(rules, level))
		return;
	n = snprintf(line, sizeof(line),
		     "libsdp: %s[%d]: ", program_invocation_short_name,
		     (int)getpid());
	if (n >= (int)sizeof(line) - 2)
		n = 0;
	errno = saved;
	va_start(ap, fmt);
	m = vsnprintf(line + n, sizeof(line) - 1 - n, fmt, ap);
	va_end(ap);
	n = n + m < (int)sizeof(line) - 2 ? n + m : (int)sizeof(line) - 2;
	hide_controls(line, n);
	line[n++] = '\n';

	if (rules->log == LIBSDP_LOG_FILE)
		to_file(rules->log_file, line, n);
	else if (rules->log == LIBSDP_LOG_SYSLOG)
		to_syslog(line, n);
	else if (is_stderr())
		put(STDERR_FILENO, line, n);
	errno = saved;
}

void libsdp_addr_text(const struct sockaddr *addr, char text[LIBSDP_ADDR_TEXT])
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)addr;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)addr;
	char ip[INET6_ADDRSTRLEN] = "?";

	if (addr->sa_family == AF_INET) {
		inet_ntop(AF_INET, &v4->sin_addr, ip, sizeof(ip));
		snprintf(text, LIBSDP_ADDR_TEXT, "%s:%d", ip,
			 ntohs(v4->sin_port));
	} else {
		inet_ntop(AF_INET6, &v6->sin6_addr, ip, sizeof(ip));
		snprintf(text, LIBSDP_ADDR_TEXT, "[%s]:%d", ip,
			 ntohs(v6->sin6_port));
	}
}
