#!/usr/bin/env python3
"""The parts of the guest that need no guest: the kernel's ELF, the archive, what counts as a complaint,
and that a cut-off build leaves nothing behind."""

import contextlib
import io
import json
import lzma
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from interop.guest import cpio, guest, image, kernel, root, userland, vmlinux  # noqa: E402
from interop.guest.archive import Archive, Package, Unavailable, reason_in  # noqa: E402
from interop.lane import __main__ as lane  # noqa: E402
from interop.lane import document, lifeline, line, matrix, nvme_cli, scene, tlshd  # noqa: E402
from interop.lane.bench import CellFailure  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]


def boot_image(payload: bytes) -> bytes:
    header = bytearray(2 * 512)
    header[0x1F1] = 1
    header[0x202:0x206] = b"HdrS"
    struct.pack_into("<II", header, 0x248, 100, len(payload))
    return bytes(header) + bytes(100) + payload


class Vmlinux(unittest.TestCase):
    def test_finds_the_compressed_elf(self):
        kernel = b"\x7fELF" + bytes(range(256)) * 8
        packed = lzma.compress(kernel) + struct.pack("<I", len(kernel))
        self.assertEqual(vmlinux.extract(boot_image(packed)), kernel)

    def test_says_what_is_wrong(self):
        for broken in (bytes(1024), boot_image(b"other"), boot_image(lzma.compress(b"no kernel") + bytes(4))):
            with self.assertRaises(Unavailable):
                vmlinux.extract(broken)


class Cpio(unittest.TestCase):
    def test_same_tree_same_bytes(self):
        with tempfile.TemporaryDirectory() as folder:
            tree = pathlib.Path(folder) / "tree"
            (tree / "bin").mkdir(parents=True)
            (tree / "bin/sh").symlink_to("dash")
            (tree / "init").write_text("#!/bin/sh\n")
            outs = [pathlib.Path(folder) / name for name in ("a", "b")]
            for out in outs:
                cpio.write(tree, out)
                os.utime(tree / "init", (1, 1))
            data = outs[0].read_bytes()
            self.assertEqual(data, outs[1].read_bytes())
            self.assertEqual(data[:6], b"070701")
            self.assertEqual(len(data) % 4, 0)
            for part in (b"init\0", b"#!/bin/sh\n", b"bin/sh\0", b"dash", b"TRAILER!!!\0"):
                self.assertIn(part, data)


class Cache(unittest.TestCase):
    def test_an_interrupted_build_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            made = pathlib.Path(folder) / "guest" / "6.1-abc"
            with mock.patch.object(image, "unpack"), \
                 mock.patch.object(pathlib.Path, "read_bytes", side_effect=KeyboardInterrupt):
                with self.assertRaises(KeyboardInterrupt):
                    image._make(made, [], "6.1.0", lambda packages: (packages / "vmlinuz").read_bytes())
            self.assertEqual(list(made.parent.iterdir()), [])

    def test_what_a_killed_build_left_is_removed_when_it_is_old(self):
        with tempfile.TemporaryDirectory() as folder:
            cache = pathlib.Path(folder)
            for name in ("build-old", "build-new", "6.1-abc"):
                (cache / name).mkdir()
            for name in ("build-old", "6.1-abc"):
                os.utime(cache / name, (1, 1))
            image._forget_cut_off(cache)
            self.assertEqual({path.name for path in cache.iterdir()}, {"build-new", "6.1-abc"})


