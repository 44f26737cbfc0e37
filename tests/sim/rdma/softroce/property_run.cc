#include "tests/sim/rdma/softroce/property_run.h"

#include <fmt/format.h>

#include "tests/sim/rdma/softroce/rig.h"

namespace fb::softroce {

namespace {

using rdma::Completion;
using rdma::CompletionStatus;
using rdma::QpState;
using rdma::SendOpcode;

// Each side's memory: what it sends and lets the peer read; where the peer writes; where its own
// reads and receives go; eight bytes for atomics.
constexpr std::size_t kArea = 24 << 10;
constexpr std::size_t kSource = 0;
constexpr std::size_t kTarget = kArea;
constexpr std::size_t kLocal = 2 * kArea;
constexpr std::size_t kCell = 3 * kArea;
constexpr std::size_t kResults = kCell + 8;  // originals of atomics
constexpr std::size_t kMemory = kResults + 64 * 8;
constexpr std::uint64_t kFastIova = 0x7000'0000'0000;

/// A work request and what it must do.
struct Planned {
  SendOpcode opcode = SendOpcode::send;
  bool signaled = true;
  bool fence = false;
  bool inlined = false;
  std::uint32_t length = 0;
  std::size_t from = 0;  ///< in the sender's source area (reads: the peer's)
  std::size_t to = 0;    ///< in the destination's memory
  std::uint32_t immediate = 0;
  std::uint64_t compare = 0;
  std::uint64_t operand = 0;
  std::uint64_t original = 0;  ///< atomics: what must come back
  std::uint64_t cell_after = 0;
  int receive = -1;      ///< index of the peer's receive that it takes
  int fast_region = -1;  ///< region of the peer that it uses
};

struct PlannedReceive {
  std::size_t to = 0;
  std::uint32_t room = 0;
  std::uint32_t request = 0;  ///< the peer's request that takes it
};

struct Actor {
  explicit Actor(Side& s) : side(s) {}
  Side& side;
  std::vector<Planned> plan;
  std::vector<PlannedReceive> receives;
  std::vector<std::unique_ptr<rdma::MemoryRegion>> fast;
  std::vector<std::uint32_t> fast_keys;
  std::size_t posted = 0;
  std::size_t receives_posted = 0;
  std::vector<Completion> sent;
  std::vector<Completion> received;
  Bytes initial;
  Bytes model;  ///< after all requests of both sides
  std::size_t target_next = kTarget;
  std::size_t local_next = kLocal;
  std::uint64_t cell = 0;
  std::size_t results = 0;
};

class Property {
 public:
  Property(std::uint64_t seed, SoftHooks* hooks) : rng_(seed, "property"), rig_(options(seed, hooks)), a_(rig_.a), b_(rig_.b) {
    for (Actor* actor : {&a_, &b_}) {
      for (std::size_t at = 0; at + 8 <= kMemory; at += 8) {
        store_le<std::uint64_t>(&actor->side.memory[at], rng_.next());
      }
      actor->cell = load_le<std::uint64_t>(&actor->side.memory[kCell]);
    }
    make_fast_regions(a_);
    make_fast_regions(b_);
    for (Actor* actor : {&a_, &b_}) actor->initial = actor->model = actor->side.memory;
    plan(a_, b_);
    plan(b_, a_);
  }

  PropertyResult run() {
    filter_.emplace(*rig_.world, loss());
    rig_.network.set_filter(&*filter_);
    work();
    PropertyResult result;
    result.failed_connection = failed(a_) || failed(b_);
    if (wrong_.empty()) check();
    result.wrong = wrong_;
    result.digest = rig_.world->digest();
    result.packets = rig_.a.device->counters().packets_sent + rig_.b.device->counters().packets_sent;
    return result;
  }

