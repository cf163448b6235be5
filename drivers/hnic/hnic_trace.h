/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints hnic:*, of hnic_main.c (hnic_state), hnic_conn.c and hnic_place.c. "seq" is a
 * sequence number of TCP. hnic_conn_* show addresses and ports of a connection, the
 * local ones first; all others of a connection only its ports: the local one, the remote one.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM hnic

#if !defined(_HNIC_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _HNIC_TRACE_H

#include <linux/netdevice.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <net/ipv6.h>
#include <rdma/iwarp_offload.h>

/* For programs that decode the binary format: values of the names below */
TRACE_DEFINE_ENUM(IWARP_LAYOUT_FINAL);
TRACE_DEFINE_ENUM(IWARP_LAYOUT_CONTIG);

/* Names as in "ethtool --show-priv-flags", without "iwarp-" */
#define hnic_trace_features(features)					\
	__print_flags(features, "|",					\
		      { BIT(IWARP_OFFLOAD_TX_CRC), "tx-crc" },		\
		      { BIT(IWARP_OFFLOAD_RX_CRC), "rx-crc" },		\
		      { BIT(IWARP_OFFLOAD_RX_DEMUX), "rx-demux" },	\
		      { BIT(IWARP_OFFLOAD_TX_CONTIG), "tx-contig" },	\
		      { BIT(IWARP_OFFLOAD_TX_SG), "tx-sg" },		\
		      { BIT(IWARP_OFFLOAD_RX_PLACE), "rx-place" })

TRACE_DEFINE_ENUM(IWARP_OFFLOAD_TX_CRC);
TRACE_DEFINE_ENUM(IWARP_OFFLOAD_RX_CRC);
TRACE_DEFINE_ENUM(IWARP_OFFLOAD_RX_DEMUX);
TRACE_DEFINE_ENUM(IWARP_OFFLOAD_TX_CONTIG);
TRACE_DEFINE_ENUM(IWARP_OFFLOAD_TX_SG);
TRACE_DEFINE_ENUM(IWARP_OFFLOAD_RX_PLACE);

/* A device was opened or stopped */
TRACE_EVENT(hnic_state,
	TP_PROTO(const struct net_device *netdev, bool up),
	TP_ARGS(netdev, up),
	TP_STRUCT__entry(
		__array(char, dev, IFNAMSIZ)
		__field(bool, up)
	),
	TP_fast_assign(
		strscpy(__entry->dev, netdev->name, IFNAMSIZ);
		__entry->up = up;
	),
	TP_printk("dev=%s %s", __entry->dev, __entry->up ? "up" : "down")
);

/* A connection that a provider adds or deletes, and the features it has then */
DECLARE_EVENT_CLASS(hnic_conn,
	TP_PROTO(const struct iwarp_offload_conn *conn),
	TP_ARGS(conn),
	TP_STRUCT__entry(
		__array(char, dev, IFNAMSIZ)
		__array(u8, saddr, 16)
		__array(u8, daddr, 16)
		__field(u16, sport)
		__field(u16, dport)
		__field(u32, features)
		__field(int, queue)
	),
	TP_fast_assign(
		struct in6_addr *src = (struct in6_addr *)__entry->saddr;
		struct in6_addr *dst = (struct in6_addr *)__entry->daddr;

		strscpy(__entry->dev, conn->netdev->name, IFNAMSIZ);
		if (conn->family == AF_INET) {
			ipv6_addr_set_v4mapped(conn->saddr.s6_addr32[0], src);
			ipv6_addr_set_v4mapped(conn->daddr.s6_addr32[0], dst);
		} else {
			*src = conn->saddr;
			*dst = conn->daddr;
		}
		__entry->sport = be16_to_cpu(conn->sport);
		__entry->dport = be16_to_cpu(conn->dport);
		__entry->features = READ_ONCE(conn->features);
		__entry->queue = conn->queue;
	),
	TP_printk("dev=%s [%pI6c]:%u -> [%pI6c]:%u features=%s queue=%d",
		  __entry->dev, __entry->saddr, __entry->sport, __entry->daddr,
		  __entry->dport, hnic_trace_features(__entry->features),
		  __entry->queue)
);

DEFINE_EVENT(hnic_conn, hnic_conn_add,
	TP_PROTO(const struct iwarp_offload_conn *conn),
	TP_ARGS(conn));

DEFINE_EVENT(hnic_conn, hnic_conn_del,
	TP_PROTO(const struct iwarp_offload_conn *conn),
	TP_ARGS(conn));

