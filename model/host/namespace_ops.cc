// Operations of any length: split into requests, put together again.
#include <algorithm>
#include <array>
#include <deque>

#include "model/host/fault_points.h"
#include "model/host/namespace.h"

namespace fb::host {

class Namespace::Chunk final : public IoRequest {
 public:
  Chunk(Namespace& name_space, Split& split) : namespace_(name_space), split_(split) {}
  void on_done(nvme::Status status) override { namespace_.chunk_done(split_, status); }
  std::array<std::uint8_t, nvme::DsmRange::size> range = {};
  Bytes whole;  ///< Compare, where the controller strips tags: blocks with them. Copy: its ranges

 private:
  Namespace& namespace_;
  Split& split_;
};

/// One operation: settled when its last chunk is done, with the first error in order of arrival.
struct Namespace::Split {
  Promise<nvme::Status> promise;
  std::deque<Chunk> chunks;
  std::size_t left = 0;
  std::size_t next = 0;  ///< chunk to be sent
  bool ordered = false;  ///< one after the other
  nvme::Status status;
  std::list<std::unique_ptr<Split>>::iterator place;
};

class Namespace::FusedHalf final : public Command {
 public:
  FusedHalf(Namespace& name_space, Fused& fused) : namespace_(name_space), fused_(fused) {}
  void on_complete(const nvme::Cqe& cqe, bool) override {
    status = cqe.get(nvme::cqe::status).of(nvme::StatusFamily::command_set);
    namespace_.fused_done(fused_);
  }
  nvme::Status status;
  Bytes whole;  ///< the Compare's blocks, where the controller strips tags

