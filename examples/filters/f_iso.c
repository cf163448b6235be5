// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Filters: iso-surface of a volume of bricks, which are spread over the copies of the
 * first filter.
 *
 *   read_bricks   the values of a brick, with one layer of neighbours
 *   extract       triangles, by marching tetrahedra
 *   raster        shading, and a picture with depths for each copy
 *   merge         the nearest pixels of all
 *
 *   uow iso level=L step=S    where the values are L thousandths, at a step of time
 *
 * The view is along the z axis, so that a triangle's area and place in the picture
 * follow from its corners alone. Parameters: volume=FILE (see mkdata.py), side=PIXELS,
 * pgm=FILE for the last picture, depth=FILE for its depths, floats in native order.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs.h"

#define HEAD 16 /* bytes before the values: place of the brick, cells, level */
#define FILE_HEAD 32
#define TRIANGLE 36 /* bytes: three corners, three floats each */
#define RUN 8 /* bytes before a run of pixels: y, x, number */
#define PIXEL 5 /* bytes: depth, brightness */
#define MAX_SIDE 4096

struct point {
	float x, y, z;
};

/* Volume: all cells of a side, cells of a brick's side */
struct volume {
	int fd;
	uint32_t cells, brick, steps;
};

/**
 * struct iso - state of a copy
 * @vol: volume, of those that read it
 * @cells: cells of the volume's side, of those that have its bricks
 * @side: pixels at the side of the picture
 * @depth: of each pixel, infinite where there is none
 * @light: brightness of each pixel
 * @out: buffer that is being filled
 * @area: of all triangles
 */
struct iso {
	struct volume vol;
	uint32_t cells;
	long side;
	float *depth;
	uint8_t *light;
	struct fs_buf *out;
	unsigned long long triangles;
	double area;
};

static void put32(uint8_t *p, uint32_t val)
{
	val = htobe32(val);
	memcpy(p, &val, sizeof(val));
}

static uint32_t get32(const uint8_t *p)
{
	uint32_t val;

	memcpy(&val, p, sizeof(val));
	return be32toh(val);
}

static void put_float(uint8_t *p, float val)
{
	uint32_t bits;

	memcpy(&bits, &val, sizeof(bits));
	put32(p, bits);
}

static float get_float(const uint8_t *p)
{
	uint32_t bits = get32(p);
	float val;

	memcpy(&val, &bits, sizeof(val));
	return val;
}

static int init(struct fs *f, const struct fs_uow *u)
{
	struct iso *s = f->priv;

	if (!fs_uow_is(u, "iso"))
		return fs_error(f, "%s: the query is iso", u->text);
	if (!s) {
		s = calloc(1, sizeof(*s));
		if (!s)
			return fs_error(f, "no memory left for the picture");
		s->vol.fd = -1;
		f->priv = s;
	}
	s->triangles = 0;
	s->area = 0;
	return 0;
}

static void keep(struct fs *f)
{
	(void)f;
}

static void end(struct fs *f)
{
	struct iso *s = f->priv;

	if (!s)
		return;
	if (s->vol.fd >= 0)
		close(s->vol.fd);
	free(s->depth);
	free(s->light);
	free(s);
}

/* --------------------------------------------------------------------- bricks */

static int open_volume(struct fs *f, struct volume *v)
{
	uint8_t head[FILE_HEAD];
	char path[200];

	if (v->fd >= 0)
		return 0;
	if (!fs_param_text(f, "volume", path, sizeof(path)))
		return fs_error(f,
				"volume=FILE is missing; mkdata.py makes one");
	v->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (v->fd < 0)
		return fs_error(f, "%s: %s; mkdata.py makes a volume", path,
				strerror(errno));
	if (pread(v->fd, head, FILE_HEAD, 0) != FILE_HEAD ||
	    memcmp(head, "FSVOLUM1", 8))
		return fs_error(f, "%s is no volume; mkdata.py makes one",
				path);
	v->cells = get32(head + 8);
	v->brick = get32(head + 12);
	v->steps = get32(head + 16);
	if (!v->brick || v->brick > 255 || !v->cells || v->cells > 65535 ||
	    v->cells % v->brick || !v->steps)
		return fs_error(f, "%s is no volume; mkdata.py makes one",
				path);
	return 0;
}

