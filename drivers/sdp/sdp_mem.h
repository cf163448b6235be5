/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Account of the buffers of verbs links, see sdp_mem.c.
 */
#ifndef _SDP_MEM_H
#define _SDP_MEM_H

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/percpu.h>
#include <linux/percpu_counter.h>
#include <linux/types.h>

struct sock;

/* for struct proto and net.sdp.mem */
extern atomic_long_t sdp_mem_allocated;
extern struct percpu_counter sdp_mem_sockets;
extern unsigned long sdp_mem_pressure;
extern long sdp_mem_limits[3];
extern int sdp_mem_min;
DECLARE_PER_CPU(int, sdp_mem_fw_alloc);

int sdp_mem_init(void);
void sdp_mem_exit(void);
bool sdp_mem_charge_rx(struct sock *sk, u32 size, bool must);
void sdp_mem_uncharge_rx(struct sock *sk, u32 size);
bool sdp_mem_charge_tx(struct sock *sk, u32 size, bool must);
void sdp_mem_uncharge_tx(struct sock *sk, u32 size);
bool sdp_mem_full(struct sock *sk);

/* Must unused memory be freed at once instead of being kept? Context: any. */
static inline bool sdp_mem_short(void)
{
	return unlikely(READ_ONCE(sdp_mem_pressure));
}

#endif /* _SDP_MEM_H */
