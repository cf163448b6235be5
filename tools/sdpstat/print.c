// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* sdpstat: tables and JSON. */
#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include <linux/sock_diag.h>

#include "sdpstat.h"

#define NO_SSTHRESH 0x7fffffff

const char *state_name(int state)
{
	static const char *const names[STATE_MAX + 1] = {
		"UNKNOWN",	"ESTAB",      "SYN-SENT",  "SYN-RECV",
		"FIN-WAIT-1",	"FIN-WAIT-2", "TIME-WAIT", "UNCONN",
		"CLOSE-WAIT",	"LAST-ACK",   "LISTEN",	   "CLOSING",
		"NEW-SYN-RECV",
	};

	return names[state >= 0 && state <= STATE_MAX ? state : 0];
}

static const char *mem_name(unsigned int i)
{
	static const char *const names[] = {
		[SK_MEMINFO_RMEM_ALLOC] = "rmem_alloc",
		[SK_MEMINFO_RCVBUF] = "rcvbuf",
		[SK_MEMINFO_WMEM_ALLOC] = "wmem_alloc",
		[SK_MEMINFO_SNDBUF] = "sndbuf",
		[SK_MEMINFO_FWD_ALLOC] = "fwd_alloc",
		[SK_MEMINFO_WMEM_QUEUED] = "wmem_queued",
		[SK_MEMINFO_OPTMEM] = "optmem",
		[SK_MEMINFO_BACKLOG] = "backlog",
		[SK_MEMINFO_DROPS] = "drops",
	};

	return i < ARRAY_SIZE(names) ? names[i] : NULL;
}

static const struct {
	const char *name;
	unsigned int attr;
} conn_fields[] = {
	{ "device_port", SDP_DIAG_DEVICE_PORT },
	{ "tx_credits", SDP_DIAG_TX_CREDITS },
	{ "rx_credits", SDP_DIAG_RX_CREDITS },
	{ "rx_posted", SDP_DIAG_RX_POSTED },
	{ "tx_size", SDP_DIAG_TX_SIZE },
	{ "rx_size", SDP_DIAG_RX_SIZE },
	{ "rx_reserved", SDP_DIAG_RX_RESERVED },
	{ "zcopy_kept", SDP_DIAG_ZCOPY_KEPT },
	{ "tx_mseq", SDP_DIAG_TX_MSEQ },
	{ "tx_mseq_ack", SDP_DIAG_TX_MSEQ_ACK },
	{ "rx_mseq", SDP_DIAG_RX_MSEQ },
};

static const struct {
	const char *name;
	unsigned int attr;
} stats_fields[] = {
	{ "tx_bytes", SDP_DIAG_STATS_TX_BYTES },
	{ "rx_bytes", SDP_DIAG_STATS_RX_BYTES },
	{ "tx_msgs", SDP_DIAG_STATS_TX_MSGS },
	{ "rx_msgs", SDP_DIAG_STATS_RX_MSGS },
	{ "credit_stalls", SDP_DIAG_STATS_CREDIT_STALLS },
};

static void host_name(char *buf, size_t len, int family, const uint8_t *addr)
{
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in sin = { .sin_family = AF_INET };
	int rc;

	if (family == AF_INET6) {
		memcpy(&sin6.sin6_addr, addr, 16);
		rc = getnameinfo((struct sockaddr *)&sin6, sizeof(sin6), buf,
				 len, NULL, 0, NI_NAMEREQD);
	} else {
		memcpy(&sin.sin_addr, addr, 4);
		rc = getnameinfo((struct sockaddr *)&sin, sizeof(sin), buf, len,
				 NULL, 0, NI_NAMEREQD);
	}
	if (rc)
		inet_ntop(family, addr, buf, len);
}

static bool addr_any(int family, const uint8_t *addr)
{
	static const uint8_t any[16];

	return !memcmp(addr, any, family == AF_INET6 ? 16 : 4);
}

static void addr_text(char *buf, size_t len, int family, const uint8_t *addr,
		      bool resolve)
{
	if (resolve && !addr_any(family, addr))
		host_name(buf, len, family, addr);
	else if (!inet_ntop(family, addr, buf, len))
		snprintf(buf, len, "?");
}

