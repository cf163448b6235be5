/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Programs that the dynamic linker preloads no library into.
 */
#ifndef LIBSDP_PROGRAM_H
#define LIBSDP_PROGRAM_H

#include <stdbool.h>
#include <sys/types.h>

/**
 * program_is_static() - has a program no dynamic linker?
 * @path: of the program
 *
 * Return: true if it is certainly such an ELF program.
 */
bool program_is_static(const char *path);

/**
 * program_privileges() - does the dynamic linker ignore LD_PRELOAD for a program?
 * @path: of the program
 * @uid: user that runs it
 * @gid: group that runs it
 *
 * Return: the property for which the kernel sets AT_SECURE, in the words of a message;
 * NULL for none.
 */
const char *program_privileges(const char *path, uid_t uid, gid_t gid);

#endif /* LIBSDP_PROGRAM_H */
