#include "networkdirect/verifier/buffers.h"

#include <algorithm>

#include <fmt/format.h>

namespace fb::networkdirect::verifier {

UINT64 total_bytes(const ND2_SGE* sges, ULONG count) {
  UINT64 bytes = 0;
  for (ULONG i = 0; i < count; ++i) bytes += sges[i].BufferLength;
  return bytes;
}

std::vector<std::shared_ptr<RegionState>> judge_buffers(Call& call, const AdapterState& adapter, const ND2_SGE* sges, ULONG count,
                                                        Use use) {
  std::vector<std::shared_ptr<RegionState>> used;
  for (ULONG i = 0; i < count; ++i) {
    const ND2_SGE& sge = sges[i];
    if (sge.BufferLength == 0) continue;  // nothing is looked at
    const auto at = adapter.tokens.find(sge.MemoryRegionToken);
    if (at == adapter.tokens.end()) {
      call.find(Rule::sge_token_unknown, fmt::format("buffer {} has token {:#x}", i, sge.MemoryRegionToken));
      continue;
    }
    const auto& region = at->second;
    const std::string name = fmt::format("{} {}", name_of(Kind::memory_region), region->number);
    const bool renamed = region->token_known && region->local_token != sge.MemoryRegionToken;
    if (region->phase == RegionState::Phase::empty || renamed) {
      call.find(Rule::sge_token_deregistered, fmt::format("buffer {} has token {:#x}, which {} had", i, sge.MemoryRegionToken, name));
      continue;
    }
    if (!region->covers(sge.Buffer, sge.BufferLength)) {
      const auto offset = reinterpret_cast<std::intptr_t>(sge.Buffer) - reinterpret_cast<std::intptr_t>(region->memory);
      call.find(Rule::sge_outside_region,
                fmt::format("buffer {} is {} bytes at {} of {}, which has {}", i, sge.BufferLength, offset, name, region->bytes));
    }
    const bool sink = (region->flags & ND_MR_FLAG_RDMA_READ_SINK) != 0;
    const bool writable = (region->flags & ND_MR_FLAG_ALLOW_LOCAL_WRITE) != 0;
    if (use != Use::source && !writable && !(use == Use::read && sink)) {
      call.find(Rule::sge_not_writable, fmt::format("buffer {} is in {}", i, name));
    } else if (use == Use::read && !sink) {
      call.find(Rule::read_sink_missing, fmt::format("buffer {} is in {}", i, name));
    }
    if (std::ranges::find(used, region) == used.end()) used.push_back(region);
  }
  return used;
}

void judge_depth(Call& call, HRESULT status, std::uint64_t outstanding, ULONG depth) {
  if (status == ND_NO_MORE_ENTRIES) {
    call.find(Rule::queue_depth_exceeded, fmt::format("the queue was created for {}", depth));
  } else if (!FAILED(status) && outstanding > depth) {
    call.find(Rule::queue_depth_presumed,
              fmt::format("the results of {} requests have not been taken; the queue was created for {}", outstanding, depth));
  }
}

void judge_flags(Call& call, ULONG flags, ULONG known) {
  if ((flags & ~known) != 0) call.find(Rule::flags_unknown, fmt::format("{:#x}", flags & ~known));
}

}  // namespace fb::networkdirect::verifier
