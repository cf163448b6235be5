#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Compare the results of the filter applications (examples/filters) with those of numpy and
# scikit-image: the picture of a slide, the surface of a reservoir. Over TCP, on this
# machine. Run by scripts/check.sh --long, and alone, without arguments.
set -u

# shellcheck source=selftests/host/tap.bash
. "$(dirname "$0")/tap.bash"
if ! /usr/bin/python3 -c 'import numpy, skimage' 2>/dev/null; then
	echo "1..0 # SKIP numpy or scikit-image is missing: scripts/deps.sh --report"
	exit
fi
BIN=$WORK/bin

# plan APPLICATION STATEMENT...: run the demo's plan on this machine, with these units of work
plan() {
	sed 's/10\.0\.0\.[0-9]/127.0.0.1/; s/^uow.*//; s,/demo/,'"$WORK/"',' \
		"$TOP/selftests/demo/$1.plan" >"$WORK/plan"
	printf '%s\n' "${@:2}" "set port=17700" >>"$WORK/plan"
	"$BIN/fs-run" -t 200 -d TRANSPORT=tcp -d "OUT=$WORK" -o "$WORK/lines" "$WORK/plan"
}

check "the programs build" make -s -C "$TOP/examples/filters" O="$BIN"
check "mkdata.py makes a slide" "$BIN/mkdata.py" slide "$WORK/slide" --size 1024
check "mkdata.py makes a volume" "$BIN/mkdata.py" volume "$WORK/volume" --steps 2
check "scope renders a picture" plan scope "uow complete x=30 y=50 w=200 h=150 zoom=3"
check "the picture is equal to numpy's" "$BIN/check.py" scope "$WORK/slide" "$WORK/lines" "$WORK/scope.ppm"
check "scope renders a move, and another magnification" plan scope "uow complete x=130 y=150 w=150 h=100 zoom=3" \
	"uow move dx=13 dy=-9" "uow zoom zoom=4" "uow move dx=-2 dy=40"
check "the pictures are equal to numpy's" "$BIN/check.py" scope "$WORK/slide" "$WORK/lines" "$WORK/scope.ppm"
for step in 0 1; do
	check "iso renders a surface, step $step" plan iso "uow iso level=500 step=$step"
	check "scikit-image has the same area and shadow, step $step" "$BIN/check.py" iso "$WORK/volume" \
		"$WORK/lines" "$WORK/iso.pgm" --step $step
done
tap_done
