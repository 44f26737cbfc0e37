#include "cli/told_product.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/result.h"
#include "cli/control/control_socket.h"
#include "cli/drive/refused.h"

namespace fb::cli {

using drive::Refused;

namespace {

std::string referral_url(const nlohmann::json& request) {
  return fmt::format("{}://{}:{}", request.at("transport").get<std::string>(), request.at("traddr").get<std::string>(),
                     request.at("trsvcid").get<unsigned>());
}

}  // namespace

ToldProduct::ToldProduct(std::string socket) : socket_(std::move(socket)) {}

std::string ToldProduct::missing() {
  try {
    client_ = std::make_unique<ControlClient>(control_path(socket_));
    return {};
  } catch (const UserError& problem) {
    return problem.what();
  }
}

const std::map<std::string, ToldProduct::Entry>& ToldProduct::actions() {
  static const std::map<std::string, Entry> kActions = {
      {"ana_state", {"ana.set", &ToldProduct::ana_state}},
      {"namespace_resize", {"namespace.resize", &ToldProduct::namespace_resize}},
      {"namespace_attach", {"namespace.attach", &ToldProduct::namespace_attach}},
      {"namespace_detach", {"namespace.detach", &ToldProduct::namespace_detach}},
      {"write_protect", {"namespace.protect", &ToldProduct::write_protect}},
      {"media_error", {"namespace.spoil", &ToldProduct::media_error}},
      {"temperature", {"health.set", &ToldProduct::temperature}},
      {"critical_warning", {"health.set", &ToldProduct::critical_warning}},
      {"available_spare", {"health.set", &ToldProduct::available_spare}},
      {"percentage_used", {"health.set", &ToldProduct::percentage_used}},
      {"power_cycle", {"power.off", &ToldProduct::power_cycle}},
      {"subsystem_reset", {"subsystem.reset", &ToldProduct::subsystem_reset}},
      {"host_allow", {"host.allow", &ToldProduct::host_allow}},
      {"host_disallow", {"host.disallow", &ToldProduct::host_disallow}},
      {"any_host", {"host.allow_any", &ToldProduct::any_host}},
      {"referral_add", {"referral.add", &ToldProduct::referral_add}},
      {"referral_remove", {"referral.remove", &ToldProduct::referral_remove}},
      {"subsystem_hide", {"subsystem.hide", &ToldProduct::subsystem_hide}},
      {"link", {"link.set", &ToldProduct::link}},
      {"command_time", {"pace.set", &ToldProduct::command_time}},
  };
  return kActions;
}

nlohmann::json ToldProduct::greet(const nlohmann::json& hello) {
  const Document described = call("rpc.discover");
  std::set<std::string> methods;
  for (const Document& one : described.at("methods")) methods.insert(one.at("name").get<std::string>());
  const bool target = methods.contains("ana.set");
  std::vector<std::string> can;
  for (const auto& [word, entry] : actions()) {
    if (methods.contains(entry.method)) can.push_back(word);
  }
  if (target) {
    at_ = fmt::format("{}:{}", hello.at("traddr").get<std::string>(), hello.at("trsvcid").get<unsigned>());
    if (!hello.value("subnqn", "").empty()) whose_["nqn"] = hello["subnqn"];
  } else if (call("drive.list").size() > 1) {
    // A serial line has one drive, whose EID the bench assigns.
    whose_["eid"] = hello.at("eid");
  }
  return {{"name", target ? "fabricbench target" : "fabricbench mctp serve"}, {"can", can}};
}

nlohmann::json ToldProduct::perform(const nlohmann::json& request) {
  const std::string what = request.at("do").get<std::string>();
  const auto found = actions().find(what);
  if (found == actions().end()) throw Refused("no request '" + what + "'");
  (this->*found->second.action)(request);
  return nlohmann::json::object();
}

std::string ToldProduct::end(drive::Limit) {
  if (client_ == nullptr) return {};
  const std::string wrong = undo_.run();
  return wrong.empty() ? "" : "the product is not what it was: " + wrong;
}

ToldProduct::Document ToldProduct::call(const std::string& method, Document parameters) {
  try {
    const Document answer = client_->call({{"jsonrpc", "2.0"}, {"id", 1}, {"method", method}, {"params", std::move(parameters)}});
    if (const auto error = answer.find("error"); error != answer.end()) {
      throw Refused(method + ": " + error->value("message", "an error without a text"));
    }
    return answer.at("result");
  } catch (const UserError& problem) {
    throw Refused(problem.what());
  }
}

void ToldProduct::later(const std::string& thing, const std::string& method, Document parameters) {
  undo_.once(thing, [this, method, parameters] { call(method, parameters); });
}

ToldProduct::Document ToldProduct::space(const nlohmann::json& request) {
  for (const Document& one : call("namespace.list", whose_)) {
    if (one.at("nsid") == request.at("nsid")) return one;
  }
  throw Refused(fmt::format("there is no namespace {}", request.at("nsid").get<std::uint32_t>()));
}

void ToldProduct::ana_state(const nlohmann::json& request) {
  Document wanted = whose_, before = whose_;
  wanted["group"] = before["group"] = request.at("group");
  wanted["state"] = request.at("state");
  for (const Document& one : call("ana.get", whose_)) {
    if (one.at("group") != request.at("group")) continue;
    before["portid"] = one.at("portid");
    before["state"] = one.at("state");
    later(fmt::format("group {} at {}", request.at("group").get<unsigned>(), one.at("portid").get<unsigned>()), "ana.set", before);
  }
  call("ana.set", wanted);
}

void ToldProduct::namespace_resize(const nlohmann::json& request) {
  const Document now = space(request);
  const auto block_bytes = now.at("block_bytes").get<std::uint64_t>();
  Document wanted = whose_, before = whose_;
  wanted["nsid"] = before["nsid"] = request.at("nsid");
  before["size"] = now.at("blocks").get<std::uint64_t>() * block_bytes;
  wanted["size"] = request.at("blocks").get<std::uint64_t>() * block_bytes;
  later("size of " + request.at("nsid").dump(), "namespace.resize", before);
  call("namespace.resize", wanted);
}

void ToldProduct::attach(const nlohmann::json& request, bool attached) {
  Document parameters = whose_;
  parameters["nsid"] = request.at("nsid");
  parameters["cntlid"] = request.at("cntlid");
  call(attached ? "namespace.attach" : "namespace.detach", parameters);
  // The controller may have gone with its host by then, and with it the attachment.
  undo_.once("attachment " + request.at("nsid").dump() + " " + request.at("cntlid").dump(), [this, attached, parameters] {
    try {
      call(attached ? "namespace.detach" : "namespace.attach", parameters);
    } catch (const Refused&) {
    }
  });
}
void ToldProduct::namespace_attach(const nlohmann::json& request) { attach(request, true); }
void ToldProduct::namespace_detach(const nlohmann::json& request) { attach(request, false); }

void ToldProduct::write_protect(const nlohmann::json& request) {
  Document wanted = whose_, before = whose_;
  wanted["nsid"] = before["nsid"] = request.at("nsid");
  before["on"] = space(request).at("write_protected");
  wanted["on"] = request.at("on");
  later("protection of " + request.at("nsid").dump(), "namespace.protect", before);
  call("namespace.protect", wanted);
}

void ToldProduct::media_error(const nlohmann::json& request) {
  Document wanted = whose_;
  for (const char* const key : {"nsid", "lba", "blocks"}) wanted[key] = request.at(key);
  Document before = whose_;
  before["nsid"] = request.at("nsid");
  before["lba"] = request.at("lba");
  const std::string thing = "blocks " + request.at("nsid").dump() + " " + request.at("lba").dump();
  // Blocks that are lost already cannot be read; they are made good with zeroes.
  if (!undo_.knows(thing)) {
    try {
      before["data"] = call("namespace.read", wanted);
    } catch (const Refused&) {
      const Document now = space(request);
      const auto bytes = request.at("blocks").get<std::size_t>() *
                         (now.at("block_bytes").get<std::size_t>() + now.at("metadata_bytes").get<std::size_t>());
      before["data"] = std::string(2 * bytes, '0');
    }
    later(thing, "namespace.write", before);
  }
  wanted["unnoticed"] = request.value("unnoticed", false);
  call("namespace.spoil", wanted);
}

void ToldProduct::health(const std::string& what, const nlohmann::json& value) {
  const Document now = call("health.get", whose_);
  Document wanted = whose_, before = whose_;
  before[what] = now.at(what);
  wanted[what] = value;
  later(what, "health.set", before);
  call("health.set", wanted);
}

void ToldProduct::power_cycle(const nlohmann::json&) {
  call("power.off");
  call("power.on");
}

void ToldProduct::subsystem_reset(const nlohmann::json&) { call("subsystem.reset", whose_); }

ToldProduct::Document ToldProduct::listed() {
  const Document all = call("subsystem.list");
  for (const Document& one : all) {
    if (!whose_.contains("nqn") || one.at("nqn") == whose_.at("nqn")) return one;
  }
  throw Refused("there is no subsystem " + whose_.at("nqn").get<std::string>());
}

void ToldProduct::allow(const std::string& hostnqn, bool on) {
  const Document now = listed().at("allowed_hosts");
  const bool before = std::find(now.begin(), now.end(), hostnqn) != now.end();
  Document parameters = whose_;
  parameters["hostnqn"] = hostnqn;
  later("host " + hostnqn, before ? "host.allow" : "host.disallow", parameters);
  if (on != before) call(on ? "host.allow" : "host.disallow", parameters);
}

void ToldProduct::any_host(const nlohmann::json& request) {
  Document wanted = whose_, before = whose_;
  before["on"] = listed().at("allow_any_host");
  wanted["on"] = request.at("on");
  later("any host", "host.allow_any", before);
  call("host.allow_any", wanted);
}

void ToldProduct::referral_add(const nlohmann::json& request) {
  const Document url = {{"url", referral_url(request)}};
  call("referral.add", url);
  undo_.once("referral", [this, url] {
    if (!call("referral.list").empty()) call("referral.remove", url);
  });
}

void ToldProduct::referral_remove(const nlohmann::json& request) { call("referral.remove", {{"url", referral_url(request)}}); }

void ToldProduct::subsystem_hide(const nlohmann::json&) {
  for (const Document& one : call("listener.list")) {
    if (!one.at("url").get<std::string>().ends_with("://" + at_)) continue;
    Document parameters = whose_;
    parameters["portid"] = one.at("portid");
    later("port " + one.at("portid").dump(), "subsystem.expose", parameters);
    call("subsystem.hide", parameters);
    return;
  }
  throw Refused("the target does not listen at " + at_);
}

void ToldProduct::link(const nlohmann::json& request) {
  Document wanted = whose_, before = whose_;
  wanted["port"] = before["port"] = request.at("port");
  wanted["on"] = request.at("up");
  before["on"] = true;
  later("link " + request.at("port").dump(), "link.set", before);
  call("link.set", wanted);
}

void ToldProduct::command_time(const nlohmann::json& request) {
  Document wanted = whose_, before = whose_;
  for (const Document& one : call("drive.list")) {
    if (!whose_.contains("eid") || one.at("eid") == whose_.at("eid"))
      before["latency"] = fmt::format("{}ms", one.at("latency_ms").get<unsigned>());
  }
  wanted["latency"] = fmt::format("{}ms", request.at("ms").get<unsigned>());
  later("pace", "pace.set", before);
  call("pace.set", wanted);
}

}  // namespace fb::cli
