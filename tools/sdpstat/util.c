// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* sdpstat: small helpers. */
#include <stdarg.h>
#include <stdlib.h>

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

void *xrealloc(void *p, size_t n, size_t size)
{
	p = reallocarray(p, n, size);
	if (!p)
		die("out of memory");
	return p;
}
