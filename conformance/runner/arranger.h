// What a case needs to happen to the product that no host or requester can bring about: another ANA state, another size of a
// namespace, a loss of power. The emulated product does it itself; of a real one the program of its owner is asked
// (run --arrange COMMAND), in the lines of JSON that docs/user-guide.md describes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "conformance/runner/case.h"
#include "wire/nvme/logs.h"

namespace fb {
class World;
}
namespace fb::mi {
class Drive;
}
namespace fb::subsystem {
class Subsystem;
class Target;
}  // namespace fb::subsystem

namespace fb::conformance {

struct Declared;
struct Product;

/// The requests of the protocol.
enum class Request : std::uint8_t {
  ana_state,
  namespace_resize,
  namespace_attach,
  namespace_detach,
  write_protect,
  media_error,
  temperature,
  critical_warning,
  available_spare,
  percentage_used,
  power_cycle,
  subsystem_reset,
  link,
  host_allow,
  host_disallow,
  any_host,
  referral_add,
  referral_remove,
  subsystem_hide,
  command_time,
};
/// As the protocol has it.
std::string_view name_of(Request request);
inline constexpr Request kLastRequest = Request::command_time;

/// Things happen to the product that no host can bring about: bench.arranger() makes them happen. The owner of a real product has
/// a program for that (--arrange); where it does not say that it can do all of these requests, the case is skipped.
struct arranges {
  std::vector<Request> requests;
  void (*change)(EmbeddedSetup&) = nullptr;
  void apply(CaseOptions& options) const {
    for (const Request one : requests) options.requests |= 1u << static_cast<unsigned>(one);
    if (change != nullptr) options.arrange = change;
  }
};
/// What a case requests of that program, by name.
std::vector<std::string_view> requests_of(const CaseOptions& options);
/// What a case requests and the program of a real product does not do, in words; or nothing.
std::optional<std::string> not_arranged(const CaseOptions& options, const Product& product);

/// Each of these returns when it has happened. CannotArrange where the program refuses.
class Arranger {
 public:
  virtual ~Arranger() = default;

  // ---- of the subsystem under test ----

  virtual void ana_state(std::uint32_t group, nvme::AnaState state) = 0;
  /// A size that it did not have since the case began.
  virtual void resize_namespace(std::uint32_t nsid) = 0;
  virtual void attach_namespace(std::uint32_t nsid, std::uint16_t cntlid) = 0;
  virtual void detach_namespace(std::uint32_t nsid, std::uint16_t cntlid) = 0;
  virtual void write_protect(std::uint32_t nsid, bool on) = 0;
  /// Blocks that cannot be read until they are written again. One that is `unnoticed` is not known to the product before it is read.
  virtual void media_error(std::uint32_t nsid, std::uint64_t lba, std::uint32_t blocks, bool unnoticed) = 0;
  virtual void temperature(std::uint16_t kelvins) = 0;
  /// A temperature that it did not have since the case began.
  virtual void warmer() = 0;
  virtual void critical_warning(std::uint8_t bits) = 0;
  virtual void available_spare(std::uint8_t percent) = 0;
  virtual void percentage_used(std::uint8_t percent) = 0;
  /// Power is lost, and is there again: what is connected is no more.
  virtual void power_cycle() = 0;
  /// NVM Subsystem Reset.
  virtual void subsystem_reset() = 0;
  virtual void allow_host(const std::string& hostnqn) = 0;
  virtual void disallow_host(const std::string& hostnqn) = 0;
  /// Whether hosts that are not in the list may connect.
  virtual void allow_any_host(bool on) = 0;
  /// It is not reached through the port of the product any more.
  virtual void hide_subsystem() = 0;

  // ---- of its discovery service: one referral, to this address ----

  static constexpr std::string_view kReferralAddress = "192.0.2.77";
  virtual void add_referral() = 0;
  virtual void remove_referral() = 0;

  // ---- of a drive ----

  /// A PCI Express link.
  virtual void link(std::uint8_t port, bool up) = 0;
  /// How long commands take that come from now on.
  virtual void command_time(Duration time) = 0;

  /// After the case: a real product becomes what it was before.
  virtual void end() {}
};

/// `target` and `drive` may be null.
std::unique_ptr<Arranger> arrange_embedded(World& world, subsystem::Subsystem& subsystem, subsystem::Target* target, mi::Drive* drive);
/// Starts the program of the product's owner. UserError where it does not say hello.
std::unique_ptr<Arranger> arrange_real(World& world, const Product& product, const Declared& declared, std::string_view case_name);

/// Asks that program what it can do. UserError as above.
std::vector<std::string> meet_arranger(const Product& product);

}  // namespace fb::conformance