static void endpoint_text(char *buf, size_t len, const struct sock_info *s,
			  bool peer, bool resolve)
{
	const uint8_t *addr = peer ? s->dst : s->src;
	unsigned int port = peer ? s->dport : s->sport;
	char host[256], name[IF_NAMESIZE], port_text[8] = "*", end[64];
	const char *scope = "";
	bool colons;

	addr_text(host, sizeof(host), s->family, addr, resolve);
	if (s->ifindex && !peer && if_indextoname(s->ifindex, name))
		scope = name;
	if (port)
		snprintf(port_text, sizeof(port_text), "%u", port);
	colons = strchr(host, ':');
	snprintf(end, sizeof(end), "%s%s%s:%s", colons ? "]" : "",
		 *scope ? "%" : "", scope, port_text);
	/* a name may be too long, a port is not */
	snprintf(buf, len, "%s%.*s%s", colons ? "[" : "",
		 (int)(len - strlen(end) - 2), host, end);
}

/*
 * A process chooses its name, and a user that of a control group: characters that a terminal
 * obeys, and those that look like the end of the name, are not shown. C1 controls are two bytes
 * of UTF-8.
 */
static void name_text(FILE *f, const char *s)
{
	int n;

	for (; *s; s += n ? n : 1) {
		const unsigned char *c = (const unsigned char *)s;

		n = utf8_length(c);
		if (!n || *c < 0x20 || *c == 0x7f || *c == '"' ||
		    (*c == 0xc2 && c[1] < 0xa0))
			putc('?', f);
		else
			fwrite(s, 1, n, f);
	}
}

/* As ss -Z and -z do */
static void context_text(FILE *f, const struct process *p)
{
	char label[256];

	if (process_context(p, false, label, sizeof(label))) {
		fputs(",proc_ctx=", f);
		name_text(f, label);
	}
	if (process_context(p, true, label, sizeof(label))) {
		fputs(",sock_ctx=", f);
		name_text(f, label);
	}
}

static void processes_text(FILE *f, const struct sock_info *s,
			   const struct options *o)
{
	const struct process *p;
	size_t n, i;

	p = processes_of(s->inode, &n);
	if (!s->inode || !n)
		return;
	fprintf(f, " users:(");
	for (i = 0; i < n; i++) {
		fprintf(f, "%s(\"", i ? "," : "");
		name_text(f, p[i].name);
		fprintf(f, "\",pid=%d", p[i].pid);
		if (o->threads)
			fprintf(f, ",tid=%d", p[i].tid);
		fprintf(f, ",fd=%d", p[i].fd);
		if (o->context)
			context_text(f, &p[i]);
		putc(')', f);
	}
	fprintf(f, ")");
}

static void extended_rest(FILE *f, const struct sock_info *s)
{
	unsigned int i;

	if (s->shutdown)
		fprintf(f, " shutdown:%s%s", s->shutdown & 1 ? "r" : "",
			s->shutdown & 2 ? "w" : "");
	if (s->has_tos)
		fprintf(f, " tos:%#x", s->tos);
	if (s->has_tclass)
		fprintf(f, " tclass:%#x", s->tclass);
	if (s->has_mark && s->mark)
		fprintf(f, " mark:%#x", s->mark);
	if (s->has_conn) {
		fprintf(f, " link:%s", s->link);
		if (s->link_reason[0])
			fprintf(f, "(%s)", s->link_reason);
		if (s->fc_reason[0])
			fprintf(f, " fc_reason:%s", s->fc_reason);
		if (s->zcopy_reason[0])
			fprintf(f, " zcopy_reason:%s", s->zcopy_reason);
		for (i = 0; i < ARRAY_SIZE(conn_fields); i++)
			fprintf(f, " %s:%u", conn_fields[i].name,
				s->conn[conn_fields[i].attr]);
	}
	if (s->has_stats)
		for (i = 0; i < ARRAY_SIZE(stats_fields); i++)
			fprintf(f, " %s:%llu", stats_fields[i].name,
				(unsigned long long)
					s->stats[stats_fields[i].attr]);
	if (s->nmem) {
		fprintf(f, " mem:(");
		for (i = 0; i < s->nmem && mem_name(i); i++)
			fprintf(f, "%s%s:%u", i ? "," : "", mem_name(i),
				s->mem[i]);
		fprintf(f, ")");
	}
}

