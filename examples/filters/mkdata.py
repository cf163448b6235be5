#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Make the data of the filter streams: a slide for the virtual microscope, a volume for
the iso-surface. The sources "pattern" and "sphere" need nothing but Python; the others
need numpy (python3-numpy), "ihc" also scikit-image (python3-skimage)."""
import argparse
import array
import ctypes
import ctypes.util
import math
import struct
import sys

RGB = 3


def die(text):
    print(f"mkdata.py: {text}", file=sys.stderr)
    sys.exit(2)


def numpy():
    try:
        import numpy as np  # pylint: disable=import-outside-toplevel
    except ImportError:
        die("numpy is missing: apt install python3-numpy, or --source pattern or sphere")
    return np


def lz4():
    """compress(bytes) of the library that fs-node uses as well."""
    try:
        lib = ctypes.CDLL("liblz4.so.1")
    except OSError:
        die("liblz4.so.1 is missing: apt install liblz4-1")

    def compress(data):
        room = lib.LZ4_compressBound(len(data))
        out = ctypes.create_string_buffer(room)
        n = lib.LZ4_compress_default(data, out, len(data), room)
        if n <= 0:
            die("a tile does not compress")
        return out.raw[:n]

    return compress


# ------------------------------------------------------------------------- slides

def pattern(width, height):
    """Rows of pixels: rings, and some noise that compresses badly."""
    for y in range(height):
        row = bytearray()
        for x in range(width):
            r = (x * x + y * y) >> 6
            row += bytes((r & 255, (x ^ y) & 255, (x * 7 + y * 13 + (x * y >> 4)) & 255))
        yield bytes(row)


def ihc(np):
    """The micrograph of scikit-image's package (no known copyright restrictions)."""
    try:
        from skimage import data  # pylint: disable=import-outside-toplevel
        return np.asarray(data.immunohistochemistry())
    except (ImportError, OSError, ValueError):
        return None


def nuclei(np):
    """Stained nuclei on tissue, when there is no micrograph: 512 x 512."""
    rng = np.random.default_rng(1)
    y, x = np.mgrid[0:512, 0:512]
    image = np.full((512, 512, RGB), (228.0, 205.0, 222.0))
    for _ in range(220):
        cx, cy, r = rng.uniform(0, 512, 2).tolist() + [rng.uniform(5, 14)]
        stain = np.array((105, 70, 140) if rng.random() < 0.7 else (120, 75, 45))
        d2 = ((x - cx) ** 2 + (y - cy) ** 2) / r ** 2
        image += np.exp(-d2 ** 2)[..., None] * (stain - image) * 0.85
    return (image + rng.normal(0, 3, image.shape)).clip(0, 255).astype(np.uint8)


def micrograph(source, width, height):
    """Rows of pixels: a micrograph, mirrored and tiled, with a smooth gain field so that
    no two tiles are the same."""
    np = numpy()
    image = ihc(np) if source in ("auto", "ihc") else nuclei(np)
    if image is None:
        if source == "ihc":
            die("scikit-image has no micrograph here: apt install python3-skimage")
        image = nuclei(np)
    image = np.concatenate((image, image[::-1]))
    image = np.concatenate((image, image[:, ::-1]), axis=1).astype(np.float32)
    x = np.arange(width)
    for y in range(height):
        row = image[y % image.shape[0]][x % image.shape[1]]
        gain = (0.92 + 0.08 * np.sin(x / 677 + 0.3) * np.cos(y / 911)
                + 0.05 * np.sin((x + 2 * y) / 3331))
        yield (row * gain[:, None]).clip(0, 255).astype(np.uint8).tobytes()


