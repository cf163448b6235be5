// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * libsdp over a kernel that has SDP sockets, or says so: its calls are those of
 * tools/libsdp, linked into this program, and what they ask for by syscall() comes
 * here first. Sockets of TCP stand for those of SDP.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/sdp.h>

#include "../../tools/libsdp/log.h"
#include "unit.h"

long syscall(long nr, ...);

static int sdp_refusal; /* why there is no socket of SDP, or 0 */
static int door_refusal; /* the same of IPPROTO_SDP */
static int attempts; /* sockets of SDP that were asked for */
static int sdp_answers; /* so often the socket is one of SDP still */
static int sdp_version; /* its protocol */

/* Rules by address, before libsdp looks for them */
static __attribute__((constructor(101))) void rules(void)
{
	static const char rule[] = "use tcp client * 10.0.0.0/8:*\n";
	int fd = memfd_create("rules", 0);
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (write(fd, rule, sizeof(rule) - 1) != sizeof(rule) - 1 ||
	    setenv("LIBSDP_CONFIG_FILE", path, 1))
		abort();
}

/* The answer of a socket of the other family; false: use the kernel's */
static bool pretend(int level, int name, int *val)
{
	if (level != SOL_SOCKET || (name != SO_DOMAIN && name != SO_PROTOCOL) ||
	    sdp_answers <= 0)
		return false;
	sdp_answers--;
	*val = name == SO_DOMAIN ? AF_SDP : sdp_version;
	return true;
}

/* The kernel itself */
static long enter(long nr, const long *a)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = a[3];
	register long r8 __asm__("r8") = a[4];
	long ret = nr;

	__asm__ volatile("syscall"
			 : "+a"(ret)
			 : "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
#else
	register long x8 __asm__("x8") = nr;
	register long ret __asm__("x0") = a[0];
	register long x1 __asm__("x1") = a[1];
	register long x2 __asm__("x2") = a[2];
	register long x3 __asm__("x3") = a[3];
	register long x4 __asm__("x4") = a[4];

	__asm__ volatile("svc 0"
			 : "+r"(ret)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
			 : "memory");
#endif
	if (ret < 0 && ret > -4096) {
		errno = -ret;
		return -1;
	}
	return ret;
}

