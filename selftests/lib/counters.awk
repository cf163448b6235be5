# SPDX-License-Identifier: GPL-2.0
# Reads two files of counters_take (stack.sh), before and after; afterwards
# d[END, NAME] is what has been added, for END a or b and names that begin with
# sdp_, hyb_ (the iWARP device) or nic_ (the simulated NIC).

function counter(end, name, value)
{
	if (NR == FNR)
		old[end, name] = value
	else
		d[end, name] = value - old[end, name]
}

$1 == "@" { end = $2; what = $3; next }
# /sys/.../rda/ports/1/hw_counters/NAME:VALUE
what == "hyb" {
	n = split($1, path, /[\/:]/)
	for (i = 1; i <= n; i++)
		if (path[i] ~ /^rd[ab]$/)
			end = substr(path[i], 3)
	counter(end, "hyb_" path[n - 1], path[n])
}
what == "sdp" { counter(end, "sdp_" $1, $2) }
what == "nic" && NF == 2 {
	sub(/:$/, "", $1)
	counter(end, "nic_" $1, $2)
}
