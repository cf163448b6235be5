#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Independent encoder of MPA, DDP, RDMAP and SDP for the unit tests.

  wire.py vectors            C header with the named vectors (vectors.h)
  wire.py cases [SEED]       binary file of random FPDUs for test_mpa
  wire.py streams FILE       parse the streams that test_layout has written
  wire.py seeds DIR          files for the fuzz targets
  wire.py selftest           check the encoder against the figures of RFC 5044

It shares no code and no structure with the drivers: markers are inserted by
asking for every word whether its place in the stream is a marker's.
"""
import random
import struct
import sys


# ---------------------------------------------------------------- CRC32c
def crc32c(data):
    """value of the digest, bit by bit as the polynomial says"""
    reg = 0xFFFFFFFF
    for byte in data:
        reg ^= byte
        for _ in range(8):
            reg = reg >> 1 ^ (0x82F63B78 if reg & 1 else 0)
    return reg ^ 0xFFFFFFFF


class Table:
    """the same, a byte at a time"""
    rows = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        rows.append(n)


def fast_crc32c(data):
    reg = 0xFFFFFFFF
    rows = Table.rows
    for byte in data:
        reg = rows[(reg ^ byte) & 255] ^ reg >> 8
    return reg ^ 0xFFFFFFFF


def crc_bytes(data):
    return struct.pack('<I', fast_crc32c(data))


# ------------------------------------------------------------------- MPA
REQ, REP = b'MPA ID Req Frame', b'MPA ID Rep Frame'
F_MARK, F_CRC, F_REJECT, F_ENH = 0x80, 0x40, 0x20, 0x10


def start_frame(key, flags, rev, private=b'', enhanced=None):
    """enhanced: (A, B, IRD, C, D, ORD)"""
    if enhanced:
        a, b, ird, c, d, ordd = enhanced
        flags |= F_ENH
        private = struct.pack('>HH', a << 15 | b << 14 | ird,
                              c << 15 | d << 14 | ordd) + private
    return key + bytes([flags, rev]) + struct.pack('>H', len(private)) + private


CODE_PLAIN, CODE_EXT = 9, 8                     # extensions, no markers wanted


def interval_code(interval):
    """low four bits of a Request's flags: ours, not the standard's"""
    return {256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5, 8192: 6,
            16384: 7}[interval]


def fpdu(ulpdu, pos=0, interval=0, crc=True):
    """pos: place of the FPDU in its stream, interval 0: no markers"""
    body = struct.pack('>H', len(ulpdu)) + ulpdu
    body += bytes(-len(body) % 4)
    out, head, place = b'', None, pos
    # one turn more than there are words: the place before the CRC
    for i in range(0, len(body) + 4, 4):
        if interval and place % interval == 0:
            back = 0 if head is None else place - head
            out += struct.pack('>HH', 0, back)
            place += 4
        if head is None:
            head = place
        out += body[i:i + 4]
        place += 4
    return out + (crc_bytes(out) if crc else bytes(4))


class Fault(Exception):
    """an FPDU that is not as it should be"""


def parse_start(data):
    """a Request or Reply at the front of data, as a dict; None: incomplete"""
    if len(data) < 20:
        return None
    size = struct.unpack('>H', data[18:20])[0]
    if len(data) < 20 + size:
        return None
    if data[:16] not in (REQ, REP):
        raise Fault('not a start-up frame: %s' % data[:16].hex())
    return {'reply': data[:16] == REP, 'mark': bool(data[16] & F_MARK),
            'crc': bool(data[16] & F_CRC), 'reject': bool(data[16] & F_REJECT),
            'code': data[16] & 7, 'rev': data[17], 'size': 20 + size,
            'private': data[20:20 + size]}


def parse_fpdu(data, pos=0, interval=0, crc=True, zero_pad=True):
    """the FPDU at the front of data, which lies at pos of its stream

    Returns its ULPDU, its bytes and the markers as (offset, pointer), or None
    if data ends before the FPDU does. Raises Fault.
    """
    markers, words, i, head, size = [], [], 0, None, None
    while True:
        if interval and (pos + i) % interval == 0:
            if len(data) < i + 4:
                return None
            zero, back = struct.unpack('>HH', data[i:i + 4])
            if zero:
                raise Fault('marker at %d: reserved bits %04x' % (pos + i, zero))
            if back != (0 if head is None else i - head):
                raise Fault('marker at %d points %d back, FPDU is at %s' %
                            (pos + i, back, head))
            markers.append((i, back))
            i += 4
        if size is not None and len(words) * 4 >= size + 2:
            break
        if len(data) < i + 4:
            return None
        if head is None:
            head = i
            size = struct.unpack('>H', data[i:i + 2])[0]
        words.append(data[i:i + 4])
        i += 4
    if len(data) < i + 4:
        return None
    body = b''.join(words)
    if zero_pad and any(body[size + 2:]):
        raise Fault('PAD at %d is not zero' % (pos + i))
    if crc and data[i:i + 4] != crc_bytes(data[:i]):
        raise Fault('CRC of the FPDU at %d is %s, should be %s' %
                    (pos, data[i:i + 4].hex(), crc_bytes(data[:i]).hex()))
    return body[2:size + 2], i + 4, markers


# ----------------------------------------------------------- DDP, RDMAP
WRITE, READ_REQ, READ_RESP, SEND, SEND_INV, SEND_SE, SEND_SE_INV, TERMINATE, \
    IMMEDIATE, IMMEDIATE_SE, ATOMIC_REQ, ATOMIC_RESP = range(12)


def tagged(op, stag, to, payload=b'', last=True):
    return struct.pack('>BBIQ', 0xC1 if last else 0x81, 0x40 | op, stag, to) + payload


def untagged(op, qn, msn, mo, payload=b'', last=True, inval=0):
    return struct.pack('>BBIIII', 0x41 if last else 0x01, 0x40 | op, inval,
                       qn, msn, mo) + payload


def read_request(msn, sink_stag, sink_to, size, src_stag, src_to):
    return untagged(READ_REQ, 1, msn, 0,
                    struct.pack('>IQIIQ', sink_stag, sink_to, size, src_stag, src_to))


def immediate(msn, imm, length, se=False):
    """the length of the Write in the second half is ours, the RFC's is free"""
    return untagged(IMMEDIATE_SE if se else IMMEDIATE, 0, msn, 0,
                    struct.pack('>II', imm, length))


