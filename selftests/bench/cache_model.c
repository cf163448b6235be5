// SPDX-License-Identifier: GPL-2.0
/*
 * Plugin for QEMU's emulator (TCG): models a cache of the guest's data between the
 * marks of sdpbench (tools/sdpbench/mark.h).
 *
 * Each load and store of the processor looks up the lines it touches by physical
 * address, so that an application's page and its address in the direct map are one.
 * A miss fills a line, also for a store (write-allocate). The least recently used
 * line of a set is replaced; if it was stored to, it is written back. The traffic
 * between cache and memory is the sum of both, in lines.
 *
 * There is a cache for each end of a connection, and one for accesses of neither
 * end, see the marks of ulp_load.ko; without these marks all accesses are those of
 * neither. A store of one end takes the line out of the other caches, which write
 * it back first if they have changed it; a load makes them write it back.
 *
 * Not modelled: instruction fetches, address translation, prefetching.
 *
 * Arguments: out=FILE, size=BYTES (524288), ways=N (8), line=BYTES (64). At a
 * stop mark "SIDE ACCESSES FILLS WRITEBACKS" lines are appended to the file, one
 * for each of a, b and neither, since the start mark. The first start mark only
 * switches the model on, because it slows the guest down: the caches are empty
 * then, and its pair gives no lines.
 *
 * Debian has no package with QEMU's plugin header, so the part of its interface
 * (version 1) that is used here is declared here.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API_VERSION 1
#define EXPORT __attribute__((visibility("default")))

typedef uint64_t plugin_id;
typedef uint32_t plugin_meminfo;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;

enum { CB_NO_REGS = 0 };
enum { MEM_RW = 3 };

typedef void (*tb_trans_cb)(plugin_id id, struct qemu_plugin_tb *tb);
typedef void (*exec_cb)(unsigned int cpu, void *data);
typedef void (*mem_cb)(unsigned int cpu, plugin_meminfo info, uint64_t vaddr,
		       void *data);
typedef void (*simple_cb)(plugin_id id);

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, tb_trans_cb cb);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    exec_cb cb, int flags, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, mem_cb cb,
				      int flags, int rw, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *
qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t idx);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
unsigned int qemu_plugin_mem_size_shift(plugin_meminfo info);
bool qemu_plugin_mem_is_store(plugin_meminfo info);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(plugin_meminfo info,
						  uint64_t vaddr);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *haddr);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *haddr);
void qemu_plugin_reset(plugin_id id, simple_cb cb);

EXPORT int qemu_plugin_version = API_VERSION;
EXPORT int qemu_plugin_install(plugin_id id, const void *info, int argc,
			       char **argv);

enum { MARK_START = 1, MARK_STOP, MARK_NOBODY, MARK_A, MARK_B, MARKS };

/* A line that is not there has the tag NO_TAG */
#define NO_TAG UINT64_MAX

struct line {
	uint64_t tag; /* physical address in lines */
	uint64_t used; /* when, for replacement */
	bool dirty;
};

struct cache {
	const char *name;
	struct line *lines; /* set by set */
	uint64_t accesses;
	uint64_t fills;
	uint64_t writebacks;
};

enum { NEITHER, END_A, END_B, SIDES };

static struct cache caches[SIDES] = {
	[NEITHER] = { .name = "neither" },
	[END_A] = { .name = "a" },
	[END_B] = { .name = "b" },
};
static uint64_t line_size = 64;
static uint64_t ways = 8;
static uint64_t cache_size = 512 * 1024;
static uint64_t sets;
static uint64_t now;
static const char *out_name;
static plugin_id self;
static int side = NEITHER;
static bool on; /* the model works */
static bool counting; /* between marks */

static struct line *set_of(struct cache *c, uint64_t tag)
{
	return c->lines + (tag % sets) * ways;
}

static struct line *find(struct cache *c, uint64_t tag)
{
	struct line *set = set_of(c, tag);

	for (uint64_t i = 0; i < ways; i++) {
		if (set[i].tag == tag)
			return &set[i];
	}
	return NULL;
}

static struct line *oldest(struct cache *c, uint64_t tag)
{
	struct line *set = set_of(c, tag), *found = set;

	for (uint64_t i = 1; i < ways; i++) {
		if (set[i].used < found->used)
			found = &set[i];
	}
	return found;
}

static void write_back(struct cache *c, struct line *l)
{
	if (l->tag != NO_TAG && l->dirty)
		c->writebacks++;
	l->dirty = false;
}

/* Another end's copy of the line */
static void snoop(struct cache *c, uint64_t tag, bool store)
{
	struct line *l = find(c, tag);

	if (!l)
		return;
	write_back(c, l);
	if (store)
		*l = (struct line){ .tag = NO_TAG };
}

