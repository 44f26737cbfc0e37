#include "cli/control/rpc.h"

#include <algorithm>

#include "base/result.h"
#include "base/size_text.h"
#include "base/suggest.h"

namespace fb::cli {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using Type = RpcParameter::Type;

/// Batches and lists of a client have a bound, as its lines have.
constexpr std::size_t kBatchMax = 1000;

RpcError invalid(const RpcParameter& parameter, const std::string& why) {
  return {RpcError::kInvalidParameters, std::string(parameter.name) + ": " + why};
}

/// What a value is that should have been another, short enough to be quoted.
std::string quoted(const json& value) {
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  constexpr std::size_t kMost = 60;
  if (text.size() > kMost) text.replace(kMost, std::string::npos, "...");
  return text;
}

json checked_number(const RpcParameter& parameter, const json& value) {
  const std::string range = "an integer from " + std::to_string(parameter.low) + " to " + std::to_string(parameter.high);
  if (!value.is_number_unsigned()) throw invalid(parameter, quoted(value) + " is not " + range);
  const auto number = value.get<std::uint64_t>();
  if (number < parameter.low || number > parameter.high) throw invalid(parameter, quoted(value) + " is not " + range);
  return value;
}

json checked_text(const RpcParameter& parameter, const json& value) {
  if (!value.is_string()) throw invalid(parameter, quoted(value) + " is not a string");
  const auto& text = value.get_ref<const std::string&>();
  const auto& words = parameter.words;
  if (words.empty() || std::find(words.begin(), words.end(), text) != words.end()) return value;
  std::string known;
  for (const std::string_view word : words) known += (known.empty() ? "" : ", ") + std::string(word);
  throw invalid(parameter, quoted(value) + " is not one of " + known + did_you_mean(text, words));
}

json checked_size(const RpcParameter& parameter, const json& value) {
  if (!value.is_string()) return checked_number(parameter, value);
  const auto bytes = parse_size(value.get_ref<const std::string&>());
  if (!bytes) throw invalid(parameter, bytes.error().text);
  return checked_number(parameter, json(*bytes));
}

json checked_texts(const RpcParameter& parameter, const json& value) {
  json list = value.is_array() ? value : json::array({value});
  if (list.size() > kBatchMax) throw invalid(parameter, "more than " + std::to_string(kBatchMax) + " entries");
  for (const json& one : list) checked_text(parameter, one);
  return list;
}

json checked(const RpcParameter& parameter, const json& value) {
  switch (parameter.type) {
    case Type::text:
      return checked_text(parameter, value);
    case Type::number:
      return checked_number(parameter, value);
    case Type::size:
      return checked_size(parameter, value);
    case Type::texts:
      return checked_texts(parameter, value);
    case Type::flag:
      if (!value.is_boolean()) throw invalid(parameter, quoted(value) + " is neither true nor false");
      return value;
    case Type::duration:
      break;
  }
  const auto time = parse_duration(value.is_string() ? std::string_view(value.get_ref<const std::string&>()) : "");
  if (!time) throw invalid(parameter, quoted(value) + " is not a time such as \"250ms\" or \"2s\"");
  return time->count_ns();
}

/// Positions become names.
json by_name(const std::vector<RpcParameter>& parameters, const json& given) {
  if (!given.is_array()) return given;
  if (given.size() > parameters.size()) {
    throw RpcError(RpcError::kInvalidParameters, "the method takes " + std::to_string(parameters.size()) + " parameters");
  }
  json named = json::object();
  for (std::size_t i = 0; i < given.size(); ++i) named[std::string(parameters[i].name)] = given[i];
  return named;
}

ordered_json schema_of(const RpcParameter& parameter) {
  switch (parameter.type) {
    case Type::number:
      return {{"type", "integer"}, {"minimum", parameter.low}, {"maximum", parameter.high}};
    case Type::flag:
      return {{"type", "boolean"}};
    case Type::size:
      return {{"type", ordered_json::array({"integer", "string"})}, {"minimum", parameter.low}, {"pattern", "^[0-9]+[KMGT]?(i?B)?$"}};
    case Type::duration:
      return {{"type", "string"}, {"pattern", "^[0-9]+(us|ms|s|m|h)$"}};
    case Type::texts:
      return {{"type", ordered_json::array({"array", "string"})}, {"items", {{"type", "string"}}}};
    case Type::text:
      break;
  }
  ordered_json schema = {{"type", "string"}};
  for (const std::string_view word : parameter.words) schema["enum"].push_back(word);
  return schema;
}

}  // namespace

RpcArguments::RpcArguments(const std::vector<RpcParameter>& parameters, const json& given) {
  const json named = by_name(parameters, given);
  std::vector<std::string_view> names;
  for (const RpcParameter& parameter : parameters) names.push_back(parameter.name);
  for (const auto& [name, value] : named.items()) {
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) {
      throw RpcError(RpcError::kInvalidParameters, "no parameter '" + name + "'" + did_you_mean(name, names));
    }
    given_.emplace(name, checked(parameters[static_cast<std::size_t>(at - names.begin())], value));
  }
  for (const RpcParameter& parameter : parameters) {
    if (parameter.required && !has(parameter.name)) throw invalid(parameter, "is missing: " + std::string(parameter.description));
  }
}

