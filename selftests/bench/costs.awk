# SPDX-License-Identifier: GPL-2.0
# After counters.awk: one row of the part "costs", see costs.sh. All figures are per
# byte of payload that b sent to a, but those that end in _per_msg.

function add(name, value) { text = text sprintf(",\"%s\":%.6g", name, value) }

function nic(end, name) { return d[end, "nic_" name "_bytes"] }

END {
	bytes = d["b", "sdp_tx_bytes"]
	msgs = bytes / size
	text = ""
	if (msgs < 1)
		exit
	add("sdp_copy_tx", d["b", "sdp_tx_copy_bytes"] / bytes)
	add("sdp_copy_rx", (d["a", "sdp_rx_copy_bytes"] + d["a", "sdp_rx_merged_bytes"]) / bytes)
	add("iwarp_copy_tx", d["b", "hyb_tx_copy_bytes"] / bytes)
	add("iwarp_copy_rx", d["a", "hyb_rx_copy_bytes"] / bytes)
	add("crc_tx", d["b", "hyb_tx_crc_bytes"] / bytes)
	add("crc_rx", d["a", "hyb_rx_crc_bytes"] / bytes)
	add("wire_bytes", d["b", "hyb_tx_bytes"] / bytes)
	add("nic_crc_tx", nic("b", "tx_engine_crc") / bytes)
	add("nic_dma_tx", nic("b", "tx_engine_dma") / bytes)
	add("nic_touch_tx", (nic("b", "tx_engine_dma") + nic("b", "tx_engine_move_read") + \
		nic("b", "tx_engine_move_write") + nic("b", "tx_engine_crc") + \
		nic("b", "tx_engine_send")) / bytes)
	add("dma_ops_per_msg", d["b", "nic_tx_engine_dma_ops"] / msgs)
	add("dma_marker_ops_per_msg", d["b", "nic_tx_engine_dma_marker_ops"] / msgs)
	add("packets_per_msg", d["b", "nic_tx_engine_packets"] / msgs)
	add("fpdus_per_msg", d["b", "hyb_tx_fpdus"] / msgs)
	add("sdp_msgs_per_msg", d["b", "sdp_tx_data_msgs"] / msgs)
	add("wakeups_rx_per_msg", d["a", "sdp_wakeups_rx"] / msgs)
	printf "BENCH {\"part\":\"costs\",\"link\":\"%s\",\"what\":\"%s\"," \
		"\"mtu\":%d,\"interval\":\"%s\",\"size\":%d%s}\n",
		link, transport, mtu, interval, size, text
}