static void extended_text(FILE *f, const struct sock_info *s, bool one_line)
{
	char path[512];

	fprintf(f,
		one_line ? " uid:%u ino:%u sk:%llx" :
			   "\n\t uid:%u ino:%u sk:%llx",
		s->uid, s->inode, (unsigned long long)s->cookie);
	extended_rest(f, s);
	if (s->cgroup) {
		cgroup_path(path, sizeof(path), s->cgroup);
		fputs(" cgroup:", f);
		name_text(f, path);
	}
}

/* As ss does */
static void bit_rate(FILE *f, const char *name, double bytes)
{
	static const char units[] = " KMGT";
	double v = bytes * 8;
	unsigned int u = 0;

	if (!(v > 0))
		return;
	while (v >= 1000 && units[u + 1]) {
		v /= 1000;
		u++;
	}
	fprintf(f, " %s %.3g%.*sbps", name, v, u > 0, &units[u]);
}

/* The names of ss; NULL: there is none */
static const char *timer_name(const struct tcp_timer *t)
{
	static const char *const names[] = { NULL, "on", "keepalive",
					     "timewait", "persist" };

	return t->what < ARRAY_SIZE(names) ? names[t->what] : "unknown";
}

static void tcp_text(FILE *f, const struct sock_info *s)
{
	const struct tcp_info *t = &s->tcp;

	if (!s->has_tcp)
		return;
	fprintf(f, " tcp:(rtt:%g/%g", t->tcpi_rtt / 1e3, t->tcpi_rttvar / 1e3);
	if (t->tcpi_min_rtt && t->tcpi_min_rtt != ~0U)
		fprintf(f, " minrtt:%g", t->tcpi_min_rtt / 1e3);
	fprintf(f, " rto:%g mss:%u cwnd:%u", t->tcpi_rto / 1e3, t->tcpi_snd_mss,
		t->tcpi_snd_cwnd);
	if (t->tcpi_snd_ssthresh < NO_SSTHRESH)
		fprintf(f, " ssthresh:%u", t->tcpi_snd_ssthresh);
	fprintf(f, " unacked:%u lost:%u retrans:%u/%u", t->tcpi_unacked,
		t->tcpi_lost, t->tcpi_retrans, t->tcpi_total_retrans);
	if (t->tcpi_rtt)
		bit_rate(f, "send",
			 t->tcpi_snd_mss * 1e6 * t->tcpi_snd_cwnd /
				 t->tcpi_rtt);
	if (t->tcpi_pacing_rate != ~0ULL)
		bit_rate(f, "pacing_rate", t->tcpi_pacing_rate);
	bit_rate(f, "delivery_rate", t->tcpi_delivery_rate);
	if (timer_name(&s->timer))
		fprintf(f, " timer:(%s,%gsec,%u)", timer_name(&s->timer),
			s->timer.expires_ms / 1e3, s->timer.retrans);
	putc(')', f);
}

static void tcp_json(struct json *j, const struct sock_info *s)
{
	const struct tcp_info *t = &s->tcp;

	if (!s->has_tcp)
		return;
	json_open(j, "tcp", '{');
	json_u64(j, "rtt_us", t->tcpi_rtt);
	json_u64(j, "rttvar_us", t->tcpi_rttvar);
	json_u64(j, "min_rtt_us", t->tcpi_min_rtt);
	json_u64(j, "rto_us", t->tcpi_rto);
	json_u64(j, "mss", t->tcpi_snd_mss);
	json_u64(j, "cwnd", t->tcpi_snd_cwnd);
	json_u64(j, "ssthresh", t->tcpi_snd_ssthresh);
	json_u64(j, "unacked", t->tcpi_unacked);
	json_u64(j, "lost", t->tcpi_lost);
	json_u64(j, "retrans", t->tcpi_retrans);
	json_u64(j, "total_retrans", t->tcpi_total_retrans);
	json_u64(j, "pacing_rate", t->tcpi_pacing_rate);
	json_u64(j, "delivery_rate", t->tcpi_delivery_rate);
	if (timer_name(&s->timer)) {
		json_str(j, "timer", timer_name(&s->timer));
		json_u64(j, "timer_ms", s->timer.expires_ms);
	}
	json_close(j, '}');
}

static int by_cookie(const void *a, const void *b)
{
	const struct sock_info *x = a, *y = b;

	return x->cookie < y->cookie ? -1 : x->cookie > y->cookie;
}

void sockets_keep(struct sock_list *list)
{
	if (list->n)
		qsort(list->v, list->n, sizeof(*list->v), by_cookie);
}

