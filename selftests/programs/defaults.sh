#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=400
#
# The rules that libsdp.conf(5) shows, unchanged, for servers with the network settings of
# Debian's configuration: a client that takes SDP alone and one of TCP get the same answer.
# Programs that no rule names stay with TCP.

# shellcheck source=selftests/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=selftests/lib/documents.bash
. "$(dirname "$0")/../lib/documents.bash"
need sdp-run sdpctl redis-server redis-cli nginx curl sshd ssh ssh-keygen memcached haproxy nc
need setpriv
unset LIBSDP_ONLY
T=$(mktemp -d /run/defaults.XXXXXX)
defer rm -rf "$T"
chmod 755 "$T"
CONF=$T/libsdp.conf
LIMIT=$(scaled 60 400)

# example N: use the rules of the Nth example of the page
example() {
	sed -n '/^\.Sh EXAMPLES/,/^\.Sh D/p' $MAN/man5/libsdp.conf.5 |
		awk -v n="$1" '/^\.Bd/ { on = ++i == n; next } /^\.Ed/ { on = 0 } on' >"$CONF"
}

# serve PORT COMMAND...: start a server in b, under these rules
serve() {
	local port=$1

	shift
	start_bg b sdp-run -c "$CONF" "$@"
	wait_port b "$port" "$(scaled 20 60)" ||
		ktap_fail "$1 listens on $port" "$(cat "$BG_LOG")"
}

# answers NAME a|b ANSWER COMMAND...: the command prints ANSWER over SDP alone, and over TCP
answers() {
	local name=$1 ns=$2 answer=$3

	shift 3
	ktap_is "$name: a client that takes SDP alone gets the right answer" \
		"$("in_$ns" timeout "$LIMIT" sdp-run -o "$@" 2>&1 </dev/null | tr -d '\r')" "$answer"
	ktap_is "$name: a client of TCP gets the right answer" \
		"$("in_$ns" timeout "$LIMIT" "$@" 2>&1 </dev/null | tr -d '\r')" "$answer"
}

test_network() {
	example 1
	serve 6379 redis-server --save '' --dir "$T" --bind 10.0.0.2 127.0.0.1 -::1 \
		--protected-mode no
	answers "Redis of the first example" a PONG redis-cli -h 10.0.0.2 ping
	ktap_is "the first example gives its client SDP and TCP in that network" \
		"$(sdp-run -c "$CONF" -w client redis-cli 10.0.0.2:6379)" "both $CONF:3"
	stop_bg "$BG_PID"
}

test_redis() {
	serve 6379 redis-server --save '' --dir "$T" --bind 127.0.0.1 -::1
	answers Redis b PONG redis-cli ping
	answers "Redis, at ::1" b PONG redis-cli -h ::1 ping
	stop_bg "$BG_PID"
}

# nginx is left running, for haproxy
test_nginx() {
	mkdir "$T/www"
	echo page >"$T/www/index.html"
	cat >"$T/nginx.conf" <<-END
	daemon off;
	user root;
	pid $T/nginx.pid;
	error_log $T/error.log;
	events { worker_connections 100; }
	http {
		access_log off;
		client_body_temp_path $T/tmp;
		proxy_temp_path $T/tmp;
		fastcgi_temp_path $T/tmp;
		uwsgi_temp_path $T/tmp;
		scgi_temp_path $T/tmp;
		server {
			listen 80 default_server;
			listen [::]:80 default_server;
			root $T/www;
		}
	}
	END
	serve 80 nginx -p "$T" -e "$T/error.log" -c "$T/nginx.conf"
	answers nginx a page curl -sS http://10.0.0.2/
	answers "nginx, by IPv6" a page curl -sS "http://[fd00::2]/"
}

test_haproxy() {
	local before

	cat >"$T/haproxy.cfg" <<-END
	global
		log stderr local0
		maxconn 100
	defaults
		mode http
		timeout connect 5000
		timeout client 50000
		timeout server 50000
	frontend web
		bind :8080
		default_backend nginx
	backend nginx
		server one 127.0.0.1:80
	END
	serve 8080 haproxy -db -f "$T/haproxy.cfg"
	answers haproxy a page curl -sS http://10.0.0.2:8080/
	before=$(sdp_counter b active_opens)
	in_a curl -sS http://10.0.0.2:8080/ >/dev/null
	ktap_is "haproxy: its own connection is one of SDP" \
		$(($(sdp_counter b active_opens) - before)) 1
	stop_bg "$BG_PID"
}

test_ssh() {
	# the user of sshd's unprivileged process
	cp /etc/passwd "$T/passwd"
	grep -q '^sshd:' "$T/passwd" ||
		echo 'sshd:x:99:65534::/run/sshd:/bin/false' >>"$T/passwd"
	mount --bind "$T/passwd" /etc/passwd
	defer umount /etc/passwd
	mkdir -p /run/sshd
	ssh-keygen -q -t ed25519 -N '' -f "$T/host"
	ssh-keygen -q -t ed25519 -N '' -f "$T/key"
	printf '%s\n' "HostKey $T/host" "AuthorizedKeysFile $T/key.pub" "StrictModes no" \
		"KbdInteractiveAuthentication no" >"$T/sshd_config"
	serve 22 "$(command -v sshd)" -D -e -f "$T/sshd_config"
	answers OpenSSH a hello ssh -F none -i "$T/key" -o BatchMode=yes \
		-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR \
		root@10.0.0.2 echo hello
	stop_bg "$BG_PID"
}

test_memcached() {
	serve 11211 memcached -m 64 -p 11211 -u root -l 127.0.0.1 -l ::1
	printf 'get none\r\nquit\r\n' >"$T/request"
	answers memcached b END sh -c "exec nc -N 127.0.0.1 11211 <$T/request"
	stop_bg "$BG_PID"
}

test_postgres() {
	local bin nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)

	bin=$(echo /packages/usr/lib/postgresql/*/bin)
	mkdir -m 700 "$T/db"
	chown 65534:65534 "$T/db"
	ktap_check "a database is made" "${nobody[@]}" "$bin/initdb" -D "$T/db" -U postgres -A trust \
		--no-sync --locale=C --encoding=UTF8
	serve 5432 "${nobody[@]}" "$bin/postgres" -D "$T/db" -k "" -F
	answers PostgreSQL b 42 "$bin/psql" -XAt -h localhost -U postgres -c "select 42" postgres
	kill -INT "$(head -n 1 "$T/db/postmaster.pid")"
	wait_for "$LIMIT" test ! -e "$T/db/postmaster.pid"
}

# A program without a rule
test_other() {
	serve 8000 /usr/bin/python3 -m http.server -b 10.0.0.2 -d "$T/www" 8000
	ktap_is "a server that no rule names answers a client of TCP" \
		"$(in_a curl -sS http://10.0.0.2:8000/)" page
	ktap_check_fails "a server that no rule names has no SDP" \
		in_a timeout "$LIMIT" sdp-run -o curl -sS http://10.0.0.2:8000/
	stop_bg "$BG_PID"
}

dev_up hybrid hybrid || ktap_skip_all "no RDMA device"
modprobe -q -a sdp sdp_diag
ktap_check "sdpctl makes a device for loopback addresses" in_b sdpctl setup lo
test_network
example 2
ktap_is "the second example has seven rules" "$(grep -c '^use both' "$CONF")" 7
test_redis
test_nginx
test_haproxy
test_ssh
test_memcached
test_other
packages_up
test_postgres
ktap_done
