"""async def scenarios, driven by the world's own clock: nothing runs but the world, and its order is the order."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Coroutine, Generator
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from fabricbench._core import Op
    from fabricbench._core import World as Core

T = TypeVar("T")


def awaited(op: Op[T]) -> Generator[Op[T], None, T]:
    """What ``await op`` does: hands the operation to the runner, and takes its value when it is there."""
    if not op.over:
        yield op
    return op.result()


class _Task:
    def __init__(self, coroutine: Coroutine[Op[Any], None, Any]) -> None:
        self.coroutine = coroutine
        self.op: Op[Any] | None = None
        self.value: Any = None
        self.done = False

    def step(self) -> None:
        """Goes on to the next await."""
        try:
            self.op = self.coroutine.send(None)
        except StopIteration as end:
            self.op, self.value, self.done = None, end.value, True


def _abandon(op: Op[Any] | None) -> None:
    """What one task raised ends the others: what they waited for is nobody's any more, and no forgotten error."""
    if op is None:
        return
    if not op.over:
        op.cancel()
        return
    try:
        op.result()
    except Exception:  # noqa: BLE001 - the error of the run is the one that ended it
        pass


def run(core: Core, coroutines: tuple[Coroutine[Op[Any], None, Any], ...]) -> list[Any]:
    """Runs them concurrently until all are complete; returns their values in order. An exception in one ends all."""
    for one in coroutines:
        if not isinstance(one, Coroutine):
            raise TypeError(f"run: coroutines are wanted, of async def, not {type(one).__name__}"
                            + ("; call it" if inspect.iscoroutinefunction(one) else "; an Op has wait()" if hasattr(one, "wait") else ""))
    tasks = [_Task(coroutine) for coroutine in coroutines]
    ready = deque(tasks)
    waiting: list[_Task] = []
    try:
        while ready or waiting:
            while ready:
                task = ready.popleft()
                task.step()
                if not task.done:
                    waiting.append(task)
            if not waiting:
                break
            ops = [task.op for task in waiting if task.op is not None]
            if core.run_until_any(ops, None) is None:
                raise TimeoutError(f"no answer within {core.patience} s: {core.pending()}")
            ready.extend(task for task in waiting if task.op is not None and task.op.over)
            waiting = [task for task in waiting if task.op is not None and not task.op.over]
    finally:
        for task in tasks:
            _abandon(task.op)
            task.coroutine.close()
    return [task.value for task in tasks]
