// What the verifier remembers of each object, under the session's lock. Requests refer to these after the objects themselves
// are gone.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <ndspi.h>

namespace fb::networkdirect::verifier {

struct RegionState {
  enum class Phase : std::uint8_t { empty, registering, registered };
  std::uint64_t number = 0;
  Phase phase = Phase::empty;
  const std::uint8_t* memory = nullptr;
  SIZE_T bytes = 0;
  ULONG flags = 0;
  UINT32 local_token = 0;
  bool token_known = false;
  unsigned uses = 0;       ///< by requests that are outstanding
  unsigned windows = 0;    ///< bound in it
  unsigned lingering = 0;  ///< bound windows that were released, or whose connection is over: the provider may hold them still

  bool covers(const void* buffer, SIZE_T length) const {
    const auto first = reinterpret_cast<std::uintptr_t>(memory), at = reinterpret_cast<std::uintptr_t>(buffer);
    return at >= first && length <= bytes && at - first <= bytes - length;
  }
};

struct AdapterState {
  std::uint64_t number = 0;
  bool info_known = false;
  ND2_ADAPTER_INFO info = {};
  std::set<HANDLE> files;
  std::map<std::string, std::uint64_t> attempts;          ///< to connect: from which port to where, and which connector's
  std::map<UINT32, std::shared_ptr<RegionState>> tokens;  ///< local ones, of deregistered regions too
  std::size_t children = 0;                               ///< living objects
};

struct QueueState {
  std::uint64_t number = 0;
  ULONG depth = 0;
  std::uint64_t expected = 0;  ///< results that outstanding requests may bring
  bool called_shallow = false;
  std::size_t queue_pairs = 0;
};

/// A queue of receives: a queue pair's own or a shared one.
struct ReceiveState {
  ULONG depth = 0;
  ULONG sges = 0;
  std::uint64_t outstanding = 0;
};

struct WindowState;

struct QueuePairState {
  enum class Link : std::uint8_t { fresh, attached, ended };
  std::uint64_t number = 0;
  void* context = nullptr;
  std::shared_ptr<QueueState> receive_queue, initiator_queue;
  std::shared_ptr<ReceiveState> receives;
  bool shared = false;
  ULONG initiator_depth = 0;
  ULONG initiator_sges = 0;
  ULONG inline_bytes = 0;
  Link link = Link::fresh;
  std::uint64_t connector = 0;  ///< that it is attached to
  bool ever_attached = false;
  bool no_reads = false;               ///< the consumer gave an outbound read limit of zero
  bool failed = false;                 ///< a result that failed has been taken
  bool agreed_bare = false;            ///< Accept or CompleteConnect was called, and there was no Receive
  std::set<std::uint64_t> initiators;  ///< outstanding, in the order in which they were posted
  std::set<std::uint64_t> posted;      ///< all that are outstanding
  std::vector<std::shared_ptr<WindowState>> windows;
};

struct WindowState {
  std::uint64_t number = 0;
  std::shared_ptr<RegionState> region;  ///< that it is bound in, or null
  std::uint64_t queue_pair = 0;
  bool lingering = false;  ///< bound for the provider alone, until the queue pair is gone

  bool bound() const { return region != nullptr && !lingering; }
  void count() {
    if (region != nullptr) ++(lingering ? region->lingering : region->windows);
  }
  void unbind() {
    if (region == nullptr) return;
    --(lingering ? region->lingering : region->windows);
    lingering = false;
    region.reset();
  }
  /// The consumer has no more to do with it.
  void linger() {
    if (!bound()) return;
    --region->windows;
    ++region->lingering;
    lingering = true;
  }
};

struct ConnectorState {
  enum class Phase : std::uint8_t {
    fresh,
    bound,
    connecting,
    replied,
    completing,
    filling,  ///< waits for a listener's request
    requested,
    accepting,
    connected,
    ended,
    spent
  };
  std::uint64_t number = 0;
  Phase phase = Phase::fresh;
  std::shared_ptr<QueuePairState> queue_pair;
  OVERLAPPED* waiting_for = nullptr;  ///< the request that ends this phase
  bool attempted = false;             ///< there has been a Connect
  bool reached = false;               ///< a connection was made, or could have been
  bool answered = false;              ///< by Accept or CompleteConnect
  bool notify_asked = false;
  std::string from, attempt;        ///< the local port as it was named; where the last Connect went, from there
  OVERLAPPED* notifying = nullptr;  ///< of the last NotifyDisconnect
  bool disconnect_asked = false;
};

/// A request that was posted: a place in a queue, memory that it uses.
struct Posted {
  std::shared_ptr<QueuePairState> queue_pair;  ///< null for a shared queue's
  std::shared_ptr<ReceiveState> receives;      ///< null for an initiator's
  ND2_REQUEST_TYPE type = Nd2RequestTypeSend;
  bool silent = false;
  bool counted = false;  ///< among its completion queue's expected results
  bool uses_memory = true;
  void* context = nullptr;
  std::vector<std::shared_ptr<RegionState>> regions;
  std::shared_ptr<WindowState> window;
};

class Wrapper;

enum class Method : std::uint8_t {
  notify,
  register_memory,
  deregister,
  connect,
  complete_connect,
  accept,
  notify_disconnect,
  disconnect,
  get_connection_request
};

/// What an OVERLAPPED was last used for.
struct Request {
  enum class Fate : std::uint8_t { in_call, pending, succeeded_in_call, failed, ended };
  Wrapper* object = nullptr;
  Method method = Method::notify;
  Fate fate = Fate::in_call;
  HANDLE event = nullptr;
  std::uint64_t call = 0;
  std::shared_ptr<RegionState> region;
  std::shared_ptr<ConnectorState> connector;
};

}  // namespace fb::networkdirect::verifier
