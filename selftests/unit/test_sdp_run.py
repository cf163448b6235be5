#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""sdp-run without a kernel that has SDP sockets: test_sdp_run.py SDP-RUN"""
import os
import socket
import subprocess
import sys
import tempfile

from checks import FAILED, check

RUN = os.path.abspath(sys.argv[1])
LIBRARY = os.path.join(os.path.dirname(os.path.realpath(RUN)), "libsdp.so")
TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools")


def run(*args, cwd=None):
    env = {k: v for k, v in os.environ.items() if k != "LIBSDP_CONFIG_FILE"}
    return subprocess.run([RUN, *args], cwd=cwd, env=env, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def run_shell(command):
    """sdp-run is $0 there"""
    return subprocess.run(["sh", "-c", command, RUN], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def ports(folder):
    conf = os.path.join(folder, "conf")
    for port, good in (("80", True), ("65535", True), ("0", True), ("70000", False),
                       ("65536", False), ("http", False), ("", False),
                       ("-1", False), ("80x", False), (" 80", False), ("080", True),
                       ("+80", False), ("4294967376", False), ("9" * 30, False)):
        for address in "1.2.3.4", "[::1]":
            res = run("-c", conf, "-w", "client", "x", address + ":" + port)
            check("-w %s:%s" % (address, port),
                  res.returncode == (0 if good else 125) and
                  ("is not ADDRESS:PORT" in res.stdout) != good, res)


def relative(folder):
    conf = os.path.join(folder, "conf")
    res = run("-c", "conf", "sh", "-c", "cd / && cat \"$LIBSDP_CONFIG_FILE\"",
              cwd=folder)
    with open(conf, encoding="ascii") as f:
        check("a relative path is good from elsewhere",
              res.returncode == 0 and res.stdout.endswith(f.read()), res)
    check("no such file", run("-c", "none", "true", cwd=folder).returncode == 125)


def statuses():
    for what, rc in ("/nowhere", 127), ("/", 126):
        for closing in "", "2>&-":
            res = run_shell('exec "$0" %s %s' % (what, closing))
            check("the status of %s %s" % (what, closing), res.returncode == rc, res)


def pipe():
    rules = "printf 'use tcp %s * *:*\\n' server client | exec \"$0\" -c /dev/stdin "
    res = run_shell(rules + "true")
    check("rules from a pipe, which the library would find empty",
          res.returncode == 125 and "not a pipe" in res.stdout, res)
    res = run_shell(rules + "-s echo runs")
    check("rules from a pipe, for a program that does not read them",
          res.returncode == 0 and res.stdout.endswith("runs\n"), res)
    res = run_shell(rules + "-w client x 1.2.3.4:5")
    check("rules from a pipe that are read once",
          res.stdout == "tcp /dev/stdin:2\n", res)


def rules(folder, text, *args):
    conf = os.path.join(folder, "rules")
    with open(conf, "wb") as f:
        f.write(text)
    return run("-c", conf, *args).stdout.replace(conf, "FILE")


def brackets(folder):
    for where in b"[fe80::1]:80:90", b"[::1]2:80", b"[::1][::2]:80", b"[::1]":
        res = rules(folder, b"use tcp client * %s\n" % where, "true")
        check("no place: %s" % where.decode(), res.startswith("sdp-run: FILE:1: "), res)
    for where in b"[::1]:80", b"[::1/128]:80", b"[::1]/128:80", b"[::]/0:79-80":
        res = rules(folder, b"use tcp client * %s\n" % where,
                    "-w", "client", "x", "[::1]:80")
        check("a place: %s" % where.decode(), res == "tcp FILE:1\n", res)


def mapped(folder):
    """IPv4 either way, in rules as in programs"""
    for rule in b"10.0.0.0/8", b"[::ffff:10.0.0.0/104]", b"[::ffff:10.0.0.0]/104":
        for asked, good in (("10.1.2.3", True), ("[::ffff:10.1.2.3]", True),
                            ("11.1.2.3", False), ("[::ffff:11.1.2.3]", False)):
            res = rules(folder, b"use tcp client * %s:*\n" % rule,
                        "-w", "client", "x", asked + ":1")
            check("%s for %s" % (rule.decode(), asked),
                  res == ("tcp FILE:1\n" if good else "both default\n"), res)
    res = rules(folder, b"use tcp client * [::ffff:10.0.0.1]:*\n",
                "-w", "client", "x", "10.0.0.1:1")
    check("one address", res == "tcp FILE:1\n", res)


def lines(folder):
    """An error in one line does not hide the next"""
    for bad in b"use tcp client \0 *:1", b"#" * 600, b"\0" * 700, b"x" * 511:
        res = rules(folder, bad + b"\nbogus\n#" + b"x" * 509 + b"\nbogus", "true")
        found = [line.split(":")[2] for line in res.splitlines()
                 if line.startswith("sdp-run: FILE")]
        check("a line of %d like %r" % (len(bad), bad[:20]),
              found == ["1", "2", "4"], res)


def which(folder):
    """-w needs no log, and makes none"""
    for log in os.path.join(folder, "log"), "/nowhere/log":
        res = rules(folder, b"log destination file %s\nuse tcp client * *:*\n" %
                    log.encode(), "-w", "client", "x", "1.2.3.4:5")
        check("-w with the log %s" % log.replace(folder, "DIR"),
              res == "tcp FILE:2\n" and not os.path.exists(log), res)


def defaults():
    """SDP with TCP as fallback, unless -o or a file says otherwise"""
    where = ("-w", "client", "x", "1.2.3.4:5")
    env = dict(os.environ, LIBSDP_ONLY="1")
    for args, want in ((), "both default\n"), (("-o",), "sdp default\n"):
        if os.path.exists("/etc/libsdp.conf") and not args:
            continue
        res = run(*args, *where)
        check("what is used with %r" % (args,), res.stdout == want, res)
    res = subprocess.run([RUN, *where], env=env, text=True, check=False,
                         stdout=subprocess.PIPE)
    check("under sdp-run -o", res.stdout == "sdp default\n", res)
    res = run("-o", "-c", "/dev/null", "true")
    check("-o with rules", res.returncode == 125 and "leave out -c" in res.stdout, res)
    res = run("-ov", "sh", "-c", "echo $LIBSDP_ONLY$LIBSDP_VERBOSE")
    check("the environment of the library", res.stdout.endswith("11\n"), res)


    for config, want in ("", "none\n"), ("/dev/null", "/dev/null\n"):
        res = subprocess.run([RUN, "-c", config, "sh", "-c", "echo ${LIBSDP_CONFIG_FILE-none}"],
                             text=True, check=False, stdout=subprocess.PIPE,
                             env=dict(os.environ, LIBSDP_CONFIG_FILE="/nosuch"))
        check(f"-c '{config}' in place of the rules of an outer sdp-run", res.stdout == want, res)


def journal():
    """Standard error of a service is a socket"""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        library = os.path.join(os.path.dirname(RUN), "libsdp.so")
        subprocess.run(["true"], check=False, stderr=theirs,
                       env=dict(os.environ, LD_PRELOAD=library, LIBSDP_CONFIG_FILE="/nosuch"))
        theirs.shutdown(socket.SHUT_WR)
        said = ours.recv(1000)
    check("an error of the rules goes to standard error", b"/nosuch: No such file" in said, said)


SYSTEMCTL = """#!/bin/sh
case $2 in
--property=Environment)
    [ ! "$HAS" ] || { echo "Environment=$HAS"; exit; }
    printf 'Environment=X_LD_PRELOAD=/x.so "A=%05000d" "LD_PRELOAD=/a.so:/b.so"\\n' 1 ;;
--property=ExecStart)
    echo "ExecStart={ path=/bin/sh ; argv[]=/bin/sh -c true ; ignore_errors=no }"
    [ ! "$PROGRAM" ] ||
        echo "ExecStart={ path=$PROGRAM ; argv[]=$PROGRAM -D ; ignore_errors=no }" ;;
--property=User) echo "User=$SERVED_BY" ;;
--property=NoNewPrivileges) echo "NoNewPrivileges=${NONE_NEW:-no}" ;;
--property=TriggeredBy) echo "TriggeredBy=$TRIGGERS" ;;
esac
"""


def enable(folder, **told):
    """What it prints and writes for a unit of which systemctl says this: in namespaces of its
    own. None if there may be no such"""
    stub = os.path.join(folder, "systemctl")
    with open(stub, "w", encoding="ascii") as f:
        f.write(SYSTEMCTL)
    os.chmod(stub, 0o755)
    res = subprocess.run(["unshare", "-rm", "sh", "-ec", """
        mount -t tmpfs none /etc/systemd && mount -t tmpfs none /run || exit 9
        mkdir -p /run/systemd/system /etc/systemd/system
        : >/etc/systemd/system/x.service
        PATH="$1:$PATH" "$0" enable x >&2
        cat /etc/systemd/system/x.service.d/50-sdp.conf""", RUN, folder], text=True, check=False,
                         env=dict(os.environ, **told),
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return None if "not permitted" in res.stderr or res.returncode == 9 else res


def others(folder):
    """The libraries of a unit stay, before ours"""
    res = enable(folder)
    check("libraries that a unit preloads", not res or
          '"LD_PRELOAD=/a.so:/b.so:/' in res.stdout, res)
    for has, want in (('"LD_PRELOAD=/a.so /b.so"', "/a.so:/b.so:"),
                      ("LD_PRELOAD=/usr/local/lib/sdp/libsdp.so:/a.so X=/b.so", "/a.so:"),
                      ("LD_PRELOAD=libsdp.so", ""),
                      ('"LD_PRELOAD=/a.so:/old/libsdp.so  /mylibsdp.so"', "/a.so:/mylibsdp.so:"),
                      ('"X=1 LD_PRELOAD=/no.so" LD_PRELOAD=/a.so', "/a.so:"),
                      (r'"X=\" LD_PRELOAD=/no.so" LD_PRELOAD=/a.so', "/a.so:"),
                      (r'"LD_PRELOAD=/usr/\$LIB/a.so"', "/usr/$LIB/a.so:"),
                      ('LD_PRELOAD=/%i.so', "/%%i.so:"),
                      ('"X=1 LD_PRELOAD=/no.so"', "")):
        res = enable(folder, HAS=has)
        check(f"a unit with {has} preloads '{want}' and ours", not res or
              f'"LD_PRELOAD={want}{LIBRARY}"' in res.stdout, res)
    res = enable(folder)
    check("a unit that gets SDP sockets", not res or
          "gets SDP sockets" in res.stderr and "stay TCP" not in res.stderr, res)


def closed_units(folder):
    """Units whose program gets no library, and those with sockets of systemd"""
    static = os.path.join(folder, "static")
    subprocess.run(["cc", "-static", "-x", "c", "-", "-o", static],
                   input="int main(void) { return 0; }", text=True, check=True)
    res = enable(folder, PROGRAM=static)
    check("a unit with a static program", not res or
          "is statically linked" in res.stderr and "gets SDP" not in res.stderr, res)
    setuid = os.path.join(folder, "setuid")
    with open(setuid, "wb") as f:
        f.write(b"#!/bin/sh\n")
    os.chmod(setuid, 0o4755)
    nosuid = os.statvfs(setuid).f_flag & os.ST_NOSUID
    for who, none, secure in (("", "no", False), ("nobody", "no", True), ("77", "no", True),
                              ("nobody", "yes", False)):
        res = enable(folder, PROGRAM=setuid, SERVED_BY=who, NONE_NEW=none)
        check(f"a unit of '{who}' with a set-user-ID program, NoNewPrivileges={none}",
              not res or ("is set-user-ID" in res.stderr) == (secure and not nosuid) ==
              ("gets SDP" not in res.stderr), res)
    res = enable(folder, TRIGGERS="x.timer y.socket")
    check("a unit that is started by a socket", not res or
          "those of y.socket, stay TCP" in res.stderr and "x.timer" not in res.stderr, res)


NO_FAMILY = """
import ctypes, socket, struct
# struct seccomp_data: number, arguments from 16 on
code = b"".join(struct.pack("HBBI", *line) for line in (
    (0x20, 0, 0, 0), (0x15, 0, 3, 41), (0x20, 0, 0, 16), (0x15, 0, 1, socket.AF_INET6),
    (6, 0, 0, 0x00050000 | 97), (6, 0, 0, 0x7fff0000)))
text = ctypes.create_string_buffer(code, len(code))
prctl = ctypes.CDLL(None).prctl
if prctl(38, 1, 0, 0, 0) or prctl(22, 2, struct.pack("HxxxxxxP", 6, ctypes.addressof(text)), 0, 0):
    print("no filter")
try:
    socket.socket(socket.AF_INET6)
    print("no filter")
except OSError as err:
    print(err.errno, flush=True)
"""


def no_family():
    """Where there is no IPv6, the library does not complain of SDP"""
    res = run("-v", sys.executable, "-c", NO_FAMILY)
    check("no IPv6", "no filter" in res.stdout or os.uname().machine != "x86_64" or
          "97\n" in res.stdout and "continues with TCP" not in res.stdout, res)
    res = run("-v", sys.executable, "-c", "import socket; socket.socket()")
    check("no SDP, which it says", os.path.exists("/proc/sys/net/sdp") or
          "continues with TCP" in res.stdout, res)


def units():
    """Without root, and without a unit: what is written is seen in selftests/host"""
    for args, want in ((("enable",), "needs the name of a unit"),
                       (("disable", "a", "b"), "takes one unit"),
                       (("enable", "../x"), "is not the name of a unit"),
                       (("enable", ""), "is not the name of a unit"),
                       (("enable", "-x"), "is not the name of a unit"),
                       (("enable", "x" * 300), "is not the name of a unit"),
                       (("enable", "ssh.socket"), "is not a service"),
                       (("enable", "no-such-unit-here"), "there is no no-such-unit-here.service"),
                       (("disable", "no-such-unit-here"), "is not enabled"),
                       (("-s", "enable", "x"), "-s is not for units")):
        res = run(*args)
        check("%s: %s" % (" ".join(args)[:40], want),
              res.returncode == 125 and want in res.stdout, res)
    res = run("./enable")
    check("a program of that name", res.returncode == 127, res)


WRAPPER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/socket.h>
#include <unistd.h>
#define NEXT(f) ((__typeof__(&f))dlsym(RTLD_NEXT, #f))
int socket(int a, int b, int c) { write(2, "<socket>", 8); return NEXT(socket)(a, b, c); }
int bind(int a, const struct sockaddr *b, socklen_t c)
{ write(2, "<bind>", 6); return NEXT(bind)(a, b, c); }
int listen(int a, int b) { write(2, "<listen>", 8); return NEXT(listen)(a, b); }
int connect(int a, const struct sockaddr *b, socklen_t c)
{ write(2, "<connect>", 9); return NEXT(connect)(a, b, c); }
"""
CALLS = """
import socket
with socket.create_server(("127.0.0.1", 0)) as s:
    socket.create_connection(s.getsockname()).close()
"""


def wrappers(folder):
    """A library that was preloaded before keeps its calls, and the library has them, too"""
    library = os.path.join(folder, "wrapper.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-w", "-x", "c", "-", "-o", library, "-ldl"],
                   input=WRAPPER, text=True, check=True)
    res = subprocess.run([RUN, "-v", sys.executable, "-c", CALLS], text=True, check=False,
                         env=dict(os.environ, LD_PRELOAD=library),
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    check("calls that another library wraps", res.returncode == 0 and
          all(f"<{c}>" in res.stdout for c in ("socket", "bind", "listen", "connect")) and
          "libsdp: " in res.stdout, res)


def trusted(folder):
    """After "sdpctl trust on": the name for glibc's programs with privileges, the path for musl"""
    out, trust = os.path.join(folder, "out"), os.path.join(folder, "trust")
    os.mkdir(trust)
    subprocess.run(["make", "-s", "-C", TOOLS, "O=" + out, "TRUSTDIR=" + trust, "CFLAGS=-O0",
                    out + "/sdp-run", out + "/libsdp.so"], check=True)
    library = out + "/libsdp.so"
    os.symlink(library, trust + "/libsdp.so")
    os.chmod(library, 0o4755)
    env = dict(os.environ, LD_LIBRARY_PATH=trust, LIBSDP_CONFIG_FILE="/dev/null")
    both = "libsdp.so:" + library
    for old, want in (("", both), ("libm.so.6", "libm.so.6:" + both)):
        res = subprocess.run([out + "/sdp-run", "-v", "sh", "-c",
                              "echo $LD_PRELOAD; cat /proc/self/maps"],
                             text=True, check=False, env=dict(env, LD_PRELOAD=old),
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        maps = [line.split() for line in res.stdout.splitlines()[1:]]
        check(f"a trusted library, after '{old}', is there by its name and its path",
              res.stdout.splitlines()[:1] == [want], res)
        check(f"a trusted library, after '{old}', is loaded once, without a message of the linker",
              [m[-1] for m in maps if "x" in m[1] and "libsdp" in m[-1]] == [library] and
              "ld.so" not in res.stderr, res)
        check(f"sdp-run -v, after '{old}', says where the trusted library is",
              f"sdp-run: preloading {library}\n" in res.stderr, res)


def symbols():
    """Symbols that musl lacks would keep its programs from being started"""
    library = os.path.join(os.path.dirname(RUN), "libsdp.so")
    res = subprocess.run(["nm", "-D", "--undefined-only", library], text=True, check=True,
                         stdout=subprocess.PIPE)
    wanted = {name.split("@")[0] for kind, name in map(str.split, res.stdout.splitlines())
              if kind == "U" and name.startswith("__")}
    check("the library needs no function of glibc alone",
          wanted <= {"__errno_location", "__progname", "__stack_chk_fail"}, wanted)


with tempfile.TemporaryDirectory() as tmp:
    with open(os.path.join(tmp, "conf"), "w", encoding="ascii") as out:
        out.write("use tcp client * *:*\n")
    ports(tmp)
    relative(tmp)
    statuses()
    pipe()
    brackets(tmp)
    mapped(tmp)
    lines(tmp)
    which(tmp)
    defaults()
    units()
    others(tmp)
    closed_units(tmp)
    no_family()
    journal()
    wrappers(tmp)
    trusted(tmp)
    symbols()
sys.exit(bool(FAILED))
