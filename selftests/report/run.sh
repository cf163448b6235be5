#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# `make report`: every figure of the papers from measurements of this tree, drawn and
# judged; see Documentation/report.rst. Writes BUILD/report/index.html and what is beside it.
#
# Environment: KERNEL (6.1), BUILD (build), REPORT (BUILD/report: where it goes).
#   FIGURES="P0-F2a P3"  these panels, or all of a paper; all if it is empty
#   FULL=1               all points, some hours, instead of the quick set
#   ONLY=draw            from the points that are there; nothing is measured
#   STALE=1              points that an older tree has measured are not measured again
#   BASE=DIR             with the difference to the report in that directory
#   KEEP=DIR             claims, overview and some figures go to that directory, too
#   LANE=count|native|profile|host  measure this lane only
#   LANE=real HOSTS="SERVER CLIENT"  between two machines, over ssh (see real.py)
#   LANES=N              virtual machines at a time (2 at most by default)
# Exit status: 0 all bounds hold, 1 one is missed, 2 something did not work or has no data.
set -uo pipefail
# shellcheck source=scripts/help.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/help.sh"

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)

[ ! -x /usr/bin/python3 ] || /usr/bin/python3 -B "$here/asked.py" || exit 2
"$top/scripts/deps.sh" --report || exit 2
exec /usr/bin/python3 -B "$here/report.py"
