# SPDX-License-Identifier: GPL-2.0
# After counters.awk: the cost of an exchange of -v size=BYTES cost, over -v link=LINK
# with -v profile=PROFILE -v mss=BYTES. A line of the table for each end, then
# "BAD TEXT" for everything that is not as expected (Documentation/testing.rst). With
# -v names=1 only the names of the columns.

function per(x, y) { return y ? x / y : 0 }

# A copy fetches its source and writes its destination back to memory; what
# the receiving application reads at once need not be written.
function costs(e,   bytes, msgs, wire)
{
	bytes = d[e, "sdp_tx_bytes"]
	msgs = d[e, "sdp_tx_data_msgs"]
	wire = d[e, "hyb_tx_bytes"] + d[e, "hyb_rx_bytes"]
	c["bytes"] = bytes
	c["copies_tx"] = per(d[e, "sdp_tx_copy_bytes"] + d[e, "hyb_tx_copy_bytes"], bytes)
	c["copies_rx"] = per(d[e, "sdp_rx_copy_bytes"] + d[e, "sdp_rx_merged_bytes"] + d[e, "hyb_rx_copy_bytes"], d[e, "sdp_rx_bytes"])
	c["cache_tx"] = 2 * c["copies_tx"]
	c["cache_rx"] = 2 * c["copies_rx"] - 1
	c["crc_host"] = per(d[e, "hyb_tx_crc_bytes"] + d[e, "hyb_rx_crc_bytes"], wire)
	c["crc_nic"] = per(d[e, "nic_tx_engine_crc_bytes"] + d[e, "nic_rx_engine_crc_bytes"], wire)
	c["msgs"] = per(msgs, bytes / size)
	c["fpdus"] = per(d[e, "hyb_tx_fpdus"], msgs)
	c["segs"] = per(d[e, "nic_tx_engine_packets"], msgs)
	c["header"] = per(d[e, "hyb_tx_bytes"] - bytes, msgs)
	c["dma"] = per(d[e, "nic_tx_engine_dma_ops"], msgs)
	# the pieces of payload that are no marker, pad or CRC
	c["dma_data"] = per(d[e, "nic_tx_engine_dma_ops"] - d[e, "nic_tx_engine_dma_marker_ops"], msgs)
	c["touches"] = per(d[e, "nic_tx_engine_dma_bytes"] + d[e, "nic_tx_engine_move_read_bytes"] + d[e, "nic_tx_engine_move_write_bytes"] + d[e, "nic_tx_engine_crc_bytes"] + d[e, "nic_tx_engine_send_bytes"], d[e, "nic_tx_engine_send_bytes"])
	c["wakeups"] = per(d[e, "sdp_wakeups_rx"], d[e, "sdp_rx_data_msgs"])
}

function within(e, name, min, max)
{
	if (c[name] < min - 0.005 || c[name] > max + 0.005)
		printf("BAD %s of %s is %.3f, not %s to %s\n", name, e, c[name], min, max)
}

# The bytes on the wire follow from the sizes. An FPDU is 2 bytes of length, 18
# of DDP and RDMAP, PAD, 4 of CRC; an SDP message has a header of 16; there is a
# marker of 4 every 512 bytes. FPDUs fill segments of mss, and may begin in what
# a message before has left of one. The connection's own start and end count,
# too: "own" packets, and some bytes of each. The counters are not read at one
# moment. A packet may be sent again.
function wire(e,   own, msgs, fpdus, bytes, least, most)
{
	own = 64
	msgs = d[e, "sdp_tx_msgs"]
	fpdus = d[e, "hyb_tx_fpdus"]
	bytes = d[e, "hyb_tx_bytes"]
	c["overhead"] = bytes - c["bytes"]
	most = 16 * msgs + 24 * fpdus + 4 * int(bytes / 512)
	within(e, "overhead", most - 4 * own, most + 3 * fpdus + 4 + 4 * own)
	c["fpdus_all"] = fpdus
	least = mss - 24 - 3 - 4 * (int(mss / 512) + 1)
	most = c["bytes"] + 16 * msgs
	within(e, "fpdus_all", most / (mss - 24), most / least + 2 * msgs)
	# every segment ends with an FPDU; at most one is acknowledged by itself
	c["packets"] = d[e, "nic_tx_engine_packets"]
	within(e, "packets", bytes / mss, 1.2 * (fpdus + d[e, "hyb_rx_fpdus"]) + own)
	# what a NIC that does not gather fetches for a packet is few pieces
	c["pieces"] = d[e, "nic_tx_engine_dma_ops"]
	if (profile != "offload-sg")
		within(e, "pieces", bytes / mss, 3 * fpdus + own)
	else if (size >= 4096)
		within(e, "pieces", 2 * bytes / mss, 12 * fpdus + own)
}

function limits()
{
	tx = rx = 2
	# a NIC that gathers takes the payload where SDP has put it
	if (profile == "offload-sg")
		tx = 1
	if (link == "enhanced") {
		# the staging memory of a profile that copies is one more
		tx = profile == "host" || profile == "assisted" ? 2 : 1
		# what is small lies beside the headers and is merged
		rx = size < 4096 ? 2 : 1
	}
	crc_host = profile == "host" || profile == "inplace"
	# headers are copied, too, which shows in small messages; small pieces at
	# the end of a message are merged
	slack = size < 4096 ? 0.8 : 0.02
	merged = size < 4096 ? 0.8 : 0.08
}

function check(e)
{
	within(e, "bytes", size, 1e12)
	within(e, "copies_tx", tx, tx + slack)
	within(e, "copies_rx", size < 4096 ? 1 : rx, rx + merged)
	within(e, "cache_tx", 2 * tx, 2 * (tx + slack))
	if (size >= 4096)
		within(e, "cache_rx", 2 * rx - 1, 2 * (rx + merged) - 1)
	# at most one for an FPDU; how many come at a time depends on the machine
	within(e, "wakeups", 0, 1.05 * per(d[e, "hyb_rx_fpdus"], d[e, "sdp_rx_data_msgs"]) + 0.1)
	wire(e)
	if (dma_min != "") {
		within(e, "dma_data", dma_min, dma_max)
		within(e, "touches", touches_min, touches_max)
	}
	# a packet that the NIC could not follow is the host's; one that was sent
	# again is checked again
	within(e, "crc_host", 0.9 * crc_host, crc_host + 0.05)
	within(e, "crc_nic", 0.9 * !crc_host, !crc_host + 0.05)
}

END {
	n = split("copies_tx copies_rx cache_tx cache_rx crc_host crc_nic msgs fpdus segs header dma dma_data touches wakeups", name, " ")
	if (names) {
		printf("%-10s%-16s%8s  ", "link", "profile", "size")
		for (i = 1; i <= n; i++)
			printf("%10s", name[i])
		printf("\n")
		exit
	}
	limits()
	for (k = 1; k <= 2; k++) {
		e = k == 1 ? "a" : "b"
		costs(e)
		printf("%-10s%-16s%8d %s", link, profile, size, e)
		for (i = 1; i <= n; i++)
			printf("%10.2f", c[name[i]])
		printf("\n")
		check(e)
	}
}
