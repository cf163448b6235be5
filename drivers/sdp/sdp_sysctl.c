// SPDX-License-Identifier: GPL-2.0
/*
 * SDP tunables: the files below /proc/sys/net/sdp, one set for each network
 * namespace, but for the limits of sdp_mem.c. Calls the sysctl core, and sdp_latency.c to
 * turn the measurement on and off. struct sdp_net has the values with their units,
 * Documentation/sdp.rst their meaning.
 *
 * Most values apply to sockets or connections that are made afterwards.
 * Documentation/sdp.rst names those that apply at once.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/seqlock.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <linux/uidgid.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "compat.h"
#include "sdp.h"
#include "sdp_latency.h"
#include "sdp_mem.h"
#include "sdp_verbs.h"

#define SDP_TIMEOUT_MAX		3600	/* seconds */
/*
 * Added to a program's port to give the device's: over iWARP both TCP and SDP listen at
 * TCP ports. No port of a well-known service plus this is that of another one.
 */
#define SDP_PORT_OFFSET		20257
#define SDP_RESOLVE_MIN		10	/* ms */
#define SDP_RESOLVE_MAX		60000	/* ms */

static int rmem_min = SOCK_MIN_RCVBUF;
static int wmem_min = SOCK_MIN_SNDBUF;
static int mem_max = INT_MAX / 2;
static int rx_bufs_min = SDP_MIN_RX_BUFS;
static int rx_bufs_max = SDP_MAX_RX_BUFS;
static int rx_buf_size_min = 4096;
static int rx_buf_size_max = SDP_BUF_SIZE;
static int rx_merge_max = SDP_BUF_SIZE;
static int vwin_posted_max = 32;
static int signal_every_max = SDP_SQ_DEPTH / 2;
static int timeout_max = SDP_TIMEOUT_MAX;
static int resolve_min = SDP_RESOLVE_MIN;
static int resolve_max = SDP_RESOLVE_MAX;
static int zcopy_wait_max = 60000000;	/* us */
static int entries_max = 1024;
static int hold_max = 65535;
static int offset_max = 65535 - 1024;
static int adverts_max = 255;
static int keepidle_max = MAX_TCP_KEEPIDLE;
static int keepintvl_max = MAX_TCP_KEEPINTVL;
static int keepcnt_max = MAX_TCP_KEEPCNT;

/* One reader or writer at a time for values that depend on each other */
static DEFINE_MUTEX(sysctl_lock);

/*
 * Log the valid range, as sysctl(8) only reports EINVAL. The owner of a user namespace
 * cannot read the log, and would use up the rate limit that all namespaces share.
 */
static int sdp_refused(const struct ctl_table *table, int write, int err)
{
	if (err != -EINVAL || !write || !capable(CAP_NET_ADMIN))
		return err;
	net_info_ratelimited("net.sdp.%s takes %s from %d to %d\n",
			     table->procname,
			     table->maxlen == sizeof(int) ?
				     "a number" :
				     "three numbers that do not decrease,",
			     *(int *)table->extra1, *(int *)table->extra2);
	return err;
}

static int sdp_proc_int(CTL_TABLE_CONST struct ctl_table *table, int write,
			void *buffer, size_t *lenp, loff_t *ppos)
{
	return sdp_refused(table, write,
			   proc_dointvec_minmax(table, write, buffer, lenp,
						ppos));
}

static int sdp_proc_mem_locked(CTL_TABLE_CONST struct ctl_table *table,
			       int write, void *buffer, size_t *lenp,
			       loff_t *ppos)
{
	struct ctl_table tmp = *table;
	int *data = table->data;
	int val[3], i, err;

	lockdep_assert_held(&sysctl_lock);
	for (i = 0; i < ARRAY_SIZE(val); i++)
		val[i] = READ_ONCE(data[i]);
	tmp.data = val;
	err = proc_dointvec_minmax(&tmp, write, buffer, lenp, ppos);
	if (err || !write)
		return err;

	if (val[0] > val[1] || val[1] > val[2])
		return -EINVAL;
	for (i = 0; i < ARRAY_SIZE(val); i++)
		WRITE_ONCE(data[i], val[i]);
	return 0;
}