static void touch_line(uint64_t tag, bool store)
{
	struct cache *c = &caches[side];
	struct line *l = find(c, tag);

	if (!l || store) {
		for (int i = 0; i < SIDES; i++) {
			if (i != side)
				snoop(&caches[i], tag, store);
		}
	}
	if (!l) {
		l = oldest(c, tag);
		write_back(c, l);
		l->tag = tag;
		c->fills++;
	}
	l->used = ++now;
	l->dirty |= store;
	c->accesses++;
}

static void accessed(unsigned int cpu, plugin_meminfo info, uint64_t vaddr,
		     void *data)
{
	struct qemu_plugin_hwaddr *hw = qemu_plugin_get_hwaddr(info, vaddr);
	uint64_t phys, last;

	(void)cpu;
	(void)data;
	if (!hw || qemu_plugin_hwaddr_is_io(hw))
		return;
	phys = qemu_plugin_hwaddr_phys_addr(hw);
	last = phys + (1U << qemu_plugin_mem_size_shift(info)) - 1;
	for (uint64_t tag = phys / line_size; tag <= last / line_size; tag++)
		touch_line(tag, qemu_plugin_mem_is_store(info));
}

static void start(void)
{
	for (int i = 0; i < SIDES; i++)
		caches[i].accesses = caches[i].fills = caches[i].writebacks = 0;
	counting = true;
}

static void stop(void)
{
	FILE *f;

	if (!counting)
		return;
	counting = false;
	f = fopen(out_name, "a");
	if (!f) {
		perror(out_name);
		return;
	}
	for (int i = 0; i < SIDES; i++)
		fprintf(f, "%s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
			caches[i].name, caches[i].accesses, caches[i].fills,
			caches[i].writebacks);
	fclose(f);
}

static void register_again(plugin_id id);

static void marked(unsigned int cpu, void *data)
{
	int mark = (intptr_t)data;

	(void)cpu;
	if (mark == MARK_START && !on) {
		on = true;
		/* all code is translated again, now with its accesses */
		qemu_plugin_reset(self, register_again);
	} else if (mark == MARK_START) {
		start();
	} else if (mark == MARK_STOP) {
		stop();
	} else if (mark < MARKS) {
		side = mark - MARK_NOBODY + NEITHER;
	}
}

/* Return: 0, or the number of the mark */
static int mark_of(const struct qemu_plugin_insn *insn)
{
	static const uint8_t mark[] = {
		0x0f, 0x1f, 0x84, 0x00, 0x53, 0x44, 0x50
	};
	const uint8_t *data;

	if (qemu_plugin_insn_size(insn) != sizeof(mark) + 1)
		return 0;
	data = qemu_plugin_insn_data(insn);
	return memcmp(data, mark, sizeof(mark)) ? 0 : data[sizeof(mark)];
}

static void translated(plugin_id id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);

	(void)id;
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		int mark = mark_of(insn);

		if (mark)
			qemu_plugin_register_vcpu_insn_exec_cb(
				insn, marked, CB_NO_REGS,
				(void *)(intptr_t)mark);
		if (on)
			qemu_plugin_register_vcpu_mem_cb(
				insn, accessed, CB_NO_REGS, MEM_RW, NULL);
	}
}

static void register_again(plugin_id id)
{
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
}

/* Return: 0, or -1 for a size that no cache can have */
static int make_caches(void)
{
	if (!line_size || !ways || cache_size % (line_size * ways) ||
	    !cache_size)
		return -1;
	sets = cache_size / line_size / ways;
	for (int i = 0; i < SIDES; i++) {
		caches[i].lines = calloc(sets * ways, sizeof(struct line));
		if (!caches[i].lines)
			abort();
		for (uint64_t n = 0; n < sets * ways; n++)
			caches[i].lines[n].tag = NO_TAG;
	}
	return 0;
}

EXPORT int qemu_plugin_install(plugin_id id, const void *info, int argc,
			       char **argv)
{
	static const struct {
		const char *name;
		uint64_t *value;
	} numbers[] = {
		{ "size=", &cache_size },
		{ "ways=", &ways },
		{ "line=", &line_size },
	};

	(void)info;
	self = id;
	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "out=", 4))
			out_name = strdup(argv[i] + 4);
		for (size_t n = 0; n < sizeof(numbers) / sizeof(*numbers);
		     n++) {
			size_t len = strlen(numbers[n].name);

			if (!strncmp(argv[i], numbers[n].name, len))
				*numbers[n].value =
					strtoull(argv[i] + len, NULL, 0);
		}
	}
	if (!out_name || make_caches()) {
		fputs("cache_model: out=FILE, and a size that is a multiple of ways * line\n",
		      stderr);
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
