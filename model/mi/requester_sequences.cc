// Calls that take several commands, one after the other.
#include <algorithm>
#include <memory>
#include <utility>

#include "model/mi/requester.h"
#include "model/mi/requester_read.h"

namespace fb::mi {

namespace {

/// Reads in pieces until `length` bytes are there; `ask` makes the command for one piece.
struct Sequence : std::enable_shared_from_this<Sequence> {
  World& world;
  std::size_t length;
  std::size_t piece;
  std::function<Op<Reply>(std::size_t offset, std::size_t bytes)> ask;
  std::function<std::optional<Bytes>(Reply&, std::size_t bytes)> take;
  Promise<Answer<Bytes>> promise;
  Bytes gathered;

  Sequence(World& in, std::size_t all, std::size_t each) : world(in), length(all), piece(each) {}

  void next() {
    if (!promise.wanted()) return;
    const std::size_t bytes = std::min(piece, length - gathered.size());
    ask(gathered.size(), bytes).on_settled([self = shared_from_this(), bytes](const Reply& reply) {
      Reply copy = reply;
      std::optional<Bytes> part;
      if (copy.ok()) part = self->take(copy, bytes);
      if (!part) return self->promise.settle({std::move(copy), std::nullopt});
      self->gathered.insert(self->gathered.end(), part->begin(), part->end());
      if (self->gathered.size() < self->length) return self->next();
      self->promise.settle({std::move(copy), std::move(self->gathered)});
    });
  }
};

Op<Answer<Bytes>> run(const std::shared_ptr<Sequence>& sequence, std::string what) {
  auto made = make_op<Answer<Bytes>>(sequence->world, std::move(what));
  sequence->promise = std::move(made.promise);
  sequence->next();
  return made.op;
}

}  // namespace

Op<Answer<Bytes>> Requester::get_log(mctp::Eid peer, std::uint16_t cntlid, std::uint8_t lid, std::size_t length, std::uint32_t nsid,
                                     std::size_t piece) {
  BENCH_ASSERT(length > 0 && length % 4 == 0 && piece > 0 && piece % 4 == 0, "a log is read in dwords");
  auto sequence = std::make_shared<Sequence>(world_, length, std::min(piece, kDataMax));
  sequence->ask = [this, peer, cntlid, lid, nsid, length](std::size_t offset, std::size_t bytes) {
    Record<nvme::GetLogPageSqe> log;
    log.set(nvme::sqe::opcode, static_cast<unsigned>(nvme::AdminOpcode::get_log_page))
        .set(nvme::sqe::nsid, nsid)
        .set(nvme::get_log_sqe::lid, lid)
        .set(nvme::get_log_sqe::rae, offset + bytes < length);
    nvme::set_log_range(log, offset, bytes);
    return admin(peer, cntlid, nvme::Sqe{log.bytes()}, {.dlen = static_cast<std::uint32_t>(bytes), .flags = 1});
  };
  sequence->take = [](Reply& reply, std::size_t bytes) { return admin_bytes(reply, bytes); };
  return run(sequence, "log page " + std::to_string(lid) + " from EID " + std::to_string(peer));
}

Op<Answer<Bytes>> Requester::read_whole_vpd(mctp::Eid peer, std::size_t length, std::size_t piece) {
  BENCH_ASSERT(length > 0 && piece > 0, "something is to be read");
  auto sequence = std::make_shared<Sequence>(world_, length, piece);
  sequence->ask = [this, peer](std::size_t offset, std::size_t bytes) {
    return command(peer, Opcode::vpd_read, static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(bytes));
  };
  sequence->take = [](Reply& reply, std::size_t bytes) -> std::optional<Bytes> {
    const ByteView data = reply.data();
    if (data.size() != bytes) return violate<Bytes>(reply, {"vpd_read.size", 0, data.size(), bytes});
    return Bytes(data.begin(), data.end());
  };
  return run(sequence, "VPD of EID " + std::to_string(peer));
}

}  // namespace fb::mi
