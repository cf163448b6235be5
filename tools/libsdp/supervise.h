/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * SDP sockets for programs that call the kernel themselves.
 */
#ifndef LIBSDP_SUPERVISE_H
#define LIBSDP_SUPERVISE_H

#include <stdbool.h>

/**
 * supervise() - from now on this process gets SDP sockets where it asks for TCP
 * @tcp_too: they become TCP sockets where SDP is not available, as SDP_FALLBACK
 * @why: set to what is in the way, a sentence without its end; errno may say
 *       more
 *
 * All processes that it starts get them as well. To be followed by exec.
 *
 * Return: false if that is not possible.
 */
bool supervise(bool tcp_too, const char **why);

#endif /* LIBSDP_SUPERVISE_H */
