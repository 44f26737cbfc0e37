// Builders of well-formed commands, as records that a script may alter before it sends them.
#include "model/host/commands.h"

#include <pybind11/pybind11.h>

#include "bindings/convert.h"
#include "bindings/parts.h"
#include "bindings/records.h"

namespace fb::python {

namespace {

std::uint32_t blocks_of(const py::handle& value) { return static_cast<std::uint32_t>(integer_of(value, "blocks", 1, 65536)); }
std::uint32_t nsid_of(const py::handle& value) { return integer_as<std::uint32_t>(value, "nsid"); }
std::uint64_t lba_of(const py::handle& value) { return integer_as<std::uint64_t>(value, "lba"); }

template <auto Build>
void add_block_command(py::module_& m, const char* name) {
  m.def(
      name,
      [](const py::object& nsid, const py::object& lba, const py::object& blocks) {
        return record_object("ReadWriteSqe", Build(nsid_of(nsid), lba_of(lba), blocks_of(blocks)));
      },
      py::arg("nsid"), py::arg("lba"), py::arg("blocks") = 1);
}

std::size_t room_of(const py::handle& value, const char* field) {
  const auto room = integer_of(value, field, 4, 1u << 26);
  if (room % 4 != 0) throw py::value_error(std::string(field) + ": " + std::to_string(room) + " is no multiple of 4");
  return room;
}

}  // namespace

void bind_commands(py::module_& parent) {
  py::module_ m = parent.def_submodule("commands");
  using namespace host;
  add_block_command<&host::read>(m, "read");
  add_block_command<&host::write>(m, "write");
  add_block_command<&host::compare>(m, "compare");
  add_block_command<&host::write_zeroes>(m, "write_zeroes");
  add_block_command<&host::write_uncorrectable>(m, "write_uncorrectable");
  add_block_command<&host::verify>(m, "verify");
  m.def(
      "flush", [](const py::object& nsid) { return record_object("Sqe", flush(nsid_of(nsid))); }, py::arg("nsid"));
  m.def(
      "identify",
      [](const py::object& cns, const py::object& nsid) {
        return record_object("IdentifySqe", identify(static_cast<nvme::Cns>(integer_as<std::uint8_t>(cns, "cns")), nsid_of(nsid)));
      },
      py::arg("cns"), py::arg("nsid") = 0);
  m.def(
      "get_log_page",
      [](const py::object& lid, const py::object& length, const py::object& offset, const py::object& nsid) {
        return record_object("GetLogPageSqe",
                             get_log(integer_as<std::uint8_t>(lid, "lid"), static_cast<std::uint32_t>(room_of(length, "length")),
                                     integer_as<std::uint64_t>(offset, "offset"), nsid_of(nsid)));
      },
      py::arg("lid"), py::arg("length"), py::arg("offset") = 0, py::arg("nsid") = nvme::kAllNamespaces);
  m.def(
      "get_features",
      [](const py::object& fid, const py::object& select, const py::object& cdw11) {
        return record_object("GetFeaturesSqe", get_features(integer_as<std::uint8_t>(fid, "fid"),
                                                            static_cast<nvme::FeatureSelect>(integer_of(select, "select", 0, 7)),
                                                            integer_as<std::uint32_t>(cdw11, "cdw11")));
      },
      py::arg("fid"), py::arg("select") = 0, py::arg("cdw11") = 0);
  m.def(
      "set_features",
      [](const py::object& fid, const py::object& cdw11) {
        return record_object("SetFeaturesSqe",
                             set_features(integer_as<std::uint8_t>(fid, "fid"), integer_as<std::uint32_t>(cdw11, "cdw11")));
      },
      py::arg("fid"), py::arg("cdw11") = 0);
  m.def("keep_alive", [] { return record_object("Sqe", keep_alive()); });
  m.def(
      "abort",
      [](const py::object& sqid, const py::object& cid) {
        return record_object("AbortSqe", abort(integer_as<std::uint16_t>(sqid, "sqid"), integer_as<std::uint16_t>(cid, "cid")));
      },
      py::arg("sqid"), py::arg("cid"));
  m.def("async_event_request", [] { return record_object("Sqe", async_event_request()); });
  m.def(
      "property_get",
      [](const py::object& offset) { return record_object("PropertyGetSqe", property_get(integer_as<std::uint32_t>(offset, "offset"))); },
      py::arg("offset"));
  m.def(
      "property_set",
      [](const py::object& offset, const py::object& value) {
        return record_object("PropertySetSqe",
                             property_set(integer_as<std::uint32_t>(offset, "offset"), integer_as<std::uint64_t>(value, "value")));
      },
      py::arg("offset"), py::arg("value"));
  m.def("disconnect", [] { return record_object("DisconnectSqe", disconnect()); });
  m.def(
      "connect",
      [](const py::object& hostnqn, const py::object& subnqn, const py::object& hostid, const py::object& qid, const py::object& entries,
         const py::object& kato_ms, const py::object& cntlid, const py::object& cattr) {
        const std::string host_name = string_of(hostnqn, "hostnqn"), name = string_of(subnqn, "subnqn");
        ConnectArguments arguments;
        arguments.qid = integer_as<std::uint16_t>(qid, "qid");
        arguments.entries = static_cast<std::uint16_t>(integer_of(entries, "entries", 1, 65535));
        arguments.kato_ms = integer_as<std::uint32_t>(kato_ms, "kato_ms");
        arguments.cntlid = integer_as<std::uint16_t>(cntlid, "cntlid");
        arguments.cattr = integer_as<std::uint8_t>(cattr, "cattr");
        const Bytes id = bytes_of(hostid, "hostid");
        if (id.size() != arguments.hostid.size()) throw py::value_error("hostid: 16 bytes are wanted, not " + std::to_string(id.size()));
        std::copy(id.begin(), id.end(), arguments.hostid.begin());
        arguments.hostnqn = host_name;
        arguments.subnqn = name;
        const ConnectCommand made = connect(arguments);
        return py::make_tuple(record_object("ConnectSqe", made.sqe), record_object("ConnectData", made.data));
      },
      py::kw_only(), py::arg("hostnqn"), py::arg("subnqn"), py::arg("hostid"), py::arg("qid") = 0, py::arg("entries") = 32,
      py::arg("kato_ms") = 0, py::arg("cntlid") = fabrics::kAnyController, py::arg("cattr") = 0);
  m.def(
      "firmware_download",
      [](const py::object& offset, const py::object& length) {
        return record_object("FirmwareDownloadSqe",
                             firmware_download(integer_as<std::uint64_t>(offset, "offset"), room_of(length, "length")));
      },
      py::arg("offset"), py::arg("length"));
  m.def(
      "firmware_commit",
      [](const py::object& slot, const py::object& action) {
        return record_object("FirmwareCommitSqe", firmware_commit(static_cast<unsigned>(integer_of(slot, "slot", 0, 7)),
                                                                  static_cast<nvme::CommitAction>(integer_of(action, "action", 0, 7))));
      },
      py::arg("slot"), py::arg("action"));
  m.def(
      "format_nvm",
      [](const py::object& nsid, const py::object& lbaf) {
        return record_object("FormatSqe", format_nvm(nsid_of(nsid), static_cast<unsigned>(integer_of(lbaf, "lbaf", 0, 63))));
      },
      py::arg("nsid"), py::arg("lbaf"));
  m.def(
      "sanitize",
      [](const py::object& action) {
        return record_object("SanitizeSqe", sanitize(static_cast<nvme::SanitizeAction>(integer_of(action, "action", 0, 7))));
      },
      py::arg("action"));
  m.def(
      "device_self_test",
      [](const py::object& code, const py::object& nsid) {
        return record_object("SelfTestSqe",
                             device_self_test(static_cast<nvme::SelfTestCode>(integer_of(code, "code", 0, 15)), nsid_of(nsid)));
      },
      py::arg("code"), py::arg("nsid") = 0);
  m.def("create_namespace", [] { return record_object("NamespaceManagementSqe", create_namespace()); });
  m.def(
      "delete_namespace", [](const py::object& nsid) { return record_object("NamespaceManagementSqe", delete_namespace(nsid_of(nsid))); },
      py::arg("nsid"));
  m.def(
      "attach_namespace", [](const py::object& nsid) { return record_object("NamespaceAttachmentSqe", attach_namespace(nsid_of(nsid))); },
      py::arg("nsid"));
  m.def(
      "detach_namespace", [](const py::object& nsid) { return record_object("NamespaceAttachmentSqe", detach_namespace(nsid_of(nsid))); },
      py::arg("nsid"));
  m.def(
      "reservation_register",
      [](const py::object& nsid, const py::object& action, const py::object& change) {
        return record_object("ReservationSqe",
                             reservation_register(nsid_of(nsid), static_cast<nvme::RegisterAction>(integer_of(action, "action", 0, 7)),
                                                  static_cast<nvme::PersistChange>(integer_of(change, "change", 0, 3))));
      },
      py::arg("nsid"), py::arg("action"), py::arg("change") = 0);
  m.def(
      "reservation_acquire",
      [](const py::object& nsid, const py::object& action, const py::object& type) {
        return record_object("ReservationSqe",
                             reservation_acquire(nsid_of(nsid), static_cast<nvme::AcquireAction>(integer_of(action, "action", 0, 7)),
                                                 static_cast<nvme::ReservationType>(integer_of(type, "type", 0, 255))));
      },
      py::arg("nsid"), py::arg("action"), py::arg("type"));
  m.def(
      "reservation_release",
      [](const py::object& nsid, const py::object& action, const py::object& type) {
        return record_object("ReservationSqe",
                             reservation_release(nsid_of(nsid), static_cast<nvme::ReleaseAction>(integer_of(action, "action", 0, 7)),
                                                 static_cast<nvme::ReservationType>(integer_of(type, "type", 0, 255))));
      },
      py::arg("nsid"), py::arg("action"), py::arg("type") = 0);
  m.def(
      "reservation_report",
      [](const py::object& nsid, const py::object& length) {
        return record_object("ReservationReportSqe", reservation_report(nsid_of(nsid), room_of(length, "length")));
      },
      py::arg("nsid"), py::arg("length"));
  m.def(
      "any_command",
      [](const py::object& opcode, const py::object& nsid) {
        return record_object("Sqe", any_command(integer_as<std::uint8_t>(opcode, "opcode"), nsid_of(nsid)));
      },
      py::arg("opcode"), py::arg("nsid") = 0);
}

}  // namespace fb::python
