// SPDX-License-Identifier: GPL-2.0
/*
 * Facts about drivers that have not called rdma_stack_register(). Lowest layer,
 * pure functions: calls nothing.
 *
 * Each row says where the facts were read, in the tree of Linux 6.1 unless
 * said otherwise. A row shows what the driver does with a reliable
 * connection today, not what its hardware could do. A driver without a row is
 * unknown; drivers that serve user space only have none.
 *
 * No verbs provider joins small sends: a Send consumes one receive of the
 * peer (IBTA 9.7.4, RFC 5040 5.3), hence "coalescing" is absent everywhere.
 * Markers exist in MPA only (RFC 5044 4.3): absent on InfiniBand and RoCE.
 */
#include <linux/module.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>

#include "stack.h"

enum stack_wire {
	STACK_WIRE_ANY,
	STACK_WIRE_IWARP,
	STACK_WIRE_IB,		/* InfiniBand or RoCE */
};

/* One row; the first that fits counts */
struct stack_known {
	u32 driver_id;
	const char *module;	/* only if this is the driver's module */
	enum stack_wire wire;
	u8 place[RDMA_STACK_COMPS];
};

/* @rest: place of flow control, buffering, ordering and reliability, always together */
#define PLACES(crc, demux, markers, rest) {			\
	[RDMA_STACK_CRC]		= RDMA_STACK_##crc,	\
	[RDMA_STACK_DEMUX]		= RDMA_STACK_##demux,	\
	[RDMA_STACK_MARKERS]		= RDMA_STACK_##markers,	\
	[RDMA_STACK_FLOW_CONTROL]	= RDMA_STACK_##rest,	\
	[RDMA_STACK_BUFFERING]		= RDMA_STACK_##rest,	\
	[RDMA_STACK_ORDERING]		= RDMA_STACK_##rest,	\
	[RDMA_STACK_RELIABILITY]	= RDMA_STACK_##rest,	\
	[RDMA_STACK_COALESCING]		= RDMA_STACK_ABSENT,	\
}

/* An adapter that does the whole transport, without markers */
#define HCA	PLACES(NIC, NIC, ABSENT, NIC)

