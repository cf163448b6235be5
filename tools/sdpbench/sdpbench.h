/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sdpbench: declarations that its files share. From top to bottom:
 *
 *   main.c        which end, which tests in which order
 *   options.c     the command line
 *   compare.c     two transports side by side
 *   test_*.c      the tests, a file for each kind; the table of them is in tests.c
 *   streams.c     several connections at once, reports by interval
 *   client.c      the active end: connections, repetitions
 *   server.c      the passive end
 *   report.c      results for people and for programs
 *   stats.c       medians, trimmed means, confidence intervals
 *   buffers.c     memory that messages are sent from
 *   compute.c     computation beside communication
 *   sample.c      how full a receive buffer is, by a thread that looks at it
 *   proto.c       messages between both ends
 *   conn.c        ways to send, to receive and to wait
 *   xport.c       the transports: sockets of a family, rsockets
 *   smc.c         is a connection of SMC over RDMA?
 *   host.c, nic.c time of processors and of simulated NICs
 *   say.c         messages on standard error
 *   mark.h        instructions that mark what is measured for an emulator
 */
#ifndef SDPBENCH_H
#define SDPBENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdnoreturn.h>
#include <poll.h>
#include <sys/socket.h>

#define BENCH_PORT 7471
#define BENCH_MAX_SIZES 32
#define BENCH_MAX_SIZE (64U << 20)
#define BENCH_MAX_REPS 1000
#define BENCH_MAX_BUFFERS 65536
#define BENCH_MAX_HOSTS 64
#define BENCH_MAX_STREAMS 64

/* Real-time priorities with --first: of the client, and of the thread in sample.c */
#define FIRST_PRIORITY 10
#define SAMPLE_PRIORITY 15
#define BENCH_TRIM_REPS 10 /* repetitions that a trimmed mean needs */

#define BENCH_PRINTF(f, a) __attribute__((format(printf, f, a)))

/* Exit statuses */
enum {
	BENCH_EXIT_OK = 0,
	BENCH_EXIT_FAILED = 1, /* the measurement did not succeed */
	BENCH_EXIT_USAGE = 2,
	BENCH_EXIT_STALLED = 3, /* a time limit was reached */
};

noreturn void bench_die(const char *fmt, ...) BENCH_PRINTF(1, 2);
void flush_output(void); /* of standard output; on an error, end the program */
void bench_warn(const char *fmt, ...) BENCH_PRINTF(1, 2);

/**
 * struct xport - a transport: calls with the meaning of the socket calls
 * @name: as given on the command line
 * @family: address family of its sockets, AF_UNSPEC for that of the address
 * @kernel: its descriptors are those of the kernel
 * @place: number that is added to --port where several transports are served
 * @socket: and the other calls: as the system calls of that name
 */
struct xport {
	const char *name;
	int family;
	bool kernel;
	uint16_t place;
	int (*socket)(int domain, int type, int protocol);
	int (*bind)(int fd, const struct sockaddr *addr, socklen_t len);
	int (*listen)(int fd, int backlog);
	int (*accept)(int fd, struct sockaddr *addr, socklen_t *len);
	int (*connect)(int fd, const struct sockaddr *addr, socklen_t len);
	ssize_t (*send)(int fd, const void *buf, size_t len, int flags);
	ssize_t (*recv)(int fd, void *buf, size_t len, int flags);
	int (*setsockopt)(int fd, int level, int name, const void *val,
			  socklen_t len);
	int (*poll)(struct pollfd *fds, nfds_t n, int timeout);
	int (*close)(int fd);
};

const struct xport *xport_get(const char *name);
int xport_listen(const struct xport *xp, const char *host, uint16_t port,
		 int family);
int xport_connect(const struct xport *xp, const char *host, uint16_t port,
		  int family, double wait);
void xport_nodelay(const struct xport *xp, int fd);

#define BENCH_XPORTS 4

