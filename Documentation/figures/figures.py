#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""figures.py [-c]: draw the figures of the documents as SVG, beside this file.

-c compares with the files that are there, and fails if one differs.
"""
import os
import sys
from xml.sax.saxutils import escape

HERE = os.path.dirname(os.path.abspath(__file__))
FONT = 13
STYLE = ("text{font-family:sans-serif;font-size:%dpx;fill:#222}"
         ".s{font-size:11px;fill:#555}.m{font-family:monospace;font-size:11px}"
         "rect{fill:#eef3fa;stroke:#1f5fa8;rx:4}.k{fill:#f7f7f7;stroke:#999}"
         ".n{fill:#fdf3e7;stroke:#c98a00}"
         "path{fill:none;stroke:#333;stroke-width:1.3}.d{stroke-dasharray:4 3}" % FONT)


class Figure:
    """Shapes of one figure"""

    def __init__(self, width, height, title):
        self.size = width, height
        self.title = title
        self.out = []

    def box(self, x, y, w, h, text, note="", kind=""):
        self.out.append(f'<rect x="{x}" y="{y}" width="{w}" height="{h}" class="{kind}"/>')
        middle = y + h / 2 + (-2 if note else 5)
        self.text(x + w / 2, middle, text, anchor="middle")
        if note:
            self.text(x + w / 2, middle + 15, note, "s", "middle")

    def text(self, x, y, text, kind="", anchor="start"):
        self.out.append(f'<text x="{x}" y="{y}" class="{kind}" text-anchor="{anchor}">'
                        f'{escape(text)}</text>')

    def arrow(self, x1, y1, x2, y2, text="", kind="", note_x=8):
        self.out.append(f'<path d="M{x1} {y1}L{x2} {y2}" class="{kind}" '
                        'marker-end="url(#a)"/>')
        if text and y1 == y2:
            self.text((x1 + x2) / 2, y1 - 5, text, "s", "middle")
        elif text:
            self.text(max(x1, x2) + note_x, (y1 + y2) / 2 + 4, text, "s")

    def line(self, x1, y1, x2, y2, kind=""):
        self.out.append(f'<path d="M{x1} {y1}L{x2} {y2}" class="{kind}"/>')

    def svg(self):
        w, h = self.size
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" '
                f'viewBox="0 0 {w} {h}" role="img">\n'
                '<!-- SPDX-License-Identifier: GPL-2.0; drawn by figures.py -->\n'
                f'<title>{escape(self.title)}</title>\n<style>{STYLE}</style>\n'
                '<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
                'markerHeight="8" orient="auto-start-reverse">'
                '<path d="M0 0L8 4L0 8z" style="fill:#333;stroke:none"/></marker></defs>\n'
                '<rect width="100%" height="100%" style="fill:#fff;stroke:none"/>\n'
                + "\n".join(self.out) + "\n</svg>\n")


def layers():
    """Modules, links and what is below them"""
    f = Figure(700, 430, "Modules and links")
    f.box(20, 15, 420, 40, "redis, iperf3, ...", "unchanged programs", "k")
    f.arrow(230, 55, 230, 85, "sdp-run (LD_PRELOAD, seccomp)")
    f.box(20, 85, 660, 90, "")
    f.text(32, 103, "sdp.ko", "s")
    f.box(40, 112, 150, 45, "socket", "AF_SDP, IPPROTO_SDP")
    f.box(215, 112, 150, 45, "byte stream", "messages")
    f.box(390, 97, 275, 33, "verbs link: flow controls, zero copy")
    f.box(390, 137, 275, 33, "shared link: the provider's buffers")
    f.arrow(190, 134, 215, 134)
    f.arrow(365, 128, 390, 114)
    f.arrow(365, 140, 390, 153)
    f.arrow(230, 175, 230, 215, "RDMA verbs, rdma_cm")
    f.arrow(540, 175, 540, 280, "rdma_stack.ko:")
    f.text(548, 246, "which component is where,", "s")
    f.text(548, 260, "shared buffers", "s")
    f.box(20, 215, 420, 30, "ib_core, rdma_cm of the kernel", kind="k")
    f.arrow(90, 245, 90, 280)
    f.arrow(300, 245, 300, 280)
    f.box(20, 280, 150, 45, "adapter, siw, rxe", "any RDMA device", "k")
    f.box(200, 280, 480, 45, "iwarp_hybrid.ko", "software iWARP: RDMAP, DDP, MPA")
    f.arrow(300, 325, 300, 350)
    f.box(200, 350, 200, 30, "TCP/IP of the kernel", kind="k")
    f.arrow(300, 380, 300, 395)
    f.box(200, 395, 200, 28, "any Ethernet device", kind="k")
    f.arrow(440, 409, 400, 409)
    f.box(440, 390, 240, 36, "hnic.ko", "simulated NIC with iWARP engines", "n")
    f.arrow(600, 325, 600, 390, "offload", note_x=6)
    return f


def ladder(title, names, steps, width=170):
    """Messages between columns: (from, to, text), or (column, text) for a note"""
    f = Figure(width * len(names) + 20, 70 + 34 * len(steps), title)
    at = [10 + width * i + width / 2 for i in range(len(names))]
    for x, name in zip(at, names):
        f.box(x - width / 2 + 12, 10, width - 24, 28, name)
        f.line(x, 38, x, 60 + 34 * len(steps), "d")
    y = 66
    for step in steps:
        if len(step) == 2:
            last = step[0] == len(names) - 1
            f.text(at[step[0]] + (-6 if last else 6), y, step[1], "s",
                   "end" if last else "start")
        else:
            f.arrow(at[step[0]], y, at[step[1]], y, step[2])
        y += 34
    return f


def connect():
    """connect() over iwarp_hybrid"""
    names = ["client: sdp", "iwarp_hybrid", "iwarp_hybrid", "server: sdp"]
    return ladder("One connect()", names, [
        (0, "address, route: rdma_cm"),
        (0, 1, "rdma_connect(Hello)"),
        (1, 2, "TCP SYN, SYN-ACK, ACK"),
        (1, 2, "MPA Request, Hello"),
        (2, 3, "CONNECT_REQUEST"),
        (3, "child socket, backlog"),
        (3, 2, "rdma_accept(HelloAck)"),
        (2, 1, "MPA Reply, HelloAck"),
        (1, 0, "ESTABLISHED"),
        (0, "open the link"),
        (0, 3, "empty Data message: the server may send"),
        (3, "accept queue, wake-up"),
    ])


def send():
    """One send() over both links"""
    f = Figure(700, 400, "One send() over both links")
    f.box(250, 10, 200, 36, "sendmsg()", "lock_sock", "k")
    f.arrow(300, 46, 150, 75)
    f.arrow(400, 46, 550, 75)
    f.text(60, 66, "verbs link", "s")
    f.text(570, 66, "shared link", "s")
    left = [("copy into a registered page", "sdp_verbs_send()"),
            ("credit? number, BSDH", "sdp_verbs_run(), sdp_verbs_post()"),
            ("ib_post_send()", "hyb_post_send()"),
            ("copy into the stream, CRC", "hyb_tx_run()")]
    right = [("reserve room in the stream", "tx_reserve: hyb_link_reserve()"),
             ("copy to the final place", "sdp_shared_fill()"),
             ("number, BSDH", "sdp_shared_commit()"),
             ("headers, markers, CRC", "hyb_shared_flush()")]
    for x, column in ((20, left), (420, right)):
        for i, (text, note) in enumerate(column):
            y = 75 + 62 * i
            f.box(x, y, 260, 44, text, note, "n" if "copy" in text else "")
            f.arrow(x + 130, y + 44, x + 130, y + 62)
    f.box(20, 323, 660, 32, "pages to TCP by reference, several FPDUs in one call", kind="k")
    f.text(350, 380, "coloured: copies of the payload", "s", "middle")
    return f


def receive():
    """One segment that arrives, over both links"""
    f = Figure(700, 496, "One segment, over both links")
    f.box(200, 10, 300, 40, "TCP queues the segment", "hyb_tcp_data_ready(), softirq", "k")
    f.arrow(350, 50, 350, 68)
    f.box(200, 68, 300, 40, "a cursor walks over TCP's queue", "hyb_rx_walk()")
    f.arrow(350, 108, 350, 126)
    f.box(200, 126, 300, 40, "one FPDU: CRC, markers, headers", "hyb_rx_fpdu()")
    f.arrow(300, 166, 150, 195)
    f.arrow(400, 166, 550, 195)
    f.text(60, 186, "verbs link", "s")
    f.text(570, 186, "shared link", "s")
    left = [("copy into a posted receive", "hyb_rx_send()"),
            ("completion: check BSDH", "sdp_verbs_rx_done()"),
            ("queue the buffer", "sdp_verbs_queue(); small ones are copied")]
    right = [("collect the pieces of payload", "hyb_rx_shared()"),
             ("gather and check BSDH", "sdp_shared_rx()"),
             ("take references to the pages", "sdp_pages_add()")]
    for x, column in ((20, left), (420, right)):
        for i, (text, note) in enumerate(column):
            y = 195 + 62 * i
            f.box(x, y, 260, 44, text, note, "n" if "copy" in text else "")
            f.arrow(x + 130, y + 44, x + 130, y + 62)
    f.box(20, 381, 660, 32, "wake the reader", kind="k")
    f.arrow(350, 413, 350, 431)
    f.box(20, 431, 660, 36, "recvmsg() copies to the program",
          "sdp_verbs_copy(), sdp_shared_copy()", "n")
    f.text(350, 486, "coloured: copies of the payload", "s", "middle")
    return f


def main():
    bad = 0
    for name, figure in (("layers", layers), ("connect", connect), ("send", send),
                         ("receive", receive)):
        path = os.path.join(HERE, name + ".svg")
        new = figure().svg()
        if "-c" in sys.argv[1:]:
            with open(path, encoding="utf-8") as f:
                if f.read() != new:
                    print(f"Documentation/figures/{name}.svg: not what figures.py draws")
                    bad = 1
            continue
        with open(path, "w", encoding="utf-8") as f:
            f.write(new)
    return bad


sys.exit(main())
