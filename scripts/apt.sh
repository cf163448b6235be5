# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Where this machine gets its packages from (sourced after cache.sh).

# The index files of packages may have been removed to save space
machine_lists() {
	apt-cache show linux-image-amd64 >/dev/null 2>&1 || apt-get -q update >&2
}

# The repository of the Debian release this machine runs
debian_uri() {
	machine_lists
	# shellcheck disable=SC2016
	apt-get indextargets --format '$(REPO_URI)' \
		"Created-By: Packages" "Origin: Debian" "Label: Debian" |
		head -n1 | grep . || die "apt knows no Debian repository"
}
