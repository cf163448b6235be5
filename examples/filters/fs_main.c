// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * fs-node: one node of a plan of filter streams. fs-run starts all of them.
 */
#include <errno.h>
#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fs_node.h"

static void usage(FILE *to)
{
	fputs("usage: fs-node [-o FILE] PLAN NODE\n"
	      "       fs-node -c PLAN\n"
	      "       fs-node -l\n"
	      "\n"
	      "Runs the filters that PLAN places on NODE. fs-run starts all nodes.\n"
	      "\n"
	      "  -o FILE  append results and statistics to FILE, lines of JSON\n"
	      "           (default: standard output)\n"
	      "  -c       only look whether the plan is good\n"
	      "  -l       list the kinds of filters\n"
	      "\n"
	      "Exit status: 0; 2: bad plan or data; 3: a node is gone.\n",
	      to);
}

static void list_filters(void)
{
	const struct fs_filter *tables[] = { fs_synth, fs_scope, fs_iso };

	for (unsigned int i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		for (const struct fs_filter *k = tables[i]; k->name; k++)
			puts(k->name);
	}
}

static void build_control(struct fs_node *n)
{
	const struct fs_plan *p = n->plan;
	bool client = n->self == p->client;
	unsigned int links = client ? p->nodes : 1;

	n->control = calloc(links, sizeof(*n->control));
	if (!n->control)
		fs_die(FS_INPUT, "no memory for the links");
	for (unsigned int i = 0; i < links; i++)
		n->control[i] = (struct fs_link){
			.xp = n->xp,
			.fd = -1,
			.stream = FS_CONTROL,
			.from = client ? i : n->self,
			.to = p->client,
			.peer = client ? i : p->client,
			.room = 256,
		};
}

static void init_node(struct fs_node *n)
{
	struct fs_res *res[] = { &n->cpu, &n->tx, &n->rx };

	pthread_mutex_init(&n->lock, NULL);
	pthread_cond_init(&n->changed, NULL);
	for (unsigned int i = 0; i < 3; i++)
		pthread_mutex_init(&res[i]->lock, NULL);
	n->poke = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	n->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (n->poke < 0 || n->stop < 0)
		fs_die(FS_INPUT, "eventfd: %s", strerror(errno));
	/* blocks come and go; the kernel need not see that */
	mallopt(M_MMAP_THRESHOLD, 64 << 20);
	mallopt(M_TRIM_THRESHOLD, 256 << 20);
	signal(SIGPIPE, SIG_IGN);
}

static int run(struct fs_node *n)
{
	int status;

	n->xp = fs_xport_get(n->plan->transport);
	init_node(n);
	build_control(n);
	fs_node_build(n);
	fs_setup_start(n);
	status = fs_control_run(n);
	if (status)
		fprintf(stderr, "fs-node: %s: %s\n",
			n->plan->node[n->self].name, n->why);
	else
		fs_stat_print(n);
	if (fflush(n->out) || ferror(n->out)) {
		fprintf(stderr, "fs-node: cannot write results: %s\n",
			strerror(errno));
		status = status ? status : FS_INPUT;
	}
	if (n->xp->finish)
		n->xp->finish();
	/* threads may sit in the middle of anything */
	_exit(status);
}

int main(int argc, char **argv)
{
	struct fs_node n = { .out = stdout };
	bool only_check = false;
	int opt, self;

	while ((opt = getopt(argc, argv, "clo:h")) != -1) {
		switch (opt) {
		case 'c':
			only_check = true;
			break;
		case 'l':
			list_filters();
			return 0;
		case 'o':
			n.out = fopen(optarg, "a");
			if (!n.out)
				fs_die(FS_INPUT, "%s: %s", optarg,
				       strerror(errno));
			break;
		case 'h':
			usage(stdout);
			return 0;
		default:
			usage(stderr);
			return FS_INPUT;
		}
	}
	if (argc - optind != 2 - only_check) {
		usage(stderr);
		return FS_INPUT;
	}
	n.plan = fs_plan_read(argv[optind]);
	if (only_check) {
		fs_plan_free(n.plan);
		return 0;
	}
	self = fs_plan_node(n.plan, argv[optind + 1]);
	if (self < 0)
		fs_die(FS_INPUT, "%s has no node %s", argv[optind],
		       argv[optind + 1]);
	n.self = self;
	return run(&n);
}
