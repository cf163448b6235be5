#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check-docs.sh: do the documents say what the code says? Tunables, socket options,
# counters, tracepoints and the accepted differences from TCP must be documented. Tunables,
# counters and settings that are documented must exist, and so must files that a document
# names. Calls tour.py, figures.py and check-lists.py. Also checks the syntax of the
# documents, if the tools are there.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

doc=Documentation
bad=0

complain() {
	echo "check-docs: $*" >&2
	bad=1
}

# literals FILE SECTION: the ``words`` at the start of the rows of its tables
literals() {
	# shellcheck disable=SC2016 # backquotes are meant
	awk -v section="$2" '
		$0 == section { on = 1; next }
		on && /^[=-]+$/ && !/ / && seen++ { exit }
		on' "$1" | grep -oE '^``[a-zA-Z_0-9]+``' | tr -d '`' | sort -u
}

# same WHAT DOCUMENTED CODED: two sorted lists, one word per line
same() {
	local word
	for word in $(comm -13 <(echo "$2") <(echo "$3")); do
		complain "$1: $word is not documented"
	done
	for word in $(comm -23 <(echo "$2") <(echo "$3")); do
		complain "$1: $word is documented, but not there"
	done
}

sysctls=$(sed -nE -e 's/.*[ \t]SDP_SYSCTL(_MEM|_WORD|_PAIR|_KEY)?\(([a-z_]+), [&SNfpsu].*/\2/p' \
	-e 's/\t\.procname\t= "([a-z_]+)",/\1/p' drivers/sdp/sdp_sysctl.c | tr -d '\t' | sort -u)
same "$doc/sdp.rst" "$(literals $doc/sdp.rst Tunables)" "$sysctls"
same tools/conf/sdp-sysctl.conf "$(sed -n 's/^#net\.sdp\.\([a-z_]*\) = .*/\1/p' \
	tools/conf/sdp-sysctl.conf | sort)" "$sysctls"
for word in $sysctls; do
	grep -qE "^\.It .*Pa $word( |$)" $doc/man/sdp.7 ||
		complain "sdp(7): $word is not documented"
done

options=$(sed -nE 's/^#define (SDP_[A-Z_]+)\t.*(get|set):.*/\1/p' \
	include/uapi/linux/sdp.h)
for word in $options; do
	grep -q "^\`\`$word\`\`" $doc/sdp.rst || complain "sdp.rst: no $word"
	grep -q "^\.It Dv $word" $doc/man/sdp.7 || complain "sdp(7): no $word"
done

same "$doc/iwarp_hybrid.rst" "$(literals $doc/iwarp_hybrid.rst Counters)" \
	"$(sed -nE 's/.*\.name = "([a-z_0-9]+)".*/\1/p' \
		drivers/iwarp_hybrid/hyb_stats.c | sort -u)"

same "$doc/hnic.rst" "$(literals $doc/hnic.rst Counters)" \
	"$(sed -nE 's/^\t"(((tx|rx)_engine|link)_[a-z_]+|nic_ns|connections)",$/\1/p' \
		drivers/hnic/hnic_ethtool.c | sort -u)"
same "$doc/hnic.rst" "$(literals $doc/hnic.rst 'Settings of the link')" \
	"$(sed -nE 's/.*(HNIC_ATTR|DEVICE_ATTR_R[OW])\(([a-z][a-z_]*)[,)].*/\2/p' \
		drivers/hnic/hnic_sysfs.c | sort -u)"

# paths PAGE FILE: file names that a manual page has as an item
paths() { sed -n "s/^\.It Pa \([a-z_ ,]*\)\$/\1/p" "$doc/man/$1" | tr -s ' ,' '\n' | sort -u; }

same "hnic(4)" "$(paths hnic.4)" "$(literals $doc/hnic.rst 'Settings of the link')"
same "iwarp_hybrid(4)" "$(paths iwarp_hybrid.4)" \
	"$(awk '/^file  / { n++; getline; on = n == 1; next } /^===/ { on = 0 }
		on && sub(/^``/, "") { sub(/``.*/, ""); print }' $doc/iwarp_hybrid.rst | sort -u)"

same "$doc/sdp.rst" "$(literals $doc/sdp.rst Counters)" \
	"$(sed -nE 's/^\tSDP_MIB_([A-Z0-9_]+),.*/\L\1/p' \
		include/uapi/linux/sdp_netlink.h |
		grep -vxE 'unspec|pad' | sort -u)"

# tracepoints MODULE
tracepoints() {
	sed -nE 's/^(TRACE|DEFINE)_EVENT\((.*, )?([a-z_]+),$/\3/p' drivers/"$1"/*_trace.h | sort -u
}

for module in hnic iwarp_hybrid; do
	same "$doc/$module.rst" "$(literals $doc/$module.rst Tracepoints)" "$(tracepoints $module)"
done
for module in rdma_stack sdp; do
	for word in $(tracepoints $module); do
		grep -qF "\`\`$word\`\`" $doc/$module.rst || complain "$module.rst: no tracepoint $word"
	done
done

while IFS=$'\t' read -r row _; do
	case $row in '' | '#'*) continue ;; esac
	grep -qF "\`\`$row\`\`" $doc/sdp.rst ||
		complain "sdp.rst: difference from TCP not listed: $row"
done <selftests/sdp/sockprobe.expected-diff

while read -r _ _ row does _; do
	case $row$does in '' | *works) continue ;; esac
	grep -qF "\`\`$row\`\`" $doc/sdp.rst || complain "sdp.rst: no $row"
done < <(grep -v '^#' selftests/sdp/options.list)

# named FILE: the files of this tree that it names
named() {
	grep -oE '(^|[^-/.[:alnum:]])((Documentation|drivers|include|lib|scripts|selftests|tools)/[-/._[:alnum:]]+[[:alnum:]]|``[_[:alnum:]]+\.rst)\b' "$1" |
		sed -E 's/^[^[:alnum:]]+//' | sort -u
}

for f in *.rst "$doc"/*.rst; do
	for path in $(named "$f"); do
		case $path in
		*/DIRECTORY/* | scripts/get_maintainer.pl) continue ;;
		esac
		compgen -G "$path*" >/dev/null || [ -e "$doc/$path" ] || complain "$f: no $path"
	done
done

scripts/tour.py || bad=1
$doc/figures/figures.py -c || bad=1
scripts/check-lists.py || bad=1

if command -v rst2html >/dev/null; then
	for f in *.rst "$doc"/*.rst; do
		# for Sphinx alone, see htmldocs.sh
		[ "$f" != $doc/index.rst ] || continue
		rst2html --strict "$f" >/dev/null || complain "$f: see above"
	done
fi
if command -v mandoc >/dev/null; then
	mandoc -Tlint -Wwarning $doc/man/* || complain "manual pages: see above"
fi
exit $bad
