#include "cli/io_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

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

IoRun::IoRun(World& world, host::Namespace& space, const IoOptions& options)
    : world_(world), space_(space), options_(options) {
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

void IoRun::fill(std::uint64_t lba, MutableBytes data) const {
  std::uint64_t word = mix64(options_.seed ^ mix64(lba));
  for (std::size_t at = 0; at + 8 <= data.size(); at += 8) {
    store_le<std::uint64_t>(data.data() + at, word);
    word = word * 0x5851F42D4C957F2Du + 0x14057B7EF767814Fu;
  }
}

bool IoRun::next(Request& request) {
  if (failed() || next_lba_ >= blocks_total_) return false;
  const auto blocks = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(blocks_each_, blocks_total_ - next_lba_));
  request.opcode = opcode_;
  request.lba = next_lba_;
  request.blocks = blocks;
  request.data = MutableBytes(request.memory).first(std::size_t{blocks} * space_.block_bytes());
  if (opcode_ == nvme::IoOpcode::write) fill(request.lba, request.data);
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
      failure_ = fmt::format("{} of LBA {}: {}", read ? "read" : "write", request.lba,
                             nvme::to_string(status, false));
    }
    return;
  }
  if (read && options_.verify) {
    const MutableBytes wanted = MutableBytes(expected_).first(request.data.size());
    fill(request.lba, wanted);
    const auto differs = std::mismatch(wanted.begin(), wanted.end(), request.data.begin());
    if (differs.first != wanted.end() && !failed()) {
      const auto at = static_cast<std::uint64_t>(differs.first - wanted.begin());
      failure_ = fmt::format("LBA {} differs from byte {} on", request.lba + at / space_.block_bytes(),
                             at % space_.block_bytes());
    }
  }
  next(request);
}

void IoRun::progress(const char* what) {
  if (!options_.show_progress || world_.now() - shown_ < Duration::ms(500)) return;
  shown_ = world_.now();
  std::fprintf(stderr, "\r\033[K%s %llu of %llu MiB", what,
               static_cast<unsigned long long>(blocks_done_ * space_.block_bytes() >> 20),
               static_cast<unsigned long long>(blocks_total_ * space_.block_bytes() >> 20));
}

IoFigures IoRun::pass(nvme::IoOpcode opcode, const char* what) {
  opcode_ = opcode;
  next_lba_ = blocks_done_ = 0;
  latencies_ns_.clear();
  started_ = shown_ = world_.now();
  for (auto& request : requests_) {
    if (!next(*request)) break;
  }
  while (in_flight_ > 0) {
    world_.run_until([&] { return in_flight_ == 0; }, Duration::ms(500));
    progress(what);
  }
  if (options_.show_progress) std::fprintf(stderr, "\r\033[K");
  IoFigures figures;
  figures.commands = latencies_ns_.size();
  figures.bytes = blocks_done_ * space_.block_bytes();
  figures.elapsed = world_.now() - started_;
  if (!latencies_ns_.empty()) {
    std::sort(latencies_ns_.begin(), latencies_ns_.end());
    const std::size_t last = latencies_ns_.size() - 1;
    figures.latency_median = Duration::ns(latencies_ns_[last / 2]);
    figures.latency_99 = Duration::ns(latencies_ns_[last * 99 / 100]);
    figures.latency_max = Duration::ns(latencies_ns_[last]);
  }
  return figures;
}

IoFigures IoRun::write_all() { return pass(nvme::IoOpcode::write, "writing"); }
IoFigures IoRun::read_all() { return pass(nvme::IoOpcode::read, "reading"); }

}  // namespace fb::cli
