// What the NVMe cases share: what a product claims, blocks that can be told apart, an association with
// one I/O queue.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "conformance/runner/controller_bench.h"
#include "wire/nvme/features.h"
#include "wire/nvme/identify_misc.h"

namespace fb::conformance {

/// How long an answer that must come may take. No specification has a limit: a product, its machine or this one may be busy.
inline constexpr Duration kSoon = Duration::s(8);
/// How long a case listens for an answer that must not come.
inline constexpr Duration kSilence = Duration::ms(200);
/// Until a product has settled after a reset, or after a connection ended.
inline constexpr Duration kSettled = Duration::s(2);

inline constexpr std::uint8_t lid_of(nvme::LogPage page) { return static_cast<std::uint8_t>(page); }

// ---- applicability ----

template <std::uint16_t Bit>
std::optional<std::string> claims_oncs(const Declared& declared) {
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::oncs) & Bit) != 0) return {};
  return "ONCS does not have the bit " + std::to_string(Bit);
}
template <std::uint8_t Bits>
std::optional<std::string> claims_lpa(const Declared& declared) {
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::lpa) & Bits) == Bits) return {};
  return "LPA does not have the bits " + std::to_string(Bits);
}
template <nvme::FeatureId... Ids>
std::optional<std::string> has_feature(const Declared& declared) {
  if (!declared.known || (declared.has_feature(Ids) || ...)) return {};
  std::string names;
  for (const nvme::FeatureId id : {Ids...}) {
    names += (names.empty() ? "" : " or ") + std::string(nvme::feature_name(static_cast<std::uint8_t>(id)));
  }
  return "Get Features does not tell " + names;
}
inline std::optional<std::string> is_version_2(const Declared& declared) {
  if (!declared.known || declared.version_at_least(2, 0)) return {};
  return "VS is below 2.0";
}
inline std::optional<std::string> has_namespace(const Declared& declared) {
  if (!declared.known || declared.nsid != 0) return {};
  return "no active namespace";
}
inline std::optional<std::string> has_two_namespaces(const Declared& declared) {
  if (!declared.known || declared.namespaces.size() >= 2) return {};
  return "there are no two namespaces";
}
inline std::optional<std::string> reports_ana(const Declared& declared) {
  const auto bit = nvme::cmic_bits::ana_reporting;
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::cmic) & bit) != 0) return {};
  return "CMIC bit 3 (ANA reporting) is clear";
}
inline std::optional<std::string> limits_transfers(const Declared& declared) {
  if (!declared.known || declared.transfer_max() != 0) return {};
  return "MDTS is 0: no limit";
}
inline std::optional<std::string> fuses_compare_and_write(const Declared& declared) {
  const auto bit = nvme::fuses_bits::compare_and_write;
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::fuses) & bit) != 0) return {};
  return "FUSES bit 0 (Compare and Write) is clear";
}
inline std::optional<std::string> has_keep_alive(const Declared& declared) {
  if (!declared.known || declared.identify().get(nvme::id_ctrl::kas) != 0) return {};
  return "KAS is 0";
}

// ---- namespaces and I/O ----

/// The lowest namespace identifier that is not in the list.
inline std::uint32_t lowest_inactive(ByteView list) {
  const std::vector<std::uint32_t> active = nvme::read_namespace_list(list);
  std::uint32_t nsid = 1;
  while (std::find(active.begin(), active.end(), nsid) != active.end()) ++nsid;
  return nsid;
}

/// `count` blocks that differ from each other and from those of another `mark`.
inline Bytes pattern(std::uint8_t mark, std::size_t count, std::size_t block_bytes) {
  Bytes data(count * block_bytes);
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] = static_cast<std::uint8_t>(mark + i + 7 * (i / block_bytes) + i / 251);
  }
  return data;
}

/// Format NVM of the first namespace to the blocks that it has.
inline Record<nvme::FormatSqe> format_unchanged(const Declared& declared) {
  const auto now = declared.identify_namespace();
  auto command = host::format_nvm(declared.nsid, nvme::format_in_use(declared.name_space));
  command.set(nvme::format_sqe::mset, now.get(nvme::id_ns::flbas_extended))
      .set(nvme::format_sqe::pi, now.get(nvme::id_ns::dps) & nvme::dps_bits::type_mask);
  return command;
}

