#include "conformance/oracle/oracle.h"

#include <deque>
#include <map>
#include <set>

#include "conformance/evidence/behind_the_wire.h"
#include "conformance/monitors/per_index.h"
#include "conformance/oracle/subject.h"
#include "wire/fabrics/connect.h"
#include "wire/fabrics/property.h"
#include "wire/mi/message.h"
#include "wire/nvme/identify_misc.h"
#include "wire/nvme/identify_namespace.h"
#include "wire/rdma/psn.h"

namespace fb::oracle {

namespace {

using namespace evidence;
using nvme::FabricsType;
using nvme::SglDescriptor;
using nvme::SglType;

constexpr std::size_t kReadsKept = 256;

/// Puts commands, data and completions together, follows who is connected to what, and lets the subjects hear of it.
class Oracle final : public monitors::Judge, private Reporter {
 public:
  Oracle(monitors::Findings& findings, bool complete, Declaration declared) : Judge(findings, complete), declared_(std::move(declared)) {
    for (const MakeSubject make : subjects()) {
      if (auto subject = make(*this, complete)) subjects_.push_back(std::move(subject));
    }
  }

  unsigned hears() const override {
    return heard::capsules | heard::successes | heard::tcp_bytes | heard::roce_packets | heard::rdma_messages | heard::unread |
           heard::mctp | heard::words;
  }

  void on_command(const CommandSeen& seen) override {
    at_ = &seen.at;
    ++order_;
    Lane& lane = lanes_[seen.queue.index];
    if (!seen.queue.certain() || !seen.at.genuine()) {
      // Whatever it is may be carried out.
      if (!seen.queue.ended) unsure(lane.controller == nullptr ? nullptr : lane.controller->subsystem);
      return;
    }
    const std::uint16_t cid = View<nvme::SqeLayout>{seen.sqe}.get(nvme::sqe::cid);
    if (const auto former = lane.open.find(cid); former != lane.open.end()) abandon(lane, former);
    Exchange& made = *lane.open.emplace(cid, fresh()).first->second;
    begin(made, lane, seen);
    if (made.controller == nullptr) return;
    on_property_set(made, *made.controller);
    made.key_value = !made.admin() && !made.fabrics() && made.controller->subsystem->key_value_namespaces.contains(made.nsid());
    for (const auto& subject : subjects_) subject->on_command(made);
  }

  void on_completion(const CompletionSeen& seen) override {
    at_ = &seen.at;
    ++order_;
    const std::uint16_t cid = View<nvme::CqeLayout>{seen.cqe}.get(nvme::cqe::cid);
    if (!seen.queue.certain() || !seen.at.genuine()) return;
    answer(seen.queue, cid, seen.cqe);
  }

  void on_success(const PduSeen& seen) override {
    at_ = &seen.at;
    ++order_;
    if (!seen.flow.queue->certain()) return;
    nvme::Cqe cqe;
    const std::uint16_t cid = View<tcp::DataPdu>{seen.header}.get(tcp::data_pdu::cccid);
    cqe.set(nvme::cqe::cid, cid);
    answer(*seen.flow.queue, cid, cqe.bytes());
  }

  void on_queue_end(const Sight& at, Queue& queue) override {
    at_ = &at;
    ++order_;
    end_lane(queue);
  }

  void on_data(const DataSeen& seen) override {
    Lane& lane = lanes_[seen.queue.index];
    const auto found = lane.open.find(seen.cid);
    if (found == lane.open.end()) return;
    (seen.to_controller ? found->second->out : found->second->in).put(seen.offset, seen.bytes);
  }

  void on_roce_packet(const RocePacketSeen& seen) override {
    if (seen.half == nullptr || !seen.icrc_good || !seen.at.genuine()) return;
    if (seen.facts.kind == roce::OpcodeKind::write) return on_write_packet(seen, *seen.half);
    if (seen.facts.kind == roce::OpcodeKind::read_response) on_read_response(seen, *seen.half);
  }

  void on_rdma_message(const RdmaMessageSeen& seen) override {
    if (seen.kind != roce::OpcodeKind::read_request || seen.half.by_host || seen.half.queue == nullptr) return;
    auto& reads = reads_[seen.half.index];
    reads.push_back({seen.first_psn, seen.va, seen.length, seen.rkey});
    if (reads.size() > kReadsKept) reads.pop_front();
  }

  void on_unread(const Sight& at) override {
    at_ = &at;
    unread_ = true;
    unsure(nullptr);
  }

