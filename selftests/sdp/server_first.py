# SPDX-License-Identifier: GPL-2.0
#
# server_first.py server|client ADDR PORT COUNT
#
# Connections on which the server speaks first, as soon as it has accepted, without
# waiting for room: its bytes may be there before the client's connect() has ended.
import socket
import sys

IPPROTO_SDP = 257
SIZE = 20000
role, addr, port, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
PATTERN = bytes(j % 251 for j in range(SIZE + 251))


def said(i):
    return PATTERN[i % 251 :][:SIZE]


if role == "server":
    srv = socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_SDP)
    srv.bind((addr, port))
    srv.listen(8)
    for i in range(count):
        conn = srv.accept()[0]
        sent = conn.send(said(i)[:1000], socket.MSG_DONTWAIT)
        conn.sendall(said(i)[sent:])
        conn.close()
    sys.exit()

wrong = []
for i in range(count):
    conn = socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_SDP)
    got = b""
    try:
        conn.connect((addr, port))
        while data := conn.recv(65536):
            got += data
    except OSError as err:
        wrong.append((i, str(err)))
    if got != said(i):
        wrong.append((i, len(got)))
    conn.close()
print(f"{count} connections, {len(wrong)} wrong", wrong[:8])
sys.exit(bool(wrong))
