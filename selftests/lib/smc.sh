# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# SMC-R over rxe (sourced after lib.sh)

# Version 2, the one over RoCEv2, wants an ID in common at both ends
SMC_EID=SELFTESTS

# smc_up: SMC may use the devices of rxe, which are there; rxe does not tell it which of
# them is whose
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
