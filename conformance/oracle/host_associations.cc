// How hosts make, use and leave associations: names, queues, CC, authentication, Keep Alive, shutdown.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "conformance/oracle/host_knowledge.h"
#include "conformance/oracle/subjects.h"
#include "wire/fabrics/auth_messages.h"
#include "wire/fabrics/connect.h"
#include "wire/nvme/features.h"

namespace fb::oracle {

namespace {

using nvme::AdminOpcode;
using nvme::FabricsType;
namespace id_ctrl = nvme::id_ctrl;
namespace cs = fabrics::connect_sqe;
namespace cd = fabrics::connect_data;

class HostAssociations final : public Subject {
 public:
  using Subject::Subject;

  void on_controller(const Controller& controller) override { states_[&controller] = {}; }
  void on_controller_end(const Controller& controller) override {
    knowledge_.on_end(controller);
    states_.erase(&controller);
  }

  void on_connect(const Exchange& one) override {
    const ByteView data = one.data_out();
    if (data.size() < fabrics::ConnectData::size) return;
    // By what the command says: a queue whose Connect was refused is none yet.
    if (one.command<fabrics::ConnectSqe>().get(cs::qid) == 0) {
      if (one.ok() && one.controller != nullptr) on_admin_queue(one, View<fabrics::ConnectData>{data});
    } else {
      on_io_queue(one, View<fabrics::ConnectData>{data});
    }
    if (!one.ok() || one.controller == nullptr) return;
    using namespace fabrics::authreq_bits;
    const unsigned authreq = one.answer<fabrics::ConnectReply>().get(fabrics::connect_reply::authreq);
    unauthenticated_.erase(one.queue->index);
    if ((authreq & (authentication_transaction | secure_channel)) != 0) unauthenticated_.insert(one.queue->index);
  }

  void on_command(const Exchange& one) override {
    State& state = states_[one.controller];
    judge_authentication(one);
    judge_shutdown(one, state);
    judge_keep_alive(one, state);
    if (one.is(FabricsType::property_set)) on_property_set(one, state);
    if (one.is(FabricsType::disconnect)) judge_disconnect(one);
    if (!one.admin() || one.fabrics()) return;
    if (one.is(AdminOpcode::set_features)) judge_number_of_queues(one, state);
    if (one.is(AdminOpcode::keep_alive)) return;
    judged(Rule::oracle_host_ready);
    if (!state.ready) {
      say_of(one, Rule::oracle_host_ready, fmt::format("{}, and CSTS.RDY was not read as 1", nvme::admin_opcode_name(one.sqe[0])));
    }
  }

  void on_answer(const Exchange& one) override {
    knowledge_.on_answer(one);
    State& state = states_[one.controller];
    if (!one.ok()) return;
    if (one.is(FabricsType::property_get)) on_property(one, state);
    if (one.is(AdminOpcode::set_features)) on_feature(one, state);
    if (one.is(FabricsType::authentication_receive) && fabrics::auth_message_of(one.in.front()) == fabrics::AuthMessage::success1) {
      unauthenticated_.erase(one.queue->index);
    }
  }

 private:
  struct State {
    bool enabled = false, ready = false;
    bool disabled = false;  ///< CC.EN was set to 0, and CSTS.RDY was not read as 0 since
    bool shut_down = false;
    bool has_entry_sizes = true;  ///< CC has them, or was not seen
    bool has_io_queues = false;   ///< since CC.EN was set
    std::uint64_t granted = 0;    ///< I/O queues; 0: not known
    std::uint32_t kato_ms = 0;
    bool counting = false;  ///< the Keep Alive timer runs
    Instant restarted;
  };

  // ---- Connect ----

  void on_admin_queue(const Exchange& one, const View<fabrics::ConnectData>& data) {
    states_[one.controller].kato_ms = one.command<fabrics::ConnectSqe>().get(cs::kato);
    const ByteView hostid = data.get(cd::hostid);
    const auto [known, fresh] = hostids_.try_emplace({one.queue->host.address, one.controller->hostnqn}, hostid.begin(), hostid.end());
    if (fresh) return;
    judged(Rule::oracle_host_same);
    if (!std::equal(hostid.begin(), hostid.end(), known->second.begin())) {
      say_of(one, Rule::oracle_host_same, "another Host Identifier than in an earlier Connect with this Host NQN");
      known->second.assign(hostid.begin(), hostid.end());
    }
  }

