#include "networkdirect/provider/behaviour.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "networkdirect/provider/fault_points.h"

namespace fb::networkdirect {

namespace {

constexpr auto kSwitches = std::to_array<Switch>({
    {"read-bytes", departure::kReadBytesReported, true, "BytesTransferred of a Read is its length"},
    {"ports-shared", departure::kPortsShared, false,
     "several connectors with one local port connect to one remote port, where the document has ND_ADDRESS_ALREADY_EXISTS"},
    {"refused-spent", departure::kRefusalSpends, false, "a connector that was refused cannot connect again: ND_CONNECTION_ACTIVE"},
    {"limits-late", departure::kLimitsLateRefused, false, "GetReadLimits after Accept answers ND_INVALID_DEVICE_STATE"},
    {"data-anytime", departure::kDataAnytime, false, "GetPrivateData too early or too late succeeds, and there is nothing"},
    {"local-violation-data-error", departure::kLocalViolationDataError, false, "a Read or Write out of a local region ends as C000003Eh"},
    {"peer-address-bound", departure::kBindAnywhere, false, "a connector is bound to the peer's address"},
    {"dead-peer-cancelled", departure::kDeadPeerCancelled, false, "requests to a peer that does not answer any more end as ND_CANCELED"},
    {"unreachable-patient", departure::kUnreachablePatient, true, "Connect waits 99 s for an address where nobody is"},
    {"exact-sges", departure::kNoExtraSge, true, "a request has no more buffers than its queue pair was created for"},
    {"exact-queue", departure::kExactQueue, true, "a completion queue holds what it was created for, and overruns after that"},
    {"no-resize", departure::kNoResize, true, "completion queues cannot be resized, and the adapter says so"},
    {"bind-needs-right", departure::kBindNeedsRight, true, "Bind wants one of the two rights at least"},
    {"no-chosen-address", departure::kNoChosenAddress, true, "memory is registered at its own address alone: no extension of the bench's"},
    {"inline-counts-buffers", departure::kInlineCountsSges, true, "an inline request has no more buffers than others"},
});

constexpr std::array<std::string_view, 9> kConnectX3 = {"read-bytes",         "ports-shared",        "refused-spent",
                                                        "limits-late",        "data-anytime",        "local-violation-data-error",
                                                        "peer-address-bound", "dead-peer-cancelled", "unreachable-patient"};
constexpr std::array<std::string_view, 5> kStrict = {"exact-sges", "exact-queue", "bind-needs-right", "inline-counts-buffers",
                                                     "read-bytes"};

constexpr auto kPersonalities = std::to_array<Personality>({
    {"document", "as the document of the interface has it", Answers::pending, Order::drawn, {}},
    {"connectx-3", "a ConnectX-3 Pro with WinOF 5.50, as measured by the maker of an NVMe-oF stack", Answers::pending,
     Order::after_response, kConnectX3},
    {"strict", "the least that a consumer may count on", Answers::drawn, Order::drawn, kStrict},
});

const Switch* find_switch(std::string_view name) {
  const auto at = std::ranges::find(kSwitches, name, &Switch::name);
  return at == kSwitches.end() ? nullptr : &*at;
}

struct Field {
  std::string_view name;
  ULONG ND2_ADAPTER_INFO::*number;
  SIZE_T ND2_ADAPTER_INFO::*size;
};

#define FABRICBENCH_NUMBER(name) \
  Field { #name, &ND2_ADAPTER_INFO::name, nullptr }
#define FABRICBENCH_SIZE(name) \
  Field { #name, nullptr, &ND2_ADAPTER_INFO::name }
constexpr Field kFields[] = {FABRICBENCH_SIZE(MaxRegistrationSize),
                             FABRICBENCH_SIZE(MaxWindowSize),
                             FABRICBENCH_NUMBER(MaxInitiatorSge),
                             FABRICBENCH_NUMBER(MaxReceiveSge),
                             FABRICBENCH_NUMBER(MaxReadSge),
                             FABRICBENCH_NUMBER(MaxTransferLength),
                             FABRICBENCH_NUMBER(MaxInlineDataSize),
                             FABRICBENCH_NUMBER(MaxInboundReadLimit),
                             FABRICBENCH_NUMBER(MaxOutboundReadLimit),
                             FABRICBENCH_NUMBER(MaxReceiveQueueDepth),
                             FABRICBENCH_NUMBER(MaxInitiatorQueueDepth),
                             FABRICBENCH_NUMBER(MaxSharedReceiveQueueDepth),
                             FABRICBENCH_NUMBER(MaxCompletionQueueDepth),
                             FABRICBENCH_NUMBER(InlineRequestThreshold),
                             FABRICBENCH_NUMBER(LargeRequestThreshold),
                             FABRICBENCH_NUMBER(MaxCallerData),
                             FABRICBENCH_NUMBER(MaxCalleeData)};
#undef FABRICBENCH_NUMBER
#undef FABRICBENCH_SIZE

Failure<Problem> wrong(std::string_view word, std::string_view why) {
  return {Problem{"'" + std::string(word) + "': " + std::string(why)}};
}

/// One change to a behaviour.
Result<bool> change(Behaviour& behaviour, std::string_view word) {
  if (word.starts_with('+') || word.starts_with('-')) {
    const Switch* const found = find_switch(word.substr(1));
    if (found == nullptr) return wrong(word, "no such switch of a provider");
    if (word.front() == '+') {
      behaviour.points.insert(found->point);
    } else {
      behaviour.points.erase(found->point);
    }
    return true;
  }
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) {
    return wrong(word, "no personality of a provider: document, connectx-3 and strict are, and come first");
  }
  const std::string_view key = word.substr(0, equals), value = word.substr(equals + 1);
  if (key == "answers") {
    if (value == "pending")
      behaviour.answers = Answers::pending;
    else if (value == "at-once")
      behaviour.answers = Answers::at_once;
    else if (value == "drawn")
      behaviour.answers = Answers::drawn;
    else
      return wrong(word, "answers are pending, at-once or drawn");
    return true;
  }
  if (key == "order") {
    if (value == "acknowledged")
      behaviour.order = Order::acknowledged;
    else if (value == "after-response")
      behaviour.order = Order::after_response;
    else if (value == "drawn")
      behaviour.order = Order::drawn;
    else
      return wrong(word, "the order is acknowledged, after-response or drawn");
    return true;
  }
  if (std::ranges::find(kFields, key, &Field::name) == std::end(kFields)) {
    return wrong(word, "neither a limit of ND2_ADAPTER_INFO nor answers or order");
  }
  std::uint64_t most = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), most);
  if (error != std::errc() || end != value.data() + value.size()) return wrong(word, "a limit is a number");
  behaviour.limits.emplace_back(key, most);
  return true;
}

}  // namespace

std::span<const Switch> switches() { return kSwitches; }
std::span<const Personality> personalities() { return kPersonalities; }

Behaviour behaviour_of(const Personality& personality) {
  Behaviour made{.answers = personality.answers, .order = personality.order};
  for (const std::string_view name : personality.switches) made.points.insert(find_switch(name)->point);
  return made;
}

void Behaviour::lower(ND2_ADAPTER_INFO& info) const {
  for (const auto& [name, most] : limits) {
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
  info.MaxReadSge = std::min(info.MaxReadSge, info.MaxInitiatorSge);
  info.InlineRequestThreshold = std::min(info.InlineRequestThreshold, info.MaxInlineDataSize);
}

Result<Behaviour> parse_behaviour(std::string_view text) {
  Behaviour made = behaviour_of(kPersonalities[0]);
  bool first = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto personality = std::ranges::find(kPersonalities, word, &Personality::name);
    if (std::exchange(first, false) && personality != kPersonalities.end()) {
      made = behaviour_of(*personality);
    } else if (auto changed = change(made, word); !changed) {
      return Failure{changed.error()};
    }
  }
  return made;
}

}  // namespace fb::networkdirect
