// A consumer whose user makes everything inside one event, where nothing can be waited for: what is asked of objects that are still
// being made waits in line until they are there.
#include <array>
#include <functional>

#include "networkdirect/cases/consumer_trouble.h"
#include "networkdirect/cases/ndk/consumer_scene.h"

namespace fb::conformance {
namespace {

/// Runs a function inside an event of the world.
class Inside {
 public:
  Inside(World& world, std::function<void()> what) : what_(std::move(what)) {
    world.loop().schedule(event_, world.now());
    world.run_for(Duration::ns(1));
  }

 private:
  void run() { what_(); }
  std::function<void()> what_;
  Timer<Inside, &Inside::run> event_{"case.inside", *this};
};

constexpr std::uint32_t kEntries = 4;
constexpr std::size_t kRoom = 4096;

/// A user with objects of its own on the program's device. What it has goes in the reverse order.
class Hasty final : rdma::ConnectionHandler, rdma::CompletionHandler, rdma::SharedReceiveHandler {
 public:
  Hasty(ConsumerStage& stage, bool shares) : stage_(stage), shares_(shares), memory_(kRoom), late_memory_(kRoom) {
    for (std::size_t i = 0; i < kRoom; ++i)
      memory_[i] = static_cast<std::uint8_t>(i * 7), late_memory_[i] = static_cast<std::uint8_t>(i * 13);
  }

  /// The first `count` of its objects, in the order in which they need each other.
  void make(std::size_t count) {
    rdma::Device& device = stage_.program().device();
    if (count > 0) domain_ = device.allocate_protection_domain();
    if (count > 1) sends_ = device.create_completion_queue(64);
    if (count > 2) receives_ = device.create_completion_queue(64);
    if (count > 3 && shares_) shared_ = device.create_shared_receive_queue(*domain_, kEntries, this);
    if (count > 4) region_ = domain_->register_memory(memory_, NdProgram::kAll);
    if (count <= 5 || sends_ == nullptr || receives_ == nullptr || (shares_ && shared_ == nullptr)) return;
    rdma::QueuePairOptions options;
    options.send_queue = sends_.get();
    options.receive_queue = receives_.get();
    options.shared_receive_queue = shared_.get();
    options.send_entries = options.receive_entries = kEntries;
    options.handler = this;
    options.context = this;
    qp_ = device.create_queue_pair(*domain_, options);
  }
  static constexpr std::size_t kObjects = 6;
  bool whole() const { return qp_ != nullptr; }
  void drop() {
    qp_.reset();
    shared_.reset();
    late_region_.reset();
    region_.reset();
    receives_.reset();
    sends_.reset();
    domain_.reset();
  }
  void make_late_region() { late_region_ = domain_->register_memory(late_memory_, NdProgram::kAll); }

  bool receive(std::uint64_t id, std::uint64_t offset, bool late = false) {
    const rdma::Sge sge = (late ? *late_region_ : *region_).sge(offset, 256);
    const rdma::ReceiveRequest request{id, {&sge, 1}};
    return shares_ ? shared_->post_receive(request) : qp_->post_receive(request);
  }
  bool send(std::uint64_t id, std::uint64_t offset, std::uint32_t length, bool late = false) {
    const rdma::Sge sge = (late ? *late_region_ : *region_).sge(offset, length);
    rdma::SendRequest request;
    request.id = id;
    request.sges = {&sge, 1};
    return qp_->post_send(request);
  }
  std::optional<rdma::Completion> completion(bool of_receive) {
    rdma::Completion found;
    const auto look = [&] { return (of_receive ? receives_ : sends_)->poll({&found, 1}) == 1; };
    if (!stage_.world().run_until(look, Duration::s(10))) return std::nullopt;
    return found;
  }
  void watch() { receives_->request_notify(*this); }
  /// Asks for a notification of Sends, and takes the request back.
  void watch_in_vain() {
    sends_->request_notify(*this);
    sends_->cancel_notify();
  }

  ByteView memory(bool late) const { return late ? late_memory_ : memory_; }
  rdma::QueuePair& qp() { return *qp_; }
  rdma::ProtectionDomain& domain() { return *domain_; }
  rdma::SharedReceiveQueue* shared() { return shared_.get(); }
  int established = 0, others = 0, told = 0, low = 0;

