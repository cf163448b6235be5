// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdp-zcache: large sends and receives from and to memory that is used again,
 * with all that can happen to it in between. Every byte is checked.
 *
 *	sdp-zcache serve ADDRESS PORT
 *	sdp-zcache SCENARIO ADDRESS PORT
 *
 * For each transfer the client gives an order: what the server shall expect, or
 * send. Prints "ok" or what was wrong; hold prints "held" and stays.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/dma-heap.h>
#include <linux/sdp.h>

#include "zcopy_lib.h"

#define SIZE 262144
#define HUGE_PAGE (2u << 20)
#define ZERO 0xff /* this seed is no pattern, but zeros */
#define ANY 0xfe /* whatever it is */
#define RW (PROT_READ | PROT_WRITE)

struct order {
	uint32_t len;
	uint8_t seed;
	uint8_t send; /* the server sends */
	uint8_t pad[2];
};

static unsigned char *at; /* SIZE bytes */
static int fd;

static uint64_t place(uint8_t seed)
{
	return seed * 123457ull;
}

static bool holds(const unsigned char *p, size_t len, uint8_t seed)
{
	size_t i;

	if (seed == ANY)
		return true;
	if (seed != ZERO)
		return net_good(p, len, place(seed));
	for (i = 0; i < len; i++)
		if (p[i])
			return false;
	return true;
}

/* ---- server ---- */

static bool obey(int s, const struct order *o, unsigned char *buf)
{
	uint8_t verdict;

	if (o->len > BUF_MAX)
		return false;
	if (o->send) {
		net_fill(buf, o->len, place(o->seed));
		return send(s, buf, o->len, MSG_NOSIGNAL) == (ssize_t)o->len;
	}
	memset(buf, 0xee, o->len);
	if (recv(s, buf, o->len, MSG_WAITALL) != (ssize_t)o->len)
		return false;
	verdict = holds(buf, o->len, o->seed);
	return send(s, &verdict, 1, MSG_NOSIGNAL) == 1;
}

static void *serve_one(void *arg)
{
	unsigned char *buf = map(BUF_MAX, false);
	int s = (int)(long)arg;
	struct order o;

	while (recv(s, &o, sizeof(o), MSG_WAITALL) == sizeof(o) &&
	       obey(s, &o, buf))
		;
	close(s);
	munmap(buf, BUF_MAX);
	return NULL;
}

/* ---- client: transfers ---- */

static void order(size_t len, uint8_t seed, bool to_us)
{
	struct order o = { .len = len, .seed = seed, .send = to_us };

	if (send(fd, &o, sizeof(o), MSG_NOSIGNAL) != sizeof(o))
		net_fail("order");
}

/* Send what is there, which ought to be that of the seed. */
static void put(const unsigned char *p, size_t len, uint8_t seed)
{
	uint8_t verdict = 0;

	order(len, seed, false);
	if (send(fd, p, len, MSG_NOSIGNAL) != (ssize_t)len ||
	    recv(fd, &verdict, 1, 0) != 1)
		net_fail("send");
	net_check(verdict, "sent data");
}

static void out(unsigned char *p, size_t len, uint8_t seed)
{
	net_fill(p, len, place(seed));
	put(p, len, seed);
}

static void get(unsigned char *p, size_t len, uint8_t seed)
{
	if (recv(fd, p, len, MSG_WAITALL) != (ssize_t)len)
		net_fail("recv");
	net_check(holds(p, len, seed), "received data");
}

static void in(unsigned char *p, size_t len, uint8_t seed)
{
	order(len, seed, true);
	get(p, len, seed);
}

static void cannot_send(const unsigned char *p)
{
	static unsigned char other[SIZE];

	net_check(send(fd, p, SIZE, MSG_NOSIGNAL) == -1 && errno == EFAULT,
		  "a send of what is not there: EFAULT");
	/* after a failure two are copied, whatever they are */
	out(other, SIZE, 77);
	out(other, SIZE, 78);
}

static void cannot_receive(unsigned char *p)
{
	net_check(recv(fd, p, SIZE, MSG_WAITALL) == -1 && errno == EFAULT,
		  "a receive to where nothing can be: EFAULT");
}

