// The commands of hosts against what the controller has told them: reserved fields, namespaces, blocks, lengths, limits.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>

#include "conformance/monitors/by_cid.h"
#include "conformance/oracle/host_knowledge.h"
#include "conformance/oracle/subjects.h"
#include "wire/nvme/copy.h"
#include "wire/nvme/features.h"
#include "wire/nvme/protection.h"

namespace fb::oracle {

namespace {

using nvme::AdminOpcode;
using nvme::Cns;
using nvme::DataDirection;
using nvme::IoOpcode;
using nvme::SglDescriptor;
using nvme::SglType;
namespace id_ctrl = nvme::id_ctrl;
namespace id_ns = nvme::id_ns;
namespace rw = nvme::rw_sqe;

constexpr std::uint64_t kAdminRoomTcp = 8192;

/// Bits of dwords 10 to 15 that a command defines, and of 2 and 3 together, in the newest revision that is known.
struct Defined {
  std::uint8_t opcode;
  std::uint32_t dwords[6];
  bool tags = false;  ///< dwords 2 and 3
};
constexpr std::uint32_t kAll = ~std::uint32_t{0};

constexpr Defined kAdmin[] = {
    {0x02, {kAll, kAll, kAll, kAll, 0xFF80007F, 0}},     // Get Log Page
    {0x06, {0xFFFF00FF, 0xFF00FFFF, 0, 0, 0x7F, 0}},     // Identify
    {0x08, {kAll, 0, 0, 0, 0, 0}},                       // Abort
    {0x09, {0x800000FF, kAll, kAll, kAll, 0x7F, kAll}},  // Set Features
    {0x0A, {0x7FF, kAll, 0, 0, 0x7F, 0}},                // Get Features
    {0x0C, {0, 0, 0, 0, 0, 0}},                          // Asynchronous Event Request
    {0x18, {0, 0, 0, 0, 0, 0}},                          // Keep Alive
};

constexpr Defined kIo[] = {
    {0x00, {0, 0, 0, 0, 0, 0}},                                // Flush
    {0x01, {kAll, kAll, 0xFDFFFFFF, kAll, kAll, kAll}, true},  // Write
    {0x02, {kAll, kAll, 0xFD0FFFFF, kAll, kAll, kAll}, true},  // Read
    {0x04, {kAll, kAll, 0x00FFFFFF, 0xFFFFFFFF, 0, 0}},        // Write Uncorrectable
    {0x05, {kAll, kAll, 0xFD0FFFFF, kAll, kAll, kAll}, true},  // Compare
    {0x08, {kAll, kAll, kAll, kAll, kAll, kAll}, true},        // Write Zeroes
    {0x09, {0xFF, 0x7, 0, 0, 0, 0}},                           // Dataset Management
    {0x0C, {kAll, kAll, 0xFD0FFFFF, kAll, kAll, kAll}, true},  // Verify
    {0x0D, {0xC000001F, 0, 0, 0, 0, 0}},                       // Reservation Register
    {0x0E, {kAll, 0x1, 0, 0, 0, 0}},                           // Reservation Report
    {0x11, {0x0000FF1F, 0, 0, 0, 0, 0}},                       // Reservation Acquire
    {0x15, {0x0000FF1F, 0, 0, 0, 0, 0}},                       // Reservation Release
    {0x19, {kAll, kAll, kAll, kAll, kAll, kAll}, true},        // Copy
    {0x79, {kAll, kAll, 0, 0x3FF, 0, 0}},                      // Zone Management Send
    {0x7A, {kAll, kAll, kAll, 0x1FFFF, 0, 0}},                 // Zone Management Receive
    {0x7D, {kAll, kAll, kAll, kAll, kAll, kAll}, true},        // Zone Append
};

/// Optional commands, with the bit of ONCS that claims them.
struct Claim {
  IoOpcode opcode;
  std::uint16_t bit;
};
constexpr Claim kClaims[] = {
    {IoOpcode::compare, nvme::oncs_bits::compare},
    {IoOpcode::write_uncorrectable, nvme::oncs_bits::write_uncorrectable},
    {IoOpcode::dataset_management, nvme::oncs_bits::dataset_management},
    {IoOpcode::write_zeroes, nvme::oncs_bits::write_zeroes},
    {IoOpcode::verify, nvme::oncs_bits::verify},
    {IoOpcode::copy, nvme::oncs_bits::copy},
    {IoOpcode::reservation_register, nvme::oncs_bits::reservations},
    {IoOpcode::reservation_report, nvme::oncs_bits::reservations},
    {IoOpcode::reservation_acquire, nvme::oncs_bits::reservations},
    {IoOpcode::reservation_release, nvme::oncs_bits::reservations},
};

bool has_range(const Exchange& one) {
  return one.is(IoOpcode::read) || one.is(IoOpcode::write) || one.is(IoOpcode::compare) || one.is(IoOpcode::write_zeroes) ||
         one.is(IoOpcode::verify) || one.is(IoOpcode::write_uncorrectable);
}
bool moves_blocks(const Exchange& one) {
  return one.is(IoOpcode::read) || one.is(IoOpcode::write) || one.is(IoOpcode::compare) || one.is(IoOpcode::zone_append);
}
DataDirection direction_of(const Exchange& one) { return nvme::direction_of(one.fabrics() ? one.sqe[4] : one.sqe[0]); }
std::uint16_t cid_of(const Exchange& one) { return one.command().get(nvme::sqe::cid); }
std::string name_of(const Exchange& one) {
  return std::string(one.admin() ? nvme::admin_opcode_name(one.sqe[0]) : nvme::io_opcode_name(one.sqe[0]));
}

class HostCommands final : public Subject {
 public:
  using Subject::Subject;

