// SPDX-License-Identifier: GPL-2.0
/*
 * libiwarp.ko: the iWARP protocols MPA, DDP and RDMAP and their checksum, for
 * a provider (iwarp_hybrid) and for the driver of a NIC (hnic). Calls crc.c, to choose
 * an implementation when the module is loaded.
 */
#include <linux/init.h>
#include <linux/module.h>

#include "crc.h"

static int __init iwarp_init(void)
{
	iwarp_crc_init();
	return 0;
}

/* without it the module could not be unloaded */
static void __exit iwarp_exit(void)
{
}

module_init(iwarp_init);
module_exit(iwarp_exit);

MODULE_DESCRIPTION("iWARP protocol library: MPA, DDP, RDMAP, CRC32c");
MODULE_LICENSE("GPL");