 private:
  RigOptions options(std::uint64_t seed, SoftHooks* hooks) {
    RigOptions o;
    o.hooks_a = o.hooks_b = hooks;
    o.seed = seed;
    o.memory = kMemory;
    o.mtu_code = static_cast<std::uint8_t>(rng_.between(1, 5));
    o.depth = static_cast<std::uint8_t>(rng_.between(1, 6));
    o.psn_a = rng_.chance(1, 2) ? 0xFFFFF0 + static_cast<std::uint32_t>(rng_.below(16)) : static_cast<std::uint32_t>(rng_.below(1 << 24));
    o.psn_b = static_cast<std::uint32_t>(rng_.below(1 << 24));
    o.ack_timeout_code = static_cast<std::uint8_t>(rng_.between(6, 9));
    o.retry_count = rng_.chance(3, 4) ? 7 : static_cast<std::uint8_t>(rng_.below(7));
    o.rnr_retry_count = rng_.chance(3, 4) ? 7 : static_cast<std::uint8_t>(rng_.below(7));
    o.min_rnr_timer_code = static_cast<std::uint8_t>(rng_.between(1, 8));
    o.shared_receive_queue = rng_.chance(1, 4);
    constexpr std::uint32_t kWindows[] = {1, 2, 7, 32, 128};
    constexpr std::uint32_t kBursts[] = {1, 3, 64};
    o.engine.window_packets = kWindows[rng_.below(5)];
    o.engine.read_burst_packets = kBursts[rng_.below(3)];
    o.engine.ack_delay = Duration::us(rng_.chance(1, 3) ? static_cast<std::int64_t>(rng_.below(60)) : 0);
    o.link.latency = Duration::us(static_cast<std::int64_t>(rng_.between(1, 20)));
    o.link.bandwidth = rng_.chance(1, 2) ? 0 : static_cast<std::int64_t>(rng_.between(1, 40)) * 1'000'000'000;
    if (rng_.chance(1, 4)) {
      o.address_a = *IpAddress::parse("fd00::1");
      o.address_b = *IpAddress::parse("fd00::2");
    }
    return o;
  }

  net::RandomLossOptions loss() {
    net::RandomLossOptions l;
    const auto draw = [&](std::uint32_t most) {
      return net::Ratio{rng_.chance(1, 3) ? 0 : static_cast<std::uint32_t>(rng_.below(most)), 1000};
    };
    const bool hard = rng_.chance(1, 4);
    l.drop = draw(hard ? 300 : 60);
    l.duplicate = draw(hard ? 200 : 50);
    l.delay = draw(hard ? 200 : 50);
    l.corrupt = draw(hard ? 100 : 30);
    l.max_delay = Duration::us(static_cast<std::int64_t>(rng_.between(10, 400)));
    return l;
  }

  void make_fast_regions(Actor& actor) {
    const std::size_t count = rng_.below(4);
    for (std::size_t i = 0; i < count; ++i) {
      actor.fast.push_back(actor.side.domain->allocate_fast_region(1024));
      rdma::SendRequest r;
      r.opcode = SendOpcode::fast_register;
      r.region = actor.fast.back().get();
      r.memory = MutableBytes{actor.side.memory}.subspan(actor.target_next, 1024);
      r.iova = kFastIova + i * 4096;
      r.access = rdma::Access::local_write | rdma::Access::remote_write;
      r.key_byte = static_cast<std::uint8_t>(rng_.next());
      r.signaled = false;
      require(actor.side.qp->post_send(r), "fast_register is posted");
      actor.target_next += 1024;
    }
    rig_.settle();
    for (const auto& region : actor.fast) actor.fast_keys.push_back(region->rkey());
  }

  std::uint32_t length(std::size_t room) {
    const std::uint32_t mtu = roce::mtu_bytes(rig_.options.mtu_code);
    std::uint32_t n = 0;
    switch (rng_.below(5)) {
      case 0:
        n = static_cast<std::uint32_t>(rng_.below(5));
        break;
      case 1:
        n = mtu * static_cast<std::uint32_t>(rng_.between(1, 3)) - 1 + static_cast<std::uint32_t>(rng_.below(3));
        break;
      default:
        n = static_cast<std::uint32_t>(rng_.below(3000));
        break;
    }
    return n > room ? static_cast<std::uint32_t>(room) : n;
  }
  static std::size_t take(std::size_t& next, std::uint32_t n) {
    const std::size_t at = next;
    next += n;
    return at;
  }

