"""Runs the cells of the matrix that are possible here, one line each.

    ci/interop [--all] [--list] [--bench PROGRAM] [--jobs CELLS] [--budget SECONDS] [--again] [--build-kernel] [CELL-PATTERN ...]

Without a pattern: each kind of cell on the newest kernel that is settled, without those that wait for minutes. --all: the whole matrix.

Exit code 0: nothing failed and something ran. 1: a cell failed. 2: nothing could be run. 130: interrupted.
"""

import argparse
import collections
import contextlib
import fnmatch
import itertools
import json
import os
import pathlib
import queue
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

from interop.guest import guest as guests
from interop.guest import image as images
from interop.guest import kernel as kernels
from interop.guest import userland
from interop.guest.archive import Archive, Unavailable, cache_root
from interop.lane import lifeline, network
from interop.lane.bench import Bench, CellFailure
from interop.lane.matrix import CELLS, Cell, Scene
from interop.lane.scene import version_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
EVIDENCE = ROOT / "build" / "interop"
NAME_WIDTH = max(len(one.name) for one in CELLS)
preparing = threading.Lock()


def evidence_of(cell: Cell) -> pathlib.Path:
    return EVIDENCE / cell.name


def run_here(cell: Cell, image: images.Image | None, program: pathlib.Path) -> dict:
    """The cell itself, in this process (inside its namespace if it has one)."""
    folder = evidence_of(cell)
    scene = Scene(image, Bench(program, folder), folder, cell.kernel, cell.link)
    try:
        scene.connect_link()
        return {"verdict": "passed", "text": cell.run(scene)}
    except Unavailable as missing:
        return {"verdict": "not run", "text": str(missing)}
    except (CellFailure, guests.GuestFailure) as failure:
        return {"verdict": "FAILED", "text": str(failure)}


def run_apart(cell: Cell, image: images.Image | None, program: pathlib.Path) -> dict:
    """The cell in a process group of its own, with a time limit over everything."""
    folder = evidence_of(cell)
    folder.mkdir(parents=True)
    command = [*(network.IN_NAMESPACE if cell.link == "tap" else []), sys.executable, "-m",
               "interop.lane", "--inside", cell.name, *(["--image", str(image.folder)] if image else []), "--bench",
               str(program)]
    try:
        lifeline.run(command, ROOT, folder / "lane.log", cell.limit_s)
    except subprocess.TimeoutExpired:
        return {"verdict": "FAILED", "text": f"not done within {cell.limit_s} s"}
    try:
        return json.loads((folder / "result.json").read_text())
    except (OSError, ValueError):
        said = (folder / "lane.log").read_text(errors="replace").strip().splitlines()
        return {"verdict": "FAILED", "text": f"the cell broke: {said[-1] if said else 'no word'}"}


def prepare(flavour: str, known: dict) -> images.Image:
    """The image of this kernel, made once; its Unavailable is remembered too."""
    with preparing:
        if flavour not in known:
            try:
                guests.require_qemu()
                known[flavour] = userland.build(flavour)
            except Unavailable as missing:
                known[flavour] = missing
            except (OSError, subprocess.CalledProcessError) as problem:  # no such program, no room, no permission
                known[flavour] = Unavailable(f"the guest's image cannot be made: {problem}")
    if isinstance(known[flavour], Unavailable):
        raise known[flavour]
    return known[flavour]


def build_kernel() -> None:
    """Apart from the cells and their time. Those that need it say what is missing where this fails."""
    started = time.monotonic()
    print("building the kernel with MCTP, once ...", flush=True)
    try:
        folder = kernels.build(Archive(cache_root() / "apt"))
        print(f"kernel   {folder}, after {time.monotonic() - started:.0f} s", flush=True)
    except Unavailable as missing:
        print(f"kernel   not built: {missing}", flush=True)


def run_once(cell: Cell, known: dict, program: pathlib.Path) -> dict:
    try:
        if cell.link == "tap":
            network.require_tap()
        if cell.prepare is not None:
            with preparing:
                cell.prepare()
        return run_apart(cell, prepare(cell.flavour, known) if cell.has_guest else None, program)
    except Unavailable as missing:
        return {"verdict": "not run", "text": str(missing)}


