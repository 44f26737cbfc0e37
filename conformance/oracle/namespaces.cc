// Namespaces as Format NVM, Namespace Management and Namespace Attachment made them: their formats and attributes, and which of
// them are allocated and active.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "conformance/oracle/subjects.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/identify_misc.h"
#include "wire/nvme/identify_namespace.h"

namespace fb::oracle {

namespace {

using nvme::AdminOpcode;
using nvme::Cns;
namespace id_ns = nvme::id_ns;

enum : unsigned { kCreate = 0, kDelete = 1, kAttach = 0, kDetach = 1 };

/// An attribute of a namespace, as far as it is known.
enum Attribute : std::size_t { nsze, ncap, format, extended, protection, first_bytes, nmic, anagrpid, nvmsetid, endgid, kAttributes };
constexpr std::string_view kNames[kAttributes] = {
    "NSZE", "NCAP", "the format in FLBAS", "FLBAS bit 4", "the type in DPS", "DPS bit 3", "NMIC", "ANAGRPID", "NVMSETID", "ENDGID"};
constexpr bool is_of_format(std::size_t attribute) { return attribute >= format && attribute <= first_bytes; }

struct Known {
  std::optional<std::uint64_t> values[kAttributes] = {};
  std::uint64_t packet = 0;  ///< that told or made it
  void forget_format() {
    for (std::size_t i = 0; i < kAttributes; ++i) {
      if (is_of_format(i)) values[i].reset();
    }
    values[nsze].reset();
    values[ncap].reset();
  }
};

std::uint64_t value_in(ByteView page, std::size_t attribute) {
  const View<nvme::IdentifyNamespace> ns{page};
  switch (attribute) {
    case nsze:
      return ns.get(id_ns::nsze);
    case ncap:
      return ns.get(id_ns::ncap);
    case format:
      return nvme::format_in_use(page);
    case extended:
      return ns.get(id_ns::flbas_extended) ? 1 : 0;
    case protection:
      return ns.get(id_ns::dps) & nvme::dps_bits::type_mask;
    case first_bytes:
      return (ns.get(id_ns::dps) & nvme::dps_bits::first_bytes) != 0 ? 1 : 0;
    case nmic:
      return ns.get(id_ns::nmic);
    case anagrpid:
      return ns.get(id_ns::anagrpid);
    case nvmsetid:
      return ns.get(id_ns::nvmsetid);
    default:
      return ns.get(id_ns::endgid);
  }
}

/// Whether a page has a say in an attribute: FLBAS bit 4 is of formats with metadata, DPS bit 3 of protection information that a
/// controller can place.
bool has_say(ByteView page, std::size_t attribute) {
  const View<nvme::IdentifyNamespace> ns{page};
  const View<nvme::LbaFormat> in_use = nvme::lba_format_at(page, nvme::format_in_use(page));
  if (attribute == extended) return in_use.get(nvme::lba_format::ms) != 0;
  if (attribute != first_bytes) return true;
  const bool placed = (ns.get(id_ns::dpc) & nvme::dpc_bits::first_bytes) != 0;
  return placed && (ns.get(id_ns::dps) & nvme::dps_bits::type_mask) != 0;
}

class Namespaces final : public Subject {
 public:
  using Subject::Subject;

  void on_command(const Exchange& one) override {
    last_ = one.began;
    if (!changes(one)) return;
    State& state = states_[one.controller->subsystem];
    ++state.open;
    if (state.open > 1) forget(state);
    state.changed = one.began;
  }
  void on_abandoned(const Exchange& one) override {
    last_ = one.ended;
    if (!changes(one)) return;
    State& state = states_[one.controller->subsystem];
    state.open -= state.open != 0 ? 1 : 0;
    forget(state);
    state.lost = true;  // it may be carried out yet
  }
  void on_answer(const Exchange& one) override {
    last_ = one.ended;
    if (!complete_ || one.subsystem().discovery) return;
    State& state = states_[one.controller->subsystem];
    // Of which command sets namespaces are active.
    if (one.is(nvme::FabricsType::property_set) || one.is(AdminOpcode::set_features)) state.active.erase(one.controller);
    if (one.is(AdminOpcode::identify)) return on_identify(state, one);
    if (!changes(one)) return;
    const bool alone = state.open == 1 && !state.lost && state.unsure < one.began;
    state.open -= state.open != 0 ? 1 : 0;
    state.changed = one.ended;
    if (!alone) return forget(state);
    switch (static_cast<AdminOpcode>(one.sqe[0])) {
      case AdminOpcode::format_nvm:
        return on_format(state, one);
      case AdminOpcode::namespace_management:
        return on_management(state, one);
      case AdminOpcode::namespace_attachment:
        return on_attachment(state, one);
      default:
        return forget(state);
    }
  }
  void on_controller(const Controller& controller) override { forget_attachments(controller); }
  void on_controller_end(const Controller& controller) override { forget_attachments(controller); }
  void on_unsure(const Subsystem* subsystem) override {
    for (auto& [of, state] : states_) {
      if (subsystem != nullptr && of != subsystem) continue;
      forget(state);
      state.unsure = last_;
    }
  }

