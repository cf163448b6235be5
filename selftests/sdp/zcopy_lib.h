/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Common code of the programs that test zero copy.
 */
#ifndef _ZCOPY_LIB_H
#define _ZCOPY_LIB_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../lib/net.h"

#define PAGE 4096
#define BUF_MAX (4u << 20)

/* Request of a client to "sdp-zcopy serve"; the modes are in zcopy.c */
struct request {
	uint64_t bytes;
	uint32_t size;
	uint32_t offset;
	uint32_t sleep_ms;
	uint32_t gate; /* not before GATE_PATH is there; 0: at once */
	char mode[12];
};

/* A client creates this file for its server, which removes it. */
#define GATE_PATH "/run/sdp-zcopy-gate-%u"

/* New memory, private, or of a file without a name */
unsigned char *map(size_t len, bool file);

/* argv: address, port. Each connection gets a thread, whose argument is the descriptor. */
int serve(char **argv, void *(*serve_one)(void *arg));

#endif
