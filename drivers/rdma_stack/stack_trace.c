// SPDX-License-Identifier: GPL-2.0
/*
 * Tracepoints of the module. Calls no other file of it.
 */
#define CREATE_TRACE_POINTS
#include "stack_trace.h"
