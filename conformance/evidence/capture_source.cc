#include "conformance/evidence/capture_source.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>

namespace fb::evidence {

namespace {

using capture::ByteSource;

constexpr std::size_t kChunk = 64 << 10;
constexpr int kLastWaitMs = 500;  // for what is under way when no more is to be waited for

class FileSource final : public ByteSource {
 public:
  explicit FileSource(int descriptor) : descriptor_(descriptor), source_(descriptor) {}
  ~FileSource() override { ::close(descriptor_); }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;
  Result<std::size_t> read(MutableBytes into) override { return source_.read(into); }

 private:
  int descriptor_;
  DescriptorSource source_;
};

/// Another source, with bytes in front that were read of it already.
class Peeked final : public ByteSource {
 public:
  Peeked(Bytes first, std::unique_ptr<ByteSource> source) : first_(std::move(first)), source_(std::move(source)) {}
  Result<std::size_t> read(MutableBytes into) override {
    if (at_ == first_.size()) return source_->read(into);
    const std::size_t count = std::min(into.size(), first_.size() - at_);
    std::copy_n(first_.begin() + static_cast<std::ptrdiff_t>(at_), count, into.begin());
    at_ += count;
    return count;
  }

 private:
  Bytes first_;
  std::size_t at_ = 0;
  std::unique_ptr<ByteSource> source_;
};

/// What decompressors share: a piece of compressed bytes at a time.
class Decompressor : public ByteSource {
 public:
  explicit Decompressor(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}

 protected:
  /// Whether there are more bytes; fetches some when all are used.
  Result<bool> fill() {
    if (at_ < size_) return true;
    const Result<std::size_t> got = source_->read(piece_);
    if (!got) return Failure{got.error()};
    at_ = 0;
    size_ = *got;
    return size_ > 0;
  }
  ByteView unused() const { return ByteView(piece_).subspan(at_, size_ - at_); }
  void use(std::size_t count) { at_ += count; }

 private:
  std::unique_ptr<ByteSource> source_;
  Bytes piece_ = Bytes(kChunk);
  std::size_t at_ = 0, size_ = 0;
};

class GzipSource final : public Decompressor {
 public:
  explicit GzipSource(std::unique_ptr<ByteSource> source) : Decompressor(std::move(source)) {
    constexpr int kGzipWindow = 15 + 16;
    works_ = inflateInit2(&stream_, kGzipWindow) == Z_OK;
  }
  ~GzipSource() override {
    if (works_) inflateEnd(&stream_);
  }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  Result<std::size_t> read(MutableBytes into) override {
    if (!works_) return Failure{Problem{"zlib cannot be used"}};
    const std::size_t room = std::min<std::size_t>(into.size(), 1u << 30);
    stream_.next_out = into.data();
    stream_.avail_out = static_cast<uInt>(room);
    while (stream_.avail_out == room) {
      const Result<bool> more = fill();
      if (!more) return Failure{more.error()};
      if (!*more) {
        if (inside_) return Failure{Problem{"the gzip file is cut short"}};
        return std::size_t{0};
      }
      // Several files may stand behind each other.
      if (!inside_ && inflateReset(&stream_) != Z_OK) return Failure{Problem{"zlib cannot be used"}};
      inside_ = true;
      const ByteView in = unused();
      stream_.next_in = const_cast<Bytef*>(in.data());  // zlib reads it
      stream_.avail_in = static_cast<uInt>(in.size());
      const int done = inflate(&stream_, Z_NO_FLUSH);
      use(in.size() - stream_.avail_in);
      if (done == Z_STREAM_END) inside_ = false;
      if (done != Z_OK && done != Z_STREAM_END && done != Z_BUF_ERROR) {
        return Failure{Problem{std::string("the gzip file is broken: ") + (stream_.msg != nullptr ? stream_.msg : "unreadable")}};
      }
    }
    return room - stream_.avail_out;
  }

