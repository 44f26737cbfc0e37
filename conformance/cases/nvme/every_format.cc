// Every LBA format with every type of protection that it may have, at a block whose number is small and at one that is not.
#include <fmt/format.h>

#include "conformance/cases/nvme/namespace_scene.h"
#include "conformance/cases/nvme/protection_scene.h"
#include "wire/nvme/logs.h"

namespace fb::conformance {

namespace {

constexpr std::uint64_t kBlocks = 1024;
constexpr std::uint32_t kCount = 3;

const furnished with_formats{[](EmbeddedSetup& setup) {
  setup.subsystem.metadata = setup.subsystem.format = true;
  setup.subsystem.namespace_management.supported = true;
}};

std::optional<std::string> formats_namespaces(const Declared& declared) {
  const auto bit = nvme::oacs_bits::format_nvm;
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::oacs) & bit) != 0) return {};
  return "OACS bit 1 (Format NVM) is clear";
}

/// A format that a namespace can be made in, and what a block of it looks like.
struct Kind {
  unsigned lbaf = 0;
  BlockLayout layout;
  std::string name() const {
    return fmt::format("format {} ({} + {} bytes), protection type {}", lbaf, layout.data_bytes, layout.metadata_bytes,
                       layout.protection_type);
  }
};

/// What the page of all namespaces claims. Extended formats have a page of their own.
std::vector<Kind> kinds_of(ByteView common, ByteView extended) {
  const View<nvme::IdentifyNamespace> ns{common};
  std::vector<Kind> kinds;
  const auto formats = static_cast<unsigned>(ns.get(nvme::id_ns::nlbaf).count());
  const unsigned dpc = ns.get(nvme::id_ns::dpc);
  for (unsigned i = 0; i < std::min(formats, 16u); ++i) {
    const auto format = nvme::lba_format_at(common, i);
    const auto more = element<nvme::ExtendedLbaFormat>(extended, nvme::id_ns_nvm::elbaf, i);
    BlockLayout layout;
    layout.data_bytes = 1u << format.get(nvme::lba_format::lbads);
    layout.metadata_bytes = static_cast<std::uint16_t>(format.get(nvme::lba_format::ms));
    layout.guard = more.get(nvme::extended_lba_format::pif);
    layout.storage_tag_bits = static_cast<std::uint8_t>(more.get(nvme::extended_lba_format::sts));
    for (unsigned type = 0; type <= 3; ++type) {
      if (type != 0 && (layout.metadata_bytes < layout.tuple_bytes() || (dpc >> (type - 1) & 1) == 0)) continue;
      layout.protection_type = static_cast<std::uint8_t>(type);
      kinds.push_back({i, layout});
    }
  }
  return kinds;
}

class FormatScene : public Manager {
 public:
  FormatScene(ControllerBench& bench, Check& check) : Manager(bench, check), check_(check), most_(bench.declared().transfer_max()) {
    if (bench.declared().version_at_least(2, 0)) (void)enable_extended_formats(admin());
  }
  std::vector<Kind> kinds() {
    const auto common = identify(nvme::Cns::identify_namespace, nvme::kAllNamespaces);
    check_.precondition_success(common, "Identify, what all namespaces have in common");
    const auto extended = identify(nvme::Cns::command_set_namespace, nvme::kAllNamespaces);
    auto kinds = kinds_of(common.data, extended.ok() ? ByteView{extended.data} : ByteView{nothing_});
    std::erase_if(kinds, [&](const Kind& kind) { return most_ != 0 && std::uint64_t{kCount} * kind.layout.bytes() > most_; });
    check_.precondition(!kinds.empty(), "a few blocks of some format fit into one transfer");
    return kinds;
  }
  /// 0 where none can be made.
  std::uint32_t make(const Kind& kind) {
    Bytes asked = described({.nsze = kBlocks, .ncap = kBlocks, .lbaf = kind.lbaf, .extended = kind.layout.metadata_bytes != 0});
    MutableView<nvme::IdentifyNamespace>{asked}.set(nvme::id_ns::dps, kind.layout.protection_type);
    const auto made = admin().send(host::create_namespace(), asked).wait();
    const bool room = !made.answered() || !same_code(made.status(), sc::namespace_insufficient_capacity);
    check_.precondition(room, "the product has room for another namespace");
    if (!check_.success(made, "Namespace Management, create with " + kind.name())) return 0;
    check_.precondition_success(attach(made.dw0(), {cntlid()}), "Namespace Attachment");
    return made.dw0();
  }

  /// Blocks of more than 128 KiB, as far as MDTS allows.
  std::uint32_t many(const BlockLayout& layout) const {
    constexpr std::uint64_t kLong = (128 << 10) + 4096;
    const std::uint64_t bytes = most_ == 0 ? kLong : std::min(most_, kLong);
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(bytes / layout.bytes(), kCount, kBlocks / 2));
  }

 private:
  Check& check_;
  std::uint64_t most_;  ///< bytes of a transfer; 0: no limit
  const Bytes nothing_ = Bytes(nvme::kIdentifySize);
};

