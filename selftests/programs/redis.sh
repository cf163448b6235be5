#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=300
#
# Redis as more than a key-value store: pipelines, transactions, blocking reads,
# pub/sub, large values, a replica in a that follows the server in b.

# shellcheck source=selftests/programs/lib.bash
. "$(dirname "$0")/lib.bash"
need redis-server redis-cli

N=$(scaled 2000 200)
LARGE=$(scaled 4000000 400000)

redis() { run redis-cli -h "$SERVER" -p 7101 "$@"; }
replica() { run redis-cli -h "$CLIENT" -p 7102 "$@"; }

# caught_up: the replica has all that the server has
caught_up() {
	replica info replication | grep -q master_link_status:up &&
		[ "$(replica dbsize)" = "$(redis dbsize)" ] &&
		[ "$(replica strlen large)" = "$LARGE" ]
}

heard() { [ "$(grep -c 'hello again' "$BG_LOG")" -eq "$1" ]; }

blocked() { redis client list | grep -q cmd=blpop; }

session_redis() {
	local sub

	serve 7101 redis-server --bind "$SERVER" --port 7101 --save '' \
		--appendonly no --dir "$DIR" --dbfilename b.rdb \
		--protected-mode no || return
	# what the replica has to copy when it starts
	seq "$N" | sed 's/.*/SET key:& value-&/' | redis | sort | uniq -c
	redis -x set large <"$DIR/value"
	# shellcheck disable=SC2086 # nothing or a word
	start_bg a $VIA redis-server --bind $CLIENT --port 7102 --save '' \
		--appendonly no --dir $DIR --dbfilename a.rdb \
		--protected-mode no --replicaof $SERVER 7101 \
		--repl-diskless-sync-delay 0
	SERVERS+=("$BG_PID")
	wait_for "$LIMIT" caught_up || echo "no replica: $(tail "$BG_LOG")"
	printf '%s\n' MULTI "INCR n" "INCRBY n 41" "LPUSH l a b c" EXEC | redis
	redis lrange l 0 -1
	redis get large | sha
	replica get large | sha
	replica get "key:$N"
	# a subscriber, before there is a message
	# shellcheck disable=SC2086 # nothing or a word
	start_bg a timeout "$LIMIT" $VIA redis-cli -h $SERVER -p 7101 subscribe news
	sub=$BG_PID
	wait_for 20 said subscribe
	for _ in 1 2 3; do
		redis publish news "hello again"
	done
	wait_for 20 heard 3
	cat "$BG_LOG"
	stop_bg "$sub"
	# a read that waits for its data
	# shellcheck disable=SC2086 # nothing or a word
	start_bg a timeout "$LIMIT" $VIA redis-cli -h $SERVER -p 7101 blpop queue 0
	sub=$BG_PID
	wait_for 20 blocked
	redis rpush queue work
	wait "$sub"
	cat "$BG_LOG"
	redis wait 1 20000
	replica lrange l 0 -1
}

programs_up
random_file value.bin "$LARGE"
base64 -w0 $DIR/value.bin | head -c "$LARGE" >$DIR/value
same redis $((LARGE * 3))
ktap_done
