/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sdpbench, marks around what is measured: instructions that do nothing. An
 * emulator that counts instructions by function recognises them (see
 * selftests/bench/profile.sh).
 */
#ifndef SDPBENCH_MARK_H
#define SDPBENCH_MARK_H

static inline void bench_mark_start(void)
{
#ifdef __x86_64__
	/* nopl with a displacement that no compiler uses: "SDP", then 1 */
	__asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00, 0x53, 0x44, 0x50, 1");
#endif
}

static inline void bench_mark_stop(void)
{
#ifdef __x86_64__
	__asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00, 0x53, 0x44, 0x50, 2");
#endif
}

#endif /* SDPBENCH_MARK_H */
