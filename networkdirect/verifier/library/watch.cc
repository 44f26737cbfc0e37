#include "networkdirect/verifier/library/watch.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>

#include <dlfcn.h>

namespace fb::networkdirect::verifier {

namespace {

std::filesystem::path path_in(const char* variable) {
  const char* const value = std::getenv(variable);
  if (value == nullptr || *value == 0) return {};
  // The program may go to another folder later.
  std::error_code error;
  const auto whole = std::filesystem::absolute(value, error);
  return error ? std::filesystem::path(value) : whole;
}

std::filesystem::path own_path() {
  static const char here = 0;
  Dl_info found = {};
  return dladdr(&here, &found) == 0 || found.dli_fname == nullptr ? std::filesystem::path() : std::filesystem::path(found.dli_fname);
}

std::mutex instance_lock;
std::atomic<Watch*> instance_of_process{nullptr};
std::atomic<DWORD> process_of_instance{0};

}  // namespace

WatchOptions options_of_environment() {
  WatchOptions options;
  options.self = own_path();
  options.provider = path_in("FABRICBENCH_ND_VERIFY_INNER");
  if (options.provider.empty()) options.provider = options.self.parent_path() / ndutil::kOwnLibrary;
  options.report = path_in("FABRICBENCH_ND_VERIFY_REPORT");
  const char* const list = std::getenv("FABRICBENCH_ND_VERIFY_WITHOUT");
  for (std::string_view rest = list == nullptr ? "" : list; !rest.empty();) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    if (const RuleEntry* const entry = find_rule(rest.substr(0, end))) options.without.insert(entry->rule);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return options;
}

/// For consumers that ask for a class factory first, as of any COM library.
class Watch::Factory final : public IClassFactory {
 public:
  Factory(Watch& watch, REFCLSID id) : watch_(watch), id_(id) { ++watch.factories_; }

  HRESULT STDMETHODCALLTYPE QueryInterface(REFIID iid, VOID** out) override {
    if (out == nullptr) return E_POINTER;
    *out = nullptr;
    if (!(iid == IID_IUnknown) && !(iid == IID_IClassFactory)) return E_NOINTERFACE;
    ++references_;
    *out = static_cast<IClassFactory*>(this);
    return S_OK;
  }
  ULONG STDMETHODCALLTYPE AddRef() override { return ++references_; }
  ULONG STDMETHODCALLTYPE Release() override {
    const ULONG left = --references_;
    if (left == 0) {
      --watch_.factories_;
      delete this;
    }
    return left;
  }
  HRESULT STDMETHODCALLTYPE CreateInstance(IUnknown* outer, REFIID iid, VOID** out) override {
    if (out == nullptr) return E_POINTER;
    *out = nullptr;
    return outer != nullptr ? CLASS_E_NOAGGREGATION : watch_.provider(id_, iid, out);
  }
  // Objects alone keep the library loaded.
  HRESULT STDMETHODCALLTYPE LockServer(BOOL) override { return S_OK; }

 private:
  ~Factory() = default;
  Watch& watch_;
  const GUID id_;
  std::atomic<ULONG> references_{1};
};

// How often one rule is told is the report's affair.
Watch::Watch(const WatchOptions& options)
    : options_(options),
      process_(GetCurrentProcessId()),
      report_(options.report),
      verifier_({.without = options.without, .repeats = std::numeric_limits<std::size_t>::max()}, report_) {}

Watch& Watch::instance() {
  const std::lock_guard guard(instance_lock);
  if (Watch* const made = existing()) return *made;
  auto* const fresh = new Watch(options_of_environment());
  process_of_instance = fresh->process_;
  instance_of_process = fresh;
  return *fresh;
}

Watch* Watch::existing() { return process_of_instance == GetCurrentProcessId() ? instance_of_process.load() : nullptr; }

ndutil::Library* Watch::library(REFCLSID id) {
  // Who was installed without a class of its own asks for the one with which the library behind is installed.
  const bool plain = id == ndutil::default_provider_id(options_.self.wstring());
  const GUID behind = plain ? ndutil::default_provider_id(options_.provider.wstring()) : id;
  const auto at = std::ranges::find_if(libraries_, [&](const auto& known) { return known->entry().id == behind; });
  if (at != libraries_.end()) return at->get();
  ndutil::ProviderEntry entry;
  entry.id = behind;
  entry.version = ND_VERSION_2;
  entry.path = entry.library = options_.provider.wstring();
  return libraries_.emplace_back(std::make_unique<ndutil::Library>(std::move(entry))).get();
}

HRESULT Watch::load(ndutil::Library& library) {
  std::error_code none;
  const bool itself = std::filesystem::equivalent(options_.provider, options_.self, none);
  const HRESULT status = itself ? ND_INVALID_DEVICE_REQUEST : library.load();
  if (!FAILED(status) || std::exchange(refused_, true)) return status;
  const char* const why = itself                                             ? "this is the verifier itself"
                          : status == ND_INVALID_DEVICE_REQUEST              ? "it exports no DllGetClassObject"
                          : std::filesystem::exists(options_.provider, none) ? "it cannot be loaded as a library"
                                                                             : "there is no such library";
  report_.problem(options_.provider.string() + ": " + why);
  return status;
}

HRESULT Watch::class_object(REFCLSID id, REFIID iid, VOID** out) {
  if (out == nullptr) return E_POINTER;
  *out = nullptr;
  if (!(iid == IID_IClassFactory)) return provider(id, iid, out);
  *out = static_cast<IClassFactory*>(new Factory(*this, id));
  return S_OK;
}

HRESULT Watch::provider(REFCLSID id, REFIID iid, VOID** out) {
  ndutil::Library* behind = nullptr;
  {
    const std::lock_guard guard(lock_);
    behind = library(id);
    const HRESULT loaded = load(*behind);
    if (FAILED(loaded)) return loaded;
    ++behind->users;
    if (!std::exchange(opened_, true)) report_.opened(options_.provider.string());
  }
  ndutil::ProviderPointer inner;
  HRESULT status = behind->provider(inner);
  if (!FAILED(status)) status = verifier_.wrap_provider(*inner, iid, out);
  inner.reset();
  const std::lock_guard guard(lock_);
  --behind->users;
  return status;
}

void Watch::tell_end() {
  const std::uint64_t calls = verifier_.calls();
  const bool opened = std::exchange(opened_, false);
  const bool called = std::exchange(calls_told_, calls) != calls;  // what is gone may be called too
  if (!opened && !called) return;
  report_.ended(calls, verifier_.living_objects());
}

/// The provider behind is unloaded here; this library stays, whatever its caller does then.
HRESULT Watch::can_unload_now() {
  const std::lock_guard guard(lock_);
  if (verifier_.living_objects() != 0 || factories_ != 0) return S_FALSE;
  for (const auto& library : libraries_) library->unload_if_unused();
  if (std::ranges::any_of(libraries_, [](const auto& library) { return library->is_loaded(); })) return S_FALSE;
  tell_end();
  return S_OK;
}

void Watch::process_ends() {
  // Whoever has the lock may be waiting for a provider that never answers.
  const std::unique_lock guard(lock_, std::try_to_lock);
  verifier_.finish();
  tell_end();
}

}  // namespace fb::networkdirect::verifier