/// No piece of `before` as long as a small block is where it was, the last one neither; an error is fine too.
inline void is_gone(Check& check, const host::RawReply& reply, ByteView before, std::string_view what) {
  constexpr std::size_t kPiece = 512;
  std::size_t kept = before.size();
  for (std::size_t at = 0; reply.ok() && at < before.size() && kept == before.size(); at += kPiece) {
    const std::size_t length = std::min(kPiece, before.size() - at);
    if (at + length > reply.data.size()) break;
    const auto now = reply.data.begin() + static_cast<std::ptrdiff_t>(at);
    if (std::equal(now, now + static_cast<std::ptrdiff_t>(length), before.subspan(at, length).begin())) kept = at;
  }
  check.that(kept == before.size(), std::string(what) + " cannot be read any more",
             "bytes from " + std::to_string(kept) + " on are there still");
}

/// An association with one I/O queue, and the first namespace.
class IoScene {
 public:
  explicit IoScene(ControllerBench& bench) : association(bench.associate()), io(association.open_io()), nsid(bench.nsid()), bench_(bench) {
    if (nsid == 0) throw CannotArrange{"the product has no active namespace"};
    block_bytes = bench.declared().block_bytes;
    data_bytes = block_bytes;
    if (!bench.declared().namespaces.empty()) data_bytes = bench.declared().namespaces.front().layout.data_bytes;
    blocks = bench.declared().blocks;
    base_ = bench.first_lba();
    blocks -= base_;
    if (blocks < 1024) throw CannotArrange{"the namespace has fewer than 1,024 blocks"};
    // Most cases move a few blocks at once, and a block with its metadata may take most of a small MDTS.
    const std::uint64_t most = bench.declared().transfer_max();
    if (most != 0 && most < std::uint64_t{2} * block_bytes) throw CannotArrange{"MDTS is less than two blocks"};
  }

  /// The LBA on the wire of a block of the scene. In the lane of the last blocks the scene is the end of the namespace. What
  /// no namespace has stays what it is.
  std::uint64_t at(std::uint64_t lba) const { return lba > UINT64_MAX - base_ ? lba : base_ + lba; }

  /// Blocks of a transfer whose length a case leaves open: `usual`, or what the lane wants.
  std::uint32_t count(std::uint32_t usual) const { return bench_.blocks(usual); }

  host::RawReply read(std::uint64_t lba, std::uint32_t count) {
    return io.send(host::read(nsid, at(lba), count), std::size_t{count} * block_bytes).wait();
  }
  host::RawReply write(std::uint64_t lba, ByteView data) { return io.send(host::write(nsid, at(lba), count_of(data)), data).wait(); }
  host::RawReply compare(std::uint64_t lba, ByteView data) { return io.send(host::compare(nsid, at(lba), count_of(data)), data).wait(); }
  /// Blocks with known content, which the case does not judge.
  Bytes prepare(Check& check, std::uint64_t lba, std::uint8_t mark, std::size_t count) {
    const Bytes data = pattern(mark, count, block_bytes);
    check.precondition_success(write(lba, data), "Write");
    return data;
  }
  ByteView block(ByteView data, std::size_t index) const { return data.subspan(index * block_bytes, block_bytes); }
  /// The last byte of all that is data: protection information behind it need not be compared.
  std::uint8_t& last_byte(Bytes& of) const { return of[of.size() - block_bytes + data_bytes - 1]; }

  RawAssociation& association;
  host::RawQueue& io;
  std::uint32_t nsid;
  std::uint32_t block_bytes = 512;  ///< with metadata
  std::uint32_t data_bytes = 512;
  std::uint64_t blocks = 0;  ///< of the scene, which is all of the namespace in most lanes

 private:
  ControllerBench& bench_;
  std::uint64_t base_ = 0;

  std::uint32_t count_of(ByteView data) const { return static_cast<std::uint32_t>(data.size() / block_bytes); }
};

}  // namespace fb::conformance
