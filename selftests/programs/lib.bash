# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Programs that know nothing of SDP, client in namespace a, server in b: a session
# is a function that prints what a user would see, except for what depends on speed
# or chance. It runs over TCP, then over SDP, and must print the same.
#
#	DEVICES		kinds of RDMA devices (hybrid hybrid)

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/lib.sh"
# sdp-run with its default, as users have it
unset LIBSDP_ONLY

DEVICES=${DEVICES:-hybrid hybrid}
# shellcheck disable=SC2034 # for the tests
SERVER=10.0.0.2 CLIENT=10.0.0.1
LIMIT=$(scaled 60 400)		# seconds for one program
DIR=/tmp/programs		# for files of the session
VIA=				# command before the programs: none, or $SDP_RUN
SDP_RUN=sdp-run			# the one for SDP

programs_up() {
	# shellcheck disable=SC2086 # two words
	dev_up $DEVICES || ktap_skip_all "no devices $DEVICES"
	mkdir -p $DIR
	defer rm -rf $DIR
}

# spark_up: Apache Spark in /spark, shared by the host (spark_jars in selftests/vm/image.sh)
spark_up() {
	mkdir -p /spark
	mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=262144,cache=loose spark /spark ||
		ktap_skip_all "the host has no Apache Spark to share: see pyspark in the image's log"
	defer umount /spark
}

cluster_links() { star_up "$1" && dev_up_all hybrid && modprobe -q sdp; }

# cluster_up N: so many hosts at a bridge, each with an RDMA device
cluster_up() {
	ktap_check "$1 hosts at a bridge, with RDMA devices" cluster_links "$1" || ktap_done
	mkdir -p $DIR
	defer rm -rf $DIR
}

# cluster_sent: bytes that left its hosts over SDP
cluster_sent() {
	local i

	for ((i = 1; i <= STAR_N; i++)); do
		in_n "$i" sdpstat -s -z
	done | awk '$1 == "tx_bytes" { n += $2 } END { printf "%.0f\n", n }'
}

# random_file NAME BYTES
random_file() { head -c "$2" /dev/urandom >"$DIR/$1"; }

# certificate: make that of the server, cert.pem and key.pem
certificate() {
	printf '[req]\ndistinguished_name = dn\n[dn]\n' >"$DIR/openssl.cnf"
	ktap_check "a certificate is made" env OPENSSL_CONF="$DIR/openssl.cnf" \
		openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 \
		-nodes -days 2 -subj /CN=test -addext "subjectAltName=IP:$SERVER" \
		-keyout "$DIR/key.pem" -out "$DIR/cert.pem"
}

sha() { sha256sum | cut -d' ' -f1; }

port_open() {
	if [ -z "$VIA" ]; then
		[ -n "$("in_$1" ss -Hltn "sport = :$2")" ]
	else
		"in_$1" sdpstat -l 2>/dev/null | grep -q ":$2 "
	fi
}

# serve PORT COMMAND...: a server in b, until the session ends
serve() {
	local port=$1

	shift
	# shellcheck disable=SC2086 # nothing or a word
	start_bg b $VIA "$@"
	SERVERS+=("$BG_PID")
	if ! wait_for "$(scaled 20 60)" port_open b "$port"; then
		echo "$1 does not listen on $port: $(cat "$BG_LOG")"
		return 1
	fi
}

# run COMMAND...: a client in a
run() {
	# shellcheck disable=SC2086 # nothing or a word
	in_a timeout -k 5 "$LIMIT" $VIA "$@"
}

# sdp_bytes: bytes sent and received by the SDP sockets of a
sdp_bytes() {
	in_a sdpstat -s -z | awk '$1 == "tx_bytes" || $1 == "rx_bytes" { n += $2 }
		END { printf "%.0f\n", n }'
}

# session_over NAME VIA: run session_NAME under VIA; prints what it prints
session_over() {
	local rc pid

	VIA=$2
	SERVERS=()
	"session_$1" </dev/null 2>&1
	rc=$?
	for pid in "${SERVERS[@]}"; do
		stop_bg "$pid"
	done
	[ $rc -eq 0 ] || echo "exit status $rc"
	return $rc
}

# same NAME BYTES: session_NAME prints the same over TCP and over SDP, and moves at least
# BYTES over SDP
same() {
	local before moved

	if ! session_over "$1" "" >$DIR/out.tcp; then
		ktap_fail "$1 over TCP: the session succeeds" "$(tail -n 40 $DIR/out.tcp)"
		return
	fi
	wait_for 20 no_sockets
	before=$(sdp_bytes)
	if session_over "$1" "$SDP_RUN" >$DIR/out.sdp; then
		ktap_ok "$1 over SDP: the session succeeds"
	else
		ktap_fail "$1 over SDP: the session succeeds" "$(tail -n 40 $DIR/out.sdp)"
	fi
	moved=$(($(sdp_bytes) - before))
	ktap_check "$1: same result as over TCP" diff -u $DIR/out.tcp $DIR/out.sdp
	ktap_check "$1: $moved bytes over SDP, $2 at least" [ "$moved" -ge "$2" ]
	ktap_check "$1: no socket is left" wait_for 30 no_sockets
}
