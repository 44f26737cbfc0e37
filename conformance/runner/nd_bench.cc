#include "conformance/runner/nd_bench.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <mutex>

#if !defined(_WIN32)
#include <dlfcn.h>
#endif
#include <fmt/format.h>
#include <ndsupport.h>
#include <ws2tcpip.h>

#include "conformance/runner/nd_names.h"
#include "conformance/runner/nd_simulated.h"
#include "networkdirect/ndutil/catalogue.h"
#include "networkdirect/provider/provider.h"

namespace fb::conformance {

namespace nd = networkdirect;

namespace {

void arrange(HRESULT status, std::string_view call) {
  if (status != ND_SUCCESS && status != ND_PENDING) {
    throw CannotArrange{std::string(call) + " answered " + words(NdStatus(status))};
  }
}

}  // namespace

std::string words(NdStatus status) {
  const std::string_view name = nd_status_name(status.code);
  if (!name.empty()) return std::string(name);
  return fmt::format("0x{:08X}", static_cast<std::uint32_t>(status.code));
}

// ---------------------------------------------------------------- addresses

NdAddress::NdAddress(const IpAddress& address, std::uint16_t port) {
  if (address.is_v4()) {
    auto* to = reinterpret_cast<sockaddr_in*>(&storage_);
    to->sin_family = AF_INET;
    to->sin_port = htons(port);
    std::memcpy(&to->sin_addr, &address.bytes()[12], 4);
    length_ = sizeof *to;
  } else {
    auto* to = reinterpret_cast<sockaddr_in6*>(&storage_);
    to->sin6_family = AF_INET6;
    to->sin6_port = htons(port);
    std::memcpy(&to->sin6_addr, address.bytes().data(), 16);
    length_ = sizeof *to;
  }
}

std::uint16_t NdAddress::port() const {
  const bool v6 = get()->sa_family == AF_INET6;
  return ntohs(v6 ? reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_port
                  : reinterpret_cast<const sockaddr_in*>(&storage_)->sin_port);
}

IpAddress NdAddress::address() const {
  std::array<std::uint8_t, 16> bytes = {};
  if (get()->sa_family == AF_INET6) {
    std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_addr, 16);
    return IpAddress::v6(bytes);
  }
  std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in*>(&storage_)->sin_addr, 4);
  return IpAddress::v4(bytes[0], bytes[1], bytes[2], bytes[3]);
}

// ---------------------------------------------------------------- requests

NdRequest::NdRequest() : overlapped_(std::make_unique<OVERLAPPED>()) {}

NdRequest::~NdRequest() {
  if (!pending()) return;
  static std::mutex lock;
  static std::vector<std::unique_ptr<OVERLAPPED>> never_ended;
  const std::lock_guard held(lock);
  never_ended.push_back(std::move(overlapped_));
}

// ---------------------------------------------------------------- the two kinds of product

namespace {

std::vector<IpAddress> addresses_of(IND2Provider& provider) {
  ULONG bytes = 0;
  provider.QueryAddressList(nullptr, &bytes);
  std::vector<std::uint64_t> room(bytes / 8 + 1);
  auto* list = reinterpret_cast<SOCKET_ADDRESS_LIST*>(room.data());
  std::vector<IpAddress> found;
  if (provider.QueryAddressList(list, &bytes) != ND_SUCCESS) return found;
  for (INT i = 0; i < list->iAddressCount; ++i) {
    SOCKET_ADDRESS entry;
    // As bytes: the structure declares one entry.
    const std::size_t at = offsetof(SOCKET_ADDRESS_LIST, Address) + static_cast<std::size_t>(i) * sizeof entry;
    std::memcpy(&entry, reinterpret_cast<const char*>(list) + at, sizeof entry);
    NdAddress address;
    const auto length = static_cast<std::size_t>(entry.iSockaddrLength);
    std::memcpy(address.room(), entry.lpSockaddr, std::min<std::size_t>(length, address.capacity()));
    found.push_back(address.address());
  }
  return found;
}

bool is_loopback(const IpAddress& address) { return address.is_v4() ? address.bytes()[12] == 127 : to_string(address) == "::1"; }

/// The one that the user names, twice; or the first and the next that it can reach, or itself.
std::pair<IpAddress, IpAddress> two_of(const std::vector<IpAddress>& addresses, const IpAddress& named) {
  if (addresses.empty()) throw CannotArrange{"the provider has no address"};
  if (named != IpAddress()) {
    if (std::ranges::find(addresses, named) == addresses.end()) throw UserError("the provider has no adapter at " + to_string(named));
    return {named, named};
  }
  const IpAddress& first = addresses.front();
  for (const IpAddress& other : addresses) {
    const bool reached = other.is_v4() == first.is_v4() && is_loopback(other) == is_loopback(first);
    if (other != first && reached) return {first, other};
  }
  return {first, first};
}

}  // namespace

