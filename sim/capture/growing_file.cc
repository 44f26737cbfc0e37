#include "sim/capture/growing_file.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstring>

namespace fb::capture {

namespace {

constexpr std::size_t kGatheredMax = 1 << 20;  // bytes of packets, before they are written

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
  while (!bytes.empty() && problem_.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) problem_ = fmt::format("cannot write {}: {}", path_, std::strerror(errno));
    if (written > 0) bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

}  // namespace fb::capture
