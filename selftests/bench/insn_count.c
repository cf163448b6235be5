// SPDX-License-Identifier: GPL-2.0
/*
 * Plugin for QEMU's emulator (TCG): counts the guest's instructions by address
 * between the marks of sdpbench (tools/sdpbench/mark.h).
 *
 * Each block of translated code has a counter which the emulator itself
 * increments. At a stop mark "PC INSTRUCTIONS" lines go to the file named by
 * the argument out=; counts of several start/stop pairs add up. With sides=FILE
 * each pair appends a line "A B NOBODY" to that file: instructions of one end, of
 * the other and of neither, as marks of ulp_load.ko between the two say. With ends=1,
 * instructions that belong to neither end are not counted by address.
 *
 * Debian has no package with QEMU's plugin header, so what is used of its interface
 * (version 1) is declared here.
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
struct qemu_plugin_tb;
struct qemu_plugin_insn;

enum { CB_NO_REGS = 0 };
enum { INLINE_ADD_U64 = 0 };

typedef void (*tb_trans_cb)(plugin_id id, struct qemu_plugin_tb *tb);
typedef void (*exec_cb)(unsigned int cpu, void *data);

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, tb_trans_cb cb);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, int op,
					      void *ptr, uint64_t imm);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, exec_cb cb,
					  int flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    exec_cb cb, int flags, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *
qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t idx);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);

EXPORT int qemu_plugin_version = API_VERSION;
EXPORT int qemu_plugin_install(plugin_id id, const void *info, int argc,
			       char **argv);

#define HASH_SIZE (1U << 16)

/* A piece of guest code; never freed, as translated code refers to it. */
struct block {
	struct block *next;
	uint64_t pc;
	uint64_t insns;
	uint64_t runs; /* the emulator counts here */
	uint64_t before; /* @runs at the start mark */
	uint64_t total; /* between marks */
};

/* The guest has one CPU, so the callbacks never run concurrently. */
static struct block *hash[HASH_SIZE];
static const char *out_name;
static const char *sides_name;
static bool ends_only;

/*
 * MARK_NOBODY, MARK_A and MARK_B tell whose work follows. They also count outside of start
 * and stop.
 */
enum { MARK_START = 1, MARK_STOP, MARK_NOBODY, MARK_A, MARK_B, MARKS };

static uint64_t executed; /* all instructions; the emulator counts here */
static uint64_t executed_before; /* at the last mark */
static uint64_t of_side[MARKS];
static int side = MARK_NOBODY;

static struct block *block_get(uint64_t pc, uint64_t insns)
{
	struct block **head = &hash[(pc ^ pc >> 16 ^ insns << 5) % HASH_SIZE];
	struct block *b;

	for (b = *head; b; b = b->next) {
		if (b->pc == pc && b->insns == insns)
			return b;
	}
	b = calloc(1, sizeof(*b));
	if (!b)
		abort();
	b->pc = pc;
	b->insns = insns;
	b->next = *head;
	*head = b;
	return b;
}

static void side_is(int mark)
{
	of_side[side] += executed - executed_before;
	executed_before = executed;
	side = mark;
}

static void sides_start(void)
{
	side_is(side);
	memset(of_side, 0, sizeof(of_side));
}

static void sides_stop(void)
{
	FILE *f;

	side_is(side);
	f = sides_name ? fopen(sides_name, "a") : NULL;
	if (!f)
		return;
	fprintf(f, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", of_side[MARK_A],
		of_side[MARK_B], of_side[MARK_NOBODY]);
	fclose(f);
}

static void start(void)
{
	for (size_t i = 0; i < HASH_SIZE; i++) {
		for (struct block *b = hash[i]; b; b = b->next)
			b->before = b->runs;
	}
}

static void stop(void)
{
	FILE *f = out_name ? fopen(out_name, "w") : NULL;

	if (!out_name)
		return;
	if (!f) {
		perror(out_name);
		return;
	}
	for (size_t i = 0; i < HASH_SIZE; i++) {
		for (struct block *b = hash[i]; b; b = b->next) {
			b->total += b->runs - b->before;
			b->before = b->runs;
			if (b->total)
				fprintf(f, "%016" PRIx64 " %" PRIu64 "\n",
					b->pc, b->total * b->insns);
		}
	}
	fclose(f);
}

static void marked(unsigned int cpu, void *data)
{
	int mark = (intptr_t)data;

	(void)cpu;
	if (mark == MARK_START) {
		sides_start();
		start();
	} else if (mark == MARK_STOP) {
		sides_stop();
		stop();
	} else if (mark < MARKS) {
		side_is(mark);
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

static void ran(unsigned int cpu, void *data)
{
	struct block *b = data;

	(void)cpu;
	b->runs += side == MARK_A || side == MARK_B;
}

static void translated(plugin_id id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	struct block *b = block_get(qemu_plugin_tb_vaddr(tb), n);

	(void)id;
	if (ends_only)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, ran, CB_NO_REGS, b);
	else
		qemu_plugin_register_vcpu_tb_exec_inline(tb, INLINE_ADD_U64,
							 &b->runs, 1);
	qemu_plugin_register_vcpu_tb_exec_inline(tb, INLINE_ADD_U64, &executed,
						 n);
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		int mark = mark_of(insn);

		if (mark)
			qemu_plugin_register_vcpu_insn_exec_cb(
				insn, marked, CB_NO_REGS,
				(void *)(intptr_t)mark);
	}
}

EXPORT int qemu_plugin_install(plugin_id id, const void *info, int argc,
			       char **argv)
{
	(void)info;
	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "out=", 4))
			out_name = strdup(argv[i] + 4);
		else if (!strncmp(argv[i], "sides=", 6))
			sides_name = strdup(argv[i] + 6);
		else if (!strcmp(argv[i], "ends=1"))
			ends_only = true;
	}
	if (!out_name && !sides_name) {
		fputs("insn_count: out=FILE or sides=FILE is missing\n",
		      stderr);
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
