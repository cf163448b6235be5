// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* sdpstat -S: how many sockets there are, by state, family, protocol, device. */
#include <string.h>
#include <sys/socket.h>

#include "sdpstat.h"

/* Names and how often they occur, in the order in which they are found */
struct tally {
	struct {
		const char *name;
		unsigned long n;
	} v[256];
	size_t n;
};

/* The last row counts all that have no place. */
static void tally(struct tally *t, const char *name)
{
	size_t i = 0;

	while (i < t->n && strcmp(t->v[i].name, name))
		i++;
	if (i == ARRAY_SIZE(t->v)) {
		t->v[--i].name = "others";
	} else if (i == t->n) {
		t->v[i].name = name;
		t->n++;
	}
	t->v[i].n++;
}

static void tally_text(const char *title, const struct tally *t)
{
	printf("%s", title);
	for (size_t i = 0; i < t->n; i++)
		printf("%s %s %lu", i ? "," : "", t->v[i].name, t->v[i].n);
	puts(t->n ? "" : " none");
}

static void tally_json(struct json *j, const char *name, const struct tally *t)
{
	json_open(j, name, '{');
	for (size_t i = 0; i < t->n; i++)
		json_u64(j, t->v[i].name, t->v[i].n);
	json_close(j, '}');
}

struct summary {
	struct tally states, protocols, families, devices;
	unsigned long total, no_file;
	uint64_t rqueue, wqueue;
};

static void add(struct summary *m, const struct sock_info *s)
{
	m->total++;
	tally(&m->states, state_name(s->state));
	tally(&m->protocols, s->tcp_reason[0] ? "TCP" : "SDP");
	tally(&m->families, s->family == AF_INET6 ? "IPv6" : "IPv4");
	if (s->device[0])
		tally(&m->devices, s->device);
	m->no_file += !s->inode;
	if (s->state == STATE_LISTEN)
		return;
	m->rqueue += s->rqueue;
	m->wqueue += s->wqueue;
}

void summary_show(const struct sock_list *list, const struct options *o)
{
	static struct summary m;
	struct json j;

	memset(&m, 0, sizeof(m));
	for (size_t i = 0; i < list->n; i++)
		add(&m, &list->v[i]);
	if (!o->json) {
		printf("Total: %lu, without a file %lu\n", m.total, m.no_file);
		tally_text("States:", &m.states);
		tally_text("Protocols:", &m.protocols);
		tally_text("Families:", &m.families);
		tally_text("Devices:", &m.devices);
		printf("Bytes: unread %llu, not acknowledged %llu\n",
		       (unsigned long long)m.rqueue,
		       (unsigned long long)m.wqueue);
		return;
	}
	json_start(&j, stdout);
	json_u64(&j, "total", m.total);
	json_u64(&j, "no_file", m.no_file);
	tally_json(&j, "states", &m.states);
	tally_json(&j, "protocols", &m.protocols);
	tally_json(&j, "families", &m.families);
	tally_json(&j, "devices", &m.devices);
	json_u64(&j, "recv_q", m.rqueue);
	json_u64(&j, "send_q", m.wqueue);
	json_end(&j);
}