 private:
  using Ids = std::set<std::uint32_t>;
  struct State {
    std::map<std::uint32_t, Known> namespaces = {};
    std::optional<Ids> allocated = {};
    std::map<const Controller*, Ids, ByNumber> active = {};
    std::map<std::uint32_t, std::set<std::uint16_t>> attached = {};  // controllers, by NSID
    Ids of_nvm = {};                                                 // made with the NVM command set, which every controller selects
    Bytes controller = {};                                           // Identify Controller
    unsigned open = 0;
    std::uint64_t changed = 0, unsure = 0;
    bool lost = false;
  };

  /// Commands that make other namespaces, or may.
  static bool changes(const Exchange& one) {
    return one.is(AdminOpcode::format_nvm) || one.is(AdminOpcode::namespace_management) || one.is(AdminOpcode::namespace_attachment) ||
           one.is(AdminOpcode::capacity_management) || one.is(AdminOpcode::nvme_mi_send) || one.is(AdminOpcode::firmware_commit);
  }

  static void forget(State& state) {
    state.namespaces.clear();
    state.allocated.reset();
    state.active.clear();
    state.attached.clear();
    state.of_nvm.clear();
  }
  /// A private namespace may go to a controller that comes, and controllers that go are in no list.
  void forget_attachments(const Controller& controller) {
    State& state = states_[controller.subsystem];
    state.attached.clear();
    state.active.clear();
  }

  static ByteView claims(const State& state, const Controller& controller) {
    return state.controller.empty() ? controller.declared : ByteView{state.controller};
  }

  // ---- commands ----

  static bool formats_all(const State& state, const Exchange& one) {
    const ByteView page = claims(state, *one.controller);
    if (page.size() < nvme::kIdentifySize) return true;
    return (View<nvme::IdentifyController>{page}.get(nvme::id_ctrl::fna) & nvme::fna_bits::format_all_namespaces) != 0;
  }

  /// Nothing was done.
  static bool is_refused(const Exchange& one) {
    for (const nvme::Status code :
         {nvme::sc::invalid_opcode, nvme::sc::invalid_field, nvme::sc::invalid_format, nvme::sc::invalid_namespace_or_format,
          nvme::sc::sanitize_in_progress, nvme::sc::prohibited_by_lockdown}) {
      if (nvme::same_code(one.status(), code)) return true;
    }
    return false;
  }

  static void on_format(State& state, const Exchange& one) {
    if (is_refused(one)) return;
    const auto command = one.command<nvme::FormatSqe>();
    const bool all = one.nsid() == nvme::kAllNamespaces, of_all = formats_all(state, one);
    const auto active = state.active.find(one.controller);
    for (auto& [nsid, known] : state.namespaces) {
      const bool meant = all ? active != state.active.end() && active->second.count(nsid) != 0 : nsid == one.nsid();
      if (!meant && !all && !of_all) continue;
      known.forget_format();
      if (!meant || !one.ok()) continue;
      known.packet = one.packet;
      known.values[format] = command.get(nvme::format_sqe::lbafl) | static_cast<unsigned>(command.get(nvme::format_sqe::lbafu)) << 4;
      known.values[extended] = command.get(nvme::format_sqe::mset) ? 1 : 0;
      known.values[protection] = command.get(nvme::format_sqe::pi);
      known.values[first_bytes] = command.get(nvme::format_sqe::pil) ? 1 : 0;
    }
  }

