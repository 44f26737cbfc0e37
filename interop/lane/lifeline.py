"""A cell in a process group of its own that does not outlive the lane.

The lane ends the group when a cell is done, late or interrupted. Who is killed ends nobody: the cell holds the end
of a pipe whose other end is the lane's alone, and when that goes the cell ends its group by itself, with every QEMU
and every program in it. A signal at the death of the parent would not do: it is lost where namespaces are entered.
"""

import os
import pathlib
import signal
import subprocess
import threading


def run(command: list[str], folder: pathlib.Path, log: pathlib.Path, limit_s: float) -> None:
    """Runs what calls hold() with the number that is put behind the command. subprocess.TimeoutExpired when it is
    not done in time. Nothing of its group is left."""
    theirs, ours = os.pipe()
    try:
        with open(log, "wb") as out:
            process = subprocess.Popen([*command, "--lifeline", str(theirs)], cwd=folder, stdin=subprocess.DEVNULL,
                                       stdout=out, stderr=out, start_new_session=True, pass_fds=[theirs])
        try:
            process.wait(limit_s)
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)  # whatever it may have left behind
            except ProcessLookupError:
                pass
            process.wait()
    finally:
        os.close(theirs)
        os.close(ours)


def hold(theirs: int) -> None:
    """In the cell: from here on its process group ends with the lane."""
    def watch() -> None:
        os.read(theirs, 1)
        os.killpg(0, signal.SIGKILL)
    os.set_inheritable(theirs, False)
    threading.Thread(target=watch, daemon=True).start()
