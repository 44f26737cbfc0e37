#include "networkdirect/verifier/session.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "networkdirect/verifier/probe.h"

namespace fb::networkdirect::verifier {

std::string_view name_of(Kind kind) {
  constexpr std::string_view kNames[] = {"provider",      "adapter",       "completion queue", "shared receive queue",
                                         "memory region", "memory window", "queue pair",       "connector",
                                         "listener"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(Kind::count_of_kinds));
  return kNames[static_cast<std::size_t>(kind)];
}

std::string Wrapper::name() const { return fmt::format("{} {}", name_of(kind_), number_); }

ULONG Wrapper::release(Call& call) {
  if (--references_ != 0) return references_;
  --session_.living_;
  if (adapter_ != nullptr && kind_ != Kind::adapter) --adapter_->children;
  last_release(call);
  if (calls_ > 1) {
    call.find(Rule::released_during_call, fmt::format("{} other calls on it had not returned", calls_ - 1));
    call.cancel_ = true;
  }
  return 0;
}

Session::~Session() {
  // What the consumer has left behind, the latest first: adapters and providers come last.
  for (auto& wrapper : wrappers_ | std::views::reverse) {
    if (wrapper->inner_held_) wrapper->release_inner();
  }
}

void Session::adopt(std::unique_ptr<Wrapper> wrapper) {
  wrapper->number_ = ++made_[static_cast<std::size_t>(wrapper->kind())];
  ++living_;
  if (wrapper->adapter_ != nullptr && wrapper->kind() != Kind::adapter) ++wrapper->adapter_->children;
  by_pointer_[wrapper->unknown()] = wrapper.get();
  wrappers_.push_back(std::move(wrapper));
}

void Session::adopt_first(std::unique_ptr<Wrapper> wrapper) {
  const std::lock_guard lock(lock_);
  adopt(std::move(wrapper));
}

Wrapper* Session::find(const void* unknown) const {
  const auto at = by_pointer_.find(unknown);
  return at == by_pointer_.end() ? nullptr : at->second;
}

Request* Session::request_of(OVERLAPPED* overlapped) {
  const auto at = requests.find(overlapped);
  return at == requests.end() ? nullptr : &at->second;
}

bool Session::still_pending(OVERLAPPED* overlapped) {
  const Request* const request = request_of(overlapped);
  // The last Release of an object ends its requests.
  if (request == nullptr || request->fate != Request::Fate::pending || !request->object->alive()) return false;
  const auto seen = peek(overlapped);
  return seen && static_cast<HRESULT>(seen->Internal) == ND_PENDING;
}

bool Session::still_pending(OVERLAPPED* overlapped, Method method, const void* state) {
  const Request* const request = request_of(overlapped);
  if (request == nullptr || request->method != method) return false;
  return (request->connector.get() == state || request->region.get() == state) && still_pending(overlapped);
}

std::uint64_t Session::post(Posted request) {
  const std::uint64_t id = next_post_++;
  for (const auto& region : request.regions) ++region->uses;
  if (request.queue_pair != nullptr) {
    request.queue_pair->posted.insert(id);
    if (request.receives == nullptr) request.queue_pair->initiators.insert(id);
    request.counted = !request.silent;
    QueuePairState& queue_pair = *request.queue_pair;
    if (request.counted) ++(request.receives == nullptr ? queue_pair.initiator_queue : queue_pair.receive_queue)->expected;
  }
  if (request.receives != nullptr) ++request.receives->outstanding;
  posted.emplace(id, std::move(request));
  return id;
}

std::optional<Session::Done> Session::finish_posted(std::uint64_t id) {
  const auto at = posted.find(id);
  if (at == posted.end()) return std::nullopt;
  Posted request = std::move(at->second);
  posted.erase(at);
  if (request.uses_memory) {
    for (const auto& region : request.regions) --region->uses;
  }
  if (request.receives != nullptr) --request.receives->outstanding;
  if (request.queue_pair != nullptr) {
    QueuePairState& queue_pair = *request.queue_pair;
    queue_pair.posted.erase(id);
    if (request.receives == nullptr) queue_pair.initiators.erase(id);
    if (request.counted) --(request.receives == nullptr ? queue_pair.initiator_queue : queue_pair.receive_queue)->expected;
  }
  return Done{request.context, std::move(request.queue_pair)};
}

void Session::cease(QueuePairState& queue_pair) {
  for (const std::uint64_t id : queue_pair.posted) {
    Posted& request = posted.at(id);
    if (!std::exchange(request.uses_memory, false)) continue;
    for (const auto& region : request.regions) --region->uses;
  }
}

void Session::end_link(const std::shared_ptr<QueuePairState>& queue_pair) {
  if (queue_pair == nullptr) return;
  queue_pair->link = QueuePairState::Link::ended;
  cease(*queue_pair);
  for (const auto& window : queue_pair->windows) {
    if (window->queue_pair == queue_pair->number) window->linger();
  }
}

std::vector<Leak> Session::finish() {
  std::vector<Finding> findings;
  std::vector<Leak> leaks;
  {
    const std::lock_guard lock(lock_);
    std::map<Kind, std::vector<std::string>> left;
    for (const auto& wrapper : wrappers_) {
      if (wrapper->alive()) left[wrapper->kind()].push_back(fmt::format("{} ({} references)", wrapper->number(), wrapper->references_));
    }
    for (const auto& [kind, numbers] : left) {
      leaks.push_back({std::string(name_of(kind)), numbers.size()});
      add(findings, Rule::leaked_object, std::string(name_of(kind)), calls_,
          fmt::format("{} not released: {}", numbers.size(), fmt::join(numbers, ", ")));
    }
  }
  deliver(findings);
  return leaks;
}

std::size_t Session::living() const {
  const std::lock_guard lock(lock_);
  return living_;
}

std::uint64_t Session::calls() const {
  const std::lock_guard lock(lock_);
  return calls_;
}

std::vector<Called> Session::tally() const {
  const std::lock_guard lock(lock_);
  std::vector<Called> all;
  for (const auto& [which, count] : tally_) {
    all.push_back({std::string(name_of(which.first)), std::string(which.second), count.calls, count.pending});
  }
  return all;
}

void Session::add(std::vector<Finding>& findings, Rule rule, const std::string& object, std::uint64_t call, std::string text) {
  if (options_.without.contains(rule) || repeated_[{rule, object}]++ >= options_.repeats) return;
  findings.push_back({&entry_of(rule), std::move(text), object, call});
}

void Session::deliver(const std::vector<Finding>& findings) {
  if (findings.empty()) return;
  const std::lock_guard lock(delivery_);
  for (const Finding& finding : findings) sink_.found(finding);
}

Call::Call(Wrapper& on, const char* method, Rule when_dead) : on_(on), method_(method), lock_(on.session_.lock_) {
  number_ = ++on.session_.calls_;
  ++on.session_.tally_[{on.kind(), method}].calls;
  alive_ = on.alive();
  ++on.calls_;
  if (!alive_) find(when_dead);
}

Call::~Call() {
  if (cancel_) inner([&] { return on_.cancel_inner(), 0; });
  // A wrapper whose last reference went during other calls keeps the provider's object until they have returned.
  arguments_.push_back(&on_);
  std::erase_if(arguments_,
                [](Wrapper* wrapper) { return --wrapper->calls_ != 0 || wrapper->alive() || !std::exchange(wrapper->inner_held_, false); });
  lock_.unlock();
  for (Wrapper* const left : arguments_) left->release_inner();
  on_.session_.deliver(findings_);
}

void Call::find(Rule rule, const std::string& object, std::string text) {
  text = text.empty() ? std::string(method_) : fmt::format("{}: {}", method_, text);
  on_.session_.add(findings_, rule, object, number_, std::move(text));
}

Wrapper* Call::argument(IUnknown* unknown, Kind kind, const char* what) {
  if (!given(unknown, what)) return nullptr;
  Wrapper* const found = session().find(unknown);
  if (found == nullptr) {
    find(Rule::argument_foreign, fmt::format("{} is no object of this provider", what));
  } else if (!found->alive()) {
    find(Rule::argument_released, fmt::format("{} is {}", what, found->name()));
  } else if (found->kind() != kind) {
    find(Rule::argument_foreign, fmt::format("{} is {}", what, found->name()));
  } else if (found->adapter() != on_.adapter()) {
    find(Rule::argument_of_other_adapter, fmt::format("{} is {}", what, found->name()));
  } else {
    ++found->calls_;
    arguments_.push_back(found);
    return found;
  }
  return nullptr;
}

bool Call::given(const void* pointer, const char* what) {
  if (pointer == nullptr) find(Rule::argument_null, fmt::format("{} is null", what));
  return pointer != nullptr;
}

void Call::limit(const char* what, std::uint64_t asked, std::uint64_t most) {
  const auto& adapter = on_.adapter();
  if (adapter == nullptr || !adapter->info_known || asked <= most) return;
  find(Rule::adapter_limit_exceeded, fmt::format("{} is {}; at most {}", what, asked, most));
}

}  // namespace fb::networkdirect::verifier
