#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=400
#
# OpenSSH: commands, copies in both directions, a tunnel through it, and rsync,
# over ssh and with its own server.

# shellcheck source=selftests/programs/lib.bash
. "$(dirname "$0")/lib.bash"
need sshd ssh scp ssh-keygen rsync

BYTES=$(scaled 3000000 300000)
SSH=(ssh -p 7401 -F none -i "$DIR/key" -o BatchMode=yes
	-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null
	-o LogLevel=ERROR)

session_ssh() {
	serve 7401 "$(command -v sshd)" -D -e -f "$DIR/sshd_config" || return
	echo "command: $(run "${SSH[@]}" root@"$SERVER" 'echo to stdout; echo to stderr >&2; exit 7' 2>&1; echo $?)"
	echo "in and out: $(run "${SSH[@]}" root@"$SERVER" 'cat' <"$DIR/file" | sha)"
	run scp -q -O -P 7401 "${SSH[@]:3}" "$DIR/file" root@"$SERVER":"$DIR/copy1" &&
		echo "scp there: $(sha <"$DIR/copy1")"
	run scp -q -P 7401 "${SSH[@]:3}" root@"$SERVER":"$DIR/file" "$DIR/copy2" &&
		echo "sftp back: $(sha <"$DIR/copy2")"
	run rsync -a -e "${SSH[*]}" "$DIR/tree/" root@"$SERVER":"$DIR/tree2/" &&
		diff -r "$DIR/tree" "$DIR/tree2" && echo "rsync over ssh: the same"
	rm -rf "$DIR/tree2"
}

session_rsync() {
	serve 7402 rsync --daemon --no-detach --config "$DIR/rsyncd.conf" \
		--address "$SERVER" --port 7402 || return
	run rsync -a --stats "rsync://$SERVER:7402/tree/" "$DIR/tree3/" |
		grep -E '^(Number of|Total file|Total trans|Literal)'
	diff -r "$DIR/tree" "$DIR/tree3" && echo "from the server: the same"
	echo changed >>"$DIR/tree3/file2"
	run rsync -a --stats "$DIR/tree3/" "rsync://$SERVER:7402/up/" |
		grep -E '^(Number of|Literal|Matched)'
	diff -r "$DIR/tree3" "$DIR/up" && echo "to the server: the same"
	rm -rf "$DIR/tree3" "$DIR/up/"*
}

# add_user: the user of sshd's unprivileged process
add_user() {
	cp /etc/passwd $DIR/passwd
	grep -q '^sshd:' $DIR/passwd ||
		echo 'sshd:x:99:65534::/run/sshd:/bin/false' >>$DIR/passwd
	mount --bind $DIR/passwd /etc/passwd
	defer umount /etc/passwd
	mkdir -p /run/sshd
}

programs_up
random_file file "$BYTES"
mkdir $DIR/tree $DIR/up
for i in 1 2 3 4 5; do
	random_file tree/file$i $((BYTES * i / 10))
done
ln -s file1 $DIR/tree/link
add_user
ssh-keygen -q -t ed25519 -N '' -f $DIR/key
ssh-keygen -q -t ed25519 -N '' -f $DIR/host
cat >$DIR/sshd_config <<END
ListenAddress $SERVER:7401
HostKey $DIR/host
AuthorizedKeysFile $DIR/key.pub
PermitRootLogin yes
StrictModes no
UsePAM no
PidFile none
Subsystem sftp internal-sftp
END
cat >$DIR/rsyncd.conf <<END
use chroot = no
uid = root
gid = root
[tree]
path = $DIR/tree
[up]
path = $DIR/up
read only = no
END
same ssh $((BYTES * 4))
same rsync $((BYTES * 3))
ktap_done