/* ---- client: memory ---- */

/* Other memory at this place */
static void fresh(void *p, int flags, int f)
{
	if (mmap(p, SIZE, RW, flags | MAP_FIXED, f, 0) != p)
		net_fail("mmap");
}

static void anew(void *p)
{
	fresh(p, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static void protect(void *p, size_t len, int prot)
{
	if (mprotect(p, len, prot))
		net_fail("mprotect");
}

static void advise(void *p, size_t len, int advice)
{
	if (madvise(p, len, advice))
		net_fail("madvise");
}

static int file(uint8_t seed)
{
	int f = open("/run", O_TMPFILE | O_RDWR, 0600);

	net_fill(at, SIZE, place(seed));
	if (f < 0 || write(f, at, SIZE) != SIZE)
		net_fail("file");
	return f;
}

static void rewrite(int f, uint8_t seed)
{
	unsigned char *p = map(SIZE, false);

	net_fill(p, SIZE, place(seed));
	if (pwrite(f, p, SIZE, 0) != SIZE)
		net_fail("pwrite");
	munmap(p, SIZE);
}

static void resize(int f, size_t len)
{
	if (ftruncate(f, len))
		net_fail("ftruncate");
}

/* ---- scenarios ---- */

static void run_reuse(void)
{
	int i;

	for (i = 0; i < 8; i++)
		out(at, SIZE, i);
	for (i = 0; i < 8; i++)
		in(at, SIZE, i);
}

/* Lengths and addresses differ: kept memory of another is not used */
static void run_sizes(void)
{
	int i;

	for (i = 1; i < 6; i++) {
		out(at, SIZE / 2, i);
		out(at, SIZE / 2 + 1, i);
		out(at + i, SIZE / 2, i);
	}
}

static void run_remap(void)
{
	out(at, SIZE, 1);
	anew(at);
	out(at, SIZE, 2);
	in(at, SIZE, 3);
	anew(at);
	in(at, SIZE, 4);
	put(at, SIZE, 4);
	munmap(at, SIZE);
	cannot_send(at);
	anew(at);
	out(at, SIZE, 5);
	/* the middle alone */
	munmap(at + SIZE / 2, PAGE);
	cannot_send(at + SIZE / 2);
	anew(at);
	put(at, SIZE, ZERO);
}

static void run_move(void)
{
	unsigned char *there = map(SIZE, false);

	out(at, SIZE, 1);
	if (mremap(at, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, there) !=
	    there)
		net_fail("mremap");
	cannot_send(at);
	anew(at);
	out(at, SIZE, 2);
	put(there, SIZE, 1);
	in(at, SIZE, 3);
	if (mremap(at, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, there) !=
	    there)
		net_fail("mremap");
	anew(at);
	in(at, SIZE, 4);
	net_check(holds(there, SIZE, 3), "moved memory");
}

static void run_protect(void)
{
	in(at, SIZE, 1);
	protect(at, SIZE, PROT_READ);
	order(SIZE, 2, true);
	cannot_receive(at);
	net_check(holds(at, SIZE, 1), "protected memory");
	protect(at, SIZE, RW);
	get(at, SIZE, 2);
	put(at, SIZE, 2);
	protect(at, SIZE, PROT_NONE);
	cannot_send(at);
	protect(at, SIZE, RW);
	put(at, SIZE, 2);
	in(at, SIZE, 3);
}

static void run_advise(void)
{
	out(at, SIZE, 1);
	advise(at, SIZE, MADV_DONTNEED);
	put(at, SIZE, ZERO);
	/* all processes share the zero page */
	out(at, SIZE, 2);
	in(at, SIZE, 3);
	advise(at, SIZE, MADV_DONTNEED);
	in(at, SIZE, 4);
	out(at, SIZE, 5);
	advise(at, SIZE, MADV_FREE);
	out(at, SIZE, 6);
}

static void child_writes(int tell)
{
	memset(at, 0x55, SIZE);
	if (write(tell, "x", 1) != 1)
		_exit(1);
	pause();
	_exit(0);
}

static void run_fork(void)
{
	int p[2], status;
	pid_t pid;
	char c;

	in(at, SIZE, 1);
	out(at, SIZE, 2);
	if (pipe(p))
		net_fail("pipe");
	pid = fork();
	if (!pid)
		child_writes(p[1]);
	if (read(p[0], &c, 1) != 1)
		net_fail("child");
	put(at, SIZE, 2);
	out(at, SIZE, 3);
	in(at, SIZE, 4);
	put(at, SIZE, 4);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	out(at, SIZE, 5);
	/* the child on the same socket, from the same address */
	pid = fork();
	if (!pid) {
		out(at, SIZE, 6);
		in(at, SIZE, 7);
		out(at, SIZE, 8);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	net_check(WIFEXITED(status) && !WEXITSTATUS(status), "the child");
	put(at, SIZE, 5);
	in(at, SIZE, 9);
}

/* Transfers of a whole huge page, of a part of it changed if @split, of new memory there */
static void huge(unsigned char *p, bool split)
{
	out(p, 4 * SIZE, 1);
	out(p, 4 * SIZE, 2);
	in(p, 4 * SIZE, 3);
	in(p, 4 * SIZE, 4);
	if (split) {
		advise(p + PAGE, PAGE, MADV_DONTNEED);
		out(p, 4 * SIZE, 5);
		in(p, 4 * SIZE, 6);
	}
	if (mmap(p, HUGE_PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		 0) != p)
		net_fail("mmap");
	out(p, 4 * SIZE, 7);
	in(p, 4 * SIZE, 8);
}

static void run_thp(void)
{
	unsigned char *p = map(2 * HUGE_PAGE, false);

	p += -(uintptr_t)p % HUGE_PAGE;
	advise(p, HUGE_PAGE, MADV_HUGEPAGE);
	huge(p, true);
}

static void run_hugetlb(void)
{
	unsigned char *p = mmap(NULL, HUGE_PAGE, RW,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1,
				0);

	if (p == MAP_FAILED)
		net_fail("no huge pages");
	huge(p, false);
}

static void run_shared(void)
{
	int f = file(1);

	fresh(at, MAP_SHARED, f);
	put(at, SIZE, 1);
	rewrite(f, 2);
	put(at, SIZE, 2);
	in(at, SIZE, 3);
	in(at, SIZE, 4);
	resize(f, 0);
	cannot_send(at);
	order(SIZE, 5, true);
	cannot_receive(at);
	resize(f, SIZE);
	get(at, SIZE, 5);
	resize(f, 0);
	resize(f, SIZE);
	put(at, SIZE, ZERO);
	out(at, SIZE, 6);
	fresh(at, MAP_SHARED, f);
	put(at, SIZE, 6);
	/* data written by the device is in the file */
	in(at, SIZE, 7);
	anew(at);
	fresh(at, MAP_PRIVATE, f);
	put(at, SIZE, 7);
}

/* Pages of the file, until they are written to */
static void run_private(void)
{
	int f = file(1);

	fresh(at, MAP_PRIVATE, f);
	put(at, SIZE, 1);
	rewrite(f, 2);
	/* newer kernels make the pages the process's own to pin them */
	put(at, SIZE, holds(at, SIZE, 2) ? 2 : 1);
	out(at, SIZE, 3);
	rewrite(f, 4);
	put(at, SIZE, 3);
	in(at, SIZE, 5);
	fresh(at, MAP_PRIVATE, f);
	put(at, SIZE, 4);
	resize(f, 0);
	cannot_send(at);
	resize(f, SIZE);
	put(at, SIZE, ZERO);
}

/* Six buffers, one after the other: the shell says how much is kept */
static void run_many(void)
{
	unsigned char *p = map(6 * SIZE, false);
	int i;

	for (i = 0; i < 18; i++)
		out(p + i % 6 * SIZE, SIZE, i);
	for (i = 0; i < 4; i++)
		out(p + i % 2 * SIZE, SIZE, i);
}

/* A user without rights, who may lock two of them */
static void run_limit(void)
{
	struct rlimit some = { 600000, 600000 };

	if (setrlimit(RLIMIT_MEMLOCK, &some) || setresuid(65534, 65534, 65534))
		net_fail("setresuid");
	run_many();
}

/* One process begins, another goes on when that one is gone */
static void run_pass(void)
{
	int p[2], status;
	pid_t pid;
	char c;

	if (pipe(p))
		net_fail("pipe");
	out(at, SIZE, 1);
	pid = fork();
	if (!pid) {
		out(at, SIZE, 2);
		in(at, SIZE, 3);
		pid = getpid();
		if (fork())
			_exit(0);
		/* its memory is gone before it is */
		while (getppid() == pid)
			usleep(1000);
		put(at, SIZE, 3);
		out(at, SIZE, 4);
		in(at, SIZE, 5);
		_exit(write(p[1], "x", 1) != 1);
	}
	close(p[1]);
	waitpid(pid, &status, 0);
	net_check(read(p[0], &c, 1) == 1, "the one that continues");
	put(at, SIZE, 1);
}

/* Device memory cannot be pinned, and is copied. */
static void run_device(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	int threshold = PAGE;
	unsigned long p = 0;
	char line[256];

	while (!p && maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "[vvar"))
			p = strtoul(line, NULL, 16);
	net_check(p, "no page of a device");
	fclose(maps);
	if (setsockopt(fd, SOL_SDP, SDP_ZCOPY, &threshold, sizeof(threshold)))
		net_fail("SDP_ZCOPY");
	put((void *)p, PAGE, ANY);
}

/* Memory that devices share: pages, but none that may be pinned */
static void run_dmabuf(void)
{
	struct dma_heap_allocation_data d = {
		.len = SIZE,
		.fd_flags = O_RDWR | O_CLOEXEC,
	};
	int heap = open("/dev/dma_heap/system", O_RDWR | O_CLOEXEC);
	unsigned char *p;

	if (heap < 0 || ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &d))
		net_fail("dma_heap");
	p = mmap(NULL, SIZE, RW, MAP_SHARED, d.fd, 0);
	if (p == MAP_FAILED)
		net_fail("mmap");
	out(p, SIZE, 1);
	in(p, SIZE, 2);
	put(p, SIZE, 2);
}

/* Pages that are gone and come again, others that are put there, a file cut short */
static void churn_pages(int i)
{
	static int f = -1;
	unsigned char *p;

	switch (i % 3) {
	case 0:
		munmap(at + SIZE / 4, 4 * PAGE);
		p = mmap(at + SIZE / 4, 4 * PAGE, RW,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		break;
	case 1:
		p = map(4 * PAGE, false);
		p = mremap(p, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
			   at + SIZE / 2);
		break;
	default:
		if (f < 0)
			f = open("/run", O_TMPFILE | O_RDWR, 0600);
		resize(f, SIZE / 4);
		p = mmap(at + SIZE / 4 * 3, SIZE / 4, RW,
			 MAP_SHARED | MAP_FIXED, f, 0);
		resize(f, 0);
		resize(f, SIZE / 4);
	}
	if (p == MAP_FAILED)
		net_fail("churn");
}

static void *churn(void *arg)
{
	bool *end = arg;
	pid_t pid;
	int i;

	for (i = 0; !__atomic_load_n(end, __ATOMIC_RELAXED); i++) {
		switch (i % 4) {
		case 0:
			advise(at + i % 64 * PAGE, PAGE, MADV_DONTNEED);
			break;
		case 1:
			mprotect(at, SIZE / 2, PROT_READ);
			mprotect(at, SIZE / 2, RW);
			break;
		case 2:
			pid = fork();
			if (!pid)
				_exit(0);
			waitpid(pid, NULL, 0);
			break;
		default:
			churn_pages(i / 4);
		}
	}
	return NULL;
}

/* A transfer of what is there or not, until all has gone; ours, or theirs */
static void insist(bool to_us)
{
	size_t done = 0;
	uint8_t verdict;
	ssize_t n;

	order(SIZE, to_us ? 1 : ANY, to_us);
	while (done < SIZE) {
		n = to_us ? recv(fd, at + done, SIZE - done, MSG_WAITALL) :
			    send(fd, at + done, SIZE - done, MSG_NOSIGNAL);
		if (n > 0)
			done += n;
		else if (!n || errno != EFAULT)
			net_fail("churn");
	}
	if (!to_us && recv(fd, &verdict, 1, 0) != 1)
		net_fail("verdict");
}

/* Another thread changes the mapping all the time */
static void churned(bool to_us)
{
	bool end = false;
	pthread_t thread;
	int i;

	if (pthread_create(&thread, NULL, churn, &end))
		net_fail("thread");
	for (i = 0; i < 60; i++)
		insist(to_us);
	__atomic_store_n(&end, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	/* the kept pages are those of the mapping */
	out(at, SIZE, 3);
	in(at, SIZE, 4);
	anew(at);
	out(at, SIZE, 1);
	in(at, SIZE, 2);
}

static void run_churn(void)
{
	churned(false);
}

static void run_churn_recv(void)
{
	churned(true);
}

/* Map other memory there while a task is stopped, see zcopy-cache.sh */
static void *change_held(void *arg)
{
	static const char held[] = "/sys/module/test_hold/parameters/";
	char path[64], digit = '0';
	int f;

	(void)arg;
	snprintf(path, sizeof(path), "%shits", held);
	for (; digit == '0'; close(f)) {
		usleep(1000);
		f = open(path, O_RDONLY);
		if (f < 0 || read(f, &digit, 1) != 1)
			net_fail("test_hold");
	}
	anew(at);
	snprintf(path, sizeof(path), "%sgo", held);
	f = open(path, O_WRONLY);
	if (f < 0 || write(f, "1", 1) != 1)
		net_fail("test_hold");
	close(f);
	return NULL;
}

/* The mapping changes when a transfer is over, and its memory about to be kept */
static void late(bool to_us)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, change_held, NULL) ||
	    prctl(PR_SET_NAME, "late"))
		net_fail("thread");
	if (to_us) {
		order(SIZE, 1, true);
		if (recv(fd, at, SIZE, MSG_WAITALL) != SIZE)
			net_fail("recv");
	} else {
		out(at, SIZE, 1);
	}
	pthread_join(thread, NULL);
	if (to_us)
		in(at, SIZE, 2);
	else
		out(at, SIZE, 2);
}