class Apt(unittest.TestCase):
    def test_the_first_complaint_is_told(self):
        said = "W: Failed to fetch http://a  Could not connect\nW: Some index files failed to download.\n"
        self.assertIn("Could not connect", reason_in(said))
        self.assertEqual(reason_in("one\ntwo\n"), "two")
        self.assertEqual(reason_in(""), "no reason given")


    def test_another_release_has_sources_and_lists_of_its_own(self):
        with tempfile.TemporaryDirectory() as folder:
            here, later = pathlib.Path(folder) / "apt", pathlib.Path(folder) / "apt-trixie"
            with mock.patch("interop.guest.archive.codename", return_value="bookworm"):
                Archive(here)
                Archive(later, "trixie")
            sources = (later / "etc/sources.list").read_text()
            self.assertNotIn("bookworm", sources)
            self.assertNotIn("backports", sources)
            self.assertIn("trixie-security", sources)
            self.assertIn("bookworm-backports", (here / "etc/sources.list").read_text())

    def test_what_is_not_released_has_neither_updates_nor_a_security_archive(self):
        with tempfile.TemporaryDirectory() as folder:
            Archive(pathlib.Path(folder), "sid")
            sources = (pathlib.Path(folder) / "etc/sources.list").read_text().splitlines()
        self.assertEqual([line.split()[2:] for line in sources], [["sid", "main"]])

    def test_the_dependencies_of_packages_are_those_that_apt_would_install(self):
        said = ("Reading package lists...\n"
                "'http://a/libc6_2.41-12_amd64.deb' libc6_2.41-12_amd64.deb 2850108 MD5Sum:00\n"
                "'http://a/libcap2_2.75_amd64.deb' libcap2_1%3a2.75-10_amd64.deb 28988 MD5Sum:00\n")
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(Archive, "_apt") as apt:
            archive = Archive(pathlib.Path(folder), "trixie")
            apt.return_value = subprocess.CompletedProcess([], 0, said, "")
            self.assertEqual(archive.closure(["nvme-cli"]), ["libc6", "libcap2"])
            apt.return_value = subprocess.CompletedProcess([], 100, "", "E: Unable to locate package nvme-cli\n")
            with self.assertRaisesRegex(Unavailable, "no package: Unable to locate package nvme-cli"):
                archive.closure(["nvme-cli"])


