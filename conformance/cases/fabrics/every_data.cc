// Every command that moves data, with descriptors that are just too short for it.
#include <fmt/format.h>

#include <map>

#include "conformance/cases/fabrics/common.h"
#include "wire/nvme/directives.h"

namespace fb::conformance {

using namespace fabrics_cases;

namespace {

using nvme::FeatureId;
using nvme::LogPage;

/// A command that changes nothing which another case looks at; all of them can be sent again.
struct DataCommand {
  std::string name;
  nvme::Sqe sqe;
  std::uint32_t bytes;
  Bytes data = {};  ///< what the host sends; empty: the controller sends
};

Bytes with_word(std::size_t bytes, std::size_t at, std::uint32_t word) {
  Bytes data(bytes);
  store_le(data.data() + at, word);
  return data;
}

std::vector<DataCommand> admin_commands(const Declared& declared) {
  std::vector<DataCommand> all;
  const std::uint32_t nsid = declared.nsid;
  for (const nvme::Cns cns : {nvme::Cns::identify_namespace, nvme::Cns::controller, nvme::Cns::active_namespace_list,
                              nvme::Cns::namespace_id_descriptors, nvme::Cns::command_set_controller}) {
    const bool of_one = cns == nvme::Cns::identify_namespace || cns == nvme::Cns::namespace_id_descriptors;
    all.push_back({fmt::format("Identify, CNS {:02X}h", static_cast<unsigned>(cns)), host::as_sqe(host::identify(cns, of_one ? nsid : 0)),
                   nvme::kIdentifySize});
  }
  for (const LogPage page : {LogPage::supported_pages, LogPage::error_information, LogPage::smart, LogPage::firmware_slot,
                             LogPage::commands_effects, LogPage::feature_effects, LogPage::self_test, LogPage::sanitize_status})
    all.push_back({fmt::format("Get Log Page {:02X}h", static_cast<unsigned>(page)), host::as_sqe(host::get_log(page, 64)), 64});
  auto exhid = host::get_features(FeatureId::host_identifier, nvme::FeatureSelect::current, 1);
  all.push_back({"Get Features, Host Identifier", host::as_sqe(exhid), 16});
  all.push_back({"Get Features, Host Behavior Support", host::as_sqe(host::get_features(FeatureId::host_behavior_support)), 512});
  all.push_back({"Get Features, Timestamp", host::as_sqe(host::get_features(FeatureId::timestamp)), 8});
  all.push_back(
      {"Set Features, Host Behavior Support", host::as_sqe(host::set_features(FeatureId::host_behavior_support, 0)), 512, Bytes(512)});
  all.push_back({"Set Features, Timestamp", host::as_sqe(host::set_features(FeatureId::timestamp, 0)), 8, with_word(8, 0, 7777)});
  if (nsid != 0)
    all.push_back({"Directive Receive", host::as_sqe(host::directive_receive(nsid, nvme::DirectiveType::identify, 1, 4096)), 4096});
  all.push_back(
      {"Get LBA Status", host::as_sqe(host::get_lba_status(nsid, nvme::LbaStatusAction::tracked, declared.blocks / 2, 8, 64)), 64});
  all.push_back({"Security Receive", host::as_sqe(host::security_receive(0, 0, 512)), 512});
  return all;
}

std::vector<DataCommand> io_commands(ControllerBench& bench) {
  std::vector<DataCommand> all;
  const std::uint32_t nsid = bench.nsid(), block = bench.declared().block_bytes;
  const std::uint64_t at = bench.first_lba() + 32;
  const Bytes data = pattern(std::size_t{block} * 2, 0x37);
  all.push_back({"Write", host::as_sqe(host::write(nsid, at, 2)), block * 2, data});
  all.push_back({"Read", host::as_sqe(host::read(nsid, at, 2)), block * 2});
  all.push_back({"Compare", host::as_sqe(host::compare(nsid, at, 2)), block * 2, data});
  Bytes range(16);
  store_le(range.data() + 8, at);
  store_le(range.data() + 4, std::uint32_t{1});
  all.push_back({"Dataset Management", host::as_sqe(host::deallocate(nsid, 1)), 16, range});
  Bytes source(32);
  store_le(source.data() + 8, at);
  all.push_back({"Copy", host::as_sqe(host::copy(nsid, at + 8, 1)), 32, source});
  all.push_back({"Reservation Report", host::as_sqe(host::reservation_report(nsid, 64)), 64});
  return all;
}

class ShortDescriptors {
 public:
  explicit ShortDescriptors(Check& check) : check_(check) {}

  void judge(host::RawQueue& queue, const DataCommand& command) {
    // What this product has not, or answers otherwise, is for other cases.
    if (!send(queue, command, command.bytes).ok()) return;
    ++looked;
    for (const std::uint32_t length : {command.bytes - 1, command.bytes / 2, 0u}) {
      const host::RawReply reply = send(queue, command, length);
      check_.status(reply, sc::data_sgl_length_invalid,
                    fmt::format("{} of {} bytes with a descriptor of {}", command.name, command.bytes, length));
      check_.bytes(fmt::format("memory behind the descriptor of {}", command.name), behind_, Bytes(behind_.size(), kUntouched));
    }
    check_.success(send(queue, command, command.bytes), command.name + " afterwards");
  }
  std::size_t looked = 0;

 private:
  static constexpr std::uint8_t kUntouched = 0x5C;

  host::RawReply send(host::RawQueue& queue, const DataCommand& command, std::uint32_t length) {
    auto [held, fresh] = memory_.try_emplace(&queue, nullptr);
    if (fresh) held->second = &queue.expose(Bytes(2 * nvme::kIdentifySize));
    host::RawQueue::Exposed& memory = *held->second;
    std::fill(memory.data.begin(), memory.data.end(), kUntouched);
    std::copy(command.data.begin(), command.data.end(), memory.data.begin());
    const host::RawReply reply = answered(check_, queue.send_command(with_sgl(command.sqe, memory.sgl(length))).wait());
    const std::size_t mine = std::max<std::size_t>(length, command.data.size());
    behind_.assign(memory.data.begin() + static_cast<std::ptrdiff_t>(mine), memory.data.end());
    return reply;
  }
  Check& check_;
  std::map<host::RawQueue*, host::RawQueue::Exposed*> memory_;
  Bytes behind_;
};

}  // namespace

CONFORMANCE_CASE(every_descriptor_that_is_too_short_is_refused, "fabrics.sgl.too-short", roles::controller, over_rdma, needs{&a_namespace},
                 sends_malformed) {
  RawAssociation& association = bench.associate();
  host::RawQueue& io = association.open_io();
  ShortDescriptors descriptors(check);
  for (const DataCommand& command : admin_commands(bench.declared())) descriptors.judge(association.admin(), command);
  for (const DataCommand& command : io_commands(bench)) descriptors.judge(io, command);
  check.precondition(descriptors.looked > 0, "commands with data succeed");
}

}  // namespace fb::conformance