namespace {

bool same_file(const std::wstring& a, const std::wstring& b) {
  std::error_code none;
  return std::filesystem::equivalent(a, b, none);
}

/// Why the last library could not be loaded, where the system says so.
std::string loader_words() {
#if !defined(_WIN32)
  if (const char* const why = dlerror()) return ": " + std::string(why);
#endif
  return {};
}

}  // namespace

/// A provider's library.
struct NdBench::Loaded {
  explicit Loaded(const std::string& path) : name(path.begin(), path.end()), module(LoadLibraryExW(name.c_str(), nullptr, 0)) {
    if (module == nullptr) throw UserError(path + ": it cannot be loaded as a library" + loader_words());
    get_class_object = reinterpret_cast<ND_DLL_GET_CLASS_OBJECT>(reinterpret_cast<void*>(GetProcAddress(module, "DllGetClassObject")));
    if (get_class_object == nullptr) throw UserError(path + ": it exports no DllGetClassObject");
    id = ndutil::default_provider_id(name);
    const auto catalogue = ndutil::read_catalogue();
    for (const auto& entry : catalogue.value_or(std::vector<ndutil::ProviderEntry>())) {
      if (entry.catalogued && same_file(entry.library, name)) id = entry.id;
    }
  }
  /// It stays where it is unless it says that it may go: its threads may run in it.
  ~Loaded() {
    const auto may_go = reinterpret_cast<ND_DLL_CAN_UNLOAD_NOW>(reinterpret_cast<void*>(GetProcAddress(module, "DllCanUnloadNow")));
    if (may_go != nullptr && may_go() == S_OK) FreeLibrary(module);
  }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
  std::wstring name;
  HMODULE module;
  GUID id;  // the class by which it is catalogued, or would be
  ND_DLL_GET_CLASS_OBJECT get_class_object = nullptr;
};

void check_provider(const Product& product) {
  const NdBench::Loaded library(product.path);
  NdRef<IND2Provider> provider;
  const NdStatus status = library.get_class_object(library.id, IID_IND2Provider, provider.out());
  if (status != ND_SUCCESS) throw UserError(product.path + ": DllGetClassObject answered " + words(status));
  const std::vector<IpAddress> addresses = addresses_of(*provider);
  if (addresses.empty()) throw UserError(product.path + ": the provider has no adapter");
  two_of(addresses, product.local.address);
}

NdBench::NdBench(World& world, const Environment& environment, const NdTerms& terms) : world_(world) {
  const Product& product = *environment.product;
  if (product.embedded) {
    simulated_ = make_simulated(world, environment, memory_, terms);
    arrange(nd::make_provider(simulated_->fabric(), IID_IND2Provider, provider_.out()), "DllGetClassObject");
  } else {
    loaded_ = std::make_unique<Loaded>(product.path);
    arrange(loaded_->get_class_object(loaded_->id, IID_IND2Provider, provider_.out()), "DllGetClassObject");
  }
  auto addresses = addresses_of(*provider_);
  if (terms.ipv6) {
    std::erase_if(addresses, [](const IpAddress& address) { return address.is_v4(); });
    if (addresses.empty()) throw CannotArrange{"the provider has no IPv6 address"};
  }
  const bool named = !terms.ipv6 || !product.local.address.is_v4();
  const auto [first, second] = two_of(addresses, named ? product.local.address : IpAddress());
  a_ = std::make_unique<NdEnd>(*this, *provider_, first);
  b_ = std::make_unique<NdEnd>(*this, *provider_, second);
}

NdBench::~NdBench() = default;

bool NdBench::step(Instant limit) {
  if (simulated_ != nullptr) return world_.step_towards(limit) == Loop::Step::ran;
  world_.run_for(Duration::ms(1));  // the provider runs by itself
  return true;
}

void NdBench::pass(Duration time) { world_.run_for(time); }

