"""`fabricbench host drive` where there is nothing to drive: the bench hears why, and the user sees it in one line."""
import json
import signal
import socket
import subprocess

import pytest
from conftest import PROGRAM

HELLO = {"id": 7, "do": "hello", "transport": "tcp", "traddr": "192.0.2.8", "trsvcid": 4420, "subnqn": "nqn.2026-11.org.example:any"}


def test_says_what_is_missing(fabricbench):
    result = fabricbench("host", "drive", input=json.dumps(HELLO) + "\n", env={"PATH": "/nowhere"})
    assert result.code == 2
    answer = json.loads(result.out)
    assert answer["id"] == 7 and answer["ok"] is False and answer["text"]
    assert result.err == f"fabricbench host drive: {answer['text']}\n"


def test_input_without_a_request_is_no_success(fabricbench):
    result = fabricbench("host", "drive", input="", env={"PATH": "/nowhere"})
    assert result.code == 2 and result.out == "" and result.err.count("\n") == 1


class Listening:
    """`host drive --listen` that has nothing to drive: each session hears why, and ends."""

    def __init__(self, address):
        self.process = subprocess.Popen([PROGRAM, "host", "drive", "--listen", address], env={"PATH": "/nowhere"}, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        first = self.process.stdout.readline()
        assert first.startswith("listening on "), first
        host, _, port = first.split()[-1].rpartition(":")
        self.at = (host.strip("[]"), int(port))

    def session(self):
        return socket.create_connection(self.at, timeout=20)

    def finish(self, number):
        self.process.send_signal(number)
        return self.process.wait(timeout=20)


@pytest.fixture
def listening():
    started = []

    def start(address):
        started.append(Listening(address))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.wait()
        one.process.stdout.close()
        one.process.stderr.close()


def everything(connection):
    said = b""
    while chunk := connection.recv(65536):
        said += chunk
    return said


@pytest.mark.parametrize("address", ["127.0.0.1:0", "[::1]:0"])
def test_serves_one_session_after_the_other(listening, address):
    driver = listening(address)
    for number in (1, 2):
        with driver.session() as connection:
            connection.sendall(json.dumps({**HELLO, "id": number}).encode() + b"\n")
            answer = json.loads(everything(connection))
            assert answer["id"] == number and answer["ok"] is False
    assert driver.finish(signal.SIGTERM) == 0


def test_a_session_in_the_middle_ends_with_the_listener(listening):
    driver = listening("127.0.0.1:0")
    with driver.session() as silent, driver.session() as other:
        other.sendall(b'{"id":1,"do":"read"}\n')  # it is answered: both are served at once
        assert b"hello comes first" in other.recv(65536)
        assert driver.finish(signal.SIGINT) == 0
        assert everything(silent) == b"" and everything(other) == b""


@pytest.mark.parametrize("address, said", [
    ("7000", "it is ADDRESS:PORT"),
    ("somewhere:7000", "Name or service not known"),
    ("127.0.0.1:http", "Name or service not known"),
    ("203.0.113.9:7000", "without --token-file"),
])
def test_where_it_cannot_listen_is_told_in_a_line(fabricbench, address, said):
    result = fabricbench("host", "drive", "--listen", address)
    assert result.code == 2 and said in result.err and result.err.count("\n") == 1 and result.out == ""


def test_a_port_that_is_taken_is_told_in_a_line(fabricbench, listening):
    driver = listening("127.0.0.1:0")
    result = fabricbench("host", "drive", "--listen", f"127.0.0.1:{driver.at[1]}")
    assert result.code == 2 and "in use" in result.err and result.err.count("\n") == 1
