// Data is where it was written, all of it and nothing else.
#include "conformance/cases/nvme/reset.h"
#include "conformance/cases/nvme/scene.h"
#include "wire/nvme/logs.h"

namespace fb::conformance {

namespace {

constexpr std::uint64_t kLba = 64;
constexpr std::uint8_t kBefore = 0x2B;

/// Sixteen blocks, or more in lanes of long transfers, of which a case changes the middle.
class Neighbours {
 public:
  static constexpr std::uint32_t kFirst = 6, kBehind = 6;
  Neighbours(IoScene& scene, Check& check) : count(scene.count(4)), scene_(scene), check_(check) {
    const std::uint32_t all = kFirst + count + kBehind, piece = std::max(count, 16u);
    for (std::uint32_t at = 0; at < all; at += piece) {
      const Bytes part = scene.prepare(check, kLba + at, kBefore, std::min(piece, all - at));
      before_.insert(before_.end(), part.begin(), part.end());
    }
  }
  /// Blocks [from, from + blocks) of them are as they were.
  void unchanged(std::uint32_t from, std::uint32_t blocks, std::string_view what) {
    const auto reply = scene_.read(kLba + from, blocks);
    check_.require_success(reply, "Read");
    const ByteView whole = before_;
    check_.bytes(what, reply.data, whole.subspan(std::size_t{from} * scene_.block_bytes, std::size_t{blocks} * scene_.block_bytes));
  }
  void outside_unchanged() {
    unchanged(0, kFirst, "the blocks before");
    unchanged(kFirst + count, kBehind, "the blocks behind");
  }
  const std::uint32_t count;  ///< of the middle

