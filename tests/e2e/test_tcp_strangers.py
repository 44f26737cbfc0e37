"""What comes to a target's TCP port from people who do not speak NVMe/TCP, or stop in the middle."""

import os
import pathlib
import random
import socket
import struct
import subprocess
import sys

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
    before = resident_bytes(target)
    # Twenty processes, since a machine may let each have no more than 1,024 files.
    crowd = [subprocess.Popen([sys.executable, __file__, str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
             for number in range(20)]
    try:
        for part in crowd:
            assert part.stdout.readline() == b"500\n"
        still_serves(fabricbench)
        assert resident_bytes(target) - before < 200 << 20
        assert len(os.listdir(f"/proc/{target.process.pid}/fd")) < 6000
    finally:
        for part in crowd:
            part.communicate()
    still_serves(fabricbench)


def be_a_part_of_the_crowd(number):
    """Opens 500 connections, speaks on some of them, and keeps them until standard input ends."""
    silent = []
    for one in range(500):
        connection = socket.socket()
        connection.setblocking(False)
        connection.bind((f"127.0.1.{number * 5 + one % 5 + 1}", 0))
        connection.connect_ex(AT)
        silent.append(connection)
    for one in silent[::7]:
        try:
            one.send(ICREQ[: number * 5 + 1])  # stops in the middle of its first PDU
        except OSError:
            pass
    print(len(silent), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    be_a_part_of_the_crowd(int(sys.argv[1]))