static void run_late(void)
{
	late(false);
}

static void run_late_recv(void)
{
	late(true);
}

/* For send and receive, once each */
static void run_hold(void)
{
	struct sdp_info info;
	socklen_t len = sizeof(info);

	run_reuse();
	if (getsockopt(fd, SOL_SDP, SDP_INFO, &info, &len) ||
	    len < sizeof(info))
		net_fail("SDP_INFO");
	printf("held %u\n", info.zcopy_kept);
	fflush(stdout);
	pause();
}

static const struct {
	const char *name;
	void (*run)(void);
} scenarios[] = {
	{ "reuse", run_reuse },
	{ "sizes", run_sizes },
	{ "remap", run_remap },
	{ "move", run_move },
	{ "protect", run_protect },
	{ "advise", run_advise },
	{ "fork", run_fork },
	{ "thp", run_thp },
	{ "hugetlb", run_hugetlb },
	{ "shared", run_shared },
	{ "private", run_private },
	{ "many", run_many },
	{ "limit", run_limit },
	{ "pass", run_pass },
	{ "device", run_device },
	{ "churn", run_churn },
	{ "churn_recv", run_churn_recv },
	{ "late", run_late },
	{ "late_recv", run_late_recv },
	{ "dmabuf", run_dmabuf },
	{ "hold", run_hold },
};

static int client(const char *name, char **argv)
{
	struct sockaddr_in sin;
	size_t i;

	net_address4(&sin, (argv)[0], (argv)[1]);
	at = map(SIZE, false);
	fd = socket(AF_SDP, SOCK_STREAM, SDPPROTO_SDP);
	if (fd < 0 || connect(fd, (struct sockaddr *)&sin, sizeof(sin)))
		net_fail("connect");
	for (i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++) {
		if (strcmp(name, scenarios[i].name))
			continue;
		scenarios[i].run();
		printf("ok\n");
		return 0;
	}
	return 2;
}

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	if (argc != 4)
		return 2;
	if (!strcmp(argv[1], "serve"))
		return serve(argv + 2, serve_one);
	return client(argv[1], argv + 2);
}
