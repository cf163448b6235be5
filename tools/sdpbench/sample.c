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

/* A thread that preempts the client and the reader when its time has come */
static int start_first(struct samples *s)
{
	const struct sched_param param = { .sched_priority = SAMPLE_PRIORITY };
	pthread_attr_t attr;
	int err;

	err = pthread_attr_init(&attr);
	if (err)
		return err;
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
	pthread_attr_setschedparam(&attr, &param);
	err = pthread_create(&s->thread, &attr, sample, s);
	pthread_attr_destroy(&attr);
	return err;
}

/**
 * samples_start() - begin to take samples
 * @s: with the socket in it
 * @xp: transport of the socket, which has to be SDP
 * @first: give the thread a real-time priority, as sdpbench --first gives the client one.
 *	Otherwise it would first run when the reader has used up its time slice, which does
 *	not happen if the reader sleeps most of the time
 *
 * Return: 0, or -1 with errno set.
 */
int samples_start(struct samples *s, const struct xport *xp, bool first)
{
	int err = EOPNOTSUPP;

	if (xp->family == AF_SDP)
		err = first ? start_first(s) :
			      pthread_create(&s->thread, NULL, sample, s);
	errno = err;
	return err ? -1 : 0;
}

/**
 * samples_stop() - stop taking samples
 * @s: samples; valid when this returns
 */
void samples_stop(struct samples *s)
{
	atomic_store(&s->stop, true);
	pthread_join(s->thread, NULL);
}
