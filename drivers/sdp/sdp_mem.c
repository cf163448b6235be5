// SPDX-License-Identifier: GPL-2.0
/*
 * Account of the buffers of verbs links: one for the machine, that of struct proto, with
 * limits as tcp_mem. Pages of shared links are in TCP's account. Calls counters only.
 *
 * It is charged for whole buffers, where they are allocated and freed, in any context: so
 * without sk_forward_alloc, which belongs to the owner of the socket. Otherwise the rules
 * are those of __sk_mem_raise_allocated(). The pages themselves are charged to the memory
 * control group of the socket by the page allocator (sdp_sock_charge()). The account also has
 * the data that a shared link leaves when it ends (sdp_shared_orphan()).
 *
 * Each socket may have one buffer to send and one to receive, whatever others have, so
 * that its data moves on when the peer and the program do their part.
 */
#include <linux/percpu_counter.h>
#include <linux/swap.h>
#include <net/sock.h>

#include "compat.h"
#include "sdp.h"
#include "sdp_mem.h"
#include "sdp_mib.h"

#define SDP_MEM_SHARE	16	/* of the machine's memory, as for TCP */
#define SDP_MEM_MIN	128UL	/* pages */

atomic_long_t sdp_mem_allocated;
struct percpu_counter sdp_mem_sockets;
unsigned long sdp_mem_pressure;
long sdp_mem_limits[3] __read_mostly;
/*
 * struct proto.sysctl_rmem: __sk_mem_schedule() charges memory that exists already, so also
 * beyond the limits
 */
int sdp_mem_min = INT_MAX;
DEFINE_PER_CPU(int, sdp_mem_fw_alloc);

/**
 * sdp_mem_init() - set the limits to their defaults
 *
 * Context: module init.
 *
 * Return: 0 or -ENOMEM.
 */
int __init sdp_mem_init(void)
{
	unsigned long limit = nr_free_buffer_pages() / SDP_MEM_SHARE;

	limit = max(limit, SDP_MEM_MIN);
	sdp_mem_limits[0] = limit / 4 * 3;
	sdp_mem_limits[1] = limit;
	sdp_mem_limits[2] = sdp_mem_limits[0] * 2;
	return percpu_counter_init(&sdp_mem_sockets, 0, GFP_KERNEL);
}

/**
 * sdp_mem_exit() - the module goes
 *
 * Context: process; no socket is left.
 */
void sdp_mem_exit(void)
{
	percpu_counter_destroy(&sdp_mem_sockets);
}

/* Is the socket accounted in its control group only? */
static bool sdp_mem_bypassed(const struct sock *sk)
{
#ifdef HAVE_SK_BYPASS_PROT_MEM
	return sk->sk_bypass_prot_mem;
#else
	return false;
#endif
}

static void sdp_mem_press(bool on)
{
	if (READ_ONCE(sdp_mem_pressure) != on)
		WRITE_ONCE(sdp_mem_pressure, on);
}

/* Would the limit hold if each socket had as much memory as this one? */
static bool sdp_mem_fair(const struct sock *sk)
{
	s64 socks = percpu_counter_read_positive(&sdp_mem_sockets);
	int own = atomic_read(&sk->sk_rmem_alloc) +
		  atomic_read(&sdp_sk(sk)->tx_mem);

	return socks * sk_mem_pages(own) < sk_prot_mem_limits(sk, 2);
}

/* May a socket keep the memory that it was just charged for? */
static bool sdp_mem_allowed(const struct sock *sk)
{
	long allocated = sk_memory_allocated(sk);

	if (allocated <= sk_prot_mem_limits(sk, 0)) {
		sdp_mem_press(false);
		return true;
	}
	if (allocated > sk_prot_mem_limits(sk, 1))
		sdp_mem_press(true);
	if (allocated > sk_prot_mem_limits(sk, 2))
		return false;
	return !READ_ONCE(sdp_mem_pressure) || sdp_mem_fair(sk);
}

static void sdp_mem_uncharge(struct sock *sk, atomic_t *held, u32 size)
{
	int pages = sk_mem_pages(size);

	atomic_sub(size, held);
	SDP_ADD_STATS(sock_net(sk), MEM_PAGES, -pages);
	if (sdp_mem_bypassed(sk))
		return;
	sk_memory_allocated_sub(sk, pages);
	if (unlikely(READ_ONCE(sdp_mem_pressure)) &&
	    sk_memory_allocated(sk) < sk_prot_mem_limits(sk, 0))
		sdp_mem_press(false);
}

static bool sdp_mem_charge(struct sock *sk, atomic_t *held, u32 size, bool must)
{
	bool first = atomic_add_return(size, held) == size;
	int pages = sk_mem_pages(size);

	SDP_ADD_STATS(sock_net(sk), MEM_PAGES, pages);
	if (sdp_mem_bypassed(sk))
		return true;
	sk_memory_allocated_add(sk, pages);
	if (likely(sdp_mem_allowed(sk)) || first || must)
		return true;
	sdp_mem_uncharge(sk, held, size);
	SDP_INC_STATS(sock_net(sk), MEM_LIMIT);
	return false;
}

/**
 * sdp_mem_charge_rx() - a receive buffer is about to be allocated
 * @sk: socket that it is for
 * @size: bytes of it, whole pages
 * @must: without it the connection would stall
 *
 * Context: any.
 *
 * Return: whether it may be; then sdp_mem_uncharge_rx() follows when it is freed, or when
 * a program or a pipe has it alone.
 */
bool sdp_mem_charge_rx(struct sock *sk, u32 size, bool must)
{
	return sdp_mem_charge(sk, &sk->sk_rmem_alloc, size, must);
}

/**
 * sdp_mem_uncharge_rx() - a receive buffer is not the socket's any more
 * @sk: its socket
 * @size: bytes that were charged
 *
 * Context: any.
 */
void sdp_mem_uncharge_rx(struct sock *sk, u32 size)
{
	sdp_mem_uncharge(sk, &sk->sk_rmem_alloc, size);
}

/**
 * sdp_mem_charge_tx() - a send buffer is about to be allocated
 * @sk: socket that it is for
 * @size: bytes of it, whole pages
 * @must: no send in flight would free another buffer
 *
 * Context: any.
 *
 * Return: whether it may be; then sdp_mem_uncharge_tx() follows when it is freed.
 */
bool sdp_mem_charge_tx(struct sock *sk, u32 size, bool must)
{
	return sdp_mem_charge(sk, &sdp_sk(sk)->tx_mem, size, must);
}

/**
 * sdp_mem_uncharge_tx() - a send buffer is freed
 * @sk: its socket
 * @size: bytes that were charged
 *
 * Context: any.
 */
void sdp_mem_uncharge_tx(struct sock *sk, u32 size)
{
	sdp_mem_uncharge(sk, &sdp_sk(sk)->tx_mem, size);
}

/**
 * sdp_mem_full() - is there no memory for buffers that a new connection starts with?
 * @sk: its socket
 *
 * Context: any.
 *
 * Return: whether the limit is reached; then that is counted.
 */
bool sdp_mem_full(struct sock *sk)
{
	if (sdp_mem_bypassed(sk) ||
	    likely(sk_memory_allocated(sk) < sk_prot_mem_limits(sk, 2)))
		return false;
	SDP_INC_STATS(sock_net(sk), MEM_LIMIT);
	net_info_ratelimited("sdp: buffers take net.sdp.mem (%ld pages), connection refused\n",
			     sk_prot_mem_limits(sk, 2));
	return true;
}
