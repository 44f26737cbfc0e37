// JSON-RPC 2.0 without a transport: methods with typed parameters, and what a line of a client gets for an answer.
//
// Parameters come by name, or by position in the order in which a method lists them. All of them are checked before a
// method is called: a wrong one changes nothing. `rpc.discover` describes every method in the form of OpenRPC.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace fb::cli {

/// The error of a call. `code` is one of JSON-RPC 2.0, or kFailed.
class RpcError : public std::runtime_error {
 public:
  static constexpr int kParse = -32700, kInvalidRequest = -32600, kNoMethod = -32601, kInvalidParameters = -32602;
  /// The product cannot do it in the state in which it is.
  static constexpr int kFailed = -32000;

  RpcError(int code, const std::string& text) : std::runtime_error(text), code_(code) {}
  int code() const { return code_; }

 private:
  int code_;
};

struct RpcParameter {
  enum class Type : std::uint8_t {
    text,
    number,  ///< an integer of low to high
    flag,
    size,      ///< bytes: a number, or a text such as "64M"
    duration,  ///< a text such as "250ms" or "2s"
    texts      ///< a list of texts; one alone stands for a list of one
  };

  std::string_view name;
  Type type = Type::text;
  std::string_view description = {};
  bool required = false;
  std::uint64_t low = 0, high = std::numeric_limits<std::uint64_t>::max();
  std::vector<std::string_view> words = {};  ///< where a text can be nothing else
};

/// What a call gave, checked. Each getter returns what was given, or the second argument.
class RpcArguments {
 public:
  RpcArguments(const std::vector<RpcParameter>& parameters, const nlohmann::json& given);

  bool has(std::string_view name) const;
  std::string text(std::string_view name, std::string fallback = {}) const;
  std::uint64_t number(std::string_view name, std::uint64_t fallback = 0) const;
  bool flag(std::string_view name, bool fallback = false) const;
  std::uint64_t size(std::string_view name, std::uint64_t fallback = 0) const { return number(name, fallback); }
  Duration duration(std::string_view name, Duration fallback = {}) const;
  std::vector<std::string> texts(std::string_view name) const;
  /// Only where it was given.
  template <class Integer>
  std::optional<Integer> maybe(std::string_view name) const {
    return has(name) ? std::optional(static_cast<Integer>(number(name))) : std::nullopt;
  }

 private:
  const nlohmann::json* find(std::string_view name) const;
  std::map<std::string, nlohmann::json, std::less<>> given_;
};

struct RpcMethod {
  std::string_view name;
  std::string_view description = {};
  std::vector<RpcParameter> parameters;
  /// The result. RpcError, or UserError for what the product cannot do.
  std::function<nlohmann::ordered_json(const RpcArguments&)> call;
};

class Rpc {
 public:
  /// `title` names the server for rpc.discover.
  explicit Rpc(std::string title);
  Rpc(const Rpc&) = delete;
  Rpc& operator=(const Rpc&) = delete;

  void add(RpcMethod method) { methods_.push_back(std::move(method)); }
  const std::vector<RpcMethod>& methods() const { return methods_; }

  /// The answer to one line, a request or a batch of them, without the end of the line. Empty where nobody asked for
  /// one (notifications).
  std::string answer(std::string_view line) const;

 private:
  /// Null for a notification.
  nlohmann::ordered_json answer_one(const nlohmann::json& request) const;
  nlohmann::ordered_json call(const nlohmann::json& request) const;
  nlohmann::ordered_json describe() const;

  std::string title_;
  std::vector<RpcMethod> methods_;
};

}  // namespace fb::cli
