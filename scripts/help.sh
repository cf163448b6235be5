# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# With -h or --help as its first argument, the script that sources this prints the comment
# at its head, and ends.
case ${1:-} in
-h | --help)
	sed -n '4,/^\([^#]\|$\)/s/^# \{0,1\}//p' "$0"
	exit 0
	;;
esac
