// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Filter streams, schedulers: which copy of the consumer gets the next buffer.
 */
#include "fs_node.h"

static uint32_t open_bufs(const struct fs_link *l)
{
	return l->sent - l->acked;
}

/* Fewest buffers that are not acknowledged; among equals, the next in turn. */
static struct fs_link *demand_driven(struct fs_port *p)
{
	struct fs_link *best = NULL;
	unsigned int at = 0;

	for (unsigned int i = 0; i < p->n; i++) {
		unsigned int k = (p->next + i) % p->n;
		struct fs_link *l = &p->links[k];

		if (!best || open_bufs(l) < open_bufs(best)) {
			best = l;
			at = k;
		}
	}
	if (open_bufs(best) >= p->stream->window)
		return NULL;
	p->next = (at + 1) % p->n;
	return best;
}

/**
 * fs_sched() - choose
 * @p: output
 *
 * Return: the link, or NULL if an acknowledgment has to come first.
 */
struct fs_link *fs_sched(struct fs_port *p)
{
	struct fs_link *l;

	if (p->stream->policy == FS_DD)
		return demand_driven(p);
	l = &p->links[p->next];
	p->next = (p->next + 1) % p->n;
	return l;
}
