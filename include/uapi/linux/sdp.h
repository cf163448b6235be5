/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Sockets Direct Protocol: what applications see.
 */
#ifndef _UAPI_LINUX_SDP_H
#define _UAPI_LINUX_SDP_H

/*
 * The number that earlier SDP stacks used. Linux names it AF_IB, but AF_IB is
 * an address format of the RDMA connection manager only: no kernel registers
 * a socket family there.
 */
#ifndef AF_SDP
#define AF_SDP		27
#define PF_SDP		AF_SDP
#endif

/* Third argument of socket(AF_SDP, SOCK_STREAM, protocol). */
#define SDPPROTO_SDP	0	/* IPv4 addresses */
#define SDPPROTO_SDP6	1	/* IPv6 addresses, IPv4-mapped ones included */

/*
 * The same by the Internet families: socket(AF_INET or AF_INET6, SOCK_STREAM,
 * IPPROTO_SDP). SO_DOMAIN is that family then.
 */
#ifndef IPPROTO_SDP
#define IPPROTO_SDP	257
#endif

/* Level of the socket options below, outside of every SOL_* in use. */
#define SOL_SDP		1027

/*
 * SO_REUSEPORT is refused at SOL_SOCKET for every family but the Internet ones,
 * so it has a place of its own here. Values are int where nothing else is said.
 */
#define SDP_REUSEPORT	1	/* get/set: as SO_REUSEPORT */
#define SDP_LAST_CREDITS	2	/* get: credits held towards the peer */
#define SDP_DEVICE	3	/* get: name of the RDMA device, a string */
#define SDP_SHARED_LINK	4	/* get/set: 0 keeps connections made from now on
				 * from sharing buffers with the RDMA device
				 */
#define SDP_FLOW_CONTROL 5	/* get/set: a value below, for connections
				 * made from now on; a peer or a device
				 * that cannot gets the next one
				 */
#define SDP_ZCOPY	6	/* get/set: octets of a send or receive from
				 * which it is done without a copy; 0: never
				 */

/* Values of SDP_FLOW_CONTROL. */
#define SDP_FLOW_DEFAULT	0	/* as net.sdp.flow_control says */
#define SDP_FLOW_AUTO		1	/* TRANSPORT where it can be, else CREDIT;
					 * on accepting what the peer asks for
					 */
#define SDP_FLOW_CREDIT		2	/* the standard's credits */
#define SDP_FLOW_RDMA		3	/* the sender manages a ring at the peer */
#define SDP_FLOW_VWIN		4	/* the RDMA device holds back messages */
#define SDP_FLOW_TRANSPORT	5	/* shared buffers; the transport's own */

#define SDP_FALLBACK	32	/* get/set: TCP where SDP fails, SDP_FALLBACK_* */

/* Values of SDP_FALLBACK. */
#define SDP_FALLBACK_NONE	0	/* SDP or nothing */
#define SDP_FALLBACK_TCP	1	/* connect: SDP, then TCP; listen: both */
#define SDP_FALLBACK_ONLY	2	/* a TCP socket from now on */

#endif /* _UAPI_LINUX_SDP_H */
