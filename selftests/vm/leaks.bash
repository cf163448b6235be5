# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What kmemleak finds (sourced).

KMEMLEAK=/sys/kernel/debug/kmemleak

# find_leaks: scan, and print the objects that nothing refers to. Those younger than
# five seconds do not count, nor those that have changed since the scan before: the
# first scan of an object only takes its checksum.
find_leaks() {
	sleep 6
	echo scan >$KMEMLEAK
	echo scan >$KMEMLEAK
	# the IW CM forgets the private data of requests that it drops, because their
	# listener goes (cm_work_handler() in iwcm.c)
	awk '/^unreferenced object/ { flush(); text = ""; known = 0 }
		{ text = text $0 "\n" }
		/cm_event_handler\+/ { known = text ~ /kmemdup\+/ }
		function flush() { if (!known) printf "%s", text }
		END { flush() }' $KMEMLEAK
}
