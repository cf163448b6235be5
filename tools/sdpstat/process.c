// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpstat: which process has which socket. /proc is read once for each
 * listing; processes of others are visible to root only.
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "sdpstat.h"

static struct process *table;
static size_t table_n, table_room;

static void process_name(int pid, int tid, char *name, size_t len)
{
	char path[64];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, name, len - 1);
		close(fd);
	}
	name[n > 0 ? n : 0] = '\0';
	name[strcspn(name, "\n")] = '\0';
}

/* Terminate a security label and remove its newline. Returns false if it is empty. */
static bool context_end(char *buf, ssize_t n)
{
	buf[n > 0 ? n : 0] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return *buf;
}

bool process_context(const struct process *p, bool of_socket, char *buf,
		     size_t len)
{
	char path[64];
	ssize_t n;
	int fd;

	if (of_socket) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", p->pid, p->fd);
		n = getxattr(path, "security.selinux", buf, len - 1);
		return context_end(buf, n);
	}
	snprintf(path, sizeof(path), "/proc/%d/task/%d/attr/current", p->pid,
		 p->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, buf, len - 1);
	close(fd);
	return context_end(buf, n);
}

static void process_add(uint32_t inode, int pid, int tid, int fd)
{
	struct process *p;

	if (table_n == table_room) {
		table_room = table_room ? 2 * table_room : 256;
		table = xrealloc(table, table_room, sizeof(*table));
	}
	p = &table[table_n++];
	p->inode = inode;
	p->pid = pid;
	p->tid = tid;
	p->fd = fd;
	p->name[0] = '\0';
}

static void thread_scan(int pid, int tid)
{
	char path[64], target[64];
	struct dirent *e;
	uint32_t inode;
	ssize_t n;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/fd", pid, tid);
	d = opendir(path);
	if (!d)
		return;

	while ((e = readdir(d))) {
		n = readlinkat(dirfd(d), e->d_name, target, sizeof(target) - 1);
		if (n <= 0)
			continue;
		target[n] = '\0';
		if (sscanf(target, "socket:[%u]", &inode) == 1)
			process_add(inode, pid, tid, atoi(e->d_name));
	}
	closedir(d);
}

static void threads_scan(int pid)
{
	struct dirent *e;
	char path[64];
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	if (!d)
		return;
	while ((e = readdir(d)))
		if (isdigit((unsigned char)e->d_name[0]))
			thread_scan(pid, atoi(e->d_name));
	closedir(d);
}

static int process_cmp(const void *a, const void *b)
{
	const struct process *p = a, *q = b;

	if (p->inode != q->inode)
		return p->inode < q->inode ? -1 : 1;
	if (p->pid != q->pid)
		return p->pid < q->pid ? -1 : 1;
	if (p->tid != q->tid)
		return p->tid < q->tid ? -1 : 1;
	return p->fd - q->fd;
}

void processes_scan(bool threads)
{
	struct dirent *e;
	int pid;
	DIR *d;

	table_n = 0;
	d = opendir("/proc");
	if (!d)
		die("cannot read /proc: mount it, or leave out -p");

	while ((e = readdir(d))) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		pid = atoi(e->d_name);
		if (threads)
			threads_scan(pid);
		else
			thread_scan(pid, pid);
	}
	closedir(d);
	if (table_n)
		qsort(table, table_n, sizeof(*table), process_cmp);
}

const struct process *processes_of(uint32_t inode, size_t *n)
{
	size_t lo = 0, hi = table_n, mid, end, i;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (table[mid].inode < inode)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (end = lo; end < table_n && table[end].inode == inode; end++)
		;
	/* Only for processes that are shown: most of them have no SDP socket */
	for (i = lo; i < end; i++)
		if (!table[i].name[0])
			process_name(table[i].pid, table[i].tid, table[i].name,
				     sizeof(table[i].name));

	*n = end - lo;
	return table ? &table[lo] : NULL;
}
