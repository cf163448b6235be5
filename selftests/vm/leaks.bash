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
	cat $KMEMLEAK
}
