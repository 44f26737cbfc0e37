#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "model/subsystem/block_store.h"

namespace fb::subsystem {

namespace {

std::string reason(int error) { return std::strerror(error); }

class FileStore final : public BlockStore {
 public:
  FileStore(int fd, std::string path, std::uint64_t bytes) : fd_(fd), path_(std::move(path)), bytes_(bytes) {}
  ~FileStore() override { ::close(fd_); }

  std::uint64_t bytes() const override { return bytes_; }

  std::uint64_t bytes_held() const override {
    struct stat facts = {};
    if (::fstat(fd_, &facts) != 0) return bytes_;
    return std::min(bytes_, static_cast<std::uint64_t>(facts.st_blocks) * 512);
  }

  Result<void> read(std::uint64_t offset, MutableBytes to) override {
    while (!to.empty()) {
      const ssize_t n = ::pread(fd_, to.data(), to.size(), static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return fault("cannot read");
      if (n == 0) {  // somebody cut the file behind our back
        std::fill(to.begin(), to.end(), std::uint8_t{0});
        return {};
      }
      offset += static_cast<std::uint64_t>(n);
      to = to.subspan(static_cast<std::size_t>(n));
    }
    return {};
  }

  Result<void> write(std::uint64_t offset, ByteView from) override {
    while (!from.empty()) {
      const ssize_t n = ::pwrite(fd_, from.data(), from.size(), static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return fault("cannot write");
      offset += static_cast<std::uint64_t>(n);
      from = from.subspan(static_cast<std::size_t>(n));
    }
    return {};
  }

  Result<void> zero(std::uint64_t offset, std::uint64_t length) override {
    if (length == 0) return {};
    if (::fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(length)) == 0) {
      return {};
    }
    if (errno != EOPNOTSUPP && errno != ENOSYS) return fault("cannot deallocate");
    static constexpr std::array<std::uint8_t, 4096> kZeroes = {};
    while (length > 0) {
      const std::size_t n = static_cast<std::size_t>(std::min<std::uint64_t>(length, kZeroes.size()));
      if (Result<void> done = write(offset, ByteView{kZeroes}.first(n)); !done) return done;
      offset += n;
      length -= n;
    }
    return {};
  }

  Result<void> flush() override {
    if (::fdatasync(fd_) != 0) return fault("cannot flush");
    return {};
  }

 private:
  Failure<Problem> fault(const char* what) const { return Failure{Problem{std::string(what) + ' ' + path_ + ": " + reason(errno)}}; }

  int fd_;
  std::string path_;
  std::uint64_t bytes_;
};

}  // namespace

Result<std::unique_ptr<BlockStore>> open_file_store(const std::string& path, std::uint64_t bytes) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return Failure{Problem{"cannot open " + path + ": " + reason(errno)}};
  auto store = std::make_unique<FileStore>(fd, path, bytes);
  struct stat facts = {};
  const bool known = ::fstat(fd, &facts) == 0;
  const bool short_file = known && static_cast<std::uint64_t>(facts.st_size) < bytes;
  if (!known || (short_file && ::ftruncate(fd, static_cast<off_t>(bytes)) != 0)) {
    return Failure{Problem{"cannot size " + path + ": " + reason(errno)}};
  }
  return std::unique_ptr<BlockStore>(std::move(store));
}

}  // namespace fb::subsystem
