// SPDX-License-Identifier: GPL-2.0
/*
 * Tracepoint definitions, see sdp_trace.h. Lowest layer: calls nothing of SDP.
 */
#include "sdp.h"

#define CREATE_TRACE_POINTS
#include "sdp_trace.h"
