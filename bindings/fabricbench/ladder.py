"""An exchange as a text diagram, at most 100 columns wide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Said(NamedTuple):
    """One entry of the exchange: a packet, a capsule, or a note."""

    #: Seconds of the world's time.
    time: float
    #: Who said it: "10.0.0.1", "EID 9"; of words the actor.
    sender: str
    #: To whom; empty for words.
    receiver: str
    #: The sender's name, where it is known.
    actor: str
    #: rdma, cm, nvme, tcp, mctp or mi; of words: fault, note, state or verdict.
    layer: str
    label: str
    #: Number of the packet in the capture, from 1.
    packet: int
    #: The fault that affected it, or empty.
    struck: str
    #: What was said in detail; values as text.
    fields: dict[str, str]


def _time(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{seconds * 1e6:.1f} us"
    return f"{seconds * 1e3:.3f} ms" if seconds < 1 else f"{seconds:.6f} s"


def text(said: Sequence[Said], last: int = 60) -> str:
    """The last so many entries (0: all), a line each: time, sender, an arrow, receiver, what was said.

    Packets of an MCTP message before its last one are left out unless a fault affected them: the last packet describes the message.
    """
    said = [one for one in said if one.layer != "mctp" or one.struck or not one.label.startswith(("first ", "middle "))]
    shown = said[-last:] if last else said
    lines = []
    if len(said) > len(shown):
        lines.append(f"... {len(said) - len(shown)} entries before")
    names = {one.sender: one.actor for one in said if one.receiver and one.actor}
    for one in shown:
        if one.receiver:
            ends = f"{names.get(one.sender) or one.sender} -> {names.get(one.receiver) or one.receiver}"
            line = f"{_time(one.time):>13}  {ends:<20} {one.label}"
        else:
            line = f"{_time(one.time):>13}  {'(' + one.layer + ')':<20} {one.label}"
        if one.struck:
            line += f"   <-- {one.struck}"
        lines.append(line if len(line) <= 100 else line[:97] + "...")
    return "\n".join(lines)
