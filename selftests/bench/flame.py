# SPDX-License-Identifier: GPL-2.0
"""A flame graph: call stacks as an SVG picture, without a script in it.

The width of a box is its share; what it was called from is below. Functions have the
colour of their layer; with a base, the difference: red is more, blue is less.
"""
import html

WIDTH, ROW, FONT, PAD = 1600, 17, 11, 10
COLOURS = {"app": "#c9c9c9", "syscall": "#e6c229", "sdp": "#f17105", "iwarp": "#d11149",
           "copy": "#6610f2", "crc": "#b5179e", "tcpip": "#1a8fe3", "netdev": "#4cc9f0",
           "skb": "#90be6d", "sched": "#f9c74f", "mem": "#43aa8b", "lock": "#adb5bd",
           "nic": "#8d6e63", "probe": "#b7b7a4", "emulation": "#e0e0e0"}


class Node:
    """A function where it was called from"""

    def __init__(self, name):
        self.name = name
        self.amount = 0.0
        self.calls = {}

    def add(self, stack, amount):
        node = self
        node.amount += amount
        for name in stack:
            node = node.calls.setdefault(name, Node(name))
            node.amount += amount

    def depth(self):
        return 1 + max((c.depth() for c in self.calls.values()), default=0)


def tree(stacks):
    """stacks: {(outermost function, ..., innermost): amount}"""
    root = Node("all")
    for stack, amount in stacks.items():
        root.add(stack, amount)
    return root


def shade(change, scale):
    """Red for more, blue for less"""
    level = 255 - int(200 * min(1, abs(change) / scale)) if scale else 255
    return f"#ff{level:02x}{level:02x}" if change > 0 else f"#{level:02x}{level:02x}ff"


def svg(stacks, layer_of, title, unit, base=None):
    """Text of the picture; layer_of(function); base: stacks to compare with"""
    root = tree(stacks)
    old = tree(base) if base else None
    scale = 0.02 * root.amount
    height = (root.depth() + 3) * ROW + 2 * PAD
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
           f'font-family="monospace" font-size="{FONT}">',
           f'<rect width="100%" height="100%" fill="#ffffff"/>'
           f'<text x="{PAD}" y="{PAD + FONT}" font-size="14">{html.escape(title)}</text>']
    x = PAD
    for layer, colour in COLOURS.items():
        out.append(f'<rect x="{x}" y="{PAD + ROW + 4}" width="10" height="10" fill="{colour}"/>'
                   f'<text x="{x + 14}" y="{PAD + ROW + 13}">{layer}</text>')
        x += 30 + 7 * len(layer)

    def draw(node, before, left, level):
        width = node.amount / root.amount * (WIDTH - 2 * PAD)
        if width < 0.5:
            return
        top = height - PAD - (level + 1) * ROW
        was = before.amount if before else 0
        label = f"{node.name}: {node.amount:.4g} {unit}, {node.amount / root.amount:.1%}"
        colour = COLOURS.get(layer_of(node.name), "#eeeeee") if level else "#ffffff"
        if old:
            colour = shade(node.amount - was, scale)
            label += f", {node.amount - was:+.4g}"
        text = node.name[:max(0, int(width / (FONT * 0.61)) - 1)]
        out.append(f'<g><title>{html.escape(label)}</title><rect x="{left:.1f}" y="{top}" '
                   f'width="{width:.1f}" height="{ROW - 1}" fill="{colour}" stroke="#ffffff" '
                   f'stroke-width="0.5"/><text x="{left + 2:.1f}" y="{top + ROW - 5}">'
                   f'{html.escape(text)}</text></g>')
        for call in sorted(node.calls.values(), key=lambda c: c.name):
            draw(call, before.calls.get(call.name) if before else None, left, level + 1)
            left += call.amount / root.amount * (WIDTH - 2 * PAD)

    if root.amount:
        draw(root, old, PAD, 0)
    return "\n".join(out + ["</svg>", ""])
