#include "sim/capture/growing_file.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace fb::capture {

namespace {

constexpr std::size_t kGatheredMax = 1 << 20;  // bytes of packets, before they are written

/// What is left to others of a disk that the capture has filled: as much, or a quarter of the capture.
constexpr std::size_t kRoomForOthers = 1 << 20;

/// The end of the last block of pcapng in `chunk` that ends before `limit`.
std::size_t whole_blocks(ByteView chunk, std::size_t limit) {
  std::size_t end = 0;
  while (end + 8 <= chunk.size()) {
    const std::size_t length = load_le<std::uint32_t>(&chunk[end + 4]);
    if (length == 0 || length > limit - end) break;
    end += length;
  }
  return end;
}

}  // namespace

GrowingFile::GrowingFile(int descriptor, std::string path, const PcapngOptions& options)
    : descriptor_(descriptor), path_(std::move(path)), writer_(options) {
  flush();
}

Result<std::unique_ptr<GrowingFile>> GrowingFile::create(const std::string& path, const PcapngOptions& options) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) return Failure{Problem{fmt::format("cannot write {}: {}", path, std::strerror(errno))}};
  return std::unique_ptr<GrowingFile>(new GrowingFile(descriptor, path, options));
}

GrowingFile::~GrowingFile() {
  write(writer_.bytes());
  ::close(descriptor_);
}

void GrowingFile::on_event(const TraceEvent& event) {
  if (!problem_.empty()) return;
  writer_.on_event(event);
  gathered_ += event.bytes.size();
  if (gathered_ > kGatheredMax) flush();
}

void GrowingFile::flush() {
  gathered_ = 0;
  write(writer_.take());
}

void GrowingFile::write(ByteView bytes) {
  const ByteView chunk = bytes;
  while (!bytes.empty() && problem_.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      problem_ = fmt::format("cannot write {}: {}", path_, std::strerror(errno));
      cut_back(chunk);
      if (on_problem_) on_problem_(problem_);
    }
    if (written > 0) bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  if (problem_.empty()) written_ += chunk.size();
}

// The chunk is there in part.
void GrowingFile::cut_back(ByteView chunk) {
  const off_t end = ::lseek(descriptor_, 0, SEEK_CUR);
  if (end < 0) return;  // no file: a pipe
  const auto size = static_cast<std::size_t>(end);
  const std::size_t kept = size - std::min(kRoomForOthers, size / 4);
  const std::size_t whole = kept <= written_ ? written_ : written_ + whole_blocks(chunk, kept - written_);
  if (::ftruncate(descriptor_, static_cast<off_t>(whole)) != 0) problem_ += ", and its last packet is cut";
}

}  // namespace fb::capture
