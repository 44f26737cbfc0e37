#include "model/host/commands.h"

namespace fb::host {

namespace {

template <class L>
Record<L> start(std::uint8_t opcode) {
  Record<L> command;
  command.set(nvme::sqe::opcode, opcode).set(nvme::sqe::psdt, nvme::Psdt::sgl);
  return command;
}

template <class L>
Record<L> start_admin(nvme::AdminOpcode opcode) {
  return start<L>(static_cast<std::uint8_t>(opcode));
}

template <class L>
Record<L> start_fabrics(fabrics::FabricsType type) {
  Record<L> command = start<L>(fabrics::kFabricsOpcode);
  command.set(fabrics::sqe::fctype, type);
  return command;
}

Record<nvme::ReadWriteSqe> start_io(nvme::IoOpcode opcode, std::uint32_t nsid, std::uint64_t lba, std::uint32_t blocks) {
  auto command = start<nvme::ReadWriteSqe>(static_cast<std::uint8_t>(opcode));
  command.set(nvme::sqe::nsid, nsid).set(nvme::rw_sqe::slba, lba).set(nvme::rw_sqe::nlb, ZeroBased<std::uint16_t>::of(blocks));
  return command;
}

template <class L>
Record<L> start_io_as(nvme::IoOpcode opcode, std::uint32_t nsid) {
  Record<L> command = start<L>(static_cast<std::uint8_t>(opcode));
  command.set(nvme::sqe::nsid, nsid);
  return command;
}

ByteView text_bytes(std::string_view text) { return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}; }

}  // namespace

ConnectCommand connect(const ConnectArguments& arguments) {
  ConnectCommand made;
  made.sqe = start_fabrics<fabrics::ConnectSqe>(fabrics::FabricsType::connect);
  made.sqe.set(fabrics::connect_sqe::recfmt, fabrics::kConnectRecordFormat)
      .set(fabrics::connect_sqe::qid, arguments.qid)
      .set(fabrics::connect_sqe::sqsize, ZeroBased<std::uint16_t>::of(arguments.entries))
      .set(fabrics::connect_sqe::cattr, arguments.cattr)
      .set(fabrics::connect_sqe::kato, arguments.kato_ms);
  made.data.set(fabrics::connect_data::hostid, ByteView{arguments.hostid})
      .set(fabrics::connect_data::cntlid, arguments.cntlid)
      .set(fabrics::connect_data::subnqn, text_bytes(arguments.subnqn))
      .set(fabrics::connect_data::hostnqn, text_bytes(arguments.hostnqn));
  return made;
}

Record<fabrics::PropertyGetSqe> property_get(std::uint32_t offset, fabrics::PropertySize size) {
  auto command = start_fabrics<fabrics::PropertyGetSqe>(fabrics::FabricsType::property_get);
  command.set(fabrics::property_sqe::size, size).set(fabrics::property_sqe::ofst, offset);
  return command;
}

Record<fabrics::PropertyGetSqe> property_get(std::uint32_t offset) {
  return property_get(offset, offset == fabrics::property::cap ? fabrics::PropertySize::eight : fabrics::PropertySize::four);
}

Record<fabrics::PropertySetSqe> property_set(std::uint32_t offset, std::uint64_t value) {
  auto command = start_fabrics<fabrics::PropertySetSqe>(fabrics::FabricsType::property_set);
  command.set(fabrics::property_sqe::size, fabrics::PropertySize::four)
      .set(fabrics::property_sqe::ofst, offset)
      .set(fabrics::property_sqe::value, value);
  return command;
}

namespace {

Record<fabrics::AuthSqe> authentication(fabrics::FabricsType type, std::size_t bytes) {
  auto command = start_fabrics<fabrics::AuthSqe>(type);
  command.set(fabrics::auth_sqe::spsp0, fabrics::kNvmeSecuritySpecific)
      .set(fabrics::auth_sqe::spsp1, fabrics::kNvmeSecuritySpecific)
      .set(fabrics::auth_sqe::secp, fabrics::kNvmeSecurityProtocol)
      .set(fabrics::auth_sqe::length, static_cast<std::uint32_t>(bytes));
  return command;
}

}  // namespace

