/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A sentence of sdp-run to its user, on standard error.
 */
#ifndef LIBSDP_SAY_H
#define LIBSDP_SAY_H

/* As printf(), with the name of the program before the text and a line feed after it */
__attribute__((format(printf, 1, 2))) void say(const char *fmt, ...);

#endif /* LIBSDP_SAY_H */