  void on_controller_end(const Controller& controller) override {
    knowledge_.on_end(controller);
    states_.erase(&controller);
  }

  void on_command(const Exchange& one) override {
    State& state = states_[one.controller];
    state.open[*one.queue->qid].add(cid_of(one));
    judge_descriptor(one);
    if (one.fabrics()) return;
    judge_reserved(one);
    judge_length(one);
    judge_mdts(one);
    if (one.admin()) return on_admin(one, state);
    judge_namespace(one);
    judge_claim(one);
    if (has_range(one) || one.is(IoOpcode::zone_append)) judge_blocks(one);
  }

  void on_answer(const Exchange& one) override {
    knowledge_.on_answer(one);
    on_ended(one);
  }
  void on_abandoned(const Exchange& one) override { on_ended(one); }

 private:
  /// A command that was answered: Abort may have been on its way.
  struct Ended {
    std::uint16_t qid, cid;
  };
  static constexpr std::size_t kEndedKept = 64;
  struct State {
    std::map<std::uint16_t, monitors::CidSet> open;  // by queue
    std::deque<Ended> ended;                         // the last ones
    unsigned event_requests = 0, aborts = 0;         // outstanding
  };
  struct Blocks {  // of a namespace
    std::uint64_t nsze = 0;
    std::uint32_t data = 0, metadata = 0;
    unsigned protection = 0, format = 0;
    bool certain = true;  ///< 16-bit guards without storage tags
    bool tuple_alone() const { return protection != 0 && metadata == 8; }
  };

  /// What its controller has told the host of a namespace.
  std::optional<Blocks> blocks_of(const Exchange& one) const {
    const ByteView page = knowledge_.name_space(one), controller = knowledge_.controller(one);
    if (page.empty() || controller.empty()) return std::nullopt;
    const View<nvme::IdentifyNamespace> view{page};
    Blocks made;
    made.nsze = view.get(id_ns::nsze);
    made.format = nvme::format_in_use(page);
    const View<nvme::LbaFormat> format = nvme::lba_format_at(page, made.format);
    const unsigned lbads = format.get(nvme::lba_format::lbads);
    if (lbads < 9 || lbads > 31) return std::nullopt;
    made.data = std::uint32_t{1} << lbads;
    made.metadata = view.get(id_ns::flbas_extended) ? format.get(nvme::lba_format::ms) : 0u;
    made.protection = view.get(id_ns::dps) & nvme::dps_bits::type_mask;
    const std::uint32_t attributes = View<nvme::IdentifyController>{controller}.get(id_ctrl::ctratt);
    made.certain = made.protection == 0 || (attributes & nvme::ctratt_bits::extended_lba_formats) == 0 || has_plain_tags(one, made.format);
    return made;
  }