Record<fabrics::AuthSqe> authentication_send(std::size_t bytes) { return authentication(fabrics::FabricsType::authentication_send, bytes); }

Record<fabrics::AuthSqe> authentication_receive(std::size_t bytes) {
  return authentication(fabrics::FabricsType::authentication_receive, bytes);
}

Record<fabrics::DisconnectSqe> disconnect() {
  auto command = start_fabrics<fabrics::DisconnectSqe>(fabrics::FabricsType::disconnect);
  command.set(fabrics::disconnect_sqe::recfmt, fabrics::kDisconnectRecordFormat);
  return command;
}

Record<nvme::IdentifySqe> identify(nvme::Cns cns, std::uint32_t nsid) {
  auto command = start_admin<nvme::IdentifySqe>(nvme::AdminOpcode::identify);
  command.set(nvme::identify_sqe::cns, static_cast<std::uint8_t>(cns)).set(nvme::sqe::nsid, nsid);
  return command;
}

Record<nvme::GetLogPageSqe> get_log(std::uint8_t lid, std::uint32_t length, std::uint64_t offset, std::uint32_t nsid) {
  auto command = start_admin<nvme::GetLogPageSqe>(nvme::AdminOpcode::get_log_page);
  command.set(nvme::get_log_sqe::lid, lid).set(nvme::sqe::nsid, nsid);
  nvme::set_log_range(command, offset, length);
  return command;
}

Record<nvme::GetFeaturesSqe> get_features(std::uint8_t fid, nvme::FeatureSelect select, std::uint32_t cdw11) {
  auto command = start_admin<nvme::GetFeaturesSqe>(nvme::AdminOpcode::get_features);
  command.set(nvme::features_sqe::fid, fid).set(nvme::features_sqe::sel, select).set(nvme::features_sqe::cdw11, cdw11);
  return command;
}

Record<nvme::SetFeaturesSqe> set_features(std::uint8_t fid, std::uint32_t cdw11) {
  auto command = start_admin<nvme::SetFeaturesSqe>(nvme::AdminOpcode::set_features);
  command.set(nvme::features_sqe::fid, fid).set(nvme::features_sqe::cdw11, cdw11);
  return command;
}

nvme::Sqe keep_alive() { return start_admin<nvme::SqeLayout>(nvme::AdminOpcode::keep_alive); }

Record<nvme::AbortSqe> abort(std::uint16_t sqid, std::uint16_t cid) {
  auto command = start_admin<nvme::AbortSqe>(nvme::AdminOpcode::abort);
  command.set(nvme::abort_sqe::sqid, sqid).set(nvme::abort_sqe::abort_cid, cid);
  return command;
}

nvme::Sqe async_event_request() { return start_admin<nvme::SqeLayout>(nvme::AdminOpcode::async_event_request); }

Record<nvme::FirmwareDownloadSqe> firmware_download(std::uint64_t offset, std::size_t bytes) {
  auto command = start_admin<nvme::FirmwareDownloadSqe>(nvme::AdminOpcode::firmware_download);
  command.set(nvme::firmware_download_sqe::numd, bytes / 4 - 1).set(nvme::firmware_download_sqe::ofst, offset / 4);
  return command;
}

Record<nvme::FirmwareCommitSqe> firmware_commit(unsigned slot, nvme::CommitAction action) {
  auto command = start_admin<nvme::FirmwareCommitSqe>(nvme::AdminOpcode::firmware_commit);
  command.set(nvme::firmware_commit_sqe::fs, slot).set(nvme::firmware_commit_sqe::ca, action);
  return command;
}

Record<nvme::FormatSqe> format_nvm(std::uint32_t nsid, unsigned lbaf) {
  auto command = start_admin<nvme::FormatSqe>(nvme::AdminOpcode::format_nvm);
  command.set(nvme::sqe::nsid, nsid).set(nvme::format_sqe::lbafl, lbaf & 0xF).set(nvme::format_sqe::lbafu, lbaf >> 4);
  return command;
}

