"""Captures of all kinds: what holds nothing to judge is no pass, what is no NVMe is no finding, and what is missing is said."""

import fcntl
import gzip
import shutil
import struct
import subprocess
import termios
import time

import pytest

from captures import ACK, SYN, TlsWire, Wire, pcap, pcapng, pdu
from conftest import PROGRAM, ROOT

KERNEL = ROOT / "tests" / "data" / "linux-6.12.pcap"


@pytest.fixture
def check(fabricbench, tmp_path):
    """Checks the bytes of a capture: code and JSON."""

    def run(content, *arguments):
        path = tmp_path / "capture"
        path.write_bytes(content)
        return fabricbench("check", "--json", *arguments, path)

    return run


def echo_requests():
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 48, 0, 0, 64, 1, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
    return [bytes(12) + b"\x08\x00" + ip + bytes(28)] * 5


def talk(first, port):
    wire = Wire(port)
    wire.handshake()
    wire.segment(True, first)
    wire.segment(False, b"whatever it answers, it is no PDU" * 3)
    wire.segment(True, first)
    return wire.packets


OTHERS = {"http": b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "ajp": bytes.fromhex("123400020a0b") + b"GET /examples/jsp" * 4,
          "ssh": b"SSH-2.0-OpenSSH_9.2p1\r\n", "mqtt": bytes.fromhex("101e00044d5154540402003c0012") + b"client-0123456789",
          "tls": bytes.fromhex("16030100f8010000f40303") + bytes(241), "zeros": bytes(300)}


# ------------------------------------------------------------------------------------ nothing to judge


@pytest.mark.parametrize("kind", ["empty", "icmp", *OTHERS, "cut"])
def test_nothing_to_judge_is_no_pass(check, fabricbench, tmp_path, kind):
    if kind in OTHERS:
        content = pcap(talk(OTHERS[kind], 443))
    elif kind == "cut":
        content = pcap(Wire().session(20).packets, snap=96)
    else:
        content = pcap([] if kind == "empty" else echo_requests())
    done = check(content)
    assert done.code == 2 and done.err.count("\n") == 1
    assert "nothing to check: no NVMe traffic recognised" in done.err
    report = done.json
    assert report["findings"] == [] and report["complete"] is False
    assert "nothing to check" in report["problem"]
    if kind == "cut":
        assert report["decoded"]["cut_short"] > 20
        assert any("cut short" in line for line in report["missing"])
    words = fabricbench("check", tmp_path / "capture")
    assert words.code == 2 and "no findings" not in words.out


def test_the_rules_that_had_something_to_judge_are_counted(check, fabricbench, tmp_path):
    report = check(pcap(Wire().session().packets)).json
    assert report["findings"] == [] and report["missing"] == [] and report["complete"] is True
    assert 10 < report["rules_judged"] < report["rules"] and len(report["judged"]) == report["rules_judged"]
    assert "tcp_c2h_order" in report["judged"] and "rdma_icrc" not in report["judged"]
    words = fabricbench("check", tmp_path / "capture")
    assert words.code == 0 and f"no findings of {report['rules_judged']} rules" in " ".join(words.out.split())


def test_one_short_packet_among_whole_ones_is_missing_and_no_more(check):
    packets = Wire().session().packets
    content = pcap(packets) + struct.pack("<IIII", 1, 0, 60, 1500) + packets[6][:60]
    done = check(content)
    assert done.code == 0 and done.json["complete"] is False
    assert [line for line in done.json["missing"] if "1 packet cut short" in line]


# ------------------------------------------------------------------------------------ other protocols, other ports


@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize("port", [4420, 8009])
def test_other_protocols_on_the_ports_of_nvme_are_no_finding(check, kind, port):
    nvme = Wire(4420, host_port=41000).session()
    done = check(pcap(talk(OTHERS[kind], port) + nvme.packets))
    assert done.code == 0 and done.json["findings"] == []
    assert done.json["decoded"]["nvme_tcp_connections"] == 1
    if kind != "tls":
        assert done.json["decoded"]["tcp_connections_not_recognised"] == 1