  bool has_plain_tags(const Exchange& one, unsigned format) const {
    const ByteView page = knowledge_.page(one, Cns::command_set_namespace, one.nsid());
    if (page.empty()) return false;
    const auto extension = element<nvme::ExtendedLbaFormat>(page, nvme::id_ns_nvm::elbaf, format);
    return extension.get(nvme::extended_lba_format::pif) == nvme::ProtectionFormat::guard_16 &&
           extension.get(nvme::extended_lba_format::sts) == 0u;
  }

  // ---- the entry ----

  void judge_reserved(const Exchange& one) {
    const std::span<const Defined> table = one.admin() ? std::span<const Defined>(kAdmin) : std::span<const Defined>(kIo);
    const auto row = std::find_if(table.begin(), table.end(), [&](const Defined& each) { return each.opcode == one.sqe[0]; });
    judged(Rule::oracle_host_reserved);
    const auto wrong = [&](std::string_view where) {
      say_of(one, Rule::oracle_host_reserved, fmt::format("{} of {}", where, name_of(one)));
    };
    if ((one.sqe[1] & 0x3C) != 0) wrong("bits 5:2 of byte 1");
    if (row == table.end() || one.key_value) return;
    if (!row->tags && load_le<std::uint64_t>(&one.sqe[8]) != 0) wrong("dwords 2 and 3");
    for (std::size_t i = 0; i < std::size(row->dwords); ++i) {
      if ((load_le<std::uint32_t>(&one.sqe[40 + 4 * i]) & ~row->dwords[i]) != 0) wrong(fmt::format("dword {}", 10 + i));
    }
  }

  /// Where the data of the command is, as its transport has it.
  void judge_descriptor(const Exchange& one) {
    if (direction_of(one) == DataDirection::none) return;
    const SglDescriptor sgl = SglDescriptor::parse(one.command().get(nvme::sqe::sgl1));
    const bool in_capsule = sgl.type == SglType::data_block && sgl.subtype == nvme::sgl_subtype::offset;
    const bool list = sgl.type == SglType::last_segment && sgl.subtype == nvme::sgl_subtype::offset;
    if (in_capsule || list) judge_capsule(one, sgl.address + sgl.length, list);
    if (one.queue->tcp) {
      const bool apart = sgl.type == SglType::transport_data_block && sgl.subtype == nvme::sgl_subtype::tcp_data_buffer;
      judged(Rule::oracle_host_sgl_tcp);
      if (!apart && !(in_capsule && sgl.address == 0 && direction_of(one) == DataDirection::host_to_controller)) {
        say_of(one, Rule::oracle_host_sgl_tcp, fmt::format("descriptor type {:02X}h in opcode {:02X}h", sgl.type_byte(), one.sqe[0]));
      }
      return;
    }
    const bool keyed = sgl.type == SglType::keyed_data_block &&
                       (sgl.subtype == nvme::sgl_subtype::address || sgl.subtype == nvme::sgl_subtype::invalidate_key);
    judged(Rule::oracle_host_sgl_rdma);
    if (!keyed && !list && !(in_capsule && direction_of(one) == DataDirection::host_to_controller)) {
      say_of(one, Rule::oracle_host_sgl_rdma, fmt::format("descriptor type {:02X}h in opcode {:02X}h", sgl.type_byte(), one.sqe[0]));
    }
  }

