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
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/host/hooks.h"
#include "model/subsystem/hooks.h"
#include "sim/rdma/softroce/departures.h"
#include "sim/rdma/softroce/hooks.h"

namespace fb::deviations {

/// Which emulated product misbehaves. `cm` is the connection manager of the RDMA device.
enum class Product : std::uint8_t { controller, host, rdma, cm };
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
/// The product departs from the protocol at its point of that name.
struct Departs {
  std::string_view point;
};

using MakeSubsystemHooks = std::unique_ptr<subsystem::SubsystemHooks> (*)();
using MakeHostHooks = std::unique_ptr<host::HostHooks> (*)();
using MakeSoftHooks = std::unique_ptr<softroce::SoftHooks> (*)();

using Effect =
    std::variant<Tolerate, AnswerWith, Departs, MakeSubsystemHooks, MakeHostHooks, MakeSoftHooks>;

/// The point of a soft device by its enumerator.
inline Effect departs(softroce::Departure point) { return Departs{softroce::name_of(point)}; }

/// A hand-written subclass of SubsystemHooks, HostHooks or SoftHooks as an effect; `arguments` are
/// compile-time values for its constructor.
template <class H, auto... Arguments>
constexpr Effect hooks() {
  if constexpr (std::is_base_of_v<subsystem::SubsystemHooks, H>) {
    return MakeSubsystemHooks{
        []() -> std::unique_ptr<subsystem::SubsystemHooks> { return std::make_unique<H>(Arguments...); }};
  } else if constexpr (std::is_base_of_v<host::HostHooks, H>) {
    return MakeHostHooks{
        []() -> std::unique_ptr<host::HostHooks> { return std::make_unique<H>(Arguments...); }};
  } else {
    return MakeSoftHooks{
        []() -> std::unique_ptr<softroce::SoftHooks> { return std::make_unique<H>(Arguments...); }};
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
  explicit RegisteredDeviation(const Deviation& deviation) : deviation_(deviation), next_(first_) {
    first_ = this;
  }

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
  /// A name that nobody knows is a Problem that says so.
  static Result<DeviationSet> of_names(const std::vector<std::string>& names);

  bool empty() const { return chosen_.empty(); }
  const std::vector<const Deviation*>& chosen() const { return chosen_; }
  std::vector<std::string> names() const;

  /// Null where no chosen deviation concerns the product, so that the honest run pays nothing. Each
  /// call makes new hooks: they may carry state, and belong to one world.
  std::unique_ptr<subsystem::SubsystemHooks> subsystem_hooks() const;
  std::unique_ptr<host::HostHooks> host_hooks() const;
  std::unique_ptr<softroce::SoftHooks> soft_hooks() const;

 private:
  std::vector<const Deviation*> chosen_;
};

}  // namespace fb::deviations

/// At namespace scope in a file below model/deviations/catalogue.
#define DEVIATION(name, requirement, product, what, ...)                        \
  static const ::fb::deviations::RegisteredDeviation fb_deviation_##name{       \
      ::fb::deviations::Deviation{#name, requirement, product, what, __VA_ARGS__}}
