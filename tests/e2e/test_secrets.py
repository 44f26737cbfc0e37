"""No secret of DH-HMAC-CHAP and no key of TLS is in anything that the command prints or writes: raw, in
hexadecimal or in BASE64."""

import base64
import hashlib
import hmac
import json
import os
import re
import signal
import struct
import zlib

import pytest

HOST = "nqn.2014-08.org.nvmexpress:uuid:6ab9bd21-3c85-4b61-a6d0-5d4b6f2f7c01"
BENCH = "nqn.2014-08.org.nvmexpress:uuid:5f0c9e52-7a7c-4be0-9d5e-2f3b8a5d6e01"  # `run` as a host
DISK = "nqn.2026-11.org.fabricbench:subsystem.1"
URL = "tcp://127.0.0.81:14430"


def packed(secret):
    return base64.b64encode(secret + struct.pack("<I", zlib.crc32(secret))).decode()


def expand(key, label, context):
    new = hashlib.sha256
    label = b"tls13 " + label
    prk = hmac.new(bytes(32), key, new).digest()
    info = struct.pack(">HB", 32, len(label)) + label + bytes([len(context)]) + context
    return hmac.new(prk, info + b"\1", new).digest()


class Secrets:
    """What somebody who runs the bench gives it, and what is made of that and is as good as it."""

    def __init__(self, folder):
        self.host, self.controller, self.psk = (hashlib.sha256(name).digest()
                                                for name in (b"a host", b"a controller", b"a key"))
        self.dhchap = self.write(folder / "secrets",
                                 "".join(f"{name} DHHC-1:01:{packed(self.host)}: "
                                         f"DHHC-1:00:{packed(self.controller)}:\n" for name in (HOST, BENCH)))
        self.keys = self.write(folder / "keys", f"NVMeTLSkey-1:01:{packed(self.psk)}:\n")
        self.all = {"the host's secret": self.host, "the controller's secret": self.controller,
                    "the configured PSK": self.psk}
        for name in (HOST, BENCH):
            retained = expand(self.psk, b"HostNQN", name.encode())
            names = f"{name} {DISK}".encode()
            digest = base64.b64encode(
                hmac.new(retained, names + b" NVMe-over-Fabrics", hashlib.sha256).digest())
            self.all[f"the transformed secret of {name}"] = hmac.new(
                self.host, name.encode() + b"NVMe-over-Fabrics", hashlib.sha256).digest()
            self.all[f"the retained PSK of {name}"] = retained
            self.all[f"the TLS PSK of {name}"] = expand(retained, b"nvme-tls-psk", b"01 " + digest)
        self.dhchap_options = ("--dhchap-secret-file", self.dhchap)
        self.tls_options = ("--tls", "--psk-file", self.keys)

    @staticmethod
    def write(path, text):
        path.write_text(text)
        os.chmod(path, 0o600)
        return str(path)

    def found_in(self, data):
        """Which secrets are in these bytes; 12 bytes of one are enough."""
        plain = re.sub(rb"[\s:,._-]|0x|\\x", b"", data).lower()
        found = []
        for name, secret in self.all.items():
            forms = [secret[at:at + 12] for at in (0, 10, 20)]
            texts = [part.hex().encode() for part in forms]
            # BASE64 of something that the secret is a part of, at any of the three offsets.
            encoded = [base64.b64encode(bytes(lead) + secret)[4:24] for lead in (0, 1, 2)]
            if (any(part in data for part in forms) or any(part in plain for part in texts)
                    or any(part in data for part in encoded)):
                found.append(name)
        return found


@pytest.fixture
def secrets(tmp_path):
    folder = tmp_path / "given"
    folder.mkdir()
    return Secrets(folder)


def look_through(secrets, *places):
    """Texts, and folders with all that is in them."""
    seen = 0
    for place in places:
        if isinstance(place, str):
            files = {"output": place.encode()}
        else:
            files = {str(path): path.read_bytes() for path in place.rglob("*") if path.is_file()}
            assert files, place
        for name, data in files.items():
            seen += len(data)
            assert secrets.found_in(data) == [], name
    return seen


def test_this_test_can_fail(secrets, tmp_path):
    for name, secret in secrets.all.items():
        for data in (b"x" + secret[:20], secret.hex().encode(), secret.hex().upper().encode(),
                     secret.hex(" ").encode(), ", ".join(f"0x{b:02x}" for b in secret).encode(),
                     base64.b64encode(secret), base64.b64encode(b"q" + secret + b"crc4"),
                     b"DHHC-1:01:" + packed(secret).encode()):
            assert name in secrets.found_in(data), (name, data)
    with pytest.raises(AssertionError):
        look_through(secrets, tmp_path)  # the files that they were given in


