#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""vm_shell.py PROMPT COMMAND...: types the lines of standard input at the prompt of a
shell that COMMAND starts at a terminal of its own, then "exit". Prints all that the
terminal shows, with "@@> LINE" in front of what each line has printed and "@@STATUS" behind
it. The exit status is that of COMMAND, or 124 if the shell does not answer within ten
minutes."""
import os
import pty
import re
import select
import sys
import time

LIMIT = 600


class Terminal:
    def __init__(self, command):
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.environ["TERM"] = "dumb"
            os.execvp(command[0], command)
        self.text = b""

    def until(self, pattern):
        """Read until that is there; false at the end of the terminal"""
        end = time.monotonic() + LIMIT
        while not (match := re.search(pattern, self.text)):
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                print(f"\nno {pattern.decode()}")
                sys.exit(124)
            try:
                data = os.read(self.fd, 4096)
            except OSError:  # EIO: the other end is closed
                return False
            if not data:
                return False
            sys.stdout.buffer.write(data.replace(b"\r", b""))
            sys.stdout.flush()
            self.text += data
        self.text = self.text[match.end():]
        return True

    def type(self, line, more=""):
        print(f"\n@@> {line}", flush=True)
        os.write(self.fd, (line + more + "\r").encode())


def main(prompt, *command):
    lines = sys.stdin.read().splitlines()
    term = Terminal(command)
    if term.until(re.escape(prompt.encode())):
        for line in lines:
            term.type(line, '; echo "@@$?"')
            if not term.until(rb"\n@@\d+\r*\n"):
                break
        term.type("exit")
    term.until(rb"(?!)")
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(term.pid, 0)[1]))


main(*sys.argv[1:])
