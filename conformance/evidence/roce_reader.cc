#include "conformance/evidence/roce_reader.h"

#include <array>

#include "conformance/evidence/dissector.h"
#include "wire/rdma/psn.h"
#include "wire/rdma/syndrome.h"

namespace fb::evidence {

namespace {

using roce::OpcodeKind;

constexpr std::size_t kHalvesMax = 65'536;
constexpr std::size_t kCollectedMax = 16 << 20;
/// Packets behind a gap after which it is taken for one of the capture.
constexpr std::uint32_t kAheadMax = 1024;
constexpr std::uint64_t kAllChecked = 128;
constexpr std::uint64_t kSampled = 61;  // a prime: no kind of packet may keep falling between
constexpr std::size_t kCommandBytes = 64;
constexpr std::size_t kCompletionBytes = 16;

/// Where the headers behind the BTH stand, by opcode: asked for with every packet. 0: there is none.
struct HeaderPlaces {
  std::uint8_t deth = 0, reth = 0, atomic = 0, aeth = 0, ieth = 0;
};

std::array<HeaderPlaces, 256> header_places() {
  std::array<HeaderPlaces, 256> all;
  for (unsigned opcode = 0; opcode < all.size(); ++opcode) {
    const roce::OpcodeFacts& facts = roce::facts_of(static_cast<std::uint8_t>(opcode));
    std::size_t offset = roce::Bth::size;
    const auto place = [&](bool there, std::size_t size) {
      const std::size_t at = offset;
      offset += there ? size : 0;
      return static_cast<std::uint8_t>(there ? at : 0);
    };
    HeaderPlaces& places = all[opcode];
    places.deth = place(facts.deth, roce::Deth::size);
    places.reth = place(facts.reth, roce::Reth::size);
    places.atomic = place(facts.atomic_eth, roce::AtomicEth::size);
    places.aeth = place(facts.aeth, roce::Aeth::size);
    place(facts.atomic_ack_eth, roce::AtomicAckEth::size);
    place(facts.immdt, roce::ImmDt::size);
    places.ieth = place(facts.ieth, roce::Ieth::size);
  }
  return all;
}
const std::array<HeaderPlaces, 256> kPlaces = header_places();

}  // namespace

bool RoceReader::icrc_good(const TraceEvent& event, const Sight& at) {
  if (at.fate == Fate::altered || at.fate == Fate::forged) return true;
  // A simulated world computes each one twice already: behind its first packets, samples do.
  if (dissector_.options().complete && ++packets_ > kAllChecked && packets_ % kSampled != 0) return true;
  return integrity_holds(event);
}

bool RoceReader::integrity_holds(const TraceEvent& event) {
  if (event.bytes.size() < roce::Bth::size + roce::kIcrcBytes) return false;
  softroce::IcrcChecker& checker = icrc_[event.source.address < event.destination.address ? 0 : 1];
  // Traces of sockets do not know the identification of what came in.
  return checker.check(event.source, event.destination, event.bytes, event.ip) ||
         checker.check(event.source, event.destination, event.bytes, std::nullopt);
}

void RoceReader::on_packet(const TraceEvent& event, Sight& at) {
  at.from.become_ip(event.source.address, 0);
  if (event.bytes.size() < roce::Bth::size + roce::kIcrcBytes) {
    ++dissector_.count().broken;
    return;
  }
  ++dissector_.count().roce;
  if (!dissector_.options().capture) {
    read(event, at, Early::read);
    return;
  }
  // The connection manager may end what they belong to.
  const bool manages = View<roce::Bth>{event.bytes}.get(roce::bth::destqp) == roce::kGsiQpn;
  if (manages && !kept_.empty()) release(kForEver);
  read(event, at, Early::kept);
  if (!kept_.empty()) release(at.packet);
}

void RoceReader::finish() {
  if (!kept_.empty()) release(kForEver);
}

bool RoceReader::read(const TraceEvent& event, Sight& at, Early early) {
  const ByteView bytes = event.bytes;
  const View<roce::Bth> bth{bytes};
  const std::uint32_t qpn = bth.get(roce::bth::destqp);
  at.to.become_queue_pair(event.destination.address, qpn);
  const roce::OpcodeFacts& facts = roce::facts_of(bytes[0]);
  RocePacketSeen seen(at, facts, bytes);
  seen.icrc_good = icrc_good(event, at);
  const std::size_t pad = facts.payload ? bth.get(roce::bth::padcnt) : 0;
  const bool readable = facts.known() && bytes.size() >= facts.header_bytes + pad + roce::kIcrcBytes;
  if (readable) {
    const HeaderPlaces& places = kPlaces[bytes[0]];
    const auto header = [&](std::uint8_t place) { return place != 0 ? &bytes[place] : nullptr; };
    seen.deth = header(places.deth);
    seen.reth = header(places.reth);
    seen.atomic = header(places.atomic);
    seen.aeth = header(places.aeth);
    seen.ieth = header(places.ieth);
    const std::size_t offset = facts.header_bytes;
    const std::size_t end = bytes.size() - roce::kIcrcBytes - pad;
    seen.payload = bytes.subspan(offset, end - offset);
    seen.pad = bytes.subspan(end, pad);
  } else {
    ++dissector_.count().broken;
  }
  const bool trusted = readable && seen.icrc_good && (at.genuine() || at.fate == Fate::repeated);
  const bool connected = trusted && facts.kind != OpcodeKind::datagram && facts.kind != OpcodeKind::congestion_notification && qpn > 1;
  if (connected) {
    seen.half = half_of(event.source.address, event.destination.address, qpn);
    if (seen.half != nullptr) {
      at.from = seen.half->from;
      if (facts.is_response()) {
        if (seen.half->back == nullptr) pair_by_answer(*seen.half, seen, event.source.address);
      } else {
        place(*seen.half, seen);
      }
      if (early == Early::left && comes_early(*seen.half, seen)) return false;
      if (early == Early::kept && keep(*seen.half, seen, event)) return false;
    }
  }
  dissector_.tell<heard::roce_packets>([&](Observer& observer) { observer.on_roce_packet(seen); });
  if (!trusted) return true;
  if (facts.kind == OpcodeKind::datagram && qpn == roce::kGsiQpn) on_cm(seen);
  if (seen.half == nullptr) return true;
  if (facts.is_response()) {
    if (seen.half->back != nullptr) acknowledged(*seen.half->back, seen);
  } else if (at.fate != Fate::repeated) {
    follow(*seen.half, seen);
  }
  return true;
}

// ---------------------------------------------------------------------------- packets that come early

// An answer to what was not seen yet, a packet behind a gap, and what a judge would find in front of its place.
bool RoceReader::comes_early(const RdmaHalf& half, const RocePacketSeen& seen) const {
  const RdmaHalf* const back = half.back;
  if (half.connection == nullptr || back == nullptr) return false;
  if (seen.facts.is_response()) return back->psn_known && roce::psn_distance(seen.psn(), back->expected) >= 0;
  if (seen.order == PsnOrder::ahead) return true;
  if (seen.order != PsnOrder::next || half.queue == nullptr || !seen.facts.first) return false;
  const ByteView payload = seen.payload;
  if (seen.facts.kind == OpcodeKind::send) {
    if (half.by_host) {
      if (payload.size() < kCommandBytes) return false;
      return !dissector_.in_order(CommandSeen{seen.at, *half.queue, payload.first(kCommandBytes), payload.subspan(kCommandBytes)});
    }
    if (payload.size() < kCompletionBytes) return false;
    return !dissector_.in_order(CompletionSeen{seen.at, *half.queue, payload.first(kCompletionBytes)});
  }
  if (half.by_host || seen.reth == nullptr) return false;
  const View<roce::Reth> reth{ByteView{seen.reth, roce::Reth::size}};
  return !dissector_.in_order(RdmaMessageSeen{
      seen.at, half, seen.facts.kind, seen.psn(), reth.get(roce::reth::dmalen), {}, reth.get(roce::reth::va), reth.get(roce::reth::rkey)});
}

bool RoceReader::keep(const RdmaHalf& half, const RocePacketSeen& seen, const TraceEvent& event) {
  if (!comes_early(half, seen)) return false;
  kept_[half.index].push_back(std::make_unique<KeptPacket>(event, seen.at));
  return true;
}

void RoceReader::release(std::uint64_t packet) {
  for (bool moved = true; moved;) {
    moved = false;
    for (auto one = kept_.begin(); one != kept_.end();) {
      Kept& kept = one->second;
      for (std::size_t i = 0; i < kept.size();) {
        KeptPacket& candidate = *kept[i];
        if (read(candidate.event, candidate.at, candidate.until < packet ? Early::read : Early::left)) {
          kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i));
          moved = true;
        } else {
          ++i;
        }
      }
      one = kept.empty() ? kept_.erase(one) : std::next(one);
    }
  }
}