  void judge_capsule(const Exchange& one, std::uint64_t used, bool list) {
    const Rule rule = one.queue->tcp ? Rule::oracle_host_capsule_tcp : Rule::oracle_host_capsule_rdma;
    const ByteView page = knowledge_.controller(one);
    std::optional<std::uint64_t> room;
    if (one.admin()) {
      room = one.queue->tcp ? kAdminRoomTcp : 0;
    } else if (one.fabrics() && one.queue->tcp) {
      room = kAdminRoomTcp;
    } else if (!page.empty()) {
      const std::uint64_t capsule = std::uint64_t{View<nvme::IdentifyController>{page}.get(id_ctrl::ioccsz)} * 16;
      room = capsule - std::min<std::uint64_t>(capsule, nvme::kSqeSize);
    }
    if (room) judged(rule);
    if (room && used > *room) {
      say_of(one, rule,
             fmt::format("{} bytes behind the entry of a command on queue {}, and there is room for {}", used, *one.queue->qid, *room));
    }
    if (one.queue->tcp || list || page.empty()) return;
    judged(Rule::oracle_host_in_capsule);
    if ((View<nvme::IdentifyController>{page}.get(id_ctrl::sgls) & nvme::sgls_bits::offset_address) == 0) {
      say_of(one, Rule::oracle_host_in_capsule, "data in a capsule, and SGLS claims no offsets");
    }
  }

  // ---- lengths ----

  /// Bytes that the command transfers; nothing where that is not known.
  std::optional<std::uint64_t> transferred(const Exchange& one) const {
    if (one.is(AdminOpcode::identify)) return nvme::kIdentifySize;
    if (one.is(AdminOpcode::get_log_page)) return nvme::log_length(one.command<nvme::GetLogPageSqe>());
    if (one.is(IoOpcode::dataset_management)) {
      return one.command<nvme::DatasetManagementSqe>().get(nvme::dsm_sqe::nr).count() * nvme::DsmRange::size;
    }
    if (one.is(IoOpcode::copy)) {
      const auto command = one.command<nvme::CopySqe>();
      return command.get(nvme::copy_sqe::nr).count() * nvme::copy_range_bytes(command.get(nvme::copy_sqe::desfmt));
    }
    if (one.is(IoOpcode::reservation_register) || one.is(IoOpcode::reservation_acquire)) return 16;
    if (one.is(IoOpcode::reservation_release)) return 8;
    if (one.is(IoOpcode::zone_management_receive)) {
      return one.command<nvme::ZoneReceiveSqe>().get(nvme::zone_receive_sqe::numd).count() * 4;
    }
    const auto blocks = blocks_of(one);
    if (!moves_blocks(one) || !blocks || !blocks->certain) return std::nullopt;
    const auto command = one.command<nvme::ReadWriteSqe>();
    const bool stripped = command.get(rw::pract) && blocks->tuple_alone();
    return command.get(rw::nlb).count() * (blocks->data + (stripped ? 0 : blocks->metadata));
  }

  void judge_length(const Exchange& one) {
    if (!one.length_known) return;
    if (direction_of(one) == DataDirection::none) {
      judged(Rule::oracle_host_no_data);
      if (one.length != 0) say_of(one, Rule::oracle_host_no_data, fmt::format("{} with {} bytes of data", name_of(one), one.length));
      return;
    }
    const auto needed = transferred(one);
    if (!needed) return;
    const ByteView page = knowledge_.controller(one);
    const std::uint32_t sgls = page.empty() ? 0 : View<nvme::IdentifyController>{page}.get(id_ctrl::sgls);
    const bool may_be_longer = !moves_blocks(one) || (sgls & nvme::sgls_bits::larger_than_transfer) != 0;
    judged(Rule::oracle_host_length);
    if (one.length < *needed || (one.length > *needed && !may_be_longer)) {
      say_of(one, Rule::oracle_host_length, fmt::format("{} transfers {} bytes, and describes {}", name_of(one), *needed, one.length));
    }
  }

