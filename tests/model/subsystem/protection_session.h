// What a host does on namespaces with metadata and protection information, and what it saw in words.
#pragma once

#include "tests/model/subsystem/media_session.h"
#include "wire/nvme/protection.h"

namespace fb::subsystem::test {

/// Bytes that differ from block to block and from those of another mark.
inline Bytes counted(std::size_t bytes, std::uint8_t mark) {
  Bytes data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::uint8_t>(mark + i + i / 255);
  return data;
}

/// A namespace of the rig's disk as long as this lives, and commands to it.
class ProtectedSpace {
 public:
  ProtectedSpace(Rig& rig, Line& io, NamespaceOptions options) : rig_(rig), io_(io) {
    options.blocks = 256;
    options.nsid = 30;
    while (rig.disk->find_namespace(options.nsid) != nullptr) ++options.nsid;
    const auto added = rig.disk->add_namespace(std::move(options));
    BENCH_ASSERT(added.ok(), "the disk has room");
    nsid_ = (*added)->nsid();
    layout_ = (*added)->layout();
  }

  ~ProtectedSpace() { rig_.disk->remove_namespace(nsid_); }
  ProtectedSpace(const ProtectedSpace&) = delete;
  ProtectedSpace& operator=(const ProtectedSpace&) = delete;

  const nvme::BlockLayout& layout() const { return layout_; }
  std::uint32_t nsid() const { return nsid_; }

  struct Order {
    bool act = false;
    nvme::ProtectionChecks checks = {};
    nvme::ProtectionTags tags = {};
  };
  nvme::Sqe command(nvme::IoOpcode opcode, std::uint64_t lba, std::uint32_t blocks, const Order& order) const {
    nvme::Sqe sqe{rw(opcode, lba, blocks, nsid_).bytes()};
    sqe.edit<nvme::ReadWriteSqe>()
        .set(nvme::rw_sqe::pract, order.act)
        .set(nvme::rw_sqe::prchk_guard, order.checks.guard)
        .set(nvme::rw_sqe::prchk_app, order.checks.application)
        .set(nvme::rw_sqe::prchk_ref, order.checks.reference)
        .set(nvme::rw_sqe::stc, order.checks.storage);
    nvme::set_command_tags(sqe.edit<nvme::SqeLayout>(), layout_, order.tags);
    return sqe;
  }
  std::size_t bytes(const Order& order) const { return order.act && layout_.tuple_alone() ? layout_.data_bytes : layout_.bytes(); }
  Reply write(std::uint64_t lba, const Bytes& data, const Order& order) {
    const auto blocks = static_cast<std::uint32_t>(data.size() / bytes(order));
    return io_.send(command(nvme::IoOpcode::write, lba, blocks, order).bytes(), data);
  }
  Reply compare(std::uint64_t lba, const Bytes& data, const Order& order) {
    const auto blocks = static_cast<std::uint32_t>(data.size() / layout_.bytes());
    return io_.send(command(nvme::IoOpcode::compare, lba, blocks, order).bytes(), data);
  }
  Reply read(std::uint64_t lba, std::uint32_t blocks, const Order& order) {
    const std::size_t size = blocks * bytes(order);
    return io_.fetch(command(nvme::IoOpcode::read, lba, blocks, order).bytes(), static_cast<std::uint32_t>(size));
  }
  Reply bare(nvme::IoOpcode opcode, std::uint64_t lba, std::uint32_t blocks, const Order& order) {
    return io_.send(command(opcode, lba, blocks, order).bytes());
  }
  /// Blocks with good tags that begin with these.
  Bytes whole(std::uint8_t mark, std::size_t blocks, nvme::ProtectionTags tags) const {
    Bytes data = counted(blocks * layout_.bytes(), mark);
    for (std::size_t i = 0; i < blocks; ++i) {
      nvme::protect(layout_, MutableBytes{data}.subspan(i * layout_.bytes(), layout_.bytes()), tags);
      nvme::advance_tags(layout_, tags);
    }
    return data;
  }