static size_t values_of(uint32_t brick)
{
	return (size_t)(brick + 1) * (brick + 1) * (brick + 1);
}

static int read_brick(struct fs *f, const struct volume *v, uint64_t brick,
		      uint64_t all)
{
	uint64_t step = fs_uow_arg(f->uow, "step", 0);
	size_t len = values_of(v->brick) * sizeof(float);
	uint32_t row = v->cells / v->brick;
	struct fs_buf *b = fs_alloc(f, 0);

	if (step >= v->steps)
		return fs_error(f, "step=%llu: the volume has %u steps",
				(unsigned long long)step, v->steps);
	if (len > b->room - HEAD)
		return fs_error(
			f,
			"a brick has %zu bytes: give the stream block=%zu at least, or make a volume with smaller bricks",
			len, len + HEAD);
	put32(b->data, brick % row << 16 | brick / row % row);
	put32(b->data + 4, brick / row / row << 16 | v->brick);
	put32(b->data + 8, fs_uow_arg(f->uow, "level", 500));
	put32(b->data + 12, v->cells);
	if (pread(v->fd, b->data + HEAD, len,
		  FILE_HEAD + (step * all + brick) * len) != (ssize_t)len)
		return fs_error(
			f, "the volume ends before brick %llu: make it again",
			(unsigned long long)brick);
	b->tag = brick;
	b->len = HEAD + len;
	return fs_write(f, 0, b);
}

static int read_bricks(struct fs *f)
{
	struct iso *s = f->priv;
	struct volume *v = &s->vol;
	int rc = open_volume(f, v);
	uint64_t row, all;

	if (rc)
		return rc;
	row = v->cells / v->brick;
	all = row * row * row;
	for (uint64_t i = f->copy; !rc && i < all; i += f->copies)
		rc = read_brick(f, v, i, all);
	return rc;
}

/* ------------------------------------------------------------------ triangles */

static int flush(struct fs *f)
{
	struct iso *s = f->priv;
	struct fs_buf *b = s->out;

	s->out = NULL;
	if (b && b->len)
		return fs_write(f, 0, b);
	fs_release(b);
	return 0;
}

/* Room for @len bytes in a buffer of the output, or NULL. */
static uint8_t *room(struct fs *f, size_t len, int *rc)
{
	struct iso *s = f->priv;

	if (s->out && s->out->room - s->out->len < len)
		*rc = flush(f);
	if (*rc)
		return NULL;
	if (!s->out)
		s->out = fs_alloc(f, 0);
	s->out->len += len;
	return s->out->data + s->out->len - len;
}

static double area_of(const struct point *p)
{
	double ax = p[1].x - p[0].x, ay = p[1].y - p[0].y, az = p[1].z - p[0].z;
	double bx = p[2].x - p[0].x, by = p[2].y - p[0].y, bz = p[2].z - p[0].z;
	double x = ay * bz - az * by, y = az * bx - ax * bz,
	       z = ax * by - ay * bx;

	return sqrt(x * x + y * y + z * z) / 2;
}

static int emit(struct fs *f, const struct point *p)
{
	struct iso *s = f->priv;
	double area = area_of(p);
	uint8_t *to;
	int rc = 0;

	if (!(area > 0))
		return 0;
	to = room(f, TRIANGLE, &rc);
	if (!to)
		return rc;
	/* the raster need not know the size of the volume */
	for (int i = 0; i < 3; i++, to += 12) {
		put_float(to, p[i].x / s->cells);
		put_float(to + 4, p[i].y / s->cells);
		put_float(to + 8, p[i].z / s->cells);
	}
	s->triangles++;
	s->area += area;
	return 0;
}

struct corner {
	struct point at;
	float val;
};

/* Where the level is on an edge. Always from the lower to the higher value, so that
 * all tetrahedra at the edge find the same point.
 */
static struct point cross(const struct corner *a, const struct corner *b,
			  float level)
{
	const struct corner *lo = a->val < b->val ? a : b;
	const struct corner *hi = lo == a ? b : a;
	float t = (level - lo->val) / (hi->val - lo->val);

	return (struct point){
		lo->at.x + t * (hi->at.x - lo->at.x),
		lo->at.y + t * (hi->at.y - lo->at.y),
		lo->at.z + t * (hi->at.z - lo->at.z),
	};
}