/// A namespace of that kind, with what ProtectedScene has for one that was there before.
struct KindScene {
  host::RawQueue& io;
  std::uint32_t nsid;
  BlockLayout layout;
  std::uint32_t count = kCount;  ///< blocks of a command

  host::RawReply send(nvme::IoOpcode opcode, std::uint64_t lba, const Prinfo& info, const ProtectionTags& tags, ByteView data = {}) const {
    const nvme::Sqe sqe = protected_command(opcode, nsid, lba, count, layout, info, tags);
    if (opcode == nvme::IoOpcode::read) return io.send(sqe, count * transferred_bytes(layout, info)).wait();
    return (opcode == nvme::IoOpcode::verify ? io.send(sqe) : io.send(sqe, data)).wait();
  }
  MutableBytes block(Bytes& data, std::size_t index) const { return MutableBytes{data}.subspan(index * layout.bytes(), layout.bytes()); }
};

ProtectionTags tags_at(const BlockLayout& layout, std::uint64_t lba) {
  const std::uint64_t storage = layout.storage_tag_bits == 0 ? 0 : 0xA5A5 & ((std::uint64_t{1} << layout.storage_tag_bits) - 1);
  // Type 1 begins with the LBA; the others begin anywhere, above 32 bits where the tag is so wide.
  const std::uint64_t reference = layout.protection_type == 1 ? lba : 0x7654'3210'FEDC'BA00 + lba;
  return {.application = 0x1357, .storage = storage, .reference = reference & layout.reference_mask()};
}

/// The commands that look at the tags on the medium, as far as the controller has them.
std::vector<nvme::IoOpcode> looking_commands(const Declared& declared) {
  std::vector<nvme::IoOpcode> found = {nvme::IoOpcode::read};
  if (!claims_oncs<nvme::oncs_bits::compare>(declared)) found.push_back(nvme::IoOpcode::compare);
  if (!claims_oncs<nvme::oncs_bits::verify>(declared)) found.push_back(nvme::IoOpcode::verify);
  return found;
}

/// A check, and what it finds.
struct Trial {
  std::string_view what;
  Prinfo info;
  nvme::Status status;
};
std::vector<Trial> trials_of(const BlockLayout& layout) {
  const Prinfo guard{.guard = true}, application{.application = true}, reference{.reference = true}, storage{.storage = true};
  std::vector<Trial> trials = {{"guard", guard, sc::guard_check_error}, {"application tag", application, sc::application_tag_check_error}};
  if (layout.protection_type != 3) trials.push_back({"reference tag", reference, sc::reference_tag_check_error});
  if (layout.storage_tag_bits != 0) trials.push_back({"storage tag", storage, sc::storage_tag_check_error});
  return trials;
}

/// Blocks with good tags, but for one bit of one of them.
Bytes spoilt_blocks(const KindScene& scene, ProtectionTags tags, std::size_t wrong, const Trial& spoilt) {
  const BlockLayout& layout = scene.layout;
  Bytes data = pattern(0x31, scene.count, layout.bytes());
  for (std::size_t i = 0; i < scene.count; ++i) {
    ProtectionTags written = tags;
    if (i == wrong && spoilt.what == "application tag") written.application ^= 0x0100;
    if (i == wrong && spoilt.what == "reference tag") written.reference ^= 1;
    if (i == wrong && spoilt.what == "storage tag") written.storage ^= 1;
    nvme::protect(layout, scene.block(data, i), written);
    nvme::advance_tags(layout, tags);
  }
  if (spoilt.what == "guard") scene.block(data, wrong)[layout.data_bytes - 1] ^= 0x80;
  return data;
}

/// Looks at what lies on the medium with each check alone, after one bit of what it looks at was changed in one block; where
/// `others`, the checks that look at something else are made on the last block, too, and find nothing.
void judge_checks(Check& check, const KindScene& scene, std::span<const nvme::IoOpcode> looking, std::uint64_t lba, bool others,
                  const std::string& where) {
  const ProtectionTags tags = tags_at(scene.layout, lba);
  const std::vector<Trial> trials = trials_of(scene.layout);
  for (const std::size_t wrong : {std::size_t{0}, std::size_t{scene.count - 1}}) {
    for (const Trial& spoilt : trials) {
      const Bytes data = spoilt_blocks(scene, tags, wrong, spoilt);
      check.precondition_success(scene.send(nvme::IoOpcode::write, lba, {}, tags, data), "Write without checks");
      for (const Trial& looked : trials) {
        if (looked.what != spoilt.what && (wrong == 0 || !others)) continue;
        const nvme::Status due = looked.what == spoilt.what ? looked.status : nvme::Status{};
        const auto what = [&](nvme::IoOpcode opcode) {
          return fmt::format("{} that checks the {}, block {} has a wrong {}, {}", nvme::io_opcode_name(static_cast<std::uint8_t>(opcode)),
                             looked.what, wrong, spoilt.what, where);
        };
        for (const nvme::IoOpcode opcode : looking) {
          check.status(scene.send(opcode, lba, looked.info, tags, data), due, what(opcode));
        }
        if (wrong != 0) {
          check.status(scene.send(nvme::IoOpcode::write, lba, looked.info, tags, data), due, what(nvme::IoOpcode::write));
        }
      }
    }
  }
}

