// A library that crashes takes no run with it. A signal that the library gets while the bench calls it ends that call by a jump:
// between the two there are frames of the library, and those of a service of the bench that was given a bad pointer.
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>

#include <pthread.h>
#include <sys/time.h>

#include "base/assert.h"
#include "model/library/library.h"

namespace fb::library {

namespace {

/// Time of the processor: a debugger may stop the process for as long as it likes. Who used it up once gets less.
constexpr long kCallSeconds = 20;
constexpr long kNextCallSeconds = 2;
constexpr std::size_t kStackBytes = 256 * 1024;
constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGVTALRM};

// The handler of a signal has nothing but globals.
sigjmp_buf place;
pthread_t caller;
volatile sig_atomic_t armed = 0;

/// Of the next call.
long& allowance() {
  static long seconds = kCallSeconds;
  return seconds;
}

void on_signal(int number) {
  const bool calling = armed != 0;
  if (calling && pthread_equal(caller, pthread_self()) != 0) siglongjmp(place, number);
  if (number == SIGVTALRM) {  // of the process: any of its threads may be the one that gets it
    if (calling) pthread_kill(caller, number);
    return;
  }
  std::signal(number, SIG_DFL);
  raise(number);
}

/// Handlers and a stack for them: an endless recursion leaves none.
class Handlers {
 public:
  Handlers() {
    stack_.ss_sp = memory_.get();
    stack_.ss_size = kStackBytes;
    sigaltstack(&stack_, &stack_before_);
    struct sigaction action = {};
    action.sa_handler = &on_signal;
    action.sa_flags = SA_ONSTACK | SA_NODEFER;
    for (std::size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &action, &before_[i]);
  }
  ~Handlers() {
    for (std::size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &before_[i], nullptr);
    sigaltstack(&stack_before_, nullptr);
  }
  Handlers(const Handlers&) = delete;
  Handlers& operator=(const Handlers&) = delete;

 private:
  std::unique_ptr<char[]> memory_ = std::make_unique<char[]>(kStackBytes);
  stack_t stack_ = {}, stack_before_ = {};
  struct sigaction before_[std::size(kSignals)] = {};
};

void limit(long seconds) {
  const itimerval time = {{0, 0}, {seconds, 0}};
  setitimer(ITIMER_VIRTUAL, &time, nullptr);
}

std::string words_for(int number) {
  switch (number) {
    case SIGSEGV:
      return "crashed with SIGSEGV (bad address)";
    case SIGBUS:
      return "crashed with SIGBUS";
    case SIGFPE:
      return "crashed with SIGFPE (division by zero)";
    case SIGILL:
      return "crashed with SIGILL";
    case SIGABRT:
      return "crashed with SIGABRT (abort() or a failed assertion)";
    default:
      return "did not return within " + std::to_string(allowance()) + " s of processor time";
  }
}

}  // namespace

std::string guarded(void (*call)(void* context), void* context) {
  BENCH_ASSERT(armed == 0, "a library is called while it is being called");
  static Handlers handlers;
  const int number = sigsetjmp(place, 0);
  if (number != 0) {
    armed = 0;
    limit(0);
    sigset_t unblocked;  // SA_NODEFER leaves it alone; the alternative stack is left by the jump
    sigemptyset(&unblocked);
    for (const int one : kSignals) sigaddset(&unblocked, one);
    sigprocmask(SIG_UNBLOCK, &unblocked, nullptr);
    const std::string words = words_for(number);
    if (number == SIGVTALRM) allowance() = kNextCallSeconds;
    return words;
  }
  caller = pthread_self();
  armed = 1;
  limit(allowance());
  std::string thrown;
  try {
    call(context);
  } catch (const std::exception& exception) {
    thrown = std::string("threw an exception: ") + exception.what();
  } catch (...) {
    thrown = "threw an exception";
  }
  limit(0);
  armed = 0;
  return thrown;
}

}  // namespace fb::library