  void on_mctp_message(const MctpMessageSeen& seen) override {
    if (seen.type == mctp::MessageType::nvme_mi) unsure(nullptr);
  }

  void on_words(const WordsSeen& seen) override {
    if (seen.label == kBehindTheWireLabel) unsure(nullptr);
  }

 private:
  using Open = std::map<std::uint16_t, std::unique_ptr<Exchange>>;
  struct Lane {  // a queue
    Open open;
    Controller* controller = nullptr;
    Exchange* named_last = nullptr;  // by a key
  };
  struct Read {
    std::uint32_t psn = 0;
    std::uint64_t va = 0, length = 0;
    std::uint32_t rkey = 0;
  };

  void judged(Rule rule) override { Judge::judged(rule); }
  void say(Rule rule, std::string text) override { Judge::say(rule, *at_, std::move(text)); }
  void say_of(const Exchange& command, Rule rule, std::string text) override {
    TraceEvent event;
    event.actor = command.actor;
    Sight at;
    at.packet = command.packet;
    at.time = command.time;
    at.from = command.sender;
    at.event = &event;
    Judge::say(rule, at, std::move(text));
  }

  // ---- exchanges ----

  std::unique_ptr<Exchange> fresh() {
    if (spare_.empty()) return std::make_unique<Exchange>();
    std::unique_ptr<Exchange> made = std::move(spare_.back());
    spare_.pop_back();
    made->in.clear();
    made->out.clear();
    made->keyed.clear();
    return made;
  }

  void begin(Exchange& made, const Lane& lane, const CommandSeen& seen) {
    made.number = ++exchanges_;
    made.queue = &seen.queue;
    made.controller = lane.controller;
    std::copy(seen.sqe.begin(), seen.sqe.end(), made.sqe.begin());
    made.cqe.fill(0);
    made.began = order_;
    made.ended = 0;
    made.packet = seen.at.packet;
    made.time = seen.at.time;
    made.sender = seen.at.from;
    made.actor = seen.at.actor();
    made.length = 0;
    made.length_known = true;
    const SglDescriptor first = SglDescriptor::parse(made.command().get(nvme::sqe::sgl1));
    if (first.type == SglType::data_block && first.subtype == nvme::sgl_subtype::offset) {
      made.length = first.length;
      if (first.address <= seen.data.size() && first.length <= seen.data.size() - first.address) {
        made.out.put(0, seen.data.subspan(static_cast<std::size_t>(first.address), first.length));
      } else {
        made.length_known = false;
      }
    } else if (first.type == SglType::transport_data_block) {
      made.length = first.length;
    } else if (first.type == SglType::keyed_data_block) {
      made.keyed.push_back(first);
      made.length = first.length;
    } else if (first.type == SglType::last_segment && first.subtype == nvme::sgl_subtype::offset) {
      read_list(made, first, seen.data);
    } else {
      made.length_known = false;
    }
  }

  static void read_list(Exchange& made, const SglDescriptor& list, ByteView data) {
    if (list.address > data.size() || list.length > data.size() - list.address) {
      made.length_known = false;
      return;
    }
    for (std::size_t at = 0; at + SglDescriptor::kSize <= list.length; at += SglDescriptor::kSize) {
      const SglDescriptor one = SglDescriptor::parse(data.subspan(static_cast<std::size_t>(list.address) + at));
      made.keyed.push_back(one);
      made.length += one.length;
      if (one.type != SglType::keyed_data_block) made.length_known = false;
    }
  }

  void answer(Queue& queue, std::uint16_t cid, ByteView cqe) {
    Lane& lane = lanes_[queue.index];
    const auto found = lane.open.find(cid);
    if (found == lane.open.end()) return;
    std::unique_ptr<Exchange> done = take(lane, found);
    std::copy_n(cqe.begin(), done->cqe.size(), done->cqe.begin());
    done->ended = order_;
    if (done->is(FabricsType::connect)) {
      if (done->ok()) {
        on_connected(*done, lane);
      } else if (!done->admin()) {
        unsure(nullptr);  // the controller may have an error log entry for it
      }
      done->controller = lane.controller;
      for (const auto& subject : subjects_) subject->on_connect(*done);
    } else if (done->controller != nullptr) {
      if (done->is(nvme::AdminOpcode::identify) && done->ok()) note_command_set(*done);
      for (const auto& subject : subjects_) subject->on_answer(*done);
      if (unread_) unsure(nullptr);
    }
    recycle(std::move(done));
  }

