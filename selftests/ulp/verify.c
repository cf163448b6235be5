// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * ulp-verify: write to a file or block device at random, read back at random,
 * and look at every byte.
 *
 *   ulp-verify [-s MB] [-t THREADS] [-n OPERATIONS] [-m KB] [-r SEED] [-b] PATH
 *
 * Each thread has a part of the first MB (16) megabytes to itself and performs
 * OPERATIONS (200) there, of up to KB (1024) each, past the page cache unless -b
 * is given. In the end all of it is read once more. Every 8 bytes name their
 * place and how often they were written. Prints what was transferred.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECTOR 4096U

static unsigned int operations = 200, max_sectors = 256;
static unsigned int seed = 1;
static int fd;

struct part {
	pthread_t thread;
	unsigned int number;
	uint64_t first; /* sector */
	unsigned int sectors;
	unsigned int *times; /* each sector was written */
	unsigned char *buf;
	uint64_t written, read;
	bool failed;
};

static uint64_t word(uint64_t sector, unsigned int i, unsigned int times)
{
	uint64_t x = sector * (SECTOR / 8) + i;

	return (x << 24 | (times & 0xffffff)) * 0x9e3779b97f4a7c15ULL + seed;
}

static void fill(struct part *p, unsigned int at, unsigned int n)
{
	uint64_t *w = (uint64_t *)p->buf;
	unsigned int i;

	for (; n--; at++) {
		p->times[at]++;
		for (i = 0; i < SECTOR / 8; i++)
			*w++ = word(p->first + at, i, p->times[at]);
	}
}

static bool check(struct part *p, unsigned int at, unsigned int n)
{
	const uint64_t *w = (const uint64_t *)p->buf;
	unsigned int i;

	for (; n--; at++) {
		if (!p->times[at]) {
			w += SECTOR / 8;
			continue;
		}
		for (i = 0; i < SECTOR / 8; i++, w++) {
			if (*w == word(p->first + at, i, p->times[at]))
				continue;
			printf("# byte %llu: %016llx, not %016llx\n",
			       (unsigned long long)((p->first + at) * SECTOR +
						    i * 8),
			       (unsigned long long)*w,
			       (unsigned long long)word(p->first + at, i,
							p->times[at]));
			return false;
		}
	}
	return true;
}

/* All of it, whatever the pieces the system makes of it; false: errno says why */
static bool transfer(struct part *p, unsigned int at, unsigned int n,
		     bool write)
{
	off_t off = (off_t)(p->first + at) * SECTOR;
	size_t len = (size_t)n * SECTOR, done = 0;
	ssize_t got;

	for (; done < len; done += got) {
		got = write ? pwrite(fd, p->buf + done, len - done,
				     off + done) :
			      pread(fd, p->buf + done, len - done, off + done);
		if (got <= 0) {
			printf("# %s of %zu at %llu: %s\n",
			       write ? "write" : "read", len,
			       (unsigned long long)off,
			       got ? strerror(errno) : "end of file");
			return false;
		}
	}
	*(write ? &p->written : &p->read) += len;
	return true;
}

static bool operate(struct part *p, unsigned int at, unsigned int n, bool write)
{
	if (write) {
		fill(p, at, n);
		return transfer(p, at, n, true);
	}
	return transfer(p, at, n, false) && check(p, at, n);
}

static void *work(void *arg)
{
	unsigned int state, i, at, n, limit;
	struct part *p = arg;

	state = seed * 1000 + p->number;
	for (i = 0; i < operations && !p->failed; i++) {
		at = rand_r(&state) % p->sectors;
		/* most are short, as they are in life */
		limit = rand_r(&state) % 3 ? 8 : max_sectors;
		n = rand_r(&state) % limit;
		n = n + 1 > p->sectors - at ? p->sectors - at : n + 1;
		p->failed = !operate(p, at, n, rand_r(&state) & 1);
	}
	for (at = 0; at < p->sectors && !p->failed; at += n) {
		n = p->sectors - at < max_sectors ? p->sectors - at :
						    max_sectors;
		p->failed = !operate(p, at, n, false);
	}
	return NULL;
}

static void begin(struct part *p, unsigned int number, unsigned int sectors)
{
	p->number = number;
	p->first = (uint64_t)number * sectors;
	p->sectors = sectors;
	p->times = calloc(sectors, sizeof(*p->times));
	p->buf = aligned_alloc(SECTOR, (size_t)max_sectors * SECTOR);
	if (!p->times || !p->buf || pthread_create(&p->thread, NULL, work, p)) {
		perror("ulp-verify");
		exit(1);
	}
}

int main(int argc, char **argv)
{
	unsigned int mb = 16, threads = 4, flags = O_DIRECT, i;
	uint64_t written = 0, read = 0;
	struct part *parts;
	bool failed = false;
	int opt;

	while ((opt = getopt(argc, argv, "s:t:n:m:r:b")) != -1) {
		switch (opt) {
		case 's':
			mb = atoi(optarg);
			break;
		case 't':
			threads = atoi(optarg);
			break;
		case 'n':
			operations = atoi(optarg);
			break;
		case 'm':
			max_sectors = atoi(optarg) * 1024 / SECTOR;
			break;
		case 'r':
			seed = atoi(optarg);
			break;
		case 'b':
			flags = 0;
			break;
		default:
			return 2;
		}
	}
	if (optind + 1 != argc || !threads || !max_sectors)
		return 2;
	fd = open(argv[optind], O_RDWR | O_CREAT | flags, 0600);
	parts = calloc(threads, sizeof(*parts));
	if (fd < 0 || !parts) {
		perror(argv[optind]);
		return 1;
	}
	/* a disk has its size already */
	if (ftruncate(fd, (off_t)mb << 20) && errno != EINVAL) {
		perror(argv[optind]);
		return 1;
	}
	for (i = 0; i < threads; i++)
		begin(&parts[i], i, mb * (1048576 / SECTOR) / threads);
	for (i = 0; i < threads; i++) {
		pthread_join(parts[i].thread, NULL);
		written += parts[i].written;
		read += parts[i].read;
		failed |= parts[i].failed;
	}
	if (fsync(fd) || close(fd)) {
		perror("fsync");
		failed = true;
	}
	printf("%s: %llu MB written, %llu MB read\n",
	       failed ? "wrong" : "right", (unsigned long long)written >> 20,
	       (unsigned long long)read >> 20);
	return failed;
}
