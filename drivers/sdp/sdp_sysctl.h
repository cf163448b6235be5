/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SDP tunables: net.sdp.* of one network namespace.
 *
 * The socket layer copies what a socket may change later (buffer sizes,
 * keepalive, timeouts) when the socket is created; the connection manager
 * reads the rest when a connection is set up. So a new value is good for new
 * sockets and connections and never changes a running one. Readers use
 * READ_ONCE(): a value can change at any time.
 */
#ifndef _SDP_SYSCTL_H
#define _SDP_SYSCTL_H

struct net;

/* Limits of one SDP message buffer (BSDH included) and of their number. */
#define SDP_RECV_SIZE_MIN	256
#define SDP_RECV_SIZE_MAX	32768
#define SDP_RECV_SIZE_DEF	32768
/* Below three receive buffers no data would ever flow: see sdp_fc_credit.c. */
#define SDP_RECV_BUFS_MIN	3
#define SDP_RECV_BUFS_MAX	1024
#define SDP_RECV_BUFS_DEF	16

#define SDP_WMEM_DEF		(512 * 1024)
#define SDP_RMEM_DEF		(1024 * 1024)

/* The ranges of the socket options of the same meaning, in seconds. */
#define SDP_KEEPIDLE_DEF	7200
#define SDP_KEEPINTVL_DEF	75
#define SDP_KEEPCNT_DEF		9
#define SDP_CONNECT_TIMEOUT_DEF	30
#define SDP_FIN_TIMEOUT_DEF	60
#define SDP_TIMEOUT_MAX		3600
#define SDP_KEEPALIVE_MAX	32767
#define SDP_KEEPCNT_MAX		127

/**
 * struct sdp_tunables - values of net.sdp.* in one namespace
 * @wmem: default send buffer size in bytes, see SO_SNDBUF
 * @rmem: default receive buffer size in bytes, see SO_RCVBUF
 * @recv_size: size of one receive buffer, i.e. of the largest message a peer
 *	may send; announced in Hello and HelloAck
 * @recv_buffers: receive buffers posted at a time, i.e. credits of the peer
 * @connect_timeout: seconds connect() waits for the peer
 * @fin_timeout: seconds a closed socket waits for the peer to close, too
 * @keepalive_time: seconds of silence before the first probe
 * @keepalive_intvl: seconds between probes
 * @keepalive_probes: unanswered probes that end the connection
 */
struct sdp_tunables {
	int	wmem;
	int	rmem;
	int	recv_size;
	int	recv_buffers;
	int	connect_timeout;
	int	fin_timeout;
	int	keepalive_time;
	int	keepalive_intvl;
	int	keepalive_probes;
};

int sdp_sysctl_net_init(struct net *net);
void sdp_sysctl_net_exit(struct net *net);

#endif /* _SDP_SYSCTL_H */