  void on_io_queue(const Exchange& one, const View<fabrics::ConnectData>& data) {
    const auto command = one.command<fabrics::ConnectSqe>();
    const unsigned qid = command.get(cs::qid);
    judged(Rule::oracle_host_io_kato);
    if (command.get(cs::kato) != 0) {
      say_of(one, Rule::oracle_host_io_kato, fmt::format("KATO is {} in Connect of queue {}", command.get(cs::kato), qid));
    }
    const Controller* const controller = controller_of(one, data);
    if (controller == nullptr) return;
    judge_names(one, *controller, data);
    State& state = states_[controller];
    state.has_io_queues = true;
    if (!state.has_entry_sizes) say_of(one, Rule::oracle_host_cc, "IOSQES and IOCQES of CC are 0, and an I/O queue is connected");
    if (state.granted != 0) {
      judged(Rule::oracle_host_queue_count);
      if (qid > state.granted) {
        say_of(one, Rule::oracle_host_queue_count, fmt::format("queue {} is connected, and {} were granted", qid, state.granted));
      }
    }
    const auto cap = knowledge_.cap(controller);
    if (!cap) return;
    const std::uint64_t most = record_from_integer<fabrics::Cap>(*cap).get(fabrics::cap::mqes).count();
    judged(Rule::oracle_host_queue_size);
    if (command.get(cs::sqsize).count() > most) {
      say_of(one, Rule::oracle_host_queue_size,
             fmt::format("queue {} has {} entries, and CAP.MQES allows {}", qid, command.get(cs::sqsize).count(), most));
    }
  }

  /// Whose queue it is: the controller that the command names, or else the only one that the host has in the subsystem.
  const Controller* controller_of(const Exchange& one, const View<fabrics::ConnectData>& data) {
    const unsigned cntlid = data.get(cd::cntlid);
    const auto subnqn = fabrics::terminated_text(data.get(cd::subnqn));
    std::vector<const Controller*> candidates;
    for (const auto& [controller, state] : states_) {
      if (!subnqn || controller->subsystem->nqn != *subnqn) continue;
      if (controller->admin->host.address != one.queue->host.address) continue;
      if (controller->cntlid == cntlid) {
        judged(Rule::oracle_host_cntlid);
        return controller;
      }
      candidates.push_back(controller);
    }
    if (candidates.size() != 1) return nullptr;
    judged(Rule::oracle_host_cntlid);
    say_of(one, Rule::oracle_host_cntlid,
           fmt::format("CNTLID is {:#x} in Connect of an I/O queue, and the admin queue has controller {:#x}", cntlid,
                       candidates.front()->cntlid));
    return candidates.front();
  }

  void judge_names(const Exchange& one, const Controller& controller, const View<fabrics::ConnectData>& data) {
    const auto hostnqn = fabrics::terminated_text(data.get(cd::hostnqn));
    const ByteView hostid = data.get(cd::hostid);
    const bool zero = std::all_of(hostid.begin(), hostid.end(), [](std::uint8_t byte) { return byte == 0; });
    judged(Rule::oracle_host_identity);
    if (!hostnqn || *hostnqn != controller.hostnqn) {
      say_of(one, Rule::oracle_host_identity,
             fmt::format("HOSTNQN \"{}\" on an I/O queue, and \"{}\" on the admin queue", hostnqn.value_or(""), controller.hostnqn));
    } else if (!zero && !std::equal(hostid.begin(), hostid.end(), controller.hostid.begin())) {
      say_of(one, Rule::oracle_host_identity, "HOSTID of an I/O queue is not that of the admin queue");
    }
  }

  // ---- properties ----

  void on_property(const Exchange& one, State& state) {
    if (one.command<fabrics::PropertyGetSqe>().get(fabrics::property_sqe::ofst) != fabrics::property::csts) return;
    const bool ready = (one.answer<fabrics::PropertyGetReply>().get(fabrics::property_reply::value) & 1) != 0;
    if (!ready) state.disabled = false;
    if (ready && state.enabled && !state.ready) {
      state.ready = state.counting = true;
      state.restarted = one.time;
    }
  }

