/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sdpbench, samples of how much of a socket's receive memory holds data.
 */
#ifndef SDPBENCH_SAMPLE_H
#define SDPBENCH_SAMPLE_H

#include <pthread.h>
#include <stdatomic.h>

#include "sdpbench.h"

/**
 * struct samples - samples of one socket, taken by a thread
 * @fd: the socket
 * @thread: the thread
 * @stop: the thread is to end
 * @n: number of samples
 * @sum: of their values, each from 0 to 1
 */
struct samples {
	int fd;
	pthread_t thread;
	atomic_bool stop;
	uint64_t n;
	double sum;
};

int samples_start(struct samples *s, const struct xport *xp, bool first);
void samples_stop(struct samples *s);

#endif /* SDPBENCH_SAMPLE_H */
