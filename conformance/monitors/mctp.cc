// MCTP: the packets of a message, and which request an answer belongs to.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "conformance/monitors/judge.h"
#include "wire/mctp/control.h"

namespace fb::monitors {

namespace {

namespace field = mctp::packet;

class Mctp final : public Judge {
 public:
  using Judge::Judge;
  unsigned hears() const override { return heard::mctp | heard::words; }

  void on_words(const WordsSeen& seen) override {
    if (seen.kind == TraceKind::fault) disturb();
  }

  void on_mctp_packet(const MctpPacketSeen& seen) override {
    if (!seen.at.genuine()) {
      disturb();
      // It may have come as it is, and others belong to it.
      begins(seen);
      lost_.insert(key_of(seen));
      return;
    }
    judged(Rule::mctp_version, Rule::mctp_reserved, Rule::mctp_eid);
    if (const auto version = seen.header.get(field::version); version != mctp::kHeaderVersion) {
      return say(Rule::mctp_version, seen.at, fmt::format("header version {}", version));
    }
    if (seen.header.get(field::reserved) != 0) {
      say(Rule::mctp_reserved, seen.at, fmt::format("reserved bits are {:X}h", seen.header.get(field::reserved)));
    }
    judge_eids(seen);
    judge_place(seen);
  }

  void on_mctp_message(const MctpMessageSeen& seen) override {
    if (!seen.at.genuine()) return;
    if (seen.type == mctp::MessageType::control) judge_control(seen);
    if (seen.type == mctp::MessageType::control || seen.type == mctp::MessageType::nvme_mi) judge_pair(seen);
  }

 private:
  struct Open {
    std::uint8_t next = 0;
    std::size_t unit = 0;
  };
  struct Request {
    mctp::MessageType type{};
    std::uint8_t destination = 0, instance = 0, command = 0;
  };
  /// The newest requests under one tag: what was given up may be answered late.
  struct Requests {
    std::array<Request, 4> newest = {};
    std::size_t count = 0;
    void add(const Request& request) { newest[count++ % newest.size()] = request; }
  };
  /// Bus, source, destination, tag and owner.
  using Key = std::tuple<std::uint32_t, std::uint8_t, std::uint8_t, std::uint8_t>;

  // What was under way may go on, or begin again, whenever it likes.
  void disturb() {
    for (const auto& [key, open] : open_) lost_.insert(key);
    open_.clear();
    disturbed_ = true;
  }

  static Key key_of(const MctpPacketSeen& seen) {
    return {seen.at.from.bus, seen.header.get(field::source), seen.header.get(field::destination),
            static_cast<std::uint8_t>(seen.packet[3] & 0x0F)};
  }
  void begins(const MctpPacketSeen& seen) {
    if (!seen.header.get(field::som) || !seen.header.get(field::tag_owner)) return;
    began_.insert({seen.at.from.bus, seen.header.get(field::source), seen.header.get(field::tag)});
  }

  void judge_eids(const MctpPacketSeen& seen) {
    // Bus owners do assign reserved EIDs, and not every endpoint refuses them.
    if (seen.header.get(field::source) == mctp::kBroadcastEid) say(Rule::mctp_eid, seen.at, "the source is the broadcast EID");
  }

  // Bridges interleave whom they like, so that only packets of one message are held against each other.
  void judge_place(const MctpPacketSeen& seen) {
    if (seen.header.get(field::source) == mctp::kNullEid) return;  // anybody's
    const Key key = key_of(seen);
    const bool som = seen.header.get(field::som), eom = seen.header.get(field::eom);
    const std::uint8_t sequence = seen.header.get(field::sequence);
    const std::size_t size = seen.packet.size() - mctp::kHeaderSize;
    auto found = open_.find(key);
    judged(Rule::mctp_unit);
    if (complete_ && !disturbed_) judged(Rule::mctp_start);
    if (complete_ && !disturbed_ && !som) judged(Rule::mctp_sequence);
    if (size == 0) {
      say(Rule::mctp_unit, seen.at, "a packet without payload");
    } else if (som) {
      if (found != open_.end() && complete_ && !disturbed_ && seen.header.get(field::tag_owner) == false) {
        say(Rule::mctp_start, seen.at, fmt::format("a message begins, the one before with tag {} has no end", seen.header.get(field::tag)));
      }
      begins(seen);
      found = open_.insert_or_assign(key, Open{static_cast<std::uint8_t>((sequence + 1) & 3), size}).first;
    } else if (found == open_.end()) {
      if (complete_ && !disturbed_ && !lost_.count(key)) {
        say(Rule::mctp_start, seen.at, fmt::format("a packet in the middle with tag {}, no message began", seen.header.get(field::tag)));
      }
      return;
    } else {
      const bool in_order = sequence == found->second.next;
      if (!in_order && complete_ && !disturbed_) {
        say(Rule::mctp_sequence, seen.at, fmt::format("sequence number {} where {} is next", sequence, found->second.next));
      } else if (in_order && complete_ && (eom ? size > found->second.unit : size != found->second.unit)) {
        say(Rule::mctp_unit, seen.at, fmt::format("{} bytes in a message whose first packet has {}", size, found->second.unit));
      }
      if (!in_order) {
        lost_.insert(key);
        open_.erase(found);
        return;
      }
      found->second.next = (sequence + 1) & 3;
    }
    lost_.erase(key);
    if (eom && found != open_.end()) open_.erase(found);
    if (eom) disturbed_ = false;
  }

