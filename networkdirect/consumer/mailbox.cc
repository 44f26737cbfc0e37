#include "networkdirect/consumer/mailbox.h"

#include <algorithm>

#include "base/result.h"

namespace fb::networkdirect::consumer {

void RequestOwner::forget_requests() {
  for (Request* request = std::exchange(first_, nullptr); request != nullptr;) {
    Request* const next = request->next;
    request->owner = nullptr;
    request->object = nullptr;
    request->previous = request->next = nullptr;
    request = next;
  }
}

Mailbox::Mailbox(World& world, ConsumerHooks* hooks) : hooks_(hooks), events_(std::make_unique<PortEvents>(world, [this] { empty(); })) {}

Mailbox* Mailbox::open(World& world, IND2Adapter& adapter, ConsumerHooks* hooks) {
  std::unique_ptr<Mailbox, void (*)(Mailbox*)> made(new Mailbox(world, hooks), [](Mailbox* mailbox) { delete mailbox; });
  if (FAILED(adapter.CreateOverlappedFile(&made->file_))) throw UserError("the NetworkDirect adapter gives no overlapped file");
  made->port_ = CreateIoCompletionPort(made->file_, nullptr, 0, 0);
  if (made->port_ == nullptr) throw UserError("the overlapped file of the NetworkDirect adapter takes no completion port");
  made->event_ = CreateEventW(nullptr, TRUE, FALSE, nullptr);
  made->quiet_event_ = reinterpret_cast<HANDLE>(reinterpret_cast<std::uintptr_t>(made->event_) | 1);
  made->watch_ = std::make_unique<win32::PortWatch>(made->port_, &PortEvents::heard, made->events_.get());
  made->events_->follow(*made->watch_);
  return made.release();
}

Mailbox::~Mailbox() {
  events_.reset();
  watch_.reset();
  for (auto& request : stuck_) {
    // The provider never ended it, though what it was made on is long gone: it may still write there.
    if (!HasOverlappedIoCompleted(request.get())) static_cast<void>(request.release());
  }
  if (port_ != nullptr) CloseHandle(port_);
  if (event_ != nullptr) CloseHandle(event_);
  if (file_ != nullptr) CloseHandle(file_);
}

Request& Mailbox::prepare(RequestOwner* owner, IND2Overlapped* object, unsigned what) {
  if (free_.empty()) free_.push_back(&requests_.emplace_back());
  Request& request = *free_.back();
  free_.pop_back();
  static_cast<OVERLAPPED&>(request) = {};
  request.owner = owner;
  request.object = object;
  request.what = what;
  request.pending = true;
  request.previous = nullptr;
  request.next = nullptr;
  if (owner == nullptr) return request;
  request.next = owner->first_;
  if (request.next != nullptr) request.next->previous = &request;
  owner->first_ = &request;
  return request;
}

void Mailbox::settle(Request& request, HRESULT status) {
  if (status == ND_PENDING) {
    ++pending_;
    return;
  }
  // A file that skips the port on success, and a call that failed: no packet.
  if (FAILED(status) && request.object != nullptr && departs("result.of_failed_call")) {
    request.object->GetOverlappedResult(&request, FALSE);
  }
  request.pending = false;
  request.status = status;
  ended_.push_back(&request);
  events_->ring();
}

HRESULT Mailbox::wait_for(IND2Overlapped& object, std::unique_ptr<OVERLAPPED> request, HRESULT status) {
  if (status == ND_PENDING && !departs("pending.taken_for_done")) status = object.GetOverlappedResult(request.get(), TRUE);
  if (status == ND_PENDING && !HasOverlappedIoCompleted(request.get())) {
    stuck_.push_back(std::move(request));
  } else {
    idle_ = std::move(request);
  }
  return status;
}

void Mailbox::retire(Request& request) {
  if (request.owner != nullptr) {
    (request.previous != nullptr ? request.previous->next : request.owner->first_) = request.next;
    if (request.next != nullptr) request.next->previous = request.previous;
  }
  request.owner = nullptr;
  request.pending = false;
  free_.push_back(&request);
}

/// False when the mailbox was abandoned in it.
bool Mailbox::deliver(Request& request, HRESULT status) {
  RequestOwner* const owner = request.owner;
  const unsigned what = request.what;
  retire(request);
  if (owner == nullptr) return true;
  bool alive = true;
  bool* const outer = std::exchange(alive_, &alive);
  owner->on_done(what, status);
  if (alive) {
    alive_ = outer;
  } else if (outer != nullptr) {
    *outer = false;
  }
  return alive;
}

/// Asks where there is nothing to ask for.
void Mailbox::depart_before_result(Request& request) {
  if (departs("result.of_no_call")) {
    OVERLAPPED never = {};
    request.object->GetOverlappedResult(&never, FALSE);
  }
  if (!departs("result.of_other_object")) return;
  const auto elsewhere = [&](const Request& one) { return one.pending && one.object != nullptr && one.object != request.object; };
  const auto other = std::ranges::find_if(requests_, elsewhere);
  if (other != requests_.end()) other->object->GetOverlappedResult(&request, FALSE);
}

/// From the loop.
void Mailbox::empty() {
  while (!ended_.empty()) {
    Request& request = *ended_.front();
    ended_.pop_front();
    if (!deliver(request, request.status)) return;
  }
  while (const auto packet = watch_->take()) {
    auto& request = *static_cast<Request*>(packet->overlapped);
    if (!request.pending) continue;  // a second packet for the same request
    HRESULT status = ND_SUCCESS;
    if (request.object != nullptr && !departs("result.not_asked")) {
      depart_before_result(request);
      status = request.object->GetOverlappedResult(&request, FALSE);
      // A provider may go on with a second part; another packet comes.
      if (status == ND_PENDING) continue;
    }
    --pending_;
    if (!deliver(request, status)) return;
  }
}

void Mailbox::abandon() {
  if (alive_ != nullptr) *std::exchange(alive_, nullptr) = false;
  events_.reset();
  // The requests' memory stays until their packets have come, on whatever thread: this is all that is left of the device.
  const auto counts = [](void*, OVERLAPPED* overlapped) { return std::exchange(static_cast<Request*>(overlapped)->pending, false); };
  watch_->retire(pending_, counts, this, [](void* self) { delete static_cast<Mailbox*>(self); });
}

}  // namespace fb::networkdirect::consumer
