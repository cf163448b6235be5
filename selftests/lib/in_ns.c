// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * in-ns: run a program in a network namespace, with the /sys that belongs to it.
 *
 *   in-ns NAME PROGRAM [ARGUMENT]...
 * Like "ip netns exec", but ignores /etc/netns. Exit status 255: in-ns itself failed.
 * Linked statically: tests start thousands of programs, and under emulation starting ip
 * takes longer than most of them run.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

static int fail(const char *what)
{
	fprintf(stderr, "in-ns: %s: %s\n", what, strerror(errno));
	return 255;
}

int main(int argc, char **argv)
{
	char path[PATH_MAX];
	int fd;

	if (argc < 3) {
		fprintf(stderr, "usage: in-ns NAME PROGRAM [ARGUMENT]...\n");
		return 255;
	}
	snprintf(path, sizeof(path), "/run/netns/%s", argv[1]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		return fail(path);
	/* a sysfs shows the namespace of the process that mounted it */
	if (unshare(CLONE_NEWNS) ||
	    mount("", "/", "none", MS_SLAVE | MS_REC, NULL))
		return fail("mount namespace");
	if (umount2("/sys", MNT_DETACH) ||
	    mount(argv[1], "/sys", "sysfs", 0, NULL))
		return fail("/sys");
	execvp(argv[2], argv + 2);
	return fail(argv[2]);
}