long syscall(long nr, ...)
{
	long a[5];
	va_list ap;

	va_start(ap, nr);
	for (int i = 0; i < 5; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	attempts += nr == SYS_socket && a[0] == AF_SDP;
	if (nr == SYS_socket && a[0] == AF_SDP && sdp_refusal) {
		errno = sdp_refusal;
		return -1;
	}
	if (nr == SYS_socket && a[2] == IPPROTO_SDP && door_refusal) {
		errno = door_refusal;
		return -1;
	}
	if (nr == SYS_getsockopt && pretend(a[1], a[2], (int *)a[3]))
		return 0;
	if (nr == SYS_setsockopt && (int)a[1] == SOL_SDP)
		return 0;
	return enter(nr, a);
}

static int tcp_socket(int family)
{
	long a[5] = { family, SOCK_STREAM, 0 };
	int fd = enter(SYS_socket, a);

	CHECK(fd >= 0);
	return fd;
}

static int asked(int fd, int name)
{
	socklen_t len = sizeof(int);
	int val = -1;

	CHECK_EQ(getsockopt(fd, SOL_SOCKET, name, &val, &len), 0);
	return val;
}

/* A socket that becomes one of TCP after any of the questions asked of it */
static void becomes_tcp(int family, int version)
{
	int fd = tcp_socket(family);

	sdp_version = version;
	for (int n = 0; n < 6; n++) {
		sdp_answers = n;
		CHECK_EQ(asked(fd, SO_DOMAIN), family);
		sdp_answers = n;
		CHECK_EQ(asked(fd, SO_PROTOCOL), IPPROTO_TCP);
	}
	sdp_answers = 0;
	close(fd);
}

static void test_becomes_tcp(void)
{
	becomes_tcp(AF_INET, SDPPROTO_SDP);
	becomes_tcp(AF_INET6, SDPPROTO_SDP6);
}

static void test_others(void)
{
	int fd[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	CHECK_EQ(asked(fd[0], SO_DOMAIN), AF_UNIX);
	CHECK_EQ(asked(fd[0], SO_PROTOCOL), 0);
	close(fd[0]);
	close(fd[1]);
}

/* An address at @at is none: the answer is the kernel's */
static void bad_address(const void *at, socklen_t len)
{
	int fd = tcp_socket(AF_INET);

	sdp_answers = 1000;
	errno = 0;
	CHECK_EQ(bind(fd, at, len), -1);
	CHECK_EQ(errno, EFAULT);
	errno = 0;
	CHECK_EQ(connect(fd, at, len), -1);
	CHECK_EQ(errno, EFAULT);
	sdp_answers = 0;
	close(fd);
}

static void test_bad_address(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sockaddr_in in = { .sin_family = AF_INET };

	CHECK(p != MAP_FAILED);
	munmap(p + page, page);
	bad_address(p + page, sizeof(struct sockaddr_in));
	memcpy(p + page - 8, &in, 8);
	bad_address(p + page - 8, sizeof(in));
	memcpy(p + page - 1, &in, 1);
	bad_address(p + page - 1, sizeof(in));
	munmap(p, page);
}

static void test_good_address(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	int fd = tcp_socket(AF_INET);

	sdp_answers = 1000;
	errno = 77;
	CHECK_EQ(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
	CHECK_EQ(errno, 77);
	sdp_answers = 0;
	close(fd);
}

/* Whether the next socket would be one of SDP, after one that is refused */
static bool asks_again(int why)
{
	sdp_refusal = EAFNOSUPPORT;
	door_refusal = why;
	attempts = 0;
	for (int i = 0; i < 2; i++)
		close(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	sdp_refusal = 0;
	door_refusal = 0;
	return attempts == 2;
}

/* Groups of a program and limits change; a kernel without SDP is asked once */
static void test_again(void)
{
	CHECK(asks_again(EACCES));
	CHECK(asks_again(EPERM));
	CHECK(asks_again(EMFILE));
	CHECK(!asks_again(EPROTONOSUPPORT));
}

/* No such family, or none that a sandbox or a security module lets through */
static void test_refused(void)
{
	static const int why[] = { EAFNOSUPPORT, EACCES, EPERM,
				   EPROTONOSUPPORT };
	int fd;

	for (size_t i = 0; i < ARRAY_LEN(why); i++) {
		sdp_refusal = why[i];
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (CHECK(fd >= 0))
			CHECK_EQ(asked(fd, SO_PROTOCOL), IPPROTO_TCP);
		close(fd);
	}
	errno = 0;
	CHECK_EQ(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | 0x100, 0), -1);
	CHECK_EQ(errno, EINVAL);
	sdp_refusal = 0;
}

/* A message to standard error, which is @fd, read from @from: its end, or nothing */
static void log_to(int fd, int from, char text[64])
{
	static const struct libsdp_rules rules = { .log = LIBSDP_LOG_STDERR };
	int saved = dup(STDERR_FILENO);
	char line[512];
	ssize_t n;

	dup2(fd, STDERR_FILENO);
	libsdp_log(&rules, LIBSDP_LOG_ERROR, "to %s", "it\033\nforged");
	dup2(saved, STDERR_FILENO);
	close(saved);
	fcntl(from, F_SETFL, O_NONBLOCK);
	n = read(from, line, sizeof(line) - 1);
	line[n > 0 ? n : 0] = '\0';
	snprintf(text, 64, "%s", n > 0 ? strstr(line, ": to") : "");
}

/* A daemon may have opened something else in the place of standard error */
static void test_stderr(void)
{
	char text[64], path[64];
	int fd[2], file;

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	log_to(fd[0], fd[1], text);
	CHECK(!*text);
	close(fd[0]);
	close(fd[1]);
	CHECK_EQ(pipe(fd), 0);
	log_to(fd[1], fd[0], text);
	CHECK(!strcmp(text, ": to it??forged\n"));
	close(fd[0]);
	close(fd[1]);
	fd[0] = memfd_create("data", 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd[0]);
	for (int append = 0; append < 2; append++) {
		file = open(path, O_WRONLY | (append ? O_APPEND : 0));
		log_to(file, fd[0], text);
		CHECK_EQ(!*text, !append);
		close(file);
	}
	close(fd[0]);
}

static const struct unit_test tests[] = {
	{ "a socket that becomes one of TCP", test_becomes_tcp },
	{ "other sockets", test_others },
	{ "addresses that cannot be read", test_bad_address },
	{ "addresses that can", test_good_address },
	{ "messages without standard error", test_stderr },
	{ "sockets that are refused for now", test_again },
	{ "sockets that are refused", test_refused },
};

int main(void)
{
	return unit_main("libsdp", tests, ARRAY_LEN(tests));
}
