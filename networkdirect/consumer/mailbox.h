// The asynchronous calls of a device: one overlapped file and one completion port for all of them. A call whose end is
// waited for stands apart: its packet is suppressed.
#pragma once

#include <ndspi.h>

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "networkdirect/consumer/networkdirect_device.h"
#include "networkdirect/consumer/port_events.h"
#include "networkdirect/win32/port_watch.h"

namespace fb::networkdirect::consumer {

class RequestOwner;

/// One call that was made. Its memory belongs to the mailbox and stays until the provider has ended it.
struct Request : OVERLAPPED {
  Request() : OVERLAPPED{} {}
  RequestOwner* owner = nullptr;     ///< null: nobody wants to know
  IND2Overlapped* object = nullptr;  ///< to ask for the result; null when nobody wants to know
  unsigned what = 0;
  bool pending = false;
  HRESULT status = ND_SUCCESS;  ///< of one that ended within the call
  Request* previous = nullptr;  ///< of the same owner
  Request* next = nullptr;
};

/// Whoever makes calls. When it is destroyed, their ends are heard by nobody.
class RequestOwner {
 public:
  RequestOwner(const RequestOwner&) = delete;
  RequestOwner& operator=(const RequestOwner&) = delete;

 protected:
  RequestOwner() = default;
  ~RequestOwner() { forget_requests(); }
  /// Nobody is told of the calls made so far. Before the object that they were made on is released.
  void forget_requests();

 private:
  friend class Mailbox;
  /// From the loop, once a call. May destroy the owner and the device.
  virtual void on_done(unsigned what, HRESULT status) = 0;
  Request* first_ = nullptr;
};

class Mailbox {
 public:
  /// Throws UserError when the adapter gives no file.
  static Mailbox* open(World& world, IND2Adapter& adapter, ConsumerHooks* hooks);
  /// The device is gone: frees itself, at once or when the provider has ended the last request.
  void abandon();

  HANDLE file() const { return file_; }

  /// Makes a call, `call(OVERLAPPED*)`, on `object`; its end goes to on_done(what), later and from the loop, even when it
  /// ended within the call.
  template <class Call>
  void start(RequestOwner& owner, IND2Overlapped& object, unsigned what, Call&& call) {
    begun(prepare(&owner, &object, what), std::forward<Call>(call));
  }
  /// A call of whose end nobody hears; its object may be released at once.
  template <class Call>
  void start_unheard(Call&& call) {
    begun(prepare(nullptr, nullptr, 0), std::forward<Call>(call));
  }
  /// Makes a call and waits for its end. ND_PENDING: the provider lives in this world and cannot end it while we wait.
  template <class Call>
  HRESULT wait(IND2Overlapped& object, Call&& call) {
    if (departs("wait.without_event")) {
      Request& bare = prepare(nullptr, nullptr, 0);
      const HRESULT status = call(static_cast<OVERLAPPED*>(&bare));
      settle(bare, status);
      return status == ND_PENDING ? object.GetOverlappedResult(&bare, TRUE) : status;
    }
    auto request = idle_ != nullptr ? std::move(idle_) : std::make_unique<OVERLAPPED>();
    *request = {};
    request->hEvent = quiet_event_;
    const HRESULT status = call(request.get());
    return wait_for(object, std::move(request), status);
  }

 private:
  Mailbox(World& world, ConsumerHooks* hooks);
  ~Mailbox();
  bool departs(std::string_view point) const { return hooks_ != nullptr && hooks_->departs(point); }

  Request& prepare(RequestOwner* owner, IND2Overlapped* object, unsigned what);
  template <class Call>
  void begun(Request& request, Call&& call) {
    const HRESULT status = call(static_cast<OVERLAPPED*>(&request));
    settle(request, status);
    if (request.pending) depart_pending(request, [&](OVERLAPPED* o) { return call(o); });
  }
  void settle(Request& request, HRESULT status);
  template <class Again>
  void depart_pending(Request& request, Again&& again) {
    if (departs("overlapped.reused")) again(&request);
    if (request.object != nullptr && departs("overlapped.overwritten")) {
      request.hEvent = reinterpret_cast<HANDLE>(std::uintptr_t{0x7FFF0000});
      request.object->GetOverlappedResult(&request, FALSE);
    }
  }
  HRESULT wait_for(IND2Overlapped& object, std::unique_ptr<OVERLAPPED> request, HRESULT status);
  void retire(Request& request);
  void depart_before_result(Request& request);

  void empty();
  bool deliver(Request& request, HRESULT status);

  ConsumerHooks* hooks_;
  HANDLE file_ = nullptr;
  HANDLE port_ = nullptr;
  HANDLE event_ = nullptr;
  HANDLE quiet_event_ = nullptr;  // the same, marked to suppress packets
  std::deque<Request> requests_;
  std::vector<Request*> free_;
  std::deque<Request*> ended_;  // within the call, not delivered yet
  std::unique_ptr<OVERLAPPED> idle_;
  std::vector<std::unique_ptr<OVERLAPPED>> stuck_;
  std::size_t pending_ = 0;
  bool* alive_ = nullptr;  // of empty(): false when a call in it has abandoned the mailbox

  std::unique_ptr<PortEvents> events_;  // as long as there is a device
  std::unique_ptr<win32::PortWatch> watch_;
};

}  // namespace fb::networkdirect::consumer
