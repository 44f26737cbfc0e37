// A provider that has addresses and adapters, and nothing behind them. How it behaves stands in the environment variable
// that DUMMY_VARIABLE names, read anew at every call so that it outlives being unloaded: words such as
//   addresses=127.0.0.1,::1   taken=127.0.0.1   fail=query   class=factory   unload=never
// Several modules are built from this source, each with a variable of its own.
#include <ndsupport.h>
#include <ws2tcpip.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

namespace {

std::atomic<LONG> objects{0};
std::atomic<unsigned> size_queries{0};

std::string word(const std::string& name) {
  const char* value = std::getenv(DUMMY_VARIABLE);
  const std::string all = value == nullptr ? std::string() : ' ' + std::string(value) + ' ';
  const std::size_t at = all.find(' ' + name + '=');
  if (at == std::string::npos) return {};
  const std::size_t begin = at + name.size() + 2;
  return all.substr(begin, all.find(' ', begin) - begin);
}

std::vector<std::string> list(const std::string& name) {
  std::vector<std::string> found;
  std::string text = word(name);
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    found.push_back(text.substr(0, comma));
    text = comma == std::string::npos ? std::string() : text.substr(comma + 1);
  }
  return found;
}

SOCKADDR_INET parse(const std::string& text) {
  SOCKADDR_INET address = {};
  if (text.find(':') == std::string::npos) {
    address.Ipv4.sin_family = AF_INET;
    inet_pton(AF_INET, text.c_str(), &address.Ipv4.sin_addr);
  } else {
    address.Ipv6.sin6_family = AF_INET6;
    inet_pton(AF_INET6, text.c_str(), &address.Ipv6.sin6_addr);
  }
  return address;
}

bool same(const SOCKADDR_INET& a, const sockaddr* b) {
  if (a.si_family != b->sa_family) return false;
  const auto* other = reinterpret_cast<const SOCKADDR_INET*>(b);
  return a.si_family == AF_INET ? std::memcmp(&a.Ipv4.sin_addr, &other->Ipv4.sin_addr, 4) == 0
                                : std::memcmp(&a.Ipv6.sin6_addr, &other->Ipv6.sin6_addr, 16) == 0;
}

template <class Interface>
class Counted : public Interface {
 public:
  Counted() { ++objects; }
  virtual ~Counted() { --objects; }
  HRESULT STDMETHODCALLTYPE QueryInterface(REFIID, void** out) override {
    *out = this;
    AddRef();
    return S_OK;
  }
  ULONG STDMETHODCALLTYPE AddRef() override { return ++references_; }
  ULONG STDMETHODCALLTYPE Release() override {
    const ULONG left = --references_;
    if (left == 0) delete this;
    return left;
  }

 private:
  std::atomic<ULONG> references_{1};
};

class Adapter final : public Counted<IUnknown> {};

class Provider final : public Counted<IND2Provider> {
 public:
  HRESULT STDMETHODCALLTYPE QueryAddressList(SOCKET_ADDRESS_LIST* out, ULONG* bytes) override {
    if (word("fail") == "query") return ND_INSUFFICIENT_RESOURCES;
    std::vector<std::string> texts = list("addresses");
    // One address more each time that it is asked, for three times.
    const unsigned asked = size_queries++;
    if (word("fail") == "grow") texts.resize(std::min(asked + 1, 4u), "10.0.0.1");
    const std::size_t head = sizeof(SOCKET_ADDRESS_LIST) + texts.size() * sizeof(SOCKET_ADDRESS);
    const auto needed = static_cast<ULONG>(head + texts.size() * sizeof(SOCKADDR_INET));
    if (word("fail") == "endless" || out == nullptr || *bytes < needed) {
      *bytes = word("fail") == "endless" ? *bytes + 100 : needed;
      return ND_BUFFER_OVERFLOW;
    }
    *bytes = needed;
    out->iAddressCount = static_cast<INT>(texts.size());
    auto* addresses = reinterpret_cast<SOCKADDR_INET*>(reinterpret_cast<char*>(out) + head);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      addresses[i] = parse(texts[i]);
      const bool four = addresses[i].si_family == AF_INET;
      // Nonsense among good addresses: another family, none at all, too short.
      if (texts[i] == "odd") addresses[i].si_family = AF_UNIX;
      SOCKET_ADDRESS entry = {reinterpret_cast<sockaddr*>(&addresses[i]), four ? INT{sizeof(SOCKADDR_IN)} : INT{sizeof(SOCKADDR_IN6)}};
      if (texts[i] == "none") entry.lpSockaddr = nullptr;
      if (texts[i] == "short") entry.iSockaddrLength = 3;
      std::memcpy(&out->Address[0] + i, &entry, sizeof(entry));
    }
    return ND_SUCCESS;
  }
  HRESULT STDMETHODCALLTYPE ResolveAddress(const sockaddr* address, ULONG, UINT64* id) override {
    const auto texts = list("addresses");
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (!same(parse(texts[i]), address)) continue;
      *id = i;
      return word("fail") == "resolve" ? ND_NO_MEMORY : ND_SUCCESS;
    }
    return ND_INVALID_ADDRESS;
  }
  HRESULT STDMETHODCALLTYPE OpenAdapter(REFIID iid, UINT64 id, void** out) override {
    if (!(iid == IID_IND2Adapter)) return E_NOINTERFACE;
    if (word("fail") == "open") return ND_INSUFFICIENT_RESOURCES;
    const auto addresses = list("addresses");
    for (const std::string& taken : list("taken")) {
      if (id < addresses.size() && addresses[id] == taken) return ND_SHARING_VIOLATION;
    }
    *out = static_cast<IUnknown*>(new Adapter);
    return ND_SUCCESS;
  }
};

class Factory final : public Counted<IClassFactory> {
 public:
  HRESULT STDMETHODCALLTYPE CreateInstance(IUnknown*, REFIID iid, void** out) override {
    if (!(iid == IID_IND2Provider)) return E_NOINTERFACE;
    *out = static_cast<IND2Provider*>(new Provider);
    return S_OK;
  }
  HRESULT STDMETHODCALLTYPE LockServer(BOOL) override { return S_OK; }
};

}  // namespace

HRESULT DllGetClassObject(REFCLSID id, REFIID iid, void** out) {
  const std::string only = word("id");
  if (word("fail") == "class" || (!only.empty() && std::strtoul(only.c_str(), nullptr, 16) != id.Data1)) return CLASS_E_CLASSNOTAVAILABLE;
  if (word("fail") == "nothing") return S_OK;
  if (iid == IID_IND2Provider && word("class") != "factory") {
    *out = static_cast<IND2Provider*>(new Provider);
    return S_OK;
  }
  if (iid == IID_IClassFactory && word("class") != "direct") {
    *out = static_cast<IClassFactory*>(new Factory);
    return S_OK;
  }
  return E_NOINTERFACE;
}

HRESULT DllCanUnloadNow() { return objects == 0 && word("unload") != "never" ? S_OK : S_FALSE; }
