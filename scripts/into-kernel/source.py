#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""source.py FILE...: turn sources that build out of tree into sources of the kernel
source.py --documents FILE...: the same for documents

The kernel has every interface that scripts/compat/probes.c asks for, but for those
that it has dropped. So unifdef resolves HAVE_*, the rest of include/compat*.h is
written out, and headers are included where the kernel has them. A file that
still has a name of compat.h afterwards is an error. Used by into-kernel.sh.
"""
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DROPPED = {"NEVER", "HAVE_CRC32C_LE", "HAVE_PROTO_OPS_SENDPAGE",
           "HAVE_TCP_SENDPAGE_LOCKED"}

# Names of compat.h and compat_rdma.h and the kernel's text; headers that these include
NAMES = [
    (r"COMPAT_ACCEPT_ARGS", "struct proto_accept_arg *arg"),
    (r"compat_accept_flags", "arg->flags"),
    (r"compat_accept_kern", "arg->kern"),
    (r"COMPAT_CLASS_INTF_ARGS", "struct device *d"),
    (r"\{\n\tstruct device \*d = compat_class_dev;\n\n", "{\n"),
    (r"\tstruct device \*d = compat_class_dev;\n", ""),
    (r"COMPAT_KOBJ_CONST", "const"),
    (r"CTL_TABLE_CONST", "const"),
    (r" \* @COMPAT_CREATE_CQ_ARG:", " * @cq_attrs:"),
    (r"COMPAT_CREATE_CQ_ARG", "struct uverbs_attr_bundle *cq_attrs"),
    (r"compat_create_cq_udata", "cq_attrs ? &cq_attrs->driver_udata : NULL"),
    (r" \* @COMPAT_REG_USER_MR_ARGS: .*\n",
     " * @dmah: hints for DMA; none are taken\n * @udata: user's part of the request\n"),
    (r"COMPAT_REG_USER_MR_ARGS", "struct ib_dmah *dmah, struct ib_udata *udata"),
    (r"compat_reg_user_mr_dmah", "dmah"),
    (r"\b(kv?[mz]alloc)\(sizeof\((\*?(?:struct )?[\w.>-]+)\), ", r"\1_obj(\2, "),
]
HEADERS = {
    "linux/bvec.h": r"\bstruct bio_vec\b|\bbvec_",
    "linux/device.h": r"\bstruct device\b|\bdevice_|\bstruct class_interface\b",
    "linux/hrtimer.h": r"\bhrtimer",
    "linux/mm.h": r"\bvm_flags_|\bstruct vm_area_struct\b|\bpage_address\b|\bget_page\b",
    "linux/net.h": r"\bstruct (socket|proto_ops)\b|\bnet_ratelimit\b|\bnet_\w+_ratelimited\b",
    "linux/sysctl.h": r"\bstruct ctl_table\b|\bproc_do",
    "linux/timer.h": r"\bstruct timer_list\b|\btimer_(setup|container_of)\b|\bmod_timer\b",
    "linux/uio.h": r"\biov_iter|\bstruct iov_iter\b|\bcopy_(to|from)_iter\b",
    "linux/unaligned.h": r"\b(get|put)_unaligned",
    "linux/workqueue.h": r"\bstruct (delayed_)?work(_struct|queue_struct)\b|\b(INIT|queue|flush)"
                         r"_(WORK|work)\b|\balloc_\w*workqueue\b",
    "net/inet_sock.h": r"\binet_sk\b|\binet_test_bit\b|\bstruct inet_sock\b",
    "net/net_namespace.h": r"\bstruct net\b|\bsock_net\b|\bput_net\b|\bregister_pernet",
    "net/proto_memory.h": r"\bsk_memory_allocated",
    "net/netdev_lock.h": r"\bnetdev_(un)?lock(_ops)?\b|\bnetdev_lockdep_set_classes\b",
    "net/sock.h": r"\bstruct sock\b|\block_sock|\bsk_\w+\(",
    "net/tcp.h": r"\btcp_\w+\(|\bTCP_SKB_CB\b",
    "rdma/ib_umem.h": r"\bib_umem",
    "rdma/ib_verbs.h": r"\bstruct ib_|\bib_\w+\(",
    "rdma/uverbs_ioctl.h": r"\bstruct uverbs_attr_bundle\b|\brdma_udata_to_drv_context\b",
}
# Those that no other header includes: for files that got them through another header
RARE = ("linux/unaligned.h", "net/netdev_lock.h", "rdma/uverbs_ioctl.h")
# Sentences that are about building in more than one way
PROSE = [
    (r"fixed-size types, memcpy and\n \* EXPORT_SYMBOL_GPL\. They build in the kernel and, "
     r"unchanged, in user space,\n \* there with -D'EXPORT_SYMBOL_GPL\(name\)='\.",
     "fixed-size types, memcpy and\n * EXPORT_SYMBOL_GPL."),
    (r"\n \* field of it is used\. Builds in user space too, for unit tests\.",
     "\n * field of it is used."),
]
PATHS = [
    (r"\bdrivers/sdp\b", "net/sdp"),
    (r"\bdrivers/(iwarp_hybrid|rdma_stack)\b", r"drivers/infiniband/sw/\1"),
    (r"\bdrivers/hnic\b", "drivers/net/hnic"),
    (r"\blib/iwarp/(\w+)\.h\b", r"include/linux/iwarp/\1.h"),
    (r"\bDocumentation/(?!netlink|networking)(\w+)\.rst\b", r"Documentation/networking/sdp/\1.rst"),
]


def macros():
    """Arguments for unifdef: macros that are set in the kernel, and macros that are not"""
    with open(os.path.join(TOP, "scripts/compat/probes.c"), encoding="utf-8") as f:
        names = re.findall(r"PROBE: (\w+)", f.read())
    missing = DROPPED - set(names)
    if missing:
        sys.exit(f"source.py: no probe asks for {' '.join(sorted(missing))} any more")
    return [("-U" if name in DROPPED else "-D") + name for name in names]


def unconditional(lines):
    """Numbers of the lines that include a header of the kernel in any configuration"""
    text = "\n".join(lines)
    guard = re.match(r"(?:\s|/\*.*?\*/|//[^\n]*)*#ifndef \w+\n#define \w+\n", text, flags=re.S)
    depth = -1 if guard else 0
    found = []
    for i, line in enumerate(lines):
        if line.startswith("#if"):
            depth += 1
        elif line.startswith("#endif"):
            depth -= 1
        elif line.startswith("#include <") and not depth:
            found.append(i)
    return found


def include(text):
    """Replace compat*.h and quoted headers of other directories by the kernel's"""
    text, ours = re.subn(r'#include "compat(_rdma)?\.h"\n', "", text)
    body = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    lines = text.split("\n")
    system = unconditional(lines)
    if not system:
        return text
    have = {lines[i][10:-1] for i in system}
    have |= {h for h, use in HEADERS.items() if (ours or h in RARE) and re.search(use, body)}
    first = system[0]
    for i in reversed(system):
        del lines[i]
    lines[first:first] = [f"#include <{h}>" for h in sorted(have)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))