  void judge_mdts(const Exchange& one) {
    const ByteView page = knowledge_.controller(one);
    const std::uint64_t unit = knowledge_.page_bytes(one);
    if (page.empty() || unit == 0 || !one.length_known || direction_of(one) == DataDirection::none) return;
    const unsigned mdts = View<nvme::IdentifyController>{page}.get(id_ctrl::mdts);
    if (mdts == 0 || mdts > 30) return;
    const std::uint64_t moved = std::min(one.length, transferred(one).value_or(one.length));
    judged(Rule::oracle_host_mdts);
    if (moved > unit << mdts) {
      say_of(one, Rule::oracle_host_mdts, fmt::format("{} transfers {} bytes, and MDTS allows {}", name_of(one), moved, unit << mdts));
    }
  }

  // ---- I/O ----

  void judge_namespace(const Exchange& one) {
    if (one.is(IoOpcode::flush) && one.nsid() == nvme::kAllNamespaces) return;
    const auto active = knowledge_.is_active(one, one.nsid());
    if (!active) return;
    judged(Rule::oracle_host_nsid);
    if (!*active) {
      say_of(one, Rule::oracle_host_nsid,
             fmt::format("{} to namespace {:#x}, which the active list does not have", name_of(one), one.nsid()));
    }
  }

  void judge_claim(const Exchange& one) {
    const ByteView page = knowledge_.controller(one);
    if (page.empty()) return;
    const View<nvme::IdentifyController> view{page};
    const auto claim = std::find_if(std::begin(kClaims), std::end(kClaims), [&](const Claim& each) { return one.is(each.opcode); });
    const bool fused = (one.sqe[1] & 3) != 0;
    const bool unfused = fused && (view.get(id_ctrl::fuses) & nvme::fuses_bits::compare_and_write) == 0;
    judged(Rule::oracle_host_optional);
    if (unfused) say_of(one, Rule::oracle_host_optional, "a fused command, and FUSES claims none");
    if (claim == std::end(kClaims) || fused || (view.get(id_ctrl::oncs) & claim->bit) != 0 || size_limit(one) != 0) return;
    say_of(one, Rule::oracle_host_optional, fmt::format("{}, which ONCS does not claim", name_of(one)));
  }

  /// VSL, WZSL or WUSL as the power of two that they are; 0: none. A controller may claim a command by its limit alone.
  unsigned size_limit(const Exchange& one) const {
    const ByteView limits = knowledge_.page(one, Cns::command_set_controller);
    if (limits.empty()) return 0;
    const View<nvme::IdentifyControllerNvm> view{limits};
    return one.is(IoOpcode::verify)                ? view.get(nvme::id_ctrl_nvm::vsl)
           : one.is(IoOpcode::write_zeroes)        ? view.get(nvme::id_ctrl_nvm::wzsl)
           : one.is(IoOpcode::write_uncorrectable) ? view.get(nvme::id_ctrl_nvm::wusl)
                                                   : 0u;
  }

  void judge_range(const Exchange& one, std::uint64_t slba, std::uint64_t count, std::uint64_t nsze) {
    judged(Rule::oracle_host_lba_range);
    if (slba < nsze && count <= nsze - slba) return;
    say_of(one, Rule::oracle_host_lba_range,
           fmt::format("{} of {} blocks at LBA {}, and NSZE of namespace {:#x} is {}", name_of(one), count, slba, one.nsid(), nsze));
  }

  void judge_blocks(const Exchange& one) {
    const auto blocks = blocks_of(one);
    if (!blocks) return;
    const auto command = one.command<nvme::ReadWriteSqe>();
    const std::uint64_t slba = command.get(rw::slba), count = command.get(rw::nlb).count();
    judge_range(one, slba, count, blocks->nsze);
    const unsigned limit = size_limit(one);
    const std::uint64_t unit = knowledge_.page_bytes(one);
    if (limit != 0 && limit <= 30 && unit != 0) {
      judged(Rule::oracle_host_limits);
      if (count * blocks->data > unit << limit) {
        say_of(one, Rule::oracle_host_limits,
               fmt::format("{} of {} bytes, and its limit is {}", name_of(one), count * blocks->data, unit << limit));
      }
    }
    if (blocks->protection == 1 && blocks->certain && command.get(rw::prchk_ref)) {
      judged(Rule::oracle_host_reference_tag);
      if (command.get(rw::ilbrt) != static_cast<std::uint32_t>(slba)) {
        say_of(one, Rule::oracle_host_reference_tag,
               fmt::format("reference tag {:#x} in {} at LBA {:#x}", command.get(rw::ilbrt), name_of(one), slba));
      }
    }
    judge_zone(one, blocks->format, slba, count, blocks->data);
  }

