#include "model/proxy/pdu_stream.h"

#include <algorithm>
#include <utility>

namespace fb::proxy {

namespace {

bool frames(const View<tcp::CommonHeader>& common) {
  const std::size_t hlen = common.get(tcp::pdu::hlen), plen = common.get(tcp::pdu::plen);
  return hlen >= tcp::kCommonHeaderBytes && hlen <= tcp::kHeaderMax && plen >= hlen && plen <= kPduBytesMax;
}

}  // namespace

std::size_t HeaderWalk::wanted() const {
  if (held_ < tcp::kCommonHeaderBytes) return tcp::kCommonHeaderBytes;
  return View<tcp::CommonHeader>{head_}.get(tcp::pdu::hlen);
}

std::size_t HeaderWalk::advance(ByteView bytes) {
  if (std::exchange(fresh_, false)) held_ = 0;
  if (lost_) return bytes.size();
  if (left_ > 0) {
    const std::size_t passed = std::min(left_, bytes.size());
    left_ -= passed;
    return passed;
  }
  std::size_t taken = 0;
  while (taken < bytes.size()) {
    const std::size_t step = std::min(wanted() - held_, bytes.size() - taken);
    std::copy_n(bytes.data() + taken, step, head_.data() + held_);
    held_ += step;
    taken += step;
    if (held_ < tcp::kCommonHeaderBytes) continue;
    const View<tcp::CommonHeader> common{head_};
    // Before more is taken: a header longer than any has no room.
    if (!frames(common)) {
      lost_ = true;
      held_ = 0;
      return bytes.size();
    }
    if (held_ < wanted()) continue;
    left_ = common.get(tcp::pdu::plen) - held_;
    fresh_ = true;
    break;
  }
  return taken;
}

std::optional<Bytes> PduCutter::next() {
  const ByteView rest = ByteView(held_).subspan(at_);
  std::size_t size = rest.size();
  if (!lost_ && size >= tcp::kCommonHeaderBytes) {
    const View<tcp::CommonHeader> common{rest};
    if (frames(common)) {
      size = common.get(tcp::pdu::plen);
    } else {
      lost_ = true;
    }
  }
  const bool whole = lost_ ? size > 0 : rest.size() >= tcp::kCommonHeaderBytes && rest.size() >= size;
  if (!whole) {
    held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(std::exchange(at_, 0)));
    return std::nullopt;
  }
  at_ += size;
  return Bytes(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(size));
}

Bytes PduCutter::take_rest() {
  Bytes rest(held_.begin() + static_cast<std::ptrdiff_t>(at_), held_.end());
  held_.clear();
  at_ = 0;
  return rest;
}

}  // namespace fb::proxy