/* The TX engine has finished an FPDU of @len bytes at sequence number @seq */
TRACE_EVENT(hnic_fpdu_tx,
	TP_PROTO(const struct iwarp_offload_conn *conn, u32 seq, u32 len, u8 layout),
	TP_ARGS(conn, seq, len, layout),
	TP_STRUCT__entry(
		__array(char, dev, IFNAMSIZ)
		__field(u16, sport)
		__field(u16, dport)
		__field(u32, seq)
		__field(u32, len)
		__field(u8, layout)
	),
	TP_fast_assign(
		strscpy(__entry->dev, conn->netdev->name, IFNAMSIZ);
		__entry->sport = be16_to_cpu(conn->sport);
		__entry->dport = be16_to_cpu(conn->dport);
		__entry->seq = seq;
		__entry->len = len;
		__entry->layout = layout;
	),
	TP_printk("dev=%s ports=%u,%u seq=%u len=%u layout=%s", __entry->dev,
		  __entry->sport, __entry->dport, __entry->seq, __entry->len,
		  __print_symbolic(__entry->layout,
				   { IWARP_LAYOUT_FINAL, "final" },
				   { IWARP_LAYOUT_CONTIG, "contig" }))
);

/*
 * The verdict that the host gets on a packet with @len bytes of payload: all FPDUs in
 * it are good, or none, so that software checks them
 */
TRACE_EVENT(hnic_fpdu_rx,
	TP_PROTO(const struct iwarp_offload_conn *conn, u32 seq, u32 len, bool good),
	TP_ARGS(conn, seq, len, good),
	TP_STRUCT__entry(
		__array(char, dev, IFNAMSIZ)
		__field(u16, sport)
		__field(u16, dport)
		__field(u32, seq)
		__field(u32, len)
		__field(bool, good)
	),
	TP_fast_assign(
		strscpy(__entry->dev, conn->netdev->name, IFNAMSIZ);
		__entry->sport = be16_to_cpu(conn->sport);
		__entry->dport = be16_to_cpu(conn->dport);
		__entry->seq = seq;
		__entry->len = len;
		__entry->good = good;
	),
	TP_printk("dev=%s ports=%u,%u seq=%u len=%u verdict=%s", __entry->dev,
		  __entry->sport, __entry->dport, __entry->seq, __entry->len,
		  __entry->good ? "good" : "none")
);

DECLARE_EVENT_CLASS(hnic_seq,
	TP_PROTO(const struct iwarp_offload_conn *conn, u32 seq),
	TP_ARGS(conn, seq),
	TP_STRUCT__entry(
		__array(char, dev, IFNAMSIZ)
		__field(u16, sport)
		__field(u16, dport)
		__field(u32, seq)
	),
	TP_fast_assign(
		strscpy(__entry->dev, conn->netdev->name, IFNAMSIZ);
		__entry->sport = be16_to_cpu(conn->sport);
		__entry->dport = be16_to_cpu(conn->dport);
		__entry->seq = seq;
	),
	TP_printk("dev=%s ports=%u,%u seq=%u", __entry->dev, __entry->sport,
		  __entry->dport, __entry->seq)
);

/*
 * The RX engine does not know, from @seq on, where FPDUs begin, or what TCP has got
 * (placement). It asks the provider.
 */
DEFINE_EVENT(hnic_seq, hnic_rx_lost,
	TP_PROTO(const struct iwarp_offload_conn *conn, u32 seq),
	TP_ARGS(conn, seq));

/* The provider's answer: an FPDU begins at @seq */
DEFINE_EVENT(hnic_seq, hnic_rx_resync,
	TP_PROTO(const struct iwarp_offload_conn *conn, u32 seq),
	TP_ARGS(conn, seq));

/* Payload of a tagged segment, @len bytes for offset @to of @stag, is placed or not */
TRACE_EVENT(hnic_place,
	TP_PROTO(const struct iwarp_offload_conn *conn, u32 stag, u64 to, u32 len,
		 bool placed),
	TP_ARGS(conn, stag, to, len, placed),
	TP_STRUCT__entry(
		__array(char, dev, IFNAMSIZ)
		__field(u16, sport)
		__field(u16, dport)
		__field(u32, stag)
		__field(u64, to)
		__field(u32, len)
		__field(bool, placed)
	),
	TP_fast_assign(
		strscpy(__entry->dev, conn->netdev->name, IFNAMSIZ);
		__entry->sport = be16_to_cpu(conn->sport);
		__entry->dport = be16_to_cpu(conn->dport);
		__entry->stag = stag;
		__entry->to = to;
		__entry->len = len;
		__entry->placed = placed;
	),
	TP_printk("dev=%s ports=%u,%u stag=%#x to=%#llx len=%u %s", __entry->dev,
		  __entry->sport, __entry->dport, __entry->stag, __entry->to,
		  __entry->len, __entry->placed ? "placed" : "missed")
);

#endif /* _HNIC_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE hnic_trace
#include <trace/define_trace.h>
