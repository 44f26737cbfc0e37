// What the cases about the persistent event log share.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "conformance/cases/nvme/namespace_scene.h"
#include "wire/nvme/persistent_events.h"

namespace fb::conformance {

inline const furnished having_persistent_log{[](EmbeddedSetup& setup) { setup.subsystem.persistent_log = {}; }};
inline constexpr auto kClaimsPersistentLog = claims_lpa<nvme::lpa_bits::persistent_event>;

/// An event that the case keeps.
struct KeptEvent {
  nvme::PersistentEventType type{};
  std::uint16_t cntlid = 0;
  Bytes data;
  bool operator==(const KeptEvent&) const = default;

  template <class L>
  View<L> as() const {
    return View<L>{ByteView{data}.first(L::size)};
  }
};

/// A host that reads the persistent event log.
class PersistentScene {
 public:
  PersistentScene(ControllerBench& bench, Check& check) : manager(bench, check), check_(check) {}

  host::RawQueue& admin() { return manager.admin(); }
  host::RawReply read(nvme::PersistentLogAction action, std::uint64_t offset = 0, std::uint32_t bytes = 512) {
    auto command = host::get_log(nvme::LogPage::persistent_event, bytes, offset);
    command.set(nvme::get_log_sqe::lsp, static_cast<unsigned>(action)).set(nvme::get_log_sqe::rae, true);
    return admin().send(command, bytes).wait();
  }
  host::RawReply release() {
    auto command = host::get_log(nvme::LogPage::persistent_event, 4);
    command.set(nvme::get_log_sqe::lsp, static_cast<unsigned>(nvme::PersistentLogAction::release));
    return admin().send(command, 4).wait();
  }
  /// A context that the case does not judge, and the header in it.
  Record<nvme::PersistentLogHeader> establish() {
    const auto reply = read(nvme::PersistentLogAction::establish_and_read);
    check_.precondition_success(reply, "Get Log Page that establishes a context");
    return Record<nvme::PersistentLogHeader>{reply.data};
  }
  /// The rest of an open context.
  Bytes whole(const Record<nvme::PersistentLogHeader>& header) {
    constexpr std::uint64_t kPiece = 4096, kMost = 16 << 20;
    const std::uint64_t length = header.get(nvme::persistent_log::tll);
    check_.require(length >= nvme::PersistentLogHeader::size && length <= kMost, "TLL is the length of a log", std::to_string(length));
    Bytes log;
    while (log.size() < length) {
      const std::uint64_t rest = (length - log.size() + 3) / 4 * 4;
      const auto bytes = static_cast<std::uint32_t>(std::min(rest, kPiece));
      const auto reply = read(nvme::PersistentLogAction::read, log.size(), bytes);
      check_.require_success(reply, "Get Log Page");
      log.insert(log.end(), reply.data.begin(), reply.data.end());
    }
    log.resize(static_cast<std::size_t>(length));
    return log;
  }
  /// All that is recorded, in a context of its own.
  std::vector<KeptEvent> events() {
    const auto header = establish();
    const Bytes log = whole(header);
    check_.precondition_success(release(), "Get Log Page that releases the context");
    std::vector<KeptEvent> found;
    nvme::PersistentEventWalk walk(log);
    nvme::PersistentEvent event;
    while (walk.next(event)) found.push_back({event.type, event.cntlid, {event.data.begin(), event.data.end()}});
    return found;
  }
  /// INCONCLUSIVE where the product does not record such events.
  void needs_type(nvme::PersistentEventType type) {
    const auto header = establish();
    check_.precondition_success(release(), "Get Log Page that releases the context");
    check_.precondition(supports(header, type), "the product records events of that type");
  }
  static bool supports(const Record<nvme::PersistentLogHeader>& header, nvme::PersistentEventType type) {
    const auto bit = static_cast<unsigned>(type);
    return (header.bytes()[nvme::persistent_log::seb.offset + bit / 8] >> bit % 8 & 1) != 0;
  }

  Manager manager;

 private:
  Check& check_;
};

/// The events that were not there before. `before` and `after` are whole logs; which end new ones stand at is open.
inline std::vector<KeptEvent> new_events(std::vector<KeptEvent> before, const std::vector<KeptEvent>& after) {
  std::vector<KeptEvent> fresh;
  for (const KeptEvent& event : after) {
    const auto at = std::find(before.begin(), before.end(), event);
    if (at == before.end()) {
      fresh.push_back(event);
    } else {
      before.erase(at);
    }
  }
  return fresh;
}

/// The first new event of that type which `holds` is content with.
template <class Holds>
const KeptEvent* find_event(const std::vector<KeptEvent>& events, nvme::PersistentEventType type, std::size_t least, Holds&& holds) {
  for (const KeptEvent& event : events) {
    if (event.type == type && event.data.size() >= least && holds(event)) return &event;
  }
  return nullptr;
}

}  // namespace fb::conformance
