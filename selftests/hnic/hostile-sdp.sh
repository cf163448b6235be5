#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: timeout=600 long
#
# sdp/hostile over a NIC that checks CRCs and follows the stream.
NET_LINK=hnic exec "$(dirname "$0")/../sdp/hostile.sh"
