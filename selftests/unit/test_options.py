#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Each option of a program is in its --help, in its manual page and in the synopsis of that
page, and these have no other: test_options.py DIRECTORY, where the programs are"""
import os
import re
import subprocess
import sys

from checks import FAILED, check

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
PROGRAMS = os.path.abspath(sys.argv[1])
# program, its command, the source with its options, section of the page (None: all others)
COMMANDS = [("sdp-run.1", "sdp-run", None, "libsdp/sdp-run.c", None),
            ("sdpbench.1", "sdpbench", None, "sdpbench/options.c", None),
            ("sdpstat.8", "sdpstat", None, "sdpstat/main.c", None),
            ("sdpstat.8", "sdpstat", "advise", "sdpstat/main.c", "Advice"),
            ("sdpstat.8", "sdpstat", "stack", "sdpstat/stack.c", "Protocol components"),
            ("sdpstat.8", "sdpstat", "check", "sdpstat/check.c", "Would it be SDP?")]
SECTIONS = {section for *_, section in COMMANDS if section}


def read(*path):
    with open(os.path.join(TOP, *path), encoding="utf-8") as f:
        return f.read()


def coded(source, command):
    """Of the command's call of getopt_long(), and of the table that the call names"""
    text = read("tools", source)
    if command == "advise":  # beside another one
        text = text[text.index("int advise_main(int"):]
    letters, table = re.search(r'getopt_long\(argc, argv,\s*"([^"]*)",\s*(\w+)', text).groups()
    table = re.search(rf"struct option {table}\[\] = {{(.*?)\n\t?}};", text, re.S)
    return ({"-" + c for c in letters if c not in "+:"} |
            {"--" + name for name in re.findall(r'{ "([a-z0-9-]+)"', table.group(1))})


def helped(program, command):
    """Of the text of --help, without the lines that show the use"""
    words = [os.path.join(PROGRAMS, program), *([command] if command else []), "--help"]
    res = subprocess.run(words, text=True, check=False, stdout=subprocess.PIPE)
    check(f"{' '.join(words[1:])} of {program} succeeds", res.returncode == 0)
    return words_of("\n".join(line for line in res.stdout.splitlines()
                              if re.match(r" +-|  {5,}--|      \[", line)))


def words_of(text):
    return set(re.findall(r"(?<![\w/-])(--?[A-Za-z0-9][a-z0-9-]*)", text))


def pages(page):
    """Section or subsection: its options as items"""
    sections = {}
    for line in read("Documentation/man", page).splitlines():
        line = line.replace("\\-", "-")
        if match := re.match(r"\.S[hs] (.*)", line):
            name = match.group(1) if match.group(1) in SECTIONS else None
        elif line.startswith(".It Fl "):
            line = re.sub(r" (Ns|Ar|Oo|Op) .*?(?= , Fl|$)", "", line)
            options = line[7:].replace("Fl ", "").split(" , ")
            sections.setdefault(name, set()).update("-" + o for o in options)
    return sections


def synopsis(page):
    """The letters before the description, and the names without a letter"""
    text = read("Documentation/man", page).replace("\\-", "-")
    text = text[text.index(".Sh SYNOPSIS"):text.index(".Sh DESCRIPTION")]
    found = set()
    for word in re.findall(r"Fl ([\w-]+(?: \| \w\b)*)", text):
        words = word.split(" | ")
        found |= ({"-" + word} if word.startswith("-") else
                  {"-" + letter for word in words for letter in word})
    return found - {"--"}


def same(what, wanted, found):
    check(what, wanted == found,
          f"missing: {sorted(wanted - found)}; unknown: {sorted(found - wanted)}")


def sdpctl():
    """It has commands instead of options"""
    text = read("tools/sdpctl/sdpctl")
    cases = re.findall(r"^([a-z |]+)\)$", text[text.rindex("\ncase $1 in"):], re.M)
    commands = {word for case in cases for word in case.split(" | ")}
    commands -= {"enable", "disable", "start", "stop", "restart"}  # those of systemctl
    check("sdpctl: commands are found", len(commands) > 3, commands)
    use = subprocess.run(["bash", os.path.join(TOP, "tools/sdpctl/sdpctl"), "--help"],
                         text=True, check=False, stdout=subprocess.PIPE).stdout
    same("sdpctl: --help has each command", commands,
         set(re.findall(r"^(?:Usage:|      ) sdpctl (\w+)", use, re.M)))
    same("sdpctl.8: the page has each command", commands,
         set(re.findall(r"^\.It Cm (\w+)", read("Documentation/man/sdpctl.8"), re.M)))
    completed = re.search(r'1:\*\) _sdp_words "([^"]*)"', read("tools/conf/completion.bash"))
    same("sdpctl: bash completes each command", commands, set(completed.group(1).split()))


def completed(function, *words):
    """The words that bash completes the last one to"""
    script = (f'. "$1"; shift; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); {function}; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    path = PROGRAMS + ":" + os.environ["PATH"]
    res = subprocess.run(["bash", "-c", script, "bash",
                          os.path.join(TOP, "tools/conf/completion.bash"), *words], text=True,
                         check=False, stdout=subprocess.PIPE, env={**os.environ, "PATH": path})
    return set(res.stdout.split())


def completion():
    for function, words, wanted in (
            ("_sdpbench", ("sdpbench", "--st"), {"--streams"}),
            ("_sdpbench", ("sdpbench", "-S", "64K", "--int"), {"--interval"}),
            ("_sdpstat", ("sdpstat", "ch"), {"check"}),
            ("_sdpstat", ("sdpstat", "--open"), {"--openmetrics"}),
            ("_sdp_run", ("sdp-run", "--su"), {"--supervise"}),
            ("_sdp_run", ("sdp-run", "-v", "enabl"), {"enable"}),
            ("_sdpctl", ("sdpctl", "trust", "o"), {"on", "off"})):
        found = completed(function, *words)
        check(f"bash completes {' '.join(words)} to {' '.join(sorted(wanted))}",
              wanted <= found and all(w.startswith(words[-1]) for w in found), found)


def main():
    letters = {}
    for page, program, command, source, section in COMMANDS:
        name = f"{program} {command}" if command else program
        options = coded(source, command)
        check(f"{name}: options are found", len(options) > 3, options)
        same(f"{name}: --help has each option", options, helped(program, command))
        if command:
            options -= {"-h", "--help"}
        if command != "advise":
            same(f"{page}: {name}: the page has each option", options,
                 pages(page).get(section, set()))
        letters.setdefault(page, set()).update(options)
    for page, options in letters.items():
        same(f"{page}: the synopsis has each option of one letter",
             {o for o in options if len(o) == 2},
             {o for o in synopsis(page) if len(o) == 2})
        unknown = synopsis(page) - options
        check(f"{page}: the synopsis has no other option", not unknown, unknown)


main()
sdpctl()
completion()
sys.exit(bool(FAILED))
