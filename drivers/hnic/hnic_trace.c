// SPDX-License-Identifier: GPL-2.0
/*
 * Tracepoints of the driver. Calls no other file of it.
 */
#define CREATE_TRACE_POINTS
#include "hnic_trace.h"