/*
 * Bytes per second since the listing before. A new socket counts from 0, and so does one
 * whose counter has fallen: it has become a TCP socket, or has connected again.
 */
static double rate(const struct sock_info *s, const struct sock_list *old,
		   double seconds, unsigned int attr)
{
	const struct sock_info *o = NULL;
	uint64_t now = s->stats[attr], before = 0;

	if (old->n)
		o = bsearch(s, old->v, old->n, sizeof(*old->v), by_cookie);
	if (o && o->stats[attr] <= now)
		before = o->stats[attr];

	return (now - before) / seconds;
}

static void rate_text(char *buf, size_t len, double v)
{
	static const char units[] = " KMGT";
	unsigned int u = 0;

	while (v >= 10000 && units[u + 1]) {
		v /= 1000;
		u++;
	}
	snprintf(buf, len, "%.0f%c", v, units[u]);
}

/* Columns of the table */
enum { STATE, RECV_Q, SEND_Q, LOCAL, PEER, DEVICE, FC, SEND, RECV, COLUMNS };

static const char *const headings[COLUMNS] = {
	"State",
	"Recv-Q",
	"Send-Q",
	"Local Address:Port",
	"Peer Address:Port",
	"Device",
	"FC",
	"Send/s",
	"Recv/s",
};

struct row {
	const struct sock_info *s;
	double moved; /* bytes per second, both ways */
	char cell[COLUMNS][96];
};

static void row_fill(struct row *r, const struct sock_list *old, double seconds,
		     const struct options *o)
{
	static const size_t size = sizeof(r->cell[0]);
	const struct sock_info *s = r->s;
	double in, out;

	snprintf(r->cell[STATE], size, "%s", state_name(s->state));
	snprintf(r->cell[RECV_Q], size, "%u", s->rqueue);
	snprintf(r->cell[SEND_Q], size, "%u", s->wqueue);
	endpoint_text(r->cell[LOCAL], size, s, false, o->resolve);
	endpoint_text(r->cell[PEER], size, s, true, o->resolve);
	snprintf(r->cell[DEVICE], size, "%s", s->device[0] ? s->device : "-");
	snprintf(r->cell[FC], size, "%s",
		 s->flow_control[0] ? s->flow_control : "-");
	if (s->tcp_reason[0])
		snprintf(r->cell[FC], size, "TCP:%s", s->tcp_reason);
	if (!old)
		return;
	out = rate(s, old, seconds, SDP_DIAG_STATS_TX_BYTES);
	in = rate(s, old, seconds, SDP_DIAG_STATS_RX_BYTES);
	rate_text(r->cell[SEND], size, out);
	rate_text(r->cell[RECV], size, in);
	r->moved = in + out;
}

/* More first; as they were listed where there is no difference */
static int by_rate(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->moved != y->moved)
		return x->moved < y->moved ? 1 : -1;
	return x->s < y->s ? -1 : x->s > y->s;
}

static void row_print(FILE *f, const char *const cell[COLUMNS],
		      const int *width, unsigned int columns)
{
	unsigned int i;

	for (i = 0; i < columns; i++) {
		bool left = i == STATE || i == DEVICE || i == FC;

		if (!width[i])
			continue;
		if (i)
			putc(' ', f);
		/* nothing after the last one */
		if (left && i + 1 == columns)
			fputs(cell[i], f);
		else
			fprintf(f, "%*s", left ? -width[i] : width[i], cell[i]);
	}
}

static void widths(const struct row *rows, size_t n, int width[COLUMNS])
{
	unsigned int c;
	size_t i;

	for (c = 0; c < COLUMNS; c++)
		width[c] = strlen(headings[c]);
	for (i = 0; i < n; i++)
		for (c = 0; c < COLUMNS; c++)
			if ((int)strlen(rows[i].cell[c]) > width[c])
				width[c] = strlen(rows[i].cell[c]);
}

/* Codes of ECMA-48 (SGR) */
#define PLAIN "0"
#define BOLD "1"
#define GREEN "32"
#define YELLOW "33"

static void colour(FILE *f, const struct options *o, const char *code)
{
	if (o->colours && code)
		fprintf(f, "\033[%sm", code);
}

/* A listing, and what it takes of the lines of a terminal */
struct table {
	const struct options *o;
	int width[COLUMNS];
	unsigned int columns;
	unsigned int used;
};