/* "min default max" must not decrease. All three are stored or none. */
static int sdp_proc_mem(CTL_TABLE_CONST struct ctl_table *table, int write,
			void *buffer, size_t *lenp, loff_t *ppos)
{
	int err;

	mutex_lock(&sysctl_lock);
	err = sdp_proc_mem_locked(table, write, buffer, lenp, ppos);
	mutex_unlock(&sysctl_lock);
	return sdp_refused(table, write, err);
}

/*
 * net.sdp.mem: as tcp_mem one for the machine, since all namespaces share its memory. Only
 * the first one may write it.
 */
static int sdp_proc_pages(CTL_TABLE_CONST struct ctl_table *table, int write,
			  void *buffer, size_t *lenp, loff_t *ppos)
{
	struct ctl_table tmp = *table;
	long *data = table->data;
	long val[3];
	int i, err;

	for (i = 0; i < ARRAY_SIZE(val); i++)
		val[i] = READ_ONCE(data[i]);
	tmp.data = val;
	err = proc_doulongvec_minmax(&tmp, write, buffer, lenp, ppos);
	if (err || !write)
		return err;
	if (val[0] < 0 || val[0] > val[1] || val[1] > val[2]) {
		net_info_ratelimited("net.sdp.%s takes three numbers of pages that do not decrease\n",
				     table->procname);
		return -EINVAL;
	}
	for (i = 0; i < ARRAY_SIZE(val); i++)
		WRITE_ONCE(data[i], val[i]);
	return 0;
}

/* A number whose limit is another value of the namespace */
static int sdp_proc_pair(CTL_TABLE_CONST struct ctl_table *table, int write,
			 void *buffer, size_t *lenp, loff_t *ppos)
{
	int err;

	mutex_lock(&sysctl_lock);
	err = sdp_proc_int(table, write, buffer, lenp, ppos);
	mutex_unlock(&sysctl_lock);
	return err;
}

/* 0 or 1, which switches a static key as well */
static int sdp_proc_latency(CTL_TABLE_CONST struct ctl_table *table, int write,
			    void *buffer, size_t *lenp, loff_t *ppos)
{
	struct ctl_table tmp = *table;
	int *data = table->data, val, err;

	tmp.data = &val;
	mutex_lock(&sysctl_lock);
	val = *data;
	err = proc_dointvec_minmax(&tmp, write, buffer, lenp, ppos);
	if (!err && write)
		sdp_latency_set(data, val);
	mutex_unlock(&sysctl_lock);
	return sdp_refused(table, write, err);
}

/* Stored where no group may open sockets */
static const kgid_t no_groups[] = { KGIDT_INIT(1), KGIDT_INIT(0) };

static void sdp_get_groups(struct sdp_net *sn, kgid_t *range)
{
	unsigned int seq;

	do {
		seq = read_seqbegin(&sn->groups_lock);
		memcpy(range, sn->sysctl_group_range, sizeof(sn->sysctl_group_range));
	} while (read_seqretry(&sn->groups_lock, seq));
}

static int sdp_set_groups(struct sdp_net *sn, const unsigned long *val)
{
	kgid_t range[2] = {
		make_kgid(current_user_ns(), val[0]),
		make_kgid(current_user_ns(), val[1]),
	};

	if (!gid_valid(range[0]) || !gid_valid(range[1])) {
		if (capable(CAP_NET_ADMIN))
			net_info_ratelimited("net.sdp.group_range takes two groups\n");
		return -EINVAL;
	}
	if (val[0] > val[1] || gid_gt(range[0], range[1]))
		memcpy(range, no_groups, sizeof(range));
	write_seqlock(&sn->groups_lock);
	memcpy(sn->sysctl_group_range, range, sizeof(range));
	write_sequnlock(&sn->groups_lock);
	return 0;
}

