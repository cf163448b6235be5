// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdpstat -C: the counters of the last call, as nstat(8) keeps them. A file for each
 * network namespace, in a directory that is empty after a boot, as the counters are 0 then.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sdpstat.h"

static void history_path(char *path, size_t len)
{
	const char *dir = secure_getenv("XDG_RUNTIME_DIR");
	struct stat st;

	if (!dir || !*dir)
		dir = geteuid() ? NULL : "/run";
	if (!dir)
		die("-C keeps the counters in a directory of yours: set XDG_RUNTIME_DIR to one");
	if (stat("/proc/self/ns/net", &st))
		die("cannot look at /proc/self/ns/net: %s", strerror(errno));
	if ((size_t)snprintf(path, len, "%s/sdpstat.%llu", dir,
			     (unsigned long long)st.st_ino) >= len)
		die("XDG_RUNTIME_DIR is too long");
}

static FILE *open_history(const char *path, int flags, const char *mode)
{
	int fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct stat st;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
		die("%s is not a file of this user: remove it", path);
	return fdopen(fd, mode);
}

bool history_read(uint64_t v[COUNTERS_MAX], double *when)
{
	unsigned long long value;
	char path[4096];
	unsigned int id;
	FILE *f;

	memset(v, 0, COUNTERS_MAX * sizeof(*v));
	history_path(path, sizeof(path));
	f = open_history(path, O_RDONLY, "r");
	if (!f)
		return false;
	if (fscanf(f, "%lf", when) != 1)
		*when = 0;
	while (fscanf(f, "%u %llu", &id, &value) == 2)
		if (id < COUNTERS_MAX)
			v[id] = value;
	fclose(f);
	return true;
}

void history_write(const uint64_t v[COUNTERS_MAX], unsigned int n, double when)
{
	char path[4096];
	unsigned int i;
	FILE *f;

	history_path(path, sizeof(path));
	f = open_history(path, O_WRONLY | O_CREAT | O_TRUNC, "w");
	if (!f)
		die("cannot write %s: %s", path, strerror(errno));
	fprintf(f, "%.3f\n", when);
	for (i = 0; i < n; i++)
		fprintf(f, "%u %llu\n", i, (unsigned long long)v[i]);
	if (fclose(f))
		die("cannot write %s: %s", path, strerror(errno));
}
