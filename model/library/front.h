// The fabric's part of a product that is a library: what comes on the channels of a listener goes to the library, and what its
// services ask for goes back. One object is one instance of the product.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/rng.h"
#include "model/library/front_management.h"
#include "model/library/front_queue.h"
#include "model/library/library.h"
#include "sim/core/world.h"

namespace fb::library {

class Front final : public transport::ControllerAcceptor {
 public:
  /// The channels that it is given belong to it: it goes before its listener does, and nothing runs in between.
  Front(World& world, std::shared_ptr<Library> library);
  ~Front();
  Front(const Front&) = delete;
  Front& operator=(const Front&) = delete;

  /// Makes the product, which is reached over such a fabric; where that fails, fault() says why and every connection is closed.
  void begin(const transport::ControllerFabricFacts& facts, std::size_t transfer_bytes);
  /// The same for a management endpoint of this port, which outlives it. `reset`: see FrontManagement.
  void begin(mctp::Port& port, std::uint8_t medium, std::function<void(bool)> reset);
  /// What the library did that its interface does not allow, the first of it; "" as long as there is nothing.
  const std::string& fault() const { return fault_; }
  /// Destroys the product, and ends its connections. Nothing reaches the library afterwards.
  void end();

  void on_channel(std::unique_ptr<transport::ControllerChannel> channel) override;

 private:
  friend class FrontQueue;
  friend class FrontManagement;
  friend struct Services;
  struct Association {
    void* controller = nullptr;  ///< the library's pointer
    std::uint16_t cntlid = 0;
    std::string hostnqn, subnqn;
    std::array<std::uint8_t, 16> hostid = {};
    bool enabled = false;  ///< CC.EN as it was last written
  };
  struct Command {
    FrontQueue* queue = nullptr;
    transport::ArrivedCommand* arrived = nullptr;
    enum class Data : std::uint8_t { none, fetching, fetched, sent } data = Data::none;
    std::size_t staged = 0;
    nvme::Status refused = {};  ///< what send() or fetch() gave back
  };
  class LibraryTimer;

  /// As long as one is there, the library is not called for what happens inside its own calls; the last drains what was put off.
  class Turn {
   public:
    explicit Turn(Front& front) : front_(front) { ++front_.turns_; }
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    Front& front_;
  };

  // ---- calls of the library ----

  /// False: it crashed, or there is none any more.
  template <class Call>
  bool call(const std::string& name, Call&& make) {
    if (product_ == nullptr) return false;
    return run(name, std::forward<Call>(make));
  }
  template <class Call>
  bool run(const std::string& name, Call&& make) {
    BENCH_ASSERT(!inside_, "the library is called from inside one of its own calls");
    inside_ = true;
    const std::string crash = guarded(make);
    inside_ = false;
    if (crash.empty()) return true;
    die("the library " + crash + " in " + name);
    return false;
  }
  const fb_product& table() const { return library_->table(); }
  /// Runs at once, or after the call of the library that is in progress.
  void after_call(std::function<void()> then);
  void create();
  void blame(const std::string& what);
  void die(const std::string& what);
  void queue_gone(void* controller, std::uint16_t qid);
  void give_data(fb_handle handle);
  void on_timer(std::uint64_t id);

  // ---- associations ----

  FrontQueue* queue_of(const void* controller, std::uint16_t qid);
  Association* association_of(const void* controller);
  /// The library's subsystem has that name, or one that somebody is connected to.
  bool knows(std::string_view subnqn) const;
  /// By what a Connect of an I/O queue says.
  Association* association_of(std::string_view subnqn, std::uint16_t cntlid);
  /// Closes every queue of the controller, or its I/O queues alone.
  void close_queues(const void* controller, bool io_alone, std::string_view why);
  void on_property_set(FrontQueue& queue, std::uint32_t offset, std::uint64_t value);
  void reap_later();
  void reap();

  // ---- commands ----

  fb_handle add(FrontQueue& queue, transport::ArrivedCommand& arrived);
  void forget(fb_handle handle) { commands_.erase(handle); }
  /// Null: void, or wrong, which is noted.
  Command* find(const char* service, fb_handle handle);
  std::string words_for(const Command& command, fb_handle handle) const;

  // ---- services ----

  fb_status check(const char* service, fb_handle handle, std::uint32_t bytes);
  fb_status fetch(fb_handle handle, std::uint32_t bytes);
  fb_status send(fb_handle handle, const void* data, std::uint32_t bytes);
  void complete(fb_handle handle, const void* cqe);
  void set_timer(std::uint64_t id, std::uint64_t when_ns);
  void cancel_timer(std::uint64_t id);

  World& world_;
  std::shared_ptr<Library> library_;
  Services* services_;
  void* product_ = nullptr;
  Rng random_;
  std::string fault_;
  bool inside_ = false;
  unsigned turns_ = 0;
  std::list<std::function<void()>> put_off_;
  std::map<fb_handle, Command> commands_;
  std::vector<bool> completed_;  ///< by handle
  std::vector<std::unique_ptr<FrontQueue>> queues_;
  std::vector<std::unique_ptr<Association>> associations_;
  std::unique_ptr<FrontManagement> management_;
  std::map<std::uint64_t, std::unique_ptr<LibraryTimer>> timers_;
  std::unique_ptr<LibraryTimer> spent_;
  Timer<Front, &Front::reap> reaper_{"library.front.reap", *this};
};

/// What a library is given as its bench. It stays as long as the library does: a call that comes too late still finds it.
struct Services {
  fb_bench table = {};
  Front* front = nullptr;
  Library* library = nullptr;
  Services(Front& of, Library& from);
  static Front* front_of(fb_bench* bench, const char* service);
  static FrontManagement* management_of(fb_bench* bench, const char* service);

 private:
  void serve_management();
};

}  // namespace fb::library
