// SPDX-License-Identifier: GPL-2.0
/*
 * Tracepoints of the driver. Calls nothing of it.
 */
#define CREATE_TRACE_POINTS
#include "hnic_trace.h"
