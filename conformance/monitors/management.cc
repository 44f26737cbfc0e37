// NVMe-MI messages: the check, the header, command slots, More Processing Required, primitives.
#include <fmt/format.h>

#include <map>
#include <tuple>

#include "conformance/monitors/judge.h"
#include "wire/mi/control.h"
#include "wire/mi/message.h"

namespace fb::monitors {

namespace {

using mi::MessageKind;

constexpr Duration kPatience = Duration::ms(100);

class Management final : public Judge {
 public:
  using Judge::Judge;
  unsigned hears() const override { return heard::mctp | heard::words; }

  void on_words(const WordsSeen& seen) override {
    if (seen.kind == TraceKind::fault) forget();
  }

  void on_mctp_message(const MctpMessageSeen& seen) override {
    if (seen.type != mctp::MessageType::nvme_mi) return;
    if (!seen.at.genuine()) return forget();
    const ByteView message = seen.message;
    // What is replayed from the middle has no check of its own.
    const auto asked = pairs_.find({seen.at.from.bus, seen.destination, seen.source});
    if (!seen.tag_owner && asked != pairs_.end() && asked->second.replayed) return;
    // A capture that lacks packets may put the wrong ones together.
    if (!complete_ && seen.packets > 1 && !mi::mic_ok(message)) return forget(seen);
    judged(Rule::mi_integrity);
    if (!seen.integrity || message.size() < mi::kHeaderSize + mi::kMicSize || !mi::mic_ok(message)) {
      say(Rule::mi_integrity, seen.at,
          seen.integrity ? fmt::format("the check of {} bytes is wrong", message.size()) : "the integrity bit is clear");
      return forget(seen);
    }
    const ByteView body = message.first(message.size() - mi::kMicSize);
    const View<mi::MessageHeader> header{body};
    const bool response = header.get(mi::header::ror);
    const MessageKind kind = header.get(mi::header::nmimt);
    if (kind == MessageKind::async_event) return forget(seen);
    judged(Rule::mi_direction);
    if (response == seen.tag_owner) {
      say(Rule::mi_direction, seen.at, fmt::format("ROR is {}, the tag owner bit is {}", response ? 1 : 0, seen.tag_owner ? 1 : 0));
      return forget(seen);
    }
    if (response) {
      on_response(seen, body, kind);
    } else {
      on_request(seen, body, kind);
    }
  }

 private:
  struct Exchange {
    MessageKind kind{};
    std::uint8_t opcode = 0, slot = 0, primitive_tag = 0;
    bool more = false;
    std::uint8_t tag = 0;
    Instant sent;
  };
  /// Bus, requester, endpoint.
  using Ends = std::tuple<std::uint32_t, std::uint8_t, std::uint8_t>;
  struct Pair {
    std::map<std::uint8_t, Exchange> by_tag;
    std::map<std::uint8_t, std::uint8_t> busy;  // slot -> tag of its command
    bool replayed = false;                      // what was answered may be answered again
  };

  void forget() { pairs_.clear(); }
  void forget(const MctpMessageSeen& seen) {
    pairs_.erase({seen.at.from.bus, seen.source, seen.destination});
    pairs_.erase({seen.at.from.bus, seen.destination, seen.source});
  }

  void on_request(const MctpMessageSeen& seen, ByteView body, MessageKind kind) {
    const std::uint8_t slot = View<mi::MessageHeader>{body}.get(mi::header::csi);
    if (body.size() < mi::AnyRequest::size) return forget(seen);
    Pair& pair = pairs_[{seen.at.from.bus, seen.source, seen.destination}];
    Exchange made{kind, body[4], slot, 0, false, seen.tag, seen.at.time};
    if (kind == MessageKind::control_primitive) {
      made.primitive_tag = body[5];
      const auto primitive = static_cast<mi::Primitive>(body[4]);
      if (primitive == mi::Primitive::replay) pair.replayed = true;
      if (primitive == mi::Primitive::abort) pair.busy.erase(slot);
      pair.by_tag[seen.tag] = made;
      return;
    }
    // An NVM subsystem reset ends what is under way at each of its Management Endpoints, and there is no answer (8.3.1).
    if (kind == MessageKind::mi_command && static_cast<mi::Opcode>(body[4]) == mi::Opcode::reset) return forget();
    const auto busy = pair.busy.find(slot);
    // Whoever has waited for long enough may have given the answer up.
    const bool at_once = busy != pair.busy.end() && seen.at.time - pair.by_tag[busy->second].sent < kPatience;
    if (complete_) judged(Rule::mi_one_command);
    if (at_once && complete_ && !pair.replayed) {
      say(Rule::mi_one_command, seen.at, fmt::format("a command for slot {}, whose last one is not answered", slot));
      return forget(seen);
    }
    pair.replayed = false;
    pair.busy[slot] = seen.tag;
    pair.by_tag[seen.tag] = made;
  }

