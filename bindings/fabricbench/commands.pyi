"""Builders of well-formed commands: records, so that a script may alter any field before it sends them."""

from fabricbench.enums import (AcquireAction, AdminOpcode, Cns, CommitAction, FeatureId, FeatureSelect, IoOpcode, LogPage, PersistChange,
                               RegisterAction, ReleaseAction, ReservationType, SanitizeAction, SelfTestCode)
from fabricbench.wire import (AbortSqe, Buffer, ConnectData, ConnectSqe, DisconnectSqe, FirmwareCommitSqe, FirmwareDownloadSqe, FormatSqe,
                              GetFeaturesSqe, GetLogPageSqe, IdentifySqe, NamespaceAttachmentSqe, NamespaceManagementSqe, PropertyGetSqe,
                              PropertySetSqe, ReadWriteSqe, ReservationReportSqe, ReservationSqe, SanitizeSqe, SelfTestSqe, SetFeaturesSqe,
                              Sqe)

# ---- NVM ----

def read(nsid: int, lba: int, blocks: int = 1) -> ReadWriteSqe:
    """Read of so many blocks, 1 to 65,536."""

def write(nsid: int, lba: int, blocks: int = 1) -> ReadWriteSqe:
    """Write of so many blocks; the data goes with it."""

def compare(nsid: int, lba: int, blocks: int = 1) -> ReadWriteSqe:
    """Compare of so many blocks; what is expected goes with it."""

def write_zeroes(nsid: int, lba: int, blocks: int = 1) -> ReadWriteSqe:
    """Write Zeroes: the blocks read as zeroes afterwards."""

def write_uncorrectable(nsid: int, lba: int, blocks: int = 1) -> ReadWriteSqe:
    """Write Uncorrectable: the blocks cannot be read until they are written."""

def verify(nsid: int, lba: int, blocks: int = 1) -> ReadWriteSqe:
    """Verify: reads the blocks on the controller's side alone."""

def flush(nsid: int) -> Sqe:
    """Flush; FFFFFFFFh for all namespaces."""

def reservation_register(nsid: int, action: RegisterAction | int, change: PersistChange | int = 0) -> ReservationSqe:
    """Reservation Register; two keys go with it, the current and the new one."""

def reservation_acquire(nsid: int, action: AcquireAction | int, type: ReservationType | int) -> ReservationSqe:
    """Reservation Acquire; two keys go with it, the current and the preempted one."""

def reservation_release(nsid: int, action: ReleaseAction | int, type: ReservationType | int = 0) -> ReservationSqe:
    """Reservation Release; the current key goes with it."""

def reservation_report(nsid: int, length: int) -> ReservationReportSqe:
    """Reservation Report of the extended form, `length` bytes of it: a multiple of 4."""

# ---- Admin ----

def identify(cns: Cns | int, nsid: int = 0) -> IdentifySqe:
    """Identify: 4,096 bytes come back."""

def get_log_page(lid: LogPage | int, length: int, offset: int = 0, nsid: int = 0xFFFFFFFF) -> GetLogPageSqe:
    """Get Log Page, `length` bytes of it: a multiple of 4. RAE is 0: the read clears the event."""

def get_features(fid: FeatureId | int, select: FeatureSelect | int = 0, cdw11: int = 0) -> GetFeaturesSqe:
    """Get Features: the current, default, saved value or the capabilities."""

def set_features(fid: FeatureId | int, cdw11: int = 0) -> SetFeaturesSqe:
    """Set Features; ``copy(sv=1)`` saves it."""

def keep_alive() -> Sqe:
    """Keep Alive."""

def abort(sqid: int, cid: int) -> AbortSqe:
    """Abort of one command on one queue."""

def async_event_request() -> Sqe:
    """Asynchronous Event Request: answered when there is an event."""

def firmware_download(offset: int, length: int) -> FirmwareDownloadSqe:
    """Firmware Image Download of a piece that goes with it: offset and length are multiples of 4 bytes."""

def firmware_commit(slot: int, action: CommitAction | int) -> FirmwareCommitSqe:
    """Firmware Commit; slot 0 leaves the choice to the controller."""

def format_nvm(nsid: int, lbaf: int) -> FormatSqe:
    """Format NVM with the LBA format of that number."""

def sanitize(action: SanitizeAction | int) -> SanitizeSqe:
    """Sanitize: starts an operation, or ends the failure of one."""

def device_self_test(code: SelfTestCode | int, nsid: int = 0) -> SelfTestSqe:
    """Device Self-test: starts one of the controller (and of a namespace), or aborts it."""

def create_namespace() -> NamespaceManagementSqe:
    """Namespace Management, create: an IdentifyNamespace goes with it, the NSID comes back in DW0."""

def delete_namespace(nsid: int) -> NamespaceManagementSqe:
    """Namespace Management, delete; FFFFFFFFh for all."""

def attach_namespace(nsid: int) -> NamespaceAttachmentSqe:
    """Namespace Attachment, attach: a list of controllers goes with it."""

def detach_namespace(nsid: int) -> NamespaceAttachmentSqe:
    """Namespace Attachment, detach: a list of controllers goes with it."""

# ---- Fabrics ----

def connect(*, hostnqn: str, subnqn: str, hostid: Buffer, qid: int = 0, entries: int = 32, kato_ms: int = 0, cntlid: int = 0xFFFF,
            cattr: int = 0) -> tuple[ConnectSqe, ConnectData]:
    """Fabrics Connect, and the data that goes with it; `entries` is a count."""

def disconnect() -> DisconnectSqe:
    """Fabrics Disconnect of an I/O queue."""

def property_get(offset: int) -> PropertyGetSqe:
    """Property Get, as wide as the property is: CAP 8 bytes, all others 4."""

def property_set(offset: int, value: int) -> PropertySetSqe:
    """Property Set, as wide as the property is."""

# ---- anything ----

def any_command(opcode: AdminOpcode | IoOpcode | int, nsid: int = 0) -> Sqe:
    """Any opcode, for what has no builder."""