  std::unique_ptr<Exchange> take(Lane& lane, Open::iterator at) {
    std::unique_ptr<Exchange> taken = std::move(at->second);
    if (lane.named_last == taken.get()) lane.named_last = nullptr;
    lane.open.erase(at);
    return taken;
  }
  void recycle(std::unique_ptr<Exchange> done) { spare_.push_back(std::move(done)); }

  void abandon(Lane& lane, Open::iterator at) {
    std::unique_ptr<Exchange> gone = take(lane, at);
    gone->ended = order_;
    if (gone->controller != nullptr) {
      for (const auto& subject : subjects_) subject->on_abandoned(*gone);
    }
    recycle(std::move(gone));
  }
  void abandon_all(Lane& lane) {
    while (!lane.open.empty()) abandon(lane, lane.open.begin());
  }

  /// Namespaces in which opcodes mean what they mean in the Key Value command set.
  static void note_command_set(const Exchange& one) {
    constexpr auto kPairs = static_cast<std::uint8_t>(nvme::CommandSet::key_value);
    const auto command = one.command<nvme::IdentifySqe>();
    const auto cns = static_cast<nvme::Cns>(command.get(nvme::identify_sqe::cns));
    auto& known = one.controller->subsystem->key_value_namespaces;
    if (cns == nvme::Cns::command_set_namespace && command.get(nvme::identify_sqe::csi) == kPairs) known.insert(one.nsid());
    if (cns != nvme::Cns::namespace_id_descriptors) return;
    bool pairs = false;
    nvme::NamespaceIdWalk walk{one.data_in(nvme::kIdentifySize)};
    for (nvme::NamespaceId id; walk.next(id);) {
      pairs = pairs || (id.type == nvme::NamespaceIdType::csi && !id.id.empty() && id.id[0] == kPairs);
    }
    if (pairs) known.insert(one.nsid());
  }

  // ---- who is connected to what ----

  void on_connected(const Exchange& connect, Lane& lane) {
    const ByteView data = connect.data_out();
    if (data.size() < fabrics::ConnectData::size) return unsure(nullptr);
    const View<fabrics::ConnectData> view{data};
    const auto subnqn = fabrics::terminated_text(view.get(fabrics::connect_data::subnqn));
    const auto hostnqn = fabrics::terminated_text(view.get(fabrics::connect_data::hostnqn));
    if (!subnqn || !hostnqn) return unsure(nullptr);
    Subsystem& subsystem = subsystem_of(*subnqn, connect.queue->controller.address);
    const std::uint16_t cntlid = connect.answer<fabrics::ConnectReply>().get(fabrics::connect_reply::cntlid);
    if (connect.admin()) {
      controllers_.push_back(std::make_unique<Controller>());
      Controller& made = *controllers_.back();
      made.number = controllers_.size();
      made.subsystem = &subsystem;
      made.cntlid = cntlid;
      made.hostnqn = *hostnqn;
      std::copy_n(view.get(fabrics::connect_data::hostid).begin(), made.hostid.size(), made.hostid.begin());
      made.admin = connect.queue;
      made.queues = {connect.queue};
      if (*subnqn == declared_.nqn) made.declared = declared_.controller;
      lane.controller = &made;
      for (const auto& subject : subjects_) subject->on_controller(made);
      return;
    }
    for (auto one = controllers_.rbegin(); one != controllers_.rend(); ++one) {
      if ((*one)->subsystem != &subsystem || (*one)->cntlid != cntlid || !(*one)->alive) continue;
      lane.controller = one->get();
      (*one)->queues.push_back(connect.queue);
      return;
    }
    unsure(&subsystem);
  }

  Subsystem& subsystem_of(const std::string& nqn, const IpAddress& address) {
    const bool discovery = nqn == fabrics::kDiscoveryNqn;
    auto& place = subsystems_[{nqn, discovery ? address : IpAddress{}}];
    if (place == nullptr) place = std::make_unique<Subsystem>(Subsystem{subsystems_.size(), nqn, address, discovery});
    return *place;
  }

  void end_lane(Queue& queue) {
    Lane& lane = lanes_[queue.index];
    abandon_all(lane);
    Controller* const controller = lane.controller;
    lane.controller = nullptr;
    if (controller == nullptr || controller->admin != &queue || !controller->alive) return;
    controller->alive = false;
    for (Queue* const other : controller->queues) abandon_all(lanes_[other->index]);
    for (const auto& subject : subjects_) subject->on_controller_end(*controller);
  }

