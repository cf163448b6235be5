/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Messages of the library, to the place that the rules choose. Without rules
 * for it only errors are printed, to standard error.
 */
#ifndef LIBSDP_LOG_H
#define LIBSDP_LOG_H

#include <stdbool.h>
#include <sys/socket.h>

#include "rules.h"

#define LIBSDP_ADDR_TEXT 64

/* Whether a message of this level is written. */
bool libsdp_logs(const struct libsdp_rules *rules, int level);

/**
 * libsdp_log() - write a line
 * @rules: which say where to
 * @level: LIBSDP_LOG_*
 * @fmt: as printf()
 *
 * Leaves errno alone, and no descriptor open.
 */
__attribute__((format(printf, 3, 4))) void
libsdp_log(const struct libsdp_rules *rules, int level, const char *fmt, ...);

/* An address as ADDRESS:PORT. */
void libsdp_addr_text(const struct sockaddr *addr, char text[LIBSDP_ADDR_TEXT]);

/**
 * libsdp_log_check() - whether the file of a log may be written to
 * @path: absolute path
 * @why: set to half a sentence if not
 *
 * Makes the file if it is not there.
 *
 * Return: true if it may.
 */
bool libsdp_log_check(const char *path, const char **why);

#endif /* LIBSDP_LOG_H */