/* As net.ipv4.ping_group_range: "lowest highest", in the user namespace of the caller */
static int sdp_proc_groups(CTL_TABLE_CONST struct ctl_table *table, int write,
			   void *buffer, size_t *lenp, loff_t *ppos)
{
	struct sdp_net *sn = container_of(table->data, struct sdp_net,
					  sysctl_group_range[0]);
	unsigned long val[2];
	struct ctl_table tmp = { .data = val, .maxlen = sizeof(val) };
	kgid_t range[2];
	int err;

	sdp_get_groups(sn, range);
	val[0] = from_kgid_munged(current_user_ns(), range[0]);
	val[1] = from_kgid_munged(current_user_ns(), range[1]);
	err = proc_doulongvec_minmax(&tmp, write, buffer, lenp, ppos);
	if (err || !write)
		return err;
	if (val[0] > U32_MAX || val[1] > U32_MAX)
		val[0] = U32_MAX;
	return sdp_set_groups(sn, val);
}

static bool sdp_group_in(const kgid_t *range, kgid_t gid)
{
	return gid_lte(range[0], gid) && gid_lte(gid, range[1]);
}

/**
 * sdp_sysctl_may_open() - whether the caller may open a socket
 * @net: network namespace of the socket
 *
 * Context: process.
 * Return: one of its groups is in net.sdp.group_range.
 */
bool sdp_sysctl_may_open(struct net *net)
{
	const struct group_info *groups = current_cred()->group_info;
	kgid_t range[2];
	int i;

	sdp_get_groups(sdp_pernet(net), range);
	if (sdp_group_in(range, current_egid()))
		return true;
	for (i = 0; i < groups->ngroups; i++)
		if (sdp_group_in(range, groups->gid[i]))
			return true;
	return false;
}

/* Without CONFIG_SDP_RESEARCH, the words of the variants in Documentation/knobs.rst are refused. */
#if IS_ENABLED(CONFIG_SDP_RESEARCH)
#define SDP_RESEARCH_WORD(word)	word
#define SDP_RESEARCH_MAX	SYSCTL_ONE
#else
#define SDP_RESEARCH_WORD(word)	""
#define SDP_RESEARCH_MAX	SYSCTL_ZERO
#endif

/* Values of net.sdp.flow_control, by SDP_FLOW_*. SDP_FLOW_DEFAULT is for sockets only. */
static const char * const flow_words[] = {
	[SDP_FLOW_DEFAULT]	= "",
	[SDP_FLOW_AUTO]		= "auto",
	[SDP_FLOW_CREDIT]	= "credit",
	[SDP_FLOW_RDMA]		= SDP_RESEARCH_WORD("rdma"),
	[SDP_FLOW_VWIN]		= SDP_RESEARCH_WORD("vwin"),
	[SDP_FLOW_TRANSPORT]	= "transport",
	NULL
};

static const char * const update_words[] = {
	[SDP_UPDATE_THIRD]	= "third",
	[SDP_UPDATE_HALF]	= "half",
	[SDP_UPDATE_EACH]	= "each",
	NULL
};

static const char * const progress_words[] = {
	[SDP_PROGRESS_KERNEL]	= "kernel",
	[SDP_PROGRESS_APP]	= SDP_RESEARCH_WORD("app"),
	NULL
};

static void sdp_no_word(const char *name, const char * const *words)
{
	char list[64];
	int i, len = 0;

	for (i = 0; words[i]; i++) {
		if (*words[i])
			len += scnprintf(list + len, sizeof(list) - len, "%s%s",
					 len ? ", " : "", words[i]);
	}
	net_info_ratelimited("net.sdp.%s takes one of %s\n", name, list);
}

