// A thread of the watch's own takes the port's packets. It begins with descriptor(), and ends with the watch; the watch of a port
// that has retired may outlive its maker.
#include "networkdirect/win32/port_watch.h"

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace fb::win32 {

struct Watch {
  HANDLE port = nullptr;
  HANDLE event = CreateEventW(nullptr, FALSE, FALSE, nullptr);
  std::mutex lock;  // what follows
  std::deque<PortPacket> packets;
  std::atomic<bool> told{false};
  bool retired = false;
  PortWatch::Counts counts = nullptr;
  PortWatch::Callback done = nullptr;
  void* context = nullptr;
  std::size_t left = 0;
  std::thread thread;

  ~Watch() { CloseHandle(event); }
  PortWatch::Callback throw_away();
  void live();
};

namespace {

// A packet that ends the thread. No request has this address.
char end_of_watch;
OVERLAPPED* const kEnd = reinterpret_cast<OVERLAPPED*>(&end_of_watch);

// The interface hands out a plain pointer; the thread needs a share of what is behind it.
std::shared_ptr<Watch>& shared(Watch* watch) { return *reinterpret_cast<std::shared_ptr<Watch>*>(watch); }

}  // namespace

/// Under the lock: what is to be called, once, when nobody waits for any packet more.
PortWatch::Callback Watch::throw_away() {
  for (const PortPacket& packet : packets) {
    if (left > 0 && counts(context, packet.overlapped)) --left;
  }
  packets.clear();
  return left == 0 ? std::exchange(done, nullptr) : nullptr;
}

void Watch::live() {
  for (;;) {
    PortPacket packet;
    GetQueuedCompletionStatus(port, &packet.bytes, &packet.key, &packet.overlapped, INFINITE);
    if (packet.overlapped == kEnd) return;
    // Packets of PostQueuedCompletionStatus may be of no request: they are nobody's here.
    if (packet.overlapped == nullptr) {
      if (GetLastError() == ERROR_ABANDONED_WAIT_0) return;  // the port was closed
      continue;
    }
    std::unique_lock held(lock);
    packets.push_back(packet);
    if (!retired) {
      told = true;
      SetEvent(event);
    } else if (const PortWatch::Callback call = throw_away()) {
      held.unlock();
      call(context);  // the watch and the port go in it
      return;
    }
  }
}

PortWatch::PortWatch(HANDLE port, Callback, void*)
    : port_(port), watch_(reinterpret_cast<Watch*>(new std::shared_ptr<Watch>(std::make_shared<Watch>()))) {
  shared(watch_)->port = port;
}

PortWatch::~PortWatch() {
  const std::unique_ptr<std::shared_ptr<Watch>> holder(&shared(watch_));
  Watch& watch = **holder;
  if (!watch.thread.joinable()) return;
  if (watch.thread.get_id() == std::this_thread::get_id()) {
    watch.thread.detach();
    return;
  }
  PostQueuedCompletionStatus(port_, 0, 0, kEnd);
  watch.thread.join();
}

std::optional<PortPacket> PortWatch::take() {
  Watch& watch = *shared(watch_);
  const std::lock_guard held(watch.lock);
  if (watch.packets.empty()) return std::nullopt;
  const PortPacket packet = watch.packets.front();
  watch.packets.pop_front();
  return packet;
}

int PortWatch::descriptor() {
  const std::shared_ptr<Watch>& watch = shared(watch_);
  if (!watch->thread.joinable()) watch->thread = std::thread([watch] { watch->live(); });
  return static_cast<int>(reinterpret_cast<std::intptr_t>(watch->event));
}

void PortWatch::clear() { shared(watch_)->told = false; }

bool PortWatch::told() const { return shared(watch_)->told.load(std::memory_order_relaxed); }

void PortWatch::retire(std::size_t packets, Counts counts, void* context, Callback done) {
  const std::shared_ptr<Watch> watch = shared(watch_);
  Callback call = nullptr;
  {
    const std::lock_guard held(watch->lock);
    watch->retired = true;
    watch->counts = counts;
    watch->done = done;
    watch->context = context;
    watch->left = packets;
    call = watch->throw_away();
  }
  if (call != nullptr) call(context);
}

}  // namespace fb::win32