  void judge_zone(const Exchange& one, unsigned format, std::uint64_t slba, std::uint64_t count, std::uint64_t block) {
    const ByteView page = knowledge_.page(one, Cns::command_set_namespace, one.nsid(), nvme::CommandSet::zoned);
    if (page.empty()) return;
    const std::uint64_t zone =
        element<nvme::LbaFormatExtension>(page, nvme::id_ns_zoned::lbafe, format).get(nvme::lba_format_extension::zsze);
    const bool writes = one.is(IoOpcode::write) || one.is(IoOpcode::write_zeroes) || one.is(IoOpcode::write_uncorrectable);
    if (zone != 0 && writes) {
      judged(Rule::oracle_host_zones);
      if (slba / zone != (slba + count - 1) / zone) {
        say_of(one, Rule::oracle_host_zones, fmt::format("{} of {} blocks at LBA {}, and zones have {}", name_of(one), count, slba, zone));
      }
    }
    const ByteView limits = knowledge_.page(one, Cns::command_set_controller, 0, nvme::CommandSet::zoned);
    const std::uint64_t unit = knowledge_.page_bytes(one);
    if (!one.is(IoOpcode::zone_append) || limits.empty() || unit == 0) return;
    const unsigned zasl = View<nvme::IdentifyControllerZoned>{limits}.get(nvme::id_ctrl_zoned::zasl);
    if (zasl == 0 || zasl > 30) return;
    judged(Rule::oracle_host_append);
    if (count * block > unit << zasl) {
      say_of(one, Rule::oracle_host_append, fmt::format("Zone Append of {} bytes, and ZASL allows {}", count * block, unit << zasl));
    }
  }

  // ---- commands whose data says what they do: judged when all of it came ----

  void on_ended(const Exchange& one) {
    State& state = states_[one.controller];
    state.open[*one.queue->qid].remove(cid_of(one));
    state.ended.push_back({*one.queue->qid, cid_of(one)});
    if (state.ended.size() > kEndedKept) state.ended.pop_front();
    if (one.is(AdminOpcode::async_event_request) && state.event_requests > 0) --state.event_requests;
    if (one.is(AdminOpcode::abort) && state.aborts > 0) --state.aborts;
    if (one.is(AdminOpcode::set_features)) judge_behavior(one);
    if (one.is(IoOpcode::dataset_management)) judge_deallocation(one);
    if (one.is(IoOpcode::copy)) judge_copy(one);
  }

  void judge_deallocation(const Exchange& one) {
    const ByteView data = one.data_out(), limits = knowledge_.page(one, Cns::command_set_controller);
    const std::size_t ranges = one.command<nvme::DatasetManagementSqe>().get(nvme::dsm_sqe::nr).count();
    const auto blocks = blocks_of(one);
    if (data.size() < ranges * nvme::DsmRange::size) return;
    std::uint64_t all = 0, longest = 0;
    for (std::size_t i = 0; i < ranges; ++i) {
      const View<nvme::DsmRange> range{data.subspan(i * nvme::DsmRange::size, nvme::DsmRange::size)};
      const std::uint64_t count = range.get(nvme::dsm_range::length);
      all += count;
      longest = std::max(longest, count);
      if (blocks) judge_range(one, range.get(nvme::dsm_range::slba), count, blocks->nsze);
    }
    if (limits.empty()) return;
    const View<nvme::IdentifyControllerNvm> view{limits};
    const auto within = [&](std::uint64_t value, std::uint64_t most, std::string_view what) {
      judged(Rule::oracle_host_limits);
      if (most != 0 && value > most) say_of(one, Rule::oracle_host_limits, fmt::format("{} is {}, and {} is claimed", what, value, most));
    };
    within(ranges, view.get(nvme::id_ctrl_nvm::dmrl), "ranges of Dataset Management (DMRL)");
    within(longest, view.get(nvme::id_ctrl_nvm::dmrsl), "the longest range of Dataset Management (DMRSL)");
    within(all, view.get(nvme::id_ctrl_nvm::dmsl), "blocks of Dataset Management (DMSL)");
  }

