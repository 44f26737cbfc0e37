// Identify structures against each other.
#include "conformance/oracle/identify.h"

#include <fmt/format.h>

#include <algorithm>

#include "conformance/oracle/subjects.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/identify_misc.h"
#include "wire/nvme/identify_namespace.h"

namespace fb::oracle {

namespace {

using nvme::Cns;
namespace id_ns = nvme::id_ns;
namespace id_ctrl = nvme::id_ctrl;

constexpr std::uint8_t number_of(Cns cns) { return static_cast<std::uint8_t>(cns); }

std::uint64_t low_half(ByteView bytes, std::size_t at) { return load_le<std::uint64_t>(&bytes[at]); }

/// A field that two structures about one thing have in common.
struct Shared {
  std::string_view name;
  std::size_t here, there, bytes;
};

template <class A, class B>
constexpr Shared shared(std::string_view name, const A&, const B&) {
  static_assert(A::size == B::size);
  return {name, A::offset, B::offset, A::size};
}
template <class A>
constexpr Shared shared(std::string_view name, const A& field) {
  return shared(name, field, field);
}

constexpr Shared kOfNamespace[] = {
    shared("NSZE", id_ns::nsze),     shared("NCAP", id_ns::ncap),         shared("FLBAS", id_ns::flbas_low),
    shared("MC", id_ns::mc),         shared("DPS", id_ns::dps),           shared("NMIC", id_ns::nmic),
    shared("NGUID", id_ns::nguid),   shared("EUI64", id_ns::eui64),       shared("NVMCAP", id_ns::nvmcap),
    shared("ENDGID", id_ns::endgid), shared("NVMSETID", id_ns::nvmsetid), shared("ANAGRPID", id_ns::anagrpid),
};
constexpr Shared kIndependent[] = {
    shared("NMIC", nvme::id_ns_independent::nmic, id_ns::nmic),
    shared("RESCAP", nvme::id_ns_independent::rescap, id_ns::rescap),
    shared("ANAGRPID", nvme::id_ns_independent::anagrpid, id_ns::anagrpid),
    shared("NSATTR", nvme::id_ns_independent::nsattr, id_ns::nsattr),
    shared("NVMSETID", nvme::id_ns_independent::nvmsetid, id_ns::nvmsetid),
    shared("ENDGID", nvme::id_ns_independent::endgid, id_ns::endgid),
};
constexpr Shared kOfSubsystem[] = {
    shared("VID", id_ctrl::vid), shared("SN", id_ctrl::sn),           shared("MN", id_ctrl::mn),
    shared("NN", id_ctrl::nn),   shared("TNVMCAP", id_ctrl::tnvmcap), shared("UNVMCAP", id_ctrl::unvmcap),
};

class Identify final : public Subject {
 public:
  using Subject::Subject;

  void on_command(const Exchange& one) override { pages_.on_command(one); }
  void on_abandoned(const Exchange& one) override { pages_.on_abandoned(one); }
  void on_controller_end(const Controller& controller) override { pages_.forget(controller); }
  void on_unsure(const Subsystem* subsystem) override { pages_.unsure(subsystem); }

  void on_answer(const Exchange& one) override {
    const IdentifyPage* const page = pages_.on_answer(one);
    if (page == nullptr || one.subsystem().discovery) return;
    const IdentifyKey key = IdentifyPages::key_of(one);
    switch (static_cast<Cns>(key.cns)) {
      case Cns::controller:
        return on_controller_page(one, page->bytes);
      case Cns::identify_namespace:
      case Cns::allocated_namespace:
        return on_namespace(one, key, page->bytes);
      case Cns::independent_namespace:
        return compare_namespace(one, key, page->bytes, kIndependent);
      case Cns::active_namespace_list:
      case Cns::allocated_namespace_list:
      case Cns::command_set_active_namespace_list:
      case Cns::command_set_allocated_namespace_list:
        return on_namespace_list(one, key, page->bytes);
      case Cns::controller_list:
      case Cns::namespace_controller_list:
        return on_controller_list(key, page->bytes);
      case Cns::namespace_id_descriptors:
        return on_descriptors(one, key, page->bytes);
      default:
        return;
    }
  }