// ------------------------------------------------------------------------------------- directions

RdmaHalf* RoceReader::new_half(const Key& to) {
  if (halves_.size() >= kHalvesMax) return nullptr;
  halves_.push_back(std::make_unique<RdmaHalf>());
  RdmaHalf& half = *halves_.back();
  half.index = halves_.size() - 1;
  half.to = Party::queue_pair(to.first, to.second);
  by_queue_pair_[to] = &half;
  recent_ = {};
  return &half;
}

RdmaHalf* RoceReader::half_of(const IpAddress& from, const IpAddress& to, std::uint32_t qpn) {
  RdmaHalf*& recent = recent_[qpn % kRecent];
  if (recent != nullptr && recent->to.number == qpn && recent->to.address == to && recent->from.address == from) return recent;
  const auto found = by_queue_pair_.find({to, qpn});
  RdmaHalf* half = found == by_queue_pair_.end() ? nullptr : found->second;
  if (half == nullptr || half->from.address != from) {
    // A queue pair that nobody told of, or somebody else's packets to one.
    if (half != nullptr && half->connection != nullptr) return nullptr;
    half = new_half({to, qpn});
    if (half == nullptr) return nullptr;
    half->from = Party::ip({from, 0});
    if (!said_unknown_) {
      dissector_.remark("RDMA from " + to_string(from) + " to " + to_string(half->to) + ": how the queue pair was connected was not seen");
    }
    said_unknown_ = true;
  }
  recent = half;
  return half;
}

