// SPDX-License-Identifier: GPL-2.0
/*
 * Prices of this machine, for the report: what a byte costs that is copied, in the
 * cache and out of it, or checksummed with CRC32c in three ways; a system call; a
 * switch between two processes. Prints one JSON object, times in ns; each is the
 * best of several turns, since whatever disturbs makes it longer.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TURNS 9
#define HOT_SIZE (16u << 10)
#define COLD_SIZE (256u << 20) /* more than a last-level cache holds */
#define CALLS 20000
#define POLY 0x82f63b78u

static uint32_t table[8][256];
static volatile uint32_t sink;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

static void make_tables(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int bit = 0; bit < 8; bit++)
			c = c & 1 ? c >> 1 ^ POLY : c >> 1;
		table[0][i] = c;
	}
	for (int t = 1; t < 8; t++) {
		for (uint32_t i = 0; i < 256; i++)
			table[t][i] = table[t - 1][i] >> 8 ^
				      table[0][table[t - 1][i] & 0xff];
	}
}

static uint32_t crc_table(uint32_t c, const uint8_t *p, size_t n)
{
	while (n--)
		c = c >> 8 ^ table[0][(c ^ *p++) & 0xff];
	return c;
}

static uint32_t crc_slices(uint32_t c, const uint8_t *p, size_t n)
{
	for (; n >= 8; n -= 8, p += 8) {
		uint64_t w;

		memcpy(&w, p, sizeof(w));
		w ^= c;
		c = 0;
		for (int i = 0; i < 8; i++)
			c ^= table[7 - i][w >> 8 * i & 0xff];
	}
	return crc_table(c, p, n);
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static uint32_t
crc_insn(uint32_t c, const uint8_t *p, size_t n)
{
	uint64_t wide = c;

	for (; n >= 8; n -= 8, p += 8) {
		uint64_t w;

		memcpy(&w, p, sizeof(w));
		wide = __builtin_ia32_crc32di(wide, w);
	}
	return crc_table(wide, p, n);
}
#endif

/* ns per byte of @crc over blocks of an FPDU's size */
static double crc_cost(uint32_t (*crc)(uint32_t, const uint8_t *, size_t),
		       const uint8_t *buf)
{
	double best = 1e9;

	for (int turn = 0; turn < TURNS; turn++) {
		double t = now();

		for (int i = 0; i < 400; i++)
			sink += crc(~0u, buf + i % 8 * 1440, 1440);
		t = (now() - t) / (400.0 * 1440);
		best = t < best ? t : best;
	}
	return best;
}

static double copy_hot(uint8_t *to, const uint8_t *from)
{
	double best = 1e9;

	for (int turn = 0; turn < TURNS; turn++) {
		double t = now();

		for (int i = 0; i < 200; i++) {
			memcpy(to, from, HOT_SIZE);
			sink += to[i];
		}
		t = (now() - t) / (200.0 * HOT_SIZE);
		best = t < best ? t : best;
	}
	return best;
}

/* Pieces of HOT_SIZE, each from memory; @warm: only the destination is cold */
static double copy_cold(uint8_t *to, const uint8_t *from, int warm)
{
	const size_t half = COLD_SIZE / 2;
	double best = 1e9;

	for (int turn = 0; turn < 3; turn++) {
		double t = now();

		for (size_t at = 0; at < half; at += HOT_SIZE) {
			memcpy(to + at, from + (warm ? 0 : at), HOT_SIZE);
			sink += to[at];
		}
		t = (now() - t) / half;
		best = t < best ? t : best;
	}
	return best;
}

static double call_cost(void)
{
	double best = 1e9;

	for (int turn = 0; turn < TURNS; turn++) {
		double t = now();

		for (int i = 0; i < CALLS; i++)
			sink += syscall(SYS_getppid);
		t = (now() - t) / CALLS;
		best = t < best ? t : best;
	}
	return best;
}

/* Half of the time for a byte to another process and back, ns; -1: no process */
static double switch_cost(void)
{
	int there[2], back[2];
	double t = -1;
	char c = 0;
	pid_t pid;

	if (pipe(there) || pipe(back))
		return -1;
	pid = fork();
	if (!pid) {
		close(there[1]);
		while (read(there[0], &c, 1) == 1 && write(back[1], &c, 1) == 1)
			;
		_exit(0);
	}
	if (pid > 0) {
		t = now();
		for (int i = 0; i < CALLS; i++) {
			if (write(there[1], &c, 1) != 1 ||
			    read(back[0], &c, 1) != 1)
				break;
		}
		t = (now() - t) / CALLS / 2;
		close(there[1]);
		waitpid(pid, NULL, 0);
	}
	return t;
}

int main(void)
{
	uint8_t *from = malloc(COLD_SIZE / 2), *to = malloc(COLD_SIZE / 2);
	double insn = -1;

	if (!from || !to) {
		fputs("probe: no memory\n", stderr);
		return 1;
	}
	memset(from, 1, COLD_SIZE / 2);
	memset(to, 2, COLD_SIZE / 2);
	make_tables();
#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.2"))
		insn = crc_cost(crc_insn, from);
#endif
	printf("{\"copy_hot_ns\":%.4f,\"copy_ns\":%.4f,\"copy_cold_ns\":%.4f,",
	       copy_hot(to, from), copy_cold(to, from, 1),
	       copy_cold(to, from, 0));
	printf("\"crc_insn_ns\":%.4f,\"crc_slices_ns\":%.4f,\"crc_table_ns\":%.4f,",
	       insn, crc_cost(crc_slices, from), crc_cost(crc_table, from));
	printf("\"call_ns\":%.1f,\"switch_ns\":%.1f}\n", call_cost(),
	       switch_cost());
	free(from);
	free(to);
	return 0;
}
