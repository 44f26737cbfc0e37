#include "cli/load_run.h"

#include <fmt/format.h>

#include <algorithm>

namespace fb::cli {

class LoadRun::Request final : public host::IoRequest {
 public:
  Request(LoadRun& run, std::size_t bytes) : memory(bytes), run_(run) {}
  void on_done(nvme::Status status) override { run_.done(*this, status); }

  Bytes memory;
  Instant started;
  std::uint64_t piece = 0;
  bool compared = false;  ///< what it reads has been written by this run

 private:
  LoadRun& run_;
};

LoadRun::LoadRun(World& world, host::Namespace& space, const LoadOptions& options)
    : world_(world), space_(space), options_(options), draws_(options.seed, "load") {
  const std::uint32_t block = space.block_bytes();
  blocks_each_ = std::max(block, std::min(options.block_bytes, space.max_transfer())) / block;
  pieces_ = std::max<std::uint64_t>(std::min(options.bytes / block, space.blocks()) / blocks_each_, 1);
  commands_most_ = options.time > Duration{} ? ~std::uint64_t{0} : pieces_;
  written_.resize(pieces_);
  for (std::uint16_t i = 0; i < options.queue_depth; ++i) {
    requests_.push_back(std::make_unique<Request>(*this, std::size_t{blocks_each_} * block));
  }
}

LoadRun::~LoadRun() = default;

bool LoadRun::over() const {
  if (failed() || started_commands_ >= commands_most_) return true;
  return options_.time > Duration{} && world_.now() - began_ >= options_.time;
}

void LoadRun::start(Request& request) {
  request.piece = options_.random ? draws_.below(pieces_) : next_piece_++ % pieces_;
  const bool read = draws_.below(100) < options_.read_percent;
  request.opcode = read ? nvme::IoOpcode::read : nvme::IoOpcode::write;
  request.lba = request.piece * blocks_each_;
  request.blocks = blocks_each_;
  request.data = request.memory;
  request.compared = read && options_.verify && written_[request.piece];
  if (!read) fill_pattern(options_.seed, request.lba, request.data);
  request.started = world_.now();
  ++started_commands_;
  ++in_flight_;
  space_.submit(request);
}

void LoadRun::next(Request& request) {
  if (over()) return;
  if (options_.rate == 0) return start(request);
  waiting_.push_back(&request);
  if (!pace_.scheduled()) world_.loop().schedule(pace_, std::max(due_, world_.now()));
}

void LoadRun::on_pace() {
  const Duration gap = Duration::ns(1'000'000'000 / static_cast<std::int64_t>(options_.rate));
  // A loop that comes late makes up for it, but not for a pause of a second.
  due_ = std::max(due_, Instant::at_ns(world_.now().count_ns() - 1'000'000'000));
  while (!waiting_.empty() && due_ <= world_.now() && !over()) {
    Request* const request = waiting_.back();
    waiting_.pop_back();
    due_ = due_ + gap;
    start(*request);
  }
  if (!waiting_.empty() && !over()) world_.loop().schedule(pace_, std::max(due_, world_.now()));
}

void LoadRun::compare(const Request& request) {
  Bytes wanted(request.memory.size());
  fill_pattern(options_.seed, request.lba, wanted);
  keep_tags(space_, wanted, request.memory);
  ++figures_.verified;
  const auto differs = std::mismatch(wanted.begin(), wanted.end(), request.memory.begin());
  if (differs.first == wanted.end() || failed()) return;
  const auto at = static_cast<std::uint64_t>(differs.first - wanted.begin());
  failure_ = fmt::format("LBA {} differs from byte {} on", request.lba + at / space_.block_bytes(), at % space_.block_bytes());
}

void LoadRun::done(Request& request, nvme::Status status) {
  --in_flight_;
  const bool read = request.opcode == nvme::IoOpcode::read;
  if (!status.ok()) {
    if (!failed()) failure_ = fmt::format("{} of LBA {}: {}", read ? "read" : "write", request.lba, nvme::to_string(status));
    return;
  }
  const Instant now = world_.now();
  (read ? read_latencies_ns_ : write_latencies_ns_).push_back((now - request.started).count_ns());
  const auto second = static_cast<std::size_t>((now - began_).count_ns() / 1'000'000'000);
  if (figures_.timeline.size() <= second) figures_.timeline.resize(second + 1);
  (read ? figures_.timeline[second].reads : figures_.timeline[second].writes) += 1;
  figures_.timeline[second].bytes += request.memory.size();
  if (request.compared) compare(request);
  if (!read) written_[request.piece] = true;
  next(request);
}

LoadFigures LoadRun::run() {
  began_ = due_ = world_.now();
  for (auto& request : requests_) next(*request);
  const auto ended = [this] { return in_flight_ == 0 && (over() || waiting_.empty()); };
  while (!ended()) world_.run_until(ended, Duration::ms(200));
  world_.loop().cancel(pace_);
  const Duration elapsed = world_.now() - began_;
  figures_.reads = figures_of(read_latencies_ns_, requests_.front()->memory.size() * read_latencies_ns_.size(), elapsed);
  figures_.writes = figures_of(write_latencies_ns_, requests_.front()->memory.size() * write_latencies_ns_.size(), elapsed);
  return figures_;
}

}  // namespace fb::cli
