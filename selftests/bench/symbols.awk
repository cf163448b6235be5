# SPDX-License-Identifier: GPL-2.0
# Instructions by function. Input, sorted by the first field: "PC - COUNT" lines
# of insn_count.c and "ADDRESS TYPE NAME [MODULE]" lines of /proc/kallsyms. The
# addresses have 16 digits, so that sorting them as text is right.
#   -v unit=N: also print instructions per unit (a byte, a message)
# Output is not sorted.

$2 == "-" {
	name = $1 < "ffff800000000000" ? "[user]" : sym
	count[name] += $3
	total += $3
	next
}
$2 ~ /^[tTwW]$/ { sym = $3 ($4 == "" ? "" : " " $4) }

END {
	for (name in count)
		printf("%14.0f %6.2f%% %10.3f  %s\n", count[name], 100 * count[name] / total, count[name] / unit, name)
	printf("%14.0f %6.2f%% %10.3f  %s\n", total, 100, total / unit, "total")
}
