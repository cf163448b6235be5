#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=3600
#
# Each pair of what can be held up and what can come meanwhile, see races.sh. LINK: another
# one than the shared link.

LINK=${LINK:-shared}
export RACES=""
for first in request up teardown timer close destroy receive send flush device namespace; do
	for second in data flush timer destroy kill_server kill_client device other_device link \
		namespace; do
		case $LINK/$first:$second in
		# nothing can be sent before there is a connection
		*/request:data | */request:flush) ;;
		# it is over, and has no timer; it cannot come twice
		*/flush:timer | */timer:timer | */device:device) ;;
		# with the namespace, its program and its devices have gone
		*/namespace:timer | */namespace:kill_server | */namespace:*device) ;;
		*/namespace:link | */namespace:namespace) ;;
		# both ends are in the initial namespace
		rxe/namespace:* | rxe/*:namespace) ;;
		*) RACES+=" $LINK/$first:$second" ;;
		esac
	done
done
exec "$(dirname "$0")/races.sh"
