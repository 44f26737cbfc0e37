// Many commands at once over RDMA, on devices that have little: lists of descriptors, plain keys and data in capsules, on several
// queues. Whatever a controller has to let wait, each command moves the data of its own memory.
#include <algorithm>

#include "conformance/cases/fabrics/common.h"
#include "conformance/cases/fabrics/own_device.h"

namespace fb::conformance {

using namespace fabrics_cases;

namespace {

using nvme::SglDescriptor;

constexpr std::uint8_t kUntouched = 0xEE;
constexpr unsigned kAtOnce = 20;
constexpr std::uint32_t kMostBytes = 8192;
/// Memory of a command: its pieces, and gaps between them.
constexpr std::uint32_t kRoom = 2 * kMostBytes;

/// Neither reads nor places in queues for all that the commands need.
void few_reads(EmbeddedSetup& setup) {
  setup.limits.max_reads = 2;
  setup.limits.max_queue_entries = 160;
}
/// All queues take their receive buffers from one pool.
void shared_receives(EmbeddedSetup& setup) { setup.fabric.receive_memory_max = 1; }
void slow_link(EmbeddedSetup& setup) {
  setup.link.bandwidth = 1'000'000'000;
  setup.link.queue_bytes = 4u << 20;
}

/// The commands of one queue: each has blocks and memory of its own.
class Crowd {
 public:
  Crowd(ControllerBench& bench, Check& check, host::RawQueue& queue, unsigned number)
      : bench_(bench),
        check_(check),
        queue_(queue),
        block_(bench.declared().block_bytes),
        blocks_(std::max(kMostBytes / block_, 1u)),
        first_(bench.first_lba() + std::uint64_t{number} * kAtOnce * blocks_),
        memory_(queue.expose(Bytes(kAtOnce * std::size_t{kRoom}))),
        held_(std::clamp<std::size_t>(queue.options().entries - 2u, 1, kAtOnce)) {
    const unsigned msdbd = bench.declared().identify().get(nvme::id_ctrl::msdbd);
    const std::uint32_t fit = bench.declared().in_capsule_bytes / SglDescriptor::kSize;
    most_ = std::min(msdbd == 0 ? 16u : msdbd, std::max(fit, 1u));
    longer_ = (bench.declared().identify().get(nvme::id_ctrl::sgls) & 1u << 18) != 0;
  }

  /// All commands of a round: at first Writes, then by turns, at last Reads.
  void start(unsigned round, bool reads_alone) {
    std::ranges::fill(memory_.data, kUntouched);
    image_ = memory_.data;
    open_.clear();
    for (std::size_t i = 0; i < held_.size(); ++i) {
      const bool write = held_[i].empty() || (!reads_alone && (i + round) % 2 == 0);
      const std::size_t bytes = write ? (1 + (i * 3 + round) % blocks_) * std::size_t{block_} : held_[i].size();
      if (write) held_[i] = pattern(bytes, static_cast<std::uint8_t>(i * 29 + round * 3 + 1));
      const auto blocks = static_cast<std::uint32_t>(bytes / block_);
      const std::uint64_t lba = first_ + i * blocks_;
      const nvme::Sqe sqe =
          write ? host::as_sqe(host::write(bench_.nsid(), lba, blocks)) : host::as_sqe(host::read(bench_.nsid(), lba, blocks));
      const auto cid = static_cast<std::uint16_t>(0x700 + i);
      open_.push_back(queue_.send_capsule(capsule(sqe, cid, i, round, write), cid));
    }
  }
  void abort_some(RawAssociation& association, std::uint16_t qid) {
    for (std::size_t i = 2; i < held_.size(); i += 5) {
      answered(check_, association.admin().send(host::abort(qid, static_cast<std::uint16_t>(0x700 + i))).wait());
      held_[i].clear();
    }
  }
  void finish(const std::string& when) {
    for (std::size_t i = 0; i < open_.size(); ++i) {
      const host::RawReply reply = answered(check_, open_[i].wait());
      const std::string what = "command " + std::to_string(i) + " of " + std::to_string(open_.size()) + " at once, " + when;
      if (!held_[i].empty()) check_.require_success(reply, what);
      const std::size_t at = i * kRoom;
      if (!held_[i].empty()) check_.bytes("memory of " + what, part(memory_.data, at), part(image_, at));
    }
  }

 private:
  static ByteView part(const Bytes& bytes, std::size_t at) { return ByteView{bytes}.subspan(at, kRoom); }

