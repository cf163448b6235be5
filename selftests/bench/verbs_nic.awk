# SPDX-License-Identifier: GPL-2.0
# After counters.awk: one row of the part "verbs" over the simulated NIC, see
# verbs_nic.sh. -v head=FIELDS, test, op, size, count (requests), ns.

function nic(end, name) { return d[end, "nic_" name "_bytes"] }

function add(name, value)
{
	text = text sprintf("%s\"%s\":%.6g", text == "" ? "" : ",", name, value / msgs)
}

END {
	tx = op == "read" ? "b" : "a"
	rx = op == "read" ? "a" : "b"
	both = test == "bibw" || test == "bilat"
	# there and back are two messages, of which each end sends one
	there = test == "lat" || test == "poll" || test == "event"
	bytes = size * count * (both || there ? 2 : 1)
	msgs = count
	text = ""
	add("copy_tx_bytes", d[tx, "hyb_tx_copy_bytes"])
	add("copy_rx_bytes", d[rx, "hyb_rx_copy_bytes"])
	add("crc_tx_bytes", d[tx, "hyb_tx_crc_bytes"])
	add("crc_rx_bytes", d[rx, "hyb_rx_crc_bytes"])
	add("dma_tx_ops", d[tx, "nic_tx_engine_dma_ops"])
	add("dma_marker_ops", d[tx, "nic_tx_engine_dma_marker_ops"])
	add("dma_rx_ops", d[rx, "nic_rx_engine_dma_ops"])
	add("dma_tx_bytes", nic(tx, "tx_engine_dma"))
	add("dma_rx_bytes", nic(rx, "rx_engine_dma"))
	add("nic_crc_tx_bytes", nic(tx, "tx_engine_crc"))
	add("nic_crc_rx_bytes", nic(rx, "rx_engine_crc"))
	add("touch_tx_bytes", nic(tx, "tx_engine_dma") + nic(tx, "tx_engine_move_read") + \
		nic(tx, "tx_engine_move_write") + nic(tx, "tx_engine_crc") + nic(tx, "tx_engine_send"))
	add("fpdus", d[tx, "hyb_tx_fpdus"])
	add("packets", d[tx, "nic_tx_engine_packets"])
	add("wire_bytes", d[tx, "hyb_tx_bytes"])
	add("no_buffer", d[rx, "nic_rx_engine_place_missed"])
	if (test == "lat" || test == "poll" || test == "event")
		figure = sprintf("\"lat_us\":%.4f", ns / count / 2000)
	else if (test == "bilat")
		figure = sprintf("\"lat_us\":%.4f", ns / count / 1000)
	else
		figure = sprintf("\"mbps\":%.4f", bytes * 1000 / ns)
	printf "BENCH {%s,\"msgs\":%d,\"bytes\":%.0f,\"elapsed_ns\":%.0f," \
		"\"tx_nic_ns\":%.0f,\"rx_nic_ns\":%.0f,%s,\"counters\":{%s}}\n",
		head, msgs, bytes, ns, d[tx, "nic_nic_ns"], d[rx, "nic_nic_ns"], figure, text
}