def convert(path, flags):
    """Rewrite one file"""
    done = subprocess.run(["unifdef", "-B", *flags, path], capture_output=True, text=True,
                          check=False)
    if done.returncode > 1:
        sys.exit(f"source.py: {path}: {done.stderr.strip()}")
    text = done.stdout
    if "/iwarp/" in path:
        text = re.sub(r'#include "((?!compat)\w+\.h)"', r"#include <linux/iwarp/\1>", text)
    for old, new in NAMES + PATHS + PROSE:
        text = re.sub(old, new, text)
    text = re.sub(r"^MODULE_VERSION\(.*\n", "", text, flags=re.M)
    text = re.sub(r'#include "(rdma/\w+\.h)"', r"#include <\1>", text)
    text = re.sub(r'#include "iwarp/(\w+\.h)"', r"#include <linux/iwarp/\1>", text)
    if not path.endswith("trace.h"):
        text = include(text)
    left = re.search(r"\b(compat_|COMPAT_|HAVE_[A-Z])\w*", text)
    if left:
        sys.exit(f"source.py: {path}: {left.group()} is left; say in source.py what the kernel has")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def document(path):
    """Rewrite the paths in a document; leave out what is not about the kernel's tree"""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    text = re.sub(r"\.\. out of tree\n.*?\.\. in tree\n\n", "", text, flags=re.S)
    for old, new in PATHS:
        text = re.sub(old, new, text)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def main():
    """Rewrite all files of the command line"""
    if sys.argv[1] == "--documents":
        for path in sys.argv[2:]:
            document(path)
        return
    flags = ["-D__KERNEL__", *macros()]
    for path in sys.argv[1:]:
        keep = "/uapi/" in path
        convert(path, flags[1:] if keep else flags)


main()
