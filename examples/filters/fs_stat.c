// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Filter streams, statistics: a line of JSON for each copy, when all is done.
 */
#include "fs_node.h"

static void print_outputs(FILE *out, const struct fs_copy *c)
{
	const struct fs_plan *p = c->node->plan;

	fputs(",\"out\":[", out);
	for (unsigned int i = 0; i < c->f.outputs; i++) {
		const struct fs_port *port = &c->out[i];

		fprintf(out, "%s{\"to\":\"%s\",\"buffers\":[", i ? "," : "",
			p->filter[port->stream->to].name);
		for (unsigned int k = 0; k < port->n; k++)
			fprintf(out, "%s%llu", k ? "," : "",
				(unsigned long long)port->bufs[k]);
		fputs("]}", out);
	}
	fputs("]", out);
}

static void print_copy(FILE *out, const struct fs_copy *c)
{
	const struct fs_plan *p = c->node->plan;
	const struct fs_stat *s = &c->stat;
	double us = 1000.0 * p->dilate;
	uint64_t waited = s->idle + s->wait_in + s->wait_out;

	fprintf(out,
		"{\"type\":\"copy\",\"node\":\"%s\",\"filter\":\"%s\",\"copy\":%u,\"slow\":%u,",
		p->node[c->node->self].name, p->filter[c->index].name,
		c->f.copy, c->f.slow);
	fprintf(out,
		"\"total_us\":%.3f,\"busy_us\":%.3f,\"compute_us\":%.3f,\"idle_us\":%.3f,\"wait_in_us\":%.3f,\"wait_out_us\":%.3f,",
		s->total / us, (s->total > waited ? s->total - waited : 0) / us,
		s->compute / us, s->idle / us, s->wait_in / us,
		s->wait_out / us);
	fprintf(out,
		"\"in_bytes\":%llu,\"in_buffers\":%llu,\"out_bytes\":%llu,\"out_buffers\":%llu",
		(unsigned long long)s->in_bytes, (unsigned long long)s->in_bufs,
		(unsigned long long)s->out_bytes,
		(unsigned long long)s->out_bufs);
	print_outputs(out, c);
	fputs("}\n", out);
}

/**
 * fs_stat_print() - print what each copy of a node did
 * @n: node whose copies have ended
 */
void fs_stat_print(struct fs_node *n)
{
	for (unsigned int i = 0; i < n->copies; i++)
		print_copy(n->out, &n->copy[i]);
}
