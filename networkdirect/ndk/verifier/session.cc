#include "networkdirect/ndk/verifier/session.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "networkdirect/ndk/verifier/connections.h"

namespace fb::ndk::verifier {

std::string_view name_of_kind(NDK_OBJECT_TYPE type) {
  constexpr std::string_view kNames[] = {"object",        "adapter",       "queue pair",          "completion queue",
                                         "memory region", "memory window", "protection domain",   "shared endpoint",
                                         "connector",     "listener",      "shared receive queue"};
  static_assert(std::size(kNames) == NdkObjectTypeMax);
  return kNames[type];
}

// ---------------------------------------------------------------- wrappers

bool Wrapper::alive() const {
  // While an adapter is being closed its objects are still the consumer's to close.
  return life_ == Life::open && (adapter_ == nullptr || adapter_->life() != Life::closed);
}

std::string Wrapper::name() const { return fmt::format("{} {}", name_of_kind(type_), number_); }

NTSTATUS Wrapper::close(NDK_FN_CLOSE_COMPLETION completion, PVOID context) {
  Call call(*this, "closing", DISPATCH_LEVEL, Rule::closed_twice);
  if (!call.alive()) return STATUS_SUCCESS;
  if (completion == nullptr) call.find(Rule::completion_missing);
  closing(call);
  life_ = Life::closing;
  --session_.living_;
  Pending& pending = session_.pend([this](NTSTATUS, NDK_OBJECT_HEADER*) {
    life_ = Life::closed;
    closed();
    return static_cast<NDK_OBJECT_HEADER*>(nullptr);
  });
  pending.close = completion;
  pending.context = context;
  const NTSTATUS status = close_inner(&Pending::on_close, &pending);
  if (status != STATUS_PENDING) pending.done(status, nullptr);
  session_.returned(pending, status);
  return status;
}

// ---------------------------------------------------------------- calls that pend

VOID Pending::on_request(PVOID context, NTSTATUS status) {
  auto& pending = *static_cast<Pending*>(context);
  pending.called = true;
  pending.done(status, nullptr);
  if (pending.request != nullptr) pending.session->call_back([&] { pending.request(pending.context, status); });
  if (pending.returned) pending.session->returned(pending, STATUS_PENDING);
}

VOID Pending::on_create(PVOID context, NTSTATUS status, NDK_OBJECT_HEADER* inner) {
  auto& pending = *static_cast<Pending*>(context);
  pending.called = true;
  NDK_OBJECT_HEADER* const made = pending.done(status, inner);
  if (pending.create != nullptr) pending.session->call_back([&] { pending.create(pending.context, status, made); });
  if (pending.returned) pending.session->returned(pending, STATUS_PENDING);
}

VOID Pending::on_close(PVOID context) {
  auto& pending = *static_cast<Pending*>(context);
  pending.called = true;
  pending.done(STATUS_SUCCESS, nullptr);
  if (pending.close != nullptr) pending.session->call_back([&] { pending.close(pending.context); });
  if (pending.returned) pending.session->returned(pending, STATUS_PENDING);
}

Pending& Session::pend(std::function<NDK_OBJECT_HEADER*(NTSTATUS, NDK_OBJECT_HEADER*)> done) {
  auto made = std::make_unique<Pending>();
  Pending& pending = *made;
  pending.session = this;
  pending.id = next_pending_++;
  pending.done = std::move(done);
  pending_.emplace(pending.id, std::move(made));
  return pending;
}

void Session::returned(Pending& pending, NTSTATUS status) {
  pending.returned = true;
  if (status != STATUS_PENDING || pending.called) pending_.erase(pending.id);
}

// ---------------------------------------------------------------- what there is

Session::Session(Kernel& kernel, const VerifierOptions& options, FindingSink& sink) : kernel_(kernel), options_(options), sink_(sink) {}
Session::~Session() = default;

void Session::adopt(Wrapper& wrapper, const void* pointer) {
  wrapper.life_ = Wrapper::Life::open;
  wrapper.number_ = ++made_[wrapper.type()];
  if (wrapper.type() != NdkObjectTypeAdapter) ++living_;
  by_pointer_[pointer] = &wrapper;
}

Wrapper* Session::find(const void* pointer) const {
  const auto at = by_pointer_.find(pointer);
  return at == by_pointer_.end() ? nullptr : at->second;
}

std::uint64_t Session::name_queue_pair(QueuePair& queue_pair) {
  queue_pairs_.push_back(&queue_pair);
  return queue_pairs_.size();
}

QueuePair* Session::queue_pair(std::uint64_t number) const {
  return number == 0 || number > queue_pairs_.size() ? nullptr : queue_pairs_[number - 1];
}

// ---------------------------------------------------------------- requests that are outstanding

std::uint64_t Session::post(Posted posted) {
  const std::uint64_t id = next_post_++;
  for (MemoryRegion* const region : posted.regions) ++region->uses;
  for (Mapping* const mapping : posted.mappings) ++mapping->uses;
  if (QueuePair* const qp = posted.queue_pair) {
    qp->posted.insert(id);
    if (posted.receive) ++qp->receives;
    if (!posted.receive) qp->initiators.insert(id);
  }
  if (posted.shared != nullptr) ++posted.shared->outstanding;
  posted_.emplace(id, std::move(posted));
  return id;
}

Posted* Session::posted(std::uint64_t id) {
  const auto at = posted_.find(id);
  return at == posted_.end() ? nullptr : &at->second;
}

void Session::cease(Posted& posted) {
  if (std::exchange(posted.ceased, true)) return;
  for (MemoryRegion* const region : posted.regions) --region->uses;
  for (Mapping* const mapping : posted.mappings) --mapping->uses;
}

void Session::cease(QueuePair& queue_pair) {
  for (const std::uint64_t id : queue_pair.posted) {
    Posted& request = posted_.at(id);
    cease(request);
    // Whether it was done before it was cancelled, its result may still tell.
    if (request.region != nullptr && request.region->last_change == id) {
      request.region->validity = MemoryRegion::Validity::unknown;
      request.region->use(nullptr);
    }
    if (request.window != nullptr) request.window->unbind(MemoryWindow::Binding::unknown);
  }
}

void Session::finish_posted(std::uint64_t id) {
  const auto at = posted_.find(id);
  Posted request = std::move(at->second);
  posted_.erase(at);
  cease(request);
  if (request.expected_on != nullptr) request.expected_on->expect_no_more();
  if (request.shared != nullptr) --request.shared->outstanding;
  if (QueuePair* const qp = request.queue_pair) {
    qp->posted.erase(id);
    if (request.receive) --qp->receives;
    if (!request.receive) qp->initiators.erase(id);
  }
}

// ---------------------------------------------------------------- adapters

NDK_ADAPTER& Session::wrap(NDK_ADAPTER& inner) {
  Adapter& adapter = make<Adapter>(inner);
  adopt(adapter, static_cast<NDK_ADAPTER*>(&adapter));
  return adapter;
}

std::vector<Leak> Session::close(NDK_ADAPTER& ndk, const std::function<void(NDK_ADAPTER&)>& close_inner) {
  Wrapper* const found = find(&ndk);
  if (found == nullptr || found->type() != NdkObjectTypeAdapter) {
    add(Rule::argument_foreign, std::string(name_of_kind(NdkObjectTypeAdapter)), ++calls_, "closing an adapter that is not the verifier's");
    return {};
  }
  auto& adapter = static_cast<Adapter&>(*found);
  Call call(adapter, "NdkCloseAdapter", PASSIVE_LEVEL, Rule::adapter_closed_twice);
  if (!call.alive()) return {};
  if (inside_callback()) call.find(Rule::adapter_closed_in_callback);
  adapter.life_ = Wrapper::Life::closing;
  close_inner(adapter.inner());
  auto left = leaks(adapter);
  adapter.life_ = Wrapper::Life::closed;
  return left;
}

/// What of an adapter is left: findings, and a list.
std::vector<Leak> Session::leaks(const Adapter& adapter) {
  std::vector<std::string> left[NdkObjectTypeMax];
  for (const auto& wrapper : wrappers_) {
    if (wrapper->adapter() != &adapter || wrapper->life() != Wrapper::Life::open) continue;
    left[wrapper->type()].push_back(wrapper->name());
  }
  std::vector<Leak> found;
  for (std::size_t type = 0; type < NdkObjectTypeMax; ++type) {
    if (left[type].empty()) continue;
    const std::string kind(name_of_kind(static_cast<NDK_OBJECT_TYPE>(type)));
    const std::string names = fmt::format("{}", fmt::join(left[type], ", "));
    add(Rule::leaked_object, kind, calls_, fmt::format("{} not closed on {}: {}", left[type].size(), adapter.name(), names));
    found.push_back({kind, left[type].size()});
  }
  if (adapter.living_mappings() > 0) {
    add(Rule::lam_leaked, adapter.name(), calls_, fmt::format("{} mappings not released", adapter.living_mappings()));
    found.push_back({"mapping", adapter.living_mappings()});
  }
  return found;
}

std::vector<Leak> Session::finish() {
  std::vector<Leak> all;
  std::size_t open = 0;
  for (const auto& wrapper : wrappers_) {
    if (wrapper->type() != NdkObjectTypeAdapter || wrapper->life() != Wrapper::Life::open) continue;
    ++open;
    add(Rule::adapter_not_closed, wrapper->name(), calls_, {});
    for (Leak& leak : leaks(static_cast<Adapter&>(*wrapper))) all.push_back(std::move(leak));
  }
  if (open > 0) all.push_back({std::string(name_of_kind(NdkObjectTypeAdapter)), open});
  return all;
}

void Session::add(Rule rule, const std::string& object, std::uint64_t call, std::string text) {
  if (options_.without.contains(rule) || repeated_[{rule, object}]++ >= options_.repeats) return;
  sink_.found({&entry_of(rule), std::move(text), object, call});
}

// ---------------------------------------------------------------- a call

Call::Call(Wrapper& on, const char* function, KIRQL most, Rule when_dead)
    : on_(on), function_(function), number_(++on.session_.calls_), alive_(on.alive()) {
  if (!alive_) {
    find(when_dead);
  } else if (const KIRQL irql = session().kernel().irql(); irql > most) {
    find(Rule::irql_too_high, fmt::format("at {}; at most {}", name_of_irql(irql), name_of_irql(most)));
  }
}

void Call::find(Rule rule, std::string text) {
  text = text.empty() ? std::string(function_) : fmt::format("{}: {}", function_, text);
  session().add(rule, on_.name(), number_, std::move(text));
}

Wrapper* Call::argument_of(const void* pointer, NDK_OBJECT_TYPE type, const char* what) {
  if (!given(pointer, what)) return nullptr;
  Wrapper* const found = session().find(pointer);
  const Adapter* const mine = on_.adapter() != nullptr ? on_.adapter() : static_cast<const Adapter*>(&on_);
  if (found == nullptr) {
    find(Rule::argument_foreign, fmt::format("{} is no object of this provider", what));
  } else if (!found->alive()) {
    find(Rule::argument_closed, fmt::format("{} is {}", what, found->name()));
  } else if (found->type() != type) {
    find(Rule::argument_foreign, fmt::format("{} is {}", what, found->name()));
  } else if (found->adapter() != mine) {
    find(Rule::argument_of_other_adapter, fmt::format("{} is {}", what, found->name()));
  } else {
    return found;
  }
  return nullptr;
}

bool Call::given(const void* pointer, const char* what) {
  if (pointer == nullptr) find(Rule::argument_null, fmt::format("{} is null", what));
  return pointer != nullptr;
}

bool Call::address(PSOCKADDR address, ULONG length, const char* what) {
  if (!given(address, what)) return false;
  const bool v4 = length >= sizeof(SOCKADDR_IN) && address->sa_family == AF_INET;
  const bool v6 = length >= sizeof(SOCKADDR_IN6) && address->sa_family == AF_INET6;
  if (!v4 && !v6) find(Rule::address_wrong, fmt::format("{} has {} bytes", what, length));
  return v4 || v6;
}

void Call::limit(Rule rule, const char* what, std::uint64_t asked, std::uint64_t most) {
  const Adapter& adapter = on_.adapter() != nullptr ? *on_.adapter() : static_cast<const Adapter&>(on_);
  if (!adapter.info_known() || asked <= most) return;
  find(rule, fmt::format("{} is {}; at most {}", what, asked, most));
}

// ---------------------------------------------------------------- extensions

namespace {

template <class T, class Ndk>
NDK_OBJECT_HEADER* ask(NDK_OBJECT_HEADER* object, Wrapper*& wrapper) {
  T& found = of<T>(reinterpret_cast<Ndk*>(object));
  wrapper = &found;
  return &found.inner().Header;
}

}  // namespace

/// The project's own extension goes through here; others are not answered for.
NTSTATUS query_extension(NDK_OBJECT_HEADER* object, GUID* id, NDK_VERSION version, NDK_EXTENSION_INTERFACE* out) {
  static constexpr ChosenAddressDispatch kChosenAddress = {&MemoryRegion::register_at};
  Wrapper* wrapper = nullptr;
  NDK_OBJECT_HEADER* inner = nullptr;
  NDK_FN_QUERY_EXTENSION_INTERFACE function = nullptr;
  switch (object->ObjectType) {
    case NdkObjectTypeAdapter:
      inner = ask<Adapter, NDK_ADAPTER>(object, wrapper);
      function = reinterpret_cast<NDK_ADAPTER*>(inner)->Dispatch->NdkQueryExtension;
      break;
    case NdkObjectTypePd:
      inner = ask<ProtectionDomain, NDK_PD>(object, wrapper);
      function = reinterpret_cast<NDK_PD*>(inner)->Dispatch->NdkQueryExtension;
      break;
    case NdkObjectTypeMr:
      inner = ask<MemoryRegion, NDK_MR>(object, wrapper);
      function = reinterpret_cast<NDK_MR*>(inner)->Dispatch->NdkQueryExtension;
      break;
    default:
      return STATUS_NOT_SUPPORTED;
  }
  Call call(*wrapper, "NdkQueryExtension");
  if (!call.alive()) return STATUS_INVALID_HANDLE;
  if (!call.given(id, "the identifier") || !call.given(out, "the place for the interface")) return STATUS_INVALID_PARAMETER;
  if (std::memcmp(id, &kChosenAddressExtension, sizeof *id) != 0) return STATUS_NOT_SUPPORTED;
  NDK_EXTENSION_INTERFACE found = {};
  const NTSTATUS status = function(inner, id, version, &found);
  if (status != STATUS_SUCCESS) return status;
  Adapter& adapter = wrapper->adapter() != nullptr ? *wrapper->adapter() : static_cast<Adapter&>(*wrapper);
  adapter.extension = *static_cast<const ChosenAddressDispatch*>(found.Dispatch);
  out->Dispatch = &kChosenAddress;
  return status;
}

}  // namespace fb::ndk::verifier
