#include "cli/io_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace fb::cli {

class IoRun::Request final : public host::IoRequest {
 public:
  Request(IoRun& run, std::size_t bytes) : run_(run), memory(bytes) {}
  void on_done(nvme::Status status) override { run_.done(*this, status); }

 private:
  IoRun& run_;

 public:
  Bytes memory;
  Instant started;
};

IoRun::IoRun(World& world, host::Namespace& space, const IoOptions& options) : world_(world), space_(space), options_(options) {
  const std::uint32_t block = space.block_bytes();
  blocks_total_ = std::min(options.bytes / block, space.blocks());
  const std::uint32_t each = std::max(block, std::min(options.block_bytes, space.max_transfer()));
  blocks_each_ = each / block;
  expected_.resize(std::size_t{blocks_each_} * block);
  for (std::uint16_t i = 0; i < options.queue_depth; ++i) {
    requests_.push_back(std::make_unique<Request>(*this, expected_.size()));
  }
}

IoRun::~IoRun() = default;

void fill_pattern(std::uint64_t seed, std::uint64_t lba, MutableBytes data) {
  std::uint64_t word = mix64(seed ^ mix64(lba));
  for (std::size_t at = 0; at + 8 <= data.size(); at += 8) {
    store_le<std::uint64_t>(data.data() + at, word);
    word = word * 0x5851F42D4C957F2Du + 0x14057B7EF767814Fu;
  }
}

void keep_tags(const host::Namespace& space, MutableBytes wanted, ByteView read) {
  const nvme::BlockLayout& layout = space.facts().layout;
  if (!layout.is_protected() || space.facts().strips()) return;
  for (std::size_t at = layout.tuple_at(); at < wanted.size(); at += layout.bytes()) {
    std::copy_n(read.begin() + static_cast<std::ptrdiff_t>(at), layout.tuple_bytes(), wanted.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

bool IoRun::next(Request& request) {
  if (failed() || next_lba_ >= end_lba_) return false;
  const auto blocks = static_cast<std::uint32_t>(std::min<std::uint64_t>(blocks_each_, end_lba_ - next_lba_));
  request.opcode = opcode_;
  request.lba = next_lba_;
  request.blocks = blocks;
  request.data = MutableBytes(request.memory).first(std::size_t{blocks} * space_.block_bytes());
  if (opcode_ == nvme::IoOpcode::write) fill_pattern(options_.seed, request.lba, request.data);
  next_lba_ += blocks;
  request.started = world_.now();
  ++in_flight_;
  space_.submit(request);
  return true;
}

void IoRun::done(Request& request, nvme::Status status) {
  --in_flight_;
  blocks_done_ += request.blocks;
  latencies_ns_.push_back((world_.now() - request.started).count_ns());
  const bool read = opcode_ == nvme::IoOpcode::read;
  if (!status.ok()) {
    if (!failed()) {
      failure_ = fmt::format("{} of LBA {}: {}", read ? "read" : "write", request.lba, nvme::to_string(status));
    }
    return;
  }
  if (read && options_.verify) {
    const MutableBytes wanted = MutableBytes(expected_).first(request.data.size());
    fill_pattern(options_.seed, request.lba, wanted);
    keep_tags(space_, wanted, request.data);
    const auto differs = std::mismatch(wanted.begin(), wanted.end(), request.data.begin());
    if (differs.first != wanted.end() && !failed()) {
      const auto at = static_cast<std::uint64_t>(differs.first - wanted.begin());
      failure_ = fmt::format("LBA {} differs from byte {} on", request.lba + at / space_.block_bytes(), at % space_.block_bytes());
    }
  }
  next(request);
}

void IoRun::progress(const char* what) {
  if (!options_.show_progress || world_.now() - shown_ < Duration::ms(500)) return;
  shown_ = world_.now();
  std::fprintf(stderr, "\r\033[K%s %llu of %llu MiB", what, static_cast<unsigned long long>(blocks_done_ * space_.block_bytes() >> 20),
               static_cast<unsigned long long>(blocks_total_ * space_.block_bytes() >> 20));
}

void IoRun::begin(nvme::IoOpcode opcode) {
  opcode_ = opcode;
  blocks_done_ = 0;
  latencies_ns_.clear();
  started_ = shown_ = world_.now();
}

void IoRun::transfer(std::uint64_t first, std::uint64_t end, const char* what) {
  next_lba_ = first;
  end_lba_ = end;
  for (auto& request : requests_) {
    if (!next(*request)) break;
  }
  while (in_flight_ > 0) {
    world_.run_until([&] { return in_flight_ == 0; }, Duration::ms(500));
    progress(what);
  }
}

IoFigures IoRun::figures() {
  if (options_.show_progress) std::fprintf(stderr, "\r\033[K");
  return figures_of(latencies_ns_, blocks_done_ * space_.block_bytes(), world_.now() - started_);
}

IoFigures figures_of(std::vector<std::int64_t>& latencies_ns, std::uint64_t bytes, Duration elapsed) {
  IoFigures figures;
  figures.commands = latencies_ns.size();
  figures.bytes = bytes;
  figures.elapsed = elapsed;
  if (latencies_ns.empty()) return figures;
  std::sort(latencies_ns.begin(), latencies_ns.end());
  const auto within = [&](std::uint32_t thousandths) {
    const std::size_t count = latencies_ns.size();
    const std::size_t rank = (count * thousandths + 99'999) / 100'000;
    return Duration::ns(latencies_ns[std::max<std::size_t>(rank, 1) - 1]);
  };
  figures.latency_median = within(50'000);
  figures.latency_99 = within(99'000);
  figures.latency_least = Duration::ns(latencies_ns.front());
  figures.latency_max = Duration::ns(latencies_ns.back());
  std::int64_t sum_ns = 0;
  for (const std::int64_t one : latencies_ns) sum_ns += one;
  figures.latency_mean = Duration::ns(sum_ns / static_cast<std::int64_t>(latencies_ns.size()));
  for (const std::uint32_t one : kPercentiles) figures.latency_percentiles.push_back(within(one));
  std::int64_t below_ns = 1;
  std::uint64_t commands = 0;
  for (const std::int64_t one : latencies_ns) {
    while (one >= below_ns) {
      if (commands > 0 || !figures.histogram.empty()) figures.histogram.push_back({Duration::ns(below_ns), std::exchange(commands, 0)});
      below_ns *= 2;
    }
    ++commands;
  }
  figures.histogram.push_back({Duration::ns(below_ns), commands});
  return figures;
}

IoFigures IoRun::write_all() {
  begin(nvme::IoOpcode::write);
  const std::uint64_t segment = std::max<std::uint64_t>(options_.segment_bytes / space_.block_bytes(), 1);
  const auto losses = [&] { return options_.losses ? options_.losses() : 0u; };
  std::uint64_t first = 0;
  while (first < blocks_total_ && !failed()) {
    const std::uint64_t end = std::min(first + segment, blocks_total_);
    const unsigned before = losses();
    transfer(first, end, "writing");
    if (failed()) break;
    const nvme::Status flushed = space_.flush().wait();
    if (!flushed.ok()) {
      failure_ = "flush: " + nvme::to_string(flushed);
    } else if (losses() != before) {
      ++repeated_;
    } else {
      first = end;
    }
  }
  return figures();
}

IoFigures IoRun::read_all() {
  begin(nvme::IoOpcode::read);
  transfer(0, blocks_total_, "reading");
  return figures();
}

}  // namespace fb::cli