/* Ways to wait for data */
enum wait_way { WAIT_BLOCK, WAIT_EPOLL, WAIT_BUSY };

/* Ways to compute */
enum compute_way { COMPUTE_SPIN, COMPUTE_SLEEP };

enum format { FORMAT_TABLE, FORMAT_JSON, FORMAT_CSV };

/**
 * struct sizes - a list of numbers on the command line
 * @n: number of them, 0 for the default of the test
 * @val: the numbers
 */
struct sizes {
	unsigned int n;
	uint32_t val[BENCH_MAX_SIZES];
};

/**
 * struct bench_opts - the command line
 * @xps: transports, more than one for a server of several or for a comparison
 * @n_xps: number of them
 * @compare: compare @xps, which are at ports of their own
 * @hosts: servers of the client; of the server, the address to listen on
 * @n_hosts: number of them
 * @port: port of the server
 * @family: AF_INET, AF_INET6 or AF_UNSPEC for either
 * @server: be the server
 * @once: server: one client only
 * @tests: bit for each entry of the table of tests
 * @sizes: message sizes of tests of bandwidth
 * @lat_sizes: message sizes of tests of latency
 * @compute: amounts of computation, us
 * @compute_way: how
 * @reps: repetitions of each measurement
 * @duration_ms: aimed time of a repetition of a test of bandwidth
 * @count: messages (iterations) of a repetition instead, if not 0
 * @pings: iterations of a repetition of a test of latency
 * @streams: connections of bw at the same time
 * @interval: seconds between reports of bw, 0 for none
 * @window: messages that may be under way, 0 for what the sockets take
 * @buffers: buffers that messages are sent from and received into, in turn
 * @reuse: per cent of the messages that are sent from one buffer; -1: not asked for, all
 *	 buffers in turn
 * @cold: as many buffers as exceed the caches
 * @burst: messages of a burst
 * @wait_way: how both ends wait for data
 * @zerocopy: send with MSG_ZEROCOPY
 * @map: receive with SDP_ZEROCOPY_RECEIVE
 * @first: the client runs first: it has real-time priority
 * @trim: trimmed means instead of medians
 * @less_reply: the time that the last reply takes does not count
 * @wait: seconds to go on trying to connect
 * @timeout: seconds that one repetition may take
 * @format: of the results
 */
struct bench_opts {
	const struct xport *xps[BENCH_XPORTS];
	unsigned int n_xps;
	bool compare;
	const char *hosts[BENCH_MAX_HOSTS];
	unsigned int n_hosts;
	uint16_t port;
	int family;
	bool server;
	bool once;
	unsigned int tests;
	struct sizes sizes;
	struct sizes lat_sizes;
	struct sizes compute;
	enum compute_way compute_way;
	unsigned int reps;
	unsigned int duration_ms;
	uint64_t count;
	unsigned int pings;
	unsigned int streams;
	double interval;
	uint32_t window;
	uint32_t buffers;
	int reuse;
	bool cold;
	uint32_t burst;
	enum wait_way wait_way;
	bool zerocopy;
	bool map;
	bool first;
	bool trim;
	bool less_reply;
	double wait;
	unsigned int timeout;
	enum format format;
};

void options(struct bench_opts *opts, int argc, char **argv);

/* Simulated NICs of --nic, and the time that they have worked */
void nic_add(const char *spec);
uint64_t nic_ns(void);

/**
 * struct host_time - what the processors of a host have done since boot
 * @busy: nanoseconds that were not idle, the sum over all processors
 * @softirq: nanoseconds of them in softirq
 */
struct host_time {
	uint64_t busy;
	uint64_t softirq;
};

struct host_time host_time(void);

/* Seconds of a monotonic clock */
double bench_now(void);

/* compute_init() measures how fast this processor spins, before compute() is used */
void compute_init(void);
void compute(enum compute_way way, uint64_t ns);

int bench_server(const struct bench_opts *opts);

#endif /* SDPBENCH_H */
