// SPDX-License-Identifier: GPL-2.0
/*
 * NIC offload, the provider's half. See hyb_offload.h.
 */
#include "hybrid.h"
#include "hyb_offload.h"

#if IS_ENABLED(CONFIG_SOCK_VALIDATE_XMIT)

int hyb_off_attach(struct hyb_qp *qp, struct sock *sk)
{
	return 0;
}

void hyb_off_detach(struct hyb_qp *qp)
{
}

void hyb_off_update(struct hyb_qp *qp)
{
}

bool hyb_off_room(struct hyb_off *off, unsigned int pieces)
{
	return false;
}

void hyb_off_record(struct hyb_qp *qp, u64 pos, u8 layout,
		    const struct hyb_off_piece *piece, unsigned int nr)
{
}

void hyb_off_free_acked(struct hyb_qp *qp)
{
}

void hyb_off_answer(struct hyb_qp *qp, u32 seq, u64 pos)
{
}

void hyb_off_lied(struct hyb_qp *qp)
{
}

int hyb_off_show(struct hyb_qp *qp, char *buf)
{
	return 0;
}

u32 hyb_off_dev_nic(struct net_device *netdev)
{
	return 0;
}

int hyb_off_cpu(struct hyb_qp *qp)
{
	return -1;
}

int hyb_off_queue(struct hyb_qp *qp)
{
	return -1;
}

const char *hyb_off_steer(struct hyb_qp *qp)
{
	return "host";
}

int hyb_off_init(void)
{
	return 0;
}

void hyb_off_exit(void)
{
}

#endif
