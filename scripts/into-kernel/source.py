#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""source.py FILE...: turn sources that build out of tree into sources of the kernel
source.py --documents FILE...: the same for documents
source.py --paths FILE...: the same for makefiles and selftests, where only paths differ

The kernel has every interface that scripts/compat/probes.c asks for, but for those
that it has dropped. So unifdef resolves HAVE_*, the rest of include/compat*.h is
written out, and headers are included where the kernel has them. A file that
still has a name of compat.h afterwards, or speaks of other kernels or of what the
kernel's tree does not have, is an error. Used by into-kernel.sh.
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
    (r"\tCOMPAT_OPS_SENDPAGE\(\w+\)\t+\\\n", ""),
    (r"COMPAT_OPS_SPLICE_EOF\((\w+)\)", r".splice_eof\t= \1,"),
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
# Headers of the kernel that no other header includes: also for files that get them here
# through a header of this project, which includes compat.h
RARE = ("linux/unaligned.h", "net/netdev_lock.h", "rdma/uverbs_ioctl.h")
# Sentences that are not true in the kernel's tree, most about building in more than one way
PROSE = [
    (r"fixed-size types, memcpy and\n \* EXPORT_SYMBOL_GPL\. They build in the kernel and, "
     r"unchanged, in user space,\n \* there with -D'EXPORT_SYMBOL_GPL\(name\)='\.",
     "fixed-size types, memcpy and\n * EXPORT_SYMBOL_GPL."),
    (r"\n \* field of it is used\. Builds in user space too, for unit tests\.",
     "\n * field of it is used."),
    (r"; selftests/unit/\w+\.c tests it in user\n \* space\. The", ".\n * The"),
    (r" Before 6\.14 that one goes through the\n \* crypto API and the FPU, which for one FPDU "
     r"costs as much as the checksum\.", ""),
    (r"Uses the kernel's table code where it is exported\. Elsewhere it\n \* uses crc32c\(\), "
     r"which", "This is crc32c(), which"),
    (r" \(see\n \* selftests/bench/profile\.sh\)", ""),
    (r" \(Documentation/networking/sdp/testing\.rst\)", ""),
    (r"\n# \(package_tree in selftests/vm/image\.sh\)", ""),
    (r" \"make soak HOURS=24\" is a day\.", ""),
    (r"the Makefile here, and by the one that scripts/into-kernel\.sh writes", "the Makefile here"),
]
PATHS = [
    (r"\bdrivers/sdp\b", "net/sdp"),
    (r"\bdrivers/(iwarp_hybrid|rdma_stack)\b", r"drivers/infiniband/sw/\1"),
    (r"\bdrivers/hnic\b", "drivers/net/hnic"),
    (r"\blib/iwarp/(\w+)\.h\b", r"include/linux/iwarp/\1.h"),
    (r"\bDocumentation/(?!netlink|networking)(\w+)\.rst\b", r"Documentation/networking/sdp/\1.rst"),
    (r"(?<![\w/])selftests/(sdp|iwarp_hybrid|hnic|lib)(?![\w-])",
     r"tools/testing/selftests/net/sdp/\1"),
]
# In documents: pages that the kernel has elsewhere, links to parts of a page, paths that it
# does not have
DOCUMENTS = [
    (r"(tls-offload|scaling)\.rst of the\s+kernel's\s+networking documentation",
     r"Documentation/networking/\1.rst"),
    (r"``CONTRIBUTING\.rst``", "Documentation/process/security-bugs.rst"),
    (r"`([^`<]+?)\s+<(\w+)\.rst#[\w-]+>`_", r":doc:`\1 <\2>`"),
    (r"\s+\(``(?:scripts|selftests/programs)/[^`]*``\)", ""),
]
# Words that must not be left: names of compat.h, of other kernels, conditions that are the
# same in every configuration, names of files that are not in this tree
ELSEWHERE = r"(?<![\w/])(?:selftests/|scripts/(?:[\w-]+\.(?:sh|py)|compat)\b)[\w./-]*"
LEFT = [
    r"\b(compat_|COMPAT_|HAVE_[A-Z])\w*|\bcompat(_rdma)?\.h\b",
    r"(?i)\b(before|from|since|until|of) \d\.\d+\b(?! ms)|\b(older|newer|earlier) kernels?\b",
    r"(?i)\bkernels? (before|from|since|until)\b|\bstable releases?\b|\bthis project\b",
    r"(?m)^#\s*ifn?def (?!CONFIG_|\w+_H_?$|TRACE_HEADER_MULTI_READ|AF_SDP$|IPPROTO_SDP$)\w+",
    ELSEWHERE,
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
    write(path, text, LEFT if "/uapi/" in path else LEFT + [r"\b__KERNEL__|\b__SSE__"])


def write(path, text, left):
    """Write a file, unless it has what must not be left"""
    for words in left:
        found = re.search(words, text)
        if found:
            line = text.count("\n", 0, found.start()) + 1
            sys.exit(f"source.py: {path}:{line}: '{found.group()}' is left; say in source.py what "
                     "the kernel has, or mark it as out of tree")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def document(path):
    """Rewrite the paths in a document; leave out what is not about the kernel's tree"""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    text = re.sub(r"\.\. out of tree\n.*?\.\. in tree\n\n", "", text, flags=re.S)
    for old, new in DOCUMENTS + PATHS:
        text = re.sub(old, new, text)
    # "(``page.rst``)" and the like, of pages that are not there
    pages = {name for name in os.listdir(os.path.join(TOP, "Documentation"))
             if name.endswith(".rst")} - set(os.listdir(os.path.dirname(path)))
    gone = "(?:``|Documentation/networking/sdp/)" \
           f"(?:{'|'.join(map(re.escape, sorted(pages)))})(?:``)?"
    text = re.sub(rf"\s+\((?:see\s+)?{gone}\)|,\s+see\s+{gone}|\s+See\s+{gone}\.", "", text)
    write(path, text, [gone, r"``make [a-z]", ELSEWHERE])


def paths(path):
    """Rewrite the paths in another file"""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    for old, new in PATHS + PROSE:
        text = re.sub(old, new, text)
    write(path, text, [r"\bmake (?:soak|bench|check|unit)\b", ELSEWHERE])


def main():
    """Rewrite all files of the command line"""
    other = {"--documents": document, "--paths": paths}.get(sys.argv[1])
    if other:
        for path in sys.argv[2:]:
            other(path)
        return
    # The kernel is compiled without vector registers
    flags = ["-D__KERNEL__", "-U__SSE__", *macros()]
    for path in sys.argv[1:]:
        keep = "/uapi/" in path
        convert(path, flags[2:] if keep else flags)


main()
