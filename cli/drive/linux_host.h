// The NVMe host of this machine's Linux, as nvme-cli drives it: what the requests of the driver protocol do.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "cli/drive/adapter.h"
#include "cli/drive/kernel_view.h"
#include "cli/drive/protocol.h"

namespace fb::drive {

struct HostOptions {
  bool verbose = false;  ///< log the calls of nvme-cli and the kernel on standard error
  bool tls = false;      ///< somebody on this machine does TLS handshakes for its kernel (tlshd)
};

class LinuxHost final : public Adapter {
 public:
  /// What is here now belongs to somebody else.
  explicit LinuxHost(const HostOptions& options);

  std::string missing() override;
  nlohmann::json greet(const nlohmann::json& hello) override;
  /// Whom we connect to is how our controllers are known.
  void note(const nlohmann::json& request) override;
  nlohmann::json perform(const nlohmann::json& request) override;
  std::string end(Limit limit) override { return end_all(limit) ? "" : "some associations did not end"; }

 private:
  /// Ends every association of ours; false when some are left after that time.
  bool end_all(Limit limit);

  using Action = nlohmann::json (LinuxHost::*)(const nlohmann::json&);
  static const std::map<std::string, Action>& actions();

  nlohmann::json connect(const nlohmann::json& request);
  /// The name of the controller. The key goes into the kernel's keyring.
  std::string connect_securely(const nlohmann::json& request) const;
  nlohmann::json disconnect(const nlohmann::json& request);
  nlohmann::json discover(const nlohmann::json& request);
  nlohmann::json watch(const nlohmann::json& request);
  nlohmann::json connect_discovered(const nlohmann::json& request);
  nlohmann::json reset(const nlohmann::json& request);
  nlohmann::json reauthenticate(const nlohmann::json& request);
  nlohmann::json read(const nlohmann::json& request);
  nlohmann::json write(const nlohmann::json& request);
  nlohmann::json flush(const nlohmann::json& request);

  Ended nvme(const std::vector<std::string>& words) const;
  void nvme_or_refuse(const std::vector<std::string>& words) const;
  std::vector<Controller> ours() const;
  /// Our first controller that has namespaces.
  std::string first() const;
  std::string disk(std::uint32_t nsid) const;
  /// The words for nvme-cli, but its name.
  std::vector<std::string> at_the_bench(const char* command) const;

  HostOptions options_;
  std::set<std::string> others_;
  std::set<std::string> subsystems_;
  Bench bench_;
  Name name_;  // where TLS is to be had
};

}  // namespace fb::drive
