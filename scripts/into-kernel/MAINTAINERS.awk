# SPDX-License-Identifier: GPL-2.0
#
# awk -f MAINTAINERS.awk ENTRIES MAINTAINERS: print the second file with the entries
# of the first in it. Entries are separated by empty lines and sorted by title.
# An entry goes before the first two titles that both follow it, as single titles
# of the kernel's file are out of order.
FNR == NR {
	if (!/^#/ && NF)
		entry[fresh ? n : n += 1] = (fresh ? entry[n] "\n" : "") $0
	fresh = NF && !/^#/
	next
}
{
	line[FNR] = $0
	if (inside && !NF_before && NF)
		title[++titles] = FNR
	inside = inside || /^Maintainers List/
	NF_before = NF
}
END {
	for (i = 1; i < titles; i++) {
		a = toupper(line[title[i]])
		b = toupper(line[title[i + 1]])
		while (at < n && entry[at + 1] < a && entry[at + 1] < b)
			before[title[i]] = before[title[i]] entry[++at] "\n\n"
	}
	for (i = 1; i <= FNR; i++)
		printf "%s%s\n", before[i], line[i]
	exit at < n
}