  void judge_copy(const Exchange& one) {
    const auto command = one.command<nvme::CopySqe>();
    const unsigned format = command.get(nvme::copy_sqe::desfmt);
    const std::size_t ranges = command.get(nvme::copy_sqe::nr).count(), each = nvme::copy_range_bytes(format);
    const ByteView data = one.data_out(), page = knowledge_.name_space(one);
    const auto blocks = blocks_of(one);
    if (data.size() < ranges * each || page.empty() || !blocks) return;
    const View<nvme::IdentifyNamespace> view{page};
    std::uint64_t all = 0, longest = 0;
    const bool tags = blocks->protection == 1 && blocks->certain && !nvme::is_wide_copy_format(format);
    for (std::size_t i = 0; i < ranges; ++i) {
      const ByteView range = data.subspan(i * each, each);
      const View<nvme::CopyRange> source{range.first(nvme::CopyRange::size)};
      const std::uint64_t slba = source.get(nvme::copy_range::slba), count = source.get(nvme::copy_range::nlb).count();
      all += count;
      longest = std::max(longest, count);
      if (!nvme::names_sources(format)) judge_range(one, slba, count, blocks->nsze);
      if (!tags || !command.get(nvme::copy_sqe::read_prchk_ref)) continue;
      judged(Rule::oracle_host_reference_tag);
      if (source.get(nvme::copy_range::elbt) != static_cast<std::uint32_t>(slba)) {
        say_of(one, Rule::oracle_host_reference_tag, fmt::format("the reference tag of the source at LBA {:#x} of Copy", slba));
      }
    }
    judge_range(one, command.get(nvme::copy_sqe::sdlba), all, blocks->nsze);
    const auto within = [&](std::uint64_t value, std::uint64_t most, std::string_view what) {
      judged(Rule::oracle_host_copy_limits);
      if (value > most) say_of(one, Rule::oracle_host_copy_limits, fmt::format("{} of Copy is {}, and {} is claimed", what, value, most));
    };
    within(ranges, view.get(id_ns::msrc).count(), "number of ranges (MSRC)");
    within(longest, view.get(id_ns::mssrl), "longest range (MSSRL)");
    within(all, view.get(id_ns::mcl), "number of blocks (MCL)");
  }

  void judge_behavior(const Exchange& one) {
    const auto fid = static_cast<nvme::FeatureId>(one.command<nvme::SetFeaturesSqe>().get(nvme::features_sqe::fid));
    const ByteView data = one.data_out();
    if (fid != nvme::FeatureId::host_behavior_support || data.size() < nvme::HostBehavior::size) return;
    const bool rest = std::any_of(data.begin() + 6, data.begin() + nvme::HostBehavior::size, [](std::uint8_t byte) { return byte != 0; });
    judged(Rule::oracle_host_reserved);
    if (rest || data[0] > 1 || data[1] > 1 || data[2] > 1) {
      say_of(one, Rule::oracle_host_reserved, "reserved bytes or values in Host Behavior Support");
    }
  }

  // ---- admin ----

