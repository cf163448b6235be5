// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpbench, the clock, and time of the processors of this host, as /proc/stat has it:
 * for all processes, softirqs included. Calls nothing.
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "sdpbench.h"

/**
 * bench_now() - the time
 *
 * Return: seconds of a clock that is never set.
 */
double bench_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec * 1e-9;
}

/**
 * host_time() - read the times of the processors of this host
 *
 * Return: times since boot, in steps of a tick of user space (10 ms); 0 where
 * there is no /proc/stat.
 */
struct host_time host_time(void)
{
	/* user, nice, system, idle, iowait, irq, softirq */
	uint64_t t[7] = { 0 };
	FILE *f = fopen("/proc/stat", "re");
	uint64_t tick = 1000000000ULL / sysconf(_SC_CLK_TCK);
	int n = 0;

	if (f) {
		n = fscanf(f,
			   "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
			   " %" SCNu64 " %" SCNu64 " %" SCNu64,
			   &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6]);
		fclose(f);
	}
	if (n != 7)
		return (struct host_time){ 0 };
	return (struct host_time){
		.busy = (t[0] + t[1] + t[2] + t[5] + t[6]) * tick,
		.softirq = t[6] * tick,
	};
}
