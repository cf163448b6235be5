// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Filters: the virtual microscope. A slide is cut into compressed tiles, which are
 * spread over the copies of the first filter.
 *
 *   read_tiles    the tiles that a query needs, as they are in the file
 *   decompress    pixels
 *   clip          those within the window
 *   zoom          sums over squares of pixels: parts of points of the grid
 *   view          puts the points together; keeps the picture for the next query
 *
 * Queries, of which each copy of each filter keeps track:
 *
 *   uow complete x=X y=Y w=W h=H zoom=Z   W x H points of Z x Z pixels, from X, Y
 *   uow move dx=DX dy=DY                  by so many points: only what comes into view
 *   uow zoom zoom=Z                       another magnification around the centre
 *
 * Parameters: slide=FILE (see mkdata.py), ppm=FILE for the last picture.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs.h"

#define RGB 3
#define RECT 16 /* bytes before pixels: x, y, width, height */
#define SUM 12 /* bytes of a point: sums of red, green, blue */
#define MAX_SIDE 16384L

/* Corners: the second is outside */
struct area {
	long x0, y0, x1, y1;
};

struct window {
	long x, y, w, h, zoom;
};

/**
 * struct scope - state of a copy
 * @now: window of this query
 * @need: pixels that it needs, without overlap
 * @needs: number of areas in @need
 * @fd: slide, for those that read it
 * @tile: pixels at the side of a tile
 * @sum: of each point of the view
 */
struct scope {
	struct window now;
	struct area need[2];
	unsigned int needs;
	int fd;
	long width, height, tile;
	uint32_t *sum;
};

static bool empty(const struct area *a)
{
	return a->x0 >= a->x1 || a->y0 >= a->y1;
}

static struct area both(const struct area *a, const struct area *b)
{
	return (struct area){
		.x0 = a->x0 > b->x0 ? a->x0 : b->x0,
		.y0 = a->y0 > b->y0 ? a->y0 : b->y0,
		.x1 = a->x1 < b->x1 ? a->x1 : b->x1,
		.y1 = a->y1 < b->y1 ? a->y1 : b->y1,
	};
}

static struct area area_of(const struct window *w)
{
	return (struct area){ w->x, w->y, w->x + w->w * w->zoom,
			      w->y + w->h * w->zoom };
}

static void add_need(struct scope *s, struct area a)
{
	if (!empty(&a))
		s->need[s->needs++] = a;
}

/* A move needs the part of the new window that the old one has not: a column over
 * the whole height, and a row over the rest of the width.
 */
static void need_of_move(struct scope *s, const struct window *old)
{
	struct area now = area_of(&s->now), was = area_of(old);
	struct area same = both(&now, &was);
	bool right = now.x1 > was.x1, down = now.y1 > was.y1;

	if (empty(&same)) {
		add_need(s, now);
		return;
	}
	add_need(s, (struct area){ right ? same.x1 : now.x0, now.y0,
				   right ? now.x1 : same.x0, now.y1 });
	add_need(s, (struct area){ same.x0, down ? same.y1 : now.y0, same.x1,
				   down ? now.y1 : same.y0 });
}

static struct scope *state_of(struct fs *f)
{
	struct scope *s = f->priv;

	if (!s) {
		s = calloc(1, sizeof(*s));
		if (s)
			s->fd = -1;
		f->priv = s;
	}
	return s;
}

static int no_memory(struct fs *f)
{
	return fs_error(f, "no memory left for the picture");
}

static int begin_complete(struct scope *s, const struct fs_uow *u)
{
	s->now = (struct window){
		.x = fs_uow_arg(u, "x", 0),
		.y = fs_uow_arg(u, "y", 0),
		.w = fs_uow_arg(u, "w", 512),
		.h = fs_uow_arg(u, "h", 512),
		.zoom = fs_uow_arg(u, "zoom", 1),
	};
	return 0;
}

