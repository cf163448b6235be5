// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Programs that the dynamic linker preloads no library into: static ones, and those
 * that get privileges. Used by sdp-run and its part for units; reads files.
 */
#include <elf.h>
#include <endian.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <linux/capability.h>

#include "program.h"

bool program_is_static(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool interp = false, ok = false;
	Elf64_Ehdr eh;
	Elf64_Phdr ph;

	if (fd < 0)
		return false;
	if (pread(fd, &eh, sizeof(eh), 0) != sizeof(eh) ||
	    memcmp(eh.e_ident, ELFMAG, SELFMAG) ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_phentsize != sizeof(ph))
		goto out;

	for (int i = 0; i < eh.e_phnum && !interp; i++) {
		if (pread(fd, &ph, sizeof(ph), eh.e_phoff + i * sizeof(ph)) !=
		    sizeof(ph))
			goto out;
		interp = ph.p_type == PT_INTERP;
	}
	ok = true;
out:
	close(fd);
	return ok && !interp;
}

/* Does a file give capabilities to users other than root? */
static bool has_capabilities(const char *path)
{
	struct vfs_ns_cap_data cap = {};

	if (getxattr(path, "security.capability", &cap, sizeof(cap)) <
	    (ssize_t)XATTR_CAPS_SZ_1)
		return false;
	return (le32toh(cap.magic_etc) & VFS_CAP_FLAGS_EFFECTIVE) ||
	       cap.data[0].permitted || cap.data[1].permitted;
}

/* As the dynamic linker checks it. A change to the same user does not count. */
const char *program_privileges(const char *path, uid_t uid, gid_t gid)
{
	const mode_t setgid = S_ISGID | 0010;
	struct statvfs fs;
	struct stat st;

	if (stat(path, &st) || (!statvfs(path, &fs) && (fs.f_flag & ST_NOSUID)))
		return NULL;
	if ((st.st_mode & S_ISUID) && st.st_uid != uid)
		return "is set-user-ID";
	if ((st.st_mode & setgid) == setgid && st.st_gid != gid)
		return "is set-group-ID";
	if (uid && has_capabilities(path))
		return "has file capabilities";
	return NULL;
}
