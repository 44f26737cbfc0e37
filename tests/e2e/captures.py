"""Small capture files, packet by packet: what other programs' captures look like."""

import ssl
import struct
import subprocess

HOST, CONTROLLER = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
SYN, ACK, PSH, FIN = 2, 16, 8, 1


def pcap(packets, *, link=1, snap=0, nano=False, big=False, step=1000):
    order = ">" if big else "<"
    out = struct.pack(order + "IHHiIII", 0xA1B23C4D if nano else 0xA1B2C3D4, 2, 4, 0, 0, snap or 262144, link)
    for number, packet in enumerate(packets):
        kept = packet[:snap] if snap else packet
        out += struct.pack(order + "IIII", number * step // 10**6, number * step % 10**6, len(kept), len(packet)) + kept
    return out


def pcapng(packets, *, interfaces=1, secrets=None):
    def block(kind, body):
        body += bytes(-len(body) % 4)
        return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)

    out = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    out += block(1, struct.pack("<HHI", 1, 0, 0)) * interfaces
    if secrets is not None:
        out += block(10, struct.pack("<II", 0x544C534B, len(secrets)) + secrets)
    for number, packet in enumerate(packets):
        out += block(6, struct.pack("<IIIII", number % interfaces, 0, number, len(packet), len(packet)) + packet)
    return out


class Wire:
    """A TCP connection between a host and a controller, as frames; `frame` decides what they look like."""

    def __init__(self, port=4420, host_port=40000, vlan=False, v6=False, no_length=False):
        self.port, self.host_port, self.vlan, self.v6, self.no_length = port, host_port, vlan, v6, no_length
        self.seq = {True: 1000, False: 9000}
        self.packets = []

    def segment(self, by_host, data=b"", flags=ACK):
        ports = (self.host_port, self.port) if by_host else (self.port, self.host_port)
        tcp = struct.pack(">HHIIBBHHH", *ports, self.seq[by_host], self.seq[not by_host], 0x50, flags, 65535, 0, 0) + data
        self.seq[by_host] += len(data) + (1 if flags & (SYN | FIN) else 0)
        ends = (HOST, CONTROLLER) if by_host else (CONTROLLER, HOST)
        if self.v6:
            ends = [bytes(12) + end for end in ends]
            length = 0 if self.no_length else len(tcp)
            ip, kind = struct.pack(">IHBB", 6 << 28, length, 6, 64) + b"".join(ends), 0x86DD
        else:
            length = 0 if self.no_length else 20 + len(tcp)
            ip, kind = struct.pack(">BBHHHBBH4s4s", 0x45, 0, length, 0, 0x4000, 64, 6, 0, *ends), 0x0800
        tag = struct.pack(">HH", 0x8100, 5) if self.vlan else b""
        self.packets.append(bytes(12) + tag + struct.pack(">H", kind) + ip + tcp)

    def handshake(self):
        self.segment(True, flags=SYN)
        self.segment(False, flags=SYN | ACK)
        self.segment(True)

    def open(self):
        self.handshake()
        self.segment(True, pdu(0, 128, bytes(120)))
        self.segment(False, pdu(1, 128, bytes(4) + struct.pack("<I", 131072) + bytes(112)))
        data = bytes(256) + b"nqn.2014-08.org.nvmexpress.discovery".ljust(256, b"\0") + b"nqn.2014-08.org.example:host".ljust(512, b"\0")
        connect = struct.pack("<BBHB19x", 0x7F, 0x40, 0, 1) + struct.pack("<QI3xB", 0, 1024, 1) + struct.pack("<HHHBxI", 0, 0, 31, 0, 0)
        self.segment(True, pdu(4, 72, connect.ljust(64, b"\0"), data))
        self.segment(False, pdu(5, 24, cqe(0, 1, dw0=1)))

    def read(self, cid, head, length=512, answer=None):
        """A Get Log Page, whose answer may be for another command."""
        sqe = struct.pack("<BBH20x", 2, 0x40, cid) + struct.pack("<QI3xB", 0, length, 0x5A) + struct.pack("<I", 0x00FF0070)
        self.segment(True, pdu(4, 72, sqe.ljust(64, b"\0")))
        self.segment(False, pdu(7, 24, struct.pack("<HHII4x", cid, 0, 0, length), bytes(length), flags=4))
        self.segment(False, pdu(5, 24, cqe(cid if answer is None else answer, head)))

    def session(self, reads=5):
        self.open()
        for number in range(1, reads + 1):
            self.read(number, (number + 1) % 32)
        return self


class TlsWire(Wire):
    """The same inside TLS 1.3, as OpenSSL speaks it: every flight of records is one segment. `keys` is the key log afterwards."""

    def __init__(self, folder, **options):
        super().__init__(**options)
        certificate, key, self.keylog = folder / "certificate", folder / "key", folder / "keylog"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=a",
                        "-keyout", key, "-out", certificate], check=True, capture_output=True)
        client, server = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
        client.minimum_version = server.minimum_version = ssl.TLSVersion.TLSv1_3
        client.keylog_filename = str(self.keylog)
        server.load_cert_chain(certificate, key)
        to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.out = {True: to_server, False: to_client}
        self.end = {True: client.wrap_bio(to_client, to_server), False: server.wrap_bio(to_server, to_client, server_side=True)}

    def handshake(self):
        super().handshake()
        done = {True: False, False: False}
        while not all(done.values()):
            for by_host in (True, False):
                try:
                    self.end[by_host].do_handshake()
                    done[by_host] = True
                except ssl.SSLWantReadError:
                    pass
                self.flush(by_host)
        # What is left was captured, and nobody reads it.
        for by_host in (True, False):
            self.out[by_host].read()

    def flush(self, by_host):
        # The capture and the other end get the same bytes.
        records = self.out[by_host].read()
        if records:
            super().segment(by_host, records)
            self.out[by_host].write(records)

    def segment(self, by_host, data=b"", flags=ACK):
        if not data:
            return super().segment(by_host, data, flags)
        self.end[by_host].write(data)
        records = self.out[by_host].read()
        super().segment(by_host, records[:40], flags)
        super().segment(by_host, records[40:], flags)
        return None

    @property
    def keys(self):
        return self.keylog.read_bytes()


def pdu(kind, hlen, header, data=b"", flags=0):
    return struct.pack("<BBBBI", kind, flags, hlen, hlen if data else 0, hlen + len(data)) + header + data


def cqe(cid, head, dw0=0):
    return struct.pack("<IIHHHH", dw0, 0, head, 0, cid, 0)