def test_a_port_of_ones_own_from_the_beginning_and_from_the_middle(check):
    for first in (0, 9):
        done = check(pcap(Wire(5009).session().packets[first:]))
        assert done.code == 0 and done.json["decoded"]["nvme_tcp_connections"] == 1
        assert done.json["decoded"]["completions"] >= 4
        assert done.json["complete"] is (first == 0)
        assert any("beginning is missing" in line for line in done.json["missing"]) is (first != 0)


def test_what_cannot_be_told_is_counted_unless_the_port_is_given(check, fabricbench, tmp_path):
    wire = Wire(5009).session(1)
    alone = wire.packets[7:8]  # one command, and no more of it
    content = pcap(alone)
    done = check(content)
    assert done.code == 2 and done.json["decoded"]["tcp_connections_not_recognised"] == 1
    assert any("1 TCP connection not recognised" in line for line in done.json["missing"])
    told = check(content, "--tcp-port", "5009")
    assert told.code == 0 and told.json["decoded"]["commands"] == 1
    wrong = fabricbench("check", "--tcp-port", "0", tmp_path / "capture")
    assert wrong.code == 2 and wrong.err.count("\n") >= 1


# ------------------------------------------------------------------------------------ forms of captures


FORMS = {
    "plain": lambda: pcap(Wire().session().packets), "nanoseconds": lambda: pcap(Wire().session().packets, nano=True),
    "big-endian": lambda: pcap(Wire().session().packets, big=True), "vlan": lambda: pcap(Wire(vlan=True).session().packets),
    "ipv6": lambda: pcap(Wire(v6=True).session().packets), "tso": lambda: pcap(Wire(no_length=True).session().packets),
    "tso-ipv6": lambda: pcap(Wire(no_length=True, v6=True).session().packets),
    "two-interfaces": lambda: pcapng(Wire().session().packets, interfaces=2),
    "gzip": lambda: gzip.compress(pcap(Wire().session().packets)),
    "two-gzips": lambda: gzip.compress(pcap(Wire().session().packets)[:700]) + gzip.compress(pcap(Wire().session().packets)[700:]),
    "raw": lambda: pcap([packet[14:] for packet in Wire().session().packets], link=101),
    "sll": lambda: pcap([struct.pack(">HHH8s", 0, 1, 6, bytes(8)) + packet[12:] for packet in Wire().session().packets], link=113),
    "sll2": lambda: pcap([packet[12:14] + bytes(18) + packet[14:] for packet in Wire().session().packets], link=276),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_form_of_a_capture_does_not_matter(check, form):
    done = check(FORMS[form]())
    assert done.code == 0, done.err
    report = done.json
    assert report["decoded"]["commands"] == 6 and report["decoded"]["completions"] == 6
    assert report["findings"] == [] and report["complete"] is True


def test_a_true_finding_is_found_without_a_length(check):
    wire = Wire(no_length=True).session()
    wire.read(7, 7, answer=77)
    done = check(pcap(wire.packets))
    assert done.code == 1 and [one["rule"] for one in done.json["findings"]] == ["nvme_completion_unknown"]


def test_a_jumbo_payload_option_is_the_length(check):
    packets = []
    for packet in Wire(v6=True).session().packets:
        ethernet, ip, rest = packet[:14], packet[14:54], packet[54:]
        option = struct.pack(">BBBBI", 6, 0, 0xC2, 4, len(rest) + 8)
        packets.append(ethernet + ip[:4] + b"\0\0" + b"\0" + ip[7:] + option + rest + b"\xAA" * 6)  # and a trailer
    done = check(pcap(packets))
    assert done.code == 0 and done.json["decoded"]["commands"] == 6


@pytest.mark.skipif(shutil.which("zstd") is None, reason="zstd is not installed")
def test_zstd(check):
    content = subprocess.run(["zstd", "-c"], input=pcap(Wire().session().packets), capture_output=True, check=True).stdout
    assert check(content).json["decoded"]["commands"] == 6


@pytest.mark.parametrize("content", [gzip.compress(b"\xd4\xc3\xb2\xa1" + bytes(400), mtime=0)[:40], b"\x1f\x8b" + bytes(50),
                                     b"\x28\xb5\x2f\xfd" + bytes(20), b"BZh91AY&SY" + bytes(20), b"\xfd7zXZ\0" + bytes(20)],
                         ids=["gzip-cut-short", "gzip-of-zeros", "zstd", "bzip2", "xz"])
def test_broken_and_unknown_compression_gets_one_line(check, content):
    done = check(content)
    assert done.code == 2 and done.err.count("\n") == 1 and "capture" in done.err


# ------------------------------------------------------------------------------------ a wrong order


@pytest.mark.parametrize("path", [KERNEL, ROOT / "tests" / "data" / "linux-6.1.pcap"])
def test_neighbours_in_the_wrong_order_are_no_finding(check, path):
    """A real recording with TCP and RoCE: each pair of packets that go opposite ways is swapped, a few at a time."""
    content = path.read_bytes()
    packets, at = [], 24
    while at < len(content):
        kept = struct.unpack_from("<I", content, at + 8)[0]
        packets.append(content[at:at + 16 + kept])
        at += 16 + kept
    whole = check(content).json
    assert whole["findings"] == []
    for first in range(4):
        swapped, at = list(packets), first
        while at + 1 < len(swapped):
            one, other = swapped[at], swapped[at + 1]
            if one[16 + 26:16 + 30] == other[16 + 30:16 + 34]:  # the source of the one is the destination of the other
                swapped[at], swapped[at + 1] = other, one
            at += 4
        done = check(content[:24] + b"".join(swapped))
        assert done.json["findings"] == [], first
        assert done.json["decoded"]["completions"] == whole["decoded"]["completions"], first


# ------------------------------------------------------------------------------------ standard input


def test_findings_come_as_they_are_captured():
    process = subprocess.Popen([PROGRAM, "check", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wire = Wire().session()
    wire.read(7, 7, answer=77)
    process.stdin.write(pcap(wire.packets))
    process.stdin.flush()
    line = process.stdout.readline()  # before the end of the input
    assert line.startswith(b"packet ")
    assert process.poll() is None
    out, err = process.communicate()
    assert process.returncode == 1 and b"1 finding of" in out and err == b""


def wait_until_read(pipe):
    """Until the reader of the pipe has taken everything, and a little longer, so that it has looked at it."""
    for _ in range(300):
        (left,) = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))
        if left == 0:
            break
        time.sleep(0.1)
    time.sleep(1)


def test_a_live_capture_that_is_interrupted_is_summed_up():
    process = subprocess.Popen([PROGRAM, "check", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdin.write(pcap(Wire().session().packets)[:-5])
    process.stdin.flush()
    wait_until_read(process.stdin)
    process.terminate()
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130 and b"no findings of" in out and err == b""


def test_standard_input_may_be_compressed_and_json_is_one_document(fabricbench):
    done = subprocess.run([PROGRAM, "check", "--json", "-"], input=gzip.compress(pcap(Wire().session().packets)), capture_output=True, check=False)
    assert done.returncode == 0 and b'"commands": 6' in done.stdout


# ------------------------------------------------------------------------------------ TLS


def test_tls_is_opened_with_the_secrets_of_the_file_or_a_key_log(fabricbench, tmp_path):
    """A run over TLS leaves captures with their secrets: they are read; without them, and with those of a file, too."""
    fabricbench("run", "--case", "tls_*", "--report", tmp_path)
    opened = 0
    for path in sorted((tmp_path / "captures").glob("*.pcapng")):
        report = fabricbench("check", path, "--json").json
        opened += report["decoded"]["tls_connections_opened"]
        content = path.read_bytes()
        at = content.find(struct.pack("<I", 10), 28)
        length = struct.unpack_from("<I", content, at + 4)[0]
        if report["decoded"]["tls_connections_opened"] == 0 or struct.unpack_from("<I", content, at + 8)[0] != 0x544C534B:
            continue
        keys = content[at + 16:at + 16 + struct.unpack_from("<I", content, at + 12)[0]]
        (tmp_path / "keys").write_bytes(keys)
        (tmp_path / "closed.pcapng").write_bytes(content[:at] + content[at + length:])
        closed = fabricbench("check", tmp_path / "closed.pcapng", "--json").json
        assert closed["decoded"]["tls_connections_opened"] == 0
        again = fabricbench("check", tmp_path / "closed.pcapng", "--json", "--keylog", tmp_path / "keys").json
        assert again["decoded"] == report["decoded"]
        break
    assert opened > 0


def test_tls_of_another_program_is_opened(check, tmp_path):
    wire = TlsWire(tmp_path)
    wire.session()
    wire.read(7, 7, answer=77)
    closed = check(pcapng(wire.packets))
    assert closed.code == 2 and "1 TLS connection not opened" in closed.err
    (tmp_path / "keys").write_bytes(wire.keys)
    for done in (check(pcapng(wire.packets, secrets=wire.keys)), check(pcapng(wire.packets), "--keylog", tmp_path / "keys")):
        assert done.code == 1, done.err
        assert [one["rule"] for one in done.json["findings"]] == ["nvme_completion_unknown"]
        assert done.json["decoded"]["tls_connections_opened"] == 1 and done.json["decoded"]["commands"] == 7
    # A lost segment ends what can be read, and that is said.
    gap = check(pcapng(wire.packets[:-6] + wire.packets[-5:], secrets=wire.keys))
    assert gap.code == 0 and any("TLS" in line for line in gap.json["missing"])
    other = check(pcapng(wire.packets, secrets=wire.keys.replace(b"TRAFFIC_SECRET_0", b"TRAFFIC_SECRET_9")))
    assert other.code == 2 and any("was not read" in line for line in other.json["missing"])


def test_a_key_log_that_is_not_there_gets_one_line(check):
    done = check(pcap(Wire().session().packets), "--keylog", "/nowhere/keys")
    assert done.code == 2 and done.err.count("\n") == 1 and "/nowhere/keys" in done.err


# ------------------------------------------------------------------------------------ kickstart


def test_kickstart_discovery_is_not_blamed(check):
    wire = Wire(8009)
    wire.handshake()
    wire.segment(True, pdu(0, 128, bytes(120), flags=1))
    wire.segment(False, pdu(1, 128, bytes(4) + struct.pack("<I", 4096) + bytes(112)))
    wire.segment(True, pdu(0x0A, 16, bytes(8), bytes(1024)))
    wire.segment(False, pdu(0x0B, 16, bytes(8), bytes(256)))
    done = check(pcap(wire.packets))
    assert done.code == 0 and done.json["decoded"]["nvme_tcp_pdus"] == 4


def test_flags_of_other_parts_of_the_handshake_do_not_confuse(check):
    """A connection that is opened twice under the same ports, and one that is refused."""
    wire = Wire()
    wire.session()
    wire.segment(False, flags=4 | ACK)
    wire.seq = {True: 500000, False: 700000}
    wire.session()
    refused = Wire(host_port=40001)
    refused.segment(True, flags=SYN)
    refused.segment(False, flags=4 | ACK)
    done = check(pcap(wire.packets + refused.packets))
    assert done.code == 0 and done.json["decoded"]["commands"] == 12 and done.json["complete"] is True


def test_tls_1_2_is_said_plainly(check):
    wire = Wire(4420)
    wire.handshake()
    wire.segment(True, bytes.fromhex("16030100310100002d0303") + bytes(32) + bytes.fromhex("000004c02f00ff010000"))
    wire.segment(False, bytes.fromhex("160303002c020000280303") + bytes(32) + bytes.fromhex("00c02f000000") + bytes(6))
    wire.segment(True, bytes.fromhex("1703030040") + bytes(64))
    done = check(pcap(wire.packets))
    assert done.code == 2 and done.json["decoded"]["tls_connections"] == 1 and done.json["findings"] == []
    assert any("TLS 1.2 or earlier (cipher suite C02Fh)" in line for line in done.json["missing"]), done.json["missing"]


def test_fragments_are_counted_and_said(check):
    packets = []
    for packet in Wire().session().packets:
        head, ip, body = packet[:14], bytearray(packet[14:34]), packet[34:]
        for at in range(0, len(body), 800):
            part, more = body[at:at + 800], at + 800 < len(body)
            struct.pack_into(">HHH", ip, 2, 20 + len(part), 77, at // 8 | (0x2000 if more else 0))
            packets.append(head + bytes(ip) + part)
    report = check(pcap(packets)).json
    assert report["decoded"]["fragments_not_followed"] == 2 and report["complete"] is False and report["findings"] == []
    assert any("2 IP fragments not put together" in line for line in report["missing"])
