// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Harness of the unit tests, see unit.h.
 */
#include <stdio.h>

#include "unit.h"
#include "vectors.h"

static unsigned int failures;
static uint64_t random_state = 0x5044504150404d50ull;

bool unit_check(bool ok, const char *file, int line, const char *what)
{
	if (ok)
		return true;
	if (failures++ < 20)
		printf("# %s:%d: not true: %s\n", file, line, what);
	return false;
}

bool unit_check_eq(uint64_t a, uint64_t b, const char *file, int line,
		   const char *what)
{
	if (a == b)
		return true;
	if (failures++ < 20)
		printf("# %s:%d: %s: 0x%llx != 0x%llx\n", file, line, what,
		       (unsigned long long)a, (unsigned long long)b);
	return false;
}

int unit_main(const char *program, const struct unit_test *tests, size_t n)
{
	unsigned int bad = 0;
	size_t i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n1..%zu\n", n);
	for (i = 0; i < n; i++) {
		failures = 0;
		tests[i].run();
		bad += failures ? 1 : 0;
		printf("%s %zu - %s: %s\n", failures ? "not ok" : "ok", i + 1,
		       program, tests[i].name);
	}
	return bad ? 1 : 0;
}

uint32_t unit_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 16);
}

uint32_t unit_below(uint32_t limit)
{
	return unit_random() % limit;
}

void unit_random_bytes(unsigned char *p, size_t len)
{
	while (len--)
		*p++ = (unsigned char)unit_random();
}

unsigned char *unit_copy(const void *data, size_t len)
{
	unsigned char *p = malloc(len ? len : 1);

	if (!p)
		abort();
	if (len)
		memcpy(p, data, len);
	return p;
}

uint32_t unit_crc32c(uint32_t reg, const unsigned char *p, size_t len)
{
	static uint32_t table[256];
	uint32_t i, k, v;

	if (!table[1]) {
		for (i = 0; i < 256; i++) {
			for (v = i, k = 0; k < 8; k++)
				v = v >> 1 ^ (v & 1 ? 0x82f63b78u : 0);
			table[i] = v;
		}
	}
	while (len--)
		reg = table[(reg ^ *p++) & 255] ^ reg >> 8;
	return reg;
}

const struct vector *unit_vector_at(size_t i)
{
	return &all_vectors[i];
}

size_t unit_vector_count(void)
{
	return ARRAY_LEN(all_vectors);
}

const struct vector *unit_vector(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_LEN(all_vectors); i++)
		if (!strcmp(all_vectors[i].name, name))
			return &all_vectors[i];
	fprintf(stderr, "no vector %s\n", name);
	abort();
}
