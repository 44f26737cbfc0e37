// Stands between a consumer and any provider of NetworkDirect SPI version 2, and judges the consumer. Every object that the
// consumer sees is a wrapper; calls go on to the provider and come back with its status, OVERLAPPEDs reach it as they are, so
// that completions go straight to the consumer's port. Threads may call as they like; no lock is held in a provider's call.
//
// What a provider need not survive is not passed on: null where an object or an OVERLAPPED must be, objects that are released,
// of another adapter or nobody's, anything on a released object. The caller gets ND_INVALID_PARAMETER(_n) or ND_INVALID_HANDLE.
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <ndspi.h>

#include "networkdirect/verifier/rules.h"

namespace fb::networkdirect::verifier {

struct Finding {
  const RuleEntry* rule;
  std::string text;    ///< what was seen, with its numbers
  std::string object;  ///< as "queue pair 3": objects are counted from 1 as they are made
  std::uint64_t call;  ///< calls of the interface are counted from 1, over all objects
};

class FindingSink {
 public:
  virtual ~FindingSink() = default;
  /// On the thread of the call that is judged, when it is over; never two at once. It must not call the interface.
  virtual void found(const Finding& finding) = 0;
};

struct VerifierOptions {
  std::set<Rule> without;    ///< rules that are left out
  std::size_t repeats = 16;  ///< how often one rule may be found on one object
};

/// How often a method was called on objects of one kind.
struct Called {
  std::string kind;    ///< as "queue pair"
  std::string method;  ///< as "CompleteConnect"
  std::uint64_t calls = 0;
  std::uint64_t pending = 0;  ///< of those, how many returned ND_PENDING
};

struct Leak {
  std::string kind;  ///< as "queue pair"
  std::size_t objects;
};

class Session;

/// One consumer's use of one or more providers. Wrappers stay in memory, released or not, until the verifier goes: it outlives
/// all calls, and goes before the libraries of the providers do. It then lets go of what the consumer has not.
class Verifier {
 public:
  Verifier(const VerifierOptions& options, FindingSink& sink);
  ~Verifier();
  Verifier(const Verifier&) = delete;
  Verifier& operator=(const Verifier&) = delete;

  /// `inner`, from whatever library, for the consumer: as IID_IND2Provider or IID_IUnknown, with one reference. The wrapper
  /// takes a reference of its own to `inner`.
  HRESULT wrap_provider(IND2Provider& inner, REFIID iid, VOID** out);
  /// The consumer says that it is done: findings, and a list, of the objects that it has not released, by their kinds.
  std::vector<Leak> finish();
  /// Objects that the consumer has not released; none: a library may be unloaded.
  std::size_t living_objects() const;
  std::uint64_t calls() const;
  /// What was called so far, by kinds and methods.
  std::vector<Called> tally() const;

 private:
  std::unique_ptr<Session> session_;
};

}  // namespace fb::networkdirect::verifier