  void judge_control(const MctpMessageSeen& seen) {
    if (seen.message.size() < mctp::control::kRequestHeader) return;
    judged(Rule::mctp_control_one, Rule::mctp_control_bits);
    const View<mctp::control::RequestHeader> header{seen.message};
    if (seen.packets != 1 || seen.integrity) {
      say(Rule::mctp_control_one, seen.at,
          fmt::format("a control message of {} packets with its integrity bit {}", seen.packets, seen.integrity ? "set" : "clear"));
    }
    if (header.get(mctp::control::header::request) != seen.tag_owner) {
      say(Rule::mctp_control_bits, seen.at,
          fmt::format("Rq is {}, the tag owner bit is {}", header.get(mctp::control::header::request) ? 1 : 0, seen.tag_owner ? 1 : 0));
    }
    if (seen.tag_owner) judge_assignment(seen);
  }

  // Set and force, that is; the other operations have no use for the EID.
  void judge_assignment(const MctpMessageSeen& seen) {
    constexpr std::size_t kSize = mctp::control::kRequestHeader + 2;
    if (seen.message.size() != kSize || seen.message[2] != static_cast<std::uint8_t>(mctp::control::Command::set_endpoint_id)) return;
    if ((seen.message[3] & 3) > static_cast<std::uint8_t>(mctp::control::SetOperation::force)) return;
    const mctp::Eid eid = seen.message[4];
    judged(Rule::mctp_assigned_eid);
    if (eid < mctp::kFirstEid || eid == mctp::kBroadcastEid) say(Rule::mctp_assigned_eid, seen.at, fmt::format("EID {} is assigned", eid));
  }

  // Answers come from where the request went, but for EIDs that the request itself has changed.
  void judge_pair(const MctpMessageSeen& seen) {
    const bool control = seen.type == mctp::MessageType::control;
    if (control && seen.message.size() < mctp::control::kRequestHeader) return;
    if (seen.tag_owner) {
      Request request{seen.type, seen.destination};
      if (control) {
        request.instance = seen.message[1] & 0x1F;
        request.command = seen.message[2];
      }
      asked_[{seen.at.from.bus, seen.source, seen.tag}].add(request);
      return;
    }
    // EID 0 is everybody's, and who has just been given an EID answers under it: the address on the medium tells
    // them apart, and is not compared.
    if (seen.source == mctp::kNullEid || seen.destination == mctp::kNullEid) return;
    const auto found = asked_.find({seen.at.from.bus, seen.destination, seen.tag});
    if (complete_) judged(Rule::mctp_answer);
    if (found == asked_.end()) {
      // A request that a fault has cut off here may have come whole to its endpoint.
      if (complete_ && !disturbed_ && began_.count({seen.at.from.bus, seen.destination, seen.tag}) == 0) {
        say(Rule::mctp_answer, seen.at, fmt::format("an answer with tag {}, EID {} asked nothing with it", seen.tag, seen.destination));
      }
      return;
    }
    if (!control || !complete_) return;
    judged(Rule::mctp_control_instance, Rule::mctp_control_command);
    const auto instance = static_cast<std::uint8_t>(seen.message[1] & 0x1F);
    const std::uint8_t command = seen.message[2];
    const Requests& requests = found->second;
    bool same_command = false;
    for (std::size_t i = 0; i < std::min(requests.count, requests.newest.size()); ++i) {
      const Request& request = requests.newest[i];
      if (request.destination != seen.source || request.type != mctp::MessageType::control) return;  // somebody else's too
      if (request.instance == instance && request.command == command) return;
      same_command = same_command || request.command == command;
    }
    const Request& last = requests.newest[(requests.count - 1) % requests.newest.size()];
    if (instance != last.instance && (same_command || command == last.command)) {
      say(Rule::mctp_control_instance, seen.at, fmt::format("instance {} in an answer to {}", instance, last.instance));
    } else if (instance == last.instance) {
      say(Rule::mctp_control_command, seen.at, fmt::format("command {:02X}h in an answer to {:02X}h", command, last.command));
    }
  }

  std::map<Key, Open> open_;
  std::set<Key> lost_;  // messages that are not followed to their end
  /// By bus, requester and tag.
  std::map<std::tuple<std::uint32_t, std::uint8_t, std::uint8_t>, Requests> asked_;
  std::set<std::tuple<std::uint32_t, std::uint8_t, std::uint8_t>> began_;
  bool disturbed_ = false;
};

}  // namespace

std::unique_ptr<Judge> judge_of_mctp(Findings& findings, bool complete) { return std::make_unique<Mctp>(findings, complete); }

}  // namespace fb::monitors