// Without the CM exchange, the queue pair that an answer comes from is the one that was last asked under this PSN.
void RoceReader::pair_by_answer(RdmaHalf& answered_to, const RocePacketSeen& seen, const IpAddress& from) {
  if (answered_to.connection != nullptr) return;
  RdmaHalf* match = nullptr;
  for (const auto& [key, half] : by_queue_pair_) {
    const bool fits = half->any && half->connection == nullptr && half->back == nullptr && half->highest == seen.psn() &&
                      half->to.address == from && half->from.address == answered_to.to.address;
    if (!fits) continue;
    if (match != nullptr) return;
    match = half;
  }
  if (match == nullptr || match == &answered_to) return;
  match->back = &answered_to;
  answered_to.back = match;
  match->from = answered_to.to;
  answered_to.from = match->to;
  if (match->queue != nullptr && answered_to.queue == nullptr) answered_to.queue = match->queue;
  if (match->queue == nullptr) match->queue = answered_to.queue;
}

// Requests that were answered although they were not seen: the capture lacks them.
void RoceReader::acknowledged(RdmaHalf& half, const RocePacketSeen& seen) {
  const bool positive = seen.aeth == nullptr || roce::kind_of_syndrome(*seen.aeth) == roce::SyndromeKind::ack;
  if (!positive || !half.psn_known || dissector_.options().complete) return;
  if (roce::psn_distance(seen.psn(), half.expected) < 0) return;
  lose_track(half, seen.at);
}

void RoceReader::lose_track(RdmaHalf& half, const Sight& at) {
  dissector_.remark("packet " + std::to_string(at.packet) + ": packets to " + to_string(half.to) + " are missing before PSN " +
                    std::to_string(half.highest));
  half.psn_known = false;
  half.whole = false;
  half.adrift = true;
  half.inside = false;
  half.ahead = 0;
  if (half.queue != nullptr) half.queue->whole = false;
}

void RoceReader::place(RdmaHalf& half, RocePacketSeen& seen) const {
  seen.expected = half.expected;
  if (!half.psn_known) return;
  const std::int32_t distance = roce::psn_distance(seen.psn(), half.expected);
  seen.order = distance == 0 ? PsnOrder::next : (distance < 0 ? PsnOrder::repeated : PsnOrder::ahead);
}

