/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * hnic: attributes of a link (rtnetlink, IFLA_INFO_DATA).
 */
#ifndef _UAPI_LINUX_HNIC_H
#define _UAPI_LINUX_HNIC_H

enum {
	HNIC_INFO_UNSPEC,
	HNIC_INFO_PEER,		/* struct ifinfomsg and IFLA_* of the other end */

	__HNIC_INFO_MAX
#define HNIC_INFO_MAX	(__HNIC_INFO_MAX - 1)
};

#endif /* _UAPI_LINUX_HNIC_H */
