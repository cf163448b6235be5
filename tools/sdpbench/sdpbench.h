/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sdpbench: what its files share.
 *
 *   main.c    options
 *   client.c  the measurements, calls proto.c and xport.c
 *   server.c  the other end, calls proto.c and xport.c
 *   report.c  results to people and to programs
 *   proto.c   messages between both ends, calls xport.c
 *   xport.c   the transports: sockets of a family, rsockets
 *   nic.c     time that simulated NICs worked, used by client.c
 */
#ifndef SDPBENCH_H
#define SDPBENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdnoreturn.h>
#include <sys/socket.h>

#define BENCH_PORT 7471
#define BENCH_MAX_SIZES 32
#define BENCH_MAX_SIZE (64U << 20)
#define BENCH_MAX_REPS 1000

#define BENCH_PRINTF(f, a) __attribute__((format(printf, f, a)))

/* Exit statuses */
enum {
	BENCH_EXIT_OK = 0,
	BENCH_EXIT_FAILED = 1, /* the measurement did not succeed */
	BENCH_EXIT_USAGE = 2,
	BENCH_EXIT_STALLED = 3, /* no progress for --timeout seconds */
};

noreturn void bench_die(const char *fmt, ...) BENCH_PRINTF(1, 2);
void bench_warn(const char *fmt, ...) BENCH_PRINTF(1, 2);

/**
 * struct xport - a transport: calls with the meaning of the socket calls
 * @name: as given on the command line
 * @family: address family of its sockets, AF_UNSPEC for that of the address
 * @socket: and the other calls: as the system calls of that name
 */
struct xport {
	const char *name;
	int family;
	int (*socket)(int domain, int type, int protocol);
	int (*bind)(int fd, const struct sockaddr *addr, socklen_t len);
	int (*listen)(int fd, int backlog);
	int (*accept)(int fd, struct sockaddr *addr, socklen_t *len);
	int (*connect)(int fd, const struct sockaddr *addr, socklen_t len);
	ssize_t (*send)(int fd, const void *buf, size_t len, int flags);
	ssize_t (*recv)(int fd, void *buf, size_t len, int flags);
	int (*setsockopt)(int fd, int level, int name, const void *val,
			  socklen_t len);
	int (*close)(int fd);
};

const struct xport *xport_get(const char *name);
int xport_listen(const struct xport *xp, const char *host, uint16_t port,
		 int family);
int xport_connect(const struct xport *xp, const char *host, uint16_t port,
		  int family, double wait);
void xport_nodelay(const struct xport *xp, int fd);

/**
 * struct bench_opts - the command line
 * @xp: transport
 * @host: peer of the client, address to listen on of the server (or NULL)
 * @port: port of the server
 * @family: AF_INET, AF_INET6 or AF_UNSPEC for either
 * @once: server: one client only
 * @bw: measure bandwidth
 * @lat: measure latency
 * @sizes: message sizes of the bandwidth measurement
 * @n_sizes: number of them
 * @lat_sizes: message sizes of the latency measurement
 * @n_lat_sizes: number of them
 * @reps: repetitions of each measurement
 * @duration_ms: aimed time of a repetition of the bandwidth measurement
 * @count: messages of a repetition instead, if not 0
 * @pings: round trips of a repetition of the latency measurement
 * @wait: seconds to go on trying to connect
 * @timeout: seconds that one repetition may take
 * @json: print JSON
 */
struct bench_opts {
	const struct xport *xp;
	const char *host;
	uint16_t port;
	int family;
	bool once;
	bool bw;
	bool lat;
	uint32_t sizes[BENCH_MAX_SIZES];
	unsigned int n_sizes;
	uint32_t lat_sizes[BENCH_MAX_SIZES];
	unsigned int n_lat_sizes;
	unsigned int reps;
	unsigned int duration_ms;
	uint64_t count;
	unsigned int pings;
	double wait;
	unsigned int timeout;
	bool json;
};

void nic_add(const char *spec);
uint64_t nic_ns(void);

int bench_server(const struct bench_opts *opts);
int bench_client(const struct bench_opts *opts);

/**
 * struct bw_result - one message size
 * @size: bytes of a message
 * @messages: messages of a repetition
 * @mbps: median over the repetitions, 10^6 bytes per second
 * @mbps_min: worst repetition
 * @mbps_max: best repetition
 * @ns_per_byte: elapsed time per byte, median
 * @nic: time of the NICs per byte, ns, mean; not in any of the above
 * @cpu_tx: processor time of the sending process per byte, ns, mean
 * @cpu_rx: the same of the receiving process
 */
struct bw_result {
	uint32_t size;
	uint64_t messages;
	double mbps;
	double mbps_min;
	double mbps_max;
	double ns_per_byte;
	double nic;
	double cpu_tx;
	double cpu_rx;
};

/**
 * struct lat_result - one message size; half the round trip in microseconds
 * @size: bytes of a message
 * @pings: round trips of all repetitions
 * @median: over all of them
 * @min: over all of them
 * @p99: 99 of 100 are not above it
 * @cpu: processor time of both processes per message, us
 * @nic: time of the NICs per message, us; part of the above
 */
struct lat_result {
	uint32_t size;
	uint64_t pings;
	double median;
	double min;
	double p99;
	double cpu;
	double nic;
};

void report_begin(const struct bench_opts *opts);
void report_bw(const struct bench_opts *opts, const struct bw_result *res);
void report_lat(const struct bench_opts *opts, const struct lat_result *res);
void report_end(const struct bench_opts *opts);

#endif /* SDPBENCH_H */
