#include "cli/drive/protocol.h"

#include <fmt/format.h>

#include <utility>

#include "cli/drive/refused.h"

namespace fb::drive {

namespace {

using nlohmann::json;

std::string text_of(const json& value) {
  if (value.is_number()) return value.dump();
  return value.get<std::string>();
}

}  // namespace

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
  if (bench.transport != "tcp" && bench.transport != "rdma") throw Refused("no transport '" + bench.transport + "'");
  return bench;
}

std::vector<std::string> connect_words(const json& request, const Bench& bench) {
  std::vector<std::string> words = {"connect", "--transport=" + bench.transport, "--duplicate-connect", "--output-format=json"};
  words.insert(words.end(), kImpatient.begin(), kImpatient.end());
  const auto add = [&](const char* key, const char* option) {
    if (request.contains(key)) words.push_back(fmt::format("--{}={}", option, text_of(request[key])));
  };
  words.push_back("--nqn=" + request.at("subnqn").get<std::string>());
  words.push_back("--traddr=" + request.value("traddr", bench.traddr));
  words.push_back("--trsvcid=" + (request.contains("trsvcid") ? text_of(request["trsvcid"]) : bench.trsvcid));
  add("io_queues", "nr-io-queues");
  add("queue_entries", "queue-size");
  add("dhchap_secret", "dhchap-secret");
  add("dhchap_ctrl_secret", "dhchap-ctrl-secret");
  const std::uint64_t kato_ms = request.value("kato_ms", std::uint64_t{0});
  // 0 would be none, which nvme-cli has no word for: the kernel then takes what it usually takes.
  if (kato_ms != 0) words.push_back(fmt::format("--keep-alive-tmo={}", kato_ms / 1000 + (kato_ms % 1000 != 0)));
  for (const auto& [key, option] : {std::pair{"hdr_digest", "--hdr-digest"}, std::pair{"data_digest", "--data-digest"},
                                    std::pair{"disable_sqflow", "--disable-sqflow"}}) {
    if (request.value(key, false)) words.push_back(option);
  }
  return words;
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
