#include "conformance/runner/driver_session.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "conformance/runner/check.h"

namespace fb::conformance {

namespace {

using nlohmann::json;

constexpr Duration kHelloLimit = Duration::s(30);    // it may come from another machine
constexpr Duration kGoodbyeLimit = Duration::s(15);  // a kernel waits for its queues
constexpr std::size_t kQuoted = 80;

}  // namespace

std::string text_of_answer(const json& answer) {
  const auto at = answer.find("text");
  return at != answer.end() && at->is_string() ? at->get<std::string>() : std::string("no reason is told");
}

DriverSession::DriverSession(World& world, const Start& start, std::string whose)
    : world_(world), whose_(std::move(whose)), driver_(start(*this)) {}

DriverSession::Start DriverSession::by_command(World& world, const std::string& command) {
  return [&world, command](DriverListener& listener) { return std::make_unique<DriverProcess>(world, command, listener); };
}

bool DriverSession::can(std::string_view what) const { return std::find(can_.begin(), can_.end(), what) != can_.end(); }

void DriverSession::hello(json hello, std::string_view refused, const std::function<void(const json&)>& take) {
  can_ = {"hello"};
  bool said = false;
  std::string why;
  ask("hello", std::move(hello), [&](const json* answer) {
    said = true;
    if (answer == nullptr) return;
    if (!answer->value("ok", false)) why = std::string(refused) + ": " + text_of_answer(*answer);
    can_ = answer->value("can", std::vector<std::string>{});
    take(*answer);
  });
  world_.run_until([&] { return said; }, kHelloLimit);
  if (!said) throw UserError(whose_ + " does not answer 'hello' within " + to_string(kHelloLimit));
  if (!why_gone_.empty()) throw UserError(whose_ + ": " + why_gone_);
  if (!why.empty()) throw UserError(whose_ + ": " + why);
}

void DriverSession::ask(std::string_view what, json request, Answered answered) {
  if (!can(what)) throw NotOffered{whose_ + " does not do '" + std::string(what) + "'"};
  if (!why_gone_.empty()) return answered(nullptr);
  const std::uint64_t id = next_++;
  request["id"] = id;
  request["do"] = what;
  open_.emplace(id, std::move(answered));
  driver_->send(request.dump());
}

void DriverSession::on_line(std::string_view line) {
  if (!why_gone_.empty()) return;
  const json answer = json::parse(line, nullptr, false);
  const auto id = answer.is_object() ? answer.find("id") : answer.end();
  const bool known = answer.is_object() && id != answer.end() && id->is_number_unsigned();
  const auto open = known ? open_.find(id->get<std::uint64_t>()) : open_.end();
  if (open == open_.end()) return give_up("it says what answers no request: " + std::string(line.substr(0, kQuoted)));
  const Answered answered = std::move(open->second);
  open_.erase(open);
  try {
    answered(&answer);
  } catch (const json::exception&) {
    give_up("its answer has members of other types: " + std::string(line.substr(0, kQuoted)));
    answered(nullptr);
  }
}

void DriverSession::give_up(const std::string& why) {
  if (why_gone_.empty()) why_gone_ = why;
  for (const auto& [id, answered] : std::exchange(open_, {})) answered(nullptr);
}

bool DriverSession::end() { return driver_->end(kGoodbyeLimit); }

}  // namespace fb::conformance