static int track(struct fs *f, const struct fs_uow *u)
{
	struct scope *s = state_of(f);
	struct window old, *w;

	if (!s)
		return no_memory(f);
	w = &s->now;
	old = *w;
	s->needs = 0;
	if (fs_uow_is(u, "complete")) {
		begin_complete(s, u);
	} else if (fs_uow_is(u, "move") && old.zoom) {
		w->x += fs_uow_arg(u, "dx", 0) * w->zoom;
		w->y += fs_uow_arg(u, "dy", 0) * w->zoom;
	} else if (fs_uow_is(u, "zoom") && old.zoom) {
		w->zoom = fs_uow_arg(u, "zoom", 1);
		w->x += w->w * (old.zoom - w->zoom) / 2;
		w->y += w->h * (old.zoom - w->zoom) / 2;
	} else {
		return fs_error(f,
				"%s: the queries are complete, then move, zoom",
				u->text);
	}
	if (w->w < 1 || w->h < 1 || w->w > MAX_SIDE || w->h > MAX_SIDE ||
	    w->zoom < 1 || w->zoom > 256 || w->x < 0 || w->y < 0 ||
	    w->x > 1L << 24 || w->y > 1L << 24)
		return fs_error(f, "%s: no window of the slide", u->text);
	if (fs_uow_is(u, "move"))
		need_of_move(s, &old);
	else
		add_need(s, area_of(w));
	return 0;
}

static void keep(struct fs *f)
{
	(void)f;
}

static void end(struct fs *f)
{
	struct scope *s = f->priv;

	if (!s)
		return;
	if (s->fd >= 0)
		close(s->fd);
	free(s->sum);
	free(s);
}

/* ------------------------------------------------------------------ rectangles */

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

static int write_piece(struct fs *f, const struct area *a, const uint8_t *from,
		       size_t stride, size_t size)
{
	struct fs_buf *b = fs_alloc(f, 0);
	size_t row = (a->x1 - a->x0) * size;
	uint8_t *to = b->data + RECT;

	put32(b->data, a->x0);
	put32(b->data + 4, a->y0);
	put32(b->data + 8, a->x1 - a->x0);
	put32(b->data + 12, a->y1 - a->y0);
	for (long y = a->y0; y < a->y1; y++) {
		memcpy(to, from, row);
		to += row;
		from += stride;
	}
	b->len = to - b->data;
	return fs_write(f, 0, b);
}

/* Pixels, or points of @size bytes, in buffers as large as the stream has them. */
static int write_area(struct fs *f, const struct area *a, const uint8_t *from,
		      size_t stride, size_t size)
{
	struct fs_buf *b = fs_alloc(f, 0);
	long fit = (b->room - RECT) / size;
	long cols = a->x1 - a->x0 < fit ? a->x1 - a->x0 : fit;
	long rows = fit / cols;
	int rc = 0;

	fs_release(b);
	for (long y = a->y0; !rc && y < a->y1; y += rows) {
		for (long x = a->x0; !rc && x < a->x1; x += cols) {
			struct area piece = { x, y, x + cols, y + rows };

			piece = both(&piece, a);
			rc = write_piece(f, &piece,
					 from + (y - a->y0) * stride +
						 (x - a->x0) * size,
					 stride, size);
		}
	}
	return rc;
}

/* Read the rectangle of a buffer; a negative error if the length does not fit it. */
static int rect_of(struct fs *f, const struct fs_buf *b, struct area *a,
		   size_t size)
{
	uint64_t w, h;

	if (b->len < RECT)
		return fs_error(f, "a buffer has no rectangle");
	w = get32(b->data + 8);
	h = get32(b->data + 12);
	a->x0 = get32(b->data);
	a->y0 = get32(b->data + 4);
	a->x1 = a->x0 + w;
	a->y1 = a->y0 + h;
	if (!w || !h || w > b->len || h > b->len ||
	    w * h * size != b->len - RECT)
		return fs_error(
			f, "a buffer has another length than its rectangle");
	return 0;
}

/* ----------------------------------------------------------------------- tiles */