NdStatus NdBench::finish(HRESULT called, NdRequest& request, IND2Overlapped& on, Duration limit) {
  if (called != ND_PENDING) return called;
  wait_until([&] { return !request.pending(); }, limit);
  return on.GetOverlappedResult(&request, FALSE);
}

std::optional<ND2_RESULT> NdBench::result(NdConnection::Side& side, Duration limit) {
  const auto look = [&] {
    if (!side.results.empty()) return true;
    ND2_RESULT taken[8];
    const ULONG count = side.queue->GetResults(taken, 8);
    side.results.insert(side.results.end(), taken, taken + std::min<ULONG>(count, 8));
    return !side.results.empty();
  };
  if (!wait_until(look, limit)) return std::nullopt;
  const ND2_RESULT first = side.results.front();
  side.results.pop_front();
  return first;
}

bool NdBench::quiet(NdConnection::Side& side, Duration span) { return !result(side, span); }

// ---------------------------------------------------------------- an end

NdEnd::NdEnd(NdBench& bench, IND2Provider& provider, const IpAddress& address) : bench_(bench), address_(address) {
  const NdAddress at(address);
  UINT64 id = 0;
  arrange(provider.ResolveAddress(at.get(), at.length(), &id), "ResolveAddress");
  arrange(provider.OpenAdapter(IID_IND2Adapter, id, adapter_.out()), "OpenAdapter");
  arrange(adapter_->CreateOverlappedFile(&file_), "CreateOverlappedFile");
  port_ = CreateIoCompletionPort(file_, nullptr, 1, 0);
  if (port_ == nullptr) throw CannotArrange{"the overlapped file takes no completion port"};
}

NdEnd::~NdEnd() {
  CloseHandle(file_);
  CloseHandle(port_);
}

ND2_ADAPTER_INFO NdEnd::info() {
  ND2_ADAPTER_INFO info = {};
  info.InfoVersion = ND_VERSION_2;
  ULONG bytes = sizeof info;
  arrange(adapter_->Query(&info, &bytes), "IND2Adapter::Query");
  return info;
}

NdRef<IND2CompletionQueue> NdEnd::completion_queue(ULONG depth) {
  NdRef<IND2CompletionQueue> made;
  arrange(adapter_->CreateCompletionQueue(IID_IND2CompletionQueue, file_, depth, 0, 0, made.out()), "CreateCompletionQueue");
  return made;
}

NdRef<IND2MemoryRegion> NdEnd::empty_region() {
  NdRef<IND2MemoryRegion> made;
  arrange(adapter_->CreateMemoryRegion(IID_IND2MemoryRegion, file_, made.out()), "CreateMemoryRegion");
  return made;
}

std::unique_ptr<NdMemory> NdEnd::memory(std::size_t bytes, ULONG flags) {
  auto made = std::make_unique<NdMemory>();
  made->bytes = bench_.memory().take(bytes);
  for (std::size_t i = 0; i < bytes; ++i) made->bytes[i] = static_cast<std::uint8_t>(i);
  made->region = empty_region();
  NdRequest request;
  const NdStatus status = bench_.finish(made->region->Register(made->bytes.data(), bytes, flags, &request), request, *made->region);
  arrange(status.code, "IND2MemoryRegion::Register");
  packets();
  return made;
}

NdRef<IND2MemoryWindow> NdEnd::window() {
  NdRef<IND2MemoryWindow> made;
  arrange(adapter_->CreateMemoryWindow(IID_IND2MemoryWindow, made.out()), "CreateMemoryWindow");
  return made;
}

NdRef<IND2QueuePair> NdEnd::queue_pair(IND2CompletionQueue& queue, const NdQueueTerms& terms) {
  NdRef<IND2QueuePair> made;
  if (terms.shared == nullptr) {
    arrange(adapter_->CreateQueuePair(IID_IND2QueuePair, &queue, &queue, terms.context, terms.depth, terms.depth, terms.sges, terms.sges,
                                      terms.inline_bytes, made.out()),
            "CreateQueuePair");
  } else {
    arrange(adapter_->CreateQueuePairWithSrq(IID_IND2QueuePair, &queue, &queue, terms.shared, terms.context, terms.depth, terms.sges,
                                             terms.inline_bytes, made.out()),
            "CreateQueuePairWithSrq");
  }
  return made;
}

