// A host on a machine of its own, its associations, and below them a raw queue that sends anything.
#pragma once

#include <fabricbench/subsystem.h>
#include <fabricbench/types.h>

#include <optional>
#include <string>
#include <vector>

namespace fabricbench {

struct HostOptions {
  std::string name = "host";      ///< of its machine; faults and links name it
  std::string transport = "tcp";  ///< or "rdma"
  std::string hostnqn = {};       ///< empty: one of the name
  bool header_digest = false;     ///< of NVMe/TCP
  bool data_digest = false;
  std::vector<std::string> deviations = {};
};

struct ConnectOptions {
  std::uint16_t io_queues = 1;
  std::uint16_t queue_entries = 128;
  std::uint16_t admin_entries = 32;
  Duration keep_alive = std::chrono::seconds(5);
};

/// An association with a controller, with its namespaces. Lives as long as the world.
class FABRICBENCH_API Association {
 public:
  struct FABRICBENCH_INSIDE Part;
  /// "live", "connecting", "gone" ...
  std::string state() const;
  bool live() const;
  std::uint16_t cntlid() const;
  /// Identify Controller, 4096 bytes.
  Bytes identify() const;
  std::vector<std::uint32_t> namespaces() const;
  std::uint32_t block_bytes(std::uint32_t nsid) const;

  /// Each throws CommandError where the status is not Success; commands are split as the controller's limits ask for.
  Bytes read(std::uint32_t nsid, std::uint64_t lba, std::uint64_t blocks = 1);
  void write(std::uint32_t nsid, std::uint64_t lba, const Bytes& data);
  void compare(std::uint32_t nsid, std::uint64_t lba, const Bytes& data);
  void flush(std::uint32_t nsid);

  /// An admin command with room for `room` bytes, or with data; whatever its status is.
  Completion admin(const Command& command, std::size_t room = 0);
  Completion admin(const Command& command, const Bytes& data);
  void reset();
  void shut_down();

 private:
  friend class Host;
  explicit Association(Part& part) : part_(&part) {}
  Part* part_;
};

struct RawQueueOptions {
  std::uint16_t qid = 0;
  std::uint16_t entries = 32;
  std::uint16_t cntlid = 0xFFFF;
};

/// Validates nothing and corrects nothing. Lives as long as the world.
class FABRICBENCH_API RawQueue {
 public:
  struct FABRICBENCH_INSIDE Part;
  /// The transport's connection; throws CommandError where it is refused.
  void connect();
  /// The Fabrics Connect command, with an SQSIZE of your own where there is one.
  Completion fabrics_connect(std::optional<std::uint16_t> sqsize = {});
  Completion send(const Command& command, std::size_t room = 0);
  Completion send(const Command& command, const Bytes& data);
  /// Exactly these bytes as one capsule; the completion with this Command Identifier answers it.
  Completion send_capsule(const Bytes& capsule, std::uint16_t cid);
  bool connected() const;
  void disconnect();

 private:
  friend class Host;
  explicit RawQueue(Part& part) : part_(&part) {}
  Part* part_;
};

class FABRICBENCH_API Host {
 public:
  struct FABRICBENCH_INSIDE Part;
  const std::string& hostnqn() const;
  const std::string& address() const;
  /// Throws CommandError where the controller refuses.
  Association connect(const Subsystem& subsystem, const ConnectOptions& options = {});
  RawQueue open_raw_queue(const Subsystem& subsystem, const RawQueueOptions& options = {});

 private:
  friend class World;
  explicit Host(Part& part) : part_(&part) {}
  Part* part_;
};

}  // namespace fabricbench