def atomic_request(msn, aop, ident, stag, to, *operands):
    """operands: data, data mask, compare, compare mask"""
    return untagged(ATOMIC_REQ, 1, msn, 0,
                    struct.pack('>IIIQQQQQ', aop, ident, stag, to, *operands))


def atomic_response(msn, ident, value):
    return untagged(ATOMIC_RESP, 3, msn, 0, struct.pack('>IQ', ident, value))


def send_with_imm(msn, imm, payload, se=False):
    """ours: a reserved bit, and the immediate data where an STag could be"""
    out = bytearray(untagged(SEND_SE if se else SEND, 0, msn, 0, payload, inval=imm))
    out[1] |= 0x10
    return bytes(out)


def terminate(layer, etype, code, segment=None, with_rdma=False):
    """segment: ULPDU that was refused"""
    bits, tail = 0, b''
    if segment is not None:
        ddp = 14 if segment[0] & 0x80 else 18
        bits = 0xC000 | (0x2000 if with_rdma else 0)
        tail = struct.pack('>H', len(segment)) + segment[:ddp]
        if with_rdma:
            tail += segment[ddp:ddp + 28]
    return untagged(TERMINATE, 2, 1, 0,
                    struct.pack('>BBH', layer << 4 | etype, code, bits) + tail)


# ------------------------------------------------------------------- SDP
def bsdh(mid, length, bufs=10, mseq=1, ack=0, flags=0):
    return struct.pack('>BBHIII', mid, flags, bufs, length, mseq, ack)


