#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=3600 mem=4G
#
# Apache Spark on three hosts at a bridge: a master and the program on the first, a worker
# on each of the others. Shuffles between the workers, a broadcast, results and an error.
# Over TCP, then under sdp-run: the same results, and the bytes are on SDP.

# shellcheck source=selftests/programs/lib.bash
. "$(dirname "$0")/lib.bash"

HERE=$(cd "$(dirname "$0")" && pwd)
COUNT=$(scaled 1000 100)
SIZE=1000
JARS=/spark/jars
OPTIONS=(-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData)
# packages that Spark accesses by reflection
for package in lang lang.invoke lang.reflect io net nio util util.concurrent \
	util.concurrent.atomic; do
	OPTIONS+=("--add-opens=java.base/java.$package=ALL-UNNAMED")
done
OPTIONS+=(--add-opens=java.base/sun.nio.ch=ALL-UNNAMED
	--add-opens=java.base/sun.nio.cs=ALL-UNNAMED
	--add-opens=java.base/sun.security.action=ALL-UNNAMED)
# limits under which Spark does not give up a host that is slow, as under emulation
SLOW=(-Dspark.network.timeout=1200s -Dspark.rpc.askTimeout=1200s
	-Dspark.rpc.lookupTimeout=1200s -Dspark.worker.timeout=1200
	-Dspark.executor.heartbeatInterval=100s)

# java_on HOST [OPTION...] CLASS [ARGUMENT...]: run a class with Spark's on that host, under
# the command VIA
java_on() {
	in_n "$1" env SPARK_LOCAL_IP="10.0.0.$1" SPARK_HOME=/spark SPARK_SCALA_VERSION=2.12 \
		SPARK_LOCAL_DIRS=$DIR/local timeout -k 5 1600 "${VIA[@]}" "$JDK/java" \
		"${OPTIONS[@]}" "${SLOW[@]}" -Xmx512m -cp "$DIR:$JARS/*" "${@:2}"
}

# session COMMAND...: run cluster and program under that command; what the program prints
session() {
	local VIA=("$@") pids=() i

	start_bg - java_on 1 org.apache.spark.deploy.master.Master --host 10.0.0.1 --port 7077 \
		--webui-port 8080
	pids+=("$BG_PID")
	for i in 2 3; do
		start_bg - java_on $i org.apache.spark.deploy.worker.Worker --host "10.0.0.$i" \
			--cores 1 --memory 600M -d "$DIR/work$i" --webui-port 8081 spark://10.0.0.1:7077
		pids+=("$BG_PID")
	done
	java_on 1 -Dspark.master=spark://10.0.0.1:7077 -Dspark.app.name=job \
		-Dspark.driver.host=10.0.0.1 -Dspark.ui.enabled=false -Dspark.cores.max=2 \
		-Dspark.executor.memory=512m "-Dspark.executor.extraClassPath=$DIR" \
		"-Dspark.executor.extraJavaOptions=${OPTIONS[*]:0:3}" \
		-Dspark.scheduler.minRegisteredResourcesRatio=1.0 \
		-Dspark.scheduler.maxRegisteredResourcesWaitingTime=1200s \
		SparkJob "$COUNT" $SIZE 2>$DIR/errors || tail -n 30 $DIR/errors
	for i in "${pids[@]}"; do
		stop_bg "$i"
	done
}

cluster_up 3
packages_up
spark_up
JDK=/packages/usr/lib/jvm/default-java/bin
ktap_check "the program compiles" "$JDK/javac" -d "$DIR" \
	-cp "$(echo $JARS/{spark-core,spark-common,scala-library}*.jar | tr ' ' :)" \
	"$HERE/SparkJob.java"
session >$DIR/tcp
ktap_check "over TCP: the job is done" grep -q '^error: ArithmeticException$' $DIR/tcp ||
	ktap_diag "$(cat $DIR/tcp)"
ktap_is "over TCP: nothing is on SDP" "$(cluster_sent)" 0
session sdp-run >$DIR/sdp
ktap_is "under sdp-run: the same results" "$(cat $DIR/sdp)" "$(cat $DIR/tcp)"
# half of the records go to the other worker, and each worker gets the broadcast
least=$((4 * COUNT * SIZE / 2 + (2 << 20)))
moved=$(cluster_sent)
ktap_check "under sdp-run: $moved bytes on SDP, $least at least" test "$moved" -ge "$least"
ktap_diag "$(cat $DIR/sdp)"
ktap_done
