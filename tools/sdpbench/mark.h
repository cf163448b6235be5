/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sdpbench, marks around what is measured: instructions that do nothing, but
 * that an emulator can recognise which counts instructions by function (see
 * selftests/bench/profile.sh).
 */
#ifndef SDPBENCH_MARK_H
#define SDPBENCH_MARK_H

#ifdef __x86_64__
/* nopl with a displacement that no compiler uses: 53 44 50 (SDP), then @n */
#define BENCH_MARK(n) \
	__asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00, 0x53, 0x44, 0x50, " #n)
#else
#define BENCH_MARK(n)
#endif

#define BENCH_MARK_START() BENCH_MARK(1)
#define BENCH_MARK_STOP() BENCH_MARK(2)

#endif /* SDPBENCH_MARK_H */
