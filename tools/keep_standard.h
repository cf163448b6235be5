/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* For programs that open sockets and print, or are started without a terminal. */
#ifndef KEEP_STANDARD_H
#define KEEP_STANDARD_H

#include <fcntl.h>
#include <unistd.h>

/*
 * A socket that takes the place of a closed standard descriptor would get our output.
 * So closed ones become /dev/null, open for reading only: writing fails as before.
 */
static inline void keep_standard(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

#endif
