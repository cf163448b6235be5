#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=900
#
# 4096 connections between two devices, and what they take.

dir=$(cd "$(dirname "$0")" && pwd)
COUNT=$([ -e /proc/lockdep ] && echo 256 || echo 4096) exec bash "$dir/idle.sh"
