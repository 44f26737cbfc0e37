// The kernel's MCTP (AF_MCTP) as a Port, on the RealLoop: one socket a message type. The kernel cuts and
// assembles, so packets cannot be seen or held here; it has no way to say that one was dropped.
#pragma once

#include <sys/types.h>

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "base/result.h"
#include "sim/core/world.h"
#include "sim/mctp/port.h"
#include "sim/mctp/tags.h"

namespace fb::mctp {

/// The system calls of the port. Each returns what the call does, or -errno.
class KernelCalls {
 public:
  virtual ~KernelCalls() = default;
  virtual int open_socket();
  virtual int bind_to(int fd, ByteView address);
  virtual ssize_t send_to(int fd, ByteView address, ByteView payload);
  virtual ssize_t receive(int fd, MutableBytes address, MutableBytes payload);
  virtual int control(int fd, unsigned long request, MutableBytes argument);
  virtual void close_socket(int fd);
};

struct AfMctpOptions {
  std::uint32_t network = 1;
  Eid eid = kNullEid;    ///< what eid() says; the kernel keeps its own
  bool listens = false;  ///< also takes requests: binds each type that has a handler
};

class AfMctpPort final : public Port {
 public:
  /// Fails with one line where this kernel has no AF_MCTP. `world` is a real one; `calls` outlives the
  /// port, null are the kernel's own.
  static Result<std::unique_ptr<AfMctpPort>> open(World& world, const AfMctpOptions& options = {}, KernelCalls* calls = nullptr);
  ~AfMctpPort() override;
  AfMctpPort(const AfMctpPort&) = delete;
  AfMctpPort& operator=(const AfMctpPort&) = delete;

  Eid eid() const override { return options_.eid; }
  std::size_t unit_max() const override { return kBaselineUnit; }
  void set_unit(std::size_t) override {}  // the route's MTU is the administrator's
  void set_handler(MessageType type, MessageHandler* handler, std::size_t size_max) override;
  std::optional<Tag> take_tag(Eid peer) override { return tags_.take(peer); }
  void release_tag(Eid peer, Tag tag) override;
  SendId send(Outgoing message) override;
  void hold(SendId) override {}
  void resume(SendId) override {}
  void withdraw(SendId id) override;
  std::size_t packets_sent(SendId) const override { return 0; }

  /// What went wrong last, in words; empty when nothing has.
  const std::string& last_problem() const { return last_problem_; }

 private:
  class TypeSocket;
  // A tag of ours and the one that the kernel gave for it.
  struct KernelTag {
    Eid peer = 0;
    std::uint8_t ours = 0;
    int fd = -1;
    std::uint8_t value = 0;
    bool second_kind = false;  // had from the newer ioctl
  };

  AfMctpPort(World& world, const AfMctpOptions& options, KernelCalls& calls);
  TypeSocket* socket_for(std::uint8_t type);
  KernelTag* kernel_tag(Eid peer, std::uint8_t ours, int fd);
  bool deliver(TypeSocket& socket);
  bool transmit(const Outgoing& message);
  void tell_sent();

  World& world_;
  AfMctpOptions options_;
  std::unique_ptr<KernelCalls> own_calls_;
  KernelCalls& calls_;
  TagTable tags_;
  std::vector<KernelTag> kernel_tags_;
  std::map<std::uint8_t, std::unique_ptr<TypeSocket>> sockets_;
  struct Sent {
    SendId id;
    std::uint8_t type;
    bool delivered;
  };
  std::deque<Sent> sent_;
  SendId last_id_ = 0;
  std::string last_problem_;
  Bytes buffer_;
  Timer<AfMctpPort, &AfMctpPort::tell_sent> sent_timer_{"mctp.kernel.sent", *this};
};

}  // namespace fb::mctp