static const struct stack_known stack_known[] = {
	/*
	 * iwarp_hybrid as long as it has registered nothing. It has the driver_id
	 * of siw, and is software over the host's TCP as well.
	 */
	{ RDMA_DRIVER_SIW, "iwarp_hybrid", STACK_WIRE_IWARP,
	  PLACES(HOST, HOST, HOST, HOST) },
	/*
	 * siw: crc32c by crypto_shash (siw_qp_tx.c, siw_qp_rx.c), kernel TCP
	 * sockets for the rest; "MPA Markers: currently not supported"
	 * (siw_cm.c, siw_proc_mpareq()).
	 */
	{ RDMA_DRIVER_SIW, NULL, STACK_WIRE_IWARP,
	  PLACES(HOST, HOST, ABSENT, HOST) },
	/*
	 * rxe: CRC in rxe_icrc.c, UDP socket and QP number looked up in
	 * rxe_recv.c, PSN and RNR in rxe_resp.c, retransmission in rxe_comp.c.
	 */
	{ RDMA_DRIVER_RXE, NULL, STACK_WIRE_ANY,
	  PLACES(HOST, HOST, ABSENT, HOST) },
	/*
	 * hfi1, qib: the protocol is software (rdmavt, hfi1/rc.c, qib_rc.c),
	 * QPs are found by rvt_lookup_qpn(); the link layer's hardware makes
	 * and checks the CRCs of InfiniBand packets (hfi1/rc.c and qib_rc.c
	 * only count SIZE_OF_CRC).
	 */
	{ RDMA_DRIVER_HFI1, NULL, STACK_WIRE_ANY,
	  PLACES(NIC, HOST, ABSENT, HOST) },
	{ RDMA_DRIVER_QIB, NULL, STACK_WIRE_ANY,
	  PLACES(NIC, HOST, ABSENT, HOST) },
	/*
	 * cxgb4: full offload, with markers in hardware towards a peer that
	 * wants them (cm.c: xmit_marker_enabled, module parameters
	 * crc_enabled and markers_enabled).
	 */
	{ RDMA_DRIVER_CXGB4, NULL, STACK_WIRE_IWARP,
	  PLACES(NIC, NIC, NIC, NIC) },
	/*
	 * irdma, iWARP: full offload, markers in hardware towards a peer that
	 * wants them (cm.c: snd_mark_en; ctrl.c: IRDMAQPC_SNDMARKERS, MPA CRC
	 * errors are events of the hardware). RoCE on the same adapter: the
	 * row below.
	 */
	{ RDMA_DRIVER_IRDMA, NULL, STACK_WIRE_IWARP,
	  PLACES(NIC, NIC, NIC, NIC) },
	{ RDMA_DRIVER_IRDMA, NULL, STACK_WIRE_IB, HCA },
	/*
	 * qedr, iWARP: full offload, CRC asked of the firmware (qed_iwarp.c:
	 * QED_IWARP_PARAM_CRC_NEEDED), which has no setting for markers.
	 */
	{ RDMA_DRIVER_QEDR, NULL, STACK_WIRE_IWARP, HCA },
	{ RDMA_DRIVER_QEDR, NULL, STACK_WIRE_IB, HCA },
	/* erdma: "Currently does not support marker and crc" (erdma_cm.c) */
	{ RDMA_DRIVER_ERDMA, NULL, STACK_WIRE_IWARP,
	  PLACES(ABSENT, NIC, ABSENT, NIC) },
	/*
	 * InfiniBand and RoCE adapters with transport in hardware or firmware:
	 * drivers that only set up queue pairs (mlx5/qp.c, mlx4/qp.c,
	 * mthca_qp.c, bnxt_re/qplib_fp.c, ocrdma_hw.c, hns_roce_hw_v2.c).
	 */
	{ RDMA_DRIVER_MLX5, NULL, STACK_WIRE_IB, HCA },
	{ RDMA_DRIVER_MLX4, NULL, STACK_WIRE_IB, HCA },
	{ RDMA_DRIVER_MTHCA, NULL, STACK_WIRE_IB, HCA },
	{ RDMA_DRIVER_BNXT_RE, NULL, STACK_WIRE_IB, HCA },
	{ RDMA_DRIVER_OCRDMA, NULL, STACK_WIRE_IB, HCA },
	{ RDMA_DRIVER_HNS, NULL, STACK_WIRE_IB, HCA },
};

static bool stack_wire_fits(const struct ib_device *dev, enum stack_wire wire)
{
	if (wire == STACK_WIRE_ANY)
		return true;
	/* the core has not set the ports up yet, or there is none */
	if (!dev->port_data || !dev->phys_port_cnt)
		return false;
	if (rdma_protocol_iwarp(dev, rdma_start_port(dev)))
		return wire == STACK_WIRE_IWARP;
	return wire == STACK_WIRE_IB;
}

static bool stack_module_is(const struct ib_device *dev, const char *name)
{
	struct module *owner = dev->ops.owner;

	return !name || (owner && !strcmp(module_name(owner), name));
}

/**
 * stack_known_query() - answer from driver_id, module and protocol of a device
 * @dev: device, referenced by the caller
 * @map: filled in; all unknown if there is no row
 *
 * Context: any.
 * Return: 0, or -ENODATA if nothing is known of the driver.
 */
int stack_known_query(const struct ib_device *dev, struct rdma_stack_map *map)
{
	const struct stack_known *k;

	memset(map, 0, sizeof(*map));
	for (k = stack_known; k < stack_known + ARRAY_SIZE(stack_known); k++) {
		if (k->driver_id != dev->ops.driver_id ||
		    !stack_module_is(dev, k->module) ||
		    !stack_wire_fits(dev, k->wire))
			continue;
		memcpy(map->place, k->place, sizeof(map->place));
		return 0;
	}
	return -ENODATA;
}
