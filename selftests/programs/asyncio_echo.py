# SPDX-License-Identifier: GPL-2.0
#
# asyncio_echo.py server ADDR PORT [CERT KEY]
# asyncio_echo.py client ADDR PORT MB [CERT]
#
# Streams of asyncio: several connections at once, each sends pieces of random
# length, half closes (not over TLS) and compares what comes back; then a
# connection to a port without a listener.
import asyncio
import random
import ssl
import sys

CONNECTIONS = 4


async def echo(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
    except ConnectionError:
        pass
    finally:
        writer.close()


async def server(addr, port, context):
    srv = await asyncio.start_server(echo, addr, port, ssl=context)
    async with srv:
        await srv.serve_forever()


async def feed(writer, data, rng):
    at = 0
    while at < len(data):
        n = rng.randint(1, 40000)
        writer.write(data[at:at + n])
        await writer.drain()
        at += n
    if writer.can_write_eof():
        writer.write_eof()


async def one(addr, port, context, count, seed):
    rng = random.Random(seed)
    data = rng.randbytes(count)
    reader, writer = await asyncio.open_connection(addr, port, ssl=context)
    sender = asyncio.create_task(feed(writer, data, rng))
    got = await reader.readexactly(count)
    await sender
    rest = b"" if context else await reader.read()
    writer.close()
    await writer.wait_closed()
    return got == data and not rest


async def client(addr, port, count, context):
    each = count // CONNECTIONS
    res = await asyncio.gather(*(one(addr, port, context, each, seed)
                                 for seed in range(CONNECTIONS)))
    print("echoed", res)
    try:
        await asyncio.open_connection(addr, port + 100)
        print("connected without a listener")
    except OSError as err:
        print("no listener:", type(err).__name__)
    return all(res)


def main():
    role, addr, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
    context = None
    if role == "server":
        if len(sys.argv) > 4:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(sys.argv[4], sys.argv[5])
        asyncio.run(server(addr, port, context))
        return 0
    if len(sys.argv) > 5:
        context = ssl.create_default_context(cafile=sys.argv[5])
    return not asyncio.run(client(addr, port, int(sys.argv[4]) << 20, context))


sys.exit(main())
