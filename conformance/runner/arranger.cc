#include "conformance/runner/arranger.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/assert.h"
#include "conformance/evidence/behind_the_wire.h"
#include "conformance/runner/check.h"
#include "conformance/runner/declared.h"
#include "conformance/runner/driver_session.h"
#include "conformance/runner/product.h"
#include "model/drive/drive.h"
#include "model/subsystem/target.h"

namespace fb::conformance {

namespace {

using nlohmann::json;

/// So many blocks less than before.
constexpr std::uint64_t kSmaller = 8;

class EmbeddedArranger final : public Arranger {
 public:
  EmbeddedArranger(World& world, subsystem::Subsystem& subsystem, subsystem::Target* target, mi::Drive* drive)
      : world_(world), subsystem_(subsystem), target_(target), drive_(drive) {}

  void ana_state(std::uint32_t group, nvme::AnaState state) override { touched().set_ana_state(group, state); }
  void resize_namespace(std::uint32_t nsid) override { touched().resize_namespace(nsid, space(nsid).blocks() - kSmaller); }
  void attach_namespace(std::uint32_t nsid, std::uint16_t cntlid) override { attach(nsid, cntlid, true); }
  void detach_namespace(std::uint32_t nsid, std::uint16_t cntlid) override { attach(nsid, cntlid, false); }
  void write_protect(std::uint32_t nsid, bool on) override { space(nsid).set_write_protection(on ? 1 : 0); }
  void media_error(std::uint32_t nsid, std::uint64_t lba, std::uint32_t blocks, bool unnoticed) override {
    if (unnoticed) {
      touched().fail_media(space(nsid), lba, blocks);
    } else {
      touched().damage_blocks(space(nsid), lba, blocks);
    }
  }
  void temperature(std::uint16_t kelvins) override { touched().set_temperature(kelvins); }
  void warmer() override { temperature(static_cast<std::uint16_t>(touched().temperature() + 1)); }
  void critical_warning(std::uint8_t bits) override { touched().set_critical_warning(bits); }
  void available_spare(std::uint8_t percent) override { touched().set_available_spare(percent); }
  void percentage_used(std::uint8_t percent) override { touched().set_percentage_used(percent); }
  void power_cycle() override { touched().power_cycle(); }
  void subsystem_reset() override { touched().reset_subsystem(); }
  void allow_host(const std::string& hostnqn) override { touched().allow_host(hostnqn); }
  void disallow_host(const std::string& hostnqn) override { touched().disallow_host(hostnqn); }
  void allow_any_host(bool on) override { touched().allow_any_host(on); }
  void hide_subsystem() override { target().hide(target().port(), touched()); }
  void add_referral() override { target().discovery().add_referral({.traddr = std::string(kReferralAddress)}); }
  void remove_referral() override { target().discovery().clear_referrals(); }
  void link(std::uint8_t port, bool up) override { drive().device().set_link(port, up); }
  void command_time(Duration time) override { drive().endpoint().set_pace(time, {}); }

 private:
  /// What hosts do not do is no finding against the product.
  subsystem::Subsystem& touched() {
    evidence::behind_the_wire(world_);
    return subsystem_;
  }
  subsystem::Namespace& space(std::uint32_t nsid) {
    subsystem::Namespace* const found = touched().find_namespace(nsid);
    BENCH_ASSERT(found != nullptr, "the emulated product has the namespace");
    return *found;
  }
  void attach(std::uint32_t nsid, std::uint16_t cntlid, bool attached) {
    subsystem::Controller* const controller = touched().find_controller(cntlid);
    BENCH_ASSERT(controller != nullptr, "the emulated product has the controller");
    subsystem_.set_attached(space(nsid), *controller, attached);
  }
  subsystem::Target& target() {
    evidence::behind_the_wire(world_);
    BENCH_ASSERT(target_ != nullptr, "what is of a target is for roles::controller");
    return *target_;
  }
  mi::Drive& drive() {
    evidence::behind_the_wire(world_);
    BENCH_ASSERT(drive_ != nullptr, "what is of a drive is for roles::endpoint");
    return *drive_;
  }

