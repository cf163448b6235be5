#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""smc_net.py eid ID | pnet NAME NETDEV IBDEV: settings of SMC-R, without smc-tools.

eid: add an enterprise ID. SMC-R version 2, the one over RoCEv2, needs the same ID at both
ends. pnet: connections through NETDEV are to use port 1 of IBDEV.
"""
import socket
import struct
import sys

NETLINK_GENERIC, GENL_ID_CTRL = 16, 16
CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME = 3, 1, 2
NLM_F_REQUEST, NLM_F_ACK = 1, 4
NLMSG_ERROR = 2
# linux/smc.h
EID_FAMILY, ADD_UEID, EID_ENTRY, EID_LENGTH = "SMC_GEN_NETLINK", 10, 1, 32
PNET_FAMILY, PNETID_ADD = "SMC_PNETID", 2
PNETID_NAME, PNETID_ETHNAME, PNETID_IBNAME, PNETID_IBPORT = 1, 2, 3, 4


def attribute(kind, value):
    data = struct.pack("HH", 4 + len(value), kind) + value
    return data + bytes(-len(data) % 4)


def text(kind, value):
    return attribute(kind, value.encode() + b"\0")


def attributes(data):
    found = {}
    while len(data) >= 4:
        length, kind = struct.unpack_from("HH", data)
        found[kind] = data[4:length]
        data = data[(length + 3) & ~3:]
    return found


def ask(sock, kind, command, flags, data):
    """The attributes of the answer; none if it is an acknowledgment"""
    message = struct.pack("BBH", command, 1, 0) + data
    sock.send(struct.pack("IHHII", 16 + len(message), kind, NLM_F_REQUEST | flags, 1, 0) + message)
    got = sock.recv(65536)
    length, kind = struct.unpack_from("IH", got)
    if kind != NLMSG_ERROR:
        return attributes(got[20:length])
    err = struct.unpack_from("i", got, 16)[0]
    if err:
        raise OSError(-err, f"command {command}")
    return {}


def tell(family, command, data):
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC) as sock:
        answer = ask(sock, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0, text(CTRL_ATTR_FAMILY_NAME, family))
        kind = struct.unpack_from("H", answer[CTRL_ATTR_FAMILY_ID])[0]
        try:
            ask(sock, kind, command, NLM_F_ACK, data)
        except FileExistsError:
            pass


def main():
    what, name, *devices = sys.argv[1:]
    if what == "eid":
        tell(EID_FAMILY, ADD_UEID, text(EID_ENTRY, name.ljust(EID_LENGTH)))
    else:
        netdev, ibdev = devices
        tell(PNET_FAMILY, PNETID_ADD, text(PNETID_NAME, name) + text(PNETID_ETHNAME, netdev) +
             text(PNETID_IBNAME, ibdev) + attribute(PNETID_IBPORT, b"\1"))


main()