namespace {

Record<nvme::NamespaceManagementSqe> manage_namespace(unsigned select, std::uint32_t nsid) {
  auto command = start_admin<nvme::NamespaceManagementSqe>(nvme::AdminOpcode::namespace_management);
  command.set(nvme::sqe::nsid, nsid).set(nvme::namespace_management_sqe::sel, select);
  return command;
}
Record<nvme::NamespaceAttachmentSqe> change_attachment(unsigned select, std::uint32_t nsid) {
  auto command = start_admin<nvme::NamespaceAttachmentSqe>(nvme::AdminOpcode::namespace_attachment);
  command.set(nvme::sqe::nsid, nsid).set(nvme::namespace_attachment_sqe::sel, select);
  return command;
}

}  // namespace

Record<nvme::NamespaceManagementSqe> create_namespace() { return manage_namespace(0, 0); }
Record<nvme::NamespaceManagementSqe> delete_namespace(std::uint32_t nsid) { return manage_namespace(1, nsid); }
Record<nvme::NamespaceAttachmentSqe> attach_namespace(std::uint32_t nsid) { return change_attachment(0, nsid); }
Record<nvme::NamespaceAttachmentSqe> detach_namespace(std::uint32_t nsid) { return change_attachment(1, nsid); }

Record<nvme::SanitizeSqe> sanitize(nvme::SanitizeAction action) {
  auto command = start_admin<nvme::SanitizeSqe>(nvme::AdminOpcode::sanitize);
  command.set(nvme::sanitize_sqe::sanact, action);
  return command;
}

Record<nvme::SelfTestSqe> device_self_test(nvme::SelfTestCode code, std::uint32_t nsid) {
  auto command = start_admin<nvme::SelfTestSqe>(nvme::AdminOpcode::device_self_test);
  command.set(nvme::sqe::nsid, nsid).set(nvme::self_test_sqe::stc, code);
  return command;
}

namespace {

template <class L>
Record<L> directive(nvme::AdminOpcode opcode, std::uint32_t nsid, nvme::DirectiveType type, std::uint8_t operation) {
  auto command = start_admin<L>(opcode);
  command.set(nvme::sqe::nsid, nsid).set(nvme::directive_sqe::dtype, type).set(nvme::directive_sqe::doper, operation);
  return command;
}

}  // namespace

Record<nvme::DirectiveSqe> directive_receive(std::uint32_t nsid, nvme::DirectiveType type, std::uint8_t operation, std::size_t room) {
  BENCH_ASSERT(room != 0 && room % 4 == 0, "directives are received in dwords");
  auto command = directive<nvme::DirectiveSqe>(nvme::AdminOpcode::directive_receive, nsid, type, operation);
  command.set(nvme::directive_sqe::numd, room / 4 - 1);
  return command;
}
Record<nvme::DirectiveSqe> directive_send(std::uint32_t nsid, nvme::DirectiveType type, std::uint8_t operation, std::uint16_t specific) {
  auto command = directive<nvme::DirectiveSqe>(nvme::AdminOpcode::directive_send, nsid, type, operation);
  command.set(nvme::directive_sqe::dspec, specific);
  return command;
}
Record<nvme::EnableDirectiveSqe> enable_directive(std::uint32_t nsid, nvme::DirectiveType type, bool on) {
  auto command = directive<nvme::EnableDirectiveSqe>(nvme::AdminOpcode::directive_send, nsid, nvme::DirectiveType::identify,
                                                     nvme::directive_operation::identify_enable);
  command.set(nvme::directive_sqe::tdtype, type).set(nvme::directive_sqe::endir, on);
  return command;
}
Record<nvme::AllocateStreamsSqe> allocate_streams(std::uint32_t nsid, std::uint16_t wanted) {
  auto command = directive<nvme::AllocateStreamsSqe>(nvme::AdminOpcode::directive_receive, nsid, nvme::DirectiveType::streams,
                                                     nvme::directive_operation::streams_allocate);
  command.set(nvme::directive_sqe::nsr, wanted);
  return command;
}

