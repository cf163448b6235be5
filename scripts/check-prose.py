#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""
check-prose.py [FILE...]: check the language of comments, documentation,
manual pages, messages and test titles.

check-prose.py -c RANGE: check the commit messages of a range of git.

Plain technical English, as in the kernel's own documentation: the subject
first, present tense, active voice, the field's words. The checks:

* words that the kernel's documentation does not use (WORDS below),
* the word "octet", also in identifiers and code, except in files that cite the wording of
  an RFC (OCTETS below),
* sentences that begin with "What", "Who" or "Whoever" and are no question; in the
  directories SMALL below also with a small letter, as comments do,
* sentences of more than LONG words in Documentation/ and in manual pages.

The subject of a commit begins with "subsystem: " and a verb (VERBS), and says what the
commit does, without a negated object (NEGATED). Its body is checked for WORDS. The
last two checks apply to commits whose own tree has them.

Exempt are:

* ``literals``, identifiers (words with an underscore), @parameters and
  literal blocks,
* text in "double quotes" within a comment or a document: a citation.
"""
import argparse
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LONG = 40

OCTETS = ("Documentation/wire.rst",)
# have the words as data
WITH_BAD = ("scripts/check-prose.py", "selftests/unit/test_check_prose.py")

# (what it matches, what to write instead)
WORDS = (
    (r"nobody(?! cared)|no-one", "no task, no process, nothing, or turn the sentence round"),
    (r"somebody|someone", "a task, the peer, the caller"),
    (r"who(?:so)?ever", "any task that ..."),
    (r"none such|no such one|such one", "none"),
    (r"anew", "again, new"),
    (r"anybody|anyone", "any task, any process, any user"),
    (r"(?:is|are|was|were|been|be|not|but|gets?|we) told", "learns, is notified, receives"),
    (r"tells? (?:it |them |us )?of|told (?:of|by|here)", "reports"),
    (r"hears? of|heard (?:of|from)", "learns, is notified, receives"),
    (r"com(?:es?|ing) to nothing", "fails"),
    (r"ha(?:s|ve|d) (?:a|no|any) say", "decides, affects, may (not)"),
    (r"sees? to it", "ensures"),
    (r"(?:hold(?:s|ing)?|held) back", "delay, queue"),
    (r"he|him|his|himself|she|her", "it, or the noun"),
    (r"has it that|have it that", "say"),
    (r"for want of", "without"),
    (r"of its own accord", "by itself"),
    (r"go(?:es|ing)? on with|went on with|gone on with", "continue with, use"),
    (r"(?:can|can't|cannot|could|could not|may|to) be had", "is (not) available, fails"),
    (r"(?:of|is) (?:its|our|their|the \w+'s) business", "say what it handles"),
)

SMALL = (".ci/", "Documentation/", "drivers/", "include/", "lib/", "scripts/")
SUBJECT = re.compile(r"(?:what|who|whoever|whom|whose|whatever|whichever)\b", re.I)

# How the kernel begins its commit subjects. Add a verb if it is missing.
VERBS = set("""
accept account acknowledge add adjust adopt align allocate allow always annotate apply ask assert assign avoid
backport balance batch bind block bound bump bring build bypass cache call cancel catch change
charge check clamp clarify clean clear close coalesce collect combine compare compile complete
compute connect convert copy correct count cover create cut deal decide declare decode defer define
delay delete deliver derive describe destroy detach detect determine disable discard distinguish
do document don't double drain drop dump emit enable encode end enforce ensure enter establish
exclude exercise exit expand expect explain export expose extend extract factor fail fall fetch fill
filter find finish fix flush fold follow forbid force format forward free generate get give grow guard
handle hang have hide hold honor honour identify ignore implement import improve include increase index
inherit initialize inline insert install introduce invalidate invert isolate join judge keep kill
kick label leave lend let limit link list listen load lock log look lower maintain make mark match measure merge
mirror modify move name narrow never normalize note notify number omit only open optimize order
parse pass pin place poll populate post prefer preload prepare prevent print process propagate protect
prove provide publish pull purge push put query queue quote raise randomize read rebuild receive reclaim
record recover reconnect reduce refactor refer refine refresh refuse register reject release relax rely
remember remove rename reorder reorganize repair repeat replace reply report request require
reserve reset resolve respect restart restore restrict retry return reuse revert revise revoke
rewrite rework round run save say scale schedule search select send separate serialize serve set
share shorten show shrink shut simplify size skip sleep sort specify speed splice split start state stop
store strengthen strip support suppress survive switch synchronize take teach tell terminate test throttle
tidy tighten time trace track transfer translate treat trim try turn tweak unify uninstall unlock unpin unregister
unwind update upgrade use validate verify wait wake warn widen wire work wrap write yield zero
""".split())

# "read no bytes", "let a task not wait": say what happens instead
NEGATED = re.compile(r": (?!do not |don't )[\w'-]+ (?:no|nothing|none)\b|: let\b.*\bnot?\b")

ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|no|sec|approx|St|bytes?\.\.)\.$")


def run(*args):
    return subprocess.run(args, cwd=TOP, check=True, text=True,
                          stdout=subprocess.PIPE).stdout


class Text:
    """Prose of a file: blocks of (line number, text), one block per paragraph"""

    def __init__(self):
        self.blocks = []
        self.cur = []

    def line(self, number, text):
        if text.strip():
            self.cur.append((number, text.strip()))
        else:
            self.end()

    def end(self):
        if self.cur:
            self.blocks.append(self.cur)
            self.cur = []

    def alone(self, number, text):
        self.end()
        self.line(number, text)
        self.end()


def clean(text):
    text = re.sub(r"``.*?``|\$\(\(.*?\)\)(?!\))", "it", text)
    text = re.sub(r"`[^`]*`_?", "it", text)
    text = re.sub(r'"[^"]*"', "it", text)
    text = re.sub(r"[@%&$]\w[\w.>-]*|\{\w+\}", "it", text)
    text = re.sub(r"\b\w*_\w*\b(?:\(\))?", "it", text)
    return re.sub(r"https?://\S+", "it", text)


C_TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def from_c(source, text):
    """Comments, and the strings between them"""
    for m in C_TOKEN.finditer(source):
        token = m.group()
        number = source.count("\n", 0, m.start()) + 1
        if token.startswith("/*"):
            for i, line in enumerate(token[2:-2].split("\n")):
                line = re.sub(r"^\s*\*+ ?", "", line) if i else line.lstrip("*")
                # the name of a function, a parameter or a section begins a sentence
                k = re.match(r"\s*(?:@[\w.>-]+:|[\w-]+(?:\(\))? - |(?:Context|Return|Returns):)(.*)",
                             line)
                if k:
                    text.end()
                    line = k.group(1) or " "
                text.line(number + i, line)
            text.end()
        elif token.startswith("//"):
            text.alone(number, token[2:])
        elif token.startswith('"') and " " in token:
            # in a string the quoted part is what was not taken away above
            text.alone(number, token[1:-1].replace('\\"', "").replace("\\n", " "))


def from_script(source, text):
    """Comments of shell, Python, awk and make, and strings in double quotes"""
    doc = None
    for number, line in enumerate(source.split("\n"), 1):
        if doc:
            text.line(number, line.split(doc)[0])
            if doc in line:
                text.end()
                doc = None
            continue
        m = re.match(r'\s*[rf]?("""|\'\'\')(.*)', line)
        if m:
            rest = m.group(2)
            if m.group(1) in rest:
                text.alone(number, rest.split(m.group(1))[0])
            else:
                doc = m.group(1)
                text.line(number, rest)
            continue
        m = re.match(r"\s*#+!?(.*)", line)
        if m:
            comment = re.sub(r"^\s*[\w-]+(?: [A-Z|.\[\]]+)*: ", "", m.group(1))
            if re.match(r"\s*(?:shellcheck|vm:|SPDX)", m.group(1)):
                comment = ""
            text.line(number, comment)
            continue
        text.end()
        for s in re.findall(r'"((?:\\.|[^"\\])*)"', line):
            if " " in s:
                text.alone(number, s.replace('\\"', '"'))
        m = re.search(r"(?:^|\s)# (.*)$", line)
        if m:
            text.alone(number, m.group(1))
    text.end()


