#include "model/subsystem/leniency.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/subsystem/checks.h"
#include "wire/fabrics/connect.h"
#include "wire/nvme/opcodes.h"

namespace fb::subsystem {

namespace {

namespace cs = fabrics::connect_sqe;
namespace cd = fabrics::connect_data;

const std::vector<Leniency>& all() {
  static const std::vector<Leniency> list = {
      {"hostnqn",
       "a HOSTNQN that is empty, has no terminator or is no NQN",
       {check::connect_hostnqn_syntax.name, check::connect_hostnqn_terminated.name}},
      {"hostid", "a Host Identifier of 0", {check::connect_hostid_zero.name}},
      {"io-host",
       "an I/O queue whose Connect names another host than its admin queue",
       {check::connect_io_hostnqn.name, check::connect_io_hostid.name}},
      {"kato",
       "a keep alive timeout for a discovery controller that has none, or of more than the target supports",
       {check::connect_kato_discovery.name, check::connect_kato_maximum.name}},
      {"cid", "a command with the identifier of one that is outstanding", {check::cid_unique.name}},
  };
  return list;
}

/// Control characters and what is no ASCII as \xNN: names come from anybody.
std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7F) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string name_in(ByteView field) { return std::string(field.begin(), std::find(field.begin(), field.end(), std::uint8_t{0})); }

std::string wrong_nqn(std::string_view field, const std::string& name) {
  constexpr std::string_view kUuid = "nqn.2014-08.org.nvmexpress:uuid:";
  if (name.empty()) return fmt::format("{} is empty", field);
  if (name.size() > fabrics::kNqnBytesMax) return fmt::format("{} has {} bytes, more than 223", field, name.size());
  const std::string shown = fmt::format("{} {}", field, quoted(name));
  if (name.starts_with(kUuid)) return shown + " has no UUID behind 'uuid:'";
  if (!name.starts_with("nqn.")) return shown + " does not begin with 'nqn.'";
  return shown + " is no NQN (nqn.YYYY-MM.DOMAIN:NAME, in UTF-8)";
}

/// What is wrong with a Connect, by its check, with the value.
std::string reason_of(const RefusedCommand& refused) {
  const View<fabrics::ConnectSqe> sqe{refused.sqe};
  const bool whole = refused.data.size() >= fabrics::ConnectData::size;
  const Bytes nothing(whole ? 0 : fabrics::ConnectData::size);
  const View<fabrics::ConnectData> data{whole ? refused.data : ByteView(nothing)};
  const std::string hostnqn = name_in(data.get(cd::hostnqn)), subnqn = name_in(data.get(cd::subnqn));
  const auto is = [&](const Check& check) { return refused.check == check.name; };
  const auto entries = [&] { return fmt::format("SQSIZE {}", sqe.get(cs::sqsize).raw()); };
  const auto queue = [&] { return fmt::format("QID {}", sqe.get(cs::qid)); };
  const auto controller = [&] { return fmt::format("CNTLID {:04X}h", data.get(cd::cntlid)); };
  const auto kato = [&] { return fmt::format("KATO {} ms", sqe.get(cs::kato)); };
  if (is(check::connect_once)) return "the queue is connected already";
  if (is(check::connect_recfmt)) return fmt::format("RECFMT {} is not known", sqe.get(cs::recfmt));
  if (is(check::connect_qid_transport)) return queue() + " is not that of the connection request";
  if (is(check::connect_sqsize_minimum)) return entries() + " is below the minimum of two entries";
  if (is(check::connect_sqsize_admin)) return entries() + " is more than an admin queue may have";
  if (is(check::connect_sqsize_io)) return entries() + " is above CAP.MQES";
  if (is(check::connect_sqsize_transport)) return entries() + " is more than the connection request asked for (HSQSIZE)";
  if (is(check::connect_subnqn_terminated)) return "SUBNQN has no terminator";
  if (is(check::connect_subnqn_syntax)) return wrong_nqn("SUBNQN", subnqn);
  if (is(check::connect_subnqn_known)) return fmt::format("SUBNQN {} is no subsystem of this port", quoted(subnqn));
  if (is(check::connect_hostnqn_terminated)) return "HOSTNQN has no terminator";
  if (is(check::connect_hostnqn_syntax)) return wrong_nqn("HOSTNQN", hostnqn);
  if (is(check::connect_hostnqn_subsystem)) return "HOSTNQN is the name of the subsystem itself";
  if (is(check::connect_host_allowed)) return fmt::format("HOSTNQN {} is none of the hosts that may connect", quoted(hostnqn));
  if (is(check::connect_moved)) return "the subsystem is reached through other ports";
  if (is(check::connect_hostid_zero)) return "HOSTID is 0";
  if (is(check::connect_cntlid_reserved)) return controller() + " is reserved";
  if (is(check::connect_cntlid_dynamic)) return controller() + " is not FFFFh, and controllers are dynamic";
  if (is(check::connect_cntlid_static)) return controller() + " asks for a dynamic controller, and they are static";
  if (is(check::connect_cntlid_exists)) return controller() + " is no controller";
  if (is(check::connect_controller_free)) return controller() + " has an association";
  if (is(check::connect_controller_left)) return "no controller is left";
  if (is(check::connect_kato_discovery)) return kato() + ", and the discovery controller has no keep alive";
  if (is(check::connect_kato_required)) return "KATO is 0, and a keep alive timeout is required";
  if (is(check::connect_kato_maximum)) return kato() + " is more than the controller supports";
  if (is(check::connect_io_discovery)) return queue() + ", and a discovery controller has no I/O queues";
  if (is(check::connect_io_qid_range)) return queue() + " is above the number of queues";
  if (is(check::connect_io_qid_granted)) return queue() + " was not granted by Set Features, Number of Queues";
  if (is(check::connect_io_qid_exists)) return queue() + " is connected already";
  if (is(check::connect_io_cntlid)) return controller() + " has no association";
  if (is(check::connect_io_port)) return controller() + " has its association through another port";
  if (is(check::connect_tls_hostnqn)) return fmt::format("HOSTNQN {} is not that of the PSK identity", quoted(hostnqn));
  if (is(check::connect_tls_subnqn)) return fmt::format("SUBNQN {} is not that of the PSK identity", quoted(subnqn));
  if (is(check::connect_io_tls)) return "the queue is without TLS, and its admin queue is not";
  if (is(check::connect_io_hostnqn)) return fmt::format("HOSTNQN {} is not that of the admin queue", quoted(hostnqn));
  if (is(check::connect_io_hostid)) return "HOSTID is not that of the admin queue";
  if (is(check::connect_io_ready)) return "the controller is not ready (CSTS.RDY 0)";
  if (is(check::command_sgl)) return "its SGL describes no 1024 bytes in the capsule";
  return fmt::format("check {}", refused.check);
}

bool is_connect(const RefusedCommand& refused) {
  return refused.sqe[0] == nvme::kFabricsOpcode && refused.sqe[4] == static_cast<std::uint8_t>(nvme::FabricsType::connect);
}

std::string_view name_of_command(ByteView sqe, std::uint16_t qid) {
  if (sqe[0] == nvme::kFabricsOpcode) return nvme::fabrics_type_name(sqe[4]);
  return qid == 0 ? nvme::admin_opcode_name(sqe[0]) : nvme::io_opcode_name(sqe[0]);
}

}  // namespace

