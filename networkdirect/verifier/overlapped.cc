// Overlapped requests: what an OVERLAPPED is used for, and what its result says of the objects.
#include <utility>

#include <fmt/format.h>

#include "networkdirect/verifier/probe.h"
#include "networkdirect/verifier/session.h"

namespace fb::networkdirect::verifier {

namespace {

bool has_event(HANDLE event) { return (reinterpret_cast<std::uintptr_t>(event) & ~std::uintptr_t{1}) != 0; }

}  // namespace

bool Call::begin_request(OVERLAPPED* overlapped, Method method) {
  if (overlapped == nullptr) {
    find(Rule::overlapped_null);
    return false;
  }
  if (const Request* before = session().request_of(overlapped)) {
    if (session().still_pending(overlapped)) {
      find(Rule::overlapped_reused, fmt::format("the request of call {} on {} is pending", before->call, before->object->name()));
    } else if (before->fate == Request::Fate::pending && before->object->alive()) {
      find(Rule::result_not_taken, before->object->name(), fmt::format("the request of call {} was pending", before->call));
    }
  }
  Request request;
  request.object = &on_;
  request.method = method;
  request.event = overlapped->hEvent;
  request.call = number_;
  session().requests[overlapped] = std::move(request);
  return true;
}

void Call::end_request(OVERLAPPED* overlapped, HRESULT status) {
  if (status == ND_PENDING) ++session().tally_[{on_.kind(), method_}].pending;
  // It may have completed meanwhile, and serve another request by now.
  Request* const request = session().request_of(overlapped);
  if (request == nullptr || request->call != number_ || request->fate != Request::Fate::in_call) return;
  if (status == ND_PENDING) {
    request->fate = Request::Fate::pending;
    return;
  }
  request->fate = FAILED(status) ? Request::Fate::failed : Request::Fate::succeeded_in_call;
}

bool Call::before_result(OVERLAPPED* overlapped, BOOL wait, std::uint64_t& asked) {
  if (overlapped == nullptr) {
    find(Rule::overlapped_null);
    return false;
  }
  const Request* const request = session().request_of(overlapped);
  if (request == nullptr || request->object->adapter() != on_.adapter()) {
    find(Rule::result_of_unknown_request, request == nullptr ? "no request was made with this OVERLAPPED"
                                                             : fmt::format("the request was made on {}", request->object->name()));
    return true;
  }
  asked = request->call;
  if (request->fate == Request::Fate::succeeded_in_call) find(Rule::result_of_inline_success, fmt::format("call {}", request->call));
  if (request->fate == Request::Fate::failed) find(Rule::result_of_failed_call, fmt::format("call {}", request->call));
  if (request->object != &on_) find(Rule::result_from_other_object, fmt::format("the request was made on {}", request->object->name()));
  if (request->fate == Request::Fate::pending) {
    if (wait && !has_event(request->event)) find(Rule::wait_without_event, fmt::format("the request of call {}", request->call));
    if (overlapped->hEvent != request->event && session().still_pending(overlapped)) {
      find(Rule::overlapped_changed, "hEvent is another than when the request was made");
    }
  }
  return true;
}

void Call::after_result(OVERLAPPED* overlapped, std::uint64_t asked, HRESULT status) {
  if (status == ND_PENDING) return;
  Request* const request = session().request_of(overlapped);
  if (request == nullptr || request->call != asked) return;
  const bool open = request->fate == Request::Fate::pending || request->fate == Request::Fate::in_call;
  if (open) session().ended(overlapped, *request, status);
}

void Session::ended(OVERLAPPED* overlapped, Request& request, HRESULT status) {
  using Phase = ConnectorState::Phase;
  request.fate = Request::Fate::ended;
  const bool good = status == ND_SUCCESS;
  if (const auto region = std::exchange(request.region, nullptr); region != nullptr && request.method == Method::register_memory) {
    if (region->phase == RegionState::Phase::registering) {
      region->phase = good ? RegionState::Phase::registered : RegionState::Phase::empty;
    }
  }
  const auto connector = std::exchange(request.connector, nullptr);
  if (connector == nullptr) return;
  const bool awaited = connector->waiting_for == overlapped;
  if (awaited) connector->waiting_for = nullptr;
  switch (request.method) {
    case Method::get_connection_request:
      if (awaited && connector->phase == Phase::filling) connector->phase = good ? Phase::requested : Phase::fresh;
      break;
    case Method::connect:
      if (!awaited || connector->phase != Phase::connecting) break;
      connector->phase = good ? Phase::replied : Phase::bound;
      if (!good && connector->queue_pair != nullptr) {
        connector->queue_pair->link = QueuePairState::Link::fresh;
        connector->queue_pair.reset();
      }
      break;
    case Method::complete_connect:
    case Method::accept:
      if (!awaited) break;
      connector->phase = good ? Phase::connected : Phase::spent;
      if (!good) end_link(connector->queue_pair);
      break;
    case Method::notify_disconnect:
      if (!good) break;
      [[fallthrough]];
    case Method::disconnect:
      connector->phase = Phase::ended;
      end_link(connector->queue_pair);
      break;
    default:
      break;
  }
}

}  // namespace fb::networkdirect::verifier
