// Judging the buffers of a request.
#include <algorithm>

#include <fmt/format.h>

#include "networkdirect/ndk/verifier/queues.h"

namespace fb::ndk::verifier {

namespace {

constexpr std::uint64_t kPage = PAGE_SIZE;

std::uint64_t address_of(const NDK_SGE& sge) { return reinterpret_cast<std::uintptr_t>(sge.VirtualAddress); }

void judge_logical(Call& call, const Adapter& adapter, const NDK_SGE& sge, Posted& request) {
  const auto first = static_cast<std::uint64_t>(sge.LogicalAddress.QuadPart);
  for (std::uint64_t page = first & ~(kPage - 1); page < first + sge.Length; page += kPage) {
    bool any = false;
    if (Mapping* const mapping = adapter.mapping_of(static_cast<LONGLONG>(page), any)) request.mappings.push_back(mapping);
    if (any) continue;
    return call.find(Rule::sge_logical_unmapped, fmt::format("one of {} bytes", sge.Length));
  }
}

/// No region of the domain has, or had, the token.
void judge_unknown_token(Call& call, const ProtectionDomain& domain, const NDK_SGE& sge, Posted& request) {
  const UINT32 token = sge.MemoryRegionToken;
  if (domain.privileged(token)) return judge_logical(call, *domain.adapter(), sge, request);
  if (domain.remote_tokens.contains(token)) return call.find(Rule::sge_token_remote, fmt::format("token 0x{:x}", token));
  const auto& domains = domain.adapter()->domains;
  const bool elsewhere = std::ranges::any_of(domains, [&](const auto* other) { return other->local_tokens.contains(token); });
  call.find(elsewhere ? Rule::sge_of_other_domain : Rule::sge_token_unknown, fmt::format("token 0x{:x}", token));
}

void judge_in_region(Call& call, MemoryRegion& region, const NDK_SGE& sge, Use use, Posted& request) {
  const auto found = [&](Rule rule) { call.find(rule, fmt::format("{} bytes in {}", sge.Length, region.name())); };
  using Validity = MemoryRegion::Validity;
  if (region.life() != Wrapper::Life::open || region.phase != MemoryRegion::Phase::ready) return found(Rule::sge_token_invalid);
  if (region.fast() && region.validity == Validity::invalid) return found(Rule::sge_token_invalid);
  if (region.fast() && region.validity == Validity::unknown) return;
  request.regions.push_back(&region);
  if (!region.covers(address_of(sge), sge.Length)) return found(Rule::sge_outside_region);
  if (use == Use::send) return;
  if (!region.writable()) {
    found(Rule::sge_not_writable);
  } else if (use == Use::read && !region.sink() && !region.adapter()->flag(NDK_ADAPTER_FLAG_RDMA_READ_SINK_NOT_REQUIRED)) {
    found(Rule::read_sink_missing);
  }
}

}  // namespace

std::uint64_t total_bytes(const NDK_SGE* sges, ULONG count) {
  std::uint64_t bytes = 0;
  for (ULONG i = 0; i < count; ++i) bytes += sges[i].Length;
  return bytes;
}

void judge_buffers(Call& call, const ProtectionDomain& domain, const NDK_SGE* sges, ULONG count, Use use, Posted& request) {
  for (ULONG i = 0; i < count; ++i) {
    if (sges[i].Length == 0) continue;
    const auto at = domain.local_tokens.find(sges[i].MemoryRegionToken);
    if (at == domain.local_tokens.end()) {
      judge_unknown_token(call, domain, sges[i], request);
    } else {
      judge_in_region(call, *at->second, sges[i], use, request);
    }
  }
}

}  // namespace fb::ndk::verifier
