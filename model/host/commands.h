// Builders of well-formed commands. They return records of the command's own layout, so that a case
// may alter any field with set() before it sends them:
//
//   auto command = identify(nvme::Cns::controller);
//   command.set(nvme::identify_sqe::csi, 7);
//
// CID 0 means "the queue chooses"; PSDT says SGL, as hosts do in every command over Fabrics. The data
// pointer is the transport's.
#pragma once

#include <array>
#include <string_view>

#include "wire/fabrics/auth.h"
#include "wire/fabrics/connect.h"
#include "wire/fabrics/disconnect.h"
#include "wire/fabrics/property.h"
#include "wire/nvme/copy.h"
#include "wire/nvme/cross_controller_reset.h"
#include "wire/nvme/directives.h"
#include "wire/nvme/endurance.h"
#include "wire/nvme/fdp.h"
#include "wire/nvme/features.h"
#include "wire/nvme/identify.h"
#include "wire/nvme/kv.h"
#include "wire/nvme/lba_status.h"
#include "wire/nvme/lockdown.h"
#include "wire/nvme/logs.h"
#include "wire/nvme/reservation.h"
#include "wire/nvme/sqe.h"
#include "wire/nvme/zones.h"

namespace fb::host {

using HostId = std::array<std::uint8_t, 16>;

/// Every record of 64 bytes that begins with an opcode, as the common form.
template <class L>
nvme::Sqe as_sqe(const Record<L>& command) {
  static_assert(L::size == nvme::kSqeSize, "not a submission queue entry");
  return nvme::Sqe{command.bytes()};
}

// ---- Fabrics ----

struct ConnectArguments {
  std::uint16_t qid = 0;
  std::uint16_t entries = 32;  ///< sent as SQSIZE, minus one
  std::uint32_t kato_ms = 0;
  std::uint8_t cattr = 0;
  std::uint16_t cntlid = fabrics::kAnyController;
  HostId hostid = {};
  std::string_view hostnqn = {};
  std::string_view subnqn = {};
};

/// Connect is a command with 1024 bytes of data.
struct ConnectCommand {
  Record<fabrics::ConnectSqe> sqe;
  Record<fabrics::ConnectData> data;
};
ConnectCommand connect(const ConnectArguments& arguments);

Record<fabrics::PropertyGetSqe> property_get(std::uint32_t offset, fabrics::PropertySize size);
/// With the size that the property has: CAP is 8 bytes, all others are 4.
Record<fabrics::PropertyGetSqe> property_get(std::uint32_t offset);
Record<fabrics::PropertySetSqe> property_set(std::uint32_t offset, std::uint64_t value);
Record<fabrics::DisconnectSqe> disconnect();
/// A message of `bytes` goes with the command; room for so many comes back.
Record<fabrics::AuthSqe> authentication_send(std::size_t bytes);
Record<fabrics::AuthSqe> authentication_receive(std::size_t bytes);

// ---- Admin ----

Record<nvme::IdentifySqe> identify(nvme::Cns cns, std::uint32_t nsid = 0);
/// `length` is a multiple of 4. RAE is 0: the read clears the event.
Record<nvme::GetLogPageSqe> get_log(std::uint8_t lid, std::uint32_t length, std::uint64_t offset = 0,
                                    std::uint32_t nsid = nvme::kAllNamespaces);
Record<nvme::GetFeaturesSqe> get_features(std::uint8_t fid, nvme::FeatureSelect select = nvme::FeatureSelect::current,
                                          std::uint32_t cdw11 = 0);
Record<nvme::SetFeaturesSqe> set_features(std::uint8_t fid, std::uint32_t cdw11);
/// The same by name.
inline Record<nvme::GetLogPageSqe> get_log(nvme::LogPage page, std::uint32_t length, std::uint64_t offset = 0) {
  return get_log(static_cast<std::uint8_t>(page), length, offset);
}
inline Record<nvme::GetFeaturesSqe> get_features(nvme::FeatureId id, nvme::FeatureSelect select = nvme::FeatureSelect::current,
                                                 std::uint32_t cdw11 = 0) {
  return get_features(static_cast<std::uint8_t>(id), select, cdw11);
}
inline Record<nvme::SetFeaturesSqe> set_features(nvme::FeatureId id, std::uint32_t cdw11) {
  return set_features(static_cast<std::uint8_t>(id), cdw11);
}
nvme::Sqe keep_alive();
Record<nvme::AbortSqe> abort(std::uint16_t sqid, std::uint16_t cid);
nvme::Sqe async_event_request();
/// `offset` and `bytes` are multiples of 4; the piece goes with the command.
Record<nvme::FirmwareDownloadSqe> firmware_download(std::uint64_t offset, std::size_t bytes);
/// Slot 0 leaves the choice to the controller.
Record<nvme::FirmwareCommitSqe> firmware_commit(unsigned slot, nvme::CommitAction action);
/// `lbaf` is the number of the LBA format.
Record<nvme::FormatSqe> format_nvm(std::uint32_t nsid, unsigned lbaf);
/// An Identify Namespace structure goes with it; the NSID comes back in DW0.
Record<nvme::NamespaceManagementSqe> create_namespace();
/// FFFFFFFFh: all.
Record<nvme::NamespaceManagementSqe> delete_namespace(std::uint32_t nsid);
/// A list of controllers goes with it.
Record<nvme::NamespaceAttachmentSqe> attach_namespace(std::uint32_t nsid);
Record<nvme::NamespaceAttachmentSqe> detach_namespace(std::uint32_t nsid);
Record<nvme::SanitizeSqe> sanitize(nvme::SanitizeAction action);
Record<nvme::SelfTestSqe> device_self_test(nvme::SelfTestCode code, std::uint32_t nsid = 0);
/// `room` is a multiple of 4 and not 0.
Record<nvme::DirectiveSqe> directive_receive(std::uint32_t nsid, nvme::DirectiveType type, std::uint8_t operation, std::size_t room);
Record<nvme::DirectiveSqe> directive_send(std::uint32_t nsid, nvme::DirectiveType type, std::uint8_t operation, std::uint16_t specific = 0);
Record<nvme::EnableDirectiveSqe> enable_directive(std::uint32_t nsid, nvme::DirectiveType type, bool on);
Record<nvme::AllocateStreamsSqe> allocate_streams(std::uint32_t nsid, std::uint16_t wanted);
Record<nvme::LockdownSqe> lockdown(nvme::LockdownScope scope, std::uint8_t code, bool prohibit,
                                   nvme::LockdownInterface where = nvme::LockdownInterface::admin_queue);
/// Of the instance that Identify described.
Record<nvme::CrossControllerResetSqe> cross_controller_reset(std::uint16_t icid, std::uint8_t ciu, std::uint64_t cirn);
Record<nvme::CapacityManagementSqe> capacity_management(nvme::CapacityOperation operation, std::uint16_t element, std::uint64_t bytes = 0);
/// Room for `bytes`, a multiple of 4; `blocks` 0: up to the end of the namespace.
Record<nvme::GetLbaStatusSqe> get_lba_status(std::uint32_t nsid, nvme::LbaStatusAction action, std::uint64_t lba, std::uint16_t blocks,
                                             std::size_t bytes);
/// `length` bytes go with the command, or come back.
Record<nvme::SecuritySqe> security_send(std::uint8_t protocol, std::uint16_t specific, std::uint32_t length);
Record<nvme::SecuritySqe> security_receive(std::uint8_t protocol, std::uint16_t specific, std::uint32_t length);

// ---- NVM ----

/// `blocks` is a count, 1 to 65536.
Record<nvme::ReadWriteSqe> read(std::uint32_t nsid, std::uint64_t lba, std::uint32_t blocks);
Record<nvme::ReadWriteSqe> write(std::uint32_t nsid, std::uint64_t lba, std::uint32_t blocks);
Record<nvme::ReadWriteSqe> compare(std::uint32_t nsid, std::uint64_t lba, std::uint32_t blocks);
Record<nvme::ReadWriteSqe> write_zeroes(std::uint32_t nsid, std::uint64_t lba, std::uint32_t blocks);
Record<nvme::ReadWriteSqe> write_uncorrectable(std::uint32_t nsid, std::uint64_t lba, std::uint32_t blocks);
Record<nvme::ReadWriteSqe> verify(std::uint32_t nsid, std::uint64_t lba, std::uint32_t blocks);
nvme::Sqe flush(std::uint32_t nsid);

// ---- Key Value ----

/// `bytes` of a value go with the command.
Record<nvme::KvSqe> kv_store(std::uint32_t nsid, const nvme::KvKey& key, std::size_t bytes, std::uint8_t options = 0);
/// Room for `bytes` of the value; its size comes back in DW0.
Record<nvme::KvSqe> kv_retrieve(std::uint32_t nsid, const nvme::KvKey& key, std::size_t bytes, std::uint8_t options = 0);
Record<nvme::KvSqe> kv_delete(std::uint32_t nsid, const nvme::KvKey& key);
Record<nvme::KvSqe> kv_exist(std::uint32_t nsid, const nvme::KvKey& key);
/// Room for `bytes` of a list that begins with this key.
Record<nvme::KvSqe> kv_list(std::uint32_t nsid, const nvme::KvKey& from, std::size_t bytes);

/// The keys that go with Register and Acquire: the current one, and the new or the preempted one.
Bytes reservation_keys(std::uint64_t current, std::uint64_t other);
/// The key that goes with Release.
Bytes reservation_key(std::uint64_t current);
Record<nvme::ReservationSqe> reservation_register(std::uint32_t nsid, nvme::RegisterAction action,
                                                  nvme::PersistChange change = nvme::PersistChange::none);
Record<nvme::ReservationSqe> reservation_acquire(std::uint32_t nsid, nvme::AcquireAction action, nvme::ReservationType type);
Record<nvme::ReservationSqe> reservation_release(std::uint32_t nsid, nvme::ReleaseAction action,
                                                 nvme::ReservationType type = nvme::ReservationType::none);
/// Room for `bytes`, a multiple of 4, of the extended form.
Record<nvme::ReservationReportSqe> reservation_report(std::uint32_t nsid, std::size_t bytes);
/// `ranges` is a count, 1 to 256; the ranges go with the command as data.
/// Copy of so many source ranges, which come as data.
Record<nvme::CopySqe> copy(std::uint32_t nsid, std::uint64_t to, std::uint32_t ranges, unsigned format = 0);
Record<nvme::DatasetManagementSqe> deallocate(std::uint32_t nsid, std::uint32_t ranges);
/// One range of Dataset Management.
Record<nvme::DsmRange> dsm_range(std::uint64_t lba, std::uint32_t blocks);

/// `start` is the first block of the zone; with `all` it says nothing.
Record<nvme::ZoneSendSqe> zone_send(std::uint32_t nsid, nvme::ZoneSendAction action, std::uint64_t start, bool all = false);
/// `bytes` is a multiple of 4; zones from the one with block `lba` on.
Record<nvme::ZoneReceiveSqe> zone_report(std::uint32_t nsid, std::uint64_t lba, std::size_t bytes,
                                         nvme::ZoneReporting option = nvme::ZoneReporting::all);
/// Where the blocks are comes back in DW0 and DW1.
Record<nvme::ZoneAppendSqe> zone_append(std::uint32_t nsid, std::uint64_t start, std::uint32_t blocks);

/// Reclaim Unit Handle Status; room for `bytes`, a multiple of 4.
Record<nvme::IoManagementReceiveSqe> reclaim_unit_handle_status(std::uint32_t nsid, std::size_t bytes);
/// Reclaim Unit Handle Update of so many placement identifiers, which go with the command.
Record<nvme::IoManagementSendSqe> reclaim_unit_handle_update(std::uint32_t nsid, std::uint32_t identifiers);
/// Log pages 20h to 23h of an endurance group.
Record<nvme::GetLogPageSqe> get_fdp_log(nvme::LogPage page, std::uint16_t group, std::uint32_t length, unsigned lsp = 0);
/// Features 1Dh and 1Eh, with what they take beyond a value.
Record<nvme::SetFeaturesSqe> set_fdp(std::uint16_t group, bool on, unsigned configuration = 0);
Record<nvme::GetFeaturesSqe> get_fdp_events(std::uint32_t nsid, std::uint16_t handle);
/// The types go with the command, a byte each.
Record<nvme::SetFeaturesSqe> set_fdp_events(std::uint32_t nsid, std::uint16_t handle, std::size_t types, bool on);

/// Any opcode, for what has no builder.
nvme::Sqe any_command(std::uint8_t opcode, std::uint32_t nsid = 0);

}  // namespace fb::host
