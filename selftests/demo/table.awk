# SPDX-License-Identifier: GPL-2.0
# Turns the lines of guest.sh into a table, and into JSON in the file named by
# -v json=FILE. Exit status 1: the guest did not come to its end.

function str(key,   s)
{
	if (!match($0, "\"" key "\":\"[^\"]*\""))
		return ""
	s = substr($0, RSTART, RLENGTH)
	sub("\"" key "\":\"", "", s)
	sub("\"$", "", s)
	return s
}

function num(key,   s)
{
	if (!match($0, "\"" key "\":[0-9]+"))
		return 0
	s = substr($0, RSTART, RLENGTH)
	sub(/.*:/, "", s)
	return s
}

$1 == "DEMO-KERNEL" { kernel = $2 }
$1 == "DEMO-COPIES" { copy[++copies] = substr($0, 13) }
$1 == "DEMO-COMPONENTS" { components = substr($0, 17) }
$1 == "DEMO-STEP" { step = substr($0, 11) }
$1 == "DEMO-ROW" {
	row[++n] = substr($0, 10)
	line[n] = sprintf("%-32s %-34s %15s  %s", str("what"), str("result"), num("sdp_bytes"), str("device"))
}

END {
	ok = step == "done" && rc == 0
	if (n)
		printf("\n%-32s %-34s %15s  %s\n", "what ran over AF_SDP", "result", "bytes over SDP", "device")
	for (i = 1; i <= n; i++)
		print line[i]
	printf("{\"kernel\":\"%s\",\"ok\":%s,\"last_step\":\"%s\",\"runs\":[\n", kernel, ok ? "true" : "false", step) > json
	for (i = 1; i <= n; i++)
		printf(" %s%s\n", row[i], i < n ? "," : "") > json
	printf("],\"components\":%s,\"copies\":[\n", components == "" ? "{}" : components) > json
	for (i = 1; i <= copies; i++)
		printf(" %s%s\n", copy[i], i < copies ? "," : "") > json
	printf("]}\n") > json
	if (step != "done")
		printf("\ndemo: failed in step: %s\n", step == "" ? "build and start of the virtual machine" : step)
	exit !ok
}