 private:
  z_stream stream_ = {};
  bool works_ = false, inside_ = true;
};

class ZstdSource final : public Decompressor {
 public:
  explicit ZstdSource(std::unique_ptr<ByteSource> source) : Decompressor(std::move(source)) {}
  Result<std::size_t> read(MutableBytes into) override {
    if (stream_ == nullptr) return Failure{Problem{"libzstd cannot be used"}};
    ZSTD_outBuffer out{into.data(), into.size(), 0};
    while (out.pos == 0) {
      const Result<bool> more = fill();
      if (!more) return Failure{more.error()};
      if (!*more) {
        if (inside_) return Failure{Problem{"the zstd file is cut short"}};
        return std::size_t{0};
      }
      ZSTD_inBuffer in{unused().data(), unused().size(), 0};
      const std::size_t left = ZSTD_decompressStream(stream_.get(), &out, &in);
      if (ZSTD_isError(left) != 0) return Failure{Problem{std::string("the zstd file is broken: ") + ZSTD_getErrorName(left)}};
      use(in.pos);
      inside_ = left != 0;
    }
    return out.pos;
  }

 private:
  std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream_{ZSTD_createDStream(), &ZSTD_freeDStream};
  bool inside_ = true;
};

bool begins_with(const Bytes& bytes, std::initializer_list<std::uint8_t> magic) {
  return bytes.size() >= magic.size() && std::equal(magic.begin(), magic.end(), bytes.begin());
}

}  // namespace

// Whether more may be read. Once woken it waits no longer than for what is on its way.
bool DescriptorSource::wait() const {
  pollfd ends[2] = {{descriptor_, POLLIN, 0}, {wake_, POLLIN, 0}};
  for (;;) {
    const int ready = ::poll(ends, wake_ < 0 ? 1 : 2, -1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0 || ends[0].revents != 0) return true;
    pollfd last = {descriptor_, POLLIN, 0};
    return ::poll(&last, 1, kLastWaitMs) > 0;
  }
}

Result<std::size_t> DescriptorSource::read(MutableBytes into) {
  if (wake_ >= 0 && !wait()) return std::size_t{0};
  for (;;) {
    const ssize_t got = ::read(descriptor_, into.data(), into.size());
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) return Failure{Problem{std::string("cannot be read: ") + std::strerror(errno)}};
  }
}

Result<std::unique_ptr<ByteSource>> open_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return Failure{Problem{"cannot read " + path + ": " + std::strerror(errno)}};
  return std::unique_ptr<ByteSource>(std::make_unique<FileSource>(descriptor));
}

Result<std::unique_ptr<ByteSource>> decompressed(std::unique_ptr<ByteSource> source) {
  constexpr std::size_t kMagic = 6;
  Bytes first(kMagic);
  std::size_t held = 0;
  while (held < kMagic) {
    const Result<std::size_t> got = source->read(MutableBytes(first).subspan(held));
    if (!got) return Failure{got.error()};
    if (*got == 0) break;
    held += *got;
  }
  first.resize(held);
  const bool gzip = begins_with(first, {0x1F, 0x8B}), zstd = begins_with(first, {0x28, 0xB5, 0x2F, 0xFD});
  const std::string_view other = begins_with(first, {0xFD, '7', 'z', 'X', 'Z', 0}) ? "xz"
                                 : begins_with(first, {'B', 'Z', 'h'})             ? "bzip2"
                                 : begins_with(first, {0x04, 0x22, 0x4D, 0x18})    ? "lz4"
                                                                                   : "";
  if (!other.empty()) {
    return Failure{Problem{"compressed with " + std::string(other) + ": gzip and zstd are read, decompress it first"}};
  }
  std::unique_ptr<ByteSource> whole = std::make_unique<Peeked>(std::move(first), std::move(source));
  if (gzip) return std::unique_ptr<ByteSource>(std::make_unique<GzipSource>(std::move(whole)));
  if (zstd) return std::unique_ptr<ByteSource>(std::make_unique<ZstdSource>(std::move(whole)));
  return whole;
}

}  // namespace fb::evidence
