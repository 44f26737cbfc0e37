// Where the device of a provider runs. Consumers call from any thread; devices know one thread and one loop. In a world of
// the caller's own (virtual time, tests) both are the same thread and a call is a call. In a loadable library the world runs on
// a thread behind a queue: control calls wait for their turn, posted work only rings a bell.
#pragma once

#include <memory>

#include "sim/core/world.h"

namespace fb::networkdirect {

/// A piece of work for the device's thread that may be asked for any number of times before it is done once.
class Doorbell {
 public:
  virtual void answer() = 0;

 protected:
  ~Doorbell() = default;

 private:
  friend class ThreadStrand;
  bool ringing_ = false;  // under the strand's lock
};

class Strand {
 public:
  virtual ~Strand() = default;

  /// Runs `work` on the device's thread, and returns when it is done.
  template <class Work>
  void call(Work&& work) {
    struct Closure final : Task {
      explicit Closure(Work& w) : work(w) {}
      void run() override { work(); }
      Work& work;
    } closure(work);
    run(closure);
  }
  /// Has `bell` answered on the device's thread, soon. It must stay until it is, or until silence() has returned.
  virtual void ring(Doorbell& bell) = 0;
  /// The bell is not answered any more. On the device's thread.
  virtual void silence(Doorbell& bell) = 0;
  /// Whether things happen while a caller sleeps. Otherwise step() makes them happen.
  virtual bool runs_by_itself() const { return false; }
  /// One event of a world of the caller's own. False: none is possible, for ever or from inside of one.
  virtual bool step() { return false; }

 protected:
  struct Task {
    virtual void run() = 0;

   protected:
    ~Task() = default;
  };
  virtual void run(Task& task) = 0;
};

/// The caller's own world: everything happens in the call.
std::unique_ptr<Strand> make_inline_strand(World& world);

}  // namespace fb::networkdirect
