// VPD Read and VPD Write.
#include <algorithm>

#include "model/mi/agent.h"
#include "model/mi/fault_points.h"

namespace fb::mi {

namespace {

/// Offset and length against the image. Nothing is moved when DLEN is 0.
struct Range {
  std::size_t offset, length;
};

}  // namespace

void Agent::vpd_read(Exchange& exchange) {
  const auto asked = exchange.as<VpdAccess>();
  Range range{asked.get(vpd_access::dofst), asked.get(vpd_access::dlen)};
  if (range.length == 0) return finish(exchange, 0, {});
  Bytes image = device_.vpd();
  if (range.offset >= image.size() && refuse(exchange, check::vpd_offset)) return;
  if (range.offset + range.length > image.size() && refuse(exchange, check::vpd_length)) return;
  if (range.length > kDataMax && refuse(exchange, check::vpd_length)) return;
  if (departs(departure::vpd_checksum)) image[7] = static_cast<std::uint8_t>(image[7] + 1);
  if (departs(departure::vpd_chunk_shift) && range.offset % 2 != 0) ++range.offset;
  image.resize(std::max(image.size(), range.offset + range.length));
  finish(exchange, 0, ByteView{image}.subspan(range.offset, range.length));
}

void Agent::vpd_write(Exchange& exchange) {
  const auto asked = exchange.as<VpdAccess>();
  const Range range{asked.get(vpd_access::dofst), asked.get(vpd_access::dlen)};
  Bytes data;
  if (!request_data(exchange, MiRequest::size, range.length, check::vpd_data, data)) return;
  if (range.length == 0) return finish(exchange, 0, {});
  const std::size_t size = device_.vpd().size();
  if (range.offset >= size && refuse(exchange, check::vpd_offset)) return;
  if (range.offset + range.length > size && refuse(exchange, check::vpd_length)) return;
  if (device_.vpd_locked() && refuse(exchange, check::vpd_locked)) return;
  const std::size_t offset = std::min(range.offset, size);
  data.resize(std::min(data.size(), size - offset));
  if (!departs(departure::vpd_write_lost) && !device_.write_vpd(offset, data) && refuse(exchange, check::vpd_endurance)) {
    return;
  }
  finish(exchange, 0, {});
}

}  // namespace fb::mi
