// A target in a virtual world, with channels that a test drives by hand: raw SQEs and data in, raw
// CQEs and data out. Also what the fuzz target stands on.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/subsystem/target.h"
#include "sim/core/world.h"
#include "wire/fabrics/connect.h"
#include "wire/fabrics/disconnect.h"
#include "wire/fabrics/property.h"
#include "wire/nvme/cqe.h"
#include "wire/nvme/identify.h"
#include "wire/nvme/sqe.h"

namespace fb::subsystem::test {

struct Reply {
  nvme::Cqe cqe;
  Bytes data;
  nvme::Status status() const { return cqe.get(nvme::cqe::status); }
  nvme::Status code() const { return status().code(); }
  std::uint32_t dw0() const { return cqe.get(nvme::cqe::dw0); }
  std::uint16_t cid() const { return cqe.get(nvme::cqe::cid); }
  std::uint16_t sqhd() const { return cqe.get(nvme::cqe::sqhd); }
};

/// The host's end of one channel. Outlives the channel itself.
struct Wire {
  std::deque<Reply> replies;
  bool closed = false;  ///< by the target
  unsigned dropped = 0;
  bool hold_pulls = false;  ///< data is delivered by deliver() only
  std::vector<transport::ArrivedCommand*> pulling;
  transport::ControllerChannelHandler* handler = nullptr;
};

class FakeChannel final : public transport::ControllerChannel {
 public:
  FakeChannel(std::shared_ptr<Wire> wire, std::uint32_t entries, std::optional<std::uint16_t> qid)
      : wire_(std::move(wire)), entries_(entries), qid_(qid), slots_(entries + 8) {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      slots_[i].command.channel = this;
      slots_[i].command.index = static_cast<std::uint16_t>(i);
    }
  }
  ~FakeChannel() override { wire_->handler = nullptr; }

  void set_handler(transport::ControllerChannelHandler* handler) override { wire_->handler = handler; }
  nvme::Status stage(transport::ArrivedCommand& command, std::size_t bytes) override {
    Slot& slot = slots_[command.index];
    if (bytes > slot.room) return nvme::sc::data_sgl_length_invalid;
    slot.staged.assign(bytes, 0xA5);
    command.data = slot.staged;
    return nvme::sc::success;
  }
  void pull(transport::ArrivedCommand& command) override {
    if (wire_->hold_pulls) {
      wire_->pulling.push_back(&command);
      return;
    }
    deliver(command);
  }
  void deliver(transport::ArrivedCommand& command) {
    Slot& slot = slots_[command.index];
    const std::size_t n = std::min(slot.host.size(), command.data.size());
    std::copy_n(slot.host.begin(), n, command.data.begin());
    wire_->handler->on_pulled(command);
  }
  void push(transport::ArrivedCommand& command, std::size_t bytes) override {
    Slot& slot = slots_[command.index];
    slot.pushed.assign(command.data.begin(), command.data.begin() + static_cast<std::ptrdiff_t>(bytes));
  }
  void respond(transport::ArrivedCommand& command, ByteView cqe) override {
    Slot& slot = slots_[command.index];
    BENCH_ASSERT(slot.busy, "a command is answered twice");
    slot.busy = false;
    std::erase(wire_->pulling, &command);
    wire_->replies.push_back({nvme::Cqe{cqe}, std::move(slot.pushed)});
    slot.pushed.clear();
  }
  void drop(transport::ArrivedCommand& command) override {
    Slot& slot = slots_[command.index];
    BENCH_ASSERT(slot.busy, "a command is dropped after its answer");
    slot.busy = false;
    std::erase(wire_->pulling, &command);
    ++wire_->dropped;
  }
  void send_extra(ByteView cqe) override { wire_->replies.push_back({nvme::Cqe{cqe}, {}}); }
  void close() override { wire_->closed = true; }
  std::optional<std::uint16_t> requested_qid() const override { return qid_; }
  std::uint32_t entries() const override { return entries_; }
  Endpoint peer() const override { return {IpAddress::v4(192, 0, 2, 2), 49152}; }
  Endpoint local() const override { return {IpAddress::v4(192, 0, 2, 1), 4420}; }

