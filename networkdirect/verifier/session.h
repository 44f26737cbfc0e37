// The verifier's memory and its lock, and what all wrappers have in common.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "networkdirect/verifier/states.h"
#include "networkdirect/verifier/verifier.h"

namespace fb::networkdirect::verifier {

enum class Kind : std::uint8_t {
  provider,
  adapter,
  completion_queue,
  shared_receive_queue,
  memory_region,
  memory_window,
  queue_pair,
  connector,
  listener,
  count_of_kinds
};
std::string_view name_of(Kind kind);

class Call;

/// A wrapper, as the session knows it. Once released it stays, to be recognised when it is used again.
class Wrapper {
 public:
  Wrapper(Session& session, Kind kind, std::shared_ptr<AdapterState> adapter)
      : session_(session), kind_(kind), adapter_(std::move(adapter)) {}
  virtual ~Wrapper() = default;
  Wrapper(const Wrapper&) = delete;
  Wrapper& operator=(const Wrapper&) = delete;

  Session& session() const { return session_; }
  Kind kind() const { return kind_; }
  std::uint64_t number() const { return number_; }
  bool alive() const { return references_ != 0; }
  std::string name() const;
  const std::shared_ptr<AdapterState>& adapter() const { return adapter_; }

 protected:
  friend class Call;
  friend class Session;
  ULONG release(Call& call);
  /// The last reference is gone; under the lock.
  virtual void last_release(Call& call) { (void)call; }
  /// Without the lock.
  virtual void cancel_inner() {}
  virtual void release_inner() = 0;
  /// As the consumer knows it.
  virtual IUnknown* unknown() = 0;

  ULONG references_ = 1;

 private:
  Session& session_;
  Kind kind_;
  std::uint64_t number_ = 0;
  std::shared_ptr<AdapterState> adapter_;  // null for a provider
  unsigned calls_ = 0;                     // that are going on, on it or with it
  bool inner_held_ = true;
};

class Session {
 public:
  Session(const VerifierOptions& options, FindingSink& sink) : options_(options), sink_(sink) {}
  ~Session();

  // All with the lock held, but for adopt_first(), finish() and the two numbers.
  /// From now on the consumer may have it.
  void adopt(std::unique_ptr<Wrapper> wrapper);
  /// The same without the lock.
  void adopt_first(std::unique_ptr<Wrapper> wrapper);
  /// Empty for anything that is no wrapper, whatever the pointer.
  Wrapper* find(const void* unknown) const;
  Request* request_of(OVERLAPPED* overlapped);
  /// The system still shows the request as pending.
  bool still_pending(OVERLAPPED* overlapped);
  /// The same of a request of that method on a region or connector of that state: the OVERLAPPED may serve another by now.
  bool still_pending(OVERLAPPED* overlapped, Method method, const void* state);
  void ended(OVERLAPPED* overlapped, Request& request, HRESULT status);

  std::uint64_t post(Posted posted);
  /// The request is no longer outstanding. Its context; empty: there is no such request.
  struct Done {
    void* context;
    std::shared_ptr<QueuePairState> queue_pair;
  };
  std::optional<Done> finish_posted(std::uint64_t id);
  /// The requests of a queue pair use no memory any more: they are cancelled, or as good as that.
  void cease(QueuePairState& queue_pair);
  void end_link(const std::shared_ptr<QueuePairState>& queue_pair);

  std::map<std::uint64_t, Posted> posted;
  std::map<std::uint64_t, void*> queue_pair_contexts;  ///< for ever: results may outlive the queue pair
  std::map<OVERLAPPED*, Request> requests;

  std::vector<Leak> finish();
  std::size_t living() const;
  std::uint64_t calls() const;
  std::vector<Called> tally() const;

 private:
  struct Count {
    std::uint64_t calls = 0, pending = 0;
  };
  friend class Call;
  friend class Wrapper;
  void add(std::vector<Finding>& findings, Rule rule, const std::string& object, std::uint64_t call, std::string text);
  void deliver(const std::vector<Finding>& findings);

  const VerifierOptions options_;
  FindingSink& sink_;
  mutable std::mutex lock_;
  std::mutex delivery_;
  std::uint64_t calls_ = 0;
  std::map<std::pair<Kind, std::string_view>, Count> tally_;
  std::uint64_t next_post_ = 1;
  std::size_t living_ = 0;
  std::uint64_t made_[static_cast<std::size_t>(Kind::count_of_kinds)] = {};
  std::vector<std::unique_ptr<Wrapper>> wrappers_;
  std::map<const void*, Wrapper*> by_pointer_;
  std::map<std::pair<Rule, std::string>, std::size_t> repeated_;
};

/// One call of a consumer on a wrapper: it holds the lock except while the provider works, and gathers what is found.
class Call {
 public:
  Call(Wrapper& on, const char* method, Rule when_dead = Rule::use_after_release);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// False: the finding is made, and the call shall go no further.
  bool alive() const { return alive_; }
  void find(Rule rule, std::string text = {}) { find(rule, on_.name(), std::move(text)); }
  void find(Rule rule, const std::string& object, std::string text);
  std::uint64_t number() const { return number_; }
  Session& session() { return on_.session(); }
  const char* method() const { return method_; }