void RoceReader::begin(RdmaHalf& half, const RocePacketSeen& seen) const {
  half.inside = true;
  half.adrift = false;
  half.kind = static_cast<std::uint8_t>(seen.facts.kind);
  half.message_psn = seen.psn();
  half.length = 0;
  half.va = half.rkey = half.dmalen = 0;
  half.collected.clear();
  if (seen.reth != nullptr) {
    const View<roce::Reth> reth{ByteView{seen.reth, roce::Reth::size}};
    half.va = reth.get(roce::reth::va);
    half.rkey = reth.get(roce::reth::rkey);
    half.dmalen = reth.get(roce::reth::dmalen);
  }
  if (seen.atomic != nullptr) {
    const View<roce::AtomicEth> atomic{ByteView{seen.atomic, roce::AtomicEth::size}};
    half.va = atomic.get(roce::atomiceth::va);
    half.rkey = atomic.get(roce::atomiceth::rkey);
  }
}

void RoceReader::follow(RdmaHalf& half, const RocePacketSeen& seen) {
  if (seen.order == PsnOrder::repeated) return;
  if (seen.order == PsnOrder::ahead) {
    if (++half.ahead > kAheadMax) lose_track(half, seen.at);
    half.highest = seen.psn();
    return;
  }
  half.ahead = 0;
  half.any = true;
  if (half.queue != nullptr) ++half.queue->requests[half.by_host ? 1 : 0];
  half.psn_known = true;
  half.expected = roce::psn_add(seen.psn(), 1);
  const bool one = seen.facts.first && seen.facts.last;
  if (seen.facts.kind == OpcodeKind::read_request) {
    begin(half, seen);
    half.inside = false;
    if (half.mtu != 0) {
      half.expected = roce::psn_add(seen.psn(), roce::packets_of(half.dmalen, half.mtu));
    } else {
      half.psn_known = half.dmalen <= roce::mtu_bytes(1);
    }
    half.length = half.dmalen;
    finish(half, seen, {});
  } else if (seen.facts.kind == OpcodeKind::atomic_request) {
    begin(half, seen);
    half.inside = false;
    half.length = sizeof(std::uint64_t);
    finish(half, seen, {});
  } else if (one) {
    begin(half, seen);
    half.inside = false;
    half.length = seen.payload.size();
    finish(half, seen, seen.payload);
  } else if (seen.facts.first) {
    begin(half, seen);
    half.length = seen.payload.size();
    if (seen.facts.kind == OpcodeKind::send) half.collected.assign(seen.payload.begin(), seen.payload.end());
  } else if (half.inside && half.kind == static_cast<std::uint8_t>(seen.facts.kind)) {
    half.length += seen.payload.size();
    if (seen.facts.kind == OpcodeKind::send && half.collected.size() < kCollectedMax) {
      half.collected.insert(half.collected.end(), seen.payload.begin(), seen.payload.end());
    }
    if (seen.facts.last) {
      half.inside = false;
      finish(half, seen, half.collected);
    }
  } else {
    half.inside = false;
  }
  half.highest = roce::psn_add(half.expected, roce::kPsnMask);
}

void RoceReader::finish(RdmaHalf& half, const RocePacketSeen& seen, ByteView whole) {
  ++dissector_.count().rdma_messages;
  RdmaMessageSeen message{seen.at,          half,        seen.facts.kind,
                          half.message_psn, half.length, seen.facts.kind == OpcodeKind::send ? whole : ByteView{},
                          half.va,          half.rkey};
  if (seen.ieth != nullptr) message.invalidates = load_be<std::uint32_t>(seen.ieth);
  dissector_.tell<heard::rdma_messages>([&](Observer& observer) { observer.on_rdma_message(message); });
  if (seen.facts.kind == OpcodeKind::send) capsule(half, message);
}

// A SEND to the controller is a command, one to the host a completion. Without the CM exchange its size tells.
void RoceReader::capsule(RdmaHalf& half, const RdmaMessageSeen& message) {
  const std::size_t size = message.payload.size();
  bool command = half.by_host;
  if (half.connection != nullptr) {
    if (!half.connection->nvme) return;
  } else {
    if (size < kCommandBytes && size != kCompletionBytes) return;
    command = size >= kCommandBytes;
    half.by_host = command;
  }
  if (half.queue == nullptr) {
    if (half.back != nullptr && half.back->queue != nullptr) {
      half.queue = half.back->queue;
    } else {
      half.queue = &dissector_.new_queue();
      half.queue->from_start = half.queue->whole = false;
      half.queue->host = command ? half.from : half.to;
      half.queue->controller = command ? half.to : half.from;
    }
  }
  if (command) {
    dissector_.command(message.at, *half.queue, message.payload);
  } else {
    dissector_.completion(message.at, *half.queue, message.payload, message.invalidates);
  }
}

}  // namespace fb::evidence
