/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Filter streams: the plan. Calls nothing but the table of filters.
 */
#ifndef FS_PLAN_H
#define FS_PLAN_H

#include "fs.h"

#define FS_NODES 64
#define FS_FILTERS 64
#define FS_COPIES 32
#define FS_STREAMS 64
#define FS_CURVE 64
#define FS_NAME 32
#define FS_ARGS 256
#define FS_BLOCK_MAX (16 << 20)

enum fs_policy { FS_RR, FS_DD };

struct fs_plan_node {
	char name[FS_NAME];
	char address[64];
	unsigned int slow;
};

struct fs_plan_filter {
	char name[FS_NAME];
	const struct fs_filter *kind;
	unsigned int copies;
	unsigned int node[FS_COPIES]; /* of each copy */
	char args[FS_ARGS];
};

struct fs_plan_stream {
	unsigned int from; /* filters */
	unsigned int to;
	unsigned int block;
	unsigned int window;
	enum fs_policy policy;
};

struct fs_plan_uow {
	uint64_t at; /* microseconds after the start, 0: when there is room */
	struct fs_uow uow;
};

/* Time that a message of a size takes, in microseconds */
struct fs_plan_curve {
	unsigned int bytes;
	double o_s; /* processor of the sender */
	double o_r; /* processor of the receiver */
	double wire; /* NICs of both */
};

/**
 * struct fs_plan - everything that a plan says
 * @hash: of its text; both ends of a connection have the same
 * @client: node that hands out the units of work
 * @compute: nanoseconds for a byte
 * @spin: compute by working, not by sleeping
 * @depth: units of work in the pipeline at a time
 * @dilate: factor by which what is imposed is slower than it says
 * @start: seconds until all nodes have to be there
 */
struct fs_plan {
	const char *file;
	unsigned int line;
	uint32_t hash;
	unsigned int nodes, filters, streams, uows, curves;
	struct fs_plan_node node[FS_NODES];
	struct fs_plan_filter filter[FS_FILTERS];
	struct fs_plan_stream stream[FS_STREAMS];
	struct fs_plan_curve curve[FS_CURVE];
	struct fs_plan_uow *uow;
	char args[FS_ARGS];
	char transport[16];
	unsigned int client;
	unsigned int compute;
	unsigned int dilate;
	unsigned int depth;
	unsigned int start;
	unsigned int port;
	bool spin;
};

struct fs_plan *fs_plan_read(const char *file);
void fs_plan_free(struct fs_plan *p);
int fs_plan_node(const struct fs_plan *p, const char *name);
long fs_arg(const char *args, const char *name, long dflt);
const char *fs_arg_text(const char *args, const char *name, char *buf,
			size_t size);
void fs_die(int status, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 2, 3)));

#endif /* FS_PLAN_H */