NdRef<IND2Connector> NdEnd::connector() {
  NdRef<IND2Connector> made;
  arrange(adapter_->CreateConnector(IID_IND2Connector, file_, made.out()), "CreateConnector");
  return made;
}

NdRef<IND2Connector> NdEnd::bound_connector() {
  NdRef<IND2Connector> made = connector();
  const NdAddress at(address_);
  arrange(made->Bind(at.get(), at.length()), "IND2Connector::Bind");
  return made;
}

NdRef<IND2Listener> NdEnd::listener(std::uint16_t port, ULONG backlog) {
  NdRef<IND2Listener> made;
  arrange(adapter_->CreateListener(IID_IND2Listener, file_, made.out()), "CreateListener");
  const NdAddress at(address_, port);
  arrange(made->Bind(at.get(), at.length()), "IND2Listener::Bind");
  arrange(made->Listen(backlog), "IND2Listener::Listen");
  return made;
}

NdRef<IND2SharedReceiveQueue> NdEnd::shared_receive_queue(ULONG depth, ULONG threshold) {
  if (info().MaxSharedReceiveQueueDepth == 0) throw CannotArrange{"the adapter has no shared receive queues"};
  NdRef<IND2SharedReceiveQueue> made;
  arrange(adapter_->CreateSharedReceiveQueue(IID_IND2SharedReceiveQueue, file_, depth, 2, threshold, 0, 0, made.out()),
          "CreateSharedReceiveQueue");
  return made;
}

std::vector<NdPacket> NdEnd::packets(std::size_t least) {
  std::vector<NdPacket> found;
  const auto look = [&] {
    for (;;) {
      DWORD bytes = 0;
      ULONG_PTR key = 0;
      OVERLAPPED* overlapped = nullptr;
      const BOOL good = GetQueuedCompletionStatus(port_, &bytes, &key, &overlapped, 0);
      if (overlapped == nullptr) return found.size() >= least;
      found.push_back({good != FALSE, overlapped});
    }
  };
  bench_.wait_until(look);
  return found;
}

// ---------------------------------------------------------------- connections

std::unique_ptr<NdConnection> NdBench::prepare(const NdConnectTerms& terms) {
  auto made = std::make_unique<NdConnection>();
  for (auto [side, end, queue] : {std::tuple{&made->a, a_.get(), &terms.a}, std::tuple{&made->b, b_.get(), &terms.b}}) {
    side->end = end;
    side->queue = end->completion_queue(terms.queue_depth);
    side->memory = end->memory();
    side->qp = end->queue_pair(*side->queue, *queue);
  }
  made->a.connector = a_->bound_connector();
  made->b.connector = b_->connector();
  made->port = fresh_port();
  made->listener = b_->listener(made->port);
  return made;
}

std::unique_ptr<NdConnection> NdBench::ask(const NdConnectTerms& terms) {
  auto made = prepare(terms);
  const NdAddress to(b_->address(), made->port);
  arrange(made->a.connector->Connect(made->a.qp.get(), to.get(), to.length(), terms.reads, terms.reads, terms.request_data.data(),
                                     static_cast<ULONG>(terms.request_data.size()), &made->connecting),
          "IND2Connector::Connect");
  NdRequest request;
  const NdStatus status = finish(made->listener->GetConnectionRequest(made->b.connector.get(), &request), request, *made->listener);
  arrange(status.code, "GetConnectionRequest");
  return made;
}

std::unique_ptr<NdConnection> NdBench::reply(const NdConnectTerms& terms) {
  auto made = ask(terms);
  arrange(made->b.connector->Accept(made->b.qp.get(), terms.reads, terms.reads, terms.reply_data.data(),
                                    static_cast<ULONG>(terms.reply_data.size()), &made->accepting),
          "IND2Connector::Accept");
  arrange(finish(ND_PENDING, made->connecting, *made->a.connector).code, "IND2Connector::Connect");
  return made;
}

std::unique_ptr<NdConnection> NdBench::connect(const NdConnectTerms& terms) {
  auto made = reply(terms);
  NdRequest request;
  arrange(finish(made->a.connector->CompleteConnect(&request), request, *made->a.connector).code, "CompleteConnect");
  arrange(finish(ND_PENDING, made->accepting, *made->b.connector).code, "IND2Connector::Accept");
  a_->packets();
  b_->packets();
  return made;
}

}  // namespace fb::conformance
