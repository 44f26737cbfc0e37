// Admin commands through a management endpoint: the request around them, and the window of their data.
#include "conformance/cases/mi/commands.h"

namespace fb::conformance {
namespace {

using mi::MessageKind;
using mi::Opcode;
using nvme::AdminOpcode;

/// Prohibited out of band in NVMe-MI 1.2: queues, Abort, events, Keep Alive, directives, the tunnels themselves, doorbells, Fabrics.
constexpr std::uint8_t kProhibited[] = {0x00, 0x01, 0x04, 0x05, 0x08, 0x0C, 0x18, 0x19, 0x1A, 0x1D, 0x1E, 0x7C, 0x7F};
/// Discovery, zoning, migration, tracking and others, which 1.2 does not list: an endpoint may report them as supported.
constexpr std::uint8_t kLater[] = {0x21, 0x22, 0x25, 0x29, 0x38, 0x39, 0x3D, 0x3E, 0x41, 0x42, 0x45, 0x85, 0x88, 0x89};
constexpr std::uint8_t kMandatory[] = {0x02, 0x06, 0x0A};
/// Reserved or prohibited in every revision of the base specification that was looked at.
constexpr std::uint8_t kReserved[] = {0x03, 0x07, 0x0B, 0x0E, 0x0F, 0x12, 0x13, 0x16, 0x17, 0x1B, 0x1F, 0x23, 0x26, 0x27};
/// Optional in NVMe-MI 1.2.
constexpr std::uint8_t kOptional[] = {0x09, 0x0D, 0x10, 0x11, 0x14, 0x15, 0x1C, 0x20, 0x24, 0x80, 0x81, 0x82, 0x84, 0x86};

/// An entry that does no harm where it is executed against the rules: no such queue, no such namespace.
nvme::Sqe harmless(std::uint8_t opcode) {
  nvme::Sqe made;
  made.set(nvme::sqe::opcode, opcode).set(nvme::sqe::nsid, 0xFFFFFFFEu).set(nvme::sqe::cdw10, opcode < 0x08 ? 0xFFFFu : 0u);
  return made;
}

/// Identify Controller with both flags of old, so that a product before 1.2 looks at both fields too.
MiAnswer identify(EndpointBench& bench, std::uint16_t cntlid, std::uint32_t dofst, std::uint32_t dlen, const MiTerms& terms = {}) {
  Bytes message = admin_message(cntlid, identify_controller_command(), dofst, dlen, {}, terms);
  message[5] = 3;
  return bench.request(message, terms);
}
/// Success at both levels with just these bytes.
bool data_is(Check& check, const MiAnswer& answer, ByteView expected, const std::string& what) {
  if (!admin_success(check, answer, what)) return false;
  return check.bytes(what, answer.admin_data(), expected);
}

}  // namespace

CONFORMANCE_CASE(every_controller_identifies_itself, "mi.admin.identify", roles::endpoint) {
  check.precondition(!bench.declared().controllers.empty(), "the product lists controllers");
  for (const std::uint16_t cntlid : bench.declared().controllers) {
    const MiAnswer answer = identify(bench, cntlid, 0, 4096);
    if (!admin_success(check, answer, fmt::format("Identify of controller {}", cntlid))) continue;
    if (!check.equal("bytes of data", answer.admin_data().size(), 4096u)) continue;
    const View<nvme::IdentifyController> page{answer.admin_data()};
    check.equal("CNTLID", page.get(nvme::id_ctrl::cntlid), cntlid);
    const MiAnswer info =
        bench.command(Opcode::read_data_structure, cntlid | static_cast<std::uint32_t>(mi::DataType::controller_information) << 24);
    if (!info.ok() || info.data().size() != mi::ControllerInfo::size) continue;
    const View<mi::ControllerInfo> facts{info.data()};
    check.equal("VID", page.get(nvme::id_ctrl::vid), facts.get(mi::controller_info::vid));
    check.equal("SSVID", page.get(nvme::id_ctrl::ssvid), facts.get(mi::controller_info::ssvid));
  }
}

CONFORMANCE_CASE(admin_responses_have_their_form, "mi.admin.response.form", roles::endpoint) {
  const std::uint16_t cntlid = a_controller(bench, check);
  for (const std::uint32_t dlen : {0u, 4u, 64u, 4096u}) {
    const MiAnswer answer = identify(bench, cntlid, 0, dlen);
    if (!admin_success(check, answer, fmt::format("Identify of {} bytes", dlen))) continue;
    check.equal("bytes of the response", answer.body.size(), mi::AdminResponse::size + dlen);
    check.bytes("bytes behind the status", ByteView{answer.body}.subspan(5, 3), Bytes(3));
  }
  const MiAnswer failed = bench.admin(cntlid, admin_command(AdminOpcode::identify, 0xFF), 0, 4096);
  if (success(check, failed, "Identify of a page that there is not")) {
    check.bytes("bytes behind the status", ByteView{failed.body}.subspan(5, 3), Bytes(3));
  }
}

CONFORMANCE_CASE(completions_have_no_identifier, "mi.admin.response.cid", roles::endpoint) {
  const std::uint16_t cntlid = a_controller(bench, check);
  for (const std::uint32_t cns : {1u, 0xFFu}) {
    const MiAnswer answer = bench.admin(cntlid, admin_command(AdminOpcode::identify, cns), 0, 64);
    if (!success(check, answer, "Identify") || answer.body.size() < mi::AdminResponse::size) continue;
    check.equal("CID", View<mi::AdminResponse>{answer.body}.get(mi::admin_response::cid), 0);
  }
}

CONFORMANCE_CASE(windows_of_data_are_exact, "mi.admin.window.inside", roles::endpoint) {
  const std::uint16_t cntlid = a_controller(bench, check);
  const MiAnswer whole = identify(bench, cntlid, 0, 4096);
  if (!admin_success(check, whole, "Identify of 4096 bytes")) return;
  check.require(whole.admin_data().size() == 4096, "Identify returns 4096 bytes", fmt::format("{}", whole.admin_data().size()));
  const Bytes page(whole.admin_data().begin(), whole.admin_data().end());
  for (const auto& [offset, length] : {std::pair{0u, 4u},
                                       {0u, 72u},
                                       {4u, 4u},
                                       {4u, 20u},
                                       {24u, 40u},
                                       {64u, 8u},
                                       {2048u, 2048u},
                                       {4092u, 4u},
                                       {100u, 1000u},
                                       {4u, 4092u},
                                       {0u, 4092u},
                                       {256u, 3840u}}) {
    data_is(check, identify(bench, cntlid, offset, length), ByteView{page}.subspan(offset, length),
            fmt::format("{} bytes from {}", length, offset));
  }
}

CONFORMANCE_CASE(a_window_of_nothing_succeeds, "mi.admin.window.nothing", roles::endpoint) {
  const std::uint16_t cntlid = a_controller(bench, check);
  for (const std::uint32_t offset : {0u, 4u}) {
    const MiAnswer answer = identify(bench, cntlid, offset, 0);
    const std::string what = fmt::format("no bytes from {}", offset);
    if (answer.answered() && answer.status() == mi::Status::invalid_parameter) {
      refused_at(check, answer, 32, what);
    } else {
      data_is(check, answer, {}, what);
    }
  }
}

CONFORMANCE_CASE(windows_end_with_the_data, "mi.admin.window.end", roles::endpoint) {
  const std::uint16_t cntlid = a_controller(bench, check);
  const Bytes page = identity(bench, check, cntlid);
  for (const auto& [offset, length] : {std::pair{4u, 4096u}, {4092u, 8u}, {4096u, 4u}, {8192u, 64u}, {0xFFFFFFFCu, 4096u}}) {
    const MiAnswer answer = identify(bench, cntlid, offset, length);
    const std::string what = fmt::format("{} bytes from {:#x}", length, offset);
    if (answer.answered() && answer.status() == mi::Status::invalid_parameter) {
      check.equal("parameter error location of " + what, answer.error_at(), one_of(mi::ParameterError{28, 0}, mi::ParameterError{32, 0}));
      continue;
    }
    const std::size_t from = std::min<std::size_t>(offset, page.size());
    data_is(check, answer, ByteView{page}.subspan(from, std::min<std::size_t>(length, page.size() - from)), what);
  }
  serves(bench, check, "a request afterwards");
}

CONFORMANCE_CASE(other_data_lengths_are_refused, "mi.admin.dlen", roles::endpoint) {
  const std::uint16_t cntlid = a_controller(bench, check);
  for (const std::uint32_t dlen :
       {1u, 2u, 3u, 5u, 6u, 4094u, 4095u, 4097u, 4098u, 4100u, 8192u, 0x10000u, 0x10004u, 0x80000000u, 0xFFFFFFFCu, 0xFFFFFFFFu}) {
    refused_at(check, identify(bench, cntlid, 0, dlen), 32, fmt::format("DLEN {:#x}", dlen));
  }
  check.that(identify(bench, cntlid, 0, 4096).admin_ok(), "4096 bytes are served afterwards");
}

CONFORMANCE_CASE(other_data_offsets_are_refused, "mi.admin.dofst", roles::endpoint) {
  const std::uint16_t cntlid = a_controller(bench, check);
  for (const std::uint32_t dofst : {1u, 2u, 3u, 5u, 6u, 4093u}) {
    refused_at(check, identify(bench, cntlid, dofst, 4), 28, fmt::format("DOFST {}", dofst));
  }
  check.that(identify(bench, cntlid, 4, 4).admin_ok(), "an offset of 4 is served afterwards");
}

CONFORMANCE_CASE(admin_commands_need_a_controller, "mi.admin.controller", roles::endpoint) {
  for (const std::uint16_t cntlid : unknown_controllers(bench)) {
    refused_at(check, identify(bench, cntlid, 0, 64), 6, fmt::format("Identify of controller {:#x}", cntlid));
    // Its opcode transfers data: that DLEN is 0 may be what the endpoint reports of the two.
    const MiAnswer features = bench.admin(cntlid, admin_command(AdminOpcode::get_features, 0x04), 0, 0);
    const std::string what = fmt::format("Get Features of controller {:#x}", cntlid);
    if (refused(check, features, mi::Status::invalid_parameter, what)) {
      check.equal("parameter error location of " + what, features.error_at(), one_of(mi::ParameterError{6, 0}, mi::ParameterError{32, 0}));
    }
    refused_at(check, bench.admin(cntlid, log_command(2, 0, 512, nvme::kAllNamespaces), 0, 512), 6,
               fmt::format("Get Log Page of controller {:#x}", cntlid));
  }
  serves(bench, check, "a request afterwards");
}

CONFORMANCE_CASE(prohibited_commands_are_refused, "mi.admin.prohibited", roles::endpoint) {
  const std::uint16_t cntlid = a_controller(bench, check);
  std::vector<std::uint8_t> prohibited(std::begin(kProhibited), std::end(kProhibited));
  for (const std::uint8_t opcode : kLater) {
    if (!bench.declared().supports({MessageKind::admin_command, opcode})) prohibited.push_back(opcode);
  }
  for (const std::uint8_t opcode : prohibited) {
    const std::string what = fmt::format("Admin command {:02x}h", opcode);
    const MiAnswer answer = bench.admin(cntlid, harmless(opcode), 0, 0);
    if (!refused(check, answer, one_of(mi::Status::invalid_opcode, mi::Status::invalid_parameter), what)) continue;
    if (answer.status() == mi::Status::invalid_parameter) {
      // DLEN is 0, which should be refused as well with an opcode that transfers data.
      const bool transfers = (opcode & 3) != 0;
      const auto legal = transfers ? one_of(mi::ParameterError{4, 0}, mi::ParameterError{32, 0}) : one_of(mi::ParameterError{4, 0});
      check.equal("parameter error location of " + what, answer.error_at(), legal);
    }
  }
  check.that(identify(bench, cntlid, 0, 64).admin_ok(), "Identify is served afterwards");
}

CONFORMANCE_CASE(unsupported_commands_are_refused, "mi.admin.unsupported", roles::endpoint) {
  const std::uint16_t cntlid = a_controller(bench, check);
  const auto is_refused = [&](std::uint8_t opcode) {
    refused(check, bench.admin(cntlid, harmless(opcode), 0, 0), mi::Status::invalid_opcode, fmt::format("Admin command {:02x}h", opcode));
  };
  for (const std::uint8_t opcode : kReserved) is_refused(opcode);
  for (const std::uint8_t opcode : kOptional) {
    if (!bench.declared().supports({MessageKind::admin_command, opcode})) is_refused(opcode);
  }
  for (const std::uint8_t opcode : kMandatory) {
    const MiAnswer answer = bench.admin(cntlid, harmless(opcode), 0, 0);
    check.that(answer.answered() && answer.status() != mi::Status::invalid_opcode, fmt::format("Admin command {:02x}h is known", opcode),
               answer.describe());
  }
}

CONFORMANCE_CASE(failures_stand_in_the_completion, "mi.admin.failure", roles::endpoint) {
  const std::uint16_t cntlid = a_controller(bench, check);
  namespace sc = nvme::sc;
  struct Failing {
    std::string what;
    nvme::Sqe sqe;
    OneOf<nvme::Status> legal;
  };
  const Failing commands[] = {
      {"Identify of a page that there is not", admin_command(AdminOpcode::identify, 0xFF), one_of(sc::invalid_field)},
      {"Identify of a namespace that cannot be", admin_command(AdminOpcode::identify, 0x00, 0xFFFFFFFE),
       one_of(sc::invalid_namespace_or_format)},
      {"Get Log Page of a page that there is not", log_command(0x6F, 0, 512), one_of(sc::invalid_log_page, sc::invalid_field)},
      {"Get Features of a feature that there is not", admin_command(AdminOpcode::get_features, 0x6F), one_of(sc::invalid_field)},
  };
  for (const auto& [what, sqe, legal] : commands) {
    const MiAnswer answer = bench.admin(cntlid, sqe, 0, 512);
    if (!success(check, answer, what)) continue;
    check.equal("bytes of the response to " + what, answer.body.size(), mi::AdminResponse::size);
    check.status(answer.nvme_status(), legal, what);
  }
}

CONFORMANCE_CASE(short_admin_commands_are_refused, "mi.admin.request.size", roles::endpoint) {
  const std::uint16_t cntlid = a_controller(bench, check);
  const Bytes whole = admin_message(cntlid, identify_controller_command(), 0, 64);
  for (const std::size_t size : {8u, 12u, 36u, 44u, 60u, 64u}) {
    refused(check, bench.request(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size))), mi::Status::invalid_command_size,
            fmt::format("an Admin command of {} bytes", size));
  }
  check.that(identify(bench, cntlid, 0, 64).admin_ok(), "Identify is served afterwards");
}

