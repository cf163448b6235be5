/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sdpbench, the active end: its interface for tests.
 */
#ifndef SDPBENCH_CLIENT_H
#define SDPBENCH_CLIENT_H

#include "buffers.h"
#include "proto.h"
#include "report.h"
#include "stats.h"

/**
 * struct client - connections over one transport
 * @opts: command line
 * @xp: the transport
 * @conns: a connection to each server, or several to one
 * @n: number of them
 * @in: memory to receive into
 * @in_len: its size, not below that of the largest message
 * @reply: seconds that the last reply takes, if they do not count
 */
struct client {
	const struct bench_opts *opts;
	const struct xport *xp;
	struct conn *conns;
	unsigned int n;
	char *in;
	size_t in_len;
	double reply;
};

/**
 * struct job - what a repetition does
 * @run: does it; the time in it counts. The reply to the request is left in @reply
 * @size: bytes of a message
 * @count: messages or iterations, 0: as many as take the time asked for
 * @first: the count to begin with where @count is 0
 * @compute_ns: computation for each, ns; how is in the options
 * @burst: messages of a burst
 * @servers: connections that take part, of test_hot()
 * @answer: bytes of an answer
 * @sample: look at the receive buffers meanwhile
 * @repetition: number of the present one, from 1 on; 0: one that does not count
 * @with_nic: NICs work while hosts wait for them, so that their time counts
 * @us: us of each iteration, room for all repetitions; in @run that of the present
 *	one. NULL: not wanted
 * @bufs: memory of messages
 * @reply: of the server
 */
struct job {
	void (*run)(struct client *cl, struct job *job);
	uint32_t size;
	uint64_t count;
	uint64_t first;
	uint64_t compute_ns;
	uint32_t burst;
	unsigned int servers;
	uint32_t answer;
	bool sample;
	unsigned int repetition;
	bool with_nic;
	double *us;
	struct buffers bufs;
	struct proto_msg reply;
};

/**
 * struct series - the repetitions of a job
 * @n: number of them
 * @sec: how long each took, without the time of NICs unless the job says with_nic
 * @total: seconds that passed in all of them
 * @nic: seconds that NICs worked
 * @cpu_local: processor time of this process, ns
 * @cpu_peer: processor time of the server, ns
 * @local: times of the processors of this host
 * @peer: times of those of the server's host
 * @util: sum of the samples of all repetitions
 * @samples: number of samples
 */
struct series {
	unsigned int n;
	double sec[BENCH_MAX_REPS];
	double total;
	double nic;
	uint64_t cpu_local;
	uint64_t cpu_peer;
	struct host_time local;
	struct host_time peer;
	double util;
	uint64_t samples;
};

/* Calls of a test's run() */
void client_request(struct conn *c, const struct proto_msg *req);
void client_reply(struct conn *c, enum proto_op op, struct proto_msg *reply);
void client_send(struct conn *c, const void *buf, size_t len);
void client_recv(struct conn *c, void *buf, size_t len);

/* Calls of a test */
void client_measure(struct client *cl, struct job *job, struct series *s);
void client_result(const struct client *cl, struct result *res,
		   const struct job *job, const char *test);
void client_row(const struct client *cl, struct result *res, enum field f,
		bool more_is_better);
void client_hosts(const struct series *s, struct result *res);
void client_bandwidth(const struct client *cl, struct series *s,
		      const struct job *job, double ways, struct result *res);
void client_latency(const struct client *cl, struct series *s, struct job *job,
		    double parts, struct result *res);

void client_open(struct client *cl, const struct bench_opts *opts,
		 const struct xport *xp, uint32_t largest);
void client_close(struct client *cl);

/**
 * struct test - a kind of test
 * @name: as given on the command line
 * @run: measures and reports one size over one transport
 * @latency: message sizes are those of latency
 * @sizes: message sizes where the command line has none
 * @compute: computation where the command line has none, us
 * @compute_way: how, there
 */
struct test {
	const char *name;
	void (*run)(struct client *cl, const struct test *test, uint32_t size);
	bool latency;
	struct sizes sizes;
	struct sizes compute;
	enum compute_way compute_way;
};

extern const struct test bench_tests[];
extern const unsigned int bench_n_tests;

/* The kinds */
void test_bw(struct client *cl, const struct test *test, uint32_t size);
void test_lat(struct client *cl, const struct test *test, uint32_t size);
void test_bibw(struct client *cl, const struct test *test, uint32_t size);
void test_bilat(struct client *cl, const struct test *test, uint32_t size);
void test_overlap(struct client *cl, const struct test *test, uint32_t size);
void test_progress(struct client *cl, const struct test *test, uint32_t size);
void test_util(struct client *cl, const struct test *test, uint32_t size);
void test_hot(struct client *cl, const struct test *test, uint32_t size);

/* Of test_bw.c, which other tests are made of */
void bw_stream(struct client *cl, struct job *job);

#endif /* SDPBENCH_CLIENT_H */
