# SPDX-License-Identifier: GPL-2.0
# Turns the lines of guest.sh into a table with ratios to TCP, checks the goals
# and writes JSON to the file named by -v json=FILE. Exit status 1: a goal was
# missed, 2: a figure for a goal is missing.

function num(key,   s)
{
	if (!match($0, "\"" key "\":[0-9.]+"))
		return ""
	s = substr($0, RSTART, RLENGTH)
	sub(/.*:/, "", s)
	return s
}

function val(x)
{
	return x == "" ? "null" : x
}

function ratio(x, base)
{
	return x == "" || base == "" || base + 0 == 0 ? "" : x / base
}

function cell(x, r)
{
	if (x == "")
		return sprintf("%17s", "-")
	return sprintf("%9.2f %7s", x, r == "" ? "" : sprintf("(%.2f)", r))
}

$1 == "BENCH-KERNEL" { kernel = $2 }
$1 == "BENCH-FAILED" { failures = failures sprintf("  %s at MTU %s did not work\n", $2, $3); missing = 1 }
$1 == "BENCH" {
	size = num("size")
	mbps[$2, $3, size] = num("mbps")
	ns[$2, $3, size] = num("host_ns_per_byte")
	lat[$2, $3, size] = num("lat_us")
	rows[++n] = sprintf("{\"what\":\"%s\",\"mtu\":%d,\"size\":%d,\"mbps\":%s,\"lat_us\":%s,\"host_ns_per_byte\":%s}",
			    $2, $3, size, val(num("mbps")), val(num("lat_us")), val(num("host_ns_per_byte")))
	if (!(($2, $3) in seen)) {
		seen[$2, $3] = 1
		lines[++m] = $2 SUBSEP $3
	}
}

# goal(TEXT, VALUE, LIMIT, SIGN): SIGN 1 at least, -1 at most
function goal(text, value, limit, sign,   ok)
{
	ok = value == "" ? "missing" : sign * (value - limit) >= 0 ? "ok" : "not reached"
	if (ok == "not reached")
		missed = 1
	if (ok == "missing")
		missing = 1
	printf("  %-52s %8s  %s\n", text, value == "" ? "-" : sprintf("%.3f", value), ok)
	goals[++g] = sprintf("{\"goal\":\"%s\",\"value\":%s,\"ok\":%s}", text, val(value), ok == "ok" ? "true" : "false")
}

function write_json(   i)
{
	printf("{\"lane\":\"count\",\"kernel\":\"%s\",\"rows\":[\n", kernel) > json
	for (i = 1; i <= n; i++)
		printf(" %s%s\n", rows[i], i < n ? "," : "") > json
	printf("],\"goals\":[\n") > json
	for (i = 1; i <= g; i++)
		printf(" %s%s\n", goals[i], i < g ? "," : "") > json
	printf("]}\n") > json
	close(json)
}

END {
	split("64 4096 65536 1048576", sizes, " ")
	for (i = 1; i <= m; i++) {
		split(lines[i], key, SUBSEP)
		w = key[1]; mtu = key[2]
		if (mtu != last)
			printf("\nMTU %-9s %17s %17s %17s %17s %17s\n", mtu, "64 B MB/s", "4 KB MB/s", "64 KB MB/s", "1 MB MB/s", "1 B one-way us")
		last = mtu
		printf("%-13s", w)
		for (j = 1; j <= 4; j++)
			printf(" %s", cell(mbps[w, mtu, sizes[j]], ratio(mbps[w, mtu, sizes[j]], mbps["tcp", mtu, sizes[j]])))
		printf(" %s\n", cell(lat[w, mtu, 1], ratio(lat[w, mtu, 1], lat["tcp", mtu, 1])))
	}
	printf("(in brackets: ratio to TCP)\n\n")

	h = mbps["sdp/hybrid", 1500, 65536]
	goal("sdp/hybrid 64 KB, MTU 1500, x TCP, >= 0.35", ratio(h, mbps["tcp", 1500, 65536]), 0.35, 1)
	goal("sdp/hybrid 64 KB, MTU 1500, x rsocket/siw, >= 4", ratio(h, mbps["rsocket/siw", 1500, 65536]), 4, 1)
	goal("sdp/hybrid 1 B one-way, MTU 1500, x TCP, <= 2", ratio(lat["sdp/hybrid", 1500, 1], lat["tcp", 1500, 1]), 2, -1)
	printf("%s", failures)
	write_json()
	exit missing ? 2 : missed
}