Record<nvme::LockdownSqe> lockdown(nvme::LockdownScope scope, std::uint8_t code, bool prohibit, nvme::LockdownInterface where) {
  auto command = start_admin<nvme::LockdownSqe>(nvme::AdminOpcode::lockdown);
  command.set(nvme::lockdown_sqe::scp, scope)
      .set(nvme::lockdown_sqe::ofi, code)
      .set(nvme::lockdown_sqe::prhbt, prohibit)
      .set(nvme::lockdown_sqe::ifc, where);
  return command;
}

Record<nvme::CrossControllerResetSqe> cross_controller_reset(std::uint16_t icid, std::uint8_t ciu, std::uint64_t cirn) {
  auto command = start_admin<nvme::CrossControllerResetSqe>(nvme::AdminOpcode::cross_controller_reset);
  command.set(nvme::ccr_sqe::icid, icid).set(nvme::ccr_sqe::ciu, ciu).set(nvme::ccr_sqe::cirn, cirn);
  return command;
}

Record<nvme::CapacityManagementSqe> capacity_management(nvme::CapacityOperation operation, std::uint16_t element, std::uint64_t bytes) {
  auto command = start_admin<nvme::CapacityManagementSqe>(nvme::AdminOpcode::capacity_management);
  command.set(nvme::capacity_sqe::oper, operation).set(nvme::capacity_sqe::elid, element).set(nvme::capacity_sqe::cap, bytes);
  return command;
}

Record<nvme::GetLbaStatusSqe> get_lba_status(std::uint32_t nsid, nvme::LbaStatusAction action, std::uint64_t lba, std::uint16_t blocks,
                                             std::size_t bytes) {
  auto command = start_admin<nvme::GetLbaStatusSqe>(nvme::AdminOpcode::get_lba_status);
  command.set(nvme::sqe::nsid, nsid)
      .set(nvme::lba_status_sqe::slba, lba)
      .set(nvme::lba_status_sqe::mndw, bytes / 4 - 1)
      .set(nvme::lba_status_sqe::rl, blocks)
      .set(nvme::lba_status_sqe::atype, action);
  return command;
}

namespace {

Record<nvme::SecuritySqe> security(nvme::AdminOpcode opcode, std::uint8_t protocol, std::uint16_t specific, std::uint32_t length) {
  auto command = start_admin<nvme::SecuritySqe>(opcode);
  command.set(nvme::security_sqe::secp, protocol).set(nvme::security_sqe::spsp, specific).set(nvme::security_sqe::length, length);
  return command;
}

}  // namespace

Record<nvme::SecuritySqe> security_send(std::uint8_t protocol, std::uint16_t specific, std::uint32_t length) {
  return security(nvme::AdminOpcode::security_send, protocol, specific, length);
}
Record<nvme::SecuritySqe> security_receive(std::uint8_t protocol, std::uint16_t specific, std::uint32_t length) {
  return security(nvme::AdminOpcode::security_receive, protocol, specific, length);
}

Record<nvme::ReadWriteSqe> read(std::uint32_t nsid, std::uint64_t lba, std::uint32_t blocks) {
  return start_io(nvme::IoOpcode::read, nsid, lba, blocks);
}
Record<nvme::ReadWriteSqe> write(std::uint32_t nsid, std::uint64_t lba, std::uint32_t blocks) {
  return start_io(nvme::IoOpcode::write, nsid, lba, blocks);
}
Record<nvme::ReadWriteSqe> compare(std::uint32_t nsid, std::uint64_t lba, std::uint32_t blocks) {
  return start_io(nvme::IoOpcode::compare, nsid, lba, blocks);
}
Record<nvme::ReadWriteSqe> write_zeroes(std::uint32_t nsid, std::uint64_t lba, std::uint32_t blocks) {
  return start_io(nvme::IoOpcode::write_zeroes, nsid, lba, blocks);
}
Record<nvme::ReadWriteSqe> write_uncorrectable(std::uint32_t nsid, std::uint64_t lba, std::uint32_t blocks) {
  return start_io(nvme::IoOpcode::write_uncorrectable, nsid, lba, blocks);
}
Record<nvme::ReadWriteSqe> verify(std::uint32_t nsid, std::uint64_t lba, std::uint32_t blocks) {
  return start_io(nvme::IoOpcode::verify, nsid, lba, blocks);
}