  void on_management(State& state, const Exchange& one) {
    const auto command = one.command<nvme::NamespaceManagementSqe>();
    const unsigned select = command.get(nvme::namespace_management_sqe::sel);
    if (!one.ok()) return;
    if (select == kCreate) return on_created(state, one, command.get(nvme::namespace_management_sqe::csi));
    if (select != kDelete) return forget(state);
    if (one.nsid() == nvme::kAllNamespaces) {
      forget(state);
      state.allocated = Ids{};
      return;
    }
    state.namespaces.erase(one.nsid());
    state.attached.erase(one.nsid());
    state.of_nvm.erase(one.nsid());
    if (state.allocated) state.allocated->erase(one.nsid());
    for (auto& [controller, ids] : state.active) ids.erase(one.nsid());
  }

  void on_created(State& state, const Exchange& one, std::uint8_t csi) {
    const std::uint32_t nsid = one.answer().get(nvme::cqe::dw0);
    judged(Rule::oracle_identify_list);
    if (nsid == 0 || nsid == nvme::kAllNamespaces || (state.allocated && state.allocated->count(nsid) != 0)) {
      say(Rule::oracle_identify_list, fmt::format("Namespace Management makes a namespace {:#x}, which {}", nsid,
                                                  nsid == 0 || nsid == nvme::kAllNamespaces ? "is none" : "there is"));
    }
    if (state.allocated) state.allocated->insert(nsid);
    state.attached[nsid] = {};
    if (csi == 0) state.of_nvm.insert(nsid);
    const ByteView data = one.data_out();
    Known& known = state.namespaces[nsid] = {};
    known.packet = one.packet;
    if (data.size() < nvme::kIdentifySize) return;
    for (const std::size_t attribute : {format, protection, nmic}) known.values[attribute] = value_in(data, attribute);
    // Of zones, the controller may have to round.
    if (csi == 0) known.values[nsze] = value_in(data, nsze);
    if (csi == 0) known.values[ncap] = value_in(data, ncap);
    // 0: the controller chooses.
    for (const std::size_t attribute : {anagrpid, nvmsetid, endgid}) {
      if (const std::uint64_t asked = value_in(data, attribute); asked != 0) known.values[attribute] = asked;
    }
  }

  void on_attachment(State& state, const Exchange& one) {
    const unsigned select = one.command<nvme::NamespaceAttachmentSqe>().get(nvme::namespace_attachment_sqe::sel);
    const ByteView data = one.data_out();
    const bool known = one.ok() && data.size() >= nvme::kIdentifySize && (select == kAttach || select == kDetach);
    if (!known) {
      // It may have been done for some of the list.
      state.active.clear();
      state.attached.clear();
      return;
    }
    const std::uint32_t nsid = one.nsid();
    const auto listed = nvme::read_controller_list(data);
    if (const auto attached = state.attached.find(nsid); attached != state.attached.end()) {
      for (const std::uint16_t cntlid : listed) {
        if (select == kAttach) attached->second.insert(cntlid);
        if (select == kDetach) attached->second.erase(cntlid);
      }
    }
    for (auto active = state.active.begin(); active != state.active.end();) {
      const auto here = active++;
      if (std::find(listed.begin(), listed.end(), here->first->cntlid) == listed.end()) continue;
      if (select == kDetach) {
        here->second.erase(nsid);
      } else if (state.of_nvm.count(nsid) != 0) {
        here->second.insert(nsid);
        judge_attachments(state, *here->first, here->second);
      } else {
        state.active.erase(here);  // it may be of a command set that is not selected
      }
    }
  }

  void judge_attachments(const State& state, const Controller& controller, const Ids& active) {
    const ByteView page = claims(state, controller);
    if (page.size() < nvme::kIdentifySize) return;
    const std::uint32_t most = View<nvme::IdentifyController>{page}.get(nvme::id_ctrl::maxcna);
    judged(Rule::oracle_identify_list);
    if (most == 0 || active.size() <= most) return;
    say(Rule::oracle_identify_list,
        fmt::format("{} namespaces are attached to controller {}, and MAXCNA is {}", active.size(), controller.cntlid, most));
  }

  // ---- what Identify says ----

