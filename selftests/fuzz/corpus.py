#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""corpus.py pack DIR [WITHOUT] >FILE, corpus.py unpack FILE DIR

Inputs that are kept of a fuzz target: after comments a line of base64 each, the
shortest first.
Inputs that are in directory WITHOUT, too, are left out.
"""
import base64
import hashlib
import os
import sys


def inputs(directory):
    """contents of the files of a directory"""
    for name in os.listdir(directory):
        with open(os.path.join(directory, name), 'rb') as file:
            yield file.read()


def pack(directory, without=None):
    """print what is in there"""
    known = set(inputs(without)) if without else set()
    print('# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause')
    for data in sorted(set(inputs(directory)) - known, key=lambda d: (len(d), d)):
        if data:
            print(base64.b64encode(data).decode())


def unpack(name, directory):
    """make files of it"""
    os.makedirs(directory, exist_ok=True)
    with open(name, encoding='ascii') as lines:
        for line in lines:
            if line.startswith('#'):
                continue
            data = base64.b64decode(line)
            path = os.path.join(directory, hashlib.sha1(data).hexdigest())
            with open(path, 'wb') as file:
                file.write(data)


if __name__ == '__main__':
    {'pack': pack, 'unpack': unpack}[sys.argv[1]](*sys.argv[2:])