def run_all(cells: list[Cell], program: pathlib.Path, budget_s: float, again: bool, jobs: int) -> int:
    known: dict = {}
    begin = time.monotonic()

    def run(cell: Cell) -> dict:
        started = time.monotonic()
        shutil.rmtree(evidence_of(cell), ignore_errors=True)  # what is not run has none
        if started - begin > budget_s:
            result = {"verdict": "not run", "text": f"the {budget_s:.0f} s are over"}
        else:
            result = run_once(cell, known, program)
        if again and result["verdict"] == "FAILED":
            # What a machine that is too busy does to a cell does not come twice; a fault does.
            keep_first_evidence(cell)
            result = second_try(result, run_once(cell, known, program))
        seconds = round(time.monotonic() - started, 1)
        return {"cell": cell.name, "title": cell.title, "day": time.strftime("%Y-%m-%d", time.gmtime()), "seconds": seconds,
                "boots": boots(cell), **result}

    ended = {cell.name: {"cell": cell.name, "title": cell.title, "day": "", "seconds": 0.0, "boots": [],
                         "verdict": "not run", "text": "interrupted"} for cell in cells}
    interrupted = False
    try:
        for cell, result in itertools.chain(side_by_side([one for one in cells if not one.alone], jobs, run),
                                            side_by_side([one for one in cells if one.alone], 1, run)):
            ended[cell.name] = result
            print(f"{result['verdict']:8} {cell.name:{NAME_WIDTH}} {result['seconds']:5.1f} s  {result['text']}", flush=True)
            for line in notes(cell):
                print(f"         {line}", flush=True)
    except KeyboardInterrupt:
        interrupted = True
    results = [ended[cell.name] for cell in cells]
    EVIDENCE.mkdir(parents=True, exist_ok=True)
    (EVIDENCE / "results.json").write_text(json.dumps({"cells": results}, indent=1) + "\n")
    counts = {word: sum(one["verdict"] == word for one in results)
              for word in ("passed", "FAILED", "not run")}
    print(f"interop: {'interrupted: ' if interrupted else ''}{counts['passed']} passed, {counts['FAILED']} failed, {counts['not run']} not run in "
          f"{time.monotonic() - begin:.0f} s{boots_text(results)}; evidence in {EVIDENCE}")
    if interrupted:
        return 130
    if counts["FAILED"]:
        return 1
    return 0 if counts["passed"] else 2


def side_by_side(cells: list[Cell], jobs: int, run: Callable[[Cell], dict]) -> Iterator[tuple[Cell, dict]]:
    """Each as it ends; the longest begin first, so that none of them is left over. Those that wait for nearly all of
    their time leave the processors to the others, and run beside these. The threads end with the process: who interrupts
    the lane waits for none of them."""
    ended: queue.Queue = queue.Queue()

    def work(through: collections.deque) -> None:
        while through:
            with contextlib.suppress(IndexError):  # the last one was another's
                cell = through.popleft()
                try:
                    ended.put((cell, run(cell)))
                except BaseException as broken:
                    ended.put((cell, broken))

    busy = collections.deque(sorted((cell for cell in cells if not cell.waits), key=lambda cell: -cell.limit_s))
    for through in [busy] * jobs + [collections.deque([cell]) for cell in cells if cell.waits]:
        threading.Thread(target=work, args=(through,), daemon=True).start()
    for _ in cells:
        cell, result = ended.get()
        if isinstance(result, BaseException):
            raise result
        yield cell, result


def second_try(first: dict, second: dict) -> dict:
    """What counts of two runs. Two failures in different ways prove nothing where nothing gets its time."""
    text = second["text"] if second["text"] == first["text"] else f"{second['text']}; the first time: {first['text']}"
    if second["verdict"] == "FAILED" and second["text"] != first["text"] and is_crowded():
        load = f"{os.getloadavg()[0]:.0f} for {os.cpu_count()} processors"
        return {"verdict": "not run", "text": f"the machine is too busy, load {load}: {text}"}
    return {"verdict": second["verdict"], "text": text}


def is_crowded() -> bool:
    """So much waits for a processor that a failure says nothing. A guest and the bench want three, two cells six."""
    return os.getloadavg()[0] > 4 * (os.cpu_count() or 1)


def keep_first_evidence(cell: Cell) -> None:
    kept = evidence_of(cell).with_name(cell.name + "-first")
    shutil.rmtree(kept, ignore_errors=True)
    evidence_of(cell).rename(kept)


def said_by(cell: Cell) -> list[str]:
    log = evidence_of(cell) / "lane.log"
    return log.read_text(errors="replace").splitlines() if log.exists() else []


