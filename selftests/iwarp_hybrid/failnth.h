/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * hyb-failnth: which allocation fails, and what is done meanwhile. Each thing
 * that can be done returns 0, an errno, or WRONG.
 */
#ifndef SELFTESTS_IWARP_FAILNTH_H
#define SELFTESTS_IWARP_FAILNTH_H

/* instead of an errno: data, or what is left, are not right */
#define WRONG 10000

/* The @n-th allocation of this thread fails, from here on; 0: none */
void nth_set(int n);
/* How many there are before it, 0: it has failed */
int nth_get(void);

/* On a connection to "sdp-zcopy serve"; its memory is there before */
void zcopy_ready(void);
int zcopy_talk(int fd);

/* On a connection to an echo server: MSG_ZEROCOPY and sendfile; mapped pages */
void sock_ready(void);
int refer_talk(int fd);
int rxmap_talk(int fd);

/* The calls of a listener and of its client, at this address */
int calls_run(const char *host, int nth);

/* An RDMA device of kind hybrid on a net device is made and taken away */
int link_add(const char *name, const char *netdev, int nth);
/* A pair of net devices of kind hnic is made, brought up, taken away */
int link_pair(const char *name, const char *peer, int nth);
/* A pair of net devices goes, while there is an RDMA device on it */
int link_under(const char *name, const char *netdev, int nth);

#endif /* SELFTESTS_IWARP_FAILNTH_H */
