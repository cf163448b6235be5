# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Reports of kmemleak (sourced).

KMEMLEAK=/sys/kernel/debug/kmemleak

# Packets that wait to be freed by the CPU that allocated them wait for it to receive
# one (skb_attempt_defer_free()). Of their lists of fragments kmemleak sees nothing:
# these hang on memory that is no object.
free_packets() {
	local cpu

	for cpu in /sys/devices/system/cpu/cpu[0-9]*; do
		taskset -c "${cpu##*cpu}" bash -c 'echo >/dev/udp/127.0.0.1/9'
	done
}

# find_leaks: scan, and print the objects that nothing refers to. Those younger than
# five seconds do not count, nor those that have changed since the scan before: the
# first scan of an object only takes its checksum.
find_leaks() {
	free_packets
	sleep 6
	echo scan >$KMEMLEAK
	echo scan >$KMEMLEAK
	# The kernel's own: the IW CM forgets the private data of requests that it drops,
	# because their listener goes (cm_work_handler() in iwcm.c). A radix tree for which
	# memory runs out keeps nodes without an entry, and the tree of a device's methods
	# frees its entries only (uverbs_destroy_api() in uverbs_uapi.c).
	awk '/^unreferenced object/ { flush(); text = ""; known = 0 }
		{ text = text $0 "\n" }
		/cm_event_handler\+/ { known = text ~ /kmemdup\+/ }
		/uverbs_alloc_api\+/ { known = text ~ /radix_tree_node_alloc[.a-z0-9]*\+/ }
		function flush() { if (!known) printf "%s", text }
		END { flush() }' $KMEMLEAK
}