def sdp_message(mid, ext=b'', payload=b'', **kw):
    return bsdh(mid, 16 + len(ext) + len(payload), **kw) + ext + payload


def sdp_hello(ipv=4, adverts=1, desired=32784, rcvsz=32784, port=40000,
              src=b'\x0a\0\0\x01', dst=b'\x0a\0\0\x02', short=False, bufs=8,
              version=0x22, cap=0, ext=0):
    hh = struct.pack('>BBBBIIHH', version, ipv << 4 | cap, 0, adverts, desired,
                     rcvsz, port, 0xd500 | ext if ext else 0)
    if not short:
        hh += src.rjust(16, b'\0') + dst.rjust(16, b'\0')
        hh = hh.ljust(76, b'\0')
    return bsdh(0, 16 + len(hh), bufs=bufs, mseq=0) + hh


def sdp_hello_ack(adverts=1, rcvsz=32784, bufs=8, version=0x22, ext=0):
    hah = struct.pack('>BBBBIH', version, 0, 0, adverts, rcvsz,
                      0xd500 | ext if ext else 0).ljust(180, b'\0')
    return bsdh(1, 16 + len(hah), bufs=bufs, mseq=0) + hah


# --------------------------------------------------------------- vectors
PAYLOAD = bytes(range(0x30, 0x4D))              # 29 bytes
STAG = 0x00C0FFEE
TO = 0x1122334455667788


