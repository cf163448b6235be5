#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: debug timeout=300
#
# The runner finds memory that a module has leaked. All tests rely on that: the runner looks
# for leaks after the last one.
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/vm/leaks.bash
. "$(dirname "$0")/leaks.bash"

[ -w $KMEMLEAK ] || ktap_skip_all "no leak detector in this kernel"
ktap_check "a module that leaks is loaded" modprobe vm_leak
find_leaks >/run/leaks
ktap_check "the report names the module" grep -q '\[vm_leak\]' /run/leaks
ktap_check "an object of 100 to 199 bytes is reported as leaked" grep -q 'unreferenced object .*(size 1[0-9][0-9])' /run/leaks
modprobe -r vm_leak
ktap_done
