// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpbench, messages on standard error. Calls nothing.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sdpbench.h"

static void vsay(const char *fmt, va_list ap)
{
	fflush(stdout);
	fputs("sdpbench: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

void bench_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsay(fmt, ap);
	va_end(ap);
}

noreturn void bench_die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsay(fmt, ap);
	va_end(ap);
	exit(BENCH_EXIT_FAILED);
}

void flush_output(void)
{
	if (fflush(stdout) || ferror(stdout))
		bench_die("cannot write: %s", strerror(errno));
}
