// Log pages and features through a management endpoint.
#include "conformance/cases/mi/commands.h"
#include "conformance/runner/managed_setup.h"
#include "wire/nvme/features.h"
#include "wire/nvme/logs.h"

namespace fb::conformance {
namespace {

using mi::MessageKind;
using nvme::AdminOpcode;

constexpr std::uint8_t kSupportedPages = 0x00, kErrors = 0x01, kSmart = 0x02, kFirmware = 0x03, kFeatures = 0x12;
constexpr std::uint8_t kThreshold = 0x04;  // Temperature Threshold

struct Page {
  std::uint8_t lid;
  std::uint32_t bytes;
  std::uint32_t nsid = kNoNamespace;
};
/// Whether the pages exist that came with revision 2.0 of the base specification: a controller may be older than the
/// management interface in front of it.
bool has_newer_pages(const EndpointBench& bench, const Bytes& id) {
  constexpr std::uint32_t kBase20 = 0x0002'0000;
  return bench.declared().at_least(1, 2) && View<nvme::IdentifyController>{id}.get(nvme::id_ctrl::ver) >= kBase20;
}
/// What an endpoint of a storage device has to serve of a controller.
std::vector<Page> mandatory_pages(const EndpointBench& bench, const Bytes& id) {
  std::vector<Page> pages = {{kErrors, 64}, {kSmart, 512, nvme::kAllNamespaces}, {kFirmware, 512}};
  if (has_newer_pages(bench, id)) {
    pages.push_back({kSupportedPages, 1024});
    pages.push_back({kFeatures, 1024});
  }
  return pages;
}
/// Pages that say the same whenever they are read.
std::vector<Page> steady_pages(const EndpointBench& bench, const Bytes& id) {
  if (has_newer_pages(bench, id)) return {{kSupportedPages, 1024}, {kFeatures, 1024}, {kFirmware, 512}};
  return {{kFirmware, 512}};
}

MiAnswer read_log(EndpointBench& bench, std::uint16_t cntlid, const Page& page, std::uint64_t offset, std::uint32_t length,
                  std::uint32_t dofst, std::uint32_t dlen) {
  return bench.admin(cntlid, log_command(page.lid, offset, length, page.nsid), dofst, dlen);
}
Bytes whole_log(EndpointBench& bench, Check& check, std::uint16_t cntlid, const Page& page) {
  const MiAnswer answer = read_log(bench, cntlid, page, 0, page.bytes, 0, page.bytes);
  if (!answer.admin_ok() || answer.admin_data().size() != page.bytes) {
    const std::string why = answer.ok() ? nvme::to_string(answer.nvme_status()) : answer.describe();
    check.inconclusive(fmt::format("log page {:02x}h: {}, {} bytes", page.lid, why, answer.admin_data().size()));
  }
  return {answer.admin_data().begin(), answer.admin_data().end()};
}

/// A data set that the case has to do without otherwise: the storage device, not an enclosure.
bool is_storage(const Bytes& page) {
  const unsigned nvmsr = View<nvme::IdentifyController>{page}.get(nvme::id_ctrl::nvmsr);
  return nvmsr == 0 || (nvmsr & 1) != 0;
}

nvme::Sqe feature(AdminOpcode opcode, std::uint8_t fid, std::uint32_t cdw11 = 0) {
  nvme::Sqe made = admin_command(opcode, fid);
  made.set(nvme::sqe::cdw11, cdw11);
  return made;
}
MiAnswer get_feature(EndpointBench& bench, std::uint16_t cntlid, std::uint8_t fid, std::uint32_t cdw11 = 0) {
  return bench.admin(cntlid, feature(AdminOpcode::get_features, fid, cdw11), 0, 0);
}
MiAnswer set_feature(EndpointBench& bench, std::uint16_t cntlid, std::uint8_t fid, std::uint32_t cdw11) {
  return bench.admin(cntlid, feature(AdminOpcode::set_features, fid, cdw11), 0, 0);
}
/// The temperature threshold of a controller; INCONCLUSIVE when it has none.
std::uint32_t threshold_of(EndpointBench& bench, Check& check, std::uint16_t cntlid) {
  const MiAnswer answer = get_feature(bench, cntlid, kThreshold);
  if (!answer.admin_ok()) check.inconclusive("Get Features of the temperature threshold: " + answer.describe());
  return answer.dw0() & 0xFFFF;
}

/// Prohibited out of band: a host's queues, interrupts, events, memory and data path.
constexpr std::uint8_t kProhibited[] = {0x01, 0x03, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0A, 0x0B,
                                        0x0D, 0x0F, 0x12, 0x13, 0x14, 0x15, 0x16, 0x18};

}  // namespace

CONFORMANCE_CASE(mandatory_logs_are_served, "mi.admin.log.mandatory", roles::endpoint) {
  for (const std::uint16_t cntlid : bench.declared().controllers) {
    const Bytes id = identity(bench, check, cntlid);
    check.precondition(is_storage(id), "the product is a storage device");
    for (const Page& page : mandatory_pages(bench, id)) {
      const std::string what = fmt::format("log page {:02x}h of controller {}", page.lid, cntlid);
      const MiAnswer answer = read_log(bench, cntlid, page, 0, page.bytes, 0, page.bytes);
      if (!admin_success(check, answer, what)) continue;
      if (!check.equal("bytes of " + what, answer.admin_data().size(), page.bytes)) continue;
      if (page.lid != kSmart) continue;
      // Where CTEMP has a temperature within its range (-59 to 126 degrees), the kelvins of the log are no fewer than those of -60.
      const std::uint8_t code = View<mi::SubsystemHealth>{health(bench, check)}.get(mi::subsystem_health::ctemp);
      if (code > 0x7E && code < 0xC5) continue;
      check.that(load_le<std::uint16_t>(&answer.admin_data()[1]) >= 213, "the composite temperature of " + what + " is in kelvins",
                 words(load_le<std::uint16_t>(&answer.admin_data()[1])));
    }
  }
}

CONFORMANCE_CASE(logs_are_read_in_any_pieces, "mi.admin.log.pieces", roles::endpoint) {
  const std::uint16_t cntlid = a_controller(bench, check);
  const Bytes id = identity(bench, check, cntlid);
  const bool extended = (View<nvme::IdentifyController>{id}.get(nvme::id_ctrl::lpa) & nvme::lpa_bits::extended_data) != 0;
  for (const Page& page : steady_pages(bench, id)) {
    const Bytes whole = whole_log(bench, check, cntlid, page);
    const auto part_is = [&](const MiAnswer& answer, std::size_t from, std::size_t size, const std::string& how) {
      const std::string what = fmt::format("{} bytes of log page {:02x}h from {} {}", size, page.lid, from, how);
      if (!admin_success(check, answer, what)) return false;
      return check.bytes(what, answer.admin_data(), ByteView{whole}.subspan(from, size));
    };
    for (const std::uint32_t piece : {4u, 100u, 256u}) {
      const std::uint32_t step = piece == 4 ? 60 : piece;
      for (std::uint32_t at = 0; at < page.bytes; at += step) {
        const std::uint32_t size = std::min(piece, page.bytes - at);
        if (!part_is(read_log(bench, cntlid, page, 0, page.bytes, at, size), at, size, "by DOFST")) return;
        if (!extended) continue;
        if (!part_is(read_log(bench, cntlid, page, at, size, 0, size), at, size, "by the log page offset")) return;
        if (at + size + 8 > page.bytes) continue;
        if (!part_is(read_log(bench, cntlid, page, at, size + 8, 4, size), at + 4, size, "by both")) return;
      }
    }
  }
}

CONFORMANCE_CASE(supported_logs_are_served, "mi.admin.log.supported", roles::endpoint, needs(revision_1_2)) {
  const std::uint16_t cntlid = a_controller(bench, check);
  check.precondition(has_newer_pages(bench, identity(bench, check, cntlid)), "the controller has a list of its log pages");
  const Bytes table = whole_log(bench, check, cntlid, {kSupportedPages, 1024});
  for (unsigned lid = 0; lid < 0xC0; ++lid) {
    const bool supported = (table[4 * lid] & 1) != 0;
    // Telemetry and the persistent event log want more than a page number; what they say otherwise, is
    // theirs.
    if (supported && (lid == 0x07 || lid == 0x08 || lid == 0x0D)) continue;
    const std::uint32_t nsid = lid == kSmart ? nvme::kAllNamespaces : kNoNamespace;
    const MiAnswer answer = bench.admin(cntlid, log_command(static_cast<std::uint8_t>(lid), 0, 64, nsid), 0, 64);
    if (!success(check, answer, fmt::format("log page {:02x}h", lid))) continue;
    if (supported) {
      // A page may want parameters that this command does not have; it is not unknown then.
      check.that(!nvme::same_code(answer.nvme_status(), nvme::sc::invalid_log_page),
                 fmt::format("log page {:02x}h is served as it says", lid), nvme::to_string(answer.nvme_status()));
    } else {
      check.refused(answer.nvme_status(), fmt::format("log page {:02x}h", lid));
    }
  }
}

CONFORMANCE_CASE(prohibited_features_are_refused, "mi.admin.feature.prohibited", roles::endpoint, needs(offers_admin<0x09>)) {
  const std::uint16_t cntlid = a_controller(bench, check);
  for (const std::uint8_t fid : kProhibited) {
    admin_refused(check, set_feature(bench, cntlid, fid, 0), fmt::format("Set Features of {:02x}h", fid));
  }
  serves(bench, check, "a request afterwards");
}

CONFORMANCE_CASE(thresholds_are_kept, "mi.admin.feature.kept", roles::endpoint, needs(offers_admin<0x09>)) {
  const std::uint16_t cntlid = a_controller(bench, check);
  const std::uint32_t before = threshold_of(bench, check, cntlid);
  for (const std::uint32_t kelvin : {before + 1, before + 2, before}) {
    admin_success(check, set_feature(bench, cntlid, kThreshold, kelvin), fmt::format("a threshold of {}", kelvin));
    const MiAnswer answer = get_feature(bench, cntlid, kThreshold);
    if (admin_success(check, answer, "Get Features")) check.equal("threshold", answer.dw0() & 0xFFFF, kelvin);
    check.equal("data of Get Features", answer.admin_data().size(), 0u);
  }
}

CONFORMANCE_CASE(controllers_are_apart, "mi.admin.controllers.apart", roles::endpoint, needs(offers_admin<0x09>)) {
  const auto& controllers = bench.declared().controllers;
  check.precondition(controllers.size() >= 2, "there are two controllers");
  const std::uint32_t first = threshold_of(bench, check, controllers[0]);
  const std::uint32_t second = threshold_of(bench, check, controllers[1]);
  admin_success(check, set_feature(bench, controllers[1], kThreshold, second + 3), "a threshold of the second controller");
  check.equal("threshold of the second", threshold_of(bench, check, controllers[1]), second + 3);
  check.equal("threshold of the first", threshold_of(bench, check, controllers[0]), first);
  admin_success(check, set_feature(bench, controllers[0], kThreshold, first + 5), "a threshold of the first controller");
  check.equal("threshold of the second, then", threshold_of(bench, check, controllers[1]), second + 3);
  check.equal("threshold of the first, then", threshold_of(bench, check, controllers[0]), first + 5);
  set_feature(bench, controllers[0], kThreshold, first);
  set_feature(bench, controllers[1], kThreshold, second);
}

// libnvme sends data with a DLEN of 0: that may be taken, and is not looked at here.
CONFORMANCE_CASE(other_request_data_is_refused, "mi.admin.request.data", roles::endpoint, needs(offers_admin<0x09>)) {
  const std::uint16_t cntlid = a_controller(bench, check);
  const std::uint32_t before = threshold_of(bench, check, cntlid);
  const nvme::Sqe set = feature(AdminOpcode::set_features, kThreshold, before + 7);
  for (const auto& [dlen, given] : {std::pair{4u, 0u}, {4u, 8u}, {8u, 4u}, {64u, 60u}, {64u, 68u}}) {
    refused(check, bench.admin(cntlid, set, 0, dlen, Bytes(given)), mi::Status::invalid_data_size,
            fmt::format("DLEN {} with {} bytes", dlen, given));
  }
  check.equal("threshold afterwards", threshold_of(bench, check, cntlid), before);
}

// The data goes with a feature that has none, so that a product may refuse it.
CONFORMANCE_CASE(commands_with_data_return_none, "mi.admin.request.echo", roles::endpoint, needs(offers_admin<0x09>)) {
  const std::uint16_t cntlid = a_controller(bench, check);
  const std::uint32_t before = threshold_of(bench, check, cntlid);
  for (const std::uint32_t dlen : {4u, 64u}) {
    const MiAnswer answer = bench.admin(cntlid, feature(AdminOpcode::set_features, kThreshold, before), 0, dlen, Bytes(dlen));
    if (!answer.answered() || !answer.mic_good) {
      check.fails("Set Features with data", {"an answer"}, answer.describe());
      continue;
    }
    check.equal("bytes of the response", answer.body.size(), answer.ok() ? mi::AdminResponse::size : mi::kResponseMin);
  }
  check.equal("threshold afterwards", threshold_of(bench, check, cntlid), before);
}

CONFORMANCE_CASE(a_namespace_is_meant_by_its_whole_number, "mi.admin.fields.nsid", roles::endpoint) {
  const std::uint16_t cntlid = a_controller(bench, check);
  const auto listed =
      bench.admin(cntlid, admin_command(AdminOpcode::identify, static_cast<std::uint32_t>(nvme::Cns::active_namespace_list)), 0, 4096);
  check.precondition(listed.admin_ok() && listed.admin_data().size() >= 8, "namespaces are listed");
  std::vector<std::uint32_t> active;
  for (std::size_t at = 0; at + 4 <= listed.admin_data().size(); at += 4) {
    const auto nsid = load_le<std::uint32_t>(&listed.admin_data()[at]);
    if (nsid != 0) active.push_back(nsid);
  }
  check.precondition(!active.empty(), "there is a namespace");
  const auto identify = [&](std::uint32_t nsid) { return bench.admin(cntlid, admin_command(AdminOpcode::identify, 0, nsid), 0, 4096); };
  const MiAnswer known = identify(active.front());
  check.precondition(known.admin_ok(), "Identify Namespace of a namespace that is listed");
  for (const unsigned bit : {8u, 12u, 16u, 20u, 24u, 31u}) {
    const std::uint32_t nsid = active.front() | 1u << bit;
    if (std::find(active.begin(), active.end(), nsid) != active.end()) continue;
    const MiAnswer answer = identify(nsid);
    const std::string what = fmt::format("Identify Namespace of {:08X}h, which is not there", nsid);
    // An inactive namespace is all zeros; an invalid one is refused.
    if (!answer.admin_ok())
      admin_refused(check, answer, what);
    else
      check.that(std::all_of(answer.admin_data().begin(), answer.admin_data().end(), [](auto b) { return b == 0; }),
                 what + " is all zeros, or is refused", "it has data");
  }
}

CONFORMANCE_CASE(a_log_offset_has_its_upper_half, "mi.admin.fields.offset", roles::endpoint) {
  const std::uint16_t cntlid = a_controller(bench, check);
  constexpr std::uint8_t kSmartPage = 0x02;
  const Bytes page = identity(bench, check, cntlid);
  constexpr std::uint8_t kExtended = 1u << 2;
  const std::uint8_t lpa = View<nvme::IdentifyController>{page}.get(nvme::id_ctrl::lpa);
  check.precondition((lpa & kExtended) != 0, "log pages have offsets of more than 32 bits");
  check.precondition(bench.admin(cntlid, log_command(kSmartPage, 0, 64, nvme::kAllNamespaces), 0, 64).admin_ok(), "the SMART log is read");
  for (const unsigned bit : {32u, 40u, 63u}) {
    admin_refused(check, bench.admin(cntlid, log_command(kSmartPage, std::uint64_t{1} << bit, 64, nvme::kAllNamespaces), 0, 64),
                  fmt::format("the SMART log from 2^{} on", bit));
  }
}

}  // namespace fb::conformance
