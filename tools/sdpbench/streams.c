// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpbench, streams: a thread for each connection, and one that reports at regular
 * times what has been sent meanwhile. Calls the client.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "streams.h"

/* ---- intervals ---- */

/**
 * struct intervals - the thread that reports them
 * @streams: the streams that it looks at
 * @n: number of them
 * @lock: protects @end
 * @ended: signalled when @end is set
 * @end: the repetition has ended
 * @start: when it began
 * @last: end of the last interval, seconds after @start
 * @seen: bytes of each stream at @last
 * @thread: the thread
 */
struct intervals {
	struct stream *streams;
	unsigned int n;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool end;
	double start;
	double last;
	uint64_t seen[BENCH_MAX_STREAMS];
	pthread_t thread;
};

/* @stream: number, from 1 on, 0 for all of them */
static void interval_row(const struct intervals *iv, unsigned int stream,
			 double now, uint64_t bytes)
{
	static const enum field shown[] = { F_REPETITION, F_STREAM, F_FROM,
					    F_TO,	  F_BYTES,  F_MBPS,
					    N_FIELDS };
	const struct job *job = iv->streams[0].job;
	const struct client *cl = iv->streams[0].cl;
	struct result res;

	report_columns(cl->opts, "interval", shown);
	client_result(cl, &res, job, "interval");
	result_set(&res, F_REPETITION, job->repetition);
	if (stream)
		result_set(&res, F_STREAM, stream);
	result_set(&res, F_FROM, iv->last);
	result_set(&res, F_TO, now);
	result_set(&res, F_BYTES, bytes);
	result_set(&res, F_MBPS, bytes / (now - iv->last) / 1e6);
	report_row(cl->opts, &res);
}

static void interval_report(struct intervals *iv)
{
	double now = bench_now() - iv->start;
	uint64_t all = 0;

	if (now <= iv->last)
		return;
	for (unsigned int i = 0; i < iv->n; i++) {
		uint64_t sent =
			__atomic_load_n(&iv->streams[i].sent, __ATOMIC_RELAXED);

		if (iv->n > 1)
			interval_row(iv, i + 1, now, sent - iv->seen[i]);
		all += sent - iv->seen[i];
		iv->seen[i] = sent;
	}
	interval_row(iv, 0, now, all);
	iv->last = now;
}

/* Waits until that many seconds after the start. Return: false if the end came first */
static bool interval_wait(struct intervals *iv, double seconds)
{
	double at = iv->start + seconds;
	struct timespec ts = { .tv_sec = at };
	bool end;

	ts.tv_nsec = (at - floor(at)) * 1e9;
	pthread_mutex_lock(&iv->lock);
	while (!iv->end &&
	       pthread_cond_timedwait(&iv->ended, &iv->lock, &ts) != ETIMEDOUT)
		;
	end = iv->end;
	pthread_mutex_unlock(&iv->lock);
	return !end;
}

static void *intervals_main(void *arg)
{
	struct intervals *iv = arg;
	double step = iv->streams[0].cl->opts->interval;

	for (double at = step; interval_wait(iv, at); at += step) {
		interval_report(iv);
		/* intervals that this thread was too late for were part of this one */
		while (at + step <= iv->last)
			at += step;
	}
	interval_report(iv);
	return NULL;
}

static void intervals_start(struct intervals *iv, struct stream *streams,
			    unsigned int n)
{
	pthread_condattr_t attr;

	*iv = (struct intervals){ .streams = streams,
				  .n = n,
				  .start = bench_now() };
	pthread_mutex_init(&iv->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&iv->ended, &attr);
	pthread_condattr_destroy(&attr);
	if (pthread_create(&iv->thread, NULL, intervals_main, iv))
		bench_die("no memory for a thread");
}

static void intervals_stop(struct intervals *iv)
{
	pthread_mutex_lock(&iv->lock);
	iv->end = true;
	pthread_cond_signal(&iv->ended);
	pthread_mutex_unlock(&iv->lock);
	pthread_join(iv->thread, NULL);
	pthread_cond_destroy(&iv->ended);
	pthread_mutex_destroy(&iv->lock);
}

/* ---- streams ---- */

struct sender {
	void (*send)(struct stream *s);
	struct stream *stream;
	pthread_t thread;
};

static void *sender_main(void *arg)
{
	struct sender *sender = arg;

	sender->send(sender->stream);
	return NULL;
}

/* The first in this thread, each of the others in one of its own */
static void send_all(struct stream *streams, unsigned int n,
		     void (*send)(struct stream *s))
{
	struct sender sender[BENCH_MAX_STREAMS];

	for (unsigned int i = 1; i < n; i++) {
		sender[i] =
			(struct sender){ .send = send, .stream = &streams[i] };
		if (pthread_create(&sender[i].thread, NULL, sender_main,
				   &sender[i]))
			bench_die("no memory for a thread");
	}
	send(&streams[0]);
	for (unsigned int i = 1; i < n; i++)
		pthread_join(sender[i].thread, NULL);
}

/* Each reply has the time of a thread of the server, and that of its whole host */
static void add_reply(struct proto_msg *sum, const struct proto_msg *reply)
{
	sum->count += reply->count;
	for (unsigned int i = REPLY_BUSY; i <= REPLY_SOFTIRQ; i++) {
		if (reply->arg[i] > sum->arg[i])
			sum->arg[i] = reply->arg[i];
	}
}

/**
 * streams_run() - one repetition on all connections of the client
 * @cl: client
 * @job: the work of each of them; the replies are summed up there
 * @send: sends on one of them
 */
void streams_run(struct client *cl, struct job *job,
		 void (*send)(struct stream *s))
{
	struct stream streams[BENCH_MAX_STREAMS];
	unsigned int n = cl->opts->streams;
	bool told = cl->opts->interval && job->repetition;
	struct intervals iv;

	for (unsigned int i = 0; i < n; i++)
		streams[i] = (struct stream){ .cl = cl,
					      .job = job,
					      .conn = &cl->conns[i] };
	if (told)
		intervals_start(&iv, streams, n);
	send_all(streams, n, send);
	if (told)
		intervals_stop(&iv);
	job->reply = streams[0].reply;
	for (unsigned int i = 1; i < n; i++)
		add_reply(&job->reply, &streams[i].reply);
}
