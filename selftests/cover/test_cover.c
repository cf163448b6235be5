// SPDX-License-Identifier: GPL-2.0
/*
 * test_cover.ko: which blocks of the drivers have run. The drivers are compiled with
 * -fsanitize-coverage=trace-pc (scripts/cover.sh), so that each basic block calls
 * __sanitizer_cov_trace_pc() here. debugfs has a file test_cover/MODULE for each module that
 * was loaded: a bit for each byte of its text, set where such a call has returned to.
 *
 * It works on any kernel without CONFIG_KCOV, which has a function of that name. A module is
 * known from the notifier on, which the kernel calls before the module's init function. A
 * file outlives its module, so this module cannot be unloaded.
 */
#include <linux/bitops.h>
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/vmalloc.h>

#include "test_cover.h"

#define COVER_MODULES	8
#define COVER_TEXT	(2U << 20)	/* bytes of text, at most */

/**
 * struct cover - the text of a module
 * @start: address of the text, 0 while the module is not loaded
 * @size: its bytes
 * @bits: a bit for each of them
 * @blob: of the file in debugfs
 * @name: of the module
 *
 * Entries are only added, by module loading, which is serialised by cover_lock.
 */
struct cover {
	unsigned long start;
	unsigned long size;
	unsigned long *bits;
	struct debugfs_blob_wrapper blob;
	char name[MODULE_NAME_LEN];
};

static struct cover covers[COVER_MODULES];
static unsigned int nr_covers;
static DEFINE_MUTEX(cover_lock);
static struct dentry *cover_dir;

/* Any context, also with user access enabled: nothing but loads and a store */
void notrace __sanitizer_cov_trace_pc(void)
{
	unsigned long pc = (unsigned long)__builtin_return_address(0), at;
	/* pairs with cover_add() */
	unsigned int n = smp_load_acquire(&nr_covers), i;

	for (i = 0; i < n; i++) {
		at = pc - READ_ONCE(covers[i].start);
		if (at < covers[i].size) {
			if (!test_bit(at, covers[i].bits))
				set_bit(at, covers[i].bits);
			return;
		}
	}
}
EXPORT_SYMBOL_GPL(__sanitizer_cov_trace_pc);

static void cover_text(const struct module *mod, unsigned long *start,
		       unsigned long *size)
{
#ifdef HAVE_MOD_TEXT
	*start = (unsigned long)mod->mem[MOD_TEXT].base;
	*size = mod->mem[MOD_TEXT].size;
#else
	*start = (unsigned long)mod->core_layout.base;
	*size = mod->core_layout.text_size;
#endif
}

static struct cover *cover_find(const char *name)
{
	unsigned int i;

	lockdep_assert_held(&cover_lock);
	for (i = 0; i < nr_covers; i++)
		if (!strcmp(covers[i].name, name))
			return &covers[i];
	return NULL;
}

/* A module that calls us, for the first time */
static struct cover *cover_add(const struct module *mod, unsigned long size)
{
	struct cover *c = &covers[nr_covers];

	lockdep_assert_held(&cover_lock);
	if (nr_covers == COVER_MODULES || size > COVER_TEXT)
		return NULL;
	c->blob.size = BITS_TO_LONGS(size) * sizeof(long);
	c->bits = vzalloc(c->blob.size);
	if (!c->bits)
		return NULL;
	c->blob.data = c->bits;
	c->size = size;
	strscpy(c->name, mod->name, sizeof(c->name));
	debugfs_create_blob(c->name, 0400, cover_dir, &c->blob);
	/* the entry is complete; pairs with __sanitizer_cov_trace_pc() */
	smp_store_release(&nr_covers, nr_covers + 1);
	return c;
}

/* One of the drivers? Modules of the tests are compiled in the same way. */
static bool cover_wanted(const struct module *mod)
{
	static const char * const names[] = {
		"sdp", "sdp_diag", "iwarp_hybrid", "libiwarp", "rdma_stack", "hnic",
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(mod->name, names[i]))
			return true;
	return false;
}

static void cover_coming(struct module *mod)
{
	unsigned long start, size;
	struct cover *c;

	cover_text(mod, &start, &size);
	mutex_lock(&cover_lock);
	c = cover_find(mod->name) ?: cover_add(mod, size);
	if (!c)
		pr_warn("test_cover: no room for %s\n", mod->name);
	else
		WRITE_ONCE(c->start, start);
	mutex_unlock(&cover_lock);
}

static void cover_going(const struct module *mod)
{
	struct cover *c;

	mutex_lock(&cover_lock);
	c = cover_find(mod->name);
	if (c)
		WRITE_ONCE(c->start, 0);
	mutex_unlock(&cover_lock);
}

static int cover_event(struct notifier_block *nb, unsigned long event, void *data)
{
	struct module *mod = data;

	if (!cover_wanted(mod))
		return NOTIFY_DONE;
	if (event == MODULE_STATE_COMING)
		cover_coming(mod);
	else if (event == MODULE_STATE_GOING)
		cover_going(mod);
	return NOTIFY_DONE;
}

static struct notifier_block cover_nb = {
	.notifier_call = cover_event,
};

static int __init cover_init(void)
{
	cover_dir = debugfs_create_dir("test_cover", NULL);
	/* modprobe -r takes what is not used any more */
	__module_get(THIS_MODULE);
	return register_module_notifier(&cover_nb);
}

module_init(cover_init);
MODULE_DESCRIPTION("Blocks of the drivers that have run");
MODULE_LICENSE("GPL");
