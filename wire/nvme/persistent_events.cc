#include "wire/nvme/persistent_events.h"

#include <algorithm>

namespace fb::nvme {

namespace pe = persistent_event;

PersistentEventWalk::PersistentEventWalk(ByteView log) {
  if (log.size() < PersistentLogHeader::size) {
    damaged_ = true;
    return;
  }
  const View<PersistentLogHeader> header{log.first(PersistentLogHeader::size)};
  const std::size_t skip = header.get(persistent_log::lhl) + kPersistentLogUncounted;
  left_ = header.get(persistent_log::tnev);
  if (skip < PersistentLogHeader::size || skip > log.size()) {
    damaged_ = true;
    return;
  }
  const std::uint64_t whole = header.get(persistent_log::tll);
  const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(whole, log.size()));
  if (whole > log.size() || length < skip) damaged_ = true;
  if (length >= skip) rest_ = log.subspan(skip, length - skip);
}

bool PersistentEventWalk::next(PersistentEvent& out) {
  if (left_ == 0 || (rest_.empty() && damaged_)) return false;
  if (rest_.size() < PersistentEventHeader::size) {
    damaged_ = true;
    return false;
  }
  const View<PersistentEventHeader> header{rest_.first(PersistentEventHeader::size)};
  const std::size_t before = header.get(pe::ehl) + kPersistentEventUncounted;
  const std::size_t length = header.get(pe::el);
  const std::size_t vendor = header.get(pe::vsil);
  if (before < PersistentEventHeader::size || vendor > length || before + length > rest_.size()) {
    damaged_ = true;
    return false;
  }
  out.type = header.get(pe::type);
  out.revision = header.get(pe::revision);
  out.cntlid = header.get(pe::cntlid);
  out.timestamp = rest_.subspan(pe::timestamp.offset, pe::timestamp.size);
  out.data = rest_.subspan(before + vendor, length - vendor);
  rest_ = rest_.subspan(before + length);
  --left_;
  return true;
}

}  // namespace fb::nvme
