// What the cases on protection information share: namespaces that have it, and commands that say what is to be done
// with it.
#pragma once

#include <optional>
#include <string>

#include "conformance/cases/nvme/scene.h"
#include "wire/nvme/protection.h"

namespace fb::conformance {

using nvme::BlockLayout;
using nvme::ProtectionFormat;
using nvme::ProtectionTags;

/// Bits of PRINFO and STC as commands have them in CDW12.
struct Prinfo {
  bool act = false;
  bool guard = false;
  bool application = false;
  bool reference = false;
  bool storage = false;
};
inline constexpr Prinfo kAllChecks{.guard = true, .application = true, .reference = true};

// ---- which namespace a case needs ----

inline bool plainly_protected(const BlockLayout& layout, std::uint8_t type) { return layout.protection_type == type && !layout.extended(); }
/// Tags of 16-bit guards with nothing beside them.
template <std::uint8_t Type>
bool alone(const BlockLayout& layout) {
  return plainly_protected(layout, Type) && layout.tuple_alone();
}
/// Metadata before the tags.
inline bool beside(const BlockLayout& layout) { return plainly_protected(layout, 1) && !layout.tuple_alone() && !layout.tuple_first; }
inline bool in_front(const BlockLayout& layout) { return plainly_protected(layout, 1) && !layout.tuple_alone() && layout.tuple_first; }
inline bool any_protected(const BlockLayout& layout) { return layout.is_protected(); }
inline bool any_metadata(const BlockLayout& layout) { return layout.metadata_bytes != 0; }
inline bool unprotected_metadata(const BlockLayout& layout) { return layout.metadata_bytes != 0 && !layout.is_protected(); }
template <ProtectionFormat Guard>
bool guarded(const BlockLayout& layout) {
  return layout.is_protected() && layout.guard == Guard && layout.extended() && layout.tuple_alone();
}

using LayoutPredicate = bool (*)(const BlockLayout&);

inline const host::NamespaceFacts* find_namespace(const Declared& declared, LayoutPredicate fits) {
  for (const host::NamespaceFacts& facts : declared.namespaces) {
    if (fits(facts.layout) && facts.blocks >= 1024) return &facts;
  }
  return nullptr;
}

template <LayoutPredicate Fits>
std::optional<std::string> has_layout(const Declared& declared) {
  if (!declared.known || find_namespace(declared, Fits) != nullptr) return {};
  return "no active namespace with such metadata and protection information";
}

/// One namespace of each kind that the cases ask for.
inline const furnished protected_namespaces{[](EmbeddedSetup& setup) {
  setup.subsystem.metadata = true;
  const auto add = [&](std::uint32_t data, std::uint16_t metadata, std::uint8_t type, bool first = false,
                       ProtectionFormat guard = ProtectionFormat::guard_16, std::uint8_t storage = 0) {
    setup.namespaces.push_back({.block_bytes = data,
                                .blocks = 4096,
                                .metadata_bytes = metadata,
                                .protection_type = type,
                                .protection_first = first,
                                .guard = guard,
                                .storage_tag_bits = storage});
  };
  add(512, 8, 1);
  add(512, 8, 2);
  add(4096, 8, 3);
  add(4096, 64, 1);
  add(512, 16, 1, true);
  add(512, 16, 0);
  if (setup.subsystem.version < fabrics::version(2, 0, 0)) return;
  add(4096, 16, 1, false, ProtectionFormat::guard_64);
  add(4096, 16, 2, false, ProtectionFormat::guard_32, 32);
}};

/// Host Behavior Support with LBAFEE.
inline host::RawReply enable_extended_formats(host::RawQueue& admin) {
  Record<nvme::HostBehavior> behavior;
  behavior.set(nvme::host_behavior::lbafee, 1);
  return admin.send(host::set_features(nvme::FeatureId::host_behavior_support, 0), behavior.bytes()).wait();
}

/// A command of the Read family on blocks with protection information.
inline nvme::Sqe protected_command(nvme::IoOpcode opcode, std::uint32_t nsid, std::uint64_t lba, std::uint32_t count,
                                   const BlockLayout& layout, const Prinfo& info, const ProtectionTags& tags) {
  auto sqe = host::as_sqe(host::read(nsid, lba, count));
  sqe.set(nvme::sqe::opcode, static_cast<std::uint8_t>(opcode));
  sqe.edit<nvme::ReadWriteSqe>()
      .set(nvme::rw_sqe::pract, info.act)
      .set(nvme::rw_sqe::prchk_guard, info.guard)
      .set(nvme::rw_sqe::prchk_app, info.application)
      .set(nvme::rw_sqe::prchk_ref, info.reference)
      .set(nvme::rw_sqe::stc, info.storage);
  nvme::set_command_tags(sqe.edit<nvme::SqeLayout>(), layout, tags);
  return sqe;
}

/// Bytes that one block takes in a transfer.
inline std::size_t transferred_bytes(const BlockLayout& layout, const Prinfo& info) {
  return info.act && layout.tuple_alone() ? layout.data_bytes : layout.bytes();
}

/// An association with one I/O queue and a namespace whose layout fits.
class ProtectedScene {
 public:
  ProtectedScene(ControllerBench& bench, LayoutPredicate fits, bool enables_extended = true)
      : association(bench.associate()), io(association.open_io()), bench_(bench) {
    const host::NamespaceFacts* const found = find_namespace(bench.declared(), fits);
    if (found == nullptr) throw CannotArrange{"the product has no namespace with such protection information"};
    nsid = found->nsid;
    layout = found->layout;
    blocks = found->blocks;
    const std::uint64_t most = bench.declared().transfer_max();
    if (most != 0 && most < 4 * layout.bytes()) throw CannotArrange{"MDTS is below four blocks"};
    if (layout.extended() && enables_extended) enable_extended();
  }

