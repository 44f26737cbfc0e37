// Management Endpoint Buffer Read and Write.
#include <algorithm>

#include "model/mi/agent.h"
#include "model/mi/fault_points.h"

namespace fb::mi {

bool Agent::buffer_range(Exchange& exchange) {
  const auto asked = exchange.as<BufferAccess>();
  const std::uint64_t offset = asked.get(buffer_access::dofst);
  const std::uint64_t length = asked.get(buffer_access::dlen);
  if (length == 0) return true;
  if (offset >= buffer_.size() && refuse(exchange, check::buffer_offset)) return false;
  const bool fits = offset + length <= buffer_.size() && length <= kDataMax;
  return fits || !refuse(exchange, check::buffer_length);
}

void Agent::buffer_read(Exchange& exchange) {
  if (!buffer_range(exchange)) return;
  if (sanitize_seen_ != device_.sanitize_count() && refuse(exchange, check::buffer_cleared)) return;
  const auto asked = exchange.as<BufferAccess>();
  const std::size_t start = departs(departure::buffer_offset_ignored) ? 0 : asked.get(buffer_access::dofst);
  const std::size_t offset = std::min<std::size_t>(start, buffer_.size());
  const std::size_t wanted = asked.get(buffer_access::dlen);
  const std::size_t length = std::min({wanted, buffer_.size() - offset, kDataMax});
  finish(exchange, 0, ByteView{buffer_}.subspan(offset, length));
}

void Agent::buffer_write(Exchange& exchange) {
  if (!buffer_range(exchange)) return;
  const auto asked = exchange.as<BufferAccess>();
  const ByteView data = exchange.data_behind(MiRequest::size);
  if (data.size() != asked.get(buffer_access::dlen) && refuse(exchange, check::buffer_data)) return;
  const std::size_t offset = std::min<std::size_t>(asked.get(buffer_access::dofst), buffer_.size());
  if (sanitize_seen_ != device_.sanitize_count()) {
    std::fill(buffer_.begin(), buffer_.end(), std::uint8_t{0});
    sanitize_seen_ = device_.sanitize_count();
  }
  std::copy_n(data.begin(), std::min(data.size(), buffer_.size() - offset), buffer_.begin() + static_cast<std::ptrdiff_t>(offset));
  finish(exchange, 0, {});
}

}  // namespace fb::mi
