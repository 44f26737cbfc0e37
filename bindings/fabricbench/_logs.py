"""Log pages and features of a controller."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

from fabricbench import commands
from fabricbench.enums import AnaState, FeatureId, FeatureSelect, LogPage
from fabricbench.wire import AnaGroupHeader, AnaHeader, ErrorEntry, FirmwareSlots, SelfTestLog, SmartLog
from fabricbench._units import plain_messages

if TYPE_CHECKING:
    from fabricbench._core import Op
    from fabricbench._host import Controller


@plain_messages
class Logs:
    """Log pages of a controller."""

    __slots__ = ("_controller",)

    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    def page(self, lid: LogPage | int, length: int, *, lsp: int = 0) -> Op[bytes]:
        """The first bytes of any page, in as many commands as needed. RAE is 0: the read clears its event."""
        op = self._controller._core.read_log(lid, length, lsp)
        return op.then(lambda answer: answer.check(f"log page {int(lid):#04x}").data)

    def smart(self) -> Op[SmartLog]:
        """SMART / Health Information (02h)."""
        return self.page(LogPage.SMART, SmartLog.SIZE).then(SmartLog)

    def errors(self, count: int = 16) -> Op[list[ErrorEntry]]:
        """Error Information (01h): the newest first, without entries that were never written."""
        def entries(data: bytes) -> list[ErrorEntry]:
            made = [ErrorEntry(data[at:at + 64]) for at in range(0, len(data), 64)]
            return [entry for entry in made if any(bytes(entry)[:8])]
        return self.page(LogPage.ERROR_INFORMATION, 64 * count).then(entries)

    def firmware(self) -> Op[FirmwareSlots]:
        """Firmware Slot Information (03h)."""
        return self.page(LogPage.FIRMWARE_SLOT, FirmwareSlots.SIZE).then(FirmwareSlots)

    def changed_namespaces(self) -> Op[list[int]]:
        """Changed Attached Namespace List (04h); [FFFFFFFFh] when there are more than 1,024."""
        def listed(data: bytes) -> list[int]:
            numbers = [int.from_bytes(data[at:at + 4], "little") for at in range(0, 4096, 4)]
            return numbers[:numbers.index(0)] if 0 in numbers else numbers
        return self.page(LogPage.CHANGED_NAMESPACES, 4096).then(listed)

    def self_test(self) -> Op[SelfTestLog]:
        """Device Self-test (06h)."""
        return self.page(LogPage.SELF_TEST, SelfTestLog.SIZE).then(SelfTestLog)

    def ana(self, length: int = 4096) -> Op[dict[int, tuple[AnaState, list[int]]]]:
        """Asymmetric Namespace Access (0Ch): state and NSIDs of each group."""
        def groups(data: bytes) -> dict[int, tuple[AnaState, list[int]]]:
            made = {}
            at = AnaHeader.SIZE
            for _ in range(AnaHeader(data).nagd):
                group = AnaGroupHeader(data[at:])
                at += AnaGroupHeader.SIZE
                spaces = [int.from_bytes(data[at + 4 * i:at + 4 * i + 4], "little") for i in range(group.nnv)]
                made[group.agid] = (AnaState(group.state), spaces)
                at += 4 * group.nnv
            return made
        return self.page(LogPage.ANA, length).then(groups)


class _Feature:
    """A feature as an attribute: reading and setting wait."""

    def __init__(self, fid: FeatureId, doc: str) -> None:
        self._fid = fid
        self.__doc__ = doc

    @overload
    def __get__(self, features: None, owner: type[Features]) -> _Feature: ...
    @overload
    def __get__(self, features: Features, owner: type[Features]) -> int: ...
    def __get__(self, features: Features | None, owner: type[Features]) -> _Feature | int:
        return self if features is None else features.get(self._fid).wait()

    def __set__(self, features: Features, value: int) -> None:
        features.set(self._fid, value).wait()


@plain_messages
class Features:
    """Features of a controller. ``features.kato = 10_000`` waits for the answer; get() and set() give an Op."""

    __slots__ = ("_controller",)  # a feature with a wrong name is an error

    kato = _Feature(FeatureId.KEEP_ALIVE_TIMER, "Keep Alive Timeout in milliseconds (0Fh).")
    temperature_threshold = _Feature(FeatureId.TEMPERATURE_THRESHOLD, "Temperature Threshold, CDW11 (04h).")
    error_recovery = _Feature(FeatureId.ERROR_RECOVERY, "Error Recovery, CDW11 (05h).")
    volatile_write_cache = _Feature(FeatureId.VOLATILE_WRITE_CACHE, "1: the cache is on (06h).")
    number_of_queues = _Feature(FeatureId.NUMBER_OF_QUEUES, "Allocated queues, 0's based: CQs in the high half (07h).")
    write_atomicity = _Feature(FeatureId.WRITE_ATOMICITY, "1: atomicity beyond power failure is not kept (0Ah).")
    async_events = _Feature(FeatureId.ASYNC_EVENT_CONFIGURATION, "Asynchronous events that are switched on, a bit each (0Bh).")

    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    def get(self, fid: FeatureId | int, select: FeatureSelect | int = 0, *, cdw11: int = 0) -> Op[int]:
        """DW0 of Get Features: the current, default, saved value or the capabilities."""
        controller = self._controller
        return controller._checked(controller.admin(commands.get_features(fid, select, cdw11)), f"feature {int(fid):#04x}",
                                   lambda answer: answer.dw0)

    def set(self, fid: FeatureId | int, value: int, *, save: bool = False) -> Op[int]:
        """Set Features with CDW11; DW0 of the answer. `save` keeps it over a power loss."""
        controller = self._controller
        command = commands.set_features(fid, value).copy(sv=1 if save else 0)
        return controller._checked(controller.admin(command), f"feature {int(fid):#04x}", lambda answer: answer.dw0)