std::span<const Leniency> leniencies() { return all(); }

const Leniency* find_leniency(std::string_view name) {
  const auto found = std::find_if(all().begin(), all().end(), [&](const Leniency& one) { return one.name == name; });
  return found == all().end() ? nullptr : &*found;
}

const Leniency* leniency_about(std::string_view check) {
  const auto found = std::find_if(all().begin(), all().end(), [&](const Leniency& one) {
    return std::find(one.checks.begin(), one.checks.end(), check) != one.checks.end();
  });
  return found == all().end() ? nullptr : &*found;
}

bool worth_a_line(const RefusedCommand& refused) { return is_connect(refused) || refused.check == check::cid_unique.name; }

std::string line_for(const RefusedCommand& refused) {
  std::string line = fmt::format("{} {} of queue {} from {}: ", refused.let_pass ? "let pass" : "refused",
                                 name_of_command(refused.sqe, refused.qid), refused.qid, to_string(refused.peer));
  if (!refused.same_cid.empty()) {
    line += fmt::format("identifier {:04X}h is that of an outstanding {}", load_le<std::uint16_t>(&refused.sqe[2]),
                        name_of_command(refused.same_cid, refused.qid));
  } else {
    line += reason_of(refused);
  }
  if (refused.let_pass) return line;
  line += "; " + nvme::to_string(refused.status);
  if (nvme::same_code(refused.status, nvme::sc::connect_invalid_parameters)) {
    line += fmt::format(", offset {} of the {}", refused.parameter_offset, refused.parameter_in_data ? "data" : "command");
  }
  if (const Leniency* const one = leniency_about(refused.check)) line += fmt::format(" (--lenient {} takes it)", one->name);
  return line;
}

}  // namespace fb::subsystem
