// A conformance case: one function in one file, nothing else to edit.
//
//   CONFORMANCE_CASE(connect_refuses_sqsize_zero, "fabrics.connect.sqsize.minimum", roles::controller,
//                    reaches{"subsystem.refuses.connect.sqsize.minimum"}) {
//     auto reply = bench.open_raw_queue().send(connect().with(sqsize, 0)).wait();
//     check.status(reply, one_of(sc::connect_invalid_parameters));
//   }
//
// `bench` (the bench of the role) and `check` are in scope. Names are stable for ever and unique.
// A case mentions no port, seed, transport or time limit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "conformance/requirements/ledger.h"
#include "conformance/requirements/requirement_id.h"
#include "conformance/runner/bench.h"
#include "conformance/runner/check.h"
#include "conformance/runner/device_layer.h"
#include "wire/fabrics/transports.h"

namespace fb::conformance {

struct Declared;
struct EmbeddedSetup;

/// Says why a case does not apply to a product that declares this ("ONCS bit 3 is clear"), or nothing.
using Applicability = std::optional<std::string> (*)(const Declared&);

struct CaseOptions {
  /// What the case can run over.
  std::vector<std::string_view> transports = {fabrics::kRdma, fabrics::kTcp};
  std::vector<std::string_view> marks;
  std::vector<Applicability> applicability;
  struct Beyond {
    DeviceLayer layer;
    std::string_view why;
  };
  std::vector<Beyond> beyond;
  bool malformed = false;
  Duration budget = Duration::s(3600);
  Duration lasting;
  void (*arrange)(EmbeddedSetup&) = nullptr;
  std::string_view arrangement;
  bool authenticates = false;
  bool tls = false;
  std::uint32_t requests = 0;  ///< arranges{} of arranger.h: a bit for each Request
  std::string_view ability;
};

/// Marks that a run must have been through to PASS; a pass that never got to its point is an ERROR.
/// Looked at where the product is the emulated one; marks that begin with "bench." always.
struct reaches {
  std::vector<std::string_view> marks;
  reaches(std::initializer_list<std::string_view> names) : marks(names) {}
  void apply(CaseOptions& options) const { options.marks.insert(options.marks.end(), marks.begin(), marks.end()); }
};

/// The case puts bytes on the wire that no dissector should accept.
struct SendsMalformed {
  void apply(CaseOptions& options) const { options.malformed = true; }
};
inline constexpr SendsMalformed sends_malformed;

/// The case applies only to products that declare something. May be given several times.
struct needs {
  Applicability predicate;
  explicit needs(Applicability p) : predicate(p) {}
  void apply(CaseOptions& options) const { options.applicability.push_back(predicate); }
};

/// Behind one of these programming interfaces the case is skipped, because the interface does not have what it is about.
struct beyond {
  std::vector<DeviceLayer> layers;
  std::string_view why;
  void apply(CaseOptions& options) const {
    for (const DeviceLayer layer : layers) options.beyond.push_back({layer, why});
  }
};
inline beyond beyond_networkdirect(std::string_view why) { return {{DeviceLayer::networkdirect}, why}; }
inline beyond beyond_interfaces(std::string_view why) { return {{DeviceLayer::networkdirect, DeviceLayer::ndk}, why}; }

/// Cases about one transport say so; others run over each of them.
struct transports {
  std::vector<std::string_view> names;
  transports(std::initializer_list<std::string_view> list) : names(list) {}
  void apply(CaseOptions& options) const { options.transports = names; }
};

inline const transports over_rdma{fabrics::kRdma};
inline const transports over_tcp{fabrics::kTcp};
inline const transports over_smbus{"smbus"};
inline const transports over_serial{"serial"};
inline const transports over_pcie{"pcie"};
/// Media with room for more than two.
inline const transports over_buses{"smbus", "pcie"};

/// Longest time that one wait of the case may take, in the time of its world; an hour by default.
struct budget {
  Duration limit;
  explicit budget(Duration d) : limit(d) {}
  void apply(CaseOptions& options) const { options.budget = limit; }
};

/// The case lasts so long by its nature (it waits for a keep alive to expire). In virtual time that
/// costs nothing; against a real product it is skipped unless long cases are asked for.
struct lasts {
  Duration time;
  explicit lasts(Duration t) : time(t) {}
  void apply(CaseOptions& options) const { options.lasting = time; }
};

/// The emulated product is set up differently for this case, or the case reaches behind it (adds a
/// namespace, loses packets). With a real product the case is skipped, and says that it needs `what`.
struct arranged {
  std::string_view what;
  void (*change)(EmbeddedSetup&);
  explicit arranged(std::string_view w, void (*c)(EmbeddedSetup&) = nullptr) : what(w), change(c) {}
  void apply(CaseOptions& options) const {
    options.arrange = change;
    options.arrangement = what;
  }
};

/// The emulated product is set up differently for this case; a real one is asked as it is, and needs{} says what
/// it has to have. Role host: it is the bench's subsystem that is set up differently.
struct furnished {
  void (*change)(EmbeddedSetup&);
  explicit furnished(void (*c)(EmbeddedSetup&)) : change(c) {}
  void apply(CaseOptions& options) const { options.arrange = change; }
};

/// Role host: the bench's subsystem is set up differently for this case, and the emulated host is told to do something.
/// Somebody else's host is asked for the same where its program says that it has the ability.
struct host_with {
  std::string_view ability;
  void (*change)(EmbeddedSetup&);
  void apply(CaseOptions& options) const {
    options.arrange = change;
    options.ability = ability;
  }
};

/// The case is about authentication: the emulated product is set up to demand it, and a real one is
/// asked when the bench was given the secrets for it.
struct authenticates {
  void (*change)(EmbeddedSetup&);
  explicit authenticates(void (*c)(EmbeddedSetup&)) : change(c) {}
  void apply(CaseOptions& options) const {
    options.arrange = change;
    options.authenticates = true;
  }
};

/// The case is about TLS: the emulated product is set up for it, and a real one is asked when the bench was
/// given keys for it.
struct over_tls {
  void (*change)(EmbeddedSetup&);
  explicit over_tls(void (*c)(EmbeddedSetup&)) : change(c) {}
  void apply(CaseOptions& options) const {
    options.arrange = change;
    options.tls = true;
  }
};

struct CaseInfo {
  std::string_view name;
  std::string_view requirement;
  Role role = Role::controller;
  void (*body)(Bench& bench, Check& check) = nullptr;
  CaseOptions options;
  std::string_view file;