  void plan(Actor& actor, Actor& peer) {
    const std::size_t count = rng_.between(3, 25);
    int next_fast = 0;
    for (std::size_t i = 0; i < count; ++i) {
      Planned p;
      constexpr SendOpcode kOpcodes[] = {SendOpcode::send,
                                         SendOpcode::send,
                                         SendOpcode::send_with_immediate,
                                         SendOpcode::rdma_write,
                                         SendOpcode::rdma_read,
                                         SendOpcode::rdma_write_with_immediate,
                                         SendOpcode::rdma_read,
                                         SendOpcode::fetch_and_add,
                                         SendOpcode::compare_and_swap,
                                         SendOpcode::send_with_invalidate};
      p.opcode = kOpcodes[rng_.below(10)];
      p.signaled = rng_.chance(2, 3) || i + 1 == count;
      p.fence = rng_.chance(1, 5);
      p.immediate = static_cast<std::uint32_t>(rng_.next());
      if (p.opcode == SendOpcode::send_with_invalidate) {
        if (next_fast == static_cast<int>(peer.fast.size())) p.opcode = SendOpcode::send;
      }
      if (p.opcode == SendOpcode::send_with_invalidate) {
        // A write through the region before it is taken away.
        Planned write = p;
        write.opcode = SendOpcode::rdma_write;
        write.fast_region = p.fast_region = next_fast;
        write.length = static_cast<std::uint32_t>(rng_.below(1025));
        write.from = kSource + rng_.below(kArea - write.length);
        write.to = kTarget + static_cast<std::size_t>(next_fast) * 1024;
        copy(actor, write, peer);
        actor.plan.push_back(write);
        ++next_fast;
      }
      if (place(actor, peer, p)) actor.plan.push_back(p);
    }
  }

  /// Decides length and places of one request and applies it to the model.
  bool place(Actor& actor, Actor& peer, Planned& p) {
    const std::size_t local_room = kLocal + kArea - actor.local_next;
    const std::size_t peer_local_room = kLocal + kArea - peer.local_next;
    const std::size_t target_room = kTarget + kArea - peer.target_next;
    const auto request = static_cast<std::uint32_t>(actor.plan.size());
    switch (p.opcode) {
      case SendOpcode::send:
      case SendOpcode::send_with_immediate:
      case SendOpcode::send_with_invalidate: {
        p.length = length(peer_local_room);
        p.to = peer.local_next;
        const std::size_t slack = rng_.below(1 + std::min<std::size_t>(50, peer_local_room - p.length));
        p.receive = static_cast<int>(peer.receives.size());
        peer.receives.push_back({p.to, p.length + static_cast<std::uint32_t>(slack), request});
        peer.local_next += p.length + slack;
        break;
      }
      case SendOpcode::rdma_write_with_immediate:
        p.receive = static_cast<int>(peer.receives.size());
        peer.receives.push_back({kLocal, 0, request});
        [[fallthrough]];
      case SendOpcode::rdma_write:
        p.length = length(target_room);
        p.to = take(peer.target_next, p.length);
        break;
      case SendOpcode::rdma_read:
        p.length = length(local_room);
        p.to = take(actor.local_next, p.length);
        p.from = kSource + rng_.below(kArea - p.length);
        copy(peer, p, actor);
        return true;
      default:
        place_atomic(actor, peer, p);
        return true;
    }
    p.from = kSource + rng_.below(kArea - p.length);
    p.inlined = p.length <= 256 && rng_.chance(1, 3);
    copy(actor, p, peer);
    return true;
  }

  void place_atomic(Actor& actor, Actor& peer, Planned& p) {
    p.length = 8;
    p.to = kResults + 8 * actor.results++;
    p.operand = rng_.next();
    p.original = peer.cell;
    if (p.opcode == SendOpcode::fetch_and_add) {
      peer.cell += p.operand;
    } else {
      p.compare = rng_.chance(1, 2) ? peer.cell : peer.cell + 1;
      if (p.compare == peer.cell) peer.cell = p.operand;
    }
    p.cell_after = peer.cell;
    store_le<std::uint64_t>(&peer.model[kCell], peer.cell);
    store_le<std::uint64_t>(&actor.model[p.to], p.original);
  }

  static void copy(const Actor& source, const Planned& p, Actor& destination) {
    std::copy_n(source.side.memory.begin() + static_cast<std::ptrdiff_t>(p.from), p.length,
                destination.model.begin() + static_cast<std::ptrdiff_t>(p.to));
  }