 private:
  template <std::size_t N>
  void agree(ByteView here, ByteView there, const Shared (&fields)[N], const std::string& whose) {
    judged(Rule::oracle_identify_agrees);
    for (const Shared& field : fields) {
      if (std::equal(&here[field.here], &here[field.here] + field.bytes, &there[field.there])) continue;
      return say(Rule::oracle_identify_agrees, fmt::format("{} differs from that of {}", field.name, whose));
    }
  }

  void on_controller_page(const Exchange& one, ByteView page) {
    const View<nvme::IdentifyController> view{page};
    judged(Rule::oracle_identify_controller);
    if (view.get(id_ctrl::cntlid) != one.controller->cntlid) {
      say(Rule::oracle_identify_controller,
          fmt::format("CNTLID is {}, and Connect returned {}", view.get(id_ctrl::cntlid), one.controller->cntlid));
    }
    const std::uint32_t nn = view.get(id_ctrl::nn), mnan = view.get(id_ctrl::mnan);
    const bool ana = (view.get(id_ctrl::cmic) & nvme::cmic_bits::ana_reporting) != 0;
    if (ana && mnan > nn) say(Rule::oracle_identify_controller, fmt::format("MNAN is {}, above NN, which is {}", mnan, nn));
    if (low_half(page, id_ctrl::unvmcap.offset) > low_half(page, id_ctrl::tnvmcap.offset)) {
      say(Rule::oracle_identify_controller, "UNVMCAP is above TNVMCAP");
    }
    pages_.each(one.subsystem(), {number_of(Cns::controller), one.nsid(), IdentifyPages::key_of(one).cntid, IdentifyPages::key_of(one).csi},
                [&](const Controller& other, const IdentifyPage& known) {
                  if (&other != one.controller) agree(page, known.bytes, kOfSubsystem, fmt::format("controller {}", other.cntlid));
                });
  }

  static bool is_nothing(ByteView page) {
    return std::all_of(page.begin(), page.end(), [](std::uint8_t byte) { return byte == 0; });
  }

  template <std::size_t N>
  void compare_namespace(const Exchange& one, const IdentifyKey& key, ByteView page, const Shared (&fields)[N]) {
    pages_.each(one.subsystem(), {number_of(Cns::identify_namespace), key.nsid}, [&](const Controller& other, const IdentifyPage& known) {
      const bool itself = &other == one.controller && key.cns == number_of(Cns::identify_namespace);
      if (itself || is_nothing(known.bytes) || is_nothing(page)) return;
      agree(page, known.bytes, fields, fmt::format("Identify Namespace of {:#x} by controller {}", key.nsid, other.cntlid));
    });
  }

  void on_namespace(const Exchange& one, const IdentifyKey& key, ByteView page) {
    if (key.nsid == nvme::kAllNamespaces) return;
    const bool nothing = is_nothing(page);
    if (key.cns == number_of(Cns::identify_namespace)) judge_presence(one, key.nsid, nothing);
    if (nothing) return;
    compare_namespace(one, key, page, kOfNamespace);
    judge_namespace(key.nsid, page);
    judge_limits(one, key.nsid, View<nvme::IdentifyNamespace>{page});
  }

  void judge_presence(const Exchange& one, std::uint32_t nsid, bool nothing) {
    const auto active = active_namespaces(pages_, *one.controller);
    if (!active) return;
    judged(Rule::oracle_identify_active);
    const bool listed = std::binary_search(active->begin(), active->end(), nsid);
    if (listed == !nothing) return;
    say(Rule::oracle_identify_active, fmt::format("namespace {:#x} is {} the active namespace list, and Identify Namespace is {}", nsid,
                                                  listed ? "in" : "not in", nothing ? "all zeroes" : "filled in"));
  }