def from_rst(source, text):
    """Paragraphs; neither literal blocks nor the lines that draw tables"""
    literal = None
    table = False
    lines = source.split("\n")
    for number, (line, after) in enumerate(zip(lines, lines[1:] + [""]), 1):
        if re.match(r"\s*=+( +=+)+$", line):
            table = True
            text.end()
            continue
        table = table and line.strip() != ""
        if table:
            # a row; cells are no sentences
            text.alone(number, "| " + line)
            continue
        indent = len(line) - len(line.lstrip())
        if literal is not None:
            if not line.strip() or indent > literal:
                continue
            literal = None
        if line.strip() == "" or re.match(r"\s*[=~\-^\"+| ]+$", line) or \
           line.lstrip().startswith(".. "):
            text.end()
        elif re.match(r"\s*(?:[*-]|\d+\.|#\.) ", line) or re.match(r"\s*``\S+``  +\S", line):
            text.end()
            text.line(number, re.sub(r"^\s*(?:[*-]|\d+\.|#\.) ", "", line))
        elif after.strip() and len(after) - len(after.lstrip()) > indent:
            # the term of a definition
            text.alone(number, line)
        else:
            text.line(number, line)
        if re.search(r"::\s*$", line):
            literal = indent
            text.end()
    text.end()


def from_man(source, text):
    """mdoc: text, and the words of macros"""
    block = False
    for number, line in enumerate(source.split("\n"), 1):
        if line.startswith('.\\"'):
            continue
        if re.match(r"\.(?:Bd|Dl|D1)\b", line):
            block = "Bd" in line
            text.end()
        elif line.startswith(".Ed"):
            block = False
        elif block:
            continue
        elif re.match(r"\.(?:Pp|It|Sh|Ss|Bl|El|Nd|Nm$)", line):
            text.end()
            if line.startswith(".Nd"):
                text.alone(number, line[4:])
        elif line.startswith("."):
            # macros name things; the end of a sentence is at their end
            text.line(number, "it" + ("." if re.search(r" \.$", line) else ""))
        else:
            text.line(number, re.sub(r"\\f.|\\&", "", line))
    text.end()