const json* RpcArguments::find(std::string_view name) const {
  const auto at = given_.find(name);
  return at == given_.end() ? nullptr : &at->second;
}

bool RpcArguments::has(std::string_view name) const { return find(name) != nullptr; }

std::string RpcArguments::text(std::string_view name, std::string fallback) const {
  const json* const found = find(name);
  return found != nullptr ? found->get<std::string>() : std::move(fallback);
}

std::uint64_t RpcArguments::number(std::string_view name, std::uint64_t fallback) const {
  const json* const found = find(name);
  return found != nullptr ? found->get<std::uint64_t>() : fallback;
}

bool RpcArguments::flag(std::string_view name, bool fallback) const {
  const json* const found = find(name);
  return found != nullptr ? found->get<bool>() : fallback;
}

Duration RpcArguments::duration(std::string_view name, Duration fallback) const {
  const json* const found = find(name);
  return found != nullptr ? Duration::ns(found->get<std::int64_t>()) : fallback;
}

std::vector<std::string> RpcArguments::texts(std::string_view name) const {
  const json* const found = find(name);
  return found != nullptr ? found->get<std::vector<std::string>>() : std::vector<std::string>{};
}

Rpc::Rpc(std::string title) : title_(std::move(title)) {
  add({"rpc.discover", "Describe every method and its parameters (OpenRPC)", {}, [this](const RpcArguments&) { return describe(); }});
}

std::string Rpc::answer(std::string_view line) const {
  const auto said = [](const ordered_json& answer) { return answer.dump(-1, ' ', false, json::error_handler_t::replace); };
  const auto failed = [&](int code, const char* text) {
    return said({{"jsonrpc", "2.0"}, {"id", nullptr}, {"error", {{"code", code}, {"message", text}}}});
  };
  const json request = json::parse(line, nullptr, false);
  if (request.is_discarded()) return failed(RpcError::kParse, "the line is not JSON");
  if (!request.is_array()) {
    const ordered_json answer = answer_one(request);
    return answer.is_null() ? std::string() : said(answer);
  }
  if (request.empty()) return failed(RpcError::kInvalidRequest, "an empty batch");
  if (request.size() > kBatchMax) return failed(RpcError::kInvalidRequest, "a batch of more than 1000 requests");
  ordered_json answers = ordered_json::array();
  for (const json& one : request) {
    ordered_json answer = answer_one(one);
    if (!answer.is_null()) answers.push_back(std::move(answer));
  }
  return answers.empty() ? std::string() : said(answers);
}

ordered_json Rpc::answer_one(const json& request) const {
  const bool object = request.is_object();
  const auto id = object ? request.find("id") : request.end();
  const bool asked = !object || id != request.end();
  ordered_json answer = {{"jsonrpc", "2.0"}, {"id", nullptr}};
  const auto fails = [&](int code, const std::string& text) { answer["error"] = {{"code", code}, {"message", text}}; };
  try {
    if (object && asked) {
      if (!id->is_string() && !id->is_number() && !id->is_null()) {
        throw RpcError(RpcError::kInvalidRequest, "an 'id' is a string, a number or null");
      }
      answer["id"] = *id;
    }
    answer["result"] = call(request);
  } catch (const RpcError& error) {
    fails(error.code(), error.what());
  } catch (const UserError& error) {
    fails(RpcError::kFailed, error.what());
  }
  return asked ? answer : ordered_json();
}

ordered_json Rpc::call(const json& request) const {
  if (!request.is_object()) throw RpcError(RpcError::kInvalidRequest, "a request is an object");
  if (request.value("jsonrpc", json()) != "2.0") throw RpcError(RpcError::kInvalidRequest, "'jsonrpc' is not \"2.0\"");
  const auto name = request.find("method");
  if (name == request.end() || !name->is_string()) throw RpcError(RpcError::kInvalidRequest, "'method' is not a string");
  const auto& asked = name->get_ref<const std::string&>();
  const auto method = std::find_if(methods_.begin(), methods_.end(), [&](const RpcMethod& one) { return one.name == asked; });
  if (method == methods_.end()) {
    std::vector<std::string_view> names;
    for (const RpcMethod& one : methods_) names.push_back(one.name);
    throw RpcError(RpcError::kNoMethod, "no method " + quoted(*name) + did_you_mean(asked, names));
  }
  const json given = request.value("params", json::object());
  if (!given.is_structured()) throw RpcError(RpcError::kInvalidRequest, "'params' is neither an object nor an array");
  return method->call(RpcArguments(method->parameters, given));
}

ordered_json Rpc::describe() const {
  ordered_json methods = ordered_json::array();
  for (const RpcMethod& method : methods_) {
    ordered_json parameters = ordered_json::array();
    for (const RpcParameter& one : method.parameters) {
      parameters.push_back({{"name", one.name}, {"description", one.description}, {"required", one.required}, {"schema", schema_of(one)}});
    }
    methods.push_back({{"name", method.name},
                       {"description", method.description},
                       {"params", parameters},
                       {"result", {{"name", "result"}, {"schema", ordered_json::object()}}}});
  }
  return {{"openrpc", "1.2.6"}, {"info", {{"title", title_}, {"version", "1"}}}, {"methods", methods}};
}

}  // namespace fb::cli
