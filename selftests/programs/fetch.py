# SPDX-License-Identifier: GPL-2.0
#
# fetch.py URL: urllib and http.client as programs use them: files, headers,
# errors, several requests.
import hashlib
import http.client
import sys
import urllib.error
import urllib.parse
import urllib.request

base = sys.argv[1]
for name in "small", "large", "":
    with urllib.request.urlopen(base + name, timeout=60) as resp:
        body = resp.read()
        print(name, resp.status, resp.headers["Content-Type"],
              resp.headers["Content-Length"], len(body),
              hashlib.sha256(body).hexdigest())
try:
    urllib.request.urlopen(base + "none", timeout=60)
except urllib.error.HTTPError as err:
    print("none", err.code, err.reason)
conn = http.client.HTTPConnection(urllib.parse.urlsplit(base).netloc, timeout=60)
for _ in range(20):
    conn.request("HEAD", "/small")
    resp = conn.getresponse()
    resp.read()
print("HEAD", resp.status, resp.getheader("Content-Length"))
