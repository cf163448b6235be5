// SPDX-License-Identifier: GPL-2.0
/*
 * test_place.ko: makes hnic a NIC that leaves the place of a filter to its caller, as
 * many do: ETHTOOL_GRXCLSRLCNT says nothing of RX_CLS_LOC_SPECIAL.
 */
#include <linux/ethtool.h>
#include <linux/kprobes.h>
#include <linux/module.h>

/* Keeps the request; a call with another command is not probed at its end */
static int place_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct ethtool_rxnfc *nfc = (void *)regs_get_kernel_argument(regs, 1);

	if (nfc->cmd != ETHTOOL_GRXCLSRLCNT)
		return 1;
	*(struct ethtool_rxnfc **)ri->data = nfc;
	return 0;
}

static int place_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct ethtool_rxnfc *nfc = *(struct ethtool_rxnfc **)ri->data;

	nfc->data &= ~RX_CLS_LOC_SPECIAL;
	return 0;
}

static struct kretprobe place_probe = {
	.kp.symbol_name = "hnic_get_rxnfc",
	.entry_handler = place_entry,
	.handler = place_return,
	.data_size = sizeof(struct ethtool_rxnfc *),
};

static int __init place_init(void)
{
	return register_kretprobe(&place_probe);
}

static void __exit place_exit(void)
{
	unregister_kretprobe(&place_probe);
}

module_init(place_init);
module_exit(place_exit);
MODULE_DESCRIPTION("Test: a NIC whose caller chooses the place of a filter");
MODULE_LICENSE("GPL");