  bool post(Actor& actor, Actor& peer, const Planned& p, std::uint64_t id) {
    const bool remote_source = p.opcode == SendOpcode::rdma_read;
    const bool atomic = p.opcode == SendOpcode::fetch_and_add || p.opcode == SendOpcode::compare_and_swap;
    std::size_t local = p.from, remote = p.to;
    if (remote_source) std::swap(local, remote);
    if (atomic) {
      local = p.to;
      remote = kCell;
    }
    // In up to three pieces.
    const std::uint32_t cut = p.length > 2 && !atomic ? static_cast<std::uint32_t>(rng_.below(p.length)) : 0;
    const rdma::Sge sges[] = {actor.side.region->sge(local, cut), actor.side.region->sge(local + cut, p.length - cut)};
    rdma::SendRequest r;
    r.id = id;
    r.opcode = p.opcode;
    r.sges = sges;
    r.signaled = p.signaled;
    r.fence = p.fence;
    r.inline_data = p.inlined;
    r.immediate = p.immediate;
    r.remote_address = peer.side.region->address() + remote;
    r.rkey = peer.side.region->rkey();
    r.compare = p.compare;
    r.swap_or_add = p.operand;
    if (p.fast_region >= 0) {
      const auto region = static_cast<std::size_t>(p.fast_region);
      r.remote_address = kFastIova + region * 4096;
      r.rkey = r.invalidate_rkey = peer.fast_keys[region];
    }
    return actor.side.qp->post_send(r);
  }

  void post_some(Actor& actor, Actor& peer, std::size_t sends, std::size_t receives) {
    for (; receives > 0 && actor.receives_posted < actor.receives.size(); --receives) {
      const PlannedReceive& r = actor.receives[actor.receives_posted];
      if (!actor.side.post_receive(actor.receives_posted, r.to, r.room)) return;
      ++actor.receives_posted;
    }
    for (; sends > 0 && actor.posted < actor.plan.size(); --sends) {
      if (!post(actor, peer, actor.plan[actor.posted], actor.posted)) return;
      ++actor.posted;
    }
  }

  void work() {
    for (int round = 0; round < 12; ++round) {
      // One draw a statement: arguments are evaluated in any order.
      const std::size_t sends_a = rng_.below(8);
      post_some(a_, b_, sends_a, rng_.below(10));
      const std::size_t sends_b = rng_.below(8);
      post_some(b_, a_, sends_b, rng_.below(10));
      rig_.world->run_for(Duration::us(static_cast<std::int64_t>(rng_.below(300))));
    }
    for (int round = 0; round < 50; ++round) {
      post_some(a_, b_, 100, 100);
      post_some(b_, a_, 100, 100);
      require(rig_.settle(), "the world falls silent");
      if (a_.posted == a_.plan.size() && b_.posted == b_.plan.size()) break;
    }
    for (Actor* actor : {&a_, &b_}) {
      require(actor->posted == actor->plan.size(), "everything could be posted");
      require(actor->receives_posted == actor->receives.size() || failed(*actor), "receives posted");
      actor->sent = actor->side.sends();
      actor->received = actor->side.receives();
    }
  }

  static bool failed(const Actor& actor) { return actor.side.qp->state() == QpState::error; }

  void require(bool holds, const std::string& what) {
    if (!holds && wrong_.empty()) wrong_ = what;
  }

  void check() {
    const bool broken = failed(a_) || failed(b_);
    const std::size_t done_a = check_sends(a_, "a");
    const std::size_t done_b = check_sends(b_, "b");
    check_receives(a_, b_, "a", done_b);
    check_receives(b_, a_, "b", done_a);
    check_memory(a_, b_, "a", done_a, done_b, broken);
    check_memory(b_, a_, "b", done_b, done_a, broken);
  }

  /// Every signaled request completes once, in order. Returns how many requests are known to have
  /// succeeded.
  std::size_t check_sends(const Actor& actor, const char* name) {
    std::size_t next = 0;  // request that the next completion may be for
    std::size_t done = 0;
    bool flushing = false;
    for (const Completion& c : actor.sent) {
      if (!flushing && c.status == CompletionStatus::success) {
        while (next < actor.plan.size() && next < c.id) {
          require(!actor.plan[next].signaled, fmt::format("{}: request {} has no completion", name, next));
          ++next;
        }
      }
      if (!flushing && c.status != CompletionStatus::success) {
        // Unsignaled requests before the failed one have succeeded in silence.
        while (next < c.id && next < actor.plan.size()) {
          require(!actor.plan[next].signaled, fmt::format("{}: request {} lost at error", name, next));
          ++next;
        }
        done = next;
        flushing = true;
        require(failed(actor), fmt::format("{}: error completion, but no error state", name));
      } else if (flushing) {
        require(c.status == CompletionStatus::flushed, fmt::format("{}: {} after an error", name, c.id));
      }
      require(c.id == next, fmt::format("{}: completion of {} where {} was due", name, c.id, next));
      ++next;
      if (!flushing) done = next;
    }
    if (failed(actor)) {
      require(next == actor.plan.size() || actor.sent.empty(),
              fmt::format("{}: {} of {} accounted for after the error", name, next, actor.plan.size()));
    } else {
      require(next == actor.plan.size(), fmt::format("{}: {} of {} completed", name, next, actor.plan.size()));
      done = actor.plan.size();
    }
    return done;
  }

