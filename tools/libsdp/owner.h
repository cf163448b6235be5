/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sdp-run -s: the user and the groups that the supervisor opens a socket with.
 */
#ifndef LIBSDP_OWNER_H
#define LIBSDP_OWNER_H

#include <stdbool.h>
#include <sys/types.h>

/**
 * owner_start() - remember the user and the groups of this process
 *
 * Once, before the other calls. If it fails, so does owner_act_for().
 */
void owner_start(void);

/**
 * owner_act_for() - take the user and the groups of a thread, to open a socket for it
 * @tid: the thread, which waits meanwhile
 *
 * A program may have changed users and groups since it was started. Sharing of a port
 * depends on the owner of a socket, firewall rules on its opener, and
 * net.sdp.group_range on the groups of the latter.
 *
 * Return: whether the user and the groups are those of the thread now. If not, nothing
 * may be opened for it. Either way owner_act_for_us() comes next.
 */
bool owner_act_for(pid_t tid);

/**
 * owner_act_for_us() - take our own user and groups again
 *
 * If that fails because the kernel has no memory, the next owner_act_for() still starts
 * from the groups that are in force.
 */
void owner_act_for_us(void);

#endif /* LIBSDP_OWNER_H */
