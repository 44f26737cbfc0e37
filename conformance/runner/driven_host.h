// Somebody else's host under test: a program of its owner's makes it do what cases ask for. A fresh process for each case;
// docs/user-guide.md has what is said to it and back, a line of JSON each.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/runner/driver_session.h"
#include "conformance/runner/host_bench.h"

namespace fb::conformance {

/// What a driver says of its host when it begins.
struct DriverHello {
  std::string name;
  /// The requests that it knows, and abilities of connect ("dhchap", "tls").
  std::vector<std::string> can;
  /// The name that it connects under; one that can do "tls" or "tls_concat" tells it.
  std::string hostnqn;
  bool joins_paths = false;
};

/// What a driver is told beside where the bench is.
struct Briefing {
  bool header_digest = false, data_digest = false;  ///< over TCP, what connect() asks for
  auth::PskStore keys = {};                         ///< over TLS: of whom the bench has them
  std::string case_name = {};                       ///< for whoever reads the driver's log
};

class DrivenHost final : public HostUnderTest {
 public:
  /// Starts the program and waits for its hello. `connect` says where the bench's subsystem is and with what a host
  /// authenticates; it may change from one connect() to the next, and outlives the host.
  /// \throws UserError when it says none, or that there is no host.
  DrivenHost(World& world, const std::string& command, std::string_view transport, const host::ConnectOptions& connect,
             Briefing briefing = {});
  /// Any other driver.
  using Start = DriverSession::Start;
  DrivenHost(World& world, const Start& start, std::string_view transport, const host::ConnectOptions& connect, Briefing briefing);

  const DriverHello& hello() const { return hello_; }

  std::string hostnqn() const override { return hello_.hostnqn; }
  Op<HostOutcome> connect(const Request& request) override;
  Op<HostOutcome> disconnect() override { return action("disconnect"); }
  Op<HostOutcome> discover() override { return action("discover"); }
  Op<HostOutcome> watch() override { return action("watch"); }
  bool joins_paths() const override { return hello_.joins_paths; }
  Op<HostOutcome> connect_discovered() override { return action("connect_discovered"); }
  Op<HostOutcome> reset() override { return action("reset"); }
  Op<HostOutcome> reauthenticate() override { return action("reauthenticate"); }
  Op<nvme::Status> read(std::uint32_t nsid, std::uint64_t lba, MutableBytes data) override;
  Op<nvme::Status> write(std::uint32_t nsid, std::uint64_t lba, MutableBytes data) override;
  Op<nvme::Status> flush(std::uint32_t nsid) override;

  /// Why the program is no more, or is not to be believed; empty while it serves.
  const std::string& why_gone() const { return session_.why_gone(); }
  /// After the case: the host ends its associations, and the program itself.
  void end();

 private:
  Op<HostOutcome> action(std::string_view what, nlohmann::json request);
  Op<HostOutcome> action(std::string_view what);
  Op<nvme::Status> transfer(std::string_view what, nlohmann::json request, std::optional<MutableBytes> into = {});
  void say_hello(std::string_view transport);

  World& world_;
  const host::ConnectOptions& connect_;
  Briefing briefing_;
  DriverHello hello_;
  DriverSession session_;
};

/// Listens where the host is to connect to, and asks its program what it can do.
/// \throws UserError when there is no such place, or no host.
std::vector<std::string> meet_host(const Product& product);

}  // namespace fb::conformance
