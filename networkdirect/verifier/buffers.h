// What the buffers of a request have to be.
#pragma once

#include "networkdirect/verifier/session.h"

namespace fb::networkdirect::verifier {

enum class Use : std::uint8_t { source, receive, read };

UINT64 total_bytes(const ND2_SGE* sges, ULONG count);
/// The regions that the buffers use, each once; what is wrong with them is found.
std::vector<std::shared_ptr<RegionState>> judge_buffers(Call& call, const AdapterState& adapter, const ND2_SGE* sges, ULONG count, Use use);
/// Room in a queue, before and after the provider's answer.
void judge_depth(Call& call, HRESULT status, std::uint64_t outstanding, ULONG depth);
/// Flags that the method knows.
void judge_flags(Call& call, ULONG flags, ULONG known);

}  // namespace fb::networkdirect::verifier
