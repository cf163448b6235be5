# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# SMC-R over rxe (sourced after lib.sh)

# Version 2, the one over RoCEv2, needs the same ID at both ends
SMC_EID=SELFTESTS

# smc_up: let SMC use the rxe devices, which exist. rxe does not report the network device
# of each, so the two are assigned here.
smc_up() {
	modprobe -q -a smc smc_diag && python3 "$LIB_DIR/smc_net.py" eid $SMC_EID &&
		python3 "$LIB_DIR/smc_net.py" pnet PNETA va rda &&
		python3 "$LIB_DIR/smc_net.py" pnet PNETB vb rdb
}

# rxe_packets: packets of RoCE that both have sent
rxe_packets() {
	cat /sys/class/infiniband/rd[ab]/ports/1/hw_counters/sent_pkts |
		awk '{ n += $1 } END { printf "%.0f\n", n }'
}
