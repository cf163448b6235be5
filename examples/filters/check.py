#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Compare what the filters made with numpy and scikit-image, which share no code with
them: the picture of the microscope has to be equal, the iso-surface nearly so."""
import argparse
import ctypes
import json
import struct
import sys

import numpy as np

FAILED = []


def check(what, good, detail):
    print(f"{'ok' if good else 'not ok'} - {what}: {detail}")
    if not good:
        FAILED.append(what)


def results(path, name):
    """Lines of results of a filter."""
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file if line.startswith("{")]
    found = [r for r in lines if r["type"] == "result" and r["filter"] == name]
    if not found:
        sys.exit(f"check.py: {path} has no result of a filter {name}")
    return found


def portable(path):
    """A PPM or PGM as an array."""
    with open(path, "rb") as file:
        kind, size, _, data = file.read().split(b"\n", 3)
    w, h = map(int, size.split())
    shape = (h, w, 3) if kind == b"P6" else (h, w)
    return np.frombuffer(data, np.uint8).reshape(shape)


# ----------------------------------------------------------------- the microscope

def slide(path):
    """All pixels of a slide."""
    lib = ctypes.CDLL("liblz4.so.1")
    with open(path, "rb") as file:
        data = file.read()
    width, height, t = struct.unpack_from(">III", data, 8)
    across, down = -(-width // t), -(-height // t)
    image = np.zeros((down * t, across * t, 3), np.uint8)
    raw = ctypes.create_string_buffer(t * t * 3)
    for i in range(across * down):
        place, length = struct.unpack_from(">QI", data, 24 + 12 * i)
        tile = data[place:place + length]
        if lib.LZ4_decompress_safe(tile, raw, length, len(raw)) != len(raw):
            sys.exit(f"check.py: tile {i} of {path} does not decompress")
        y, x = divmod(i, across)
        image[y * t:y * t + t, x * t:x * t + t] = np.frombuffer(raw.raw, np.uint8).reshape(t, t, 3)
    return image


def scope(args):
    """Mean of each square of pixels, in integers."""
    r = results(args.results, "view")[-1]
    x, y, w, h, z = (r[k] for k in ("x", "y", "w", "h", "zoom"))
    part = slide(args.data)[y:y + h * z, x:x + w * z].astype(np.uint32)
    want = part.reshape(h, z, w, z, 3).sum((1, 3)) // (z * z)
    got = portable(args.picture)
    same = got.shape == want.shape and bool((got == want).all())
    check("view", same, f"{w} x {h} at {x}, {y}, zoom {z}; "
          f"{'equal' if same else 'pixels differ'}")


# ---------------------------------------------------------------- the iso-surface

def volume(path, step):
    """Values [z, y, x] of a step."""
    with open(path, "rb") as file:
        cells, b, steps = struct.unpack_from(">III", file.read(32), 8)
        n = cells // b
        size = (b + 1) ** 3 * 4
        if step >= steps:
            sys.exit(f"check.py: {path} has {steps} steps")
        file.seek(32 + step * n ** 3 * size)
        values = np.zeros((cells + 1,) * 3, np.float32)
        for i in range(n ** 3):
            x, y, z = i % n * b, i // n % n * b, i // n ** 2 * b
            values[z:z + b + 1, y:y + b + 1, x:x + b + 1] = np.frombuffer(
                file.read(size), "<f4").reshape((b + 1,) * 3)
    return values


def covered(verts, faces, cells, side):
    """Pixels whose middle is in some triangle, seen along z."""
    p = verts[:, [2, 1]][faces] * (side / cells)  # [triangle, corner, xy]
    low = np.floor(p.min(1) - 0.5).astype(int)
    span = int((np.ceil(p.max(1)) - low).max()) + 1
    mask = np.zeros((side, side), bool)

    def edge(a, b, at):
        return ((b[:, 0] - a[:, 0]) * (at[:, 1] - a[:, 1])
                - (b[:, 1] - a[:, 1]) * (at[:, 0] - a[:, 0]))

    for dy in range(span):
        for dx in range(span):
            pixel = low + (dx, dy)
            at = pixel + 0.5
            e = [edge(p[:, i], p[:, (i + 1) % 3], at) for i in range(3)]
            inside = (np.all([v >= 0 for v in e], 0) | np.all([v <= 0 for v in e], 0))
            inside &= (pixel >= 0).all(1) & (pixel < side).all(1)
            mask[pixel[inside, 1], pixel[inside, 0]] = True
    return mask


def iso(args):
    from skimage import measure  # pylint: disable=import-outside-toplevel
    values = volume(args.data, args.step)
    verts, faces, _, _ = measure.marching_cubes(values, args.level / 1000)
    want = measure.mesh_surface_area(verts, faces)
    got = sum(r["area"] for r in results(args.results, "extract"))
    check("area of the surface within 1 %", abs(got / want - 1) <= 0.01,
          f"{got:.1f}, scikit-image {want:.1f}, ratio {got / want:.5f}")
    ours = portable(args.picture) > 0
    theirs = covered(verts, faces, values.shape[0] - 1, ours.shape[0])
    iou = (ours & theirs).sum() / (ours | theirs).sum()
    check("covered pixels, intersection over union at least 0.99", iou >= 0.99,
          f"{iou:.5f}, {ours.sum()} and {theirs.sum()} pixels")


def main():
    p = argparse.ArgumentParser(description=__doc__)
    sub = p.add_subparsers(dest="what", required=True)
    for what, picture in (scope, "PPM of the view"), (iso, "PGM of the merge"):
        s = sub.add_parser(what.__name__)
        s.add_argument("data", help="slide or volume of mkdata.py")
        s.add_argument("results", help="output of fs-run")
        s.add_argument("picture", help=picture)
        if what is iso:
            s.add_argument("--level", type=int, default=500)
            s.add_argument("--step", type=int, default=0)
        s.set_defaults(check=what)
    args = p.parse_args()
    try:
        args.check(args)
    except OSError as err:
        sys.exit(f"check.py: {err}")
    sys.exit(1 if FAILED else 0)


if __name__ == "__main__":
    main()