/* One triangle where one corner is on its own side, two where two and two are. */
static int tetrahedron(struct fs *f, const struct corner *const c[4],
		       float level)
{
	const struct corner *in[4], *out[4];
	struct point p[4];
	int ins = 0, outs = 0, rc;

	for (int i = 0; i < 4; i++) {
		if (c[i]->val > level)
			in[ins++] = c[i];
		else
			out[outs++] = c[i];
	}
	if (!ins || !outs)
		return 0;
	if (ins == 2) {
		p[0] = cross(in[0], out[0], level);
		p[1] = cross(in[0], out[1], level);
		p[2] = cross(in[1], out[0], level);
		p[3] = cross(in[1], out[1], level);
		rc = emit(f, p);
		return rc ? rc : emit(f, p + 1);
	}
	for (int i = 0; i < 3; i++)
		p[i] = ins == 1 ? cross(in[0], out[i], level) :
				  cross(in[i], out[0], level);
	return emit(f, p);
}

/* Six tetrahedra around the diagonal of a cell; they fit those of its neighbours. */
static int cell(struct fs *f, const struct corner c[8], float level)
{
	static const uint8_t way[6][2] = { { 1, 3 }, { 1, 5 }, { 2, 3 },
					   { 2, 6 }, { 4, 5 }, { 4, 6 } };
	int rc = 0;

	for (int i = 0; !rc && i < 6; i++) {
		const struct corner *const t[4] = { &c[0], &c[way[i][0]],
						    &c[way[i][1]], &c[7] };

		rc = tetrahedron(f, t, level);
	}
	return rc;
}

struct brick {
	const uint8_t *values;
	uint32_t n, x, y, z;
	float level;
};

static float value(const struct brick *b, uint32_t x, uint32_t y, uint32_t z)
{
	const uint8_t *p =
		b->values + ((z * (b->n + 1) + y) * (b->n + 1) + x) * 4;
	uint32_t bits;
	float val;

	memcpy(&bits, p, sizeof(bits));
	bits = le32toh(bits);
	memcpy(&val, &bits, sizeof(val));
	return val;
}

static int one_cell(struct fs *f, const struct brick *b, uint32_t x, uint32_t y,
		    uint32_t z)
{
	struct corner c[8];
	int above = 0;

	for (uint32_t i = 0; i < 8; i++) {
		uint32_t cx = x + (i & 1), cy = y + (i >> 1 & 1),
			 cz = z + (i >> 2);

		c[i].val = value(b, cx, cy, cz);
		c[i].at = (struct point){ b->x + cx, b->y + cy, b->z + cz };
		above += c[i].val > b->level;
	}
	return above && above < 8 ? cell(f, c, b->level) : 0;
}

static int brick_of(struct fs *f, const struct fs_buf *buf, struct brick *b)
{
	const uint8_t *p = buf->data;

	if (buf->len < HEAD)
		return fs_error(f, "a buffer has no brick");
	b->n = get32(p + 4) & 0xffff;
	b->x = (get32(p) >> 16) * b->n;
	b->y = (get32(p) & 0xffff) * b->n;
	b->z = (get32(p + 4) >> 16) * b->n;
	b->level = (int32_t)get32(p + 8) / 1000.0f;
	((struct iso *)f->priv)->cells = get32(p + 12);
	b->values = p + HEAD;
	if (!b->n || b->n > 255 || !get32(p + 12) ||
	    values_of(b->n) * 4 != buf->len - HEAD)
		return fs_error(f,
				"a buffer has another length than its brick");
	return 0;
}

static int extract_one(struct fs *f, const struct fs_buf *buf)
{
	struct brick b = { 0 };
	int rc = brick_of(f, buf, &b);

	if (rc)
		return rc;
	rc = fs_compute(f, buf->len);
	for (uint32_t z = 0; !rc && z < b.n; z++) {
		for (uint32_t y = 0; !rc && y < b.n; y++) {
			for (uint32_t x = 0; !rc && x < b.n; x++)
				rc = one_cell(f, &b, x, y, z);
		}
	}
	return rc;
}

static int extract(struct fs *f)
{
	struct iso *s = f->priv;
	struct fs_buf *b;
	int rc;

	while ((rc = fs_read(f, 0, &b)) > 0) {
		rc = extract_one(f, b);
		fs_release(b);
		if (rc)
			return rc;
	}
	if (!rc)
		rc = flush(f);
	if (!rc)
		fs_emit(f, "\"triangles\":%llu,\"area\":%.6f", s->triangles,
			s->area);
	return rc;
}