  void on_response(const MctpMessageSeen& seen, ByteView body, MessageKind kind) {
    const View<mi::MessageHeader> header{body};
    judged(Rule::mi_size);
    if (body.size() < mi::kResponseMin) {
      say(Rule::mi_size, seen.at, fmt::format("an answer of {} bytes without its check", body.size()));
      return forget(seen);
    }
    judged(Rule::mi_reserved, Rule::mi_status);
    const std::uint8_t reserved = (body[1] & 0x06) | (body[2] & 0xFC) | body[3];
    if (reserved != 0) say(Rule::mi_reserved, seen.at, fmt::format("header bytes {:02X} {:02X} {:02X}", body[1], body[2], body[3]));
    const auto status = static_cast<mi::Status>(body[4]);
    if (!mi::is_defined(status)) say(Rule::mi_status, seen.at, fmt::format("status {:02X}h", body[4]));
    const auto ends = pairs_.find({seen.at.from.bus, seen.destination, seen.source});
    if (ends == pairs_.end() || !complete_) return;
    Pair& pair = ends->second;
    const auto found = pair.by_tag.find(seen.tag);
    if (found == pair.by_tag.end()) return;
    Exchange& exchange = found->second;
    judged(Rule::mi_kind, Rule::mi_slot);
    if (kind != exchange.kind) {
      say(Rule::mi_kind, seen.at,
          fmt::format("NMIMT {} in an answer to {}", static_cast<unsigned>(kind), static_cast<unsigned>(exchange.kind)));
      return forget(seen);
    }
    if (header.get(mi::header::csi) != exchange.slot) {
      say(Rule::mi_slot, seen.at, fmt::format("slot {} in an answer to slot {}", header.get(mi::header::csi), exchange.slot));
      return forget(seen);
    }
    if (kind == MessageKind::control_primitive && status == mi::Status::success) judged(Rule::mi_primitive_tag);
    if (kind == MessageKind::control_primitive && status == mi::Status::success && body[5] != exchange.primitive_tag) {
      say(Rule::mi_primitive_tag, seen.at, fmt::format("tag {} in an answer to tag {}", body[5], exchange.primitive_tag));
    }
    if (status == mi::Status::more_processing) return on_more(seen, body, exchange);
    const auto busy = pair.busy.find(exchange.slot);
    if (kind != MessageKind::control_primitive && busy != pair.busy.end() && busy->second == seen.tag) pair.busy.erase(busy);
    pair.by_tag.erase(found);
  }

  void on_more(const MctpMessageSeen& seen, ByteView body, Exchange& exchange) {
    judged(Rule::mi_more_form, Rule::mi_more_once);
    if (body.size() != mi::MoreProcessing::size || exchange.kind == MessageKind::control_primitive) {
      say(Rule::mi_more_form, seen.at,
          fmt::format("More Processing Required of {} bytes for kind {}", body.size(), static_cast<unsigned>(exchange.kind)));
    }
    if (exchange.more) say(Rule::mi_more_once, seen.at, fmt::format("More Processing Required again for slot {}", exchange.slot));
    exchange.more = true;
  }

  std::map<Ends, Pair> pairs_;
};

}  // namespace

std::unique_ptr<Judge> judge_of_management(Findings& findings, bool complete) { return std::make_unique<Management>(findings, complete); }

}  // namespace fb::monitors
