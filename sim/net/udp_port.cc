#include "sim/net/udp_port.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "base/lifetime.h"
#include "sim/net/udp_socket.h"

namespace fb::net {

namespace {

using socket_detail::SocketAddress;

constexpr std::size_t kSlabBytes = 512 * 1024;  // outgoing datagrams that wait for the kernel
constexpr std::size_t kEagerBytes = 48 * 1024;  // so much does not wait for the end of the turn
constexpr std::size_t kTrainsMax = 64;          // sendmmsg() messages at once
constexpr std::size_t kSegmentsMax = 64;        // a train's datagrams; older kernels take no more
constexpr std::size_t kTrainBytesMax = 65'487;  // 64 KiB less IPv6 and UDP headers
constexpr std::size_t kReceiveBytes = 65'536;   // a merged train
constexpr std::size_t kReceiveMessages = 16;    // recvmmsg() messages at once
constexpr std::size_t kControlBytes = 64;

// Consecutive datagrams of one size to one destination; the last may be shorter.
struct Train {
  std::size_t offset = 0;
  std::size_t bytes = 0;
  std::size_t segment = 0;
  std::size_t count = 0;
  bool open = false;  // another datagram may follow
  Endpoint to;
  SocketAddress address;
};

struct alignas(cmsghdr) Control {
  std::array<std::uint8_t, kControlBytes> bytes;
};

}  // namespace

class UdpPort final : public DatagramPort, private FdHandler, private TurnEndHandler {
 public:
  UdpPort(RealHost& host, int fd, const Endpoint& local, std::size_t mtu);
  ~UdpPort() override;

  Outgoing begin(const Endpoint& to, std::size_t size) override;
  void commit() override;
  void flush() override;
  void set_receiver(DatagramReceiver* receiver) override { receiver_ = receiver; }
  Endpoint local() const override { return local_; }
  std::size_t mtu() const override { return mtu_; }

 private:
  enum class Step { advanced, blocked };

  void on_readable() override;
  void on_writable() override;
  bool pollable() const override { return true; }
  void adapt_receive_ask(std::size_t got);
  bool take(const msghdr& message, std::size_t length, const bool& gone);
  void on_turn_end() override;
  void ask_for_turn_end();
  bool make_room(std::size_t size);
  void prepare(std::size_t index);
  void after_sent(std::size_t count);
  Step after_refusal(int error);
  bool send_first_alone(const Train& train);
  void trace(TraceKind kind, const Endpoint& source, const Endpoint& destination, ByteView bytes, const IpFacts& ip,
             std::string_view text) {
    if (host_.options_.datagrams_traced && host_.world_.trace().hears_wire()) emit(kind, source, destination, bytes, ip, text);
  }
  void emit(TraceKind kind, const Endpoint& source, const Endpoint& destination, ByteView bytes, const IpFacts& ip, std::string_view text);

  RealHost& host_;
  RealLoop& loop_;
  int fd_;
  Endpoint local_;
  std::size_t mtu_;
  DatagramReceiver* receiver_ = nullptr;

  // Sending: trains lie in the slab in the order of commit(), [first_, trains_.size()) unsent.
  std::vector<std::uint8_t> slab_;
  std::size_t slab_used_ = 0;
  std::vector<Train> trains_;
  std::size_t first_ = 0;
  bool blocked_ = false;
  std::vector<std::uint8_t> scratch_;  // for a datagram that will be dropped
  struct Pending {
    bool active = false;
    bool drop = false;
    bool joins = false;  // the open train
    std::size_t size = 0;
    Endpoint to;
    IpFacts ip;
  } pending_;
  std::array<mmsghdr, kTrainsMax> send_messages_ = {};
  std::array<iovec, kTrainsMax> send_pieces_ = {};
  std::array<Control, kTrainsMax> send_controls_ = {};

