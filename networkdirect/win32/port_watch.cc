#include "networkdirect/win32/port_watch.h"

#include <algorithm>
#include <thread>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

#include "networkdirect/win32/kernel.h"

namespace fb::win32 {

/// Who is told of a port's packets. Under the kernel's lock, but for what is atomic; freed with its last reference.
struct Watch {
  Port* port = nullptr;
  PortWatch::Callback callback = nullptr;
  void* context = nullptr;
  const std::thread::id home = std::this_thread::get_id();
  int descriptor = -1;
  std::atomic<bool> rung{false};
  PortWatch::Counts counts = nullptr;  // retired when there is one
  std::size_t left = 0;
  bool closed = false;
  unsigned references = 1;
  std::vector<std::thread::id> callers;  // in a call now
  std::condition_variable call_ended;
};

namespace {

// Packets that this thread has queued and not yet told of: it holds the lock, or is about to let it go.
thread_local std::vector<Watch*> untold;

void drop(Watch* watch) {
  if (--watch->references > 0) return;
  if (watch->descriptor >= 0) ::close(watch->descriptor);
  delete watch;
}

/// Calls with the lock open; the watch stays, though it may be closed in the call.
template <class Call>
void call_open(Watch& watch, Lock& lock, Call&& call) {
  const auto self = std::this_thread::get_id();
  watch.callers.push_back(self);
  lock.unlock();
  call();
  lock.lock();
  watch.callers.erase(std::ranges::find(watch.callers, self));
  watch.call_ended.notify_all();
}

void throw_away(Watch& watch, Lock& lock) {
  if (watch.callback == nullptr) return;  // done
  while (!watch.port->packets.empty()) {
    const Packet packet = watch.port->packets.front();
    watch.port->packets.pop_front();
    if (packet.overlapped != nullptr && watch.left > 0 && watch.counts(watch.context, packet.overlapped)) --watch.left;
  }
  if (watch.left > 0) return;
  const PortWatch::Callback done = std::exchange(watch.callback, nullptr);
  call_open(watch, lock, [done, context = watch.context] { done(context); });
}

void tell(Watch& watch) {
  Lock lock(kernel().lock);
  if (watch.closed) {
    // Nobody is there.
  } else if (watch.counts != nullptr) {
    throw_away(watch, lock);
  } else if (watch.home == std::this_thread::get_id()) {
    call_open(watch, lock, [&watch] { watch.callback(watch.context); });
  } else if (watch.descriptor >= 0 && !watch.rung.exchange(true)) {
    call_open(watch, lock, [descriptor = watch.descriptor] {
      const std::uint64_t one = 1;
      [[maybe_unused]] const auto written = ::write(descriptor, &one, sizeof one);
    });
  }
  drop(&watch);
}

}  // namespace

void note_packet(Watch& watch) {
  ++watch.references;
  untold.push_back(&watch);
}

Telling::~Telling() {
  // One at a time: a call may queue packets itself.
  while (!untold.empty()) {
    Watch* const watch = untold.back();
    untold.pop_back();
    tell(*watch);
  }
}

PortWatch::PortWatch(HANDLE port, Callback callback, void* context) : port_(port), watch_(new Watch) {
  watch_->callback = callback;
  watch_->context = context;
  const Telling telling;
  const Lock lock(kernel().lock);
  watch_->port = find_as<Port>(port, Kind::port);
  if (watch_->port == nullptr) return;
  watch_->port->watch = watch_;
  if (!watch_->port->packets.empty()) note_packet(*watch_);
}

PortWatch::~PortWatch() {
  Lock lock(kernel().lock);
  if (watch_->port != nullptr && watch_->port->watch == watch_) watch_->port->watch = nullptr;
  watch_->closed = true;
  const auto self = std::this_thread::get_id();
  watch_->call_ended.wait(lock,
                          [&] { return std::ranges::all_of(watch_->callers, [&](std::thread::id caller) { return caller == self; }); });
  drop(watch_);
}

std::optional<PortPacket> PortWatch::take() {
  const DWORD error = GetLastError();
  PortPacket packet;
  // Packets of PostQueuedCompletionStatus may be of no request: they are nobody's here.
  bool posted = true;
  while (posted && packet.overlapped == nullptr) {
    posted = GetQueuedCompletionStatus(port_, &packet.bytes, &packet.key, &packet.overlapped, 0) != FALSE;
  }
  SetLastError(error);
  if (packet.overlapped == nullptr) return std::nullopt;
  return packet;
}

int PortWatch::descriptor() {
  const Lock lock(kernel().lock);
  if (watch_->descriptor < 0) watch_->descriptor = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  return watch_->descriptor;
}

void PortWatch::clear() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto read = ::read(watch_->descriptor, &count, sizeof count);
  // After the read: who comes in between does not write, but his packets are there to be taken.
  watch_->rung = false;
}

bool PortWatch::told() const { return watch_->rung.load(std::memory_order_relaxed); }

void PortWatch::retire(std::size_t packets, Counts counts, void* context, Callback done) {
  Lock lock(kernel().lock);
  Watch& watch = *watch_;
  ++watch.references;  // `done` may destroy this
  watch.callback = done;
  watch.context = context;
  watch.counts = counts;
  watch.left = packets;
  throw_away(watch, lock);
  drop(&watch);
}

}  // namespace fb::win32