  void judge_namespace(std::uint32_t nsid, ByteView page) {
    judged(Rule::oracle_identify_namespace);
    const View<nvme::IdentifyNamespace> ns{page};
    const auto wrong = [&](std::string what) { say(Rule::oracle_identify_namespace, fmt::format("namespace {:#x}: {}", nsid, what)); };
    const std::uint64_t nsze = ns.get(id_ns::nsze), ncap = ns.get(id_ns::ncap), nuse = ns.get(id_ns::nuse);
    if (ncap > nsze) wrong(fmt::format("NCAP {} is above NSZE {}", ncap, nsze));
    if (nuse > ncap) wrong(fmt::format("NUSE {} is above NCAP {}", nuse, ncap));
    const unsigned format = nvme::format_in_use(page), formats = ns.get(id_ns::nlbaf).raw() + 1u + ns.get(id_ns::nulbaf);
    if (format >= formats) return wrong(fmt::format("FLBAS selects format {} of {}", format, formats));
    const View<nvme::LbaFormat> used = nvme::lba_format_at(page, format);
    const unsigned lbads = used.get(nvme::lba_format::lbads), ms = used.get(nvme::lba_format::ms);
    if (lbads < 9 || lbads > 32) return wrong(fmt::format("LBADS of the format in use is {}", lbads));
    const unsigned type = ns.get(id_ns::dps) & nvme::dps_bits::type_mask;
    if (type > 3) wrong(fmt::format("DPS has protection type {}", type));
    const bool claimed = type == 0 || type > 3 || (ns.get(id_ns::dpc) >> (type - 1) & 1) != 0;
    if (!claimed) wrong(fmt::format("protection type {} is in use, and not in DPC", type));
    if (type != 0 && ms < 8) wrong(fmt::format("protection type {} is in use with {} bytes of metadata", type, ms));
    const std::uint8_t way = ns.get(id_ns::flbas_extended) ? nvme::mc_bits::extended : nvme::mc_bits::separate;
    if (ms != 0 && (ns.get(id_ns::mc) & way) == 0) wrong("metadata is transferred in a way that MC does not claim");
    const bool thin = (ns.get(id_ns::nsfeat) & nvme::nsfeat_bits::thin_provisioning) != 0;
    const std::uint64_t nvmcap = low_half(page, id_ns::nvmcap.offset);
    const bool fits = lbads < 64 && ncap < (~std::uint64_t{0} >> lbads);
    if (!thin && fits && nvmcap != 0 && nvmcap < ncap << lbads) {
      wrong(fmt::format("NVMCAP {} is below NCAP {} in blocks of {} bytes", nvmcap, ncap, std::uint64_t{1} << lbads));
    }
  }

  void judge_limits(const Exchange& one, std::uint32_t nsid, View<nvme::IdentifyNamespace> ns) {
    const IdentifyPage* const known = pages_.find(*one.controller, {number_of(Cns::controller)});
    if (known == nullptr) return;
    const View<nvme::IdentifyController> controller{known->bytes};
    const auto above = [&](std::string_view name, std::uint64_t value, std::string_view limit_name, std::uint64_t limit) {
      if (limit == 0 || value <= limit) return;
      say(Rule::oracle_identify_namespace, fmt::format("namespace {:#x}: {} {} is above {} {}", nsid, name, value, limit_name, limit));
    };
    above("NSID", nsid, "NN", controller.get(id_ctrl::nn));
    above("ANAGRPID", ns.get(id_ns::anagrpid), "ANAGRPMAX", controller.get(id_ctrl::anagrpmax));
    above("ENDGID", ns.get(id_ns::endgid), "ENDGIDMAX", controller.get(id_ctrl::endgidmax));
    above("NVMSETID", ns.get(id_ns::nvmsetid), "NSETIDMAX", controller.get(id_ctrl::nsetidmax));
  }