/// In a long transfer the last block is checked as the first is, and by the tags of its own place.
void judge_long_checks(Check& check, const KindScene& scene, std::span<const nvme::IoOpcode> looking, std::uint64_t lba,
                       const std::string& where) {
  const ProtectionTags tags = tags_at(scene.layout, lba);
  for (const Trial& spoilt : trials_of(scene.layout)) {
    const Bytes data = spoilt_blocks(scene, tags, scene.count - 1, spoilt);
    check.precondition_success(scene.send(nvme::IoOpcode::write, lba, {}, tags, data), "Write without checks");
    const std::string what = fmt::format(" of {} blocks whose last has a wrong {}, {}", scene.count, spoilt.what, where);
    for (const nvme::IoOpcode opcode : looking) {
      const std::string_view name = nvme::io_opcode_name(static_cast<std::uint8_t>(opcode));
      check.status(scene.send(opcode, lba, spoilt.info, tags, data), spoilt.status, std::string(name) + what);
    }
    check.status(scene.send(nvme::IoOpcode::write, lba, spoilt.info, tags, data), spoilt.status, "Write" + what);
  }
}

/// The controller inserts and strips tags.
void judge_insertion(Check& check, const KindScene& scene, std::uint64_t lba, const std::string& where) {
  const BlockLayout& layout = scene.layout;
  const ProtectionTags tags = tags_at(layout, lba);
  const Prinfo act{.act = true},
      all{.guard = true, .application = true, .reference = layout.protection_type != 3, .storage = layout.storage_tag_bits != 0};
  const Bytes data = pattern(0x32, scene.count, layout.tuple_alone() ? layout.data_bytes : layout.bytes());
  if (!check.success(scene.send(nvme::IoOpcode::write, lba, act, tags, data), "Write with PRACT, " + where)) return;
  const auto whole = scene.send(nvme::IoOpcode::read, lba, all, tags);
  if (!check.success(whole, "Read that checks what was inserted, " + where)) return;
  ProtectionTags each = tags;
  for (std::size_t i = 0; i < scene.count; ++i) {
    const ByteView block = ByteView{whole.data}.subspan(i * layout.bytes(), layout.bytes());
    const std::string at = fmt::format(" of block {}, {}", i, where);
    const auto tuple = nvme::read_tuple(layout, block);
    check.equal("guard" + at, tuple.guard, nvme::guard_of(layout, block));
    check.equal("application tag" + at, tuple.tags.application, each.application);
    check.equal("reference tag" + at, tuple.tags.reference, each.reference);
    check.equal("storage tag" + at, tuple.tags.storage, each.storage);
    const std::size_t size = layout.tuple_alone() ? layout.data_bytes : layout.tuple_at();
    check.bytes("data" + at, block.first(size), ByteView{data}.subspan(i * data.size() / scene.count, size));
    nvme::advance_tags(layout, each);
  }
  if (!layout.tuple_alone()) return;
  const auto stripped = scene.send(nvme::IoOpcode::read, lba, {.act = true, .guard = true}, tags);
  if (check.success(stripped, "Read with PRACT, " + where)) check.bytes("data without tags, " + where, stripped.data, data);
}

}  // namespace

namespace {

/// What was counted up to now: the counters must go on as the commands between two readings say, whatever the format is.
void read_counters(FormatScene& scene, Check& check) {
  const auto reply = scene.admin().send(host::get_log(nvme::LogPage::smart, nvme::SmartLog::size), nvme::SmartLog::size).wait();
  check.success(reply, "Get Log Page 02h");
}

}  // namespace

