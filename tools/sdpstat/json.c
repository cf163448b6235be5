// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* sdpstat: a JSON writer. */
#include "sdpstat.h"

static void json_string(struct json *j, const char *s)
{
	fputc('"', j->f);
	for (; *s; s++) {
		unsigned char c = *s;

		if (c == '"' || c == '\\')
			fprintf(j->f, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			fprintf(j->f, "\\u%04x", c);
		else
			fputc(c, j->f);
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
