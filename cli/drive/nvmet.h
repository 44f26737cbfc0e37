// The NVMe target of a Linux kernel, as configfs shows it: what the requests of the driver protocol do to a subsystem and the port
// at which the bench meets it.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "cli/drive/adapter.h"
#include "cli/drive/undo.h"

namespace fb::drive {

class Nvmet final : public Adapter {
 public:
  static constexpr const char* kConfigfs = "/sys/kernel/config/nvmet";
  explicit Nvmet(std::filesystem::path root) : root_(std::move(root)) {}

  std::string missing() override;
  nlohmann::json greet(const nlohmann::json& hello) override;
  nlohmann::json perform(const nlohmann::json& request) override;
  bool in_order() const override { return true; }
  std::string end(Limit limit) override;

 private:
  using Path = std::filesystem::path;
  using Action = void (Nvmet::*)(const nlohmann::json& request);
  static const std::map<std::string, Action>& actions();

  Path port_of(const nlohmann::json& hello) const;
  Path space(const nlohmann::json& request) const;
  /// Writes an attribute, and at the end what it was.
  void change(const Path& attribute, const std::string& value);
  bool namespaces_are_files() const;
  /// The kernel has no list of hosts while any may connect: it is given the list when that ends.
  void apply_hosts();
  void remember_hosts();

  void ana_state(const nlohmann::json& request);
  void namespace_resize(const nlohmann::json& request);
  void namespace_attach(const nlohmann::json& request);
  void namespace_detach(const nlohmann::json& request);
  void host_allow(const nlohmann::json& request);
  void host_disallow(const nlohmann::json& request);
  void any_host(const nlohmann::json& request);
  void referral_add(const nlohmann::json& request);
  void referral_remove(const nlohmann::json& request);
  void subsystem_hide(const nlohmann::json& request);

  Path root_, subsystem_, port_;
  bool any_ = true;
  std::set<std::string> hosts_;
  Undo undo_;
};

}  // namespace fb::drive
