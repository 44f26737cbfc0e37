#include "model/faults/hooks.h"

#include "sim/core/world.h"
#include "sim/fault/network_faults.h"
#include "wire/nvme/opcodes.h"
#include "wire/nvme/sqe.h"
#include "wire/tcp/pdu.h"

namespace fb::faults {

using fault::Decision;
using fault::Kind;
using subsystem::CommandContext;

namespace {

/// The part of a PDU that a digest covers, its digest included: the header's or the data's. Empty without digests.
MutableBytes covered(Bytes& pdu) {
  const View<tcp::CommonHeader> header{pdu};
  const std::size_t hlen = header.get(tcp::pdu::hlen), pdo = header.get(tcp::pdu::pdo);
  if ((header.get(tcp::pdu::flags) & tcp::pdu_flags::ddgstf) != 0 && pdo > 0 && pdo < pdu.size()) {
    return MutableBytes(pdu).subspan(pdo);
  }
  // What frames the PDU is left alone: a stream that is cut elsewhere is no test of digests.
  if ((header.get(tcp::pdu::flags) & tcp::pdu_flags::hdgstf) != 0 && hlen > tcp::CommonHeader::size) {
    return MutableBytes(pdu).subspan(tcp::CommonHeader::size, hlen - tcp::CommonHeader::size);
  }
  return {};
}

bool is_ic(const Bytes& pdu) { return pdu.size() < tcp::CommonHeader::size || pdu[0] <= 0x01; }

}  // namespace

void PduFaults::apply(std::vector<Bytes>& pdus) {
  for (std::size_t at = 0; at < pdus.size(); ++at) {
    for (const Decision& decision : point_.next()) {
      Bytes& pdu = pdus[at];
      if (is_ic(pdu)) continue;
      switch (decision.kind) {
        case Kind::pdu_drop:
          pdus.erase(pdus.begin() + static_cast<std::ptrdiff_t>(at));
          point_.struck(decision);
          if (at == pdus.size()) return;
          continue;
        case Kind::pdu_duplicate: {
          Bytes copy = pdu;
          pdus.insert(pdus.begin() + static_cast<std::ptrdiff_t>(at++), std::move(copy));
          break;
        }
        case Kind::pdu_corrupt: {
          const MutableBytes part = covered(pdu);
          if (part.empty()) continue;
          fault::flip_bit(part, decision.amount);
          break;
        }
        case Kind::pdu_forge:
          fault::flip_bit(MutableBytes(pdu).subspan(tcp::CommonHeader::size), decision.amount);
          tcp::refresh_digests(pdu);
          break;
        case Kind::pdu_truncate:
          pdu.resize(pdu.size() - std::min<std::size_t>(decision.amount, pdu.size() - tcp::CommonHeader::size));
          break;
        default:
          continue;
      }
      point_.struck(decision);
    }
  }
}

FaultySubsystem::FaultySubsystem(World& world, fault::Points& points, std::string side, std::unique_ptr<subsystem::SubsystemHooks> inner)
    : TransportFaults(points, std::move(side), std::move(inner)),
      world_(world),
      io_(points.at({fault::Site::admission, {}})),
      admin_(points.at({fault::Site::admin, {}})),
      completions_(points.at({fault::Site::completion, {}})) {}

bool FaultySubsystem::refuses(const CommandContext& command, subsystem::Refusal& refusal) {
  return inner_ == nullptr || inner_->refuses(command, refusal);
}

std::optional<nvme::Status> FaultySubsystem::admission(const CommandContext& command) {
  if (inner_ != nullptr) {
    if (const auto status = inner_->admission(command)) return status;
  }
  const View<nvme::SqeLayout> sqe{command.sqe};
  if (sqe.get(nvme::sqe::opcode) == nvme::kFabricsOpcode) return std::nullopt;
  return command.qid == 0 ? admit_admin(command) : admit_io(command);
}

std::optional<nvme::Status> FaultySubsystem::admit_io(const CommandContext& command) {
  const View<nvme::SqeLayout> sqe{command.sqe};
  if (sqe.get(nvme::sqe::fuse) != nvme::Fuse::normal) return std::nullopt;
  std::optional<nvme::Status> answer;
  for (const Decision& decision : io_.next()) {
    if (decision.kind == Kind::status) {
      answer = nvme::Status::make(static_cast<unsigned>(decision.amount >> 8), static_cast<unsigned>(decision.amount & 0xFF));
    } else if (decision.kind == Kind::slow) {
      late_[{command.qid, sqe.get(nvme::sqe::cid)}] = Duration::ns(static_cast<std::int64_t>(decision.amount));
    } else if (decision.kind == Kind::fatal && failing_ == nullptr && command.controller != nullptr) {
      failing_ = command.controller;
      world_.loop().schedule(fatal_, world_.now());
    } else {
      continue;
    }
    io_.struck(decision);
  }
  return answer;
}

std::optional<nvme::Status> FaultySubsystem::admit_admin(const CommandContext& command) {
  const View<nvme::SqeLayout> sqe{command.sqe};
  const std::uint8_t opcode = sqe.get(nvme::sqe::opcode);
  // An event that is lost has no remedy: nobody waits for it.
  if (opcode == static_cast<std::uint8_t>(nvme::AdminOpcode::async_event_request)) return std::nullopt;
  std::optional<nvme::Status> answer;
  for (const Decision& decision : admin_.next()) {
    if (decision.kind == Kind::admin_status) {
      answer = nvme::Status::make(static_cast<unsigned>(decision.amount >> 8), static_cast<unsigned>(decision.amount & 0xFF));
      admin_.struck(decision);
    } else if (decision.kind == Kind::admin_withhold) {
      withheld_[sqe.get(nvme::sqe::cid)] = decision;
    }
  }
  return answer;
}

void FaultySubsystem::on_fatal() { std::exchange(failing_, nullptr)->fail_association("fault: fatal status"); }

Duration FaultySubsystem::latency(const CommandContext& command) {
  const Duration own = inner_ != nullptr ? inner_->latency(command) : Duration{};
  const auto found = late_.find({command.qid, View<nvme::SqeLayout>{command.sqe}.get(nvme::sqe::cid)});
  if (found == late_.end()) return own;
  const Duration late = found->second;
  late_.erase(found);
  return own + late;
}

void FaultySubsystem::property_read(std::uint32_t offset, std::uint64_t& value) {
  if (inner_ != nullptr) inner_->property_read(offset, value);
}

bool FaultySubsystem::property_write(std::uint32_t offset, std::uint64_t& value) {
  return inner_ == nullptr || inner_->property_write(offset, value);
}

void FaultySubsystem::queue_secured(std::uint16_t qid, std::string_view identity) {
  if (inner_ != nullptr) inner_->queue_secured(qid, identity);
}

void FaultySubsystem::data_out(const CommandContext& command, MutableBytes data) {
  if (inner_ != nullptr) inner_->data_out(command, data);
}

void FaultySubsystem::data_in(const CommandContext& command, MutableBytes data) {
  if (inner_ != nullptr) inner_->data_in(command, data);
}

FaultySubsystem::Answer FaultySubsystem::completion(const CommandContext& command, MutableBytes cqe) {
  Answer answer = inner_ != nullptr ? inner_->completion(command, cqe) : Answer::send;
  const View<nvme::SqeLayout> sqe{command.sqe};
  if (sqe.get(nvme::sqe::opcode) == nvme::kFabricsOpcode) return answer;
  if (command.qid == 0) {
    const auto found = withheld_.find(sqe.get(nvme::sqe::cid));
    if (found == withheld_.end()) return answer;
    admin_.struck(found->second);
    withheld_.erase(found);
    return Answer::withhold;
  }
  for (const Decision& decision : completions_.next()) {
    switch (decision.kind) {
      case Kind::withhold:
        answer = Answer::withhold;
        break;
      case Kind::twice:
        answer = Answer::send_twice;
        break;
      case Kind::disconnect:
        answer = Answer::disconnect_instead;
        break;
      default:
        continue;
    }
    completions_.struck(decision);
  }
  return answer;
}

FaultyDevice::Receiver FaultyDevice::receiver() {
  Receiver receiver = inner_ != nullptr ? inner_->receiver() : Receiver::ready;
  for (const Decision& decision : receives_.next()) {
    const Receiver asked = decision.kind == Kind::queue_pair_error ? Receiver::broken : Receiver::not_ready;
    receiver = std::max(receiver, asked);
    receives_.struck(decision);
  }
  return receiver;
}

bool FaultyDevice::key_lost() {
  bool lost = inner_ != nullptr && inner_->key_lost();
  for (const Decision& decision : keys_.next()) {
    lost = true;
    keys_.struck(decision);
  }
  return lost;
}

namespace {

class FaultyStore final : public subsystem::BlockStore {
 public:
  FaultyStore(fault::Points& points, std::string name, std::unique_ptr<subsystem::BlockStore> store)
      : point_(points.at({fault::Site::media, std::move(name)})), store_(std::move(store)) {}