  /// What the provider says, asked without the lock.
  template <class Work>
  auto inner(Work&& work) {
    lock_.unlock();
    auto result = work();
    lock_.lock();
    return result;
  }

  /// The wrapper behind an argument, a living object of that kind on this adapter. Null: the finding is made.
  Wrapper* argument(IUnknown* unknown, Kind kind, const char* what);
  /// False: null, and the finding is made.
  bool given(const void* pointer, const char* what);
  /// Whether the number exceeds what the adapter reports.
  void limit(const char* what, std::uint64_t asked, std::uint64_t most);

  /// An overlapped request of the object. `work` is the provider's call; `about` fills in what else is known of the request.
  template <class Work, class About>
  HRESULT request(OVERLAPPED* overlapped, Method method, Work&& work, About&& about) {
    if (!begin_request(overlapped, method)) return ND_INVALID_PARAMETER;
    about(*session().request_of(overlapped));
    const HRESULT status = inner(work);
    end_request(overlapped, status);
    return status;
  }
  template <class Work>
  HRESULT request(OVERLAPPED* overlapped, Method method, Work&& work) {
    return request(overlapped, method, work, [](Request&) {});
  }
  /// What comes before GetOverlappedResult, and after it. False: it cannot be asked.
  bool before_result(OVERLAPPED* overlapped, BOOL wait, std::uint64_t& asked);
  void after_result(OVERLAPPED* overlapped, std::uint64_t asked, HRESULT status);

 private:
  friend class Wrapper;
  bool begin_request(OVERLAPPED* overlapped, Method method);
  void end_request(OVERLAPPED* overlapped, HRESULT status);

  Wrapper& on_;
  const char* method_;
  std::unique_lock<std::mutex> lock_;
  std::uint64_t number_ = 0;
  bool alive_ = false;
  bool cancel_ = false;              // others are still in calls on the object that was released
  std::vector<Wrapper*> arguments_;  // whose provider's objects must stay until the call has returned
  std::vector<Finding> findings_;
};

/// A wrapper of an interface, which may be derived from the provider's. The provider's object has one reference, ours, however
/// many the consumer has.
template <class Interface, class Inner = Interface>
class Facade : public Interface, public Wrapper {
 public:
  HRESULT STDMETHODCALLTYPE QueryInterface(REFIID iid, void** out) final {
    Call call(*this, "QueryInterface");
    if (!call.alive()) return ND_INVALID_HANDLE;
    if (!call.given(out, "the place for the interface")) return ND_INVALID_PARAMETER_2;
    *out = nullptr;
    if (!(iid == IID_IUnknown) && !answers(iid)) return E_NOINTERFACE;
    ++references_;
    *out = static_cast<Interface*>(this);
    return ND_SUCCESS;
  }
  ULONG STDMETHODCALLTYPE AddRef() final {
    Call call(*this, "AddRef");
    return call.alive() ? ++references_ : 0;
  }
  ULONG STDMETHODCALLTYPE Release() final {
    Call call(*this, "Release", Rule::release_too_often);
    return call.alive() ? release(call) : 0;
  }
  Inner& inner() { return *inner_; }

 protected:
  Facade(Session& session, Kind kind, std::shared_ptr<AdapterState> adapter, Inner& inner)
      : Wrapper(session, kind, std::move(adapter)), inner_(&inner) {}
  virtual bool answers(REFIID iid) const = 0;
  void release_inner() override { inner_->Release(); }
  IUnknown* unknown() override { return static_cast<Interface*>(this); }

 private:
  Inner* inner_;
};

/// The same for interfaces that are derived from IND2Overlapped.
template <class Interface, class Inner = Interface>
class OverlappedFacade : public Facade<Interface, Inner> {
 public:
  HRESULT STDMETHODCALLTYPE CancelOverlappedRequests() final {
    Call call(*this, "CancelOverlappedRequests");
    if (!call.alive()) return ND_INVALID_HANDLE;
    return call.inner([&] { return this->inner().CancelOverlappedRequests(); });
  }
  HRESULT STDMETHODCALLTYPE GetOverlappedResult(OVERLAPPED* overlapped, BOOL wait) final {
    Call call(*this, "GetOverlappedResult");
    if (!call.alive()) return ND_INVALID_HANDLE;
    std::uint64_t asked = 0;
    if (!call.before_result(overlapped, wait, asked)) return ND_INVALID_PARAMETER_1;
    const HRESULT status = call.inner([&] { return this->inner().GetOverlappedResult(overlapped, wait); });
    call.after_result(overlapped, asked, status);
    return status;
  }

 protected:
  using Facade<Interface, Inner>::Facade;
  void cancel_inner() override { this->inner().CancelOverlappedRequests(); }
};

}  // namespace fb::networkdirect::verifier
