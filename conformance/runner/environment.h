// What stands around one case: the product, the deviations that are switched on, how the case wants the
// emulated product arranged.
#pragma once

#include <map>
#include <mutex>
#include <vector>

#include "conformance/monitors/finding.h"
#include "conformance/runner/case.h"
#include "conformance/runner/declared.h"
#include "conformance/runner/embedded.h"
#include "conformance/runner/lane.h"
#include "conformance/runner/product.h"
#include "wire/fabrics/transports.h"

namespace fb::conformance {

/// What products declare, found out once: an emulated one for each arrangement and lane. Shared by the threads of a run.
class DeclarationCache {
 public:
  const Declared& of(const Product& product, void (*arrange)(EmbeddedSetup&), std::string_view transport, const Lane* lane = nullptr);
  /// Rules that were broken while a real product was asked.
  const std::vector<monitors::Finding>& findings() const { return findings_; }

 private:
  std::mutex mutex_;
  std::map<std::pair<std::uintptr_t, std::string>, std::unique_ptr<Declared>> known_;
  std::vector<monitors::Finding> findings_;
};

struct Environment {
  const Product* product = nullptr;
  const deviations::DeviationSet* deviations = nullptr;
  DeclarationCache* declarations = nullptr;
  void (*arrange)(EmbeddedSetup&) = nullptr;
  std::string_view transport = fabrics::kRdma;
  /// Empty where nothing but the product is met.
  std::string_view case_name = {};
  const Lane* lane = nullptr;  ///< null: the plain one
  /// While the product is asked: what is known so far.
  const Declared* exploring = nullptr;

  EmbeddedSetup setup() const {
    EmbeddedSetup made;
    made.transport = transport;
    made.layer = product->layer;
    if (product->vary) product->vary(made);
    if (lane != nullptr && lane->vary != nullptr) lane->vary(made);
    if (arrange != nullptr) arrange(made);
    if (lane != nullptr && lane->settle != nullptr) lane->settle(made);
    return made;
  }
  Surroundings around() const { return lane != nullptr ? lane->around : Surroundings{}; }
  /// Of the honest emulated product, or of the real one.
  const Declared& declared() const { return exploring != nullptr ? *exploring : declarations->of(*product, arrange, transport, lane); }
};

/// Connects to the product with a host that behaves and asks what it declares. For a real product
/// without an NQN, also finds out which subsystem there is.
Declared explore(World& world, const Environment& environment);

/// What a management endpoint declares; `found` says whether it could be asked.
EndpointFacts explore_endpoint(EndpointBench& bench, Declared& found);

/// Why nobody is at the product's address, or nothing.
std::optional<std::string> why_absent(const Product& product);
/// Why a product that was there takes no connection any more, or leaves it without an answer; or nothing. One that fell over is
/// given a few seconds in which whoever watches over it may start it again.
std::optional<std::string> why_down(const Product& product);

/// The NQN of the first NVM subsystem that the product's discovery service lists.
Result<std::string> discover_nqn(const Product& product);
/// The same for a product whose URL has no name; where there is none to be had, cases say why.
void name_subsystem(Product& product);

/// The bench for a role; a Problem with the surroundings is thrown as UserError.
std::unique_ptr<Bench> make_bench(World& world, Role role, const Environment& environment);

}  // namespace fb::conformance
