#include "conformance/evidence/dissector.h"

#include <algorithm>

#include "conformance/evidence/mctp_reader.h"
#include "conformance/evidence/roce_reader.h"
#include "conformance/evidence/tcp_reader.h"
#include "wire/fabrics/connect.h"

namespace fb::evidence {

namespace {

constexpr std::size_t kRemarksMax = 200;

bool says(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

// The words that the network puts on what its filters did; captures of ours carry them as comments.
Fate fate_of(TraceKind kind, std::string_view text) {
  if (text.empty()) return kind == TraceKind::fault ? Fate::lost : Fate::whole;
  if (says(text, "corrupted by filter")) return Fate::altered;
  if (says(text, "duplicated by filter")) return Fate::repeated;
  if (says(text, "reset by filter")) return Fate::forged;
  if (kind == TraceKind::fault || says(text, "lost by filter") || says(text, "dropped")) return Fate::lost;
  return Fate::whole;
}

/// Whether two RoCE packets differ in nothing but the byte of the BTH that the ICRC leaves out.
bool same_but_unchecked(ByteView a, ByteView b) {
  constexpr std::size_t kUnchecked = 4;
  return a.size() == b.size() && a.size() > kUnchecked && std::equal(a.begin(), a.begin() + kUnchecked, b.begin()) &&
         std::equal(a.begin() + kUnchecked + 1, a.end(), b.begin() + kUnchecked + 1);
}

}  // namespace

Dissector::Dissector(const DissectorOptions& options)
    : options_(options),
      roce_(std::make_unique<RoceReader>(*this)),
      tcp_(std::make_unique<TcpReader>(*this)),
      mctp_(std::make_unique<MctpReader>(*this)) {}

Dissector::~Dissector() = default;

void Dissector::add(Observer& observer) {
  everybody_.push_back(&observer);
  const unsigned hears = observer.hears();
  for (unsigned kind = 0; kind < heard::kinds; ++kind) {
    if ((hears >> kind & 1) != 0) observers_[kind].push_back(&observer);
  }
}

void Dissector::finish() {
  tcp_->finish();
  roce_->finish();
}

UnreadConnections Dissector::unread_connections() const { return tcp_->unread(); }

void Dissector::remark(std::string text) {
  if (remarks_.size() < kRemarksMax) {
    remarks_.push_back(std::move(text));
    return;
  }
  ++remarks_left_out_;
  remarks_.back() = "(" + std::to_string(remarks_left_out_ + 1) + " more remarks)";
}

Queue& Dissector::new_queue() {
  queues_.push_back(std::make_unique<Queue>());
  queues_.back()->index = queues_.size() - 1;
  return *queues_.back();
}

void Dissector::strike(const TraceEvent& event, Sight& at) {
  at.fate = fate_of(event.kind, event.text);
  at.late = says(event.text, "delayed");
  if (event.text.empty() || (at.fate == Fate::whole && !at.late)) return;
  struck_ += struck_.empty() ? "" : "; ";
  struck_ += event.text;
}

void Dissector::on_event(const TraceEvent& event) {
  const bool on_the_wire = event.kind == TraceKind::packet || (event.kind == TraceKind::fault && event.destination.port != 0);
  if (on_the_wire) {
    // One for all packets: every field but the parties is set here, those by whoever reads the packet.
    Sight& at = at_;
    at.packet = ++counts_.packets;
    at.time = event.time;
    at.event = &event;
    at.fate = Fate::whole;
    at.late = false;
    if (!event.text.empty() || event.kind == TraceKind::fault) strike(event, at);
    at.struck = struck_;
    if (event.sent.empty()) {
      read(event, at);
    } else {
      read_damaged(event, at);
    }
    struck_.clear();
    return;
  }
  if (event.label == kTlsKeylogLabel) return;
  if (event.kind == TraceKind::fault) {
    if (event.label == "fault") struck_ += (struck_.empty() ? "" : "; ") + std::string(event.text);
    mctp_->disturbed();
  }
  // Capsules and messages are told by those who sent or got them; here they are read from the packets.
  if (event.kind == TraceKind::capsule || event.kind == TraceKind::message) return;
  const WordsSeen words{event.kind, counts_.packets + 1, event.time, event.actor, event.label, event.text};
  tell<heard::words>([&](Observer& observer) { observer.on_words(words); });
}

void Dissector::read_damaged(const TraceEvent& event, Sight& at) {
  const bool is_roce = event.destination.port == roce::kUdpPort;
  if (is_roce && roce_->integrity_holds(event)) {
    // Either the one byte that no check covers, which nobody reads, or a forgery that its receiver believes.
    if (same_but_unchecked(event.bytes, event.sent)) at.fate = Fate::whole;
    return read(event, at);
  }
  // Its receiver throws it away. What was said is what was sent.
  TraceEvent said = event;
  said.bytes = event.sent;
  at.fate = Fate::lost;
  read(said, at);
}

void Dissector::on_packet(const capture::CapturedPacket& packet) {
  if (!begun_) epoch_ns_ = packet.time_ns;
  begun_ = true;
  const TraceEvent event = packet.as_event(epoch_ns_);
  Sight at;
  ++counts_.packets;
  at.packet = packet.number;
  at.time = event.time;
  at.event = &event;
  if (!packet.comment.empty()) {
    at.fate = fate_of(TraceKind::packet, packet.comment);
    at.late = says(packet.comment, "delayed");
    if (at.fate != Fate::whole || at.late) at.struck = packet.comment;
    if (packet.carried.mctp && says(packet.comment, "fault")) mctp_->disturbed();
  }
  read(event, at);
}

void Dissector::read(const TraceEvent& event, Sight& at) {
  if (event.mctp != nullptr) return mctp_->on_packet(event, at);
  if (event.tcp != nullptr) return tcp_->on_segment(event, at);
  if (event.destination.port == roce::kUdpPort) return roce_->on_packet(event, at);
  ++counts_.other;
}

void Dissector::command(const Sight& at, Queue& queue, ByteView capsule) {
  if (capsule.size() < nvme::kSqeSize) {
    ++counts_.broken;
    return;
  }
  ++counts_.commands;
  const ByteView sqe = capsule.first(nvme::kSqeSize);
  const View<fabrics::ConnectSqe> connect{sqe};
  const bool connects = sqe[0] == nvme::kFabricsOpcode && sqe[4] == static_cast<std::uint8_t>(nvme::FabricsType::connect);
  if (connects && !queue.qid) {
    queue.qid = connect.get(fabrics::connect_sqe::qid);
    queue.entries = connect.get(fabrics::connect_sqe::sqsize).raw() + 1u;
    queue.asked_no_flow_control = (connect.get(fabrics::connect_sqe::cattr) & fabrics::cattr_bits::disable_sq_flow_control) != 0;
    queue.connect_cid = connect.get(nvme::sqe::cid);
  }
  queue.opcodes[View<nvme::SqeLayout>{sqe}.get(nvme::sqe::cid)] = sqe[0];
  const CommandSeen seen{at, queue, sqe, capsule.subspan(nvme::kSqeSize)};
  tell_capsule(queue, [&](Observer& observer) { observer.on_command(seen); });
}

void Dissector::completion(const Sight& at, Queue& queue, ByteView cqe, std::optional<std::uint32_t> invalidates) {
  if (cqe.size() < nvme::CqeLayout::size) {
    ++counts_.broken;
    return;
  }
  ++counts_.completions;
  const View<nvme::CqeLayout> view{cqe};
  if (queue.connect_cid && *queue.connect_cid == view.get(nvme::cqe::cid)) {
    queue.connect_cid.reset();
    if (view.get(nvme::cqe::status).ok()) {
      queue.cntlid = View<fabrics::ConnectReply>{cqe}.get(fabrics::connect_reply::cntlid);
      queue.flow_control = view.get(nvme::cqe::sqhd) != nvme::kSqFlowControlDisabled;
    } else {
      queue.qid.reset();  // another Connect may follow
    }
  }
  CompletionSeen seen{at, queue, cqe.first(nvme::CqeLayout::size), invalidates};
  const auto command = queue.opcodes.find(view.get(nvme::cqe::cid));
  if (command != queue.opcodes.end()) seen.opcode = command->second;
  tell_capsule(queue, [&](Observer& observer) { observer.on_completion(seen); });
}

void Dissector::end_queue(const Sight& at, Queue& queue) {
  if (queue.ended) return;
  queue.ended = true;
  tell_capsule(queue, [&](Observer& observer) { observer.on_queue_end(at, queue); });
}

}  // namespace fb::evidence
