/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Why a socket with SDP_FALLBACK has become one of TCP, for the log.
 */
#ifndef LIBSDP_WHY_H
#define LIBSDP_WHY_H

#include <stdbool.h>
#include <stddef.h>

/**
 * libsdp_why() - ask the kernel, by sock_diag
 * @fd: socket
 * @word: set to the word that sdpstat shows
 * @size: room there
 *
 * Return: false if the kernel does not say.
 */
bool libsdp_why(int fd, char *word, size_t size);

#endif /* LIBSDP_WHY_H */