  void on_property_set(const Exchange& made, Controller& controller) {
    if (!made.is(FabricsType::property_set)) return;
    const View<fabrics::PropertySetSqe> set = made.command<fabrics::PropertySetSqe>();
    const std::uint32_t offset = set.get(fabrics::property_sqe::ofst);
    if (offset == fabrics::property::nssr) return unsure(controller.subsystem);
    if (offset != fabrics::property::cc) return;
    const std::uint64_t configuration = set.get(fabrics::property_sqe::value);
    controller.enabled = (configuration & 1) != 0;
    controller.may_have_key_values = (configuration >> 4 & 7) != 0;
    if (controller.enabled) return;
    // What is outstanding ends without an answer (NVMe Base 2.3, section 3.7.2).
    for (Queue* const queue : controller.queues) {
      Open& open = lanes_[queue->index].open;
      for (auto one = open.begin(); one != open.end();) {
        const auto at = one++;
        if (at->second.get() != &made) abandon(lanes_[queue->index], at);
      }
    }
    for (const auto& subject : subjects_) subject->on_reset(controller);
  }

  void unsure(const Subsystem* subsystem) {
    for (const auto& subject : subjects_) subject->on_unsure(subsystem);
  }

  // ---- data over RDMA ----

  void on_write_packet(const RocePacketSeen& seen, const RdmaHalf& half) {
    if (half.by_host || half.queue == nullptr || seen.order != PsnOrder::next) return;
    if (seen.facts.first && seen.reth != nullptr) {
      const View<roce::Reth> reth{ByteView{seen.reth, roce::Reth::size}};
      return put(*half.queue, reth.get(roce::reth::rkey), reth.get(roce::reth::va), seen.payload, false);
    }
    if (half.inside) put(*half.queue, half.rkey, half.va + half.length, seen.payload, false);
  }

  void on_read_response(const RocePacketSeen& seen, const RdmaHalf& half) {
    if (half.back == nullptr || half.back->queue == nullptr) return;
    for (const Read& read : reads_[half.back->index]) {
      const std::int32_t index = roce::psn_distance(seen.psn(), read.psn);
      const std::uint64_t from = static_cast<std::uint64_t>(index) * half.mtu;
      if (index < 0 || (index > 0 && (half.mtu == 0 || from >= read.length))) continue;
      return put(*half.back->queue, read.rkey, read.va + from, seen.payload, true);
    }
  }

  static std::optional<std::uint64_t> offset_in(const Exchange& one, std::uint32_t rkey, std::uint64_t va) {
    std::uint64_t base = 0;
    for (const SglDescriptor& range : one.keyed) {
      if (range.key == rkey && va >= range.address && va - range.address < range.length) return base + (va - range.address);
      base += range.length;
    }
    return std::nullopt;
  }

  void put(const Queue& queue, std::uint32_t rkey, std::uint64_t va, ByteView bytes, bool to_controller) {
    Lane& lane = lanes_[queue.index];
    const auto take = [&](Exchange& one) {
      const auto offset = offset_in(one, rkey, va);
      if (!offset) return false;
      (to_controller ? one.out : one.in).put(*offset, bytes);
      lane.named_last = &one;
      return true;
    };
    if (lane.named_last != nullptr && take(*lane.named_last)) return;
    for (const auto& [cid, one] : lane.open) {
      if (take(*one)) return;
    }
  }

  const Declaration declared_;
  const Sight* at_ = nullptr;
  std::uint64_t order_ = 0, exchanges_ = 0;
  bool unread_ = false;
  std::vector<std::unique_ptr<Subject>> subjects_;
  monitors::PerIndex<Lane> lanes_;
  std::map<std::pair<std::string, IpAddress>, std::unique_ptr<Subsystem>> subsystems_;
  std::vector<std::unique_ptr<Controller>> controllers_;
  std::map<std::size_t, std::deque<Read>> reads_;  // by the direction in which they were asked for
  std::vector<std::unique_ptr<Exchange>> spare_;
};

}  // namespace

std::unique_ptr<monitors::Judge> judge_by_oracle(monitors::Findings& findings, bool complete, Declaration declared) {
  return std::make_unique<Oracle>(findings, complete, std::move(declared));
}

}  // namespace fb::oracle