static void heading(FILE *f, const struct table *t)
{
	colour(f, t->o, BOLD);
	row_print(f, headings, t->width, t->columns);
	fputs(t->o->processes ? " Process" : "", f);
	colour(f, t->o, PLAIN);
	putc('\n', f);
}

/* Sockets that have become TCP's, and those that move data */
static const char *colour_of(const struct row *r)
{
	if (r->s->tcp_reason[0])
		return YELLOW;
	return r->moved > 0 ? GREEN : NULL;
}

static void socket_text(FILE *f, const struct table *t, const struct row *r)
{
	const struct options *o = t->o;
	const char *cell[COLUMNS];
	unsigned int c;

	for (c = 0; c < COLUMNS; c++)
		cell[c] = r->cell[c];
	colour(f, o, colour_of(r));
	row_print(f, cell, t->width, t->columns);
	colour(f, o, PLAIN);
	if (o->processes)
		processes_text(f, r->s, o);
	if (o->extended)
		extended_text(f, r->s, o->one_line);
	else if (r->s->has_tcp && !o->one_line)
		fputs("\n\t", f);
	tcp_text(f, r->s);
	putc('\n', f);
}

/* Columns that a terminal has for the byte: one of a character of three bytes may be wide */
static unsigned int columns_of(unsigned char c, unsigned int column)
{
	if (c == '\t')
		return 8 - column % 8;
	if (c >= 0x80 && c < 0xc0)
		return 0;
	return c >= 0xe0 ? 2 : 1;
}

/* Lines that the text takes of a terminal with so many columns, which wraps what is longer */
static unsigned int height(const char *text, unsigned int columns)
{
	unsigned int lines = 0, column = 0, wide;

	for (; *text; text++) {
		if (*text == '\n') {
			lines++;
			column = 0;
			continue;
		}
		if (*text == '\033') {
			/* a colour */
			text += strcspn(text, "m");
			if (!*text)
				break;
			continue;
		}
		wide = columns_of(*text, column);
		if (column + wide > columns) {
			lines++;
			column = 0;
		}
		column += wide;
	}
	return lines;
}

/*
 * Prints a row, or for NULL the headings, if the terminal has room for it or @always is set.
 * Returns false if not.
 */
static bool show(struct table *t, const struct row *r, bool always)
{
	char *text = NULL;
	size_t len = 0;
	bool fits;
	FILE *f;

	f = open_memstream(&text, &len);
	if (!f)
		die("out of memory");
	if (r)
		socket_text(f, t, r);
	else
		heading(f, t);
	if (fclose(f))
		die("out of memory");
	t->used += t->o->lines ? height(text, t->o->line_columns) : 0;
	fits = always || t->used <= t->o->lines;
	if (fits)
		fwrite(text, 1, len, stdout);
	free(text);
	return fits;
}

static struct row *rows_of(const struct sock_list *list,
			   const struct sock_list *old, double seconds,
			   const struct options *o)
{
	struct row *rows = xrealloc(NULL, list->n + 1, sizeof(*rows));
	size_t i;

	memset(rows, 0, (list->n + 1) * sizeof(*rows));
	for (i = 0; i < list->n; i++) {
		rows[i].s = &list->v[i];
		row_fill(&rows[i], old, seconds, o);
	}
	if (o->watch)
		qsort(rows, list->n, sizeof(*rows), by_rate);
	return rows;
}

/*
 * As wide as what is in it: a connection of IPv4 takes less than 80 columns, without rates.
 * On a terminal the headings and the first socket are shown at least.
 */
void sockets_print(const struct sock_list *list, const struct sock_list *old,
		   double seconds, const struct options *o)
{
	struct table t = { .o = o, .columns = old ? COLUMNS : SEND };
	struct row *rows = rows_of(list, old, seconds, o);
	size_t i;

	widths(rows, list->n, t.width);
	if (o->no_queues)
		t.width[RECV_Q] = t.width[SEND_Q] = 0;
	if (!o->no_header)
		show(&t, NULL, true);
	for (i = 0; i < list->n; i++)
		if (!show(&t, &rows[i], !o->lines || !i))
			break;
	free(rows);
	fflush(stdout);
}