  std::uint64_t bytes() const override { return store_->bytes(); }
  Result<void> read(std::uint64_t offset, MutableBytes to) override {
    if (fails(Kind::media_error)) return Failure{Problem{"a media error"}};
    return store_->read(offset, to);
  }
  Result<void> write(std::uint64_t offset, ByteView from) override {
    if (fails(Kind::write_fault)) return Failure{Problem{"a write fault"}};
    return store_->write(offset, from);
  }
  Result<void> zero(std::uint64_t offset, std::uint64_t length) override { return store_->zero(offset, length); }
  Result<void> flush() override { return store_->flush(); }
  Result<void> flush_range(std::uint64_t offset, std::uint64_t length) override { return store_->flush_range(offset, length); }
  void lose_power(Rng& rng, const subsystem::AtomicUnit& atomic) override { store_->lose_power(rng, atomic); }
  std::uint64_t bytes_held() const override { return store_->bytes_held(); }

 private:
  bool fails(Kind kind) {
    bool failed = false;
    for (const Decision& decision : point_.next()) {
      if (decision.kind != kind) continue;
      failed = true;
      point_.struck(decision);
    }
    return failed;
  }
  fault::Point& point_;
  std::unique_ptr<subsystem::BlockStore> store_;
};

}  // namespace

std::unique_ptr<subsystem::BlockStore> faulty_store(fault::Points& points, std::string name, std::unique_ptr<subsystem::BlockStore> store) {
  return std::make_unique<FaultyStore>(points, std::move(name), std::move(store));
}

}  // namespace fb::faults
