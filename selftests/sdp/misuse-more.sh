#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: long timeout=1800
#
# misuse.sh, and namespaces and modules that go under credit, or while memory of
# programs is advertised, kept or lent.
LONG=1 exec "$(dirname "$0")/misuse.sh"
