// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* sdpstat: a JSON writer. */
#include "sdpstat.h"

/* Bytes of the character of UTF-8 that begins there; 0 if none does, RFC 3629 */
int utf8_length(const unsigned char *s)
{
	unsigned int low = 0x80, high = 0xbf;
	int n, i;

	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	n = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	/* no longer than need be, no surrogate, none above U+10FFFF */
	if (s[0] == 0xe0)
		low = 0xa0;
	else if (s[0] == 0xed)
		high = 0x9f;
	else if (s[0] == 0xf0)
		low = 0x90;
	else if (s[0] == 0xf4)
		high = 0x8f;
	for (i = 1; i < n; i++, low = 0x80, high = 0xbf)
		if (s[i] < low || s[i] > high)
			return 0;
	return n;
}

/* Names of processes are cut off at some byte, or hold anything. */
static void json_string(struct json *j, const char *s)
{
	int n;

	fputc('"', j->f);
	for (; *s; s += n ? n : 1) {
		unsigned char c = *s;

		n = utf8_length((const unsigned char *)s);
		if (!n)
			fputs("\\ufffd", j->f);
		else if (c == '"' || c == '\\')
			fprintf(j->f, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			fprintf(j->f, "\\u%04x", c);
		else
			fwrite(s, 1, n, j->f);
	}
	fputc('"', j->f);
}

static void json_next(struct json *j, const char *name)
{
	if (j->more[j->depth])
		fputc(',', j->f);
	j->more[j->depth] = true;
	if (name) {
		json_string(j, name);
		fputc(':', j->f);
	}
}

void json_start(struct json *j, FILE *f)
{
	j->f = f;
	j->depth = 0;
	j->more[0] = false;
	json_open(j, NULL, '{');
}

void json_open(struct json *j, const char *name, char bracket)
{
	json_next(j, name);
	fputc(bracket, j->f);
	j->depth++;
	j->more[j->depth] = false;
}

void json_close(struct json *j, char bracket)
{
	j->depth--;
	fputc(bracket, j->f);
}

void json_str(struct json *j, const char *name, const char *s)
{
	json_next(j, name);
	json_string(j, s);
}

void json_u64(struct json *j, const char *name, uint64_t v)
{
	json_next(j, name);
	fprintf(j->f, "%llu", (unsigned long long)v);
}

void json_s64(struct json *j, const char *name, int64_t v)
{
	json_next(j, name);
	fprintf(j->f, "%lld", (long long)v);
}

void json_double(struct json *j, const char *name, double v)
{
	json_next(j, name);
	fprintf(j->f, "%.3f", v);
}

void json_bool(struct json *j, const char *name, bool v)
{
	json_next(j, name);
	fputs(v ? "true" : "false", j->f);
}

void json_end(struct json *j)
{
	json_close(j, '}');
	fputc('\n', j->f);
	fflush(j->f);
}
