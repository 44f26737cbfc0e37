"""Runs the benchmarks of speed and collects their ratios: how the bench compares with a plain program, within one run.

Run by ci/figures, which builds the benchmarks first.
"""
from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import os
import platform
import re
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "build/release/bin"
LAST = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "fabricbench/figures.json"
BEGIN, END = "<!-- figures: written by ci/figures --document -->", "<!-- figures: end -->"


@dataclasses.dataclass(frozen=True)
class Figure:
    name: str
    program: str
    benchmark: str  # as the program calls it, without "/real_time"
    wanted: float
    what: str
    counter: str = "ratio"
    at_most: bool = False

    def holds(self, value: float) -> bool:
        return value <= self.wanted if self.at_most else value >= self.wanted


FIGURES = (
    Figure("tcp.4k.qd1.latency_ratio", "bench_tcp", "tcp_latency/sqhd:0", 1.12, "NVMe/TCP 4 KiB reads, depth 1: latency to raw TCP",
           at_most=True),
    Figure("tcp.4k.qd32.read_ratio", "bench_tcp", "tcp_reads/depth:32/sqhd:0", 0.75, "4 KiB reads, depth 32: rate to raw TCP"),
    Figure("tcp.4k.qd32.write_ratio", "bench_tcp", "tcp_writes/depth:32", 0.75, "4 KiB writes, depth 32"),
    Figure("tcp.4k.qd120.read_ratio", "bench_tcp", "tcp_reads/depth:120/sqhd:0", 0.75, "4 KiB reads, depth 120"),
    Figure("tcp.4k.qd120.write_ratio", "bench_tcp", "tcp_writes/depth:120", 0.75, "4 KiB writes, depth 120"),
    Figure("tcp.128k.qd8.read_ratio", "bench_tcp", "tcp_throughput/depth:8", 0.92, "128 KiB reads, depth 8: throughput to raw TCP"),
    Figure("tcp.128k.qd8.write_ratio", "bench_tcp", "tcp_write_throughput/depth:8", 0.92, "128 KiB writes, depth 8"),
    Figure("tcp.digests.4k_ratio", "bench_tcp", "tcp_digests/4096/32", 0.95, "both digests to none, 4 KiB, depth 32"),
    Figure("tcp.digests.128k_ratio", "bench_tcp", "tcp_digests/131072/8", 0.95, "both digests to none, 128 KiB, depth 8"),
    Figure("tls.4k_ratio", "bench_tcp", "tcp_tls/4096/32", 0.60, "TLS 1.3 to plain, 4 KiB, depth 32"),
    Figure("tls.128k_ratio", "bench_tcp", "tcp_tls/131072/8", 0.60, "TLS 1.3 to plain, 128 KiB, depth 8"),
    Figure("rdma.4k.qd1.latency_ratio", "bench_realtime", "read_latency", 1.40, "NVMe/RDMA over UDP, 4 KiB reads, depth 1: latency to raw UDP",
           at_most=True),
    Figure("rdma.4k.qd32.read_ratio", "bench_realtime", "read_rate/depth:32", 0.60, "4 KiB reads, depth 32: rate to raw UDP"),
    Figure("rdma.128k.read_ratio", "bench_realtime", "read_throughput/depth:16", 0.80, "128 KiB reads, depth 16: throughput to raw UDP"),
    Figure("rdma.128k.write_ratio", "bench_realtime", "write_throughput/depth:16", 0.80, "128 KiB writes, depth 16"),
    Figure("monitors.cost_ratio", "bench_monitors", "monitored_worlds/tcp:1/commands:2000", 1.10, "a world with monitors to one without",
           counter="cost", at_most=True),
)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="ci/figures", description=__doc__)
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="runs of each benchmark; the figure is their median (default: 5)")
    parser.add_argument("--only", metavar="PATTERN", default="", help="only figures whose name holds this regular expression")
    parser.add_argument("--json", action="store_true", help="print one JSON document on standard output")
    parser.add_argument("--document", metavar="FILE", help="put the table into this Markdown page, between its two marks")
    parser.add_argument("--compare", metavar="FILE", type=Path, default=LAST, help=f"figures to compare with (default: {LAST})")
    return parser.parse_args()


def urgently(command: list[str]) -> list[str]:
    """In front of other work of the machine, where that is allowed: both ends poll, and a core that is shared answers late."""
    allowed = subprocess.run(["chrt", "-r", "5", "true"], capture_output=True).returncode == 0
    return ["chrt", "-r", "5", *command] if allowed else command


