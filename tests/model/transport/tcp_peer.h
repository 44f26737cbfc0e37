// One end of a stream in the hands of a test or a fuzz target: it sends bytes cut where it is told, and
// notes of what arrives only what a peer needs to go on.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "sim/net/stream.h"
#include "wire/fabrics/connect.h"
#include "wire/nvme/cqe.h"
#include "wire/nvme/sqe.h"
#include "wire/tcp/pdu.h"

namespace fb::transport::testing {

class TcpPeer final : public net::StreamHandler {
 public:
  /// What it keeps of its own for a window that is shut.
  static constexpr std::size_t kWaitingMost = 1 << 18;

  void start(std::unique_ptr<net::Stream> stream) {
    stream_ = std::move(stream);
    stream_->set_handler(this);
  }
  bool open() const { return stream_ != nullptr && !ended; }
  net::Stream* stream() { return stream_.get(); }

  /// Behind what waits; what the stream does not take goes when it does, as far as there is room.
  void send(ByteView bytes) {
    if (!open() || finishing_ || waiting_.size() + bytes.size() > kWaitingMost) return;
    waiting_.insert(waiting_.end(), bytes.begin(), bytes.end());
    if (!corked) push();
  }
  std::size_t room() const { return kWaitingMost - waiting_.size(); }
  void push() {
    if (!open() || waiting_.empty()) return;
    const ByteView all = waiting_;
    const std::size_t sent = stream_->send({&all, 1});
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(sent));
  }
  /// A PDU with digests and lengths that are right for the connection.
  void send_pdu(ByteView header, ByteView data = {}) {
    const tcp::PduShape* shape = tcp::shape_of(header[0]);
    const bool digests = shape != nullptr && shape->digests;
    send(tcp::build_pdu(header, data, digests && header_digest, digests && data_digest, alignment));
  }
  void finish() {
    if (!open()) return;
    push();
    finishing_ = true;
    stream_->finish();
  }
  void abort() {
    if (stream_) stream_->abort();
    stream_.reset();
  }
  void close() {
    if (stream_) stream_->close();
    stream_.reset();
  }

  bool header_digest = false;
  bool data_digest = false;
  std::size_t alignment = 4;
  bool corked = false;  ///< send() only gathers
  bool deaf = false;    ///< reads nothing: the window fills
  bool ended = false;
  bool peer_finished = false;
  std::uint64_t received = 0;
  std::uint64_t pdus = 0;
  /// The header of the last PDU of each type that arrived; empty when none did.
  std::array<Bytes, 16> last;

  void listen_again() {
    deaf = false;
    on_readable();
  }

 private:
  void on_connected() override {}
  void on_flush() override {}
  void on_writable() override { push(); }
  void on_end(const net::StreamEnd&) override { ended = true; }
  void on_readable() override {
    if (deaf || !open()) return;
    std::array<std::uint8_t, 4096> buffer;
    const MutableBytes into = buffer;
    for (std::size_t got = into.size(); got == into.size();) {
      got = stream_->receive({&into, 1});
      received += got;
      note(into.first(got));
    }
    peer_finished = stream_->finished();
  }
  /// Cuts PDUs by their PLEN alone.
  void note(ByteView bytes) {
    while (!bytes.empty()) {
      if (skip_ > 0) {
        const std::size_t n = std::min(skip_, bytes.size());
        skip_ -= n;
        bytes = bytes.subspan(n);
        continue;
      }
      const std::size_t wanted = head_.size() < 8 ? 8 : head_wanted_;
      const std::size_t n = std::min(wanted - head_.size(), bytes.size());
      head_.insert(head_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n));
      bytes = bytes.subspan(n);
      if (head_.size() < wanted) return;
      if (wanted == 8 && head_wanted_ == 0) {
        head_wanted_ = std::max<std::size_t>(head_[2], 8);
        if (head_wanted_ > 8) continue;
      }
      const std::size_t plen = load_le<std::uint32_t>(&head_[4]);
      skip_ = plen > head_.size() ? plen - head_.size() : 0;
      ++pdus;
      const std::size_t type = head_[0] & 15;
      last[type] = std::exchange(head_, {});
      head_wanted_ = 0;
    }
  }

  std::unique_ptr<net::Stream> stream_;
  Bytes waiting_;
  bool finishing_ = false;
  Bytes head_;
  std::size_t head_wanted_ = 0;
  std::size_t skip_ = 0;
};

inline Bytes ic_req_bytes(std::uint8_t hpda = 0, bool header = false, bool data = false, std::uint32_t maxr2t = 0) {
  Record<tcp::IcReq> made;
  made.set(tcp::pdu::type, tcp::PduType::ic_req)
      .set(tcp::ic_req::hpda, hpda)
      .set(tcp::ic_req::hdgst_enable, header)
      .set(tcp::ic_req::ddgst_enable, data)
      .set(tcp::ic_req::maxr2t, maxr2t);
  return tcp::build_pdu(made.bytes(), {}, false, false);
}

inline Bytes ic_resp_bytes(std::uint8_t cpda = 0, bool header = false, bool data = false, std::uint32_t maxh2cdata = 131072) {
  Record<tcp::IcResp> made;
  made.set(tcp::pdu::type, tcp::PduType::ic_resp)
      .set(tcp::ic_resp::cpda, cpda)
      .set(tcp::ic_resp::hdgst_enable, header)
      .set(tcp::ic_resp::ddgst_enable, data)
      .set(tcp::ic_resp::maxh2cdata, maxh2cdata);
  return tcp::build_pdu(made.bytes(), {}, false, false);
}

inline Bytes capsule_header(ByteView sqe) {
  Record<tcp::CapsuleCmd> made;
  made.set(tcp::pdu::type, tcp::PduType::capsule_cmd).set(tcp::capsule_cmd::sqe, sqe);
  return Bytes(made.bytes().begin(), made.bytes().end());
}

}  // namespace fb::transport::testing
