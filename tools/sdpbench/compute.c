// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpbench, computation beside communication: spin for a number of rounds, or sleep.
 * A spin is measured in rounds and not in time, so interruptions make it longer.
 * Calls host.c for the time.
 */
#include <sys/prctl.h>
#include <time.h>

#include "sdpbench.h"

#define TRIALS 5
#define TRIAL_ROUNDS 200000

static double rounds_per_ns;

/* Not inlined: with a constant argument the compiler could make a round shorter, and
 * rounds_per_ns would not apply.
 */
static __attribute__((noinline)) void work(uint64_t rounds)
{
	for (uint64_t i = 0; i < rounds; i++)
		__asm__ volatile("" ::: "memory");
}

/**
 * compute_init() - calibrate: measure how many rounds take a nanosecond
 */
void compute_init(void)
{
	double best = 0;

	prctl(PR_SET_TIMERSLACK, 1);
	for (int i = 0; i < TRIALS; i++) {
		double start = bench_now(), rate;

		work(TRIAL_ROUNDS);
		rate = TRIAL_ROUNDS / ((bench_now() - start) * 1e9 + 1);
		best = rate > best ? rate : best;
	}
	rounds_per_ns = best;
}

/**
 * compute() - compute, or sleep instead
 * @way: to spin or to sleep
 * @ns: nanoseconds
 */
void compute(enum compute_way way, uint64_t ns)
{
	struct timespec ts = { .tv_sec = ns / 1000000000,
			       .tv_nsec = ns % 1000000000 };

	if (!ns)
		return;
	if (way == COMPUTE_SLEEP)
		nanosleep(&ts, NULL);
	else
		work(ns * rounds_per_ns);
}
