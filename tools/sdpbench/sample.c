// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpbench, samples of how much of a socket's receive memory holds data, as
 * SDP_INFO tells. Calls nothing.
 */
#include <errno.h>
#include <sys/prctl.h>
#include <time.h>

#include <linux/sdp.h>

#include "sample.h"

#define SAMPLE_NS 20000

static void *sample(void *arg)
{
	const struct timespec pause = { .tv_nsec = SAMPLE_NS };
	struct samples *s = arg;

	prctl(PR_SET_TIMERSLACK, 1);
	while (!atomic_load(&s->stop)) {
		struct sdp_info info = { 0 };
		socklen_t len = sizeof(info);

		nanosleep(&pause, NULL);
		if (getsockopt(s->fd, SOL_SDP, SDP_INFO, &info, &len) ||
		    !info.rx_reserved)
			continue;
		s->sum += (double)info.rx_queue / info.rx_reserved;
		s->n++;
	}
	return NULL;
}

/**
 * samples_start() - begin to take samples
 * @s: with the socket in it
 * @xp: transport of the socket, which has to be SDP
 *
 * Return: 0, or -1 with errno set.
 */
int samples_start(struct samples *s, const struct xport *xp)
{
	int err = EOPNOTSUPP;

	if (xp->family == AF_SDP)
		err = pthread_create(&s->thread, NULL, sample, s);
	errno = err;
	return err ? -1 : 0;
}

/**
 * samples_stop() - no more
 * @s: samples
 */
void samples_stop(struct samples *s)
{
	atomic_store(&s->stop, true);
	pthread_join(s->thread, NULL);
}