 private:
  Namespace& namespace_;
  Fused& fused_;
};

struct Namespace::Fused {
  explicit Fused(Namespace& name_space) : compare(name_space, *this), write(name_space, *this) {}
  Promise<std::pair<nvme::Status, nvme::Status>> promise;
  FusedHalf compare;
  FusedHalf write;
  unsigned left = 2;
  std::list<std::unique_ptr<Fused>>::iterator place;
};

Namespace::Namespace(World& world, std::string subnqn, const NamespaceFacts& facts, PathPolicy policy)
    : world_(world), subnqn_(std::move(subnqn)), facts_(facts), paths_(policy) {}

Namespace::~Namespace() { BENCH_ASSERT(first_waiting_ == nullptr, "requests are finished before their namespace goes"); }

namespace {

constexpr std::uint64_t kRequestBlocksMax = std::uint64_t{1} << 16;
constexpr std::uint64_t kRangeBlocksMax = 0xFFFFFFFF;

std::string what_text(nvme::IoOpcode opcode, std::uint64_t lba, std::uint64_t blocks) {
  return std::string(nvme::io_opcode_name(static_cast<std::uint8_t>(opcode))) + " of " + std::to_string(blocks) + " blocks at " +
         std::to_string(lba);
}

}  // namespace

Op<nvme::Status> Namespace::split(nvme::IoOpcode opcode, std::uint64_t lba, std::uint64_t blocks, MutableBytes data,
                                  std::uint64_t chunk_blocks) {
  auto made = make_op<nvme::Status>(world_, what_text(opcode, lba, blocks));
  if (facts_.key_value() && opcode != nvme::IoOpcode::flush) {
    made.promise.settle(nvme::sc::invalid_opcode);
    return made.op;
  }
  splits_.push_back(std::make_unique<Split>());
  Split& split = *splits_.back();
  split.place = std::prev(splits_.end());
  split.promise = std::move(made.promise);
  const bool moves_data = !data.empty();
  std::uint64_t at = 0;
  do {
    const std::uint64_t count = std::min(blocks_at(opcode, lba + at, chunk_blocks), blocks - at);
    Chunk& chunk = split.chunks.emplace_back(*this, split);
    chunk.opcode = opcode;
    chunk.lba = lba + at;
    if (opcode == nvme::IoOpcode::dataset_management) {
      const auto range = dsm_range(lba + at, static_cast<std::uint32_t>(count));
      std::copy(range.bytes().begin(), range.bytes().end(), chunk.range.begin());
      chunk.data = chunk.range;
    } else {
      chunk.blocks = static_cast<std::uint32_t>(count);
      if (moves_data) {
        chunk.data = data.subspan(at * facts_.block_bytes, count * facts_.block_bytes);
        if (opcode == nvme::IoOpcode::compare && facts_.strips()) {
          chunk.whole = with_tags(chunk.lba, chunk.data);
          chunk.data = chunk.whole;
        }
      }
    }
    at += count;
  } while (at < blocks);
  return send_all(split, opcode, std::move(made.op));
}

/// All chunks at once, or those of an ordered operation one after the other.
Op<nvme::Status> Namespace::send_all(Split& split, nvme::IoOpcode opcode, Op<nvme::Status> op) {
  split.left = split.chunks.size();
  const bool writes = opcode == nvme::IoOpcode::write || opcode == nvme::IoOpcode::write_zeroes ||
                      opcode == nvme::IoOpcode::write_uncorrectable || opcode == nvme::IoOpcode::copy;
  split.ordered = facts_.zoned() && writes && !departs(point::zone_write_unordered);
  split.next = split.ordered ? 1 : split.left;
  // The last chunk may be done before submit() returns: then the split is gone.
  const std::size_t count = split.next;
  for (std::size_t i = 0; i < count; ++i) submit(split.chunks[i]);
  return op;
}

std::uint64_t Namespace::blocks_at(nvme::IoOpcode opcode, std::uint64_t lba, std::uint64_t chunk_blocks) const {
  const bool whole = !facts_.zoned() || opcode == nvme::IoOpcode::dataset_management || opcode == nvme::IoOpcode::flush ||
                     departs(point::zone_boundary_crossed);
  if (whole) return chunk_blocks;
  return std::min(chunk_blocks, facts_.zones.zone_blocks - lba % facts_.zones.zone_blocks);
}

bool Namespace::departs(std::string_view name) const {
  const auto& all = paths_.all();
  return !all.empty() && all.front().controller->departs(name);
}

void Namespace::chunk_done(Split& split, nvme::Status status) {
  if (split.status.ok()) split.status = status;
  // Behind a piece that failed the rest of an ordered write has no place.
  if (split.ordered && !status.ok()) split.left = 1;
  if (--split.left > 0) {
    if (split.ordered) submit(split.chunks[split.next++]);
    return;
  }
  const std::unique_ptr<Split> held = std::move(*split.place);
  splits_.erase(held->place);
  held->promise.settle(held->status);
}

namespace {

Op<nvme::Status> settled(World& world, nvme::Status status) {
  auto made = make_op<nvme::Status>(world, "nothing");
  made.promise.settle(status);
  return made.op;
}

}  // namespace

Op<nvme::Status> Namespace::read(std::uint64_t lba, MutableBytes data) {
  if (data.size() % facts_.block_bytes != 0) return settled(world_, nvme::sc::invalid_field);
  if (data.empty()) return settled(world_, {});
  return split(nvme::IoOpcode::read, lba, data.size() / facts_.block_bytes, data, max_transfer() / facts_.block_bytes);
}

Op<nvme::Status> Namespace::write(std::uint64_t lba, MutableBytes data) {
  if (data.size() % facts_.block_bytes != 0) return settled(world_, nvme::sc::invalid_field);
  if (data.empty()) return settled(world_, {});
  return split(nvme::IoOpcode::write, lba, data.size() / facts_.block_bytes, data, max_transfer() / facts_.block_bytes);
}

Op<nvme::Status> Namespace::compare(std::uint64_t lba, MutableBytes data) {
  if (data.size() % facts_.block_bytes != 0) return settled(world_, nvme::sc::invalid_field);
  if (!claimed(nvme::oncs_bits::compare)) return settled(world_, nvme::sc::invalid_opcode);
  if (data.empty()) return settled(world_, {});
  const std::uint64_t at_once = std::max<std::uint64_t>(max_transfer() / facts_.layout.bytes(), 1);
  return split(nvme::IoOpcode::compare, lba, data.size() / facts_.block_bytes, data, at_once);
}

Op<nvme::Status> Namespace::flush() { return split(nvme::IoOpcode::flush, 0, 0, {}, 1); }

namespace {

/// A controller that bounds a command's size announces the size, and not the command in ONCS.
bool has_limit(const std::vector<Path>& paths, std::uint64_t ControllerFacts::*limit) {
  return std::any_of(paths.begin(), paths.end(), [&](const Path& path) { return path.controller->facts().*limit != 0; });
}

}  // namespace

bool Namespace::claimed(std::uint16_t oncs_bit) const {
  const auto& all = paths_.all();
  if (departs(point::command_unclaimed)) return true;
  // Who is on its way has said nothing yet: then the command waits, and the controller decides.
  return all.empty() || std::any_of(all.begin(), all.end(), [&](const Path& path) {
           return path.controller->facts().identify.empty() || (path.controller->facts().oncs & oncs_bit) != 0;
         });
}

Op<nvme::Status> Namespace::write_zeroes(std::uint64_t lba, std::uint64_t blocks) {
  const bool limited = has_limit(paths_.all(), &ControllerFacts::write_zeroes_max);
  if (!limited && !claimed(nvme::oncs_bits::write_zeroes)) return settled(world_, nvme::sc::invalid_opcode);
  if (blocks == 0) return settled(world_, {});
  return split(nvme::IoOpcode::write_zeroes, lba, blocks, {}, limit_blocks(&ControllerFacts::write_zeroes_max));
}

Op<nvme::Status> Namespace::verify(std::uint64_t lba, std::uint64_t blocks) {
  const bool limited = has_limit(paths_.all(), &ControllerFacts::verify_max);
  if (!limited && !claimed(nvme::oncs_bits::verify)) return settled(world_, nvme::sc::invalid_opcode);
  if (blocks == 0) return settled(world_, {});
  return split(nvme::IoOpcode::verify, lba, blocks, {}, limit_blocks(&ControllerFacts::verify_max));
}

Op<nvme::Status> Namespace::write_uncorrectable(std::uint64_t lba, std::uint64_t blocks) {
  if (!claimed(nvme::oncs_bits::write_uncorrectable)) return settled(world_, nvme::sc::invalid_opcode);
  if (blocks == 0) return settled(world_, {});
  return split(nvme::IoOpcode::write_uncorrectable, lba, blocks, {}, limit_blocks(&ControllerFacts::write_uncorrectable_max));
}

Op<nvme::Status> Namespace::deallocate(std::uint64_t lba, std::uint64_t blocks) {
  if (!claimed(nvme::oncs_bits::dataset_management)) return settled(world_, nvme::sc::invalid_opcode);
  if (blocks == 0) return settled(world_, {});
  return split(nvme::IoOpcode::dataset_management, lba, blocks, {}, kRangeBlocksMax);
}

Op<nvme::Status> Namespace::copy(const std::vector<BlockRun>& from, std::uint64_t to) {
  CopyLimits limits = facts_.copy;
  if (departs(point::copy_limits_ignored)) limits = {.range_blocks = 1u << 16, .total_blocks = 1u << 20, .ranges = 128};
  const bool possible = limits.ranges != 0 && limits.range_blocks != 0 && limits.total_blocks != 0;
  if (!claimed(nvme::oncs_bits::copy) || !possible) return settled(world_, nvme::sc::invalid_opcode);
  std::uint64_t whole = 0;
  for (const BlockRun& run : from) whole += run.blocks;
  for (const BlockRun& run : from) {
    const bool overlaps = run.lba < to + whole && to < run.lba + run.blocks;
    if (overlaps) return settled(world_, nvme::sc::overlapping_io_range);
  }
  if (whole == 0) return settled(world_, {});
  auto made = make_op<nvme::Status>(world_, what_text(nvme::IoOpcode::copy, to, whole));
  splits_.push_back(std::make_unique<Split>());
  Split& split = *splits_.back();
  split.place = std::prev(splits_.end());
  split.promise = std::move(made.promise);
  Chunk* chunk = nullptr;
  std::uint64_t ranges = 0, left = 0, at = to;
  for (const BlockRun& run : from) {
    for (std::uint64_t done = 0; done < run.blocks;) {
      if (chunk == nullptr || ranges == limits.ranges || left == 0) {
        chunk = &split.chunks.emplace_back(*this, split);
        chunk->opcode = nvme::IoOpcode::copy;
        chunk->lba = at;
        ranges = 0;
        left = blocks_at(nvme::IoOpcode::copy, at, limits.total_blocks);
      }
      const std::uint64_t count = std::min({run.blocks - done, std::uint64_t{limits.range_blocks}, left});
      const std::uint64_t lba = run.lba + done;
      const nvme::CopySource source{
          .slba = lba, .blocks = static_cast<std::uint32_t>(count), .tags = {.reference = lba & facts_.layout.reference_mask()}};
      const Bytes range = nvme::write_copy_source(source, copy_format(), facts_.layout);
      chunk->whole.insert(chunk->whole.end(), range.begin(), range.end());
      chunk->data = chunk->whole;
      done += count, at += count, left -= count;
      ++ranges;
    }
  }
  return send_all(split, nvme::IoOpcode::copy, std::move(made.op));
}

std::uint64_t Namespace::limit_blocks(std::uint64_t ControllerFacts::*limit) const {
  std::uint64_t blocks = kRequestBlocksMax;
  for (const Path& path : paths_.all()) {
    const std::uint64_t bytes = path.controller->facts().*limit;
    if (bytes != 0 && !departs(point::command_limits_ignored)) blocks = std::min(blocks, std::max<std::uint64_t>(1, bytes / block_bytes()));
  }
  return blocks;
}

Op<std::pair<nvme::Status, nvme::Status>> Namespace::compare_and_write(std::uint64_t lba, MutableBytes expected, MutableBytes data) {
  using Pair = std::pair<nvme::Status, nvme::Status>;
  const std::uint64_t blocks = data.size() / facts_.block_bytes;
  auto made = make_op<Pair>(world_, "fused Compare and Write at " + std::to_string(lba));
  const bool fits = !facts_.key_value() && blocks > 0 && data.size() % facts_.block_bytes == 0 && expected.size() == data.size() &&
                    data.size() <= max_transfer();
  Path* const path = paths_.choose();
  // Two entries are one command at a time.
  const auto can_fuse = [](Controller& controller) {
    const Queue* const queue = controller.io_queue(0);
    return ((controller.facts().fuses & nvme::fuses_bits::compare_and_write) != 0 || controller.departs(point::command_unclaimed)) &&
           (queue == nullptr || queue->entries() > 2);
  };
  const bool fuses = path == nullptr || can_fuse(*path->controller);
  if (!fits || path == nullptr || !fuses) {
    const nvme::Status status = !fits || !fuses ? nvme::sc::invalid_field : no_path_status();
    made.promise.settle({status, status});
    return made.op;
  }
  fused_.push_back(std::make_unique<Fused>(*this));
  Fused& fused = *fused_.back();
  fused.place = std::prev(fused_.end());
  fused.promise = std::move(made.promise);
  const auto count = static_cast<std::uint32_t>(blocks);
  fused.compare.sqe = as_sqe(host::compare(facts_.nsid, lba, count));
  fused.write.sqe = as_sqe(host::write(facts_.nsid, lba, count));
  fused.compare.transfer.direction = transport::Direction::to_controller;
  fused.compare.transfer.data = expected;
  if (facts_.layout.is_protected()) {
    order_protection(fused.compare.sqe, nvme::IoOpcode::compare, lba);
    order_protection(fused.write.sqe, nvme::IoOpcode::write, lba);
    if (facts_.protection == ProtectionUse::host) write_tags(lba, data);
    if (!facts_.strips()) {
      write_tags(lba, expected);
    } else {
      fused.compare.whole = with_tags(lba, expected);
      fused.compare.transfer.data = fused.compare.whole;
    }
  }
  fused.write.transfer.direction = transport::Direction::to_controller;
  fused.write.transfer.data = data;
  Queue* const queue = path->controller->io_queue(0);
  if (queue == nullptr || !queue->submit_fused(fused.compare, fused.write)) {
    fused.compare.status = fused.write.status = nvme::sc::host_pathing_error;
    fused.left = 1;
    fused_done(fused);
  }
  return made.op;
}

void Namespace::fused_done(Fused& fused) {
  if (--fused.left > 0) return;
  const std::unique_ptr<Fused> held = std::move(*fused.place);
  fused_.erase(held->place);
  held->promise.settle({held->compare.status, held->write.status});
}

}  // namespace fb::host
