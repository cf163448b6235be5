// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpstat advise: counters of the namespace that say that something could be better,
 * and the setting, or the place, to look at.
 */
#include "sdpstat.h"

/**
 * struct advice - when a counter is worth a sentence
 * @counter: SDP_MIB_*
 * @base: SDP_MIB_* that it is a part of; 0: each one counts
 * @percent: of @base, from which it is worth it
 * @means: the finding
 * @remedy: the thing to do
 */
struct advice {
	unsigned int counter;
	unsigned int base;
	unsigned int percent;
	const char *means;
	const char *remedy;
};

/* Shares of less than this many events are chance. */
#define ENOUGH 100

/* clang-format off */
static const struct advice advices[] = {
	{ SDP_MIB_TCP_LISTENS, 0, 0,
	  "servers listen for TCP only",
	  "is net.sdp.port_offset 0, or has the RDMA device gone?" },
	{ SDP_MIB_TCP_CONNECTS, SDP_MIB_ACTIVE_OPENS, 1,
	  "clients continued with TCP",
	  "'sdpstat check HOST:PORT' of a server says why" },
	{ SDP_MIB_CONN_LIMIT, 0, 0,
	  "connections were refused",
	  "raise net.sdp.max_connections, or set it to 0" },
	{ SDP_MIB_MEM_LIMIT, 0, 0,
	  "connections had less memory for buffers than they asked for",
	  "raise net.sdp.mem, or look for programs that do not read" },
	{ SDP_MIB_ORPHAN_LIMIT, 0, 0,
	  "closed connections were reset, with data that had not left",
	  "raise net.sdp.max_orphans, if the peers do read" },
	{ SDP_MIB_LISTEN_DROPS, 0, 0,
	  "requests were given up: a program accepts too slowly, or peers do not confirm",
	  "raise its backlog and net.core.somaxconn, then net.sdp.hold_max" },
	{ SDP_MIB_HELD_REQS, SDP_MIB_CONN_REQS, 10,
	  "requests had to wait",
	  "raise the program's backlog and net.core.somaxconn" },
	{ SDP_MIB_HELLO_BAD, 0, 0,
	  "peers began with something that is no Hello",
	  "is net.sdp.port_offset the same at both ends?" },
	{ SDP_MIB_BAD_VERSION, 0, 0,
	  "peers speak another version of SDP",
	  "update the older end" },
	{ SDP_MIB_TRANSPORT_ERRORS, 0, 0,
	  "the RDMA device failed",
	  "'rdma statistic show link' and dmesg say more" },
	{ SDP_MIB_TIMEOUTS, SDP_MIB_ACTIVE_OPENS, 5,
	  "connections ended by a timer",
	  "look for a firewall in between, and for peers that are gone" },
	{ SDP_MIB_RX_NO_MEM, 0, 0,
	  "the machine was short of memory for receive buffers",
	  "lower net.sdp.rx_bufs_max or net.sdp.rmem" },
	{ SDP_MIB_TX_NO_CREDIT, SDP_MIB_TX_DATA_MSGS, 10,
	  "the peer does not read fast enough",
	  "or raise its net.sdp.rx_bufs_max if the path is long" },
	{ SDP_MIB_RX_PAUSES, SDP_MIB_RX_DATA_MSGS, 10,
	  "a program does not read fast enough",
	  "a larger net.sdp.rmem helps if it reads in bursts" },
	{ SDP_MIB_TX_SNDBUF_FULL, SDP_MIB_TX_DATA_MSGS, 50,
	  "writers waited for room",
	  "raise net.sdp.wmem if the path is long" },
	{ SDP_MIB_FC_FALLBACKS, 0, 0,
	  "connections have another flow control than asked for",
	  "fc_reason in 'sdpstat -e' says why" },
	{ SDP_MIB_TX_ZCOPY_CANCELS, SDP_MIB_TX_SRCAVAIL, 25,
	  "zero copy was tried in vain, as readers do not wait",
	  "raise net.sdp.zcopy_threshold or net.sdp.zcopy_wait" },
	{ SDP_MIB_ZCOPY_NO_MEM, 0, 0,
	  "memory could not be pinned",
	  "raise the program's limit of locked memory (ulimit -l)" },
	{ SDP_MIB_ZCOPY_NO_LINK, 0, 0,
	  "large sends were copied although there is a threshold",
	  "zcopy_reason in 'sdpstat -e' says why" },
	{ SDP_MIB_ZCOPY_CACHE_EVICTED, SDP_MIB_ZCOPY_CACHE_MISSES, 50,
	  "pinned memory was let go for other",
	  "raise net.sdp.zcopy_entries or net.sdp.zcopy_cache" },
	{ SDP_MIB_RX_MAP_FULL, 0, 0,
	  "a program unmaps received pages late",
	  "let it read more often" },
};
/* clang-format on */

/* The cost of smaller messages is more that of the message than that of its bytes. */
#define SMALL 512

static bool applies(const struct advice *a, const uint64_t *v)
{
	if (!a->base)
		return v[a->counter];
	return v[a->base] >= ENOUGH &&
	       v[a->counter] * 100 >= v[a->base] * a->percent;
}

static void print_one(struct json *j, const struct advice *a, const uint64_t *v)
{
	char name[32], base[32];

	if (j) {
		json_open(j, NULL, '{');
		json_str(j, "counter",
			 counter_name(a->counter, name, sizeof(name)));
		json_u64(j, "value", v[a->counter]);
		if (a->base) {
			json_str(j, "of",
				 counter_name(a->base, base, sizeof(base)));
			json_u64(j, "of_value", v[a->base]);
		}
		json_str(j, "means", a->means);
		json_str(j, "remedy", a->remedy);
		json_close(j, '}');
		return;
	}
	printf("%s %llu", counter_name(a->counter, name, sizeof(name)),
	       (unsigned long long)v[a->counter]);
	if (a->base && v[a->base])
		printf(" (%.0f %% of %s)", v[a->counter] * 100.0 / v[a->base],
		       counter_name(a->base, base, sizeof(base)));
	printf(": %s; %s\n", a->means, a->remedy);
}

unsigned int advise(struct json *j, const uint64_t *v)
{
	static const struct advice small = {
		SDP_MIB_TX_BYTES, 0, 0, "sends are small",
		"a program that has more to write gains by TCP_CORK or writev()"
	};
	uint64_t msgs = v[SDP_MIB_TX_DATA_MSGS];
	unsigned int n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(advices); i++) {
		if (!applies(&advices[i], v))
			continue;
		print_one(j, &advices[i], v);
		n++;
	}
	if (msgs >= 100 * ENOUGH && v[SDP_MIB_TX_BYTES] / msgs < SMALL) {
		print_one(j, &small, v);
		n++;
	}
	return n;
}
