/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sdpstat: declarations that its files share. From top to bottom:
 *
 *   main.c       the command line, which command
 *   check.c      sdpstat check; route.c asks the routing table for it
 *   stack.c      sdpstat stack
 *   events.c     sdpstat -E
 *   summary.c    sdpstat -S
 *   advise.c     sdpstat advise
 *   print.c      tables and JSON of sockets and counters
 *   filter.c     which sockets to show
 *   process.c    which process has which socket
 *   cgroup.c     paths and numbers of control groups
 *   tcp.c        the TCP connection below a socket
 *   netlink.c    asks the kernel
 *   counters.c   names of counters
 *   history.c    counters of the last call
 *   json.c, util.c
 */
#ifndef SDPSTAT_H
#define SDPSTAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <linux/netlink.h>
#include <linux/sdp_diag.h>
#include <linux/sdp_netlink.h>
#include <linux/tcp.h>

struct filter;
struct json;
struct mnl_socket;

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* States of a socket, the kernel's TCP numbers. */
#define STATE_ESTABLISHED 1
#define STATE_CLOSE 7
#define STATE_LISTEN 10
#define STATE_MAX 12
#define STATES_ALL 0xffffffffu
#define STATES_LISTEN (1u << STATE_LISTEN)
#define STATES_DEFAULT (~(STATES_LISTEN | 1u << STATE_CLOSE))

struct options {
	uint32_t states;
	bool states_given; /* by -a, -l or a word of the filter */
	bool resolve; /* names instead of numbers */
	bool processes;
	bool extended;
	bool counters;
	bool zeros; /* counters that are zero, too */
	bool json;
	bool metrics; /* OpenMetrics */
	bool no_header;
	bool no_queues;
	bool bound; /* neither connected nor listening, with a port */
	bool one_line; /* for each socket, with -e */
	bool tcp; /* state of the TCP connections below */
	bool events; /* states as they change */
	bool summary;
	bool changes; /* of counters since the last call */
	bool threads; /* with processes */
	int family; /* of addresses, 0: any */
	bool context; /* security labels of processes and sockets */
	bool watch; /* rows that change most come first; redrawn in place on a terminal */
	unsigned int lines; /* of a terminal for the table, 0: no limit */
	unsigned int line_columns; /* of each, which wraps what is longer */
	bool colours; /* of a terminal */
	struct filter *filter;
	const char *filter_path; /* of a file that has it */
	char **patterns; /* names of counters, up to NULL; none: all */
	double interval; /* seconds, 0: once */
	unsigned long count; /* of listings or events, 0: for ever */
	bool kill; /* that cookie, or what the filter selects */
	uint64_t kill_cookie;
};

/* Timer of the TCP connection below, as inet_diag has it */
struct tcp_timer {
	unsigned int what; /* 0: none */
	uint32_t expires_ms;
	unsigned int retrans;
};

#define SOCK_STRING 64 /* bytes of a name or reason */

struct sock_info {
	int family;
	int state;
	unsigned int shutdown;
	uint16_t sport;
	uint16_t dport;
	uint8_t src[16];
	uint8_t dst[16];
	uint32_t ifindex;
	uint64_t cookie;
	uint32_t rqueue;
	uint32_t wqueue;
	uint32_t uid;
	uint32_t inode;

	bool has_conn;
	char device[SOCK_STRING];
	char flow_control[SOCK_STRING];
	char link[SOCK_STRING];
	char link_reason[SOCK_STRING];
	char fc_reason[SOCK_STRING];
	char zcopy_reason[SOCK_STRING];
	char tcp_reason[SOCK_STRING]; /* empty: it is no TCP socket */
	uint32_t conn[SDP_DIAG_MAX + 1]; /* by attribute number */

	bool has_tos;
	uint8_t tos;
	bool has_tclass;
	uint8_t tclass;
	bool has_mark;
	uint32_t mark;
	unsigned int nmem;
	uint32_t mem[16]; /* by SK_MEMINFO_* */
	bool has_stats;
	uint64_t stats[SDP_DIAG_STATS_MAX + 1];
	uint64_t cgroup; /* 0: unknown */

	bool has_tcp;
	struct tcp_info tcp; /* of the connection below */
	struct tcp_timer timer;
};

struct sock_list {
	struct sock_info *v;
	size_t n;
	size_t room;
};