def vectors():
    """(name, remark, bytes)"""
    zeros = bytes(24)
    send = untagged(SEND, 0, 1, 0, PAYLOAD)
    write = tagged(WRITE, STAG, TO, PAYLOAD)
    read = read_request(1, 0x0A0B0C0D, 0x1000, 4096, STAG, 0x2000)
    avail = struct.pack('>IIQ', 65536, STAG, 0x2000)
    return [
        ('mpa_req_v1', 'Request rev 1, C, private data "sdp?"',
         start_frame(REQ, F_CRC, 1, b'sdp?')),
        ('mpa_rep_v1', 'Reply rev 1, C, private data "ok!!"',
         start_frame(REP, F_CRC, 1, b'ok!!')),
        ('mpa_rep_v1_reject', 'Reply rev 1, C and R',
         start_frame(REP, F_CRC | F_REJECT, 1)),
        ('mpa_req_v1_markers', 'Request rev 1, M and C',
         start_frame(REQ, F_MARK | F_CRC, 1)),
        ('mpa_rep_v1_markers', 'Reply rev 1, M and C',
         start_frame(REP, F_MARK | F_CRC, 1)),
        ('mpa_req_v2', 'Request rev 2: A B IRD 16, C D ORD 8',
         start_frame(REQ, F_CRC, 2, b'sdp?', (1, 1, 16, 1, 1, 8))),
        ('mpa_rep_v2', 'Reply rev 2: A IRD 8, C D ORD 16',
         start_frame(REP, F_CRC, 2, b'', (1, 0, 8, 1, 1, 16))),
        ('mpa_req_v2_auto', 'Request rev 2, marker interval 512 if agreed',
         start_frame(REQ, F_CRC | interval_code(512), 2, b'',
                     (1, 1, 16, 1, 1, 8))),
        ('mpa_rep_v2_auto', 'Reply rev 2, interval 512 and extensions agreed',
         start_frame(REP, F_MARK | F_CRC | interval_code(512) ^ CODE_EXT, 2, b'',
                     (1, 1, 8, 1, 1, 16))),
        ('mpa_req_v1_plain', 'Request rev 1, extensions, no markers',
         start_frame(REQ, F_CRC | CODE_PLAIN, 1)),
        ('mpa_rep_v1_plain', 'Reply rev 1, extensions agreed',
         start_frame(REP, F_CRC | CODE_PLAIN ^ CODE_EXT, 1)),
        ('mpa_req_v1_on', 'Request rev 1, M, interval 4096 wanted',
         start_frame(REQ, F_MARK | F_CRC | interval_code(4096), 1)),
        ('rfc5044_fig5', 'RFC 5044 figure 5',
         fpdu(untagged(SEND, 0, 1, 0, zeros), 0, 512)),
        ('rfc5044_fig6', 'RFC 5044 figure 6',
         fpdu(untagged(SEND, 0, 2, 0, zeros), 0x1EC, 512)),
        ('send_nomark', 'Send of 29 bytes, no markers', fpdu(send)),
        ('send_mark_off0', 'leading marker', fpdu(send, 0, 512)),
        ('send_mark_off492', 'marker after the DDP header', fpdu(send, 492, 512)),
        ('send_mark_hdr508', 'marker inside the DDP header', fpdu(send, 508, 512)),
        ('send_mark_precrc', 'marker between PAD and CRC', fpdu(send, 460, 512)),
        ('send_mark_atcrcend', 'the CRC ends where a marker is due',
         fpdu(send, 456, 512)),
        ('send_nocrc', 'CRC not in use', fpdu(send, crc=False)),
        ('write_nomark', 'RDMA Write', fpdu(write)),
        ('readreq_nomark', 'Read Request', fpdu(read)),
        ('readresp_nomark', 'Read Response',
         fpdu(tagged(READ_RESP, 0x0A0B0C0D, 0x1000, PAYLOAD))),
        ('sendinv_nomark', 'Send with SE and Invalidate',
         fpdu(untagged(SEND_SE_INV, 0, 2, 0, b'bye!', inval=STAG))),
        ('rtr_zero_send', 'ready to receive: Send', fpdu(untagged(SEND, 0, 1, 0))),
        ('rtr_zero_write', 'ready to receive: Write', fpdu(tagged(WRITE, 0, 0))),
        ('rtr_zero_read', 'ready to receive: Read',
         fpdu(read_request(1, 0, 0, 0, 0, 0))),
        ('term_ddp_bounds', 'Terminate DDP tagged bounds, with DDP header',
         fpdu(terminate(1, 1, 1, write))),
        ('term_rdmap_access', 'Terminate RDMAP access, with both headers',
         fpdu(terminate(0, 1, 2, read, True))),
        ('term_mpa_crc', 'Terminate MPA CRC', fpdu(terminate(2, 0, 2))),
        ('imm_nomark', 'RFC 7306 Immediate Data',
         fpdu(untagged(IMMEDIATE, 0, 3, 0, bytes(range(1, 9))))),
        ('imm_write', 'Immediate Data with SE after a Write of 1000',
         fpdu(immediate(3, 0x01020304, 1000, True))),
        ('send_imm', 'Send with immediate data',
         fpdu(send_with_imm(4, 0x01020304, b'hi!!'))),
        ('atomic_req_fa', 'RFC 7306 FetchAdd',
         fpdu(atomic_request(2, 0, 0x77, STAG, 0x2000, 1, 0, 0, 2 ** 64 - 1))),
        ('atomic_req_cs', 'RFC 7306 CmpSwap, lower halves',
         fpdu(atomic_request(3, 2, 0x78, STAG, 0x2008, 6, 2 ** 32 - 1, 5,
                             2 ** 32 - 1))),
        ('atomic_resp', 'RFC 7306 Atomic Response',
         fpdu(atomic_response(1, 0x77, 41))),
        ('sdp_hello', 'Hello, IPv4', sdp_hello()),
        ('sdp_hello_v6', 'Hello, IPv6',
         sdp_hello(ipv=6, src=bytes.fromhex('fd' + 29 * '0' + '1'),
                   dst=bytes.fromhex('fd' + 29 * '0' + '2'))),
        ('sdp_hello_short', 'Hello without addresses', sdp_hello(short=True)),
        ('sdp_hello_ack', 'HelloAck', sdp_hello_ack()),
        ('sdp_hello_shared', 'Hello, shared link offered', sdp_hello(ext=1)),
        ('sdp_hello_ack_shared', 'HelloAck, shared link agreed',
         sdp_hello_ack(ext=1)),
        ('sdp_data', 'Data, urgent last byte',
         sdp_message(0xFF, b'', b'hello', mseq=7, ack=3, flags=3)),
        ('sdp_data_empty', 'Data without payload', sdp_message(0xFF, mseq=8)),
        ('sdp_first', 'the first message over iWARP', sdp_message(0xFF, bufs=8)),
        ('sdp_discon', 'DisConn', sdp_message(2, mseq=9, ack=4)),
        ('sdp_srcavail', 'SrcAvail, 5 bytes inline',
         sdp_message(0xFE, avail, b'hello')),
        ('sdp_sinkavail', 'SinkAvail',
         sdp_message(0xFD, avail + struct.pack('>I', 12))),
        ('sdp_rdcompl', 'RdmaRdCompl of 4096', sdp_message(6, struct.pack('>I', 4096))),
        ('sdp_modechange', 'ModeChange: combined, send half',
         sdp_message(7, b'\x90\0\0\0')),
        ('sdp_chrcvbuf', 'ChRcvBuf 65536', sdp_message(0x0B, struct.pack('>I', 65536))),
        ('sdp_suspend', 'SuspComm', sdp_message(0x0D, struct.pack('>Q', 0x10999))),
        ('sdp_hello_ring', 'Hello, ring and held messages offered',
         sdp_hello(ext=6)),
        ('sdp_hello_imm', 'Hello, ring and immediate data offered', sdp_hello(ext=10)),
        ('sdp_hello_ack_imm', 'HelloAck that agrees', sdp_hello_ack(ext=10)),
        ('sdp_imm', 'immediate data: MSeqAck 2, 300 bytes',
         struct.pack('>HH', 2, 300)),
        ('sdp_ringavail', 'RingAvail of 262144 bytes',
         sdp_message(0x48, struct.pack('>IIQ', 262144, 0x12345678,
                                       0x123456000), mseq=2, ack=1, bufs=63)),
        ('sdp_ring', 'Ring, 100 bytes written, 4096 read',
         sdp_message(0x49, struct.pack('>II', 100, 4096), mseq=3, ack=2,
                     bufs=63)),
    ]


