/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * hnic: a simulated NIC, two network devices joined by a wire. Attributes of
 * RTM_NEWLINK with IFLA_INFO_KIND "hnic", in IFLA_INFO_DATA.
 */
#ifndef _UAPI_LINUX_HNIC_H
#define _UAPI_LINUX_HNIC_H

enum {
	HNIC_INFO_UNSPEC,
	/* as VETH_INFO_PEER: struct ifinfomsg and IFLA_* of the other end */
	HNIC_INFO_PEER,

	__HNIC_INFO_MAX
#define HNIC_INFO_MAX	(__HNIC_INFO_MAX - 1)
};

#endif /* _UAPI_LINUX_HNIC_H */