/* One word of the list in extra1; the value is its index. "" stands for no value. */
static int sdp_proc_word(CTL_TABLE_CONST struct ctl_table *table, int write,
			 void *buffer, size_t *lenp, loff_t *ppos)
{
	const char * const *words = table->extra1;
	int *data = table->data, i, err;
	char word[16], *name;
	struct ctl_table tmp = { .data = word, .maxlen = sizeof(word) };

	strscpy(word, words[READ_ONCE(*data)], sizeof(word));
	err = proc_dostring(&tmp, write, buffer, lenp, ppos);
	if (err || !write)
		return err;
	name = strim(word);
	for (i = 0; words[i]; i++) {
		if (*name && !strcmp(words[i], name)) {
			WRITE_ONCE(*data, i);
			return 0;
		}
	}
	if (capable(CAP_NET_ADMIN))
		sdp_no_word(table->procname, words);
	return -EINVAL;
}

/* .data is an offset in struct sdp_net; a namespace's copy of the table has the address. */
#define SDP_SYSCTL_BY(handler, name, min, max) {			\
	.procname	= #name,					\
	.data		= (void *)offsetof(struct sdp_net, sysctl_##name), \
	.maxlen		= sizeof(int),					\
	.mode		= 0644,						\
	.proc_handler	= (handler),					\
	.extra1		= (min),					\
	.extra2		= (max),					\
}

#define SDP_SYSCTL(name, min, max)					\
	SDP_SYSCTL_BY(sdp_proc_int, name, min, max)
#define SDP_SYSCTL_PAIR(name, min, max)					\
	SDP_SYSCTL_BY(sdp_proc_pair, name, min, max)

#define SDP_SYSCTL_KEY(name, handler)					\
	SDP_SYSCTL_BY(handler, name, SYSCTL_ZERO, SYSCTL_ONE)

#define SDP_SYSCTL_WORD(name, words) {					\
	.procname	= #name,					\
	.data		= (void *)offsetof(struct sdp_net, sysctl_##name), \
	.maxlen		= sizeof(int),					\
	.mode		= 0644,						\
	.proc_handler	= sdp_proc_word,				\
	.extra1		= (void *)(words),				\
}

#define SDP_SYSCTL_MEM(name, min) {					\
	.procname	= #name,					\
	.data		= (void *)offsetof(struct sdp_net, sysctl_##name), \
	.maxlen		= 3 * sizeof(int),				\
	.mode		= 0644,						\
	.proc_handler	= sdp_proc_mem,					\
	.extra1		= (min),					\
	.extra2		= &mem_max,					\
}

enum { RX_BUFS_MIN, RX_BUFS_MAX, MEM };

