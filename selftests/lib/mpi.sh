# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Open MPI of the distribution (sourced after lib.sh): a rank in each of the namespaces a
# and b, which are two hosts with names of their own, so that nothing is shared memory.

MPI_AGENT=/run/mpi-agent
# seconds for a program
MPI_LIMIT=${MPI_LIMIT:-$(scaled 120 600)}
MPI_LIB=/usr/lib/$(uname -m)-linux-gnu

# mpi_up: install Open MPI, and the script that mpirun uses instead of ssh
mpi_up() {
	local name

	[ ! -e "$MPI_AGENT" ] || return 0
	[ -d /packages/usr ] || packages_up
	# where the programs look for their plugins and texts
	for name in openmpi pmix2; do
		[ -e "$MPI_LIB/$name" ] || ln -s "/packages$MPI_LIB/$name" "$MPI_LIB/$name"
	done
	cat >$MPI_AGENT <<-'END'
		#!/bin/bash
		# HOST COMMAND...
		ns=b
		case $1 in 10.0.0.1 | server) ns=a ;; esac
		shift
		exec in-ns $ns unshare -u sh -c "hostname host-$ns; $*"
	END
	chmod +x $MPI_AGENT
	defer rm -f $MPI_AGENT
	export PATH=$PATH:/packages/usr/bin
	# everything in the guest runs as root
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
}

# mpi_bytes: print how many bytes both devices have received; 0 without devices
mpi_bytes() {
	cat /sys/class/infiniband/rd[ab]/ports/1/hw_counters/rx_bytes 2>/dev/null |
		awk '{ n += $1 } END { printf "%.0f\n", n }'
}

# mpi_options DEVICE: what Open MPI is to use, one word a line: "tcp", or the RDMA devices
# by libfabric, whose provider "verbs" connects by the RDMA connection manager
mpi_options() {
	if [ "$1" = tcp ]; then
		printf '%s\n' --mca pml ob1 --mca btl tcp,self \
			--mca btl_tcp_if_include 10.0.0.0/24
	else
		printf '%s\n' --mca pml cm --mca mtl ofi -x "FI_PROVIDER=verbs;ofi_rxm"
	fi
}

# mpi_run DEVICE PROGRAM...: a rank on each host. The ranks poll; mpi_yield_when_idle makes
# an idle rank yield the processor.
mpi_run() {
	local options

	mapfile -t options < <(mpi_options "$1")
	# shellcheck disable=SC2016 # for the inner shell
	in_a timeout -k 5 "$MPI_LIMIT" unshare -u sh -c 'hostname host-a; exec "$@"' sh \
		mpirun.openmpi -np 2 --host 10.0.0.1,10.0.0.2 --mca plm_rsh_agent $MPI_AGENT \
		--mca mpi_yield_when_idle 1 -x PATH -x LD_LIBRARY_PATH "${options[@]}" "${@:2}"
}