static int open_slide(struct fs *f, struct scope *s)
{
	char path[200];
	uint8_t head[24];

	if (s->fd >= 0)
		return 0;
	if (!fs_param_text(f, "slide", path, sizeof(path)))
		return fs_error(f,
				"slide=FILE is missing; mkdata.py makes one");
	s->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (s->fd < 0)
		return fs_error(f, "%s: %s; mkdata.py makes a slide", path,
				strerror(errno));
	if (pread(s->fd, head, sizeof(head), 0) != sizeof(head) ||
	    memcmp(head, "FSSLIDE1", 8))
		return fs_error(f, "%s is no slide; mkdata.py makes one", path);
	s->width = get32(head + 8);
	s->height = get32(head + 12);
	s->tile = get32(head + 16);
	if (!s->width || !s->height || !s->tile || s->tile > 1024 ||
	    s->width > 1 << 24 || s->height > 1 << 24)
		return fs_error(f, "%s is no slide; mkdata.py makes one", path);
	return 0;
}

static int read_tile(struct fs *f, struct scope *s, uint32_t index, long x,
		     long y)
{
	struct fs_buf *b = fs_alloc(f, 0);
	uint8_t entry[12];
	uint64_t place;
	uint32_t len;

	if (pread(s->fd, entry, sizeof(entry), 24 + 12L * index) !=
	    sizeof(entry))
		return fs_error(f,
				"the slide ends before tile %u: make it again",
				index);
	place = (uint64_t)get32(entry) << 32 | get32(entry + 4);
	len = get32(entry + 8);
	if (len > b->room - RECT)
		return fs_error(
			f,
			"a tile has %u bytes: give the stream block=%u at least, or make a slide with smaller tiles",
			len, len + RECT);
	put32(b->data, x);
	put32(b->data + 4, y);
	put32(b->data + 8, s->tile);
	put32(b->data + 12, index);
	if (pread(s->fd, b->data + RECT, len, place) != (ssize_t)len)
		return fs_error(f,
				"the slide ends within tile %u: make it again",
				index);
	b->tag = index;
	b->len = RECT + len;
	return fs_write(f, 0, b);
}

static bool needed(const struct scope *s, const struct area *a)
{
	for (unsigned int i = 0; i < s->needs; i++) {
		struct area part = both(a, &s->need[i]);

		if (!empty(&part))
			return true;
	}
	return false;
}

static int read_tiles(struct fs *f)
{
	struct scope *s = f->priv;
	struct area all = area_of(&s->now);
	long per_row, t;
	int rc = open_slide(f, s);

	if (rc)
		return rc;
	if (all.x1 > s->width || all.y1 > s->height)
		return fs_error(f,
				"%s: the window leaves the slide of %ld x %ld",
				f->uow->text, s->width, s->height);
	t = s->tile;
	per_row = (s->width + t - 1) / t;
	for (long y = all.y0 / t; !rc && y * t < all.y1; y++) {
		for (long x = all.x0 / t; !rc && x * t < all.x1; x++) {
			struct area a = { x * t, y * t, x * t + t, y * t + t };

			/* neighbours are of different copies */
			if ((x + y) % f->copies == f->copy && needed(s, &a))
				rc = read_tile(f, s, y * per_row + x, x * t,
					       y * t);
		}
	}
	return rc;
}

static int unpack(struct fs *f, const struct fs_buf *b, uint8_t *pixels,
		  long tile)
{
	int want = tile * tile * RGB, got = 0;

	for (unsigned int i = 0; i < f->slow; i++)
		got = LZ4_decompress_safe((const char *)b->data + RECT,
					  (char *)pixels, b->len - RECT, want);
	if (got != want)
		return fs_error(
			f,
			"tile %u of the slide does not decompress: make the slide again with mkdata.py",
			b->tag);
	return 0;
}

static int decompress_one(struct fs *f, const struct fs_buf *b)
{
	long tile = b->len < RECT ? 0 : get32(b->data + 8);
	struct area a;
	uint8_t *pixels;
	int rc;

	if (tile < 1 || tile > 1024)
		return fs_error(f, "a buffer has no tile");
	pixels = malloc(tile * tile * RGB);
	if (!pixels)
		return no_memory(f);
	a.x0 = get32(b->data);
	a.y0 = get32(b->data + 4);
	a.x1 = a.x0 + tile;
	a.y1 = a.y0 + tile;
	rc = unpack(f, b, pixels, tile);
	if (!rc)
		rc = write_area(f, &a, pixels, tile * RGB, RGB);
	free(pixels);
	return rc;
}