  /// A capsule arrives: `host` is what can be pulled, `room` how much may be moved either way. False
  /// when every receive buffer is taken.
  bool arrive(ByteView sqe, Bytes host, std::size_t room) {
    for (Slot& slot : slots_) {
      if (slot.busy) continue;
      slot.busy = true;
      slot.host = std::move(host);
      slot.room = room;
      slot.pushed.clear();
      slot.command.data = {};
      std::copy_n(sqe.begin(), 64, slot.command.sqe.begin());
      wire_->handler->on_command(slot.command);
      return true;
    }
    return false;
  }

 private:
  struct Slot {
    transport::ArrivedCommand command;
    Bytes host;
    Bytes staged;
    Bytes pushed;
    std::size_t room = 0;
    bool busy = false;
  };
  std::shared_ptr<Wire> wire_;
  std::uint32_t entries_;
  std::optional<std::uint16_t> qid_;
  std::vector<Slot> slots_;
};

/// One connection as the test holds it.
class Line {
 public:
  Line(World& world, Port& port, std::uint32_t entries, std::optional<std::uint16_t> qid)
      : world_(&world), wire_(std::make_shared<Wire>()) {
    auto channel = std::make_unique<FakeChannel>(wire_, entries, qid);
    channel_ = channel.get();
    port.on_channel(std::move(channel));
  }

  /// Puts a CID into the command and lets it arrive.
  std::uint16_t post(ByteView sqe, Bytes host = {}, std::optional<std::size_t> room = {}) {
    Bytes copy(sqe.begin(), sqe.begin() + 64);
    const std::uint16_t cid = next_cid_++;
    store_le(copy.data() + 2, cid);
    post_raw(copy, std::move(host), room);
    return cid;
  }
  void post_raw(ByteView sqe, Bytes host = {}, std::optional<std::size_t> room = {}) {
    if (wire_->handler == nullptr || wire_->closed) return;
    const std::size_t size = room ? *room : host.size();
    channel_->arrive(sqe, std::move(host), size);
  }
  /// The reply to `cid`, waiting a little when it is not there yet.
  std::optional<Reply> reply(std::uint16_t cid) {
    for (int attempt = 0; attempt < 2; ++attempt) {
      for (auto at = wire_->replies.begin(); at != wire_->replies.end(); ++at) {
        if (at->cid() != cid) continue;
        Reply found = std::move(*at);
        wire_->replies.erase(at);
        return found;
      }
      if (attempt == 0) world_->run_for(Duration::us(1));
    }
    return std::nullopt;
  }
  Reply send(ByteView sqe, Bytes host = {}, std::optional<std::size_t> room = {}) {
    const std::uint16_t cid = post(sqe, std::move(host), room);
    std::optional<Reply> found = reply(cid);
    if (!found) {
      Reply none;  // FFFFh marks the silence
      none.cqe.set(nvme::cqe::status, nvme::Status::make(7, 0xFF));
      return none;
    }
    return *found;
  }
  /// Like send(), for a command that reads `bytes`.
  Reply fetch(ByteView sqe, std::size_t bytes) { return send(sqe, {}, bytes); }

  void lose() {
    if (wire_->handler != nullptr && !wire_->closed) wire_->handler->on_end("lost");
    wire_->closed = true;
  }
  /// Lets the oldest held pull end.
  void deliver() {
    transport::ArrivedCommand* const command = wire_->pulling.front();
    wire_->pulling.erase(wire_->pulling.begin());
    channel_->deliver(*command);
  }

  Wire& wire() { return *wire_; }
  bool closed() const { return wire_->closed; }
  std::deque<Reply>& replies() { return wire_->replies; }

 private:
  World* world_;
  std::shared_ptr<Wire> wire_;
  FakeChannel* channel_;
  std::uint16_t next_cid_ = 1;
};

inline constexpr const char* kHostNqn = "nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555";

struct ConnectWords {
  std::uint16_t recfmt = 0;
  std::uint16_t qid = 0;
  std::uint16_t sqsize = 31;
  std::uint8_t cattr = 0;
  std::uint32_t kato = 0;
  std::uint16_t cntlid = 0xFFFF;
  std::uint8_t hostid = 0x77;  ///< sixteen times
  std::string subnqn = kDefaultSubsystemNqn;
  std::string hostnqn = kHostNqn;

