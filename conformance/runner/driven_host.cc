#include "conformance/runner/driven_host.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/bytes.h"

namespace fb::conformance {

namespace {

using nlohmann::json;

constexpr std::string_view kHostsProgram = "the host's program";

/// Where the answer has none, `ok` or not is all that is known.
nvme::Status status_of(const json& answer) {
  if (answer.value("ok", false)) return {};
  const auto number = [&](const char* name) {
    const auto at = answer.find(name);
    return at != answer.end() && at->is_number_unsigned() ? std::optional(at->get<unsigned>()) : std::nullopt;
  };
  const auto sct = number("sct"), sc = number("sc");
  if (!sct || !sc || nvme::Status::make(*sct, *sc).ok()) return HostUnderTest::kUntold;
  return nvme::Status::make(*sct, *sc);
}

json at_place(const Endpoint& at, const std::string& subnqn) {
  return {{"traddr", to_string(at.address)}, {"trsvcid", at.port}, {"subnqn", subnqn}};
}

}  // namespace

DrivenHost::DrivenHost(World& world, const std::string& command, std::string_view transport, const host::ConnectOptions& connect,
                       Briefing briefing)
    : DrivenHost(world, DriverSession::by_command(world, command), transport, connect, std::move(briefing)) {}

DrivenHost::DrivenHost(World& world, const Start& start, std::string_view transport, const host::ConnectOptions& connect, Briefing briefing)
    : world_(world), connect_(connect), briefing_(std::move(briefing)), session_(world, start, std::string(kHostsProgram)) {
  say_hello(transport);
}

void DrivenHost::say_hello(std::string_view transport) {
  json hello = at_place(connect_.to, connect_.subnqn);
  hello["transport"] = transport;
  if (!briefing_.case_name.empty()) hello["case"] = briefing_.case_name;
  session_.hello(std::move(hello), "there is no host", [this](const json& answer) {
    hello_.name = answer.value("name", "");
    hello_.can = session_.can();
    hello_.joins_paths = answer.value("joins_paths", false);
    hello_.hostnqn = answer.value("hostnqn", "");
  });
  if (!hello_.hostnqn.empty()) return;
  for (const std::string& ability : hello_.can) {
    if (!ability.starts_with("tls")) continue;
    throw UserError(std::string(kHostsProgram) + ": it can do '" + ability + "', and names no 'hostnqn', which keys are for");
  }
}

Op<HostOutcome> DrivenHost::action(std::string_view what) { return action(what, json::object()); }

Op<HostOutcome> DrivenHost::action(std::string_view what, json request) {
  auto made = make_op<HostOutcome>(world_, "the host's answer to '" + std::string(what) + "'");
  const auto promise = std::make_shared<Promise<HostOutcome>>(std::move(made.promise));
  session_.ask(what, std::move(request), [this, promise](const json* answer) {
    if (answer == nullptr) return promise->settle({false, std::string(kHostsProgram) + ": " + session_.why_gone(), HostUnderTest::kUntold});
    const bool ok = answer->value("ok", false);
    promise->settle({ok, ok ? "" : text_of_answer(*answer), status_of(*answer)});
  });
  return made.op;
}

Op<nvme::Status> DrivenHost::transfer(std::string_view what, json request, std::optional<MutableBytes> into) {
  auto made = make_op<nvme::Status>(world_, "the host's answer to '" + std::string(what) + "'");
  const auto promise = std::make_shared<Promise<nvme::Status>>(std::move(made.promise));
  session_.ask(what, std::move(request), [this, promise, into](const json* answer) {
    if (answer == nullptr) return promise->settle(kUntold);
    const nvme::Status status = status_of(*answer);
    if (into && status.ok()) {
      const Bytes data = from_hex(answer->value("data", ""));
      if (data.size() != into->size()) {
        promise->settle(kUntold);
        return session_.give_up("it has read " + std::to_string(data.size()) + " bytes where " + std::to_string(into->size()) +
                                " were asked for");
      }
      std::copy(data.begin(), data.end(), into->begin());
    }
    promise->settle(status);
  });
  return made.op;
}

Op<HostOutcome> DrivenHost::connect(const Request& request) {
  json asked = at_place(request.at.value_or(connect_.to), request.subnqn.empty() ? connect_.subnqn : request.subnqn);
  asked["io_queues"] = request.io_queues;
  asked["queue_entries"] = request.queue_entries;
  asked["kato_ms"] = request.kato_ms;
  if (connect_.disable_sq_flow_control) asked["disable_sqflow"] = true;
  if (briefing_.header_digest) asked["hdr_digest"] = true;
  if (briefing_.data_digest) asked["data_digest"] = true;
  if (connect_.tls == host::TlsUse::always) {
    const auth::ConfiguredPsk* const key = briefing_.keys.configured_for(hello_.hostnqn, asked["subnqn"].get<std::string>());
    if (key == nullptr) throw CannotArrange{"the bench has no TLS key for " + hello_.hostnqn};
    asked["tls_key"] = key->text();
  }
  const host::AuthenticationOptions& authentication = connect_.authentication;
  if (authentication.secret) asked["dhchap_secret"] = authentication.secret->text();
  if (authentication.controller_secret) asked["dhchap_ctrl_secret"] = authentication.controller_secret->text();
  if (authentication.secure_channel) asked["tls_concat"] = true;
  return action("connect", std::move(asked));
}

Op<nvme::Status> DrivenHost::read(std::uint32_t nsid, std::uint64_t lba, MutableBytes data) {
  return transfer("read", {{"nsid", nsid}, {"lba", lba}, {"bytes", data.size()}}, data);
}

Op<nvme::Status> DrivenHost::write(std::uint32_t nsid, std::uint64_t lba, MutableBytes data) {
  return transfer("write", {{"nsid", nsid}, {"lba", lba}, {"data", to_hex(data)}});
}

Op<nvme::Status> DrivenHost::flush(std::uint32_t nsid) { return transfer("flush", {{"nsid", nsid}}); }

void DrivenHost::end() { session_.end(); }

}  // namespace fb::conformance
