// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * hyb-failnth: large transfers with "sdp-zcopy serve", without copies where both
 * ends are set to that: once the peer reads our memory, twice it sends from its own.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "../sdp/zcopy_lib.h"
#include "failnth.h"

#define LARGE 131072
#define WAIT_MS 20 /* of a server, so that we are waiting when it sends */

static unsigned char *memory;

void zcopy_ready(void)
{
	if (!memory)
		memory = map(LARGE, false);
	memset(memory, 0, LARGE);
}

/* An end of the stream is an error, too. */
static int receive_all(int fd, void *p, size_t len)
{
	return net_recv_all(fd, p, len) ? 0 : errno ?: ECONNRESET;
}

static int send_all(int fd, const void *p, size_t len)
{
	return net_send_all(fd, p, len, MSG_NOSIGNAL) ? 0 : errno;
}

static int ask_for(int fd, const char *mode, unsigned int ms)
{
	struct request r = { .bytes = LARGE, .size = LARGE, .sleep_ms = ms };

	memcpy(r.mode, mode, strlen(mode));
	return send_all(fd, &r, sizeof(r));
}

/* It reads from our memory. */
static int send_large(int fd)
{
	uint64_t got = 0;
	int err;

	err = ask_for(fd, "waitall", 0);
	net_fill(memory, LARGE, 0);
	if (!err)
		err = send_all(fd, memory, LARGE);
	memset(memory, 0, LARGE);
	if (!err)
		err = receive_all(fd, &got, sizeof(got));
	return !err && got != LARGE ? WRONG : err;
}

/* It writes to our memory, when it knows that we can have that; else we read. */
static int receive_large(int fd)
{
	int err = ask_for(fd, "source", WAIT_MS);

	memset(memory, 0, LARGE);
	if (!err)
		err = receive_all(fd, memory, LARGE);
	return !err && !net_good(memory, LARGE, 0) ? WRONG : err;
}

int zcopy_talk(int fd)
{
	int err = send_large(fd);

	if (!err)
		err = receive_large(fd);
	return err ? err : receive_large(fd);
}