  // Receiving.
  std::unique_ptr<std::uint8_t[]> receive_buffer_;
  std::array<mmsghdr, kReceiveMessages> receive_messages_ = {};
  std::array<iovec, kReceiveMessages> receive_pieces_ = {};
  std::array<Control, kReceiveMessages> receive_controls_ = {};
  std::array<SocketAddress, kReceiveMessages> receive_addresses_ = {};
  std::size_t receive_ask_ = 1;  // messages that the next call asks for
  unsigned singles_ = 0;
  Lifetime lifetime_;  // the receiver may close the port from inside a callback

  bool turn_end_asked_ = false;
  bool batch_open_ = false;  // datagrams were given out, on_batch_end() is owed
};

UdpPort::UdpPort(RealHost& host, int fd, const Endpoint& local, std::size_t mtu)
    : host_(host), loop_(*host.world_.real_loop()), fd_(fd), local_(local), mtu_(mtu) {
  slab_.resize(kSlabBytes);
  scratch_.resize(mtu);
  trains_.reserve(kTrainsMax);
  receive_buffer_ = std::make_unique_for_overwrite<std::uint8_t[]>(kReceiveBytes * kReceiveMessages);
  for (std::size_t i = 0; i < kReceiveMessages; ++i) {
    receive_pieces_[i] = {receive_buffer_.get() + i * kReceiveBytes, kReceiveBytes};
    msghdr& header = receive_messages_[i].msg_hdr;
    header.msg_name = &receive_addresses_[i];
    header.msg_iov = &receive_pieces_[i];
    header.msg_iovlen = 1;
    header.msg_control = receive_controls_[i].bytes.data();
  }
  loop_.watch(fd_, *this);
}

UdpPort::~UdpPort() {
  blocked_ = false;
  flush();  // a last word (a disconnect) still leaves
  loop_.cancel_turn_end(*this);
  loop_.unwatch(fd_);
  close(fd_);
}

// -------------------------------------------------------------------------------------- sending

bool UdpPort::make_room(std::size_t size) {
  const auto fits = [&] { return slab_used_ + size <= slab_.size() && trains_.size() < kTrainsMax; };
  if (fits()) return true;
  flush();
  if (fits()) return true;
  if (first_ == 0) return false;
  // The socket is blocked: move what is left to the front.
  const std::size_t start = trains_[first_].offset;
  std::memmove(slab_.data(), slab_.data() + start, slab_used_ - start);
  slab_used_ -= start;
  trains_.erase(trains_.begin(), trains_.begin() + static_cast<std::ptrdiff_t>(first_));
  first_ = 0;
  for (Train& train : trains_) train.offset -= start;
  return fits();
}

Outgoing UdpPort::begin(const Endpoint& to, std::size_t size) {
  BENCH_ASSERT(size <= max_payload(), "a datagram is never longer than max_payload()");
  const bool v4 = local_.address.is_v4();
  pending_ = {};
  pending_.active = true;
  pending_.size = size;
  pending_.to = to;
  if (to.address.is_v4() != v4 || to.port == 0 || !make_room(size)) {
    const bool unsendable = to.address.is_v4() != v4 || to.port == 0;
    ++(unsendable ? host_.counters_.dropped_unsendable : host_.counters_.dropped_backlog);
    pending_.drop = true;
    return {MutableBytes(scratch_).first(size), pending_.ip};
  }
  if (first_ < trains_.size() && host_.segmentation_) {
    const Train& last = trains_.back();
    pending_.joins =
        last.open && last.to == to && size <= last.segment && size > 0 && last.count < kSegmentsMax && last.bytes + size <= kTrainBytesMax;
    if (pending_.joins && v4) pending_.ip.id = static_cast<std::uint16_t>(last.count);
  }
  // A long stretch leaves train by train: the peer works on one while the next is built, and the slab
  // stays in the cache.
  if (!pending_.joins && slab_used_ >= kEagerBytes) flush();
  return {{slab_.data() + slab_used_, size}, pending_.ip};
}

void UdpPort::commit() {
  BENCH_ASSERT(pending_.active, "commit() follows begin()");
  pending_.active = false;
  const std::size_t size = pending_.size;
  if (pending_.drop) {
    trace(TraceKind::fault, local_, pending_.to, ByteView(scratch_).first(size), pending_.ip, "dropped: cannot be sent");
    return;
  }
  if (pending_.joins) {
    Train& train = trains_.back();
    train.bytes += size;
    ++train.count;
    if (size < train.segment) train.open = false;
  } else {
    Train& train = trains_.emplace_back();
    train.offset = slab_used_;
    train.bytes = train.segment = size;
    train.count = 1;
    train.open = true;
    train.to = pending_.to;
    train.address = SocketAddress(pending_.to);
  }
  const ByteView bytes(slab_.data() + slab_used_, size);
  slab_used_ += size;
  trace(TraceKind::packet, local_, pending_.to, bytes, pending_.ip, "");
  if (!blocked_) ask_for_turn_end();
}

void UdpPort::ask_for_turn_end() {
  if (turn_end_asked_) return;
  turn_end_asked_ = true;
  loop_.at_turn_end(*this);
}

// What a batch causes leaves together with its acknowledgements: one call to the kernel for all.
void UdpPort::on_turn_end() {
  turn_end_asked_ = false;
  if (std::exchange(batch_open_, false) && receiver_ != nullptr) {
    const Lifetime::Watch watch(lifetime_);
    receiver_->on_batch_end();
    if (watch.gone()) return;
  }
  flush();
}

void UdpPort::prepare(std::size_t index) {
  Train& train = trains_[first_ + index];
  send_pieces_[index] = {slab_.data() + train.offset, train.bytes};
  msghdr& header = send_messages_[index].msg_hdr;
  header = {};
  header.msg_name = &train.address;
  header.msg_namelen = train.address.length();
  header.msg_iov = &send_pieces_[index];
  header.msg_iovlen = 1;
  if (train.count == 1) return;
  header.msg_control = send_controls_[index].bytes.data();
  header.msg_controllen = CMSG_SPACE(sizeof(std::uint16_t));
  cmsghdr* const control = CMSG_FIRSTHDR(&header);
  control->cmsg_level = SOL_UDP;
  control->cmsg_type = UDP_SEGMENT;
  control->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
  const auto segment = static_cast<std::uint16_t>(train.segment);
  std::memcpy(CMSG_DATA(control), &segment, sizeof segment);
}

void UdpPort::flush() {
  if (blocked_) return;
  while (first_ < trains_.size()) {
    const std::size_t count = trains_.size() - first_;
    for (std::size_t i = 0; i < count; ++i) prepare(i);
    ++host_.counters_.send_calls;
    const int sent = sendmmsg(fd_, send_messages_.data(), static_cast<unsigned>(count), MSG_DONTWAIT);
    if (sent > 0) {
      after_sent(static_cast<std::size_t>(sent));
    } else if (after_refusal(errno) == Step::blocked) {
      return;
    }
  }
  trains_.clear();
  first_ = 0;
  slab_used_ = 0;
}

void UdpPort::after_sent(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i, ++first_) {
    host_.counters_.sent += trains_[first_].count;
    if (trains_[first_].count > 1) ++host_.counters_.trains;
  }
}

