// What the cases about Copy share: what a product has of it, the command, and a host with the limits of its namespace.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "conformance/cases/nvme/protection_scene.h"
#include "wire/nvme/copy.h"

namespace fb::conformance {

using nvme::CopySource;

inline constexpr std::uint64_t kFrom = 16, kTo = 400;
inline constexpr std::uint32_t kCount = 4;

template <unsigned Format>
std::optional<std::string> has_copy_format(const Declared& declared) {
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::cdfs) >> Format & 1) != 0) return {};
  return "CDFS does not name copy descriptor format " + std::to_string(Format);
}
inline std::optional<std::string> has_another_like_the_first(const Declared& declared) {
  if (!declared.known) return {};
  const auto& all = declared.namespaces;
  const bool any = std::any_of(all.begin(), all.end(), [&](const host::NamespaceFacts& facts) {
    return facts.nsid != all.front().nsid && facts.layout == all.front().layout && facts.blocks >= 1024;
  });
  if (any) return {};
  return "no second namespace with the blocks of the first";
}

inline const needs copies{claims_oncs<nvme::oncs_bits::copy>};
inline const needs copies_across{has_copy_format<2>};

/// A second namespace with the blocks of the first; namespaces with protection information.
inline const furnished more_namespaces{[](EmbeddedSetup& setup) {
  setup.subsystem.copy = {};
  setup.namespaces.push_back({.block_bytes = setup.namespaces.front().block_bytes,
                              .blocks = 4096,
                              .metadata_bytes = setup.namespaces.front().metadata_bytes,
                              .protection_type = setup.namespaces.front().protection_type});
  protected_namespaces.change(setup);
}};

struct CopyOrder {
  unsigned format = 0;
  Prinfo read = {};
  Prinfo write = {};
  ProtectionTags tags = {};
  bool fua = false;
};

inline host::RawReply copy(host::RawQueue& io, std::uint32_t nsid, const BlockLayout& layout, std::uint64_t to,
                           const std::vector<CopySource>& sources, const CopyOrder& order = {},
                           const BlockLayout* source_layout = nullptr) {
  Bytes data;
  for (const CopySource& source : sources) {
    const Bytes range = nvme::write_copy_source(source, order.format, source_layout ? *source_layout : layout);
    data.insert(data.end(), range.begin(), range.end());
  }
  auto sqe = host::as_sqe(host::copy(nsid, to, static_cast<std::uint32_t>(sources.size()), order.format));
  sqe.edit<nvme::CopySqe>()
      .set(nvme::copy_sqe::read_pract, order.read.act)
      .set(nvme::copy_sqe::read_prchk_guard, order.read.guard)
      .set(nvme::copy_sqe::read_prchk_app, order.read.application)
      .set(nvme::copy_sqe::read_prchk_ref, order.read.reference)
      .set(nvme::copy_sqe::pract, order.write.act)
      .set(nvme::copy_sqe::prchk_guard, order.write.guard)
      .set(nvme::copy_sqe::prchk_app, order.write.application)
      .set(nvme::copy_sqe::prchk_ref, order.write.reference)
      .set(nvme::copy_sqe::fua, order.fua);
  nvme::set_command_tags(sqe.edit<nvme::SqeLayout>(), layout, order.tags);
  return io.send(sqe, data).wait();
}

/// The first namespace, and what it says of Copy.
struct CopyScene : IoScene {
  CopyScene(ControllerBench& bench, Check& check) : IoScene(bench) {
    const auto reply = association.admin().send(host::identify(nvme::Cns::identify_namespace, nsid), 4096).wait();
    check.precondition_success(reply, "Identify Namespace");
    const View<nvme::IdentifyNamespace> id{reply.data};
    range_blocks = id.get(nvme::id_ns::mssrl);
    total_blocks = id.get(nvme::id_ns::mcl);
    ranges = static_cast<std::uint32_t>(id.get(nvme::id_ns::msrc).count());
    check.precondition(range_blocks >= kCount && total_blocks >= 2 * kCount, "Copy moves a few blocks");
    if (!bench.declared().namespaces.empty()) layout = bench.declared().namespaces.front().layout;
  }
  /// Sources of this namespace are blocks of the scene, as `to` is.
  host::RawReply copy_to(std::uint64_t to, std::vector<CopySource> sources, const CopyOrder& order = {}) {
    for (CopySource& source : sources) {
      if (source.nsid == 0 || source.nsid == nsid) source.slba = at(source.slba);
    }
    return copy(io, nsid, layout, at(to), sources, order);
  }
  /// Descriptor formats 2h and 3h.
  void enable_across() {
    Record<nvme::HostBehavior> behavior;
    behavior.set(nvme::host_behavior::cdfe, 0xCu);
    const auto set = host::set_features(nvme::FeatureId::host_behavior_support, 0);
    if (!association.admin().send(set, behavior.bytes()).wait().ok()) throw CannotArrange{"CDFE cannot be set"};
  }
  std::uint32_t range_blocks = 0, total_blocks = 0, ranges = 1;
  BlockLayout layout;
};

/// Ranges that have so many blocks in all, as long as they may be; each begins with the namespace.
inline std::vector<CopySource> ranges_of(const CopyScene& scene, std::uint64_t blocks) {
  std::vector<CopySource> sources;
  for (std::uint64_t left = blocks; left != 0; left -= sources.back().blocks) {
    sources.push_back({.slba = 0, .blocks = static_cast<std::uint32_t>(std::min<std::uint64_t>(left, scene.range_blocks))});
  }
  if (sources.size() > scene.ranges || scene.range_blocks + blocks > scene.blocks || scene.range_blocks > 65536) {
    throw CannotArrange{"MCL cannot be reached with as many ranges, or in this namespace"};
  }
  return sources;
}

/// The second namespace with the same blocks.
inline std::uint32_t second_of(const ControllerBench& bench) {
  const auto& all = const_cast<ControllerBench&>(bench).declared().namespaces;
  for (const host::NamespaceFacts& facts : all) {
    if (facts.nsid != all.front().nsid && facts.layout == all.front().layout && facts.blocks >= 1024) return facts.nsid;
  }
  throw CannotArrange{"the product has no second namespace like the first"};
}

}  // namespace fb::conformance