  void on_namespace_list(const Exchange& one, const IdentifyKey& key, ByteView page) {
    judged(Rule::oracle_identify_list);
    std::uint32_t last = key.nsid;
    bool ended = false;
    std::vector<std::uint32_t> listed;
    for (std::size_t at = 0; at + 4 <= page.size(); at += 4) {
      const std::uint32_t nsid = load_le<std::uint32_t>(&page[at]);
      if (nsid == 0) {
        ended = true;
        continue;
      }
      if (ended || nsid <= last || nsid >= 0xFFFFFFFE) {
        return say(Rule::oracle_identify_list, fmt::format("the list of CNS {:02X}h behind {:#x} has {:#x} behind {:#x}{}", key.cns,
                                                           key.nsid, nsid, last, ended ? " and a zero" : ""));
      }
      last = nsid;
      listed.push_back(nsid);
    }
    if (key.cns != number_of(Cns::active_namespace_list)) return;
    if (const IdentifyPage* const known = pages_.find(*one.controller, {number_of(Cns::controller)}); known != nullptr) {
      const std::uint32_t nn = View<nvme::IdentifyController>{known->bytes}.get(id_ctrl::nn);
      if (!listed.empty() && listed.back() > nn) {
        say(Rule::oracle_identify_list, fmt::format("the active namespace list has {:#x}, above NN, which is {:#x}", listed.back(), nn));
      }
    }
    const auto active = active_namespaces(pages_, *one.controller);
    if (!active) return;
    const auto from = std::upper_bound(active->begin(), active->end(), key.nsid);
    const auto count = std::min<std::size_t>(static_cast<std::size_t>(active->end() - from), nvme::kNamespaceListMax);
    if (!std::equal(from, from + static_cast<std::ptrdiff_t>(count), listed.begin(), listed.end())) {
      say(Rule::oracle_identify_list,
          fmt::format("the active namespaces behind {:#x} are {}, and by the whole list {}", key.nsid, listed.size(), count));
    }
    // Those that were looked at before the list was read.
    pages_.each_of(*one.controller, number_of(Cns::identify_namespace), [&](const IdentifyKey& of, const IdentifyPage& known) {
      if (of.nsid != nvme::kAllNamespaces) judge_presence(one, of.nsid, is_nothing(known.bytes));
    });
  }

  void on_controller_list(const IdentifyKey& key, ByteView page) {
    judged(Rule::oracle_identify_list);
    const std::size_t count = load_le<std::uint16_t>(&page[0]);
    if (count > nvme::kControllerListMax) {
      return say(Rule::oracle_identify_list, fmt::format("a controller list of {} identifiers", count));
    }
    std::uint32_t least = key.cntid;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint16_t cntlid = load_le<std::uint16_t>(&page[2 + 2 * i]);
      if (cntlid < least) {
        return say(Rule::oracle_identify_list,
                   fmt::format("the controller list from {} on has {} as entry {}, where it is at least {}", key.cntid, cntlid, i, least));
      }
      least = cntlid + 1u;
    }
  }

  void on_descriptors(const Exchange& one, const IdentifyKey& key, ByteView page) {
    const IdentifyPage* const known = pages_.find(*one.controller, {number_of(Cns::identify_namespace), key.nsid});
    if (known == nullptr || is_nothing(known->bytes)) return;
    judged(Rule::oracle_identify_agrees);
    const View<nvme::IdentifyNamespace> ns{known->bytes};
    nvme::NamespaceIdWalk walk(page);
    for (nvme::NamespaceId id; walk.next(id);) {
      const ByteView there = id.type == nvme::NamespaceIdType::eui64   ? ByteView(ns.get(id_ns::eui64))
                             : id.type == nvme::NamespaceIdType::nguid ? ByteView(ns.get(id_ns::nguid))
                                                                       : ByteView{};
      if (there.empty() || is_nothing(there) || std::equal(id.id.begin(), id.id.end(), there.begin(), there.end())) continue;
      say(Rule::oracle_identify_agrees, fmt::format("the {} descriptor of namespace {:#x} differs from Identify Namespace",
                                                    id.type == nvme::NamespaceIdType::eui64 ? "EUI-64" : "NGUID", key.nsid));
    }
  }

  IdentifyPages pages_;
};

}  // namespace

std::optional<std::vector<std::uint32_t>> active_namespaces(const IdentifyPages& pages, const Controller& controller) {
  const IdentifyPage* const page = pages.find(controller, {number_of(Cns::active_namespace_list)});
  if (page == nullptr) return std::nullopt;
  std::vector<std::uint32_t> listed = nvme::read_namespace_list(page->bytes);
  if (listed.size() >= nvme::kNamespaceListMax || !std::is_sorted(listed.begin(), listed.end())) return std::nullopt;
  return listed;
}

std::unique_ptr<Subject> follow_identify(Reporter& reporter, bool complete) { return std::make_unique<Identify>(reporter, complete); }

}  // namespace fb::oracle