  World& world_;
  subsystem::Subsystem& subsystem_;
  subsystem::Target* target_;
  mi::Drive* drive_;
};

/// Whatever a product does for this takes its time.
constexpr Duration kAnswerLimit = Duration::s(60);
constexpr std::string_view kArrangeProgram = "the program of --arrange";

std::string_view word_of(nvme::AnaState state) {
  switch (state) {
    case nvme::AnaState::optimized:
      return "optimized";
    case nvme::AnaState::non_optimized:
      return "non-optimized";
    case nvme::AnaState::inaccessible:
      return "inaccessible";
    case nvme::AnaState::persistent_loss:
      return "persistent-loss";
    case nvme::AnaState::change:
      return "change";
  }
  return "optimized";
}

/// What the program is told when it begins: where the bench meets the product.
json place_of(const Product& product) {
  json place = {{"transport", product.transport}};
  if (is_medium(product.transport)) {
    if (!product.path.empty()) place["path"] = product.path;
    if (product.path.empty()) place["network"] = product.network;
    place["eid"] = product.eid;
  } else {
    place["traddr"] = to_string(product.to.address);
    place["trsvcid"] = product.to.port;
    place["subnqn"] = product.nqn;
  }
  return place;
}

void greet(DriverSession& session, const Product& product, std::string_view case_name) {
  json hello = place_of(product);
  if (!case_name.empty()) hello["case"] = case_name;
  session.hello(std::move(hello), "it cannot arrange the product", [](const json&) {});
}

class RealArranger final : public Arranger {
 public:
  RealArranger(World& world, const Product& product, const Declared& declared, std::string_view case_name)
      : world_(world), session_(world, DriverSession::by_command(world, product.arranger), std::string(kArrangeProgram)) {
    for (const host::NamespaceFacts& one : declared.namespaces) sizes_[one.nsid] = {one.blocks, one.layout.data_bytes};
    greet(session_, product, case_name);
  }

  void ana_state(std::uint32_t group, nvme::AnaState state) override {
    request(Request::ana_state, {{"group", group}, {"state", word_of(state)}});
  }
  void resize_namespace(std::uint32_t nsid) override {
    Size& now = sizes_[nsid];
    if (now.blocks <= kSmaller) throw CannotArrange{"namespace " + std::to_string(nsid) + " has no size to change"};
    now.blocks -= kSmaller;
    request(Request::namespace_resize, {{"nsid", nsid}, {"blocks", now.blocks}, {"block_bytes", now.block_bytes}});
  }
  void attach_namespace(std::uint32_t nsid, std::uint16_t cntlid) override {
    request(Request::namespace_attach, {{"nsid", nsid}, {"cntlid", cntlid}});
  }
  void detach_namespace(std::uint32_t nsid, std::uint16_t cntlid) override {
    request(Request::namespace_detach, {{"nsid", nsid}, {"cntlid", cntlid}});
  }
  void write_protect(std::uint32_t nsid, bool on) override { request(Request::write_protect, {{"nsid", nsid}, {"on", on}}); }
  void media_error(std::uint32_t nsid, std::uint64_t lba, std::uint32_t blocks, bool unnoticed) override {
    request(Request::media_error, {{"nsid", nsid}, {"lba", lba}, {"blocks", blocks}, {"unnoticed", unnoticed}});
  }
  void temperature(std::uint16_t kelvins) override { request(Request::temperature, {{"kelvins", kelvins}}); }
  void warmer() override { temperature(++kelvins_); }
  void critical_warning(std::uint8_t bits) override { request(Request::critical_warning, {{"bits", bits}}); }
  void available_spare(std::uint8_t percent) override { request(Request::available_spare, {{"percent", percent}}); }
  void percentage_used(std::uint8_t percent) override { request(Request::percentage_used, {{"percent", percent}}); }
  void power_cycle() override { request(Request::power_cycle, json::object()); }
  void subsystem_reset() override { request(Request::subsystem_reset, json::object()); }
  void allow_host(const std::string& hostnqn) override { request(Request::host_allow, {{"hostnqn", hostnqn}}); }
  void disallow_host(const std::string& hostnqn) override { request(Request::host_disallow, {{"hostnqn", hostnqn}}); }
  void allow_any_host(bool on) override { request(Request::any_host, {{"on", on}}); }
  void hide_subsystem() override { request(Request::subsystem_hide, json::object()); }
  void add_referral() override { request(Request::referral_add, referral()); }
  void remove_referral() override { request(Request::referral_remove, referral()); }
  void link(std::uint8_t port, bool up) override { request(Request::link, {{"port", port}, {"up", up}}); }
  void command_time(Duration time) override { request(Request::command_time, {{"ms", time.count_ms()}}); }