static int decompress(struct fs *f)
{
	struct fs_buf *b;
	int rc;

	while ((rc = fs_read(f, 0, &b)) > 0) {
		rc = decompress_one(f, b);
		fs_release(b);
		if (rc)
			break;
	}
	return rc;
}

/* ------------------------------------------------------------------- the grid */

static int clip_one(struct fs *f, const struct fs_buf *b)
{
	struct scope *s = f->priv;
	struct area a, part;
	int rc = rect_of(f, b, &a, RGB);

	for (unsigned int i = 0; !rc && i < s->needs; i++) {
		size_t stride = (a.x1 - a.x0) * RGB;

		part = both(&a, &s->need[i]);
		if (!empty(&part))
			rc = write_area(f, &part,
					b->data + RECT +
						(part.y0 - a.y0) * stride +
						(part.x0 - a.x0) * RGB,
					stride, RGB);
	}
	return rc;
}

static int clip(struct fs *f)
{
	struct fs_buf *b;
	int rc;

	while ((rc = fs_read(f, 0, &b)) > 0) {
		rc = clip_one(f, b);
		fs_release(b);
		if (rc)
			break;
	}
	return rc;
}

/* Points of the window that the pixels of an area are parts of. */
static struct area points_of(const struct window *w, const struct area *a)
{
	return (struct area){
		.x0 = (a->x0 - w->x) / w->zoom,
		.y0 = (a->y0 - w->y) / w->zoom,
		.x1 = (a->x1 - w->x + w->zoom - 1) / w->zoom,
		.y1 = (a->y1 - w->y + w->zoom - 1) / w->zoom,
	};
}

static void add_pixels(const struct window *w, const struct area *a,
		       const struct area *grid, const uint8_t *pixel,
		       uint32_t *sum)
{
	long cols = grid->x1 - grid->x0;

	memset(sum, 0, cols * (grid->y1 - grid->y0) * SUM);
	for (long y = a->y0; y < a->y1; y++) {
		uint32_t *row =
			sum + ((y - w->y) / w->zoom - grid->y0) * cols * RGB;

		for (long x = a->x0; x < a->x1; x++) {
			uint32_t *at =
				row + ((x - w->x) / w->zoom - grid->x0) * RGB;

			for (int i = 0; i < RGB; i++)
				at[i] += *pixel++;
		}
	}
}

static int zoom_one(struct fs *f, const struct fs_buf *b)
{
	struct scope *s = f->priv;
	struct area a, all = area_of(&s->now), grid;
	uint32_t *sum;
	long points;
	int rc = rect_of(f, b, &a, RGB);

	if (rc)
		return rc;
	if (a.x0 < all.x0 || a.y0 < all.y0 || a.x1 > all.x1 || a.y1 > all.y1)
		return fs_error(f, "a buffer is not of the window");
	grid = points_of(&s->now, &a);
	points = (grid.x1 - grid.x0) * (grid.y1 - grid.y0);
	sum = malloc(points * SUM);
	if (!sum)
		return no_memory(f);
	for (unsigned int i = 0; i < f->slow; i++)
		add_pixels(&s->now, &a, &grid, b->data + RECT, sum);
	for (long i = 0; i < points * RGB; i++)
		sum[i] = htobe32(sum[i]);
	rc = write_area(f, &grid, (const uint8_t *)sum,
			(grid.x1 - grid.x0) * SUM, SUM);
	free(sum);
	return rc;
}

static int zoom(struct fs *f)
{
	struct fs_buf *b;
	int rc;

	while ((rc = fs_read(f, 0, &b)) > 0) {
		rc = zoom_one(f, b);
		fs_release(b);
		if (rc)
			break;
	}
	return rc;
}

/* -------------------------------------------------------------------- the view */

