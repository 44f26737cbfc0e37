// I2C adapters for other processes: the far end of the preload library's /dev/i2c-N.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/core/world.h"
#include "sim/mctp/i2c_adapter.h"
#include "sim/mctp/i2c_frame.h"

namespace fb::mctp {

struct I2cCounters {
  std::uint64_t opened = 0;
  std::uint64_t calls = 0;
  std::uint64_t malformed = 0;  ///< frames that no library of ours sends
};

class I2cServer final : private FdHandler {
 public:
  /// Listens on a unix socket at `path`, which is made. Adapter 1 is the first; they outlive the server. The world is real, and
  /// the process ignores SIGPIPE: a program may have gone before its answer.
  static Result<std::unique_ptr<I2cServer>> open(World& world, std::vector<I2cAdapter*> adapters, const std::string& path);
  ~I2cServer();
  I2cServer(const I2cServer&) = delete;
  I2cServer& operator=(const I2cServer&) = delete;

  const std::string& path() const { return path_; }
  const I2cCounters& counters() const { return counters_; }

 private:
  class File;
  class Answer;
  I2cServer(World& world, std::vector<I2cAdapter*> adapters, std::string path, int fd);
  void on_readable() override;
  void drop(File& file);
  void serve(File& file, const I2cFrame& frame, ByteView payload, std::shared_ptr<Answer> answer);
  void transfer(File& file, const I2cFrame& frame, ByteView payload, std::shared_ptr<Answer> answer);
  void smbus(File& file, const I2cFrame& frame, ByteView payload, std::shared_ptr<Answer> answer);

  World& world_;
  std::vector<I2cAdapter*> adapters_;
  std::string path_;
  int fd_;
  std::vector<std::unique_ptr<File>> files_;
  Bytes buffer_;  ///< a frame that arrives, of any file
  I2cCounters counters_;
};

}  // namespace fb::mctp