  void end() override { session_.end(); }

 private:
  static json referral() { return {{"transport", "tcp"}, {"traddr", kReferralAddress}, {"trsvcid", 8009}}; }

  void request(Request which, json fields) {
    const std::string what(name_of(which));
    // What the traffic has shown of the product so far need not be so any more.
    evidence::behind_the_wire(world_);
    struct Said {
      bool done = false;
      std::string why;
    };
    const auto said = std::make_shared<Said>();
    session_.ask(what, std::move(fields), [this, said](const json* answer) {
      said->done = true;
      if (answer == nullptr) {
        said->why = session_.why_gone();
      } else if (!answer->value("ok", false)) {
        said->why = text_of_answer(*answer);
      }
    });
    world_.run_until([&] { return said->done; }, kAnswerLimit);
    if (!said->done) session_.give_up("no answer within " + to_string(kAnswerLimit));
    if (!said->why.empty()) throw CannotArrange{std::string(kArrangeProgram) + ", '" + what + "': " + said->why};
  }

  struct Size {
    std::uint64_t blocks = 0;
    std::uint32_t block_bytes = 512;
  };

  World& world_;
  std::map<std::uint32_t, Size> sizes_;
  std::uint16_t kelvins_ = 320;
  DriverSession session_;
};

}  // namespace

std::string_view name_of(Request request) {
  switch (request) {
    case Request::ana_state:
      return "ana_state";
    case Request::namespace_resize:
      return "namespace_resize";
    case Request::namespace_attach:
      return "namespace_attach";
    case Request::namespace_detach:
      return "namespace_detach";
    case Request::write_protect:
      return "write_protect";
    case Request::media_error:
      return "media_error";
    case Request::temperature:
      return "temperature";
    case Request::critical_warning:
      return "critical_warning";
    case Request::available_spare:
      return "available_spare";
    case Request::percentage_used:
      return "percentage_used";
    case Request::power_cycle:
      return "power_cycle";
    case Request::subsystem_reset:
      return "subsystem_reset";
    case Request::link:
      return "link";
    case Request::host_allow:
      return "host_allow";
    case Request::host_disallow:
      return "host_disallow";
    case Request::any_host:
      return "any_host";
    case Request::referral_add:
      return "referral_add";
    case Request::referral_remove:
      return "referral_remove";
    case Request::subsystem_hide:
      return "subsystem_hide";
    case Request::command_time:
      return "command_time";
  }
  return {};
}

std::vector<std::string_view> requests_of(const CaseOptions& options) {
  std::vector<std::string_view> names;
  for (unsigned i = 0; i <= static_cast<unsigned>(kLastRequest); ++i) {
    if ((options.requests >> i & 1) != 0) names.push_back(name_of(static_cast<Request>(i)));
  }
  return names;
}

std::optional<std::string> not_arranged(const CaseOptions& options, const Product& product) {
  for (const std::string_view name : requests_of(options)) {
    const std::string one(name);
    if (product.arranger.empty()) return "needs a program that makes it happen to the product: '" + one + "' (--arrange COMMAND)";
    const auto& can = product.arrangeable;
    if (std::find(can.begin(), can.end(), one) == can.end()) {
      return "needs '" + one + "', which the program of --arrange does not say it can do";
    }
  }
  return std::nullopt;
}

std::unique_ptr<Arranger> arrange_embedded(World& world, subsystem::Subsystem& subsystem, subsystem::Target* target, mi::Drive* drive) {
  return std::make_unique<EmbeddedArranger>(world, subsystem, target, drive);
}

std::unique_ptr<Arranger> arrange_real(World& world, const Product& product, const Declared& declared, std::string_view case_name) {
  return std::make_unique<RealArranger>(world, product, declared, case_name);
}

std::vector<std::string> meet_arranger(const Product& product) {
  const auto world = World::make_real(product.nonce);
  DriverSession session(*world, DriverSession::by_command(*world, product.arranger), std::string(kArrangeProgram));
  greet(session, product, {});
  std::vector<std::string> can = session.can();
  session.end();
  return can;
}

}  // namespace fb::conformance
