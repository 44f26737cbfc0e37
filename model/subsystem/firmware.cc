#include "model/subsystem/firmware.h"

#include <algorithm>
#include <iterator>

#include "base/assert.h"

namespace fb::subsystem {

namespace {

constexpr std::string_view kMagic = "FBFW";
constexpr std::size_t kRevisionSize = 8;
constexpr std::size_t kHeaderSize = 12;

}  // namespace

Bytes make_firmware_image(std::string_view revision, std::size_t bytes) {
  Bytes image(std::max(bytes, kHeaderSize));
  for (std::size_t i = kHeaderSize; i < image.size(); ++i) image[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
  std::copy(kMagic.begin(), kMagic.end(), image.begin());
  put_text(MutableBytes{image}.subspan(kMagic.size(), kRevisionSize), revision, ' ');
  return image;
}

std::optional<std::string> firmware_revision(ByteView image) {
  if (image.size() < kHeaderSize || !std::equal(kMagic.begin(), kMagic.end(), image.begin())) return std::nullopt;
  std::string revision(image.begin() + kMagic.size(), image.begin() + kHeaderSize);
  const bool printable = std::all_of(revision.begin(), revision.end(), [](char c) { return c >= ' ' && c <= '~'; });
  while (!revision.empty() && revision.back() == ' ') revision.pop_back();
  if (!printable || revision.empty()) return std::nullopt;
  return revision;
}

FirmwareDownload::Taken FirmwareDownload::add(std::uint64_t offset, ByteView piece, std::uint64_t image_max) {
  if (offset > image_max || piece.size() > image_max - offset) return Taken::too_large;
  const auto after = pieces_.lower_bound(offset);
  if (after != pieces_.end() && after->first < offset + piece.size()) return Taken::overlaps;
  if (after != pieces_.begin()) {
    const auto& [first, bytes] = *std::prev(after);
    if (first + bytes.size() > offset) return Taken::overlaps;
  }
  pieces_.emplace(offset, Bytes(piece.begin(), piece.end()));
  return Taken::yes;
}

Bytes FirmwareDownload::image() const {
  Bytes whole;
  for (const auto& [offset, bytes] : pieces_) {
    if (offset != whole.size()) return {};
    whole.insert(whole.end(), bytes.begin(), bytes.end());
  }
  return whole;
}

FirmwareSlots::FirmwareSlots(const FirmwareOptions& options, std::string_view revision) : options_(options), running_(revision) {
  BENCH_ASSERT(options_.slots <= revisions_.size(), "there are at most seven firmware slots");
  revisions_[0] = running_;
}

void FirmwareSlots::activate(unsigned slot) {
  active_ = slot;
  running_ = revision(slot);
  next_ = 0;
}

bool FirmwareSlots::on_reset(bool of_subsystem) {
  if (next_ == 0 || (options_.needs_subsystem_reset && !of_subsystem)) return false;
  activate(next_);
  return true;
}

}  // namespace fb::subsystem
