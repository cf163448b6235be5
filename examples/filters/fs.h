/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Filter streams: the interface of a filter.
 *
 * A filter reads buffers from its inputs and writes buffers to its outputs. The
 * runtime places copies of filters on nodes, connects them by streams and drives
 * them through units of work: init(), process(), finalize(), then the next one. The
 * copies of a filter are transparent: the result does not depend on their number.
 */
#ifndef FS_H
#define FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FS_HEAD 32 /* bytes of a frame before its payload */
#define FS_UOW_TEXT 120

/* Exit status of a node, and of all nodes when one of them fails */
#define FS_INPUT 2 /* bad plan or data: the message says what to do */
#define FS_LOST 3 /* a node is gone: the message has its name */

/**
 * struct fs_uow - unit of work
 * @n: number, from 0
 * @text: its kind and its arguments: "zoom x=64 y=0 factor=4"
 */
struct fs_uow {
	uint32_t n;
	char text[FS_UOW_TEXT];
};

/**
 * struct fs_buf - buffer of a stream
 * @tag: place of the block, for the filters
 * @len: bytes of payload in @data
 * @room: most that @len can be
 * @type: private, as the rest up to @head
 * @uow: number of the unit of work
 * @seq: number within the link
 * @time: arrival where curves are imposed, in nanoseconds
 * @head: room for the frame's header, so that one send takes all
 * @data: payload, aligned to 16 bytes
 */
struct fs_buf {
	uint32_t tag;
	uint32_t len;
	uint32_t room;
	uint32_t type;
	uint32_t uow;
	uint32_t seq;
	uint64_t time;
	_Alignas(16) uint8_t head[FS_HEAD];
	uint8_t data[];
};

struct fs_copy;

/**
 * struct fs - copy of a filter, as the filter sees it
 * @copy: number of this copy, from 0
 * @copies: number of copies
 * @inputs: number of input streams
 * @outputs: number of output streams
 * @slow: factor of the node: do the work that often
 * @uow: unit of work in progress
 * @priv: for the filter; kept from one unit of work to the next
 * @run: for the runtime
 */
struct fs {
	unsigned int copy;
	unsigned int copies;
	unsigned int inputs;
	unsigned int outputs;
	unsigned int slow;
	const struct fs_uow *uow;
	void *priv;
	struct fs_copy *run;
};

/**
 * struct fs_filter - kind of filter
 * @name: name in plans
 * @init: prepare for a unit of work
 * @process: read the inputs until they end, write to the outputs only
 * @finalize: end the unit of work; runs after @process succeeded
 * @end: release @priv, may be NULL
 *
 * @init and @process return 0, or the negative value of the call that failed.
 */
struct fs_filter {
	const char *name;
	int (*init)(struct fs *f, const struct fs_uow *u);
	int (*process)(struct fs *f);
	void (*finalize)(struct fs *f);
	void (*end)(struct fs *f);
};

extern const struct fs_filter fs_synth[], fs_scope[], fs_iso[];

int fs_read(struct fs *f, unsigned int in, struct fs_buf **b);
int fs_write(struct fs *f, unsigned int out, struct fs_buf *b);
struct fs_buf *fs_alloc(struct fs *f, unsigned int out);
void fs_release(struct fs_buf *b);
int fs_compute(struct fs *f, size_t bytes);

long fs_param(struct fs *f, const char *name, long dflt);
const char *fs_param_text(struct fs *f, const char *name, char *buf,
			  size_t size);
bool fs_uow_is(const struct fs_uow *u, const char *kind);
long fs_uow_arg(const struct fs_uow *u, const char *name, long dflt);

int fs_error(struct fs *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void fs_emit(struct fs *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* FNV-1a, 64 bits: the hash of results */
#define FS_HASH 0xcbf29ce484222325ULL
uint64_t fs_hash(uint64_t h, const void *data, size_t len);

#endif /* FS_H */