def reader(path, source):
    if path.endswith((".c", ".h")):
        return from_c
    if path.endswith(".rst"):
        return from_rst
    if re.search(r"Documentation/man/.*\.\d$", path):
        return from_man
    if path.endswith((".sh", ".py", ".bash", ".awk", ".yaml")) or \
       os.path.basename(path) in ("Makefile", "Kbuild", "Kconfig", "init", "LAYERS") or \
       source.startswith("#!"):
        return from_script
    return None


def sentences(block):
    """(line, sentence) of a paragraph"""
    start, words = None, []
    for number, line in block:
        for word in line.split():
            if not words:
                start = number
            words.append(word)
            if re.search(r"[.?!:;]\)?$", word) and not ABBREVIATION.search(word):
                yield start, " ".join(words)
                words = []
    if words:
        yield start, " ".join(words)


def check(path):
    """Findings of a file: (line, what is wrong)"""
    with open(os.path.join(TOP, path), encoding="utf-8", errors="replace") as f:
        source = f.read()
    if path not in OCTETS:
        for number, line in enumerate(source.split("\n"), 1):
            for m in re.finditer(r"\w*octet\w*", line, re.I):
                yield number, '"%s": byte' % m.group()
    read = reader(path, source)
    if not read:
        return
    text = Text()
    read(source, text)
    for block in text.blocks:
        # a citation may go over a line's end
        joined = clean("\n".join(line for _, line in block))
        lines = list(zip((n for n, _ in block), joined.split("\n")))
        for i, what in find_words(joined.split("\n")):
            yield lines[i][0], what
        for number, sentence in sentences(lines):
            if SUBJECT.match(sentence) and not sentence.endswith("?") and \
               not sentence.split()[0].isupper() and \
               (sentence[0].isupper() or path.startswith(SMALL)):
                yield number, '"%s ...": begin with the subject' % sentence[:40]
            n = len(sentence.split())
            if path.startswith(("Documentation/", "README")) and n > LONG:
                yield number, "%d words in a sentence: %s ..." % (n, sentence[:40])


def find_words(lines):
    """(index of the line, what is wrong) for the WORDS of a paragraph"""
    for i, line in enumerate(lines):
        for pattern, better in WORDS:
            for m in re.finditer(r"\b(?:%s)\b" % pattern, line, re.I):
                # the name of a value, as in "read OCTETS"
                if not m.group().isupper():
                    yield i, '"%s": %s' % (m.group(), better)


def has_rule(commit):
    """Does the tree of a commit check the whole message?"""
    res = subprocess.run(("git", "grep", "-q", "^NEGATED =", commit, "--",
                          "scripts/check-prose.py"), cwd=TOP, check=False)
    return res.returncode == 0


def check_message(subject, body, whole=True):
    """Findings of a commit message; @whole: also the checks that came later"""
    m = re.match(r"(?:[^:]+: )+([\w'-]+)", subject)
    if not m:
        yield "no prefix (subsystem: verb ...)"
    elif m.group(1) not in VERBS:
        yield f'"{m.group(1)}" is not an imperative verb'
    if not whole:
        return
    if NEGATED.search(subject):
        yield "say what the commit does, without a negated object"
    for paragraph in re.split(r"\n\s*\n", body):
        # quoted output and code are indented
        lines = [line for line in paragraph.split("\n")
                 if not re.match(r"\s|[A-Z][\w-]+(?:-by)?: .*[<(]", line)]
        for _, what in find_words(clean("\n".join(lines)).split("\n")):
            yield what


def commits(revisions):
    bad = 0
    log = run("git", "log", "--no-merges", "--format=%h%x00%s%x00%b%x01", revisions)
    for entry in log.split("\x01"):
        if not entry.strip():
            continue
        commit, subject, body = entry.strip("\n").split("\0")
        for what in check_message(subject, body, has_rule(commit)):
            print(f'{commit} "{subject}": {what}')
            bad = 1
    return bad


def main():
    p = argparse.ArgumentParser(description="check the language of the tree, or of FILEs")
    p.add_argument("-c", metavar="RANGE", help="check commit messages instead")
    p.add_argument("file", nargs="*")
    args = p.parse_args()
    if args.c:
        return commits(args.c)

    files = args.file or run("git", "ls-files", "-co", "--exclude-standard").splitlines()
    bad = 0
    for path in files:
        if not os.path.isfile(os.path.join(TOP, path)) or path in WITH_BAD:
            continue
        for number, what in check(path):
            print(f"{path}:{number}: {what}")
            bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main())