static const struct ctl_table sdp_sysctl_table[] = {
	/* each is a limit of the other; sdp_sysctl_init_net() fills in NULL */
	[RX_BUFS_MIN] = SDP_SYSCTL_PAIR(rx_bufs_min, &rx_bufs_min, NULL),
	[RX_BUFS_MAX] = SDP_SYSCTL_PAIR(rx_bufs_max, NULL, &rx_bufs_max),
	[MEM] = {
		.procname	= "mem",
		.maxlen		= sizeof(sdp_mem_limits),
		.mode		= 0644,
		.proc_handler	= sdp_proc_pages,
	},
	SDP_SYSCTL_MEM(rmem, &rmem_min),
	SDP_SYSCTL_MEM(wmem, &wmem_min),
	SDP_SYSCTL(rx_buf_size, &rx_buf_size_min, &rx_buf_size_max),
	SDP_SYSCTL(rx_merge, SYSCTL_NEG_ONE, &rx_merge_max),
	SDP_SYSCTL(shared_link, SYSCTL_ZERO, SYSCTL_ONE),
	SDP_SYSCTL_WORD(flow_control, flow_words),
	SDP_SYSCTL(credit_join, SYSCTL_ZERO, SYSCTL_ONE),
	SDP_SYSCTL_WORD(credit_update, update_words),
	SDP_SYSCTL(vwin_posted, SYSCTL_ONE, &vwin_posted_max),
	SDP_SYSCTL_WORD(rdma_progress, progress_words),
	SDP_SYSCTL(rdma_immediate, SYSCTL_ZERO, SDP_RESEARCH_MAX),
	SDP_SYSCTL(zcopy_threshold, SYSCTL_ZERO, SYSCTL_INT_MAX),
	SDP_SYSCTL(zcopy_floor, SYSCTL_ZERO, SYSCTL_INT_MAX),
	SDP_SYSCTL(zcopy_wait, SYSCTL_ONE, &zcopy_wait_max),
	SDP_SYSCTL(zcopy_cache, SYSCTL_ZERO, SYSCTL_INT_MAX),
	SDP_SYSCTL(zcopy_entries, SYSCTL_ONE, &entries_max),
	SDP_SYSCTL(zcopy_pipelined, SYSCTL_ZERO, SDP_RESEARCH_MAX),
	SDP_SYSCTL(signal_every, SYSCTL_ONE, &signal_every_max),
	SDP_SYSCTL(fin_timeout, SYSCTL_ONE, &timeout_max),
	SDP_SYSCTL(resolve_timeout, &resolve_min, &resolve_max),
	SDP_SYSCTL(connect_timeout, SYSCTL_ONE, &timeout_max),
	SDP_SYSCTL(confirm_timeout, SYSCTL_ONE, &timeout_max),
	SDP_SYSCTL(hold_max, SYSCTL_ZERO, &hold_max),
	SDP_SYSCTL(max_connections, SYSCTL_ZERO, SYSCTL_INT_MAX),
	SDP_SYSCTL(max_orphans, SYSCTL_ZERO, SYSCTL_INT_MAX),
	SDP_SYSCTL(max_adverts, SYSCTL_ONE, &adverts_max),
	SDP_SYSCTL_KEY(tx_latency, sdp_proc_latency),
	SDP_SYSCTL(port_offset, SYSCTL_ZERO, &offset_max),
	{
		.procname	= "group_range",
		.data		= (void *)offsetof(struct sdp_net,
						   sysctl_group_range),
		.maxlen		= sizeof(kgid_t[2]),
		.mode		= 0644,
		.proc_handler	= sdp_proc_groups,
	},
	SDP_SYSCTL(fallback, SYSCTL_ZERO, SYSCTL_ONE),
	SDP_SYSCTL(fallback_timeout, SYSCTL_ONE, &timeout_max),
	SDP_SYSCTL(fallback_memory, SYSCTL_ZERO, &timeout_max),
	SDP_SYSCTL(keepalive_time, SYSCTL_ONE, &keepidle_max),
	SDP_SYSCTL(keepalive_intvl, SYSCTL_ONE, &keepintvl_max),
	SDP_SYSCTL(keepalive_probes, SYSCTL_ONE, &keepcnt_max),
#ifndef HAVE_REGISTER_NET_SYSCTL_SZ
	{ }
#endif
};

