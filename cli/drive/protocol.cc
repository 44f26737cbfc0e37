#include "cli/drive/protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "cli/drive/refused.h"
#include "wire/fabrics/transports.h"

namespace fb::drive {

namespace {

using nlohmann::json;

/// A case does not want to wait for what is the usual patience of a host: ten seconds between attempts, ten minutes of them.
constexpr std::pair<const char*, const char*> kImpatient[] = {{"reconnect-delay", "1"}, {"ctrl-loss-tmo", "10"}};

std::string text_of(const json& value) {
  if (value.is_number()) return value.dump();
  return value.get<std::string>();
}

/// What is said of an association, as nvme-cli names it; the kernel has the same names with underscores. A flag has no value, not even an
/// empty one: that would be taken from the next word.
struct Option {
  std::string name;
  std::optional<std::string> value = {};
  std::string text() const { return value ? name + "=" + *value : name; }
};

std::vector<Option> options_of(const json& request, const Bench& bench) {
  std::vector<Option> options = {{"transport", bench.transport},
                                 {"traddr", request.value("traddr", bench.traddr)},
                                 {"trsvcid", request.contains("trsvcid") ? text_of(request["trsvcid"]) : bench.trsvcid},
                                 {"nqn", request.at("subnqn").get<std::string>()},
                                 {"duplicate-connect"}};
  for (const auto& [name, value] : kImpatient) options.push_back({name, value});
  for (const auto& [key, name] : {std::pair{"io_queues", "nr-io-queues"}, std::pair{"queue_entries", "queue-size"},
                                  std::pair{"dhchap_secret", "dhchap-secret"}, std::pair{"dhchap_ctrl_secret", "dhchap-ctrl-secret"}}) {
    if (request.contains(key)) options.push_back({name, text_of(request[key])});
  }
  const std::uint64_t kato_ms = request.value("kato_ms", std::uint64_t{0});
  // 0 would be none, which nvme-cli has no word for: the kernel then takes what it usually takes.
  if (kato_ms != 0) options.push_back({"keep-alive-tmo", std::to_string(kato_ms / 1000 + (kato_ms % 1000 != 0))});
  for (const auto& [key, name] :
       {std::pair{"hdr_digest", "hdr-digest"}, std::pair{"data_digest", "data-digest"}, std::pair{"disable_sqflow", "disable-sqflow"}}) {
    if (request.value(key, false)) options.push_back({name});
  }
  return options;
}

}  // namespace

std::vector<std::string> impatient_words() {
  std::vector<std::string> words;
  for (const auto& [name, value] : kImpatient) words.push_back(fmt::format("--{}={}", name, value));
  return words;
}

std::optional<std::string> Lines::next() {
  const std::size_t end = heard_.find('\n', searched_);
  if (end == std::string::npos) {
    heard_.erase(0, std::exchange(begin_, 0));
    searched_ = heard_.size();
    return std::nullopt;
  }
  std::string line = heard_.substr(begin_, end - begin_);
  begin_ = searched_ = end + 1;
  return line;
}

std::optional<Request> request_of(std::string_view line) {
  json body = json::parse(line, nullptr, false);
  if (!body.is_object()) return std::nullopt;
  const auto id = body.find("id");
  if (id == body.end() || !id->is_number_unsigned()) return std::nullopt;
  const auto what = body.find("do");
  const bool told = what != body.end() && what->is_string();
  return Request{id->get<std::uint64_t>(), told ? what->get<std::string>() : "", std::move(body)};
}

Bench bench_of(const json& hello) {
  Bench bench{hello.at("transport").get<std::string>(), hello.at("traddr").get<std::string>(), text_of(hello.at("trsvcid"))};
  if (bench.transport != fabrics::kTcp && bench.transport != fabrics::kRdma) throw Refused("no transport '" + bench.transport + "'");
  return bench;
}

std::vector<std::string> connect_words(const json& request, const Bench& bench) {
  std::vector<std::string> words = {"connect", "--output-format=json"};
  for (const Option& one : options_of(request, bench)) {
    words.push_back("--" + one.text());
  }
  return words;
}

std::string connect_line(const json& request, const Bench& bench, const Name& name) {
  std::vector<Option> options = options_of(request, bench);
  options.insert(options.end(), {{"hostnqn", name.hostnqn}, {"hostid", name.hostid}, {"tls"}});
  std::string line;
  for (Option& one : options) {
    if (one.value && one.value->find_first_of(",\n") != std::string::npos) throw Refused(one.name + ": a comma or an end of line");
    std::replace(one.name.begin(), one.name.end(), '-', '_');
    line += (line.empty() ? "" : ",") + one.text();
  }
  return line;
}

json refusal(const std::string& text) { return {{"ok", false}, {"text", text}}; }

json outcome_of(const std::function<json()>& work) {
  try {
    json content = work();
    content["ok"] = true;
    return content;
  } catch (const Refused& refused) {
    json content = refusal(refused.what());
    if (refused.sct >= 0) {
      content["sct"] = refused.sct;
      content["sc"] = refused.sc;
    }
    return content;
  } catch (const std::exception& broken) {
    return refusal(broken.what());
  }
}

std::string to_line(const json& content) { return content.dump(-1, ' ', false, json::error_handler_t::replace); }

}  // namespace fb::drive
