# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Checks of the values that "make profile" takes (sourced): wrong ones are said before
# anything is built.

# shellcheck source=selftests/lib/stack.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/stack.sh"

profile_refuse() {
	echo "profile: $*" >&2
	exit 2
}

# profile_one_of NAME VALUE WORD...
profile_one_of() {
	[[ " ${*:3} " = *" $2 "* ]] || profile_refuse "$1 is one of ${*:3}, not \"$2\""
}

# profile_number NAME VALUE MOST: from 1 on
profile_number() {
	if ! [[ $2 =~ ^[1-9][0-9]{0,9}$ ]] || [ "$2" -gt "$3" ]; then
		profile_refuse "$1 is a number from 1 to $3, not \"$2\""
	fi
}

# profile_sdp WHAT KIND...: is it sdp-KIND/PROFILE, perhaps with conn- before it?
profile_sdp() {
	local what=${1#conn-}

	[[ $what = sdp-*/* ]] || profile_refuse "there is no WHAT=$1: see selftests/bench/profile.sh -h"
	profile_one_of "KIND of WHAT=$1, sdp-KIND/PROFILE," "$(expr "$what" : 'sdp-\(.*\)/')" "${@:2}"
	# shellcheck disable=SC2086 # several words
	profile_one_of "PROFILE of WHAT=$1, sdp-KIND/PROFILE," "${what#*/}" $STACK_PROFILES
}