/* util.c */
void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* Ends the program with a message if that fails, as on a full disk */
void flush_output(void);
void *xrealloc(void *p, size_t n, size_t size);
void bad_use(const char *arg, const char *what) __attribute__((noreturn));
int device_port(int port, int *offset); /* offset may be NULL */
uint64_t parse_number(const char *arg, int base, const char *what); /* not 0 */

/*
 * netlink.c: the answers of the kernel. An error ends the program, unless a function returns
 * it: sockets_try(), socket_destroy(), query_run()
 */
void sockets_get(struct sock_list *list, const struct options *o);
bool sockets_try(struct sock_list *list, const struct options *o);
#define COUNTERS_MAX 512
unsigned int counters_get(uint64_t v[COUNTERS_MAX]);

struct query {
	int (*cb)(const struct nlmsghdr *nlh, void *arg); /* for each message */
	void *arg;
	char message[256]; /* the kernel's words about an error */
};
int socket_destroy(uint64_t cookie, struct query *q);
void destroy_fail(const struct query *q, int err); /* returns if it was gone */
struct mnl_socket *netlink_open(int bus);
int query_run(struct mnl_socket *nl, struct nlmsghdr *nlh, struct query *q);
const char *query_reason(const struct query *q, int err);
struct nlmsghdr *genl_request(char *buf, int type, int cmd, int version);
uint16_t family_id(struct mnl_socket *nl, const char *name, const char *group,
		   uint32_t *group_id);

/* stack.c */
int stack_main(int argc, char **argv);

/* summary.c */
void summary_show(const struct sock_list *list, const struct options *o);

/* events.c */
void events_show(struct options *o) __attribute__((noreturn));

/* filter.c */
void filter_free(struct filter *f);
void filter_parse(struct options *o, int argc, char **argv);
void filter_file(struct options *o, const char *path);
bool filter_of_events(const struct filter *f); /* events have what it asks for */
bool filter_fits(const struct filter *f, const struct sock_info *s);

/* cgroup.c */
uint64_t cgroup_of(const char *path);
void cgroup_path(char *buf, size_t len, uint64_t id);

/* tcp.c */
void tcp_get(struct sock_list *list);

/* advise.c */
unsigned int advise(struct json *j,
		    const uint64_t *v); /* number of hints; j or NULL */

/* check.c */
int check_main(int argc, char **argv);

/* counters.c */
const char *counter_name(unsigned int id, char *buf, size_t len);
const char *counter_text(unsigned int id);
bool counter_gauge(unsigned int id);
bool counter_wanted(const struct options *o, unsigned int id);

/* history.c */
bool history_read(uint64_t v[COUNTERS_MAX], double *when); /* false: none */
void history_write(const uint64_t v[COUNTERS_MAX], unsigned int n, double when);

/* process.c */
struct process {
	uint32_t inode;
	int pid;
	int tid; /* of a thread, or pid */
	int fd;
	char name[32];
};
/* Label of a process, or of its socket; false: there is none, or no permission */
bool process_context(const struct process *p, bool of_socket, char *buf,
		     size_t len);
void processes_scan(bool threads);
const struct process *processes_of(uint32_t inode, size_t *n);

/* json.c: a writer that keeps track of commas */
struct json {
	FILE *f;
	int depth;
	bool more[16];
};
int utf8_length(const unsigned char *s);
void json_start(struct json *j, FILE *f);
void json_open(struct json *j, const char *name, char bracket);
void json_close(struct json *j, char bracket);
void json_str(struct json *j, const char *name, const char *s);
void json_u64(struct json *j, const char *name, uint64_t v);
void json_s64(struct json *j, const char *name, int64_t v);
void json_double(struct json *j, const char *name, double v);
void json_bool(struct json *j, const char *name, bool v);
void json_end(struct json *j);

/* print.c: @old, or NULL, has been through sockets_keep() */
void sockets_keep(struct sock_list *list);
void sockets_print(const struct sock_list *list, const struct sock_list *old,
		   double seconds, const struct options *o);
void event_print(const struct sock_info *s, unsigned int old,
		 const struct options *o);
const char *state_name(int state); /* as ss prints it */
void sockets_json(struct json *j, const struct sock_list *list,
		  const struct sock_list *old, double seconds,
		  const struct options *o);
void counters_print(const uint64_t *v, const uint64_t *old, unsigned int n,
		    double seconds, const struct options *o);
void counters_metrics(const uint64_t *v, unsigned int n,
		      const struct options *o);
void counters_json(struct json *j, const uint64_t *v, const uint64_t *old,
		   unsigned int n, const struct options *o);

#endif /* SDPSTAT_H */