  std::string_view suite() const { return suite_of(requirement); }
};

/// What is said in place of FAIL where the rule of the case is from memory, nobody having read it in its document; empty for
/// every other rule. It blames no product of somebody else.
std::string why_unconfirmed(const CaseInfo& info);

/// Every registered case, by name. Two of one name are an assertion failure.
const std::vector<const CaseInfo*>& all_cases();

/// What cases of management roles run over unless they say otherwise.
inline const std::vector<std::string_view> kMedia = {"smbus", "serial", "pcie"};

/// Requirements of one transport say so in their id: "tcp.icreq.pfv", "fabrics.rdma.request.qid".
constexpr std::optional<std::string_view> transport_named_by(std::string_view requirement) {
  for (std::size_t at = 0; at < requirement.size();) {
    const std::size_t end = std::min(requirement.find('.', at), requirement.size());
    const std::string_view word = requirement.substr(at, end - at);
    if (word == fabrics::kTcp) return fabrics::kTcp;
    if (word == fabrics::kRdma || word == "cm") return fabrics::kRdma;
    if (word == "smbus" || word == "serial") return word;
    if (word == "vdm") return "pcie";
    at = end + 1;
  }
  return std::nullopt;
}

class RegisteredCase {
 public:
  template <class... Options>
  RegisteredCase(std::string_view name, RequirementId requirement, Role role, std::string_view file, void (*body)(Bench&, Check&),
                 const Options&... options)
      : info_{name, requirement.text(), role, body, {}, file}, next_(first_) {
    if (manages(role)) info_.options.transports = kMedia;
    if (programs(role)) info_.options.transports = {info_.suite() == "ndk" ? "ndk" : "nd"};
    if (const auto only = transport_named_by(requirement.text())) info_.options.transports = {*only};
    (options.apply(info_.options), ...);
    first_ = this;
  }

 private:
  friend const std::vector<const CaseInfo*>& all_cases();
  static inline const RegisteredCase* first_ = nullptr;
  CaseInfo info_;
  const RegisteredCase* next_;
};

template <Role R, auto Body>
void run_case_body(Bench& bench, Check& check) {
  Body(static_cast<typename BenchOf<R>::Type&>(bench), check);
}

}  // namespace fb::conformance

/// CONFORMANCE_CASE(name, "requirement.id", roles::role, options...) { body }
#define CONFORMANCE_CASE(name, requirement, role_, ...)                                                                 \
  static void fb_case_##name(typename ::fb::conformance::BenchOf<role_>::Type& bench, ::fb::conformance::Check& check); \
  static const ::fb::conformance::RegisteredCase fb_registered_##name(                                                  \
      #name, ::fb::conformance::RequirementId{requirement}, role_, __FILE__,                                            \
      &::fb::conformance::run_case_body<role_, &fb_case_##name> __VA_OPT__(, ) __VA_ARGS__);                            \
  static void fb_case_##name([[maybe_unused]] typename ::fb::conformance::BenchOf<role_>::Type& bench,                  \
                             [[maybe_unused]] ::fb::conformance::Check& check)
