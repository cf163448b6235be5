#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# In the machine of readme.sh: the commands in ./commands, one a line, with checks of their
# effects; then a reboot, after which everything that was enabled must work. Lines "ok TITLE",
# "not ok TITLE" and "# ..." go to the second serial port; the last is "end".
#
# shellcheck disable=SC2016 # commands in quotation marks are run later
exec >/dev/ttyS1 2>&1 </dev/null
stty -F /dev/ttyS1 raw
cd /root || exit 1
SERVER=10.9.0.1

# check TITLE COMMAND...: its output is shown if it fails
check() {
	local title=$1 said
	shift
	if said=$("$@" 2>&1 </dev/null); then
		echo "ok $title"
	else
		echo "not ok $title"
		tail -n 20 <<<"$said" | sed 's/^/# /'
	fi
}

# soon COMMAND...: it succeeds within 120 attempts, half a second apart
soon() {
	local i
	for ((i = 0; i < 120; i++)); do
		"$@" && return
		sleep 0.5
	done
	return 1
}

# says TEXT SAID: TEXT is in SAID
says() { [[ $2 = *"$1"* ]] || { echo "$2"; return 1; }; }

opens() { sdpstat -s -z | awk '$1 == "active_opens" { print $2 }'; }

# over_sdp COMMAND: it succeeds, and opens SDP connections
over_sdp() {
	local before
	before=$(opens)
	bash -c "$1" && [ "$(opens)" -gt "$before" ]
}

# over_tcp COMMAND: it succeeds, and opens none
over_tcp() {
	local before
	before=$(opens)
	bash -c "$1" && [ "$(opens)" -eq "$before" ]
}

listens() { ss -Htln "sport = :$1" | grep -q .; }

device() { rdma link show | grep "netdev $1 *\$"; }

# serve COMMAND PORT: start a server in the background, and end the one before
serve() {
	[ -z "$served" ] || { kill "$served" && wait "$served"; }
	bash -c "exec $1" >served 2>&1 &
	served=$!
	check "$1" soon listens "$2"
}

# one COMMAND: run a command of the documents, with the checks for it
one() {
	case $1 in
	*"systemctl enable --now sdp@"*)
		check "$1" bash -c "$1"
		check "$1: there is an RDMA device" soon device "${1##*@}"
		;;
	"sdp-run iperf3 -s") serve "$1" 5201 ;;
	"sdp-run redis-server"*) serve "$1" 6380 ;;
	"sdp-run iperf3 -c SERVER") check "$1, over SDP" over_sdp "${1/SERVER/$SERVER}" ;;
	"sdp-run redis-cli"*) check "$1, over SDP" over_sdp "[ \"\$($1)\" = PONG ]" ;;
	*) check "$1" bash -c "$1" ;;
	esac
}

# redis WHEN: the service of Debian, as the commands have set it up
redis() {
	check "$1: Redis as a service, over SDP alone" soon over_sdp \
		'[ "$(sdp-run -o redis-cli ping)" = PONG ]'
	check "$1: Redis as a service, for a plain client" over_tcp '[ "$(redis-cli ping)" = PONG ]'
}

# fallback: a server that has TCP alone
fallback() {
	redis-server --port 6390 --save "" >/dev/null &
	soon listens 6390
	check "sdp-run redis-cli, to a server without SDP, over TCP" \
		bash -c '[ "$(sdp-run redis-cli -p 6390 ping)" = PONG ]'
	kill $!
}

