/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Which sockets become SDP sockets. The only place that knows; called once
 * for each socket(), before anything exists in the kernel.
 */
#ifndef LIBSDP_CHOOSE_H
#define LIBSDP_CHOOSE_H

#include <stdbool.h>

/**
 * struct libsdp_choice - what to ask the kernel for
 * @domain: address family
 * @type: socket type with the flags the program gave
 * @protocol: protocol within @domain
 */
struct libsdp_choice {
	int domain;
	int type;
	int protocol;
};

/**
 * libsdp_choose() - decide for one socket
 * @want: what the program asked for
 * @use: what to open instead; written only when the result is true
 *
 * Must stay callable from signal handlers and before main(): no locks, no
 * allocation, no stdio. Rules read from a file belong behind this function,
 * parsed once into read-only memory by a constructor.
 *
 * Return: true if the socket shall be an SDP socket.
 */
bool libsdp_choose(const struct libsdp_choice *want, struct libsdp_choice *use);

#endif /* LIBSDP_CHOOSE_H */
