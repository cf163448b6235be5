// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* sdp-run, messages. See say.h. */
#include <stdarg.h>
#include <stdio.h>

#include "say.h"

void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("sdp-run: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
}