 private:
  Rig& rig_;
  Line& io_;
  std::uint32_t nsid_ = 0;
  nvme::BlockLayout layout_;
};

inline void protections(Rig& rig, Line& admin, Line& io, Transcript& out) {
  using nvme::IoOpcode;
  using nvme::ProtectionFormat;
  using nvme::ProtectionTags;
  constexpr nvme::ProtectionChecks kAll{.guard = true, .application = true, .reference = true};
  ProtectedSpace one(rig, io, {.metadata_bytes = 8, .protection_type = 1});
  ProtectedSpace two(rig, io, {.metadata_bytes = 8, .protection_type = 2});
  ProtectedSpace three(rig, io, {.metadata_bytes = 8, .protection_type = 3});
  ProtectedSpace beside(rig, io, {.metadata_bytes = 16, .protection_type = 1});
  ProtectedSpace wide(
      rig, io,
      {.block_bytes = 4096, .metadata_bytes = 16, .protection_type = 2, .guard = ProtectionFormat::guard_32, .storage_tag_bits = 32});
  const auto look = [&](ProtectedSpace& space) { out.note(space.read(8, 4, {})); };
  out.note(admin.fetch(identify(nvme::Cns::identify_namespace, one.nsid()).bytes(), 4096));
  // Inserted, stripped.
  const ProtectionTags eight{.application = 0x12, .reference = 8};
  out.note(one.write(8, counted(4 * 512, 1), {.act = true, .tags = eight}));
  look(one);
  out.note(one.read(8, 4, {.act = true, .checks = kAll, .tags = eight}));
  out.note(one.read(8, 4, {.act = true, .checks = {.application = true}, .tags = {.application = 0x13, .reference = 8}}));
  const ProtectionTags last{.application = 1, .reference = 0xFFFFFFFF};
  out.note(two.write(8, counted(4 * 512, 2), {.act = true, .tags = last}));
  look(two);
  out.note(beside.write(8, counted(4 * 528, 3), {.act = true, .checks = kAll, .tags = eight}));
  look(beside);
  // Passed on, checked.
  Bytes good = one.whole(4, 4, eight);
  out.note(one.write(8, good, {.checks = kAll, .tags = eight}));
  look(one);
  const Bytes other_tags = one.whole(5, 4, {.application = 0x99, .reference = 8});
  out.note(one.write(8, other_tags, {.tags = eight}));
  look(one);
  out.note(one.read(8, 1, {.checks = {.application = true}, .tags = {.application = 0x91, .application_mask = 0xF0, .reference = 8}}));
  out.note(one.write(8, good, {.checks = {.reference = true}, .tags = {.reference = 9}}));
  Bytes bad = good;
  bad[520] ^= 1;
  out.note(one.write(8, bad, {.checks = {.guard = true}, .tags = eight}));
  out.note(one.write(8, good, {.checks = {.application = true}, .tags = {.application = 5, .reference = 8}}));
  out.note(two.write(8, good, {.checks = {.reference = true}, .tags = {.reference = 99}}));
  // Tags of ones.
  nvme::write_tuple(one.layout(), MutableBytes{bad}.subspan(520, 520), 7, {.application = 0xFFFF, .reference = 3});
  out.note(one.write(8, bad, {.checks = kAll, .tags = eight}));
  Bytes lone = three.whole(6, 1, {.reference = 5});
  out.note(three.write(8, lone, {.checks = {.reference = true}, .tags = {.reference = 6}}));
  nvme::write_tuple(three.layout(), lone, 7, {.application = 0xFFFF, .reference = 3});
  out.note(three.write(8, lone, {.checks = kAll}));
  // Compare, Verify, Write Zeroes, Deallocate.
  one.write(8, good, {});
  bad = good;
  bad[512] ^= 0x80;
  out.note(one.compare(8, bad, {.checks = {.guard = true}, .tags = eight}));
  out.note(one.compare(8, good, {.act = true, .tags = eight}));
  one.write(8, bad, {});
  out.note(one.compare(8, good, {.checks = {.guard = true}, .tags = eight}));
  out.note(one.bare(IoOpcode::verify, 8, 4, {.checks = {.guard = true}, .tags = eight}));
  out.note(one.bare(IoOpcode::write_zeroes, 8, 4, {.act = true, .tags = eight}));
  look(one);
  out.note(one.bare(IoOpcode::write_zeroes, 8, 2, {}));
  look(one);
  // Wide tags.
  Bytes behavior(512);
  admin.send(set_feature(0x16, 0).bytes(), behavior);
  out.note(wide.read(8, 1, {}));
  behavior[2] = 1;
  out.note(admin.send(set_feature(0x16, 0).bytes(), behavior));
  const ProtectionTags stored{.application = 3, .storage = 0xABCD, .reference = 77};
  out.note(wide.write(8, counted(2 * 4096, 7), {.act = true, .tags = stored}));
  out.note(wide.read(8, 2, {}));
  out.note(wide.read(8, 2, {.checks = {.storage = true}, .tags = {.storage = 1, .reference = 77}}));
  // Formats.
  const auto form = [&](unsigned number, unsigned type, bool interleaved) {
    nvme::Sqe sqe = format(one.nsid(), number, type);
    sqe.edit<nvme::FormatSqe>().set(nvme::format_sqe::mset, interleaved);
    out.note(admin.send(sqe.bytes()));
  };
  form(2, 1, false);
  form(2, 1, true);
  look(one);
  behavior[2] = 0;
  out.note(admin.send(set_feature(0x16, 0).bytes(), behavior));
  form(10, 1, true);
}

}  // namespace fb::subsystem::test
