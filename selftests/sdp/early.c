// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdp-early.so: a library that connects before the program begins, and before
 * what was preloaded before it: to address EARLY_HOST, port EARLY_PORT.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static __attribute__((constructor)) void early(void)
{
	const char *host = getenv("EARLY_HOST"), *port = getenv("EARLY_PORT");
	struct sockaddr_in sa = { .sin_family = AF_INET };
	int fd;

	if (!host || !port || inet_pton(AF_INET, host, &sa.sin_addr) != 1)
		return;
	sa.sin_port = htons(atoi(port));
	fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&sa, sizeof(sa)))
		perror("early");
	else
		fprintf(stderr, "early: connected\n");
	if (fd >= 0)
		close(fd);
}
