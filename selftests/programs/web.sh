#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=400
#
# nginx: small files and large ones (sendfile), ranges, uploads, TLS, as a proxy
# (it connects as well as it accepts), with curl; connections that are kept and
# a connection for each request, with wrk.

# shellcheck source=selftests/programs/lib.bash
. "$(dirname "$0")/lib.bash"
need nginx curl wrk openssl

LARGE=$(scaled 8000000 800000)
URL=http://$SERVER:7201

# config: write the configuration of nginx
config() {
	cat >"$DIR/nginx.conf" <<-END
	daemon off;
	user root;
	pid $DIR/nginx.pid;
	error_log $DIR/error.log;
	worker_processes 2;
	events { worker_connections 200; }
	http {
		access_log off;
		sendfile on;
		tcp_nopush on;
		keepalive_requests 100000;
		client_max_body_size 100m;
		client_body_temp_path $DIR/tmp;
		proxy_temp_path $DIR/tmp;
		fastcgi_temp_path $DIR/tmp;
		uwsgi_temp_path $DIR/tmp;
		scgi_temp_path $DIR/tmp;
		server {
			listen $SERVER:7201;
			listen $SERVER:7203 ssl;
			ssl_certificate $DIR/cert.pem;
			ssl_certificate_key $DIR/key.pem;
			root $DIR/www;
			location /proxy/ { proxy_pass http://$SERVER:7202/; }
			location /up/ {
				root $DIR;
				dav_methods PUT DELETE;
			}
		}
		server {
			listen $SERVER:7202;
			root $DIR/www;
		}
	}
	END
	mkdir -p "$DIR/tmp" "$DIR/up"
}

# get WHAT ARGUMENT...: hash of what came; its status, size and connections
get() {
	echo "$1: $(run curl -sS -w '%{stderr}%{http_code} %{size_download} %{num_connects}' \
		"${@:2}" 2>"$DIR/said" | sha) $(cat "$DIR/said")"
}

# load WHAT ARGUMENT...: requests that failed; how many succeeded depends on speed
load() {
	run wrk -t 2 -c 16 -d 2 --timeout 20 "${@:2}" "$URL/small" >"$DIR/wrk" 2>&1
	if grep -q '^Requests/sec: *[1-9]' "$DIR/wrk"; then
		echo "$1: $(grep -E 'Socket errors|Non-2xx' "$DIR/wrk" || echo "no errors")"
	else
		cat "$DIR/wrk"
	fi
}

session_web() {
	config
	serve 7201 nginx -p "$DIR" -e "$DIR/error.log" -c "$DIR/nginx.conf" || return
	get "small" "$URL/small"
	get "large" "$URL/large"
	get "none" "$URL/none"
	get "headers" -I -H "If-None-Match: x" "$URL/small" -o /dev/null
	get "range" -r 1000-99999 "$URL/large"
	get "one connection" "$URL/small" "$URL/large" "$URL/small"
	get "TLS" --cacert "$DIR/cert.pem" https://"$SERVER":7203/large
	get "proxy" "$URL/proxy/large"
	get "upload" -T "$DIR/www/large" "$URL/up/file"
	cmp "$DIR/www/large" "$DIR/up/file" && echo "upload: the same"
	get "remove" -X DELETE "$URL/up/file"
	load "connections that are kept"
	load "a connection for each request" -H "Connection: close"
	sed 's/.*\] //' "$DIR/error.log" | grep -v 'open().*none' | sort -u
	true
}

programs_up
mkdir $DIR/www
random_file www/large "$LARGE"
random_file www/small 1000
certificate
same web $((LARGE * 4))
ktap_done