 private:
  void on_established(rdma::QueuePair&, const rdma::ConnectionFacts&) override { ++established; }
  void on_rejected(rdma::QueuePair&, std::uint16_t, ByteView) override { ++others; }
  void on_unreachable(rdma::QueuePair&) override { ++others; }
  void on_disconnected(rdma::QueuePair&) override { ++others; }
  void on_queue_error(rdma::QueuePair&) override { ++others; }
  void on_completions() override { ++told; }
  void on_limit(rdma::SharedReceiveQueue&) override { ++low; }

  ConsumerStage& stage_;
  bool shares_;
  Bytes memory_, late_memory_;
  std::unique_ptr<rdma::ProtectionDomain> domain_;
  std::unique_ptr<rdma::CompletionQueue> sends_, receives_;
  std::unique_ptr<rdma::MemoryRegion> region_, late_region_;
  std::unique_ptr<rdma::SharedReceiveQueue> shared_;
  std::unique_ptr<rdma::QueuePair> qp_;
};

/// Completions with these ids come, in this order, and all of them well.
void expects(Check& check, Hasty& user, std::string_view what, bool of_receive, std::initializer_list<std::uint64_t> ids) {
  for (const std::uint64_t id : ids) {
    const auto done = user.completion(of_receive);
    check.require(done.has_value(), std::string(what) + " completes", "it does not");
    check.equal("the request that completes", done->id, id);
    check.that(done->status == rdma::CompletionStatus::success, std::string(what) + " succeeds", std::string(rdma::name_of(done->status)));
  }
}

/// Queues are full when they hold what they were made for, also of what waits; a shared one knows only when it is asked.
void fill_with_receives(Hasty& user, int& taken, bool late) {
  const std::uint64_t most = user.shared() == nullptr ? kEntries + 1 : kEntries;
  for (std::uint64_t i = 0; i < most; ++i) taken += user.receive(10 + i, 256 * i, late) ? 1 : 0;
}

/// The peer's messages of 30, 31 ... bytes come, in the order of the receives.
void hear(ConsumerStage& stage, Check& check, Hasty& user, VerbsQueue& peer, bool late) {
  for (std::uint32_t i = 0; i < kEntries; ++i) {
    check.require(peer.post_send({}, stage.peer_memory(), 100 + i, 30 + i), "the peer sends");
    stage.program().pass(Duration::ms(1));  // nobody looks before the notice
    const auto came = user.completion(true);
    check.require(came.has_value(), "a message comes", "it does not");
    check.equal("its receive", came->id, std::uint64_t{10 + i});
    check.equal("its length", came->byte_length, 30 + i);
    check.bytes("the message", user.memory(late).subspan(256 * i, 30 + i), ByteView(stage.peer_memory().bytes).subspan(100 + i, 30 + i));
  }
}

void sweep_haste(ConsumerStage& stage, Check& check, bool shares) {
  stage.program();
  stage.peer_listens();
  Hasty user(stage, shares);
  int taken = 0;
  Inside(stage.world(), [&] {
    user.make(Hasty::kObjects);
    if (!user.whole()) return;
    user.watch();
    user.watch_in_vain();
    fill_with_receives(user, taken, false);
    if (shares) user.shared()->arm_limit(2);
    user.qp().connect(stage.peer_at(), nd_parameters());
  });
  check.require(user.whole(), "everything is made inside an event", "it is not");
  check.equal("receives that are taken inside the event", taken, static_cast<int>(kEntries));
  check.require(stage.world().run_until([&] { return user.established > 0; }, Duration::s(10)), "the program is connected", "it is not");
  VerbsQueue& peer = stage.peer_accepted();
  check.require(peer.wait_event(ConnectionEvent::established, Duration::s(10)), "the peer is connected");
  hear(stage, check, user, peer, false);
  check.equal("notices of completions, asked for inside the event", user.told, 1);
  if (shares) check.that(user.low > 0, "the queue says that it runs low, asked for inside the event", "it does not");

  // Memory that is still being registered: what uses it waits, and what follows waits behind it.
  taken = 0;
  bool wrong = false;
  Inside(stage.world(), [&] {
    user.make_late_region();
    fill_with_receives(user, taken, true);
    wrong = !user.send(1, 5, 40, true) || !user.send(2, 9, 41) || !user.send(3, 6, 42, true) || !user.send(4, 1, 43) ||
            user.send(5, 0, 1, true);
  });
  check.equal("receives of memory that is being registered", taken, static_cast<int>(kEntries));
  check.that(!wrong, "requests of such memory are taken, as many as the queue was made for", "they are not");
  expects(check, user, "a Send that waited", false, {1, 2, 3, 4});
  for (std::uint32_t i = 0; i < kEntries; ++i) {
    const auto came = peer.wait_receive(Duration::s(10));
    check.require(came.has_value(), "a message comes", "it does not");
    check.equal("its length", came->byte_length, 40 + i);
    constexpr std::array<std::size_t, kEntries> kOffsets = {5, 9, 6, 1};
    check.bytes("the message", stage.peer().received(came->id, 40 + i), user.memory(i % 2 == 0).subspan(kOffsets[i], 40 + i));
  }
  hear(stage, check, user, peer, true);

  // The connection ends while requests wait: they come back, once.
  Inside(stage.world(), [&] {
    user.make_late_region();
    wrong = !user.send(21, 0, 40, true) || !user.send(22, 0, 40) || !user.receive(31, 0, true);
    user.qp().disconnect();
    wrong = wrong || !user.send(23, 0, 40);
  });
  check.that(!wrong, "requests are taken around the end of a connection", "they are not");
  for (const std::uint64_t id : {21u, 22u, 23u}) {
    const auto done = user.completion(false);
    check.require(done.has_value(), "what waits comes back", "it does not");
    check.equal("the request that comes back", done->id, id);
    check.that(done->status == rdma::CompletionStatus::flushed, "it is flushed", std::string(rdma::name_of(done->status)));
  }
  if (!shares) {
    const auto done = user.completion(true);
    check.that(done && done->id == 31 && done->status == rdma::CompletionStatus::flushed, "a receive that waits comes back", "it does not");
  }
  stage.program().pass(Duration::ms(20));
  check.equal("ends that the program is told of", user.others, 1);
}

/// Fast regions that are still being made.
void sweep_hasty_fast_regions(ConsumerStage& stage, Check& check) {
  if (!stage.program().device().limits().fast_registration) return;
  NdLine& line = stage.connect();
  VerbsQueue& peer = stage.peer_accepted();
  check.require(peer.wait_event(ConnectionEvent::established, Duration::s(10)), "the peer is connected");
  std::unique_ptr<rdma::ProtectionDomain> domain;
  std::array<std::unique_ptr<rdma::MemoryRegion>, 2> regions;
  bool wrong = false;
  Inside(stage.world(), [&] {
    for (std::size_t i = 0; i < regions.size(); ++i) {
      regions[i] = stage.program().domain().allocate_fast_region(8192);
      rdma::SendRequest request;
      request.id = 50 + i;
      request.opcode = rdma::SendOpcode::fast_register;
      request.region = regions[i].get();
      request.memory = stage.program().memory().subspan(300 + 5000 * i, 5000);
      request.iova = 0x5000'0000 * (i + 1);
      request.access = rdma::Access::remote_read;
      wrong = wrong || !line.qp().post_send(request);
    }
  });
  check.that(!wrong, "registrations are taken inside an event", "they are not");
  for (std::uint64_t i = 0; i < regions.size(); ++i) {
    const auto done = stage.program().completion();
    check.require(done && done->id == 50 + i && done->status == rdma::CompletionStatus::success, "a registration succeeds", "it does not");
    rdma::SendRequest read;
    read.opcode = rdma::SendOpcode::rdma_read;
    read.remote_address = 0x5000'0000 * (i + 1) + 1;
    read.rkey = regions[i]->rkey();
    check.require(peer.post_send(read, stage.peer_memory(), 0, 4999), "the peer reads");
    const auto came = peer.wait_send(Duration::s(10));
    check.require(came && came->status == rdma::CompletionStatus::success, "the peer reads the region", "it does not");
    check.bytes("what it reads", ByteView(stage.peer_memory().bytes).first(4999),
                ByteView(stage.program().memory()).subspan(301 + 5000 * i, 4999));
  }
  stage.program().let_go(line);
}

/// Objects that are given up while they are being made: the first ones, or all and an attempt to connect, after some time.
void sweep_given_up(ConsumerStage& stage, Check& check, bool shares) {
  stage.program();
  stage.peer_listens({.hold = true});
  for (std::size_t count = 1; count <= Hasty::kObjects + 1; ++count) {
    for (const Duration time : {Duration(), Duration::ns(1), Duration::us(1), Duration::us(100), Duration::ms(50)}) {
      Hasty user(stage, shares);
      const auto begin = [&] {
        user.make(count);
        if (!user.whole()) return;
        int taken = 0;
        fill_with_receives(user, taken, false);
        user.watch();
        if (count > Hasty::kObjects) user.qp().connect(stage.peer_at(), nd_parameters());
      };
      Inside(stage.world(), [&] {
        begin();
        if (time == Duration()) user.drop();
      });
      stage.program().pass(time);
      const int before = user.established + user.others;
      Inside(stage.world(), [&] { user.drop(); });
      stage.program().pass(Duration::ms(20));
      stage.peer().requests().clear();
      check.equal("reports after everything was given up", user.established + user.others, before);
    }
  }
}

/// Requests that are accepted with a queue pair that is still being made, which is then given up, or not.
void sweep_hasty_answers(ConsumerStage& stage, Check& check, bool shares) {
  NdProgram& program = stage.program();
  program.listen(ConsumerStage::kProgramPort, NdAnswer::keep);
  enum class End : std::uint8_t { none, disconnects, goes };
  std::size_t asked = 0;
  for (const End end : {End::none, End::disconnects, End::goes, End::none}) {
    VerbsQueue& peer = stage.peer_asks();
    program.wait_requests(++asked);
    auto request = std::move(program.requests().back());
    program.requests().pop_back();
    Hasty user(stage, shares);
    Inside(stage.world(), [&] {
      user.make(Hasty::kObjects);
      if (!user.whole()) return;
      int taken = 0;
      fill_with_receives(user, taken, false);
      request->accept(user.qp(), nd_parameters());
      if (end == End::disconnects) user.qp().disconnect();
      if (end == End::goes) user.drop();
    });
    request.reset();
    program.pass(Duration::ms(50));
    check.equal("connections that are reported", user.established, end == End::none ? 1 : 0);
    check.equal("ends that are reported", user.others, end == End::disconnects ? 1 : 0);
    if (end == End::none) {
      check.that(peer.wait_event(ConnectionEvent::established, Duration::s(10)), "the peer is connected", "it is not");
    } else {
      // What was accepted before may be refused or ended.
      const auto over = [&] { return peer.happened(ConnectionEvent::rejected) || peer.happened(ConnectionEvent::disconnected); };
      check.that(stage.world().run_until(over, Duration::s(10)), "the peer hears of the end", "it does not");
    }
  }
}

template <class Sweep>
void judge(ConsumerBench& bench, Check& check, Sweep&& sweep) {
  for (const NdkConsumerTerms& terms : {NdkConsumerTerms{.behaviour = "answers=later"}, NdkConsumerTerms{.behaviour = "answers=drawn"},
                                        NdkConsumerTerms{.behaviour = "strict", .version = {1, 1}}}) {
    const auto ndk = bench.make_ndk(terms);
    judge_sweep(*ndk, check, sweep);
  }
}

}  // namespace

CONFORMANCE_CASE(ndk_consumer_makes_everything_inside_an_event, "ndk.consumer.sge-token-unknown", roles::consumer) {
  for (const bool shares : {false, true}) {
    judge(bench, check, [&](ConsumerStage& stage) { sweep_haste(stage, check, shares); });
  }
  judge(bench, check, [&](ConsumerStage& stage) { sweep_hasty_fast_regions(stage, check); });
}

CONFORMANCE_CASE(ndk_consumer_gives_up_what_is_being_made, "ndk.consumer.connect-twice", roles::consumer) {
  for (const bool shares : {false, true}) {
    judge(bench, check, [&](ConsumerStage& stage) { sweep_given_up(stage, check, shares); });
    judge(bench, check, [&](ConsumerStage& stage) { sweep_hasty_answers(stage, check, shares); });
  }
}

}  // namespace fb::conformance