  void enable_extended() {
    if (!enable_extended_formats(association.admin()).ok()) throw CannotArrange{"LBAFEE cannot be set"};
  }

  /// Blocks of a transfer whose length a case leaves open: `usual`, or what the lane wants.
  std::uint32_t count(std::uint32_t usual) const { return bench_.blocks(usual, layout.bytes()); }

  /// Tags that begin with the LBA, as type 1 demands and all others may.
  ProtectionTags tags_at(std::uint64_t lba, std::uint16_t application = 0) const {
    return {.application = application, .reference = lba & layout.reference_mask()};
  }

  nvme::Sqe command(nvme::IoOpcode opcode, std::uint64_t lba, std::uint32_t count, const Prinfo& info, const ProtectionTags& tags) const {
    return protected_command(opcode, nsid, lba, count, layout, info, tags);
  }
  std::size_t transfer_bytes(const Prinfo& info) const { return transferred_bytes(layout, info); }

  host::RawReply write(std::uint64_t lba, ByteView data, const Prinfo& info, const ProtectionTags& tags) {
    const auto count = static_cast<std::uint32_t>(data.size() / transfer_bytes(info));
    return io.send(command(nvme::IoOpcode::write, lba, count, info, tags), data).wait();
  }
  host::RawReply read(std::uint64_t lba, std::uint32_t count, const Prinfo& info, const ProtectionTags& tags) {
    return io.send(command(nvme::IoOpcode::read, lba, count, info, tags), count * transfer_bytes(info)).wait();
  }
  host::RawReply compare(std::uint64_t lba, ByteView blocks_with_tags, const Prinfo& info, const ProtectionTags& tags) {
    const auto count = static_cast<std::uint32_t>(blocks_with_tags.size() / layout.bytes());
    return io.send(command(nvme::IoOpcode::compare, lba, count, info, tags), blocks_with_tags).wait();
  }

  /// Whole blocks with good tags.
  Bytes whole(std::uint8_t mark, std::size_t count, ProtectionTags tags) const {
    Bytes data = pattern(mark, count, layout.bytes());
    for (std::size_t i = 0; i < count; ++i) {
      nvme::protect(layout, block(data, i), tags);
      nvme::advance_tags(layout, tags);
    }
    return data;
  }
  MutableBytes block(Bytes& data, std::size_t index) const { return MutableBytes{data}.subspan(index * layout.bytes(), layout.bytes()); }
  ByteView block(const Bytes& data, std::size_t index) const { return ByteView{data}.subspan(index * layout.bytes(), layout.bytes()); }
  /// Puts these blocks on the medium, tags and all, whatever they are.
  void plant(Check& check, std::uint64_t lba, ByteView data) {
    check.precondition_success(write(lba, data, {}, {}), "Write without checks");
  }
  /// What is on the medium.
  Bytes look(Check& check, std::uint64_t lba, std::uint32_t count) {
    const auto reply = read(lba, count, {}, {});
    check.precondition_success(reply, "Read without checks");
    return reply.data;
  }

  RawAssociation& association;
  host::RawQueue& io;
  std::uint32_t nsid = 0;
  BlockLayout layout;
  std::uint64_t blocks = 0;

 private:
  ControllerBench& bench_;
};

/// Each block of `medium` has a good guard and tags that count from these.
inline void has_tags(Check& check, const ProtectedScene& scene, const Bytes& medium, ProtectionTags tags) {
  for (std::size_t i = 0; i < medium.size() / scene.layout.bytes(); ++i) {
    const ByteView block = scene.block(medium, i);
    const auto tuple = nvme::read_tuple(scene.layout, block);
    const std::string at = " of block " + std::to_string(i);
    check.equal("guard" + at, tuple.guard, nvme::guard_of(scene.layout, block));
    check.equal("application tag" + at, tuple.tags.application, tags.application);
    check.equal("reference tag" + at, tuple.tags.reference, tags.reference);
    nvme::advance_tags(scene.layout, tags);
  }
}

}  // namespace fb::conformance
