// A session with a driver: a program of the owner of a product that does what a bench requests, a line of JSON each.
// docs/user-guide.md describes the protocol.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/runner/driver_process.h"

namespace fb::conformance {

class DriverSession final : private DriverListener {
 public:
  /// Makes the driver, which answers to who is given to it, though not before it was asked.
  using Start = std::function<std::unique_ptr<Driver>(DriverListener& listener)>;
  /// Given the answer; null when none will come.
  using Answered = std::function<void(const nlohmann::json* answer)>;

  /// `whose` begins what is said of it: "the host's program".
  DriverSession(World& world, const Start& start, std::string whose);
  /// A program that /bin/sh starts.
  static Start by_command(World& world, const std::string& command);

  /// Waits for the answer to "hello"; `refused` begins what is said when the program refuses.
  /// \throws UserError when there is none.
  void hello(nlohmann::json hello, std::string_view refused, const std::function<void(const nlohmann::json& answer)>& take);
  /// What it says that it can do, "hello" aside.
  const std::vector<std::string>& can() const { return can_; }
  bool can(std::string_view what) const;

  /// \throws NotOffered when the program does not know this request.
  void ask(std::string_view what, nlohmann::json request, Answered answered);
  /// Nothing that the program says counts any more.
  void give_up(const std::string& why);
  /// Why the program is no more, or is not to be believed; empty while it serves.
  const std::string& why_gone() const { return why_gone_; }
  const std::string& whose() const { return whose_; }
  /// Nothing more is requested: it puts things back, and ends. False where it does not in time.
  bool end();

 private:
  void on_line(std::string_view line) override;
  void on_end(const std::string& why) override { give_up(why); }

  World& world_;
  std::string whose_;
  std::vector<std::string> can_;
  std::map<std::uint64_t, Answered> open_;
  std::uint64_t next_ = 0;
  std::string why_gone_;
  std::unique_ptr<Driver> driver_;  // the last: it calls
};

/// What an answer says about a failure.
std::string text_of_answer(const nlohmann::json& answer);

}  // namespace fb::conformance