  void on_identify(State& state, const Exchange& one) {
    const ByteView page = one.data_in(nvme::kIdentifySize);
    const bool sure = one.ok() && !page.empty() && state.open == 0 && !state.lost && state.changed < one.began && state.unsure < one.began;
    if (!sure) return;
    const auto command = one.command<nvme::IdentifySqe>();
    switch (static_cast<Cns>(command.get(nvme::identify_sqe::cns))) {
      case Cns::controller:
        state.controller.assign(page.begin(), page.end());
        return;
      case Cns::identify_namespace:
      case Cns::allocated_namespace:
        return on_namespace(state, one, page);
      case Cns::active_namespace_list: {
        const auto known = state.active.find(one.controller);
        const bool all = one.nsid() == 0;
        Ids listed = ids_of(page);
        judge_list(known == state.active.end() ? nullptr : &known->second, one.nsid(), listed, "active");
        if (all && listed.size() < nvme::kNamespaceListMax) state.active[one.controller] = std::move(listed);
        return;
      }
      case Cns::allocated_namespace_list: {
        Ids listed = ids_of(page);
        judge_list(state.allocated ? &*state.allocated : nullptr, one.nsid(), listed, "allocated");
        if (one.nsid() == 0 && listed.size() < nvme::kNamespaceListMax) state.allocated = std::move(listed);
        return;
      }
      case Cns::namespace_controller_list:
        return on_controllers(state, one, page, command.get(nvme::identify_sqe::cntid));
      default:
        return;
    }
  }

  static Ids ids_of(ByteView page) {
    const auto listed = nvme::read_namespace_list(page);
    return {listed.begin(), listed.end()};
  }

  void judge_list(const Ids* known, std::uint32_t start, const Ids& listed, std::string_view which) {
    if (known == nullptr) return;
    judged(Rule::oracle_identify_list);
    Ids expected(known->upper_bound(start), known->end());
    if (expected.size() >= nvme::kNamespaceListMax || expected == listed) return;
    const auto text = [](const Ids& ids) { return ids.empty() ? std::string("none") : fmt::format("{:#x}", fmt::join(ids, ", ")); };
    say(Rule::oracle_identify_list,
        fmt::format("{} namespaces behind {:#x} are {}, and by the commands before {}", which, start, text(listed), text(expected)));
  }

  void on_controllers(State& state, const Exchange& one, ByteView page, std::uint16_t from) {
    const auto listed = nvme::read_controller_list(page);
    const std::set<std::uint16_t> now(listed.begin(), listed.end());
    if (const auto known = state.attached.find(one.nsid()); known != state.attached.end()) {
      judged(Rule::oracle_identify_list);
      const std::set<std::uint16_t> expected(known->second.lower_bound(from), known->second.end());
      if (expected != now) {
        say(Rule::oracle_identify_list, fmt::format("namespace {:#x} is attached to controllers {}, and by the commands before to {}",
                                                    one.nsid(), fmt::join(now, ", "), fmt::join(expected, ", ")));
      }
    }
    if (from == 0 && now.size() < nvme::kControllerListMax) state.attached[one.nsid()] = now;
  }

  void on_namespace(State& state, const Exchange& one, ByteView page) {
    if (one.nsid() == nvme::kAllNamespaces || value_in(page, nsze) == 0) return;
    Known& known = state.namespaces[one.nsid()];
    judged(Rule::oracle_identify_namespace);
    judged(Rule::oracle_identify_namespace);
    for (std::size_t i = 0; i < kAttributes; ++i) {
      const std::uint64_t value = value_in(page, i);
      if (known.values[i] && *known.values[i] != value && has_say(page, i)) {
        say(is_of_format(i) ? Rule::oracle_identify_namespace : Rule::oracle_identify_namespace,
            fmt::format("{} of namespace {:#x} is {:#x}, and by packet {} it is {:#x}", kNames[i], one.nsid(), value, known.packet,
                        *known.values[i]));
      }
      known.values[i] = value;
    }
    known.packet = one.packet;
  }

  std::map<const Subsystem*, State, ByNumber> states_;
  std::uint64_t last_ = 0;
};

}  // namespace

std::unique_ptr<Subject> follow_namespaces(Reporter& reporter, bool complete) { return std::make_unique<Namespaces>(reporter, complete); }

}  // namespace fb::oracle