/* -------------------------------------------------------------------- pictures */

static int new_picture(struct fs *f)
{
	struct iso *s = f->priv;
	size_t n;

	s->side = fs_param(f, "side", 256);
	if (s->side < 1 || s->side > MAX_SIDE)
		return fs_error(f, "side=%ld: 1 to %d pixels", s->side,
				MAX_SIDE);
	n = s->side * s->side;
	free(s->depth);
	free(s->light);
	s->depth = malloc(n * sizeof(*s->depth));
	s->light = calloc(n, 1);
	if (!s->depth || !s->light)
		return fs_error(f, "no memory left for the picture");
	for (size_t i = 0; i < n; i++)
		s->depth[i] = INFINITY;
	return 0;
}

/* The nearest pixel; of two at the same depth the brighter, in any order. */
static void plot(struct iso *s, size_t at, float depth, uint8_t light)
{
	if (depth < s->depth[at] ||
	    (depth == s->depth[at] && light > s->light[at])) {
		s->depth[at] = depth;
		s->light[at] = light;
	}
}

/* Lambert's law, for a lamp above the left shoulder; both sides are lit. */
static uint8_t shade(const struct point *p)
{
	double ax = p[1].x - p[0].x, ay = p[1].y - p[0].y, az = p[1].z - p[0].z;
	double bx = p[2].x - p[0].x, by = p[2].y - p[0].y, bz = p[2].z - p[0].z;
	double x = ay * bz - az * by, y = az * bx - ax * bz,
	       z = ax * by - ay * bx;
	double len = sqrt(x * x + y * y + z * z);

	if (!(len > 0))
		return 0;
	return 40 + lrint(215 * fabs(0.3 * x + 0.4 * y + 0.866 * z) / len);
}

static double edge(const struct point *a, const struct point *b, double x,
		   double y)
{
	return (b->x - a->x) * (y - a->y) - (b->y - a->y) * (x - a->x);
}

static long clamp(double val, long max)
{
	return val < 0 ? 0 : val > max ? max : (long)val;
}

/* Pixels whose middle is in the triangle, edges included. */
static void triangle(struct iso *s, struct point *p)
{
	uint8_t light = shade(p);
	double all;
	long x0, x1, y0, y1;

	for (int i = 0; i < 3; i++) {
		p[i].x *= s->side;
		p[i].y *= s->side;
	}
	all = edge(&p[0], &p[1], p[2].x, p[2].y);
	if (!(fabs(all) > 0))
		return;
	x0 = clamp(fmin(fmin(p[0].x, p[1].x), p[2].x) - 0.5, s->side);
	x1 = clamp(fmax(fmax(p[0].x, p[1].x), p[2].x) + 0.5, s->side);
	y0 = clamp(fmin(fmin(p[0].y, p[1].y), p[2].y) - 0.5, s->side);
	y1 = clamp(fmax(fmax(p[0].y, p[1].y), p[2].y) + 0.5, s->side);
	for (long y = y0; y < y1; y++) {
		for (long x = x0; x < x1; x++) {
			double a = edge(&p[1], &p[2], x + 0.5, y + 0.5) / all;
			double b = edge(&p[2], &p[0], x + 0.5, y + 0.5) / all;
			double c = edge(&p[0], &p[1], x + 0.5, y + 0.5) / all;

			if (a >= 0 && b >= 0 && c >= 0)
				plot(s, y * s->side + x,
				     a * p[0].z + b * p[1].z + c * p[2].z,
				     light);
		}
	}
}

static int raster_one(struct fs *f, const struct fs_buf *b)
{
	struct iso *s = f->priv;
	struct point p[3];

	if (b->len % TRIANGLE)
		return fs_error(f, "a buffer has no triangles");
	for (const uint8_t *at = b->data; at < b->data + b->len;
	     at += TRIANGLE) {
		for (int i = 0; i < 3; i++)
			p[i] = (struct point){ get_float(at + 12 * i),
					       get_float(at + 12 * i + 4),
					       get_float(at + 12 * i + 8) };
		for (unsigned int i = 0; i < f->slow; i++) {
			struct point q[3] = { p[0], p[1], p[2] };

			triangle(s, q);
		}
	}
	return fs_compute(f, b->len);
}

