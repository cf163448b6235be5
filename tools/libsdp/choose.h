/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Which sockets become SDP sockets, and what they do where SDP is not available.
 * The only place that knows. The rules are read when they are first needed, by
 * a constructor at the latest, and never change. From then on all is callable
 * from signal handlers: no locks, no malloc(), no streams of stdio.
 */
#ifndef LIBSDP_CHOOSE_H
#define LIBSDP_CHOOSE_H

#include <stdbool.h>
#include <sys/socket.h>

#include "rules.h"

/**
 * struct libsdp_choice - arguments of socket()
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
 * @want: the socket that the program asked for
 * @use: the socket to open instead; written only when the result is true
 *
 * Return: true if the socket is to be an SDP socket.
 */
bool libsdp_choose(const struct libsdp_choice *want, struct libsdp_choice *use);

/**
 * libsdp_may_be_tcp() - whether the rules know anything but SDP
 *
 * If they do not, sockets need no more decisions.
 */
bool libsdp_may_be_tcp(void);

/**
 * libsdp_asks() - whether connect() and listen() have something to decide or to log
 *
 * If not, the kernel knows what to do since socket().
 */
bool libsdp_asks(void);

/**
 * libsdp_decide() - decide for an address
 * @role: connect() or listen()
 * @addr: of the peer, or the own one
 *
 * Return: the protocols to use.
 */
enum libsdp_use libsdp_decide(enum libsdp_role role,
			      const struct sockaddr *addr);

/**
 * libsdp_tell() - write a decision to the log, if it is wanted there
 * @role: connect() or listen()
 * @addr: of the peer, or the own one
 */
void libsdp_tell(enum libsdp_role role, const struct sockaddr *addr);

/**
 * libsdp_tell_end() - write to the log how a blocking connect(), or listen(), ended
 * @role: connect() or listen()
 * @addr: of the peer, or the own one
 * @fd: the socket
 * @sdp: it is an SDP socket; nothing is written about a listener that is one, as it takes
 *	 connections of both
 */
void libsdp_tell_end(enum libsdp_role role, const struct sockaddr *addr, int fd,
		     bool sdp);

/**
 * libsdp_tell_none() - write to the log that a socket is one of TCP, as the program cannot
 *			have another
 * @err: error of socket(); the one that was written last is not repeated
 */
void libsdp_tell_none(int err);

#endif /* LIBSDP_CHOOSE_H */
