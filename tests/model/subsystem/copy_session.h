// What a host does with Copy, and what it saw of it in words.
#pragma once

#include "tests/model/subsystem/protection_session.h"
#include "wire/nvme/copy.h"

namespace fb::subsystem::test {

struct CopyWords {
  std::uint32_t nsid = 1;
  std::uint64_t to = 0;
  std::vector<nvme::CopySource> sources = {};
  unsigned format = 0;
  bool read_act = false;
  bool act = false;
  bool checks_guard = false;
  nvme::ProtectionTags tags = {};
  nvme::BlockLayout layout = {};
};

inline Reply copy(Line& io, const CopyWords& words) {
  Bytes data;
  for (const nvme::CopySource& source : words.sources) {
    const Bytes range = nvme::write_copy_source(source, words.format, words.layout);
    data.insert(data.end(), range.begin(), range.end());
  }
  nvme::Sqe sqe{rw(nvme::IoOpcode::copy, words.to, 1, words.nsid).bytes()};
  nvme::set_command_tags(sqe.edit<nvme::SqeLayout>(), words.layout, words.tags);
  sqe.set(nvme::sqe::cdw12, 0u);
  sqe.edit<nvme::CopySqe>()
      .set(nvme::copy_sqe::nr, ZeroBased<std::uint8_t>::of(words.sources.size()))
      .set(nvme::copy_sqe::desfmt, words.format)
      .set(nvme::copy_sqe::read_pract, words.read_act)
      .set(nvme::copy_sqe::read_prchk_guard, words.checks_guard)
      .set(nvme::copy_sqe::pract, words.act);
  return io.send(sqe.bytes(), data);
}

inline void copies(Rig& rig, Line& admin, Line& io, Transcript& out) {
  using nvme::IoOpcode;
  NamespaceOptions plain;
  plain.nsid = 50;
  plain.blocks = 2048;
  (void)rig.disk->add_namespace(std::move(plain));
  ProtectedSpace tagged(rig, io, {.metadata_bytes = 8, .protection_type = 1});
  ProtectedSpace wide(rig, io,
                      {.block_bytes = 4096, .metadata_bytes = 16, .protection_type = 1, .guard = nvme::ProtectionFormat::guard_64});
  const auto say = [&](const CopyWords& words) { out.note(copy(io, words)); };
  const auto look = [&](std::uint64_t lba) { out.note(io.fetch(rw(IoOpcode::read, lba, 8, 50).bytes(), 4096)); };
  io.send(rw(IoOpcode::write, 0, 8, 50).bytes(), counted(4096, 3));
  io.send(rw(IoOpcode::write, 64, 8, 50).bytes(), counted(4096, 9));
  Bytes behavior(512);
  admin.send(set_feature(0x16, 0).bytes(), behavior);
  say({.nsid = 50, .to = 100, .sources = {{.nsid = 50}}, .format = 2});
  behavior[2] = 1;
  behavior[4] = 0xC;
  admin.send(set_feature(0x16, 0).bytes(), behavior);
  say({.nsid = 50, .to = 100, .sources = {{.slba = 64, .blocks = 3}, {.slba = 0, .blocks = 2}}});
  look(100);
  look(64);
  say({.nsid = 50, .to = 200, .sources = std::vector<nvme::CopySource>(17)});
  say({.nsid = 50, .to = 500, .sources = {{.blocks = 257}}});
  say({.nsid = 50, .to = 500, .sources = std::vector<nvme::CopySource>(5, {.blocks = 256})});
  say({.nsid = 50, .to = 500, .sources = {{.slba = 0}, {.slba = 2048}}});
  say({.nsid = 50, .to = 2048, .sources = {{}}});
  say({.nsid = 50, .to = 500, .sources = {{}}, .format = 4});
  for (const std::uint32_t nsid : {0u, 77u, 50u, 1u}) {
    say({.nsid = 50, .to = 500, .sources = {{.nsid = nsid, .slba = 499, .blocks = 2}}, .format = 2});
    look(500);
  }
  // Tags.
  const nvme::ProtectionTags eight{.application = 4, .reference = 8}, sixteen{.application = 5, .reference = 16};
  Bytes whole = tagged.whole(1, 4, eight);
  tagged.write(8, whole, {});
  const nvme::CopySource source{.slba = 8, .blocks = 4, .tags = eight};
  const auto within = [&](bool read_act, bool act, bool checks) {
    say({.nsid = tagged.nsid(),
         .to = 16,
         .sources = {source},
         .read_act = read_act,
         .act = act,
         .checks_guard = checks,
         .tags = sixteen,
         .layout = tagged.layout()});
    out.note(tagged.read(16, 4, {}));
  };
  within(true, true, true);
  within(false, false, true);
  within(true, false, false);
  whole[5] ^= 1;
  tagged.write(8, whole, {});
  within(true, true, true);
  say({.nsid = tagged.nsid(), .to = 16, .sources = {{.nsid = 50}}, .format = 2, .act = true, .tags = sixteen, .layout = tagged.layout()});
  say({.nsid = 50, .to = 300, .sources = {{.nsid = wide.nsid()}}, .format = 2, .read_act = true});
  say({.nsid = wide.nsid(), .to = 16, .sources = {{.slba = 0}}, .read_act = true, .act = true});
  out.note(wide.read(16, 1, {}));
  rig.disk->remove_namespace(50);
}

}  // namespace fb::subsystem::test