def measured(program: str, figures: list[Figure]) -> dict[str, float]:
    wanted = "|".join(re.escape(figure.benchmark) for figure in figures)
    done = subprocess.run(urgently([str(PROGRAMS / program), f"--benchmark_filter=^({wanted})(/real_time)?$", "--benchmark_format=json",
                                    "--benchmark_min_time=0.2"]), capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"figures: {program} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    rows = {row["name"].removesuffix("/real_time"): row for row in json.loads(done.stdout)["benchmarks"]}
    values = {}
    for figure in figures:
        row = rows.get(figure.benchmark)
        if row is None or row.get("error_occurred"):
            sys.exit(f"figures: {program} {figure.benchmark}: {row['error_message'] if row else 'there is no such benchmark'}")
        values[figure.name] = float(row[figure.counter])
    return values


def machine() -> str:
    model = next((line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")),
                 platform.machine())
    return f"{os.cpu_count()} cores of {model}, Linux {platform.release()}"


def collected(chosen: list[Figure], runs: int) -> list[dict]:
    values: dict[str, list[float]] = {figure.name: [] for figure in chosen}
    for turn in range(runs):
        for program in dict.fromkeys(figure.program for figure in chosen):
            for name, value in measured(program, [figure for figure in chosen if figure.program == program]).items():
                values[name].append(value)
        print(f"figures: run {turn + 1} of {runs} done", file=sys.stderr, flush=True)
    return [{"name": figure.name, "value": round(statistics.median(values[figure.name]), 3), "low": round(min(values[figure.name]), 3),
             "high": round(max(values[figure.name]), 3), "wanted": figure.wanted, "at_most": figure.at_most,
             "holds": figure.holds(statistics.median(values[figure.name])), "what": figure.what} for figure in chosen]


def fallen(now: list[dict], before: dict, here: str) -> list[str]:
    """What got worse by more than both measurements spread. Only figures of the same machine are compared."""
    if before.get("machine") != here:
        return []
    known = {figure["name"]: figure for figure in before["figures"]}
    worse = []
    for figure in now:
        then = known.get(figure["name"])
        if then is None:
            continue
        if figure["low"] > then["high"] if figure["at_most"] else figure["high"] < then["low"]:
            worse.append(f"{figure['name']}: {then['value']} before ({then['low']} to {then['high']}), now {figure['value']} "
                         f"({figure['low']} to {figure['high']})")
    return worse


def table(figures: list[dict], here: str, date: str) -> str:
    lines = [f"Measured on {date} ({here}); medians, and the range of the runs.", "", "| figure | wanted | measured | range |", "|---|---|---|---|"]
    for figure in figures:
        bound = "at most" if figure["at_most"] else "at least"
        lines.append(f"| {figure['what']} (`{figure['name']}`) | {bound} {figure['wanted']:.2f} | {figure['value']:.2f} | "
                     f"{figure['low']:.2f} to {figure['high']:.2f} |")
    return "\n".join(lines)


def write_document(path: Path, text: str) -> None:
    page = path.read_text()
    if BEGIN not in page or END not in page:
        sys.exit(f"figures: {path} has not the two lines {BEGIN} and {END}")
    head, rest = page.split(BEGIN, 1)
    path.write_text(head + BEGIN + "\n\n" + text + "\n\n" + END + rest.split(END, 1)[1])


def main() -> int:
    options = arguments()
    if options.runs < 1:
        sys.exit("figures: --runs takes a number from 1 on")
    chosen = [figure for figure in FIGURES if re.search(options.only, figure.name)]
    if not chosen:
        sys.exit(f"figures: no figure is called '{options.only}'; known are {', '.join(figure.name for figure in FIGURES)}")
    here, date = machine(), datetime.date.today().isoformat()
    figures = collected(chosen, options.runs)
    result = {"schema": 1, "machine": here, "date": date, "runs": options.runs, "figures": figures}
    if options.compare.exists():
        for line in fallen(figures, json.loads(options.compare.read_text()), here):
            print(f"figures: fell by more than its noise: {line}", file=sys.stderr)
    if len(chosen) == len(FIGURES):
        LAST.parent.mkdir(parents=True, exist_ok=True)
        LAST.write_text(json.dumps(result, indent=1) + "\n")
    if options.document:
        write_document(Path(options.document), table(figures, here, date))
    if options.json:
        print(json.dumps(result, indent=1))
    else:
        print(table(figures, here, date))
    return 0


if __name__ == "__main__":
    sys.exit(main())