  void check_receives(const Actor& actor, const Actor& peer, const char* name, std::size_t peer_done) {
    std::size_t good = 0;
    bool flushing = false;
    for (std::size_t i = 0; i < actor.received.size(); ++i) {
      const Completion& c = actor.received[i];
      require(c.id == i, fmt::format("{}: receive {} where {} was due", name, c.id, i));
      if (i >= actor.receives.size()) return;
      if (flushing || c.status != CompletionStatus::success) {
        flushing = true;
        require(c.status == CompletionStatus::flushed && failed(actor),
                fmt::format("{}: receive {} has status {}", name, i, static_cast<int>(c.status)));
        continue;
      }
      ++good;
      const Planned& p = peer.plan[actor.receives[i].request];
      const bool immediate = p.opcode == SendOpcode::send_with_immediate || p.opcode == SendOpcode::rdma_write_with_immediate;
      require(c.byte_length == p.length, fmt::format("{}: receive {} length {}", name, i, c.byte_length));
      require(c.has_immediate == immediate && (!immediate || c.immediate == p.immediate), fmt::format("{}: receive {} immediate", name, i));
      require(c.has_invalidate == (p.opcode == SendOpcode::send_with_invalidate), fmt::format("{}: receive {} invalidate", name, i));
    }
    // Whatever the peer knows to be done has been received.
    std::size_t expected = 0;
    for (std::size_t i = 0; i < peer_done; ++i) expected += peer.plan[i].receive >= 0 ? 1 : 0;
    require(good >= expected, fmt::format("{}: {} of {} messages received", name, good, expected));
    if (!failed(actor)) require(actor.received.size() == good, fmt::format("{}: receives", name));
  }

  /// What succeeded is there; what did not is there or not, byte by byte; nothing else has changed.
  void check_memory(const Actor& actor, const Actor& peer, const char* name, std::size_t done, std::size_t peer_done, bool broken) {
    const Bytes& memory = actor.side.memory;
    if (!broken) {
      require(memory == actor.model, fmt::format("{}: memory differs", name));
      return;
    }
    for (std::size_t i = 0; i < kMemory; ++i) {
      if (i >= kCell && i < kCell + 8) continue;
      require(memory[i] == actor.initial[i] || memory[i] == actor.model[i], fmt::format("{}: stray byte at {}", name, i));
    }
    const auto arrived = [&](const Planned& p) {
      return same(actor.side.bytes(p.to, p.length), ByteView{actor.model}.subspan(p.to, p.length));
    };
    for (std::size_t i = 0; i < peer_done; ++i) {
      const Planned& p = peer.plan[i];
      const bool here =
          p.opcode != SendOpcode::rdma_read && p.opcode != SendOpcode::fetch_and_add && p.opcode != SendOpcode::compare_and_swap;
      if (here) require(arrived(p), fmt::format("{}: request {} of the peer", name, i));
    }
    for (std::size_t i = 0; i < done; ++i) {
      const Planned& p = actor.plan[i];
      if (p.opcode == SendOpcode::rdma_read) require(arrived(p), fmt::format("{}: read {}", name, i));
    }
    // The cell has the value after some number of the peer's atomics, at least those that are done.
    const std::uint64_t cell = load_le<std::uint64_t>(&memory[kCell]);
    std::uint64_t least = load_le<std::uint64_t>(&actor.initial[kCell]);
    bool found = false;
    for (std::size_t i = 0; i < peer.plan.size(); ++i) {
      const Planned& p = peer.plan[i];
      if (p.opcode != SendOpcode::fetch_and_add && p.opcode != SendOpcode::compare_and_swap) continue;
      if (i < peer_done) {
        least = p.cell_after;
      } else {
        found = found || cell == p.cell_after;
      }
    }
    require(found || cell == least, fmt::format("{}: the atomics' cell", name));
  }

  Rng rng_;
  Rig rig_;
  Actor a_;
  Actor b_;
  std::optional<net::RandomLoss> filter_;
  std::string wrong_;
};

}  // namespace

PropertyResult run_property(std::uint64_t seed, SoftHooks* hooks) { return Property(seed, hooks).run(); }

}  // namespace fb::softroce