nvme::Sqe flush(std::uint32_t nsid) { return any_command(static_cast<std::uint8_t>(nvme::IoOpcode::flush), nsid); }

Bytes reservation_keys(std::uint64_t current, std::uint64_t other) {
  Record<nvme::ReservationKeys> keys;
  keys.set(nvme::reservation_keys::crkey, current).set(nvme::reservation_keys::other, other);
  return Bytes(keys.bytes().begin(), keys.bytes().end());
}

Bytes reservation_key(std::uint64_t current) {
  Bytes key(nvme::ReservationKey::size);
  store_le(key.data(), current);
  return key;
}

namespace {

template <class Action>
Record<nvme::ReservationSqe> reservation(nvme::IoOpcode opcode, std::uint32_t nsid, Action action) {
  auto command = start<nvme::ReservationSqe>(static_cast<std::uint8_t>(opcode));
  command.set(nvme::sqe::nsid, nsid).set(nvme::reservation_sqe::action, static_cast<unsigned>(action));
  return command;
}

}  // namespace

Record<nvme::ReservationSqe> reservation_register(std::uint32_t nsid, nvme::RegisterAction action, nvme::PersistChange change) {
  auto command = reservation(nvme::IoOpcode::reservation_register, nsid, action);
  command.set(nvme::reservation_sqe::cptpl, static_cast<unsigned>(change));
  return command;
}

Record<nvme::ReservationSqe> reservation_acquire(std::uint32_t nsid, nvme::AcquireAction action, nvme::ReservationType type) {
  auto command = reservation(nvme::IoOpcode::reservation_acquire, nsid, action);
  command.set(nvme::reservation_sqe::rtype, static_cast<unsigned>(type));
  return command;
}

Record<nvme::ReservationSqe> reservation_release(std::uint32_t nsid, nvme::ReleaseAction action, nvme::ReservationType type) {
  auto command = reservation(nvme::IoOpcode::reservation_release, nsid, action);
  command.set(nvme::reservation_sqe::rtype, static_cast<unsigned>(type));
  return command;
}

Record<nvme::ReservationReportSqe> reservation_report(std::uint32_t nsid, std::size_t bytes) {
  auto command = start<nvme::ReservationReportSqe>(static_cast<std::uint8_t>(nvme::IoOpcode::reservation_report));
  command.set(nvme::sqe::nsid, nsid).set(nvme::reservation_sqe::numd, bytes / 4 - 1).set(nvme::reservation_sqe::eds, true);
  return command;
}

Record<nvme::CopySqe> copy(std::uint32_t nsid, std::uint64_t to, std::uint32_t ranges, unsigned format) {
  auto command = start<nvme::CopySqe>(static_cast<std::uint8_t>(nvme::IoOpcode::copy));
  command.set(nvme::sqe::nsid, nsid)
      .set(nvme::copy_sqe::sdlba, to)
      .set(nvme::copy_sqe::nr, ZeroBased<std::uint8_t>::of(ranges))
      .set(nvme::copy_sqe::desfmt, format);
  return command;
}

Record<nvme::DatasetManagementSqe> deallocate(std::uint32_t nsid, std::uint32_t ranges) {
  auto command = start<nvme::DatasetManagementSqe>(static_cast<std::uint8_t>(nvme::IoOpcode::dataset_management));
  command.set(nvme::sqe::nsid, nsid).set(nvme::dsm_sqe::nr, ZeroBased<std::uint8_t>::of(ranges)).set(nvme::dsm_sqe::ad, true);
  return command;
}

Record<nvme::DsmRange> dsm_range(std::uint64_t lba, std::uint32_t blocks) {
  Record<nvme::DsmRange> range;
  range.set(nvme::dsm_range::slba, lba).set(nvme::dsm_range::length, blocks);
  return range;
}

Record<nvme::ZoneSendSqe> zone_send(std::uint32_t nsid, nvme::ZoneSendAction action, std::uint64_t start, bool all) {
  auto command = start_io_as<nvme::ZoneSendSqe>(nvme::IoOpcode::zone_management_send, nsid);
  command.set(nvme::zone_send_sqe::slba, start).set(nvme::zone_send_sqe::zsa, action).set(nvme::zone_send_sqe::select_all, all);
  return command;
}

