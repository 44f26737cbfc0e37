#include "networkdirect/ndutil/state.h"

#include <algorithm>

namespace fb::ndutil {

namespace {

struct Section {
  Section() { InitializeCriticalSection(&section); }
  CRITICAL_SECTION section;
};

// Never deleted: a program may call from its last destructors.
CRITICAL_SECTION& section() {
  static auto* const made = new Section;
  return made->section;
}

}  // namespace

Guard::Guard() { EnterCriticalSection(&section()); }
Guard::~Guard() { LeaveCriticalSection(&section()); }

State& State::instance() {
  static auto* const made = new State;
  return *made;
}

/// The loaded libraries of an address's providers, kept until this goes.
class State::Users {
 public:
  Users() = default;
  ~Users() {
    const Guard guard;
    for (Library* library : libraries_) --library->users;
  }
  Users(const Users&) = delete;
  Users& operator=(const Users&) = delete;

  void add(Library& library) {
    libraries_.push_back(&library);
    ++library.users;
  }
  const std::vector<Library*>& libraries() const { return libraries_; }

 private:
  std::vector<Library*> libraries_;
};

HRESULT State::start() {
  if (starts_ == 0) {
    WSADATA data = {};
    if (WSAStartup(MAKEWORD(2, 2), &data) != 0) return ND_INSUFFICIENT_RESOURCES;
    changes_.open();
    stale_ = true;
  }
  ++starts_;
  return ND_SUCCESS;
}

HRESULT State::stop() {
  if (starts_ == 0) return ND_DEVICE_NOT_READY;
  if (--starts_ != 0) return ND_SUCCESS;
  served_.clear();
  opened_.clear();
  for (auto& library : libraries_) leaving_.push_back(std::move(library));
  libraries_.clear();
  unload_unused();
  changes_.close();
  WSACleanup();
  return ND_SUCCESS;
}

void State::flush() {
  unload_unused();
  stale_ = true;
}

void State::unload_unused() {
  for (const auto& library : libraries_) library->unload_if_unused();
  for (const auto& library : leaving_) library->unload_if_unused();
  std::erase_if(leaving_, [](const auto& library) { return !library->is_loaded() && library->users == 0; });
}

bool State::catalogue_differs(const std::vector<ProviderEntry>& entries) const {
  std::size_t usable = 0;
  for (const ProviderEntry& entry : entries) {
    if (!entry.usable()) continue;
    if (usable == libraries_.size() || !same_provider(libraries_[usable]->entry(), entry)) return true;
    ++usable;
  }
  return usable != libraries_.size();
}

HRESULT State::refresh() {
  // The order matters: what changes after this line makes the next call look again.
  if (changes_.happened()) stale_ = true;
  if (!stale_ && changes_.hears_catalogue()) return ND_SUCCESS;
  const auto entries = read_catalogue();
  if (!entries) {
    stale_ = true;
    return ND_UNSUCCESSFUL;
  }
  if (!stale_ && !catalogue_differs(*entries)) return ND_SUCCESS;
  take_over(*entries);
  query_all();
  stale_ = false;
  return ND_SUCCESS;
}

// A library that comes back, or that was left loaded by an earlier start, is the same library as before: two of one would
// both believe that they decide over its unloading.
void State::take_over(const std::vector<ProviderEntry>& entries) {
  served_.clear();
  for (auto& library : libraries_) leaving_.push_back(std::move(library));
  libraries_.clear();
  for (const ProviderEntry& entry : entries) {
    if (!entry.usable()) continue;
    const auto known =
        std::find_if(leaving_.begin(), leaving_.end(), [&entry](const auto& library) { return same_provider(library->entry(), entry); });
    if (known == leaving_.end()) {
      libraries_.push_back(std::make_unique<Library>(entry));
    } else {
      libraries_.push_back(std::move(*known));
      leaving_.erase(known);
    }
  }
}

void State::query_all() {
  for (const auto& library : libraries_) {
    ProviderPointer provider;
    std::vector<Address> found;
    if (FAILED(library->load()) || FAILED(library->provider(provider)) || FAILED(query_addresses(*provider, found))) continue;
    for (const Address& address : found) served_.push_back({address, library.get()});
  }
}

std::vector<Address> State::addresses() const {
  std::vector<Address> all;
  for (const Served& served : served_) {
    if (std::find(all.begin(), all.end(), served.address) == all.end()) all.push_back(served.address);
  }
  return all;
}

bool State::serves(const Address& address) const {
  return std::any_of(served_.begin(), served_.end(), [&address](const Served& served) { return served.address == address; });
}

void State::note_opened(const Address& address) {
  if (is_started() && std::find(opened_.begin(), opened_.end(), address) == opened_.end()) opened_.push_back(address);
}

HRESULT State::open(const Address& address, REFIID iid, void** out) {
  *out = nullptr;
  State& state = instance();
  HRESULT status = ND_INVALID_ADDRESS;
  Users users;
  {
    const Guard guard;
    if (!state.is_started()) return ND_DEVICE_NOT_READY;
    for (const Served& served : state.served_) {
      if (!(served.address == address)) continue;
      // A flush may have unloaded it since its addresses were asked for.
      const HRESULT loaded = served.library->load();
      if (FAILED(loaded)) {
        status = loaded;
      } else {
        users.add(*served.library);
      }
    }
  }
  for (const Library* library : users.libraries()) {
    status = open_adapter(*library, address, iid, out);
    if (!FAILED(status)) return status;
    *out = nullptr;
  }
  return status;
}

bool State::can_open(const Address& address) {
  void* adapter = nullptr;
  if (FAILED(open(address, IID_IND2Adapter, &adapter)) || adapter == nullptr) return false;
  static_cast<IUnknown*>(adapter)->Release();
  return true;
}

}  // namespace fb::ndutil
