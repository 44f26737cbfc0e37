// What Identify claims against what is taken and refused: block sizes, capacities, transfer sizes, namespaces that exist.
#include <fmt/format.h>

#include <map>

#include "conformance/oracle/identify.h"
#include "conformance/oracle/subjects.h"
#include "wire/fabrics/property.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/identify_namespace.h"

namespace fb::oracle {

namespace {

using nvme::Cns;
using nvme::IoOpcode;
namespace id_ns = nvme::id_ns;

/// An NVM command with a range of blocks.
bool has_range(const Exchange& one) {
  return one.is(IoOpcode::read) || one.is(IoOpcode::write) || one.is(IoOpcode::compare) || one.is(IoOpcode::write_zeroes) ||
         one.is(IoOpcode::verify) || one.is(IoOpcode::write_uncorrectable);
}

class Claims final : public Subject {
 public:
  using Subject::Subject;

  void on_command(const Exchange& one) override { pages_.on_command(one); }
  void on_abandoned(const Exchange& one) override { pages_.on_abandoned(one); }
  void on_controller_end(const Controller& controller) override {
    pages_.forget(controller);
    page_bits_.erase(&controller);
  }
  void on_unsure(const Subsystem* subsystem) override { pages_.unsure(subsystem); }

  void on_answer(const Exchange& one) override {
    pages_.on_answer(one);
    if (one.is(nvme::FabricsType::property_get)) on_property(one);
    if (one.fabrics() || one.subsystem().discovery) return;
    judge_transfer_size(one);
    if (one.admin() || !pages_.is_steady(one)) return;
    judge_namespace_exists(one);
    if (has_range(one)) judge_blocks(one);
  }

 private:
  void on_property(const Exchange& one) {
    const auto get = one.command<fabrics::PropertyGetSqe>();
    if (!one.ok() || get.get(fabrics::property_sqe::ofst) != fabrics::property::cap ||
        get.get(fabrics::property_sqe::size) != fabrics::PropertySize::eight) {
      return;
    }
    constexpr unsigned kMpsmin = 48;
    const std::uint64_t cap = one.answer<fabrics::PropertyGetReply>().get(fabrics::property_reply::value);
    page_bits_[one.controller] = 12 + static_cast<unsigned>(cap >> kMpsmin & 0xF);
  }

  void judge_transfer_size(const Exchange& one) {
    const IdentifyPage* const asked = pages_.find(*one.controller, {static_cast<std::uint8_t>(Cns::controller)});
    const ByteView controller = asked != nullptr ? ByteView{asked->bytes} : one.controller->declared;
    const auto page = page_bits_.find(one.controller);
    if (controller.size() < nvme::kIdentifySize || page == page_bits_.end() || !one.ok() || !one.length_known) return;
    const View<nvme::IdentifyController> view{controller};
    const unsigned mdts = view.get(nvme::id_ctrl::mdts);
    constexpr std::uint32_t kExcludesMetadata = 1u << 16;  // CTRATT.MEM
    if (mdts == 0 || mdts > 40 || (view.get(nvme::id_ctrl::ctratt) & kExcludesMetadata) != 0) return;
    const nvme::DataDirection direction = nvme::direction_of(one.sqe[0]);
    if (direction == nvme::DataDirection::none) return;
    const std::uint64_t moved = direction == nvme::DataDirection::controller_to_host ? one.in.front().size() : one.length;
    judged(Rule::oracle_mdts);
    if (moved > std::uint64_t{1} << (page->second + mdts)) {
      say(Rule::oracle_mdts,
          fmt::format("a command that transfers {} bytes succeeds, and MDTS allows {}", moved, std::uint64_t{1} << (page->second + mdts)));
    }
  }

  /// Blocks without metadata: no host has to enable anything for them.
  bool has_plain_format(const Exchange& one) {
    const IdentifyPage* const page = pages_.find(*one.controller, {static_cast<std::uint8_t>(Cns::identify_namespace), one.nsid()});
    if (page == nullptr) return false;
    return nvme::lba_format_at(page->bytes, nvme::format_in_use(page->bytes)).get(nvme::lba_format::ms) == 0;
  }

  void judge_namespace_exists(const Exchange& one) {
    if (!has_range(one)) return;
    const auto active = active_namespaces(pages_, *one.controller);
    if (!active) return;
    const bool listed = std::binary_search(active->begin(), active->end(), one.nsid());
    const bool refused = nvme::same_code(one.status(), nvme::sc::invalid_namespace_or_format) && has_plain_format(one);
    judged(Rule::oracle_namespace_exists);
    if (listed ? refused : one.ok()) {
      say(Rule::oracle_namespace_exists,
          fmt::format("{} to namespace {:#x}, which is {} the active namespace list, completes with {}", nvme::io_opcode_name(one.sqe[0]),
                      one.nsid(), listed ? "in" : "not in", to_string(one.status())));
    }
  }

  void judge_blocks(const Exchange& one) {
    const IdentifyPage* const page = pages_.find(*one.controller, {static_cast<std::uint8_t>(Cns::identify_namespace), one.nsid()});
    if (page == nullptr) return;
    const View<nvme::IdentifyNamespace> ns{page->bytes};
    const std::uint64_t nsze = ns.get(id_ns::nsze);
    if (nsze == 0) return;
    const auto command = one.command<nvme::ReadWriteSqe>();
    const std::uint64_t slba = command.get(nvme::rw_sqe::slba), blocks = command.get(nvme::rw_sqe::nlb).count();
    const bool within = slba < nsze && blocks <= nsze - slba;
    const bool refused = nvme::same_code(one.status(), nvme::sc::lba_out_of_range);
    judged(Rule::oracle_lba_range);
    if (within ? refused : one.ok()) {
      say(Rule::oracle_lba_range,
          fmt::format("{} of LBAs {} to {} completes with {}, and NSZE of namespace {:#x} is {}", nvme::io_opcode_name(one.sqe[0]), slba,
                      slba + blocks - 1, to_string(one.status()), one.nsid(), nsze));
    }
    if (!one.ok() || !one.is(IoOpcode::read) || !within) return;
    const View<nvme::LbaFormat> format = nvme::lba_format_at(page->bytes, nvme::format_in_use(page->bytes));
    const unsigned lbads = format.get(nvme::lba_format::lbads);
    if (lbads < 9 || lbads > 32) return;
    const std::uint64_t data = std::uint64_t{1} << lbads;
    const std::uint64_t whole = data + (ns.get(id_ns::flbas_extended) ? format.get(nvme::lba_format::ms) : 0u);
    const std::uint64_t seen = one.in.front().size();
    judged(Rule::oracle_block_size);
    // With PRACT a controller strips protection information that is all of the metadata.
    const bool stripped = command.get(nvme::rw_sqe::pract) && seen == data * blocks;
    if (one.in.holds(seen) && seen != whole * blocks && !stripped) {
      say(Rule::oracle_block_size, fmt::format("a Read of {} blocks returns {} bytes, and by the format of namespace {:#x} blocks have {}",
                                               blocks, seen, one.nsid(), whole));
    }
  }

  IdentifyPages pages_;
  std::map<const Controller*, unsigned, ByNumber> page_bits_;  // of a memory page, by CAP.MPSMIN
};

}  // namespace

std::unique_ptr<Subject> follow_claims(Reporter& reporter, bool complete) { return std::make_unique<Claims>(reporter, complete); }

}  // namespace fb::oracle