 private:
  IoScene& scene_;
  Check& check_;
  Bytes before_;
};

}  // namespace

CONFORMANCE_CASE(writes_of_any_size_arrive, "nvme.write.sizes", roles::controller, needs(has_namespace)) {
  IoScene scene(bench);
  const std::uint64_t most = bench.declared().transfer_max();
  std::uint8_t mark = 1;
  for (const std::uint32_t count : {1u, 2u, 3u, 7u, 8u, 9u, 15u, 16u, 17u, 31u, 64u, 100u, 128u, 200u}) {
    if (most != 0 && std::uint64_t{count} * scene.block_bytes > most) break;
    const Bytes data = pattern(mark++, count, scene.block_bytes);
    const std::string what = std::to_string(count) + " blocks";
    if (!check.success(scene.write(kLba + count, data), "Write of " + what)) return;
    const auto reply = scene.read(kLba + count, count);
    if (!check.success(reply, "Read of " + what)) return;
    if (!check.bytes(what, reply.data, data)) return;
  }
}

CONFORMANCE_CASE(writes_leave_their_neighbours, "nvme.write.neighbours", roles::controller, needs(has_namespace)) {
  IoScene scene(bench);
  Neighbours around(scene, check);
  const Bytes data = pattern(0x77, around.count, scene.block_bytes);
  check.precondition_success(scene.write(kLba + Neighbours::kFirst, data), "Write");
  around.outside_unchanged();
}

CONFORMANCE_CASE(writes_leave_other_namespaces, "nvme.write.namespace", roles::controller, needs(has_two_namespaces)) {
  IoScene scene(bench);
  const host::NamespaceFacts& other = bench.declared().namespaces[1];
  const Bytes theirs = pattern(0x44, 8, other.layout.bytes());
  check.precondition_success(scene.io.send(host::write(other.nsid, kLba, 8), theirs).wait(), "Write to the other");
  check.precondition_success(scene.write(kLba, pattern(0x11, 8, scene.block_bytes)), "Write to the first");
  const auto reply = scene.io.send(host::read(other.nsid, kLba, 8), theirs.size()).wait();
  check.require_success(reply, "Read");
  check.bytes("the blocks of the other namespace", reply.data, theirs);
}

CONFORMANCE_CASE(write_zeroes_leaves_its_neighbours, "nvme.write-zeroes.neighbours", roles::controller, needs(has_namespace),
                 needs(claims_oncs<nvme::oncs_bits::write_zeroes>)) {
  IoScene scene(bench);
  Neighbours around(scene, check);
  const auto command = host::write_zeroes(scene.nsid, scene.at(kLba + Neighbours::kFirst), around.count);
  check.precondition_success(scene.io.send(command).wait(), "Write Zeroes");
  around.outside_unchanged();
}

CONFORMANCE_CASE(deallocation_keeps_to_its_ranges, "nvme.deallocate.ranges", roles::controller, needs(has_namespace),
                 needs(claims_oncs<nvme::oncs_bits::dataset_management>)) {
  IoScene scene(bench);
  Neighbours around(scene, check);
  Bytes ranges;
  for (const std::uint64_t first : {2u, 10u}) {
    const auto range = host::dsm_range(scene.at(kLba + first), 2);
    ranges.insert(ranges.end(), range.bytes().begin(), range.bytes().end());
  }
  check.precondition_success(scene.io.send(host::deallocate(scene.nsid, 2), ranges).wait(), "Dataset Management");
  around.unchanged(0, 2, "the blocks before the first range");
  around.unchanged(4, 6, "the blocks between the ranges");
  around.unchanged(12, 4, "the blocks behind the second range");
}

CONFORMANCE_CASE(compare_keeps_to_its_blocks, "nvme.compare.neighbours", roles::controller, needs(has_namespace),
                 needs(claims_oncs<nvme::oncs_bits::compare>)) {
  IoScene scene(bench);
  Neighbours around(scene, check);
  const Bytes data = pattern(0x55, around.count, scene.block_bytes);
  check.precondition_success(scene.write(kLba + Neighbours::kFirst, data), "Write");
  check.success(scene.compare(kLba + Neighbours::kFirst, data), "Compare");
}

CONFORMANCE_CASE(queues_see_the_same_data, "nvme.queues.data", roles::controller, needs(has_namespace)) {
  IoScene scene(bench);
  host::RawQueue& other = scene.association.open_io(bench.io_qid(1));
  // Health counters count the commands of every queue, which the oracle judges.
  const auto read_health = [&] {
    const auto health = host::get_log(nvme::LogPage::smart, nvme::SmartLog::size);
    check.precondition_success(scene.association.admin().send(health, nvme::SmartLog::size).wait(), "Get Log Page 02h");
  };
  read_health();
  for (std::uint8_t mark = 1; mark <= 8; ++mark) {
    const Bytes data = pattern(mark, 4, scene.block_bytes);
    check.precondition_success(scene.write(kLba, data), "Write through the first queue");
    const auto reply = other.send(host::read(scene.nsid, scene.at(kLba), 4), data.size()).wait();
    check.require_success(reply, "Read through the second queue");
    if (!check.bytes("data through the second queue", reply.data, data)) return;
  }
  read_health();
}

CONFORMANCE_CASE(full_queues_keep_commands_apart, "nvme.queues.depth", roles::controller, needs(has_namespace)) {
  IoScene scene(bench);
  constexpr std::uint64_t kApart = 4;
  const std::size_t depth = std::min<std::size_t>(bench.declared().queue_entries_max() - 1, 31);
  const auto data_of = [&](std::size_t i) { return pattern(static_cast<std::uint8_t>(16 + i), 2, scene.block_bytes); };
  std::vector<Op<host::RawReply>> sent;
  for (std::size_t i = 0; i < depth; ++i) {
    sent.push_back(scene.io.send(host::write(scene.nsid, scene.at(kLba + i * kApart), 2), data_of(i)));
  }
  for (auto& one : sent) check.precondition_success(one.wait(), "Write");
  sent.clear();
  for (std::size_t i = 0; i < depth; ++i) {
    sent.push_back(scene.io.send(host::read(scene.nsid, scene.at(kLba + i * kApart), 2), std::size_t{2} * scene.block_bytes));
  }
  for (std::size_t i = 0; i < depth; ++i) {
    const auto reply = sent[i].wait();
    if (!check.success(reply, "Read " + std::to_string(i))) return;
    if (!check.bytes("data of Read " + std::to_string(i), reply.data, data_of(i))) return;
  }
}

CONFORMANCE_CASE(later_writes_win, "nvme.write.last-wins", roles::controller, needs(has_namespace)) {
  IoScene scene(bench);
  Bytes data;
  for (std::uint8_t mark = 1; mark <= 5; ++mark) data = scene.prepare(check, kLba, mark, 8);
  const auto reply = scene.read(kLba, 8);
  check.require_success(reply, "Read");
  check.bytes("data", reply.data, data);
}

CONFORMANCE_CASE(writes_survive_a_controller_reset, "nvme.write.survives-reset", roles::controller, needs(has_namespace)) {
  IoScene scene(bench);
  const Bytes data = scene.prepare(check, kLba, 0x66, 8);
  host::RawQueue& io = reset_controller(bench, scene.association, scene.io);
  const auto reply = io.send(host::read(scene.nsid, scene.at(kLba), 8), std::size_t{8} * scene.block_bytes).wait();
  check.require_success(reply, "Read");
  check.bytes("data", reply.data, data);
}

}  // namespace fb::conformance
