#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""check-prose.py finds each word of its list, and each fault that its rules describe, and
takes the sentences that should be written instead"""
import contextlib
import importlib.util
import io
import os
import subprocess
import sys
import tempfile
from unittest import mock

from checks import FAILED, check

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
SPEC = importlib.util.spec_from_file_location("check_prose",
                                              os.path.join(TOP, "scripts/check-prose.py"))
PROSE = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(PROSE)

# for each of WORDS, in that order: a sentence with it, and one to write instead
WORDS = [
    ("Nobody waits.", "No task waits."),
    ("Somebody has the lock.", "A task holds the lock."),
    ("Whoever waits is woken.", "Any task that waits is woken."),
    ("There is none such.", "There is none."),
    ("Begin anew.", "Begin again."),
    ("Anybody may write.", "Any process may write."),
    ("The peer is told.", "The peer is notified."),
    ("It tells it of the error.", "It reports the error."),
    ("The peer hears of the end.", "The peer is notified of the end."),
    ("A try that comes to nothing.", "An attempt that fails."),
    ("The owner has no say in this.", "The owner does not decide this."),
    ("It sees to it that all is sent.", "It ensures that all is sent."),
    ("Data is held back.", "Data is delayed."),
    ("He waits.", "The caller waits."),
    ("Rumor has it that it works.", "The report says that it works."),
    ("It fails for want of memory.", "It fails without memory."),
    ("It ends of its own accord.", "It ends by itself."),
    ("It goes on with TCP.", "It continues with TCP."),
    ("A port cannot be had.", "A port is not available."),
    ("That is none of its business.", "It does not handle that."),
]
LONG = " ".join(["word"] * (PROSE.LONG + 1)) + ".\n"
# what is checked, file, contents, lines with findings
FILES = [
    ("a comment of C", "drivers/a.c", "int a;\n/* The peer is told. */\nint b;\n", [2]),
    ("a comment of C over lines", "drivers/a.c", "/*\n * The peer is\n * told about nobody\n */\n",
     [3]),
    ("a string of C", "drivers/a.c", 'char *s = "nobody waits";\n', [1]),
    ("code of C", "drivers/a.c", "int nobody, told;\nif (a) is told;\n", []),
    ("the word octet in an identifier", "drivers/a.c", "int tx_octets;\n", [1]),
    ("a document", "Documentation/a.rst", "Title\n=====\n\nNobody waits.\n", [4]),
    ("a literal block", "Documentation/a.rst", "Example::\n\n    nobody waits\n\nEnd.\n", []),
    ("a manual page", "Documentation/man/a.8", ".Sh NAME\nNobody waits.\n", [2]),
    ("a literal of a manual page", "Documentation/man/a.8", ".Bd -literal\nnobody\n.Ed\n", []),
    ("a comment of a script", "scripts/a.sh", "a=1\n# nobody waits\n", [2]),
    ("the title of a test", "selftests/a.sh", 'ktap_check "nobody waits" true\n', [1]),
    ("code of a script", "scripts/a.sh", "nobody=1\n", []),
    ("a docstring", "scripts/a.py", '"""Nobody\nwaits, nobody"""\n', [1, 2]),
    ("a file of another kind", "a.bin", "Nobody waits.\n", []),
    ("a literal", "Documentation/a.rst", "The user ``nobody``.\n", []),
    ("a citation", "Documentation/a.rst", 'The kernel says "nobody\ncared" then.\n', []),
    ("an identifier", "drivers/a.c", "/* run nobody_waits() */\n", []),
    ("a parameter", "drivers/a.c", "/* @told: a flag */\n", []),
    ("the name of a value", "drivers/a.c", "/* read NOBODY */\n", []),
    ("the word of an RFC in a file for it", PROSE.OCTETS[0], "An octet.\n", []),
    ("another word in a file for an RFC", PROSE.OCTETS[0], "Nobody waits.\n", [1]),
    ("a relative clause as subject", "Documentation/a.rst", "What waits is woken.\n", [1]),
    ("a relative clause with a small letter in a driver", "drivers/a.c",
     "/* what waits is woken */\n", [1]),
    ("a relative clause with a small letter in a test", "selftests/a.c",
     "/* what waits is woken */\n", []),
    ("a question", "Documentation/a.rst", "What waits?\n", []),
    ("a second sentence with such a subject", "Documentation/a.rst", "It waits. Who\nwaits ends.\n",
     [1]),
    ("a long sentence in a document", "Documentation/a.rst", LONG, [1]),
    ("a long sentence in a driver", "drivers/a.c", "/* " + LONG + " */\n", []),
    ("a shorter sentence in a document", "Documentation/a.rst", LONG.split(" ", 1)[1], []),
]
# subject, body, number of findings
MESSAGES = [
    ("sdp: read the name once", "The name may change.", 0),
    ("sdp: zcopy: read the name once", "", 0),
    ("read the name once", "", 1),
    ("sdp: reading the name once", "", 1),
    ("sdp: read no name", "", 1),
    ("sdp: do nothing after the end", "", 1),
    ("sdp: do not read the name", "", 0),
    ("sdp: let a reader not wait", "", 1),
    ("sdp: let a reader wait", "", 0),
    ("sdp: read the name once", "Nobody waits. The peer\nis told.", 2),
    ("sdp: read the name once", 'The kernel says "nobody\ncared" then.', 0),
    ("sdp: read the name once", "The log:\n\n  nobody waits", 0),
    ("sdp: read the name once", "Reported-by: He Who <a@b>", 0),
]


def write(top, name, text):
    path = os.path.join(top, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def git(top, *args):
    subprocess.run(("git", "-c", "user.name=a", "-c", "user.email=a@b", *args), cwd=top,
                   check=True, stdout=subprocess.DEVNULL)


def run(*args):
    """Status and output of the program"""
    out = io.StringIO()
    with mock.patch.object(sys, "argv", ["check-prose.py", *args]), \
            contextlib.redirect_stdout(out):
        return PROSE.main(), out.getvalue()


def words():
    check("the test has sentences for each pattern", len(WORDS) == len(PROSE.WORDS),
          f"{len(WORDS)} of {len(PROSE.WORDS)}")
    for (bad, good), (pattern, better) in zip(WORDS, PROSE.WORDS):
        found = [what for _, what in PROSE.find_words([bad])]
        check(f"found: {bad}", len(found) == 1 and found[0].endswith(": " + better),
              f"{pattern}: {found}")
        found = list(PROSE.find_words([good]))
        check(f"accepted: {good}", not found, found)


def files(top):
    for what, name, text, wanted in FILES:
        write(top, name, text)
        got = list(PROSE.check(name))
        check(f"{what} has {len(wanted)} findings", [line for line, _ in got] == wanted, got)


def tree(top):
    """All files of a tree, known to git or not, or those named"""
    write(top, "drivers/bad.c", "/* Nobody waits. */\n")
    write(top, "drivers/good.c", "/* No task waits. */\n")
    git(top, "init", "-q")
    git(top, "add", "drivers/good.c")
    got = run()
    check("the file with a finding is reported", got[0] == 1 and
          got[1].startswith("drivers/bad.c:1: ") and got[1].count("\n") == 1, got)
    got = run("drivers/good.c")
    check("a file that is not named is not reported", got == (0, ""), got)


def messages(top):
    for subject, body, wanted in MESSAGES:
        got = list(PROSE.check_message(subject, body))
        check(f"{wanted} findings: {subject}: {body!r}", len(got) == wanted, got)
    git(top, "init", "-q")
    git(top, "commit", "-q", "--allow-empty", "-m", "sdp: begin")
    git(top, "commit", "-q", "--allow-empty", "-m", "sdp: read no name", "-m", "Nobody waits.")
    got = run("-c", "HEAD~1..HEAD")
    check("a commit before the rule passes", got == (0, ""), got)
    write(top, "scripts/check-prose.py", "NEGATED = 1\n")
    git(top, "add", "scripts")
    git(top, "commit", "-q", "-m", "sdp: read no name", "-m", "Nobody waits.")
    got = run("-c", "HEAD~2..HEAD")
    check("a commit with the rule is reported", got[0] == 1 and got[1].count("\n") == 2, got)
    git(top, "commit", "-q", "--allow-empty", "-m", "sdp: read the name once", "-m", "It changes.")
    got = run("-c", "HEAD~1..HEAD")
    check("a good commit passes", got == (0, ""), got)


def main():
    words()
    for test in files, tree, messages:
        with tempfile.TemporaryDirectory() as top:
            PROSE.TOP = top
            test(top)
    return 1 if FAILED else 0


sys.exit(main())