class Roots(unittest.TestCase):
    """Programs of a Debian on this machine."""

    def test_a_program_is_entered_with_its_folders(self):
        command = root.Root(pathlib.Path("/cache/a")).entered(["tshark", "-r", "x y"], [pathlib.Path("/one"), pathlib.Path("/two")])
        self.assertEqual(command[-8:], ["sh", "/cache/a", "2", "/one", "/two", "tshark", "-r", "x y"])

    def test_versions_are_those_of_the_maintainers(self):
        for file, wanted in (("qemu_1%3a10.0.13+ds-0+deb13u1_amd64.deb", "1:10.0.13+ds-0+deb13u1"), ("a_4.4-2_all.deb", "4.4-2")):
            self.assertEqual(root.version_of(Package("a", "", file, "")), wanted)

    def test_where_nobody_gets_in_a_cell_is_not_run(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(Unavailable, "no root can be entered"):
            root.Root(pathlib.Path(folder)).require()

    def test_their_cells_have_no_guest_and_meet_each_change(self):
        mine = [one for one in matrix.CELLS if not one.has_guest]
        self.assertTrue(mine)
        self.assertTrue(all(one.is_settled and one.title.endswith(f"Debian {one.kernel}") for one in mine))
        self.assertIn("tshark-sid", [one.name for one in lane.newest(matrix.CELLS)])


class Userlands(unittest.TestCase):
    """Programs of a later Debian in an image."""

    def test_a_kernel_alone_is_its_image(self):
        with mock.patch.object(image, "build", return_value="the image") as build:
            self.assertEqual(userland.build("7.3"), "the image")
        build.assert_called_once_with("7.3")

    def test_every_cell_asks_for_one_that_is_known(self):
        for one in filter(lambda cell: cell.has_guest, matrix.CELLS):
            kernel_name, _, wanted = one.flavour.partition("+")
            self.assertIn(kernel_name, image.FLAVOURS)
            self.assertIn(wanted, ["", *userland.USERLANDS])

    def test_packages_that_are_not_to_be_had_are_told(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(image, "build"), \
             mock.patch.object(userland, "cache_root", return_value=pathlib.Path(folder)), \
             mock.patch.object(Archive, "refresh", side_effect=Unavailable("the package archive cannot be read: no network")):
            with self.assertRaisesRegex(Unavailable, "no network"):
                userland.build("7.3+nvme-cli")

    def test_the_packages_have_a_root_of_their_own_behind_the_first_image(self):
        def unpack(deb: pathlib.Path, to: pathlib.Path) -> None:
            (to / "usr/bin").mkdir(parents=True, exist_ok=True)
            (to / "usr/bin" / deb.name).write_text("program")
            (to / "usr/share/doc" / deb.name).mkdir(parents=True)
        with tempfile.TemporaryDirectory() as name:
            cache = pathlib.Path(name)
            (cache / "base").mkdir()
            for part in ("vmlinux", "initrd"):
                (cache / "base" / part).write_bytes(part.encode())
            with mock.patch.object(image, "unpack", side_effect=unpack):
                made = cache / "7.3+nvme-cli-abc"
                userland._make(made, [pathlib.Path("nvme"), pathlib.Path("tlshd")], image.Image(cache / "base", "7.3.0"))
            self.assertEqual(sorted(one.name for one in cache.iterdir()), ["7.3+nvme-cli-abc", "base"])
            self.assertEqual(image.load(made).release, "7.3.0")
            data = (made / "initrd").read_bytes()
            self.assertTrue(data.startswith(b"initrd"))
            for part in (b"opt/trixie/usr/bin/nvme\0", b"opt/trixie/usr/bin/tlshd\0", b"opt/trixie/bin\0", b"opt/trixie/etc/nvme/hostnqn\0"):
                self.assertIn(part, data)
            self.assertNotIn(b"usr/share/doc", data)


class Tlshd(unittest.TestCase):
    """What the lane reads in its log."""

    def test_every_handshake_has_the_cipher_of_its_key(self):
        done = "tlshd[1]: Session description: (TLS1.3)--(AES-128-GCM)\ntlshd[1]: Handshake with unknown (192.0.2.1) was successful\n"
        self.assertEqual(tlshd.expect_ciphers(done * 3, ["TLS_AES_128_GCM_SHA256"]), 3)
        for text, suites in ((done, ["TLS_AES_256_GCM_SHA384"]), ("", ["TLS_AES_128_GCM_SHA256"]),
                             (done + "tlshd[2]: Handshake with 'unknown' (192.0.2.1) failed\n", ["TLS_AES_128_GCM_SHA256"])):
            with self.assertRaises(CellFailure):
                tlshd.expect_ciphers(text, suites)


class NvmeCli(unittest.TestCase):
    """What the lane reads in its output."""

    def guest(self, output: str) -> mock.Mock:
        return mock.Mock(run=mock.Mock(return_value=guest.Outcome(0, output)))

    def test_output_that_is_no_json_is_a_failure(self):
        self.assertEqual(nvme_cli.asked(self.guest('{"device":"nvme0"}'), "connect"), {"device": "nvme0"})
        with self.assertRaisesRegex(CellFailure, "no JSON"):
            nvme_cli.asked(self.guest("failed to add controller"), "connect")

    def test_its_version_is_that_of_both(self):
        said = "nvme version 2.13 (git 2.13)\nlibnvme version 1.13 (git 1.13)\n"
        self.assertEqual(nvme_cli.version(self.guest(said)), "2.13, libnvme 1.13")
        with self.assertRaises(CellFailure):
            nvme_cli.version(self.guest("nvme: not found"))

    def test_members_that_differ_are_told(self):
        nvme_cli.expect_in({"nsze": 8, "ncap": 8}, {"nsze": 8}, "a namespace")
        for seen in ({"nsze": 9}, {}):
            with self.assertRaisesRegex(CellFailure, "a namespace"):
                nvme_cli.expect_in(seen, {"nsze": 8}, "a namespace")


class Kernel(unittest.TestCase):
    """Ours, with MCTP: a build is found again, an interrupted one leaves nothing that looks like one."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cache = pathlib.Path(folder.name)
        source = Package(kernel.SOURCE, "", "source.deb", "SHA256:1")
        self.archive = mock.Mock(**{"find.return_value": [source], "fetch.return_value": [self.cache / "source.deb"]})
        for patch in (mock.patch.object(kernel, "cache_root", return_value=self.cache),
                      mock.patch.object(kernel, "_require_programs")):
            patch.start()
            self.addCleanup(patch.stop)

    def left(self) -> set[str]:
        return {path.name for path in (self.cache / "kernel").iterdir() if path.is_dir()}

    def test_without_one_it_says_how_to_build_it(self):
        with self.assertRaisesRegex(Unavailable, "--build-kernel"):
            kernel.find(self.archive)

    def steps(self, killed_in: str = ""):
        """What the programs of a build leave behind, up to the one that is killed; which of them ran."""
        ran = []

        def run(command, _):
            words = [str(word) for word in command]
            ran.append("unpack" if words[0] in ("dpkg-deb", "tar") else words[-1] if words[0] == "make" else words[0])
            if words[0] == "dpkg-deb":
                (pathlib.Path(words[-1]) / "usr/src").mkdir(parents=True)
                (pathlib.Path(words[-1]) / "usr/src/linux.tar.xz").touch()
            elif words[-1] == "allnoconfig":
                source = pathlib.Path(words[words.index("-C") + 1])
                (source / "include/config").mkdir(parents=True, exist_ok=True)
                (source / "include/config/kernel.release").write_text("6.1.0\n")
                (source / ".config").write_text(kernel.CONFIG.read_text())
            elif words[0] == "strip":
                pathlib.Path(words[words.index("-o") + 1]).write_bytes(b"\x7fELF")
            if killed_in == ran[-1]:
                raise KeyboardInterrupt

        return mock.patch.object(kernel, "_run", side_effect=run), ran

    def test_an_interrupted_build_is_not_found_and_gone_on_with(self):
        for step in ("unpack", "vmlinux", "strip"):
            steps, _ = self.steps(killed_in=step)
            with steps, self.assertRaises(KeyboardInterrupt):
                kernel.build(self.archive)
            with self.assertRaises(Unavailable):
                kernel.find(self.archive)
        steps, ran = self.steps()
        with steps:
            folder = kernel.build(self.archive)
            self.assertEqual(kernel.build(self.archive), folder)
        self.assertEqual(ran, ["allnoconfig", "vmlinux", "strip"])
        self.assertEqual(kernel.find(self.archive), folder)
        self.assertEqual((folder / "release").read_text(), "6.1.0\n")
        self.assertEqual(self.left(), {folder.name})

    def test_what_a_build_of_another_kernel_left_is_removed(self):
        (self.cache / "kernel/build-other/source").mkdir(parents=True)
        steps, _ = self.steps()
        with steps:
            folder = kernel.build(self.archive)
        self.assertEqual(self.left(), {folder.name})

    def test_another_source_or_configuration_is_another_kernel(self):
        names = {kernel._folder(Package(kernel.SOURCE, "", "", digest)).name for digest in ("SHA256:1", "SHA256:2")}
        with mock.patch.object(kernel, "CONFIG", self.cache / "config"):
            (self.cache / "config").write_text("CONFIG_MCTP=y\n")
            names.add(kernel._folder(Package(kernel.SOURCE, "", "", "SHA256:1")).name)
        self.assertEqual(len(names), 3)

    def test_an_option_that_is_not_taken_is_named(self):
        taken = kernel.CONFIG.read_text()
        kernel._check_taken(taken)
        with self.assertRaisesRegex(Unavailable, "CONFIG_MCTP_SERIAL=y"):
            kernel._check_taken(taken.replace("CONFIG_MCTP_SERIAL=y\n", ""))


class SerialLine(unittest.TestCase):
    # A byte count of 7Eh, an escaped flag among the data, an FCS that holds a flag, and noise before it.
    FRAME = bytes.fromhex("7e017e") + b"\x7d\x5e" + bytes(125) + bytes.fromhex("7e027e")

    def test_a_frame_ends_where_its_count_says(self):
        stream = bytearray(b"\x00\x7e" + self.FRAME + self.FRAME[:-1])
        self.assertEqual(line.take_frame(stream), self.FRAME)
        self.assertIsNone(line.take_frame(stream))
        stream += b"\x7e"
        self.assertEqual(line.take_frame(stream), self.FRAME)
        self.assertEqual(stream, b"")

    def test_carries_keeps_and_strikes(self):
        with tempfile.TemporaryDirectory() as folder, line.Line(pathlib.Path(folder)) as served, \
             socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as bench:
            listening.bind(str(pathlib.Path(folder) / "guest.sock"))
            listening.listen(1)
            served.join(lambda: bench.connect(str(served.end)))
            with listening.accept()[0] as port:
                port.settimeout(10)
                bench.settimeout(10)
                served.strike(line.FROM_GUEST, 0, line.lost)
                served.strike(line.TO_GUEST, 1, line.damaged)
                port.sendall(self.FRAME + self.FRAME)
                self.assertEqual(bench.recv(len(self.FRAME), socket.MSG_WAITALL), self.FRAME)
                bench.sendall(self.FRAME + self.FRAME)
                first, second = (port.recv(len(self.FRAME), socket.MSG_WAITALL) for _ in range(2))
                self.assertEqual((first == self.FRAME, second == self.FRAME), (True, False))
                self.assertEqual((len(served.kept()), served.outstanding()), (2, 0))


class Complaints(unittest.TestCase):
    def test_what_counts(self):
        for line in ("WARNING: CPU: 0 PID: 1 at drivers/x.c:1 f+0x1", "BUG: kernel NULL pointer dereference",
                     "Oops: 0000 [#1]", "WARNING: possible circular locking dependency detected",
                     "INFO: task kworker blocked for more than 120 seconds.",
                     "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks"):
            self.assertRegex(line, guest.COMPLAINT)
        for line in ("nvmet_rdma: invalid SGL type: 0x5a", "nvme nvme0: I/O 12 QID 1 timeout",
                     "eth0 speed is unknown, defaulting to 1000"):
            self.assertNotRegex(line, guest.COMPLAINT)


class Cells(unittest.TestCase):
    def test_names_are_unique(self):
        names = [one.name for one in matrix.CELLS if one.recorded]
        self.assertEqual(len(names), len(set(names)))

    def test_an_unknown_machine_is_not_run(self):
        with mock.patch.object(guest, "QEMU", "no-such-qemu"), self.assertRaises(Unavailable) as raised:
            guest.require_qemu()
        self.assertEqual(str(raised.exception), "no no-such-qemu")


class Document(unittest.TestCase):
    """The published table of outcomes."""

    def table(self, names: list[str], text: str = "well") -> str:
        results = [{"cell": name, "verdict": "passed", "seconds": 60.2, "boots": [4.5], "text": text, "day": "2026-11-25"} for name in names]
        return document.renewed("before\n<!-- table: seen -->\n<!-- end -->\n", {"seen": document.outcomes(results)})

    def test_it_holds_each_cell(self):
        names = [one.name for one in matrix.CELLS if one.recorded]
        whole = self.table(names)
        self.assertTrue(document.has_all_outcomes(whole))
        self.assertEqual(document.renewed(whole, {}), whole)
        self.assertIn("4.5 to 4.5 seconds", whole)
        for other in (names[1:], [*names, "another-6.1"], []):
            self.assertFalse(document.has_all_outcomes(self.table(other)))
        self.assertFalse(document.has_all_outcomes("no table"))

    def test_a_cell_that_was_not_run_keeps_its_row(self):
        first, other = [one.name for one in matrix.CELLS][:2]
        before = self.table([first, other], "at first")
        ran = [{"cell": other, "verdict": "FAILED", "seconds": 1.0, "boots": [], "text": "later", "day": "2026-11-26"}]
        after = document.outcomes(ran, document.seen_in(before)).splitlines()[2:]
        self.assertEqual(after, [f"| `{first}` | passed | 60 | at first | 2026-11-25 |", f"| `{other}` | FAILED | 1 | later | 2026-11-26 |"])

    def test_it_names_no_folder_of_the_machine_that_ran_it(self):
        self.assertIn("| in build/interop/a/b |", self.table(["a-6.1"], "in /home/somebody/build/interop/a/b"))


class Lifeline(unittest.TestCase):
    """Nothing that a cell started is there when its lane has gone, however it went."""

    LANE = """
import pathlib, subprocess, sys
from interop.lane import lifeline
folder = pathlib.Path(sys.argv[1])
try:
    lifeline.run([sys.executable, "-c", sys.argv[2], str(folder)], pathlib.Path.cwd(), folder / "lane.log", float(sys.argv[3]))
except subprocess.TimeoutExpired:
    print("late")
"""
    CELL = """
import pathlib, subprocess, sys
from interop.lane import lifeline
lifeline.hold(int(sys.argv[sys.argv.index("--lifeline") + 1]))
machine = subprocess.Popen(["sleep", "600"])
pathlib.Path(sys.argv[1], "half").write_text(str(machine.pid))
pathlib.Path(sys.argv[1], "half").rename(pathlib.Path(sys.argv[1], "pid"))
machine.wait()
"""

    def lane(self, ending, limit_s: float = 600) -> str:
        """A lane whose cell runs a machine; how it ended, once that has gone."""
        with tempfile.TemporaryDirectory() as folder:
            process = subprocess.Popen([sys.executable, "-c", self.LANE, folder, self.CELL, str(limit_s)], cwd=ROOT,
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            pid = pathlib.Path(folder, "pid")
            self.until(pid.exists)
            machine = int(pid.read_text())
            self.assertTrue(running(machine))
            ending(process)
            said = process.communicate()[0]
            self.until(lambda: not running(machine))
            return said

    def until(self, holds) -> None:
        end = time.monotonic() + 60
        while not holds():
            self.assertLess(time.monotonic(), end, "it stays")
            time.sleep(0.01)

    def test_a_lane_that_is_killed(self):
        for how in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
            with self.subTest(how=how):
                self.lane(lambda process: process.send_signal(how))

    def test_a_cell_that_is_late(self):
        self.assertEqual(self.lane(lambda _: None, limit_s=3), "late\n")

    def test_a_cell_that_is_done(self):
        with tempfile.TemporaryDirectory() as folder:
            lifeline.run(["sh", "-c", 'sleep 600 & echo $!; exit 0'], ROOT, pathlib.Path(folder, "log"), 60)
            left = int(pathlib.Path(folder, "log").read_text())
            self.until(lambda: not running(left))


def running(pid: int) -> bool:
    """Whoever is dead and not yet waited for is not."""
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):  # gone before it was opened, or before it was read
        return False
    return state not in "ZX"


class Lane(unittest.TestCase):
    """What the lane makes of its cells' ends."""

    def run_lane(self, verdicts: list[str], load: float = 1.0, **options) -> tuple[int, dict, int]:
        """One cell that ends so, run after run: the exit code, its result, and how often it ran."""
        one = scene.Cell("a-cell", "a cell", "6.1", "l2", 1, lambda scene: "", "6.1")
        ends = iter(verdicts)
        with tempfile.TemporaryDirectory() as folder:
            evidence = pathlib.Path(folder)

            def ended(*_) -> dict:
                (evidence / one.name).mkdir(exist_ok=True)
                (evidence / one.name / "lane.log").write_text("a-cell-host: booted in 4.5 s\nother\na-cell: booted in 12.0 s\n")
                verdict, _, text = next(ends).partition(": ")
                if verdict == "interrupted":
                    raise KeyboardInterrupt
                return {"verdict": verdict, "text": text}

            with mock.patch.object(lane, "EVIDENCE", evidence), mock.patch.object(lane, "prepare"), \
                 mock.patch.object(lane, "run_apart", side_effect=ended) as run, \
                 mock.patch.object(os, "getloadavg", return_value=(load, load, load)), \
                 contextlib.redirect_stdout(io.StringIO()):
                code = lane.run_all([one], pathlib.Path("program"),
                                    **{"budget_s": float("inf"), "again": False, "jobs": 2, **options})
            result = json.loads((evidence / "results.json").read_text())["cells"][0]
            return code, result, run.call_count

    def test_cells_run_side_by_side_and_those_that_wait_beside_them(self):
        meeting = threading.Barrier(4)
        begun = []

        def run(cell: scene.Cell) -> dict:
            begun.append(cell.name)
            if cell.limit_s >= 9 or cell.waits:
                meeting.wait(30)  # breaks where fewer than these run at once
            return {"cell": cell.name}
        cells = [scene.Cell(name, "", "6.1", "l2", limit_s, lambda _: "", "6.1", waits=waits) for name, limit_s, waits in
                 (("short", 1, False), ("long", 9, False), ("longer", 10, False), ("middle", 5, False), ("w1", 1, True), ("w2", 2, True))]
        ended = [(cell.name, result["cell"]) for cell, result in lane.side_by_side(cells, 2, run)]
        self.assertEqual(sorted(ended), sorted((cell.name, cell.name) for cell in cells))
        self.assertEqual({*begun[:4]}, {"longer", "long", "w1", "w2"})
        meeting = threading.Barrier(1)
        self.assertEqual([cell.name for cell, _ in lane.side_by_side(cells[:4], 1, run)], ["longer", "long", "middle", "short"])
        with self.assertRaises(ZeroDivisionError):
            list(lane.side_by_side(cells, 2, lambda _: {"never": 1 // 0}))

    def test_boots_are_told(self):
        self.assertEqual(self.run_lane(["passed"])[1]["boots"], [4.5, 12.0])
        self.assertEqual(lane.boots_text([{"boots": [4.5, 12.0]}, {"boots": [3.0]}, {"boots": []}]),
                         "; 3 boots, 3.0 to 12.0 s, half below 4.5 s")
        self.assertEqual(lane.boots_text([{"boots": []}]), "")

    def test_a_failure_is_red(self):
        self.assertEqual(self.run_lane(["FAILED"])[0], 1)

    def test_an_interrupted_cell_is_not_run(self):
        code, result, _ = self.run_lane(["interrupted"])
        self.assertEqual((code, result["verdict"], result["text"]), (130, "not run", "interrupted"))

    def test_what_breaks_the_making_of_an_image_is_told(self):
        for broken in (FileNotFoundError(2, "No such file", "depmod"), subprocess.CalledProcessError(1, "depmod")):
            known: dict = {}
            with mock.patch.object(lane.guests, "require_qemu"), mock.patch.object(lane.images, "build", side_effect=broken):
                for _ in range(2):  # remembered
                    with self.assertRaisesRegex(Unavailable, "depmod"):
                        lane.prepare("6.1", known)

    def test_every_pattern_names_a_cell(self):
        for pattern in ("nonesuch-*", "!nonesuch-*"):
            with mock.patch.object(sys, "argv", ["lane", matrix.CELLS[0].name, pattern]), \
                 mock.patch.object(lane, "run_all") as run_all, contextlib.redirect_stderr(io.StringIO()) as said:
                self.assertEqual(lane.main(), 2)
            self.assertIn(pattern, said.getvalue())
            run_all.assert_not_called()

    def test_patterns_choose_and_leave_out(self):
        every = [one.name for one in matrix.CELLS]
        for patterns, wanted in (([], every), (["tcp-host-6.1", "rdma-host-6.1"], ["rdma-host-6.1", "tcp-host-6.1"]),
                                 (["!*-6.12"], [name for name in every if not name.endswith("-6.12")]),
                                 (["tcp-host-6.1*", "!*-6.12"], ["tcp-host-6.1"])):
            self.assertEqual([one.name for one in lane.chosen_of(patterns)], wanted)

    def test_each_change_meets_the_newest_kernel_of_a_kind(self):
        names = [one.name for one in lane.chosen_of([], whole=False)]
        self.assertIn(f"tcp-suite-{scene.SETTLED}", names)
        self.assertEqual(len([name for name in names if lane.kind_of(lane.matching(matrix.CELLS, [name])[0]) == "tcp-suite"]), 1)
        self.assertIn("mctp-cli-6.1", names)  # the only kernel that has it
        self.assertEqual([name for name in names if "-slow-" in name], [])
        older = [one for one in matrix.CELLS if one.is_settled]
        self.assertEqual({lane.kind_of(one) for one in older if one.recorded and not one.waits}, {name.rsplit("-", 1)[0] for name in names})
        self.assertGreater(lane.version_of("6.12"), lane.version_of("6.2"))

    def test_a_second_try_counts_and_the_first_is_told(self):
        code, result, runs = self.run_lane(["FAILED: late", "passed: at last"], again=True)
        self.assertEqual((code, result["verdict"], runs), (0, "passed", 2))
        self.assertIn("the first time", result["text"])
        self.assertEqual(self.run_lane(["FAILED", "FAILED"], again=True)[0], 1)
        self.assertEqual(self.run_lane(["passed"], again=True)[2], 1)

    def test_a_crowded_machine_proves_nothing(self):
        def verdict(ends: list[str], **options) -> str:
            return self.run_lane(ends, load=1000.0, **options)[1]["verdict"]
        self.assertEqual(verdict(["FAILED: late", "FAILED: never booted"], again=True), "not run")
        self.assertEqual(verdict(["FAILED: other data", "FAILED: other data"], again=True), "FAILED")
        self.assertEqual(verdict(["FAILED: late"]), "FAILED")

    def test_nothing_begins_when_the_time_is_over(self):
        code, result, runs = self.run_lane(["passed"], budget_s=-1.0)
        self.assertEqual((code, result["verdict"], runs), (2, "not run", 0))


if __name__ == "__main__":
    unittest.main()