  /// The capsule of the command, whose data are put into its memory where it is a Write, and expected there otherwise.
  Bytes capsule(const nvme::Sqe& sqe, std::uint16_t cid, std::size_t i, unsigned round, bool write) {
    const Bytes& data = held_[i];
    const auto bytes = static_cast<std::uint32_t>(data.size());
    if (write && (i + round) % 4 == 3 && bytes <= bench_.declared().in_capsule_bytes) {
      return capsule_of(sqe, cid, SglDescriptor::in_capsule(0, bytes), data);
    }
    const auto count = static_cast<std::uint32_t>(1 + (i * 5 + round * 7) % most_);
    // Where that is allowed, the memory of every fourth is larger than its data, by the end of a descriptor and by one more.
    const std::uint64_t most = bench_.declared().transfer_max();
    const bool larger = longer_ && i % 4 == 1 && (most == 0 || bytes + 10 <= most);
    Bytes list;
    SglDescriptor only;
    std::uint32_t done = 0, end = kRoom;
    for (std::uint32_t k = 0; k < count; ++k) {
      const std::uint32_t left = bytes - done;
      // Odd lengths, some of nothing and of one byte; later pieces lie before earlier ones.
      const bool rest = k + 1 == count || (larger && k + 2 == count);
      std::uint32_t length = rest ? left : k % 4 == 2 ? 0 : k % 4 == 1 ? 1 : bytes / count + k % 3;
      length = std::min(length, left);
      const std::uint32_t behind = larger && rest ? 5 : 0;
      end -= length + behind + 1 + k % 5;
      only = memory_.sgl(length + behind, i * kRoom + end);
      const auto words = only.bytes();
      list.insert(list.end(), words.begin(), words.end());
      const auto at = static_cast<std::ptrdiff_t>(i * kRoom + end);
      std::copy_n(data.begin() + done, length, image_.begin() + at);
      if (write) std::copy_n(data.begin() + done, length, memory_.data.begin() + at);
      done += length;
    }
    if (count == 1) return capsule_of(sqe, cid, only, {});
    return capsule_of(sqe, cid, SglDescriptor::list_in_capsule(0, count), list);
  }

  ControllerBench& bench_;
  Check& check_;
  host::RawQueue& queue_;
  std::uint32_t block_, blocks_, most_ = 1;
  bool longer_ = false;  ///< memory may be larger than the data
  std::uint64_t first_;
  host::RawQueue::Exposed& memory_;
  Bytes image_ = {};
  std::vector<Bytes> held_;  ///< what the blocks of each command hold; nothing: not known
  std::vector<Op<host::RawReply>> open_ = {};
};

void crowd(ControllerBench& bench, Check& check, bool aborts) {
  constexpr unsigned kRounds = 5;
  RawAssociation& association = bench.associate();
  const std::vector<host::RawQueue*> queues = open_queues(bench, association);
  std::vector<Crowd> crowds;
  crowds.reserve(queues.size());
  for (host::RawQueue* const queue : queues) crowds.emplace_back(bench, check, *queue, static_cast<unsigned>(crowds.size()));
  for (unsigned round = 0; round <= kRounds; ++round) {
    for (Crowd& one : crowds) one.start(round, round == kRounds);
    for (std::size_t i = 0; i < crowds.size() && aborts && round < kRounds; ++i) {
      crowds[i].abort_some(association, queues[i]->options().qid);
    }
    for (Crowd& one : crowds) one.finish("round " + std::to_string(round));
  }
  expect_association(check, association);
}

}  // namespace

CONFORMANCE_CASE(commands_at_once_move_their_own_data, "fabrics.sgl.list-whole", roles::controller, over_rdma, furnished{&few_reads},
                 needs{&lists_in_capsules}) {
  crowd(bench, check, false);
}

CONFORMANCE_CASE(commands_of_queues_that_share_receives_move_their_own_data, "fabrics.sgl.list-whole", roles::controller, over_rdma,
                 furnished{&shared_receives}, needs{&lists_in_capsules}) {
  crowd(bench, check, false);
}

CONFORMANCE_CASE(commands_beside_aborted_ones_move_their_own_data, "fabrics.sgl.list-whole", roles::controller, over_rdma,
                 furnished([](EmbeddedSetup& setup) {
                   slow_link(setup);
                   few_reads(setup);
                 }),
                 needs{&lists_in_capsules}) {
  crowd(bench, check, true);
}

}  // namespace fb::conformance
