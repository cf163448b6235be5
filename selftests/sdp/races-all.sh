#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=1800
#
# Each pair of what can be held up and what can come meanwhile, see races.sh.

export RACES=""
for first in request up teardown timer close destroy; do
	for second in destroy kill_server kill_client device other_device link namespace; do
		RACES+=" $first:$second"
	done
done
exec "$(dirname "$0")/races.sh"