def print_header():
    print('/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */')
    print('/* Written by wire.py, do not edit: make -C selftests/unit vectors.h */')
    print('#ifndef SELFTESTS_UNIT_VECTORS_H\n#define SELFTESTS_UNIT_VECTORS_H\n')
    print('/* clang-format off */')
    for name, remark, data in vectors():
        print('/* %s */' % remark)
        print('static const unsigned char v_%s[%d] = {' % (name, len(data)))
        for i in range(0, len(data), 12):
            print('\t' + ' '.join('0x%02x,' % x for x in data[i:i + 12]))
        print('};\n')
    print('static const struct vector all_vectors[] = {')
    for name, _, data in vectors():
        print('\t{ "%s", v_%s, %d },' % (name, name, len(data)))
    print('};\n/* clang-format on */\n\n#endif')


def write_cases(seed):
    """records: interval, pos (8), ULPDU length, FPDU length, ULPDU, FPDU"""
    rnd = random.Random(seed)
    sizes = [0, 1, 2, 3, 4, 14, 18, 46, 460, 486, 490, 508, 512, 1430, 1442,
             1454, 8870, 30000, 64768]
    out = []
    for n in range(600):
        interval = rnd.choice([0, 64, 128, 512, 512, 512, 4096])
        pos = 4 * rnd.randrange(0, 4096)
        if n % 5 == 0 and interval:
            pos = pos // interval * interval + rnd.choice([0, 4, -4 % interval])
        if n % 50 == 0:
            pos += 1 << 33
        size = rnd.choice(sizes) if n % 3 else rnd.randrange(0, 3000)
        if size > 10000 and n % 10:
            size = rnd.randrange(0, 600)
        if interval and interval < 512:
            size = min(size, 30000)     # FPDUPTR has 16 bits
        ulpdu = rnd.randbytes(size)
        data = fpdu(ulpdu, pos, interval)
        out.append(struct.pack('<IQII', interval, pos, size, len(data)) + ulpdu + data)
    sys.stdout.buffer.write(struct.pack('<I', len(out)) + b''.join(out))


