# SPDX-License-Identifier: GPL-2.0
#
# requests_http.py server ADDR PORT
# requests_http.py client ADDR PORT MB
#
# requests, against http.server: connections that are kept, large bodies both ways
# as streams, forms, servers that are slow, end a connection, or are not there.
import concurrent.futures
import hashlib
import http.server
import random
import sys
import time

addr, port = sys.argv[2], int(sys.argv[3])
base = f"http://{addr}:{port}"


def data(count, seed):
    return random.Random(seed).randbytes(count)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def body(self):
        """The client's data, with a length or in chunks."""
        if "Content-Length" in self.headers:
            return self.rfile.read(int(self.headers["Content-Length"]))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def answer(self, body, status=200, **headers):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Peer", str(self.client_address[1]))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def chunks(self, count):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        body = data(count, 3)
        for at in range(0, count, 30000):
            part = body[at:at + 30000]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        self.wfile.write(b"0\r\n\r\n")

    def do_GET(self):
        _, what, *number = self.path.split("/")
        count = int(number[0]) if number else 0
        if what == "data":
            self.answer(data(count, count))
        elif what == "chunks":
            self.chunks(count)
        elif what == "moved":
            self.answer(b"", 302, Location="/data/1000")
        elif what == "slow":
            time.sleep(count)
            self.answer(b"at last")
        elif what == "end":
            self.answer(b"bye")
            self.close_connection = True
        elif what == "short":
            self.less(count)
        else:
            self.answer(b"", 404)

    def less(self, count):
        """Ends in the middle of the body that it has announced."""
        self.send_response(200)
        self.send_header("Content-Length", str(count))
        self.end_headers()
        self.wfile.write(bytes(count // 2))
        self.close_connection = True

    def do_POST(self):
        body = self.body()
        kind = self.headers.get("Content-Type", "none").split(";")[0]
        self.answer(f"{len(body)} {kind} {hashlib.sha256(body).hexdigest()}".encode())


def server():
    http.server.ThreadingHTTPServer((addr, port), Handler).serve_forever()


def kept(session):
    ports = {session.get(f"{base}/data/{i * 100}", timeout=60).headers["X-Peer"]
             for i in range(30)}
    print("connections for 30 requests:", len(ports))
    session.get(f"{base}/end", timeout=60)
    resp = session.get(f"{base}/data/10", timeout=60)
    print("after an end:", resp.status_code, resp.headers["X-Peer"] in ports)


def bodies(session, count):
    for path in f"data/{count}", f"chunks/{count}":
        digest = hashlib.sha256()
        with session.get(f"{base}/{path}", stream=True, timeout=60) as resp:
            for part in resp.iter_content(50000):
                digest.update(part)
        print(path, resp.status_code, digest.hexdigest())
    body = data(count, 1)
    print("post:", session.post(f"{base}/", data=body, timeout=60).text)
    parts = (body[i:i + 10000] for i in range(0, count, 10000))
    print("chunks:", session.post(f"{base}/", data=parts, timeout=60).text)
    print("json:", session.post(f"{base}/", json={"a": [1, 2]}, timeout=60).text)
    form = session.post(f"{base}/", files={"f": body}, data={"x": "y"}, timeout=60)
    print("form:", form.text.split()[:2])


def at_once(session):
    def get(number):
        return session.get(f"{base}/data/{number}", timeout=60).content == \
            data(number, number)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        print("at once:", list(pool.map(get, range(1, 40000, 1000))).count(True))


def errors(session, failures):
    for what, url, limit in (("slow", f"{base}/slow/3", 0.5),
                             ("short", f"{base}/short/100000", 60),
                             ("nobody", f"http://{addr}:{port + 90}/", 60)):
        try:
            print(what, len(session.get(url, timeout=limit).content))
        except failures as err:
            print(what, type(err).__name__)


def client(count):
    import requests
    import urllib3
    session = requests.Session()
    # a request that meets the close of the server is sent again
    session.mount("http://", requests.adapters.HTTPAdapter(
        pool_maxsize=8, max_retries=urllib3.Retry(2)))
    kept(session)
    bodies(session, count)
    print("moved:", session.get(f"{base}/moved", timeout=60).url)
    print("none:", session.get(f"{base}/none", timeout=60).status_code)
    at_once(session)
    errors(requests.Session(), requests.exceptions.RequestException)


if sys.argv[1] == "server":
    server()
else:
    client(int(sys.argv[4]) << 20)