Record<nvme::ZoneReceiveSqe> zone_report(std::uint32_t nsid, std::uint64_t lba, std::size_t bytes, nvme::ZoneReporting option) {
  auto command = start_io_as<nvme::ZoneReceiveSqe>(nvme::IoOpcode::zone_management_receive, nsid);
  command.set(nvme::zone_receive_sqe::slba, lba)
      .set(nvme::zone_receive_sqe::numd, ZeroBased<std::uint32_t>::of(bytes / 4))
      .set(nvme::zone_receive_sqe::zrasf, option);
  return command;
}

Record<nvme::ZoneAppendSqe> zone_append(std::uint32_t nsid, std::uint64_t start, std::uint32_t blocks) {
  auto command = start_io_as<nvme::ZoneAppendSqe>(nvme::IoOpcode::zone_append, nsid);
  command.set(nvme::zone_append_sqe::zslba, start).set(nvme::rw_sqe::nlb, ZeroBased<std::uint16_t>::of(blocks));
  return command;
}

Record<nvme::IoManagementReceiveSqe> reclaim_unit_handle_status(std::uint32_t nsid, std::size_t bytes) {
  auto command = start_io_as<nvme::IoManagementReceiveSqe>(nvme::IoOpcode::io_management_receive, nsid);
  command.set(nvme::io_management_sqe::mo, nvme::IoManagementReceiveOperation::reclaim_unit_handle_status)
      .set(nvme::io_management_sqe::numd, ZeroBased<std::uint32_t>::of(bytes / 4));
  return command;
}

Record<nvme::IoManagementSendSqe> reclaim_unit_handle_update(std::uint32_t nsid, std::uint32_t identifiers) {
  auto command = start_io_as<nvme::IoManagementSendSqe>(nvme::IoOpcode::io_management_send, nsid);
  command.set(nvme::io_management_sqe::mo, nvme::IoManagementSendOperation::reclaim_unit_handle_update)
      .set(nvme::io_management_sqe::mos, identifiers - 1);
  return command;
}

Record<nvme::GetLogPageSqe> get_fdp_log(nvme::LogPage page, std::uint16_t group, std::uint32_t length, unsigned lsp) {
  auto command = get_log(static_cast<std::uint8_t>(page), length, 0, 0);
  command.set(nvme::get_log_sqe::lsi, group).set(nvme::get_log_sqe::lsp, lsp);
  return command;
}

Record<nvme::SetFeaturesSqe> set_fdp(std::uint16_t group, bool on, unsigned configuration) {
  Record<nvme::FdpFeature> value;
  value.set(nvme::fdp_feature::fdpe, on).set(nvme::fdp_feature::fdpcidx, configuration);
  auto command = set_features(nvme::FeatureId::flexible_data_placement, group);
  command.set(nvme::features_sqe::cdw12, integer_of(value)).set(nvme::features_sqe::sv, true);
  return command;
}

Record<nvme::GetFeaturesSqe> get_fdp_events(std::uint32_t nsid, std::uint16_t handle) {
  auto command = get_features(nvme::FeatureId::fdp_events, nvme::FeatureSelect::current, handle);
  command.set(nvme::sqe::nsid, nsid);
  return command;
}

Record<nvme::SetFeaturesSqe> set_fdp_events(std::uint32_t nsid, std::uint16_t handle, std::size_t types, bool on) {
  Record<nvme::FdpEventsFeature> value;
  value.set(nvme::fdp_events_feature::phndl, handle).set(nvme::fdp_events_feature::noet, types);
  auto command = set_features(nvme::FeatureId::fdp_events, static_cast<std::uint32_t>(integer_of(value)));
  command.set(nvme::sqe::nsid, nsid).set(nvme::features_sqe::cdw12, on ? 1u : 0u);
  return command;
}

nvme::Sqe any_command(std::uint8_t opcode, std::uint32_t nsid) {
  auto command = start<nvme::SqeLayout>(opcode);
  command.set(nvme::sqe::nsid, nsid);
  return command;
}

}  // namespace fb::host