static void endpoint_json(struct json *j, const char *name,
			  const struct sock_info *s, bool peer, bool resolve)
{
	const uint8_t *addr = peer ? s->dst : s->src;
	char host[256];

	json_open(j, name, '{');
	addr_text(host, sizeof(host), s->family, addr, false);
	json_str(j, "address", host);
	json_u64(j, "port", peer ? s->dport : s->sport);
	if (resolve && !addr_any(s->family, addr)) {
		host_name(host, sizeof(host), s->family, addr);
		json_str(j, "name", host);
	}
	json_close(j, '}');
}

static void context_json(struct json *j, const struct process *p)
{
	char label[256];

	if (process_context(p, false, label, sizeof(label)))
		json_str(j, "proc_ctx", label);
	if (process_context(p, true, label, sizeof(label)))
		json_str(j, "sock_ctx", label);
}

static void processes_json(struct json *j, const struct sock_info *s,
			   const struct options *o)
{
	const struct process *p;
	size_t n, i;

	p = processes_of(s->inode, &n);
	json_open(j, "processes", '[');
	for (i = 0; s->inode && i < n; i++) {
		json_open(j, NULL, '{');
		json_str(j, "name", p[i].name);
		json_u64(j, "pid", p[i].pid);
		if (o->threads)
			json_u64(j, "tid", p[i].tid);
		json_u64(j, "fd", p[i].fd);
		if (o->context)
			context_json(j, &p[i]);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void conn_json(struct json *j, const struct sock_info *s)
{
	unsigned int i;

	json_str(j, "device", s->device);
	json_str(j, "flow_control", s->flow_control);
	json_str(j, "link", s->link);
	json_str(j, "link_reason", s->link_reason);
	json_str(j, "fc_reason", s->fc_reason);
	json_str(j, "zcopy_reason", s->zcopy_reason);
	for (i = 0; i < ARRAY_SIZE(conn_fields); i++)
		json_u64(j, conn_fields[i].name, s->conn[conn_fields[i].attr]);
}

static void stats_json(struct json *j, const struct sock_info *s)
{
	unsigned int i;

	json_open(j, "stats", '{');
	for (i = 0; i < ARRAY_SIZE(stats_fields); i++)
		json_u64(j, stats_fields[i].name,
			 s->stats[stats_fields[i].attr]);
	json_close(j, '}');
}

static void mem_json(struct json *j, const struct sock_info *s)
{
	unsigned int i;

	json_open(j, "memory", '{');
	for (i = 0; i < s->nmem && mem_name(i); i++)
		json_u64(j, mem_name(i), s->mem[i]);
	json_close(j, '}');
}

static void cgroup_json(struct json *j, const struct sock_info *s)
{
	char path[512];

	if (!s->cgroup)
		return;
	cgroup_path(path, sizeof(path), s->cgroup);
	json_str(j, "cgroup", path);
}

static void socket_json(struct json *j, const struct sock_info *s,
			const struct options *o)
{
	char cookie[32];

	json_str(j, "state", state_name(s->state));
	json_u64(j, "family", s->family == AF_INET6 ? 6 : 4);
	json_u64(j, "recv_q", s->rqueue);
	json_u64(j, "send_q", s->wqueue);
	endpoint_json(j, "local", s, false, o->resolve);
	endpoint_json(j, "peer", s, true, o->resolve);
	json_u64(j, "ifindex", s->ifindex);
	json_u64(j, "uid", s->uid);
	json_u64(j, "inode", s->inode);
	/* a string: 64 bits are more than a JSON number can be relied on */
	snprintf(cookie, sizeof(cookie), "%llx", (unsigned long long)s->cookie);
	json_str(j, "cookie", cookie);
	json_u64(j, "shutdown", s->shutdown);
	if (s->has_tos)
		json_u64(j, "tos", s->tos);
	if (s->has_tclass)
		json_u64(j, "tclass", s->tclass);
	if (s->has_mark)
		json_u64(j, "mark", s->mark);
	if (s->tcp_reason[0])
		json_str(j, "tcp_reason", s->tcp_reason);
	if (s->has_conn)
		conn_json(j, s);
	if (s->has_stats)
		stats_json(j, s);
	if (s->nmem)
		mem_json(j, s);
	tcp_json(j, s);
	cgroup_json(j, s);
	if (o->processes)
		processes_json(j, s, o);
}

static void event_json(const struct sock_info *s, unsigned int old,
		       bool resolve)
{
	struct json j;
	char cookie[32];

	json_start(&j, stdout);
	json_str(&j, "old_state", state_name(old));
	json_str(&j, "state", state_name(s->state));
	json_u64(&j, "family", s->family == AF_INET6 ? 6 : 4);
	endpoint_json(&j, "local", s, false, resolve);
	endpoint_json(&j, "peer", s, true, resolve);
	json_u64(&j, "uid", s->uid);
	snprintf(cookie, sizeof(cookie), "%llx", (unsigned long long)s->cookie);
	json_str(&j, "cookie", cookie);
	json_str(&j, "device", s->device);
	json_end(&j);
}

/* In the order of the table, but each line by itself */
void event_print(const struct sock_info *s, unsigned int old,
		 const struct options *o)
{
	char local[96], peer[96];

	if (o->json) {
		event_json(s, old, o->resolve);
		return;
	}
	endpoint_text(local, sizeof(local), s, false, o->resolve);
	endpoint_text(peer, sizeof(peer), s, true, o->resolve);
	printf("%-10s -> %-10s %21s %21s %s\n", state_name(old),
	       state_name(s->state), local, peer,
	       s->device[0] ? s->device : "-");
}

void sockets_json(struct json *j, const struct sock_list *list,
		  const struct sock_list *old, double seconds,
		  const struct options *o)
{
	const struct sock_info *s;
	size_t i;

	json_open(j, "sockets", '[');
	for (i = 0; i < list->n; i++) {
		s = &list->v[i];
		json_open(j, NULL, '{');
		socket_json(j, s, o);
		if (old) {
			json_double(j, "tx_bytes_per_second",
				    rate(s, old, seconds,
					 SDP_DIAG_STATS_TX_BYTES));
			json_double(j, "rx_bytes_per_second",
				    rate(s, old, seconds,
					 SDP_DIAG_STATS_RX_BYTES));
		}
		json_close(j, '}');
	}
	json_close(j, ']');
}

void counters_print(const uint64_t *v, const uint64_t *old, unsigned int n,
		    double seconds, const struct options *o)
{
	unsigned int i, shown = 0;
	char buf[32];
	uint64_t d;

	if (old)
		printf("# %.1f s: counter, change, change per second\n",
		       seconds);
	for (i = SDP_MIB_PAD + 1; i < n; i++) {
		d = old ? v[i] - old[i] : v[i];
		if ((!d && !o->zeros) || !counter_wanted(o, i))
			continue;
		printf("%-24s %20lld", counter_name(i, buf, sizeof(buf)),
		       (long long)d);
		if (old)
			printf(" %16.1f\n", (double)(int64_t)d / seconds);
		else
			printf("  %s\n", counter_text(i));
		shown++;
	}
	if (!shown)
		printf("# nothing has happened %s; -z shows counters that are zero\n",
		       old ? "meanwhile" : "yet");
	fflush(stdout);
}

/* OpenMetrics, which the text format of Prometheus reads, too */
void counters_metrics(const uint64_t *v, unsigned int n,
		      const struct options *o)
{
	char buf[32];
	unsigned int i;

	for (i = SDP_MIB_PAD + 1; i < n; i++) {
		const char *name = counter_name(i, buf, sizeof(buf));
		bool gauge = counter_gauge(i);

		if (!counter_wanted(o, i))
			continue;
		printf("# TYPE sdp_%s %s\n# HELP sdp_%s %s\n", name,
		       gauge ? "gauge" : "counter", name, counter_text(i));
		printf("sdp_%s%s %llu\n", name, gauge ? "" : "_total",
		       (unsigned long long)v[i]);
	}
	puts("# EOF");
}

/* Counters that are 0, too, so that an object always has the same members */
void counters_json(struct json *j, const uint64_t *v, const uint64_t *old,
		   unsigned int n, const struct options *o)
{
	char buf[32];
	unsigned int i;

	json_open(j, "counters", '{');
	for (i = SDP_MIB_PAD + 1; i < n; i++)
		if (counter_wanted(o, i))
			json_u64(j, counter_name(i, buf, sizeof(buf)), v[i]);
	json_close(j, '}');
	if (!old)
		return;

	json_open(j, "change", '{');
	for (i = SDP_MIB_PAD + 1; i < n; i++)
		if (counter_wanted(o, i))
			json_s64(j, counter_name(i, buf, sizeof(buf)),
				 v[i] - old[i]);
	json_close(j, '}');
}
