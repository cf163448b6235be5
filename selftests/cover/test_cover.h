/* SPDX-License-Identifier: GPL-2.0 */
/* The compiler calls it with -fsanitize-coverage=trace-pc */
#ifndef TEST_COVER_H
#define TEST_COVER_H

void __sanitizer_cov_trace_pc(void);

#endif /* TEST_COVER_H */