def notes(cell: Cell) -> list[str]:
    """What the cell itself said and everybody should know: that a guest was started twice."""
    return [line for line in said_by(cell) if "trying once more" in line]


def boots(cell: Cell) -> list[float]:
    """How long its guests took, in seconds."""
    found = (re.search(r": booted in ([0-9.]+) s$", line) for line in said_by(cell))
    return [float(one.group(1)) for one in found if one]


def boots_text(results: list[dict]) -> str:
    seconds = sorted(second for one in results for second in one["boots"])
    if not seconds:
        return ""
    return f"; {len(seconds)} boots, {seconds[0]:.1f} to {seconds[-1]:.1f} s, half below {seconds[len(seconds) // 2]:.1f} s"


def matching(cells: list[Cell], patterns: list[str]) -> list[Cell]:
    return [one for one in cells if any(fnmatch.fnmatchcase(one.name, pattern) for pattern in patterns)]


def kind_of(cell: Cell) -> str:
    return cell.name.removesuffix(f"-{cell.kernel}")


def newest(cells: list[Cell]) -> list[Cell]:
    """Of each kind the cell with the newest settled kernel, without those that wait for nearly all of their time or whose outcome
    is not recorded yet."""
    best: dict[str, Cell] = {}
    for one in cells:
        if not one.is_settled:
            continue
        kept = best.setdefault(kind_of(one), one)
        if version_of(one.kernel) > version_of(kept.kernel):
            best[kind_of(one)] = one
    return [one for one in best.values() if one.recorded and not one.waits]


def chosen_of(patterns: list[str], whole: bool = True) -> list[Cell]:
    """Those that a pattern names, without those that one with ! before it names. Without a name all, or those of each change."""
    wanted = [pattern for pattern in patterns if not pattern.startswith("!")]
    unwanted = matching(CELLS, [pattern[1:] for pattern in patterns if pattern.startswith("!")])
    unnamed = CELLS if whole else newest(CELLS)
    return [one for one in (matching(CELLS, wanted) if wanted else unnamed) if one not in unwanted]


def main() -> int:
    parser = argparse.ArgumentParser(prog="ci/interop", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", metavar="CELL-PATTERN",
                        help="those whose names match, as tcp-*-6.12; '!PATTERN' leaves out")
    parser.add_argument("--all", action="store_true", help="every cell; without it and a pattern, each kind on the newest settled kernel")
    parser.add_argument("--list", action="store_true", help="print the cells")
    parser.add_argument("--bench", type=pathlib.Path, metavar="PROGRAM",
                        default=ROOT / "build/release/bin/fabricbench")
    parser.add_argument("--budget", type=float, default=float("inf"), metavar="SECONDS",
                        help="begin no further cell after that; it counts as not run")
    parser.add_argument("--again", action="store_true",
                        help="a cell that fails is run once more, and says so; the second time counts, "
                             "and two different failures on a far too busy machine do not")
    parser.add_argument("--build-kernel", action="store_true",
                        help="first build the kernel with MCTP, if that was not done before: it is Debian's source "
                             "and takes some ten minutes on two idle cores")
    parser.add_argument("--jobs", type=int, choices=range(1, 9), default=min(3, 1 + (os.cpu_count() or 1)), metavar="CELLS",
                        help="cells side by side (%(default)s); suites wait for much of their time")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    parser.add_argument("--image", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--lifeline", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        if options.lifeline is not None:
            lifeline.hold(options.lifeline)
        cell = next(one for one in CELLS if one.name == options.inside)
        result = run_here(cell, images.load(options.image) if options.image else None, options.bench)
        (evidence_of(cell) / "result.json").write_text(json.dumps(result))
        return 0
    for pattern in options.patterns:
        if not matching(CELLS, [pattern.removeprefix("!")]):
            print(f"interop: no cell matches {pattern} (ci/interop --list names them)", file=sys.stderr)
            return 2
    chosen = chosen_of(options.patterns, options.all or options.list)
    if options.list:
        for one in chosen:
            print(f"{one.name:{NAME_WIDTH}} {one.title}")
        return 0
    if not options.bench.exists():
        print(f"interop: no {options.bench}", file=sys.stderr)
        return 2
    if options.build_kernel:
        build_kernel()
    return run_all(chosen, options.bench.resolve(), options.budget, options.again, options.jobs)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("interop: interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # who read the lines has gone; the interpreter would say so once more at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
