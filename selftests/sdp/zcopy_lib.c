// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Common code of the programs that test zero copy, see zcopy_lib.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/sdp.h>

#include "../lib/net.h"
#include "zcopy_lib.h"

unsigned char *map(size_t len, bool file)
{
	int f = -1, flags = MAP_PRIVATE | MAP_ANONYMOUS, tries = 0;
	void *p;

	if (file) {
		f = open("/tmp", O_TMPFILE | O_RDWR, 0600);
		if (f < 0 || ftruncate(f, len))
			net_fail("file");
		flags = MAP_SHARED;
	}
	/* allocations of the kernel may be made to fail, now and then */
	do {
		p = mmap(NULL, len, PROT_READ | PROT_WRITE, flags, f, 0);
	} while (p == MAP_FAILED && errno == ENOMEM && tries++ < 20);
	if (p == MAP_FAILED)
		net_fail("mmap");
	if (f >= 0)
		close(f);
	return p;
}

int serve(char **argv, void *(*serve_one)(void *arg))
{
	int l = net_socket(AF_SDP);
	struct sockaddr_in sin;

	net_address4(&sin, argv[0], argv[1]);
	net_listen4(l, &sin, 16);
	net_serve(l, 0, serve_one);
	return 1;
}
