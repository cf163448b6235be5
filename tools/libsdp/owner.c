// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdp-run -s, owners: the supervisor takes the user and the groups of a program while it
 * opens a socket for it. Calls the C library and the kernel only.
 */
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include "owner.h"

/* Numbers are those of our user namespace. */
struct owner {
	uid_t uid;
	gid_t gid;
	/* for permissions other than those of files; gid above is for files */
	gid_t effective;
	size_t n;
	gid_t groups[NGROUPS_MAX];
};

static struct owner own, now, theirs;
static bool known, changeable;

static void read_groups(const char *p, struct owner *o)
{
	char *end;

	for (o->n = 0; o->n < NGROUPS_MAX; o->n++) {
		o->groups[o->n] = strtoul(p, &end, 10);
		if (end == p)
			break;
		p = end;
	}
}

/* Whether that line of a status file is one of the three. */
static bool read_line(const char *line, struct owner *o)
{
	if (!strncmp(line, "Groups:", 7)) {
		read_groups(line + 7, o);
		return true;
	}
	return sscanf(line, "Uid: %*u %*u %*u %u", &o->uid) == 1 ||
	       sscanf(line, "Gid: %*u %u %*u %u", &o->effective, &o->gid) == 2;
}

static bool read_owner(pid_t tid, struct owner *o)
{
	char path[64], *line = NULL;
	size_t room = 0;
	int found = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (found < 3 && getline(&line, &room, f) > 0)
		found += read_line(line, o);
	free(line);
	fclose(f);
	return found == 3;
}

static bool same_list(const struct owner *a, const struct owner *b)
{
	return a->n == b->n &&
	       !memcmp(a->groups, b->groups, a->n * sizeof(*a->groups));
}

/* Whether /proc is that of our PID namespace: else its numbers are those of others. */
static bool is_our_proc(void)
{
	char pid[16] = "";

	return readlink("/proc/self", pid, sizeof(pid) - 1) > 0 &&
	       strtol(pid, NULL, 10) == getpid();
}

/* Whether each group of the system has a number in our user namespace. */
static bool all_mapped(void)
{
	FILE *f = fopen("/proc/self/gid_map", "re");
	unsigned int count = 0;

	if (!f)
		return false;
	if (fscanf(f, "%*u %*u %u", &count) != 1)
		count = 0;
	fclose(f);
	return count == UINT_MAX;
}

/* The number that is shown for all groups that have none. */
static gid_t unmapped(void)
{
	FILE *f = fopen("/proc/sys/kernel/overflowgid", "re");
	gid_t gid = 65534;

	if (!f)
		return gid;
	if (fscanf(f, "%u", &gid) != 1)
		gid = 65534;
	fclose(f);
	return gid;
}

/*
 * Whether our groups could be set again: those without a number could not. Theirs
 * always can: a list with such groups is the one that was inherited from us.
 */
static bool can_return(void)
{
	gid_t none = unmapped();

	if (all_mapped())
		return true;
	for (size_t i = 0; i < own.n; i++)
		if (own.groups[i] == none)
			return false;
	return own.effective != none && own.gid != none;
}

/* A call that fails changes nothing, so that @now is in force in any case. */
static bool take_groups(const struct owner *o)
{
	if (!same_list(o, &now)) {
		if (setgroups(o->n, o->groups))
			return false;
		now.n = o->n;
		memcpy(now.groups, o->groups, o->n * sizeof(*o->groups));
	}
	if (o->effective != now.effective) {
		if (setegid(o->effective))
			return false;
		now.effective = o->effective;
	}
	return true;
}

/* After take_groups(): setegid() sets the group of files as well. */
static bool take_files(const struct owner *o)
{
	setfsgid(o->gid);
	setfsuid(o->uid);
	/* -1 is no valid ID: these calls only return the present ones */
	return (gid_t)setfsgid(-1) == o->gid && (uid_t)setfsuid(-1) == o->uid;
}

void owner_start(void)
{
	known = is_our_proc() && read_owner(getpid(), &own) &&
		read_owner(getpid(), &now);
	changeable = can_return();
}

bool owner_act_for(pid_t tid)
{
	if (!known || !read_owner(tid, &theirs))
		return false;
	if (!changeable &&
	    (!same_list(&theirs, &own) || theirs.effective != own.effective ||
	     theirs.gid != own.gid))
		return false;
	return take_groups(&theirs) && take_files(&theirs);
}

void owner_act_for_us(void)
{
	if (!known)
		return;
	take_groups(&own);
	take_files(&own);
}
