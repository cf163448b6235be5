// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <stddef.h>
#include "fs.h"
const struct fs_filter fs_iso[] = { { NULL, NULL, NULL, NULL, NULL } };
