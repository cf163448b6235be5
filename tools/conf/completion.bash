# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=bash
# Completion for sdp-run, sdpstat, sdpctl and sdpbench; bash-completion loads it by the
# name of the program.

# Options, as the program's own help lists them
_sdp_options() { "$1" "${@:2}" --help 2>/dev/null | grep -oE -- '(^|[ ,])--?[A-Za-z0-9][a-z-]*' | tr -d ' ,'; }

_sdp_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "${COMP_WORDS[COMP_CWORD]}"); }

_sdp_run() {
	local cur=${COMP_WORDS[COMP_CWORD]} i word
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		case $word in
		-c | --config) i=$((i + 1)) ;;
		enable | disable)
			_sdp_words "$(systemctl list-unit-files --type=service --no-legend 2>/dev/null |
				cut -d' ' -f1)"
			return
			;;
		-*) ;;
		*)
			# arguments of the program are the program's
			declare -F _command_offset >/dev/null && _command_offset "$i"
			return
			;;
		esac
	done
	case ${COMP_WORDS[COMP_CWORD - 1]} in
	-c | --config)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	esac
	case $cur in
	-*) _sdp_words "$(_sdp_options sdp-run)" ;;
	*) mapfile -t COMPREPLY < <(compgen -c -W "enable disable" -- "$cur") ;;
	esac
}

_sdpstat() {
	case ${COMP_WORDS[COMP_CWORD]}:$COMP_CWORD in
	-*) _sdp_words "$(_sdp_options sdpstat)" ;;
	*:1) _sdp_words "stack check advise" ;;
	esac
}

_sdpctl() {
	case $COMP_CWORD:${COMP_WORDS[1]} in
	1:*) _sdp_words "setup undo trust status report" ;;
	2:setup | 2:undo) _sdp_words "$(ls /sys/class/net)" ;;
	2:trust) _sdp_words "on off" ;;
	esac
}

_sdpbench() { _sdp_words "$(_sdp_options sdpbench)"; }

complete -F _sdp_run sdp-run
complete -F _sdpstat sdpstat
complete -F _sdpctl sdpctl
complete -F _sdpbench sdpbench