/* Runs of pixels, each in one buffer. */
static int send_row(struct fs *f, long y)
{
	struct iso *s = f->priv;
	const float *depth = s->depth + y * s->side;
	const uint8_t *light = s->light + y * s->side;
	struct fs_buf *b = fs_alloc(f, 0);
	long most = (b->room - RUN) / PIXEL;
	int rc = 0;

	fs_release(b);
	for (long x = 0, n; x < s->side; x += n ? n : 1) {
		uint8_t *to;

		for (n = 0; x + n < s->side && n < most; n++) {
			if (isinf(depth[x + n]))
				break;
		}
		if (!n)
			continue;
		to = room(f, RUN + n * PIXEL, &rc);
		if (!to)
			return rc;
		put32(to, y << 16 | x);
		put32(to + 4, n);
		for (long i = 0; i < n; i++) {
			put_float(to + RUN + i * PIXEL, depth[x + i]);
			to[RUN + i * PIXEL + 4] = light[x + i];
		}
	}
	return 0;
}

static int raster(struct fs *f)
{
	struct iso *s = f->priv;
	struct fs_buf *b;
	int rc = new_picture(f);

	while (!rc && (rc = fs_read(f, 0, &b)) > 0) {
		rc = raster_one(f, b);
		fs_release(b);
	}
	for (long y = 0; !rc && y < s->side; y++)
		rc = send_row(f, y);
	return rc ? rc : flush(f);
}

static int merge_one(struct fs *f, const struct fs_buf *b)
{
	struct iso *s = f->priv;
	const uint8_t *p = b->data, *last = b->data + b->len;

	while (last - p >= RUN) {
		uint32_t y = get32(p) >> 16, x = get32(p) & 0xffff;
		uint32_t n = get32(p + 4);

		p += RUN;
		if (y >= s->side || x + (uint64_t)n > (uint64_t)s->side ||
		    (size_t)(last - p) < (size_t)n * PIXEL)
			break;
		for (; n; n--, p += PIXEL)
			plot(s, y * s->side + x++, get_float(p), p[4]);
	}
	if (p != last)
		return fs_error(f, "a buffer has no runs of pixels");
	return fs_compute(f, b->len);
}

static int write_file(struct fs *f, const char *name, const char *head,
		      const void *data, size_t len)
{
	char path[200];
	FILE *out;
	bool good;

	if (!fs_param_text(f, name, path, sizeof(path)))
		return 0;
	out = fopen(path, "w");
	if (!out)
		return fs_error(f, "%s: %s", path, strerror(errno));
	fputs(head, out);
	good = fwrite(data, 1, len, out) == len;
	if (fclose(out) || !good)
		return fs_error(f, "%s: %s", path, strerror(errno));
	return 0;
}

static int show(struct fs *f)
{
	struct iso *s = f->priv;
	size_t n = s->side * s->side, covered = 0;
	uint64_t h = FS_HASH;
	char head[64];
	int rc;

	for (size_t i = 0; i < n; i++)
		covered += !isinf(s->depth[i]);
	h = fs_hash(h, s->light, n);
	h = fs_hash(h, s->depth, n * sizeof(*s->depth));
	fs_emit(f, "\"side\":%ld,\"covered\":%zu,\"hash\":\"%016llx\"", s->side,
		covered, (unsigned long long)h);
	snprintf(head, sizeof(head), "P5\n%ld %ld\n255\n", s->side, s->side);
	rc = write_file(f, "pgm", head, s->light, n);
	return rc ? rc :
		    write_file(f, "depth", "", s->depth, n * sizeof(*s->depth));
}

static int merge(struct fs *f)
{
	struct fs_buf *b;
	int rc = new_picture(f);

	if (f->copies > 1)
		return fs_error(f, "there can be one copy of merge only");
	while (!rc && (rc = fs_read(f, 0, &b)) > 0) {
		rc = merge_one(f, b);
		fs_release(b);
	}
	return rc ? rc : show(f);
}

const struct fs_filter fs_iso[] = {
	{ "read_bricks", init, read_bricks, keep, end },
	{ "extract", init, extract, keep, end },
	{ "raster", init, raster, keep, end },
	{ "merge", init, merge, keep, end },
	{ NULL, NULL, NULL, NULL, NULL },
};
