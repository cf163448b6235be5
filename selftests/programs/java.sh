#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=900
#
# Java: selectors over many channels, blocking sockets with a time limit, the
# HTTP server and client of the JDK. Its sockets are IPv6 ones that speak IPv4.

# shellcheck source=selftests/programs/lib.bash
. "$(dirname "$0")/lib.bash"

HERE=$(cd "$(dirname "$0")" && pwd)
KB=$(scaled 256 32)
LIMIT=$((LIMIT * 3))

session_java() {
	serve 7701 "${JAVA[@]}" Nio server "$SERVER" 7701 &&
		run "${JAVA[@]}" Nio client "$SERVER" 7701 "$KB"
}

session_java_http() {
	serve 7702 "${JAVA[@]}" Nio web "$SERVER" 7702 &&
		run "${JAVA[@]}" Nio fetch "$SERVER" 7702 "$KB"
}

programs_up
packages_up
JDK=/packages/usr/lib/jvm/default-java/bin
JAVA=("$JDK/java" -Xmx128m -XX:TieredStopAtLevel=1 -cp "$DIR")
ktap_check "the program compiles" "$JDK/javac" -d "$DIR" "$HERE/Nio.java"
same java $((KB << 14))
same java_http $((KB << 11))
ktap_done
