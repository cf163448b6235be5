#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The smallest runs of "make report": one panel that is measured in a virtual machine, some
# that are computed, and the messages for wrong input. Run by scripts/check.sh --long, and
# alone, without arguments.
set -u

# shellcheck source=selftests/host/tap.bash
. "$(dirname "$0")/tap.bash"
# a directory of its own, so that the results of a full run are not overwritten
export BUILD=${BUILD:-$TOP/build} REPORT=$WORK/report
unset FIGURES FULL ONLY BASE LANE
out=$REPORT

# status WANTED VARIABLE=VALUE...: a run with these settings has that exit status
status() {
	local want=$1 rc=0

	shift
	env "$@" "$TOP/selftests/report/run.sh" || rc=$?
	[ "$rc" -eq "$want" ]
}

# says WORDS VARIABLE=VALUE...: exit status 2, and the last line is a sentence with these words
says() {
	local words=$1 text

	shift
	text=$(env "$@" "$TOP/selftests/report/run.sh" 2>&1)
	[ $? -eq 2 ] && tail -n1 <<<"$text" | grep -F "$words" && ! grep -q Traceback <<<"$text"
}

# The panel is drawn, with data, provenance and a verdict
facts() {
	python3 - "$out" <<'END'
import json, os, sys
folder = sys.argv[1]
with open(f"{folder}/claims.json", encoding="utf-8") as f:
    claims = json.load(f)
with open(f"{folder}/data/P0-F3a.json", encoding="utf-8") as f:
    panel = json.load(f)
with open(f"{folder}/index.html", encoding="utf-8") as f:
    page = f.read()
values = {c["check"]: c["value"] for c in panel["checks"]}
checks = {
    "verdicts": claims["panels"].get("P0-F3a") in ("ok", "missing"),
    "kinds": {s["kind"] for p in panel["plots"] for s in p["series"]} == {"computed"},
    "number": 3.5 <= values["P0-F3a/basic"] <= 4.5,
    "provenance": all(p["provenance"]["commit"] for p in panel["points"]),
    "page": page.count("<svg") == 1 and os.path.exists(f"{folder}/figures/P0-F3a.svg"),
    "pdf": open(f"{folder}/report.pdf", "rb").read(5) == b"%PDF-",
}
print(checks, values)
sys.exit(not all(checks.values()))
END
}

# A second run measures nothing
again() {
	local text

	text=$(env FIGURES=P0-F3a LANE=count "$TOP/selftests/report/run.sh" 2>&1)
	echo "$text"
	! grep -q 'to measure' <<<"$text"
}

# Two hosts that are both this machine: TCP is measured, and the missing rows are named
machines() {
	local text

	mkdir -p "$WORK/bin"
	cat >"$WORK/bin/ssh" <<-'END'
		#!/bin/bash
		shift 4
		[ "$1" != nowhere ] || { echo "ssh: cannot resolve nowhere" >&2; exit 255; }
		shift
		exec bash -c "$*"
	END
	chmod +x "$WORK/bin/ssh"
	"$TOP/scripts/build-user.sh" "$BUILD" || return
	text=$(env "PATH=$WORK/bin:$BUILD/tools:$PATH" FIGURES=P4-F20 LANE=real \
		HOSTS="127.0.0.1 localhost" "$TOP/selftests/report/run.sh" 2>&1)
	[ $? -eq 2 ] || return
	echo "$text"
	grep -q 'real: tcp bw, ' <<<"$text" && grep -q 'verbs-send bw between' <<<"$text" &&
		grep -q '127.0.0.1 and localhost' "$out/data/P4-F20.csv"
}

silent() {
	says "nowhere does not answer" "PATH=$WORK/bin:$BUILD/tools:$PATH" FIGURES=P4-F20 \
		LANE=real HOSTS="127.0.0.1 nowhere"
}

# before_packages WORDS VARIABLE=VALUE...: no package is found here. Wrong input is reported before
# any is installed.
before_packages() {
	mkdir -p "$WORK/none"
	printf '#!/bin/sh\n' >"$WORK/none/dpkg-query"
	printf '#!/bin/sh\ntouch %s\nexit 1\n' "$WORK/installed" >"$WORK/none/apt-get"
	chmod +x "$WORK"/none/*
	says "$1" "PATH=$WORK/none:$PATH" "${@:2}" && [ ! -e "$WORK/installed" ]
}

damage() {
	local file

	file=$(find "$out/points" -name '*.json' | head -n1)
	truncate -s 40 "$file"
	says "delete it" FIGURES=P0-F3a && rm "$file"
}

check "a panel that needs no virtual machine" status 0 FIGURES="P4-F31" ONLY=draw
check "a panel without data is status 2" status 2 FIGURES=P0-F3a ONLY=draw
check "an unknown figure" says "there is no figure P9-F1" FIGURES=P9-F1
check "an unknown lane" says "there is no lane fast" FIGURES=P4-F31 LANE=fast
check "an unknown figure, before packages are installed" before_packages \
	"there is no figure XX" FIGURES=XX
check "an unknown lane, before packages are installed" before_packages \
	"there is no lane fast" LANE=fast
check "an earlier report that is none" says "is no report" FIGURES=P4-F31 BASE=/proc
# the instrument for two of its checks is not measured here
check "make report FIGURES=P0-F3a" status "${WANT_STATUS:-2}" FIGURES=P0-F3a LANE=count
check "the figure, its data and the page" facts
check "existing points are not measured again" again
check "two machines" machines
check "a machine that does not answer" silent
check "a damaged point" damage
tap_done
