"""What comes to a target's TCP port from people who do not speak NVMe/TCP, or stop in the middle."""

import os
import pathlib
import random
import resource
import socket
import struct

import pytest

URL = "tcp://127.0.0.2:4421"
AT = ("127.0.0.2", 4421)

ICREQ = struct.pack("<BBBBIHBBI", 0, 0, 128, 0, 128, 0, 0, 0, 0) + bytes(112)


@pytest.fixture
def target(start_target):
    return start_target("--listen", URL, "--namespace", "64M")


def still_serves(fabricbench):
    done = fabricbench("host", "io", URL, "--verify", "--size", "4M", timeout=60)
    assert done.code == 0, done.out + done.err


def resident_bytes(target):
    for line in pathlib.Path(f"/proc/{target.process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmRSS")


def read_to_end(connection):
    connection.settimeout(20)
    came = b""
    try:
        while part := connection.recv(4096):
            came += part
    except ConnectionResetError:
        pass
    return came


def test_random_bytes_end_their_connection(target, fabricbench):
    chance = random.Random(7)
    for _ in range(200):
        with socket.create_connection(AT) as connection:
            try:
                connection.sendall(chance.randbytes(chance.choice([1, 8, 128, 4096])))
                connection.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # it has had enough already
            read_to_end(connection)
    still_serves(fabricbench)


@pytest.mark.parametrize("greeted", [False, True])
def test_a_pdu_of_4_gib_is_refused_at_its_header(target, fabricbench, greeted):
    before = resident_bytes(target)
    with socket.create_connection(AT) as connection:
        if greeted:
            connection.sendall(ICREQ)
            assert len(connection.recv(128, socket.MSG_WAITALL)) == 128
        connection.sendall(struct.pack("<BBBBI", 4, 0, 72, 72, 0xFFFFFFFF) + bytes(64))
        connection.settimeout(20)
        assert connection.recv(1) == b"\x03", "C2HTermReq"
    assert resident_bytes(target) - before < 16 << 20
    still_serves(fabricbench)


def test_ten_thousand_that_say_nothing_leave_room_for_one_that_does(target, fabricbench):
    wanted = 10_000
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted + 100:
        pytest.skip(f"this machine lets a process have {hard} files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    before = resident_bytes(target)
    silent = []
    try:
        for number in range(wanted):
            one = socket.socket()
            one.setblocking(False)
            # Not all from one address: a port pair is used once.
            one.bind((f"127.0.1.{number % 200 + 1}", 0))
            one.connect_ex(AT)
            silent.append(one)
        for one in silent[::7]:
            try:
                one.send(ICREQ[: number % 100 + 1])  # stops in the middle of its first PDU
            except OSError:
                pass
        still_serves(fabricbench)
        assert resident_bytes(target) - before < 200 << 20
        assert len(os.listdir(f"/proc/{target.process.pid}/fd")) < 6000
    finally:
        for one in silent:
            one.close()
    still_serves(fabricbench)
