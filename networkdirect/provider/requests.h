// The overlapped requests that are pending on one object, oldest first. From any thread.
#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include <ndspi.h>

#include "networkdirect/win32/overlapped_file.h"

namespace fb::networkdirect {

class AdapterCore;

class Requests {
 public:
  explicit Requests(win32::OverlappedFile file) : file_(std::move(file)) {}
  ~Requests() { cancel_all(); }

  /// The request is pending from now on; `tag` is the object's own. False, and nothing is done, for an OVERLAPPED that cannot
  /// be one (null, or its event is no event).
  bool begin(OVERLAPPED* overlapped, unsigned tag);
  /// Ends the oldest request with that tag. False: there is none.
  bool complete(unsigned tag, HRESULT status);
  /// Ends all requests with that tag, in their order.
  void complete_each(unsigned tag, HRESULT status);
  bool pending(unsigned tag) const;

  /// Ends all, or the `most` oldest, whatever their tags, in their order.
  void complete_all(HRESULT status, std::size_t most = SIZE_MAX);
  /// Ends all with ND_CANCELED: they are done when this returns.
  void cancel_all() { complete_all(ND_CANCELED); }
  // Departures of owners.
  void complete_newest_first(HRESULT status);
  /// Nobody hears of them any more.
  void forget();

  const win32::OverlappedFile& file() const { return file_; }

  /// A call that makes a request, on a provider that answers at once where it can: what ends inside is the call's own answer.
  class Call {
   public:
    Call(Requests& requests, OVERLAPPED* overlapped, AdapterCore& adapter);
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call() { answer(ND_PENDING); }
    /// What the call returns where it would return `status`.
    HRESULT answer(HRESULT status);

   private:
    Requests& requests_;
    AdapterCore& adapter_;
    OVERLAPPED* overlapped_;
  };

 private:
  struct Pending {
    OVERLAPPED* overlapped;
    unsigned tag;
  };
  void end(OVERLAPPED& overlapped, HRESULT status);

  /// A request whose call goes on.
  struct Held {
    OVERLAPPED* overlapped;
    std::optional<HRESULT> status;
  };
  std::vector<Held> held_;
  win32::OverlappedFile file_;
  mutable std::mutex lock_;
  std::deque<Pending> pending_;
};

}  // namespace fb::networkdirect