def slide(args):
    """Header, an entry for each tile (place, length), then the tiles."""
    t, width, height = args.tile, args.size, args.size if args.height is None else args.height
    if not 1 <= t <= 1024:
        die("--tile: 1 to 1024 pixels")
    if not (1 <= width <= 1 << 24 and 1 <= height <= 1 << 24):
        die("--size, --height: 1 to 16777216 pixels")
    rows = (pattern(width, height) if args.source == "pattern"
            else micrograph(args.source, width, height))
    compress = lz4()
    across, down = -(-width // t), -(-height // t)
    place = 24 + 12 * across * down
    entries = []
    with open(args.out, "wb") as out:
        out.write(b"FSSLIDE1" + struct.pack(">IIII", width, height, t, 0))
        out.seek(place)
        for _ in range(down):
            band = [next(rows, b"").ljust(across * t * RGB, b"\0") for _ in range(t)]
            for i in range(across):
                data = compress(b"".join(r[i * t * RGB:(i + 1) * t * RGB] for r in band))
                entries.append(struct.pack(">QI", place, len(data)))
                place += out.write(data)
        out.seek(24)
        out.write(b"".join(entries))
    largest = max(struct.unpack(">QI", e)[1] for e in entries)
    print(f"{args.out}: {width} x {height}, {len(entries)} tiles of {t} x {t}, "
          f"{place} bytes; block={largest + 16} at least")


# ------------------------------------------------------------------------ volumes

def sphere(points, _steps):
    """Distance from the centre, less than 0.5 inside of the sphere; plain Python."""
    c = (points - 1) / 2
    values = array.array("f", (math.sqrt((x - c) ** 2 + (y - c) ** 2 + (z - c) ** 2) / points
                               for z in range(points) for y in range(points)
                               for x in range(points)))
    return [values]


def reservoir(points, steps):
    """A synthetic reservoir: log-normal permeability with a correlation length, and the
    saturation behind a front that moves faster where the rock is permeable."""
    np = numpy()
    rng = np.random.default_rng(1)
    k = np.fft.fftfreq(points) * points
    k2 = k[:, None, None] ** 2 + k[None, :, None] ** 2 + k[None, None, :] ** 2
    noise = np.fft.fftn(rng.normal(size=(points,) * 3)) * np.exp(-k2 / (2 * 4.0 ** 2))
    perm = np.real(np.fft.ifftn(noise))
    perm = np.exp(0.35 * perm / perm.std())
    x = np.arange(points) / (points - 1)
    try:
        from scipy.special import erf  # pylint: disable=import-outside-toplevel
    except ImportError:
        erf = np.vectorize(math.erf)
    for step in range(steps):
        front = (step + 1) / (steps + 1) * perm / perm.mean()
        yield (0.5 * (1 - erf((x[None, None, :] - front) / 0.1))).astype("<f4").ravel()


def volume(args):
    """Header, then for each step and brick its values with one layer of neighbours."""
    b = args.brick
    if not 1 <= b <= 255:
        die("--brick: 1 to 255 cells")
    cells = -(-args.size // b) * b
    points, bricks = cells + 1, cells // b
    make = sphere if args.source == "sphere" else reservoir
    steps = 1 if args.source == "sphere" else args.steps
    with open(args.out, "wb") as out:
        out.write(b"FSVOLUM1" + struct.pack(">IIIIII", cells, b, steps, 0, 0, 0))
        for values in make(points, steps):
            if isinstance(values, array.array):
                if sys.byteorder == "big":
                    values.byteswap()
            for i in range(bricks ** 3):
                x0, y0, z0 = i % bricks * b, i // bricks % bricks * b, i // bricks ** 2 * b
                for z in range(z0, z0 + b + 1):
                    for y in range(y0, y0 + b + 1):
                        at = (z * points + y) * points + x0
                        out.write(values[at:at + b + 1].tobytes())
    print(f"{args.out}: {cells}^3 cells, {bricks ** 3} bricks of {b}^3, {steps} steps; "
          f"block={(b + 1) ** 3 * 4 + 16}")


def main():
    p = argparse.ArgumentParser(description=__doc__)
    sub = p.add_subparsers(dest="what", required=True)
    s = sub.add_parser("slide", help="tiles of a micrograph")
    s.add_argument("out")
    s.add_argument("--size", type=int, default=4096, help="pixels across (default 4096)")
    s.add_argument("--height", type=int, help="pixels down (default: as --size)")
    s.add_argument("--tile", type=int, default=128, help="pixels of a tile's side (default 128)")
    s.add_argument("--source", choices=("auto", "ihc", "nuclei", "pattern"), default="auto")
    s.set_defaults(make=slide)
    v = sub.add_parser("volume", help="bricks of a reservoir")
    v.add_argument("out")
    v.add_argument("--size", type=int, default=128, help="cells of a side at least (default 128)")
    v.add_argument("--brick", type=int, default=11, help="cells of a brick's side (default 11)")
    v.add_argument("--steps", type=int, default=5, help="steps of time (default 5)")
    v.add_argument("--source", choices=("reservoir", "sphere"), default="reservoir")
    v.set_defaults(make=volume)
    args = p.parse_args()
    if args.size < 1 or (args.what == "volume" and args.steps < 1):
        die("--size and --steps are at least 1")
    try:
        args.make(args)
    except OSError as err:
        die(f"{args.out}: {err.strerror}")


if __name__ == "__main__":
    main()