def check_stream(data, pos, interval, ulpdus):
    """what is wrong with a stream of FPDUs, or None"""
    at = 0
    try:
        for want in ulpdus:
            got = parse_fpdu(data[at:at + 80000], pos + at, interval)
            if not got:
                return 'the stream ends inside an FPDU'
            if got[0] != want:
                return 'the FPDU at %d is not what went in' % at
            at += got[1]
    except Fault as fault:
        return str(fault)
    return None if at == len(data) else 'bytes after the last FPDU'


def check_streams(name):
    """records: interval, pos (8), FPDUs, bytes, stream, then length, ULPDU"""
    with open(name, 'rb') as f:
        raw = f.read()
    i, streams, fpdus, faults = 0, 0, 0, []
    while i < len(raw):
        interval, pos, number, size = struct.unpack('<IQII', raw[i:i + 20])
        data = raw[i + 20:i + 20 + size]
        i += 20 + size
        ulpdus = []
        for _ in range(number):
            size = struct.unpack('<I', raw[i:i + 4])[0]
            ulpdus.append(raw[i + 4:i + 4 + size])
            i += 4 + size
        fault = check_stream(data, pos, interval, ulpdus)
        if fault:
            faults.append('interval %d, pos %d: %s' % (interval, pos, fault))
        streams += 1
        fpdus += number
    good = streams and not faults
    print('TAP version 13\n1..1\n%s 1 - wire.py: %d streams of %d FPDUs' %
          ('ok' if good else 'not ok', streams, fpdus))
    for fault in faults[:10]:
        print('# ' + fault)
    return 0 if good else 1


def write_seeds(directory):
    """the vectors after each byte or two that a fuzz target begins with"""
    for name, _, data in vectors():
        for n, front in enumerate((b'\0', b'\1', b'\2', bytes(4), b'\3\7\0\0',
                                   b'\3\xff\0\x72', b'\1\1\2\1')):
            with open('%s/%s.%d' % (directory, name, n), 'wb') as f:
                f.write(front + data)


def selftest():
    assert crc32c(b'123456789') == fast_crc32c(b'123456789') == 0xE3069283
    assert crc_bytes(bytes(32)).hex() == 'aa36918a'
    assert crc_bytes(b'\xff' * 32).hex() == '43aba862'
    assert crc_bytes(bytes(range(32))).hex() == '4e79dd46'
    named = {name: data for name, _, data in vectors()}
    assert named['rfc5044_fig5'][-4:].hex() == '52239983'
    assert named['rfc5044_fig6'][-4:].hex() == '84925898'
    assert len(named['sdp_hello']) == 92 and len(named['sdp_hello_ack']) == 196
    assert len(named['sdp_hello_short']) == 32
    for pos in 0, 4, 456, 460, 492, 508:
        ulpdu = untagged(SEND, 0, 1, 0, PAYLOAD)
        data = fpdu(ulpdu, pos, 512)
        got, total, _ = parse_fpdu(data + b'more', pos, 512)
        assert got == ulpdu and total == len(data)
        assert parse_fpdu(data[:-1], pos, 512) is None


if __name__ == '__main__':
    what = sys.argv[1] if len(sys.argv) > 1 else ''
    selftest()
    if what == 'vectors':
        print_header()
    elif what == 'cases':
        write_cases(int(sys.argv[2]) if len(sys.argv) > 2 else 5044)
    elif what == 'seeds':
        write_seeds(sys.argv[2])
    elif what == 'streams':
        sys.exit(check_streams(sys.argv[2]))
    elif what != 'selftest':
        sys.exit(__doc__)
