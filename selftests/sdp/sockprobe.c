// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sockprobe: observable behaviour of a stream socket, one line
 * "name: result" per observation. Run it on two families and compare.
 *
 *   sockprobe [-f family] [-P protocol] [-h host] [-s section]
 *
 * Sections run in processes of their own: one that hangs or fails its set-up
 * says so in a line and costs only its own rows.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe.h"

#define SECTION_MS 90000

static const struct {
	const char *name;
	void (*run)(void);
} sections[] = {
	{ "poll", probe_poll_states },
	{ "reset", probe_reset },
	{ "close", probe_close },
	{ "connect", probe_connect },
	{ "states", probe_connect_states },
	{ "connecting", probe_connecting },
	{ "connect-signals", probe_connect_signals },
	{ "unreachable", probe_connect_errors },
	{ "listen", probe_listen },
	{ "bind", probe_bind },
	{ "backlog", probe_backlog },
	{ "accept", probe_accept },
	{ "threads", probe_threads },
	{ "recv", probe_recv_flags },
	{ "wait", probe_recv_wait },
	{ "send", probe_send },
	{ "urgent", probe_oob },
	{ "urgent-again", probe_oob_again },
	{ "inline", probe_oob_inline },
	{ "messages", probe_messages },
	{ "signals", probe_signals },
	{ "interrupt", probe_interrupt },
	{ "options", probe_socket_options },
	{ "tcp-options", probe_tcp_options },
	{ "buffers", probe_buffers },
	{ "inherit", probe_inherit },
	{ "ioctl", probe_ioctl },
	{ "splice", probe_splice },
	{ "epoll", probe_epoll },
	{ "descriptors", probe_descriptors },
	{ "addresses", probe_addresses },
	{ "linger", probe_linger },
	{ "corners", probe_corners },
	{ "arguments", probe_bad_arguments },
};

static int run_section(unsigned int i)
{
	unsigned int ms;
	int status = 0;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child) {
		setpgid(0, 0);
		sections[i].run();
		fflush(stdout);
		_exit(0);
	}
	for (ms = 0; ms < SECTION_MS; ms += 10) {
		if (waitpid(child, &status, WNOHANG) == child)
			break;
		sleep_ms(10);
	}
	if (ms < SECTION_MS && WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	if (ms >= SECTION_MS) {
		kill(-child, SIGKILL);
		waitpid(child, &status, 0);
	}
	row("! section ended early", "%s, %s", sections[i].name,
	    ms >= SECTION_MS ? "timed out" : "failed");
	return 1;
}

static int set_host(const char *text)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&target.host.sa;
	struct sockaddr_in *in = (struct sockaddr_in *)&target.host.sa;

	memset(&target.host, 0, sizeof(target.host));
	if (inet_pton(AF_INET, text, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		target.host.len = sizeof(*in);
		return 0;
	}
	if (inet_pton(AF_INET6, text, &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
		target.host.len = sizeof(*in6);
		return 0;
	}
	return -1;
}

static int usage(void)
{
	fprintf(stderr,
		"usage: sockprobe [-f family] [-P protocol] [-h host] [-s section]\n");
	return 2;
}

int main(int argc, char **argv)
{
	const char *only = NULL;
	int opt, bad = 0;
	unsigned int i;

	target.family = AF_INET;
	set_host("127.0.0.1");
	while ((opt = getopt(argc, argv, "f:P:h:s:")) != -1) {
		if (opt == 'f')
			target.family = atoi(optarg);
		else if (opt == 'P')
			target.protocol = atoi(optarg);
		else if (opt == 's')
			only = optarg;
		else if (opt != 'h' || set_host(optarg))
			return usage();
	}
	if (target.host.sa.ss_family == AF_INET6 && target.family == AF_INET)
		target.family = AF_INET6;
	signal(SIGPIPE, SIG_IGN);
	for (i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
		if (!only || !strcmp(only, sections[i].name))
			bad += run_section(i);
	return bad ? 1 : 0;
}
