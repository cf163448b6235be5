// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpstat check: would a connection be an SDP one, and if not, why not? The
 * steps are what connect() does, one by one; the last is a real attempt.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/sdp.h>

#include "check.h"
#include "sdpstat.h"

#ifndef SO_COOKIE
#define SO_COOKIE 57
#endif

#define SECONDS_DEFAULT 10

struct check_options {
	bool json;
	bool no_connect;
	int seconds;
	char *host;
	char *port;
};

struct check {
	const struct check_options *o;
	struct json j;
	struct sockaddr_storage to; /* as the program has it */
	socklen_t to_len;
	struct check_route route;
	struct check_device dev;
	int device_port;
	bool bad; /* a step has failed */
};

static const struct option long_options[] = {
	{ "json", no_argument, NULL, 'j' },
	{ "no-connect", no_argument, NULL, 'n' },
	{ "timeout", required_argument, NULL, 't' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static void check_usage(FILE *f)
{
	fputs("Usage: sdpstat check [OPTION]... HOST:PORT\n"
	      "Explains step by step whether a connection to HOST would be an SDP one.\n"
	      "\n"
	      "  -j, --json            JSON\n"
	      "  -n, --no-connect      look only, do not connect\n"
	      "  -t, --timeout=SECONDS for the attempt to connect (default 10)\n"
	      "  -h, --help            this text\n"
	      "\n"
	      "The exit status is 0 if it would, 1 if it would not, 2 for wrong use. An IPv6\n"
	      "address stands in brackets. See sdpstat(8).\n",
	      f);
}

/* ---- output ---- */

enum result {
	OK,
	NOTE, /* worth knowing, decides nothing */
	FAIL,
};

/* One line: a step, how it went, the facts; then what to do about it. */
static void step(struct check *c, const char *name, enum result r,
		 const char *advice, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

static void step(struct check *c, const char *name, enum result r,
		 const char *advice, const char *fmt, ...)
{
	static const char *const words[] = { "ok", "note", "FAIL" };
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (r == FAIL)
		c->bad = true;
	if (!c->o->json) {
		printf("%-8s  %-4s  %s\n", name, words[r], text);
		if (advice)
			printf("%-8s  %-4s  -> %s\n", "", "", advice);
		fflush(stdout);
		return;
	}
	json_open(&c->j, NULL, '{');
	json_str(&c->j, "step", name);
	json_str(&c->j, "result", r == FAIL ? "fail" : words[r]);
	json_str(&c->j, "text", text);
	if (advice)
		json_str(&c->j, "advice", advice);
	json_close(&c->j, '}');
}

static const char *addr_text(const void *sa, char *buf, size_t len)
{
	const struct sockaddr_in6 *v6 = sa;
	const struct sockaddr_in *v4 = sa;

	if (v4->sin_family == AF_INET)
		return inet_ntop(AF_INET, &v4->sin_addr, buf, len);
	return inet_ntop(AF_INET6, &v6->sin6_addr, buf, len);
}

static int port_of(const struct sockaddr_storage *ss)
{
	return ntohs(((const struct sockaddr_in *)ss)->sin_port);
}

/* ---- steps ---- */

/* Mapped addresses take the way of IPv4. */
static void set_to(struct check *c, const struct addrinfo *ai)
{
	const struct sockaddr_in6 *v6 = (const void *)ai->ai_addr;
	struct sockaddr_in *to = (struct sockaddr_in *)&c->to;

	if (ai->ai_family != AF_INET6 ||
	    !IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
		memcpy(&c->to, ai->ai_addr, ai->ai_addrlen);
		c->to_len = ai->ai_addrlen;
		return;
	}
	to->sin_family = AF_INET;
	to->sin_port = v6->sin6_port;
	memcpy(&to->sin_addr, v6->sin6_addr.s6_addr + 12, 4);
	c->to_len = sizeof(*to);
}

/* ", the first of 2 addresses"; a program may go on to the next where one fails */
static void count_text(const struct addrinfo *ai, char *text, size_t size)
{
	int n = 0;

	for (; ai; ai = ai->ai_next)
		n++;
	text[0] = '\0';
	if (n > 1)
		snprintf(text, size, ", the first of %d addresses", n);
}

static void step_address(struct check *c)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *ai;
	char text[INET6_ADDRSTRLEN], count[48];
	int err;

	err = getaddrinfo(c->o->host, c->o->port, &hints, &ai);
	if (err) {
		step(c, "address", FAIL,
		     "give an address, or look at the name service", "%s: %s",
		     c->o->host, gai_strerror(err));
		return;
	}
	set_to(c, ai);
	count_text(ai, count, sizeof(count));
	step(c, "address", OK, NULL, "%s, port %d, %s%s",
	     addr_text(&c->to, text, sizeof(text)), port_of(&c->to),
	     c->to.ss_family == AF_INET6 ? "IPv6" : "IPv4", count);
	freeaddrinfo(ai);
}

static int sdp_socket(const struct check *c)
{
	return socket(AF_SDP, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
		      c->to.ss_family == AF_INET6 ? SDPPROTO_SDP6 :
						    SDPPROTO_SDP);
}

static void step_module(struct check *c)
{
	int fd = sdp_socket(c);

	if (fd >= 0) {
		close(fd);
		step(c, "module", OK, NULL, "the kernel has SDP sockets");
	} else if (errno == EAFNOSUPPORT) {
		step(c, "module", FAIL,
		     "run 'modprobe sdp' as root; if there is no such module, install it",
		     "the kernel has no SDP sockets");
	} else {
		step(c, "module", FAIL,
		     "this user may not open such sockets, or there is no memory",
		     "the kernel refuses SDP sockets: %s", strerror(errno));
	}
}

static void step_route(struct check *c)
{
	char src[INET6_ADDRSTRLEN] = "?";
	int err = check_route_get(&c->to, &c->route);

	if (err) {
		step(c, "route", FAIL, "look at 'ip route get ADDRESS'",
		     "no route: %s", strerror(err));
		return;
	}
	if (c->route.has_src)
		addr_text(&c->route.src, src, sizeof(src));
	step(c, "route", OK, NULL, "by %s, from %s%s", c->route.dev, src,
	     c->route.local ? ", to this machine itself" : "");
}

/* The attempt to connect decides; without one, only a device that may be shared is in doubt */
static void step_device(struct check *c)
{
	enum result missing = c->o->no_connect ? FAIL : NOTE;
	int err;

	if (!c->route.dev[0])
		return;
	err = check_device_find(&c->route, &c->dev);
	if (err) {
		step(c, "device", NOTE, "this user may not ask; go on",
		     "RDMA devices cannot be listed: %s", strerror(err));
	} else if (!c->dev.name[0] && c->route.loopback) {
		step(c, "device", missing, "make one: 'sdpctl setup lo'",
		     "lo has no RDMA device, which loopback addresses take");
	} else if (!c->dev.name[0]) {
		step(c, "device", c->dev.may_share ? NOTE : missing,
		     "choose another address of the peer, or make one: 'rdma link add NAME type hybrid netdev DEV'",
		     "%s has no RDMA device (there are %u on others)",
		     c->route.netdev, c->dev.others);
	} else if (!c->dev.active) {
		step(c, "device", missing, "look at 'rdma link' and 'ip link'",
		     "%s (%s) on %s is not active", c->dev.name,
		     c->dev.protocol, c->route.netdev);
	} else {
		step(c, "device", OK, NULL, "%s (%s) on %s", c->dev.name,
		     c->dev.protocol, c->route.netdev);
	}
}

static void step_port(struct check *c)
{
	int offset;

	c->device_port = device_port(port_of(&c->to), &offset);
	if (offset && c->device_port)
		step(c, "port", OK, NULL,
		     "%d for the device (net.sdp.port_offset %d)",
		     c->device_port, offset);
}

/* ---- the attempt ---- */

/* Connects; 0 or an errno. */
static int try_connect(int fd, const struct sockaddr_storage *to, socklen_t len,
		       int seconds)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	socklen_t size = sizeof(int);
	int err = 0;

	if (!connect(fd, (const struct sockaddr *)to, len))
		return 0;
	if (errno != EINPROGRESS)
		return errno;
	if (poll(&p, 1, seconds * 1000) <= 0)
		err = ETIMEDOUT;
	else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size))
		err = errno;
	return err;
}