UdpPort::Step UdpPort::after_refusal(int error) {
  if (error == EINTR) return Step::advanced;
  if (error == EAGAIN || error == EWOULDBLOCK || error == ENOBUFS) {
    ++host_.counters_.blocked;
    blocked_ = true;
    loop_.watch(fd_, *this, true);
    return Step::blocked;
  }
  const Train& train = trains_[first_];
  if (train.count > 1 && send_first_alone(train)) {
    // It is segmentation that is refused. The others carry identifications that a datagram sent
    // alone will not have, so they are lost; the protocols above repeat them.
    host_.segmentation_ = false;
    ++host_.counters_.sent;
    host_.counters_.dropped_unsendable += train.count - 1;
  } else {
    host_.counters_.dropped_unsendable += train.count;
  }
  ++first_;
  return Step::advanced;
}

bool UdpPort::send_first_alone(const Train& train) {
  return sendto(fd_, slab_.data() + train.offset, train.segment, MSG_DONTWAIT, train.address.get(), train.address.length()) >= 0;
}

void UdpPort::on_writable() {
  if (!blocked_) return;
  blocked_ = false;
  loop_.watch(fd_, *this, false);
  flush();
}

// ------------------------------------------------------------------------------------ receiving

void UdpPort::on_readable() {
  for (std::size_t i = 0; i < receive_ask_; ++i) {
    receive_messages_[i].msg_hdr.msg_namelen = sizeof(SocketAddress);
    receive_messages_[i].msg_hdr.msg_controllen = kControlBytes;
  }
  ++host_.counters_.receive_calls;
  // One call a turn: what is left makes the descriptor readable again, and answers to this batch
  // leave before the next is read.
  const int count = recvmmsg(fd_, receive_messages_.data(), static_cast<unsigned>(receive_ask_), MSG_DONTWAIT, nullptr);
  if (count <= 0) return;  // nothing there, or an error report that is now taken off the socket
  adapt_receive_ask(static_cast<std::size_t>(count));
  const Lifetime::Watch watch(lifetime_);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    if (!take(receive_messages_[i].msg_hdr, receive_messages_[i].msg_len, watch.gone())) return;
  }
  batch_open_ = true;
  ask_for_turn_end();
}

