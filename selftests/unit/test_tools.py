#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""sdpstat, sdpbench and sdpctl without a kernel that has SDP sockets:
test_tools.py DIRECTORY"""
import errno
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

from checks import FAILED, check

TOOLS = os.path.abspath(sys.argv[1])


def run(name, *args):
    return subprocess.run([os.path.join(TOOLS, name), *args], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def numbers():
    """Wrong arguments are reported, on any kernel"""
    for port, good in (("80", True), ("0", False), ("65535", True), ("65536", False),
                       ("70000", False), ("-1", False), ("+1", False), (" 80", False),
                       ("99999999999999999999", False), ("", False), ("no-such", True)):
        res = run("sdpstat", "check", "-n", "127.0.0.1:" + port)
        check("sdpstat check: port \"%s\"" % port, (res.returncode != 2) == good, res)
    for args in (("check", "-n", "-t"), ("stack", "-c"), ("-c",)):
        for number in "0", "-1", "", "x", "5x":
            res = run("sdpstat", *args, number, *(args[0] == "check") * ["127.0.0.1:1"])
            check("sdpstat %s \"%s\"" % (" ".join(args), number), res.returncode == 2, res)
    check("sdpstat check -t 3601",
          run("sdpstat", "check", "-n", "-t", "3601", "127.0.0.1:1").returncode == 2)


def bench(closing_server, closing_client):
    """Result of a server and a client over TCP: (statuses, messages)"""
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = str(s.getsockname()[1])
    shell = ["sh", "-c", 'exec "$0" "$@" ' + closing_server, TOOLS + "/sdpbench",
             "-s", "-1", "-t", "tcp", "-b", "127.0.0.1", "-p", port]
    with subprocess.Popen(shell, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as server:
        shell[2] = 'exec "$0" "$@" ' + closing_client
        shell[4:] = ["-t", "tcp", "-p", port, "-w", "20", "-S", "64", "-r", "1", "-n", "1",
                     "-P", "1", "127.0.0.1"]
        client = subprocess.run(shell, text=True, check=False, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)
        try:
            said = server.communicate(timeout=20)[0]
        except subprocess.TimeoutExpired:  # no client came
            server.kill()
            said = server.communicate()[0]
    return server.returncode, said, client.returncode, client.stdout


def nothing():
    """Round trips of no bytes take no time"""
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    args = [TOOLS + "/sdpbench", "-s", "-1", "-t", "tcp", "-b", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(args, stderr=subprocess.PIPE) as server:
        server.stderr.readline()
        with socket.create_connection(("127.0.0.1", port), 20) as s:
            for op, size, count in (1, 1, 0), (3, 0, (1 << 64) - 1):
                s.sendall(struct.pack(">IHHIIQ4Q", 0x53445042, 2, op, size, 0, count, *[0] * 4))
                try:
                    answer = s.recv(56, socket.MSG_WAITALL)
                except socket.timeout:
                    answer = b""
        server.kill()
    check("sdpbench: round trips of no bytes",
          answer[8:12] == struct.pack(">I", errno.EINVAL), answer)


def closed():
    """Sockets do not take the place of what is closed"""
    for closing in "", "<&-", "2>&-", "<&- 2>&-":
        res = bench(closing, closing)
        check("sdpbench %s" % closing, (res[0], res[2]) == (0, 0), res)
    res = bench("", ">&-")
    check("sdpbench >&-: the server gets no text", res[0] == 0 and res[1].count("\n") == 1,
          res)


def written():
    """A failed write is a failure"""
    for where in ">/dev/full", ">&-":
        res = bench("", where)
        check("sdpbench %s" % where, res[2] == 1 and "cannot write" in res[3], res)


def helped():
    """So is one of the help or the version"""
    for name, *args in (("sdp-run", "-h"), ("sdp-run", "-V"), ("sdpstat", "-h"),
                        ("sdpstat", "-V"), ("sdpstat", "advise", "-h"), ("sdpbench", "-h"),
                        ("sdpstat", "stack", "-h"), ("sdpstat", "check", "-h"),
                        ("sdp-run", "-w", "client", "x", "1.2.3.4:5"), ("sdpbench", "-V")):
        with open("/dev/full", "w", encoding="ascii") as full:
            res = subprocess.run([os.path.join(TOOLS, name), *args], text=True, check=False,
                                 stdout=full, stderr=subprocess.PIPE)
        check(f"{name} {' '.join(args)} >/dev/full", res.returncode in (1, 125) and
              res.stderr == f"{name}: cannot write: No space left on device\n", res)


def sdpctl():
    """It finds what lies beside it, and below sbin, however it is called"""
    with tempfile.TemporaryDirectory() as tmp:
        for name in "real/sbin", "bin":
            os.makedirs(os.path.join(tmp, name))
        real, link = os.path.join(tmp, "real/sbin/sdpctl"), os.path.join(tmp, "bin/sdpctl")
        shutil.copy(os.path.join(os.path.dirname(__file__), "../../tools/sdpctl/sdpctl"), real)
        os.symlink(real, link)
        stat = os.path.join(tmp, "real/sbin/sdpstat")
        with open(stat, "w", encoding="ascii") as f:
            f.write("#!/bin/sh\necho this is sdpstat $1\n")
        os.chmod(stat, 0o755)

        def call(*args):
            return subprocess.run(["bash", link, *args], text=True, check=False,
                                  env=dict(os.environ, PATH="/usr/bin:/bin"),
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

        res = call("report")
        check("sdpctl report: sdpstat beside it", "this is sdpstat stack" in res.stdout, res)
        if os.path.exists("/sbin/sysctl"):
            check("sdpctl report: sysctl below sbin", "sysctl: command not" not in res.stdout, res)
        if not os.geteuid():
            res = call("trust", "on")
            check("sdpctl, by a link: the library of the installation",
                  f"there is no {os.path.realpath(tmp)}/real/lib/sdp/libsdp.so" in res.stdout, res)
        if shutil.which("systemd-escape"):
            res = call("enable", "my-eth0")
            check("sdpctl: the unit of a device with a dash", res.returncode == 2 and
                  res.stdout.endswith("systemctl enable sdp@my\\\\x2deth0\n"), res)


def sdpctl_names():
    """A name is no regular expression, and . and .. are none; as root, with another rdma(8)"""
    program = os.path.join(os.path.dirname(__file__), "../../tools/sdpctl/sdpctl")
    links = ["link hyb_eth0x5/1 state ACTIVE physical_state LINK_UP netdev eth0x5 ",
             "link hyb_eth0.5/1 state ACTIVE physical_state LINK_UP netdev eth0.5 "]
    with tempfile.TemporaryDirectory() as tmp:
        for name, text in (("rdma", "cat <<END\n" + "\n".join(links) + "\nEND"), ("id", "echo 0")):
            with open(os.path.join(tmp, name), "w", encoding="ascii") as f:
                f.write("#!/bin/sh\n" + text + "\n")
            os.chmod(os.path.join(tmp, name), 0o755)
        for args, said in (("undo eth0.5", "hyb_eth0.5 is removed"),
                           ("undo ..", '".." is not the name'), ("setup .", '"." is not the name'),
                           ("undo eth..", "there is no RDMA device of setup for eth..")):
            res = subprocess.run(["bash", program, *args.split()], text=True, check=False,
                                 env=dict(os.environ, PATH=tmp + ":/usr/bin:/bin"),
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            check(f"sdpctl {args}", said in res.stdout, res)
    for option in "-h", "-V":
        with open("/dev/full", "w", encoding="ascii") as full:
            res = subprocess.run(["bash", program, option], text=True, check=False, stdout=full,
                                 stderr=subprocess.PIPE)
        check(f"sdpctl {option} >/dev/full", res.returncode == 1 and
              res.stderr == "sdpctl: cannot write: the output is full or closed\n", res)
    res = subprocess.run(["bash", program, "-h"], text=True, check=True, stdout=subprocess.PIPE)
    check("sdpctl -h: 80 columns", max(map(len, res.stdout.split("\n"))) <= 80, res)


def sdpctl_trust():
    """The end of trust takes our link alone; as root, by another id(1)"""
    with tempfile.TemporaryDirectory() as tmp:
        tmp = os.path.realpath(tmp)
        for name in "sbin", "lib/sdp", "lib64":
            os.makedirs(os.path.join(tmp, name))
        program, stub = os.path.join(tmp, "sbin/sdpctl"), os.path.join(tmp, "sbin/id")
        library, link = os.path.join(tmp, "lib/sdp/libsdp.so"), os.path.join(tmp, "lib64/libsdp.so")
        source = os.path.join(os.path.dirname(__file__), "../../tools/sdpctl/sdpctl")
        with open(source, encoding="utf-8") as f:
            text = f.read().replace("@TRUSTDIR@", os.path.join(tmp, "lib64"))
        for name, what in (program, text), (stub, "#!/bin/sh\necho 0\n"), (library, ""):
            with open(name, "w", encoding="utf-8") as f:
                f.write(what)
        os.chmod(stub, 0o755)
        for target, there, stays in ((library, True, False), ("../lib/sdp/libsdp.so", True, False),
                                     ("/dev/null", True, True), ("/nosuch", True, True),
                                     (library, False, False)):
            os.chmod(library, 0o4755)
            if not there:
                os.unlink(library)
            os.symlink(target, link)
            res = subprocess.run(["bash", program, "trust", "off"], text=True, check=False,
                                 env=dict(os.environ, PATH=tmp + "/sbin:/usr/bin:/bin"),
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            left = os.path.islink(link)
            check(f"sdpctl trust off: a link to {target.replace(tmp, '')}, "
                  f"{'with' if there else 'without'} the library, {'stays' if stays else 'goes'}",
                  not res.returncode and left == stays, res)
            check("sdpctl trust off: the library is an ordinary file", not there or
                  os.stat(library).st_mode & 0o7777 == 0o644, res)
            if left:
                os.unlink(link)


numbers()
nothing()
sdpctl_trust()
sdpctl()
sdpctl_names()
closed()
written()
helped()
sys.exit(bool(FAILED))
