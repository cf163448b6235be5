// SPDX-License-Identifier: GPL-2.0
/*
 * Tracepoints of the module. Calls nothing of it.
 */
#define CREATE_TRACE_POINTS
#include "stack_trace.h"