// The kernel looks once more for a message that does not come, so asking for one is quickest while
// they come one by one; now and then two are asked for, to see whether they still do.
void UdpPort::adapt_receive_ask(std::size_t got) {
  if (got < receive_ask_) {
    receive_ask_ = got;
  } else if (receive_ask_ > 1 || ++singles_ % 8 == 0) {
    receive_ask_ = std::min(receive_ask_ * 2, kReceiveMessages);
  }
}

// Gives out one message, which may be a merged train. False when the port was closed meanwhile.
bool UdpPort::take(const msghdr& message, std::size_t length, const bool& gone) {
  SocketAddress address;
  std::memcpy(&address, message.msg_name, sizeof address);
  const std::optional<Endpoint> source = address.endpoint();
  if ((message.msg_flags & MSG_TRUNC) != 0 || !source) {
    ++host_.counters_.dropped_received;
    return true;
  }
  const auto* data = static_cast<const std::uint8_t*>(message.msg_iov->iov_base);
  const std::size_t segment = socket_detail::merged_segment(message, length);
  Arrival arrival{*source, local_, {}, std::nullopt};
  if (!local_.address.is_v4()) arrival.ip = IpFacts{};
  std::size_t at = 0;
  do {
    const std::size_t size = std::min(segment, length - at);
    arrival.payload = {data + at, size};
    at += size;
    ++host_.counters_.received;
    if (size < length) ++host_.counters_.merged;
    trace(TraceKind::packet, *source, local_, arrival.payload, IpFacts{}, "");
    if (receiver_ != nullptr) receiver_->on_datagram(arrival);
    if (gone) return false;
  } while (at < length);
  return true;
}

void UdpPort::emit(TraceKind kind, const Endpoint& source, const Endpoint& destination, ByteView bytes, const IpFacts& ip,
                   std::string_view text) {
  TraceEvent event;
  event.kind = kind;
  event.time = host_.world_.now();
  event.actor = source == local_ ? "local" : "peer";
  event.label = "udp";
  event.text = text;
  event.bytes = bytes;
  event.source = source;
  event.destination = destination;
  event.ip = ip;
  host_.world_.trace().emit(event);
}

// ----------------------------------------------------------------------------------------- host

RealHost::RealHost(World& world, const RealHostOptions& options) : world_(world), options_(options), segmentation_(options.segmentation) {
  BENCH_ASSERT(world.real_loop() != nullptr, "sockets need a world in real time");
}

Result<std::unique_ptr<DatagramPort>> RealHost::open(const Endpoint& local) {
  auto opened = socket_detail::open_udp(local, options_.socket_buffer_bytes);
  if (!opened) return Failure{opened.error()};
  if (segmentation_) segmentation_ = socket_detail::can_send_trains(local.address);
  const std::size_t mtu = std::min(socket_detail::interface_mtu(local.address), options_.mtu_max);
  return std::unique_ptr<DatagramPort>(std::make_unique<UdpPort>(*this, opened->fd, opened->local, mtu));
}

}  // namespace fb::net
