// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpstat: control groups. The kernel knows them by number, which is the file handle of
 * their directory in cgroup2.
 */
#include <fcntl.h>
#include <mntent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sdpstat.h"

#define FILEID_KERNFS 0xfe /* as the kernel has it */

struct handle {
	struct file_handle head;
	uint64_t id; /* is what head.f_handle points to */
};

_Static_assert(offsetof(struct handle, id) == sizeof(struct file_handle),
	       "the number is not where the handle is");

/* Where cgroup2 is mounted; empty: nowhere */
static const char *mount_point(void)
{
	static char dir[256];
	struct mntent *m;
	FILE *f;

	if (*dir)
		return dir;
	f = setmntent("/proc/self/mounts", "re");
	while (f && (m = getmntent(f)))
		if (!strcmp(m->mnt_type, "cgroup2")) {
			snprintf(dir, sizeof(dir), "%s", m->mnt_dir);
			break;
		}
	if (f)
		endmntent(f);
	return dir;
}

/* @path: as in /proc/PID/cgroup, or with the mount point before it; 0: there is none */
uint64_t cgroup_of(const char *path)
{
	struct handle h = { .head.handle_bytes = sizeof(h.id) };
	const char *top = mount_point();
	char full[4096];
	int mount;

	snprintf(full, sizeof(full), "%s/%s",
		 strncmp(path, top, strlen(top)) ? top : "", path);
	if (!*top || name_to_handle_at(AT_FDCWD, full, &h.head, &mount, 0) ||
	    h.head.handle_bytes != sizeof(h.id))
		return 0;
	return h.id;
}

/* As in /proc/PID/cgroup; a number if the group is gone, or the user may not look it up */
void cgroup_path(char *buf, size_t len, uint64_t id)
{
	struct handle h = { .head.handle_bytes = sizeof(h.id),
			    .head.handle_type = FILEID_KERNFS,
			    .id = id };
	const char *top = mount_point();
	char link[64], full[4096];
	int mount, fd = -1;
	ssize_t n = -1;

	mount = *top ? open(top, O_RDONLY | O_CLOEXEC) : -1;
	if (mount >= 0)
		fd = open_by_handle_at(mount, &h.head, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = readlink(link, full, sizeof(full) - 1);
		close(fd);
	}
	if (mount >= 0)
		close(mount);
	if (n < 0 || strncmp(full, top, strlen(top))) {
		snprintf(buf, len, "unreachable:%llx", (unsigned long long)id);
		return;
	}
	full[n] = '\0';
	snprintf(buf, len, "%s", full[strlen(top)] ? full + strlen(top) : "/");
}
