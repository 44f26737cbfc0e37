#include "networkdirect/ndk/provider/behaviour.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "networkdirect/ndk/provider/fault_points.h"

namespace fb::ndk {

namespace {

constexpr auto kSwitches = std::to_array<Switch>({
    {"read-bytes", departure::kReadBytesReported, true, "BytesTransferred of a Read is its length"},
    {"ports-shared", departure::kPortsShared, false, "several connectors connect from one local port to one remote port"},
    {"refused-spent", departure::kRefusalSpends, false, "a connector that was refused cannot connect again: STATUS_CONNECTION_ACTIVE"},
    {"data-length-zero", departure::kDataLengthZero, false, "NdkGetConnectionData with room for more than the data gives the length 0"},
    {"local-violation-data-error", departure::kLocalViolationDataError, false, "a Read or Write out of a local region ends as C000003Eh"},
    {"dead-peer-cancelled", departure::kDeadPeerCancelled, false,
     "requests to a peer that does not answer any more end as STATUS_CANCELLED"},
    {"unreachable-patient", departure::kUnreachablePatient, true, "NdkConnect waits 99 s for an address where nobody is"},
    {"no-resize", departure::kNoResize, true, "completion queues cannot be resized, and the adapter says so"},
    {"no-moderation", departure::kNoModeration, true, "interrupts cannot be moderated, and the adapter says so"},
    {"no-chosen-address", departure::kNoChosenAddress, true, "memory is registered at its own address alone: no extension of the bench's"},
    {"queues-fail", departure::kQueuesFail, true, "each completion queue fails after four results, as of a card that breaks"},
    {"no-read-invalidate", departure::kNoReadInvalidate, true, "a Read invalidates nothing, and the adapter says so"},
});

constexpr std::array<std::string_view, 7> kConnectX3 = {
    "read-bytes",          "ports-shared",       "refused-spent", "data-length-zero", "local-violation-data-error",
    "dead-peer-cancelled", "unreachable-patient"};
constexpr std::array<std::string_view, 4> kStrict = {"read-bytes", "no-resize", "no-moderation", "no-read-invalidate"};

constexpr auto kPersonalities = std::to_array<Personality>({
    {"document", "as the documentation of the interface has it", Answers::natural, false, false, {}},
    {"connectx-3", "a ConnectX-3 Pro with WinOF 5.50, as measured by the maker of an NVMe-oF stack", Answers::natural, false, false,
     kConnectX3},
    {"strict", "the least that a consumer may count on", Answers::random, true, true, kStrict},
});

struct Field {
  std::string_view name;
  ULONG NDK_ADAPTER_INFO::*number;
  SIZE_T NDK_ADAPTER_INFO::*size;
};

#define FABRICBENCH_NUMBER(name) \
  Field { #name, &NDK_ADAPTER_INFO::name, nullptr }
#define FABRICBENCH_SIZE(name) \
  Field { #name, nullptr, &NDK_ADAPTER_INFO::name }
constexpr Field kFields[] = {FABRICBENCH_SIZE(MaxRegistrationSize),     FABRICBENCH_SIZE(MaxWindowSize),
                             FABRICBENCH_NUMBER(FRMRPageCount),         FABRICBENCH_NUMBER(MaxInitiatorRequestSge),
                             FABRICBENCH_NUMBER(MaxReceiveRequestSge),  FABRICBENCH_NUMBER(MaxReadRequestSge),
                             FABRICBENCH_NUMBER(MaxTransferLength),     FABRICBENCH_NUMBER(MaxInlineDataSize),
                             FABRICBENCH_NUMBER(MaxInboundReadLimit),   FABRICBENCH_NUMBER(MaxOutboundReadLimit),
                             FABRICBENCH_NUMBER(MaxReceiveQueueDepth),  FABRICBENCH_NUMBER(MaxInitiatorQueueDepth),
                             FABRICBENCH_NUMBER(MaxSrqDepth),           FABRICBENCH_NUMBER(MaxCqDepth),
                             FABRICBENCH_NUMBER(LargeRequestThreshold), FABRICBENCH_NUMBER(MaxCallerData),
                             FABRICBENCH_NUMBER(MaxCalleeData)};
#undef FABRICBENCH_NUMBER
#undef FABRICBENCH_SIZE

constexpr std::array<std::pair<std::string_view, Answers>, 5> kAnswers = {{{"natural", Answers::natural},
                                                                           {"at-once", Answers::at_once},
                                                                           {"later", Answers::later},
                                                                           {"before-return", Answers::before_return},
                                                                           {"drawn", Answers::random}}};

const Switch* find_switch(std::string_view name) {
  const auto at = std::ranges::find(kSwitches, name, &Switch::name);
  return at == kSwitches.end() ? nullptr : &*at;
}

void take(ProviderOptions& options, const Personality& personality) {
  options.answers = personality.answers;
  options.notify_inside_arm = personality.notify_inside_arm;
  options.scattered_logical_pages = personality.scattered_logical_pages;
  options.points.clear();
  for (const std::string_view name : personality.switches) options.points.insert(find_switch(name)->point);
}

/// Why the word is no change; empty when it was made.
std::string_view change(ProviderOptions& options, std::string_view word) {
  if (word.starts_with('+') || word.starts_with('-')) {
    const Switch* const found = find_switch(word.substr(1));
    if (found == nullptr) return "no such switch of a provider";
    if (word.front() == '+') {
      options.points.insert(found->point);
    } else {
      options.points.erase(found->point);
    }
    return {};
  }
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) return "no personality of a provider: document, connectx-3 and strict are, and come first";
  const std::string_view key = word.substr(0, equals), value = word.substr(equals + 1);
  if (key == "answers") {
    const auto at = std::ranges::find(kAnswers, value, [](const auto& one) { return one.first; });
    if (at == kAnswers.end()) return "answers are natural, at-once, later, before-return or drawn";
    options.answers = at->second;
    return {};
  }
  if (std::ranges::find(kFields, key, &Field::name) == std::end(kFields)) return "neither answers nor a limit of NDK_ADAPTER_INFO";
  std::uint64_t most = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), most);
  if (error != std::errc() || end != value.data() + value.size()) return "a limit is a number";
  options.limits.emplace_back(key, most);
  return {};
}

}  // namespace

std::span<const Switch> switches() { return kSwitches; }
std::span<const Personality> personalities() { return kPersonalities; }

Result<ProviderOptions> parse_behaviour(std::string_view text, ProviderOptions options) {
  bool first = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto personality = std::ranges::find(kPersonalities, word, &Personality::name);
    if (std::exchange(first, false) && personality != kPersonalities.end()) {
      take(options, *personality);
    } else if (const std::string_view wrong = change(options, word); !wrong.empty()) {
      return Failure{Problem{"'" + std::string(word) + "': " + std::string(wrong)}};
    }
  }
  return options;
}

void lower(NDK_ADAPTER_INFO& info, const ProviderOptions& options) {
  for (const auto& [name, most] : options.limits) {
    const auto* const field = std::ranges::find(kFields, name, &Field::name);
    if (field->number != nullptr) {
      ULONG& number = info.*field->number;
      number = static_cast<ULONG>(std::min<std::uint64_t>(number, most));
    } else {
      SIZE_T& size = info.*field->size;
      size = static_cast<SIZE_T>(std::min<std::uint64_t>(size, most));
    }
  }
  // What one limit means for another.
  info.MaxReadRequestSge = std::min(info.MaxReadRequestSge, info.MaxInitiatorRequestSge);
}

}  // namespace fb::ndk
