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

/*
 * The port of the device for a port of the program: the same arithmetic as in the kernel,
 * see sdp_port_map() there.
 */
int device_port(int port, int *offset)
{
	static int by = -1;
	FILE *f = by < 0 ? fopen("/proc/sys/net/sdp/port_offset", "re") : NULL;

	if (f) {
		if (fscanf(f, "%d", &by) != 1)
			by = 0;
		fclose(f);
	}
	if (by < 0)
		by = 0;
	if (offset)
		*offset = by;
	if (!by || !port)
		return port;
	if (port >= 1024)
		return 1024 + (port - 1024 + by) % (65536 - 1024);
	return port + by < 1024 ? 1024 : port + by;
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
