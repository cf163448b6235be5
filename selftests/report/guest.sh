#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# guest.sh JOBS: points of `make report`, inside the guest. Each line of the file JOBS is
#   KEY VARIABLE=VALUE...
# quoted for the shell: bench/guest.sh runs with these variables. Prints
#   POINT-BEGIN KEY, what bench/guest.sh prints, POINT-END KEY STATUS
# so that a point that has ended is kept, whatever happens to the next one.
jobs=$1
failed=0

while read -r key words; do
	# quoted by the report
	eval "set -- $words"
	echo "POINT-BEGIN $key"
	env "$@" "${SELFTESTS:-/selftests}/bench/guest.sh" </dev/null
	rc=$?
	echo "POINT-END $key $rc"
	[ $rc -eq 0 ] || failed=1
done <"$jobs"
exit $failed
