// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * hyb-failnth: more uses of a socket, with an echo server: sends by reference to memory
 * (MSG_ZEROCOPY, sendfile), and a mapping of received pages.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/sdp.h>

#include "../sdp/zcopy_lib.h"
#include "failnth.h"

#define BYTES 65536

static unsigned char *out, *in;
static int file = -1;

void sock_ready(void)
{
	if (file < 0) {
		out = map(BYTES, false);
		in = map(BYTES, false);
		net_fill(out, BYTES, 0);
		file = memfd_create("failnth", MFD_CLOEXEC);
		if (write(file, out, BYTES) != BYTES)
			file = -1;
	}
	memset(in, 0, BYTES);
}

/* Check that the data that comes back is the data sent. */
static int returned(int fd)
{
	size_t pos;
	ssize_t n;

	for (pos = 0; pos < BYTES; pos += n) {
		n = recv(fd, in + pos, BYTES - pos, 0);
		if (n <= 0)
			return n ? errno : ECONNRESET;
	}
	return net_good(in, BYTES, 0) ? 0 : WRONG;
}

/* Take the notifications that are there; their number does not matter. */
static void notified(int fd)
{
	char ctl[256];
	struct msghdr m;

	do {
		memset(&m, 0, sizeof(m));
		m.msg_control = ctl;
		m.msg_controllen = sizeof(ctl);
	} while (recvmsg(fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0);
}

int refer_talk(int fd)
{
	int on = 1, err;
	off_t off = 0;
	size_t pos;
	ssize_t n;

	if (setsockopt(fd, SOL_SDP, SDP_ZEROCOPY, &on, sizeof(on)))
		return errno;
	for (pos = 0; pos < BYTES; pos += n) {
		n = send(fd, out + pos, BYTES - pos,
			 MSG_NOSIGNAL | MSG_ZEROCOPY);
		if (n <= 0)
			return errno;
	}
	err = returned(fd);
	notified(fd);
	if (err)
		return err;
	while (off < BYTES)
		if (sendfile(fd, file, &off, BYTES - off) <= 0)
			return errno;
	return returned(fd);
}

/* Queued data: mapped, as far as that is possible, or read. Bytes, or -1. */
static ssize_t receive_mapped(int fd, unsigned char *win, size_t room)
{
	struct sdp_zerocopy_receive z = {
		.address = (uintptr_t)win,
		.length = room,
	};
	socklen_t len = sizeof(z);

	if (getsockopt(fd, SOL_SDP, SDP_ZEROCOPY_RECEIVE, &z, &len))
		return -1;
	if (!z.length)
		return recv(fd, in, z.recv_skip_hint ? z.recv_skip_hint : room,
			    0);
	memcpy(in, win, z.length);
	return z.length;
}

int rxmap_talk(int fd)
{
	unsigned char *win;
	ssize_t n = 0;
	size_t pos;
	int err = 0;

	for (pos = 0; pos < BYTES; pos += n) {
		n = send(fd, out + pos, BYTES - pos, MSG_NOSIGNAL);
		if (n <= 0)
			return errno;
	}
	win = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0);
	if (win == MAP_FAILED)
		return errno;
	for (pos = 0; !err && pos < BYTES; pos += n) {
		n = receive_mapped(fd, win, BYTES - pos);
		if (n <= 0)
			err = n ? errno : ECONNRESET;
		else if (memcmp(in, out + pos, n))
			err = WRONG;
	}
	munmap(win, BYTES);
	return err;
}
