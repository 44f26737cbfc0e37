// What the helper library keeps between its calls: the providers, and which of them has which address. One lock guards it;
// adapters are opened outside, by providers whose libraries have a user meanwhile and therefore stay.
#pragma once

#include <memory>
#include <vector>

#include "networkdirect/ndutil/changes.h"
#include "networkdirect/ndutil/library.h"

namespace fb::ndutil {

/// Holds the lock of the state while it lives.
class Guard {
 public:
  Guard();
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
};

/// All functions but open() and can_open() are called with the lock held.
class State {
 public:
  static State& instance();

  HRESULT start();
  HRESULT stop();
  bool is_started() const { return starts_ != 0; }
  /// Unloads what has no objects. Providers and addresses are looked for anew by the next call.
  void flush();

  /// Reads anew what has changed. ND_UNSUCCESSFUL: the catalogue cannot be read.
  HRESULT refresh();
  /// Each address once, in the order of providers and of their lists.
  std::vector<Address> addresses() const;
  bool serves(const Address& address) const;
  /// Addresses for which this process has opened adapters since it started the helper library.
  const std::vector<Address>& opened() const { return opened_; }
  void note_opened(const Address& address);

  /// The first adapter that a provider of the address gives, otherwise the last one's error.
  static HRESULT open(const Address& address, REFIID iid, void** out);
  /// Opens an adapter for the address and gives it back.
  static bool can_open(const Address& address);

 private:
  struct Served {
    Address address;
    Library* library;
  };
  class Users;

  bool catalogue_differs(const std::vector<ProviderEntry>& entries) const;
  void take_over(const std::vector<ProviderEntry>& entries);
  void query_all();
  void unload_unused();

  unsigned starts_ = 0;
  bool stale_ = true;
  Changes changes_;
  std::vector<std::unique_ptr<Library>> libraries_;
  std::vector<std::unique_ptr<Library>> leaving_;  // no longer in the catalogue, but perhaps still with objects
  std::vector<Served> served_;
  std::vector<Address> opened_;
};

}  // namespace fb::ndutil
