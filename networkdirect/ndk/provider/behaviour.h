// Where the documentation leaves a provider open, and where real cards differ from it: named switches, each one difference. A
// personality is a set of them under a name, with the way in which such a provider answers.
//
//   auto options = ndk::parse_behaviour("connectx-3,answers=drawn,-refused-spent,MaxCqDepth=64").value();
//   ndk::Provider provider(world, kernel, device, options);
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "networkdirect/ndk/provider/provider.h"

namespace fb::ndk {

struct Switch {
  std::string_view name;
  std::string_view point;  ///< of departure, in fault_points.h
  bool legal;              ///< as the documentation has it
  std::string_view text;
};
std::span<const Switch> switches();

struct Personality {
  std::string_view name;
  std::string_view text;
  Answers answers;
  bool notify_inside_arm;
  bool scattered_logical_pages;
  std::span<const std::string_view> switches;
};
std::span<const Personality> personalities();

/// A personality first, or none, and changes to it: `answers=natural`, `at-once`, `later`, `before-return` or `drawn`,
/// `+SWITCH`, `-SWITCH`, and a lower limit of NDK_ADAPTER_INFO by its name. Everything else of the options stays. The Problem
/// names the word that is none.
Result<ProviderOptions> parse_behaviour(std::string_view text, ProviderOptions options = {});

}  // namespace fb::ndk
