/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Harness of the unit tests: a test is a function; a program has a table of
 * them and prints TAP. Memory errors are the sanitizers' business, therefore
 * input is always handed over in memory of exactly its size.
 */
#ifndef SELFTESTS_UNIT_UNIT_H
#define SELFTESTS_UNIT_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct vector {
	const char *name;
	const unsigned char *data;
	size_t len;
};

struct unit_test {
	const char *name;
	void (*run)(void);
};

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Fail the test that is running, and go on. */
#define CHECK(cond) unit_check(cond, __FILE__, __LINE__, #cond)
#define CHECK_EQ(a, b)                                                  \
	unit_check_eq((uint64_t)(a), (uint64_t)(b), __FILE__, __LINE__, \
		      #a " == " #b)

bool unit_check(bool ok, const char *file, int line, const char *what);
bool unit_check_eq(uint64_t a, uint64_t b, const char *file, int line,
		   const char *what);
int unit_main(const char *program, const struct unit_test *tests, size_t n);

/* Repeatable random numbers. */
uint32_t unit_random(void);
uint32_t unit_below(uint32_t limit);
void unit_random_bytes(unsigned char *p, size_t len);

/* A copy in memory of exactly this size; free() it. */
unsigned char *unit_copy(const void *data, size_t len);

/* Register of CRC32c, preset and final inversion are the caller's. */
uint32_t unit_crc32c(uint32_t reg, const unsigned char *p, size_t len);

/* The vectors of vectors.h, by name; NULL ends the program. */
const struct vector *unit_vector(const char *name);
size_t unit_vector_count(void);
const struct vector *unit_vector_at(size_t i);

#endif /* SELFTESTS_UNIT_UNIT_H */