# postgresql: with the commands of deployment.rst, for the version that is installed
postgresql() {
	local version command said

	version=$(basename /etc/postgresql/*)
	said=$(sdp-run enable "postgresql@$version-main" 2>&1)
	check "sdp-run enable says that PostgreSQL drops its environment" \
		says "pg_ctlcluster drops this environment" "$said"
	said=$(sdp-run enable postgresql 2>&1)
	check "sdp-run enable says that postgresql.service starts nothing" \
		says "postgresql.service starts no program" "$said"
	while IFS= read -r command; do
		check "$command" bash -c "$command"
	done < <(zgrep -h "^    .*[/@]17[/-]main" /usr/share/doc/sdp-tools/deployment.rst* |
		sed "s/17/$version/")
	check "PostgreSQL as a service, over SDP" soon over_sdp \
		"LC_ALL=C sdp-run -o pg_isready -h 127.0.0.1"
}

# others: services whose clients take SDP alone, and TCP
others() {
	local name

	mkdir -p .ssh
	ssh-keygen -q -t ed25519 -N "" -f .ssh/id_ed25519
	cp .ssh/id_ed25519.pub .ssh/authorized_keys
	printf 'Host *\nBatchMode yes\nStrictHostKeyChecking no\n' >.ssh/config
	printf 'frontend web\n\tbind :8080\n\tdefault_backend nginx\nbackend nginx\n\t%s\n' \
		"server one 127.0.0.1:80" >>/etc/haproxy/haproxy.cfg
	for name in memcached ssh haproxy; do
		check "sdp-run enable $name" bash -c "sdp-run enable $name && systemctl restart $name"
	done
	check "memcached as a service, over SDP" soon over_sdp \
		"printf 'get x\r\nquit\r\n' | sdp-run -o nc -N 127.0.0.1 11211 | grep END"
	check "OpenSSH as a service, over SDP" over_sdp "[ \"\$(sdp-run -o ssh $SERVER echo x)\" = x ]"
	check "OpenSSH as a service, for a plain client" over_tcp "[ \"\$(ssh $SERVER echo x)\" = x ]"
	check "haproxy as a service, over SDP" over_sdp \
		"sdp-run -o curl -sS http://$SERVER:8080/ | grep 'Welcome to nginx'"
	check "haproxy reaches nginx over SDP" over_sdp \
		"curl -sS http://$SERVER:8080/ | grep 'Welcome to nginx'"
}

# services: with the units of Debian
services() {
	check "sdp-run enable nginx" bash -c "sdp-run enable nginx && systemctl restart nginx"
	check "nginx as a service, over SDP" over_sdp \
		"sdp-run -o curl -sS http://127.0.0.1/ | grep 'Welcome to nginx'"
	others
	postgresql
}

# firewall: the rule of deployment.rst alone lets new connections in
firewall() {
	nft -f - <<-END
	table inet test {
		chain input {
			type filter hook input priority 0; policy drop;
			ct state established,related accept
			$(zgrep -h "tcp dport" /usr/share/doc/sdp-tools/deployment.rst*)
		}
	}
	END
	check "the rule of nftables lets SDP and TCP through" nft list chain inet test input
	redis "behind a firewall"
	check "the firewall applies to other ports" \
		bash -c '! timeout 5 sdp-run redis-cli -p 6380 ping'
	nft delete table inet test
}

# confined: a profile of AppArmor that knows of Internet sockets alone
confined() {
	install /usr/bin/curl /usr/local/bin/confined
	cat >/etc/apparmor.d/confined <<-'END'
	abi <abi/3.0>,
	include <tunables/global>
	profile confined /usr/local/bin/confined {
		include <abstractions/base>
		include <abstractions/nameservice>
		include <abstractions/openssl>
	}
	END
	check "AppArmor takes the profile" apparmor_parser -r /etc/apparmor.d/confined
	check "a program that AppArmor confines, over SDP" over_sdp \
		"sdp-run -o confined -sS http://127.0.0.1/ | grep 'Welcome to nginx'"
	check "AppArmor refused it the family of SDP" bash -c \
		'dmesg | grep "apparmor=\"DENIED\".*profile=\"confined\".*family=\"ib\""'
}


# plugged: a network device that comes after the boot, goes, and comes again
plugged() {
	local time

	check "systemctl enable sdp@plug0, which is not there" systemctl enable sdp@plug0
	for time in once again; do
		ip link add plug0 type dummy
		check "a network device comes $time, and its RDMA device with it" soon device plug0
		ip link delete plug0
		# systemd starts no unit that is still stopping
		check "its unit ends with it" soon bash -c \
			'[ "$(systemctl is-active sdp@plug0)" = inactive ]'
	done
	check "systemctl disable sdp@plug0" systemctl disable sdp@plug0
}

# signed: with a key that mokutil can give to the firmware
signed() {
	check "DKMS has signed the modules" bash -c '[ -n "$(modinfo -F signer sdp)" ]'
	check "the key is where the documents say" openssl x509 -inform der -noout \
		-in /var/lib/dkms/mok.pub
}

# clean WHEN: the kernel has no complaint, and no unit has failed
clean() {
	check "$1: no unit has failed" bash -c '! systemctl --failed --no-legend | grep .'
	check "$1: the kernel has no complaint" bash -c \
		'! dmesg | grep -E "WARNING:|BUG:|Call Trace|Oops"'
}

first() {
	local command
	SECONDS=0
	while IFS= read -r command; do
		one "$command"
	done <commands
	redis "before the reboot"
	echo "# took $SECONDS s from the installed packages on, in an emulated machine"
	fallback
	check "sdpstat check" sdpstat check 127.0.0.1:6379
	services
	firewall
	confined
	plugged
	signed
	clean "before the reboot"
	systemctl reboot
}

second() {
	check "after the reboot: eth0 has its RDMA device" soon device eth0
	check "after the reboot: lo has its RDMA device" soon device lo
	redis "after the reboot"
	check "sdp-run disable redis-server" \
		bash -c 'sdp-run disable redis-server && systemctl restart redis-server'
	check "Redis is a TCP server again" soon over_tcp '[ "$(sdp-run redis-cli ping)" = PONG ]'
	check "systemctl disable --now sdp@eth0" systemctl disable --now sdp@eth0
	check "eth0 has no RDMA device" bash -c '! rdma link show | grep "netdev eth0"'
	clean "after the reboot"
	echo end
	systemctl poweroff
}

systemctl is-system-running --wait >/dev/null
if [ ! -e rebooted ]; then
	touch rebooted
	sync
	first
else
	second
fi