  void on_admin(const Exchange& one, State& state) {
    const bool identify_controller = one.is(AdminOpcode::identify) && one.command<nvme::IdentifySqe>().get(nvme::identify_sqe::cns) ==
                                                                          static_cast<std::uint8_t>(Cns::controller);
    if (one.is(AdminOpcode::keep_alive) || one.is(AdminOpcode::abort) || one.is(AdminOpcode::async_event_request) || identify_controller) {
      judged(Rule::oracle_host_nsid_unused);
      if (one.nsid() != 0) say_of(one, Rule::oracle_host_nsid_unused, fmt::format("NSID is {:#x} in {}", one.nsid(), name_of(one)));
    }
    const ByteView page = knowledge_.controller(one);
    if (one.is(AdminOpcode::async_event_request)) {
      ++state.event_requests;
      limit(one, Rule::oracle_host_event_requests, page, id_ctrl::aerl, state.event_requests);
    }
    if (one.is(AdminOpcode::abort)) {
      ++state.aborts;
      limit(one, Rule::oracle_host_aborts, page, id_ctrl::acl, state.aborts);
      judge_abort(one, state);
    }
    if (page.empty()) return;
    if (one.is(AdminOpcode::set_features)) judge_feature(one, View<nvme::IdentifyController>{page});
    if (one.is(AdminOpcode::get_log_page)) judge_log(one, View<nvme::IdentifyController>{page});
  }

  template <class Field>
  void limit(const Exchange& one, Rule rule, ByteView page, const Field& field, unsigned outstanding) {
    if (page.empty()) return;
    const std::uint64_t most = View<nvme::IdentifyController>{page}.get(field).count();
    judged(rule);
    if (outstanding > most) say_of(one, rule, fmt::format("{} {} outstanding, and the limit is {}", outstanding, name_of(one), most));
  }

  void judge_abort(const Exchange& one, const State& state) {
    const auto command = one.command<nvme::AbortSqe>();
    const std::uint16_t sqid = command.get(nvme::abort_sqe::sqid), cid = command.get(nvme::abort_sqe::abort_cid);
    judged(Rule::oracle_host_abort_names);
    const auto queue = state.open.find(sqid);
    const bool open = queue != state.open.end() && queue->second.has(cid);
    const bool ended =
        std::any_of(state.ended.begin(), state.ended.end(), [&](const Ended& each) { return each.qid == sqid && each.cid == cid; });
    if (!open && !ended) {
      say_of(one, Rule::oracle_host_abort_names, fmt::format("Abort of command {} of queue {}, which is not outstanding", cid, sqid));
    }
  }

  void judge_feature(const Exchange& one, const View<nvme::IdentifyController>& page) {
    const auto command = one.command<nvme::SetFeaturesSqe>();
    judged(Rule::oracle_host_save);
    if (command.get(nvme::features_sqe::sv) && (page.get(id_ctrl::oncs) & nvme::oncs_bits::save_and_select) == 0) {
      say_of(one, Rule::oracle_host_save, "SV is set, and ONCS does not claim that features are saved");
    }
    if (static_cast<nvme::FeatureId>(command.get(nvme::features_sqe::fid)) != nvme::FeatureId::async_event_configuration) return;
    using namespace nvme::event_config_bits;
    const std::uint32_t claimed = page.get(id_ctrl::oaes) | smart_mask | telemetry;
    judged(Rule::oracle_host_events);
    if ((command.get(nvme::features_sqe::cdw11) & ~claimed) != 0) {
      say_of(one, Rule::oracle_host_events,
             fmt::format("events {:#x} are enabled, and OAES is {:#x}", command.get(nvme::features_sqe::cdw11), page.get(id_ctrl::oaes)));
    }
  }

  void judge_log(const Exchange& one, const View<nvme::IdentifyController>& page) {
    const auto command = one.command<nvme::GetLogPageSqe>();
    if (one.subsystem().discovery) return;
    const bool extended = (page.get(id_ctrl::lpa) & nvme::lpa_bits::extended_data) != 0;
    judged(Rule::oracle_host_log_range);
    if (!extended && (nvme::log_offset(command) != 0 || command.get(nvme::get_log_sqe::numdu) != 0)) {
      say_of(one, Rule::oracle_host_log_range, "NUMDU or an offset in Get Log Page, and LPA does not claim extended data");
    }
  }

  HostKnowledge knowledge_;
  std::map<const Controller*, State, ByNumber> states_;
};

}  // namespace

std::unique_ptr<Subject> follow_host_commands(Reporter& reporter, bool complete) {
  if (!complete) return nullptr;
  return std::make_unique<HostCommands>(reporter, complete);
}

}  // namespace fb::oracle