  Bytes sqe() const {
    Record<fabrics::ConnectSqe> made;
    made.set(fabrics::sqe::opcode, 0x7Fu)
        .set(fabrics::sqe::psdt, nvme::Psdt::sgl)
        .set(fabrics::sqe::fctype, fabrics::FabricsType::connect)
        .set(fabrics::connect_sqe::recfmt, recfmt)
        .set(fabrics::connect_sqe::qid, qid)
        .set(fabrics::connect_sqe::sqsize, sqsize)
        .set(fabrics::connect_sqe::cattr, cattr)
        .set(fabrics::connect_sqe::kato, kato);
    return Bytes(made.bytes().begin(), made.bytes().end());
  }
  Bytes data() const {
    Record<fabrics::ConnectData> made;
    const Bytes id(16, hostid);
    made.set(fabrics::connect_data::hostid, ByteView{id}).set(fabrics::connect_data::cntlid, cntlid);
    put_text(made.mutable_bytes().subspan(256, 256), subnqn, '\0');
    put_text(made.mutable_bytes().subspan(512, 256), hostnqn, '\0');
    return Bytes(made.bytes().begin(), made.bytes().end());
  }
};

inline Bytes property_get(std::uint32_t offset, unsigned size) {
  Record<fabrics::PropertyGetSqe> made;
  made.set(fabrics::sqe::opcode, 0x7Fu)
      .set(fabrics::sqe::fctype, fabrics::FabricsType::property_get)
      .set(fabrics::property_sqe::size, size)
      .set(fabrics::property_sqe::ofst, offset);
  return Bytes(made.bytes().begin(), made.bytes().end());
}
inline Bytes property_set(std::uint32_t offset, std::uint64_t value, unsigned size = 0) {
  Record<fabrics::PropertySetSqe> made;
  made.set(fabrics::sqe::opcode, 0x7Fu)
      .set(fabrics::sqe::fctype, fabrics::FabricsType::property_set)
      .set(fabrics::property_sqe::size, size)
      .set(fabrics::property_sqe::ofst, offset)
      .set(fabrics::property_sqe::value, value);
  return Bytes(made.bytes().begin(), made.bytes().end());
}

/// Any admin or I/O command with PSDT = SGL.
inline nvme::Sqe command(std::uint8_t opcode, std::uint32_t nsid = 0) {
  nvme::Sqe made;
  made.set(nvme::sqe::opcode, opcode).set(nvme::sqe::psdt, nvme::Psdt::sgl).set(nvme::sqe::nsid, nsid);
  return made;
}
template <class Opcode>
requires std::is_enum_v<Opcode> nvme::Sqe command(Opcode opcode, std::uint32_t nsid = 0) {
  return command(static_cast<std::uint8_t>(opcode), nsid);
}