static int try_tcp(const struct check *c, int port)
{
	struct sockaddr_storage to = c->to;
	int fd, err;

	((struct sockaddr_in *)&to)->sin_port = htons(port);
	fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
		    IPPROTO_TCP);
	if (fd < 0)
		return errno;
	err = try_connect(fd, &to, c->to_len, c->o->seconds);
	close(fd);
	return err;
}

static uint64_t bad_hellos(void)
{
	static uint64_t v[COUNTERS_MAX];

	counters_get(v);
	return v[SDP_MIB_HELLO_BAD] + v[SDP_MIB_BAD_VERSION] +
	       v[SDP_MIB_BAD_ADVERTS];
}

/* Refused: by whom? */
static void explain_refusal(struct check *c, uint64_t hellos)
{
	bool iwarp = !strcmp(c->dev.protocol, "iw");
	int tcp;

	if (bad_hellos() != hellos) {
		step(c, "connect", OK, NULL, "the peer accepts");
		step(c, "hello", FAIL,
		     "the peer speaks another version of SDP, or something else: its kernel log and 'sdpstat -s' tell",
		     "its HelloAck is not a valid one");
		return;
	}
	tcp = iwarp ? try_tcp(c, c->device_port) : 0;
	if (tcp)
		step(c, "connect", FAIL,
		     "start the server under sdp-run; if it is, net.sdp.port_offset has to be the same at both ends",
		     "no SDP listener at port %d: %s", c->device_port,
		     strerror(tcp));
	else if (iwarp)
		step(c, "connect", FAIL,
		     "start the server under sdp-run; if it is, 'sdpstat -s' there tells (refused_reqs, hello_bad, conn_limit)",
		     "a listener at port %d refuses: one of TCP only, or one that does not take our Hello",
		     c->device_port);
	else
		step(c, "connect", FAIL,
		     "start the server under sdp-run; if it is, 'sdpstat -s' there tells (refused_reqs, hello_bad, conn_limit)",
		     "the peer refuses: no SDP listener at port %d, or it does not take our Hello",
		     c->device_port);
}

