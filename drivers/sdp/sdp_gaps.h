/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copies between an application's memory and payload with gaps. The kernel's functions
 * could only copy it piece by piece. A piece between two markers has 508 bytes, and a third
 * of the instructions for it are for entering, leaving and aligning such a function. Leaf:
 * calls nothing of SDP.
 *
 * All sizes are multiples of four, and a piece with the gap after it is one of eight. So
 * each piece but the last is copied in words of eight bytes. If its length is not a multiple
 * of eight, the copy exceeds it by half a word. That half word lands where the next piece
 * begins, or in the gap. Nothing outside of the payload, its gaps and the user's memory is
 * touched.
 */
#ifndef _SDP_GAPS_H
#define _SDP_GAPS_H

#include <linux/instrumented.h>
#include <linux/uaccess.h>
#include <rdma/rdma_stack.h>

/* User Mode Linux cannot address user memory */
#if defined(CONFIG_X86_64) && !defined(CONFIG_UML)
#include <asm/asm.h>
#include <asm/cpufeature.h>
#include <asm/smap.h>

/* @n words of eight bytes; returns false on a fault */
static __always_inline bool sdp_gaps_words(void **to, const void **from,
					   unsigned long n)
{
	asm volatile("1:	rep movsq\n"
		     "2:\n"
		     _ASM_EXTABLE_UA(1b, 2b)
		     : "+D" (*to), "+S" (*from), "+c" (n) : : "memory");
	return !n;
}

static __always_inline bool sdp_gaps_bytes(void **to, const void **from,
					   unsigned long n)
{
	asm volatile("1:	rep movsb\n"
		     "2:\n"
		     _ASM_EXTABLE_UA(1b, 2b)
		     : "+D" (*to), "+S" (*from), "+c" (n) : : "memory");
	return !n;
}

/*
 * @len bytes, of which @head are before the first gap; gaps are at @to, or
 * else at @from. The caller has opened user memory.
 */
static __always_inline bool sdp_gaps_move(void *to, const void *from, u32 head,
					  u32 step, u32 len, bool at_to)
{
	u32 words = (step + RDMA_STACK_GAP) / 8;
	long more = head & RDMA_STACK_GAP;

	if (len > head) {
		if (unlikely(!sdp_gaps_words(&to, &from, (head + more) / 8)))
			return false;
		len -= head;
		from += at_to ? -more : RDMA_STACK_GAP - more;
		to += at_to ? RDMA_STACK_GAP - more : -more;
		for (; len > step; len -= step) {
			if (unlikely(!sdp_gaps_words(&to, &from, words)))
				return false;
			from -= at_to ? RDMA_STACK_GAP : 0;
			to -= at_to ? 0 : RDMA_STACK_GAP;
		}
	}
	return likely(sdp_gaps_words(&to, &from, len / 8)) &&
	       likely(sdp_gaps_bytes(&to, &from, len % 8));
}

/* Can it be done in this way? */
static inline bool sdp_gaps_even(const struct rdma_stack_gaps *g, u32 len)
{
	return cpu_feature_enabled(X86_FEATURE_REP_GOOD) &&
	       !((g->head | len) & 3) &&
	       (!g->head || g->step % 8 == RDMA_STACK_GAP);
}

/*
 * Copy @len bytes, not 0, of user memory to @to, which has the gaps @g. Returns
 * false if this copy is not possible, or on a fault. Then an unknown part has
 * been copied.
 */
static __always_inline bool
sdp_gaps_get(void *to, const void __user *from, u32 len,
	     const struct rdma_stack_gaps *g)
{
	bool ok;

	if (unlikely(!sdp_gaps_even(g, len)))
		return false;
	instrument_copy_from_user_before(to, from, len);
	stac();
	ok = sdp_gaps_move(to, (__force const void *)from, g->head ?: len,
			   g->step, len, true);
	clac();
	instrument_copy_from_user_after(to, from, len, ok ? 0 : len);
	return ok;
}

/* The other way round */
static __always_inline bool
sdp_gaps_put(void __user *to, const void *from, u32 len,
	     const struct rdma_stack_gaps *g)
{
	bool ok;

	if (unlikely(!sdp_gaps_even(g, len)))
		return false;
	instrument_copy_to_user(to, from, len);
	stac();
	ok = sdp_gaps_move((__force void *)to, from, g->head ?: len, g->step,
			   len, false);
	clac();
	return ok;
}

#else

static inline bool sdp_gaps_get(void *to, const void __user *from, u32 len,
				const struct rdma_stack_gaps *g)
{
	return false;
}

static inline bool sdp_gaps_put(void __user *to, const void *from, u32 len,
				const struct rdma_stack_gaps *g)
{
	return false;
}

#endif

/* Copy @len bytes, not 0, with @at_to or @at_from bytes of a gap after each piece */
static __always_inline void sdp_gaps_copy(void *to, u32 at_to, const void *from,
					  u32 at_from, u32 len,
					  const struct rdma_stack_gaps *g)
{
	u32 n = min_t(u32, g->head ?: len, len);

	for (;;) {
		memcpy(to, from, n);
		len -= n;
		if (!len)
			return;
		to += n + at_to;
		from += n + at_from;
		n = min_t(u32, g->step, len);
	}
}

/* Copy @len bytes, not 0, of the kernel's memory to @to, which has the gaps @g */
static inline void sdp_gaps_fill(void *to, const void *from, u32 len,
				 const struct rdma_stack_gaps *g)
{
	sdp_gaps_copy(to, RDMA_STACK_GAP, from, 0, len, g);
}

/* The other way round: the gaps are at @from */
static inline void sdp_gaps_take(void *to, const void *from, u32 len,
				 const struct rdma_stack_gaps *g)
{
	sdp_gaps_copy(to, 0, from, RDMA_STACK_GAP, len, g);
}

#endif