static void sdp_sysctl_defaults(struct sdp_net *sn)
{
	sn->sysctl_rmem[0] = 4096;
	sn->sysctl_rmem[1] = 256 * 1024;
	sn->sysctl_rmem[2] = 8192 * 1024;
	sn->sysctl_wmem[0] = SOCK_MIN_SNDBUF;
	sn->sysctl_wmem[1] = 256 * 1024;
	sn->sysctl_wmem[2] = 4096 * 1024;
	sn->sysctl_rx_bufs_min = 8;
	sn->sysctl_rx_bufs_max = 96;
	sn->sysctl_rx_buf_size = SDP_BUF_SIZE;
	sn->sysctl_rx_merge = 2048;
	sn->sysctl_shared_link = 1;
	sn->sysctl_flow_control = SDP_FLOW_AUTO;
	sn->sysctl_credit_join = 1;
	sn->sysctl_credit_update = SDP_UPDATE_THIRD;
	sn->sysctl_vwin_posted = 8;
	sn->sysctl_rdma_progress = SDP_PROGRESS_KERNEL;
	sn->sysctl_rdma_immediate = IS_ENABLED(CONFIG_SDP_RESEARCH);
	sn->sysctl_zcopy_threshold = 0;
	sn->sysctl_zcopy_floor = 256 << 10;
	sn->sysctl_zcopy_wait = 1000;
	sn->sysctl_zcopy_cache = 64 << 20;
	sn->sysctl_zcopy_entries = 16;
	sn->sysctl_zcopy_pipelined = IS_ENABLED(CONFIG_SDP_RESEARCH);
	sn->sysctl_signal_every = 16;
	sn->sysctl_fin_timeout = 60;
	sn->sysctl_resolve_timeout = 5000;
	sn->sysctl_connect_timeout = 127;
	sn->sysctl_confirm_timeout = 20;
	sn->sysctl_hold_max = 128;
	sn->sysctl_max_connections = 0;
	sn->sysctl_max_orphans = 16384;
	sn->sysctl_max_adverts = 1;
	sn->sysctl_tx_latency = 0;
	sn->sysctl_port_offset = SDP_PORT_OFFSET;
	sn->sysctl_group_range[0] = GLOBAL_ROOT_GID;
	sn->sysctl_group_range[1] = KGIDT_INIT(U32_MAX - 1);
	sn->sysctl_fallback = 1;
	sn->sysctl_fallback_timeout = 3;
	sn->sysctl_fallback_memory = 10;
	sn->sysctl_keepalive_time = 7200;
	sn->sysctl_keepalive_intvl = 75;
	sn->sysctl_keepalive_probes = 9;
}

/**
 * sdp_sysctl_init_net() - create net.sdp.* with the default values
 * @net: new network namespace
 *
 * Context: pernet init, may sleep.
 * Return: 0 or -ENOMEM.
 */
int __net_init sdp_sysctl_init_net(struct net *net)
{
	struct sdp_net *sn = sdp_pernet(net);
	struct ctl_table *table;
	size_t i;

	seqlock_init(&sn->groups_lock);
	sdp_sysctl_defaults(sn);

	table = kmemdup(sdp_sysctl_table, sizeof(sdp_sysctl_table), GFP_KERNEL);
	if (!table)
		return -ENOMEM;

	for (i = 0; i < ARRAY_SIZE(sdp_sysctl_table); i++)
		table[i].data = (void *)sn + (size_t)table[i].data;
	table[MEM].data = sdp_mem_limits;
	if (!net_eq(net, &init_net))
		table[MEM].mode = 0444;
	table[RX_BUFS_MIN].extra2 = &sn->sysctl_rx_bufs_max;
	table[RX_BUFS_MAX].extra1 = &sn->sysctl_rx_bufs_min;

	sn->sysctl_hdr = register_net_sysctl_sz(net, "net/sdp", table,
						ARRAY_SIZE(sdp_sysctl_table));
	if (!sn->sysctl_hdr) {
		kfree(table);
		return -ENOMEM;
	}
	return 0;
}

/**
 * sdp_sysctl_exit_net() - remove net.sdp.* of a namespace
 * @net: network namespace that goes away
 *
 * Context: pernet exit, may sleep: waits for readers and writers.
 */
void __net_exit sdp_sysctl_exit_net(struct net *net)
{
	struct sdp_net *sn = sdp_pernet(net);
	const struct ctl_table *table = sn->sysctl_hdr->ctl_table_arg;

	unregister_net_sysctl_table(sn->sysctl_hdr);
	sdp_latency_set(&sn->sysctl_tx_latency, 0);
	kfree(table);
}
