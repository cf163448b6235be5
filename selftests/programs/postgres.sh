#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=900
#
# PostgreSQL: queries, bulk copies in and out, errors, a query that is cancelled
# (by a second connection), pgbench with and without a connection for each
# transaction, a dump.

# shellcheck source=selftests/programs/lib.bash
. "$(dirname "$0")/lib.bash"
need setpriv

HERE=$(cd "$(dirname "$0")" && pwd)
PORT=7501
DATA=$DIR/data
ROWS=$(scaled 20000 2000)

# the server refuses to run as root
NOBODY=(setpriv --reuid=65534 --regid=65534 --clear-groups)
export PGDATABASE=postgres

client() { run "$BIN/$1" -h "$SERVER" -p "$PORT" -U postgres "${@:2}"; }

sleeping() {
	[ "$(client psql -XAt -c "select count(*) from pg_stat_activity
		where query = 'select pg_sleep(60)'")" = 1 ]
}

# interrupted: ^C in psql cancels a query by a second connection
interrupted() {
	# shellcheck disable=SC2086 # nothing or a word
	start_bg a $VIA "$BIN/psql" -X -h "$SERVER" -p "$PORT" \
		-U postgres -c "select pg_sleep(60)"
	wait_for "$LIMIT" sleeping
	pkill -INT -x psql
	wait "$BG_PID"
	echo "interrupted: $? $(cat "$BG_LOG")"
}

stopped() { [ ! -e "$DATA/postmaster.pid" ]; }

session_postgres() {
	serve "$PORT" "${NOBODY[@]}" "$BIN/postgres" -D "$DATA" -h "$SERVER" \
		-p "$PORT" -k "" -F || return
	client psql -X -q -v ON_ERROR_STOP=0 -v rows="$ROWS" -v dir="$DIR" \
		-f "$HERE/postgres.sql" 2>&1
	echo "copied out: $(wc -l <"$DIR/out.csv") $(sha <"$DIR/out.csv")"
	echo "dump: $(client pg_dump -t things | grep -v '^--\|restrict' | sha)"
	echo "cancelled: $(client psql -X -c "set statement_timeout = 500" \
		-c "select pg_sleep(60)" 2>&1)"
	interrupted
	client pgbench -i -q -I dtgp >/dev/null 2>&1 || echo "pgbench -i: $?"
	client pgbench -n -c 4 -j 2 -t 25 | grep '^number of .*transactions'
	client pgbench -n -S -C -c 4 -t 10 | grep '^number of .*transactions'
	kill -INT "$(head -n 1 "$DATA/postmaster.pid")"
	wait_for "$(scaled 60 200)" stopped || echo "the server does not stop"
}

programs_up
packages_up
BIN=$(echo /packages/usr/lib/postgresql/*/bin)
mkdir $DATA
chown 65534:65534 $DATA
chmod 755 $DIR
ktap_check "a database is made" "${NOBODY[@]}" "$BIN/initdb" -D $DATA -U postgres \
	-A trust --no-sync --locale=C --encoding=UTF8
echo "host all all all trust" >>$DATA/pg_hba.conf
same postgres $((ROWS * 200))
ktap_done