CONFORMANCE_CASE(unwanted_request_data_is_refused, "mi.admin.request.unwanted", roles::endpoint) {
  const std::uint16_t cntlid = a_controller(bench, check);
  for (const std::size_t bytes : {4u, 64u}) {
    size_refused(check, bench.admin(cntlid, identify_controller_command(), 0, 64, Bytes(bytes)),
                 fmt::format("Identify with {} bytes", bytes));
  }
  check.that(identify(bench, cntlid, 0, 64).admin_ok(), "Identify is served afterwards");
}

CONFORMANCE_CASE(window_flags_do_not_count, "mi.admin.flags", roles::endpoint, needs(revision_1_2)) {
  const std::uint16_t cntlid = a_controller(bench, check);
  const Bytes page = identity(bench, check, cntlid);
  for (unsigned flags = 0; flags < 4; ++flags) {
    Bytes message = admin_message(cntlid, identify_controller_command(), 24, 64);
    message[5] = static_cast<std::uint8_t>(flags);
    data_is(check, bench.request(message), ByteView{page}.subspan(24, 64), fmt::format("flags {}", flags));
  }
}

CONFORMANCE_CASE(slots_serve_admin_commands_alike, "mi.admin.both-slots", roles::endpoint) {
  const std::uint16_t cntlid = a_controller(bench, check);
  const MiAnswer first = identify(bench, cntlid, 0, 512, {.slot = 0});
  const MiAnswer second = identify(bench, cntlid, 0, 512, {.slot = 1});
  if (!admin_success(check, first, "Identify in slot 0") || !admin_success(check, second, "Identify in slot 1")) return;
  check.bytes("data of slot 1", second.admin_data(), first.admin_data());
  check.equal("bytes of data", second.admin_data().size(), 512u);
}

}  // namespace fb::conformance