/* The picture of before, moved to where it is in the new window. */
static int view_init(struct fs *f, const struct fs_uow *u)
{
	struct window old = f->priv ? ((struct scope *)f->priv)->now :
				      (struct window){ 0 };
	int rc = track(f, u);
	struct scope *s = f->priv;
	struct window *w;
	uint32_t *sum;
	long dx, dy;

	if (rc)
		return rc;
	w = &s->now;
	sum = calloc(w->w * w->h, SUM);
	if (!sum)
		return no_memory(f);
	if (fs_uow_is(u, "move")) {
		dx = (w->x - old.x) / w->zoom;
		dy = (w->y - old.y) / w->zoom;
		for (long y = 0; y < w->h; y++) {
			for (long x = 0; x < w->w; x++) {
				if (x + dx >= 0 && x + dx < w->w &&
				    y + dy >= 0 && y + dy < w->h)
					memcpy(sum + (y * w->w + x) * RGB,
					       s->sum + ((y + dy) * w->w + x +
							 dx) * RGB,
					       SUM);
			}
		}
	}
	free(s->sum);
	s->sum = sum;
	return 0;
}

static int view_one(struct fs *f, const struct fs_buf *b)
{
	struct scope *s = f->priv;
	const struct window *w = &s->now;
	const uint8_t *p = b->data + RECT;
	struct area a;
	int rc = rect_of(f, b, &a, SUM);

	if (rc)
		return rc;
	if (a.x1 > w->w || a.y1 > w->h)
		return fs_error(f, "a buffer is not of the window");
	for (long y = a.y0; y < a.y1; y++) {
		uint32_t *sum = s->sum + (y * w->w + a.x0) * RGB;

		for (long i = 0; i < (a.x1 - a.x0) * RGB; i++, p += 4)
			sum[i] += get32(p);
	}
	return fs_compute(f, b->len);
}

static int write_ppm(struct fs *f, const char *path, const uint8_t *pixels)
{
	const struct window *w = &((struct scope *)f->priv)->now;
	FILE *out = fopen(path, "w");
	bool good;

	if (!out)
		return fs_error(f, "%s: %s", path, strerror(errno));
	fprintf(out, "P6\n%ld %ld\n255\n", w->w, w->h);
	good = fwrite(pixels, RGB, w->w * w->h, out) == (size_t)(w->w * w->h);
	if (fclose(out) || !good)
		return fs_error(f, "%s: %s", path, strerror(errno));
	return 0;
}

static int show(struct fs *f)
{
	struct scope *s = f->priv;
	const struct window *w = &s->now;
	size_t n = w->w * w->h * RGB;
	uint8_t *pixels = malloc(n);
	char path[200];
	int rc = 0;

	if (!pixels)
		return no_memory(f);
	for (size_t i = 0; i < n; i++)
		pixels[i] = s->sum[i] / (w->zoom * w->zoom);
	fs_emit(f,
		"\"x\":%ld,\"y\":%ld,\"w\":%ld,\"h\":%ld,\"zoom\":%ld,\"hash\":\"%016llx\"",
		w->x, w->y, w->w, w->h, w->zoom,
		(unsigned long long)fs_hash(FS_HASH, pixels, n));
	if (fs_param_text(f, "ppm", path, sizeof(path)))
		rc = write_ppm(f, path, pixels);
	free(pixels);
	return rc;
}

static int view(struct fs *f)
{
	struct fs_buf *b;
	int rc;

	if (f->copies > 1)
		return fs_error(f, "there can be one copy of the view only");
	while ((rc = fs_read(f, 0, &b)) > 0) {
		rc = view_one(f, b);
		fs_release(b);
		if (rc)
			return rc;
	}
	return rc ? rc : show(f);
}

const struct fs_filter fs_scope[] = {
	{ "read_tiles", track, read_tiles, keep, end },
	{ "decompress", track, decompress, keep, end },
	{ "clip", track, clip, keep, end },
	{ "zoom", track, zoom, keep, end },
	{ "view", view_init, view, keep, end },
	{ NULL, NULL, NULL, NULL, NULL },
};
