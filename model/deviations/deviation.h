// Deviations: small, named misbehaviours of the emulated products, each of which breaks one
// requirement. The self-test of the suite proves with them that every case can fail; users switch them
// on to test their own peer.
//
//   DEVIATION(connect_takes_sqsize_zero, "fabrics.connect.sqsize.minimum", Product::controller,
//             "accepts a queue of one entry", Tolerate{"connect.sqsize.minimum"});
//
// Three kinds are tables; the fourth is a subclass of a product's hooks, given as hooks<Mine>().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/host/hooks.h"
#include "model/mi/hooks.h"
#include "model/subsystem/hooks.h"
#include "sim/mctp/hooks.h"
#include "sim/rdma/softroce/fault_points.h"
#include "sim/rdma/softroce/hooks.h"

namespace fb::mi {
struct DriveOptions;
}

namespace fb::deviations {

/// Which emulated product misbehaves. `cm` is the connection manager of the RDMA device, `endpoint` a managed
/// drive with its MCTP side, `bus` the owner of an MCTP bus. The last four are providers and consumers of NetworkDirect
/// and NDK, which depart at points alone.
enum class Product : std::uint8_t {
  controller,
  host,
  rdma,
  cm,
  endpoint,
  management_requester,
  bus,
  nd_provider,
  nd_consumer,
  ndk_provider,
  ndk_consumer
};
std::string_view name_of(Product product);

/// The controller leaves out the check of that name.
struct Tolerate {
  std::string_view check;
};
/// The controller's check of that name answers another status.
struct AnswerWith {
  std::string_view check;
  nvme::Status status;
};
/// The endpoint's check of that name answers another NVMe-MI status; it answers where it should be silent.
struct AnswerMi {
  std::string_view check;
  mi::Status status;
  mi::ParameterError at = {};
};
/// The drive is another one than the usual: its options are changed before it is made.
struct AlterDrive {
  void (*change)(mi::DriveOptions&);
};
/// The product departs from the protocol at its point of that name.
struct Departs {
  std::string_view point;
};

using MakeSubsystemHooks = std::unique_ptr<subsystem::SubsystemHooks> (*)();
using MakeHostHooks = std::unique_ptr<host::HostHooks> (*)();
using MakeSoftHooks = std::unique_ptr<softroce::SoftHooks> (*)();

using MakeEndpointHooks = std::unique_ptr<mi::EndpointHooks> (*)();
using MakeRequesterHooks = std::unique_ptr<mi::RequesterHooks> (*)();
/// Of the MCTP side of an endpoint, a requester or a bus owner.
using MakeMctpHooks = std::unique_ptr<mctp::EndpointHooks> (*)();

using Effect = std::variant<Tolerate, AnswerWith, AnswerMi, AlterDrive, Departs, MakeSubsystemHooks, MakeHostHooks, MakeSoftHooks,
                            MakeEndpointHooks, MakeRequesterHooks, MakeMctpHooks>;

/// The point of a soft device by its enumerator.
inline Effect departs(softroce::Departure point) { return Departs{softroce::name_of(point)}; }

template <class Base, class H, auto... Arguments>
constexpr Effect made_as() {
  return Effect{static_cast<std::unique_ptr<Base> (*)()>([]() -> std::unique_ptr<Base> { return std::make_unique<H>(Arguments...); })};
}

/// A hand-written subclass of a product's hooks as an effect; `arguments` are compile-time values for its
/// constructor.
template <class H, auto... Arguments>
constexpr Effect hooks() {
  if constexpr (std::is_base_of_v<subsystem::SubsystemHooks, H>) {
    return made_as<subsystem::SubsystemHooks, H, Arguments...>();
  } else if constexpr (std::is_base_of_v<host::HostHooks, H>) {
    return made_as<host::HostHooks, H, Arguments...>();
  } else if constexpr (std::is_base_of_v<mi::EndpointHooks, H>) {
    return made_as<mi::EndpointHooks, H, Arguments...>();
  } else if constexpr (std::is_base_of_v<mi::RequesterHooks, H>) {
    return made_as<mi::RequesterHooks, H, Arguments...>();
  } else if constexpr (std::is_base_of_v<mctp::EndpointHooks, H>) {
    return made_as<mctp::EndpointHooks, H, Arguments...>();
  } else {
    return made_as<softroce::SoftHooks, H, Arguments...>();
  }
}

struct Deviation {
  std::string_view name;
  std::string_view requirement;
  Product product = Product::controller;
  std::string_view what;  ///< one line for people
  Effect effect;
  std::string_view transport = {};  ///< where it shows over one alone, and the effect does not say so
};

/// Whether a product that departs so can be told from an honest one over this transport: points whose
/// name begins with a transport's belong to it.
bool shows_over(const Deviation& deviation, std::string_view transport);

/// Every deviation that is linked in, by name.
const std::vector<const Deviation*>& all_deviations();
const Deviation* find_deviation(std::string_view name);
/// Those that break `requirement`, by name.
std::vector<const Deviation*> deviations_of(std::string_view requirement);

class RegisteredDeviation {
 public:
  explicit RegisteredDeviation(const Deviation& deviation) : deviation_(deviation), next_(first_) { first_ = this; }

 private:
  friend const std::vector<const Deviation*>& all_deviations();
  static inline const RegisteredDeviation* first_ = nullptr;
  Deviation deviation_;
  const RegisteredDeviation* next_;
};

/// Deviations that are switched on together, and the hooks that bring them about. A set without any
/// deviation gives hooks that do nothing.
class DeviationSet {
 public:
  DeviationSet() = default;
  explicit DeviationSet(std::vector<const Deviation*> chosen) : chosen_(std::move(chosen)) {}
  /// A name that nobody knows is a Problem that says so. "F3" names the one that bears this number of a field report;
  /// `of` says whose, where several products have one.
  static Result<DeviationSet> of_names(const std::vector<std::string>& names, std::optional<Product> of = {});

  bool empty() const { return chosen_.empty(); }
  const std::vector<const Deviation*>& chosen() const { return chosen_; }
  std::vector<std::string> names() const;

  /// Null where no chosen deviation concerns the product, so that the honest run pays nothing. Each
  /// call makes new hooks: they may carry state, and belong to one world.
  std::unique_ptr<subsystem::SubsystemHooks> subsystem_hooks() const;
  std::unique_ptr<host::HostHooks> host_hooks() const;
  std::unique_ptr<softroce::SoftHooks> soft_hooks() const;
  std::unique_ptr<mi::EndpointHooks> endpoint_hooks() const;
  std::unique_ptr<mi::RequesterHooks> requester_hooks() const;
  /// `of` is the endpoint, the management requester or the bus.
  std::unique_ptr<mctp::EndpointHooks> mctp_hooks(Product of) const;
  /// The points at which a product departs.
  std::vector<std::string_view> points(Product of) const;
  /// What the chosen deviations make of a drive.
  void alter(mi::DriveOptions& options) const;

 private:
  std::vector<const Deviation*> chosen_;
};

}  // namespace fb::deviations

/// At namespace scope in a file below model/deviations/catalogue.
#define DEVIATION(name, requirement, product, what, ...)                           \
  static const ::fb::deviations::RegisteredDeviation fb_deviation_##name {         \
    ::fb::deviations::Deviation { #name, requirement, product, what, __VA_ARGS__ } \
  }
