#include "cli/drive/disk_io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <linux/nvme_ioctl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "cli/drive/refused.h"

namespace fb::drive {

namespace {

constexpr std::size_t kAlignment = 4096;
constexpr int kGeneric = 0, kReservationConflict = 0x83;

class OpenDisk {
 public:
  OpenDisk(const std::string& node, int how) : fd_(open(node.c_str(), how | O_CLOEXEC)) {
    if (fd_ < 0) throw Refused(node + ": " + std::strerror(errno));
  }
  ~OpenDisk() { close(fd_); }
  OpenDisk(const OpenDisk&) = delete;
  OpenDisk& operator=(const OpenDisk&) = delete;
  int fd() const { return fd_; }

  off_t offset_of(std::uint64_t lba, std::size_t bytes) const {
    int block = 0;
    if (ioctl(fd_, BLKSSZGET, &block) != 0) throw Refused(std::string("the block size: ") + std::strerror(errno));
    if (bytes == 0 || bytes % static_cast<std::size_t>(block) != 0) {
      throw Refused(fmt::format("{} bytes are not whole blocks of {}", bytes, block));
    }
    return static_cast<off_t>(lba * static_cast<std::uint64_t>(block));
  }

 private:
  int fd_;
};

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<std::uint8_t, Free>;

/// As direct I/O wants it.
Memory aligned(std::size_t bytes) {
  void* memory = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  if (memory == nullptr) throw std::bad_alloc();
  return Memory(static_cast<std::uint8_t*>(memory));
}

/// The block layer makes one error of many statuses. Only one of them tells which it was.
[[noreturn]] void refuse(const char* what, std::size_t bytes, std::uint64_t lba, int error) {
  const std::string text = fmt::format("{} {} bytes at LBA {}: {}", what, bytes, lba, std::strerror(error));
  if (error == EBADE) throw Refused(text, kGeneric, kReservationConflict);
  throw Refused(text);
}

/// pread() or pwrite() until all is done; they may do a part.
template <class Call>
void move_all(const char* what, std::uint64_t lba, std::size_t bytes, off_t offset, Call call) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t moved = call(done, bytes - done, offset + static_cast<off_t>(done));
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) refuse(what, bytes, lba, errno);
    if (moved == 0) throw Refused(fmt::format("{} {} bytes at LBA {}: the device ends there", what, bytes, lba));
    done += static_cast<std::size_t>(moved);
  }
}

}  // namespace

Bytes read_disk(const std::string& node, std::uint64_t lba, std::size_t bytes) {
  const OpenDisk disk(node, O_RDONLY | O_DIRECT);
  const off_t offset = disk.offset_of(lba, bytes);
  const Memory memory = aligned(bytes);
  move_all("reading", lba, bytes, offset,
           [&](std::size_t done, std::size_t left, off_t at) { return pread(disk.fd(), memory.get() + done, left, at); });
  return Bytes(memory.get(), memory.get() + bytes);
}

void write_disk(const std::string& node, std::uint64_t lba, ByteView data) {
  const OpenDisk disk(node, O_WRONLY | O_DIRECT);
  const off_t offset = disk.offset_of(lba, data.size());
  const Memory memory = aligned(data.size());
  std::memcpy(memory.get(), data.data(), data.size());
  move_all("writing", lba, data.size(), offset,
           [&](std::size_t done, std::size_t left, off_t at) { return pwrite(disk.fd(), memory.get() + done, left, at); });
}

void flush_disk(const std::string& node, std::uint32_t nsid) {
  const OpenDisk disk(node, O_RDONLY);
  nvme_passthru_cmd command{};
  command.opcode = 0x00;
  command.nsid = nsid;
  const int status = ioctl(disk.fd(), NVME_IOCTL_IO_CMD, &command);
  if (status < 0) throw Refused(std::string("flush: ") + std::strerror(errno));
  const int sct = status >> 8 & 7, sc = status & 0xFF;
  if (status != 0) throw Refused(fmt::format("flush: status {}/{:02X}h", sct, sc), sct, sc);
}

void look_at_disk(const std::string& node) { const OpenDisk disk(node, O_RDONLY); }

}  // namespace fb::drive