  void on_property_set(const Exchange& one, State& state) {
    const auto set = one.command<fabrics::PropertySetSqe>();
    if (set.get(fabrics::property_sqe::ofst) != fabrics::property::cc) return;
    const auto value = static_cast<std::uint32_t>(set.get(fabrics::property_sqe::value));
    const auto cc = record_from_integer<fabrics::Cc>(value);
    const bool enables = cc.get(fabrics::cc::en);
    if (enables && !state.enabled) {
      judged(Rule::oracle_host_reset_order);
      if (state.disabled)
        say_of(one, Rule::oracle_host_reset_order, "CC.EN is set to 1, and CSTS.RDY was not read as 0 since it was set to 0");
      judge_configuration(one, value, cc);
    }
    if (!enables) {
      state.disabled = state.disabled || state.ready;
      state.ready = state.counting = state.has_io_queues = false;
      state.granted = 0;
    }
    state.enabled = enables;
    state.shut_down = enables && cc.get(fabrics::cc::shn) != fabrics::ShutdownNotification::none;
  }

  void judge_configuration(const Exchange& one, std::uint32_t value, const Record<fabrics::Cc>& cc) {
    const auto read = knowledge_.cap(one.controller);
    if (!read || one.subsystem().discovery) return;
    const auto cap = record_from_integer<fabrics::Cap>(*read);
    const auto wrong = [&](Rule rule, bool is_wrong, std::string_view what) {
      judged(rule);
      if (is_wrong) say_of(one, rule, fmt::format("CC is {:#010x}, and CAP {:#x}: {}", value, *read, what));
    };
    const auto mps = cc.get(fabrics::cc::mps);
    wrong(Rule::oracle_host_cc, mps < cap.get(fabrics::cap::mpsmin) || mps > cap.get(fabrics::cap::mpsmax), "MPS");
    const auto css = static_cast<unsigned>(cc.get(fabrics::cc::css));
    const std::uint64_t sets = cap.get(fabrics::cap::css);
    using namespace fabrics::cap_css_bits;
    const std::uint64_t needed = css == 0 ? nvm : css == 6 ? io_command_sets : css == 7 ? no_io_command_set : 0;
    wrong(Rule::oracle_host_cc, (sets & needed) == 0, "CSS");
    // A host without I/O queues leaves them 0.
    const auto iosqes = cc.get(fabrics::cc::iosqes), iocqes = cc.get(fabrics::cc::iocqes);
    const bool unset = iosqes == 0 && iocqes == 0;
    states_[one.controller].has_entry_sizes = !unset;
    wrong(Rule::oracle_host_cc, css != 7 && !unset && (iosqes != fabrics::kIoSqEntrySizeLog2 || iocqes != fabrics::kIoCqEntrySizeLog2),
          "IOSQES is not 6, or IOCQES is not 4");
    const auto ams = static_cast<unsigned>(cc.get(fabrics::cc::ams));
    const auto offered = static_cast<unsigned>(cap.get(fabrics::cap::ams));
    const bool arbitrates = ams == 0 || (ams == 1 && (offered & 1) != 0) || (ams == 7 && (offered & 2) != 0);
    wrong(Rule::oracle_host_cc_rest, !arbitrates, "AMS");
    wrong(Rule::oracle_host_cc_rest, (value & 0xFE00000Eu) != 0, "reserved bits");
    wrong(Rule::oracle_host_cc_rest, cc.get(fabrics::cc::crime) && !cap.get(fabrics::cap::crims), "CRIME");
  }

  // ---- life ----

  void judge_authentication(const Exchange& one) {
    const auto found = unauthenticated_.find(one.queue->index);
    if (found == unauthenticated_.end()) return;
    judged(Rule::oracle_host_authenticates);
    if (one.is(FabricsType::authentication_send) || one.is(FabricsType::authentication_receive)) return;
    unauthenticated_.erase(found);
    say_of(one, Rule::oracle_host_authenticates,
           fmt::format("opcode {:02X}h on queue {}, whose Connect asked for authentication", one.sqe[0], *one.queue->qid));
  }

