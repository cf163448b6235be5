// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sdp-echo: server and client of one echo, on any family.
 *
 *   sdp-echo -s -h ADDRESS -p PORT [-f FAMILY]
 *   sdp-echo -h ADDRESS -p PORT [-f FAMILY]   one echo every 20 ms until
 *        SIGTERM; fails if one is not right
 *   sdp-echo -r -h ADDRESS -p PORT [-f FAMILY]   connects, then returns what
 *        comes, to the end
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../lib/net.h"

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static void *serve(void *arg)
{
	int fd = (int)(long)arg;
	char buf[16384];
	ssize_t n;

	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0)
		if (send(fd, buf, n, MSG_NOSIGNAL) != n)
			break;
	close(fd);
	return NULL;
}

static int server(int l, const struct sockaddr_in *sa)
{
	if (net_listen(l, sa, sizeof(*sa), 128)) {
		perror("sdp-echo: listen");
		return 2;
	}
	printf("sdp-echo: listening\n");
	fflush(stdout);
	net_serve(l, 65536, serve);
	perror("sdp-echo: accept");
	return 2;
}

static int client(int fd, const struct sockaddr_in *sa)
{
	char out[256], in[256];
	int n, i;

	if (connect(fd, (const struct sockaddr *)sa, sizeof(*sa))) {
		perror("sdp-echo: connect");
		return 2;
	}
	printf("sdp-echo: connected\n");
	fflush(stdout);
	for (n = 0; !stop; n++) {
		for (i = 0; i < (int)sizeof(out); i++)
			out[i] = n * 5 + i;
		if (send(fd, out, sizeof(out), MSG_NOSIGNAL) != sizeof(out) ||
		    recv(fd, in, sizeof(in), MSG_WAITALL) != sizeof(in) ||
		    memcmp(in, out, sizeof(out))) {
			if (stop)
				break;
			printf("sdp-echo: echo %d: %s\n", n, strerror(errno));
			return 1;
		}
		usleep(20000);
	}
	printf("sdp-echo: %d echoes\n", n);
	close(fd);
	return 0;
}

/* A client by its connection only */
static int returner(int fd, const struct sockaddr_in *sa)
{
	if (connect(fd, (const struct sockaddr *)sa, sizeof(*sa))) {
		perror("sdp-echo: connect");
		return 2;
	}
	printf("sdp-echo: connected\n");
	serve((void *)(long)fd);
	return 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	struct sigaction act = { .sa_handler = on_signal,
				 .sa_flags = SA_RESTART };
	int c, fd, family = 27;
	bool srv = false, ret = false;

	while ((c = getopt(argc, argv, "srh:p:f:")) != -1) {
		if (c == 's')
			srv = true;
		else if (c == 'r')
			ret = true;
		else if (c == 'p')
			sa.sin_port = htons(atoi(optarg));
		else if (c == 'f')
			family = atoi(optarg);
		else if (c != 'h' ||
			 inet_pton(AF_INET, optarg, &sa.sin_addr) != 1)
			return 2;
	}
	sigaction(SIGTERM, &act, NULL);
	fd = socket(family, SOCK_STREAM, 0);
	if (fd < 0) {
		perror("sdp-echo: socket");
		return 2;
	}
	if (ret)
		return returner(fd, &sa);
	return srv ? server(fd, &sa) : client(fd, &sa);
}
