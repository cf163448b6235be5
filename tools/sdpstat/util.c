// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* sdpstat: small helpers. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sdpstat.h"

void die(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("sdpstat: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

void flush_output(void)
{
	if (fflush(stdout) || ferror(stdout))
		die("cannot write: %s", strerror(errno));
}

void bad_use(const char *arg, const char *what)
{
	fprintf(stderr, "sdpstat: '%s' is %s: see 'sdpstat --help'\n", arg,
		what);
	exit(2);
}

uint64_t parse_number(const char *arg, int base, const char *what)
{
	unsigned long long v;
	char *end;

	errno = 0;
	v = strtoull(arg, &end, base);
	if (errno || end == arg || *end || *arg == '-' || !v)
		bad_use(arg, what);
	return v;
}

void *xrealloc(void *p, size_t n, size_t size)
{
	p = reallocarray(p, n, size);
	if (!p)
		die("out of memory");
	return p;
}