static void explain_error(struct check *c, int err, uint64_t hellos)
{
	switch (err) {
	case ECONNREFUSED:
		explain_refusal(c, hellos);
		break;
	case ENETUNREACH:
	case EADDRNOTAVAIL:
		step(c, "resolve", FAIL,
		     "the route must lead through a network device that has an RDMA device: see 'rdma link'",
		     "no RDMA device leads there: %s", strerror(err));
		break;
	case EHOSTUNREACH:
		step(c, "resolve", FAIL,
		     "is it up, and in the same network? See 'ip neigh'",
		     "the neighbour does not answer: %s", strerror(err));
		break;
	case ETIMEDOUT:
		step(c, "connect", FAIL,
		     "a firewall may drop the packets (iWARP: TCP to that port; RoCE: UDP port 4791), or a server that speaks no MPA listens there",
		     "no answer from port %d", c->device_port);
		break;
	case ENOBUFS:
		step(c, "connect", FAIL,
		     "if conn_limit of 'sdpstat -s' rises, net.sdp.max_connections is reached; if mem_limit does, net.sdp.mem",
		     "no more connections: %s", strerror(err));
		break;
	default:
		step(c, "connect", FAIL, "see 'sdpstat -s' and the kernel log",
		     "%s", strerror(err));
		break;
	}
}

/* Explain the link and flow control, and the reasons for them */
static void step_policy(struct check *c, const struct sock_info *s)
{
	const char *why = s->link_reason, *fc_why = s->fc_reason;

	step(c, "policy", OK, NULL, "link %s%s%s%s, flow control %s%s%s%s",
	     s->link, why[0] ? " (" : "", why, why[0] ? ")" : "",
	     s->flow_control, fc_why[0] ? " (" : "", fc_why,
	     fc_why[0] ? ")" : "");
}

/* Explain the established connection. */
static void explain_success(struct check *c, int fd)
{
	const struct options all = { .states = STATES_ALL };
	struct sock_list list = { 0 };
	socklen_t len = sizeof(uint64_t);
	const struct sock_info *s;
	uint64_t cookie = 0;

	step(c, "connect", OK, NULL, "a listener accepts at port %d",
	     c->device_port);
	getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &len);
	if (!sockets_try(&list, &all)) {
		step(c, "hello", NOTE, "run 'modprobe sdp_diag' as root",
		     "connected; sockets cannot be listed, so no more is known");
		free(list.v);
		return;
	}
	for (s = list.v; s < list.v + list.n; s++)
		if (s->cookie == cookie)
			break;
	if (s == list.v + list.n || !s->has_conn) {
		step(c, "hello", NOTE, NULL, "it is gone already");
	} else {
		step(c, "hello", OK, NULL, "the peer speaks SDP, on %s",
		     s->device);
		step_policy(c, s);
	}
	free(list.v);
}

