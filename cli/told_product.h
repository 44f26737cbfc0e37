// `target drive --control` and `mctp drive --control`: requests of the driver protocol become calls of the control socket of our
// own target or drives, in another process.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "cli/control/control_client.h"
#include "cli/drive/adapter.h"
#include "cli/drive/undo.h"

namespace fb::cli {

class ToldProduct final : public drive::Adapter {
 public:
  /// `socket` as --control has it: unix:PATH.
  explicit ToldProduct(std::string socket);

  std::string missing() override;
  nlohmann::json greet(const nlohmann::json& hello) override;
  nlohmann::json perform(const nlohmann::json& request) override;
  bool in_order() const override { return true; }
  std::string end(drive::Limit limit) override;

 private:
  using Document = ControlClient::Document;
  using Action = void (ToldProduct::*)(const nlohmann::json& request);
  struct Entry {
    const char* method;  ///< the one that it takes
    Action action;
  };
  static const std::map<std::string, Entry>& actions();

  /// The result of a method about the product that hello named. Refused when it fails.
  Document call(const std::string& method, Document parameters = Document::object());
  /// Calls it at the end.
  void later(const std::string& thing, const std::string& method, Document parameters);
  Document space(const nlohmann::json& request);

  void ana_state(const nlohmann::json& request);
  void namespace_resize(const nlohmann::json& request);
  void namespace_attach(const nlohmann::json& request);
  void namespace_detach(const nlohmann::json& request);
  void attach(const nlohmann::json& request, bool attached);
  void write_protect(const nlohmann::json& request);
  void media_error(const nlohmann::json& request);
  void health(const std::string& what, const nlohmann::json& value);
  void temperature(const nlohmann::json& request) { health("temperature", request.at("kelvins")); }
  void critical_warning(const nlohmann::json& request) { health("critical_warning", request.at("bits")); }
  void available_spare(const nlohmann::json& request) { health("available_spare", request.at("percent")); }
  void percentage_used(const nlohmann::json& request) { health("percentage_used", request.at("percent")); }
  void power_cycle(const nlohmann::json& request);
  void subsystem_reset(const nlohmann::json& request);
  void host_allow(const nlohmann::json& request) { allow(request.at("hostnqn"), true); }
  void host_disallow(const nlohmann::json& request) { allow(request.at("hostnqn"), false); }
  void allow(const std::string& hostnqn, bool on);
  void any_host(const nlohmann::json& request);
  void referral_add(const nlohmann::json& request);
  void referral_remove(const nlohmann::json& request);
  void subsystem_hide(const nlohmann::json& request);
  void link(const nlohmann::json& request);
  void command_time(const nlohmann::json& request);
  Document listed();

  std::string socket_;
  std::unique_ptr<ControlClient> client_;
  Document whose_ = Document::object();  ///< parameters that name the subsystem or the drive
  std::string at_;                       ///< where the bench meets a target: HOST:PORT
  drive::Undo undo_;
};

}  // namespace fb::cli