CONFORMANCE_CASE(every_format_keeps_data, "nvme.formats.every", roles::controller, with_formats, needs(manages_namespaces)) {
  FormatScene scene(bench, check);
  for (const Kind& kind : scene.kinds()) {
    const std::uint32_t nsid = scene.make(kind);
    if (nsid == 0) continue;
    read_counters(scene, check);
    const auto page = scene.page(nvme::Cns::identify_namespace, nsid);
    const View<nvme::IdentifyNamespace> ns{page};
    check.equal("format in use, " + kind.name(), nvme::format_in_use(page), kind.lbaf);
    check.equal("type in DPS, " + kind.name(), ns.get(nvme::id_ns::dps) & 7u, kind.layout.protection_type);
    check.equal("FLBAS bit 4, " + kind.name(), ns.get(nvme::id_ns::flbas_extended), kind.layout.metadata_bytes != 0);
    check.equal("NSZE, " + kind.name(), ns.get(nvme::id_ns::nsze), kBlocks);
    const std::uint64_t bytes = load_le<std::uint64_t>(page.data() + nvme::id_ns::nvmcap.offset);
    check.that(bytes >= kBlocks * kind.layout.data_bytes, "NVMCAP has room for the data, " + kind.name(), std::to_string(bytes));
    const KindScene blocks{scene.io(), nsid, kind.layout};
    for (const std::uint64_t lba : {std::uint64_t{1}, std::uint64_t{100}, kBlocks - kCount}) {
      const Bytes data = pattern(static_cast<std::uint8_t>(0x30 + lba), kCount, kind.layout.bytes());
      const std::string where = fmt::format("block {}, {}", lba, kind.name());
      check.success(blocks.send(nvme::IoOpcode::write, lba, {}, tags_at(kind.layout, lba), data), "Write, " + where);
      const auto reply = blocks.send(nvme::IoOpcode::read, lba, {}, tags_at(kind.layout, lba));
      if (check.success(reply, "Read, " + where)) check.bytes("the data, " + where, reply.data, data);
    }
    check.status(blocks.send(nvme::IoOpcode::read, kBlocks - kCount + 1, {}, {}), sc::lba_out_of_range,
                 "Read beyond the end, " + kind.name());
    read_counters(scene, check);
    check.success(scene.remove(nsid), "Namespace Management, delete");
  }
}

CONFORMANCE_CASE(every_format_can_be_chosen, "nvme.format.every", roles::controller, with_formats, needs(manages_namespaces),
                 needs(formats_namespaces)) {
  FormatScene scene(bench, check);
  const auto kinds = scene.kinds();
  const std::uint32_t nsid = scene.make(kinds.front());
  if (nsid == 0) return;
  const auto as = [&](const Kind& kind) {
    auto command = host::format_nvm(nsid, kind.lbaf);
    return command.set(nvme::format_sqe::pi, kind.layout.protection_type).set(nvme::format_sqe::mset, kind.layout.metadata_bytes != 0);
  };
  for (const Kind& kind : kinds) {
    if (!check.success(scene.admin().send(as(kind)).wait(), "Format NVM, " + kind.name())) continue;
    const auto page = scene.page(nvme::Cns::identify_namespace, nsid);
    check.equal("format in use, " + kind.name(), nvme::format_in_use(page), kind.lbaf);
    check.equal("type in DPS, " + kind.name(), View<nvme::IdentifyNamespace>{page}.get(nvme::id_ns::dps) & 7u, kind.layout.protection_type);
    const KindScene blocks{scene.io(), nsid, kind.layout};
    const Bytes data = pattern(0x35, kCount, kind.layout.bytes());
    check.success(blocks.send(nvme::IoOpcode::write, 1, {}, tags_at(kind.layout, 1), data), "Write, " + kind.name());
    const auto reply = blocks.send(nvme::IoOpcode::read, 1, {}, tags_at(kind.layout, 1));
    if (check.success(reply, "Read, " + kind.name())) check.bytes("the data, " + kind.name(), reply.data, data);
  }
  check.success(scene.remove(nsid), "Namespace Management, delete");
}

CONFORMANCE_CASE(every_type_protects, "nvme.protection.every", roles::controller, with_formats, needs(manages_namespaces)) {
  FormatScene scene(bench, check);
  const auto looking = looking_commands(bench.declared());
  bool any = false;
  for (const Kind& kind : scene.kinds()) {
    if (!kind.layout.is_protected()) continue;
    const std::uint32_t nsid = scene.make(kind);
    if (nsid == 0) continue;
    any = true;
    const KindScene blocks{scene.io(), nsid, kind.layout};
    for (const std::uint64_t lba : {std::uint64_t{1}, std::uint64_t{100}}) {
      const std::string where = fmt::format("block {}, {}", lba, kind.name());
      judge_insertion(check, blocks, lba, where);
      judge_checks(check, blocks, looking, lba, lba == 100, where);
    }
    const std::string where = fmt::format("block 100, {}", kind.name());
    const KindScene many{scene.io(), nsid, kind.layout, scene.many(kind.layout)};
    judge_insertion(check, many, 100, where);
    judge_long_checks(check, many, looking, 100, where);
    check.success(scene.remove(nsid), "Namespace Management, delete");
  }
  check.precondition(any, "a format has room for protection information");
}

}  // namespace fb::conformance