def test_a_host_and_a_target_keep_them(fabricbench, start_target, secrets, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    both = (*secrets.dhchap_options, *secrets.tls_options)
    target = start_target("--listen", URL, "--namespace", "4M", *both, "--capture", out / "target.pcapng")
    said = []
    for number, arguments in enumerate((["connect"], ["identify"], ["io", "--verify", "--size", "1M"])):
        done = fabricbench("host", arguments[0], f"{URL}/{DISK}", *arguments[1:], *both,
                           "--capture", out / f"host{number}.pcapng")
        assert done.code == 0, done.err
        said += [done.out, done.err]
    assert target.stop() == 0
    said += [target.process.stdout.read(), target.process.stderr.read()]
    assert look_through(secrets, out, *said) > 1_000_000


def test_without_tls_captures_have_challenges_and_no_secrets(fabricbench, start_target, secrets, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    target = start_target("--listen", URL, "--namespace", "4M", *secrets.dhchap_options,
                          "--capture", out / "target.pcapng")
    done = fabricbench("host", "connect", f"{URL}/{DISK}", *secrets.dhchap_options,
                       "--capture", out / "host.pcapng")
    assert done.code == 0, done.err
    assert target.stop() == 0
    look_through(secrets, out, done.out, done.err)


def test_refusals_do_not_name_them(fabricbench, start_target, secrets, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    wrong = Secrets.write(other / "secrets", f"{HOST} DHHC-1:00:{packed(bytes(range(32)))}:\n")
    wrong_keys = Secrets.write(other / "keys", f"NVMeTLSkey-1:01:{packed(bytes(range(32)))}:\n")
    target = start_target("--listen", URL, "--namespace", "1M", *secrets.dhchap_options,
                          *secrets.tls_options)
    said = []
    for options in ((*secrets.tls_options, "--dhchap-secret-file", wrong),
                    (*secrets.dhchap_options, "--tls", "--psk-file", wrong_keys)):
        done = fabricbench("host", "connect", f"{URL}/{DISK}", *options)
        assert done.code == 2
        said += [done.out, done.err]
    assert target.stop() == 0
    said += [target.process.stdout.read(), target.process.stderr.read()]
    # Files that cannot be used: the message names the place, never the content.
    damaged = packed(secrets.host)[:-6] + "AAAAA="
    for option, text in (("--dhchap-secret-file", f"{HOST} DHHC-1:01:{damaged}:\n"),
                         ("--dhchap-secret-file", f"{HOST} {packed(secrets.host)}\n"),
                         ("--dhchap-secret-file", f"{packed(secrets.host)} twice {packed(secrets.host)}\n")):
        done = fabricbench("host", "connect", URL, option, Secrets.write(other / "bad", text))
        assert done.code == 2 and done.err
        said += [done.out, done.err]
    for text in (f"NVMeTLSkey-1:01:{damaged}:\n", f"{packed(secrets.psk)}\n", f"a b c {packed(secrets.psk)}\n"):
        damaged_file = Secrets.write(other / "bad", text)
        done = fabricbench("host", "connect", URL, "--tls", "--psk-file", damaged_file)
        assert done.code == 2 and done.err
        said += [done.out, done.err]
    look_through(secrets, *said)


def test_a_report_has_none(fabricbench, start_target, secrets, tmp_path):
    both = (*secrets.dhchap_options, *secrets.tls_options)
    target = start_target("--listen", URL, "--namespace", "4M", *both)
    report = tmp_path / "report"
    # Passes, failures, skips: each with its trace, capture and replay token.
    done = fabricbench("run", "--dut", f"{URL}/{DISK}", *both, "--role", "controller", "--suite", "auth", "--suite",
                       "fabrics", "--report", report, "--verbose", timeout=900)
    assert done.code in (0, 1), done.err
    assert (report / "captures").is_dir()
    assert target.stop() == 0
    results = json.loads((report / "results.json").read_text())
    verdicts = {case["verdict"] for case in results["cases"]}
    assert "pass" in verdicts and "skip" in verdicts
    assert all(case["replay"] for case in results["cases"] if case["verdict"] == "fail")
    look_through(secrets, report, done.out, done.err)


def test_an_interrupted_host_says_none(start_target, start_program, secrets):
    both = (*secrets.dhchap_options, *secrets.tls_options)
    start_target("--listen", URL, "--namespace", "64M", *both)
    process = start_program("host", "io", f"{URL}/{DISK}", "--verify", "--size", "64M", "--block-size", "4K",
                            "--queue-depth", "1", *both)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    look_through(secrets, out, err)
