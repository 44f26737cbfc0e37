// What cases share that go through every namespace and every command of a kind.
#pragma once

#include <string>
#include <vector>

#include "conformance/cases/nvme/scene.h"

namespace fb::conformance {

/// An I/O command that names blocks by SLBA and NLB, and the bit of ONCS that claims it; 0: every controller has it.
struct BlockCommand {
  nvme::IoOpcode opcode;
  std::uint16_t claim;
};
/// Write comes first and leaves data that Compare finds; what spoils blocks comes last.
inline constexpr BlockCommand kBlockCommands[] = {
    {nvme::IoOpcode::write, 0},
    {nvme::IoOpcode::read, 0},
    {nvme::IoOpcode::compare, nvme::oncs_bits::compare},
    {nvme::IoOpcode::verify, nvme::oncs_bits::verify},
    {nvme::IoOpcode::write_zeroes, nvme::oncs_bits::write_zeroes},
    {nvme::IoOpcode::write_uncorrectable, nvme::oncs_bits::write_uncorrectable},
};

inline std::vector<BlockCommand> claimed_block_commands(ControllerBench& bench) {
  const auto oncs = bench.declared().identify().get(nvme::id_ctrl::oncs);
  std::vector<BlockCommand> claimed;
  for (const BlockCommand& one : kBlockCommands) {
    if ((oncs & one.claim) == one.claim) claimed.push_back(one);
  }
  return claimed;
}

/// One namespace of many, on the I/O queue that all of them share.
struct Space {
  host::RawQueue* io = nullptr;
  std::uint32_t nsid = 0;
  std::uint32_t block_bytes = 512;  ///< with metadata
  std::uint64_t blocks = 0;
  std::uint32_t metadata_bytes = 0;

  /// Changes the last bit that is data and no metadata, which Compare need not look at.
  void spoil_last_bit(Bytes& data) const { data[data.size() - metadata_bytes - 1] ^= 1; }
  std::string name() const { return "namespace " + std::to_string(nsid); }
  host::RawReply send(nvme::IoOpcode opcode, std::uint64_t lba, std::uint32_t count, ByteView data = {}) const {
    auto command = host::as_sqe(host::read(nsid, lba, count));
    command.set(nvme::sqe::opcode, static_cast<std::uint8_t>(opcode));
    if (!data.empty()) return io->send(command, data).wait();
    const bool reads = opcode == nvme::IoOpcode::read;
    return reads ? io->send(command, std::size_t{count} * block_bytes).wait() : io->send(command).wait();
  }
  host::RawReply read(std::uint64_t lba, std::uint32_t count) const { return send(nvme::IoOpcode::read, lba, count); }
  host::RawReply write(std::uint64_t lba, ByteView data) const {
    return send(nvme::IoOpcode::write, lba, static_cast<std::uint32_t>(data.size() / block_bytes), data);
  }
  /// What Write and Compare carry, and nothing for others.
  Bytes data_of(nvme::IoOpcode opcode, std::uint8_t mark, std::uint32_t count) const {
    const bool carries = opcode == nvme::IoOpcode::write || opcode == nvme::IoOpcode::compare;
    return carries ? pattern(mark, count, block_bytes) : Bytes{};
  }
};

/// Every namespace of the NVM command set that can be written as it is: extended formats have to be enabled first.
inline std::vector<Space> every_space(ControllerBench& bench, host::RawQueue& io) {
  std::vector<Space> spaces;
  const std::uint64_t most = bench.declared().transfer_max();
  for (const host::NamespaceFacts& facts : bench.declared().namespaces) {
    const std::uint32_t bytes = facts.layout.bytes();
    if (facts.layout.extended() || facts.blocks < 1024 || (most != 0 && most < 8 * std::uint64_t{bytes})) continue;
    spaces.push_back({&io, facts.nsid, bytes, facts.blocks, facts.layout.metadata_bytes});
  }
  if (spaces.empty()) throw CannotArrange{"the product has no namespace of 1,024 blocks"};
  return spaces;
}

/// The blocks hold what they held.
inline void holds(Check& check, const Space& space, std::uint64_t lba, ByteView before, const std::string& what) {
  const auto reply = space.read(lba, static_cast<std::uint32_t>(before.size() / space.block_bytes));
  if (check.success(reply, "Read of " + what)) check.bytes(what, reply.data, before);
}

}  // namespace fb::conformance