static void step_connect(struct check *c)
{
	uint64_t hellos = bad_hellos();
	int fd = sdp_socket(c), err;

	if (fd < 0) {
		step(c, "connect", FAIL, NULL, "%s", strerror(errno));
		return;
	}
	err = try_connect(fd, &c->to, c->to_len, c->o->seconds);
	if (err)
		explain_error(c, err, hellos);
	else
		explain_success(c, fd);
	close(fd);
}

static bool fallback_is_off(void)
{
	FILE *f = fopen("/proc/sys/net/sdp/fallback", "re");
	int on = 1;

	if (!f)
		return false;
	if (fscanf(f, "%d", &on) != 1)
		on = 1;
	fclose(f);
	return !on;
}

/* It will not be SDP: what would a program with the rule "both" get? */
static void step_tcp(struct check *c)
{
	int err = try_tcp(c, port_of(&c->to));

	if (!err && fallback_is_off())
		step(c, "tcp", NOTE,
		     "with net.sdp.fallback 0 and the rule 'both' (libsdp.conf) programs do not get that",
		     "TCP connects, but net.sdp.fallback is 0");
	else if (!err)
		step(c, "tcp", NOTE,
		     "with the rule 'both' (libsdp.conf) programs get that",
		     "TCP connects");
	else
		step(c, "tcp", NOTE, NULL, "TCP does not connect either: %s",
		     strerror(err));
}

static void run(struct check *c)
{
	step_address(c);
	if (c->bad)
		return;
	step_module(c);
	step_route(c);
	if (!c->bad) {
		step_device(c);
		step_port(c);
	}
	if (c->o->no_connect)
		return;
	if (!c->bad)
		step_connect(c);
	if (c->bad)
		step_tcp(c);
}

/* A number that is too large for a port would be cut off by getaddrinfo(). */
static bool is_port(const char *s)
{
	char *end;
	unsigned long v = strtoul(s, &end, 10);

	return *end || (*s >= '0' && *s <= '9' && v && v <= 65535);
}

/* HOST:PORT in place. */
static void parse_target(struct check_options *o, char *arg)
{
	char *colon = strrchr(arg, ':');
	size_t len;

	if (!colon || colon == arg || !is_port(colon + 1)) {
		fprintf(stderr,
			"sdpstat: '%s' is not HOST:PORT, as in: sdpstat check 10.0.0.2:6379\n",
			arg);
		exit(2);
	}
	if (*arg != '[' && strchr(arg, ':') != colon) {
		fprintf(stderr,
			"sdpstat: '%s' is not HOST:PORT: an IPv6 address stands in brackets\n",
			arg);
		exit(2);
	}
	*colon = '\0';
	o->host = arg;
	o->port = colon + 1;
	len = strlen(arg);
	if (arg[0] == '[' && arg[len - 1] == ']') {
		arg[len - 1] = '\0';
		o->host++;
	}
}

static int parse_timeout(const char *arg)
{
	static const char what[] = "no number of seconds (1 to 3600)";
	uint64_t v = parse_number(arg, 10, what);

	if (v > 3600)
		bad_use(arg, what);
	return v;
}

static void parse_check(struct check_options *o, int argc, char **argv)
{
	int opt;

	while ((opt = getopt_long(argc, argv, "jnt:h", long_options, NULL)) !=
	       -1) {
		switch (opt) {
		case 'j':
			o->json = true;
			break;
		case 'n':
			o->no_connect = true;
			break;
		case 't':
			o->seconds = parse_timeout(optarg);
			break;
		case 'h':
			check_usage(stdout);
			flush_output();
			exit(0);
		default:
			fputs("See 'sdpstat check --help'.\n", stderr);
			exit(2);
		}
	}
	if (argc - optind != 1) {
		fputs("sdpstat: check takes one HOST:PORT: see 'sdpstat check --help'\n",
		      stderr);
		exit(2);
	}
	parse_target(o, argv[optind]);
}

int check_main(int argc, char **argv)
{
	struct check_options o = { .seconds = SECONDS_DEFAULT };
	struct check c = { .o = &o };

	parse_check(&o, argc, argv);
	if (o.json) {
		json_start(&c.j, stdout);
		json_str(&c.j, "host", o.host);
		json_str(&c.j, "port", o.port);
		json_open(&c.j, "steps", '[');
	}
	run(&c);
	if (o.json) {
		json_close(&c.j, ']');
		json_bool(&c.j, "sdp", !c.bad);
		json_end(&c.j);
	} else if (o.no_connect && !c.bad) {
		puts("nothing is in the way at this end");
	} else {
		puts(c.bad ? "not SDP" : "SDP");
	}
	flush_output();
	return c.bad;
}
