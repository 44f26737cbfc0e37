#include "conformance/oracle/exchange.h"

#include <algorithm>

namespace fb::oracle {

namespace {

constexpr std::uint64_t kKeptMax = 16 << 20;

}  // namespace

void Pieces::put(std::uint64_t offset, ByteView bytes) {
  if (bytes.empty() || lost_) return;
  const std::uint64_t end = offset + bytes.size();
  if (end > kKeptMax) {
    lost_ = true;
    return;
  }
  if (bytes_.size() == offset) {  // mostly: then nothing is filled with zeroes first
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  } else {
    if (bytes_.size() < end) bytes_.resize(static_cast<std::size_t>(end));
    std::copy(bytes.begin(), bytes.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(offset));
  }
  if (!parts_.empty() && parts_.back().second == offset) {
    parts_.back().second = end;
    return;
  }
  parts_.emplace_back(offset, end);
  if (parts_.size() == 1) return;
  std::sort(parts_.begin(), parts_.end());
  std::vector<std::pair<std::uint64_t, std::uint64_t>> joined;
  for (const auto& part : parts_) {
    if (!joined.empty() && part.first <= joined.back().second) {
      joined.back().second = std::max(joined.back().second, part.second);
    } else {
      joined.push_back(part);
    }
  }
  parts_ = std::move(joined);
}

}  // namespace fb::oracle
