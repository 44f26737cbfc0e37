// Stands between a consumer and any provider of NDK, and judges the consumer. Every object that the consumer sees is a
// wrapper with tables of its own; calls go on to the provider and come back with its status, callbacks come through here.
//
//   verifier::Verifier verifier(kernel, {}, sink);
//   NDK_ADAPTER& watched = verifier.wrap(*adapter);
//   ... the consumer uses `watched` ...
//   verifier.close(watched, [&](NDK_ADAPTER& inner) { provider.close(&inner); });
//
// What a provider need not survive is not passed on: null where something must be, objects that are closed, of another
// adapter or nobody's, mappings that are not there, functions that came later. Such calls get STATUS_INVALID_PARAMETER or
// STATUS_INVALID_HANDLE, a second close STATUS_SUCCESS.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <ndisndk.h>

#include "networkdirect/ndk/kernel/kernel.h"
#include "networkdirect/ndk/verifier/rules.h"

namespace fb::ndk::verifier {

struct Finding {
  const RuleEntry* rule;
  std::string text;    ///< what was seen, with its numbers
  std::string object;  ///< as "queue pair 3": objects are counted from 1 as they are made
  std::uint64_t call;  ///< calls of the interface are counted from 1, over all objects
};

class FindingSink {
 public:
  virtual ~FindingSink() = default;
  /// From inside the call that is judged. It must not call the interface.
  virtual void found(const Finding& finding) = 0;
};

struct VerifierOptions {
  std::set<Rule> without;    ///< rules that are left out
  std::size_t repeats = 16;  ///< how often one rule may be found on one object
};

struct Leak {
  std::string kind;  ///< as "queue pair"
  std::size_t objects;
};

class Session;

/// One consumer's use of one or more providers, in a world of one thread. Wrappers stay in memory, closed or not, until the
/// verifier goes: it outlives all calls and callbacks. The kernel outlives it.
class Verifier {
 public:
  Verifier(Kernel& kernel, const VerifierOptions& options, FindingSink& sink);
  ~Verifier();
  Verifier(const Verifier&) = delete;
  Verifier& operator=(const Verifier&) = delete;

  /// An adapter that was opened, for the consumer.
  NDK_ADAPTER& wrap(NDK_ADAPTER& inner);
  /// The consumer closes the adapter: `close_inner` does it and returns when the provider is done. Findings, and a list, of what
  /// was not closed even then.
  std::vector<Leak> close(NDK_ADAPTER& adapter, const std::function<void(NDK_ADAPTER& inner)>& close_inner);
  /// What a registry of miniports is given in place of a provider's own: adapters opened there are wrapped.
  struct Handlers {
    NDIS_NDK_PROVIDER_CHARACTERISTICS characteristics;
    NDIS_HANDLE context;
  };
  Handlers wrap(const NDIS_NDK_PROVIDER_CHARACTERISTICS& inner, NDIS_HANDLE context);
  /// The consumer says that it is done: findings, and a list, of adapters that it has not closed and what is left on them.
  std::vector<Leak> finish();
  /// Objects that the consumer has not closed, adapters aside.
  std::size_t living_objects() const;
  std::uint64_t calls() const;

 private:
  std::unique_ptr<Session> session_;
};

}  // namespace fb::ndk::verifier
