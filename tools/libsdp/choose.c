// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * libsdp, decision layer: turns the arguments of socket() into those of an
 * SDP socket. Calls nothing. Every TCP socket is taken: rules by program,
 * address and port, and the fall back to TCP, would be decided here.
 */
#include <netinet/in.h>
#include <sys/socket.h>

#include <linux/sdp.h>

#include "choose.h"

static bool is_tcp(const struct libsdp_choice *want)
{
	/* SOCK_NONBLOCK and SOCK_CLOEXEC share the argument with the type */
	if ((want->type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) != SOCK_STREAM)
		return false;
	return want->protocol == 0 || want->protocol == IPPROTO_TCP;
}

bool libsdp_choose(const struct libsdp_choice *want, struct libsdp_choice *use)
{
	if (!is_tcp(want))
		return false;

	switch (want->domain) {
	case AF_INET:
		use->protocol = SDPPROTO_SDP;
		break;
	case AF_INET6:
		use->protocol = SDPPROTO_SDP6;
		break;
	default:
		return false;
	}
	use->domain = AF_SDP;
	use->type = want->type;
	return true;
}