  void judge_shutdown(const Exchange& one, const State& state) {
    if (!state.shut_down) return;
    judged(Rule::oracle_host_shutdown);
    const bool belongs = one.is(FabricsType::property_get) || one.is(FabricsType::property_set) || one.is(FabricsType::disconnect) ||
                         one.is(AdminOpcode::keep_alive);
    if (!belongs) say_of(one, Rule::oracle_host_shutdown, fmt::format("opcode {:02X}h after CC.SHN was set", one.sqe[0]));
  }

  void judge_disconnect(const Exchange& one) {
    const ByteView page = knowledge_.controller(one);
    judged(Rule::oracle_host_disconnect);
    if (one.admin()) {
      say_of(one, Rule::oracle_host_disconnect, "Disconnect on an admin queue");
    } else if (!page.empty() && (View<nvme::IdentifyController>{page}.get(id_ctrl::ofcs) & nvme::ofcs_bits::disconnect) == 0) {
      say_of(one, Rule::oracle_host_disconnect, "Disconnect to a controller whose OFCS does not have it");
    }
  }

  /// Keep Alive restarts the timer; with traffic based keep alive any command does.
  void judge_keep_alive(const Exchange& one, State& state) {
    const ByteView page = knowledge_.controller(one);
    if (!state.counting || state.kato_ms == 0 || page.empty()) return;
    const View<nvme::IdentifyController> view{page};
    const bool by_traffic = (view.get(id_ctrl::ctratt) & nvme::ctratt_bits::traffic_based_keep_alive) != 0;
    if (!one.is(AdminOpcode::keep_alive) && !by_traffic) return;
    const std::uint64_t unit = std::max<std::uint64_t>(view.get(id_ctrl::kas) * std::uint64_t{100}, 1);
    const std::uint64_t katt = (state.kato_ms + unit - 1) / unit * unit;
    const Duration silence = one.time - state.restarted;
    judged(Rule::oracle_host_keep_alive);
    if (silence > Duration::ms(static_cast<std::int64_t>(katt))) {
      say_of(one, Rule::oracle_host_keep_alive, fmt::format("{} after the last one, and KATT is {} ms", to_string(silence), katt));
    }
    state.restarted = one.time;
  }

  // ---- features ----

  void judge_number_of_queues(const Exchange& one, const State& state) {
    const auto command = one.command<nvme::SetFeaturesSqe>();
    if (command.get(nvme::features_sqe::fid) != static_cast<std::uint8_t>(nvme::FeatureId::number_of_queues)) return;
    const std::uint32_t wish = command.get(nvme::features_sqe::cdw11);
    judged(Rule::oracle_host_queues_value, Rule::oracle_host_queues_time);
    if ((wish & 0xFFFF) == 0xFFFF || wish >> 16 == 0xFFFF) {
      say_of(one, Rule::oracle_host_queues_value, fmt::format("Number of Queues with {:08X}h", wish));
    }
    if (state.has_io_queues) say_of(one, Rule::oracle_host_queues_time, "Number of Queues, and an I/O queue is connected");
  }

  void on_feature(const Exchange& one, State& state) {
    const auto command = one.command<nvme::SetFeaturesSqe>();
    const auto fid = static_cast<nvme::FeatureId>(command.get(nvme::features_sqe::fid));
    if (fid == nvme::FeatureId::keep_alive_timer) {
      state.kato_ms = command.get(nvme::features_sqe::cdw11);
      state.restarted = std::max(state.restarted, one.time);
    }
    if (fid != nvme::FeatureId::number_of_queues) return;
    const std::uint32_t granted = one.answer().get(nvme::cqe::dw0);
    state.granted = std::min(granted & 0xFFFF, granted >> 16) + 1u;
  }

  HostKnowledge knowledge_;
  std::map<const Controller*, State, ByNumber> states_;
  std::set<std::size_t> unauthenticated_;  // queues
  std::map<std::pair<IpAddress, std::string>, Bytes> hostids_;
};

}  // namespace

std::unique_ptr<Subject> follow_host_associations(Reporter& reporter, bool complete) {
  if (!complete) return nullptr;
  return std::make_unique<HostAssociations>(reporter, complete);
}

}  // namespace fb::oracle