inline nvme::Sqe identify(nvme::Cns cns, std::uint32_t nsid = 0) {
  nvme::Sqe made = command(nvme::AdminOpcode::identify, nsid);
  made.set(nvme::sqe::cdw10, static_cast<std::uint32_t>(cns));
  return made;
}
inline nvme::Sqe get_log(unsigned lid, std::size_t length, std::uint64_t offset = 0, bool rae = false, unsigned lsp = 0) {
  nvme::Sqe made = command(nvme::AdminOpcode::get_log_page);
  const std::uint64_t numd = length / 4 - 1;
  made.set(nvme::sqe::cdw10, lid | lsp << 8 | (rae ? 1u << 15 : 0u) | (numd & 0xFFFF) << 16)
      .set(nvme::sqe::cdw11, numd >> 16)
      .set(nvme::sqe::cdw12, offset & 0xFFFFFFFF)
      .set(nvme::sqe::cdw13, offset >> 32);
  return made;
}
inline nvme::Sqe get_feature(unsigned fid, unsigned sel = 0, std::uint32_t cdw11 = 0, std::uint32_t nsid = 0) {
  nvme::Sqe made = command(nvme::AdminOpcode::get_features, nsid);
  made.set(nvme::sqe::cdw10, fid | sel << 8).set(nvme::sqe::cdw11, cdw11);
  return made;
}
inline nvme::Sqe set_feature(unsigned fid, std::uint32_t cdw11, std::uint32_t nsid = 0, bool save = false) {
  nvme::Sqe made = command(nvme::AdminOpcode::set_features, nsid);
  made.set(nvme::sqe::cdw10, fid | (save ? 1u << 31 : 0u)).set(nvme::sqe::cdw11, cdw11);
  return made;
}
inline nvme::Sqe download(std::size_t offset, std::size_t bytes) {
  nvme::Sqe made = command(nvme::AdminOpcode::firmware_download);
  made.set(nvme::sqe::cdw10, bytes / 4 - 1).set(nvme::sqe::cdw11, offset / 4);
  return made;
}
inline nvme::Sqe commit(unsigned slot, nvme::CommitAction action) {
  nvme::Sqe made = command(nvme::AdminOpcode::firmware_commit);
  made.set(nvme::sqe::cdw10, slot | static_cast<unsigned>(action) << 3);
  return made;
}
inline nvme::Sqe format(std::uint32_t nsid, unsigned lbaf, unsigned pi = 0, unsigned erase = 0) {
  nvme::Sqe made = command(nvme::AdminOpcode::format_nvm, nsid);
  made.set(nvme::sqe::cdw10, (lbaf & 15) | pi << 5 | erase << 9 | (lbaf >> 4) << 12);
  return made;
}
/// Security Send or Security Receive.
inline nvme::Sqe security(nvme::AdminOpcode opcode, unsigned protocol, unsigned specific, std::uint32_t length) {
  nvme::Sqe made = command(opcode);
  made.set(nvme::sqe::cdw10, protocol << 24 | specific << 8).set(nvme::sqe::cdw11, length);
  return made;
}
inline nvme::Sqe rw(nvme::IoOpcode opcode, std::uint64_t slba, std::uint32_t blocks, std::uint32_t nsid = 1) {
  nvme::Sqe made = command(opcode, nsid);
  made.set(nvme::sqe::cdw10, slba & 0xFFFFFFFF).set(nvme::sqe::cdw11, slba >> 32).set(nvme::sqe::cdw12, blocks - 1);
  return made;
}

/// A target with one subsystem of one namespace (1,024 blocks of 512 bytes) on port 1.
struct Rig {
  explicit Rig(SubsystemOptions options = {}, SubsystemHooks* hooks = nullptr, DiscoveryOptions discovery = {})
      : world(World::make_virtual(1)), target(*world, hooks, std::move(discovery)) {
    disk = &target.add_subsystem(std::move(options));
    NamespaceOptions ns;
    ns.blocks = 1024;
    (void)disk->add_namespace(std::move(ns));
    target.add_port({});
  }

  Line open(std::uint16_t qid = 0, std::uint32_t entries = 0) {
    return Line(*world, target.port(1), entries != 0 ? entries : qid == 0 ? 32 : 128, qid);
  }
  static Reply connect(Line& line, const ConnectWords& words) { return line.send(words.sqe(), words.data()); }
  std::uint32_t property(Line& line, std::uint32_t offset) { return line.send(property_get(offset, 0)).dw0(); }
  /// CC.EN and waits for RDY.
  void enable(Line& line, std::uint32_t cc = 0x00460001) {
    line.send(property_set(0x14, cc));
    world->run_for(Duration::ms(2));
  }
  struct Session {
    Line admin;
    std::uint16_t cntlid;
  };
  /// A connected and enabled admin queue.
  Session start(ConnectWords words = {}) {
    Line admin = open();
    const Reply reply = connect(admin, words);
    BENCH_ASSERT(reply.status().ok(), "the admin queue must connect");
    enable(admin, words.subnqn == kDefaultSubsystemNqn ? 0x00460001 : 1);
    return {admin, static_cast<std::uint16_t>(reply.dw0() & 0xFFFF)};
  }
  Line start_io(const Session& session, std::uint16_t qid = 1, ConnectWords words = {}) {
    words.qid = qid;
    words.cntlid = session.cntlid;
    if (words.sqsize == 31) words.sqsize = 127;
    words.kato = 0;
    Line io = open(qid);
    const Reply reply = connect(io, words);
    BENCH_ASSERT(reply.status().ok(), "the I/O queue must connect");
    return io;
  }

  std::unique_ptr<World> world;
  Target target;
  Subsystem* disk;
};

}  // namespace fb::subsystem::test
